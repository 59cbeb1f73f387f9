//! What is the same in requests that differ in their conversation alone. Clients send the same tools, choice and
//! format with every turn: such a request's demand and plan are worked out once, and the next one writes nothing but
//! its own conversation between what stands around it.

use super::{Body, Demand, Exchange, conversation, read_strict};
use crate::dialect::client::Client;
use crate::dialect::server::Told;
use crate::error::Error;
use crate::ir::{Draft, Fields, Request, Seal};
use crate::json::place;
use crate::rules::Rule;
use bytes::Bytes;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A request's body that is known to be strict JSON, and where its conversation is.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Who states it.
    pub client: &'static dyn Client,
    /// The request's path, which some dialects say something in.
    path: String,
    body: Body,
    /// Of the conversation, where it is a list, or may be a text, and as every other.
    conversation: Option<Range<usize>>,
}

/// What is the same in requests that differ in their conversation alone: the bytes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape<'a> {
    /// The client's face.
    pub client: &'static str,
    /// The request's path.
    pub path: &'a str,
    /// What stands before the conversation's value.
    pub before: &'a [u8],
    /// What stands behind it.
    pub after: &'a [u8],
}

/// An exchange without its conversation, for whoever sends another in the same shape.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Nobody's conversation is in it: neither in the demand nor in a body.
    pub exchange: Arc<Exchange>,
    sent: Sent,
}

/// What is sent.
#[derive(Debug, Clone)]
enum Sent {
    /// The client's own bytes.
    Untouched,
    /// The conversation between these: its own bytes, or as a server of another wire is told it.
    Around {
        telling: Option<Box<Telling>>,
        before: Bytes,
        after: Bytes,
    },
}

/// What a conversation becomes another wire's by.
#[derive(Debug, Clone)]
struct Telling {
    /// Without its conversation, and of its tools with one at most: what is shown any may be asked elsewhere.
    request: Request,
    instructions: Vec<String>,
    seal: Seal,
}

impl Telling {
    /// What a server is told instead of this conversation, and in which field; `None` where that is not all of it.
    fn told(&self, client: &dyn Client, conversation: &[u8], rule: &Rule) -> Option<Told> {
        let rule = rule.facing(&self.request);
        let server = rule.face(self.request.wire);
        let conversation: &RawValue = serde_json::from_slice(conversation).ok()?;
        let mut request = self.request.clone();
        let name = client.conversation()?;
        request.fields.set(name, conversation.to_owned());
        let mut draft = Draft {
            fields: Fields::default(),
            turns: client.turns(&request).ok()?,
            tools: Vec::new(),
            choice: None,
            parallel: None,
            history: rule.history.clone(),
        };
        request.fields.0.retain(|other, _| other == name);
        let mut losses = client.unsaid(&request);
        losses.extend(conversation::read(&mut draft.turns, rule, &self.seal));
        for text in &self.instructions {
            draft.instruct(text);
        }
        losses.extend(conversation::fit(&mut draft.turns, rule, &request.model));
        let told = server.told(&draft, &rule.title)?;
        losses.is_empty().then_some(told)
    }
}

