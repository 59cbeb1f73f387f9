//! What is the same in requests that differ in their conversation alone. Clients send the same tools, choice and
//! format with every turn: such a request's demand and plan are worked out once, and the next one writes nothing but
//! its own conversation between what stands around it.

use super::{Demand, Exchange, read_strict};
use crate::dialect::client::Client;
use crate::error::Error;
use crate::json::strict;
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
    /// As it came.
    pub body: Bytes,
    /// Of the conversation, where it is a list and as every other.
    conversation: Option<Range<usize>>,
}

/// What is the same in requests that differ in their conversation alone: the bytes around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape<'a> {
    /// The client's label.
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
    /// The conversation's own bytes between these.
    Around { before: Bytes, after: Bytes },
}

impl Opened {
    /// Checks that a body is strict JSON, and finds its conversation.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(client: &'static dyn Client, path: &str, body: Bytes) -> Result<Self, Error> {
        let limits = strict::Limits::default();
        let conversation = match client.conversation() {
            Some(name) => strict::check_and_find(&body, &limits, name)?,
            None => {
                strict::check(&body, &limits)?;
                None
            }
        };
        let is_plain = |at: &Range<usize>| {
            let list = body.get(at.clone()).filter(|list| list.starts_with(b"["));
            list.is_some_and(|list| client.is_plain(list))
        };
        let conversation = conversation.filter(is_plain);
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
        let (path, body) = renamed(&self.path, &self.body, model);
        Self::new(self.client, &path, body)
    }

    /// The first bytes of its conversation, where that stands in it as a list.
    #[must_use]
    pub fn beginning(&self, bytes: usize) -> Option<&[u8]> {
        let all = self.body.get(self.conversation.clone()?)?;
        Some(all.get(..bytes).unwrap_or(all))
    }

    /// The value of a top-level field, as it stands in the body.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.body.get(range(&self.body, name)?)
    }

    /// Reads it wholly.
    ///
    /// # Errors
    /// The field at fault.
    pub fn read(&self) -> Result<Demand, Error> {
        read_strict(self.client, &self.path, &self.body)
    }

    /// What it has in common with others; `None` where that is not known.
    #[must_use]
    pub fn shape(&self) -> Option<Shape<'_>> {
        let at = self.conversation.as_ref()?;
        Some(Shape {
            client: self.client.label(),
            path: &self.path,
            before: self.body.get(..at.start)?,
            after: self.body.get(at.end..)?,
        })
    }

    /// What a request of this shape is sent as: pieces of one body. Where it is long, nothing of it is copied.
    #[must_use]
    pub fn written(&self, prepared: &Prepared) -> [Bytes; 3] {
        const SHORT_BYTES: usize = 64 << 10;
        let whole = |body| [body, Bytes::new(), Bytes::new()];
        match (&prepared.sent, self.conversation.clone()) {
            (Sent::Around { before, after }, Some(at)) => {
                let conversation = self.body.slice(at);
                if conversation.len() < SHORT_BYTES {
                    whole(
                        [before, &conversation, after]
                            .map(|piece| &**piece)
                            .concat()
                            .into(),
                    )
                } else {
                    [before.clone(), conversation, after.clone()]
                }
            }
            _ => whole(self.body.clone()),
        }
    }

    /// What another request of this shape needs of this one's exchange; `None` where the conversation itself is
    /// rewritten.
    #[must_use]
    pub fn prepare(&self, exchange: &Exchange) -> Option<Prepared> {
        let name = self.client.conversation()?;
        let conversation = self.body.get(self.conversation.clone()?)?;
        if exchange.is_read || exchange.draft.is_some() || exchange.asked.is_some() {
            return None;
        }
        let sent = match &exchange.body {
            None => Sent::Untouched,
            Some(edited) => {
                let at = range(edited, name)?;
                if edited.get(at.clone())? != conversation {
                    return None;
                }
                Sent::Around {
                    before: Bytes::copy_from_slice(edited.get(..at.start)?),
                    after: Bytes::copy_from_slice(edited.get(at.end..)?),
                }
            }
        };
        let mut exchange = exchange.clone();
        exchange.body = None;
        exchange.demand.request.fields.remove(name);
        let exchange = Arc::new(exchange);
        Some(Prepared { exchange, sent })
    }
}

impl Prepared {
    /// About the bytes of memory that it takes: a JSON value takes up to 16 for each byte of its text, and tools are
    /// in it as text, as values, and in what is sent.
    #[must_use]
    pub fn estimated_bytes(&self, shape: &Shape<'_>) -> usize {
        let sent = match &self.sent {
            Sent::Untouched => 0,
            Sent::Around { before, after } => before.len() + after.len(),
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

/// Where the value of a top-level field stands.
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
    use crate::exchange::{plan, read};
    use crate::rules::{Rule, RuleSet, Version};

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
            .prepare(&plan(opened.read().unwrap(), &rule).unwrap())
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
                Some(&Bytes::from(other.written(&prepared).concat())),
                exchange.sent()
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
            let opened = Opened::new(&Messages, "/v1/messages", body.into()).unwrap();
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
            assert!(opened.prepare(&exchange).is_none(), "{name}");
        }
    }
}
