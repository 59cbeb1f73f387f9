//! What of a reply Gemini's wire alone says: for its own clients, where the reply is written anew.

use crate::dialect::server::Sink;
use crate::ir::{Fields, Of};
use serde_json::value::RawValue;

/// What is told in events of the reply, and of a candidate.
const OF_REPLY: [&str; 3] = ["modelVersion", "responseId", "error"];
const OF_CANDIDATE: [&str; 2] = ["finishReason", "index"];
/// What a part has that is told in events, or beside them.
const OF_PART: [&str; 5] = [
    "text",
    "functionCall",
    "thought",
    "thoughtSignature",
    "partMetadata",
];

/// Whether a part is of something else than texts, thoughts and calls: what the server's own tools did, a file.
fn is_other(part: &RawValue) -> bool {
    let part: Fields = serde_json::from_str(part.get()).unwrap_or_default();
    let is_told = part.has("text") || part.has("functionCall");
    !is_told && part.0.keys().any(|name| !OF_PART.contains(&name.as_str()))
}

/// The parts of a candidate's message, each where nothing else tells it.
pub(super) type Parts = Vec<Option<Box<RawValue>>>;

/// Tells what is said beside the parts; `None` where it is no reply.
pub(super) fn tell(data: &[u8], sink: &mut Sink<'_>) -> Option<Vec<Parts>> {
    let mut reply: Fields = serde_json::from_slice(data).ok()?;
    let candidates = reply.remove("candidates");
    for name in OF_REPLY {
        reply.remove(name);
    }
    sink.own(Of::Reply, reply);
    let candidates: Option<Vec<Fields>> = match candidates {
        Some(candidates) => serde_json::from_str(candidates.get()).ok()?,
        None => None,
    };
    let mut parts = Vec::new();
    for (place, mut candidate) in candidates.unwrap_or_default().into_iter().enumerate() {
        let index = candidate.raw("index").and_then(|raw| raw.parse().ok());
        let choice = index.or_else(|| u32::try_from(place).ok())?;
        let content = candidate.remove("content");
        for name in OF_CANDIDATE {
            candidate.remove(name);
        }
        sink.own(Of::Choice(choice), candidate);
        parts.push(content.map(|it| others(&it)).unwrap_or_default());
    }
    Some(parts)
}

fn others(content: &RawValue) -> Parts {
    let content: Option<Fields> = serde_json::from_str(content.get()).ok();
    let parts = content.and_then(|mut content| content.remove("parts"));
    let parts: Option<Vec<Box<RawValue>>> =
        parts.and_then(|parts| serde_json::from_str(parts.get()).ok());
    let parts = parts.unwrap_or_default().into_iter();
    parts
        .map(|part| Some(part).filter(|it| is_other(it)))
        .collect()
}
