//! What each byte is, where each fault lies, and that serde_json agrees.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{ByteKind, MAX_DEPTH, ScanFault, ScanFaultKind, Scanner, StringPart};
use proptest::prelude::*;

fn scan(text: &[u8]) -> Result<(), ScanFault> {
    let mut scanner = Scanner::new();
    for &byte in text {
        scanner.push(byte)?;
    }
    scanner.finish()
}

/// The offset and kind of the fault.
fn fault(text: &str) -> (usize, ScanFaultKind) {
    let ScanFault { offset, kind } = scan(text.as_bytes()).unwrap_err();
    (offset, kind)
}

/// One letter a byte, in place of the text.
fn picture(text: &str) -> String {
    let mut scanner = Scanner::new();
    let letter = |byte| match scanner.push(byte).unwrap() {
        ByteKind::Whitespace => '_',
        ByteKind::ObjectStart => '{',
        ByteKind::ObjectEnd => '}',
        ByteKind::ArrayStart => '[',
        ByteKind::ArrayEnd => ']',
        ByteKind::Colon => ':',
        ByteKind::Comma => ',',
        ByteKind::Key(StringPart::Open) => '(',
        ByteKind::Key(StringPart::Body) => 'k',
        ByteKind::Key(StringPart::Close) => ')',
        ByteKind::Text(StringPart::Open) => '<',
        ByteKind::Text(StringPart::Body) => 't',
        ByteKind::Text(StringPart::Close) => '>',
        ByteKind::Number => '0',
        ByteKind::Literal => 'L',
    };
    text.bytes().map(letter).collect()
}

#[test]
fn every_byte_is_named() {
    let text = r#" {"a\"":[1 ,-2.5e+3],"b": "x\u00e9", "c":{},"d":[true,null] } "#;
    let says = r#"_{(kkk):[0_,0000000],(k):_<ttttttt>,_(k):{},(k):[LLLL,LLLL]_}_"#;
    assert_eq!(picture(text), says);
}

#[test]
fn completeness_is_known_with_the_last_byte_but_for_numbers() {
    for text in ["{}", "[1]", "\"a\"", "true", "null"] {
        let mut scanner = Scanner::new();
        for (at, byte) in text.bytes().enumerate() {
            assert!(!scanner.is_complete(), "{text} at {at}");
            scanner.push(byte).unwrap();
        }
        assert!(scanner.is_complete(), "{text}");
        assert_eq!(scanner.finish(), Ok(()));
    }
    let mut scanner = Scanner::new();
    scanner.push(b'1').unwrap();
    assert!(!scanner.is_complete());
    scanner.finish().unwrap();
    assert!(scanner.is_complete());
    let mut scanner = Scanner::new();
    scanner.push(b'1').unwrap();
    scanner.push(b'\n').unwrap();
    assert!(scanner.is_complete());
}

#[test]
fn the_first_impossible_byte_is_named() {
    use ScanFaultKind as Kind;
    for (text, offset, kind) in [
        ("", 0, Kind::Incomplete),
        ("Sure!", 0, Kind::NotAValue),
        ("```json", 0, Kind::NotAValue),
        ("{a", 1, Kind::NotAKey),
        ("{\"a\":1,}", 7, Kind::NotAKey),
        ("{\"a\" 1", 5, Kind::NotAColon),
        ("{\"a\":1 \"b\"", 7, Kind::NotACommaOrEnd),
        ("{\"a\":1]", 6, Kind::NotACommaOrEnd),
        ("[1}", 2, Kind::NotACommaOrEnd),
        ("[1,]", 3, Kind::NotAValue),
        ("[,", 1, Kind::NotAValue),
        ("nulL", 3, Kind::BadLiteral),
        ("[01", 2, Kind::NotACommaOrEnd),
        ("-x", 1, Kind::BadNumber),
        ("1.e", 2, Kind::BadNumber),
        ("1e}", 2, Kind::BadNumber),
        ("+1", 0, Kind::NotAValue),
        (".5", 0, Kind::NotAValue),
        ("NaN", 0, Kind::NotAValue),
        ("\"\\x", 2, Kind::BadEscape),
        ("\"\\u00g", 5, Kind::BadEscape),
        ("\"a\nb", 2, Kind::ControlCharacter),
        ("\"\\udc00", 4, Kind::LoneSurrogate),
        ("\"\\ud83d\"", 7, Kind::LoneSurrogate),
        ("\"\\ud83d\\n", 8, Kind::LoneSurrogate),
        ("\"\\ud83d\\u00", 9, Kind::LoneSurrogate),
        ("\"\\ud83d\\ud83", 10, Kind::LoneSurrogate),
        ("{} {", 3, Kind::TrailingData),
        ("1 2", 2, Kind::TrailingData),
        ("{\"a\":", 5, Kind::Incomplete),
        ("[1", 2, Kind::Incomplete),
        ("\"a", 2, Kind::Incomplete),
        ("tru", 3, Kind::Incomplete),
        ("1.", 2, Kind::Incomplete),
        ("  ", 2, Kind::Incomplete),
    ] {
        assert_eq!(fault(text), (offset, kind), "{text}");
    }
}

