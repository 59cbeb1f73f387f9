//! The queue before a server that is sent so many requests at once and no more (`max_in_flight`): a request comes in,
//! its place at the server goes out, at once or when it is its turn. Where there is no room to wait, or it takes too
//! long, it is refused with the time after which those who wait now will have been served. Who goes away leaves its
//! place in the queue.
//!
//! A place is held until the server's reply has ended, or nobody wants the rest of it.

mod pace;
mod queue;
#[cfg(test)]
mod tests;

pub use queue::{Asker, Turn};

use super::renewal::NOWHERE;
use crate::config::QueueConfig;
use crate::telemetry::{Metrics, QueueRefusal};
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use isogloss_core::error::{Error, Kind};
use queue::{Entered, Queue, Ticket};
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

/// One server's queue, shared by all configurations in which it is the same server.
pub(super) struct Admission {
    /// Without a limit nothing is counted.
    is_limited: AtomicBool,
    gate: Mutex<Gate>,
    begun: Instant,
    metrics: Arc<Metrics>,
    /// The server's place in the configuration.
    shown: Arc<AtomicUsize>,
}

struct Gate {
    queue: Queue<oneshot::Sender<Place>>,
    patience: Duration,
}

/// A place at a server.
pub struct Place(Option<Arc<Admission>>);

/// A place in a queue, until it is left.
struct Waiting<'a> {
    admission: &'a Arc<Admission>,
    ticket: Ticket,
    turn: oneshot::Receiver<Place>,
    begun: Instant,
}

// === impl Admission ===

impl Admission {
    /// Without a limit.
    pub(super) fn new(metrics: &Arc<Metrics>, shown: &Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            is_limited: AtomicBool::new(false),
            gate: Mutex::new(Gate {
                queue: Queue::new(usize::MAX, 0),
                patience: Duration::ZERO,
            }),
            begun: Instant::now(),
            metrics: Arc::clone(metrics),
            shown: Arc::clone(shown),
        })
    }

    /// From now on these are its limits. Who waits already does so no longer than it was to.
    pub(super) fn set(self: &Arc<Self>, config: &QueueConfig) {
        let is_limited = config.max_in_flight.is_some();
        if !self.is_limited.swap(is_limited, Ordering::AcqRel) && !is_limited {
            return;
        }
        let mut gate = self.gate();
        let most = config.max_in_flight.unwrap_or(usize::MAX);
        gate.queue.set(most, config.length);
        gate.patience = config.timeout;
        drop(gate);
        loop {
            let mut gate = self.gate();
            let next = gate.queue.next(self.begun.elapsed());
            self.tell(&gate);
            drop(gate);
            match next {
                Some(next) => self.hand_over(next),
                None => return,
            }
        }
    }

    /// Nothing is told of it any longer.
    pub(super) fn is_left(&self) {
        if self.is_limited() {
            let _no_other_word = self.gate();
            self.measure(|metrics, index| metrics.queue_length(index, 0));
        }
    }

    pub(super) fn is_limited(&self) -> bool {
        self.is_limited.load(Ordering::Acquire)
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        if self.is_limited() {
            self.gate().queue.len()
        } else {
            0
        }
    }

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the metrics, where the server is in the configuration that is in force.
    fn measure(&self, tell: impl FnOnce(&Metrics, usize)) {
        let index = self.shown.load(Ordering::Relaxed);
        if index != NOWHERE {
            tell(&self.metrics, index);
        }
    }

    /// Under the lock, so that the last word is the right one.
    fn tell(&self, gate: &MutexGuard<'_, Gate>) {
        self.measure(|metrics, index| metrics.queue_length(index, gate.queue.len()));
    }

    /// A place, as soon as it is this request's turn; `None` where there is no limit.
    ///
    /// # Errors
    /// As many wait as may, or it takes too long.
    pub(super) async fn enter(self: &Arc<Self>, turn: Turn) -> Result<Option<Place>, Error> {
        if !self.is_limited() {
            return Ok(None);
        }
        let mut receiver = None;
        let begun = Instant::now();
        let (entered, patience) = {
            let mut gate = self.gate();
            let entered = gate.queue.enter(turn, self.begun.elapsed(), || {
                let (told, turn) = oneshot::channel();
                receiver = Some(turn);
                told
            });
            self.tell(&gate);
            (entered, gate.patience)
        };
        let place = match (entered, receiver) {
            (Entered::Served, _) => {
                self.waited(begun);
                Place(Some(Arc::clone(self)))
            }
            (Entered::Waits(ticket), Some(turn)) => {
                let mut waiting = Waiting {
                    admission: self,
                    ticket,
                    turn,
                    begun,
                };
                match timeout(patience, &mut waiting.turn).await {
                    Ok(Ok(place)) => place,
                    Ok(Err(_)) | Err(_) => return Err(self.refuse(QueueRefusal::Timeout)),
                }
            }
            (Entered::Waits(_) | Entered::Full, _) => {
                return Err(self.refuse(QueueRefusal::Full));
            }
        };
        Ok(Some(place))
    }

    /// Somebody has waited since then, in vain or not.
    fn waited(&self, begun: Instant) {
        self.measure(|metrics, index| metrics.queue_waited(index, begun.elapsed()));
    }

    fn refuse(&self, why: QueueRefusal) -> Error {
        let seconds = self.gate().queue.seconds(self.begun.elapsed());
        self.measure(|metrics, index| metrics.queue_refused(index, why));
        let message = match why {
            QueueRefusal::Full => format!(
                "as many requests wait for this upstream as may (queue): send the request again in {seconds} s"
            ),
            QueueRefusal::Timeout => format!(
                "the upstream had no place for this request in time (queue_timeout): send it again in {seconds} s"
            ),
        };
        Error::new(Kind::Overloaded, message).retry_after(seconds)
    }

    /// A place is free.
    fn free(self: &Arc<Self>) {
        let mut gate = self.gate();
        let next = gate.queue.ended(self.begun.elapsed());
        self.tell(&gate);
        drop(gate);
        if let Some(next) = next {
            self.hand_over(next);
        }
    }

    /// Gives a place to whoever it is the turn of, or to the next one where that one is just going away.
    fn hand_over(self: &Arc<Self>, mut next: oneshot::Sender<Place>) {
        while let Err(mut place) = next.send(Place(Some(Arc::clone(self)))) {
            // Not by dropping it, which would come here again, once for each of them.
            drop(mem::take(&mut place.0));
            let mut gate = self.gate();
            let found = gate.queue.ended(self.begun.elapsed());
            self.tell(&gate);
            drop(gate);
            match found {
                Some(found) => next = found,
                None => return,
            }
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("waiting", &self.gate().queue.len())
            .finish_non_exhaustive()
    }
}

