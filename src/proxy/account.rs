//! Adds: the metrics and the one log line of each request, written when its reply has ended or
//! its client has gone, and the `x-isogloss-*` headers that say what was done. Sits outside the
//! rescue layer, so that refusals count too. Sees bytes of content only to remember them, where the
//! operator records bodies.

mod record;

pub(super) use record::Record;

use super::connections::Peer;
use super::request_id::Ids;
use super::spans::{Told, Trace};
use crate::journal::{Journal, Recording, Summary};
use crate::telemetry::{Metrics, OpenGuard, Outcome, RequestLabels, RequestTimes};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use isogloss_core::dialect::client::Client;
use isogloss_core::error::{Error, Kind, Side};
use isogloss_core::ir::Strategy;
use isogloss_core::passage;
use isogloss_core::sse;
use pin_project_lite::pin_project;
use record::Facts;
use std::mem;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};
use tower::{Layer, Service};
use tracing::Span;

/// Of a path, in the log.
const MAX_PATH_BYTES: usize = 128;

/// Whose route a path is.
fn asked(path: &str) -> Option<&'static dyn Client> {
    let of_counter = || passage::counter(path).map(|counter| counter.client());
    passage::client(path).or_else(of_counter)
}

/// Whether what has been said so far ends with the mark that ends a stream.
fn ends_with(mark: &[u8], tail: &mut Vec<u8>, data: &[u8]) -> bool {
    let longest = mark.len() + b"\r\n\r\n".len();
    let new = data.len().saturating_sub(longest);
    tail.extend_from_slice(data.get(new..).unwrap_or(data));
    tail.drain(..tail.len().saturating_sub(longest));
    let said = tail.trim_ascii_end();
    // Before its line ends, more may follow.
    said.len() < tail.len() && said.ends_with(mark)
}

#[derive(Debug, Clone)]
pub(super) struct AccountLayer {
    metrics: Arc<Metrics>,
    journal: Arc<Journal>,
}

impl AccountLayer {
    pub(super) const fn new(metrics: Arc<Metrics>, journal: Arc<Journal>) -> Self {
        Self { metrics, journal }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Account<S> {
    inner: S,
    metrics: Arc<Metrics>,
    journal: Arc<Journal>,
}

pin_project! {
    /// A reply that will be counted.
    #[derive(Debug)]
    pub(super) struct Accounting<F> {
        #[pin]
        reply: F,
        open: Option<Open>,
    }
}

/// A reply body that is counted.
#[derive(Debug)]
pub(super) struct Accounted<B: Body> {
    inner: B,
    open: Option<Open>,
}

/// An account that is not closed yet; dropping it closes it.
#[derive(Debug)]
pub(super) struct Open {
    metrics: Arc<Metrics>,
    journal: Arc<Journal>,
    /// The request's own id.
    id: Option<HeaderValue>,
    /// Where its connection comes from.
    peer: Option<SocketAddr>,
    record: Record,
    span: Span,
    begun: Instant,
    method: Method,
    path: String,
    status: Option<StatusCode>,
    kind: Option<Kind>,
    bytes: u64,
    first_byte: Option<Duration>,
    has_ended: bool,
    /// What the streams of this dialect end with; of one that nobody knows, OpenAI's.
    end_mark: &'static [u8],
    /// The last bytes of a reply, as many as that takes.
    tail: Vec<u8>,
    /// They are it: clients close as soon as they have read it.
    has_said_done: bool,
    trace: Option<Trace>,
    _in_flight: OpenGuard,
}

// === impl Account ===

impl<S> Layer<S> for AccountLayer {
    type Service = Account<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Account {
            inner,
            metrics: Arc::clone(&self.metrics),
            journal: Arc::clone(&self.journal),
        }
    }
}

impl<S, B, R> Service<Request<B>> for Account<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Response = Response<Accounted<R>>;
    type Error = S::Error;
    type Future = Accounting<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let mut open = Open::new(Arc::clone(&self.metrics), &self.journal, &request);
        // Who asks within this process looks at it afterwards.
        match request.extensions().get::<Record>() {
            Some(known) => open.record = known.clone(),
            None => drop(request.extensions_mut().insert(open.record.clone())),
        }
        if self.metrics.traces().is_some() {
            open.trace = Trace::begin(request.headers_mut());
        }
        Accounting {
            reply: self.inner.call(request),
            open: Some(open),
        }
    }
}

// === impl Accounting ===

impl<F, R, E> Future for Accounting<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body,
{
    type Output = Result<Response<Accounted<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut reply = ready!(this.reply.poll(cx))?;
        let mut open = this.open.take();
        if let Some(open) = &mut open {
            open.answered(&mut reply);
        }
        Poll::Ready(Ok(reply.map(|inner| Accounted { inner, open })))
    }
}

// === impl Open ===

