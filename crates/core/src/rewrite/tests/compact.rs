//! JSON without needless white space, as each server can be told.

use super::*;

fn asked(extra: &Value) -> Request {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    let mut body = body(&json!({"response_format": format}));
    let extra = extra.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(extra);
    read_request(body.to_string().as_bytes()).unwrap()
}

#[test]
fn a_server_with_a_bound_on_white_space_is_told_it_in_its_words() {
    let request = asked(&json!({}));
    let on = |label: &str| sent(&with(&rule(label), &request, true).unwrap());
    let vllm = on("vllm@0.33.0");
    let tag: Value = serde_json::from_str(
        vllm["structured_outputs"]["structural_tag"]
            .as_str()
            .unwrap(),
    )
    .unwrap();
    assert_eq!(tag["format"]["max_whitespace_cnt"], 1);
    assert_eq!(tag["format"]["json_schema"]["required"], json!(["a"]));
    assert_eq!(vllm.get("response_format"), None);
    let sglang = on("sglang@0.5.23");
    assert_eq!(sglang["response_format"]["format"]["max_whitespace_cnt"], 1);
    let mistral = on("mistral-rs").to_string();
    assert!(
        mistral.contains("\"x-guidance\":{\"whitespace_flexible\":false}"),
        "{mistral}"
    );
    assert_eq!(on("worker")["whitespace"], "compact");
    for label in ["vllm@0.33.0", "sglang@0.5.23", "mistral-rs", "worker"] {
        assert_eq!(
            with(&rule(label), &request, true).unwrap().losses,
            [],
            "{label}"
        );
        assert_eq!(
            with(&rule(label), &request, false).unwrap().edited(),
            None,
            "{label}"
        );
    }
}

#[test]
fn a_server_without_one_is_a_loss() {
    for label in ["vllm@0.32.0", "llama-cpp", "openai", "ollama"] {
        let rewritten = with(&rule(label), &asked(&json!({})), true).unwrap();
        assert!(
            rewritten.losses[0].reason.contains("white space"),
            "{label}"
        );
    }
    // Grammars bound it anyway.
    let regex = body(&json!({"structured_outputs": {"regex": "[0-9]+"}}));
    let request = read_request(regex.to_string().as_bytes()).unwrap();
    assert_eq!(with(&rule("llama-cpp"), &request, true).unwrap().losses, []);
}

#[test]
fn a_client_that_asks_for_it_gets_it() {
    let stated = json!({"json": {"type": "object"}, "disable_any_whitespace": true});
    let request = body(&json!({"structured_outputs": stated}));
    let request = read_request(request.to_string().as_bytes()).unwrap();
    let vllm = sent(&with(&rule("vllm@0.33.0"), &request, false).unwrap());
    assert!(
        vllm["structured_outputs"]["structural_tag"].is_string(),
        "{vllm}"
    );
    let llama = with(&rule("llama-cpp"), &request, false).unwrap();
    assert!(
        llama
            .losses
            .iter()
            .any(|loss| loss.reason.contains("white space"))
    );
}

#[test]
fn the_calls_between_tags_are_bounded_too() {
    let rule = rule("sglang@0.5.23").knowing("no_auto_tools").unwrap();
    let request = body(&json!({"tools": [tool("f")]}));
    let request = read_request(request.to_string().as_bytes()).unwrap();
    let tags = |is_compact| sent(&with(&rule, &request, is_compact).unwrap()).to_string();
    assert!(tags(true).contains("max_whitespace_cnt"));
    assert!(!tags(false).contains("max_whitespace_cnt"));
}
