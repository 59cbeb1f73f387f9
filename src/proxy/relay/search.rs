//! The search for a server: how it ended at one of them in, whether and what the next one is asked out.

use crate::upstream::{Target, Upstream, Wanted};
use isogloss_core::error::{Error, Kind};
use std::sync::Arc;

/// A request on its way from one server to the next.
pub(super) struct Search {
    /// The model that is asked for now.
    pub(super) model: String,
    /// All that were.
    pub(super) seen: Vec<String>,
    pub(super) has_fallen_back: bool,
    key: Option<u64>,
    /// The servers that failed with this model.
    tried: Vec<usize>,
    /// What the last of them failed with.
    pub(super) failed: Option<Error>,
}

impl Search {
    pub(super) fn new(model: &str, key: Option<u64>) -> Self {
        Self {
            model: model.to_owned(),
            seen: vec![model.to_owned()],
            has_fallen_back: false,
            key,
            tried: Vec::new(),
            failed: None,
        }
    }

    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            model: &self.model,
            key: self.key,
            tried: &self.tried,
        }
    }

    /// What the server calls the model, where that is not what the client wrote.
    pub(super) fn name_at(&self, target: &Target, written: &str) -> Option<Arc<str>> {
        let own = target.model.clone();
        own.or_else(|| self.has_fallen_back.then(|| Arc::from(self.model.as_str())))
            .filter(|name| **name != *written)
    }

    /// Another model is asked for.
    pub(super) fn fall_back(&mut self, model: String) {
        self.seen.push(model.clone());
        self.model = model;
        self.has_fallen_back = true;
        self.tried.clear();
    }

    /// A server failed: whether another may be asked. Nothing of a reply has gone to the client.
    pub(super) fn goes_on(&mut self, upstream: &Upstream, error: &Error) -> bool {
        if error.kind == Kind::Overloaded {
            // It is not asked at all: as many wait for it as may.
            self.tried.push(upstream.index());
            return true;
        }
        if !is_the_servers(upstream, error) {
            // Whatever is wrong with the request, the server said so as it should.
            return false;
        }
        if error.kind == Kind::ModelNotFound {
            // What it lists is old news.
            upstream.doubt();
        }
        upstream.faltered(&self.model, error.retry_after);
        self.tried.push(upstream.index());
        true
    }
}

/// Whether another server may do what this one could not.
fn is_the_servers(upstream: &Upstream, error: &Error) -> bool {
    match error.kind {
        Kind::RateLimited
        | Kind::ModelLoading
        | Kind::ModelNotFound
        | Kind::UpstreamTimeout
        | Kind::UpstreamTruncated
        | Kind::UpstreamUnreachable
        | Kind::UpstreamBadReply
        | Kind::UpstreamFailed => true,
        // The client's own key is refused everywhere.
        Kind::UpstreamAuth => upstream.has_key(),
        _ => false,
    }
}
