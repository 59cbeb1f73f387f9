//! Calls of typed parameters: whatever a model writes that is held to a tool's schema is read as arguments that satisfy it.

use super::driver::{Dice, Run, backend, compiled, takes};
use super::vocabularies::{bytes, merged, spell};
use isogloss_core::ir::{CallKind, Constraint};
use isogloss_core::markup::{CallText, Format, Formats, Piece, Reader, Tools, Written};
use isogloss_core::schema::Validator;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a tired model writes.
const LIKES: &[&str] = &[
    "</arg_value>\n",
    "</arg_value>",
    "</tool_call>",
    "<arg_key>",
    "\n</parameter>\n",
    "</parameter>",
    "</function>\n</tool_call>",
    "<parameter=",
    "null",
    "true",
    "5",
    "\"",
    "]",
    "}",
    "<|\"|>",
    "<escape>",
    "},",
    "</｜DSML｜parameter>\n",
    "<｜DSML｜parameter name=\"",
    "<|close|>argument<|sep|>",
    "]]>",
    "</param>",
    "]<]minimax[>[</",
    ", ",
    ")",
    "\n",
];

fn formats() -> Vec<Arc<Format>> {
    let all = Formats::builtin();
    let typed = all.iter().filter(|format| format.is_typed());
    typed.cloned().collect()
}

/// Calls of `f`, as the proxy constrains them; `None` where the format cannot say the schema.
fn said(format: &Format, schema: &Value) -> Option<Constraint> {
    let content = format.parameters(schema, schema, CallText::Own)?;
    let frame = format.frame("f", CallText::Own).unwrap().first();
    let (begin, end) = (frame.open + &frame.begin, frame.end + &frame.close);
    let tag = json!({"type": "tag", "begin": begin, "content": content, "end": end});
    let stated = json!({"type": "structural_tag", "format": tag});
    Some(Constraint::StructuralTag(stated))
}

fn constraint(format: &Format, schema: &Value) -> Constraint {
    said(format, schema).unwrap()
}

/// Whether required members stand before the others: where a comma stands between two, and none before the first.
fn has_commas(format: &Format) -> bool {
    const COMMAS: [&str; 6] = [
        "functiongemma",
        "gemma3",
        "gemma4",
        "lfm2",
        "olmo3",
        "pythonic",
    ];
    COMMAS.contains(&format.name())
}

/// Whether there are schemas that it cannot say, although it can say the properties of each of their kinds elsewhere.
fn has_notation(format: &Format) -> bool {
    has_commas(format) || matches!(format.name(), "kimi-k3" | "minimax-m3")
}

/// The same, in the format of this name.
pub(super) fn call(format: &str, schema: &Value) -> Constraint {
    let format = formats().into_iter().find(|own| own.name() == format);
    constraint(&format.unwrap(), schema)
}

fn tools(schema: &Value) -> Arc<Tools> {
    let tool = ("f".to_owned(), CallKind::Function, Some(schema.clone()));
    Arc::new(Tools::new([tool]))
}

/// A call of `f` with these arguments, as the model writes it.
fn written(format: &Format, schema: &Value, arguments: &Value) -> String {
    let required = schema["required"].as_array().unwrap();
    let is_required = |key: &str| required.iter().any(|name| name == key);
    let mut members: Vec<_> = arguments.as_object().unwrap().iter().collect();
    // Stable: within each the order stays.
    if has_commas(format) {
        members.sort_by_key(|(key, _)| !is_required(key));
    }
    let members: Map<String, Value> = (members.into_iter())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let input = &Value::Object(members).to_string();
    let (id, name) = (None, "f");
    format.write(&[Written { id, name, input }], &tools(schema))
}

