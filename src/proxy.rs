//! The data listener: the tower stack and the exchange over HTTP.

mod access;
mod account;
mod admit;
mod body;
mod body_limit;
mod body_pace;
mod bucket;
mod budget;
mod busy;
mod check;
mod connections;
mod count;
mod headers;
mod house;
mod kept;
mod local;
mod meter;
mod models;
mod origins;
mod pass;
mod peek;
mod redacted;
mod relay;
mod request_id;
mod rescue;
mod results;
mod room;
mod route;
mod seek;
mod serve;
mod shutdown;
mod silence;
mod socket;
mod spans;
mod stack;
mod strict_io;
mod timed_io;
mod turn;
mod version;

pub use house::{House, Renewed};
pub use local::{Reply, ask, post};
pub use serve::serve;

use crate::config::{Config, JsonSpace};
use crate::journal::Journal;
use crate::store::{Shelf, StoreError};
use crate::telemetry::Metrics;
use crate::tls::{HTTP1, HTTP2, Peers, Tls, TlsError};
use crate::upstream::{Launch, Upstreams};
use admit::Places;
use budget::Budget;
use connections::Connections;
use isogloss_compile::Compiler;
use isogloss_core::exchange::Options;
use isogloss_core::ir::Seal;
use isogloss_core::rules::RuleSet;
use room::Room;
pub use shutdown::Leaving;
use shutdown::Shutdown;
use std::sync::{Arc, Weak};
use tokio::sync::Semaphore;

/// Everything that requests share which begin under one configuration. What does not come from that, the next one's
/// shares too.
#[derive(Debug)]
pub struct App {
    config: Config,
    rules: Arc<RuleSet>,
    upstreams: Upstreams,
    compiler: Compiler,
    metrics: Arc<Metrics>,
    /// Where replies are kept, if they are.
    shelf: Arc<Shelf>,
    /// Signs thoughts that no server signs.
    seal: Seal,
    /// Room for bytes.
    budget: Arc<Budget>,
    /// Where clients are served in TLS.
    tls: Option<Arc<Tls>>,
    /// Who may ask.
    clients: Arc<access::Clients>,
    /// Room for requests at once.
    places: Places,
    /// Room for long work at once that threads of the proxy's own do: one for each processor.
    long_work: Arc<Semaphore>,
    /// Room for WebSockets: as much again.
    sockets: Arc<Room>,
    /// Room for connections.
    connections: Arc<Connections>,
    /// What became of the last requests.
    journal: Arc<Journal>,
    shutdown: Arc<Shutdown>,
    /// Where the configuration that is in force is found.
    house: Weak<House>,
}

/// How many may work at once.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Why the proxy cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A server that cannot be.
    #[error(transparent)]
    Upstream(#[from] crate::upstream::SetupError),
    /// None is left.
    #[error(
        "there is no upstream to send requests to: name one, or start anew with the built-in model"
    )]
    NoUpstream,
    /// TLS towards clients cannot be spoken.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Replies cannot be kept where they are to be.
    #[error("responses.store")]
    Store(#[from] StoreError),
}

/// What clients of TLS connect to; its files are read.
fn door(config: &Config) -> Result<Option<Tls>, TlsError> {
    let tls = config.tls();
    let tls = tls.map(|files| Tls::new(&files, Peers::Known, &[HTTP2, HTTP1]));
    tls.transpose()
}

/// Whether clients could connect over TLS, where they are to.
pub(crate) fn check_tls(config: &Config) -> Result<(), TlsError> {
    door(config).map(drop)
}

impl App {
    fn new(
        mut config: Config,
        rules: &Arc<RuleSet>,
        compiler: Compiler,
        metrics: Arc<Metrics>,
        launch: &Launch,
    ) -> Result<Self, SetupError> {
        budget::fit(&mut config.limits);
        let kept = &config.responses;
        let shelf = Shelf::new(kept, config.limits.concurrency, &metrics)?;
        let upstreams = Upstreams::launching(&config, rules, &metrics, launch, None)?;
        let tls = door(&config)?;
        let seal = match &config.thinking_key {
            Some(secret) => Seal::of_secret(secret.expose()),
            None => Seal::new(request_id::random().to_ne_bytes()),
        };
        let limits = &config.limits;
        let connections = Connections::new(
            limits.connections,
            limits.client_connections,
            Arc::clone(&metrics),
        );
        upstreams.take_over(None);
        Ok(Self {
            seal,
            budget: Budget::new(limits.memory_budget, Arc::clone(&metrics)),
            places: Places::new(places(&config)),
            long_work: Arc::new(Semaphore::new(processors())),
            sockets: Room::new(limits.concurrency),
            connections: Arc::new(connections),
            clients: Arc::new(access::Clients::new(&config.clients)),
            tls: tls.map(Arc::new),
            journal: Arc::new(Journal::new(config.record)),
            rules: Arc::clone(rules),
            config,
            upstreams,
            compiler,
            metrics,
            shelf: Arc::new(shelf),
            shutdown: Arc::new(Shutdown::new()),
            house: Weak::new(),
        })
    }

