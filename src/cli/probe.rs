//! `isogloss probe URL`: a running server in; its kind, its version, how it was recognised, what
//! it was found to enforce and the strategy for each demand out.

mod models;

use super::demands::{demands, demands_json, route_word};
use super::findings::{report_json, report_text};
use super::{Failure, print, print_json, runtime, wire};
use crate::config::{Sources, UpstreamConfig, any_word, load, unix_socket};
use crate::upstream::{WANTS_KEY, address_headers, endpoint, place};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use isogloss_core::dialect::server::Asked;
use isogloss_core::probe::{Answer, Depth, Prober, Report};
use isogloss_core::rules::{
    ComposeHow, Http, Markup, ProbeAnswer, Probed, Recogniser, Recognition, Rule, RuleSet,
    ShowTools,
};
use models::Models;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// A healthy server answers in milliseconds, a busy Python one in a second or two.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// At most 64 tokens: seconds on a small CPU server, the first one slower than the others.
const CHAT_WITHIN: Duration = Duration::from_secs(60);
/// `/v1/models` of the largest hosted APIs is some 100 KB.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Flags of `probe`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The server: scheme, host and port, perhaps a base path. ISOGLOSS_UPSTREAM_API_KEY is sent
    /// where it is set.
    url: String,
    /// Ask for each demand once: some 15 requests of a few tokens.
    #[arg(long, conflicts_with = "full")]
    light: bool,
    /// Ask for every spelling, and for streams too; the default, but for hosted APIs, where
    /// requests cost money and nothing is asked unless this flag is given.
    #[arg(long)]
    full: bool,
    /// The model to ask; the server's first one where it is not given. The others are named, not asked.
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// A folder of rule files that replace or add to the built-in ones.
    #[arg(long, value_name = "DIR", env = "ISOGLOSS_RULES")]
    rules: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// A server that was recognised.
pub(super) struct Recognised {
    pub(super) rule: Rule,
    /// The paths that were asked, each with its status; 0 where no answer came.
    asked: Vec<(String, u16)>,
}

impl Recognised {
    /// The status, where it refused whatever it was asked.
    fn refused(&self) -> Option<u16> {
        let is_refusal = |(_, status): &(String, u16)| matches!(status, 401 | 403);
        let (_, status) = self.asked.first()?;
        self.asked.iter().all(is_refusal).then_some(*status)
    }
}

/// What is said of a server that lists its models to nobody without a key.
const KEY_MISSING: &str = "give its key (ISOGLOSS_UPSTREAM_API_KEY)";

/// What is said of a key that is refused.
const KEY_REFUSED: &str = "it refuses the key of ISOGLOSS_UPSTREAM_API_KEY";

/// What it was found to enforce, or why it was not asked.
type Enforced = Result<Report, Unasked>;

/// Why a server was not asked.
struct Unasked {
    why: String,
    /// It could have been.
    is_meant: bool,
}

/// Which models were there to ask, and what came of it.
struct Outcome {
    models: Models,
    enforced: Enforced,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let rules = wire::rules(args.rules.as_deref())?;
    let upstream = upstream(&args.url)?;
    let (seen, Outcome { models, enforced }) = runtime(0)?.block_on(async {
        let seen = ask(&rules, &upstream).await?;
        let outcome = enforced(args, &rules, &upstream, &seen.rule).await?;
        Ok::<_, Failure>((seen, outcome))
    })?;
    let rule = match &enforced {
        Ok(report) => seen.rule.probed(&report.findings),
        Err(_) => seen.rule.clone(),
    };
    if args.json {
        let asked = seen.asked.iter();
        let asked = asked.map(|(path, status)| json!({"path": path, "status": status}));
        print_json(&json!({
            "dialect": rule.dialect,
            "version": rule.version.map(|version| version.to_string()),
            "asked": asked.collect::<Vec<_>>(),
            "models": models.to_json(),
            "markup": markup(&rule, &models).map(|markup| json!({
                "format": markup.format.name(),
                "from": markup.from.as_str(),
            })),
            "probe": match &enforced {
                Ok(report) => report_json(report),
                Err(Unasked { why, .. }) => json!({"ended": why}),
            },
            "strategies": demands_json(&rule),
        }))?;
    } else {
        let has_key = upstream.api_key.is_some();
        print(&text(&rules, &seen, &rule, &models, &enforced, has_key))?;
    }
    let could_ask = match &enforced {
        Ok(report) => report.ended.is_none() && seen.refused().is_none(),
        Err(unasked) => unasked.is_meant,
    };
    // What was printed says why.
    match could_ask {
        true => Ok(()),
        false => Err(Failure::Runtime(String::new())),
    }
}

