//! Every setting that is one value: the one list from which flags, environment variables, file
//! keys and the table in docs/reference.md come. Text in, a changed [`Config`] out.

mod values;

pub(in crate::config) use values::forward;

use super::Config;
use super::discovery::resolver;
use super::fixed::FIXED;
use super::fleet::{affinity, balance};
use super::origins::origins;
use super::queue::header;
use super::tables::TABLES;
use super::units::{Wrong, duration, size};
use std::fmt::Write as _;
use std::path::Path;
use values::{
    address, admin_tls, budget, caches, collector, count, depth, expiry, file, folder, layers,
    log_format, missing_model, model, number, on_violation, pem, positive, projector, recording,
    repair, secret_of, speculation, store, unverified, whitespace, word, yes,
};

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The key in the file, `limits.body_bytes`.
    pub key: &'static str,
    /// The environment variable.
    pub env: &'static str,
    /// The command line flag without its dashes, where there is one.
    pub flag: Option<&'static str>,
    /// The default, as it would be written.
    pub default: &'static str,
    /// For people.
    pub what: &'static str,
    /// The name of the flag's value.
    pub value: &'static str,
    /// Reads the value into the configuration. Relative paths start at the folder.
    pub(super) set: fn(&mut Config, &str, &Path) -> Result<(), Wrong>,
}

macro_rules! settings {
    ($($key:literal, $env:literal, $flag:expr, $value:literal = $default:literal, $what:literal, $set:expr;)*) => {
        /// Every setting that is one value, in the order of the table.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            key: $key, env: $env, flag: $flag, value: $value, default: $default, what: $what, set: $set,
        }),*];
    };
}

