//! A connection's service in; the same one out, which knows whether any request is in it. An HTTP/2 connection has no
//! end of its own: one that nothing is asked on is closed, however well it answers pings.

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tower::Service;

/// How many requests a connection has.
#[derive(Debug, Clone)]
pub(super) struct Busy(Arc<watch::Sender<usize>>);

#[derive(Debug)]
pub(super) struct Asked(Busy);

#[derive(Debug, Clone)]
pub(super) struct Counted<S> {
    inner: S,
    busy: Busy,
}

pin_project! {
    /// A reply that will be counted until its end.
    #[derive(Debug)]
    pub(super) struct Answering<F> {
        #[pin]
        reply: F,
        asked: Option<Asked>,
    }
}

pin_project! {
    /// A reply body that is counted until its end.
    #[derive(Debug)]
    pub(super) struct Answered<B> {
        #[pin]
        inner: B,
        asked: Option<Asked>,
    }
}

impl Busy {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    pub(super) const fn counted<S>(self, inner: S) -> Counted<S> {
        Counted { inner, busy: self }
    }

    fn ask(&self) -> Asked {
        self.0.send_modify(|count| *count += 1);
        Asked(self.clone())
    }

    /// Ends when there was no request for so long.
    pub(super) fn idle(&self, limit: Duration) -> impl Future<Output = ()> + Send + use<> {
        let mut count = self.0.subscribe();
        async move {
            loop {
                let is_idle = *count.borrow_and_update() == 0;
                let changed = count.changed();
                if !is_idle {
                    let _never_closed = changed.await;
                } else if tokio::time::timeout(limit, changed).await.is_err() {
                    return;
                }
            }
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

impl<S, B, R> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<Answered<R>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Answering {
            asked: Some(self.busy.ask()),
            reply: self.inner.call(request),
        }
    }
}

impl<F, R, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<Answered<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reply = ready!(this.reply.poll(cx))?;
        let asked = this.asked.take();
        Poll::Ready(Ok(reply.map(|inner| Answered { inner, asked })))
    }
}

impl<B: Body<Data = Bytes>> Body for Answered<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.project().inner.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::{Instant, sleep};

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_when_nothing_was_asked_for_so_long() {
        const LIMIT: Duration = Duration::from_secs(60);
        let busy = Busy::new();
        let begun = Instant::now();
        let asking = async {
            sleep(LIMIT / 2).await;
            let asked = busy.ask();
            sleep(3 * LIMIT).await;
            drop(asked);
        };
        tokio::join!(busy.idle(LIMIT), asking);
        assert_eq!(begun.elapsed(), LIMIT / 2 + 3 * LIMIT + LIMIT);
    }
}
