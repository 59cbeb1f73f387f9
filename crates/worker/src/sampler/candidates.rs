//! The tokens that one step may choose from: logits and a mask come in; what the cuts leave, and
//! the one at a share of their probability, goes out.
//!
//! Buffers are kept from step to step. Where a mask allows few tokens, those alone are looked at:
//! of a vocabulary of 128,000, a JSON grammar often allows a few dozen. Where it allows many, as
//! it does in free text, all logits are gone through once, several at a time, and the largest of
//! each block is noted. The rest is a matter of blocks: the likeliest are looked for in those whose
//! largest logit is among the largest, and one is drawn without a look at the others' probabilities.

use super::super::backend::TokenMask;
use super::super::vocabulary::Token;
use std::cmp::Ordering;

#[cfg(test)]
mod tests;

/// Tokens that are looked at together.
const BLOCK: usize = 64;

/// A mask that allows at least one of so many tokens allows many.
const MANY: usize = 16;

/// How many of the likeliest tokens are sorted at first for `top_p`: nearly always enough.
const FIRST_SORTED: usize = 64;

/// Draws in vain after which the likeliest is taken. Once in 10^60 it comes to that.
const MAX_DRAWN: usize = 10_000;

/// What a token has that cannot be chosen.
const NEVER: f32 = f32::NEG_INFINITY;

/// A token that may be chosen. Its logit is finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) token: Token,
    pub(super) logit: f32,
}

/// The likelier first; of equals, as both zeros are, the lower token.
fn order(a: &Candidate, b: &Candidate) -> Ordering {
    let logit = |one: &Candidate| one.logit + 0.0;
    logit(b).total_cmp(&logit(a)).then(a.token.cmp(&b.token))
}

/// All candidates of a step, ordered by token until the first cut.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    logits: Vec<f32>,
    /// The largest of each block.
    largest: Vec<f32>,
    /// Whose they are. Empty: each token's are at its own place.
    tokens: Vec<Token>,
}

/// What logits say at a temperature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    most: f32,
    /// One divided by the temperature.
    factor: f32,
}

impl Scale {
    /// Probabilities relative to that of the likeliest, whose logit is `most`.
    pub(super) fn new(most: f32, temperature: f32) -> Self {
        Self {
            most,
            factor: temperature.recip(),
        }
    }

    /// A probability, not yet divided by the total.
    fn weight(self, logit: f32) -> f32 {
        exp((logit - self.most) * self.factor)
    }
}

impl Candidates {
    /// The tokens that the mask allows, without those whose logit is NaN or -infinity.
    pub(super) fn fill(&mut self, logits: &[f32], mask: Option<&TokenMask>) {
        self.logits.clear();
        self.largest.clear();
        self.tokens.clear();
        let end = mask.map_or(logits.len(), |mask| logits.len().min(mask.len()));
        let logits = &logits[..end];
        let words = mask.map(TokenMask::as_slice);
        let is_few = |words: &&[u32]| {
            let allowed = words.iter().map(|word| word.count_ones() as usize);
            allowed.sum::<usize>() <= end / MANY
        };
        if let Some(words) = words.filter(is_few) {
            for (logits, (&word, first)) in
                logits.chunks(32).zip(words.iter().zip((0..).step_by(32)))
            {
                let mut word = word;
                while word != 0 {
                    let at = word.trailing_zeros();
                    word &= word - 1;
                    let logit = logits
                        .get(at as usize)
                        .map_or(NEVER, |logit| settled(*logit));
                    if logit > NEVER {
                        self.logits.push(logit);
                        self.tokens.push(first + at);
                    }
                }
            }
        } else {
            self.logits
                .extend(logits.iter().map(|logit| settled(*logit)));
            ban(&mut self.logits, words.unwrap_or_default());
        }
        self.measure();
    }

    fn measure(&mut self) {
        self.largest.clear();
        self.largest.extend(self.logits.chunks(BLOCK).map(largest));
    }

    /// How many tokens are looked at.
    pub(super) fn len(&self) -> usize {
        self.logits.len()
    }

    fn candidate(&self, place: usize) -> Candidate {
        let token = match self.tokens.get(place) {
            Some(token) => *token,
            None => Token::try_from(place).unwrap_or(Token::MAX),
        };
        let logit = self.logits[place];
        Candidate { token, logit }
    }

