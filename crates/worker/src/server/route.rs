//! A request to the endpoint that answers it; errors in OpenAI's shape.

use super::App;
use super::body::ReplyBody;
use super::generate::{READING, READING_TIMES, defect, generate, now};
use crate::metrics::Now;
use crate::models::Health;
use crate::reply::Shape;
use crate::request::{Detokenize, Tokenize};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use isogloss_compile::at_work::{self, Mark};
use isogloss_core::dialect::chat::client::error_body;
use isogloss_core::error::{Error, Kind};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The proxy takes 16 MiB where nobody set more.
const MAX_BODY_BYTES: usize = 64 << 20;
const BODY_WITHIN: Duration = Duration::from_secs(60);

const SERVER: HeaderValue = HeaderValue::from_static("isogloss-worker");

pub(super) type Reply = Response<ReplyBody>;

/// What the worker serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Endpoint {
    Generate(Shape),
    Health,
    Models,
    Metrics,
    Props,
    Tokenize,
    Detokenize,
}

impl Endpoint {
    fn of(path: &str) -> Option<(Self, Method, &'static str)> {
        let get = |endpoint, path| Some((endpoint, Method::GET, path));
        let post = |endpoint, path| Some((endpoint, Method::POST, path));
        match path {
            "/v1/chat/completions" => post(Self::Generate(Shape::Chat), "/v1/chat/completions"),
            "/v1/completions" => post(Self::Generate(Shape::Completion), "/v1/completions"),
            "/health" => get(Self::Health, "/health"),
            "/v1/models" => get(Self::Models, "/v1/models"),
            "/metrics" => get(Self::Metrics, "/metrics"),
            "/props" => get(Self::Props, "/props"),
            "/tokenize" => post(Self::Tokenize, "/tokenize"),
            "/detokenize" => post(Self::Detokenize, "/detokenize"),
            _ => None,
        }
    }
}

/// Answers a request, whatever it is.
pub(super) async fn answer(app: Arc<App>, request: Request<Incoming>) -> Reply {
    let found = Endpoint::of(request.uri().path());
    let label = found.as_ref().map_or("other", |(_, _, path)| *path);
    let answered = match found {
        None => {
            let error = unknown(request.uri().path());
            drain(request.into_body()).await;
            Err(error)
        }
        Some((endpoint, method, path)) if *request.method() == method => {
            tracing::debug!(path, "request");
            respond(Arc::clone(&app), endpoint, request).await
        }
        Some((_, method, path)) => {
            let message = format!("{path} takes {method} alone");
            drain(request.into_body()).await;
            Err(Error::new(Kind::InvalidRequest, message).with_status(405))
        }
    };
    let mut reply = answered.unwrap_or_else(|error| refused(&error));
    reply.headers_mut().insert(header::SERVER, SERVER);
    app.metrics.answered(label, reply.status().as_u16());
    reply
}

