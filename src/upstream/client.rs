//! The HTTP client: one request in, the head of its reply out. No redirects, no cookies, no
//! proxies from the environment, no decompression: bytes are the server's own.

use super::{Failure, SetupError};
use crate::config::Config;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use std::cell::Cell;
use std::path::Path;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service};

/// Shorter than the 60 s and 75 s after which common servers and balancers close idle
/// connections, so that they seldom close first. uvicorn (vLLM, SGLang) closes after 5 s: those
/// are caught by the retry of stale connections.
const POOL_IDLE: Duration = Duration::from_secs(50);
/// A peer that vanished without FIN is found out after about a minute.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 3;

/// A request to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// The method.
    pub method: Method,
    /// The path and query below the server's base path.
    pub target: PathAndQuery,
    /// The headers, without hop-by-hop ones and without `host`.
    pub headers: HeaderMap,
    /// The body; one made of bytes can be sent again.
    pub body: Option<reqwest::Body>,
}

/// The client of all servers with a host name, or of one behind a Unix socket; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Client {
    inner: reqwest::Client,
}

tokio::task_local! {
    /// Whether this request had to open a connection.
    static OPENED: Cell<bool>;
}

impl Client {
    /// For servers with a host name.
    pub(super) fn new(config: &Config) -> Result<Self, SetupError> {
        let mut builder = Self::builder(config);
        if !config
            .upstreams
            .iter()
            .any(|one| one.url.scheme() == "https")
        {
            // Root certificates are not needed, and a minimal image has none.
            builder = builder.tls_certs_only([]);
        }
        Ok(Self {
            inner: builder.build()?,
        })
    }

    /// For one server behind a Unix socket.
    pub(super) fn of_socket(config: &Config, socket: &Path) -> Result<Self, SetupError> {
        let builder = Self::builder(config).unix_socket(socket);
        Ok(Self {
            inner: builder.tls_certs_only([]).build()?,
        })
    }

    /// For the worker. Its connections are not kept: connecting to it costs some 50 µs, and a
    /// request that broke over a kept connection would be sent again, when it may be what the
    /// worker died of.
    pub(super) fn of_worker(config: &Config, socket: &Path) -> Result<Self, SetupError> {
        let builder = Self::builder(config).unix_socket(socket);
        let builder = builder.pool_max_idle_per_host(0);
        Ok(Self {
            inner: builder.tls_certs_only([]).build()?,
        })
    }

    fn builder(config: &Config) -> reqwest::ClientBuilder {
        // An error only says that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(config.timeouts.connect)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            .tcp_keepalive(KEEPALIVE)
            .tcp_keepalive_interval(KEEPALIVE)
            .tcp_keepalive_retries(KEEPALIVE_PROBES)
            .http2_keep_alive_interval(KEEPALIVE)
            .http2_keep_alive_timeout(KEEPALIVE)
            .connector_layer(NoteOpened)
    }

    pub(super) async fn execute(
        &self,
        request: reqwest::Request,
    ) -> Result<http::Response<reqwest::Body>, Failure> {
        OPENED
            .scope(Cell::new(false), async {
                match self.inner.execute(request).await {
                    Ok(response) => Ok(response.into()),
                    Err(error) => Err(Failure::classify(&error, !OPENED.with(Cell::get))),
                }
            })
            .await
    }
}

/// Notes that a connection is opened. The pool polls the connector within the request that
/// wants it, so the request's own note is at hand.
#[derive(Debug, Clone, Copy)]
struct NoteOpened;

#[derive(Debug, Clone)]
struct NotesOpened<S>(S);

impl<S> Layer<S> for NoteOpened {
    type Service = NotesOpened<S>;

    fn layer(&self, inner: S) -> Self::Service {
        NotesOpened(inner)
    }
}

impl<S: Service<R>, R> Service<R> for NotesOpened<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, destination: R) -> S::Future {
        let _outside_of_a_request = OPENED.try_with(|opened| opened.set(true));
        self.0.call(destination)
    }
}
