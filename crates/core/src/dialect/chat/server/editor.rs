//! Chat Completions from a client of Chat's, edited.

use super::ask;
use crate::dialect::server::Ask;
use crate::dialect::server::CHAT_PATH;
use crate::dialect::server::editor::{
    Editor, append, items, keep_tools, may_say_strict_in_text, mend_strict, with_plain_strict,
};
use crate::error::{Error, Kind};
use crate::ir::{
    Draft, Edits, Fields, History, Origin, Request, Role, Sealing, Tool, ToolChoice, ToolInput,
    Turn, raw, raw_string,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Edits Chat's bodies.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct ChatEditor;

impl Editor for ChatEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed(CHAT_PATH)
    }

    /// Flat tools and choices (the spelling of the Responses API), `any` for `required`, and the legacy
    /// `functions`. What has the usual spelling already keeps its bytes.
    fn respell(&self, fields: &mut Cow<'_, Fields>, request: &Request) -> bool {
        let mut changed = false;
        if let Some(tools) = fields.raw("tools").and_then(nested_tools) {
            fields.to_mut().set("tools", tools);
            changed = true;
        }
        let stated = fields.raw("tool_choice").filter(|raw| *raw != "null");
        let stated: Option<Value> = stated.and_then(|raw| crate::json::value(raw).ok());
        let wanted = |stated: Value| {
            let wanted = ask::choice(&request.tool_choice, &request.tools);
            (stated != wanted && stated["type"] != "allowed_tools").then_some(wanted)
        };
        if let Some(wanted) = stated.and_then(wanted) {
            fields.to_mut().set("tool_choice", raw(&wanted));
            changed = true;
        }
        if request.legacy_functions {
            modernise(fields.to_mut(), request);
            changed = true;
        }
        changed
    }

    fn unmark_tools(&self, fields: &mut Cow<'_, Fields>) -> bool {
        let has_marks = fields.raw("tools").is_some_and(|tools| {
            memchr::memmem::find(tools.as_bytes(), b"\"cache_control\"").is_some()
        });
        has_marks
            && each(fields.to_mut(), "tools", |tool| {
                let function = tool.raw("function");
                let function = function.and_then(|raw| serde_json::from_str::<Fields>(raw).ok());
                let within = function.is_some_and(|mut function| {
                    let is_marked = unmark(&mut function);
                    if is_marked {
                        tool.set("function", raw(&function));
                    }
                    is_marked
                });
                unmark(tool) || within
            })
    }

    /// The whole field: what else it may hold says how the constraint is meant.
    fn unstate(&self, fields: &mut Fields, stated: &Origin) -> Option<Box<RawValue>> {
        fields.remove(stated.field())
    }

    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]) {
        keep_tools(fields, "tools", (request, tools), |known, tool, item| {
            edited(known, tool, item).unwrap_or_else(|| raw(&ask::tool(tool)))
        });
    }

    fn choice(&self, fields: &mut Fields, choice: Option<&ToolChoice>, tools: &[Tool]) {
        match choice {
            None => drop(fields.remove("tool_choice")),
            Some(ToolChoice::None | ToolChoice::Auto | ToolChoice::Required) => {
                fields.set("tool_choice", raw(choice.map_or("", ToolChoice::kind)));
            }
            Some(choice) => fields.set("tool_choice", raw(&ask::choice(choice, tools))),
        }
    }

    fn parallel(&self, fields: &mut Fields, parallel: Option<bool>) {
        match parallel {
            None => drop(fields.remove("parallel_tool_calls")),
            Some(parallel) => fields.set("parallel_tool_calls", raw(&parallel)),
        }
    }

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let mut messages = messages(fields)?;
        let first = messages.first();
        match first.and_then(|first| extend_system(first, text)) {
            Some(extended) => messages[0] = extended,
            None => messages.insert(0, raw(&json!({"role": "system", "content": text}))),
        }
        fields.set("messages", raw(&messages));
        Ok(())
    }

    fn instruct_user(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let mut messages = messages(fields)?;
        let first = messages.first();
        match first.and_then(|first| begin_user(first, text)) {
            Some(extended) => messages[0] = extended,
            None => messages.insert(0, raw(&json!({"role": "user", "content": text}))),
        }
        fields.set("messages", raw(&messages));
        Ok(())
    }

    fn retell(&self, fields: &mut Fields, turns: &[Turn], history: &History, title: &str) -> bool {
        let Some(known) = items(fields, "messages") else {
            return false;
        };
        let draft = Draft {
            history: History {
                // What servers signed stands in the client's own bytes.
                sealed: Sealing::Blocks,
                ..history.clone()
            },
            ..Draft::default()
        };
        let mut ask = Ask::new(&draft, title);
        let keeps_signed = history.sealed == Sealing::Blocks;
        let told: Option<Vec<Box<RawValue>>> = (turns.iter())
            .map(|turn| {
                let known = known.get(turn.index).map(AsRef::as_ref);
                retold(&mut ask, turn, known, keeps_signed)
            })
            .collect();
        let Some(told) = told else {
            return false;
        };
        let is_same = told.len() == known.len()
            && (told.iter().zip(&known)).all(|(told, known)| told.get() == known.get());
        if is_same {
            return false;
        }
        fields.set("messages", raw(&told));
        true
    }

    fn say(&self, fields: &mut Fields, role: Role, text: &str) {
        let role = ask::role(role);
        append(fields, "messages", &json!({"role": role, "content": text}));
    }
}

