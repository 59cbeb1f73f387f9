//! Schemas for llguidance: a client's schema that has passed the guard comes in; one that
//! llguidance enforces to the letter goes out, or the keyword that it cannot enforce.

use crate::backend::Whitespace;
use isogloss_core::error::{Error, Kind};
use isogloss_core::pattern::ecma;
use isogloss_core::schema::lower::asserts;
use isogloss_core::schema::position::{Holds, holds, is_schema, rewrite};
use isogloss_core::schema::profile::{Counts, OneOf};
use isogloss_core::schema::{Profile, Why, lower};
use serde_json::{Map, Value, json};

/// Between two tokens of JSON: a space or two, or a line end with an indent. Models write nothing
/// else, and without bounds some write spaces until their tokens are spent.
const FLEXIBLE: &str = r"\x20{1,2}|\x0A\x20{0,40}|\x0A\x09{1,10}";

/// What llguidance 1.9 refuses. It would take `minProperties` and `maxProperties` where a schema
/// names no properties, but it counts a name that comes twice as two.
const REFUSED: [&str; 16] = [
    "$dynamicRef",
    "$recursiveRef",
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// The formats that it knows.
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
    "uri",
];

/// Keywords that assert nothing, and that it does not know as such.
const SILENT: [&str; 5] = [
    "deprecated",
    "contentSchema",
    "$vocabulary",
    "$recursiveAnchor",
    "x-guidance",
];

/// The schema that llguidance is given.
pub(super) fn prepare(schema: &Value, whitespace: Whitespace) -> Result<Value, Error> {
    let mut trimmed = schema.clone();
    trim(&mut trimmed);
    let lowered = lower(&trimmed, &profile());
    // What is narrower than asked is still what was asked.
    let lost = |loss: &&isogloss_core::schema::Unkept| loss.why != Why::Narrower;
    if let Some(loss) = lowered.losses.iter().find(lost) {
        let message = format!(
            "the schema at `{}`: `{}` cannot be enforced while decoding as it stands here; write \
             the schema without it",
            loss.pointer, loss.keyword
        );
        return Err(Error::new(Kind::UnsupportedSchema, message));
    }
    let mut schema = lowered.schema.into_owned();
    rewrite(&mut schema, &mut spell_pattern);
    let mut map = match schema {
        Value::Object(map) => map,
        Value::Bool(false) => {
            let message = "the schema: no value satisfies it";
            return Err(Error::new(Kind::UnsupportedSchema, message));
        }
        _ => Map::new(),
    };
    map.insert("x-guidance".to_owned(), options(whitespace));
    Ok(Value::Object(map))
}

/// Any object.
pub(super) fn any_object(whitespace: Whitespace) -> Value {
    json!({"type": "object", "x-guidance": options(whitespace)})
}

fn options(whitespace: Whitespace) -> Value {
    match whitespace {
        Whitespace::Flexible => json!({"whitespace_pattern": FLEXIBLE}),
        Whitespace::Compact => json!({"whitespace_flexible": false}),
    }
}

fn profile() -> Profile {
    Profile {
        removed: REFUSED.iter().map(|&name| name.to_owned()).collect(),
        formats: Some(FORMATS.iter().map(|&name| name.to_owned()).collect()),
        one_of: OneOf::Refused,
        counts: Counts::RequiredOnly,
        ..Profile::default()
    }
}

/// llguidance reads a pattern as the regex crate does, where `.` takes more characters and classes
/// are others than in ECMA-262, which the validator goes by.
fn spell_pattern(map: &mut Map<String, Value>) {
    if let Some(Value::String(pattern)) = map.get_mut("pattern")
        && let Ok(spelled) = ecma::translate(pattern)
    {
        *pattern = spelled;
    }
    if let Some(Value::Object(named)) = map.get_mut("patternProperties") {
        *named = (std::mem::take(named).into_iter())
            .map(|(name, value)| (ecma::translate(&name).unwrap_or(name), value))
            .collect();
    }
}

