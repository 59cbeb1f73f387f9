//! Validated configuration. Raw values come from a TOML file, the environment and flags;
//! every mistake is reported at once, with its place and the remedy.

mod client;
mod discovery;
mod environment;
mod fault;
mod file;
mod fixed;
mod fleet;
mod load;
mod memory;
mod origins;
mod queue;
mod settings;
mod socket;
mod tables;
mod tls;
mod units;
mod worker;

pub(crate) use client::client_name;
pub use client::{ClientConfig, KeyHash};
pub use discovery::{Endpoint, Member, Name};
pub(crate) use environment::misspelt;
pub(crate) use fault::did_you_mean;
pub use fault::{Fault, Faults, Place};
pub use fixed::FIXED;
pub use load::{Named, Sources, Word, WordCheck, any_word, load};
pub use origins::Origins;
pub use queue::{QueueConfig, priority};
pub use settings::{SETTINGS, Setting, settings_markdown};
pub use socket::unix_socket;
pub use tls::{AdminTls, TlsConfig, TlsFiles, UpstreamTls};
pub use worker::{JsonSpace, ModelSource, ProjectorSource, Speculation, WorkerConfig};

use crate::journal::Recording;
use isogloss_core::ir::Repair;
use isogloss_core::passage::Forward;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Everything a running proxy needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// What is spoken there in TLS, if it is.
    pub tls: TlsFiles,
    /// Where operators connect; never needs to be exposed.
    pub admin: SocketAddr,
    /// The servers; at least one, unless there is a worker, which comes after them.
    pub upstreams: Vec<UpstreamConfig>,
    /// Who may ask; anybody where there is none.
    pub clients: Vec<ClientConfig>,
    /// Anybody who reaches the proxy may use the servers' keys.
    pub is_open: bool,
    /// How often the files below, and the rules, are looked at for a change; zero for never.
    pub reload_every: Duration,
    /// Which files were read for all this: the configuration's own, and those that it names for what they hold.
    pub files: Vec<PathBuf>,
    /// What is to be said of servers in the file that are not used, where there are some.
    pub unused: Option<String>,
    /// A folder of rule files that overlays the built-in ones.
    pub rules: Option<PathBuf>,
    /// What to do with a reply that breaks the contract.
    pub on_violation: OnViolation,
    /// How often a reply that breaks the contract is asked for again, where `on_violation` is `Retry`.
    pub violation_retries: u32,
    /// What is mended in a reply before it counts as a violation.
    pub repair: Repair,
    /// What to do with a demand on a route whose replies are not verified.
    pub unverified: Unverified,
    /// What goes on untranslated beside inference, where an upstream does not say for itself.
    pub forward: Forward,
    /// Which web pages may call the proxy from a browser.
    pub origins: Origins,
    /// A chat request that names no model.
    pub missing_model: MissingModel,
    /// Which of several servers is asked that have a model.
    pub balance: Balance,
    /// Which requests go to the same one of them.
    pub affinity: Affinity,
    /// The DNS server that is asked which servers a name stands for, instead of those of the machine.
    pub resolver: Option<SocketAddr>,
    /// How much each server is asked about what it enforces, when it is identified.
    pub probe: isogloss_core::probe::Depth,
    /// The secret that signs thoughts which no server signs; of this process alone where there is none.
    pub thinking_key: Option<Secret>,
    /// Sizes and counts.
    pub limits: Limits,
    /// Times.
    pub timeouts: Timeouts,
    /// What is remembered of the last requests, for the console.
    pub record: Recording,
    /// What operators from other machines must know to see the console.
    pub admin_token: Option<Secret>,
    /// Log lines as JSON rather than text.
    pub log_json: bool,
    /// The OpenTelemetry collector that gets a trace of each request.
    pub otlp_endpoint: Option<reqwest::Url>,
    /// Replies that are kept for clients of Responses.
    pub responses: ResponsesConfig,
    /// The bundled decoding worker.
    pub worker: WorkerConfig,
}

impl Default for Config {
    /// The defaults of everything, and no upstream.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            tls: TlsFiles::default(),
            admin: SocketAddr::from((Ipv4Addr::LOCALHOST, 9090)),
            upstreams: Vec::new(),
            clients: Vec::new(),
            is_open: false,
            reload_every: Duration::from_secs(5),
            files: Vec::new(),
            unused: None,
            rules: None,
            on_violation: OnViolation::Retry,
            violation_retries: 1,
            repair: Repair::default(),
            unverified: Unverified::Refuse,
            origins: Origins::default(),
            forward: Forward::default(),
            missing_model: MissingModel::Refuse,
            balance: Balance::Load,
            affinity: Affinity::None,
            resolver: None,
            probe: isogloss_core::probe::Depth::Light,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            thinking_key: None,
            record: Recording::default(),
            admin_token: None,
            log_json: false,
            otlp_endpoint: None,
            responses: ResponsesConfig::default(),
            worker: WorkerConfig::default(),
        }
    }
}

