use super::syntax::{Mender, Surroundings, mend};
use super::{closers, is_json, names, repair};
use crate::ir::{Repair, RepairStep};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What a text is mended to, in pieces of `size` characters.
fn in_pieces(text: &str, size: usize, frame: Surroundings) -> (String, String) {
    let mut mender = Mender::new(frame);
    let mut out = String::new();
    let mut rest = String::new();
    let letters: Vec<char> = text.chars().collect();
    for piece in letters.chunks(size.max(1)) {
        let piece: String = piece.iter().collect();
        let taken = if rest.is_empty() {
            mender.push(&piece, &mut out)
        } else {
            0
        };
        rest.push_str(&piece[taken..]);
    }
    mender.finish(&mut out);
    (out, rest)
}

fn steps(text: &str, schema: &Value) -> Option<(String, String)> {
    let (mended, steps) = repair(text, Some(schema), Repair::Types)?;
    Some((mended, steps.to_string()))
}

#[test]
fn syntax_that_can_only_mean_one_thing_is_mended() {
    for (text, mended, step) in [
        (r#"{"a":1,}"#, r#"{"a":1}"#, "trailing_comma"),
        ("[1, 2, \n]", "[1, 2 \n]", "trailing_comma"),
        ("{'a': 'b'}", r#"{"a": "b"}"#, "single_quotes"),
        (r#"['it\'s "so"']"#, r#"["it's \"so\""]"#, "single_quotes"),
        (r#"["it\'s"]"#, r#"["it's"]"#, "single_quotes"),
        (r#"['a\n\u00e9\\']"#, r#"["a\n\u00e9\\"]"#, "single_quotes"),
        (
            "[True, False, None]",
            "[true, false, null]",
            "python_literal",
        ),
        ("[1, // one\n2]", "[1, \n2]", "comment"),
        ("[1 /* it's * one: */, 2]", "[1 , 2]", "comment"),
        ("[ # first\n1]", "[ \n1]", "comment"),
        (r#"{"a": [{"b": "c"}"#, r#"{"a": [{"b": "c"}]}"#, "closers"),
        ("[\"a\nb\tc\"]", r#"["a\nb\tc"]"#, "line_break"),
        (
            "{a: 1, $b_2 : 2}",
            r#"{"a": 1, "$b_2" : 2}"#,
            "unquoted_key",
        ),
        (
            "{'a': True, // yes\n}",
            "{\"a\": true \n}",
            "trailing_comma, single_quotes, python_literal, comment",
        ),
    ] {
        let (out, found) = mend(text).unwrap_or_default();
        assert_eq!(
            (out.as_str(), found.to_string().as_str()),
            (mended, step),
            "{text}"
        );
    }
}

#[test]
fn what_could_mean_several_things_is_left_alone() {
    for text in [
        // Not JSON's, and no number that a schema could want.
        "[NaN]",
        "[Infinity]",
        "[undefined]",
        "[TRUE]",
        "[0x10]",
        "[+1]",
        "[.5]",
        "[1.]",
        "[007]",
        // An apostrophe, or the end of the string?
        "['it's']",
        "{'a': 'rock 'n' roll'}",
        "['the dogs' bowl']",
        // Something is missing between, or was to follow.
        "[1,,2]",
        "[,1]",
        r#"{"a" 1}"#,
        r#"{"a": }"#,
        r#"{"a": 1 "b": 2}"#,
        "[1 2]",
        r#"{"a": 1,"#,
        r#"{"a": 1"#,
        r#"{"a": "b"#,
        r#"{"a""#,
        r#"{"a":"#,
        "[1,",
        "[1}",
        "[tru",
        // What is a comment here?
        r#"{"a": 1 // "b": 2}"#,
        "{\"a\": 1, // \"b\": 2\n\"c\": 3}",
        "[1 // to the end",
        "[1 /* ",
        "[1 /2]",
        "[http://x]",
        // No plain words.
        "{a-b: 1}",
        "{1: 2}",
        "{None: 1}",
        "{true: 1}",
        "{a b: 1}",
        "\"a\\\nb\"",
        "['\\x41']",
        "[\"\u{1}\"]",
        "{} {}",
        "",
        " ",
    ] {
        assert_eq!(mend(text), None, "{text}");
    }
}

#[test]
fn the_end_of_a_fence_or_a_tag_ends_what_is_open() {
    let fenced = Surroundings {
        is_fenced: true,
        ..Surroundings::default()
    };
    let tagged = Surroundings {
        is_tagged: true,
        ..Surroundings::default()
    };
    for size in [1, 3, 99] {
        let whole = ("{\"a\": [1 ]}".to_owned(), "```".to_owned());
        assert_eq!(in_pieces("{\"a\": [1 ```", size, fenced), whole);
        let whole = (r#"{"a": {}}"#.to_owned(), "</tool_call>".to_owned());
        assert_eq!(in_pieces(r#"{"a": {}</tool_call>"#, size, tagged), whole);
        let (out, _) = in_pieces(r#"{"a": {}</tool_call>"#, size, fenced);
        assert!(!is_json(&out), "{out}");
    }
}

#[test]
fn closers_that_nobody_looks_at_are_added_where_nothing_could_stand_elsewhere() {
    let frame = Surroundings {
        is_unwatched: true,
        ..Surroundings::default()
    };
    let envelope = Surroundings {
        is_envelope: true,
        ..frame
    };
    for (text, frame, is_closed) in [
        (r#"{"a": {"b": 1}"#, frame, true),
        (r#"{"a": 1, "b": [1, 2]"#, frame, true),
        (r#"{"a": {"b": 1, "c": 2}"#, frame, false),
        (r#"{"a": [{"b": 1, "c": 2}"#, frame, false),
        (r#"[[1, 2]"#, frame, false),
        (r#"[[1], {"a": 1, "b": 2}"#, frame, true),
        (
            r#"{"name": "f", "arguments": {"b": 1, "c": 2}"#,
            envelope,
            true,
        ),
        (
            r#"[{"name": "f", "arguments": {"b": 1, "c": 2}"#,
            envelope,
            true,
        ),
        (
            r#"{"name": "f", "arguments": {"b": {"c": 1, "d": 2}"#,
            envelope,
            false,
        ),
    ] {
        let (out, _) = in_pieces(text, 5, frame);
        assert_eq!(is_json(&out), is_closed, "{text}");
    }
}

#[test]
fn closers_are_certain_where_no_member_could_belong_to_an_object_around() {
    let inner = json!({"type": "object", "properties": {"id": {}, "role": {}}});
    let apart = json!({"type": "object", "properties": {"user": inner}});
    let alike = json!({"type": "object", "properties": {"user": inner, "role": {}}});
    let text = r#"{"user": {"id": 1, "role": 2}}"#;
    assert!(closers::are_certain(text, Some(&apart)));
    assert!(!closers::are_certain(text, Some(&alike)));
    assert!(!closers::are_certain(text, None));
    let taken = r#"{"role": 1, "user": {"id": 1, "role": 2}}"#;
    assert!(closers::are_certain(taken, Some(&alike)));
    assert!(closers::are_certain(r#"{"a": {"b": 1}}"#, None));
    assert!(!closers::are_certain("[[1, 2]]", None));
}

/// One property of this schema, the value as written, and what becomes of it.
type Case = (Value, Value, Option<(Value, &'static str)>);

fn number_cases() -> Vec<Case> {
    let integer = || json!({"type": "integer"});
    let number = || json!({"type": "number"});
    vec![
        (integer(), json!("36"), Some((json!(36), "number"))),
        (integer(), json!("-4"), Some((json!(-4), "number"))),
        (number(), json!("1.5"), Some((json!(1.5), "number"))),
        (
            json!({"type": ["integer", "null"]}),
            json!("0"),
            Some((json!(0), "number")),
        ),
        (
            json!({"anyOf": [integer(), {"type": "null"}]}),
            json!("7"),
            Some((json!(7), "number")),
        ),
        (
            json!({"enum": [1, 2]}),
            json!("2"),
            Some((json!(2), "number")),
        ),
        (integer(), json!("007"), None),
        (integer(), json!("1e3"), None),
        (integer(), json!(" 36"), None),
        (integer(), json!("+36"), None),
        (integer(), json!("36.0"), None),
        (integer(), json!("36.5"), None),
        (integer(), json!("-0"), None),
        (integer(), json!("123456789012345678901"), None),
        (number(), json!("1.10"), None),
        (number(), json!("NaN"), None),
        (json!({"type": ["string", "integer"]}), json!("36"), None),
        (
            json!({"anyOf": [integer(), {"type": "string"}]}),
            json!("36"),
            None,
        ),
        (
            json!({"anyOf": [integer(), {"type": "array", "items": {"type": "string"}}]}),
            json!("36"),
            None,
        ),
        (json!({"not": {"type": "string"}}), json!("36"), None),
        (json!({}), json!("36"), None),
    ]
}

fn other_cases() -> Vec<Case> {
    let boolean = || json!({"type": "boolean"});
    let list = || json!({"type": "array", "items": {"type": "string"}});
    let color = || json!({"enum": ["red", "Green"]});
    let point = || json!({"type": "object", "properties": {"x": {"type": "integer"}}});
    vec![
        (boolean(), json!("true"), Some((json!(true), "boolean"))),
        (boolean(), json!("false"), Some((json!(false), "boolean"))),
        (boolean(), json!("yes"), None),
        (boolean(), json!("True"), None),
        (boolean(), json!(1), None),
        (json!({"type": ["boolean", "null"]}), json!("null"), None),
        (list(), json!("red"), Some((json!(["red"]), "list"))),
        (list(), json!("red, blue"), None),
        (list(), json!("red\nblue"), None),
        (list(), json!("none"), None),
        (list(), json!(""), None),
        (
            list(),
            json!("[\"red\"]"),
            Some((json!(["red"]), "double_encoded")),
        ),
        (list(), json!("[red]"), None),
        (list(), json!(1), None),
        (list(), Value::Null, None),
        (
            json!({"type": "array", "items": point()}),
            json!({"x": 1}),
            Some((json!([{"x": 1}]), "list")),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!(3),
            Some((json!([3]), "list")),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!("3"),
            None,
        ),
        (json!({"type": "array"}), json!("red"), None),
        (color(), json!("RED"), Some((json!("red"), "enum_case"))),
        (color(), json!("green"), Some((json!("Green"), "enum_case"))),
        (color(), json!("redd"), None),
        (
            json!({"enum": ["a", "A"], "type": "string"}),
            json!("a "),
            None,
        ),
        (json!({"enum": ["True", "true"]}), json!("TRUE"), None),
        (
            json!({"const": "On"}),
            json!("on"),
            Some((json!("On"), "enum_case")),
        ),
        (
            json!({"anyOf": [{"const": "A"}, {"const": "b"}]}),
            json!("B"),
            Some((json!("b"), "enum_case")),
        ),
        (
            point(),
            json!("{\"x\":1}"),
            Some((json!({"x": 1}), "double_encoded")),
        ),
        (
            point(),
            json!("{\"x\":\"1\"}"),
            Some((json!({"x": 1}), "number, double_encoded")),
        ),
        (point(), json!("[1]"), None),
        (point(), json!("{x:1}"), None),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!("[1,2]"),
            Some((json!([1, 2]), "double_encoded")),
        ),
    ]
}

#[test]
fn types_are_repaired_where_the_schema_leaves_one_reading() {
    for (wanted, written, meant) in number_cases().into_iter().chain(other_cases()) {
        let schema = json!({"type": "object", "properties": {"v": wanted}});
        let text = json!({"v": written}).to_string();
        let found = steps(&text, &schema);
        let meant = meant.map(|(value, word)| (json!({"v": value}).to_string(), word.to_owned()));
        assert_eq!(found, meant, "{wanted} of {text}");
    }
}

#[test]
fn what_needs_no_repair_stays_the_bytes_that_it_was() {
    let schema = json!({
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/n"}, "all": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
        "$defs": {"n": {"type": "integer"}},
    });
    let text =
        r#"{"x": 1.50, "n": "3", "big": 123456789012345678901234, "s": "\u00e9", "all": [1, "2"]}"#;
    let (mended, step) = steps(text, &schema).unwrap();
    assert_eq!(step, "number");
    assert_eq!(
        mended,
        r#"{"x":1.50,"n":3,"big":123456789012345678901234,"s":"\u00e9","all":[1,2]}"#
    );
    assert_eq!(steps(r#"{"n": "3", "n": 4}"#, &schema), None);
}

#[test]
fn a_switch_leaves_out_types_or_everything() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let text = "{'n': '3'}";
    let at = |level| repair(text, Some(&schema), level).map(|(mended, _)| mended);
    assert_eq!(at(Repair::Off), None);
    assert_eq!(at(Repair::Syntax).as_deref(), Some(r#"{"n": "3"}"#));
    assert_eq!(at(Repair::Types).as_deref(), Some(r#"{"n":3}"#));
}

#[test]
fn a_tool_is_meant_where_one_name_alone_is_alike() {
    let known = ["get_weather", "getTime", "get-time", "list"];
    for (name, meant) in [
        ("getWeather", Some("get_weather")),
        ("Get Weather", Some("get_weather")),
        ("GET-WEATHER", Some("get_weather")),
        ("get_weather", None),
        ("get_weathers", None),
        ("get_time", None),
        ("LIST", Some("list")),
        ("functions.list", Some("list")),
        ("get_weather<|channel|>commentary", Some("get_weather")),
        ("<|channel|>list", None),
        ("", None),
        ("_", None),
    ] {
        assert_eq!(names::repair(name, known.into_iter()), meant, "{name}");
    }
}

fn arb_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é\n\t\"'\\\\]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z'/#,]{0,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Texts near JSON, of the letters that mean something.
fn arb_text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "'", "\"", "\\", "/", "//", "/*", "*/", "#", "\n", "\t", " ",
        "True", "None", "NaN", "true", "a", "1", "-", ".5", "é", "\"a\"", "'b'", "{\"a\":", "`",
        "<",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn valid_json_passes_byte_for_byte(value in arb_json(), pretty in any::<bool>(), size in 1..9usize) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&value).unwrap(),
            false => value.to_string(),
        };
        prop_assert_eq!(in_pieces(&text, size, Surroundings::default()), (text.clone(), String::new()));
        prop_assert_eq!(mend(&text), None);
        // And as far as it goes, where it is cut.
        let mut mender = Mender::new(Surroundings::default());
        let mut out = String::new();
        let part: String = text.chars().take(size).collect();
        let taken = mender.push(&part, &mut out);
        mender.cut(&mut out);
        prop_assert_eq!(out + &part[taken..], part);
    }

    #[test]
    fn chunking_never_changes_the_result(text in arb_text(), size in 1..6usize, unwatched in any::<bool>()) {
        let frame = Surroundings { is_fenced: true, is_tagged: true, is_unwatched: unwatched, is_envelope: false };
        prop_assert_eq!(in_pieces(&text, size, frame), in_pieces(&text, usize::MAX, frame));
    }

    #[test]
    fn what_is_mended_is_json_and_mended_once(text in arb_text()) {
        if let Some((mended, steps)) = mend(&text) {
            prop_assert!(is_json(&mended), "{}", mended);
            prop_assert!(!is_json(&text) && !steps.is_empty());
            prop_assert_eq!(mend(&mended), None);
        }
    }

    #[test]
    fn python_s_way_to_write_a_value_is_read(value in arb_json()) {
        let text = python(&value);
        let mended = mend(&text).map_or(text, |(mended, _)| mended);
        prop_assert_eq!(serde_json::from_str::<Value>(&mended).unwrap(), value);
    }
}

/// A value as Python prints it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(python).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let members = members.iter();
            let members: Vec<String> = members
                .map(|(name, value)| format!("{}: {}", quoted(name), python(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
    }
}

fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\t', "\\t");
    match (text.contains('\''), text.contains('"')) {
        (true, false) => format!("\"{escaped}\""),
        _ => format!("'{}'", escaped.replace('\'', "\\'")),
    }
}

#[test]
fn every_step_has_its_own_word() {
    let mut words: Vec<_> = RepairStep::ALL.map(RepairStep::as_str).to_vec();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), RepairStep::ALL.len());
}
