//! Answers that repeat themselves and never end: the tokens of a constrained answer come in; how strongly it is to
//! be led out of its loop goes out.
//!
//! A constraint keeps a weak model from the end that it would write, and a list or a text without a bound lets it
//! run on to the end of its context. What repeats is told apart from what is long by being exactly the same.

use crate::vocabulary::{Token, Vocabulary};
use std::collections::VecDeque;
use std::sync::Arc;

/// What repeats is at most so many tokens long.
const MAX_PERIOD: usize = 128;
/// It is a loop after so many repetitions that are together so many tokens: rows of a table and lines of dashes are
/// shorter.
const REPETITIONS: usize = 12;
const TOKENS: usize = 96;
/// What each further token of the first loop adds to the pressure, in logits, of each later one twice as much as of the one
/// before: an answer may be led out of one into the next, or back into the same. And how much of it stays with a token that goes elsewhere.
const STEP: f32 = 0.25;
const FADE: f32 = 0.995;
pub(super) const MAX_PRESSURE: f32 = 40.0;

/// Tokens that close what a constrained answer has open, and open nothing: brackets' and strings' ends, and those of the
/// answer.
#[derive(Debug, Clone)]
pub struct Closers(Arc<[Token]>);

impl Closers {
    /// Those of a vocabulary.
    #[must_use]
    pub fn of(vocabulary: &Vocabulary) -> Self {
        let closes = |token: &Token| {
            let text = vocabulary.text(*token).trim_ascii();
            !text.is_empty() && text.iter().all(|byte| matches!(byte, b']' | b'}' | b'"'))
        };
        let texts = (0..vocabulary.len() as Token).filter(closes);
        Self(texts.chain(vocabulary.ends().iter().copied()).collect())
    }

    pub(super) fn tokens(&self) -> &[Token] {
        &self.0
    }
}

/// Watches one answer.
#[derive(Debug)]
pub(super) struct Loops {
    closers: Closers,
    last: VecDeque<Token>,
    /// By period less one: how many of the last tokens are those of one period before.
    runs: Box<[usize; MAX_PERIOD]>,
    /// The period of the loop that the answer is in.
    period: Option<usize>,
    /// Loops that it has been in.
    count: i32,
    pressure: f32,
}

impl Loops {
    pub(super) fn new(closers: Closers) -> Self {
        Self {
            closers,
            last: VecDeque::with_capacity(MAX_PERIOD + 1),
            runs: Box::new([0; MAX_PERIOD]),
            period: None,
            count: 0,
            pressure: 0.0,
        }
    }

    /// Takes the next token of the answer.
    pub(super) fn push(&mut self, token: Token) {
        let known = self.last.iter().rev();
        for (run, before) in self.runs.iter_mut().zip(known) {
            *run = if *before == token { *run + 1 } else { 0 };
        }
        let is_loop = |(place, run): (usize, &usize)| {
            (*run >= TOKENS && *run >= REPETITIONS * (place + 1)).then_some(place + 1)
        };
        let was_in_none = self.period.is_none();
        self.period = self.runs.iter().enumerate().find_map(is_loop);
        if was_in_none && self.period.is_some() {
            self.count = self.count.saturating_add(1);
        }
        self.pressure = match self.period {
            Some(_) => {
                (self.pressure + STEP * 2_f32.powi(self.count.min(10) - 1)).min(MAX_PRESSURE)
            }
            None => self.pressure * FADE,
        };
        if self.last.len() == MAX_PERIOD {
            self.last.pop_front();
        }
        self.last.push_back(token);
    }

    /// What the closers' logits are raised by; `None` where the answer is in no loop, nor was of late.
    pub(super) fn pressure(&self) -> Option<f32> {
        (self.pressure >= STEP).then_some(self.pressure)
    }

    /// The token that would go on with the loop.
    pub(super) fn expected(&self) -> Option<Token> {
        let period = self.period?;
        self.last.get(self.last.len().checked_sub(period)?).copied()
    }

    pub(super) fn closers(&self) -> &[Token] {
        self.closers.tokens()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn watched(tokens: impl IntoIterator<Item = Token>) -> Loops {
        let mut loops = Loops::new(Closers(Arc::from([9])));
        tokens.into_iter().for_each(|token| loops.push(token));
        loops
    }

    #[test]
    fn what_is_the_same_again_and_again_is_a_loop() {
        for period in [1, 2, 7, 100, MAX_PERIOD] {
            let pattern = 0..period as Token;
            let few = REPETITIONS.max(TOKENS / period);
            let loops = watched(pattern.clone().cycle().take(period * few - 1));
            assert_eq!(
                (loops.expected(), loops.pressure()),
                (None, None),
                "{period}"
            );
            let loops = watched(pattern.clone().cycle().take(period * (few + 3) + 1));
            assert_eq!(
                loops.expected(),
                pattern.clone().nth(1 % period),
                "{period}"
            );
            assert!(loops.pressure().unwrap() > STEP);
        }
    }

    #[test]
    fn what_is_long_is_none() {
        let counted = watched((0..50).flat_map(|item| [100 + item, 1, 2]));
        assert_eq!((counted.expected(), counted.pressure()), (None, None));
        // Rows that are the same for a while.
        let rows = watched((0..20).flat_map(|row| [7; 40].into_iter().chain([row])));
        assert_eq!(rows.pressure(), None);
    }

    #[test]
    fn pressure_stays_for_a_while_where_one_loop_follows_another() {
        let mut loops = watched(std::iter::repeat_n(3, 200));
        let before = loops.pressure().unwrap();
        loops.push(4);
        assert_eq!(loops.expected(), None);
        assert!(loops.pressure().unwrap() > before * 0.9);
        (0..2000).for_each(|token| loops.push(token));
        assert_eq!(loops.pressure(), None);
    }

    #[test]
    fn each_loop_adds_twice_as_much_as_the_one_before() {
        let mut loops = watched([]);
        let mut gains = Vec::new();
        for token in 0..4 {
            (0..TOKENS + 10).for_each(|_| loops.push(token));
            let before = loops.pressure().unwrap();
            loops.push(token);
            gains.push(loops.pressure().unwrap() - before);
            // The token that went on with no loop.
            loops.push(100 + token);
        }
        assert_eq!(gains, [STEP, 2.0 * STEP, 4.0 * STEP, 8.0 * STEP]);
    }
}