/// The arguments of the one call that the text is.
fn called(format: &Arc<Format>, schema: &Value, text: &str) -> Option<Value> {
    let mut reader = Reader::new(Arc::clone(format), tools(schema));
    let mut pieces = Vec::new();
    // In pieces, as tokens come.
    for c in text.chars() {
        reader.push(c.encode_utf8(&mut [0; 4]), &mut pieces);
    }
    reader.finish(false, &mut pieces);
    let mut input = String::new();
    for piece in pieces {
        match piece {
            Piece::Input(more) => input.push_str(&more),
            Piece::Call { .. } | Piece::End => {}
            Piece::Text(text) if text.is_empty() => {}
            Piece::Text(_) | Piece::Thought(_) | Piece::Broken { .. } => return None,
        }
    }
    serde_json::from_str(&input).ok()
}

/// A property of some kind.
fn property(dice: &mut Dice, depth: usize) -> Value {
    let kinds = if depth > 1 { 9 } else { 14 };
    match dice.below(kinds) {
        0 | 1 => json!({"type": "string", "description": "Text."}),
        2 => json!({"type": "integer", "minimum": -3, "maximum": 120}),
        3 => json!({"type": "boolean"}),
        4 => json!({"type": "string", "enum": ["a", "ab", "", "<b>", "5", "null"]}),
        5 => json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        6 => json!({"anyOf": [{"$ref": "#/$defs/level"}, {"type": "null"}], "default": null}),
        7 => json!({"type": ["number", "null"]}),
        8 => json!({"const": 7}),
        9 => json!({}),
        10 => json!({"type": ["string", "integer", "array"]}),
        11 => {
            json!({"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3})
        }
        12 => {
            let (properties, required) = properties(dice, depth + 1);
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        }
        _ => json!({"type": "array", "items": {"$ref": "#/$defs/level"}}),
    }
}

fn properties(dice: &mut Dice, depth: usize) -> (Map<String, Value>, Vec<String>) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for at in 0..dice.below(5) {
        let name = format!("{}{at}", ["a", "key-", "x y", "é", "b", "c"][dice.below(6)]);
        properties.insert(name.clone(), property(dice, depth));
        if dice.below(2) == 0 {
            required.push(name);
        }
    }
    (properties, required)
}

fn schema(dice: &mut Dice) -> Value {
    let (properties, required) = properties(dice, 0);
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": {"level": {"type": "string", "enum": ["low", "high"]}},
    })
}

#[test]
fn whatever_is_written_is_read_as_arguments_that_satisfy_the_schema() {
    let (mut ended, mut all, mut given, mut own) = (0, 0, 0, 0);
    for vocabulary in [bytes(), merged()] {
        let backend = backend(&vocabulary);
        for (at, format) in formats().into_iter().enumerate() {
            for seed in 0..40 {
                let mut dice = Dice(seed * 10 + at as u64);
                let schema = schema(&mut dice);
                let validator = Validator::compile(&schema).unwrap();
                let Some(said) = said(&format, &schema) else {
                    assert!(has_notation(&format), "{} {schema}", format.name());
                    continue;
                };
                own += usize::from(has_notation(&format));
                let grammar = compiled(&backend, said);
                for _ in 0..3 {
                    let run = Run {
                        vocabulary: &vocabulary,
                        patience: dice.below(150),
                        most: 4_000,
                        likes: LIKES,
                    };
                    all += 1;
                    let Some(text) = run.write(grammar.matcher().as_mut(), &mut dice) else {
                        continue;
                    };
                    ended += 1;
                    let text = String::from_utf8(text).unwrap();
                    let arguments = called(&format, &schema, &text);
                    assert!(arguments.is_some(), "{schema}: no call is read of {text}");
                    let arguments = arguments.unwrap();
                    given += arguments.as_object().map_or(0, Map::len);
                    let found = validator.validate(&arguments);
                    assert!(found.is_ok(), "{schema}: {text} is read as {arguments}");
                }
            }
        }
    }
    println!(
        "{ended} of {all} ended, with {given} parameters; {own} schemas in notations of their own"
    );
    assert!(own > 80, "{own}");
    assert!(ended * 10 >= all * 9, "{ended} of {all}");
    assert!(given > ended, "{given}");
}

