//! A request that is not translated in, the upstream's own reply out: method, path, query, body
//! and status untouched, both bodies streamed, only hop-by-hop headers taken off. Before that a
//! look at what it demands: nothing here is verified, so a demand is refused by name.

mod search;

use super::access::Stranger;
use super::account::Record;
use super::admit::Seat;
use super::body::{BoxError, ReplyBody};
use super::body_limit::{Announced, too_large};
use super::peek::{Drained, Gone, Peeked, peek};
use super::relay::Untouched;
use super::relay::incoming;
use super::relay::kinds::{self, BodyKind};
use super::silence::Passing;
use super::{App, headers, kept, relay, request_id, results, turn};
use crate::config::Unverified;
use crate::upstream::{Failure, Outgoing, Payload, Place, Upstream, Why};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::Full;
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::dialect::client::Client;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange;
use isogloss_core::ir::Framing;
use isogloss_core::passage::{self, BodyDemand, Form, Way};
use search::Search;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use tokio::time::{Instant, timeout_at};

/// A request body as it is sent.
enum Sent {
    Nothing,
    /// Can be sent again.
    Whole(Bytes),
    /// Cannot; taken when it is sent. Says when all of it has gone.
    Streamed(Option<reqwest::Body>, Gone),
}

impl Sent {
    fn take(&mut self) -> Payload {
        match self {
            Self::Nothing => Payload::Nothing,
            Self::Whole(bytes) => Payload::Whole(bytes.clone().into()),
            Self::Streamed(body, _) => body.take().map_or(Payload::Nothing, Payload::Streamed),
        }
    }

    /// The same where the server calls the model otherwise; a body that streams through keeps its name.
    fn renamed(
        &mut self,
        target: &PathAndQuery,
        model: &str,
        at: Option<&Range<usize>>,
    ) -> Result<(PathAndQuery, Payload), Error> {
        let Self::Whole(bytes) = self else {
            return Ok((target.clone(), self.take()));
        };
        if let Some(at) = at {
            let form = passage::form_with(bytes, at, model);
            return Ok((target.clone(), Payload::Whole(Bytes::from(form).into())));
        }
        let (path, bytes) = exchange::renamed(target.as_str(), bytes, model);
        let message = "the model's name cannot be part of a URL";
        let target = PathAndQuery::try_from(path);
        let target = target.map_err(|_invalid| Error::new(Kind::InvalidRequest, message))?;
        Ok((target, Payload::Whole(bytes.into())))
    }

