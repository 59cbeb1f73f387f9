//! Adds: replies for errors and panics, in the shape of the dialect that the client speaks. Sits inside the account
//! layer, which counts what it answers, and outside everything that can fail. Never lets an
//! error through.

use super::body::ReplyBody;
use super::models;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::Either;
use isogloss_core::error::{Error, Kind};
use isogloss_core::passage::{self, Credentials};
use pin_project_lite::pin_project;
use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower::{Layer, Service};

#[derive(Debug, Clone, Copy)]
pub(super) struct RescueLayer;

#[derive(Debug, Clone)]
pub(super) struct Rescue<S>(S);

pin_project! {
    /// An answer that will be a reply, whatever becomes of it.
    #[derive(Debug)]
    pub(super) struct Rescuing<F> {
        #[pin]
        answer: F,
        path: String,
        credentials: Credentials,
    }
}

/// The reply that an error becomes on this path. Its extensions hold the [`Kind`], for the account.
fn reply_at(path: &str, credentials: Credentials, error: &Error) -> Response<ReplyBody> {
    let body = passage::error_body(path, credentials, error);
    let body = ReplyBody::full(Bytes::from(body));
    let mut reply = Response::new(body);
    *reply.status_mut() =
        StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    reply.extensions_mut().insert(error.kind);
    let headers = reply.headers_mut();
    for (name, value) in &error.headers {
        let pair = (HeaderName::try_from(name), HeaderValue::try_from(value));
        if let (Ok(name), Ok(value)) = pair {
            headers.append(name, value);
        }
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if error.kind == Kind::ConstraintViolated {
        // The model was asked again already; clients of OpenAI and Anthropic would ask thrice more.
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    if let Some(seconds) = error.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply
}

/// The error that a panic becomes; what it says is for the log.
pub(super) fn defect(panic: &(dyn Any + Send)) -> Error {
    let what = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    tracing::error!(what, "a request panicked");
    let message = "the proxy failed on this request; it is a defect, please report it";
    Error::new(Kind::Internal, message)
}

/// The reply that a panic becomes. The connection is closed: nobody knows what was half done.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response<ReplyBody> {
    let mut reply = reply_at("", Credentials::default(), &defect(&*panic));
    reply
        .headers_mut()
        .insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

// === impl Rescue ===

impl<S> Layer<S> for RescueLayer {
    type Service = Rescue<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Rescue(inner)
    }
}

impl<S, B, R> Service<Request<B>> for Rescue<S>
where
    S: Service<Request<B>, Response = Response<R>, Error = Error>,
{
    type Response = Response<Either<R, ReplyBody>>;
    type Error = Infallible;
    type Future = Rescuing<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // No layer inside says no here: each refuses in `call`, with a reason.
        self.0.poll_ready(cx).map(|_ready| Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Rescuing {
            path: request.uri().path().to_owned(),
            credentials: models::credentials(request.headers()),
            answer: self.0.call(request),
        }
    }
}

// === impl Rescuing ===

impl<F, R> Future for Rescuing<F>
where
    F: Future<Output = Result<Response<R>, Error>>,
{
    type Output = Result<Response<Either<R, ReplyBody>>, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        Poll::Ready(Ok(match ready!(this.answer.poll(cx)) {
            Ok(answer) => answer.map(Either::Left),
            Err(error) => reply_at(this.path, *this.credentials, &error).map(Either::Right),
        }))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    #[tokio::test]
    async fn an_error_becomes_a_reply_with_its_status_kind_and_retry_after() {
        let inner = tower::service_fn(|_request: Request<()>| async {
            Err::<Response<ReplyBody>, _>(Error::new(Kind::Overloaded, "busy").retry_after(3))
        });
        let answer = RescueLayer.layer(inner).oneshot(Request::new(())).await;
        let answer = answer.unwrap();
        assert_eq!(answer.status(), 503);
        assert_eq!(answer.headers().get(RETRY_AFTER).unwrap(), "3");
        assert_eq!(answer.extensions().get(), Some(&Kind::Overloaded));
    }

    #[tokio::test]
    async fn an_error_has_the_shape_of_the_routes_dialect() {
        use http_body_util::BodyExt;
        for (path, shape) in [
            ("/v1/chat/completions", "\"code\":\"overloaded\""),
            ("/v1/messages", "\"type\":\"error\""),
            ("/api/chat", "{\"error\":\"busy\"}"),
        ] {
            let inner = tower::service_fn(|_request: Request<()>| async {
                Err::<Response<ReplyBody>, _>(Error::new(Kind::Overloaded, "busy"))
            });
            let request = Request::post(path).body(()).unwrap();
            let answer = RescueLayer.layer(inner).oneshot(request).await.unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8_lossy(&body);
            assert!(body.contains(shape), "{path}: {body}");
        }
    }

    #[tokio::test]
    async fn a_panic_becomes_500_and_closes_the_connection() {
        let inner = tower::service_fn(|_request: Request<()>| async {
            if true {
                panic!("an invariant that names a secret");
            }
            Ok::<Response<ReplyBody>, Infallible>(Response::new(ReplyBody::full(Bytes::new())))
        });
        let service = CatchPanicLayer::custom(panicked).layer(inner);
        let answer = service.oneshot(Request::new(())).await.unwrap();
        assert_eq!(answer.status(), 500);
        assert_eq!(answer.headers().get(CONNECTION).unwrap(), "close");
        assert_eq!(answer.extensions().get(), Some(&Kind::Internal));
    }
}
