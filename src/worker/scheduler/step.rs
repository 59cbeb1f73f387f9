//! The step machine: jobs from the queue come in; one forward pass a step, and events go out.

use super::EngineLimits;
use super::answer::{Answer, Stage};
use super::decoder::{Decoder, FreeMasks, Halt, Outcome, Run, Work};
use super::plan::{Want, plan};
use super::pool::{Done, Pool, Task, choose_here};
use super::queue::Queue;
use super::slots::Slots;
use super::stats::EngineStats;
use crate::error::{Error, Kind};
use crate::worker::job::{Event, Finish, Job, Usage};
use crate::worker::kernel::{Entry, Kernel, KernelError, KernelLimits, Slot};
use crate::worker::sampler::Sampler;
use crate::worker::text::TextStream;
use crate::worker::vocabulary::Vocabulary;
use std::hash::{BuildHasher, RandomState};
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

pub(super) struct Scheduler {
    queue: Arc<Queue>,
    vocabulary: Vocabulary,
    free: FreeMasks,
    cells: u32,
    window: u32,
    batch: u32,
    chunk: u32,
    pub(super) headroom: u32,
    slots: Slots,
    pool: Pool,
    /// Oldest first.
    answers: Vec<Answer>,
    next: u64,
    seeds: RandomState,
    /// Buffers for logits.
    spare: Vec<Vec<f32>>,
    stats: EngineStats,
}

