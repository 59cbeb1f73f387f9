//! A streamed reply, event by event: framing, reading, rewrapping, verifying, writing.
//!
//! Nothing is written before the first byte of substance has passed verification, so that a reply
//! that goes wrong at once still gets a status code, or is asked for again.

use super::all_content::AllContent;
use super::beside::{Doubted, Told};
use super::choice::{Came, ChoiceStream};
use super::flow::ChoiceFlow;
use super::lone_thoughts::LoneThoughts;
use super::repeated::Repeated;
use super::{
    End, Exchange, Fault, MAX_CHOICES, WayBack, context, cut, garbage, lesson, no_call,
    too_few_choices, too_many_choices, unfold, upstream_error,
};
use crate::dialect::client::{Writer, in_words_of};
use crate::dialect::server::{Frame, KEPT_EVENTS, ServerStream, Verbatim};
use crate::error::{Error, Kind};
use crate::ir::{ByChoice, Delta, Event, Ids, Repairs, Violation};
use crate::verify::Checks;
use std::sync::Arc;
use std::time::Duration;

/// More than this is not held back: text before a call is rarely longer.
const MAX_HELD_BYTES: usize = 1 << 20;
/// What an event of a server says is rarely more; as many are kept room for as long as a stream is open.
const USUAL: usize = 2;

/// Translates a streamed reply.
#[derive(Debug)]
pub struct StreamTranslator {
    terms: WayBack,
    checks: Arc<Checks>,
    ids: Ids,
    server: ServerStream,
    choices: ByChoice<ChoiceStream>,
    /// What the reply begins with although the client has it already.
    repeated: Option<Box<Repeated>>,
    /// Where thoughts may be the answer.
    thoughts: Option<Box<Thoughts>>,
    writer: Box<dyn Writer>,
    /// Client events without substance that wait for the first one with.
    held: Vec<u8>,
    /// Something was written: nothing is held back any more.
    sent: bool,
    stage: Life,
    /// Empty; kept for their memory.
    data: Vec<Vec<u8>>,
    events: Vec<Event>,
    deltas: Vec<Delta>,
}

/// Thoughts that may be the answer.
#[derive(Debug)]
enum Thoughts {
    /// Its constraint holds from the first token on.
    All(AllContent),
    /// Where nothing else comes.
    Lone(LoneThoughts),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Before the end mark.
    Open,
    /// The end mark was written.
    Done,
    /// A fault ended the stream.
    Failed,
}

/// What a frame is to the client.
#[derive(Default)]
struct ClientFrame<'f> {
    events: Vec<Event>,
    /// What is told before it, of frames that waited for it.
    before: Vec<Event>,
    /// The bytes, as long as nothing that they say is left out.
    verbatim: Option<Verbatim<'f>>,
    /// It is worth opening the reply for.
    has_substance: bool,
}

impl ClientFrame<'_> {
    /// Tells what earlier frames said, in front of one that goes out as it is.
    fn tell(&mut self, event: Event) {
        match self.verbatim {
            Some(_) => self.before.push(event),
            None => self.events.push(event),
        }
    }
}

impl StreamTranslator {
    /// A translator for one reply. `event_bytes` bounds one unfinished event.
    #[must_use]
    pub fn new(exchange: &Exchange, checks: Arc<Checks>, ids: Ids, event_bytes: usize) -> Self {
        let terms = exchange.terms();
        let thoughts = match terms.plan.is_all_content {
            true => Some(Thoughts::All(AllContent::new(Arc::clone(&terms.plan)))),
            false => terms.lone_thoughts().map(Thoughts::Lone),
        };
        let repeated = terms.repeated.clone();
        let repeated = repeated.map(|words| Box::new(Repeated::new(words)));
        Self {
            writer: terms.client.writer(terms.written(&ids)),
            terms,
            checks,
            server: exchange.server.stream(exchange.about(), event_bytes),
            ids,
            choices: ByChoice::new(),
            repeated,
            thoughts: thoughts.map(Box::new),
            held: Vec::new(),
            sent: false,
            stage: Life::Open,
            data: Vec::new(),
            events: Vec::with_capacity(USUAL),
            deltas: Vec::with_capacity(USUAL),
        }
    }

