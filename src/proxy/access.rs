//! Adds: who asks, where clients have keys. A request without a right key is refused before a byte of its body is
//! read; one over its client's limits waits for nothing, it is refused with the time to wait. Sits inside the rescue
//! layer, which writes the refusal, and outside the places of the house, of which strangers take a few at most.
//!
//! The key itself goes no further than the route, which takes it off ([`strip`]).

use super::account::Record;
use super::bucket::Bucket;
use super::meter::Meter;
use super::models;
use super::room::{Place, Room};
use crate::config::{ClientConfig, KeyHash};
use crate::telemetry::Metrics;
use crate::upstream::{Upstream, is_like};
use bytes::Bytes;
use futures_util::future::{Either, Ready, ready};
use http::header::{ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_LENGTH};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body::{Body, Frame, SizeHint};
use isogloss_core::error::{Error, Kind};
use isogloss_core::passage;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;
use tower::{Layer, Service};

/// The headers in which clients of some dialect send their key.
const KEY_HEADERS: [&str; 3] = ["x-api-key", "x-goog-api-key", "api-key"];
/// The member of the query in which Gemini's clients do.
const KEY_MEMBER: &str = "key";
/// A place is free as soon as any of the client's requests ends.
const PLACE_AFTER: u64 = 1;

/// All clients; where there are none, anybody is let in.
#[derive(Debug)]
pub(super) struct Clients {
    all: Vec<Arc<Access>>,
    /// Of questions that need no key: whoever asks many keeps none of the clients out.
    strangers: Arc<Room>,
    begun: Instant,
}

/// As many questions without a key at once.
const MAX_STRANGERS: usize = 4;

/// What one client may do, and what it has left of that.
#[derive(Debug)]
pub(super) struct Access {
    config: ClientConfig,
    requests: Option<Shared>,
    tokens: Option<Shared>,
    places: Option<Arc<Room>>,
}

/// Outlives a configuration.
type Shared = Arc<Mutex<Bucket>>;

fn locked(bucket: &Mutex<Bucket>) -> MutexGuard<'_, Bucket> {
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Clients ===

impl Clients {
    pub(super) fn new(configs: &[ClientConfig]) -> Self {
        Self {
            all: configs.iter().map(|one| Access::new(one, None)).collect(),
            strangers: Room::new(MAX_STRANGERS),
            begun: Instant::now(),
        }
    }

    /// Those of another configuration. Who has the same name is the same client: what it has used up of a limit
    /// that stays, it has used up.
    pub(super) fn renewed(&self, configs: &[ClientConfig]) -> Self {
        let known = |name: &str| self.all.iter().find(|one| one.config.name == name);
        let access = |one: &ClientConfig| Access::new(one, known(&one.name).map(Arc::as_ref));
        Self {
            all: configs.iter().map(access).collect(),
            strangers: Arc::clone(&self.strangers),
            begun: self.begun,
        }
    }

    /// Whether anybody is let in.
    pub(super) const fn is_open(&self) -> bool {
        self.all.is_empty()
    }

    /// Whose key a request has. All keys are looked at, whichever it is.
    fn whose(&self, headers: &HeaderMap, uri: &Uri) -> Result<&Arc<Access>, Error> {
        let presented = presented(headers, uri);
        if presented.is_empty() {
            let message = "this proxy takes requests with a key alone: send the one that its operator gave you as \
                           `Authorization: Bearer KEY`, `x-api-key` or `x-goog-api-key`";
            return Err(Error::new(Kind::KeyRefused, message));
        }
        let mut found = None;
        for hash in presented.iter().map(|key| KeyHash::of(key)) {
            for access in &self.all {
                let keys = access.config.keys.iter();
                if keys.fold(false, |is_one, key| is_one | key.is(&hash)) {
                    found = found.or(Some(access));
                }
            }
        }
        found.ok_or_else(|| {
            let message =
                "no client of this proxy has this key: send the one that its operator gave you";
            Error::new(Kind::KeyRefused, message)
        })
    }
}

/// The keys that a request has.
fn presented(headers: &HeaderMap, uri: &Uri) -> Vec<Vec<u8>> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.to_str().ok()?.trim().split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| key.trim().as_bytes().to_vec())
    });
    let stated = KEY_HEADERS.iter().filter_map(|name| headers.get(*name));
    let stated = stated.map(|value| value.as_bytes().trim_ascii().to_vec());
    let query = uri.query().unwrap_or_default();
    let query = url::form_urlencoded::parse(query.as_bytes());
    let query = query.filter(|(name, _)| name == KEY_MEMBER);
    let query = query.map(|(_, key)| key.into_owned().into_bytes());
    let all = bearer.into_iter().chain(stated).chain(query);
    all.filter(|key| !key.is_empty()).collect()
}

