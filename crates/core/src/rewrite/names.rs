//! Tools and their parameters under other names, where the server does not take theirs: one such name would fail the whole request.

use super::Writer;
use crate::ir::{Refusal, Tool, ToolChoice, ToolInput, Wire, plain_key, plain_name};
use crate::schema::percent_decode;
use crate::schema::position::{AppliesTo, Holds, any_object, holds, rewrite};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

impl Writer<'_> {
    /// The name of a tool as the server is told it.
    pub(super) fn told_name(&self, name: &str) -> Option<String> {
        let renames = self.renames(Refusal::OddNames);
        renames.then(|| plain_name(name)).flatten()
    }

    /// Names in other wires than Chat's are left to their own clients: what their own servers refuse they are told.
    fn renames(&self, what: Refusal) -> bool {
        let is_own = self.body.keeps_wire() && self.request.wire != Some(Wire::Chat);
        !is_own && self.rule.history.refuses(what)
    }

    /// Gives parameters the names that the server takes, and tells the client's by those, each under its tool's name.
    pub(super) fn rename_keys(&mut self) -> HashMap<String, HashMap<String, String>> {
        let mut renamed = HashMap::new();
        if !self.renames(Refusal::OddKeys) {
            return renamed;
        }
        for index in 0..self.body.tools.len() {
            let input = self.body.tools.get(index).map(|tool| &tool.input);
            let Some(ToolInput::Schema { schema, strict }) = input else {
                continue;
            };
            let Some((schema, keys)) = with_plain_keys(schema) else {
                continue;
            };
            let strict = *strict;
            let tool = &mut self.body.tools.to_mut()[index];
            tool.input = ToolInput::Schema { schema, strict };
            renamed.insert(tool.name.clone(), keys);
        }
        renamed
    }

    /// Gives tools the names that the server takes, and tells the client's by those.
    pub(super) fn rename_tools(&mut self) -> HashMap<String, String> {
        let mut renamed = HashMap::new();
        if !self.renames(Refusal::OddNames) {
            return renamed;
        }
        let plain = |tool: &Tool| match tool.input {
            ToolInput::Hosted(_) => None,
            ToolInput::Schema { .. } | ToolInput::Text(_) => plain_name(&tool.name),
        };
        for index in 0..self.body.tools.len() {
            if let Some(name) = self.body.tools.get(index).and_then(plain) {
                let tool = &mut self.body.tools.to_mut()[index];
                let stated = std::mem::replace(&mut tool.name, name.clone());
                renamed.insert(name, stated);
            }
        }
        if !renamed.is_empty() {
            self.body.rename_choice();
        }
        renamed
    }
}

/// Keywords whose members are named as properties are.
const NAMED: [&str; 4] = [
    "properties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
];

/// The schema with its own properties under names that every server takes, and theirs by those; `None` where all have such. What is
/// further within is not looked at by Anthropic's API.
fn with_plain_keys(schema: &Value) -> Option<(Value, HashMap<String, String>)> {
    let properties = schema.get("properties")?.as_object()?;
    let told: HashMap<String, String> = (properties.keys())
        .filter_map(|key| Some((key.clone(), plain_key(key)?)))
        .collect();
    if told.is_empty() {
        return None;
    }
    let mut schema = schema.clone();
    keep_root(&mut schema);
    rename_within(&mut schema, &told);
    redirect(&mut schema, &told);
    let stated = told.into_iter().map(|(key, plain)| (plain, key));
    Some((schema, stated.collect()))
}

