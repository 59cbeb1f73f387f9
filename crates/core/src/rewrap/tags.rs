//! Text with calls between tags: what of it is text, and where a call begins and ends.
//!
//! A call's JSON is read by the envelope's reader, so that inside of it nothing is a tag. Text goes
//! out as it comes; only blanks and what may begin a tag wait for what follows. Blanks around calls
//! are layout: they go out only between two pieces of text.

use super::lead::Lead;
use super::open::Open;
use super::{Rewrapper, Stage};
use crate::ir::{Delta, Ids, Rewrap, Violation};
use crate::json::envelope::{Caps, EnvelopeReader, Shape};

const TAG: &str = "<tool_call>";
const TAG_END: &str = "</tool_call>";
/// More blanks are text: they are not held until it is known what follows.
const MAX_BLANK_BYTES: usize = 64 << 10;
/// More blanks before the first key begin no call.
const MAX_INDENT_BYTES: usize = 64;

/// What a call without tags begins with, as models write it whose templates show them no tags.
const FIRST_KEYS: [&str; 4] = ["\"name\"", "\"arguments\"", "\"parameters\"", "\"type\""];

/// The text outside of calls.
#[derive(Debug, Default)]
pub(super) struct TagText {
    /// Blanks that go out if text follows.
    blank: String,
    /// So many bytes of the tag have come.
    seen: usize,
    /// Some text went out.
    said: bool,
    /// No text has come since the last call.
    called: bool,
    /// `blank` is of before that call: what follows it does not count.
    kept: bool,
}

impl TagText {
    /// Takes a piece of text: what goes out, and what follows the tag where one was opened.
    fn take(&mut self, text: &str) -> (String, Option<String>) {
        let mut ready = String::new();
        for (at, c) in text.char_indices() {
            if self.seen > 0 {
                if TAG[self.seen..].starts_with(c) {
                    self.seen += 1;
                    if self.seen == TAG.len() {
                        return (ready, Some(text[at + 1..].to_owned()));
                    }
                    continue;
                }
                let seen = std::mem::take(&mut self.seen);
                self.say(&TAG[..seen], &mut ready);
            }
            if c == '<' {
                self.seen = 1;
            } else if c.is_whitespace() {
                self.space(c, &mut ready);
            } else {
                self.say(c.encode_utf8(&mut [0; 4]), &mut ready);
            }
        }
        (ready, None)
    }

    fn say(&mut self, text: &str, ready: &mut String) {
        ready.push_str(&std::mem::take(&mut self.blank));
        ready.push_str(text);
        self.said = true;
        self.called = false;
        self.kept = false;
    }

    fn space(&mut self, c: char, ready: &mut String) {
        if self.called && (self.kept || !self.said) {
            return;
        }
        self.blank.push(c);
        if self.blank.len() >= MAX_BLANK_BYTES {
            self.say("", ready);
        }
    }

    /// Whether nothing was read of it yet.
    pub(super) const fn is_new(&self) -> bool {
        !self.said && !self.called
    }

    /// A tag was opened: what was held for it, for the case that it opens no call.
    fn open(&mut self) -> String {
        self.seen = 0;
        let held = self.blank.clone() + TAG;
        self.called();
        held
    }

    fn called(&mut self) {
        if !self.said {
            self.blank.clear();
        }
        self.kept = !self.blank.is_empty();
        self.called = true;
    }

    /// What is still held where the text ends.
    fn end(&mut self) -> String {
        let blank = std::mem::take(&mut self.blank);
        match std::mem::take(&mut self.seen) {
            0 if self.called => String::new(),
            seen => blank + &TAG[..seen],
        }
    }
}

/// Whether a content with this beginning may be a bare call; `None` where more is needed to tell.
fn may_be_call(text: &str) -> Option<bool> {
    let Some(rest) = text.strip_prefix('{') else {
        return Some(false);
    };
    let key = rest.trim_start();
    if rest.len() - key.len() > MAX_INDENT_BYTES {
        return Some(false);
    }
    if FIRST_KEYS.iter().any(|known| key.starts_with(known)) {
        return Some(true);
    }
    let is_part = FIRST_KEYS.iter().any(|known| known.starts_with(key));
    if is_part { None } else { Some(false) }
}

