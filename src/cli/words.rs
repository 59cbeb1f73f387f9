//! The words of a configuration that only the rules know (dialects, markup, forms of thoughts): what is wrong with each, where
//! it was written.

use super::wire;
use crate::config::{Config, DialectPin, Fault, Named, Word, did_you_mean};
use isogloss_core::rules::{InText, Rule, RuleSet};

/// What is wrong with these words, by the rules that the configuration names.
pub(super) fn wrong(config: &Config, words: &[Word]) -> Vec<Fault> {
    if words.is_empty() {
        return Vec::new();
    }
    // Rules that cannot be read are told of by who reads them next.
    let Ok(rules) = wire::rules(config.rules.as_deref()) else {
        return Vec::new();
    };
    words
        .iter()
        .filter_map(|word| fault(&rules, word))
        .collect()
}

fn fault(rules: &RuleSet, word: &Word) -> Option<Fault> {
    let text = word.text.as_str();
    let (what, known): (String, Vec<&str>) = match word.names {
        Named::Dialect => {
            let pin = DialectPin::parse(text)?;
            let is_known = rules.resolve(&pin.name, pin.version).is_some();
            (!is_known).then(|| {
                let what = format!("there is no rule for the dialect `{text}`");
                (what, rules.names())
            })?
        }
        Named::Markup => {
            let formats = rules.formats();
            let is_known = text == Rule::NO_MARKUP || formats.by_name(text).is_some();
            let names = formats.iter().map(|format| format.name());
            let names = names.chain([Rule::NO_MARKUP]);
            (!is_known).then(|| (format!("there is no markup `{text}`"), names.collect()))?
        }
        Named::Thoughts => {
            let forms = rules.thoughts();
            let is_known = InText::of(text, forms).is_some();
            let names = forms.names().chain(["auto", "apart"]);
            (!is_known).then(|| {
                (
                    format!("there is no form of thoughts `{text}`"),
                    names.collect(),
                )
            })?
        }
    };
    let name = text.split('@').next().unwrap_or(text);
    let all = known.join(", ");
    let remedy = match did_you_mean(name, known.iter().copied()).filter(|near| *near != name) {
        Some(near) => format!("did you mean `{near}`? There are {all}"),
        None => format!("there are {all}"),
    };
    Some(Fault {
        place: word.place.clone(),
        what,
        remedy,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::wrong;
    use crate::config::{Sources, load};

    #[test]
    fn every_mistake_is_told_at_once_and_where_it_stands() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.toml");
        let text = "[[upstream]]\nurls = [\"http://a\", \"http://b\"]\ndialect = \"vlm\"\nweight = 0\nmarkup = \"bar\"\nthoughts = \"foo\"\n";
        std::fs::write(&file, text).unwrap();
        let faults = load(&Sources {
            flags: Vec::new(),
            upstreams: Vec::new(),
            dialect: Some("ollma@0.5".to_owned()),
            markup: Some("off".to_owned()),
            file: Some(file),
            env: &|_| None,
            needs_upstream: true,
            words: &wrong,
        });
        let told = faults.unwrap_err().to_string();
        let lines = told
            .lines()
            .filter(|line| line.contains(".toml:") || line.starts_with("--"));
        let lines: Vec<_> = lines.map(|line| line.rsplit('/').next().unwrap()).collect();
        assert_eq!(
            lines
                .iter()
                .map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(": "))
                .collect::<Vec<_>>(),
            [
                "c.toml:3:11: there is no rule for the dialect `vlm`",
                "c.toml:4:10: `0` is no weight",
                "c.toml:5:10: there is no markup `bar`",
                "c.toml:6:12: there is no form of thoughts `foo`",
                "--dialect: there is no rule for the dialect `ollma@0.5`",
            ],
            "{told}"
        );
        assert!(told.contains("did you mean `vllm`?"), "{told}");
        assert!(told.contains("did you mean `ollama`?"), "{told}");
    }
}
