//! The one type of reply bodies: polled by the client, so that a client which stops reading
//! stops the server, and one that goes away drops the server's connection with the body.

use super::relay::{Translated, Untouched};
use super::silence::Passing;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of a reply.
pub(super) enum ReplyBody {
    /// Bytes that are all there.
    Full(Full<Bytes>),
    /// The upstream's own body.
    Upstream(Box<Passing>),
    /// The upstream's own stream of events.
    Events(Box<Untouched>),
    /// A translated stream.
    Translated(Box<Translated>),
}

impl ReplyBody {
    pub(super) fn full(bytes: Bytes) -> Self {
        Self::Full(Full::new(bytes))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Self::Upstream(body) => Pin::new(body).poll_frame(cx),
            Self::Events(body) => body
                .poll_chunk(cx)
                .map(|chunk| Ok(chunk.map(Frame::data)).transpose()),
            Self::Translated(body) => body
                .poll_chunk(cx)
                .map(|chunk| Ok(chunk.map(Frame::data)).transpose()),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Upstream(body) => body.is_end_stream(),
            Self::Events(body) => body.is_over(),
            Self::Translated(body) => body.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Upstream(body) => body.size_hint(),
            Self::Events(_) | Self::Translated(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(…)",
            Self::Upstream(_) => "Upstream(…)",
            Self::Events(_) => "Events(…)",
            Self::Translated(_) => "Translated(…)",
        })
    }
}
