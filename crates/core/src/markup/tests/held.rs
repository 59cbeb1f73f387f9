//! Typed parameters under a schema: what a structural tag lets through, and what is read of it.

use super::*;
use crate::check::TagChecker;
use crate::grammar::{Grammar, TaggedCall, calls_alone};
use crate::schema::Validator;

/// What is a string is said by the schema.
const BY_SCHEMA: [&str; 7] = [
    "glm-4.5",
    "glm-4.7",
    "hunyuan-3",
    "minicpm5",
    "minimax-m2",
    "qwen3-coder",
    "seed-oss",
];
/// A string has tokens of its own.
const BY_TOKENS: [&str; 3] = ["deepseek-v3.2", "deepseek-v4", "kimi-k3"];

/// All whose parameters stand between tokens, each by itself.
fn between_tokens() -> impl Iterator<Item = &'static str> {
    BY_SCHEMA.into_iter().chain(BY_TOKENS)
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn tools_with(schema: &Value) -> Arc<Tools> {
    let tool = ("f".to_owned(), CallKind::Function, Some(schema.clone()));
    Arc::new(Tools::new([tool]))
}

/// What holds calls of `f`: a structural tag, and the grammars of the same.
struct Checks {
    tag: TagChecker,
    grammars: Vec<Grammar>,
}

impl Checks {
    /// Whether all of them take the text: none may differ.
    fn check(&self, text: &str) -> Result<(), String> {
        let checked = self.tag.check(text);
        for grammar in &self.grammars {
            let is_taken = grammar.check(text).is_ok();
            assert_eq!(is_taken, checked.is_ok(), "a grammar of a tag: {text}");
        }
        checked.map_err(|breach| format!("{breach:?}"))
    }
}

/// What checks calls of `f` whose parameters have this schema; `None` where it cannot be said.
fn checker(format: &Format, schema: &Value) -> Option<Checks> {
    let content = format.parameters(schema, schema, CallText::Own)?;
    let frame = format.frame("f", CallText::Own).unwrap().first();
    let (begin, end) = (frame.open + &frame.begin, frame.end + &frame.close);
    let call = TaggedCall {
        begin: &begin,
        numbered: None,
        schema,
        content: Some(&content),
        end: &end,
    };
    let grammars = ["grammar:gbnf", "grammar:lark"].map(|kind| {
        let union = calls_alone(&[call], true, [""; 3], kind).unwrap();
        Grammar::compile(&union.constraint).unwrap()
    });
    let tag = json!({"type": "tag", "begin": begin, "content": content, "end": end});
    let tag = json!({"type": "structural_tag", "format": tag});
    Some(Checks {
        tag: TagChecker::compile(&tag).unwrap(),
        grammars: grammars.into(),
    })
}

/// The call as the model writes it.
fn written(format: &Format, schema: &Value, arguments: &Value) -> String {
    let input = arguments.to_string();
    let call = Written {
        id: None,
        name: "f",
        input: &input,
    };
    format.write(&[call], &tools_with(schema))
}

