//! Who a server is: its answers to a few GET requests in, its state out.

use super::client::{Outgoing, Payload};
use super::{State, Upstream, Why};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt, Limited};
use isogloss_core::json::value_of;
use isogloss_core::probe::Depth;
use isogloss_core::rules::{Identity, MarkupSeen, ProbeAnswer, Recogniser, Recognition, Rule};
use serde_json::Value;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// One question; a healthy server answers in milliseconds, a busy Python one in a second or two.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// `/v1/models` of the largest hosted APIs is some 100 KB.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// What is asked where only a sign of life is wanted: every server has it.
const SIGN_OF_LIFE: &str = "/v1/models";

/// What is to be done about a server that answers 401 or 403 whatever it is asked.
pub const WANTS_KEY: &str = "give its key (api_key_env, api_key_file or ISOGLOSS_UPSTREAM_API_KEY), or pin it with --dialect; \
     without either it is taken for one that enforces nothing";

/// What is to be done about a key that is refused.
pub(super) const PUT_RIGHT: &str = "put it right (api_key_env, api_key_file or ISOGLOSS_UPSTREAM_API_KEY); what clients ask is refused as well";

/// What came of asking one question.
enum Asked {
    Answer(ProbeAnswer),
    /// It took too long, or the connection broke after it was made.
    Nothing,
    /// There was no connection.
    Unreachable(Why),
}

/// What a server's answers say.
enum Heard {
    Identity(Identity),
    Instead(State),
    /// A usable server did not answer in time: busy, not gone.
    Busy,
}

impl Upstream {
    /// Looks at the server; `None` where nothing is learnt.
    pub(super) async fn look(&self) -> Option<State> {
        match self.hear().await {
            Heard::Busy => None,
            Heard::Instead(state) => Some(state),
            Heard::Identity(identity) => Some(
                match self.rules.rule_of(&identity).map(|rule| self.told(rule)) {
                    // Who names a dialect wants its wire, whoever asks.
                    Some(rule) if self.pin.is_some() => State::ready(identity, rule.alone()),
                    Some(rule) => State::ready(identity, rule),
                    None => State::no_rule(&identity.dialect),
                },
            ),
        }
    }

    /// The rule before the server has answered anything: the pinned one, or that of its host name.
    pub(super) fn pinned_rule(&self) -> Option<Arc<Rule>> {
        let (name, version) = match &self.pin {
            Some(pin) => (pin.name.clone(), pin.version),
            None => match Recogniser::new(&self.rules, &self.address.place()).step() {
                Recognition::Done(identity) => (identity.dialect, identity.version),
                Recognition::Ask(_) => return None,
            },
        };
        let rule = self.rules.resolve(&name, version)?;
        Some(Arc::new(self.told(rule)))
    }

    /// The rule with what the operator says of the server's models.
    fn told(&self, rule: Rule) -> Rule {
        let rule = match &self.thoughts {
            Some(word) => rule.with_thoughts(word),
            None => rule,
        };
        match &self.markup {
            Some(word) => rule.clone().with_markup(word).unwrap_or(rule),
            None => rule,
        }
    }

    async fn hear(&self) -> Heard {
        let Some(pin) = &self.pin else {
            return self.recognise().await;
        };
        let pinned = |version, facts, markup: Option<MarkupSeen>| {
            Heard::Identity(Identity {
                dialect: pin.name.clone(),
                version,
                facts,
                markup,
            })
        };
        let says_nothing_new = pin.version.is_some() || !self.rules.is_recognised(&pin.name);
        if says_nothing_new && self.probe == Depth::Off {
            // All is known: it is up until a connection to it fails.
            let is_down = matches!(*self.state.borrow(), State::Down { .. });
            if !is_down {
                return pinned(pin.version, Vec::new(), None);
            }
        }
        if says_nothing_new {
            return match self.sign_of_life().await {
                None => pinned(pin.version, Vec::new(), None),
                Some(instead) => instead,
            };
        }
        match self.recognise().await {
            // The version of another dialect says nothing of this one.
            Heard::Identity(seen) => match seen.dialect == pin.name {
                true => pinned(seen.version, seen.facts, seen.markup),
                false => pinned(None, Vec::new(), None),
            },
            heard => heard,
        }
    }

