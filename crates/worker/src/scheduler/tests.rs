//! The scheduler over a toy model: whatever happens beside it, an answer is the one that it would
//! be alone.

mod batches;
mod constrained;
mod drafts;
mod engine;
mod media;
mod prefixes;
mod toy;

use super::EngineLimits;
use super::queue::Queue;
use super::step::Scheduler;
use crate::backend::Matcher;
use crate::job::{Chosen, Event, Finish, Job, Limits, Sampling, Usage};
use crate::media::{Media, Sequence};
use crate::vocabulary::Token;
use isogloss_core::error::Error;
use std::sync::Arc;
use tokio::sync::mpsc::Receiver;
use toy::{Pattern, Toy, tokens};

const ENGINE: EngineLimits = EngineLimits {
    queue: 64,
    prefill_chunk: 16,
    draft: 8,
    // A toy's forward passes take no time that could be compared.
    weighs_drafts: false,
    mask_threads: 2,
};

/// What a job is made of, so that it can be made twice.
#[derive(Debug, Clone)]
struct Ask {
    prompt: Vec<Token>,
    /// In front of which of its tokens media stand, in order.
    media: Vec<(usize, Arc<Media>)>,
    pattern: Option<Pattern>,
    sampling: Sampling,
    limits: Limits,
}

impl Ask {
    fn new(prompt: &str) -> Self {
        Self {
            prompt: tokens(prompt),
            media: Vec::new(),
            pattern: None,
            sampling: Sampling {
                seed: Some(1),
                ..Sampling::default()
            },
            limits: Limits::default(),
        }
    }

    fn pattern(mut self, pattern: Pattern) -> Self {
        self.pattern = Some(pattern);
        self
    }

    fn most(mut self, tokens: u32) -> Self {
        self.limits.max_tokens = Some(tokens);
        self
    }

    fn greedy(mut self) -> Self {
        self.sampling.temperature = 0.0;
        self
    }

    /// An answer of exactly so many tokens.
    fn exactly(mut self, tokens: u32) -> Self {
        self.limits.ignore_end = true;
        self.most(tokens)
    }

    fn sequence(&self) -> Sequence {
        let mut sequence = Sequence::default();
        let mut media = self.media.iter().peekable();
        for (at, token) in self.prompt.iter().enumerate() {
            while let Some((_, media)) = media.next_if(|(place, _)| *place == at) {
                sequence.push_media(Arc::clone(media));
            }
            sequence.push(*token);
        }
        sequence
    }

    fn job(&self) -> (Job, Heard) {
        let (events, receiver) = crate::job::events();
        let matcher = self.pattern.clone();
        let job = Job {
            prompt: self.sequence(),
            matcher: matcher.map(|pattern| Box::new(pattern) as Box<dyn Matcher>),
            sampling: self.sampling.clone(),
            limits: self.limits.clone(),
            events,
            holds: None,
        };
        (job, Heard { receiver })
    }
}

/// The other end of a job.
struct Heard {
    receiver: Receiver<Event>,
}

/// Everything that a job heard.
#[derive(Debug, Clone, PartialEq, Default)]
struct Told {
    started: usize,
    text: String,
    chosen: Vec<Chosen>,
    end: Option<Result<(Finish, Usage), Error>>,
}

impl Told {
    /// What must not depend on anything beside the job.
    fn answer(&self) -> (&str, Option<Finish>, u32) {
        match &self.end {
            Some(Ok((finish, usage))) => (&self.text, Some(*finish), usage.completion),
            _ => (&self.text, None, 0),
        }
    }

    fn finish(&self) -> Finish {
        self.end.clone().unwrap().unwrap().0
    }

    fn usage(&self) -> Usage {
        self.end.clone().unwrap().unwrap().1
    }

    fn error(&self) -> Error {
        self.end.clone().unwrap().unwrap_err()
    }
}

impl Heard {
    fn told(&mut self) -> Told {
        let mut told = Told::default();
        while let Ok(event) = self.receiver.try_recv() {
            told.hear(event);
        }
        told
    }

    fn wait(mut self) -> Told {
        let mut told = Told::default();
        while let Some(event) = self.receiver.blocking_recv() {
            told.hear(event);
        }
        told
    }
}

impl Told {
    fn hear(&mut self, event: Event) {
        assert!(self.end.is_none(), "an event after the last one");
        match event {
            Event::Started { .. } => self.started += 1,
            Event::Text { text, chosen, .. } => {
                self.text.push_str(&text);
                self.chosen.extend(chosen);
            }
            Event::Finished { reason, usage } => self.end = Some(Ok((reason, usage))),
            Event::Failed(error) => self.end = Some(Err(error)),
        }
    }
}

/// A step machine with its queue and a toy.
struct Bench {
    queue: Arc<Queue>,
    scheduler: Scheduler,
    toy: Toy,
}

impl Bench {
    fn new(toy: Toy, limits: EngineLimits) -> Self {
        let queue = Arc::new(Queue::new(limits.queue));
        let scheduler = Scheduler::new(Arc::clone(&queue), toy::vocabulary(), limits, toy.limits);
        Self {
            queue,
            scheduler,
            toy,
        }
    }

    fn push(&self, ask: &Ask) -> Heard {
        let (job, heard) = ask.job();
        self.queue.push(job).unwrap();
        heard
    }

    fn step(&mut self) {
        self.scheduler.step(&mut self.toy);
        let stats = self.scheduler.stats();
        assert!(stats.running <= self.toy.limits.slots as usize);
        let kept = stats.kept_tokens;
        assert_eq!(
            kept,
            self.toy.kept() as u64,
            "what the kernels hold is known"
        );
    }

    fn run(&mut self) {
        for _ in 0..100_000 {
            if self.scheduler.is_idle() && self.queue.len() == 0 {
                return;
            }
            self.step();
        }
        panic!("the jobs do not come to an end");
    }

    /// One job after the other queued, then all of them answered.
    fn answer(&mut self, asks: &[Ask]) -> Vec<Told> {
        let mut heard: Vec<Heard> = asks.iter().map(|ask| self.push(ask)).collect();
        self.run();
        heard.iter_mut().map(Heard::told).collect()
    }
}

/// What a job is told that has the engine to itself.
fn alone(ask: &Ask) -> Told {
    let mut bench = Bench::new(Toy::new(toy::LIMITS), ENGINE);
    bench.answer(std::slice::from_ref(ask)).remove(0)
}
