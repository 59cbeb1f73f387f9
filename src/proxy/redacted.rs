//! An upstream's error reply in, the same without the operator's key out: a server may show what
//! it was sent, and the client does not know that key.

use super::App;
use super::body::ReplyBody;
use super::budget::no_room;
use super::headers;
use super::relay::whole::{self, WholeError};
use crate::upstream::Upstream;
use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use isogloss_core::error::{Error, Kind};
use std::time::Duration;
use tokio::time::Instant;

/// Of an error reply; a page with a picture in it is some 100 KB.
const MAX_BYTES: usize = 1 << 20;
const WITHIN: Duration = Duration::from_secs(10);

/// The reply with its status, its headers, and its body read as a whole.
pub(super) async fn reply(
    app: &App,
    upstream: &Upstream,
    reply: Response<reqwest::Body>,
) -> Result<Response<ReplyBody>, Error> {
    let (head, body) = reply.into_parts();
    let unseen = |why: &str| {
        let status = head.status.as_u16();
        let message = format!(
            "the server answered {status}; its words are not shown, since they may hold its API key: {why}"
        );
        Error::new(Kind::UpstreamFailed, message).with_status(status)
    };
    let coding = head.headers.get(CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(unseen("they are compressed; ask for them uncompressed"));
    }
    let body = whole::read(&[], body, MAX_BYTES, Instant::now() + WITHIN, &app.budget).await;
    let body = body.map_err(|fault| match fault {
        WholeError::NoRoom => no_room(&app.metrics),
        _ => unseen("they are too long, too slow, or cut"),
    })?;
    let mut shown = head.headers;
    let is_told = |value: &[u8]| upstream.redact(value).is_some();
    let named: Vec<_> = shown
        .iter()
        .filter(|(_, value)| is_told(value.as_bytes()))
        .map(|(name, _)| name.clone())
        .collect();
    for name in &named {
        shown.remove(name);
    }
    let body = match upstream.redact(&body) {
        Some(redacted) => {
            shown.remove(CONTENT_LENGTH);
            Bytes::from(redacted)
        }
        None => body,
    };
    let mut reply = Response::new(ReplyBody::full(body));
    *reply.status_mut() = head.status;
    *reply.headers_mut() = headers::pass_down(shown);
    Ok(reply)
}
