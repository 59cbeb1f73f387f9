//! A Messages request from a client of Messages, edited.

use super::{PATH, ids, input_schema, inputs, media};
use crate::dialect::server::editor::{
    Editor, append, items, keep_tools, set_stops, with_plain_strict,
};
use crate::dialect::{empty_list, images};
use crate::error::{Error, Kind};
use crate::ir::{Fields, Request, Role, Seal, Tool, ToolChoice, ToolInput, raw};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Edits the bodies of Messages.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct MessagesEditor;

const SINGLE: &str = "disable_parallel_tool_use";

impl Editor for MessagesEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed(PATH)
    }

    /// Thoughts of other servers, which we signed: this one refuses a signature that is not its own. Its own remarks, which were
    /// told as thoughts, are texts again. Other servers' ids of calls are given others, and inputs that are empty lists are objects,
    /// and so is what a text says of a tool's `strict`. Images have the media type of their first bytes.
    fn respell(&self, fields: &mut Cow<'_, Fields>, _request: &Request) -> bool {
        let messages = |fields: &Fields, is_in: &dyn Fn(&str) -> bool| {
            let raw = fields.raw("messages").filter(|raw| is_in(raw));
            raw.map(str::to_owned)
        };
        let signed = messages(fields, &|raw| Seal::may_stand_in(raw.as_bytes()));
        let thoughtless = signed.and_then(|raw| thoughtless(&raw));
        let mut changed = thoughtless.is_some();
        if let Some(thoughtless) = thoughtless {
            let thinks = fields
                .raw("thinking")
                .is_some_and(|raw| raw.contains("\"enabled\""));
            if thinks && goes_on_without_thoughts(&thoughtless) {
                fields.to_mut().remove("thinking");
            }
            fields.to_mut().set("messages", thoughtless);
        }
        let odd = messages(fields, &|raw| ids::has_odd(raw.as_bytes()));
        if let Some(renamed) = odd.and_then(|raw| ids::renamed(&raw)) {
            fields.to_mut().set("messages", renamed);
            changed = true;
        }
        let listed = messages(fields, &|raw| {
            empty_list::may_stand_in(raw.as_bytes(), "input")
        });
        if let Some(mended) = listed.and_then(|raw| inputs::as_objects(&raw)) {
            fields.to_mut().set("messages", mended);
            changed = true;
        }
        let mistyped = messages(fields, &|raw| images::MESSAGES.may_be_wrong(raw.as_bytes()));
        if let Some(mended) = mistyped.and_then(|raw| media::as_seen(&raw)) {
            fields.to_mut().set("messages", mended);
            changed = true;
        }
        if let Some(tools) = fields.raw("tools").and_then(with_plain_strict) {
            fields.to_mut().set("tools", tools);
            changed = true;
        }
        changed
    }

    fn foreign_thought(&self, fields: &Fields) -> Option<String> {
        let messages = fields.raw("messages");
        messages.filter(|raw| Seal::may_stand_in(raw.as_bytes()))?;
        let messages = items(fields, "messages")?.into_iter().enumerate();
        let mut found = messages.filter_map(|(at, message)| {
            let message: Fields = serde_json::from_str(message.get()).ok()?;
            let blocks = items(&message, "content")?;
            let block = (blocks.iter()).position(|it| is_ours(it) && remark(it).is_none())?;
            Some(format!("/messages/{at}/content/{block}"))
        });
        found.next()
    }

    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]) {
        keep_tools(fields, "tools", (request, tools), |known, tool, item| {
            edited(known, tool, item).unwrap_or_else(|| item.to_owned())
        });
    }

    fn choice(&self, fields: &mut Fields, choice: Option<&ToolChoice>, _tools: &[Tool]) {
        let choice = match choice {
            // A rule of this wire says which tools are allowed by leaving out the others.
            None | Some(ToolChoice::Allowed { .. }) => {
                drop(fields.remove("tool_choice"));
                return;
            }
            Some(ToolChoice::None) => json!({"type": "none"}),
            Some(ToolChoice::Auto) => json!({"type": "auto"}),
            Some(ToolChoice::Required) => json!({"type": "any"}),
            Some(ToolChoice::Named(name)) => json!({"type": "tool", "name": name}),
        };
        let mut stated = stated_choice(fields);
        let single = stated.remove(SINGLE).filter(|_| choice["type"] != "none");
        let mut written: Fields = serde_json::from_value(choice).unwrap_or_default();
        if let Some(single) = single {
            written.set(SINGLE, single);
        }
        fields.set("tool_choice", raw(&written));
    }

    /// It stands in the choice.
    fn parallel(&self, fields: &mut Fields, parallel: Option<bool>) {
        let mut choice = stated_choice(fields);
        let is_none = choice.raw("type") == Some("\"none\"");
        if parallel == Some(false) && fields.has("tools") && !is_none {
            if !choice.has("type") {
                choice.set("type", raw("auto"));
            }
            choice.set(SINGLE, raw(&true));
        } else if choice.remove(SINGLE).is_none() {
            return;
        }
        fields.set("tool_choice", raw(&choice));
    }

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let wrong = || {
            let message = "`system` must be a text or a list of text blocks";
            Error::new(Kind::InvalidRequest, message).at("system")
        };
        let stated = fields.raw("system").filter(|raw| *raw != "null");
        let Some(stated) = stated else {
            fields.set("system", raw(text));
            return Ok(());
        };
        if stated.starts_with('[') {
            append(fields, "system", &json!({"type": "text", "text": text}));
            return Ok(());
        }
        let known: String = serde_json::from_str(stated).map_err(|_| wrong())?;
        fields.set("system", raw(&format!("{known}\n\n{text}")));
        Ok(())
    }

    fn stop_at(&self, fields: &mut Fields, kept: &[String]) {
        set_stops(fields, &["stop_sequences"], kept);
    }

    fn say(&self, fields: &mut Fields, role: Role, text: &str) {
        let role = match role {
            Role::Assistant => "assistant",
            Role::User | Role::Tool | Role::System => "user",
        };
        // Empty texts are refused, and say nothing.
        if !text.trim().is_empty() {
            append(fields, "messages", &json!({"role": role, "content": text}));
        }
    }
}

