//! Numbers and names that would be read wrongly, be refused, or bring a server down.

use super::{becomes, stays};
use crate::schema::lower::{Why, lower};
use crate::schema::profile::{
    AllOf, Bounds, IntegerBounds, PatternReading, Profile, Siblings, Syntax,
};
use serde_json::{Value, json};

fn paired() -> Profile {
    Profile {
        integer_bounds: IntegerBounds::Paired,
        most_repeats: Some(100),
        repeats_in_all: Some(250),
        ..Profile::default()
    }
}

fn whole() -> Profile {
    Profile {
        integer_bounds: IntegerBounds::Whole,
        ..Profile::default()
    }
}

fn anchored() -> Profile {
    Profile {
        pattern: PatternReading::Whole,
        ..Profile::default()
    }
}

fn integer(bounds: &Value) -> Value {
    let mut schema = json!({"type": "integer"});
    schema
        .as_object_mut()
        .unwrap()
        .extend(bounds.as_object().unwrap().clone());
    schema
}

#[test]
fn a_bound_that_a_server_cannot_carry_alone_gets_a_fellow_that_says_nothing() {
    let largest = i64::MAX - 1;
    for (bounds, expected) in [
        (
            json!({"minimum": 100}),
            json!({"minimum": 100, "maximum": largest}),
        ),
        (
            json!({"minimum": 1_i64 << 53}),
            json!({"minimum": 1_i64 << 53, "maximum": largest}),
        ),
        (
            json!({"maximum": -5}),
            json!({"minimum": -largest, "maximum": -5}),
        ),
        (
            json!({"exclusiveMinimum": 2.5, "maximum": 7.5}),
            json!({"minimum": 3, "maximum": 7}),
        ),
        (
            json!({"minimum": 0, "maximum": i64::MAX}),
            json!({"minimum": 0}),
        ),
        (json!({"minimum": i64::MIN}), json!({})),
        (json!({"maximum": 1e300}), json!({})),
        (
            json!({"minimum": 3, "exclusiveMinimum": 9}),
            json!({"minimum": 10, "maximum": largest}),
        ),
    ] {
        becomes(&paired(), &integer(&bounds), &integer(&expected), &[]);
    }
    for bounds in [
        json!({"minimum": 1}),
        json!({"maximum": 9_000}),
        json!({"minimum": -50, "maximum": -10}),
    ] {
        stays(&paired(), &integer(&bounds));
    }
    // Numbers of other kinds are not read so.
    stays(&paired(), &json!({"type": "number", "minimum": 1e300}));
}

#[test]
fn bounds_that_are_read_wrongly_are_taken_out_and_those_of_whole_numbers_get_a_fellow() {
    let wrong = Profile {
        bounds: Bounds::Wrong,
        ..whole()
    };
    let number = json!({"type": ["number", "null"], "minimum": 0, "exclusiveMaximum": 1.5});
    becomes(
        &wrong,
        &number,
        &json!({"type": ["number", "null"]}),
        &[
            ("/minimum", Why::Inexact),
            ("/exclusiveMaximum", Why::Inexact),
        ],
    );
    let largest = i64::MAX - 1;
    becomes(
        &wrong,
        &integer(&json!({"minimum": -10})),
        &integer(&json!({"minimum": -10, "maximum": largest})),
        &[],
    );
    for right in [
        json!({"minimum": 0}),
        json!({"maximum": -3}),
        json!({"minimum": -10, "maximum": 10}),
    ] {
        stays(&wrong, &integer(&right));
    }
    let few = Profile {
        bound_bits: Some(31),
        ..wrong
    };
    becomes(
        &few,
        &integer(&json!({"minimum": -10})),
        &integer(&json!({})),
        &[("/minimum", Why::Inexact)],
    );
}

#[test]
fn lengths_of_texts_without_escapes_are_left_to_the_proxy_where_texts_keep_to_them() {
    let plain = Profile {
        plain_lengths: true,
        ..Profile::default()
    };
    let text = |lengths: Value| {
        let mut schema = json!({"type": "string"});
        let lengths = lengths.as_object().unwrap().clone();
        schema.as_object_mut().unwrap().extend(lengths);
        schema
    };
    let (least, most) = ("/minLength", "/maxLength");
    for (lengths, lost) in [
        (json!({"minLength": 1}), vec![least]),
        (
            json!({"minLength": 1, "maxLength": 4000}),
            vec![least, most],
        ),
        (json!({"maxLength": 1000}), vec![most]),
    ] {
        let lost: Vec<_> = lost.into_iter().map(|at| (at, Why::Inexact)).collect();
        becomes(&plain, &text(lengths), &text(json!({})), &lost);
    }
    for (lengths, lost) in [
        (json!({"minLength": 40}), vec![least]),
        (json!({"minLength": 1, "maxLength": 80}), vec![least, most]),
    ] {
        let lost: Vec<_> = lost.into_iter().map(|at| (at, Why::Narrower)).collect();
        becomes(&plain, &text(lengths.clone()), &text(lengths), &lost);
    }
    for said in [
        json!({"minLength": 0}),
        json!({"minLength": 1, "pattern": "^[a-z]+$"}),
        json!({"maxLength": 3, "enum": ["a"]}),
    ] {
        stays(&plain, &text(said));
    }
}

