//! What a model wrote wrongly is mended on its way: the JSON before it is read, the names of
//! tools where a call begins. What is right already passes as it is.

mod keys;

use super::lead::Lead;
use super::{Rewrapper, Stage};
use crate::ir::{CallKind, Delta, Ids, RepairStep, Repairs, Violation};
use crate::json::scan::Scanner;
use crate::repair::{Mender, Surroundings, names};
use keys::Keys;

/// What is mended.
#[derive(Debug, Clone, Default)]
pub struct Mending {
    /// JSON that stands in the content.
    pub is_content: bool,
    /// The arguments of calls that the server made.
    pub is_calls: bool,
    /// Somebody will look at closing brackets that are added.
    pub is_watched: bool,
    /// The request's tools, where their names are mended; `None` for one that the server hosts,
    /// which is never meant by another name.
    pub tools: Vec<(String, Option<CallKind>)>,
}

/// One JSON value on its way.
#[derive(Debug, Default)]
pub(super) struct Bare {
    pub(super) scanner: Scanner,
    lead: Lead,
    mender: Option<Mender>,
}

/// The menders of the server's calls, each with the call's place.
#[derive(Debug, Default)]
pub(super) struct CallMenders {
    open: Vec<(u32, Mender)>,
    keys: Keys,
}

impl CallMenders {
    /// What reads on where the text is given up: calls come so many places later.
    pub(super) fn later(&mut self, places: u32) {
        for (call, _) in &mut self.open {
            *call = call.saturating_add(places);
        }
        self.keys.later(places);
    }
}

impl Mending {
    /// The mender of an envelope; none where a text that is no envelope is right as well.
    pub(super) fn envelope(&self, lead: &Lead, may_be_text: bool) -> Option<Mender> {
        (self.is_content && !may_be_text).then(|| Mender::new(self.frame(lead, true)))
    }

    /// The mender of an envelope between tags.
    pub(super) fn tagged(&self) -> Option<Mender> {
        let frame = Surroundings {
            is_tagged: true,
            ..self.frame(&Lead::default(), true)
        };
        self.is_content.then(|| Mender::new(frame))
    }

    fn bare(&self, lead: &Lead) -> Option<Mender> {
        self.is_content
            .then(|| Mender::new(self.frame(lead, false)))
    }

    const fn frame(&self, lead: &Lead, is_envelope: bool) -> Surroundings {
        let (is_fenced, is_tagged) = lead.marks();
        Surroundings {
            is_envelope,
            is_fenced,
            is_tagged,
            is_unwatched: !self.is_watched,
        }
    }

    fn takes_json(&self, name: &str) -> bool {
        self.tools
            .iter()
            .any(|(tool, kind)| tool == name && *kind == Some(CallKind::Function))
    }
}

impl Rewrapper {
    /// The same rewrapper, mending what it reads.
    #[must_use]
    pub fn mending(mut self, mending: Mending) -> Self {
        self.mending = mending;
        self
    }

    /// What was mended so far.
    #[must_use]
    pub const fn repairs(&self) -> Repairs {
        self.repairs
    }

    /// The tool that is meant by a name.
    pub(super) fn meant(&mut self, name: String) -> String {
        let known = self.mending.tools.iter().map(|(tool, _)| tool.as_str());
        let is_hosted = |tool: &str| {
            let mut tools = self.mending.tools.iter();
            tools.any(|(known, kind)| known == tool && kind.is_none())
        };
        match names::repair(&name, known).filter(|tool| !is_hosted(tool)) {
            Some(tool) => {
                self.repairs.add(RepairStep::ToolName);
                tool.to_owned()
            }
            None => name,
        }
    }

    /// A delta of the server's own calls, mended, under the client's names; the end of the call before goes out first.
    /// `None` where all of it is held.
    pub(super) fn mend_call(&mut self, delta: Delta, out: &mut Vec<Delta>) -> Option<Delta> {
        let mended = self.mended_call(delta, out)?;
        self.stated_keys(mended)
    }

    fn mended_call(&mut self, delta: Delta, out: &mut Vec<Delta>) -> Option<Delta> {
        let mended = match delta {
            Delta::CallStart { .. } if self.plan.one_call && self.calls > 0 => delta,
            Delta::CallStart {
                call,
                id,
                name,
                kind,
            } => {
                self.end_calls(false, out);
                let name = self.meant(name);
                if self.mending.is_calls
                    && kind == CallKind::Function
                    && self.mending.takes_json(&name)
                {
                    let frame = Surroundings {
                        is_unwatched: !self.mending.is_watched,
                        ..Surroundings::default()
                    };
                    self.call_menders.open.push((call, Mender::new(frame)));
                }
                Delta::CallStart {
                    call,
                    id,
                    name,
                    kind,
                }
            }
            Delta::CallInput { call, kind, text } => {
                let mut menders = self.call_menders.open.iter_mut();
                let text = match menders.find(|(open, _)| *open == call) {
                    Some((_, mender)) => {
                        let mut mended = String::with_capacity(text.len());
                        let taken = mender.push(&text, &mut mended);
                        self.repairs.join(mender.steps());
                        mended.push_str(&text[taken..]);
                        if mended.is_empty() && !text.is_empty() {
                            return None;
                        }
                        mended
                    }
                    None => text,
                };
                Delta::CallInput { call, kind, text }
            }
            delta => delta,
        };
        Some(mended)
    }

