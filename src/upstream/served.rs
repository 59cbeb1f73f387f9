//! Which models an operator says that a server has: a request's name in, the name that the server has for it out.

use super::Upstream;
use crate::config::UpstreamConfig;
use isogloss_core::error::{Error, Kind};
use std::fmt::Write as _;
use std::sync::Arc;

/// Of a list in an error.
const MAX_NAMED: usize = 20;

/// The operator's word.
#[derive(Debug, Clone, Default)]
pub(super) struct Served {
    /// Patterns; where there is one, the server's own list does not count.
    models: Vec<String>,
    /// What clients write, and the model that is asked for.
    aliases: Vec<(String, Arc<str>)>,
    /// The models that are asked for where this one cannot be, in this order.
    fallback: Vec<String>,
    /// What clients are told of the server.
    name: Option<String>,
}

impl Served {
    pub(super) fn of(upstream: &UpstreamConfig) -> Self {
        let aliases = upstream.aliases.iter();
        Self {
            models: upstream.models.clone(),
            aliases: aliases
                .map(|(alias, model)| (alias.clone(), model.as_str().into()))
                .collect(),
            fallback: upstream.fallback.clone(),
            name: upstream.name.clone(),
        }
    }

    fn alias(&self, name: &str) -> Option<&Arc<str>> {
        let mut all = self.aliases.iter();
        all.find(|(alias, _)| alias == name).map(|(_, model)| model)
    }
}

/// Whether a name is of a pattern, in which each `*` stands for anything.
pub(crate) fn is_like(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl Upstream {
    /// The name that this server has for what a client calls so, where that is another.
    #[must_use]
    pub fn alias(&self, model: &str) -> Option<Arc<str>> {
        let own = self.served.alias(model).cloned();
        own.or_else(|| self.without_latest(model))
    }

    /// The name without the tag that Ollama's clients put behind each that has none, where this server
    /// has that alone.
    fn without_latest(&self, model: &str) -> Option<Arc<str>> {
        let short = model.strip_suffix(":latest")?;
        let alias = self.served.alias(short).cloned();
        let is_meant = !self.lists(model) && (alias.is_some() || self.lists(short));
        is_meant.then(|| alias.unwrap_or_else(|| short.into()))
    }

    /// The names that clients may use for its models, beside those that it lists.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.served.aliases.iter();
        all.map(|(alias, model)| (alias.as_str(), &**model))
    }

    /// The models that may be asked for instead.
    pub(super) fn fallback(&self) -> &[String] {
        &self.served.fallback
    }

    /// The name that the operator gave it.
    #[must_use]
    pub fn given_name(&self) -> Option<&str> {
        self.served.name.as_deref()
    }

    /// What clients and operators are told of who answered: its name, else its place.
    #[must_use]
    pub fn label(&self) -> String {
        let name = self.served.name.clone();
        name.unwrap_or_else(|| self.index.to_string())
    }

    /// Whether it has a model: as the operator says, else as it lists.
    #[must_use]
    pub fn has(&self, model: &str) -> bool {
        self.alias(model).is_some() || self.lists(model)
    }

    /// The same without what the operator calls otherwise.
    fn lists(&self, model: &str) -> bool {
        let patterns = &self.served.models;
        match patterns.is_empty() {
            true => self.models.borrow().has(model),
            false => patterns.iter().any(|pattern| is_like(pattern, model)),
        }
    }

    /// Whether a model is among those that it lists or is said to have by name: of these there is an end, of what
    /// clients write there is none.
    pub(super) fn names_it(&self, model: &str) -> bool {
        self.alias(model).is_some()
            || self.served.models.iter().any(|one| one == model)
            || self.models.borrow().has(model)
    }

    /// Whether the operator says which models it has.
    pub(super) const fn is_told_models(&self) -> bool {
        !self.served.models.is_empty()
    }

    /// Whether it has said which models it has.
    #[must_use]
    pub fn has_listed(&self) -> bool {
        self.models.borrow().first().is_some()
    }

    /// The models that the operator says it has, as far as they have whole names: those that it lists, too, where a pattern
    /// is like them. `None` where its own list counts.
    #[must_use]
    pub fn told_models(&self) -> Option<Vec<String>> {
        if !self.is_told_models() {
            return None;
        }
        let patterns = &self.served.models;
        let whole = patterns.iter().filter(|pattern| !pattern.contains('*'));
        let mut names: Vec<String> = whole.cloned().collect();
        let listed = self.models.borrow();
        for name in listed.names() {
            if patterns.iter().any(|pattern| is_like(pattern, name))
                && !names.iter().any(|it| it == name)
            {
                names.push(name.to_owned());
            }
        }
        drop(listed);
        Some(names)
    }

    /// Whether it may have a model that nobody knows to be anywhere: it was not looked at yet, lists nothing, or is a hosted
    /// API, which takes names that it does not list.
    pub(super) fn may_have(&self) -> bool {
        !self.is_told_models() && (self.is_hosted || self.models.borrow().first().is_none())
    }

    /// The names that it is known to answer to.
    fn names(&self) -> Vec<String> {
        let aliases = self.served.aliases.iter().map(|(alias, _)| alias.clone());
        let mut names: Vec<String> = match self.served.models.is_empty() {
            true => self.models.borrow().names().map(str::to_owned).collect(),
            false => self.served.models.clone(),
        };
        names.extend(aliases);
        names
    }
}

/// What a client is told that names a model which none of these servers has.
pub(super) fn nobody_has<'u>(model: &str, all: impl Iterator<Item = &'u Arc<Upstream>>) -> Error {
    let mut names: Vec<String> = all.flat_map(|one| one.names()).collect();
    names.sort_unstable();
    names.dedup();
    let shown: String = model
        .chars()
        .take(120)
        .filter(|c| !c.is_control())
        .collect();
    let mut message = format!("no server has the model '{shown}'");
    if names.is_empty() {
        return Error::new(Kind::ModelNotFound, message).at("model");
    }
    message += ": name one of ";
    message += &names.get(..MAX_NAMED).unwrap_or(&names).join(", ");
    if names.len() > MAX_NAMED {
        // Writing to a string cannot fail.
        let _ = write!(
            message,
            ", and {} more that /v1/models lists",
            names.len() - MAX_NAMED
        );
    }
    Error::new(Kind::ModelNotFound, message).at("model")
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn a_star_stands_for_anything_wherever_it_is() {
        for (pattern, name, is) in [
            ("gpt-*", "gpt-4o", true),
            ("gpt-*", "my-gpt-4o", false),
            ("*/Qwen3-*-Instruct", "Qwen/Qwen3-32B-Instruct", true),
            ("*/Qwen3-*-Instruct", "Qwen/Qwen3-32B", false),
            ("*", "", true),
            ("m", "m", true),
            ("m", "mm", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
        ] {
            assert_eq!(is_like(pattern, name), is, "{pattern} {name}");
        }
    }
}
