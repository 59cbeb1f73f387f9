//! One answer's sampler: the logits of each step come in; the token that is chosen goes out.
//!
//! The order of the steps is vLLM's, which clients know: logit bias, penalties, the constraint's
//! mask, log probabilities, temperature, `min_p`, `top_k`, `top_p`, the draw.
//!
//! Pure: the same sampling, prompt, seed and logits choose the same tokens, and asking for log
//! probabilities changes none of them. Values that cannot be meant (NaN, below zero) are read as
//! the parameter's neutral value: whoever reads the request refuses them with a message.

mod candidates;
mod length;
mod loops;
#[cfg(test)]
mod tests;

use super::backend::TokenMask;
use super::job::{Chosen, Sampling, TokenLogprob};
use super::vocabulary::Token;
use candidates::{Candidate, Candidates, Scale};
use length::Length;
pub use loops::Closers;
use loops::{Loops, MAX_PRESSURE};
use std::collections::{HashMap, HashSet};

/// Temperatures below this take the likeliest token, as in vLLM: dividing by them overflows.
const GREEDY_BELOW: f32 = 1e-5;

/// What is known of the place of an answer's next token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The constraint leaves it free, so that the model ends it as it likes.
    pub is_free: bool,
    /// The next token of the shortest way to the answer's end, where that is known and is not the end itself.
    pub lead: Option<Token>,
}

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
    /// Watched where nobody said how long it may be.
    length: Option<Length>,
    place: Place,
    /// Whether the token that was chosen last is there for being pushed.
    is_pushed: bool,
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
            length: None,
            place: Place::default(),
            is_pushed: false,
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

    /// The same, which pushes an answer that has room for so many tokens towards its end when it has become long, more
    /// with each further token.
    #[must_use]
    pub fn pushing(mut self, room: u32) -> Self {
        self.length = Some(Length::new(room, MAX_PRESSURE));
        self
    }

    /// Says where the next token stands.
    pub fn set_place(&mut self, place: Place) {
        self.place = place;
    }

    /// Whether the next token is pushed towards the answer's end: then it helps to know [`Place::lead`].
    #[must_use]
    pub fn pushes(&self) -> bool {
        self.pressure().is_some()
    }

    /// Whether the token that was chosen last was not the likeliest one, and is there because it leads to the answer's end.
    #[must_use]
    pub fn has_pushed(&self) -> bool {
        self.is_pushed
    }

    /// What the logits of tokens that lead to the end are raised by.
    fn pressure(&self) -> Option<f32> {
        let loops = self.loops.as_ref().and_then(Loops::pressure);
        let length = self.length.as_ref().and_then(Length::pressure);
        let length = length.filter(|_| !self.place.is_free);
        match (loops, length) {
            (None, None) => None,
            (loops, length) => {
                let all = loops.unwrap_or(0.0) + length.unwrap_or(0.0);
                Some(all.min(MAX_PRESSURE))
            }
        }
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
        let own = self.push();
        let likeliest = self.candidates.likeliest()?;
        let told = self
            .logprobs
            .map(|count| (self.candidates.log_total(), self.candidates.top(count)));
        let chosen = match self.temperature < GREEDY_BELOW {
            true => likeliest,
            false => self.draw(likeliest),
        };
        self.is_pushed = own.is_some_and(|own| own != chosen.token && self.leads(chosen.token));
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
        if let Some(length) = self.length.as_mut().filter(|_| !self.place.is_free) {
            length.push();
        }
        if self.presence != 0.0 || self.frequency != 0.0 {
            let count = self.counts.entry(token).or_default();
            *count = count.saturating_add(1);
        }
        if self.repetition != 1.0 {
            self.seen.insert(token);
        }
    }

    /// Logit bias and penalties.
    fn adjust(&mut self) {
        if self.bias.is_empty() && self.seen.is_empty() && self.counts.is_empty() {
            return;
        }
        let Self {
            bias, seen, counts, ..
        } = self;
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
            true => {
                let is_seen = |token| seen.contains(&token);
                self.candidates.change_those(is_seen, repeated);
            }
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
    }

    /// The way out of a loop, and to the end of what is long. Says which token was the likeliest before.
    fn push(&mut self) -> Option<Token> {
        let pressure = self.pressure()?;
        let own = self.candidates.likeliest()?.token;
        let closers = self.loops.as_ref().map_or(&[][..], Loops::closers);
        let raised = |logit: f32| logit + pressure;
        for &token in closers {
            self.candidates.change(token, raised);
        }
        if let Some(lead) = self.place.lead.filter(|lead| !closers.contains(lead)) {
            self.candidates.change(lead, raised);
        }
        if let Some(token) = self.loops.as_ref().and_then(Loops::expected) {
            self.candidates.change(token, |logit| logit - pressure);
        }
        Some(own)
    }

    /// Whether a token is one of those that are pushed.
    fn leads(&self, token: Token) -> bool {
        let closers = self.loops.as_ref().map_or(&[][..], Loops::closers);
        self.place.lead == Some(token) || closers.contains(&token)
    }

    /// One token at random, of those that temperature and the cuts leave.
    fn draw(&mut self, likeliest: Candidate) -> Candidate {
        let candidates = &mut self.candidates;
        // These two cut by the logit alone, so their order is all one: the one that leaves few comes first.
        candidates.keep_top(self.top_k);
        if self.min_p > 0.0 {
            candidates.keep_from(likeliest.logit + self.temperature * self.min_p.ln());
        }
        let scale = Scale::new(likeliest.logit, self.temperature);
        if self.top_p < 1.0 {
            candidates.keep_share(self.top_p, scale);
        }
        let drawn = candidates.draw(scale, || self.random.unit());
        drawn.unwrap_or(likeliest)
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
