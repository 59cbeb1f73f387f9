//! What OpenAI's models refuse, in the words of its errors, and how they are asked then.

mod route;

use crate::asking::{self, CHAT, MESSAGES, chat, lost, planned, sent};
use crate::replay::rule;
use isogloss_core::exchange::Exchange;
use serde_json::{Value, json};

/// Asks a model that `refuses` some of it until it is content, and learns from what it says.
fn learnt(
    asked: (&str, &Value),
    refuses: impl Fn(&str, &Value) -> Option<String>,
) -> (Vec<String>, Exchange) {
    let (known, exchange) = asking::learnt("openai", asked, refuses);
    let exchange = exchange.unwrap_or_else(|| panic!("after {known:?}"));
    (known, exchange)
}

fn messages(more: &Value) -> Value {
    let mut body = chat(more);
    body["max_tokens"] = json!(900);
    body
}

/// `gpt-4o` and its like (langchain_dart#712, Operit#1048).
fn thoughtless(_: &str, body: &Value) -> Option<String> {
    body.get("reasoning_effort")
        .map(|_| "Unrecognized request argument supplied: reasoning_effort".to_owned())
}

/// A model that knows these efforts, and no others (Kilo-Org/cloud#3807).
fn knows(efforts: &'static [&'static str]) -> impl Fn(&str, &Value) -> Option<String> {
    move |_, body| {
        let effort = body.get("reasoning_effort")?.as_str()?;
        (!efforts.contains(&effort)).then(|| {
            format!(
                "Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. Supported values are: …"
            )
        })
    }
}

/// A reasoning model (chatboxai/chatbox#2627, BerriAI/litellm#15244).
fn unsampled(_: &str, body: &Value) -> Option<String> {
    if body.get("temperature").is_some() {
        let message = "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.";
        return Some(message.to_owned());
    }
    ["top_p", "stop"].into_iter().find_map(|name| {
        body.get(name)
            .map(|_| format!("Unsupported parameter: '{name}' is not supported with this model."))
    })
}

#[test]
fn a_model_that_does_not_think_is_told_nothing_of_it() {
    for (path, body, is_lost) in [
        (CHAT, chat(&json!({"reasoning_effort": "high"})), true),
        (
            MESSAGES,
            messages(&json!({"output_config": {"effort": "high"}})),
            true,
        ),
        // It does not think anyway.
        (
            MESSAGES,
            messages(&json!({"thinking": {"type": "disabled"}})),
            false,
        ),
    ] {
        let (known, exchange) = learnt((path, &body), thoughtless);
        assert_eq!(known, ["no_thinking_words"]);
        assert_eq!(!lost(&exchange).is_empty(), is_lost, "{body}");
    }
}

#[test]
fn a_model_is_asked_for_the_nearest_effort_that_it_knows() {
    let off = messages(&json!({"thinking": {"type": "disabled"}}));
    let most = messages(&json!({"output_config": {"effort": "max"}}));
    let least = chat(&json!({"reasoning_effort": "minimal"}));
    for (path, body, knows, facts, told) in [
        (
            MESSAGES,
            &off,
            knows(&["minimal", "low", "medium", "high"]),
            vec!["no_thinking_off"],
            "minimal",
        ),
        (
            MESSAGES,
            &off,
            knows(&["low", "medium", "high"]),
            vec!["no_thinking_off", "no_effort_minimal"],
            "low",
        ),
        (
            MESSAGES,
            &most,
            knows(&["none", "low", "medium", "high"]),
            vec!["no_effort_max", "no_effort_xhigh"],
            "high",
        ),
        (
            CHAT,
            &least,
            knows(&["high"]),
            vec!["no_effort_minimal", "no_effort_low", "no_effort_medium"],
            "high",
        ),
    ] {
        let (known, exchange) = learnt((path, body), knows);
        assert_eq!(known, facts);
        assert_eq!(sent(body, &exchange)["reasoning_effort"], told);
        assert_eq!(lost(&exchange).len(), 1, "{body}");
    }
    // What it knows is nobody's loss.
    let (known, exchange) = learnt((MESSAGES, &most), |_, _| None);
    assert_eq!(sent(&most, &exchange)["reasoning_effort"], "max");
    assert!(known.is_empty() && lost(&exchange).is_empty());
}

