//! TGI's wire, `/generate`: a prompt, which the server renders itself when it is asked for that
//! first, and parameters. Streams are tokens.

use crate::dialect::chat;
use crate::dialect::server::ask::Ask;
use crate::dialect::server::{
    About, Anew, Pending, Pieces, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written,
    anew, first,
};
use crate::error::{Error, Kind};
use crate::ir::{EnforcedBy, Fields, FinishReason, Usage, Wire, raw};
use serde::Deserialize;
use serde_json::Value;

/// Chat's names and those of `parameters`.
const NAMES: [(&str, &str); 9] = [
    ("frequency_penalty", "frequency_penalty"),
    ("repetition_penalty", "repetition_penalty"),
    ("typical_p", "typical_p"),
    ("seed", "seed"),
    ("truncate", "truncate"),
    ("watermark", "watermark"),
    ("adapter_id", "adapter_id"),
    // The rule's, in this wire's words.
    ("grammar", "grammar"),
    ("do_sample", "do_sample"),
];

/// The server looks back at some 300 characters for a stop text.
const MAX_STOP: usize = 1024;
/// It takes four, where its operator allows no more.
const MAX_STOPS: usize = 64;

/// TGI's own wire, as its servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct TgiServer;

impl Server for TgiServer {
    fn wire(&self) -> Wire {
        Wire::TgiGenerate
    }

    fn takes_prompt(&self) -> bool {
        true
    }

    fn write(&self, ask: &mut Ask<'_>, render: Option<&Render>) -> Result<Written, Error> {
        let (path, body, then) = self::ask(ask, render)?;
        Ok(Written {
            path,
            body,
            pending: Some(then),
        })
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        anew(body, |body| whole(body, about, sink))
    }

    fn reader(&self, about: About) -> Box<dyn Reader> {
        Box::new(Anew(Stream::new(&about)))
    }
}

/// The request for the prompt, and what is to become of it.
fn ask(ask: &mut Ask<'_>, render: Option<&Render>) -> Result<(String, Fields, Pending), Error> {
    let Some(render) = render else {
        let message = format!(
            "{} renders no conversation at this version, and this route takes a prompt: use the dialect of its chat route",
            ask.title
        );
        return Err(Error::new(Kind::UnsupportedConstraint, message));
    };
    let reason = "candidates to choose from would multiply what a request costs";
    ask.lose_field("best_of", reason);
    ask.one_choice()?;
    let mut conversation = Fields::default();
    let model = ask.raw("model");
    if let Some(model) = &model {
        conversation.set("model", model.clone());
    }
    // A client's own are rendered as they came.
    let messages = match ask.raw("messages") {
        Some(messages) => messages,
        None => raw(&chat::server::messages(ask)?),
    };
    conversation.set("messages", messages);
    let path = if ask.stream()? {
        "/generate_stream"
    } else {
        "/generate"
    };
    no_tools(ask)?;
    let mut parameters = self::parameters(ask)?;
    // The chat route reads a model's name so; a name that is no adapter's is the model itself.
    if let Some(model) = model.filter(|model| model.get() != "\"tgi\"")
        && !parameters.has("adapter_id")
    {
        parameters.set("adapter_id", model);
    }
    parameters.set("details", raw(&true));
    parameters.set("return_full_text", raw(&false));
    // Free text is what a prompt without a grammar makes.
    let format: Option<Value> = ask.take("response_format", "an object")?;
    if format.is_some_and(|format| format["type"] != "text") {
        let reason = "a grammar is all that this route takes";
        ask.lose("/response_format", reason, EnforcedBy::Proxy);
    }
    let mut body = Fields::default();
    body.set("parameters", raw(&parameters));
    ask.rest(&[], &mut body);
    Ok(first(render, conversation, path, &body))
}

/// There is no field for tools: they are in the prompt, or in the grammar.
fn no_tools(ask: &mut Ask<'_>) -> Result<(), Error> {
    let (tools, _) = ask.tools()?;
    let is_asked_for = !tools.is_empty();
    ask.lose_strict(&tools, "has no field for tools");
    if is_asked_for {
        let reason = "a prompt is all that this route takes: the tools are not in it";
        ask.lose("/tools", reason, EnforcedBy::Nobody);
    }
    Ok(())
}

fn parameters(ask: &mut Ask<'_>) -> Result<Fields, Error> {
    let mut parameters = Fields::default();
    for (field, name) in NAMES {
        ask.member(field, &mut parameters, name);
    }
    // As on the chat route: greedy at 0, which is refused as a temperature, else sampled, which is
    // off where nothing is said.
    let temperature: Option<f64> = ask.take("temperature", "a number")?;
    if let Some(temperature) = temperature.filter(|temperature| *temperature != 0.0) {
        parameters.set("temperature", raw(&temperature));
    }
    if !parameters.has("do_sample") {
        parameters.set("do_sample", raw(&(temperature != Some(0.0))));
    }
    // 1 says that nothing is cut off, and so does a `top_k` of 0 or less; here they are refused.
    let top_p: Option<f64> = ask.take("top_p", "a number")?;
    if let Some(top_p) = top_p.filter(|top_p| *top_p != 1.0) {
        parameters.set("top_p", raw(&top_p));
    }
    let top_k: Option<i64> = ask.take("top_k", "a whole number")?;
    if let Some(top_k) = top_k.filter(|top_k| *top_k > 0) {
        parameters.set("top_k", raw(&top_k));
    }
    if let Some(limit) = ask.max_tokens() {
        parameters.set("max_new_tokens", limit);
    }
    let stop = ask.stop()?;
    if !stop.is_empty() {
        parameters.set("stop", raw(&stop));
    }
    Ok(parameters)
}

