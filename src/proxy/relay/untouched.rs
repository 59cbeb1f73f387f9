//! A stream of events that goes through as it is, but for its end: where the upstream breaks off,
//! the client gets an error event rather than a connection that is gone, or an answer that only looks whole. What comes of an
//! event is held back until it is whole, so that nothing but the error follows the last whole one.

use super::answer::{cut, too_late};
use crate::proxy::App;
use crate::proxy::account::Record;
use crate::proxy::body::Breaking;
use crate::proxy::budget::Charge;
use crate::proxy::route::shutting_down;
use crate::proxy::silence::Silence;
use crate::telemetry::{Metrics, OpenGuard};
use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use http_body::Body;
use isogloss_core::dialect::client::{Client, LastWords};
use isogloss_core::error::Error;
use isogloss_core::exchange::{Begun, InPlace, error_in};
use isogloss_core::ir::Framing;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// As much as is gathered before it is handed on.
const PIECE_BYTES: usize = 16 << 10;

/// So long comments wait for what follows them. They say that a server is alive, to whatever stands before the client too.
const COMMENTS_WAIT: Duration = Duration::from_secs(1);

/// Bytes of one piece or of many, copied only where there are many.
#[derive(Default)]
struct Gathered {
    first: Bytes,
    all: BytesMut,
}

impl Gathered {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn bytes(&self) -> &[u8] {
        match self.first.is_empty() {
            true => &self.all,
            false => &self.first,
        }
    }

    fn add(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        if self.len() == 0 {
            self.first = bytes;
            return;
        }
        if !self.first.is_empty() {
            self.all
                .reserve(PIECE_BYTES.max(self.first.len() + bytes.len()));
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&bytes);
    }

    /// `None` where there is nothing.
    fn take(self) -> Option<Bytes> {
        let bytes = if self.first.is_empty() {
            self.all.freeze()
        } else {
            self.first
        };
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// Whether a stream that is over says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Nothing does.
    Open,
    /// An answer is whole, but its mark is missing: a client may wait for that.
    Said,
    /// An event was let go unread, which may have said anything.
    Unread,
    /// Nothing is missing, or nobody knows what would be.
    Marked,
}

impl Ending {
    /// Which it is after these whole events, and whether they end with an error.
    ///
    /// # Errors
    /// Where an error stands in them that clients do not read as one.
    fn after(self, events: &[u8], client: &dyn Client) -> Result<(Self, bool), usize> {
        if self == Self::Marked {
            return Ok((self, false));
        }
        let words = client.last_words(events);
        if let Some(LastWords::Unread { at }) = words {
            return Err(at);
        }
        if words == Some(LastWords::Error) {
            return Ok((Self::Marked, true));
        }
        if events.trim_ascii_end().ends_with(client.end_mark()) {
            return Ok((Self::Marked, false));
        }
        let ending = match words {
            Some(LastWords::Answer) => Self::Said,
            Some(LastWords::End | LastWords::Error) => Self::Marked,
            Some(LastWords::Unread { .. }) | None => self,
        };
        Ok((ending, false))
    }
}

/// The body of such a reply.
pub(in crate::proxy) struct Untouched {
    client: &'static dyn Client,
    framing: Framing,
    source: Option<reqwest::Body>,
    /// Whole events that were looked at.
    seen: Gathered,
    /// Of an event that is not whole.
    held: BytesMut,
    /// More than that is let go: the client reads events of that size, or does not.
    limit: usize,
    charge: Charge,
    silence: Silence,
    out_of_time: BoxFuture<'static, ()>,
    /// Some of an event has been sent.
    is_torn: bool,
    ending: Ending,
    breaking: Breaking,
    record: Record,
    metrics: Arc<Metrics>,
    _open: OpenGuard,
}

impl Untouched {
    pub(in crate::proxy) fn new(
        source: reqwest::Body,
        client: &'static dyn Client,
        framing: Framing,
        app: &App,
        first_byte: Instant,
        record: Record,
    ) -> Self {
        Self {
            client,
            framing,
            source: Some(source),
            seen: Gathered::default(),
            held: BytesMut::new(),
            limit: app.config.limits.event_bytes,
            charge: app.budget.running(),
            silence: Silence::new(first_byte, app.config.timeouts.idle),
            out_of_time: Box::pin(app.shutdown.deadline()),
            is_torn: false,
            ending: Ending::Marked,
            breaking: Breaking::default(),
            record,
            metrics: Arc::clone(&app.metrics),
            _open: app.metrics.stream_opened(),
        }
    }

