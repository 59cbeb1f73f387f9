//! How a server is asked how many tokens a prompt has: what its rule says of that, the questions and
//! their answers. The request is the one that would generate; of it only what a prompt is made of is
//! sent.

use super::Server;
use crate::error::{Error, Kind};
use crate::ir::{Fields, raw};
use bytes::Bytes;
use serde_json::{Map, Value};

/// Where a server counts. From its rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counting {
    /// The path that tells the count. A `*` at its beginning stands for the request's own path up to
    /// its method (`/v1beta/models/M`).
    pub path: String,
    /// The fields of the request that make the prompt.
    pub fields: Vec<String>,
    /// What else is sent there.
    pub send: Map<String, Value>,
    /// Where in the answer the count stands, or the list of tokens: a JSON Pointer.
    pub at: String,
    /// Where the conversation is rendered before, for servers that take a text apart.
    pub render: Option<Rendering>,
}

/// The question before the count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// The path that takes the request's fields.
    pub path: String,
    /// Where in its answer the prompt stands: a JSON Pointer.
    pub prompt: String,
    /// The field in which the prompt goes to [`Counting::path`].
    pub into: String,
}

/// One request to a server, on the way to the count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The path below the server's base.
    pub path: String,
    /// The body.
    pub body: Bytes,
    then: Then,
}

/// What an answer is for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Then {
    /// It tells the count, at this pointer.
    Read { at: String },
    /// It has the prompt in it, which is to be counted.
    Count(Box<Counting>),
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Another question.
    Ask(Question),
    /// So many tokens.
    Tokens(u64),
}

impl Counting {
    /// The first question. `body` is what the server would be sent to `path` for a reply.
    #[must_use]
    pub fn ask(&self, server: &dyn Server, path: &str, body: &Fields) -> Question {
        let mut kept = Fields::default();
        for name in &self.fields {
            if let Some(value) = body.0.get(name).filter(|value| value.get() != "null") {
                kept.set(name, value.clone());
            }
        }
        let Some(render) = &self.render else {
            let mut kept = server.counted(path, kept);
            self.complete(&mut kept);
            return self.question(path, kept.to_json().into());
        };
        Question {
            path: render.path.clone(),
            body: kept.to_json().into(),
            then: Then::Count(Box::new(self.clone())),
        }
    }

    /// The same for a body that says what is to be counted already.
    #[must_use]
    pub fn question(&self, path: &str, body: Bytes) -> Question {
        let path = match self.path.strip_prefix('*') {
            Some(method) => {
                let resource = path.rsplit_once(':').map_or(path, |(resource, _)| resource);
                format!("{resource}{method}")
            }
            None => self.path.clone(),
        };
        let at = self.at.clone();
        let then = Then::Read { at };
        Question { path, body, then }
    }

    fn complete(&self, body: &mut Fields) {
        for (name, value) in &self.send {
            body.set(name, raw(value));
        }
    }
}

impl Question {
    /// What the server's answer says.
    ///
    /// # Errors
    /// Nothing that it was asked for.
    pub fn heard(&self, answer: &[u8]) -> Result<Heard, Error> {
        let unreadable = || {
            let message = format!("the server's answer at {} counts no tokens", self.path);
            Error::new(Kind::UpstreamBadReply, message)
        };
        let answer: Value = crate::json::value_of(answer).map_err(|_| unreadable())?;
        match &self.then {
            Then::Read { at } => {
                let told = answer.pointer(at).ok_or_else(unreadable)?;
                let listed = || told.as_array().map(|tokens| tokens.len() as u64);
                let tokens = told.as_u64().or_else(listed).ok_or_else(unreadable)?;
                Ok(Heard::Tokens(tokens))
            }
            Then::Count(counting) => {
                let render = counting.render.as_ref().ok_or_else(unreadable)?;
                let prompt = answer.pointer(&render.prompt).and_then(Value::as_str);
                // A router goes by it (llama.cpp's with several models: a 400 without).
                let asked = serde_json::from_slice::<Fields>(&self.body);
                let model = asked.ok().and_then(|mut asked| asked.remove("model"));
                let mut body = Fields::default();
                if let Some(model) = model {
                    body.set("model", model);
                }
                body.set(&render.into, raw(prompt.ok_or_else(unreadable)?));
                counting.complete(&mut body);
                Ok(Heard::Ask(counting.question("", body.to_json().into())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;
    use crate::dialect::server::CHAT;
    use serde_json::json;

    fn body() -> Fields {
        serde_json::from_str(r#"{"model":"m","messages":[],"tools":null,"top_p":1}"#).unwrap()
    }

    fn counting(path: &str, at: &str) -> Counting {
        Counting {
            path: path.to_owned(),
            fields: ["model", "messages", "tools"].map(str::to_owned).into(),
            send: Map::new(),
            at: at.to_owned(),
            render: None,
        }
    }

    #[test]
    fn only_what_makes_the_prompt_is_sent_and_counts_and_lists_are_read() {
        let question = counting("/tokenize", "/count").ask(CHAT, "/v1/chat/completions", &body());
        assert_eq!(question.path, "/tokenize");
        assert_eq!(&question.body[..], br#"{"model":"m","messages":[]}"#);
        assert_eq!(question.heard(b"{\"count\": 7}").unwrap(), Heard::Tokens(7));
        let listed = question.heard(b"{\"count\": [1, 2, 3]}").unwrap();
        assert_eq!(listed, Heard::Tokens(3));
        for answer in [&b"{}"[..], b"", b"{\"count\":\"7\"}", b"{\"count\":-1}"] {
            let error = question.heard(answer).unwrap_err();
            assert_eq!(error.kind, Kind::UpstreamBadReply);
            assert!(error.message.contains("/tokenize"), "{error}");
        }
    }

    #[test]
    fn a_server_that_takes_texts_apart_renders_first() {
        let mut counting = counting("/tokenize", "/tokens");
        counting.send.insert("add_special".into(), json!(true));
        counting.render = Some(Rendering {
            path: "/apply-template".into(),
            prompt: "/prompt".into(),
            into: "content".into(),
        });
        let first = counting.ask(CHAT, "/v1/chat/completions", &body());
        assert_eq!(first.path, "/apply-template");
        assert_eq!(&first.body[..], br#"{"model":"m","messages":[]}"#);
        let Heard::Ask(second) = first.heard(br#"{"prompt":"<s>hi"}"#).unwrap() else {
            panic!("the prompt is to be counted");
        };
        assert_eq!(second.path, "/tokenize");
        assert_eq!(
            &second.body[..],
            br#"{"model":"m","content":"<s>hi","add_special":true}"#
        );
        assert_eq!(
            second.heard(br#"{"tokens":[1,2]}"#).unwrap(),
            Heard::Tokens(2)
        );
        assert!(first.heard(br#"{"prompt":null}"#).is_err());
    }

    #[test]
    fn a_method_of_the_requests_own_path_is_put_in_the_place_of_its() {
        let counting = counting("*:countTokens", "/totalTokens");
        let question = counting.question("/v1beta/models/a:b:generateContent", Bytes::new());
        assert_eq!(question.path, "/v1beta/models/a:b:countTokens");
    }
}
