//! Reaching a server: requests in, its replies out; beside that, who each server is and
//! whether it can be used, and the process of the one that is our own. Never retries after a reply began, never follows a redirect.

mod address;
mod admission;
mod balance;
mod belief;
mod child;
mod choice;
mod circuit;
mod client;
mod direct;
mod discovery;
mod failure;
mod identify;
mod key;
mod load;
mod models;
mod probing;
mod proof;
mod quarantine;
mod renewal;
mod same;
mod served;
mod state;
mod watch;

pub use address::{AddressError, endpoint, place};
pub use admission::{Asker, Place, Turn};
pub use child::{Facts, Launch, Phase, Worker, WorkerStatus};
pub use choice::{Target, Wanted, key as affinity};
pub use circuit::CircuitStatus;
pub use client::{Outgoing, Payload, Pieces};
pub use discovery::{Answer, NameStatus, Names, News, Resolver, Trouble};
pub(crate) use failure::cut as body_cut;
pub use failure::{BodyFault, Failure, Why};
pub use identify::WANTS_KEY;
pub use key::{Refused, address_headers};
pub use models::Models;
pub use proof::Proof;
pub use quarantine::Flight;
pub(crate) use served::is_like;
pub use state::{State, Status};

use crate::config::{Balance, Config, QueueConfig, Secret, UpstreamConfig};
use crate::telemetry::Metrics;
use address::Address;
use admission::Admission;
use child::Supervised;
use circuit::RetryBudget;
use client::Client;
use http::{HeaderValue, Method};
use isogloss_core::passage::Forward;
use isogloss_core::probe::{Depth, Report};
use isogloss_core::rules::{InText, Markup, Rule, RuleSet};
use key::KnownKey;
use load::Health;
use models::Listed;
use renewal::{Likeness, Watching};
use same::RulesInUse;
use served::Served;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, watch as channel};
use tokio::time::Instant;

/// How often a request is sent again that the server did not read to its end.
const UNREAD_RETRIES: usize = 3;

/// Why the upstreams cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The HTTP client cannot be built, most often for want of root certificates.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// A key that cannot be sent.
    #[error("upstream {index}: the API key has characters that no HTTP header may have")]
    Key {
        /// The upstream's place in the configuration.
        index: usize,
    },
    /// An address that cannot be used.
    #[error("upstream {index}: {source}")]
    Address {
        /// The upstream's place in the configuration.
        index: usize,
        /// What is wrong with it.
        source: AddressError,
    },
    /// A word for where thoughts stand that nobody knows.
    #[error("upstream {index}: `thoughts` must be `auto`, `apart`, or one of {known}")]
    Thoughts {
        /// The upstream's place in the configuration.
        index: usize,
        /// The forms that are known.
        known: String,
    },
    /// The worker's socket has no place.
    #[error("the worker cannot be set up")]
    Worker(#[from] std::io::Error),
}

/// All servers, in the order of the configuration.
#[derive(Debug)]
pub struct Upstreams {
    all: Vec<Arc<Upstream>>,
    loading: Duration,
    /// Among the servers that have a model the first is asked that can be used.
    is_ordered: bool,
    budget: Mutex<RetryBudget>,
    changes: Arc<channel::Sender<u64>>,
    worker: Option<Worker>,
    /// What keeps the worker running, whichever configuration is in force. Dropping the last ends it.
    supervisor: Supervised,
    watching: Watching,
}

/// One server.
#[derive(Debug)]
pub struct Upstream {
    index: usize,
    address: Address,
    authorization: Option<HeaderValue>,
    /// The key in it, which no client may see.
    key: Option<Secret>,
    /// Whether the server refuses it.
    known_key: Arc<Mutex<KnownKey>>,
    pin: Option<crate::config::DialectPin>,
    /// The operator's word for its models' markup.
    markup: Option<String>,
    /// Where thoughts stand, where the operator says.
    thoughts: Option<String>,
    client: Client,
    probe: Depth,
    /// Asking it may cost money.
    is_hosted: bool,
    /// Whether there are others, so that its models tell which requests are for it.
    is_one_of_several: bool,
    /// Which models it has, as the operator says, and what they are asked for there.
    served: Served,
    weight: f64,
    /// How many kinds of servers of its name are asked before it.
    tier: usize,
    /// Whether it is one of those that DNS tells of, however many these are.
    is_discovered: bool,
    /// What was measured of it, and which models it is not asked for.
    health: Arc<Mutex<Health>>,
    /// What it was made of: where another configuration makes the same of it, what is known of it stays known.
    likeness: Likeness,
    /// Its place in the configuration that is in force, for metrics; [`renewal::NOWHERE`] before and after that.
    shown: Arc<AtomicUsize>,
    /// The models that it lists.
    models: Arc<channel::Sender<Listed>>,
    state: Arc<channel::Sender<State>>,
    kick: Arc<Notify>,
    rules: Arc<RuleSet>,
    in_use: Arc<RulesInUse>,
    metrics: Arc<Metrics>,
    changes: Arc<channel::Sender<u64>>,
    /// What goes on to it untranslated.
    forward: Forward,
    /// How much it is sent at once, and those who wait for that.
    queue: QueueConfig,
    admission: Arc<Admission>,
    /// What is the worker's alone, where this is it.
    worker: Option<Arc<child::Shared>>,
    /// Whether what it enforces is still to be found out before it counts as proven.
    unasked: Arc<AtomicBool>,
    /// The dialect by which it was last known, unless it was taken for a plain server.
    seen_as: Arc<Mutex<Option<String>>>,
}

