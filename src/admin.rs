//! The admin listener: requests of operators and orchestrators in; metrics, health, capabilities and
//! the console out. It changes nothing of the proxy, and it never needs to be exposed.

mod console;
mod door;

pub use console::{Fault, Query};
pub use door::Door;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Scrapers, probes and a few people; more wait in the kernel's backlog.
const MAX_CONNECTIONS: usize = 64;
/// One connection, from accepting it to the last byte of its one reply.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(10);
/// A hook that waits for the last reply: as long as a pod may take to end.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(3600);
/// Those wait in a container's hook, of which a pod has few.
const MAX_WAITING: usize = 8;
/// Explaining costs processor time, which is the clients'.
const MAX_WORKING: usize = 2;
/// After a failed accept (no file descriptor left): trying again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the admin listener tells of.
pub trait State: Send + Sync + 'static {
    /// Whether requests can be served, and why not.
    fn ready(&self) -> Readiness;
    /// For each upstream: kind, version, and the strategy for each demand.
    fn capabilities(&self) -> Value;
    /// Everything in the Prometheus text format.
    fn metrics(&self) -> BoxFuture<'_, String>;
    /// Ends when no request has been in flight for some seconds.
    fn drained(&self) -> BoxFuture<'_, ()>;
    /// What the console's first view shows.
    fn overview(&self) -> BoxFuture<'_, Value>;
    /// The last requests, the newest first.
    fn requests(&self, query: &Query) -> Value;
    /// One request's whole way; `None` where it is not remembered (any more).
    fn request(&self, id: &str) -> Option<Value>;
    /// How many requests have ended.
    fn ended(&self) -> u64;
    /// What would be done with a request, and with a reply to it.
    fn explain(&self, question: Bytes) -> BoxFuture<'_, Result<Value, Fault>>;
    /// Sends a request as any client does, and tells what comes back.
    fn send(&self, question: Bytes) -> BoxFuture<'_, Result<Value, Fault>>;
}

/// A reply of this listener.
type Reply = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Who waits for something, each with as many places as may wait.
struct Places {
    /// For the last reply.
    drained: Semaphore,
    /// For what happens next.
    events: Arc<Semaphore>,
    /// For an explanation, or an answer.
    work: Semaphore,
}

impl Places {
    fn new() -> Self {
        Self {
            drained: Semaphore::new(MAX_WAITING),
            events: Arc::new(Semaphore::new(MAX_WAITING)),
            work: Semaphore::new(MAX_WORKING),
        }
    }
}

/// The answer of `/readyz`.
#[derive(Debug, Clone, Serialize)]
pub struct Readiness {
    /// At least one upstream is reachable, identified and, where it was asked, once proved to enforce
    /// something; and the proxy is not shutting down.
    pub ready: bool,
    /// The proxy finishes what it has and takes nothing more.
    pub draining: bool,
    /// Each upstream, in the order of the configuration.
    pub upstreams: Vec<UpstreamState>,
    /// The configuration that is in force.
    pub configuration: ConfigurationState,
    /// The DNS names that stand for several servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NameState>,
}

/// A DNS name as operators see it.
#[derive(Debug, Clone, Serialize)]
pub struct NameState {
    /// As it is asked for.
    pub name: String,
    /// How many servers it stands for.
    pub servers: usize,
    /// They are from an answer that is not confirmed any more.
    pub stale: bool,
    /// Why, where they are.
    pub reason: Option<String>,
}

/// The configuration as operators see it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ConfigurationState {
    /// What was read last was not taken, and what was before is in force.
    pub stale: bool,
    /// Why, where it is.
    pub reason: Option<String>,
}

/// One upstream as operators see it.
#[derive(Debug, Clone, Serialize)]
pub struct UpstreamState {
    /// Its place in the configuration, which metrics name.
    pub index: usize,
    /// The name that the operator gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Without credentials.
    pub url: String,
    /// A word: `ready`, `loading`, `down`, …
    pub state: String,
    /// `vllm@0.12.0`, where it is known.
    pub dialect: Option<String>,
    /// A word: `asking`, `enforces`, `enforces_nothing`, `not_asked`.
    pub enforcement: &'static str,
    /// Why it cannot be used, where it cannot.
    pub reason: Option<String>,
}

