//! A client's WebSocket in; each of its messages a request, the events of each reply messages out. The requests go
//! through the stack that all others go through, one after the other: nothing that is asked here is less counted,
//! limited or verified, and what server answers, by HTTP as ever, does not matter. Never reads a message: that is
//! [`isogloss_core::dialect::socket`].
//!
//! Bounded: a message as a request's body, what waits as one more of those, both by the budget too, a connection's age, how many there are, and
//! how long one that is silent is kept.

mod metered;

use super::body::{BoxError, ReplyBody};
use super::budget::{Charge, no_room};
use super::relay::{cut, ids, work};
use super::rescue::defect;
use super::{App, stack};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, ORIGIN, RETRY_AFTER,
    SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::socket::{Asked, Talk};
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::garbage;
use isogloss_core::sse::Decoder;
use metered::{Metered, is_no_room};
use serde::de::IgnoredAny;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as WsError, Message, Utf8Bytes};
use tower::{Service, ServiceExt as _};

/// What a key is hashed with (RFC 6455, section 1.3).
const MAGIC: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The one version that there is.
const VERSION: HeaderValue = HeaderValue::from_static("13");
/// As old as OpenAI lets a connection be.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);
/// A client that says nothing between two of these, and answers none, is gone.
const PING: Duration = Duration::from_secs(30);
/// Messages that wait for the reply before theirs.
const MAX_WAITING: usize = 16;
/// Read at once; the library's own 128 KiB are too much for ten thousand connections.
const READ_BYTES: usize = 16 << 10;
/// What a reply's head says that is told in a message.
const TOLD: [&str; 2] = ["x-isogloss-", "x-should-retry"];

/// Whether a request asks for a WebSocket, on a route that has one.
pub(super) fn is_asked<B>(request: &Request<B>) -> bool {
    *request.method() == Method::GET
        && request.version() == Version::HTTP_11
        && names(request.headers(), &UPGRADE, "websocket")
        && names(request.headers(), &CONNECTION, "upgrade")
}

/// Whether a list of words has this one.
fn names(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).iter();
    let mut words = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    words.any(|found| found.trim().eq_ignore_ascii_case(word))
}

/// Answers the handshake; what follows it is served beside the connection's other life.
///
/// # Errors
/// It is no handshake of RFC 6455, comes from a web page, or there are as many connections as may be.
pub(super) fn open<B>(
    app: &Arc<App>,
    client: &'static dyn Client,
    mut request: Request<B>,
) -> Result<Response<ReplyBody>, Error> {
    let socket = client.socket().ok_or_else(|| {
        Error::new(Kind::InvalidRequest, "there is no WebSocket here").with_status(404)
    })?;
    let headers = request.headers();
    if headers.contains_key(ORIGIN) {
        // No page can send a request across sites unasked, but any can open a WebSocket.
        let message = "a WebSocket is not for web pages (Origin): connect without one";
        return Err(Error::new(Kind::InvalidRequest, message).with_status(403));
    }
    if headers.get(SEC_WEBSOCKET_VERSION) != Some(&VERSION) {
        return Ok(other_version(client));
    }
    let accept = headers.get(SEC_WEBSOCKET_KEY).and_then(accept);
    let accept = accept.ok_or_else(|| {
        let message = "the handshake has no Sec-WebSocket-Key: 16 bytes in base64";
        Error::new(Kind::InvalidRequest, message)
    })?;
    let Some(place) = app.sockets.try_take() else {
        app.metrics.limit_hit("concurrency");
        let message =
            "the proxy has as many WebSockets as it takes (limits.concurrency); try again";
        return Err(Error::new(Kind::Overloaded, message).retry_after(1));
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let asking = Asking {
        uri: request.uri().clone(),
        headers: carried(request.headers()),
        client,
    };
    let talk = socket.talk(app.config.limits.body_bytes);
    let app = Arc::clone(app);
    tokio::spawn(async move {
        let _place = place;
        let _open = app.metrics.socket_opened();
        let io = match upgrade.await {
            Ok(io) => TokioIo::new(io),
            Err(error) => return tracing::debug!(%error, "a WebSocket was not taken"),
        };
        let connection = Connection::new(&app, asking, talk, io).await;
        let served = AssertUnwindSafe(connection.serve(stack::stack));
        if let Err(panic) = served.catch_unwind().await {
            defect(&*panic);
        }
    });
    let mut reply = Response::new(ReplyBody::full(Bytes::new()));
    *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = reply.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(reply)
}

/// What answers a key.
fn accept(key: &HeaderValue) -> Option<HeaderValue> {
    let is_key = BASE64.decode(key).is_ok_and(|bytes| bytes.len() == 16);
    let mut hash = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key.as_bytes());
    hash.update(MAGIC);
    let accept = HeaderValue::try_from(BASE64.encode(hash.finish())).ok();
    accept.filter(|_| is_key)
}

