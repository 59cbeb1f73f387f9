//! Choices in other words: texts come in; a regex or GBNF of exactly these goes out.

use super::gbnf::{Expr, Gbnf};

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
pub fn to_gbnf(choices: &[String]) -> String {
    let texts = choices.iter().map(|choice| Expr::Literal(choice.clone()));
    Gbnf::of(Expr::Choice(texts.collect())).to_string()
}
