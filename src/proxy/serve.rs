//! A listener in; serves HTTP/1.1 and HTTP/2 (prior knowledge) on it until told to stop, then
//! lets what runs end, for a limited time.

use super::busy::Busy;
use super::house::{House, Newest};
use super::strict_io::{StrictIo, Switched};
use super::timed_io::TimedIo;
use super::version::{self, Version};
use super::{App, stack};
use crate::tls::{HTTP2, OTHER, TIMEOUT, Wire, failure};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower::util::MapRequest;

/// Bounds a head, and what one connection buffers in each direction. hyper's own default is
/// 408 KiB, which ten thousand streams multiply.
const MAX_BUFFER_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 100;
const MAX_HEADER_LIST_BYTES: u32 = 32 << 10;
/// What one HTTP/2 client may have at work at once.
const MAX_STREAMS: u32 = 128;
const HTTP2_PING: Duration = Duration::from_secs(30);
const HTTP2_PONG: Duration = Duration::from_secs(20);
/// How long one is kept on which nothing is asked. (Of HTTP/1, that is the time for a head.)
const HTTP2_IDLE: Duration = Duration::from_secs(60);
/// What an HTTP/2 client may send before anybody reads it: hyper's own default is a megabyte a connection.
const HTTP2_WINDOW: u32 = 256 << 10;
/// Kept of the time to drain for writing error events.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until `shutdown` ends and every connection is closed, or the time to drain is over.
///
/// # Errors
/// None once it serves: accepting goes on whatever befalls a connection.
pub async fn serve(
    listener: TcpListener,
    house: Arc<House>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    listener.local_addr()?;
    let service = Newest::new(Arc::clone(&house), stack::stack::<Incoming>);
    let room = Arc::clone(&house.app().connections);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        let (stream, connected) = tokio::select! {
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "a connection panicked");
                }
                continue;
            }
            accepted = room.accept(&listener) => accepted,
        };
        let peer = connected.peer;
        let service = MapRequest::new(service.clone(), move |request: Request<Incoming>| {
            peer.asks(request)
        });
        let watcher = graceful.watcher();
        let house = Arc::clone(&house);
        let app = house.app();
        connections.spawn(async move {
            let _connected = connected;
            let begun = app.shutdown.begun();
            let left = app.shutdown.left();
            let head_time = app.config.timeouts.header;
            // Apart, as what speaks HTTP is: what shakes hands is not to take room for as long as a stream is open.
            let opening = Box::pin(async move {
                tokio::select! {
                    () = app.shutdown.begun() => None,
                    opened = async {
                        house.named().await;
                        opened(&app, stream).await
                    } => opened,
                }
            });
            let Some((stream, version)) = opening.await else {
                return;
            };
            let io = TimedIo::new(stream);
            let ended =
                match version {
                    Version::Http1 => {
                        let switched = Switched::default();
                        let io = TokioIo::new(StrictIo::new(io, switched.clone()));
                        let service = switched.noting(TowerToHyperService::new(service));
                        let connection = http1(head_time).serve_connection(io, service);
                        let mut connection = Box::pin(connection.with_upgrades());
                        // hyper-util watches none that may become a WebSocket. While the watcher lives, it is waited for.
                        let ended = tokio::select! {
                            ended = &mut connection => ended,
                            () = begun => {
                                connection.as_mut().graceful_shutdown();
                                connection.await
                            }
                        };
                        drop(watcher);
                        ended
                    }
                    Version::Http2 => Box::pin(async move {
                        let busy = Busy::new();
                        let idle = busy.idle(HTTP2_IDLE);
                        let service = TowerToHyperService::new(busy.counted(service));
                        let mut connection =
                            Box::pin(http2().serve_connection(TokioIo::new(io), service));
                        let ended = tokio::select! {
                            ended = &mut connection => ended,
                            () = async { tokio::select! { () = begun => {}, () = idle => {}, () = left => {} } } => {
                                connection.as_mut().graceful_shutdown();
                                connection.await
                            }
                        };
                        drop(watcher);
                        ended
                    })
                    .await,
                };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    drain(&house.app(), graceful, connections).await;
    Ok(())
}

/// A connection on which HTTP can be spoken, and which; `None` where the client does not begin in time, or shakes no
/// hands where it is to.
async fn opened(app: &App, stream: TcpStream) -> Option<(Wire, Version)> {
    let limit = app.config.timeouts.header;
    let Some(tls) = &app.tls else {
        let version = version::of(&stream, limit).await?;
        return Some((Wire::Plain(stream), version));
    };
    match tokio::time::timeout(limit, tls.accept(stream)).await {
        Ok(Ok(wire)) => {
            let version = match wire.protocol() {
                Some(HTTP2) => Version::Http2,
                _ => Version::Http1,
            };
            Some((wire, version))
        }
        Ok(Err(error)) => {
            let why = failure(&error);
            app.metrics.handshake_failed(why);
            // Who only looks whether the port is open ends one, too.
            if why != OTHER && tls.tells() {
                tracing::warn!(%error, why, "a client's TLS handshake failed; those of the next minute are counted alone (isogloss_tls_handshakes_failed_total)");
            } else {
                tracing::debug!(%error, why, "a client's TLS handshake failed");
            }
            None
        }
        Err(_elapsed) => {
            app.metrics.handshake_failed(TIMEOUT);
            None
        }
    }
}

fn http1(head_time: Duration) -> http1::Builder {
    let mut http = http1::Builder::new();
    // Without a timer hyper ignores the header timeout. It runs between two requests
    // as well, so it is also how long an idle connection is kept.
    http.timer(TokioTimer::new())
        .header_read_timeout(head_time)
        // A client that is gone looks like one that only writes no more: with half-closures a
        // generation that nobody waits for would run to its end.
        .half_close(false)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_BUFFER_BYTES);
    http
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .keep_alive_interval(HTTP2_PING)
        .keep_alive_timeout(HTTP2_PONG)
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(HTTP2_WINDOW)
        .initial_connection_window_size(HTTP2_WINDOW)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .max_send_buf_size(MAX_BUFFER_BYTES);
    http
}

/// Idle connections are closed, busy ones after their reply; at the end of the time streams end
/// with an error event, and what is left then is cut off.
async fn drain(app: &App, graceful: GracefulShutdown, mut connections: JoinSet<()>) {
    tracing::info!(connections = connections.len(), "draining");
    app.shutdown.begin();
    let limit = app.config.timeouts.drain;
    let last_words = LAST_WORDS.min(limit / 2);
    let ended = async {
        graceful.shutdown().await;
        // WebSockets have left their connections; all places are free when they have ended.
        app.sockets.empty().await;
    };
    tokio::pin!(ended);
    if tokio::time::timeout(limit - last_words, &mut ended)
        .await
        .is_ok()
    {
        return;
    }
    let exchanges = app.metrics.in_flight();
    tracing::warn!(
        exchanges,
        "the time to drain is over (timeouts.drain): exchanges that run are cut"
    );
    app.shutdown.out_of_time();
    if tokio::time::timeout(last_words, &mut ended).await.is_err() {
        let exchanges = app.metrics.in_flight();
        tracing::warn!(exchanges, "cutting off what did not end in time");
    }
    connections.shutdown().await;
}
