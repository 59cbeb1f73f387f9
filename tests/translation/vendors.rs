//! What hosted APIs refuse of requests that others take, and no client is to find out.

use crate::replay::{Recorded, messages_stream, rule, whole};
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::passage;
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/m:generateContent";

pub(crate) fn planned(path: &str, body: &Value, server: &str) -> Exchange {
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule(server)).unwrap()
}

pub(crate) fn sent(path: &str, body: &Value, server: &str) -> (Value, Vec<String>) {
    let exchange = planned(path, body, server);
    let sent = exchange.sent().map_or_else(
        || body.clone(),
        |sent| serde_json::from_slice(sent).unwrap(),
    );
    let losses = exchange.losses.iter();
    (sent, losses.map(|loss| loss.pointer.clone()).collect())
}

pub(crate) fn asking(more: &Value) -> Value {
    let mut body =
        json!({"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "hi"}]});
    let more = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(more);
    body
}

/// An SDK's user appends what the model said, as the SDK dumps it.
#[test]
fn a_message_that_comes_back_whole_has_no_members_that_the_next_server_refuses() {
    let said = json!({"role": "assistant", "content": "Hello.", "refusal": null, "annotations": [], "audio": null,
        "function_call": null, "tool_calls": null});
    let cited = json!({"role": "assistant", "content": "Hello.", "annotations": [{"type": "url_citation"}]});
    let user = json!({"role": "user", "content": "hi", "name": "ada"});
    let body = asking(&json!({"messages": [user, said, user, cited, user]}));
    for server in ["mistral", "groq", "cerebras", "gemini-compat"] {
        let (there, losses) = sent(CHAT, &body, server);
        for at in [1, 3] {
            let plain = json!({"role": "assistant", "content": "Hello."});
            assert_eq!(there["messages"][at], plain, "{server}");
        }
        let told = losses.iter().any(|at| at == "/messages/3/annotations");
        assert!(told, "{server}: {losses:?}");
        assert!(losses.iter().all(|at| !at.starts_with("/messages/1")));
    }
    // Where nobody minds, the client's bytes stay.
    assert!(planned(CHAT, &body, "vllm@0.32.0").is_passthrough());
}

/// `tool_calls: []` is a 400 there (openai/openai-node#1341, home-assistant/core#118577), as is a null for a call.
#[test]
fn what_says_nothing_of_a_message_is_left_out() {
    let user = json!({"role": "user", "content": "hi"});
    let empty = json!({"role": "assistant", "content": "Hello.", "tool_calls": []});
    let dumped = json!({"role": "assistant", "content": "Hello.", "refusal": null, "annotations": [], "audio": null,
        "function_call": null, "tool_calls": null});
    let thought =
        json!({"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": []});
    let body = asking(&json!({"messages": [user, empty, user, dumped, user, thought, user]}));
    let plain = json!({"role": "assistant", "content": "Hello."});
    for server in ["openai", "deepseek", "xai", "together", "openrouter"] {
        let (there, losses) = sent(CHAT, &body, server);
        for at in [1, 3] {
            assert_eq!(there["messages"][at], plain, "{server}");
            let place = format!("/messages/{at}");
            assert!(losses.iter().all(|at| !at.starts_with(&place)), "{server}");
        }
        let left = &there["messages"][5];
        assert_eq!(left["content"], "", "{server}: no null but beside calls");
        assert!(left.get("tool_calls").is_none(), "{server}");
    }
    // One of them alone is seen, too.
    for (name, value) in [
        ("tool_calls", Value::Null),
        ("audio", Value::Null),
        ("annotations", json!([])),
    ] {
        let mut dumped = plain.clone();
        dumped[name] = value;
        let body = asking(&json!({"messages": [user, dumped, user]}));
        for server in ["openai", "deepseek", "xai", "together", "openrouter"] {
            let (there, _) = sent(CHAT, &body, server);
            assert_eq!(there["messages"][1], plain, "{server}: {name}");
        }
        assert!(planned(CHAT, &body, "vllm@0.32.0").is_passthrough());
    }
    // A list without items stands nowhere, for templates count what is there.
    let body = asking(&json!({"messages": [user, empty, user]}));
    let (there, losses) = sent(CHAT, &body, "vllm@0.32.0");
    assert_eq!(there["messages"][1], plain);
    assert_eq!(losses, Vec::<String>::new());
}

/// What LiteLLM's users and clients of several servers set for Anthropic alone, and what stands beside calls of streams and of Gemini's.
#[test]
fn what_parts_calls_and_tools_have_beside_their_own_is_left_out() {
    let mark = json!({"type": "ephemeral"});
    let function = json!({"name": "f", "arguments": "{}"});
    let call = json!({"id": "abcdefghi", "type": "function", "function": function, "index": 0,
        "extra_content": {"google": {"thought_signature": "S"}}, "provider_specific_fields": {"a": 1}});
    let messages = json!([
        {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": mark}]},
        {"role": "user", "content": "hi", "cache_control": mark},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "abcdefghi", "content": "ok"}]);
    let parameters = json!({"type": "object", "properties": {"cache_control": {"type": "string"}}});
    let tools = json!([
        {"type": "function", "function": {"name": "f", "parameters": parameters}, "cache_control": mark},
        {"type": "function", "function": {"name": "g", "parameters": parameters, "cache_control": mark}}]);
    let body = asking(&json!({"messages": messages, "tools": tools}));
    for server in ["openai", "groq", "cerebras", "mistral", "gemini-compat"] {
        let (there, losses) = sent(CHAT, &body, server);
        let left = there.to_string();
        assert_eq!(left.matches("cache_control").count(), 2, "{server}: {left}");
        let call = there["messages"][2]["tool_calls"][0].as_object().unwrap();
        assert_eq!(
            call.contains_key("extra_content"),
            server == "gemini-compat"
        );
        assert!(!call.contains_key("index") && !call.contains_key("provider_specific_fields"));
        assert_eq!(call["function"], function, "{server}");
        assert!(losses.iter().any(|at| at == "/tools"), "{losses:?}");
        let is_told = losses.iter().any(|at| at == "/messages/0/content");
        assert!(is_told, "{losses:?}");
    }
    // Anthropic's own words go to it.
    let (there, losses) = sent(CHAT, &body, "anthropic");
    assert_eq!(there["messages"][0]["content"][0]["cache_control"], mark);
    assert!(!losses.iter().any(|at| at.contains("cache_control")));
    for tool in [0, 1] {
        assert_eq!(there["tools"][tool]["cache_control"], mark);
    }
}

#[test]
fn what_a_client_of_anthropics_wants_cached_is_told_openrouter() {
    let mark = json!({"type": "ephemeral"});
    let part = json!({"type": "text", "text": "s", "cache_control": mark});
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "a"}, part]}]);
    let body = asking(&json!({"system": [part], "messages": messages}));
    let (there, losses) = sent(MESSAGES, &body, "openrouter");
    assert_eq!(there["messages"][0]["content"], json!([part]));
    assert_eq!(there["messages"][1]["content"][1], part);
    let is_lost = |losses: &[String]| losses.iter().any(|at| at.ends_with("/cache_control"));
    assert!(!is_lost(&losses), "{losses:?}");
    let (there, losses) = sent(MESSAGES, &body, "vllm@0.32.0");
    assert!(!there.to_string().contains("cache_control"), "{there}");
    assert!(is_lost(&losses), "{losses:?}");
}

