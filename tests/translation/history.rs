//! A conversation that began on one server goes on on any other: each of its turns is sent to every server, whose own
//! rules are held against what it gets; and what a model's chat template refuses is learnt from its errors.

use crate::replay::{rule, rules};
use isogloss_core::exchange::{self, Exchange, concerns, launch_facts};
use isogloss_core::passage;
use isogloss_core::rules::Rule;
use isogloss_testing::strict::{Template, refusal};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const GEMINI: &str = "/v1beta/models/m:generateContent";

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// As servers make them: Kimi's, vLLM's (46 characters), Anthropic's, Mistral's.
const KIMI: &str = "functions.weather:0";
const VLLM: &str = "chatcmpl-tool-0123456789abcdef0123456789abcdef";
const ANTHROPIC: &str = "toolu_01A09q90qw90lq917835lq9";
const MISTRAL: &str = "D681PevKs";

fn planned(path: &str, body: &Value, rule: &Rule) -> Result<Exchange, String> {
    let client = passage::client(path).unwrap();
    let text = body.to_string();
    let demand = exchange::read(client, path, text.as_bytes()).map_err(|it| it.message)?;
    exchange::plan(demand, rule).map_err(|it| it.message)
}

/// What the server gets.
fn sent(body: &Value, exchange: &Exchange) -> Value {
    match exchange.sent() {
        Some(sent) => serde_json::from_slice(sent).unwrap(),
        None => body.clone(),
    }
}

fn function(name: &str) -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}}, "title": name})
}

