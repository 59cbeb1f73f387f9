//! Anthropic's wire, `/v1/messages`: the system prompt apart, blocks in place of parts, a limit of
//! tokens always, tools with `input_schema`.

mod editor;
mod ids;
mod inputs;
mod media;
mod reply;

use crate::dialect::server::ask::{Ask, Function};
use crate::dialect::server::sides::Sides;
use crate::dialect::server::{
    About, Editor, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written, mended,
};
use crate::error::Error;
use crate::ir::{
    Behind, CallIds, EnforcedBy, Fields, Held, Part, Role, Sealed, ToolChoice, Turn, Wire, raw,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use editor::MessagesEditor;
pub(super) use ids::has_odd;
use reply::{Stream, whole};

/// Where such requests are sent.
const PATH: &str = "/v1/messages";

/// Where the client states no limit: what every model takes.
const MAX_TOKENS: u64 = 4096;
/// The room beside those for thoughts without a budget: every model that has such takes as much.
const FREE_THOUGHTS: u64 = 16_384;
/// The least budget of thoughts that is taken.
const LEAST_BUDGET: u64 = 1024;

/// Fields of this wire's own.
const OWN: [&str; 10] = [
    "top_k",
    "thinking",
    "output_config",
    "output_format",
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "mcp_servers",
    "speed",
];

/// Anthropic's wire, as its servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct MessagesServer;

impl Server for MessagesServer {
    fn wire(&self) -> Wire {
        Wire::Messages
    }

    /// `stop_reason` `refusal`, with which any form that was asked for may be broken (Anthropic's documentation of structured
    /// outputs: a refusal takes precedence).
    fn refuses_late(&self) -> bool {
        true
    }

    fn hosts_tools(&self) -> bool {
        true
    }

    fn closes_cut_calls(&self) -> bool {
        true
    }

    fn seals_thoughts(&self) -> bool {
        true
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&MessagesEditor)
    }

    fn write(&self, ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        self::ask(ask).map(Written::of)
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        _about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        let body = mended(body);
        match whole(&body, sink) {
            Some(true) => Ok(Some(Verbatim::of(body))),
            Some(false) => Ok(None),
            None => Err(ReplyFault::NotAReply),
        }
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(Stream::default())
    }
}

fn ask(ask: &mut Ask<'_>) -> Result<(String, Fields), Error> {
    ask.one_choice()?;
    let mut body = Fields::default();
    body.set("model", raw(&ask.model()?));
    limit(ask, &mut body)?;
    conversation(ask, &mut body)?;
    unthought(ask, &mut body);
    if ask.stream()? {
        body.set("stream", raw(&true));
    }
    let (tools, stated) = ask.marked_tools()?;
    choice(ask, stated, &mut body, !tools.is_empty())?;
    if tools.is_empty() {
        called_before(ask, &mut body);
    } else {
        let tools: Vec<Value> = tools.into_iter().map(tool).collect();
        body.set("tools", raw(&tools));
    }
    sampling(ask, &mut body)?;
    account(ask, &mut body)?;
    ask.rest(&OWN, &mut body);
    Ok((PATH.to_owned(), body))
}

fn limit(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let mut thinking: Option<Value> = ask.take("thinking", "an object")?;
    let budget = thinking
        .as_ref()
        .and_then(|it| it["budget_tokens"].as_u64());
    let stated = ask.max_tokens();
    let most = stated.as_ref().and_then(|it| it.get().parse().ok());
    if let (Some(budget), Some(most)) = (budget, most)
        && budget >= most
    {
        thinking = within(ask, thinking.unwrap_or_default(), most);
    }
    if let Some(thinking) = &thinking {
        body.set("thinking", raw(thinking));
    }
    if let Some(limit) = stated {
        body.set("max_tokens", limit);
        return Ok(());
    }
    let is_free = thinking.is_some_and(|it| it["type"] == "adaptive");
    let thoughts = budget.unwrap_or(if is_free { FREE_THOUGHTS } else { 0 });
    let limit = MAX_TOKENS.saturating_add(thoughts);
    let reason = format!(
        "{} takes no request without a limit: {limit} tokens are asked for",
        ask.title
    );
    ask.lose("/max_tokens", &reason, EnforcedBy::Nobody);
    body.set("max_tokens", raw(&limit));
    Ok(())
}

/// Thoughts that leave the answer half of the tokens: "`max_tokens` must be greater than `thinking.budget_tokens`". None where there
/// are too few for any.
fn within(ask: &mut Ask<'_>, mut thinking: Value, most: u64) -> Option<Value> {
    let budget = (most / 2).max(LEAST_BUDGET);
    let fits = budget < most;
    let told = match fits {
        true => {
            format!("a budget of {budget} tokens is told, so that some are left for the answer")
        }
        false => "they leave no room for any, and none are asked for".to_owned(),
    };
    let reason = format!("thoughts count among these tokens: {told}");
    ask.lose("/max_tokens", &reason, EnforcedBy::Nobody);
    thinking["budget_tokens"] = json!(budget);
    fits.then_some(thinking)
}

