//! The deltas of one chunk or reply, put together, and its calls in Chat's words.

use crate::ir::{CallKind, Delta, Fields, FinishReason, raw};
use serde_json::{Map, Value, json};

/// The deltas of one chunk or reply, put together.
#[derive(Default)]
pub(super) struct Said {
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) refusal: Option<String>,
    pub(super) calls: Vec<Call>,
    finish: Option<FinishReason>,
}

pub(super) struct Call {
    index: u32,
    start: Option<(String, String, CallKind)>,
    kind: CallKind,
    text: String,
}

impl Said {
    pub(super) fn of(deltas: &[Delta]) -> Self {
        let mut said = Self::default();
        for delta in deltas {
            match delta {
                Delta::Text(text) => said.text.get_or_insert_default().push_str(text),
                Delta::Reasoning(text) => said.reasoning.get_or_insert_default().push_str(text),
                Delta::Refusal(text) => said.refusal.get_or_insert_default().push_str(text),
                Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                } => said.calls.push(Call {
                    index: *call,
                    start: Some((id.clone(), name.clone(), *kind)),
                    kind: *kind,
                    text: String::new(),
                }),
                Delta::CallInput { call, kind, text } => {
                    match said.calls.iter_mut().find(|open| open.index == *call) {
                        Some(open) => open.text.push_str(text),
                        None => said.calls.push(Call {
                            index: *call,
                            start: None,
                            kind: *kind,
                            text: text.clone(),
                        }),
                    }
                }
                Delta::Finish(reason) => said.finish = Some(reason.clone()),
            }
        }
        said
    }

    pub(super) fn finish_word(&self, legacy: bool) -> Option<&str> {
        match &self.finish {
            Some(FinishReason::ToolCalls) if legacy => Some("function_call"),
            finish => finish.as_ref().map(FinishReason::as_str),
        }
    }
}

impl Said {
    /// Sets the calls, in pieces or whole.
    pub(super) fn set_calls(&self, message: &mut Fields, legacy: bool, in_pieces: bool) {
        if legacy {
            if let Some(call) = self.calls.iter().find(|call| call.index == 0) {
                message.set("function_call", raw(&call.legacy()));
            }
        } else if !self.calls.is_empty() {
            let write = if in_pieces {
                Call::fragment
            } else {
                Call::whole
            };
            let calls: Vec<Value> = self.calls.iter().map(write).collect();
            message.set("tool_calls", raw(&calls));
        }
    }
}

impl Call {
    fn fragment(&self) -> Value {
        let mut fragment = Map::new();
        fragment.insert("index".to_owned(), json!(self.index));
        if let Some((id, _, kind)) = &self.start {
            fragment.insert("id".to_owned(), json!(id));
            fragment.insert("type".to_owned(), json!(type_of(*kind)));
        }
        let name = self.start.as_ref().map(|(_, name, _)| name.as_str());
        fragment.insert(type_of(self.kind).to_owned(), self.body(name));
        Value::Object(fragment)
    }

    fn whole(&self) -> Value {
        let (id, name) = self
            .start
            .as_ref()
            .map_or(("", ""), |(id, name, _)| (id, name));
        json!({"id": id, "type": type_of(self.kind), type_of(self.kind): self.body(Some(name))})
    }

    fn legacy(&self) -> Value {
        self.body(self.start.as_ref().map(|(_, name, _)| name.as_str()))
    }

    fn body(&self, name: Option<&str>) -> Value {
        let mut body = Map::new();
        if let Some(name) = name {
            body.insert("name".to_owned(), json!(name));
        }
        let input = match self.kind {
            CallKind::Function => "arguments",
            CallKind::Custom => "input",
        };
        body.insert(input.to_owned(), json!(self.text));
        Value::Object(body)
    }
}

const fn type_of(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Function => "function",
        CallKind::Custom => "custom",
    }
}
