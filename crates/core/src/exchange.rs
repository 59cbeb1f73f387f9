//! One exchange, pure: the client's bytes to the upstream's, the upstream's back to the client's.
//!
//! The proxy, `isogloss explain` and the tests all call these same functions.

mod all_content;
mod beginning;
mod beside;
mod body;
mod choice;
mod context;
mod conversation;
mod cost;
pub mod count;
mod flow;
mod fold;
mod lesson;
mod lone_thoughts;
mod meant;
mod outline;
mod prepared;
mod re_ask;
mod reading;
mod redact;
mod repair;
mod repeated;
mod stream;
mod unfold;
mod upstream_error;
mod way_back;
mod whole;

use crate::check::Check;
use crate::dialect::chat::client::Chat;
use crate::dialect::client::{self, Client};
use crate::dialect::mixed;
use crate::dialect::server::{self, About, Asked, Editor, Ends, Frame, Render, Server};
use crate::error::{Error, Kind};
use crate::ir::{
    Calls, Constraint, Contract, Draft, EnforcedBy, Ids, Loss, NoCall, Origin, Place, Plan, Repair,
    Request, Rewrap, Seal, Strategy, Thoughts, Violation, Wire,
};
use crate::json::{place, strict};
use crate::passage;
use crate::rewrap::Reading;
pub use crate::rewrite::{Memo, NoMemo, Options};
use crate::rewrite::{Sent, leave_out_hosted, rewrite};
use crate::rules::{ContextRule, Markup, Rule};
use crate::schema::SchemaLimits;
use crate::verify::Checks;
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;

pub use crate::json::skeleton::Skimmer;
pub use beginning::{Begun, InPlace};
use beside::Beside;
pub use body::Body;
pub use conversation::concerns;
pub use cost::{COST, cost};
pub use outline::MAX_OUTLINES;
pub use prepared::{Opened, Prepared, Shape, named, renamed};
pub use redact::redact;
pub use stream::StreamTranslator;
pub use upstream_error::{
    Told, error_in, garbled, lacks_model, launch_facts, launch_facts_in, says, upstream_error,
};
use way_back::WayBack;
pub use whole::{Translated, reply, reply_of_events};

/// More choices than any request may ask for; a server that sends more is not followed.
const MAX_CHOICES: usize = 128;

