//! A streamed reply: pulls the upstream's bytes when the client asks for more, steps the
//! translator, hands its bytes on. No task and no channel: what the client does not read is not
//! read from the upstream, and dropping the body closes the upstream's connection.

use super::answer::Answer;
use super::held::Held;
use super::planning::UNSURE;
use super::{ids, since_epoch, work};
use crate::proxy::account::Record;
use crate::proxy::body::Breaking;
use crate::proxy::budget::Charge;
use crate::proxy::kept::Keeping;
use crate::proxy::rescue::defect;
use crate::proxy::route::shutting_down;
use crate::telemetry::{Metrics, OpenGuard};
use crate::upstream::{Flight, Target};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::Body;
use isogloss_core::dialect::client::Client;
use isogloss_core::error::{Error, Kind, Side};
use isogloss_core::exchange::{self, End, Fault, StreamTranslator};
use isogloss_core::ir::{Repairs, Violation};
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// After `[DONE]`, how long the upstream has to end its body, so that its connection can be used
/// again. The client has everything by then.
const LINGER: Duration = Duration::from_millis(500);

/// As much as is gathered before it is handed on.
const PIECE_BYTES: usize = 16 << 10;

/// An event's JSON is some 200 bytes around a token of some 4: what is validated is at most this
/// part of what came.
const ENVELOPE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pull {
    /// The upstream is being translated.
    Running,
    /// `[DONE]` is written; only the end of the upstream's body is missing.
    Lingering,
    /// There is nothing more to read.
    Over,
}

/// What turns the upstream's bytes into the client's, step by step.
trait Steps: Send {
    fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), Fault>;
    fn finish(&mut self, end: End, out: &mut Vec<u8>) -> Result<(), Fault>;
    fn is_done(&self) -> bool;
    fn violation(&self) -> Option<&Violation>;
    fn repairs(&self) -> Repairs;
    /// What a good reply tells of its server.
    fn fact(&self) -> Option<&'static str>;
    fn fail(&mut self, error: &Error, out: &mut Vec<u8>);
    /// What time it is, since the Unix epoch.
    fn now(&mut self, _since_epoch: Duration) {}
    /// The whole reply, where it is complete and kept.
    fn kept(&self) -> Option<Vec<u8>> {
        None
    }
}

impl Steps for StreamTranslator {
    fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        self.push(chunk, out)
    }

    fn finish(&mut self, end: End, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.finish(end, out)
    }

    fn is_done(&self) -> bool {
        self.is_done()
    }

    fn violation(&self) -> Option<&Violation> {
        self.violation()
    }

    fn repairs(&self) -> Repairs {
        self.repairs()
    }

    fn fact(&self) -> Option<&'static str> {
        self.fact()
    }

    fn fail(&mut self, error: &Error, out: &mut Vec<u8>) {
        self.fail(error, out);
    }

    fn now(&mut self, since_epoch: Duration) {
        self.now(since_epoch);
    }

    fn kept(&self) -> Option<Vec<u8>> {
        self.kept()
    }
}