impl Open {
    fn new<B>(metrics: Arc<Metrics>, journal: &Arc<Journal>, request: &Request<B>) -> Self {
        let path = request.uri().path();
        let ids = request.extensions().get::<Ids>();
        Self {
            _in_flight: metrics.request_opened(),
            metrics,
            journal: Arc::clone(journal),
            id: ids.map(|ids| ids.ours.clone()),
            peer: request.extensions().get::<Peer>().map(|peer| peer.0),
            record: Record::of(journal),
            span: Span::current(),
            begun: Instant::now(),
            method: request.method().clone(),
            path: path.get(..MAX_PATH_BYTES).unwrap_or(path).to_owned(),
            status: None,
            kind: None,
            bytes: 0,
            first_byte: None,
            has_ended: false,
            end_mark: sse::DONE.trim_ascii_end(),
            tail: Vec::new(),
            has_said_done: false,
            trace: None,
        }
    }

    fn answered<R>(&mut self, reply: &mut Response<R>) {
        self.status = Some(reply.status());
        self.kind = reply.extensions().get::<Kind>().copied();
        // The body of a reply to HEAD is never asked for; what follows a handshake is none.
        self.has_ended =
            self.method == Method::HEAD || reply.status() == StatusCode::SWITCHING_PROTOCOLS;
        let mut facts = self.record.facts();
        if facts.client.is_none() && self.kind.is_some() && self.method == Method::POST {
            // It was refused before its route was taken.
            facts.client = asked(&self.path);
        }
        if let Some(client) = facts.client {
            self.end_mark = client.end_mark();
            if let (Some(name), Some(id)) = (client.request_id(), &self.id) {
                // A server's own stays.
                let told = reply.headers_mut().entry(name);
                told.or_insert_with(|| id.clone());
            }
        }
        reply.headers_mut().extend(mem::take(&mut facts.marks));
    }

    fn outcome(&self, facts: &Facts) -> Outcome {
        if let Some(kind) = self.kind {
            return facts.outcome_of(kind);
        }
        if let Some(outcome) = facts.outcome {
            return outcome;
        }
        match self.status {
            Some(status) if self.has_ended || self.has_said_done => match status.as_u16() {
                ..400 => Outcome::Ok,
                400..500 => Outcome::ClientError,
                _ => Outcome::UpstreamError,
            },
            _ => Outcome::ClientGone,
        }
    }

    const fn phase(&self) -> &'static str {
        match (self.status, self.first_byte) {
            (None, _) => "waiting",
            // Nobody reads the refusal of a request that broke off.
            _ if matches!(self.kind, Some(Kind::ClientGone)) => "waiting",
            (Some(_), None) => "first_byte",
            (Some(_), Some(_)) => "streaming",
        }
    }

    fn count(&self, facts: &Facts, outcome: Outcome, duration: Duration) {
        if outcome == Outcome::ClientGone {
            self.metrics.client_gone(self.phase());
        }
        if let Some(kind) = self.kind
            && kind.side() == Side::Upstream
        {
            self.metrics.upstream_error(kind);
        }
        let labels = RequestLabels {
            client: facts.client.map_or("other", |client| client.label()),
            server: facts.dialect.as_deref().unwrap_or("other"),
            strategy: facts.strategy().unwrap_or(Strategy::Passthrough.as_str()),
            outcome,
        };
        let times = RequestTimes {
            whole: duration,
            own: facts.own,
            upstream: facts.upstream_time(),
            first_delta: self.first_byte.filter(|_| facts.is_stream),
        };
        self.metrics.request_finished(labels, times);
        if let Some(access) = &facts.access {
            self.metrics.client_request(access.name(), outcome);
        }
    }

    fn trace(&self, facts: &Facts, outcome: Outcome, duration: Duration) {
        let (Some(traces), Some(trace)) = (self.metrics.traces(), &self.trace) else {
            return;
        };
        let sent = facts.sent.map(|(sent, _)| sent);
        let told = Told {
            method: self.method.as_str(),
            path: &self.path,
            status: self.status.map(|status| status.as_u16()),
            outcome: outcome.as_str(),
            code: self.kind.map(Kind::code).or(facts.code),
            duration,
            sent_after: sent.map(|sent| sent.saturating_duration_since(self.begun)),
            upstream: facts.upstream.as_deref(),
            dialect: facts.dialect.as_deref(),
            model: facts.model.as_deref(),
            strategy: facts.strategy(),
            is_stream: facts.is_stream,
        };
        trace
            .spans(&told)
            .into_iter()
            .for_each(|span| traces.send(span));
    }
}