impl Opened {
    /// Checks that a body is strict JSON, and finds its conversation.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        client: &'static dyn Client,
        path: &str,
        body: impl Into<Body>,
    ) -> Result<Self, Error> {
        let body = body.into();
        body.check()?;
        let is_plain = |all: &[u8]| {
            let is_one = all.starts_with(b"[") || client.may_be_text() && all.starts_with(b"\"");
            is_one && client.is_plain(all)
        };
        let place = client.conversation().and_then(|name| body.place(name));
        let place = place.filter(|(at, read)| {
            let whole = || body.bytes().get(at.clone()).unwrap_or_default();
            match client.is_plain_by_beginnings() {
                true => is_plain(read),
                false => is_plain(whole()),
            }
        });
        let conversation = place.map(|(at, _)| at);
        let conversation = conversation.filter(|_| !client.goes_on(body.bytes()));
        Ok(Self {
            client,
            path: path.to_owned(),
            body,
            conversation,
        })
    }

    /// The same request for another model, whose name stands in the path or in the body.
    ///
    /// # Errors
    /// As of a body that came so.
    pub fn renamed(&self, model: &str) -> Result<Self, Error> {
        let (path, body) = renamed(&self.path, self.body.bytes(), model);
        Self::new(self.client, &path, body)
    }

    /// The same request with another body.
    pub(super) fn of_body(&self, body: Vec<u8>) -> Result<Self, Error> {
        Self::new(self.client, &self.path, Bytes::from(body))
    }

    /// The body as it came.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        self.body.bytes()
    }

    /// The first bytes of its conversation, where that stands in it as a list or a text.
    #[must_use]
    pub fn beginning(&self, bytes: usize) -> Option<&[u8]> {
        let all = self.body().get(self.conversation.clone()?)?;
        Some(all.get(..bytes).unwrap_or(all))
    }

    /// The value of a top-level field, as it stands in the body.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.body().get(self.body.field(name)?)
    }

    /// Reads it wholly.
    ///
    /// # Errors
    /// The field at fault.
    pub fn read(&self) -> Result<Demand, Error> {
        read_strict(self.client, &self.path, self.body())
    }

    /// What it has in common with others; `None` where that is not known.
    #[must_use]
    pub fn shape(&self) -> Option<Shape<'_>> {
        let at = self.conversation.as_ref()?;
        Some(Shape {
            client: self.client.face(),
            path: &self.path,
            before: self.body().get(..at.start)?,
            after: self.body().get(at.end..)?,
        })
    }

    /// What a request of this shape is sent as by this rule: pieces of one body. Where it is long, nothing of it is copied.
    /// `None` where its conversation has what has to be told of it, so that it is planned anew.
    #[must_use]
    pub fn written(&self, prepared: &Prepared, rule: &Rule) -> Option<[Bytes; 3]> {
        const SHORT_BYTES: usize = 64 << 10;
        let whole = |body| [body, Bytes::new(), Bytes::new()];
        let (telling, before, after) = match &prepared.sent {
            Sent::Untouched => return Some(whole(self.body().clone())),
            Sent::Around {
                telling,
                before,
                after,
            } => (telling, before, after),
        };
        let conversation = self.body().slice(self.conversation.clone()?);
        let conversation = match telling {
            None => conversation,
            Some(telling) => {
                let (_, told) = telling.told(self.client, &conversation, rule)?;
                Bytes::from(Box::<str>::from(told).into_string())
            }
        };
        if conversation.len() < SHORT_BYTES {
            let pieces = [before, &conversation, after].map(|piece| &**piece);
            return Some(whole(pieces.concat().into()));
        }
        Some([before.clone(), conversation, after.clone()])
    }

    /// What another request of this shape needs of this one's exchange, by the rule that it was planned by; `None` where
    /// the conversation itself is rewritten.
    #[must_use]
    pub fn prepare(&self, exchange: &Exchange, rule: &Rule) -> Option<Prepared> {
        let name = self.client.conversation()?;
        let conversation = self.body().get(self.conversation.clone()?)?;
        if exchange.is_read {
            return None;
        }
        let around = |body: &Bytes, name: &str, conversation: &[u8], telling| {
            let at = place::field(body, name)?;
            (body.get(at.clone())? == conversation).then_some(())?;
            Some(Sent::Around {
                telling,
                before: Bytes::copy_from_slice(body.get(..at.start)?),
                after: Bytes::copy_from_slice(body.get(at.end..)?),
            })
        };
        let sent = match (&exchange.asked, &exchange.body) {
            (Some(asked), _) => {
                let (name, told) = self.told(exchange, rule)?;
                let telling = Some(Box::new(exchange.telling(self.client)?));
                around(&asked.body, name, told.get().as_bytes(), telling)?
            }
            (None, Some(edited)) => around(edited, name, conversation, None)?,
            (None, None) => Sent::Untouched,
        };
        let mut exchange = exchange.clone();
        exchange.body = None;
        exchange.draft = None;
        if let Some(asked) = &mut exchange.asked {
            asked.body = Bytes::new();
        }
        exchange.demand.request.fields.remove(name);
        let exchange = Arc::new(exchange);
        Some(Prepared { exchange, sent })
    }
}