/// Takes the client's credentials off: they are this proxy's, and no server's.
pub(super) fn strip<B>(request: &mut Request<B>) {
    // A server that is no OpenAI's is told apart by them, which is still needed.
    let credentials = models::credentials(request.headers());
    request.extensions_mut().insert(credentials);
    let headers = request.headers_mut();
    headers.remove(AUTHORIZATION);
    headers.remove(http::header::COOKIE);
    for name in KEY_HEADERS {
        headers.remove(name);
    }
    let uri = request.uri();
    let is_key = |pair: &&str| {
        let mut pairs = url::form_urlencoded::parse(pair.as_bytes());
        pairs.next().is_some_and(|(name, _)| name == KEY_MEMBER)
    };
    let Some(query) = uri
        .query()
        .filter(|query| query.split('&').any(|pair| is_key(&pair)))
    else {
        return;
    };
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_key(pair)).collect();
    let target = match kept.is_empty() {
        true => uri.path().to_owned(),
        false => format!("{}?{}", uri.path(), kept.join("&")),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(target).ok();
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
}

// === impl Access ===

impl Access {
    fn new(config: &ClientConfig, before: Option<&Self>) -> Arc<Self> {
        let bucket = |limit: fn(&ClientConfig) -> Option<u32>, had: fn(&Self) -> Option<Shared>| {
            let count = limit(config)?;
            let same = before.filter(|one| limit(&one.config) == Some(count));
            let fresh = || Arc::new(Mutex::new(Bucket::new(count)));
            Some(same.and_then(had).unwrap_or_else(fresh))
        };
        let places = config.concurrency.map(|most| {
            let room = before.and_then(|one| one.places.clone());
            let room = room.unwrap_or_else(|| Room::new(most));
            room.set(most);
            room
        });
        Arc::new(Self {
            requests: bucket(|one| one.requests_per_minute, |one| one.requests.clone()),
            tokens: bucket(|one| one.tokens_per_minute, |one| one.tokens.clone()),
            places,
            config: config.clone(),
        })
    }

    /// The client's name.
    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    /// How urgent its requests are at the most.
    pub(super) const fn priority(&self) -> i32 {
        self.config.priority
    }

    /// Whether it may name some models alone.
    pub(super) const fn has_models(&self) -> bool {
        !self.config.models.is_empty()
    }

    /// Whether it may have this server's answers.
    pub(super) fn may_use(&self, upstream: &Upstream) -> bool {
        let upstreams = self.config.upstreams.as_ref();
        upstreams.is_none_or(|upstreams| upstreams.contains(&upstream.index()))
    }

    /// Whether it may name this model.
    ///
    /// # Errors
    /// It may not.
    pub(super) fn check_model(&self, model: &str) -> Result<(), Error> {
        let is_meant = |pattern: &String| is_like(pattern, model);
        if !self.has_models() || self.config.models.iter().any(is_meant) {
            return Ok(());
        }
        let models = self.config.models.join(", ");
        let message = format!("this key is for other models: name one of {models}");
        Err(Error::new(Kind::NotAllowed, message).at("model"))
    }

    /// Lets one request in.
    fn enter(&self, clients: &Clients, metrics: &Metrics) -> Result<Option<Place>, Error> {
        let now = clients.begun.elapsed();
        let refused = |limit: &'static str, what: &str, seconds: u64| {
            metrics.limit_hit(limit);
            let message =
                format!("{what} of this key are used up; send the request again in {seconds} s");
            Error::new(Kind::RateLimited, message).retry_after(seconds)
        };
        if let Some(tokens) = &self.tokens {
            let check = locked(tokens).check(now);
            check.map_err(|after| refused("client_tokens", "the tokens a minute", after))?;
        }
        let full = || refused("client_concurrency", "the requests at once", PLACE_AFTER);
        let place = self.places.as_ref();
        let place = place.map(|places| places.try_take().ok_or_else(full));
        let place = place.transpose()?;
        if let Some(requests) = &self.requests {
            let mut requests = locked(requests);
            let check = requests.check(now);
            check.map_err(|after| refused("client_requests", "the requests a minute", after))?;
            requests.take(1, now);
        }
        Ok(place)
    }
}