/// A path that is not served, in the words of the API that it belongs to.
fn unknown(path: &str) -> Error {
    let path = path.trim_end_matches('/').to_ascii_lowercase();
    let below = path.strip_prefix("/v1").unwrap_or(&path);
    let is_of = |root: &str| {
        below
            .strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let api = if is_of("/responses") {
        "this server has no Responses API"
    } else if is_of("/messages") {
        "this server has no Messages API"
    } else if is_of("/embeddings") {
        "this server computes no embeddings"
    } else if is_of("/audio") || is_of("/images") {
        "this server makes no audio and no images, it takes them in chat completions"
    } else if is_of("/files") || is_of("/batches") {
        "this server keeps no files and runs no batches"
    } else if is_of("/api") {
        "this server has none of Ollama's routes"
    } else {
        "there is no such endpoint"
    };
    let message = format!(
        "{api}: POST to /v1/chat/completions or /v1/completions, GET /v1/models, /props, /health or /metrics"
    );
    Error::new(Kind::InvalidRequest, message).with_status(404)
}

/// Reads a body that nobody wants: closing a connection with something unread resets it, and the
/// peer would lose the answer.
async fn drain(body: Incoming) {
    let mut body = Limited::new(body, MAX_BODY_BYTES);
    let to_its_end = async { while let Some(Ok(_unwanted)) = body.frame().await {} };
    let _too_slow = tokio::time::timeout(BODY_WITHIN, to_its_end).await;
}

async fn respond(
    app: Arc<App>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<Reply, Error> {
    match endpoint {
        Endpoint::Generate(shape) => {
            let mark = mark(&app, &request);
            generate(app, shape, read(request).await?, mark).await
        }
        Endpoint::Health => Ok(health(&app)),
        Endpoint::Models => Ok(models(&app)),
        Endpoint::Metrics => Ok(metrics(&app)),
        Endpoint::Props => Ok(props(&app)),
        Endpoint::Tokenize => tokenize(&app, read(request).await?).await,
        Endpoint::Detokenize => detokenize(&app, read(request).await?).await,
    }
}

/// Under which number work on the request's constraint is noted.
fn mark(app: &App, request: &Request<Incoming>) -> Option<Mark> {
    let number = request.headers().get(at_work::HEADER)?;
    app.notes.as_ref()?.mark(number.to_str().ok()?)
}

async fn read(request: Request<Incoming>) -> Result<Bytes, Error> {
    let mut body = request.into_body();
    let limited = Limited::new(&mut body, MAX_BODY_BYTES).collect();
    let Ok(read) = tokio::time::timeout(BODY_WITHIN, limited).await else {
        let message = "the body did not arrive in time";
        return Err(Error::new(Kind::RequestTimeout, message));
    };
    match read {
        Ok(read) => Ok(read.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            drain(body).await;
            let message = format!("the body is larger than {MAX_BODY_BYTES} bytes");
            Err(Error::new(Kind::BodyTooLarge, message))
        }
        // Nobody is there to read this.
        Err(_) => Err(Error::new(Kind::InvalidRequest, "the body ended early")),
    }
}

fn health(app: &App) -> Reply {
    match app.models.health() {
        Health::Ready => {
            let model = app.models.loaded().map(|model| model.name.clone());
            json(200, json!({"status": "ready", "model": model}).to_string())
        }
        Health::Loading { progress } => {
            let progress = (f64::from(progress) * 100.0).round() / 100.0;
            let mut reply = json(
                503,
                json!({"status": "loading", "progress": progress}).to_string(),
            );
            let second = HeaderValue::from_static("1");
            reply.headers_mut().insert(header::RETRY_AFTER, second);
            reply
        }
    }
}

/// All models, in the order of their names; how much a model takes is known once it was loaded.
fn models(app: &App) -> Reply {
    let loaded = app.models.loaded();
    let created = now();
    let models: Vec<Value> = (app.models.names())
        .map(|name| {
            let loaded = loaded.as_ref().filter(|model| model.name == name);
            json!({
                "id": name,
                "object": "model",
                "created": created,
                "owned_by": "isogloss",
                "root": name,
                "max_model_len": loaded.map(|model| model.engine.limits().context),
                "input_modalities": loaded.map(|model| {
                    [vec!["text"], model.about.takes.names()].concat()
                }),
            })
        })
        .collect();
    json(200, json!({"object": "list", "data": models}).to_string())
}

/// What llama.cpp's server tells of its model, as far as it is known here: the template above all, by which can be told
/// how the model writes its calls. Of several models none is told, since it would be taken for all of them; and what
/// this server would be taken for llama.cpp by (`build_info`, `default_generation_settings`) is left out.
fn props(app: &App) -> Reply {
    if let Health::Loading { .. } = app.models.health() {
        return health(app);
    }
    let loaded = app.models.loaded();
    let Some(model) = loaded.filter(|_| app.models.names().count() == 1) else {
        return json(200, json!({"chat_template": null}).to_string());
    };
    let takes = model.about.takes;
    let told = json!({
        "model_alias": model.name,
        "total_slots": model.engine.limits().slots,
        "chat_template": app.models.template(&model),
        "bos_token": model.about.bos_text,
        "eos_token": model.about.eos_text,
        "modalities": {"vision": takes.image, "audio": takes.audio},
    });
    json(200, told.to_string())
}

fn metrics(app: &App) -> Reply {
    let loaded = app.models.loaded();
    let loaded = loaded.as_deref();
    let text = app.metrics.render(&Now {
        engine: loaded.map(|model| model.engine.stats()).unwrap_or_default(),
        model: loaded.map(|model| model.name.as_str()),
        device: loaded.map_or("", |model| model.about.device.as_str()),
    });
    let mut reply = Response::new(ReplyBody::full(text));
    let plain = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    reply.headers_mut().insert(header::CONTENT_TYPE, plain);
    reply
}

async fn tokenize(app: &App, body: Bytes) -> Result<Reply, Error> {
    let asked = off_thread(move || Tokenize::read(&body)).await?;
    let lease = app.models.lease(&asked.model).await?;
    off_thread(move || {
        let running = lease.watchdog.call(READING, READING_TIMES);
        let prepared = lease.prompter.tokens(&asked.source, now())?;
        drop(running);
        let texts = asked.with_text.then(|| -> Vec<String> {
            (prepared.iter())
                .map(|token| String::from_utf8_lossy(lease.vocabulary.name(*token)).into_owned())
                .collect()
        });
        let reply = json!({
            "count": prepared.len(),
            "max_model_len": lease.engine.limits().context,
            "tokens": prepared,
            "token_strs": texts,
        });
        Ok(json(200, reply.to_string()))
    })
    .await
}

async fn detokenize(app: &App, body: Bytes) -> Result<Reply, Error> {
    let asked = off_thread(move || Detokenize::read(&body)).await?;
    let lease = app.models.lease(&asked.model).await?;
    off_thread(move || {
        let known = lease.vocabulary.len();
        if let Some(token) = asked.tokens.iter().find(|token| **token as usize >= known) {
            let message = format!(
                "`tokens` has the token {token}: this model's go from 0 to {}",
                known.saturating_sub(1)
            );
            return Err(Error::new(Kind::InvalidRequest, message).at("tokens"));
        }
        let bytes: Vec<u8> = (asked.tokens.iter())
            .flat_map(|token| lease.vocabulary.name(*token))
            .copied()
            .collect();
        let prompt = String::from_utf8_lossy(&bytes);
        Ok(json(200, json!({"prompt": prompt}).to_string()))
    })
    .await
}

/// Runs what may take milliseconds where it holds up no other request's events.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|_| Err(defect()))
}

pub(super) fn json(status: u16, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(ReplyBody::full(body));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, json);
    reply
}

fn refused(error: &Error) -> Reply {
    tracing::debug!(code = error.kind.code(), status = error.status(), "refused");
    let mut reply = json(error.status(), error_body(error));
    if let Some(seconds) = error.retry_after {
        let seconds = HeaderValue::from(seconds);
        reply.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    reply
}
