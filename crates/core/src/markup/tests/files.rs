//! The data files: every one is reached, and does what its examples say.

use super::*;
use crate::datafile::RuleFault;
use std::collections::BTreeSet;

#[test]
fn every_file_is_embedded_and_says_where_it_is_from() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../rules/markup");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let formats = Formats::builtin();
    let names: BTreeSet<String> = formats.iter().map(|f| f.name().to_owned()).collect();
    assert_eq!(names, files);
    for format in formats.iter() {
        assert!(!format.sources().is_empty(), "{}", format.name());
        assert!(format.examples().len() > 1, "{}", format.name());
        let has_signs = !format.models.is_empty() || !format.template.is_empty();
        assert!(has_signs, "nothing tells {}", format.name());
    }
}

#[test]
fn a_token_around_calls_stands_around_nothing_else() {
    let formats = Formats::builtin();
    let tokens: BTreeSet<&str> = formats.call_tokens().collect();
    for token in [
        "<tool_call>",
        "[TOOL_CALLS]",
        "<|tool_calls_section_begin|>",
        "</tool_call>",
    ] {
        assert!(tokens.contains(token), "{token}: {tokens:?}");
    }
    // Harmony's channels are for answers too, and people write brackets.
    for token in [
        "<|channel|>",
        "<|end|>",
        "<|im_end|>",
        "</s>",
        "[",
        "<think>",
        "</think>",
        "```",
    ] {
        assert!(!tokens.contains(token), "{token}");
    }
}

#[test]
fn a_control_token_that_is_written_in_calls_alone_is_told_from_others() {
    let formats = Formats::builtin();
    let of_calls = |format: &str, token: &str| formats.by_name(format).unwrap().is_of_calls(token);
    for (format, token) in [
        ("mistral", "[TOOL_CALLS]"),
        ("mistral", "[ARGS]"),
        ("mistral-v3", "[TOOL_CALLS]"),
        ("granite", "<|tool_call|>"),
        ("kimi-k2", "<|tool_call_argument_begin|>"),
        ("deepseek-v3.1", "<｜tool▁sep｜>"),
        ("gemma4", "<|\"|>"),
        ("gemma4", "<tool_call|>"),
        ("llama3-json", "<|python_tag|>"),
        // Its calls are messages: the tokens of all of them are text.
        ("harmony", "<|channel|>"),
        ("harmony", "<|message|>"),
    ] {
        assert!(of_calls(format, token), "{format} {token}");
    }
    for (format, token) in [
        ("mistral", "</s>"),
        ("mistral", "[THINK]"),
        ("mistral", "[INST]"),
        ("hermes", "<|im_end|>"),
        ("llama3-json", "<|eom_id|>"),
    ] {
        assert!(!of_calls(format, token), "{format} {token}");
    }
}

#[test]
fn every_format_is_found_by_its_own_signs() {
    let formats = Formats::builtin();
    for format in formats.iter() {
        for model in &format.models {
            let found = formats.of_model(model).unwrap();
            assert_eq!(found.name(), format.name(), "model {model}");
            assert!(format.is_for_model(&format!("Some-Org/{}-8B", model.to_uppercase())));
        }
        for sign in &format.template {
            let found = formats.of_template(&format!("{{% if tools %}}{sign}{{% endif %}}"));
            assert_eq!(found.unwrap().name(), format.name(), "sign {sign}");
            assert!(format.is_in_template(sign));
        }
    }
    assert!(formats.of_model("some-unknown-model").is_none());
    assert!(formats.of_template("{{ messages[0].content }}").is_none());
}

/// The tools of an example: its calls', and one more.
fn tools_of(example: &Example) -> Arc<Tools> {
    let mut names: Vec<&str> = example.calls.iter().map(|(_, name, _)| &**name).collect();
    names.push("another");
    let tools = names.into_iter();
    let typed = |name: &str| {
        let arguments = example.calls.iter().filter(|(_, own, _)| own == name);
        let mut properties = serde_json::Map::new();
        for (_, _, arguments) in arguments {
            let arguments: serde_json::Map<String, Value> =
                serde_json::from_str(arguments).unwrap();
            for (key, value) in arguments {
                let kind = match value {
                    Value::Null => "null",
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "number",
                    Value::String(_) => "string",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                };
                properties.insert(key, json!({"type": kind}));
            }
        }
        json!({"type": "object", "properties": properties})
    };
    let tools = tools.map(|name| (name.to_owned(), CallKind::Function, Some(typed(name))));
    Arc::new(Tools::new(tools))
}

/// Calls as an example gives them: id, name, arguments as a value.
type Calls = Vec<(Option<String>, String, Value)>;

fn calls(pieces: &[Piece]) -> (String, String, Calls) {
    let (mut content, mut thoughts) = (String::new(), String::new());
    let mut calls: Vec<(Option<String>, String, String)> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => content.push_str(text),
            Piece::Thought(text) => thoughts.push_str(text),
            Piece::Call { id, name } => calls.push((id.clone(), name.clone(), String::new())),
            Piece::Input(text) => calls.last_mut().unwrap().2.push_str(text),
            Piece::End => {}
            Piece::Broken { why, unread } => panic!("{why}: {unread}"),
        }
    }
    let value = |(id, name, text): (_, _, String)| (id, name, serde_json::from_str(&text).unwrap());
    (content, thoughts, calls.into_iter().map(value).collect())
}