/// One server.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    /// Scheme, authority and maybe a base path, without `/v1` and without a trailing slash; or
    /// `unix:` and the path of a socket.
    pub url: reqwest::Url,
    /// Sent as `Authorization: Bearer …` instead of the client's own, where set.
    pub api_key: Option<Secret>,
    /// The dialect's name and maybe a version, where pinned: detection is not asked.
    pub dialect: Option<DialectPin>,
    /// In which markup its models write calls, by the format's name, or `off`; otherwise that is found out.
    pub markup: Option<String>,
    /// Where the thoughts of its models stand, in a word of [`isogloss_core::rules::Rule::with_thoughts`].
    pub thoughts: Option<String>,
    /// What goes on to it untranslated beside inference, instead of what [`Config::forward`] says.
    pub forward: Option<Forward>,
    /// How much it is sent at once, and who waits for that.
    pub queue: QueueConfig,
    /// What it is reached with in TLS.
    pub tls: UpstreamTls,
    /// What clients and operators are told of it.
    pub name: Option<String>,
    /// The models that it has, `*` for anything; what it lists, where there is none.
    pub models: Vec<String>,
    /// Other names of its models: what clients write, and what it is asked for.
    pub aliases: Vec<(String, String)>,
    /// How much it gets, compared with others.
    pub weight: u32,
    /// The models that are asked for where none of those that have a model of its own can answer.
    pub fallback: Vec<String>,
    /// What DNS is asked for its servers, where its name stands for several.
    pub servers: Option<Name>,
    /// Which of them this is, once they are known.
    pub member: Option<Member>,
}

impl UpstreamConfig {
    /// The server at this address, of which nothing else is said.
    #[must_use]
    pub const fn at(url: reqwest::Url) -> Self {
        Self {
            url,
            api_key: None,
            dialect: None,
            markup: None,
            thoughts: None,
            forward: None,
            queue: QueueConfig::NONE,
            tls: UpstreamTls {
                ca: None,
                identity: None,
            },
            name: None,
            models: Vec::new(),
            aliases: Vec::new(),
            weight: 1,
            fallback: Vec::new(),
            servers: None,
            member: None,
        }
    }

    /// Whether requests may cost money there: a hosted API that is known by its name, or one
    /// behind TLS that takes a key.
    #[must_use]
    pub fn is_hosted(&self, rules: &isogloss_core::rules::RuleSet) -> bool {
        let is_keyed = self.url.scheme() == "https" && self.api_key.is_some();
        is_keyed || rules.is_hosted(self.url.host_str().unwrap_or_default())
    }
}

/// A pinned dialect: `vllm`, or `vllm@0.10.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectPin {
    /// The rule file's name.
    pub name: String,
    /// The version, where pinned too.
    pub version: Option<isogloss_core::rules::Version>,
}

impl DialectPin {
    /// Reads `NAME` or `NAME@VERSION`; `None` where it is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(isogloss_core::rules::Version::parse(version)?)),
            None => (text, None),
        };
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (!name.is_empty() && name.bytes().all(is_word)).then(|| Self {
            name: name.to_owned(),
            version,
        })
    }
}

/// A value that never shows in logs, errors or `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    #[must_use]
    pub const fn new(value: String) -> Self {
        Self(value)
    }

    /// The value, to be sent and nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What to do with a reply that breaks the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnViolation {
    /// Ask again, with the error shown to the model; then refuse (502).
    Retry,
    /// Refuse (502) at once.
    Reject,
    /// Let it through, marked in a header and a metric.
    Pass,
}

/// What to do with a request that demands something of its reply on a route that is not translated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unverified {
    /// Refuse (400), naming the field.
    Refuse,
    /// Forward it, marked in a header and a metric.
    Forward,
}

/// What to do with a chat request that names no model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingModel {
    /// Refuse (400), as OpenAI does.
    Refuse,
    /// Let a server that has one model answer with that.
    Forward,
}

/// Which of several servers is asked that have a model and enforce what is demanded equally well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balance {
    /// The least loaded, of some that chance names where there are many.
    Load,
    /// The first that can be used, in the order of the configuration, however well it enforces.
    First,
}

