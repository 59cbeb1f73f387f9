use super::*;
use crate::error::Kind;
use proptest::prelude::*;
use serde_json::Map;

fn template(json: Value) -> Template {
    match json {
        Value::Object(map) => Template(map),
        _ => panic!("a template is an object"),
    }
}

#[test]
fn a_placeholder_s_value_replaces_and_keeps_its_nulls() {
    let schema = json!({"type": ["string", "null"], "default": null});
    let mut body_fields = fields(&json!({"a": {"json": {"old": 1}, "kept": 2}}));
    let values = TemplateValues {
        schema: Some(&schema),
        ..TemplateValues::default()
    };
    template(json!({"a": {"json": "$schema", "text": "$schema_text", "name": "$name", "strict": "$strict"}}))
        .apply(&mut body_fields, &values)
        .unwrap();
    let got = body(&body_fields);
    assert_eq!(
        got,
        json!({"a": {
            "json": {"type": ["string", "null"], "default": null},
            "kept": 2,
            "text": "{\"type\":[\"string\",\"null\"],\"default\":null}",
            "name": "output",
        }})
    );
}

#[test]
fn fields_that_no_template_names_keep_their_bytes_and_place() {
    let text = br#"{"messages":[ {"role":"user" , "content":"\u00e9 1e5"} ],"x":1.0,"tool_choice":"required","y":{ }}"#;
    let mut body_fields: Fields = serde_json::from_slice(text).unwrap();
    template(json!({"tool_choice": "none", "x": "$remove", "new": {"a": {"b": true}}}))
        .apply(&mut body_fields, &TemplateValues::default())
        .unwrap();
    assert_eq!(
        String::from_utf8(body_fields.to_json()).unwrap(),
        r#"{"messages":[ {"role":"user" , "content":"\u00e9 1e5"} ],"tool_choice":"none","y":{ },"new":{"a":{"b":true}}}"#
    );
}

#[test]
fn a_placeholder_without_a_value_is_an_error_and_changes_nothing() {
    let mut body_fields = fields(&json!({"a": 1}));
    let wrong = template(json!({"a": 2, "b": "$regex"}))
        .apply(&mut body_fields, &TemplateValues::default())
        .unwrap_err();
    assert_eq!(wrong.0, "$regex");
    assert_eq!(body(&body_fields), json!({"a": 1}));
}

#[test]
fn every_embedded_template_is_filled_by_its_own_constraint() {
    let constraints = [
        Constraint::JsonSchema(json!({})),
        Constraint::JsonObject,
        Constraint::Regex("a".into()),
        Constraint::Choice(vec!["a".into()]),
        Constraint::Grammar {
            notation: crate::ir::Notation::Gbnf,
            text: "root ::= \"a\"".into(),
        },
        Constraint::Grammar {
            notation: crate::ir::Notation::Lark,
            text: "start: \"a\"".into(),
        },
        Constraint::StructuralTag(json!({"type": "structural_tag"})),
    ];
    let set = RuleSet::builtin();
    for name in set.names() {
        for text in ["0.0.1", "0.8.5", "0.10.2", "0.11.0", "9999"] {
            let rule = set.resolve(name, version(text)).unwrap();
            for constraint in &constraints {
                let Some(send) = &rule.constraints[constraint.kind()].send else {
                    continue;
                };
                let patch = send.fill(&TemplateValues::of(constraint));
                assert!(
                    patch.is_ok_and(|patch| !patch.is_empty()),
                    "{name} {text} {}",
                    constraint.kind()
                );
            }
        }
    }
}

#[test]
fn a_dropped_field_is_a_loss_with_its_pointer() {
    let mut body_fields = fields(&json!({
        "model": "m",
        "cache_salt": "s",
        "structured_outputs": {"json": {}, "whitespace_pattern": " "},
        "top_k": 5,
    }));
    let losses = apply_fields(&rule("vllm", "0.32.0"), &mut body_fields).unwrap();
    let pointers: Vec<_> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        ["/structured_outputs/whitespace_pattern", "/cache_salt"]
    );
    assert!(losses.iter().all(|loss| !loss.reason.is_empty()));
    assert_eq!(
        body(&body_fields),
        json!({"model": "m", "structured_outputs": {"json": {}}, "top_k": 5})
    );
}

