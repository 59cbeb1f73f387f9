//! The search for a server: how it ended at one of them in, whether and what the next one is asked out.

use super::{Failed, Planned, Relay, work};
use crate::config::Affinity;
use crate::proxy::App;
use crate::proxy::account::Record;
use crate::upstream::{Failure, Target, Upstream, Upstreams, Wanted, affinity};
use isogloss_compile::Known;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::Demand;
use isogloss_core::ir::Strategy;
use isogloss_core::rules::Rule;
use std::sync::Arc;

/// A request on its way from one server to the next.
pub(in crate::proxy) struct Search {
    /// The model that is asked for now.
    pub(super) model: String,
    /// All that were.
    pub(super) seen: Vec<String>,
    pub(super) has_fallen_back: bool,
    key: Option<u64>,
    /// The servers that failed with this model, or cannot be sent the request.
    tried: Vec<usize>,
    /// What the last of them failed with.
    failed: Option<Failed>,
    /// The last failure is not counted yet.
    has_failed: bool,
    /// Why the first of them cannot be sent the request.
    refused: Option<Error>,
    /// Why a server was not reached that can be sent it, or whose model another is asked for instead of.
    unreached: Option<Error>,
}

impl Search {
    pub(in crate::proxy) fn new(model: &str, key: Option<u64>) -> Self {
        Self {
            model: model.to_owned(),
            seen: vec![model.to_owned()],
            has_fallen_back: false,
            key,
            tried: Vec::new(),
            failed: None,
            has_failed: false,
            refused: None,
            unreached: None,
        }
    }

    pub(in crate::proxy) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            model: &self.model,
            key: self.key,
            tried: &self.tried,
        }
    }

    /// What the server calls the model, where that is not what the client wrote.
    pub(super) fn name_at(&self, target: &Target, written: &str) -> Option<Arc<str>> {
        let own = target.model.clone();
        own.or_else(|| self.has_fallen_back.then(|| Arc::from(self.model.as_str())))
            .filter(|name| **name != *written)
    }

    /// Another model is asked for.
    pub(super) fn fall_back(&mut self, model: String) {
        self.seen.push(model.clone());
        self.model = model;
        self.has_fallen_back = true;
        self.tried.clear();
    }

    /// A server is not asked: as many wait for it as may.
    pub(super) fn passes_over(&mut self, upstream: &Upstream, error: Error) {
        self.tried.push(upstream.index());
        self.failed = Some(error.into());
    }

    /// A server cannot be sent the request, nor can those that go by the same rule; whether this is what is told, as far as is known.
    pub(in crate::proxy) fn refuses(
        &mut self,
        upstreams: &Upstreams,
        upstream: &Upstream,
        rule: &Arc<Rule>,
        error: &Error,
    ) -> bool {
        self.tried.extend(upstreams.alike(rule, &self.model));
        self.tried.push(upstream.index());
        // Else there is another answer.
        let is_told = self.failed.is_none() && self.refused.is_none();
        if is_told {
            self.refused = Some(error.clone());
        }
        is_told
    }

    /// What a server failed with, where another is asked.
    pub(in crate::proxy) fn fails(&mut self, failed: Failed) {
        self.failed = Some(failed);
        self.has_failed = true;
    }

    /// What the client gets where nobody else can be asked: before what is wrong with its request for one server, that another
    /// failed at it.
    pub(in crate::proxy) fn answer(&mut self, error: Error) -> Failed {
        if let Some(failed) = self.failed.take() {
            return failed;
        }
        let error = match self.refused.take() {
            Some(refused) => self.unreached.take().unwrap_or(refused),
            None => error,
        };
        error.into()
    }

    /// The failure after which nothing may be sent again.
    pub(in crate::proxy) fn is_spent(&mut self, app: &App) -> Option<Failed> {
        if !self.has_failed || app.upstreams.may_send_again() {
            return None;
        }
        app.metrics.limit_hit("retry_budget");
        self.failed.take()
    }

    /// Counts that another server is sent what one failed at.
    pub(in crate::proxy) fn fails_over(&mut self, app: &App, record: &Record) {
        if !std::mem::take(&mut self.has_failed) {
            return;
        }
        if let Some(failed) = &self.failed {
            app.metrics.upstream_failed(failed.error.kind);
        }
        retried(app, record, "failover");
    }

    /// A server failed: whether another may be asked. Nothing of a reply has gone to the client.
    pub(in crate::proxy) fn goes_on(&mut self, upstream: &Upstream, error: &Error) -> bool {
        if !is_the_servers(upstream, error) {
            // Whatever is wrong with the request, the server said so as it should.
            return false;
        }
        if error.kind == Kind::ModelNotFound {
            // What it lists is old news.
            upstream.doubt();
        }
        upstream.faltered(&self.model, error.kind, error.retry_after);
        self.tried.push(upstream.index());
        true
    }
}