/// Ten turns of a client of Chat's, who keeps what each server said.
fn chat_turns() -> Vec<Vec<Value>> {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let result =
        |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let image =
        json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}});
    vec![
        vec![
            json!({"role": "system", "content": "Be brief."}),
            json!({"role": "developer", "content": "Answer in French."}),
            json!({"role": "user", "content": [{"type": "text", "text": "Where is it, and how is the weather?"}, image]}),
        ],
        // Two calls at once, answered in the other order.
        vec![
            json!({"role": "assistant", "content": null, "reasoning_content": "Two tools.", "tool_calls": [
                call(KIMI, "weather", r#"{"city":"Paris"}"#), call("functions.weather.0", "weather", r#"{"city":"Rome"}"#)]}),
            result("functions.weather.0", "rain"),
            result(KIMI, "sun"),
        ],
        vec![
            json!({"role": "assistant", "content": "Sun and rain."}),
            json!({"role": "user", "content": "And then?", "name": "ada"}),
            json!({"role": "user", "content": "Hello?"}),
        ],
        vec![
            json!({"role": "assistant", "content": "One moment.", "tool_calls": [call(VLLM, "weather", r#"{"city":"Oslo"}"#)]}),
            result(VLLM, ""),
        ],
        // A retry, as PydanticAI 2 writes it, in the middle.
        vec![
            json!({"role": "assistant", "content": ""}),
            json!({"role": "system", "content": "Please return text or include your response in a tool call."}),
        ],
        vec![
            json!({"role": "assistant", "content": "", "tool_calls": [{"id": "call_custom", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}]}),
            result("call_custom", "total 0"),
        ],
        // A call that was cut, and its validation error.
        vec![
            json!({"role": "assistant", "content": null, "tool_calls": [call("call_1", "weather", "{\"city\": \"Par")]}),
            result("call_1", "Invalid JSON. Fix the errors and try again."),
            json!({"role": "user", "content": "Go on."}),
        ],
        // An image as a result.
        vec![
            json!({"role": "assistant", "tool_calls": [call(ANTHROPIC, "weather", "{}")]}),
            json!({"role": "tool", "tool_call_id": ANTHROPIC, "content": [{"type": "text", "text": "a map"}]}),
        ],
        // Never answered; a result of nothing.
        vec![
            json!({"role": "assistant", "content": null, "tool_calls": [call(MISTRAL, "weather", r#"{"city":"Bern"}"#), call("call_open", "weather", "{}")]}),
            result(MISTRAL, "fog"),
            result("call_gone", "snow"),
            json!({"role": "user", "content": "Never mind."}),
        ],
        vec![
            json!({"role": "assistant", "content": "Fine."}),
            json!({"role": "assistant", "content": "Anything else?"}),
            json!({"role": "user", "content": "No."}),
        ],
    ]
}

/// The same kind of conversation in Anthropic's words.
fn messages_turns() -> Vec<Vec<Value>> {
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {"city": "Paris"}});
    let result =
        |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let user = |content: Value| json!({"role": "user", "content": content});
    let assistant = |content: Value| json!({"role": "assistant", "content": content});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}});
    vec![
        vec![user(
            json!([{"type": "text", "text": "Where is it?"}, image]),
        )],
        vec![
            assistant(
                json!([{"type": "thinking", "thinking": "Two tools.", "signature": "c2lnbmVk"}, used(KIMI), used("functions.weather.0")]),
            ),
            user(json!([
                result("functions.weather.0", "rain"),
                result(KIMI, "sun")
            ])),
        ],
        vec![
            assistant(json!("Sun and rain.")),
            user(json!("And then?")),
            user(json!("Hello?")),
        ],
        vec![
            assistant(json!([{"type": "text", "text": "One moment."}, used(VLLM)])),
            user(json!([result(VLLM, ""), {"type": "text", "text": "Quick!"}])),
        ],
        vec![
            assistant(
                json!([{"type": "thinking", "thinking": "So.", "signature": "isogloss-00"}, {"type": "text", "text": "Yes."}]),
            ),
            user(json!("More.")),
        ],
        vec![
            assistant(json!([used(MISTRAL)])),
            user(json!([result(MISTRAL, "fog")])),
        ],
    ]
}

/// And in Gemini's, whose calls have no ids.
fn gemini_turns() -> Vec<Vec<Value>> {
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {"city": "Paris"}}});
    let result =
        |name: &str| json!({"functionResponse": {"name": name, "response": {"output": "sun"}}});
    let user = |parts: Value| json!({"role": "user", "parts": parts});
    let model = |parts: Value| json!({"role": "model", "parts": parts});
    vec![
        vec![user(
            json!([{"text": "Where is it?"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]),
        )],
        vec![
            model(json!([call("weather"), call("map")])),
            user(json!([result("map"), result("weather")])),
        ],
        vec![
            model(json!([{"text": "There."}])),
            user(json!([{"text": "And?"}])),
            user(json!([{"text": "Hello?"}])),
        ],
        vec![
            model(
                json!([{"text": "So.", "thought": true}, {"text": "One moment."}, call("weather")]),
            ),
            user(json!([result("weather")])),
        ],
    ]
}

fn body(path: &str, turns: &[Vec<Value>]) -> Value {
    let turns: Vec<Value> = turns.concat();
    match path {
        CHAT => json!({"model": "m", "messages": turns, "tools": [
            {"type": "function", "function": {"name": "weather", "parameters": function("weather")}}]}),
        MESSAGES => {
            json!({"model": "m", "max_tokens": 64, "system": "Be brief.", "messages": turns, "tools": [
            {"name": "weather", "input_schema": function("weather")}]})
        }
        _ => {
            json!({"contents": turns, "systemInstruction": {"parts": [{"text": "Be brief."}]}, "tools": [
            {"functionDeclarations": [{"name": "weather", "parametersJsonSchema": function("weather")}]}]})
        }
    }
}

#[test]
fn a_conversation_goes_on_on_every_server_at_every_turn() {
    let mut faults = Vec::new();
    for (path, turns) in [
        (CHAT, chat_turns()),
        (MESSAGES, messages_turns()),
        (GEMINI, gemini_turns()),
    ] {
        for dialect in rules().names() {
            // Its own clients' conversations are their own: nobody moved there.
            if dialect.starts_with("gemini") && path == GEMINI {
                continue;
            }
            for last in 1..=turns.len() {
                let body = body(path, &turns[..last]);
                let outcome = planned(path, &body, &rule(dialect))
                    .and_then(|exchange| refusal(dialect, &sent(&body, &exchange)));
                if let Err(fault) = outcome {
                    faults.push(format!("{path}, turn {last}, {dialect}: {fault}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Sends a conversation until it is taken, and learns from what the server says.
fn learnt(
    body: &Value,
    server: &str,
    template: Template,
) -> Result<(Vec<String>, Exchange), String> {
    let mut rule = rule(server);
    let mut known = Vec::new();
    loop {
        let exchange = planned(CHAT, body, &rule)?;
        let Err(message) = template.render(&sent(body, &exchange)) else {
            return Ok((known, exchange));
        };
        let error = json!({"error": {"message": message, "type": "BadRequestError", "code": 400}})
            .to_string();
        let facts = launch_facts(&rule, error.as_bytes());
        let next = facts.iter().find_map(|told| {
            let fact = &told.fact;
            let is_new = concerns(&exchange.demand, exchange.strategy, &rule, fact);
            rule.knowing(fact)
                .filter(|_| is_new)
                .map(|next| (fact, next))
        });
        let Some((fact, next)) = next else {
            return Err(format!("after {known:?}: {message}"));
        };
        known.push(fact.clone());
        rule = next;
    }
}

#[test]
fn what_a_chat_template_refuses_is_learnt_from_its_errors() {
    let turns = chat_turns();
    let mut faults = Vec::new();
    for server in ["vllm", "sglang", "llama-cpp", "tgi", "transformers"] {
        for template in Template::ALL {
            for last in 1..=turns.len() {
                let body = body(CHAT, &turns[..last]);
                if let Err(fault) = learnt(&body, server, template) {
                    faults.push(format!("{server}, {template:?}, turn {last}: {fault}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn nothing_is_learnt_that_the_conversation_has_nothing_to_do_with() {
    let body = json!({"model": "m", "messages": [
        {"role": "user", "content": "a"}, {"role": "user", "content": "b"}]});
    let (known, exchange) = learnt(&body, "vllm", Template::Llama2).unwrap();
    assert_eq!(known, ["refuses_repeats"]);
    assert_eq!(
        sent(&body, &exchange)["messages"],
        json!([{"role": "user", "content": "a\nb"}])
    );
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "a"}]});
    let (known, exchange) = learnt(&plain, "vllm", Template::Gemma).unwrap();
    assert!(known.is_empty() && exchange.sent().is_none());
}

#[test]
fn the_same_id_is_rewritten_alike_in_every_request_and_no_two_become_one() {
    let turns = chat_turns();
    let ids = |last: usize| {
        let body = body(CHAT, &turns[..last]);
        let sent = sent(&body, &planned(CHAT, &body, &rule("mistral")).unwrap());
        let messages = sent["messages"].as_array().unwrap().clone();
        let calls = messages
            .iter()
            .filter_map(|message| message["tool_calls"].as_array());
        let ids = calls
            .flatten()
            .map(|call| call["id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    let all = ids(turns.len());
    assert!(
        all.contains(&MISTRAL.to_owned()),
        "what fits stays: {all:?}"
    );
    for last in 1..turns.len() {
        let some = ids(last);
        assert_eq!(some, all[..some.len()]);
    }
    let mut each = all.clone();
    each.sort();
    each.dedup();
    assert_eq!(each.len(), all.len());
}

#[test]
fn what_a_server_takes_keeps_its_bytes() {
    let system = r#"{ "role" : "system", "content": "Be brief." }"#;
    let user = r#"{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://e.x/v"}}],"x":1}"#;
    let developer = r#"{"role":"developer","content":"French.","x":[ 1 ]}"#;
    let body =
        |messages: &[&str]| format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
    let sent = |server: &str, text: &str| {
        let demand = exchange::read_chat(text.as_bytes()).unwrap();
        let exchange = exchange::plan(demand, &rule(server)).unwrap();
        let sent = exchange
            .sent()
            .map(|sent| String::from_utf8(sent.to_vec()).unwrap());
        (sent, exchange.losses.len())
    };
    for server in ["vllm", "openai", "mistral", "groq"] {
        assert_eq!(sent(server, &body(&[system, user])), (None, 0), "{server}");
    }
    let renamed = r#"{"role":"system","content":"French.","x":[ 1 ]}"#;
    let before = body(&[developer, user]);
    assert_eq!(sent("vllm", &before), (Some(body(&[renamed, user])), 0));
    assert_eq!(sent("openai", &before), (None, 0));
}

/// A request with one call and its result.
fn with_result(model: &str, content: &Value) -> Value {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}});
    let tool = json!({"type": "function", "function": {"name": "weather", "parameters": function("weather")}});
    json!({"model": model, "tools": [tool], "messages": [
        {"role": "user", "content": "How is the weather?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": content},
    ]})
}

#[test]
fn images_in_a_result_are_told_by_the_user_where_results_are_text() {
    let image =
        json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{PNG}")}});
    let content = json!([{"type": "text", "text": "a picture"}, image]);
    let body = with_result("m", &content);
    let exchange = planned(CHAT, &body, &rule("openai")).unwrap();
    let told = sent(&body, &exchange);
    let [.., result, user] = told["messages"].as_array().unwrap().as_slice() else {
        panic!("{told}");
    };
    assert_eq!(result["role"], "tool");
    assert!(!result.to_string().contains("image_url"), "{result}");
    assert!(result.to_string().contains("a picture"), "{result}");
    assert_eq!(user["role"], "user");
    assert_eq!(user["content"].as_array().unwrap().last(), Some(&image));
    let lost = |loss: &isogloss_core::ir::Loss| loss.pointer == "/messages/2/content";
    assert!(exchange.losses.iter().any(lost), "{:?}", exchange.losses);
    // A server that takes them has them where they were.
    let exchange = planned(CHAT, &body, &rule("vllm@0.32.0")).unwrap();
    assert_eq!(sent(&body, &exchange)["messages"], body["messages"]);
}

#[test]
fn a_server_that_is_shown_no_calls_is_told_them_in_its_models_own_markup() {
    let body = with_result("Qwen/Qwen3-8B", &json!("sun"));
    let exchange = planned(CHAT, &body, &rule("plain")).unwrap();
    let told = sent(&body, &exchange);
    let said: Vec<&str> = told["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    let call =
        "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\":\"Paris\"}}\n</tool_call>";
    assert!(said.iter().any(|text| text.ends_with(call)), "{said:?}");
    assert_eq!(said.last(), Some(&"<tool_response>\nsun\n</tool_response>"));
    // Of a model that nobody knows, in the form that the prompt asks for.
    let other = with_result("m", &json!("sun"));
    let exchange = planned(CHAT, &other, &rule("plain")).unwrap();
    let told = sent(&other, &exchange).to_string();
    assert!(!told.contains("<tool_call>"), "{told}");
    assert!(told.contains("<tool_response name="), "{told}");
}

#[test]
fn the_model_goes_on_with_words_that_are_marked_in_the_servers_own_way() {
    let turn = |more: Value| {
        let mut turn = json!({"role": "assistant", "content": "Once upon"});
        turn.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"model": "m", "messages": [{"role": "user", "content": "A tale."}, turn]})
    };
    let marked = turn(json!({"prefix": true, "refusal": null}));
    let exchange = planned(CHAT, &marked, &rule("mistral")).unwrap();
    let told = sent(&marked, &exchange)["messages"].clone();
    assert_eq!(
        told[1],
        json!({"role": "assistant", "content": "Once upon", "prefix": true})
    );
    assert_eq!(told.as_array().unwrap().len(), 2, "{told}");
    assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
    // Unmarked, it is a 400 there; another's mark is no member of its messages.
    for more in [
        json!({}),
        json!({"prefix": false}),
        json!({"partial": true}),
    ] {
        let body = turn(more.clone());
        let exchange = planned(CHAT, &body, &rule("mistral")).unwrap();
        let told = sent(&body, &exchange)["messages"].clone();
        assert_eq!(told.as_array().unwrap().len(), 3, "{more}: {told}");
        assert_eq!(told[1].get("partial"), None, "{told}");
    }
}

#[test]
fn what_it_costs_is_told_once_of_each_kind() {
    let turns = chat_turns();
    let body = body(CHAT, &turns);
    let exchange = planned(CHAT, &body, &rule("mistral")).unwrap();
    let losses = exchange.losses.iter();
    let mut told: Vec<(&str, &str)> = losses
        .map(|loss| (loss.pointer.as_str(), loss.reason.as_str()))
        .collect();
    assert!(told.len() < 12, "{told:?}");
    for pointer in ["/messages/7/name", "/messages/12"] {
        assert!(
            told.iter().any(|(at, _)| *at == pointer),
            "{pointer}: {told:?}"
        );
    }
    told.sort_unstable();
    told.dedup();
    assert_eq!(told.len(), exchange.losses.len());
}

#[test]
fn an_ollama_is_asked_for_a_context_that_is_long_enough_and_no_other() {
    let sent = |path: &str, words: usize, extra: Value| {
        let text = "word ".repeat(words);
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": text}],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]});
        let extra = extra.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(extra);
        sent(
            &body,
            &planned(path, &body, &rule("ollama-native")).unwrap(),
        )
    };
    for path in [CHAT, "/api/chat"] {
        let short = sent(path, 100, json!({}));
        assert!(
            short.get("options").is_none() && short.get("truncate").is_none(),
            "{short}"
        );
        for (words, size) in [(2_000, 8192), (6_000, 16384), (100_000, 32768)] {
            let long = sent(path, words, json!({}));
            assert_eq!(long["options"]["num_ctx"], size, "{path}, {words}");
            assert_eq!(
                (&long["truncate"], &long["shift"]),
                (&json!(false), &json!(false))
            );
        }
        let own = sent(
            path,
            6_000,
            json!({"options": {"num_ctx": 5000}, "truncate": true}),
        );
        assert_eq!(own["options"]["num_ctx"], 5000, "{own}");
        assert_eq!(own["truncate"], true);
    }
}

#[test]
fn calls_that_share_an_id_have_ids_of_their_own_where_the_server_wants_that() {
    let call = |city: &str| json!({"id": "call_0", "type": "function", "function": {"name": "f", "arguments": json!({"city": city}).to_string()}});
    let result = |text: &str| json!({"role": "tool", "tool_call_id": "call_0", "content": text});
    let body = json!({"model": "m", "tools": [{"type": "function", "function": {"name": "f", "parameters": function("f")}}],
        "messages": [{"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [call("Oslo"), call("Rome")]}, result("snow"), result("sun"),
            {"role": "assistant", "content": null, "tool_calls": [call("Bern")]}, result("fog")]});
    let exchange = planned(CHAT, &body, &rule("anthropic")).unwrap();
    let sent = sent(&body, &exchange);
    let blocks = || {
        let messages = sent["messages"].as_array().unwrap().iter();
        messages.flat_map(|message| message["content"].as_array().unwrap())
    };
    let of = |kind: &str, name: &str| -> Vec<String> {
        let those = blocks().filter(|block| block["type"] == kind);
        those
            .map(|block| block[name].as_str().unwrap().to_owned())
            .collect()
    };
    let ids = ["call_0", "call_0_2", "call_0_3"];
    assert_eq!(of("tool_use", "id"), ids);
    assert_eq!(of("tool_result", "tool_use_id"), ids);
    let said: Vec<&str> = blocks()
        .filter_map(|block| block["content"][0]["text"].as_str())
        .collect();
    assert_eq!(said, ["snow", "sun", "fog"]);
}

#[test]
fn a_tool_that_failed_failed_everywhere() {
    let messages = json!({"model": "m", "max_tokens": 5, "tools": [{"name": "f", "input_schema": function("f")}],
        "messages": [{"role": "user", "content": "a"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": "no such city"}]}]});
    let exchange = planned(MESSAGES, &messages, &rule("gemini")).unwrap();
    let response =
        sent(&messages, &exchange)["contents"][2]["parts"][0]["functionResponse"].clone();
    assert_eq!(response["response"], json!({"error": "no such city"}));
    assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
    let gemini = json!({"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": function("f")}]}],
        "contents": [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"error": "no such city"}}}]}]});
    let exchange = planned(GEMINI, &gemini, &rule("anthropic")).unwrap();
    let result = sent(&gemini, &exchange)["messages"][2]["content"][0].clone();
    assert_eq!(result["is_error"], true);
    // Elsewhere it is a loss where the result itself does not say it.
    let pointers = |path: &str, body: &Value| -> Vec<String> {
        let exchange = planned(path, body, &rule("openai")).unwrap();
        let losses = exchange.losses.into_iter();
        losses.map(|loss| loss.pointer).collect()
    };
    assert_eq!(
        pointers(MESSAGES, &messages),
        ["/messages/2/content/0/is_error"]
    );
    assert!(pointers(GEMINI, &gemini).is_empty());
    let mut fine = messages;
    fine["messages"][2]["content"][0]["is_error"] = json!(false);
    assert!(pointers(MESSAGES, &fine).is_empty());
}

#[test]
fn what_a_model_said_in_pieces_is_one_text() {
    // As google-genai's chats keep a stream: a content for each chunk.
    let model = |part: Value| json!({"role": "model", "parts": [part]});
    let gemini = json!({"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": function("f")}]}],
        "contents": [{"role": "user", "parts": [{"text": "a"}]}, model(json!({"text": "Tw", "thought": true})), model(json!({"text": "o.", "thought": true})),
            model(json!({"text": "Hel"})), model(json!({"text": "lo wor"})), model(json!({"text": "ld"})), model(json!({"text": ""})),
            model(json!({"functionCall": {"name": "f", "args": {"city": "Oslo"}}})), model(json!({"functionCall": {"name": "f", "args": {"city": "Rome"}}})),
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "snow"}}}, {"functionResponse": {"name": "f", "response": {"output": "sun"}}}]}]});
    let exchange = planned(GEMINI, &gemini, &rule("vllm")).unwrap();
    let sent_on = sent(&gemini, &exchange);
    let turns = sent_on["messages"].as_array().unwrap();
    let roles: Vec<&str> = turns
        .iter()
        .map(|turn| turn["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(turns[1]["content"], "Hello world");
    assert_eq!(turns[1]["tool_calls"].as_array().unwrap().len(), 2);
    assert!(turns[1].to_string().contains("Two."), "{}", turns[1]);
    // What Gemini has no other name for stays where it was.
    let exchange = planned(GEMINI, &gemini, &rule("gemini")).unwrap();
    assert_eq!(sent(&gemini, &exchange)["contents"], gemini["contents"]);
    // As Anthropic's models cite.
    let text = |text: &str| json!({"type": "text", "text": text});
    let messages = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": [text("The grass is "), text("green"), text(".")]}, {"role": "user", "content": "c"}]});
    let exchange = planned(MESSAGES, &messages, &rule("vllm")).unwrap();
    let turns = sent(&messages, &exchange)["messages"].clone();
    assert_eq!(turns[0]["content"], "a\nb");
    assert_eq!(turns[1]["content"], "The grass is green.");
}

#[test]
fn thoughts_are_told_under_the_name_that_the_server_has_for_them() {
    let said = |thoughts: Value| {
        let mut said = json!({"role": "assistant", "content": "A"});
        said.as_object_mut()
            .unwrap()
            .extend(thoughts.as_object().unwrap().clone());
        json!({"model": "m", "messages": [{"role": "user", "content": "q"}, said, {"role": "user", "content": "r"}]})
    };
    let block = json!([{"type": "thinking", "thinking": "hm", "signature": "S"}]);
    for server in ["groq", "cerebras"] {
        let body = said(json!({"reasoning_content": "hm", "thinking_blocks": block}));
        let exchange = planned(CHAT, &body, &rule(server)).unwrap();
        let own = json!({"role": "assistant", "content": "A", "reasoning": "hm"});
        assert_eq!(sent(&body, &exchange)["messages"][1], own, "{server}");
        let lost: Vec<&str> = exchange
            .losses
            .iter()
            .map(|loss| loss.pointer.as_str())
            .collect();
        assert_eq!(lost, ["/messages/1/thinking_blocks"]);
        let body = said(json!({"reasoning": "hm"}));
        assert!(
            planned(CHAT, &body, &rule(server))
                .unwrap()
                .sent()
                .is_none(),
            "its own bytes"
        );
    }
}

/// What Anthropic's server says, in the parts of a Gemini client's, whole or streamed.
fn gemini_parts(mut exchange: Exchange, streamed: bool) -> Vec<Value> {
    let blocks = [
        json!({"type": "thinking", "thinking": "hm", "signature": "S=="}),
        json!({"type": "redacted_thinking", "data": "R"}),
        json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"city": "Oslo"}}),
    ];
    let checks = exchange.compile(&Default::default()).unwrap();
    let ids = isogloss_core::ir::Ids::new(7);
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let parts = |text: &str| {
        let reply: Value = serde_json::from_str(text).unwrap();
        reply["candidates"][0]["content"]["parts"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    };
    if !streamed {
        let reply = json!({"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": blocks,
            "stop_reason": "tool_use", "stop_sequence": null, "usage": usage});
        let told = exchange::reply(&exchange, &checks, ids, reply.to_string().as_bytes()).unwrap();
        return parts(std::str::from_utf8(&told.body).unwrap());
    }
    let mut translator = exchange::StreamTranslator::new(&exchange, checks, ids, 1 << 20);
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}}),
    ];
    for (index, block) in blocks.iter().enumerate() {
        let mut begun = block.clone();
        let deltas = match block["type"].as_str().unwrap() {
            "thinking" => {
                (begun["thinking"], begun["signature"]) = (json!(""), json!(""));
                vec![
                    json!({"type": "thinking_delta", "thinking": "hm"}),
                    json!({"type": "signature_delta", "signature": "S=="}),
                ]
            }
            "tool_use" => {
                begun["input"] = json!({});
                vec![
                    json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
                ]
            }
            _ => Vec::new(),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    let mut out = Vec::new();
    for event in events {
        translator
            .push(format!("data: {event}\n\n").as_bytes(), &mut out)
            .unwrap();
    }
    translator.finish(exchange::End::Eof, &mut out).unwrap();
    // Without `alt=sse` it is a list.
    let told: Vec<Value> = serde_json::from_slice(&out).unwrap();
    told.iter()
        .flat_map(|frame| parts(&frame.to_string()))
        .collect()
}

#[test]
fn what_anthropic_signed_comes_back_through_a_client_of_geminis() {
    let said = |path: &str, parts: Option<Vec<Value>>| {
        let mut contents = vec![json!({"role": "user", "parts": [{"text": "a"}]})];
        if let Some(parts) = parts {
            contents.push(json!({"role": "model", "parts": parts}));
            contents.push(json!({"role": "user", "parts": [{"functionResponse": {"id": "toolu_1", "name": "f", "response": {"output": "snow"}}}]}));
        }
        let body = json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": function("f")}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true}}});
        (path.to_owned(), body)
    };
    let stream = GEMINI.replace(":generateContent", ":streamGenerateContent");
    for (path, streamed) in [(GEMINI, false), (stream.as_str(), true)] {
        let (path, body) = said(path, None);
        let parts = gemini_parts(planned(&path, &body, &rule("anthropic")).unwrap(), streamed);
        assert!(
            parts
                .iter()
                .any(|part| part["text"] == "hm" && part["thought"] == true),
            "{parts:?}"
        );
        let (path, body) = said(&path, Some(parts));
        let exchange = planned(&path, &body, &rule("anthropic")).unwrap();
        let content = sent(&body, &exchange)["messages"][1]["content"].clone();
        assert_eq!(
            content[0],
            json!({"type": "thinking", "thinking": "hm", "signature": "S=="})
        );
        assert_eq!(
            content[1],
            json!({"type": "redacted_thinking", "data": "R"})
        );
        assert_eq!(content[2]["type"], "tool_use");
        // Gemini knows no such signature.
        let exchange = planned(&path, &body, &rule("gemini")).unwrap();
        let asked = sent(&body, &exchange);
        assert!(!asked.to_string().contains("thoughtSignature"), "{asked}");
        let kept = asked["contents"][1]["parts"].as_array().unwrap();
        assert_eq!(kept.last().unwrap()["functionCall"]["id"], "toolu_1");
        let lost: Vec<&str> = exchange
            .losses
            .iter()
            .map(|loss| loss.pointer.as_str())
            .collect();
        let is_of_it = |pointer: &&str| pointer.starts_with("/contents/1/parts/");
        assert!(!lost.is_empty() && lost.iter().all(is_of_it), "{lost:?}");
    }
}

#[test]
fn thoughts_that_were_signed_here_are_left_out_and_told() {
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": format!("{}0", isogloss_core::ir::Seal::mark())});
    let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": [signed, {"type": "text", "text": "b"}]}, {"role": "user", "content": "c"}]});
    let exchange = planned(MESSAGES, &body, &rule("anthropic")).unwrap();
    let content = sent(&body, &exchange)["messages"][1]["content"].clone();
    assert_eq!(content, json!([{"type": "text", "text": "b"}]));
    let lost: Vec<&str> = exchange
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    assert_eq!(lost, ["/messages/1/content/0"]);
}

#[test]
fn a_conversation_that_says_nothing_is_told_or_refused() {
    let chat = |turns: Value| json!({"model": "m", "messages": turns});
    let anthropic = rule("anthropic");
    let alone = chat(json!([{"role": "system", "content": "Say hello."}]));
    let exchange = planned(CHAT, &alone, &anthropic).unwrap();
    let sent_on = sent(&alone, &exchange);
    assert_eq!(sent_on["messages"][0]["content"][0]["text"], "Say hello.");
    assert!(
        exchange
            .losses
            .iter()
            .any(|loss| loss.pointer == "/messages/0")
    );
    // Without the last turn the model would go on with its own words.
    let open = chat(
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": " "}]),
    );
    let exchange = planned(CHAT, &open, &anthropic).unwrap();
    assert_eq!(sent(&open, &exchange)["messages"][2]["role"], "user");
    assert!(
        exchange
            .losses
            .iter()
            .any(|loss| loss.pointer == "/messages/2")
    );
    for server in ["anthropic", "gemini"] {
        let refused = planned(CHAT, &chat(json!([])), &rule(server)).unwrap_err();
        assert!(refused.contains("says nothing"), "{refused}");
    }
}

#[test]
fn a_file_has_its_name_on_every_wire() {
    let url = "data:application/pdf;base64,JVBERi0=";
    let responses = |name: Value| {
        let file = json!({"type": "input_file", "filename": name, "file_data": url});
        json!({"model": "m", "input": [{"role": "user", "content": [file]}]})
    };
    let said = |path: &str, body: &Value, server: &str| {
        let exchange = planned(path, body, &rule(server)).unwrap();
        assert!(
            exchange
                .losses
                .iter()
                .all(|loss| loss.pointer.starts_with("/max")),
            "{:?}",
            exchange.losses
        );
        sent(body, &exchange)
    };
    let named = responses(json!("a.pdf"));
    let file = |name: &str| json!({"type": "file", "file": {"filename": name, "file_data": url}});
    let chat = said("/v1/responses", &named, "vllm");
    assert_eq!(chat["messages"][0]["content"][0], file("a.pdf"));
    // OpenAI refuses one without.
    let chat = said("/v1/responses", &responses(Value::Null), "vllm");
    assert_eq!(chat["messages"][0]["content"][0], file("file.pdf"));
    let messages = said("/v1/responses", &named, "anthropic");
    assert_eq!(messages["messages"][0]["content"][0]["title"], "a.pdf");
    let gemini = said("/v1/responses", &named, "gemini");
    assert_eq!(gemini["contents"][0]["parts"][0]["text"], "a.pdf");
    let body = json!({"model": "m", "messages": [{"role": "user", "content": [file("b.pdf")]}]});
    let messages = said(CHAT, &body, "anthropic");
    assert_eq!(messages["messages"][0]["content"][0]["title"], "b.pdf");
}

#[test]
fn images_of_results_are_told_where_results_are_text() {
    let body = chat_turns().concat();
    let image = &body[2]["content"][1];
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "x", "content": [{"type": "text", "text": "seen"}, image]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": function("f")}}]});
    for server in ["gemini", "cohere", "openai"] {
        let exchange = planned(CHAT, &body, &rule(server)).unwrap();
        assert!(sent(&body, &exchange).to_string().contains(PNG), "{server}");
        let told = |loss: &isogloss_core::ir::Loss| loss.pointer == "/messages/2/content";
        assert!(exchange.losses.iter().any(told), "{server}");
    }
}

#[test]
fn what_a_gemini_client_has_beside_a_result_is_told_everywhere() {
    let result = json!({"name": "f", "response": {"output": "seen"}, "parts": [{"inlineData": {"mimeType": "image/png", "data": PNG}}]});
    let body = json!({"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": function("f")}]}],
        "contents": [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": result}]}]});
    for (server, is_told) in [("vllm", false), ("anthropic", false), ("openai", true)] {
        let exchange = planned(GEMINI, &body, &rule(server)).unwrap();
        assert!(sent(&body, &exchange).to_string().contains(PNG), "{server}");
        let mut losses = exchange.losses.iter();
        let told = losses.any(|loss| loss.pointer.starts_with("/contents/2"));
        assert_eq!(told, is_told, "{server}: {:?}", exchange.losses);
    }
    // Gemini itself has it where its client put it.
    let exchange = planned(GEMINI, &body, &rule("gemini")).unwrap();
    assert_eq!(sent(&body, &exchange)["contents"], body["contents"]);
}

