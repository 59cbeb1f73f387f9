//! Every kind of constraint, over every kind of vocabulary.

use super::driver::{Dice, Run, backend, compile, compiled, demand, schema, takes};
use super::vocabularies::{bytes, merged, narrow, spaced, spell, with_think_controls};
use crate::backend::llguidance::Llguidance;
use crate::backend::{Demand, Matcher, Stuck, Whitespace};
use crate::vocabulary::{Encode, Piece, Token, TokenKind, Vocabulary};
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::check::Check;
use isogloss_core::error::Kind;
use isogloss_core::ir::{Constraint, Notation};
use serde_json::{Value, json};
use std::time::Duration;

fn gbnf(text: &str) -> Constraint {
    Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    }
}

fn lark(text: &str) -> Constraint {
    Constraint::Grammar {
        notation: Notation::Lark,
        text: text.to_owned(),
    }
}

fn vocabularies() -> Vec<Vocabulary> {
    vec![bytes(), merged(), spaced(), with_think_controls(), narrow()]
}

fn constraints() -> Vec<Constraint> {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    vec![
        Constraint::JsonObject,
        schema(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 8},
                "count": {"type": "integer", "minimum": 1, "maximum": 20},
                "price": {"type": "number"},
                "tags": {"type": "array", "items": {"enum": ["a", "b\"c", 7, null]}, "maxItems": 3}
            },
            "required": ["name", "count", "tags"],
            "additionalProperties": false
        })),
        schema(json!(true)),
        schema(json!({"type": "number"})),
        Constraint::Regex(r"[a-z]{2,5}-\d{1,3}(x|yz)?".to_owned()),
        Constraint::Regex(".*".to_owned()),
        Constraint::Regex(String::new()),
        Constraint::Choice(texts(&["yes", "yes please", "no", "\u{7f}\n/"])),
        Constraint::Choice(texts(&["", "a"])),
        gbnf("root ::= \"a\" [b-d]+ (\"x\" | \"yz\")?"),
        gbnf("root ::= item*\nitem ::= \"(\" root \")\" | [a-c]"),
        lark("start: WORD (\" \" WORD){0,3}\nWORD: /[a-z]+/"),
        lark("start: \"[\" start? \"]\""),
    ]
}

async fn check(compiler: &Compiler, constraint: &Constraint, text: &str) -> bool {
    match compiler.compile(constraint).await.unwrap() {
        Check::Json(validator) => {
            serde_json::from_str(text).is_ok_and(|value| validator.validate(&value).is_ok())
        }
        Check::JsonObject => {
            serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object())
        }
        Check::Text(grammar) => grammar.check(text).is_ok(),
        Check::Tag(checker) => checker.check(text).is_ok(),
    }
}

#[tokio::test]
async fn whatever_a_model_writes_is_what_was_demanded() {
    let compiler = Compiler::new(CompilerLimits {
        timeout: Duration::from_secs(20),
        ..CompilerLimits::default()
    });
    let (mut ended, mut all) = (0, 0);
    for vocabulary in vocabularies() {
        let backend = backend(&vocabulary);
        for constraint in constraints() {
            let grammar = compiled(&backend, constraint.clone());
            for seed in 0..12 {
                let run = Run {
                    vocabulary: &vocabulary,
                    patience: 40,
                    most: 1_500,
                    likes: &[],
                };
                let mut dice = Dice(seed);
                all += 1;
                let Some(text) = run.write(grammar.matcher().as_mut(), &mut dice) else {
                    continue;
                };
                ended += 1;
                let text = String::from_utf8(text).unwrap();
                assert!(
                    check(&compiler, &constraint, &text).await,
                    "{constraint:?}: {text}"
                );
            }
        }
    }
    assert!(ended * 100 >= all * 98, "{ended} of {all} ended");
}

