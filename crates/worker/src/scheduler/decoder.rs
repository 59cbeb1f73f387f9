//! One answer's choices: logits come in; the next tokens go out, the model's own and those that
//! the constraint forces after it.
//!
//! A decoder is owned by one thread at a time and travels between them with the work that it is
//! asked for.

use super::drafter::Drafter;
use crate::backend::{Matcher, Stuck, TokenMask};
use crate::ending::{Ending, TooLong};
use crate::job::{Chosen, TokenLogprob};
use crate::sampler::{Place, Sampler};
use crate::vocabulary::{Token, TokenKind, Vocabulary};
use isogloss_core::error::{Error, Kind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many tokens that lead past the limit are passed over for the next one that the model likes.
const MAX_PASSED: usize = 4;

/// What chooses one answer's tokens.
pub(super) struct Decoder {
    sampler: Sampler,
    matcher: Option<Box<dyn Matcher>>,
    /// Where there is a matcher: how the answer ends in time.
    ending: Option<Ending>,
    /// What an answer without a matcher may hold, where that is not everything.
    free: Option<Arc<TokenMask>>,
    /// The same for its first token, where that may be fewer.
    first: Option<Arc<TokenMask>>,
    mask: Option<TokenMask>,
    /// Where drafts are taken.
    drafter: Option<Drafter>,
    vocabulary: Vocabulary,
    /// How many alternatives are told beside each token, where they are told at all.
    alternatives: u32,
    /// Whether it is told which tokens stand within something that the constraint wants whole.
    tells_tags: bool,
}

/// What a decoder is asked for.
#[derive(Debug)]
pub(super) enum Work {
    /// The tokens that the answer must begin with. `room`: as many as it may have.
    Begin { room: u32 },
    /// What may come next.
    Mask { room: u32 },
    /// The next token, and those that are forced after it; the same after each token of a draft that
    /// was right. `logits`: those behind the last token, and behind each of the draft.
    Choose { logits: Vec<f32>, choice: Choice },
}

/// What is known of a choice beside its logits.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Tokens of which it was computed what comes behind them, should they be chosen.
    pub(super) draft: Vec<Token>,
    /// Tokens that the answer may still have, at least one.
    pub(super) room: u32,
    /// Whether another draft is of use.
    pub(super) is_drafting: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Outcome {
    Masked(Duration),
    Advanced(Run),
    Halted(Halt),
}

/// Tokens that the answer goes on with.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Run {
    pub(super) steps: Vec<Decoded>,
    /// Nothing may follow.
    pub(super) is_over: bool,
    /// Why the answer cannot go on behind these.
    pub(super) halt: Option<Halt>,
    /// How long the masks between them took.
    pub(super) masks: Vec<Duration>,
    /// Tokens of the draft that it was chosen with, and those of them that were right.
    pub(super) drafted: u32,
    pub(super) accepted: u32,
    /// What may come next.
    pub(super) draft: Vec<Token>,
}

#[derive(Debug, PartialEq)]
pub(super) struct Decoded {
    pub(super) token: Token,
    pub(super) is_forced: bool,
    /// The model liked another one, behind which the answer would not have ended in time or was far from its end.
    pub(super) is_steered: bool,
    /// The answer cannot end behind it, since something is begun that the constraint wants whole. Where it is told.
    pub(super) is_within: bool,
    /// Where it is told.
    pub(super) chosen: Option<Chosen>,
}

/// Why an answer cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// The constraint did not take a token that it had allowed.
    Refused,
    /// A limit of the grammar engine.
    Budget,
    /// A defect inside of the grammar engine, caught.
    Panicked,
    /// The constraint is not satisfied, and no token of the vocabulary leads on.
    DeadEnd,
    /// The model computed nothing to choose by.
    NoLogits,
    /// The matcher did not come back in time.
    Late,
    /// No answer is as short as it must be.
    TooLong { needs: u32, room: u32 },
}

