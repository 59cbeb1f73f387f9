//! Kernels: forward passes of one model over several sequences at once.
//!
//! A sequence is a slot that keeps what the model computed for its tokens (the KV cache). The
//! scheduler alone calls these, from one thread.

use super::media::Media;
use super::vocabulary::Token;

pub mod llama;

/// A sequence's slot, from 0.
pub type Slot = u32;

/// One token to run through the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The token.
    pub token: Token,
    /// Its position in its sequence, from 0. Positions come without a gap, but for media that
    /// move what comes after them by fewer positions than they have tokens.
    pub position: u32,
    /// The sequence.
    pub slot: Slot,
    /// Whether the distribution of the token after this one is wanted; of a sequence's entries any
    /// may ask for it.
    pub logits: bool,
}

/// What the kernels were set up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelLimits {
    /// Tokens that all sequences keep together.
    pub cells: u32,
    /// Tokens that one sequence may have: the model's context window, or less.
    pub context: u32,
    /// Tokens of one forward pass.
    pub batch: u32,
    /// Sequences.
    pub slots: u32,
    /// Whether the end of a sequence can be taken back (not so for recurrent models, which keep
    /// one state for the whole of it).
    pub truncates: bool,
}

/// Why a forward pass failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// There is no room for these tokens.
    #[error("the KV cache is full")]
    Full,
    /// Anything else that the library says.
    #[error("the forward pass failed: {0}")]
    Failed(String),
}

/// The kernels of one model.
pub trait Kernel: Send {
    /// What this was set up for.
    fn limits(&self) -> KernelLimits;

    /// Runs at most [`KernelLimits::batch`] tokens through the model.
    ///
    /// # Errors
    /// After an error the sequences of the batch hold what they held before it, or nothing that
    /// can be relied on: the caller clears those it cannot go on with.
    fn forward(&mut self, entries: &[Entry]) -> Result<(), KernelError>;

    /// Runs a medium through the model: its tokens become the next of a sequence that ends at
    /// this position.
    ///
    /// # Errors
    /// The sequence holds what it held before, or nothing that can be relied on where its end
    /// cannot be taken back.
    fn media(&mut self, _slot: Slot, _position: u32, _media: &Media) -> Result<(), KernelError> {
        let message = "these kernels take tokens alone";
        Err(KernelError::Failed(message.to_owned()))
    }

    /// The logits that entry `index` of the last batch asked for, one a token of the vocabulary.
    fn logits(&self, index: usize) -> &[f32];

    /// Forgets the sequence from this position on; from 0, all of it. Says whether it did: where
    /// the kernels cannot, nothing changed.
    fn truncate(&mut self, slot: Slot, from: u32) -> bool;

    /// Makes the first `length` tokens of one sequence the beginning of another, empty one,
    /// without a forward pass. Says whether it did.
    fn share(&mut self, from: Slot, to: Slot, length: u32) -> bool;
}

/// Kernels that are set up on the thread that uses them: a context of the library borrows its
/// model, so both live in one call.
pub trait Setup: Send {
    /// Sets the kernels up, calls `run` once with them, and takes them down.
    ///
    /// # Errors
    /// They cannot be set up (most often for want of memory: the message has the numbers); `run`
    /// was not called then.
    fn run(self: Box<Self>, run: &mut dyn FnMut(&mut dyn Kernel)) -> Result<(), KernelError>;
}
