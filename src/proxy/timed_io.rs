//! A connection in; the same one out, with two time limits that hyper does not have. Never
//! touches the bytes.
//!
//! hyper's header timeout begins only when the HTTP version is known, so a client that connects
//! and stays silent, or that stops in the middle of the HTTP/2 preface, would be kept for ever.
//! And a client that stops reading would keep its stream, and the upstream's, for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// RFC 9113, section 3.4.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A client that takes not one byte for so long has stopped reading, or is gone without a word.
const WRITE_STALL: Duration = Duration::from_secs(300);

/// A connection whose first bytes and whose writes have a time limit.
#[derive(Debug)]
pub(super) struct TimedIo<S> {
    inner: S,
    waiting: Option<Waiting>,
    /// Set while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
struct Waiting {
    limit: Pin<Box<Sleep>>,
    seen: usize,
}

impl<S> TimedIo<S> {
    pub(super) fn new(inner: S, limit: Duration) -> Self {
        Self {
            inner,
            waiting: Some(Waiting {
                limit: Box::pin(tokio::time::sleep(limit)),
                seen: 0,
            }),
            stalled: None,
        }
    }

    /// Lets a write through, or ends it where nothing was taken for too long.
    fn written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(WRITE_STALL)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Waiting {
    /// Whether the version is known with these bytes: they are no preface, or a whole one.
    fn is_over(&mut self, bytes: &[u8]) -> bool {
        let rest = PREFACE.get(self.seen..).unwrap_or_default();
        self.seen += bytes.len();
        bytes.is_empty() || bytes.len() >= rest.len() || !rest.starts_with(bytes)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let Some(waiting) = &mut self.waiting else {
            return read;
        };
        if read.is_pending() {
            ready!(waiting.limit.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if waiting.is_over(buffer.filled().get(before..).unwrap_or_default()) {
            self.waiting = None;
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_and_one_that_stops_in_the_preface_time_out() {
        for said in ["", "PRI * HT"] {
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(said.as_bytes()).await.unwrap();
            let mut server = TimedIo::new(server, LIMIT);
            let mut got = Vec::new();
            let error = server.read_to_end(&mut got).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert_eq!(got, said.as_bytes());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_said_its_version_may_be_silent() {
        for said in ["GET", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(said.as_bytes()).await.unwrap();
            let mut server = TimedIo::new(server, LIMIT);
            let mut got = vec![0; said.len()];
            server.read_exact(&mut got).await.unwrap();
            let silence = tokio::time::timeout(3 * LIMIT, server.read(&mut [0; 8])).await;
            assert!(silence.is_err());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = TimedIo::new(server, LIMIT);
        let slow = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(WRITE_STALL / 2).await;
                client.read_exact(&mut [0; 8]).await.unwrap();
            }
            tokio::time::sleep(3 * WRITE_STALL).await;
            drop(client);
        });
        let begun = tokio::time::Instant::now();
        let error = server.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), 6 * WRITE_STALL);
        slow.abort();
    }
}
