//! Adds: an id of our own making to each request and reply. Sits outermost, so that every
//! reply has it. Never takes a client's id for its own, and never sends one upstream with what is translated: vLLM
//! makes it part of its internal request id, where a client could collide with another's. Ours goes there instead, so that
//! the server's log and the proxy's can be joined.

use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Request, Response};
use pin_project_lite::pin_project;
use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower::{Layer, Service};

pub(super) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The server's own `x-request-id`.
const X_UPSTREAM_REQUEST_ID: HeaderName = HeaderName::from_static("x-isogloss-upstream-request-id");
const X_ISOGLOSS_REQUEST_ID: HeaderName = HeaderName::from_static("x-isogloss-request-id");
const MAX_CLIENT_ID_BYTES: usize = 128;

/// The ids of a request, in its extensions.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    /// Ours: 32 hexadecimal digits.
    pub(super) ours: HeaderValue,
    /// The client's own, for the log alone, where it is harmless.
    pub(super) client: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct RequestIdLayer;

#[derive(Debug, Clone)]
pub(super) struct RequestId<S>(S);

pin_project! {
    /// A reply that will have its id.
    #[derive(Debug)]
    pub(super) struct Identified<F> {
        #[pin]
        reply: F,
        ours: HeaderValue,
    }
}

/// What the system gave of randomness and nobody has had yet: it is asked once for many ids.
struct Spare {
    bytes: [u8; 1024],
    left: usize,
}

impl Spare {
    fn take(&mut self) -> Option<u128> {
        if self.left == 0 {
            getrandom::fill(&mut self.bytes).ok()?;
            self.left = self.bytes.len();
        }
        let (rest, id) = self.bytes.get(..self.left)?.split_last_chunk()?;
        self.left = rest.len();
        Some(u128::from_ne_bytes(*id))
    }
}

thread_local! {
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare { bytes: [0; 1024], left: 0 }) };
}

/// Random, so that it is unique. A system that has no randomness left gives zeros: a request is
/// worth more than its id.
pub(super) fn random() -> u128 {
    SPARE.with_borrow_mut(Spare::take).unwrap_or_default()
}

/// Puts our id among the headers that a server gets, where none is.
pub(super) fn tell(extensions: &Extensions, headers: &mut HeaderMap) {
    if let Some(ids) = extensions.get::<Ids>() {
        headers
            .entry(X_REQUEST_ID)
            .or_insert_with(|| ids.ours.clone());
    }
}

/// The same request is asked once more, as which `nth`: a server may still have the one before under its id.
pub(super) fn tell_again(nth: u32, headers: &mut HeaderMap) {
    let again = headers
        .get(X_REQUEST_ID)
        .and_then(|id| HeaderValue::from_str(&format!("{}-{nth}", id.to_str().ok()?)).ok());
    if let Some(again) = again {
        headers.insert(X_REQUEST_ID, again);
    }
}

fn client_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(X_REQUEST_ID)?.to_str().ok()?;
    let is_harmless = id.len() <= MAX_CLIENT_ID_BYTES
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    is_harmless.then(|| id.to_owned())
}

// === impl RequestId ===

impl<S> Layer<S> for RequestIdLayer {
    type Service = RequestId<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RequestId(inner)
    }
}

impl<S, B, R> Service<Request<B>> for RequestId<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Identified<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let ours = HeaderValue::from_str(&format!("{:032x}", random()))
            .unwrap_or(HeaderValue::from_static("none"));
        let client = client_id(request.headers());
        request.extensions_mut().insert(Ids {
            ours: ours.clone(),
            client,
        });
        let reply = self.0.call(request);
        Identified { reply, ours }
    }
}

// === impl Identified ===

impl<F, R, E> Future for Identified<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut reply = ready!(this.reply.poll(cx))?;
        let headers = reply.headers_mut();
        // By its own its operator finds the request, OpenAI's support among them.
        if let Some(theirs) = headers.insert(X_REQUEST_ID, this.ours.clone()) {
            headers.insert(X_UPSTREAM_REQUEST_ID, theirs);
        }
        headers.insert(X_ISOGLOSS_REQUEST_ID, this.ours.clone());
        Poll::Ready(Ok(reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_id_is_kept_only_where_it_is_harmless() {
        let read = |id: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(X_REQUEST_ID, HeaderValue::from_static(id));
            client_id(&headers)
        };
        assert_eq!(read("a-1_b.C").as_deref(), Some("a-1_b.C"));
        assert_eq!(read("a b"), None);
        assert_eq!(read("http://internal:8000/"), None);
        let long: &'static str = "a".repeat(129).leak();
        assert_eq!(read(long), None);
        assert_eq!(client_id(&HeaderMap::new()), None);
    }

    #[test]
    fn a_server_gets_our_id_and_each_further_attempt_another() {
        let (mut extensions, mut headers) = (Extensions::new(), HeaderMap::new());
        tell(&extensions, &mut headers);
        assert!(headers.is_empty());
        let ours = HeaderValue::from_static("0af7");
        extensions.insert(Ids { ours, client: None });
        tell(&extensions, &mut headers);
        let mut again = headers.clone();
        tell_again(2, &mut again);
        let said = |headers: &HeaderMap| headers.get(X_REQUEST_ID).cloned();
        assert_eq!(said(&headers), Some(HeaderValue::from_static("0af7")));
        assert_eq!(said(&again), Some(HeaderValue::from_static("0af7-2")));
        headers.insert(X_REQUEST_ID, HeaderValue::from_static("mine"));
        tell(&extensions, &mut headers);
        assert_eq!(said(&headers), Some(HeaderValue::from_static("mine")));
    }

    #[test]
    fn a_thousand_ids_differ_in_both_halves() {
        let ids: Vec<u128> = (0..1_000).map(|_| random()).collect();
        for half in [0, 64] {
            let mut halves: Vec<u64> = ids.iter().map(|id| (id >> half) as u64).collect();
            halves.sort_unstable();
            halves.dedup();
            assert_eq!(halves.len(), 1_000);
        }
    }
}
