//! The deltas of one chunk or reply, put together, and its calls in Chat's words.

use crate::ir::{CallKind, Delta, Fields, FinishReason, raw};
use serde_json::{Map, Value, json};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The deltas of one chunk or reply, put together.
#[derive(Default)]
pub(super) struct Folded<'d> {
    pub(super) text: Option<Cow<'d, str>>,
    pub(super) reasoning: Option<Cow<'d, str>>,
    pub(super) refusal: Option<Cow<'d, str>>,
    pub(super) calls: SmallVec<[Call<'d>; 1]>,
    finish: Option<&'d FinishReason>,
}

pub(super) struct Call<'d> {
    index: u32,
    /// Its id, its name and its kind.
    start: Option<(&'d str, &'d str, CallKind)>,
    kind: CallKind,
    text: Cow<'d, str>,
}

fn join<'d>(known: &mut Option<Cow<'d, str>>, more: &'d str) {
    match known {
        Some(known) => known.to_mut().push_str(more),
        None => *known = Some(Cow::Borrowed(more)),
    }
}

impl<'d> Folded<'d> {
    pub(super) fn of(deltas: &'d [Delta]) -> Self {
        let mut said = Self::default();
        for delta in deltas {
            match delta {
                Delta::Text(text) => join(&mut said.text, text),
                Delta::Reasoning(text) => join(&mut said.reasoning, text),
                Delta::Refusal(text) => join(&mut said.refusal, text),
                Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                } => said.calls.push(Call {
                    index: *call,
                    start: Some((id, name, *kind)),
                    kind: *kind,
                    text: Cow::Borrowed(""),
                }),
                Delta::CallInput { call, kind, text } => {
                    match said.calls.iter_mut().find(|open| open.index == *call) {
                        Some(open) if open.text.is_empty() => open.text = Cow::Borrowed(text),
                        Some(open) => open.text.to_mut().push_str(text),
                        None => said.calls.push(Call {
                            index: *call,
                            start: None,
                            kind: *kind,
                            text: Cow::Borrowed(text),
                        }),
                    }
                }
                Delta::Finish(reason) => said.finish = Some(reason),
            }
        }
        said
    }

    pub(super) fn finish_word(&self, legacy: bool) -> Option<&str> {
        match self.finish {
            Some(FinishReason::ToolCalls) if legacy => Some("function_call"),
            finish => finish.map(FinishReason::as_str),
        }
    }

    /// Sets the calls of a whole message.
    pub(super) fn set_calls(&self, message: &mut Fields, legacy: bool) {
        if legacy {
            if let Some(call) = self.calls.iter().find(|call| call.index == 0) {
                let name = call.start.map(|(_, name, _)| name);
                message.set("function_call", raw(&call.body(name)));
            }
        } else if !self.calls.is_empty() {
            let calls: Vec<Value> = self.calls.iter().map(Call::whole).collect();
            message.set("tool_calls", raw(&calls));
        }
    }

    /// Appends the pieces of calls that a chunk has, and a comma behind them.
    pub(super) fn write_calls(&self, legacy: bool, out: &mut Vec<u8>) {
        if legacy {
            if let Some(call) = self.calls.iter().find(|call| call.index == 0) {
                out.extend_from_slice(b"\"function_call\":");
                call.write_body(out);
                out.push(b',');
            }
            return;
        }
        if self.calls.is_empty() {
            return;
        }
        out.extend_from_slice(b"\"tool_calls\":[");
        for (place, call) in self.calls.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            call.write_fragment(out);
        }
        out.extend_from_slice(b"],");
    }
}

/// A JSON value; writing to memory cannot fail.
fn write<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

impl Call<'_> {
    fn write_fragment(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"index\":");
        write(&self.index, out);
        if let Some((id, _, kind)) = self.start {
            out.extend_from_slice(b",\"id\":");
            write(id, out);
            out.extend_from_slice(b",\"type\":");
            write(type_of(kind), out);
        }
        out.push(b',');
        write(type_of(self.kind), out);
        out.push(b':');
        self.write_body(out);
        out.push(b'}');
    }

    fn write_body(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        if let Some((_, name, _)) = self.start {
            out.extend_from_slice(b"\"name\":");
            write(name, out);
            out.push(b',');
        }
        write(self.input_name(), out);
        out.push(b':');
        write(self.text.as_ref(), out);
        out.push(b'}');
    }

    fn whole(&self) -> Value {
        let (id, name) = self.start.map_or(("", ""), |(id, name, _)| (id, name));
        json!({"id": id, "type": type_of(self.kind), type_of(self.kind): self.body(Some(name))})
    }

    fn body(&self, name: Option<&str>) -> Value {
        let mut body = Map::new();
        if let Some(name) = name {
            body.insert("name".to_owned(), json!(name));
        }
        body.insert(self.input_name().to_owned(), json!(self.text));
        Value::Object(body)
    }

    const fn input_name(&self) -> &'static str {
        match self.kind {
            CallKind::Function => "arguments",
            CallKind::Custom => "input",
        }
    }
}

const fn type_of(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Function => "function",
        CallKind::Custom => "custom",
    }
}
