//! A tool whose schema nobody can read, where no call of it in particular is demanded: a body with an outline in its place.
//!
//! Clients send what MCP servers wrote: `$defs` left out and their references not, types of other languages. One such tool of many is
//! not to cost the others. No server is sent what cannot be read: some end on it (CVE-2025-48944).

use super::prepared::Opened;
use crate::error::{Error, Kind};
use crate::ir::{Calls, EnforcedBy, Fields, Loss, Tool, ToolInput, raw};
use crate::schema::{SchemaLimits, guard};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// In more tools than these a request is refused.
pub const MAX_OUTLINES: usize = 32;

/// The types that a property of an outline may have.
const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "object", "array"];

impl Opened {
    /// The same request with an outline of the schema that this is the error of, and what is lost by that. None where the error
    /// is not of a tool's schema, where a call is demanded that no other tool can be, or where the tool is to be strict.
    #[must_use]
    pub fn outlined(&self, error: &Error) -> Option<(Self, Loss)> {
        let is_of_schema = matches!(
            error.kind,
            Kind::InvalidSchema | Kind::UnsupportedSchema | Kind::SchemaTooComplex
        );
        let at = error.param.as_ref().filter(|_| is_of_schema)?;
        let demand = self.read().ok()?;
        let has_others = || {
            let others = demand.contract.tools.iter();
            let mut others = others.filter(|tool| tool.input_origin.0 != *at);
            others.any(is_read)
        };
        match demand.contract.calls {
            Calls::Optional => {}
            Calls::Required if has_others() => {}
            Calls::Required | Calls::Unstated | Calls::Forbidden => return None,
        }
        let mut tools = demand.contract.tools.iter();
        let tool = tools.find(|tool| tool.input_origin.0 == *at)?;
        let ToolInput::Schema {
            schema,
            strict: false,
        } = &tool.input
        else {
            return None;
        };
        let outline = outline(schema);
        // What was put there already is not at fault.
        if outline == *schema {
            return None;
        }
        let pointer = tool.input_origin.pointer();
        let path: Vec<&str> = pointer.split('/').skip(1).collect();
        let body = serde_json::from_slice::<&RawValue>(self.body()).ok()?;
        let body = with(body, &path, &|_| Some(raw(&outline)))?;
        let opened = self.of_body(body.get().as_bytes().to_vec()).ok()?;
        let reason = format!(
            "the model is told its properties with their types alone, and calls are held to those: {error}"
        );
        let loss = Loss {
            pointer,
            reason,
            enforced_by: EnforcedBy::Nobody,
        };
        Some((opened, loss))
    }
}

/// Whether a call of it can be demanded.
fn is_read(tool: &Tool) -> bool {
    match &tool.input {
        ToolInput::Schema { schema, .. } => guard(schema, &SchemaLimits::default()).is_ok(),
        ToolInput::Text(_) => true,
        ToolInput::Hosted(_) => false,
    }
}

/// The value with another one at a path; none where the path leads nowhere.
pub(super) fn with(
    value: &RawValue,
    path: &[&str],
    new: &dyn Fn(&RawValue) -> Option<Box<RawValue>>,
) -> Option<Box<RawValue>> {
    let Some((first, rest)) = path.split_first() else {
        return new(value);
    };
    if value.get().starts_with('[') {
        let mut items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).ok()?;
        let item = items.get_mut(first.parse::<usize>().ok()?)?;
        *item = with(item, rest, new)?;
        return Some(raw(&items));
    }
    let mut fields: Fields = serde_json::from_str(value.get()).ok()?;
    let changed = with(fields.0.get(*first)?, rest, new)?;
    fields.set(first, changed);
    Some(raw(&fields))
}

/// An object with properties of these names, with what is said of them.
fn outline(schema: &Value) -> Value {
    let mut properties = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let mut told = Map::new();
        if let Some(kind) = property["type"]
            .as_str()
            .filter(|kind| TYPES.contains(kind))
        {
            told.insert("type".to_owned(), json!(kind));
        }
        if let Some(description) = property["description"].as_str() {
            told.insert("description".to_owned(), json!(description));
        }
        properties.insert(name.clone(), Value::Object(told));
    }
    json!({"type": "object", "properties": properties})
}
