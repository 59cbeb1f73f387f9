//! What is asked comes in; the reply goes out, whole or as it is generated.

use super::App;
use super::body::ReplyBody;
use super::jobs::Jobs;
use super::route::{Reply, json, off_thread};
use crate::backend::{Compiled, Demand, Think};
use crate::grammars::marked;
use crate::job::{self, Job, Limits, Usage};
use crate::metrics::outcome_word;
use crate::models::Lease;
use crate::prompt::Prepared;
use crate::reply::{Head, Shape, Streamed, Whole};
use crate::request::{Asked, Source, read_chat, read_completion};
use crate::think::{Lead, ThinkSplitter};
use crate::vocabulary::Token;
use bytes::Bytes;
use http::{HeaderValue, Response, header};
use isogloss_compile::at_work::Mark;
use isogloss_core::error::{Error, Kind};
use isogloss_core::ir::Constraint;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// For those who debug: what the grammar cache did, and what the answer took.
const DEBUG_HEADER: &str = "x-isogloss-worker";
/// For the proxy, which tells its client: how many tokens the answers had to take to end in time.
const STEERED_HEADER: &str = "x-isogloss-steered";
/// The same: how many answers began though it was not known that they can be whole in time.
const UNPLANNED_HEADER: &str = "x-isogloss-unplanned";

/// What the watchdog calls a prompt that is read. Its images and audio are calls of their own.
pub(super) const READING: &str = "reading a prompt";
pub(super) const READING_TIMES: u32 = 4;

