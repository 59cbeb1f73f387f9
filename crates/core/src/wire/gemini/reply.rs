//! A `generateContent` reply, whole or as a stream of such, in pieces.

use super::SIGNED;
use crate::ir::{Ids, raw};
use crate::wire::say::{Piece, Usage};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReplyWire {
    candidates: Option<Vec<CandidateWire>>,
    prompt_feedback: Option<FeedbackWire>,
    usage_metadata: Option<UsageWire>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FeedbackWire {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageWire {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CandidateWire {
    index: Option<u32>,
    content: Option<ContentWire>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ContentWire {
    parts: Option<Vec<PartWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PartWire {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    function_call: Option<CallWire>,
}

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    name: String,
    args: Option<Box<RawValue>>,
}

impl UsageWire {
    fn to_usage(&self) -> Usage {
        let count = |count: Option<u64>| count.unwrap_or_default();
        let thoughts = count(self.thoughts_token_count);
        Usage {
            prompt: count(self.prompt_token_count)
                .saturating_add(count(self.tool_use_prompt_token_count)),
            completion: count(self.candidates_token_count).saturating_add(thoughts),
            cached: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
        }
    }
}

/// Chat's word; `None` where the model's answer broke, which is no answer.
fn finish(reason: &str, calls: u32) -> Option<&'static str> {
    Some(match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" if calls > 0 => "tool_calls",
        "STOP" | "FINISH_REASON_UNSPECIFIED" => "stop",
        "MAX_TOKENS" => "length",
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => return None,
        // Safety, recitation, blocked words and whatever else stops an answer before its end.
        _ => "content_filter",
    })
}

/// A whole reply is a stream of one.
pub(in crate::wire) fn whole(body: &[u8], ids: &mut Ids, out: &mut Vec<Piece>) -> Option<()> {
    // Some errors come as a list of one.
    let body = body.trim_ascii();
    let body = body
        .strip_prefix(b"[")
        .and_then(|inner| inner.strip_suffix(b"]"))
        .unwrap_or(body);
    let mut stream = Stream::new(ids.clone());
    stream.event(body, out)?;
    let is_said = |piece: &Piece| matches!(piece, Piece::Error(_) | Piece::Finish(..));
    if !out.iter().any(is_said) && stream.candidates.is_empty() {
        return None;
    }
    Some(())
}

/// One reply in parts.
#[derive(Debug)]
pub(in crate::wire) struct Stream {
    ids: Ids,
    candidates: BTreeMap<u32, Candidate>,
}

#[derive(Debug, Default)]
struct Candidate {
    calls: u32,
    is_finished: bool,
}

impl Stream {
    pub(in crate::wire) const fn new(ids: Ids) -> Self {
        Self {
            ids,
            candidates: BTreeMap::new(),
        }
    }

    pub(in crate::wire) fn event(&mut self, data: &[u8], out: &mut Vec<Piece>) -> Option<()> {
        let reply: ReplyWire = serde_json::from_slice(data).ok()?;
        if let Some(error) = reply.error {
            out.push(Piece::Error(error));
            return Some(());
        }
        out.extend(reply.response_id.map(Piece::Id));
        out.extend(reply.model_version.map(Piece::Model));
        out.extend(
            reply
                .usage_metadata
                .map(|usage| Piece::Usage(usage.to_usage())),
        );
        let blocked = reply
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        for (place, candidate) in reply.candidates.unwrap_or_default().into_iter().enumerate() {
            let place = u32::try_from(place).ok()?;
            self.candidate(candidate.index.unwrap_or(place), candidate, out);
        }
        if blocked.is_some() && self.candidates.is_empty() {
            // The prompt itself was refused.
            self.candidates.entry(0).or_default().is_finished = true;
            out.push(Piece::Finish(0, "content_filter"));
        }
        Some(())
    }

    fn candidate(&mut self, choice: u32, wire: CandidateWire, out: &mut Vec<Piece>) {
        let parts = wire.content.and_then(|content| content.parts);
        for part in parts.unwrap_or_default() {
            self.part(choice, part, out);
        }
        let candidate = self.candidates.entry(choice).or_default();
        let Some(reason) = wire.finish_reason.filter(|_| !candidate.is_finished) else {
            return;
        };
        candidate.is_finished = true;
        match finish(&reason, candidate.calls) {
            Some(word) => out.push(Piece::Finish(choice, word)),
            None => {
                let reason: String = reason.chars().take(64).collect();
                let message = format!("the model's reply broke off ({reason}): ask again");
                out.push(Piece::Error(raw(&json!({"message": message}))));
            }
        }
    }

    fn part(&mut self, choice: u32, part: PartWire, out: &mut Vec<Piece>) {
        let signature = part.thought_signature.filter(|it| !it.is_empty());
        if let Some(function) = part.function_call {
            let candidate = self.candidates.entry(choice).or_default();
            let call = candidate.calls;
            candidate.calls += 1;
            let id = function.id.filter(|id| !id.is_empty());
            let id = match signature {
                None => id,
                Some(signature) => {
                    let id = id.unwrap_or_else(|| self.ids.call());
                    Some(format!("{id}{SIGNED}{signature}"))
                }
            };
            out.push(Piece::Call {
                choice,
                call,
                id,
                name: function.name,
            });
            let args = function.args.filter(|args| args.get() != "null");
            out.push(Piece::Arguments {
                choice,
                call,
                text: args.map_or_else(|| "{}".to_owned(), |args| args.get().to_owned()),
            });
            return;
        }
        if let Some(text) = part.text.filter(|text| !text.is_empty()) {
            out.push(match part.thought {
                Some(true) => Piece::Reasoning(choice, text),
                _ => Piece::Text(choice, text),
            });
        }
        if let Some(signature) = signature.filter(|_| part.thought != Some(true)) {
            let extra = json!({"google": {"thought_signature": signature}});
            out.push(Piece::Own(choice, "extra_content", raw(&extra)));
        }
    }

    /// The body ended: there is no other mark of the end.
    pub(in crate::wire) fn finish(&mut self, out: &mut Vec<Piece>) {
        let is_finished = |candidate: &Candidate| candidate.is_finished;
        if !self.candidates.is_empty() && self.candidates.values().all(is_finished) {
            out.push(Piece::Done);
        }
    }
}
