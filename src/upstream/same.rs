//! Servers of one kind and version are asked by one rule: what is planned for one is planned for all, and found by the
//! rule's own identity.

use super::Upstreams;
use isogloss_core::rules::Rule;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The rules by which servers are asked now.
#[derive(Debug, Default)]
pub(super) struct RulesInUse(Mutex<Vec<Weak<Rule>>>);

impl RulesInUse {
    /// Those of the servers before, whose rules may stay.
    pub(super) fn after(before: Option<&Upstreams>) -> Arc<Self> {
        let known = before.and_then(|before| before.all.first());
        known.map_or_else(Arc::default, |one| Arc::clone(&one.in_use))
    }

    /// The rule that is in use already, where it says the same.
    pub(super) fn shared(&self, rule: Arc<Rule>) -> Arc<Rule> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        let known = all.iter().filter_map(Weak::upgrade);
        if let Some(same) = known.into_iter().find(|known| *known == rule) {
            return same;
        }
        all.push(Arc::downgrade(&rule));
        rule
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use isogloss_core::rules::RuleSet;

    #[test]
    fn equal_rules_are_one_as_long_as_somebody_goes_by_it() {
        let rules = RuleSet::builtin();
        let rule = || Arc::new(rules.resolve("vllm", None).unwrap());
        let in_use = RulesInUse::default();
        let first = in_use.shared(rule());
        assert!(Arc::ptr_eq(&first, &in_use.shared(rule())));
        let other = Arc::new(rules.resolve("ollama", None).unwrap());
        assert!(!Arc::ptr_eq(&first, &in_use.shared(Arc::clone(&other))));
        drop(first);
        let _again = in_use.shared(rule());
        assert_eq!(
            in_use.0.lock().unwrap().len(),
            2,
            "what nobody goes by is gone"
        );
    }
}
