//! Models without a mind, behind the scheduler, the sampler and the grammars: a demand comes in; what is made of it by a
//! model that likes every token alike, or none that ends anything, goes out.

use isogloss_compile::{CompilerLimits, Unobserved};
use isogloss_core::error::Error;
use isogloss_core::ir::Constraint;
use isogloss_worker::backend::llguidance::Llguidance;
use isogloss_worker::backend::{Demand, Think, Whitespace};
use isogloss_worker::grammars::Grammars;
use isogloss_worker::job::{self, Event, Finish, Job, Limits, Sampling, Usage};
use isogloss_worker::kernel::{Entry, Kernel, KernelError, KernelLimits, Setup, Slot};
use isogloss_worker::model::{LoadOptions, load};
use isogloss_worker::scheduler::{Engine, EngineLimits};
use isogloss_worker::vocabulary::Vocabulary;
use isogloss_worker::{builtin, media};
use std::sync::Arc;
use std::time::Duration;

/// Long enough for a debug build on a busy machine; nothing is timed by it.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Distributions that a model has.
const MOODS: usize = 251;

/// A model without a mind: of all that it read it knows the last token and its place.
#[derive(Debug, Clone, Copy)]
pub struct Mindless {
    /// What the logits of tokens that may end something are lowered by.
    pub reluctance: f32,
    /// It knows no place, so that it repeats itself where it takes the likeliest.
    pub is_repeating: bool,
    /// Tokens of a conversation.
    pub context: u32,
}

impl Default for Mindless {
    fn default() -> Self {
        Self {
            reluctance: 0.0,
            is_repeating: false,
            context: 1 << 13,
        }
    }
}

struct Model {
    limits: KernelLimits,
    moods: Vec<Vec<f32>>,
    is_repeating: bool,
    logits: Vec<usize>,
}

impl Model {
    fn new(mindless: Mindless, vocabulary: &Vocabulary) -> Self {
        let mut bits = 7_u64;
        let mut next = || {
            bits = bits
                .wrapping_mul(0x5851_f42d_4c95_7f2d)
                .wrapping_add(0x1405_7b7e_f767_814f);
            (bits >> 40) as f32 / (1_u32 << 22) as f32 - 2.0
        };
        let ends = |token: u32| {
            let text = vocabulary.text(token);
            vocabulary.is_end(token) || text.iter().any(|byte| b"]}\")>;.".contains(byte))
        };
        let lowered: Vec<f32> = (0..vocabulary.len() as u32)
            .map(|token| {
                if ends(token) {
                    mindless.reluctance
                } else {
                    0.0
                }
            })
            .collect();
        let moods = (0..MOODS).map(|_| lowered.iter().map(|lowered| next() - lowered).collect());
        Self {
            limits: KernelLimits {
                cells: 1 << 16,
                context: mindless.context,
                batch: 256,
                slots: 8,
                truncates: true,
            },
            moods: moods.collect(),
            is_repeating: mindless.is_repeating,
            logits: Vec::new(),
        }
    }
}

impl Setup for Model {
    fn run(mut self: Box<Self>, run: &mut dyn FnMut(&mut dyn Kernel)) -> Result<(), KernelError> {
        run(&mut *self);
        Ok(())
    }
}

impl Kernel for Model {
    fn limits(&self) -> KernelLimits {
        self.limits
    }

    fn forward(&mut self, entries: &[Entry]) -> Result<(), KernelError> {
        let place = |entry: &Entry| match self.is_repeating {
            true => 0,
            false => entry.position as usize,
        };
        let mood = |entry: &Entry| (entry.token as usize * 31 + place(entry)) % MOODS;
        self.logits = entries.iter().map(mood).collect();
        Ok(())
    }

    fn media(&mut self, _: Slot, _: u32, _: &media::Media) -> Result<(), KernelError> {
        Ok(())
    }

    fn logits(&self, index: usize) -> &[f32] {
        &self.moods[self.logits[index]]
    }

