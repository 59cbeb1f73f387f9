//! A listener in; serves the worker's HTTP on it until told to stop, then lets what runs end, for
//! a limited time.
//!
//! HTTP/1.1 over a Unix socket or TCP. Who may connect is whom the operator lets: the proxy is the
//! one that checks clients' sizes, times and credentials.

mod body;
mod generate;
mod jobs;
mod route;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

use super::backend::Whitespace;
use super::metrics::Metrics;
use super::models::Models;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use isogloss_compile::at_work::Notes;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;

/// Bounds a head, and what one connection buffers in each direction.
const MAX_BUFFER_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;
/// How long a head may take, and how long an idle TCP connection is kept. Over a Unix socket there
/// is one client, which must never find its connection closed under a request.
const HEAD_WITHIN: Duration = Duration::from_secs(300);
/// When the process has no file descriptor left, accepting again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// For the error events that end streams, after the engine has stopped.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    /// The models.
    pub models: Models,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// How JSON is laid out where a request does not say.
    pub whitespace: Whitespace,
    /// Where it is noted which constraint is worked on, if anybody reads that.
    pub notes: Option<Arc<Notes>>,
}

/// Where requests come from.
#[derive(Debug)]
pub enum Listener {
    /// A Unix socket.
    Unix(UnixListener),
    /// A TCP address.
    Tcp(TcpListener),
}

/// A connection of either kind.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

impl Listener {
    /// The next connection; errors are waited out.
    async fn accept(&self) -> Box<dyn Stream> {
        loop {
            let accepted: io::Result<Box<dyn Stream>> = match self {
                Self::Unix(listener) => (listener.accept().await)
                    .map(|(stream, _peer)| Box::new(stream) as Box<dyn Stream>),
                Self::Tcp(listener) => listener.accept().await.map(|(stream, _peer)| {
                    // Small events must not wait for the acknowledgement of the one before.
                    let _unimportant = stream.set_nodelay(true);
                    Box::new(stream) as Box<dyn Stream>
                }),
            };
            match accepted {
                Ok(stream) => return stream,
                Err(error) if is_of_the_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted for the moment");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

/// The client was gone before it was accepted.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// Serves until `shutdown` ends, which says how long what runs may go on; then until every
/// connection is closed, or that time is over: engines stop then, and what is left hears an error.
pub async fn serve(listener: Listener, app: Arc<App>, shutdown: impl Future<Output = Duration>) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER_BYTES);
    match listener {
        Listener::Unix(_) => http.header_read_timeout(None),
        Listener::Tcp(_) => http.header_read_timeout(HEAD_WITHIN),
    };
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    let grace = loop {
        let stream = tokio::select! {
            grace = &mut shutdown => break grace,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection panicked");
                }
                continue;
            }
            stream = listener.accept() => stream,
        };
        let app = Arc::clone(&app);
        let service = service_fn(move |request| {
            let app = Arc::clone(&app);
            async move { Ok::<_, Infallible>(route::answer(app, request).await) }
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    };
    drop(listener);
    drain(&app, graceful, connections, grace).await;
}

async fn drain(
    app: &App,
    graceful: GracefulShutdown,
    mut connections: JoinSet<()>,
    grace: Duration,
) {
    let ended = graceful.shutdown();
    tokio::pin!(ended);
    let are_answered = tokio::time::timeout(grace, &mut ended).await.is_ok();
    let models = app.models.clone();
    let stopping = tokio::task::spawn_blocking(move || models.stop());
    // A forward pass that takes longer is not waited for.
    let _ = tokio::time::timeout(LAST_WORDS, stopping).await;
    if are_answered {
        return;
    }
    let _ = tokio::time::timeout(LAST_WORDS, &mut ended).await;
    connections.shutdown().await;
}
