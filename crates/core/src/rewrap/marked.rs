//! Content in which the model wrote its calls in its own markup: what the reader of that markup says, to
//! the client's deltas.
//!
//! Where the server is to read calls itself, a call is passed on once it is whole, and what breaks off in its
//! middle stays the text that it was; where it is known that nobody else reads them, its arguments go out as
//! they come.

use super::lead::Lead;
use super::{Rewrapper, Stage};
use crate::ir::{CallKind, Delta, Ids, RepairStep, Rewrap, Violation};
use crate::markup::{Format, Piece, Reader, Tools};
use std::sync::Arc;

/// How calls are read off the content.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The model's markup.
    pub format: Arc<Format>,
    /// The tools that it may call.
    pub tools: Arc<Tools>,
    /// It is known that calls come in the content; otherwise only whole ones are taken.
    pub is_expected: bool,
    /// Thoughts in the content stay there.
    pub keeps_thoughts: bool,
    /// A call may follow text where a call is asked for: nothing but a prompt asked for it.
    pub may_follow_text: bool,
    /// The server is made to write its calls so: to read them is no repair.
    pub is_constrained: bool,
    /// A call may stand anywhere in the text: a constraint has each in this markup.
    pub is_anywhere: bool,
}

/// More of a call is not held until it is whole: it goes out as it comes.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Content under reading.
#[derive(Debug)]
pub(super) struct Marked {
    reader: Reader,
    /// A call that is not whole yet.
    held: Option<Held>,
    /// Calls are held until they are whole.
    holds: bool,
    /// A call too many, which nobody is told of.
    is_dropped: bool,
    kind: CallKind,
    /// Bytes that no piece has given, as long as no call was read.
    raw: Option<String>,
}

#[derive(Debug, Default)]
struct Held {
    name: String,
    input: String,
}

/// Content of which it is not known yet whether it begins with markup.
#[derive(Debug)]
pub(super) struct Deciding {
    marked: Box<Marked>,
    lead: Lead,
    text: String,
}

impl Marked {
    pub(super) fn new(reading: &Reading) -> Self {
        let holds = !reading.is_expected;
        let reader = Reader::new(Arc::clone(&reading.format), Arc::clone(&reading.tools));
        Self {
            // What the server left in its text beside calls is nobody's to take out.
            reader: match reading.keeps_thoughts {
                true => reader.keeping_thoughts(),
                false => reader,
            },
            held: None,
            holds,
            is_dropped: false,
            kind: CallKind::Function,
            raw: holds.then(String::new),
        }
    }
}

impl Rewrapper {
    /// The same rewrapper, reading calls off the content.
    #[must_use]
    pub fn reading(mut self, reading: Option<Reading>) -> Self {
        let Some(reading) = reading else {
            return self;
        };
        match self.plan.rewrap {
            Rewrap::Keep => self.stage = Stage::Marked(Box::new(Marked::new(&reading))),
            Rewrap::TaggedCallsOrAnswer | Rewrap::Json | Rewrap::Text => return self,
            _ => {
                // Custom tools' input is whatever text comes.
                if let Stage::Lead(lead) = &mut self.stage {
                    self.opening = Some(lead.reopened(super::Opening::AnyText));
                } else {
                    return self;
                }
            }
        }
        self.reading = Some(reading);
        self
    }

