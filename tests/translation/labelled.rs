//! Texts as weak models write them, each with what it means: nothing may be read as something
//! else, and nearly all that has one meaning must be read. `tests/data/repairs.py` wrote them.

use isogloss_core::ir::Repair;
use isogloss_core::repair::{names, repair};
use isogloss_core::schema::{Validator, read_reply_json};
use serde_json::Value;
use std::collections::HashMap;

/// Of what has one meaning, in percent.
const REPAIRED_AT_LEAST: usize = 95;

struct Schemas(HashMap<String, (Value, Validator)>);

/// What a text is taken for; `None` where it is not touched, or would still be wrong.
fn meant(case: &Value, schemas: &Schemas) -> Option<Value> {
    let text = case["text"].as_str().unwrap();
    if let Some(tools) = case["tools"].as_array() {
        let tools = tools.iter().map(|tool| tool.as_str().unwrap());
        return names::repair(text, tools).map(Value::from);
    }
    let (schema, validator) = &schemas.0[case["schema"].as_str().unwrap()];
    // What is right already is not asked to be repaired.
    if validator.validate_text(text).is_ok() {
        return None;
    }
    let (mended, _) = repair(text, Some(schema), Repair::Types)?;
    validator.validate_text(&mended).ok()?;
    read_reply_json(&mended).ok()
}

#[test]
fn no_meaning_is_changed_and_nearly_all_that_is_certain_is_repaired() {
    let lines = include_str!("../data/repairs.jsonl").lines();
    let mut schemas = Schemas(HashMap::new());
    let (mut certain, mut repaired, mut uncertain) = (0, 0, 0);
    let mut missed = Vec::new();
    let mut changed = Vec::new();
    for line in lines {
        let case: Value = serde_json::from_str(line).unwrap();
        if let Some(name) = case["name"].as_str() {
            let compiled = Validator::compile(&case["schema"]).unwrap();
            schemas
                .0
                .insert(name.to_owned(), (case["schema"].clone(), compiled));
            continue;
        }
        let found = meant(&case, &schemas);
        match (&case["expected"], found) {
            (Value::Null, None) => uncertain += 1,
            (wanted, None) => {
                assert!(!wanted.is_null());
                certain += 1;
                missed.push(line);
            }
            (wanted, Some(found)) if *wanted == found => {
                certain += 1;
                repaired += 1;
            }
            (_, Some(found)) => changed.push(format!("{line}\n  became {found}")),
        }
    }
    println!(
        "{repaired} of {certain} repaired, {uncertain} left alone\nmissed:\n{}",
        missed.join("\n")
    );
    assert!(
        changed.is_empty(),
        "{} changed:\n{}",
        changed.len(),
        changed.join("\n")
    );
    assert!(
        certain >= 1000 && uncertain >= 400,
        "{certain}, {uncertain}"
    );
    assert!(
        repaired * 100 >= certain * REPAIRED_AT_LEAST,
        "{repaired} of {certain}"
    );
}
