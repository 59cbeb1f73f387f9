//! Adds: a limit on requests at once; what is over it is shed with 503 and `Retry-After`. A request takes its place
//! when all of it is there, so that slow bodies keep none; where there is none already when it begins, it is not read.
//! Sits inside the rescue layer, which writes the refusal. Never queues.
//!
//! Not tower's `ConcurrencyLimit` with `LoadShed`: that one frees the place when the reply's
//! head is there, while a stream is at work until its body ends.

use super::room::{Place, Room};
use crate::telemetry::Metrics;
use crate::upstream::BodyFault;
use bytes::Bytes;
use futures_util::future::{Either, Ready, ready};
use http::{Method, Request, Response};
use http_body::{Body, Frame, SizeHint};
use isogloss_core::error::{Error, Kind};
use isogloss_core::passage;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// Seconds: a place is free as soon as any request ends.
const RETRY_AFTER: u64 = 1;

/// How many may look at once whether a server is well.
const LOOKS: usize = 32;

/// Whether a request only looks whether a server is well, as the probes of a cluster do.
fn is_look<B>(request: &Request<B>) -> bool {
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    is_safe && passage::is_health(request.uri().path())
}

/// Room for requests at once.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Of those that have arrived whole.
    whole: Arc<Room>,
    /// Of those that are passed on as they come: as much again.
    streamed: Arc<Room>,
    /// Of those that ask whether a server is well: who watches over it must not take one that is busy for dead.
    looks: Arc<Room>,
}

/// What holds a request's place, or will; in the request's extensions. Ends with the reply.
#[derive(Debug, Clone)]
pub(super) struct Seat(Arc<Sitting>);

#[derive(Debug)]
struct Sitting {
    places: Places,
    place: Mutex<Option<Place>>,
    metrics: Arc<Metrics>,
}

#[derive(Debug, Clone)]
pub(super) struct AdmitLayer {
    places: Places,
    metrics: Arc<Metrics>,
}

