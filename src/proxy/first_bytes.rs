//! A connection in; the same one out, which fails where the client does not say within a time
//! limit which HTTP it speaks.
//!
//! hyper's own header timeout begins only when the HTTP version is known, so a client that
//! connects and stays silent, or that stops in the middle of the HTTP/2 preface, would be kept
//! for ever. Never touches the bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// RFC 9113, section 3.4.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection whose first bytes have a time limit.
#[derive(Debug)]
pub(super) struct FirstBytes<S> {
    inner: S,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    limit: Pin<Box<Sleep>>,
    seen: usize,
}

impl<S> FirstBytes<S> {
    pub(super) fn new(inner: S, limit: Duration) -> Self {
        Self {
            inner,
            waiting: Some(Waiting {
                limit: Box::pin(tokio::time::sleep(limit)),
                seen: 0,
            }),
        }
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

impl<S: AsyncRead + Unpin> AsyncRead for FirstBytes<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstBytes<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
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
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_and_one_that_stops_in_the_preface_time_out() {
        for said in ["", "PRI * HT"] {
            let (mut client, server) = tokio::io::duplex(64);
            client.write_all(said.as_bytes()).await.unwrap();
            let mut server = FirstBytes::new(server, LIMIT);
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
            let mut server = FirstBytes::new(server, LIMIT);
            let mut got = vec![0; said.len()];
            server.read_exact(&mut got).await.unwrap();
            let silence = tokio::time::timeout(3 * LIMIT, server.read(&mut [0; 8])).await;
            assert!(silence.is_err());
        }
    }
}