#[test]
fn what_steers_a_server_is_the_operator_s_to_say() {
    for (server, version, names) in [
        (
            "mistral-rs",
            "0.9.2",
            &[
                "enable_shell",
                "agent_permission",
                "code_execution_permission",
                "max_tool_rounds",
                "web_search_options",
                "files",
                "session_id",
                "adapter",
            ][..],
        ),
        (
            "lmdeploy",
            "0.18.0",
            &[
                "migration_request",
                "with_cache",
                "preserve_cache",
                "session_id",
            ],
        ),
        (
            "sglang",
            "0.5.23",
            &[
                "data_parallel_rank",
                "routed_dp_rank",
                "disagg_prefill_dp_rank",
                "session_id",
                "session_params",
                "priority",
            ],
        ),
    ] {
        for name in names {
            let mut sent = fields(&json!({"model": "m", *name: true, "top_k": 5}));
            let losses = apply_fields(&rule(server, version), &mut sent).unwrap();
            assert_eq!(losses.len(), 1, "{server}, {name}");
            assert_eq!(losses[0].pointer, format!("/{name}"), "{server}");
            assert_eq!(
                body(&sent),
                json!({"model": "m", "top_k": 5}),
                "{server}, {name}"
            );
        }
    }
    let mut ids = fields(&json!({"input_ids": [1]}));
    let refused = apply_fields(&rule("lmdeploy", "0.18.0"), &mut ids).unwrap_err();
    assert_eq!(refused.param.as_deref(), Some("input_ids"));
}

#[test]
fn what_cohere_s_compatible_route_does_not_support_is_told() {
    let mut sent = fields(
        &json!({"store": true, "logit_bias": {"1": 2}, "max_completion_tokens": 9, "top_p": 0.5}),
    );
    let losses = apply_fields(&rule("cohere-compat", "1"), &mut sent).unwrap();
    let pointers: Vec<_> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
    assert_eq!(pointers, ["/store", "/logit_bias"]);
    assert_eq!(body(&sent), json!({"max_tokens": 9, "top_p": 0.5}));
}

#[test]
fn a_refused_field_names_itself_and_the_remedy() {
    let mut body_fields = fields(&json!({"chat_template_kwargs": {"tokenize": true}}));
    let error = apply_fields(&rule("vllm", "0.32.0"), &mut body_fields).unwrap_err();
    assert_eq!(error.kind, Kind::InvalidRequest);
    assert_eq!(
        error.param.as_deref(),
        Some("chat_template_kwargs.tokenize")
    );
    assert_eq!(
        error.message,
        "`chat_template_kwargs.tokenize` is not sent to vLLM: the server must tokenize the prompt \
         itself. Leave it out."
    );
}

#[test]
fn a_server_that_refuses_what_it_does_not_know_is_sent_only_what_it_knows() {
    let mut body_fields = fields(&json!({
        "model": "m",
        "top_k": 5,
        "separate_reasoning": true,
        "store": null,
        "a/b": 1,
    }));
    let losses = drop_unknown(&rule("tensorrt-llm", "1.2"), &mut body_fields);
    let told: Vec<_> = losses
        .iter()
        .map(|loss| (loss.pointer.as_str(), loss.reason.as_str()))
        .collect();
    let reason =
        "TensorRT-LLM answers 400 to fields that it does not know (NVIDIA/TensorRT-LLM#9709)";
    assert_eq!(told, [("/separate_reasoning", reason), ("/a~1b", reason)]);
    assert_eq!(body(&body_fields), json!({"model": "m", "top_k": 5}));
    let mut body_fields = fields(&json!({"anything": 1}));
    assert!(drop_unknown(&rule("vllm", "0.32.0"), &mut body_fields).is_empty());
    assert_eq!(body(&body_fields), json!({"anything": 1}));
}

#[test]
fn a_null_says_nothing_and_is_left_out_without_a_loss() {
    let mut body_fields = fields(&json!({"chat_template": null, "cache_salt": null, "n": 1}));
    let losses = apply_fields(&rule("vllm", "0.32.0"), &mut body_fields).unwrap();
    assert!(losses.is_empty());
    assert_eq!(body(&body_fields), json!({"n": 1}));
    // So do what servers do anyway.
    let mut defaults =
        fields(&json!({"n": 1, "logprobs": false, "top_logprobs": 0, "logit_bias": {}}));
    let transformers = rule("transformers", "5.23.0");
    let losses = apply_fields(&transformers, &mut defaults).unwrap();
    assert_eq!((losses.len(), body(&defaults)), (0, json!({})));
    let mut two = fields(&json!({"n": 2}));
    assert_eq!(apply_fields(&transformers, &mut two).unwrap().len(), 1);
}

