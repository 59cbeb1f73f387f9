//! Servers that refuse conversations as the real ones do: of a body that was written for one, what it would answer.
//! From the servers' documents, sources and chat templates, not from `rules/`.

use serde_json::Value;
use std::collections::BTreeSet;

/// What a server of this dialect answers to a body; `Ok` where it takes the conversation.
///
/// # Errors
/// The server's message.
pub fn refusal(dialect: &str, body: &Value) -> Result<(), String> {
    if body["contents"].is_array() {
        return gemini(body);
    }
    if body["input"].is_array() {
        return responses(body);
    }
    if dialect.starts_with("anthropic") && !dialect.ends_with("compat") {
        return anthropic(body);
    }
    chat(dialect, body)?;
    match dialect {
        "openai" => {
            ids(body, "a string of at most 40 characters", |id| {
                (1..=40).contains(&id.chars().count())
            })?;
            paired(body)
        }
        "anthropic-compat" => {
            ids(body, "^[a-zA-Z0-9_-]+$", is_word)?;
            paired(body)
        }
        "deepseek" | "groq" | "gemini-compat" | "cohere" | "cohere-compat" => paired(body),
        "mistral" => mistral(body),
        _ => Ok(()),
    }
}

fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map_or(&[], Vec::as_slice)
}

fn calls(message: &Value) -> &[Value] {
    message["tool_calls"].as_array().map_or(&[], Vec::as_slice)
}

fn is_word(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// What pydantic's types, or those of other languages, check of Chat's messages.
fn chat(dialect: &str, body: &Value) -> Result<(), String> {
    let knows_developer = ["openai", "openrouter"].contains(&dialect);
    let is_ollama = dialect == "ollama-native";
    for (at, message) in messages(body).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "system" | "user" | "assistant" | "tool" => {}
            "developer" if knows_developer => {}
            other => return Err(format!("messages[{at}]: unknown role {other}")),
        }
        let content = &message["content"];
        if role != "assistant" && content.is_null() {
            return Err(format!("messages[{at}]: content is missing"));
        }
        if is_ollama && !content.is_string() {
            return Err(format!("messages[{at}]: content must be a string"));
        }
        for call in calls(message) {
            let function = &call["function"];
            if call["type"] == "custom" && dialect == "openai" {
                continue;
            }
            if !function["name"].is_string() {
                return Err(format!("messages[{at}]: a call of no function"));
            }
            let arguments = &function["arguments"];
            if is_ollama != arguments.is_object() || is_ollama == arguments.is_string() {
                return Err(format!("messages[{at}]: arguments of the wrong type"));
            }
        }
        // A server of which nothing is known may show the model no calls: they would be gone.
        if dialect == "plain" && (role == "tool" || !calls(message).is_empty()) {
            return Err(format!("messages[{at}]: no calls are rendered"));
        }
    }
    Ok(())
}

fn ids(body: &Value, pattern: &str, is_taken: impl Fn(&str) -> bool) -> Result<(), String> {
    for message in messages(body) {
        let ids = calls(message).iter().map(|call| &call["id"]);
        let answered = message.get("tool_call_id");
        for id in ids.chain(answered) {
            let id = id.as_str().unwrap_or_default();
            if !is_taken(id) {
                return Err(format!("the id {id:?} of a call is not {pattern}"));
            }
        }
    }
    Ok(())
}

/// An assistant's message with calls is followed by a result for each, and a result has its call.
fn paired(body: &Value) -> Result<(), String> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in messages(body).iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                return Err(format!(
                    "messages[{at}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                ));
            }
            continue;
        }
        if !open.is_empty() {
            return Err(format!(
                "messages[{at}]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': {open:?}"
            ));
        }
        open.extend(calls(message).iter().filter_map(|call| call["id"].as_str()));
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!("no result for {open:?}")),
    }
}

