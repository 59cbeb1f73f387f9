//! How long an upstream may say nothing in the middle of a reply that is passed on, and the body of one that is no
//! stream of events: the upstream's own bytes, until it is silent for too long.

use super::App;
use super::account::Record;
use super::body::BoxError;
use crate::telemetry::Metrics;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use isogloss_core::error::{Error, Kind};
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The clock of one reply.
#[derive(Debug)]
pub(super) struct Silence {
    over: Pin<Box<Sleep>>,
    limit: Duration,
    has_begun: bool,
    /// Something came since the clock was set.
    is_alive: bool,
}

impl Silence {
    /// The first bytes must come by `first_byte`, and no pause be longer than `limit` after that.
    pub(super) fn new(first_byte: Instant, limit: Duration) -> Self {
        Self {
            over: Box::pin(sleep_until(first_byte)),
            limit,
            has_begun: false,
            is_alive: false,
        }
    }

    /// Something came.
    pub(super) const fn heard(&mut self) {
        self.is_alive = true;
    }

    /// Ready with the error when the silence is too long. Asked where there is nothing to read.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        if std::mem::take(&mut self.is_alive) {
            self.has_begun = true;
            self.over.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.over.as_mut().poll(cx));
        Poll::Ready(if self.has_begun {
            let message = "stream timeout: the upstream sent nothing for too long (timeouts.idle)";
            Error::new(Kind::UpstreamIdle, message)
        } else {
            super::relay::too_late()
        })
    }
}

/// A reply that goes through as it is.
pub(super) struct Passing {
    source: reqwest::Body,
    silence: Silence,
    record: Record,
    metrics: Arc<Metrics>,
}

impl Passing {
    pub(super) fn new(
        app: &App,
        source: reqwest::Body,
        first_byte: Instant,
        record: Record,
    ) -> Self {
        Self {
            source,
            silence: Silence::new(first_byte, app.config.timeouts.idle),
            record,
            metrics: Arc::clone(&app.metrics),
        }
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.source).poll_frame(cx) {
            this.silence.heard();
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let error = ready!(this.silence.poll(cx));
        this.metrics.upstream_error(error.kind);
        this.record.failed(&error);
        this.source = reqwest::Body::default();
        // What has gone out already is no whole reply: the connection ends with it.
        let cut = io::Error::new(io::ErrorKind::TimedOut, error);
        Poll::Ready(Some(Err(cut.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.source.size_hint()
    }
}

impl fmt::Debug for Passing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passing").finish_non_exhaustive()
    }
}
