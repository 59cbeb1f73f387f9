//! Rewrapping: what the server's content means to the client. In: one choice's deltas as the
//! server sent them. Out: the deltas that the client is to see, as early as they are certain.
//!
//! The content is read by shape. Markup is looked for where the model was told to set it, or where it is known in
//! which markup the model writes calls; never inside of JSON, nor where no call may be made. A server that answers in calls
//! although content was constrained is taken at its word: verification follows in any case.

mod lead;
mod marked;
mod mending;
mod open;
mod tags;
mod thoughts;
mod wrapped;

use crate::ir::{
    CallKind, Delta, FinishReason, Ids, Place, Plan, Quote, RepairStep, Repairs, Rewrap, Violation,
};
use crate::json::envelope::{Caps, EnvelopeReader, Shape};
use lead::{Lead, Opening, Tail};
pub use marked::Reading;
use marked::{Deciding, Marked};
pub use mending::Mending;
use mending::{Bare, CallMenders};
use open::Open;
use std::sync::Arc;
use tags::TagText;
use thoughts::{Split, Splitter};
use wrapped::Inputs;

/// Rewraps one choice.
#[derive(Debug)]
pub struct Rewrapper {
    plan: Arc<Plan>,
    choice: u32,
    stage: Stage,
    /// Thoughts that may stand before all else, as long as they may.
    thoughts: Option<Splitter>,
    calls: u32,
    /// Calls of custom tools that come as ones of functions.
    inputs: Inputs,
    /// What the model said, for asking again; bounded.
    said: String,
    /// After a violation: the content that no delta has given.
    unread: String,
    /// What is mended on the way.
    mending: Mending,
    call_menders: CallMenders,
    repairs: Repairs,
    /// How calls are read off the content; `None` where none are.
    reading: Option<Reading>,
    /// What the content is to begin with, until it is known that it begins with no markup.
    opening: Option<Opening>,
    /// Calls that were read off the content; the server's own come after.
    marked_calls: u32,
}

/// More than this of a refused answer is not shown to the model again.
const MAX_SAID_BYTES: usize = 16 << 10;

#[derive(Debug)]
enum Stage {
    /// Before the JSON: space, a think block, a fence.
    Lead(Lead),
    /// Inside `<think>`.
    Think(Lead),
    /// One JSON value, forwarded as it comes.
    Bare(Box<Bare>),
    /// An envelope.
    Envelope(Box<Open>),
    /// After the JSON: space, the end of a fence.
    Tail(Tail),
    /// Text, as it comes.
    Text,
    /// Text whose trailing space is held back.
    Trimmed(String),
    /// A custom tool's input, as it comes.
    Input,
    /// The beginning of text with tagged calls, which may be a call without tags; or of a text
    /// that is either calls or none.
    Beginning(Lead, String),
    /// Text with tagged calls, outside of them.
    Tags(TagText),
    /// After a tagged call's JSON: so many bytes of the end tag.
    Close(TagText, usize),
    /// Content that may begin with markup.
    Deciding(Deciding),
    /// Content with calls in the model's markup.
    Marked(Box<Marked>),
    /// The server made calls of its own.
    Native,
}

impl Rewrapper {
    /// A rewrapper for the choice with this index.
    #[must_use]
    pub fn new(plan: impl Into<Arc<Plan>>, choice: u32) -> Self {
        let plan = plan.into();
        let custom = |tool: &String| plan.tools.get(tool) == Some(&CallKind::Custom);
        let stage = match &plan.rewrap {
            Rewrap::Keep => Stage::Text,
            Rewrap::Text | Rewrap::TaggedCalls | Rewrap::TaggedCallsOrAnswer => {
                Stage::Lead(Lead::new(Opening::AnyText))
            }
            Rewrap::Arguments { tool } if custom(tool) => Stage::Input,
            Rewrap::Arguments { .. } | Rewrap::Json | Rewrap::Answer => {
                Stage::Lead(Lead::new(Opening::AnyJson))
            }
            Rewrap::Call | Rewrap::Calls | Rewrap::CallOrAnswer { .. } | Rewrap::CallOrText => {
                Stage::Lead(Lead::new(Opening::Container))
            }
        };
        Self {
            thoughts: plan.thoughts.clone().map(Splitter::new),
            plan,
            choice,
            stage,
            calls: 0,
            inputs: Inputs::default(),
            said: String::new(),
            unread: String::new(),
            mending: Mending::default(),
            call_menders: CallMenders::default(),
            repairs: Repairs::default(),
            reading: None,
            opening: None,
            marked_calls: 0,
        }
    }

