//! What stands around the JSON that a model was asked for: space, a think block, a code fence,
//! a `<tool_call>` tag. They are taken off only where they stand before the first or after the
//! last byte of the JSON; inside it, everything is data.

const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const TAG: &str = "<tool_call>";
const TAG_END: &str = "</tool_call>";
const FENCE: &str = "```";
/// What chat templates end a turn with: some servers leave it in the text.
const ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "<end_of_turn>",
    "</s>",
];
/// A longer first line of a fence is no language name.
const MAX_FENCE_LINE: usize = 32;

/// What may begin after the lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Opening {
    /// An object or an array.
    #[default]
    Container,
    /// Any JSON value.
    AnyJson,
    /// Any text.
    AnyText,
}

/// The text before the JSON.
#[derive(Debug, Clone, Default)]
pub(super) struct Lead {
    opening: Opening,
    held: String,
    /// What was taken off before what is held.
    stripped: String,
    fenced: bool,
    tagged: bool,
    /// How text around a fence is taken.
    prose: Prose,
    /// So much of what is held has no fence in it.
    searched: usize,
}

/// What becomes of text that stands around a code fence with the JSON in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Prose {
    /// It is no answer.
    #[default]
    Refused,
    /// It is left out.
    LeftOut,
    /// Some is held, before which no fence was.
    Held,
    /// Some was left out.
    WasLeftOut,
}

/// What a text that is left out has none of.
const MARKS: [&str; 3] = [FENCE, "think>", "{"];
const MAX_MARK_BYTES: usize = 5;

/// More prose than this is not searched for a fence.
const MAX_PROSE_BYTES: usize = 1 << 20;

/// What a lead has found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// More is needed.
    Nothing,
    /// A think block; the rest is inside it.
    Think(String),
    /// The JSON begins with the rest.
    Start(String),
    /// Neither: all that was held.
    Prose(String),
}

impl Lead {
    pub(super) fn new(opening: Opening) -> Self {
        Self {
            opening,
            ..Self::default()
        }
    }

    /// The lead of JSON that this was taken off before.
    pub(super) fn after(stripped: String) -> Self {
        Self {
            stripped,
            ..Self::default()
        }
    }

    /// Text around a fence is left out from now on.
    pub(super) fn forgive_prose(&mut self) {
        if self.prose == Prose::Refused {
            self.prose = Prose::LeftOut;
        }
    }

    /// Whether text is held, and no fence has come.
    pub(super) fn holds_prose(&self) -> bool {
        self.prose == Prose::Held
    }

    /// Whether text before a fence was left out.
    pub(super) fn had_prose(&self) -> bool {
        self.prose == Prose::WasLeftOut
    }

    /// From now on something else may begin after it; what that was before.
    pub(super) const fn reopened(&mut self, opening: Opening) -> Opening {
        std::mem::replace(&mut self.opening, opening)
    }

    /// What is held because its meaning is not certain.
    pub(super) fn held(&self) -> &str {
        &self.held
    }

    /// What was taken off, for a text that turns out to be no JSON after all.
    pub(super) fn stripped(&self) -> &str {
        &self.stripped
    }

    /// Whether it opened a code fence, and a tag, whose ends are to follow.
    pub(super) const fn marks(&self) -> (bool, bool) {
        (self.fenced, self.tagged)
    }

    pub(super) fn push(&mut self, text: &str) -> Found {
        self.held.push_str(text);
        loop {
            let trimmed = self.held.trim_start();
            if trimmed.is_empty() {
                // Models run on in space: it is looked at once.
                self.strip(0);
                return Found::Nothing;
            }
            if is_part(trimmed, THINK) {
                return Found::Nothing;
            }
            if let Some(rest) = trimmed.strip_prefix(THINK) {
                let rest = rest.to_owned();
                self.held.clear();
                self.stripped.truncate(self.stripped.trim_end().len());
                return Found::Think(rest);
            }
            if self.opening == Opening::AnyText {
                return self.start();
            }
            if is_part(trimmed, TAG) || is_part(trimmed, FENCE) {
                return Found::Nothing;
            }
            if let Some(rest) = trimmed.strip_prefix(TAG).filter(|_| !self.tagged) {
                let rest = rest.len();
                self.strip(rest);
                self.tagged = true;
            } else if let Some(rest) = trimmed.strip_prefix(FENCE).filter(|_| !self.fenced) {
                match rest.find(['\n', '{', '[']) {
                    Some(at) if at <= MAX_FENCE_LINE => {
                        let rest = rest.len() - at;
                        self.strip(rest);
                        self.fenced = true;
                    }
                    None if rest.len() <= MAX_FENCE_LINE => return Found::Nothing,
                    _ => return Found::Prose(self.take_text()),
                }
            } else if self.opens(trimmed) {
                return self.start();
            } else if !matches!(self.prose, Prose::LeftOut | Prose::Held) {
                return Found::Prose(self.take_text());
            } else {
                match self.fence() {
                    Some(at) if at <= MAX_PROSE_BYTES && is_plain(&self.held[..at]) => {
                        let rest = self.held.len() - at;
                        self.strip(rest);
                        self.prose = Prose::WasLeftOut;
                    }
                    None if self.held.len() <= MAX_PROSE_BYTES + FENCE.len() => {
                        self.prose = Prose::Held;
                        return Found::Nothing;
                    }
                    _ => return Found::Prose(self.take_text()),
                }
            }
        }
    }

