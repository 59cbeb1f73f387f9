//! A request that is not translated in, the upstream's own reply out: method, path, query, body
//! and status untouched, both bodies streamed, only hop-by-hop headers taken off. Before that a
//! look at what it demands: nothing here is verified, so a demand is refused by name.

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::body_limit::Announced;
use super::peek::{Drained, Peeked, peek};
use super::{App, headers, relay};
use crate::config::Unverified;
use crate::upstream::{Outgoing, Payload, Upstream};
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{Method, Request, Response};
use http_body::Body;
use isogloss_core::error::{Error, Kind};
use isogloss_core::passage::{self, BodyDemand, Way};
use std::sync::Arc;
use std::time::Instant;

/// A request body as it is sent.
enum Sent {
    Nothing,
    /// Can be sent again.
    Whole(Bytes),
    /// Cannot; taken when it is sent.
    Streamed(Option<reqwest::Body>),
}

impl Sent {
    fn take(&mut self) -> Payload {
        match self {
            Self::Nothing => Payload::Nothing,
            Self::Whole(bytes) => Payload::Whole(bytes.clone().into()),
            Self::Streamed(body) => body.take().map_or(Payload::Nothing, Payload::Streamed),
        }
    }
}

pub(super) async fn pass<B>(
    app: &App,
    request: Request<B>,
    way: Way,
    record: &Record,
) -> Result<Response<ReplyBody>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    let (head, body) = request.into_parts();
    // `CONNECT` has no path.
    let target = head.uri.path_and_query().cloned().ok_or_else(|| {
        Error::new(
            Kind::InvalidRequest,
            "the request has no path; send one that begins with /",
        )
    })?;
    let body = look(app, &head, body, way, record).await?;
    forward(app, head, target, body, record).await
}

/// Looks at what the request demands.
///
/// # Errors
/// It demands what would not be verified, and the operator wants that refused.
async fn look<B>(app: &App, head: &Parts, body: B, way: Way, record: &Record) -> Result<Sent, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    let is_forwarded = app.config.unverified == Unverified::Forward;
    let may = |refusal: Option<Error>| match refusal {
        Some(_) if is_forwarded => {
            record.unverified();
            Ok(())
        }
        Some(error) => Err(error),
        None => Ok(()),
    };
    let is_safe = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if way == Way::Disguised && !is_safe {
        may(Some(passage::other_prefix()))?;
    }
    let is_empty = |body: &Announced| body.is_empty;
    if head.extensions.get::<Announced>().is_some_and(is_empty) {
        return Ok(Sent::Nothing);
    }
    if is_safe || way == Way::Plain {
        return Ok(Sent::Streamed(Some(reqwest::Body::wrap(Drained::new(
            body,
        )))));
    }
    let coding = head.headers.get(CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        may(Some(passage::encoded()))?;
        return Ok(Sent::Streamed(Some(reqwest::Body::wrap(Drained::new(
            body,
        )))));
    }
    match peek(body, app).await? {
        Peeked::Streamed(body) => Ok(Sent::Streamed(Some(reqwest::Body::wrap(Drained::new(
            body,
        ))))),
        Peeked::Whole(bytes) => {
            let begun = Instant::now();
            let demand: BodyDemand = relay::work(bytes.len(), || passage::demand(&bytes));
            record.own(begun.elapsed());
            may(passage::refusal(&demand))?;
            Ok(Sent::Whole(bytes))
        }
    }
}

async fn forward(
    app: &App,
    head: Parts,
    target: PathAndQuery,
    mut body: Sent,
    record: &Record,
) -> Result<Response<ReplyBody>, Error> {
    let begun = Instant::now();
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
            Ok(reply) => return answered(&upstream, &head.method, reply).await,
            // A body that streams through cannot be sent twice.
            Err(failure)
                if failure.why.is_connect()
                    && !matches!(body, Sent::Streamed(_))
                    && attempts > 1 =>
            {
                attempts -= 1;
                app.metrics.retry("connect");
            }
            Err(failure) => return Err(failure.into()),
        }
    }
}

/// The reply as it is, but for a key of the operator's that a server shows in its errors.
async fn answered(
    upstream: &Arc<Upstream>,
    method: &Method,
    reply: Response<reqwest::Body>,
) -> Result<Response<ReplyBody>, Error> {
    let is_error = reply.status().as_u16() >= 400 && *method != Method::HEAD;
    if is_error && upstream.has_key() {
        return super::redacted::reply(upstream, reply).await;
    }
    Ok(pass_reply(reply))
}

/// The upstream's reply as it is.
pub(super) fn pass_reply(reply: Response<reqwest::Body>) -> Response<ReplyBody> {
    let (head, body) = reply.into_parts();
    self::reply(head, ReplyBody::Upstream(body))
}

/// The upstream's head with this body.
pub(super) fn reply(head: http::response::Parts, body: ReplyBody) -> Response<ReplyBody> {
    let mut reply = Response::new(body);
    *reply.status_mut() = head.status;
    *reply.headers_mut() = headers::pass_down(head.headers);
    reply
}