/// What answers without a constraint may hold.
#[derive(Debug)]
pub(super) struct FreeMasks {
    /// `None`: every token.
    normal: Option<Arc<TokenMask>>,
    endless: Arc<TokenMask>,
}

// === impl Decoder ===

impl Decoder {
    pub(super) fn new(
        sampler: Sampler,
        matcher: Option<Box<dyn Matcher>>,
        free: Option<Arc<TokenMask>>,
        vocabulary: Vocabulary,
        alternatives: u32,
    ) -> Self {
        Self {
            sampler,
            matcher,
            ending: None,
            free,
            first: None,
            mask: None,
            drafter: None,
            vocabulary,
            alternatives,
            tells_tags: false,
        }
    }

    /// The same decoder, which says what may come next.
    pub(super) fn drafting(mut self, drafter: Drafter) -> Self {
        self.drafter = Some(drafter);
        self
    }

    /// The same decoder, of whose answers without a matcher the first token is one of these.
    pub(super) fn beginning_with(mut self, first: Arc<TokenMask>) -> Self {
        self.first = Some(first);
        self
    }

    /// The same decoder, which tells what stands within tags.
    pub(super) fn telling_tags(mut self) -> Self {
        self.tells_tags = true;
        self
    }

    /// The same decoder, whose constrained answer is brought to its end in time.
    pub(super) fn ending_with(mut self, ending: Ending) -> Self {
        self.ending = Some(ending);
        self
    }

    pub(super) fn is_constrained(&self) -> bool {
        self.matcher.is_some()
    }

    /// Whether the answer began though it was not known that it can be whole in time.
    pub(super) fn is_unplanned(&self) -> bool {
        self.ending.as_ref().is_some_and(Ending::is_unplanned)
    }

    /// Whether the constraint asks for more than is written.
    pub(super) fn is_open(&mut self) -> bool {
        let matcher = self.matcher.as_mut();
        matcher.is_some_and(|matcher| !matcher.is_accepting())
    }

    /// Whether something is begun that the constraint wants whole, where that is told. Thoughts are not of it.
    fn is_within(&mut self) -> bool {
        let tells_tags = self.tells_tags;
        let matcher = self.matcher.as_mut();
        let matcher = matcher.filter(|matcher| tells_tags && matcher.is_bound());
        matcher.is_some_and(|matcher| !matcher.is_accepting())
    }

    pub(super) fn run(&mut self, work: &Work) -> Outcome {
        let outcome = match work {
            Work::Begin { room } => self.begin(*room).map(Outcome::Advanced),
            Work::Mask { room } => self.compute_mask(*room),
            Work::Choose { logits, choice } => {
                let width = logits.len() / (choice.draft.len() + 1);
                let row = |at: usize| logits.get(at * width..(at + 1) * width).unwrap_or(&[]);
                self.follow(row, choice).map(Outcome::Advanced)
            }
        };
        outcome.unwrap_or_else(Outcome::Halted)
    }

    fn begin(&mut self, room: u32) -> Result<Run, Halt> {
        if let (Some(matcher), Some(ending)) = (&self.matcher, &mut self.ending) {
            ending
                .begin(&**matcher, room)
                .map_err(|TooLong { needs }| {
                    // What it needs is more than this.
                    Halt::TooLong { needs, room }
                })?;
        }
        self.advance(Run::default(), room)
    }

