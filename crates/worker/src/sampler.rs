//! One answer's sampler: the logits of each step come in; the token that is chosen goes out.
//!
//! The order of the steps is vLLM's, which clients know: logit bias, penalties, the constraint's
//! mask, log probabilities, temperature, `min_p`, `top_k`, `top_p`, the draw.
//!
//! Pure: the same sampling, prompt, seed and logits choose the same tokens, and asking for log
//! probabilities changes none of them. Values that cannot be meant (NaN, below zero) are read as
//! the parameter's neutral value: whoever reads the request refuses them with a message.

mod candidates;
mod loops;
#[cfg(test)]
mod tests;

use super::backend::TokenMask;
use super::job::{Chosen, Sampling, TokenLogprob};
use super::vocabulary::Token;
use candidates::{Candidate, Candidates};
pub use loops::Closers;
use loops::Loops;
use std::collections::{HashMap, HashSet};

/// Temperatures below this take the likeliest token, as in vLLM: dividing by them overflows.
const GREEDY_BELOW: f32 = 1e-5;

/// Chooses the tokens of one answer.
#[derive(Debug)]
pub struct Sampler {
    temperature: f32,
    top_p: f32,
    top_k: usize,
    min_p: f32,
    logprobs: Option<usize>,
    bias: Vec<(Token, f32)>,
    presence: f32,
    frequency: f32,
    repetition: f32,
    /// How often each token occurred in the answer; empty where that costs nothing.
    counts: HashMap<Token, u32>,
    /// The tokens of prompt and answer; empty where repetition costs nothing.
    seen: HashSet<Token>,
    /// Watched where the answer is constrained.
    loops: Option<Loops>,
    random: SplitMix,
    candidates: Candidates,
}

impl Sampler {
    /// A sampler at the beginning of an answer. `seed` is used where the sampling has none.
    #[must_use]
    pub fn new(sampling: &Sampling, prompt: &[Token], seed: u64) -> Self {
        let repetition = match sampling.repetition_penalty {
            penalty if penalty.is_finite() && penalty > 0.0 => penalty,
            _ => 1.0,
        };
        Self {
            temperature: at_least_zero(sampling.temperature, 1.0),
            top_p: at_least_zero(sampling.top_p, 1.0),
            top_k: sampling.top_k as usize,
            min_p: at_least_zero(sampling.min_p, 0.0).min(1.0),
            logprobs: sampling.logprobs.map(|top| top as usize),
            bias: merged(&sampling.logit_bias),
            presence: finite(sampling.presence_penalty),
            frequency: finite(sampling.frequency_penalty),
            repetition,
            counts: HashMap::new(),
            seen: match repetition == 1.0 {
                true => HashSet::new(),
                false => prompt.iter().copied().collect(),
            },
            loops: None,
            random: SplitMix(sampling.seed.unwrap_or(seed)),
            candidates: Candidates::default(),
        }
    }

    /// The same, which leads an answer that repeats itself without an end to its end.
    #[must_use]
    pub fn breaking_loops(mut self, closers: &Closers) -> Self {
        self.loops = Some(Loops::new(closers.clone()));
        self
    }

    /// Whether [`Chosen`] tells log probabilities. Where not, its `logprob` is 0 and its `top`
    /// empty: they would cost one more pass over the vocabulary.
    #[must_use]
    pub fn wants_logprobs(&self) -> bool {
        self.logprobs.is_some()
    }

