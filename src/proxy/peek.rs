//! A request body on its way through: read as a whole where its first bytes say that a server may
//! read JSON in it, else streamed on.

use super::App;
use super::body::BoxError;
use super::relay::incoming;
use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use isogloss_core::error::Error;
use isogloss_core::passage::{Look, sniff};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::time::Instant;

/// Before the first byte of substance; more is read as a whole, and looked at then.
const MAX_BLANK_BYTES: usize = 4096;

/// What is known of a body.
pub(super) enum Peeked<B> {
    /// All of it: it may be JSON, or ended before that was clear.
    Whole(Bytes),
    /// It is something else.
    Streamed(Prefixed<B>),
}

/// A body of which some was read.
pub(super) struct Prefixed<B> {
    first: Bytes,
    rest: Pin<Box<B>>,
}

impl<B> Prefixed<B> {
    pub(super) fn new(first: Bytes, rest: B) -> Self {
        let rest = Box::pin(rest);
        Self { first, rest }
    }
}

/// Reads as much as is needed; size and time are limited by the layers outside.
pub(super) async fn peek<B>(body: B, app: &App) -> Result<Peeked<B>, Error>
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let mut rest = Box::pin(body);
    let mut first = BytesMut::new();
    let mut look = Look::Undecided;
    while look == Look::Undecided && first.len() <= MAX_BLANK_BYTES {
        let Some(frame) = rest.frame().await else {
            return Ok(Peeked::Whole(first.freeze()));
        };
        let frame = frame.map_err(|error| incoming::refusal(&error.into(), app))?;
        if let Ok(bytes) = frame.into_data() {
            first.extend_from_slice(&bytes);
            look = sniff(&first);
        }
    }
    let first = first.freeze();
    let body = Prefixed { first, rest };
    match look {
        Look::Other => Ok(Peeked::Streamed(body)),
        Look::Json | Look::Undecided => Ok(Peeked::Whole(incoming::read(body, app).await?)),
    }
}

impl<B: Body<Data = Bytes>> Body for Prefixed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if self.first.is_empty() {
            self.rest.as_mut().poll_frame(cx)
        } else {
            Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.first)))))
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (first, rest) = (self.first.len() as u64, self.rest.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + first);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + first);
        }
        hint
    }
}

/// How long a client is listened to whose body nobody wants any more.
const DRAIN_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

/// Since when a body has been read to its end.
pub(super) type Gone = Arc<OnceLock<Instant>>;

/// A body that is read to its end even where the upstream answers before it has it all: closing
/// a connection with something unread resets it, and the client would lose the answer.
pub(super) struct Drained<B: Body + Send + 'static> {
    /// `None` at its end.
    body: Option<Pin<Box<B>>>,
    /// Set there.
    gone: Gone,
}

impl<B: Body + Send + 'static> Drained<B> {
    pub(super) fn new(body: B, gone: &Gone) -> Self {
        Self {
            body: Some(Box::pin(body)),
            gone: Arc::clone(gone),
        }
    }
}

impl<B: Body<Data = Bytes> + Send + 'static> Body for Drained<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = std::task::ready!(body.as_mut().poll_frame(cx));
        if body.is_end_stream() || !matches!(frame, Some(Ok(_))) {
            self.gone.get_or_init(Instant::now);
        }
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let hint = self.body.as_ref().map(|body| body.size_hint());
        hint.unwrap_or_else(|| SizeHint::with_exact(0))
    }
}

impl<B: Body + Send + 'static> Drop for Drained<B> {
    fn drop(&mut self) {
        let rest = self.body.take().filter(|body| !body.is_end_stream());
        if let (Some(mut rest), Ok(runtime)) = (rest, tokio::runtime::Handle::try_current()) {
            // Its size is limited by the layer outside.
            runtime.spawn(tokio::time::timeout(DRAIN_WITHIN, async move {
                while let Some(Ok(_unwanted)) = rest.frame().await {}
            }));
        }
    }
}
