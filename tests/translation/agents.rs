//! What the programs of others were told by servers that take less than they say: learnt from the error, or known before.

use crate::replay::{self, Recorded, chat_event, rule};
use crate::vendors::{asking, planned, sent};
use isogloss_core::exchange::{self, Exchange, Fault};
use isogloss_core::ir::{Ids, Violation};
use isogloss_core::passage;
use isogloss_core::rules::Rule;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false})
}

fn format() -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema()}})
}

fn by(rule: &Rule, body: &Value) -> Exchange {
    let client = passage::client(CHAT).unwrap();
    let demand = exchange::read(client, CHAT, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, rule).unwrap()
}

fn said(message: &Value) -> String {
    json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    .to_string()
}

fn broken(exchange: &Exchange, text: &str) -> Violation {
    let checks = replay::checks(exchange).unwrap();
    let reply = said(&json!({"role": "assistant", "content": text}));
    match exchange::reply(exchange, &checks, Ids::new(1), reply.as_bytes()).unwrap_err() {
        Fault::Violation(violation) => violation,
        Fault::Error(error) => unreachable!("{error:?}"),
    }
}

#[test]
fn a_conversation_that_a_server_refuses_is_told_otherwise_once_its_error_says_so() {
    let parts = json!([{"type": "text", "text": "sun"}, {"type": "text", "text": "rain"}]);
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let acted = json!([{"role": "user", "content": "hi", "name": "ada"}, {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": parts}]);
    let wordless = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sun"}]);
    let twice = json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]);
    let silent = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": null}, {"role": "user", "content": "b"}]);
    for (server, messages, error, fact, at, told) in [
        (
            "plain",
            &twice,
            "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
            "refuses_repeats",
            "/messages/1",
            None,
        ),
        (
            "plain",
            &twice,
            "user and assistant roles should be alternating",
            "refuses_repeats",
            "/messages/1",
            None,
        ),
        (
            "deepseek",
            &acted,
            "Failed to deserialize the JSON body into the target type: messages[2]: invalid type: sequence, expected a string",
            "refuses_text_parts",
            "/messages/2/content",
            Some(json!("sun\nrain")),
        ),
        (
            "groq",
            &acted,
            "'messages.2' : for 'role:tool' the following must be satisfied[('messages.2.content' : value must be a string)]",
            "refuses_text_parts",
            "/messages/2/content",
            Some(json!("sun\nrain")),
        ),
        (
            "openrouter",
            &acted,
            "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', Type mismatch of '/messages/2/content', 'array' not in 'string'",
            "refuses_text_parts",
            "/messages/2/content",
            Some(json!("sun\nrain")),
        ),
        (
            "groq",
            &wordless,
            "AiError: Bad input: Error: oneOf at '/' not met, 0 matches: Type mismatch of '/messages/1/content', 'null' not in 'string'",
            "refuses_null_content",
            "/messages/1/content",
            Some(json!("")),
        ),
        (
            "vllm@0.32.0",
            &acted,
            "1 validation error for ChatCompletionRequest\nmessages.0.user.name\n  Extra inputs are not permitted",
            "refuses_names",
            "/messages/0/name",
            None,
        ),
        (
            "vllm@0.32.0",
            &silent,
            "Invalid assistant message: role='assistant' content=None tool_calls=None",
            "refuses_empty_turns",
            "/messages/2",
            None,
        ),
    ] {
        let body = asking(&json!({"messages": messages}));
        let server = rule(server);
        let exchange = by(&server, &body);
        let answer = json!({"error": {"message": error}}).to_string();
        let facts = exchange::launch_facts(&server, answer.as_bytes());
        let demand = &exchange.demand;
        let mut facts = facts
            .iter()
            .filter(|told| exchange::concerns(demand, exchange.strategy, &server, &told.fact));
        assert_eq!(facts.next().unwrap().fact, fact, "{error}");
        let knowing = server.knowing(fact).unwrap();
        let again = by(&knowing, &body);
        let again: Value = serde_json::from_slice(again.sent().unwrap()).unwrap();
        assert_eq!(again.pointer(at), told.as_ref(), "{error}");
    }
}

#[test]
fn an_answer_that_lm_studio_takes_for_thoughts_is_the_answer() {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": schema()}});
    let answer = asking(&json!({"response_format": format()}));
    let forced = asking(&json!({"tools": [tool], "tool_choice": "required"}));
    let text = r#"{"a": 1}"#;
    for (body, field) in [(answer, "content"), (forced, "arguments")] {
        let message = json!({"role": "assistant", "content": "", "reasoning_content": text});
        let text_event = chat_event(json!({"reasoning_content": text}), Value::Null);
        let stream = text_event + &chat_event(json!({}), json!("stop")) + "data: [DONE]\n\n";
        for (streamed, reply) in [(false, said(&message)), (true, stream)] {
            let mut body = body.clone();
            body["stream"] = json!(streamed);
            let recorded = Recorded {
                status: 200,
                streamed,
                body: reply.into_bytes(),
            };
            let exchange = planned(CHAT, &body, "lm-studio");
            let told = replay::whole(&exchange, &rule("lm-studio"), &recorded);
            let has = format!(r#""{field}":"{{"#);
            assert!(told.contains(&has), "{told}");
            assert!(!told.contains("reasoning_content\":\"{"), "{told}");
            assert!(!told.contains("error"), "{told}");
        }
    }
}

#[test]
fn what_the_model_began_is_not_gone_on_with_where_anthropic_is_asked_for_a_form() {
    let begun =
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Here:"}]);
    let function = json!({"type": "function", "function": {"name": "f", "parameters": schema()}});
    let tool = json!({"name": "f", "input_schema": schema()});
    let output = json!({"format": {"type": "json_schema", "schema": schema()}});
    for (path, demand) in [
        (CHAT, json!({"response_format": format()})),
        (
            CHAT,
            json!({"tools": [function], "tool_choice": "required"}),
        ),
        (MESSAGES, json!({"output_config": output})),
        (
            MESSAGES,
            json!({"tools": [tool], "tool_choice": {"type": "any"}}),
        ),
    ] {
        let mut body = asking(&demand);
        body["messages"] = begun.clone();
        let (there, losses) = sent(path, &body, "anthropic");
        let messages = there["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 3, "{path} {demand}");
        assert!(messages[2].to_string().contains("Go on."), "{there}");
        assert!(losses.iter().any(|at| at == "/messages/1"), "{losses:?}");
    }
    // Nothing is demanded: the model goes on.
    for path in [CHAT, MESSAGES] {
        let (there, _) = sent(path, &asking(&json!({"messages": begun})), "anthropic");
        assert_eq!(there["messages"].as_array().unwrap().len(), 2, "{path}");
    }
}

#[test]
fn images_that_a_tool_returned_are_told_by_the_user_and_empty_turns_are_none() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let acted = asking(
        &json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [image]}]}),
    );
    for server in ["lm-studio", "ollama-native"] {
        let (there, losses) = sent(CHAT, &acted, server);
        assert_eq!(there["messages"][3]["role"], "user", "{server}: {there}");
        let told = losses.iter().any(|at| at == "/messages/2/content");
        assert!(told, "{server}: {losses:?}");
    }
    let silent = asking(
        &json!({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""},
        {"role": "user", "content": "b"}]}),
    );
    let (there, _) = sent(CHAT, &silent, "cohere");
    assert_eq!(there["messages"].as_array().unwrap().len(), 2, "{there}");
}