fn other_version(client: &dyn Client) -> Response<ReplyBody> {
    let message = "WebSockets are of version 13 here (Sec-WebSocket-Version)";
    let error = Error::new(Kind::InvalidRequest, message).with_status(426);
    let mut reply = Response::new(ReplyBody::full(client.error_body(&error).into()));
    *reply.status_mut() = StatusCode::UPGRADE_REQUIRED;
    reply.extensions_mut().insert(error.kind);
    let headers = reply.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, VERSION);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// The headers of the handshake that every request on the connection has.
fn carried(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    let of_the_handshake = |name: &&HeaderName| {
        let name = name.as_str();
        name.starts_with("sec-websocket-") || ["upgrade", "connection"].contains(&name)
    };
    let names: Vec<HeaderName> = headers.keys().filter(of_the_handshake).cloned().collect();
    for name in names.iter().chain([&CONTENT_LENGTH]) {
        headers.remove(name);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
}

/// What all requests on a connection have in common.
struct Asking {
    uri: Uri,
    headers: HeaderMap,
    client: &'static dyn Client,
}

/// The connection is over; what the client is still told of that.
struct Over(Option<(CloseCode, &'static str)>);

impl From<WsError> for Over {
    fn from(error: WsError) -> Self {
        Self(match error {
            WsError::Capacity(_) => Some((CloseCode::Size, "limits.body_bytes")),
            WsError::Io(error) if is_no_room(&error) => {
                Some((CloseCode::Again, "limits.memory_budget"))
            }
            WsError::Protocol(_) => Some((CloseCode::Protocol, "")),
            WsError::Utf8(_) => Some((CloseCode::Invalid, "")),
            _ => None,
        })
    }
}

/// A message that waits for its turn, with the room that it takes until it is answered.
type Waiting = (Utf8Bytes, Charge);

struct Connection<S> {
    app: Arc<App>,
    asking: Asking,
    talk: Box<dyn Talk>,
    socket: WebSocketStream<Metered<S>>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    pings: Interval,
    /// Something came since the last ping.
    is_alive: bool,
    age: Pin<Box<Sleep>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn new(app: &Arc<App>, asking: Asking, talk: Box<dyn Talk>, io: S) -> Self {
        let most = app.config.limits.body_bytes;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .write_buffer_size(READ_BYTES)
            .max_message_size(Some(most))
            .max_frame_size(Some(most));
        let io = Metered::new(io, app.budget.charge());
        let mut pings = interval_at(Instant::now() + PING, PING);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            app: Arc::clone(app),
            asking,
            talk,
            socket: WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            pings,
            is_alive: true,
            age: Box::pin(sleep(MAX_AGE)),
        }
    }

    /// Serves until either side ends.
    async fn serve<V, B>(mut self, service: impl Fn(&Arc<App>) -> V)
    where
        V: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let Over(told) = loop {
            let asked = match self.next().await {
                Ok((message, _room)) => {
                    // By what is in force now: a key may not be one any more.
                    let service = service(&self.app.in_force());
                    self.turn(&message, service).await
                }
                Err(over) => break over,
            };
            if let Err(over) = asked {
                break over;
            }
        };
        if let Some((code, reason)) = told {
            if code == CloseCode::Again {
                let _counted = no_room(&self.app.metrics);
            }
            if code == CloseCode::Size {
                self.app.metrics.limit_hit("body_bytes");
            }
            let reason = Utf8Bytes::from_static(reason);
            let closed = self.socket.close(Some(CloseFrame { code, reason }));
            // Nobody waits for a client that takes nothing any more.
            let _gone = tokio::time::timeout(Duration::from_secs(1), closed).await;
        }
    }

    /// The next message; what has come is served before the connection ends for its age.
    async fn next(&mut self) -> Result<Waiting, Over> {
        let begun = self.app.shutdown.begun();
        let mut begun = pin!(begun);
        loop {
            if self.app.shutdown.has_begun() {
                return Err(Over(Some((CloseCode::Away, "the proxy is shutting down"))));
            }
            if let Some(waiting) = self.waiting.pop_front() {
                self.waiting_bytes -= waiting.0.len();
                return Ok(waiting);
            }
            tokio::select! {
                biased;
                () = &mut begun => {}
                () = &mut self.age => {
                    let told = self.talk.expired();
                    self.send(told).await?;
                    self.socket.flush().await?;
                    return Err(Over(Some((CloseCode::Normal, "60 minutes"))));
                }
                heard = hear(&mut self.socket, &mut self.pings, &mut self.is_alive) => {
                    self.heard(heard?)?;
                }
            }
        }
    }

    /// What came goes to what waits.
    fn heard(&mut self, message: Option<Utf8Bytes>) -> Result<(), Over> {
        let Some(message) = message else {
            return Ok(());
        };
        self.waiting_bytes += message.len();
        let is_over = self.waiting_bytes > self.app.config.limits.body_bytes;
        if self.waiting.len() >= MAX_WAITING || is_over {
            let reason = "too many requests wait for the reply before theirs";
            return Err(Over(Some((CloseCode::Policy, reason))));
        }
        let room = self.socket.get_mut().whole();
        self.waiting.push_back((message, room));
        Ok(())
    }

    /// Does this, and notices meanwhile that the client is gone, by which it ends.
    async fn meanwhile<T>(&mut self, doing: impl Future<Output = T>) -> Result<T, Over> {
        let mut doing = pin!(doing);
        loop {
            tokio::select! {
                biased;
                done = &mut doing => return Ok(done),
                heard = hear(&mut self.socket, &mut self.pings, &mut self.is_alive) => {
                    self.heard(heard?)?;
                }
            }
        }
    }

    /// One message, and all that it is answered with.
    async fn turn<V, B>(&mut self, message: &Utf8Bytes, service: V) -> Result<(), Over>
    where
        V: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let size = message.len();
        match work(size, || self.talk.take(message.as_bytes(), &ids())) {
            Ok(Asked::Request(body)) => {
                let request = self.asking.request(body);
                let Ok(reply) = self.meanwhile(service.oneshot(request)).await?;
                self.reply(reply).await?;
            }
            Ok(Asked::Answer(messages)) => {
                for message in messages {
                    self.send(message).await?;
                }
            }
            Ok(Asked::Nothing) => {}
            Err(error) => {
                tracing::debug!(%error, "a message is refused");
                self.refuse(&error).await?;
            }
        }
        Ok(self.socket.flush().await?)
    }

    async fn reply<B>(&mut self, reply: Response<B>) -> Result<(), Over>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let (head, body) = reply.into_parts();
        self.talk.head(told(&head.headers));
        let limits = &self.app.config.limits;
        if !is_stream(&head) {
            let body = Limited::new(body, limits.reply_bytes).collect();
            return match self.meanwhile(body).await? {
                Ok(_unread) if head.status.is_success() => self.refuse(&no_stream()).await,
                Ok(body) => {
                    let told = self.talk.refuse(head.status.as_u16(), &body.to_bytes());
                    self.send(told).await
                }
                Err(_broken) => self.refuse(&cut()).await,
            };
        }
        // The last event repeats all that came before, and much of the request.
        let mut decoder = Decoder::new(limits.reply_bytes.saturating_add(limits.body_bytes));
        let mut body = pin!(body);
        while let Some(frame) = self.meanwhile(body.frame()).await? {
            let Ok(frame) = frame else {
                return self.refuse(&cut()).await;
            };
            let mut events = Vec::new();
            let decoded = frame
                .into_data()
                .map(|data| decoder.push(&data, &mut events));
            for event in events.into_iter().filter(|event| !event.is_done()) {
                if serde_json::from_slice::<IgnoredAny>(&event.data).is_err() {
                    return self.refuse(&garbage()).await;
                }
                let told = self.talk.tell(event.data);
                self.send(told).await?;
            }
            if matches!(decoded, Ok(Err(_))) {
                self.app.metrics.limit_hit("reply_bytes");
                return Err(Over(Some((CloseCode::Error, "limits.reply_bytes"))));
            }
            self.socket.flush().await?;
        }
        Ok(())
    }

    async fn refuse(&mut self, error: &Error) -> Result<(), Over> {
        let body = self.asking.client.error_body(error);
        let told = self.talk.refuse(error.status(), &body);
        self.send(told).await
    }

    /// Takes a message along with those that are flushed next.
    async fn send(&mut self, message: Vec<u8>) -> Result<(), Over> {
        match Utf8Bytes::try_from(message) {
            Ok(text) => Ok(self.socket.feed(Message::Text(text)).await?),
            // What is no text, no client of this wire could read.
            Err(_) => Err(Over(Some((CloseCode::Error, "")))),
        }
    }
}

