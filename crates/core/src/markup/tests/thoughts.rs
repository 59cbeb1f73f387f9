//! Thoughts that a call ends, and calls that lack their own end.

use super::*;

const KIMI: &str = "<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"a\":1}";

#[test]
fn a_call_ends_a_thought_of_a_model_that_leaves_out_its_end() {
    let format = format("kimi-k2");
    let text = format!("<think>Let me — see.\n<|tool_calls_section_begin|>{KIMI}<|tool_call_end|>");
    assert_eq!(
        words(&format, &tools(&["weather"]), &text),
        [
            "thought:Let me — see.\n",
            "call weather functions.weather:0",
            "input:{\"a\":1}",
            "end"
        ]
    );
    let format = super::format("qwen3-coder");
    let text = "<think>So.\n<tool_call>\n<function=clock>\n</function>\n</tool_call>\nDone.";
    assert_eq!(
        words(&format, &tools(&["clock"]), text),
        [
            "thought:So.\n",
            "call clock",
            "input:{}",
            "end",
            "text:Done."
        ]
    );
}

#[test]
fn what_a_thought_says_of_calls_is_none() {
    let format = format("kimi-k2");
    // No tool of this name was shown, and no arguments follow.
    for said in [
        "<|tool_call_begin|>functions.other:0<|tool_call_argument_begin|>{}",
        "<|tool_call_begin|>functions.weather:0 is how it is written",
    ] {
        let text = format!("<think>{said}</think>So.");
        let found = words(&format, &tools(&["weather"]), &text);
        assert_eq!(found, [format!("thought:{said}"), "text:So.".to_owned()]);
    }
    let mistral = super::format("mistral");
    let text = "[THINK][TOOL_CALLS]weather[ARGS]{}[/THINK]So.";
    let found = words(&mistral, &tools(&["weather"]), text);
    assert_eq!(found, ["thought:[TOOL_CALLS]weather[ARGS]{}", "text:So."]);
}

#[test]
fn a_reader_that_begins_in_a_thought_ends_it_for_a_call() {
    let tools = tools(&["weather"]);
    let mut reader = Reader::new(format("kimi-k2"), tools).in_thought();
    let mut out = Vec::new();
    for c in format!("So.{KIMI}").chars() {
        reader.push(&c.to_string(), &mut out);
    }
    reader.finish(false, &mut out);
    let out = joined(out);
    assert_eq!(out[0], Piece::Thought("So.".to_owned()));
    let is_call = matches!(&out[1], Piece::Call { name, .. } if name == "weather");
    assert!(is_call, "{out:?}");
}

#[test]
fn a_call_that_lacks_its_end_ends_where_the_next_begins() {
    let format = format("kimi-k2");
    let text = format!("{KIMI}{}", KIMI.replace(":0", ":1"));
    assert_eq!(
        words(&format, &tools(&["weather"]), &text),
        [
            "call weather functions.weather:0",
            "input:{\"a\":1}",
            "end",
            "call weather functions.weather:1",
            "input:{\"a\":1}",
            "end"
        ]
    );
    let text = format!("<|tool_calls_section_begin|>{KIMI}<|tool_calls_section_end|>So.");
    assert_eq!(
        words(&format, &tools(&["weather"]), &text)[2..],
        ["end", "text:So."]
    );
    // Anything else that follows is a fault.
    let text = format!("<|tool_calls_section_begin|>{KIMI}<|tool_calls_so");
    assert_eq!(
        words(&format, &tools(&["weather"]), &text)[3..],
        ["broken:<|tool_calls_so"]
    );
}
