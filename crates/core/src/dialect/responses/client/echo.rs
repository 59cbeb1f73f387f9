//! What a reply repeats of its request: SDKs have it among the fields that are always there.

use super::Responses;
use super::field::lose;
use super::kept::before;
use super::names::Names;
use crate::error::Error;
use crate::ir::{Fields, Loss, Origin, raw};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A longer value is not repeated: it would go out three times with each stream.
const MAX_BYTES: usize = 256 << 10;

/// Fields that are repeated as they came; else what they mean where they are absent.
const REPEATED: [(&str, &str); 21] = [
    ("background", "false"),
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("max_tool_calls", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("previous_response_id", "null"),
    ("prompt_cache_key", "null"),
    ("reasoning", "{}"),
    ("safety_identifier", "null"),
    ("service_tier", "\"default\""),
    ("temperature", "1.0"),
    ("text", "{}"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("top_logprobs", "0"),
    ("top_p", "1.0"),
    ("presence_penalty", "0.0"),
    ("frequency_penalty", "0.0"),
    ("truncation", "\"disabled\""),
    ("user", "null"),
];

/// The fields of a reply that its request makes, and the names that its writer has to know.
pub(super) fn of(
    face: Responses,
    fields: &Fields,
    names: &Names,
    losses: &mut Vec<Loss>,
) -> Result<Fields, Error> {
    let mut echo = Fields::default();
    let previous = before(fields).map(|before| raw(&before.id));
    for (name, default) in REPEATED {
        let stated = match name {
            "previous_response_id" => previous.as_ref(),
            _ => fields.0.get(name),
        };
        let stated = stated.filter(|value| value.get() != "null");
        let value = match stated {
            Some(value) if value.get().len() > MAX_BYTES => {
                lose(
                    losses,
                    &Origin::new(name),
                    "the reply does not repeat it: it is too long",
                );
                None
            }
            stated => stated,
        };
        let value = match value {
            Some(value) => one_line(value),
            None => unstated(default),
        };
        echo.set(name, completed(name, value));
    }
    echo.set("store", raw(&(face == Responses::Kept)));
    names.note(&mut echo);
    if fields
        .raw("include")
        .is_some_and(|include| include.contains("reasoning.encrypted_content"))
    {
        echo.set(INCLUDED, raw(&true));
    }
    Ok(echo)
}

/// Functions have all of their members in a reply, said or not: as OpenAI's have, each of its type (`FunctionTool` of openai-php).
/// One that is not said to be strict is not here.
fn functions(value: Box<RawValue>) -> Box<RawValue> {
    let Ok(mut tools) = serde_json::from_str::<Vec<Fields>>(value.get()) else {
        return value;
    };
    for tool in &mut tools {
        if tool.raw("type") != Some("\"function\"") {
            continue;
        }
        let defaults = [
            ("description", Value::Null),
            ("parameters", json!({"type": "object", "properties": {}})),
            ("strict", json!(false)),
        ];
        for (name, default) in defaults {
            if tool.raw(name).is_none_or(|said| said == "null") {
                tool.set(name, raw(&default));
            }
        }
    }
    raw(&tools)
}

/// For the writer alone: thoughts are to come so that the client can send them back.
const INCLUDED: &str = "include";

/// For the writer alone: the reply is the conversation in short.
const COMPACTS: &str = "compacts";

/// Notes that it is.
pub(super) fn note_compaction(echo: &mut Fields) {
    echo.set(COMPACTS, raw(&true));
}

/// For the reply of the route that asks for nothing else: what the user said.
const SAID: &str = "said";

/// Notes it.
pub(super) fn note_said(echo: &mut Fields, said: &[Value]) {
    echo.set(SAID, raw(said));
}

/// What was noted.
pub(super) fn said(echo: &Fields) -> Vec<Value> {
    let said = echo.raw(SAID).map(serde_json::from_str);
    said.and_then(Result::ok).unwrap_or_default()
}

/// Whether it is.
pub(super) fn compacts(echo: &mut Fields) -> bool {
    echo.remove(COMPACTS).is_some()
}

/// Whether thoughts are to come so, which no reply repeats.
pub(super) fn takes_thoughts(echo: &mut Fields) -> bool {
    echo.remove(INCLUDED).is_some()
}

/// Whether the request asks for a summary of what is thought.
pub(super) fn wants_summary(echo: &Fields) -> bool {
    let reasoning = echo.raw("reasoning").unwrap_or_default();
    let reasoning: Value = crate::json::value(reasoning).unwrap_or_default();
    ["summary", "generate_summary"]
        .iter()
        .any(|name| reasoning[name].is_string())
}

fn unstated(json: &str) -> Box<RawValue> {
    crate::ir::raw_string(json.to_owned())
}

/// The same value in one line, as an event has it.
fn one_line(value: &RawValue) -> Box<RawValue> {
    if memchr::memchr2(b'\n', b'\r', value.get().as_bytes()).is_none() {
        return value.to_owned();
    }
    match crate::json::value(value.get()) {
        Ok(value) => raw(&value),
        Err(_) => value.to_owned(),
    }
}

/// Members that replies always have.
fn completed(name: &str, value: Box<RawValue>) -> Box<RawValue> {
    let wanted = match name {
        "text" => json!({"format": {"type": "text"}, "verbosity": "medium"}),
        "reasoning" => json!({"effort": null, "summary": null}),
        "tools" => return functions(value),
        _ => return value,
    };
    let Ok(mut object) = serde_json::from_str::<Fields>(value.get()) else {
        return value;
    };
    for (name, default) in wanted.as_object().into_iter().flatten() {
        if object.raw(name).is_none_or(|known| known == "null") {
            object.set(name, raw(default));
        }
    }
    raw(&object)
}
