//! Seats: who gets a slot, who has room in the KV cache, and who goes.

use super::{Scheduler, ids};
use crate::ending::Ending;
use crate::job::{Event, Finish, Job, Usage};
use crate::kernel::{Kernel, Slot};
use crate::sampler::Sampler;
use crate::scheduler::answer::{Answer, Due};
use crate::scheduler::costs::Odds;
use crate::scheduler::decoder::{Decoder, Halt};
use crate::scheduler::drafter::Drafter;
use crate::scheduler::lookup::Lookup;
use crate::text::TextStream;
use isogloss_core::error::Error;

impl Scheduler {
    pub(super) fn drop_unwanted(&mut self) {
        let unwanted = self.queue.take_unwanted();
        self.stats.cancelled += unwanted.len() as u64;
        let closed = |answer: &Answer| answer.events.is_closed();
        let gone: Vec<u64> = ids(self.answers.iter().filter(|answer| closed(answer)));
        for id in gone {
            self.remove(id);
            self.stats.cancelled += 1;
        }
    }

    pub(super) fn give_up_late_matchers(&mut self) {
        for id in self.pool.give_up(self.patience) {
            self.fail(id, Halt::Late.error());
        }
    }

    /// Gives slots to answers that lost theirs.
    pub(super) fn resume(&mut self, kernel: &mut dyn Kernel) {
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
    pub(super) fn admit(&mut self, kernel: &mut dyn Kernel) {
        while self.slots.has_free() && self.answers.iter().all(|answer| answer.slot.is_some()) {
            let admits = |job: &Job| {
                let (_, need) = self.needs(job);
                let computing = self
                    .seated()
                    .filter(|(slot, answer)| self.slots.len(*slot) < answer.len())
                    .map(|(slot, answer)| (slot, &answer.tokens));
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
        let prompt = job.prompt.len();
        let left = self.window.saturating_sub(prompt);
        let most = match job.limits.max_tokens {
            Some(most) => most,
            None if job.limits.leaves_a_quarter => left - left / 4,
            None => left,
        };
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
        let prompt = job.prompt.len();
        let id = self.next;
        self.next += 1;
        let seed = job.sampling.seed;
        // Without randomness each answer still has another seed.
        let seed = seed.unwrap_or_else(|| getrandom::u64().unwrap_or(id));
        let free = self.free.get(job.limits.ignore_end);
        let mut sampler = Sampler::new(&job.sampling, job.prompt.tokens(), seed);
        if job.matcher.is_some() {
            sampler = sampler.breaking_loops(&self.closers);
            if job.limits.max_tokens.is_none() {
                sampler = sampler.pushing(most.saturating_sub(prompt));
            }
        }
        let alternatives = job.sampling.logprobs.unwrap_or(0);
        // Who asks how likely each token was asks for one after the other. With a seed the same request has the same
        // answer: drafts as long as is worth their time round now so, now so.
        let is_repeated = job.sampling.seed.is_some() && self.weighs_drafts;
        let drafter = (self.draft > 0 && job.sampling.logprobs.is_none() && !is_repeated)
            .then(|| Drafter::new(Lookup::new(job.prompt.tokens(), most, self.draft)));
        let vocabulary = self.vocabulary.clone();
        let is_constrained = job.matcher.is_some();
        let mut decoder = Decoder::new(sampler, job.matcher, free, vocabulary, alternatives);
        if is_constrained {
            decoder = decoder.ending_with(Ending::new(self.leads.clone()));
            if job.limits.spares_tags && !job.limits.stop.is_empty() {
                decoder = decoder.telling_tags();
            }
        } else if job.limits.is_said {
            decoder = decoder.beginning_with(self.free.endless());
        }
        if let Some(drafter) = drafter {
            decoder = decoder.drafting(drafter);
        }
        let answer = Answer {
            id,
            events: job.events,
            _holds: job.holds,
            tokens: job.prompt,
            prompt,
            most,
            slot: Some(slot),
            reserved,
            stage: if decoder.is_constrained() {
                Due::Begin
            } else {
                Due::Choose
            },
            decoder: Some(decoder),
            held: None,
            draft: Vec::new(),
            drafted: 0,
            odds: Odds::default(),
            is_ahead: false,
            text: TextStream::new(&job.limits.stop),
            is_within: false,
            untold: 0,
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

    pub(super) fn finish(&mut self, id: u64, reason: Finish) {
        if let Some(answer) = self.remove(id) {
            self.stats.finished += 1;
            answer.finish(reason);
        }
    }

    pub(super) fn fail(&mut self, id: u64, error: Error) {
        if let Some(answer) = self.remove(id) {
            self.stats.failed += 1;
            answer.fail(error);
        }
    }

    /// Makes room for the tokens that answers have now. Where there is none left, the youngest
    /// lose their slots until there is: what they have said stands, and what the model computed
    /// for it is computed again later.
    pub(super) fn make_room(&mut self, kernel: &mut dyn Kernel) {
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
    pub(super) fn pause_youngest(&mut self) -> Option<(Slot, u64)> {
        let answer = self.answers.iter_mut().rfind(|it| it.slot.is_some())?;
        let slot = answer.slot.take()?;
        answer.reserved = 0;
        (answer.drafted, answer.is_ahead) = (0, false);
        let id = answer.id;
        self.slots.release(slot);
        self.stats.preempted += 1;
        Some((slot, id))
    }
}