    /// Chooses a token, and counts it for the penalties. `None`: the mask allows no token, or
    /// each token that it allows has a logit of NaN or -infinity.
    pub fn sample(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Option<Chosen> {
        let chosen = self.propose(logits, mask)?;
        self.force(chosen.token.token);
        Some(chosen)
    }

    /// The same, of a token that may not become part of the answer: it is not counted.
    pub fn propose(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Option<Chosen> {
        self.candidates.fill(logits, mask);
        self.adjust();
        let likeliest = self.candidates.likeliest()?;
        let told = self
            .logprobs
            .map(|count| (self.candidates.log_total(), self.candidates.top(count)));
        let chosen = match self.temperature < GREEDY_BELOW {
            true => likeliest,
            false => self.draw(likeliest),
        };
        let (log_total, top) = match told {
            Some((log_total, top)) => (Some(log_total), top),
            None => (None, Vec::new()),
        };
        // The total holds the token's own share, so rounding aside no logprob is above 0.
        let told = |candidate: Candidate| TokenLogprob {
            token: candidate.token,
            logprob: log_total.map_or(0.0, |total| {
                (f64::from(candidate.logit) - total).min(0.0) as f32
            }),
        };
        Some(Chosen {
            token: told(chosen),
            top: top.into_iter().map(told).collect(),
        })
    }

    /// Counts a token that was not sampled but is part of the answer.
    pub fn force(&mut self, token: Token) {
        if let Some(loops) = &mut self.loops {
            loops.push(token);
        }
        if self.presence != 0.0 || self.frequency != 0.0 {
            let count = self.counts.entry(token).or_default();
            *count = count.saturating_add(1);
        }
        if self.repetition != 1.0 {
            self.seen.insert(token);
        }
    }

    /// Logit bias, penalties, and the way out of a loop.
    fn adjust(&mut self) {
        let pressure = self.loops.as_ref().and_then(Loops::pressure);
        let has_none = self.bias.is_empty() && self.seen.is_empty() && self.counts.is_empty();
        if has_none && pressure.is_none() {
            return;
        }
        let Self {
            bias,
            seen,
            counts,
            loops,
            ..
        } = self;
        if let (Some(pressure), Some(loops)) = (pressure, loops) {
            for &token in loops.closers() {
                self.candidates.change(token, |logit| logit + pressure);
            }
            if let Some(token) = loops.expected() {
                self.candidates.change(token, |logit| logit - pressure);
            }
        }
        for &(token, bias) in &*bias {
            self.candidates.change(token, |logit| logit + bias);
        }
        let repetition = self.repetition;
        let repeated = |logit: f32| match logit > 0.0 {
            true => logit / repetition,
            false => logit * repetition,
        };
        // Whichever is shorter is walked: a mask often leaves fewer tokens than were seen.
        match self.candidates.len() < seen.len() {
            true => self.candidates.change_all(|candidate| {
                if seen.contains(&candidate.token) {
                    candidate.logit = repeated(candidate.logit);
                }
            }),
            false => {
                for &token in &*seen {
                    self.candidates.change(token, repeated);
                }
            }
        }
        for (&token, &count) in &*counts {
            let off = self.presence + self.frequency * count as f32;
            self.candidates.change(token, |logit| logit - off);
        }
        self.candidates.settle();
    }

    /// One token at random, of those that temperature and the cuts leave.
    fn draw(&mut self, likeliest: Candidate) -> Candidate {
        let candidates = &mut self.candidates;
        if self.min_p > 0.0 {
            candidates.keep_from(likeliest.logit + self.temperature * self.min_p.ln());
        }
        candidates.keep_top(self.top_k);
        candidates.weigh(likeliest.logit, self.temperature);
        if self.top_p < 1.0 {
            candidates.keep_share(self.top_p);
        }
        let unit = self.random.unit();
        candidates.at_share(unit).unwrap_or(likeliest)
    }
}

/// A parameter that is a number from 0; `neutral` where it is none.
fn at_least_zero(value: f32, neutral: f32) -> f32 {
    match value.is_nan() {
        true => neutral,
        false => value.max(0.0),
    }
}

/// A penalty; none where it is no number.
fn finite(value: f32) -> f32 {
    match value.is_finite() {
        true => value,
        false => 0.0,
    }
}

/// One bias a token, the last one said.
fn merged(bias: &[(Token, f32)]) -> Vec<(Token, f32)> {
    let by_token: HashMap<Token, f32> = bias
        .iter()
        .copied()
        .filter(|(_, bias)| !bias.is_nan() && *bias != 0.0)
        .collect();
    by_token.into_iter().collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, every seed as good as any other.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number of [0, 1), of the 53 bits that an `f64` holds exactly.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
