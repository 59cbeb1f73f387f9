//! Connections to one server without TLS, each polled by the request that uses it: a request is one task, in
//! which a read of the server's socket goes on to a write of the client's. A pool's connections run in tasks of
//! their own (as reqwest's do), and hand over each chunk between two tasks, which costs more than all else that is
//! done for it.
//!
//! In: a request. Out: the head of its reply, with a body that drives the connection and gives it back at its end. A
//! reply that nobody wants any more is dropped, and its connection with it.

use super::Failure;
use super::failure::Why;
use crate::config::Config;
use bytes::Bytes;
use http::header::{ACCEPT, HOST};
use http::{HeaderValue, Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use reqwest::Url;
use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tower::Service as _;

/// Connections that are kept while nobody uses them. What is over that is closed: after a peak their buffers
/// would stay.
const MOST_IDLE: usize = 128;
/// How often the idle ones are looked at.
const REAP_EVERY: Duration = Duration::from_secs(5);
/// What one connection buffers of a reply; hyper's own bound is 408 KiB.
const MAX_BUFFER_BYTES: usize = 64 << 10;

/// The way to one server; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Direct {
    connector: HttpConnector,
    origin: Uri,
    host: HeaderValue,
    pool: Arc<Pool>,
}

/// Connections that wait for a request, the one used last at the end.
#[derive(Debug, Default)]
struct Pool {
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    links: Vec<(Link, Instant)>,
    is_watched: bool,
}

/// One connection.
struct Link {
    sender: SendRequest<reqwest::Body>,
    connection: Pin<Box<Connection<TokioIo<TcpStream>, reqwest::Body>>>,
}

impl Direct {
    /// The way to the server at this address; `None` where it is not reached by plain HTTP.
    pub(super) fn new(
        config: &Config,
        url: &Url,
        keepalive: super::client::Keepalive,
    ) -> Option<Self> {
        if url.scheme() != "http" {
            return None;
        }
        let origin = url[..url::Position::BeforePath].parse().ok()?;
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(config.timeouts.connect));
        connector.set_keepalive(Some(keepalive.time));
        connector.set_keepalive_interval(Some(keepalive.time));
        connector.set_keepalive_retries(Some(keepalive.probes));
        Some(Self {
            connector,
            origin,
            host: HeaderValue::from_str(authority).ok()?,
            pool: Arc::default(),
        })
    }

    /// Sends a request and waits for the head of its reply.
    pub(super) async fn execute(
        &self,
        mut request: reqwest::Request,
    ) -> Result<Response<reqwest::Body>, Failure> {
        let body = request.body_mut().take().unwrap_or_default();
        let mut sent = Request::new(body);
        *sent.method_mut() = request.method().clone();
        let target = &request.url()[url::Position::BeforePath..url::Position::AfterQuery];
        *sent.uri_mut() = target
            .parse()
            .map_err(|_invalid| Failure::of(Why::Target))?;
        std::mem::swap(sent.headers_mut(), request.headers_mut());
        let headers = sent.headers_mut();
        headers.entry(HOST).or_insert_with(|| self.host.clone());
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("*/*"));
        let (mut link, is_reused) = match self.pool.take() {
            Some(link) => (link, true),
            None => (self.connect().await?, false),
        };
        match link.ask(sent).await {
            Ok(reply) => {
                let pool = Arc::clone(&self.pool);
                Ok(reply.map(|incoming| reqwest::Body::wrap(Reply::new(incoming, link, pool))))
            }
            Err(error) => Err(Failure::classify_direct(&error, is_reused)),
        }
    }

    async fn connect(&self) -> Result<Link, Failure> {
        let stream = self.connector.clone().call(self.origin.clone()).await;
        let stream = stream.map_err(|error| Failure::of(unconnected(&error)))?;
        let mut http = http1::Builder::new();
        http.max_buf_size(MAX_BUFFER_BYTES);
        let (sender, connection) = http
            .handshake(stream)
            .await
            .map_err(|_closed| Failure::of(Why::Refused))?;
        let connection = Box::pin(connection);
        Ok(Link { sender, connection })
    }
}

