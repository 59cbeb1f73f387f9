//! How fast a server that has all it may have ends requests: the times at which it did, to the time that others will
//! take.

use std::collections::VecDeque;
use std::time::Duration;

/// As many are looked back on: a few rounds of what most servers work on at once.
const ENDS: usize = 64;
/// Fewer say less than what was known before.
const FEW: usize = 8;
/// Nobody is told to wait longer for something that is worked off.
const LONGEST: u64 = 600;

/// When requests ended lately, since the server last had all it may have.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// The time before the first of them.
    since: Duration,
    ends: VecDeque<Duration>,
    /// Seconds between two ends, the last time.
    before: Option<f64>,
}

impl Pace {
    /// The server has all it may have.
    pub(super) fn begins(&mut self, now: Duration) {
        if self.ends.len() >= FEW {
            self.before = Some(self.interval(now));
        }
        self.ends.clear();
        self.since = now;
    }

    /// A request has ended.
    pub(super) fn ended(&mut self, now: Duration) {
        if self.ends.len() >= ENDS
            && let Some(first) = self.ends.pop_front()
        {
            self.since = first;
        }
        self.ends.push_back(now);
    }

    /// Seconds between two ends; the time since the last one counts, so that a server which hangs is not told fast.
    fn interval(&self, now: Duration) -> f64 {
        let time = now.saturating_sub(self.since).as_secs_f64();
        time / self.ends.len().max(1) as f64
    }

    /// In how many seconds so many will have ended: at least one.
    pub(super) fn seconds(&self, count: usize, now: Duration) -> u64 {
        let interval = match self.before {
            Some(before) if self.ends.len() < FEW => before.max(self.interval(now)),
            _ => self.interval(now),
        };
        let seconds = (interval * count as f64).ceil() as u64;
        seconds.clamp(1, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn who_is_told_to_come_back_is_told_when_the_others_will_be_done() {
        let mut pace = Pace::default();
        pace.begins(100 * SECOND);
        // Eight at once, each in four seconds: two a second, however many end together.
        for round in 1..=20 {
            for _ in 0..8 {
                pace.ended((100 + 4 * round) * SECOND);
            }
        }
        let told = pace.seconds(100, 180 * SECOND);
        assert!((45..=55).contains(&told), "{told}");
        assert_eq!(pace.seconds(1, 180 * SECOND), 1, "never none");
        assert_eq!(pace.seconds(1_000_000, 180 * SECOND), LONGEST);
    }

    #[test]
    fn a_server_that_has_ended_nothing_is_as_slow_as_it_has_been_until_now() {
        let mut pace = Pace::default();
        pace.begins(SECOND);
        assert_eq!(pace.seconds(10, SECOND), 1);
        assert_eq!(pace.seconds(10, 6 * SECOND), 50);
        pace.ended(6 * SECOND);
        pace.ended(6 * SECOND);
        assert_eq!(pace.seconds(10, 6 * SECOND), 25);
        assert_eq!(pace.seconds(10, 26 * SECOND), 125, "it hangs");
    }

    #[test]
    fn how_fast_it_was_the_last_time_is_known_until_there_is_more_to_go_by() {
        let mut pace = Pace::default();
        pace.begins(SECOND);
        for nth in 1..=10 {
            pace.ended((1 + 2 * nth) * SECOND);
        }
        pace.begins(21 * SECOND);
        assert_eq!(pace.seconds(10, 21 * SECOND), 20);
        for _ in 0..FEW {
            pace.ended(22 * SECOND);
        }
        assert_eq!(pace.seconds(16, 22 * SECOND), 2);
    }
}
