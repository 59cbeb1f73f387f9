//! A streamed reply, chunk by chunk: framing, reading, rewrapping, verifying, writing.
//!
//! Nothing is written before the first byte of substance has passed verification, so that a reply
//! that goes wrong at once still gets a status code, or is asked for again.

use super::calls::{NoCall, OpenCalls};
use super::flow::ChoiceFlow;
use super::{
    End, Exchange, Fault, Terms, goes_on, thinks, too_few_choices, too_many_choices, upstream_error,
};
use crate::dialect::chat::{self, Chunk, ChunkChoice, StreamEvent, Verbatim};
use crate::error::{Error, Kind};
use crate::ir::{Delta, Fields, FinishReason, Ids, Repairs, Violation, raw};
use crate::sse;
use crate::verify::Checks;
use crate::wire::{self, Wire};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// More choices than any request may ask for; a server that sends more is not followed.
const MAX_CHOICES: usize = 128;

/// More than this is not held back: text before a call is rarely longer.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Translates a streamed reply.
#[derive(Debug)]
pub struct StreamTranslator {
    terms: Terms,
    checks: Arc<Checks>,
    ids: Ids,
    decoder: wire::Decoder,
    choices: BTreeMap<u32, ChoiceStream>,
    /// The top-level fields of the first chunk, for a chunk of our own.
    envelope: Fields,
    /// The fields of the last chunk that counted tokens, where chunks are written anew: the counts
    /// go out once, at the end.
    usage: Option<Fields>,
    /// Client events without substance that wait for the first one with.
    held: Vec<u8>,
    /// Something was written: nothing is held back any more.
    sent: bool,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Before `[DONE]`.
    Open,
    /// `[DONE]` was written.
    Done,
    /// A fault ended the stream.
    Failed,
}

/// One choice of the stream.
#[derive(Debug)]
struct ChoiceStream {
    flow: ChoiceFlow,
    calls: OpenCalls,
    role_sent: bool,
    finished: bool,
    /// It has thoughts.
    has_thought: bool,
    /// It has something else.
    has_spoken: bool,
    logprobs: Vec<Box<RawValue>>,
}

impl StreamTranslator {
    /// A translator for one reply. `event_bytes` bounds one unfinished event.
    #[must_use]
    pub fn new(exchange: &Exchange, checks: Arc<Checks>, ids: Ids, event_bytes: usize) -> Self {
        Self::on(exchange.wire, exchange, checks, ids, event_bytes)
    }

    /// A translator for one reply that is in Chat's words already.
    #[must_use]
    pub fn of_chat(exchange: &Exchange, checks: Arc<Checks>, ids: Ids, event_bytes: usize) -> Self {
        Self::on(Wire::Chat, exchange, checks, ids, event_bytes)
    }

    fn on(
        wire: Wire,
        exchange: &Exchange,
        checks: Arc<Checks>,
        ids: Ids,
        event_bytes: usize,
    ) -> Self {
        Self {
            terms: exchange.terms(),
            checks,
            decoder: wire.decoder(exchange.about(&ids), event_bytes),
            ids,
            choices: BTreeMap::new(),
            envelope: Fields::default(),
            usage: None,
            held: Vec::new(),
            sent: false,
            stage: Stage::Open,
        }
    }