/// The arguments of the one call that a text is.
fn called(format: &Arc<Format>, schema: &Value, text: &str) -> Option<Value> {
    let pieces = read(format, &tools_with(schema), [text], false);
    match pieces.as_slice() {
        [Piece::Call { name, .. }, Piece::Input(input), Piece::End] if name == "f" => {
            serde_json::from_str(input).ok()
        }
        _ => None,
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_the_template_writes_of_good_arguments_is_let_through_and_nothing_else() {
    let level = || json!({"type": "string", "enum": ["low", "high", "a </b>\n"]});
    let list = || json!({"type": "array", "items": {"type": "string"}, "maxItems": 2});
    let maybe = || json!({"anyOf": [{"type": "string"}, {"type": "null"}], "default": null});
    for (schema, good, bad) in [
        (
            object(
                json!({"city": {"type": "string"}, "days": {"type": "integer", "maximum": 9}}),
                &["city"],
            ),
            vec![
                json!({"city": "Oslo"}),
                json!({"city": "", "days": 3}),
                json!({"city": " a\n\"b\" </function></tool_call> ", "days": -1}),
                json!({"city": "5"}),
                json!({"city": "null"}),
            ],
            vec![
                json!({}),
                json!({"days": 3}),
                json!({"city": "a", "days": 10}),
                json!({"city": "a", "days": "x"}),
                json!({"city": "a", "other": "x"}),
                json!({"days": 3, "city": "a"}),
            ],
        ),
        (
            object(json!({"a": level(), "b": list()}), &["a", "b"]),
            vec![
                json!({"a": "low", "b": []}),
                json!({"a": "a </b>\n", "b": ["</arg_value>\n</tool_call>", "\n</parameter>\n</function>"]}),
                json!({"a": "high", "b": ["<parameter=a>", "<arg_key>a</arg_key>"]}),
            ],
            vec![
                json!({"a": "lo", "b": []}),
                json!({"a": "low", "b": ["1", "2", "3"]}),
                json!({"a": "low", "b": "text"}),
                json!({"a": "low"}),
            ],
        ),
        (
            object(
                json!({
                    "a": maybe(),
                    "b": {"enum": ["x", null]},
                    "c": {"type": ["integer", "null"]},
                    "d": {"const": 5},
                    "e": {"$ref": "#/$defs/e", "description": "more"},
                    "f": {"anyOf": [{"$ref": "#/$defs/e"}, {"type": "boolean"}]},
                    "g": {},
                }),
                &[],
            )
            .as_object()
            .map(|all| {
                let mut all = all.clone();
                all.insert("$defs".to_owned(), json!({"e": {"enum": ["p", "q"]}}));
                all.insert("additionalProperties".to_owned(), json!(false));
                Value::Object(all)
            })
            .unwrap(),
            vec![
                json!({}),
                json!({"a": null, "b": null, "c": null}),
                json!({"a": "text", "b": "x", "c": 7, "d": 5, "e": "q", "f": "p", "g": [1]}),
                json!({"d": 5, "f": true, "g": "so"}),
            ],
            vec![
                json!({"b": "y"}),
                json!({"c": "z"}),
                json!({"d": 6}),
                json!({"e": "r"}),
                json!({"f": "true or false"}),
            ],
        ),
        (
            object(json!({}), &[]),
            vec![json!({})],
            vec![json!({"a": "1"})],
        ),
    ] {
        let validator = Validator::compile(&schema).unwrap();
        for name in between_tokens() {
            let format = format(name);
            let checker = checker(&format, &schema).unwrap();
            for arguments in &good {
                let text = written(&format, &schema, arguments);
                assert_eq!(checker.check(&text), Ok(()), "{name} {text}");
                assert_eq!(
                    called(&format, &schema, &text).as_ref(),
                    Some(arguments),
                    "{name} {text}"
                );
                assert!(validator.validate(arguments).is_ok());
            }
            for arguments in &bad {
                let text = written(&format, &schema, arguments);
                assert!(checker.check(&text).is_err(), "{name} {text}");
            }
            for text in ["", "So.", "{}", "<tool_call>", "<tool_call>g\n</tool_call>"] {
                assert!(checker.check(text).is_err(), "{name} {text}");
            }
        }
    }
}

#[test]
fn a_text_that_its_reader_would_end_elsewhere_is_not_let_through() {
    let schema = object(
        json!({"a": {"type": "string"}, "b": {"type": "string"}}),
        &["a"],
    );
    for name in between_tokens() {
        let format = format(name);
        let checker = checker(&format, &schema).unwrap();
        for value in [
            "x</arg_value>y",
            "x</arg_value>\n</tool_call>",
            "<arg_key>b</arg_key>\n<arg_value>y",
            "x</parameter>y",
            "\n</parameter>\n</function>",
            "<parameter=b>",
            "x</param>y",
            "</param></function>",
            "<![CDATA[x",
            "</｜DSML｜parameter>\n</｜DSML｜invoke>",
            "<｜DSML｜parameter name=\"b\" string=\"true\">y",
            "<|close|>argument<|sep|><|close|>call<|sep|>",
        ] {
            let text = written(&format, &schema, &json!({"a": value}));
            let is_read = called(&format, &schema, &text) == Some(json!({"a": value}));
            assert!(is_read || checker.check(&text).is_err(), "{name} {text}");
        }
    }
}

#[test]
fn what_a_tag_cannot_say_exactly_is_not_said() {
    let one = |property: Value| object(json!({"a": property}), &[]);
    let with = |word: &str, value: Value| {
        let mut schema = one(json!({"type": "string"}));
        schema[word] = value;
        schema
    };
    for schema in [
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": true}),
        one(json!({"type": "string", "pattern": "a+"})),
        one(json!({"type": "string", "format": "date"})),
        one(json!({"type": "string", "minLength": 1})),
        one(json!({"type": "string", "maxLength": 9})),
        one(json!({"allOf": [{"type": "string"}, {"minLength": 1}]})),
        one(json!({"type": ["string", "integer"], "minimum": 3})),
        one(json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})),
        one(json!({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]})),
        one(json!({"oneOf": [{"type": "string"}, {"type": "null"}]})),
        one(json!({"minimum": 3})),
        one(json!({"not": {"type": "integer"}})),
        // What is read as something else than was meant.
        one(json!({"enum": ["5", 5, "x"]})),
        one(json!({"type": ["string", "null"], "enum": ["null", null]})),
        one(json!({"enum": ["</arg_value>", "</arg_value:opensource>", "</parameter>"]})),
        one(json!(false)),
        one(json!({"type": "array", "items": {"$ref": "#"}})),
        one(json!({"type": "array", "items": {"$ref": "#/properties/a"}})),
        object(
            json!({"</arg_key></arg_key:opensource>\">": {"type": "string"}}),
            &[],
        ),
        object(json!({" a": {"type": "string"}}), &[]),
        object(json!({"": {"type": "string"}}), &[]),
        with("required", json!(["a", "b"])),
        with("additionalProperties", json!({"type": "integer"})),
        with("patternProperties", json!({"^x": {}})),
        with("minProperties", json!(1)),
        with("propertyNames", json!({"maxLength": 3})),
        with("dependentRequired", json!({"a": ["b"]})),
        with("anyOf", json!([{"required": ["a"]}])),
        with("allOf", json!([{"required": ["a"]}])),
        with("if", json!({"required": ["a"]})),
        with("type", json!(["object", "null"])),
    ] {
        // Where a text may stand in tokens of its own, `"5"` is one and `5` is none.
        let is_told = schema["properties"]["a"].get("enum").is_some();
        for name in BY_SCHEMA
            .into_iter()
            .filter(|name| !is_told || *name != "minicpm5")
        {
            assert_eq!(
                format(name).parameters(&schema, &schema, CallText::Own),
                None,
                "{name} {schema}"
            );
        }
    }
    let schema = one(json!({"type": "string"}));
    for name in ["hermes", "kimi-k2"] {
        assert_eq!(
            format(name).parameters(&schema, &schema, CallText::Own),
            None,
            "{name}"
        );
    }
}

