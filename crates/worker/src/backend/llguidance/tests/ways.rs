//! Ways to the end: the shortest one is told, wherever an answer is, and it leads there.

use super::driver::{Dice, backend, compiled, demand, schema};
use super::typed;
use super::vocabularies::{bytes, merged, spaced, with_think_controls};
use crate::backend::{Compiled, Demand, Think};
use crate::vocabulary::{Token, Vocabulary};
use isogloss_core::ir::{Constraint, Notation};
use serde_json::json;

fn gbnf(text: &str) -> Constraint {
    Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    }
}

/// Constraints, and the fewest bytes of each.
fn constraints() -> Vec<(Constraint, &'static str)> {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let nested = json!({"type": "object", "properties": {
        "left": {"$ref": "#"}, "right": {"$ref": "#"}, "name": {"enum": ["a longer name", "b"]},
    }, "required": ["name"], "additionalProperties": false});
    vec![
        (Constraint::JsonObject, "{}"),
        (schema(json!({"type": "string"})), "\"\""),
        (schema(nested), r#"{"name":"b"}"#),
        (
            schema(json!({"type": "array", "items": {"type": "integer"}, "minItems": 3})),
            "[0,0,0]",
        ),
        (
            schema(json!({"type": "string", "pattern": "^[a-z]+@[a-z]+\\.org$"})),
            r#""a@a.org""#,
        ),
        (schema(json!({"type": "string", "pattern": "x"})), r#""x""#),
        (
            schema(json!({"type": "string", "pattern": "^ab|cd"})),
            r#""ab""#,
        ),
        (
            schema(
                json!({"type": "object", "additionalProperties": {"type": "null"}, "required": ["k"]}),
            ),
            r#"{"k":null}"#,
        ),
        (
            schema(
                json!({"anyOf": [{"type": "object", "required": ["a", "b"]}, {"type": "array", "minItems": 2, "items": {"type": "boolean"}}]}),
            ),
            "[true,true]",
        ),
        (
            Constraint::Regex(r"[a-z]{2,5}-\d{1,3}(x|yz)?".to_owned()),
            "aa-0",
        ),
        (Constraint::Regex(".*".to_owned()), ""),
        (Constraint::Regex(r"(?s:.*)END".to_owned()), "END"),
        (
            Constraint::Choice(texts(&["yes please", "no", "never"])),
            "no",
        ),
        (
            gbnf("root ::= \"(\" root \")\" | [a-c] root [a-c] | \"x\""),
            "x",
        ),
        (gbnf("root ::= item+\nitem ::= \"<\" [a-z]+ \">\""), "<a>"),
        (
            Constraint::StructuralTag(
                json!({"type": "structural_tag", "format": {"type": "tag", "begin": "<a>",
                "content": {"type": "json_schema", "json_schema": {"type": "array", "minItems": 1, "items": {"type": "object"}}}, "end": "</a>"}}),
            ),
            "<a>[{}]</a>",
        ),
        (
            typed::call(
                "glm-4.5",
                &json!({
                    "type": "object",
                    "properties": {
                        "a": {"type": "string"},
                        "b": {"type": "string"},
                        "c": {"type": "array"},
                    },
                    "required": ["a", "c"],
                }),
            ),
            "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value></arg_value>\n<arg_key>c</arg_key>\n<arg_value>[]</arg_value>\n</tool_call>",
        ),
    ]
}

fn text(vocabulary: &Vocabulary, tokens: &[Token]) -> String {
    let bytes: Vec<u8> = (tokens.iter())
        .flat_map(|&token| vocabulary.text(token))
        .copied()
        .collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_shortest_way_is_told() {
    let vocabulary = bytes();
    let backend = backend(&vocabulary);
    for (constraint, shortest) in constraints() {
        let way = compiled(&backend, constraint.clone()).matcher().way(None);
        let way = way.map(|way| text(&vocabulary, &way));
        assert_eq!(way.as_deref(), Some(shortest), "{constraint:?}");
    }
}

/// A way from each place that a random answer comes by. Says whether there was one.
fn walk(compiled: &dyn Compiled, vocabulary: &Vocabulary, dice: &mut Dice) {
    let mut matcher = compiled.matcher();
    let mut written = Vec::new();
    for _ in 0..60 {
        let way = matcher.way(None);
        assert!(way.is_some(), "from {:?}", text(vocabulary, &written));
        let way = way.unwrap();
        let at = || (text(vocabulary, &written), text(vocabulary, &way));
        assert!(matcher.completes(&way), "{:?}", at());
        let mask = matcher.mask().unwrap();
        let allowed: Vec<Token> = (mask.iter())
            .filter(|token| !vocabulary.is_end(*token))
            .collect();
        let Some(&token) = allowed.get(dice.below(allowed.len().max(1))) else {
            return;
        };
        // As if it had been taken; and nothing is taken by asking.
        let ahead = matcher.way(Some(token));
        matcher.consume(token).unwrap();
        assert_eq!(ahead, matcher.way(None), "{:?} {token}", at());
        written.push(token);
        if matcher.is_finished() {
            assert_eq!(matcher.way(None), Some(Vec::new()));
            return;
        }
    }
}

#[test]
fn a_way_leads_to_the_end_from_wherever_an_answer_is() {
    let mut dice = Dice(11);
    for vocabulary in [bytes(), merged(), spaced()] {
        let backend = backend(&vocabulary);
        for (constraint, _) in constraints() {
            let compiled = compiled(&backend, constraint);
            for _ in 0..6 {
                walk(&*compiled, &vocabulary, &mut dice);
            }
        }
    }
}

#[test]
fn the_way_out_of_thoughts_is_their_end() {
    for vocabulary in [merged(), with_think_controls()] {
        let backend = backend(&vocabulary);
        let demand = Demand {
            think: Think::Open,
            ..demand(Constraint::JsonObject)
        };
        let compiled = super::driver::compile(&backend, &demand).unwrap();
        let mut matcher = compiled.matcher();
        for thought in ["the", " the", "</"] {
            let way = matcher.way(None).unwrap();
            assert!(matcher.completes(&way), "{thought}");
            assert!(text(&vocabulary, &way).ends_with("{}"));
            for token in super::vocabularies::spell(&vocabulary, thought) {
                matcher.consume(token).unwrap();
            }
        }
    }
}

#[test]
fn a_text_is_spelt_with_the_fewest_tokens() {
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    let matcher = compiled(&backend, Constraint::JsonObject).matcher();
    // The longest first would take `aa`, `b` and `a`.
    for (spelt, count) in [
        ("", 0),
        ("abc", 1),
        ("aabc", 2),
        ("{\"name\"", 2),
        ("\u{7f}", 1),
    ] {
        let tokens = matcher.spell(spelt.as_bytes()).unwrap();
        assert_eq!(text(&vocabulary, &tokens), spelt);
        assert_eq!(tokens.len(), count, "{spelt}");
    }
}
