//! The data listener: the tower stack and the exchange over HTTP.

mod account;
mod admit;
mod body;
mod body_limit;
mod chat;
mod first_bytes;
mod headers;
mod pass;
mod request_id;
mod rescue;
mod route;
mod serve;
mod shutdown;
mod stack;

pub use serve::serve;

use crate::compile::Compiler;
use crate::config::Config;
use crate::telemetry::Metrics;
use crate::upstream::{Recognise, SetupError, Upstreams};
use shutdown::Shutdown;
use std::sync::Arc;

/// Everything that requests share.
#[derive(Debug)]
pub struct App {
    config: Config,
    upstreams: Upstreams,
    compiler: Arc<Compiler>,
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
        dialects: &Arc<dyn Recognise>,
        compiler: Arc<Compiler>,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, SetupError> {
        let upstreams = Upstreams::start(&config, dialects, &metrics)?;
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
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::upstream::{Answer, Identity};

    #[derive(Debug)]
    struct Nobody;

    impl Recognise for Nobody {
        fn paths(&self) -> Vec<String> {
            Vec::new()
        }

        fn recognise(&self, _answers: &[Answer]) -> Identity {
            Identity {
                dialect: "plain".to_owned(),
                version: None,
            }
        }

        fn rule(&self, identity: &Identity) -> Result<Arc<crate::rules::Rule>, String> {
            Err(format!("no rule for {}", identity.dialect))
        }
    }

    /// A proxy that has no upstream.
    pub(super) fn app() -> Arc<App> {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            admin: ([127, 0, 0, 1], 0).into(),
            upstreams: Vec::new(),
            rules: None,
            on_violation: crate::config::OnViolation::Reject,
            violation_retries: 0,
            limits: crate::config::Limits::default(),
            timeouts: crate::config::Timeouts::default(),
            log_json: false,
        };
        let dialects: Arc<dyn Recognise> = Arc::new(Nobody);
        let metrics = Arc::new(Metrics::new([]));
        App::new(config, &dialects, Arc::default(), metrics).unwrap()
    }
}
