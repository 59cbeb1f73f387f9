//! The events of a reply to what clients of Responses read: one object, or the events that build it up.
//!
//! What real clients need was measured: every item has its id, its status and its place, every event its number; the
//! last event repeats the whole output.

mod begun;
mod compaction;
mod output;
mod own;
pub(in crate::dialect::responses) mod sealed;
mod sound;
mod theirs;
mod told;
mod waiting;

use super::echo;
use super::names::Names;
use crate::dialect::client::{Terms, Writer};
use crate::dialect::server::Verbatim;
use crate::error::Error;
use crate::ir::{Choice, Delta, Event, Fields, FinishReason, Reply, Sealed, Start, Usage, raw};
use crate::sse;
use begun::{Begun, Later};
use output::{Body, Call, Item, Part, PartKind, Status};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::mem;
use std::time::Duration;
use told::{Teller, Told};
use waiting::Said;

/// The last member of the object in the last event, and of no object before it.
pub(super) const END_MARK: &[u8] = b"\"error\":null}}";

/// A whole reply: what a stream would have said of it.
pub(super) fn whole(terms: &Terms, reply: &Reply) -> Vec<u8> {
    if terms.keeps_bytes && own::says_the_same(reply) && sound::is_response(reply) {
        return reply.own.to_json();
    }
    whole_fields(terms, reply).to_json()
}

/// Its members.
pub(super) fn whole_fields(terms: &Terms, reply: &Reply) -> Fields {
    let mut writer = EventWriter::new(terms.clone());
    let mut teller = Teller::silent();
    match reply.own.has("output") {
        true => writer.retell(reply, &mut teller),
        false => writer.take(reply, &mut teller),
    }
    writer.close(&mut teller);
    writer.response(true)
}

/// Writes a stream.
#[derive(Debug)]
pub(super) struct EventWriter {
    terms: Terms,
    /// The fields that are the request's.
    echo: Fields,
    names: Names,
    start: Start,
    usage: Option<Usage>,
    items: Vec<Item>,
    finish: Option<FinishReason>,
    /// Of text that is still to come.
    logprobs: Vec<Box<RawValue>>,
    has_begun: bool,
    /// The server's own object, where it is of this wire.
    base: Option<Fields>,
    /// Messages of such a server's of which nothing was told yet.
    begun: Vec<Begun>,
    /// What was said behind them.
    later: Later,
    /// The id of the item that opens next, where the server gave it one.
    next_id: Option<String>,
    /// Thoughts are told as their own summary.
    sums_up: bool,
    /// They come in `encrypted_content` as well, which the client sends back.
    keeps_thoughts: bool,
    /// A summary of the conversation is asked for: what came of it.
    summary: Option<String>,
    /// What was said behind a call that is not over.
    waiting: Vec<Said>,
    /// Signatures of the text that is open.
    late: Vec<Sealed>,
    /// Unix seconds, as far as that is known.
    now: Option<u64>,
    /// The number of the next event.
    next: u64,
}

impl EventWriter {
    pub(super) fn new(terms: Terms) -> Self {
        let mut echo = terms.echo.as_deref().cloned().unwrap_or_default();
        Self {
            names: Names::take(&mut echo),
            sums_up: echo::wants_summary(&echo),
            keeps_thoughts: echo::takes_thoughts(&mut echo),
            summary: echo::compacts(&mut echo).then(String::new),
            echo,
            terms,
            start: Start::default(),
            usage: None,
            items: Vec::new(),
            finish: None,
            logprobs: Vec::new(),
            has_begun: false,
            base: None,
            begun: Vec::new(),
            later: Later::default(),
            next_id: None,
            waiting: Vec::new(),
            late: Vec::new(),
            now: None,
            next: 0,
        }
    }

    /// The id of this reply, without what it begins with.
    fn seed(&self) -> String {
        let id = self.terms.ids.reply();
        id.rsplit('-').next().unwrap_or_default().to_owned()
    }

    /// The whole object, as far as it is known.
    fn response(&self, is_over: bool) -> Fields {
        if let Some(base) = &self.base {
            let mut base = base.clone();
            sound::settle(&mut base, &self.ours(is_over));
            return self.completed(base, is_over);
        }
        self.ours(is_over)
    }

