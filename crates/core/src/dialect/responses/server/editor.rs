//! A request from a client of Responses, edited.

use crate::dialect::responses::client::sealed;
use crate::dialect::server::editor::{Editor, append, items, with_plain_strict};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Part, Request, Role, Tool, ToolChoice, ToolInput, raw};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Edits the bodies of Responses.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct ResponsesEditor;

impl Editor for ResponsesEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed(super::ask::PATH)
    }

    /// Thoughts that we sealed for another server: this one cannot read them. Its own remarks, which were told as thoughts, are
    /// its messages again, and a conversation that was put in short here is its text. A `strict` in a text is what it says.
    fn respell(&self, fields: &mut Cow<'_, Fields>, _request: &Request) -> bool {
        let tools = fields.raw("tools").and_then(with_plain_strict);
        let is_plain = tools.is_none();
        if let Some(tools) = tools {
            fields.to_mut().set("tools", tools);
        }
        without_foreign(fields) || !is_plain
    }

    fn foreign_thought(&self, fields: &Fields) -> Option<String> {
        fields
            .raw("input")
            .filter(|raw| raw.contains(sealed::MARK))?;
        let at = items(fields, "input")?
            .iter()
            .position(|item| is_ours(item) && remark(item).is_none())?;
        Some(format!("/input/{at}"))
    }

    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]) {
        let Some(stated) = items(fields, "tools") else {
            return;
        };
        let kept: Vec<Box<RawValue>> = (stated.iter().enumerate())
            .filter_map(|(place, item)| edited(item, &format!("tools[{place}]"), request, tools))
            .collect();
        match kept.is_empty() {
            true => drop(fields.remove("tools")),
            false => fields.set("tools", raw(&kept)),
        }
    }

    fn choice(&self, fields: &mut Fields, choice: Option<&ToolChoice>, tools: &[Tool]) {
        let choice = match choice {
            // A rule says which tools are allowed by leaving out the others.
            None | Some(ToolChoice::Allowed { .. }) => {
                drop(fields.remove("tool_choice"));
                return;
            }
            Some(choice) => super::ask::choice(choice, tools),
        };
        fields.set("tool_choice", raw(&choice));
    }

    fn parallel(&self, fields: &mut Fields, parallel: Option<bool>) {
        match parallel {
            Some(parallel) => fields.set("parallel_tool_calls", raw(&parallel)),
            None => drop(fields.remove("parallel_tool_calls")),
        }
    }

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let stated = fields.raw("instructions").filter(|raw| *raw != "null");
        let stated: Option<String> =
            stated.map(serde_json::from_str).transpose().map_err(|_| {
                let message = "`instructions` must be a text";
                Error::new(Kind::InvalidRequest, message).at("instructions")
            })?;
        let told = match stated {
            Some(known) => format!("{known}\n\n{text}"),
            None => text.to_owned(),
        };
        fields.set("instructions", raw(&told));
        Ok(())
    }

    fn say(&self, fields: &mut Fields, role: Role, text: &str) {
        let role = match role {
            Role::Assistant => "assistant",
            Role::User | Role::Tool | Role::System => "user",
        };
        if let Some(said) = fields.raw("input").filter(|said| said.starts_with('"')) {
            let said: Option<Value> = crate::json::value(said).ok();
            fields.set("input", raw(&json!([{"role": "user", "content": said}])));
        }
        append(fields, "input", &json!({"role": role, "content": text}));
    }

    /// Its `conversation` has them, where it served the request to its end.
    fn forget_kept(&self, fields: &mut Fields) -> bool {
        let conversation = fields.raw("conversation").filter(|raw| *raw != "null");
        let is_served = fields.raw("stream") != Some("true");
        let keeps = conversation.is_some() && is_served;
        if keeps {
            fields.set("input", raw::<[Value]>(&[]));
        }
        keeps
    }

    /// Rules speak of a format in Chat's words.
    fn settle(&self, fields: &mut Fields) {
        let Some(stated) = fields.remove("response_format") else {
            return;
        };
        let stated: Value = crate::json::value(stated.get()).unwrap_or_default();
        let mut format: Fields =
            serde_json::from_value(stated["json_schema"].clone()).unwrap_or_default();
        format.set("type", raw(&stated["type"]));
        let text = fields.raw("text");
        let text = text.and_then(|text| serde_json::from_str::<Fields>(text).ok());
        let mut text = text.unwrap_or_default();
        text.set("format", raw(&format));
        fields.set("text", raw(&text));
    }
}