/// gemini-cli puts the images that a tool returned behind its result, among those of the other calls.
#[test]
fn an_image_among_a_gemini_clients_results_is_told_behind_them() {
    let call = |id: &str| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
    let result =
        |id: &str| json!({"functionResponse": {"id": id, "name": "f", "response": {"output": id}}});
    let image = |data: &str| json!({"inlineData": {"mimeType": "image/png", "data": data}});
    let body = json!({"tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": function("f")}]}],
        "contents": [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [call("x"), call("y"), call("z")]},
            {"role": "user", "parts": [result("x"), image(PNG), result("y"), {"text": "So?"}, result("z"), image(PNG)]}]});
    for server in ["vllm", "sglang", "llama-cpp", "openai", "ollama"] {
        let exchange = planned(GEMINI, &body, &rule(server)).unwrap();
        let sent = sent(&body, &exchange);
        let messages = sent["messages"].as_array().unwrap();
        let roles: Vec<&str> = messages
            .iter()
            .filter_map(|told| told["role"].as_str())
            .collect();
        assert_eq!(
            roles,
            ["user", "assistant", "tool", "tool", "tool", "user"],
            "{server}"
        );
        assert_eq!(messages[5].to_string().matches(PNG).count(), 2, "{server}");
        assert!(messages[5].to_string().contains("So?"), "{server}");
    }
    let exchange = planned(GEMINI, &body, &rule("gemini")).unwrap();
    assert_eq!(sent(&body, &exchange)["contents"], body["contents"]);
}

