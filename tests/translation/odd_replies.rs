//! Replies in forms of their own, of servers and gateways that speak Chat: what clients hear of them is what was meant.

use crate::replay::{Recorded, rule, whole};
use crate::vendors::{asking, planned};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";

/// A chunk with this choice.
fn chunk(choice: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
}

fn part(delta: &Value, finish: &Value) -> Value {
    chunk(&json!({"index": 0, "delta": delta, "finish_reason": finish}))
}

/// What a client hears of a stream of these chunks.
fn streamed(path: &str, more: &Value, server: &str, chunks: &[Value]) -> String {
    let mut body = asking(more);
    body["stream"] = json!(true);
    let lines = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    let reply: String = lines.chain(["data: [DONE]\n\n".to_owned()]).collect();
    let recorded = Recorded {
        status: 200,
        streamed: true,
        body: reply.into_bytes(),
    };
    whole(&planned(path, &body, server), &rule(server), &recorded)
}

/// What a client hears of a whole reply with this choice.
fn replied(path: &str, more: &Value, server: &str, choice: &Value) -> String {
    let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
    let recorded = Recorded {
        status: 200,
        streamed: false,
        body: reply.to_string().into_bytes(),
    };
    whole(
        &planned(path, &asking(more), server),
        &rule(server),
        &recorded,
    )
}

/// The chunks that Chat's client hears.
fn chunks(told: &str) -> Vec<Value> {
    let lines = told.lines().filter_map(|line| line.strip_prefix("data: {"));
    lines
        .map(|rest| serde_json::from_str(&format!("{{{rest}")).unwrap())
        .collect()
}

/// `name(arguments)` of each call, as SDKs put them together, the text, and the reasons to end.
fn folded(told: &str) -> (Vec<String>, String, Vec<String>) {
    let (mut calls, mut text, mut ends) = (Vec::<String>::new(), String::new(), Vec::new());
    for chunk in chunks(told) {
        let Some(choice) = chunk["choices"].get(0) else {
            continue;
        };
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if calls.len() <= index {
                calls.resize(index + 1, String::new());
            }
            for said in [&call["function"]["name"], &call["function"]["arguments"]] {
                calls[index].push_str(said.as_str().unwrap_or_default());
            }
        }
        text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        ends.extend(choice["finish_reason"].as_str().map(str::to_owned));
    }
    (calls, text, ends)
}

fn tools() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}], "tool_choice": "auto"})
}

fn schema() -> Value {
    let schema =
        json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]});
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}})
}

fn call(id: Option<&str>, index: &Value, arguments: &str) -> Value {
    let mut call = json!({"index": index, "type": "function", "function": {"name": "f", "arguments": arguments}});
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    json!({"tool_calls": [call]})
}

