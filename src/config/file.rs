//! The configuration file's text to raw values with their places. Unknown keys, wrong types and
//! syntax errors are faults, all of them at once; what values mean is not decided here.

use super::fault::{Fault, Place, Source, did_you_mean};
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
#[derive(Debug)]
pub(super) struct RawUpstream {
    /// Where the table begins.
    pub(super) place: Place,
    pub(super) url: Option<Given>,
    pub(super) dialect: Option<Given>,
    pub(super) api_key_env: Option<Given>,
    pub(super) api_key_file: Option<Given>,
}

/// The file, read.
#[derive(Debug, Default)]
pub(super) struct RawConfig {
    pub(super) values: Vec<(&'static Setting, Given)>,
    pub(super) upstreams: Vec<RawUpstream>,
    pub(super) faults: Vec<Fault>,
}

const UPSTREAM_KEYS: [&str; 4] = ["url", "dialect", "api_key_env", "api_key_file"];

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
                ("upstream", _) => self.fault(
                    key.span(),
                    "`upstream` is a list of tables",
                    "write [[upstream]] and below it url = \"http://localhost:8000\"",
                ),
                ("limits" | "timeouts" | "worker", DeValue::Table(inner)) => {
                    for entry in inner {
                        self.setting(&format!("{name}."), entry);
                    }
                }
                ("limits" | "timeouts" | "worker", _) => self.fault(
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
            let tables = ["upstream", "limits", "timeouts", "worker"];
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
            other => {
                let what = format!("`{name}` cannot be a {}", other.type_str());
                self.fault(value.span(), what, "write a string or a whole number");
                return None;
            }
        };
        let place = self.place(value.span());
        Some(Given { text, place })
    }

    fn upstream(&mut self, item: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = item.get_ref() else {
            return self.fault(
                item.span(),
                "an upstream is a table",
                "write [[upstream]] and below it url = \"http://localhost:8000\"",
            );
        };
        let mut upstream = RawUpstream {
            place: self.place(item.span()),
            url: None,
            dialect: None,
            api_key_env: None,
            api_key_file: None,
        };
        for (key, value) in table {
            let name: &str = key.get_ref();
            let slot = match name {
                "url" => &mut upstream.url,
                "dialect" => &mut upstream.dialect,
                "api_key_env" => &mut upstream.api_key_env,
                "api_key_file" => &mut upstream.api_key_file,
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
