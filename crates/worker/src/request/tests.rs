use super::*;
use serde_json::json;

fn chat(extra: &Value) -> Result<Asked, Error> {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    merge(&mut body, extra);
    read_chat(body.to_string().as_bytes())
}

fn completion(extra: &Value) -> Result<Asked, Error> {
    let mut body = json!({"model": "m", "prompt": "once"});
    merge(&mut body, extra);
    read_completion(body.to_string().as_bytes())
}

fn merge(body: &mut Value, extra: &Value) {
    for (name, value) in extra.as_object().unwrap() {
        body[name] = value.clone();
    }
}

fn params(read: fn(&Value) -> Result<Asked, Error>, cases: &[(Value, &str)]) {
    for (extra, param) in cases {
        let error = read(extra).map(|_| extra).unwrap_err();
        assert_eq!(error.status(), 400, "{extra}");
        assert_eq!(error.param.as_deref(), Some(*param), "{extra}: {error}");
        assert!(
            error.message.contains(param.split('.').next().unwrap()),
            "{extra}: {error}"
        );
    }
}

#[test]
fn a_plain_chat_has_the_defaults_of_the_hosted_api() {
    let asked = chat(&json!({})).unwrap();
    assert_eq!(asked.model, "m");
    assert_eq!(asked.sampling, Sampling::default());
    assert_eq!(
        asked.limits,
        Limits {
            is_said: true,
            ..Limits::default()
        }
    );
    assert_eq!((asked.n, asked.stream, asked.whitespace), (1, false, None));
    assert!(asked.constraint.is_none());
    let Source::Chat(chat) = asked.source else {
        unreachable!()
    };
    assert_eq!(chat.messages, [json!({"role": "user", "content": "hi"})]);
}

#[test]
fn sampling_fields_are_read() {
    let asked = chat(&json!({
        "temperature": 0, "top_p": 0.5, "top_k": -1, "min_p": 0.1, "presence_penalty": -2,
        "frequency_penalty": 2, "repetition_penalty": 1.1, "logit_bias": {"7": -100, "0": 1.5},
        "seed": -1, "logprobs": true, "top_logprobs": 3, "stop": ["a", "b"],
        "max_completion_tokens": 5, "ignore_eos": true,
    }))
    .unwrap();
    assert_eq!(
        asked.sampling,
        Sampling {
            temperature: 0.0,
            top_p: 0.5,
            top_k: 0,
            min_p: 0.1,
            presence_penalty: -2.0,
            frequency_penalty: 2.0,
            repetition_penalty: 1.1,
            logit_bias: vec![(7, -100.0), (0, 1.5)],
            seed: Some(u64::MAX),
            logprobs: Some(3),
        }
    );
    assert_eq!(
        asked.limits,
        Limits {
            max_tokens: Some(5),
            stop: vec!["a".to_owned(), "b".to_owned()],
            ignore_end: true,
            is_said: true,
            leaves_a_quarter: false,
            spares_tags: false,
        }
    );
    assert!(asked.check(8).is_ok());
    let outside = asked.check(7).unwrap_err();
    assert_eq!(outside.param.as_deref(), Some("logit_bias"));
    assert!(outside.message.contains("from 0 to 6"), "{outside}");
}

#[test]
fn a_whole_number_may_have_a_point() {
    let asked = chat(&json!({"max_tokens": 300.0, "top_k": 5.0, "seed": 7.0, "n": 2.0})).unwrap();
    assert_eq!((asked.n, asked.limits.max_tokens), (2, Some(300)));
    assert_eq!((asked.sampling.top_k, asked.sampling.seed), (5, Some(7)));
}