/// A server that refuses them is sent none, of parts that are not read here and of null either; what is not told is a loss.
#[test]
fn every_mark_of_what_to_cache_is_left_out_or_told_to_be_lost() {
    let mark = json!({"type": "ephemeral"});
    let user = |content: Value| json!({"role": "user", "content": content});
    let file = json!([{"type": "file", "file": {"file_id": "f"}, "cache_control": mark}]);
    let mut message = user(json!("hi"));
    message["cache_control"] = Value::Null;
    let part = json!([{"type": "text", "text": "a", "cache_control": null}]);
    let body = asking(&json!({"messages": [user(file), message, user(part)]}));
    let (there, losses) = sent(CHAT, &body, "openai");
    assert!(!there.to_string().contains("cache_control"), "{there}");
    assert_eq!(
        there["messages"][0]["content"][0]["file"],
        json!({"file_id": "f"})
    );
    assert_eq!(losses, ["/messages/0/content"]);
    // Where one is taken, it stays beside one of null.
    let parts = json!([{"type": "text", "text": "a", "cache_control": null}, {"type": "text", "text": "b", "cache_control": mark}]);
    let body = asking(&json!({"messages": [user(parts)]}));
    let (there, _) = sent(CHAT, &body, "openrouter");
    assert_eq!(there["messages"][0]["content"][1]["cache_control"], mark);

    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}, "cache_control": mark}]);
    let body = asking(&json!({"tools": tools}));
    for server in ["gemini", "ollama-native"] {
        let (there, losses) = sent(CHAT, &body, server);
        assert!(!there.to_string().contains("cache_control"), "{there}");
        let is_told = losses.iter().any(|at| at == "/tools/0/cache_control");
        assert!(is_told, "{server}: {losses:?}");
    }

    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "cache_control": mark});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"});
    let messages =
        json!([user(json!("hi")), {"role": "assistant", "content": [call]}, user(json!([result]))]);
    let tools = json!([{"name": "f", "input_schema": {"type": "object", "properties": {}}}]);
    let body = asking(&json!({"messages": messages, "tools": tools}));
    let (_, losses) = sent(MESSAGES, &body, "openrouter");
    assert_eq!(losses, ["/messages/1/content/0/cache_control"]);
}

