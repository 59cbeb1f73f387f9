//! JSON as weak models write it in, piece by piece; JSON out, as soon as it is certain.
//!
//! One state machine over characters. What is JSON already passes byte for byte; what has no
//! certain reading passes as it is, so that whoever scans the result finds the fault where the
//! model made it. The result never depends on the chunking.

mod levels;

use crate::ir::{RepairStep, Repairs};
use crate::json::scan::MAX_DEPTH;
use levels::Levels;

/// More blanks behind a comma, or a longer word, are passed on as they are.
const MAX_HELD_BYTES: usize = 4096;

/// Words that are no keys: Python and JavaScript would not agree on what they say there.
const NO_KEYS: [&str; 8] = [
    "true", "false", "null", "True", "False", "None", "NaN", "Infinity",
];

/// What stands around the text that is mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// The outermost object, or each object of the outermost array, is an envelope around a call:
    /// its keys are known.
    pub is_envelope: bool,
    /// A code fence was opened before it, whose end ends the text.
    pub is_fenced: bool,
    /// So was a tag.
    pub is_tagged: bool,
    /// Nobody looks at the closing brackets that are added: only those are which no schema could
    /// want elsewhere.
    pub is_unwatched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come.
    Value,
    /// After `[`.
    FirstItem,
    /// After `{`.
    FirstKey,
    /// After an object's comma.
    Key,
    /// After a key.
    Colon,
    /// After a value.
    After,
    /// After a comma, which is held with the blanks behind it.
    Comma,
    /// In a string; a backslash may be held.
    Text {
        quote: char,
        is_key: bool,
        escape: bool,
    },
    /// In a number or literal, which passes as it comes.
    Plain { is_number: bool },
    /// In a word that is held.
    Word { is_key: bool },
    /// After a slash, which is held.
    Slash,
    /// In a comment to the line's end, after a quote or not.
    Line { quoted: bool },
    /// In a comment, after an asterisk or not, after a quote or not.
    Block { star: bool, quoted: bool },
    /// The root value has ended.
    Done,
    /// Whatever follows passes as it is.
    Broken,
}

/// Mends one JSON text.
#[derive(Debug, Clone)]
pub struct Mender {
    frame: Surroundings,
    state: State,
    /// Where a comment leads back to.
    back: State,
    levels: Levels,
    held: String,
    steps: Repairs,
}

/// Mends a whole text; `None` where the result would be no JSON, or nothing was to be done.
#[must_use]
pub fn mend(text: &str) -> Option<(String, Repairs)> {
    let mut mender = Mender::new(Surroundings::default());
    let mut out = String::with_capacity(text.len());
    let taken = mender.push(text, &mut out);
    mender.finish(&mut out);
    let rest = &text[taken..];
    let is_good = rest.trim().is_empty() && !mender.steps.is_empty() && super::is_json(&out);
    is_good.then(|| (out + rest, mender.steps))
}

impl Mender {
    /// A mender at the start of a text.
    #[must_use]
    pub const fn new(frame: Surroundings) -> Self {
        Self {
            frame,
            state: State::Value,
            back: State::Value,
            levels: Levels::new(),
            held: String::new(),
            steps: Repairs::of_none(),
        }
    }

    /// What was mended so far.
    #[must_use]
    pub const fn steps(&self) -> Repairs {
        self.steps
    }

    /// Takes the next piece and appends what it makes certain. Less than all of it is taken where
    /// the root value has ended.
    pub fn push(&mut self, text: &str, out: &mut String) -> usize {
        for (at, c) in text.char_indices() {
            if !self.take(c, out) {
                return at;
            }
        }
        text.len()
    }

    /// The text ended because the model was done: what is missing at its end is added.
    pub fn finish(&mut self, out: &mut String) {
        match self.state {
            State::Word { is_key: false } => self.end_word(out),
            State::Plain { is_number } if !is_number || self.levels.is_empty() => self.end_value(),
            _ => {}
        }
        if self.state == State::After {
            self.close_all(out);
        }
        self.cut(out);
    }

