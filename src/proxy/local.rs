//! A request of this process's own in, through the stack that every client's request goes through; its whole reply out.

use super::App;
use super::account::Record;
use super::meter::Meter;
use super::stack;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use isogloss_core::error::{Error, Kind};
use std::sync::Arc;
use tower::ServiceExt as _;

/// A whole reply.
#[derive(Debug)]
pub struct Reply {
    /// Its status and headers.
    pub head: http::response::Parts,
    /// All its bytes; at most `limits.reply_bytes`.
    pub body: Bytes,
    /// What went wrong, where the proxy made or judged the error.
    pub kind: Option<Kind>,
    /// Why it is no good reply although its head says so: it goes to clients as it is, since nothing was demanded of it.
    pub fault: Option<Error>,
    /// Tokens that the reply says the prompt had, and that it has itself; 0 where it does not say.
    pub tokens: (u64, u64),
}

/// Posts JSON to one of the proxy's own routes.
///
/// # Errors
/// The reply breaks off, or is larger than replies may be. What else goes wrong is a reply.
pub async fn post(app: &Arc<App>, target: PathAndQuery, body: Bytes) -> Result<Reply, Error> {
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from(target);
    let json = HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    ask(app, request, app.config.limits.reply_bytes).await
}

/// Sends a request as a client of this proxy. A key that clients need, it needs too.
///
/// # Errors
/// The reply breaks off, or has more bytes than this. What else goes wrong is a reply.
pub async fn ask(app: &Arc<App>, mut request: Request<Bytes>, most: usize) -> Result<Reply, Error> {
    let length = HeaderValue::from(request.body().len());
    let headers = request.headers_mut();
    headers.insert(HOST, HeaderValue::from_static("localhost"));
    headers.insert(CONTENT_LENGTH, length);
    let record = Record::of(&app.journal);
    request.extensions_mut().insert(record.clone());
    let Ok(reply) = stack::stack(app).oneshot(request.map(Full::new)).await;
    let (head, body) = reply.into_parts();
    let body = Limited::new(body, most).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            if most >= app.config.limits.reply_bytes {
                app.metrics.limit_hit("reply_bytes");
            }
            let message = format!("the reply has more than {most} bytes");
            return Error::new(Kind::UpstreamTooLarge, message);
        }
        Error::new(Kind::UpstreamTruncated, "the reply ended in the middle")
    })?;
    let body = body.to_bytes();
    let mut meter = Meter::default();
    meter.see(&body);
    Ok(Reply {
        kind: head.extensions.get::<Kind>().copied(),
        fault: record.fault(),
        head,
        body,
        tokens: meter.told(),
    })
}
