//! A reply that says where a batch's results are in; the same with an address below the proxy's own out.

use super::account::Record;
use super::body::ReplyBody;
use super::relay::kinds::is_json;
use super::relay::{self, whole};
use super::{App, pass};
use http::Response;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use isogloss_core::error::Error;
use isogloss_core::passage;
use tokio::time::Instant;

/// The reply, read as a whole where it can be read.
pub(super) async fn reply(
    app: &App,
    reply: Response<reqwest::Body>,
    first_byte: Instant,
    record: &Record,
) -> Result<Response<ReplyBody>, Error> {
    let media_type = reply.headers().get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok());
    if !media_type.is_some_and(is_json) || reply.headers().contains_key(CONTENT_ENCODING) {
        return Ok(pass::pass_reply(app, reply, first_byte, record.clone()));
    }
    let (mut head, body) = reply.into_parts();
    let limit = app.config.limits.reply_bytes;
    let body = whole::read(&[], body, limit, first_byte, &app.budget).await;
    let body = body.map_err(|error| relay::unread(error, limit, &app.metrics))?;
    let home = relay::work(body.len(), || passage::with_own_results(&body));
    let body = match home {
        Some(home) => {
            head.headers.remove(CONTENT_LENGTH);
            home.into()
        }
        None => body,
    };
    Ok(pass::reply(head, ReplyBody::full(body)))
}
