//! A `generateContent` reply, whole or as a stream of such.

use super::super::signed_id;
use super::own;
use crate::dialect::server::calls::CallPiece;
use crate::dialect::server::{Pieces, Sink};
use crate::ir::{CallKind, Fields, FinishReason, HostedCall, Sealed, Usage};
use serde::Deserialize;
use serde::de::IgnoredAny;
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
    block_reason_message: Option<String>,
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
    finish_message: Option<String>,
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
    /// A tool of the server's own is used; what came of it stands in a part behind.
    executable_code: Option<IgnoredAny>,
    tool_call: Option<IgnoredAny>,
    code_execution_result: Option<IgnoredAny>,
    tool_response: Option<IgnoredAny>,
    inline_data: Option<IgnoredAny>,
    file_data: Option<IgnoredAny>,
}

impl PartWire {
    fn uses_tool(&self) -> bool {
        self.executable_code.is_some() || self.tool_call.is_some()
    }

    /// Whether it is of something that no event tells: its signature goes where it goes. What says more is read.
    fn is_own(&self) -> bool {
        if self.text.is_some() || self.function_call.is_some() {
            return false;
        }
        let came = self.code_execution_result.is_some() || self.tool_response.is_some();
        self.uses_tool() || came || self.inline_data.is_some() || self.file_data.is_some()
    }
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

/// The end of an answer that is whole.
const fn done(calls: u32) -> FinishReason {
    match calls {
        0 => FinishReason::Stop,
        _ => FinishReason::ToolCalls,
    }
}

/// Ends that say that the model called something in a way that Gemini could not read.
const UNREADABLE: [&str; 4] = [
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
    "MALFORMED_RESPONSE",
];

/// Why the reply ended; `None` where the model's answer broke, which is no answer.
fn finish(reason: &str, calls: u32) -> Option<FinishReason> {
    Some(match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" => done(calls),
        // The limit of one request, beyond which another would go on, is one as well.
        "MAX_TOKENS" | "CONTINUATION" => FinishReason::Length,
        "MISSING_THOUGHT_SIGNATURE" => return None,
        word if UNREADABLE.contains(&word) => return None,
        // Safety, recitation, blocked words and whatever else stops an answer before its end.
        _ => FinishReason::ContentFilter,
    })
}

/// A whole reply is a stream of one. Says whether it tells how each candidate ended.
pub(super) fn whole(body: &[u8], is_translated: bool, sink: &mut Sink<'_>) -> Option<bool> {
    // Some errors come as a list of one.
    let body = body.trim_ascii();
    let body = body
        .strip_prefix(b"[")
        .and_then(|inner| inner.strip_suffix(b"]"))
        .unwrap_or(body);
    let mut stream = Stream::new(is_translated);
    stream.piece(body, sink)?;
    if !sink.has_end() && stream.candidates.is_empty() {
        return None;
    }
    let mut is_told = true;
    for (choice, candidate) in &stream.candidates {
        if !candidate.is_finished {
            is_told = false;
            sink.finish(*choice, done(candidate.calls));
        }
    }
    Some(is_told)
}

/// One reply in parts.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// What only this wire says is told to nobody.
    is_translated: bool,
    candidates: BTreeMap<u32, Candidate>,
}

#[derive(Debug, Default)]
struct Candidate {
    calls: u32,
    /// It has text.
    says: bool,
    is_finished: bool,
    /// It ended in an earlier part.
    is_over: bool,
}

impl Pieces for Stream {
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let reply: ReplyWire = serde_json::from_slice(data).ok()?;
        if let Some(error) = reply.error {
            sink.error(&error);
            return Some(());
        }
        for candidate in self.candidates.values_mut() {
            candidate.is_over = candidate.is_finished;
        }
        sink.id(reply.response_id);
        sink.model(reply.model_version);
        sink.usage(reply.usage_metadata.as_ref().map(UsageWire::to_usage));
        let blocked = reply
            .prompt_feedback
            .filter(|feedback| feedback.block_reason.is_some());
        let mut own = match self.is_translated {
            true => Vec::new(),
            false => own::tell(data, sink)?,
        };
        for (place, candidate) in reply.candidates.unwrap_or_default().into_iter().enumerate() {
            let own = own.get_mut(place).map(std::mem::take).unwrap_or_default();
            let place = u32::try_from(place).ok()?;
            self.candidate(candidate.index.unwrap_or(place), candidate, own, sink);
        }
        if let Some(blocked) = blocked
            && self.candidates.is_empty()
        {
            // The prompt itself was refused.
            self.candidates.entry(0).or_default().is_finished = true;
            let words = blocked.block_reason_message;
            sink.refusal(0, words.filter(|_| self.is_translated));
            sink.finish(0, FinishReason::ContentFilter);
        }
        Some(())
    }

    /// The body ended: there is no other mark of the end.
    fn over(&mut self, sink: &mut Sink<'_>) {
        let is_finished = |candidate: &Candidate| candidate.is_finished;
        if !self.candidates.is_empty() && self.candidates.values().all(is_finished) {
            sink.done();
        }
    }
}