    /// Takes the next delta and appends what the client is to see.
    ///
    /// # Errors
    /// Content that cannot be what was asked for.
    pub fn step(
        &mut self,
        delta: Delta,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        if let Some(splitter) = &mut self.thoughts {
            let said = match &delta {
                Delta::Text(text) => splitter.push(text),
                Delta::Reasoning(_) => Split::default(),
                Delta::Finish(reason) => splitter.finish(self.plan.has_room && reason.is_cut()),
                _ => splitter.finish(false),
            };
            if splitter.is_over() {
                self.thoughts = None;
            }
            if !said.thought.is_empty() {
                out.push(Delta::Reasoning(said.thought));
            }
            let is_text = matches!(delta, Delta::Text(_));
            if !said.text.is_empty() {
                self.answer(Delta::Text(said.text), ids, out)?;
            }
            if is_text {
                return Ok(());
            }
        }
        self.answer(delta, ids, out)
    }

    /// The server tells its thoughts apart: those in the text are text, but for the empty lines behind those that the constraint has
    /// room for.
    pub fn thinks_apart(&mut self) {
        if let Some(thoughts) = self.thoughts.take_if(|thoughts| thoughts.is_at_start()) {
            self.thoughts = self.plan.has_room.then(|| thoughts.behind());
        }
    }

    /// The same behind the thoughts.
    fn answer(
        &mut self,
        delta: Delta,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let Some(delta) = self.unwrap(delta, out)? else {
            return Ok(());
        };
        self.remember_call(&delta);
        let delta = self.after_marked(delta, ids, out)?;
        let Some(delta) = self.mend_call(delta, out) else {
            return Ok(());
        };
        match delta {
            Delta::CallStart { .. } if self.plan.one_call && self.calls > 0 => Ok(()),
            Delta::CallInput { call, .. } if self.plan.one_call && call > 0 => Ok(()),
            Delta::Text(text) if matches!(self.stage, Stage::Text) => {
                self.remember(&text);
                out.push(Delta::Text(text));
                Ok(())
            }
            Delta::Text(text) => {
                self.remember(&text);
                self.text(text, ids, out)
                    .map_err(|violation| self.quote(violation))
            }
            Delta::CallStart { .. } if self.plan.rewrap != Rewrap::Keep => {
                if !matches!(self.stage, Stage::Native) {
                    if self.plan.rewrap.is_tagged() && self.calls == 0 {
                        self.settle_tags(ids, out)?;
                    }
                    self.settle_marked(false, ids, out)?;
                    let is_between = matches!(
                        self.stage,
                        Stage::Lead(_)
                            | Stage::Input
                            | Stage::Tail(_)
                            | Stage::Text
                            | Stage::Tags(_)
                            | Stage::Marked(_)
                    );
                    if let Stage::Lead(lead) = &mut self.stage
                        && lead.holds_prose()
                    {
                        self.unread = lead.take_text();
                        return Err(self.prose());
                    }
                    // A call that the content made has the first of the server's own indices.
                    if !is_between || self.calls > 0 {
                        return Err(self.violation(
                            "json",
                            "a call begins in the middle of the content".to_owned(),
                        ));
                    }
                    self.stage = Stage::Native;
                }
                self.calls += 1;
                out.push(delta);
                Ok(())
            }
            Delta::Finish(reason) => self
                .finish(reason.clone(), ids, out)
                .map_err(|violation| self.quote(violation).ended_by(&reason)),
            Delta::CallStart { .. } => {
                self.calls += 1;
                out.push(delta);
                Ok(())
            }
            Delta::Reasoning(_) | Delta::Refusal(_) | Delta::CallInput { .. } => {
                out.push(delta);
                Ok(())
            }
        }
    }

