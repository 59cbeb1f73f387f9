//! A request in, its reply out: the exchange for clients of a known dialect, everything else untouched,
//! after a look at what it demands.

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::{App, access, check, count, kept, models, pass, relay, socket};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Body;
use isogloss_core::error::{Error, Kind};
use isogloss_core::passage;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;

#[derive(Debug, Clone)]
pub(super) struct Route {
    app: Arc<App>,
}

impl Route {
    pub(super) const fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

impl<B> Service<Request<B>> for Route
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    type Response = Response<ReplyBody>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Self::Response, Error>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let app = Arc::clone(&self.app);
        let record = request.extensions().get::<Record>().cloned();
        let record = record.unwrap_or_default();
        Box::pin(async move {
            let out_of_time = app.shutdown.deadline();
            let answer = async {
                check::check(&request)?;
                let path = request.uri().path();
                let spoken = socket::is_asked(&request).then(|| passage::client(path));
                let spoken = spoken.flatten().filter(|client| client.socket().is_some());
                if let Some(client) = spoken {
                    // Its key stays: each of its requests shows it again.
                    return socket::open(&app, client, request);
                }
                if !app.clients.is_open() {
                    access::strip(&mut request);
                }
                let path = request.uri().path();
                if let Some(route) = kept::route(&app, &request) {
                    if let Some(client) = route.compactor() {
                        return Box::pin(kept::compact(
                            &app,
                            route.keeper,
                            client,
                            request,
                            &record,
                        ))
                        .await;
                    }
                    let answer = kept::answer(&app, route, &request, &record).await;
                    // A body that nobody reads would cost the client its connection.
                    let _unread = relay::incoming::read(request.into_body(), &app).await;
                    return answer;
                }
                if let Some(asking) = models::asking(&request) {
                    // What is rarely asked stands apart: a request keeps room for the largest of these.
                    return Box::pin(models::answer(&app, asking, request, &record)).await;
                }
                let is_post = request.method() == Method::POST;
                if request.method() == Method::HEAD && passage::is_liveness(path) {
                    // Somebody is there; no server needs to be asked for that.
                    return Ok(Response::new(ReplyBody::full(Bytes::new())));
                }
                let is_root = request.method() == Method::GET && matches!(path, "" | "/");
                // A server's own page is there, where everything is forwarded.
                if is_root && !pass::has_forwarding(&app, request.method(), path, &record) {
                    return Ok(greeting(request.headers()));
                }
                // Whatever the client wrote, the server is asked at the plan's own path.
                if let Some(client) = passage::client(path).filter(|_| is_post) {
                    return relay::relay(&app, client, request, &record).await;
                }
                if let Some(counter) = passage::counter(path).filter(|_| is_post) {
                    return Box::pin(count::count(&app, counter, request, &record)).await;
                }
                let way = passage::way(path);
                pass::pass(&app, request, way, &record).await
            };
            tokio::select! {
                biased;
                answer = answer => answer,
                () = out_of_time => Err(shutting_down()),
            }
        })
    }
}

/// Programs for Ollama compare the words before they begin (ollama/ollama-python#121); people are told who is here.
fn greeting(headers: &HeaderMap) -> Response<ReplyBody> {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let text: &[u8] = match accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        true => b"Isogloss is running: point your client's base URL here.\n",
        false => b"Ollama is running",
    };
    let mut reply = Response::new(ReplyBody::full(Bytes::from_static(text)));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    reply
}

/// What is told to whoever is still here when the time to drain is over.
pub(super) fn shutting_down() -> Error {
    let message = "the proxy is shutting down; send the request again";
    Error::new(Kind::ShuttingDown, message).retry_after(1)
}
