//! Choices in other words: texts come in; a regex, GBNF or Lark of exactly these goes out.

use super::gbnf::{Expr, Gbnf};
use serde_json::Value;

/// A regex that matches exactly the choices as whole texts. Only what is special in every regex
/// dialect is escaped, so every dialect reads it.
#[must_use]
pub fn to_regex(choices: &[String]) -> String {
    let mut out = String::from("(");
    for (index, choice) in choices.iter().enumerate() {
        if index > 0 {
            out.push('|');
        }
        for c in choice.chars() {
            if r"\.+*?()|[]{}^$".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push(')');
    out
}

/// GBNF of exactly the choices.
#[must_use]
pub fn to_gbnf(choices: &[String]) -> Gbnf {
    let texts = choices.iter().map(|choice| Expr::Literal(choice.clone()));
    Gbnf::of(Expr::Choice(texts.collect()))
}

/// Lark of exactly the choices: each is a terminal, and the empty one an empty rule.
#[must_use]
pub fn to_lark(choices: &[String]) -> String {
    let mut out = String::from("start: ");
    for (index, choice) in choices.iter().enumerate() {
        if index > 0 {
            out.push_str(" | ");
        }
        if !choice.is_empty() {
            // Lark's escapes are those of JSON, but it takes no DEL as it is.
            let quoted = Value::from(choice.as_str()).to_string();
            out.push_str(&quoted.replace('\x7f', "\\u007f"));
        }
    }
    out.push('\n');
    out
}