/// A request that has been read, and the demand it states.
#[derive(Debug, Clone)]
pub struct Demand {
    /// Who states it.
    pub client: &'static dyn Client,
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
    /// The client's body, edited, for a server of its own dialect; `None` where its bytes go through
    /// untouched, or the server is of another.
    pub body: Option<Bytes>,
    /// What a server of another dialect is asked.
    pub draft: Option<Draft>,
    /// What a server of another dialect is told beside the conversation; `None` where that is told with losses, or not in
    /// words of its own.
    instructions: Option<Vec<String>>,
    /// The wire that the server is asked on.
    pub server: &'static dyn Server,
    /// The same on that wire, or what is asked before it.
    pub asked: Option<Asked>,
    /// Where the server renders conversations, for asking again.
    render: Option<Render>,
    /// The server's names for thoughts.
    reasoning: Vec<String>,
    /// The server's names for the stop text that ended a reply.
    stopped: Vec<String>,
    /// Its own words for how a reply ended.
    ends: Arc<Ends>,
    /// Pieces of what it says of prompts that are too long.
    too_long: Arc<[String]>,
    /// How the model marks its thoughts, as far as its name tells, where anything is demanded.
    form: Option<Arc<Thoughts>>,
    /// How many tokens the prompt has, where that is known before the reply.
    pub prompt_tokens: Option<u64>,
    /// Whether the server is asked for a whole reply where the client asks for a stream: what comes is told as one.
    pub asks_whole: bool,
    /// Whether every conversation is read for what the server refuses, so that none is sent as another was.
    is_read: bool,
    /// The fewest tokens that the prompt can have, where the server may have cut it.
    least_tokens: Option<u64>,
    /// What the reply means.
    pub plan: Arc<Plan>,
    /// What the server was not told.
    pub losses: Vec<Loss>,
    /// Signs thoughts that the server does not sign.
    seal: Seal,
    /// The operator's choice: a reply that breaks the contract goes out all the same, and says so.
    pub passes_violations: bool,
    /// The operator's choice: what is mended in a reply before it counts as a violation.
    pub repair: Repair,
    /// In which markup the model writes calls, where it may make some and that is known.
    pub markup: Option<Markup>,
    /// How calls are read off the content.
    reading: Option<Reading>,
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

/// Reads a request: its path, without the query, and its body.
///
/// # Errors
/// What is wrong with it, naming the field and the remedy.
pub fn read(client: &'static dyn Client, path: &str, body: &[u8]) -> Result<Demand, Error> {
    let body = strict::checked(body, &strict::Limits::default())?;
    read_strict(client, path, &body)
}

/// The same of a body that is known to be strict JSON.
fn read_strict(client: &'static dyn Client, path: &str, body: &[u8]) -> Result<Demand, Error> {
    let (client, mut request) = read_as(client, path, body)?;
    meant::mend(&mut request);
    passage::check(&request)?;
    let contract = Contract::of(&request);
    Ok(Demand {
        client,
        request,
        contract,
    })
}

/// The request, and whose it is: of the route's dialect, unless its conversation stands where another one has it.
fn read_as(
    client: &'static dyn Client,
    path: &str,
    body: &[u8],
) -> Result<(&'static dyn Client, Request), Error> {
    let read = client.read(path, body);
    let other = match &read {
        Ok(request) => mixed::client(client, |name| request.fields.has(name)),
        Err(_) => mixed::client(client, |name| place::field(body, name).is_some()),
    };
    match other {
        Some(other) => Ok((other, other.read(path, body)?)),
        None => Ok((client, read?)),
    }
}

/// The same of a Chat Completions request.
///
/// # Errors
/// As there.
pub fn read_chat(body: &[u8]) -> Result<Demand, Error> {
    read(&Chat, server::CHAT_PATH, body)
}

/// Chooses the strategy and writes the upstream request.
///
/// # Errors
/// A demand that this server cannot meet in any way, or that contradicts itself.
pub fn plan(demand: Demand, rule: &Rule) -> Result<Exchange, Error> {
    let options = Options {
        memo: &NoMemo,
        is_compact: false,
        seal: Seal::default(),
    };
    plan_with(demand, rule, &options)
}

/// [`plan`], with what was written before, and what the operator wants.
///
/// # Errors
/// As there.
pub fn plan_with(demand: Demand, rule: &Rule, options: &Options<'_>) -> Result<Exchange, Error> {
    let client = demand.client;
    let rule = rule.facing(&demand.request);
    let mut exchange = planned(demand, rule, options).map_err(|error| client.blame(error))?;
    let request = &exchange.demand.request;
    (exchange.losses).retain_mut(|loss| client.loss(loss, request));
    Ok(exchange)
}

fn planned(mut demand: Demand, rule: &Rule, options: &Options<'_>) -> Result<Exchange, Error> {
    if rule.one_choice && demand.request.n > 1 && !demand.contract.is_empty() {
        return Err(server::one_choice(&rule.title));
    }
    let server = rule.face(demand.request.wire);
    let unhosted = leave_out_hosted(&mut demand.request, &mut demand.contract, rule, server);
    let told = conversation::retold(demand.client, &demand.request, rule, server)
        .or_else(|| conversation::gone_on(&demand, rule, server));
    let told = told.map(|(fields, losses)| {
        demand.request.fields = fields;
        losses
    });
    let is_read = rule.context != ContextRule::default()
        || conversation::reads_all(&demand.request, rule, server);
    let least_tokens = context::least_tokens(&demand, rule);
    let mut rewritten = rewrite(&demand.request, &demand.contract, rule, options)?;
    let (mut body, mut draft, mut asked) = (None, None, None);
    let mut told_beside = None;
    match std::mem::replace(&mut rewritten.sent, Sent::Untouched) {
        Sent::Untouched if told.is_some() || unhosted.is_some() || demand.request.restated => {
            body = Some(Bytes::from(demand.request.fields.to_json()));
        }
        Sent::Untouched => {}
        Sent::Body(edited) => body = Some(Bytes::from(edited)),
        Sent::Draft(mut typed, instructions) => {
            typed.history = rule.history.clone();
            let is_read = !typed.fields.has("messages");
            let mut lost = Vec::new();
            if is_read {
                typed.turns = demand.client.turns(&demand.request)?;
                lost = conversation::read(&mut typed.turns, rule, &options.seal);
            }
            instructions.iter().for_each(|text| typed.instruct(text));
            let model = &demand.request.model;
            let is_bound = conversation::is_bound(&demand.contract);
            lost.extend(conversation::fit(&mut typed.turns, rule, model, is_bound));
            lost.extend(conversation::go_on(&mut typed, &demand, &rule.title));
            told_beside = (is_read && lost.is_empty()).then(|| instructions.into_vec());
            rewritten.losses.extend(lost);
            let written = server.ask(&typed, &rule.title, rule.render.as_ref())?;
            // Of what is told already the more telling reason stays.
            for loss in &written.losses {
                let is_same = |known: &Loss| known.pointer == loss.pointer;
                if !rewritten.losses.iter().any(is_same) {
                    rewritten.losses.push(loss.clone());
                }
            }
            rewritten
                .losses
                .extend(demand.client.unsaid(&demand.request));
            if demand.request.hides_thoughts {
                // Chat's word for it: who is told none on the way back has lost nothing.
                let is_done = |loss: &Loss| loss.pointer == "/include_reasoning";
                rewritten.losses.retain(|loss| !is_done(loss));
            }
            draft = Some(*typed);
            asked = Some(written);
        }
    }
    let markup = rewritten.markup.as_ref();
    let reading = markup.filter(|_| rewritten.reads_markup);
    let reading = reading.map(|markup| reading::of(&demand.contract, rule, &rewritten, markup));
    rewritten.losses.extend(told.unwrap_or_default());
    rewritten.losses.extend(unhosted.unwrap_or_default());
    // Where there is no stop text, nobody asks which it was.
    let stopped = match demand.request.settings().has("stop") {
        true => rule.stopped.clone(),
        false => Vec::new(),
    };
    let form = match demand.contract.is_empty() {
        true => None,
        false => rule.form_of(&demand.request.model).cloned(),
    };
    Ok(Exchange {
        demand,
        strategy: rewritten.strategy,
        body,
        draft,
        instructions: told_beside,
        server,
        asked,
        render: rule.render.clone(),
        reasoning: rule.reasoning.clone(),
        stopped,
        ends: Arc::clone(&rule.ends),
        too_long: Arc::clone(&rule.too_long),
        form,
        prompt_tokens: None,
        asks_whole: rewritten.asks_whole,
        is_read,
        least_tokens,
        plan: Arc::new(rewritten.plan),
        losses: rewritten.losses,
        seal: options.seal,
        passes_violations: false,
        repair: Repair::default(),
        markup: rewritten.markup,
        reading,
    })
}

/// The reply to a request that asks for no answer, where the server is not of its wire; `None` where there is something to
/// ask.
#[must_use]
pub fn loaded(demand: &Demand, rule: &Rule, ids: &Ids) -> Option<Vec<u8>> {
    let request = &demand.request;
    let rule = rule.facing(request);
    if Some(rule.face(request.wire).wire()) == request.wire {
        return None;
    }
    let terms = client::Terms {
        ids: ids.clone(),
        model: request.model.clone(),
        legacy_functions: false,
        include_usage: false,
        keeps_counts: false,
        counts_first: false,
        keeps_bytes: false,
        // There is no thought in it.
        seal: Seal::default(),
        echo: None,
    };
    demand.client.loaded(&terms, request)
}

impl Exchange {
    /// Whether nothing is demanded and nothing was rewritten: bytes go through both ways.
    #[must_use]
    pub fn is_passthrough(&self) -> bool {
        self.demand.contract.is_empty() && self.keeps_wire()
    }

