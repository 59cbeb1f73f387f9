//! What is particular of each shape: malformed texts, and what belongs to a value.

use super::*;

#[track_caller]
fn says(name: &str, text: &str, expected: &[&str]) {
    let tools = tools(&["f", "get", "get_it"]);
    assert_eq!(words(&format(name), &tools, text), expected, "{text}");
}

#[track_caller]
fn is_text(name: &str, texts: &[&str]) {
    for text in texts {
        says(name, text, &[&format!("text:{text}")]);
    }
}

#[test]
fn a_name_is_not_taken_for_a_shorter_one() {
    says(
        "mistral",
        "[TOOL_CALLS]get_it{\"a\": 1}",
        &["call get_it", "input:{\"a\": 1}", "end"],
    );
    says(
        "mistral",
        "[TOOL_CALLS]get[ARGS]{}",
        &["call get", "input:{}", "end"],
    );
    is_text(
        "mistral",
        &[
            "[TOOL_CALLS]get_i{}",
            "[TOOL_CALLS]gets{}",
            "[TOOL_CALLS] so",
            "[TOOL_CALLS]get[1]",
        ],
    );
}

#[test]
fn a_list_of_calls_is_read_to_its_end() {
    says(
        "mistral-v3",
        "A [TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {\"a\": \"]\"}} , {\"arguments\": {}, \"name\": \"get\"}] B",
        &[
            "text:A",
            "call f",
            "input:{\"a\": \"]\"}",
            "end",
            "call get",
            "input:{}",
            "end",
            "text: B",
        ],
    );
    says(
        "mistral-v3",
        "[TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"h\", \"arguments\": {}}]",
        &[
            "call f",
            "input:{}",
            "end",
            "broken:, {\"name\": \"h\", \"arguments\": {}}]",
        ],
    );
    is_text(
        "mistral-v3",
        &[
            "[TOOL_CALLS] []",
            "[TOOL_CALLS] [f]",
            "[TOOL_CALLS] [{\"name\": \"h\", \"arguments\": {}}]",
        ],
    );
}

#[test]
fn a_parameter_ends_where_the_next_or_the_calls_end_follows() {
    let call = |value: &str| {
        format!(
            "<tool_call>\n<function=f>\n<parameter=a>\n{value}\n</parameter>\n</function>\n</tool_call>"
        )
    };
    for value in [
        "x</parameter>y",
        " x ",
        "",
        "\n",
        "<parameter=b>",
        "<tool_call>",
        "</function>",
        "</parameter> </param",
    ] {
        let input = json!({"a": value}).to_string().replace(':', ": ");
        says(
            "qwen3-coder",
            &call(value),
            &["call f", &format!("input:{input}"), "end"],
        );
    }
    says(
        "qwen3-coder",
        "<function=f>\n</function>\nSo",
        &["call f", "input:{}", "end", "text:So"],
    );
    says(
        "qwen3-coder",
        "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\nso",
        &["call f", "broken:<parameter=a>\n1\n</parameter>\nso"],
    );
    says(
        "qwen3-coder",
        "<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>",
        &[
            "call f",
            "input:{\"a\": \"1\"",
            "broken:<parameter=a>2</parameter></function>",
        ],
    );
    is_text(
        "qwen3-coder",
        &[
            "<function=h>\n</function>",
            "<function=f>so",
            "<tool_call>\n<function=",
            "<tool_call>\n</tool_call>",
        ],
    );
}

#[test]
fn a_parameter_without_its_end_does_not_swallow_the_next() {
    let tools = typed_tools(
        "f",
        json!({"a": {"type": "string"}, "b": {"type": "string"}}),
    );
    let text = |key: &str| {
        format!("<function=f>\n<parameter=a>\nx\n<parameter={key}>\ny\n</parameter>\n</function>")
    };
    let found = words(&format("qwen3-coder"), &tools, &text("b"));
    assert_eq!(found[0], "call f");
    assert!(found[1].starts_with("broken:<parameter=a>\nx"), "{found:?}");
    let found = words(&format("qwen3-coder"), &tools, &text("c"));
    assert_eq!(found[2], "end");
}

#[test]
fn parameters_are_typed_by_the_schema() {
    let tools = typed_tools(
        "f",
        json!({"n": {"type": "integer"}, "s": {"type": "string"}}),
    );
    let text = "<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n<arg_key>s</arg_key>\n<arg_value>5</arg_value>\n</tool_call>";
    assert_eq!(
        words(&format("glm-4.5"), &tools, text),
        ["call f", "input:{\"n\": 5, \"s\": \"5\"}", "end"]
    );
    let text = "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"s\" string=\"true\">5</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" string=\"false\">[5]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>";
    assert_eq!(
        words(&format("deepseek-v3.2"), &tools, text),
        ["call f", "input:{\"s\": \"5\", \"n\": [5]}", "end"]
    );
    // The schema knows better what cannot be what the markup says.
    let swapped = text.replace("\"s\" string", "\"x\" string");
    let swapped = swapped
        .replace("\"n\" string", "\"s\" string")
        .replace("\"x\" string", "\"n\" string");
    assert_eq!(
        words(&format("deepseek-v3.2"), &tools, &swapped),
        ["call f", "input:{\"n\": 5, \"s\": \"[5]\"}", "end"]
    );
}