settings! {
    "listen", "ISOGLOSS_LISTEN", Some("listen"), "ADDR" = "127.0.0.1:8080",
        "Where clients connect",
        |c, text, _| put(&mut c.listen, address(text));
    "admin", "ISOGLOSS_ADMIN", Some("admin"), "ADDR" = "127.0.0.1:9090",
        "Where operators connect: /metrics /livez /readyz /capabilities",
        |c, text, _| put(&mut c.admin, address(text));
    "admin_token_file", "ISOGLOSS_ADMIN_TOKEN_FILE", Some("admin-token-file"), "FILE" = "",
        "A file with the secret that operators show for the console and its JSON. Without it those are served only where `admin` is a loopback address, or with `tls.admin` mutual",
        |c, text, base| put(&mut c.admin_token, secret_of(text, base).map(Some));
    "record", "ISOGLOSS_RECORD", Some("record"), "WHAT" = "shapes",
        "What is remembered of the last 1000 requests, in memory, for the console: off, shapes (how each was met, sizes and times) or bodies too (the first 64 KiB of each, without what looks like a key)",
        |c, text, _| put(&mut c.record, recording(text));
    "tls.cert", "ISOGLOSS_TLS_CERT", Some("tls-cert"), "FILE" = "",
        "The certificate with which clients are served in TLS, and those between it and its root (PEM); read again when it changes. HTTP/2 and HTTP/1.1 are offered",
        |c, text, base| put(&mut c.tls.cert, pem(text, base).map(Some));
    "tls.key", "ISOGLOSS_TLS_KEY", Some("tls-key"), "FILE" = "",
        "Its private key (PEM)",
        |c, text, base| put(&mut c.tls.key, pem(text, base).map(Some));
    "tls.client_ca", "ISOGLOSS_TLS_CLIENT_CA", Some("tls-client-ca"), "FILE" = "",
        "Authorities (PEM): a client without a certificate of one of them is not served",
        |c, text, base| put(&mut c.tls.client_ca, pem(text, base).map(Some));
    "tls.admin", "ISOGLOSS_TLS_ADMIN", Some("tls-admin"), "HOW" = "no",
        "Whether operators are served in TLS too, with the same certificate: no, yes, or mutual: what is neither /livez nor /readyz then needs a certificate of tls.client_ca",
        |c, text, _| put(&mut c.tls.admin, admin_tls(text));
    "open", "ISOGLOSS_OPEN", Some("open"), "WHETHER" = "no",
        "Lets anybody who reaches the proxy use the upstreams' keys, also from other machines: yes or no. Without it the proxy does not start with such a key where it listens to others and neither [[client]] nor tls.client_ca says whom it serves",
        |c, text, _| put(&mut c.is_open, yes(text));
    "reload_every", "ISOGLOSS_RELOAD_EVERY", Some("reload-every"), "TIME" = "5s",
        "How often the configuration's file, the files that it names and the folder of rules are looked at: what has changed is put in force, while requests run. 0 for never: then SIGHUP alone has them read anew",
        |c, text, _| put(&mut c.reload_every, duration(text));
    "rules", "ISOGLOSS_RULES", Some("rules"), "DIR" = "",
        "A folder of rule files that replace or add to the built-in ones",
        |c, text, base| put(&mut c.rules, folder(text, base).map(Some));
    "on_violation", "ISOGLOSS_ON_VIOLATION", Some("on-violation"), "WHAT" = "retry",
        "What to do with a reply that breaks the client's demand: retry, reject or pass",
        |c, text, _| put(&mut c.on_violation, on_violation(text));
    "violation_retries", "ISOGLOSS_VIOLATION_RETRIES", None, "COUNT" = "1",
        "How often such a reply is asked for again under `retry`",
        |c, text, _| put(&mut c.violation_retries, count(text, 0, 10).map(|n| n as u32));
    "repair", "ISOGLOSS_REPAIR", Some("repair"), "LEVEL" = "types",
        "What is mended in a reply before it counts as a violation: off, syntax (of JSON, and tools' names) or types (`\"36\"` where a number is asked for)",
        |c, text, _| put(&mut c.repair, repair(text));
    "unverified", "ISOGLOSS_UNVERIFIED", Some("unverified"), "WHAT" = "refuse",
        "What to do with a request that demands something of its reply on a route that is not translated, where nothing verifies it: refuse or forward",
        |c, text, _| put(&mut c.unverified, unverified(text));
    "forward", "ISOGLOSS_FORWARD", Some("forward"), "PATHS" = "",
        "Paths that are forwarded beside those of inference, with every method: `/v1/files`, `/v1/files/*` for all below it as well, `*` for everything; separated by commas, in the file a list. The upstream's key goes with them",
        |c, text, _| put(&mut c.forward, forward(text));
    "origins", "ISOGLOSS_ORIGINS", Some("origins"), "ORIGINS" = "",
        "Web pages that may call the proxy from a browser, by their origins: `https://app.example.com`, or `*` for all; separated by commas, in the file a list. Their preflights are answered here, and they can read every reply, errors too. Without it preflights are forwarded, and what the server says of it goes back",
        |c, text, _| put(&mut c.origins, origins(text));
    "missing_model", "ISOGLOSS_MISSING_MODEL", Some("missing-model"), "WHAT" = "refuse",
        "What to do with a chat request that names no model: refuse it as OpenAI does, or forward it to a server that has one model",
        |c, text, _| put(&mut c.missing_model, missing_model(text));
    "balance", "ISOGLOSS_BALANCE", Some("balance"), "HOW" = "load",
        "Which of several servers is asked that have the model and enforce the demand equally well: load (the least loaded, of eight that chance names where there are more) or first (the first that can be used, in the order of the file)",
        |c, text, _| put(&mut c.balance, balance(text));
    "affinity", "ISOGLOSS_AFFINITY", Some("affinity"), "BY" = "none",
        "Which requests go to the same of those servers, for its prefix cache, while it has no more than its share: none, user (`user`, `safety_identifier`, `prompt_cache_key`), prompt (how the conversation begins), or header:NAME",
        |c, text, _| put(&mut c.affinity, affinity(text));
    "resolver", "ISOGLOSS_RESOLVER", Some("resolver"), "ADDR" = "",
        "The DNS server (`10.96.0.10`, or with a port `127.0.0.1:5353`) that is asked which servers a name stands for (`upstream.addresses`, `upstream.srv`), instead of those of /etc/resolv.conf",
        |c, text, _| put(&mut c.resolver, resolver(text).map(Some));
    "probe", "ISOGLOSS_PROBE", Some("probe"), "DEPTH" = "light",
        "How much each server is asked about what it really enforces: off, light (some 15 requests of a few tokens; hosted APIs are not asked) or full",
        |c, text, _| put(&mut c.probe, depth(text));
    "thinking_key_file", "ISOGLOSS_THINKING_KEY_FILE", None, "FILE" = "",
        "A file with a secret that signs thoughts which no server signs, so that they can come back; the same for all replicas. Without it each process has a key of its own",
        |c, text, base| {
            c.files.push(base.join(text));
            put(&mut c.thinking_key, secret_of(text, base).map(Some))
        };
    "log_format", "ISOGLOSS_LOG_FORMAT", Some("log-format"), "FORMAT" = "text",
        "Log lines, and the greeting on standard output, as text or json",
        |c, text, _| put(&mut c.log_json, log_format(text));
    "otlp_endpoint", "ISOGLOSS_OTLP_ENDPOINT", Some("otlp-endpoint"), "URL" = "",
        "An OpenTelemetry collector (OTLP over HTTP, `http://localhost:4318`) that gets a trace of each request; without it there are none",
        |c, text, _| put(&mut c.otlp_endpoint, collector(text).map(Some));
    "limits.body_bytes", "ISOGLOSS_BODY_LIMIT", Some("body-limit"), "SIZE" = "32MiB",
        "Largest request body",
        |c, text, _| put(&mut c.limits.body_bytes, size(text));
    "limits.reply_bytes", "ISOGLOSS_REPLY_LIMIT", None, "SIZE" = "64MiB",
        "Largest reply, and the most that a streamed one may say; of a stream that goes through as it is nothing is held, and it may be longer",
        |c, text, _| put(&mut c.limits.reply_bytes, size(text));
    "limits.event_bytes", "ISOGLOSS_EVENT_LIMIT", None, "SIZE" = "1MiB",
        "Largest single event of a streamed reply that is read",
        |c, text, _| put(&mut c.limits.event_bytes, size(text));
    "limits.body_rate", "ISOGLOSS_BODY_RATE", None, "SIZE" = "4KiB",
        "Bytes a second that a request body must come at over all, beyond the time of `timeouts.body`; slower ones are answered 408",
        |c, text, _| put(&mut c.limits.body_rate, size(text));
    "limits.connections", "ISOGLOSS_MAX_CONNECTIONS", Some("max-connections"), "COUNT" = "16384",
        "Connections of clients at once; more wait until one ends. Lowered where the process may not have so many file descriptors",
        |c, text, _| put(&mut c.limits.connections, count(text, 1, 10_000_000));
    "limits.client_connections", "ISOGLOSS_CLIENT_CONNECTIONS", None, "COUNT" = "0",
        "Connections from one address at once; more are closed. 0 for no limit: behind a balancer all have one address",
        |c, text, _| put(&mut c.limits.client_connections, count(text, 0, 10_000_000));
    "limits.memory_budget", "ISOGLOSS_MEMORY_BUDGET", Some("memory-budget"), "SIZE" = "auto",
        "All bytes of requests and replies that are held at once; what finds no room within a second is answered 503 with Retry-After. `auto` is a quarter of the memory that the machine or the control group has, at least 256MiB",
        |c, text, _| put(&mut c.limits.memory_budget, budget(text));
    "limits.concurrency", "ISOGLOSS_CONCURRENCY", Some("concurrency"), "COUNT" = "1024",
        "Requests at once; more are answered 503 with Retry-After",
        |c, text, _| put(&mut c.limits.concurrency, count(text, 1, 1_000_000));
    "limits.priority_header", "ISOGLOSS_PRIORITY_HEADER", None, "NAME" = "",
        "A header in which a request may say how urgent it is, from -100 to 100: of those that wait for an upstream (`max_in_flight`) the higher go first. No more than the client's `priority`, where clients have keys",
        |c, text, _| put(&mut c.limits.priority_header, header(text).map(Some));
    "limits.cache_entries", "ISOGLOSS_CACHE_ENTRIES", None, "COUNT" = "4096",
        "Compiled schemas and grammars that are kept",
        |c, text, _| put(&mut c.limits.cache_entries, count(text, 1, 1_000_000));
    "limits.cache_bytes", "ISOGLOSS_CACHE_BYTES", None, "SIZE" = "auto",
        "Their estimated size; a quarter of it more is kept of what was written for servers. `auto` is an eighth of the memory that the machine or the control group has, at most 256MiB",
        |c, text, _| put(&mut c.limits.cache_bytes, caches(text));
    "limits.threads", "ISOGLOSS_PROXY_THREADS", None, "COUNT" = "0",
        "Threads that requests are worked on, beside those of what takes long; 0 for one for every two processors",
        |c, text, _| put(&mut c.limits.threads, count(text, 0, 1024));
    "timeouts.header", "ISOGLOSS_HEADER_TIMEOUT", None, "TIME" = "10s",
        "Reading a request's head",
        |c, text, _| put(&mut c.timeouts.header, positive(text));
    "timeouts.body", "ISOGLOSS_BODY_TIMEOUT", None, "TIME" = "30s",
        "The longest pause while a request's body comes, and what `limits.body_rate` forgives at its beginning",
        |c, text, _| put(&mut c.timeouts.body, positive(text));
    "timeouts.connect", "ISOGLOSS_CONNECT_TIMEOUT", None, "TIME" = "2s",
        "Connecting to an upstream",
        |c, text, _| put(&mut c.timeouts.connect, positive(text));
    "timeouts.compile", "ISOGLOSS_COMPILE_TIMEOUT", None, "TIME" = "3s",
        "Compiling a constraint that is new; it may wait as long again for its turn. More where the processor is short",
        |c, text, _| put(&mut c.timeouts.compile, positive(text));
    "timeouts.first_byte", "ISOGLOSS_FIRST_BYTE_TIMEOUT", Some("first-byte-timeout"), "TIME" = "10m",
        "From the request sent upstream to its first event, or its whole reply",
        |c, text, _| put(&mut c.timeouts.first_byte, positive(text));
    "timeouts.idle", "ISOGLOSS_IDLE_TIMEOUT", Some("idle-timeout"), "TIME" = "2m",
        "Between two events of a stream",
        |c, text, _| put(&mut c.timeouts.idle, positive(text));
    "timeouts.loading", "ISOGLOSS_LOADING_TIMEOUT", None, "TIME" = "10s",
        "Waiting for a server that is still loading its model before answering 503",
        |c, text, _| put(&mut c.timeouts.loading, duration(text));
    "timeouts.drain", "ISOGLOSS_DRAIN_TIMEOUT", Some("drain-timeout"), "TIME" = "2m",
        "From SIGTERM or SIGINT to the end of the last stream",
        |c, text, _| put(&mut c.timeouts.drain, duration(text));
    "responses.store", "ISOGLOSS_RESPONSES_STORE", Some("responses-store"), "WHERE" = "auto",
        "Keeps the replies of `/v1/responses` and `/v1beta/interactions` for requests that go on from them, and for `GET`: `memory`, or an SQLite file, which is made where it is missing; `auto` for at most 32 MiB of memory where no server keeps them itself, `none` for nowhere",
        |c, text, base| put(&mut c.responses.store, store(text, base));
    "responses.entries", "ISOGLOSS_RESPONSES_ENTRIES", None, "COUNT" = "100000",
        "Replies that are kept; the longest unused go first",
        |c, text, _| put(&mut c.responses.entries, count(text, 1, 1_000_000_000));
    "responses.bytes", "ISOGLOSS_RESPONSES_BYTES", None, "SIZE" = "256MiB",
        "Their size, with what they were asked with",
        |c, text, _| put(&mut c.responses.bytes, size(text));
    "responses.expiry", "ISOGLOSS_RESPONSES_EXPIRY", None, "TIME" = "30d",
        "How long a reply is kept since it was made, or gone on from",
        |c, text, _| put(&mut c.responses.expiry, expiry(text));
    "worker.model", "ISOGLOSS_MODEL", Some("model"), "PATH" = "",
        "A GGUF file, or a folder of them, for the bundled worker: an upstream of its own, behind all others that are given; `builtin` for the small model in this program, which is used where nothing else is given",
        |c, text, base| put(&mut c.worker.model, model(text, base).map(Some));
    "worker.name", "ISOGLOSS_MODEL_NAME", Some("model-name"), "NAME" = "",
        "The model's name for clients; without it the file's name without `.gguf`",
        |c, text, _| put(&mut c.worker.name, word(text, "name of a model").map(Some));
    "worker.chat_template", "ISOGLOSS_CHAT_TEMPLATE", Some("chat-template"), "FILE" = "",
        "A chat template (Jinja) instead of the model's own",
        |c, text, base| put(&mut c.worker.chat_template, file(text, base).map(Some));
    "worker.mmproj", "ISOGLOSS_MMPROJ", Some("mmproj"), "FILE" = "auto",
        "The model's multimodal projector, with which it takes images or audio: a GGUF file, `auto` for the one beside the model's file that is named after it, or `none`",
        |c, text, base| put(&mut c.worker.mmproj, projector(text, base));
    "worker.context", "ISOGLOSS_CONTEXT", Some("context"), "TOKENS" = "0",
        "Tokens that one conversation may have; 0 for what the model was trained on, at most 8192",
        |c, text, _| put(&mut c.worker.context, number(text, 0, 16 << 20));
    "worker.slots", "ISOGLOSS_SLOTS", Some("slots"), "COUNT" = "8",
        "Answers that the worker generates at the same time",
        |c, text, _| put(&mut c.worker.slots, number(text, 1, 256));
    "worker.queue", "ISOGLOSS_QUEUE", Some("queue"), "COUNT" = "2048",
        "Requests that wait for a slot of the worker; one more is answered 503",
        |c, text, _| put(&mut c.worker.queue, count(text, 1, 1_000_000));
    "worker.threads", "ISOGLOSS_THREADS", Some("threads"), "COUNT" = "0",
        "Threads of the worker's forward pass; 0 for one a physical core",
        |c, text, _| put(&mut c.worker.threads, number(text, 0, 1024));
    "worker.gpu_layers", "ISOGLOSS_GPU_LAYERS", Some("gpu-layers"), "COUNT" = "all",
        "Layers of the model that a GPU computes: a count, or `all` that fit, where the build has a GPU",
        |c, text, _| put(&mut c.worker.gpu_layers, layers(text));
    "worker.device", "ISOGLOSS_DEVICE", Some("device"), "NAME" = "",
        "The device that computes, `cpu` or `CUDA0`; without it the first GPU of the build, else the CPU",
        |c, text, _| put(&mut c.worker.device, word(text, "name of a device").map(Some));
    "worker.stuck_after", "ISOGLOSS_STUCK_AFTER", Some("stuck-after"), "TIME" = "5m",
        "A forward pass of the worker, or the reading of a prompt, that takes so long is taken for stuck: the worker is ended and started again. 0 for never",
        |c, text, _| put(&mut c.worker.stuck_after, duration(text));
    "worker.whitespace", "ISOGLOSS_WHITESPACE", Some("whitespace"), "HOW" = "flexible",
        "White space in the JSON that the worker generates, and servers that can be told, where the request does not say: flexible or compact",
        |c, text, _| put(&mut c.worker.whitespace, whitespace(text));
    "worker.speculate", "ISOGLOSS_SPECULATE", Some("speculate"), "HOW" = "auto",
        "Whether the worker drafts what an answer says again of its prompt or of itself, and has the model check the draft in one forward pass: auto (while one or two answers run, no `seed` is sent, and as long as is worth its time), always (the same without weighing its time, with a `seed` too) or off. Answers are the same",
        |c, text, _| put(&mut c.worker.speculate, speculation(text));
    "worker.grammar_cache_entries", "ISOGLOSS_GRAMMAR_CACHE_ENTRIES", Some("grammar-cache-entries"), "COUNT" = "1024",
        "Compiled grammars that the worker keeps",
        |c, text, _| put(&mut c.worker.grammar_cache_entries, count(text, 1, 1_000_000));
    "worker.grammar_cache_bytes", "ISOGLOSS_GRAMMAR_CACHE_BYTES", Some("grammar-cache-bytes"), "SIZE" = "256MiB",
        "Their estimated size",
        |c, text, _| put(&mut c.worker.grammar_cache_bytes, size(text));
}

