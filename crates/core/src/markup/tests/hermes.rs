//! JSON between tags, and the rules that hold for every format, shown with this one.

use super::*;

#[track_caller]
fn says(text: &str, expected: &[&str]) {
    let tools = tools(&["f", "g"]);
    assert_eq!(words(&format("hermes"), &tools, text), expected, "{text}");
}

fn call(name: &str, input: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {input}}}\n</tool_call>")
}

#[test]
fn text_without_a_call_is_the_text() {
    for text in [
        "Hello.",
        "  Hello \n\n there.  \n",
        "1 < 2, <tool, <tool_call, </tool_call> and <<tool_cal",
        "{\"colour\": \"green\"}",
        "{\"name\": \"Ada\"}",
        "{\"name\": \"Ada\", \"born\": 1815",
        "{\"name\": \"f\", \"born\": 1815}",
        "{\"name\": \"h\", \"arguments\": {}}",
        "{",
        "{ \"na",
        "[{\"name\": \"f\", \"arguments\": {}}]",
        "Grüße 😀<",
        "so: {\"name\": \"f\", \"arguments\": {}}",
        "Use <tool_call> to call, and </tool_call> then.",
        "<tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>f(1)</tool_call>",
        "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\": \"f\"}</tool_call>",
        "<tool_call>{\"name\": \"h\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": 1, \"arguments\": {}}</tool_call>",
        "<tool_call>[{\"name\": \"f\", \"arguments\": {}}]</tool_call>",
        "<tool_call>\n{\"name\": \"f\", ",
        "a\n\n<tool_call> \n b",
        "\n\n<thin",
        "<think",
    ] {
        says(text, &[&format!("text:{text}")]);
    }
    says("", &[]);
}

#[test]
fn blanks_around_calls_are_layout() {
    says(
        &call("f", "{\"a\": 1}"),
        &["call f", "input:{\"a\": 1}", "end"],
    );
    says(
        &format!("\n I look. \n{}\n ", call("f", "{}")),
        &["text:\n I look.", "call f", "input:{}", "end"],
    );
    says(
        &format!(" \n{}\n\n{}\n", call("f", "{}"), call("g", "[1]")),
        &["call f", "input:{}", "end", "call g", "input:[1]", "end"],
    );
    says(
        &format!("One.\n{}\n\nTwo.", call("f", "{}")),
        &["text:One.", "call f", "input:{}", "end", "text:\nTwo."],
    );
    says(
        &format!("One.{}{} Two. ", call("f", "{}"), call("g", "5")),
        &[
            "text:One.",
            "call f",
            "input:{}",
            "end",
            "call g",
            "input:5",
            "end",
            "text: Two. ",
        ],
    );
    says(
        &format!("{}\nTwo.", call("f", "{}")),
        &["call f", "input:{}", "end", "text:Two."],
    );
}

#[test]
fn what_is_no_call_does_not_hide_the_call_behind_it() {
    says(
        &format!("<tool_call> is how: <<tool_call>{{ {}", call("f", "{}")),
        &[
            "text:<tool_call> is how: <<tool_call>{",
            "call f",
            "input:{}",
            "end",
        ],
    );
}

#[test]
fn tags_inside_of_json_are_data() {
    for input in [
        "{\"a\": \"</tool_call>\"}",
        "{\"</tool_call>\": \"<tool_call>\"}",
        "{\"a\": \"}\\n</tool_call>\\n<tool_call>\\n{\\\"name\\\": \\\"g\\\"}\"}",
        "{\"a\": \"<think>```</think>\", \"b\": [\"}\"]}",
    ] {
        says(
            &call("f", input),
            &["call f", &format!("input:{input}"), "end"],
        );
    }
}

#[test]
fn keys_may_come_in_any_order_and_spelling() {
    says(
        "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"\\u0066\"}</tool_call>",
        &["call f", "input:{\"a\": 1}", "end"],
    );
    says(
        "<tool_call>{\"id\": \"c7\", \"name\": \"f\", \"parameters\": {}, \"x\": [1]}</tool_call>",
        &["call f c7", "input:{}", "end"],
    );
}

#[test]
fn a_custom_tools_input_is_the_text() {
    says(
        "<tool_call>\n{\"name\": \"custom\", \"input\": \"a\\n</tool_call>\"}\n</tool_call>",
        &["call custom", "input:a\n</tool_call>", "end"],
    );
    says(
        "<tool_call>\n{\"name\": \"custom\", \"arguments\": {\"input\": \"ab\"}}\n</tool_call>",
        &["call custom", "input:ab", "end"],
    );
    says(
        "<tool_call>\n{\"name\": \"custom\", \"arguments\": {\"text\": \"ab\"}}\n</tool_call>",
        &["call custom", "broken:{\"text\": \"ab\"}}\n</tool_call>"],
    );
}