fn text(
    rules: &RuleSet,
    seen: &Recognised,
    rule: &Rule,
    models: &Models,
    enforced: &Enforced,
    has_key: bool,
) -> String {
    let asked: Vec<String> = seen
        .asked
        .iter()
        .map(|(path, status)| match status {
            0 => format!("{path} (no answer)"),
            status => format!("{path} {status}"),
        })
        .collect();
    let how = match asked.as_slice() {
        [] => "by its host name".to_owned(),
        asked => format!("by GET {}", asked.join(", ")),
    };
    let mut text = format!(
        "server      {} ({})\nrecognised  {how}\n",
        rule.title,
        rule.label()
    );
    if let Some(status) = seen.refused() {
        let what = match has_key {
            true => KEY_REFUSED,
            false => WANTS_KEY,
        };
        text += &format!("note        it answers {status} whatever it is asked: {what}\n");
    } else if rule.dialect == rules.fallback() {
        text += "note        nothing recognised it: pin it with --dialect if you know better\n";
    }
    match enforced {
        Ok(report) => {
            text += &format!(
                "asked       {} requests to {}\n",
                report.requests,
                models::shown(&report.model)
            );
            text += &models.text();
            if let Some(fingerprint) = &report.system_fingerprint {
                text += &format!("fingerprint {fingerprint}\n");
            }
            text += "\nwhat it enforces\n";
            text += &report_text(report, |probed| then(rule, probed));
        }
        Err(Unasked { why, .. }) => text += &format!("not asked   what it enforces: {why}\n"),
    }
    if let Some(markup) = markup(rule, models) {
        let (format, from) = (markup.format.name(), markup.from.as_str());
        text += &format!("\ncalls in its text are read as {format}, by {from}\n");
    }
    text + &strategies(rule)
}

/// In which markup the model writes that was asked, or would be.
fn markup(rule: &Rule, models: &Models) -> Option<Markup> {
    rule.markup_of(models.asked().unwrap_or_default())
}

/// What is done with a demand on this server, stated in the way that was asked about.
fn then(rule: &Rule, probed: &Probed) -> String {
    let word = match probed {
        Probed::Constraint { kind, spelling } => route_word(rule.route(kind, spelling.as_deref())),
        Probed::Choice(choice) => {
            let all = demands(rule);
            let found = all.iter().find(|demand| demand.name == *choice);
            found.map_or("instruct", |demand| demand.strategy)
        }
        Probed::Compose => match rule.compose {
            ComposeHow::Native => "native",
            ComposeHow::Union => "compose",
            ComposeHow::Instruct => "instruct",
        },
        Probed::ShowTools => match rule.show_tools {
            ShowTools::ToolChoiceNone => "tools with tool_choice none",
            ShowTools::ToolChoiceAuto => "tools with tool_choice auto",
            ShowTools::ChatTemplateKwargs => "chat_template_kwargs",
            ShowTools::SystemMessage => "a system message",
        },
    };
    word.to_owned()
}

fn strategies(rule: &Rule) -> String {
    let mut text = String::new();
    let all = demands(rule);
    let width = all
        .iter()
        .map(|demand| demand.name.len())
        .max()
        .unwrap_or_default();
    let mut group = "";
    for demand in &all {
        if demand.group != group {
            group = demand.group;
            text += &format!("\n{}\n", group.replace('_', " "));
        }
        text += &format!("  {:width$}  {}\n", demand.name, demand.strategy);
    }
    text
}