/// OpenAI's other route: "No tool output found for function call …", "No tool call found for function call output …".
fn responses(body: &Value) -> Result<(), String> {
    let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    let (mut open, mut called) = (BTreeSet::new(), BTreeSet::new());
    for (at, item) in items.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or_default();
        if kind.contains("_call") && !(1..=64).contains(&id.chars().count()) {
            return Err(format!(
                "input[{at}].call_id: a string of at most 64 characters"
            ));
        }
        match kind {
            "message" => {
                let role = item["role"].as_str().unwrap_or_default();
                let parts = item["content"].as_array().map_or(&[][..], Vec::as_slice);
                let takes = |part: &Value| match role {
                    "assistant" => part["type"] == "output_text",
                    _ => ["input_text", "input_image", "input_file"]
                        .iter()
                        .any(|kind| part["type"] == *kind),
                };
                let is_known = ["system", "developer", "user", "assistant"].contains(&role);
                if !is_known || !parts.iter().all(takes) {
                    return Err(format!("input[{at}]: Invalid value"));
                }
            }
            "function_call" | "custom_tool_call" => {
                open.insert(id);
                called.insert((id, format!("{kind}_output")));
            }
            "function_call_output" | "custom_tool_call_output" => {
                open.remove(id);
                if !called.contains(&(id, kind.to_owned())) {
                    return Err(format!("No tool call found for the output of {id}"));
                }
            }
            _ => return Err(format!("input[{at}].type: Invalid value")),
        }
    }
    match open.is_empty() {
        true => Ok(()),
        false => Err(format!("No tool output found for {open:?}")),
    }
}

/// mistral-common's validator, and the API's types, which forbid other fields.
fn mistral(body: &Value) -> Result<(), String> {
    const KNOWN: [&str; 6] = [
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "prefix",
        "name",
    ];
    ids(body, "a-z, A-Z, 0-9, with a length of 9", |id| {
        id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })?;
    paired(body).map_err(|_| "Not the same number of function calls and responses".to_owned())?;
    let mut last = "system";
    for message in messages(body) {
        let role = message["role"].as_str().unwrap_or_default();
        let fields = message.as_object().into_iter().flat_map(|it| it.keys());
        for field in fields {
            let is_of_tools = field != "name" || role == "tool";
            if !KNOWN.contains(&field.as_str()) || !is_of_tools {
                return Err(format!("Extra inputs are not permitted: {field} of {role}"));
            }
        }
        let follows = match last {
            "system" => ["user", "assistant", "system"].as_slice(),
            "user" => &["assistant", "user"],
            "assistant" => &["assistant", "user", "tool"],
            _ => &["assistant", "tool"],
        };
        if !follows.contains(&role) {
            return Err(format!("Unexpected role '{role}' after role '{last}'"));
        }
        let is_empty = message["content"].as_str().is_none_or(str::is_empty);
        if role == "assistant" && is_empty && calls(message).is_empty() {
            return Err("Assistant message must have either content or tool_calls".to_owned());
        }
        last = role;
    }
    match last {
        "user" | "tool" => Ok(()),
        other => Err(format!(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got {other}"
        )),
    }
}

/// Anthropic's Messages.
fn anthropic(body: &Value) -> Result<(), String> {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
    let is_of_tools = |block: Value| block["type"] == "tool_use" || block["type"] == "tool_result";
    let has_calls = (messages(body).iter()).any(|it| blocks(it).into_iter().any(is_of_tools));
    if has_calls && body["tools"].as_array().is_none_or(Vec::is_empty) {
        let message =
            "Requests which include `tool_use` or `tool_result` blocks must define tools.";
        return Err(message.to_owned());
    }
    for (at, message) in messages(body).iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if !["user", "assistant"].contains(&role) {
            return Err(format!("messages.{at}: unexpected role {role}"));
        }
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let mut is_behind = false;
        for block in &blocks {
            let kind = block["type"].as_str().unwrap_or_default();
            if kind == "tool_result" {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                if is_behind || !open.remove(id) {
                    return Err(format!(
                        "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
                    ));
                }
                continue;
            }
            is_behind = true;
            if !open.is_empty() {
                return Err(format!(
                    "messages.{at}: `tool_use` ids were found without `tool_result` blocks: {open:?}"
                ));
            }
            if kind == "text" && block["text"].as_str().is_none_or(str::is_empty) {
                return Err(format!(
                    "messages.{at}: text content blocks must be non-empty"
                ));
            }
        }
        if !open.is_empty() {
            return Err(format!(
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks: {open:?}"
            ));
        }
        let last = blocks.last().and_then(|block| block["type"].as_str());
        if role == "assistant" && last.is_some_and(|kind| kind.ends_with("thinking")) {
            return Err(format!(
                "messages.{at}: The final block in an assistant message cannot be `thinking`."
            ));
        }
        for block in blocks.iter().filter(|block| block["type"] == "tool_use") {
            let id = block["id"].as_str().unwrap_or_default();
            if !is_word(id) || !block["input"].is_object() {
                return Err(format!("messages.{at}: tool_use.id: {id:?} does not match"));
            }
            open.insert(id.to_owned());
        }
    }
    Ok(())
}