/// Leaves out the thoughts that were sealed here; whether there was anything of ours in the conversation.
fn without_foreign(fields: &mut Cow<'_, Fields>) -> bool {
    let input = fields.raw("input").filter(|raw| raw.contains(sealed::MARK));
    let items = input.and_then(|raw| serde_json::from_str::<Vec<Box<RawValue>>>(raw).ok());
    let Some(mut items) = items else {
        return false;
    };
    let mut has_remark = false;
    for item in &mut items {
        if let Some(message) = remark(item).or_else(|| in_short(item)) {
            *item = message;
            has_remark = true;
        }
    }
    let before = items.len();
    items.retain(|item| !is_ours(item));
    if items.len() == before && !has_remark {
        return false;
    }
    fields.to_mut().set("input", raw(&items));
    true
}

/// What the server said on the way to an answer, as it said it.
fn remark(item: &RawValue) -> Option<Box<RawValue>> {
    let item: Value = crate::json::value(item.get()).ok()?;
    let kept = item["encrypted_content"].as_str();
    sealed::message(kept.filter(|_| item["type"] == "reasoning")?)
}

/// A conversation that was put in short here, as who goes on from it is told it.
fn in_short(item: &RawValue) -> Option<Box<RawValue>> {
    let item: Value = crate::json::value(item.get()).ok()?;
    let summary = sealed::summary_of(item["encrypted_content"].as_str()?)?;
    let text = match Part::in_short(&summary) {
        Part::Text { text, .. } => text,
        _ => return None,
    };
    Some(raw(&json!({"role": "user", "content": text})))
}

fn is_ours(item: &RawValue) -> bool {
    let item: Value = crate::json::value(item.get()).unwrap_or_default();
    let kept = item["encrypted_content"].as_str();
    item["type"] == "reasoning" && kept.is_some_and(sealed::is_ours)
}

/// What becomes of one of the listed tools; what the server itself runs is none of ours, and stays.
fn edited(item: &RawValue, at: &str, request: &Request, tools: &[Tool]) -> Option<Box<RawValue>> {
    let mut fields: Fields = serde_json::from_str(item.get()).ok()?;
    if fields.raw("type") == Some("\"namespace\"") {
        let within = items(&fields, "tools").unwrap_or_default();
        let kept: Vec<Box<RawValue>> = (within.iter().enumerate())
            .filter_map(|(place, item)| {
                edited(item, &format!("{at}.tools[{place}]"), request, tools)
            })
            .collect();
        fields.set("tools", raw(&kept));
        return (!kept.is_empty()).then(|| raw(&fields));
    }
    let is_it = |tool: &&Tool| tool.origin.0 == at;
    let Some(known) = request.tools.iter().find(is_it) else {
        return Some(item.to_owned());
    };
    let tool = tools.iter().find(is_it)?;
    // What says its type alone says no schema.
    let is_named = matches!(
        fields.raw("type"),
        Some("\"function\"" | "\"custom\"" | "\"tool_search\"")
    );
    if known == tool || !is_named {
        return Some(item.to_owned());
    }
    if let ToolInput::Schema { schema, strict } = &tool.input {
        if !matches!(&known.input, ToolInput::Schema { schema: known, .. } if known == schema) {
            fields.set("parameters", raw(schema));
        }
        if !strict {
            fields.set("strict", raw(&false));
        }
    }
    Some(raw(&fields))
}
