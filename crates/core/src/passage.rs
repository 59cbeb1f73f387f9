//! What goes past the translation: a request's path and body in, whether it may go as it is out.
//!
//! A list of the routes that generate is always behind the servers, so it is the other way round:
//! every body is looked at, but for routes that are known not to generate, and none is believed
//! to be what its content type says. A constraint on a route that is not translated would go out
//! unverified, so such a request is refused, or marked where the operator wants it forwarded.

mod constraint;
mod form;
mod forward;
mod json;
mod models;
mod path;
mod refusal;
mod results;
mod words;

pub use form::{Form, InForm, form_with};
pub use forward::{Forward, NoPath};
pub use json::Look;
pub use models::{Asking, Credentials, Listed, Speaks, asking};
pub use path::{
    Vendors, Way, client, clients, computes, counter, is_health, is_liveness, kept,
    takes_no_tokens, way, without_vendor,
};
pub use refusal::error_body;
pub use results::{names_results, with_own_results};

use crate::error::{Error, Kind};
use crate::ir::{Request, Wire};
use crate::json::strict;
use std::borrow::Cow;

/// Whether what has come of a body so far may be JSON for any server.
#[must_use]
pub fn sniff(body: &[u8]) -> Look {
    json::sniff(body)
}

/// What a whole body asks of the reply that nothing would verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyDemand {
    /// Nothing.
    None,
    /// A constraint: the field that states it, as a dotted path in the table's words.
    Constraint(String),
    /// It begins as JSON and is none, so that nobody can say what a lenient server reads in it.
    Unreadable,
}

/// Looks at a whole body.
#[must_use]
pub fn demand(body: &[u8]) -> BodyDemand {
    match json::sniff(body) {
        Look::Other => BodyDemand::None,
        Look::Undecided | Look::Json => constraint::find(body),
    }
}

/// The refusal of what would go past the translation unverified; `None` where it may go.
#[must_use]
pub fn refusal(demand: &BodyDemand) -> Option<Error> {
    match demand {
        BodyDemand::None => None,
        BodyDemand::Constraint(field) => {
            let message = format!(
                "`{field}` asks for what this route's replies are not verified for: POST it to \
                 /v1/chat/completions, which is, or let the operator set unverified = \"forward\""
            );
            Some(Error::new(Kind::UnverifiedRoute, message).at(field.clone()))
        }
        BodyDemand::Unreadable => {
            let message = "the body begins as JSON and is none: send JSON in UTF-8, without a byte \
                           order mark, comments, NaN or Infinity";
            Some(Error::new(Kind::InvalidJson, message))
        }
    }
}

/// Looks at what a completion asks for beside the constraint that was read: its fields are its server's own,
/// and what steers a reply in some other word would go out unverified.
///
/// # Errors
/// The field that nobody here reads.
pub fn check(request: &Request) -> Result<(), Error> {
    if request.wire != Some(Wire::Completions) {
        return Ok(());
    }
    let mut fields = Cow::Borrowed(&request.fields);
    if let Some(stated) = &request.constraint {
        for spelling in std::iter::once(&stated.spelling).chain(&stated.also) {
            fields.to_mut().remove(spelling.field());
        }
    }
    match constraint::find(&fields.to_json()) {
        BodyDemand::None => Ok(()),
        BodyDemand::Constraint(field) => {
            let message = format!(
                "`{field}` asks for what a completion is not verified for: POST it with `messages` to \
                 /v1/chat/completions, which is"
            );
            Err(Error::new(Kind::UnverifiedRoute, message).at(field))
        }
        BodyDemand::Unreadable => Err(Error::new(Kind::InvalidJson, "the body is no JSON")),
    }
}

/// The refusal of a path that ends like the translated route and is another.
#[must_use]
pub fn other_prefix() -> Error {
    let message = "what chats is translated and verified at its own path alone (/v1/chat/completions, \
                   /api/chat), not under another prefix: let the client's base URL end right behind \
                   the host, in /v1 where it has that, or let the operator set unverified = \
                   \"forward\"";
    Error::new(Kind::UnverifiedRoute, message).with_status(404)
}

/// The refusal of a path that no server is asked at.
#[must_use]
pub fn not_forwarded(method: &str, path: &str) -> Error {
    const MAX_CHARS: usize = 120;
    let is_plain = |letter: &char| letter.is_ascii_graphic() && !matches!(letter, '`' | '"');
    let path: String = path.chars().filter(is_plain).take(MAX_CHARS).collect();
    // What the list of paths does not take is no advice.
    let remedy = match Forward::parse(&path) {
        Ok(added) if added != Forward::default() => format!(
            "If clients need it, the operator adds the path: forward = [\"{path}\"] in isogloss.toml, or --forward {path}"
        ),
        _ => "It cannot be added by itself: only forward = [\"*\"] in isogloss.toml has it, which is for everything"
            .to_owned(),
    };
    let message = format!("`{method} {path}` is not forwarded: only inference is. {remedy}");
    Error::new(Kind::RouteNotForwarded, message)
}

/// The model that a request on a route that is not translated names: in its path, as Gemini's do, or in its body.
///
/// # Errors
/// There is none that can be read.
pub fn model_of(path: &str, body: &[u8]) -> Result<String, Error> {
    let gemini = path::unbent(path).and_then(|segments| {
        let at = segments
            .iter()
            .position(|one| one == "models" || one == "tunedmodels")?;
        let name = segments.get(at + 1..)?.join("/");
        name.rsplit_once(':').map(|(name, _)| name.to_owned())
    });
    if let Some(name) = gemini {
        return Ok(name);
    }
    // Of two names, each reader would take another.
    strict::check(body, &strict::Limits::default())?;
    let value: serde_json::Value = crate::json::value_of(body)
        .map_err(|_| Error::new(Kind::InvalidJson, "the body is no JSON"))?;
    let name = value.get("model").and_then(serde_json::Value::as_str);
    name.map(str::to_owned).ok_or_else(|| {
        let message = "this key is for some models alone: send JSON with the `model` that is meant";
        Error::new(Kind::NotAllowed, message).at("model")
    })
}

/// The refusal of a body that cannot be looked at, since it is compressed.
#[must_use]
pub fn encoded() -> Error {
    let message = "the body must come without a content encoding: it is looked at for constraints";
    Error::new(Kind::UnsupportedMediaType, message)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_refusal_names_the_field_and_both_remedies() {
        let error = refusal(&demand(
            br#"{"prompt":"p","guided_json":{"type":"object"}}"#,
        ))
        .unwrap();
        assert_eq!(error.kind, Kind::UnverifiedRoute);
        assert_eq!(error.status(), 400);
        assert_eq!(error.param.as_deref(), Some("guided_json"));
        for word in [
            "guided_json",
            "/v1/chat/completions",
            "unverified = \"forward\"",
        ] {
            assert!(error.message.contains(word), "{word}");
        }
    }

    #[test]
    fn what_asks_for_nothing_may_go() {
        for body in [&b""[..], b"{}", b"abc", b"--boundary", br#"{"prompt":"p"}"#] {
            assert_eq!(refusal(&demand(body)), None, "{body:?}");
        }
    }
}
