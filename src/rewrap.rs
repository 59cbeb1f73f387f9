//! Rewrapping: what the server's content means to the client. In: one choice's deltas as the
//! server sent them. Out: the deltas that the client is to see, as early as they are certain.
//!
//! The content is read by shape, never searched for markup. A server that answers in calls
//! although content was constrained is taken at its word: verification follows in any case.

mod lead;

use crate::ir::{CallKind, Delta, FinishReason, Ids, Plan, Rewrap, Said, Violation};
use crate::json::envelope::{Caps, EnvelopeEvent, EnvelopeReader, Shape};
use crate::json::scan::Scanner;
use crate::json::string::{NoString, StringReader};
use lead::{Lead, Opening, Tail};

/// Rewraps one choice.
#[derive(Debug)]
pub struct Rewrapper {
    plan: Plan,
    choice: u32,
    stage: Stage,
    calls: u32,
    /// What the model said, for asking again; bounded.
    said: String,
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
    Bare(Box<Scanner>, Lead),
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
    /// The server made calls of its own.
    Native,
}

#[derive(Debug)]
struct Open {
    reader: EnvelopeReader,
    lead: Lead,
    /// All of the text so far, while it may still turn out to be no envelope.
    uncertain: Option<String>,
    /// The current call's kind.
    kind: CallKind,
    /// The text of the answer, or of a custom tool's input, which come as JSON strings.
    string: StringReader,
    /// A custom tool's input that came as an object: raw JSON, read when it is whole.
    held: String,
}

