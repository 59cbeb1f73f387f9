//! One text against one compiled constraint, piece by piece.

use super::{Said, Violation};
use crate::compile::Check;
use crate::grammar::Matcher;
use crate::json::scan::Scanner;
use std::sync::Arc;

/// A longer JSON text is not held for validation; it is a violation. Bounds a stream's memory.
const MAX_JSON_BYTES: usize = 8 << 20;

/// Which text of the reply.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Content(u32),
    Input(u32, usize),
}

impl Place {
    fn violation(self, rule: &str, pointer: String, message: String) -> Violation {
        let place = match self {
            Self::Content(choice) => format!("choices[{choice}].message.content"),
            Self::Input(choice, call) => format!("choices[{choice}].message.tool_calls[{call}]"),
        };
        Violation {
            place,
            pointer,
            rule: rule.to_owned(),
            message,
            said: Said::default(),
        }
    }
}

#[derive(Debug)]
pub(super) enum TextCheck {
    Free,
    Json {
        scanner: Box<Scanner>,
        text: String,
        check: Check,
    },
    Matched {
        kind: &'static str,
        matcher: Box<Matcher>,
        seen: usize,
    },
}

impl TextCheck {
    pub(super) fn new(check: Option<&(&'static str, Check)>) -> Self {
        match check {
            None => Self::Free,
            Some((kind, Check::Text(grammar))) => Self::Matched {
                kind,
                matcher: Box::new(Arc::clone(grammar).matcher()),
                seen: 0,
            },
            Some((_, check)) => Self::Json {
                scanner: Box::default(),
                text: String::new(),
                check: check.clone(),
            },
        }
    }

    pub(super) const fn is_json(&self) -> bool {
        matches!(self, Self::Json { .. })
    }

    pub(super) fn push(&mut self, piece: &str, place: Place) -> Result<(), Violation> {
        match self {
            Self::Free => Ok(()),
            Self::Json { scanner, text, .. } => {
                if text.len() + piece.len() > MAX_JSON_BYTES {
                    let message = format!("the JSON is longer than {MAX_JSON_BYTES} bytes");
                    return Err(place.violation("size", String::new(), message));
                }
                text.push_str(piece);
                piece
                    .bytes()
                    .try_for_each(|byte| scanner.push(byte).map(|_| ()))
                    .map_err(|fault| {
                        place.violation(
                            "json",
                            String::new(),
                            format!("the text is not the JSON that is asked for: {fault}"),
                        )
                    })
            }
            Self::Matched {
                kind,
                matcher,
                seen,
            } => {
                matcher.push(piece.as_bytes()).map_err(|offset| {
                    let message = format!(
                        "byte {} cannot follow in the language of the {kind}",
                        *seen + offset
                    );
                    place.violation(kind, String::new(), message)
                })?;
                *seen += piece.len();
                Ok(())
            }
        }
    }

    pub(super) fn finish(&mut self, place: Place) -> Result<(), Violation> {
        match self {
            Self::Free => Ok(()),
            Self::Json {
                scanner,
                text,
                check,
            } => {
                scanner.finish().map_err(|fault| {
                    place.violation(
                        "json",
                        String::new(),
                        format!("the JSON is not whole: {fault}"),
                    )
                })?;
                let value = serde_json::from_str(text).map_err(|_| {
                    place.violation(
                        "json",
                        String::new(),
                        "the JSON cannot be read: a number or a nesting is too large".to_owned(),
                    )
                })?;
                match check {
                    Check::Json(validator) => validator.validate(&value).map_err(|breach| {
                        place.violation(&breach.rule, breach.pointer, breach.message)
                    }),
                    Check::JsonObject if !value.is_object() => Err(place.violation(
                        "json_object",
                        String::new(),
                        "the JSON is no object".to_owned(),
                    )),
                    Check::JsonObject | Check::Text(_) => Ok(()),
                }
            }
            Self::Matched { kind, matcher, .. } => {
                matcher.is_accepting().then_some(()).ok_or_else(|| {
                    place.violation(
                        kind,
                        String::new(),
                        format!("the text ends before the {kind} is matched"),
                    )
                })
            }
        }
    }
}