#[test]
fn a_strict_that_is_a_text_is_what_it_says() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let tools = |strict: Value| json!([{"type": "function", "function": {"name": "f", "parameters": schema, "strict": strict}}]);
    let format = |strict: Value| json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": strict}});
    for (text, said) in [("true", true), ("false", false)] {
        let (there, _) = sent(
            CHAT,
            &asking(&json!({"tools": tools(json!(text))})),
            "openai",
        );
        assert_eq!(there["tools"][0]["function"]["strict"], said);
        let asked = asking(&json!({"response_format": format(json!(text))}));
        let (there, _) = sent(CHAT, &asked, "openai");
        assert_eq!(there["response_format"]["json_schema"]["strict"], said);
    }
    for (more, at) in [
        (
            json!({"tools": tools(json!("yes"))}),
            "tools[0].function.strict",
        ),
        (
            json!({"response_format": format(json!(3))}),
            "response_format.json_schema.strict",
        ),
    ] {
        let asked = asking(&more).to_string();
        let error = exchange::read_chat(asked.as_bytes()).unwrap_err();
        assert_eq!(error.message, format!("`{at}` must be true or false"));
        assert_eq!(error.param.as_deref(), Some(at));
    }
}

#[test]
fn a_strict_in_a_text_is_what_it_says_wherever_tools_stand() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let strict = |body: &Value, path: &str, server: &str, at: &str| {
        let (there, _) = sent(path, body, server);
        there.pointer(at).cloned().unwrap_or_default()
    };
    let of_messages = |strict: &str| {
        asking(&json!({"tools": [{"name": "f", "input_schema": schema, "strict": strict}]}))
    };
    let there = strict(
        &of_messages("true"),
        MESSAGES,
        "anthropic",
        "/tools/0/strict",
    );
    assert_eq!(there, true);
    let refused = exchange::read(
        passage::client(MESSAGES).unwrap(),
        MESSAGES,
        of_messages("yes").to_string().as_bytes(),
    );
    assert_eq!(
        refused.unwrap_err().param.as_deref(),
        Some("tools[0].strict")
    );
    let function = json!({"name": "f", "parameters": schema, "strict": "true"});
    let legacy = asking(&json!({"functions": [function]}));
    let there = strict(&legacy, CHAT, "openai", "/tools/0/function/strict");
    assert_eq!(there, true);
    // The same text in other letters.
    let tools = json!([{"type": "function", "function": function}]);
    let escaped = asking(&json!({"tools": tools}))
        .to_string()
        .replace("\"true\"", "\"tru\\u0065\"");
    let demand = exchange::read_chat(escaped.as_bytes()).unwrap();
    let exchange = exchange::plan(demand, &rule("openai")).unwrap();
    let there: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
    assert_eq!(there["tools"][0]["function"]["strict"], true);
    let mut flat = function.clone();
    flat["type"] = json!("function");
    let body = json!({"model": "m", "input": "hi", "tools": [flat]});
    let there = strict(&body, "/v1/responses", "openai", "/tools/0/strict");
    assert_eq!(there, true);
}

