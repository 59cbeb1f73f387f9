//! Constraints with room for the thoughts that a server leaves in the text.

use super::tags::tag;
use super::*;
use crate::ir::Begin;

fn thinking(label: &str, form: &str) -> Rule {
    rule(label).with_thoughts(form)
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false})
}

fn demand() -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema()}}})
}

fn elements(tag: &Value) -> &Value {
    assert_eq!(tag["format"]["type"], "sequence", "{tag}");
    &tag["format"]["elements"]
}

#[test]
fn a_structural_tag_has_the_thoughts_before_the_answer() {
    for label in ["vllm@0.32.0", "sglang@0.5.20"] {
        let request = body(&demand());
        let rewritten = on(&thinking(label, "think"), &request).unwrap();
        let sent = tag(&rewritten);
        let block = json!({"type": "sequence", "elements": [
            {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
            {"type": "regex", "pattern": "\\n{0,2}"},
        ]});
        let none = json!({"type": "const_string", "value": ""});
        assert_eq!(
            elements(&sent)[0],
            json!({"type": "or", "elements": [block, none]})
        );
        assert_eq!(elements(&sent)[1]["type"], "json_schema");
        assert_eq!(rewritten.strategy, Strategy::Compose);
        // Where the prompt opens them they must end.
        let inside = on(&thinking(label, "think-inside"), &request).unwrap();
        let sent = tag(&inside);
        assert_eq!(elements(&sent)[0]["type"], "sequence");
        assert_eq!(elements(&sent)[0]["elements"][0]["begin"], "");
        let thoughts = inside.plan.thoughts.unwrap();
        assert_eq!(thoughts.begin, Begin::Inside);
    }
}

#[test]
fn a_forced_call_has_them_too_and_free_text_needs_no_room() {
    let rule = thinking("vllm@0.12.0", "think")
        .knowing("no_auto_tools")
        .unwrap();
    let forced = json!({"tools": [tool("f")], "tool_choice": "required"});
    let forced = on(&rule, &body(&forced)).unwrap();
    assert_eq!(forced.strategy, Strategy::Constrain);
    assert_eq!(elements(&tag(&forced))[1]["type"], "json_schema");
    let held = json!({"tools": [tool("f")], "tool_choice": "required"});
    let held = on(&thinking("vllm@0.32.0", "think"), &body(&held)).unwrap();
    assert_eq!(held.strategy, Strategy::Tags);
    let held = sent(&held)["structured_outputs"]["grammar"].clone();
    assert!(held.as_str().unwrap().contains("thought"), "{held}");
    let tagged = json!({"tools": [tool("f")], "tool_choice": "required"});
    let tagged = on(&thinking("worker", "think"), &body(&tagged)).unwrap();
    assert_eq!(elements(&tag(&tagged))[1]["type"], "tag");
    let grammar =
        json!({"tools": [tool("f")], "tool_choice": "required", "parallel_tool_calls": false});
    let grammar = on(&thinking("llama-cpp", "think"), &body(&grammar)).unwrap();
    assert_eq!(grammar.strategy, Strategy::Tags);
    let grammar = sent(&grammar)["grammar"].as_str().unwrap().to_owned();
    assert!(
        grammar.contains("thought") && grammar.contains("<tool_call>"),
        "{grammar}"
    );
    let free = on(&rule, &body(&json!({"tools": [tool("f")]}))).unwrap();
    assert_eq!(free.strategy, Strategy::Compose);
    assert_eq!(tag(&free)["triggers"], json!(["<tool_call>"]));
}

#[test]
fn a_grammar_has_them_where_there_are_no_tags() {
    let request = body(&demand());
    let rewritten = on(&thinking("llama-cpp", "think-inside"), &request).unwrap();
    let sent = sent(&rewritten);
    let grammar = sent["grammar"].as_str().unwrap();
    assert!(grammar.starts_with("root ::= thought "), "{grammar}");
    assert_eq!(sent.get("response_format"), None);
}

#[test]
fn thinking_is_turned_off_where_there_is_no_room() {
    let request = body(&demand());
    let rewritten = on(&thinking("vllm@0.8.5", "think-inside"), &request).unwrap();
    println!("{}", sent(&rewritten));
    let ollama = on(&thinking("ollama@0.12.0", "think-inside"), &request).unwrap();
    assert_eq!(sent(&ollama)["reasoning_effort"], "none");
    assert_eq!(ollama.plan.thoughts.unwrap().begin, Begin::Before);
    assert!(ollama.losses[0].reason.contains("thinking is turned off"));
}

#[test]
fn a_server_that_was_asked_is_known_as_one_of_which_the_operator_says_it() {
    let request = body(&demand());
    for label in ["vllm@0.32.0", "llama-cpp", "ollama@0.12.0"] {
        let asked = rule(label).knowing("thinks_in_text").unwrap();
        let rewritten = on(&asked, &request).unwrap();
        let stated = on(&thinking(label, "think"), &request).unwrap();
        assert_eq!(sent(&rewritten), sent(&stated), "{label}");
        assert_eq!(rewritten.plan.thoughts.unwrap().begin, Begin::Before);
        // What demands nothing keeps its bytes.
        let free = on(&asked, &body(&json!({}))).unwrap();
        assert!(free.plan.thoughts.is_none(), "{label}");
        // The operator's word counts more.
        let apart = rule(label).with_thoughts("apart");
        assert_eq!(apart.knowing("thinks_in_text"), None);
        assert_eq!(asked.knowing("begins_inside_thoughts"), None);
    }
}

#[test]
fn nothing_changes_where_nobody_says_that_thoughts_stand_in_the_text() {
    let request = body(&demand());
    for label in ["vllm@0.32.0", "llama-cpp", "ollama@0.12.0"] {
        let usual = on(&rule(label), &request).unwrap();
        for other in [
            thinking(label, "apart"),
            rule(label).knowing("begins_inside_thoughts").unwrap(),
        ] {
            let rewritten = on(&other, &request).unwrap();
            assert_eq!(sent(&rewritten), sent(&usual), "{label}");
        }
        // Who asks for no thoughts gets the answer at once.
        let mut quiet = demand();
        quiet["reasoning_effort"] = json!("none");
        let quiet = body(&quiet);
        let thought = on(&thinking(label, "think"), &quiet).unwrap();
        assert_eq!(thought.strategy, on(&rule(label), &quiet).unwrap().strategy);
    }
}