impl Opened {
    /// What a server of another wire is told of this conversation, if it is asked for nothing else before and no loss tells
    /// of it.
    fn told(&self, exchange: &Exchange, rule: &Rule) -> Option<Told> {
        let (draft, asked) = (exchange.draft.as_ref()?, exchange.asked.as_ref()?);
        if asked.pending.is_some() || exchange.instructions.is_none() {
            return None;
        }
        let told = exchange.server.told(draft, &rule.title)?;
        let mut alone = exchange.demand.request.clone();
        let name = self.client.conversation()?;
        alone.fields.0.retain(|other, _| other == name);
        self.client.unsaid(&alone).is_empty().then_some(told)
    }
}

impl Exchange {
    /// What other conversations are told by.
    fn telling(&self, client: &dyn Client) -> Option<Telling> {
        let mut request = self.demand.request.clone();
        request.tools.truncate(1);
        request.fields.remove(client.conversation()?);
        Some(Telling {
            request,
            instructions: self.instructions.clone()?,
            seal: self.seal,
        })
    }
}

impl Prepared {
    /// About the bytes of memory that it takes: a JSON value takes up to 16 for each byte of its text, and tools are
    /// in it as text, as values, and in what is sent.
    #[must_use]
    pub fn estimated_bytes(&self, shape: &Shape<'_>) -> usize {
        let sent = match &self.sent {
            Sent::Untouched => 0,
            Sent::Around { before, after, .. } => before.len() + after.len(),
        };
        sent + 32 * (shape.before.len() + shape.after.len())
    }
}

/// A request's path and body where another model is meant: Gemini's paths name it, and all other bodies. All else keeps
/// its bytes.
#[must_use]
pub fn renamed(path: &str, body: &Bytes, model: &str) -> (String, Bytes) {
    let in_path = path.rsplit_once("/models/").and_then(|(before, rest)| {
        let (_, method) = rest.rsplit_once(':')?;
        Some(format!("{before}/models/{model}:{method}"))
    });
    if let Some(path) = in_path {
        return (path, body.clone());
    }
    let changed = range(body, "model").and_then(|at| {
        let name = serde_json::to_string(model).ok()?;
        let (before, after) = (body.get(..at.start)?, body.get(at.end..)?);
        Some([before, name.as_bytes(), after].concat().into())
    });
    (path.to_owned(), changed.unwrap_or_else(|| body.clone()))
}

/// Where the value of a top-level field stands, in a body that may be anything.
fn range(body: &[u8], name: &str) -> Option<Range<usize>> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let raw = reader.deserialize_map(Field(name)).ok()??;
    let start = (raw.get().as_ptr() as usize).checked_sub(body.as_ptr() as usize)?;
    let range = start..start + raw.get().len();
    (body.get(range.clone())? == raw.get().as_bytes()).then_some(range)
}

/// Reads an object, and of it one field.
struct Field<'n>(&'n str);

