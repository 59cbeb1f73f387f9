//! What `[[upstream]]` says of a server among others: its name, its models and what else they are called, its weight,
//! and what is asked for instead.

use super::file::{Given, RawUpstream};
use super::load::Loader;
use super::units::Wrong;
use super::{Affinity, Balance, UpstreamConfig};
use std::collections::HashSet;

/// Between an alias and its model, and between two of them: in no model's name.
pub(super) const OF: char = '\u{1f}';
pub(super) const AND: char = '\u{1e}';

const MAX_WEIGHT: u32 = 1000;
const MAX_NAME_CHARS: usize = 64;
/// The word for the worker where servers are named.
pub(super) const WORKER: &str = "worker";

fn words(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn name(text: &str) -> Result<String, Wrong> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_name = !text.is_empty() && text.len() <= MAX_NAME_CHARS && text != WORKER;
    if is_name && text.bytes().all(is_plain) && !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err(Wrong::new(
        format!("`{text}` is no name of an upstream"),
        format!(
            "write up to {MAX_NAME_CHARS} letters, digits, `-`, `_` or `.`, not digits alone, and not `{WORKER}`"
        ),
    ))
}

fn weight(text: &str) -> Result<u32, Wrong> {
    let weight = text.parse().ok();
    weight.filter(|weight| (1..=MAX_WEIGHT).contains(weight)).ok_or_else(|| {
        Wrong::new(
            format!("`{text}` is no weight"),
            format!("write a whole number from 1 to {MAX_WEIGHT}; leave out a server that is to get nothing"),
        )
    })
}

/// Each alias with the model at the end of its chain.
fn aliases(text: &str) -> Result<Vec<(String, String)>, Wrong> {
    let pairs: Vec<(&str, &str)> = text
        .split(AND)
        .filter_map(|pair| pair.split_once(OF))
        .collect();
    let next = |name: &str| {
        pairs
            .iter()
            .find(|(alias, _)| *alias == name)
            .map(|it| it.1)
    };
    let resolve = |(alias, model): &(&str, &str)| {
        if alias.is_empty() || model.is_empty() || alias.contains('*') || model.contains('*') {
            return Err(Wrong::new(
                format!("`{alias}` = `{model}` is no alias of a model"),
                "write \"what clients say\" = \"the model\", each a whole name",
            ));
        }
        let mut seen = vec![*alias];
        let mut model = *model;
        while let Some(further) = next(model) {
            if seen.contains(&model) {
                return Err(Wrong::new(
                    format!("the alias `{alias}` leads back to itself"),
                    "let the last of them name a model",
                ));
            }
            seen.push(model);
            model = further;
        }
        Ok(((*alias).to_owned(), model.to_owned()))
    };
    pairs.iter().map(resolve).collect()
}

fn models(text: &str) -> Result<Vec<String>, Wrong> {
    let models = words(text);
    if models.is_empty() {
        let remedy = "name models, `qwen3-*` for all that begin so, or leave `models` out for any";
        return Err(Wrong::new("no model is named", remedy));
    }
    Ok(models)
}

/// Models that are asked for by their names.
fn fallback(text: &str) -> Result<Vec<String>, Wrong> {
    let models = words(text);
    match models.iter().find(|model| model.contains('*')) {
        Some(pattern) => Err(Wrong::new(
            format!("`{pattern}` is no name of a model that could be asked for"),
            "name each; only in `models` stands `*` for anything",
        )),
        None => Ok(models),
    }
}

pub(super) fn balance(text: &str) -> Result<Balance, Wrong> {
    match text {
        "load" => Ok(Balance::Load),
        "first" => Ok(Balance::First),
        _ => Err(Wrong::new(
            format!("`{text}` is no way to choose among servers"),
            "write load, or first for the order of the file",
        )),
    }
}

pub(super) fn affinity(text: &str) -> Result<Affinity, Wrong> {
    let header = text
        .strip_prefix("header:")
        .and_then(|name| name.trim().parse().ok());
    match (text, header) {
        ("none", _) => Ok(Affinity::None),
        ("user", _) => Ok(Affinity::User),
        ("prompt", _) => Ok(Affinity::Prompt),
        (_, Some(name)) => Ok(Affinity::Header(name)),
        _ => Err(Wrong::new(
            format!("`{text}` does not say what keeps requests on one server"),
            "write none, user, prompt, or header: and its name, such as header:x-session-id",
        )),
    }
}

impl Loader {
    /// Takes what is said of the server among others off the raw table.
    pub(super) fn among_others(
        &mut self,
        raw: &mut RawUpstream,
    ) -> impl FnOnce(UpstreamConfig) -> UpstreamConfig + use<> {
        let name = self.read(raw.name.take(), name);
        let models = self.read(raw.models.take(), models).unwrap_or_default();
        let fallback = self.read(raw.fallback.take(), fallback).unwrap_or_default();
        let aliases = self.read(raw.aliases.take(), aliases).unwrap_or_default();
        let weight = self.read(raw.weight.take(), weight).unwrap_or(1);
        move |upstream| UpstreamConfig {
            name,
            models,
            aliases,
            weight,
            fallback,
            ..upstream
        }
    }

