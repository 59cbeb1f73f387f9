//! What V8 says of patterns, recorded, and what is refused with which reason.

use super::{EcmaFault, translate, translate_for_both};
use regex::Regex;
use serde_json::Value;

/// A line is `[pattern, texts that match, texts that do not]`, or `[pattern]` alone where it is a
/// syntax error: the answers of node 20 (`new RegExp(p, 'u')`, and without the flag where that
/// throws), for patterns and texts that were put together at random.
const RECORDED: &str = include_str!("../../../../../tests/data/ecma_patterns.jsonl");

/// Annex B takes these for the letters themselves; every other dialect means something by them.
fn has_escaped_letter(pattern: &str) -> bool {
    [
        "\\A", "\\Z", "\\z", "\\a", "\\e", "\\h", "\\x4", "\\u12", "\\c", "\\p", "\\0",
    ]
    .iter()
    .any(|escape| pattern.contains(escape))
}

/// A syntax error in ECMA-262, and read all the same, since it can mean but one thing.
fn is_read_beyond(pattern: &str) -> bool {
    ["(?i)", "(?P<"].iter().any(|mark| pattern.contains(mark))
}

#[test]
fn patterns_match_what_they_match_in_a_real_engine_of_ecma_262() {
    let (mut wrong, mut pairs, mut refused, mut accepted) = (Vec::new(), 0, 0, 0);
    for line in RECORDED.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let pattern = case[0].as_str().unwrap();
        let is_valid = case.get(1).is_some();
        let translated = match translate(pattern) {
            Ok(translated) if is_valid => translated,
            Err(_) if !is_valid => {
                refused += 1;
                continue;
            }
            Err(_) if has_escaped_letter(pattern) => continue,
            Ok(_) if is_read_beyond(pattern) => continue,
            _ => {
                wrong.push(format!("{pattern:?}: valid: {is_valid}, read otherwise"));
                continue;
            }
        };
        accepted += 1;
        let regex = Regex::new(&translated).unwrap();
        for (texts, expected) in [(&case[1], true), (&case[2], false)] {
            for text in texts.as_array().into_iter().flatten() {
                pairs += 1;
                let text = text.as_str().unwrap();
                if regex.is_match(text) != expected {
                    wrong.push(format!("{pattern:?} on {text:?}: not {expected}"));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong: {:#?}",
        wrong.len(),
        &wrong[..wrong.len().min(30)]
    );
    assert!(
        pairs > 5_000 && refused > 300 && accepted > 1_000,
        "{pairs} {refused} {accepted}"
    );
}

#[test]
fn what_is_no_pattern_has_a_reason() {
    for (pattern, fault) in [
        ("foo**", EcmaFault::RepeatedQuantifier),
        ("a+*", EcmaFault::RepeatedQuantifier),
        ("(?:)*+", EcmaFault::RepeatedQuantifier),
        ("a{2}{3}", EcmaFault::RepeatedQuantifier),
        ("a???", EcmaFault::RepeatedQuantifier),
        ("*", EcmaFault::NothingToRepeat),
        ("(|+)", EcmaFault::NothingToRepeat),
        ("{2}", EcmaFault::NothingToRepeat),
        ("^*", EcmaFault::RepeatedAnchor),
        (r"\b?", EcmaFault::RepeatedAnchor),
        ("a{2,1}", EcmaFault::Bounds),
        ("a{99999999999}", EcmaFault::Bounds),
        ("(", EcmaFault::Parenthesis),
        (")", EcmaFault::Parenthesis),
        ("a(?i)b", EcmaFault::Group),
        ("(?x)a b", EcmaFault::Group),
        ("(?i", EcmaFault::Group),
        ("(?P>n)", EcmaFault::Group),
        ("(?P<n>a)(?<n>a)", EcmaFault::GroupName),
        ("(?>a)", EcmaFault::Group),
        ("(?<n>a)(?<n>a)", EcmaFault::GroupName),
        ("[a", EcmaFault::Class),
        ("[a-", EcmaFault::Class),
        ("[z-a]", EcmaFault::Range),
        (r"\Z", EcmaFault::Escape),
        (r"\", EcmaFault::Escape),
        (r"\p{Foo}", EcmaFault::Property),
        ("(?=a)", EcmaFault::Irregular),
        ("(?<!a)", EcmaFault::Irregular),
        (r"(a)\1", EcmaFault::Irregular),
    ] {
        assert_eq!(translate(pattern), Err(fault), "{pattern}");
        assert_eq!(translate_for_both(pattern), Err(fault), "{pattern}");
    }
    assert_eq!(translate(&"(".repeat(100_000)), Err(EcmaFault::Nesting));
}

fn matches(pattern: &str, text: &str) -> bool {
    let regex = Regex::new(&translate(pattern).unwrap()).unwrap();
    regex.is_match(text)
}

#[test]
fn modifiers_of_a_group_hold_in_it_alone() {
    assert!(matches("^(?i:a)b$", "Ab"));
    assert!(!matches("^(?i:a)b$", "AB"));
    assert!(matches("^(?s:.).$", "\n-"));
    assert!(!matches("^(?s:.).$", "\n\n"));
    assert!(matches("^(?s:(?-s:a).)$", "a\n"));
    assert!(matches("(?m:^b)", "a\nb"));
}

#[test]
fn what_python_and_rust_say_and_ecma_262_has_no_meaning_for_is_read() {
    assert!(matches("(?i)^a|b$", "xB"));
    assert!(!matches("(?i)^a$|^b$", "xB"));
    assert!(matches("(?si)^a.$", "A\n"));
    assert!(!matches("(?i)^a.$", "A\n"));
    assert!(matches("^(?P<year>[0-9]{4})$", "2026"));
    assert!(!matches("^(?P<year>[0-9]{4})$", "year"));
}

#[test]
fn halves_of_pairs_match_nothing_and_pairs_are_one_character() {
    assert!(!matches(r"\uD83D", "😀"));
    assert!(matches(r"^\uD83D\uDE00$", "😀"));
    assert!(matches(r"^[\uD83D\uDE00-\uD83D\uDE02]$", "😁"));
    assert!(matches(r"^[^\uD800-\uDFFF]$", "😀"));
    assert!(matches(r"^[\u0061-\u{10FFFF}]$", "\u{E000}"));
}
