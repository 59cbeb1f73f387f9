//! Questions about models: a server that answers in the asking client's words is passed on as it is; of any other the
//! list is read, and written in those. Of several servers all lists are one.

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::budget::no_room;
use super::pass::{self, Passed};
use super::relay::{self, incoming, whole};
use super::{App, headers};
use crate::upstream::{Failure, Outgoing, Payload, Upstream, Wanted};
use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body::Body;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::upstream_error;
use isogloss_core::passage::{self, Asking, Credentials, Listed, Speaks};
use isogloss_core::rules::Rule;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{timeout, timeout_at};

/// Of an error that a server answers in place of its list.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// One of several servers; who asks is not to wait for the one that hangs.
const LIST_WITHIN: Duration = Duration::from_secs(10);

/// What a request's headers tell of whose client asks.
pub(super) fn credentials(headers: &HeaderMap) -> Credentials {
    let has = |name: &str| headers.contains_key(name);
    Credentials {
        is_anthropic: has("anthropic-version")
            || has("x-api-key") && !headers.contains_key(AUTHORIZATION),
        is_google: has("x-goog-api-key"),
    }
}

/// What a request asks about models, if it does.
pub(super) fn asking<B>(request: &Request<B>) -> Option<Asking> {
    let uri = request.uri();
    // Of a client that was let in they are gone.
    let known = request.extensions().get::<Credentials>().copied();
    let known = known.unwrap_or_else(|| credentials(request.headers()));
    passage::asking(request.method().as_str(), uri.path(), uri.query(), known)
}

/// Answers it.
pub(super) async fn answer<B>(
    app: &App,
    mut asking: Asking,
    mut request: Request<B>,
    record: &Record,
) -> Result<Response<ReplyBody>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    let rule = rule(app, &asking, record).await?;
    let usable = app.upstreams.usable(|one| record.may_use(one));
    let is_told =
        |one: &Arc<Upstream>| one.aliases().next().is_some() || one.told_models().is_some();
    let is_several = usable.len() > 1 || usable.iter().any(is_told);
    let is_own = match &rule {
        _ if is_several => usable.iter().all(|one| {
            let rule = one.rule();
            rule.is_some_and(|rule| asking.is_own(&rule))
        }),
        Some(rule) => asking.is_own(rule),
        None => asking.speaks == Speaks::OpenAi,
    };
    if is_own && !asking.is_one() && !(is_several && asking.is_list()) {
        if let Some(path) = asking.own_path() {
            spell(&mut request, path)?;
        }
        let way = passage::way(request.uri().path());
        return pass::pass(app, request, way, record).await;
    }
    if let Some(answer) = asking.at_once(env!("CARGO_PKG_VERSION")) {
        return Ok(json(answer));
    }
    let (mut head, body) = request.into_parts();
    if asking.has_body() {
        asking = asking.named(&incoming::read(body, app).await?)?;
    }
    rename_key(&asking, &mut head);
    if is_own && asking.is_one() {
        let own = head.uri.path_and_query().cloned();
        let own = own.ok_or_else(|| Error::new(Kind::InvalidRequest, "the request has no path"))?;
        let (upstream, reply) = ask(app, asking.model(), &head.headers, own, record).await?;
        // Some servers have the list alone.
        if !matches!(reply.status().as_u16(), 404 | 405 | 501) {
            let answer = Passed {
                app,
                client: None,
                names_results: false,
                first_byte: pass::first_byte(app),
                record,
            };
            return answer.answered(&upstream, &Method::GET, reply).await;
        }
    }
    if is_several {
        let headers = headers::rewritten_up(head.headers);
        let lists = merged(app, &headers, &usable, record).await?;
        return Ok(json(asking.answer_of(&lists)?));
    }
    let wire = rule.map_or_else(Default::default, |rule| rule.server.wire());
    let path = PathAndQuery::from_static(Asking::list_path(wire));
    let (upstream, reply) =
        ask(app, "", &headers::rewritten_up(head.headers), path, record).await?;
    let list = list(app, &upstream, reply).await?;
    Ok(json(asking.answer(&[list])?))
}

/// Puts a path in the place of a request's.
fn spell<B>(request: &mut Request<B>, path: &str) -> Result<(), Error> {
    let target = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    *request.uri_mut() = target.parse().map_err(|_wrong| {
        Error::new(
            Kind::InvalidRequest,
            "the request's query cannot be sent on",
        )
    })?;
    Ok(())
}

