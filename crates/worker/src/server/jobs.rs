//! The events of a request's jobs, as one stream. Dropping it tells the engine that nobody wants
//! the answers any more.

use crate::job::Event;
use isogloss_core::error::{Error, Kind};
use std::task::{Context, Poll};
use tokio::sync::mpsc::Receiver;

/// The jobs of one request.
#[derive(Debug)]
pub(super) struct Jobs {
    /// None: over.
    receivers: Vec<Option<Receiver<Event>>>,
    /// Which is asked first, so that none starves the others.
    next: usize,
}

impl Jobs {
    pub(super) fn new(receivers: Vec<Receiver<Event>>) -> Self {
        Self {
            receivers: receivers.into_iter().map(Some).collect(),
            next: 0,
        }
    }

    /// The next event and whose it is; `None` when all are over.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, Event)>> {
        let count = self.receivers.len();
        let mut is_over = true;
        for place in 0..count {
            let index = (self.next + place) % count;
            let Some(receiver) = &mut self.receivers[index] else {
                continue;
            };
            is_over = false;
            let event = match receiver.poll_recv(cx) {
                Poll::Pending => continue,
                Poll::Ready(Some(event)) => event,
                Poll::Ready(None) => Event::Failed(Error::new(
                    Kind::Internal,
                    "the engine ended before the answer did",
                )),
            };
            if matches!(event, Event::Finished { .. } | Event::Failed(_)) {
                self.receivers[index] = None;
            }
            self.next = (index + 1) % count;
            return Poll::Ready(Some((index, event)));
        }
        match is_over {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    pub(super) async fn next(&mut self) -> Option<(usize, Event)> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }
}