impl Upstreams {
    /// Sets up every server and starts to identify them in the background. Needs a runtime.
    ///
    /// # Errors
    /// A key or an address that cannot be used, or no root certificates for an `https` upstream.
    pub fn start(
        config: &Config,
        rules: &Arc<RuleSet>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, SetupError> {
        let started = Self::launching(config, rules, metrics, &Launch::this_program(), None)?;
        started.take_over(None);
        Ok(started)
    }

    /// The same, where another program becomes the worker, or after other servers: those that stay are known. They
    /// are in force once they have taken over.
    ///
    /// # Errors
    /// As above.
    pub fn launching(
        config: &Config,
        rules: &Arc<RuleSet>,
        metrics: &Arc<Metrics>,
        launch: &Launch,
        before: Option<&Self>,
    ) -> Result<Self, SetupError> {
        let client = Client::new(config)?;
        let changes = match before {
            Some(before) => Arc::clone(&before.changes),
            None => Arc::default(),
        };
        let in_use = RulesInUse::after(before);
        let has_worker = config.worker.model.is_some();
        let is_one_of_several = is_fleet(config);
        let server = |index, address, client, shown: &Arc<AtomicUsize>| Upstream {
            index,
            address,
            authorization: None,
            key: None,
            known_key: Arc::default(),
            pin: None,
            markup: None,
            thoughts: None,
            client,
            probe: Depth::Off,
            is_hosted: false,
            is_one_of_several,
            served: Served::default(),
            weight: 1.0,
            tier: 0,
            is_discovered: false,
            health: Arc::default(),
            likeness: Likeness::of_worker(),
            shown: Arc::clone(shown),
            queue: QueueConfig::NONE,
            admission: Admission::new(metrics, shown),
            models: Arc::default(),
            state: Arc::new(channel::Sender::new(State::unknown())),
            kick: Arc::default(),
            rules: Arc::clone(rules),
            in_use: Arc::clone(&in_use),
            metrics: Arc::clone(metrics),
            changes: Arc::clone(&changes),
            forward: config.forward.clone(),
            worker: None,
            unasked: Arc::default(),
            seen_as: Arc::default(),
        };
        let shown = || Arc::new(AtomicUsize::new(renewal::NOWHERE));
        let mut all: Vec<Arc<Upstream>> = Vec::with_capacity(config.upstreams.len() + 1);
        let watching = Watching::default();
        for (index, upstream) in config.upstreams.iter().enumerate() {
            let address =
                Address::of(upstream).map_err(|source| SetupError::Address { index, source })?;
            check_thoughts(index, upstream, rules)?;
            let likeness = Likeness::of(upstream, config, rules);
            let known = before.and_then(|before| before.like(&likeness, &all));
            let client = match address.socket() {
                _ if known.is_some() => client.clone(),
                Some(socket) => Client::of_socket(socket),
                None => client.of(config, upstream)?,
            };
            let made = Upstream {
                authorization: key::bearer(upstream).map_err(|()| SetupError::Key { index })?,
                key: upstream.api_key.clone(),
                pin: upstream.dialect.clone(),
                markup: upstream.markup.clone(),
                thoughts: upstream.thoughts.clone(),
                forward: (upstream.forward.clone()).unwrap_or_else(|| config.forward.clone()),
                probe: config.probe,
                is_hosted: upstream.is_hosted(rules),
                served: Served::of(upstream),
                weight: f64::from(upstream.weight) * upstream.member.map_or(1.0, |it| it.share),
                tier: upstream.member.map_or(0, |member| member.tier),
                is_discovered: upstream.servers.is_some(),
                likeness,
                queue: upstream.queue,
                ..server(index, address, client, &shown())
            };
            all.push(match known {
                Some(known) => Arc::new(made.known_as(known)),
                None => {
                    let upstream = Arc::new(made);
                    upstream.to_be_asked();
                    watching.begin(watch::watch(Arc::clone(&upstream)));
                    upstream
                }
            });
        }
        let (mut worker, mut supervisor) = (None, None);
        if has_worker {
            let base = |address, client| server(all.len(), address, client, &shown());
            let (upstream, handle, running) = Self::with_worker(base, config, launch, before)?;
            (worker, supervisor) = (Some(handle), running);
            all.push(upstream);
        }
        Ok(Self {
            all,
            loading: config.timeouts.loading,
            is_ordered: config.balance == Balance::First,
            budget: Mutex::new(RetryBudget::new(Instant::now())),
            changes,
            worker,
            supervisor,
            watching,
        })
    }

    /// The bundled worker, where there is one; it comes after all other servers.
    #[must_use]
    pub const fn worker(&self) -> Option<&Worker> {
        self.worker.as_ref()
    }

    /// Every server, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.all.iter()
    }