/// Asks what the server enforces.
async fn enforced(
    args: &Args,
    rules: &RuleSet,
    upstream: &UpstreamConfig,
    rule: &Rule,
) -> Result<Outcome, Failure> {
    if upstream.is_hosted(rules) && !args.full && !args.light {
        let why =
            "it is a hosted API, where requests cost money: --light or --full asks all the same";
        return Ok(Outcome {
            models: Models::new(None, args.model.clone()),
            enforced: Err(Unasked {
                why: why.to_owned(),
                is_meant: true,
            }),
        });
    }
    let depth = if args.light {
        Depth::Light
    } else {
        Depth::Full
    };
    let client = client(CHAT_WITHIN, upstream)?;
    let said = models_said(&client, upstream, &rule.http).await;
    let listed = said.as_ref().and_then(|said| said.body.as_ref());
    let models = Models::new(listed, args.model.clone());
    let nothing = Prober::new(rule, "", depth);
    let Some(model) = models.asked() else {
        let enforced = if nothing.next().is_none() {
            Ok(nothing.finish())
        } else {
            let status = said.map_or(0, |said| said.status);
            Err(Unasked {
                why: unnamed(status, upstream.api_key.is_some()),
                is_meant: false,
            })
        };
        return Ok(Outcome { models, enforced });
    };
    let mut prober = Prober::new(rule, model, depth);
    while let Some(next) = prober.next() {
        prober.answer(&asked(&client, upstream, &rule.http, next).await?);
    }
    let enforced = Ok(prober.finish());
    Ok(Outcome { models, enforced })
}

/// Why there is no model to ask, by the status of the answer to who has them; 0 where there was none.
fn unnamed(status: u16, has_key: bool) -> String {
    match (status, has_key) {
        (401 | 403, false) => format!("it answers {status} to /v1/models: {KEY_MISSING}"),
        (401 | 403, true) => format!("it answers {status} to /v1/models: {KEY_REFUSED}"),
        _ => "it names no model at /v1/models: give one with --model".to_owned(),
    }
}

/// Asks one question, and before it whatever it needs to be asked before.
async fn asked(
    client: &reqwest::Client,
    upstream: &UpstreamConfig,
    http: &Http,
    mut next: Asked,
) -> Result<Answer, Failure> {
    loop {
        let pending = next.pending.take();
        let request = client
            .post(url(upstream, Some(http), &next.path)?)
            .header("content-type", "application/json")
            .body(next.body);
        let answer = match addressed(request, upstream, Some(http)).send().await {
            Ok(response) => chat_answer(response).await,
            Err(error) if error.is_timeout() => Answer::Nothing(format!(
                "it did not answer within {} s",
                CHAT_WITHIN.as_secs()
            )),
            Err(error) => Answer::Nothing(cause(&error)),
        };
        match (pending, answer) {
            (Some(pending), Answer::Reply { status, body }) if status < 300 => {
                match pending.next(&body) {
                    Ok(asked) => next = asked,
                    Err(error) => return Ok(Answer::Nothing(error.message)),
                }
            }
            (_, answer) => return Ok(answer),
        }
    }
}

/// What the server says of its models.
async fn models_said(
    client: &reqwest::Client,
    upstream: &UpstreamConfig,
    http: &Http,
) -> Option<ProbeAnswer> {
    let request = client.get(url(upstream, Some(http), "/v1/models").ok()?);
    let response = addressed(request, upstream, Some(http)).send().await.ok()?;
    Some(read(response).await)
}

async fn chat_answer(response: reqwest::Response) -> Answer {
    let status = response.status().as_u16();
    let (body, is_whole) = bytes(response).await;
    if is_whole {
        Answer::Reply { status, body }
    } else {
        Answer::Nothing("its reply broke off, or was too long".to_owned())
    }
}

fn url(
    upstream: &UpstreamConfig,
    http: Option<&Http>,
    path: &str,
) -> Result<reqwest::Url, Failure> {
    endpoint(&upstream.url, http, path).ok_or_else(|| {
        let base = upstream.url.as_str();
        Failure::Runtime(format!("{base} leads to no server that has {path}"))
    })
}

