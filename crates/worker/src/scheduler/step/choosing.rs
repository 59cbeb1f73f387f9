//! Choosing: logits and masks come together here, and tokens come of them.

use super::{CHOOSE_WITHIN, MASK_WITHIN, Scheduler, Wanted};
use crate::job::Finish;
use crate::kernel::Kernel;
use crate::scheduler::answer::{Answer, Due, Held};
use crate::scheduler::decoder::{Choice, Decoder, Outcome, Run, Work};
use crate::scheduler::pool::{Done, Task, choose_here};
use std::time::{Duration, Instant};

impl Scheduler {
    /// Chooses the next tokens of those whose logits are there. Who has no mask yet keeps the
    /// logits until then.
    pub(super) fn choose(
        &mut self,
        kernel: &mut dyn Kernel,
        wanted: Vec<Wanted>,
        forward: Duration,
    ) {
        let start = Instant::now();
        let is_wanted = |id: u64| wanted.iter().any(|wanted| wanted.id == id);
        self.wait_for(start + MASK_WITHIN.max(forward / 2), |answer| {
            is_wanted(answer.id)
        });
        self.stats.mask_wait_seconds += start.elapsed().as_secs_f64();
        // Neither a copy nor another thread is worth while for one alone.
        let is_one = wanted.len() == 1;
        for Wanted { id, entry, draft } in wanted {
            // It may have gone on without the logits: a beginning that turned out to be forced.
            let Some(at) = self.index(id).filter(|&at| self.is_computed(at)) else {
                continue;
            };
            let is_drafting = self.is_quiet();
            let answer = &mut self.answers[at];
            let row = |at: usize| kernel.logits(entry + at);
            // Masks between the tokens of a draft are not for the thread that all wait for.
            let is_brief = draft.is_empty() || !answer.is_constrained();
            if (is_one && is_brief || self.pool.is_empty())
                && answer.stage == Due::Choose
                && let Some(decoder) = answer.decoder.take()
            {
                let room = answer.room();
                let choice = Choice {
                    draft,
                    room,
                    is_drafting,
                };
                self.take_back(choose_here(id, decoder, row, &choice));
                continue;
            }
            let mut logits = self.spare.pop().unwrap_or_default();
            logits.clear();
            for at in 0..=draft.len() {
                logits.extend_from_slice(row(at));
            }
            answer.held = Some(Held { logits, draft });
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
            .is_some_and(|slot| self.slots.len(slot) == answer.len() + answer.drafted)
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
        let is_drafting = self.is_quiet();
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
            (Due::Choose, Some(Held { logits, draft })) => Work::Choose {
                logits,
                choice: Choice {
                    draft,
                    room,
                    is_drafting,
                },
            },
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
                self.count_mask(at, time);
                self.answers[at].stage = Due::Choose;
                self.send_on(done.id);
            }
            Outcome::Advanced(run) => self.advance(at, run),
        }
    }

    fn count_mask(&mut self, at: usize, time: Duration) {
        let usage = &mut self.answers[at].usage;
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        usage.mask_micros = usage.mask_micros.saturating_add(micros);
        self.stats.mask_seconds.add(time);
    }

    fn advance(&mut self, at: usize, mut run: Run) {
        for time in std::mem::take(&mut run.masks) {
            self.count_mask(at, time);
        }
        self.stats.drafted_tokens += u64::from(run.drafted);
        self.stats.accepted_tokens += u64::from(run.accepted);
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
        answer.draft = std::mem::take(&mut run.draft);
        if run.drafted > 0 {
            answer.odds.learn(run.drafted, run.accepted);
        }
        answer.is_ahead |= std::mem::take(&mut answer.drafted) > 0;
        let halt = run.halt;
        let length = answer.tokens.len();
        let finish = answer.take(run, &vocabulary);
        if answer.tokens.len() > length {
            // What was kept for the token before it is of no use any more.
            self.spare
                .extend(answer.held.take().map(|held| held.logits));
        }
        answer.stage = if answer.is_constrained() {
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
        match (finish, halt) {
            (Some(reason), _) => self.finish(id, reason),
            (None, Some(halt)) => self.fail(id, halt.error()),
            (None, None) => self.send_on(id),
        }
    }
}