/// Runs one step while the reply's head is gone already: a panic in it becomes the error that
/// ends the stream, and takes along what the step had written.
fn rescued(
    out: &mut Vec<u8>,
    step: impl FnOnce(&mut Vec<u8>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let whole = out.len();
    // Nothing looks at the broken translator again but for what it knew before.
    let stepped = catch_unwind(AssertUnwindSafe(|| step(out)));
    stepped.unwrap_or_else(|panic| {
        out.truncate(whole);
        Err(Fault::Error(defect(&*panic)))
    })
}

/// Who answers, and how it was asked.
struct Server {
    target: Target,
    model: String,
}

impl Server {
    /// Remembers what a reply tells of the server, for the requests to come: the client has a part of this one already.
    /// What may have another reason is tried again later.
    fn learn(&self, fact: Option<&str>) {
        let Target { upstream, rule, .. } = &self.target;
        match fact {
            Some(fact) if UNSURE.contains(&fact) => upstream.believe(fact, &self.model),
            Some(fact) => {
                upstream.learn(fact, &self.model, rule);
            }
            None => {}
        }
    }
}

/// The body of a streamed reply.
pub(in crate::proxy) struct Translated {
    client: &'static dyn Client,
    source: Option<reqwest::Body>,
    translator: Box<dyn Steps>,
    out: Vec<u8>,
    fault: Option<Fault>,
    breaking: Breaking,
    stage: Pull,
    /// A violation that is let pass has been counted.
    has_passed: bool,
    taken: usize,
    /// More than a ping came since the time to be idle began.
    is_alive: bool,
    idle: Pin<Box<Sleep>>,
    idle_limit: Duration,
    out_of_time: BoxFuture<'static, ()>,
    record: Record,
    metrics: Arc<Metrics>,
    /// Whose key no error may show, and of whom the reply may tell something.
    server: Option<Server>,
    /// Where the server is our own worker.
    flight: Option<Arc<Flight>>,
    /// Where the reply is kept.
    keeping: Option<Arc<Keeping>>,
    /// What is held of the reply until its end.
    held: Held,
    /// Of a reply that came whole.
    room: Option<Charge>,
    _open: OpenGuard,
}

impl Translated {
    /// A stream that comes from the upstream.
    pub(super) fn new(answer: &Answer<'_>, source: reqwest::Body) -> Self {
        let event_bytes = answer.relay.app.config.limits.event_bytes;
        let translator = translator(answer, event_bytes);
        Self::with(answer, Some(source), translator)
    }

    /// The same of a reply that came whole, with the room that it takes.
    pub(super) fn of(answer: &Answer<'_>, body: &[u8], mut room: Charge) -> Self {
        let begun = Instant::now();
        let mut translator = translator(answer, body.len());
        let mut out = Vec::new();
        let exchange = &answer.planned.exchange;
        let said = work(body.len(), || translator.whole(exchange, body, &mut out));
        answer.relay.record.own(begun.elapsed());
        let mut translated = Self::with(answer, None, translator);
        room.shrink_to(out.len());
        translated.room = Some(room);
        translated.out = out;
        translated.said(said);
        translated
    }

    fn with(
        answer: &Answer<'_>,
        source: Option<reqwest::Body>,
        translator: StreamTranslator,
    ) -> Self {
        let app = answer.relay.app;
        let planned = answer.planned;
        let idle_limit = app.config.timeouts.idle;
        Self {
            client: answer.relay.client,
            source,
            translator: Box::new(translator),
            server: Some(Server {
                target: planned.target.clone(),
                model: planned.exchange.demand.request.model.clone(),
            }),
            out: Vec::new(),
            fault: None,
            breaking: Breaking::default(),
            stage: Pull::Running,
            has_passed: false,
            taken: 0,
            is_alive: false,
            idle: Box::pin(tokio::time::sleep(idle_limit)),
            idle_limit,
            out_of_time: Box::pin(app.shutdown.deadline()),
            record: answer.relay.record.clone(),
            metrics: Arc::clone(&app.metrics),
            flight: planned.flight.clone(),
            keeping: answer.relay.keeping.clone(),
            held: Held::new(app.budget.running(), app.config.limits.reply_bytes),
            room: None,
            _open: app.metrics.stream_opened(),
        }
    }

    /// Translates until there is something to send.
    ///
    /// # Errors
    /// Why nothing will be: no byte has been sent, so the caller can still do something else.
    pub(super) async fn open(&mut self, deadline: tokio::time::Instant) -> Result<(), Fault> {
        loop {
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            if !self.out.is_empty() || self.stage == Pull::Over {
                self.rest();
                return Ok(());
            }
            let step = poll_fn(|cx| self.timed(cx, Self::poll_source));
            if tokio::time::timeout_at(deadline, step).await.is_err() {
                return Err(Fault::Error(super::answer::too_late()));
            }
        }
    }

    /// The next bytes for the client: all that is there, since each piece that is handed on costs a write.
    pub(in crate::proxy) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.timed(cx, Self::poll_events)
    }

    /// Polls, and counts the time where something was translated.
    fn timed<T>(&mut self, cx: &mut Context<'_>, poll: fn(&mut Self, &mut Context<'_>) -> T) -> T {
        let (begun, taken) = (Instant::now(), self.taken);
        let polled = poll(self, cx);
        if self.taken > taken {
            self.record.own(begun.elapsed());
        }
        polled
    }

    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut is_dry = false;
        loop {
            let is_enough = is_dry || self.out.len() >= PIECE_BYTES || self.stage != Pull::Running;
            if !self.out.is_empty() && is_enough {
                let bytes = Bytes::from(mem::take(&mut self.out));
                return Poll::Ready(Some(match self.room.take() {
                    Some(room) => room.bind(bytes),
                    None => bytes,
                }));
            }
            if let Some(fault) = self.fault.take() {
                self.end(fault);
                continue;
            }
            if self.stage == Pull::Over {
                return Poll::Ready(None);
            }
            if self.out_of_time.as_mut().poll(cx).is_ready() {
                self.stop(shutting_down());
                continue;
            }
            if self.poll_source(cx).is_ready() {
                continue;
            }
            is_dry = true;
            if !self.out.is_empty() {
                continue;
            }
            if mem::take(&mut self.is_alive) {
                self.rest();
            }
            ready!(self.idle.as_mut().poll(cx));
            let message = "stream timeout: the upstream sent nothing for too long (timeouts.idle)";
            self.stop(Error::new(Kind::UpstreamIdle, message));
        }
    }

    /// Whether the client has everything.
    pub(in crate::proxy) fn is_over(&self) -> bool {
        let is_sent = self.out.is_empty() && self.fault.is_none();
        self.stage == Pull::Over && is_sent && self.breaking.is_none()
    }

    /// Whether it breaks off at its end.
    pub(in crate::proxy) const fn breaking(&mut self) -> &mut Breaking {
        &mut self.breaking
    }

    /// Ends early, where that takes anything from the client.
    fn stop(&mut self, error: Error) {
        if self.stage == Pull::Running {
            self.fault = Some(Fault::Error(error));
        }
        self.stage = Pull::Over;
        self.source = None;
    }

    /// Writes the error that ends the stream: no `[DONE]`, no finish reason.
    fn end(&mut self, fault: Fault) {
        self.breaking = Breaking::behind_error(self.client);
        self.source = None;
        self.stage = Pull::Over;
        let error = match fault {
            Fault::Error(error) => match &self.flight {
                Some(flight) => flight.explain(error),
                None => match &self.server {
                    Some(server) => server.target.upstream.redact_error(error),
                    None => error,
                },
            },
            Fault::Violation(violation) => {
                self.complete();
                if let Some(server) = &self.server {
                    server.learn(violation.fact);
                }
                self.metrics.violation(&violation.rule, "cut");
                self.record.broke(self.client, &violation);
                exchange::violation_error(self.client, &violation)
            }
        };
        if error.kind.side() == Side::Upstream {
            self.metrics.upstream_error(error.kind);
        }
        self.record.failed(&error);
        let (translator, out) = (&mut self.translator, &mut self.out);
        let told = rescued(out, |out| {
            translator.fail(&error, out);
            Ok(())
        });
        if told.is_err() {
            out.extend_from_slice(&self.client.error_event(&error));
        }
    }

    /// One step: the next chunk of the upstream, or its end.
    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let frame = match &mut self.source {
            Some(source) => ready!(Pin::new(source).poll_frame(cx)),
            None => None,
        };
        match frame {
            Some(Ok(frame)) => {
                if let Ok(chunk) = frame.into_data() {
                    self.take(chunk);
                }
            }
            Some(Err(_broken)) => self.finish(End::Cut),
            None => self.finish(End::Eof),
        }
        Poll::Ready(())
    }

    /// Translates one chunk.
    pub(super) fn take(&mut self, chunk: Bytes) {
        if self.stage != Pull::Running || self.fault.is_some() {
            return;
        }
        self.taken += chunk.len();
        self.record.came(&chunk);
        if let Err(error) = self.held.grow(&chunk, &self.metrics) {
            self.fault = Some(Fault::Error(error));
            return;
        }
        let text = self.text_bytes();
        let (translator, out) = (&mut self.translator, &mut self.out);
        translator.now(since_epoch());
        let pushed = work(text, || rescued(out, |out| translator.push(&chunk, out)));
        self.is_alive |= !is_comment(&chunk);
        self.said(pushed);
    }

    /// About the bytes of text that came. A large event is hardly envelope.
    fn text_bytes(&self) -> usize {
        (self.taken / ENVELOPE).max(self.held.said())
    }

    /// What was said was translated, or could not be.
    fn said(&mut self, outcome: Result<(), Fault>) {
        self.count_passed();
        if let Err(fault) = outcome {
            self.fault = Some(fault);
        } else if self.translator.is_done() {
            self.succeed();
            self.stage = Pull::Lingering;
            self.idle
                .as_mut()
                .reset(tokio::time::Instant::now() + LINGER);
        }
    }

    fn finish(&mut self, end: End) {
        self.source = None;
        if self.stage == Pull::Running {
            let text = self.text_bytes();
            let (translator, out) = (&mut self.translator, &mut self.out);
            translator.now(since_epoch());
            let finished = work(text, || rescued(out, |out| translator.finish(end, out)));
            self.fault = finished.err();
            self.count_passed();
            if self.fault.is_none() {
                self.succeed();
            }
        }
        self.stage = Pull::Over;
    }

    /// What was mended so far.
    pub(super) fn repairs(&self) -> Repairs {
        self.translator.repairs()
    }

    /// The reply is whole: what was mended in it counts.
    fn succeed(&self) {
        self.complete();
        // Before the client has the end: whatever it asks next finds it.
        if let Some(keeping) = &self.keeping
            && let Some(reply) = self.translator.kept()
        {
            keeping.keep(reply);
        }
        let repairs = self.translator.repairs();
        self.metrics.repaired(repairs);
        if let Some(server) = &self.server {
            server.learn(self.translator.fact());
        }
    }

    /// The upstream has said everything that it is asked for.
    fn complete(&self) {
        if let Some(flight) = &self.flight {
            flight.completed();
        }
    }

    /// Counts a violation that is let pass, once; before the head is sent, the head says it too.
    fn count_passed(&mut self) {
        if let Some(violation) = self.translator.violation().filter(|_| !self.has_passed) {
            self.has_passed = true;
            if let Some(server) = &self.server {
                server.learn(violation.fact);
            }
            self.metrics.violation(&violation.rule, "pass");
            self.record.passed(&violation.rule);
            self.record.broke(self.client, violation);
        }
    }

    /// The upstream is alive.
    fn rest(&mut self) {
        self.idle
            .as_mut()
            .reset(tokio::time::Instant::now() + self.idle_limit);
    }
}

pub(super) fn translator(answer: &Answer<'_>, event_bytes: usize) -> StreamTranslator {
    let checks = Arc::clone(&answer.planned.checks);
    let ids = ids().after(answer.relay.record.waited());
    StreamTranslator::new(&answer.planned.exchange, checks, ids, event_bytes)
}

impl fmt::Debug for Translated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Translated")
            .field("stage", &self.stage)
            .field("taken", &self.taken)
            .finish_non_exhaustive()
    }
}

/// Whether a chunk is comments alone: a server that only pings does not answer.
fn is_comment(chunk: &[u8]) -> bool {
    chunk
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .all(|line| line.is_empty() || line.starts_with(b":"))
}

#[cfg(test)]
mod tests;
