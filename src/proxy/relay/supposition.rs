//! What an error may have told of a server's launch, or not: the request is planned once as if it had. If that is answered the
//! server is believed to be so for a while; if not, the error had another reason.

use crate::upstream::{Target, Upstream};
use isogloss_core::rules::is_of_one_request;
use std::sync::Arc;

/// What one request is planned with that nobody knows.
pub(super) struct Supposition {
    upstream: Arc<Upstream>,
    /// A fact, in the words of the rule files.
    fact: String,
}

impl Supposition {
    /// This fact of the server that was asked.
    pub(super) fn of(target: &Target, fact: String) -> Self {
        let upstream = Arc::clone(&target.upstream);
        Self { upstream, fact }
    }

    /// Whether this is supposed beside, or in the place of, what was.
    pub(super) fn is_news(supposed: Option<&Self>, fact: &str) -> bool {
        supposed.is_none_or(|other| other.fact != fact)
    }

    /// The same server, with this supposed of it; `None` where it cannot be asked any more, or that would change nothing.
    pub(super) fn target(&self, model: &str) -> Option<Target> {
        self.upstream.supposing(&self.fact, model)
    }

    /// The request was answered: as the server calls the model, it is asked so for a while.
    pub(super) fn is_borne_out(&self, model: &str) {
        if !is_of_one_request(&self.fact) {
            self.upstream.believe(&self.fact, model);
        }
    }
}
