//! Replies in Chat's shape, by the face that the proxy turns to its clients too.

use super::Head;
use super::wire::UsageWire;
use crate::job::Finish;
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::dialect::client::{Client, Terms, Writer};
use isogloss_core::ir::{
    Choice, Delta, Event, Fields, FinishReason, Ids, Of, Reply, Seal, raw, raw_string,
};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Of which nothing is left open: the head says all.
fn terms(head: &Head) -> Terms {
    Terms {
        ids: Ids::new(0),
        model: head.model.clone(),
        legacy_functions: false,
        include_usage: head.include_usage,
        keeps_counts: false,
        counts_first: false,
        keeps_bytes: true,
        seal: Seal::default(),
        echo: None,
    }
}

fn own(head: &Head, object: &str) -> Fields {
    let mut own = Fields::default();
    own.set("id", raw(&head.id));
    own.set("object", raw(object));
    own.set("created", raw(&head.created));
    own.set("model", raw(&head.model));
    own.set("system_fingerprint", raw(&head.fingerprint));
    own.set("choices", raw_string("[]".to_owned()));
    own
}

fn event(choice: usize, delta: Delta) -> Event {
    let choice = u32::try_from(choice).unwrap_or(u32::MAX);
    Event::Delta { choice, delta }
}

pub(super) const fn finish(reason: Finish) -> Delta {
    Delta::Finish(match reason {
        Finish::Stop => FinishReason::Stop,
        Finish::Length => FinishReason::Length,
    })
}

/// A stream.
#[derive(Debug)]
pub(super) struct Chunks {
    writer: Box<dyn Writer>,
    own: Arc<Fields>,
    /// What the next chunk tells.
    counted: Option<UsageWire>,
}

impl Chunks {
    pub(super) fn new(head: &Head) -> Self {
        let mut own = own(head, "chat.completion.chunk");
        if head.include_usage {
            // OpenAI's chunks before the last have it as null.
            own.set("usage", RawValue::NULL.to_owned());
        }
        Self {
            writer: Chat.writer(terms(head)),
            own: Arc::new(own),
            counted: None,
        }
    }

    /// The first chunk of a choice: its role, and a text that is empty yet.
    pub(super) fn begin(&mut self, index: usize, out: &mut Vec<u8>) {
        let deltas = vec![Delta::Text(String::new())];
        self.say(index, deltas, Vec::new(), out);
    }

    /// The next chunk tells this.
    pub(super) const fn counts(&mut self, usage: UsageWire) {
        self.counted = Some(usage);
    }

    pub(super) fn say(
        &mut self,
        index: usize,
        mut deltas: Vec<Delta>,
        logprobs: Vec<Box<RawValue>>,
        out: &mut Vec<u8>,
    ) {
        if deltas.is_empty() {
            // A token without a text of its own: there is no other chunk for what is told of it.
            deltas.push(Delta::Text(String::new()));
        }
        let fields = match self.counted.take() {
            None => Arc::clone(&self.own),
            Some(usage) => self.counting(&usage),
        };
        let of = Of::Reply;
        let mut events = vec![Event::Own { of, fields }];
        if !logprobs.is_empty() {
            events.push(Event::Logprobs {
                choice: u32::try_from(index).unwrap_or(u32::MAX),
                tokens: logprobs,
            });
        }
        events.extend(deltas.into_iter().map(|delta| event(index, delta)));
        self.writer.write(&mut events, None, out);
    }

    pub(super) fn end(&mut self, usage: UsageWire, out: &mut Vec<u8>) {
        let fields = self.counting(&usage);
        let of = Of::Reply;
        let mut events = vec![Event::Own { of, fields }];
        self.writer.write(&mut events, None, out);
        self.writer.end(None, out);
    }

    fn counting(&self, usage: &UsageWire) -> Arc<Fields> {
        let mut fields = self.own.as_ref().clone();
        fields.set("usage", raw(usage));
        Arc::new(fields)
    }
}

/// One body: of each choice its deltas, the finish among them, and its log probabilities.
pub(super) fn whole(
    head: &Head,
    choices: Vec<(Vec<Delta>, Vec<Box<RawValue>>)>,
    usage: UsageWire,
) -> Vec<u8> {
    let mut own = own(head, "chat.completion");
    own.set("usage", raw(&usage));
    let choices = (0..).zip(choices);
    let mut unasked = Fields::default();
    unasked.set("logprobs", RawValue::NULL.to_owned());
    let unasked = Arc::new(unasked);
    let reply = Reply {
        own: Arc::new(own),
        choices: choices
            .map(|(index, (deltas, logprobs))| Choice {
                index,
                own: match logprobs.is_empty() {
                    true => Arc::clone(&unasked),
                    false => Arc::default(),
                },
                deltas: deltas.into(),
                logprobs,
                ..Choice::default()
            })
            .collect(),
        ..Reply::default()
    };
    Chat.whole(&terms(head), &reply)
}
