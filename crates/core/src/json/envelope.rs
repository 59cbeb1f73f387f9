//! A model's content in, in any chunking; the calls or the answer in it out, each piece as soon
//! as it is certain. The JSON text of arguments is passed on as the model wrote it.
//!
//! One machine over [`Scanner`] serves every [`Shape`]; the pieces never depend on the chunking,
//! except where they are cut.

mod fault;
#[cfg(test)]
mod tests;

pub use fault::{EnvelopeFault, EnvelopeFaultKind};

use super::scan::{ByteKind, ScanFault, Scanner, StringPart};

/// The longest key that means something, every character written as an escape.
const MAX_KEY_BYTES: usize = "parameters".len() * "\\u0000".len();

/// What the content is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The whole value is a call's input; the name is known otherwise.
    Bare,
    /// One envelope: `{"name": …, "arguments": …}`. For `arguments`, `parameters` and `input` are
    /// taken as well; other keys are skipped; the order is free.
    One,
    /// An array of envelopes, or one alone.
    Many,
    /// One envelope, or `{"answer": …}`. The first key that is one of these decides.
    CallOrAnswer,
    /// `{"answer": …}` alone: an object with other keys is none.
    Answer,
}

/// How much the reader keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of arguments that come before their call's name.
    pub held_bytes: usize,
    /// Bytes of a call's name, as written.
    pub name_bytes: usize,
}

impl Default for Caps {
    /// As much as one event of a stream; and OpenAI's names are at most 64 characters, which are
    /// 384 bytes where each is an escape.
    fn default() -> Self {
        Self {
            held_bytes: 1 << 20,
            name_bytes: 1 << 10,
        }
    }
}

/// What is certain so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvelopeEvent {
    /// A call begins. Never for [`Shape::Bare`].
    CallStart {
        /// The tool's name, decoded. Not checked against any list.
        name: String,
    },
    /// The next piece of the call's input: JSON text as the model wrote it.
    Input(String),
    /// The call is whole. For [`Shape::Bare`] too.
    CallEnd,
    /// The next piece of the answer: JSON text as the model wrote it.
    Answer(String),
    /// The answer is whole.
    AnswerEnd,
}

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the root value.
    Root,
    /// In the array, outside of its envelopes.
    List,
    /// In an envelope, outside of its keys and values.
    Members,
    /// In one of its keys.
    Key,
    /// Behind a key, before its value.
    Before(Target),
    /// In its value.
    Value(Target),
    /// After the root value.
    Done,
}

/// What a value is to the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Name,
    Input,
    Answer,
    Skipped,
}

/// The envelope that is being read.
#[derive(Debug, Default)]
struct Envelope {
    has_name: bool,
    has_input: bool,
    has_answer: bool,
    /// Known, and not yet announced.
    name: Option<String>,
    /// The call was announced.
    is_started: bool,
    /// Input that came before the call could be announced.
    held: String,
}

/// The reader's state.
#[derive(Debug)]
pub struct EnvelopeReader {
    shape: Shape,
    caps: Caps,
    is_cautious: bool,
    scanner: Scanner,
    place: Place,
    /// The scanner's depth between the members of the envelope.
    depth: usize,
    envelope: Envelope,
    /// The raw text of the current key or name.
    word: Vec<u8>,
    fault: Option<EnvelopeFault>,
}

impl EnvelopeReader {
    /// A reader of content that is known to be of this shape.
    #[must_use]
    pub fn new(shape: Shape, caps: Caps) -> Self {
        Self {
            shape,
            caps,
            is_cautious: false,
            scanner: Scanner::new(),
            place: Place::Root,
            depth: 0,
            envelope: Envelope::default(),
            word: Vec::new(),
            fault: None,
        }
    }

    /// The same reader for content that may be something else: a call is announced only once both
    /// its name and the start of its arguments were seen, so that an object which merely has a
    /// name is a fault before the first event.
    #[must_use]
    pub fn cautious(mut self) -> Self {
        self.is_cautious = true;
        self
    }

