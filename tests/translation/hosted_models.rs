//! What models of hosted APIs refuse: learnt from their own words, and asked otherwise from then on; and what all of one API's
//! refuse, which no client is to find out.

use crate::replay::rule;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, Exchange, concerns, launch_facts};
use isogloss_core::passage;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/m:generateContent";

fn planned(path: &str, body: &Value, server: &str, facts: &[&str]) -> Result<Exchange, Error> {
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes())?;
    let known = |rule: isogloss_core::rules::Rule, fact: &&str| rule.knowing(fact).unwrap();
    let rule = facts.iter().fold(rule(server), known);
    exchange::plan(demand, &rule)
}

fn sent(exchange: &Exchange) -> Value {
    serde_json::from_slice(exchange.sent().unwrap()).unwrap()
}

fn lost(exchange: &Exchange) -> Vec<&str> {
    let losses = exchange.losses.iter();
    losses.map(|loss| loss.pointer.as_str()).collect()
}

fn asking(more: &Value) -> Value {
    let mut body =
        json!({"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "hi"}]});
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    body
}

fn tool(parameters: &Value) -> Value {
    json!({"type": "function", "function": {"name": "f", "parameters": parameters}})
}

/// What a server said of a request, and what it is asked after that.
struct Refused {
    server: &'static str,
    says: &'static str,
    request: Value,
    /// A place of what was sent, and what stood there before and after.
    at: &'static str,
    before: Value,
    after: Value,
}

fn refused() -> Vec<Refused> {
    let parameters = json!({"type": "object", "properties": {}});
    let format = format();
    let off = json!({"reasoning_effort": "none"});
    let enabled = json!({"type": "enabled", "budget_tokens": 2000});
    vec![
        Refused {
            server: "anthropic",
            says: "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            request: json!({"thinking": enabled}),
            at: "/thinking",
            before: enabled,
            after: json!({"type": "adaptive", "display": "summarized"}),
        },
        Refused {
            server: "anthropic",
            says: "adaptive thinking is not supported on this model",
            request: json!({"reasoning_effort": "high"}),
            at: "/thinking/type",
            before: json!("adaptive"),
            after: json!("enabled"),
        },
        Refused {
            server: "anthropic",
            says: "\"thinking.type.disabled\" is not supported for this model.",
            request: off.clone(),
            at: "/thinking",
            before: json!({"type": "disabled"}),
            after: Value::Null,
        },
        Refused {
            server: "anthropic",
            says: "This model does not support the effort parameter.",
            request: json!({"reasoning_effort": "high"}),
            at: "/output_config",
            before: json!({"effort": "high"}),
            after: Value::Null,
        },
        Refused {
            server: "anthropic",
            says: "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
            request: json!({"tools": [tool(&parameters)], "tool_choice": "required"}),
            at: "/tool_choice/type",
            before: json!("any"),
            after: Value::Null,
        },
        Refused {
            server: "anthropic",
            says: "This model does not support assistant message prefill. The conversation must end with a user message.",
            request: json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "So"}]}),
            at: "/messages/2/role",
            before: Value::Null,
            after: json!("user"),
        },
        Refused {
            server: "gemini",
            says: "Function calling with a response mime type: 'application/json' is unsupported",
            request: json!({"tools": [tool(&parameters)], "response_format": {"type": "json_schema", "json_schema": {
                "name": "r", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}}),
            at: "/tools/0/functionDeclarations/0/name",
            before: json!("f"),
            after: Value::Null,
        },
        Refused {
            server: "gemini",
            says: "Budget 0 is invalid. This model only works in thinking mode.",
            request: off,
            at: "/generationConfig/thinkingConfig/thinkingBudget",
            before: json!(0),
            after: json!(1024),
        },
        Refused {
            server: "openai",
            says: "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
            request: json!({"tools": [tool(&parameters)], "parallel_tool_calls": false}),
            at: "/parallel_tool_calls",
            before: json!(false),
            after: Value::Null,
        },
        Refused {
            server: "openai",
            says: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model. Learn more about supported models at the Structured Outputs guide.",
            request: json!({"response_format": format}),
            at: "/response_format/type",
            before: json!("json_schema"),
            after: Value::Null,
        },
        Refused {
            server: "anthropic",
            says: "output_config.format: Extra inputs are not permitted",
            request: json!({"response_format": format}),
            at: "/output_config/format/type",
            before: json!("json_schema"),
            after: Value::Null,
        },
    ]
}