    async fn recognise(&self) -> Heard {
        self.ask_all(Recogniser::new(&self.rules, &self.address.place()))
            .await
    }

    /// What a server of this dialect tells of its model. `None` where it does not answer.
    pub(super) async fn tells(&self, dialect: &str) -> Option<Identity> {
        match self
            .ask_all(Recogniser::knowing(&self.rules, dialect))
            .await
        {
            Heard::Identity(identity) => Some(identity),
            Heard::Instead(_) | Heard::Busy => None,
        }
    }

    /// Asks what the rules want to know. 503 is how llama.cpp and SGLang say that they are
    /// loading, whatever else can be told of them by then.
    async fn ask_all(&self, mut recogniser: Recogniser<'_>) -> Heard {
        let mut answers = 0;
        // Whether any was what was asked for.
        let mut lives = false;
        let mut asked = 0;
        // How many of them were refusals, and the last one's status.
        let mut refusals = (0, 0);
        // Whether one said that the key is made for other questions.
        let mut is_limited = false;
        let identity = loop {
            let path = match recogniser.step() {
                Recognition::Done(identity) => break identity,
                Recognition::Ask(path) => path,
            };
            asked += 1;
            let answer = match self.ask(&path).await {
                Ok(Some(answer)) => {
                    answers += 1;
                    lives |= answer.status < 300 && answer.body.is_some();
                    if matches!(answer.status, 401 | 403) {
                        refusals = (refusals.0 + 1, answer.status);
                        is_limited |= self.limits_key(&answer);
                    }
                    answer
                }
                Ok(None) => ProbeAnswer::default(),
                Err(instead) => return instead,
            };
            recogniser.answer(&path, answer);
        };
        if asked == 0 {
            // Known by its name; whether it is there is another question.
            return match self.sign_of_life().await {
                None => Heard::Identity(identity),
                Some(instead) => instead,
            };
        }
        if answers == 0 {
            // It takes connections and answers nothing.
            return Heard::Instead(State::loading());
        }
        let is_unknown = identity.dialect == self.rules.fallback();
        let mut seen_as = self.seen_as.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_unknown {
            *seen_as = Some(identity.dialect.clone());
            return Heard::Identity(identity);
        }
        let is_ready = matches!(*self.state.borrow(), State::Ready { .. });
        let (refused, status) = refusals;
        let is_refused = refused == answers;
        let is_key_refused = is_refused && !is_limited;
        if is_key_refused {
            self.note_key(status, true);
        }
        match seen_as.is_some() {
            _ if lives => *seen_as = None,
            // It wants a key from now on.
            true if is_refused && is_ready => return Heard::Busy,
            // Somebody else answers in its place, as the ingress of a cluster does.
            true if !is_refused => return Heard::Instead(State::loading()),
            _ if is_ready => {}
            // It was said.
            _ if is_key_refused && self.has_key() => {}
            _ if is_key_refused => {
                tracing::warn!(parent: None, upstream = self.name(), name = self.given_name(), status, "what the upstream is cannot be asked: {WANTS_KEY}");
            }
            _ => {
                tracing::warn!(parent: None, upstream = self.name(), name = self.given_name(), "nothing that the upstream answers tells what it is: check its URL, or say which server it is (dialect)");
            }
        }
        Heard::Identity(identity)
    }

    /// `None` where the server lives.
    async fn sign_of_life(&self) -> Option<Heard> {
        match self.ask(SIGN_OF_LIFE).await {
            Ok(Some(answer)) => {
                // It is all that such a server is asked.
                if !self.limits_key(&answer) {
                    self.note_key(answer.status, answer.status == 401);
                }
                None
            }
            Ok(None) => Some(Heard::Instead(State::loading())),
            Err(instead) => Some(instead),
        }
    }

