//! A connection in; the head of a reply out, and its body in pieces. What the bytes mean is ureq-proto's to say.

use super::link::Link;
use super::{Asking, Pool};
use crate::upstream::failure::Why;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::{Frame, SizeHint};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use ureq_proto::BodyMode;
use ureq_proto::client::state::{RecvBody, RecvResponse};
use ureq_proto::client::{Call, RecvBodyResult, RecvResponseResult, SendRequestResult};

/// Read at once, into the stack: a connection that waits holds nothing.
const READ_BYTES: usize = 16 << 10;
const MAX_HEAD_BYTES: usize = 64 << 10;
/// The most that stands between two chunks, or behind the last one.
const MAX_BETWEEN_BYTES: usize = 4 << 10;

/// A head that is awaited.
pub(super) struct Head {
    /// `None` once it was read.
    call: Option<Call<RecvResponse>>,
    /// What came of it.
    begun: Vec<u8>,
}

/// What follows a head.
pub(super) struct Body {
    /// `None` at its end.
    call: Option<Call<RecvBody>>,
    /// Not read yet.
    rest: Vec<u8>,
    /// More must come before anything can be made of the rest.
    is_stuck: bool,
    /// At its end: the server takes another request.
    is_reusable: bool,
}

/// Reads into the stack what is there, behind what came before.
fn read<T>(
    stream: &mut Link,
    cx: &mut Context<'_>,
    before: &[u8],
    then: impl FnOnce(usize, &[u8]) -> T,
) -> Poll<io::Result<T>> {
    let mut space = [MaybeUninit::uninit(); READ_BYTES];
    let mut buffer = ReadBuf::uninit(&mut space);
    buffer.put_slice(before);
    ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
    let read = buffer.filled().len() - before.len();
    Poll::Ready(Ok(then(read, buffer.filled())))
}

impl Head {
    /// The head of a reply to a request with this method. `None` for what is no request to a server.
    pub(super) fn of(method: &Method) -> Option<Self> {
        if *method == Method::CONNECT {
            return None;
        }
        // Only of a reply to HEAD does the method say anything. What would be sent goes nowhere: who sends does not
        // wait for who reads, nor the other way round.
        let asked = if *method == Method::HEAD {
            Method::HEAD
        } else {
            Method::GET
        };
        let mut request = Request::new(());
        *request.method_mut() = asked;
        let mut call = Call::new(request).ok()?.proceed();
        call.write(&mut [0; 64]).ok()?;
        match call.proceed().ok()?? {
            SendRequestResult::RecvResponse(call) => Some(Self {
                call: Some(call),
                begun: Vec::new(),
            }),
            SendRequestResult::Await100(_) | SendRequestResult::SendBody(_) => None,
        }
    }

