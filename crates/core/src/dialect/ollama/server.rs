//! Ollama's own wire, `/api/chat`: sampling in `options`, thinking apart, images apart, arguments
//! as objects, streams as lines of JSON.

use crate::dialect::server::ask::{Ask, Function};
use crate::dialect::server::{
    About, Anew, Pieces, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written, anew,
};
use crate::error::Error;
use crate::ir::{Fields, FinishReason, Framing, Part, Role, ToolChoice, Turn, Usage, Wire, raw};
use serde::Deserialize;
use serde_json::value::RawValue;
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

    fn write(&self, ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        self::ask(ask).map(Written::of)
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        _about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        anew(body, |body| whole(body, sink))
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(Anew(Stream::default()))
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
    effort(ask, &mut body)?;
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

fn effort(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    let effort: Option<String> = ask.take("reasoning_effort", "a string")?;
    let think = match effort.as_deref() {
        None => return Ok(()),
        Some("none") => json!(false),
        Some("minimal") => json!("low"),
        Some("xhigh") => json!("high"),
        Some(word) => json!(word),
    };
    body.set("think", raw(&think));
    // It was said in both words.
    ask.lose_field("think", "`reasoning_effort` says it already");
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

#[derive(Deserialize)]
struct ReplyWire {
    model: Option<String>,
    message: Option<MessageWire>,
    #[serde(default)]
    done: bool,
    done_reason: Option<String>,
    prompt_eval_count: Option<u64>,
    eval_count: Option<u64>,
    logprobs: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct MessageWire {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<CallWire>>,
}

#[derive(Deserialize)]
struct CallWire {
    id: Option<String>,
    function: FunctionWire,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: String,
    arguments: Option<Box<RawValue>>,
}

/// One reply: each line says a piece of it.
#[derive(Debug, Default)]
struct Stream {
    calls: u32,
    is_cut: bool,
}

impl Pieces for Stream {
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let wire: ReplyWire = serde_json::from_slice(data).ok()?;
        if let Some(error) = wire.error {
            sink.error(&error);
            return Some(());
        }
        if wire.message.is_none() && !wire.done {
            return None;
        }
        sink.model(wire.model);
        sink.choice(0, false);
        if let Some(message) = wire.message {
            self.message(message, sink);
        }
        let tokens = wire
            .logprobs
            .and_then(|all| serde_json::from_str(all.get()).ok());
        sink.logprobs(0, tokens.unwrap_or_default());
        if wire.prompt_eval_count.is_some() || wire.eval_count.is_some() {
            sink.usage(Some(Usage {
                prompt: wire.prompt_eval_count.unwrap_or_default(),
                completion: wire.eval_count.unwrap_or_default(),
                ..Usage::default()
            }));
        }
        if wire.done {
            self.is_cut |= wire.done_reason.as_deref() == Some("length");
            let reason = match (self.is_cut, self.calls) {
                (true, _) => FinishReason::Length,
                (false, 0) => FinishReason::Stop,
                (false, _) => FinishReason::ToolCalls,
            };
            sink.finish(0, reason);
            sink.done();
        }
        Some(())
    }
}

impl Stream {
    fn message(&mut self, message: MessageWire, sink: &mut Sink<'_>) {
        sink.reasoning(0, message.thinking);
        sink.text(0, message.content);
        for wire in message.tool_calls.unwrap_or_default() {
            // Each comes whole; the index of some versions is always 0.
            let call = self.calls;
            self.calls += 1;
            sink.call(0, call, wire.id, wire.function.name);
            let arguments = wire.function.arguments;
            let arguments = arguments.filter(|arguments| arguments.get() != "null");
            let text = arguments.map_or_else(|| "{}".to_owned(), |raw| raw.get().to_owned());
            sink.arguments(0, call, text);
        }
    }
}

/// A whole reply is a stream of one line.
fn whole(body: &[u8], sink: &mut Sink<'_>) -> Option<()> {
    Stream::default().piece(body, sink)?;
    sink.has_end().then_some(())
}
