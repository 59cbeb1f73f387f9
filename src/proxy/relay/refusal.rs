//! An upstream's error reply in; the error that it is, and what its clients may see of it, out.

use super::answer::check_coding;
use super::whole;
use crate::upstream::Upstream;
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use isogloss_core::error::Error;
use isogloss_core::exchange;
use isogloss_core::rules::Rule;
use std::time::Duration;

/// Instead of an error reply that nobody can read.
const COMPRESSED_ERROR: &[u8] =
    b"it compressed its error although it was asked not to; switch compression off in whatever stands before it";
/// Of an upstream's error reply; the longest seen are pydantic's lists of some KB.
const MAX_ERROR_BYTES: usize = 64 << 10;
const ERROR_WITHIN: Duration = Duration::from_secs(5);
/// Seconds: what a client can be asked to wait. A date is taken for the longest.
const RETRY_AFTER_SECONDS: std::ops::RangeInclusive<u64> = 1..=60;

/// For clients, where a busy server does not say how long.
const RETRY_AFTER_UNSAID: u64 = 5;

/// What of an error's head its clients read: the beginnings of the names.
const TOLD_OF_ERRORS: [&str; 5] = [
    "x-should-retry",
    "retry-after-ms",
    "request-id",
    "x-ratelimit-",
    "anthropic-ratelimit-",
];

/// An upstream's error reply: its head and its body without the operator's key, and the error that it is.
pub(in crate::proxy) async fn refusal_of(
    upstream: &Upstream,
    rule: &Rule,
    reply: Response<reqwest::Body>,
) -> (Parts, Bytes, Error) {
    let (mut head, body) = reply.into_parts();
    let status = head.status.as_u16();
    let body = match check_coding(&head.headers) {
        Ok(()) => whole::read_some(body, MAX_ERROR_BYTES, ERROR_WITHIN).await,
        Err(_) => Bytes::from_static(COMPRESSED_ERROR),
    };
    // Before it is read: its text may be cut in the middle of a key.
    let body = upstream.redact(&body).map_or(body, Bytes::from);
    let mut error = exchange::upstream_error(rule, status, &body);
    if status == 503 {
        upstream.doubt();
    }
    // Gemini's body says what others' head does.
    let in_body = error
        .retry_after
        .filter(|_| !head.headers.contains_key(RETRY_AFTER));
    error.retry_after = in_body.map(bounded).or_else(|| retry_after(&head.headers));
    // A key may stand there as well.
    let is_told = |value: &HeaderValue| upstream.redact(value.as_bytes()).is_some();
    let named = head.headers.iter().filter(|(_, value)| is_told(value));
    let named: Vec<HeaderName> = named.map(|(name, _)| name.clone()).collect();
    for name in &named {
        head.headers.remove(name);
    }
    let told = head.headers.iter().filter_map(|(name, value)| {
        let (name, value) = (name.as_str(), value.to_str().ok()?);
        let is_read = TOLD_OF_ERRORS.iter().any(|told| name.starts_with(told));
        is_read.then(|| (name.to_owned(), value.to_owned()))
    });
    error.headers = told.collect();
    (head, body, error)
}

/// For how many seconds an error reply says that its server is not to be asked.
pub(in crate::proxy) fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let value = headers.get(RETRY_AFTER)?;
    let seconds = value
        .to_str()
        .ok()
        .and_then(|text| text.trim().parse().ok());
    Some(bounded(seconds.unwrap_or(u64::MAX)))
}

/// A server's error as clients are told it: of a busy one with a time to wait, which is ours where it said none.
pub(in crate::proxy) fn with_wait(mut error: Error) -> Error {
    if matches!(error.status(), 429 | 503) {
        error.retry_after = error.retry_after.or(Some(RETRY_AFTER_UNSAID));
    }
    error
}

fn bounded(seconds: u64) -> u64 {
    seconds.clamp(*RETRY_AFTER_SECONDS.start(), *RETRY_AFTER_SECONDS.end())
}
