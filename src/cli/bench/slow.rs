//! Clients that read a long stream at a trickle: what each takes of a proxy's memory, how far the server gets ahead of it,
//! and whether others wait.

use super::super::Failure;
use super::case::Case;
use super::load::{self, Asked};
use super::program::Program;
use super::upstream::{TRICKLED, Upstream};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;
use tokio::task::JoinSet;

/// What a reader's own system keeps for it: as little as it may.
const RECEIVE_BYTES: u32 = 4 << 10;
/// What a reader takes at once, at the most.
const PIECE_BYTES: usize = 8 << 10;
/// Between two of its pieces.
const PAUSE: Duration = Duration::from_millis(100);
/// What grows without bound has grown by then.
const FOR_A_WHILE: Duration = Duration::from_secs(4);
/// How long others are timed, without and with the readers.
const TIMED: Duration = Duration::from_secs(2);
/// A reader that has nothing by then has none.
const OPENED_WITHIN: Duration = Duration::from_secs(20);

/// What readers at a trickle did to a proxy.
pub(super) struct Slow {
    pub(super) name: String,
    pub(super) outcome: Result<Suffered, String>,
}

/// Bytes, and times of a small request that nothing else is asked beside.
pub(super) struct Suffered {
    pub(super) idle: Option<u64>,
    pub(super) with: Option<u64>,
    /// What the server had sent of each stream and its reader had not read: kernels' buffers and the proxy's.
    pub(super) ahead: u64,
    pub(super) p99_alone: Duration,
    pub(super) p99_beside: Duration,
}

/// So many readers at each proxy, one proxy after the other.
pub(super) async fn measure(
    client: &reqwest::Client,
    upstream: &Upstream,
    proxies: &[Program],
    count: u16,
) -> Result<Vec<Slow>, Failure> {
    let mut measured = Vec::new();
    for proxy in proxies {
        let outcome = match through(client, upstream, proxy, count).await {
            Err(failure) if !proxy.may_fail => return Err(failure),
            outcome => outcome.map_err(|failure| failure.to_string()),
        };
        measured.push(Slow {
            name: proxy.name.clone(),
            outcome,
        });
    }
    Ok(measured)
}

async fn through(
    client: &reqwest::Client,
    upstream: &Upstream,
    proxy: &Program,
    count: u16,
) -> Result<Suffered, Failure> {
    let others = Asked::of(proxy, Case::PassThrough);
    let p99_alone = p99(client, &others).await?;
    let idle = proxy.rss();
    let sent_before = upstream.trickled.load(Ordering::Relaxed);
    let read = Arc::new(AtomicU64::new(0));
    let mut readers = Readers::default();
    for _ in 0..count {
        readers.add(Asked::of(proxy, Case::StreamTools), Arc::clone(&read));
    }
    readers.wait_for_all(count, proxy).await?;
    tokio::time::sleep(FOR_A_WHILE).await;
    let p99_beside = p99(client, &others).await?;
    let sent = upstream.trickled.load(Ordering::Relaxed) - sent_before;
    let ahead = sent.saturating_sub(read.load(Ordering::Relaxed));
    let with = proxy.rss();
    readers.check()?;
    Ok(Suffered {
        idle,
        with,
        ahead: ahead / u64::from(count.max(1)),
        p99_alone,
        p99_beside,
    })
}

/// Of small requests, one at a time.
async fn p99(client: &reqwest::Client, asked: &Asked) -> Result<Duration, Failure> {
    let until = Instant::now() + TIMED;
    let mut times = Vec::new();
    while Instant::now() < until {
        times.push(load::request(client, asked, asked.body()).await?.time);
    }
    times.sort_unstable();
    Ok(load::at(&times, 0.99))
}

/// They read until this is dropped.
#[derive(Default)]
struct Readers {
    reading: JoinSet<Result<(), Failure>>,
    begun: Arc<AtomicU64>,
}

