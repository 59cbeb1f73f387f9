//! `text`: the format that the answer must have, and how much is said.

use super::field::{field, invalid, lose, lose_rest, member};
use super::tools::strict;
use crate::error::{Error, Kind};
use crate::ir::{ClientConstraint, Constraint, Fields, Loss, Origin};
use serde_json::Value;

/// What `text` says.
#[derive(Default)]
pub(super) struct Text {
    pub(super) constraint: Option<ClientConstraint>,
    pub(super) verbosity: Option<String>,
}

pub(super) fn read(fields: &Fields, losses: &mut Vec<Loss>) -> Result<Text, Error> {
    let at = Origin::new("text");
    let expected = "an object, such as {\"format\": {\"type\": \"json_schema\", …}}";
    let Some(mut text) = field::<Fields>(fields, "text", expected)? else {
        return Ok(Text::default());
    };
    let verbosity = member(&mut text, "verbosity", &at, "a string")?;
    let expected = "an object with a `type`";
    let constraint = match member::<Fields>(&mut text, "format", &at, expected)? {
        Some(stated) => format(stated, losses)?,
        None => None,
    };
    lose_rest(losses, &text, &at);
    Ok(Text {
        constraint,
        verbosity,
    })
}

fn format(mut format: Fields, losses: &mut Vec<Loss>) -> Result<Option<ClientConstraint>, Error> {
    let at = Origin::new("text.format");
    let expected = "\"text\", \"json_schema\" or \"json_object\"";
    let kind: Option<String> = member(&mut format, "type", &at, expected)?;
    let stated = |constraint| ClientConstraint {
        constraint,
        spelling: at.clone(),
        also: Vec::new(),
        is_reworded: false,
        name: None,
        description: None,
        strict: None,
    };
    let constraint = match kind.as_deref() {
        Some("text") => None,
        Some("json_object") => Some(stated(Constraint::JsonObject)),
        Some("json_schema") => {
            let schema = schema(&mut format, &at)?;
            let mut stated = stated(Constraint::JsonSchema(schema));
            stated.name = member(&mut format, "name", &at, "a string")?;
            stated.strict = strict(&mut format, &at)?;
            stated.description = member(&mut format, "description", &at, "a string")?;
            if stated.description.is_some() {
                // Unless the server has a place for it.
                let reason = "a schema is sent without a description beside it";
                lose(losses, &at.member("description"), reason);
            }
            Some(stated)
        }
        Some(_) => {
            let problem = format!("is not known: use {expected}");
            return Err(invalid(at.member("type").0, &problem));
        }
        None => {
            let problem = format!("is missing: use {expected}");
            return Err(invalid(at.member("type").0, &problem));
        }
    };
    lose_rest(losses, &format, &at);
    Ok(constraint)
}

fn schema(format: &mut Fields, at: &Origin) -> Result<Value, Error> {
    if format.has("json_schema") {
        let problem = "is Chat's: put `name`, `schema` and `strict` beside `type`";
        return Err(invalid(at.member("json_schema").0, problem));
    }
    let path = at.member("schema").0;
    match member::<Value>(format, "schema", at, "a JSON Schema object")? {
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(schema),
        None => Err(invalid(
            path,
            "is missing: put the JSON Schema there, or use {\"type\": \"json_object\"} for any object",
        )),
        Some(_) => {
            let message = format!("`{path}` must be a JSON Schema object");
            Err(Error::new(Kind::InvalidSchema, message).at(path))
        }
    }
}