    /// The server's calls that are open end.
    fn end_calls(&mut self, is_cut: bool, out: &mut Vec<Delta>) {
        for (call, mut mender) in std::mem::take(&mut self.call_menders.open) {
            let mut text = String::new();
            if is_cut {
                mender.cut(&mut text);
            } else {
                mender.finish(&mut text);
            }
            self.repairs.join(mender.steps());
            let is_sent = !self.plan.one_call || call == 0;
            if !text.is_empty() && is_sent {
                let kind = CallKind::Function;
                out.extend(self.stated_keys(Delta::CallInput { call, kind, text }));
            }
        }
    }

    /// The stage that reads one JSON value.
    pub(super) fn bare_stage(&self, lead: Lead) -> Stage {
        let mender = self.mending.bare(&lead);
        Stage::Bare(Box::new(Bare {
            scanner: Scanner::new(),
            lead,
            mender,
        }))
    }

    /// A piece of one JSON value.
    pub(super) fn bare(&mut self, text: &str, out: &mut Vec<Delta>) -> Result<String, Violation> {
        let Stage::Bare(bare) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        let Some(mender) = &mut bare.mender else {
            return self.bare_json(text, out);
        };
        let mut json = String::with_capacity(text.len());
        let taken = mender.push(text, &mut json);
        let is_over = taken < text.len();
        self.repairs.join(mender.steps());
        let rest = self.bare_json(&json, out);
        let rest = rest.inspect_err(|_| self.unread.push_str(&text[taken..]))?;
        if is_over {
            self.end_bare()?;
        }
        Ok(rest + &text[taken..])
    }

    /// A piece of JSON, mended or not.
    fn bare_json(&mut self, text: &str, out: &mut Vec<Delta>) -> Result<String, Violation> {
        let Stage::Bare(bare) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        let scanner = &mut bare.scanner;
        let mut end = text.len();
        let mut fault = None;
        for (at, byte) in text.bytes().enumerate() {
            if scanner.is_complete() {
                end = at;
                break;
            }
            if let Err(found) = scanner.push(byte) {
                end = at;
                // A number at the root ends where something else begins.
                fault = Some(found).filter(|_| !scanner.is_after_value());
                break;
            }
        }
        let is_over = scanner.is_complete() || end < text.len();
        let tail = bare.lead.tail();
        // A fault may stand within a character: it goes with what follows.
        end = (0..=end)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        let (piece, rest) = text.split_at(end);
        if !piece.is_empty() {
            let text = piece.to_owned();
            out.push(match self.calls.checked_sub(1) {
                Some(call) => Delta::CallInput {
                    call,
                    kind: CallKind::Function,
                    text,
                },
                None => Delta::Text(text),
            });
        }
        if let Some(fault) = fault {
            self.unread = rest.to_owned();
            let message = format!("the text is not the JSON that is asked for: {fault}");
            return Err(self.violation("json", message));
        }
        if is_over {
            self.stage = Stage::Tail(tail);
        }
        Ok(rest.to_owned())
    }

    /// The mender has seen the value's end.
    fn end_bare(&mut self) -> Result<(), Violation> {
        let Stage::Bare(bare) = &mut self.stage else {
            return Ok(());
        };
        let tail = bare.lead.tail();
        bare.scanner
            .finish()
            .map_err(|fault| self.violation("json", format!("the JSON is not whole: {fault}")))?;
        self.stage = Stage::Tail(tail);
        Ok(())
    }

    /// What an envelope's mender did counts once the text means something.
    pub(super) fn note_envelope(&mut self, steps: Repairs) {
        let is_read = match &self.stage {
            Stage::Envelope(open) => open.raw.is_none(),
            Stage::Tags(tags) if tags.is_new() => false,
            stage => !matches!(stage, Stage::Bare(_) | Stage::Text),
        };
        if is_read {
            self.repairs.join(steps);
        }
    }

    /// The text ends: what menders hold goes out, and what is missing is added.
    pub(super) fn end_mending(
        &mut self,
        is_cut: bool,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        self.end_calls(is_cut, out);
        self.end_keys(out);
        let mender = match &mut self.stage {
            Stage::Bare(bare) => bare.mender.take(),
            Stage::Envelope(open) => open.mender.take(),
            _ => None,
        };
        let Some(mut mender) = mender else {
            return Ok(());
        };
        let mut text = String::new();
        if is_cut {
            mender.cut(&mut text);
        } else {
            mender.finish(&mut text);
        }
        let rest = match &self.stage {
            Stage::Bare(_) => self.bare_json(&text, out)?,
            _ => self.envelope_json(&text, ids, out)?,
        };
        self.repairs.join(mender.steps());
        self.text(rest, ids, out)
    }
}
