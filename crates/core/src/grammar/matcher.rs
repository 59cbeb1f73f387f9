//! Matching: a compiled language comes in; bytes are pushed; the first byte that no text of the
//! language has at that place goes out.

use super::engine::{Engine, Run};
use super::{GrammarFault, MAX_CHOICES};
use std::sync::Arc;

/// A compiled language. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Grammar {
    language: Language,
}

#[derive(Debug, Clone)]
enum Language {
    /// Exactly these, sorted, each once.
    Choices(Arc<[Box<str>]>),
    Engine(Arc<Engine>),
}

/// One text on its way through a language.
#[derive(Debug)]
pub struct Matcher {
    run: State,
    gave_up: bool,
}

#[derive(Debug)]
enum State {
    /// The choices that begin with the bytes so far are those of this range.
    Choices {
        all: Arc<[Box<str>]>,
        first: usize,
        end: usize,
        length: usize,
    },
    Engine(Box<Run>),
    /// No text of the language begins like this.
    Dead,
}

impl Grammar {
    pub(super) fn of_choices(choices: &[String]) -> Result<Self, GrammarFault> {
        if choices.is_empty() {
            return Err(GrammarFault::invalid("the list of choices is empty"));
        }
        if choices.len() > MAX_CHOICES {
            let message = format!("there are more than {MAX_CHOICES} choices");
            return Err(GrammarFault::too_complex(message));
        }
        let mut all: Vec<Box<str>> = choices
            .iter()
            .map(|choice| choice.as_str().into())
            .collect();
        all.sort_unstable();
        all.dedup();
        Ok(Self {
            language: Language::Choices(all.into()),
        })
    }

    pub(super) fn of_engine(engine: Engine) -> Self {
        Self {
            language: Language::Engine(Arc::new(engine)),
        }
    }

    /// A matcher at the start of a text.
    #[must_use]
    pub fn matcher(&self) -> Matcher {
        let run = match &self.language {
            Language::Choices(all) => {
                let (all, end) = (Arc::clone(all), all.len());
                State::Choices {
                    all,
                    first: 0,
                    end,
                    length: 0,
                }
            }
            Language::Engine(engine) => State::Engine(Box::new(engine.start())),
        };
        Matcher {
            run,
            gave_up: false,
        }
    }

    /// Checks a whole text.
    ///
    /// # Errors
    /// The offset of the first byte that cannot be, or the text's length where it ends too early.
    pub fn check(&self, text: &str) -> Result<(), usize> {
        let mut matcher = self.matcher();
        matcher.push(text.as_bytes())?;
        if matcher.is_accepting() {
            Ok(())
        } else {
            Err(text.len())
        }
    }

    /// Bytes of memory that this takes, as estimated.
    #[must_use]
    pub fn estimated_bytes(&self) -> usize {
        match &self.language {
            Language::Choices(all) => all.iter().map(|choice| choice.len() + 16).sum(),
            Language::Engine(engine) => engine.estimated_bytes(),
        }
    }
}

impl Matcher {
    /// Takes the next bytes of the text, wherever they were cut.
    ///
    /// # Errors
    /// The offset in `bytes` of the first one that no text of the language has at that place.
    /// From then on everything is refused.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), usize> {
        let result = match &mut self.run {
            State::Dead if bytes.is_empty() => Ok(()),
            State::Dead => Err(0),
            State::Choices {
                all,
                first,
                end,
                length,
            } => narrow(all, first, end, length, bytes),
            State::Engine(run) => run.push(bytes),
        };
        if result.is_err() {
            if let State::Engine(run) = &self.run {
                self.gave_up = run.gave_up();
            }
            self.run = State::Dead;
        }
        result
    }

    /// Whether the bytes so far are a whole text of the language.
    #[must_use]
    pub fn is_accepting(&mut self) -> bool {
        match &mut self.run {
            State::Dead => false,
            // Sorted, the shortest of those that begin alike comes first.
            State::Choices {
                all,
                first,
                end,
                length,
            } => first < end && all[*first].len() == *length,
            State::Engine(run) => run.is_accepting(),
        }
    }

    /// Whether the last refusal was for a limit of the matcher and says nothing of the text.
    #[must_use]
    pub const fn gave_up(&self) -> bool {
        self.gave_up
    }
}

fn narrow(
    all: &[Box<str>],
    first: &mut usize,
    end: &mut usize,
    length: &mut usize,
    bytes: &[u8],
) -> Result<(), usize> {
    for (offset, byte) in bytes.iter().enumerate() {
        let at = *length;
        let range = &all[*first..*end];
        let next = |choice: &str| choice.as_bytes().get(at).copied();
        let below = range.partition_point(|choice| next(choice) < Some(*byte));
        let through = range.partition_point(|choice| next(choice) <= Some(*byte));
        if below == through {
            return Err(offset);
        }
        (*first, *end) = (*first + below, *first + through);
        *length += 1;
    }
    Ok(())
}
