//! The demand as a text for the model, where the prompt is all that a server leaves.
//! Plain sentences: they must work on any model.

use crate::ir::{Constraint, Contract, Notation, Rewrap, Tool, ToolInput};
use crate::markup::{Tools, Written};
use crate::rules::Markup;
use serde_json::{Value, json};
use std::fmt::Write;

const ONE_CALL: &str = "{\"name\": <the tool's name>, \"arguments\": <an object that satisfies the tool's parameters>}";
const BARE: &str = "Write only the JSON: no other text, no code fence.";

/// A call must be made; between tags, in the model's own markup where that is known.
pub(super) fn forced(contract: &Contract, rewrap: &Rewrap, markup: Option<&Markup>) -> String {
    let tools = list(contract);
    match rewrap {
        Rewrap::Calls => format!(
            "{tools}Call one or more of these tools. Answer with a JSON array of calls, each {ONE_CALL}. {BARE}{}",
            custom_note(contract)
        ),
        Rewrap::TaggedCalls => {
            let marked = markup.and_then(|markup| in_markup(contract, markup));
            let marked = marked.map(|call| call + most(contract));
            tools + &marked.unwrap_or_else(|| call_between_tags(contract))
        }
        Rewrap::Arguments { tool } => {
            format!("{tools}Answer with the input of the tool `{tool}` and nothing else.")
        }
        _ => format!(
            "{tools}Call exactly one of these tools. Answer with one JSON object: {ONE_CALL}. {BARE}{}",
            custom_note(contract)
        ),
    }
}

/// A call may be made, in the model's own markup where that is known.
pub(super) fn free(contract: &Contract, markup: Option<&Markup>) -> String {
    let marked = markup.and_then(|markup| in_markup(contract, markup));
    if let Some(call) = marked {
        return format!(
            "{}{call}{} If no tool is needed, answer in plain text.",
            list(contract),
            most(contract)
        );
    }
    format!(
        "{}To call a tool, answer with one JSON object and nothing else, no code fence: {ONE_CALL}.{} \
         If no tool is needed, answer in plain text.",
        list(contract),
        custom_note(contract)
    )
}

/// Calls may be made, each between tags: for a model that is shown the tools only here.
pub(super) fn tagged(contract: &Contract) -> String {
    format!(
        "{}{}{}",
        list(contract),
        tags(contract),
        custom_note(contract)
    )
}

/// How calls are tagged, for a model whose chat template shows it the tools.
pub(super) fn tags(contract: &Contract) -> String {
    format!(
        "{} If no tool is needed, answer in plain text.",
        call_between_tags(contract)
    )
}

/// How a call is written in the model's markup: an example, in which the first parameters of a tool stand.
fn in_markup(contract: &Contract, markup: &Markup) -> Option<String> {
    let shown = contract.tools.iter().find_map(|tool| match &tool.input {
        ToolInput::Schema { schema, .. } => Some((tool, schema)),
        ToolInput::Text(_) | ToolInput::Hosted(_) => None,
    });
    let (tool, schema) = shown?;
    let names = schema.get("properties").and_then(Value::as_object);
    let names = names.into_iter().flat_map(|named| named.keys());
    let arguments: serde_json::Map<String, Value> = names
        .take(2)
        .map(|name| (name.clone(), json!(format!("<the value of {name}>"))))
        .collect();
    let input = Value::Object(arguments).to_string();
    let call = markup.format.write(
        &[Written {
            id: None,
            name: &tool.name,
            input: &input,
        }],
        &Tools::default(),
    );
    let text = format!(
        "To call a tool, write it in your own markup for calls, no code fence. A call of `{}` is written so:\n{call}\n{}",
        tool.name,
        custom_in_markup(contract)
    );
    (!call.is_empty()).then_some(text)
}

/// Tools that take text have one argument in markup.
fn custom_in_markup(contract: &Contract) -> &'static str {
    let is_custom = |tool: &Tool| matches!(tool.input, ToolInput::Text(_));
    match contract.tools.iter().any(is_custom) {
        true => "A tool with an `input` takes it as its only argument, a text.",
        false => "",
    }
}

