//! Adds: what browsers want of a server that pages of other origins ask, to every reply, errors too, where the operator
//! names whose pages may; and the answers to their preflights.

use crate::config::Origins;
use http::HeaderName;
use http::header::ORIGIN;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_http::cors::{
    AllowHeaders, AllowMethods, AllowOrigin, AllowPrivateNetwork, Any, CorsLayer,
};

/// For so long a browser may go by what a preflight was answered; more none of them keeps.
const MAX_AGE: Duration = Duration::from_secs(7200);

/// The layer; none where nobody's pages are named. Credentials of a browser's own are not allowed: clients send keys.
pub(super) fn layer(origins: &Origins) -> Option<CorsLayer> {
    let (allowed, varying): (_, &[HeaderName]) = match origins {
        Origins::Unsaid => return None,
        Origins::Any => (AllowOrigin::from(Any), &[]),
        Origins::Only(known) => (AllowOrigin::list(known.clone()), &[ORIGIN]),
    };
    let layer = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods(AllowMethods::mirror_request())
        .allow_headers(AllowHeaders::mirror_request())
        .allow_private_network(AllowPrivateNetwork::yes())
        .expose_headers(Any)
        .vary(varying.to_vec())
        .max_age(MAX_AGE);
    Some(layer)
}

pin_project! {
    /// The body of a reply, or of the answer to a preflight, which has none.
    #[derive(Debug)]
    pub(super) struct Perhaps<B> {
        #[pin]
        body: Option<B>,
    }
}

impl<B> Perhaps<B> {
    pub(super) const fn of(body: B) -> Self {
        Self { body: Some(body) }
    }
}

impl<B> Default for Perhaps<B> {
    fn default() -> Self {
        Self { body: None }
    }
}

impl<B: Body> Body for Perhaps<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.project().body.as_pin_mut() {
            Some(body) => body.poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.body.as_ref().map_or_else(none, Body::size_hint)
    }
}
