//! Tools under `auto` where the server enforces tags and reads no calls.

use super::*;
use crate::ir::EnforcedBy;

/// A server that was found to be launched without a tool parser.
fn unparsed(label: &str) -> Rule {
    rule(label).knowing("no_auto_tools").unwrap()
}

/// The tag that is sent, whichever field it is in.
pub(super) fn tag(rewritten: &Rewritten) -> Value {
    let sent = sent(rewritten);
    match &sent["structured_outputs"]["structural_tag"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        _ => sent["response_format"].clone(),
    }
}

#[test]
fn each_tool_has_a_tag_in_the_shape_that_the_server_reads() {
    let request = body(&json!({"tools": [tool("f"), tool("g")]}));
    let open = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    // The worker's own are not left open to what no tool names.
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false});
    let begin = |name: &str| format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": ");
    let end = "}\n</tool_call>";
    let worker = on(&rule("worker"), &request).unwrap();
    let tagged = |name: &str| {
        let content = json!({"type": "json_schema", "json_schema": schema});
        json!({"type": "tag", "begin": begin(name), "content": content, "end": end})
    };
    assert_eq!(
        tag(&worker),
        json!({"type": "structural_tag", "format": {
            "type": "triggered_tags",
            "triggers": ["<tool_call>"],
            "tags": [tagged("f"), tagged("g")],
        }})
    );
    assert_eq!(worker.plan.rewrap, Rewrap::TaggedCalls);
    assert_eq!(
        (worker.strategy, worker.losses),
        (Strategy::Compose, vec![])
    );
    for label in [
        "vllm@0.32.0",
        "vllm@0.11.0",
        "vllm@0.10.2",
        "sglang@0.5.3",
        "sglang@0.4.4",
    ] {
        let rewritten = on(&unparsed(label), &request).unwrap();
        let structure = |name: &str| json!({"begin": begin(name), "schema": open, "end": end});
        assert_eq!(
            tag(&rewritten),
            json!({
                "type": "structural_tag",
                "structures": [structure("f"), structure("g")],
                "triggers": ["<tool_call>"],
            }),
            "{label}"
        );
    }
}

#[test]
fn the_tags_are_those_that_the_proxy_itself_can_read() {
    for rule in [rule("worker"), unparsed("vllm@0.32.0")] {
        let request = body(&json!({"tools": [tool("f")]}));
        let tag = tag(&on(&rule, &request).unwrap());
        let checker = crate::check::TagChecker::compile(&tag).unwrap();
        let call = |input: &str| {
            format!("So.\n<tool_call>\n{{\"name\": \"f\", \"arguments\": {input}}}\n</tool_call>")
        };
        assert_eq!(checker.check(&call("{\"a\": 1}")), Ok(()));
        assert_eq!(checker.check("So."), Ok(()));
        assert!(checker.check(&call("{\"a\": \"x\"}")).is_err());
    }
}

#[test]
fn the_model_sees_its_tools_and_is_told_of_the_tags_where_its_template_may_not_show_them() {
    let request = body(&json!({"tools": [tool("f")], "parallel_tool_calls": true}));
    let worker = sent(&on(&rule("worker"), &request).unwrap());
    assert_eq!(worker["tools"], request["tools"]);
    assert_eq!(worker["tool_choice"], "none", "no tool logic of the server");
    assert_eq!(worker.get("parallel_tool_calls"), None);
    assert_eq!(worker["messages"], request["messages"]);
    // SGLang shows none under `none`.
    let sglang = sent(&on(&unparsed("sglang@0.5.23"), &request).unwrap());
    assert_eq!(sglang["tool_choice"], "auto");
    let told = sglang["messages"][0]["content"].as_str().unwrap();
    assert!(
        told.contains("<tool_call>") && !told.contains("You can call"),
        "{told}"
    );
    // A chat template that is given no tools at all.
    let mut blind = unparsed("vllm@0.32.0");
    blind.show_tools = crate::rules::ShowTools::SystemMessage;
    let blind = sent(&on(&blind, &request).unwrap());
    assert_eq!(blind.get("tools"), None);
    let told = blind["messages"][0]["content"].as_str().unwrap();
    assert!(
        told.contains("<tool_call>") && told.contains("\"name\":\"f\""),
        "{told}"
    );
}

#[test]
fn one_call_at_most_ends_the_text_or_drops_the_others() {
    let request = body(&json!({"tools": [tool("f")], "parallel_tool_calls": false}));
    let worker = on(&rule("worker"), &request).unwrap();
    assert_eq!(tag(&worker)["format"]["stop_after_first"], true);
    assert!(!worker.plan.one_call);
    assert_eq!(worker.losses, []);
    let vllm = on(&unparsed("vllm@0.32.0"), &request).unwrap();
    assert!(vllm.plan.one_call);
    assert_eq!(vllm.losses[0].pointer, "/parallel_tool_calls");
    assert_eq!(vllm.losses[0].enforced_by, EnforcedBy::Proxy);
    let request = body(&json!({"functions": [tool("f")["function"]]}));
    let vllm = on(&unparsed("vllm@0.32.0"), &request).unwrap();
    assert!(vllm.plan.one_call && vllm.plan.legacy_functions);
    assert_eq!(vllm.losses, []);
}

