//! One exchange, pure: the client's bytes to the upstream's, the upstream's back to the client's.
//!
//! The proxy, `isogloss explain` and the tests all call these same functions.

mod calls;
mod re_ask;
mod stream;
mod upstream_error;

use crate::compile::Compiler;
use crate::dialect::chat;
use crate::error::{Error, Kind};
use crate::ir::{Constraint, Contract, Delta, Ids, Loss, Plan, Request, Rewrap, Strategy};
use crate::json::strict;
use crate::rewrap::Rewrapper;
use crate::rewrite::rewrite;
use crate::rules::Rule;
use crate::verify::{Checks, Said, Verifier, Violation};
use std::sync::Arc;

pub use chat::{error_body, error_event};
pub use stream::StreamTranslator;
pub use upstream_error::{launch_fact, upstream_error};

/// A request that has been read, and the demand it states.
#[derive(Debug, Clone)]
pub struct Demand {
    /// The request.
    pub request: Request,
    /// What must be true of its reply.
    pub contract: Contract,
}

/// A demand in the words of one server.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the client asked.
    pub demand: Demand,
    /// How it is met.
    pub strategy: Strategy,
    /// The upstream request body; `None` where the client's own bytes go through untouched.
    pub body: Option<Vec<u8>>,
    /// What the reply means.
    pub plan: Plan,
    /// What the server was not told.
    pub losses: Vec<Loss>,
}

/// Why a reply cannot be given to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// It breaks the contract.
    Violation(Violation),
    /// It is no usable reply, or the upstream reported an error in it.
    Error(Error),
}

/// How an upstream's reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The body ended by itself.
    Eof,
    /// The connection broke.
    Cut,
}

/// Reads a Chat Completions request body.
///
/// # Errors
/// What is wrong with it, naming the field and the remedy.
pub fn read_chat(body: &[u8]) -> Result<Demand, Error> {
    strict::check(body, &strict::Limits::default())?;
    let request = chat::read_request(body)?;
    let contract = Contract::of(&request);
    Ok(Demand { request, contract })
}

/// Chooses the strategy and writes the upstream request.
///
/// # Errors
/// A demand that this server cannot meet in any way, or that contradicts itself.
pub fn plan(demand: Demand, rule: &Rule) -> Result<Exchange, Error> {
    let rewritten = rewrite(&demand.request, &demand.contract, rule)?;
    Ok(Exchange {
        demand,
        strategy: rewritten.strategy,
        body: rewritten.body,
        plan: rewritten.plan,
        losses: rewritten.losses,
    })
}

impl Exchange {
    /// Whether nothing is demanded and nothing was rewritten: bytes go through both ways.
    #[must_use]
    pub fn is_passthrough(&self) -> bool {
        self.demand.contract.is_empty()
    }

    /// The constraints to compile before anything is sent, each with the request field that
    /// states it, in the order that [`Checks::new`] takes.
    #[must_use]
    pub fn constraints(&self) -> Vec<(String, Constraint)> {
        self.demand.contract.constraints(&self.demand.request)
    }

    /// Compiles the contract. Every constraint is compiled before anything is sent upstream.
    ///
    /// # Errors
    /// The constraint that is refused, with the request field that states it.
    pub async fn compile(&self, compiler: &Compiler) -> Result<Arc<Checks>, Error> {
        let mut compiled = Vec::new();
        for (at, constraint) in self.constraints() {
            let check = compiler.compile(&constraint).await;
            compiled.push(check.map_err(|error| error.at(at))?);
        }
        Ok(Arc::new(Checks::new(&self.demand.contract, compiled)))
    }

    /// Whether the client is given the upstream's own bytes once they are verified.
    const fn keeps_bytes(&self) -> bool {
        matches!(self.plan.rewrap, Rewrap::Keep)
            && !self.plan.legacy_functions
            && !self.plan.one_call
    }
}

/// One choice on its way: rewrapped, then verified.
#[derive(Debug)]
struct ChoiceFlow {
    rewrapper: Rewrapper,
    verifier: Verifier,
}

impl ChoiceFlow {
    fn new(plan: &Plan, checks: &Arc<Checks>, choice: u32) -> Self {
        Self {
            rewrapper: Rewrapper::new(plan, choice),
            verifier: Verifier::new(Arc::clone(checks), choice),
        }
    }

    /// Takes a delta of the server, appends those for the client.
    fn step(&mut self, delta: Delta, ids: &mut Ids, out: &mut Vec<Delta>) -> Result<(), Violation> {
        let from = out.len();
        let rewrapped = self.rewrapper.step(delta, ids, out);
        for delta in &out[from..] {
            self.verifier
                .step(delta)
                .map_err(|violation| self.rewrapper.quote(violation))?;
        }
        rewrapped
    }
}

/// Translates a whole reply: rewraps it, verifies it, writes it.
///
/// # Errors
/// The violation, or the error of a reply that cannot be used.
pub fn reply(
    exchange: &Exchange,
    checks: &Arc<Checks>,
    mut ids: Ids,
    body: &[u8],
) -> Result<Vec<u8>, Fault> {
    let reply = chat::read_reply(body, &mut ids).map_err(|fault| match fault {
        chat::ReplyFault::NotAReply => Fault::Error(Error::new(
            Kind::UpstreamBadReply,
            "the server's reply is no Chat Completions reply",
        )),
        chat::ReplyFault::Error(raw) => Fault::Error(upstream_error::reported(&raw)),
    })?;
    if reply.choices.is_empty() {
        return Err(Fault::Violation(no_choice()));
    }
    let mut said = Vec::with_capacity(reply.choices.len());
    for choice in &reply.choices {
        let mut flow = ChoiceFlow::new(&exchange.plan, checks, choice.index);
        let mut deltas = Vec::new();
        for delta in choice.deltas.iter().cloned() {
            flow.step(delta, &mut ids, &mut deltas)
                .map_err(Fault::Violation)?;
        }
        said.push(deltas);
    }
    if exchange.keeps_bytes() {
        return Ok(body.to_vec());
    }
    let envelope = chat::Envelope {
        fields: &reply.fields,
        ids: &ids,
        model: &exchange.demand.request.model,
        legacy_functions: exchange.plan.legacy_functions,
    };
    Ok(chat::write_reply(envelope, &reply, &said))
}

fn no_choice() -> Violation {
    Violation {
        place: "choices".to_owned(),
        pointer: String::new(),
        rule: "choices".to_owned(),
        message: "the reply has no choice".to_owned(),
        said: Said::default(),
    }
}
