//! What the engine did so far: counts come in; a snapshot for metrics goes out.

use std::time::Duration;

/// Upper bounds, in seconds, of the buckets of [`MaskSeconds`]; one more bucket takes the rest.
pub const MASK_SECONDS_BOUNDS: [f64; 12] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05,
    0.1,
];

/// How long masks took to compute.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MaskSeconds {
    /// Masks.
    pub count: u64,
    /// Seconds of all of them together.
    pub sum: f64,
    /// Seconds of the slowest.
    pub max: f64,
    /// Masks by [`MASK_SECONDS_BOUNDS`], each counted in one bucket alone.
    pub buckets: [u64; MASK_SECONDS_BOUNDS.len() + 1],
}

/// Counts since the start, and what is going on now.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineStats {
    /// Answers that hold a slot now.
    pub running: usize,
    /// Jobs that wait for a slot now.
    pub waiting: usize,
    /// Answers that may run at the same time.
    pub slots: usize,
    /// Tokens that the slots keep now, for running answers and for later ones.
    pub kept_tokens: u64,
    /// Tokens that there is room for.
    pub kv_cells: u64,
    /// Tokens of the prompts of all jobs that were seated.
    pub prompt_tokens: u64,
    /// Those of them that were computed already.
    pub cached_tokens: u64,
    /// Tokens of answers.
    pub completion_tokens: u64,
    /// Those of them that a constraint forced, without sampling.
    pub forced_tokens: u64,
    /// Those of them that stand in the place of one behind which the answer would not have ended in time.
    pub steered_tokens: u64,
    /// Answers that have such a token, and came to their end.
    pub steered: u64,
    /// Tokens that were drafted, and went through the model before they were chosen.
    pub drafted_tokens: u64,
    /// Those of them that the answer then had.
    pub accepted_tokens: u64,
    /// Constrained answers that began though it was not known that they can be whole in time.
    pub unplanned: u64,
    /// Constrained answers that ended before they were whole: at `max_tokens` or the end of the context.
    pub cut: u64,
    /// Forward passes.
    pub steps: u64,
    /// Tokens that went through them.
    pub computed_tokens: u64,
    /// Seconds that they took.
    pub forward_seconds: f64,
    /// How long masks took, wherever they were computed.
    pub mask_seconds: MaskSeconds,
    /// Seconds after forward passes in which the engine waited for masks: what was not hidden.
    pub mask_wait_seconds: f64,
    /// Answers that came to their end.
    pub finished: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// Jobs whose client went away.
    pub cancelled: u64,
    /// Jobs that the full queue refused.
    pub refused: u64,
    /// Answers that lost their place in the KV cache to an older one, and were computed anew.
    pub preempted: u64,
}

impl MaskSeconds {
    pub(super) fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.count += 1;
        self.sum += seconds;
        self.max = self.max.max(seconds);
        let bucket = MASK_SECONDS_BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
    }
}