#[test]
fn what_satisfies_a_constraint_is_taken_and_nothing_else() {
    let cases: &[(Constraint, &[&str], &[&str])] = &[
        (
            Constraint::Regex(r"a+b?".to_owned()),
            &["a", "aab"],
            &["", "b", "aba", "aabb"],
        ),
        (
            Constraint::Choice(vec!["yes".to_owned(), "yes, sir".to_owned()]),
            &["yes", "yes, sir"],
            &["", "ye", "yes,", "no"],
        ),
        (
            gbnf("root ::= \"<\" root \">\" | \"x\""),
            &["x", "<<x>>"],
            &["<x", "x>", ""],
        ),
        (
            lark("start: A \"!\"\nA: /[a-c]+/"),
            &["abc!", "c!"],
            &["!", "abd!", "abc"],
        ),
        (
            Constraint::JsonObject,
            &["{}", "{\"a\": [1, {\"b\": null}]}", "{\n  \"a\": 1\n}"],
            &["[]", "1", "{", "{}{}", " {}", "{a: 1}"],
        ),
        (
            schema(
                json!({"properties": {"a~/b": {"type": "integer"}, "c": {"$ref": "#/properties/a~0~1b"}}}),
            ),
            &["{\"c\": 3}", "[]"],
            &["{\"c\": \"x\"}"],
        ),
        (
            schema(json!({"type": "string", "format": "date"})),
            &["\"2024-02-29\"", "\"2000-02-29\"", "\"2023-12-31\""],
            &[
                "\"2023-02-29\"",
                "\"1900-02-29\"",
                "\"2023-04-31\"",
                "\"2023-13-01\"",
            ],
        ),
        (
            schema(
                json!({"type": "string", "nullable": true, "uniqueItems": false, "format": "int32"}),
            ),
            &["\"x\"", "null"],
            &["1"],
        ),
        // A name in another spelling is the same name.
        (
            schema(json!({"type": "object", "properties": {"a": {"type": "integer"}}})),
            &[r#"{"a":1,"b":"e"}"#, r#"{"a":1,"\u001b":"\u007f\n"}"#],
            &[
                r#"{"\u0061":"x"}"#,
                r#"{"a":1,"\u0061":1}"#,
                r#"{"b\u00e9":1}"#,
            ],
        ),
    ];
    for vocabulary in vocabularies() {
        let backend = backend(&vocabulary);
        for (constraint, good, bad) in cases {
            let grammar = compiled(&backend, constraint.clone());
            for text in *good {
                let has_bytes = vocabulary.len() > 200 || !text.contains('\n');
                let is_taken = !has_bytes || takes(grammar.as_ref(), &vocabulary, text);
                assert!(is_taken, "{constraint:?}: {text}");
            }
            for text in *bad {
                assert!(
                    !takes(grammar.as_ref(), &vocabulary, text),
                    "{constraint:?}: {text}"
                );
            }
        }
    }
}

#[test]
fn compact_json_has_no_space_and_flexible_json_never_an_endless_run() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let object = schema(
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array"}}, "required": ["a", "b"]}),
    );
    let compact = Demand {
        whitespace: Whitespace::Compact,
        ..demand(object.clone())
    };
    let compact = compile(&backend, &compact).unwrap();
    assert!(takes(compact.as_ref(), &vocabulary, r#"{"a":1,"b":[1,2]}"#));
    for text in [
        r#"{"a": 1,"b":[]}"#,
        "{\"a\":1,\n\"b\":[]}",
        r#"{ "a":1,"b":[]}"#,
    ] {
        assert!(!takes(compact.as_ref(), &vocabulary, text), "{text}");
    }
    let flexible = compiled(&backend, object);
    assert!(takes(
        flexible.as_ref(),
        &vocabulary,
        "{\n    \"a\": 1,\n\t\"b\": [ 1, 2 ]\n}"
    ));
    let mut matcher = flexible.matcher();
    for token in vocabulary.encode("{", false) {
        matcher.consume(token).unwrap();
    }
    let mut spaces = 0;
    while let Some(token) = {
        let mask = matcher.mask().unwrap();
        let is_space = |token: &Token| vocabulary.text(*token).iter().all(u8::is_ascii_whitespace);
        mask.to_list().into_iter().find(is_space)
    } {
        matcher.consume(token).unwrap();
        spaces += vocabulary.text(token).len();
        assert!(spaces < 60);
    }
    assert!(spaces > 0);
}

#[test]
fn an_answer_that_is_whole_and_closed_is_finished_without_an_end_token() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let grammar = compiled(&backend, Constraint::JsonObject);
    let mut matcher = grammar.matcher();
    for token in vocabulary.encode("{}", false) {
        assert!(!matcher.is_finished() && !matcher.is_accepting());
        matcher.consume(token).unwrap();
    }
    assert!(matcher.is_finished() && matcher.is_accepting());
    let mask = matcher.mask().unwrap();
    assert_eq!(mask.to_list(), vocabulary.ends());
    assert!(matcher.forced().is_empty());
    assert_eq!(
        matcher.consume(vocabulary.encode("{", false)[0]),
        Err(Stuck::Refused)
    );
    assert_eq!(matcher.consume(vocabulary.ends()[0]), Ok(()));
    assert!(matcher.is_finished());
    // A number may always go on.
    let grammar = compiled(&backend, schema(json!({"type": "integer"})));
    let mut matcher = grammar.matcher();
    matcher.consume(vocabulary.encode("7", false)[0]).unwrap();
    assert!(matcher.is_accepting() && !matcher.is_finished());
}

#[test]
fn what_is_forced_comes_in_the_models_own_tokens() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let constraint = schema(
        json!({"type": "object", "properties": {"function": {"const": "value"}}, "required": ["function"], "additionalProperties": false}),
    );
    let demand = Demand {
        whitespace: Whitespace::Compact,
        ..demand(constraint)
    };
    let grammar = compile(&backend, &demand).unwrap();
    let mut matcher = grammar.matcher();
    let text = r#"{"function":"value"}"#;
    let forced = matcher.forced();
    assert_eq!(forced, vocabulary.encode(text, false));
    for token in forced {
        assert!(matcher.mask().unwrap().is_allowed(token));
        matcher.consume(token).unwrap();
    }
    assert!(matcher.is_finished());
    // Another spelling of the same text is as good.
    let mut matcher = grammar.matcher();
    for byte in text.bytes() {
        matcher.consume(Token::from(byte) + 1).unwrap();
    }
    assert!(matcher.is_finished());
}