/// The next thing that comes, if it is a message; pings go out meanwhile.
async fn hear<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    pings: &mut Interval,
    is_alive: &mut bool,
) -> Result<Option<Utf8Bytes>, Over> {
    tokio::select! {
        // What has come is heard before anybody is given up.
        biased;
        message = socket.next() => {
            *is_alive = true;
            match message {
                Some(Ok(Message::Text(text))) => Ok(Some(text)),
                Some(Ok(Message::Binary(_))) => {
                    Err(Over(Some((CloseCode::Unsupported, "send text"))))
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
                // The library answers it.
                Some(Ok(Message::Close(_))) | None => Err(Over(None)),
                Some(Err(error)) => Err(error.into()),
            }
        }
        _ = pings.tick() => {
            if !*is_alive {
                return Err(Over(None));
            }
            socket.send(Message::Ping(Bytes::new())).await?;
            *is_alive = false;
            Ok(None)
        }
    }
}

impl Asking {
    fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request.extensions_mut().insert(OverSocket);
        request
    }
}

/// In the extensions of a request that came over a socket: there a refusal is a message of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct OverSocket;

fn is_stream(head: &http::response::Parts) -> bool {
    let kind = head.headers.get(CONTENT_TYPE);
    let is_events = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    head.status.is_success() && is_events
}

/// What a server answers that is well and yet no stream.
fn no_stream() -> Error {
    let message = "the upstream answered without a stream of events where one was asked for; check that the upstream URL is \
                   that of the server's API";
    Error::new(Kind::UpstreamBadReply, message)
}

fn told(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_told = |name: &HeaderName| {
        *name == RETRY_AFTER || TOLD.iter().any(|told| name.as_str().starts_with(told))
    };
    let told = headers.iter().filter(|(name, _)| is_told(name));
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    told.map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

#[cfg(test)]
mod tests;
