//! The metric families: the one list from which recording, `# HELP` lines and the table in docs/metrics.md
//! come.

use std::fmt::Write as _;

/// What a family counts like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FamilyKind {
    /// Only ever grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Observations in these buckets, in seconds.
    Histogram(&'static [f64]),
}

impl FamilyKind {
    /// The word that Prometheus uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// One metric family.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// The name in full.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: FamilyKind,
    /// The label names, in the order in which values are given.
    pub labels: &'static [&'static str],
    /// The `# HELP` line.
    pub help: &'static str,
}

// A whole generation takes tens of milliseconds to minutes.
const REPLY: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0,
];
// The proxy's own work: tens of microseconds for a small request, more for a large schema.
const OWN: &[f64] = &[
    0.000_05, 0.000_1, 0.000_2, 0.000_35, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1,
    0.25, 1.0,
];
const COMPILING: &[f64] = &[
    0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

macro_rules! families {
    ($($constant:ident = $name:literal, $kind:expr, [$($label:literal),*], $help:literal;)*) => {
        $(pub(super) const $constant: Family = Family {
            name: $name, kind: $kind, labels: &[$($label),*], help: $help,
        };)*
        /// Every family, in the order of the table.
        pub const FAMILIES: &[Family] = &[$($constant),*];
    };
}

use FamilyKind::{Counter, Gauge, Histogram};

families! {
    REQUESTS = "isogloss_requests_total", Counter,
        ["client_dialect", "server_dialect", "strategy", "outcome"], "Requests that were answered, or whose client went away.";
    REQUEST_DURATION = "isogloss_request_duration_seconds", Histogram(REPLY),
        ["strategy"], "From the request's head to the last byte of its reply.";
    ADDED = "isogloss_added_seconds", Histogram(OWN),
        ["strategy"], "The proxy's own share of a request's time: reading, compiling, rewriting, translating, verifying.";
    UPSTREAM_TIME = "isogloss_upstream_seconds", Histogram(REPLY),
        ["strategy"], "From the first byte sent upstream to the end of the reply, without the proxy's own share.";
    FIRST_DELTA = "isogloss_first_delta_seconds", Histogram(REPLY),
        ["strategy"], "From the request's head to the first event of a streamed reply.";
    IN_FLIGHT = "isogloss_requests_in_flight", Gauge,
        [], "Requests whose reply has not ended.";
    STREAMS_OPEN = "isogloss_streams_open", Gauge,
        [], "Streamed replies being sent now.";
    BUFFERED = "isogloss_buffered_bytes", Gauge,
        [], "Bytes that count against `limits.memory_budget`: requests, replies read as a whole, what streams hold back.";
    SOCKETS_OPEN = "isogloss_websockets_open", Gauge,
        [], "WebSockets that clients hold open now; each request on one counts as a request.";
    VIOLATIONS = "isogloss_violations_total", Counter,
        ["rule", "action"], "Replies that broke the client's demand, by the rule broken (a JSON Schema keyword, regex, tool_choice, …) and what was done (`retry`, `reject`, `pass`, or `cut` in a stream that had begun).";
    REPAIRS = "isogloss_repairs_total", Counter,
        ["repair"], "Replies in which something was mended before they were verified, by what it was.";
    RETRIES = "isogloss_retries_total", Counter,
        ["why"], "Requests that were sent to an upstream again: `violation` (the reply broke the contract), `launch` (the server told what it does not take), `failover` (to another), `connect`, `stale_connection` and `unread_request` (it never had it).";
    LOSSES = "isogloss_losses_total", Counter,
        ["field", "enforced_by"], "Things a server was not told, by the field or JSON Schema keyword, and by who makes sure of them instead.";
    UPSTREAM_ERRORS = "isogloss_upstream_errors_total", Counter,
        ["code"], "Failures of an upstream, by error code: those that clients are told of, its own 429 included, and those that another server, or the same once more, made good.";
    CLIENT_GONE = "isogloss_client_gone_total", Counter,
        ["phase"], "Clients that went away before their reply was complete, by how far it had come: `waiting`, `first_byte` (its head was there, and no byte of it), `streaming`.";
    LIMITS_HIT = "isogloss_limits_hit_total", Counter,
        ["limit"], "Requests or replies that were over a limit, by the limit: `body_bytes`, `body_timeout`, `client_concurrency`, `client_connections`, `client_requests`, `client_tokens`, `concurrency`, `connections`, `files`, `memory_budget`, `reply_bytes`, `retry_budget`.";
    HANDSHAKES_FAILED = "isogloss_tls_handshakes_failed_total", Counter,
        ["why"], "TLS handshakes of clients that came to nothing: `no_certificate` (`tls.client_ca` wants one), `wrong_certificate`, `refused_by_client` (it does not take ours), `timeout`, `other`.";
    CLIENT_REQUESTS = "isogloss_client_requests_total", Counter,
        ["client", "outcome"], "Requests of each client of the configuration; absent where there is none.";
    CLIENT_TOKENS = "isogloss_client_tokens_total", Counter,
        ["client"], "Tokens that its requests took, prompts' and replies' together.";
    STORE_ERRORS = "isogloss_store_errors_total", Counter,
        ["work"], "What the store of responses could not do (write, read, delete, sweep): a reply that is not kept, or a request that was answered 500; absent where there is no store.";
    QUEUE_LENGTH = "isogloss_queue_length", Gauge,
        ["upstream"], "Requests that wait for their turn at an upstream (`max_in_flight`); absent where none has to.";
    QUEUE_WAIT = "isogloss_queue_wait_seconds", Histogram(REPLY),
        ["upstream"], "How long requests waited for their turn at an upstream, those that did not have to included, and those that waited in vain or went away.";
    QUEUE_REFUSED = "isogloss_queue_refused_total", Counter,
        ["upstream", "why"], "Requests that got no turn: as many waited as may (`full`), or it took too long (`timeout`).";
    UPSTREAM_UP = "isogloss_upstream_up", Gauge,
        ["upstream"], "1 where the upstream is reachable and identified, else 0; by its place in the configuration, from 0.";
    UPSTREAM_INFO = "isogloss_upstream_info", Gauge,
        ["upstream", "name", "url"], "Always 1: what the upstream of this place is called (`upstream.name`, else its place) and where it is, without credentials.";
    UPSTREAM_ASIDE = "isogloss_upstream_put_aside_total", Counter,
        ["upstream"], "How often an upstream was put aside for a model that failed there, while others have it; /capabilities tells which.";
    UPSTREAM_CIRCUIT = "isogloss_upstream_circuit_open", Gauge,
        ["upstream", "model"], "1 while an upstream is put aside for a model, 0 where it failed with it since its last good reply and is asked all the same; absent otherwise. Models that it does not list are `other`.";
    FALLBACKS = "isogloss_fallbacks_total", Counter,
        ["upstream"], "Requests that another model answered than they named, as `upstream.fallback` allows, by the upstream that answered.";
    NAME_SERVERS = "isogloss_dns_servers", Gauge,
        ["name"], "How many servers a DNS name stands for (`upstream.addresses`, `upstream.srv`), by the last answer that named one.";
    NAME_STALE = "isogloss_dns_stale", Gauge,
        ["name"], "1 where DNS names no server any more, or does not answer, and the last answer is kept, else 0; /readyz tells why.";
    NAME_LOOKUPS = "isogloss_dns_lookups_total", Counter,
        ["outcome"], "How often DNS was asked which servers a name stands for: `answered`, `empty` (it names none), `failed`, or `timeout`.";
    PROBE_RESULTS = "isogloss_probe_results", Gauge,
        ["upstream", "demand", "verdict"], "1 for what an upstream was found to do with a demand when it was asked (enforced, unclear, ignored, refused), 0 for the other verdicts.";
    WORKER_UP = "isogloss_worker_up", Gauge,
        [], "1 while the bundled worker takes requests, else 0; absent where there is none.";
    WORKER_RESTARTS = "isogloss_worker_restarts_total", Counter,
        [], "How often the bundled worker was started again.";
    WORKER_STUCK = "isogloss_worker_stuck_total", Counter,
        [], "How often it was ended because a computation of it did not end (`worker.stuck_after`).";
    CACHE_HITS = "isogloss_grammar_cache_hits_total", Counter,
        ["kind"], "Constraints that were found compiled.";
    CACHE_MISSES = "isogloss_grammar_cache_misses_total", Counter,
        ["kind"], "Constraints that had to be compiled.";
    CACHE_JOINS = "isogloss_grammar_cache_joins_total", Counter,
        ["kind"], "Requests that waited for a compilation which another request had begun.";
    CACHE_EVICTIONS = "isogloss_grammar_cache_evictions_total", Counter,
        [], "Compiled constraints that gave way to others.";
    CACHE_ENTRIES = "isogloss_grammar_cache_entries", Gauge,
        [], "Compiled constraints in the cache.";
    CACHE_BYTES = "isogloss_grammar_cache_bytes", Gauge,
        [], "Estimated size of the compiled constraints in the cache.";
    COMPILE = "isogloss_grammar_compile_seconds", Histogram(COMPILING),
        ["kind"], "Time to compile one constraint.";
    TRANSLATION_HITS = "isogloss_translation_cache_hits_total", Counter,
        [], "Schemas, grammars and unions of calls that had been written for a server before.";
    TRANSLATION_MISSES = "isogloss_translation_cache_misses_total", Counter,
        [], "Schemas, grammars and unions of calls that were written for a server.";
    TRANSLATION_EVICTIONS = "isogloss_translation_cache_evictions_total", Counter,
        [], "What was written for a server and gave way to others.";
    TRANSLATION_ENTRIES = "isogloss_translation_cache_entries", Gauge,
        [], "What was written for servers and is remembered.";
    TRANSLATION_BYTES = "isogloss_translation_cache_bytes", Gauge,
        [], "Estimated size of what was written for servers and is remembered.";
    RELOADS = "isogloss_config_reloads_total", Counter,
        ["outcome"], "How often the configuration was read anew: `applied`, or `refused` for its faults, which the log has.";
    RELOAD_OK = "isogloss_config_last_reload_successful", Gauge,
        [], "1 where what was read last is in force, 0 where it was refused and what was before still is.";
    RELOAD_TIME = "isogloss_config_last_reload_success_timestamp_seconds", Gauge,
        [], "When the configuration that is in force was put in force, in seconds since the epoch.";
    SPANS_DROPPED = "isogloss_spans_dropped_total", Counter,
        [], "Spans that were not delivered: the collector did not take them, or not fast enough.";
    BUILD_INFO = "isogloss_build_info", Gauge,
        ["version"], "Always 1.";
    // The names that every Prometheus client library gives them; all but the first where there is a /proc.
    START_TIME = "process_start_time_seconds", Gauge,
        [], "When the process started, in seconds since the epoch.";
    CPU_TIME = "process_cpu_seconds_total", Counter,
        [], "Time that processors worked for the process, for itself and in the kernel.";
    RESIDENT = "process_resident_memory_bytes", Gauge,
        [], "Memory that the process holds.";
    OPEN_FILES = "process_open_fds", Gauge,
        [], "File descriptors that the process holds.";
    MAX_FILES = "process_max_fds", Gauge,
        [], "File descriptors that it may hold.";
}

/// The table of families as Markdown.
#[must_use]
pub fn families_markdown() -> String {
    let mut table = String::from("| family | kind | labels | what it says |\n|---|---|---|---|\n");
    for family in FAMILIES {
        let labels: Vec<String> = family
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            family.name,
            family.kind.as_str(),
            labels.join(" "),
            family.help
        );
    }
    table
}