#[test]
fn reasons_to_end_are_the_dialects_own_words() {
    let said = |word: &str| json!({"index": 0, "finish_reason": word, "message": {"role": "assistant", "content": "{\"age\": 1}"}});
    let cut = |word: &str| json!({"index": 0, "finish_reason": word, "message": {"role": "assistant", "content": "{\"age\""}});
    for server in ["plain", "vllm@0.32.0"] {
        for word in ["eos", "end_turn", "STOP"] {
            let told = replied(CHAT, &schema(), server, &said(word));
            assert!(
                told.contains(r#""finish_reason":"stop""#),
                "{server}: {told}"
            );
            let chunks = [
                part(&json!({"content": "{\"age\": 1}"}), &json!(null)),
                part(&json!({}), &json!(word)),
            ];
            let told = streamed(CHAT, &schema(), server, &chunks);
            assert_eq!(folded(&told).2, ["stop"], "{server}: {told}");
        }
        for word in ["max_tokens", "MAX_TOKENS", "model_context_window_exceeded"] {
            let told = replied(CHAT, &schema(), server, &cut(word));
            assert!(
                told.contains(r#""finish_reason":"length""#),
                "{server}: {told}"
            );
        }
    }
    // What broke off is no answer.
    for word in ["network_error", "error", "abort"] {
        let told = replied(
            "/v1/responses",
            &json!({"messages": null, "max_tokens": null, "input": "hi"}),
            "plain",
            &said(word),
        );
        assert!(!told.contains("completed"), "{told}");
    }
    let broken = json!({"index": 0, "finish_reason": "error", "error": {"code": 502, "message": "The provider is gone"},
        "message": {"role": "assistant", "content": ""}});
    for (path, more) in [(CHAT, tools()), (MESSAGES, json!({}))] {
        let told = replied(path, &more, "openrouter", &broken);
        assert!(told.contains("The provider is gone"), "{told}");
    }
}

#[test]
fn a_reason_to_end_on_each_chunk_ends_nothing_but_the_last() {
    for server in ["openai", "openrouter", "gemini-compat"] {
        let chunks = [
            part(
                &call(Some("a"), &json!(0), r#"{"city":"Oslo"}"#),
                &json!("stop"),
            ),
            part(
                &call(Some("b"), &json!(1), r#"{"city":"Bergen"}"#),
                &json!("stop"),
            ),
            part(&json!({}), &json!("stop")),
        ];
        let told = streamed(CHAT, &tools(), server, &chunks);
        let (calls, _, ends) = folded(&told);
        assert_eq!(
            calls,
            [r#"f{"city":"Oslo"}"#, r#"f{"city":"Bergen"}"#],
            "{server}: {told}"
        );
        assert_eq!(ends, ["tool_calls"], "{server}: {told}");
        let texts =
            ["{\"age\"", ": 1", "}"].map(|text| part(&json!({"content": text}), &json!("stop")));
        let (_, text, ends) = folded(&streamed(CHAT, &schema(), server, &texts));
        assert_eq!(
            (text.as_str(), ends),
            ("{\"age\": 1}", vec!["stop".to_owned()]),
            "{server}"
        );
    }
    // A stream that has no more than one chunk ends all the same, and its counts come behind.
    let counts = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}});
    let one = [
        part(
            &json!({"role": "assistant", "content": "{\"age\": 1}"}),
            &json!("stop"),
        ),
        counts,
    ];
    let told = streamed(CHAT, &schema(), "openai", &one);
    assert_eq!(folded(&told).2, ["stop"], "{told}");
    let told = streamed(MESSAGES, &json!({}), "openai", &one);
    assert!(
        told.contains("end_turn") && told.contains(r#""output_tokens":2"#),
        "{told}"
    );
    // Blanks between are some of the answer, where more comes; behind it they are none.
    let text =
        json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
    let format = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": text}}});
    let blank = [
        part(&json!({"content": "{\"q\":\"a"}), &json!("stop")),
        part(&json!({"content": " "}), &json!(null)),
        part(&json!({"content": "b\"}"}), &json!("stop")),
        part(&json!({"content": "\n"}), &json!(null)),
    ];
    let (_, text, _) = folded(&streamed(CHAT, &format, "openai", &blank));
    assert_eq!(text, "{\"q\":\"a b\"}");
    // Not one that was told before: what comes then is no more of the answer.
    let late = [
        part(&json!({"content": "{\"age\": 1"}), &json!(null)),
        part(&json!({"content": "}"}), &json!("stop")),
        part(&json!({"content": "and more"}), &json!(null)),
    ];
    assert!(streamed(CHAT, &schema(), "openai", &late).contains("VIOLATION"));
}

#[test]
fn arguments_that_are_said_again_are_said_once() {
    let whole = r#"{"city":"Oslo"}"#;
    let bare = |arguments: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
    let cumulative = ["{\"city\"", "{\"city\":\"Os", whole];
    let repeated = ["{\"city\"", ":\"Oslo\"}", whole];
    for server in ["openai", "deepseek", "vllm@0.32.0"] {
        for pieces in [cumulative, repeated] {
            let mut chunks = vec![part(&call(Some("a"), &json!(0), ""), &json!(null))];
            chunks.extend(pieces.map(|piece| part(&bare(piece), &json!(null))));
            chunks.push(part(&json!({}), &json!("tool_calls")));
            let told = streamed(CHAT, &tools(), server, &chunks);
            assert_eq!(folded(&told).0, [format!("f{whole}")], "{server}: {told}");
        }
        // The same call once more, with its id or with none.
        for id in [Some("a"), None] {
            let chunks = [
                part(&call(Some("a"), &json!(0), whole), &json!(null)),
                part(&call(id, &json!(0), whole), &json!("tool_calls")),
            ];
            let told = streamed(CHAT, &tools(), server, &chunks);
            assert_eq!(folded(&told).0, [format!("f{whole}")], "{server}: {told}");
        }
    }
}

#[test]
fn calls_with_one_index_are_several_whoever_of_them_has_an_id() {
    for arguments in ["{}", "{\"city\":\"Bergen\"}"] {
        let chunks = [
            part(
                &call(Some("a"), &json!(0), "{\"city\":\"Oslo\"}"),
                &json!(null),
            ),
            part(&call(None, &json!(0), arguments), &json!(null)),
            part(&json!({}), &json!("tool_calls")),
        ];
        let told = streamed(CHAT, &tools(), "vllm@0.32.0", &chunks);
        let expected = ["f{\"city\":\"Oslo\"}".to_owned(), format!("f{arguments}")];
        assert_eq!(folded(&told).0, expected, "{told}");
    }
}

/// A stream that ends with the whole reply in its last chunk.
#[test]
fn a_message_behind_its_deltas_is_not_said_again() {
    let message = json!({"index": 0, "message": {"role": "assistant", "content": "{\"age\": 1}"}, "finish_reason": "stop"});
    let chunks = [
        part(&json!({"content": "{\"age\""}), &json!(null)),
        part(&json!({"content": ": 1}"}), &json!(null)),
        chunk(&message),
    ];
    let told = streamed(CHAT, &schema(), "plain", &chunks);
    assert_eq!(folded(&told).1, "{\"age\": 1}", "{told}");
    let empty = json!({"index": 0, "error": {}, "finish_reason": "stop", "message": {"role": "assistant", "content": "{\"age\": 1}"}});
    assert!(replied(CHAT, &schema(), "plain", &empty).contains("age"));
}

/// Cloudflare's JSON mode (anomalyco/opencode#30381).
#[test]
fn an_object_in_the_place_of_the_text_is_its_json_and_verified() {
    let saying = |content: &Value| json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}});
    let right = saying(&json!({"age": 3}));
    for server in ["openai", "openrouter", "plain"] {
        let told = replied(CHAT, &schema(), server, &right);
        let reply: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            reply["choices"][0]["message"]["content"], "{\"age\":3}",
            "{server}"
        );
        let wrong = saying(&json!({"age": "three"}));
        let told = replied(CHAT, &schema(), server, &wrong);
        assert!(told.contains("VIOLATION"), "{server}: {told}");
        // Of nothing that is demanded, where the reply is put into other words.
        let told = replied(MESSAGES, &json!({}), server, &right);
        let reply: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(reply["content"][0]["text"], "{\"age\":3}", "{server}");
    }
}

