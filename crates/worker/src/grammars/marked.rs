//! A matcher in; the same one out, which notes when a thread is at work in it.

use crate::backend::{Matcher, Stuck, TokenMask};
use crate::vocabulary::Token;
use isogloss_compile::at_work::Mark;

struct Marked {
    inner: Box<dyn Matcher>,
    mark: Mark,
}

/// The matcher, with a note of whatever the grammar engine may be long at, or die of. Without a mark it is as it was.
#[must_use]
pub fn marked(inner: Box<dyn Matcher>, mark: Option<Mark>) -> Box<dyn Matcher> {
    match mark {
        Some(mark) => Box::new(Marked { inner, mark }),
        None => inner,
    }
}

impl Matcher for Marked {
    fn mask(&mut self) -> Result<TokenMask, Stuck> {
        let _at_work = self.mark.at_work();
        self.inner.mask()
    }

    fn consume(&mut self, token: Token) -> Result<(), Stuck> {
        let _at_work = self.mark.at_work();
        self.inner.consume(token)
    }

    fn forced(&mut self) -> Vec<Token> {
        let _at_work = self.mark.at_work();
        self.inner.forced()
    }

    fn is_accepting(&mut self) -> bool {
        self.inner.is_accepting()
    }

    fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    fn bound_thoughts(&mut self, tokens: u32) {
        self.inner.bound_thoughts(tokens);
    }

    fn fork(&self) -> Option<Box<dyn Matcher>> {
        let _at_work = self.mark.at_work();
        let inner = self.inner.fork()?;
        let mark = self.mark.clone();
        Some(Box::new(Self { inner, mark }))
    }

    fn way(&mut self, after: Option<Token>) -> Option<Vec<Token>> {
        let _at_work = self.mark.at_work();
        self.inner.way(after)
    }

    fn growth(&self) -> Option<u32> {
        let _at_work = self.mark.at_work();
        self.inner.growth()
    }

    fn spell(&self, text: &[u8]) -> Option<Vec<Token>> {
        self.inner.spell(text)
    }

    fn is_bound(&self) -> bool {
        self.inner.is_bound()
    }

    fn completes(&mut self, tokens: &[Token]) -> bool {
        let _at_work = self.mark.at_work();
        self.inner.completes(tokens)
    }
}
