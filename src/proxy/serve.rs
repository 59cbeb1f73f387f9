//! A listener in; serves HTTP/1.1 and HTTP/2 (prior knowledge) on it until told to stop, then
//! lets what runs end, for a limited time.

use super::timed_io::TimedIo;
use super::{App, stack};
use crate::config::Config;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Bounds a head, and what one connection buffers in each direction. hyper's own default is
/// 408 KiB, which ten thousand streams multiply.
const MAX_BUFFER_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;
const MAX_HEADER_LIST_BYTES: u32 = 32 << 10;
/// What one HTTP/2 client may have at work at once.
const MAX_STREAMS: u32 = 128;
const HTTP2_PING: Duration = Duration::from_secs(30);
const HTTP2_PONG: Duration = Duration::from_secs(20);
/// When the process has no file descriptor left, accepting again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Kept of the time to drain for writing error events.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until `shutdown` ends and every connection is closed, or the time to drain is over.
///
/// # Errors
/// None once it serves: accepting goes on whatever befalls a connection.
pub async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.local_addr()?;
    let service = stack::stack(&app);
    let http = http(&app.config);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let stream = tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection panicked");
                }
                continue;
            }
            stream = accept(&listener) => stream,
        };
        let io = TimedIo::new(stream, app.config.timeouts.header);
        let service = TowerToHyperService::new(service.clone());
        let connection = http
            .serve_connection(TokioIo::new(io), service)
            .into_owned();
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error, "a connection ended early");
            }
        });
    }
    drop(listener);
    drain(&app, graceful, connections).await;
    Ok(())
}

fn http(config: &Config) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        // Without a timer hyper ignores the header timeout. It runs between two requests
        // as well, so it is also how long an idle connection is kept.
        .timer(TokioTimer::new())
        .header_read_timeout(config.timeouts.header)
        // A client that is gone looks like one that only writes no more: with half-closures a
        // generation that nobody waits for would run to its end.
        .half_close(false)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER_BYTES);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PONG)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .max_send_buf_size(MAX_BUFFER_BYTES);
    http
}

/// The next connection; errors are waited out.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => {
                // Small events must not wait for the acknowledgement of the one before.
                let _unimportant = stream.set_nodelay(true);
                return stream;
            }
            Err(error) if is_of_the_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted for the moment");
                tokio::time::sleep(ACCEPT_PAUSE).await;
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

/// Idle connections are closed, busy ones after their reply; at the end of the time streams end
/// with an error event, and what is left then is cut off.
async fn drain(app: &App, graceful: GracefulShutdown, mut connections: JoinSet<()>) {
    tracing::info!(connections = connections.len(), "draining");
    app.shutdown.begin();
    let limit = app.config.timeouts.drain;
    let last_words = LAST_WORDS.min(limit / 2);
    let ended = graceful.shutdown();
    tokio::pin!(ended);
    if tokio::time::timeout(limit - last_words, &mut ended)
        .await
        .is_ok()
    {
        return;
    }
    app.shutdown.out_of_time();
    if tokio::time::timeout(last_words, &mut ended).await.is_err() {
        tracing::warn!("cutting off what did not end in time");
    }
    connections.shutdown().await;
}
