//! One answer on its way: tokens come in; masks, forced tokens and the end go out.
//!
//! The think block before an answer is followed here, by bytes; the answer itself by llguidance.

use super::Shared;
use super::json::Json;
use super::think::{self, MAX_GAP, ThinkStep};
use super::ways::{Chart, Ways};
use crate::backend::{Matcher, Stuck, Think, TokenMask, taken};
use crate::vocabulary::Token;
use ::llguidance::CancellationHandle;
use std::sync::Arc;
use toktrie::TokTrie;

/// Where an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// At its beginning: so much of `<think>` is written, and it may be text of the answer too.
    Start { written: usize },
    /// So much of `<think>` is written, and the constraint has no such text.
    Opening { written: usize },
    /// In the think block, with so much of `</think>` at its end.
    Inside { written: usize },
    /// After it, with so many bytes of space left.
    Gap { left: usize },
    /// Under the constraint.
    Answer,
    /// An end token came.
    Ended,
    /// Never to go on.
    Stuck,
}

/// One answer.
pub(super) struct Answer {
    shared: Arc<Shared>,
    ways: Arc<Ways>,
    inner: ::llguidance::Matcher,
    /// What it took, in bytes, and what of that is read for ways to the end.
    written: Vec<u8>,
    chart: Chart,
    /// Stops it.
    handle: CancellationHandle,
    phase: Phase,
    /// Where the constraint has any.
    json: Option<Json>,
    /// The mask of this place, where it is narrower than the grammar.
    narrowed: Option<TokenMask>,
    /// Whether space may stand after a think block.
    has_gap: bool,
    /// Tokens that the think block may still have.
    thoughts: u32,
    /// Whether it looks ahead for another.
    is_copy: bool,
}

impl Answer {
    pub(super) fn new(
        shared: Arc<Shared>,
        ways: Arc<Ways>,
        inner: ::llguidance::Matcher,
        think: Think,
        json: Option<Json>,
        has_gap: bool,
    ) -> Self {
        let inner = inner.into_cancellable();
        let handle = inner.cancellation_handle().unwrap_or_default();
        let phase = match think {
            Think::None => Phase::Answer,
            Think::Optional => Phase::Start { written: 0 },
            Think::Open => Phase::Inside { written: 0 },
        };
        Self {
            shared,
            ways,
            inner,
            written: Vec::new(),
            chart: Chart::default(),
            handle,
            phase,
            json,
            narrowed: None,
            has_gap,
            thoughts: u32::MAX,
            is_copy: false,
        }
    }

    fn trie(&self) -> &TokTrie {
        self.shared.trie()
    }

    /// A step of llguidance under the clock.
    fn step<T>(&mut self, step: impl FnOnce(&mut ::llguidance::Matcher) -> T) -> T {
        let _running = self.shared.watch.step(&self.handle);
        step(&mut self.inner)
    }

    /// The constraint's own mask.
    fn inner_mask(&mut self) -> Result<TokenMask, Stuck> {
        let mut mask = match self.step(::llguidance::Matcher::compute_mask_or_eos) {
            Ok(mask) => mask,
            Err(_) => {
                self.phase = Phase::Stuck;
                return Err(Stuck::Budget);
            }
        };
        let narrows = |json: &Json| json.restrict(&mut mask, self.shared.json());
        if self.json.as_ref().is_some_and(narrows) {
            self.narrowed = Some(mask.clone());
        }
        Ok(mask)
    }

    /// Whether the constraint takes a token next.
    fn inner_takes(&mut self, token: Token) -> Result<bool, Stuck> {
        let is_allowed = |mask: &TokenMask| mask.is_allowed(token);
        if !self.narrowed.as_ref().is_none_or(is_allowed) {
            return Ok(false);
        }
        if self.inner.is_stopped() {
            return match self.inner.is_error() {
                true => Err(Stuck::Budget),
                false => Ok(false),
            };
        }
        match self.step(|inner| inner.validate_tokens(&[token])) {
            Ok(count) => Ok(count == 1),
            Err(_) => {
                self.phase = Phase::Stuck;
                Err(Stuck::Budget)
            }
        }
    }

    fn inner_consume(&mut self, token: Token) -> Result<(), Stuck> {
        if !self.inner_takes(token)? {
            return Err(Stuck::Refused);
        }
        if self.step(|inner| inner.consume_token(token)).is_err() {
            self.phase = Phase::Stuck;
            return Err(Stuck::Budget);
        }
        self.narrowed = None;
        let text = self.shared.trie().token(token);
        self.written.extend_from_slice(text);
        if let Some(json) = &mut self.json {
            json.push(&self.written, text.len());
        }
        Ok(())
    }

    fn consume_end(&mut self) -> Result<(), Stuck> {
        if !self.is_accepting() {
            return Err(Stuck::Refused);
        }
        self.phase = Phase::Ended;
        Ok(())
    }

