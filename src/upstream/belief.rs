//! What errors that may have any reason told of a model: which facts a request was answered with, and when, come in; by which
//! rule it is asked now goes out. Time is an argument.
//!
//! A server that has a bad moment answers as one does that cannot be asked so. So such a fact is believed only once the same
//! request was answered that was planned with it, and not for good: after a while requests are planned without it again. If
//! that fails as before it is believed for twice as long, up to an hour.

use super::{State, Upstream};
use isogloss_core::rules::Rule;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// What is held to be true of a model for now.
#[derive(Debug, Clone)]
pub(super) struct Belief {
    facts: Vec<String>,
    /// The model's rule with these facts.
    rule: Arc<Rule>,
    until: Instant,
    lasts: Duration,
}

impl Belief {
    /// A request was answered that was planned with a fact in place of `rule`, which failed before; `None` where the rule
    /// knows it already.
    pub(super) fn of(
        before: Option<Self>,
        fact: &str,
        rule: &Arc<Rule>,
        now: Instant,
    ) -> Option<Self> {
        let (mut facts, lasts) = match before {
            // Others who failed in the same moment.
            Some(before) if now < before.until => (before.facts, before.lasts),
            Some(before) if now < before.until + before.lasts => {
                (Vec::new(), LONGEST.min(before.lasts * 2))
            }
            _ => (Vec::new(), FIRST),
        };
        if !facts.iter().any(|known| known == fact) {
            facts.push(fact.to_owned());
        }
        Some(Self {
            rule: with(rule, &facts)?,
            facts,
            until: now + lasts,
            lasts,
        })
    }

    /// The same where the model goes by another rule by now.
    pub(super) fn under(&self, rule: &Arc<Rule>) -> Option<Self> {
        let rule = with(rule, &self.facts)?;
        Some(Self {
            rule,
            ..self.clone()
        })
    }

    /// The rule by which the model is asked at this time, where it is another than without the belief.
    pub(super) fn at(&self, now: Instant) -> Option<&Arc<Rule>> {
        (now < self.until).then_some(&self.rule)
    }
}

impl Upstream {
    /// An error that may have any reason was followed by an answer to the same request, planned with this fact: the model is
    /// asked so for a while.
    pub fn believe(&self, fact: &str, model: &str) {
        let model = self.models.borrow().meant(model).to_owned();
        self.state.send_if_modified(|state| {
            let State::Ready { rule, models, .. } = state else {
                return false;
            };
            tracing::info!(
                upstream = self.address.name(),
                name = self.given_name(),
                model,
                fact,
                "this seems to be how the upstream was launched; it is tried again later"
            );
            models.believe(&model, fact, rule, Instant::now());
            true
        });
    }
}

/// `None` where nothing of it is news.
fn with(rule: &Arc<Rule>, facts: &[String]) -> Option<Arc<Rule>> {
    facts.iter().fold(None, |known, fact| {
        let news = known.as_ref().unwrap_or(rule).knowing(fact);
        news.map(Arc::new).or(known)
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use isogloss_core::rules::RuleSet;

    const FACT: &str = "no_tagged_calls";

    fn rule() -> Arc<Rule> {
        Arc::new(RuleSet::builtin().resolve("vllm", None).unwrap())
    }

    #[test]
    fn what_is_believed_is_tried_anew_after_a_while_that_doubles_as_long_as_it_fails() {
        let rule = rule();
        let mut now = Instant::now();
        let mut belief = None;
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            let lasts = FIRST * minutes;
            let held = Belief::of(belief.take(), FACT, &rule, now).unwrap();
            let believed = held.at(now).unwrap();
            assert_eq!(**believed, rule.knowing(FACT).unwrap());
            assert!(held.at(now + lasts - Duration::from_millis(1)).is_some());
            assert!(held.at(now + lasts).is_none(), "{minutes}");
            now += lasts;
            belief = Some(held);
        }
        // It went well for as long as it was believed: what fails now is another matter.
        now += LONGEST;
        let held = Belief::of(belief, FACT, &rule, now).unwrap();
        assert!(held.at(now + FIRST).is_none());
    }

    #[test]
    fn failures_of_one_moment_count_once() {
        let (rule, now) = (rule(), Instant::now());
        let many = (0..100).fold(None, |belief, _| Belief::of(belief, FACT, &rule, now));
        assert!(many.unwrap().at(now + FIRST).is_none());
    }

    #[test]
    fn nothing_is_believed_that_the_rule_knows() {
        let known = Arc::new(rule().knowing(FACT).unwrap());
        let now = Instant::now();
        assert!(Belief::of(None, FACT, &known, now).is_none());
        let held = Belief::of(None, FACT, &rule(), now).unwrap();
        assert!(held.under(&known).is_none());
        assert!(held.under(&rule()).unwrap().at(now).is_some());
    }
}
