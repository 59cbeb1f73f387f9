//! A connection in; the same one out, whose bytes are charged to the budget until they have become a message: the
//! library holds on to all that came of one.

use crate::proxy::budget::Charge;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Charged at once.
const STEP_BYTES: usize = 16 << 10;

/// A connection whose unread message is charged.
#[derive(Debug)]
pub(super) struct Metered<S> {
    inner: S,
    charge: Charge,
    came: usize,
}

impl<S> Metered<S> {
    pub(super) const fn new(inner: S, charge: Charge) -> Self {
        Self {
            inner,
            charge,
            came: 0,
        }
    }

    /// A message is whole: what was charged for it, which is its own from now on.
    pub(super) fn whole(&mut self) -> Charge {
        self.came = 0;
        let next = self.charge.another();
        mem::replace(&mut self.charge, next)
    }
}

/// Whether a connection ended because there was no room for a message.
pub(super) fn is_no_room(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        self.came += buffer.filled().len() - before;
        let came = self.came;
        if came > self.charge.bytes() && self.charge.try_grow_to(came + STEP_BYTES).is_err() {
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
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
    use crate::proxy::budget::Budget;
    use crate::telemetry::Metrics;
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn a_message_without_end_finds_no_room_and_one_after_the_other_does() {
        const ROOM: usize = 64 << 10;
        let budget = Budget::new(ROOM, Arc::new(Metrics::new([])));
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut server = Metered::new(server, budget.charge());
        client.write_all(&[0; 1 << 20]).await.unwrap();
        let mut space = [0; 4096];
        for _ in 0..100 {
            server.read_exact(&mut space).await.unwrap();
            drop(server.whole());
        }
        let mut read = 0;
        let error = loop {
            match server.read(&mut space).await {
                Ok(some) => read += some,
                Err(error) => break error,
            }
        };
        assert!(is_no_room(&error));
        assert!((ROOM / 2..=ROOM).contains(&read), "{read}");
    }
}