#[test]
fn a_string_of_which_more_is_said_is_one_in_json() {
    let schema = object(
        json!({
            "day": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
            "note": {"anyOf": [{"type": "string", "minLength": 3}, {"type": "integer", "minimum": 3}]},
            "rest": {"type": "string"},
        }),
        &["day"],
    );
    let validator = Validator::compile(&schema).unwrap();
    for (name, calls) in [
        ("deepseek-v3.2", "function_calls"),
        ("deepseek-v4", "tool_calls"),
    ] {
        let format = format(name);
        let checker = checker(&format, &schema).unwrap();
        let call = |day: &str, note: &str| {
            let json = |key: &str, json: &str| {
                let begin = format!("<｜DSML｜parameter name=\"{key}\" string=\"false\">");
                format!("{begin}{json}</｜DSML｜parameter>\n")
            };
            let [day, note] = [json("day", day), json("note", note)];
            let rest =
                "<｜DSML｜parameter name=\"rest\" string=\"true\">\"5\"</｜DSML｜parameter>\n";
            let invoke = format!("<｜DSML｜invoke name=\"f\">\n{day}{note}{rest}</｜DSML｜invoke>");
            format!("<｜DSML｜{calls}>\n{invoke}\n</｜DSML｜{calls}>")
        };
        for (day, note) in [
            ("\"Monday\"", "\"so </｜DSML｜parameter>\\n\""),
            ("\"Monday\"", "5"),
        ] {
            let text = call(day, note);
            assert_eq!(checker.check(&text), Ok(()), "{text}");
            let read = called(&format, &schema, &text).unwrap();
            assert_eq!(read["rest"], "\"5\"");
            assert_eq!(validator.validate(&read).map_err(|_| ()), Ok(()), "{read}");
        }
        for (day, note) in [
            ("\"monday\"", "5"),
            ("Monday", "5"),
            ("\"Monday\"", "\"a\""),
            ("\"Monday\"", "2"),
            ("\"Monday\"", "true"),
        ] {
            assert!(checker.check(&call(day, note)).is_err(), "{day} {note}");
        }
    }
    // Where tokens say each type, a string is as it stands.
    assert_eq!(
        format("kimi-k3").parameters(&schema, &schema, CallText::Own),
        None
    );
}

