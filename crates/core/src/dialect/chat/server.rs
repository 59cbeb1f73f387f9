//! We are the client: a whole reply, or the events of a stream, in; what they say out.

mod ask;
mod chunk;
mod editor;
mod template;
mod whole;

pub(in crate::dialect) use ask::messages;
pub(in crate::dialect) use editor::ChatEditor;

use super::details::{self, Details};
use super::wire::{CallReading, ChoiceReading};
use crate::dialect::server::calls::CallPiece;
use crate::dialect::server::{
    About, Ask, Editor, Reader, Render, ReplyFault, Server, Sink, Told, Verbatim, Written,
};
use crate::error::Error;
use crate::ir::{Fields, FinishReason, Of, Start, Usage, Wire, raw};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Chat Completions, as its servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct ChatServer;

impl Server for ChatServer {
    fn wire(&self) -> Wire {
        Wire::Chat
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&ChatEditor)
    }

    fn write(&self, ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        ask::ask(ask).map(Written::of)
    }

    fn conversation(&self, ask: &mut Ask<'_>) -> Result<Option<Told>, Error> {
        // Whether the model is to go on with its own words stands beside it.
        if ask.history().prefill.is_some() {
            return Ok(None);
        }
        Ok(Some(("messages", raw(&ask::messages(ask)?))))
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        whole::whole(body, about, sink)
    }

    fn reader(&self, about: About) -> Box<dyn Reader> {
        Box::new(chunk::Stream::new(about))
    }
}

/// Whether what has no choices says why. Of vLLM before 0.10.1, SGLang and SiliconFlow the error is at the top, of others its message is all
/// that there is; `detail` is FastAPI's, `errors` Cloudflare's, `error_message` Venice's, `msg` Zhipu's gateway's, and `base_resp` MiniMax's,
/// where it stands in good replies, too.
fn is_error(fields: &Fields) -> bool {
    let is_there = |name: &str| fields.raw(name).is_some_and(|raw| raw != "null");
    let begins = |name: &str, with: &[char]| {
        let raw = fields.raw(name);
        raw.is_some_and(|raw| raw.starts_with(with) && !["[]", "{}"].contains(&raw))
    };
    if is_there("choices") {
        return false;
    }
    let is_failed = |raw: &str| {
        let said: Option<Value> = crate::json::value(raw).ok();
        said.is_some_and(|said| said["status_code"].as_i64().is_some_and(|code| code != 0))
    };
    begins("message", &['"'])
        || begins("error_message", &['"'])
        || begins("msg", &['"']) && is_there("code")
        || begins("detail", &['"', '[', '{'])
        || begins("errors", &['[', '{'])
        || fields.raw("base_resp").is_some_and(is_failed)
}

/// The fields of a message that deltas say: never copied from the upstream.
const SAID: [&str; 5] = ["role", "content", "refusal", "tool_calls", "function_call"];

/// What the choice has beside its deltas.
fn speak(choice: &mut ChoiceReading, about: &About, details: &mut Details, sink: &mut Sink<'_>) {
    let index = choice.index;
    sink.choice(index, choice.message.has("role"));
    let mut fields = std::mem::take(&mut choice.fields);
    fields
        .0
        .retain(|name, _| !["index", "finish_reason", "message", "delta"].contains(&name.as_str()));
    sink.logprobs(index, tokens(fields.raw("logprobs")));
    sink.own(Of::Choice(index), fields);
    let mut message = std::mem::take(&mut choice.message);
    message.0.retain(|name, _| !SAID.contains(&name.as_str()));
    if let Some(said) = message.raw(details::FIELD).filter(|_| about.is_translated) {
        details.take(said);
    }
    if let Some(thought) = reasoning(&message, about) {
        sink.own_reasoning(index, thought);
    }
    sink.reasoning(index, choice.thought.take());
    sink.own(Of::Message(index), message);
}

/// What went wrong with a choice, as OpenRouter says it there.
fn error(choice: &ChoiceReading) -> Option<&str> {
    choice
        .fields
        .raw("error")
        .filter(|raw| raw.contains("\"message\"") || raw.contains("\"code\""))
}