fn format() -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema":
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false}}})
}

/// What has to do with the sum of a request's schemas, with thoughts and with efforts.
fn refused_as_well() -> Vec<Refused> {
    let parameters = json!({"type": "object", "properties": {}});
    let format = format();
    let mut strict =
        tool(&json!({"type": "object", "properties": {}, "additionalProperties": false}));
    strict["function"]["strict"] = json!(true);
    vec![
        Refused {
            server: "anthropic",
            says: "Schemas contains too many optional parameters (37), which would make grammar compilation inefficient. Reduce the number of optional parameters in your tool schemas (limit: 24).",
            request: json!({"response_format": format}),
            at: "/output_config/format/type",
            before: json!("json_schema"),
            after: Value::Null,
        },
        Refused {
            server: "anthropic",
            says: "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.",
            request: json!({"tools": [strict]}),
            at: "/tools/0/strict",
            before: json!(true),
            after: Value::Null,
        },
        Refused {
            server: "anthropic",
            says: "This model does not support effort level 'xhigh'. Supported levels: low, medium, high, max.",
            request: json!({"reasoning_effort": "xhigh"}),
            at: "/output_config/effort",
            before: json!("xhigh"),
            after: json!("high"),
        },
        Refused {
            server: "gemini",
            says: "The specified schema produces a constraint that has too many states for serving. Typical causes of this error are schemas with lots of text",
            request: json!({"response_format": format}),
            at: "/generationConfig/responseMimeType",
            before: json!("application/json"),
            after: Value::Null,
        },
        Refused {
            server: "gemini",
            says: "Request contains an invalid argument.",
            request: json!({"tools": [tool(&parameters)], "tool_choice": "required"}),
            at: "/toolConfig/functionCallingConfig/mode",
            before: json!("ANY"),
            after: Value::Null,
        },
        Refused {
            server: "gemini",
            says: "Penalty is not enabled for this model",
            request: json!({"presence_penalty": 0.5}),
            at: "/generationConfig/presencePenalty",
            before: json!(0.5),
            after: Value::Null,
        },
        Refused {
            server: "deepseek",
            says: "The `reasoning_content` in the thinking mode must be passed back to the API.",
            request: json!({"tools": [tool(&parameters)], "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "sun"}]}),
            at: "/messages/1/reasoning_content",
            before: Value::Null,
            after: json!(" "),
        },
        Refused {
            server: "vllm@0.32.0",
            says: "Unexpected reasoning effort high. Supported types are xhigh (default), medium, and low.",
            request: json!({"reasoning_effort": "high"}),
            at: "/reasoning_effort",
            before: json!("high"),
            after: json!("medium"),
        },
    ]
}

#[test]
fn what_a_model_refuses_is_learnt_and_asked_otherwise() {
    for Refused {
        server,
        says,
        request,
        at,
        before,
        after,
    } in refused().into_iter().chain(refused_as_well())
    {
        let body = asking(&request);
        let first = planned(CHAT, &body, server, &[]).unwrap();
        let sent = |exchange: &Exchange| match exchange.sent() {
            Some(sent) => serde_json::from_slice(sent).unwrap(),
            None => body.clone(),
        };
        assert_eq!(
            sent(&first).pointer(at).unwrap_or(&Value::Null),
            &before,
            "{says}"
        );
        let error =
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": says}});
        let rule = rule(server);
        let told = launch_facts(&rule, error.to_string().as_bytes());
        let is_about = |fact: &str| concerns(&first.demand, first.strategy, &rule, fact);
        let fact = told.iter().find(|told| is_about(&told.fact));
        let fact = fact.unwrap_or_else(|| panic!("nothing is learnt of {says}"));
        let again = planned(CHAT, &body, server, &[&fact.fact]).unwrap();
        let there = sent(&again);
        assert_eq!(
            there.pointer(at).unwrap_or(&Value::Null),
            &after,
            "{says}: {there}"
        );
        // What goes into the prompt is told by the strategy.
        let is_told = again.strategy != first.strategy || !lost(&again).is_empty();
        let unsaid = ["tool_choice", "mime type", "passed back"];
        let is_kept = unsaid.iter().any(|words| says.contains(words));
        assert!(is_kept || is_told, "{says}");
    }
}

#[test]
fn who_asks_for_an_effort_of_anthropics_has_thoughts() {
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    for facts in [&[][..], &["no_thinking_budgets"]] {
        let body = asking(&json!({"reasoning_effort": "high"}));
        let exchange = planned(CHAT, &body, "anthropic", facts).unwrap();
        let there = sent(&exchange);
        assert_eq!(there["thinking"], adaptive);
        assert_eq!(there["output_config"]["effort"], "high");
        assert_eq!(lost(&exchange), Vec::<&str>::new());
        // A forced call goes without them: the effort is what is left of it.
        let tools = json!([tool(&json!({"type": "object", "properties": {}}))]);
        let more = json!({"reasoning_effort": "high", "tools": tools, "tool_choice": "required"});
        let exchange = planned(CHAT, &asking(&more), "anthropic", facts).unwrap();
        let there = sent(&exchange);
        assert_eq!(there.get("thinking"), None);
        assert_eq!(there["output_config"]["effort"], "high");
        assert_eq!(lost(&exchange), ["/reasoning_effort"]);
        // So does one with a budget that the model does not take.
        let more = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}, "tools": tools, "tool_choice": "required"});
        let exchange = planned(CHAT, &asking(&more), "anthropic", facts).unwrap();
        assert_eq!(sent(&exchange).get("thinking"), None, "{facts:?}");
    }
    let unlimited = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "reasoning_effort": "high"});
    let exchange = planned(CHAT, &unlimited, "anthropic", &[]).unwrap();
    assert_eq!(sent(&exchange)["max_tokens"], 4096 + 16_384);
}

