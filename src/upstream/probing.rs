//! What one server enforces: asked in the background once it is identified, again when it is
//! another server or another model, not at all where it may cost money. Traffic goes by the
//! rule's word meanwhile.

use super::client::{Outgoing, Payload};
use super::models::Listed;
use super::{State, Upstream};
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::{BodyExt, Limited};
use isogloss_core::dialect::server::Asked;
use isogloss_core::probe::{Answer, Depth, Prober, Report};
use isogloss_core::rules::{Identity, Rule};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What is to be done about a server that lists its models to nobody without a key.
const GIVE_KEY: &str = "give its key (api_key_env, api_key_file or ISOGLOSS_UPSTREAM_API_KEY)";
/// One request of at most 64 tokens: seconds on a small CPU server; longer means that it is busy
/// with what matters more.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// A reply of 64 tokens is some kilobytes, streamed some dozens.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// A server that is busy whenever it is asked is left alone.
const MAX_TRIES: u32 = 5;

/// The asking of one server, one model after the other. Dropping it hangs up on the request in
/// flight.
#[derive(Debug)]
pub(super) struct Probing {
    upstream: Arc<Upstream>,
    task: JoinSet<()>,
    /// Verdicts hold for this one; another is asked anew. A server that was down has lost its reports,
    /// since a restart may bring other launch flags, which no reply names.
    identity: Option<Identity>,
    /// Which model is being asked, or was last.
    asked: String,
    /// How often each was.
    tries: Vec<(String, u32)>,
    has_said: bool,
}

impl Probing {
    pub(super) fn new(upstream: Arc<Upstream>) -> Self {
        Self {
            upstream,
            task: JoinSet::new(),
            identity: None,
            asked: String::new(),
            tries: Vec::new(),
            has_said: false,
        }
    }

    /// The server was looked at: begins, goes on or gives up.
    pub(super) fn follow(&mut self) {
        while self.task.try_join_next().is_some() {}
        if self.upstream.probe == Depth::Off {
            return;
        }
        let state = self.upstream.state.borrow().clone();
        let State::Ready {
            identity, models, ..
        } = &state
        else {
            self.begin_anew(None);
            self.upstream.models.send_modify(Listed::want_none);
            self.upstream.to_be_asked();
            return;
        };
        if self.identity.as_ref() != Some(identity) {
            self.begin_anew(Some(identity.clone()));
        }
        let listed = self.upstream.models.borrow().clone();
        if listed.first().is_none() {
            match listed.refused() {
                None => self.say_once("it names no model to ask"),
                Some(status) => self.say_once(&format!("it lists its models to nobody without a key that is good for that ({status}): {GIVE_KEY}")),
            }
            return;
        }
        if !listed.has(&self.asked) {
            self.task.abort_all();
        } else if !self.task.is_empty() {
            return;
        }
        self.tries.retain(|(model, _)| listed.has(model));
        let may_ask =
            |model: &&str| models.report(model).is_none() && self.tries(model) < MAX_TRIES;
        let Some(model) = listed.to_ask().find(may_ask) else {
            if listed.to_ask().next().is_none() {
                self.say_once("none of the models that it would be asked about is loaded");
            }
            return;
        };
        if self.upstream.probe == Depth::Light && self.upstream.is_hosted {
            self.say_once(
                "it is a hosted API, where requests cost money: `full` asks all the same",
            );
            return;
        }
        if let Some(rule) = state.certain_rule_of(model) {
            self.ask(model, Arc::clone(rule), identity.clone());
        }
    }

    fn begin_anew(&mut self, identity: Option<Identity>) {
        self.task.abort_all();
        self.identity = identity;
        self.tries.clear();
        self.has_said = false;
    }

    fn tries(&self, model: &str) -> u32 {
        let known = self.tries.iter().find(|(known, _)| known == model);
        known.map_or(0, |(_, tries)| *tries)
    }

    fn ask(&mut self, model: &str, rule: Arc<Rule>, identity: Identity) {
        let tries = self.tries(model) + 1;
        self.tries.retain(|(known, _)| known != model);
        self.tries.push((model.to_owned(), tries));
        model.clone_into(&mut self.asked);
        let (upstream, model) = (Arc::clone(&self.upstream), model.to_owned());
        self.task.spawn(async move {
            let report = upstream.probe(&rule, &model, upstream.probe).await;
            upstream.found(&identity, report);
            upstream.has_been_asked();
        });
    }

