//! All rule files together: the embedded ones, overlaid by the user's own.

use super::compile::{Profiles, base_name, compile, profiles};
use super::dialect::{Bug, Dialect};
use super::fault::{RuleFault, Source};
use super::{Identity, Rule, Version};
use crate::schema::Profile;

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
    builtin!("tensorrt-llm"),
    builtin!("ollama"),
    builtin!("ollama-native"),
    builtin!("tgi"),
    builtin!("tgi-generate"),
    builtin!("lmdeploy"),
    builtin!("mistral-rs"),
    builtin!("lm-studio"),
    builtin!("transformers"),
    builtin!("openai"),
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

/// Checked rules for every server dialect.
#[derive(Debug, Clone)]
pub struct RuleSet {
    dialects: Vec<Dialect>,
    profiles: Profiles,
    fallback: String,
}

impl RuleSet {
    /// The rules that the program brings along.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test loads the embedded files")]
    pub fn builtin() -> Self {
        Self::with_overlay(&[]).expect("the embedded rule files are checked by a test")
    }

    /// The embedded rules, of which a given file replaces the one of the same name; others are
    /// added. Each is a file's name (a path will do) and its text.
    ///
    /// # Errors
    /// Every fault of every file, in the order of the files.
    pub fn with_overlay(files: &[(String, String)]) -> Result<Self, Vec<RuleFault>> {
        let replaced = |name: &str| {
            files
                .iter()
                .any(|(own, _)| base_name(own) == base_name(name))
        };
        let is_profiles = |name: &str| base_name(name) == base_name(PROFILES.0);
        let own = files.iter().find(|(name, _)| is_profiles(name));
        let (name, text) = own.map_or(PROFILES, |(name, text)| (name.as_str(), text.as_str()));
        let profiles = profiles(Source { name, text })?;
        let builtin = BUILTIN.iter().filter(|(name, _)| !replaced(name)).copied();
        let own = files
            .iter()
            .filter(|(name, _)| !is_profiles(name))
            .map(|(name, text)| (name.as_str(), text.as_str()));
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
                Ok(dialect) => dialects.push(dialect),
            }
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
        self.dialect(dialect)?.resolve(version)
    }

    /// The rule of a server that was recognised, with what it told of its launch.
    #[must_use]
    pub fn rule_of(&self, identity: &Identity) -> Option<Rule> {
        let mut rule = self.resolve(&identity.dialect, identity.version)?;
        for fact in &identity.facts {
            rule = rule.knowing(fact).unwrap_or(rule);
        }
        Some(rule)
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