    /// Takes the next bytes of the upstream's body and appends whole client events to `out`.
    /// What `out` got before an error is good and is to be sent.
    ///
    /// # Errors
    /// A violation, or an upstream error; the stream is over, and the caller writes
    /// [`super::error_event`].
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.stage != Stage::Open {
            return Ok(());
        }
        let mut events = Vec::new();
        let framed = self.decoder.push(chunk, &mut events);
        let outcome = events
            .iter()
            .try_for_each(|data| self.event(data, out))
            .and_then(|()| {
                framed.map_err(|fault| {
                    Fault::Error(Error::new(
                        Kind::UpstreamTooLarge,
                        format!("the server's stream: {fault}"),
                    ))
                })
            });
        self.settle(outcome)
    }

    /// The upstream's body ended. On success the client's stream is complete with `[DONE]`.
    ///
    /// # Errors
    /// A reply that was cut, or whose end breaks the contract.
    pub fn finish(&mut self, end: End, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.stage != Stage::Open {
            return Ok(());
        }
        let outcome = self.ended(end, out);
        self.settle(outcome)
    }

    /// Whether `[DONE]` was written: whatever the upstream still sends is dropped.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// What the reply breaks so far, where [`Exchange::passes_violations`].
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        self.choices
            .values()
            .find_map(|choice| choice.flow.passed.as_ref())
    }

    /// What was mended in the reply so far.
    #[must_use]
    pub fn repairs(&self) -> Repairs {
        let mut repairs = Repairs::default();
        for choice in self.choices.values() {
            repairs.join(choice.flow.repairs());
        }
        repairs
    }

    fn settle(&mut self, outcome: Result<(), Fault>) -> Result<(), Fault> {
        if outcome.is_err() {
            self.stage = Stage::Failed;
        }
        outcome
    }

    fn ended(&mut self, end: End, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut events = Vec::new();
        let is_clean = self.decoder.finish(&mut events);
        for data in &events {
            self.event(data, out)?;
        }
        if self.stage == Stage::Done {
            return Ok(());
        }
        let whole = !self.choices.is_empty() && self.choices.values().all(|choice| choice.finished);
        if end == End::Eof && is_clean && whole {
            return self.done(out);
        }
        let message = "the server's stream ended before the reply was complete: what came so far is not the whole answer";
        Err(Fault::Error(Error::new(Kind::UpstreamTruncated, message)))
    }

    fn event(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.stage == Stage::Done {
            return Ok(());
        }
        match chat::read_event(data) {
            StreamEvent::Done => self.done(out),
            StreamEvent::Nothing => Ok(()),
            StreamEvent::Error(raw) => Err(Fault::Error(upstream_error::reported(&raw))),
            StreamEvent::Garbage => Err(Fault::Error(Error::new(
                Kind::UpstreamBadReply,
                "the server sent a stream event that is no JSON, or none of its protocol",
            ))),
            StreamEvent::Chunk(chunk) => self.chunk(*chunk, out),
        }
    }

    fn chunk(&mut self, mut chunk: Chunk<'_>, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut said = Vec::with_capacity(chunk.choices.len());
        for choice in std::mem::take(&mut chunk.choices) {
            match self.choice(&choice)? {
                Some(deltas) => {
                    said.push(deltas);
                    chunk.choices.push(choice);
                }
                // What comes after a choice's end is no part of what was verified.
                None => chunk.verbatim = None,
            }
        }
        if self.envelope.0.is_empty() {
            self.envelope = chunk.fields.clone();
            self.envelope.remove("usage");
        }
        let is_said = |delta: &Delta| matches!(delta, Delta::CallInput { .. });
        let is_clean = chunk.choices.iter().all(|choice| self.is_clean(choice))
            && !said.iter().flatten().any(is_said);
        if let Some(verbatim) = chunk
            .verbatim
            .take_if(|_| self.terms.keeps_bytes() && is_clean)
        {
            self.keep(&chunk, &said, &verbatim, out);
            return Ok(());
        }
        if !self.terms.keeps_bytes() {
            self.take_usage(&mut chunk.fields);
        }
        let substance = self.says_anything(&chunk, &said);
        match self.write_parts(&chunk, &said) {
            Some(data) => self.write(&data, substance, out),
            None => self.take_usage(&mut chunk.fields),
        }
        Ok(())
    }

    /// Whether nothing of the framing is to be repaired: calls always are, and the role is first.
    fn is_clean(&self, choice: &ChunkChoice) -> bool {
        let has_role = || {
            let known = self.choices.get(&choice.index);
            known.is_some_and(|known| known.role_sent)
        };
        choice.calls.is_empty()
            && (choice.delta.has("role") || has_role())
            && (choice.finish != Some(FinishReason::ToolCalls) || self.has_calls(choice.index))
    }

    fn has_calls(&self, index: u32) -> bool {
        let known = self.choices.get(&index);
        known.is_some_and(|known| !known.calls.is_empty())
    }

    /// Takes the token counts out of a chunk.
    fn take_usage(&mut self, fields: &mut Fields) {
        let Some(usage) = fields.remove("usage").filter(|usage| usage.get() != "null") else {
            return;
        };
        let mut chunk = fields.clone();
        chunk.set("choices", raw::<[u8]>(&[]));
        chunk.set("usage", usage);
        self.usage = Some(chunk);
    }

    /// A chunk that is the client's own already.
    fn keep(
        &mut self,
        chunk: &Chunk<'_>,
        said: &[Vec<Delta>],
        verbatim: &Verbatim<'_>,
        out: &mut Vec<u8>,
    ) {
        if chunk
            .fields
            .raw("usage")
            .is_some_and(|usage| usage != "null")
        {
            self.usage = None;
        }
        // Thinking goes out at once.
        let substance = self.says_anything(chunk, said);
        for choice in &chunk.choices {
            self.kept(choice);
        }
        self.write(verbatim.as_bytes(), substance, out);
    }

    /// The choice's role and log probabilities went out with the upstream's own bytes.
    fn kept(&mut self, source: &ChunkChoice) {
        if let Some(choice) = self.choices.get_mut(&source.index) {
            choice.role_sent |= source.delta.has("role");
            choice.logprobs.clear();
        }
    }

    /// Steps one choice: what the client is to see of it; `None` where it has ended before.
    fn choice(&mut self, source: &ChunkChoice) -> Result<Option<Vec<Delta>>, Fault> {
        let index = source.index;
        if let Some(choice) = self.choices.get_mut(&index)
            && choice.finished
        {
            return choice.after_end(source, index).map_err(Fault::Violation);
        }
        let is_asked = index < self.terms.choices || self.terms.demands_nothing;
        let unasked = (!is_asked).then(|| too_many_choices(self.terms.choices));
        if let Some(violation) = unasked.clone().filter(|_| !self.terms.passes_violations) {
            return Err(Fault::Violation(violation));
        }
        if self.choices.len() >= MAX_CHOICES && !self.choices.contains_key(&index) {
            let message = format!("the server sent more than {MAX_CHOICES} choices");
            return Err(Fault::Error(Error::new(Kind::UpstreamBadReply, message)));
        }
        let choice = self.choices.entry(index).or_insert_with(|| ChoiceStream {
            flow: ChoiceFlow::new(&self.terms, &self.checks, index).mending(&self.terms),
            calls: OpenCalls::default(),
            role_sent: false,
            finished: false,
            has_thought: false,
            has_spoken: false,
            logprobs: Vec::new(),
        });
        if let Some(violation) = unasked {
            choice.flow.let_pass(violation);
        }
        choice.remember_logprobs(source);
        let deltas = choice.read(source, &mut self.ids);
        let mut out = Vec::new();
        choice.has_thought |= thinks(&source.delta);
        for delta in deltas.map_err(|other| Fault::Violation(other.violation(index)))? {
            choice.has_spoken |= !matches!(delta, Delta::Finish(_));
            let only_thinks = choice.has_thought && !choice.has_spoken;
            let stepped = choice.flow.step(delta, &mut self.ids, &mut out);
            stepped.map_err(|broken| Fault::Violation(broken.among_thoughts(only_thinks)))?;
            if let Some(passed) = &mut choice.flow.passed {
                passed.is_among_thoughts = only_thinks;
            }
        }
        choice.finished |= source.finish.is_some();
        Ok(Some(out))
    }

    fn write_parts(&mut self, chunk: &Chunk<'_>, said: &[Vec<Delta>]) -> Option<Vec<u8>> {
        let mut parts = Vec::new();
        for (source, deltas) in chunk.choices.iter().zip(said) {
            if deltas.is_empty() && !thinks(&source.delta) {
                continue;
            }
            let Some(choice) = self.choices.get_mut(&source.index) else {
                continue;
            };
            let role = !std::mem::replace(&mut choice.role_sent, true);
            parts.push(chat::ChoicePart {
                source,
                role,
                deltas,
                logprobs: choice.take_logprobs(),
            });
        }
        if parts.is_empty() {
            return None;
        }
        Some(chat::write_chunk(
            self.terms.envelope(&chunk.fields, &self.ids),
            &parts,
        ))
    }

    /// Whether a chunk is worth opening the reply for.
    fn says_anything(&self, chunk: &Chunk<'_>, said: &[Vec<Delta>]) -> bool {
        let mut choices = chunk.choices.iter().zip(said);
        choices.any(|(choice, said)| {
            thinks(&choice.delta) || said.iter().any(|delta| self.has_substance(delta))
        })
    }

    /// Text says nothing yet where a call is demanded: a server that ignores the demand sends
    /// only text, and may still be asked again.
    fn has_substance(&self, delta: &Delta) -> bool {
        !(self.terms.demands_call && matches!(delta, Delta::Text(_)))
    }

    /// Writes an event, or holds it until there is one of substance.
    fn write(&mut self, data: &[u8], substance: bool, out: &mut Vec<u8>) {
        if substance || self.held.len() > MAX_HELD_BYTES {
            self.sent = true;
            out.append(&mut self.held);
        }
        let hold = !self.sent || (self.terms.demands_call && !substance);
        sse::encode(data, if hold { &mut self.held } else { out });
    }

    /// `[DONE]` came, or everything that must come before it.
    fn done(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let came = u32::try_from(self.choices.len()).unwrap_or(u32::MAX);
        if came < self.terms.choices && !self.terms.demands_nothing {
            let violation = too_few_choices(came, self.terms.choices);
            match self.choices.values_mut().next() {
                Some(choice) if self.terms.passes_violations => choice.flow.let_pass(violation),
                _ => return Err(Fault::Violation(violation)),
            }
        }
        let open: Vec<u32> = self
            .choices
            .iter()
            .filter(|(_, choice)| !choice.finished)
            .map(|(index, _)| *index)
            .collect();
        for index in open {
            // A server that names no finish reason means that it is done.
            let source = ChunkChoice::end(index);
            let deltas = self.choice(&source)?.unwrap_or_default();
            let chunk = Chunk {
                fields: self.envelope.clone(),
                choices: vec![source],
                verbatim: None,
            };
            if let Some(data) = self.write_parts(&chunk, &[deltas]) {
                self.write(&data, true, out);
            }
        }
        out.append(&mut self.held);
        if let Some(usage) = self.usage.take().filter(|_| self.terms.include_usage) {
            sse::encode(
                &chat::write_chunk(self.terms.envelope(&usage, &self.ids), &[]),
                out,
            );
        }
        if let Some(violation) = self.violation() {
            // What was found after the reply's head had gone out.
            let rule = &violation.rule;
            sse::comment(&format!("x-isogloss-violation: {rule}"), out);
        }
        out.extend_from_slice(sse::DONE);
        self.stage = Stage::Done;
        Ok(())
    }
}