#[test]
fn bounds_that_are_errors_are_taken_out_and_told() {
    for (bounds, expected, lost) in [
        (json!({"minimum": 1e300}), json!({}), vec!["/minimum"]),
        (
            json!({"minimum": 5, "maximum": 3}),
            json!({}),
            vec!["/minimum", "/maximum"],
        ),
        (
            json!({"minimum": 1, "maximum": 1e300}),
            json!({"minimum": 1}),
            vec!["/maximum"],
        ),
        (json!({"minimum": 0.5}), json!({"minimum": 1}), vec![]),
    ] {
        let lost: Vec<_> = lost.into_iter().map(|at| (at, Why::Refused)).collect();
        becomes(&whole(), &integer(&bounds), &integer(&expected), &lost);
    }
    let few = Profile {
        bound_bits: Some(31),
        ..whole()
    };
    let safe = integer(&json!({"minimum": 0, "maximum": (1_i64 << 53) - 1}));
    becomes(
        &few,
        &safe,
        &integer(&json!({"minimum": 0})),
        &[("/maximum", Why::Refused)],
    );
    stays(&few, &integer(&json!({"maximum": 2_147_483_647})));
}

#[test]
fn numbers_that_are_no_floats_are_not_told_to_who_reads_floats() {
    let floats = Profile {
        float_numbers: true,
        ..Profile::default()
    };
    let refused = |at| (at, Why::Refused);
    for (schema, expected, lost) in [
        (
            json!({"const": 9_007_199_254_740_993_i64}),
            json!({"type": "integer"}),
            vec![refused("/const")],
        ),
        (
            json!({"enum": ["a", {"id": u64::MAX}]}),
            json!({"type": ["object", "string"]}),
            vec![refused("/enum")],
        ),
        (
            json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}),
            json!({"type": "integer", "maximum": i64::MAX}),
            vec![],
        ),
        (
            json!({"type": "integer", "minimum": 9_007_199_254_740_993_i64}),
            json!({"type": "integer", "minimum": 9_007_199_254_740_993_i64}),
            vec![refused("/minimum")],
        ),
        (
            json!({"type": "number", "minimum": 0, "maximum": 1e20}),
            json!({"type": "number", "minimum": 0}),
            vec![refused("/maximum")],
        ),
        (
            json!({"type": "object", "minProperties": 1.0}),
            json!({"type": "object", "minProperties": 1}),
            vec![],
        ),
        // Beyond an open bound at a whole number, no more than that.
        (
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}),
            json!({"type": "number", "minimum": 1e-9, "maximum": 0.5}),
            vec![],
        ),
        (
            json!({"minimum": -0.009, "exclusiveMaximum": 0}),
            json!({"minimum": -0.009, "maximum": -1e-9}),
            vec![],
        ),
        (
            json!({"exclusiveMinimum": 0, "maximum": 1e-12}),
            json!({"minimum": 1e-15, "maximum": 1e-12}),
            vec![],
        ),
    ] {
        becomes(&floats, &schema, &expected, &lost);
    }
    for schema in [
        json!({"const": 9_007_199_254_740_992_i64}),
        json!({"enum": [1, 2.5, "a"]}),
        json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 5}),
        json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        json!({"type": "number", "exclusiveMinimum": -0.5, "maximum": 0.5}),
        json!({"type": "number", "exclusiveMinimum": 0.5, "maximum": 0.75}),
    ] {
        stays(&floats, &schema);
    }
}

#[test]
fn look_around_and_boundaries_are_told_to_nobody_who_does_not_read_them() {
    let refused = [("/pattern", Why::Refused)];
    let string = json!({"type": "string"});
    let with = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let unbounded = Profile {
        syntax: Syntax::Unbounded,
        ..Profile::default()
    };
    for pattern in [r"\bfoo\b", r"^(?=a)\ba", "^(?=.*[0-9])"] {
        becomes(&unbounded, &with(pattern), &string, &refused);
    }
    // What is left of it lets more pass, and holds.
    for profile in [unbounded.clone(), whole(), anchored()] {
        let schema = with("^(?=.*[0-9])[a-z0-9]+$");
        becomes(&profile, &schema, &with("^[a-z0-9]+$"), &refused);
    }
    for pattern in [r"[\b]", r"\\b", "^foo$"] {
        stays(&unbounded, &with(pattern));
    }
    // Who is not known is told what the client says.
    stays(&Profile::default(), &with("(?=a)a"));
    stays(&whole(), &with(r"\bfoo"));
    becomes(&whole(), &with("(?=a)a"), &with("a"), &refused);
    let plain = Profile {
        plain_patterns: true,
        ..Profile::default()
    };
    becomes(&plain, &with(r"^\p{L}+$"), &string, &refused);
    // All is told without the names of groups.
    becomes(&plain, &with(r"^(?<y>\d+)$"), &with(r"^(\d+)$"), &[]);
}