#[test]
fn codex_and_others_say_what_groq_and_cerebras_do_not_know() {
    let body = asking(
        &json!({"verbosity": "low", "store": true, "metadata": {"a": "b"}, "prompt_cache_key": "k"}),
    );
    let (there, losses) = sent(CHAT, &body, "groq");
    let fields = there.as_object().unwrap();
    assert_eq!(
        fields.keys().collect::<Vec<_>>(),
        ["model", "max_tokens", "messages"]
    );
    assert_eq!(losses.len(), 4, "{losses:?}");
    let (there, losses) = sent(CHAT, &body, "cerebras");
    assert_eq!(there["prompt_cache_key"], "k");
    assert_eq!(losses.len(), 3, "{losses:?}");
}

#[test]
fn who_thinks_is_told_no_temperature_by_anthropic() {
    let contents = json!([{"parts": [{"text": "hi"}]}]);
    let config = json!({"temperature": 0.3, "topK": 4, "maxOutputTokens": 20_000, "thinkingConfig": {"thinkingBudget": 4096}});
    let body = json!({"contents": contents, "generationConfig": config});
    let (there, losses) = sent(GEMINI, &body, "anthropic");
    assert_eq!(there["thinking"]["budget_tokens"], 4096);
    assert_eq!((there.get("temperature"), there.get("top_k")), (None, None));
    assert_eq!(losses.len(), 2, "{losses:?}");
    // Nothing is lost of what says the same.
    let (_, losses) = sent(
        CHAT,
        &asking(&json!({"temperature": 1, "thinking": {"type": "enabled", "budget_tokens": 2000}})),
        "anthropic",
    );
    assert_eq!(losses, Vec::<String>::new());
    let (there, _) = sent(
        CHAT,
        &asking(&json!({"temperature": 0.3, "top_k": 4})),
        "anthropic",
    );
    assert_eq!(
        (&there["temperature"], &there["top_k"]),
        (&json!(0.3), &json!(4))
    );
}

#[test]
fn what_is_said_before_a_call_is_its_plan_at_cohere() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "Let me see.", "reasoning_content": "A tool.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sun"}]);
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    let body = asking(&json!({"messages": messages, "tools": [tool]}));
    let (there, _) = sent(CHAT, &body, "cohere");
    let said = &there["messages"][1];
    assert_eq!(said["tool_plan"], "A tool.\n\nLet me see.");
    assert_eq!(said.get("content"), None);
}

#[test]
fn a_schema_goes_as_strict_where_it_is_a_hint_otherwise() {
    let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let long = json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}, "required": ["a"], "additionalProperties": false});
    let asked = |schema: &Value| {
        asking(&json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}))
    };
    let strict = |server: &str, schema: &Value| {
        let (there, _) = sent(MESSAGES, &asked(schema), server);
        there["response_format"]["json_schema"]
            .get("strict")
            .cloned()
    };
    for server in ["mistral", "cerebras", "openai"] {
        assert_eq!(strict(server, &closed), Some(json!(true)), "{server}");
    }
    // Of strict mode Cerebras takes no length, and of Groq's models some take no strict mode.
    assert_eq!(strict("mistral", &long), Some(json!(true)));
    assert_eq!(strict("cerebras", &long), None);
    assert_eq!(strict("groq", &closed), None);
    // Who knows the word says what is meant.
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": closed}});
    let (there, _) = sent(
        CHAT,
        &asking(&json!({"response_format": format})),
        "mistral",
    );
    assert_eq!(there["response_format"]["json_schema"].get("strict"), None);
}