    /// Whether the server is of the client's own wire: what the client says beside its body is for it too.
    #[must_use]
    pub fn keeps_wire(&self) -> bool {
        self.demand.request.wire == Some(self.server.wire())
    }

    /// The path of the request, below the server's base.
    #[must_use]
    pub fn path(&self) -> Cow<'_, str> {
        match &self.asked {
            Some(asked) => Cow::Borrowed(&asked.path),
            None => self.editor().path(&self.demand.request),
        }
    }

    /// What edits the client's body, where the server is of its wire.
    fn editor(&self) -> &'static dyn Editor {
        self.server.editor().unwrap_or(server::editor::CHAT)
    }

    /// The body that is sent; `None` where it is the client's own bytes.
    #[must_use]
    pub const fn sent(&self) -> Option<&Bytes> {
        match &self.asked {
            Some(asked) => Some(&asked.body),
            None => self.body.as_ref(),
        }
    }

    /// What is known of the reply.
    fn about(&self) -> About {
        About {
            reasoning: self.reasoning.clone(),
            stop: server::stop_texts(match &self.draft {
                Some(draft) => &draft.fields,
                None => self.demand.request.settings(),
            }),
            stopped: self.stopped.clone(),
            ends: Arc::clone(&self.ends),
            prompt_tokens: self.prompt_tokens,
            is_translated: !self.keeps_wire(),
        }
    }

    /// What a whole reply says.
    fn frame<'b>(&self, body: &'b [u8], ids: &mut Ids) -> Result<Frame<'b>, Error> {
        let frame = self.server.whole(body, &self.about(), ids);
        frame.map_err(|fault| upstream_error::unreadable(fault, &self.too_long))
    }

    /// The constraints to compile before anything is sent, each with the request field that
    /// states it, in the order that [`Checks::new`] takes.
    #[must_use]
    pub fn constraints(&self) -> Vec<(String, Constraint)> {
        self.demand.contract.constraints(&self.demand.request)
    }

    /// Compiles the contract, before anything is sent upstream, on the calling thread. Whoever serves
    /// many requests keeps what was compiled instead, and goes by [`Exchange::constraints`],
    /// [`Exchange::accept`] and [`Exchange::checks`] as this does.
    ///
    /// # Errors
    /// The constraint that is refused, with the request field that states it.
    pub fn compile(&mut self, limits: &SchemaLimits) -> Result<Arc<Checks>, Error> {
        let mut checks = Vec::new();
        for (at, constraint) in self.constraints() {
            let compiled = Check::compile(&constraint, limits);
            checks.push(self.accept(at, &constraint, compiled)?);
        }
        Ok(self.checks(checks))
    }

    /// What a constraint was compiled to: `None` for structural tags of a format that is not known
    /// here, which are left to the server, and that is a loss.
    ///
    /// # Errors
    /// The constraint is refused; the error names the request field that states it.
    pub fn accept(
        &mut self,
        at: String,
        constraint: &Constraint,
        compiled: Result<Check, Error>,
    ) -> Result<Option<Check>, Error> {
        let (check, reason) = match compiled {
            Ok(check) if check.has_budgets() => {
                let reason = "only the server enforces `max_tokens` of `any_text`: a text does not show its tokens";
                (Some(check), reason.to_owned())
            }
            Ok(check) => return Ok(Some(check)),
            Err(error) if is_tag(constraint) && error.kind == Kind::UnsupportedConstraint => {
                (None, format!("only the server enforces it: {error}"))
            }
            Err(error) => return Err(error.at(at)),
        };
        self.losses.push(Loss {
            pointer: Origin(at).pointer(),
            reason,
            enforced_by: EnforcedBy::Server,
        });
        Ok(check)
    }

    /// The checks of the contract, in the order of [`Exchange::constraints`].
    #[must_use]
    pub fn checks(&self, compiled: Vec<Option<Check>>) -> Arc<Checks> {
        Arc::new(Checks::new(&self.demand.contract, compiled))
    }

    fn terms(&self) -> WayBack {
        let request = &self.demand.request;
        let calls = self.demand.contract.calls;
        let may_call = matches!(calls, Calls::Optional | Calls::Required);
        // What a server of the client's own wire tells it was asked for.
        let hides_thoughts = request.hides_thoughts && !self.keeps_wire();
        let demands_call = calls == Calls::Required;
        let demands_answer = self.demand.contract.content.is_some();
        WayBack {
            client: self.demand.client,
            keeps: self.keeps_wire(),
            plan: Arc::clone(&self.plan),
            model: request.model.clone(),
            include_usage: request.include_usage,
            keeps_counts: self.ends.counts_unasked && self.keeps_wire(),
            seal: self.seal,
            echo: request.echo.clone(),
            hides_thoughts,
            tells_lone_thoughts: hides_thoughts
                && !(demands_call || demands_answer || self.server.seals_thoughts()),
            repeated: self.draft.as_ref().and_then(conversation::repeated),
            demands_call,
            may_call,
            demands_answer,
            demands_nothing: self.demand.contract.is_empty(),
            choices: request.n.max(1),
            least_tokens: self.least_tokens.filter(|_| !self.passes_violations),
            passes_violations: self.passes_violations,
            too_long: Arc::clone(&self.too_long),
            form: self.form.clone(),
            mending: self.mending(),
            reading: self.reading(),
            is_stopped: !server::stop_texts(request.settings()).is_empty(),
            is_held_completion: request.wire == Some(Wire::Completions)
                && self.strategy == Strategy::Native,
            seals_thoughts: self.server.seals_thoughts(),
            closes_cut_calls: self.server.closes_cut_calls(),
            may_be: Beside {
                refusal: self.server.refuses_late() && self.demand.client.has_refusals(),
                remark: (may_call || self.keeps_wire() && self.server.hosts_tools())
                    && self.demand.contract.content.is_some()
                    && matches!(self.plan.rewrap, Rewrap::Keep | Rewrap::Answer),
            },
        }
    }

    /// How calls are read off the content. Where the server is to read them itself, what it left there is read as
    /// other faults are mended.
    fn reading(&self) -> Option<Reading> {
        let is_wanted = |it: &&Reading| it.is_expected || self.repair != Repair::Off;
        self.reading.as_ref().filter(is_wanted).cloned()
    }
}