    /// Whether the server was sent the tool, so that it may call it.
    #[must_use]
    pub fn may_call(&self, tool: &str) -> bool {
        self.plan.tools.contains_key(tool)
    }

    /// After a violation: the content that no delta has given, for who lets it pass.
    pub fn take_unread(&mut self) -> String {
        std::mem::take(&mut self.unread)
    }

    /// How many calls were made of the content.
    #[must_use]
    pub const fn calls_made(&self) -> u32 {
        match self.stage {
            Stage::Native => 0,
            _ => self.calls,
        }
    }

    /// What the model said so far, for a violation that somebody else found.
    #[must_use]
    pub fn quote(&self, mut violation: Violation) -> Violation {
        violation.said = Quote(self.said.as_str().into());
        violation
    }

    /// A call of the server's own, in the words in which a model can be shown it.
    fn remember_call(&mut self, delta: &Delta) {
        match delta {
            Delta::CallStart { name, .. } => self.remember(&format!("\n{name}: ")),
            Delta::CallInput { text, .. } => self.remember(text),
            _ => {}
        }
    }

    fn remember(&mut self, text: &str) {
        let room = MAX_SAID_BYTES.saturating_sub(self.said.len());
        let end = (0..=text.len().min(room))
            .rev()
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(0);
        self.said.push_str(&text[..end]);
    }

    fn text(&mut self, text: String, ids: &mut Ids, out: &mut Vec<Delta>) -> Result<(), Violation> {
        let mut rest = text;
        while !rest.is_empty() {
            rest = self.piece(&rest, ids, out)?;
        }
        Ok(())
    }

    /// Takes a piece of text in the current stage; what the next stage is to take comes back.
    fn piece(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        match &mut self.stage {
            Stage::Text => out.push(Delta::Text(text.to_owned())),
            Stage::Native => {
                if !text.trim().is_empty() {
                    out.push(Delta::Text(text.to_owned()));
                }
            }
            Stage::Trimmed(space) if text.trim().is_empty() => space.push_str(text),
            Stage::Trimmed(space) => {
                space.push_str(text);
                let rest = space.split_off(space.trim_end().len());
                let ready = std::mem::replace(space, rest);
                if !ready.is_empty() {
                    out.push(Delta::Text(ready));
                }
            }
            Stage::Input => self.input(text, ids, out),
            Stage::Deciding(_) => return self.deciding(text, ids, out),
            Stage::Marked(_) => self.marked(text, ids, out)?,
            Stage::Beginning(..) => return Ok(self.beginning(text)),
            Stage::Tags(_) => return Ok(self.tag_text(text, out)),
            Stage::Close(..) => return self.close_tag(text),
            Stage::Lead(_) => return self.lead(text, ids, out),
            Stage::Think(lead) => {
                let (thought, rest) = lead.think(text);
                if !thought.is_empty() {
                    out.push(Delta::Reasoning(thought));
                }
                if let Some(rest) = rest {
                    self.stage = Stage::Lead(std::mem::take(lead));
                    return Ok(rest);
                }
            }
            Stage::Bare(..) => return self.bare(text, out),
            Stage::Envelope(_) => return self.envelope(text, ids, out),
            Stage::Tail(tail) => match tail.push(text) {
                Ok(None) if tail.had_prose() => self.repairs.add(RepairStep::Prose),
                Ok(None) => {}
                Ok(Some((lead, rest))) => {
                    self.stage = Stage::Lead(lead);
                    return Ok(rest);
                }
                Err(follows) => {
                    self.unread = follows;
                    return Err(self.violation("json", "text follows the JSON".to_owned()));
                }
            },
        }
        Ok(String::new())
    }

