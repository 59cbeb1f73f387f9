//! Any schema, for any server: lowering comes to an end, in a size that does not run away, and where
//! it tells of no difference, the same values are right before and after.

#![no_main]

use isogloss_core::rules::RuleSet;
use isogloss_core::schema::{SchemaLimits, Validator, lower};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// What a schema may grow to, over the text that it has.
const GROWTH: usize = 4 << 20;

fuzz_target!(|input: &[u8]| {
    static RULES: OnceLock<RuleSet> = OnceLock::new();
    let rules = RULES.get_or_init(RuleSet::builtin);
    let [which, text @ ..] = input else {
        return;
    };
    let Ok(schema) = serde_json::from_slice::<Value>(text) else {
        return;
    };
    let names: Vec<&str> = rules.profiles().collect();
    let profile = rules.profile(names[usize::from(*which) % names.len()]);
    let lowered = lower(&schema, profile.expect("a name of the set"));
    assert!(lowered.schema.to_string().len() <= text.len() + GROWTH);
    if !lowered.losses.is_empty() || !lowered.changed() {
        return;
    }
    let limits = SchemaLimits::default();
    let Ok(before) = Validator::compile_within(&schema, &limits) else {
        return;
    };
    let after = Validator::compile_within(&lowered.schema, &limits);
    let after = match after {
        Ok(after) => after,
        // What says nothing, or is satisfied by nothing, is plainer to see where keywords stand together.
        Err(fault)
            if [
                "no keyword of JSON Schema",
                "no finite value",
                "that may have no others",
                "no value of it is of",
            ]
            .iter()
            .any(|piece| fault.message.contains(piece)) =>
        {
            return;
        }
        Err(_) => panic!("what is sent is no schema: {schema} -> {}", lowered.schema),
    };
    let mut values = vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-7),
        json!(1.5),
        json!(""),
        json!("ab"),
        json!([]),
        json!([1, "a", null]),
        json!({}),
        json!({"a": 1}),
        json!({"a": {"b": []}, "c": "x"}),
    ];
    named(&schema, &mut values, 0);
    for value in &values {
        assert_eq!(
            before.validate(value).is_ok(),
            after.validate(value).is_ok(),
            "{value}: {schema} -> {}",
            lowered.schema
        );
    }
});

/// The values that a schema names itself.
fn named(schema: &Value, values: &mut Vec<Value>, depth: usize) {
    if depth > 8 || values.len() > 64 {
        return;
    }
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("const" | "default", value) => values.push(value.clone()),
                    ("enum" | "examples", Value::Array(all)) => {
                        values.extend(all.iter().take(8).cloned());
                    }
                    _ => {}
                }
                named(value, values, depth + 1);
            }
        }
        Value::Array(all) => all.iter().for_each(|one| named(one, values, depth + 1)),
        _ => {}
    }
}