    /// How many servers there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.all.len()
    }

    /// The servers that can be used, of those that may be asked.
    pub fn usable(&self, may: impl Fn(&Upstream) -> bool) -> Vec<Arc<Upstream>> {
        let all = self.all.iter().filter(|one| may(one) && one.is_usable());
        all.cloned().collect()
    }

    /// What is known of each server, for operators.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        self.all.iter().map(|one| one.status()).collect()
    }

    /// Whether at least one server can be used.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.all.iter().any(|one| one.is_usable())
    }

    /// Whether at least one server can be used, and enforces something if it was asked.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        let usable = self.all.iter().filter(|one| one.is_usable());
        usable
            .map(|one| one.proof())
            .any(|proof| matches!(proof, Proof::Enforces | Proof::NotAsked))
    }
}

/// Whether there are several servers, or may be as soon as DNS says so.
fn is_fleet(config: &Config) -> bool {
    let count = config.upstreams.len() + usize::from(config.worker.model.is_some());
    count > 1 || config.upstreams.iter().any(|one| one.servers.is_some())
}

/// Whether the operator's word for where thoughts stand is one that is known.
fn check_thoughts(
    index: usize,
    upstream: &UpstreamConfig,
    rules: &RuleSet,
) -> Result<(), SetupError> {
    let is_known = |word: &str| InText::of(word, rules.thoughts()).is_some();
    if upstream.thoughts.as_deref().is_none_or(is_known) {
        return Ok(());
    }
    let known = rules.thoughts().names().collect::<Vec<_>>().join(", ");
    Err(SetupError::Thoughts { index, known })
}

impl Upstream {
    /// The server's place in the configuration.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Scheme, authority and base path, without credentials.
    #[must_use]
    pub fn name(&self) -> &str {
        self.address.name()
    }

    /// Whether a request that is not translated goes on to it.
    #[must_use]
    pub fn forwards(&self, method: &Method, path: &str) -> bool {
        self.forward.allows(method.as_str(), path)
    }

    /// The rule, where one is known: that of the first model.
    #[must_use]
    pub fn rule(&self) -> Option<Arc<Rule>> {
        let models = self.models.borrow();
        let rule = self.rule_of(models.first().unwrap_or_default());
        drop(models);
        rule
    }

    /// The rule, or that which the server's pin or its host name tells before it has answered anything.
    #[must_use]
    pub fn expected_rule(&self) -> Option<Arc<Rule>> {
        self.rule().or_else(|| self.pinned_rule())
    }

    /// In which markup the first model writes calls, where that is known.
    #[must_use]
    pub fn markup(&self) -> Option<Markup> {
        let models = self.models.borrow();
        let model = models.first().unwrap_or_default();
        let markup = self.rule_of(model)?.markup_of(model);
        drop(models);
        markup
    }

    /// The rule by which requests for this model are planned.
    #[must_use]
    pub fn rule_of(&self, model: &str) -> Option<Arc<Rule>> {
        self.state.borrow().rule_of(model).cloned()
    }

    /// What the server's first model was found to enforce, once it has been asked.
    #[must_use]
    pub fn report(&self) -> Option<Arc<Report>> {
        let models = self.models.borrow();
        self.state.borrow().report_of(models.first()?).cloned()
    }

    /// What each model was found to enforce that has been asked.
    #[must_use]
    pub fn reports(&self) -> Vec<Arc<Report>> {
        self.state.borrow().reports()
    }

    /// What is known of the server.
    #[must_use]
    pub fn status(&self) -> Status {
        self.state.borrow().status(self.name())
    }

    /// Sends a request and waits for the head of the reply. A kept connection that the server
    /// closed meanwhile is replaced once, where the body can be sent again.
    ///
    /// # Errors
    /// No connection, or one that broke before the reply began.
    pub async fn send(&self, outgoing: Outgoing) -> Result<http::Response<reqwest::Body>, Failure> {
        if !self.is_one_of_several {
            return self.send_unmeasured(outgoing).await;
        }
        let measured = self.begin();
        let sent = self.send_unmeasured(outgoing).await;
        measured.answered(sent)
    }

