//! The one type of reply bodies: polled by the client, so that a client which stops reading
//! stops the server, and one that goes away drops the server's connection with the body.

use super::relay::{Translated, Untouched};
use super::silence::Passing;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use isogloss_core::dialect::client::Client;
use isogloss_core::ir::Framing;
use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::Sleep;

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
    /// Lines of JSON, one in each frame.
    Lines(Box<Lines>),
}

/// Whether a stream breaks off at its end.
#[derive(Default)]
pub(super) enum Breaking {
    /// It ends.
    #[default]
    No,
    /// It does, once what it says was sent.
    Yes(Option<Pin<Box<Sleep>>>),
}

/// What was written last is on its way so long before the connection goes.
const LAST_WORDS: Duration = Duration::from_millis(50);

impl Breaking {
    /// That of a stream to this client that ends with an error.
    pub(super) fn behind_error(client: &dyn Client) -> Self {
        match client.overlooks_errors() {
            true => Self::Yes(None),
            false => Self::No,
        }
    }

    /// Whether the stream ends well.
    pub(super) const fn is_none(&self) -> bool {
        matches!(self, Self::No)
    }

    fn poll<T>(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, BoxError>>> {
        let Self::Yes(sleep) = self else {
            return Poll::Ready(None);
        };
        let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(LAST_WORDS)));
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Some(Err("the stream ends with an error".into())))
    }
}

/// A stream of lines, and what is left of those that came together: Ollama sends each by itself, and some clients take what they read at
/// once for one (genkitx-ollama).
pub(super) struct Lines {
    body: ReplyBody,
    left: Bytes,
}

impl Lines {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.left.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.left = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let line = memchr::memchr(b'\n', &self.left).map_or(self.left.len(), |end| end + 1);
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(line)))))
    }
}

impl ReplyBody {
    /// The same stream, a line in each frame where it has lines.
    pub(super) fn framed(self, framing: Framing) -> Self {
        match framing {
            Framing::Events => self,
            Framing::Lines => Self::Lines(Box::new(Lines {
                body: self,
                left: Bytes::new(),
            })),
        }
    }

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
            Self::Events(body) => match ready!(body.poll_chunk(cx)) {
                None => body.breaking().poll(cx),
                chunk => Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk)))),
            },
            Self::Translated(body) => match ready!(body.poll_chunk(cx)) {
                None => body.breaking().poll(cx),
                chunk => Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk)))),
            },
            Self::Lines(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Upstream(body) => body.is_end_stream(),
            Self::Events(body) => body.is_over(),
            Self::Translated(body) => body.is_over(),
            Self::Lines(body) => body.left.is_empty() && body.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Upstream(body) => body.size_hint(),
            Self::Events(_) | Self::Translated(_) | Self::Lines(_) => SizeHint::default(),
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
            Self::Lines(_) => "Lines(…)",
        })
    }
}