impl AdmitLayer {
    pub(super) const fn new(places: Places, metrics: Arc<Metrics>) -> Self {
        Self { places, metrics }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Admit<S> {
    inner: S,
    layer: AdmitLayer,
}

pin_project! {
    /// A request body at whose end the request takes its place.
    #[derive(Debug)]
    pub(super) struct Arriving<B> {
        #[pin]
        inner: B,
        seat: Seat,
    }
}

pin_project! {
    /// A reply that will hold its request's place.
    #[derive(Debug)]
    pub(super) struct Admitting<F> {
        #[pin]
        reply: F,
        seat: Option<Seat>,
    }
}

/// A reply body that holds its request's place.
#[derive(Debug)]
pub(super) struct Admitted<B> {
    inner: B,
    _seat: Option<Seat>,
}

// === impl Places ===

impl Places {
    pub(super) fn new(count: usize) -> Self {
        Self {
            whole: Room::new(count),
            streamed: Room::new(count),
            looks: Room::new(LOOKS),
        }
    }

    /// Where this request has its place.
    fn of<B>(&self, request: &Request<B>) -> Self {
        if !is_look(request) {
            return self.clone();
        }
        Self {
            whole: Arc::clone(&self.looks),
            streamed: Arc::clone(&self.looks),
            looks: Arc::clone(&self.looks),
        }
    }

    /// From now on there is room for so many.
    pub(super) fn set(&self, count: usize) {
        self.whole.set(count);
        self.streamed.set(count);
    }
}

// === impl Seat ===

impl Seat {
    /// The request is there as a whole.
    fn whole(&self) -> Result<(), BodyFault> {
        self.take(&self.0.places.whole)
    }

    /// The request is passed on as it comes: it has a place among those that are.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn streamed(&self) -> Result<(), Error> {
        let taken = self.take(&self.0.places.streamed);
        taken.map_err(|_no_place| overloaded())
    }

    fn take(&self, places: &Arc<Room>) -> Result<(), BodyFault> {
        let mut place = self.0.place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_none() {
            *place = places.try_take();
        }
        if place.is_none() {
            self.0.metrics.limit_hit("concurrency");
            return Err(BodyFault::NoPlace);
        }
        Ok(())
    }
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
    B: Body<Data = Bytes>,
    S: Service<Request<Arriving<B>>, Response = Response<R>, Error = Error>,
{
    type Response = Response<Admitted<R>>;
    type Error = Error;
    type Future = Either<Admitting<S::Future>, Ready<Result<Self::Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let AdmitLayer { places, metrics } = &self.layer;
        let places = places.of(&request);
        let refused = || Either::Right(ready(Err(overloaded())));
        if places.whole.is_full() {
            metrics.limit_hit("concurrency");
            return refused();
        }
        let seat = Seat(Arc::new(Sitting {
            places,
            place: Mutex::new(None),
            metrics: Arc::clone(metrics),
        }));
        if request.body().is_end_stream() && seat.whole().is_err() {
            return refused();
        }
        request.extensions_mut().insert(seat.clone());
        let arriving = |inner| Arriving {
            inner,
            seat: seat.clone(),
        };
        Either::Left(Admitting {
            reply: self.inner.call(request.map(arriving)),
            seat: Some(seat),
        })
    }
}

// === impl Arriving ===

impl<B: Body<Data = Bytes, Error: Into<super::body::BoxError>>> Body for Arriving<B> {
    type Data = Bytes;
    type Error = super::body::BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let mut this = self.project();
        let frame = std::task::ready!(this.inner.as_mut().poll_frame(cx));
        // Who has all that was announced may not ask whether there is more.
        let is_whole = frame.is_none() || this.inner.is_end_stream();
        let is_broken = matches!(frame, Some(Err(_)));
        if is_whole
            && !is_broken
            && let Err(no_place) = this.seat.whole()
        {
            return Poll::Ready(Some(Err(no_place.into())));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
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
        let _seat = this.seat.take();
        Poll::Ready(Ok(reply.map(|inner| Admitted { inner, _seat })))
    }
}

/// There is no place for a request.
pub(super) fn overloaded() -> Error {
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
    use http_body_util::{BodyExt as _, Full};
    use tokio::io::AsyncWriteExt as _;
    use tower::ServiceExt;

    /// Answers when it has the whole request.
    fn service() -> impl Service<
        Request<BoxedBody>,
        Response = Response<Admitted<Full<Bytes>>>,
        Error = Error,
        Future: Send,
    > + Clone
    + Send {
        let inner = tower::service_fn(|request: Request<Arriving<BoxedBody>>| async {
            let read = request.into_body().collect().await;
            read.map_err(|_fault| overloaded())?;
            Ok::<_, Error>(Response::new(Full::new(Bytes::from_static(b"x"))))
        });
        let metrics = Arc::new(Metrics::new([]));
        AdmitLayer::new(Places::new(1), metrics).layer(inner)
    }

    type BoxedBody = http_body_util::combinators::UnsyncBoxBody<Bytes, std::io::Error>;

    fn whole(bytes: &'static [u8]) -> Request<BoxedBody> {
        let body = Full::new(Bytes::from_static(bytes)).map_err(|never| match never {});
        Request::new(body.boxed_unsync())
    }

    #[tokio::test]
    async fn a_place_is_held_until_the_body_is_dropped() {
        let service = service();
        for body in [&b""[..], b"some"] {
            let first = service.clone().oneshot(whole(body)).await.unwrap();
            let refused = service.clone().oneshot(whole(body)).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Overloaded);
            assert_eq!(refused.retry_after, Some(RETRY_AFTER));
            drop(first);
        }
        assert!(service.oneshot(whole(b"")).await.is_ok());
    }

    #[tokio::test]
    async fn a_look_whether_a_server_is_well_finds_a_place_of_its_own() {
        let service = service();
        let held = service.clone().oneshot(whole(b"")).await.unwrap();
        for (method, path, is_let_in) in [
            (Method::GET, "/health", true),
            (Method::HEAD, "/ping", true),
            (Method::POST, "/health", false),
            (Method::GET, "/v1/models", false),
        ] {
            let mut request = whole(b"");
            *request.method_mut() = method;
            *request.uri_mut() = path.parse().unwrap();
            let answer = service.clone().oneshot(request).await;
            assert_eq!(answer.is_ok(), is_let_in, "{path}");
        }
        drop(held);
    }

    #[tokio::test]
    async fn a_body_that_is_still_coming_takes_no_place() {
        let service = service();
        let (mut client, server) = tokio::io::duplex(64);
        let slow = http_body_util::StreamBody::new(futures_util::stream::unfold(
            server,
            |mut server| async {
                let mut bytes = vec![0; 8];
                let read = tokio::io::AsyncReadExt::read(&mut server, &mut bytes).await;
                bytes.truncate(read.ok().filter(|read| *read > 0)?);
                Some((Ok(Frame::data(Bytes::from(bytes))), server))
            },
        ));
        let slow = tokio::spawn(service.clone().oneshot(Request::new(slow.boxed_unsync())));
        client.write_all(b"be").await.unwrap();
        tokio::task::yield_now().await;
        let others = service.clone().oneshot(whole(b"all")).await.unwrap();
        client.write_all(b"gun").await.unwrap();
        drop(client);
        // It came to its end while another had the one place.
        assert_eq!(slow.await.unwrap().unwrap_err().kind, Kind::Overloaded);
        drop(others);
        assert!(service.oneshot(whole(b"all")).await.is_ok());
    }
}
