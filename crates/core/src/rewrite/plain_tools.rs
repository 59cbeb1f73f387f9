//! Tools for servers that take no alternatives at the root of a tool's parameters, and no list without its items: one such
//! tool would fail the whole request.

use super::Writer;
use super::place::is_emptied;
use crate::ir::{EnforcedBy, Loss, Tool, ToolInput};
use crate::schema::position;
use crate::schema::rooted::in_place;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

/// What may not stand at the root: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the
/// top level" (OpenAI), "input_schema does not support oneOf, allOf, or anyOf at the top level" (Anthropic).
const ROOTLESS: [&str; 6] = ["anyOf", "oneOf", "allOf", "enum", "const", "not"];

impl Writer<'_> {
    /// Takes Anthropic's marks of what to cache off the tools, where the server refuses them.
    pub(super) fn unmark_tools(&mut self) {
        if self.body.unmark_tools(&self.rule.history) {
            let title = &self.rule.title;
            self.losses.push(Loss {
                pointer: "/tools".to_owned(),
                reason: format!("{title} takes no marks of what to cache: it finds that by itself"),
                enforced_by: EnforcedBy::Nobody,
            });
        }
    }

    /// Makes the parameters of tools plain where the server takes no others.
    pub(super) fn plain_tools(&mut self) {
        self.refit_tools(Self::in_words);
        let profile = &self.rule.schema;
        let (is_plain, is_object) = (profile.plain_tools, profile.object_tools);
        let (is_defined, is_listed) = (profile.defined_tools, profile.listed_tools);
        if is_plain {
            self.refit_tools(Self::plain);
        } else if is_object {
            self.refit_tools(Self::at_the_root);
        }
        if is_defined {
            self.refit_tools(Self::defined);
        }
        if profile.plain_patterns {
            self.refit_tools(Self::with_plain_patterns);
        }
        if is_listed {
            self.refit_tools(Self::listed);
        }
    }

    /// `None` where the parameters list their properties: "object schema missing properties" (OpenAI), and LM Studio's "Required". An
    /// object of which nothing is said, as MCP's servers show tools without parameters, lists none.
    fn listed(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema { schema, strict } = &tool.input else {
            return None;
        };
        let map = schema.as_object()?;
        let is_object = map.get("type").is_none_or(|kind| kind == "object");
        let mut others = ["properties", "$ref"].into_iter().chain(ROOTLESS);
        if !is_object || others.any(|name| map.contains_key(name)) {
            return None;
        }
        let mut schema = map.clone();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), json!({}));
        let strict = *strict;
        Some(ToolInput::Schema {
            schema: Value::Object(schema),
            strict,
        })
    }

    /// Takes `strict` from tools that [`Self::plain`] takes it from in the end: before their parameters are narrowed for it.
    pub(super) fn loosen_tools(&mut self) {
        let profile = &self.rule.schema;
        if profile.plain_tools && profile.strict_tools {
            self.refit_tools(Self::not_narrowed);
        }
    }

    /// `None` where the tool stays as it is.
    fn not_narrowed(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema {
            schema,
            strict: true,
        } = &tool.input
        else {
            return None;
        };
        let has_rootless = |schema: &Value| {
            let rooted = in_place(schema);
            one_object(rooted.as_ref().unwrap_or(schema)).is_some()
        };
        if !has_rootless(schema) {
            return None;
        }
        // What is one object for strict mode stays, and what is too little for it is told so.
        let held = self.memo.lower(schema, &self.rule.schema);
        let lowered = held.schema.as_ref().unwrap_or(schema);
        let is_loose = !is_emptied(schema, lowered, &held.losses) && has_rootless(lowered);
        is_loose.then(|| ToolInput::Schema {
            schema: schema.clone(),
            strict: false,
        })
    }

    /// `None` where no other schema is referred to in place of the root: "schema must be a JSON Schema of 'type: \"object\"', got
    /// 'type: \"None\"'" (OpenAI). zod's named schemas are written so, and recursive ones of pydantic.
    fn at_the_root(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema { schema, strict } = &tool.input else {
            return None;
        };
        let (schema, strict) = (in_place(schema)?, *strict);
        Some(ToolInput::Schema { schema, strict })
    }

    /// `None` where everything is defined that is required, and every reference stands alone.
    fn defined(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema { schema, strict } = &tool.input else {
            return None;
        };
        let (schema, is_lossy) = defined(schema)?;
        if is_lossy {
            self.losses.push(Loss {
                pointer: tool.input_origin.pointer(),
                reason: format!(
                    "{} takes no `required` of what `properties` do not name, and nothing beside a `$ref`: left out",
                    self.rule.title
                ),
                enforced_by: EnforcedBy::Proxy,
            });
        }
        let strict = *strict;
        Some(ToolInput::Schema { schema, strict })
    }

    /// `true` as an object, which all arguments are and every server takes for a schema. `None` where the tool stays as it is.
    fn in_words(&mut self, tool: &Tool) -> Option<ToolInput> {
        match &tool.input {
            ToolInput::Schema { schema, strict } if *schema == Value::Bool(true) => {
                let (schema, strict) = (any_object(), *strict);
                Some(ToolInput::Schema { schema, strict })
            }
            _ => None,
        }
    }

    /// `None` where the tool stays as it is.
    fn plain(&mut self, tool: &Tool) -> Option<ToolInput> {
        let ToolInput::Schema { schema, strict } = &tool.input else {
            return None;
        };
        let rooted = in_place(schema);
        let schema = rooted.as_ref().unwrap_or(schema);
        let whole = with_items(schema);
        let Some((schema, keyword)) = one_object(whole.as_ref().unwrap_or(schema)) else {
            let (schema, strict) = (whole.or(rooted)?, *strict);
            return Some(ToolInput::Schema { schema, strict });
        };
        self.losses.push(Loss {
            pointer: format!("{}/{keyword}", tool.input_origin.pointer()),
            reason: format!(
                "{} refuses `{keyword}` at the root of a tool's parameters: it is told of one object that lets more pass",
                self.rule.title
            ),
            enforced_by: EnforcedBy::Proxy,
        });
        // Strict ones have no properties that may be left out.
        let strict = false;
        Some(ToolInput::Schema { schema, strict })
    }
}