    fn say_once(&mut self, reason: &str) {
        self.upstream.has_been_asked();
        if !self.has_said {
            let (upstream, name) = (self.upstream.name(), self.upstream.given_name());
            tracing::info!(parent: None, upstream, name, reason, "what the upstream enforces is not asked");
            self.has_said = true;
        }
    }
}

impl Upstream {
    /// Asks, one request after the other, so that it never takes more than one place in the
    /// server's batch.
    async fn probe(&self, rule: &Rule, model: &str, depth: Depth) -> Report {
        let mut prober = Prober::new(rule, model, depth);
        while let Some(next) = prober.next() {
            let asked = tokio::time::timeout(ANSWER_WITHIN, self.ask_chat(next)).await;
            let answer = asked.unwrap_or_else(|_| {
                let seconds = ANSWER_WITHIN.as_secs();
                Answer::Nothing(format!("it did not answer within {seconds} s"))
            });
            prober.answer(&answer);
        }
        prober.finish()
    }

    /// Asks, and before it whatever it needs to be asked before.
    async fn ask_chat(&self, mut next: Asked) -> Answer {
        loop {
            let pending = next.pending.take();
            let answer = self.ask_once(next).await;
            match (pending, answer) {
                (Some(pending), Answer::Reply { status, body }) if status < 300 => {
                    match pending.next(&body) {
                        Ok(asked) => next = asked,
                        Err(error) => return Answer::Nothing(error.message),
                    }
                }
                (_, answer) => return answer,
            }
        }
    }

    async fn ask_once(&self, next: Asked) -> Answer {
        let Ok(target) = next.path.parse() else {
            return Answer::Nothing("its model's name cannot be part of a URL".to_owned());
        };
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let question = Outgoing {
            with_key: true,
            method: Method::POST,
            target,
            headers,
            body: Payload::Whole(next.body.into()),
        };
        let response = match self.send(question).await {
            Ok(response) => response,
            Err(failure) => return Answer::Nothing(failure.why.as_str().to_owned()),
        };
        let (head, body) = response.into_parts();
        if head.status.is_success() {
            self.key_serves();
        }
        match Limited::new(body, MAX_ANSWER_BYTES).collect().await {
            Ok(body) => Answer::Reply {
                status: head.status.as_u16(),
                body: body.to_bytes().to_vec(),
            },
            Err(_) => Answer::Nothing("its reply broke off, or was too long".to_owned()),
        }
    }

    /// From now on requests for this model are planned for by what it was found to do.
    fn found(&self, identity: &Identity, found: Report) {
        let (upstream, name) = (self.name(), self.given_name());
        if let Some(ended) = &found.ended {
            let why = ended.why.as_str();
            tracing::warn!(parent: None, upstream, name, why, "what the upstream enforces cannot be asked");
            if ended.may_pass {
                return;
            }
        }
        let found = Arc::new(found);
        let is_current = self.state.send_if_modified(|state| match state {
            State::Ready {
                identity: current,
                rule,
                models,
                ..
            } if current == identity => {
                let rule = models.rule(&found.model).unwrap_or(rule);
                let rule = Arc::new(rule.probed(&found.findings));
                let rule = self.in_use.shared(rule);
                models.set(&found.model, rule, Some(Arc::clone(&found)));
                true
            }
            _ => false,
        });
        if !is_current {
            return;
        }
        let is_first = self.models.borrow().first() == Some(&found.model);
        if is_first && let Some(index) = self.shown() {
            self.metrics.probed(index, &found);
        }
        let is_last = {
            let (models, state) = (self.models.borrow(), self.state.borrow());
            models
                .to_ask()
                .all(|model| state.report_of(model).is_some())
        };
        if !is_last {
            self.kick.notify_one();
        }
        if found.requests > 0 {
            let (requests, model) = (found.requests, found.model.as_str());
            tracing::info!(parent: None, upstream, name, model, requests, "asked what the upstream enforces");
        }
        for finding in &found.findings {
            let verdict = finding.verdict.as_str();
            if matches!(verdict, "ignored" | "refused") {
                tracing::warn!(parent: None,
                    upstream,
                    name,
                    demand = finding.probed.demand(),
                    words = finding.words,
                    streamed = finding.streamed,
                    verdict,
                    reason = finding.verdict.reason(),
                    "the upstream does not enforce what its dialect says"
                );
            }
        }
    }
}