    /// Whether the root value has ended: only blanks may follow. A bare number ends with
    /// [`EnvelopeReader::finish`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.fault.is_none() && self.scanner.is_complete()
    }

    /// Whether a key has come that only an envelope has a meaning for.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        let envelope = &self.envelope;
        envelope.has_name || envelope.has_input || envelope.has_answer
    }

    /// Takes the next piece of content and appends what it makes certain.
    ///
    /// # Errors
    /// The first byte with which the content is not of the shape. `out` has what was certain
    /// before it. Every later call returns the same fault.
    pub fn push(&mut self, text: &str, out: &mut Vec<EnvelopeEvent>) -> Result<(), EnvelopeFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let mut cursor = Cursor {
            text,
            at: 0,
            start: 0,
            out,
        };
        let mut at = 0;
        loop {
            // Most of a text is the inside of strings, which have a meaning as a whole.
            if self.takes_any_text() {
                at += self.scanner.pass(text.get(at..).unwrap_or_default());
            }
            let Some(&byte) = text.as_bytes().get(at) else {
                break;
            };
            cursor.at = at;
            let offset = self.scanner.offset();
            if let Err(kind) = self.take(byte, &mut cursor) {
                self.pass_on(at, &mut cursor);
                return Err(self.fail(offset, kind));
            }
            at += 1;
        }
        self.pass_on(text.len(), &mut cursor);
        Ok(())
    }

    /// The content ended.
    ///
    /// # Errors
    /// It is not whole ([`EnvelopeFault::is_incomplete`]), or had a fault before.
    pub fn finish(&mut self, out: &mut Vec<EnvelopeEvent>) -> Result<(), EnvelopeFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if let Err(ScanFault { offset, kind }) = self.scanner.finish() {
            return Err(self.fail(offset, EnvelopeFaultKind::Syntax(kind)));
        }
        // Only a bare number can still be open: nothing behind it told its end.
        if let Place::Value(target) = self.place {
            self.end_value(target, out)
                .map_err(|kind| self.fail(self.scanner.offset(), kind))?;
        }
        Ok(())
    }

    /// Whether the inside of a string, however long, is passed on or left out as it is.
    const fn takes_any_text(&self) -> bool {
        match self.place {
            Place::Value(Target::Input) => self.envelope.is_started,
            Place::Value(Target::Answer | Target::Skipped) => true,
            _ => false,
        }
    }

    fn fail(&mut self, offset: usize, kind: EnvelopeFaultKind) -> EnvelopeFault {
        let fault = EnvelopeFault { offset, kind };
        self.fault = Some(fault.clone());
        fault
    }

    fn take(&mut self, byte: u8, cursor: &mut Cursor<'_>) -> Result<(), EnvelopeFaultKind> {
        let step = self
            .scanner
            .push(byte)
            .map_err(|fault| EnvelopeFaultKind::Syntax(fault.kind))?;
        match (self.place, step) {
            (Place::Value(target), _) => self.value(target, step, byte, cursor)?,
            (Place::Key, ByteKind::Key(StringPart::Body)) => {
                // One byte more than the longest is enough to know that it is another one.
                if self.word.len() <= MAX_KEY_BYTES {
                    self.word.push(byte);
                }
            }
            (Place::Key, _) => self.place = Place::Before(self.target()?),
            (_, ByteKind::Whitespace | ByteKind::Comma | ByteKind::Colon) | (Place::Done, _) => {}
            (Place::Root, _) if self.shape == Shape::Bare => {
                self.envelope.is_started = true;
                self.begin_value(Target::Input, step, cursor)?;
                self.value(Target::Input, step, byte, cursor)?;
            }
            (Place::Root, ByteKind::ArrayStart) if self.shape == Shape::Many => {
                self.place = Place::List;
            }
            (Place::Root | Place::List, ByteKind::ObjectStart) => {
                self.place = Place::Members;
                self.depth = self.scanner.depth();
                self.envelope = Envelope::default();
            }
            (Place::List, ByteKind::ArrayEnd) => self.place = Place::Done,
            (Place::Root | Place::List, _) => return Err(EnvelopeFaultKind::NotAnObject),
            (Place::Members, ByteKind::ObjectEnd) => self.end_envelope(cursor.out)?,
            (Place::Members, _) => {
                self.word.clear();
                self.place = Place::Key;
            }
            (Place::Before(target), _) => {
                self.begin_value(target, step, cursor)?;
                self.value(target, step, byte, cursor)?;
            }
        }
        Ok(())
    }

    /// What the key that just ended says about its value.
    fn target(&mut self) -> Result<Target, EnvelopeFaultKind> {
        let envelope = &mut self.envelope;
        let is_answer_known = matches!(self.shape, Shape::CallOrAnswer | Shape::Answer);
        let key = if self.word.len() > MAX_KEY_BYTES {
            None
        } else {
            decode_word(&self.word)
        };
        let (seen, target, word) = match key.as_deref() {
            Some(key) if self.shape == Shape::Answer && key != "answer" => {
                return Err(EnvelopeFaultKind::NoAnswer);
            }
            Some("name") => (&mut envelope.has_name, Target::Name, "name"),
            Some("arguments" | "parameters" | "input") => {
                (&mut envelope.has_input, Target::Input, "arguments")
            }
            Some("answer") if is_answer_known => {
                (&mut envelope.has_answer, Target::Answer, "answer")
            }
            _ => return Ok(Target::Skipped),
        };
        if std::mem::replace(seen, true) {
            return Err(EnvelopeFaultKind::Second(word));
        }
        if envelope.has_answer && (envelope.has_name || envelope.has_input) {
            return Err(EnvelopeFaultKind::CallAndAnswer);
        }
        Ok(target)
    }

    fn begin_value(
        &mut self,
        target: Target,
        step: ByteKind,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), EnvelopeFaultKind> {
        match target {
            Target::Name if step != ByteKind::Text(StringPart::Open) => {
                return Err(EnvelopeFaultKind::NameNotString);
            }
            Target::Name => self.word.clear(),
            Target::Input => self.announce(cursor.out),
            Target::Answer | Target::Skipped => {}
        }
        self.place = Place::Value(target);
        cursor.start = cursor.at;
        Ok(())
    }

    fn value(
        &mut self,
        target: Target,
        step: ByteKind,
        byte: u8,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), EnvelopeFaultKind> {
        let depth = self.scanner.depth();
        let is_behind = match step {
            ByteKind::Whitespace | ByteKind::Comma => depth == self.depth,
            ByteKind::ObjectEnd => depth < self.depth,
            _ => false,
        };
        if is_behind {
            // Only numbers end with the byte behind them.
            self.pass_on(cursor.at, cursor);
            self.end_value(target, cursor.out)?;
            if step == ByteKind::ObjectEnd {
                self.end_envelope(cursor.out)?;
            }
            return Ok(());
        }
        if target == Target::Name && step == ByteKind::Text(StringPart::Body) {
            let limit = self.caps.name_bytes;
            if self.word.len() == limit {
                return Err(EnvelopeFaultKind::NameTooLong { limit });
            }
            self.word.push(byte);
        }
        if target == Target::Input && !self.envelope.is_started {
            let limit = self.caps.held_bytes;
            if self.envelope.held.len() + cursor.at - cursor.start >= limit {
                return Err(EnvelopeFaultKind::HeldTooLarge { limit });
            }
        }
        if depth == self.depth && self.scanner.is_after_value() {
            self.pass_on(cursor.at + 1, cursor);
            self.end_value(target, cursor.out)?;
        }
        Ok(())
    }

    /// Passes the text of an input or answer on, from the start of the piece to `end`.
    fn pass_on(&mut self, end: usize, cursor: &mut Cursor<'_>) {
        let Place::Value(target) = self.place else {
            return;
        };
        // `None` only where a limit was passed within a character: a fault, so nothing is lost.
        let piece = cursor.text.get(cursor.start..end).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        match target {
            Target::Input if self.envelope.is_started => {
                cursor.out.push(EnvelopeEvent::Input(piece.to_owned()));
            }
            Target::Input => self.envelope.held.push_str(piece),
            Target::Answer => cursor.out.push(EnvelopeEvent::Answer(piece.to_owned())),
            Target::Name | Target::Skipped => {}
        }
    }

    fn end_value(
        &mut self,
        target: Target,
        out: &mut Vec<EnvelopeEvent>,
    ) -> Result<(), EnvelopeFaultKind> {
        self.place = Place::Members;
        match target {
            Target::Name => {
                let name = decode_word(&self.word).ok_or(EnvelopeFaultKind::NameNotString)?;
                self.envelope.name = Some(name);
                if self.envelope.has_input || !self.is_cautious {
                    self.announce(out);
                }
            }
            Target::Input if self.shape == Shape::Bare => {
                self.place = Place::Done;
                out.push(EnvelopeEvent::CallEnd);
            }
            Target::Answer => out.push(EnvelopeEvent::AnswerEnd),
            Target::Input | Target::Skipped => {}
        }
        Ok(())
    }

    /// Announces the call and passes on what was held for it, if its name is known.
    fn announce(&mut self, out: &mut Vec<EnvelopeEvent>) {
        let Some(name) = self.envelope.name.take() else {
            return;
        };
        self.envelope.is_started = true;
        out.push(EnvelopeEvent::CallStart { name });
        let held = std::mem::take(&mut self.envelope.held);
        if !held.is_empty() {
            out.push(EnvelopeEvent::Input(held));
        }
    }

    fn end_envelope(&mut self, out: &mut Vec<EnvelopeEvent>) -> Result<(), EnvelopeFaultKind> {
        let envelope = &self.envelope;
        if !envelope.has_answer {
            if self.shape == Shape::Answer {
                return Err(EnvelopeFaultKind::NoAnswer);
            }
            if !envelope.has_name {
                return Err(EnvelopeFaultKind::NoName);
            }
            if !envelope.has_input {
                return Err(EnvelopeFaultKind::NoInput);
            }
            out.push(EnvelopeEvent::CallEnd);
        }
        self.place = if self.scanner.depth() == 0 {
            Place::Done
        } else {
            Place::List
        };
        Ok(())
    }
}

/// A place in the piece of content that is being pushed.
struct Cursor<'a> {
    text: &'a str,
    /// The current byte.
    at: usize,
    /// Where the part begins that is yet to be passed on.
    start: usize,
    out: &'a mut Vec<EnvelopeEvent>,
}

/// The string between two quotes that the scanner has found right.
fn decode_word(raw: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", raw, b"\""].concat()).ok()
}
