//! The search for a way to an answer's end: a copy of its matcher comes in; tokens that make the answer whole go out.
//!
//! The first way goes where [`Leads`] point. Where it is too long, or leads nowhere, the places at which it had a
//! choice are gone back to, and what was better there is remembered: the same choice comes again in other places.

use super::leads::{Leads, Next};
use crate::backend::{Matcher, TokenMask};
use crate::vocabulary::Token;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// The longest way that is looked for where it is asked how long the shortest is.
const LONGEST: usize = 2_048;
/// Alternatives of one place.
const MAX_ALTERNATIVES: usize = 32;

/// How much is done for a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// As much as one token may take.
    Some,
    /// As much as can be told of an answer that has not begun: how long the shortest is.
    All,
}

impl Effort {
    fn steps(self) -> usize {
        match self {
            Self::Some => 300,
            Self::All => 2_000,
        }
    }

    fn rolls(self) -> usize {
        match self {
            Self::Some => 0,
            Self::All => 6,
        }
    }
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A way that is short enough.
    Way(Vec<Token>),
    /// The shortest way is far too long.
    TooLong { shortest: u32 },
    /// There may be one, or not.
    GaveUp,
}

impl Found {
    /// No way was short enough. It is certain that none is only where the best is more than twice as long: a search
    /// that goes back to one choice at a time misses what two of them would have saved.
    fn none(best: Option<Vec<Token>>, most: usize) -> Self {
        let best = best.filter(|way| way.len() > most.saturating_mul(2));
        match best.and_then(|way| u32::try_from(way.len()).ok()) {
            Some(shortest) => Self::TooLong { shortest },
            None => Self::GaveUp,
        }
    }
}

/// Looks for ways through one constraint, and remembers what it learnt there.
#[derive(Debug)]
pub(super) struct Search {
    leads: Leads,
    /// By the place's print: the token that was best there.
    habits: HashMap<u64, Token>,
}

/// A place on a way.
struct Walk {
    matcher: Box<dyn Matcher>,
    path: Vec<Token>,
    /// Prints of places that it came by.
    seen: HashSet<u64>,
}

impl Walk {
    fn fork(&self) -> Option<Self> {
        Some(Self {
            matcher: self.matcher.fork()?,
            path: self.path.clone(),
            seen: self.seen.clone(),
        })
    }

    fn take(&mut self, token: Token) -> Option<()> {
        self.matcher.consume(token).ok()?;
        self.path.push(token);
        Some(())
    }
}

/// Another token at a place that was come by.
struct Branch {
    from: Rc<Walk>,
    print: u64,
    token: Token,
}

/// One search.
struct Hunt<'s> {
    search: &'s mut Search,
    branches: VecDeque<Branch>,
    /// Those of places at which the best was sure: nothing better is among them, but for who finds no way at all.
    spare: VecDeque<Branch>,
    /// Places whose alternatives are among the branches, or were.
    branched: HashSet<u64>,
    steps: usize,
    gave_up: bool,
}

impl Search {
    pub(super) fn new(leads: Leads) -> Self {
        Self {
            leads,
            habits: HashMap::new(),
        }
    }

    /// What tokens stand for, control tokens aside.
    pub(super) fn text(&self, tokens: &[Token]) -> Vec<u8> {
        self.leads.text(tokens)
    }

    /// A way of at most so many tokens from where the matcher is.
    pub(super) fn find(&mut self, from: &dyn Matcher, most: u32, effort: Effort) -> Found {
        let most = most as usize;
        let Some(mut matcher) = from.fork() else {
            return Found::GaveUp;
        };
        // The way out of thoughts is their end.
        matcher.bound_thoughts(0);
        let mut hunt = Hunt {
            search: self,
            branches: VecDeque::new(),
            spare: VecDeque::new(),
            branched: HashSet::new(),
            steps: effort.steps(),
            gave_up: false,
        };
        let start = Walk {
            matcher,
            path: Vec::new(),
            seen: HashSet::new(),
        };
        let longest = match effort {
            Effort::Some => most,
            Effort::All => LONGEST.max(most),
        };
        let mut best = hunt.roll(start, longest);
        // A long way has as many steps for each of its alternatives.
        let length = best.as_ref().map_or(0, Vec::len);
        hunt.steps = hunt.steps.max(effort.rolls() * length);
        while best.as_ref().is_none_or(|best| best.len() > most) {
            if hunt.gave_up {
                return Found::none(best, most);
            }
            let next = hunt.branches.pop_front();
            let is_lost = effort == Effort::All && best.is_none();
            let next = next.or_else(|| hunt.spare.pop_front().filter(|_| is_lost));
            let Some(branch) = next else {
                return Found::none(best, most);
            };
            let longest = best.as_ref().map_or(longest, |best| best.len() - 1);
            if branch.from.path.len() >= longest {
                continue;
            }
            let Some(mut walk) = branch.from.fork() else {
                return Found::GaveUp;
            };
            if walk.take(branch.token).is_none() {
                continue;
            }
            if let Some(better) = hunt.roll(walk, longest) {
                hunt.search.habits.insert(branch.print, branch.token);
                best = Some(better);
            }
        }
        best.map_or(Found::GaveUp, Found::Way)
    }
}