    /// The same proxy by another configuration. It is not in force before it has taken over.
    fn renewed(&self, mut config: Config, rules: &Arc<RuleSet>) -> Result<Self, SetupError> {
        budget::fit(&mut config.limits);
        let launch = Launch::this_program();
        let before = Some(&self.upstreams);
        let upstreams = Upstreams::launching(&config, rules, &self.metrics, &launch, before)?;
        let seal = match (&config.thinking_key, &self.config.thinking_key) {
            (None, None) => self.seal,
            (Some(secret), _) => Seal::of_secret(secret.expose()),
            (None, Some(_)) => Seal::new(request_id::random().to_ne_bytes()),
        };
        Ok(Self {
            seal,
            clients: Arc::new(self.clients.renewed(&config.clients)),
            // What was planned was planned by the configuration before.
            compiler: self.compiler.with_no_plans(),
            config,
            upstreams,
            metrics: Arc::clone(&self.metrics),
            shelf: Arc::clone(&self.shelf),
            budget: Arc::clone(&self.budget),
            tls: self.tls.clone(),
            places: self.places.clone(),
            long_work: Arc::clone(&self.long_work),
            sockets: Arc::clone(&self.sockets),
            journal: Arc::clone(&self.journal),
            rules: Arc::clone(rules),
            connections: Arc::clone(&self.connections),
            shutdown: Arc::clone(&self.shutdown),
            house: Weak::clone(&self.house),
        })
    }

    /// From now on new requests are served by this configuration.
    fn take_over(&self, before: &Self) {
        let limits = &self.config.limits;
        self.places.set(places(&self.config));
        self.sockets.set(limits.concurrency);
        self.connections
            .set(limits.connections, limits.client_connections);
        self.upstreams.take_over(Some(&before.upstreams));
    }

    /// What a request that begins now is served by.
    fn in_force(self: &Arc<Self>) -> Arc<Self> {
        let house = self.house.upgrade();
        house.map_or_else(|| Arc::clone(self), |house| house.app())
    }

    /// How servers take structured output.
    #[must_use]
    pub const fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }

    /// How it is configured.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The servers, for the admin port: readiness and status.
    #[must_use]
    pub const fn upstreams(&self) -> &Upstreams {
        &self.upstreams
    }

    /// What became of the last requests, for the admin port.
    #[must_use]
    pub const fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Where clients of this machine ask, for the admin port.
    #[must_use]
    pub fn address(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let listen = self.config.listen;
        match listen.ip().is_unspecified() {
            true => format!("{scheme}://localhost:{}", listen.port()),
            false => format!("{scheme}://{listen}"),
        }
    }

    /// What constraints are compiled with, for the admin port.
    #[must_use]
    pub const fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// What requests are planned with.
    fn options(&self) -> Options<'_> {
        Options {
            memo: self.compiler.memo(),
            is_compact: self.config.worker.whitespace == JsonSpace::Compact,
            seal: self.seal,
        }
    }

    /// Whether new requests are still welcome: false as soon as a shutdown began.
    #[must_use]
    pub fn is_accepting(&self) -> bool {
        !self.shutdown.has_begun()
    }

    /// Tells clients, for as long as what is returned lives, to open another connection for their next request.
    #[must_use]
    pub fn leave(&self) -> Leaving {
        Leaving::new(&self.shutdown)
    }
}

/// Room for requests at once: who waits for a turn at an upstream is one more.
fn places(config: &Config) -> usize {
    let waiting = config.upstreams.iter().map(|one| one.queue.room());
    waiting.fold(config.limits.concurrency, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use isogloss_compile::CompilerLimits;

    /// A proxy that has no upstream.
    pub(super) fn house() -> Arc<House> {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            admin: ([127, 0, 0, 1], 0).into(),
            ..Config::default()
        };
        let rules = Arc::new(RuleSet::builtin());
        let metrics = Arc::new(Metrics::new([]));
        House::new(
            config,
            &rules,
            Compiler::new(CompilerLimits::default()),
            metrics,
        )
        .unwrap()
    }
}