    /// A token of the answer, or of `<think>` before it.
    fn consume_start(&mut self, token: Token, written: usize) -> Result<(), Stuck> {
        let is_alive = matches!(self.phase, Phase::Start { .. });
        let shared = Arc::clone(&self.shared);
        let thinking = shared.thinking();
        if written == 0 && thinking.opens(token) {
            self.phase = Phase::Inside { written: 0 };
            return Ok(());
        }
        let text = shared.trie().token(token);
        let is_text = !text.is_empty() && !shared.trie().is_special_token(token);
        let rest = thinking.open_from(written);
        if let Some(inside) = text.strip_prefix(rest).filter(|_| is_text) {
            return match thinking.step(0, inside) {
                ThinkStep::Spilled(_) => Err(Stuck::Refused),
                step => self.enter(step),
            };
        }
        if is_text && rest.starts_with(text) {
            let written = written + text.len();
            self.phase = match is_alive && self.inner_takes(token)? {
                true => {
                    self.inner_consume(token)?;
                    Phase::Start { written }
                }
                false => Phase::Opening { written },
            };
            return Ok(());
        }
        if !is_alive {
            return Err(Stuck::Refused);
        }
        self.inner_consume(token)?;
        self.phase = Phase::Answer;
        Ok(())
    }

    /// Goes on in the think block, or behind it.
    fn enter(&mut self, step: ThinkStep) -> Result<(), Stuck> {
        self.phase = match step {
            ThinkStep::Inside(written) => Phase::Inside { written },
            ThinkStep::Over if self.has_gap => Phase::Gap { left: MAX_GAP },
            ThinkStep::Over => Phase::Answer,
            ThinkStep::Spilled(space) if self.has_gap => Phase::Gap {
                left: MAX_GAP - space,
            },
            ThinkStep::Spilled(_) | ThinkStep::Past => return Err(Stuck::Refused),
        };
        Ok(())
    }

    fn consume_inside(&mut self, token: Token, written: usize) -> Result<(), Stuck> {
        let is_spent = self.thoughts == 0;
        if is_spent && !self.shared.thinking().closing(written).is_allowed(token) {
            return Err(Stuck::Refused);
        }
        self.thoughts = self.thoughts.saturating_sub(1);
        if self.shared.thinking().closes(token) {
            return self.enter(ThinkStep::Over);
        }
        let text = self.trie().token(token);
        if text.is_empty() || self.trie().is_special_token(token) {
            return Err(Stuck::Refused);
        }
        let step = self.shared.thinking().step(written, text);
        self.enter(step)
    }

    /// The tokens that make the answer whole from what is written under the constraint and these bytes.
    fn inner_way(&mut self, ahead: &[u8]) -> Option<Vec<Token>> {
        let spelling = self.shared.spelling();
        let chart = &mut self.chart;
        let end = self.ways.end(chart, &self.written, ahead, spelling)?;
        spelling.spell(&end)
    }

    /// The tokens that end a think block of whose end so much is written.
    fn way_out(&self, written: usize) -> Option<Vec<Token>> {
        match self.shared.thinking().close() {
            Some(token) => Some(vec![token]),
            None => self
                .shared
                .spelling()
                .spell(self.shared.thinking().close_from(written)),
        }
    }

    fn consume_gap(&mut self, token: Token, left: usize) -> Result<(), Stuck> {
        let text = self.trie().token(token);
        if !text.is_empty() && text.len() <= left && think::is_space(text) {
            self.phase = Phase::Gap {
                left: left - text.len(),
            };
            return Ok(());
        }
        self.inner_consume(token)?;
        self.phase = Phase::Answer;
        Ok(())
    }
}