/// A turn as a message: of one that the client said, what is edited alone. `keeps_signed` is whether what a server signed of a call
/// may stand beside it.
fn retold(
    ask: &mut Ask<'_>,
    turn: &Turn,
    known: Option<&RawValue>,
    keeps_signed: bool,
) -> Option<Box<RawValue>> {
    let known = known.filter(|_| !turn.edits.has(Edits::ALL));
    if let Some(known) = known.filter(|_| !turn.edits.is_any()) {
        return Some(known.to_owned());
    }
    let written = ask::message(ask, turn).ok();
    let Some(known) = known else {
        return written.as_ref().map(raw);
    };
    // What is only taken out of it may be more than there are words for.
    let written_anew = [
        Edits::ROLE,
        Edits::CONTENT,
        Edits::CALLS,
        Edits::CALL_ID,
        Edits::THOUGHTS,
        Edits::EXTRAS,
    ];
    let written = match written_anew.into_iter().any(|edit| turn.edits.has(edit)) {
        true => written?,
        false => written.unwrap_or_default(),
    };
    let mut message: Fields = serde_json::from_str(known.get()).ok()?;
    let mut is_changed = false;
    for (edit, names) in [
        (Edits::ROLE, &["role"][..]),
        (Edits::CONTENT, &["content", "refusal"]),
        (Edits::CALLS, &["tool_calls", "function_call"]),
        (Edits::CALL_ID, &["tool_call_id"]),
        (Edits::NAME, &["name"]),
        (
            Edits::THOUGHTS,
            &[
                "reasoning_content",
                "reasoning",
                "thinking",
                "thinking_blocks",
                "extra_content",
            ],
        ),
    ] {
        if !turn.edits.has(edit) {
            continue;
        }
        for name in names {
            match written.get(*name) {
                Some(value) if says(&message, name, value) => {}
                Some(Value::Null) if !message.has(name) => {}
                Some(value) => {
                    message.set(name, raw(value));
                    is_changed = true;
                }
                None => is_changed |= message.remove(name).is_some(),
            }
        }
    }
    let (is_alone, is_spare) = (turn.edits.has(Edits::EXTRAS), turn.edits.has(Edits::NULLS));
    if is_alone || is_spare {
        let before = message.0.len();
        let prefill = ask.history().prefill.as_ref();
        let prefill = prefill.filter(|_| turn.role == Role::Assistant);
        let mark = prefill.and_then(|prefill| prefill.mark.as_deref());
        message.0.retain(|name, value| {
            let is_known = MEMBERS.contains(&name.as_str()) || mark == Some(name.as_str());
            let is_its_own = is_known || written.get(name).is_some();
            let says_nothing = matches!(value.get(), "null" | "[]") && name != "content";
            (is_its_own || !is_alone) && !says_nothing
        });
        is_changed |= message.0.len() != before;
    }
    if turn.edits.has(Edits::INNER) {
        is_changed |= unmark(&mut message);
        is_changed |= each(&mut message, "content", unmark);
        is_changed |= each(&mut message, "tool_calls", |call| {
            with_own_members(call, keeps_signed)
        });
    }
    Some(if is_changed {
        raw(&message)
    } else {
        known.to_owned()
    })
}

/// Takes a mark of what to cache off; whether there was one.
fn unmark(fields: &mut Fields) -> bool {
    fields.remove("cache_control").is_some()
}

/// Changes each object of a list; whether any was.
fn each(fields: &mut Fields, name: &str, change: impl Fn(&mut Fields) -> bool) -> bool {
    let list = fields.raw(name);
    let list = list.and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok());
    let Some(mut list) = list else {
        return false;
    };
    let mut is_changed = false;
    for item in &mut list {
        is_changed |= change(item);
    }
    if is_changed {
        fields.set(name, raw(&list));
    }
    is_changed
}

/// Leaves a call what every server of Chat's takes in one; whether there was more.
fn with_own_members(call: &mut Fields, keeps_signed: bool) -> bool {
    const OWN: [&str; 4] = ["id", "type", "function", "custom"];
    let before = call.0.len();
    call.0.retain(|name, _| {
        OWN.contains(&name.as_str()) || (keeps_signed && name == "extra_content")
    });
    call.0.len() != before
}

/// Whether a message says just that there already.
fn says(message: &Fields, name: &str, value: &Value) -> bool {
    let known = message.raw(name);
    let known = known.and_then(|raw| crate::json::value(raw).ok());
    known.as_ref() == Some(value)
}

/// What every server of Chat's takes in a message.
const MEMBERS: [&str; 5] = ["role", "content", "name", "tool_calls", "tool_call_id"];