/// A batch, and whose it is.
struct Batch {
    entries: Vec<Entry>,
    /// Those whose next token is to be chosen: their number, and the entry with their logits.
    wanted: Vec<(u64, usize)>,
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
            vocabulary,
            cells: kernel.cells,
            window: window(&kernel),
            batch: kernel.batch.max(1),
            chunk: limits.prefill_chunk.max(1),
            headroom: HEADROOM,
            slots: Slots::new(kernel),
            pool: Pool::new(limits.mask_threads),
            answers: Vec::new(),
            next: 0,
            seeds: RandomState::new(),
            spare: Vec::new(),
            stats: EngineStats::default(),
        }
    }

    /// Whether there is nothing to do but for jobs in the queue.
    pub(super) fn is_idle(&self) -> bool {
        self.answers.is_empty()
    }

    pub(super) fn stats(&self) -> EngineStats {
        let running = self.seated().count();
        EngineStats {
            running,
            waiting: self.answers.len() - running,
            kept_tokens: self.slots.kept(),
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
            answer.stage != Stage::Mask
        });
        self.make_room(kernel);
        let mut batch = self.plan();
        if batch.entries.is_empty() {
            if !self.answers.is_empty()
                && let Some(done) = self.pool.receive(NAP)
            {
                self.take_back(done);
            }
            return;
        }
        let start = Instant::now();
        if let Err(error) = self.forward(kernel, &mut batch) {
            self.fail_batch(kernel, &batch, &error);
            return;
        }
        let time = start.elapsed();
        self.stats.steps += 1;
        self.stats.computed_tokens += batch.entries.len() as u64;
        self.stats.forward_seconds += time.as_secs_f64();
        for entry in &batch.entries {
            self.slots.push(entry.slot, entry.token);
        }
        self.choose(kernel, &batch, time);
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

    // ---- coming and going ----

    fn drop_unwanted(&mut self) {
        let unwanted = self.queue.take_unwanted();
        self.stats.cancelled += unwanted.len() as u64;
        let closed = |answer: &Answer| answer.events.is_closed();
        let gone: Vec<u64> = ids(self.answers.iter().filter(|answer| closed(answer)));
        for id in gone {
            self.remove(id);
            self.stats.cancelled += 1;
        }
    }

    fn give_up_late_matchers(&mut self) {
        let is_late =
            |answer: &&Answer| answer.decoder.is_none() && answer.sent.elapsed() > MATCHER_LIMIT;
        for id in ids(self.answers.iter().filter(is_late)) {
            self.fail(id, Halt::Late.error());
        }
    }

    /// Gives slots to answers that lost theirs.
    fn resume(&mut self, kernel: &mut dyn Kernel) {
        while let Some(at) = self.answers.iter().position(|answer| answer.slot.is_none()) {
            let answer = &self.answers[at];
            let need = answer.most.min(answer.len().saturating_add(self.headroom));
            if !self.slots.has_free() || !self.fits(need) {
                return;
            }
            let Some((slot, _)) = self.slots.take(kernel, &self.answers[at].tokens) else {
                return;
            };
            self.answers[at].slot = Some(slot);
            self.answers[at].reserved = need;
            self.evict(kernel);
        }
    }

    /// Gives slots to jobs, oldest first. One for which there is no room yet holds up those
    /// behind it: else a long prompt would wait for ever.
    fn admit(&mut self, kernel: &mut dyn Kernel) {
        while self.slots.has_free() && self.answers.iter().all(|answer| answer.slot.is_some()) {
            let admits = |job: &Job| {
                let (_, need) = self.needs(job);
                let computing = self
                    .seated()
                    .filter(|(slot, answer)| self.slots.len(*slot) < answer.len())
                    .map(|(slot, answer)| (slot, answer.tokens.as_slice()));
                self.fits(need) && !self.slots.is_worth_waiting(&job.prompt, computing)
            };
            let Some(job) = self.queue.pop_if(admits) else {
                return;
            };
            self.seat(kernel, job);
        }
    }

    /// Tokens that a job's prompt and answer may have, and those that it needs room for to begin.
    fn needs(&self, job: &Job) -> (u32, u32) {
        let prompt = u32::try_from(job.prompt.len()).unwrap_or(u32::MAX);
        let most = job.limits.max_tokens.unwrap_or(u32::MAX);
        let most = prompt.saturating_add(most).min(self.window);
        let need = match job.limits.max_tokens {
            Some(_) => most,
            None => most.min(prompt.saturating_add(self.headroom)),
        };
        (most, need)
    }

    /// Whether there is room for so many tokens beside those that answers have reserved. Nothing
    /// is bigger than an empty cache.
    fn fits(&self, need: u32) -> bool {
        let reserved: u64 = self.reserved();
        reserved == 0 || reserved + u64::from(need) <= u64::from(self.cells)
    }

    fn reserved(&self) -> u64 {
        self.seated()
            .map(|(_, answer)| u64::from(answer.reserved))
            .sum()
    }

    /// Makes what slots keep for later fit beside what answers have reserved.
    fn evict(&mut self, kernel: &mut dyn Kernel) {
        let left = u64::from(self.cells).saturating_sub(self.reserved());
        self.slots.evict(kernel, left);
    }

    fn seat(&mut self, kernel: &mut dyn Kernel, job: Job) {
        let (most, reserved) = self.needs(&job);
        let Some((slot, cached)) = self.slots.take(kernel, &job.prompt) else {
            return;
        };
        let prompt = u32::try_from(job.prompt.len()).unwrap_or(u32::MAX);
        let id = self.next;
        self.next += 1;
        let seed = job.sampling.seed;
        let seed = seed.unwrap_or_else(|| self.seeds.hash_one(id));
        let free = self.free.get(job.limits.ignore_end);
        let sampler = Sampler::new(&job.sampling, &job.prompt, seed);
        let alternatives = job.sampling.logprobs.unwrap_or(0);
        let vocabulary = self.vocabulary.clone();
        let decoder = Decoder::new(sampler, job.matcher, free, vocabulary, alternatives);
        let answer = Answer {
            id,
            events: job.events,
            tokens: job.prompt,
            prompt,
            most,
            slot: Some(slot),
            reserved,
            stage: if decoder.is_constrained() {
                Stage::Begin
            } else {
                Stage::Choose
            },
            decoder: Some(decoder),
            sent: Instant::now(),
            held: None,
            text: TextStream::new(&job.limits.stop),
            usage: Usage {
                prompt,
                cached,
                ..Usage::default()
            },
            served: self.stats.steps,
        };
        self.stats.prompt_tokens += u64::from(prompt);
        self.stats.cached_tokens += u64::from(cached);
        answer.tell(Event::Started { prompt, cached });
        let has_room = answer.room() > 0;
        self.answers.push(answer);
        self.evict(kernel);
        if has_room {
            self.send_on(id);
        } else {
            self.finish(id, Finish::Length);
        }
    }

    fn remove(&mut self, id: u64) -> Option<Answer> {
        let answer = self.answers.remove(self.index(id)?);
        if let Some(slot) = answer.slot {
            self.slots.release(slot);
        }
        Some(answer)
    }

    fn finish(&mut self, id: u64, reason: Finish) {
        if let Some(answer) = self.remove(id) {
            self.stats.finished += 1;
            answer.finish(reason);
        }
    }

    fn fail(&mut self, id: u64, error: Error) {
        if let Some(answer) = self.remove(id) {
            self.stats.failed += 1;
            answer.fail(error);
        }
    }

    // ---- room ----

    /// Makes room for the tokens that answers have now. Where there is none left, the youngest
    /// lose their slots until there is: what they have said stands, and what the model computed
    /// for it is computed again later.
    fn make_room(&mut self, kernel: &mut dyn Kernel) {
        let mut at = 0;
        while let Some(answer) = self.answers.get(at) {
            let (need, has, most) = (answer.len(), answer.reserved, answer.most);
            if answer.slot.is_none() || need <= has {
                at += 1;
                continue;
            }
            let others = self.reserved() - u64::from(has);
            let left = u64::from(self.cells).saturating_sub(others);
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            if need <= left {
                let roomy = need.saturating_add(self.headroom).min(most).min(left);
                self.answers[at].reserved = roomy;
                at += 1;
            } else if self.pause_youngest().is_none() {
                // One answer alone never needs more than there is.
                break;
            }
        }
        self.evict(kernel);
    }

    /// Takes the youngest answer's slot away: which, and whose.
    fn pause_youngest(&mut self) -> Option<(Slot, u64)> {
        let answer = self.answers.iter_mut().rfind(|it| it.slot.is_some())?;
        let slot = answer.slot.take()?;
        answer.reserved = 0;
        let id = answer.id;
        self.slots.release(slot);
        self.stats.preempted += 1;
        Some((slot, id))
    }

    // ---- the forward pass ----

    fn plan(&mut self) -> Batch {
        let wants: Vec<Want> = self
            .answers
            .iter()
            .map(|answer| {
                let computed = answer.slot.map(|slot| self.slots.len(slot));
                Want {
                    tokens: computed.map_or(0, |computed| answer.len() - computed),
                    is_running: computed.is_some_and(|computed| computed >= answer.prompt),
                    served: answer.served,
                }
            })
            .collect();
        let shares = plan(&wants, self.batch, self.chunk);
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
            let last = answer.len() - 1;
            for position in from..from + share {
                let logits = position == last && answer.held.is_none();
                if logits {
                    batch.wanted.push((answer.id, batch.entries.len()));
                }
                batch.entries.push(Entry {
                    token: answer.tokens[position as usize],
                    position,
                    slot,
                    logits,
                });
            }
        }
        batch
    }

    /// Runs the batch. Where the kernels have no room for it, what is kept for later goes, then
    /// the youngest answers' slots.
    fn forward(&mut self, kernel: &mut dyn Kernel, batch: &mut Batch) -> Result<(), KernelError> {
        while !batch.entries.is_empty() {
            match kernel.forward(&batch.entries) {
                Err(KernelError::Full) => {}
                ran => return ran,
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
                let id = wanted.next_if(|(_, index)| *index == at).map(|(id, _)| id);
                if entry.slot == slot {
                    continue;
                }
                batch.wanted.extend(id.map(|id| (id, batch.entries.len())));
                batch.entries.push(entry);
            }
        }
        Ok(())
    }

    fn fail_batch(&mut self, kernel: &mut dyn Kernel, batch: &Batch, error: &KernelError) {
        // The library's own words may name files and addresses: for the log alone.
        tracing::error!(%error, tokens = batch.entries.len(), "a forward pass failed");
        let message = match error {
            KernelError::Full => {
                "the KV cache has no room for this request alone: shorten it, or start the worker with a larger `worker.context`"
            }
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

    // ---- choosing ----

    /// Chooses the next tokens of those whose logits are there. Who has no mask yet keeps the
    /// logits until then.
    fn choose(&mut self, kernel: &mut dyn Kernel, batch: &Batch, forward: Duration) {
        let start = Instant::now();
        let is_wanted = |id: u64| batch.wanted.iter().any(|(wanted, _)| *wanted == id);
        self.wait_for(start + MASK_WITHIN.max(forward / 2), |answer| {
            is_wanted(answer.id)
        });
        self.stats.mask_wait_seconds += start.elapsed().as_secs_f64();
        // Neither a copy nor another thread is worth while for one alone.
        let is_here = batch.wanted.len() == 1 || self.pool.is_empty();
        for &(id, index) in &batch.wanted {
            // It may have gone on without the logits: a beginning that turned out to be forced.
            let Some(at) = self.index(id).filter(|&at| self.is_computed(at)) else {
                continue;
            };
            let answer = &mut self.answers[at];
            let room = answer.room();
            let logits = kernel.logits(index);
            if is_here
                && answer.stage == Stage::Choose
                && let Some(decoder) = answer.decoder.take()
            {
                self.take_back(choose_here(id, decoder, logits, room));
                continue;
            }
            let mut held = self.spare.pop().unwrap_or_default();
            held.clear();
            held.extend_from_slice(logits);
            answer.held = Some(held);
            self.send_on(id);
        }
        self.wait_for(Instant::now() + CHOOSE_WITHIN, |answer| {
            answer.stage == Stage::Choose
        });
    }

    /// Whether all of an answer's tokens went through the model.
    fn is_computed(&self, at: usize) -> bool {
        let answer = &self.answers[at];
        answer
            .slot
            .is_some_and(|slot| self.slots.len(slot) == answer.len())
    }

    /// Takes decoders back until none is away of those that matter, or it is too late.
    fn wait_for(&mut self, until: Instant, matters: impl Fn(&Answer) -> bool) {
        let is_away = |answer: &Answer| answer.decoder.is_none() && matters(answer);
        while self.answers.iter().any(is_away) {
            let left = until.saturating_duration_since(Instant::now());
            let Some(done) = self.pool.receive(left) else {
                return;
            };
            self.take_back(done);
        }
    }

    /// Sends a decoder off with what it is to do next, if there is anything yet.
    fn send_on(&mut self, id: u64) {
        let Some(at) = self.index(id) else { return };
        let answer = &mut self.answers[at];
        let room = answer.room();
        if answer.decoder.is_none() || answer.stage == Stage::Choose && answer.held.is_none() {
            return;
        }
        let work = match (answer.stage, answer.held.take()) {
            (Stage::Begin, held) => {
                answer.held = held;
                Work::Begin { room }
            }
            (Stage::Choose, Some(logits)) => Work::Choose { logits, room },
            (_, held) => {
                answer.held = held;
                Work::Mask
            }
        };
        if let Some(decoder) = answer.decoder.take() {
            answer.sent = Instant::now();
            self.pool.send(Task { id, decoder, work });
        }
    }

    /// A decoder is back, with what came of its work.
    fn take_back(&mut self, done: Done) {
        if let Some(logits) = done.logits
            && self.spare.len() < self.answers.len()
        {
            self.spare.push(logits);
        }
        // Its answer may be gone meanwhile.
        let Some(at) = self.index(done.id) else {
            return;
        };
        self.answers[at].decoder = done.decoder;
        match done.outcome {
            Outcome::Halted(halt) => self.fail(done.id, halt.error()),
            Outcome::Masked(time) => {
                let answer = &mut self.answers[at];
                let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
                answer.usage.mask_micros = answer.usage.mask_micros.saturating_add(micros);
                answer.stage = Stage::Choose;
                self.stats.mask_seconds.add(time);
                self.send_on(done.id);
            }
            Outcome::Advanced(run) => self.advance(at, run),
        }
    }

    fn advance(&mut self, at: usize, run: Run) {
        let vocabulary = self.vocabulary.clone();
        let answer = &mut self.answers[at];
        let id = answer.id;
        let before = answer.usage;
        let length = answer.tokens.len();
        let finish = answer.take(run, &vocabulary);
        if answer.tokens.len() > length {
            // What was kept for the token before it is of no use any more.
            self.spare.extend(answer.held.take());
        }
        let is_constrained = answer.decoder.as_ref().is_some_and(Decoder::is_constrained);
        answer.stage = if is_constrained {
            Stage::Mask
        } else {
            Stage::Choose
        };
        self.stats.completion_tokens += u64::from(answer.usage.completion - before.completion);
        self.stats.forced_tokens += u64::from(answer.usage.forced - before.forced);
        match finish {
            Some(reason) => self.finish(id, reason),
            None => self.send_on(id),
        }
    }
}

fn ids<'a>(answers: impl Iterator<Item = &'a Answer>) -> Vec<u64> {
    answers.map(|answer| answer.id).collect()
}