    /// For a stream in the client's own dialect: what it does not end with is missed.
    pub(super) fn watched(mut self) -> Self {
        if self.client.has_last_words() {
            self.ending = Ending::Open;
        }
        self
    }

    /// Waits for the first event, so that the client's reply begins with that: until then another server may be asked. What
    /// `begins` says of what came (and whether that is all) may be why another should be.
    ///
    /// # Errors
    /// Nothing came in time, or the connection broke.
    pub(super) async fn open(
        &mut self,
        first_byte: Instant,
        begins: impl Fn(&[u8], bool) -> Begun,
    ) -> Result<Option<InPlace>, Error> {
        let mut deadline = first_byte;
        loop {
            let frame = poll_fn(|cx| match &mut self.source {
                Some(source) => Pin::new(source).poll_frame(cx),
                None => Poll::Ready(None),
            });
            let begun = match timeout_at(deadline, frame).await {
                Err(_elapsed) if self.seen.len() > 0 => return Ok(self.opened()),
                Err(_elapsed) => return Err(too_late()),
                Ok(Some(Err(_broken))) => return Err(cut()),
                Ok(Some(Ok(frame))) => {
                    self.silence.heard();
                    let chunk = frame.into_data().ok();
                    let Some(whole) = chunk.and_then(|chunk| self.split(chunk)) else {
                        continue;
                    };
                    self.seen.add(whole);
                    begins(self.seen.bytes(), false)
                }
                Ok(None) => {
                    self.source = None;
                    self.seen.add(self.held.split().freeze());
                    begins(self.seen.bytes(), true)
                }
            };
            match begun {
                Begun::Well => return Ok(self.opened()),
                Begun::Badly(said) => {
                    // It goes out as it is, if nobody else answers.
                    self.ending = Ending::Marked;
                    return Ok(Some(said));
                }
                Begun::NotYet if self.seen.len() >= PIECE_BYTES => return Ok(self.opened()),
                Begun::NotYet => deadline = deadline.min(Instant::now() + COMMENTS_WAIT),
            }
        }
    }

    /// No error stands in the place of the answer, though one may stand behind its beginning.
    fn opened(&mut self) -> Option<InPlace> {
        if self.is_torn {
            return None;
        }
        if let Some(seen) = std::mem::take(&mut self.seen).take() {
            let seen = self.looked_at(seen);
            self.seen.add(seen);
        }
        None
    }

    /// The next bytes for the client: all whole events that are there, since each piece that is handed on costs a
    /// write.
    pub(in crate::proxy) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut events = std::mem::take(&mut self.seen);
        while let Some(source) = &mut self.source {
            if events.len() >= PIECE_BYTES {
                return Poll::Ready(events.take());
            }
            match Pin::new(source).poll_frame(cx) {
                Poll::Pending if events.len() > 0 => return Poll::Ready(events.take()),
                Poll::Pending if self.out_of_time.as_mut().poll(cx).is_ready() => {
                    events.add(self.ended(&shutting_down()));
                }
                Poll::Pending => {
                    let error = ready!(self.silence.poll(cx));
                    events.add(self.broken(&error));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.silence.heard();
                    if let Ok(chunk) = frame.into_data()
                        && let Some(whole) = self.whole_events(chunk)
                    {
                        events.add(whole);
                    }
                }
                Poll::Ready(Some(Err(_broken))) => events.add(self.broken(&cut())),
                Poll::Ready(None) => self.source = None,
            }
        }
        events.add(self.end());
        Poll::Ready(events.take())
    }

    /// What is left behind the last whole event, and what the server should have ended with.
    fn end(&mut self) -> Bytes {
        let left = self.held.split().freeze();
        let mut left = BytesMut::from(match self.is_torn {
            true => left,
            false => self.looked_at(left),
        });
        match std::mem::replace(&mut self.ending, Ending::Marked) {
            Ending::Unread if self.is_torn => return self.broken(&cut()),
            Ending::Marked | Ending::Unread => return left.freeze(),
            Ending::Said if left.is_empty() => {}
            Ending::Said => left.extend_from_slice(b"\n\n"),
            Ending::Open => return self.broken(&cut()),
        }
        left.extend_from_slice(self.client.end_mark());
        left.extend_from_slice(b"\n\n");
        left.freeze()
    }

    /// Whether the client has everything.
    pub(in crate::proxy) fn is_over(&self) -> bool {
        let is_sent = self.held.is_empty() && self.seen.len() == 0;
        self.source.is_none() && is_sent && self.breaking.is_none()
    }

    /// Whether it breaks off at its end.
    pub(in crate::proxy) const fn breaking(&mut self) -> &mut Breaking {
        &mut self.breaking
    }