impl super::Upstreams {
    /// Whether requests wait for their turn at some server.
    pub fn have_queues(&self) -> bool {
        self.all.iter().any(|one| one.admission.is_limited())
    }
}

impl super::Upstream {
    /// A place at the server, as soon as it is the turn of this request; `None` where all are sent that come.
    ///
    /// # Errors
    /// As many wait as may, or it takes too long.
    pub async fn admit(&self, turn: Turn) -> Result<Option<Place>, Error> {
        self.admission.enter(turn).await
    }
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut gate = self.admission.gate();
        let left = gate.queue.leave(self.ticket);
        self.admission.tell(&gate);
        drop(gate);
        drop(left);
        self.admission.waited(self.begun);
        // A place that came meanwhile goes with the receiver, and so to the next one.
    }
}

// === impl Place ===

impl Place {
    /// Whether it is one at this server.
    #[must_use]
    pub fn is_at(&self, upstream: &super::Upstream) -> bool {
        let admission = self.0.as_ref();
        admission.is_some_and(|admission| Arc::ptr_eq(admission, &upstream.admission))
    }

    /// A reply that holds the place until it has ended.
    #[must_use]
    pub fn holding(
        place: Option<&Arc<Self>>,
        reply: Response<reqwest::Body>,
    ) -> Response<reqwest::Body> {
        let Some(place) = place else {
            return reply;
        };
        let place = Some(Arc::clone(place));
        reply.map(|body| reqwest::Body::wrap(Held { body, place }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(admission) = self.0.take() {
            admission.free();
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place(…)")
    }
}

/// A server's reply, which holds its request's place.
struct Held {
    body: reqwest::Body,
    place: Option<Arc<Place>>,
}

impl Body for Held {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        // The server is done with it, whenever the client will have read it.
        if !matches!(frame, Some(Ok(_))) || self.body.is_end_stream() {
            self.place = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