/// Whether it needs no key: it has no body, and asks whether somebody is there, or may be asked.
fn is_open_to_all<B: Body>(request: &Request<B>) -> bool {
    let path = request.uri().path();
    let is_question = match *request.method() {
        // Answered here, by nobody but the proxy; or a probe of health, which shows no key. No upstream's key goes along with it.
        Method::HEAD => passage::is_liveness(path) || passage::is_health(path),
        Method::GET => passage::is_health(path),
        // A browser that asks whether it may (Fetch, 3.3.5): the same.
        Method::OPTIONS => request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD),
        _ => false,
    };
    is_question && request.body().is_end_stream()
}

#[derive(Debug, Clone)]
pub(super) struct AccessLayer {
    clients: Arc<Clients>,
    metrics: Arc<Metrics>,
}

impl AccessLayer {
    pub(super) const fn new(clients: Arc<Clients>, metrics: Arc<Metrics>) -> Self {
        Self { clients, metrics }
    }

    /// Who asks; `None` where anybody may.
    fn enter<B: Body>(&self, request: &Request<B>) -> Result<Option<Entry>, Error> {
        if self.clients.is_open() {
            return Ok(None);
        }
        if is_open_to_all(request) {
            let place = self.clients.strangers.try_take();
            let full = || {
                let message = "too many ask without a key at once: show one, or try again";
                Error::new(Kind::Overloaded, message).retry_after(PLACE_AFTER)
            };
            return place.map(Entry::Stranger).map(Some).ok_or_else(full);
        }
        let access = self.clients.whose(request.headers(), request.uri())?;
        let record = request.extensions().get::<Record>();
        if let Some(record) = record {
            record.access(access);
        }
        let length = request.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        Ok(Some(Entry::Guest(Guest {
            _place: access.enter(&self.clients, &self.metrics)?,
            access: Arc::clone(access),
            clients: Arc::clone(&self.clients),
            metrics: Arc::clone(&self.metrics),
            meter: Meter::default(),
            record: record.cloned(),
            announced: length.unwrap_or_default(),
            asks: request.method() == Method::POST
                && !passage::takes_no_tokens(request.uri().path()),
            is_answered: false,
        })))
    }
}

/// In the extensions of a request that was let in without a key, where clients have some.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stranger;

