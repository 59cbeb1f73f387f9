//! A whole reply, or a chunk, in; what it says out, and its bytes where clients read nothing else in it.

use crate::dialect::chat::server::{start, usage};
use crate::dialect::chat::wire::{Head, NotOfTheWire, take_look_alikes, typed};
use crate::dialect::server::{Reader, ReplyFault, Sink, Verbatim};
use crate::ir::{Fields, FinishReason, Of};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// One choice, as far as clients read it.
struct ChoiceReading {
    index: u32,
    text: Option<String>,
    finish: Option<FinishReason>,
    /// What else stands in it.
    fields: Fields,
    is_plain: bool,
}

fn read_choice(place: usize, raw: &str) -> Result<ChoiceReading, NotOfTheWire> {
    let (mut fields, repeats) = Fields::read(raw.as_bytes()).map_err(|_| NotOfTheWire)?;
    let mut is_plain = !repeats & take_look_alikes(&mut fields);
    // A second place for what is said, which some clients would read.
    for other in ["message", "delta", "content", "tool_calls", "function_call"] {
        is_plain &= fields.remove(other).is_none();
    }
    let index: Option<u32> = typed(&fields, "index")?;
    is_plain &= index.is_some();
    let text: Option<String> = typed(&fields, "text")?;
    let word: Option<String> = typed(&fields, "finish_reason")?;
    // An empty word is a server's way to say that it goes on; there are no calls.
    is_plain &= !matches!(word.as_deref(), Some("" | "tool_calls" | "function_call"));
    fields
        .0
        .retain(|name, _| !["index", "text", "finish_reason"].contains(&name.as_str()));
    Ok(ChoiceReading {
        index: index.unwrap_or(u32::try_from(place).unwrap_or(u32::MAX)),
        text,
        finish: (word.filter(|word| !word.is_empty())).map(|word| FinishReason::read(&word)),
        fields,
        is_plain,
    })
}

/// The choices; `None` where there are none to be read.
fn choices(head: &Head<'_>) -> Option<Result<Vec<ChoiceReading>, NotOfTheWire>> {
    let raw = head.fields.raw("choices")?;
    let choices: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    let read = |(place, raw): (usize, &&RawValue)| read_choice(place, raw.get());
    Some(choices.iter().enumerate().map(read).collect())
}

/// Reads a reply body.
///
/// # Errors
/// The body is none.
pub(super) fn whole<'d>(
    body: &'d [u8],
    sink: &mut Sink<'_>,
) -> Result<Option<Verbatim<'d>>, ReplyFault> {
    let head = Head::read(body).ok_or(ReplyFault::NotAReply)?;
    if let Some(error) = head.fields.raw("error").filter(|error| *error != "null") {
        return Err(ReplyFault::Error(error.to_owned()));
    }
    let choices = choices(&head).ok_or(ReplyFault::NotAReply)?;
    let choices = choices.map_err(|NotOfTheWire| ReplyFault::NotAReply)?;
    let is_plain = choices
        .iter()
        .all(|choice| choice.is_plain && choice.finish.is_some());
    let (fields, verbatim) = head.close_as(is_plain);
    sink.start(start(&fields));
    sink.usage(usage(&fields));
    sink.own(Of::Reply, fields);
    for choice in choices {
        let text = choice.text.ok_or(ReplyFault::NotAReply)?;
        sink.choice(choice.index, true);
        sink.own(Of::Choice(choice.index), choice.fields);
        sink.text(choice.index, Some(text));
        sink.finish(choice.index, choice.finish.unwrap_or(FinishReason::Stop));
    }
    Ok(verbatim)
}

/// One reply, chunk by chunk.
#[derive(Debug, Default)]
pub(super) struct Stream {
    has_begun: bool,
}

impl Reader for Stream {
    /// What is JSON, but nothing that a reply is made of, says nothing.
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        if data.trim_ascii() == b"[DONE]" {
            sink.done();
            return None;
        }
        let Some(head) = Head::read(data) else {
            let mended = crate::json::mend(data);
            let is_json = serde_json::from_slice::<IgnoredAny>(mended.as_deref().unwrap_or(data));
            if is_json.is_err() {
                sink.unread(data);
            }
            return None;
        };
        if let Some(error) = head.fields.raw("error").filter(|error| *error != "null") {
            sink.reported(error);
            return None;
        }
        if head.fields.raw("object") == Some("\"error\"") {
            sink.reported(&String::from_utf8_lossy(data));
            return None;
        }
        let Ok(choices) = choices(&head)? else {
            sink.garbage();
            return None;
        };
        let is_plain = choices
            .iter()
            .all(|choice| choice.is_plain && choice.text.is_some());
        let (fields, verbatim) = head.close_as(is_plain);
        if !std::mem::replace(&mut self.has_begun, true) {
            sink.start(start(&fields));
        }
        sink.usage(usage(&fields));
        sink.own(Of::Reply, fields);
        for choice in choices {
            sink.choice(choice.index, false);
            sink.own(Of::Choice(choice.index), choice.fields);
            sink.text(choice.index, choice.text);
            if let Some(reason) = choice.finish {
                sink.finish(choice.index, reason);
            }
        }
        verbatim
    }
}
