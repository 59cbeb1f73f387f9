//! The bundled worker as one more upstream: settings in; a process of this same program that is
//! started, watched, started again when it dies, and ended with the proxy, out.
//!
//! Native code runs there and not here: where it aborts, the requests that it had are told so, and
//! the next ones wait for its successor.

mod events;
mod folder;
mod machine;
mod process;
mod supervise;

pub use events::Facts;
pub use process::Launch;

use super::address::Address;
use super::client::{Client, Outgoing, Payload};
use super::quarantine::{Flight, Quarantine};
use super::{Failure, SetupError, State, Upstream, Upstreams, Why};
use crate::config::{Config, WorkerConfig};
use folder::Folder;
use http::{HeaderMap, Method};
use http_body_util::{BodyExt, Limited};
use isogloss_core::error::Error;
use isogloss_core::ir::Constraint;
use isogloss_core::rules::Identity;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use supervise::Supervisor;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the worker is called in logs and to operators.
const NAME: &str = "worker";
/// Its rule; it is pinned, since nobody else can be there.
const DIALECT: &str = "worker";
/// When a connection breaks, how long the supervisor may take to see why.
const SEEN_WITHIN: Duration = Duration::from_millis(200);
/// A burst of connections can be more than its listener holds; each time is waited as above.
const CONNECT_TRIES: u32 = 5;
/// Requests wait for what it tells of its model.
const TELLS_WITHIN: Duration = Duration::from_secs(1);
const METRICS_WITHIN: Duration = Duration::from_secs(1);
const MAX_METRICS_BYTES: usize = 1 << 20;

/// What keeps the worker running, as long as some configuration has it.
pub(super) type Supervised = Option<Arc<JoinSet<()>>>;

/// What the worker does.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// It loads its model.
    Loading {
        /// From 0 to 1, once it said so.
        progress: Option<f32>,
    },
    /// It takes requests.
    Ready(Facts),
    /// It died, and is about to be started again.
    Resting {
        /// What it died of.
        why: String,
    },
    /// It never got ready, and will not be tried again.
    GivenUp {
        /// Why, for people.
        why: String,
    },
    /// It was stopped.
    Over,
}

/// What is known of the worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerStatus {
    /// What it does.
    pub phase: Phase,
    /// How often it was started again.
    pub restarts: u64,
}

/// The worker, seen from the proxy.
#[derive(Debug, Clone)]
pub struct Worker {
    upstream: Arc<Upstream>,
    shared: Arc<Shared>,
}

/// What the supervisor, the upstream and operators have in common.
#[derive(Debug)]
pub(super) struct Shared {
    folder: Folder,
    /// The process that takes requests now.
    serves: watch::Sender<Option<u64>>,
    status: watch::Sender<WorkerStatus>,
    stop: watch::Sender<bool>,
    quarantine: Arc<Quarantine>,
    /// What the worker is in the configuration that is in force.
    in_force: Mutex<Weak<Upstream>>,
}

// === impl Shared ===

impl Shared {
    pub(super) fn new() -> io::Result<Arc<Self>> {
        let status = WorkerStatus {
            phase: Phase::Loading { progress: None },
            restarts: 0,
        };
        Ok(Arc::new(Self {
            folder: Folder::new()?,
            serves: watch::Sender::new(None),
            status: watch::Sender::new(status),
            stop: watch::Sender::new(false),
            quarantine: Arc::default(),
            in_force: Mutex::default(),
        }))
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.socket()
    }

    fn in_force(&self) -> Option<Arc<Upstream>> {
        let in_force = self.in_force.lock();
        in_force.unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    fn tell(&self, phase: Phase) {
        self.status.send_modify(|status| status.phase = phase);
    }

    fn restarted(&self) {
        self.status.send_modify(|status| status.restarts += 1);
    }

    /// Whether this process takes no more requests; its end may be seen a moment later.
    async fn is_gone(&self, generation: u64) -> bool {
        let mut serves = self.serves.subscribe();
        let gone = serves.wait_for(|serves| *serves != Some(generation));
        tokio::time::timeout(SEEN_WITHIN, gone).await.is_ok()
    }
}

// === impl Worker ===

impl Worker {
    /// The worker and the future that keeps it running. Dropping that kills it.
    pub(super) fn new(
        upstream: &Arc<Upstream>,
        shared: &Arc<Shared>,
        config: &WorkerConfig,
        launch: &Launch,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let worker = Self {
            upstream: Arc::clone(upstream),
            shared: Arc::clone(shared),
        };
        upstream.metrics.worker_up(false);
        let supervisor = Supervisor::new(
            Arc::clone(upstream),
            Arc::clone(shared),
            launch.clone(),
            config.arguments(&shared.socket()),
        );
        (worker, supervisor.run())
    }

    pub(super) const fn upstream(&self) -> &Arc<Upstream> {
        &self.upstream
    }

    /// The same worker in another configuration.
    pub(super) fn renewed(&self, upstream: &Arc<Upstream>) -> Self {
        Self {
            upstream: Arc::clone(upstream),
            shared: Arc::clone(&self.shared),
        }
    }

    /// From now on this configuration's rules say how it is asked.
    pub(super) fn is_in_force(&self) {
        let is_another = {
            let in_force = self.shared.in_force.lock();
            let mut in_force = in_force.unwrap_or_else(PoisonError::into_inner);
            let before = in_force.upgrade();
            *in_force = Arc::downgrade(&self.upstream);
            before.is_some_and(|before| !Arc::ptr_eq(&before.rules, &self.upstream.rules))
        };
        if is_another {
            self.upstream.rule_anew();
        }
    }

    /// What it does, from now on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<WorkerStatus> {
        self.shared.status.subscribe()
    }

