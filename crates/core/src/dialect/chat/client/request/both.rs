//! Several constraints in one request: what each says comes in, the one that says all of it goes
//! out. Frameworks put `json_object` beside a schema, and one schema where two servers look for it.

use crate::error::{Error, Kind};
use crate::ir::{ClientConstraint, Constraint};
use crate::schema::canonical;
use crate::schema::merge::objects_only;
use serde_json::Value;

/// The one constraint that holds exactly where all of them hold.
///
/// # Errors
/// Two that contradict each other, or of which neither says what the other does.
pub(super) fn conjoined(found: Vec<ClientConstraint>) -> Result<Option<ClientConstraint>, Error> {
    let mut found = found.into_iter();
    let Some(first) = found.next() else {
        return Ok(None);
    };
    found.try_fold(first, both).map(Some)
}

fn both(kept: ClientConstraint, other: ClientConstraint) -> Result<ClientConstraint, Error> {
    let Some(says) = conjunction(&kept.constraint, &other.constraint) else {
        let (first, second) = (kept.spelling.0, other.spelling.0);
        let message = format!(
            "`{first}` and `{second}` each state a constraint, and not the same: send only one of them"
        );
        return Err(Error::new(Kind::ConflictingConstraints, message).at(second));
    };
    let (mut stated, less, constraint) = match says {
        Says::First(constraint) => (kept, other, constraint),
        Says::Second(constraint) => (other, kept, constraint),
    };
    if let Some(constraint) = constraint {
        stated.constraint = constraint;
    }
    stated.name = stated.name.or(less.name);
    stated.description = stated.description.or(less.description);
    stated.strict = stated.strict.or(less.strict);
    stated.also.extend(less.also);
    stated.also.push(less.spelling);
    Ok(stated)
}

/// Which of two says what both say; with what it has to say then, where that is more.
enum Says {
    First(Option<Constraint>),
    Second(Option<Constraint>),
}

fn conjunction(first: &Constraint, second: &Constraint) -> Option<Says> {
    use Constraint::{JsonObject, JsonSchema};
    match (first, second) {
        (JsonSchema(one), JsonSchema(other)) if canonical(one) == canonical(other) => {
            Some(Says::First(None))
        }
        (JsonSchema(_), JsonSchema(any)) if says_nothing(any) => Some(Says::First(None)),
        (JsonSchema(any), JsonSchema(_)) if says_nothing(any) => Some(Says::Second(None)),
        (JsonObject, JsonSchema(any)) if says_nothing(any) => Some(Says::First(None)),
        (JsonSchema(any), JsonObject) if says_nothing(any) => Some(Says::Second(None)),
        (JsonSchema(schema), JsonObject) => Some(Says::First(of_objects(schema)?)),
        (JsonObject, JsonSchema(schema)) => Some(Says::Second(of_objects(schema)?)),
        _ => (first == second).then_some(Says::First(None)),
    }
}

/// The schema of those of its values that are objects; `Some(None)` where all are, `None` where
/// none is.
fn of_objects(schema: &Value) -> Option<Option<Constraint>> {
    let narrowed = objects_only(schema)?;
    Some((narrowed != *schema).then_some(Constraint::JsonSchema(narrowed)))
}

/// Whether any JSON at all satisfies a schema.
fn says_nothing(schema: &Value) -> bool {
    match schema {
        Value::Bool(is_any) => *is_any,
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
mod tests;
