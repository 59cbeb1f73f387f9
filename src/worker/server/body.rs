//! The one type of reply bodies. One that is streamed is polled by the client and owns its jobs:
//! a client that goes away drops them with it.

use super::jobs::Jobs;
use crate::worker::job::Event;
use crate::worker::models::Lease;
use crate::worker::reply::Streamed;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// What is gathered before it is handed over.
const PIECE_BYTES: usize = 16 << 10;
/// While its jobs wait for a slot, a stream says so often that it is there: who reads it may take
/// silence for a defect.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// The body of a reply.
pub(super) enum ReplyBody {
    /// Bytes that are all there.
    Full(Full<Bytes>),
    /// Events as they come.
    Events(Box<Events>),
}

/// A streamed reply.
pub(super) struct Events {
    jobs: Jobs,
    reply: Streamed,
    has_begun: bool,
    /// Until the first job has a slot.
    waiting: Option<Pin<Box<Sleep>>>,
    /// The model stays loaded as long as it answers.
    _lease: Lease,
}

impl ReplyBody {
    pub(super) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Full(Full::new(bytes.into()))
    }

    pub(super) fn events(jobs: Jobs, reply: Streamed, lease: Lease) -> Self {
        Self::Events(Box::new(Events {
            jobs,
            reply,
            has_begun: false,
            waiting: Some(Box::pin(sleep(SIGN_OF_LIFE))),
            _lease: lease,
        }))
    }
}

impl Events {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = Vec::new();
        if !self.has_begun {
            self.has_begun = true;
            self.reply.begin(&mut out);
        }
        while !self.reply.is_over() && out.len() < PIECE_BYTES {
            match self.jobs.poll_next(cx) {
                Poll::Ready(Some((index, event))) => {
                    if matches!(event, Event::Started { .. }) {
                        self.waiting = None;
                    }
                    self.reply.event(index, event, &mut out);
                }
                // The last event of each choice ended the reply.
                Poll::Ready(None) => break,
                Poll::Pending if out.is_empty() => return self.poll_waiting(cx),
                Poll::Pending => break,
            }
        }
        Poll::Ready((!out.is_empty()).then(|| out.into()))
    }

    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(waiting) = &mut self.waiting else {
            return Poll::Pending;
        };
        ready!(waiting.as_mut().poll(cx));
        waiting.as_mut().reset(Instant::now() + SIGN_OF_LIFE);
        Poll::Ready(Some(Bytes::from_static(b": waiting\n\n")))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body).poll_frame(cx),
            Self::Events(body) => body
                .poll_piece(cx)
                .map(|piece| Ok(piece.map(Frame::data)).transpose()),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Events(body) => body.has_begun && body.reply.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(…)",
            Self::Events(_) => "Events(…)",
        })
    }
}