#[test]
fn a_value_out_of_its_range_is_refused_by_its_name() {
    params(
        chat,
        &[
            (json!({"temperature": -0.1}), "temperature"),
            (json!({"temperature": 101}), "temperature"),
            (json!({"temperature": "hot"}), "temperature"),
            (json!({"top_p": 0}), "top_p"),
            (json!({"top_p": 1.01}), "top_p"),
            (json!({"top_k": -2}), "top_k"),
            (json!({"top_k": 0.5}), "top_k"),
            (json!({"min_p": 2}), "min_p"),
            (json!({"presence_penalty": 2.1}), "presence_penalty"),
            (json!({"frequency_penalty": -3}), "frequency_penalty"),
            (json!({"repetition_penalty": 0}), "repetition_penalty"),
            (json!({"seed": 1.5}), "seed"),
            (json!({"logit_bias": {"x": 1}}), "logit_bias"),
            (json!({"logit_bias": {"01": 1}}), "logit_bias"),
            (json!({"logit_bias": {"-1": 1}}), "logit_bias"),
            (json!({"logit_bias": {"1": 101}}), "logit_bias"),
            (json!({"logit_bias": [1]}), "logit_bias"),
            (json!({"top_logprobs": 3}), "top_logprobs"),
            (
                json!({"logprobs": true, "top_logprobs": 21}),
                "top_logprobs",
            ),
            (json!({"logprobs": 3}), "logprobs"),
            (json!({"stop": [""]}), "stop"),
            (json!({"stop": [1]}), "stop"),
            (json!({"stop": vec!["x"; 17]}), "stop"),
            (json!({"stop": "x".repeat(1_025)}), "stop"),
            (json!({"max_tokens": 0}), "max_tokens"),
            (json!({"max_tokens": -1}), "max_tokens"),
            (
                json!({"max_tokens": 1, "max_completion_tokens": 2}),
                "max_tokens",
            ),
            (json!({"n": 0}), "n"),
            (json!({"n": 129}), "n"),
            (json!({"messages": []}), "messages"),
            (json!({"messages": ["hi"]}), "messages[0]"),
            (json!({"messages": [{"content": "hi"}]}), "messages[0]"),
            (json!({"whitespace": "lots"}), "whitespace"),
            (json!({"reasoning_effort": 3}), "reasoning_effort"),
        ],
    );
    let many: Map<String, Value> = (0..1_025).map(|id| (id.to_string(), json!(1))).collect();
    params(chat, &[(json!({"logit_bias": many}), "logit_bias")]);
}

#[test]
fn what_would_change_the_answer_and_is_not_served_is_refused_by_its_name() {
    params(
        chat,
        &[
            (json!({"audio": {"voice": "x"}}), "audio"),
            (json!({"modalities": ["text", "audio"]}), "modalities"),
            (json!({"best_of": 2}), "best_of"),
            (json!({"prediction": {"type": "content"}}), "prediction"),
            (json!({"min_tokens": 3}), "min_tokens"),
            (json!({"stop_token_ids": [1]}), "stop_token_ids"),
            (json!({"chat_template": "{{ x }}"}), "chat_template"),
            (
                json!({"chat_template_kwargs": {"bos_token": "x"}}),
                "chat_template_kwargs.bos_token",
            ),
            (json!({"echo": true}), "echo"),
            (json!({"temprature": 1}), "temprature"),
            (
                json!({"stream_options": {"every": 1}}),
                "stream_options.every",
            ),
            (
                json!({"structured_outputs": {"json": {}, "whitespace_pattern": "x"}}),
                "structured_outputs.whitespace_pattern",
            ),
            (json!({"tools": [{"type": "web_search"}]}), "tools[0].type"),
        ],
    );
    params(
        completion,
        &[
            (json!({"suffix": "x"}), "suffix"),
            (json!({"messages": [{"role": "user"}]}), "messages"),
            (json!({"max_completion_tokens": 4}), "max_completion_tokens"),
        ],
    );
}

#[test]
fn what_changes_nothing_is_taken() {
    chat(&json!({
        "user": "u", "metadata": {"a": "b"}, "store": false, "service_tier": "auto",
        "parallel_tool_calls": null, "suffix": null, "best_of": 1, "echo": false, "audio": null,
        "modalities": ["text"], "length_penalty": 1, "stop_token_ids": [], "min_tokens": 0,
        "stream_options": {"include_usage": true, "include_obfuscation": true},
        "bad_words": [], "skip_special_tokens": true,
    }))
    .unwrap();
}