#[test]
fn tokens_that_say_a_type_stand_around_values_of_that_type() {
    let schema = object(
        json!({
            "a": {"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 9}, {"type": "null"}]},
            "b": {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
            "c": {"type": ["boolean", "string"]},
        }),
        &[],
    );
    let format = format("kimi-k3");
    let checker = checker(&format, &schema).unwrap();
    let call = |key: &str, kind: &str, value: &str| {
        let begin = format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>");
        let argument = format!("{begin}{value}<|close|>argument<|sep|>");
        let call = "<|open|>call tool=\"f\" index=\"1\"<|sep|>";
        format!("<|open|>tools<|sep|>{call}{argument}<|close|>call<|sep|><|close|>tools<|sep|>")
    };
    for (key, kind, value, json) in [
        ("a", "string", "null", json!("null")),
        ("a", "string", "", json!("")),
        ("a", "number", "9", json!(9)),
        ("a", "null", "null", json!(null)),
        ("b", "array", "[1.5,2]", json!([1.5, 2])),
        ("b", "null", "null", json!(null)),
        ("c", "boolean", "true", json!(true)),
        ("c", "string", "true", json!("true")),
    ] {
        let text = call(key, kind, value);
        assert_eq!(checker.check(&text), Ok(()), "{text}");
        assert_eq!(
            called(&format, &schema, &text),
            Some(json!({key: json})),
            "{text}"
        );
    }
    for (key, kind, value) in [
        ("a", "number", "10"),
        ("a", "null", "9"),
        ("a", "boolean", "true"),
        ("b", "array", "null"),
        ("b", "string", "x"),
        ("c", "number", "1"),
    ] {
        assert!(
            checker.check(&call(key, kind, value)).is_err(),
            "{key} {kind} {value}"
        );
    }
}

#[test]
fn a_text_may_stand_in_tokens_of_its_own() {
    let schema = object(
        json!({"a": {"type": "string"}, "b": {"type": ["string", "null"]}}),
        &["a"],
    );
    let format = format("minicpm5");
    let checker = checker(&format, &schema).unwrap();
    for (a, b) in [("x < y\n</param>", "null"), ("", "<![CDATA[]] >")] {
        let text = format!(
            "<function name=\"f\"><param name=\"a\"><![CDATA[{a}]]></param><param name=\"b\"><![CDATA[{b}]]></param></function>"
        );
        assert_eq!(checker.check(&text), Ok(()), "{text}");
        assert_eq!(
            called(&format, &schema, &text),
            Some(json!({"a": a, "b": b})),
            "{text}"
        );
    }
    let text = "<function name=\"f\"><param name=\"a\"><![CDATA[x</param></function>";
    assert!(checker.check(text).is_err());
}

#[test]
fn tokens_in_a_string_of_json_are_its_own() {
    let schema = object(
        json!({"a": {"type": "object"}, "b": {"type": "array"}, "c": {"type": "string"}}),
        &[],
    );
    for name in between_tokens() {
        let format = format(name);
        for text in [
            "</｜DSML｜parameter>\n</｜DSML｜invoke>",
            "<|close|>argument<|sep|><|close|>call<|sep|>",
            "</param></function>",
            "</arg_value>\n<arg_key>b</arg_key>\n<arg_value>",
            "\n</parameter>\n<parameter=b>\n",
            "</arg_value></tool_call>",
            "</parameter></function></tool_call>",
            "\\\"</arg_value></tool_call>\"",
            "<arg_key>c</arg_key>",
        ] {
            let arguments = json!({"a": {text: [text]}, "b": [text, {"c": text}], "c": "so"});
            let written = written(&format, &schema, &arguments);
            assert_eq!(
                called(&format, &schema, &written),
                Some(arguments),
                "{name}"
            );
            // In any chunks.
            let words = words(&format, &tools_with(&schema), &written);
            assert_eq!(words.last().map(String::as_str), Some("end"), "{name}");
        }
    }
}

#[test]
fn a_string_that_is_never_closed_ends_where_its_parameter_does() {
    let schema = object(json!({"a": {"type": "array"}}), &[]);
    let format = format("glm-4.5");
    let text = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>[\"x</arg_value>\n</tool_call>";
    assert_eq!(
        words(&format, &tools_with(&schema), text),
        ["call f", "input:{\"a\": \"[\\\"x\"}", "end"]
    );
    // Nothing but JSON has strings in which anything may stand.
    let text = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>['x\"</arg_value>\n</tool_call>";
    assert_eq!(
        words(&format, &tools_with(&schema), text),
        ["call f", "input:{\"a\": \"['x\\\"\"}", "end"]
    );
}

const BARE: [&str; 2] = ["gemma4", "functiongemma"];
const PYTHON: [&str; 4] = ["gemma3", "lfm2", "olmo3", "pythonic"];

/// All whose values have a notation of their own.
fn with_notation() -> impl Iterator<Item = &'static str> {
    BARE.into_iter().chain(PYTHON).chain(["minimax-m3"])
}

#[test]
fn values_in_a_notation_of_their_own_are_held_to_their_schemas() {
    let text = || json!({"type": "string"});
    for (schema, good, bad) in [
        (
            object(
                json!({"note": text(), "city": text(), "days": {"type": "integer", "maximum": 9}}),
                &["city"],
            ),
            vec![
                json!({"city": "Oslo"}),
                json!({"city": "", "note": "a,b}c:{\"\n", "days": -3}),
                json!({"city": "5", "days": 9}),
                json!({"city": "null", "note": "true"}),
            ],
            vec![
                json!({}),
                json!({"note": "a"}),
                json!({"city": "a", "days": 10}),
                json!({"city": "a", "days": "x"}),
                json!({"city": 5}),
                json!({"city": "a", "other": "x"}),
                json!({"days": 3, "city": "a"}),
            ],
        ),
        (
            object(json!({"a": text(), "b": {"type": "boolean"}, "c": {"const": 5}}), &[]),
            vec![
                json!({}),
                json!({"a": "x"}),
                json!({"b": false}),
                json!({"a": "x", "c": 5}),
                json!({"a": "x", "b": true, "c": 5}),
            ],
            vec![json!({"c": 6}), json!({"b": "true"}), json!({"b": null})],
        ),
        (
            object(
                json!({
                    "stops": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"$ref": "#/$defs/stop"}},
                    "level": {"type": "string", "enum": ["low", "high"]},
                    "words": {"type": "array", "items": text()},
                    "none": {"type": "array", "items": text(), "maxItems": 0},
                }),
                &["stops"],
            )
            .as_object()
            .map(|all| {
                let mut all = all.clone();
                let stop = object(
                    json!({"at": {"anyOf": [{"type": "number"}, {"type": "null"}]}, "by": {"enum": ["x", null]}}),
                    &["at"],
                );
                all.insert("$defs".to_owned(), json!({"stop": stop}));
                Value::Object(all)
            })
            .unwrap(),
            vec![
                json!({"stops": [{"at": 1.5, "by": "x"}]}),
                json!({"stops": [{"at": null}, {"at": 2, "by": null}], "level": "low"}),
                json!({"stops": [{"at": null}], "words": []}),
                json!({"stops": [{"at": null}], "words": ["a, b", "]"], "none": []}),
            ],
            vec![
                json!({"stops": []}),
                json!({"stops": [{"by": "x"}]}),
                json!({"stops": [{"at": 1}, {"at": 1}, {"at": 1}]}),
                json!({"stops": [{"at": "1"}]}),
                json!({"stops": [{"at": 1}], "level": "mid"}),
                json!({"stops": [{"at": 1}], "words": [1]}),
                json!({"stops": [{"at": 1}], "none": ["a"]}),
            ],
        ),
        (object(json!({}), &[]), vec![json!({})], vec![json!({"a": "1"})]),
    ] {
        let validator = Validator::compile(&schema).unwrap();
        for name in with_notation() {
            let format = format(name);
            let checker = checker(&format, &schema).unwrap();
            for arguments in &good {
                let arguments = ordered(&schema, arguments, name != "minimax-m3");
                let text = written(&format, &schema, &arguments);
                assert_eq!(checker.check(&text), Ok(()), "{name} {text}");
                let read = called(&format, &schema, &text);
                assert_eq!(read.as_ref(), Some(&arguments), "{name} {text}");
                assert!(validator.validate(&arguments).is_ok());
            }
            for arguments in &bad {
                let text = written(&format, &schema, arguments);
                // Without quotes a number is a string as well.
                let is_other = called(&format, &schema, &text)
                    .is_some_and(|read| &read != arguments && validator.validate(&read).is_ok());
                assert!(is_other || checker.check(&text).is_err(), "{name} {text}");
            }
        }
    }
}

/// An object with its members in the schema's order, perhaps those first that are required.
fn ordered(schema: &Value, arguments: &Value, are_required_first: bool) -> Value {
    let required = schema["required"].as_array().unwrap();
    let named: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    let mut members: Vec<_> = arguments.as_object().unwrap().iter().collect();
    let is_required = |key: &str| required.iter().any(|name| name == key);
    members.sort_by_key(|(key, _)| {
        let place = named.iter().position(|name| name == key);
        (are_required_first && !is_required(key), place)
    });
    let members = members.into_iter();
    Value::Object(
        members
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

#[test]
fn what_a_notation_cannot_say_exactly_is_not_said() {
    let one = |property: Value| object(json!({"a": property}), &["a"]);
    let many: serde_json::Map<String, Value> = (0..9)
        .map(|n| (format!("k{n}"), json!({"type": "null"})))
        .collect();
    for schema in [
        one(json!({})),
        one(json!({"type": "object"})),
        one(json!({"type": "array"})),
        one(json!({"type": "string", "pattern": "a"})),
        one(json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true})),
        one(json!({"type": "integer", "multipleOf": 3})),
        one(json!({"type": "array", "items": {"type": "null"}, "maxItems": 2_000_000_000})),
        one(json!({"enum": [["a"]]})),
        one(json!({"$ref": "#"})),
        object(json!({"a key": {"type": "null"}}), &[]),
        object(Value::Object(many), &[]),
    ] {
        for name in BARE.into_iter().chain(PYTHON) {
            assert_eq!(
                format(name).parameters(&schema, &schema, CallText::Own),
                None,
                "{name} {schema}"
            );
        }
    }
    // Between the tokens of a string FunctionGemma writes all values.
    let mixed = one(json!({"type": ["string", "null"]}));
    assert_eq!(
        format("functiongemma").parameters(&mixed, &mixed, CallText::Own),
        None
    );
    let gemma = format("gemma4");
    let checker = checker(&gemma, &mixed).unwrap();
    for value in [json!(null), json!("null"), json!("a")] {
        let arguments = json!({"a": value});
        let text = written(&gemma, &mixed, &arguments);
        assert_eq!(checker.check(&text), Ok(()), "{text}");
        assert_eq!(called(&gemma, &mixed, &text), Some(arguments), "{text}");
    }
}

/// Small schemas that would be written without end.
#[test]
fn what_refers_to_itself_or_stands_in_many_places_is_bounded() {
    let many = |property: &Value| -> serde_json::Map<String, Value> {
        (0..8)
            .map(|n| (format!("k{n}"), property.clone()))
            .collect()
    };
    let mut defs = serde_json::Map::new();
    for level in 0..14 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(format!("d{level}"), object(Value::Object(many(&next)), &[]));
    }
    defs.insert("d14".to_owned(), json!({"type": "null"}));
    let mut wide = object(json!({"a": {"$ref": "#/$defs/d0"}}), &["a"]);
    wide["$defs"] = Value::Object(defs);
    let mut deep = json!({"type": "null"});
    for _ in 0..14 {
        let mut properties = many(&json!({"type": "null"}));
        properties.insert("k7".to_owned(), deep);
        deep = object(Value::Object(properties), &[]);
    }
    let mut branches = json!({"type": "null"});
    for level in 0..14 {
        branches = json!({"anyOf": [branches, {"$ref": format!("#/properties/a{}", "/anyOf/0".repeat(level % 2))}]});
    }
    let branches = object(json!({"a": branches}), &["a"]);
    for schema in [wide, deep, branches] {
        for name in BARE.into_iter().chain(PYTHON) {
            assert_eq!(
                format(name).parameters(&schema, &schema, CallText::Own),
                None
            );
        }
    }
}

