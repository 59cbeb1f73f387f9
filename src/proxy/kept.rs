//! Replies that are kept: what a request goes on from is put before it; its reply is handed to the store when it is
//! complete; and what is asked about a kept reply is answered here, without any server.

use super::account;
use super::body::{BoxError, ReplyBody};
use super::relay::work;
use super::{App, headers, pass, relay};
use crate::config::StorePlace;
use crate::store::{Owner, Record, Store, StoreError, Ticket};
use crate::upstream::{Upstream, Wanted};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Body;
use http_body_util::Full;
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::keeper::{Keeper, Kept, KeptPart, KeptRoute, Known};
use isogloss_core::error::{Error, Kind};
use isogloss_core::passage;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A reply that is kept once it is complete.
pub(super) struct Keeping {
    store: Arc<Store>,
    keeper: &'static dyn Keeper,
    owner: Owner,
    previous: Option<String>,
    /// The request as it came.
    body: Bytes,
    /// Its place in the store's queue, until it is taken.
    ticket: Mutex<Option<Ticket>>,
}

/// A request, as far as the store is concerned.
pub(super) struct Followed {
    pub(super) client: &'static dyn Client,
    /// With what it goes on from.
    pub(super) body: Bytes,
    /// That is more than came.
    pub(super) goes_on: bool,
    pub(super) keeping: Option<Arc<Keeping>>,
}

impl Keeping {
    /// Keeps the reply as it was written for the client. The first is the one that counts.
    pub(super) fn keep(&self, reply: Vec<u8>) {
        let ticket = self
            .ticket
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(ticket) = ticket {
            let record = Record {
                owner: self.owner,
                keeper: self.keeper,
                previous: self.previous.clone(),
                body: self.body.clone(),
                reply,
            };
            self.store.keep(ticket, record);
        }
    }
}

impl fmt::Debug for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeping").finish_non_exhaustive()
    }
}

/// Where replies are kept: unless somebody asked for a store, nowhere where all servers keep them themselves, and are sent
/// requests as they are.
fn store<'a>(app: &'a App, keeper: &dyn Keeper) -> Option<&'a Arc<Store>> {
    let keeps = |one: &Arc<Upstream>| keeps_itself(one, keeper);
    let is_left = is_left(app, keeper) && app.upstreams.iter().all(keeps);
    if is_left { None } else { app.shelf.store() }
}

/// Whether replies are left to a server that keeps them itself, where it is asked.
fn is_left(app: &App, keeper: &dyn Keeper) -> bool {
    app.config.responses.store == StorePlace::Auto
        && app.upstreams.iter().any(|one| keeps_itself(one, keeper))
}

/// Where the reply to this request is kept, and what it goes on from: where some servers keep replies themselves and others do not,
/// the model says who is asked. What was kept here is here, whoever is asked next.
fn store_of<'a>(
    app: &'a App,
    keeper: &dyn Keeper,
    path: &str,
    body: &Bytes,
) -> Result<Option<&'a Arc<Store>>, Error> {
    let Some(store) = store(app, keeper) else {
        return Ok(None);
    };
    if !is_left(app, keeper) {
        return Ok(Some(store));
    }
    let asks = work(body.len(), || keeper.asks(body))?;
    if asks.previous.is_some_and(|id| is_own(keeper, &id)) {
        return Ok(Some(store));
    }
    // What is wrong with the body is told by whoever reads the rest of it.
    let model = work(body.len(), || passage::model_of(path, body)).unwrap_or_default();
    let mut asked = app.upstreams.having(&model).into_iter();
    Ok((!asked.any(|one| keeps_itself(one, keeper))).then_some(store))
}

/// Whether an id is one that is made here.
fn is_own(keeper: &dyn Keeper, id: &str) -> bool {
    keeper.home(id).as_deref() == Some(id)
}

/// Whose reply is asked for on this path that servers keep themselves: no others are to be asked.
pub(super) fn asked_elsewhere(app: &App, path: &str) -> Option<&'static dyn Keeper> {
    let route = passage::kept(path).filter(|route| route.what != KeptPart::Compact)?;
    is_left(app, route.keeper).then_some(route.keeper)
}

/// Whether a server has the routes of kept replies, as far as is known of one that cannot be asked.
pub(super) fn keeps_itself(upstream: &Upstream, keeper: &dyn Keeper) -> bool {
    let rule = upstream.expected_rule();
    rule.is_some_and(|rule| keeper.is_kept_by(&rule))
}