/// Answers `/v1/chat/completions` and `/v1/completions`.
pub(super) async fn generate(
    app: Arc<App>,
    shape: Shape,
    body: Bytes,
    mark: Option<Mark>,
) -> Result<Reply, Error> {
    let asked = off_thread(move || match shape {
        Shape::Chat => read_chat(&body),
        Shape::Completion => read_completion(&body),
    })
    .await?;
    let lease = app.models.lease(&asked.model).await?;
    asked.check(lease.vocabulary.len())?;
    let (asked, lease, prepared) = prepare(asked, lease).await?;
    let grammar = Grammar::of(&app, &lease, &asked, &prepared, mark).await?;
    let head = Head {
        shape,
        id: id(shape)?,
        created: now(),
        model: lease.name.clone(),
        fingerprint: lease.fingerprint.clone(),
        include_usage: asked.include_usage,
        counts_first: asked.counts_first,
    };
    let lead = match &asked.constraint {
        None => Lead::Lines,
        Some(stated) if stated.constraint.is_json() => Lead::Space,
        Some(_) => Lead::Nothing,
    };
    // Where there may be calls, whoever reads them needs all of the markup; what a constraint admits is the answer as it is, and
    // a completion is whatever is written.
    let is_free = matches!(shape, Shape::Chat) && !asked.may_call && asked.constraint.is_none();
    let messages = lease.prompter.messages().filter(|_| is_free);
    let tags = lease.vocabulary.think_tags();
    let splitter = |prompt: &Prepared| match messages {
        Some(format) => ThinkSplitter::of_messages(format),
        None => ThinkSplitter::new(prompt.think, lead, tags.clone()),
    };
    let choices: Vec<ThinkSplitter> = (prepared.iter())
        .flat_map(|prompt| (0..asked.n).map(move |_| splitter(prompt)))
        .collect();
    let lease = Arc::new(lease);
    let jobs = submit(&app, &lease, &asked, prepared, &grammar)?;
    let logprobs = asked.sampling.logprobs.is_some();
    // They keep the model in memory, which a stream need not that nobody reads to its end.
    let words = logprobs.then(|| lease.vocabulary.clone());
    let n = asked.n as usize;
    if asked.stream {
        let reply = Streamed::new(head, words, n, choices);
        let mut response = Response::new(ReplyBody::events(jobs, reply));
        let headers = response.headers_mut();
        let events = HeaderValue::from_static("text/event-stream; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, events);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.extend(debug(&grammar.told));
        return Ok(response);
    }
    let reply = Whole::new(head, words, n, choices);
    let (body, usage) = whole(jobs, reply).await?;
    let mut response = json(200, body);
    let Usage {
        cached,
        forced,
        steered,
        unplanned,
        mask_micros,
        ..
    } = usage;
    let told = format!(
        "{}; mask_us={mask_micros}; forced={forced}; cached={cached}",
        grammar.told
    );
    response.headers_mut().extend(debug(&told));
    for (name, count) in [(STEERED_HEADER, steered), (UNPLANNED_HEADER, unplanned)] {
        if count > 0 {
            let name = header::HeaderName::from_static(name);
            response.headers_mut().insert(name, count.into());
        }
    }
    Ok(response)
}

/// Renders and tokenises, which takes milliseconds for long conversations.
async fn prepare(mut asked: Asked, lease: Lease) -> Result<(Asked, Lease, Vec<Prepared>), Error> {
    off_thread(move || {
        let is_quiet = asked.answer_at_once();
        // Its images may be megabytes, which need not be kept until the answer is over.
        let nothing = Source::Prompts {
            prompts: Vec::new(),
            special: false,
        };
        let source = std::mem::replace(&mut asked.source, nothing);
        let mut prepared = {
            let _running = lease.watchdog.call(READING, READING_TIMES);
            lease.prompter.prepare(&source, now())?
        };
        for prompt in &mut prepared {
            if is_quiet && prompt.think == Think::Optional {
                prompt.think = Think::None;
            }
        }
        Ok((asked, lease, prepared))
    })
    .await
}

/// The grammar of a request, where it states a constraint.
struct Grammar {
    compiled: Option<Arc<dyn Compiled>>,
    /// Under which number work on it is noted.
    mark: Option<Mark>,
    /// What the cache did.
    told: String,
}

impl Grammar {
    async fn of(
        app: &App,
        model: &Lease,
        asked: &Asked,
        prepared: &[Prepared],
        mark: Option<Mark>,
    ) -> Result<Self, Error> {
        // A conversation is one prompt; prompts as they are do not think.
        let think = prepared.first().map_or(Think::None, |prompt| prompt.think);
        let stated = asked.constraint.as_ref();
        let constraint = match stated {
            Some(stated) => stated.constraint.clone(),
            // Thoughts that have a bound, and any text behind them.
            None if asked.thoughts.is_some() && think != Think::None => {
                Constraint::Regex("(?s:.*)".to_owned())
            }
            None => {
                return Ok(Self {
                    compiled: None,
                    mark: None,
                    told: "grammar=none".to_owned(),
                });
            }
        };
        let demand = Demand {
            constraint,
            think,
            whitespace: asked.whitespace.unwrap_or(app.whitespace),
        };
        let begin = Instant::now();
        let (compiled, outcome) = model
            .grammars
            .compiled_for(demand, mark.clone())
            .await
            .map_err(|error| match stated {
                Some(stated) if error.param.is_none() => error.at(stated.spelling.0.clone()),
                _ => error,
            })?;
        let millis = begin.elapsed().as_secs_f64() * 1_000.0;
        let word = outcome_word(outcome);
        Ok(Self {
            compiled: Some(compiled),
            mark,
            told: format!("grammar={word}; compile_ms={millis:.3}"),
        })
    }
}

/// Queues a job for each choice; all or none.
fn submit(
    app: &App,
    model: &Arc<Lease>,
    asked: &Asked,
    prepared: Vec<Prepared>,
    grammar: &Grammar,
) -> Result<Jobs, Error> {
    let mut receivers = Vec::new();
    let limits = Limits {
        leaves_a_quarter: asked.is_bound(),
        spares_tags: asked.constraint.is_some() && !asked.is_bound(),
        ..asked.limits.clone()
    };
    for prompt in prepared {
        let knows_calls = |token: &Token| model.call_tokens.contains(token);
        let may_call = asked.may_call || prompt.tokens.tokens().iter().any(knows_calls);
        // Nobody could take it for a call.
        let never: Vec<(Token, f32)> = match may_call {
            true => Vec::new(),
            false => (model.call_tokens.iter())
                .map(|token| (*token, f32::NEG_INFINITY))
                .collect(),
        };
        for choice in 0..asked.n {
            let (events, receiver) = job::events();
            let mut sampling = asked.sampling.clone();
            sampling.logit_bias.extend(&never);
            // Each choice another one, and the first that of a request for one.
            let place = u64::from(choice);
            sampling.seed = sampling.seed.map(|seed| seed.wrapping_add(place));
            let matcher = grammar.compiled.as_ref().map(|compiled| {
                let begin = Instant::now();
                let mut matcher = compiled.matcher();
                if let Some(tokens) = asked.thoughts {
                    matcher.bound_thoughts(tokens);
                }
                app.metrics.cloned(begin.elapsed().as_secs_f64());
                marked(matcher, grammar.mark.clone())
            });
            // Those that are queued already see that nobody listens, should one be refused.
            model.engine.submit(Job {
                prompt: prompt.tokens.clone(),
                matcher,
                sampling,
                limits: limits.clone(),
                events,
                holds: Some(Arc::clone(model) as _),
            })?;
            receivers.push(receiver);
        }
    }
    Ok(Jobs::new(receivers))
}

async fn whole(mut jobs: Jobs, mut reply: Whole) -> Result<(Vec<u8>, Usage), Error> {
    while let Some((index, event)) = jobs.next().await {
        reply.event(index, event)?;
    }
    let usage = *reply.total();
    Ok((reply.body(), usage))
}

fn debug(told: &str) -> Option<(Option<header::HeaderName>, HeaderValue)> {
    let value = HeaderValue::from_str(told).ok()?;
    Some((Some(header::HeaderName::from_static(DEBUG_HEADER)), value))
}

fn id(shape: Shape) -> Result<String, Error> {
    let random = || getrandom::u64().map_err(|_| defect());
    let prefix = match shape {
        Shape::Chat => "chatcmpl",
        Shape::Completion => "cmpl",
    };
    Ok(format!("{prefix}-{:016x}{:016x}", random()?, random()?))
}

/// Unix seconds.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// A defect met beside the request's own thread.
pub(super) fn defect() -> Error {
    Error::new(Kind::Internal, "answering the request failed")
}