    /// The answer to one question, where there is one.
    async fn ask(&self, path: &str) -> Result<Option<ProbeAnswer>, Heard> {
        let is_known = matches!(*self.state.borrow(), State::Ready { .. });
        let asked = tokio::time::timeout(ANSWER_WITHIN, self.get(path)).await;
        match asked.unwrap_or(Asked::Nothing) {
            Asked::Answer(answer) if answer.status == 503 => Err(Heard::Instead(State::loading())),
            Asked::Answer(answer) => {
                if path == SIGN_OF_LIFE {
                    if !self.limits_key(&answer) {
                        self.note_key(answer.status, false);
                    }
                    self.note_models(answer.status, answer.body.as_ref());
                }
                Ok(Some(answer))
            }
            // Of the server that says nothing.
            Asked::Unreachable(Why::NoFiles) => Err(Heard::Busy),
            Asked::Unreachable(why) => Err(Heard::Instead(State::down(why))),
            Asked::Nothing if is_known => Err(Heard::Busy),
            Asked::Nothing => Ok(None),
        }
    }

    /// Whether the answer to a key is that it is made for other questions: what it is refused here, it is not elsewhere.
    fn limits_key(&self, answer: &ProbeAnswer) -> bool {
        let body = answer.body.as_ref();
        let body = body.filter(|_| matches!(answer.status, 401 | 403));
        body.is_some_and(|body| self.rules.limits_key(body))
    }

    /// Makes sure that the models are known, where there is a use for them.
    pub(super) async fn learn_model(&self) {
        let is_wanted = {
            let (models, is_probed) = (self.models.borrow(), self.probe != Depth::Off);
            let is_missing = models.first().is_none() && (is_probed || self.is_one_of_several);
            is_missing || is_probed && models.says_loaded()
        };
        let is_wanted = is_wanted && matches!(*self.state.borrow(), State::Ready { .. });
        if is_wanted {
            // What it says of the server's health is the next look's.
            let _heard = self.ask(SIGN_OF_LIFE).await;
        }
    }

    fn note_models(&self, status: u16, body: Option<&Value>) {
        let list = body.and_then(|body| body.get("data")?.as_array());
        let list = list.map(Vec::as_slice).unwrap_or_default();
        self.has_models(list.iter().filter_map(|model| model.get("id")?.as_str()));
        let says = list.iter().any(|model| self::status(model).is_some());
        let loaded = list
            .iter()
            .filter(|model| self::status(model) == Some("loaded"));
        let loaded = loaded.filter_map(|model| model.get("id")?.as_str());
        self.models.send_if_modified(|models| {
            models.note_loaded(says.then_some(loaded));
            models.note_status(status);
            false
        });
    }

    /// Takes the list of its models.
    pub(super) fn has_models<'a>(&self, names: impl Iterator<Item = &'a str>) {
        self.models.send_if_modified(|models| models.note(names));
    }

    async fn get(&self, path: &str) -> Asked {
        let Ok(target) = path.parse() else {
            return Asked::Nothing;
        };
        let question = Outgoing {
            with_key: true,
            method: Method::GET,
            target,
            headers: HeaderMap::new(),
            body: Payload::Nothing,
        };
        let sent = match self.request(question) {
            Ok(request) => self.client.execute(request).await,
            Err(failure) => Err(failure),
        };
        match sent {
            Ok(response) => Asked::Answer(answer(response).await),
            Err(failure) if failure.why.is_connect() => Asked::Unreachable(failure.why),
            Err(_broken) => Asked::Nothing,
        }
    }
}

/// Whether a model of the list is loaded, in its server's word.
fn status(model: &Value) -> Option<&str> {
    model.get("status")?.get("value")?.as_str()
}

/// A body that is too long, breaks off or is no JSON tells nothing; the rest still does.
async fn answer(response: http::Response<reqwest::Body>) -> ProbeAnswer {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await;
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = head.headers.iter();
    ProbeAnswer {
        status: head.status.as_u16(),
        headers: headers
            .map(|(name, value)| (name.to_string(), text(value)))
            .collect(),
        body: body.ok().and_then(|body| value_of(&body.to_bytes()).ok()),
    }
}