/// Serves until `shutdown`; connections that are open then are cut.
pub async fn serve(
    listener: TcpListener,
    state: Arc<dyn State>,
    door: Door,
    shutdown: impl Future<Output = ()>,
) {
    let door = Arc::new(door);
    let mut connections = JoinSet::new();
    let places = Arc::new(Places::new());
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let (state, places) = (Arc::clone(&state), Arc::clone(&places));
                    connections.spawn(connection(stream, Arc::clone(&door), state, places));
                }
                Err(error) => {
                    tracing::warn!(%error, "the admin listener cannot accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

async fn connection(
    stream: TcpStream,
    door: Arc<Door>,
    state: Arc<dyn State>,
    places: Arc<Places>,
) {
    let opened = tokio::time::timeout(MAX_CONNECTION_TIME, door.opened(stream)).await;
    let wire = match opened {
        Ok(Ok(wire)) => wire,
        Ok(Err(error)) => return tracing::debug!(%error, "an operator's TLS handshake failed"),
        Err(_) => return tracing::debug!("an operator's TLS handshake took too long"),
    };
    let is_known = wire.is_known();
    let waits = AtomicBool::new(false);
    let service = service_fn(|request: Request<hyper::body::Incoming>| {
        let (door, state, waits, places) = (&door, &state, &waits, &places);
        async move {
            let reply = if !door.lets(is_known, request.uri().path()) {
                text(
                    StatusCode::FORBIDDEN,
                    "this is for those who have a certificate of tls.client_ca; /livez and /readyz are for all\n",
                )
            } else if console::is_its(request.uri().path()) {
                match door.refusal(is_known, &request) {
                    None => console::answer(request, state, places, waits).await,
                    Some(refusal) => refusal,
                }
            } else if request.method() == Method::GET && request.uri().path() == "/drained" {
                waits.store(true, Ordering::Relaxed);
                drained(&**state, &places.drained).await
            } else {
                respond(request.method(), request.uri().path(), &**state).await
            };
            Ok::<_, Infallible>(reply)
        }
    });
    // One request a connection keeps the bound simple: nobody holds a place by keeping quiet.
    let serving = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .serve_connection(TokioIo::new(wire), service);
    tokio::pin!(serving);
    let mut ended = tokio::time::timeout(MAX_CONNECTION_TIME, &mut serving).await;
    if ended.is_err() && waits.load(Ordering::Relaxed) {
        ended = tokio::time::timeout(MAX_DRAIN_TIME, serving).await;
    }
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "an admin connection broke"),
        Err(_) => tracing::debug!("an admin connection took too long"),
    }
}

async fn drained(state: &dyn State, waiting: &Semaphore) -> Reply {
    let Ok(_place) = waiting.try_acquire() else {
        return text(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many wait for that already\n",
        );
    };
    state.drained().await;
    text(StatusCode::OK, "drained\n")
}

async fn respond(method: &Method, path: &str, state: &dyn State) -> Reply {
    if method != Method::GET && method != Method::HEAD {
        return not_allowed("only GET\n", "GET, HEAD");
    }
    match path {
        "/livez" => text(StatusCode::OK, "ok\n"),
        "/metrics" => reply(
            StatusCode::OK,
            "text/plain; version=0.0.4; charset=utf-8",
            state.metrics().await,
        ),
        "/readyz" => {
            let readiness = state.ready();
            let status = if readiness.ready {
                StatusCode::OK
            } else {
                StatusCode::SERVICE_UNAVAILABLE
            };
            json(status, &readiness)
        }
        "/capabilities" => json(StatusCode::OK, &state.capabilities()),
        _ => text(
            StatusCode::NOT_FOUND,
            "there are /metrics /livez /readyz /capabilities /drained, and / for the console\n",
        ),
    }
}

fn not_allowed(what: &'static str, allowed: &'static str) -> Reply {
    let mut reply = text(StatusCode::METHOD_NOT_ALLOWED, what);
    let allow = header::HeaderValue::from_static(allowed);
    reply.headers_mut().insert(header::ALLOW, allow);
    reply
}

fn text(status: StatusCode, text: &'static str) -> Reply {
    reply(status, "text/plain; charset=utf-8", text)
}

fn json(status: StatusCode, value: &impl Serialize) -> Reply {
    // Plain structures with string keys: writing them cannot fail.
    let mut body = serde_json::to_vec_pretty(value).unwrap_or_default();
    body.push(b'\n');
    reply(status, "application/json", body)
}

fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let value = header::HeaderValue::from_static;
    headers.insert(header::CONTENT_TYPE, value(content_type));
    headers.insert(header::CACHE_CONTROL, value("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, value("nosniff"));
    response
}

#[cfg(test)]
mod tests;
