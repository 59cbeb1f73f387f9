//! Answers that would never end: models that end nothing by themselves come in; what is made of them under constraints
//! without a bound goes out, and ends far before its context does.

use crate::support::mindless::{Answer, Mindless, Rig, demand};
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::check::Check;
use isogloss_core::ir::{Constraint, Notation};
use isogloss_worker::job::{Finish, Limits, Sampling};
use serde_json::{Value, json};

/// Tokens of the conversations, of which an answer that nobody bounds may have three quarters.
const CONTEXT: u32 = 2_048;
/// Longer than this is what would have gone on: nearly half of what the answers have room for.
const LONG: u32 = CONTEXT / 3;

fn schema(schema: Value) -> Constraint {
    Constraint::JsonSchema(schema)
}

/// A call of which the arguments are these, in the markup of one.
fn call(arguments: Value) -> Constraint {
    let tag = json!({"type": "tag", "begin": "<tool_call>\n{\"name\": \"save\", \"arguments\": ", "content": {"type": "json_schema", "json_schema": arguments}, "end": "}\n</tool_call>"});
    Constraint::StructuralTag(json!({"type": "structural_tag", "format": {
        "type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [tag], "at_least_one": true, "stop_after_first": true,
    }}))
}

fn grammar(notation: Notation, text: &str) -> Constraint {
    Constraint::Grammar {
        notation,
        text: text.to_owned(),
    }
}

/// Constraints under which an answer may go on without an end.
fn endless() -> Vec<Constraint> {
    let object = |value: Value| json!({"type": "object", "properties": {"it": value}, "required": ["it"], "additionalProperties": false});
    let strings = || json!({"type": "array", "items": {"type": "string"}});
    let names = || json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let tree = json!({"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"});
    vec![
        schema(json!({"type": "array", "items": {"type": "integer"}})),
        schema(object(strings())),
        schema(object(json!({"type": "string"}))),
        schema(object(json!({"type": "string", "pattern": "^[a-z ]{8,}$"}))),
        schema(names()),
        schema(json!({"type": "object", "additionalProperties": true})),
        schema(tree),
        call(object(json!({"type": "string"}))),
        call(object(strings())),
        call(names()),
        Constraint::JsonObject,
        Constraint::Regex("[a-z]+".to_owned()),
        Constraint::Regex(r"\([a-z ]+\)".to_owned()),
        Constraint::Regex("([0-9]{2}, )+the end".to_owned()),
        grammar(
            Notation::Gbnf,
            "root ::= \"(\" item (\" \" item)* \")\"\nitem ::= [a-z]+ | root",
        ),
        grammar(
            Notation::Lark,
            "start: \"<\" item+ \">\"\nitem: /[a-z]+/ \";\"",
        ),
    ]
}

/// A model that ends nothing by itself.
fn reluctant() -> Rig {
    Rig::new(Mindless {
        reluctance: 20.0,
        context: CONTEXT,
        ..Mindless::default()
    })
}

/// What nobody bounds, as a request without `max_tokens`.
fn unbound() -> Limits {
    Limits {
        leaves_a_quarter: true,
        ..Limits::default()
    }
}

async fn assert_right(constraint: &Constraint, answer: &Answer) {
    let compiler = Compiler::new(CompilerLimits::default());
    let is_right = match compiler.compile(constraint).await.unwrap() {
        Check::Text(grammar) => grammar.check(&answer.text).is_ok(),
        Check::Tag(tags) => tags.check(&answer.text).is_ok(),
        Check::Json(validator) => serde_json::from_str::<Value>(&answer.text)
            .is_ok_and(|value| validator.validate(&value).is_ok()),
        _ => serde_json::from_str::<Value>(&answer.text).is_ok_and(|value| value.is_object()),
    };
    assert!(is_right, "{answer:?} of {constraint:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_does_not_end_is_pushed_to_its_end_far_before_that_of_its_context() {
    let rig = reluctant();
    let (mut long, mut all) = (0, 0);
    for constraint in endless() {
        let demand = demand(constraint.clone());
        for seed in 0..2 {
            let sampling = Sampling {
                seed: Some(seed),
                ..Sampling::default()
            };
            let answer = rig.answer(&demand, sampling, unbound(), None);
            let answer = answer.await.unwrap();
            let tokens = answer.usage.completion;
            println!(
                "{tokens} ({} steered) of {constraint:?}",
                answer.usage.steered
            );
            assert_eq!(answer.reason, Finish::Stop, "{answer:?} of {constraint:?}");
            assert!(tokens < CONTEXT * 5 / 8, "{tokens} of {constraint:?}");
            assert_right(&constraint, &answer).await;
            let is_long = tokens > LONG;
            long += u32::from(is_long);
            assert!(!is_long || answer.usage.steered > 0, "{constraint:?}");
            all += 1;
        }
    }
    // Of 640 three quarters.
    assert!(long * 5 > all * 3, "{long} of {all} would have gone on");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_says_how_long_an_answer_may_be_gets_as_much() {
    let rig = reluctant();
    let most = CONTEXT * 7 / 8;
    let constraint = schema(json!({"type": "array", "items": {"type": "integer"}}));
    let answer = rig.ask(&demand(constraint), 1, most, None).await.unwrap();
    assert_eq!(answer.reason, Finish::Stop);
    assert!(answer.usage.completion > most - 64, "{answer:?}");
}

/// Whoever repeats itself is led out of it, however long it might go on.
#[tokio::test(flavor = "multi_thread")]
async fn what_repeats_itself_ends_though_it_has_room() {
    let repeating = Mindless {
        reluctance: 8.0,
        is_repeating: true,
        context: 1 << 13,
    };
    let rig = Rig::new(repeating);
    let greedy = Sampling {
        temperature: 0.0,
        ..Sampling::default()
    };
    let limits = Limits {
        max_tokens: Some(8_000),
        ..Limits::default()
    };
    let mut lengths = Vec::new();
    for constraint in endless() {
        let demand = demand(constraint.clone());
        let answer = rig.answer(&demand, greedy.clone(), limits.clone(), None);
        let answer = answer.await.unwrap();
        assert_eq!(answer.reason, Finish::Stop, "{answer:?} of {constraint:?}");
        assert_right(&constraint, &answer).await;
        let tokens = answer.usage.completion;
        assert!(tokens < 2_500, "{tokens} of {constraint:?}");
        lengths.push(tokens);
    }
    // Before a loop is told there must be one.
    assert!(lengths.iter().any(|&tokens| tokens > 100), "{lengths:?}");
    println!("{lengths:?}");
}

/// Free text is a model's own to end.
#[tokio::test(flavor = "multi_thread")]
async fn text_that_a_constraint_leaves_free_is_not_pushed() {
    let rig = reluctant();
    for constraint in [
        Constraint::Regex("(?s:.*)".to_owned()),
        Constraint::StructuralTag(
            json!({"type": "structural_tag", "format": {"type": "any_text"}}),
        ),
    ] {
        let demand = demand(constraint);
        let sampling = Sampling {
            seed: Some(3),
            ..Sampling::default()
        };
        let answer = rig.answer(&demand, sampling, unbound(), None);
        let answer = answer.await.unwrap();
        assert_eq!(answer.reason, Finish::Length);
        assert_eq!(answer.usage.steered, 0);
    }
}