    /// Takes the next bytes of the upstream's body and appends whole client events to `out`.
    /// What `out` got before an error is good and is to be sent.
    ///
    /// # Errors
    /// A violation, or an upstream error; the stream is over, and the caller writes
    /// what is wrong with it ([`Self::fail`]).
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.stage != Life::Open {
            return Ok(());
        }
        let mut data = std::mem::take(&mut self.data);
        let framed = self.server.push(chunk, &mut data);
        let read = self.read(&mut data, out);
        data.clear();
        data.shrink_to(KEPT_EVENTS);
        self.data = data;
        let outcome = read.and_then(|()| {
            framed.map_err(|fault| {
                Fault::Error(Error::new(
                    Kind::UpstreamTooLarge,
                    format!("the server's stream: {fault}"),
                ))
            })
        });
        self.settle(outcome)
    }

    /// Takes a reply that came whole where a stream was asked for: what it says, as a stream says it.
    ///
    /// # Errors
    /// As [`Self::push`].
    pub fn whole(
        &mut self,
        exchange: &Exchange,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let frame = exchange.frame(body, &mut self.ids);
        let outcome = frame.map_err(Fault::Error).and_then(|frame| {
            let mut frames = unfold::unfold(frame.events).into_iter();
            frames.try_for_each(|events| {
                let verbatim = None;
                self.frame(Frame { events, verbatim }, out).map(drop)
            })
        });
        self.settle(outcome)
    }

    /// The upstream's body ended. On success the client's stream is complete, its end mark included.
    ///
    /// # Errors
    /// A reply that was cut, or whose end breaks the contract.
    pub fn finish(&mut self, end: End, out: &mut Vec<u8>) -> Result<(), Fault> {
        if self.stage != Life::Open {
            return Ok(());
        }
        let outcome = self.ended(end, out);
        self.settle(outcome)
    }

    /// Appends the error that ends the stream, after a fault.
    pub fn fail(&mut self, error: &Error, out: &mut Vec<u8>) {
        self.stage = Life::Failed;
        let error = in_words_of(self.terms.client, error.clone());
        if !self.writer.fail(&error, out) {
            out.extend_from_slice(&self.terms.client.error_event(&error));
        }
    }

    /// Tells what time it is, since the Unix epoch.
    pub fn now(&mut self, since_epoch: Duration) {
        self.writer.now(since_epoch);
    }

    /// What a store keeps of the reply, once it is complete.
    #[must_use]
    pub fn kept(&self) -> Option<Vec<u8>> {
        self.is_done().then(|| self.writer.kept()).flatten()
    }

    /// Whether the end mark was written: whatever the upstream still sends is dropped.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.stage == Life::Done
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

    /// What the reply tells of its server, though it is good: a fact, in the words of the rule files.
    #[must_use]
    pub fn fact(&self) -> Option<&'static str> {
        let was_content = match self.thoughts.as_deref() {
            Some(Thoughts::All(all)) => all.was_content(),
            _ => false,
        };
        lesson::of_good(&self.terms, self.repairs(), was_content)
    }

    fn settle(&mut self, outcome: Result<(), Fault>) -> Result<(), Fault> {
        if outcome.is_err() {
            self.stage = Life::Failed;
        }
        outcome
    }

    fn read(&mut self, data: &mut Vec<Vec<u8>>, out: &mut Vec<u8>) -> Result<(), Fault> {
        for data in data.drain(..) {
            let frame = self.server.read(&data, &mut self.ids);
            let read = self.frame(frame, out)?;
            self.server.reuse(data, read);
        }
        Ok(())
    }

    fn ended(&mut self, end: End, out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut data = Vec::new();
        let is_clean = self.server.finish(&mut data);
        self.read(&mut data, out)?;
        let last = self.server.end(&mut self.ids);
        self.frame(last, out)?;
        if let Some(broken) = self.choices.values().find_map(ChoiceStream::unended) {
            return Err(Fault::Violation(broken));
        }
        if self.stage == Life::Done {
            return Ok(());
        }
        let whole = !self.choices.is_empty() && self.choices.values().all(|choice| choice.finished);
        if end == End::Eof && is_clean && whole {
            return self.done(out);
        }
        Err(Fault::Error(cut()))
    }

    /// What one event of the server says; the events that were read come back empty, for their memory.
    fn frame(&mut self, mut frame: Frame<'_>, out: &mut Vec<u8>) -> Result<Vec<Event>, Fault> {
        let mut said = ClientFrame {
            events: std::mem::take(&mut self.events),
            before: Vec::new(),
            verbatim: frame.verbatim.filter(|_| self.terms.keeps_bytes()),
            has_substance: false,
        };
        for event in frame.events.drain(..) {
            if self.stage == Life::Done {
                return Ok(Vec::new());
            }
            match event {
                Event::Done => {
                    self.write(std::mem::take(&mut said), out);
                    self.done(out)?;
                }
                Event::Error(raw) => {
                    self.write(said, out);
                    let error = upstream_error::reported(&raw, &self.terms.too_long);
                    return Err(Fault::Error(error));
                }
                Event::Garbage => {
                    self.write(said, out);
                    return Err(Fault::Error(garbage()));
                }
                event => match &mut self.repeated {
                    None => self.event(event, &mut said)?,
                    Some(repeated) => {
                        let mut events = repeated.take(event);
                        events.try_for_each(|event| self.event(event, &mut said))?;
                    }
                },
            }
        }
        if self.stage == Life::Open {
            self.write(said, out);
        }
        Ok(frame.events)
    }

    fn event(&mut self, event: Event, said: &mut ClientFrame<'_>) -> Result<(), Fault> {
        match self.thoughts.as_deref_mut() {
            None => self.certain(event, said),
            Some(Thoughts::All(all)) => {
                let mut certain = all.take(event);
                certain.try_for_each(|event| self.certain(event, said))
            }
            Some(Thoughts::Lone(lone)) => {
                if let Some(answer) = lone.take(&event) {
                    self.certain(answer, said)?;
                }
                self.certain(event, said)
            }
        }
    }

    fn certain(&mut self, event: Event, said: &mut ClientFrame<'_>) -> Result<(), Fault> {
        if let Event::Usage(usage) = &event {
            context::check(self.terms.least_tokens, usage)?;
        }
        let Some(index) = event.choice() else {
            said.events.extend(self.terms.said(event));
            return Ok(());
        };
        self.open(index)?;
        let Some(event) = self.terms.said(event) else {
            return Ok(());
        };
        match event {
            Event::Delta { delta, .. } => self.delta(index, delta, said).map_err(Fault::Violation),
            Event::NoCall { fault, .. } => Err(Fault::Violation(no_call(fault, index))),
            Event::Hosted { call, .. } => {
                if let Some(choice) = self.choices.get_mut(index) {
                    let remark = choice.doubted.as_mut().and_then(|it| it.before_hosted());
                    if let Some(text) = remark {
                        said.tell(choice.remark(index, text));
                    }
                    said.has_substance |= choice.flow.host(&call);
                }
                Ok(())
            }
            Event::Aside { .. } => {
                // It goes out at once, unless an answer that is wrong could still be asked for again.
                said.has_substance |= !(self.terms.demands_call || self.terms.demands_answer);
                Ok(())
            }
            event => {
                if matches!(event, Event::Reasoning { .. }) {
                    if let Some(choice) = self.choices.get_mut(index) {
                        choice.has_thought = true;
                        choice.flow.thinks_apart();
                    }
                    // Thinking goes out at once, unless it may be what is left of an answer.
                    said.has_substance |= !self.terms.plan.is_all_content;
                }
                said.events.push(event);
                Ok(())
            }
        }
    }

    /// The choice that an event speaks of.
    fn open(&mut self, index: u32) -> Result<(), Fault> {
        if self.choices.get(index).is_some() {
            return Ok(());
        }
        let is_asked = index < self.terms.choices || self.terms.demands_nothing;
        let unasked = (!is_asked).then(|| too_many_choices(self.terms.choices));
        if let Some(violation) = unasked.clone().filter(|_| !self.terms.passes_violations) {
            return Err(Fault::Violation(violation));
        }
        if self.choices.len() >= MAX_CHOICES {
            let message = format!("the server sent more than {MAX_CHOICES} choices");
            return Err(Fault::Error(Error::new(Kind::UpstreamBadReply, message)));
        }
        let mut flow = ChoiceFlow::new(&self.terms, &self.checks, index).mending(&self.terms);
        if let Some(violation) = unasked {
            flow.let_pass(violation);
        }
        self.choices
            .get_or_insert_with(index, || ChoiceStream::new(flow));
        Ok(())
    }

    /// Steps one choice.
    fn delta(
        &mut self,
        index: u32,
        delta: Delta,
        said: &mut ClientFrame<'_>,
    ) -> Result<(), Violation> {
        let Some(choice) = self.choices.get_mut(index) else {
            return Ok(());
        };
        if choice.finished {
            // What comes after a choice's end is no part of what was verified.
            said.verbatim = None;
            return choice.after_end(index, &delta);
        }
        let delta = match &mut choice.doubted {
            None => delta,
            Some(doubted) => match doubted.step(delta, choice.has_called)? {
                Told::Nothing => {
                    said.verbatim = None;
                    return Ok(());
                }
                Told::Refusal(text, reason) => {
                    choice.finished = true;
                    said.has_substance = true;
                    let event = |delta| Event::Delta {
                        choice: index,
                        delta,
                    };
                    said.tell(event(Delta::Refusal(text)));
                    said.events.push(event(Delta::Finish(reason)));
                    return Ok(());
                }
                Told::Remark(text, next) => {
                    said.tell(choice.remark(index, text));
                    next
                }
            },
        };
        let (blanks, delta) = match self.terms.may_be.remark && !choice.has_answered {
            true => {
                let had_blanks = !choice.blanks.is_empty();
                let told = choice.behind_blanks(delta);
                if had_blanks || told.1.is_none() {
                    said.verbatim = None;
                }
                told
            }
            false => (None, Some(delta)),
        };
        let mut deltas = blanks.into_iter().chain(delta);
        deltas.try_for_each(|delta| self.step(index, delta, said))
    }

    /// Steps a choice that goes on.
    fn step(
        &mut self,
        index: u32,
        delta: Delta,
        said: &mut ClientFrame<'_>,
    ) -> Result<(), Violation> {
        let Some(choice) = self.choices.get_mut(index) else {
            return Ok(());
        };
        let is_end = matches!(delta, Delta::Finish(_));
        choice.has_spoken |= !is_end;
        let (has_thought, has_spoken) = (choice.has_thought, choice.has_spoken);
        // A call's framing is repaired, or what it lacked was added, unless it is known to be right.
        let is_call = matches!(delta, Delta::CallStart { .. } | Delta::CallInput { .. });
        said.verbatim = (said.verbatim.take()).filter(|it| !is_call || it.tells_calls());
        let is_told = is_call && said.verbatim.is_some();
        let came = (is_told || self.terms.reading.is_some()).then(|| Came::of(&delta));
        let deltas = &mut self.deltas;
        deltas.clear();
        let may_be = self.terms.may_be;
        let is_doubtful = may_be.is_any() && !choice.has_answered;
        let is_text = matches!(delta, Delta::Text(_));
        let unread = (is_doubtful && is_text).then(|| delta.clone());
        let stepped = choice.flow.step(delta, &mut self.ids, deltas);
        let lesson =
            |broken: &Violation| lesson::of_stream(&self.terms, broken, has_thought, has_spoken);
        if let Err(broken) = stepped {
            let fact = lesson(&broken);
            let broken = broken.telling(fact);
            let Some(unread) = unread else {
                return Err(broken);
            };
            said.verbatim = None;
            choice.doubted = Some(Doubted::begin(broken, &unread, may_be)?);
            return Ok(());
        }
        if let Some(passed) = &mut choice.flow.passed {
            passed.fact = lesson(passed);
        }
        choice.finished |= is_end;
        // Text is held where it may begin a call; an answer that is empty is said.
        if choice.flow.is_empty || came.is_some_and(|came| !came.is_all(deltas)) {
            said.verbatim = None;
        }
        for delta in deltas.drain(..) {
            let is_call = matches!(delta, Delta::CallStart { .. } | Delta::CallInput { .. });
            choice.has_called |= is_call;
            choice.has_answered |= !is_call && delta.has_substance();
            // Text says nothing yet where a call is demanded: a server that ignores the demand
            // sends only text, and may still be asked again.
            said.has_substance |= !(self.terms.demands_call && matches!(delta, Delta::Text(_)));
            let choice = index;
            said.events.push(Event::Delta { choice, delta });
        }
        Ok(())
    }

    /// Writes what a frame says, or holds it until there is one of substance.
    fn write(&mut self, said: ClientFrame<'_>, out: &mut Vec<u8>) {
        if said.has_substance || self.held.len() > MAX_HELD_BYTES {
            self.sent = true;
            out.append(&mut self.held);
        }
        let hold = !self.sent || (self.terms.demands_call && !said.has_substance);
        let out = if hold { &mut self.held } else { out };
        let ClientFrame {
            mut events,
            mut before,
            verbatim,
            ..
        } = said;
        if !before.is_empty() {
            self.terms.tell(&mut before);
            self.writer.write(&mut before, None, out);
        }
        self.terms.tell(&mut events);
        self.writer.write(&mut events, verbatim.as_ref(), out);
        events.clear();
        self.events = events;
    }

    /// The end mark came, or everything that must come before it.
    fn done(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        if let Some(broken) = self.choices.values().find_map(ChoiceStream::unended) {
            return Err(Fault::Violation(broken));
        }
        let came = u32::try_from(self.choices.len()).unwrap_or(u32::MAX);
        if came == 0 && self.terms.demands_nothing {
            // Of a reply that is nothing but its end (llama.cpp, of a prompt that is too long: NousResearch/hermes-agent#65631).
            return Err(Fault::Error(cut()));
        }
        if came < self.terms.choices && !self.terms.demands_nothing {
            let violation = too_few_choices(came, self.terms.choices);
            match self.choices.values_mut().next() {
                Some(choice) if self.terms.passes_violations => choice.flow.let_pass(violation),
                _ => return Err(Fault::Violation(violation)),
            }
        }
        let is_open = |(index, choice): (u32, &ChoiceStream)| (!choice.finished).then_some(index);
        let open: Vec<u32> = self.choices.iter().filter_map(is_open).collect();
        for index in open {
            let end = self.server.end_choice(index, &mut self.ids);
            let mut said = ClientFrame {
                has_substance: true,
                ..ClientFrame::default()
            };
            for event in end.events {
                self.event(event, &mut said)?;
            }
            self.write(said, out);
        }
        out.append(&mut self.held);
        // What was found after the reply's head had gone out.
        let violation = self.violation();
        let note = violation.map(|violation| format!("x-isogloss-violation: {}", violation.rule));
        self.writer.end(note.as_deref(), out);
        self.stage = Life::Done;
        Ok(())
    }
}