/// Why a choice ended, in the wire's words where the server has its own.
fn finish(
    reason: FinishReason,
    choice: &mut ChoiceReading,
    about: &About,
) -> Result<FinishReason, String> {
    match reason {
        FinishReason::Other(word) if about.ends.cut.contains(&word) => Ok(FinishReason::Length),
        FinishReason::Other(word) if about.ends.failed.contains(&word) => {
            let is_fault = |text: &mut String| {
                let mut faults = about.ends.faults.iter();
                faults.any(|fault| text.starts_with(fault.as_str()))
            };
            let fault = choice.content.take_if(is_fault);
            Err(fault
                .unwrap_or_else(|| format!("the server's reply broke off ({word}): ask again")))
        }
        reason => Ok(stopped(reason, &choice.fields, about)),
    }
}

/// Whether a choice ended in a word of the server's own, which clients are told otherwise.
fn has_own_end(choice: &ChoiceReading, about: &About) -> bool {
    let Some(FinishReason::Other(word)) = &choice.finish else {
        return false;
    };
    about.ends.cut.contains(word) || about.ends.failed.contains(word)
}

/// Of a stop text the server may say which one it was.
fn stopped(reason: FinishReason, fields: &Fields, about: &About) -> FinishReason {
    if reason != FinishReason::Stop || about.stop.is_empty() {
        return reason;
    }
    // A number is a token's.
    let said = |name: &String| serde_json::from_str::<String>(fields.raw(name)?).ok();
    let text = about.stopped.iter().find_map(said);
    match text.filter(|text| about.stop.contains(text)) {
        Some(text) => FinishReason::StopText(text),
        None => reason,
    }
}

/// The message's thoughts, under the first of the server's names that has any.
fn reasoning(message: &Fields, about: &About) -> Option<String> {
    match thoughts(message, about) {
        Some(raw) => serde_json::from_str(raw).ok(),
        // MiniMax's stand there alone.
        None => {
            (message.raw(details::FIELD).filter(|_| about.is_translated)).and_then(Details::text)
        }
    }
}

/// The same as they stand there.
fn thoughts<'m>(message: &'m Fields, about: &About) -> Option<&'m str> {
    let mut said = about.reasoning.iter().filter_map(|name| message.raw(name));
    said.find(|raw| !["null", "\"\""].contains(raw))
}

#[derive(Deserialize)]
struct LogprobsWire {
    content: Option<Vec<Box<RawValue>>>,
}

fn tokens(raw: Option<&str>) -> Vec<Box<RawValue>> {
    let read = raw.and_then(|raw| serde_json::from_str::<Option<LogprobsWire>>(raw).ok()?);
    read.and_then(|logprobs| logprobs.content)
        .unwrap_or_default()
}

fn piece((place, call): (u32, CallReading)) -> CallPiece {
    CallPiece {
        index: call.index.unwrap_or(place),
        id: call.id,
        name: call.name,
        text: call.text,
        kind: call.kind,
    }
}

#[derive(Deserialize)]
struct UsageWire {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "of_this_form")]
    prompt_tokens_details: Option<DetailsWire>,
    #[serde(default, deserialize_with = "of_this_form")]
    completion_tokens_details: Option<DetailsWire>,
}

/// What is of another form says nothing.
fn of_this_form<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<DetailsWire>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

#[derive(Deserialize)]
struct DetailsWire {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

/// The counts, as far as they are such.
pub(in crate::dialect) fn usage(fields: &Fields) -> Option<Usage> {
    counted(fields.raw("usage")?.as_bytes())
}

/// The counts of a reply; Moonshot's stand in a choice (northes/go-moonshot#17).
fn usage_of(fields: &Fields, choices: &[ChoiceReading]) -> Option<Usage> {
    usage(fields).or_else(|| choices.iter().find_map(|choice| usage(&choice.fields)))
}

/// The counts that a JSON text tells.
fn counted(raw: &[u8]) -> Option<Usage> {
    let wire: Option<UsageWire> = serde_json::from_slice(raw).ok()?;
    let wire = wire?;
    Some(Usage {
        prompt: wire.prompt_tokens?,
        completion: wire.completion_tokens.unwrap_or_default(),
        cached: wire
            .prompt_tokens_details
            .and_then(|details| details.cached_tokens),
        reasoning: wire
            .completion_tokens_details
            .and_then(|details| details.reasoning_tokens),
    })
}

pub(in crate::dialect) fn start(fields: &Fields) -> Start {
    fn read<T: serde::de::DeserializeOwned>(fields: &Fields, name: &str) -> Option<T> {
        serde_json::from_str(fields.raw(name)?).ok()?
    }
    Start {
        id: read(fields, "id"),
        model: read(fields, "model"),
        created: read(fields, "created"),
    }
}
