//! What Anthropic signed of its thoughts comes back through Gemini's clients, in streams too: they drop what stands on an empty text.

use crate::replay::{messages_stream, rule, streamed};
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::passage;
use serde_json::{Value, json};

fn planned(method: &str, contents: &Value) -> Exchange {
    let path = format!("/v1beta/models/m:{method}");
    let body = json!({"contents": contents, "tools": [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"type": "object"}}]}]});
    let client = passage::client(&path).unwrap();
    let demand = exchange::read(client, &path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, &rule("anthropic")).unwrap()
}

/// The parts of all replies of the stream, as SDKs keep them: none that says nothing.
fn kept(stream: &str) -> Vec<Value> {
    let exchange = planned(
        "streamGenerateContent",
        &json!([{"role": "user", "parts": [{"text": "hi"}]}]),
    );
    let out = streamed(&exchange, stream.as_bytes(), 17).unwrap();
    let replies: Vec<Value> = serde_json::from_str(&out).unwrap();
    let parts = replies.iter().flat_map(|reply| {
        reply["candidates"][0]["content"]["parts"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    // The end of a text may hold what is signed of it.
    let says = |part: &Value| {
        part["text"] != "" || part["thought"] != true && part["thoughtSignature"].is_string()
    };
    parts.filter(says).collect()
}

#[test]
fn signatures_stand_with_what_comes_behind_the_thought() {
    let thinking = json!({"type": "thinking", "thinking": "", "signature": ""});
    let thought = vec![
        json!({"type": "thinking_delta", "thinking": "Hm, "}),
        json!({"type": "thinking_delta", "thinking": "so."}),
        json!({"type": "signature_delta", "signature": "SIG=="}),
    ];
    let redacted = json!({"type": "redacted_thinking", "data": "EmwKAh"});
    let text = (
        json!({"type": "text", "text": ""}),
        vec![
            json!({"type": "text_delta", "text": "Let me "}),
            json!({"type": "text_delta", "text": "see."}),
        ],
    );
    let call = (
        json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}),
        vec![json!({"type": "input_json_delta", "partial_json": "{}"})],
    );
    let whole = json!({"type": "thinking", "thinking": "Hm, so.", "signature": "SIG=="});
    for (blocks, signed, reason) in [
        (
            vec![(thinking.clone(), thought.clone()), call.clone()],
            vec![whole.clone()],
            "tool_use",
        ),
        (
            vec![
                (thinking.clone(), thought.clone()),
                (redacted.clone(), vec![]),
                text.clone(),
                call.clone(),
            ],
            vec![whole.clone(), redacted.clone()],
            "tool_use",
        ),
        (
            vec![(thinking.clone(), thought.clone()), text.clone()],
            vec![whole.clone()],
            "end_turn",
        ),
        // Nothing comes behind.
        (vec![(thinking, thought)], vec![whole], "end_turn"),
    ] {
        let mut parts = kept(&messages_stream(&blocks, Some(reason)));
        let has_call = parts.iter().any(|part| part["functionCall"].is_object());
        assert_eq!(has_call, reason == "tool_use");
        // What stands behind a signature is no more of the same text.
        let texts = parts
            .iter()
            .filter(|part| part["text"].is_string() && part["thought"] != true);
        let signed_texts =
            texts.filter(|part| part["text"] != "" && part["thoughtSignature"].is_string());
        assert_eq!(signed_texts.count(), 0, "{parts:?}");
        // A thought behind which nothing is said is not taken back.
        let is_alone = |part: &Value| part["thought"] == true || part["text"] == "";
        if parts.iter().all(is_alone) {
            parts.push(json!({"text": "So."}));
        }
        let mut contents = vec![json!({"role": "user", "parts": [{"text": "hi"}]})];
        let id = parts
            .iter()
            .find_map(|part| part["functionCall"]["id"].as_str())
            .map(str::to_owned);
        contents.push(json!({"role": "model", "parts": std::mem::take(&mut parts)}));
        contents.push(match id {
            Some(id) => json!({"role": "user", "parts": [{"functionResponse": {"id": id, "name": "f", "response": {"a": 1}}}]}),
            None => json!({"role": "user", "parts": [{"text": "and?"}]}),
        });
        let next = planned("generateContent", &json!(contents));
        let sent: Value = serde_json::from_slice(next.sent().unwrap()).unwrap();
        let said = sent["messages"][1]["content"].as_array().unwrap();
        assert_eq!(said[..signed.len()], signed, "{sent}");
        // Another server is told none of it as its own.
        let pointers = next.losses.iter().map(|loss| loss.pointer.as_str());
        assert_eq!(pointers.collect::<Vec<_>>(), ["/max_tokens"]);
    }
}