#[test]
fn a_strict_schema_is_told_groq_and_cerebras_as_they_take_it() {
    let open = json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}}, "required": ["a"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": open}});
    let body = asking(&json!({"response_format": format}));
    let (there, losses) = sent(CHAT, &body, "groq");
    let schema = &there["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["a"].get("maxLength"), None);
    assert!(!losses.is_empty());
    let (there, losses) = sent(CHAT, &body, "cerebras");
    let schema = &there["response_format"]["json_schema"]["schema"];
    assert_eq!(schema["properties"]["a"].get("maxLength"), None);
    assert!(
        losses.iter().any(|at| at.ends_with("/a/maxLength")),
        "{losses:?}"
    );
}

#[test]
fn an_image_has_the_type_that_is_registered() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/jpg;base64,/9j/"}});
    let body = asking(&json!({"messages": [{"role": "user", "content": [image]}]}));
    let (there, _) = sent(CHAT, &body, "anthropic");
    assert_eq!(
        there["messages"][0]["content"][0]["source"]["media_type"],
        "image/jpeg"
    );
    let (there, _) = sent(CHAT, &body, "gemini");
    assert_eq!(
        there["contents"][0]["parts"][0]["inlineData"]["mimeType"],
        "image/jpeg"
    );
}

/// What a client of Chat's hears of a server's bytes.
fn heard(server: &str, body: &str, streamed: bool) -> String {
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    let request = asking(&json!({"tools": [tool], "stream": streamed}));
    let recorded = Recorded {
        status: 200,
        streamed,
        body: body.as_bytes().to_vec(),
    };
    whole(&planned(CHAT, &request, server), &rule(server), &recorded)
}

