//! The data listener: the tower stack and the exchange over HTTP.

mod account;
mod admit;
mod body;
mod body_limit;
mod check;
mod headers;
mod pass;
mod peek;
mod redacted;
mod relay;
mod request_id;
mod rescue;
mod route;
mod serve;
mod shutdown;
mod spans;
mod stack;
mod timed_io;

pub use serve::serve;

use crate::config::Config;
use crate::telemetry::Metrics;
use crate::upstream::{Launch, SetupError, Upstreams};
use isogloss_compile::Compiler;
use isogloss_core::rules::RuleSet;
use shutdown::Shutdown;
use std::sync::Arc;

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    config: Config,
    upstreams: Upstreams,
    compiler: Compiler,
    metrics: Arc<Metrics>,
    shutdown: Shutdown,
}

impl App {
    /// Builds the proxy and starts to identify the upstreams. Needs a runtime.
    ///
    /// # Errors
    /// An upstream that cannot be set up.
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
        config: Config,
        rules: &Arc<RuleSet>,
        compiler: Compiler,
        metrics: Arc<Metrics>,
        launch: &Launch,
    ) -> Result<Arc<Self>, SetupError> {
        let upstreams = Upstreams::launching(&config, rules, &metrics, launch)?;
        Ok(Arc::new(Self {
            config,
            upstreams,
            compiler,
            metrics,
            shutdown: Shutdown::new(),
        }))
    }

    /// The servers, for the admin port: readiness and status.
    #[must_use]
    pub const fn upstreams(&self) -> &Upstreams {
        &self.upstreams
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
            upstreams: Vec::new(),
            rules: None,
            on_violation: crate::config::OnViolation::Reject,
            violation_retries: 0,
            repair: isogloss_core::ir::Repair::Types,
            unverified: crate::config::Unverified::Refuse,
            probe: isogloss_core::probe::Depth::Off,
            limits: crate::config::Limits::default(),
            timeouts: crate::config::Timeouts::default(),
            log_json: false,
            otlp_endpoint: None,
            worker: crate::config::WorkerConfig::default(),
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