#[test]
fn elements_say_what_can_be_told_apart() {
    let one = |property: Value| object(json!({"a": property}), &["a"]);
    let list = || json!({"type": "array", "items": {"type": "string"}});
    let format = format("minimax-m3");
    let item = |text: &str| format!("]<]minimax[>[<item>{text}]<]minimax[>[</item>");
    let call = |content: &str| {
        let a = format!("]<]minimax[>[<a>{content}]<]minimax[>[</a>");
        let invoke = format!("]<]minimax[>[<invoke name=\"f\">{a}]<]minimax[>[</invoke>");
        format!("]<]minimax[>[<tool_call>\n{invoke}\n]<]minimax[>[</tool_call>")
    };
    for (property, content, value) in [
        (
            json!({"anyOf": [list(), {"type": "null"}]}),
            "null".to_owned(),
            json!(null),
        ),
        (
            json!({"anyOf": [list(), {"type": "null"}]}),
            item("null"),
            json!(["null"]),
        ),
        (
            json!({"anyOf": [list(), {"type": "null"}]}),
            String::new(),
            json!([]),
        ),
        (
            json!({"type": "array", "items": list()}),
            item("") + &item(&item("x")),
            json!([[], ["x"]]),
        ),
        (object(json!({}), &[]), String::new(), json!({})),
        (json!({}), "so".to_owned(), json!("so")),
        (
            json!({"type": ["string", "null"]}),
            "null".to_owned(),
            json!(null),
        ),
        (json!({"enum": ["x", 5, null]}), "5".to_owned(), json!(5)),
    ] {
        let schema = one(property);
        let text = call(&content);
        let checker = checker(&format, &schema).unwrap();
        assert_eq!(checker.check(&text), Ok(()), "{text}");
        assert_eq!(
            called(&format, &schema, &text),
            Some(json!({"a": value})),
            "{text}"
        );
    }
    for property in [
        json!({"anyOf": [list(), {"type": "string"}]}),
        json!({"anyOf": [list(), object(json!({}), &[])]}),
        json!({"anyOf": [object(json!({"x": {"type": "null"}}), &[]), object(json!({"y": {"type": "null"}}), &[])]}),
        json!({"type": ["object", "array"]}),
        json!({"enum": ["5", 5]}),
        json!({"enum": ["]<]minimax[>[</a>"]}),
        json!({"type": "string", "maxLength": 3}),
    ] {
        let schema = one(property);
        assert_eq!(
            format.parameters(&schema, &schema, CallText::Own),
            None,
            "{schema}"
        );
    }
}
