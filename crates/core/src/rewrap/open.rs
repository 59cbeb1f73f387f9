//! The stage in which content is an envelope: what its events say to the client, and what happens
//! where it turns out to be none.

use super::lead::Lead;
use super::tags::TagText;
use super::{Rewrapper, Stage};
use crate::ir::{CallKind, Delta, Ids, Rewrap, Violation};
use crate::json::envelope::{EnvelopeEvent, EnvelopeReader};
use crate::json::string::{NoString, StringReader};
use crate::repair::Mender;

/// More text than this is not held until its meaning is certain: it is a violation.
const MAX_RAW_BYTES: usize = 8 << 20;

#[derive(Debug)]
pub(super) struct Open {
    pub(super) reader: EnvelopeReader,
    pub(super) lead: Lead,
    /// What the reader is given is mended first.
    pub(super) mender: Option<Mender>,
    /// All of the text so far, until it has a meaning.
    pub(super) raw: Option<String>,
    /// It may still turn out to be no envelope, and mean something all the same.
    pub(super) is_uncertain: bool,
    /// The bytes taken so far.
    pub(super) taken: usize,
    /// The current call's kind.
    pub(super) kind: CallKind,
    /// The text of the answer, or of a custom tool's input, which come as JSON strings.
    pub(super) string: StringReader,
    /// A custom tool's input that came as an object: raw JSON, read when it is whole.
    pub(super) held: String,
    /// The text around it, where it stands between tags.
    pub(super) tags: Option<TagText>,
    /// A call too many, which nobody is told of.
    pub(super) is_dropped: bool,
    /// Empty; kept for their memory.
    events: Vec<EnvelopeEvent>,
    mended: String,
}

impl Rewrapper {
    pub(super) fn envelope(
        &mut self,
        text: &str,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<String, Violation> {
        let Stage::Envelope(open) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        if let Some(raw) = &mut open.raw {
            raw.push_str(text);
        }
        let Some(mender) = &mut open.mender else {
            return self.envelope_json(text, ids, out);
        };
        let mut json = std::mem::take(&mut open.mended);
        let taken = mender.push(text, &mut json);
        let steps = mender.steps();
        let rest = self.envelope_json(&json, ids, out)?;
        self.note_envelope(steps);
        if let Stage::Envelope(open) = &mut self.stage {
            json.clear();
            open.mended = json;
        }
        // Where the text is read another way, all of it has come back.
        match &self.stage {
            Stage::Bare(_) | Stage::Text => Ok(rest),
            Stage::Tags(tags) if tags.is_new() => Ok(rest),
            _ => Ok(rest + &text[taken..]),
        }
    }

    /// Reads JSON of an envelope, mended or not.
    pub(super) fn envelope_json(
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
            events = std::mem::take(&mut open.events);
            // An envelope can end only at a closing bracket.
            while !rest.is_empty() && !complete && fault.is_none() {
                let end = rest.find(['}', ']']).map_or(rest.len(), |at| at + 1);
                fault = open.reader.push(&rest[..end], &mut events).err();
                complete = open.reader.is_complete();
                rest = &rest[end..];
            }
        }
        for event in events.drain(..) {
            if let Err(violation) = self.event(event, ids, out) {
                self.leave_envelope(text, usize::MAX);
                return Err(violation);
            }
        }
        if let Stage::Envelope(open) = &mut self.stage {
            open.events = events;
        }
        if let Some(fault) = fault {
            if let Some(rest) = self.without_envelope(ids, out) {
                return Ok(rest);
            }
            self.leave_envelope(text, fault.offset);
            return Err(self.violation(
                "json",
                format!("the text is not the call that is asked for: {fault}"),
            ));
        }
        self.bound_raw(text.len())?;
        if complete && let Stage::Envelope(open) = &mut self.stage {
            self.stage = match self.plan.rewrap {
                Rewrap::TaggedCalls | Rewrap::TaggedCallsOrAnswer => {
                    Self::after_call(open.tags.take())
                }
                _ => Stage::Tail(open.lead.tail()),
            };
        }
        Ok(rest.to_owned())
    }

    /// Notes what an envelope that broke at this byte leaves unread.
    fn leave_envelope(&mut self, text: &str, fault: usize) {
        if let Stage::Envelope(open) = &mut self.stage {
            self.unread = match open.raw.take() {
                Some(raw) => open.lead.stripped().to_owned() + &raw,
                None => text
                    .get(fault.saturating_sub(open.taken)..)
                    .unwrap_or_default()
                    .to_owned(),
            };
        }
    }

    /// What has a meaning is not kept, and the rest only up to a limit.
    fn bound_raw(&mut self, taken: usize) -> Result<(), Violation> {
        if let Stage::Envelope(open) = &mut self.stage {
            open.taken += taken;
            if open
                .raw
                .as_ref()
                .is_some_and(|raw| raw.len() > MAX_RAW_BYTES)
            {
                self.unread = open.raw.take().unwrap_or_default();
                let message = format!("no call has begun after {MAX_RAW_BYTES} bytes");
                return Err(self.violation("size", message));
            }
        }
        Ok(())
    }