impl Stream {
    pub(super) fn new(is_translated: bool) -> Self {
        Self {
            is_translated,
            candidates: BTreeMap::new(),
        }
    }

    fn candidate(
        &mut self,
        choice: u32,
        wire: CandidateWire,
        own: own::Parts,
        sink: &mut Sink<'_>,
    ) {
        let is_over = (self.candidates.get(&choice)).is_some_and(|known| known.is_over);
        if is_over && wire.finish_reason.is_some() {
            // It ends once, whatever more it says.
            sink.rewrite();
        }
        sink.choice(choice, false);
        let parts = wire.content.and_then(|content| content.parts);
        let mut own = own.into_iter();
        for part in parts.unwrap_or_default() {
            let own = own.next().flatten();
            if part.uses_tool() {
                sink.hosted(choice, HostedCall::ByServer);
            }
            match own {
                Some(own) => sink.part(choice, own),
                None if part.is_own() => {}
                None => self.part(choice, part, sink),
            }
        }
        let candidate = self.candidates.entry(choice).or_default();
        let Some(reason) = wire.finish_reason.filter(|_| !candidate.is_finished) else {
            return;
        };
        candidate.is_finished = true;
        let words = wire.finish_message.filter(|words| !words.is_empty());
        match finish(&reason, candidate.calls) {
            Some(reason) => {
                // Gemini's own clients read it beside the reason. Behind an answer that was begun it would be more of that to some.
                let is_refusal = reason == FinishReason::ContentFilter
                    && self.is_translated
                    && !candidate.says
                    && candidate.calls == 0;
                sink.refusal(choice, words.filter(|_| is_refusal));
                sink.finish(choice, reason);
            }
            // The model is asked again, and told so.
            None if UNREADABLE.contains(&reason.as_str()) => {
                sink.unreadable(choice, candidate.calls);
            }
            None => {
                let reason: String = reason.chars().take(64).collect();
                let why = [Some(reason), words].into_iter().flatten();
                let why = why.collect::<Vec<_>>().join(": ");
                sink.failed(&format!("the model's reply broke off ({why}): ask again"));
            }
        }
    }

    fn part(&mut self, choice: u32, part: PartWire, sink: &mut Sink<'_>) {
        let signature = part.thought_signature.filter(|it| !it.is_empty());
        if let Some(function) = part.function_call {
            let candidate = self.candidates.entry(choice).or_default();
            let call = candidate.calls;
            candidate.calls += 1;
            let id = function.id.filter(|id| !id.is_empty());
            let is_nameless = id.is_none();
            let id = match signature {
                None => id,
                Some(signature) => {
                    let id = id.unwrap_or_else(|| sink.call_id());
                    Some(signed_id(&id, &signature))
                }
            };
            let args = function.args.filter(|args| args.get() != "null");
            if args.is_none() {
                sink.rewrite();
            }
            let text = args.map_or_else(|| "{}".to_owned(), |args| args.get().to_owned());
            let piece = CallPiece {
                index: call,
                id,
                name: Some(function.name).filter(|name| !name.is_empty()),
                text: Some(text),
                kind: Some(CallKind::Function),
            };
            sink.whole_call(choice, piece);
            if is_nameless && !self.is_translated {
                // Vertex AI knows no ids, and refuses them (pydantic/pydantic-ai#5081).
                let mut own = Fields::default();
                own.set("id", RawValue::NULL.to_owned());
                sink.of_piece(choice, call, own);
            }
            return;
        }
        match part.thought {
            Some(true) => sink.reasoning(choice, part.text),
            _ => {
                let says = |text: &String| !text.trim().is_empty();
                let candidate = self.candidates.entry(choice).or_default();
                candidate.says |= part.text.as_ref().is_some_and(says);
                sink.text(choice, part.text);
            }
        }
        if let Some(signature) = signature.filter(|_| part.thought != Some(true)) {
            sink.sealed(choice, Sealed::Signature(signature));
        }
    }
}