    /// Waits for the head of a reply, for as long as may be once the whole request has gone: how long a body takes
    /// that streams through is limited by its own pace. Also says until when the first bytes must be there.
    async fn timed<T>(
        &self,
        app: &App,
        mut sent: Pin<&mut impl Future<Output = T>>,
    ) -> Result<(T, Instant), Error> {
        let begun = Instant::now();
        // Now, as long as it is going.
        let gone = || match self {
            Self::Streamed(_, gone) => *gone.get().unwrap_or(&Instant::now()),
            Self::Nothing | Self::Whole(_) => begun,
        };
        loop {
            let limit = app.config.timeouts.first_byte;
            let until = gone() + limit;
            match timeout_at(until, &mut sent).await {
                Ok(sent) => return Ok((sent, gone() + limit)),
                Err(_elapsed) if gone() + limit > until => {}
                Err(_elapsed) => return Err(relay::too_late()),
            }
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
    is_forwarded(app, &head, way, record)?;
    let is_safe = is_safe(&head.method);
    let access = record.accessing().filter(|access| access.has_models());
    let access = access.filter(|_| !is_safe);
    let form = form(&head);
    let is_read = is_json(&head) || form.is_some() && passage::computes(head.uri.path());
    let chooses = app.upstreams.count() > 1 && !is_safe && is_read;
    let (mut model, mut in_form) = (String::new(), None);
    let body = if access.is_some() || chooses {
        let bytes = incoming::read(body, app).await?;
        let path = head.uri.path();
        let named = relay::work(bytes.len(), || match &form {
            Some(form) => form.model(&bytes).map(|found| (found.name, Some(found.at))),
            None => passage::model_of(path, &bytes).map(|name| (name, None)),
        });
        (model, in_form) = match access {
            None => named.unwrap_or_default(),
            // What names no model that can be read could name any.
            Some(access) => {
                let named = named?;
                access.check_model(&named.0)?;
                named
            }
        };
        // It is here as a whole, so that it can be sent again.
        match look(app, &head, Full::new(bytes.clone()), way, record).await? {
            Sent::Streamed(..) => Sent::Whole(bytes),
            sent => sent,
        }
    } else {
        look(app, &head, body, way, record).await?
    };
    let asked = Asked {
        head,
        target,
        model,
        in_form,
    };
    forward(app, asked, body, record).await
}

/// Whether it asks for nothing that a server has to work out.
fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn is_json(head: &Parts) -> bool {
    let media_type = head.headers.get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    media_type.is_some_and(kinds::is_json)
}

/// The form that a body is.
fn form(head: &Parts) -> Option<Form> {
    let media_type = head.headers.get(CONTENT_TYPE);
    Form::of(media_type?.to_str().ok()?)
}

/// Whether some server that whoever asks may use is asked this.
pub(super) fn has_forwarding(app: &App, method: &Method, path: &str, record: &Record) -> bool {
    let mut upstreams = app.upstreams.iter();
    upstreams.any(|one| record.may_use(one) && one.forwards(method, path))
}

/// Whether some server is asked this at all: its key goes along.
///
/// # Errors
/// None is.
fn is_forwarded(app: &App, head: &Parts, way: Way, record: &Record) -> Result<(), Error> {
    let path = head.uri.path();
    if has_forwarding(app, &head.method, path, record) {
        return Ok(());
    }
    // Told what is wrong with it, a client can do better than ask for the path to be added.
    Err(match way {
        Way::Disguised => passage::other_prefix(),
        _ => passage::not_forwarded(head.method.as_str(), path),
    })
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
    let is_safe = is_safe(&head.method);
    if way == Way::Disguised && !is_safe {
        may(Some(passage::other_prefix()))?;
    }
    let is_empty = |body: &Announced| body.is_empty;
    if head.extensions.get::<Announced>().is_some_and(is_empty) {
        return Ok(Sent::Nothing);
    }
    // What is not read as a whole has a place from the beginning.
    let gone = Gone::default();
    let streamed = |body: reqwest::Body| {
        let seat = head.extensions.get::<Seat>();
        seat.map_or(Ok(()), Seat::streamed)?;
        Ok(Sent::Streamed(Some(body), Arc::clone(&gone)))
    };
    if is_safe || way == Way::Plain {
        return streamed(reqwest::Body::wrap(Drained::new(body, &gone)));
    }
    let coding = head.headers.get(CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        may(Some(passage::encoded()))?;
        return streamed(reqwest::Body::wrap(Drained::new(body, &gone)));
    }
    match peek(body, app).await? {
        Peeked::Streamed(body) => streamed(reqwest::Body::wrap(Drained::new(body, &gone))),
        Peeked::Whole(bytes) => {
            let begun = std::time::Instant::now();
            let demand: BodyDemand = relay::work(bytes.len(), || passage::demand(&bytes));
            record.own(begun.elapsed());
            may(passage::refusal(&demand))?;
            Ok(Sent::Whole(bytes))
        }
    }
}

/// What is passed on, but for its body.
struct Asked {
    head: Parts,
    target: PathAndQuery,
    /// Empty where none can be read, or nobody needs to know.
    model: String,
    /// Where it stands, where the body is a form.
    in_form: Option<Range<usize>>,
}

async fn forward(
    app: &App,
    asked: Asked,
    mut body: Sent,
    record: &Record,
) -> Result<Response<ReplyBody>, Error> {
    let Asked {
        head,
        target,
        model,
        in_form,
    } = asked;
    if let Sent::Whole(bytes) = &body {
        record.asked(bytes);
    }
    let begun = std::time::Instant::now();
    let headers = told(&head);
    let waits = app.upstreams.have_queues() && !is_safe(&head.method);
    let turn = waits.then(|| turn::of(app, &head.headers, record));
    let turn = turn.transpose()?;
    let mut attempts = app.upstreams.count();
    app.upstreams.deposit();
    let path = head.uri.path();
    let may = may_ask(app, &head, record);
    // Whatever has begun to stream through cannot be sent twice.
    let is_kept = !matches!(body, Sent::Streamed(..));
    let mut search = Search {
        app,
        record,
        model: &model,
        may_repeat: is_kept && (is_safe(&head.method) || passage::computes(path)),
        tried: Vec::new(),
    };
    let mut next = None;
    loop {
        let upstream = match next.take() {
            Some(upstream) => upstream,
            None => app.upstreams.any(&search.wanted(), may)?,
        };
        record.upstream(&upstream);
        let own = upstream.alias(&model);
        if app.upstreams.count() > 1 {
            record.answered_by(&upstream.label(), own.as_deref());
        }
        let (own_target, sent) = match own {
            Some(own) => body.renamed(&target, &own, in_form.as_ref())?,
            None => (target.clone(), body.take()),
        };
        let outgoing = Outgoing {
            // Who showed no key gets none of the operator's.
            with_key: head.extensions.get::<Stranger>().is_none(),
            method: head.method.clone(),
            target: own_target,
            headers: headers.clone(),
            body: sent,
        };
        record.own(begun.elapsed());
        let place = match turn {
            Some(turn) => upstream.admit(turn).await?.map(Arc::new),
            None => None,
        };
        record.sent();
        let sent = {
            let sent = pin!(upstream.send(outgoing));
            body.timed(app, sent).await
        };
        let (error, retry_after) = match sent {
            Ok((Ok(reply), first_byte)) => {
                let (reply, fault) = search.fault_of(&upstream, reply, first_byte).await?;
                if let Some(retry_after) = fault {
                    let kind = failed_with(reply.status().as_u16());
                    next = search.after(&upstream, kind, retry_after, may);
                    if next.is_some() {
                        continue;
                    }
                } else {
                    upstream.succeeded(&model);
                    if reply.status().is_success() && is_answered_to_a_key(path) {
                        upstream.key_serves();
                    }
                }
                let reply = Place::holding(place.as_ref(), reply);
                let passed = Passed {
                    app,
                    client: passage::client(target.path()),
                    names_results: passage::names_results(path),
                    first_byte,
                    record,
                };
                return passed.answered(&upstream, &head.method, reply).await;
            }
            Ok((Err(failure), _)) if failure.why.is_connect() && is_kept && attempts > 1 => {
                attempts -= 1;
                app.metrics.upstream_failed(Error::from(failure).kind);
                app.metrics.retry("connect");
                continue;
            }
            Ok((Err(failure), _)) if failure.why.is_upstream() => (failure.into(), None),
            Ok((Err(failure), _)) => return Err(unsent(failure, app)),
            Err(late) => (late, None),
        };
        next = search.after(&upstream, error.kind, retry_after, may);
        if next.is_none() {
            return Err(error);
        }
    }
}

/// The headers that a server is told.
fn told(head: &Parts) -> HeaderMap {
    let mut headers = headers::pass_up(head.headers.clone());
    request_id::tell(&head.extensions, &mut headers);
    if passage::names_results(head.uri.path()) {
        // Its reply is read.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    headers
}

/// Which servers may be asked.
fn may_ask<'a>(
    app: &App,
    head: &'a Parts,
    record: &'a Record,
) -> impl Fn(&Upstream) -> bool + Copy + use<'a> {
    let path = head.uri.path();
    let keeper = kept::asked_elsewhere(app, path);
    move |one: &Upstream| {
        let has_it = keeper.is_none_or(|keeper| kept::keeps_itself(one, keeper));
        has_it && record.may_use(one) && one.forwards(&head.method, path)
    }
}

/// Why a request could not be sent that is not the server's doing.
fn unsent(failure: Failure, app: &App) -> Error {
    match failure.why {
        Why::BodyTooLarge => {
            app.metrics.limit_hit("body_bytes");
            too_large(app.config.limits.body_bytes)
        }
        Why::BodyTimeout => incoming::too_slow(app),
        _ => failure.into(),
    }
}

/// Until when the first bytes of a reply must be there, for what is sent now.
pub(super) fn first_byte(app: &App) -> Instant {
    Instant::now() + app.config.timeouts.first_byte
}

/// A reply that is passed on.
pub(super) struct Passed<'a> {
    pub(super) app: &'a App,
    /// Who reads its events, where that is known.
    pub(super) client: Option<&'static dyn Client>,
    /// It may say where the results of a batch are.
    pub(super) names_results: bool,
    pub(super) first_byte: Instant,
    pub(super) record: &'a Record,
}

