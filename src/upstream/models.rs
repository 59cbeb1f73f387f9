//! A server's models: its list comes in; which of them a request means, which are to be asked
//! what they enforce, and the rule of each go out.
//!
//! What was found out of one model says nothing of another: behind one address there may be
//! several engines, and some models can what others cannot.

use super::belief::Belief;
use isogloss_core::probe::Report;
use isogloss_core::rules::Rule;
use std::sync::Arc;
use tokio::time::Instant;

/// Hosted APIs list some hundreds; names after these are requests' own.
const MAX_LISTED: usize = 1_024;
/// Models of which something is kept. Clients name them, so that there is an end to it.
const MAX_KNOWN: usize = 64;
/// Models that are asked beside the first, once there is traffic for them.
const MAX_WANTED: usize = 16;

/// What was found out, for each model by its name.
#[derive(Debug, Clone, Default)]
pub struct Models {
    known: Vec<Known>,
}

#[derive(Debug, Clone)]
struct Known {
    model: String,
    rule: Arc<Rule>,
    report: Option<Arc<Report>>,
    /// What is held to be true of it for now.
    belief: Option<Belief>,
}

/// The models that a server says it has.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    names: Vec<String>,
    /// The one that is asked first. It stays while it is in the list, since some servers sort by
    /// what was used last.
    first: Option<String>,
    /// Others that requests named, in the order in which they are asked.
    wanted: Vec<String>,
    /// Those that are loaded, where it says so (llama-server's router): what another is asked may put them out.
    loaded: Option<Vec<String>>,
    /// The status with which it refused to list them.
    refused: Option<u16>,
}

impl Models {
    /// The model's own rule, where it differs from its server's.
    pub(super) fn rule(&self, model: &str) -> Option<&Arc<Rule>> {
        self.of(model).map(|known| &known.rule)
    }

    /// The rule by which the model is asked now: with what is only believed of it.
    pub(super) fn rule_at(&self, model: &str, now: Instant) -> Option<&Arc<Rule>> {
        let known = self.of(model)?;
        let believed = known.belief.as_ref().and_then(|belief| belief.at(now));
        Some(believed.unwrap_or(&known.rule))
    }

    /// A request was answered that was planned with this fact, of which nothing is certain: the model goes by it for a while.
    /// `rule` is its server's, where it has none of its own.
    pub(super) fn believe(&mut self, model: &str, fact: &str, rule: &Arc<Rule>, now: Instant) {
        if self.of(model).is_none() {
            self.set(model, Arc::clone(rule), None);
        }
        if let Some(known) = self.known.iter_mut().find(|known| known.model == model) {
            known.belief = Belief::of(known.belief.take(), fact, &known.rule, now);
        }
    }

    /// What the model was found to enforce.
    pub(super) fn report(&self, model: &str) -> Option<&Arc<Report>> {
        self.of(model)?.report.as_ref()
    }

    /// Every report, the latest last.
    pub(super) fn reports(&self) -> impl Iterator<Item = &Arc<Report>> {
        self.known.iter().filter_map(|known| known.report.as_ref())
    }

    /// From now on the model goes by this rule. A report that there was stays, and what was believed.
    pub(super) fn set(&mut self, model: &str, rule: Arc<Rule>, report: Option<Arc<Report>>) {
        let report = report.or_else(|| self.report(model).cloned());
        let belief = self.of(model).and_then(|known| known.belief.as_ref());
        let belief = belief.and_then(|belief| belief.under(&rule));
        self.known.retain(|known| known.model != model);
        if self.known.len() >= MAX_KNOWN {
            self.known.remove(0);
        }
        let model = model.to_owned();
        self.known.push(Known {
            model,
            rule,
            report,
            belief,
        });
    }

    fn of(&self, model: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.model == model)
    }
}

impl Listed {
    /// Takes the list anew; whether the model that is asked first is another now.
    pub(super) fn note<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> bool {
        self.names = names.take(MAX_LISTED).map(str::to_owned).collect();
        let names = &self.names;
        self.wanted.retain(|wanted| names.contains(wanted));
        let stays = self.first.as_ref().is_some_and(|it| names.contains(it));
        if !stays {
            self.first = names.first().cloned();
        }
        !stays
    }

    /// Takes the status of the answer to who they are.
    pub(super) fn note_status(&mut self, status: u16) {
        self.refused = matches!(status, 401 | 403).then_some(status);
    }

    /// The status with which the server refuses to list them.
    pub(super) const fn refused(&self) -> Option<u16> {
        self.refused
    }

