#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::ir::{Constraint, Fields};
use serde_json::{Value, json};

mod apply;
mod faults;
mod files;
mod recognise;

fn version(text: &str) -> Option<Version> {
    Some(Version::parse(text).unwrap())
}

fn rule(dialect: &str, version: &str) -> Rule {
    RuleSet::builtin()
        .resolve(dialect, self::version(version))
        .unwrap()
}

fn fields(json: &Value) -> Fields {
    serde_json::from_value(json.clone()).unwrap()
}

fn body(fields: &Fields) -> Value {
    serde_json::from_slice(&fields.to_json()).unwrap()
}
