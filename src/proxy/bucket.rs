//! A rate: what is taken in, whether more may be taken out. Pure: the time is given.
//!
//! Not the crate `governor`: it knows the cost of a request before it is let in, and how many tokens a reply takes is
//! known after it. So a bucket here may go into debt, which later requests wait for.

use std::time::Duration;

/// What fills up evenly, to as much as comes in a minute.
#[derive(Debug)]
pub(super) struct Bucket {
    per_minute: f64,
    level: f64,
    at: Duration,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(per_minute: u32) -> Self {
        let per_minute = f64::from(per_minute);
        Self {
            per_minute,
            level: per_minute,
            at: Duration::ZERO,
        }
    }

    fn fill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.level = (self.level + passed / 60.0 * self.per_minute).min(self.per_minute);
    }

    /// Whether one is there.
    ///
    /// # Errors
    /// Not yet: the seconds until then, at least one.
    pub(super) fn check(&mut self, now: Duration) -> Result<(), u64> {
        self.fill(now);
        if self.level >= 1.0 {
            return Ok(());
        }
        let seconds = (1.0 - self.level) / self.per_minute * 60.0;
        Err((seconds.ceil() as u64).max(1))
    }

    /// Takes so many, also more than there are.
    pub(super) fn take(&mut self, count: u64, now: Duration) {
        self.fill(now);
        self.level -= count as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn as_many_as_come_in_a_minute_are_let_in_at_once_and_then_one_after_the_other() {
        let mut bucket = Bucket::new(60);
        for _ in 0..60 {
            assert_eq!(bucket.check(SECOND), Ok(()));
            bucket.take(1, SECOND);
        }
        assert_eq!(bucket.check(SECOND), Err(1));
        assert_eq!(bucket.check(2 * SECOND), Ok(()));
        bucket.take(1, 2 * SECOND);
        assert_eq!(bucket.check(2 * SECOND), Err(1));
    }

    #[test]
    fn a_debt_is_waited_for_and_rest_is_not_saved_up_beyond_a_minute() {
        let mut bucket = Bucket::new(60);
        bucket.take(179, Duration::ZERO);
        assert_eq!(bucket.check(Duration::ZERO), Err(120));
        assert_eq!(bucket.check(119 * SECOND), Err(1));
        assert_eq!(bucket.check(120 * SECOND), Ok(()));
        bucket.take(60, 1_000_000 * SECOND);
        assert_eq!(bucket.check(1_000_000 * SECOND), Err(1));
        // A clock that goes back gives nothing.
        assert_eq!(bucket.check(SECOND), Err(1));
    }
}
