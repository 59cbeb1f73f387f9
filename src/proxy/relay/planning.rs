//! One request and one server in; everything that can be refused is refused, and what is sent goes out, before a byte is.

use super::{Relay, long_work, no_model, upstream_target, work};
use crate::config::OnViolation;
use crate::upstream::{Flight, Pieces, Place, Target};
use http::uri::PathAndQuery;
use isogloss_compile::{Compiled, Known, Ready};
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, Demand, Exchange, MAX_OUTLINES, Opened};
use isogloss_core::ir::{Loss, Violation};
use isogloss_core::rules::{HOLDS_BEHIND_THOUGHTS, NO_TAGGED_CALLS, READS_CALLS};
use isogloss_core::verify::Checks;
use std::sync::Arc;
use std::time::Instant;

/// What an answer that is none may tell, or have another reason for; each is supposed where the one before it is known.
pub(super) const UNSURE: [&str; 3] = [READS_CALLS, NO_TAGGED_CALLS, HOLDS_BEHIND_THOUGHTS];

/// A demand that one server can be sent.
pub(super) struct Planned {
    pub(super) target: Target,
    /// The request, by the name that the server has for the model.
    pub(super) opened: Arc<Opened>,
    pub(super) exchange: Arc<Exchange>,
    pub(super) path: PathAndQuery,
    /// What is sent, where it is not all in the exchange: that is another request's, of the same shape.
    pub(super) prepared: Option<Pieces>,
    pub(super) checks: Arc<Checks>,
    /// Where the server is our own worker.
    pub(super) flight: Option<Arc<Flight>>,
    /// Where the server is sent so many requests at once.
    pub(super) place: Option<Arc<Place>>,
}

impl Planned {
    /// Whether an answer that is none told something new of the server, by which the request can be planned
    /// again: where it leaves thoughts.
    pub(super) fn learns(&self, violation: &Violation) -> bool {
        self.learn(violation.fact.filter(|fact| !UNSURE.contains(fact)))
    }

    /// What a reply surely told of the server: it is asked with that from now on. Whether that is news.
    pub(super) fn learn(&self, fact: Option<&str>) -> bool {
        let Target {
            upstream, known, ..
        } = &self.target;
        let model = &self.exchange.demand.request.model;
        fact.is_some_and(|fact| upstream.learn(fact, model, known))
    }

    /// What such an answer may tell of the server, or have another reason for: that it takes calls off the text, or, where it is asked
    /// to do that, fails at it.
    pub(super) fn supposes(&self, violation: &Violation) -> Option<String> {
        let is_news = |fact: &&str| self.target.rule.knowing(fact).is_some();
        let from = violation.fact?;
        // A fact about chats has nothing to do with completions.
        let of_same =
            |fact: &&str| (*fact == HOLDS_BEHIND_THOUGHTS) == (from == HOLDS_BEHIND_THOUGHTS);
        let mut facts = UNSURE
            .into_iter()
            .skip_while(|fact| *fact != from)
            .filter(of_same);
        facts.find(is_news).map(str::to_owned)
    }

    /// The worker has said what it had to, whatever that was worth: it did not die of it.
    pub(super) fn lived(&self) {
        if let Some(flight) = &self.flight {
            flight.completed();
        }
    }

    /// An error of the server's, in the worker's own terms where it is ours.
    pub(super) fn explain(&self, error: Error) -> Error {
        match &self.flight {
            Some(flight) => flight.explain(error),
            None => self.target.upstream.redact_error(error),
        }
    }
}