fn conversation(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    // Empty turns are refused.
    let sides = Sides::take(ask, "assistant", |ask, turn| match turn.role {
        Role::Assistant => assistant(ask, turn),
        Role::Tool => Ok(vec![result(ask, turn)?]),
        Role::User | Role::System => blocks(ask, turn),
    })?;
    if !sides.system.is_empty() {
        body.set("system", raw(&sides.system));
    }
    body.set("messages", raw(&sides.written("content")));
    Ok(())
}

/// "When `thinking` is enabled, a final `assistant` message must start with a thinking block": a turn that goes on with results
/// of its calls, whose thoughts the client did not keep or another server thought, goes on without. (Adaptive thinking wants none.)
fn unthought(ask: &mut Ask<'_>, body: &mut Fields) {
    let Some(stated) = body.remove("thinking").or_else(|| ask.raw("thinking")) else {
        return;
    };
    let is_enabled = crate::json::value(stated.get()).is_ok_and(|it| it["type"] == "enabled");
    if is_enabled && goes_on_without_thoughts(ask.turns_and_failures()) {
        let reason =
            "the turn that goes on began without thoughts of this server: they would be asked for";
        ask.lose("/thinking", reason, EnforcedBy::Nobody);
    } else {
        body.set("thinking", stated);
    }
}

/// Whether the last words are results, and perhaps the user's beside them, of calls of a turn that has no thoughts at its
/// beginning.
fn goes_on_without_thoughts(turns: &[Turn]) -> bool {
    let is_users = |turn: &&Turn| turn.role == Role::User;
    // Instructions go to the system prompt, wherever they stand.
    let is_asked = |turn: &&Turn| matches!(turn.role, Role::User | Role::System);
    let mut back = turns.iter().rev().skip_while(is_asked).peekable();
    let goes_on = back.peek().is_some_and(|turn| turn.role == Role::Tool);
    let own = back.take_while(|turn| !is_users(turn));
    let first = own.filter(|turn| turn.role == Role::Assistant).last();
    goes_on && first.is_some_and(|turn| !begins_with_thoughts(turn))
}

fn begins_with_thoughts(turn: &Turn) -> bool {
    let is_blank = |part: &Part| matches!(part, Part::Text { text, .. } if text.trim().is_empty());
    thoughts(turn).next().is_some_and(|(held, _)| {
        let mut before = turn.parts.iter().take(held.behind.parts);
        held.behind.calls == 0 && before.all(is_blank)
    })
}

/// Its thoughts that are this server's; of those that were signed here it knows no signature.
fn thoughts(turn: &Turn) -> impl Iterator<Item = (&Held, &RawValue)> {
    turn.sealed.iter().filter_map(|held| match &held.sealed {
        Sealed::Thinking(block) if !editor::is_ours(block) => Some((held, &**block)),
        Sealed::Thinking(_) | Sealed::Signature(_) => None,
    })
}

/// The parts as blocks.
fn blocks(ask: &Ask<'_>, turn: &Turn) -> Result<Vec<Value>, Error> {
    self::parts(ask, turn, &turn.parts)
}

/// Some parts of a turn as blocks; empty texts are refused, and say nothing.
fn parts(ask: &Ask<'_>, turn: &Turn, parts: &[Part]) -> Result<Vec<Value>, Error> {
    let mut blocks = Vec::new();
    for part in parts {
        let (mut block, cache) = match part {
            // "text content blocks must contain non-whitespace text"
            Part::Text { text, .. } if text.trim().is_empty() => continue,
            Part::Text { text, cache } => (json!({"type": "text", "text": text}), cache),
            Part::Opaque { .. } => return Err(Ask::refuse_part(turn, part, ask.title)),
            _ if turn.role == Role::System => {
                return Err(Ask::refuse_part(turn, part, ask.title));
            }
            Part::Link { url, cache } => {
                let source = json!({"type": "url", "url": url});
                (json!({"type": "image", "source": source}), cache)
            }
            Part::Document { url, cache } => {
                let source = json!({"type": "url", "url": url});
                (json!({"type": "document", "source": source}), cache)
            }
            Part::Data {
                media_type,
                data,
                name,
                cache,
            } => {
                let kind = match &**media_type {
                    "image/jpeg" | "image/png" | "image/gif" | "image/webp" => "image",
                    "application/pdf" => "document",
                    _ => return Err(Ask::refuse_part(turn, part, ask.title)),
                };
                let source = json!({"type": "base64", "media_type": media_type, "data": data});
                let mut block = json!({"type": kind, "source": source});
                if let Some(name) = name.as_ref().filter(|_| kind == "document") {
                    block["title"] = json!(name);
                }
                (block, cache)
            }
        };
        if let Some(cache) = cache {
            block["cache_control"] = json!(cache);
        }
        blocks.push(block);
    }
    Ok(blocks)
}

