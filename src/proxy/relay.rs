//! One request that is translated, over HTTP: the client's request in, its reply out. Reads, plans and
//! compiles before anything is sent; asks again where a reply breaks the contract before its
//! first byte went out. What is decided here is order and time, the translation is
//! [`isogloss_core::exchange`].

mod answer;
mod held;
pub(super) mod incoming;
pub(super) mod kinds;
mod planning;
mod refusal;
mod search;
mod supposition;
mod translated;
mod untouched;
pub(super) mod whole;

pub(super) use answer::{check_coding, cut, too_late, unread};
pub(super) use refusal::{refusal_of, retry_after, with_wait};
pub(super) use search::Search;
pub(super) use translated::Translated;
pub(super) use untouched::Untouched;

use super::account::Record;
use super::body::{BoxError, ReplyBody};
use super::budget::{Charge, no_room};
use super::kept::{self, Keeping};
use super::socket::OverSocket;
use super::{App, headers, models, pass, request_id, turn};
use crate::config::{MissingModel, OnViolation};
use crate::upstream::{Failure, Outgoing, Payload, Pieces, Place, Target, Turn, Upstream};
use answer::Answer;
use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Response};
use http_body::Body;
use isogloss_compile::Known;
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::server::Pending;
use isogloss_core::error::{Error, Kind, Side};
use isogloss_core::exchange::{self, Demand, Exchange, Opened, Shape, cost};
use isogloss_core::ir::{Ids, Violation};
use planning::Planned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};
use supposition::Supposition;

/// What attempts have in common.
struct Relay<'a> {
    app: &'a App,
    client: &'static dyn Client,
    record: &'a Record,
    /// The client's query.
    query: Option<String>,
    headers: HeaderMap,
    /// How often a server was asked.
    asked: AtomicU32,
    opened: Arc<Opened>,
    is_stream: bool,
    /// The client reads in a stream what its server told in one.
    fails_in_streams: bool,
    /// The reply is kept.
    keeping: Option<Arc<Keeping>>,
    /// Where requests wait for their turn at some server.
    turn: Option<Turn>,
}

/// What is sent next.
struct Next {
    path: PathAndQuery,
    body: Pieces,
    /// What its reply is for, where it is a question before the request itself.
    pending: Option<Pending>,
}

/// Why an attempt gave no reply.
enum Broken {
    /// It breaks the contract.
    Violation(Violation),
    /// There is no usable reply.
    Error(Error),
    /// Under a head that says that all is well the server reports an error, or says nothing.
    Reported(Failed),
    /// The upstream's error or reply told how it was launched: the request is to be planned again.
    Learnt,
    /// The upstream's error may have told this fact of its launch, or have had any other reason: the request is to be
    /// planned as if it were so.
    Supposed(String, Error),
}

/// How an attempt at one server ended.
enum Attempt {
    /// With what the client gets.
    Over(Result<Response<ReplyBody>, Error>),
    /// With an error of the server's, before it said anything.
    Failed(Failed),
    /// With news of the server, by which the request is to be planned again.
    Again,
    /// With what may be news of the server, and the error that may have told it.
    Perhaps(String, Error),
}

/// A server's failure, before it said anything.
pub(super) struct Failed {
    pub(super) error: Error,
    /// The reply that it is in, as the server sent it: the client's where nobody else answers.
    own: Option<Box<Response<ReplyBody>>>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, own: None }
    }
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A request's body that was looked at, before there is room for working on it.
enum Looked {
    /// One of a shape that is known.
    Again(Opened, Arc<Known>),
    /// Any other.
    First(exchange::Body),
}

impl Looked {
    fn cost(&self) -> usize {
        match self {
            Self::Again(opened, _) => opened.cost(),
            Self::First(body) => body.cost(),
        }
    }
}

