//! The configuration file's text to raw values with their places. Unknown keys, wrong types and
//! syntax errors are faults, all of them at once; what values mean is not decided here.

use super::fault::{Fault, Place, Source, did_you_mean};
use super::fleet::{AND, OF};
use super::settings::{SETTINGS, Setting};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value as text, and where it is written.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) text: String,
    pub(super) place: Place,
}

/// One `[[upstream]]`.
#[derive(Debug, Clone)]
pub(super) struct RawUpstream {
    /// Where the table begins.
    pub(super) place: Place,
    pub(super) url: Option<Given>,
    pub(super) dialect: Option<Given>,
    pub(super) markup: Option<Given>,
    pub(super) thoughts: Option<Given>,
    pub(super) api_key_env: Option<Given>,
    pub(super) api_key_file: Option<Given>,
    pub(super) forward: Option<Given>,
    pub(super) max_in_flight: Option<Given>,
    pub(super) queue: Option<Given>,
    pub(super) queue_timeout: Option<Given>,
    pub(super) ca_file: Option<Given>,
    pub(super) client_cert_file: Option<Given>,
    pub(super) client_key_file: Option<Given>,
    pub(super) urls: Option<Given>,
    pub(super) name: Option<Given>,
    pub(super) models: Option<Given>,
    pub(super) aliases: Option<Given>,
    pub(super) weight: Option<Given>,
    pub(super) fallback: Option<Given>,
    pub(super) addresses: Option<Given>,
    pub(super) srv: Option<Given>,
}

impl RawUpstream {
    /// One that says nothing.
    pub(super) const fn at(place: Place) -> Self {
        Self {
            place,
            url: None,
            dialect: None,
            markup: None,
            thoughts: None,
            api_key_env: None,
            api_key_file: None,
            forward: None,
            max_in_flight: None,
            queue: None,
            queue_timeout: None,
            ca_file: None,
            client_cert_file: None,
            client_key_file: None,
            urls: None,
            name: None,
            models: None,
            aliases: None,
            weight: None,
            fallback: None,
            addresses: None,
            srv: None,
        }
    }
}

/// One `[[client]]`.
#[derive(Debug)]
pub(super) struct RawClient {
    /// Where the table begins.
    pub(super) place: Place,
    pub(super) name: Option<Given>,
    pub(super) key_sha256: Option<Given>,
    pub(super) models: Option<Given>,
    pub(super) upstreams: Option<Given>,
    pub(super) requests_per_minute: Option<Given>,
    pub(super) tokens_per_minute: Option<Given>,
    pub(super) concurrency: Option<Given>,
    pub(super) priority: Option<Given>,
}

/// The keys whose value may be a list of strings; commas stand between them otherwise.
const LISTS: [&str; 9] = [
    "forward",
    "origins",
    "upstream.forward",
    "upstream.urls",
    "upstream.models",
    "upstream.fallback",
    "client.key_sha256",
    "client.models",
    "client.upstreams",
];

/// The keys that are said by yes or no, as which a boolean is read.
const WHETHER: [&str; 2] = ["open", "tls.admin"];

const CLIENT_KEYS: [&str; 8] = [
    "name",
    "key_sha256",
    "models",
    "upstreams",
    "requests_per_minute",
    "tokens_per_minute",
    "concurrency",
    "priority",
];

