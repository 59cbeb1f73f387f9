//! Structural tags: every text that is written passes the check that verification makes, and the
//! texts that people have in mind can be written.

use super::driver::{Dice, Run, backend, compile, compiled, demand, takes};
use super::vocabularies::{bytes, merged, with_think_controls};
use isogloss_core::check::TagChecker;
use isogloss_core::error::Kind;
use isogloss_core::ir::Constraint;
use serde_json::{Value, json};

fn arguments(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "integer", "maximum": 99}}, "required": [name], "additionalProperties": false})
}

fn tag(begin: &str, content: Value, end: Value) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

fn schema(value: Value) -> Value {
    json!({"type": "json_schema", "json_schema": value})
}

/// Hermes: `auto` as a constraint.
fn hermes(more: Value) -> Value {
    let call = |name: &str| {
        let begin = format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": ");
        tag(&begin, schema(arguments("n")), json!("}\n</tool_call>"))
    };
    let mut format = json!({"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": [call("add"), call("address")]});
    format
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"type": "structural_tag", "format": format})
}

fn format(format: Value) -> Value {
    json!({"type": "structural_tag", "format": format})
}

/// What a tired model writes.
const LIKES: &[&str] = &[
    "</a>",
    "<end/>",
    "aa",
    "<tool_call>",
    "</x>",
    "END",
    "<think>",
    "</think>",
    "<function=",
    "<a>",
    "<ab>",
    "xx<a>",
    ";",
    "]",
];
const CALL: &str = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"n\": 7}}\n</tool_call>";