/// With the key, and with what this server wants in its headers.
fn addressed(
    mut request: reqwest::RequestBuilder,
    upstream: &UpstreamConfig,
    http: Option<&Http>,
) -> reqwest::RequestBuilder {
    let mut headers = HeaderMap::new();
    if let Some(key) = &upstream.api_key
        && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
    {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    if let Some(http) = http {
        address_headers(http, &mut headers);
    }
    for (name, value) in &headers {
        request = request.header(name, value);
    }
    request
}

/// Asks a server who it is.
pub(super) fn identify(rules: &RuleSet, url: &str) -> Result<Recognised, Failure> {
    let upstream = upstream(url)?;
    runtime(0)?.block_on(ask(rules, &upstream))
}

fn upstream(url: &str) -> Result<UpstreamConfig, Failure> {
    let key =
        |name: &str| (name == "ISOGLOSS_UPSTREAM_API_KEY").then(|| std::env::var(name).ok())?;
    let config = load(&Sources {
        flags: Vec::new(),
        upstreams: vec![url.to_owned()],
        dialect: None,
        markup: None,
        file: None,
        env: &key,
        needs_upstream: true,
        words: &any_word,
    })
    .map_err(|faults| {
        let says = |fault: &crate::config::Fault| format!("{}: {}", fault.what, fault.remedy);
        Failure::Usage(faults.0.iter().map(says).collect::<Vec<_>>().join("\n"))
    })?;
    match <[UpstreamConfig; 1]>::try_from(config.upstreams) {
        Ok([upstream]) => Ok(upstream),
        Err(_) => Err(Failure::Usage("give one URL".to_owned())),
    }
}

async fn ask(rules: &RuleSet, upstream: &UpstreamConfig) -> Result<Recognised, Failure> {
    let client = client(ANSWER_WITHIN, upstream)?;
    let base = upstream.url.as_str().trim_end_matches('/');
    let mut recogniser = Recogniser::new(rules, &place(&upstream.url));
    let mut asked = Vec::new();
    let identity = loop {
        let path = match recogniser.step() {
            Recognition::Done(identity) => break identity,
            Recognition::Ask(path) => path,
        };
        let request = client.get(url(upstream, None, &path)?);
        let answer = match addressed(request, upstream, None).send().await {
            Ok(response) => read(response).await,
            Err(error) if error.is_connect() => return Err(unreachable(&upstream.url, &error)),
            Err(_silent) => ProbeAnswer::default(),
        };
        if answer.status == 503 {
            return Err(Failure::Runtime(format!(
                "{base} is there, but it is not ready (503): it may be loading its model; try again"
            )));
        }
        asked.push((path.clone(), answer.status));
        recogniser.answer(&path, answer);
    };
    if !asked.is_empty() && asked.iter().all(|(_, status)| *status == 0) {
        return Err(Failure::Runtime(format!(
            "{base} takes connections, but answers nothing within {} s",
            ANSWER_WITHIN.as_secs()
        )));
    }
    let rule = rules
        .rule_of(&identity)
        .ok_or_else(|| Failure::Runtime(format!("there is no rule for {}", identity.dialect)))?;
    Ok(Recognised { rule, asked })
}

fn client(within: Duration, upstream: &UpstreamConfig) -> Result<reqwest::Client, Failure> {
    // An error only says that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder();
    if let Some(socket) = unix_socket(&upstream.url) {
        builder = builder.unix_socket(socket);
    }
    builder
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        // Some servers close a connection after a stream without saying so: each request has its own.
        .pool_max_idle_per_host(0)
        .timeout(within)
        .build()
        .map_err(|error| Failure::Runtime(format!("the HTTP client cannot be set up: {error}")))
}

fn unreachable(url: &reqwest::Url, error: &reqwest::Error) -> Failure {
    let base = url.as_str().trim_end_matches('/');
    Failure::Runtime(format!("{base} cannot be reached: {}", cause(error)))
}

/// The deepest cause says it: connection refused, name not known, bad certificate.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

async fn read(response: reqwest::Response) -> ProbeAnswer {
    let status = response.status().as_u16();
    let headers = response.headers().iter().filter_map(|(name, value)| {
        let value = value.to_str().ok()?.to_owned();
        Some((name.as_str().to_owned(), value))
    });
    let headers = headers.collect();
    // What breaks off or is too long is no JSON; the status still tells something.
    let (body, _) = bytes(response).await;
    ProbeAnswer {
        status,
        headers,
        body: isogloss_core::json::value_of(&body).ok(),
    }
}

/// The body as far as it came, and whether that is all of it.
async fn bytes(mut response: reqwest::Response) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return (body, true),
            Err(_) => return (body, false),
        }
        if body.len() > MAX_ANSWER_BYTES {
            return (body, false);
        }
    }
}