#[test]
fn every_spelling_of_a_constraint_is_read_for_both_endpoints() {
    for (extra, kind) in [
        (
            json!({"response_format": {"type": "json_object"}}),
            "json_object",
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}}),
            "json_schema",
        ),
        (json!({"structured_outputs": {"regex": "a+"}}), "regex"),
        (json!({"guided_choice": ["a", "b"]}), "choice"),
        (json!({"grammar": "root ::= \"a\""}), "grammar:gbnf"),
        (
            json!({"structured_outputs": {"structural_tag": "{}"}}),
            "structural_tag",
        ),
    ] {
        for read in [chat, completion] {
            let stated = read(&extra).unwrap().constraint.unwrap();
            assert_eq!(stated.constraint.kind(), kind, "{extra}");
        }
    }
    params(
        chat,
        &[(
            json!({"guided_regex": "a", "structured_outputs": {"regex": "b"}}),
            "guided_regex",
        )],
    );
}

#[test]
fn the_request_may_say_how_json_is_laid_out() {
    let schema = json!({"type": "object"});
    for (extra, whitespace) in [
        (json!({"structured_outputs": {"json": schema}}), None),
        (
            json!({"structured_outputs": {"json": schema, "disable_any_whitespace": true}}),
            Some(Whitespace::Compact),
        ),
        (
            json!({"structured_outputs": {"json": schema, "whitespace": "flexible"}}),
            Some(Whitespace::Flexible),
        ),
        (json!({"whitespace": "compact"}), Some(Whitespace::Compact)),
    ] {
        assert_eq!(chat(&extra).unwrap().whitespace, whitespace, "{extra}");
    }
}

#[test]
fn tools_are_shown_and_a_forced_call_is_referred_to_the_proxy() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let tools = json!([tool("a"), tool("b")]);
    for (choice, shown) in [
        (json!("none"), 2),
        (json!("auto"), 2),
        (Value::Null, 2),
        (
            json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [tool("b")]}}),
            1,
        ),
    ] {
        let asked = chat(&json!({"tools": tools, "tool_choice": choice})).unwrap();
        let Source::Chat(chat) = asked.source else {
            unreachable!()
        };
        assert_eq!(chat.tools.len(), shown, "{choice}");
        assert_eq!(chat.tools.last(), Some(&tool("b")));
    }
    for choice in [json!("required"), tool("a")] {
        let error = chat(&json!({"tools": tools, "tool_choice": choice})).unwrap_err();
        assert!(error.message.contains("put the proxy in front"), "{error}");
    }
    let legacy = chat(&json!({"functions": [{"name": "f"}]})).unwrap();
    let Source::Chat(chat) = legacy.source else {
        unreachable!()
    };
    assert_eq!(
        chat.tools,
        [json!({"type": "function", "function": {"name": "f"}})]
    );
}

#[test]
fn a_conversation_goes_on_with_the_models_own_words_where_it_says_so() {
    let user = json!({"role": "user", "content": "Count."});
    let said = json!({"role": "assistant", "content": [{"type": "text", "text": "One,"}]});
    let goes_on = |more: Value| {
        let mut extra = json!({"messages": [user, said]});
        merge(&mut extra, &more);
        match chat(&extra).map(|asked| asked.source) {
            Ok(Source::Chat(chat)) => Ok(chat.goes_on),
            Ok(_) => unreachable!(),
            Err(error) => Err(error.param.unwrap_or_default()),
        }
    };
    assert_eq!(goes_on(json!({})), Ok(false));
    assert_eq!(goes_on(json!({"continue_final_message": true})), Ok(true));
    let told = json!({"continue_final_message": true, "add_generation_prompt": false});
    assert_eq!(goes_on(told), Ok(true));
    let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    for (more, param) in [
        (
            json!({"add_generation_prompt": false}),
            "add_generation_prompt",
        ),
        (
            json!({"continue_final_message": true, "add_generation_prompt": true}),
            "add_generation_prompt",
        ),
        (
            json!({"continue_final_message": true, "messages": [user]}),
            "continue_final_message",
        ),
        (
            json!({"continue_final_message": true, "messages": [user, {"role": "assistant", "content": "One,", "tool_calls": [call]}]}),
            "continue_final_message",
        ),
    ] {
        assert_eq!(goes_on(more.clone()), Err(param.to_owned()), "{more}");
    }
}