#[test]
fn lengths_beyond_what_is_taken_are_as_large_as_may_be_or_gone() {
    let refused = |at| (at, Why::Refused);
    for (schema, expected, lost) in [
        (
            json!({"type": "string", "maxLength": 101}),
            json!({"type": "string"}),
            vec![refused("/maxLength")],
        ),
        (
            json!({"type": "string", "minLength": 101}),
            json!({"type": "string", "minLength": 100}),
            vec![refused("/minLength")],
        ),
        (
            json!({"type": "array", "minItems": 5, "maxItems": 1}),
            json!({"type": "array", "minItems": 5}),
            vec![refused("/maxItems")],
        ),
        (
            json!({"type": "string", "maxLength": 5.0}),
            json!({"type": "string", "maxLength": 5}),
            vec![],
        ),
    ] {
        becomes(&paired(), &schema, &expected, &lost);
    }
    stays(
        &paired(),
        &json!({"type": "string", "minLength": 100, "maxLength": 100}),
    );
}

#[test]
fn lengths_that_are_too_many_together_are_left_out_of_the_last() {
    let text = json!({"type": "string", "maxLength": 100});
    let schema = json!({"properties": {"a": text, "b": text, "c": text}});
    let expected = json!({"properties": {"a": text, "b": text, "c": {"type": "string"}}});
    becomes(
        &paired(),
        &schema,
        &expected,
        &[("/properties/c/maxLength", Why::Refused)],
    );
}

#[test]
fn a_name_that_needs_an_escape_is_one_of_the_others() {
    let profile = Profile {
        plain_names: true,
        ..Profile::default()
    };
    let text = json!({"type": "string"});
    let schema = json!({"properties": {"a\"b": text, "c": text}, "required": ["a\"b", "c"], "additionalProperties": false});
    let expected =
        json!({"properties": {"c": text}, "required": ["c"], "additionalProperties": true});
    becomes(
        &profile,
        &schema,
        &expected,
        &[("/properties", Why::Refused)],
    );
    stays(
        &profile,
        &json!({"properties": {"é'/ ": text}, "required": ["é'/ "]}),
    );
}

#[test]
fn a_pattern_that_could_end_its_string_is_written_so_that_it_cannot() {
    let profile = Profile {
        raw_patterns: true,
        pattern: PatternReading::Whole,
        pattern_repeats: Some(128),
        ..Profile::default()
    };
    let schema = json!({"type": "string", "pattern": r"^\S{1,200}@\d$"});
    let expected = json!({"type": "string", "pattern": r#"^(?:[^ "\\\x00-\x1f]{1,128}[^ "\\\x00-\x1f]{0,72})@\d$"#});
    becomes(&profile, &schema, &expected, &[("/pattern", Why::Narrower)]);
    let quoted = json!({"type": "string", "pattern": "^\"[a-z]\"$"});
    becomes(
        &profile,
        &quoted,
        &json!({"type": "string"}),
        &[("/pattern", Why::Inexact)],
    );
    stays(
        &profile,
        &json!({"type": "string", "pattern": r"^[a-z]{1,128}\d+$"}),
    );
    // What browsers alone read goes in words that all do.
    for (pattern, right, wrong) in [(r"^[\w-.]+$", "a-b.c", "a b"), ("^[0-9]+]$", "1]", "1")] {
        let schema = json!({"type": "string", "pattern": pattern});
        let told = lower(&schema, &profile);
        assert_eq!(told.losses, [], "{pattern}");
        let told = told.schema["pattern"].as_str().unwrap();
        let regex = regex::Regex::new(told).unwrap();
        assert!(regex.is_match(right) && !regex.is_match(wrong), "{told}");
    }
}

#[test]
fn of_a_branch_that_is_read_and_one_that_is_not_the_one_that_is_read_stays() {
    let profile = Profile {
        ignored: vec!["not".to_owned()],
        all_of: AllOf::AnyJson,
        siblings: Siblings::Dropped,
        ..Profile::default()
    };
    for branches in [
        json!([{"enum": ["a", "b"]}, {"not": {"enum": ["b"]}}]),
        json!([{"not": {"enum": ["b"]}}, {"enum": ["a", "b"]}]),
        json!([{"pattern": "^a"}, {"not": {"maxLength": 1}}, {"not": {"minLength": 9}}]),
    ] {
        let schema = json!({ "allOf": branches });
        let lowered = lower(&schema, &profile);
        let has = |keyword| lowered.schema.get(keyword).is_some();
        assert!(has("enum") || has("pattern"), "{}", lowered.schema);
        assert!(!lowered.losses.is_empty());
    }
}

#[test]
fn counts_of_properties_are_whole_numbers() {
    let counting = || Profile {
        most_repeats: Some(100),
        ..Profile::default()
    };
    becomes(
        &counting(),
        &json!({"type": "object", "minProperties": 1.0, "items": {"maxProperties": 2.0}}),
        &json!({"type": "object", "minProperties": 1, "items": {"maxProperties": 2}}),
        &[],
    );
    stays(
        &counting(),
        &json!({"minProperties": 1, "maxProperties": 2}),
    );
}
