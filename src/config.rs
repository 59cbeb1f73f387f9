//! Validated configuration. Raw values come from a TOML file, the environment and flags;
//! every mistake is reported at once, with its place and the remedy.

mod fault;
mod file;
mod load;
mod settings;
mod socket;
mod units;
mod worker;

pub use fault::{Fault, Faults, Place};
pub use load::{Sources, load};
pub use settings::{SETTINGS, Setting, settings_markdown};
pub use socket::unix_socket;
pub use worker::{JsonSpace, ModelSource, ProjectorSource, WorkerConfig};

use isogloss_core::ir::Repair;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Everything a running proxy needs to know.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// Where operators connect; never needs to be exposed.
    pub admin: SocketAddr,
    /// The servers, tried in order; at least one, unless there is a worker, which comes after them.
    pub upstreams: Vec<UpstreamConfig>,
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
    /// How much each server is asked about what it enforces, when it is identified.
    pub probe: isogloss_core::probe::Depth,
    /// Sizes and counts.
    pub limits: Limits,
    /// Times.
    pub timeouts: Timeouts,
    /// Log lines as JSON rather than text.
    pub log_json: bool,
    /// The OpenTelemetry collector that gets a trace of each request.
    pub otlp_endpoint: Option<reqwest::Url>,
    /// The bundled decoding worker.
    pub worker: WorkerConfig,
}

impl Default for Config {
    /// The defaults of everything, and no upstream.
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            admin: SocketAddr::from((Ipv4Addr::LOCALHOST, 9090)),
            upstreams: Vec::new(),
            rules: None,
            on_violation: OnViolation::Retry,
            violation_retries: 1,
            repair: Repair::default(),
            unverified: Unverified::Refuse,
            probe: isogloss_core::probe::Depth::Light,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            log_json: false,
            otlp_endpoint: None,
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
}

impl UpstreamConfig {
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

/// Sizes and counts. Each default has its reason in `reference` beside the constant.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A request body, bytes (32 MiB: image chats).
    pub body_bytes: usize,
    /// A reply that is not streamed, bytes (64 MiB).
    pub reply_bytes: usize,
    /// One unfinished SSE event, bytes (1 MiB).
    pub event_bytes: usize,
    /// Requests at once; more are shed (1024).
    pub concurrency: usize,
    /// Compiled constraints, entries (4096).
    pub cache_entries: usize,
    /// Compiled constraints, bytes (256 MiB).
    pub cache_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            reply_bytes: 64 << 20,
            event_bytes: 1 << 20,
            concurrency: 1024,
            cache_entries: 4096,
            cache_bytes: 256 << 20,
        }
    }
}

/// Times.
#[derive(Debug, Clone)]
pub struct Timeouts {
    /// Reading a request's head (10 s).
    pub header: Duration,
    /// Reading a request's body (30 s without progress).
    pub body: Duration,
    /// Connecting to an upstream (2 s).
    pub connect: Duration,
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
                url: url.parse().unwrap(),
                api_key: key.then(|| Secret::new("k".to_owned())),
                dialect: None,
            };
            assert_eq!(upstream.is_hosted(&rules), is_hosted, "{url}");
        }
    }
}