/// Takes out what says nothing, so that it is not refused, and says some things in other words.
fn trim(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    for name in SILENT {
        map.shift_remove(name);
    }
    map.retain(|keyword, value| !is_idle(keyword, value));
    if !map.contains_key("contains") {
        map.retain(|keyword, _| !matches!(keyword.as_str(), "minContains" | "maxContains"));
    }
    if !map.contains_key("if") {
        map.retain(|keyword, _| !matches!(keyword.as_str(), "then" | "else"));
    } else if !map.contains_key("then") && !map.contains_key("else") {
        map.shift_remove("if");
    }
    if let Some(anchor) = map.shift_remove("$dynamicAnchor") {
        map.entry("$anchor").or_insert(anchor);
    }
    drop_implied_count(map);
    narrow_format(map);
    for (keyword, value) in map.iter_mut() {
        match (holds(keyword), value) {
            (Some((Holds::Named, _)), Value::Object(named)) => named
                .values_mut()
                .filter(|value| is_schema(value))
                .for_each(trim),
            (Some(_), Value::Array(items)) => items.iter_mut().for_each(trim),
            (Some(_), value) => trim(value),
            _ => {}
        }
    }
}

/// Whether a keyword asserts nothing with this value.
fn is_idle(keyword: &str, value: &Value) -> bool {
    let is_any = |value: &Value| match value {
        Value::Bool(any) => *any,
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    match keyword {
        "uniqueItems" => value == false,
        "minProperties" => value.as_u64() == Some(0),
        "unevaluatedProperties" | "unevaluatedItems" | "propertyNames" => is_any(value),
        "dependencies" | "dependentRequired" | "dependentSchemas" => {
            value.as_object().is_some_and(Map::is_empty)
        }
        "format" => !asserts(value),
        _ => false,
    }
}

/// `minProperties` where as many properties are required anyway.
fn drop_implied_count(map: &mut Map<String, Value>) {
    let required = map.get("required").and_then(Value::as_array);
    let names: std::collections::HashSet<&str> = required
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let least = map.get("minProperties").and_then(Value::as_u64);
    let is_object = map.get("type").is_some_and(|name| name == "object");
    if is_object && least.is_some_and(|least| least <= names.len() as u64) {
        map.shift_remove("minProperties");
    }
}

/// 29 February comes in leap years only.
const DAY: &str = "^(?:[0-9]{4}-(?:(?:0[13-9]|1[0-2])-[0-9]{2}|02-(?:[01][0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";
/// Leap seconds come once in years, and the validator wants to see the others of that minute.
const SECONDS: &str = "[0-9]{2}:[0-9]{2}:[0-5]";
/// Names of hosts: `--` in the third place is kept for internationalised ones, which are letters
/// in a code that no regex follows.
const LABELS: &str = r"(?:[^.]{1,2}|[^.]{2}(?:[^.-][^.]{0,60}|-[^.-][^.]{0,59}))(?:\.(?:[^.]{1,2}|[^.]{2}(?:[^.-][^.]{0,60}|-[^.-][^.]{0,59})))*$";

/// llguidance reads some formats wider than the validator: what is said beside them takes the
/// rest away.
fn narrow_format(map: &mut Map<String, Value>) {
    let also = match map.get("format").and_then(Value::as_str) {
        Some("date") => json!({"pattern": DAY}),
        Some("date-time") => json!({"pattern": format!("{DAY}[tT]{SECONDS}")}),
        Some("time") => json!({"pattern": format!("^{SECONDS}")}),
        Some("hostname") => json!({"pattern": format!("^{LABELS}"), "maxLength": 253}),
        Some("email") => {
            json!({"pattern": format!(r"^[^@]{{1,64}}@(?:\[|{LABELS})"), "maxLength": 254})
        }
        _ => return,
    };
    let Value::Object(also) = also else { return };
    if !also.keys().any(|name| map.contains_key(name)) {
        map.extend(also);
        return;
    }
    // Types that have no format are free of this as they are of the format.
    match map.get_mut("allOf") {
        Some(Value::Array(all)) => all.push(Value::Object(also)),
        _ => drop(map.insert("allOf".to_owned(), json!([also]))),
    }
}
