//! An object with a call's name and arguments, in any chunking: nothing is said of it until the
//! name of a tool that was shown and the beginning of its arguments have come.

use super::format::EnvelopeKeys;
use super::input::Input;
use super::{Piece, Tools};
use crate::json::scan::{ByteKind, Scanner, StringPart};

/// The longest key that means something, every character written as an escape.
const MAX_KEY_BYTES: usize = 384;
/// The longest name or id, as written.
const MAX_WORD_BYTES: usize = 1 << 10;
/// So many bytes of arguments wait for their call's name.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Members,
    Key,
    Before(Target),
    Value(Target),
    Done,
}

/// What a value is to the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Name,
    Id,
    Arguments,
    Skipped,
}

/// The envelope that is being read.
#[derive(Debug)]
pub(super) struct Envelope {
    keys: EnvelopeKeys,
    /// Its first key must be one of an envelope's.
    is_bare: bool,
    is_first: bool,
    scanner: Scanner,
    place: Place,
    /// The raw text of the current key, name or id.
    word: Vec<u8>,
    name: Option<String>,
    id: Option<String>,
    has_arguments: bool,
    /// Arguments that came before the name.
    held: String,
    /// Set once the call is certain.
    input: Option<Input>,
}

/// What came of a piece of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Read {
    /// All of it was taken.
    More,
    /// So many bytes were taken; nothing is missing.
    Done(usize),
    /// It breaks at this byte.
    Broken(usize, String),
}

impl Envelope {
    pub(super) fn new(keys: EnvelopeKeys, is_bare: bool) -> Self {
        Self {
            keys,
            is_bare,
            is_first: true,
            scanner: Scanner::new(),
            place: Place::Start,
            word: Vec::new(),
            name: None,
            id: None,
            has_arguments: false,
            held: String::new(),
            input: None,
        }
    }

    /// Whether the call was announced.
    pub(super) const fn is_certain(&self) -> bool {
        self.input.is_some()
    }