impl ChoiceStream {
    /// What a client is to see of a chunk that comes after the choice's finish: nothing, where it
    /// says nothing, and it goes along where clients read nothing in it either.
    ///
    /// # Errors
    /// It goes on: what was verified would not be what the client puts together.
    fn after_end(
        &mut self,
        source: &ChunkChoice,
        index: u32,
    ) -> Result<Option<Vec<Delta>>, Violation> {
        if source.has_substance() {
            match self.flow.is_lenient {
                true => self.flow.let_pass(goes_on(index)),
                false => return Err(goes_on(index)),
            }
        }
        let is_blank = source.content.as_ref().is_none_or(String::is_empty)
            && source.finish.is_none()
            && !source.has_substance();
        Ok(is_blank.then(Vec::new))
    }

    /// The wire's pieces as deltas.
    fn read(&mut self, source: &ChunkChoice, ids: &mut Ids) -> Result<Vec<Delta>, NoCall> {
        let mut deltas = Vec::new();
        if let Some(text) = source.content.as_ref().filter(|text| !text.is_empty()) {
            deltas.push(Delta::Text(text.clone()));
        }
        if let Some(text) = source.refusal.as_ref().filter(|text| !text.is_empty()) {
            deltas.push(Delta::Refusal(text.clone()));
        }
        for piece in source.calls.iter().cloned() {
            self.calls.step(piece, ids, &mut deltas)?;
        }
        if let Some(reason) = source.finish.clone() {
            if !reason.is_cut() {
                self.calls.end(&mut deltas)?;
            }
            deltas.push(Delta::Finish(reason.without_calls(self.calls.is_empty())));
        }
        Ok(deltas)
    }

    fn remember_logprobs(&mut self, source: &ChunkChoice) {
        let Some(raw) = source.fields.raw("logprobs").filter(|raw| *raw != "null") else {
            return;
        };
        if let Ok(Logprobs {
            content: Some(content),
        }) = serde_json::from_str(raw)
        {
            self.logprobs.extend(content);
        }
    }

    fn take_logprobs(&mut self) -> Option<Box<RawValue>> {
        let content = std::mem::take(&mut self.logprobs);
        (!content.is_empty()).then(|| {
            let mut fields = Fields::default();
            fields.set("content", raw(&content));
            raw(&fields)
        })
    }
}

#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Box<RawValue>>>,
}