    fn compute_mask(&mut self, room: u32) -> Result<Outcome, Halt> {
        let Some(matcher) = &mut self.matcher else {
            return Ok(Outcome::Masked(Duration::ZERO));
        };
        let start = Instant::now();
        let mask = matcher.mask()?;
        let time = start.elapsed();
        if mask.is_zero() {
            // Whole, but the vocabulary's end tokens are not the grammar engine's.
            let is_over = matcher.is_accepting();
            return if is_over {
                Ok(Outcome::Advanced(Run {
                    is_over,
                    ..Run::default()
                }))
            } else {
                Err(Halt::DeadEnd)
            };
        }
        let is_free = !matcher.is_bound() || is_free(&mask, &self.vocabulary);
        self.sampler.set_place(Place {
            is_free,
            lead: None,
        });
        if self.sampler.pushes() {
            let way = matcher.way(None);
            let lead = way.and_then(|way| way.first().copied());
            self.sampler.set_place(Place { is_free, lead });
        }
        self.mask = Some(mask);
        if let Some(ending) = &mut self.ending {
            // A way to the end is looked for while the model computes.
            ending.is_near(&mut **matcher, room);
        }
        Ok(Outcome::Masked(time))
    }

    /// Chooses tokens as long as they are those of the draft, and one more. `row`: the logits behind
    /// the last token (0), and behind each of the draft.
    ///
    /// Nothing but [`Self::compute_mask`] and [`Self::choose`] is called, as often and in the order
    /// as without a draft: the answer is the same.
    pub(super) fn follow<'l>(
        &mut self,
        row: impl Fn(usize) -> &'l [f32],
        choice: &Choice,
    ) -> Result<Run, Halt> {
        let Choice { draft, room, .. } = choice;
        let agree = |run: &Run| {
            let steps = run.steps.iter().zip(draft);
            steps
                .take_while(|(step, token)| step.token == **token)
                .count()
        };
        let mut run = self.choose(row(0), *room)?;
        while !run.is_over && run.steps.len() < *room as usize {
            let right = agree(&run);
            if right < run.steps.len() || right == 0 {
                break;
            }
            let left = room - u32::try_from(right).unwrap_or(*room);
            match self.choose_next(row(right), left, &mut run) {
                Ok(()) => {}
                Err(halt) => {
                    // What was chosen before stands, as it would without a draft.
                    run.halt = Some(halt);
                    break;
                }
            }
        }
        let right = agree(&run);
        run.drafted = u32::try_from(draft.len()).unwrap_or(u32::MAX);
        run.accepted = u32::try_from(right).unwrap_or(u32::MAX);
        if let Some(drafter) = &mut self.drafter {
            if !draft.is_empty() {
                drafter.learn(draft.len(), right);
            }
            // With the last token nothing comes behind a draft.
            let left = (*room as usize).saturating_sub(run.steps.len() + 1);
            if choice.is_drafting && left > 0 && !run.is_over && run.halt.is_none() {
                let (matcher, free) = (self.matcher.as_deref(), self.free.as_deref());
                run.draft = drafter.propose(matcher, free, &self.vocabulary, left);
            }
        }
        Ok(run)
    }

    /// Goes on with a run behind which nothing is computed yet but these logits.
    fn choose_next(&mut self, logits: &[f32], room: u32, run: &mut Run) -> Result<(), Halt> {
        if self.matcher.is_some() {
            match self.compute_mask(room)? {
                Outcome::Masked(time) => run.masks.push(time),
                Outcome::Advanced(whole) => {
                    run.is_over = whole.is_over;
                    return Ok(());
                }
                Outcome::Halted(halt) => return Err(halt),
            }
        }
        let next = self.choose(logits, room)?;
        run.steps.extend(next.steps);
        run.is_over = next.is_over;
        Ok(())
    }

    /// Chooses a token, and takes what is forced after it. `room`: tokens that the answer may
    /// still have, at least one.
    fn choose(&mut self, logits: &[f32], room: u32) -> Result<Run, Halt> {
        let mut decoded = match self.steer(logits, room)? {
            Some(decoded) => decoded,
            None => self.sample(logits)?,
        };
        let token = decoded.token;
        let was_open = self.ending.as_ref().is_some_and(Ending::is_open);
        let was_thinking = self.matcher.as_ref().is_some_and(|it| !it.is_bound());
        let mut run = Run::default();
        if self.vocabulary.is_end(token) {
            run.steps.push(decoded);
            run.is_over = true;
            return Ok(run);
        }
        self.consume(token)?;
        decoded.is_within = self.is_within();
        run.steps.push(decoded);
        let mut run = self.advance(run, room.saturating_sub(1))?;
        // Where anything is an answer nothing is one, too; but thoughts that ended because there was no room left have none.
        let has_answer = !was_thinking || run.steps.len() > 1;
        if was_open && has_answer && run.steps.len() >= room as usize && !run.is_over {
            // Whole with its very last token, though it might go on. What was whole before is cut.
            run.is_over = self.matcher.as_mut().is_some_and(|it| it.is_accepting());
        }
        Ok(run)
    }

    fn sample(&mut self, logits: &[f32]) -> Result<Decoded, Halt> {
        let mask = self.mask.take();
        let first = self.first.take();
        let allowed = mask.as_ref().or(first.as_deref()).or(self.free.as_deref());
        let chosen = self.sampler.sample(logits, allowed).ok_or(Halt::NoLogits)?;
        Ok(Decoded {
            token: chosen.token.token,
            is_forced: false,
            is_steered: self.sampler.has_pushed(),
            is_within: false,
            chosen: self.sampler.wants_logprobs().then_some(chosen),
        })
    }

    /// The next token of an answer that is near its limit: one that the model likes and behind which it ends in time,
    /// else the next one of the way that is known to. `None`: it is not near, or no way is known.
    fn steer(&mut self, logits: &[f32], room: u32) -> Result<Option<Decoded>, Halt> {
        let (Some(matcher), Some(ending)) = (&mut self.matcher, &mut self.ending) else {
            return Ok(None);
        };
        if !ending.is_near(&mut **matcher, room) {
            return Ok(None);
        }
        let Some(mask) = &self.mask else {
            return Ok(None);
        };
        let Some(planned) = ending.plan().map(|plan| plan.first().copied()) else {
            return Ok(None);
        };
        let end = |token: &Token| mask.is_allowed(*token);
        let planned = planned.or_else(|| self.vocabulary.ends().iter().copied().find(end));
        // Of a text that is forced the mask has the usual tokens alone.
        let is_taken = |token: &Token| mask.is_allowed(*token) || ending.takes(*token);
        let Some(planned) = planned.filter(is_taken) else {
            return Ok(None);
        };
        let mut left = mask.clone();
        for passed in 0..MAX_PASSED {
            let Some(chosen) = self.sampler.propose(logits, Some(&left)) else {
                break;
            };
            let token = chosen.token.token;
            if self.vocabulary.is_end(token) || ending.admits(token, room - 1) {
                self.mask = None;
                self.sampler.force(token);
                return Ok(Some(Decoded {
                    token,
                    is_forced: false,
                    is_steered: passed > 0 || self.sampler.has_pushed(),
                    is_within: false,
                    chosen: self.sampler.wants_logprobs().then_some(chosen),
                }));
            }
            left.disallow_token(token);
            if ending.is_tight(room) {
                break;
            }
        }
        self.mask = None;
        self.sampler.force(planned);
        Ok(Some(Decoded {
            token: planned,
            is_forced: false,
            is_steered: true,
            is_within: false,
            chosen: certain(planned, &self.sampler, self.alternatives),
        }))
    }

    fn consume(&mut self, token: Token) -> Result<(), Halt> {
        if let Some(matcher) = &mut self.matcher {
            matcher.consume(token)?;
        }
        if let Some(ending) = &mut self.ending {
            ending.push(token);
        }
        if let Some(drafter) = &mut self.drafter {
            drafter.push(token);
        }
        Ok(())
    }

    /// Takes what the constraint forces. Each round takes a token, so `room` bounds them.
    fn advance(&mut self, mut run: Run, mut room: u32) -> Result<Run, Halt> {
        while let Some(matcher) = self.matcher.as_mut().filter(|it| !it.is_finished()) {
            let forced = match room {
                0 => Vec::new(),
                _ => matcher.forced(),
            };
            let forced = match &self.ending {
                Some(ending) => ending.forced(forced, room),
                None => forced,
            };
            if forced.is_empty() {
                return Ok(run);
            }
            for token in forced.into_iter().take(room as usize) {
                self.consume(token)?;
                self.sampler.force(token);
                run.steps.push(Decoded {
                    token,
                    is_forced: true,
                    is_steered: false,
                    is_within: self.is_within(),
                    chosen: certain(token, &self.sampler, self.alternatives),
                });
                room -= 1;
            }
        }
        run.is_over = self.matcher.is_some();
        Ok(run)
    }
}

