//! What a request says that no server of another wire can be told: each with its reason.

use super::request::user;
use super::tools::TOLD;
use crate::ir::{EnforcedBy, Fields, Loss, Origin, Request, Tool, ToolInput};

/// Top-level fields that are read.
const READ: [&str; 16] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "stream",
    "tools",
    "tool_choice",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "metadata",
    "service_tier",
    "output_config",
    "output_format",
    "thinking",
];

/// Members of a tool that are read.
const OF_TOOLS: [&str; 5] = ["type", "name", "description", "input_schema", "strict"];

const ALONE: &str = "servers of Anthropic's wire alone have a field for it";
const CACHE: &str = "other servers cache the beginnings of prompts by themselves";

/// What is lost.
pub(super) fn losses(request: &Request) -> Vec<Loss> {
    let fields = &request.fields;
    let mut out = Vec::new();
    let root = "";
    for name in stated(fields).filter(|name| !READ.contains(name)) {
        let reason = match name {
            "cache_control" => CACHE,
            _ => ALONE,
        };
        lose(root, name, reason, &mut out);
    }
    members(fields, "output_config", &["format", "effort"], &mut out);
    members(fields, "thinking", &["type", "budget_tokens"], &mut out);
    members(fields, "metadata", &["user_id"], &mut out);
    if let Ok(None) = user(fields)
        && let Some(metadata) = object(fields, "metadata")
        && metadata.raw("user_id").is_some_and(|raw| raw != "null")
    {
        let reason = "other servers take no such name of more than 64 characters";
        lose("/metadata", "user_id", reason, &mut out);
    }
    tools(request, &mut out);
    out
}

fn tools(request: &Request, out: &mut Vec<Loss>) {
    let tools = request.fields.raw("tools");
    let tools = tools.and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok());
    let list = Origin::new("tools");
    let is_told = |tool: &Tool, at: &Origin| {
        tool.origin == *at && !matches!(tool.input, ToolInput::Hosted(_))
    };
    for (index, tool) in tools.iter().flatten().enumerate() {
        let is_ours = |kind: &str| matches!(kind, "null" | "\"custom\"");
        let at = list.item(index);
        let read: &[&str] = match tool.raw("type").is_none_or(is_ours) {
            true => &OF_TOOLS,
            // It is a function by now.
            false if request.tools.iter().any(|tool| is_told(tool, &at)) => &TOLD,
            // The tool as a whole is told of.
            false => continue,
        };
        let origin = format!("/tools/{index}");
        for name in stated(tool).filter(|name| !read.contains(name)) {
            let reason = match name {
                "cache_control" => CACHE,
                _ => ALONE,
            };
            lose(&origin, name, reason, out);
        }
    }
}

/// The members of an object but those that are read.
fn members(fields: &Fields, name: &str, read: &[&str], out: &mut Vec<Loss>) {
    let Some(members) = object(fields, name) else {
        return;
    };
    let origin = format!("/{name}");
    for member in stated(&members).filter(|member| !read.contains(member)) {
        lose(&origin, member, ALONE, out);
    }
}

fn object(fields: &Fields, name: &str) -> Option<Fields> {
    serde_json::from_str(fields.raw(name)?).ok()
}

/// The names of those that say something.
fn stated(fields: &Fields) -> impl Iterator<Item = &str> {
    let says = |value: &str| !matches!(value, "null" | "[]" | "{}");
    let all = fields.0.iter();
    all.filter_map(move |(name, value)| says(value.get()).then_some(name.as_str()))
}

fn lose(parent: &str, name: &str, reason: &str, out: &mut Vec<Loss>) {
    let name = name.replace('~', "~0").replace('/', "~1");
    out.push(Loss {
        pointer: format!("{parent}/{name}"),
        reason: reason.to_owned(),
        enforced_by: EnforcedBy::Nobody,
    });
}