/// What is known of these servers' models, in their order. One that has no list to give is left out while another has.
async fn merged(
    app: &App,
    headers: &HeaderMap,
    servers: &[Arc<Upstream>],
    record: &Record,
) -> Result<Vec<Listed<Bytes>>, Error> {
    record.sent();
    let asked = async |upstream: &Arc<Upstream>| {
        let wire = upstream.rule().map(|rule| rule.server.wire());
        let path = Asking::list_path(wire.unwrap_or_default());
        let path = PathAndQuery::from_static(path);
        let reply = ask_one(app, upstream, headers, path).await?;
        let reply = reply.map_err(Error::from)?;
        list(app, upstream, reply).await
    };
    let lists = servers.iter().map(async |upstream| {
        let list = timeout(LIST_WITHIN, asked(upstream)).await;
        list.unwrap_or_else(|_elapsed| Err(relay::too_late()))
    });
    let mut found = Vec::with_capacity(servers.len());
    let mut failed = None;
    let mut is_any = false;
    for (upstream, list) in servers.iter().zip(join_all(lists).await) {
        let aliases = upstream.aliases();
        let mut listed = Listed {
            list: None,
            told: upstream.told_models(),
            aliases: aliases
                .map(|(alias, model)| (alias.to_owned(), model.to_owned()))
                .collect(),
        };
        match list {
            Ok(list) => listed.list = Some(list),
            // A hosted API may have no list of what the operator says that it has.
            Err(_) if listed.told.is_some() => {}
            Err(error) => {
                let name = upstream.name();
                tracing::warn!(upstream = name, error = %error, "its models are not in the list");
                failed.get_or_insert(error);
            }
        }
        is_any |= listed.list.is_some() || listed.told.is_some();
        found.push(listed);
    }
    match failed {
        Some(error) if !is_any => Err(error),
        _ => Ok(found),
    }
}

/// The rule of the server that is asked. Whoever is not answered by the server itself waits until one is known.
async fn rule(app: &App, asking: &Asking, record: &Record) -> Result<Option<Arc<Rule>>, Error> {
    let may = |one: &Upstream| record.may_use(one);
    let known = app
        .upstreams
        .any(&Wanted::default(), may)
        .ok()
        .and_then(|upstream| upstream.rule());
    if known.is_some() || asking.speaks == Speaks::OpenAi || asking.at_once("").is_some() {
        return Ok(known);
    }
    Ok(Some(
        app.upstreams
            .ready(&Wanted::default(), may, |_target| 0)
            .await?
            .rule,
    ))
}

/// Puts the client's key where the server's rule looks for it; a key stands in no URL from here on.
fn rename_key(asking: &Asking, head: &mut Parts) {
    let key = match asking.speaks {
        Speaks::Gemini => Some(("x-goog-api-key", Some("key"))),
        Speaks::Anthropic => Some(("x-api-key", None)),
        Speaks::OpenAi | Speaks::Ollama => None,
    };
    let query = head.uri.query().map(str::to_owned);
    headers::rename_key(key, query.as_deref(), &mut head.headers);
    if let Ok(bare) = Uri::try_from(head.uri.path()) {
        head.uri = bare;
    }
}

/// Asks the first server that can be reached, of those that list the model if there are such.
async fn ask(
    app: &App,
    model: &str,
    headers: &HeaderMap,
    target: PathAndQuery,
    record: &Record,
) -> Result<(Arc<Upstream>, Response<reqwest::Body>), Error> {
    let mut attempts = app.upstreams.count();
    loop {
        let wanted = Wanted {
            model,
            ..Wanted::default()
        };
        let upstream = app.upstreams.any(&wanted, |one| record.may_use(one))?;
        record.upstream(&upstream);
        record.sent();
        match ask_one(app, &upstream, headers, target.clone()).await? {
            Ok(reply) => return Ok((upstream, reply)),
            Err(failure) if failure.why.is_connect() && attempts > 1 => {
                attempts -= 1;
                app.metrics.upstream_failed(Error::from(failure).kind);
                app.metrics.retry("connect");
            }
            Err(failure) => return Err(failure.into()),
        }
    }
}

/// Asks this server.
async fn ask_one(
    app: &App,
    upstream: &Upstream,
    headers: &HeaderMap,
    target: PathAndQuery,
) -> Result<Result<Response<reqwest::Body>, Failure>, Error> {
    let outgoing = Outgoing {
        with_key: true,
        method: Method::GET,
        target,
        headers: headers::pass_up(headers.clone()),
        body: Payload::Nothing,
    };
    let sent = timeout_at(pass::first_byte(app), upstream.send(outgoing)).await;
    sent.map_err(|_elapsed| relay::too_late())
}

/// The server's list, or its error in the house's words.
async fn list(
    app: &App,
    upstream: &Upstream,
    reply: Response<reqwest::Body>,
) -> Result<Bytes, Error> {
    let (head, body) = reply.into_parts();
    let status = head.status.as_u16();
    let is_list = head.status.is_success();
    let limit = match is_list {
        true => app.config.limits.reply_bytes,
        false => MAX_ERROR_BYTES,
    };
    let deadline = tokio::time::Instant::now() + app.config.timeouts.first_byte;
    let read = whole::read(&[], body, limit, deadline, &app.budget).await;
    if read == Err(whole::WholeError::NoRoom) {
        return Err(no_room(&app.metrics));
    }
    if is_list {
        if read == Err(whole::WholeError::TooLarge) {
            app.metrics.limit_hit("reply_bytes");
        }
        let message = "the server's list of models did not arrive whole";
        return read.map_err(|_unread| Error::new(Kind::UpstreamTruncated, message));
    }
    let body = read.unwrap_or_default();
    let body = upstream.redact(&body).map_or(body, Bytes::from);
    Err(match upstream.rule() {
        Some(rule) => upstream.redact_error(upstream_error(&rule, status, &body)),
        None => Error::new(Kind::UpstreamFailed, "the server has no list of models"),
    })
}

/// A reply of our own.
pub(super) fn json(body: Vec<u8>) -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::full(Bytes::from(body)));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    reply
}