#[test]
fn every_example_is_read_as_it_says() {
    for format in Formats::builtin().iter() {
        for example in format.examples() {
            let tools = tools_of(example);
            words(format, &tools, &example.text);
            let pieces = read(format, &tools, [&*example.text], false);
            let (content, _, found) = calls(&pieces);
            let expected: Calls = example
                .calls
                .iter()
                .map(|(id, name, text)| {
                    let value = serde_json::from_str(text).unwrap();
                    (id.clone(), name.clone(), value)
                })
                .collect();
            let case = format!("{}: {}", format.name(), example.text);
            assert_eq!(found, expected, "{case}");
            assert_eq!(content, example.content, "{case}");
        }
    }
}

#[test]
fn every_example_is_written_as_it_says() {
    for format in Formats::builtin().iter() {
        for example in format.examples() {
            let tools = tools_of(example);
            let calls = example.calls.iter().map(|(id, name, input)| Written {
                id: id.as_deref(),
                name,
                input,
            });
            let calls: Vec<_> = calls.collect();
            let written = format.write(&calls, &tools);
            match &example.written {
                Some(expected) => assert_eq!(&written, expected, "{}", format.name()),
                None => {
                    let is_there = example.text.contains(&written);
                    assert!(is_there, "{}: {written}\n{}", format.name(), example.text);
                }
            }
        }
    }
}

fn faults(name: &str, text: &str) -> Vec<RuleFault> {
    let files = [(name.to_owned(), text.to_owned())];
    Formats::with_overlay(&files).unwrap_err()
}

#[test]
fn all_faults_of_a_file_are_told_with_their_lines() {
    let text = "name = \"own\"\ndrop = [\"\"]\nmodel = [\"x\"]\n\n[[form]]\narguments = \"xml\"\n\n\
                [[form]]\narguments = \"json\"\nend = [\"</call> \"]\n";
    let found = faults("rules/markup/own.toml", text);
    let lines: Vec<(usize, &str)> = found
        .iter()
        .map(|fault| (fault.line, fault.message.as_str()))
        .collect();
    assert!(lines.contains(&(2, "this is no token")), "{lines:?}");
    assert!(lines.contains(&(3, "unknown key `model`")), "{lines:?}");
    assert!(
        lines.contains(&(6, "unknown shape of arguments `xml`")),
        "{lines:?}"
    );
    assert!(lines.contains(&(8, "a call has no name")), "{lines:?}");
    assert!(
        lines.contains(&(8, "a call begins with nothing")),
        "{lines:?}"
    );
    assert!(
        lines.contains(&(8, "blanks stand at the end of `end`")),
        "{lines:?}"
    );
    assert!(found.iter().all(|fault| !fault.remedy.is_empty()));
}

#[test]
fn tokens_of_a_parameter_that_do_not_fit_are_faults() {
    let text = "name = \"own\"\n\n[[form]]\narguments = \"parameters\"\nhead = [\"<{name}>\"]\n\
                call_end = [\"</>\"]\n\n[[form.parameter]]\nbegin = \"<p {key}>\"\nend = \"</p>\"\n\
                inside = [\"<!\"]\nvalue = \"elements\"\n";
    let messages: Vec<String> = faults("rules/markup/own.toml", text)
        .into_iter()
        .map(|fault| fault.message)
        .collect();
    assert_eq!(
        messages,
        ["elements have no tokens", "`inside` is no pair of tokens"]
    );
}

#[test]
fn a_file_of_ones_own_replaces_the_one_of_its_name() {
    let text = "name = \"hermes\"\n[[form]]\narguments = \"envelope\"\nbegin = [\"<go>\"]\n";
    let files = [("own/hermes.toml".to_owned(), text.to_owned())];
    let formats = Formats::with_overlay(&files).unwrap();
    let hermes = formats.by_name("hermes").unwrap();
    let found = words(
        hermes,
        &tools(&["f"]),
        "<go>{\"name\":\"f\",\"arguments\":{}}",
    );
    assert_eq!(found, ["call f", "input:{}", "end"]);
    assert_eq!(formats.iter().count(), Formats::builtin().iter().count());
}

/// A server that stops at `max_tokens` stops anywhere: what came of a call is no fault then.
#[test]
fn no_cut_of_an_example_breaks_off() {
    let tools = tools(&["weather", "clock", "plan"]);
    let breaks_off = |pieces: &[Piece]| {
        let mut pieces = pieces.iter();
        pieces.any(|piece| matches!(piece, Piece::Broken { .. }))
    };
    for format in Formats::builtin().iter() {
        for example in format.examples() {
            if breaks_off(&read(format, &tools, [&*example.text], false)) {
                continue;
            }
            for (at, _) in example.text.char_indices() {
                let text = &example.text[..at];
                let pieces = read(format, &tools, [text], true);
                let name = format.name();
                assert!(!breaks_off(&pieces), "{name}: {text:?} gives {pieces:?}");
            }
        }
    }
}