#[test]
fn a_turn_with_calls_ends_with_calls_whatever_the_server_calls_its_end() {
    let call = json!({"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    for reason in [
        "stop",
        "tool_call",
        "tool_use",
        "function_call",
        "tool_calls",
    ] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
        let reply = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}]});
        let told: Value =
            serde_json::from_str(&heard("vllm@0.32.0", &reply.to_string(), false)).unwrap();
        assert_eq!(
            told["choices"][0]["finish_reason"], "tool_calls",
            "{reason}"
        );
        let chunk = |delta: Value, reason: Value| {
            let chunk = json!({"id": "r", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
            format!("data: {chunk}\n\n")
        };
        let stream = chunk(
            json!({"role": "assistant", "tool_calls": [call]}),
            Value::Null,
        ) + &chunk(json!({}), json!(reason))
            + "data: [DONE]\n\n";
        let told = heard("vllm@0.32.0", &stream, true);
        assert_eq!(
            told.matches(r#""finish_reason":"tool_calls""#).count(),
            1,
            "{reason}: {told}"
        );
        assert_eq!(
            told.matches(r#""finish_reason":""#).count(),
            1,
            "{reason}: {told}"
        );
    }
}

#[test]
fn one_call_alone_is_a_list_of_one() {
    let call = json!({"index": 0, "id": "", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}});
    let chunk = json!({"id": "", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
        {"index": 0, "delta": {"role": "assistant", "tool_calls": call}, "logprobs": null, "finish_reason": null}]});
    let end = json!({"id": "", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": null, "finish_reason": "eos_token"}]});
    let told = heard(
        "tgi@2.4.0",
        &format!("data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        true,
    );
    assert!(told.contains(r#""name":"f""#), "{told}");
    assert!(told.contains(r#""finish_reason":"tool_calls""#), "{told}");
}

#[test]
fn who_was_told_not_to_think_has_thought_nothing() {
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    let asked =
        |effort: &str| asking(&json!({"response_format": format, "reasoning_effort": effort}));
    for server in [
        "vllm@0.32.0",
        "sglang@0.5.23",
        "llama-cpp",
        "lm-studio",
        "ollama",
    ] {
        let message = json!({"role": "assistant", "content": null, "reasoning_content": "{\"a\": 1}", "reasoning": "{\"a\": 1}"});
        let reply = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let recorded = Recorded {
            status: 200,
            streamed: false,
            body: reply.to_string().into_bytes(),
        };
        let told = whole(
            &planned(CHAT, &asked("none"), server),
            &rule(server),
            &recorded,
        );
        assert!(
            told.contains(r#""content":"{\"a\": 1}""#),
            "{server}: {told}"
        );
    }
}

fn lists(streamed: bool) -> Value {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": list}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    asking(&json!({"response_format": format, "tools": [tool], "stream": streamed}))
}

/// What a client of Chat's hears where it asks OpenAI for a list or a call.
fn listed(message: &Value, reason: &str) -> Value {
    let reply = json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}]});
    let recorded = Recorded {
        status: 200,
        streamed: false,
        body: reply.to_string().into_bytes(),
    };
    let told = whole(
        &planned(CHAT, &lists(false), "openai"),
        &rule("openai"),
        &recorded,
    );
    // A violation is told in words.
    serde_json::from_str(&told).unwrap_or_default()
}

#[test]
fn words_before_a_call_are_a_remark_where_a_list_is_asked_for_in_an_object() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let told = listed(
        &json!({"role": "assistant", "content": "Let me look.", "tool_calls": [call]}),
        "tool_calls",
    );
    assert_eq!(
        told["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "f",
        "{told}"
    );
    let told = listed(
        &json!({"role": "assistant", "content": "{\"answer\": [1]}"}),
        "stop",
    );
    assert_eq!(told["choices"][0]["message"]["content"], "[1]", "{told}");
    // An object that has more in it is none around an answer.
    let told = listed(
        &json!({"role": "assistant", "content": "{\"answer\": [1], \"why\": 2}"}),
        "stop",
    );
    assert!(told.get("choices").is_none(), "{told}");
}

#[test]
fn an_object_around_an_answer_may_be_cut_anywhere() {
    for said in ["", "{", "{\"", "{\"ans", "{\"answer\": [1"] {
        let told = listed(&json!({"role": "assistant", "content": said}), "length");
        let choice = &told["choices"][0];
        assert_eq!(choice["finish_reason"], "length", "{said}: {told}");
        let heard = choice["message"]["content"].as_str().unwrap_or_default();
        assert!("[1".starts_with(heard), "{said}: {told}");
    }
}

/// The arguments of the first call that a client of Chat's hears.
fn arguments(told: &str, streamed: bool) -> String {
    if !streamed {
        let reply: Value = serde_json::from_str(told).unwrap();
        let call = &reply["choices"][0]["message"]["tool_calls"][0];
        return call["function"]["arguments"].as_str().unwrap().to_owned();
    }
    let chunks = told.lines().filter_map(|line| line.strip_prefix("data: {"));
    let pieces = chunks.filter_map(|rest| {
        let chunk: Value = serde_json::from_str(&format!("{{{rest}")).unwrap();
        let call = &chunk["choices"][0]["delta"]["tool_calls"][0];
        call["function"]["arguments"].as_str().map(str::to_owned)
    });
    pieces.collect()
}

/// MCP's servers name parameters so (`filter[id]` of App Store Connect's, `$top` of Graph's), and one such fails every request.
#[test]
fn parameters_have_names_that_anthropic_takes_and_the_client_hears_its_own() {
    let schema = json!({"type": "object", "required": ["filter[id]", "top"], "additionalProperties": false,
        "properties": {"filter[id]": {"type": "string"}, "top": {"type": "integer"},
                       "@same": {"$ref": "#/properties/filter%5Bid%5D"}}});
    let tools = json!([
        {"type": "function", "function": {"name": "files.list", "parameters": schema}},
        {"type": "function", "function": {"name": "plain", "parameters": {"type": "object", "properties": {"a.b": {"type": "string"}}}}}]);
    for streamed in [false, true] {
        let body = asking(&json!({"tools": tools, "tool_choice": "required", "stream": streamed}));
        let exchange = planned(CHAT, &body, "anthropic");
        let there: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        let told = &there["tools"][0]["input_schema"];
        let keys: Vec<&String> = told["properties"].as_object().unwrap().keys().collect();
        assert!(
            keys[0].starts_with("filter_id__") && keys[1] == "top",
            "{told}"
        );
        assert_eq!(told["required"], json!([keys[0], "top"]));
        assert!(there["tools"][1]["input_schema"]["properties"]["a.b"].is_object());
        let input = json!({keys[0]: "7", "top": 3, keys[2]: "x"}).to_string();
        let wanted = r#"{"filter[id]":"7","top":3,"@same":"x"}"#;
        let name = &there["tools"][0]["name"];
        let reply = match streamed {
            false => json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use",
                "content": [{"type": "tool_use", "id": "toolu_1", "name": name, "input": serde_json::from_str::<Value>(&input).unwrap()}],
                "usage": {"input_tokens": 1, "output_tokens": 1}}).to_string(),
            true => {
                let pieces = input.as_bytes().chunks(5).map(|piece| {
                    json!({"type": "content_block_delta", "index": 0,
                        "delta": {"type": "input_json_delta", "partial_json": std::str::from_utf8(piece).unwrap()}})
                });
                let begin = [
                    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                        "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
                    json!({"type": "content_block_start", "index": 0,
                        "content_block": {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}}),
                ];
                let end = [
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
                    json!({"type": "message_stop"}),
                ];
                let events = begin.into_iter().chain(pieces).chain(end);
                let line = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
                events.map(line).collect()
            }
        };
        let recorded = Recorded {
            status: 200,
            streamed,
            body: reply.into_bytes(),
        };
        let told = whole(&exchange, &rule("anthropic"), &recorded);
        assert_eq!(arguments(&told, streamed), wanted, "{told}");
    }
    // The same schema further within has the client's names.
    let filter = json!({"type": "object", "properties": {"$and": {"type": "array", "items": {"$ref": "#"}}, "field": {"type": "string"}},
        "dependencies": {"field": ["$and"]}, "additionalProperties": false});
    let body = asking(
        &json!({"tools": [{"type": "function", "function": {"name": "q", "parameters": filter}}]}),
    );
    let exchange = planned(CHAT, &body, "anthropic");
    let there: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
    let told = &there["tools"][0]["input_schema"];
    let key = told["properties"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    assert_eq!(told["dependencies"]["field"], json!([key]), "{told}");
    let within = told["properties"][key]["items"]["$ref"].as_str().unwrap();
    let within = told.pointer(&within[1..]).unwrap();
    assert!(
        within["properties"]["$and"]["items"]["$ref"].is_string(),
        "{told}"
    );
    assert_eq!(within["dependencies"]["field"], json!(["$and"]));
    // Arguments that are mended, and a tool's name in other letters.
    let block = json!({"type": "tool_use", "id": "toolu_1", "name": "Q", "input": {}});
    let delta = format!("{{'{key}': [{{'$and': []}}],}}");
    let delta = json!({"type": "input_json_delta", "partial_json": delta});
    let recorded = Recorded {
        status: 200,
        streamed: true,
        body: messages_stream(&[(block, vec![delta])], Some("tool_use")).into_bytes(),
    };
    let mut body = body;
    body["stream"] = json!(true);
    let told = whole(
        &planned(CHAT, &body, "anthropic"),
        &rule("anthropic"),
        &recorded,
    );
    let said: Value = serde_json::from_str(&arguments(&told, true)).unwrap_or_default();
    assert_eq!(said, json!({"$and": [{"$and": []}]}), "{told}");
    // Its own clients are told by it.
    let own = asking(&json!({"tools": [{"name": "list", "input_schema": schema}]}));
    assert!(planned(MESSAGES, &own, "anthropic").sent().is_none());
}

#[test]
fn an_item_that_is_no_object_is_blamed_and_not_its_list() {
    let user = json!({"role": "user", "content": "hi"});
    let refused = |path: &str, body: &Value| {
        let client = passage::client(path).unwrap();
        let demand = exchange::read(client, path, body.to_string().as_bytes());
        let planned = demand.and_then(|demand| exchange::plan(demand, &rule("cohere")));
        planned.unwrap_err().param.unwrap()
    };
    let tools = json!([{"name": "f", "input_schema": {"type": "object"}}, 7]);
    let flat = json!([{"type": "function", "name": "f"}, null]);
    for (path, body, at) in [
        (
            CHAT,
            asking(&json!({"messages": [user, null]})),
            "messages[1]",
        ),
        (
            CHAT,
            asking(&json!({"messages": ["hi", user]})),
            "messages[0]",
        ),
        (
            CHAT,
            asking(&json!({"messages": [{"role": "user", "content": ["hi"]}]})),
            "messages[0].content[0]",
        ),
        (
            CHAT,
            asking(&json!({"messages": [{"role": "user", "content": 7}]})),
            "messages[0].content",
        ),
        (CHAT, asking(&json!({"messages": "hi"})), "messages"),
        (
            MESSAGES,
            asking(&json!({"messages": [user, null]})),
            "messages[1]",
        ),
        (MESSAGES, asking(&json!({"messages": "hi"})), "messages"),
        (MESSAGES, asking(&json!({"tools": tools})), "tools[1]"),
        (
            "/v1/responses",
            json!({"model": "m", "input": [user, 7]}),
            "input[1]",
        ),
        ("/v1/responses", json!({"model": "m", "input": 7}), "input"),
        (
            "/v1/responses",
            json!({"model": "m", "input": "hi", "tools": flat}),
            "tools[1]",
        ),
    ] {
        assert_eq!(refused(path, &body), at, "{path}: {body}");
    }
}

/// home-assistant/core#167208, anthropics/claude-code#11975
#[test]
fn an_image_has_the_media_type_of_its_bytes_before_a_server_of_the_same_wire_too() {
    let png = "iVBORw0KGgoAAAANSUhEUg";
    let image = |kind: Value| json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": png}});
    let result =
        |block: Value| json!({"type": "tool_result", "tool_use_id": "t", "content": [block]});
    let asked = |kind: Value| {
        let bare = json!({"type": "image", "source": {"type": "base64", "data": png}});
        let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
        asking(
            &json!({"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}], "messages": [
            {"role": "user", "content": [image(kind.clone()), bare]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result(image(kind))]}]}),
        )
    };
    for kind in [json!("image/jpeg"), Value::Null] {
        let (there, _) = sent(MESSAGES, &asked(kind.clone()), "anthropic");
        let whole = image(json!("image/png"));
        let first = &there["messages"][0]["content"];
        assert_eq!(first[0], whole, "{kind}");
        assert_eq!(first[1]["source"]["media_type"], "image/png");
        assert_eq!(there["messages"][2]["content"][0]["content"][0], whole);
        // Others are told of it, too.
        let (there, _) = sent(MESSAGES, &asked(kind), "vllm@0.32.0");
        let url = format!("data:image/png;base64,{png}");
        for part in [0, 1] {
            assert_eq!(
                there["messages"][0]["content"][part]["image_url"]["url"],
                url
            );
        }
    }
    let right =
        asking(&json!({"messages": [{"role": "user", "content": [image(json!("image/png"))]}]}));
    let (there, _) = sent(MESSAGES, &right, "anthropic");
    assert_eq!(there["messages"], right["messages"]);

    for data in [
        json!({"mimeType": "image/jpeg", "data": png}),
        json!({"data": png}),
    ] {
        let body = json!({"contents": [{"role": "user", "parts": [{"text": "what?"}, {"inlineData": data}]}]});
        let (there, _) = sent(GEMINI, &body, "gemini");
        let mended = &there["contents"][0]["parts"][1]["inlineData"];
        assert_eq!(*mended, json!({"mimeType": "image/png", "data": png}));
        let (there, _) = sent(GEMINI, &body, "anthropic");
        let told = &there["messages"][0]["content"][1]["source"];
        assert_eq!(told["media_type"], "image/png");
    }
}
