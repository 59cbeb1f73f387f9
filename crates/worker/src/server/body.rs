//! The one type of reply bodies. One that is streamed is polled by the client and owns its jobs:
//! a client that goes away drops them with it.

use super::jobs::Jobs;
use crate::job::Event;
use crate::reply::Streamed;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// What is gathered before it is handed over.
const PIECE_BYTES: usize = 16 << 10;
/// A stream that has nothing to say, for its jobs wait for a slot or a long prompt is computed,
/// says so often that it is there: who reads it may take silence for a defect.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// The body of a reply.
pub(super) enum ReplyBody {
    /// Bytes that are all there.
    Full(Full<Bytes>),
    /// Events as they come.
    Events(Box<Events>),
}

/// A streamed reply.
pub(super) struct Events {
    jobs: Jobs,
    reply: Streamed,
    has_begun: bool,
    /// Ends when it may have been silent for too long.
    silence: Pin<Box<Sleep>>,
    spoke: Instant,
}

impl ReplyBody {
    pub(super) fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Full(Full::new(bytes.into()))
    }

    pub(super) fn events(jobs: Jobs, reply: Streamed) -> Self {
        Self::Events(Box::new(Events {
            jobs,
            reply,
            has_begun: false,
            silence: Box::pin(sleep(SIGN_OF_LIFE)),
            spoke: Instant::now(),
        }))
    }
}

impl Events {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut out = Vec::new();
        while !self.reply.is_over() && out.len() < PIECE_BYTES {
            match self.jobs.poll_next(cx) {
                Poll::Ready(Some((index, event))) => self.take(index, event, &mut out),
                // The last event of each choice ended the reply.
                Poll::Ready(None) => break,
                Poll::Pending if out.is_empty() => return self.poll_silence(cx),
                Poll::Pending => break,
            }
        }
        self.spoke = Instant::now();
        Poll::Ready((!out.is_empty()).then(|| out.into()))
    }

    /// The reply begins with the first answer, not with the request: who reads it counts the
    /// queue and the prompt to the time before the first byte, and an error that comes before
    /// any answer can still be told as one.
    fn take(&mut self, index: usize, event: Event, out: &mut Vec<u8>) {
        if !self.has_begun && matches!(event, Event::Text { .. } | Event::Finished { .. }) {
            self.has_begun = true;
            self.reply.begin(out);
        }
        self.reply.event(index, event, out);
    }

    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            ready!(self.silence.as_mut().poll(cx));
            let due = self.spoke + SIGN_OF_LIFE;
            let now = Instant::now();
            if due <= now {
                self.spoke = now;
                self.silence.as_mut().reset(now + SIGN_OF_LIFE);
                return Poll::Ready(Some(Bytes::from_static(b": waiting\n\n")));
            }
            // It has spoken since: setting the clock with each token would cost more.
            self.silence.as_mut().reset(due);
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body).poll_frame(cx),
            Self::Events(body) => body
                .poll_piece(cx)
                .map(|piece| Ok(piece.map(Frame::data)).transpose()),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Events(body) => body.reply.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ReplyBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(…)",
            Self::Events(_) => "Events(…)",
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::backend::Think;
    use crate::job;
    use crate::job::{Finish, Usage};
    use crate::reply::{Head, Shape};
    use crate::think::{Lead, ThinkSplitter};
    use crate::thoughts::ThinkTags;
    use http_body_util::BodyExt as _;
    use isogloss_core::error::{Error, Kind};
    use tokio::sync::mpsc::Sender;

    /// A stream of one answer, and who says what is in it.
    fn stream() -> (ReplyBody, Sender<Event>) {
        let head = Head {
            shape: Shape::Chat,
            id: "id".to_owned(),
            created: 0,
            model: "a".to_owned(),
            fingerprint: "fp".to_owned(),
            include_usage: false,
            counts_first: false,
        };
        let choices = vec![ThinkSplitter::new(
            Think::None,
            Lead::Lines,
            ThinkTags::default(),
        )];
        let reply = Streamed::new(head, None, 1, choices);
        let (events, receiver) = job::events();
        let jobs = Jobs::new(vec![receiver]);
        (ReplyBody::events(jobs, reply), events)
    }

    /// What the stream says next, within a minute of a clock that nobody waits for.
    async fn next(body: &mut ReplyBody) -> String {
        let frame = tokio::time::timeout(6 * SIGN_OF_LIFE, body.frame()).await;
        let piece = frame.expect("silence").unwrap().unwrap().into_data();
        String::from_utf8(piece.unwrap().to_vec()).unwrap()
    }

    fn text(text: &str) -> Event {
        Event::Text {
            text: text.to_owned(),
            chosen: Vec::new(),
            tokens: 1,
        }
    }

    #[tokio::test]
    async fn a_stream_shows_that_it_lives_in_the_queue_in_a_long_prompt_and_between_tokens() {
        let (mut body, events) = stream();
        tokio::time::pause();
        for _ in 0..3 {
            assert_eq!(next(&mut body).await, ": waiting\n\n");
        }
        let (prompt, cached) = (9, 0);
        events.try_send(Event::Started { prompt, cached }).unwrap();
        assert_eq!(next(&mut body).await, ": waiting\n\n");
        events.try_send(text("a")).unwrap();
        assert!(next(&mut body).await.contains("\"content\":\"a\""));
        let begin = Instant::now();
        assert_eq!(next(&mut body).await, ": waiting\n\n");
        assert!(begin.elapsed() >= SIGN_OF_LIFE, "it had just spoken");
    }

    #[tokio::test]
    async fn a_reply_begins_with_its_answer_and_an_error_before_that_stands_alone() {
        let (mut body, events) = stream();
        let error = Error::new(Kind::UpstreamFailed, "the pass failed");
        events.try_send(Event::Failed(error)).unwrap();
        let only = next(&mut body).await;
        assert!(
            only.contains("the pass failed") && !only.contains("role"),
            "{only}"
        );
        let (mut body, events) = stream();
        let (reason, usage) = (Finish::Length, Usage::default());
        events.try_send(Event::Finished { reason, usage }).unwrap();
        let whole = next(&mut body).await;
        assert!(whole.starts_with("data: ") && whole.contains("\"role\":\"assistant\""));
        assert!(whole.ends_with("data: [DONE]\n\n"), "{whole}");
    }
}
