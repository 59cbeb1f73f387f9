//! The events of a stream in; the whole reply that says the same out. Some gateways stream whatever
//! they were asked.

use super::calls::OpenCalls;
use super::{Exchange, Fault, goes_on, upstream_error};
use crate::dialect::chat::{self, Choice, ChunkChoice, Reply, StreamEvent};
use crate::error::{Error, Kind};
use crate::ir::{Delta, Fields, FinishReason, Ids, Violation, raw};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// More choices than any request may ask for.
const MAX_CHOICES: usize = 128;

/// Reads a stream that came whole.
///
/// # Errors
/// It is no stream of the server's wire, it reports an error, it ends before the reply does, or
/// goes on after its end.
pub(super) fn stream_as_whole(
    exchange: &Exchange,
    ids: &mut Ids,
    body: &[u8],
) -> Result<Reply<'static>, Fault> {
    let about = exchange.about(ids);
    let mut decoder = exchange.wire.decoder(
        crate::wire::About {
            include_usage: true,
            ..about
        },
        body.len(),
    );
    let mut events = Vec::new();
    let framed = decoder.push(body, &mut events);
    let is_clean = framed.is_ok() && decoder.finish(&mut events);
    let mut fold = Fold::default();
    for data in &events {
        match chat::read_event(data) {
            StreamEvent::Done => return fold.reply(true).map_err(Fault::Error),
            StreamEvent::Nothing => {}
            StreamEvent::Error(raw) => return Err(Fault::Error(upstream_error::reported(&raw))),
            StreamEvent::Garbage => {
                let message =
                    "the server sent a stream event that is no JSON, or none of its protocol";
                return Err(Fault::Error(Error::new(Kind::UpstreamBadReply, message)));
            }
            StreamEvent::Chunk(chunk) => fold.chunk(chunk.fields, chunk.choices, ids)?,
        }
    }
    let reply = fold.reply(false).and_then(|reply| match is_clean {
        true => Ok(reply),
        false => Err(cut()),
    });
    reply.map_err(Fault::Error)
}

fn cut() -> Error {
    let message = "the server's stream ended before the reply was complete: what came so far is not the whole answer";
    Error::new(Kind::UpstreamTruncated, message)
}

#[derive(Default)]
struct Fold {
    fields: Option<Fields>,
    usage: Option<Box<RawValue>>,
    choices: BTreeMap<u32, Folded>,
}

#[derive(Default)]
struct Folded {
    fields: Fields,
    message: Fields,
    /// Fields of the message that come in pieces, thinking among them.
    texts: BTreeMap<String, String>,
    deltas: Vec<Delta>,
    calls: OpenCalls,
    logprobs: Vec<Box<RawValue>>,
    finish: Option<FinishReason>,
}

impl Fold {
    fn chunk(
        &mut self,
        mut fields: Fields,
        choices: Vec<ChunkChoice>,
        ids: &mut Ids,
    ) -> Result<(), Fault> {
        let usage = fields.remove("usage").filter(|usage| usage.get() != "null");
        self.usage = usage.or(self.usage.take());
        if self.fields.is_none() {
            fields.set("object", raw("chat.completion"));
            self.fields = Some(fields);
        }
        for choice in choices {
            if self.choices.len() >= MAX_CHOICES && !self.choices.contains_key(&choice.index) {
                let message = format!("the server sent more than {MAX_CHOICES} choices");
                return Err(Fault::Error(Error::new(Kind::UpstreamBadReply, message)));
            }
            self.choices
                .entry(choice.index)
                .or_default()
                .take(choice, ids)
                .map_err(Fault::Violation)?;
        }
        Ok(())
    }

    /// The reply, where it is all there: a server that marks the end need name no reason.
    fn reply(self, is_done: bool) -> Result<Reply<'static>, Error> {
        let is_whole = !self.choices.is_empty()
            && (self.choices.values()).all(|choice| choice.finish.is_some());
        if !is_done && !is_whole {
            return Err(cut());
        }
        let mut fields = self.fields.unwrap_or_default();
        if let Some(usage) = self.usage {
            fields.set("usage", usage);
        }
        let choices = self.choices.into_iter();
        Ok(Reply {
            fields,
            choices: choices
                .map(|(index, folded)| folded.choice(index))
                .collect(),
            verbatim: None,
        })
    }
}

impl Folded {
    fn take(&mut self, choice: ChunkChoice, ids: &mut Ids) -> Result<(), Violation> {
        let index = choice.index;
        if self.finish.is_some() {
            return match choice.has_substance() {
                true => Err(goes_on(index)),
                false => Ok(()),
            };
        }
        for (name, value) in choice.fields.0 {
            match name.as_str() {
                "delta" | "finish_reason" | "index" => {}
                "logprobs" => self.logprobs(&value),
                _ => self.fields.set(&name, value),
            }
        }
        for (name, value) in choice.delta.0 {
            if chat::SAID.contains(&name.as_str()) || value.get() == "null" {
                continue;
            }
            match serde_json::from_str::<String>(value.get()) {
                Ok(text) => self.texts.entry(name).or_default().push_str(&text),
                Err(_) => self.message.set(&name, value),
            }
        }
        if let Some(more) = choice.content.filter(|text| !text.is_empty()) {
            match self.deltas.last_mut() {
                Some(Delta::Text(text)) => text.push_str(&more),
                _ => self.deltas.push(Delta::Text(more)),
            }
        }
        if let Some(more) = choice.refusal.filter(|text| !text.is_empty()) {
            match self.deltas.last_mut() {
                Some(Delta::Refusal(text)) => text.push_str(&more),
                _ => self.deltas.push(Delta::Refusal(more)),
            }
        }
        for piece in choice.calls {
            let stepped = self.calls.step(piece, ids, &mut self.deltas);
            stepped.map_err(|fault| fault.violation(index))?;
        }
        if let Some(reason) = choice.finish {
            if !reason.is_cut() {
                let ended = self.calls.end(&mut self.deltas);
                ended.map_err(|fault| fault.violation(index))?;
            }
            self.finish = Some(reason.without_calls(self.calls.is_empty()));
        }
        Ok(())
    }

    fn logprobs(&mut self, value: &RawValue) {
        let fields: Fields = serde_json::from_str(value.get()).unwrap_or_default();
        let content = fields.raw("content").unwrap_or("[]");
        let content: Vec<Box<RawValue>> = serde_json::from_str(content).unwrap_or_default();
        self.logprobs.extend(content);
    }

    fn choice(mut self, index: u32) -> Choice {
        let finish = self.finish.unwrap_or(FinishReason::Stop);
        self.deltas.push(Delta::Finish(finish));
        self.message.set("role", raw("assistant"));
        for (name, text) in &self.texts {
            self.message.set(name, raw(text));
        }
        if !self.logprobs.is_empty() {
            let mut logprobs = Fields::default();
            logprobs.set("content", raw(&self.logprobs));
            self.fields.set("logprobs", raw(&logprobs));
        }
        Choice {
            index,
            fields: self.fields,
            message: self.message,
            deltas: self.deltas,
        }
    }
}
