//! The scripted server: answers at once, always the same, in the shape of vLLM. It answers with a
//! call where one is forced in the request, with JSON where content is constrained, else with text.

use super::super::Failure;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

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
    /// Lets streams of [`HELD`] go on.
    pub(super) released: Released,
    _serving: JoinSet<()>,
}

/// A `user` whose streams stop after some events until they are released.
pub(super) const HELD: &str = "held";
const HELD_AFTER: usize = 16;

type Released = watch::Sender<bool>;

pub(super) async fn start() -> Result<Upstream, Failure> {
    let failed = |error| Failure::Runtime(format!("cannot start the scripted server: {error}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let released = Released::new(false);
    let held = released.clone();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let held = held.clone();
            // Otherwise small replies wait for acknowledgements.
            let _ = stream.set_nodelay(true);
            connections.spawn(async move {
                let service = service_fn(|request| answer(request, &held));
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
        _serving: serving,
    })
}

type Body = BoxBody<Bytes, Infallible>;

async fn answer(
    request: Request<Incoming>,
    released: &Released,
) -> Result<Response<Body>, hyper::Error> {
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
        "/v1/chat/completions" => chat(&body, released),
        _ => whole(404, &json!({"detail": "Not Found"})),
    })
}

fn chat(body: &[u8], released: &Released) -> Response<Body> {
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
        let held = (request["user"] == HELD).then(|| released.subscribe());
        return streamed(&lengthened(text, tokens as usize), is_call, held);
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

fn streamed(text: &str, is_call: bool, held: Option<watch::Receiver<bool>>) -> Response<Body> {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({
            "id": "chatcmpl-0123456789abcdef", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "bench",
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        });
        format!("data: {chunk}\n\n")
    };
    let mut events = vec![chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    if is_call {
        let function = json!({"name": "final_result"});
        let call = json!({"index": 0, "id": "chatcmpl-tool-0123456789abcdef", "type": "function", "function": function});
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    for piece in text.as_bytes().chunks(PIECE_BYTES) {
        let piece = String::from_utf8_lossy(piece);
        let delta = if is_call {
            json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        } else {
            json!({"content": piece})
        };
        events.push(chunk(delta, Value::Null));
    }
    events.push(chunk(
        json!({}),
        json!(if is_call { "tool_calls" } else { "stop" }),
    ));
    events.push("data: [DONE]\n\n".to_owned());
    let rest = events.split_off(events.len().min(HELD_AFTER));
    let wait = async move {
        if let Some(mut held) = held {
            // Where the sender is gone, the benchmark is over.
            let _ = held.wait_for(|released| *released).await;
        }
        stream::iter(rest)
    };
    let events = stream::iter(events).chain(stream::once(wait).flatten());
    let frames = events.map(|event| Ok(Frame::data(Bytes::from(event))));
    let body = StreamBody::new(frames);
    response(
        200,
        "text/event-stream; charset=utf-8",
        BodyExt::boxed(body),
    )
}

fn whole(status: u16, value: &Value) -> Response<Body> {
    response(
        status,
        "application/json",
        Full::from(value.to_string()).boxed(),
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