/// The file, read.
#[derive(Debug, Default)]
pub(super) struct RawConfig {
    pub(super) values: Vec<(&'static Setting, Given)>,
    pub(super) upstreams: Vec<RawUpstream>,
    pub(super) clients: Vec<RawClient>,
    pub(super) faults: Vec<Fault>,
}

const UPSTREAM_KEYS: [&str; 21] = [
    "url",
    "urls",
    "addresses",
    "srv",
    "name",
    "models",
    "aliases",
    "weight",
    "fallback",
    "dialect",
    "markup",
    "thoughts",
    "api_key_env",
    "api_key_file",
    "forward",
    "max_in_flight",
    "queue",
    "queue_timeout",
    "ca_file",
    "client_cert_file",
    "client_key_file",
];

/// Reads the file's text.
pub(super) fn read(source: Source) -> RawConfig {
    let source = Arc::new(source);
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    let mut reader = Reader {
        source: Arc::clone(&source),
        raw: RawConfig::default(),
    };
    for error in errors {
        let span = error.span().unwrap_or_default();
        reader.fault(span, error.message(), "the file must be TOML 1.1");
    }
    reader.root(table.get_ref());
    reader.raw
}

struct Reader {
    source: Arc<Source>,
    raw: RawConfig,
}

type Entry<'a, 'i> = (
    &'a Spanned<toml::de::DeString<'i>>,
    &'a Spanned<DeValue<'i>>,
);

impl Reader {
    fn place(&self, span: Range<usize>) -> Place {
        Place::File(Arc::clone(&self.source), span)
    }

    fn fault(&mut self, span: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) {
        let place = self.place(span);
        self.raw.faults.push(Fault {
            place,
            what: what.into(),
            remedy: remedy.into(),
        });
    }

    fn root(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            match (name, value.get_ref()) {
                ("upstream", DeValue::Array(items)) => {
                    for item in items {
                        self.upstream(item);
                    }
                }
                ("client", DeValue::Array(items)) => {
                    for item in items {
                        self.client(item);
                    }
                }
                ("client", _) => self.fault(
                    key.span(),
                    "`client` is a list of tables",
                    "write [[client]], as `isogloss key new` prints it",
                ),
                ("upstream", _) => self.fault(
                    key.span(),
                    "`upstream` is a list of tables",
                    "write [[upstream]] and below it url = \"http://localhost:8000\"",
                ),
                ("limits" | "timeouts" | "responses" | "tls" | "worker", DeValue::Table(inner)) => {
                    for entry in inner {
                        self.setting(&format!("{name}."), entry);
                    }
                }
                ("limits" | "timeouts" | "responses" | "tls" | "worker", _) => self.fault(
                    key.span(),
                    format!("`{name}` is a table"),
                    format!("write [{name}]"),
                ),
                _ => self.setting("", (key, value)),
            }
        }
    }

