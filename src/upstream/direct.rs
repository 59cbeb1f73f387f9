//! Connections to one server without TLS, over TCP or to a Unix socket, each polled by the request that uses it: a request is one task, in
//! which a read of the server's socket goes on to a write of the client's. A pool's connections run in tasks of
//! their own (as reqwest's do), and hand over each chunk between two tasks, which costs more than all else that is
//! done for it. Nor does one hold a buffer while nothing comes: it would be most of what an open stream takes.
//!
//! In: a request. Out: the head of its reply, with a body that reads the connection and gives it back at its end. A
//! reply that nobody wants any more is dropped, and its connection with it.

mod link;
mod receive;
mod send;
#[cfg(test)]
mod tests;

use super::Failure;
use super::failure::Why;
use crate::config::{Config, UpstreamConfig};
use http::header::{ACCEPT, HOST};
use http::{HeaderValue, Response, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use link::Link;
use receive::{Head, Reply};
use send::Sending;
use std::error::Error as StdError;
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::net::UnixStream;
use tower::Service as _;

/// Connections that are kept while nobody uses them.
const MOST_IDLE: usize = 128;
/// How often the idle ones are looked at.
const REAP_EVERY: Duration = Duration::from_secs(5);

/// The way to one server; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Direct {
    way: Way,
    host: HeaderValue,
    pool: Arc<Pool>,
}

/// Where the server takes connections.
#[derive(Debug, Clone)]
enum Way {
    Tcp {
        connector: HttpConnector,
        origin: Uri,
    },
    Unix(PathBuf),
    /// Its name stands for no server yet. Whoever asks waits as long as for one that does not answer.
    Nowhere(Duration),
}

/// Connections that wait for a request, the one used last at the end.
#[derive(Debug)]
struct Pool {
    idle: Mutex<Idle>,
    /// No more are kept.
    most: usize,
}

#[derive(Debug, Default)]
struct Idle {
    links: Vec<(Link, Instant)>,
    is_watched: bool,
}

impl Direct {
    /// The way to the server at this address; `None` where it is not reached by plain HTTP.
    pub(super) fn new(
        config: &Config,
        upstream: &UpstreamConfig,
        keepalive: super::client::Keepalive,
    ) -> Option<Self> {
        let url = &upstream.url;
        if url.scheme() != "http" {
            return None;
        }
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut at = url.clone();
        if let Some(member) = upstream.member {
            at.set_ip_host(member.address).ok()?;
        }
        let origin = at[..url::Position::BeforePath].parse().ok()?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(config.timeouts.connect));
        connector.set_keepalive(Some(keepalive.time));
        connector.set_keepalive_interval(Some(keepalive.time));
        connector.set_keepalive_retries(Some(keepalive.probes));
        Some(Self {
            way: Way::Tcp { connector, origin },
            host: HeaderValue::from_str(authority).ok()?,
            pool: Pool::of(MOST_IDLE),
        })
    }

    /// The way to the server behind this socket, which has no host name.
    pub(super) fn to_socket(socket: &Path) -> Self {
        Self {
            way: Way::Unix(socket.to_owned()),
            host: HeaderValue::from_static("localhost"),
            pool: Pool::of(MOST_IDLE),
        }
    }

    /// The way to a server of which nobody knows where it is.
    pub(super) fn to_nobody(config: &Config) -> Self {
        Self {
            way: Way::Nowhere(config.timeouts.connect),
            host: HeaderValue::from_static("localhost"),
            pool: Pool::of(0),
        }
    }

    /// The same with a connection for each request.
    pub(super) fn keeping_none(self) -> Self {
        Self {
            pool: Pool::of(0),
            ..self
        }
    }

    /// Sends a request and waits for the head of its reply.
    pub(super) async fn execute(
        &self,
        mut request: reqwest::Request,
    ) -> Result<Response<reqwest::Body>, Failure> {
        let body = request.body_mut().take();
        let headers = request.headers_mut();
        headers.entry(HOST).or_insert_with(|| self.host.clone());
        headers
            .entry(ACCEPT)
            .or_insert(HeaderValue::from_static("*/*"));
        let sending = Sending::new(&request, body);
        let mut head = Head::of(request.method()).ok_or(Failure::of(Why::Target))?;
        let (stream, is_reused) = match self.pool.take() {
            Some(stream) => (stream, true),
            None => (self.connect().await?, false),
        };
        let mut asking = Asking { stream, sending };
        match asking.reply(&mut head).await {
            Ok(reply) => Ok(reply
                .map(|body| reqwest::Body::wrap(Reply::new(body, asking, Arc::clone(&self.pool))))),
            Err(failure) => {
                let failure = Failure {
                    reused: is_reused,
                    ..failure
                };
                if failure.is_stale() {
                    // The others have waited longer, and a server that closes one closes them: the next try is to have a fresh one.
                    self.pool.forget();
                }
                Err(failure)
            }
        }
    }

    async fn connect(&self) -> Result<Link, Failure> {
        match &self.way {
            Way::Tcp { connector, origin } => {
                let stream = connector.clone().call(origin.clone()).await;
                let stream = stream.map_err(|error| Failure::of(unconnected(&error)))?;
                Ok(Link::Tcp(stream.into_inner()))
            }
            Way::Nowhere(patience) => {
                tokio::time::sleep(*patience).await;
                Err(Failure::of(Why::Dns))
            }
            Way::Unix(socket) => {
                let stream = UnixStream::connect(socket).await;
                let stream = stream.map_err(|error| Failure::of(unconnected(&error)))?;
                Ok(Link::Unix(stream))
            }
        }
    }
}