fn stated_choice(fields: &Fields) -> Fields {
    let stated = fields.raw("tool_choice");
    stated
        .and_then(|raw| serde_json::from_str(raw).ok())
        .unwrap_or_default()
}

/// A tool with another schema, or held to it no more.
fn edited(known: &Tool, tool: &Tool, item: &RawValue) -> Option<Box<RawValue>> {
    let ToolInput::Schema { schema, strict } = &tool.input else {
        return None;
    };
    let mut written: Fields = serde_json::from_str(item.get()).ok()?;
    if matches!(known.input, ToolInput::Hosted(_)) {
        // What stands beside its type is of that alone.
        written
            .0
            .retain(|name, _| matches!(name.as_str(), "name" | "cache_control"));
        written.set("description", raw(&tool.description));
    }
    if !matches!(&known.input, ToolInput::Schema { schema: known, .. } if known == schema) {
        written.set("input_schema", raw(&input_schema(schema.clone())));
    }
    if !strict {
        written.remove("strict");
    }
    Some(raw(&written))
}

/// The messages without the thoughts that we signed.
fn thoughtless(messages: &str) -> Option<Box<RawValue>> {
    let mut messages: Vec<Box<RawValue>> = serde_json::from_str(messages).ok()?;
    for message in &mut messages {
        if !Seal::may_stand_in(message.get().as_bytes()) {
            continue;
        }
        let mut fields: Fields = serde_json::from_str(message.get()).ok()?;
        let Some(blocks) = items(&fields, "content") else {
            continue;
        };
        let mut blocks: Vec<Box<RawValue>> = blocks.iter().flat_map(|it| apart(it)).collect();
        for block in &mut blocks {
            if let Some(text) = remark(block) {
                *block = text;
            }
        }
        blocks.retain(|block| !is_ours(block));
        fields.set("content", raw(&blocks));
        *message = raw(&fields);
    }
    messages.retain(|message| {
        let fields: Option<Fields> = serde_json::from_str(message.get()).ok();
        fields.is_none_or(|fields| fields.raw("content") != Some("[]"))
    });
    Some(raw(&messages))
}

/// Whether the last message is results, of calls of a turn that begins without thoughts: Anthropic refuses `thinking` then.
fn goes_on_without_thoughts(messages: &RawValue) -> bool {
    let messages: Vec<Value> = serde_json::from_str(messages.get()).unwrap_or_default();
    let has = |message: &Value, kinds: &[&str]| {
        let blocks = message["content"].as_array().into_iter().flatten();
        blocks
            .into_iter()
            .any(|block| kinds.iter().any(|kind| block["type"] == **kind))
    };
    let goes_on = (messages.last()).is_some_and(|last| has(last, &["tool_result"]));
    let is_of_turn =
        |message: &&Value| message["role"] == "assistant" || has(message, &["tool_result"]);
    let own = messages.iter().rev().take_while(is_of_turn);
    let first = own.filter(|message| message["role"] == "assistant").last();
    goes_on && first.is_some_and(|first| !has(first, &["thinking", "redacted_thinking"]))
}

/// The thought and the remarks of which a client made one block: langchain4j (1.9) joins texts and signatures with line feeds.
fn apart(block: &RawValue) -> Vec<Box<RawValue>> {
    let whole = || vec![block.to_owned()];
    let known: Value = crate::json::value(block.get()).unwrap_or_default();
    let signatures = known["signature"].as_str().filter(|it| it.contains('\n'));
    let (Some(mut signatures), Some(mut thinking)) = (signatures, known["thinking"].as_str())
    else {
        return whole();
    };
    let mut remarks = Vec::new();
    while let Some((before, last)) = signatures.rsplit_once('\n')
        && let Some(bytes) = Seal::remark_bytes(last)
    {
        let at = thinking.len().checked_sub(bytes);
        let cut = at.and_then(|at| thinking.split_at_checked(at));
        let Some((thought, text)) = cut.and_then(|(it, text)| Some((it.strip_suffix('\n')?, text)))
        else {
            return whole();
        };
        remarks.push((text, last));
        (signatures, thinking) = (before, thought);
    }
    let thoughts = std::iter::once((thinking, signatures)).chain(remarks.into_iter().rev());
    let blocks = thoughts.map(|(thinking, signature)| {
        raw(&json!({"type": "thinking", "thinking": thinking, "signature": signature}))
    });
    match signatures.contains('\n') {
        true => whole(),
        false => blocks.collect(),
    }
}

/// What the server said on the way to an answer, as it said it.
fn remark(block: &RawValue) -> Option<Box<RawValue>> {
    let block: Value = crate::json::value(block.get()).ok()?;
    let signature = block["signature"].as_str().and_then(Seal::own);
    let is_remark = signature.is_some_and(|own| Seal::is_remark(&own));
    let text = block["thinking"].as_str().filter(|_| is_remark)?;
    (!text.trim().is_empty()).then(|| raw(&json!({"type": "text", "text": text})))
}

/// Whether it is a thought that was signed here.
pub(super) fn is_ours(block: &RawValue) -> bool {
    let block: Value = crate::json::value(block.get()).unwrap_or_default();
    let signature = block["signature"].as_str().unwrap_or_default();
    block["type"] == "thinking" && Seal::own(signature).is_some()
}
