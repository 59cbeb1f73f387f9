//! The scripted server: answers at once, always the same, in the shape of vLLM. It answers with a
//! call where one is forced in the request, with JSON where content is constrained, else with text.

use super::super::Failure;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior};

macro_rules! arguments {
    () => {
        r#"{"title":"The quick brown fox jumps over the lazy dog","kind":"story","score":7,"tags":["fox","dog","quick"],"summary":"A fox that is quick and brown jumps over a dog that is lazy, and nothing else happens in it."}"#
    };
}

/// The arguments of the one tool; a few hundred bytes, as a small object has.
pub(super) const ARGUMENTS: &str = arguments!();
/// The same as a call of the one tool, where a constraint asks for that.
const CALL: &str = concat!(r#"{"name":"final_result","arguments":"#, arguments!(), "}");
/// The answer where nothing is demanded.
pub(super) const TEXT: &str = "A fox that is quick and brown jumps over a dog that is lazy, and nothing else happens in it, which is why everybody knows it by heart.";
/// A token's worth of text.
const PIECE_BYTES: usize = 4;

/// The arguments, made as many tokens long as a request's `max_tokens` says, by words in their last text.
fn lengthened(text: &str, tokens: usize) -> String {
    let (begin, end) = text.rsplit_once('.').unwrap_or((text, ""));
    let missing = (tokens * PIECE_BYTES).saturating_sub(text.len());
    let words: String = " and so on".chars().cycle().take(missing).collect();
    format!("{begin}{words}.{end}")
}

/// The running server; ended when dropped.
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    /// Lets streams of [`HELD`] come to their end.
    pub(super) released: watch::Sender<bool>,
    /// Bytes that were taken of all streams of [`TRICKLED`].
    pub(super) trickled: Arc<AtomicU64>,
    _serving: JoinSet<()>,
}

