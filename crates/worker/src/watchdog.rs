//! Calls of native code come in, when they begin and when they return; one that never does goes out.
//!
//! A thread that hangs in a library (a GPU that was lost, a kernel that waits for itself) cannot be called back, and
//! says nothing. Time is counted by looks, not by the clock: a process that was stopped, or a machine that slept, has
//! computed nothing meanwhile, and nobody looked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

mod watched;

pub use watched::{watched, watched_projector};

/// Looks within the limit: by so much of it a call may be found out too early or late.
const LOOKS: u32 = 32;
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Knows which calls are under way.
#[derive(Debug, Default)]
pub struct Watchdog {
    calls: Mutex<Calls>,
}

/// A call is under way, until this is dropped.
#[derive(Debug)]
pub struct Running<'w> {
    watchdog: &'w Watchdog,
    id: u64,
}

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    running: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    id: u64,
    what: &'static str,
    /// Looks that it was seen by.
    seen: u32,
    /// How many times the limit it may take.
    times: u32,
}

impl Watchdog {
    /// Notes that a call begins. `times`: how many times the limit it may take.
    pub fn call(&self, what: &'static str, times: u32) -> Running<'_> {
        let id = self.calls().begin(what, times);
        Running { watchdog: self, id }
    }

    /// Blocks until a call has not returned within this time: says which.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> &'static str {
        let pause = (limit / LOOKS).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let looks = limit.as_nanos().div_ceil(pause.as_nanos());
        let looks = u32::try_from(looks).unwrap_or(u32::MAX);
        loop {
            std::thread::sleep(pause);
            let overdue = self.calls().look(looks);
            if let Some(what) = overdue {
                return what;
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    fn begin(&mut self, what: &'static str, times: u32) -> u64 {
        self.next += 1;
        self.running.push(Call {
            id: self.next,
            what,
            seen: 0,
            times: times.max(1),
        });
        self.next
    }

    fn end(&mut self, id: u64) {
        self.running.retain(|call| call.id != id);
    }

    /// A look: what has been seen by more of them than so many.
    fn look(&mut self, limit: u32) -> Option<&'static str> {
        for call in &mut self.running {
            call.seen = call.seen.saturating_add(1);
        }
        let is_overdue = |call: &&Call| call.seen > limit.saturating_mul(call.times);
        self.running.iter().find(is_overdue).map(|call| call.what)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.watchdog.calls().end(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_returns_is_not_overdue_however_many_there_were() {
        let mut calls = Calls::default();
        for _ in 0..1_000 {
            let id = calls.begin("a pass", 1);
            assert_eq!(calls.look(1), None);
            calls.end(id);
        }
        assert!(calls.running.is_empty());
    }

    #[test]
    fn one_that_does_not_is_told_though_others_come_and_go_beside_it() {
        let mut calls = Calls::default();
        calls.begin("a pass", 1);
        for _ in 0..8 {
            let other = calls.begin("a prompt", 1);
            assert_eq!(calls.look(8), None);
            calls.end(other);
        }
        assert_eq!(calls.look(8), Some("a pass"));
    }

    #[test]
    fn what_is_larger_may_take_longer() {
        let mut calls = Calls::default();
        calls.begin("an image", 3);
        assert!((0..24).all(|_| calls.look(8).is_none()));
        assert_eq!(calls.look(8), Some("an image"));
        calls.begin("a film", u32::MAX);
    }

    #[test]
    fn a_call_that_hangs_is_found_out_within_its_time() {
        let watchdog = Watchdog::default();
        let limit = Duration::from_millis(40);
        std::thread::scope(|scope| {
            let begun = std::time::Instant::now();
            let waiting = scope.spawn(|| watchdog.wait(limit));
            let _hangs = watchdog.call("a pass", 1);
            assert_eq!(waiting.join().ok(), Some("a pass"));
            assert!(begun.elapsed() >= limit);
        });
    }
}