impl<'de> Visitor<'de> for Field<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some((name, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
            if name == self.0 {
                found = Some(value);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::dialect::chat::client::Chat;
    use crate::dialect::messages::client::Messages;
    use crate::dialect::responses::client::Responses;
    use crate::exchange::{plan, read};
    use crate::rules::{RuleSet, Version};

    const CHAT: &str = "/v1/chat/completions";
    const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}],"tool_choice":"required""#;

    fn rule(name: &str) -> Rule {
        let version = (name == "vllm").then(|| Version::parse("0.32.0")).flatten();
        RuleSet::builtin().resolve(name, version).unwrap()
    }

    fn body(messages: &str) -> Bytes {
        format!(r#"{{ "model":"m",  "messages" : {messages} ,{TOOLS}, "seed" : 1 }}"#).into()
    }

    #[test]
    fn what_is_written_for_another_conversation_is_what_would_have_been_written_for_it() {
        let rule = rule("vllm");
        let first = body(r#"[{"role":"user","content":"a secret"}]"#);
        let opened = Opened::new(&Chat, CHAT, first.clone()).unwrap();
        let prepared = opened
            .prepare(&plan(opened.read().unwrap(), &rule).unwrap(), &rule)
            .expect("the conversation is not rewritten");
        assert!(!format!("{prepared:?}").contains("a secret"));
        let long = format!(
            r#"[{{"role":"user","content":"{}"}}]"#,
            "long ".repeat(20_000)
        );
        for messages in [
            long.as_str(),
            "[]",
            r#"[ {"role":"user","content":"\"messages\":"} ]"#,
        ] {
            let second = body(messages);
            let other = Opened::new(&Chat, CHAT, second.clone()).unwrap();
            assert_eq!(other.shape(), opened.shape());
            let exchange = plan(read(&Chat, CHAT, &second).unwrap(), &rule).unwrap();
            assert_eq!(
                other
                    .written(&prepared, &rule)
                    .map(|body| Bytes::from(body.concat())),
                exchange.sent().cloned()
            );
        }
    }

    #[test]
    fn another_model_is_meant_and_all_else_keeps_its_bytes() {
        let body = Bytes::from_static(br#"{"messages":[{"model":"x"}] , "model" : "gpt-4o" }"#);
        let (path, changed) = renamed(CHAT, &body, "Qwen/\"3\"");
        assert_eq!(path, CHAT);
        let expected = r#"{"messages":[{"model":"x"}] , "model" : "Qwen/\"3\"" }"#;
        assert_eq!(changed, expected.as_bytes());
        let (path, same) = renamed("/v1beta/models/a:generateContent", &body, "b");
        assert_eq!(path, "/v1beta/models/b:generateContent");
        assert_eq!(same, body);
        let opened = Opened::new(&Chat, CHAT, body).unwrap();
        assert_eq!(
            opened.renamed("m").unwrap().read().unwrap().request.model,
            "m"
        );
        assert_eq!(opened.field("model"), Some(&b"\"gpt-4o\""[..]));
        assert_eq!(opened.beginning(4), Some(&b"[{\"m"[..]));
    }

    #[test]
    fn what_differs_elsewhere_is_of_another_shape() {
        let one = body("[]");
        let other =
            Bytes::from(String::from_utf8_lossy(&one).replace("\"seed\" : 1", "\"seed\" : 2"));
        let shape = |body: &Bytes| {
            let opened = Opened::new(&Chat, CHAT, body.clone()).unwrap();
            let shape = opened.shape().unwrap();
            (shape.before.to_vec(), shape.after.to_vec())
        };
        assert_ne!(shape(&one), shape(&other));
        assert!(
            Opened::new(&Chat, CHAT, Bytes::from_static(b"{}"))
                .unwrap()
                .shape()
                .is_none()
        );
    }

    #[test]
    fn a_conversation_that_is_none_or_would_be_edited_is_of_no_shape() {
        let is_of_a_shape = |messages: &str| {
            let body = format!(r#"{{"model":"m","max_tokens":9,"messages":{messages}}}"#);
            let opened = Opened::new(&Messages, "/v1/messages", body).unwrap();
            opened.shape().is_some()
        };
        assert!(is_of_a_shape(r#"[{"role":"user","content":"hi"}]"#));
        let thought = r#"{"type":"thinking","thinking":"so","signature":"isogloss-unsigned"}"#;
        let signed = format!(r#"[{{"role":"assistant","content":[{thought}]}}]"#);
        for other in ["null", "{}", "\"[\"", signed.as_str()] {
            assert!(!is_of_a_shape(other), "{other}");
        }
    }

    #[test]
    fn nothing_is_prepared_where_the_conversation_is_rewritten() {
        let body = body(r#"[{"role":"user","content":"hi"}]"#);
        let opened = Opened::new(&Chat, CHAT, body).unwrap();
        for name in ["plain", "anthropic"] {
            let exchange = plan(opened.read().unwrap(), &rule(name)).unwrap();
            assert!(opened.prepare(&exchange, &rule(name)).is_none(), "{name}");
        }
    }

    /// A client, its path, and a body around a conversation.
    const FOREIGN: [(&str, &str, &str); 3] = [
        (
            "/v1/messages",
            r#"{"model":"m","max_tokens":9,"system":"be brief","messages":"#,
            r#","tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}],"tool_choice":{"type":"any"}}"#,
        ),
        (
            "/v1/responses",
            r#"{"model":"m","instructions":"be brief","input":"#,
            r#","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}},"strict":false}],"tool_choice":"required"}"#,
        ),
        (
            "/v1/responses",
            r#"{"model":"m","input":"#,
            r#","text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object"}}}}"#,
        ),
    ];

    fn foreign((path, before, after): (&str, &str, &str), conversation: &str) -> Opened {
        let body = format!("{before}{conversation}{after}");
        let client = crate::passage::client(path).unwrap();
        Opened::new(client, path, body).unwrap()
    }

    #[test]
    fn a_conversation_is_told_to_another_wire_as_if_it_had_been_planned_with_its_request() {
        const SAID: &str = r#"[{"role":"user","content":"a secret"}]"#;
        let long = format!(
            r#"[{{"role":"user","content":"{}"}}]"#,
            "long ".repeat(20_000)
        );
        let called = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"2"},{"type":"text","text":"and?"}]}]"#;
        let items = r#"[{"role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
            {"type":"function_call_output","call_id":"c1","output":"2"}]"#;
        for shape in FOREIGN {
            // One is told by its words, one by instructions.
            for name in ["vllm", "plain", "openai-responses"] {
                let rule = rule(name);
                let first = foreign(shape, SAID);
                let exchange = plan(first.read().unwrap(), &rule).unwrap();
                let prepared = first.prepare(&exchange, &rule).expect("it is kept");
                assert!(!format!("{prepared:?}").contains("a secret"));
                let with_calls = if shape.0 == "/v1/messages" {
                    called
                } else {
                    items
                };
                // Whose conversation may be a text, too.
                let text = match shape.0 {
                    "/v1/responses" => r#""a \"text\"\n""#,
                    _ => "[]",
                };
                for conversation in [SAID, long.as_str(), text, with_calls] {
                    let other = foreign(shape, conversation);
                    assert_eq!(other.shape(), first.shape());
                    let exchange = plan(other.read().unwrap(), &rule).unwrap();
                    let written = other.written(&prepared, &rule);
                    let Some(written) = written.map(|body| Bytes::from(body.concat())) else {
                        // Calls are told as text to who was never asked for any, and that is a loss.
                        assert_eq!((name, conversation), ("plain", with_calls));
                        assert!(exchange.losses.len() > prepared.exchange.losses.len());
                        continue;
                    };
                    // To who speaks its own words the server is asked in those.
                    let sent = exchange.sent().unwrap_or_else(|| other.body());
                    assert_eq!(&written, sent, "{} {name}", shape.0);
                    assert_eq!(prepared.exchange.losses, exchange.losses);
                    assert_eq!(prepared.exchange.path(), exchange.path());
                }
            }
        }
    }

    #[test]
    fn what_is_lost_of_a_conversation_is_told_of_it_alone() {
        let rule = rule("vllm");
        let first = foreign(FOREIGN[0], r#"[{"role":"user","content":"hi"}]"#);
        let exchange = plan(first.read().unwrap(), &rule).unwrap();
        let prepared = first.prepare(&exchange, &rule).unwrap();
        // Other servers answer behind it, which is a loss.
        let begun = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"so"}]"#;
        let begun = foreign(FOREIGN[0], begun);
        let lost = plan(begun.read().unwrap(), &rule).unwrap();
        assert!(lost.losses.len() > exchange.losses.len());
        assert!(begun.written(&prepared, &rule).is_none());
        assert!(begun.prepare(&lost, &rule).is_none());
        // What cannot be read is refused when it is planned.
        let wrong = foreign(FOREIGN[0], r#"[{"role":"nobody","content":"hi"}]"#);
        assert!(wrong.written(&prepared, &rule).is_none());
    }

    #[test]
    fn who_goes_on_from_another_reply_is_of_no_shape() {
        let (path, before, after) = FOREIGN[1];
        let shape = |before: &str, conversation: &str| {
            foreign((path, before, after), conversation)
                .shape()
                .is_some()
        };
        let said = r#"[{"role":"user","content":"hi"}]"#;
        assert!(shape(before, said));
        let goes_on = before.replace("{", r#"{"previous_response_id":"resp_1","#);
        assert!(!shape(&goes_on, said));
        // It is left out, which is told when the request is read.
        assert!(!shape(before, r#"[{"type":"web_search_call","id":"w"}]"#));
        let faces = [Responses::Alone, Responses::Unkept, Responses::Kept].map(|face| face.face());
        assert!(faces[0] != faces[1] && faces[1] != faces[2] && faces[0] != faces[2]);
    }
}
