//! The step machine: jobs from the queue come in; one forward pass a step, and events go out.

mod choosing;
mod media;
mod seats;

use super::EngineLimits;
use super::answer::{Answer, Due};
use super::costs::Costs;
use super::decoder::FreeMasks;
use super::plan::{Want, plan};
use super::pool::Pool;
use super::queue::Queue;
use super::slots::Slots;
use super::stats::EngineStats;
use crate::ending::Leads;
use crate::kernel::{Entry, Kernel, KernelError, KernelLimits, Slot};
use crate::sampler::Closers;
use crate::vocabulary::{Token, Vocabulary};
use isogloss_core::error::{Error, Kind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tokens that an answer without `max_tokens` is sure to have room for when it starts, and gets
/// more of when it has used those up.
const HEADROOM: u32 = 512;

/// How long the next forward pass waits for tokens that are being chosen. Whoever is later than
/// that misses the batch: the others go on.
const CHOOSE_WITHIN: Duration = Duration::from_millis(20);

/// How long sampling waits, at least, for masks after the forward pass; half as long as that took
/// where it took longer.
const MASK_WITHIN: Duration = Duration::from_millis(2);

/// How long the engine sleeps where every answer waits for its matcher, before it looks for
/// clients that went away.
const NAP: Duration = Duration::from_millis(5);

/// After so long a matcher is given up: grammar engines have budgets of their own, far below.
const MATCHER_LIMIT: Duration = Duration::from_secs(10);

/// After so many failures in a row no forward pass is expected to succeed any more: a device that
/// was lost, say, is found again by another process alone.
const MAX_FAILURES: u32 = 8;

/// With more answers than this none is drafted: a forward pass has enough to do.
const MAX_DRAFTING: usize = 2;

/// What the one hears for whom there is no room, however few others there are.
const NO_ROOM: &str = "the KV cache has no room for this request alone: shorten it, or start the \
                       worker with a larger `worker.context`";

pub(super) struct Scheduler {
    queue: Arc<Queue>,
    vocabulary: Vocabulary,
    free: FreeMasks,
    closers: Closers,
    leads: Leads,
    cells: u32,
    window: u32,
    batch: u32,
    chunk: u32,
    /// Tokens of one draft, at most.
    draft: u32,
    costs: Costs,
    /// Whether drafts are only as long as is worth their time.
    weighs_drafts: bool,
    pub(super) headroom: u32,
    pub(super) patience: Duration,
    slots: Slots,
    pool: Pool,
    /// Oldest first.
    answers: Vec<Answer>,
    next: u64,
    /// Buffers for logits.
    spare: Vec<Vec<f32>>,
    /// Forward passes that failed since one did not.
    failures: u32,
    stats: EngineStats,
}

/// A batch, and whose it is.
struct Batch {
    entries: Vec<Entry>,
    /// Those whose next token is to be chosen, in the order of their entries.
    wanted: Vec<Wanted>,
}

/// Whose next token is to be chosen.
struct Wanted {
    id: u64,
    /// The entry with the logits behind the last token.
    entry: usize,
    /// What the entries behind that one are.
    draft: Vec<Token>,
}

/// Tokens that one conversation may have.
pub(super) fn window(limits: &KernelLimits) -> u32 {
    limits.context.min(limits.cells)
}

impl Scheduler {
    pub(super) fn new(
        queue: Arc<Queue>,
        vocabulary: Vocabulary,
        limits: EngineLimits,
        kernel: KernelLimits,
    ) -> Self {
        Self {
            queue,
            free: FreeMasks::new(&vocabulary),
            closers: Closers::of(&vocabulary),
            leads: Leads::of(&vocabulary),
            vocabulary,
            cells: kernel.cells,
            window: window(&kernel),
            batch: kernel.batch.max(1),
            chunk: limits.prefill_chunk.max(1),
            draft: if kernel.truncates { limits.draft } else { 0 },
            costs: Costs::new(),
            weighs_drafts: limits.weighs_drafts,
            headroom: HEADROOM,
            patience: MATCHER_LIMIT,
            slots: Slots::new(kernel),
            pool: Pool::new(limits.mask_threads),
            answers: Vec::new(),
            next: 0,
            spare: Vec::new(),
            failures: 0,
            stats: EngineStats::default(),
        }
    }

    /// Whether there is nothing to do but for jobs in the queue.
    pub(super) fn is_idle(&self) -> bool {
        self.answers.is_empty()
    }

    /// Whether there is no hope for jobs to come.
    pub(super) fn is_broken(&self) -> bool {
        self.failures >= MAX_FAILURES || self.pool.is_broken()
    }

    pub(super) fn stats(&self) -> EngineStats {
        let running = self.seated().count();
        EngineStats {
            running,
            waiting: self.answers.len() - running,
            slots: self.slots.count(),
            kept_tokens: self.slots.kept(),
            kv_cells: u64::from(self.cells),
            ..self.stats
        }
    }

    /// One forward pass, and what goes with it. Where all answers wait for their matchers, a nap.
    pub(super) fn step(&mut self, kernel: &mut dyn Kernel) {
        self.drop_unwanted();
        while let Some(done) = self.pool.try_receive() {
            self.take_back(done);
        }
        self.give_up_late_matchers();
        self.resume(kernel);
        self.admit(kernel);
        self.wait_for(Instant::now() + CHOOSE_WITHIN, |answer| {
            answer.stage != Due::Mask
        });
        self.make_room(kernel);
        let has_seen = self.see(kernel);
        self.forget_drafts(kernel);
        let mut batch = self.plan();
        if batch.entries.is_empty() {
            if !has_seen
                && !self.answers.is_empty()
                && let Some(done) = self.pool.receive(NAP)
            {
                self.take_back(done);
            }
            return;
        }
        let start = Instant::now();
        if let Err(error) = self.forward(kernel, &mut batch) {
            self.failures += u32::from(error != KernelError::Full);
            self.fail_batch(kernel, &batch, &error);
            return;
        }
        self.failures = 0;
        let time = start.elapsed();
        self.stats.steps += 1;
        self.stats.computed_tokens += batch.entries.len() as u64;
        self.stats.forward_seconds += time.as_secs_f64();
        for entry in &batch.entries {
            self.slots.push(entry.slot, entry.token);
        }
        for wanted in &batch.wanted {
            if let Some(at) = self.index(wanted.id) {
                self.answers[at].drafted = u32::try_from(wanted.draft.len()).unwrap_or(0);
            }
        }
        self.choose(kernel, batch.wanted, time);
        // With the masks between a draft's tokens: where the model is small they are what takes the time.
        self.costs
            .learn(batch.entries.len(), start.elapsed().as_secs_f64());
    }

    /// Ends everything.
    pub(super) fn fail_all(&mut self, error: &Error) {
        for answer in std::mem::take(&mut self.answers) {
            answer.fail(error.clone());
            if let Some(slot) = answer.slot {
                self.slots.release(slot);
            }
            self.stats.failed += 1;
        }
    }

    fn seated(&self) -> impl DoubleEndedIterator<Item = (Slot, &Answer)> {
        self.answers
            .iter()
            .filter_map(|answer| Some((answer.slot?, answer)))
    }

    fn index(&self, id: u64) -> Option<usize> {
        self.answers
            .binary_search_by_key(&id, |answer| answer.id)
            .ok()
    }

    fn plan(&mut self) -> Batch {
        let wants: Vec<Want> = self
            .answers
            .iter()
            .map(|answer| {
                let computed = answer.slot.map(|slot| self.slots.len(slot));
                Want {
                    tokens: computed.map_or(0, |computed| answer.tokens.run(computed)),
                    is_running: computed.is_some_and(|computed| computed >= answer.prompt),
                    served: answer.served,
                }
            })
            .collect();
        let shares = plan(&wants, self.batch, self.chunk);
        let mut left = match self.is_quiet() && wants.iter().all(Want::is_behind_prompt) {
            true => self.batch.saturating_sub(shares.iter().sum()),
            false => 0,
        };
        let mut planned: usize = shares.iter().map(|share| *share as usize).sum();
        let running = shares.iter().filter(|share| **share > 0).count();
        let mut batch = Batch {
            entries: Vec::new(),
            wanted: Vec::new(),
        };
        let step = self.stats.steps + 1;
        for (answer, share) in self.answers.iter_mut().zip(shares) {
            let (Some(slot), true) = (answer.slot, share > 0) else {
                continue;
            };
            answer.served = step;
            let from = self.slots.len(slot);
            let end = from + share;
            let is_wanted = end == answer.len() && answer.held.is_none();
            let mut draft = Vec::new();
            if is_wanted {
                let most = answer.draft_room(left);
                let size = match self.weighs_drafts {
                    true => self.costs.worth(planned, running, most, answer.odds),
                    false => most,
                };
                draft = std::mem::take(&mut answer.draft);
                draft.truncate(size);
            }
            planned += draft.len();
            left = left.saturating_sub(u32::try_from(draft.len()).unwrap_or(left));
            let (known, offset) = (answer.tokens.tokens(), answer.tokens.position(from));
            let tokens = known[from as usize..end as usize].iter().chain(&draft);
            let behind = share as usize - 1;
            let entry = batch.entries.len() + behind;
            let places = (offset..).zip(tokens).enumerate();
            batch
                .entries
                .extend(places.map(|(at, (position, token))| Entry {
                    token: *token,
                    position,
                    slot,
                    logits: is_wanted && at >= behind,
                }));
            if is_wanted {
                let id = answer.id;
                batch.wanted.push(Wanted { id, entry, draft });
            }
        }
        batch
    }

    /// Whether so few answers run that a forward pass with drafts keeps nobody waiting.
    fn is_quiet(&self) -> bool {
        self.draft > 0 && self.seated().count() <= MAX_DRAFTING
    }

    /// Takes back what the kernels computed behind what answers then had.
    fn forget_drafts(&mut self, kernel: &mut dyn Kernel) {
        for answer in &mut self.answers {
            if std::mem::take(&mut answer.is_ahead)
                && let Some(slot) = answer.slot
                && !self.slots.keep(kernel, slot, &answer.tokens)
            {
                tracing::warn!("the kernels do not take tokens back: there are no more drafts");
                self.draft = 0;
            }
        }
    }

    /// Runs the batch. Where the kernels have no room for it, what is kept for later goes, then
    /// the youngest answers' slots.
    fn forward(&mut self, kernel: &mut dyn Kernel, batch: &mut Batch) -> Result<(), KernelError> {
        while !batch.entries.is_empty() {
            match kernel.forward(&batch.entries) {
                Err(KernelError::Full) => {}
                ran => return ran,
            }
            if batch.drop_drafts() {
                continue;
            }
            if self.slots.evict(kernel, 0) {
                continue;
            }
            if self.seated().count() < 2 {
                return Err(KernelError::Full);
            }
            let Some((slot, _)) = self.pause_youngest() else {
                return Err(KernelError::Full);
            };
            self.slots.clear(kernel, slot);
            let kept = std::mem::take(&mut batch.entries);
            let wanted = std::mem::take(&mut batch.wanted);
            let mut wanted = wanted.into_iter().peekable();
            for (at, entry) in kept.into_iter().enumerate() {
                let of_it = wanted.next_if(|wanted| wanted.entry == at);
                if entry.slot == slot {
                    continue;
                }
                batch.wanted.extend(of_it.map(|wanted| Wanted {
                    entry: batch.entries.len(),
                    ..wanted
                }));
                batch.entries.push(entry);
            }
        }
        Ok(())
    }

    fn fail_batch(&mut self, kernel: &mut dyn Kernel, batch: &Batch, error: &KernelError) {
        // The library's own words may name files and addresses: for the log alone.
        tracing::error!(%error, tokens = batch.entries.len(), "a forward pass failed");
        let message = match error {
            KernelError::Full => NO_ROOM,
            KernelError::Failed(_) => "the model's forward pass failed; the worker's log says why",
        };
        let is_in_batch = |slot| batch.entries.iter().any(|entry| entry.slot == slot);
        let hit: Vec<(Slot, u64)> = self
            .seated()
            .filter(|(slot, _)| is_in_batch(*slot))
            .map(|(slot, answer)| (slot, answer.id))
            .collect();
        for (slot, id) in hit {
            self.fail(id, Error::new(Kind::UpstreamFailed, message));
            self.slots.clear(kernel, slot);
        }
    }
}

impl Batch {
    /// Takes the drafts out. Says whether there were any.
    fn drop_drafts(&mut self) -> bool {
        let mut drafted = 0;
        for wanted in &mut self.wanted {
            wanted.entry -= drafted;
            let behind = wanted.entry + 1;
            let draft = std::mem::take(&mut wanted.draft);
            self.entries.drain(behind..behind + draft.len());
            drafted += draft.len();
        }
        drafted > 0
    }
}

fn ids<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<u64> {
    answers.map(|answer| answer.id).collect()
}