/// Why there is no connection.
fn unconnected(error: &(dyn StdError + 'static)) -> Why {
    let timed_out = super::failure::find::<io::Error>(error)
        .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    // The connector's error has no other mark.
    if error.to_string().starts_with("dns") {
        Why::Dns
    } else if timed_out {
        Why::ConnectTimeout
    } else {
        Why::Refused
    }
}

impl Link {
    async fn ask(
        &mut self,
        request: Request<reqwest::Body>,
    ) -> Result<Response<Incoming>, Option<hyper::Error>> {
        let Self { sender, connection } = self;
        let mut reply = pin!(sender.send_request(request));
        let mut has_ended = false;
        poll_fn(|cx| {
            if let Poll::Ready(reply) = reply.as_mut().poll(cx) {
                return Poll::Ready(reply.map_err(Some));
            }
            let mut failed = None;
            if !has_ended && let Poll::Ready(ended) = connection.as_mut().poll(cx) {
                has_ended = true;
                failed = ended.err();
            }
            match reply.as_mut().poll(cx) {
                Poll::Ready(reply) => Poll::Ready(reply.map_err(Some)),
                Poll::Pending if has_ended => Poll::Ready(Err(failed)),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }

    /// Lets the connection see what came meanwhile; whether a request can be sent on it.
    fn is_usable(&mut self) -> bool {
        // Whoever takes it polls it again.
        let mut cx = Context::from_waker(Waker::noop());
        self.connection.as_mut().poll(&mut cx).is_pending() && self.sender.is_ready()
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Link> {
        loop {
            let (mut link, _) = self.lock().links.pop()?;
            if link.is_usable() {
                return Some(link);
            }
        }
    }

    fn put(self: &Arc<Self>, mut link: Link) {
        if !link.is_usable() {
            return;
        }
        let mut idle = self.lock();
        if idle.links.len() >= MOST_IDLE {
            return;
        }
        idle.links.push((link, Instant::now()));
        if !idle.is_watched
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            idle.is_watched = true;
            drop(idle);
            runtime.spawn(reap(Arc::downgrade(self)));
        }
    }
}

/// Closes what is idle for too long, or was closed by the server, until nothing is left.
async fn reap(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(REAP_EVERY).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let mut idle = pool.lock();
        idle.links.retain_mut(|(link, since)| {
            since.elapsed() < super::client::POOL_IDLE && link.is_usable()
        });
        if idle.links.is_empty() {
            idle.links = Vec::new();
            idle.is_watched = false;
            return;
        }
    }
}

/// A reply's body, which drives its connection.
struct Reply {
    incoming: Incoming,
    /// `None` once the connection has ended or was given back.
    link: Option<Link>,
    pool: Arc<Pool>,
    /// Something was handed on, and may not have been written yet.
    is_unflushed: bool,
    /// How it broke, to be told when what came before is written.
    broken: Option<hyper::Error>,
}

impl Reply {
    const fn new(incoming: Incoming, link: Link, pool: Arc<Pool>) -> Self {
        Self {
            incoming,
            link: Some(link),
            pool,
            is_unflushed: false,
            broken: None,
        }
    }

    fn give_back(&mut self) {
        if let Some(link) = self.link.take() {
            self.pool.put(link);
        }
    }

    fn poll_incoming(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let incoming = Pin::new(&mut self.incoming).poll_frame(cx);
        if incoming.is_ready() {
            return incoming;
        }
        if let Some(link) = &mut self.link
            && link.connection.as_mut().poll(cx).is_ready()
        {
            // What it read before it ended is in the body, and how it ended.
            self.link = None;
        }
        Pin::new(&mut self.incoming).poll_frame(cx)
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Some(broken) = this.broken.take() {
            return Poll::Ready(Some(Err(broken)));
        }
        let polled = this.poll_incoming(cx);
        match polled {
            Poll::Ready(Some(Err(broken))) if this.is_unflushed => {
                // An error ends the client's connection at once, with what is not written yet; on a pause it is.
                this.is_unflushed = false;
                this.broken = Some(broken);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(None) => this.give_back(),
            _ => {}
        }
        this.is_unflushed = polled.is_ready();
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        // A body of known length is not asked for its end.
        if self.incoming.is_end_stream() {
            self.give_back();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").finish_non_exhaustive()
    }
}