/// Descriptions, texts of theirs, and others.
#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<(Value, Vec<String>, Vec<String>)> {
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|text| text.replace("CALL", CALL))
            .collect()
    };
    let case =
        |description: Value, good: &[&str], bad: &[&str]| (description, texts(good), texts(bad));
    let regex = |pattern: &str| json!({"type": "regex", "pattern": pattern});
    let any = || json!({"type": "any_text"});
    let legacy = json!({
        "structures": [
            {"begin": "<function=f>", "schema": arguments("a"), "end": "</function>"},
            {"begin": "<function=g>", "schema": arguments("b"), "end": "</function>"}
        ],
        "triggers": ["<function="]
    });
    vec![
        case(
            legacy.clone(),
            &[
                "",
                "hello <func",
                "<function=f>{\"a\": 1}</function>",
                "so: <function=g>{\"b\":2}</function> and <function=f>{\"a\":3}</function>",
            ],
            &[
                "<function=h>",
                "<function=f>{\"b\": 1}</function>",
                "<function=f>{\"a\": 1}",
                "x <function=",
            ],
        ),
        case(json!(legacy.to_string()), &["x"], &["<function=x"]),
        case(
            hermes(json!({})),
            &["", "no", "CALL", "I add.\nCALL", "CALL\nCALL done"],
            &[
                "<tool_call>",
                "<tool_call>\n{\"name\": \"sub\", \"arguments\": {}}\n</tool_call>",
                "<tool_call>x</tool_call>",
            ],
        ),
        case(
            hermes(json!({"at_least_one": true})),
            &["CALL", "CALL b", "CALL a CALL b"],
            &["", "no", "a CALL b"],
        ),
        case(
            hermes(json!({"stop_after_first": true})),
            &["", "no", "CALL", "I add. CALL"],
            &["CALL ", "CALLCALL"],
        ),
        case(
            hermes(json!({"at_least_one": true, "stop_after_first": true})),
            &["CALL"],
            &["", "no", "CALL.", "CALLCALL", "I add. CALL"],
        ),
        case(
            hermes(json!({"excludes": ["</think>", "<think>"]})),
            &["think", "a CALL b <thin", "CALL"],
            &["<think>", "a </think> CALL"],
        ),
        case(
            format(json!({"type": "sequence", "elements": [
                tag("<think>", any(), json!("</think>")),
                hermes(json!({"at_least_one": true}))["format"]
            ]})),
            &["<think>a</think>CALL", "<think><tool_call></think>CALL x"],
            &[
                "CALL",
                "<think>a CALL",
                "<think>a</think>",
                "<think>a</think> CALL",
            ],
        ),
        case(
            format(json!({"type": "or", "elements": [
                {"type": "const_string", "value": "none"},
                tag("[", regex("[a-z]*"), json!(["]", "];"])),
                schema(json!({"type": "object"})),
                {"type": "grammar", "grammar": "root ::= \"(\" root? \")\""}
            ]})),
            &["none", "[]", "[ab]", "{\"a\": []}", "(())"],
            &["", "non", "[a", "[A]", "(()", "{"],
        ),
        case(
            format(tag("<a>", any(), json!(["</a>", "<end/>"]))),
            &["<a></a>", "<a><b></b><end/>", "<a></</a>"],
            &["<a></a></a>", "<a>", "<a><end/></a>"],
        ),
        case(
            format(tag(
                "<a>",
                json!({"type": "any_text", "excludes": ["bad"]}),
                json!("aa"),
            )),
            &["<a>aa", "<a>baa", "<a>ba aa"],
            &["<a>badaa", "<a>aaa", "<a>baaa"],
        ),
        case(
            format(tag(
                "<x>",
                hermes(json!({}))["format"].clone(),
                json!("</x>"),
            )),
            &["<x></x>", "<x>a CALL b</x>", "<x>CALLCALL</x>"],
            &["<x>", "<x>CALL", "<x></x></x>", "<x><tool_call></x>"],
        ),
        case(
            format(tag(
                "<x>",
                hermes(json!({"stop_after_first": true}))["format"].clone(),
                json!("</x>"),
            )),
            &["<x></x>", "<x>a</x>", "<x>a CALL</x>"],
            &["<x>CALL </x>", "<x>CALLCALL</x>"],
        ),
        case(
            format(
                json!({"type": "tags_with_separator", "separator": ", ", "tags": [
                    tag("<a>", regex("[0-9]+"), json!("</a>")), tag("<b>", schema(json!({"type": "integer"})), json!("</b>"))
                ]}),
            ),
            &["", "<a>1</a>", "<a>1</a>, <b>-2</b>, <a>3</a>"],
            &[
                "x",
                "<a>1</a>,",
                "<a>1</a>, ",
                "<a>1</a><a>2</a>",
                " <a>1</a>",
                "<a>1</a> x",
            ],
        ),
        case(
            format(
                json!({"type": "tags_with_separator", "separator": "", "at_least_one": true, "tags": [
                    tag("<a>", any(), json!("</a>"))
                ]}),
            ),
            &["<a></a>", "<a>x</a><a>y</a>"],
            &["", "<a>", "<a></a> <a></a>"],
        ),
        case(
            format(
                json!({"type": "tags_with_separator", "separator": ";", "at_least_one": true, "stop_after_first": true, "tags": [
                    tag("<a>", regex("[0-9]+"), json!("</a>"))
                ]}),
            ),
            &["<a>1</a>"],
            &["", "<a>1</a>;<a>1</a>", "<a>1</a>;"],
        ),
        case(
            format(json!({"type": "sequence", "elements": [
                {"type": "optional", "content": tag("<think>", any(), json!("</think>"))},
                {"type": "plus", "content": {"type": "const_string", "value": "ab"}},
                {"type": "star", "content": {"type": "const_string", "value": "!"}},
                {"type": "repeat", "min": 1, "max": 2, "content": tag("[", schema(json!({"type": "integer"})), json!("]"))}
            ]})),
            &["ab[1]", "<think>x</think>abab!![1][-2]"],
            &[
                "[1]",
                "ab",
                "ab![1][2][3]",
                "<think>x</think>",
                "<think>xab[1]",
            ],
        ),
        case(
            format(tag("say: ", any(), json!(""))),
            &["say: ", "say: anything <a>"],
            &["say", ""],
        ),
        case(
            format(
                json!({"type": "sequence", "elements": [any(), {"type": "const_string", "value": "END"}]}),
            ),
            &["END", "a END b END"],
            &["", "a", "END "],
        ),
        case(
            format(
                json!({"type": "triggered_tags", "triggers": ["<a", "xx<a"], "tags": [
                    tag("<a>", regex("[0-9]+"), json!(";")),
                    tag("<ab>", any(), json!(";")),
                    tag("xx<a>", regex("[0-9]*"), json!(";"))
                ]}),
            ),
            &[
                "x<a>1;",
                "xx<a>;",
                "xxx<a>2;x",
                "<ab><a>;<a>3;",
                "<ab>xx<a>;",
            ],
            &["<a>;", "<a", "x<ac>", "xx<ab>;"],
        ),
    ]
}