impl Matcher for Answer {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        let shared = Arc::clone(&self.shared);
        match self.phase {
            Phase::Answer => self.inner_mask(),
            Phase::Start { written } => {
                let mut mask = self.inner_mask()?;
                let (opening, opened) = shared.thinking().opening(written);
                mask.sub(opened);
                mask.or(opening);
                Ok(mask)
            }
            Phase::Opening { written } => Ok(shared.thinking().opening(written).0.clone()),
            Phase::Inside { written } if self.thoughts == 0 => {
                Ok(shared.thinking().closing(written).clone())
            }
            Phase::Inside { written } => Ok(shared.thinking().inside(written, self.has_gap)),
            Phase::Gap { left } => {
                let mut mask = self.inner_mask()?;
                mask.or(shared.thinking().gap(left));
                Ok(mask)
            }
            Phase::Ended => Ok(shared.trie().eos_token_set()),
            Phase::Stuck => Err(Stuck::Budget),
        }
    }

    fn consume(&mut self, token: Token) -> Result<(), Stuck> {
        if token as usize >= self.trie().vocab_size() {
            return Err(Stuck::Refused);
        }
        if self.trie().eos_tokens().contains(&token) && self.phase != Phase::Stuck {
            return self.consume_end();
        }
        match self.phase {
            Phase::Answer => self.inner_consume(token),
            Phase::Start { written } | Phase::Opening { written } => {
                self.consume_start(token, written)
            }
            Phase::Inside { written } => self.consume_inside(token, written),
            Phase::Gap { left } => self.consume_gap(token, left),
            Phase::Ended => Err(Stuck::Refused),
            Phase::Stuck => Err(Stuck::Budget),
        }
    }

    fn forced(&mut self) -> Vec<Token> {
        if self.phase != Phase::Answer || self.inner.is_stopped() {
            return Vec::new();
        }
        let mut tokens = self.step(::llguidance::Matcher::compute_ff_tokens);
        let is_text = |&token: &Token| !self.shared.trie().is_special_token(token);
        let texts = tokens.iter().take_while(|token| is_text(token)).count();
        tokens.truncate(texts);
        tokens
    }

    fn is_accepting(&mut self) -> bool {
        match self.phase {
            Phase::Ended => true,
            Phase::Answer | Phase::Start { .. } | Phase::Gap { .. } => {
                if self.inner.is_stopped() {
                    return !self.inner.is_error();
                }
                self.step(::llguidance::Matcher::is_accepting)
                    .unwrap_or(false)
            }
            Phase::Opening { .. } | Phase::Inside { .. } | Phase::Stuck => false,
        }
    }

    fn is_finished(&self) -> bool {
        match self.phase {
            Phase::Ended => true,
            Phase::Answer => self.inner.is_stopped() && !self.inner.is_error(),
            _ => false,
        }
    }

    fn bound_thoughts(&mut self, tokens: u32) {
        self.thoughts = tokens;
    }

    fn is_bound(&self) -> bool {
        match self.phase {
            Phase::Opening { .. } | Phase::Inside { .. } => false,
            Phase::Start { .. }
            | Phase::Gap { .. }
            | Phase::Answer
            | Phase::Ended
            | Phase::Stuck => true,
        }
    }

    fn fork(&self) -> Option<Box<dyn Matcher>> {
        if self.phase == Phase::Stuck || self.inner.is_error() {
            return None;
        }
        // What a lexer runs out of, it has run out of for good: not so for the answer that only looks ahead.
        let inner = match self.is_copy {
            true => self.inner.clone(),
            false => self.inner.deep_clone(),
        };
        let handle = inner.cancellation_handle().unwrap_or_default();
        Some(Box::new(Self {
            shared: Arc::clone(&self.shared),
            ways: Arc::clone(&self.ways),
            inner,
            written: self.written.clone(),
            chart: self.chart.clone(),
            handle,
            phase: self.phase,
            json: self.json.clone(),
            narrowed: self.narrowed.clone(),
            has_gap: self.has_gap,
            thoughts: self.thoughts,
            is_copy: true,
        }))
    }

    fn way(&mut self, after: Option<Token>) -> Option<Vec<Token>> {
        if let Some(token) = after {
            let shared = Arc::clone(&self.shared);
            let text = shared.trie().token(token);
            if self.phase == Phase::Answer && !shared.trie().is_special_token(token) {
                return self.inner_way(text);
            }
            let mut ahead = self.fork()?;
            ahead.consume(token).ok()?;
            return ahead.way(None);
        }
        let mut before = match self.phase {
            Phase::Answer | Phase::Start { .. } | Phase::Gap { .. } => Vec::new(),
            Phase::Opening { written } => {
                let mut before = self
                    .shared
                    .spelling()
                    .spell(self.shared.thinking().open_from(written))?;
                before.extend(self.way_out(0)?);
                before
            }
            Phase::Inside { written } => self.way_out(written)?,
            Phase::Ended => return Some(Vec::new()),
            Phase::Stuck => return None,
        };
        before.extend(self.inner_way(&[])?);
        Some(before)
    }

    fn growth(&self) -> Option<u32> {
        self.ways.growth(self.shared.spelling())
    }

    fn spell(&self, text: &[u8]) -> Option<Vec<Token>> {
        self.shared.spelling().spell(text)
    }

    fn takes(&mut self, tokens: &[Token]) -> usize {
        if self.phase != Phase::Answer || self.inner.is_stopped() {
            let Some(mut copy) = self.fork() else {
                return 0;
            };
            return taken(&mut *copy, tokens);
        }
        let is_taken =
            |mask: &TokenMask| tokens.first().is_none_or(|token| mask.is_allowed(*token));
        if !self.narrowed.as_ref().is_none_or(is_taken) {
            return 0;
        }
        let valid = self.step(|inner| inner.validate_tokens(tokens));
        valid.unwrap_or(0)
    }

    fn completes(&mut self, tokens: &[Token]) -> bool {
        let end = self.trie().eos_tokens().first().copied();
        if self.phase != Phase::Answer || self.inner.is_stopped() {
            let Some(mut copy) = self.fork() else {
                return false;
            };
            return tokens.iter().all(|token| copy.consume(*token).is_ok()) && copy.is_accepting();
        }
        let mut tokens = tokens.to_vec();
        tokens.extend(end);
        let count = tokens.len();
        let taken = self.step(|inner| inner.validate_tokens(&tokens));
        taken.is_ok_and(|taken| taken == count)
    }
}
