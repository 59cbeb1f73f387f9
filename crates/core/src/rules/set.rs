//! All rule files together: the embedded ones, overlaid by the user's own.

use super::compile::{base_name, compile};
use super::dialect::{Bug, Dialect};
use super::errors::errors;
use super::profile::{Profiles, profiles};
use super::thoughts::{self, ThoughtForms};
use super::{Identity, KnownFormats, Rule, Version};
use crate::datafile::{RuleFault, Source};
use crate::ir::Wire;
use crate::markup::Formats;
use crate::schema::Profile;
use serde_json::Value;
use std::sync::Arc;

/// A file under `rules/` and its text.
macro_rules! builtin {
    ($name:literal) => {
        (
            concat!("rules/", $name, ".toml"),
            include_str!(concat!("../../../../rules/", $name, ".toml")),
        )
    };
}

/// The files under `rules/`, embedded, in the order of the matrix.
const BUILTIN: &[(&str, &str)] = &[
    builtin!("vllm"),
    builtin!("sglang"),
    builtin!("llama-cpp"),
    builtin!("worker"),
    builtin!("xai"),
    builtin!("tensorrt-llm"),
    builtin!("ollama"),
    builtin!("ollama-native"),
    builtin!("tgi"),
    builtin!("tgi-generate"),
    builtin!("lmdeploy"),
    builtin!("mistral-rs"),
    builtin!("lm-studio"),
    builtin!("koboldcpp"),
    builtin!("model-runner"),
    builtin!("localai"),
    builtin!("transformers"),
    builtin!("openai"),
    builtin!("openai-responses"),
    builtin!("anthropic"),
    builtin!("gemini"),
    builtin!("cohere"),
    builtin!("mistral"),
    builtin!("groq"),
    builtin!("together"),
    builtin!("fireworks"),
    builtin!("cerebras"),
    builtin!("deepseek"),
    builtin!("openrouter"),
    builtin!("cohere-compat"),
    builtin!("gemini-compat"),
    builtin!("anthropic-compat"),
    builtin!("plain"),
];

/// The profiles of compilers, which are no dialect.
const PROFILES: (&str, &str) = (
    "rules/profiles.toml",
    include_str!("../../../../rules/profiles.toml"),
);

/// What errors mean, whichever server's they are.
const ERRORS: (&str, &str) = (
    "rules/errors.toml",
    include_str!("../../../../rules/errors.toml"),
);

/// How models mark their thoughts, which is no dialect either.
const THOUGHTS: (&str, &str) = (
    "rules/thoughts.toml",
    include_str!("../../../../rules/thoughts.toml"),
);

/// Checked rules for every server dialect.
#[derive(Debug, Clone)]
pub struct RuleSet {
    dialects: Vec<Dialect>,
    profiles: Profiles,
    thoughts: Arc<ThoughtForms>,
    fallback: String,
    formats: Arc<Formats>,
    /// Pieces of what is said of a key that is made for other questions.
    limited_key: Arc<[String]>,
}

impl RuleSet {
    /// The rules that the program brings along.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test loads the embedded files")]
    pub fn builtin() -> Self {
        Self::with_overlay(&[]).expect("the embedded rule files are checked by a test")
    }