    /// Takes more text and appends what it makes certain.
    pub(super) fn push(&mut self, text: &str, tools: &Tools, out: &mut Vec<Piece>) -> Read {
        // Where the arguments begin that are yet to be passed on.
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            let was_in = self.place == Place::Value(Target::Arguments);
            let step = self.take(byte);
            let is_in = self.place == Place::Value(Target::Arguments);
            if !was_in && is_in {
                start = at;
            }
            let is_end = was_in && !is_in || step == Ok(Step::End(Target::Arguments));
            if is_end {
                let end = if step == Ok(Step::End(Target::Arguments)) {
                    at + 1
                } else {
                    at
                };
                if let Err(why) = self.pass(&text[start..end], out) {
                    return Read::Broken(start, why);
                }
                if let Err(why) = self.input.as_mut().map_or(Ok(()), |input| input.end(out)) {
                    return Read::Broken(end, why);
                }
            }
            match step {
                Err(why) => {
                    // What came before the fault stands, if it is not one itself.
                    let before = match was_in && !is_end {
                        true => self.pass(&text[start..at], out),
                        false => Ok(()),
                    };
                    return match before {
                        Ok(()) => Read::Broken(at, why),
                        Err(why) => Read::Broken(start, why),
                    };
                }
                Ok(Step::End(Target::Name))
                    if !self.name.as_ref().is_some_and(|n| tools.has(n)) =>
                {
                    return Read::Broken(at, "no tool of this name was shown".to_owned());
                }
                Ok(_) => {}
            }
            if let Err(why) = self.announce(is_in, tools, out) {
                return Read::Broken(at, why);
            }
            if self.place == Place::Done {
                return match self.is_certain() {
                    true => {
                        out.push(Piece::End);
                        Read::Done(at + 1)
                    }
                    false => Read::Broken(at, "an object is no call".to_owned()),
                };
            }
        }
        if self.place == Place::Value(Target::Arguments)
            && let Err(why) = self.pass(&text[start..], out)
        {
            return Read::Broken(start, why);
        }
        Read::More
    }

    /// What was taken of the arguments and not given.
    pub(super) fn unread(&self) -> &str {
        self.input.as_ref().map_or("", Input::unread)
    }

    /// Announces the call as soon as its name is known and its arguments have begun.
    fn announce(
        &mut self,
        is_in_arguments: bool,
        tools: &Tools,
        out: &mut Vec<Piece>,
    ) -> Result<(), String> {
        let is_due = self.has_arguments || is_in_arguments;
        let Some(name) = self.name.clone().filter(|_| is_due && !self.is_certain()) else {
            return Ok(());
        };
        if !tools.has(&name) {
            return Err("no tool of this name was shown".to_owned());
        }
        let mut input = Input::new(tools.kind(&name));
        let id = self.id.take();
        out.push(Piece::Call { id, name });
        if self.has_arguments {
            input.push(&std::mem::take(&mut self.held), out)?;
            input.end(out)?;
        }
        self.input = Some(input);
        Ok(())
    }

    /// Passes arguments on, or holds them for the name.
    fn pass(&mut self, raw: &str, out: &mut Vec<Piece>) -> Result<(), String> {
        match &mut self.input {
            Some(input) => input.push(raw, out),
            None if self.held.len() + raw.len() > MAX_HELD_BYTES => {
                Err("too many arguments come before the name".to_owned())
            }
            None => {
                self.held.push_str(raw);
                Ok(())
            }
        }
    }

    fn take(&mut self, byte: u8) -> Result<Step, String> {
        let kind = self.scanner.push(byte).map_err(|fault| fault.to_string())?;
        match self.place {
            Place::Start if kind == ByteKind::ObjectStart => self.place = Place::Members,
            Place::Start => return Err("no object begins here".to_owned()),
            Place::Members => return self.member(kind),
            Place::Key => return self.key(kind, byte),
            Place::Before(target) => {
                if !matches!(kind, ByteKind::Colon | ByteKind::Whitespace) {
                    self.place = Place::Value(target);
                    return self.value(target, kind, byte);
                }
            }
            Place::Value(target) => return self.value(target, kind, byte),
            Place::Done => return Err("the object has ended".to_owned()),
        }
        Ok(Step::On)
    }

    fn member(&mut self, kind: ByteKind) -> Result<Step, String> {
        match kind {
            ByteKind::Key(StringPart::Open) => {
                self.word.clear();
                self.place = Place::Key;
            }
            ByteKind::ObjectEnd => self.place = Place::Done,
            _ => {}
        }
        Ok(Step::On)
    }

    fn key(&mut self, kind: ByteKind, byte: u8) -> Result<Step, String> {
        if kind == ByteKind::Key(StringPart::Body) {
            // One byte more than the longest is enough to know that it is another one.
            if self.word.len() <= MAX_KEY_BYTES {
                self.word.push(byte);
            }
            return Ok(Step::On);
        }
        let key = decode(&self.word).unwrap_or_default();
        let is = |keys: &[String]| keys.contains(&key);
        let is_name = self.keys.name.is_empty();
        let target = if is_name {
            self.name.get_or_insert_with(|| key.clone());
            Target::Arguments
        } else if is(&self.keys.name) {
            Target::Name
        } else if is(&self.keys.arguments) {
            Target::Arguments
        } else if is(&self.keys.id) {
            Target::Id
        } else {
            Target::Skipped
        };
        if self.is_bare && self.is_first && target == Target::Skipped && !is(&self.keys.first) {
            return Err("an object is no call".to_owned());
        }
        self.is_first = false;
        let is_again = match target {
            Target::Name => self.name.is_some(),
            Target::Arguments => self.has_arguments,
            Target::Id | Target::Skipped => false,
        };
        if is_again {
            return Err(format!("the key `{key}` comes twice"));
        }
        self.word.clear();
        self.place = Place::Before(target);
        Ok(Step::On)
    }

    fn value(&mut self, target: Target, kind: ByteKind, byte: u8) -> Result<Step, String> {
        let depth = self.scanner.depth();
        // Only the byte behind a number tells that it has ended.
        let is_behind = match kind {
            ByteKind::Comma | ByteKind::Whitespace => depth == 1,
            ByteKind::ObjectEnd => depth == 0,
            _ => false,
        };
        if !is_behind && matches!(target, Target::Name | Target::Id) {
            if self.word.len() >= MAX_WORD_BYTES {
                return Err("a name or an id is too long".to_owned());
            }
            self.word.push(byte);
        }
        if !(is_behind || depth == 1 && self.scanner.is_after_value()) {
            return Ok(Step::On);
        }
        self.place = Place::Members;
        match target {
            Target::Name => {
                let name: Option<String> = serde_json::from_slice(&self.word).ok();
                self.name = Some(name.ok_or_else(|| "a call's name is no string".to_owned())?);
            }
            Target::Id => self.id = serde_json::from_slice(&self.word).ok(),
            Target::Arguments => self.has_arguments = true,
            Target::Skipped => {}
        }
        if is_behind {
            return self.member(kind);
        }
        Ok(Step::End(target))
    }
}

/// What a byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    On,
    /// The last byte of a value.
    End(Target),
}

/// The string between two quotes that the scanner has found right.
fn decode(raw: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", raw, b"\""].concat()).ok()
}
