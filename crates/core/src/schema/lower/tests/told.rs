//! What is told in descriptions.

use super::{lower, strings};
use crate::schema::profile::Profile;
use serde_json::json;

fn reader() -> Profile {
    Profile {
        describes: true,
        removed: strings(&["pattern", "maxLength", "minimum"]),
        ignored: strings(&["uniqueItems"]),
        ..Profile::default()
    }
}

#[test]
fn what_is_left_out_is_told_beside_what_is_described() {
    let schema = json!({"type": "object", "properties": {
        "code": {"type": "string", "pattern": "^[A-Z]{3}$", "maxLength": 3, "description": "An airport."},
        "age": {"type": "integer", "minimum": 18},
        "on": {"$ref": "#/$defs/on"}},
        "$defs": {"on": {"type": "string", "pattern": "x"}}});
    let told = json!({"type": "object", "properties": {
        "code": {"type": "string", "description": "An airport.\n\n{pattern: \"^[A-Z]{3}$\", maxLength: 3}"},
        "age": {"type": "integer", "description": "{minimum: 18}"},
        "on": {"$ref": "#/$defs/on"}},
        "$defs": {"on": {"type": "string", "description": "{pattern: \"x\"}"}}});
    let lowered = lower(&schema, &reader());
    assert_eq!(*lowered.schema, told);
    assert_eq!(lowered.losses.len(), 4);
}

#[test]
fn what_says_too_much_is_not_told_and_nothing_is_where_nothing_is_lost() {
    let long = json!({"type": "string", "pattern": "x".repeat(400)});
    assert_eq!(*lower(&long, &reader()).schema, json!({"type": "string"}));
    let whole = json!({"type": "string", "minLength": 1});
    assert!(!lower(&whole, &reader()).changed());
}
