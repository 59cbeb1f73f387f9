//! Adds: a limit on the bytes of a request body, answered with 413. Sits inside the rescue
//! layer, which writes the refusal. Never buffers.
//!
//! Not tower-http's `RequestBodyLimit`: that one answers in plain text.

use crate::telemetry::Metrics;
use futures_util::future::{Either, Ready, ready};
use http::{Request, Response};
use http_body::Body;
use http_body_util::Limited;
use isogloss_core::error::{Error, Kind};
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::{Layer, Service};

#[derive(Debug, Clone)]
pub(super) struct BodyLimitLayer {
    limit: usize,
    metrics: Arc<Metrics>,
}

impl BodyLimitLayer {
    pub(super) const fn new(limit: usize, metrics: Arc<Metrics>) -> Self {
        Self { limit, metrics }
    }
}

#[derive(Debug, Clone)]
pub(super) struct BodyLimit<S> {
    inner: S,
    layer: BodyLimitLayer,
}

/// What the request says of its body, in its extensions: the body timeout further in hides it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announced {
    /// There is no body.
    pub(super) is_empty: bool,
}

/// The refusal.
pub(super) fn too_large(limit: usize) -> Error {
    let message =
        format!("the request body is over the limit of {limit} bytes (limits.body_bytes)");
    Error::new(Kind::BodyTooLarge, message)
}

// === impl BodyLimit ===

impl<S> Layer<S> for BodyLimitLayer {
    type Service = BodyLimit<S>;

    fn layer(&self, inner: S) -> Self::Service {
        BodyLimit {
            inner,
            layer: self.clone(),
        }
    }
}

impl<S, B, R> Service<Request<B>> for BodyLimit<S>
where
    B: Body,
    S: Service<Request<Limited<B>>, Response = Response<R>, Error = Error>,
{
    type Response = Response<R>;
    type Error = Error;
    type Future = Either<S::Future, Ready<Result<Self::Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let limit = self.layer.limit;
        // What is announced as too large is refused before a byte of it is read.
        if request.body().size_hint().lower() > limit as u64 {
            self.layer.metrics.limit_hit("body_bytes");
            return Either::Right(ready(Err(too_large(limit))));
        }
        let is_empty = request.body().is_end_stream();
        request.extensions_mut().insert(Announced { is_empty });
        let request = request.map(|body| Limited::new(body, limit));
        Either::Left(self.inner.call(request))
    }
}
