//! What each shape reads, when it says so, and that chunking never matters.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::EnvelopeFaultKind as Kind;
use super::{Caps, EnvelopeEvent as Event, EnvelopeFault, EnvelopeReader, MAX_KEY_BYTES, Shape};
use crate::json::scan::ScanFaultKind;
use proptest::prelude::*;
use serde_json::Value;

type Outcome = (Vec<Event>, Result<(), EnvelopeFault>);

const SHAPES: [Shape; 4] = [Shape::Bare, Shape::One, Shape::Many, Shape::CallOrAnswer];

/// Reads the chunks, and joins neighbouring pieces.
fn read_with<'a>(mut reader: EnvelopeReader, chunks: impl IntoIterator<Item = &'a str>) -> Outcome {
    let mut out = Vec::new();
    let pushed = chunks
        .into_iter()
        .try_for_each(|chunk| reader.push(chunk, &mut out));
    let end = pushed.and_then(|()| reader.finish(&mut out));
    assert_eq!(reader.is_complete(), end.is_ok());
    let mut joined: Vec<Event> = Vec::new();
    for event in out {
        match (joined.last_mut(), event) {
            (Some(Event::Input(text)), Event::Input(more))
            | (Some(Event::Answer(text)), Event::Answer(more)) => text.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    (joined, end)
}

fn read(shape: Shape, text: &str) -> Outcome {
    read_with(EnvelopeReader::new(shape, Caps::default()), [text])
}

fn by_chars(text: &str) -> impl Iterator<Item = &str> {
    text.split("").filter(|piece| !piece.is_empty())
}

fn call(name: &str, input: &str) -> Vec<Event> {
    let name = name.to_owned();
    vec![
        Event::CallStart { name },
        Event::Input(input.to_owned()),
        Event::CallEnd,
    ]
}

fn answer(text: &str) -> Vec<Event> {
    vec![Event::Answer(text.to_owned()), Event::AnswerEnd]
}

/// The events before the fault, and the fault.
fn fault(shape: Shape, text: &str) -> (usize, usize, Kind) {
    let (events, end) = read(shape, text);
    let fault = end.unwrap_err();
    (events.len(), fault.offset, fault.kind)
}

#[test]
fn a_bare_value_is_the_input_as_written_without_the_blanks_around_it() {
    for value in [
        "{ \"a\" : [1, 2] }",
        "[ ]",
        "\"x\\u00e9 é\"",
        "-1.5e3",
        "null",
    ] {
        let expected = vec![Event::Input(value.to_owned()), Event::CallEnd];
        for text in [value.to_owned(), format!(" \n{value}\t ")] {
            assert_eq!(read(Shape::Bare, &text), (expected.clone(), Ok(())));
        }
    }
}

#[test]
fn an_envelope_is_read_in_every_shape_that_has_one() {
    let text = r#" { "name" : "get_weather", "arguments" : {"city": "Zürich" } } "#;
    for shape in [Shape::One, Shape::Many, Shape::CallOrAnswer] {
        let expected = call("get_weather", r#"{"city": "Zürich" }"#);
        assert_eq!(read(shape, text), (expected, Ok(())), "{shape:?}");
    }
}

#[test]
fn arguments_may_be_called_parameters_or_input_and_be_of_any_type() {
    let escaped: String = "parameters"
        .bytes()
        .map(|b| format!("\\u{b:04x}"))
        .collect();
    for key in ["arguments", "parameters", "input", "\\u0069nput", &escaped] {
        for value in ["{}", "[]", "\"x\"", "12", "true", "null"] {
            let text = format!("{{\"name\":\"f\",\"{key}\":{value}}}");
            assert_eq!(read(Shape::One, &text), (call("f", value), Ok(())));
            let text = format!("{{\"name\":\"f\",\"{key}\":{value} , \"id\" : 7 }}");
            assert_eq!(read(Shape::One, &text), (call("f", value), Ok(())));
        }
    }
}

#[test]
fn names_are_decoded_and_arguments_are_not() {
    let text = r#"{"n\u0061me":"a\u002eb\n","arguments":"\u0041"}"#;
    assert_eq!(
        read(Shape::One, text),
        (call("a.b\n", r#""\u0041""#), Ok(()))
    );
}

#[test]
fn unknown_keys_are_skipped_with_whatever_they_hold() {
    let long = "k".repeat(MAX_KEY_BYTES + 1);
    let text = format!(
        r#"{{"id":{{"name":"no","arguments":[]}},"{long}":1,"name":"f","Name":2,"arguments":{{"name":"in"}},"x":[{{}}]}}"#
    );
    assert_eq!(
        read(Shape::One, &text),
        (call("f", r#"{"name":"in"}"#), Ok(()))
    );
}

#[test]
fn arguments_before_the_name_are_held_up_to_the_cap() {
    let text = r#"{"arguments":{"a":"é"},"name":"f"}"#;
    assert_eq!(read(Shape::One, text), (call("f", r#"{"a":"é"}"#), Ok(())));
    for (held_bytes, fits) in [(10, true), (9, false), (7, false)] {
        let caps = Caps {
            held_bytes,
            ..Caps::default()
        };
        let whole = read_with(EnvelopeReader::new(Shape::One, caps), [text]);
        let pieces = read_with(EnvelopeReader::new(Shape::One, caps), by_chars(text));
        assert_eq!(whole, pieces);
        assert_eq!(whole.1.is_ok(), fits);
        if !fits {
            let limit = held_bytes;
            let offset = 13 + limit;
            let kind = Kind::HeldTooLarge { limit };
            assert_eq!(whole.1, Err(EnvelopeFault { offset, kind }));
        }
    }
}

#[test]
fn a_name_is_allowed_at_the_cap_and_refused_over_it() {
    let caps = Caps {
        name_bytes: 5,
        ..Caps::default()
    };
    let read = |name: &str| {
        let text = format!("{{\"name\":\"{name}\",\"arguments\":1}}");
        read_with(EnvelopeReader::new(Shape::One, caps), [text.as_str()])
    };
    assert_eq!(read("12345"), (call("12345", "1"), Ok(())));
    let kind = Kind::NameTooLong { limit: 5 };
    assert_eq!(read("123456").1, Err(EnvelopeFault { offset: 14, kind }));
    assert_eq!(read("1234é").1, Err(EnvelopeFault { offset: 14, kind }));
}

#[test]
fn an_array_gives_its_calls_in_order() {
    let text = r#"[ {"name":"a","arguments":{}} ,{"arguments":1 , "name":"b"}]"#;
    let expected = [call("a", "{}"), call("b", "1")].concat();
    assert_eq!(read(Shape::Many, text), (expected, Ok(())));
    assert_eq!(read(Shape::Many, " [ ] "), (vec![], Ok(())));
}

#[test]
fn an_answer_is_its_value_as_written() {
    for value in ["{ \"a\" : 1 }", "\"x\"", "12", "[null]"] {
        let text = format!("{{ \"answer\" : {value} }}");
        assert_eq!(read(Shape::CallOrAnswer, &text), (answer(value), Ok(())));
        let text = format!("{{\"why\":[],\"answer\":{value},\"x\":{{}}}}");
        assert_eq!(read(Shape::CallOrAnswer, &text), (answer(value), Ok(())));
    }
    // In the other shapes it is a key like any other.
    let text = r#"{"answer":1,"name":"f","arguments":2}"#;
    assert_eq!(read(Shape::One, text), (call("f", "2"), Ok(())));
}

#[test]
fn everything_goes_out_with_the_byte_that_makes_it_certain() {
    let mut reader = EnvelopeReader::new(Shape::One, Caps::default());
    let mut push = |text: &str| {
        let mut out = Vec::new();
        reader.push(text, &mut out).unwrap();
        out
    };
    let input = |text: &str| vec![Event::Input(text.to_owned())];
    assert_eq!(push("{\"name\":\"f"), []);
    let name = "f".to_owned();
    assert_eq!(push("\""), [Event::CallStart { name }]);
    assert_eq!(push(", \"arguments\": "), []);
    assert_eq!(push("{\"a"), input("{\"a"));
    assert_eq!(push("\": 1 "), input("\": 1 "));
    assert_eq!(push("} "), input("}"));
    assert_eq!(push("}"), [Event::CallEnd]);
    assert!(reader.is_complete());
}

#[test]
fn a_cautious_reader_announces_a_call_only_with_its_arguments() {
    let cautious = || EnvelopeReader::new(Shape::One, Caps::default()).cautious();
    for text in [
        r#"{"name":"Ann","age":3}"#,
        r#"{"name":"Ann","age":"#,
        r#"{"name":"Ann"}"#,
        r#"{"name":"Ann","arguments""#,
        "{\"name\":\"Ann\",\n```",
        "{}",
        "Hello {",
        "[1]",
    ] {
        let (events, end) = read_with(cautious(), [text]);
        assert_eq!(events, [], "{text}");
        assert!(end.is_err(), "{text}");
    }
    let mut reader = cautious();
    let mut out = Vec::new();
    reader
        .push("{\"name\":\"f\",\"arguments\":", &mut out)
        .unwrap();
    assert_eq!(out, []);
    reader.push("{}}", &mut out).unwrap();
    assert_eq!(out, call("f", "{}"));
    let text = r#"{"arguments":{},"name":"f"}"#;
    assert_eq!(
        read_with(cautious(), by_chars(text)),
        (call("f", "{}"), Ok(()))
    );
}

#[test]
fn text_is_known_to_be_no_envelope_with_its_first_impossible_byte() {
    let syntax = Kind::Syntax;
    for (shape, text, events, offset, kind) in [
        (Shape::One, "Sure", 0, 0, syntax(ScanFaultKind::NotAValue)),
        (Shape::One, "漢字", 0, 0, syntax(ScanFaultKind::NotAValue)),
        (Shape::One, "[", 0, 0, Kind::NotAnObject),
        (Shape::One, "12", 0, 0, Kind::NotAnObject),
        (Shape::CallOrAnswer, "[", 0, 0, Kind::NotAnObject),
        (Shape::Many, "\"", 0, 0, Kind::NotAnObject),
        (Shape::Many, "[1", 0, 1, Kind::NotAnObject),
        (Shape::Many, "[[", 0, 1, Kind::NotAnObject),
        (Shape::One, "{\"name\": 1", 0, 9, Kind::NameNotString),
        (Shape::One, "{\"name\": {", 0, 9, Kind::NameNotString),
        (
            Shape::One,
            "{\"name\":\"f\",\"name\"",
            1,
            17,
            Kind::Second("name"),
        ),
        (
            Shape::One,
            "{\"input\":1,\"arguments\"",
            0,
            21,
            Kind::Second("arguments"),
        ),
        (Shape::One, "{\"arguments\":1}", 0, 14, Kind::NoName),
        (Shape::One, "{\"name\":\"f\"}", 1, 11, Kind::NoInput),
        (Shape::One, "{}", 0, 1, Kind::NoName),
        (Shape::Many, "[{}", 0, 2, Kind::NoName),
        (
            Shape::CallOrAnswer,
            "{\"answer\":1,\"answer\"",
            2,
            19,
            Kind::Second("answer"),
        ),
        (
            Shape::CallOrAnswer,
            "{\"answer\":1,\"name\"",
            2,
            17,
            Kind::CallAndAnswer,
        ),
        (
            Shape::CallOrAnswer,
            "{\"name\":\"f\",\"answer\"",
            1,
            19,
            Kind::CallAndAnswer,
        ),
        (
            Shape::Bare,
            "{\"a\":nope",
            1,
            6,
            syntax(ScanFaultKind::BadLiteral),
        ),
        (
            Shape::Bare,
            "{} {}",
            2,
            3,
            syntax(ScanFaultKind::TrailingData),
        ),
        (Shape::Bare, "", 0, 0, syntax(ScanFaultKind::Incomplete)),
        (
            Shape::Bare,
            "{\"a\":",
            1,
            5,
            syntax(ScanFaultKind::Incomplete),
        ),
        (
            Shape::Many,
            "[{\"name\":\"f\",\"input\":1}",
            3,
            23,
            syntax(ScanFaultKind::Incomplete),
        ),
    ] {
        assert_eq!(
            fault(shape, text),
            (events, offset, kind),
            "{shape:?} {text}"
        );
    }
}

#[test]
fn a_fault_stays_and_cut_content_is_told_from_wrong_content() {
    let mut reader = EnvelopeReader::new(Shape::One, Caps::default());
    let mut out = Vec::new();
    let first = reader.push("x", &mut out).unwrap_err();
    assert_eq!(reader.push("{", &mut out).unwrap_err(), first);
    assert_eq!(reader.finish(&mut out).unwrap_err(), first);
    assert!(!first.is_incomplete());
    assert!(read(Shape::One, "{\"name\"").1.unwrap_err().is_incomplete());
}

/// A string literal whose characters are escaped or not, as `escapes` has it.
fn quoted(text: &str, escapes: &[bool]) -> String {
    let mut quoted = String::from("\"");
    for (at, character) in text.chars().enumerate() {
        let is_escaped = escapes.get(at % escapes.len().max(1)) == Some(&true);
        if is_escaped || character < ' ' || matches!(character, '"' | '\\') {
            for unit in character.encode_utf16(&mut [0; 2]) {
                quoted.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            quoted.push(character);
        }
    }
    quoted + "\""
}

fn blank() -> impl Strategy<Value = String> {
    "[ \n\r\t]{0,2}"
}

/// The text of any JSON value, with blanks and escapes wherever they may be.
fn json() -> impl Strategy<Value = String> {
    let escapes = || proptest::collection::vec(any::<bool>(), 0..4);
    let string =
        move || ("(?s).{0,6}", escapes()).prop_map(|(text, escapes)| quoted(&text, &escapes));
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,2})?([eE][+-]?[0-9])?",
        string(),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let item = (blank(), inner.clone(), blank())
            .prop_map(|(a, value, b)| a + &value + &b)
            .boxed();
        let member = (blank(), string(), blank(), item.clone())
            .prop_map(|(a, key, b, value)| format!("{a}{key}{b}:{value}"));
        prop_oneof![
            (blank(), proptest::collection::vec(item, 0..4))
                .prop_map(|(a, items)| format!("[{a}{}]", items.join(","))),
            (blank(), proptest::collection::vec(member, 0..4))
                .prop_map(|(a, members)| format!("{{{a}{}}}", members.join(","))),
        ]
    })
}

/// An envelope, and the name and the input in it.
fn envelope() -> impl Strategy<Value = (String, (String, String))> {
    let key = prop_oneof![Just("arguments"), Just("parameters"), Just("input")];
    let parts = (
        "[a-z_é]{1,8}",
        proptest::collection::vec(any::<bool>(), 0..4),
        key,
        json(),
    );
    let extras = proptest::collection::vec(json(), 0..2);
    (
        parts,
        extras,
        any::<bool>(),
        proptest::collection::vec(blank(), 4),
    )
        .prop_map(
            |((name, escapes, key, input), extras, is_name_first, blanks)| {
                let blank = |at: usize| &blanks[at];
                let mut members = vec![
                    format!(
                        "{}\"name\":{}{}",
                        blank(0),
                        quoted(&name, &escapes),
                        blank(1)
                    ),
                    format!("{}:{}{input}{}", quoted(key, &escapes), blank(2), blank(3)),
                ];
                if !is_name_first {
                    members.reverse();
                }
                for (at, extra) in extras.iter().enumerate() {
                    members.insert(at * 2, format!("\"x{at}\":{extra}"));
                }
                (format!("{{{}}}", members.join(",")), (name, input))
            },
        )
}

/// Content of every shape: right, and mutated.
fn content() -> impl Strategy<Value = String> {
    let right = prop_oneof![
        json(),
        envelope().prop_map(|(text, _)| text),
        proptest::collection::vec(envelope(), 0..3).prop_map(|envelopes| {
            let texts: Vec<_> = envelopes.into_iter().map(|(text, _)| text).collect();
            format!("[{}]", texts.join(","))
        }),
        json().prop_map(|value| format!("{{\"answer\":{value}}}")),
    ];
    let mutation = (any::<prop::sample::Index>(), "[ -~é]{0,2}", 0usize..3);
    (right, proptest::collection::vec(mutation, 0..2)).prop_map(|(text, mutations)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, insert, remove) in mutations {
            let at = at.index(characters.len() + 1);
            let end = (at + remove).min(characters.len());
            characters.splice(at..end, insert.chars());
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn any_value_is_the_input_of_a_bare_call(before in blank(), value in json(), after in blank()) {
        let text = format!("{before}{value}{after}");
        let expected = vec![Event::Input(value), Event::CallEnd];
        prop_assert_eq!(read(Shape::Bare, &text), (expected, Ok(())));
    }

    #[test]
    fn any_envelope_is_its_call((text, (name, input)) in envelope()) {
        for shape in [Shape::One, Shape::Many, Shape::CallOrAnswer] {
            prop_assert_eq!(read(shape, &text), (call(&name, &input), Ok(())));
        }
    }

    #[test]
    fn any_array_of_envelopes_is_its_calls(envelopes in proptest::collection::vec(envelope(), 0..4)) {
        let (texts, calls): (Vec<_>, Vec<_>) = envelopes.into_iter().unzip();
        let expected: Vec<_> = calls.iter().flat_map(|(name, input)| call(name, input)).collect();
        prop_assert_eq!(read(Shape::Many, &format!("[{}]", texts.join(", "))), (expected, Ok(())));
    }

    #[test]
    fn any_value_is_an_answer(value in json(), blank in blank()) {
        let text = format!("{{\"answer\":{blank}{value}{blank}}}");
        prop_assert_eq!(read(Shape::CallOrAnswer, &text), (answer(&value), Ok(())));
    }

    #[test]
    fn chunking_never_matters_and_nothing_panics(
        text in content(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
        held_bytes in prop_oneof![Just(1 << 20), 0usize..20],
        is_cautious in any::<bool>(),
    ) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.retain(|cut| text.is_char_boundary(*cut));
        cuts.sort_unstable();
        for shape in SHAPES {
            let reader = || {
                let caps = Caps { held_bytes, name_bytes: 5 };
                let reader = EnvelopeReader::new(shape, caps);
                if is_cautious { reader.cautious() } else { reader }
            };
            let whole = read_with(reader(), [text.as_str()]);
            let chunks = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
            prop_assert_eq!(&read_with(reader(), chunks), &whole);
            prop_assert_eq!(&read_with(reader(), by_chars(&text)), &whole);
            if whole.1.is_ok() {
                let is_json = serde_json::from_str::<Value>(&text).is_ok();
                prop_assert!(is_json, "{}", text);
            }
        }
    }
}
