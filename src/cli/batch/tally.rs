//! Rows in; how far a run is, and what came of it, out: as a line and as a table.

use super::output::Stood;
use super::row::{Outcome, Row};
use std::fmt::Write as _;
use std::time::Duration;

/// Of the bar on a terminal.
const BAR: usize = 24;

/// What came of the rows so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// By [`Outcome`].
    counts: [u64; Outcome::ALL.len()],
    tokens: (u64, u64),
    /// Rows of earlier runs.
    stood: Stood,
    /// Lines of the input whose rows stood.
    pub(super) skipped: u64,
}

impl Tally {
    /// Of a run that goes on with what earlier ones wrote.
    pub(super) fn after(stood: Stood) -> Self {
        Self {
            stood,
            ..Self::default()
        }
    }

    pub(super) fn count(&mut self, row: &Row) {
        if let Some(count) = self.counts.get_mut(row.outcome as usize) {
            *count += 1;
        }
        self.tokens.0 += row.tokens.0;
        self.tokens.1 += row.tokens.1;
    }

    fn of(&self, outcome: Outcome) -> u64 {
        self.counts
            .get(outcome as usize)
            .copied()
            .unwrap_or_default()
    }

    fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn failed(&self) -> u64 {
        self.rows() - self.of(Outcome::Ok)
    }

    /// Whether any row is not a right answer, this run's or an earlier one's.
    pub(super) fn has_failed(&self) -> bool {
        self.failed() + self.stood.failed > 0
    }

    fn rate(&self, time: Duration) -> f64 {
        self.rows() as f64 / time.as_secs_f64().max(f64::EPSILON)
    }

    /// One line: how far it is, where the size of the input is known.
    pub(super) fn progress(&self, share: Option<f64>, time: Duration) -> String {
        let mut text = String::new();
        if let Some(share) = share {
            let full = (share * BAR as f64) as usize;
            text += &format!(
                "[{:<BAR$}] {:.0} %, ",
                "#".repeat(full.min(BAR)),
                share * 100.0
            );
        }
        let (rows, rate) = (self.rows(), self.rate(time));
        text += &format!("{rows} rows, {} failed, {rate:.1} rows/s", self.failed());
        match share {
            Some(share) if share > 0.0 && self.skipped == 0 => {
                let left = time.mul_f64((1.0 / share - 1.0).clamp(0.0, 1e9));
                text + &format!(", about {} left", span(left))
            }
            _ => text,
        }
    }

    /// The table at the end.
    pub(super) fn table(&self, time: Duration) -> String {
        let mut text = format!("rows            {:>10}\n", self.rows());
        for outcome in Outcome::ALL {
            let count = self.of(outcome);
            if count > 0 || outcome == Outcome::Ok {
                let (name, meaning) = named(outcome);
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  {name:<14}{count:>10}  {meaning}");
            }
        }
        if self.skipped > 0 {
            let _ = writeln!(text, "stood already   {:>10}", self.skipped);
        }
        if self.stood.failed > 0 {
            let failed = self.stood.failed;
            let _ = writeln!(
                text,
                "  failed then   {failed:>10}  --retry-failed asks them again"
            );
        }
        let (tokens_in, tokens_out) = self.tokens;
        let _ = writeln!(text, "tokens in       {tokens_in:>10}");
        let _ = writeln!(text, "tokens out      {tokens_out:>10}");
        let (time, rate) = (span(time), self.rate(time));
        let _ = writeln!(text, "time            {time:>10}  {rate:.1} rows/s");
        text
    }
}

const fn named(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Ok => ("ok", "what was asked for"),
        Outcome::Refused => ("refused", "the request cannot be served as it is"),
        Outcome::Violation => ("violation", "the reply was not what was asked for"),
        Outcome::Upstream => ("upstream error", "the server failed, or did not answer"),
        Outcome::Proxy => ("proxy error", "a limit of the proxy, or a defect"),
        Outcome::BadLine => ("bad line", "no request, or the custom_id of another line"),
    }
}

/// A time in the two units that say enough.
fn span(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds @ 60..3600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {:02} m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(outcomes: &[Outcome]) -> Tally {
        let mut tally = Tally::default();
        for outcome in outcomes {
            tally.count(&Row {
                text: Vec::new(),
                outcome: *outcome,
                tokens: (10, 2),
            });
        }
        tally
    }

    #[test]
    fn the_table_has_what_happened_and_what_to_do() {
        let mut tally = tally(&[Outcome::Ok, Outcome::Ok, Outcome::Violation]);
        tally.skipped = 5;
        tally.stood = Stood { ok: 4, failed: 1 };
        assert_eq!(
            tally.table(Duration::from_secs(2)),
            "rows                     3\n\
             \x20 ok                     2  what was asked for\n\
             \x20 violation              1  the reply was not what was asked for\n\
             stood already            5\n\
             \x20 failed then            1  --retry-failed asks them again\n\
             tokens in               30\n\
             tokens out               6\n\
             time                 2.0 s  1.5 rows/s\n"
        );
    }

    #[test]
    fn a_run_is_good_if_every_row_is_a_right_answer() {
        assert!(!tally(&[Outcome::Ok]).has_failed());
        for outcome in Outcome::ALL.into_iter().skip(1) {
            assert!(tally(&[Outcome::Ok, outcome]).has_failed());
        }
        let mut earlier = tally(&[Outcome::Ok]);
        earlier.stood.failed = 1;
        assert!(earlier.has_failed());
    }

    #[test]
    fn progress_says_how_long_it_takes_where_that_can_be_known() {
        let tally = tally(&[Outcome::Ok, Outcome::Refused]);
        let time = Duration::from_secs(30);
        assert_eq!(
            tally.progress(Some(0.25), time),
            "[######                  ] 25 %, 2 rows, 1 failed, 0.1 rows/s, about 1 m 30 s left"
        );
        assert_eq!(tally.progress(None, time), "2 rows, 1 failed, 0.1 rows/s");
        assert_eq!(span(Duration::from_secs(3 * 3600 + 125)), "3 h 02 m");
    }
}