    /// The text ended anywhere: what is held passes as it came.
    pub fn cut(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.held));
        match self.state {
            State::Text { escape: true, .. } => out.push('\\'),
            State::Slash => out.push('/'),
            _ => {}
        }
        self.state = State::Broken;
    }

    /// Takes one character; `false` where it stands behind the text.
    fn take(&mut self, c: char, out: &mut String) -> bool {
        match self.state {
            State::Broken => out.push(c),
            State::Done => return false,
            State::Text {
                quote,
                is_key,
                escape,
            } => self.text(c, quote, is_key, escape, out),
            State::Plain { .. } if is_word(c) || matches!(c, '+' | '-' | '.') => out.push(c),
            State::Plain { .. } => {
                self.end_value();
                return self.take(c, out);
            }
            State::Word { .. } if is_word(c) => {
                self.held.push(c);
                if self.held.len() > MAX_HELD_BYTES {
                    self.give_up(out);
                }
            }
            State::Word { .. } => {
                self.end_word(out);
                return self.take(c, out);
            }
            State::Slash | State::Line { .. } | State::Block { .. } => return self.comment(c, out),
            _ => return self.between(c, out),
        }
        true
    }

    /// A character between the JSON's tokens.
    fn between(&mut self, c: char, out: &mut String) -> bool {
        let is_inside = !self.levels.is_empty();
        match c {
            ' ' | '\t' | '\n' | '\r' => {
                if self.state == State::Comma {
                    self.held.push(c);
                    if self.held.len() > MAX_HELD_BYTES {
                        self.comma(out);
                    }
                } else {
                    out.push(c);
                }
            }
            '/' | '#' if is_inside => {
                self.back = self.state;
                self.state = if c == '/' {
                    State::Slash
                } else {
                    State::Line { quoted: false }
                };
            }
            '}' | ']' => self.close(c, out),
            '`' | '<' if self.ends_frame(c) => {
                self.close_all(out);
                if self.state == State::Done {
                    return false;
                }
                self.refuse(c, out);
            }
            ',' if self.state == State::After && is_inside => {
                self.state = State::Comma;
                self.held.push(c);
            }
            ':' if self.state == State::Colon => {
                out.push(c);
                self.state = State::Value;
            }
            _ => {
                if self.state == State::Comma {
                    self.comma(out);
                }
                match self.state {
                    State::Value | State::FirstItem => self.begin_value(c, out),
                    State::Key | State::FirstKey => self.begin_key(c, out),
                    _ => self.refuse(c, out),
                }
            }
        }
        true
    }

    fn ends_frame(&self, c: char) -> bool {
        let is_open = match c {
            '`' => self.frame.is_fenced,
            _ => self.frame.is_tagged,
        };
        is_open && self.state == State::After && !self.levels.is_empty()
    }

    /// The held comma is one: something follows it.
    fn comma(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.held));
        self.levels.comma();
        self.state = match self.levels.is_object() {
            true => State::Key,
            false => State::Value,
        };
    }

    fn begin_value(&mut self, c: char, out: &mut String) {
        self.levels.value();
        match c {
            '{' | '[' if self.levels.len() < MAX_DEPTH => {
                self.levels.open(c == '{');
                out.push(c);
                self.state = if c == '{' {
                    State::FirstKey
                } else {
                    State::FirstItem
                };
            }
            '"' | '\'' => self.begin_text(c, false, out),
            'T' | 'F' | 'N' => {
                self.held.push(c);
                self.state = State::Word { is_key: false };
            }
            '-' | '0'..='9' | 't' | 'f' | 'n' => {
                out.push(c);
                self.state = State::Plain {
                    is_number: !c.is_alphabetic(),
                };
            }
            _ => self.refuse(c, out),
        }
    }

    fn begin_key(&mut self, c: char, out: &mut String) {
        self.levels.key();
        match c {
            '"' | '\'' => self.begin_text(c, true, out),
            c if is_word(c) && !c.is_ascii_digit() => {
                self.held.push(c);
                self.state = State::Word { is_key: true };
            }
            _ => self.refuse(c, out),
        }
    }

    fn begin_text(&mut self, quote: char, is_key: bool, out: &mut String) {
        if quote == '\'' {
            self.steps.add(RepairStep::SingleQuotes);
        }
        out.push('"');
        self.state = State::Text {
            quote,
            is_key,
            escape: false,
        };
    }

    fn text(&mut self, c: char, quote: char, is_key: bool, escape: bool, out: &mut String) {
        let inside = |escape| State::Text {
            quote,
            is_key,
            escape,
        };
        if escape {
            self.state = inside(false);
            if c == '\'' {
                self.steps.add(RepairStep::SingleQuotes);
            } else {
                out.push('\\');
            }
            out.push(c);
            return;
        }
        match c {
            '\\' => self.state = inside(true),
            _ if c == quote => {
                out.push('"');
                if is_key {
                    self.state = State::Colon;
                } else {
                    self.end_value();
                }
            }
            '"' => out.push_str("\\\""),
            '\n' | '\r' | '\t' => {
                self.steps.add(RepairStep::LineBreak);
                out.push_str(match c {
                    '\n' => "\\n",
                    '\r' => "\\r",
                    _ => "\\t",
                });
            }
            _ => out.push(c),
        }
    }

    /// A held word ends.
    fn end_word(&mut self, out: &mut String) {
        let word = std::mem::take(&mut self.held);
        if self.state == (State::Word { is_key: true }) {
            if NO_KEYS.contains(&word.as_str()) {
                self.held = word;
                return self.give_up(out);
            }
            self.steps.add(RepairStep::UnquotedKey);
            out.push('"');
            out.push_str(&word);
            out.push('"');
            self.state = State::Colon;
            return;
        }
        let literal = match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            _ => {
                self.held = word;
                return self.give_up(out);
            }
        };
        self.steps.add(RepairStep::PythonLiteral);
        out.push_str(literal);
        self.end_value();
    }

    fn comment(&mut self, c: char, out: &mut String) -> bool {
        match (self.state, c) {
            (State::Slash, '/') => self.state = State::Line { quoted: false },
            (State::Slash, '*') => {
                self.state = State::Block {
                    star: false,
                    quoted: false,
                };
            }
            (State::Line { .. }, '\n') => {
                self.end_comment();
                return self.take(c, out);
            }
            (State::Block { star: true, .. }, '/') => self.end_comment(),
            // What was commented out, or what a line without its break swallowed?
            (State::Line { quoted: true } | State::Block { quoted: true, .. }, ':')
            | (State::Slash, _) => {
                out.push_str(&std::mem::take(&mut self.held));
                out.push('/');
                self.state = State::Broken;
                out.push(c);
            }
            (State::Line { quoted }, _) => {
                self.state = State::Line {
                    quoted: matches!(c, '"' | '\'') || quoted && c == ' ',
                };
            }
            (State::Block { quoted, .. }, _) => {
                self.state = State::Block {
                    star: c == '*',
                    quoted: matches!(c, '"' | '\'') || quoted && c == ' ',
                };
            }
            _ => self.refuse(c, out),
        }
        true
    }

    fn end_comment(&mut self) {
        self.steps.add(RepairStep::Comment);
        self.state = self.back;
    }

    fn end_value(&mut self) {
        self.state = match self.levels.is_empty() {
            true => State::Done,
            false => State::After,
        };
    }

    fn close(&mut self, c: char, out: &mut String) {
        let is_object = c == '}';
        let is_due = match self.state {
            State::After | State::Comma => true,
            State::FirstKey => is_object,
            State::FirstItem => !is_object,
            _ => false,
        };
        if !is_due || self.levels.is_empty() || self.levels.is_object() != is_object {
            return self.refuse(c, out);
        }
        if self.state == State::Comma {
            self.steps.add(RepairStep::TrailingComma);
            // The comma is the first of what is held.
            out.push_str(self.held.get(1..).unwrap_or_default());
            self.held.clear();
        }
        out.push(c);
        self.levels.close();
        self.end_value();
    }

    /// Adds the closing brackets that are missing, where it is certain that they stand here.
    fn close_all(&mut self, out: &mut String) {
        if self.frame.is_unwatched && !self.levels.are_closed_here(self.frame.is_envelope) {
            return;
        }
        self.steps.add(RepairStep::Closers);
        while !self.levels.is_empty() {
            out.push(if self.levels.is_object() { '}' } else { ']' });
            self.levels.close();
        }
        self.state = State::Done;
    }

    /// Nothing that is read here begins with this.
    fn refuse(&mut self, c: char, out: &mut String) {
        self.give_up(out);
        out.push(c);
    }

    fn give_up(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.held));
        self.state = State::Broken;
    }
}

const fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}