#[test]
fn calls_of_one_turn_that_share_an_id_have_their_results_in_order() {
    let call = |city: &str| json!({"id": "same", "type": "function", "function": {"name": "f", "arguments": json!({"city": city}).to_string()}});
    let result = |text: &str| json!({"role": "tool", "tool_call_id": "same", "content": text});
    let body = json!({"model": "m", "tools": [{"type": "function", "function": {"name": "f", "parameters": function("f")}}],
        "messages": [{"role": "user", "content": "a"},
            {"role": "assistant", "content": null, "tool_calls": [call("Oslo"), call("Rome")]}, result("snow"), result("sun")]});
    for server in ["openai", "anthropic", "gemini", "mistral", "cohere"] {
        let exchange = planned(CHAT, &body, &rule(server)).unwrap();
        let sent = sent(&body, &exchange).to_string();
        assert!(!sent.contains("no result"), "{server}: {sent}");
        let at = |text: &str| sent.find(text).unwrap();
        assert!(
            at("Oslo") < at("Rome") && at("Rome") < at("snow") && at("snow") < at("sun"),
            "{server}: {sent}"
        );
    }
}

/// Claude Code reads a PDF once, and has it in every request from then on.
#[test]
fn a_file_that_an_agent_read_ends_no_conversation_where_files_are_refused() {
    let pdf = json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {}}]});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Read."}, pdf]});
    let user = |content: Value| json!({"role": "user", "content": content});
    let asked = |messages: Vec<Value>, server: &str| {
        let body = json!({"model": "m", "max_tokens": 9, "messages": messages,
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}]});
        let exchange = planned(MESSAGES, &body, &rule(server)).unwrap();
        let losses: Vec<String> = (exchange.losses.iter())
            .filter(|loss| loss.reason.contains("takes no files"))
            .map(|loss| loss.pointer.clone())
            .collect();
        (sent(&body, &exchange).to_string(), losses)
    };
    for server in [
        "vllm@0.32.0",
        "sglang",
        "llama-cpp",
        "ollama",
        "worker",
        "cohere-compat",
        "cohere",
        "ollama-native",
    ] {
        // Of a result, beside it, and once the model went on.
        let said = json!({"role": "assistant", "content": "It is empty."});
        for messages in [
            vec![user(json!("x")), call.clone(), user(json!([result]))],
            vec![user(json!("x")), call.clone(), user(json!([result, pdf]))],
            vec![user(json!([pdf])), said, user(json!("Why?"))],
        ] {
            let (sent, losses) = asked(messages, server);
            assert!(!sent.contains("JVBERg=="), "{server}: {sent}");
            assert!(
                sent.contains("application/pdf, which cannot be read here"),
                "{server}: {sent}"
            );
            assert_eq!(losses.len(), 1, "{server}: {losses:?}");
        }
        // These wires have no place for one.
        if ["cohere", "ollama-native"].contains(&server) {
            continue;
        }
        // What is asked about is for the server to refuse.
        let (sent, losses) = asked(
            vec![user(json!([pdf, {"type": "text", "text": "What is it?"}]))],
            server,
        );
        assert!(
            sent.contains("JVBERg==") && losses.is_empty(),
            "{server}: {sent}"
        );
    }
    let (sent, _) = asked(
        vec![user(json!("x")), call, user(json!([result]))],
        "openai",
    );
    assert!(sent.contains("JVBERg=="), "{sent}");
}

