//! The proxy that runs, and the configuration that is in force: a request gets what is in force when it comes, and
//! keeps that until its reply has ended, whatever comes meanwhile.

use super::seek::{self, Plan};
use super::{App, SetupError};
use crate::config::Config;
use crate::telemetry::Metrics;
use crate::upstream::{Launch, NameStatus, Names};
use http::{Request, Response};
use isogloss_compile::Compiler;
use isogloss_core::rules::RuleSet;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::util::Oneshot;
use tower::{Service, ServiceExt as _};

/// A proxy, whichever configuration is in force.
#[derive(Debug)]
pub struct House {
    app: watch::Sender<Arc<App>>,
    /// What all that is in force comes from. Whoever puts another in force has it meanwhile.
    pub(super) plan: Mutex<Plan>,
    /// There are other names to be asked for.
    replanned: Arc<Notify>,
    names: watch::Sender<Vec<NameStatus>>,
    /// Who asks for them. Dropping it ends that.
    _seeking: JoinSet<()>,
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
        let plan = Plan::new(config, rules, Instant::now());
        let mut app = App::new(plan.expanded(), rules, compiler, metrics, launch)?;
        let house = Arc::new_cyclic(|house| {
            app.house = Weak::clone(house);
            let mut seeking = JoinSet::new();
            let replanned = Arc::new(Notify::new());
            seeking.spawn(seek::seek(Weak::clone(house), Arc::clone(&replanned)));
            Self {
                app: watch::Sender::new(Arc::new(app)),
                names: watch::Sender::new(plan.names.status()),
                plan: Mutex::new(plan),
                replanned,
                _seeking: seeking,
            }
        });
        house.replanned.notify_one();
        Ok(house)
    }

    /// What a request that begins now is served by.
    #[must_use]
    pub fn app(&self) -> Arc<App> {
        Arc::clone(&self.app.borrow())
    }

    /// The names that stand for several servers.
    #[must_use]
    pub fn names(&self) -> Vec<NameStatus> {
        self.names.borrow().clone()
    }

    /// Waits until DNS was asked once for each name, for as long as for a server that is loading: who asks before that would
    /// be served by what was there before.
    pub async fn named(&self) {
        let is_asked = |one: &NameStatus| one.servers > 0 || one.trouble.is_some();
        let are_asked = |all: &Vec<NameStatus>| all.iter().all(is_asked);
        if are_asked(&self.names.borrow()) {
            return;
        }
        let mut names = self.names.subscribe();
        let patience = self.app().config.timeouts.loading;
        let _as_long_as_may_be = tokio::time::timeout(patience, names.wait_for(are_asked)).await;
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
        let mut plan = self.plan.lock().await;
        let needs_restart = config.keep_fixed(&self.app().config);
        if config.upstreams.is_empty() && config.worker.model.is_none() {
            return Err(SetupError::NoUpstream);
        }
        let patience = config.timeouts.loading;
        let mut next = plan.followed_by(config, rules, Instant::now());
        next.ask(&self.app().metrics).await;
        let (upstreams, kept) = self.put_in_force(&next, patience).await?;
        *plan = next;
        self.tell_of(&plan.names);
        self.replanned.notify_one();
        Ok(Renewed {
            upstreams,
            kept,
            needs_restart,
        })
    }

    /// Operators are told of these names from now on.
    pub(super) fn tell_of(&self, names: &Names) {
        let told = names.status();
        let before = self.names.send_replace(told.clone());
        let metrics = &self.app().metrics;
        let is_gone = |one: &NameStatus| !told.iter().any(|other| other.name == one.name);
        for gone in before.iter().filter(|one| is_gone(one)) {
            metrics.name_stands_for(&gone.name, 0, false);
        }
        for one in &told {
            metrics.name_stands_for(&one.name, one.servers, one.trouble.is_some());
        }
    }

    /// From now on requests are served by this plan: how many upstreams there are, and how many there were before.
    pub(super) async fn put_in_force(
        &self,
        plan: &Plan,
        patience: Duration,
    ) -> Result<(usize, usize), SetupError> {
        let before = self.app();
        let app = Arc::new(before.renewed(plan.expanded(), &plan.rules)?);
        app.upstreams.looked_at(patience).await;
        app.take_over(&before);
        let counts = (
            app.upstreams.count(),
            app.upstreams.known_from(&before.upstreams),
        );
        self.app.send_replace(app);
        Ok(counts)
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