    /// Whether a name stands for one upstream: for one `[[upstream]]`, however many URLs that has.
    pub(super) fn check_names(&mut self, raw: &[RawUpstream]) {
        let mut known = HashSet::new();
        for given in raw.iter().filter_map(|raw| raw.name.as_ref()) {
            if !known.insert(given.text.clone()) {
                let what = format!("two upstreams are called `{}`", given.text);
                let remedy = "give each a name of its own, or one of them both `urls`";
                self.fault(given.place.clone(), Wrong::new(what, remedy));
            }
        }
    }

    /// Where every server says which models it has, what is asked for instead is one of them.
    pub(super) fn check_fallbacks(&mut self, raw: &[RawUpstream]) {
        let mut known = HashSet::new();
        for upstream in raw {
            let said = upstream.models.as_ref().map(|given| words(&given.text));
            let Some(said) = said.filter(|said| said.iter().all(|model| !model.contains('*')))
            else {
                return;
            };
            known.extend(said);
            let aliases = upstream.aliases.as_ref().map(|given| aliases(&given.text));
            let aliases = aliases.and_then(Result::ok).unwrap_or_default();
            known.extend(aliases.into_iter().map(|(alias, _)| alias));
        }
        if self.config.worker.model.is_some() {
            return;
        }
        for given in raw.iter().filter_map(|raw| raw.fallback.as_ref()) {
            for model in words(&given.text) {
                if !known.contains(&model) && !model.contains('*') {
                    let what = format!("no upstream has the model `{model}`");
                    let remedy = "name one that stands in `models` of an upstream";
                    self.fault(given.place.clone(), Wrong::new(what, remedy));
                }
            }
        }
    }

    /// One table with several URLs is as many servers of which the same is said.
    pub(super) fn spread(&mut self, raw: RawUpstream) -> Vec<RawUpstream> {
        let Some(urls) = raw.urls.clone() else {
            return vec![raw];
        };
        for (other, key) in [(&raw.url, "url"), (&raw.srv, "srv")] {
            if let Some(other) = other {
                let what = format!("the upstream has both `{key}` and `urls`");
                self.fault(other.place.clone(), Wrong::new(what, "keep one of the two"));
                return Vec::new();
            }
        }
        let list = words(&urls.text);
        if list.is_empty() {
            let wrong = Wrong::new(
                "there is no URL in the list",
                "write urls = [\"http://localhost:8000\", …]",
            );
            self.fault(urls.place, wrong);
            return Vec::new();
        }
        let one = |text: String| RawUpstream {
            url: Some(Given {
                text,
                place: urls.place.clone(),
            }),
            urls: None,
            ..raw.clone()
        };
        list.into_iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn said(pairs: &[(&str, &str)]) -> String {
        let pairs = pairs
            .iter()
            .map(|(alias, model)| format!("{alias}{OF}{model}"));
        pairs.collect::<Vec<_>>().join(&AND.to_string())
    }

    #[test]
    fn an_alias_of_an_alias_is_the_model_and_a_loop_is_refused() {
        let chain = aliases(&said(&[("fast", "small"), ("small", "Qwen3-4B")])).unwrap();
        assert!(chain.iter().all(|(_, model)| model == "Qwen3-4B"));
        for pairs in [
            &[("a", "b"), ("b", "a")][..],
            &[("a", "a")],
            &[("a", "b"), ("b", "c"), ("c", "b")],
        ] {
            let wrong = aliases(&said(pairs)).unwrap_err();
            assert!(
                wrong.what.contains("leads back to itself"),
                "{}",
                wrong.what
            );
        }
        assert!(aliases(&said(&[("gpt-*", "m")])).is_err());
        assert!(aliases(&said(&[("gpt", "m*")])).is_err());
    }

    #[test]
    fn a_pattern_is_no_model_to_ask_for() {
        let named = fallback("a, b-c").unwrap();
        assert_eq!(named, ["a", "b-c"]);
        let wrong = fallback("a, gpt-*").unwrap_err();
        assert!(wrong.what.contains("`gpt-*`"), "{}", wrong.what);
    }

    #[test]
    fn a_weight_of_nothing_and_a_name_of_digits_are_refused() {
        assert_eq!(weight("3"), Ok(3));
        for text in ["0", "-1", "1.5", "1001"] {
            assert!(weight(text).is_err(), "{text}");
        }
        assert_eq!(name("gpu-1"), Ok("gpu-1".to_owned()));
        for text in ["1", "", "worker", "a b", "ü"] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