impl Passed<'_> {
    /// The reply as it is, but for a key of the operator's that a server shows in its errors, and for what a stream of
    /// events ends with that breaks off.
    pub(super) async fn answered(
        &self,
        upstream: &Arc<Upstream>,
        method: &Method,
        reply: Response<reqwest::Body>,
    ) -> Result<Response<ReplyBody>, Error> {
        let kind = fault_kind(method, reply.status().as_u16());
        let mut passed = self.passed(upstream, method, reply).await?;
        if let Some(kind) = kind {
            // For the account.
            passed.extensions_mut().insert(kind);
        }
        Ok(passed)
    }

    async fn passed(
        &self,
        upstream: &Arc<Upstream>,
        method: &Method,
        reply: Response<reqwest::Body>,
    ) -> Result<Response<ReplyBody>, Error> {
        if reply.status() == StatusCode::SWITCHING_PROTOCOLS {
            let message = "the upstream went over to another protocol, for which it was not asked";
            return Err(Error::new(Kind::UpstreamBadReply, message));
        }
        let status = reply.status().as_u16();
        let is_error = status >= 400 && *method != Method::HEAD;
        if is_error && upstream.has_key() {
            if status == 401 && !is_safe(method) {
                upstream.doubt_key();
            }
            // What it says of a key that is not the client's would be taken for the client's.
            let is_of_key = fault_kind(method, status) == Some(Kind::UpstreamAuth);
            if let Some(rule) = upstream.rule().filter(|_| is_of_key) {
                let (_head, _body, error) = relay::refusal_of(upstream, &rule, reply).await;
                return Err(upstream.redact_error(error));
            }
            return super::redacted::reply(self.app, upstream, reply).await;
        }
        if self.names_results && reply.status().is_success() {
            return results::reply(self.app, reply, self.first_byte, self.record).await;
        }
        if !is_events(&reply) {
            let record = self.record.clone();
            return Ok(pass_reply(self.app, reply, self.first_byte, record));
        }
        let (head, body) = reply.into_parts();
        // Where nobody knows better, OpenAI's error is read by most.
        let client = self.client.unwrap_or(&Chat);
        let record = self.record.clone();
        let body = Untouched::new(
            body,
            client,
            Framing::Events,
            self.app,
            self.first_byte,
            record,
        );
        Ok(self::reply(head, ReplyBody::Events(Box::new(body))))
    }
}