#[derive(Deserialize)]
struct ReplyWire {
    generated_text: Option<String>,
    token: Option<TokenWire>,
    details: Option<DetailsWire>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct TokenWire {
    #[serde(default)]
    text: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct DetailsWire {
    finish_reason: Option<String>,
    generated_tokens: Option<u64>,
    input_length: Option<u64>,
}

impl DetailsWire {
    fn is_stopped(&self) -> bool {
        self.finish_reason.as_deref() == Some("stop_sequence")
    }

    /// The counts, and the end.
    fn end(&self, prompt_tokens: Option<u64>, sink: &mut Sink<'_>) {
        if let Some(completion) = self.generated_tokens {
            sink.usage(Some(Usage {
                prompt: self.input_length.or(prompt_tokens).unwrap_or_default(),
                completion,
                ..Usage::default()
            }));
        }
        let is_cut = self.finish_reason.as_deref() == Some("length");
        let reason = if is_cut {
            FinishReason::Length
        } else {
            FinishReason::Stop
        };
        sink.finish(0, reason);
    }
}

/// A text without the stop text that ended it: this server leaves it in, and a line's end behind
/// it where both are of one token.
fn without_stop<'t>(text: &'t str, stops: &[String]) -> &'t str {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let ended = |text: &'t str| {
        let stops = stops.iter().filter(|stop| !stop.is_empty());
        let rests = stops.filter_map(|stop| text.strip_suffix(stop.as_str()));
        rests.min_by_key(|rest| rest.len())
    };
    ended(text).or_else(|| ended(line)).unwrap_or(text)
}

/// A whole reply; older servers put it into a list.
fn whole(body: &[u8], about: &About, sink: &mut Sink<'_>) -> Option<()> {
    let reply = match crate::json::value_of(body).ok()? {
        Value::Array(mut replies) if replies.len() == 1 => replies.pop()?,
        reply => reply,
    };
    let reply = ReplyWire::deserialize(reply).ok()?;
    if let Some(error) = reply.error {
        sink.error(&raw(&error));
        return Some(());
    }
    sink.choice(0, false);
    let text = reply.generated_text?;
    let details = reply.details;
    let is_stopped = details.as_ref().is_some_and(DetailsWire::is_stopped);
    let said = if is_stopped {
        without_stop(&text, &about.stop)
    } else {
        &text
    };
    sink.text(0, Some(said.to_owned()));
    match details {
        Some(details) => details.end(about.prompt_tokens, sink),
        None => sink.finish(0, FinishReason::Stop),
    }
    Some(())
}

/// One reply, token by token.
#[derive(Debug, Default)]
struct Stream {
    stops: Vec<String>,
    prompt_tokens: Option<u64>,
    /// What may be the beginning of a stop text.
    held: String,
}

impl Stream {
    fn new(about: &About) -> Self {
        let stops = about.stop.iter().filter(|stop| stop.len() <= MAX_STOP);
        Self {
            stops: stops.take(MAX_STOPS).cloned().collect(),
            prompt_tokens: about.prompt_tokens,
            held: String::new(),
        }
    }
}

impl Pieces for Stream {
    fn piece(&mut self, data: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let event = ReplyWire::deserialize(crate::json::value_of(data).ok()?).ok()?;
        if let Some(error) = event.error {
            sink.error(&raw(&error));
            return Some(());
        }
        sink.choice(0, false);
        let token = event.token?;
        if !token.special {
            self.held.push_str(&token.text);
        }
        if event.generated_text.is_none() {
            let free = self.free();
            if free > 0 {
                sink.text(0, Some(self.held.drain(..free).collect()));
            }
            return Some(());
        }
        let held = std::mem::take(&mut self.held);
        let is_stopped = event.details.as_ref().is_some_and(DetailsWire::is_stopped);
        let said = if is_stopped {
            without_stop(&held, &self.stops)
        } else {
            &held
        };
        sink.text(0, Some(said.to_owned()));
        match event.details {
            Some(details) => details.end(self.prompt_tokens, sink),
            None => sink.finish(0, FinishReason::Stop),
        }
        sink.done();
        Some(())
    }
}

impl Stream {
    /// How much of what is held begins no stop text. A whole one in the middle ended nothing, but
    /// the last token, which is still to come, may be what ends with it.
    fn free(&self) -> usize {
        let longest = self.stops.iter().map(String::len).max().unwrap_or_default();
        let from = self.held.len().saturating_sub(longest);
        let places = self.held.char_indices().map(|(at, _)| at);
        let mut places = places.filter(|at| *at >= from);
        let begins = |at: &usize| {
            let rest = &self.held[*at..];
            self.stops.iter().any(|stop| stop.starts_with(rest))
        };
        places.find(begins).unwrap_or(self.held.len())
    }
}
