//! Replays a recorded upstream reply through the pure exchange, whole or cut anywhere.

use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::dialect::client::Client;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::rules::{Rule, RuleSet, Version};
use isogloss_core::verify::Checks;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// The rule of a server as labels name it: `vllm@0.10.2`, or `vllm@0.32.0+no_auto_tools` for one of
/// which a fact is known.
pub(crate) fn rule(label: &str) -> Rule {
    if let Some((server, fact)) = label.split_once('+') {
        let known = rule(server).knowing(fact);
        return known.unwrap_or_else(|| panic!("{fact} changes nothing of {server}"));
    }
    let (name, version) = label
        .split_once('@')
        .map_or((label, None), |(name, version)| {
            (name, Version::parse(version))
        });
    rules()
        .resolve(name, version)
        .unwrap_or_else(|| panic!("no rule for {label}"))
}

/// An event of Chat's streams.
pub(crate) fn chat_event(delta: Value, finish: Value) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
    format!("data: {chunk}\n\n")
}

/// Anthropic's stream of these blocks, each with the deltas that fill it; without a reason it is cut in the last one.
pub(crate) fn messages_stream(blocks: &[(Value, Vec<Value>)], reason: Option<&str>) -> String {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 4, "output_tokens": 1}}}),
    ];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        if reason.is_some() || index + 1 < blocks.len() {
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
    }
    if let Some(reason) = reason {
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 2}}));
        events.push(json!({"type": "message_stop"}));
    }
    let event = |event: &Value| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        )
    };
    events.iter().map(event).collect()
}

/// What the client gets of a stream in pieces of so many bytes.
pub(crate) fn streamed(exchange: &Exchange, body: &[u8], width: usize) -> Result<String, Fault> {
    let checks = checks(exchange).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    for piece in body.chunks(width) {
        translator.push(piece, &mut out)?;
    }
    translator.finish(End::Eof, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// The built-in rules, read once.
pub(crate) fn rules() -> &'static RuleSet {
    static RULES: OnceLock<RuleSet> = OnceLock::new();
    RULES.get_or_init(RuleSet::builtin)
}

/// A recorded HTTP reply.
pub(crate) struct Recorded {
    pub(crate) status: u16,
    pub(crate) streamed: bool,
    pub(crate) body: Vec<u8>,
}

impl Recorded {
    /// Splits status line, headers and body.
    pub(crate) fn read(raw: &[u8]) -> Self {
        let crlf = raw
            .windows(4)
            .position(|window| window == b"\r\n\r\n")
            .map(|at| (at, 4));
        let lf = raw
            .windows(2)
            .position(|window| window == b"\n\n")
            .map(|at| (at, 2));
        let (end, gap) = [crlf, lf].into_iter().flatten().min().unwrap();
        let head = String::from_utf8_lossy(&raw[..end]).to_lowercase();
        let status = head
            .split_whitespace()
            .nth(1)
            .and_then(|status| status.parse().ok())
            .unwrap();
        Self {
            status,
            streamed: head.contains("text/event-stream") || head.contains("x-ndjson"),
            body: raw[end + gap..].to_vec(),
        }
    }
}

/// The compiled contract of an exchange, or why it cannot be compiled.
pub(crate) fn checks(exchange: &Exchange) -> Result<Arc<Checks>, Error> {
    static SHARED: OnceLock<(tokio::runtime::Runtime, Compiler)> = OnceLock::new();
    let (runtime, compiler) = SHARED.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        // However slow the machine is, and under callgrind.
        let patience = std::time::Duration::from_secs(120);
        let limits = CompilerLimits {
            timeout: patience,
            queue_timeout: patience,
            ..CompilerLimits::default()
        };
        (runtime, Compiler::new(limits))
    });
    let compiled = runtime.block_on(compiler.checks(&mut exchange.clone()))?;
    Ok(compiled.checks)
}

/// What the client gets of a reply that comes in one piece.
pub(crate) fn whole(exchange: &Exchange, rule: &Rule, recorded: &Recorded) -> String {
    cut(exchange, rule, recorded, &[])
}

/// What the client gets of a reply cut at these places.
pub(crate) fn cut(exchange: &Exchange, rule: &Rule, recorded: &Recorded, cuts: &[usize]) -> String {
    let checks = match checks(exchange) {
        Ok(checks) => checks,
        Err(error) => return format!("REFUSED {}: {}\n", error.kind.code(), error.message),
    };
    let client = exchange.demand.client;
    let ids = Ids::new(42).at(1_700_000_000);
    if recorded.status >= 400 {
        let error = exchange::upstream_error(rule, recorded.status, &recorded.body);
        return format!(
            "{} {}\n",
            error.status(),
            String::from_utf8(client.error_body(&error)).unwrap()
        );
    }
    if !recorded.streamed {
        return match exchange::reply(exchange, &checks, ids, &recorded.body) {
            Ok(reply) => String::from_utf8(reply.body).unwrap() + "\n",
            Err(fault) => told(client, &fault),
        };
    }
    let mut translator = StreamTranslator::new(exchange, checks, ids, 1 << 20);
    let mut out = Vec::new();
    let mut from = 0;
    let mut outcome = Ok(());
    for to in cuts.iter().copied().chain([recorded.body.len()]) {
        outcome = outcome.and_then(|()| translator.push(&recorded.body[from..to], &mut out));
        from = to;
    }
    let outcome = outcome.and_then(|()| translator.finish(End::Eof, &mut out));
    let mut text = String::from_utf8(out).unwrap();
    if let Err(fault) = outcome {
        text.push_str(&told(client, &fault));
    }
    text
}

fn told(client: &dyn Client, fault: &Fault) -> String {
    match fault {
        Fault::Violation(violation) => {
            format!(
                "VIOLATION {} at {} {}: {}\n",
                violation.rule,
                client.place(violation.place),
                violation.pointer,
                violation.message
            )
        }
        Fault::Error(error) => format!("ERROR {}: {}\n", error.kind.code(), error.message),
    }
}

/// Byte by byte, in two at every place (thinned out: one byte at a time covers the rest), and in uneven pieces.
pub(crate) fn chunkings(length: usize) -> Vec<Vec<usize>> {
    let step = (length / 40).max(1);
    let mut all: Vec<Vec<usize>> = (1..length).step_by(step).map(|at| vec![at]).collect();
    all.push((1..length).collect());
    all.push((1..length).filter(|at| (at * at) % 7 == 1).collect());
    all
}