impl Open {
    /// What the console shows of it in a list.
    fn summary(&self, facts: &Facts, outcome: Outcome, duration: Duration) -> Summary {
        let came = SystemTime::now() - duration;
        let came = came.duration_since(SystemTime::UNIX_EPOCH);
        let id = self.id.as_ref().and_then(|id| id.to_str().ok());
        Summary {
            id: id.unwrap_or_default().to_owned(),
            time: came.map_or(0, |came| came.as_millis() as u64),
            method: self.method.as_str().to_owned(),
            path: self.path.clone(),
            client: facts.client.map(|client| client.label()),
            caller: facts.access.as_ref().map(|access| access.name().to_owned()),
            server: facts.server.clone(),
            upstream: facts.upstream.clone(),
            model: facts.model.clone(),
            strategy: facts.strategy(),
            outcome: outcome.as_str(),
            status: self.status.map(|status| status.as_u16()),
            code: self.kind.map(Kind::code).or(facts.code),
            stream: facts.is_stream,
            repairs: (!facts.repairs.is_empty()).then(|| facts.repairs.to_string()),
            first_byte_ms: self.first_byte.map(milliseconds),
            own_ms: milliseconds(facts.own),
            upstream_ms: facts.upstream_time().map(milliseconds),
            duration_ms: milliseconds(duration),
            ..Summary::default()
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut facts = self.record.facts();
        let duration = self.begun.elapsed();
        let outcome = self.outcome(&facts);
        self.count(&facts, outcome, duration);
        self.trace(&facts, outcome, duration);
        if let Some(mut way) = facts.way.take() {
            if self.journal.recording() != Recording::Bodies {
                way.counted(self.bytes);
            }
            self.journal
                .keep(*way, self.summary(&facts, outcome, duration));
        }
        tracing::info!(
            target: "isogloss::access",
            parent: &self.span,
            outcome = outcome.as_str(),
            client = facts.access.as_ref().map(|access| access.name()),
            peer = self.peer.map(tracing::field::display),
            status = self.status.map(|status| status.as_u16()),
            code = self.kind.map(Kind::code).or(facts.code),
            method = %self.method,
            path = self.path,
            upstream = facts.upstream,
            upstream_name = facts.upstream_name,
            server = facts.server,
            model = facts.model,
            strategy = facts.strategy(),
            losses = facts.losses,
            retries = facts.retries,
            violation = facts.violation,
            stream = facts.is_stream,
            bytes = self.bytes,
            prompt_tokens = facts.tokens.map(|(prompt, _)| prompt),
            completion_tokens = facts.tokens.map(|(_, completion)| completion),
            ttft_ms = self.first_byte.map(milliseconds),
            own_ms = milliseconds(facts.own),
            dur_ms = milliseconds(duration),
            "request"
        );
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

// === impl Accounted ===

impl<B: Body<Data = Bytes> + Unpin> Body for Accounted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        let Some(open) = &mut self.open else {
            return Poll::Ready(frame);
        };
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    open.bytes += data.len() as u64;
                    if open.journal.recording() == Recording::Bodies {
                        open.record.way(|way| way.replied(data));
                    }
                    open.has_said_done = ends_with(open.end_mark, &mut open.tail, data);
                    open.first_byte.get_or_insert_with(|| open.begun.elapsed());
                }
            }
            Some(Err(_)) => {
                let error = Error::new(Kind::UpstreamTruncated, "cut");
                open.record.failed(&error);
                // A failure that breaks off is one.
                if open.kind.is_none_or(|kind| kind.side() != Side::Upstream) {
                    open.metrics.upstream_error(error.kind);
                }
            }
            None => open.has_ended = true,
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

impl<B: Body> Drop for Accounted<B> {
    fn drop(&mut self) {
        // A body whose length is known is dropped after its last byte, not asked again.
        if let Some(open) = &mut self.open {
            open.has_ended |= self.inner.is_end_stream();
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use http_body_util::{BodyExt, Full};
    use isogloss_core::dialect::chat::client::Chat;
    use tower::ServiceExt;

    #[test]
    fn a_stream_is_done_with_its_last_event_however_it_is_cut() {
        let said = |pieces: &[&str]| {
            let mut tail = Vec::new();
            let ends: Vec<_> = pieces
                .iter()
                .map(|piece| ends_with(b"data: [DONE]", &mut tail, piece.as_bytes()))
                .collect();
            ends.last().copied().unwrap_or_default()
        };
        assert!(said(&["data: {}\n\ndata: [DONE]\n\n"]));
        assert!(said(&["data: {}\r\n\r\ndata: [DO", "NE]\r\n", "\r\n"]));
        for other in [
            &["data: {}\n\n"][..],
            &["data: [DONE]"],
            &["data: [DONE]\n\n", "data: {}\n\n"],
        ] {
            assert!(!said(other), "{other:?}");
        }
    }

    async fn reply(metrics: &Arc<Metrics>) -> Response<Accounted<Full<Bytes>>> {
        let inner = tower::service_fn(|request: Request<()>| async move {
            request.extensions().get::<Record>().unwrap().client(&Chat);
            Ok::<_, Error>(Response::new(Full::new(Bytes::from_static(b"abc"))))
        });
        let service = AccountLayer::new(Arc::clone(metrics), Arc::default()).layer(inner);
        service.oneshot(Request::new(())).await.unwrap()
    }

    #[tokio::test]
    async fn a_reply_that_is_read_to_its_end_is_ok_and_one_that_is_dropped_is_not() {
        let metrics = Arc::new(Metrics::new([]));
        let _whole = reply(&metrics).await.into_body().collect().await.unwrap();
        assert!(metrics.render().contains("outcome=\"ok\"} 1"));
        drop(reply(&metrics).await);
        let text = metrics.render();
        assert!(text.contains("outcome=\"client_gone\"} 1"), "{text}");
        assert!(text.contains("phase=\"first_byte\"} 1"), "{text}");
    }
}
