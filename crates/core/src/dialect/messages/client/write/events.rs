//! The events of a stream to Anthropic's: each block is opened, told in pieces, and closed before the next.

use super::{END, Message, counts, direct, event, stopped};
use crate::dialect::client::{Terms, Writer};
use crate::dialect::server::Verbatim;
use crate::ir::{Delta, Event, Fields, FinishReason, Seal, Sealed, Signer, Start, Usage, raw};
use crate::json::Braces;
use crate::sse;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Writes a stream.
#[derive(Debug)]
pub(in crate::dialect::messages::client) struct EventWriter {
    terms: Terms,
    start: Start,
    usage: Usage,
    /// `message_start` was written.
    has_begun: bool,
    /// What counts tokens may come with the next chunk.
    awaits_counts: bool,
    /// The only choice that there is.
    choice: Option<u32>,
    open: Option<Open>,
    /// The server's end of a call's block, which is told once nothing can be mended in it any more.
    due: Option<Vec<u8>>,
    /// The kept block is that of a call.
    keeps_call: bool,
    /// The server's events of a text block that says nothing yet: what it says may come as something else, and an empty one Anthropic
    /// does not take back.
    begun: Vec<Vec<u8>>,
    /// Signs the open thought.
    signer: Signer,
    /// What is thought the server told as that; before a server of this wire it is a remark else.
    is_thought: bool,
    /// Who makes the calls that are to come, where the server says it.
    callers: Vec<(u32, Box<RawValue>)>,
    /// What of the open call's input came.
    input: Braces,
    /// What has to wait until the open call is all there: servers may speak in its middle, and a block
    /// that is closed takes no more.
    waiting: VecDeque<Delta>,
    /// How many blocks there were.
    blocks: u32,
    finish: Option<FinishReason>,
    has_calls: bool,
    refuses: bool,
    /// `message_delta` was written.
    has_ended: bool,
}

/// More events of texts that say nothing are not held back.
const MAX_BEGUN: usize = 256;

/// The block that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
    Call(u32),
    /// One of the server's own, whose pieces go out as they come.
    Kept,
}

/// What of a server's event is looked at.
#[derive(Deserialize)]
struct Head<'h> {
    #[serde(borrow)]
    r#type: Cow<'h, str>,
    index: Option<u32>,
    content_block: Option<BlockHead>,
    delta: Option<BlockHead>,
}

#[derive(Deserialize)]
struct BlockHead {
    r#type: Option<String>,
    text: Option<String>,
}

impl Head<'_> {
    /// Whether a text begins that says nothing yet.
    fn begins_text(&self) -> bool {
        let block = self.content_block.as_ref();
        block.is_some_and(|block| {
            block.r#type.as_deref() == Some("text") && block.text.as_deref() == Some("")
        })
    }

    /// Whether it goes with a text that says nothing yet: its sources, blanks, its end.
    fn says_nothing(&self) -> bool {
        let is_blank = |delta: &BlockHead| match delta.r#type.as_deref() {
            Some("citations_delta") => true,
            Some("text_delta") => (delta.text.as_ref()).is_some_and(|it| it.trim().is_empty()),
            _ => false,
        };
        match self.r#type.as_ref() {
            "content_block_stop" | "ping" => true,
            "content_block_delta" => self.delta.as_ref().is_some_and(is_blank),
            _ => self.begins_text(),
        }
    }
}

#[derive(Serialize)]
struct Piece<'p, D> {
    r#type: &'static str,
    index: u32,
    delta: &'p D,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum More<'m> {
    #[serde(rename = "text_delta")]
    Text { text: &'m str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'m str },
    #[serde(rename = "signature_delta")]
    Signature { signature: &'m str },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: &'m str },
}

