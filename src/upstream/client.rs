//! The HTTP client: one request in, the head of its reply out. No redirects, no cookies, no
//! proxies from the environment, no decompression: bytes are the server's own.

use super::direct::Direct;
use super::{Failure, SetupError};
use crate::config::{Config, UpstreamConfig};
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use http_body::{Body, Frame, SizeHint};
use std::cell::Cell;
use std::convert::Infallible;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{Layer, Service};

/// Shorter than the 60 s and 75 s after which common servers and balancers close idle
/// connections, so that they seldom close first. uvicorn (vLLM, SGLang) closes after 5 s: those
/// are caught by the retry of stale connections.
pub(super) const POOL_IDLE: Duration = Duration::from_secs(50);
/// A peer that vanished without FIN is found out after about a minute.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 3;

/// How it is found out that a peer has vanished.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keepalive {
    /// Between two probes.
    pub(super) time: Duration,
    pub(super) probes: u32,
}

/// A request to be sent.
#[derive(Debug)]
pub struct Outgoing {
    /// Whether the server's key goes along, where there is one.
    pub with_key: bool,
    /// The method.
    pub method: Method,
    /// The path and query below the server's base path.
    pub target: PathAndQuery,
    /// The headers, without hop-by-hop ones and without `host`.
    pub headers: HeaderMap,
    /// The body.
    pub body: Payload,
}

/// A request's body.
#[derive(Debug)]
pub enum Payload {
    /// There is none.
    Nothing,
    /// Can be sent again.
    Whole(Pieces),
    /// Cannot.
    Streamed(reqwest::Body),
}

/// Bytes that are sent one after the other. What is long stands in them without a copy.
#[derive(Debug, Clone, Default)]
pub struct Pieces(pub [Bytes; 3]);

impl From<Bytes> for Pieces {
    fn from(bytes: Bytes) -> Self {
        Self([bytes, Bytes::new(), Bytes::new()])
    }
}

impl Outgoing {
    /// The same again, where its body can be sent again.
    pub(super) fn again(&self) -> Option<Self> {
        let body = match &self.body {
            Payload::Nothing => Payload::Nothing,
            Payload::Whole(pieces) => Payload::Whole(pieces.clone()),
            Payload::Streamed(_) => return None,
        };
        Some(Self {
            with_key: self.with_key,
            method: self.method.clone(),
            target: self.target.clone(),
            headers: self.headers.clone(),
            body,
        })
    }
}

impl Payload {
    pub(super) fn into_body(self) -> Option<reqwest::Body> {
        match self {
            Self::Nothing => None,
            Self::Streamed(body) => Some(body),
            Self::Whole(Pieces([whole, second, third]))
                if second.is_empty() && third.is_empty() =>
            {
                Some(whole.into())
            }
            Self::Whole(pieces) => Some(reqwest::Body::wrap(pieces)),
        }
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut left = self.get_mut().0.iter_mut();
        let next = left.find(|piece| !piece.is_empty()).map(std::mem::take);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.iter().all(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

/// The client of all servers behind TLS, or of one without it; cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum Client {
    Pooled(reqwest::Client),
    Direct(Direct),
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
        Ok(Self::Pooled(builder.build()?))
    }

    /// For a server that is reached with certificates of its own, or is one of several of its name.
    fn of_its_own(config: &Config, upstream: &UpstreamConfig) -> Result<Self, SetupError> {
        let mut builder = Self::builder(config);
        let tls = &upstream.tls;
        if let (Some(member), Some(host)) = (upstream.member, upstream.url.host_str()) {
            // The port is the URL's. The name stays what its certificate is held against.
            builder = builder.resolve(host, (member.address, 0).into());
        }
        if let Some(ca) = &tls.ca {
            builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(ca)?);
        }
        if let Some(identity) = &tls.identity {
            builder = builder.identity(reqwest::Identity::from_pem(identity)?);
        }
        Ok(Self::Pooled(builder.build()?))
    }

    /// The same for this server, which may be reached without the detours that others need.
    pub(super) fn of(
        &self,
        config: &Config,
        upstream: &UpstreamConfig,
    ) -> Result<Self, SetupError> {
        let keepalive = Keepalive {
            time: KEEPALIVE,
            probes: KEEPALIVE_PROBES,
        };
        if upstream.servers.is_some() && upstream.member.is_none() {
            return Ok(Self::Direct(Direct::to_nobody(config)));
        }
        if upstream.tls.is_given() {
            return Self::of_its_own(config, upstream);
        }
        match Direct::new(config, upstream, keepalive) {
            Some(direct) => Ok(Self::Direct(direct)),
            None if upstream.member.is_some() => Self::of_its_own(config, upstream),
            None => Ok(self.clone()),
        }
    }

    /// For one server behind a Unix socket.
    pub(super) fn of_socket(socket: &Path) -> Self {
        Self::Direct(Direct::to_socket(socket))
    }

    /// For the worker. Its connections are not kept: connecting to it costs some 50 µs, and a
    /// request that broke over a kept connection would be sent again, when it may be what the
    /// worker died of.
    pub(super) fn of_worker(socket: &Path) -> Self {
        Self::Direct(Direct::to_socket(socket).keeping_none())
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
            // Of HTTP/2 there is one connection, and what is beyond its limit of streams (nginx: 128) waits for a turn that nobody
            // sees.
            .http1_only()
            .connector_layer(NoteOpened)
    }

    pub(super) async fn execute(
        &self,
        request: reqwest::Request,
    ) -> Result<http::Response<reqwest::Body>, Failure> {
        let pooled = match self {
            Self::Direct(direct) => return direct.execute(request).await,
            Self::Pooled(pooled) => pooled,
        };
        OPENED
            .scope(Cell::new(false), async {
                match pooled.execute(request).await {
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