#[test]
fn a_budget_is_no_larger_than_what_is_taken() {
    let body = asking(&json!({"thinking": {"type": "enabled", "budget_tokens": 60_000}}));
    let exchange = planned(CHAT, &body, "gemini", &[]).unwrap();
    let budget = &sent(&exchange)["generationConfig"]["thinkingConfig"]["thinkingBudget"];
    assert_eq!(*budget, json!(24_576));
    assert_eq!(lost(&exchange), ["/thinking/budget_tokens"]);
}

#[test]
fn of_two_ways_to_sample_anthropic_is_told_one() {
    let body = asking(&json!({"temperature": 0.2, "top_p": 0.9, "stop": ["\n", "END"]}));
    let exchange = planned(CHAT, &body, "anthropic", &[]).unwrap();
    let there = sent(&exchange);
    assert_eq!(there["temperature"], json!(0.2));
    assert_eq!(there.get("top_p"), None);
    assert_eq!(there["stop_sequences"], json!(["END"]));
    assert_eq!(lost(&exchange), ["/top_p", "/stop"]);
    let alone = planned(CHAT, &asking(&json!({"top_p": 0.9})), "anthropic", &[]).unwrap();
    assert_eq!(sent(&alone)["top_p"], json!(0.9));
    // Its own clients know what they do.
    let own = planned(
        MESSAGES,
        &asking(&json!({"temperature": 0.2, "top_p": 0.9})),
        "anthropic",
        &[],
    );
    assert!(own.unwrap().is_passthrough());
}