#[test]
fn numbers_end_and_levels_too() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let grammar = compiled(&backend, schema(json!({})));
    let token = |text: &str| vocabulary.encode(text, false)[0];
    let mut matcher = grammar.matcher();
    for digits in 0.. {
        let mask = matcher.mask().unwrap();
        if !mask.is_allowed(token("9")) {
            assert!((20..60).contains(&digits), "{digits}");
            break;
        }
        matcher.consume(token("9")).unwrap();
    }
    matcher.consume(token("e")).unwrap();
    for allowed in [true, true, false] {
        assert_eq!(matcher.mask().unwrap().is_allowed(token("9")), allowed);
        if allowed {
            matcher.consume(token("9")).unwrap();
        }
    }
    let mut matcher = grammar.matcher();
    matcher.consume(token("1")).unwrap();
    assert!(!matcher.mask().unwrap().is_allowed(token("e999")));
    assert!(matcher.mask().unwrap().is_allowed(token("e9")));
    let mut matcher = grammar.matcher();
    for depth in 0.. {
        if !matcher.mask().unwrap().is_allowed(token("[")) {
            assert!((90..120).contains(&depth), "{depth}");
            break;
        }
        matcher.consume(token("[")).unwrap();
    }
}

#[test]
fn whole_numbers_fit_64_bits_where_their_exact_value_matters() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let exact = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer", "multipleOf": 5}}});
    for (sign, most) in [("", 19), ("-", 18)] {
        let grammar = compiled(&backend, schema(exact.clone()));
        let mut matcher = grammar.matcher();
        for token in spell(&vocabulary, &format!("{{\"a\":{sign}")) {
            matcher.consume(token).unwrap();
        }
        let (mut digits, three) = (0, spell(&vocabulary, "123")[0]);
        loop {
            let mask = matcher.mask().unwrap();
            assert!(digits + 3 <= most || !mask.is_allowed(three), "{digits}");
            let nine = spell(&vocabulary, "9")[0];
            if !mask.is_allowed(nine) {
                break;
            }
            matcher.consume(nine).unwrap();
            digits += 1;
        }
        assert_eq!(digits, most, "{sign}");
    }
}

