//! Choosing: logits and masks come together here, and tokens come of them.

use super::{Batch, CHOOSE_WITHIN, MASK_WITHIN, Scheduler};
use crate::job::Finish;
use crate::kernel::Kernel;
use crate::scheduler::answer::{Answer, Due};
use crate::scheduler::decoder::{Decoder, Outcome, Run, Work};
use crate::scheduler::pool::{Done, Task, choose_here};
use std::time::{Duration, Instant};

impl Scheduler {
    /// Chooses the next tokens of those whose logits are there. Who has no mask yet keeps the
    /// logits until then.
    pub(super) fn choose(&mut self, kernel: &mut dyn Kernel, batch: &Batch, forward: Duration) {
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
                && answer.stage == Due::Choose
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
            answer.stage == Due::Choose
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
    pub(super) fn wait_for(&mut self, until: Instant, matters: impl Fn(&Answer) -> bool) {
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
    pub(super) fn send_on(&mut self, id: u64) {
        let Some(at) = self.index(id) else { return };
        let answer = &mut self.answers[at];
        let room = answer.room();
        if answer.decoder.is_none() || answer.stage == Due::Choose && answer.held.is_none() {
            return;
        }
        let work = match (answer.stage, answer.held.take()) {
            (Due::Begin, held) => {
                answer.held = held;
                Work::Begin { room }
            }
            (Due::Choose, Some(logits)) => Work::Choose { logits, room },
            (_, held) => {
                answer.held = held;
                Work::Mask { room }
            }
        };
        if let Some(decoder) = answer.decoder.take() {
            self.pool.send(Task { id, decoder, work });
        }
    }

    /// A decoder is back, with what came of its work.
    pub(super) fn take_back(&mut self, done: Done) {
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
                answer.stage = Due::Choose;
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
        let has_begun = answer.stage == Due::Begin;
        let is_unplanned = answer.decoder.as_ref().is_some_and(Decoder::is_unplanned);
        if has_begun && is_unplanned {
            answer.usage.unplanned = 1;
            self.stats.unplanned += 1;
        }
        let length = answer.tokens.len();
        let finish = answer.take(run, &vocabulary);
        if answer.tokens.len() > length {
            // What was kept for the token before it is of no use any more.
            self.spare.extend(answer.held.take());
        }
        let is_constrained = answer.decoder.as_ref().is_some_and(Decoder::is_constrained);
        answer.stage = if is_constrained {
            Due::Mask
        } else {
            Due::Choose
        };
        self.stats.completion_tokens += u64::from(answer.usage.completion - before.completion);
        self.stats.forced_tokens += u64::from(answer.usage.forced - before.forced);
        self.stats.steered_tokens += u64::from(answer.usage.steered - before.steered);
        let is_whole = finish == Some(Finish::Stop);
        self.stats.steered += u64::from(answer.usage.steered > 0 && is_whole);
        if finish == Some(Finish::Length)
            && let Some(decoder) = &mut self.answers[at].decoder
        {
            self.stats.cut += u64::from(decoder.is_open());
        }
        match finish {
            Some(reason) => self.finish(id, reason),
            None => self.send_on(id),
        }
    }
}
