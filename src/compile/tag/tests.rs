use super::TagChecker;
use crate::error::Kind;
use serde_json::{Value, json};

fn colour() -> Value {
    json!({"type": "object", "properties": {"colour": {"enum": ["red", "green"]}}, "required": ["colour"]})
}

fn format(format: &Value) -> TagChecker {
    TagChecker::compile(&json!({"type": "structural_tag", "format": format})).unwrap()
}

fn broken(checker: &TagChecker, text: &str) -> (usize, String) {
    let breach = checker.check(text).unwrap_err();
    (breach.offset, breach.rule)
}

#[test]
fn legacy_tags_are_checked_wherever_their_trigger_occurs() {
    let checker = TagChecker::compile(&json!({
        "type": "structural_tag",
        "structures": [{"begin": "<function=f>", "schema": colour(), "end": "</function>"}],
        "triggers": ["<function="]
    }))
    .unwrap();
    for text in [
        "",
        "only text",
        r#"a <function=f>{"colour":"red"}</function> b"#,
        r#"<function=f> {"colour": "green"} </function><function=f>{"colour":"red"}</function>"#,
    ] {
        assert_eq!(checker.check(text), Ok(()), "{text}");
    }
    assert_eq!(
        broken(&checker, r#"<function=f>{"colour":"blue"}</function>"#).1,
        "enum"
    );
    assert_eq!(
        broken(&checker, r#"a <function=g>{}</function>"#),
        (2, "tag".to_owned())
    );
    assert_eq!(
        broken(&checker, r#"<function=f>{"colour":"red"}"#),
        (28, "tag".to_owned())
    );
    assert_eq!(
        broken(&checker, "<function=f>nothing</function>"),
        (12, "json".to_owned())
    );
}

#[test]
fn triggered_tags_count_and_stop() {
    let checker = format(&json!({
        "type": "triggered_tags",
        "triggers": ["<tool_call>"],
        "tags": [{"type": "tag", "begin": "<tool_call>", "content": {"type": "json_schema", "json_schema": colour()}, "end": "</tool_call>"}],
        "at_least_one": true,
        "stop_after_first": true
    }));
    let one = r#"<tool_call>{"colour":"red"}</tool_call>"#;
    assert_eq!(checker.check(one), Ok(()));
    assert_eq!(broken(&checker, "no tag").1, "at_least_one");
    assert_eq!(broken(&checker, &format!("{one}{one}")).1, "tag");
    assert_eq!(
        broken(&checker, &format!("{one} more")),
        (one.len(), "tag".to_owned())
    );
}

#[test]
fn formats_compose() {
    let checker = format(&json!({"type": "sequence", "elements": [
        {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
        {"type": "or", "elements": [
            {"type": "const_string", "value": "none"},
            {"type": "regex", "pattern": "[0-9]+"},
            {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}}, "end": ["</a>", "</b>"]}
        ]},
        {"type": "grammar", "grammar": "root ::= \"!\"*"}
    ]}));
    for text in [
        "<think>x < y</think>none",
        "<think></think>12!!",
        "<think>é</think><a>1</a>",
        "<think></think><a>-1 </b>!",
    ] {
        assert_eq!(checker.check(text), Ok(()), "{text}");
    }
    for text in [
        "none",
        "<think>none",
        "<think></think>",
        "<think></think>12?",
        "<think></think><a>1.5</a>",
        "<think></think><a>1</c>",
    ] {
        assert!(checker.check(text).is_err(), "{text}");
    }
}

#[test]
fn what_cannot_be_verified_is_refused_and_not_let_through() {
    let kind = |description: Value| TagChecker::compile(&description).unwrap_err().kind;
    assert_eq!(
        kind(json!({"format": {"type": "token", "token": 3}})),
        Kind::UnsupportedConstraint
    );
    assert_eq!(
        kind(json!({"format": {"type": "any_text", "max_tokens": 3}})),
        Kind::UnsupportedConstraint
    );
    assert_eq!(
        kind(json!({"format": {"type": "json_schema", "json_schema": {}, "style": "qwen_xml"}})),
        Kind::UnsupportedConstraint
    );
    assert_eq!(
        kind(json!({"type": "structural_tag"})),
        Kind::InvalidRequest
    );
    assert_eq!(kind(json!("{}")), Kind::InvalidRequest);
    assert_eq!(kind(json!("nope")), Kind::InvalidRequest);
    assert_eq!(
        kind(json!({"format": {"type": "json_schema", "json_schema": {"$ref": "http://x"}}})),
        Kind::UnsupportedSchema
    );
    assert_eq!(
        kind(json!({"structures": [], "triggers": [""]})),
        Kind::InvalidRequest
    );
    let deep = (0..40).fold(
        json!({"type": "any_text"}),
        |inner, _| json!({"type": "sequence", "elements": [inner]}),
    );
    assert_eq!(kind(json!({"format": deep})), Kind::SchemaTooComplex);
    let text = json!({"format": {"type": "const_string", "value": "x"}}).to_string();
    assert!(TagChecker::compile(&json!(text)).is_ok());
}

#[test]
fn an_ambiguous_description_ends_in_time() {
    let any = json!({"type": "any_text"});
    let checker = format(&json!({"type": "sequence", "elements": vec![any; 10]}));
    let begin = std::time::Instant::now();
    let _ = checker.check(&"x".repeat(5_000));
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}