#[test]
fn a_conversation_that_anthropic_keeps_is_asked_for_elsewhere() {
    let first = asking(&json!({"thread": {"type": "create"}}));
    assert!(planned(MESSAGES, &first, "vllm", &[]).is_ok());
    let next = asking(&json!({"thread": {"type": "continue", "previous_message_id": "msg_1"}}));
    let error = planned(MESSAGES, &next, "vllm", &[]).unwrap_err();
    let body = passage::client(MESSAGES).unwrap().error_body(&error);
    let body: Value = serde_json::from_slice(&body).unwrap();
    // What its SDKs look for before they send all of it.
    assert_eq!(body["error"]["details"]["error_code"], "thread_not_found");
    assert_eq!(error.status(), 404);
    let own = planned(MESSAGES, &next, "anthropic", &[]).unwrap();
    assert!(own.is_passthrough());
}

#[test]
fn one_tool_with_alternatives_at_its_root_does_not_fail_the_others() {
    let either = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let plain = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {}}}});
    let body = asking(&json!({"tools": [tool(&either)]}));
    let exchange = planned(CHAT, &body, "anthropic", &[]).unwrap();
    assert_eq!(sent(&exchange)["tools"][0]["input_schema"], plain);
    assert_eq!(lost(&exchange), ["/tools/0/function/parameters/anyOf"]);
}

#[test]
fn a_calls_arguments_are_an_object_where_clients_read_one() {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let function = json!({"name": "f", "parametersJsonSchema": list});
    let contents = json!([{"parts": [{"text": "hi"}]}]);
    for (path, body, param) in [
        (
            MESSAGES,
            asking(&json!({"tools": [{"name": "f", "input_schema": list}]})),
            "tools[0].input_schema",
        ),
        (
            GEMINI,
            json!({"contents": contents, "tools": [{"functionDeclarations": [function]}]}),
            "tools[0].functionDeclarations[0].parametersJsonSchema",
        ),
        (
            "/api/chat",
            asking(&json!({"tools": [tool(&list)]})),
            "tools[0].function.parameters",
        ),
    ] {
        let error = planned(path, &body, "vllm", &[]).unwrap_err();
        assert_eq!(
            (error.kind.code(), error.param.as_deref()),
            ("invalid_schema", Some(param)),
            "{path}"
        );
    }
    // Nothing at all is an object, too.
    let anything = asking(
        &json!({"tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"}}),
    );
    let exchange = planned(MESSAGES, &anything, "vllm", &[]).unwrap();
    assert!(sent(&exchange).to_string().contains(r#""type":"object""#));
}

#[test]
fn a_schema_of_a_dialect_without_the_word_strict_is_held_where_it_loses_nothing() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let mut open = closed.clone();
    open["additionalProperties"] = json!(true);
    let said = json!([{"role": "user", "content": "hi"}]);
    let asks = |schema: &Value| {
        [
            (
                MESSAGES,
                asking(
                    &json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
                ),
            ),
            (
                GEMINI,
                json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}}),
            ),
            (
                "/api/chat",
                json!({"model": "m", "messages": said, "format": schema}),
            ),
            (
                CHAT,
                asking(&json!({"structured_outputs": {"json": schema}})),
            ),
        ]
    };
    let format = |server: &str, sent: &Value| match server {
        "openai" => sent["response_format"]["json_schema"].clone(),
        _ => sent["text"]["format"].clone(),
    };
    for server in ["openai", "openai-responses"] {
        for (path, body) in asks(&closed) {
            let sent = format(server, &sent(&planned(path, &body, server, &[]).unwrap()));
            assert_eq!(
                (&sent["strict"], &sent["schema"]),
                (&json!(true), &closed),
                "{path}"
            );
        }
        // Out of the subset it is the hint that it was.
        for (path, body) in asks(&open) {
            let sent = format(server, &sent(&planned(path, &body, server, &[]).unwrap()));
            assert_eq!(
                (&sent["strict"], &sent["schema"]),
                (&Value::Null, &open),
                "{path}"
            );
        }
    }
    // Who has the word and does not say it means a hint.
    let hint = asking(
        &json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": closed}}}),
    );
    let sent = sent(&planned(CHAT, &hint, "openai", &[]).unwrap());
    assert_eq!(sent["response_format"], hint["response_format"]);
}
