//! A rule's templates and field rules, applied to a request body: the only walk over raw JSON.
//!
//! What no template and no field rule names keeps the client's bytes.

use super::{FieldAction, FieldRule, Rule, Template};
use crate::error::{Error, Kind};
use crate::ir::{Constraint, EnforcedBy, Fields, Loss, raw};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What some clients say of every request, and what says nothing: no loss where it is left out.
const DEFAULTS: [(&str, &str); 5] = [
    ("n", "1"),
    ("best_of", "1"),
    ("logprobs", "false"),
    ("top_logprobs", "0"),
    ("logit_bias", "{}"),
];

/// What the placeholders of a template stand for.
#[derive(Debug, Clone, Copy, Default)]
pub struct TemplateValues<'a> {
    /// `$schema`, and `$schema_text` as a JSON string.
    pub schema: Option<&'a Value>,
    /// `$regex`.
    pub regex: Option<&'a str>,
    /// `$choice`.
    pub choice: Option<&'a [String]>,
    /// `$grammar`.
    pub grammar: Option<&'a str>,
    /// `$tag`, and `$tag_text` as a JSON string.
    pub tag: Option<&'a Value>,
    /// `$name`; `output` where there is none.
    pub name: Option<&'a str>,
    /// `$description`; its key is left out where there is none.
    pub description: Option<&'a str>,
    /// `$strict`; its key is left out where there is none.
    pub strict: Option<bool>,
    /// `$tool`.
    pub tool: Option<&'a str>,
    /// `$effort`.
    pub effort: Option<&'a str>,
    /// `$tokens`.
    pub tokens: Option<u64>,
}

impl<'a> TemplateValues<'a> {
    /// The value that carries a constraint.
    #[must_use]
    pub fn of(constraint: &'a Constraint) -> Self {
        let mut values = Self::default();
        match constraint {
            Constraint::JsonSchema(schema) => values.schema = Some(schema),
            Constraint::JsonObject => {}
            Constraint::Regex(regex) => values.regex = Some(regex),
            Constraint::Choice(choice) => values.choice = Some(choice),
            Constraint::Grammar { text, .. } => values.grammar = Some(text),
            Constraint::StructuralTag(tag) => values.tag = Some(tag),
        }
        values
    }
}

/// A template was filled without a value that it needs. The checks of rule files make sure that a
/// constraint's own value suffices, so this is a defect of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template needs `{0}`, and there is none")]
pub struct FillError(pub String);

impl From<FillError> for Error {
    fn from(error: FillError) -> Self {
        Self::new(Kind::Internal, error.to_string())
    }
}

/// A filled template: what becomes of each key.
///
/// Kept apart from plain JSON because a value that stands for a placeholder replaces whatever was
/// there: merged key by key, a schema would lose every `null` in it (RFC 7396).
#[derive(Debug, Clone)]
pub enum Patch {
    /// The key is taken out.
    Remove,
    /// The key gets this value.
    Set(Box<RawValue>),
    /// The key becomes an object, and these are its keys.
    Merge(IndexMap<String, Patch>),
}

impl Template {
    /// Puts values in the placeholders' places.
    ///
    /// # Errors
    /// A placeholder without a value.
    pub fn fill(&self, values: &TemplateValues<'_>) -> Result<IndexMap<String, Patch>, FillError> {
        fill_object(&self.0, values)
    }

    /// Whether this placeholder is among its strings.
    #[must_use]
    pub fn names(&self, placeholder: &str) -> bool {
        fn within(value: &Value, placeholder: &str) -> bool {
            match value {
                Value::String(text) => text == placeholder,
                Value::Object(map) => map.values().any(|value| within(value, placeholder)),
                _ => false,
            }
        }
        self.0.values().any(|value| within(value, placeholder))
    }

    /// Fills the template and merges it into a body. The field that carries the client's own
    /// constraint is the caller's to remove first.
    ///
    /// # Errors
    /// A placeholder without a value; the body is as it was.
    pub fn apply(&self, fields: &mut Fields, values: &TemplateValues<'_>) -> Result<(), FillError> {
        merge(fields, self.fill(values)?);
        Ok(())
    }
}

fn fill_object(
    template: &Map<String, Value>,
    values: &TemplateValues<'_>,
) -> Result<IndexMap<String, Patch>, FillError> {
    let mut patch = IndexMap::new();
    for (key, value) in template {
        if let Some(filled) = fill_value(value, values)? {
            patch.insert(key.clone(), filled);
        }
    }
    Ok(patch)
}