impl Hunt<'_> {
    /// Counts a step; `None` where there were too many.
    fn spend(&mut self) -> Option<()> {
        self.steps = self.steps.saturating_sub(1);
        self.gave_up |= self.steps == 0;
        (!self.gave_up).then_some(())
    }

    /// The rest of a way of at most so many tokens, as the leads and habits have it.
    fn roll(&mut self, mut walk: Walk, most: usize) -> Option<Vec<Token>> {
        loop {
            if walk.matcher.is_finished() || walk.matcher.is_accepting() {
                return (walk.path.len() <= most).then_some(walk.path);
            }
            if walk.path.len() >= most {
                return None;
            }
            self.spend()?;
            let forced = walk.matcher.forced();
            for &token in &forced {
                walk.take(token)?;
            }
            if !forced.is_empty() {
                continue;
            }
            let mask = walk.matcher.mask().ok().filter(|mask| !mask.is_zero())?;
            let print = print(&mask);
            walk.seen.insert(print);
            let habit = self.search.habits.get(&print).copied();
            let token = match habit.filter(|token| mask.is_allowed(*token)) {
                Some(token) => token,
                None => match self.search.leads.next(&mask) {
                    Next::Ways { ways, is_sure } => {
                        let first = *ways.first()?;
                        self.branch(&walk, print, &ways[1..], is_sure);
                        first
                    }
                    Next::Text { ends, fill } => {
                        let token = self.through(&walk, print, &ends, &fill)?;
                        self.search.habits.insert(print, token);
                        token
                    }
                },
            };
            walk.take(token)?;
        }
    }

    fn branch(&mut self, walk: &Walk, print: u64, tokens: &[Token], is_sure: bool) {
        if tokens.is_empty() || !self.branched.insert(print) {
            return;
        }
        let Some(from) = walk.fork().map(Rc::new) else {
            return;
        };
        let branches = tokens.iter().take(MAX_ALTERNATIVES).map(|&token| Branch {
            from: Rc::clone(&from),
            print,
            token,
        });
        match is_sure {
            true => self.spare.extend(branches),
            false => self.branches.extend(branches),
        }
    }

    /// The first token of a text that ends it, or leads to a place which the way has not come by; else what fills it.
    fn through(&mut self, walk: &Walk, here: u64, ends: &[Token], fill: &[Token]) -> Option<Token> {
        let is_end = (ends.iter().map(|token| (*token, true)))
            .chain(fill.iter().map(|token| (*token, false)));
        for (token, ends) in is_end {
            self.spend()?;
            let mut ahead = walk.matcher.fork()?;
            if ahead.consume(token).is_err() {
                continue;
            }
            if ahead.is_finished() || ahead.is_accepting() || !ahead.forced().is_empty() {
                return Some(token);
            }
            let Ok(mask) = ahead.mask() else {
                continue;
            };
            let there = print(&mask);
            let leads_on = match ends {
                true => there != here,
                false => !walk.seen.contains(&there),
            };
            if leads_on && !mask.is_zero() {
                return Some(token);
            }
        }
        fill.first().copied()
    }
}

/// What tells places apart: what may come next there.
fn print(mask: &TokenMask) -> u64 {
    let words = mask.as_slice().iter();
    words.fold(0xcbf2_9ce4_8422_2325, |print, &word| {
        (print ^ u64::from(word))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
    })
}
