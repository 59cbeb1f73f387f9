//! llama.cpp's kernels: forward passes on a context of a loaded model.
//!
//! All sequences share one cache (`kv_unified`). A batch may then mix one sequence's prefill or
//! forced tokens with single tokens of others in one pass, and a prefix is shared without copying.
//! With a cache each, llama.cpp (0.1.160) makes a pass of its own for each run of neighbouring slots
//! and for each length. Measured on a model of 0.6 B (q8_0, one thread, CPU milliseconds a step,
//! shared against separate):
//!
//! | tokens kept in each of 8 slots | 8 answers | 4 answers in every other slot | 8 answers, of 1 to 4 tokens |
//! |---|---|---|---|
//! | 16 | 167 : 167 | 111 : 243 | 320 : 460 |
//! | 256 | 330 : 260 | 176 : 278 | 510 : 620 |
//! | 768 | 708 : 530 | 361 : 403 | |
//!
//! So separate caches are faster only while all slots are busy and each gets one token.

use super::{Entry, Kernel, KernelError, KernelLimits, Setup, Slot};
use crate::media::Media;
use llama_cpp_2::DecodeError;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::{LogOptions, send_logs_to_tracing};
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

pub(crate) mod logs;
pub(crate) mod projector;

use logs::Lines;
use projector::LlamaProjector;

/// Tokens of one forward pass. Beyond a few hundred the weights are read from memory seldom enough.
pub(crate) const BATCH: u32 = 512;

/// llama.cpp, set up once in a process: it keeps global state.
pub(crate) fn library() -> Result<&'static LlamaBackend, String> {
    static LIBRARY: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            // Before anything is said: the default is standard error.
            send_logs_to_tracing(LogOptions::default());
            LlamaBackend::init().map_err(|error| error.to_string())
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// How a context is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// Tokens that one sequence may have.
    pub(crate) context: u32,
    /// Tokens that all sequences have together.
    pub(crate) cells: u32,
    /// Bytes that those take, as estimated.
    pub(crate) cache_bytes: u64,
    /// Sequences.
    pub(crate) slots: u32,
    /// Threads.
    pub(crate) threads: u32,
}

/// A loaded model that waits for the thread that runs it.
#[derive(Debug)]
pub(crate) struct LlamaSetup {
    model: Arc<LlamaModel>,
    projector: Option<Arc<LlamaProjector>>,
    options: Options,
}

impl LlamaSetup {
    pub(crate) fn new(
        model: Arc<LlamaModel>,
        projector: Option<Arc<LlamaProjector>>,
        options: Options,
    ) -> Self {
        Self {
            model,
            projector,
            options,
        }
    }
}

impl Setup for LlamaSetup {
    fn run(self: Box<Self>, run: &mut dyn FnMut(&mut dyn Kernel)) -> Result<(), KernelError> {
        let Self {
            model,
            projector,
            options,
        } = *self;
        let library = library().map_err(KernelError::Failed)?;
        let threads = i32::try_from(options.threads).unwrap_or(1);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(options.cells))
            .with_n_batch(BATCH)
            .with_n_ubatch(BATCH)
            .with_n_seq_max(options.slots)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_kv_unified(true)
            // The whole cache for layers with a sliding window too: sequences are cut and shared
            // at any place.
            .with_swa_full(true);
        let (context, lines) = Lines::of(|| model.new_context(library, params));
        let context = context.map_err(|_| {
            KernelError::Failed(format!(
                "no context for {} tokens in {} slots (the cache takes about {} MiB): {}: \
                 set a smaller context or fewer slots",
                options.cells,
                options.slots,
                options.cache_bytes >> 20,
                lines.error(),
            ))
        })?;
        let limits = KernelLimits {
            cells: context.n_ctx(),
            context: options.context.min(context.n_ctx()),
            batch: context.n_batch().min(BATCH),
            slots: options.slots,
            truncates: !model.is_recurrent() && !model.is_hybrid(),
        };
        let tokens = u32::try_from(model.n_vocab()).unwrap_or(0);
        let mut kernel = LlamaKernel {
            context,
            saves_positions: (projector.as_ref()).is_some_and(|it| it.saves_positions()),
            projector,
            batch: LlamaBatch::new(limits.batch as usize, 1),
            wanted: Vec::new(),
            limits,
            tokens,
        };
        run(&mut kernel);
        Ok(())
    }
}

struct LlamaKernel<'a> {
    context: LlamaContext<'a>,
    projector: Option<Arc<LlamaProjector>>,
    /// A sequence's last position may be further behind than that of its last token (M-RoPE).
    saves_positions: bool,
    /// Used again for each pass.
    batch: LlamaBatch<'static>,
    /// Which entries of the last pass have logits.
    wanted: Vec<bool>,
    limits: KernelLimits,
    /// Tokens of the vocabulary.
    tokens: u32,
}