    /// A delta of the server's own calls comes after those that were read off the content.
    pub(super) fn after_marked(
        &mut self,
        mut delta: Delta,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<Delta, Violation> {
        if self.plan.rewrap == Rewrap::Keep
            && let Delta::CallStart { call, .. } | Delta::CallInput { call, .. } = &mut delta
        {
            if matches!(self.stage, Stage::Marked(_)) {
                self.settle_marked(false, ids, out)?;
                self.stage = Stage::Text;
            }
            *call = call.saturating_add(self.marked_calls);
        }
        Ok(delta)
    }

    /// The first text of a content that may be in the model's markup. JSON is read as JSON.
    pub(super) fn undecided(&mut self, text: &str) -> Option<Stage> {
        let reading = self.reading.as_ref()?;
        let opening = self.opening.take()?;
        let Stage::Lead(lead) = &mut self.stage else {
            return None;
        };
        let mut lead = std::mem::take(lead);
        lead.reopened(opening);
        // An envelope is read as one, and mended; of other JSON the markup's reader knows whether it is a call.
        let is_bare = matches!(
            self.plan.rewrap,
            Rewrap::Arguments { .. } | Rewrap::TaggedCalls
        );
        if text.starts_with('{') && !is_bare {
            return Some(Stage::Lead(lead));
        }
        let marked = Box::new(Marked::new(reading));
        let text = String::new();
        Some(Stage::Deciding(Deciding { marked, lead, text }))
    }

    /// More of a content of which it is not known whether it begins with markup.
    pub(super) fn deciding(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        let Stage::Deciding(deciding) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        deciding.text.push_str(text);
        let mut pieces = Vec::new();
        deciding.marked.reader.push(text, &mut pieces);
        self.decide(pieces, ids, out)
    }

    fn decide(
        &mut self,
        pieces: Vec<Piece>,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        let says = |piece: &&Piece| !matches!(piece, Piece::Text(text) if text.is_empty());
        let Some(first) = pieces.iter().find(says) else {
            return Ok(String::new());
        };
        let is_message = |reading: &Reading| reading.format.has_messages();
        let is_markup = match (first, &self.stage) {
            // Where all that the model says is messages, what stands around the first is taken off it.
            (Piece::Text(said), Stage::Deciding(Deciding { text, .. }))
                if self.reading.as_ref().is_some_and(is_message) =>
            {
                !text.trim_start().starts_with(said.trim_start())
            }
            (first, _) => matches!(first, Piece::Call { .. } | Piece::Thought(_)),
        };
        match std::mem::replace(&mut self.stage, Stage::Text) {
            Stage::Deciding(Deciding { marked, .. }) if is_markup => {
                self.stage = Stage::Marked(marked);
                self.pieces(pieces, ids, out)?;
                Ok(String::new())
            }
            Stage::Deciding(Deciding { lead, text, .. }) => {
                let own = self.reading.as_ref().filter(|own| own.is_anywhere);
                // A call without what stands around it is read as JSON.
                let own = own.filter(|_| !text.trim_start().starts_with('{'));
                if let Some(reading) = own {
                    self.stage = Stage::Marked(Box::new(Marked::new(reading)));
                    return Ok(lead.stripped().to_owned() + &text);
                }
                self.stage = Stage::Lead(lead);
                Ok(text)
            }
            stage => {
                self.stage = stage;
                Ok(String::new())
            }
        }
    }

    /// The stage of text that is none of what was asked for, where calls may stand in it.
    pub(super) fn marked_text(&self) -> Option<Stage> {
        let reading = self.reading.as_ref().filter(|_| self.may_be_marked())?;
        Some(Stage::Marked(Box::new(Marked::new(reading))))
    }

    /// Whether calls may stand in text that is none of what was asked for.
    pub(super) fn may_be_marked(&self) -> bool {
        let may_follow = |reading: &Reading| reading.may_follow_text;
        let is_text = self.plan.rewrap == Rewrap::CallOrText;
        self.reading
            .as_ref()
            .is_some_and(|reading| is_text || may_follow(reading))
    }

    /// Content in the model's markup.
    pub(super) fn marked(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let Stage::Marked(marked) = &mut self.stage else {
            return Ok(());
        };
        if let Some(raw) = &mut marked.raw {
            raw.push_str(text);
        }
        let mut pieces = Vec::new();
        marked.reader.push(text, &mut pieces);
        self.pieces(pieces, ids, out)
    }

    /// The text ends, or the server goes on with calls of its own.
    pub(super) fn settle_marked(
        &mut self,
        is_cut: bool,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let mut pieces = Vec::new();
        match &mut self.stage {
            Stage::Deciding(deciding) => {
                deciding.marked.reader.finish(is_cut, &mut pieces);
                if pieces.is_empty() {
                    pieces.push(Piece::Text(deciding.text.clone()));
                }
                let rest = self.decide(pieces, ids, out)?;
                self.text(rest, ids, out)?;
                // Read as text, it may hold the beginning of a call again.
                return match self.stage {
                    Stage::Marked(_) => self.settle_marked(is_cut, ids, out),
                    _ => Ok(()),
                };
            }
            Stage::Marked(marked) => marked.reader.finish(is_cut, &mut pieces),
            _ => return Ok(()),
        }
        self.pieces(pieces, ids, out)?;
        // A call that is held was cut: it is no more than what came.
        if let Stage::Marked(marked) = &mut self.stage
            && let Some(held) = marked.held.take()
        {
            match marked.raw.take() {
                Some(raw) => out.push(Delta::Text(raw)),
                None => self.pass_held(&held, ids, out),
            }
        }
        Ok(())
    }

    fn pieces(
        &mut self,
        pieces: Vec<Piece>,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        for piece in pieces {
            self.read_piece(piece, ids, out)?;
        }
        let Stage::Marked(marked) = &mut self.stage else {
            return Ok(());
        };
        let is_long = |held: &Held| held.input.len() > MAX_HELD_BYTES;
        if marked.held.as_ref().is_some_and(is_long)
            && let Some(held) = marked.held.take()
        {
            marked.holds = false;
            self.pass_held(&held, ids, out);
        }
        Ok(())
    }

    fn read_piece(
        &mut self,
        piece: Piece,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let is_one_too_many = self.plan.one_call && self.calls > 0;
        let Stage::Marked(marked) = &mut self.stage else {
            // What broke off was given as text with all that followed.
            return Ok(());
        };
        match piece {
            Piece::Text(text) => {
                if let Some(raw) = &mut marked.raw
                    && raw.starts_with(&text)
                {
                    raw.drain(..text.len());
                }
                if !text.is_empty() {
                    out.push(Delta::Text(text));
                }
            }
            Piece::Thought(text) => {
                if let Some(raw) = &mut marked.raw {
                    *raw = String::new();
                }
                out.push(Delta::Reasoning(text));
            }
            Piece::Call { .. } if is_one_too_many => marked.is_dropped = true,
            Piece::Call { name, .. } if marked.holds => {
                let input = String::new();
                marked.held = Some(Held { name, input });
            }
            Piece::Call { name, .. } => self.start_marked(name, ids, out),
            Piece::Input(_) if marked.is_dropped => {}
            Piece::Input(text) => match &mut marked.held {
                Some(held) => held.input.push_str(&text),
                None => {
                    let (call, kind) = (self.calls.saturating_sub(1), marked.kind);
                    out.push(Delta::CallInput { call, kind, text });
                }
            },
            Piece::End => {
                marked.is_dropped = false;
                if let Some(held) = marked.held.take() {
                    self.pass_held(&held, ids, out);
                }
            }
            Piece::Broken { .. } if marked.held.is_some() && marked.raw.is_some() => {
                out.push(Delta::Text(marked.raw.take().unwrap_or_default()));
                self.stage = Stage::Text;
            }
            Piece::Broken { why, unread } => {
                self.unread = unread;
                return Err(self.violation("json", format!("a call breaks off: {why}")));
            }
        }
        Ok(())
    }

    fn start_marked(&mut self, name: String, ids: &mut Ids, out: &mut Vec<Delta>) {
        let kind = self.start_call(Some(name), ids, out);
        self.marked_calls += 1;
        let is_constrained = |reading: &Reading| reading.is_constrained;
        if !self.reading.as_ref().is_some_and(is_constrained) {
            self.repairs.add(RepairStep::Markup);
        }
        if let Stage::Marked(marked) = &mut self.stage {
            marked.kind = kind;
            marked.raw = None;
        }
    }

    fn pass_held(&mut self, held: &Held, ids: &mut Ids, out: &mut Vec<Delta>) {
        self.start_marked(held.name.clone(), ids, out);
        let call = self.calls.saturating_sub(1);
        let Stage::Marked(marked) = &self.stage else {
            return;
        };
        let (kind, text) = (marked.kind, held.input.clone());
        if !text.is_empty() {
            out.push(Delta::CallInput { call, kind, text });
        }
    }
}