/// The replies with these ids that are there, each once.
async fn found(
    store: &Store,
    owner: Owner,
    mut ids: Vec<String>,
    most: usize,
) -> Result<Vec<Kept>, StoreError> {
    ids.sort_unstable();
    ids.dedup();
    let (mut all, mut size) = (Vec::new(), 0);
    for id in &ids {
        if let Some(kept) = store.find(owner, id).await? {
            size += kept.input.len() + kept.reply.len();
            if size > most {
                return Err(StoreError::TooLong);
            }
            all.push(kept);
        }
    }
    Ok(all)
}

/// Puts before a request what it goes on from, and takes a place for its reply.
///
/// # Errors
/// What it goes on from is not there, or too long.
pub(super) async fn follow(
    app: &App,
    client: &'static dyn Client,
    head: &Parts,
    body: Bytes,
    record: &account::Record,
) -> Result<Followed, Error> {
    let headers = &head.headers;
    let kept = match client.keeper() {
        None => None,
        Some(keeper) => {
            let store = store_of(app, keeper, head.uri.path(), &body)?;
            store.map(|store| (keeper, store))
        }
    };
    let Some((keeper, store)) = kept else {
        let keeping = None;
        return Ok(Followed {
            client,
            body,
            goes_on: false,
            keeping,
        });
    };
    let asks = work(body.len(), || keeper.asks(&body))?;
    let owner = owner(store, headers, record);
    let most = app.config.limits.body_bytes;
    let mut known = Known::default();
    if let Some(id) = &asks.previous {
        if !keeper.may_be(id) {
            return Err(keeper.unknown(id, Some(keeper.previous())));
        }
        let before = store.chain(owner, id, most).await;
        let before = before.map_err(|error| failed(app, keeper, error))?;
        let param = Some(keeper.previous());
        known.before = before.ok_or_else(|| keeper.unknown(id, param))?;
    }
    let homes = asks.items.iter().filter_map(|item| keeper.home(item));
    let homes = found(store, owner, homes.collect(), most).await;
    known.homes = homes.map_err(|error| failed(app, keeper, error))?;
    let goes_on = asks.previous.is_some() || !asks.items.is_empty();
    let (whole, body) = match goes_on {
        true => {
            let continued = work(body.len() + known.size(), || {
                keeper.continued(&body, &known)
            })?;
            (continued.whole, continued.kept.unwrap_or(body))
        }
        false => (body.clone(), body),
    };
    let keeping = match asks.keeps {
        false => None,
        true => {
            let ticket = store.ticket().await;
            let ticket = ticket.map_err(|error| failed(app, keeper, error))?;
            Some(Arc::new(Keeping {
                store: Arc::clone(store),
                keeper,
                owner,
                previous: asks.previous,
                body,
                ticket: Mutex::new(Some(ticket)),
            }))
        }
    };
    Ok(Followed {
        client: keeper.client(keeping.is_some()),
        body: whole,
        goes_on,
        keeping,
    })
}

/// What is asked about kept replies, or of whoever keeps them, that is answered here: a server that has the routes is sent the
/// request as it is, where the reply is none that is kept here. Which server puts a conversation in short is the model's to say,
/// unless all have the route.
pub(super) fn route<'p, B>(app: &App, request: &'p Request<B>) -> Option<KeptRoute<'p>> {
    let path = request.uri().path();
    let route = passage::kept(path)?;
    let is_asked = match *request.method() {
        Method::POST => matches!(route.what, KeptPart::Cancel | KeptPart::Compact),
        Method::GET | Method::DELETE => true,
        _ => false,
    };
    let keeps = |one: &Arc<Upstream>| keeps_itself(one, route.keeper);
    let has_all = || app.upstreams.iter().all(keeps);
    let has_route = || match route.what {
        KeptPart::Compact => has_all(),
        KeptPart::Reply | KeptPart::Input | KeptPart::Cancel => {
            has_all() || !is_own(route.keeper, route.id)
        }
    };
    let is_passed = is_asked && is_left(app, route.keeper) && has_route();
    (is_asked && !is_passed).then_some(route)
}