    /// Changes the logit of one token, where it is a candidate.
    pub(super) fn change(&mut self, token: Token, change: impl Fn(f32) -> f32) {
        let place = match self.tokens.is_empty() {
            true => Some(token as usize),
            false => self.tokens.binary_search(&token).ok(),
        };
        let Some(place) = place.filter(|place| *place < self.logits.len()) else {
            return;
        };
        if self.logits[place] > NEVER {
            self.logits[place] = settled(change(self.logits[place]));
            let block = place / BLOCK;
            let from = block * BLOCK;
            let end = self.logits.len().min(from + BLOCK);
            self.largest[block] = largest(&self.logits[from..end]);
        }
    }

    /// Changes the logits of those candidates that are meant.
    pub(super) fn change_those(
        &mut self,
        is_meant: impl Fn(Token) -> bool,
        change: impl Fn(f32) -> f32,
    ) {
        for place in 0..self.logits.len() {
            let Candidate { token, logit } = self.candidate(place);
            if logit > NEVER && is_meant(token) {
                self.logits[place] = settled(change(logit));
            }
        }
        self.measure();
    }

    /// The likeliest candidate, of equals the lowest token.
    pub(super) fn likeliest(&self) -> Option<Candidate> {
        let most = Some(largest(&self.largest)).filter(|most| *most > NEVER)?;
        let block = self.largest.iter().position(|logit| *logit == most)?;
        let from = block * BLOCK;
        let at = self.logits[from..]
            .iter()
            .position(|logit| *logit == most)?;
        Some(self.candidate(from + at))
    }

    /// What the probabilities at this scale add up to.
    fn total(&self, scale: Scale) -> f64 {
        let blocks = self.logits.chunks(BLOCK).map(|logits| {
            let mut weights = [0.0; BLOCK];
            for (weight, logit) in weights.iter_mut().zip(logits) {
                *weight = scale.weight(*logit);
            }
            sum(&weights)
        });
        blocks.sum()
    }

    /// The logarithm of what all candidates' exponentials add up to.
    pub(super) fn log_total(&self) -> f64 {
        let Some(Candidate { logit, .. }) = self.likeliest() else {
            return f64::NEG_INFINITY;
        };
        f64::from(logit) + self.total(Scale::new(logit, 1.0)).ln()
    }

    /// So many of the likeliest, likeliest first. Leaves the candidates as they are.
    pub(super) fn top(&self, count: usize) -> Vec<Candidate> {
        if count == 0 {
            return Vec::new();
        }
        // So many tokens are at least as likely as the last of so many blocks' likeliest.
        let least = match count < self.largest.len() {
            true => {
                let mut largest = self.largest.clone();
                *largest
                    .select_nth_unstable_by(count - 1, |a, b| b.total_cmp(a))
                    .1
            }
            false => NEVER,
        };
        let mut top = self.from(least);
        if count < top.len() {
            top.select_nth_unstable_by(count - 1, order);
            top.truncate(count);
        }
        top.sort_unstable_by(order);
        top
    }

    /// Those that are at least so likely, ordered by token.
    fn from(&self, least: f32) -> Vec<Candidate> {
        let mut from = Vec::new();
        let is_one = |logit: f32| logit >= least && logit > NEVER;
        for (block, logits) in self.logits.chunks(BLOCK).enumerate() {
            if is_one(self.largest[block]) {
                let places = logits
                    .iter()
                    .enumerate()
                    .filter(|(_, logit)| is_one(**logit));
                from.extend(places.map(|(at, _)| self.candidate(block * BLOCK + at)));
            }
        }
        from
    }

    /// Leaves these alone.
    fn keep(&mut self, kept: &[Candidate]) {
        self.logits.clear();
        self.tokens.clear();
        self.logits
            .extend(kept.iter().map(|candidate| candidate.logit));
        self.tokens
            .extend(kept.iter().map(|candidate| candidate.token));
        self.measure();
    }

    /// Drops what is below this logit. NaN drops nothing.
    pub(super) fn keep_from(&mut self, least: f32) {
        if !least.is_nan() {
            let kept = self.from(least);
            self.keep(&kept);
        }
    }

    /// Keeps so many of the likeliest; 0 keeps all.
    pub(super) fn keep_top(&mut self, count: usize) {
        if count > 0 && count < self.logits.len() {
            let kept = self.top(count);
            self.keep(&kept);
        }
    }