    /// The same without what the server says of it by itself.
    fn ours(&self, is_over: bool) -> Fields {
        let mut fields = Fields::default();
        let details = sound::details(self.finish.as_ref()).filter(|_| is_over);
        let status = match (is_over, &details) {
            (false, _) => Status::InProgress,
            (true, None) => Status::Completed,
            (true, Some(_)) => Status::Incomplete,
        };
        let created = self
            .start
            .created
            .unwrap_or_else(|| self.terms.ids.created());
        fields.set("id", raw(&format!("resp_{}", self.seed())));
        fields.set("object", raw("response"));
        fields.set("created_at", raw(&created));
        fields.set("status", raw(status.as_str()));
        if !is_over {
            fields.set("error", raw(&Value::Null));
        }
        fields.set("incomplete_details", raw(&details));
        let model = self.start.model.as_deref().unwrap_or(&self.terms.model);
        fields.set("model", raw(model));
        let output: Vec<Value> = match is_over {
            true => self.items.iter().map(Item::json).collect(),
            false => Vec::new(),
        };
        fields.set("output", raw(&output));
        for (name, value) in &self.echo.0 {
            fields.set(name, value.clone());
        }
        // The ids are as old as the first that was heard of the reply; of one that came whole, that is all.
        let completed = self.now.unwrap_or_else(|| self.terms.ids.created());
        let completed = (status == Status::Completed).then_some(completed.max(created));
        fields.set("completed_at", raw(&completed));
        fields.set("usage", raw(&self.usage.filter(|_| is_over).map(counts)));
        if is_over {
            fields.set("error", raw(&Value::Null));
        }
        fields
    }

    fn begin(&mut self, teller: &mut Teller<'_>) {
        if mem::replace(&mut self.has_begun, true) || teller.is_silent() {
            return;
        }
        let response = self.response(false);
        teller.tell("response.created", Told::response(&response));
        teller.tell("response.in_progress", Told::response(&response));
    }

    /// What more is known.
    fn take(&mut self, reply: &Reply, teller: &mut Teller<'_>) {
        self.start.update(reply.start.clone());
        self.usage = reply.usage.or(self.usage);
        self.begin(teller);
        // One was asked for.
        for choice in reply.choices.iter().filter(|choice| choice.index == 0) {
            match self.compacts() {
                true => self.compact(choice, teller),
                false => self.choice(choice, teller),
            }
        }
    }