#[test]
fn older_models_of_anthropics_say_in_several_ways_that_they_think_within_a_budget() {
    let rule = rule("anthropic");
    for said in [
        "thinking.type: Input should be 'enabled' or 'disabled'",
        "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    ] {
        let body =
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": said}});
        let told = exchange::launch_facts(&rule, body.to_string().as_bytes());
        assert_eq!(told[0].fact, "no_adaptive", "{said}");
    }
}

#[test]
fn thoughts_in_the_marks_of_a_model_that_is_known_by_its_name_are_learnt() {
    let plain = rule("plain");
    let body = asking(&json!({"model": "openai.gpt-oss-20b-1:0", "response_format": format()}));
    let text = r#"<reasoning>They want</reasoning><reasoning> a number.</reasoning>{"a": 1}"#;
    let violation = broken(&by(&plain, &body), text);
    assert_eq!(violation.fact, Some("thoughts_in_text"));
    let knowing = plain.knowing("thoughts_in_text").unwrap();
    let exchange = by(&knowing, &body);
    let recorded = Recorded {
        status: 200,
        streamed: false,
        body: said(&json!({"role": "assistant", "content": text})).into_bytes(),
    };
    let told: Value = serde_json::from_str(&replay::whole(&exchange, &knowing, &recorded)).unwrap();
    let message = &told["choices"][0]["message"];
    assert_eq!(message["content"], r#"{"a": 1}"#);
    assert_eq!(message["reasoning_content"], "They want a number.");
}

#[test]
fn who_answers_a_schema_in_prose_is_shown_it_when_asked_again() {
    let body = asking(&json!({"response_format": format()}));
    let again = |text: &str| {
        let exchange = by(&rule("ollama"), &body);
        let violation = broken(&exchange, text);
        let again = exchange.re_ask(&violation).body;
        let again: Value = serde_json::from_slice(&again).unwrap();
        again["messages"][2]["content"].to_string()
    };
    assert!(again("Sure, it is one!").contains("JSON Schema"));
    assert!(!again(r#"{"a": "one"}"#).contains("JSON Schema"));
}
