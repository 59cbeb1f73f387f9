//! Gemini's wire, `generateContent`: the model in the path, parts in contents, sampling in
//! `generationConfig`, calls without fragments, streams of whole replies.

mod editor;
mod own;
mod plain;
mod reply;

use crate::dialect::server::ask::{Ask, Function, invalid};
use crate::dialect::server::sides::Sides;
use crate::dialect::server::{
    About, Editor, Pieces, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written, mended,
};
use crate::error::Error;
use crate::ir::{Failed, Fields, Part, Role, Sealed, ToolChoice, Turn, Wire, raw};
use serde_json::{Value, json};
use std::fmt::Write;

use super::split_id;
use reply::{Stream, whole};

/// Chat's names and those in `generationConfig`.
const CONFIG: [(&str, &str); 6] = [
    ("temperature", "temperature"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("seed", "seed"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
];

/// Fields of this wire's own.
const OWN: [&str; 4] = ["safetySettings", "cachedContent", "labels", "serviceTier"];

/// Gemini's wire, as its servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct GeminiServer;

impl Server for GeminiServer {
    fn wire(&self) -> Wire {
        Wire::Gemini
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&editor::GeminiEditor)
    }

    fn write(&self, ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        self::ask(ask).map(Written::of)
    }

    /// Searches, code and what else its servers run ([`Event::Hosted`]).
    fn hosts_tools(&self) -> bool {
        true
    }

    fn seals_thoughts(&self) -> bool {
        true
    }

    /// The whole request, which names its model there once more.
    fn counted(&self, path: &str, mut body: Fields) -> Fields {
        let resource = path.rsplit_once(':').map_or(path, |(resource, _)| resource);
        let model = resource.strip_prefix("/v1beta/").unwrap_or(resource);
        body.set("model", raw(model));
        let mut whole = Fields::default();
        whole.set("generateContentRequest", raw(&body));
        whole
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        let read = mended(body);
        let is_told = whole(&read, about.is_translated, sink).ok_or(ReplyFault::NotAReply)?;
        let is_plain = is_told && !sink.is_rewritten() && plain::is_plain(&read);
        Ok(is_plain.then(|| Verbatim::of(read).telling_calls()))
    }

    fn reader(&self, about: About) -> Box<dyn Reader> {
        Box::new(ReplyReader(Stream::new(about.is_translated)))
    }
}

/// Reads a stream, of which each reply may go out as it came.
#[derive(Debug, Default)]
struct ReplyReader(Stream);

impl Reader for ReplyReader {
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        let data = mended(data);
        if data.trim_ascii() == b"[DONE]" {
            return None;
        }
        if self.0.piece(&data, sink).is_none() {
            sink.garbage();
            return None;
        }
        plain::is_plain(&data).then(|| Verbatim::of(data).telling_calls())
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        self.0.over(sink);
    }
}

fn ask(ask: &mut Ask<'_>) -> Result<(String, Fields), Error> {
    let model = ask.model()?;
    let mut body = Fields::default();
    conversation(ask, &mut body)?;
    tools(ask, &mut body)?;
    config(ask, &mut body)?;
    let path = method_path(&model, ask.stream()?);
    ask.rest(&OWN, &mut body);
    Ok((path, body))
}

/// Where a model is asked.
fn method_path(model: &str, is_stream: bool) -> String {
    let verb = if is_stream {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    format!("/v1beta/{}:{verb}", resource(model))
}

/// The model as a path: `models/NAME`, or a tuned one. Whatever else stands in it is escaped.
fn resource(model: &str) -> String {
    let (kind, name) = match model.split_once('/') {
        Some((kind @ ("models" | "tunedModels"), name)) => (kind, name),
        _ => ("models", model),
    };
    let mut path = format!("{kind}/");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            path.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(path, "%{byte:02X}");
        }
    }
    path
}

fn config(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let mut config = ask.object("generationConfig")?;
    for (field, name) in CONFIG {
        ask.member(field, &mut config, name);
    }
    if let Some(limit) = ask.max_tokens() {
        config.set("maxOutputTokens", limit);
    }
    let stop = ask.stop()?;
    if !stop.is_empty() {
        config.set("stopSequences", raw(&stop));
    }
    let choices = ask.choices()?;
    if choices != 1 {
        config.set("candidateCount", raw(&choices));
    }
    if !config.0.is_empty() {
        body.set("generationConfig", raw(&config));
    }
    Ok(())
}

fn tools(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    // Whether one call at most comes is the rule's to say.
    let (tools, choice) = ask.tools()?;
    if tools.is_empty() {
        return Ok(());
    }
    ask.lose_strict(&tools, "has no strict tools");
    let declarations: Vec<Value> = tools.into_iter().map(declaration).collect();
    body.set(
        "tools",
        raw(&json!([{"functionDeclarations": declarations}])),
    );
    if let Some(choice) = &choice {
        body.set(
            "toolConfig",
            raw(&json!({"functionCallingConfig": calling(choice)})),
        );
    }
    Ok(())
}