    fn choice(&mut self, choice: &Choice, teller: &mut Teller<'_>) {
        self.logprobs.extend(choice.logprobs.iter().cloned());
        self.think(&choice.reasoning, teller);
        for (at, delta) in choice.deltas.iter().enumerate() {
            self.seal_at(choice, at, teller);
            match delta {
                Delta::Text(text) => self.say(PartKind::Text, text, teller),
                Delta::Refusal(text) => self.say(PartKind::Refusal, text, teller),
                Delta::Reasoning(text) => self.remark(text, teller),
                Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                } => {
                    self.forget_begun(teller);
                    self.say_waiting(teller);
                    self.seal_late(teller);
                    let call = Call::new(*call, id.clone(), name, *kind, &self.names);
                    self.open(Body::Call(call), teller);
                }
                Delta::CallInput { call, text, .. } => self.input(*call, text, teller),
                Delta::Finish(reason) => {
                    self.finish = Some(reason.clone());
                    self.close(teller);
                }
            }
        }
        self.seal_at(choice, choice.deltas.len(), teller);
    }

    /// Seals what stands behind so many of the deltas.
    fn seal_at(&mut self, choice: &Choice, deltas: usize, teller: &mut Teller<'_>) {
        let sealed = choice.sealed_behind(deltas);
        if !sealed.is_empty() && !self.waits(|| Said::Sealed(sealed.clone())) {
            self.seal_behind(&sealed, teller);
        }
    }

    /// Begins an item. What was said before it is over, and where it is a call so are the calls before it, which were verified when it
    /// began: programs keep one item open (agno, llama-index).
    fn open(&mut self, body: Body, teller: &mut Teller<'_>) -> usize {
        let last = self.items.len().checked_sub(1);
        for place in 0..self.items.len() {
            let item = &self.items[place];
            let is_over = match item.body {
                Body::Call(_) => matches!(body, Body::Call(_)),
                // What the server opened it closes, unless it forgets.
                Body::Theirs(_) => false,
                Body::Message(_) | Body::Reasoning { .. } => Some(place) == last,
            };
            if is_over {
                let status = item.ended.unwrap_or(Status::Completed);
                self.end(place, status, teller);
            }
        }
        let place = self.items.len();
        let id = self.next_id.take();
        let id = id.unwrap_or_else(|| format!("{}_{}{place:04x}", body.prefix(), self.seed()));
        self.items.push(Item::new(id, body));
        if !self.items[place].is_own() {
            teller.item("response.output_item.added", place, &self.items[place]);
        }
        place
    }

    /// The last item, where it is still open.
    fn last(&self) -> Option<(usize, &Item)> {
        let place = self.items.len().checked_sub(1)?;
        let item = self.items.get(place)?;
        let is_open = item.status == Status::InProgress && item.ended.is_none();
        is_open.then_some((place, item))
    }

    fn say(&mut self, kind: PartKind, text: &str, teller: &mut Teller<'_>) {
        if text.is_empty() {
            return;
        }
        let logprobs = match kind {
            PartKind::Text => mem::take(&mut self.logprobs),
            PartKind::Refusal => Vec::new(),
        };
        if self.waits(|| Said::Part(kind, text.to_owned(), logprobs.clone())) {
            return;
        }
        self.add(kind, text, logprobs, teller);
    }

    fn add(
        &mut self,
        kind: PartKind,
        text: &str,
        logprobs: Vec<Box<RawValue>>,
        teller: &mut Teller<'_>,
    ) {
        let open = self.items.len().checked_sub(1);
        let open = open.filter(|place| self.begun.is_empty() && self.items[*place].is_message());
        let (place, behind) = match open {
            Some(place) => (place, Vec::new()),
            None => self.begin_message(teller),
        };
        self.add_to(place, kind, text, logprobs, teller);
        behind
            .into_iter()
            .for_each(|event| self.tell_theirs(event, teller));
    }

    fn add_to(
        &mut self,
        place: usize,
        kind: PartKind,
        text: &str,
        logprobs: Vec<Box<RawValue>>,
        teller: &mut Teller<'_>,
    ) {
        let Item { id, body, .. } = &mut self.items[place];
        let Body::Message(parts) = body else {
            return;
        };
        if parts.last().is_none_or(|part| part.kind != kind) {
            if let Some(part) = parts.last() {
                teller.part_done(id, place, parts.len() - 1, part);
            }
            let part = Part {
                kind,
                text: String::new(),
                logprobs: Vec::new(),
            };
            teller.part(
                "response.content_part.added",
                id,
                place,
                parts.len(),
                &part.json(),
            );
            parts.push(part);
        }
        let content = parts.len() - 1;
        if let Some(part) = parts.last_mut() {
            teller.said(id, place, content, kind, text, &logprobs);
            part.text.push_str(text);
            part.logprobs.extend(logprobs);
        }
    }

    fn think(&mut self, text: &str, teller: &mut Teller<'_>) {
        if text.is_empty() || self.waits(|| Said::Thought(text.to_owned())) {
            return;
        }
        let place = self.thoughts(teller);
        self.think_more(place, text, teller);
    }

    fn think_more(&mut self, place: usize, text: &str, teller: &mut Teller<'_>) {
        let Item { id, body, .. } = &mut self.items[place];
        let Body::Reasoning {
            text: known,
            is_summary,
            ..
        } = body
        else {
            return;
        };
        if known.is_empty() {
            teller.thinks(id, place, *is_summary);
        }
        known.push_str(text);
        teller.thought(id, place, *is_summary, text);
    }

    /// The item of thoughts that is open, or a new one.
    fn thoughts(&mut self, teller: &mut Teller<'_>) -> usize {
        let open = self.last();
        let open = open.filter(|(_, item)| matches!(item.body, Body::Reasoning { .. }));
        match open.map(|(place, _)| place) {
            Some(place) => place,
            None => {
                let body = Body::Reasoning {
                    text: String::new(),
                    sealed: Vec::new(),
                    is_summary: self.sums_up,
                    is_kept: self.keeps_thoughts,
                    remark: None,
                };
                self.open(body, teller)
            }
        }
    }

    /// The same, but for signatures of a text that may go on: Gemini signs pieces of one, and two messages would be two answers.
    fn seal_behind(&mut self, sealed: &[Sealed], teller: &mut Teller<'_>) {
        let is_text = |(_, item): (usize, &Item)| matches!(item.body, Body::Message(_));
        if !self.last().is_some_and(is_text) {
            return self.seal(sealed, teller);
        }
        let is_signature = |sealed: &Sealed| matches!(sealed, Sealed::Signature(_));
        let (late, now): (Vec<_>, Vec<_>) = sealed.iter().cloned().partition(is_signature);
        self.late.extend(late);
        if !now.is_empty() {
            self.seal(&now, teller);
        }
    }

    /// Tells the signatures of a text that is over.
    fn seal_late(&mut self, teller: &mut Teller<'_>) {
        let late = mem::take(&mut self.late);
        if !late.is_empty() {
            self.seal(&late, teller);
        }
    }

    fn seal(&mut self, sealed: &[Sealed], teller: &mut Teller<'_>) {
        let place = self.thoughts(teller);
        if let Body::Reasoning { sealed: known, .. } = &mut self.items[place].body {
            known.extend(sealed.iter().cloned());
        }
    }

    fn input(&mut self, index: u32, text: &str, teller: &mut Teller<'_>) {
        let is_it = |item: &Item| matches!(&item.body, Body::Call(call) if call.index == index);
        let Some(place) = self.items.iter().rposition(is_it) else {
            return;
        };
        let Item { id, body, .. } = &mut self.items[place];
        if let Body::Call(call) = body
            && !text.is_empty()
        {
            call.input.push_str(text);
            // One of a tool of OpenAI's own is told as a whole: no half of it is an action.
            if call.own.is_none() {
                teller.input(id, place, call.kind, text);
            }
        }
    }

    /// Ends what is open. Where the reply was cut, the last item is not whole.
    fn close(&mut self, teller: &mut Teller<'_>) {
        self.forget_begun(teller);
        self.say_waiting(teller);
        self.seal_late(teller);
        let is_cut = self.finish.as_ref().is_some_and(FinishReason::is_cut);
        if is_cut {
            self.leave_out_halves();
        }
        for place in 0..self.items.len() {
            let is_last = place + 1 == self.items.len();
            let status = match is_cut && is_last {
                true => Status::Incomplete,
                false => Status::Completed,
            };
            let status = self.items[place].ended.unwrap_or(status);
            self.end(place, status, teller);
        }
    }

    /// Calls of OpenAI's own tools that the end of the reply cut are no action: nothing is told of them.
    fn leave_out_halves(&mut self) {
        self.items
            .retain(|item| item.status != Status::InProgress || !item.is_half());
    }

    fn end(&mut self, place: usize, status: Status, teller: &mut Teller<'_>) {
        let item = &mut self.items[place];
        if item.status != Status::InProgress {
            return;
        }
        if item.is_own() {
            teller.item("response.output_item.added", place, item);
        }
        item.status = status;
        teller.item_done(place, item);
    }
}

