//! A connection of HTTP/1.1 in; the same one out, on which what readers disagree about is a byte that hyper refuses, or
//! an error in the middle of a body: either way the answer is 400, and the connection is closed. All else is as it came.
//! One that is closed on a body that is still coming is read to the body's end: the system would answer what nobody reads
//! with a reset, and the client would not see why it was refused.

use http::{Response, StatusCode};
use hyper::service::Service;
use isogloss_framing::{Fault, RequestFraming};
use pin_project_lite::pin_project;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// What no head may hold: given to hyper in place of the byte that is wrong.
const REFUSED: u8 = 0;

/// Of a head that came in pieces hyper looks at nothing before it sees its end.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// How long what is left of a body is read that nobody wants any more, and how long that may say nothing.
const LINGER: Duration = Duration::from_secs(30);
const LINGER_PAUSE: Duration = Duration::from_secs(3);
const LINGER_BYTES: usize = 16 << 10;

/// A connection whose requests are looked at before hyper reads them.
#[derive(Debug)]
pub(super) struct StrictIo<S> {
    inner: S,
    framing: RequestFraming,
    /// What is read in place of all that comes after a fault; then an error.
    instead: Option<&'static [u8]>,
    switched: Switched,
    /// Set once nothing more is written, while a body is still coming.
    lingering: Option<Lingering>,
}

/// Until when the rest of a body is waited for.
#[derive(Debug)]
struct Lingering {
    pause: Pin<Box<Sleep>>,
    end: Instant,
}

/// Whether a connection left HTTP for another protocol.
#[derive(Debug, Clone, Default)]
pub(super) struct Switched(Arc<AtomicBool>);

impl Switched {
    /// The connection's service, whose answers are looked at. Of those that we give, 101 alone ends HTTP; a client says
    /// nothing of the other protocol before.
    pub(super) const fn noting<S>(self, inner: S) -> Noting<S> {
        Noting {
            inner,
            switched: self,
        }
    }

    fn is_so(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A service that notes when it left HTTP.
#[derive(Debug)]
pub(super) struct Noting<S> {
    inner: S,
    switched: Switched,
}

impl<R, B, S: Service<R, Response = Response<B>>> Service<R> for Noting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Noted<S::Future>;

    fn call(&self, request: R) -> Self::Future {
        Noted {
            reply: self.inner.call(request),
            switched: self.switched.clone(),
        }
    }
}

pin_project! {
    /// A reply that will be noted.
    #[derive(Debug)]
    pub(super) struct Noted<F> {
        #[pin]
        reply: F,
        switched: Switched,
    }
}

impl<B, E, F: Future<Output = Result<Response<B>, E>>> Future for Noted<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let noted = self.project();
        let reply = ready!(noted.reply.poll(cx));
        let status = reply.as_ref().map(Response::status);
        if status.is_ok_and(|status| status == StatusCode::SWITCHING_PROTOCOLS) {
            noted.switched.0.store(true, Ordering::Relaxed);
        }
        Poll::Ready(reply)
    }
}

impl<S> StrictIo<S> {
    pub(super) fn new(inner: S, switched: Switched) -> Self {
        Self {
            inner,
            framing: RequestFraming::new(),
            instead: None,
            switched,
            lingering: None,
        }
    }
}

impl<S: AsyncRead + Unpin> StrictIo<S> {
    /// Reads what is left of a body, for as long as it may take.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut room = [0; LINGER_BYTES];
        while self.framing.is_within_body() {
            let lingering = self.lingering.as_mut();
            if lingering.is_none_or(|it| it.pause.as_mut().poll(cx).is_ready()) {
                break;
            }
            let mut buffer = ReadBuf::new(&mut room);
            let read = ready!(Pin::new(&mut self.inner).poll_read(cx, &mut buffer));
            let is_over = read.is_err() || buffer.filled().is_empty();
            if is_over || self.framing.judge(buffer.filled()).is_some() {
                break;
            }
            if let Some(Lingering { pause, end }) = &mut self.lingering {
                let until = Instant::now() + LINGER_PAUSE;
                pause.as_mut().reset(until.min(*end));
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StrictIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(instead) = &mut self.instead {
            return Poll::Ready(said(instead, buffer));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        if self.switched.is_so() {
            return Poll::Ready(Ok(()));
        }
        let came = buffer.filled_mut().get_mut(before..).unwrap_or_default();
        match self.framing.judge(came) {
            None => {}
            Some(Fault::Head(at)) => {
                tracing::debug!("a request is refused whose end readers disagree about");
                if let Some(byte) = came.get_mut(at) {
                    *byte = REFUSED;
                }
                self.instead = Some(HEAD_END);
                buffer.set_filled(before + at + 1);
            }
            Some(Fault::Body(at)) => {
                self.instead = Some(b"");
                // Nothing at all would be a client that is gone.
                if at == 0 {
                    return Poll::Ready(Err(ambiguous()));
                }
                buffer.set_filled(before + at);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Reads some of these bytes.
fn said(bytes: &mut &'static [u8], buffer: &mut ReadBuf<'_>) -> io::Result<()> {
    let (now, later) = bytes.split_at(bytes.len().min(buffer.remaining()));
    if now.is_empty() {
        return Err(ambiguous());
    }
    buffer.put_slice(now);
    *bytes = later;
    Ok(())
}

/// What is read in place of a chunk that is wrong.
fn ambiguous() -> io::Error {
    let message = "a chunked body is refused whose end readers disagree about";
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for StrictIo<S> {
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
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.inner).poll_shutdown(cx))?;
            if self.switched.is_so() || !self.framing.is_within_body() {
                return Poll::Ready(Ok(()));
            }
            self.lingering = Some(Lingering {
                pause: Box::pin(tokio::time::sleep(LINGER_PAUSE)),
                end: Instant::now() + LINGER,
            });
        }
        self.poll_rest(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests;
