//! Grammar backends: a constraint comes in; what one answer may hold, token by token, goes out.
//!
//! A second backend is one more file that implements [`Backend`].

pub mod llguidance;

use super::vocabulary::Token;
use isogloss_core::error::Error;
use isogloss_core::ir::Constraint;
use std::fmt;
use std::sync::Arc;

/// The tokens that may come next, one bit each.
pub use toktrie::SimpleVob as TokenMask;

/// Where a model's thinking goes before a constrained answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Think {
    /// The answer begins at once.
    #[default]
    None,
    /// The answer may begin with `<think>…</think>`, which the constraint does not cover.
    Optional,
    /// The prompt ends inside of a think block: everything up to `</think>` is free.
    Open,
}

/// The space that JSON may have between its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Whitespace {
    /// As the model likes, within reason: never an endless run.
    #[default]
    Flexible,
    /// None.
    Compact,
}

/// What a whole answer must be: the key of the grammar cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// What the answer must be.
    pub constraint: Constraint,
    /// What may stand before it.
    pub think: Think,
    /// How JSON in it is laid out.
    pub whitespace: Whitespace,
}

/// Compiles constraints for one vocabulary.
pub trait Backend: Send + Sync + fmt::Debug {
    /// Its name, for metrics and messages.
    fn name(&self) -> &'static str;

    /// Compiles a constraint. Needs a big stack, and may take long: it runs where compiling runs.
    /// The schema's guards have passed already.
    ///
    /// # Errors
    /// A constraint that cannot be enforced as it is: which keyword or construct, and where.
    fn compile(&self, demand: &Demand) -> Result<Arc<dyn Compiled>, Error>;
}

/// A compiled constraint, shared by all answers under it.
pub trait Compiled: Send + Sync + fmt::Debug {
    /// The way of one answer, at its beginning. Cheap: a copy of what is compiled.
    fn matcher(&self) -> Box<dyn Matcher>;

    /// Bytes of memory that this takes, as estimated.
    fn estimated_bytes(&self) -> usize;
}

/// The way of one answer through its constraint.
pub trait Matcher: Send {
    /// The tokens that may come next. Where the answer may end here, the end tokens are among
    /// them; where nothing but the end may follow, they are the only ones.
    ///
    /// # Errors
    /// The grammar's budget is spent: the answer cannot go on.
    fn mask(&mut self) -> Result<TokenMask, Stuck>;

    /// Takes the token that was chosen. An end token is taken too.
    ///
    /// # Errors
    /// The token was not allowed, or the grammar's budget is spent.
    fn consume(&mut self, token: Token) -> Result<(), Stuck>;

    /// The tokens that must come next, whatever the model says: none where it has a choice. They
    /// are not consumed, and hold no end token.
    fn forced(&mut self) -> Vec<Token>;

    /// Whether the answer so far is a whole one.
    fn is_accepting(&mut self) -> bool;

    /// Whether nothing may follow: the answer is whole and over.
    fn is_finished(&self) -> bool;

    /// Bounds a think block before the answer: after so many tokens nothing but its end may come.
    fn bound_thoughts(&mut self, _tokens: u32) {}

    /// Whether the constraint says what comes here: not so in thoughts before the answer.
    fn is_bound(&self) -> bool {
        true
    }

    /// A copy that goes its own way, to look ahead: whatever it meets, this one is as it was. Copies of a copy share what
    /// they learn of the grammar, and are cheap. `None`: there is none.
    fn fork(&self) -> Option<Box<dyn Matcher>> {
        None
    }

    /// Tokens that make the answer whole, from here or after one more token: of all ways that the constraint has about the
    /// shortest. They are not consumed, and it is for [`Self::completes`] to say whether they do. `None`: it cannot be
    /// told, or the token may not come.
    fn way(&mut self, _after: Option<Token>) -> Option<Vec<Token>> {
        None
    }

    /// How many tokens it takes at most to close what one token opens, one thing in another aside. `None`: it cannot be
    /// told.
    fn growth(&self) -> Option<u32> {
        None
    }

    /// The fewest tokens that spell a text, where that can be told.
    fn spell(&self, _text: &[u8]) -> Option<Vec<Token>> {
        None
    }

    /// How many of these tokens may come next, one after the other. They are not consumed. Where it cannot be told, all of
    /// them: it is for [`Self::mask`] to say what comes.
    fn takes(&mut self, tokens: &[Token]) -> usize {
        let Some(mut copy) = self.fork() else {
            return tokens.len();
        };
        taken(&mut *copy, tokens)
    }

    /// Whether the answer would be whole after these tokens, the end token aside. They are not consumed.
    fn completes(&mut self, tokens: &[Token]) -> bool {
        let Some(mut copy) = self.fork() else {
            return false;
        };
        tokens.iter().all(|token| copy.consume(*token).is_ok()) && copy.is_accepting()
    }
}

/// How many of these tokens a matcher takes, one after the other.
pub(crate) fn taken(matcher: &mut dyn Matcher, tokens: &[Token]) -> usize {
    let is_taken = |token: &&Token| matcher.consume(**token).is_ok();
    tokens.iter().take_while(is_taken).count()
}

/// Why an answer cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// The token was not among those allowed.
    #[error("the token is not allowed by the constraint")]
    Refused,
    /// A limit of the grammar engine: its states or its time.
    #[error("the constraint's budget is spent: simplify it")]
    Budget,
}