    /// Takes which of them are loaded, where the list says so.
    pub(super) fn note_loaded<'a>(&mut self, loaded: Option<impl Iterator<Item = &'a str>>) {
        let names = loaded.map(|names| names.take(MAX_LISTED).map(str::to_owned));
        self.loaded = names.map(Iterator::collect);
    }

    /// Whether it says which are loaded: that changes while it is up.
    pub(super) const fn says_loaded(&self) -> bool {
        self.loaded.is_some()
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// Whether a model is among them. Clients of Ollama leave out `:latest`, and those of Gemini `models/`.
    pub(super) fn has(&self, model: &str) -> bool {
        let is_it = |name: &String| {
            let short = name.strip_suffix(":latest").unwrap_or(name);
            name == model || short == model || name.strip_prefix("models/") == Some(model)
        };
        self.names.iter().any(is_it)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether there are several.
    pub(super) const fn is_choice(&self) -> bool {
        self.names.len() > 1
    }

    /// Which model answers to a name. A server with one model answers to every name, or to none
    /// that matters.
    pub(super) fn meant<'a>(&'a self, name: &'a str) -> &'a str {
        match self.names.as_slice() {
            [only] => only,
            _ => name,
        }
    }

    /// There is traffic for a model: it is to be asked as well. Whether that is news.
    pub(super) fn want(&mut self, model: &str) -> bool {
        let is_news = self.first() != Some(model)
            && self.has(model)
            && self.wanted.len() < MAX_WANTED
            && !self.wanted.iter().any(|wanted| wanted == model);
        if is_news {
            self.wanted.push(model.to_owned());
        }
        is_news
    }

    /// The models that are asked, in this order.
    pub(super) fn to_ask(&self) -> impl Iterator<Item = &str> {
        let wanted = self.wanted.iter().map(String::as_str);
        let is_loaded = move |model: &&str| {
            let loaded = self.loaded.as_ref();
            loaded.is_none_or(|loaded| loaded.iter().any(|it| it == model))
        };
        self.first().into_iter().chain(wanted).filter(is_loaded)
    }

    /// Forgets which models there was traffic for.
    pub(super) fn want_none(&mut self) {
        self.wanted.clear();
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use isogloss_core::rules::RuleSet;
    use std::time::Duration;

    fn rule(fact: Option<&str>) -> Arc<Rule> {
        let rule = RuleSet::builtin().resolve("ollama", None).unwrap();
        Arc::new(fact.map_or_else(|| rule.clone(), |fact| rule.knowing(fact).unwrap()))
    }

    #[test]
    fn a_rule_is_its_own_models_alone() {
        let mut models = Models::default();
        models.set("small", rule(Some("no_tools")), None);
        assert!(models.rule("small").is_some());
        assert!(models.rule("large").is_none());
    }

    #[test]
    fn what_is_kept_of_models_has_an_end() {
        let mut models = Models::default();
        for nth in 0..1_000 {
            models.set(&nth.to_string(), rule(None), None);
        }
        assert_eq!(models.known.len(), MAX_KNOWN);
        assert!(models.rule("999").is_some() && models.rule("0").is_none());
    }

    #[test]
    fn what_is_believed_of_a_model_outlives_news_of_it_and_not_its_time() {
        let (mut models, now) = (Models::default(), Instant::now());
        let plain = rule(None);
        let knowing = |rule: &Arc<Rule>, fact| Arc::new(rule.knowing(fact).unwrap());
        let sampled = knowing(&plain, "no_sampling");
        models.believe("a", "no_tools", &plain, now);
        assert!(models.rule("a") == Some(&plain));
        assert!(models.rule_at("a", now) == Some(&knowing(&plain, "no_tools")));
        models.set("a", Arc::clone(&sampled), None);
        assert!(models.rule_at("a", now) == Some(&knowing(&sampled, "no_tools")));
        let later = now + Duration::from_secs(3600);
        assert!(models.rule_at("a", later) == Some(&sampled));
        assert!(models.rule_at("b", now).is_none());
    }

    #[test]
    fn a_server_with_one_model_means_it_by_every_name() {
        let mut listed = Listed::default();
        listed.note(["only"].into_iter());
        assert_eq!(listed.meant("gpt-4o"), "only");
        listed.note(["only", "other"].into_iter());
        assert_eq!(listed.meant("gpt-4o"), "gpt-4o");
    }

    #[test]
    fn the_first_model_stays_first_while_it_is_listed() {
        let mut listed = Listed::default();
        assert!(listed.note(["a", "b"].into_iter()));
        assert!(!listed.note(["b", "a"].into_iter()));
        assert_eq!(listed.first(), Some("a"));
        assert!(listed.note(["b"].into_iter()));
        assert_eq!(listed.first(), Some("b"));
    }

    #[test]
    fn only_listed_models_are_wanted_each_once() {
        let mut listed = Listed::default();
        listed.note(["a", "b", "c"].into_iter());
        assert!(listed.want("c"));
        for no_news in ["c", "a", "unlisted"] {
            assert!(!listed.want(no_news), "{no_news}");
        }
        assert_eq!(listed.to_ask().collect::<Vec<_>>(), ["a", "c"]);
        listed.note(["a", "b"].into_iter());
        assert_eq!(listed.to_ask().collect::<Vec<_>>(), ["a"]);
        listed.note_loaded(Some(["b"].into_iter()));
        assert!(listed.want("b"));
        assert_eq!(listed.to_ask().collect::<Vec<_>>(), ["b"]);
    }
}