fn assistant(ask: &mut Ask<'_>, turn: &Turn) -> Result<Vec<Value>, Error> {
    let has_none = thoughts(turn).next().is_none();
    if let Some(thought) = turn.reasoning.as_ref().filter(|_| has_none) {
        let reason = "thinking is taken back only with its signature: send `thinking_blocks` back";
        ask.lose(&thought.origin.pointer(), reason, EnforcedBy::Nobody);
    }
    let mut content = in_order(ask, turn)?;
    let is_last = (ask.turns_and_failures().last()).is_some_and(|last| std::ptr::eq(last, turn));
    if let Some(block) = content
        .last_mut()
        .filter(|_| is_last && turn.calls.is_empty())
    {
        // "final assistant content cannot end with trailing whitespace"
        let text = block["text"]
            .as_str()
            .map(|text| text.trim_end().to_owned());
        if let Some(text) = text.filter(|it| block["type"] == "text" && block["text"] != **it) {
            block["text"] = json!(text);
            let reason = "words to go on with end in no blanks here: they are left out";
            ask.lose(&turn.origin.pointer(), reason, EnforcedBy::Nobody);
        }
    }
    Ok(content)
}

/// What the model said and called, with its thoughts where they stood: "you cannot rearrange or modify the sequence of these blocks"
/// (Anthropic's documentation of extended thinking). Texts are told before calls where no thoughts stand between them.
fn in_order(ask: &mut Ask<'_>, turn: &Turn) -> Result<Vec<Value>, Error> {
    let mut content = Vec::new();
    let mut told = Behind::default();
    // Of the blocks that stand at the end.
    let mut ending = Vec::new();
    for (held, block) in thoughts(turn) {
        let before = content.len();
        told = tell_until(ask, turn, told, held.behind, &mut content)?;
        if content.len() > before {
            ending.clear();
        }
        content.push(json!(block));
        ending.push(held.origin.pointer());
    }
    let before = content.len();
    tell_until(ask, turn, told, turn.behind(), &mut content)?;
    if content.len() == before && content.len() > ending.len() {
        // "The final block in an assistant message cannot be `thinking`"
        content.truncate(before - ending.len());
        if let Some(pointer) = ending.first() {
            let reason = format!("{} takes no turn that ends with thoughts", ask.title);
            ask.lose(pointer, &reason, EnforcedBy::Nobody);
        }
    }
    Ok(content)
}

/// Tells the parts, and then the calls, of a turn between two places in it; how much of it is told then.
fn tell_until(
    ask: &mut Ask<'_>,
    turn: &Turn,
    told: Behind,
    until: Behind,
    content: &mut Vec<Value>,
) -> Result<Behind, Error> {
    let until = Behind {
        parts: until.parts.clamp(told.parts, turn.parts.len()),
        calls: until.calls.clamp(told.calls, turn.calls.len()),
    };
    let said = turn.parts.get(told.parts..until.parts).unwrap_or_default();
    content.extend(parts(ask, turn, said)?);
    let calls = turn.calls.iter().enumerate();
    for (index, call) in calls.take(until.calls).skip(told.calls) {
        content.push(json!({
            "type": "tool_use",
            "id": clean(&turn.id_of(call, index)),
            "name": call.name,
            "input": ask.input(&call.input),
        }));
    }
    Ok(until)
}

/// An id as this wire takes it: other servers' ids may have letters that are refused here.
fn clean(id: &str) -> String {
    match CallIds::Word.takes(id) {
        true => id.to_owned(),
        false => CallIds::Word.other(id, 0),
    }
}

fn result(ask: &Ask<'_>, turn: &Turn) -> Result<Value, Error> {
    let id = clean(&turn.answered_id());
    let content = blocks(ask, turn)?;
    let mut result = json!({"type": "tool_result", "tool_use_id": id, "content": content});
    if turn.failed.is_some() {
        result["is_error"] = json!(true);
    }
    Ok(result)
}

fn tool(tool: Function) -> Value {
    let mut out = json!({"name": tool.name});
    if let Some(description) = &tool.description {
        out["description"] = json!(description);
    }
    out["input_schema"] = input_schema(tool.parameters);
    if tool.strict {
        out["strict"] = json!(true);
    }
    if let Some(cache) = &tool.cache {
        out["cache_control"] = json!(cache);
    }
    out
}