/// Objects of the same schema further within keep their names: what refers to the whole refers to a copy of it.
fn keep_root(schema: &mut Value) {
    let is_whole = |map: &Map<String, Value>| map.get("$ref").is_some_and(|to| to == "#");
    let known = schema.get("$defs");
    if known.is_some_and(|known| !known.is_object()) || !any_object(schema, &is_whole) {
        return;
    }
    let is_free = |name: &String| known.is_none_or(|known| known.get(name).is_none());
    let mut names = (0_u32..).map(|number| format!("Root{number}"));
    let name = names.find(is_free).unwrap_or_default();
    let place = Value::String(format!("#/$defs/{name}"));
    rewrite(schema, &mut |map| {
        if is_whole(map) {
            map.insert("$ref".to_owned(), place.clone());
        }
    });
    let Value::Object(root) = schema else { return };
    let mut copy = root.clone();
    for keyword in ["$schema", "$id", "$defs", "definitions"] {
        copy.shift_remove(keyword);
    }
    let definitions = root.entry("$defs").or_insert_with(|| json!({}));
    definitions[name] = Value::Object(copy);
}

/// Gives properties their names in all that a schema says of the same object.
fn rename_within(schema: &mut Value, told: &HashMap<String, String>) {
    let Value::Object(map) = schema else { return };
    for keyword in NAMED {
        if let Some(Value::Object(named)) = map.get_mut(keyword) {
            let rename = |(key, value): (String, Value)| match told.get(&key) {
                Some(plain) => (plain.clone(), value),
                None => (key, value),
            };
            *named = std::mem::take(named).into_iter().map(rename).collect();
        }
    }
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("required", Value::Array(names)) => rename_all(names, told),
            ("propertyNames", Value::Object(names)) => {
                let names = names.get_mut("enum").and_then(Value::as_array_mut);
                names.into_iter().for_each(|names| rename_all(names, told));
            }
            ("dependentRequired" | "dependencies", Value::Object(lists)) => {
                for value in lists.values_mut() {
                    match value {
                        Value::Array(names) => rename_all(names, told),
                        schema => rename_within(schema, told),
                    }
                }
            }
            (keyword, value) => match (holds(keyword), value) {
                (Some((_, AppliesTo::Same)), Value::Array(items)) => {
                    items.iter_mut().for_each(|item| rename_within(item, told));
                }
                (Some((Holds::Named, AppliesTo::Same)), Value::Object(named)) => {
                    named
                        .values_mut()
                        .for_each(|item| rename_within(item, told));
                }
                (Some((_, AppliesTo::Same)), value) => rename_within(value, told),
                _ => {}
            },
        }
    }
}

fn rename_all(names: &mut [Value], told: &HashMap<String, String>) {
    for name in names {
        if let Some(plain) = name.as_str().and_then(|name| told.get(name)) {
            *name = Value::String(plain.clone());
        }
    }
}

/// The property that a reference's step names.
fn property(step: &str) -> String {
    let step = percent_decode(step);
    step.replace("~1", "/").replace("~0", "~")
}

/// References into a property that has another name now.
fn redirect(schema: &mut Value, told: &HashMap<String, String>) {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                match value {
                    Value::String(to) if keyword == "$ref" => {
                        let inner = to.strip_prefix("#/properties/");
                        let (key, rest) = inner.map_or(("", ""), |inner| {
                            inner.split_at(inner.find('/').unwrap_or(inner.len()))
                        });
                        if let Some(plain) = told.get(&property(key)) {
                            *to = format!("#/properties/{plain}{rest}");
                        }
                    }
                    value => redirect(value, told),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, told)),
        _ => {}
    }
}

/// The choice under the new names; `None` where it names no tool that has one.
pub(super) fn renamed_choice(choice: &ToolChoice) -> Option<ToolChoice> {
    match choice {
        ToolChoice::None | ToolChoice::Auto | ToolChoice::Required => None,
        ToolChoice::Named(name) => plain_name(name).map(ToolChoice::Named),
        ToolChoice::Allowed { required, names } => {
            let is_renamed = |name: &String| plain_name(name).is_some();
            let told = |name: &String| plain_name(name).unwrap_or_else(|| name.clone());
            names.iter().any(is_renamed).then(|| ToolChoice::Allowed {
                required: *required,
                names: names.iter().map(told).collect(),
            })
        }
    }
}