#[test]
fn good_arguments_can_be_written_and_wrong_ones_cannot() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
            "unit": {"enum": ["c", "f"]},
            "more": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city", "unit"],
    });
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    for format in formats() {
        let grammar = compiled(&backend, constraint(&format, &schema));
        let takes = |arguments: Value| {
            let text = written(&format, &schema, &arguments);
            let is_taken = takes(grammar.as_ref(), &vocabulary, &text);
            let read = called(&format, &schema, &text);
            assert!(!is_taken || read.as_ref() == Some(&arguments), "{text}");
            is_taken
        };
        for good in [
            json!({"city": "Oslo", "unit": "c"}),
            json!({"city": "", "days": 9, "unit": "f", "more": []}),
            json!({"city": "5\n<b>\"", "unit": "f", "more": ["</arg_value>\n</tool_call>", "\n</parameter>\n</function>"]}),
        ] {
            assert!(takes(good.clone()), "{} {good}", format.name());
        }
        for bad in [
            json!({"city": "Oslo"}),
            json!({"unit": "c"}),
            json!({"unit": "c", "city": "Oslo"}),
            json!({"city": "Oslo", "unit": "k"}),
            json!({"city": "Oslo", "days": 10, "unit": "c"}),
            json!({"city": "Oslo", "days": "two", "unit": "c"}),
            json!({"city": "Oslo", "unit": "c", "more": "no list"}),
            json!({"city": "Oslo", "unit": "c", "other": "x"}),
        ] {
            assert!(!takes(bad.clone()), "{} {bad}", format.name());
        }
    }
}

/// As many parameters as tools have, and as long: their grammar is compiled and followed in time.
#[test]
fn many_parameters_of_any_length_are_held_in_time() {
    let properties: Map<String, Value> = (0..60)
        .map(|at| {
            let property = match at % 3 {
                2 => json!({"type": "integer"}),
                _ => json!({"type": "string"}),
            };
            (format!("parameter_{at}"), property)
        })
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["parameter_3"]});
    let vocabulary = merged();
    let backend = backend(&vocabulary);
    for format in formats() {
        let began = Instant::now();
        let grammar = compiled(&backend, constraint(&format, &schema));
        let text = "any text ".repeat(100);
        let arguments =
            json!({"parameter_0": text, "parameter_1": text, "parameter_3": "", "parameter_59": 7});
        let text = written(&format, &schema, &arguments);
        assert!(takes(grammar.as_ref(), &vocabulary, &text), "{text}");
        let took = began.elapsed();
        println!("{}: {took:?}", format.name());
        assert!(took < Duration::from_secs(60), "{took:?}");
    }
}

#[test]
fn a_wrong_value_is_masked_where_it_would_begin() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "l": {"enum": ["low", "high"]}}, "required": ["n", "l"]});
    let vocabulary = bytes();
    let backend = backend(&vocabulary);
    for format in formats() {
        let grammar = compiled(&backend, constraint(&format, &schema));
        let text = written(&format, &schema, &json!({"n": 77, "l": "high"}));
        // A text may stand in tokens of its own.
        let no_texts = match format.name() {
            "minicpm5" => "7a\"",
            _ => "7a\"<",
        };
        for (before, allowed, masked) in [("77", "7-", "\"xt.["), ("high", "lh", no_texts)] {
            let (before, _) = text.split_once(before).unwrap();
            let mut matcher = grammar.matcher();
            for token in spell(&vocabulary, before) {
                matcher.consume(token).unwrap();
            }
            let mask = matcher.mask().unwrap();
            let is_allowed = |c: char| mask.is_allowed(spell(&vocabulary, &c.to_string())[0]);
            assert!(allowed.chars().all(is_allowed), "{before}");
            assert!(!masked.chars().any(is_allowed), "{before}");
        }
    }
}
