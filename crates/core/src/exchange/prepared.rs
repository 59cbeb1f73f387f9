//! What is the same in requests that differ in their conversation alone. Clients send the same tools, choice and
//! format with every turn: such a request's demand and plan are worked out once, and the next one writes nothing but
//! its own conversation between what stands around it.

use super::{Body, Demand, Exchange, conversation, read_strict};
use crate::dialect::client::Client;
use crate::dialect::server::Told;
use crate::error::Error;
use crate::history::{may_go_on, prefill};
use crate::ir::{Draft, Fields, Refusal, Request, Seal};
use crate::json::place;
use crate::rules::Rule;
use bytes::Bytes;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

#[cfg(test)]
mod tests;

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
            ..Draft::default()
        };
        request.fields.0.retain(|other, _| other == name);
        let mut losses = client.unsaid(&request);
        losses.extend(conversation::read(&mut draft.turns, rule, &self.seal));
        for text in &self.instructions {
            draft.instruct(text);
        }
        let model = &request.model;
        losses.extend(conversation::fit(&mut draft.turns, rule, model, false));
        let matters = client.prefills() || rule.history.refuses(Refusal::BoundPrefill);
        if matters && prefill(&draft.turns).is_some() {
            return None;
        }
        draft.history.prefill = None;
        let told = server.told(&draft, &rule.title)?;
        losses.is_empty().then_some(told)
    }
}

impl<'a> Shape<'a> {
    fn around(
        client: &dyn Client,
        path: &'a str,
        body: &'a [u8],
        at: &Range<usize>,
    ) -> Option<Self> {
        Some(Self {
            client: client.face(),
            path,
            before: body.get(..at.start)?,
            after: body.get(at.end..)?,
        })
    }
}

impl Opened {
    /// Checks that a body is strict JSON, as [`strict::checked`](crate::json::strict::checked) does, and finds its conversation.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        client: &'static dyn Client,
        path: &str,
        body: impl Into<Body>,
    ) -> Result<Self, Error> {
        let mut body = body.into();
        if let Err(fault) = body.check() {
            body = body.mended().ok_or(fault)?;
            body.check()?;
        }
        let place = client.conversation().and_then(|name| body.place(name));
        let place = place.filter(|(at, read)| is_plain(client, body.bytes(), at, read));
        let conversation = place.map(|(at, _)| at);
        let conversation = conversation.filter(|_| !client.goes_on(body.bytes()));
        Ok(Self {
            client,
            path: path.to_owned(),
            body,
            conversation,
        })
    }

    /// The same of a request in the shape of one that was opened before, as `find` knows, and what it knows of it: the
    /// conversation alone is checked, since a whole value in the place of another makes strict JSON of what was that. `skimmed` is
    /// what was found of the body as it came. `None` of any other request, and of one that is refused.
    pub fn again<K>(
        client: &'static dyn Client,
        path: &str,
        body: &Bytes,
        skimmed: Option<&Body>,
        find: impl FnOnce(&Shape<'_>) -> Option<K>,
    ) -> Option<(Self, K)> {
        let name = client.conversation()?;
        let at = match skimmed {
            Some(skimmed) => skimmed.field(name)?,
            None => place::field(body, name)?,
        };
        let known = find(&Shape::around(client, path, body, &at)?)?;
        let body = match skimmed {
            Some(skimmed) => skimmed.clone().checked(&at)?,
            None => Body::around(body, &at)?,
        };
        let is_plain = is_plain(client, body.bytes(), &at, body.inside(&at)?);
        let opened = Self {
            client,
            path: path.to_owned(),
            conversation: Some(at),
            body,
        };
        is_plain.then_some((opened, known))
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
        Shape::around(self.client, &self.path, self.body(), at)
    }

    /// What working on it takes: see [`cost`](super::cost()).
    #[must_use]
    pub fn cost(&self) -> usize {
        self.body.cost()
    }

    /// What a request of this shape is sent as by this rule: pieces of one body. Where it is long, nothing of it is copied.
    /// `None` where its conversation has what has to be told of it, so that it is planned anew.
    #[must_use]
    pub fn written(&self, prepared: &Prepared, rule: &Rule) -> Option<[Bytes; 3]> {
        const SHORT_BYTES: usize = 32 << 10;
        if prepared.exchange.keeps_wire() {
            let conversation = self.body().get(self.conversation.clone()?)?;
            if (prepared.exchange.editor()).may_sign(conversation, &rule.history) {
                return None;
            }
        }
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
        if before.len() + conversation.len() + after.len() < SHORT_BYTES {
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

/// Whether a conversation is a list, or what may stand for one, has nothing that is told elsewhere, and ends with nothing that the model
/// is to go on with.
fn is_plain(client: &dyn Client, body: &[u8], at: &Range<usize>, read: &[u8]) -> bool {
    let all = match client.is_plain_by_beginnings() {
        true => read,
        false => body.get(at.clone()).unwrap_or_default(),
    };
    let is_one = all.starts_with(b"[") || client.may_be_text() && all.starts_with(b"\"");
    let goes_on = || may_go_on(body.get(at.clone()).unwrap_or_default());
    is_one && client.is_plain(all) && !(client.prefills() && goes_on())
}

impl Prepared {
    /// Whether the conversation is read for what a server is sent, and not only put between.
    #[must_use]
    pub const fn tells(&self) -> bool {
        matches!(
            &self.sent,
            Sent::Around {
                telling: Some(_),
                ..
            }
        )
    }

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

/// A request's body with the model that its path names, where it names none itself.
#[must_use]
pub fn named(body: &Bytes, model: &str) -> Bytes {
    const UNNAMED: [&[u8]; 2] = [b"null", b"\"\""];
    let stated = range(body, "model");
    let names_one = |at: &Range<usize>| {
        body.get(at.clone())
            .is_some_and(|it| !UNNAMED.contains(&it))
    };
    match stated {
        Some(at) if names_one(&at) => body.clone(),
        Some(_) => renamed("", body, model).1,
        None => inserted(body, model).unwrap_or_else(|| body.clone()),
    }
}

/// A body that is an object, with a model before all else.
fn inserted(body: &[u8], model: &str) -> Option<Bytes> {
    let rest = body.trim_ascii_start().strip_prefix(b"{")?;
    let comma: &[u8] = match rest.trim_ascii_start().first()? {
        b'"' => b",",
        _ => b"",
    };
    let name = serde_json::to_string(model).ok()?;
    Some(
        [b"{\"model\":", name.as_bytes(), comma, rest]
            .concat()
            .into(),
    )
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
