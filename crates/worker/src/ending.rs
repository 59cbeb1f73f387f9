//! An answer's end in time: a constrained answer and the tokens that are left to it come in; which tokens it may still
//! take, and which it must take to be whole in time, go out.
//!
//! Far from the limit it is looked at now and then how long the shortest way to the end is. Near it a way is known before
//! each token is taken, the answer's *plan*: a token that the model likes is taken if from there, too, a way to the end is
//! known within what is left, and else the plan's own. A plan is never given up but for another one, so an answer that
//! has one is never cut. All limits are steps: how busy the machine is changes no answer.

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

/// How many tokens one token adds to the shortest way at most, as a share of the longest so far, where the constraint
/// does not tell.
const SHARE: u32 = 16;
/// With so few tokens left beside the shortest way each token is looked at.
const NEAR: u32 = 48;
/// The same where the constraint does not tell what a token may open, and how many times the longest way so far is added.
const NEAR_UNTOLD: u32 = 128;
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
    /// The tokens that make the answer whole from here; known while each token is looked at.
    plan: Option<Vec<Token>>,
    /// The token that was admitted last, and the plan behind it.
    admitted: Option<(Token, Vec<Token>)>,
    longest: u32,
    failures: u32,
    /// Whether no way to the end was found when the answer began, nor that there is none.
    is_unplanned: bool,
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
            is_unplanned: false,
        }
    }

    /// Looks at an answer that has not begun, and has so many tokens.
    ///
    /// # Errors
    /// No answer that was found is that short.
    pub fn begin(&mut self, matcher: &dyn Matcher, room: u32) -> Result<(), TooLong> {
        let Some(mut scout) = matcher.fork() else {
            self.due = 0;
            self.is_unplanned = true;
            return Ok(());
        };
        let told = scout.way(None).filter(|way| scout.completes(way));
        let growth = told.as_ref().and_then(|_| scout.growth());
        let found = match told {
            Some(way) if length(&way) <= room => Found::Way(way),
            // A search may know better.
            told => {
                let found = self.search.find(&*scout, room, Effort::All);
                match (found, told.as_deref().map(length)) {
                    (Found::TooLong { shortest }, Some(told)) => Found::TooLong {
                        shortest: shortest.min(told),
                    },
                    (Found::GaveUp, Some(shortest)) => Found::TooLong { shortest },
                    (found, _) => found,
                }
            }
        };
        match found {
            Found::Way(plan) => {
                self.scout = Some(scout);
                self.know(plan, growth, room);
            }
            Found::TooLong { shortest } => return Err(TooLong { needs: shortest }),
            Found::GaveUp => {
                self.is_unplanned = true;
                self.look_later(room);
            }
        }
        Ok(())
    }

    /// Whether it was not known when the answer began that it can be whole in time.
    #[must_use]
    pub fn is_unplanned(&self) -> bool {
        self.is_unplanned
    }

    /// Whether the answer's next tokens are to be asked about, with so many left to it. `matcher` is where the answer is.
    pub fn is_near(&mut self, matcher: &mut dyn Matcher, room: u32) -> bool {
        if self.plan.is_some() {
            return true;
        }
        if room > self.due {
            return false;
        }
        let told = matcher.way(None);
        let growth = told.as_ref().and_then(|_| matcher.growth());
        if let Some(way) = &told
            && self.waits(length(way), growth, room)
        {
            return false;
        }
        if self.scout.is_none() {
            self.scout = matcher.fork();
        }
        let Some(scout) = &mut self.scout else {
            // It cannot be copied, now or ever.
            self.due = 0;
            return false;
        };
        let told = told.filter(|way| length(way) <= room && scout.completes(way));
        let found = match told {
            Some(way) => Found::Way(way),
            None => self.search.find(&**scout, room, Effort::Some),
        };
        if let Found::Way(plan) = found {
            self.failures = 0;
            self.know(plan, growth, room);
            return self.plan.is_some();
        }
        self.failures += 1;
        if self.failures >= MAX_FAILURES {
            self.failures = 0;
            self.look_later(room);
        }
        false
    }

    /// Keeps a plan, if the answer is near its limit.
    fn know(&mut self, plan: Vec<Token>, growth: Option<u32>, room: u32) {
        if !self.waits(length(&plan), growth, room) {
            self.due = u32::MAX;
            self.plan = Some(plan);
        }
    }

    /// Whether the answer is far from its limit, of which the shortest way has so many tokens; then when it is looked at
    /// again.
    fn waits(&mut self, length: u32, growth: Option<u32>, room: u32) -> bool {
        self.longest = self.longest.max(length);
        let near = match growth {
            Some(growth) => length.saturating_add(growth.saturating_mul(2)) + NEAR,
            None => self.longest.saturating_mul(WIDTH) + NEAR_UNTOLD,
        };
        if room <= near {
            return false;
        }
        let share = growth.map_or(SHARE, |growth| growth.saturating_add(1));
        self.look_later_at(near.max(room - (room - near) / share - 1));
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
            self.admitted = Some((token, plan[1..].to_vec()));
            return true;
        }
        let completes = |scout: &mut dyn Matcher, way: &[Token]| {
            let path: Vec<Token> = std::iter::once(token).chain(way.iter().copied()).collect();
            length(way) <= room && scout.completes(&path)
        };
        // Most tokens go on with what is open: what closed it before closes it then.
        if completes(&mut **scout, plan) {
            self.admitted = Some((token, plan.clone()));
            return true;
        }
        if let Some(way) = scout.way(Some(token)) {
            if length(&way) > room {
                return false;
            }
            if completes(&mut **scout, &way) {
                self.admitted = Some((token, way));
                return true;
            }
        }
        let Some(mut ahead) = scout.fork() else {
            return true;
        };
        if ahead.consume(token).is_err() {
            return false;
        }
        match self.search.find(&*ahead, room, Effort::Some) {
            Found::Way(plan) => {
                self.admitted = Some((token, plan));
                true
            }
            Found::TooLong { .. } | Found::GaveUp => false,
        }
    }

    /// What may be taken of tokens that the constraint forces, with so many left to the answer: all of them if there is a
    /// way to the end behind them, else those of the plan that spell the same.
    #[must_use]
    pub fn forced(&self, forced: Vec<Token>, room: u32) -> Vec<Token> {
        let (Some(scout), Some(plan)) = (&self.scout, &self.plan) else {
            return forced;
        };
        if plan.starts_with(&forced) {
            return forced;
        }
        let text = self.search.text(&forced);
        let planned = self.search.text(plan);
        let Some(rest) = planned.strip_prefix(&*text) else {
            return forced;
        };
        let count = scout.spell(rest).map(|rest| rest.len() + forced.len());
        if count.is_some_and(|count| count <= room as usize) {
            return forced;
        }
        let mut left = text.len();
        let mut is_within = |token: &Token| {
            let bytes = self.search.text(&[*token]).len();
            let is_within = (1..=left).contains(&bytes);
            left = left.saturating_sub(bytes);
            is_within
        };
        let within = plan.iter().take_while(|token| is_within(token));
        within.copied().collect()
    }

    /// Whether the constraint takes a token next, be it that it forces other tokens of the same text.
    #[must_use]
    pub fn takes(&self, token: Token) -> bool {
        let ahead = self.scout.as_ref().and_then(|scout| scout.fork());
        ahead.is_some_and(|mut ahead| ahead.consume(token).is_ok())
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
            (Some((_, plan)), _) => Some(plan),
            (None, Some(plan)) if plan.first() == Some(&token) => Some(plan[1..].to_vec()),
            // The same text in other tokens.
            (None, Some(plan)) => {
                let planned = self.search.text(&plan);
                let rest = planned.strip_prefix(&*self.search.text(&[token]));
                rest.and_then(|rest| scout.spell(rest))
            }
            (None, None) => None,
        };
    }
}

fn length(way: &[Token]) -> u32 {
    u32::try_from(way.len()).unwrap_or(u32::MAX)
}