impl EventWriter {
    pub(in crate::dialect::messages::client) fn new(terms: Terms) -> Self {
        Self {
            signer: terms.seal.signer(),
            is_thought: false,
            awaits_counts: terms.counts_first,
            terms,
            start: Start::default(),
            usage: Usage::default(),
            has_begun: false,
            choice: None,
            open: None,
            due: None,
            keeps_call: false,
            begun: Vec::new(),
            callers: Vec::new(),
            input: Braces::default(),
            waiting: VecDeque::new(),
            blocks: 0,
            finish: None,
            has_calls: false,
            refuses: false,
            has_ended: false,
        }
    }

    fn take(&mut self, event: Event, out: &mut Vec<u8>) {
        if let Some(choice) = event.choice() {
            // Several were not asked for.
            if *self.choice.get_or_insert(choice) != choice {
                return;
            }
        }
        match event {
            Event::Start(start) => self.start.update(start),
            Event::Usage(usage) => {
                self.usage = usage;
                if self.choice.is_some() {
                    self.begin(out);
                }
            }
            // SGLang counts from its second chunk on, which is about to come.
            Event::Choice { .. } if self.awaits_counts && self.usage.prompt == 0 => {
                self.awaits_counts = false;
            }
            Event::Choice { .. } => self.begin(out),
            Event::Reasoning { text, .. } => {
                self.is_thought = true;
                self.delta(Delta::Reasoning(text), out);
            }
            Event::Sealed {
                sealed: Sealed::Thinking(block),
                ..
            } => self.seal(&block, out),
            Event::Delta { delta, .. } => {
                self.is_thought &= !matches!(delta, Delta::Reasoning(_));
                self.delta(delta, out);
            }
            Event::OfCall { call, own, .. } => {
                let caller = own.0.get("caller").cloned();
                self.callers.extend(caller.map(|caller| (call, caller)));
            }
            Event::Sealed { .. }
            | Event::Logprobs { .. }
            | Event::NoCall { .. }
            | Event::Own { .. }
            | Event::Done
            | Event::Error(_)
            | Event::Hosted { .. }
            | Event::Aside { .. }
            | Event::Part { .. }
            | Event::Garbage => {}
        }
    }

