//! What models refuse behind any server of Chat's wire, in the words of its errors, and how they are asked then.

use crate::asking::{self, CHAT, MESSAGES, chat, lost, planned, sent};
use crate::replay::rule;
use isogloss_core::exchange::Exchange;
use isogloss_core::ir::Strategy;
use serde_json::{Value, json};

fn learnt(
    server: &str,
    asked: (&str, &Value),
    refuses: impl Fn(&Value) -> Option<String>,
) -> (Vec<String>, Option<Exchange>) {
    asking::learnt(server, asked, |_path, body| refuses(body))
}

/// OpenAI's newer models, whoever stands before them.
fn newer(body: &Value) -> Option<String> {
    let message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    body.get("max_tokens").map(|_| message.to_owned())
}

/// Models behind OpenAI's names that know the older one alone (pydantic/pydantic-ai#6593).
fn older(body: &Value) -> Option<String> {
    let message = "body.max_completion_tokens: Extra inputs are not permitted";
    body.get("max_completion_tokens")
        .map(|_| message.to_owned())
}

#[test]
fn a_limit_goes_under_the_name_that_the_model_knows() {
    let limits = [
        (CHAT, chat(&json!({"max_tokens": 50}))),
        (CHAT, chat(&json!({"max_completion_tokens": 50}))),
        (MESSAGES, chat(&json!({"max_tokens": 50}))),
    ];
    for server in ["plain", "openrouter", "vllm", "openai"] {
        for (path, body) in &limits {
            let (known, exchange) = learnt(server, (*path, body), newer);
            let exchange = exchange.unwrap();
            let there = sent(body, &exchange);
            assert_eq!(there["max_completion_tokens"], 50, "{server}: {known:?}");
            assert_eq!(there.get("max_tokens"), None, "{server}");
            assert_eq!(lost(&exchange), Vec::<&str>::new(), "{server}");
            let (known, exchange) = learnt(server, (*path, body), older);
            let exchange = exchange.unwrap();
            let there = sent(body, &exchange);
            assert_eq!(there["max_tokens"], 50, "{server}: {known:?}");
            assert_eq!(there.get("max_completion_tokens"), None, "{server}");
            assert_eq!(lost(&exchange), Vec::<&str>::new(), "{server}");
        }
    }
    // Who says nothing of a limit learns nothing of it, and who knows neither name is not asked for ever.
    let bare = chat(&json!({}));
    let always = |_: &Value| newer(&json!({"max_tokens": 1}));
    assert!(learnt("plain", (CHAT, &bare), always).0.is_empty());
    let neither = |body: &Value| newer(body).or_else(|| older(body));
    let (known, exchange) = learnt("plain", (CHAT, &limits[0].1), neither);
    assert_eq!((known.len(), exchange.is_none()), (2, true), "{known:?}");
}

#[test]
fn a_limit_that_is_over_the_room_is_left_out_whatever_it_is_called() {
    let body = chat(&json!({"max_tokens": 99_999}));
    let refuses = |body: &Value| {
        let over =
            "max_tokens is too large: 99999. This model supports at most 16384 completion tokens";
        newer(body).or_else(|| body.get("max_completion_tokens").map(|_| over.to_owned()))
    };
    for server in ["plain", "openrouter", "openai"] {
        let (known, exchange) = learnt(server, (CHAT, &body), refuses);
        let exchange = exchange.unwrap_or_else(|| panic!("{server}: {known:?}"));
        assert_eq!(lost(&exchange).len(), 1, "{server}");
    }
}

#[test]
fn what_a_model_takes_no_word_of_is_learnt_of_any_server() {
    let body = chat(&json!({"max_tokens": 9, "temperature": 0, "top_p": 0.2}));
    let refuses = |body: &Value| {
        let message = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.";
        let named = |name: &str| {
            format!("Unsupported parameter: '{name}' is not supported with this model.")
        };
        let warm = body.get("temperature").map(|_| message.to_owned());
        warm.or_else(|| body.get("top_p").map(|_| named("top_p")))
            .or_else(|| body.get("stop").map(|_| named("stop")))
    };
    for server in ["plain", "openrouter", "openai"] {
        for path in [CHAT, MESSAGES] {
            let (known, exchange) = learnt(server, (path, &body), refuses);
            assert_eq!(known, ["no_sampling"], "{server}");
            assert_eq!(lost(&exchange.unwrap()), ["/temperature", "/top_p"]);
        }
    }
}

#[test]
fn a_model_that_is_not_made_to_call_while_it_thinks_is_made_to_where_it_does_not() {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    let forced = json!({"tools": [tool], "tool_choice": "required"});
    let mut thinking = forced.clone();
    thinking["reasoning"] = json!({"effort": "high"});
    let (thinking, forced) = (chat(&thinking), chat(&forced));
    for says in [
        "Tool choice must be auto",
        "tool_choice 'required' is incompatible with thinking enabled",
        "The tool_choice parameter does not support being set to required or object in thinking mode",
        "Thinking mode does not support this tool_choice",
    ] {
        let refuses = |body: &Value| {
            let is_refused = body["tool_choice"] == "required" && body["reasoning"].is_object();
            is_refused.then(|| says.to_owned())
        };
        let (known, exchange) = learnt("openrouter", (CHAT, &thinking), refuses);
        assert_eq!(known, ["no_forced_calls_beside_thinking"], "{says}");
        assert_eq!(exchange.unwrap().strategy, Strategy::Instruct, "{says}");
        let rule = rule("openrouter").knowing(&known[0]).unwrap();
        for (body, strategy) in [(&thinking, Strategy::Instruct), (&forced, Strategy::Native)] {
            let exchange = planned(CHAT, body, &rule);
            assert_eq!(exchange.strategy, strategy, "{says}");
            let is_made = sent(body, &exchange)["tool_choice"] == "required";
            assert_eq!(is_made, strategy == Strategy::Native, "{says}");
        }
        // One that thinks though nobody asked it to is made to call by nothing.
        let always = |body: &Value| (body["tool_choice"] == "required").then(|| says.to_owned());
        let (known, _) = learnt("openrouter", (CHAT, &forced), always);
        assert_eq!(known, ["no_forced_calls"], "{says}");
    }
}

#[test]
fn a_limit_is_what_there_is_room_for_where_the_error_says_both_numbers() {
    let says = |given: u64, asked: u64| {
        format!(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: {given} `inputs` tokens and {asked} `max_new_tokens`"
        )
    };
    let body = chat(&json!({"max_tokens": 32_000}));
    let refuses = |body: &Value| {
        let asked = body["max_tokens"].as_u64().unwrap_or(100);
        (asked > 4076).then(|| says(20, asked))
    };
    for server in ["tgi", "together"] {
        for path in [CHAT, MESSAGES] {
            let (known, exchange) = learnt(server, (path, &body), refuses);
            assert_eq!(known, ["limit_of_4076"], "{server}");
            let exchange = exchange.unwrap();
            assert_eq!(sent(&body, &exchange)["max_tokens"], 4076, "{server}");
            assert_eq!(lost(&exchange), ["/max_tokens"], "{server}");
        }
    }
    // A prompt that leaves no room is too long, and a limit that is within it is not at fault.
    let full = |body: &Value| body.get("max_tokens").map(|_| says(4096, 32_000));
    assert!(learnt("tgi", (CHAT, &body), full).0.is_empty());
    let small = chat(&json!({"max_tokens": 50}));
    let odd = |_: &Value| Some(says(20, 50));
    assert!(learnt("tgi", (CHAT, &small), odd).0.is_empty());
}
