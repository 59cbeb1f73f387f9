//! What drafts cost: how long steps of some tokens took comes in (the forward pass, and what was chosen behind it); how
//! much of a draft is worth its time goes out.
//!
//! Where a pass waits for the memory that holds the weights, as on a GPU, more tokens take hardly more
//! time. Where it waits for the processor each takes as long as the first (measured on one core, 0.36 B
//! in q8_0: 9 tokens took 7.4 times as long as one), and a draft that is not nearly always right costs
//! more than it saves.

/// Tokens of a pass that is looked at; more cost as much as these.
const MOST: usize = 24;
/// How many times as many tokens a second a draft must be expected to make.
const GAIN: f64 = 1.2;
/// How much of what is known a new measurement replaces.
const SHARE: f64 = 0.25;
/// After so many drafts that were not worth it, one is tried again: what else the machine did may have
/// made passes slow.
const AGAIN: u32 = 512;

/// Seconds of steps, by the tokens of their forward passes.
#[derive(Debug)]
pub(super) struct Costs {
    /// 0 for what is not known.
    seconds: [f64; MOST + 1],
    /// Drafts that were not worth it, one after the other.
    skipped: u32,
}

/// How likely it is that a drafted token is right, of one answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Odds {
    right: f64,
    tried: f64,
}

impl Default for Odds {
    fn default() -> Self {
        // Two of three, until more is known.
        Self {
            right: 2.0,
            tried: 3.0,
        }
    }
}

impl Odds {
    /// Of a draft of so many tokens so many were right. What comes behind the first wrong one says
    /// nothing; older drafts count less.
    pub(super) fn learn(&mut self, drafted: u32, right: u32) {
        const KEPT: f64 = 0.85;
        self.right = self.right * KEPT + f64::from(right);
        self.tried = self.tried * KEPT + f64::from(drafted.min(right.saturating_add(1)));
    }

    fn share(self) -> f64 {
        self.right / self.tried.max(1.0)
    }
}

impl Costs {
    pub(super) fn new() -> Self {
        Self {
            seconds: [0.0; MOST + 1],
            skipped: 0,
        }
    }

    /// A step whose forward pass had so many tokens took so long.
    pub(super) fn learn(&mut self, tokens: usize, seconds: f64) {
        if let Some(known) = self.seconds.get_mut(tokens).filter(|_| seconds > 0.0) {
            *known = match *known > 0.0 {
                true => *known + (seconds - *known) * SHARE,
                false => seconds,
            };
        }
    }

    /// How many tokens of a draft of `most` are worth their time in a pass that has `tokens` without
    /// them, from which `answers` each get one.
    pub(super) fn worth(
        &mut self,
        tokens: usize,
        answers: usize,
        most: usize,
        odds: Odds,
    ) -> usize {
        let Some(without) = self.of(tokens) else {
            return 0;
        };
        let answers = answers.max(1) as f64;
        let (mut best, mut gain) = (0, GAIN);
        let (mut more, mut chance) = (0.0, 1.0);
        for size in 1..=most {
            chance *= odds.share();
            more += chance;
            let cost = self.of(tokens + size).map_or(1.0, |with| with / without);
            let expected = (answers + more) / answers / cost;
            if expected > gain {
                (best, gain) = (size, expected);
            }
        }
        if best > 0 || most == 0 {
            self.skipped = 0;
            return best;
        }
        self.skipped += 1;
        if self.skipped >= AGAIN {
            self.skipped = 0;
            let behind = self.seconds.iter_mut().skip(tokens + 1);
            behind.for_each(|known| *known = 0.0);
        }
        0
    }