    /// Passes an event of the server's on, as soon as it is known that it says something.
    fn keep(&mut self, head: &Head<'_>, data: &[u8], out: &mut Vec<u8>) {
        let is_begun = !self.begun.is_empty() && self.begun.len() < MAX_BEGUN;
        if head.begins_text() && self.begun.is_empty() || is_begun && head.says_nothing() {
            self.begun.push(data.to_vec());
        } else {
            self.keep_begun(head.r#type == "content_block_delta", out);
            self.pass(head, data, out);
        }
    }

    /// Passes on what was held back of texts; not where they end without a word: what they said was told as something else.
    fn keep_begun(&mut self, goes_on: bool, out: &mut Vec<u8>) {
        let begun = std::mem::take(&mut self.begun);
        let says = |data: &Vec<u8>| memchr::memmem::find(data, b"\"text_delta\"").is_some();
        if !goes_on && !begun.iter().any(says) {
            return;
        }
        for data in begun {
            if let Ok(head) = serde_json::from_slice(&data) {
                self.pass(&head, &data, out);
            }
        }
    }

    /// Passes an event of the server's on. Blocks are numbered as they are written: that which came before
    /// may have been left out, or be ours.
    fn pass(&mut self, head: &Head<'_>, data: &[u8], out: &mut Vec<u8>) {
        match head.r#type.as_ref() {
            "message_start" if std::mem::replace(&mut self.has_begun, true) => return,
            "content_block_start" => {
                self.begin(out);
                self.close(out);
                self.open = Some(Open::Kept);
                self.keeps_call = memchr::memmem::find(data, b"\"tool_use\"").is_some();
            }
            "content_block_delta" | "content_block_stop" if self.open.is_none() => return,
            "message_delta" => {
                self.begin(out);
                self.close(out);
                self.has_ended = true;
            }
            _ => {}
        }
        let index = head.index.filter(|index| *index != self.blocks);
        let moved = index.and_then(|_| {
            let mut fields: Fields = serde_json::from_slice(data).ok()?;
            fields.set("index", raw(&self.blocks));
            Some(fields.to_json())
        });
        let data = moved.as_deref().unwrap_or(data);
        let is_call = self.keeps_call || matches!(self.open, Some(Open::Call(_)));
        if head.r#type == "content_block_stop" && is_call {
            self.due = Some(data.to_vec());
            return;
        }
        event(&head.r#type, data, out);
        if head.r#type == "content_block_stop" {
            self.open = None;
            self.blocks += 1;
        }
    }

    /// Remembers what was passed on.
    fn note(&mut self, event: Event) {
        match event {
            Event::Start(start) => self.start.update(start),
            Event::Usage(usage) => self.usage = usage,
            Event::Delta {
                delta: Delta::Finish(reason),
                ..
            } => self.finish = Some(reason),
            _ => {}
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let message = Message::begun(&self.terms, &self.start, self.usage);
        write(
            "message_start",
            &json!({"type": "message_start", "message": message}),
            out,
        );
    }

    fn delta(&mut self, delta: Delta, out: &mut Vec<u8>) {
        let is_end = matches!(delta, Delta::Finish(_));
        let is_of_open = |call: u32| self.open == Some(Open::Call(call));
        match &delta {
            Delta::CallInput { call, .. } if is_of_open(*call) => self.step(delta, out),
            _ if is_end || (self.waiting.is_empty() && !self.is_amid_call()) => {
                self.go_on(is_end, out);
                self.step(delta, out);
                return;
            }
            _ => self.waiting.push_back(delta),
        }
        self.go_on(false, out);
    }

    /// Tells what waits as far as it need not wait any more; all of it at the end.
    fn go_on(&mut self, is_end: bool, out: &mut Vec<u8>) {
        while !self.waiting.is_empty() {
            let is_next = |delta: &Delta| match delta {
                Delta::CallInput { call, .. } => self.open == Some(Open::Call(*call)),
                _ => false,
            };
            let next = match self.is_amid_call() {
                true => self.waiting.iter().position(is_next),
                false => Some(0),
            };
            match next.and_then(|next| self.waiting.remove(next)) {
                Some(delta) => self.step(delta, out),
                None if is_end => self.close(out),
                None => return,
            }
        }
    }

    /// Whether a call is open of which more has to come.
    fn is_amid_call(&self) -> bool {
        matches!(self.open, Some(Open::Call(_))) && !self.input.is_whole()
    }

    fn step(&mut self, delta: Delta, out: &mut Vec<u8>) {
        match delta {
            Delta::Text(text) => self.say(&text, out),
            Delta::Refusal(text) => {
                self.refuses = true;
                self.say(&text, out);
            }
            Delta::Reasoning(text) => self.think(&text, out),
            Delta::CallStart { call, id, name, .. } => {
                self.has_calls = true;
                self.input = Braces::default();
                let mut block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                if let Some(caller) = self.caller(call) {
                    block["caller"] = caller;
                }
                self.open(Open::Call(call), &block, out);
            }
            Delta::CallInput { text, .. } => {
                self.input.take(&text);
                self.more(
                    &More::Input {
                        partial_json: &text,
                    },
                    out,
                );
            }
            Delta::Finish(reason) => {
                self.begin(out);
                // Cut before its arguments began: nobody is to take them for none.
                if reason.is_cut()
                    && matches!(self.open, Some(Open::Call(_)))
                    && self.input.is_empty()
                {
                    let partial_json = "{";
                    self.more(&More::Input { partial_json }, out);
                }
                self.close(out);
                self.finish = Some(reason);
            }
        }
    }

    /// Who makes a call: whom the server names, else the model.
    fn caller(&mut self, call: u32) -> Option<Value> {
        let known = self.callers.iter().position(|known| known.0 == call);
        match known.map(|at| self.callers.swap_remove(at).1) {
            Some(caller) => Some(json!(caller)),
            None => direct(&self.terms),
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<u8>) {
        if self.open != Some(Open::Text) {
            let block = json!({"type": "text", "text": "", "citations": []});
            self.open(Open::Text, &block, out);
        }
        self.more(&More::Text { text }, out);
    }

    fn think(&mut self, thinking: &str, out: &mut Vec<u8>) {
        if self.open != Some(Open::Thinking) {
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            self.open(Open::Thinking, &block, out);
            self.signer = match self.terms.keeps_bytes && !self.is_thought {
                true => self.terms.seal.remark_signer(),
                false => self.terms.seal.signer(),
            };
        }
        self.signer.take(thinking);
        self.more(&More::Thinking { thinking }, out);
    }

    /// The signature of the thought that was just told, or a block of its own.
    fn seal(&mut self, block: &RawValue, out: &mut Vec<u8>) {
        let Ok(block) = crate::json::value(block.get()) else {
            return;
        };
        match block["signature"].as_str() {
            Some(signature) if self.signs_open(signature) => {
                self.more(&More::Signature { signature }, out);
                self.end_block(out);
            }
            // Some SDKs read a thought's signature where it comes as a delta alone (@ai-sdk/anthropic).
            Some(signature) => {
                let mut bare = block.clone();
                bare["signature"] = json!("");
                self.open(Open::Kept, &bare, out);
                self.more(&More::Signature { signature }, out);
                self.end_block(out);
            }
            None => {
                self.open(Open::Kept, &block, out);
                self.end_block(out);
            }
        }
    }

    /// Whether a signature is that of the thought which is open.
    fn signs_open(&self, signature: &str) -> bool {
        self.open == Some(Open::Thinking) && !signature.starts_with(Seal::kept_mark())
    }

    fn open(&mut self, open: Open, block: &Value, out: &mut Vec<u8>) {
        self.begun.clear();
        self.begin(out);
        self.close(out);
        let start =
            json!({"type": "content_block_start", "index": self.blocks, "content_block": block});
        write("content_block_start", &start, out);
        self.open = Some(open);
    }

    fn more(&self, delta: &More<'_>, out: &mut Vec<u8>) {
        let piece = Piece {
            r#type: "content_block_delta",
            index: self.blocks,
            delta,
        };
        write("content_block_delta", &piece, out);
    }

    /// Closes the block that is open; a thought that nobody signed is signed here.
    fn close(&mut self, out: &mut Vec<u8>) {
        if self.open == Some(Open::Thinking) {
            let signature = self.signer.signature();
            let signature = signature.as_str();
            self.more(&More::Signature { signature }, out);
        }
        if self.open.is_some() {
            self.end_block(out);
        }
    }

    fn end_block(&mut self, out: &mut Vec<u8>) {
        self.keeps_call = false;
        match self.due.take() {
            Some(stop) => event("content_block_stop", &stop, out),
            None => {
                let stop = json!({"type": "content_block_stop", "index": self.blocks});
                write("content_block_stop", &stop, out);
            }
        }
        self.open = None;
        self.blocks += 1;
    }
}

fn write<T: Serialize + ?Sized>(name: &str, data: &T, out: &mut Vec<u8>) {
    event(name, &serde_json::to_vec(data).unwrap_or_default(), out);
}

impl Writer for EventWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        if let Some(verbatim) = verbatim.filter(|_| self.terms.keeps_bytes)
            && let Ok(head) = serde_json::from_slice(verbatim.as_bytes())
        {
            self.keep(&head, verbatim.as_bytes(), out);
            events.drain(..).for_each(|event| self.note(event));
            return;
        }
        for event in events.drain(..) {
            self.take(event, out);
        }
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        self.keep_begun(false, out);
        if self.has_ended {
            if let Some(note) = note {
                sse::comment(note, out);
            }
            out.extend_from_slice(END);
            return;
        }
        self.begin(out);
        self.close(out);
        let (reason, text) = stopped(self.finish.as_ref(), self.has_calls, self.refuses);
        let end = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": text, "stop_details": null, "container": null},
            "usage": counts(self.usage),
        });
        write("message_delta", &end, out);
        if let Some(note) = note {
            sse::comment(note, out);
        }
        out.extend_from_slice(END);
    }
}
