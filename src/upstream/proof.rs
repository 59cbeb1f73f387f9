//! Whether a server was found to enforce anything: verdicts in, one word for readiness out.

use super::Upstream;
use isogloss_core::probe::{DEMANDS, Depth};
use isogloss_core::rules::Verdict;
use std::sync::atomic::Ordering;

/// What asking a server has proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It has not answered everything yet.
    Asking,
    /// It enforces at least one demand.
    Enforces,
    /// It was asked, and ignored or refused every demand that it was clear about.
    EnforcesNothing,
    /// It refuses the key that it is configured with, whatever it is asked.
    KeyRefused,
    /// It is not asked (hosted APIs, `probe = "off"`, nothing to ask), or nothing was clear.
    NotAsked,
}

impl Proof {
    /// The word in `/readyz`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asking => "asking",
            Self::Enforces => "enforces",
            Self::EnforcesNothing => "enforces_nothing",
            Self::KeyRefused => "key_refused",
            Self::NotAsked => "not_asked",
        }
    }
}

impl Upstream {
    /// Whether the server was found to enforce anything.
    #[must_use]
    pub fn proof(&self) -> Proof {
        let report = self.report();
        let verdicts = report.iter().flat_map(|report| {
            let of = |demand: &&str| report.verdict(demand).map(Verdict::as_str);
            // Showing tools to the model constrains nothing.
            let demands = DEMANDS.iter().filter(|demand| **demand != "show_tools");
            demands.filter_map(of)
        });
        let verdicts: Vec<&str> = verdicts.collect();
        if verdicts.contains(&"enforced") {
            Proof::Enforces
        } else if verdicts
            .iter()
            .any(|word| matches!(*word, "ignored" | "refused"))
        {
            Proof::EnforcesNothing
        } else if self.refused().is_some_and(|refused| refused.always) {
            Proof::KeyRefused
        } else if report.is_none() && self.unasked.load(Ordering::Relaxed) {
            Proof::Asking
        } else {
            Proof::NotAsked
        }
    }

    /// Nothing is proven yet, if it is going to be asked at all.
    pub(super) fn to_be_asked(&self) {
        let costs_money = self.probe == Depth::Light && self.is_hosted;
        let is_asked = self.probe != Depth::Off && !costs_money;
        self.unasked.store(is_asked, Ordering::Relaxed);
    }

    /// Asking has come to its end, whatever came of it.
    pub(super) fn has_been_asked(&self) {
        self.unasked.store(false, Ordering::Relaxed);
    }
}