/// The schema without what is required and not named, and what stands beside references, and whether that held anything;
/// `None` where there is no such thing.
fn defined(schema: &Value) -> Option<(Value, bool)> {
    const SAYS_NOTHING: [&str; 7] = [
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
    ];
    let mut whole = schema.clone();
    let mut is_lossy = false;
    position::rewrite(&mut whole, &mut |map: &mut Map<String, Value>| {
        if map.get("$ref").is_some_and(Value::is_string) {
            map.retain(|name, _| {
                let stays = name.starts_with('$') || name == "definitions";
                is_lossy |= !stays && !SAYS_NOTHING.contains(&name.as_str());
                stays
            });
            return;
        }
        let Some(Value::Array(names)) = map.get("required") else {
            return;
        };
        let properties = map.get("properties").and_then(Value::as_object);
        let is_named = |name: &&Value| {
            let name = name.as_str().unwrap_or_default();
            properties.is_some_and(|named| named.contains_key(name))
        };
        let named: Vec<Value> = names.iter().filter(is_named).cloned().collect();
        if named.len() == names.len() {
            return;
        }
        is_lossy = true;
        match named.is_empty() {
            true => map.shift_remove("required"),
            false => map.insert("required".to_owned(), Value::Array(named)),
        };
    });
    (whole != *schema).then_some((whole, is_lossy))
}

/// What arguments are of which nothing is said.
pub(super) fn any_object() -> Value {
    json!({"type": "object"})
}

fn is_list(kind: &Value) -> bool {
    let among = |kinds: &Vec<Value>| kinds.iter().any(|kind| kind == "array");
    kind == "array" || kind.as_array().is_some_and(among)
}

/// Whether there may be a list without items.
fn has_bare_list(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let is_bare = !map.contains_key("items") && map.get("type").is_some_and(is_list);
            is_bare || map.values().any(has_bare_list)
        }
        Value::Array(items) => items.iter().any(has_bare_list),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Lists without `items` have any: the same, said.
fn with_items(schema: &Value) -> Option<Value> {
    if !has_bare_list(schema) {
        return None;
    }
    let mut whole = schema.clone();
    position::rewrite(&mut whole, &mut |map: &mut Map<String, Value>| {
        let has_items = map.contains_key("items") || map.contains_key("prefixItems");
        if map.get("type").is_some_and(is_list) && !has_items {
            map.insert("items".to_owned(), json!({}));
        }
    });
    (whole != *schema).then_some(whole)
}

/// One object of all that the schema names, and the keyword that it stands in place of. What an alternative leaves open is
/// told as the others have it: nobody is held to it, and it is what the model has to go by.
fn one_object(schema: &Value) -> Option<(Value, &'static str)> {
    let map = schema.as_object()?;
    let keyword = ROOTLESS.into_iter().find(|name| map.contains_key(*name))?;
    let named = Gathered::of(map);
    let is_closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    let mut all = named.clone();
    for branch in branches(schema, "allOf") {
        all.and(Gathered::of(branch));
    }
    for alternatives in ["anyOf", "oneOf"] {
        let branches = branches(schema, alternatives).map(Gathered::of);
        if let Some(one) = branches.reduce(Gathered::or) {
            all.and(one);
        }
    }
    if is_closed {
        // Whatever its alternatives name, it allows what it names itself.
        all.properties
            .retain(|name, _| named.properties.contains_key(name));
    }
    let of_any = |mut schemas: Vec<Value>| match schemas.len() {
        1 => schemas.remove(0),
        _ => json!({"anyOf": schemas}),
    };
    let properties = all.properties.into_iter();
    let properties: Map<String, Value> =
        properties.map(|(name, any)| (name, of_any(any))).collect();
    let mut one = map.clone();
    one.retain(|name, _| !ROOTLESS.contains(&name.as_str()) && name != "required");
    one.insert("type".to_owned(), json!("object"));
    one.insert("properties".to_owned(), Value::Object(properties));
    if !all.required.is_empty() {
        one.insert("required".to_owned(), json!(all.required));
    }
    Some((Value::Object(one), keyword))
}

