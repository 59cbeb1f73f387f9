//! A connection in; the same one out, with a time limit that hyper does not have. Never touches the bytes.
//!
//! A client that stops reading would keep its stream, and the upstream's, for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A client that takes not one byte for so long has stopped reading, or is gone without a word.
const WRITE_STALL: Duration = Duration::from_secs(300);

/// A connection whose writes have a time limit.
#[derive(Debug)]
pub(super) struct TimedIo<S> {
    inner: S,
    /// Set while the client takes nothing.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedIo<S> {
    pub(super) const fn new(inner: S) -> Self {
        Self {
            inner,
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

impl<S: AsyncRead + Unpin> AsyncRead for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
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

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut server = TimedIo::new(server);
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
