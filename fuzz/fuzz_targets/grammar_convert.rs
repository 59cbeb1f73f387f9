//! Any regex, choice, GBNF or Lark, in every other notation: reading and writing come to an end, and
//! a text that only one of the two takes is among the differences that are told.

#![no_main]

use isogloss_core::grammar::{Converted, Grammar, convert};
use isogloss_core::ir::{Constraint, Notation};
use libfuzzer_sys::fuzz_target;

const KINDS: [&str; 3] = ["regex", "grammar:gbnf", "grammar:lark"];

fuzz_target!(|input: &[u8]| {
    let [kind, rest @ ..] = input else {
        return;
    };
    let Ok(text) = std::str::from_utf8(rest) else {
        return;
    };
    // Behind a NUL: texts to be tried, one a line.
    let (definition, samples) = text.split_once('\0').unwrap_or((text, ""));
    let constraint = match kind % 4 {
        0 => Constraint::Regex(definition.to_owned()),
        1 => Constraint::Choice(definition.split('\n').map(str::to_owned).collect()),
        2 => Constraint::Grammar {
            notation: Notation::Gbnf,
            text: definition.to_owned(),
        },
        _ => Constraint::Grammar {
            notation: Notation::Lark,
            text: definition.to_owned(),
        },
    };
    let Ok(grammar) = Grammar::compile(&constraint) else {
        return;
    };
    for kind in KINDS {
        if let Ok(converted) = convert(&constraint, kind) {
            let other = Grammar::compile(&converted.constraint);
            let other = other.unwrap_or_else(|fault| {
                panic!("{kind}: what is sent cannot be read: {fault:?}: {converted:?}")
            });
            compare(&grammar, &other, &converted, samples);
        }
    }
});

/// Tries the samples, and their beginnings.
fn compare(grammar: &Grammar, other: &Grammar, converted: &Converted, samples: &str) {
    for sample in samples.split('\n').take(8) {
        let ends = sample.char_indices().map(|(at, _)| at).take(24);
        for end in ends.chain([sample.len()]) {
            let text = &sample[..end];
            let (before, after) = (grammar.check(text).is_ok(), other.check(text).is_ok());
            let is_told = |is_wider| {
                let mut differences = converted.differences.iter();
                differences.any(|difference| difference.is_wider == is_wider)
            };
            assert!(
                before == after || is_told(after),
                "{text:?}: {before} before, {after} after: {converted:?}"
            );
        }
    }
}