const fn is_tag(constraint: &Constraint) -> bool {
    matches!(constraint, Constraint::StructuralTag(_))
}

/// The error that the client gets for a reply that breaks its contract.
#[must_use]
pub fn violation_error(client: &dyn Client, violation: &Violation) -> Error {
    let place = client.place(violation.place);
    let pointer = match violation.pointer.as_str() {
        "" => String::new(),
        pointer => format!(" at {pointer}"),
    };
    let message = format!(
        "the model's reply breaks what the request asks for: {}{pointer}: {} (rule: {}). \
         Try your request again, give the model more room ({}), or relax the schema",
        place,
        violation.message,
        violation.rule,
        client.limit()
    );
    Error::new(Kind::ConstraintViolated, message).at(place)
}

/// The error that the client gets where the reply broke its contract, and the server failed when
/// it was asked again: the failure alone would say that nothing is wrong with the demand.
#[must_use]
pub fn violation_then(client: &dyn Client, violation: &Violation, failure: &Error) -> Error {
    let mut error = violation_error(client, violation);
    error.message.push_str(". Asked again, it failed: ");
    error.message.push_str(&failure.message);
    error
}

fn too_few_choices(came: u32, asked: u32) -> Violation {
    let message = match came {
        0 => "the reply has no choice".to_owned(),
        came => format!("the reply has fewer choices ({came}) than `n` asks for ({asked})"),
    };
    Violation::new(Place::Choices, "choices", message)
}