#[test]
fn templates_see_the_arguments_of_earlier_calls_as_values() {
    let call = |arguments: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}]})
    };
    let asked = chat(&json!({
        "messages": [call(r#"{"a": "\u003cx"}"#), call("no json")],
        "chat_template_kwargs": {"enable_thinking": false},
        "reasoning_effort": "low",
    }))
    .unwrap();
    let Source::Chat(chat) = asked.source else {
        unreachable!()
    };
    let arguments = |index: usize| &chat.messages[index]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments(0), &json!({"a": "<x"}));
    assert_eq!(arguments(1), &json!("no json"));
    assert_eq!(
        Value::Object(chat.kwargs),
        json!({"enable_thinking": false, "reasoning_effort": "low"})
    );
}

#[test]
fn a_completion_goes_on_from_texts_or_tokens() {
    let plain = |text: &str| Text::Plain(text.to_owned());
    for (prompt, expected) in [
        (json!("a"), vec![plain("a")]),
        (json!(["a", "b"]), vec![plain("a"), plain("b")]),
        (json!([1, 2]), vec![Text::Tokens(vec![1, 2])]),
        (
            json!([[1], [2]]),
            vec![Text::Tokens(vec![1]), Text::Tokens(vec![2])],
        ),
    ] {
        let asked = completion(&json!({"prompt": prompt})).unwrap();
        let special = true;
        assert_eq!(asked.choices(), expected.len());
        assert_eq!(
            asked.source,
            Source::Prompts {
                prompts: expected,
                special
            },
            "{prompt}"
        );
        assert_eq!(asked.limits.max_tokens, Some(16));
    }
    params(
        completion,
        &[
            (json!({"prompt": null}), "prompt"),
            (json!({"prompt": []}), "prompt"),
            (json!({"prompt": [[]]}), "prompt"),
            (json!({"prompt": [-1]}), "prompt"),
            (json!({"prompt": vec!["a"; 129]}), "prompt"),
            (json!({"prompt": ["a", "b"], "n": 65}), "n"),
            (json!({"logprobs": 21}), "logprobs"),
        ],
    );
    assert_eq!(
        completion(&json!({"logprobs": 2}))
            .unwrap()
            .sampling
            .logprobs,
        Some(2)
    );
    let tokens = completion(&json!({"prompt": [3, 9]})).unwrap();
    assert_eq!(
        tokens.check(9).unwrap_err().param.as_deref(),
        Some("prompt")
    );
}

#[test]
fn the_tokenisers_own_endpoints_are_read() {
    let tokenize = |body: Value| Tokenize::read(body.to_string().as_bytes());
    let asked = tokenize(json!({"prompt": "a", "add_special_tokens": false})).unwrap();
    let prompts = vec![Text::Plain("a".to_owned())];
    assert_eq!(
        asked.source,
        Source::Prompts {
            prompts,
            special: false
        }
    );
    let chat = json!({"messages": [{"role": "user", "content": "a"}]});
    assert!(matches!(tokenize(chat).unwrap().source, Source::Chat(_)));
    for (body, param) in [
        (json!({}), "prompt"),
        (json!({"prompt": 3}), "prompt"),
        (json!({"prompt": "a", "continue": true}), "continue"),
    ] {
        assert_eq!(tokenize(body).unwrap_err().param.as_deref(), Some(param));
    }
    let detokenize = |body: Value| Detokenize::read(body.to_string().as_bytes());
    assert_eq!(
        detokenize(json!({"tokens": [1, 2]})).unwrap().tokens,
        [1, 2]
    );
    assert!(detokenize(json!({"tokens": "a"})).is_err());
}

#[test]
fn a_body_that_readers_may_disagree_about_is_refused() {
    for body in [
        r#"{"messages":[{"role":"user"}],"n":1,"n":2}"#,
        "[]",
        "{",
        "",
    ] {
        for read in [read_chat, read_completion] {
            assert_eq!(read(body.as_bytes()).unwrap_err().status(), 400, "{body}");
        }
    }
}