const fn most(contract: &Contract) -> &'static str {
    match contract.max_calls {
        Some(1) => " Call at most one tool.",
        _ => "",
    }
}

fn call_between_tags(contract: &Contract) -> String {
    let most = most(contract);
    format!(
        "To call a tool, write one JSON object between tags:\n<tool_call>\n{ONE_CALL}\n</tool_call>\n\
         No code fence.{most}"
    )
}

/// Calls may be made, each between tags, or the answer given: for a model that is shown the tools
/// only here.
pub(super) fn tagged_or_answer(contract: &Contract, stated: &Constraint) -> String {
    format!(
        "{}{}{}",
        list(contract),
        tags_or_answer(contract, stated),
        custom_note(contract)
    )
}

/// How calls are tagged, and what the answer is, for a model whose chat template shows it the tools.
pub(super) fn tags_or_answer(contract: &Contract, stated: &Constraint) -> String {
    format!(
        "{} Write nothing beside a call. If no tool is needed, your whole answer {}.",
        call_between_tags(contract),
        describe(stated)
    )
}

/// A call may be made, or an answer that satisfies the constraint.
pub(super) fn call_or_answer(contract: &Contract, stated: &Constraint) -> String {
    format!(
        "{}Answer with one JSON object. Either call a tool: {ONE_CALL}.{} Or give the final answer: \
         {{\"answer\": <the answer>}}, where the answer {}. {BARE}",
        list(contract),
        custom_note(contract),
        describe(stated)
    )
}

/// An answer that satisfies the constraint.
pub fn answer(stated: &Constraint) -> String {
    let bare = if stated.is_json() {
        BARE
    } else {
        "Write only that text."
    };
    format!("Your whole answer {}. {bare}", describe(stated))
}

pub(super) fn describe(stated: &Constraint) -> String {
    match stated {
        Constraint::JsonSchema(schema) => {
            format!("must be JSON that satisfies this JSON Schema: {schema}")
        }
        Constraint::JsonObject => "must be one JSON object".to_owned(),
        Constraint::Regex(regex) => {
            format!("must match this regular expression as a whole: {regex}")
        }
        Constraint::Choice(choices) => {
            format!("must be exactly one of these texts: {}", json!(choices))
        }
        Constraint::Grammar {
            notation: Notation::Lark,
            text,
        } => format!("must be a text of this Lark grammar:\n{text}\n"),
        Constraint::Grammar {
            notation: Notation::Gbnf,
            text,
        } => format!("must be a text of this EBNF grammar:\n{text}\n"),
        Constraint::StructuralTag(tag) => format!("must follow these structural tags: {tag}"),
    }
}

fn list(contract: &Contract) -> String {
    let mut text = "You can call these tools:\n".to_owned();
    // What the server would have to host, no text can call.
    let is_callable = |tool: &&Tool| !matches!(tool.input, ToolInput::Hosted(_));
    for tool in contract.tools.iter().filter(is_callable) {
        let _ = writeln!(text, "{}", entry(tool));
    }
    text.push('\n');
    text
}

fn entry(tool: &Tool) -> Value {
    let mut entry = json!({"name": tool.name});
    if let Some(description) = &tool.description {
        entry["description"] = json!(description);
    }
    match &tool.input {
        ToolInput::Schema { schema, .. } => entry["parameters"] = schema.clone(),
        ToolInput::Text(None) => entry["input"] = json!("any text"),
        ToolInput::Text(Some(stated)) => {
            entry["input"] = json!(format!("a text that {}", describe(stated)))
        }
        ToolInput::Hosted(_) => {}
    }
    entry
}

/// Tools that take text have no arguments.
fn custom_note(contract: &Contract) -> &'static str {
    if contract
        .tools
        .iter()
        .any(|tool| matches!(tool.input, ToolInput::Text(_)))
    {
        " A tool with an `input` takes {\"name\": <the tool's name>, \"input\": <the text>} instead."
    } else {
        ""
    }
}
