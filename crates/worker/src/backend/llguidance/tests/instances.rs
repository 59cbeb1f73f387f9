//! Real schemas: everything that is written under one satisfies it, and what satisfies it can be
//! written.

use super::driver::{Dice, Run, backend, compile, demand, schema, takes};
use super::vocabularies::{bytes, merged};
use crate::backend::{Demand, Whitespace};
use isogloss_core::error::Kind;
use isogloss_core::schema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn every_format_is_written_as_the_validator_reads_it() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    for format in [
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
    ] {
        for (at, more) in [json!({}), json!({"pattern": "[0-9]", "maxLength": 80})]
            .iter()
            .enumerate()
        {
            let mut value = json!({"type": "string", "format": format});
            value
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let validator = Validator::compile(&value).unwrap();
            let grammar = compile(&backend, &demand(schema(value))).unwrap();
            let mut ended = 0;
            for seed in 0..80 {
                let run = Run {
                    vocabulary: &vocabulary,
                    patience: seed as usize / 2,
                    most: 400,
                    likes: &[],
                };
                let mut dice = Dice(seed + 100 * at as u64);
                let Some(text) = run.write(grammar.matcher().as_mut(), &mut dice) else {
                    continue;
                };
                ended += 1;
                let text = String::from_utf8(text).unwrap();
                let value = serde_json::from_str(&text).unwrap();
                assert_eq!(validator.validate(&value), Ok(()), "{format}: {text}");
            }
            assert!(ended > 20, "{format}: {ended}");
        }
    }
}

fn cases() -> Option<Vec<Value>> {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(data) = std::fs::read_to_string(format!("{folder}/schemas.jsonl")) else {
        println!("skipped: no {folder}/schemas.jsonl (set ISOGLOSS_DATA)");
        return None;
    };
    Some(
        data.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

#[test]
fn whatever_is_written_under_a_real_schema_satisfies_it() {
    let Some(cases) = cases() else { return };
    let vocabularies = [bytes(), merged()];
    let backends = vocabularies.each_ref().map(backend);
    let (mut compiled, mut ended, mut all) = (0, 0, 0);
    let (mut refused, mut wrong) = (BTreeMap::<String, usize>::new(), Vec::new());
    for (index, case) in cases.iter().enumerate() {
        let id = &case["id"];
        let Ok(validator) = Validator::compile(&case["schema"]) else {
            continue;
        };
        let at = index % 2;
        let whitespace = [Whitespace::Flexible, Whitespace::Compact][index / 2 % 2];
        let demand = Demand {
            whitespace,
            ..demand(schema(case["schema"].clone()))
        };
        let grammar = match compile(&backends[at], &demand) {
            Ok(grammar) => grammar,
            Err(error) => {
                let is_honest = [Kind::UnsupportedSchema, Kind::SchemaTooComplex];
                assert!(is_honest.contains(&error.kind), "{id}: {}", error.message);
                let words = error.message.split('`').nth(3).unwrap_or(&error.message);
                *refused.entry(words.to_owned()).or_default() += 1;
                continue;
            }
        };
        compiled += 1;
        // Large ones take long to write.
        let answers = if case["schema_bytes"].as_u64() > Some(20_000) {
            1
        } else {
            2
        };
        for seed in 0..answers {
            let run = Run {
                vocabulary: &vocabularies[at],
                patience: 60,
                most: 900,
                likes: &[],
            };
            all += 1;
            let mut dice = Dice(seed + 1_000 * index as u64);
            let Some(text) = run.write(grammar.matcher().as_mut(), &mut dice) else {
                continue;
            };
            ended += 1;
            let text = String::from_utf8(text).unwrap();
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => {
                    if let Err(breach) = validator.validate(&value) {
                        wrong.push(format!(
                            "{id}: {} {}: {text}",
                            breach.pointer, breach.message
                        ));
                    }
                }
                Err(error) => wrong.push(format!("{id}: {error}: {text}")),
            }
        }
    }
    println!("{compiled} compiled, {ended} of {all} answers ended; refused: {refused:#?}");
    assert!(
        wrong.is_empty(),
        "{} wrong: {}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ended * 10 >= all * 9, "{ended} of {all} ended");
}

#[test]
fn what_satisfies_a_real_schema_can_be_written() {
    let Some(cases) = cases() else { return };
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let (mut taken, mut refused) = (0, Vec::new());
    let mut wider = Vec::new();
    for case in &cases {
        let Ok(validator) = Validator::compile(&case["schema"]) else {
            continue;
        };
        let Ok(grammar) = compile(&backend, &demand(schema(case["schema"].clone()))) else {
            continue;
        };
        for test in case["tests"].as_array().into_iter().flatten() {
            let text = test["data"].to_string();
            let is_valid = validator.validate(&test["data"]).is_ok();
            if text.len() > 6_000 {
                continue;
            }
            let is_taken = takes(grammar.as_ref(), &vocabulary, &text);
            match (is_valid, is_taken) {
                (true, true) => taken += 1,
                (true, false) => refused.push(format!("{}: {text}", case["id"])),
                (false, true) => wider.push(format!("{}: {text}", case["id"])),
                (false, false) => {}
            }
        }
    }
    println!(
        "{taken} valid instances taken, {} not: {:#.2000?}",
        refused.len(),
        refused
    );
    assert!(wider.is_empty(), "invalid ones taken: {wider:#?}");
    assert!(
        taken * 100 > (taken + refused.len()) * 97,
        "{taken}, {}",
        refused.len()
    );
}