#[test]
fn only_allowed_tools_are_shown_and_tagged() {
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {
        "mode": "auto", "tools": [{"type": "function", "function": {"name": "g"}}],
    }});
    let request = body(&json!({"tools": [tool("f"), tool("g")], "tool_choice": allowed}));
    for rule in [rule("worker"), unparsed("vllm@0.32.0")] {
        let rewritten = on(&rule, &request).unwrap();
        assert_eq!(rewritten.strategy, Strategy::Compose);
        assert_eq!(sent(&rewritten)["tools"], json!([tool("g")]));
        let tag = tag(&rewritten).to_string();
        assert!(
            tag.contains("\\\"g\\\"") && !tag.contains("\\\"f\\\""),
            "{tag}"
        );
    }
}

#[test]
fn schemas_are_lowered_inside_of_tags_and_what_is_lost_is_told_where_it_stands() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": true}}});
    let picky = json!({"type": "function", "function": {"name": "g", "parameters": schema}});
    let request = body(&json!({"tools": [tool("f"), picky]}));
    let rewritten = on(&rule("worker"), &request).unwrap();
    let losses: Vec<&str> = rewritten.losses.iter().map(|loss| &*loss.pointer).collect();
    assert_eq!(
        losses,
        ["/tools/1/function/parameters/properties/a/uniqueItems"]
    );
    assert_eq!(
        tag(&rewritten)["format"]["tags"][1]["content"]["json_schema"],
        json!({"type": "object", "properties": {"a": {"type": "array"}}, "additionalProperties": false})
    );
}

#[test]
fn a_custom_tools_text_is_a_string_between_the_tags() {
    let custom = |name: &str, syntax: &str, definition: &str| {
        let grammar = json!({"syntax": syntax, "definition": definition});
        json!({"type": "custom", "custom": {"name": name, "format": {"type": "grammar", "grammar": grammar}}})
    };
    let tools = json!([
        custom("r", "regex", "[a-z]+"),
        custom("l", "lark", "start: \"a\" start?")
    ]);
    let rewritten = on(&rule("worker"), &body(&json!({"tools": tools}))).unwrap();
    let tags = &tag(&rewritten)["format"]["tags"];
    assert_eq!(
        tags[0]["begin"],
        "<tool_call>\n{\"name\": \"r\", \"input\": "
    );
    let schema = |at: usize| tags[at]["content"]["json_schema"].clone();
    assert_eq!(
        schema(0),
        json!({"type": "string", "pattern": "^(?:[a-z]+)$"})
    );
    assert_eq!(schema(1), json!({"type": "string"}));
    let losses: Vec<&str> = rewritten.losses.iter().map(|loss| &*loss.pointer).collect();
    assert_eq!(
        losses,
        ["/tools/1/custom/format"],
        "the proxy checks the grammar"
    );
    let shown = &sent(&rewritten)["tools"][0]["function"]["parameters"];
    assert_eq!(shown["required"], json!(["input"]));
}

#[test]
fn a_hosted_tool_has_no_tag() {
    let hosted = json!({"type": "web_search"});
    let request = body(&json!({"tools": [hosted, tool("f")]}));
    let rewritten = on(&rule("worker"), &request).unwrap();
    assert_eq!(
        tag(&rewritten)["format"]["tags"].as_array().unwrap().len(),
        1
    );
    assert_eq!(rewritten.losses[0].pointer, "/tools/0");
    // With nothing to call there is nothing to tag.
    let rewritten = on(&rule("worker"), &body(&json!({"tools": [hosted]}))).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Instruct);
}

#[test]
fn a_name_is_written_as_json() {
    let request = read_request(body(&json!({"tools": [tool("f")]})).to_string().as_bytes());
    let mut request = request.unwrap();
    request.tools[0].name = "a\"<\\".to_owned();
    let rewritten = with(&rule("worker"), &request, false).unwrap();
    assert_eq!(
        tag(&rewritten)["format"]["tags"][0]["begin"],
        "<tool_call>\n{\"name\": \"a\\\"<\\\\\", \"arguments\": "
    );
}

#[test]
fn the_workers_model_does_not_see_tools_that_it_must_not_call() {
    let request = body(&json!({"tools": [tool("f")], "tool_choice": "none"}));
    let rewritten = on(&rule("worker"), &request).unwrap();
    assert_eq!(rewritten.strategy, Strategy::Native);
    assert_eq!(sent(&rewritten), body(&json!({})));
}

#[test]
fn the_worker_is_sent_no_field_that_it_would_ignore() {
    let request = body(&json!({"cache_salt": "x", "reasoning_effort": "low", "top_k": 3}));
    let rewritten = on(&rule("worker"), &request).unwrap();
    // Templates have a switch, few of them efforts: the worker has bounds.
    let on_switch = json!({"enable_thinking": true, "thinking": true});
    let told = json!({"reasoning_effort": "low", "top_k": 3, "thinking_token_budget": 1024, "chat_template_kwargs": on_switch});
    assert_eq!(sent(&rewritten), body(&told));
    assert_eq!(rewritten.losses.len(), 1);
    for field in ["chat_template", "messages", "tools"] {
        let request = body(&json!({"chat_template_kwargs": {field: "x"}}));
        let error = on(&rule("worker"), &request).unwrap_err();
        assert_eq!(error.kind, Kind::InvalidRequest, "{field}");
    }
}