impl Rewrapper {
    /// The beginning of the content, until it is known whether it is a bare call.
    pub(super) fn beginning(&mut self, text: &str) -> String {
        let Stage::Beginning(lead, held) = &mut self.stage else {
            return text.to_owned();
        };
        held.push_str(text);
        if self.plan.rewrap == Rewrap::TaggedCallsOrAnswer {
            return self.calls_or_answer();
        }
        let Some(is_call) = may_be_call(held) else {
            return String::new();
        };
        let (lead, held) = (std::mem::take(lead), std::mem::take(held));
        if !is_call {
            self.stage = Stage::Tags(TagText::default());
            return lead.stripped().to_owned() + &held;
        }
        let reader = EnvelopeReader::new(Shape::One, Caps::default()).cautious();
        // Where it is no call after all, the text is what came.
        let mender = self.mending.envelope(&lead, false);
        self.stage = Stage::Envelope(Box::new(Open::new(reader, lead, true, mender)));
        held
    }

    /// The beginning of calls or an answer: the tag alone tells. What opens no call after all is
    /// the answer.
    fn calls_or_answer(&mut self) -> String {
        let Stage::Beginning(lead, held) = &mut self.stage else {
            return String::new();
        };
        if held.len() < TAG.len() && TAG.starts_with(held.as_str()) {
            return String::new();
        }
        let (mut lead, held) = (std::mem::take(lead), std::mem::take(held));
        let Some(rest) = held.strip_prefix(TAG) else {
            self.stage = Stage::Text;
            return lead.stripped().to_owned() + &held;
        };
        lead = Lead::after(lead.stripped().to_owned() + TAG);
        let reader = EnvelopeReader::new(Shape::One, Caps::default()).cautious();
        let mut open = Open::new(reader, lead, true, None);
        let mut tags = TagText::default();
        tags.called();
        open.tags = Some(tags);
        self.stage = Stage::Envelope(Box::new(open));
        rest.to_owned()
    }

    /// Text outside of calls.
    pub(super) fn tag_text(&mut self, text: &str, out: &mut Vec<Delta>) -> String {
        let Stage::Tags(tags) = &mut self.stage else {
            return text.to_owned();
        };
        let (ready, rest) = tags.take(text);
        if !ready.is_empty() {
            out.push(Delta::Text(ready));
        }
        let Some(rest) = rest else {
            return String::new();
        };
        let lead = Lead::after(tags.open());
        let reader = EnvelopeReader::new(Shape::One, Caps::default());
        let mender = self.mending.tagged();
        let mut open = Open::new(reader, lead, false, mender);
        open.tags = Some(std::mem::take(tags));
        self.stage = Stage::Envelope(Box::new(open));
        rest
    }

    /// The stage after a call: its end tag, or text where it has none.
    pub(super) fn after_call(tags: Option<TagText>) -> Stage {
        match tags {
            Some(tags) => Stage::Close(tags, 0),
            None => {
                let mut tags = TagText::default();
                tags.called();
                Stage::Tags(tags)
            }
        }
    }

    /// The end tag. A text that ends before it lacks nothing of the call.
    pub(super) fn close_tag(&mut self, text: &str) -> Result<String, Violation> {
        let Stage::Close(tags, seen) = &mut self.stage else {
            return Ok(text.to_owned());
        };
        for (at, c) in text.char_indices() {
            if *seen == 0 && c.is_whitespace() {
                continue;
            }
            if !TAG_END[*seen..].starts_with(c) {
                self.unread = TAG_END[..*seen].to_owned() + &text[at..];
                let message = format!("a call is not followed by {TAG_END}");
                return Err(self.violation("json", message));
            }
            *seen += 1;
            if *seen == TAG_END.len() {
                self.stage = Stage::Tags(std::mem::take(tags));
                return Ok(text[at + 1..].to_owned());
            }
        }
        Ok(String::new())
    }

    /// The text ends, or the server goes on with calls of its own: what was held is text.
    pub(super) fn settle_tags(
        &mut self,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), Violation> {
        let is_answer = self.plan.rewrap == Rewrap::TaggedCallsOrAnswer;
        let text = match &mut self.stage {
            Stage::Lead(lead) if is_answer => lead.take_text(),
            Stage::Lead(lead) if !lead.held().trim().is_empty() => lead.take_text(),
            Stage::Beginning(lead, held) => lead.stripped().to_owned() + held,
            Stage::Envelope(_) => self.without_envelope(ids, out).unwrap_or_default(),
            _ => String::new(),
        };
        if !text.is_empty() {
            self.stage = match is_answer {
                true => Stage::Text,
                false => Stage::Tags(TagText::default()),
            };
            self.text(text, ids, out)?;
        }
        if let Stage::Tags(tags) = &mut self.stage {
            let rest = tags.end();
            if !rest.is_empty() {
                out.push(Delta::Text(rest));
            }
        }
        Ok(())
    }
}
