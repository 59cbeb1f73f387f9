//! Drafts: what an answer may go on with, as its constraint lets it.
//!
//! A draft goes through the model together with the token before it, so that the logits behind each
//! of its tokens are there at once. It is a guess and nothing else: each token is still chosen from
//! its own logits, and the first one that is another than was drafted ends it.

use super::lookup::Lookup;
use crate::backend::{Matcher, TokenMask};
use crate::vocabulary::{Token, Vocabulary};

/// Drafts one answer.
pub(super) struct Drafter {
    lookup: Lookup,
    /// A copy of the answer's matcher that looks ahead: what it runs out of the answer keeps. Made
    /// for the first draft.
    scout: Option<Box<dyn Matcher>>,
    /// What the answer took since the scout was asked last.
    behind: Vec<Token>,
    /// The scout went another way than its original.
    is_lost: bool,
}

impl Drafter {
    pub(super) fn new(lookup: Lookup) -> Self {
        Self {
            lookup,
            scout: None,
            behind: Vec::new(),
            is_lost: false,
        }
    }

    /// The answer took a token.
    pub(super) fn push(&mut self, token: Token) {
        self.lookup.push(token);
        if self.scout.is_some() {
            self.behind.push(token);
        }
    }

    /// How many tokens of a draft were right.
    pub(super) fn learn(&mut self, drafted: usize, right: usize) {
        self.lookup.learn(drafted, right);
    }

    /// At most `most` tokens that the answer may go on with. `matcher` is where the answer is;
    /// `free`: what an answer without one may hold.
    pub(super) fn propose(
        &mut self,
        matcher: Option<&dyn Matcher>,
        free: Option<&TokenMask>,
        vocabulary: &Vocabulary,
        most: usize,
    ) -> Vec<Token> {
        let mut draft = self.lookup.propose(most);
        // Media in the prompt have tokens that no vocabulary has. Behind an end nothing comes.
        let may_come = |token: Token| {
            (token as usize) < vocabulary.len()
                && !vocabulary.is_end(token)
                && free.is_none_or(|free| free.is_allowed(token))
        };
        let count = draft.iter().take_while(|token| may_come(**token)).count();
        draft.truncate(count);
        if let Some(matcher) = matcher
            && !draft.is_empty()
        {
            let count = self.allowed(matcher, &draft);
            draft.truncate(count);
        }
        draft
    }

    /// How many of these tokens the constraint may take.
    fn allowed(&mut self, matcher: &dyn Matcher, draft: &[Token]) -> usize {
        if self.is_lost {
            return 0;
        }
        let mut scout = self.scout.take().or_else(|| matcher.fork());
        let Some(copy) = &mut scout else {
            // Nothing is known against them.
            return draft.len();
        };
        self.is_lost = (self.behind.drain(..)).any(|token| copy.consume(token).is_err());
        if self.is_lost {
            return 0;
        }
        let count = copy.takes(draft);
        self.scout = scout;
        count
    }
}
