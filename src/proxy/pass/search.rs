//! The search for a server for what is passed on: how it ended at one of them in, which one is asked next out.

use super::super::account::Record;
use super::super::relay::whole;
use super::super::{App, relay};
use crate::upstream::{Upstream, Wanted};
use http::Response;
use http_body::Body;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange;
use std::sync::Arc;
use tokio::time::Instant;

/// Of an error that is read for what it says of the model.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// A request that failed at some servers.
pub(super) struct Search<'a> {
    pub(super) app: &'a App,
    pub(super) record: &'a Record,
    pub(super) model: &'a str,
    /// Nothing is done twice by sending it to another.
    pub(super) may_repeat: bool,
    pub(super) tried: Vec<usize>,
}

impl Search<'_> {
    pub(super) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            model: self.model,
            key: None,
            tried: &self.tried,
        }
    }

    /// Whether a reply says that its server, not the request, is at fault; then, whether and for how long it is not to be asked.
    /// One that may say that the server has the model no more is read for that, and comes back as it was.
    pub(super) async fn fault_of(
        &self,
        upstream: &Upstream,
        reply: Response<reqwest::Body>,
        first_byte: Instant,
    ) -> Result<(Response<reqwest::Body>, Option<Option<u64>>), Error> {
        let status = reply.status().as_u16();
        if status == 429 || status >= 500 {
            let retry_after = relay::retry_after(reply.headers());
            return Ok((reply, Some(retry_after)));
        }
        let size = reply.body().size_hint();
        let is_short = size.upper().unwrap_or(size.lower()) <= MAX_ERROR_BYTES as u64;
        if !matches!(status, 400 | 404) || self.model.is_empty() || !self.may_repeat || !is_short {
            return Ok((reply, None));
        }
        let (head, body) = reply.into_parts();
        let (app, limit) = (self.app, self.app.config.limits.reply_bytes);
        let body = whole::read(&[], body, limit, first_byte, &app.budget).await;
        let body = body.map_err(|error| relay::unread(error, limit, &app.metrics))?;
        let fault = exchange::lacks_model(status, &body).then(|| {
            // What it lists is old news.
            upstream.doubt();
            None
        });
        Ok((Response::from_parts(head, body.into()), fault))
    }

    /// A server failed before it said anything, and may have said for how long it is not to be asked: the one that is asked
    /// instead.
    pub(super) fn after(
        &mut self,
        upstream: &Upstream,
        kind: Kind,
        retry_after: Option<u64>,
        may: impl Fn(&Upstream) -> bool,
    ) -> Option<Arc<Upstream>> {
        if !self.model.is_empty() {
            upstream.faltered(self.model, kind, retry_after);
        }
        if !self.may_repeat {
            return None;
        }
        self.tried.push(upstream.index());
        let next = self.app.upstreams.another(&self.wanted(), may)?;
        if !self.app.upstreams.may_send_again() {
            self.app.metrics.limit_hit("retry_budget");
            return None;
        }
        self.app.metrics.upstream_failed(kind);
        self.app.metrics.retry("failover");
        self.record.retried("failover");
        Some(next)
    }
}
