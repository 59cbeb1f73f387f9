//! A model that likes every token alike, and some that end what was begun.

use super::vocabularies::spell;
use crate::backend::llguidance::Llguidance;
use crate::backend::{Backend, Compiled, Demand, Matcher, Stuck, Think, Whitespace};
use crate::vocabulary::{Token, TokenKind, Vocabulary};
use isogloss_core::ir::Constraint;
use isogloss_core::schema::{SchemaLimits, guard};
use serde_json::Value;
use std::sync::Arc;

/// Numbers that look random (splitmix64).
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % count as u64) as usize
    }
}

pub(super) fn backend(vocabulary: &Vocabulary) -> Llguidance {
    Llguidance::new(vocabulary).unwrap()
}

pub(super) fn demand(constraint: Constraint) -> Demand {
    Demand {
        constraint,
        think: Think::None,
        whitespace: Whitespace::Flexible,
    }
}

/// Compiles as the cache does: after the guard, on a big stack.
pub(super) fn compile(
    backend: &Llguidance,
    demand: &Demand,
) -> Result<Arc<dyn Compiled>, isogloss_core::error::Error> {
    std::thread::scope(|scope| {
        let job = || {
            if let Constraint::JsonSchema(schema) = &demand.constraint {
                guard(schema, &SchemaLimits::default())
                    .map_err(isogloss_core::check::schema_error)?;
            }
            backend.compile(demand)
        };
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        thread.spawn_scoped(scope, job).unwrap().join().unwrap()
    })
}

pub(super) fn compiled(backend: &Llguidance, constraint: Constraint) -> Arc<dyn Compiled> {
    compile(backend, &demand(constraint)).unwrap()
}

/// How a run goes.
pub(super) struct Run<'v> {
    pub(super) vocabulary: &'v Vocabulary,
    /// Tokens until it only wants to end.
    pub(super) patience: usize,
    /// Tokens until it is given up.
    pub(super) most: usize,
    /// Texts that it likes to write.
    pub(super) likes: &'v [&'v str],
}

