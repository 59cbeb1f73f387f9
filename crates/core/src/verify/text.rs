//! One text against one compiled constraint, piece by piece.

use crate::check::{Check, TagChecker};
use crate::grammar::Matcher;
use crate::ir::{Place, Violation};
use crate::json::scan::Scanner;
use crate::schema::{SchemaBreach, Validator, read_reply_json};
use std::sync::Arc;

/// A longer text is not held for checking; it is a violation. Bounds a stream's memory.
const MAX_TEXT_BYTES: usize = 8 << 20;

fn of_schema(place: Place, breach: SchemaBreach) -> Violation {
    violation(place, &breach.rule, breach.pointer, breach.message)
}

fn violation(place: Place, rule: &str, pointer: String, message: String) -> Violation {
    Violation {
        pointer,
        ..Violation::new(place, rule, message)
    }
}

/// One text, as far as it has come.
#[derive(Debug)]
pub(super) enum TextCheck {
    Free,
    Json(Box<JsonText>),
    Tags(TaggedText),
    Matched(Box<MatchedText>),
}

/// Followed by syntax, checked as a whole when it ends.
#[derive(Debug)]
pub(super) struct JsonText {
    scanner: Scanner,
    text: String,
    /// `None` asks for an object and no more.
    validator: Option<Arc<Validator>>,
}

/// Checked as a whole when it ends.
#[derive(Debug)]
pub(super) struct TaggedText {
    text: String,
    checker: Arc<TagChecker>,
}

/// Matched byte by byte.
#[derive(Debug)]
pub(super) struct MatchedText {
    kind: &'static str,
    matcher: Matcher,
    seen: usize,
}

impl TextCheck {
    pub(super) fn new(check: Option<&(&'static str, Check)>) -> Self {
        let json = |validator| {
            Self::Json(Box::new(JsonText {
                scanner: Scanner::new(),
                text: String::new(),
                validator,
            }))
        };
        match check {
            None => Self::Free,
            Some((_, Check::Json(validator))) => json(Some(Arc::clone(validator))),
            Some((_, Check::JsonObject)) => json(None),
            Some((_, Check::Tag(checker))) => Self::Tags(TaggedText {
                text: String::new(),
                checker: Arc::clone(checker),
            }),
            Some((kind, Check::Text(grammar))) => Self::Matched(Box::new(MatchedText {
                kind,
                matcher: grammar.matcher(),
                seen: 0,
            })),
        }
    }

    pub(super) fn push(&mut self, piece: &str, place: Place) -> Result<(), Violation> {
        match self {
            Self::Free => Ok(()),
            Self::Json(json) => json.push(piece, place),
            Self::Tags(tagged) => hold(&mut tagged.text, piece, place),
            Self::Matched(matched) => matched.push(piece, place),
        }
    }

    pub(super) fn finish(&mut self, place: Place) -> Result<(), Violation> {
        match self {
            Self::Free => Ok(()),
            Self::Json(json) => json.finish(place),
            Self::Tags(TaggedText { text, checker }) => checker
                .check(text)
                .map_err(|breach| violation(place, &breach.rule, breach.pointer, breach.message)),
            Self::Matched(matched) => matched.finish(place),
        }
    }

    /// The text was cut: it must be the beginning of something right.
    pub(super) fn cut(&mut self, place: Place) -> Result<(), Violation> {
        match self {
            // What is matched was a beginning with every byte.
            Self::Free | Self::Matched(_) => Ok(()),
            Self::Json(json) => json.cut(place),
            Self::Tags(TaggedText { text, checker }) => checker
                .check_cut(text)
                .map_err(|breach| violation(place, &breach.rule, breach.pointer, breach.message)),
        }
    }
}

/// Keeps a text that is checked when it ends.
fn hold(text: &mut String, piece: &str, place: Place) -> Result<(), Violation> {
    if text.len() + piece.len() > MAX_TEXT_BYTES {
        let message = format!("the text is longer than {MAX_TEXT_BYTES} bytes");
        return Err(violation(place, "size", String::new(), message));
    }
    text.push_str(piece);
    Ok(())
}

impl JsonText {
    fn push(&mut self, piece: &str, place: Place) -> Result<(), Violation> {
        hold(&mut self.text, piece, place)?;
        self.scanner.push_all(piece).map_err(|fault| {
            let message = format!("the text is not the JSON that is asked for: {fault}");
            violation(place, "json", String::new(), message)
        })
    }

    fn finish(&mut self, place: Place) -> Result<(), Violation> {
        let broken = |message: String| violation(place, "json", String::new(), message);
        self.scanner
            .finish()
            .map_err(|fault| broken(format!("the JSON is not whole: {fault}")))?;
        self.check(place)
    }

    /// The JSON is whole.
    fn check(&self, place: Place) -> Result<(), Violation> {
        let checked = match &self.validator {
            Some(validator) => validator.validate_text(&self.text),
            None => read_reply_json(&self.text).and_then(|value| match value.is_object() {
                true => Ok(()),
                false => Err(no_object()),
            }),
        };
        checked.map_err(|breach| of_schema(place, breach))
    }

    /// The JSON is as long as it will ever be.
    fn cut(&self, place: Place) -> Result<(), Violation> {
        if self.scanner.is_complete() {
            return self.check(place);
        }
        let checked = match &self.validator {
            Some(validator) => validator.validate_prefix(&self.text),
            None if self.text.trim_start().starts_with('{') => Ok(()),
            None if self.text.trim_start().is_empty() => Ok(()),
            None => Err(no_object()),
        };
        checked.map_err(|breach| of_schema(place, breach))
    }
}

fn no_object() -> SchemaBreach {
    SchemaBreach {
        pointer: String::new(),
        rule: "json_object".to_owned(),
        message: "the JSON is no object".to_owned(),
    }
}

impl MatchedText {
    fn push(&mut self, piece: &str, place: Place) -> Result<(), Violation> {
        let kind = self.kind;
        self.matcher.push(piece.as_bytes()).map_err(|offset| {
            let message = if self.matcher.gave_up() {
                format!("the {kind} is too ambiguous to be matched")
            } else {
                format!(
                    "byte {} cannot follow in the language of the {kind}",
                    self.seen + offset
                )
            };
            violation(place, kind, String::new(), message)
        })?;
        self.seen += piece.len();
        Ok(())
    }

    fn finish(&mut self, place: Place) -> Result<(), Violation> {
        let kind = self.kind;
        self.matcher.is_accepting().then_some(()).ok_or_else(|| {
            violation(
                place,
                kind,
                String::new(),
                format!("the text ends before the {kind} is matched"),
            )
        })
    }
}
