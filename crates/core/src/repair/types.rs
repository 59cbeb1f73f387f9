//! JSON and its schema in; the JSON that was meant out, where a value has the wrong type and the
//! schema leaves one reading of it. What needs no repair stays the bytes that it was.

use super::view::{allows, branches, fits, has_type, is_typed, items, options, property};
use crate::ir::{Fields, RepairStep, Repairs, raw_string};
use crate::schema::read_reply_json;
use serde_json::value::RawValue;
use serde_json::{Number, Value};

/// Longer texts are not repaired: each level of nesting is read once more.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// Words that say that there is nothing: a list of one of them is not what was meant.
const NOTHING: [&str; 6] = ["", "null", "none", "nil", "undefined", "n/a"];

/// Repairs the types in a JSON text; `None` where there is nothing to repair. The result is not
/// yet known to satisfy the schema.
#[must_use]
pub fn repair(text: &str, schema: &Value) -> Option<(String, Repairs)> {
    if text.len() > MAX_TEXT_BYTES || read_reply_json(text).is_err() {
        return None;
    }
    let mut walk = Walk {
        root: schema,
        steps: Repairs::default(),
    };
    let repaired = walk.value(text.trim(), schema)?;
    Some((repaired, walk.steps))
}

struct Walk<'s> {
    root: &'s Value,
    steps: Repairs,
}

/// One way to read a value.
#[derive(PartialEq)]
struct Reading {
    json: String,
    step: RepairStep,
}

impl Walk<'_> {
    /// The value as it was meant; `None` where it stays as it is.
    fn value(&mut self, raw: &str, schema: &Value) -> Option<String> {
        let branches = branches(self.root, schema)?;
        let value: Value = crate::json::value(raw).ok()?;
        let fitting: Vec<_> = branches
            .iter()
            .filter(|branch| fits(branch, &value))
            .collect();
        match fitting.as_slice() {
            [] => {}
            [only] if value.is_object() => return self.object(raw, only),
            [only] if value.is_array() => return self.array(raw, only),
            _ => return None,
        }
        if !branches.iter().all(|branch| is_typed(branch)) {
            return None;
        }
        let mut readings = Vec::new();
        for branch in &branches {
            self.readings(raw, &value, branch, &mut readings);
        }
        let Ok([Reading { json, step }]) = <[Reading; 1]>::try_from(readings) else {
            return None;
        };
        self.steps.add(step);
        if step == RepairStep::DoubleEncoded {
            return self.value(&json, schema).or(Some(json));
        }
        Some(json)
    }

    fn object(&mut self, raw: &str, branch: &serde_json::Map<String, Value>) -> Option<String> {
        let (mut fields, repeats) = Fields::read(raw.as_bytes()).ok()?;
        let mut is_changed = false;
        for (name, value) in &mut fields.0 {
            if let Some(schema) = property(branch, name)
                && let Some(repaired) = self.value(value.get(), schema)
            {
                *value = raw_string(repaired);
                is_changed = true;
            }
        }
        let json = (is_changed && !repeats).then(|| fields.to_json())?;
        String::from_utf8(json).ok()
    }

    fn array(&mut self, raw: &str, branch: &serde_json::Map<String, Value>) -> Option<String> {
        let schema = items(branch)?;
        let mut values: Vec<Box<RawValue>> = serde_json::from_str(raw).ok()?;
        let mut is_changed = false;
        for value in &mut values {
            if let Some(repaired) = self.value(value.get(), schema) {
                *value = raw_string(repaired);
                is_changed = true;
            }
        }
        is_changed.then(|| serde_json::to_string(&values).ok())?
    }

    /// Adds the ways in which a value could be one of the branch.
    fn readings(
        &self,
        raw: &str,
        value: &Value,
        branch: &serde_json::Map<String, Value>,
        found: &mut Vec<Reading>,
    ) {
        let mut add = |json: String, step| {
            let reading = Reading { json, step };
            if !found.contains(&reading) {
                found.push(reading);
            }
        };
        if let Value::String(text) = value {
            if number(text, branch) {
                add(text.clone(), RepairStep::Number);
            }
            if matches!(text.as_str(), "true" | "false") && allows(branch, "boolean") {
                add(text.clone(), RepairStep::Boolean);
            }
            for option in options(branch).unwrap_or_default() {
                if option.as_str().is_some_and(|option| is_alike(option, text)) {
                    add(option.to_string(), RepairStep::EnumCase);
                }
            }
            if is_encoded(text, branch) {
                // Nobody means a list of one text that is such a list itself.
                add(text.clone(), RepairStep::DoubleEncoded);
            }
        }
        if self.is_item(value, branch) {
            add(format!("[{raw}]"), RepairStep::List);
        }
    }

    /// Whether a value is one item of the list that is asked for.
    fn is_item(&self, value: &Value, branch: &serde_json::Map<String, Value>) -> bool {
        let is_one = match value {
            Value::Null | Value::Array(_) => false,
            // Several in one text, or a text for none.
            Value::String(text) => {
                let word = text.trim().to_lowercase();
                !text.contains([',', ';', '|', '\n'])
                    && !word.starts_with(['[', '{'])
                    && !NOTHING.contains(&word.as_str())
            }
            _ => true,
        };
        let fits_item = |schema| {
            let branches = branches(self.root, schema).unwrap_or_default();
            let is_plain = branches.iter().all(|branch| is_typed(branch));
            is_plain && branches.iter().any(|branch| fits(branch, value))
        };
        is_one && allows(branch, "array") && items(branch).is_some_and(fits_item)
    }
}

/// Whether a text is a number of the branch, exactly as JSON writes it.
fn number(text: &str, branch: &serde_json::Map<String, Value>) -> bool {
    let Ok(number) = serde_json::from_str::<Number>(text) else {
        return false;
    };
    let is_canonical = number.to_string() == text;
    let is_whole = number.is_i64() || number.is_u64();
    is_canonical && (allows(branch, "number") || is_whole && allows(branch, "integer"))
}

fn is_alike(option: &str, text: &str) -> bool {
    option.to_lowercase() == text.to_lowercase()
}

/// Whether a text is the JSON of an object or array of the branch.
fn is_encoded(text: &str, branch: &serde_json::Map<String, Value>) -> bool {
    if !text.trim_start().starts_with(['{', '[']) {
        return false;
    }
    let Ok(inner) = read_reply_json(text) else {
        return false;
    };
    ["object", "array"]
        .iter()
        .any(|word| has_type(&inner, word) && allows(branch, word))
}