/// "Requests which include `tool_use` or `tool_result` blocks must define tools": where the conversation has calls and none
/// may be made now (a summary, a title; or the model is told of its tools in the prompt), those of its tools, and no choice.
fn called_before(ask: &mut Ask<'_>, body: &mut Fields) {
    let turns = ask.turns_and_failures().iter();
    let mut names: Vec<&str> = turns
        .flat_map(|turn| &turn.calls)
        .map(|call| call.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    let tools: Vec<Value> = names.into_iter().map(tool).collect();
    body.set("tools", raw(&tools));
    body.set("tool_choice", raw(&json!({"type": "none"})));
}

/// The root must say that it is an object, which arguments always are.
fn input_schema(parameters: Value) -> Value {
    match parameters {
        Value::Object(fields) if !fields.contains_key("type") => {
            let mut schema = json!({"type": "object"});
            for (name, value) in fields {
                schema[name] = value;
            }
            schema
        }
        parameters => parameters,
    }
}

fn choice(
    ask: &mut Ask<'_>,
    stated: Option<ToolChoice>,
    body: &mut Fields,
    has_tools: bool,
) -> Result<(), Error> {
    let is_single = ask.parallel() == Some(false);
    let mut choice = match stated {
        None if is_single && has_tools => json!({"type": "auto"}),
        None => return Ok(()),
        Some(ToolChoice::None) => json!({"type": "none"}),
        Some(ToolChoice::Auto) => json!({"type": "auto"}),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Named(name)) => json!({"type": "tool", "name": name}),
        Some(ToolChoice::Allowed { .. }) => return Err(ask.refuse_choice()),
    };
    if !has_tools {
        // A choice among none is refused.
        return Ok(());
    }
    if is_single && choice["type"] != "none" {
        choice["disable_parallel_tool_use"] = json!(true);
    }
    body.set("tool_choice", raw(&choice));
    Ok(())
}

fn sampling(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let temperature: Option<Box<RawValue>> = ask.take("temperature", "a number")?;
    if thinks(body) {
        // "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode", nor are there others of these then.
        let reason = "who thinks there cannot be told how to sample";
        let is_one = |it: &RawValue| it.get().parse::<f64>().is_ok_and(|it| it == 1.0);
        if temperature.is_some_and(|it| !is_one(&it)) {
            ask.lose("/temperature", reason, EnforcedBy::Nobody);
        }
        for name in ["top_k", "top_p"] {
            ask.lose_field(name, reason);
        }
    } else if let Some(stated) = temperature {
        let is_high = stated.get().parse::<f64>().is_ok_and(|it| it > 1.0);
        if is_high {
            let reason = "1 is the highest temperature there is";
            ask.lose("/temperature", reason, EnforcedBy::Nobody);
        }
        body.set("temperature", if is_high { raw(&1) } else { stated });
    }
    if body.has("temperature") {
        // "`temperature` and `top_p` cannot both be specified for this model" (4.1 to 4.6).
        ask.lose_field("top_p", "beside a temperature most models refuse it");
    } else if let Some(top_p) = ask.raw("top_p") {
        body.set("top_p", top_p);
    }
    let mut stop = ask.stop()?;
    let stated = stop.len();
    // "each stop sequence must contain non-whitespace"
    stop.retain(|text| !text.trim().is_empty());
    if stop.len() < stated {
        let reason = format!("{} takes no stop text of white space alone", ask.title);
        ask.lose("/stop", &reason, EnforcedBy::Nobody);
    }
    if !stop.is_empty() {
        body.set("stop_sequences", raw(&stop));
    }
    Ok(())
}

/// Whether thoughts are asked for, within a budget or as the model finds right.
fn thinks(body: &Fields) -> bool {
    let stated: Option<Value> = body
        .raw("thinking")
        .and_then(|raw| serde_json::from_str(raw).ok());
    stated.is_some_and(|it| it["type"] == "enabled" || it["type"] == "adaptive")
}

/// Who asks, and at which price.
fn account(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let user: Option<String> = ask.take("user", "a string")?;
    if let Some(user) = user {
        body.set("metadata", raw(&json!({"user_id": user})));
    }
    let tier: Option<String> = ask.take("service_tier", "a string")?;
    match tier.as_deref() {
        None => {}
        Some("auto") => body.set("service_tier", raw("auto")),
        Some("default" | "standard_only") => body.set("service_tier", raw("standard_only")),
        Some(_) => {
            let reason = "its tiers are `auto` and `default`";
            ask.lose("/service_tier", reason, EnforcedBy::Nobody);
        }
    }
    // Of the client's own; here it would be an error.
    let reason = format!("the API of {} keeps no metadata but the user", ask.title);
    ask.lose_field("metadata", &reason);
    Ok(())
}
