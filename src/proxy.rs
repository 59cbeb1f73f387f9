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
mod framing;
mod headers;
mod inside;
mod kept;
mod meter;
mod models;
mod pass;
mod peek;
mod redacted;
mod relay;
mod request_id;
mod rescue;
mod route;
mod serve;
mod shutdown;
mod silence;
mod socket;
mod spans;
mod stack;
mod strict_io;
mod timed_io;
mod version;

pub use framing::{Fault, Framing, REFUSED};
pub use inside::{AskError, ask};
pub use serve::serve;

use crate::config::{Config, JsonSpace};
use crate::journal::Journal;
use crate::store::{Store, StoreError};
use crate::telemetry::Metrics;
use crate::tls::{HTTP1, HTTP2, Peers, Tls, TlsError};
use crate::upstream::{Launch, Upstreams};
use admit::Places;
use budget::Budget;
use isogloss_compile::Compiler;
use isogloss_core::exchange::Options;
use isogloss_core::ir::Seal;
use isogloss_core::rules::RuleSet;
use shutdown::Shutdown;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    config: Config,
    upstreams: Upstreams,
    compiler: Compiler,
    metrics: Arc<Metrics>,
    /// Where replies are kept, if they are.
    store: Option<Arc<Store>>,
    /// Signs thoughts that no server signs.
    seal: Seal,
    /// Room for bytes.
    budget: Arc<Budget>,
    /// Where clients are served in TLS.
    tls: Option<Tls>,
    /// Who may ask.
    clients: Arc<access::Clients>,
    /// Room for requests at once.
    places: Places,
    /// Room for WebSockets: as much again.
    sockets: Arc<Semaphore>,
    /// What became of the last requests.
    journal: Arc<Journal>,
    shutdown: Shutdown,
}

/// Why the proxy cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A server that cannot be.
    #[error(transparent)]
    Upstream(#[from] crate::upstream::SetupError),
    /// TLS towards clients cannot be spoken.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Replies cannot be kept where they are to be.
    #[error("responses.store")]
    Store(#[from] StoreError),
}

impl App {
    /// Builds the proxy and starts to identify the upstreams. Needs a runtime.
    ///
    /// # Errors
    /// An upstream, or a store, that cannot be set up.
    pub fn new(
        config: Config,
        rules: &Arc<RuleSet>,
        compiler: Compiler,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, SetupError> {
        Self::launching(config, rules, compiler, metrics, &Launch::this_program())
    }

    /// The same, where another program becomes the worker.
    ///
    /// # Errors
    /// As above.
    pub fn launching(
        mut config: Config,
        rules: &Arc<RuleSet>,
        compiler: Compiler,
        metrics: Arc<Metrics>,
        launch: &Launch,
    ) -> Result<Arc<Self>, SetupError> {
        budget::fit(&mut config.limits);
        let kept = &config.responses;
        let open = |place| Store::open(place, kept, config.limits.concurrency, &metrics);
        let store = kept.store.as_ref().map(open).transpose()?.map(Arc::new);
        let upstreams = Upstreams::launching(&config, rules, &metrics, launch)?;
        let tls = config.tls();
        let tls = tls.map(|files| Tls::new(&files, Peers::Known, &[HTTP2, HTTP1]));
        let seal = match &config.thinking_key {
            Some(secret) => Seal::of_secret(secret.expose()),
            None => Seal::new(request_id::random().to_ne_bytes()),
        };
        Ok(Arc::new(Self {
            seal,
            budget: Budget::new(config.limits.memory_budget, Arc::clone(&metrics)),
            places: Places::new(config.limits.concurrency),
            sockets: Arc::new(Semaphore::new(config.limits.concurrency)),
            clients: Arc::new(access::Clients::new(&config.clients)),
            tls: tls.transpose()?,
            journal: Arc::new(Journal::new(config.record)),
            config,
            upstreams,
            compiler,
            metrics,
            store,
            shutdown: Shutdown::new(),
        }))
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
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use isogloss_compile::CompilerLimits;

    /// A proxy that has no upstream.
    pub(super) fn app() -> Arc<App> {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            admin: ([127, 0, 0, 1], 0).into(),
            ..Config::default()
        };
        let rules = Arc::new(RuleSet::builtin());
        let metrics = Arc::new(Metrics::new([]));
        App::new(
            config,
            &rules,
            Compiler::new(CompilerLimits::default()),
            metrics,
        )
        .unwrap()
    }
}