    /// The embedded rules, of which a given file replaces the one of the same name; others are
    /// added. Each is a file's name (a path will do) and its text; those in a folder `markup` are formats
    /// of markup.
    ///
    /// # Errors
    /// Every fault of every file, in the order of the files.
    pub fn with_overlay(files: &[(String, String)]) -> Result<Self, Vec<RuleFault>> {
        let (formats, files): (Vec<_>, Vec<_>) =
            files.iter().cloned().partition(|(name, _)| is_format(name));
        let files = files.as_slice();
        let replaced = |name: &str| {
            files
                .iter()
                .any(|(own, _)| base_name(own) == base_name(name))
        };
        let shared = |known: (&'static str, &'static str)| {
            let own = (files.iter()).find(|(name, _)| base_name(name) == base_name(known.0));
            let (name, text) = own.map_or(known, |(name, text)| (name.as_str(), text.as_str()));
            Source { name, text }
        };
        let profiles = profiles(shared(PROFILES))?;
        let errors = errors(shared(ERRORS))?;
        let thoughts = Arc::new(thoughts::read(shared(THOUGHTS))?);
        let is_shared = |name: &str| {
            [PROFILES.0, ERRORS.0, THOUGHTS.0]
                .map(base_name)
                .contains(&base_name(name))
        };
        let builtin = BUILTIN.iter().filter(|(name, _)| !replaced(name)).copied();
        let own = files
            .iter()
            .filter(|(name, _)| !is_shared(name))
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let formats = Arc::new(Formats::with_overlay(&formats)?);
        let mut dialects: Vec<Dialect> = Vec::new();
        let mut faults = Vec::new();
        for (name, text) in builtin.chain(own) {
            let source = Source { name, text };
            match compile(source, &profiles) {
                Err(found) => faults.extend(found),
                Ok(dialect) if dialects.iter().any(|other| other.name == dialect.name) => {
                    let message = format!("`{}` is given twice", dialect.name);
                    faults.push(source.fault(&(0..0), message, "give each dialect one file"));
                }
                Ok(mut dialect) => {
                    if dialect.templates {
                        dialect.launch.extend_from_slice(&errors.templates);
                    }
                    if dialect.server.wire() == Wire::Chat {
                        dialect.launch.extend_from_slice(&errors.common);
                        // Who acts on a server's own errors is told of each field: see `exchange::concerns`.
                        let is_own = dialect.ends.own_errors;
                        let fields = errors.fields.iter();
                        let fields = fields.filter(|field| !is_own || field.speaks_of_names());
                        dialect.launch.extend(fields.cloned());
                    }
                    dialect.too_long = Arc::clone(&errors.too_long);
                    dialect.refused = Arc::clone(&errors.refused);
                    dialect.garbled = Arc::clone(&errors.garbled);
                    dialects.push(dialect);
                }
            }
        }
        if faults.is_empty() {
            faults = unknown_besides(&dialects);
            faults.extend(unknown_formats(&dialects, &formats));
        }
        let fallbacks: Vec<_> = dialects
            .iter()
            .filter(|dialect| dialect.recognise.fallback)
            .map(|dialect| dialect.name.clone())
            .collect();
        match fallbacks.as_slice() {
            [one] if faults.is_empty() => Ok(Self {
                fallback: one.clone(),
                dialects,
                profiles,
                formats,
                thoughts,
                limited_key: errors.limited_key,
            }),
            [first, second, ..] => {
                let name = format!("{second}.toml");
                let source = Source {
                    name: &name,
                    text: "",
                };
                let message = format!("both `{first}` and `{second}` say `fallback = true`");
                faults.push(source.fault(&(0..0), message, "let one file say so"));
                Err(faults)
            }
            // A file with faults may have been the one.
            _ => {
                if faults.is_empty() {
                    let source = Source {
                        name: "plain.toml",
                        text: "",
                    };
                    faults.push(source.fault(
                        &(0..0),
                        "no file says `fallback = true`",
                        "say so under [recognise] of the dialect for unknown servers",
                    ));
                }
                Err(faults)
            }
        }
    }

    /// The rule for a dialect at a version; an unknown version is taken for the newest.
    /// `None` where the dialect is not known.
    #[must_use]
    pub fn resolve(&self, dialect: &str, version: Option<Version>) -> Option<Rule> {
        let dialect = self.dialect(dialect)?;
        let formats = KnownFormats::new(Arc::clone(&self.formats));
        let resolve = |dialect: &Dialect| {
            let mut rule = dialect.resolve(version)?;
            rule.formats = formats.clone();
            rule.forms = Arc::clone(&self.thoughts);
            Some(rule)
        };
        let mut rule = resolve(dialect)?;
        let others = dialect.beside.iter();
        let others = others.filter_map(|name| resolve(self.dialect(name)?));
        rule.beside = others.map(Arc::new).collect();
        Some(rule)
    }

    /// How models mark their thoughts in their text.
    #[must_use]
    pub fn thoughts(&self) -> &ThoughtForms {
        &self.thoughts
    }

