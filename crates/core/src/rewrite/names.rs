//! Tools and their parameters under other names, where the server does not take theirs: one such name would fail the whole request.

use super::Writer;
use crate::ir::{Refusal, Tool, ToolChoice, ToolInput, Wire, plain_key, plain_name};
use crate::schema::percent_decode;
use serde_json::Value;
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
    let root = schema.as_object_mut()?;
    for keyword in ["properties", "dependentRequired", "dependentSchemas"] {
        if let Some(Value::Object(map)) = root.get_mut(keyword) {
            let rename = |(key, value): (String, Value)| match told.get(&key) {
                Some(plain) => (plain.clone(), value),
                None => (key, value),
            };
            *map = std::mem::take(map).into_iter().map(rename).collect();
        }
    }
    for (keyword, value) in root {
        match (keyword.as_str(), value) {
            ("required", Value::Array(names)) => rename_all(names, &told),
            ("dependentRequired", Value::Object(lists)) => {
                let lists = lists.values_mut().filter_map(Value::as_array_mut);
                lists.for_each(|names| rename_all(names, &told));
            }
            _ => {}
        }
    }
    redirect(&mut schema, &told);
    let stated = told.into_iter().map(|(key, plain)| (plain, key));
    Some((schema, stated.collect()))
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