/// Answers a request for a conversation in short: the server that has the route and the model is sent it as it is, where
/// nothing is kept here that it could go on from.
///
/// # Errors
/// As for every request.
pub(super) async fn compact<B>(
    app: &App,
    keeper: &'static dyn Keeper,
    client: &'static dyn Client,
    request: Request<B>,
    record: &account::Record,
) -> Result<Response<ReplyBody>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    let keeps = |one: &Arc<Upstream>| keeps_itself(one, keeper);
    if !is_left(app, keeper) {
        return relay::relay(app, client, request, record).await;
    }
    let (head, body) = request.into_parts();
    let body = relay::incoming::read(body, app).await?;
    let path = head.uri.path();
    let way = passage::way(path);
    // What is wrong with the body is told by whoever reads the rest of it.
    let model = work(body.len(), || passage::model_of(path, &body)).unwrap_or_default();
    let wanted = Wanted {
        model: &model,
        ..Wanted::default()
    };
    let first = app.upstreams.any(&wanted, |one| record.may_use(one));
    // Any of them may be the one that is sent it.
    let have = app
        .upstreams
        .usable(|one| record.may_use(one) && one.has(&model));
    let is_passed = first.as_ref().is_ok_and(keeps) && have.iter().all(keeps);
    let request = Request::from_parts(head, Full::new(body));
    match is_passed {
        true => pass::pass(app, request, way, record).await,
        false => relay::relay(app, client, request, record).await,
    }
}

/// Answers what is asked about a kept reply.
///
/// # Errors
/// There is none, or nothing is kept.
pub(super) async fn answer<B>(
    app: &App,
    route: KeptRoute<'_>,
    head: &Request<B>,
    record: &account::Record,
) -> Result<Response<ReplyBody>, Error> {
    let KeptRoute { keeper, id, what } = route;
    let store = store(app, keeper).ok_or_else(|| keeper.no_store())?;
    let query = head.uri().query().unwrap_or_default();
    let mut headers = head.headers().clone();
    headers::rename_key(keeper.client(true).key(), Some(query), &mut headers);
    let owner = owner(store, &headers, record);
    let query: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect();
    if !keeper.may_be(id) {
        return Err(keeper.unknown(id, None));
    }
    let kept = store.find(owner, id).await;
    let kept = kept.map_err(|error| failed(app, keeper, error))?;
    let kept = kept.ok_or_else(|| keeper.unknown(id, None))?;
    let body = match (head.method(), what) {
        (&Method::GET, KeptPart::Reply) if is_streamed(&query) => {
            let message = "only a response in the background can be streamed again, and there are none here: leave `stream` out";
            return Err(Error::new(Kind::InvalidRequest, message).at("stream"));
        }
        (&Method::GET, KeptPart::Reply) => kept.reply,
        (&Method::GET, KeptPart::Input) => keeper.page(&kept.input, &query)?,
        (&Method::DELETE, KeptPart::Reply) => {
            let gone = store.delete(owner, id).await;
            match gone.map_err(|error| failed(app, keeper, error))? {
                true => keeper.deleted(id),
                false => return Err(keeper.unknown(id, None)),
            }
        }
        (&Method::POST, KeptPart::Cancel) => {
            let message = "the response is complete: only one that is made in the background can be cancelled";
            return Err(Error::new(Kind::InvalidRequest, message));
        }
        (method, _) => {
            let message = format!("{method} is not answered here");
            return Err(Error::new(Kind::InvalidRequest, message).with_status(405));
        }
    };
    let mut reply = Response::new(ReplyBody::full(body.into()));
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, json);
    Ok(reply)
}

fn is_streamed(query: &[(String, String)]) -> bool {
    (query.iter()).any(|(name, value)| name == "stream" && value == "true")
}

/// Who may see a reply again: the client that has a key here, else whoever shows the same credentials.
fn owner(store: &Store, headers: &HeaderMap, record: &account::Record) -> Owner {
    if let Some(access) = record.accessing() {
        return store.owner(format!("client {}", access.name()).as_bytes());
    }
    let key = headers.get(AUTHORIZATION);
    store.owner(key.map_or(b"".as_slice(), HeaderValue::as_bytes))
}

fn failed(app: &App, keeper: &dyn Keeper, error: StoreError) -> Error {
    if matches!(error, StoreError::TooLong) {
        app.metrics.limit_hit("body_bytes");
        let message = "what the request goes on from is longer than a request may be (limits.body_bytes): send the part that matters";
        return Error::new(Kind::BodyTooLarge, message).at(keeper.previous());
    }
    let why = std::error::Error::source(&error).map(ToString::to_string);
    tracing::error!(%error, why, "stored responses cannot be read");
    Error::new(Kind::Internal, "the stored responses cannot be read")
}
