//! A request that needs no translation in, the upstream's own reply out: method, path, query,
//! body and status untouched, both bodies streamed, only hop-by-hop headers taken off.

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::body_limit::Announced;
use super::{App, headers};
use crate::error::{Error, Kind};
use crate::upstream::Outgoing;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use std::time::Instant;

pub(super) async fn pass<B>(
    app: &App,
    request: Request<B>,
    record: &Record,
) -> Result<Response<ReplyBody>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    let begun = Instant::now();
    let (head, body) = request.into_parts();
    // `CONNECT` has no path.
    let target = head.uri.path_and_query().cloned().ok_or_else(|| {
        Error::new(
            Kind::InvalidRequest,
            "the request has no path; send one that begins with /",
        )
    })?;
    let is_empty = head
        .extensions
        .get::<Announced>()
        .is_some_and(|body| body.is_empty);
    let mut body = (!is_empty).then(|| reqwest::Body::wrap(body));
    let headers = headers::pass_up(head.headers);
    let mut attempts = app.upstreams.count();
    loop {
        let upstream = app.upstreams.any();
        let upstream = upstream.ok_or_else(|| Error::new(Kind::Internal, "no upstream"))?;
        record.upstream(upstream.name());
        let outgoing = Outgoing {
            method: head.method.clone(),
            target: target.clone(),
            headers: headers.clone(),
            body: body.take(),
        };
        record.own(begun.elapsed());
        record.sent();
        match upstream.send(outgoing).await {
            Ok(reply) => return Ok(pass_reply(reply)),
            // A body that streams through cannot be sent twice.
            Err(failure) if failure.why.is_connect() && is_empty && attempts > 1 => {
                attempts -= 1;
                app.metrics.retry("connect");
            }
            Err(failure) => return Err(failure.into()),
        }
    }
}

/// The upstream's reply as it is.
pub(super) fn pass_reply(reply: Response<reqwest::Body>) -> Response<ReplyBody> {
    let (head, body) = reply.into_parts();
    let mut reply = Response::new(ReplyBody::Upstream(body));
    *reply.status_mut() = head.status;
    *reply.headers_mut() = headers::pass_down(head.headers);
    reply
}