/// Who was let in, until the reply has ended.
#[derive(Debug)]
enum Entry {
    Guest(Guest),
    /// Who asks what anybody may.
    Stranger(#[expect(dead_code, reason = "held")] Place),
}

impl Entry {
    const fn guest(&mut self) -> Option<&mut Guest> {
        match self {
            Self::Guest(guest) => Some(guest),
            Self::Stranger(_) => None,
        }
    }
}

/// A client's request, until its reply has ended: what it took is then taken off.
#[derive(Debug)]
struct Guest {
    access: Arc<Access>,
    clients: Arc<Clients>,
    metrics: Arc<Metrics>,
    meter: Meter,
    record: Option<Record>,
    /// The bytes of the request's body, of one that passes unread too.
    announced: u64,
    /// It asks a model for something: a list of models costs nothing, nor does a count of tokens, nor a reply that is looked at again.
    asks: bool,
    /// Some server worked on it.
    is_answered: bool,
    _place: Option<Place>,
}

impl Drop for Guest {
    fn drop(&mut self) {
        if !(self.asks && self.is_answered) {
            return;
        }
        // Of a body that comes in pieces, or by a socket, no length is told before.
        let read = self.record.as_ref().map_or(0, Record::asked_bytes);
        if let Some(record) = &self.record {
            record.took(self.meter.told());
        }
        let tokens = self.meter.tokens(self.announced.max(read));
        self.metrics.client_tokens(self.access.name(), tokens);
        if let Some(bucket) = &self.access.tokens {
            locked(bucket).take(tokens, self.clients.begun.elapsed());
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Accessed<S> {
    inner: S,
    layer: AccessLayer,
}

pin_project! {
    /// A reply that its client pays for.
    #[derive(Debug)]
    pub(super) struct Accessing<F> {
        #[pin]
        reply: F,
        entry: Option<Entry>,
    }
}

/// A reply body that its client pays for.
#[derive(Debug)]
pub(super) struct Metered<B> {
    inner: B,
    entry: Option<Entry>,
}

impl<S> Layer<S> for AccessLayer {
    type Service = Accessed<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Accessed {
            inner,
            layer: self.clone(),
        }
    }
}

impl<S, B, R> Service<Request<B>> for Accessed<S>
where
    B: Body,
    S: Service<Request<B>, Response = Response<R>, Error = Error>,
{
    type Response = Response<Metered<R>>;
    type Error = Error;
    type Future = Either<Accessing<S::Future>, Ready<Result<Self::Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        match self.layer.enter(&request) {
            Err(error) => Either::Right(ready(Err(error))),
            Ok(entry) => {
                if let Some(Entry::Stranger(_)) = entry {
                    request.extensions_mut().insert(Stranger);
                }
                Either::Left(Accessing {
                    reply: self.inner.call(request),
                    entry,
                })
            }
        }
    }
}

impl<F, R> Future for Accessing<F>
where
    F: Future<Output = Result<Response<R>, Error>>,
{
    type Output = Result<Response<Metered<R>>, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reply = std::task::ready!(this.reply.poll(cx));
        let mut entry = this.entry.take();
        if let Some(guest) = entry.as_mut().and_then(Entry::guest) {
            guest.is_answered = match &reply {
                Ok(reply) => reply.status().is_success(),
                Err(error) => error.kind == Kind::ConstraintViolated,
            };
        }
        Poll::Ready(reply.map(|reply| reply.map(|inner| Metered { inner, entry })))
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Metered<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = std::task::ready!(Pin::new(&mut self.inner).poll_frame(cx));
        let guest = self.entry.as_mut().and_then(Entry::guest);
        if let (Some(guest), Some(Ok(frame))) = (guest, &frame)
            && let Some(data) = frame.data_ref()
        {
            guest.meter.see(data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn client(name: &str, per_minute: u32, concurrency: usize) -> ClientConfig {
        ClientConfig {
            name: name.to_owned(),
            keys: vec![KeyHash::of(name.as_bytes())],
            models: Vec::new(),
            upstreams: None,
            requests_per_minute: Some(per_minute),
            tokens_per_minute: None,
            concurrency: Some(concurrency),
            priority: 0,
        }
    }

    #[test]
    fn what_a_client_used_up_stays_used_up_in_another_configuration() {
        let metrics = Metrics::new([]);
        let enter = |clients: &Clients, at: usize| clients.all[at].enter(clients, &metrics);
        let before = Clients::new(&[client("a", 2, 2), client("b", 2, 9)]);
        let held = [enter(&before, 0).unwrap(), enter(&before, 0).unwrap()];
        let after = before.renewed(&[client("b", 3, 9), client("a", 2, 3)]);
        assert!(enter(&after, 1).is_err(), "the requests of a minute");
        for _ in 0..3 {
            enter(&after, 0).unwrap();
        }
        assert!(enter(&after, 0).is_err(), "a new limit");
        let after = before.renewed(&[client("a", 9, 2)]);
        let full = enter(&after, 0).unwrap_err();
        assert!(full.message.contains("at once"), "{full}");
        drop(held);
        enter(&after, 0).unwrap();
    }

    #[test]
    fn credentials_are_taken_off_wherever_they_stand_and_nothing_else_is() {
        for (target, left) in [
            ("/v1/x?key=k", "/v1/x"),
            ("/v1/x?alt=sse&key=k&%6bey=l&keys=1", "/v1/x?alt=sse&keys=1"),
            ("/v1/x?alt=sse", "/v1/x?alt=sse"),
            ("/v1/x", "/v1/x"),
        ] {
            let request = Request::get(target)
                .header("authorization", "Bearer k")
                .header("x-api-key", "k")
                .header("x-goog-api-key", "k")
                .header("cookie", "k=k")
                .header("openai-organization", "o");
            let mut request = request.body(()).unwrap();
            strip(&mut request);
            assert_eq!(request.uri(), left);
            assert_eq!(request.headers().len(), 1);
        }
    }

    #[test]
    fn a_key_is_found_wherever_a_dialects_clients_send_it() {
        for (name, value, target) in [
            ("authorization", "Bearer k", "/"),
            ("authorization", "bearer  k ", "/"),
            ("x-api-key", "k", "/"),
            ("x-goog-api-key", "k", "/"),
            ("accept", "*/*", "/?key=%6b"),
        ] {
            let request = Request::get(target).header(name, value).body(()).unwrap();
            let found = presented(request.headers(), request.uri());
            assert_eq!(found, [b"k".to_vec()], "{name} {target}");
        }
        let basic = Request::get("/")
            .header("authorization", "Basic k")
            .body(())
            .unwrap();
        assert!(presented(basic.headers(), basic.uri()).is_empty());
    }
}