fn too_many_choices(asked: u32) -> Violation {
    let message = format!("the reply has other choices than the {asked} that `n` asks for");
    Violation::new(Place::Choices, "choices", message)
}

fn goes_on(index: u32) -> Violation {
    let place = Place::Choice(index);
    Violation::new(place, "finish", "the reply goes on after its finish reason")
}

fn no_call(fault: NoCall, choice: u32) -> Violation {
    let (call, message) = match fault {
        NoCall::Changes { call } => (call, "a call changes its name or its kind in its middle"),
        NoCall::Nameless { calls } => (calls, "a call has no name"),
        NoCall::Unreadable { calls } => (calls, "the server could not read what the model wrote"),
        NoCall::Lost => (0, "the server says that the model calls, and gives no call"),
        NoCall::TooMany { calls } => (calls, "there are more calls than are read"),
    };
    let call = usize::try_from(call).unwrap_or(usize::MAX);
    Violation::new(Place::Call(choice, call), "tool_choice", message)
}

fn cut() -> Error {
    // Agents ask again where they know the words of an error in a stream: pi, opencode and cline know these.
    let message = "connection error: the server's stream ended before the reply was complete: what came so far is not \
                   the whole answer";
    Error::new(Kind::UpstreamTruncated, message)
}

/// What of a stream cannot be read.
#[must_use]
pub fn garbage() -> Error {
    let message = "the server sent a stream event that is no JSON, or none of its protocol";
    Error::new(Kind::UpstreamBadReply, message)
}