/// Whether an answer may end here and may go on with nearly anything, as text without a constraint.
fn is_free(mask: &TokenMask, vocabulary: &Vocabulary) -> bool {
    let mut ends = vocabulary.ends().iter();
    ends.any(|end| mask.is_allowed(*end)) && mask.num_set() >= mask.len() - mask.len() / 4
}

/// How a token is told that had no alternative.
fn certain(token: Token, sampler: &Sampler, alternatives: u32) -> Option<Chosen> {
    let certain = TokenLogprob {
        token,
        logprob: 0.0,
    };
    sampler.wants_logprobs().then(|| Chosen {
        top: (alternatives > 0)
            .then(|| certain.clone())
            .into_iter()
            .collect(),
        token: certain,
    })
}

// === impl Halt ===

impl From<Stuck> for Halt {
    fn from(stuck: Stuck) -> Self {
        match stuck {
            Stuck::Refused => Self::Refused,
            Stuck::Budget => Self::Budget,
        }
    }
}

impl Halt {
    /// What the client hears.
    pub(super) fn error(self) -> Error {
        let (kind, message) = match self {
            Self::Refused => (
                Kind::Internal,
                "the constraint's matcher refused a token that it had allowed",
            ),
            Self::Budget => (
                Kind::SchemaTooComplex,
                "the constraint needs more states than the worker computes for one token: simplify it",
            ),
            Self::Late => (
                Kind::SchemaTooComplex,
                "the constraint takes too long to follow, token by token: simplify it",
            ),
            Self::Panicked => (
                Kind::Internal,
                "the constraint's matcher failed in the middle of the answer",
            ),
            Self::DeadEnd => (
                Kind::UnsupportedConstraint,
                "no token of this model leads on to an answer that the constraint allows: \
                 check it for characters or combinations that exclude each other",
            ),
            Self::NoLogits => (
                Kind::UpstreamFailed,
                "the model computed no usable probability for any token",
            ),
            Self::TooLong { needs, room } => {
                let message = format!(
                    "the shortest answer that was found under the constraint takes {needs} tokens, and there is room for \
                     {room}: raise `max_tokens` or, where the context is full, shorten the prompt"
                );
                return Error::new(Kind::InvalidRequest, message).at("max_tokens");
            }
        };
        Error::new(kind, message)
    }
}

// === impl FreeMasks ===

impl FreeMasks {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut used = TokenMask::alloc(vocabulary.len());
        let mut has_unused = false;
        for (token, piece) in (0..).zip(vocabulary.pieces()) {
            if piece.kind == TokenKind::Unused {
                has_unused = true;
            } else {
                used.allow_token(token);
            }
        }
        let mut endless = used.clone();
        for &end in vocabulary.ends() {
            if (end as usize) < endless.len() {
                endless.disallow_token(end);
            }
        }
        Self {
            normal: has_unused.then(|| Arc::new(used)),
            endless: Arc::new(endless),
        }
    }

    /// Every token but the ends.
    pub(super) fn endless(&self) -> Arc<TokenMask> {
        Arc::clone(&self.endless)
    }

    pub(super) fn get(&self, ignores_end: bool) -> Option<Arc<TokenMask>> {
        if ignores_end {
            Some(self.endless())
        } else {
            self.normal.clone()
        }
    }
}
