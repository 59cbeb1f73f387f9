//! The watcher of one server: looks in the background, so that no request has to.

use super::probing::Probing;
use super::{State, Upstream};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// The first pause after a look that found no usable server, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(super::state::RETRY_AFTER);
/// Between two looks at a usable server: a restart with another version is seen within this
/// time even where no request noticed it.
const READY_PAUSE: Duration = Duration::from_secs(30);
/// However many requests fail at once, a server is not asked more often.
const KICK_PAUSE: Duration = Duration::from_millis(50);

/// Looks at the server for as long as it is in the configuration.
pub(super) async fn watch(upstream: Arc<Upstream>) {
    looking(upstream, false).await;
}

/// Goes on where another watcher of the same server has ended: one that can be used is not looked at before its time.
pub(super) async fn go_on(upstream: Arc<Upstream>) {
    let is_known = upstream.is_usable();
    looking(upstream, is_known).await;
}

async fn looking(upstream: Arc<Upstream>, mut is_known: bool) {
    let mut pause = FIRST_PAUSE;
    let mut probing = Probing::new(Arc::clone(&upstream));
    loop {
        if !mem::take(&mut is_known)
            && let Some(state) = upstream.look().await
        {
            upstream.set(state);
        }
        upstream.learn_model().await;
        probing.follow();
        let is_ready = matches!(*upstream.state.borrow(), State::Ready { .. });
        let next = if is_ready {
            pause = FIRST_PAUSE;
            READY_PAUSE
        } else {
            let now = pause;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
            now
        };
        tokio::time::sleep(KICK_PAUSE).await;
        tokio::select! {
            () = tokio::time::sleep(jittered(next)) => {}
            () = upstream.kick.notified() => {}
        }
    }
}

/// Between 80 % and 100 %, so that many proxies do not ask one server in step.
fn jittered(pause: Duration) -> Duration {
    // Without randomness in step, which is no reason to stop looking.
    let share = getrandom::u32().unwrap_or_default() % 200;
    pause.mul_f64(1.0 - f64::from(share) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_differ_and_stay_in_their_range() {
        let pauses: Vec<_> = (0..50).map(|_| jittered(LONGEST_PAUSE)).collect();
        assert!(pauses.iter().all(|pause| *pause <= LONGEST_PAUSE));
        assert!(pauses.iter().all(|pause| *pause >= LONGEST_PAUSE * 4 / 5));
        assert!(pauses.iter().any(|pause| *pause != pauses[0]));
    }
}
