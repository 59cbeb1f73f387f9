//! An answer's end in time: a constrained answer and the tokens that are left to it come in; which tokens it may still
//! take, and which it must take to be whole in time, go out.
//!
//! Nothing is done far from the limit. Near it a way to the answer's end is known before each token is taken, its
//! *plan*: a token that the model likes is taken if from there, too, the answer ends within what is left, and else the
//! plan's own. So an answer for which there ever was a plan is never cut.

mod leads;
mod search;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

use super::backend::Matcher;
use super::vocabulary::Token;
pub use leads::Leads;
use search::{Effort, Found, Search};
use std::fmt;

/// The share of the tokens up to there after which it is looked at again how long the plan is: so many tokens may each
/// add to it.
const SHARE: u32 = 16;
/// With so few tokens left each token is looked at, whatever the plan.
const NEAR: u32 = 128;
/// How many times the longest plan so far is near: what one token opens may take longer to close than what was open.
const WIDTH: u32 = 3;
/// Searches that find nothing, one after the other, until there are fewer tokens left by a quarter.
const MAX_FAILURES: u32 = 3;

/// The ways to the end of one answer.
pub struct Ending {
    search: Search,
    /// With so many tokens left or fewer the answer is looked at.
    due: u32,
    /// A copy of the answer's matcher, at the same place; there while each token is looked at.
    scout: Option<Box<dyn Matcher>>,
    /// The tokens that make the answer whole from here.
    plan: Option<Vec<Token>>,
    /// The token that was admitted last, and the plan behind it.
    admitted: Option<(Token, Option<Vec<Token>>)>,
    longest: u32,
    failures: u32,
}

/// An answer that cannot be whole in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong {
    /// Tokens of an answer that is whole, and as short as any that was found.
    pub needs: u32,
}

impl fmt::Debug for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending")
            .field("due", &self.due)
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl Ending {
    /// Of an answer at its beginning.
    #[must_use]
    pub fn new(leads: Leads) -> Self {
        Self {
            search: Search::new(leads),
            due: u32::MAX,
            scout: None,
            plan: None,
            admitted: None,
            longest: 0,
            failures: 0,
        }
    }

    /// Looks at an answer that has not begun, and has so many tokens.
    ///
    /// # Errors
    /// No answer is nearly that short.
    pub fn begin(&mut self, matcher: &dyn Matcher, room: u32) -> Result<(), TooLong> {
        let Some(scout) = matcher.fork() else {
            self.due = 0;
            return Ok(());
        };
        match self.search.find(&*scout, room, Effort::All) {
            Found::Way(plan) => {
                self.scout = Some(scout);
                self.know(plan, room);
            }
            Found::TooLong { shortest } => return Err(TooLong { needs: shortest }),
            Found::GaveUp => self.look_later(room),
        }
        Ok(())
    }

    /// Whether the answer's next tokens are to be asked about, with so many left to it. `matcher` is where the answer is.
    pub fn is_near(&mut self, matcher: &dyn Matcher, room: u32) -> bool {
        if room > self.due {
            return false;
        }
        if self.scout.is_none() {
            self.scout = matcher.fork();
            self.plan = None;
        }
        let Some(scout) = &self.scout else {
            // It cannot be copied, now or ever.
            self.due = 0;
            return false;
        };
        let plan = match self.plan.take() {
            Some(plan) => plan,
            None => match self.search.find(&**scout, room, Effort::Some) {
                Found::Way(plan) => plan,
                Found::TooLong { .. } | Found::GaveUp => {
                    self.failures += 1;
                    if self.failures >= MAX_FAILURES {
                        self.failures = 0;
                        self.look_later(room);
                    }
                    return false;
                }
            },
        };
        self.failures = 0;
        self.know(plan, room)
    }

    /// Keeps a plan. Says whether the answer is near its limit.
    fn know(&mut self, plan: Vec<Token>, room: u32) -> bool {
        let length = u32::try_from(plan.len()).unwrap_or(u32::MAX);
        self.longest = self.longest.max(length);
        let near = self.longest.saturating_mul(WIDTH).saturating_add(NEAR);
        if room > near {
            self.look_later_at(near.max(room - (room - near) / SHARE - 1));
            return false;
        }
        self.due = u32::MAX;
        self.plan = Some(plan);
        true
    }

    fn look_later(&mut self, room: u32) {
        self.look_later_at(room - room.div_ceil(4));
    }

    fn look_later_at(&mut self, due: u32) {
        self.due = due;
        self.scout = None;
        self.plan = None;
    }

    /// Whether the answer still ends in time if it takes this token next and has so many tokens left then. Of an answer
    /// that is near.
    pub fn admits(&mut self, token: Token, room: u32) -> bool {
        let (Some(scout), Some(plan)) = (&mut self.scout, &self.plan) else {
            return true;
        };
        if plan.first() == Some(&token) {
            self.admitted = Some((token, Some(plan[1..].to_vec())));
            return true;
        }
        // Most tokens go on with what is open: what closed it before closes it then.
        let fits = plan.len() <= room as usize;
        let path: Vec<Token> = std::iter::once(token).chain(plan.iter().copied()).collect();
        if fits && scout.completes(&path) {
            self.admitted = Some((token, Some(path[1..].to_vec())));
            return true;
        }
        let Some(mut ahead) = scout.fork() else {
            return true;
        };
        if ahead.consume(token).is_err() {
            return false;
        }
        match self.search.find(&*ahead, room, Effort::Some) {
            Found::Way(plan) => {
                self.admitted = Some((token, Some(plan)));
                true
            }
            Found::TooLong { .. } | Found::GaveUp => false,
        }
    }

    /// Whether there is room for nothing but the plan.
    #[must_use]
    pub fn is_tight(&self, room: u32) -> bool {
        (self.plan.as_ref()).is_some_and(|plan| plan.len() >= room as usize)
    }

    /// The plan: what makes the answer whole from here. Of an answer that is near.
    #[must_use]
    pub fn plan(&self) -> Option<&[Token]> {
        self.plan.as_deref()
    }

    /// Whether the answer is known not to be whole yet.
    #[must_use]
    pub fn is_open(&self) -> bool {
        (self.plan.as_ref()).is_some_and(|plan| !plan.is_empty())
    }

    /// The answer took a token.
    pub fn push(&mut self, token: Token) {
        let admitted = self.admitted.take().filter(|(known, _)| *known == token);
        let Some(scout) = &mut self.scout else {
            return;
        };
        if scout.consume(token).is_err() {
            // A copy that went another way than its original is of no use, nor would another be.
            self.look_later_at(0);
            return;
        }
        self.plan = match (admitted, self.plan.take()) {
            (Some((_, plan)), _) => plan,
            (None, Some(plan)) if plan.first() == Some(&token) => Some(plan[1..].to_vec()),
            (None, _) => None,
        };
    }
}