    /// Goes on without an envelope, where no call has begun and there is another way to read the
    /// text: the whole of it comes back, for the stage that reads it.
    pub(super) fn without_envelope(
        &mut self,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Option<String> {
        let Stage::Envelope(open) = &mut self.stage else {
            return None;
        };
        let mut text = open.raw.take_if(|_| open.is_uncertain)?;
        let lead = open.lead.clone();
        self.stage = match &self.plan.rewrap {
            Rewrap::CallOrText | Rewrap::TaggedCallsOrAnswer => {
                text.insert_str(0, lead.stripped());
                self.marked_text().unwrap_or(Stage::Text)
            }
            Rewrap::TaggedCalls => {
                text.insert_str(0, lead.stripped());
                Stage::Tags(TagText::default())
            }
            Rewrap::Call => {
                let only = self.plan.tools.keys().next().cloned();
                if self.start_call(only, ids, out) == CallKind::Custom {
                    return None;
                }
                self.bare_stage(lead)
            }
            _ => self.bare_stage(lead),
        };
        Some(text)
    }

    /// Whether the call that begins is one too many, which nothing kept the model from making.
    fn drops_next_call(&mut self) -> bool {
        let is_first = self.calls == 0 || !self.plan.one_call;
        let Stage::Envelope(open) = &mut self.stage else {
            return false;
        };
        if is_first || open.tags.is_none() {
            return false;
        }
        open.is_dropped = true;
        open.raw = None;
        true
    }

    fn event(
        &mut self,
        event: EnvelopeEvent,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        if let EnvelopeEvent::CallStart { name } = event {
            if self.drops_next_call() {
                return Ok(());
            }
            let kind = self.start_call(Some(name), ids, out);
            if let Stage::Envelope(open) = &mut self.stage {
                open.kind = kind;
                open.string = StringReader::default();
                open.raw = None;
            }
            return Ok(());
        }
        let call = self.calls.saturating_sub(1);
        let is_text = self.plan.rewrap == Rewrap::CallOrAnswer { text: true };
        let Stage::Envelope(open) = &mut self.stage else {
            return Ok(());
        };
        if open.is_dropped {
            return Ok(());
        }
        match open.read(event, call, is_text) {
            Ok(Delta::Text(text) | Delta::CallInput { text, .. }) if text.is_empty() => Ok(()),
            Ok(delta) => {
                open.raw = None;
                out.push(delta);
                Ok(())
            }
            Err(message) => Err(self.violation("json", message.to_owned())),
        }
    }
}

impl Open {
    pub(super) fn new(
        reader: EnvelopeReader,
        lead: Lead,
        is_uncertain: bool,
        mender: Option<Mender>,
    ) -> Self {
        Self {
            mender,
            reader,
            lead,
            raw: Some(String::new()),
            is_uncertain,
            taken: 0,
            kind: CallKind::Function,
            string: StringReader::default(),
            held: String::new(),
            tags: None,
            is_dropped: false,
            events: Vec::new(),
            mended: String::new(),
        }
    }

    /// What an event says within the current call, or within the answer.
    fn read(
        &mut self,
        event: EnvelopeEvent,
        call: u32,
        is_text: bool,
    ) -> Result<Delta, &'static str> {
        const NO_INPUT: &str = "a custom tool's input is no string";
        let kind = self.kind;
        let input = |text| Delta::CallInput { call, kind, text };
        match event {
            EnvelopeEvent::Input(raw) if kind == CallKind::Custom => self
                .custom_text(&raw)
                .map(input)
                .map_err(|NoString| NO_INPUT),
            EnvelopeEvent::CallEnd if !self.held.is_empty() => {
                let held = std::mem::take(&mut self.held);
                wrapped_text(&held).map(input).ok_or(NO_INPUT)
            }
            EnvelopeEvent::Input(text) => Ok(input(text)),
            EnvelopeEvent::Answer(raw) if is_text => {
                let text = self.string.push(&raw);
                text.map(Delta::Text)
                    .map_err(|NoString| "the answer is no string")
            }
            EnvelopeEvent::Answer(text) => Ok(Delta::Text(text)),
            EnvelopeEvent::CallStart { .. } | EnvelopeEvent::CallEnd | EnvelopeEvent::AnswerEnd => {
                Ok(Delta::Text(String::new()))
            }
        }
    }

    /// More of a custom tool's input: a JSON string, or an object around one (the form in which
    /// the tool was shown), which is held until it is whole.
    fn custom_text(&mut self, raw: &str) -> Result<String, NoString> {
        let is_object = !self.held.is_empty() || !self.string.is_open() && raw.starts_with('{');
        if !is_object {
            return self.string.push(raw);
        }
        self.held.push_str(raw);
        Ok(String::new())
    }
}

/// The text in an object around it.
fn wrapped_text(raw: &str) -> Option<String> {
    let object: serde_json::Map<String, serde_json::Value> = crate::json::object(raw).ok()?;
    match (object.len(), object.get("input")) {
        (1, Some(serde_json::Value::String(text))) => Some(text.clone()),
        _ => None,
    }
}