/// Why there is no connection.
fn unconnected(error: &(dyn StdError + 'static)) -> Why {
    let timed_out = super::failure::find::<io::Error>(error)
        .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut);
    if super::failure::is_out_of_files(error) {
        return Why::NoFiles;
    }
    // The connector's error has no other mark.
    if error.to_string().starts_with("dns") {
        super::failure::unresolved()
    } else if timed_out {
        Why::ConnectTimeout
    } else {
        Why::Refused
    }
}

/// A request on its way.
#[derive(Debug)]
struct Asking {
    stream: Link,
    sending: Sending,
}

impl Asking {
    /// Sends, and reads meanwhile: a server may answer before it has everything, and say why it takes no more.
    async fn reply(&mut self, head: &mut Head) -> Result<Response<receive::Body>, Failure> {
        let Self { stream, sending } = self;
        let mut is_broken = false;
        poll_fn(|cx| {
            if !is_broken && let Poll::Ready(Err(error)) = sending.poll(stream, cx) {
                match error {
                    send::Error::Body(why) => return Poll::Ready(Err(Failure::of(why))),
                    send::Error::Closed => is_broken = true,
                }
            }
            head.poll(stream, cx).map_err(|why| Failure {
                is_unread: is_broken,
                ..Failure::of(why)
            })
        })
        .await
    }
}

impl Pool {
    fn of(most: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Mutex::default(),
            most,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Link> {
        loop {
            let (stream, _) = self.lock().links.pop()?;
            if stream.is_usable() {
                return Some(stream);
            }
        }
    }

    fn forget(&self) {
        self.lock().links.clear();
    }

    fn put(self: &Arc<Self>, stream: Link) {
        if self.most == 0 || !stream.is_usable() {
            return;
        }
        let mut idle = self.lock();
        if idle.links.len() >= self.most {
            return;
        }
        idle.links.push((stream, Instant::now()));
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
        idle.links.retain(|(stream, since)| {
            since.elapsed() < super::client::POOL_IDLE && stream.is_usable()
        });
        if idle.links.is_empty() {
            idle.links = Vec::new();
            idle.is_watched = false;
            return;
        }
    }
}
