//! What a body may be, and what each fault says.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use super::{JsonFault, Limits, check};
use crate::error::{Error, Kind};
use base64::Engine as _;
use proptest::prelude::*;

fn verdict(body: &str) -> Result<(), JsonFault> {
    check(body.as_bytes(), &Limits::default())
}

fn duplicate(body: &str) -> String {
    match verdict(body) {
        Err(JsonFault::DuplicateKey { path }) => path,
        other => format!("{other:?}"),
    }
}

fn is_syntax(verdict: &Result<(), JsonFault>) -> bool {
    matches!(verdict, Err(JsonFault::Syntax { .. }))
}

#[test]
fn an_ordinary_request_passes() {
    let body =
        r#" {"model":"m","messages":[{"role":"user","content":"h\u00e9 \ud83d\ude00"}],"n":1e3} "#;
    assert_eq!(verdict(body), Ok(()));
}

#[test]
fn the_root_must_be_an_object() {
    for body in ["[]", "null", "1", "\"{\"", " [{}] "] {
        assert_eq!(verdict(body), Err(JsonFault::NotAnObject), "{body}");
    }
}

#[test]
fn syntax_faults_name_line_and_column_and_quote_nothing() {
    let fault = verdict("{\n \"secret\": nope}").unwrap_err();
    let JsonFault::Syntax { line, message, .. } = &fault else {
        panic!("{fault:?}")
    };
    assert_eq!((*line, message.as_str()), (2, "expected ident"));
    assert!(fault.to_string().contains("at line 2 column "), "{fault}");
}

#[test]
fn a_mark_of_the_encoding_is_named() {
    for body in [&b"\xef\xbb\xbf{}"[..], b"\xff\xfe{\0}\0"] {
        let verdict = check(body, &Limits::default());
        assert_eq!(verdict, Err(JsonFault::ByteOrderMark));
    }
}

#[test]
fn trailing_data_is_refused() {
    for body in ["{}{}", "{} x", "{}\0", "{},"] {
        assert!(is_syntax(&verdict(body)), "{body}");
    }
}

#[test]
fn what_has_no_value_is_refused() {
    for body in [
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\udc00\ud800"}"#,
        r#"{"\ud83d":1}"#,
        r#"{"a":1e999}"#,
        r#"{"a":-1e999}"#,
        r#"{"a":NaN}"#,
    ] {
        assert!(is_syntax(&verdict(body)), "{body}");
    }
    assert!(is_syntax(&check(b"{\"a\":\"\xff\"}", &Limits::default())));
    assert!(is_syntax(&check(
        b"{\"a\":\"\xed\xa0\x80\"}",
        &Limits::default()
    )));
    assert!(is_syntax(&check(b"", &Limits::default())));
}

