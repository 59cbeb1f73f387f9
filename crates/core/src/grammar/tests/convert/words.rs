//! Conversions held against random words and recorded requests: words of one side come in; that the
//! other side reads them too, or the difference is told, is what is promised.

use super::super::{gbnf, lark_text};
use super::{compare, text_of, texts, to_gbnf};
use crate::grammar::gbnf::{Expr, Gbnf};
use crate::grammar::{Grammar, convert};
use crate::ir::{Constraint, Notation};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;

/// A word of a rule, by a generator of numbers; `None` where it grows too deep.
fn word(gbnf: &Gbnf, expr: &Expr, random: &mut u64, depth: usize) -> Option<String> {
    let mut draw = |below: usize| {
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*random >> 33) as usize % below.max(1)
    };
    if depth > 40 {
        return None;
    }
    match expr {
        Expr::Choice(parts) => {
            let part = &parts[draw(parts.len())];
            word(gbnf, part, random, depth + 1)
        }
        Expr::Sequence(parts) => parts
            .iter()
            .map(|part| word(gbnf, part, random, depth + 1))
            .collect(),
        Expr::Literal(text) => Some(text.clone()),
        Expr::Class {
            negated: false,
            ranges,
        } => {
            let (first, last) = ranges[draw(ranges.len())];
            let code =
                u32::from(first) + draw((u32::from(last) - u32::from(first) + 1) as usize) as u32;
            char::from_u32(code).map(String::from)
        }
        Expr::Class { ranges, .. } => {
            let is_out = |c: &char| {
                !ranges
                    .iter()
                    .any(|(first, last)| (first..=last).contains(&c))
            };
            ('\0'..char::MAX)
                .filter(is_out)
                .nth(draw(200))
                .map(String::from)
        }
        Expr::Any => Some("?".to_owned()),
        Expr::Rule(name) => {
            let rule = gbnf.rules.iter().find(|rule| rule.name == *name)?;
            word(gbnf, &rule.body, random, depth + 1)
        }
        Expr::Repeat { inner, min, max } => {
            let most = max.unwrap_or(*min + 3).min(*min + 3);
            let times = min + draw((most - min + 1) as usize) as u32;
            (0..times)
                .map(|_| word(gbnf, inner, random, depth + 1))
                .collect()
        }
    }
}

#[test]
fn recorded_grammars_have_the_words_of_what_they_are_converted_to() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let files = recorded_bodies(&format!("{folder}/servers"));
    if files.is_empty() {
        println!("skipped: no {folder}/servers (set ISOGLOSS_CAPTURES)");
        return;
    }
    let mut seen = HashSet::new();
    let (mut words, mut converted, mut refused) = (0, 0, Vec::new());
    for body in files {
        let outputs = &body["structured_outputs"];
        let tool = &body["tools"][0]["format"]["definition"];
        let places = [
            &outputs["grammar"],
            &body["guided_grammar"],
            &body["ebnf"],
            &body["grammar"],
            &body["grammar"]["value"],
            tool,
        ];
        for text in places.into_iter().filter_map(Value::as_str) {
            let notation = Notation::guess(text);
            let source = Constraint::Grammar {
                notation,
                text: text.to_owned(),
            };
            let Ok(original) = Grammar::compile(&source) else {
                continue;
            };
            if !seen.insert(text.to_owned()) {
                continue;
            }
            let kind = if notation == Notation::Gbnf {
                "grammar:lark"
            } else {
                "grammar:gbnf"
            };
            let target = match convert(&source, kind) {
                Ok(target) => target,
                Err(fault) => {
                    refused.push(format!("{text}: {fault}"));
                    continue;
                }
            };
            converted += 1;
            assert_eq!(target.differences, [], "{text}");
            let other = Grammar::compile(&target.constraint).unwrap();
            let gbnf = if notation == Notation::Gbnf {
                text
            } else {
                text_of(&target)
            };
            let gbnf = Gbnf::read(gbnf).unwrap();
            let root = Expr::Rule(Gbnf::ROOT.to_owned());
            let mut random = 7;
            for _ in 0..50 {
                let Some(word) = word(&gbnf, &root, &mut random, 0) else {
                    continue;
                };
                words += 1;
                assert_eq!(
                    (original.check(&word), other.check(&word)),
                    (Ok(()), Ok(())),
                    "{text} {word:?}"
                );
                // The same word with a character less, or one more.
                let mut less = word.clone();
                less.pop();
                for near in [less, format!("{word}x"), format!("{word}-")] {
                    assert_eq!(
                        original.check(&near).is_ok(),
                        other.check(&near).is_ok(),
                        "{text} {near:?}"
                    );
                }
            }
        }
    }
    println!("{converted} converted, {words} words; refused: {refused:#?}");
    assert!(
        converted > 8 && words > 300 && refused.is_empty(),
        "{refused:#?}"
    );
}

/// The bodies of the recorded requests.
fn recorded_bodies(folder: &str) -> Vec<Value> {
    let mut bodies = Vec::new();
    for server in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(server.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            if let Ok(mut request) = serde_json::from_str::<Value>(&text) {
                bodies.push(if request["body"].is_object() {
                    request["body"].take()
                } else {
                    request
                });
            }
        }
    }
    bodies
}

/// A body of a rule over a few terminals and the rules `start`, `x` and `y`.
fn body() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "\"a\"",
        "\"b\"",
        "\"ab\"",
        "/a+/",
        "/[ab]+/",
        "/b?a/",
        "/a*/",
        "A",
        "B",
        "x",
        "y",
        "\"A\"i",
        "\"ba\" \"a\"",
        "\"\"",
    ])
    .prop_map(ToOwned::to_owned);
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4)
                .prop_map(|parts| format!("({})", parts.join(" "))),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|parts| format!("({})", parts.join(" | "))),
            inner.clone().prop_map(|part| format!("[{part}]")),
            (
                inner.clone(),
                prop::sample::select(vec!["*", "+", "?", "~2", "~0..2"])
            )
                .prop_map(|(part, times)| format!("({part}){times}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn any_text_is_read_as_lark_or_refused(
        text in "(start: )?([a-cA-C_!?]{1,3}|[:|()\\[\\]{}*+?~.<>@&%/\"\\\\0-9\n -]|->|\\.\\.|::|%ignore |\\PC){0,30}",
    ) {
        let _ = to_gbnf(&text);
    }

    #[test]
    fn any_small_lark_and_its_gbnf_differ_only_as_told(
        start in body(),
        x in body(),
        y in body(),
        ignored in prop::sample::select(vec!["", "%ignore / +/", "%ignore \" \"", "%ignore /[ b]/", "%ignore / a?/"]),
    ) {
        let source = format!("start: {start}\nx: {x}\ny: {y}\nA: \"a\"\nB: /b+/ \"a\"?\n{ignored}\n");
        let all = texts("ab ", 4);
        // Rules without a finite text are refused on one side or both.
        if let (Ok(_), Ok(converted)) = (lark_text(&source), to_gbnf(&source))
            && gbnf(text_of(&converted)).is_ok()
        {
            compare(&source, &converted, &all);
        }
    }
}
