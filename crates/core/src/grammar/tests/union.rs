//! Unions of calls and a text: exactly the texts of both, in either notation.

use crate::grammar::{
    Grammar, TaggedCall, Union, after_thoughts, calls_alone, calls_or_text, is_plain_in_json,
    text_with_calls,
};
use crate::ir::{Begin, Constraint, Notation, Thoughts};
use proptest::prelude::*;
use serde_json::{Value, json};

const KINDS: [&str; 2] = ["grammar:gbnf", "grammar:lark"];
const TRIGGER: &str = "<call>";
const END: &str = "}</call>";

fn colour() -> Value {
    json!({
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}},
        "required": ["colour"],
        "additionalProperties": false,
    })
}

fn calls<'a>(f: &'a Value, g: &'a Value) -> [TaggedCall<'a>; 2] {
    [
        ("<call>{\"name\": \"f\", \"arguments\": ", f),
        ("<call>{\"name\": \"g\", \"arguments\": ", g),
    ]
    .map(|(begin, schema)| TaggedCall {
        begin,
        numbered: None,
        schema,
        content: None,
        end: END,
    })
}

fn call(name: &str, input: &str) -> String {
    format!("<call>{{\"name\": \"{name}\", \"arguments\": {input}}}</call>")
}

fn either(is_one: bool, text: &Constraint, kind: &str) -> Union {
    calls_or_text(
        &calls(&colour(), &json!({"type": "integer"})),
        is_one,
        text,
        kind,
    )
    .unwrap()
}

fn free(is_one: bool, kind: &str) -> Union {
    text_with_calls(
        &calls(&colour(), &json!({"type": "integer"})),
        TRIGGER,
        is_one,
        kind,
    )
    .unwrap()
}

#[track_caller]
fn takes(union: &Union, yes: &[&str], no: &[&str]) {
    let grammar = Grammar::compile(&union.constraint).unwrap();
    for text in yes {
        assert_eq!(
            grammar.check(text),
            Ok(()),
            "{text}\n{:?}",
            union.constraint
        );
    }
    for text in no {
        assert!(
            grammar.check(text).is_err(),
            "{text}\n{:?}",
            union.constraint
        );
    }
}

#[test]
fn a_union_takes_the_calls_or_the_text_and_nothing_between() {
    let date = Constraint::Regex("[0-9]{4}-[0-9]{2}".to_owned());
    for kind in KINDS {
        let union = either(false, &date, kind);
        assert_eq!(
            (union.constraint.kind(), &*union.differences),
            (kind, &[][..])
        );
        let red = call("f", "{\"colour\": \"red\"}");
        let two = format!("{red}\n{}", call("g", "-3"));
        takes(
            &union,
            &["2026-11", &red, &two],
            &[
                "",
                "2026-1",
                &call("f", "{\"colour\": \"blue\"}"),
                &call("h", "1"),
                &call("g", "{}"),
                &format!("{red}2026-11"),
                &format!("2026-11{red}"),
                &format!("{red} {red}"),
            ],
        );
        takes(&either(true, &date, kind), &["2026-11", &red], &[&two]);
    }
}

#[test]
fn calls_alone_are_in_their_block_and_nothing_stands_beside_them() {
    let (f, g) = (colour(), json!({"type": "integer"}));
    let red = call("f", "{\"colour\": \"red\"}");
    let three = call("g", "3");
    for kind in KINDS {
        let alone = |is_one, block| calls_alone(&calls(&f, &g), is_one, block, kind).unwrap();
        let one = alone(true, ["", "\n", ""]);
        assert_eq!((one.constraint.kind(), &*one.differences), (kind, &[][..]));
        let two = format!("{red}\n{three}");
        let others = ["", "So.", &two, &format!("So. {red}"), &format!("{red}\n")];
        takes(&one, &[&red, &three], &others);
        let glued = format!("{red}{three}");
        takes(&alone(false, ["", "\n", ""]), &[&red, &two], &["", &glued]);
        let block = alone(false, ["[", ", ", "]"]);
        takes(
            &block,
            &[&format!("[{red}]"), &format!("[{red}, {three}]")],
            &["[]", &red, &format!("[{red}"), &format!("[{red}, ]")],
        );
    }
    let numbered = [TaggedCall {
        begin: "<call>f:",
        numbered: Some("="),
        schema: &g,
        content: None,
        end: "</call>",
    }];
    for kind in KINDS {
        let union = calls_alone(&numbered, false, ["[", "", "]"], kind).unwrap();
        takes(
            &union,
            &[
                "[<call>f:0=3</call>]",
                "[<call>f:0=3</call><call>f:12=-4</call>]",
            ],
            &[
                "[<call>f:=3</call>]",
                "[<call>f:01=3</call>]",
                "[<call>f:0=x</call>]",
            ],
        );
    }
    // What a call's grammar does not say is told of that call.
    let unique = json!({"type": "array", "uniqueItems": true});
    let union = calls_alone(&calls(&f, &unique), true, [""; 3], KINDS[0]).unwrap();
    assert_eq!(union.differences[0].0, Some(1));
}