#[test]
fn a_thought_comes_first_and_what_it_says_is_no_call() {
    says(
        &format!(
            "\n<think>so {}</think>\n{}",
            call("f", "{}"),
            call("g", "{}")
        ),
        &[
            &format!("thought:so {}", call("f", "{}")),
            "call g",
            "input:{}",
            "end",
        ],
    );
    says("<think>a</think> b", &["thought:a", "text: b"]);
    says("a <think>b</think>", &["text:a <think>b</think>"]);
    says("<think>a</thin", &["thought:a</thin"]);
    let tools = tools(&["f"]);
    let mut out = Vec::new();
    let mut reader = Reader::new(format("hermes"), tools).in_thought();
    reader.push("a</think>b", &mut out);
    reader.finish(false, &mut out);
    assert_eq!(out, [Piece::Thought("a".into()), Piece::Text("b".into())]);
}

#[test]
fn a_content_that_is_one_bare_call_is_a_call() {
    let bare = "{\"name\": \"f\", \"parameters\": {\"a\": 1}}";
    says(&format!("{bare}\n"), &["call f", "input:{\"a\": 1}", "end"]);
    says(
        "{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}} So.",
        &["call f", "input:{}", "end", "text:So."],
    );
}

#[test]
fn text_waits_only_for_what_may_be_a_call() {
    let mut reader = Reader::new(format("hermes"), tools(&["f"]));
    let mut step = |text: &str| {
        let mut out = Vec::new();
        reader.push(text, &mut out);
        out
    };
    let text = |text: &str| vec![Piece::Text(text.to_owned())];
    let input = |text: &str| vec![Piece::Input(text.to_owned())];
    assert_eq!(step("I"), text("I"));
    assert_eq!(step(" "), []);
    assert_eq!(step("look <"), text(" look"));
    assert_eq!(step("to"), []);
    assert_eq!(step("ols>"), text(" <tools>"));
    assert_eq!(step("\n<tool_call>\n{\"name\": \"f\""), []);
    let name = "f".to_owned();
    let begins = [
        Piece::Call { id: None, name },
        Piece::Input("{\"a\"".into()),
    ];
    assert_eq!(step(", \"arguments\": {\"a\""), begins);
    assert_eq!(step(": 1"), input(": 1"));
    assert_eq!(step("}"), input("}"));
    assert_eq!(step("}"), [Piece::End]);
    let mut reader = Reader::new(format("hermes"), tools(&["f"]));
    let mut out = Vec::new();
    reader.push("{ \"number\": 1", &mut out);
    assert_eq!(out, text("{ \"number\": 1"));
}

#[test]
fn what_breaks_after_the_beginning_is_told_with_what_was_not_given() {
    let begin = "<tool_call>{\"name\": \"f\", \"arguments\": {";
    says(
        &format!("{begin}a: 1}}}}</tool_call> x"),
        &["call f", "input:{", "broken:a: 1}}</tool_call> x"],
    );
    says(begin, &["call f", "input:{", "broken:"]);
    for follows in ["</tool>", " and more", "}", "<tool_call>"] {
        says(
            &format!("{begin}}}}}{follows}"),
            &["call f", "input:{}", "end", &format!("broken:{follows}")],
        );
    }
}

#[test]
fn a_call_that_lacks_only_its_end_tag_is_whole() {
    for end in ["", "\n", "</tool", "\n</tool_call"] {
        let text = format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{}}}}{end}");
        says(&text, &["call f", "input:{}", "end"]);
    }
}

#[test]
fn a_cut_text_gives_what_there_is() {
    let cut = |text: &str| read(&format("hermes"), &tools(&["f"]), [text], true);
    let name = "f".to_owned();
    let call = Piece::Call { id: None, name };
    let input = Piece::Input("{\"a\": ".to_owned());
    let text = "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ";
    assert_eq!(cut(text), [call, input]);
    let text = "<tool_call>{\"name\": \"f\"";
    assert_eq!(cut(text), [Piece::Text(text.to_owned())]);
}

#[test]
fn what_is_held_has_a_bound() {
    // Arguments before the name, and blanks where a call may begin.
    let long = format!("<tool_call>{{\"arguments\": \"{}", "x".repeat(2 << 20));
    let mut reader = Reader::new(format("hermes"), tools(&["f"]));
    let mut out = Vec::new();
    for chunk in long.as_bytes().chunks(1 << 16) {
        reader.push(std::str::from_utf8(chunk).unwrap(), &mut out);
    }
    assert_eq!(joined(out), [Piece::Text(long)]);
    let blank = format!("<tool_call>{}", " ".repeat(1 << 20));
    let mut out = Vec::new();
    let mut reader = Reader::new(format("hermes"), tools(&["f"]));
    reader.push(&blank, &mut out);
    assert!(!out.is_empty());
}

#[test]
fn a_result_stands_in_its_tags() {
    let result = format("hermes").write_result(Some("c1"), "f", "{content} {id}");
    let expected = "<tool_response>\n{content} {id}\n</tool_response>";
    assert_eq!(result.as_deref(), Some(expected));
}
