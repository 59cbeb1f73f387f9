//! The shortest ways to an answer's end: what is written of it comes in; the fewest bytes that make it whole go out, as
//! few tokens.
//!
//! llguidance tells which tokens may come next, not how far the end is. Its compiled grammar does: each terminal has a
//! shortest text, so each symbol has, and an Earley chart of what is written knows what is still open.

mod chart;
mod rules;
mod spelling;
mod terminals;

pub(super) use chart::Chart;
pub(super) use spelling::Spelling;

use ::llguidance::TokenParser;
use ::llguidance::api::ParserLimits;
use chart::Reader;
use rules::{Costs, Rules};
use std::sync::{Arc, Mutex, PoisonError};
use terminals::Terminals;

/// The least that a token costs: one byte, and being a token.
const LEAST_COST: u32 = 1 + spelling::TOKEN_COST;

/// What is known of one grammar, for all answers under it. It is made when it is first asked for.
pub(super) struct Ways {
    start: Arc<Mutex<TokenParser>>,
    limits: ParserLimits,
    is_json: bool,
    /// How many things one token opens at most, one in another.
    levels: u32,
    known: Mutex<State>,
}

enum State {
    Unread,
    Known(Box<Known>),
    /// It has something that a chart does not follow.
    Unknown,
}

struct Known {
    rules: Rules,
    costs: Costs,
    terminals: Terminals,
}

impl Ways {
    /// Those of the grammar of a parser at its start. `is_json`: what is free in it is within JSON.
    pub(super) fn new(
        start: Arc<Mutex<TokenParser>>,
        limits: ParserLimits,
        is_json: bool,
        levels: u32,
    ) -> Self {
        Self {
            start,
            limits,
            is_json,
            levels,
            known: Mutex::new(State::Unread),
        }
    }

    /// The bytes that make an answer whole of which this is written, and these bytes ahead of it. `chart`: the same
    /// answer's, from call to call.
    pub(super) fn end(
        &self,
        chart: &mut Chart,
        written: &[u8],
        ahead: &[u8],
        spelling: &Spelling,
    ) -> Option<Vec<u8>> {
        let mut state = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known(&mut state, spelling)?;
        // A second time with new automata, where the old ones had learnt all that they may.
        for _ in 0..2 {
            known.terminals.refuel();
            let most = self.limits.max_items_in_row;
            let terminals = &mut known.terminals;
            let mut reader = Reader::new(&known.rules, &known.costs, terminals, spelling, most);
            let end = reader.end(chart, written, ahead);
            if !known.terminals.is_spent() {
                return end;
            }
            known.terminals.renew()?;
        }
        chart.give_up();
        None
    }

    /// How many tokens the shortest text of any symbol has, at most, and that for each that one token opens: it takes so
    /// many to close them.
    pub(super) fn growth(&self, spelling: &Spelling) -> Option<u32> {
        let mut state = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known(&mut state, spelling)?;
        let one = known.costs.most().div_ceil(LEAST_COST);
        Some(one.saturating_mul(self.levels))
    }

    fn known<'s>(&self, state: &'s mut State, spelling: &Spelling) -> Option<&'s mut Known> {
        if matches!(state, State::Unread) {
            *state = match self.read(spelling) {
                Some(known) => State::Known(Box::new(known)),
                None => State::Unknown,
            };
        }
        match state {
            State::Known(known) => Some(known),
            State::Unread | State::Unknown => None,
        }
    }

    fn read(&self, spelling: &Spelling) -> Option<Known> {
        let start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let grammar = start.parser.grammar();
        let rules = Rules::of(grammar)?;
        let mut terminals = Terminals::of(grammar.lexer_spec(), &self.limits, self.is_json)?;
        drop(start);
        let costs = rules.costs(|terminal| Some(terminals.shortest(terminal, spelling)?.cost));
        let is_whole = !terminals.is_spent() && costs.of(rules.start()).is_some();
        is_whole.then_some(Known {
            rules,
            costs,
            terminals,
        })
    }
}