    fn whole_events(&mut self, chunk: Bytes) -> Option<Bytes> {
        let was_torn = self.is_torn;
        let whole = self.split(chunk)?;
        // What begins in the middle of an event may say anything.
        if was_torn && self.ending != Ending::Marked {
            self.ending = Ending::Unread;
        }
        match was_torn || self.is_torn {
            true => Some(whole),
            false => Some(self.looked_at(whole)),
        }
    }

    /// The whole events that are there with these bytes; what is no event yet is held.
    fn split(&mut self, chunk: Bytes) -> Option<Bytes> {
        if self.held.is_empty() && end_of_events(self.framing, &chunk, 0) == Some(chunk.len()) {
            self.is_torn = false;
            return Some(chunk);
        }
        let seen = self.held.len();
        self.held.extend_from_slice(&chunk);
        // The blank line may have begun with what was held.
        if let Some(end) = end_of_events(self.framing, &self.held, seen.saturating_sub(3)) {
            self.is_torn = false;
            return Some(self.held.split_to(end).freeze());
        }
        let is_over = self.held.len() > self.limit || !self.has_room();
        is_over.then(|| {
            self.is_torn = true;
            if self.ending == Ending::Open {
                self.ending = Ending::Unread;
            }
            self.held.split().freeze()
        })
    }

    /// What clients get of these events: an error that they would not read as one is told in their words, and nothing behind it.
    fn looked_at(&mut self, events: Bytes) -> Bytes {
        match self.ending.after(&events, self.client) {
            Ok((ending, has_failed)) => {
                self.ending = ending;
                if has_failed {
                    self.breaking = Breaking::behind_error(self.client);
                }
                events
            }
            Err(at) => {
                let begin = end_of_events(self.framing, &events[..at], 0).unwrap_or(0);
                let error = error_in(&events[begin..]);
                let last = self.broken(&error);
                [&events[..begin], &last].concat().into()
            }
        }
    }

    /// Whether what is held fits the budget; what little there is nearly always is not worth asking.
    fn has_room(&mut self) -> bool {
        let held = self.held.len();
        held <= PIECE_BYTES || self.charge.try_grow_to(held.next_power_of_two()).is_ok()
    }

    fn broken(&mut self, error: &Error) -> Bytes {
        self.metrics.upstream_error(error.kind);
        self.ended(error)
    }

    /// The error that nothing follows, nor any of the event that it comes in the middle of.
    fn ended(&mut self, error: &Error) -> Bytes {
        self.source = None;
        self.held.clear();
        self.ending = Ending::Marked;
        self.breaking = Breaking::behind_error(self.client);
        self.record.failed(error);
        let event = self.client.error_event(error);
        if self.is_torn {
            let end: &[u8] = match self.framing {
                Framing::Events => b"\n\n",
                Framing::Lines => b"\n",
            };
            return [end, &event].concat().into();
        }
        event.into()
    }
}

/// Where the last whole event ends, at or behind `from`.
fn end_of_events(framing: Framing, bytes: &[u8], from: usize) -> Option<usize> {
    const BLANK_LINES: [&[u8]; 3] = [b"\n\n", b"\r\r", b"\n\r\n"];
    let new = bytes.get(from..)?;
    if framing == Framing::Lines {
        return memchr::memrchr(b'\n', new).map(|at| from + at + 1);
    }
    memchr::memrchr2_iter(b'\n', b'\r', new).find_map(|at| {
        let seen = new.get(..=at)?;
        let is_end = BLANK_LINES.iter().any(|blank| seen.ends_with(blank));
        is_end.then_some(from + at + 1)
    })
}

impl fmt::Debug for Untouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Untouched")
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Framing, end_of_events};

    #[test]
    fn an_event_ends_with_a_blank_line_of_any_kind() {
        for (bytes, end) in [
            ("data: 1\n\n", Some(9)),
            ("data: 1\r\n\r\nda", Some(11)),
            ("data: 1\r\rda", Some(9)),
            ("data: 1\n", None),
            ("data: 1\r\n", None),
            ("", None),
        ] {
            let found = end_of_events(Framing::Events, bytes.as_bytes(), 0);
            assert_eq!(found, end, "{bytes:?}");
        }
    }

    #[test]
    fn a_line_of_json_ends_with_its_line() {
        for (bytes, end) in [("{}\n", Some(3)), ("{}\r\n{", Some(4)), ("{}", None)] {
            let found = end_of_events(Framing::Lines, bytes.as_bytes(), 0);
            assert_eq!(found, end, "{bytes:?}");
        }
    }
}
