//! Hostile constraints: each ends as a client's error or as a grammar within its limits.

use super::driver::{Dice, backend, compile, demand, schema};
use super::vocabularies::merged;
use crate::backend::llguidance::answer::Answer;
use crate::backend::llguidance::ways::Ways;
use crate::backend::{Compiled, Matcher, Stuck, Think};
use crate::vocabulary::Vocabulary;
use ::llguidance::api::{ParserLimits, TopLevelGrammar};
use isogloss_core::ir::{Constraint, Notation};
use isogloss_testing::recipe::recipe;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Far more than anything here takes, on a loaded machine too.
const HANG: Duration = Duration::from_secs(60);

/// Writes under it for a while, and on where it could end. Gives back the longest step.
fn write(grammar: &dyn Compiled, vocabulary: &Vocabulary) -> Duration {
    let mut matcher = grammar.matcher();
    let mut dice = Dice(7);
    let mut longest = Duration::ZERO;
    for _ in 0..200 {
        let begin = Instant::now();
        matcher.way(None);
        let mask = matcher.mask();
        longest = longest.max(begin.elapsed());
        let Ok(mask) = mask else { return longest };
        let mut allowed = mask.to_list();
        allowed.retain(|&token| !vocabulary.is_end(token));
        if allowed.is_empty() {
            return longest;
        }
        let token = allowed[dice.below(allowed.len())];
        let begin = Instant::now();
        let taken = matcher.consume(token);
        longest = longest.max(begin.elapsed());
        if taken.is_err() {
            return longest;
        }
    }
    longest
}

#[test]
fn hostile_schemas_end_as_errors_or_within_limits() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let data = include_str!("../../../../../../tests/data/schema_hostile.jsonl");
    let (mut compiled, mut refused) = (0, 0);
    for line in data.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = match case.get("recipe") {
            Some(steps) => recipe(steps),
            None => case["schema"].to_string(),
        };
        let Ok(value) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let begin = Instant::now();
        match compile(&backend, &demand(schema(value))) {
            Ok(grammar) => {
                compiled += 1;
                let longest = write(grammar.as_ref(), &vocabulary);
                if longest > Duration::from_millis(50) {
                    println!("{}: a step of {longest:?}", case["id"]);
                }
                assert!(longest < HANG / 6, "{}: {longest:?}", case["id"]);
            }
            Err(error) => {
                refused += 1;
                assert_eq!(error.status(), 400, "{}: {}", case["id"], error.message);
            }
        }
        assert!(
            begin.elapsed() < HANG,
            "{}: {:?}",
            case["id"],
            begin.elapsed()
        );
    }
    println!("{compiled} compiled, {refused} refused");
    assert!(compiled > 20 && refused > 20);
}

#[test]
fn hostile_grammars_end_as_errors_or_within_limits() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let gbnf = |text: &str| Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    };
    let lark = |text: &str| Constraint::Grammar {
        notation: Notation::Lark,
        text: text.to_owned(),
    };
    let many: Vec<String> = (0..10_000).map(|n| format!("choice number {n}")).collect();
    let tags: Vec<Value> = (0..500)
        .map(|n| json!({"type": "tag", "begin": format!("<f{n}>"), "content": {"type": "json_schema", "json_schema": {"type": "object", "properties": {format!("p{n}"): {"type": "string"}}}}, "end": "</f>"}))
        .collect();
    for constraint in [
        Constraint::Regex("(a|a)*b".repeat(50)),
        Constraint::Regex("(.*a){20}".to_owned()),
        Constraint::Regex(format!("{}x{}", "(".repeat(500), ")*".repeat(500))),
        Constraint::Regex("(?:x{1,200}){1,200}".to_owned()),
        Constraint::Regex(r"(\w|\d|[^x]){0,900}y".to_owned()),
        Constraint::Choice(many),
        gbnf("root ::= root root | \"a\" | \"\""),
        gbnf("root ::= (\"a\" | \"ab\" | \"b\")* root?"),
        gbnf("root ::= root"),
        lark("start: start start | \"a\" |"),
        lark("start: /a+/ /a+/ /a*/ start?"),
        lark("start: (((((A)*)*)*)*)*\nA: /(a*)*/"),
        Constraint::StructuralTag(
            json!({"format": {"type": "triggered_tags", "triggers": ["<f"], "tags": tags}}),
        ),
        Constraint::StructuralTag(
            json!({"format": {"type": "triggered_tags", "triggers": ["a".repeat(5_000)], "tags": []}}),
        ),
        Constraint::StructuralTag(
            json!({"format": {"type": "any_text", "excludes": (0..300).map(|n| format!("x{n}y")).collect::<Vec<_>>()}}),
        ),
    ] {
        let begin = Instant::now();
        let outcome = compile(&backend, &demand(constraint.clone()));
        let name = format!("{constraint:.80?}");
        let compiling = begin.elapsed();
        match outcome {
            Ok(grammar) => {
                let longest = write(grammar.as_ref(), &vocabulary);
                assert!(longest < HANG / 6, "{name}: {longest:?}");
            }
            Err(error) => assert_eq!(error.status(), 400, "{name}: {}", error.message),
        }
        println!(
            "{compiling:?}, {:?}: {}",
            begin.elapsed(),
            name.chars().take(80).collect::<String>()
        );
        assert!(begin.elapsed() < HANG, "{name}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_grammar_that_forces_text_for_ever_is_stopped_by_the_clock() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let endless = TopLevelGrammar::from_lark("start: /a+/ \"a\"".to_owned());
    let parser = backend.shared.factory.create_parser(endless).unwrap();
    let ways = Ways::new(
        Arc::new(Mutex::new(parser.deep_clone())),
        ParserLimits::default(),
        false,
        1,
    );
    let mut answer = Answer::new(
        Arc::clone(&backend.shared),
        Arc::new(ways),
        ::llguidance::Matcher::new(Ok(parser)),
        Think::None,
        None,
        false,
    );
    let begin = Instant::now();
    assert!(answer.forced().is_empty());
    assert_eq!(answer.mask().map(|mask| mask.to_list()), Err(Stuck::Budget));
    assert!(!answer.is_accepting() && !answer.is_finished());
    assert!(begin.elapsed() < HANG, "{:?}", begin.elapsed());
}