    /// The rule of a server that was recognised, with what it told of its launch.
    #[must_use]
    pub fn rule_of(&self, identity: &Identity) -> Option<Rule> {
        let mut rule = self.resolve(&identity.dialect, identity.version)?;
        for fact in &identity.facts {
            rule = rule.knowing(fact).unwrap_or(rule);
        }
        Some(match &identity.markup {
            Some(seen) => rule.seeing_markup(seen),
            None => rule,
        })
    }

    /// Every format of markup that is known.
    #[must_use]
    pub fn formats(&self) -> &Formats {
        &self.formats
    }

    /// What a compiler of schemas makes of them: a `[[profile]]` of `rules/profiles.toml`.
    #[must_use]
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// The names of the profiles.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(String::as_str)
    }

    /// The dialects' names, in the order of the files.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.dialects
            .iter()
            .map(|dialect| dialect.name.as_str())
            .collect()
    }

    /// Whether a server of this dialect says of itself that it is one, and so what version it has.
    #[must_use]
    pub fn is_recognised(&self, name: &str) -> bool {
        let mut named = self.dialects().filter(|dialect| dialect.name == name);
        named.any(|dialect| !dialect.recognise.by.is_empty())
    }

    /// Whether this host name is a hosted API's, known by its name.
    #[must_use]
    pub fn is_hosted(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.dialects
            .iter()
            .flat_map(|dialect| &dialect.recognise.hosts)
            .any(|known| known.split('/').next() == Some(host.as_str()))
    }

    /// Whether a server that refuses what it was asked with a key says that the key is made for other questions: it may be good
    /// for what clients ask.
    #[must_use]
    pub fn limits_key(&self, answer: &Value) -> bool {
        let said = answer.to_string();
        let mut pieces = self.limited_key.iter();
        pieces.any(|piece| said.contains(piece.as_str()))
    }

    /// The dialect of a server that nothing recognises.
    #[must_use]
    pub fn fallback(&self) -> &str {
        &self.fallback
    }

    /// What a dialect's file was written from.
    #[must_use]
    pub fn sources(&self, dialect: &str) -> &[String] {
        self.dialect(dialect)
            .map_or(&[], |dialect| dialect.sources.as_slice())
    }

    /// The known bugs of a dialect at a version that are tolerated.
    #[must_use]
    pub fn bugs(&self, dialect: &str, version: Option<Version>) -> Vec<&Bug> {
        self.dialect(dialect)
            .into_iter()
            .flat_map(|dialect| &dialect.bugs)
            .filter(|bug| bug.versions.contains(version))
            .collect()
    }

    fn dialect(&self, name: &str) -> Option<&Dialect> {
        self.dialects.iter().find(|dialect| dialect.name == name)
    }

    /// Every dialect, in the order of the files.
    pub(super) fn dialects(&self) -> impl Iterator<Item = &Dialect> {
        self.dialects.iter()
    }
}

/// Whether a file is of a format of markup.
fn is_format(name: &str) -> bool {
    let mut parents = name.rsplit(['/', '\\']).skip(1);
    parents.next() == Some("markup")
}

/// The dialects that a file names as its server's other wires and that are none.
fn unknown_besides(dialects: &[Dialect]) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    for dialect in dialects {
        for name in &dialect.beside {
            let other = dialects.iter().find(|other| other.name == *name);
            if other.is_none_or(|other| other.server == dialect.server) {
                let file = format!("{}.toml", dialect.name);
                let source = Source {
                    name: &file,
                    text: "",
                };
                let message =
                    format!("`beside` names `{name}`, which is no dialect of another wire");
                let remedy = "name the file of the same server's other wire, without `.toml`";
                faults.push(source.fault(&(0..0), message, remedy));
            }
        }
    }
    faults
}

/// The formats that a file names for a server's parsers and that are none.
fn unknown_formats(dialects: &[Dialect], formats: &Formats) -> Vec<RuleFault> {
    let mut faults = Vec::new();
    for dialect in dialects {
        for name in dialect.recognise.formats() {
            if formats.by_name(name).is_none() {
                let file = format!("{}.toml", dialect.name);
                let source = Source {
                    name: &file,
                    text: "",
                };
                let message = format!("[[recognise.markup]] names `{name}`, which is no format");
                let remedy = "name a file of rules/markup, without `.toml`";
                faults.push(source.fault(&(0..0), message, remedy));
            }
        }
    }
    faults
}
