//! The arguments behind a call's name, in whichever shape: text that is held since the last piece
//! in, pieces out.

mod bare_keys;
mod parameters;
pub(super) mod python;

use super::envelope::Read;
use super::format::{Form, ParameterValue, Shape};
use super::input::Input;
use super::pattern::{Match, Pattern, any_literal, literal_at};
use super::{Piece, Tools, typed};
use crate::ir::CallKind;
use crate::json::scan::Scanner;
use bare_keys::BareKeys;
use parameters::Parameters;
use python::Python;

/// A longer value is not held until it is whole.
const MAX_VALUE_BYTES: usize = 8 << 20;

/// The arguments of one call.
#[derive(Debug)]
pub(super) enum Arguments {
    Json(Scanner, Input),
    Parameters(Parameters),
    Python(Python),
    BareKeys(BareKeys),
}

/// What came of a text: how much of it was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Took {
    pub(super) bytes: usize,
    pub(super) read: Read,
}

impl Took {
    const fn more(bytes: usize) -> Self {
        let read = Read::More;
        Self { bytes, read }
    }

    const fn done(bytes: usize) -> Self {
        let read = Read::Done(bytes);
        Self { bytes, read }
    }

    fn broken(bytes: usize, why: impl Into<String>) -> Self {
        let read = Read::Broken(bytes, why.into());
        Self { bytes, read }
    }
}

impl Arguments {
    pub(super) fn new(form: &Form, tools: &Tools, name: &str) -> Self {
        let kind = tools.kind(name);
        match form.shape {
            Shape::Envelope | Shape::Json => Self::Json(Scanner::new(), Input::new(kind)),
            Shape::Parameters => Self::Parameters(Parameters::new(name, kind)),
            Shape::Python => Self::Python(Python::new(name, kind)),
            Shape::BareKeys => Self::BareKeys(BareKeys::new(name, kind)),
        }
    }

    /// What was taken and not given.
    pub(super) fn unread(&self) -> &str {
        match self {
            Self::Json(_, input) => input.unread(),
            Self::Parameters(_) | Self::Python(_) | Self::BareKeys(_) => "",
        }
    }

    /// Takes what is held of the text; the call's end is among the pieces where it is done.
    pub(super) fn push(
        &mut self,
        text: &str,
        whole: bool,
        form: &Form,
        tools: &Tools,
        out: &mut Vec<Piece>,
    ) -> Took {
        match self {
            Self::Json(scanner, input) => json(scanner, input, text, out),
            Self::Parameters(parameters) => parameters.push(text, whole, form, tools, out),
            Self::Python(python) => python.push(text, tools, out),
            Self::BareKeys(bare_keys) => bare_keys.push(text, form, tools, out),
        }
    }
}

/// JSON goes out as it comes.
fn json(scanner: &mut Scanner, input: &mut Input, text: &str, out: &mut Vec<Piece>) -> Took {
    let mut end = text.len();
    let mut fault = None;
    for (at, byte) in text.bytes().enumerate() {
        if let Err(wrong) = scanner.push(byte) {
            end = at;
            fault = Some(wrong.to_string());
            break;
        }
        if scanner.is_complete() {
            end = at + 1;
            break;
        }
    }
    let passed = input.push(&text[..end], out);
    match (passed, fault) {
        (Err(why), _) => Took::broken(0, why),
        (Ok(()), Some(why)) => Took::broken(end, why),
        (Ok(()), None) if scanner.is_complete() => match input.end(out) {
            Ok(()) => {
                out.push(Piece::End);
                Took::done(end)
            }
            Err(why) => Took::broken(end, why),
        },
        (Ok(()), None) => Took::more(end),
    }
}

/// Whether arguments of the form begin here.
pub(super) fn begin(form: &Form, text: &str, whole: bool, kind: CallKind) -> Match<()> {
    let Some(blanks) = super::pattern::blanks(text) else {
        return Match::No;
    };
    let rest = &text[blanks..];
    if rest.is_empty() {
        return if whole { Match::No } else { Match::More };
    }
    match form.shape {
        Shape::Json if kind == CallKind::Custom && rest.starts_with('"') => Match::Yes(()),
        Shape::Envelope | Shape::Json | Shape::BareKeys => literal_at(rest, "{", whole),
        Shape::Parameters => {
            let begins = form.parameters.iter().map(|parameter| &parameter.begin);
            let literals = begins.chain(&form.call_ends);
            any_literal(literals.filter_map(Pattern::first_literal), rest, whole)
        }
        Shape::Python => python::begin(rest, whole),
    }
}

/// A value that was written as bare text, in JSON.
fn value_json(raw: &str, value: ParameterValue, tools: &Tools, name: &str, key: &str) -> String {
    match value {
        ParameterValue::Text => typed::as_text(raw, tools.schema(name), key),
        ParameterValue::Json => typed::as_value(raw, tools.schema(name), key),
        ParameterValue::Schema | ParameterValue::Elements => {
            typed::by_schema(raw, tools.schema(name), key)
        }
    }
}