/// `None` where the key is left out.
fn fill_value(template: &Value, values: &TemplateValues<'_>) -> Result<Option<Patch>, FillError> {
    let placeholder = match template {
        Value::Object(object) => return Ok(Some(Patch::Merge(fill_object(object, values)?))),
        Value::String(text) if text.starts_with('$') => text.as_str(),
        literal => return Ok(Some(Patch::Set(raw(literal)))),
    };
    let json = |value: &Value| Some(raw(&value.to_string()));
    let filled = match placeholder {
        "$remove" => return Ok(Some(Patch::Remove)),
        "$strict" => return Ok(values.strict.map(|strict| Patch::Set(raw(&strict)))),
        "$description" => return Ok(values.description.map(|text| Patch::Set(raw(text)))),
        "$name" => Some(raw(values.name.unwrap_or("output"))),
        "$schema" => set(values.schema),
        "$schema_text" => values.schema.and_then(json),
        "$regex" => set(values.regex),
        "$choice" => set(values.choice),
        "$grammar" => set(values.grammar),
        "$tag" => set(values.tag),
        "$tag_text" => values.tag.and_then(json),
        "$tool" => set(values.tool),
        "$effort" => set(values.effort),
        "$tokens" => set(values.tokens.as_ref()),
        _ => None,
    };
    filled
        .map(|value| Some(Patch::Set(value)))
        .ok_or_else(|| FillError(placeholder.to_owned()))
}

fn set<T: Serialize + ?Sized>(value: Option<&T>) -> Option<Box<RawValue>> {
    value.map(raw)
}

/// Merges a filled template into a body (RFC 7396, placeholders' values aside). Keys that are there
/// keep their place, new ones go to the end; only a field that the patch enters is parsed.
pub fn merge(fields: &mut Fields, patch: IndexMap<String, Patch>) {
    for (key, patch) in patch {
        match patch {
            Patch::Remove => {
                fields.remove(&key);
            }
            Patch::Set(value) => fields.set(&key, value),
            Patch::Merge(patch) => {
                let mut object = object_at(fields, &key).unwrap_or_default();
                merge(&mut object, patch);
                fields.set(&key, raw(&object));
            }
        }
    }
}

/// A field read one level deep, where it is an object.
fn object_at(fields: &Fields, key: &str) -> Option<Fields> {
    serde_json::from_str(fields.raw(key)?).ok()
}

/// Applies the rule's field rules to a body: what is dropped comes back as a loss. A `null` says
/// nothing, so nothing is lost with it.
///
/// # Errors
/// A field that the rule refuses, by name, with the reason.
pub fn apply_fields(rule: &Rule, fields: &mut Fields) -> Result<Vec<Loss>, Error> {
    if rule.refuses_nulls {
        fields.0.retain(|_, value| value.get() != "null");
    }
    let mut losses = Vec::new();
    for field in &rule.fields {
        let path: Vec<&str> = field.name.split('.').collect();
        let Some(value) = take(fields, &path) else {
            continue;
        };
        losses.extend(apply_field(rule, field, fields, value)?);
    }
    Ok(losses)
}

/// Takes out of a written body what the server does not take, where it says so. Done last: what
/// the client stated and the rule sends in other words is gone by then, and no loss.
pub fn drop_unknown(rule: &Rule, fields: &mut Fields) -> Vec<Loss> {
    let Some(allow) = &rule.allow else {
        return Vec::new();
    };
    let is_known = |name: &String| allow.fields.contains(name);
    let unknown: Vec<String> = fields
        .0
        .keys()
        .filter(|name| !is_known(name))
        .cloned()
        .collect();
    unknown
        .into_iter()
        .filter_map(|name| {
            let value = fields.remove(&name)?;
            // `null` says nothing.
            (value.get() != "null").then(|| Loss {
                pointer: pointer_to([name.as_str()]),
                reason: allow.reason.clone(),
                enforced_by: EnforcedBy::Nobody,
            })
        })
        .collect()
}

fn apply_field(
    rule: &Rule,
    field: &FieldRule,
    fields: &mut Fields,
    value: Box<RawValue>,
) -> Result<Option<Loss>, Error> {
    let reason = match &field.action {
        // `null` says nothing, so it takes nothing to leave it out.
        _ if value.get() == "null" => return Ok(None),
        FieldAction::Drop if DEFAULTS.contains(&(&field.name, value.get())) => return Ok(None),
        FieldAction::Drop => field.reason.clone(),
        FieldAction::Refuse => {
            let message = format!(
                "`{}` is not sent to {}: {}. Leave it out.",
                field.name, rule.title, field.reason
            );
            return Err(Error::new(Kind::InvalidRequest, message).at(&field.name));
        }
        FieldAction::Rename(to) if fields.has(to) => {
            format!("the request has `{to}` too, which says the same here")
        }
        FieldAction::Rename(to) => {
            fields.set(to, value);
            return Ok(None);
        }
    };
    Ok(Some(Loss {
        pointer: pointer(&field.name),
        reason,
        enforced_by: EnforcedBy::Nobody,
    }))
}

/// Takes a value out of a body by its path. Objects on the way are written anew only if it is there.
fn take(fields: &mut Fields, path: &[&str]) -> Option<Box<RawValue>> {
    let (first, rest) = path.split_first()?;
    if rest.is_empty() {
        return fields.remove(first);
    }
    let mut object = object_at(fields, first)?;
    let value = take(&mut object, rest)?;
    fields.set(first, raw(&object));
    Some(value)
}

/// A dotted path as a JSON Pointer.
fn pointer(path: &str) -> String {
    pointer_to(path.split('.'))
}

fn pointer_to<'a>(segments: impl IntoIterator<Item = &'a str>) -> String {
    segments
        .into_iter()
        .fold(String::new(), |pointer, segment| {
            pointer + "/" + &segment.replace('~', "~0").replace('/', "~1")
        })
}