fn counts(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.prompt,
        // No server tells how many it wrote; the SDK's type has it (openai-python 3.57).
        "input_tokens_details": {"cached_tokens": usage.cached.unwrap_or(0), "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning.unwrap_or(0)},
        "total_tokens": usage.prompt.saturating_add(usage.completion),
    })
}

impl Writer for EventWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        _verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        let mut teller = Teller::new(self.next, out);
        let mut said = Vec::new();
        for event in events.drain(..) {
            match event {
                // What it is about is told before and after it.
                Event::Own { of, fields } => {
                    if !said.is_empty() {
                        self.take(&Reply::fold(said.drain(..)), &mut teller);
                    }
                    self.theirs(of, &fields, &mut teller);
                }
                event => said.push(event),
            }
        }
        self.take(&Reply::fold(said), &mut teller);
        self.next = teller.next();
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        if let Some(note) = note {
            sse::comment(note, out);
        }
        let mut teller = Teller::new(self.next, out);
        self.begin(&mut teller);
        self.close(&mut teller);
        let response = self.response(true);
        let kind = match response.raw("status") {
            Some("\"incomplete\"") => "response.incomplete",
            _ => "response.completed",
        };
        teller.tell(kind, Told::response(&response));
        self.next = teller.next();
    }

    fn now(&mut self, since_epoch: Duration) {
        self.now = Some(since_epoch.as_secs());
    }

    fn kept(&self) -> Option<Vec<u8>> {
        let response = self.response(true);
        (response.raw("store") == Some("true")).then(|| response.to_json())
    }

    fn fail(&mut self, error: &Error, out: &mut Vec<u8>) -> bool {
        let mut teller = Teller::new(self.next, out);
        // What was not told is none of it.
        self.items
            .retain(|item| !item.is_own() || item.status != Status::InProgress);
        // Some clients know the one, some the other.
        teller.error(error);
        let mut response = self.response(true);
        response.set("status", raw("failed"));
        response.set("completed_at", raw(&Value::Null));
        response.set("incomplete_details", raw(&Value::Null));
        response.set("error", raw(&super::error::failed(error)));
        teller.tell("response.failed", Told::response(&response));
        self.next = teller.next();
        true
    }
}