/// Gemini's API.
fn gemini(body: &Value) -> Result<(), String> {
    let contents = body["contents"].as_array().cloned().unwrap_or_default();
    let count = |content: &Value, name: &str| {
        let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        parts.iter().filter(|part| part.get(name).is_some()).count()
    };
    let mut asked = 0;
    for content in &contents {
        let answered = count(content, "functionResponse");
        if answered != asked {
            return Err(
                "the number of function response parts is equal to the number of function call parts of the function call turn"
                    .to_owned(),
            );
        }
        asked = count(content, "functionCall");
        if content["parts"].as_array().is_none_or(Vec::is_empty) {
            return Err("contents.parts must not be empty".to_owned());
        }
    }
    match asked {
        0 => Ok(()),
        _ => Err("a function call turn is the last".to_owned()),
    }
}

/// A chat template that raises what models' own do.
#[derive(Debug, Clone, Copy)]
pub enum Template {
    /// Gemma 2's: no instructions, strict alternation, no tools.
    Gemma,
    /// Llama 2's: instructions at the beginning, strict alternation, no tools.
    Llama2,
    /// Of Mistral's models with tools: ids, alternation but for calls and results.
    Mistral,
    /// Qwen 3.5's: instructions at the beginning alone.
    Qwen,
    /// Takes arguments apart, and adds contents to a string.
    Careless,
}

impl Template {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Gemma,
        Self::Llama2,
        Self::Mistral,
        Self::Qwen,
        Self::Careless,
    ];

    /// Renders a conversation.
    ///
    /// # Errors
    /// What the template raises.
    pub fn render(self, body: &Value) -> Result<(), String> {
        match self {
            Self::Gemma => alternation(messages(body), false),
            Self::Llama2 => alternation(messages(body), true),
            Self::Mistral => self::mistral_template(messages(body)),
            Self::Qwen => {
                let mut rest = messages(body).iter().skip(1);
                match rest.any(|message| message["role"] == "system") {
                    true => Err("System message must be at the beginning.".to_owned()),
                    false => Ok(()),
                }
            }
            Self::Careless => careless(messages(body)),
        }
    }
}

fn alternation(messages: &[Value], takes_system: bool) -> Result<(), String> {
    let first = messages.first().map(|message| &message["role"]);
    let has_system = first.is_some_and(|role| role == "system");
    if has_system && !takes_system {
        return Err("System role not supported".to_owned());
    }
    let rest = messages.iter().skip(usize::from(has_system));
    for (at, message) in rest.enumerate() {
        if (message["role"] == "user") != (at % 2 == 0) {
            return Err(
                "Conversation roles must alternate user/assistant/user/assistant/...".to_owned(),
            );
        }
    }
    Ok(())
}

fn mistral_template(messages: &[Value]) -> Result<(), String> {
    let is_system = |message: &&Value| message["role"] == "system";
    let has_system = messages.first().as_ref().is_some_and(is_system);
    let mut at = 0;
    for message in messages.iter().skip(usize::from(has_system)) {
        let role = message["role"].as_str().unwrap_or_default();
        let is_counted = role == "user" || role == "assistant" && calls(message).is_empty();
        if is_counted {
            if (role == "user") != (at % 2 == 0) {
                return Err("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.".to_owned());
            }
            at += 1;
        }
        let answered = message.get("tool_call_id").filter(|_| role == "tool");
        for id in calls(message)
            .iter()
            .map(|call| &call["id"])
            .chain(answered)
        {
            if id.as_str().is_none_or(|id| id.len() != 9) {
                return Err(
                    "Tool call IDs should be alphanumeric strings with length 9!".to_owned(),
                );
            }
        }
        if !is_counted && !["assistant", "tool"].contains(&role) {
            return Err("Only user and assistant roles are supported, with the exception of an initial optional system message!".to_owned());
        }
    }
    Ok(())
}

fn careless(messages: &[Value]) -> Result<(), String> {
    for message in messages {
        if message["content"].is_null() {
            return Err("can only concatenate str (not \"NoneType\") to str".to_owned());
        }
        for call in calls(message) {
            let text = call["function"]["arguments"].as_str().unwrap_or("{}");
            if serde_json::from_str::<Value>(text).is_err() {
                return Err("Unterminated string starting at: line 1 column 10 (char 9)".to_owned());
            }
        }
    }
    Ok(())
}