#[test]
fn results_stand_behind_their_calls_where_a_models_template_renders_them() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let said = |id: &str| json!({"role": "assistant", "content": "", "tool_calls": [call(id)]});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": id});
    let user = |text: &str| json!({"role": "user", "content": text});
    // Each call a turn of its own (strands), and the user between (Semantic Kernel).
    let apart = [user("a"), said("1"), said("2"), result("1"), result("2")];
    let between = [user("a"), said("1"), user("b"), result("1")];
    let (by_place, behind) = (
        [user("a"), said("1"), result("1"), said("2"), result("2")],
        [user("a"), said("1"), result("1"), user("b")],
    );
    for server in [
        "vllm",
        "sglang",
        "llama-cpp",
        "ollama",
        "tgi",
        "lmdeploy",
        "transformers",
    ] {
        for (told, expected) in [(&apart[..], &by_place[..]), (&between, &behind)] {
            let body = json!({"model": "m", "messages": told});
            let exchange = planned(CHAT, &body, &rule(server)).unwrap();
            assert_eq!(
                sent(&body, &exchange)["messages"],
                json!(expected),
                "{server}"
            );
            assert_eq!(exchange.losses, [], "{server}");
        }
        // Where the model would be the last to have spoken, nothing is moved; what it said behind its call joins that.
        let words = json!({"role": "assistant", "content": "Working on it."});
        let mut both = said("1");
        both["content"] = words["content"].clone();
        let (apart, joined) = (
            json!([user("a"), said("1"), words, result("1")]),
            json!([user("a"), both, result("1")]),
        );
        let open = json!([user("a"), said("1"), said("2"), result("1")]);
        for (told, expected) in [(apart, joined), (open.clone(), open)] {
            let body = json!({"model": "m", "messages": told});
            let exchange = planned(CHAT, &body, &rule(server)).unwrap();
            assert_eq!(sent(&body, &exchange)["messages"], expected, "{server}");
        }
        // What is in order keeps its bytes.
        let body = json!({"model": "m", "messages": by_place});
        assert_eq!(
            planned(CHAT, &body, &rule(server)).unwrap().sent(),
            None,
            "{server}"
        );
    }
}
