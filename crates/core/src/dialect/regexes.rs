//! A client's own regex, in words that all of its readers take alike.

use crate::error::{Error, Kind};
use crate::ir::Constraint;
use crate::pattern::free::{FreeFault, settled, settled_of_rust};
use std::borrow::Cow;

/// The constraint of a text, and whether it is in other words than the client's, which are at this path.
///
/// # Errors
/// There are no such words.
pub(super) fn of_text(regex: &str, path: &str) -> Result<(Constraint, bool), Error> {
    let settled = settled(regex).map_err(refused(path))?;
    let is_reworded = matches!(settled, Cow::Owned(_));
    Ok((Constraint::Regex(settled.into_owned()), is_reworded))
}

/// The same of a custom tool's text: OpenAI's regexes are of Rust's syntax.
///
/// # Errors
/// There are no such words.
pub(super) fn of_custom_tool(regex: &str, path: &str) -> Result<Constraint, Error> {
    let settled = settled_of_rust(regex).map_err(refused(path))?;
    Ok(Constraint::Regex(settled.into_owned()))
}

fn refused(path: &str) -> impl Fn(FreeFault) -> Error {
    move |fault| {
        let message = format!("the regex at `{path}` {fault}");
        Error::new(Kind::InvalidGrammar, message).at(path)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_regex_is_pythons_and_a_custom_tools_is_rusts() {
        let regex = |regex: &str| Constraint::Regex(regex.to_owned());
        for (stated, of_python, of_rust) in [
            ("[a-z]+", "[a-z]+", "[a-z]+"),
            ("[]a]", r"[\x5da]", r"[\x5da]"),
            ("[a-z&&[^b]]", r"[a-z\x26\x26\x5b^b]\]", "[ac-z]"),
        ] {
            let text = of_text(stated, "regex").unwrap();
            assert_eq!(text, (regex(of_python), of_python != stated));
            let tool = of_custom_tool(stated, "tools[0]").unwrap();
            assert_eq!(tool, regex(of_rust));
        }
        let error = of_text("[[:alpha:]]+", "guided_regex").unwrap_err();
        assert_eq!(error.kind, Kind::InvalidGrammar);
        assert!(error.message.contains("[A-Za-z]"), "{}", error.message);
        let tool = of_custom_tool("[[:alpha:]]+", "tools[0]").unwrap();
        assert_eq!(tool, regex("[A-Za-z]+"));
    }
}
