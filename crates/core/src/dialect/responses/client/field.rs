//! Fields of the body, by their types.

pub(super) use crate::dialect::client::member;
use crate::error::{Error, Kind};
use crate::ir::{EnforcedBy, Fields, Loss, Origin};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// What is wrong with what stands at a place.
pub(super) fn invalid(at: impl Into<String>, problem: &str) -> Error {
    let at = at.into();
    Error::new(Kind::InvalidRequest, format!("`{at}` {problem}")).at(at)
}

/// A top-level field of a known type; absent and `null` are the same.
pub(super) fn field<T: DeserializeOwned>(
    fields: &Fields,
    name: &str,
    expected: &str,
) -> Result<Option<T>, Error> {
    match fields.0.get(name) {
        None => Ok(None),
        Some(raw) => value(raw, &Origin::new(name), expected),
    }
}

/// A value of a known type; `null` says nothing.
pub(super) fn value<T: DeserializeOwned>(
    raw: &RawValue,
    at: &Origin,
    expected: &str,
) -> Result<Option<T>, Error> {
    serde_json::from_str::<Option<T>>(raw.get())
        .map_err(|_| invalid(at.0.clone(), &format!("must be {expected}")))
}

/// Notes what nobody does.
pub(super) fn lose(losses: &mut Vec<Loss>, at: &Origin, reason: &str) {
    losses.push(Loss {
        pointer: at.pointer(),
        reason: reason.to_owned(),
        enforced_by: EnforcedBy::Nobody,
    });
}

/// Notes the members that are left of an object, where they say anything.
pub(super) fn lose_rest(losses: &mut Vec<Loss>, rest: &Fields, origin: &Origin) {
    for (name, value) in &rest.0 {
        if !matches!(value.get(), "null" | "false" | "[]" | "{}" | "\"\"") {
            let name = name.replace('~', "~0").replace('/', "~1");
            losses.push(Loss {
                pointer: format!("{}/{name}", origin.pointer()),
                reason: "only OpenAI's own servers know it".to_owned(),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }
}