    /// Takes off all but the last `rest` bytes of what is held.
    fn strip(&mut self, rest: usize) {
        let held = std::mem::take(&mut self.held);
        let (stripped, held) = held.split_at(held.len() - rest);
        self.stripped.push_str(stripped);
        self.held = held.to_owned();
    }

    /// Where in what is held a line begins with a fence.
    fn fence(&mut self) -> Option<usize> {
        let from = self.searched;
        let found = self.held[from..].match_indices(FENCE).find(|(at, _)| {
            let before = self.held[..from + at].trim_end_matches([' ', '\t']);
            before.is_empty() || before.ends_with('\n')
        });
        if let Some((at, _)) = found {
            self.searched = 0;
            return Some(from + at);
        }
        // The fence may be cut.
        let end = self.held.len().saturating_sub(FENCE.len() - 1).max(from);
        let is_whole = |at: &usize| self.held.is_char_boundary(*at);
        self.searched = (from..=end).rev().find(is_whole).unwrap_or(from);
        None
    }

    /// All of the text, for one that turns out to be no JSON.
    pub(super) fn take_text(&mut self) -> String {
        let mut text = std::mem::take(&mut self.stripped);
        text.push_str(&std::mem::take(&mut self.held));
        text
    }

    fn opens(&self, text: &str) -> bool {
        match self.opening {
            Opening::Container => text.starts_with(['{', '[']),
            Opening::AnyJson => {
                text.starts_with(['{', '[', '"', '-', 't', 'f', 'n'])
                    || text.starts_with(|c: char| c.is_ascii_digit())
            }
            Opening::AnyText => true,
        }
    }

    fn start(&mut self) -> Found {
        let rest = self.held.trim_start().len();
        self.strip(rest);
        Found::Start(std::mem::take(&mut self.held))
    }

    /// Takes text inside a think block: what is thought, and what follows its end.
    pub(super) fn think(&mut self, text: &str) -> (String, Option<String>) {
        self.held.push_str(text);
        if let Some(at) = self.held.find(THINK_END) {
            let rest = self.held[at + THINK_END.len()..].to_owned();
            self.held.truncate(at);
            return (std::mem::take(&mut self.held), Some(rest));
        }
        // The end mark may be cut: hold the longest tail that could begin it.
        let keep = (1..THINK_END.len())
            .rev()
            .find(|len| self.held.ends_with(&THINK_END[..*len]))
            .unwrap_or(0);
        let tail = self.held.split_off(self.held.len() - keep);
        (std::mem::replace(&mut self.held, tail), None)
    }

    /// The think block was never closed: what is still held of it.
    pub(super) fn end_think(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// What may follow the JSON.
    pub(super) fn tail(&self) -> Tail {
        Tail {
            opening: self.opening,
            held: String::new(),
            fenced: self.fenced,
            tagged: self.tagged,
            again: false,
            prose: if self.fenced {
                self.prose
            } else {
                Prose::Refused
            },
        }
    }
}

/// Whether text around a fence says nothing that could be an answer too, or the end of thoughts in which the fence is a draft.
fn is_plain(text: &str) -> bool {
    !MARKS.iter().any(|mark| text.contains(mark))
}

/// Whether `text` is a true prefix of `mark`: more is needed to tell.
fn is_part(text: &str, mark: &str) -> bool {
    text.len() < mark.len() && mark.starts_with(text)
}

/// The text after the JSON.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    opening: Opening,
    held: String,
    fenced: bool,
    tagged: bool,
    /// A closed tag may be followed by another.
    again: bool,
    /// How text behind a fence is taken.
    prose: Prose,
}

impl Tail {
    /// Whether text behind a fence was left out.
    pub(super) fn had_prose(&self) -> bool {
        self.prose == Prose::WasLeftOut
    }

    /// Takes more of the tail; the lead of another tagged call, where one begins.
    ///
    /// # Errors
    /// The text that nothing allows there.
    pub(super) fn push(&mut self, text: &str) -> Result<Option<(Lead, String)>, String> {
        self.held.push_str(text);
        loop {
            let trimmed = self.held.trim_start();
            if trimmed.is_empty() {
                self.held.clear();
                return Ok(None);
            }
            let marks = [
                (self.fenced, FENCE),
                (self.tagged, TAG_END),
                (self.again, TAG),
            ];
            let ends = ENDS.map(|mark| (true, mark));
            let marks = marks.into_iter().chain(ends);
            let Some((_, mark)) = marks.into_iter().find(|(open, mark)| {
                *open && (trimmed.starts_with(mark) || is_part(trimmed, mark))
            }) else {
                let may_stand = self.prose != Prose::Refused && !self.fenced;
                if !may_stand || !is_plain(&self.held) {
                    return Err(std::mem::take(&mut self.held));
                }
                // A mark may be cut.
                let most = self.held.len().saturating_sub(MAX_MARK_BYTES);
                let begins = |at: &usize| self.held.is_char_boundary(*at);
                let from = (most..=self.held.len()).find(begins).unwrap_or(0);
                self.held.drain(..from);
                self.prose = Prose::WasLeftOut;
                return Ok(None);
            };
            let Some(rest) = trimmed.strip_prefix(mark) else {
                return Ok(None);
            };
            let rest = rest.to_owned();
            match mark {
                FENCE => self.fenced = false,
                mark if ENDS.contains(&mark) => {}
                TAG_END => {
                    self.tagged = false;
                    self.again = true;
                }
                _ => {
                    let lead = Lead {
                        opening: self.opening,
                        tagged: true,
                        ..Lead::default()
                    };
                    return Ok(Some((lead, rest)));
                }
            }
            self.held = rest;
        }
    }
}