    /// Keeps the likeliest, up to the one with which their probabilities reach this share.
    pub(super) fn keep_share(&mut self, share: f32, scale: Scale) {
        let wanted = f64::from(share) * self.total(scale);
        let mut count = FIRST_SORTED;
        loop {
            let mut top = self.top(count);
            let mut reached = 0.0;
            let is_last = |candidate: &Candidate| {
                reached += f64::from(scale.weight(candidate.logit));
                reached >= wanted
            };
            if let Some(last) = top.iter().position(is_last) {
                top.truncate(last + 1);
                return self.keep(&top);
            }
            // All are there, and rounding is what is missing.
            if count >= self.logits.len() {
                return;
            }
            count = count.saturating_mul(8);
        }
    }

    /// A candidate, as often as its probability says, by numbers from 0 to 1.
    ///
    /// Rejection: a block is drawn as if all its candidates were as likely as its likeliest, a candidate of it as if all
    /// were equally likely, and that is taken as often as it is as likely as the likeliest. So exponentials are taken of
    /// blocks, not of candidates. It is at most the size of a block times that one is drawn in vain, on average.
    pub(super) fn draw(&self, scale: Scale, mut unit: impl FnMut() -> f64) -> Option<Candidate> {
        let mut total = 0.0;
        let blocks = self.largest.iter().zip(self.logits.chunks(BLOCK));
        let ends = blocks.map(|(most, logits)| {
            total += f64::from(scale.weight(*most)) * logits.len() as f64;
            total
        });
        let ends: Vec<f64> = ends.collect();
        for _ in 0..MAX_DRAWN {
            let drawn = unit() * total;
            let block = ends.partition_point(|end| *end <= drawn);
            let Some(logits) = self.logits.chunks(BLOCK).nth(block) else {
                continue;
            };
            let at = (unit() * logits.len() as f64) as usize;
            let taken = unit() * f64::from(scale.weight(self.largest[block]));
            if logits
                .get(at)
                .is_some_and(|logit| taken < f64::from(scale.weight(*logit)))
            {
                return Some(self.candidate(block * BLOCK + at));
            }
        }
        None
    }
}

/// Takes the tokens out that the mask does not allow.
fn ban(logits: &mut [f32], words: &[u32]) {
    for (logits, &word) in logits.chunks_mut(32).zip(words) {
        let mut banned = !word;
        while banned != 0 {
            if let Some(logit) = logits.get_mut(banned.trailing_zeros() as usize) {
                *logit = NEVER;
            }
            banned &= banned - 1;
        }
    }
}

/// The largest of some logits.
fn largest(logits: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut most = [NEVER; 8];
    for logits in logits.chunks(most.len()) {
        for (most, logit) in most.iter_mut().zip(logits) {
            *most = larger(*most, *logit);
        }
    }
    most.into_iter().fold(NEVER, larger)
}

/// What some weights add up to: several sums side by side, since one would wait for itself.
fn sum(weights: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    for weights in weights.chunks(sums.len()) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += f64::from(*weight);
        }
    }
    sums.iter().sum()
}

/// The exponential of a number that is not above 0, right to seven digits near 0 and to five near the least; 0 where it
/// is no normal number. The compiler takes it of several numbers at a time, which it does not of the library's.
pub(super) fn exp(x: f32) -> f32 {
    /// Added to a small number, it leaves the nearest whole one in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    const LEAST: f32 = -126.0;
    let x = x * std::f32::consts::LOG2_E;
    let is_normal = x >= LEAST;
    let rounded = x.max(LEAST) + ROUND;
    let rest = x.max(LEAST) - (rounded - ROUND);
    // 2^rest, from -1/2 to 1/2: ln(2)^n / n!.
    let power = [
        1.339_887_5e-3,
        9.618_129e-3,
        5.550_411e-2,
        2.402_265e-1,
        std::f32::consts::LN_2,
        1.0,
    ]
    .iter()
    .fold(1.540_353e-4, |sum, factor| sum * rest + factor);
    let scaled = f32::from_bits(power.to_bits().wrapping_add(rounded.to_bits() << 23));
    if is_normal { scaled } else { 0.0 }
}

/// A logit as a finite number, where it may be chosen at all.
fn settled(logit: f32) -> f32 {
    // NaN is neither above nor below.
    let logit = if logit > NEVER { logit } else { NEVER };
    if logit < f32::INFINITY {
        logit
    } else {
        f32::MAX
    }
}