    fn setting(&mut self, prefix: &str, (key, value): Entry<'_, '_>) {
        let name = format!("{prefix}{}", key.get_ref());
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == name) else {
            let keys = SETTINGS.iter().map(|setting| setting.key);
            let tables = [
                "upstream",
                "client",
                "limits",
                "timeouts",
                "responses",
                "worker",
            ];
            let remedy = match did_you_mean(&name, keys.chain(tables)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "docs/reference.md lists every key".to_owned(),
            };
            return self.fault(key.span(), format!("unknown key `{name}`"), remedy);
        };
        if let Some(given) = self.scalar(&name, value) {
            self.raw.values.push((setting, given));
        }
    }

    fn scalar(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<Given> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Boolean(is_so) if WHETHER.contains(&name) => {
                let word = if *is_so { "yes" } else { "no" };
                word.to_owned()
            }
            DeValue::Array(items) if LISTS.contains(&name) => {
                let words = items.iter().map(|item| item.get_ref().as_str());
                let Some(words) = words.collect::<Option<Vec<_>>>() else {
                    let what = format!("`{name}` is a list of strings");
                    self.fault(value.span(), what, "write [\"…\", \"…\"]");
                    return None;
                };
                words.join(",")
            }
            other => {
                let what = format!("`{name}` cannot be a {}", other.type_str());
                self.fault(value.span(), what, "write a string or a whole number");
                return None;
            }
        };
        let place = self.place(value.span());
        Some(Given { text, place })
    }

    fn client(&mut self, item: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = item.get_ref() else {
            let remedy = "write [[client]], as `isogloss key new` prints it";
            return self.fault(item.span(), "a client is a table", remedy);
        };
        let mut client = RawClient {
            place: self.place(item.span()),
            name: None,
            key_sha256: None,
            models: None,
            upstreams: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            concurrency: None,
            priority: None,
        };
        for (key, value) in table {
            let name: &str = key.get_ref();
            let slot = match name {
                "name" => &mut client.name,
                "key_sha256" => &mut client.key_sha256,
                "models" => &mut client.models,
                "upstreams" => &mut client.upstreams,
                "requests_per_minute" => &mut client.requests_per_minute,
                "tokens_per_minute" => &mut client.tokens_per_minute,
                "concurrency" => &mut client.concurrency,
                "priority" => &mut client.priority,
                "key" => {
                    let what = "a key does not belong into this file";
                    let remedy =
                        "write its hash, key_sha256 = \"…\": `isogloss key new` prints both";
                    self.fault(key.span(), what, remedy);
                    continue;
                }
                _ => {
                    let remedy = match did_you_mean(name, CLIENT_KEYS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("a client has {}", CLIENT_KEYS.join(", ")),
                    };
                    self.fault(key.span(), format!("unknown key `client.{name}`"), remedy);
                    continue;
                }
            };
            *slot = self.scalar(&format!("client.{name}"), value);
        }
        self.raw.clients.push(client);
    }

    /// A table of names, as one text.
    fn aliases(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Given> {
        let pairs = match value.get_ref() {
            DeValue::Table(table) => table
                .iter()
                .map(|(alias, model)| {
                    let model = model.get_ref().as_str()?;
                    Some(format!("{}{OF}{model}", alias.get_ref()))
                })
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let Some(pairs) = pairs else {
            let what = "`upstream.aliases` is a table of names";
            let remedy = "write aliases = { \"gpt-4o\" = \"Qwen3-32B\" }";
            self.fault(value.span(), what, remedy);
            return None;
        };
        Some(Given {
            text: pairs.join(&AND.to_string()),
            place: self.place(value.span()),
        })
    }

    fn upstream(&mut self, item: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = item.get_ref() else {
            return self.fault(
                item.span(),
                "an upstream is a table",
                "write [[upstream]] and below it url = \"http://localhost:8000\"",
            );
        };
        let mut upstream = RawUpstream::at(self.place(item.span()));
        for (key, value) in table {
            let name: &str = key.get_ref();
            let slot = match name {
                "url" => &mut upstream.url,
                "urls" => &mut upstream.urls,
                "addresses" => &mut upstream.addresses,
                "srv" => &mut upstream.srv,
                "name" => &mut upstream.name,
                "models" => &mut upstream.models,
                "weight" => &mut upstream.weight,
                "fallback" => &mut upstream.fallback,
                "aliases" => {
                    upstream.aliases = self.aliases(value);
                    continue;
                }
                "dialect" => &mut upstream.dialect,
                "markup" => &mut upstream.markup,
                "thoughts" => &mut upstream.thoughts,
                "api_key_env" => &mut upstream.api_key_env,
                "api_key_file" => &mut upstream.api_key_file,
                "forward" => &mut upstream.forward,
                "max_in_flight" => &mut upstream.max_in_flight,
                "queue" => &mut upstream.queue,
                "queue_timeout" => &mut upstream.queue_timeout,
                "ca_file" => &mut upstream.ca_file,
                "client_cert_file" => &mut upstream.client_cert_file,
                "client_key_file" => &mut upstream.client_key_file,
                "api_key" => {
                    self.fault(
                        key.span(),
                        "a key does not belong into this file",
                        "name where it is found: api_key_env = \"VARIABLE\" or api_key_file = \"PATH\"",
                    );
                    continue;
                }
                _ => {
                    let remedy = match did_you_mean(name, UPSTREAM_KEYS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("an upstream has {}", UPSTREAM_KEYS.join(", ")),
                    };
                    self.fault(key.span(), format!("unknown key `upstream.{name}`"), remedy);
                    continue;
                }
            };
            *slot = self.scalar(&format!("upstream.{name}"), value);
        }
        self.raw.upstreams.push(upstream);
    }
}