/// The objects of a list of schemas at the root, those among them that are named elsewhere.
fn branches<'s>(schema: &'s Value, keyword: &str) -> impl Iterator<Item = &'s Map<String, Value>> {
    let there = move |branch: &'s Value| {
        let pointer = branch["$ref"].as_str().and_then(|at| at.strip_prefix('#'));
        let named = pointer.and_then(|at| schema.pointer(at));
        named.unwrap_or(branch).as_object()
    };
    let branches = schema[keyword].as_array();
    branches.into_iter().flatten().filter_map(there)
}

/// What objects name: each property with the schemas that it may be of, and those that are in all of them.
#[derive(Debug, Clone)]
struct Gathered {
    properties: IndexMap<String, Vec<Value>>,
    required: IndexSet<String>,
}

impl Gathered {
    fn of(map: &Map<String, Value>) -> Self {
        let properties = map.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten();
        let required = map.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        Self {
            properties: properties
                .map(|(name, of)| (name.clone(), vec![of.clone()]))
                .collect(),
            required: required.map(str::to_owned).collect(),
        }
    }

    /// Of both: what the first says of a property is the narrower the less is said beside.
    fn and(&mut self, other: Self) {
        for (name, schemas) in other.properties {
            self.properties.entry(name).or_insert(schemas);
        }
        self.required.extend(other.required);
    }

    /// Of one or the other.
    fn or(mut self, other: Self) -> Self {
        for (name, schemas) in other.properties {
            let known = self.properties.entry(name).or_default();
            for schema in schemas {
                if !known.contains(&schema) {
                    known.push(schema);
                }
            }
        }
        self.required.retain(|name| other.required.contains(name));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{defined, one_object, with_items};
    use serde_json::{Value, json};

    fn object(properties: &Value, required: &[&str]) -> Value {
        json!({"type": "object", "properties": properties, "required": required})
    }

    #[test]
    fn alternatives_become_one_object_of_all_that_they_name() {
        let (a, b) = (json!({"type": "integer"}), json!({"type": "string"}));
        // As many servers of tools write "one of the two".
        let either = json!({"type": "object", "properties": {"a": a, "b": b},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": false});
        let one = json!({"type": "object", "properties": {"a": a, "b": b}, "additionalProperties": false});
        assert_eq!(one_object(&either), Some((one, "anyOf")));
        let union = json!({"$defs": {"A": object(&json!({"kind": {"const": "a"}, "a": a}), &["kind", "a"])},
            "oneOf": [{"$ref": "#/$defs/A"}, object(&json!({"kind": {"const": "b"}}), &["kind"])]});
        let kinds = json!({"anyOf": [{"const": "a"}, {"const": "b"}]});
        let mut one = object(&json!({"kind": kinds, "a": a}), &["kind"]);
        one["$defs"] = union["$defs"].clone();
        assert_eq!(one_object(&union), Some((one, "oneOf")));
        let both = json!({"type": "object", "allOf": [object(&json!({"a": a}), &["a"]), object(&json!({"b": b}), &["b"])]});
        let one = object(&json!({"a": a, "b": b}), &["a", "b"]);
        assert_eq!(one_object(&both), Some((one, "allOf")));
        assert_eq!(
            one_object(&object(&json!({"a": {"anyOf": [a, b]}}), &["a"])),
            None
        );
    }

    #[test]
    fn what_is_required_is_named_and_a_reference_stands_alone() {
        let a = json!({"type": "integer"});
        let either = json!({"type": "object", "properties": {"a": a, "required": {"type": "string"}},
            "required": ["a", "b"], "anyOf": [{"required": ["a"]}]});
        let told = json!({"type": "object", "properties": {"a": a, "required": {"type": "string"}},
            "required": ["a"], "anyOf": [{}]});
        assert_eq!(defined(&either), Some((told.clone(), true)));
        assert_eq!(defined(&told), None);
        let described = json!({"type": "object", "$defs": {"A": a},
            "properties": {"a": {"$ref": "#/$defs/A", "description": "A number."}}});
        let mut alone = described.clone();
        alone["properties"]["a"] = json!({"$ref": "#/$defs/A"});
        assert_eq!(defined(&described), Some((alone.clone(), false)));
        let mut bounded = described;
        bounded["properties"]["a"]["minimum"] = json!(1);
        assert_eq!(defined(&bounded), Some((alone, true)));
    }

    #[test]
    fn a_list_without_items_has_any() {
        let list = |items: Value| {
            object(
                &json!({"a": {"type": "object", "properties": {"b": items}}}),
                &[],
            )
        };
        let bare = list(json!({"type": ["array", "null"]}));
        let whole = list(json!({"type": ["array", "null"], "items": {}}));
        assert_eq!(with_items(&bare), Some(whole.clone()));
        assert_eq!(with_items(&whole), None);
        assert_eq!(
            with_items(&list(json!({"type": "array", "prefixItems": [{}]}))),
            None
        );
    }
}