#[test]
fn a_model_that_cannot_be_told_how_to_sample_or_where_to_stop_is_not_and_that_is_a_loss() {
    let body = chat(&json!({"temperature": 0.2, "stop": ["a"]}));
    let (known, exchange) = learnt((CHAT, &body), unsampled);
    assert_eq!(known, ["no_sampling", "no_stop"]);
    assert_eq!(lost(&exchange), ["/temperature", "/stop"]);
    let body = messages(&json!({"top_p": 0.2, "stop_sequences": ["a"]}));
    let (known, exchange) = learnt((MESSAGES, &body), unsampled);
    assert_eq!(known, ["no_sampling", "no_stop"]);
    assert_eq!(lost(&exchange), ["/top_p", "/stop_sequences"]);
}

/// A property of this schema, closed as strict mode wants it.
fn strict(property: &Value) -> Value {
    json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false})
}

#[test]
fn formats_that_strict_mode_does_not_know_are_left_to_the_proxy() {
    for (format, is_kept) in [("uri", false), ("idn-email", false), ("uuid", true)] {
        let schema = strict(&json!({"type": "string", "format": format}));
        let stated = json!({"name": "x", "strict": true, "schema": schema});
        let format_of = json!({"response_format": {"type": "json_schema", "json_schema": stated}});
        let tool = json!({"type": "function", "function": {"name": "f", "strict": true, "parameters": schema}});
        for (body, at) in [
            (
                chat(&format_of),
                "/response_format/json_schema/schema/properties/a/format",
            ),
            (
                chat(&json!({"tools": [tool]})),
                "/tools/0/function/parameters/properties/a/format",
            ),
        ] {
            let exchange = planned(CHAT, &body, &rule("openai"));
            assert_eq!(sent(&body, &exchange).pointer(at).is_some(), is_kept);
            assert_eq!(lost(&exchange).is_empty(), is_kept, "{format}");
            assert_eq!(exchange.sent().is_none(), is_kept, "{format}");
        }
    }
}

#[test]
fn a_keyword_that_a_strict_tool_goes_without_is_told_to_the_model_in_words() {
    let with = |server: &str, property: &Value| {
        let function = json!({"name": "f", "strict": true, "parameters": strict(property)});
        let body = chat(&json!({"tools": [{"type": "function", "function": function}]}));
        let exchange = planned(CHAT, &body, &rule(server));
        let told = sent(&body, &exchange)["tools"][0]["function"]["parameters"].clone();
        (told["properties"]["a"].clone(), exchange.losses.len())
    };
    let words = "{uniqueItems: true}";
    let list = |more: Value| {
        let mut list = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
        list.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        list
    };
    for server in ["openai", "vllm@0.32.0"] {
        let (told, losses) = with(server, &list(json!({})));
        assert_eq!(
            (&told["description"], losses),
            (&json!(words), 1),
            "{server}"
        );
        let (told, _) = with(server, &list(json!({"description": "Their names. "})));
        assert_eq!(
            told["description"],
            format!("Their names. \n\n{words}"),
            "{server}"
        );
        assert!(told.get("uniqueItems").is_none(), "{server}: {told}");
    }
    // xgrammar would write it without escapes.
    for (server, lost) in [("openai", None), ("vllm@0.32.0", Some("{minLength: 2}"))] {
        let (told, losses) = with(server, &json!({"type": "string", "minLength": 2}));
        let description = told.get("description").and_then(Value::as_str);
        assert_eq!(description, lost, "{server}");
        assert_eq!(losses, usize::from(lost.is_some()), "{server}");
    }
}

#[test]
fn strict_tools_are_held_to_the_strict_subset_and_others_are_hints() {
    let all_of = json!({"allOf": [{"type": "string"}, {"minLength": 2}]});
    let tools = |is_strict: bool| {
        let function = json!({"name": "f", "strict": is_strict, "parameters": strict(&all_of)});
        let tool = json!({"name": "f", "strict": is_strict, "input_schema": strict(&all_of)});
        [
            (
                CHAT,
                chat(&json!({"tools": [{"type": "function", "function": function}]})),
            ),
            (MESSAGES, messages(&json!({"tools": [tool]}))),
        ]
    };
    for (path, body) in tools(true) {
        let exchange = planned(path, &body, &rule("openai"));
        let tool = &sent(&body, &exchange)["tools"][0]["function"];
        assert_eq!(tool["strict"], true);
        let property = &tool["parameters"]["properties"]["a"];
        assert!(property.get("allOf").is_none(), "{property}");
        assert_eq!(property["minLength"], 2);
    }
    for (path, body) in tools(false) {
        let exchange = planned(path, &body, &rule("openai"));
        let tool = &sent(&body, &exchange)["tools"][0]["function"];
        assert_eq!(tool["parameters"]["properties"]["a"], all_of);
    }
}
