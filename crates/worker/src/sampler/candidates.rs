//! The tokens that one step may choose from: logits and a mask come in; what the cuts leave, and
//! the one at a share of their probability, goes out.
//!
//! One buffer, kept from step to step. With a mask only its tokens are looked at: of a vocabulary
//! of 128,000, a JSON grammar often allows a few dozen. Nothing is sorted but what `top_p` needs.

use super::super::backend::TokenMask;
use super::super::vocabulary::Token;
use std::cmp::Ordering;

/// How many weights are added up, or gone past, at a time.
const BLOCK: usize = 1_024;
/// How many powers are taken side by side.
const LANES: usize = 64;

/// How many of the likeliest tokens are sorted at first for `top_p`: nearly always enough.
const FIRST_SORTED: usize = 64;

/// A token that may be chosen. Its logit is finite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) token: Token,
    pub(super) logit: f32,
    /// Its probability after temperature, not yet divided by the total.
    weight: f32,
}

impl Candidate {
    const fn new(token: Token, logit: f32) -> Self {
        Self {
            token,
            logit,
            weight: 0.0,
        }
    }
}

/// The likelier first; of equals, as both zeros are, the lower token.
fn order(a: &Candidate, b: &Candidate) -> Ordering {
    let logit = |one: &Candidate| one.logit + 0.0;
    logit(b).total_cmp(&logit(a)).then(a.token.cmp(&b.token))
}

/// All candidates of a step, ordered by token until the first cut.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    list: Vec<Candidate>,
}

impl Candidates {
    /// The tokens that the mask allows, without those whose logit is NaN or -infinity.
    pub(super) fn fill(&mut self, logits: &[f32], mask: Option<&TokenMask>) {
        self.list.clear();
        let Some(mask) = mask else {
            let candidate = |(token, &logit)| Candidate::new(token, logit);
            self.list.extend((0..).zip(logits).map(candidate));
            if !logits.iter().all(|logit| logit.is_finite()) {
                self.settle();
            }
            return;
        };
        let end = logits.len().min(mask.len());
        for (&word, first) in mask.as_slice().iter().zip((0..end).step_by(32)) {
            let mut word = word;
            while word != 0 {
                let index = first + word.trailing_zeros() as usize;
                word &= word - 1;
                if let Some(&logit) = logits[..end].get(index) {
                    self.push(index as Token, logit);
                }
            }
        }
    }

