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

fn tag(begin: &str, content: Value, end: &str) -> Value {
    json!({"type": "tag", "begin": begin, "content": content, "end": end})
}

/// xgrammar: it "requires at least one dispatched tag and therefore disallows leading free text".
#[test]
fn where_there_must_be_a_tag_nothing_comes_before_it() {
    let call = |name: &str| {
        tag(
            &format!("<f={name}>"),
            json!({"type": "json_schema", "json_schema": colour()}),
            "</f>",
        )
    };
    let with = |more: Value| {
        let mut it =
            json!({"type": "triggered_tags", "triggers": ["<f="], "tags": [call("a"), call("b")]});
        it.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        format(&it)
    };
    let one = r#"<f=a>{"colour":"red"}</f>"#;
    let least = with(json!({"at_least_one": true}));
    for text in [one.to_owned(), format!("{one} text {one} text")] {
        assert_eq!(least.check(&text), Ok(()), "{text}");
    }
    assert_eq!(broken(&least, &format!("text {one}")).1, "at_least_one");
    assert_eq!(broken(&least, "").1, "at_least_one");
    let only = with(json!({"at_least_one": true, "stop_after_first": true}));
    assert_eq!(only.check(one), Ok(()));
    for text in [format!(" {one}"), format!("{one} "), format!("{one}{one}")] {
        assert!(only.check(&text).is_err(), "{text}");
    }
    let first = with(json!({"stop_after_first": true}));
    for text in ["text", &format!("text {one}")] {
        assert_eq!(first.check(text), Ok(()), "{text}");
    }
    assert!(first.check(&format!("{one} text")).is_err());
}

