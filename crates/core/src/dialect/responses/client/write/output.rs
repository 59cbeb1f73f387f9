//! The items of a reply.

use super::super::names::Names;
use super::super::own::Own;
use super::{sealed, sound, theirs};
use crate::ir::{CallKind, Sealed};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// An item, and what is known of it so far.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) body: Body,
    pub(super) status: Status,
    /// As the server told it.
    pub(super) own: Option<Value>,
    /// As the server ended it, where it is not verified yet: its end is told with the reply's.
    pub(super) ended: Option<Status>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete,
}

#[derive(Debug)]
pub(super) enum Body {
    Message(Vec<Part>),
    Reasoning {
        text: String,
        sealed: Vec<Sealed>,
        /// The client asked for a summary: nobody makes one, so it is told the thoughts in its place.
        is_summary: bool,
        /// The client asked for what it can send back instead of the text.
        is_kept: bool,
        /// It is a message of the server's that is no answer: what goes back to it.
        remark: Option<Value>,
    },
    Call(Call),
    /// Of the server's own making: nothing that another wire says.
    Theirs(Value),
}

#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    pub(super) text: String,
    pub(super) logprobs: Vec<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Refusal,
}

#[derive(Debug)]
pub(super) struct Call {
    /// Which call of the reply.
    pub(super) index: u32,
    pub(super) id: String,
    /// As the client knows it.
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// Of a tool of OpenAI's own: an item of a kind of its own, without a name.
    pub(super) own: Option<Own>,
    pub(super) kind: CallKind,
    pub(super) input: String,
}

impl Status {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

impl Body {
    /// Thoughts of a server of this wire: its own is what it can read.
    pub(super) const fn theirs(text: String, is_summary: bool, remark: Option<Value>) -> Self {
        Self::Reasoning {
            text,
            sealed: Vec::new(),
            is_summary,
            is_kept: false,
            remark,
        }
    }

    /// What ids of such items begin with.
    pub(super) const fn prefix(&self) -> &'static str {
        match self {
            Self::Message(_) => "msg",
            Self::Reasoning { .. } => "rs",
            Self::Call(Call { own: Some(own), .. }) => own.prefix(),
            Self::Call(call) => match call.kind {
                CallKind::Function => "fc",
                CallKind::Custom => "ctc",
            },
            Self::Theirs(_) => "item",
        }
    }
}

/// What items of such calls are called, and where they have their input.
pub(super) const fn words(kind: CallKind) -> (&'static str, &'static str) {
    match kind {
        CallKind::Function => ("function_call", "arguments"),
        CallKind::Custom => ("custom_tool_call", "input"),
    }
}

impl Part {
    pub(super) fn json(&self) -> Value {
        match self.kind {
            PartKind::Text => json!({
                "type": "output_text", "annotations": [], "logprobs": self.logprobs, "text": self.text,
            }),
            PartKind::Refusal => json!({"type": "refusal", "refusal": self.text}),
        }
    }
}

impl Call {
    pub(super) fn new(index: u32, id: String, name: &str, kind: CallKind, names: &Names) -> Self {
        let own = names.own_of(name);
        let (namespace, name) = match names.both(name) {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, name),
        };
        Self {
            index,
            id,
            name: name.to_owned(),
            namespace,
            own,
            kind,
            input: String::new(),
        }
    }

    fn json(&self) -> Value {
        if let Some(call) = self.own.and_then(|own| own.call(&self.id, &self.input)) {
            return call;
        }
        let (kind, input) = words(self.kind);
        let mut call = json!({"type": kind, input: self.input});
        call["call_id"] = json!(self.id);
        call["name"] = json!(self.name);
        if let Some(namespace) = &self.namespace {
            call["namespace"] = json!(namespace);
        }
        call
    }
}

/// Thoughts as a part of their item.
pub(super) fn thought(text: &str, is_summary: bool) -> Value {
    let kind = if is_summary {
        "summary_text"
    } else {
        "reasoning_text"
    };
    json!({"type": kind, "text": text})
}

impl Item {
    /// One that begins.
    pub(super) const fn new(id: String, body: Body) -> Self {
        Self {
            id,
            body,
            status: Status::InProgress,
            own: None,
            ended: None,
        }
    }

    /// Whether it is a message of which more may be told.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.body, Body::Message(_)) && self.status == Status::InProgress
    }

    /// The server ended it so.
    pub(super) fn ended_as(&mut self, item: Value) {
        self.ended = Some(match item["status"].as_str() {
            Some("incomplete") => Status::Incomplete,
            _ => Status::Completed,
        });
        self.own = sound::is_item(&item).then_some(item);
    }

    /// Whether it is a call of a tool of OpenAI's own, which is told as a whole.
    pub(super) const fn is_own(&self) -> bool {
        matches!(self.body, Body::Call(Call { own: Some(_), .. }))
    }

    /// Whether it is such a call without an action that the client could be told: half of one.
    pub(super) fn is_half(&self) -> bool {
        match &self.body {
            Body::Call(Call {
                id,
                input,
                own: Some(own),
                ..
            }) => own.call(id, input).is_none(),
            _ => false,
        }
    }

    /// As the client reads it.
    pub(super) fn json(&self) -> Value {
        if let Some(own) = &self.own
            && let Some(own) = theirs::retold(&self.body, own)
        {
            return own;
        }
        let mut item = match &self.body {
            Body::Theirs(item) => return item.clone(),
            Body::Message(parts) => {
                let content: Vec<Value> = parts.iter().map(Part::json).collect();
                json!({"type": "message", "role": "assistant", "content": content})
            }
            Body::Reasoning {
                text,
                sealed,
                is_summary,
                is_kept,
                remark,
            } => {
                let mut item = json!({"type": "reasoning", "summary": [], "content": []});
                if !text.is_empty() {
                    let name = if *is_summary { "summary" } else { "content" };
                    item[name] = json!([thought(text, *is_summary)]);
                }
                let thought = Some(text.as_str()).filter(|_| *is_kept);
                let kept = remark.as_ref().and_then(sealed::remark);
                if let Some(kept) = kept.or_else(|| sealed::write(sealed, thought)) {
                    item["encrypted_content"] = json!(kept);
                }
                item
            }
            Body::Call(call) => call.json(),
        };
        item["id"] = json!(self.id);
        let status = match &self.body {
            // A patch is whole, and its type knows no half of one (openai-python 2.54).
            Body::Call(Call {
                own: Some(Own::Patch),
                ..
            }) if self.status == Status::Incomplete => Status::Completed,
            _ => self.status,
        };
        item["status"] = json!(status.as_str());
        item
    }
}
