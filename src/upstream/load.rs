//! What is measured of a server while requests run: a request's time and outcome in, its load and health out. The
//! measure of a request lives as long as its reply's body.

use super::balance::{Load, PENALTY, Seen};
use super::circuit::{CircuitStatus, Circuits};
use super::{Failure, State, Upstream};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use isogloss_core::error::Kind;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// Of a model's name, in the log.
const MAX_MODEL_CHARS: usize = 128;

/// What was measured of one server.
#[derive(Debug, Default)]
pub(super) struct Health {
    load: Load,
    circuits: Circuits,
}

/// A request that a server has. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Measured {
    health: Arc<Mutex<Health>>,
    begun: Instant,
}

/// The body of a reply that is measured to its end.
struct MeasuredBody {
    inner: reqwest::Body,
    measured: Option<Measured>,
}

fn locked(health: &Mutex<Health>) -> MutexGuard<'_, Health> {
    health.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Upstream {
    pub(super) fn begin(&self) -> Measured {
        locked(&self.health).load.begin();
        Measured {
            health: Arc::clone(&self.health),
            begun: Instant::now(),
        }
    }

    /// What it is chosen by.
    pub(super) fn seen(&self, now: Instant) -> Seen {
        // Who waits for it is before a new one, too.
        let waiting = u32::try_from(self.admission.waiting()).unwrap_or(u32::MAX);
        locked(&self.health).load.seen(self.weight, waiting, now)
    }

    /// Whether it is put aside for a model.
    pub(super) fn is_aside(&self, model: &str, now: Instant) -> bool {
        locked(&self.health).circuits.is_open(model, now)
    }

    /// The requests whose replies have not ended, where there are several servers.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        locked(&self.health).load.in_flight()
    }

    /// The models that failed since their last good reply.
    #[must_use]
    pub fn circuits(&self) -> Vec<CircuitStatus> {
        locked(&self.health).circuits.told(Instant::now())
    }

    /// Whether it is put aside, for each model that it lists of those; the others together are `other`.
    #[must_use]
    pub fn circuits_open(&self) -> BTreeMap<String, bool> {
        let mut all = BTreeMap::new();
        for circuit in self.circuits() {
            let is_known = self.names_it(&circuit.model);
            let model = if is_known {
                circuit.model
            } else {
                "other".to_owned()
            };
            *all.entry(model).or_default() |= circuit.state == "open";
        }
        all
    }

    /// It answered a request for this model as it should.
    pub fn succeeded(&self, model: &str) {
        if self.is_one_of_several {
            locked(&self.health).circuits.succeeded(model);
        }
    }

    /// It failed with a request for this model, and may have said for how long it is not to be asked, in seconds.
    pub fn faltered(&self, model: &str, kind: Kind, retry_after: Option<u64>) {
        if !self.is_one_of_several {
            return;
        }
        let told = retry_after.map(Duration::from_secs);
        let now = Instant::now();
        let aside = locked(&self.health).circuits.failed(model, told, now);
        if let Some(time) = aside {
            let (upstream, name) = (self.name(), self.given_name());
            let (code, seconds) = (kind.code(), time.as_secs());
            // A client's word.
            let model: String = model
                .chars()
                .filter(|letter| !letter.is_control())
                .take(MAX_MODEL_CHARS)
                .collect();
            tracing::warn!(parent: None, upstream, name, model, code, seconds, "upstream is put aside for a model that fails there");
            if let Some(index) = self.shown() {
                self.metrics.upstream_put_aside(index);
            }
        }
    }

    /// It can be used again, and may be another server with other models.
    pub(super) fn came_back(&self) {
        if matches!(*self.state.borrow(), State::Down { .. }) {
            self.models
                .send_if_modified(|models| models.note(std::iter::empty()));
        }
        let mut health = locked(&self.health);
        health.load.came_back(Instant::now());
        health.circuits.forget();
    }
}

impl Measured {
    /// The reply began, or none came: how long that took is known.
    pub(super) fn answered(
        self,
        sent: Result<http::Response<reqwest::Body>, Failure>,
    ) -> Result<http::Response<reqwest::Body>, Failure> {
        let took = self.begun.elapsed();
        let is_good = (sent.as_ref()).is_ok_and(|reply| {
            let status = reply.status().as_u16();
            status < 500 && status != 429
        });
        let counted = if is_good { took } else { took.max(PENALTY) };
        locked(&self.health).load.took(counted, Instant::now());
        let reply = sent?;
        let measured = Some(self);
        Ok(reply.map(|inner| reqwest::Body::wrap(MeasuredBody { inner, measured })))
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        locked(&self.health).load.end();
    }
}

impl Body for MeasuredBody {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) || this.inner.is_end_stream() {
            this.measured = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