/// A choice in the words of `functionCallingConfig`.
fn calling(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Auto => json!({"mode": "AUTO"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Named(name) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
        ToolChoice::Allowed { required, names } => {
            // Text or a call, and names: what AUTO does not take.
            let mode = if *required { "ANY" } else { "VALIDATED" };
            json!({"mode": mode, "allowedFunctionNames": names})
        }
    }
}

fn declaration(tool: Function) -> Value {
    let mut out = json!({"name": tool.name});
    if let Some(description) = &tool.description {
        out["description"] = json!(description);
    }
    out["parametersJsonSchema"] = tool.parameters;
    out
}

fn conversation(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let sides = Sides::take(ask, "model", |ask, turn| match turn.role {
        Role::Assistant => answer(ask, turn),
        Role::Tool => Ok(vec![result(turn)?]),
        Role::User => parts(ask, turn),
        Role::System => instructions(ask, turn),
    })?;
    if !sides.system.is_empty() {
        body.set("systemInstruction", raw(&json!({"parts": sides.system})));
    }
    body.set("contents", raw(&sides.written("parts")));
    Ok(())
}

fn instructions(ask: &Ask<'_>, turn: &Turn) -> Result<Vec<Value>, Error> {
    let is_text = |part: &&Part| matches!(part, Part::Text { .. });
    match turn.parts.iter().find(|part| !is_text(part)) {
        Some(part) => Err(Ask::refuse_part(turn, part, ask.title)),
        None => parts(ask, turn),
    }
}

fn parts(ask: &Ask<'_>, turn: &Turn) -> Result<Vec<Value>, Error> {
    let mut out = Vec::new();
    for part in &turn.parts {
        let written = match part {
            Part::Text { text, .. } if text.is_empty() => continue,
            Part::Text { text, .. } => json!({"text": text}),
            Part::Data {
                media_type,
                data,
                name,
                ..
            } => {
                // There is no field for it outside of Vertex.
                out.extend(name.as_ref().map(|name| json!({"text": name})));
                json!({"inlineData": {"mimeType": media_type, "data": data}})
            }
            Part::Link { url, .. } | Part::Document { url, .. } => {
                json!({"fileData": {"fileUri": url}})
            }
            Part::Opaque { .. } => return Err(Ask::refuse_part(turn, part, ask.title)),
        };
        out.push(written);
    }
    Ok(out)
}

fn answer(ask: &mut Ask<'_>, turn: &Turn) -> Result<Vec<Value>, Error> {
    if let Some(thought) = &turn.reasoning {
        ask.lose_stated(thought);
    }
    ask.lose_blocks(turn);
    let mut out = parts(ask, turn)?;
    let signature = turn.sealed.iter().find_map(|held| match &held.sealed {
        Sealed::Signature(signature) => Some(signature),
        Sealed::Thinking(_) => None,
    });
    if let (Some(signature), Some(last)) = (signature, out.last_mut()) {
        last["thoughtSignature"] = json!(signature);
    }
    for call in &turn.calls {
        let id = call.id.as_deref().unwrap_or_default();
        let (id, signature) = split_id(id);
        let mut function = json!({"name": call.name, "args": ask.input(&call.input)});
        if let Some(id) = theirs(id) {
            function["id"] = json!(id);
        }
        let mut part = json!({"functionCall": function});
        if let Some(signature) = signature.as_deref().or(call.signature.as_deref()) {
            part["thoughtSignature"] = json!(signature);
        }
        out.push(part);
    }
    Ok(out)
}

/// An id that Gemini gave; those that were made up here, or elsewhere, say nothing to it.
fn theirs(id: &str) -> Option<&str> {
    (!id.is_empty() && !id.starts_with("call_")).then_some(id)
}

fn result(turn: &Turn) -> Result<Value, Error> {
    let Some(tool) = &turn.tool else {
        let at = turn.origin.member("tool_call_id");
        let text = format!("`{at}` is the id of no call before it: Gemini wants the tool's name");
        return Err(invalid(text, at.0));
    };
    let text = turn.text();
    let response = match crate::json::value(&text) {
        Ok(Value::Object(object)) if !matches!(turn.failed, Some(Failed::Apart(_))) => {
            Value::Object(object)
        }
        Ok(Value::Object(object)) => json!({"error": object}),
        _ if turn.failed.is_some() => json!({"error": text}),
        _ => json!({"output": text}),
    };
    let mut function = json!({"name": tool, "response": response});
    let (id, _) = split_id(turn.call_id.as_deref().unwrap_or_default());
    if let Some(id) = theirs(id) {
        function["id"] = json!(id);
    }
    let is_text = |part: &&Part| !matches!(part, Part::Text { .. });
    match turn.parts.iter().find(is_text) {
        Some(part) => Err(Ask::refuse_part(
            turn,
            part,
            "a function's result for Gemini",
        )),
        None => Ok(json!({"functionResponse": function})),
    }
}