#[test]
fn a_fault_stays() {
    let mut scanner = Scanner::new();
    let first = scanner.push(b'x').unwrap_err();
    assert_eq!(scanner.push(b'{').unwrap_err(), first);
    assert_eq!(scanner.finish().unwrap_err(), first);
    assert!(!scanner.is_complete());
}

#[test]
fn depth_is_allowed_at_the_limit_and_refused_over_it() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let inner = if open == "[" { "" } else { "1" };
        let nested = |levels| format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
        assert_eq!(scan(nested(MAX_DEPTH).as_bytes()), Ok(()));
        assert!(serde_json::from_str::<serde_json::Value>(&nested(MAX_DEPTH)).is_ok());
        let over = nested(MAX_DEPTH + 1);
        assert_eq!(
            fault(&over),
            (open.len() * MAX_DEPTH, ScanFaultKind::TooDeep)
        );
        assert!(serde_json::from_str::<serde_json::Value>(&over).is_err());
    }
}

#[test]
fn bytes_that_are_no_utf8_are_refused_in_strings() {
    let bad: [&[u8]; 8] = [
        b"\x80",
        b"\xC1\x81",
        b"\xE0\x9F\x80",
        b"\xED\xA0\x80",
        b"\xF0\x8F\x80\x80",
        b"\xF4\x90\x80\x80",
        b"\xC3\"",
        b"\xFF",
    ];
    for bytes in bad {
        let verdict = scan(&[b"\"", bytes, b"\""].concat());
        assert_eq!(verdict.unwrap_err().kind, ScanFaultKind::InvalidUtf8);
    }
}

/// serde_json's verdict, unless it stopped at a number out of its range and so never saw the rest.
fn assert_agrees(text: &[u8]) {
    let ours = scan(text);
    if let Ok(text) = std::str::from_utf8(text) {
        for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let (one, other) = text.split_at(at);
            let mut scanner = Scanner::new();
            let pushed = (scanner.push_all(one)).and_then(|()| scanner.push_all(other));
            let pushed = pushed.and_then(|()| scanner.finish());
            assert_eq!(pushed, ours, "in pieces, cut at {at}: {text}");
        }
    }
    match serde_json::from_slice::<serde_json::Value>(text) {
        Ok(_) => assert_eq!(ours, Ok(()), "{text:?}"),
        Err(error) if error.to_string().starts_with("number out of range") => {}
        Err(error) => assert!(ours.is_err(), "{error} {text:?}"),
    }
}

/// Any JSON value.
fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        "(?s).{0,8}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::vec((".{0,4}", inner), 0..5)
                .prop_map(|entries| serde_json::Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_written_value_is_taken_and_every_prefix_is_possible(value in value()) {
        let text = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(scan(&text), Ok(()));
        if matches!(text[0], b'{' | b'[' | b'"') {
            for end in 0..text.len() {
                let fault = scan(&text[..end]).unwrap_err();
                prop_assert_eq!(fault, ScanFault { offset: end, kind: ScanFaultKind::Incomplete });
            }
        }
    }

    #[test]
    fn serde_json_agrees_on_mutated_values(value in value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), how in 0..4) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let at = at.index(text.len());
        match how {
            0 => text[at] = byte,
            1 => { text.remove(at); }
            2 => text.insert(at, byte),
            _ => text.truncate(at),
        }
        assert_agrees(&text);
    }

    #[test]
    fn serde_json_agrees_on_noise(text in "[ \\[\\]{}\":,a0-2eE.+\\\\ud8Dc-]{0,20}") {
        assert_agrees(text.as_bytes());
        assert_agrees(format!("\"{text}\"").as_bytes());
        assert_agrees(format!("[{text}]").as_bytes());
        assert_agrees(format!("{{\"a\":{text}}}").as_bytes());
    }

    #[test]
    fn serde_json_agrees_on_escapes_and_raw_bytes(pieces in proptest::collection::vec(prop_oneof![
        Just(b"\\u".to_vec()), Just(b"d8".to_vec()), Just(b"dc".to_vec()), Just(b"00".to_vec()), Just(b"\\n".to_vec()),
        proptest::collection::vec(any::<u8>(), 0..3),
    ], 0..8)) {
        assert_agrees(&[b"\"".as_slice(), &pieces.concat(), b"\""].concat());
    }
}
