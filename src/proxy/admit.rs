//! Adds: a limit on requests at once; what is over it is shed with 503 and `Retry-After`.
//! Sits inside the rescue layer, which writes the refusal. Never queues.
//!
//! Not tower's `ConcurrencyLimit` with `LoadShed`: that one frees the place when the reply's
//! head is there, while a stream is at work until its body ends.

use crate::telemetry::Metrics;
use bytes::Bytes;
use futures_util::future::{Either, Ready, ready};
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use isogloss_core::error::{Error, Kind};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::{Layer, Service};

/// Seconds: a place is free as soon as any request ends.
const RETRY_AFTER: u64 = 1;

#[derive(Debug, Clone)]
pub(super) struct AdmitLayer {
    places: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

impl AdmitLayer {
    pub(super) fn new(limit: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            places: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
            metrics,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Admit<S> {
    inner: S,
    layer: AdmitLayer,
}

pin_project! {
    /// A reply that will hold its request's place.
    #[derive(Debug)]
    pub(super) struct Admitting<F> {
        #[pin]
        reply: F,
        place: Option<OwnedSemaphorePermit>,
    }
}

/// A reply body that holds its request's place.
#[derive(Debug)]
pub(super) struct Admitted<B> {
    inner: B,
    _place: Option<OwnedSemaphorePermit>,
}

// === impl Admit ===

impl<S> Layer<S> for AdmitLayer {
    type Service = Admit<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Admit {
            inner,
            layer: self.clone(),
        }
    }
}

impl<S, B, R> Service<Request<B>> for Admit<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = Error>,
{
    type Response = Response<Admitted<R>>;
    type Error = Error;
    type Future = Either<Admitting<S::Future>, Ready<Result<Self::Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Ok(place) = Arc::clone(&self.layer.places).try_acquire_owned() else {
            self.layer.metrics.limit_hit("concurrency");
            return Either::Right(ready(Err(overloaded())));
        };
        Either::Left(Admitting {
            reply: self.inner.call(request),
            place: Some(place),
        })
    }
}

// === impl Admitting ===

impl<F, R> Future for Admitting<F>
where
    F: Future<Output = Result<Response<R>, Error>>,
{
    type Output = Result<Response<Admitted<R>>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reply = std::task::ready!(this.reply.poll(cx))?;
        let _place = this.place.take();
        Poll::Ready(Ok(reply.map(|inner| Admitted { inner, _place })))
    }
}

fn overloaded() -> Error {
    let message = "the proxy has as many requests as it takes (limits.concurrency); try again";
    Error::new(Kind::Overloaded, message).retry_after(RETRY_AFTER)
}

// === impl Admitted ===

impl<B: Body<Data = Bytes> + Unpin> Body for Admitted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        Pin::new(&mut self.inner).poll_frame(cx)
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
    use http_body_util::Full;
    use tower::ServiceExt;

    #[tokio::test]
    async fn a_place_is_held_until_the_body_is_dropped() {
        let metrics = Arc::new(Metrics::new([]));
        let inner = tower::service_fn(|_request: Request<()>| async {
            Ok::<_, Error>(Response::new(Full::new(Bytes::from_static(b"x"))))
        });
        let service = AdmitLayer::new(1, metrics).layer(inner);
        let call = || service.clone().oneshot(Request::new(()));
        let first = call().await.unwrap();
        let refused = call().await.unwrap_err();
        assert_eq!(refused.kind, Kind::Overloaded);
        assert_eq!(refused.retry_after, Some(RETRY_AFTER));
        drop(first);
        assert!(call().await.is_ok());
    }
}