impl Run<'_> {
    /// Text that the mask led to; `None` where it did not end.
    pub(super) fn write(&self, matcher: &mut dyn Matcher, dice: &mut Dice) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut liked: Vec<Token> = Vec::new();
        for at in 0..self.most {
            if matcher.is_finished() {
                return Some(text);
            }
            let forced = match dice.below(3) {
                0 => matcher.forced(),
                _ => Vec::new(),
            };
            let mask = matcher.mask().unwrap();
            self.check(matcher, &mask);
            if let Some(first) = forced.first() {
                assert!(mask.is_allowed(*first), "a forced token is not allowed");
                for token in forced {
                    assert!(!self.vocabulary.is_end(token));
                    matcher.consume(token).unwrap();
                    text.extend_from_slice(self.vocabulary.text(token));
                }
                continue;
            }
            let is_tired = at >= self.patience;
            if !self.likes.is_empty() && liked.is_empty() && (is_tired || dice.below(20) == 0) {
                liked = spell(self.vocabulary, self.likes[dice.below(self.likes.len())]);
                liked.reverse();
            }
            let may_end = is_tired && matcher.is_accepting();
            let token = match liked
                .pop()
                .filter(|&token| mask.is_allowed(token) && !may_end)
            {
                Some(token) => token,
                None => {
                    liked.clear();
                    self.choose(&mask, dice, is_tired)
                }
            };
            if dice.below(20) == 0 {
                self.refuses(matcher, &mask, dice);
            }
            if dice.below(20) == 0 {
                self.looks_ahead(matcher, &mask, dice);
            }
            matcher.consume(token).unwrap();
            if self.vocabulary.is_end(token) {
                assert!(matcher.is_accepting() && matcher.is_finished());
                return Some(text);
            }
            text.extend_from_slice(self.vocabulary.text(token));
        }
        None
    }

    /// What is true of every mask.
    fn check(&self, matcher: &mut dyn Matcher, mask: &toktrie::SimpleVob) {
        assert!(mask.len() >= self.vocabulary.len());
        let is_accepting = matcher.is_accepting();
        for token in mask.iter() {
            let piece = &self.vocabulary.pieces()[token as usize];
            if self.vocabulary.is_end(token) {
                assert!(is_accepting, "an end where the answer is not whole");
            } else {
                let is_think = piece.bytes.ends_with(b"think>");
                assert!(piece.kind == TokenKind::Text || is_think, "{piece:?}");
            }
        }
        for &end in self.vocabulary.ends() {
            assert_eq!(mask.is_allowed(end), is_accepting);
        }
    }

    /// A token outside of the mask is refused, and the answer goes on as if nothing was.
    fn refuses(&self, matcher: &mut dyn Matcher, mask: &toktrie::SimpleVob, dice: &mut Dice) {
        let token = dice.below(self.vocabulary.len()) as Token;
        // Where a text is forced, its other spellings are taken too; masks show the usual one.
        if mask.num_set() > 1 && !mask.is_allowed(token) {
            assert_eq!(matcher.consume(token), Err(Stuck::Refused));
            assert_eq!(matcher.mask().unwrap(), *mask);
        }
    }

    /// Tokens that may come one after the other are told, and the first one that may not; the answer goes on as if nothing
    /// was.
    fn looks_ahead(&self, matcher: &mut dyn Matcher, mask: &toktrie::SimpleVob, dice: &mut Dice) {
        let mut ahead = matcher.fork().unwrap();
        let mut tokens = Vec::new();
        for _ in 0..dice.below(5) {
            if ahead.is_finished() {
                break;
            }
            let token = self.choose(&ahead.mask().unwrap(), dice, false);
            if self.vocabulary.is_end(token) {
                break;
            }
            ahead.consume(token).unwrap();
            tokens.push(token);
        }
        let count = tokens.len();
        assert_eq!(matcher.takes(&tokens), count, "{tokens:?}");
        let other = dice.below(self.vocabulary.len()) as Token;
        if ahead.consume(other) == Err(Stuck::Refused) {
            tokens.extend([other, other]);
            assert_eq!(matcher.takes(&tokens), count, "{tokens:?}");
        }
        assert_eq!(matcher.mask().unwrap(), *mask);
    }

    fn choose(&self, mask: &toktrie::SimpleVob, dice: &mut Dice, is_tired: bool) -> Token {
        let allowed = mask.to_list();
        let ends = |token: &&Token| {
            let text = self.vocabulary.text(**token);
            self.vocabulary.is_end(**token)
                || matches!(text, [b'"' | b'}' | b']'] | b"null" | b"\"}" | b"</think>")
        };
        if is_tired || dice.below(6) == 0 {
            let closing: Vec<Token> = allowed.iter().filter(ends).copied().collect();
            if let Some(&end) = closing.iter().find(|token| self.vocabulary.is_end(**token)) {
                return end;
            }
            if !closing.is_empty() && dice.below(20) > 0 {
                return closing[dice.below(closing.len())];
            }
        }
        let texts: Vec<Token> = (allowed.iter())
            .filter(|token| !self.vocabulary.is_end(**token))
            .copied()
            .collect();
        match texts.is_empty() {
            true => allowed[dice.below(allowed.len())],
            false => texts[dice.below(texts.len())],
        }
    }
}

/// Whether a text is taken, its tokens one after the other and an end.
pub(super) fn takes(compiled: &dyn Compiled, vocabulary: &Vocabulary, text: &str) -> bool {
    let mut matcher = compiled.matcher();
    for token in spell(vocabulary, text) {
        match matcher.mask() {
            // What is forced has one usual spelling; the text's own is taken as well.
            Ok(mask) => {
                let allowed = mask.is_allowed(token);
                let taken = matcher.consume(token);
                assert!(!allowed || taken.is_ok(), "what the mask allows is taken");
                if taken.is_err() {
                    return false;
                }
            }
            Err(_) => return false,
        }
    }
    matcher.is_accepting() && matcher.consume(vocabulary.ends()[1]).is_ok()
}

pub(super) fn schema(value: Value) -> Constraint {
    Constraint::JsonSchema(value)
}