#[test]
fn a_duplicate_key_is_found_at_any_level_with_its_path() {
    assert_eq!(duplicate(r#"{"a":1,"a":1}"#), "a");
    assert_eq!(
        duplicate(r#"{"tools":[{"function":{"name":"a","x":{},"name":"b"}}]}"#),
        "tools[0].function.name"
    );
    assert_eq!(
        duplicate(r#"{"a":[[1],[2,{"b":0,"c":0,"b":0}]]}"#),
        "a[1][1].b"
    );
}

#[test]
fn keys_are_compared_as_decoded() {
    assert_eq!(duplicate(r#"{"name":1,"n\u0061me":2}"#), "name");
    assert_eq!(duplicate(r#"{"\ud83d\ude00":1,"😀":2}"#), "😀");
    assert_eq!(verdict(r#"{"name":1,"n\\u0061me":2}"#), Ok(()));
}

#[test]
fn a_duplicate_among_many_keys_is_found() {
    for count in [15, 16, 17, 18, 1000] {
        let keys: Vec<_> = (0..count).map(|n| format!("\"k{n}\":0")).collect();
        let unique = keys.join(",");
        assert_eq!(verdict(&format!("{{{unique}}}")), Ok(()));
        for twice in [0, count / 2, count - 1] {
            assert_eq!(
                duplicate(&format!("{{{unique},\"k{twice}\":0}}")),
                format!("k{twice}")
            );
        }
    }
}

#[test]
fn a_giant_key_is_cut_in_the_path() {
    let key = "é".repeat(100_000);
    let path = duplicate(&format!("{{\"{key}\":1,\"{key}\":1}}"));
    assert_eq!(path.chars().count(), 257);
}

#[test]
fn depth_is_allowed_at_the_limit_and_refused_over_it() {
    let nested = |levels: usize| {
        format!(
            "{{\"a\":{}{}}}",
            "[".repeat(levels - 1),
            "]".repeat(levels - 1)
        )
    };
    let limits = |depth| Limits {
        depth,
        ..Limits::default()
    };
    for depth in [2, 96, 126] {
        assert_eq!(check(nested(depth).as_bytes(), &limits(depth)), Ok(()));
        assert_eq!(
            check(nested(depth + 1).as_bytes(), &limits(depth)),
            Err(JsonFault::TooDeep { limit: depth })
        );
    }
    // A larger limit does not reach further than the parser does.
    assert_eq!(
        check(nested(127).as_bytes(), &limits(1_000_000)),
        Err(JsonFault::TooDeep { limit: 126 })
    );
}

#[test]
fn a_million_levels_are_refused_without_a_stack_overflow() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let body = format!("{}1{}", open.repeat(1_000_000), close.repeat(1_000_000));
        for depth in [96, usize::MAX] {
            let limits = Limits {
                depth,
                ..Limits::default()
            };
            let verdict = check(body.as_bytes(), &limits);
            assert!(
                matches!(verdict, Err(JsonFault::TooDeep { .. })),
                "{verdict:?}"
            );
        }
    }
}

#[test]
fn values_are_allowed_at_the_limit_and_refused_over_it() {
    let limits = Limits {
        values: 10,
        ..Limits::default()
    };
    // The root and the array are two of them.
    assert_eq!(check(b"{\"a\":[0,1,2,3,4,5,6,7]}", &limits), Ok(()));
    assert_eq!(
        check(b"{\"a\":[0,1,2,3,4,5,6,7,8]}", &limits),
        Err(JsonFault::TooManyValues { limit: 10 })
    );
}

#[test]
fn each_fault_has_its_kind() {
    let kind = |body: &str| Error::from(verdict(body).unwrap_err()).kind;
    assert_eq!(kind("{"), Kind::InvalidJson);
    assert_eq!(kind("[]"), Kind::InvalidRequest);
    assert_eq!(kind(&"[".repeat(100)), Kind::JsonTooDeep);
    assert_eq!(
        kind(&format!("[{}1]", "1,".repeat(200_000))),
        Kind::JsonTooLarge
    );
    let error = Error::from(verdict(r#"{"a":{"b":1,"b":1}}"#).unwrap_err());
    assert_eq!(error.kind, Kind::DuplicateKey);
    assert_eq!(error.param.as_deref(), Some("a.b"));
}

#[test]
fn the_json_parsing_suite_is_judged_as_it_says() {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(text) = std::fs::read_to_string(format!("{folder}/json_parsing.jsonl")) else {
        eprintln!("skipped: {folder}/json_parsing.jsonl is not there (set ISOGLOSS_DATA)");
        return;
    };
    let bytes = |row: &serde_json::Value, field: &str| {
        let text = row[field].as_str().unwrap_or_default();
        base64::prelude::BASE64_STANDARD.decode(text).unwrap()
    };
    let mut seen = 0;
    for row in text.lines() {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        let value = if let Some(unit) = row["repeat"]["unit"].as_str() {
            let count = usize::try_from(row["repeat"]["count"].as_u64().unwrap()).unwrap();
            [unit.repeat(count).into_bytes(), bytes(&row, "tail_b64")].concat()
        } else {
            bytes(&row, "b64")
        };
        let verdict = check(
            &[b"{\"v\":", value.as_slice(), b"}"].concat(),
            &Limits::default(),
        );
        let id = row["id"].as_str().unwrap();
        match row["expect"].as_str().unwrap() {
            // The suite allows duplicate keys; this check exists to refuse them.
            "accept" if id.contains("duplicated_key") => {
                assert!(
                    matches!(verdict, Err(JsonFault::DuplicateKey { .. })),
                    "{id}"
                );
            }
            "accept" => assert_eq!(verdict, Ok(()), "{id}"),
            "reject" => assert!(verdict.is_err(), "{id}"),
            _ => {}
        }
        seen += 1;
    }
    assert!(seen >= 150, "only {seen} rows were read");
}

proptest! {
    #[test]
    fn what_passes_is_what_serde_json_reads(body in "[ \\[\\]{}\",:a0-9eE.+\\\\-]{0,24}") {
        let body = format!("{{\"v\":{body}}}");
        match verdict(&body) {
            Ok(()) => { serde_json::from_str::<serde_json::Value>(&body).unwrap(); }
            Err(JsonFault::Syntax { .. }) => {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&body).is_err());
            }
            Err(JsonFault::DuplicateKey { .. }) => {}
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }
}