pub(super) async fn relay<B>(
    app: &App,
    client: &'static dyn Client,
    request: Request<B>,
    record: &Record,
) -> Result<Response<ReplyBody>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send,
{
    let (mut head, body) = request.into_parts();
    let query = head.uri.query();
    let client = query
        .and_then(|query| client.for_query(query))
        .unwrap_or(client);
    record.client(client);
    headers::rename_key(client.key(), query, &mut head.headers);
    incoming::check_media_type(&head.headers, client.reads_any_type())?;
    let queues = app.upstreams.have_queues();
    let turn = queues.then(|| turn::of(app, &head.headers, record));
    let turn = turn.transpose()?;
    let (client_body, skimmer) = incoming::read_json(&head.extensions, body, app).await?;
    let followed = kept::follow(app, client, &head, client_body, record).await?;
    let kept::Followed {
        client,
        body: client_body,
        goes_on,
        keeping,
    } = followed;
    let size = client_body.len();
    // What the request goes on from was put into it.
    let skimmed = skimmer.filter(|_| !goes_on);
    let skimmed = skimmed.and_then(|skimmer| exchange::Body::skimmed(&client_body, skimmer));
    let left = skimmed.as_ref().map_or(size, exchange::Body::read_bytes);
    record.asked(&client_body);
    let begun = Instant::now();
    let path = head.uri.path();
    let plans = app.compiler.plans();
    let again = work(left, || {
        let find = |shape: &Shape<'_>| plans.find(shape);
        Opened::again(client, path, &client_body, skimmed.as_ref(), find)
    });
    let looked = match again {
        Some((opened, known)) => Looked::Again(opened, known),
        None => {
            let whole = || work(size, || exchange::Body::from(client_body));
            Looked::First(skimmed.unwrap_or_else(whole))
        }
    };
    let looking = begun.elapsed();
    let room = room_for(app, looked.cost() - size).await?;
    let begun = Instant::now();
    let (opened, known) = match looked {
        Looked::Again(opened, known) => (opened, Some(known)),
        Looked::First(body) => (work(left, || Opened::new(client, path, body))?, None),
    };
    let (read, model, is_stream) = match &known {
        Some(known) => (None, known.model.clone(), known.is_stream),
        None => {
            let demand = work(size, || opened.read())?;
            let request = &demand.request;
            let (model, is_stream) = (request.model.clone(), request.stream);
            (Some(demand), model, is_stream)
        }
    };
    record.model(&model);
    record.check_model(&model)?;
    let is_nameless = model.is_empty() && client.wants_model();
    if is_nameless && app.config.missing_model == MissingModel::Refuse {
        return Err(no_model());
    }
    if is_stream {
        record.stream();
    }
    record.own(looking + begun.elapsed());
    let mut told = headers::rewritten_up(head.headers);
    request_id::tell(&head.extensions, &mut told);
    let is_over_socket = head.extensions.get::<OverSocket>().is_some();
    let relay = Relay {
        app,
        client,
        record,
        query: query.map(str::to_owned),
        headers: told,
        asked: AtomicU32::new(0),
        opened: Arc::new(opened),
        is_stream,
        fails_in_streams: is_stream && client.fails_in_streams() && !is_over_socket,
        keeping,
        turn,
    };
    relay.run(&model, known.as_deref(), read, room).await
}

/// Room for what a body takes beside its own bytes while it is worked on.
pub(super) async fn working_room(app: &App, body: &[u8]) -> Result<Charge, Error> {
    room_for(app, cost(body) - body.len()).await
}

async fn room_for(app: &App, bytes: usize) -> Result<Charge, Error> {
    let mut room = app.budget.charge();
    let grown = room.grow_to(bytes).await;
    grown.map_err(|_no_room| no_room(&app.metrics))?;
    Ok(room)
}

/// In OpenAI's own words, which clients know.
pub(super) fn no_model() -> Error {
    let message = "you must provide a model parameter: set `model` to one that /v1/models lists";
    Error::new(Kind::InvalidRequest, message).at("model")
}

