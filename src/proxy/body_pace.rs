//! Adds: a limit on how long a request body may take to arrive. It may pause for so long, and over all it must come at
//! a least rate: without that, a byte now and then would keep a connection, and what is held of the body, for ever.
//! What the proxy itself lets a client wait does not count.

use crate::upstream::BodyFault;
use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::{Layer, Service};

use super::body::BoxError;

/// How fast a body must come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The longest pause, and what the rate is forgiven.
    pub(super) pause: Duration,
    /// Bytes a second.
    pub(super) rate: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BodyPaceLayer(pub(super) Pace);

#[derive(Debug, Clone)]
pub(super) struct BodyPace<S> {
    inner: S,
    pace: Pace,
}

pin_project! {
    /// A body that must come at this pace.
    #[derive(Debug)]
    pub(super) struct Paced<B> {
        #[pin]
        inner: B,
        pace: Pace,
        came: usize,
        // For how long it was waited for before now.
        waited: Duration,
        waiting: Option<Waiting>,
    }
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    limit: Pin<Box<Sleep>>,
}

impl Pace {
    /// How long may be waited for more, where so much came in so much time.
    fn limit(self, came: usize, waited: Duration) -> Duration {
        let rate = self.rate.max(1) as u64;
        let earned = Duration::from_millis((came as u64).saturating_mul(1000) / rate);
        let left = (self.pause + earned).saturating_sub(waited);
        left.min(self.pause)
    }
}

impl<S> Layer<S> for BodyPaceLayer {
    type Service = BodyPace<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BodyPace {
            inner,
            pace: self.0,
        }
    }
}

impl<S, B> Service<Request<B>> for BodyPace<S>
where
    S: Service<Request<Paced<B>>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let pace = self.pace;
        self.inner.call(request.map(|inner| Paced {
            inner,
            pace,
            came: 0,
            waited: Duration::ZERO,
            waiting: None,
        }))
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>>> Body for Paced<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        if let Poll::Ready(frame) = this.inner.poll_frame(cx) {
            if let Some(waiting) = this.waiting.take() {
                *this.waited += waiting.since.elapsed();
            }
            if let Some(Ok(frame)) = &frame {
                *this.came += frame.data_ref().map_or(0, Bytes::len);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let (pace, came, waited) = (*this.pace, *this.came, *this.waited);
        let waiting = this.waiting.get_or_insert_with(|| {
            let since = Instant::now();
            let limit = sleep_until(since + pace.limit(came, waited));
            Waiting {
                since,
                limit: Box::pin(limit),
            }
        });
        std::task::ready!(waiting.limit.as_mut().poll(cx));
        Poll::Ready(Some(Err(BodyFault::TooSlow.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use futures_util::stream;
    use http_body_util::{BodyExt as _, StreamBody};
    use std::convert::Infallible;

    const PACE: Pace = Pace {
        pause: Duration::from_secs(30),
        rate: 1000,
    };

    /// What becomes of a body of pieces of this size, each after this pause, and when.
    async fn sent(
        piece: usize,
        pause: Duration,
        count: usize,
    ) -> (Result<usize, BoxError>, Duration) {
        let pieces = stream::unfold(0, move |sent| async move {
            tokio::time::sleep(pause).await;
            let frame = Frame::data(Bytes::from(vec![0; piece]));
            (sent < count).then_some((Ok::<_, Infallible>(frame), sent + 1))
        });
        let body = Paced {
            inner: StreamBody::new(Box::pin(pieces)),
            pace: PACE,
            came: 0,
            waited: Duration::ZERO,
            waiting: None,
        };
        let begun = Instant::now();
        let read = body.collect().await.map(|body| body.to_bytes().len());
        (read, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_given_up() {
        let (read, after) = sent(1, Duration::from_secs(10), 1000).await;
        assert!(read.unwrap_err().is::<BodyFault>());
        assert!(after <= Duration::from_secs(31), "{after:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_pause_is_given_up_however_fast_it_was_before() {
        let (read, after) = sent(1 << 20, Duration::from_secs(31), 2).await;
        assert!(read.is_err());
        assert_eq!(after, PACE.pause);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_keeps_the_pace_may_take_its_time() {
        let (read, after) = sent(20_000, Duration::from_secs(19), 100).await;
        assert_eq!(read.unwrap(), 2_000_000);
        assert_eq!(after, Duration::from_secs(101 * 19));
    }
}