    fn input(&mut self, text: &str, ids: &mut Ids, out: &mut Vec<Delta>) {
        if self.calls == 0 {
            self.start_call(None, ids, out);
        }
        out.push(Delta::CallInput {
            call: 0,
            kind: CallKind::Custom,
            text: text.to_owned(),
        });
    }

    /// Starts the next call; without a name it is the one tool of [`Rewrap::Arguments`].
    fn start_call(
        &mut self,
        name: Option<String>,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> CallKind {
        let name = match (name, &self.plan.rewrap) {
            (Some(name), _) => self.meant(name),
            (None, Rewrap::Arguments { tool }) => tool.clone(),
            (None, _) => String::new(),
        };
        let kind = self
            .plan
            .tools
            .get(&name)
            .copied()
            .unwrap_or(CallKind::Function);
        out.push(Delta::CallStart {
            call: self.calls,
            id: ids.call(),
            name,
            kind,
        });
        self.calls += 1;
        kind
    }

    fn lead(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        let forgives = self.forgives_prose();
        let Stage::Lead(lead) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        if forgives {
            lead.forgive_prose();
        }
        match lead.push(text) {
            lead::Found::Nothing => Ok(String::new()),
            lead::Found::Think(rest) => {
                self.stage = Stage::Think(std::mem::take(lead));
                Ok(rest)
            }
            lead::Found::Start(rest) if self.opening.is_some() => {
                if let Some(stage) = self.undecided(&rest) {
                    self.stage = stage;
                }
                Ok(rest)
            }
            lead::Found::Start(rest) => {
                let lead = std::mem::take(lead);
                if lead.had_prose() {
                    self.repairs.add(RepairStep::Prose);
                }
                self.stage = self.body(lead, ids, out);
                Ok(rest)
            }
            lead::Found::Prose(held) => {
                let is_text = self.plan.takes_text();
                let text = self
                    .marked_text()
                    .or_else(|| is_text.then_some(Stage::Text));
                let Some(stage) = text else {
                    self.unread = held;
                    return Err(self.prose());
                };
                self.stage = stage;
                Ok(held)
            }
        }
    }

    /// Whether text around a fence is left out: nothing but JSON is asked for.
    fn forgives_prose(&self) -> bool {
        self.plan.is_json_alone()
            && self.mending.is_content
            && self.opening.is_none()
            && !self.may_be_marked()
    }

    /// The stage that reads what the lead has found.
    fn body(&mut self, lead: Lead, ids: &mut Ids, out: &mut Vec<Delta>) -> Stage {
        let shape = match &self.plan.rewrap {
            Rewrap::Arguments { .. } => {
                self.start_call(None, ids, out);
                return self.bare_stage(lead);
            }
            Rewrap::Json => return self.bare_stage(lead),
            Rewrap::Text => return Stage::Trimmed(String::new()),
            Rewrap::Keep => return Stage::Text,
            Rewrap::TaggedCalls | Rewrap::TaggedCallsOrAnswer => {
                return Stage::Beginning(lead, String::new());
            }
            Rewrap::Call | Rewrap::CallOrText => Shape::One,
            Rewrap::Calls => Shape::Many,
            Rewrap::CallOrAnswer { .. } => Shape::CallOrAnswer,
            Rewrap::Answer => Shape::Answer,
        };
        // A single tool's bare arguments, or the bare answer, are as good as an envelope around them.
        let is_uncertain = match self.plan.rewrap {
            Rewrap::CallOrText | Rewrap::CallOrAnswer { text: false } | Rewrap::Answer => true,
            Rewrap::Call => self.plan.tools.len() == 1,
            _ => false,
        };
        let reader = EnvelopeReader::new(shape, Caps::default());
        // Where the text may be something else, a `name` alone does not make it a call.
        let reader = if is_uncertain {
            reader.cautious()
        } else {
            reader
        };
        let is_text = self.plan.rewrap == Rewrap::CallOrText;
        let mender = self.mending.envelope(&lead, is_text);
        Stage::Envelope(Box::new(Open::new(reader, lead, is_uncertain, mender)))
    }

    fn finish(
        &mut self,
        reason: FinishReason,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let cut = reason.is_cut();
        self.settle_marked(cut, ids, out)?;
        self.end_mending(cut, ids, out)?;
        if cut {
            self.settle_cut(ids, out)?;
        }
        if self.plan.rewrap.is_tagged() {
            self.settle_tags(ids, out)?;
        }
        // What was read another way may hold something again.
        self.settle_marked(cut, ids, out)?;
        let stage = std::mem::replace(&mut self.stage, Stage::Text);
        match stage {
            Stage::Lead(mut lead) if lead.had_prose() || !lead.held().trim().is_empty() => {
                let text = lead.take_text();
                match self.plan.rewrap {
                    Rewrap::CallOrText | Rewrap::Text => out.push(Delta::Text(text)),
                    _ if cut && !lead.holds_prose() => {}
                    _ => {
                        self.unread = text;
                        return Err(self.prose());
                    }
                }
            }
            Stage::Think(mut lead) => {
                let rest = lead.end_think();
                if !rest.is_empty() {
                    out.push(Delta::Reasoning(rest));
                }
            }
            Stage::Bare(mut bare) if !cut => {
                bare.scanner.finish().map_err(|fault| {
                    self.violation("json", format!("the JSON is not whole: {fault}"))
                })?;
            }
            Stage::Envelope(open) => match open.raw {
                Some(raw) if self.plan.rewrap == Rewrap::CallOrText => {
                    out.push(Delta::Text(open.lead.stripped().to_owned() + &raw));
                }
                _ if cut => {}
                raw => {
                    let raw = raw.map(|raw| open.lead.stripped().to_owned() + &raw);
                    self.unread = raw.unwrap_or_default();
                    return Err(self.violation(
                        "json",
                        "the reply ends in the middle of the JSON".to_owned(),
                    ));
                }
            },
            Stage::Input if self.calls == 0 && !cut => {
                self.start_call(None, ids, out);
            }
            Stage::Marked(_) if self.calls == 0 && !cut && self.plan.rewrap.is_call() => {
                return Err(self.prose());
            }
            _ => {}
        }
        let reason = match reason {
            reason if cut => reason,
            reason if self.plan.rewrap == Rewrap::Keep && self.marked_calls == 0 => reason,
            _ if self.calls > 0 => FinishReason::ToolCalls,
            FinishReason::ToolCalls => FinishReason::Stop,
            reason => reason,
        };
        out.push(Delta::Finish(reason));
        Ok(())
    }

    /// The text ends in the middle of what may be no envelope: where no word of one has come, it
    /// is read the other way, so that the client has what there is. (An object around an answer has nothing yet.)
    fn settle_cut(&mut self, ids: &mut Ids, out: &mut Vec<Delta>) -> Result<(), Violation> {
        match &self.stage {
            Stage::Envelope(_) if self.plan.rewrap == Rewrap::Answer => return Ok(()),
            Stage::Envelope(open) if !open.reader.has_begun() => {}
            _ => return Ok(()),
        }
        match self.without_envelope(ids, out) {
            Some(text) => self.text(text, ids, out),
            None => Ok(()),
        }
    }

    fn prose(&self) -> Violation {
        match self.plan.rewrap {
            Rewrap::Json | Rewrap::Answer => self.violation(
                "json",
                "the answer is text, but JSON is asked for".to_owned(),
            ),
            _ => self.violation(
                "tool_choice",
                "the answer is text, but a call in JSON is asked for".to_owned(),
            ),
        }
    }

    fn violation(&self, rule: &str, message: String) -> Violation {
        let place = Place::Content(self.choice);
        self.quote(Violation::new(place, rule, message))
    }
}

#[cfg(test)]
mod tests;
