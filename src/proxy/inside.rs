//! A request of the console's own: through the whole stack, as any client's, and its reply read as a
//! whole.

use super::{App, stack};
use bytes::{Bytes, BytesMut};
use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use std::sync::Arc;
use tower::ServiceExt;

/// More than a person reads.
const MAX_REPLY_BYTES: usize = 4 << 20;

/// Why there is no reply to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Clients show certificates, which the console has none of.
    #[error(
        "clients need a certificate here (tls.client_ca), which the console has none of: send it with curl"
    )]
    Certificate,
    /// It is cut off, or too long.
    #[error("the reply was cut off, or is over 4 MiB")]
    Unread,
}

/// Sends a request as a client of this proxy. A key that clients need, it needs too.
///
/// # Errors
/// Nobody may ask in this way, or the reply cannot be shown.
pub async fn ask(app: &Arc<App>, mut request: Request<Bytes>) -> Result<Response<Bytes>, AskError> {
    if app.config.tls.client_ca.is_some() {
        return Err(AskError::Certificate);
    }
    // As every request of HTTP/1.1 has one.
    let host = HeaderValue::from_static("console.invalid");
    request.headers_mut().insert(HOST, host);
    let Ok(reply) = stack::stack(app).oneshot(request.map(Full::new)).await;
    let (head, body) = reply.into_parts();
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Err(AskError::Unread);
        };
        let data = frame.into_data().unwrap_or_default();
        if whole.len() + data.len() > MAX_REPLY_BYTES {
            return Err(AskError::Unread);
        }
        whole.extend_from_slice(&data);
    }
    Ok(Response::from_parts(head, whole.freeze()))
}