    /// Ready when the head is there, or will not come.
    pub(super) fn poll(
        &mut self,
        stream: &mut Link,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Response<Body>, Why>> {
        loop {
            let parsed = read(stream, cx, &[], |read, bytes| match read {
                0 => Err(Why::Reset),
                _ if self.begun.is_empty() => self.parse(bytes),
                _ => {
                    self.begun.extend_from_slice(bytes);
                    let begun = std::mem::take(&mut self.begun);
                    self.parse(&begun)
                }
            });
            match ready!(parsed) {
                Err(_) => return Poll::Ready(Err(Why::Reset)),
                Ok(Err(why)) => return Poll::Ready(Err(why)),
                Ok(Ok(Some(reply))) => return Poll::Ready(Ok(reply)),
                Ok(Ok(None)) => {}
            }
        }
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Option<Response<Body>>, Why> {
        let mut left = bytes;
        loop {
            let call = self.call.as_mut().ok_or(Why::NotHttp)?;
            let parsed = call.try_response(left, false);
            let (used, reply) = parsed.map_err(|error| match error {
                ureq_proto::Error::HttpParseTooManyHeaders => Why::HeadTooLarge,
                _ => Why::NotHttp,
            })?;
            left = left.get(used..).unwrap_or_default();
            if let Some(reply) = reply {
                let call = self.call.take().and_then(Call::<RecvResponse>::proceed);
                let body = Body::new(call.ok_or(Why::NotHttp)?, left);
                return Ok(Some(reply.map(|()| body)));
            }
            // An interim one (RFC 9110, section 15.2) may be followed by the one that counts.
            if used == 0 {
                break;
            }
        }
        if left.len() > MAX_HEAD_BYTES {
            return Err(Why::HeadTooLarge);
        }
        self.begun = left.to_vec();
        Ok(None)
    }
}

impl Body {
    fn new(call: RecvResponseResult, rest: &[u8]) -> Self {
        let (call, must_close) = match call {
            RecvResponseResult::RecvBody(call) => (Some(call), true),
            RecvResponseResult::Redirect(call) => (None, call.must_close_connection()),
            RecvResponseResult::Cleanup(call) => (None, call.must_close_connection()),
        };
        let mut body = Self {
            call,
            rest: rest.to_vec(),
            is_stuck: false,
            is_reusable: !must_close && rest.is_empty(),
        };
        body.end_if_over();
        body
    }

    /// The next piece. `None` at the end.
    fn poll(&mut self, stream: &mut Link, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        while self.call.is_some() {
            let rest = std::mem::take(&mut self.rest);
            let piece = if rest.is_empty() || self.is_stuck {
                let polled = read(stream, cx, &rest, |read, bytes| match read {
                    0 => self.closed().map(|()| Bytes::new()),
                    _ => self.decode(bytes),
                });
                if polled.is_pending() {
                    self.rest = rest;
                }
                ready!(polled)?
            } else {
                self.decode(&rest)
            };
            match piece {
                Ok(piece) if piece.is_empty() => {}
                piece => return Poll::Ready(Some(piece)),
            }
        }
        Poll::Ready(None)
    }

    fn decode(&mut self, bytes: &[u8]) -> io::Result<Bytes> {
        let Some(call) = &mut self.call else {
            return Ok(Bytes::new());
        };
        let mut decoded = vec![0; bytes.len()];
        let (mut used, mut made) = (0, 0);
        loop {
            let input = bytes.get(used..).unwrap_or_default();
            let output = decoded.get_mut(made..).unwrap_or_default();
            let (taken, given) = call.read(input, output).map_err(io::Error::other)?;
            used += taken;
            made += given;
            if taken == 0 {
                break;
            }
        }
        decoded.truncate(made);
        self.rest = bytes.get(used..).unwrap_or_default().to_vec();
        self.is_stuck = true;
        self.end_if_over();
        if self.rest.len() > MAX_BETWEEN_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(decoded.into())
    }

    /// The server has closed the connection.
    fn closed(&mut self) -> io::Result<()> {
        if let Some(call) = self.call.take()
            && call.body_mode() != BodyMode::CloseDelimited
        {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    fn end_if_over(&mut self) {
        let is_over = |call: &mut Call<RecvBody>| {
            call.can_proceed() && call.body_mode() != BodyMode::CloseDelimited
        };
        if let Some(call) = self.call.take_if(is_over) {
            let must_close = match call.proceed() {
                Some(RecvBodyResult::Redirect(call)) => call.must_close_connection(),
                Some(RecvBodyResult::Cleanup(call)) => call.must_close_connection(),
                None => true,
            };
            self.is_reusable = !must_close && self.rest.is_empty();
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.call.as_ref().map(Call::body_mode) {
            None | Some(BodyMode::NoBody) => SizeHint::with_exact(0),
            Some(BodyMode::LengthDelimited(left)) => SizeHint::with_exact(left),
            Some(BodyMode::Chunked | BodyMode::CloseDelimited) => SizeHint::default(),
        }
    }
}

/// A reply's body, which drives its connection.
pub(super) struct Reply {
    body: Body,
    /// `None` once it was given back.
    asking: Option<Asking>,
    pool: Arc<Pool>,
    /// Something was handed on, and may not have been written yet.
    is_unflushed: bool,
    /// How it broke, to be told when what came before is written.
    broken: Option<io::Error>,
}

impl Reply {
    pub(super) fn new(body: Body, asking: Asking, pool: Arc<Pool>) -> Self {
        let mut reply = Self {
            body,
            asking: Some(asking),
            pool,
            is_unflushed: false,
            broken: None,
        };
        reply.give_back_if_over();
        reply
    }

    fn give_back_if_over(&mut self) {
        if self.body.call.is_none()
            && let Some(Asking { stream, sending }) = self.asking.take()
            && self.body.is_reusable
            && sending.is_over()
        {
            self.pool.put(stream);
        }
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let Some(asking) = &mut self.asking else {
            return Poll::Ready(None);
        };
        let Asking { stream, sending } = asking;
        if !sending.is_over() {
            // A server may read on while it answers; one that does not says what it has to say.
            let _told_by_the_reply = sending.poll(stream, cx);
        }
        let polled = self.body.poll(stream, cx);
        self.give_back_if_over();
        polled
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if let Some(broken) = this.broken.take() {
            return Poll::Ready(Some(Err(broken)));
        }
        let polled = this.poll_piece(cx);
        if let Poll::Ready(Some(Err(broken))) = polled {
            this.asking = None;
            if !this.is_unflushed {
                return Poll::Ready(Some(Err(broken)));
            }
            // An error ends the client's connection at once, with what is not written yet; on a pause it is.
            this.is_unflushed = false;
            this.broken = Some(broken);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.is_unflushed = polled.is_ready();
        polled.map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        self.body.call.is_none() && self.broken.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}
