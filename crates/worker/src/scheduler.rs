//! The scheduler: jobs come in; forward passes over all of them at once and their events go out.
//!
//! [`Engine`] owns the thread and the bounded queue. On that thread a step machine does the rest,
//! one forward pass a step:
//!
//! 1. jobs that nobody wants any more go, waiting ones are seated in free slots, each in the one
//!    that keeps the longest beginning of its prompt;
//! 2. a batch is put together: a token of each running answer, then pieces of prompts;
//! 3. the forward pass runs, and meanwhile other threads compute what each constraint allows next;
//! 4. tokens are chosen, and what the constraint forces after them is taken without asking the
//!    model: it joins the next batch.
//!
//! Where few answers run, what was said before is drafted again: the draft goes through the model with
//! the last token, each of its tokens is chosen as it would be without it, and what was computed behind
//! the first other one is forgotten.
//!
//! No answer depends on the others beside it: a matcher that fails or dawdles is its own job's
//! affair, and room in the KV cache is taken from the youngest, which goes on later as if nothing
//! had been.

mod answer;
mod costs;
mod decoder;
mod drafter;
mod engine;
mod lookup;
mod plan;
mod pool;
mod queue;
mod slots;
mod stats;
mod step;

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]
mod tests;

pub use engine::Engine;
pub use stats::{EngineStats, MASK_SECONDS_BOUNDS, MaskSeconds};

/// Tokens of a draft at most, unless another number is said: few texts are the same for longer, and
/// drafts that are right follow one another.
const MOST_DRAFTED: u32 = 8;

/// What the engine may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineLimits {
    /// Jobs that wait for a slot; one more is refused with 503.
    pub queue: usize,
    /// Prompt tokens of one forward pass while answers are running: what they wait for at most.
    pub prefill_chunk: u32,
    /// Tokens that are drafted at most for one answer and one forward pass, where few answers run
    /// and the kernels can take tokens back; 0 for no drafts.
    pub draft: u32,
    /// Whether drafts are only as long as is worth their time.
    pub weighs_drafts: bool,
    /// Threads that compute masks and choose tokens beside the forward pass. With 0 the engine's
    /// own thread does it, between forward passes.
    pub mask_threads: usize,
}

impl Default for EngineLimits {
    /// Beside kernels that take the cores for themselves.
    fn default() -> Self {
        Self {
            queue: 2_048,
            prefill_chunk: 512,
            draft: MOST_DRAFTED,
            weighs_drafts: true,
            mask_threads: (cores() / 2).clamp(1, 8),
        }
    }
}

impl EngineLimits {
    /// The same beside kernels that leave the cores alone, as those of a GPU do: one is for its driver.
    #[must_use]
    pub fn beside_a_gpu(self) -> Self {
        Self {
            mask_threads: cores().saturating_sub(1).clamp(1, 32),
            ..self
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