fn put<T>(place: &mut T, value: Result<T, Wrong>) -> Result<(), Wrong> {
    *place = value?;
    Ok(())
}

/// The table of settings as Markdown.
#[must_use]
pub fn settings_markdown() -> String {
    let code = |text: &str| match text {
        "" => String::new(),
        text => format!("`{text}`"),
    };
    let mut table = String::from(
        "| key in `isogloss.toml` | flag | variable | default | what |\n|---|---|---|---|---|\n",
    );
    let mut row = |cells: [String; 4], what: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {} | {what} |", cells.join(" | "));
    };
    for [key, flag, env, what] in TABLES {
        row([code(key), code(flag), code(env), String::new()], what);
    }
    for setting in SETTINGS {
        let mark = match FIXED.contains(&setting.key) {
            true => " ⟳",
            false => "",
        };
        let flag = setting.flag.map(|flag| format!("`--{flag}`"));
        let cells = [
            code(setting.key) + mark,
            flag.unwrap_or_default(),
            code(setting.env),
            code(setting.default),
        ];
        row(cells, setting.what);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_defaults_are_the_real_ones() {
        let mut config = Config::default();
        for setting in SETTINGS
            .iter()
            .filter(|setting| !setting.default.is_empty())
        {
            let set = (setting.set)(&mut config, setting.default, Path::new(""));
            assert_eq!(set, Ok(()), "{}", setting.key);
        }
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
    }

    #[test]
    fn every_setting_has_a_name_of_its_own() {
        let mut names: Vec<&str> = SETTINGS
            .iter()
            .flat_map(|setting| [Some(setting.key), Some(setting.env), setting.flag])
            .flatten()
            .collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        // Flags and keys of one word are the same word: listen, admin, open, record, rules, repair, unverified, forward,
        // origins, probe, balance, affinity, resolver.
        assert_eq!(names.len() + 13, all);
    }
}
