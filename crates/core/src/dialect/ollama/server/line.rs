//! One line of a stream, or a whole reply, in; what it says out, and its bytes where clients read nothing
//! else in it.

use crate::dialect::server::{ReplyFault, Sink, Verbatim, mended};
use crate::ir::{Fields, FinishReason, Of, Usage};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The fields that say what this reader reads, and those that clients take from a message.
const READ: [&str; 10] = [
    "model",
    "message",
    "response",
    "thinking",
    "done",
    "done_reason",
    "prompt_eval_count",
    "eval_count",
    "logprobs",
    "error",
];
const IN_MESSAGE: [&str; 4] = ["role", "content", "thinking", "tool_calls"];

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    function: FunctionWire,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: String,
    arguments: Option<Box<RawValue>>,
}

/// One reply: each line says a piece of it.
#[derive(Debug, Default)]
pub(super) struct Stream {
    calls: u32,
    is_cut: bool,
}

/// A field's value; absent and `null` are the same.
fn typed<T: DeserializeOwned>(fields: &Fields, name: &str) -> Option<Option<T>> {
    match fields.raw(name) {
        None | Some("null") => Some(None),
        Some(raw) => serde_json::from_str(raw).ok().map(Some),
    }
}

/// Whether no reader takes a field for another: Go's minds no case.
fn is_plain(fields: &Fields, repeats: bool, known: &[&str]) -> bool {
    let is_alike = |name: &String| {
        let folded = name.replace('\u{17f}', "s").replace('\u{212a}', "k");
        let folded = folded.to_ascii_lowercase();
        folded != *name && known.contains(&folded.as_str())
    };
    !repeats && !fields.0.keys().any(is_alike)
}

impl Stream {
    /// Reads a line; `None` says that it is none of the wire, `Some(None)` that it has to be written anew.
    pub(super) fn line<'d>(
        &mut self,
        data: &'d [u8],
        sink: &mut Sink<'_>,
    ) -> Option<Option<Verbatim<'d>>> {
        let data = mended(data);
        let (mut fields, repeats) = Fields::read(&data).ok()?;
        let mut is_plain = is_plain(&fields, repeats, &READ);
        if let Some(error) = fields.0.get("error").filter(|error| error.get() != "null") {
            sink.error(error);
            return Some(None);
        }
        let message: Option<Box<RawValue>> = typed(&fields, "message")?;
        let response: Option<String> = typed(&fields, "response")?;
        let is_done = typed(&fields, "done")?.unwrap_or(false);
        if message.is_none() && response.is_none() && !is_done {
            return None;
        }
        // A second place for what is said, which some clients would read.
        is_plain &= message.is_none() || response.is_none();
        // Clients read the one or the other of every line.
        is_plain &= message.is_some() || response.is_some();
        sink.model(typed(&fields, "model")?);
        sink.choice(0, false);
        let thinking: Option<String> = typed(&fields, "thinking")?;
        is_plain &= thinking.is_none() || response.is_some();
        sink.reasoning(0, thinking);
        sink.text(0, response);
        if let Some(message) = message {
            is_plain &= self.message(&message, sink)?;
        }
        let tokens: Option<Vec<Box<RawValue>>> = typed(&fields, "logprobs")?;
        sink.logprobs(0, tokens.unwrap_or_default());
        let prompt: Option<u64> = typed(&fields, "prompt_eval_count")?;
        let completion: Option<u64> = typed(&fields, "eval_count")?;
        if prompt.is_some() || completion.is_some() {
            sink.usage(Some(Usage {
                prompt: prompt.unwrap_or_default(),
                completion: completion.unwrap_or_default(),
                ..Usage::default()
            }));
        }
        let reason: Option<String> = typed(&fields, "done_reason")?;
        fields.0.retain(|name, _| !READ.contains(&name.as_str()));
        sink.own(Of::Reply, fields);
        if is_done {
            self.end(reason, sink);
        }
        Some(is_plain.then(|| Verbatim::of(data)))
    }

    fn message(&mut self, message: &RawValue, sink: &mut Sink<'_>) -> Option<bool> {
        let (fields, repeats) = Fields::read(message.get().as_bytes()).ok()?;
        let role: Option<String> = typed(&fields, "role")?;
        sink.reasoning(0, typed(&fields, "thinking")?);
        sink.text(0, typed(&fields, "content")?);
        let calls: Option<Vec<CallWire>> = typed(&fields, "tool_calls")?;
        for wire in calls.unwrap_or_default() {
            // Each comes whole; the index of some versions is always 0.
            let call = self.calls;
            self.calls += 1;
            sink.call(0, call, wire.id, wire.function.name);
            let arguments = wire.function.arguments;
            let arguments = arguments.filter(|arguments| arguments.get() != "null");
            let text = arguments.map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned());
            sink.arguments(0, call, text);
        }
        // Its SDK wants one.
        let is_own = role.is_some_and(|role| role == "assistant");
        Some(is_own && is_plain(&fields, repeats, &IN_MESSAGE))
    }

    fn end(&mut self, reason: Option<String>, sink: &mut Sink<'_>) {
        self.is_cut |= reason.as_deref() == Some("length");
        let reason = match (self.is_cut, self.calls, reason) {
            (true, _, _) => FinishReason::Length,
            (false, 0, Some(word)) => FinishReason::read(&word),
            (false, 0, None) => FinishReason::Stop,
            (false, _, _) => FinishReason::ToolCalls,
        };
        sink.finish(0, reason);
        sink.done();
    }
}

/// A whole reply is a stream of one line.
pub(super) fn whole<'b>(
    body: &'b [u8],
    sink: &mut Sink<'_>,
) -> Result<Option<Verbatim<'b>>, ReplyFault> {
    let read = Stream::default().line(body, sink);
    read.filter(|_| sink.has_end()).ok_or(ReplyFault::NotAReply)
}