/// Counts that a request is sent again, and why.
fn retried(app: &App, record: &Record, why: &'static str) {
    app.metrics.retry(why);
    record.retried(why);
}

impl Relay<'_> {
    /// Whether another model may be asked for instead, where no server of this one can be used.
    pub(super) fn falls_back(&self, search: &mut Search, error: &Error) -> bool {
        let is_met = search.failed.is_some() || search.unreached.is_some();
        if search.refused.is_some() && !is_met {
            // It is the request that is at fault.
            return false;
        }
        let seen = search.seen.iter();
        let mut others = seen.flat_map(|model| self.app.upstreams.fallbacks(model));
        let may =
            |name: &String| !search.seen.contains(name) && self.record.check_model(name).is_ok();
        match others.find(may) {
            Some(name) => {
                search.unreached.get_or_insert_with(|| error.clone());
                search.fall_back(name);
                true
            }
            None => false,
        }
    }

    /// The request as this server is sent it.
    ///
    /// # Errors
    /// It cannot be, for which it is passed over; another may.
    pub(super) async fn planned(
        &self,
        search: &mut Search,
        target: Target,
        other: Option<&str>,
        known: Option<&Known>,
        read: &mut Option<Demand>,
    ) -> Result<Planned, Error> {
        let (upstream, rule) = (Arc::clone(&target.upstream), Arc::clone(&target.rule));
        let planned = match other {
            Some(other) => self.renamed(other, target).await,
            None => self.as_it_is(known, read, target).await,
        };
        if let Err(error) = &planned {
            if search.refuses(&self.app.upstreams, &upstream, &rule, error) {
                self.goes_to(&upstream, other);
            }
        } else {
            self.goes_to(&upstream, other);
            search.fails_over(self.app, self.record);
        }
        planned
    }

    /// Tells which server is asked, and for which model where that is not the client's word.
    pub(super) fn goes_to(&self, upstream: &Upstream, other: Option<&str>) {
        self.record.upstream(upstream);
        if self.app.upstreams.count() > 1 {
            self.record.answered_by(&upstream.label(), other);
        }
    }

    /// Counts that no connection was made, and that the request is sent again.
    pub(super) fn reconnects(&self, search: &mut Search, failure: Failure) {
        let error = Error::from(failure);
        self.app.metrics.upstream_failed(error.kind);
        search.unreached = Some(error);
        self.retries("connect");
    }

    /// Counts that the request is sent again, and why.
    pub(super) fn retries(&self, why: &'static str) {
        retried(self.app, self.record, why);
    }

    /// What keeps this request on the server of others, by the operator's choice.
    pub(super) fn key(&self) -> Option<u64> {
        /// As much of a conversation as tells whose it is: a system prompt and the first question.
        const BEGINNING: usize = 4 << 10;
        if self.app.upstreams.count() < 2 {
            return None;
        }
        let of_user = || {
            let names = ["prompt_cache_key", "safety_identifier", "user", "metadata"];
            names.into_iter().find_map(|name| self.opened.field(name))
        };
        let bytes = match &self.app.config.affinity {
            Affinity::None => None,
            Affinity::User => of_user(),
            Affinity::Prompt => self.opened.beginning(BEGINNING),
            Affinity::Header(name) => self.headers.get(name).map(http::HeaderValue::as_bytes),
        };
        bytes.map(affinity)
    }

    /// How well a server would meet the demand, 0 best: native, constrained, composed, converted, instructed, not at all.
    pub(super) fn rank(&self, target: &Target, known: Option<&Known>, read: Option<&Demand>) -> u8 {
        const NOT_AT_ALL: u8 = u8::MAX;
        if let Some(ready) = known.and_then(|known| known.ready(&target.rule)) {
            return ready.prepared.exchange.strategy as u8;
        }
        let size = self.opened.body().len();
        let demand = match read {
            Some(demand) => Ok(demand.clone()),
            None => work(size, || self.opened.read()),
        };
        let ranked = demand.and_then(|demand| {
            if demand.contract.is_empty() {
                return Ok(Strategy::Passthrough);
            }
            work(size, || self.rewritten(demand, target)).map(|exchange| exchange.strategy)
        });
        ranked.map_or(NOT_AT_ALL, |strategy| strategy as u8)
    }
}

/// Whether another server may do what this one could not.
fn is_the_servers(upstream: &Upstream, error: &Error) -> bool {
    match error.kind {
        Kind::UpstreamRateLimited
        | Kind::ModelLoading
        | Kind::ModelNotFound
        | Kind::UpstreamTimeout
        | Kind::UpstreamTruncated
        | Kind::UpstreamUnreachable
        | Kind::UpstreamBadReply
        | Kind::UpstreamFailed => true,
        // The client's own key is refused everywhere.
        Kind::UpstreamAuth => upstream.has_key(),
        _ => false,
    }
}