#[test]
fn tags_with_a_separator_have_nothing_else_between_them() {
    let checker = |more: Value| {
        let mut it = json!({"type": "tags_with_separator", "separator": ",", "tags": [
            tag("<a>", json!({"type": "json_schema", "json_schema": colour()}), "</a>"),
            tag("<b>", json!({"type": "any_text"}), "</b>"),
        ]});
        it.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        format(&it)
    };
    let (a, b) = (r#"<a>{"colour":"red"}</a>"#, "<b>x,y</b>");
    let all = checker(json!({}));
    for text in [String::new(), a.to_owned(), format!("{a},{b},{a}")] {
        assert_eq!(all.check(&text), Ok(()), "{text}");
    }
    assert_eq!(
        broken(&all, &format!("{a}{b}")),
        (a.len(), "separator".to_owned())
    );
    assert_eq!(broken(&all, &format!("{a},x")).1, "tag");
    assert_eq!(broken(&all, &format!("{a},")).1, "tag");
    assert_eq!(broken(&all, r#"<a>{"colour":"blue"}</a>"#).1, "enum");
    assert!(all.check(&format!("so {a}")).is_err());
    let least = checker(json!({"at_least_one": true}));
    assert!(least.check("").is_err());
    assert_eq!(least.check(&format!("{a},{b}")), Ok(()));
    let first = checker(json!({"stop_after_first": true}));
    assert_eq!((first.check(""), first.check(a)), (Ok(()), Ok(())));
    assert!(first.check(&format!("{a},{b}")).is_err());
    // Inside of a tag, and between other things.
    let inside = format(&tag(
        "[",
        json!({"type": "tags_with_separator", "separator": "", "tags": [
            tag("<", json!({"type": "regex", "pattern": "[a-z]+"}), ">")
        ]}),
        "]",
    ));
    for text in ["[]", "[<a>]", "[<a><b>]"] {
        assert_eq!(inside.check(text), Ok(()), "{text}");
    }
    assert!(inside.check("[<a>,<b>]").is_err());
}

#[test]
fn formats_repeat() {
    let word = || json!({"type": "const_string", "value": "ab"});
    let of = |kind: Value| {
        let mut kind = kind;
        kind["content"] = word();
        format(
            &json!({"type": "sequence", "elements": [kind, {"type": "const_string", "value": "."}]}),
        )
    };
    for (kind, good, bad) in [
        (
            json!({"type": "optional"}),
            vec![".", "ab."],
            vec!["abab.", "a."],
        ),
        (
            json!({"type": "plus"}),
            vec!["ab.", "ababab."],
            vec![".", "aba."],
        ),
        (json!({"type": "star"}), vec![".", "abab."], vec!["b."]),
        (
            json!({"type": "repeat", "min": 1, "max": 2}),
            vec!["ab.", "abab."],
            vec![".", "ababab."],
        ),
        (
            json!({"type": "repeat", "min": 2, "max": -1}),
            vec!["abab.", "ababababab."],
            vec!["ab."],
        ),
        (
            json!({"type": "repeat", "min": 0, "max": 0}),
            vec!["."],
            vec!["ab."],
        ),
    ] {
        let checker = of(kind.clone());
        for text in good {
            assert_eq!(checker.check(text), Ok(()), "{text} under {kind}");
        }
        for text in bad {
            assert!(checker.check(text).is_err(), "{text} under {kind}");
        }
    }
    // What takes nothing ends all the same, however often it is asked for.
    let nothing = json!({"type": "repeat", "min": 2_000_000_000, "max": -1, "content": {"type": "regex", "pattern": "a*"}});
    assert_eq!(format(&nothing).check(""), Ok(()));
    assert_eq!(
        TagChecker::compile(
            &json!({"format": {"type": "repeat", "min": 2, "max": 1, "content": word()}})
        )
        .unwrap_err()
        .kind,
        Kind::InvalidRequest
    );
}

#[test]
fn a_dispatch_demands_what_follows_a_text() {
    let dispatch = |more: Value| {
        let mut it = json!({"type": "dispatch", "rules": [
            ["<n>", {"type": "regex", "pattern": "[0-9]+;"}],
            ["<c>", {"type": "json_schema", "json_schema": colour()}]
        ]});
        it.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        format(&it)
    };
    let loops = dispatch(json!({}));
    for text in ["", "text", "a <n>12; b <c>{\"colour\":\"red\"} c"] {
        assert_eq!(loops.check(text), Ok(()), "{text}");
    }
    assert!(loops.check("a <n>x").is_err());
    assert_eq!(broken(&loops, "<c>{\"colour\":\"blue\"}").1, "enum");
    assert!(
        dispatch(json!({"loop": false}))
            .check("<n>1; more")
            .is_err()
    );
    assert!(
        dispatch(json!({"excludes": ["stop"]}))
            .check("a stop")
            .is_err()
    );
}

#[test]
fn free_text_ends_wherever_what_follows_it_begins() {
    let checker = format(&json!({"type": "sequence", "elements": [
        {"type": "any_text", "excludes": ["</end>"]}, {"type": "const_string", "value": "</end>"}
    ]}));
    assert_eq!(checker.check("some text</end>"), Ok(()));
    assert!(checker.check("some</end>text</end>").is_err());
    let checker = format(&tag(
        "<a>",
        json!({"type": "sequence", "elements": [
            {"type": "any_text"}, {"type": "const_string", "value": "!"}
        ]}),
        "</a>",
    ));
    assert_eq!(checker.check("<a>x!y!</a>"), Ok(()));
    assert!(checker.check("<a>x</a>").is_err());
    let checker = format(
        &json!({"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": ["</a", "</a>"]}),
    );
    for text in ["<a>x</a", "<a>x</a>"] {
        assert_eq!(checker.check(text), Ok(()), "{text}");
    }
}

#[test]
fn free_text_has_so_many_characters_and_its_tokens_are_the_servers_to_count() {
    let any = json!({"type": "any_text", "max_chars": 3, "max_tokens": 2});
    let checker = format(&tag("<a>", any, "</a>"));
    assert_eq!(checker.check("<a>äöü</a>"), Ok(()));
    assert!(checker.check("<a>äöüx</a>").is_err());
    assert!(checker.has_budgets());
    assert!(!format(&json!({"type": "any_text", "max_chars": 3})).has_budgets());
}

#[test]
fn parameters_in_markup_are_read_by_their_schema() {
    let schema = json!({
        "type": "object", "required": ["name", "age"], "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "maxLength": 60}, "age": {"$ref": "#/$defs/age"},
            "tags": {"type": "array", "items": {"type": "string"}}, "kind": {"enum": ["a", 2]}
        },
        "$defs": {"age": {"type": "integer", "minimum": 0}}
    });
    // xgrammar's own examples.
    let checker = format(&json!({"type": "qwen_xml_parameter", "json_schema": schema}));
    for text in [
        "<parameter=name>Bob</parameter><parameter=age>\t100\n</parameter>",
        "\n\t<parameter=name>Bob</parameter>\n<parameter=age>100</parameter>\n",
        "<parameter=name>\"Bob&lt;\"</parameter><parameter=age>100</parameter>",
        "<parameter=name><!DOCTYPE html>\n</html></parameter><parameter=age>1</parameter>",
        "<parameter=name>12</parameter><parameter=age>1</parameter><parameter=tags>[\"</parameter>\"]</parameter>",
        "<parameter=name>n</parameter><parameter=age>1</parameter><parameter=kind>a</parameter>",
        "<parameter=name>n</parameter><parameter=age>1</parameter><parameter=kind>2</parameter>",
    ] {
        assert_eq!(checker.check(text), Ok(()), "{text}");
    }
    for (text, rule) in [
        ("<parameter=name>Bob</parameter>", "required"),
        (
            "<parameter=name>Bob</parameter><parameter=age>x</parameter>",
            "parameter",
        ),
        (
            "<parameter=name>Bob</parameter><parameter=age>-1</parameter>",
            "minimum",
        ),
        (
            "<parameter=name>Bob</parameter><parameter=age>1</parameter><parameter=b>1</parameter>",
            "additionalProperties",
        ),
        (
            "<parameter=name>a</parameter><parameter=name>b</parameter><parameter=age>1</parameter>",
            "parameter",
        ),
        ("<parameter=name>Bob<parameter=age>1", "parameter"),
        (
            "<parameter=name>Bob</parameter><parameter=age>1</parameter> text",
            "tag",
        ),
    ] {
        assert_eq!(broken(&checker, text).1, rule, "{text}");
    }
    let checker = format(&tag(
        "<f>",
        json!({"type": "json_schema", "json_schema": schema, "style": "minimax_xml"}),
        "</f>",
    ));
    assert_eq!(
        checker.check(
            "<f><parameter name=\"name\">B</parameter><parameter name=\"age\">1</parameter></f>"
        ),
        Ok(())
    );
    assert!(
        checker
            .check("<f><parameter=name>B</parameter></f>")
            .is_err()
    );
}

#[test]
fn what_cannot_be_verified_is_refused_and_not_let_through() {
    let kind = |description: Value| TagChecker::compile(&description).unwrap_err().kind;
    assert_eq!(
        kind(json!({"format": {"type": "token", "token": 3}})),
        Kind::UnsupportedConstraint
    );
    assert_eq!(
        kind(json!({"format": {"type": "any_tokens", "max_tokens": 3}})),
        Kind::UnsupportedConstraint
    );
    let token = json!({"type": "token", "token": 3});
    assert_eq!(
        kind(
            json!({"format": {"type": "tag", "begin": token, "content": {"type": "any_text"}, "end": "x"}})
        ),
        Kind::UnsupportedConstraint
    );
    assert_eq!(
        kind(json!({"format": {"type": "json_schema", "json_schema": {}, "style": "glm_xml"}})),
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

/// Every beginning of `text` may have been cut there, and with `wrong` in it none behind it.
fn assert_cuts(checker: &TagChecker, right: &str, wrong: &[&str]) {
    for end in (0..=right.len()).filter(|end| right.is_char_boundary(*end)) {
        assert_eq!(
            checker.check_cut(&right[..end]),
            Ok(()),
            "{}",
            &right[..end]
        );
    }
    for text in wrong {
        assert!(checker.check_cut(text).is_err(), "{text}");
    }
}

#[test]
fn a_text_that_was_cut_is_the_beginning_of_a_right_one() {
    let legacy = TagChecker::compile(&json!({
        "type": "structural_tag",
        "structures": [{"begin": "<function=f>", "schema": colour(), "end": "</function>"}],
        "triggers": ["<function="]
    }))
    .unwrap();
    assert_cuts(
        &legacy,
        "é a <function=f> {\"colour\": \"red\"} </function> b",
        &[
            "<function=f>{\"colour\":\"blue\"}",
            "<function=f>{\"colour\":\"blue\"",
            "<function=f>nothing",
            "<function=g",
            "<function=f>{\"colour\":\"red\"} x",
        ],
    );
    let parts = format(&json!({"type": "sequence", "elements": [
        {"type": "const_string", "value": "go "},
        {"type": "regex", "pattern": "[a-c]{2}"},
        {"type": "tags_with_separator", "separator": ", ", "at_least_one": true, "tags": [
            tag("<n>", json!({"type": "json_schema", "json_schema": {"type": "integer", "maximum": 50}}), "</n>")
        ]}
    ]}));
    assert_cuts(
        &parts,
        "go ab<n>12</n>, <n>7</n>",
        &[
            "goo",
            "go ad",
            "go ab<m",
            "go ab<n>\"x\"",
            "go ab<n>99</n",
            "go ab<n>1</n>;",
        ],
    );
    let parameters = format(&tag(
        "<f>",
        json!({"type": "qwen_xml_parameter", "json_schema": {
            "type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"],
            "additionalProperties": false
        }}),
        "</f>",
    ));
    assert_cuts(
        &parameters,
        "<f><parameter=s>a b</parameter><parameter=n>5</parameter></f>",
        &[
            "<f><parameter=n>five</parameter>",
            "<f><parameter=z>5</parameter><parameter",
            "<f><parameter=s>a</parameter> and",
        ],
    );
}