#[test]
fn a_renamed_field_gives_way_to_the_one_that_is_there() {
    let openai = rule("openai", "1");
    let mut alone = fields(&json!({"n_predict": 5}));
    assert!(apply_fields(&openai, &mut alone).unwrap().is_empty());
    assert_eq!(body(&alone), json!({"max_completion_tokens": 5}));
    let mut both = fields(&json!({"n_predict": 5, "max_completion_tokens": 6}));
    assert_eq!(apply_fields(&openai, &mut both).unwrap().len(), 1);
    assert_eq!(body(&both), json!({"max_completion_tokens": 6}));
}

fn any_json(depth: u32) -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c$ é\"]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            object_of(inner).prop_map(Value::Object),
        ]
    })
    .boxed()
}

fn object_of(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| map.into_iter().collect())
}

/// RFC 7396's own pseudocode, on parsed values, over templates whose literals hold no placeholder.
fn reference(target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut target = match target {
        Value::Object(target) => target,
        _ => Map::new(),
    };
    for (key, value) in patch {
        if value == &json!("$remove") {
            target.remove(key);
        } else {
            let old = target.remove(key).unwrap_or(Value::Null);
            target.insert(key.clone(), reference(old, value));
        }
    }
    Value::Object(target)
}

fn any_template() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        Just(json!("$remove")),
        Just(json!("x")),
        Just(json!([1, {"a": null}])),
    ];
    let value = leaf.prop_recursive(3, 12, 3, |inner| object_of(inner).prop_map(Value::Object));
    object_of(value)
}

proptest! {
    #[test]
    fn merging_agrees_with_rfc_7396_and_is_idempotent(
        target in object_of(any_json(3)),
        patch in any_template(),
    ) {
        let template = Template(patch.clone());
        let mut once = fields(&Value::Object(target.clone()));
        template.apply(&mut once, &TemplateValues::default()).unwrap();
        let expected = reference(Value::Object(target), &Value::Object(patch));
        prop_assert_eq!(body(&once), expected);
        let before = once.to_json();
        template.apply(&mut once, &TemplateValues::default()).unwrap();
        prop_assert_eq!(once.to_json(), before);
    }

    #[test]
    fn a_schema_arrives_as_it_was(schema in any_json(4), target in object_of(any_json(2))) {
        let values = TemplateValues { schema: Some(&schema), ..TemplateValues::default() };
        let mut body_fields = fields(&Value::Object(target));
        template(json!({"a": {"b": "$schema"}})).apply(&mut body_fields, &values).unwrap();
        prop_assert_eq!(&body(&body_fields)["a"]["b"], &schema);
    }
}

#[test]
fn a_vllm_that_refused_unknown_fields_is_sent_what_its_release_knows() {
    let of = |version: &str| {
        let body = json!({
            "model": "m", "messages": [], "seed": 1, "tools": [], "priority": 1, "stream_options": {},
            "max_completion_tokens": 5, "reasoning_effort": "low"
        });
        let mut sent = fields(&body);
        let rule = rule("vllm", version);
        apply_fields(&rule, &mut sent).unwrap();
        let lost: Vec<_> = drop_unknown(&rule, &mut sent)
            .into_iter()
            .map(|loss| loss.pointer)
            .collect();
        (
            sent.0.keys().any(|name| name == "max_tokens"),
            lost.join(" "),
        )
    };
    assert_eq!(
        of("0.4.2"),
        (
            true,
            "/tools /priority /stream_options /reasoning_effort".to_owned()
        )
    );
    assert_eq!(
        of("0.5.4"),
        (true, "/priority /reasoning_effort".to_owned())
    );
    assert_eq!(of("0.6.3"), (true, "/reasoning_effort".to_owned()));
    assert_eq!(of("0.6.4"), (false, "/reasoning_effort".to_owned()));
    assert_eq!(of("0.6.5"), (false, String::new()));
}