/// A number as llama.cpp takes it. All that come here are below limits that fit.
fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

impl LlamaKernel<'_> {
    /// What llama.cpp would refuse, or fail an assertion at.
    fn check(&self, entries: &[Entry]) -> Result<(), KernelError> {
        let failed = |what: String| Err(KernelError::Failed(what));
        let limits = self.limits;
        if entries.len() > limits.batch as usize {
            return failed(format!(
                "{} tokens in one pass, and {} are the most",
                entries.len(),
                limits.batch
            ));
        }
        for entry in entries {
            if entry.slot >= limits.slots {
                return failed(format!("there is no slot {}", entry.slot));
            }
            if entry.token >= self.tokens {
                return failed(format!("there is no token {}", entry.token));
            }
            if entry.position >= limits.context {
                return failed(format!(
                    "position {} is beyond the context of {} tokens",
                    entry.position, limits.context
                ));
            }
        }
        Ok(())
    }

    /// How many tokens a sequence has.
    fn length(&self, slot: Slot) -> u32 {
        let last = self.context.kv_cache_seq_pos_max(signed(slot));
        u32::try_from(last.saturating_add(1)).unwrap_or(0)
    }
}

impl Kernel for LlamaKernel<'_> {
    fn limits(&self) -> KernelLimits {
        self.limits
    }

    fn forward(&mut self, entries: &[Entry]) -> Result<(), KernelError> {
        self.wanted.clear();
        if entries.is_empty() {
            return Ok(());
        }
        self.check(entries)?;
        self.batch.clear();
        for entry in entries {
            self.batch
                .add(
                    LlamaToken(signed(entry.token)),
                    signed(entry.position),
                    &[signed(entry.slot)],
                    entry.logits,
                )
                .map_err(|error| KernelError::Failed(error.to_string()))?;
        }
        match self.context.decode(&mut self.batch) {
            Ok(()) => {}
            Err(DecodeError::NoKvCacheSlot) => return Err(KernelError::Full),
            Err(error) => return Err(KernelError::Failed(meaning(&error))),
        }
        self.wanted.extend(entries.iter().map(|entry| entry.logits));
        Ok(())
    }

    fn media(&mut self, slot: Slot, position: u32, media: &Media) -> Result<(), KernelError> {
        self.wanted.clear();
        let failed = |what: &str| Err(KernelError::Failed(what.to_owned()));
        let Some(projector) = &self.projector else {
            return failed("the model has no projector");
        };
        if slot >= self.limits.slots || position >= self.limits.context {
            return failed("a medium is beyond the slots or the context");
        }
        let (at, sequence) = (signed(position), signed(slot));
        let batch = signed(self.limits.batch);
        let computed = projector.compute(&mut self.context, media, at, sequence, batch);
        if computed.is_err() {
            // What came before the failure. Where that cannot be, the caller clears the slot.
            let _ = self
                .context
                .clear_kv_cache_seq(Some(slot), Some(position), None);
        }
        computed
    }

    fn logits(&self, index: usize) -> &[f32] {
        match (self.wanted.get(index), i32::try_from(index)) {
            (Some(true), Ok(index)) => self.context.get_logits_ith(index),
            _ => &[],
        }
    }

    fn truncate(&mut self, slot: Slot, from: u32) -> bool {
        slot < self.limits.slots
            && (from >= self.length(slot)
                || self
                    .context
                    .clear_kv_cache_seq(Some(slot), Some(from), None)
                    .unwrap_or(false))
    }

    fn share(&mut self, from: Slot, to: Slot, length: u32) -> bool {
        let can = self.limits.truncates
            && from != to
            && from.max(to) < self.limits.slots
            && (self.saves_positions || self.length(from) >= length)
            && self.length(to) == 0;
        // A length of 0 shares nothing, and llama.cpp takes -1 for everything.
        can && (length == 0
            || self
                .context
                .kv_cache_seq_cp(signed(from), signed(to), Some(0), Some(length))
                .is_ok())
    }
}

/// The numbers of `llama_decode` (llama.h).
fn meaning(error: &DecodeError) -> String {
    match error {
        DecodeError::Unknown(2) => "it was aborted".to_owned(),
        DecodeError::NTokensZero => {
            "llama.cpp does not take the batch: its positions leave a gap".to_owned()
        }
        DecodeError::Unknown(-2) => "there is not enough memory for it".to_owned(),
        other => format!("llama.cpp says {other}"),
    }
}

#[cfg(test)]
mod tests;