/// The exchange's path on the upstream, with the client's query.
fn upstream_target(path: &str, query: Option<&str>) -> Result<PathAndQuery, Error> {
    let target = match query {
        None => PathAndQuery::try_from(path),
        Some(query) if path.contains('?') => PathAndQuery::try_from(format!("{path}&{query}")),
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
    };
    let message = "the request's query, or its model's name, cannot be part of a URL";
    target.map_err(|_invalid| Error::new(Kind::InvalidRequest, message))
}

impl Relay<'_> {
    /// Finds a server that takes the connection and begins a reply: one that does not is followed by the next that has the
    /// model, or by itself once it is back; where none is left, by the models that may be asked for instead.
    async fn run(
        &self,
        model: &str,
        known: Option<&Known>,
        mut read: Option<Demand>,
        mut room: Charge,
    ) -> Result<Response<ReplyBody>, Error> {
        let upstreams = &self.app.upstreams;
        upstreams.deposit();
        let mut search = Search::new(model, self.key());
        let mut left = upstreams.count();
        let (mut violated, mut place) = (None, None);
        let mut supposition: Option<Supposition> = None;
        loop {
            let may = |one: &Upstream| self.record.may_use(one);
            let rank = |target: &Target| self.rank(target, known, read.as_ref());
            let supposed = supposition.as_ref();
            let target = match supposed.and_then(|it| it.target(&search.model)) {
                Some(target) => Ok(target),
                None => {
                    supposition = None;
                    upstreams.ready(&search.wanted(), may, rank).await
                }
            };
            let target = match target {
                Ok(target) => target,
                Err(error) if self.falls_back(&mut search, &error) => continue,
                Err(error) => return self.ended(violated.as_ref(), search.answer(error)),
            };
            if let Some(failed) = search.is_spent(self.app) {
                return self.ended(None, failed);
            }
            let other = search.name_at(&target, model);
            let loaded = read.as_ref();
            let loaded = loaded.and_then(|demand| exchange::loaded(demand, &target.rule, &ids()));
            if let Some(reply) = loaded {
                self.goes_to(&target.upstream, other.as_deref());
                return Ok(models::json(reply));
            }
            let planned = self.planned(&mut search, target, other.as_deref(), known, &mut read);
            let mut planned = match planned.await {
                Ok(planned) => planned,
                // A reply that broke the contract is its own server's to mend.
                Err(error) if violated.is_some() => return Err(error),
                Err(_refused) => {
                    supposition = None;
                    continue;
                }
            };
            // What is left of the work is the body that is sent, where that is not the client's own.
            room.shrink_to(self.opened.body().len());
            place = match self.place(&planned, place.take()).await {
                Ok(has) => has,
                // Another may have room.
                Err(error) if violated.is_none() && upstreams.count() > 1 => {
                    self.retries("failover");
                    search.passes_over(&planned.target.upstream, error);
                    continue;
                }
                Err(error) => return Err(self.after(violated.as_ref(), error)),
            };
            planned.place.clone_from(&place);
            let failed = match self.exchange(&mut planned, &mut violated).await {
                Err(failure) if failure.why.is_connect() && left > 0 => {
                    left -= 1;
                    supposition = None;
                    self.reconnects(&mut search, failure);
                    continue;
                }
                Err(failure) => planned.explain(failure.into()).into(),
                // Bounded by the number of facts, each of which is learnt once.
                Ok(Attempt::Again) => {
                    self.retries("launch");
                    continue;
                }
                Ok(Attempt::Perhaps(fact, _))
                    if Supposition::is_news(supposition.as_ref(), &fact) =>
                {
                    self.retries("launch");
                    supposition = Some(Supposition::of(&planned.target, fact, supposition));
                    continue;
                }
                Ok(Attempt::Over(answer)) => {
                    if let Some(supposition) = supposition.filter(|_| answer.is_ok()) {
                        supposition.is_borne_out(&planned.exchange.demand.request.model);
                    }
                    self.count_losses(&planned);
                    planned.target.upstream.succeeded(&search.model);
                    planned.target.upstream.key_serves();
                    if search.has_fallen_back && answer.is_ok() {
                        self.app.metrics.fell_back(planned.target.upstream.index());
                    }
                    return answer;
                }
                Ok(Attempt::Failed(failed)) => failed,
                Ok(Attempt::Perhaps(_, error)) => error.into(),
            };
            supposition = None;
            // After a reply that broke the contract the same server is to mend it: two models' words are never mixed.
            let is_over = violated.is_some()
                || upstreams.count() < 2
                || !search.goes_on(&planned.target.upstream, &failed.error);
            if is_over {
                self.count_losses(&planned);
                return self.ended(violated.as_ref(), failed);
            }
            search.fails(failed);
        }
    }

    /// A place at the server that is asked, as soon as it is this request's turn; the one that it has where it is asked
    /// again.
    async fn place(
        &self,
        planned: &Planned,
        has: Option<Arc<Place>>,
    ) -> Result<Option<Arc<Place>>, Error> {
        let upstream = &planned.target.upstream;
        if let Some(place) = has.filter(|place| place.is_at(upstream)) {
            return Ok(Some(place));
        }
        let Some(turn) = self.turn else {
            return Ok(None);
        };
        Ok(upstream.admit(turn).await?.map(Arc::new))
    }

    /// What the client gets where nobody else is asked: what the server sent, or the error.
    fn ended(
        &self,
        violated: Option<&Violation>,
        failed: Failed,
    ) -> Result<Response<ReplyBody>, Error> {
        let Failed { error, own } = failed;
        // That a reply broke the contract is told first.
        let Some(own) = own.filter(|_| violated.is_none()) else {
            return Err(self.after(violated, with_wait(error)));
        };
        self.record.failed(&error);
        let mut own = *own;
        // For the account, which counts it.
        own.extensions_mut().insert(error.kind);
        Ok(own)
    }

    /// What the client is told of a failure: after a reply that broke the contract, that one too.
    fn after(&self, violated: Option<&Violation>, failure: Error) -> Error {
        let Some(violation) = violated else {
            return failure;
        };
        if failure.kind.side() == Side::Upstream {
            self.app.metrics.upstream_error(failure.kind);
        }
        exchange::violation_then(self.client, violation, &failure)
    }

    /// Sends, and sends again where the reply breaks the contract and that may be. What it was that
    /// is asked again for is left in `violated`.
    ///
    /// # Errors
    /// The server could not be sent anything.
    async fn exchange(
        &self,
        planned: &mut Planned,
        violated: &mut Option<Violation>,
    ) -> Result<Attempt, Failure> {
        let config = &self.app.config;
        let mut next = self.first(planned);
        let mut left = match config.on_violation {
            OnViolation::Retry => config.violation_retries,
            OnViolation::Reject | OnViolation::Pass => 0,
        };
        loop {
            let first_byte = tokio::time::Instant::now() + config.timeouts.first_byte;
            let violation = match self.ask(planned, next, first_byte).await? {
                Ok(reply) => return Ok(Attempt::Over(Ok(reply))),
                Err(Broken::Error(error)) => {
                    return Ok(Attempt::Failed(planned.explain(error).into()));
                }
                Err(Broken::Reported(Failed { error, own })) => {
                    let error = planned.explain(error);
                    return Ok(Attempt::Failed(Failed { error, own }));
                }
                Err(Broken::Learnt) => return Ok(Attempt::Again),
                Err(Broken::Supposed(fact, error)) => {
                    return Ok(Attempt::Perhaps(fact, planned.explain(error)));
                }
                Err(Broken::Violation(violation)) => violation,
            };
            planned.lived();
            self.record.broke(self.client, &violation);
            let metrics = &self.app.metrics;
            if left > 0 {
                left -= 1;
                metrics.violation(&violation.rule, "retry");
                metrics.retry("violation");
                self.record.retried("violation");
                let again = match self.whole(planned) {
                    Ok(exchange) => exchange.re_ask(&violation),
                    Err(error) => return Ok(Attempt::Over(Err(error))),
                };
                next = Next {
                    // On one wire, the first request is always to the same path.
                    path: planned.path.clone(),
                    body: again.body.into(),
                    pending: again.pending,
                };
                *violated = Some(violation);
            } else {
                metrics.violation(&violation.rule, "reject");
                return Ok(Attempt::Over(Err(exchange::violation_error(
                    self.client,
                    &violation,
                ))));
            }
        }
    }

    /// The exchange with this request's own conversation.
    fn whole(&self, planned: &Planned) -> Result<Arc<Exchange>, Error> {
        if planned.prepared.is_none() {
            return Ok(Arc::clone(&planned.exchange));
        }
        work(planned.opened.body().len(), || {
            let demand = planned.opened.read()?;
            self.rewritten(demand, &planned.target).map(Arc::new)
        })
    }

    /// Sends the request, and before it whatever the server must be asked before.
    async fn ask(
        &self,
        planned: &mut Planned,
        mut next: Next,
        first_byte: tokio::time::Instant,
    ) -> Result<Result<Response<ReplyBody>, Broken>, Failure> {
        loop {
            let upstream = planned.target.upstream.name();
            self.record
                .sending(upstream, next.path.as_str(), &next.body);
            let pending = next.pending.take();
            let sent = planned.target.upstream.send(self.outgoing(planned, next));
            let Ok(reply) = tokio::time::timeout_at(first_byte, sent).await else {
                return Ok(Err(answer::too_late().into()));
            };
            let answer = Answer {
                relay: self,
                planned,
                first_byte,
            };
            let Some(pending) = pending else {
                let reply = Place::holding(answer.planned.place.as_ref(), reply?);
                return Ok(answer.read(reply).await);
            };
            next = match answer.question(reply?, pending).await {
                Ok(asked) => {
                    Arc::make_mut(&mut planned.exchange).prompt_tokens = asked.prompt_tokens;
                    let query = self.query_for(&planned.exchange);
                    match upstream_target(&asked.path, query) {
                        Ok(path) => Next {
                            path,
                            body: asked.body.into(),
                            pending: asked.pending,
                        },
                        Err(error) => return Ok(Err(error.into())),
                    }
                }
                Err(broken) => return Ok(Err(broken)),
            };
        }
    }

    fn first(&self, planned: &Planned) -> Next {
        Next {
            path: planned.path.clone(),
            body: match (&planned.prepared, planned.exchange.sent()) {
                (Some(sent), _) => sent.clone(),
                (None, Some(body)) => body.clone().into(),
                (None, None) => planned.opened.body().clone().into(),
            },
            pending: (planned.exchange.asked.as_ref()).and_then(|asked| asked.pending.clone()),
        }
    }

    fn outgoing(&self, planned: &Planned, next: Next) -> Outgoing {
        let mut headers = self.headers.clone();
        let before = self.asked.fetch_add(1, Ordering::Relaxed);
        if before > 0 {
            request_id::tell_again(before + 1, &mut headers);
        }
        if let Some(flight) = &planned.flight {
            flight.sign(&mut headers);
        }
        Outgoing {
            with_key: true,
            method: Method::POST,
            target: next.path,
            headers,
            body: Payload::Whole(next.body),
        }
    }
}

/// A source of call ids of this exchange's own, and of what a reply lacks.
pub(super) fn ids() -> Ids {
    Ids::new(request_id::random()).at(since_epoch().as_secs())
}

fn since_epoch() -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap_or_default()
}

/// Runs work that may take long for much input. Up to this size the slowest check takes about
/// a millisecond; beyond it the worker thread's other requests are given to another thread.
pub(super) fn work<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    const LONG_BYTES: usize = 256 << 10;
    match bytes >= LONG_BYTES {
        true => long_work(work),
        false => work(),
    }
}

/// Runs work of which no number tells how long it takes, as what a schema or a regex is compiled to. The worker thread's other
/// requests are given to another thread.
pub(super) fn long_work<T>(work: impl FnOnce() -> T) -> T {
    let flavor = tokio::runtime::Handle::current().runtime_flavor();
    match flavor == tokio::runtime::RuntimeFlavor::MultiThread {
        true => tokio::task::block_in_place(work),
        false => work(),
    }
}
