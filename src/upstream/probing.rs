//! What one server enforces: asked in the background once it is identified, again when it is
//! another server or another model, not at all where it may cost money. Traffic goes by the
//! rule's word meanwhile.

use super::client::Outgoing;
use super::{State, Upstream};
use crate::probe::{Answer, Depth, Prober, Report};
use crate::rules::{Identity, Rule};
use crate::wire::Asked;
use http::{HeaderMap, HeaderValue, Method, header};
use http_body_util::{BodyExt, Limited};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// One request of at most 64 tokens: seconds on a small CPU server; longer means that it is busy
/// with what matters more.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// A reply of 64 tokens is some kilobytes, streamed some dozens.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// A server that is busy whenever it is asked is left alone.
const MAX_TRIES: u32 = 5;

/// The asking of one server. Dropping it hangs up on the request in flight.
#[derive(Debug)]
pub(super) struct Probing {
    upstream: Arc<Upstream>,
    task: JoinSet<()>,
    /// Who is being asked, or was last.
    asked: Option<Subject>,
    tries: u32,
}

/// Verdicts hold for this; another one is asked anew. A server that was down has lost its report,
/// since a restart may bring other launch flags, which no reply names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Subject {
    identity: Identity,
    model: String,
}

impl Probing {
    pub(super) fn new(upstream: Arc<Upstream>) -> Self {
        Self {
            upstream,
            task: JoinSet::new(),
            asked: None,
            tries: 0,
        }
    }

    /// The server was looked at: begins, goes on or gives up.
    pub(super) fn follow(&mut self) {
        while self.task.try_join_next().is_some() {}
        let depth = self.upstream.probe;
        if depth == Depth::Off {
            return;
        }
        let state = self.upstream.state.borrow().clone();
        let State::Ready {
            identity,
            rule,
            report,
            ..
        } = state
        else {
            self.task.abort_all();
            self.asked = None;
            return;
        };
        let Some(model) = self.upstream.model.borrow().clone() else {
            self.say_once(identity, "it names no model to ask");
            return;
        };
        let subject = Subject { identity, model };
        let is_new = self.asked.as_ref() != Some(&subject);
        if is_new {
            self.task.abort_all();
            self.tries = 0;
        } else if !self.task.is_empty() {
            return;
        }
        if report.is_some_and(|report| report.model == subject.model) {
            self.tries = 0;
            return;
        }
        if self.tries >= MAX_TRIES {
            return;
        }
        if depth == Depth::Light && self.upstream.is_hosted {
            let reason = "it is a hosted API, where requests cost money: `full` asks all the same";
            self.say_once(subject.identity, reason);
            return;
        }
        // Another model on the same server: its rule begins anew.
        let rule = self.upstream.unprobed(&subject.identity).unwrap_or(rule);
        self.tries += 1;
        self.asked = Some(subject.clone());
        let upstream = Arc::clone(&self.upstream);
        self.task.spawn(async move {
            let report = upstream.probe(&rule, &subject.model, depth).await;
            upstream.found(&subject.identity, report);
        });
    }

    fn say_once(&mut self, identity: Identity, reason: &str) {
        let nobody = Subject {
            identity,
            model: String::new(),
        };
        if self.asked.as_ref() != Some(&nobody) {
            let upstream = self.upstream.name();
            tracing::info!(parent: None, upstream, reason, "what the upstream enforces is not asked");
            self.asked = Some(nobody);
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

    async fn ask_chat(&self, next: Asked) -> Answer {
        let Ok(target) = next.path.parse() else {
            return Answer::Nothing("its model's name cannot be part of a URL".to_owned());
        };
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        let question = Outgoing {
            method: Method::POST,
            target,
            headers,
            body: Some(next.body.into()),
        };
        let response = match self.send(question).await {
            Ok(response) => response,
            Err(failure) => return Answer::Nothing(failure.why.as_str().to_owned()),
        };
        let (head, body) = response.into_parts();
        match Limited::new(body, MAX_ANSWER_BYTES).collect().await {
            Ok(body) => Answer::Reply {
                status: head.status.as_u16(),
                body: body.to_bytes().to_vec(),
            },
            Err(_) => Answer::Nothing("its reply broke off, or was too long".to_owned()),
        }
    }

    /// The rule without what was found out about another model.
    fn unprobed(&self, identity: &Identity) -> Option<Arc<Rule>> {
        let fresh = Arc::new(self.rules.resolve(&identity.dialect, identity.version)?);
        let is_reset = self.state.send_if_modified(|state| match state {
            State::Ready { rule, report, .. } if report.is_some() => {
                *report = None;
                *rule = Arc::clone(&fresh);
                true
            }
            _ => false,
        });
        is_reset.then_some(fresh)
    }

    /// From now on this server is planned for by what it was found to do.
    fn found(&self, identity: &Identity, found: Report) {
        let upstream = self.name();
        if let Some(ended) = &found.ended {
            let why = ended.why.as_str();
            tracing::warn!(parent: None, upstream, why, "what the upstream enforces cannot be asked");
            if ended.may_pass {
                return;
            }
        }
        let found = Arc::new(found);
        let is_current = self.state.send_if_modified(|state| match state {
            State::Ready {
                identity: current,
                rule,
                report,
                ..
            } if current == identity => {
                *rule = Arc::new(rule.probed(&found.findings));
                *report = Some(Arc::clone(&found));
                true
            }
            _ => false,
        });
        if !is_current {
            return;
        }
        self.metrics.probed(self.index, &found);
        if found.requests > 0 {
            let (requests, model) = (found.requests, found.model.as_str());
            tracing::info!(parent: None, upstream, model, requests, "asked what the upstream enforces");
        }
        for finding in &found.findings {
            let verdict = finding.verdict.as_str();
            if matches!(verdict, "ignored" | "refused") {
                tracing::warn!(parent: None,
                    upstream,
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
