//! Calls and results as text, for servers whose chat template cannot show them: in the markup in which the model writes
//! its calls, or in the form in which it is told to.

use super::{Fitting, Ledger};
use crate::ir::{Call, CallInput, Edits, Part, Refusal, Role, Turn};
use crate::markup::{Format, Tools, Written};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// Writes calls and results into what is said.
pub(super) fn calls(turns: &mut [Turn], to: &Fitting<'_>, ledger: &mut Ledger) {
    if !to.refuses(Refusal::Calls) {
        return;
    }
    for turn in turns {
        let has_calls = !turn.calls.is_empty();
        if turn.role != Role::Tool && !has_calls {
            continue;
        }
        let reason = || {
            format!(
                "{} shows the model no calls and results: told as text",
                to.title
            )
        };
        ledger.lose("calls", &turn.origin, reason);
        turn.edits.add(Edits::CONTENT);
        if has_calls {
            let calls = std::mem::take(&mut turn.calls);
            let text = match &to.markup {
                Some(format) => in_markup(&calls, format),
                None => {
                    let told: Vec<String> = calls.iter().map(|call| written(call, to)).collect();
                    told.join("\n")
                }
            };
            turn.parts.push(plain(text));
            turn.edits.add(Edits::CALLS);
        }
        if turn.role == Role::Tool {
            turn.role = Role::User;
            let name = turn.tool.take().unwrap_or_else(|| "a tool".to_owned());
            let id = turn.call_id.take();
            let own = |format: &Arc<Format>| in_frame(&turn.parts, format, id.as_deref(), &name);
            match to.markup.as_ref().and_then(own) {
                Some(result) => turn.parts = vec![plain(result)],
                None => frame(&mut turn.parts, &name),
            }
            turn.edits.add(Edits::ROLE);
            turn.edits.add(Edits::CALL_ID);
            turn.edits.add(Edits::NAME);
        }
    }
}

const fn plain(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// Calls as the model writes them.
fn in_markup(calls: &[Call], format: &Format) -> String {
    let inputs: Vec<Cow<'_, str>> = calls.iter().map(|call| input(&call.input)).collect();
    let written: Vec<Written<'_>> = calls
        .iter()
        .zip(&inputs)
        .map(|(call, input)| Written {
            // As the prompt writes one: models are not taught to make them up.
            id: None,
            name: &call.name,
            input,
        })
        .collect();
    format.write(&written, &Tools::default())
}

fn input(input: &CallInput) -> Cow<'_, str> {
    match input {
        CallInput::Text(stated) => Cow::Borrowed(&stated.text),
        // The only argument of a tool that takes text.
        CallInput::Custom(text) => Cow::Owned(json!({"input": text}).to_string()),
        input => Cow::Borrowed(input.object().unwrap_or_default()),
    }
}

/// A result as the model is shown it, where that is text.
fn in_frame(parts: &[Part], format: &Format, id: Option<&str>, name: &str) -> Option<String> {
    let text = |part: &Part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    let texts: Option<Vec<String>> = parts.iter().map(text).collect();
    format.write_result(id, name, &texts?.join("\n"))
}

/// A call as the prompt asks for it.
fn written(call: &Call, to: &Fitting<'_>) -> String {
    let said = match &call.input {
        CallInput::Text(stated) => json!({"name": call.name, "arguments": stated.text}),
        CallInput::Custom(text) => json!({"name": call.name, "input": text}),
        input => {
            let arguments = input.object().unwrap_or_default();
            let arguments: Value = crate::json::value(arguments).unwrap_or_default();
            json!({"name": call.name, "arguments": arguments})
        }
    };
    match to.is_tagged {
        true => format!("<tool_call>\n{said}\n</tool_call>"),
        false => said.to_string(),
    }
}

/// A result between tags, whatever it is made of.
fn frame(parts: &mut Vec<Part>, name: &str) {
    let head = format!("<tool_response name={}>\n", json!(name));
    match parts.first_mut() {
        Some(Part::Text { text, .. }) => text.insert_str(0, &head),
        _ => parts.insert(0, plain(head)),
    }
    match parts.last_mut() {
        Some(Part::Text { text, .. }) => text.push_str("\n</tool_response>"),
        _ => parts.push(plain("</tool_response>".to_owned())),
    }
}