    fn push(&mut self, token: Token, logit: f32) {
        if let Some(logit) = settled(logit) {
            self.list.push(Candidate::new(token, logit));
        }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Changes the logit of one token, where it is a candidate.
    pub(super) fn change(&mut self, token: Token, change: impl Fn(f32) -> f32) {
        // Without a mask a token is most often at its own place.
        let place = match self.list.get(token as usize) {
            Some(candidate) if candidate.token == token => Ok(token as usize),
            _ => self
                .list
                .binary_search_by_key(&token, |candidate| candidate.token),
        };
        if let Some(candidate) = place.ok().and_then(|place| self.list.get_mut(place)) {
            candidate.logit = change(candidate.logit);
        }
    }

    /// Changes any candidate's logit.
    pub(super) fn change_all(&mut self, change: impl Fn(&mut Candidate)) {
        self.list.iter_mut().for_each(change);
    }

    /// Makes logits finite again after changes.
    pub(super) fn settle(&mut self) {
        self.list
            .retain_mut(|candidate| match settled(candidate.logit) {
                Some(logit) => {
                    candidate.logit = logit;
                    true
                }
                None => false,
            });
    }

    /// The likeliest candidate, of equals the lowest token.
    pub(super) fn likeliest(&self) -> Option<Candidate> {
        let mut most = [f32::NEG_INFINITY; 8];
        for candidates in self.list.chunks(most.len()) {
            for (most, candidate) in most.iter_mut().zip(candidates) {
                *most = most.max(candidate.logit);
            }
        }
        let most = most.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let is_likeliest = |candidate: &&Candidate| candidate.logit == most;
        self.list.iter().find(is_likeliest).copied()
    }

    /// The logarithm of what all candidates' exponentials add up to.
    pub(super) fn log_total(&self) -> f64 {
        let Some(likeliest) = self.likeliest() else {
            return f64::NEG_INFINITY;
        };
        let most = likeliest.logit;
        let total: f64 = self
            .list
            .iter()
            .map(|candidate| f64::from((candidate.logit - most).exp()))
            .sum();
        f64::from(most) + total.ln()
    }

    /// So many of the likeliest, likeliest first. Leaves the candidates as they are.
    pub(super) fn top(&self, count: usize) -> Vec<Candidate> {
        let count = count.min(self.list.len());
        let mut top: Vec<Candidate> = Vec::with_capacity(count + 1);
        for candidate in &self.list {
            let is_full = top.len() == count;
            match top.last() {
                None if count == 0 => break,
                Some(last) if is_full && order(candidate, last) != Ordering::Less => continue,
                _ => {}
            }
            let place = top.partition_point(|other| order(other, candidate) == Ordering::Less);
            top.insert(place, *candidate);
            top.truncate(count);
        }
        top
    }

    /// Drops what is below this logit. NaN drops nothing.
    pub(super) fn keep_from(&mut self, least: f32) {
        if !least.is_nan() {
            self.list.retain(|candidate| candidate.logit >= least);
        }
    }

    /// Keeps so many of the likeliest; 0 keeps all.
    pub(super) fn keep_top(&mut self, count: usize) {
        if count > 0 && count < self.list.len() {
            self.list.select_nth_unstable_by(count - 1, order);
            self.list.truncate(count);
        }
    }

    /// Gives each candidate its probability at this temperature, relative to the likeliest's.
    pub(super) fn weigh(&mut self, most: f32, temperature: f32) {
        for candidates in self.list.chunks_mut(LANES) {
            let mut powers = [0.0; LANES];
            for (power, candidate) in powers.iter_mut().zip(&*candidates) {
                *power = (candidate.logit - most) / temperature;
            }
            for power in &mut powers {
                *power = exp(*power);
            }
            for (candidate, power) in candidates.iter_mut().zip(powers) {
                candidate.weight = power;
            }
        }
    }

    fn total(&self) -> f64 {
        self.list.chunks(BLOCK).map(weight).sum()
    }

    /// Keeps the likeliest, up to the one with which their probabilities reach this share.
    pub(super) fn keep_share(&mut self, share: f32) {
        let wanted = f64::from(share) * self.total();
        let mut reached = 0.0;
        let mut sorted = 0;
        let mut next = FIRST_SORTED;
        while sorted < self.list.len() {
            let rest = &mut self.list[sorted..];
            let chunk = next.min(rest.len());
            if chunk < rest.len() {
                rest.select_nth_unstable_by(chunk - 1, order);
            }
            let chunk = &mut rest[..chunk];
            chunk.sort_unstable_by(order);
            for candidate in chunk {
                reached += f64::from(candidate.weight);
                sorted += 1;
                if reached >= wanted {
                    self.list.truncate(sorted);
                    return;
                }
            }
            next *= 8;
        }
    }

    /// The candidate in whose part of the total probability this share of it lies.
    pub(super) fn at_share(&self, share: f64) -> Option<Candidate> {
        let blocks = self.list.chunks(BLOCK);
        let weights: Vec<f64> = blocks.clone().map(weight).collect();
        let mut left = share * weights.iter().sum::<f64>();
        for (candidates, weight) in blocks.zip(weights) {
            if left >= weight {
                left -= weight;
                continue;
            }
            for candidate in candidates {
                left -= f64::from(candidate.weight);
                if left < 0.0 {
                    return Some(*candidate);
                }
            }
        }
        // Rounding: the share was that of the last one.
        self.list
            .iter()
            .rev()
            .find(|candidate| candidate.weight > 0.0)
            .copied()
    }
}

/// What the weights of some candidates add up to: several sums side by side, since one would wait for itself.
fn weight(candidates: &[Candidate]) -> f64 {
    let mut sums = [0.0; 8];
    for candidates in candidates.chunks(sums.len()) {
        for (sum, candidate) in sums.iter_mut().zip(candidates) {
            *sum += f64::from(candidate.weight);
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
fn settled(logit: f32) -> Option<f32> {
    match logit {
        f32::INFINITY => Some(f32::MAX),
        logit if logit.is_nan() || logit == f32::NEG_INFINITY => None,
        logit => Some(logit),
    }
}
