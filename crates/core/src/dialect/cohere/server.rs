//! Cohere's wire, `/v2/chat`: near to Chat's, with other names for sampling, thoughts as parts, a
//! plan before calls, and events of many types.

mod reply;

use crate::dialect::server::ask::{Ask, Function};
use crate::dialect::server::{
    About, Anew, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written, anew,
};
use crate::error::Error;
use crate::ir::{EnforcedBy, Fields, Part, Role, ToolChoice, Turn, Wire, raw, raw_string};
use serde_json::{Value, json};

use reply::{Stream, whole};

/// Chat's names and those of this wire.
const NAMES: [(&str, &str); 6] = [
    ("temperature", "temperature"),
    ("top_p", "p"),
    ("top_k", "k"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
];

/// The least and the most of some of them (cohere 7.3.1, `v2/client.py`).
const RANGES: [(&str, &str, &str); 4] = [
    ("p", "0.01", "0.99"),
    ("k", "0", "500"),
    ("presence_penalty", "0", "1"),
    ("frequency_penalty", "0", "1"),
];

/// Fields of this wire's own; `response_format` is the rule's, in this wire's words.
const OWN: [&str; 8] = [
    "response_format",
    "documents",
    "citation_options",
    "safety_mode",
    "strict_tools",
    "thinking",
    "priority",
    "p",
];

/// Cohere's wire, as its servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct CohereServer;

impl Server for CohereServer {
    fn wire(&self) -> Wire {
        Wire::CohereChat
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
    if ask.stream()? {
        body.set("stream", raw(&true));
    }
    tools(ask, &mut body)?;
    for (field, name) in NAMES {
        ask.member(field, &mut body, name);
        within_range(ask, &mut body, field, name);
    }
    if let Some(limit) = ask.max_tokens() {
        body.set("max_tokens", limit);
    }
    let stop = ask.stop()?;
    if !stop.is_empty() {
        body.set("stop_sequences", raw(&stop));
    }
    ask.rest(&OWN, &mut body);
    Ok(("/v2/chat".to_owned(), body))
}

/// What is out of range becomes the nearest within.
fn within_range(ask: &mut Ask<'_>, body: &mut Fields, field: &str, name: &str) {
    let known = RANGES.iter().find(|(ranged, ..)| *ranged == name);
    let stated = body.raw(name).and_then(|raw| raw.parse::<f64>().ok());
    let (Some((_, least, most)), Some(stated)) = (known, stated) else {
        return;
    };
    let is_beyond = |bound: &str, is_over: fn(f64, f64) -> bool| {
        bound
            .parse::<f64>()
            .is_ok_and(|bound| is_over(stated, bound))
    };
    let nearest = match () {
        () if is_beyond(least, |stated, least| stated < least) => least,
        () if is_beyond(most, |stated, most| stated > most) => most,
        () => return,
    };
    let reason = format!("{} takes {least} to {most}: {nearest} is sent", ask.title);
    ask.lose(&format!("/{field}"), &reason, EnforcedBy::Nobody);
    body.set(name, raw_string((*nearest).to_owned()));
}

fn tools(ask: &mut Ask<'_>, body: &mut Fields) -> Result<(), Error> {
    // Whether one call at most comes is the rule's to say.
    let (tools, choice) = ask.tools()?;
    if tools.is_empty() {
        return Ok(());
    }
    if tools.iter().all(|tool| tool.strict) {
        body.set("strict_tools", raw(&true));
    } else {
        ask.lose_strict(&tools, "takes all tools as strict, or none");
    }
    let tools: Vec<Value> = tools.iter().map(Function::to_chat).collect();
    body.set("tools", raw(&tools));
    match choice {
        // Free where nothing is said.
        None | Some(ToolChoice::Auto) => {}
        Some(ToolChoice::None) => body.set("tool_choice", raw("NONE")),
        Some(ToolChoice::Required) => body.set("tool_choice", raw("REQUIRED")),
        Some(ToolChoice::Named(_) | ToolChoice::Allowed { .. }) => {
            return Err(ask.refuse_choice());
        }
    }
    Ok(())
}

fn turn(ask: &mut Ask<'_>, turn: &Turn) -> Result<Value, Error> {
    ask.lose_blocks(turn);
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut out = json!({"role": role});
    let mut content = Vec::new();
    let mut is_text = true;
    if let Some(reasoning) = &turn.reasoning {
        if turn.calls.is_empty() {
            is_text = false;
            content.push(json!({"type": "thinking", "thinking": reasoning.text}));
        } else {
            out["tool_plan"] = json!(reasoning.text);
        }
    }
    for part in &turn.parts {
        content.push(match part {
            Part::Text { text, .. } if text.is_empty() && role == "assistant" => continue,
            Part::Text { text, .. } => json!({"type": "text", "text": text}),
            Part::Link { url, .. } if turn.role == Role::User => {
                is_text = false;
                json!({"type": "image_url", "image_url": {"url": url}})
            }
            Part::Data {
                media_type, data, ..
            } if turn.role == Role::User && media_type.starts_with("image/") => {
                is_text = false;
                let url = format!("data:{media_type};base64,{data}");
                json!({"type": "image_url", "image_url": {"url": url}})
            }
            part => return Err(Ask::refuse_part(turn, part, ask.title)),
        });
    }
    // "text content is not allowed when tool_calls are provided": what is said before a call is its plan (vercel/ai#5794).
    let is_plan = is_text && !turn.calls.is_empty() && turn.role == Role::Assistant;
    if is_plan && !content.is_empty() {
        let thought = turn.reasoning.as_ref().map(|stated| stated.text.clone());
        let plan: Vec<String> = thought.into_iter().chain([turn.text()]).collect();
        out["tool_plan"] = json!(plan.join("\n\n"));
    } else if is_text && !content.is_empty() {
        out["content"] = json!(turn.text());
    } else if !content.is_empty() {
        out["content"] = Value::Array(content);
    } else if role != "assistant" {
        out["content"] = json!("");
    }
    if !turn.calls.is_empty() {
        let calls = turn.calls.iter().enumerate().map(|(index, call)| {
            let id = turn.id_of(call, index);
            let arguments = ask.input(&call.input);
            let function = json!({"name": call.name, "arguments": arguments.get()});
            json!({"id": id, "type": "function", "function": function})
        });
        out["tool_calls"] = calls.collect();
    }
    if turn.role == Role::Tool {
        out["tool_call_id"] = json!(turn.answered_id());
    }
    Ok(out)
}
