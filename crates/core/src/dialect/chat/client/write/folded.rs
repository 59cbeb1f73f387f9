//! The deltas of one chunk or reply, put together, and its calls in Chat's words.

use crate::ir::{CallKind, Choice, Delta, Fields, FinishReason};
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
    /// What its server alone says of it.
    own: Option<&'d Fields>,
}

fn join<'d>(known: &mut Option<Cow<'d, str>>, more: &'d str) {
    match known {
        Some(known) => known.to_mut().push_str(more),
        None => *known = Some(Cow::Borrowed(more)),
    }
}

impl<'d> Folded<'d> {
    pub(super) fn of(choice: &'d Choice) -> Self {
        let mut said = Self::default();
        for delta in &choice.deltas {
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
                    own: None,
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
                            own: None,
                        }),
                    }
                }
                Delta::Finish(reason) => said.finish = Some(reason),
            }
        }
        if choice.of_calls.is_empty() {
            return said;
        }
        for (of, own) in &choice.of_calls {
            match said.calls.iter_mut().find(|call| call.index == *of) {
                Some(call) => call.own = Some(own),
                None => said.calls.push(Call {
                    index: *of,
                    start: None,
                    kind: CallKind::Function,
                    text: Cow::Borrowed(""),
                    own: Some(own),
                }),
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

    /// The field of a whole message that has its calls; `None` where there are none.
    pub(super) fn calls_field(&self, legacy: bool) -> Option<&'static str> {
        let is_first = |call: &Call<'_>| call.index == 0;
        match legacy {
            true => (self.calls.iter().any(is_first)).then_some("function_call"),
            false => (!self.calls.is_empty()).then_some("tool_calls"),
        }
    }

    /// Writes its value.
    pub(super) fn write_whole_calls(&self, legacy: bool, out: &mut Vec<u8>) {
        if legacy {
            if let Some(call) = self.calls.iter().find(|call| call.index == 0) {
                call.write_body(call.name(), out);
            }
            return;
        }
        write_list(&self.calls, out, Call::write_whole);
    }

    /// Appends the pieces of calls that a chunk has, and a comma behind them.
    pub(super) fn write_calls(&self, legacy: bool, out: &mut Vec<u8>) {
        if legacy {
            if let Some(call) = self.calls.iter().find(|call| call.index == 0) {
                out.extend_from_slice(b"\"function_call\":");
                call.write_body(call.name(), out);
                out.push(b',');
            }
            return;
        }
        if self.calls.is_empty() {
            return;
        }
        out.extend_from_slice(b"\"tool_calls\":");
        write_list(&self.calls, out, Call::write_fragment);
        out.push(b',');
    }
}

/// A JSON value; writing to memory cannot fail.
fn write<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

/// A JSON list.
pub(super) fn write_list<T>(all: &[T], out: &mut Vec<u8>, each: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (place, one) in all.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        each(one, out);
    }
    out.push(b']');
}

impl Call<'_> {
    fn name(&self) -> Option<&str> {
        self.start.map(|(_, name, _)| name)
    }

    fn write_fragment(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"index\":");
        write(&self.index, out);
        if let Some((id, _, kind)) = self.start {
            out.extend_from_slice(b",\"id\":");
            write(id, out);
            out.extend_from_slice(b",\"type\":");
            write(type_of(kind), out);
        }
        if self.says_more() {
            out.push(b',');
            write(type_of(self.kind), out);
            out.push(b':');
            self.write_body(self.name(), out);
        }
        self.write_own(out);
        out.push(b'}');
    }

    /// Whether the piece has more than what its server alone says of the call.
    fn says_more(&self) -> bool {
        self.start.is_some() || !self.text.is_empty() || self.own.is_none()
    }

    fn write_whole(&self, out: &mut Vec<u8>) {
        let (id, name) = self.start.map_or(("", ""), |(id, name, _)| (id, name));
        out.extend_from_slice(b"{\"id\":");
        write(id, out);
        out.extend_from_slice(b",\"type\":");
        write(type_of(self.kind), out);
        out.push(b',');
        write(type_of(self.kind), out);
        out.push(b':');
        self.write_body(Some(name), out);
        self.write_own(out);
        out.push(b'}');
    }

    fn write_own(&self, out: &mut Vec<u8>) {
        for (name, value) in self.own.iter().flat_map(|own| &own.0) {
            out.push(b',');
            write(name, out);
            out.push(b':');
            out.extend_from_slice(value.get().as_bytes());
        }
    }

    fn write_body(&self, name: Option<&str>, out: &mut Vec<u8>) {
        out.push(b'{');
        if let Some(name) = name {
            out.extend_from_slice(b"\"name\":");
            write(name, out);
            out.push(b',');
        }
        write(self.input_name(), out);
        out.push(b':');
        write(self.text.as_ref(), out);
        out.push(b'}');
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
