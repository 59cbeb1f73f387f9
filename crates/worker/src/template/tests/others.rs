//! What is found out about templates of many kinds: of whoever's calls are shown, how, and beside what. And a folder of
//! templates that are not ours, where there is one.

use super::{ChatTemplate, render_held, render_with, template};
use serde_json::{Value, json};
use std::path::Path;

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])
}

fn called(text: &str, calls: usize) -> Value {
    let call = |n: usize| json!({"id": format!("{n}"), "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}});
    let calls: Vec<Value> = (0..calls).map(call).collect();
    let result = |n: usize| json!({"role": "tool", "tool_call_id": format!("{n}"), "content": "r"});
    let mut messages = vec![
        json!({"role": "user", "content": "u"}),
        json!({"role": "assistant", "content": text, "tool_calls": calls}),
    ];
    messages.extend((0..calls.len()).map(result));
    messages.into()
}

fn rendered(source: &str, messages: &Value) -> String {
    let rendered = render_with(&template(source), messages, &tools(), &json!({}));
    rendered.unwrap().text
}

#[test]
fn calls_that_a_last_turn_leaves_out_are_found_before_a_result() {
    let source = "{% if tools %}<TOOLCALL>{{ tools | tojson }}{% endif %}{% for m in messages %}{% if not loop.last or m.role != 'assistant' %}\
        [{{ m.role }}]{{ m.content }}{% if m.tool_calls %}<TOOLCALL>[{% for c in m.tool_calls %}\
        {\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\
        {{ ', ' if not loop.last }}{% endfor %}]</TOOLCALL>{% endif %}{% endif %}{% endfor %}";
    let text = rendered(source, &called("", 2));
    let call = "{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
    let own = format!("[user]u[assistant]<TOOLCALL>[{call}, {call}]</TOOLCALL>[tool]r[tool]r");
    assert!(text.ends_with(&own), "{text}");
    assert!(!text.contains("<tool_call>"), "{text}");
}

#[test]
fn a_token_that_begins_as_the_prompt_ends_is_seen_whole() {
    let source = "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}[{{ m.role }}]{% if m.tool_calls %}<|START_ACTION|>[\n\
        {% for c in m.tool_calls %}    {\"tool_call_id\": \"{{ loop.index0 }}\", \"tool_name\": \"{{ c.function.name }}\", \
        \"parameters\": {{ c.function.arguments | tojson }}}{{ ',' if not loop.last }}\n{% endfor %}]<|END_ACTION|>\
        {% else %}{{ m.content }}{% endif %}{% endfor %}[assistant]<|START_THINKING|>";
    let text = rendered(source, &called("", 1));
    let own = "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", \"parameters\": {\"a\": 1}}\n]<|END_ACTION|>";
    assert!(
        text.contains(own) && !text.contains("<tool_call>"),
        "{text}"
    );
    // It leaves the text out, not the calls.
    assert!(rendered(source, &called("t", 1)).contains(own));
}

#[test]
fn json_without_a_token_is_shown_where_the_answer_is_held_to_it() {
    let source = "{% if tools %}Respond in the format {\"name\": function name, \"parameters\": dictionary of argument name and \
        its value}{{ tools | tojson }}{% endif %}{% for m in messages %}[{{ m.role }}]{% if m.tool_calls %}\
        {% if m.tool_calls | length > 1 %}{{ raise_exception('one at a time') }}{% endif %}\
        {\"name\": \"{{ m.tool_calls[0].function.name }}\", \"parameters\": {{ m.tool_calls[0].function.arguments | tojson }}}\
        {% else %}{{ m.content }}{% endif %}{% endfor %}[assistant]";
    let llama = template(source);
    let rendered = |calls: usize, tags: Option<&[String]>| {
        render_held(&llama, &called("", calls), &tools(), tags)
    };
    let own = "[assistant]{\"name\": \"f\", \"parameters\": {\"a\": 1}}[tool]r";
    let forced = "{\"name\": \"f\", \"parameters\": ".to_owned();
    let text = rendered(1, Some(std::slice::from_ref(&forced)));
    assert!(text.contains(own) && text.contains("Respond in"), "{text}");
    // A free call has a token.
    let hermes = "<tool_call>\n{\"name\": \"f\", \"arguments\": ".to_owned();
    let call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
    let text = rendered(1, Some(&[hermes]));
    assert!(
        text.contains(call) && !text.contains("Respond in"),
        "{text}"
    );
    // What it refuses in its own style is shown all the same.
    let text = rendered(2, Some(&[forced]));
    assert_eq!(text.matches(call).count(), 2, "{text}");
}

/// Python escapes what it adds to a text that is marked as safe, which the template's author did not mean.
const OTHERWISE: [&str; 1] = ["meetkai-functionary-medium-v3.1.jinja"];

/// `ISOGLOSS_TEMPLATES` is a folder of templates, and of what `golden.py FOLDER` wrote of them.
#[test]
fn templates_of_others_are_shown_as_python_shows_them_or_are_told_of_everything() {
    let Ok(folder) = std::env::var("ISOGLOSS_TEMPLATES") else {
        eprintln!("skipped: no ISOGLOSS_TEMPLATES");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&read("golden.json")).unwrap();
    let (mut same, mut told, mut failed) = (0, 0, Vec::new());
    for case in &cases {
        let name = case["template"].as_str().unwrap();
        let template = ChatTemplate::new(&read(name), "<s>", "</s>").unwrap();
        let rendered = render_with(&template, &case["messages"], &case["tools"], &json!({}));
        let expected = case["expected"].as_array().unwrap();
        let Ok(rendered) = rendered else {
            if !expected.is_empty() {
                failed.push(format!("{name}: {}: {rendered:?}", case["name"]));
            }
            continue;
        };
        let shape = &template.shape;
        let is_native = shape.native_tools && shape.native_calls && shape.calls_beside_text;
        let has_tools = case["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty());
        let is_same = expected.iter().any(|text| *text == rendered.text);
        // What it cannot show itself is in the text all the same.
        let words = case["words"].as_array().unwrap();
        let lost = |word: &&Value| !rendered.text.contains(word.as_str().unwrap());
        let lost: Vec<&Value> = words.iter().filter(lost).collect();
        match is_same {
            true => same += 1,
            false if expected.is_empty() || !is_native && has_tools && lost.is_empty() => told += 1,
            false if OTHERWISE.contains(&name) => told += 1,
            false => failed.push(format!(
                "{name}: {}: lost {lost:?}\n{}",
                case["name"], rendered.text
            )),
        }
    }
    eprintln!("{same} as Python shows them, {told} told in words");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