    /// What it does.
    #[must_use]
    pub fn status(&self) -> WorkerStatus {
        self.shared.status.borrow().clone()
    }

    /// Its place among the upstreams.
    #[must_use]
    pub fn index(&self) -> usize {
        self.upstream.index()
    }

    /// Ends it, and waits until it is gone: it is asked to, and killed where it does not.
    pub async fn stop(&self) {
        self.shared.stop.send_replace(true);
        let mut status = self.watch();
        let is_over =
            |status: &WorkerStatus| matches!(status.phase, Phase::Over | Phase::GivenUp { .. });
        // The sender lives as long as this.
        let _ = status.wait_for(is_over).await;
        self.shared.folder.remove();
    }

    /// What it tells of itself in the Prometheus text format; `None` while it is down, or too
    /// busy to tell.
    pub async fn metrics(&self) -> Option<String> {
        (*self.shared.serves.borrow())?;
        let question = Outgoing {
            with_key: true,
            method: Method::GET,
            target: http::uri::PathAndQuery::from_static("/metrics"),
            headers: HeaderMap::new(),
            body: Payload::Nothing,
        };
        let ask = async {
            let request = self.upstream.request(question).ok()?;
            let reply = self.upstream.client.execute(request).await.ok()?;
            let (head, body) = reply.into_parts();
            let body = Limited::new(body, MAX_METRICS_BYTES).collect().await.ok()?;
            let text = String::from_utf8(body.to_bytes().to_vec()).ok()?;
            head.status.is_success().then_some(text)
        };
        tokio::time::timeout(METRICS_WITHIN, ask).await.ok()?
    }
}

impl Upstreams {
    /// The worker that runs, or a new one, with what keeps that running.
    pub(super) fn with_worker(
        base: impl Fn(Address, Client) -> Upstream,
        config: &Config,
        launch: &Launch,
        before: Option<&Self>,
    ) -> Result<(Arc<Upstream>, Worker, Supervised), SetupError> {
        let running = before.and_then(|before| Some((before.worker.as_ref()?, before)));
        if let Some((running, before)) = running {
            let known = running.upstream();
            let made = Upstream {
                worker: known.worker.clone(),
                ..base(known.address.clone(), known.client.clone())
            };
            let upstream = Arc::new(made.known_as(known));
            let worker = running.renewed(&upstream);
            return Ok((upstream, worker, before.supervisor.clone()));
        }
        let shared = Shared::new()?;
        let index = config.upstreams.len();
        let address = Address::of_socket(shared.socket(), Upstream::worker_name())
            .map_err(|source| SetupError::Address { index, source })?;
        let upstream = Arc::new(Upstream {
            state: Arc::new(watch::Sender::new(State::loading())),
            worker: Some(Arc::clone(&shared)),
            ..base(address, Client::of_worker(&shared.socket()))
        });
        let (worker, running) = Worker::new(&upstream, &shared, &config.worker, launch);
        let mut supervisor = JoinSet::new();
        supervisor.spawn(running);
        Ok((upstream, worker, Some(Arc::new(supervisor))))
    }
}

impl Upstream {
    /// The worker has loaded so much of its model; nobody waits for that news.
    pub(super) fn loads(&self, share: f32) {
        self.state.send_if_modified(|state| {
            state.loads(share);
            false
        });
    }

    /// What the worker is called.
    pub(super) fn worker_name() -> String {
        NAME.to_owned()
    }

    /// The state of the worker once it takes requests: who it is need not be asked, what its model writes is.
    pub(super) async fn own_state(&self) -> State {
        let told = tokio::time::timeout(TELLS_WITHIN, self.tells(DIALECT)).await;
        let identity = told.ok().flatten().unwrap_or_else(|| Identity {
            dialect: DIALECT.to_owned(),
            version: None,
            facts: Vec::new(),
            markup: None,
        });
        match self.rules.rule_of(&identity) {
            Some(rule) => State::ready(identity, rule),
            None => State::no_rule(DIALECT),
        }
    }

    /// Notes that a request goes to this server, if it is the worker.
    ///
    /// # Errors
    /// The worker died twice of these constraints.
    pub fn enter(
        &self,
        constraints: impl FnOnce() -> Vec<(String, Constraint)>,
    ) -> Result<Option<Flight>, Error> {
        let worker = self.worker.as_ref();
        let flight = worker.map(|shared| shared.quarantine.enter(&constraints()));
        flight.transpose()
    }

    /// Sends a request to the worker. Only its supervisor says whether it can be used.
    pub(super) async fn send_to_worker(
        &self,
        shared: &Shared,
        outgoing: Outgoing,
    ) -> Result<http::Response<reqwest::Body>, Failure> {
        let Some(generation) = *shared.serves.borrow() else {
            return Err(Failure::of(Why::Restarting));
        };
        if shared.quarantine.is_suspect(generation) {
            // While a dying process is taken apart its socket may take connections still, and
            // requests on them would be lost with those that it died of.
            if shared.is_gone(generation).await {
                return Err(Failure::of(Why::Restarting));
            }
            shared.quarantine.trust();
        }
        let mut outgoing = outgoing;
        let mut left = CONNECT_TRIES;
        loop {
            left -= 1;
            let again = outgoing.again();
            let failure = match self.client.execute(self.request(outgoing)?).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            if failure.why == Why::Reset {
                shared.quarantine.suspect(generation);
                return Err(Failure::of(shared.quarantine.lost(generation)));
            }
            if !failure.why.is_connect() {
                return Err(failure);
            }
            if shared.is_gone(generation).await {
                return Err(Failure::of(Why::Restarting));
            }
            outgoing = match again {
                Some(again) if left > 0 => again,
                _ => return Err(failure),
            };
        }
    }
}