#[test]
fn python_is_read_and_never_run() {
    says(
        "pythonic",
        "[f(a='x, )', b=[(1, 2)], c={'d': \"]\"}), get()]",
        &[
            "call f",
            "input:{\"a\": \"x, )\", \"b\": [[1, 2]], \"c\": {\"d\": \"]\"}}",
            "end",
            "call get",
            "input:{}",
            "end",
        ],
    );
    says(
        "pythonic",
        "So:\n [f( a = 1 , )] x",
        &["text:So:", "call f", "input:{\"a\": 1}", "end", "text:\n x"],
    );
    says(
        "pythonic",
        "[f(a=open('x'))]",
        &["call f", "broken:a=open('x'))]"],
    );
    says(
        "pythonic",
        "[f(a=1), h()]",
        &["call f", "input:{\"a\": 1}", "end", "broken:, h()]"],
    );
    says(
        "pythonic",
        "[f(a='''x\n'y' ''')]",
        &["call f", "input:{\"a\": \"x\\n'y' \"}", "end"],
    );
    is_text(
        "pythonic",
        &[
            "[1, 2]",
            "[f]",
            "[f(x)]",
            "[f('x')]",
            "[f(a==1)]",
            "use [f(a=1)] so",
            "[h(a=1)]",
            "[f(a",
        ],
    );
}

#[test]
fn bare_keys_are_read() {
    says(
        "gemma4",
        "<|tool_call>call:f{a:<|\"|>x, }<|\"|>,b:{c:[1,<|\"|>]<|\"|>]},d:-1.5,e:word}<tool_call|>",
        &[
            "call f",
            "input:{\"a\": \"x, }\", \"b\": {\"c\":[1,\"]\"]}, \"d\": -1.5, \"e\": \"word\"}",
            "end",
        ],
    );
    says(
        "gemma4",
        "<|tool_call>call:f{a}<tool_call|>",
        &["call f", "broken:a}<tool_call|>"],
    );
    says(
        "gemma4",
        "<|tool_call>call:f{}",
        &["call f", "input:{}", "end"],
    );
    is_text(
        "gemma4",
        &["<|tool_call>call:h{}", "<|tool_call>f", "call:f{}"],
    );
}

#[test]
fn harmony_has_channels() {
    says(
        "harmony",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>b<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{\"x\": \"<|call|>\"}<|call|>",
        &[
            "thought:a",
            "text:b",
            "call f",
            "input:{\"x\": \"<|call|>\"}",
            "end",
        ],
    );
    says(
        "harmony",
        "<|channel|>final<|message|>Hi <|b|>",
        &["text:Hi <|b|>"],
    );
    let (harmony, nobody) = (format("harmony"), Arc::new(Tools::default()));
    for (text, is) in [
        ("<|channel|>final<|message|>Hi<|return|>", &["text:Hi"][..]),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hi <|channel|> to=me<|end|>",
            &["thought:a", "text:Hi <|channel|> to=me"],
        ),
        (
            "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
            &["text:{}"],
        ),
        (
            " to=python<|channel|>analysis code<|message|>1<|end|><|start|>assistant<|channel|>final<|message|>2",
            &["text: 12"],
        ),
        (
            "The final channel is <|channel|>final; analysis to=nobody",
            &["text:The final channel is <|channel|>final; analysis to=nobody"],
        ),
    ] {
        assert_eq!(words(&harmony, &nobody, text), is, "{text}");
    }
    is_text(
        "harmony",
        &["<|channel|>commentary to=functions.h <|constrain|>json<|message|>{}"],
    );
}

#[test]
fn an_id_that_the_format_writes_is_given() {
    says(
        "kimi-k2",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_it:12<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        &["call get_it functions.get_it:12", "input:{}", "end"],
    );
    let format = format("kimi-k2");
    let call = Written {
        id: Some("functions.f:3"),
        name: "f",
        input: "{}",
    };
    assert!(
        format
            .write(&[call], &tools(&["f"]))
            .contains("functions.f:3<")
    );
}

#[test]
fn a_custom_tools_text_comes_out_of_every_shape() {
    for format in Formats::builtin().iter() {
        let tools = tools(&["f"]);
        let call = Written {
            id: None,
            name: "custom",
            input: "a \"b\"\n",
        };
        let text = format.write(&[call], &tools);
        let id = if format.name() == "kimi-k2" {
            " functions.custom:0"
        } else {
            ""
        };
        let call = format!("call custom{id}");
        let expected = [&*call, "input:a \"b\"\n", "end"];
        assert_eq!(
            words(format, &tools, &text),
            expected,
            "{}: {text}",
            format.name()
        );
    }
}

#[test]
fn a_great_text_costs_what_its_length_costs() {
    // Were a beginning looked for again and again, this would not end.
    let text =
        "<tool_call>\n<function=f>\n<parameter=a>\n".to_owned() + &"</parameter>x".repeat(100_000);
    let mut out = Vec::new();
    let mut reader = Reader::new(format("qwen3-coder"), tools(&["f"]));
    for chunk in text.as_bytes().chunks(100) {
        reader.push(std::str::from_utf8(chunk).unwrap(), &mut out);
    }
    reader.push(&"<".repeat(1_000_000), &mut out);
    reader.finish(false, &mut out);
    assert!(matches!(out.last(), Some(Piece::Broken { .. })));
    let mut out = Vec::new();
    let mut reader = Reader::new(format("hermes"), tools(&["f"]));
    reader.push(&"<tool_call>{".repeat(100_000), &mut out);
    reader.finish(false, &mut out);
    assert_eq!(joined(out).len(), 1);
}