    /// Seconds of a pass of so many tokens: as measured, else on the line through what was; as long as
    /// the longest shorter one where only that is known, so that it is tried.
    fn of(&self, tokens: usize) -> Option<f64> {
        let tokens = tokens.min(MOST);
        let is_known = |at: &usize| self.seconds[*at] > 0.0;
        if is_known(&tokens) {
            return Some(self.seconds[tokens]);
        }
        let below = (1..tokens).rev().find(is_known)?;
        let above = (tokens + 1..=MOST).find(is_known);
        let other = above.or_else(|| (1..below).rev().find(is_known));
        let from = self.seconds[below];
        let Some(other) = other else {
            return Some(from);
        };
        let slope = (self.seconds[other] - from) / (other as f64 - below as f64);
        Some(from + slope.max(0.0) * (tokens - below) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::{AGAIN, Costs, Odds};

    fn costs(seconds: &[(usize, f64)]) -> Costs {
        let mut costs = Costs::new();
        for (tokens, seconds) in seconds {
            costs.learn(*tokens, *seconds);
        }
        costs
    }

    fn odds(right: u32, of: u32) -> Odds {
        let mut odds = Odds::default();
        for _ in 0..60 {
            // Each draft is one token, the right ones first.
            (0..of).for_each(|at| odds.learn(1, u32::from(at < right)));
        }
        odds
    }

    #[test]
    fn where_more_tokens_take_no_longer_all_are_worth_it() {
        let mut costs = costs(&[(1, 0.010), (9, 0.0101)]);
        assert_eq!(costs.worth(1, 1, 8, Odds::default()), 8);
        assert_eq!(costs.worth(2, 2, 4, Odds::default()), 4);
        assert_eq!(costs.worth(1, 1, 0, Odds::default()), 0);
    }

    #[test]
    fn where_each_token_takes_as_long_as_the_first_none_is() {
        let mut costs = costs(&[(1, 0.030), (9, 0.270)]);
        assert_eq!(costs.worth(1, 1, 8, Odds::default()), 0);
        assert_eq!(
            costs.worth(1, 1, 8, odds(1, 1)),
            0,
            "always right, and no faster"
        );
    }

    #[test]
    fn between_them_it_is_a_question_of_how_often_drafts_are_right() {
        // Measured: the built-in model on one core.
        let seconds = [
            (1, 0.80),
            (2, 1.06),
            (3, 1.27),
            (4, 1.32),
            (5, 1.67),
            (9, 2.59),
        ];
        let mut costs = costs(&seconds);
        let sizes =
            [(1, 5), (2, 3), (1, 1)].map(|(right, of)| costs.worth(1, 1, 8, odds(right, of)));
        assert_eq!(sizes[0], 0);
        assert!(sizes[1] >= 1 && sizes[1] <= 4, "{sizes:?}");
        assert_eq!(sizes[2], 8);
    }

    #[test]
    fn what_is_not_known_is_tried_once_a_token_alone_was_measured() {
        let mut costs = Costs::new();
        assert_eq!(costs.worth(1, 1, 4, Odds::default()), 0);
        costs.learn(1, 0.030);
        assert_eq!(costs.worth(1, 1, 4, Odds::default()), 4);
        costs.learn(5, 0.150);
        assert_eq!(costs.worth(1, 1, 4, Odds::default()), 0);
        assert_eq!(
            costs.worth(1, 1, 8, Odds::default()),
            0,
            "longer ones are not tried for that"
        );
    }

    #[test]
    fn after_many_that_were_not_worth_it_one_is_tried_again() {
        let mut costs = costs(&[(1, 0.030), (5, 0.230)]);
        let tried = (0..3 * AGAIN)
            .filter(|_| costs.worth(1, 1, 4, Odds::default()) > 0)
            .count();
        assert!(tried > 0);
        costs.learn(5, 0.230);
        assert_eq!(costs.worth(1, 1, 4, Odds::default()), 0);
    }

    #[test]
    fn one_slow_pass_is_forgotten_by_those_after_it() {
        let mut costs = costs(&[(1, 0.010), (5, 0.012), (5, 0.100)]);
        (0..20).for_each(|_| costs.learn(5, 0.012));
        assert_eq!(costs.worth(1, 1, 4, Odds::default()), 4);
    }
}
