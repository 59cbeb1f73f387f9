//! One request in; its row out, after as many attempts as it may take. A server that asks for patience gets it from all
//! requests, not from the one alone that it told.

use super::line::Asked;
use super::row::Row;
use crate::proxy::{self, House, Reply};
use http::header::RETRY_AFTER;
use isogloss_core::error::Kind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Where the server does not say how long: after the first attempt, and twice as long after each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// What a server may ask for.
const MOST_PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Anthropic's own status for a server that has too much to do.
const OVERLOADED: u16 = 529;

/// Until when nothing is asked.
#[derive(Debug, Default)]
pub(super) struct Pause(Mutex<Option<Instant>>);

impl Pause {
    fn until(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extend(&self, until: Instant) {
        let mut pause = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *pause = (*pause).max(Some(until));
    }

    /// Waits until it is over, also if it is made longer meanwhile.
    async fn over(&self) {
        while let Some(until) = self.until().filter(|until| *until > Instant::now()) {
            sleep_until(until).await;
        }
    }
}

/// What all requests have in common.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) house: Arc<House>,
    pub(super) pause: Pause,
    /// Attempts after the first.
    pub(super) retries: u32,
    /// How many signals to stop have come: from the first on nothing is asked again.
    pub(super) stopped: watch::Receiver<u32>,
}

impl Work {
    /// Asks until there is an answer to keep; `None` where the run ends before it is asked again.
    pub(super) async fn ask(&self, number: u64, asked: Asked) -> Option<Row> {
        let Asked {
            custom_id,
            target,
            body,
        } = asked;
        let mut attempt = 0;
        loop {
            tokio::select! {
                biased;
                () = self.pause.over() => {}
                () = told(self.stopped.clone(), 1) => return None,
            }
            let reply = match proxy::post(&self.house.app(), target.clone(), body.clone()).await {
                Ok(reply) => reply,
                Err(error) => return Some(Row::failed(number, &custom_id, &error)),
            };
            if attempt >= self.retries || !will_pass(&reply) {
                return Some(Row::answered(number, &custom_id, &reply));
            }
            if *self.stopped.borrow() > 0 {
                return None;
            }
            self.pause
                .extend(Instant::now() + patience(&reply, attempt));
            attempt += 1;
        }
    }
}

/// Waits until so many signals have come.
pub(super) async fn told(mut signals: watch::Receiver<u32>, times: u32) {
    // The sender lives as long as the runtime.
    let _ = signals.wait_for(|count| *count >= times).await;
}

/// Whether the same request may well be answered later: nobody has worked on it.
fn will_pass(reply: &Reply) -> bool {
    let status = reply.head.status.as_u16();
    matches!(status, 429 | 503 | OVERLOADED) || reply.kind == Some(Kind::UpstreamUnreachable)
}

/// How long to wait before the next attempt.
fn patience(reply: &Reply, attempt: u32) -> Duration {
    let after = reply.head.headers.get(RETRY_AFTER);
    let seconds = after.and_then(|after| after.to_str().ok()?.trim().parse().ok());
    match seconds {
        Some(seconds) => Duration::from_secs(seconds).min(MOST_PATIENCE),
        None => LONGEST_PAUSE.min(FIRST_PAUSE.saturating_mul(1 << attempt.min(16))),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use bytes::Bytes;

    fn reply(status: u16, after: Option<&str>, kind: Option<Kind>) -> Reply {
        let mut reply = http::Response::builder().status(status);
        if let Some(after) = after {
            reply = reply.header("retry-after", after);
        }
        Reply {
            head: reply.body(()).unwrap().into_parts().0,
            body: Bytes::new(),
            kind,
            fault: None,
            tokens: (0, 0),
        }
    }

    #[test]
    fn what_will_pass_is_asked_again_and_nothing_else() {
        for (status, kind, passes) in [
            (429, None, true),
            (503, Some(Kind::Overloaded), true),
            (529, None, true),
            (502, Some(Kind::UpstreamUnreachable), true),
            (502, Some(Kind::ConstraintViolated), false),
            (500, None, false),
            (400, None, false),
            (200, None, false),
        ] {
            assert_eq!(will_pass(&reply(status, None, kind)), passes, "{status}");
        }
    }

    #[test]
    fn as_long_as_the_server_says_else_longer_each_time() {
        let seconds = |after, attempt| patience(&reply(429, after, None), attempt).as_secs();
        assert_eq!(seconds(Some("7"), 0), 7);
        assert_eq!(seconds(Some("0"), 5), 0);
        assert_eq!(seconds(Some("99999999"), 0), 600);
        for (attempt, pause) in [(0, 1), (1, 2), (4, 16), (5, 30), (4_000_000, 30)] {
            assert_eq!(seconds(None, attempt), pause);
            assert_eq!(
                seconds(Some("Fri, 01 Jan 2027 00:00:00 GMT"), attempt),
                pause
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_holds_all_and_is_never_shortened() {
        let pause = Pause::default();
        pause.over().await;
        let begun = Instant::now();
        pause.extend(begun + Duration::from_secs(9));
        pause.extend(begun + Duration::from_secs(2));
        let longer = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            pause.extend(begun + Duration::from_secs(20));
        };
        tokio::join!(pause.over(), pause.over(), longer);
        assert!(begun.elapsed() >= Duration::from_secs(20));
    }
}