#[test]
fn no_object_gets_a_name_twice() {
    for vocabulary in [bytes(), merged()] {
        let backend = backend(&vocabulary);
        let map =
            json!({"type": "object", "additionalProperties": {"type": ["object", "integer"]}});
        let grammar = compiled(&backend, schema(map));
        let may = |text: &str, next: &str| {
            let mut matcher = grammar.matcher();
            for token in spell(&vocabulary, text) {
                matcher.mask().unwrap();
                matcher.consume(token).unwrap();
            }
            let next = spell(&vocabulary, next)[0];
            matcher.mask().unwrap().is_allowed(next) && matcher.consume(next).is_ok()
        };
        for (text, next, is_allowed) in [
            ("{\"a\":1,\"a", "\"", false),
            ("{\"a\":1,\"a", "b", true),
            ("{\"a\":1,\"ab", "\"", true),
            ("{\"\":1,\"", "\"", false),
            ("{\"a\\\"b\":1,\"a\\\"b", "\"", false),
            ("{\"a\":1,\"b\":{\"a", "\"", true),
            ("{\"b\":{\"a\":1},\"a", "\"", true),
            ("{\"b\":{\"a\":1},\"b", "\"", false),
            ("{\"b\":{\"a\":[\"x\"],\"x\":\"a", "\"", true),
        ] {
            assert_eq!(may(text, next), is_allowed, "{text}");
        }
    }
}

#[test]
fn levels_end_within_a_tag_too_and_nowhere_else() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let grammar = compiled(
        &backend,
        Constraint::StructuralTag(json!({"type": "structural_tag", "format": {
            "type": "triggered_tags", "triggers": ["<a>"],
            "tags": [{"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": true}, "end": "</a>"}],
        }})),
    );
    let mut matcher = grammar.matcher();
    let write = |matcher: &mut dyn Matcher, text: &str| {
        for token in spell(&vocabulary, text) {
            matcher.consume(token).unwrap();
        }
    };
    let may_open = |matcher: &mut dyn Matcher| {
        let bracket = spell(&vocabulary, "[")[0];
        matcher.mask().unwrap().is_allowed(bracket)
    };
    for _ in 0..2 {
        write(&mut *matcher, &"[".repeat(200));
        assert!(may_open(&mut *matcher), "free text");
        write(&mut *matcher, "\"<a>");
        let mut depth = 0;
        while may_open(&mut *matcher) {
            write(&mut *matcher, "[");
            depth += 1;
        }
        assert!((90..120).contains(&depth), "{depth}");
        write(&mut *matcher, &"]".repeat(depth));
        write(&mut *matcher, "</a>");
    }
}

#[test]
fn levels_and_digits_end_wherever_json_stands_in_a_structural_tag() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let json = || json!({"type": "json_schema", "json_schema": true});
    let text = |value: &str| json!({"type": "const_string", "value": value});
    let regex = || json!({"type": "regex", "pattern": "[a-z]+:"});
    let tag =
        |content: Value| json!({"type": "tag", "begin": "<a>", "content": content, "end": "</a>"});
    let all = |kind: &str, elements: Value| json!({"type": kind, "elements": elements});
    for (format, before) in [
        (json(), ""),
        (all("sequence", json!([text("it is "), json()])), "it is "),
        (all("sequence", json!([regex(), json()])), "so:"),
        (all("or", json!([text("nothing"), json()])), ""),
        (tag(all("sequence", json!([text("a"), json()]))), "<a>a"),
        (tag(all("or", json!([json(), text("nothing")]))), "<a>"),
        (
            all("sequence", json!([tag(json()), json()])),
            "<a>[[\"]\"]]</a>",
        ),
        (
            json!({"type": "tags_with_separator", "separator": ", ", "tags": [tag(json())]}),
            "<a>\"[\"</a>, <a>",
        ),
    ] {
        let what = format.to_string();
        let tags = Constraint::StructuralTag(json!({"format": format}));
        let grammar = compiled(&backend, tags);
        for (open, most) in [("[", 90..120), ("{\"a\":", 90..120), ("9", 20..60)] {
            // A number right behind what is not known may be of that.
            if open == "9" && before == "so:" {
                continue;
            }
            let mut matcher = grammar.matcher();
            let mut write = |text: &str| {
                for token in spell(&vocabulary, text) {
                    let is_allowed = matcher.mask().unwrap().is_allowed(token);
                    if !is_allowed {
                        return false;
                    }
                    matcher.consume(token).unwrap();
                }
                true
            };
            assert!(write(before), "{what}");
            let count = (0..1_000).take_while(|_| write(open)).count();
            assert!(most.contains(&count), "{count} of {open} in {what}");
        }
    }
}

