//! A request in, its reply out: the exchange for clients of a known dialect, everything else untouched,
//! after a look at what it demands.

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::{App, check, pass, relay};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Method, Request, Response};
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

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let app = Arc::clone(&self.app);
        let record = request.extensions().get::<Record>().cloned();
        let record = record.unwrap_or_default();
        Box::pin(async move {
            let out_of_time = app.shutdown.deadline();
            let answer = async {
                check::check(&request)?;
                let path = request.uri().path();
                let is_post = request.method() == Method::POST;
                match passage::client(path).filter(|_| is_post) {
                    // Whatever the client wrote, the server is asked at the plan's own path.
                    Some(client) => relay::relay(&app, client, request, &record).await,
                    None => {
                        let way = passage::way(path);
                        pass::pass(&app, request, way, &record).await
                    }
                }
            };
            tokio::select! {
                biased;
                answer = answer => answer,
                () = out_of_time => Err(shutting_down()),
            }
        })
    }
}

/// What is told to whoever is still here when the time to drain is over.
pub(super) fn shutting_down() -> Error {
    let message = "the proxy is shutting down; send the request again";
    Error::new(Kind::ShuttingDown, message).retry_after(1)
}