impl Relay<'_> {
    /// The request as the client wrote it.
    pub(super) async fn as_it_is(
        &self,
        known: Option<&Known>,
        read: &mut Option<Demand>,
        target: Target,
    ) -> Result<Planned, Error> {
        let ready = known.and_then(|known| known.ready(&target.rule));
        if let Some(ready) = ready
            && let Some(sent) = written(&self.opened, &ready, &target)
        {
            return self.prepared(&ready, sent, target, &self.opened);
        }
        let demand = match read.take() {
            Some(demand) => demand,
            None => work(self.opened.body().len(), || self.opened.read())?,
        };
        self.plan(demand, target, &self.opened).await
    }

    /// The request where the server calls the model otherwise.
    pub(super) async fn renamed(&self, model: &str, target: Target) -> Result<Planned, Error> {
        let size = self.opened.body().len();
        let opened = Arc::new(work(size, || self.opened.renamed(model))?);
        let plans = self.app.compiler.plans();
        let known = opened.shape().and_then(|shape| plans.find(&shape));
        let ready = known.and_then(|known| known.ready(&target.rule));
        if let Some(ready) = ready
            && let Some(sent) = written(&opened, &ready, &target)
        {
            return self.prepared(&ready, sent, target, &opened);
        }
        let demand = work(size, || opened.read())?;
        self.plan(demand, target, &opened).await
    }

    /// Everything that can be refused is refused here, before a byte is sent.
    pub(super) async fn plan(
        &self,
        demand: Demand,
        target: Target,
        opened: &Arc<Opened>,
    ) -> Result<Planned, Error> {
        let begun = Instant::now();
        if demand.request.is_nameless() && target.upstream.wants_model() {
            return Err(no_model());
        }
        let (mut exchange, compiled, opened, lost) = self.compiled(demand, &target, opened).await?;
        exchange.losses.extend(lost.iter().cloned());
        // What stands there was not asked for so.
        if lost.is_empty()
            && let Some(shape) = opened.shape()
            && let Some(prepared) = opened.prepare(&exchange, &target.rule)
        {
            let compiled = compiled.clone();
            let ready = Arc::new(Ready { prepared, compiled });
            self.app.compiler.plans().keep(&shape, &target.rule, ready);
        }
        let planned = self.entered(target, &opened, Arc::new(exchange), None, compiled.checks);
        self.record.own(begun.elapsed());
        planned
    }

    /// The plan and its checks, of the request as it came or with outlines of tools that nobody can read, and what is lost by
    /// those.
    async fn compiled(
        &self,
        mut demand: Demand,
        target: &Target,
        opened: &Arc<Opened>,
    ) -> Result<(Exchange, Compiled, Arc<Opened>, Vec<Loss>), Error> {
        let (mut opened, mut lost) = (Arc::clone(opened), Vec::new());
        loop {
            let size = opened.body().len();
            // What is new is compiled to what the server is sent, of which few bytes may be long work.
            let request = &demand.request;
            let planned = match request.constraint.is_some() || !request.tools.is_empty() {
                true => {
                    // It is never closed.
                    let _turn = self.app.long_work.acquire().await.ok();
                    long_work(|| self.rewritten(demand, target))
                }
                false => work(size, || self.rewritten(demand, target)),
            };
            let error = match planned {
                Err(error) => error,
                Ok(mut exchange) => match self.app.compiler.checks(&mut exchange).await {
                    Ok(compiled) => return Ok((exchange, compiled, opened, lost)),
                    Err(error) => error,
                },
            };
            let mended = work(size, || opened.outlined(&error));
            let Some((mended, loss)) = mended.filter(|_| lost.len() < MAX_OUTLINES) else {
                return Err(error);
            };
            lost.push(loss);
            opened = Arc::new(mended);
            demand = work(size, || opened.read())?;
        }
    }

    /// The same where a request of this shape was planned before.
    pub(super) fn prepared(
        &self,
        ready: &Ready,
        sent: Pieces,
        target: Target,
        opened: &Arc<Opened>,
    ) -> Result<Planned, Error> {
        let begun = Instant::now();
        let exchange = Arc::clone(&ready.prepared.exchange);
        if exchange.demand.request.is_nameless() && target.upstream.wants_model() {
            return Err(no_model());
        }
        self.app.compiler.used_again(&ready.compiled);
        let checks = Arc::clone(&ready.compiled.checks);
        let planned = self.entered(target, opened, exchange, Some(sent), checks);
        self.record.own(begun.elapsed());
        planned
    }

    pub(super) fn rewritten(&self, demand: Demand, target: &Target) -> Result<Exchange, Error> {
        let config = &self.app.config;
        let options = self.app.options();
        let mut exchange = exchange::plan_with(demand, &target.rule, &options)?;
        exchange.passes_violations = config.on_violation == OnViolation::Pass;
        exchange.repair = config.repair;
        Ok(exchange)
    }

    /// What of the client's query goes along.
    pub(super) fn query_for(&self, exchange: &Exchange) -> Option<&str> {
        let is_kept = |_: &&str| self.client.keeps_query(exchange.keeps_wire());
        self.query.as_deref().filter(is_kept)
    }

    /// Counts what the server was not told whose word the client gets: a request that is planned again, for another server or by
    /// what was learnt, loses each thing once.
    pub(super) fn count_losses(&self, planned: &Planned) {
        for loss in &planned.exchange.losses {
            self.app.metrics.loss(loss);
        }
    }

    /// Tells what is planned, and notes that a request goes to the worker.
    pub(super) fn entered(
        &self,
        target: Target,
        opened: &Arc<Opened>,
        exchange: Arc<Exchange>,
        prepared: Option<Pieces>,
        checks: Arc<Checks>,
    ) -> Result<Planned, Error> {
        self.record.planned(&target.rule, &exchange);
        let path = upstream_target(&exchange.path(), self.query_for(&exchange))?;
        let flight = target.upstream.enter(|| exchange.constraints())?;
        Ok(Planned {
            target,
            opened: Arc::clone(opened),
            exchange,
            path,
            prepared,
            checks,
            flight: flight.map(Arc::new),
            place: None,
        })
    }
}

/// What a request is sent as where its shape is known; `None` where it is planned all the same.
fn written(opened: &Opened, ready: &Ready, target: &Target) -> Option<Pieces> {
    // What is put between others is not read.
    let size = match ready.prepared.tells() {
        true => opened.body().len(),
        false => 0,
    };
    work(size, || opened.written(&ready.prepared, &target.rule)).map(Pieces)
}