#[test]
fn counts_and_thoughts_are_read_wherever_they_stand() {
    let ended = chunk(&json!({"index": 0, "delta": {}, "finish_reason": "stop",
        "usage": {"prompt_tokens": 19, "completion_tokens": 13, "prompt_tokens_details": []}}));
    let told = streamed(
        MESSAGES,
        &json!({}),
        "plain",
        &[part(&json!({"content": "Hello"}), &json!(null)), ended],
    );
    assert!(
        told.contains(r#""input_tokens":19"#) && told.contains(r#""output_tokens":13"#),
        "{told}"
    );
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 2000}});
    let summary = json!([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "I think"}]}, {"type": "text", "text": "Hello"}]);
    // An object's name is not among OpenRouter's.
    let object = json!({"content": "Hello", "reasoning_content": {"text": "I think"}});
    let choice = json!({"index": 0, "finish_reason": "stop", "message": object});
    assert!(replied(MESSAGES, &thinking, "plain", &choice).contains(r#""thinking":"I think""#));
    for message in [
        json!({"content": summary}),
        json!({"content": "Hello", "reasoning_content": "", "reasoning": "I think"}),
        json!({"content": "Hello", "reasoning_details": [{"type": "reasoning.text", "text": "I think"}]}),
    ] {
        for server in ["plain", "openrouter"] {
            let choice = json!({"index": 0, "finish_reason": "stop", "message": message});
            let told: Value =
                serde_json::from_str(&replied(MESSAGES, &thinking, server, &choice)).unwrap();
            assert_eq!(
                told["content"][0]["thinking"], "I think",
                "{server} {message}: {told}"
            );
            assert_eq!(told["content"][1]["text"], "Hello", "{server}: {told}");
            let told = streamed(
                MESSAGES,
                &thinking,
                server,
                &[
                    part(&message, &json!(null)),
                    part(&json!({}), &json!("stop")),
                ],
            );
            assert!(
                told.contains(r#""thinking":"I think""#) && told.contains("Hello"),
                "{server}: {told}"
            );
        }
    }
}

/// openai-go drops what has another id than the first chunk; Zed ends at empty counts; nobody reads a message where a delta should be.
#[test]
fn chunks_are_what_strict_clients_take() {
    let mut pieces = ["{\"age\"", ": 1", "}"]
        .map(|text| part(&json!({"content": text, "tool_calls": []}), &json!(null)));
    for (piece, id) in pieces.iter_mut().zip(["", "c2", "c3"]) {
        piece["id"] = json!(id);
        piece["usage"] = json!({});
    }
    let mut all = pieces.to_vec();
    all.push(part(&json!({}), &json!("stop")));
    for server in ["plain", "vllm@0.32.0"] {
        let told = streamed(CHAT, &schema(), server, &all);
        let ids: std::collections::HashSet<String> = (chunks(&told).iter())
            .filter_map(|chunk| {
                chunk["id"]
                    .as_str()
                    .filter(|id| !id.is_empty())
                    .map(str::to_owned)
            })
            .collect();
        assert!(ids.len() == 1, "{ids:?}");
        assert!(
            !told.contains(r#""usage":{}"#) && !told.contains("tool_calls"),
            "{told}"
        );
        assert_eq!(folded(&told).1, "{\"age\": 1}");
    }
    let odd = [
        chunk(
            &json!({"index": "0", "message": {"role": "assistant", "content": "{\"age\": 1}"}, "finish_reason": null}),
        ),
        part(&json!({"tool_calls": [null]}), &json!("stop")),
    ];
    assert_eq!(
        folded(&streamed(CHAT, &schema(), "plain", &odd)).1,
        "{\"age\": 1}"
    );
    let texts = [
        part(&call(Some("a"), &json!("0"), "{\"city\":"), &json!(null)),
        part(
            &json!({"tool_calls": [{"index": "0", "function": {"arguments": "\"Oslo\"}"}}]}),
            &json!(null),
        ),
        part(&json!({}), &json!("tool_calls")),
    ];
    assert_eq!(
        folded(&streamed(CHAT, &tools(), "openai", &texts)).0,
        [r#"f{"city":"Oslo"}"#]
    );
}

/// What a client hears of a stream of these bytes.
fn heard(path: &str, server: &str, bytes: &str) -> String {
    let recorded = Recorded {
        status: 200,
        streamed: true,
        body: bytes.as_bytes().to_vec(),
    };
    let body = json!({"model": "m", "stream": true, "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]});
    whole(&planned(path, &body, server), &rule(server), &recorded)
}

#[test]
fn an_error_in_the_place_of_a_stream_is_an_error() {
    let part = |delta: &str, finish: &str| {
        format!(
            r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{delta}"}},"finish_reason":{finish}}}]}}"#
        ) + "\n\n"
    };
    let size = r#"{"code":400,"message":"the request exceeds the available context size. Try again","type":"exceed_context_size_error"}"#;
    for (server, bytes, code) in [
        // llama.cpp before September 2025.
        ("llama-cpp", format!("error: {size}\n\ndata: [DONE]\n\n"), "context_length_exceeded"),
        (
            "llama-cpp",
            part("Hel", "null") + &format!("error: {size}\n\ndata: [DONE]\n\n"),
            "context_length_exceeded",
        ),
        ("plain", "data: [DONE]\n\n".to_owned(), "upstream_truncated"),
        ("openai", "data: [DONE]\n\n".to_owned(), "upstream_truncated"),
        // Lemonade.
        ("plain", format!(r#"{{"error":{size}}}"#), "context_length_exceeded"),
        // Venice.
        (
            "plain",
            r#"data: {"choices":null,"error_type":"context_length_exceeded","error_message":"too much"}"#.to_owned()
                + "\n\ndata: [DONE]\n\n",
            "context_length_exceeded",
        ),
        // DashScope.
        (
            "plain",
            "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling.AllocationQuota\",\"message\":\"slower\"}\n\n".to_owned(),
            "upstream_rate_limited",
        ),
        // LMDeploy.
        (
            "lmdeploy",
            part("internal error happened, status code ResponseType.INPUT_LENGTH_ERROR", "\"error\"") + "data: [DONE]\n\n",
            "context_length_exceeded",
        ),
        ("tensorrt-llm", part("Hel", "\"timeout\"") + "data: [DONE]\n\n", "upstream_error"),
    ] {
        for path in [CHAT, MESSAGES] {
            let told = heard(path, server, &bytes);
            assert!(told.contains(&format!("ERROR {code}: ")), "{server} {path} {bytes}: {told}");
            assert!(!told.contains("internal error happened\""), "{told}");
        }
    }
}
