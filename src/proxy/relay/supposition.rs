//! What errors may have told of a server's launch, or not: the request is planned once as if they had. If that is answered the
//! server is believed to be so for a while; if not, they had another reason.

use crate::upstream::{Target, Upstream};
use isogloss_core::rules::{is_of_one_request, told_limit};
use std::sync::Arc;

/// What one request is planned with that nobody knows.
pub(super) struct Supposition {
    upstream: Arc<Upstream>,
    /// Facts, in the words of the rule files: all of them together, so that of two errors none comes again.
    facts: Vec<String>,
}

impl Supposition {
    /// This fact of the server that was asked, beside what was supposed of it.
    pub(super) fn of(target: &Target, fact: String, before: Option<Self>) -> Self {
        let upstream = Arc::clone(&target.upstream);
        let before = before.filter(|before| Arc::ptr_eq(&before.upstream, &upstream));
        let mut facts = before.map_or_else(Vec::new, |before| before.facts);
        facts.push(fact);
        Self { upstream, facts }
    }

    /// Whether this is supposed beside what was.
    pub(super) fn is_news(supposed: Option<&Self>, fact: &str) -> bool {
        // Of a server that finds another number each time there would be no end.
        let is_it = |known: &String| {
            known == fact || (told_limit(known).is_some() && told_limit(fact).is_some())
        };
        supposed.is_none_or(|before| !before.facts.iter().any(is_it))
    }

    /// The same server, with this supposed of it; `None` where it cannot be asked any more, or that would change nothing.
    pub(super) fn target(&self, model: &str) -> Option<Target> {
        self.upstream.supposing(&self.facts, model)
    }

    /// The request was answered: as the server calls the model, it is asked so for a while.
    pub(super) fn is_borne_out(&self, model: &str) {
        let lasting = self.facts.iter().filter(|fact| !is_of_one_request(fact));
        for fact in lasting {
            self.upstream.believe(fact, model);
        }
    }
}
