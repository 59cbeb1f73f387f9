//! The proxy that runs, and the configuration that is in force: a request gets what is in force when it comes, and
//! keeps that until its reply has ended, whatever comes meanwhile.

use super::{App, SetupError};
use crate::config::Config;
use crate::telemetry::Metrics;
use crate::upstream::Launch;
use http::{Request, Response};
use isogloss_compile::Compiler;
use isogloss_core::rules::RuleSet;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use tokio::sync::watch;
use tower::util::Oneshot;
use tower::{Service, ServiceExt as _};

/// A proxy, whichever configuration is in force.
#[derive(Debug)]
pub struct House {
    app: watch::Sender<Arc<App>>,
}

/// What another configuration changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewed {
    /// How many upstreams there are now, with the worker.
    pub upstreams: usize,
    /// How many of them there were before.
    pub kept: usize,
    /// What was set anew and cannot change while the proxy runs, by its key.
    pub needs_restart: Vec<&'static str>,
}

impl House {
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
        config: Config,
        rules: &Arc<RuleSet>,
        compiler: Compiler,
        metrics: Arc<Metrics>,
        launch: &Launch,
    ) -> Result<Arc<Self>, SetupError> {
        let mut app = App::new(config, rules, compiler, metrics, launch)?;
        Ok(Arc::new_cyclic(|house| {
            app.house = Weak::clone(house);
            Self {
                app: watch::Sender::new(Arc::new(app)),
            }
        }))
    }

    /// What a request that begins now is served by.
    #[must_use]
    pub fn app(&self) -> Arc<App> {
        Arc::clone(&self.app.borrow())
    }

    /// Puts another configuration in force, as soon as its new upstreams were looked at, or took longer than
    /// `timeouts.loading`. What cannot change stays as it was.
    ///
    /// # Errors
    /// An upstream that cannot be set up: all stays as it was.
    pub async fn renew(
        &self,
        mut config: Config,
        rules: &Arc<RuleSet>,
    ) -> Result<Renewed, SetupError> {
        let before = self.app();
        let needs_restart = config.keep_fixed(&before.config);
        if config.upstreams.is_empty() && config.worker.model.is_none() {
            return Err(SetupError::NoUpstream);
        }
        let patience = config.timeouts.loading;
        let app = Arc::new(before.renewed(config, rules)?);
        app.upstreams.looked_at(patience).await;
        app.take_over(&before);
        let renewed = Renewed {
            upstreams: app.upstreams.count(),
            kept: app.upstreams.known_from(&before.upstreams),
            needs_restart,
        };
        self.app.send_replace(app);
        Ok(renewed)
    }
}

/// A service that each request gets anew, of what is in force when it comes.
#[derive(Debug, Clone)]
pub(super) struct Newest<F> {
    house: Arc<House>,
    service: F,
}

impl<F> Newest<F> {
    pub(super) const fn new(house: Arc<House>, service: F) -> Self {
        Self { house, service }
    }
}

impl<F, S, B, R> Service<Request<B>> for Newest<F>
where
    F: Fn(&Arc<App>) -> S,
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
{
    type Response = Response<R>;
    type Error = Infallible;
    type Future = Oneshot<S, Request<B>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        (self.service)(&self.house.app()).oneshot(request)
    }
}