impl Upstream {
    /// Where its `/v1` is.
    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

/// A `user` whose streams say a word each [`TICK`] until they are released, and then end.
pub(super) const HELD: &str = "held";
pub(super) const TICK: Duration = Duration::from_secs(1);
/// A `user` whose streams go on as fast as they are read, for so long that nobody who reads at a trickle sees the end.
pub(super) const TRICKLED: &str = "trickled";
/// Of each stream; the rest is waited for in vain.
pub(super) const TRICKLED_BYTES: u64 = 16 << 20;
/// A token of both.
const WORD: &str = " and";
/// Of a stream of [`TRICKLED`], events that go out in one piece.
const TRICKLED_EVENTS: usize = 16;

/// What streams wait for, and are counted by.
#[derive(Debug, Clone)]
struct Pace {
    released: watch::Receiver<bool>,
    trickled: Arc<AtomicU64>,
}

pub(super) async fn start() -> Result<Upstream, Failure> {
    let failed = |error| Failure::Runtime(format!("cannot start the scripted server: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let released = watch::Sender::new(false);
    let trickled = Arc::<AtomicU64>::default();
    let pace = Pace {
        released: released.subscribe(),
        trickled: Arc::clone(&trickled),
    };
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let pace = pace.clone();
            // Otherwise small replies wait for acknowledgements.
            let _ = stream.set_nodelay(true);
            connections.spawn(async move {
                let service = service_fn(|request| answer(request, &pace));
                // A client that closes ends its connection; there is nothing to do.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(Upstream {
        address,
        released,
        trickled,
        _serving: serving,
    })
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

async fn answer(request: Request<Incoming>, pace: &Pace) -> Result<Response<Body>, hyper::Error> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    Ok(match path.as_str() {
        "/v1/models" => whole(
            200,
            &json!({"object": "list", "data": [{"id": "bench", "object": "model"}]}),
        ),
        // Routers send nothing to a server that does not answer there.
        "/health" | "/health_generate" => whole(200, &json!({})),
        "/version" => whole(200, &json!({"version": "0.12.0"})),
        "/v1/chat/completions" => chat(&body, pace),
        _ => whole(404, &json!({"detail": "Not Found"})),
    })
}

fn chat(body: &[u8], pace: &Pace) -> Response<Body> {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let has = |field: &str| !request[field].is_null();
    let is_call = request["tool_choice"] == "required";
    let is_json = ["structured_outputs", "guided_json", "response_format"]
        .iter()
        .any(|field| has(field));
    let text = match &request["structured_outputs"]["json"] {
        schema if is_envelope(schema) => CALL,
        _ if is_call || is_json => ARGUMENTS,
        _ => TEXT,
    };
    if request["stream"] == true {
        // Some write the older name as the newer one.
        let names = ["max_tokens", "max_completion_tokens"];
        let tokens = names.iter().find_map(|name| request[name].as_u64());
        let tokens = tokens.unwrap_or_default();
        return match request["user"].as_str() {
            Some(HELD) => streamed(text, is_call, Some(held(is_call, pace.clone()))),
            Some(TRICKLED) => streamed(text, is_call, Some(trickled(is_call, pace.clone()))),
            _ => streamed(&lengthened(text, tokens as usize), is_call, None),
        };
    }
    let message = if is_call {
        let function = json!({"name": "final_result", "arguments": text});
        let call = json!({"id": "chatcmpl-tool-0123456789abcdef", "type": "function", "function": function});
        json!({"role": "assistant", "content": null, "tool_calls": [call]})
    } else {
        json!({"role": "assistant", "content": text, "tool_calls": []})
    };
    let finish = if is_call { "tool_calls" } else { "stop" };
    whole(
        200,
        &json!({
            "id": "chatcmpl-0123456789abcdef", "object": "chat.completion", "created": 1_700_000_000, "model": "bench",
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": null, "stop_reason": null}],
            "usage": {"prompt_tokens": 200, "completion_tokens": 60, "total_tokens": 260},
        }),
    )
}

/// Whether the schema is of a call, or of one of several, with its name and arguments.
fn is_envelope(schema: &Value) -> bool {
    let places = ["/properties/arguments", "/anyOf/0/properties/arguments"];
    places.iter().any(|place| schema.pointer(place).is_some())
}

/// Events that come between the others, in the last text of what is said.
type Between = stream::BoxStream<'static, Bytes>;

/// A word each tick, until the streams are released.
fn held(is_call: bool, pace: Pace) -> Between {
    let word = Bytes::from(delta(WORD, is_call));
    let mut ticks = tokio::time::interval_at(Instant::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let state = (word, ticks, pace.released);
    let next = |(word, mut ticks, mut released): (Bytes, Interval, watch::Receiver<bool>)| async move {
        tokio::select! {
            // Where the sender is gone, the benchmark is over.
            _ = released.wait_for(|released| *released) => return None,
            _ = ticks.tick() => {}
        }
        Some((word.clone(), (word, ticks, released)))
    };
    stream::unfold(state, next).boxed()
}

/// Words as fast as they are taken, counted, and then nothing any more.
fn trickled(is_call: bool, pace: Pace) -> Between {
    let words = Bytes::from(delta(WORD, is_call).repeat(TRICKLED_EVENTS));
    let count = TRICKLED_BYTES as usize / words.len();
    let taken = move |words: Bytes| {
        let bytes = words.len() as u64;
        pace.trickled.fetch_add(bytes, Ordering::Relaxed);
        words
    };
    let words = stream::iter(std::iter::repeat_n(words, count)).map(taken);
    words.chain(stream::pending()).boxed()
}

fn chunk(delta: &Value, finish: &Value) -> String {
    let chunk = json!({
        "id": "chatcmpl-0123456789abcdef", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "bench",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
    });
    format!("data: {chunk}\n\n")
}

/// A piece of the text, or of the call's arguments.
fn delta(piece: &str, is_call: bool) -> String {
    let delta = if is_call {
        json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    } else {
        json!({"content": piece})
    };
    chunk(&delta, &Value::Null)
}

fn streamed(text: &str, is_call: bool, between: Option<Between>) -> Response<Body> {
    let mut events = vec![chunk(
        &json!({"role": "assistant", "content": ""}),
        &Value::Null,
    )];
    if is_call {
        let function = json!({"name": "final_result"});
        let call = json!({"index": 0, "id": "chatcmpl-tool-0123456789abcdef", "type": "function", "function": function});
        events.push(chunk(&json!({"tool_calls": [call]}), &Value::Null));
    }
    let pieces = |text: &str| {
        let pieces = text.as_bytes().chunks(PIECE_BYTES);
        let pieces = pieces.map(|piece| delta(&String::from_utf8_lossy(piece), is_call));
        pieces.collect::<Vec<_>>()
    };
    let (begin, end) = match between {
        // Before the last full stop, where more words are as good as these.
        Some(_) => text.rsplit_once('.').unwrap_or((text, "")),
        None => (text, ""),
    };
    events.extend(pieces(begin));
    let mut last = pieces(end);
    last.push(chunk(
        &json!({}),
        &json!(if is_call { "tool_calls" } else { "stop" }),
    ));
    last.push("data: [DONE]\n\n".to_owned());
    let events = stream::iter(events).map(Bytes::from);
    let between = between.unwrap_or_else(|| stream::empty().boxed());
    let events = events
        .chain(between)
        .chain(stream::iter(last).map(Bytes::from));
    let body = StreamBody::new(events.map(|event| Ok(Frame::data(event))));
    response(200, "text/event-stream; charset=utf-8", body.boxed_unsync())
}

fn whole(status: u16, value: &Value) -> Response<Body> {
    response(
        status,
        "application/json",
        Full::from(value.to_string()).boxed_unsync(),
    )
}

fn response(status: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    let content_type = http::HeaderValue::from_static(content_type);
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, content_type);
    response
}