/// The legacy `functions` as `tools`, which every server knows.
fn modernise(fields: &mut Fields, request: &Request) {
    if let Some(plain) = fields.raw("functions").and_then(with_plain_strict) {
        fields.set("functions", plain);
    }
    if let Some(functions) = items(fields, "functions") {
        let function = |function: &RawValue| {
            raw_string(format!(
                r#"{{"type":"function","function":{}}}"#,
                function.get()
            ))
        };
        fields.remove("functions");
        let tools: Vec<Box<RawValue>> = functions.iter().map(|item| function(item)).collect();
        fields.set("tools", raw(&tools));
    }
    if fields.remove("function_call").is_some() {
        let choice = ask::choice(&request.tool_choice, &request.tools);
        fields.set("tool_choice", raw(&choice));
    }
}

/// A function with another schema, or held to it from now on, or no more; none of what was no function.
fn edited(known: &Tool, tool: &Tool, item: &RawValue) -> Option<Box<RawValue>> {
    let ToolInput::Schema { schema, strict } = &tool.input else {
        return None;
    };
    let mut written: Fields = serde_json::from_str(item.get()).ok()?;
    let mut function: Fields = serde_json::from_str(written.raw("function")?).ok()?;
    let is_known =
        matches!(&known.input, ToolInput::Schema { schema: known, .. } if known == schema);
    // What is held has to be said, as little as it is.
    let is_said = function
        .raw("parameters")
        .is_some_and(|said| said != "null");
    if !is_known || *strict && !is_said {
        function.set("parameters", raw(schema));
    }
    match strict {
        true => function.set("strict", raw(strict)),
        false => {
            function.remove("strict");
        }
    }
    if known.name != tool.name {
        function.set("name", raw(&tool.name));
    }
    written.set("function", raw(&function));
    Some(raw(&written))
}

fn messages(fields: &Fields) -> Result<Vec<Box<RawValue>>, Error> {
    items(fields, "messages").ok_or_else(|| {
        let message = "`messages` must be an array of messages";
        Error::new(Kind::InvalidRequest, message).at("messages")
    })
}

/// A user's message that begins with a text.
fn begin_user(message: &RawValue, text: &str) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
    let role: String = serde_json::from_str(fields.raw("role")?).ok()?;
    let content = match serde_json::from_str(fields.raw("content")?).ok()? {
        Value::String(content) => json!(format!("{text}\n\n{content}")),
        Value::Array(mut parts) => {
            parts.insert(0, json!({"type": "text", "text": text}));
            Value::Array(parts)
        }
        _ => return None,
    };
    fields.set("content", raw(&content));
    (role == "user").then(|| raw(&fields))
}

fn extend_system(message: &RawValue, text: &str) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
    let role: String = serde_json::from_str(fields.raw("role")?).ok()?;
    if !["system", "developer"].contains(&role.as_str()) {
        return None;
    }
    let content = match serde_json::from_str(fields.raw("content")?).ok()? {
        Value::String(content) => json!(format!("{content}\n\n{text}")),
        Value::Array(mut parts) => {
            parts.push(json!({"type": "text", "text": text}));
            Value::Array(parts)
        }
        _ => return None,
    };
    fields.set("content", raw(&content));
    Some(raw(&fields))
}

/// Writes a `strict` that is a text as what it says, in a tool or in its function; whether there was one.
fn is_strict_mended(tool: &mut Fields) -> bool {
    let function = tool.raw("function");
    let function = function.and_then(|raw| serde_json::from_str::<Fields>(raw).ok());
    if let Some(mut function) = function
        && is_strict_mended(&mut function)
    {
        tool.set("function", raw(&function));
        return true;
    }
    mend_strict(tool)
}

/// The tools with the flat ones nested, of which some have an empty `function` beside their name (`null`); `None` where none is flat,
/// and no `strict` is a text.
fn nested_tools(list: &str) -> Option<Box<RawValue>> {
    let mut tools: Vec<Fields> = serde_json::from_str(list).ok()?;
    let mut changed = false;
    let has_texts = may_say_strict_in_text(list);
    for tool in &mut tools {
        let said = |name: &str| tool.raw(name).filter(|raw| *raw != "null");
        let kind: String = serde_json::from_str(said("type").unwrap_or("\"function\"")).ok()?;
        let is_nested = said(&kind).is_some() && said("type").is_some();
        changed |= has_texts && is_strict_mended(tool);
        if !["function", "custom"].contains(&kind.as_str()) || is_nested {
            continue;
        }
        changed = true;
        tool.remove("type");
        let body = tool.remove(&kind).filter(|body| body.get() != "null");
        let body = match body {
            Some(body) => body,
            None => raw(&std::mem::take(tool)),
        };
        let rest = std::mem::take(tool);
        tool.set("type", raw(&kind));
        tool.set(&kind, body);
        for (name, value) in rest.0 {
            tool.set(&name, value);
        }
    }
    changed.then(|| raw(&tools))
}
