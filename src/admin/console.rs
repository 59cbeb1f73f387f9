//! The console: a page of three files, the JSON behind it, and the events that keep it up to date.

use super::{Places, Reply, State, json, not_allowed, reply, text};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Limited, StreamBody};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

const PAGE: &str = include_str!("assets/console.html");
const STYLE: &str = include_str!("assets/console.css");
const SCRIPT: &str = include_str!("assets/console.js");
/// Nothing is fetched from elsewhere, nothing of a request becomes code, and no other page frames this one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A request and a reply that somebody pastes.
const MAX_QUESTION_BYTES: usize = 4 << 20;
/// How often a page that is open is told what is new.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// How many of the newest requests a page is told of at once.
const MAX_TOLD: usize = 200;

/// Why a question has no answer.
#[derive(Debug)]
pub enum Fault {
    /// It is wrong: what, and what would be right.
    Wrong(String),
    /// It cannot be answered here, for this reason.
    Refused(String),
}

/// A request's query.
#[derive(Debug, Default)]
pub struct Query(HashMap<String, String>);

impl Query {
    fn read(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.into_owned().collect())
    }

    /// What is said by this name; nothing said is nothing asked.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0
            .get(name)
            .map(String::as_str)
            .filter(|text| !text.is_empty())
    }

    /// The same as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }
}

/// Whether a path is the console's.
pub(super) fn is_its(path: &str) -> bool {
    matches!(
        path,
        "/" | "/console.css"
            | "/console.js"
            | "/overview"
            | "/requests"
            | "/events"
            | "/explain"
            | "/send"
    ) || path.starts_with("/requests/")
}

pub(super) async fn answer<B>(
    request: Request<B>,
    state: &Arc<dyn State>,
    places: &Places,
    waits: &AtomicBool,
) -> Reply
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let path = request.uri().path().to_owned();
    let query = Query::read(request.uri().query());
    let is_post = matches!(&*path, "/explain" | "/send");
    match *request.method() {
        Method::POST if is_post => {}
        Method::GET | Method::HEAD if !is_post => {}
        _ if is_post => return not_allowed("only POST\n", "POST"),
        _ => return not_allowed("only GET\n", "GET, HEAD"),
    }
    match &*path {
        "/" => file("text/html; charset=utf-8", PAGE),
        "/console.css" => file("text/css; charset=utf-8", STYLE),
        "/console.js" => file("text/javascript; charset=utf-8", SCRIPT),
        "/overview" => json(StatusCode::OK, &state.overview().await),
        "/requests" => json(StatusCode::OK, &state.requests(&query)),
        "/events" => {
            waits.store(true, Ordering::Relaxed);
            events(state, places, &query)
        }
        "/explain" => worked(request, places, |question| state.explain(question)).await,
        "/send" => {
            // A model takes its time.
            waits.store(true, Ordering::Relaxed);
            worked(request, places, |question| state.send(question)).await
        }
        _ => {
            let id = path.strip_prefix("/requests/").unwrap_or_default();
            match state.request(id) {
                Some(entry) => json(StatusCode::OK, &entry),
                None => said(
                    StatusCode::NOT_FOUND,
                    "no such request is remembered: the last 1000 are, unless `record` is off",
                ),
            }
        }
    }
}

fn said(status: StatusCode, what: &str) -> Reply {
    json(status, &json!({"error": {"message": what}}))
}

fn file(media_type: &'static str, text: &'static str) -> Reply {
    let mut reply = reply(StatusCode::OK, media_type, text);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    reply
}

/// The answer to what is posted.
async fn worked<'a, B>(
    request: Request<B>,
    places: &Places,
    work: impl FnOnce(Bytes) -> BoxFuture<'a, Result<Value, Fault>>,
) -> Reply
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let Ok(_place) = places.work.try_acquire() else {
        return said(
            StatusCode::SERVICE_UNAVAILABLE,
            "others are being answered; ask again",
        );
    };
    let body = Limited::new(request.into_body(), MAX_QUESTION_BYTES);
    let Ok(body) = body.collect().await else {
        let what = "the question was cut off, or is over 4 MiB";
        return said(StatusCode::PAYLOAD_TOO_LARGE, what);
    };
    match work(body.to_bytes()).await {
        Ok(answer) => json(StatusCode::OK, &answer),
        Err(Fault::Wrong(what)) => said(StatusCode::BAD_REQUEST, &what),
        Err(Fault::Refused(what)) => said(StatusCode::CONFLICT, &what),
    }
}

/// What happens, as long as somebody looks: the overview, and the requests that have ended since the last time.
fn events(state: &Arc<dyn State>, places: &Places, query: &Query) -> Reply {
    let Ok(place) = Arc::clone(&places.events).try_acquire_owned() else {
        return text(StatusCode::SERVICE_UNAVAILABLE, "too many look already\n");
    };
    let told = Told {
        state: Arc::clone(state),
        seen: query.number("since").unwrap_or_else(|| state.ended()),
        is_first: true,
        _place: place,
    };
    let events = stream::unfold(told, |mut told| async move {
        let event = told.next().await;
        Some((Ok::<_, Infallible>(Frame::data(event)), told))
    });
    let mut reply = Response::new(StreamBody::new(events).boxed_unsync());
    let value = HeaderValue::from_static;
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, value("text/event-stream"));
    headers.insert(CACHE_CONTROL, value("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, value("nosniff"));
    reply
}

/// Somebody who looks.
struct Told {
    state: Arc<dyn State>,
    /// The last request that was told.
    seen: u64,
    is_first: bool,
    _place: OwnedSemaphorePermit,
}

impl Told {
    /// The next events; what nobody reads is not made.
    async fn next(&mut self) -> Bytes {
        if !std::mem::take(&mut self.is_first) {
            tokio::time::sleep(TELL_EVERY).await;
        }
        let overview = self.state.overview().await;
        let mut told = format!("event: overview\ndata: {overview}\n\n");
        let ended = self.state.ended();
        if ended > self.seen {
            let query = Query(HashMap::from([
                ("since".to_owned(), self.seen.to_string()),
                ("limit".to_owned(), MAX_TOLD.to_string()),
            ]));
            let requests = self.state.requests(&query);
            self.seen = ended;
            told += &format!("event: requests\nid: {ended}\ndata: {requests}\n\n");
        }
        told.into()
    }
}
