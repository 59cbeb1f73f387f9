//! Ollama's own wire, `/api/chat`: sampling in `options`, thinking apart, images apart, arguments
//! as objects, streams as lines of JSON.

mod editor;
mod line;

use crate::dialect::server::ask::{Ask, Function};
use crate::dialect::server::{
    About, Editor, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written,
};
use crate::error::Error;
use crate::ir::{Fields, Framing, Part, Role, ToolChoice, Turn, Wire, raw};
use serde_json::{Value, json};

/// Chat's names and those in `options`.
const OPTIONS: [(&str, &str); 11] = [
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("typical_p", "typical_p"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("repetition_penalty", "repeat_penalty"),
    ("repeat_penalty", "repeat_penalty"),
    ("num_ctx", "num_ctx"),
];

/// Fields of this wire's own.
const OWN: [&str; 7] = [
    "format",
    "think",
    "keep_alive",
    "truncate",
    "shift",
    "logprobs",
    "top_logprobs",
];

/// Ollama's own wire, as its servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct OllamaServer;

impl Server for OllamaServer {
    fn wire(&self) -> Wire {
        Wire::OllamaChat
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&editor::ChatEditor)
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
        line::whole(body, sink)
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(line::Stream::default())
    }
}

impl Reader for line::Stream {
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        // What some gateways send at the end, as other wires have it.
        if data.trim_ascii() == b"[DONE]" {
            return None;
        }
        self.line(data, sink).unwrap_or_else(|| {
            sink.garbage();
            None
        })
    }
}

/// The same server's `/api/generate`, for those who ask there: nobody else is sent to it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct GenerateServer;

impl Server for GenerateServer {
    fn wire(&self) -> Wire {
        Wire::OllamaGenerate
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&editor::PromptEditor)
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        _about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        line::whole(body, sink)
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(line::Stream::default())
    }
}

fn ask(ask: &mut Ask<'_>) -> Result<(String, Fields), Error> {
    ask.one_choice()?;
    let mut body = Fields::default();
    body.set("model", raw(&ask.model()?));
    let turns = ask.turns();
    let messages = turns.iter().map(|turn| self::turn(ask, turn));
    body.set("messages", raw(&messages.collect::<Result<Vec<_>, _>>()?));
    // Streams are what it makes where nothing is said.
    body.set("stream", raw(&ask.stream()?));
    // Whether one call at most comes is the rule's to say.
    let (tools, choice) = ask.tools()?;
    if !matches!(choice, None | Some(ToolChoice::Auto)) {
        return Err(ask.refuse_choice());
    }
    ask.lose_strict(&tools, "has no strict tools");
    if !tools.is_empty() {
        let tools: Vec<Value> = tools.iter().map(Function::to_chat).collect();
        body.set("tools", raw(&tools));
    }
    options(ask, &mut body)?;
    ask.rest(&OWN, &mut body);
    Ok(("/api/chat".to_owned(), body))
}

fn options(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let mut options = ask.object("options")?;
    for (field, name) in OPTIONS {
        ask.member(field, &mut options, name);
    }
    if let Some(limit) = ask.max_tokens() {
        options.set("num_predict", limit);
    }
    let stop = ask.stop()?;
    if !stop.is_empty() {
        options.set("stop", raw(&stop));
    }
    if !options.0.is_empty() {
        body.set("options", raw(&options));
    }
    Ok(())
}

fn turn(ask: &mut Ask<'_>, turn: &Turn) -> Result<Value, Error> {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut out = json!({"role": role, "content": turn.text()});
    let mut images = Vec::new();
    for part in &turn.parts {
        match part {
            Part::Text { .. } => {}
            Part::Data {
                media_type, data, ..
            } if media_type.starts_with("image/") => images.push(data),
            part => return Err(Ask::refuse_part(turn, part, ask.title)),
        }
    }
    if !images.is_empty() {
        out["images"] = json!(images);
    }
    if let Some(reasoning) = &turn.reasoning {
        out["thinking"] = json!(reasoning.text);
    }
    ask.lose_blocks(turn);
    if !turn.calls.is_empty() {
        let calls = turn.calls.iter().enumerate().map(|(index, call)| {
            let arguments = ask.input(&call.input);
            let function = json!({"index": index, "name": call.name, "arguments": arguments});
            match &call.id {
                Some(id) => json!({"id": id, "function": function}),
                None => json!({"function": function}),
            }
        });
        out["tool_calls"] = calls.collect();
    }
    if let Some(tool) = &turn.tool {
        out["tool_name"] = json!(tool);
    }
    if let Some(id) = &turn.call_id {
        out["tool_call_id"] = json!(id);
    }
    Ok(out)
}
