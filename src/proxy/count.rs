//! A question how many tokens a request has in, the count out: the server's own where its rule knows how
//! to ask, else an estimate, and a header that says which.

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::relay::{self, Search, incoming, whole};
use super::{App, headers};
use crate::upstream::{Failure, Outgoing, Payload, Target, Upstream};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Body;
use isogloss_core::dialect::client::Counter;
use isogloss_core::dialect::server::Question;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange;
use isogloss_core::exchange::count::{self, Answer, Counted};
use std::time::Instant;

/// What a server without the route says of it.
const NO_ROUTE: [u16; 3] = [404, 405, 501];

pub(super) async fn count<B>(
    app: &App,
    counter: &'static dyn Counter,
    request: Request<B>,
    record: &Record,
) -> Result<Response<ReplyBody>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send,
{
    let (mut head, body) = request.into_parts();
    let client = counter.client();
    record.client(client);
    headers::rename_key(client.key(), head.uri.query(), &mut head.headers);
    incoming::check_media_type(&head.headers, false)?;
    let body = incoming::read(body, app).await?;
    record.asked(&body);
    let _room = relay::working_room(app, &body).await?;
    let body = relay::work(body.len(), || count::checked(body))?;
    let begun = Instant::now();
    let path = head.uri.path();
    let demand = relay::work(body.len(), || count::read(counter, path, &body))?;
    let model = demand.request.model.clone();
    record.model(&model);
    record.check_model(&model)?;
    record.own(begun.elapsed());
    let headers = headers::rewritten_up(head.headers);
    app.upstreams.deposit();
    let mut search = Search::new(&model, None);
    let mut left = app.upstreams.count();
    loop {
        let may = |one: &Upstream| record.may_use(one);
        let upstreams = &app.upstreams;
        let target = match upstreams.ready(&search.wanted(), may, |_target| 0).await {
            Ok(target) => target,
            Err(error) => return Err(search.answer(error).error),
        };
        if let Some(spent) = search.is_spent(app) {
            return Err(spent.error);
        }
        search.fails_over(app, record);
        let begun = Instant::now();
        // What another server calls the model is not this one's.
        let (demand, body) = match &target.model {
            None => (demand.clone(), body.clone()),
            Some(own) => relay::work(body.len(), || {
                let (path, body) = exchange::renamed(path, &body, own);
                count::read(counter, &path, &body).map(|demand| (demand, body))
            })?,
        };
        record.upstream(&target.upstream);
        if model.is_empty() && target.upstream.wants_model() {
            return Err(relay::no_model());
        }
        let counted = relay::work(body.len(), || {
            let options = app.options();
            count::plan(counter, demand, &body, &target.rule, &options)
        });
        let counted = match counted {
            Ok(counted) => counted,
            Err(error) => {
                search.refuses(upstreams, &target.upstream, &target.rule, &error);
                continue;
            }
        };
        let exchange = &counted.exchange;
        record.planned(&target.rule, exchange);
        record.own(begun.elapsed());
        let error = match asked(app, &counted, &target, &headers, record).await {
            Ok(Ok(Some(counts))) => {
                target.upstream.succeeded(&model);
                record.tokens("counted");
                return Ok(reply(counts));
            }
            Ok(Ok(None)) => {
                record.tokens("estimated");
                let estimated = relay::work(body.len(), || counted.estimated())?;
                return Ok(reply(estimated));
            }
            Ok(Err(error)) => error,
            Err(failure) if failure.why.is_connect() && left > 0 => {
                left -= 1;
                app.metrics.upstream_failed(Error::from(failure).kind);
                app.metrics.retry("connect");
                continue;
            }
            Err(failure) => failure.into(),
        };
        let error = target.upstream.redact_error(error);
        let is_over = app.upstreams.count() < 2 || !search.goes_on(&target.upstream, &error);
        let error = relay::with_wait(error);
        if is_over {
            return Err(error);
        }
        search.fails(error.into());
    }
}

/// Asks the server; `None` where it does not count.
///
/// # Errors
/// The server could not be sent anything.
async fn asked(
    app: &App,
    counted: &Counted,
    target: &Target,
    headers: &HeaderMap,
    record: &Record,
) -> Result<Result<Option<Bytes>, Error>, Failure> {
    let deadline = tokio::time::Instant::now() + app.config.timeouts.first_byte;
    let mut next = counted.question.clone();
    while let Some(question) = next {
        let outgoing = match outgoing(&question, headers) {
            Ok(outgoing) => outgoing,
            Err(error) => return Ok(Err(error)),
        };
        record.sent();
        let sent = tokio::time::timeout_at(deadline, target.upstream.send(outgoing)).await;
        let Ok(reply) = sent else {
            return Ok(Err(relay::too_late()));
        };
        let reply = reply?;
        let status = reply.status().as_u16();
        if status >= 400 {
            let refused = relay::refusal_of(&target.upstream, &target.rule, reply).await;
            let (_head, body, error) = refused;
            // A server that does not know the model says so with the same status.
            let has_route = !NO_ROUTE.contains(&status) || error.kind == Kind::ModelNotFound;
            drop(body);
            return Ok(if has_route { Err(error) } else { Ok(None) });
        }
        if !matches!(status, 200 | 201) {
            let message = format!("the upstream answered with status {status}");
            return Ok(Err(Error::new(Kind::UpstreamBadReply, message)));
        }
        let (head, body) = reply.into_parts();
        if let Err(error) = relay::check_coding(&head.headers) {
            return Ok(Err(error));
        }
        let limit = app.config.limits.reply_bytes;
        let bytes = match whole::read(&[], body, limit, deadline, &app.budget).await {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(relay::unread(error, limit, &app.metrics))),
        };
        let heard = relay::work(bytes.len(), || counted.heard(&question, &bytes));
        next = match heard {
            Ok(Answer::Reply(counts)) => return Ok(Ok(Some(counts))),
            // Never more than one.
            Ok(Answer::Ask(question)) => Some(question),
            Err(error) => return Ok(Err(error)),
        };
    }
    Ok(Ok(None))
}

fn outgoing(question: &Question, headers: &HeaderMap) -> Result<Outgoing, Error> {
    let target = PathAndQuery::try_from(question.path.as_str()).map_err(|_invalid| {
        let message = "the model's name cannot be part of a URL";
        Error::new(Kind::InvalidRequest, message).at("model")
    })?;
    Ok(Outgoing {
        with_key: true,
        method: Method::POST,
        target,
        headers: headers.clone(),
        body: Payload::Whole(question.body.clone().into()),
    })
}

fn reply(body: Bytes) -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::full(body));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}