#[test]
fn texts_with_tags_are_taken_as_verification_takes_them() {
    for vocabulary in [bytes(), merged(), with_think_controls()] {
        let backend = backend(&vocabulary);
        for (description, good, bad) in cases() {
            let checker = TagChecker::compile(&description).unwrap();
            let grammar = compiled(&backend, Constraint::StructuralTag(description.clone()));
            for text in good {
                assert_eq!(checker.check(&text), Ok(()), "{text} under {description}");
                let is_taken = takes(grammar.as_ref(), &vocabulary, &text);
                assert!(is_taken, "{text} under {description}");
            }
            for text in bad {
                assert!(checker.check(&text).is_err(), "{text} under {description}");
                let is_taken = takes(grammar.as_ref(), &vocabulary, &text);
                assert!(!is_taken, "{text} under {description}");
            }
        }
    }
}

#[test]
fn whatever_is_written_under_structural_tags_passes_their_check() {
    let (mut ended, mut all, mut called) = (0, 0, 0);
    for vocabulary in [bytes(), merged()] {
        let backend = backend(&vocabulary);
        for (description, ..) in cases() {
            let checker = TagChecker::compile(&description).unwrap();
            let grammar = compiled(&backend, Constraint::StructuralTag(description.clone()));
            for seed in 0..12 {
                let run = Run {
                    vocabulary: &vocabulary,
                    patience: 30,
                    most: 1_500,
                    likes: LIKES,
                };
                all += 1;
                let mut dice = Dice(seed);
                let Some(text) = run.write(grammar.matcher().as_mut(), &mut dice) else {
                    continue;
                };
                ended += 1;
                let text = String::from_utf8(text).unwrap();
                called += usize::from(text.contains("</tool_call>"));
                assert_eq!(checker.check(&text), Ok(()), "{text} under {description}");
            }
        }
    }
    println!("{ended} of {all} ended, {called} with calls");
    assert!(ended * 10 >= all * 9, "{ended} of {all}");
    assert!(called > 20, "{called}");
}

#[test]
fn what_no_decoder_can_follow_is_refused() {
    let backend = backend(&bytes());
    let any = || json!({"type": "any_text"});
    let sequence = |parts: Value| format(json!({"type": "sequence", "elements": parts}));
    for description in [
        sequence(json!([any(), schema(json!({}))])),
        sequence(
            json!([{"type": "any_text", "excludes": ["x"]}, {"type": "const_string", "value": "y"}]),
        ),
        format(tag(
            "<a>",
            json!({"type": "sequence", "elements": [any(), any()]}),
            json!("</a>"),
        )),
        format(tag("<a>", any(), json!([]))),
        format(tag("<a>", any(), json!(["", "x"]))),
        format(json!({"type": "or", "elements": []})),
        format(
            json!({"type": "triggered_tags", "triggers": ["<a"], "tags": [], "at_least_one": true}),
        ),
        format(json!({"type": "qwen_xml_parameter", "json_schema": {}})),
    ] {
        let constraint = Constraint::StructuralTag(description.clone());
        let error = compile(&backend, &demand(constraint)).unwrap_err();
        assert_eq!(
            error.kind,
            Kind::UnsupportedConstraint,
            "{description}: {}",
            error.message
        );
    }
    let stray = format(
        json!({"type": "triggered_tags", "triggers": ["<a"], "tags": [tag("b", any(), json!("c"))]}),
    );
    let error = compile(&backend, &demand(Constraint::StructuralTag(stray))).unwrap_err();
    assert_eq!(error.kind, Kind::InvalidRequest, "{}", error.message);
    let inner = format(tag(
        "<a>",
        schema(json!({"not": {"type": "null"}})),
        json!("</a>"),
    ));
    let error = compile(&backend, &demand(Constraint::StructuralTag(inner))).unwrap_err();
    assert_eq!(error.kind, Kind::UnsupportedSchema, "{}", error.message);
}
