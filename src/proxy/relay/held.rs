//! The bytes of a stream in; how much of them is held until its end, charged to the budget. Verifying what is said
//! needs all of it, and so does a client whose last event repeats what came before.

use crate::proxy::budget::{Charge, no_room};
use crate::telemetry::Metrics;
use isogloss_core::error::{Error, Kind};

/// A line around a token is some 200 bytes, which are not held.
const ENVELOPE_BYTES: usize = 256;
/// Of such a line the token is at most this part, nearly always.
const TOKEN_SHARE: usize = 16;
/// What is said is held by who reads it, who verifies it and who writes the last event, and read as JSON at the end.
const COPIES: usize = 4;
/// Charged at once.
const STEP_BYTES: usize = 16 << 10;

/// What is held of one stream.
#[derive(Debug)]
pub(super) struct Held {
    charge: Charge,
    /// More of it than that is no reply that would be read as a whole either.
    limit: usize,
    said: usize,
    /// Bytes of the line that has begun.
    line: usize,
}

impl Held {
    pub(super) const fn new(charge: Charge, limit: usize) -> Self {
        Self {
            charge,
            limit,
            said: 0,
            line: 0,
        }
    }

    /// Bytes of what is read and checked, about.
    pub(super) const fn said(&self) -> usize {
        self.said
    }

    /// More of the stream came.
    ///
    /// # Errors
    /// There is no room for it.
    pub(super) fn grow(&mut self, chunk: &[u8], metrics: &Metrics) -> Result<(), Error> {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            self.extend_line(end - from);
            self.line = 0;
            from = end + 1;
        }
        self.extend_line(chunk.len() - from);
        if self.said > self.limit {
            metrics.limit_hit("reply_bytes");
            let limit = self.limit;
            let message =
                format!("the upstream's reply says more than {limit} bytes (limits.reply_bytes)");
            return Err(Error::new(Kind::UpstreamTooLarge, message));
        }
        let bytes = self.said * COPIES;
        if bytes > self.charge.bytes() {
            let grown = self.charge.try_grow_to(bytes + STEP_BYTES);
            grown.map_err(|_no_room| no_room(metrics))?;
        }
        Ok(())
    }

    fn extend_line(&mut self, bytes: usize) {
        let said = |line: usize| line / TOKEN_SHARE + line.saturating_sub(ENVELOPE_BYTES);
        let before = said(self.line);
        self.line += bytes;
        self.said += said(self.line) - before;
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::proxy::budget::Budget;
    use std::sync::Arc;

    fn held(budget: usize, limit: usize) -> (Held, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new([]));
        let budget = Budget::new(budget, Arc::clone(&metrics));
        (Held::new(budget.running(), limit), metrics)
    }

    #[test]
    fn a_token_counts_little_and_a_long_line_nearly_whole_however_it_is_cut() {
        let (mut tokens, metrics) = held(1 << 20, 1 << 20);
        let event = format!("data: {}\n\n", "x".repeat(200));
        for _ in 0..100 {
            tokens.grow(event.as_bytes(), &metrics).unwrap();
        }
        assert_eq!(tokens.said, 100 * (206 / TOKEN_SHARE));
        let line = "y".repeat(100_000);
        let mut said = Vec::new();
        for piece in [100_000, 7] {
            let (mut long, metrics) = held(1 << 20, 1 << 20);
            for piece in line.as_bytes().chunks(piece) {
                long.grow(piece, &metrics).unwrap();
            }
            said.push(long.said);
        }
        assert_eq!(said, [100_000 - ENVELOPE_BYTES + 100_000 / TOKEN_SHARE; 2]);
    }

    #[test]
    fn what_is_over_the_limit_or_the_budget_ends_with_its_own_error() {
        let line = [b'y'; 100_000];
        let (mut over, metrics) = held(1 << 20, 50_000);
        let error = over.grow(&line, &metrics).unwrap_err();
        assert_eq!(error.kind, Kind::UpstreamTooLarge);
        let counted = "isogloss_limits_hit_total{limit=\"reply_bytes\"} 1";
        assert!(metrics.render().contains(counted));
        let (mut full, metrics) = held(200_000, 1 << 20);
        let error = full.grow(&line, &metrics).unwrap_err();
        assert_eq!(error.kind, Kind::Overloaded);
    }
}