#[test]
fn what_cannot_be_enforced_is_refused_by_name_and_place() {
    let backend = backend(&bytes());
    let cases = [
        (
            json!({"properties": {"a": {"not": {"type": "string"}}}}),
            "`/properties/a/not`",
            "`not`",
        ),
        (
            json!({"items": {"uniqueItems": true}}),
            "`/items/uniqueItems`",
            "`uniqueItems`",
        ),
        (
            json!({"type": "string", "format": "iri"}),
            "`/format`",
            "`format`",
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
            "`/oneOf`",
            "`oneOf`",
        ),
        (
            json!({"$defs": {"x": {"propertyNames": {"maxLength": 3}}}, "$ref": "#/$defs/x"}),
            "propertyNames`",
            "`propertyNames`",
        ),
    ];
    for (value, place, keyword) in cases {
        let error = compile(&backend, &demand(schema(value))).unwrap_err();
        assert_eq!(error.kind, Kind::UnsupportedSchema, "{}", error.message);
        assert!(error.message.contains(place), "{}", error.message);
        assert!(error.message.contains(keyword), "{}", error.message);
    }
    for constraint in [
        lark("start: <|im_start|> \"a\""),
        lark("start: <[65]>"),
        lark("start: @other"),
        lark("start: %json {}"),
    ] {
        let error = compile(&backend, &demand(constraint)).unwrap_err();
        assert_eq!(error.kind, Kind::UnsupportedConstraint, "{}", error.message);
    }
    for constraint in [
        Constraint::Regex("(".to_owned()),
        gbnf("root ::= x"),
        lark("start: ("),
        Constraint::Choice(vec![]),
    ] {
        let error = compile(&backend, &demand(constraint)).unwrap_err();
        assert_eq!(error.kind, Kind::InvalidGrammar, "{}", error.message);
    }
    // A client's own settings of the library count for nothing.
    let open = json!({"type": "object", "x-guidance": {"lenient": true, "whitespace_flexible": true}, "not": {}});
    assert!(compile(&backend, &demand(schema(open))).is_err());
}

struct Nothing;

impl Encode for Nothing {
    fn encode(&self, _: &str, _: bool) -> Vec<Token> {
        Vec::new()
    }
}

#[test]
fn a_vocabulary_that_cannot_be_used_is_an_error_and_an_odd_one_is_used_as_far_as_it_goes() {
    let piece = |bytes: &[u8], kind| Piece {
        bytes: bytes.to_vec(),
        kind,
    };
    let text = |bytes: &[u8]| piece(bytes, TokenKind::Text);
    let none = Vocabulary::new(vec![text(b"a")], None, vec![], Box::new(Nothing));
    assert!(Llguidance::new(&none).is_err());
    let outside = Vocabulary::new(vec![text(b"a")], None, vec![5], Box::new(Nothing));
    assert!(Llguidance::new(&outside).is_err());
    // Two tokens of one text, one that is too long, one of no text, and an end that is text.
    let pieces = vec![
        text(b"a"),
        text(b"a"),
        text(&[b'b'; 5_000]),
        text(b""),
        text(&[0xFF]),
        text(b"</s>"),
        piece(b"b", TokenKind::Unused),
    ];
    let odd = Vocabulary::new(pieces, None, vec![5, 9], Box::new(Nothing));
    let grammar = compiled(&backend(&odd), Constraint::Regex("[ab]{2}".to_owned()));
    let mut matcher = grammar.matcher();
    assert!(
        matcher
            .mask()
            .unwrap()
            .to_list()
            .iter()
            .all(|token| *token < 2)
    );
    assert!(matcher.forced().is_empty());
    assert_eq!(matcher.consume(6), Err(Stuck::Refused));
    assert_eq!(matcher.consume(5), Err(Stuck::Refused));
    assert_eq!(matcher.consume(9), Err(Stuck::Refused));
    matcher.consume(0).unwrap();
    matcher.consume(1).unwrap();
    assert!(matcher.is_finished());
    // Nothing of the vocabulary goes on: the answer is stuck, and says so.
    let grammar = compiled(&backend(&odd), Constraint::Regex("ab".to_owned()));
    let mut matcher = grammar.matcher();
    matcher.consume(0).unwrap();
    assert_eq!(
        matcher.mask().map(|mask| mask.to_list()),
        Err(Stuck::Budget)
    );
    assert_eq!(matcher.consume(0), Err(Stuck::Budget));
    assert!(!matcher.is_accepting() && !matcher.is_finished());
}