/// With what a server failed that answers this to a request which another may do.
const fn failed_with(status: u16) -> Kind {
    match status {
        404 => Kind::ModelNotFound,
        429 => Kind::UpstreamRateLimited,
        _ => Kind::UpstreamFailed,
    }
}

/// What an error of the upstream's counts as; nothing where a client only looked whether it is well.
fn fault_kind(method: &Method, status: u16) -> Option<Kind> {
    match status {
        _ if is_safe(method) => None,
        401 | 403 => Some(Kind::UpstreamAuth),
        429 => Some(Kind::UpstreamRateLimited),
        500.. => Some(Kind::UpstreamFailed),
        _ => None,
    }
}

/// Whether who is answered well there has shown a key that is good: what stands outside of `/v1` is often open to all.
fn is_answered_to_a_key(path: &str) -> bool {
    path.starts_with("/v1/") && passage::computes(path)
}

/// Whether a reply is a stream of events in which another can be written.
fn is_events(reply: &Response<reqwest::Body>) -> bool {
    let headers = reply.headers();
    let media_type = headers.get(CONTENT_TYPE);
    let media_type = media_type.map(|value| value.to_str().unwrap_or("?"));
    let has_length = reply.body().size_hint().exact().is_some();
    let kind = kinds::by_type(media_type, Framing::Events, false);
    kind == Some(BodyKind::Events) && !has_length && !headers.contains_key(CONTENT_ENCODING)
}

/// The upstream's reply as it is.
pub(super) fn pass_reply(
    app: &App,
    reply: Response<reqwest::Body>,
    first_byte: Instant,
    record: Record,
) -> Response<ReplyBody> {
    let (head, body) = reply.into_parts();
    let body = Passing::new(app, body, first_byte, record);
    self::reply(head, ReplyBody::Upstream(Box::new(body)))
}

/// The upstream's head with this body.
pub(super) fn reply(head: http::response::Parts, body: ReplyBody) -> Response<ReplyBody> {
    let mut reply = Response::new(body);
    *reply.status_mut() = head.status;
    *reply.headers_mut() = headers::pass_down(head.headers);
    reply
}