#[test]
fn every_kind_of_text_goes_into_a_union() {
    let grammar = |notation, text: &str| Constraint::Grammar {
        notation,
        text: text.to_owned(),
    };
    for text in [
        Constraint::Choice(vec!["yes".to_owned(), "no".to_owned()]),
        // Rules of the text's own that are called as those around it are.
        grammar(
            Notation::Gbnf,
            "root ::= call | call0-root\ncall ::= \"yes\"\ncall0-root ::= \"no\"\n",
        ),
        grammar(Notation::Lark, "start: YES | \"no\"\nYES: \"yes\"\n"),
        Constraint::JsonSchema(json!({"enum": ["yes", "no"]})),
    ] {
        let is_json = text.is_json();
        for kind in KINDS {
            let union = either(true, &text, kind);
            let quoted = |word: &str| match is_json {
                true => format!("\"{word}\""),
                false => word.to_owned(),
            };
            let (yes, maybe) = (quoted("yes"), quoted("maybe"));
            takes(&union, &[&yes, &quoted("no"), &call("g", "1")], &[&maybe]);
        }
    }
    let tag = Constraint::StructuralTag(json!({}));
    assert!(calls_or_text(&[], true, &tag, KINDS[0]).is_err());
}

#[test]
fn what_a_call_loses_is_told_of_that_call() {
    let (f, g) = (colour(), json!({"type": "array", "uniqueItems": true}));
    let date = Constraint::Regex("x".to_owned());
    let union = calls_or_text(&calls(&f, &g), true, &date, KINDS[0]).unwrap();
    let [(owner, difference)] = union.differences.as_slice() else {
        panic!("{:?}", union.differences);
    };
    assert_eq!(
        (*owner, difference.pointer.as_str()),
        (Some(1), "/uniqueItems")
    );
    assert!(difference.is_wider);
}

#[test]
fn free_text_takes_anything_but_a_tag_that_opens_no_call() {
    for kind in KINDS {
        let union = free(false, kind);
        let red = call("f", "{\"colour\": \"red\"}");
        takes(
            &union,
            &[
                "",
                "1 < 2 <<call <<c <cal>l>",
                &red,
                &format!("So:\n{red}\nand <{} é", call("g", "7")),
                &format!("<<call{red}{red}"),
            ],
            &[
                "<call>",
                "x <<call>{}",
                "<call>{\"name\": \"h\", \"arguments\": 1}</call>",
                &call("f", "{}"),
                "So <call>{\"name\": \"g\", \"arguments\": 1}",
            ],
        );
        takes(
            &free(true, kind),
            &["", "a", &format!("a {red}")],
            &[&format!("{red} a")],
        );
    }
}

#[test]
fn a_regex_is_plain_in_json_if_no_text_of_it_needs_an_escape() {
    for plain in [
        "[a-z]+",
        "\\d{3}",
        "(?:yes|no) é",
        "[^\"\\\\\\x00-\\x1f]*",
        "",
    ] {
        assert!(is_plain_in_json(plain), "{plain}");
    }
    for other in [
        ".", "\\w\\s", "a\"b", "a\\\\b", "[!-~]", "[^a]", "a\n", "(", "(?=a)a",
    ] {
        assert!(!is_plain_in_json(other), "{other}");
    }
}

proptest! {
    #[test]
    fn text_with_calls_is_any_text_without_the_tag(
        parts in prop::collection::vec(
            prop::sample::select(vec!["<", "<c", "call>", ">", "a", "<call", "l", "<call>", "\n"]),
            0..6,
        ),
    ) {
        let text = parts.concat();
        let Union { constraint, .. } = free(false, KINDS[0]);
        let grammar = Grammar::compile(&constraint).unwrap();
        prop_assert_eq!(grammar.check(&text).is_ok(), !text.contains(TRIGGER), "{}", text);
    }
}

#[test]
fn thoughts_stand_before_the_text_and_nowhere_else() {
    let text = Constraint::JsonSchema(json!({"type": "integer"}));
    let thoughts = |begin| Thoughts {
        open: "<think>".to_owned(),
        close: "</think>".to_owned(),
        after: Vec::new(),
        is_several: false,
        begin,
    };
    for kind in KINDS {
        for (begin, yes, no) in [
            (
                Begin::Before,
                vec!["7", "<think></think>7", "<think>a < b </thi\n</think>\n\n7"],
                vec![
                    "</think>7",
                    "<think>7",
                    "<think>a</think>\n\n\n7",
                    "hm 7",
                    "",
                ],
            ),
            (
                Begin::Inside,
                vec!["</think>7", "hm\n</think>\n7", "<think>a</think>7"],
                vec!["7", "hm", "hm</think>", "a</think>b</think>7"],
            ),
        ] {
            let grammar = after_thoughts(&thoughts(begin), &text, kind).unwrap();
            let compiled = Grammar::compile(&grammar.constraint).unwrap();
            for text in yes {
                assert_eq!(compiled.check(text), Ok(()), "{text:?}: {grammar:?}");
            }
            for text in no {
                assert!(compiled.check(text).is_err(), "{text:?}: {grammar:?}");
            }
        }
    }
}