    fn truncate(&mut self, _slot: Slot, _from: u32) -> bool {
        true
    }

    fn share(&mut self, _from: Slot, _to: Slot, _length: u32) -> bool {
        true
    }
}

pub struct Rig {
    pub engine: Engine,
    grammars: Grammars,
    pub vocabulary: Vocabulary,
}

/// How an answer came out.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub reason: Finish,
    pub usage: Usage,
}

impl Rig {
    /// With the vocabulary of the model that the program carries.
    pub fn new(mindless: Mindless) -> Self {
        let builtin = builtin::open().unwrap();
        let mut options = LoadOptions::of(builtin.file().path);
        options.threads = 1;
        options.slots = 1;
        options.context = 256;
        let vocabulary = load(&options, Box::new(|_| true)).unwrap().vocabulary;
        let backend = Llguidance::new(&vocabulary).unwrap();
        let limits = CompilerLimits {
            timeout: Duration::from_secs(30),
            queue_timeout: PATIENCE,
            queue: 4_096,
            ..CompilerLimits::default()
        };
        let setup = Box::new(Model::new(mindless, &vocabulary));
        Self {
            engine: Engine::start(setup, vocabulary.clone(), EngineLimits::default()).unwrap(),
            grammars: Grammars::new(Arc::new(backend), limits, Arc::new(Unobserved)),
            vocabulary,
        }
    }

    pub async fn ask(
        &self,
        demand: &Demand,
        seed: u64,
        most: u32,
        thoughts: Option<u32>,
    ) -> Result<Answer, Error> {
        let sampling = Sampling {
            seed: Some(seed),
            ..Sampling::default()
        };
        let limits = Limits {
            max_tokens: Some(most),
            ..Limits::default()
        };
        self.answer(demand, sampling, limits, thoughts).await
    }

    /// Whether a text is whole under a demand, as the grammar engine sees it.
    pub async fn takes(&self, demand: &Demand, text: &str) -> bool {
        let mut matcher = self.grammars.compiled(demand).await.unwrap().0.matcher();
        let tokens = self.vocabulary.encode(text, false);
        let written: Vec<u8> = tokens
            .iter()
            .flat_map(|&token| self.vocabulary.text(token).to_vec())
            .collect();
        assert_eq!(written, text.as_bytes());
        tokens.iter().all(|&token| matcher.consume(token).is_ok()) && matcher.is_accepting()
    }

    pub async fn answer(
        &self,
        demand: &Demand,
        sampling: Sampling,
        limits: Limits,
        thoughts: Option<u32>,
    ) -> Result<Answer, Error> {
        let mut matcher = self.grammars.compiled(demand).await?.0.matcher();
        if let Some(tokens) = thoughts {
            matcher.bound_thoughts(tokens);
        }
        let (events, mut receiver) = job::events();
        self.engine.submit(Job {
            prompt: self.vocabulary.encode("Answer:", true).into(),
            matcher: Some(matcher),
            sampling,
            limits,
            events,
            holds: None,
        })?;
        let mut text = String::new();
        loop {
            let event = tokio::time::timeout(PATIENCE, receiver.recv()).await;
            match event
                .expect("no event comes")
                .expect("the events end without the last")
            {
                Event::Started { .. } => {}
                Event::Text { text: piece, .. } => text += &piece,
                Event::Finished { reason, usage } => {
                    return Ok(Answer {
                        text,
                        reason,
                        usage,
                    });
                }
                Event::Failed(error) => return Err(error),
            }
        }
    }
}

pub fn demand(constraint: Constraint) -> Demand {
    Demand {
        constraint,
        think: Think::None,
        whitespace: Whitespace::Flexible,
    }
}

/// Whether there is no room for any answer: what the shortest needs.
pub fn needed(error: &Error) -> Option<u32> {
    let rest = error
        .message
        .strip_prefix("the shortest answer that was found under the constraint takes ")?;
    assert_eq!(error.param.as_deref(), Some("max_tokens"));
    rest.split(' ').next()?.parse().ok()
}
