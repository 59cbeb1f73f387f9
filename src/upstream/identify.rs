//! Who a server is: its answers to a few GET requests in, dialect and version out.

use super::client::Outgoing;
use super::{State, Upstream, Why};
use crate::rules::{Rule, Version};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt, Limited};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One question; a healthy server answers in milliseconds, a busy Python one in a second or two.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// `/v1/models` of the largest hosted APIs is some 100 KB.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// A server's dialect and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The rule file's name: `vllm`.
    pub dialect: String,
    /// The version, where the server tells it.
    pub version: Option<Version>,
}

/// What a server answered to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The path that was asked.
    pub path: String,
    /// The status.
    pub status: u16,
    /// The reply's headers.
    pub headers: HeaderMap,
    /// The body, cut off at 1 MiB.
    pub body: Vec<u8>,
}

/// Recognises servers, and knows the rule of each. Pure: answers in, identity out.
pub trait Recognise: fmt::Debug + Send + Sync {
    /// The paths to GET, in this order, below the server's base path.
    fn paths(&self) -> Vec<String>;

    /// Who gave these answers. A server that nothing is known of has an identity too.
    fn recognise(&self, answers: &[Answer]) -> Identity;

    /// The rule of an identity.
    ///
    /// # Errors
    /// Which rule is missing, and what to do.
    fn rule(&self, identity: &Identity) -> Result<Arc<Rule>, String>;
}

/// What came of asking one question.
enum Asked {
    Answer(Answer),
    /// It took too long, or the connection broke after it was made.
    Nothing,
    /// There was no connection.
    Unreachable(Why),
}

/// The answers of a server, or the state that it is in instead.
enum Heard {
    Answers(Vec<Answer>),
    Instead(State),
    /// A usable server did not answer in time: busy, not gone.
    Busy,
}

/// What a look at a server came to.
pub(super) struct Look {
    /// The state; `None` where nothing new was learnt.
    pub(super) state: Option<State>,
    /// The paths that told something: asking them again is enough to see a change.
    pub(super) telling: Vec<String>,
}

impl Upstream {
    /// Looks at the server. A known server is asked only what it answered last time, and
    /// everything again where it says something new.
    pub(super) async fn look(&self, telling: &[String]) -> Look {
        let known = match &*self.state.borrow() {
            State::Ready { identity, .. } => Some(identity.clone()),
            _ => None,
        };
        if let (Some(known), false) = (&known, telling.is_empty()) {
            let heard = self.ask_all(telling, true).await;
            let unchanged = match &heard {
                Heard::Busy => true,
                Heard::Answers(answers) => self.identity(answers) == *known,
                Heard::Instead(_) => false,
            };
            if unchanged {
                return Look {
                    state: None,
                    telling: telling.to_vec(),
                };
            }
            if let Heard::Instead(state) = heard {
                return Look {
                    state: Some(state),
                    telling: telling.to_vec(),
                };
            }
        }
        self.look_anew(known.is_some()).await
    }

    async fn look_anew(&self, is_known: bool) -> Look {
        let (state, telling) = match self.ask_all(&self.questions(), is_known).await {
            Heard::Busy => (None, Vec::new()),
            Heard::Instead(state) => (Some(state), Vec::new()),
            Heard::Answers(answers) => {
                let identity = self.identity(&answers);
                let state = match self.dialects.rule(&identity) {
                    Ok(rule) => State::ready(identity, rule),
                    Err(message) => State::no_rule(message),
                };
                let mut telling: Vec<String> = answers
                    .iter()
                    .filter(|answer| answer.status < 300)
                    .map(|answer| answer.path.clone())
                    .collect();
                if telling.is_empty() {
                    // It refused everything; asking one thing still shows that it lives.
                    telling.extend(answers.into_iter().take(1).map(|answer| answer.path));
                }
                (Some(state), telling)
            }
        };
        Look { state, telling }
    }

    /// A server whose dialect and version are pinned is only asked for a sign of life.
    fn questions(&self) -> Vec<String> {
        let is_pinned = matches!(&self.pin, Some(pin) if pin.version.is_some());
        let paths = self.dialects.paths();
        if is_pinned {
            return vec!["/v1/models".to_owned()];
        }
        paths
    }

    fn identity(&self, answers: &[Answer]) -> Identity {
        let Some(pin) = &self.pin else {
            return self.dialects.recognise(answers);
        };
        let version = pin.version.or_else(|| {
            let seen = self.dialects.recognise(answers);
            (seen.dialect == pin.name).then_some(seen.version).flatten()
        });
        Identity {
            dialect: pin.name.clone(),
            version,
        }
    }

    /// Asks every path. 503 is how llama.cpp and SGLang say that they are loading, whatever
    /// else can be told of them by then.
    async fn ask_all(&self, paths: &[String], is_known: bool) -> Heard {
        let mut answers = Vec::with_capacity(paths.len());
        for path in paths {
            match self.ask(path).await {
                Asked::Answer(answer) if answer.status == 503 => {
                    return Heard::Instead(State::loading());
                }
                Asked::Answer(answer) => answers.push(answer),
                Asked::Unreachable(why) => return Heard::Instead(State::down(why)),
                Asked::Nothing if is_known => return Heard::Busy,
                Asked::Nothing => {}
            }
        }
        if answers.is_empty() {
            // It takes connections and answers nothing.
            return Heard::Instead(State::loading());
        }
        Heard::Answers(answers)
    }

    async fn ask(&self, path: &str) -> Asked {
        tokio::time::timeout(ANSWER_WITHIN, self.ask_one(path))
            .await
            .unwrap_or(Asked::Nothing)
    }

    async fn ask_one(&self, path: &str) -> Asked {
        let Ok(target) = path.parse() else {
            return Asked::Nothing;
        };
        let question = Outgoing {
            method: Method::GET,
            target,
            headers: HeaderMap::new(),
            body: None,
        };
        let sent = match self.request(question) {
            Ok(request) => self.client.execute(request).await,
            Err(failure) => Err(failure),
        };
        let response = match sent {
            Ok(response) => response,
            Err(failure) if failure.why.is_connect() => return Asked::Unreachable(failure.why),
            Err(_broken) => return Asked::Nothing,
        };
        let (head, body) = response.into_parts();
        // A body that is too long or breaks off tells nothing, the status still does.
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
        Asked::Answer(Answer {
            path: path.to_owned(),
            status: head.status.as_u16(),
            headers: head.headers,
            body: body
                .map(|body| body.to_bytes().to_vec())
                .unwrap_or_default(),
        })
    }
}
