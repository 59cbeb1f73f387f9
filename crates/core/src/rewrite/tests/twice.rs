//! Constraints that a request states in several places.

use super::*;

/// Every field that holds a constraint, of any server's.
const FIELDS: [&str; 11] = [
    "response_format",
    "structured_outputs",
    "guided_json",
    "guided_json_object",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "json_schema",
    "grammar",
    "nvext",
    "regex",
];

const LABELS: [&str; 10] = [
    "vllm@0.32.0",
    "vllm@0.10.2",
    "sglang@0.5.23",
    "llama-cpp",
    "openai",
    "ollama@0.33.0",
    "tgi@3.3.7",
    "lm-studio",
    "worker",
    "plain",
];

#[test]
fn a_constraint_that_is_stated_twice_is_sent_once() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    let once = body(
        &json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
    );
    for twice in [
        json!({"response_format": {"type": "json_object"}, "guided_json": schema}),
        json!({"guided_json": schema, "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
        json!({"structured_outputs": {"json": schema, "json_object": true}}),
        json!({"json_schema": schema, "nvext": {"guided_json": schema}}),
        json!({"guided_json": schema, "guided_json_object": true, "response_format": {"type": "json_object"}}),
    ] {
        for label in LABELS {
            let rule = rule(label);
            let rewritten = on(&rule, &body(&twice)).unwrap();
            let alone = on(&rule, &once).unwrap();
            assert_eq!(rewritten.strategy, alone.strategy, "{label}: {twice}");
            let sent = sent(&rewritten);
            let stated = FIELDS.iter().filter(|field| sent.get(**field).is_some());
            let wanted = usize::from(label != "plain");
            assert_eq!(stated.count(), wanted, "{label}: {sent}");
            // Some servers take the schema as a string, and `plain` reads it in the prompt.
            let written = sent.to_string().replace('\\', "");
            assert!(written.contains(r#""a""#), "{label}: {sent}");
        }
    }
}

#[test]
fn what_else_stands_in_a_field_that_is_not_sent_is_told() {
    let request = body(&json!({
        "guided_json": {"type": "object"},
        "structured_outputs": {"json_object": true, "whitespace_pattern": " "},
    }));
    let rewritten = on(&rule("llama-cpp"), &request).unwrap();
    let told: Vec<_> = rewritten
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    assert_eq!(told, ["/structured_outputs/whitespace_pattern"]);
}

#[test]
fn a_call_that_is_asked_for_without_tools_is_not_sent() {
    let request = body(&json!({"tool_choice": "required"}));
    for label in LABELS {
        let rewritten = on(&rule(label), &request).unwrap();
        assert_eq!(rewritten.strategy, Strategy::Passthrough);
        assert_eq!(sent(&rewritten), body(&json!({})), "{label}");
        let told: Vec<_> = rewritten
            .losses
            .iter()
            .map(|loss| loss.pointer.as_str())
            .collect();
        assert_eq!(told, ["/tool_choice"], "{label}");
    }
}

#[test]
fn the_newer_name_of_a_limit_reaches_servers_that_know_the_older_one() {
    let request = body(&json!({"max_completion_tokens": 7}));
    for label in [
        "ollama@0.33.0",
        "lm-studio",
        "tgi@3.3.7",
        "llama-cpp",
        "mistral",
        "vllm@0.5.5",
    ] {
        let rewritten = on(&rule(label), &request).unwrap();
        assert_eq!(sent(&rewritten), body(&json!({"max_tokens": 7})), "{label}");
        assert_eq!(rewritten.losses, [], "{label}");
    }
    for label in ["vllm@0.32.0", "openai", "worker"] {
        let rewritten = on(&rule(label), &request).unwrap();
        assert_eq!(rewritten.edited(), None, "{label} knows it");
    }
}
