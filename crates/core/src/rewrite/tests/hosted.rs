//! Tools that the server would have to host.

use super::*;

const SERVERS: [&str; 10] = [
    "vllm@0.32.0",
    "vllm@0.5.0",
    "sglang@0.5.23",
    "llama-cpp",
    "plain",
    "ollama-native",
    "mistral",
    "gemini",
    "anthropic",
    "tgi",
];

fn asking(choice: &str, tools: &Value, extra: &Value) -> Value {
    let mut body = body(extra);
    body["tools"] = tools.clone();
    body["tool_choice"] = json!(choice);
    body
}

fn web() -> Value {
    json!({"type": "web_search"})
}

#[test]
fn they_cannot_be_forced_on_a_server_that_has_none() {
    for tools in [json!([web()]), json!([web(), tool("f")])] {
        let request = asking("required", &tools, &json!({}));
        for label in SERVERS {
            let error = on(&rule(label), &request).unwrap_err();
            let place = (error.kind, error.param.as_deref());
            assert_eq!(
                place,
                (Kind::UnsupportedConstraint, Some("tools")),
                "{label}"
            );
        }
        let native = on(&rule("openai"), &request).unwrap();
        assert_eq!(native.strategy, Strategy::Native);
    }
    let mut named = asking("required", &json!([web(), tool("f")]), &json!({}));
    named["tool_choice"] = json!({"type": "function", "function": {"name": "f"}});
    for label in SERVERS {
        assert!(on(&rule(label), &named).is_ok(), "{label}");
    }
}

#[test]
fn what_a_server_is_not_sent_is_told_and_offered_to_nobody() {
    for label in SERVERS {
        let request = asking("auto", &json!([tool("f"), web()]), &json!({}));
        let rewritten = on(&rule(label), &request).unwrap();
        let told = |loss: &crate::ir::Loss| loss.pointer == "/tools/1";
        assert_eq!(
            rewritten.losses.iter().filter(|it| told(it)).count(),
            1,
            "{label}"
        );
        assert!(
            !sent(&rewritten).to_string().contains("web_search"),
            "{label}"
        );
        let callable: Vec<&String> = rewritten.plan.tools.keys().collect();
        assert_eq!(callable, ["f"], "{label}");
    }
    let request = asking("auto", &json!([tool("f"), web()]), &json!({}));
    let native = on(&rule("openai"), &request).unwrap();
    assert_eq!((native.losses.len(), native.plan.tools.len()), (0, 2));
}

#[test]
fn where_no_other_tools_are_left_the_answer_is_an_answer() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    for label in SERVERS {
        let free = on(&rule(label), &asking("auto", &json!([web()]), &json!({}))).unwrap();
        assert_eq!(free.plan.rewrap, Rewrap::Keep, "{label}");
        let extra = json!({"response_format": format});
        let stated = on(&rule(label), &asking("auto", &json!([web()]), &extra)).unwrap();
        let is_answer = matches!(stated.plan.rewrap, Rewrap::Keep | Rewrap::Json);
        assert!(is_answer, "{label}: {:?}", stated.plan.rewrap);
        for rewritten in [free, stated] {
            let mut losses = rewritten.losses.iter();
            assert!(losses.any(|loss| loss.pointer == "/tools/0"), "{label}");
            assert!(!sent(&rewritten).to_string().contains("call"), "{label}");
        }
    }
}