    async fn send_unmeasured(
        &self,
        outgoing: Outgoing,
    ) -> Result<http::Response<reqwest::Body>, Failure> {
        if let Some(shared) = &self.worker {
            // Apart, since it would be most of what every request keeps room for.
            return Box::pin(self.send_to_worker(shared, outgoing)).await;
        }
        let again = outgoing.again();
        let mut sent = self.client.execute(self.request(outgoing)?).await;
        for _ in 0..UNREAD_RETRIES {
            let again = again.as_ref().and_then(Outgoing::again);
            let (Err(failure), Some(outgoing)) = (&sent, again) else {
                break;
            };
            if !failure.is_unread() {
                break;
            }
            self.metrics.retry("unread_request");
            sent = self.client.execute(self.request(outgoing)?).await;
        }
        if let (Err(failure), Some(outgoing)) = (&sent, again)
            && failure.is_stale()
        {
            self.metrics.retry("stale_connection");
            sent = self.client.execute(self.request(outgoing)?).await;
        }
        if let Err(failure) = &sent {
            self.failed(failure);
        }
        sent
    }

    fn request(&self, outgoing: Outgoing) -> Result<reqwest::Request, Failure> {
        let rule = self.expected_rule();
        let http = rule.as_deref().map(|rule| &rule.http);
        let v1 = http.and_then(|http| http.v1.as_deref());
        let url = self
            .address
            .join(&outgoing.target, v1)
            .map_err(|error| Failure::refused_target(&error))?;
        let mut request = reqwest::Request::new(outgoing.method, url);
        *request.headers_mut() = outgoing.headers;
        self.authorize(request.headers_mut(), outgoing.with_key);
        if let Some(http) = http {
            address_headers(http, request.headers_mut());
        }
        *request.body_mut() = outgoing.body.into_body();
        Ok(request)
    }

    /// A request found out that something is wrong: the watcher looks at once.
    fn failed(&self, failure: &Failure) {
        if failure.why.is_connect() {
            self.set(State::down(failure.why));
        }
        if failure.why.is_upstream() {
            self.kick.notify_one();
        }
    }

    /// The server answered that it is loading: the watcher looks at once.
    pub fn doubt(&self) {
        self.kick.notify_one();
    }

    /// The server's own error told how it was launched: from now on this model is asked without
    /// what the launch left out. A server that was down is asked anew. Says whether `rule` is not
    /// the one to plan with any more.
    pub fn learn(&self, fact: &str, model: &str, rule: &Arc<Rule>) -> bool {
        let model = self.models.borrow().meant(model).to_owned();
        self.state.send_if_modified(|state| {
            let certain = state.certain_rule_of(&model);
            let learnt = certain.and_then(|rule| rule.knowing(fact));
            let (State::Ready { models, .. }, Some(learnt)) = (state, learnt) else {
                return false;
            };
            tracing::info!(
                upstream = self.address.name(),
                name = self.given_name(),
                model,
                fact,
                "learnt how the upstream was launched"
            );
            models.set(&model, self.in_use.shared(Arc::new(learnt)), None);
            true
        });
        self.rule_of(&model)
            .is_some_and(|current| !Arc::ptr_eq(&current, rule))
    }

    /// Whether a request has to say which model it means: hosted APIs refuse one that does not, and of
    /// several models that a server lists nobody can say which was meant. A server with one answers
    /// with that one, or refuses the request itself; our worker knows its own.
    #[must_use]
    pub fn wants_model(&self) -> bool {
        self.worker.is_none() && (self.is_hosted || self.models.borrow().is_choice())
    }

    fn is_usable(&self) -> bool {
        self.state.borrow().rule().is_some()
    }

    /// There is traffic for a model of which it is not known what it enforces.
    fn want(&self, model: &str) {
        let is_asked = match self.probe {
            Depth::Off => false,
            Depth::Light => !self.is_hosted,
            Depth::Full => true,
        };
        if is_asked && self.models.send_if_modified(|models| models.want(model)) {
            self.kick.notify_one();
        }
    }

    /// The one place where the state changes; writes one log line a change.
    fn set(&self, mut next: State) {
        if let State::Ready { rule, .. } = &mut next {
            *rule = self.in_use.shared(Arc::clone(rule));
        }
        let is_back = self.is_one_of_several && next.rule().is_some() && !self.is_usable();
        if is_back {
            self.came_back();
        }
        let changed = self.state.send_if_modified(|state| {
            let changed = !state.says_the_same(&next);
            if changed {
                next.log(self.address.name(), self.given_name());
                // Before anybody can be told of it.
                if let Some(index) = self.shown() {
                    self.metrics.upstream_up(index, next.rule().is_some());
                }
                *state = next;
            }
            changed
        });
        if changed {
            self.changes
                .send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}