impl Rewrapper {
    /// A rewrapper for the choice with this index.
    #[must_use]
    pub fn new(plan: &Plan, choice: u32) -> Self {
        let custom = |tool: &String| plan.tools.get(tool) == Some(&CallKind::Custom);
        let stage = match &plan.rewrap {
            Rewrap::Keep => Stage::Text,
            Rewrap::Text => Stage::Lead(Lead::new(Opening::AnyText)),
            Rewrap::Arguments { tool } if custom(tool) => Stage::Input,
            Rewrap::Arguments { .. } | Rewrap::Json => Stage::Lead(Lead::new(Opening::AnyJson)),
            Rewrap::Call | Rewrap::Calls | Rewrap::CallOrAnswer { .. } | Rewrap::CallOrText => {
                Stage::Lead(Lead::new(Opening::Container))
            }
        };
        Self {
            plan: plan.clone(),
            choice,
            stage,
            calls: 0,
            said: String::new(),
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
        match delta {
            Delta::CallStart { .. } if self.plan.one_call && self.calls > 0 => Ok(()),
            Delta::CallInput { call, .. } if self.plan.one_call && call > 0 => Ok(()),
            Delta::Text(text) => {
                self.remember(&text);
                self.text(&text, ids, out)
                    .map_err(|violation| self.quote(violation))
            }
            Delta::CallStart { .. } if self.plan.rewrap != Rewrap::Keep => {
                if !matches!(self.stage, Stage::Native) {
                    let is_between = matches!(
                        self.stage,
                        Stage::Lead(_) | Stage::Input | Stage::Tail(_) | Stage::Text
                    );
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
                .finish(reason, ids, out)
                .map_err(|violation| self.quote(violation)),
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

    /// What the model said so far, for a violation that somebody else found.
    #[must_use]
    pub fn quote(&self, mut violation: Violation) -> Violation {
        violation.said = Said(self.said.clone());
        violation
    }

    fn remember(&mut self, text: &str) {
        let room = MAX_SAID_BYTES.saturating_sub(self.said.len());
        let end = (0..=text.len().min(room))
            .rev()
            .find(|end| text.is_char_boundary(*end))
            .unwrap_or(0);
        self.said.push_str(&text[..end]);
    }

    fn text(&mut self, text: &str, ids: &mut Ids, out: &mut Vec<Delta>) -> Result<(), Violation> {
        let mut rest = text.to_owned();
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
            Stage::Trimmed(space) => {
                space.push_str(text);
                let rest = space.split_off(space.trim_end().len());
                let ready = std::mem::replace(space, rest);
                if !ready.is_empty() {
                    out.push(Delta::Text(ready));
                }
            }
            Stage::Input => self.input(text, ids, out),
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
            Stage::Bare(..) => return self.bare(text, ids, out),
            Stage::Envelope(_) => return self.envelope(text, ids, out),
            Stage::Tail(tail) => match tail.push(text) {
                Ok(None) => {}
                Ok(Some((lead, rest))) => {
                    self.stage = Stage::Lead(lead);
                    return Ok(rest);
                }
                Err(()) => return Err(self.violation("json", "text follows the JSON".to_owned())),
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
        let name = name.unwrap_or_else(|| match &self.plan.rewrap {
            Rewrap::Arguments { tool } => tool.clone(),
            _ => String::new(),
        });
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
        let Stage::Lead(lead) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        match lead.push(text) {
            lead::Found::Nothing => Ok(String::new()),
            lead::Found::Think(rest) => {
                self.stage = Stage::Think(std::mem::take(lead));
                Ok(rest)
            }
            lead::Found::Start(rest) => {
                let lead = std::mem::take(lead);
                self.stage = self.body(lead, ids, out);
                Ok(rest)
            }
            lead::Found::Prose(held) if self.plan.rewrap == Rewrap::CallOrText => {
                self.stage = Stage::Text;
                Ok(held)
            }
            lead::Found::Prose(_) => Err(self.prose()),
        }
    }

    /// The stage that reads what the lead has found.
    fn body(&mut self, lead: Lead, ids: &mut Ids, out: &mut Vec<Delta>) -> Stage {
        let shape = match &self.plan.rewrap {
            Rewrap::Arguments { .. } => {
                self.start_call(None, ids, out);
                return Stage::Bare(Box::default(), lead);
            }
            Rewrap::Json => return Stage::Bare(Box::default(), lead),
            Rewrap::Text => return Stage::Trimmed(String::new()),
            Rewrap::Keep => return Stage::Text,
            Rewrap::Call | Rewrap::CallOrText => Shape::One,
            Rewrap::Calls => Shape::Many,
            Rewrap::CallOrAnswer { .. } => Shape::CallOrAnswer,
        };
        // A single tool's bare arguments, or the bare answer, are as good as an envelope around them.
        let uncertain = match self.plan.rewrap {
            Rewrap::CallOrText => Some(lead.stripped().to_owned()),
            Rewrap::CallOrAnswer { text: false } => Some(String::new()),
            Rewrap::Call if self.plan.tools.len() == 1 => Some(String::new()),
            _ => None,
        };
        let reader = EnvelopeReader::new(shape, Caps::default());
        // Where the text may be something else, a `name` alone does not make it a call.
        let reader = if uncertain.is_some() {
            reader.cautious()
        } else {
            reader
        };
        Stage::Envelope(Box::new(Open {
            reader,
            lead,
            uncertain,
            kind: CallKind::Function,
            string: StringReader::default(),
            held: String::new(),
        }))
    }

    fn bare(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        let Stage::Bare(scanner, lead) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        let mut end = text.len();
        let mut fault = None;
        for (at, byte) in text.bytes().enumerate() {
            if scanner.is_complete() {
                end = at;
                break;
            }
            if let Err(found) = scanner.push(byte) {
                // A number at the root ends where something else begins.
                if scanner.is_after_value() {
                    end = at;
                } else {
                    fault = Some(found);
                }
                break;
            }
        }
        if let Some(fault) = fault {
            let message = format!("the text is not the JSON that is asked for: {fault}");
            return Err(self.violation("json", message));
        }
        let complete = scanner.is_complete();
        let lead = lead.clone();
        let piece = text[..end].to_owned();
        if !piece.is_empty() {
            if self.calls > 0 {
                let call = self.calls.saturating_sub(1);
                out.push(Delta::CallInput {
                    call,
                    kind: CallKind::Function,
                    text: piece,
                });
            } else {
                out.push(Delta::Text(piece));
            }
        }
        let _ = ids;
        if complete || end < text.len() {
            self.stage = Stage::Tail(lead.tail());
        }
        Ok(text[end..].to_owned())
    }

    fn envelope(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        let mut events = Vec::new();
        let mut rest = text;
        let mut fault = None;
        let mut complete = false;
        if let Stage::Envelope(open) = &mut self.stage {
            // An envelope can end only at a closing bracket.
            while !rest.is_empty() && !complete && fault.is_none() {
                let end = rest.find(['}', ']']).map_or(rest.len(), |at| at + 1);
                fault = open.reader.push(&rest[..end], &mut events).err();
                complete = open.reader.is_complete();
                rest = &rest[end..];
            }
            if let Some(uncertain) = &mut open.uncertain {
                uncertain.push_str(text);
            }
        }
        for event in events {
            self.event(event, ids, out)?;
        }
        if let Some(fault) = fault {
            if let Some(rest) = self.without_envelope(ids, out) {
                return Ok(rest);
            }
            return Err(self.violation(
                "json",
                format!("the text is not the call that is asked for: {fault}"),
            ));
        }
        if complete && let Stage::Envelope(open) = &self.stage {
            self.stage = Stage::Tail(open.lead.tail());
        }
        Ok(rest.to_owned())
    }

    /// Goes on without an envelope, where no call has begun and there is another way to read the
    /// text: the whole of it comes back, for the stage that reads it.
    fn without_envelope(&mut self, ids: &mut Ids, out: &mut Vec<Delta>) -> Option<String> {
        let Stage::Envelope(open) = &mut self.stage else {
            return None;
        };
        let text = open.uncertain.take()?;
        let lead = open.lead.clone();
        self.stage = match &self.plan.rewrap {
            Rewrap::CallOrText => Stage::Text,
            Rewrap::Call => {
                let only = self.plan.tools.keys().next().cloned();
                if self.start_call(only, ids, out) == CallKind::Custom {
                    return None;
                }
                Stage::Bare(Box::default(), lead)
            }
            _ => Stage::Bare(Box::default(), lead),
        };
        Some(text)
    }

    fn event(
        &mut self,
        event: EnvelopeEvent,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        if let EnvelopeEvent::CallStart { name } = event {
            let kind = self.start_call(Some(name), ids, out);
            if let Stage::Envelope(open) = &mut self.stage {
                open.kind = kind;
                open.string = StringReader::default();
                open.uncertain = None;
            }
            return Ok(());
        }
        let call = self.calls.saturating_sub(1);
        let text_answer = self.plan.rewrap == Rewrap::CallOrAnswer { text: true };
        let Stage::Envelope(open) = &mut self.stage else {
            return Ok(());
        };
        let delta = match event {
            EnvelopeEvent::Input(text) if open.kind == CallKind::Custom => {
                let text = custom_text(open, &text).map_err(|NoString| {
                    self.violation("json", "a custom tool's input is no string".to_owned())
                })?;
                Delta::CallInput {
                    call,
                    kind: CallKind::Custom,
                    text,
                }
            }
            EnvelopeEvent::Input(text) => Delta::CallInput {
                call,
                kind: open.kind,
                text,
            },
            EnvelopeEvent::CallEnd if !open.held.is_empty() => {
                let held = std::mem::take(&mut open.held);
                let text = wrapped_text(&held).ok_or_else(|| {
                    self.violation("json", "a custom tool's input is no string".to_owned())
                })?;
                Delta::CallInput {
                    call,
                    kind: CallKind::Custom,
                    text,
                }
            }
            EnvelopeEvent::Answer(text) if text_answer => {
                let text = open.string.push(&text).map_err(|NoString| {
                    self.violation("json", "the answer is no string".to_owned())
                })?;
                Delta::Text(text)
            }
            EnvelopeEvent::Answer(text) => Delta::Text(text),
            EnvelopeEvent::CallStart { .. } | EnvelopeEvent::CallEnd | EnvelopeEvent::AnswerEnd => {
                return Ok(());
            }
        };
        match &delta {
            Delta::Text(text) | Delta::CallInput { text, .. } if text.is_empty() => {}
            _ => out.push(delta),
        }
        Ok(())
    }

    fn finish(
        &mut self,
        reason: FinishReason,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let cut = reason.is_cut();
        if cut {
            self.settle_cut(ids, out)?;
        }
        let stage = std::mem::replace(&mut self.stage, Stage::Text);
        match stage {
            Stage::Lead(lead) if !lead.held().trim().is_empty() => match self.plan.rewrap {
                Rewrap::CallOrText | Rewrap::Text => out.push(Delta::Text(lead.held().to_owned())),
                _ if cut => {}
                _ => return Err(self.prose()),
            },
            Stage::Think(mut lead) => {
                let rest = lead.end_think();
                if !rest.is_empty() {
                    out.push(Delta::Reasoning(rest));
                }
            }
            Stage::Bare(mut scanner, _) if !cut => {
                scanner.finish().map_err(|fault| {
                    self.violation("json", format!("the JSON is not whole: {fault}"))
                })?;
            }
            Stage::Envelope(open) => match open.uncertain {
                Some(text) if self.plan.rewrap == Rewrap::CallOrText => out.push(Delta::Text(text)),
                _ if cut => {}
                _ => {
                    return Err(self.violation(
                        "json",
                        "the reply ends in the middle of the JSON".to_owned(),
                    ));
                }
            },
            Stage::Input if self.calls == 0 && !cut => {
                self.start_call(None, ids, out);
            }
            _ => {}
        }
        let reason = match reason {
            reason if cut || self.plan.rewrap == Rewrap::Keep => reason,
            _ if self.calls > 0 => FinishReason::ToolCalls,
            FinishReason::ToolCalls => FinishReason::Stop,
            reason => reason,
        };
        out.push(Delta::Finish(reason));
        Ok(())
    }

    /// The text ends in the middle of what may be no envelope: where no word of one has come, it
    /// is read the other way, so that the client has what there is.
    fn settle_cut(&mut self, ids: &mut Ids, out: &mut Vec<Delta>) -> Result<(), Violation> {
        match &self.stage {
            Stage::Envelope(open) if !open.reader.has_begun() => {}
            _ => return Ok(()),
        }
        match self.without_envelope(ids, out) {
            Some(text) => self.text(&text, ids, out),
            None => Ok(()),
        }
    }

    fn prose(&self) -> Violation {
        match self.plan.rewrap {
            Rewrap::Json => self.violation(
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
        let place = format!("choices[{}].message.content", self.choice);
        self.quote(Violation::new(place, rule, message))
    }
}

/// More of a custom tool's input: a JSON string, or an object around one (the form in which the
/// tool was shown), which is held until it is whole.
fn custom_text(open: &mut Open, raw: &str) -> Result<String, NoString> {
    let is_object = !open.held.is_empty() || !open.string.is_open() && raw.starts_with('{');
    if !is_object {
        return open.string.push(raw);
    }
    open.held.push_str(raw);
    Ok(String::new())
}

/// The text in an object around it.
fn wrapped_text(raw: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(raw).ok()?;
    match (object.len(), object.get("input")) {
        (1, Some(serde_json::Value::String(text))) => Some(text.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