impl Readers {
    fn add(&mut self, asked: Asked, read: Arc<AtomicU64>) {
        let begun = Arc::clone(&self.begun);
        self.reading.spawn(reader(asked, read, begun));
    }

    async fn wait_for_all(&mut self, count: u16, proxy: &Program) -> Result<(), Failure> {
        let until = Instant::now() + OPENED_WITHIN;
        while self.begun.load(Ordering::Relaxed) < u64::from(count) {
            self.check()?;
            if Instant::now() > until {
                let begun = self.begun.load(Ordering::Relaxed);
                return Err(Failure::Runtime(format!(
                    "{}: {begun} of {count} slow readers had an event within {} s",
                    proxy.name,
                    OPENED_WITHIN.as_secs()
                )));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// None of them has ended.
    fn check(&mut self) -> Result<(), Failure> {
        match self.reading.try_join_next() {
            None => Ok(()),
            Some(ended) => Err(match ended.map_err(load::ended)? {
                Err(failure) => failure,
                Ok(()) => Failure::Runtime("the stream of a slow reader ended".to_owned()),
            }),
        }
    }
}

/// One reader: a connection of its own with buffers as small as they may be.
async fn reader(asked: Asked, read: Arc<AtomicU64>, begun: Arc<AtomicU64>) -> Result<(), Failure> {
    let base = asked.base.clone();
    let failed = |why: String| Failure::Runtime(format!("{base}: a slow reader: {why}"));
    let url = url::Url::parse(&base).map_err(|error| failed(error.to_string()))?;
    let address = url.socket_addrs(|| None).ok();
    let address: SocketAddr = address
        .and_then(|all| all.first().copied())
        .ok_or_else(|| failed("no address".to_owned()))?;
    let connected = async {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVE_BYTES)?;
        socket.connect(address).await
    };
    let io = connected.await.map_err(|error| failed(error.to_string()))?;
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(PIECE_BYTES)
        .handshake::<_, Full<Bytes>>(TokioIo::new(io))
        .await
        .map_err(|error| failed(error.to_string()))?;
    let mut request = http::Request::post(format!("{}/chat/completions", url.path()));
    if let Some(headers) = request.headers_mut() {
        headers.extend(asked.headers);
    }
    let request = request
        .header(http::header::HOST, address.to_string())
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Full::new(Case::StreamTools.body(TRICKLED, &asked.model, 0)))
        .map_err(|error| failed(error.to_string()))?;
    let reading = async {
        let reply = sender.send_request(request).await;
        let reply = reply.map_err(|error| failed(error.to_string()))?;
        if !reply.status().is_success() {
            return Err(failed(reply.status().to_string()));
        }
        let mut body = reply.into_body();
        let mut is_first = true;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| failed(error.to_string()))?;
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            read.fetch_add(bytes as u64, Ordering::Relaxed);
            if std::mem::take(&mut is_first) {
                begun.fetch_add(1, Ordering::Relaxed);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    };
    tokio::pin!(connection);
    tokio::select! {
        ended = reading => ended,
        ended = &mut connection => ended.map_err(|error| failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::upstream;
    use super::*;

    #[tokio::test]
    async fn a_reader_at_a_trickle_holds_its_server_back() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        let (read, begun) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        let asked = Asked::direct(&upstream.url(), Case::StreamTools);
        let mut reading = JoinSet::new();
        reading.spawn(reader(asked, Arc::clone(&read), Arc::clone(&begun)));
        while read.load(Ordering::Relaxed) < PIECE_BYTES as u64 {
            if let Some(ended) = reading.try_join_next() {
                ended.map_err(load::ended)??;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(begun.load(Ordering::Relaxed), 1);
        let sent = upstream.trickled.load(Ordering::Relaxed);
        assert!(sent > read.load(Ordering::Relaxed));
        assert!(sent < upstream::TRICKLED_BYTES, "{sent}");
        Ok(())
    }
}