/// What requests have in common that go to the same of several servers, while that has no more than its share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Affinity {
    /// Nothing.
    None,
    /// What they say of their user: `user`, `safety_identifier`, `prompt_cache_key`, or `metadata.user_id`.
    User,
    /// How their conversation begins.
    Prompt,
    /// The value of this header.
    Header(http::HeaderName),
}

/// Sizes and counts. Each default has its reason in `reference` beside the constant.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A request body, bytes (32 MiB: image chats).
    pub body_bytes: usize,
    /// A reply, or what a streamed one says, bytes (64 MiB).
    pub reply_bytes: usize,
    /// One unfinished SSE event, bytes (1 MiB).
    pub event_bytes: usize,
    /// Bytes a second that a request body must come at, over all (4 KiB).
    pub body_rate: usize,
    /// Connections of clients at once; more wait to be accepted (16,384).
    pub connections: usize,
    /// Of them from one address; more are closed (0: as many as there may be).
    pub client_connections: usize,
    /// All bytes that are held on the way (a quarter of the memory that there is, at least 256 MiB).
    pub memory_budget: usize,
    /// Requests at once; more are shed (1024).
    pub concurrency: usize,
    /// In which header a request may say how urgent it is (none).
    pub priority_header: Option<http::HeaderName>,
    /// Compiled constraints, entries (4096).
    pub cache_entries: usize,
    /// Compiled constraints, bytes (an eighth of the memory that there is, at most 256 MiB).
    pub cache_bytes: usize,
    /// Threads that requests are worked on; 0 for one for every two processors.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            reply_bytes: 64 << 20,
            event_bytes: 1 << 20,
            body_rate: 4 << 10,
            connections: 16_384,
            client_connections: 0,
            memory_budget: memory::budget(),
            concurrency: 1024,
            priority_header: None,
            cache_entries: 4096,
            cache_bytes: memory::caches(),
            threads: 0,
        }
    }
}

/// Replies that are kept, so that later requests go on from them.
#[derive(Debug, Clone)]
pub struct ResponsesConfig {
    /// Where.
    pub store: StorePlace,
    /// How many at most (100,000).
    pub entries: usize,
    /// Of how many bytes at most, with what they were asked with (256 MiB; [`StorePlace::Auto`] has less).
    pub bytes: usize,
    /// For how long since they were made or gone on from (30 days, as OpenAI's servers do).
    pub expiry: Duration,
}

/// Where replies are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StorePlace {
    /// In the process, in at most 32 MiB, and not at all before servers that keep replies themselves: SDKs
    /// name what was said before by its id unless they are told not to (the AI SDK), since OpenAI's servers keep every reply
    /// of which a request doesn't say `store: false`.
    #[default]
    Auto,
    /// Nowhere.
    Nowhere,
    /// In the process: gone when it ends.
    Memory,
    /// In an SQLite file, which is made where it is missing.
    File(PathBuf),
}

impl Default for ResponsesConfig {
    fn default() -> Self {
        Self {
            store: StorePlace::Auto,
            entries: 100_000,
            bytes: 256 << 20,
            expiry: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// Times.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Reading a request's head (10 s).
    pub header: Duration,
    /// The longest pause of a request's body, and what its rate is forgiven (30 s).
    pub body: Duration,
    /// Connecting to an upstream (2 s).
    pub connect: Duration,
    /// Compiling a constraint, and as long again waiting for a thread (3 s).
    pub compile: Duration,
    /// From the request sent to the first event or the whole reply (600 s).
    pub first_byte: Duration,
    /// Between two events of a stream (120 s).
    pub idle: Duration,
    /// Waiting for a server that is still loading before answering 503 (10 s).
    pub loading: Duration,
    /// From SIGTERM to the end of the last stream (120 s).
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            header: seconds(10),
            body: seconds(30),
            connect: seconds(2),
            compile: seconds(3),
            first_byte: seconds(600),
            idle: seconds(120),
            loading: seconds(10),
            drain: seconds(120),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;

    #[test]
    fn a_server_is_hosted_by_its_name_or_by_a_key_behind_tls() {
        let rules = isogloss_core::rules::RuleSet::builtin();
        for (url, key, is_hosted) in [
            ("https://api.openai.com/v1", false, true),
            ("http://API.OpenAI.com", false, true),
            ("https://llm.example.com", true, true),
            ("https://llm.example.com", false, false),
            ("http://llm.internal:8000", true, false),
            ("http://openai.com.example", false, false),
        ] {
            let upstream = UpstreamConfig {
                api_key: key.then(|| Secret::new("k".to_owned())),
                ..UpstreamConfig::at(url.parse().unwrap())
            };
            assert_eq!(upstream.is_hosted(&rules), is_hosted, "{url}");
        }
    }
}
