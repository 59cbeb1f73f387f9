//! A grammar's terminals: one of them and what is written of it come in; the fewest bytes that end it go out.
//!
//! The automata are a grammar's second ones: what is looked up here takes nothing from what llguidance may learn.

use super::spelling::Spelling;
use ::llguidance::api::ParserLimits;
use ::llguidance::derivre::{NextByte, StateID};
use ::llguidance::earley::lexerspec::{LexemeIdx, LexerSpec};
use ::llguidance::earley::regexvec::{LexemeSet, RegexVec};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// States of all automata, of a kilobyte each at most.
const MAX_STATES: usize = 20_000;
/// Expressions that may be made for one question.
const FUEL: u64 = 5_000_000;
/// Places that are looked at for one terminal's end.
const MAX_PLACES: usize = 4_000;
/// An end of so many bytes is worth being made of longer tokens.
const LONG: usize = 12;

/// The automata of a grammar's terminals.
pub(super) struct Terminals {
    spec: LexerSpec,
    limits: ParserLimits,
    is_json: bool,
    automata: RegexVec,
    /// One byte of each kind that the automata tell apart, those first that texts are made of.
    bytes: Vec<u8>,
    ends: HashMap<(StateID, bool), Option<End>>,
    /// The shortest texts of whole terminals.
    whole: HashMap<LexemeIdx, Option<End>>,
    edition: u32,
}

/// The end of a terminal, or the whole of it.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) text: Arc<[u8]>,
    pub(super) cost: u32,
}

/// What a byte does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on with what is open.
    Inside(StateID),
    /// It is the last one of any of these terminals.
    Last(Vec<LexemeIdx>),
    /// Any of these terminals ended before it.
    Past(Vec<LexemeIdx>),
}

impl Terminals {
    /// `is_json`: texts of theirs are within JSON.
    pub(super) fn of(spec: &LexerSpec, limits: &ParserLimits, is_json: bool) -> Option<Self> {
        let automata = automata(spec, limits)?;
        let bytes = kinds(&automata);
        Some(Self {
            spec: spec.clone(),
            limits: limits.clone(),
            is_json,
            automata,
            bytes,
            ends: HashMap::new(),
            whole: HashMap::new(),
            edition: 0,
        })
    }

    /// Begins a question.
    pub(super) fn refuel(&mut self) {
        self.automata.set_fuel(FUEL);
    }

    /// Whether there are too many states, or a question was too hard: nothing that was answered holds.
    pub(super) fn is_spent(&self) -> bool {
        self.automata.has_error()
    }

    /// Makes the automata anew. Their states are others than before.
    pub(super) fn renew(&mut self) -> Option<()> {
        self.automata = automata(&self.spec, &self.limits)?;
        self.ends.clear();
        self.edition += 1;
        Some(())
    }

    /// How often the automata were made anew.
    pub(super) fn edition(&self) -> u32 {
        self.edition
    }

    /// Where any of these terminals, and the space that may stand before them, begins.
    pub(super) fn start(&mut self, terminals: impl Iterator<Item = LexemeIdx>) -> StateID {
        let mut set = self.spec.alloc_lexeme_set();
        for terminal in terminals {
            set.add(terminal);
            set.add(self.spec.skip_id(self.spec.lexeme_spec(terminal).class()));
        }
        self.automata.initial_state(&set)
    }

    /// Whether a terminal is the space between others.
    pub(super) fn is_space(&self, terminal: LexemeIdx) -> bool {
        self.spec.skip_by_class.contains(&terminal)
    }

    /// As llguidance's lexer does it. `None`: no terminal takes it.
    pub(super) fn step(&mut self, state: StateID, byte: u8) -> Option<Step> {
        let next = self.automata.transition(state, byte);
        if next.is_dead() {
            let ended = self.ended(state);
            return (!ended.is_empty()).then_some(Step::Past(ended));
        }
        Some(match next.has_lowest_match() {
            true => {
                let ended = &self.automata.state_desc(next).lazy_accepting;
                Step::Last(ended.as_slice().to_vec())
            }
            false => Step::Inside(next),
        })
    }

    /// The first byte of a terminal, behind which it may be over at once.
    pub(super) fn begin(&mut self, start: StateID, byte: u8) -> Option<Step> {
        match self.step(start, byte)? {
            Step::Inside(state) if self.automata.next_byte(state) == NextByte::ForcedEOI => {
                Some(Step::Last(self.ended(state)))
            }
            Step::Past(_) => None,
            step => Some(step),
        }
    }

    /// The terminals that may end at a state.
    pub(super) fn ended(&self, state: StateID) -> Vec<LexemeIdx> {
        let ended = &self.automata.state_desc(state).greedy_accepting;
        ended.as_slice().to_vec()
    }

    /// The terminals that may still come of a state.
    pub(super) fn possible(&self, state: StateID) -> Vec<LexemeIdx> {
        self.automata.state_desc(state).possible.iter().collect()
    }

    /// The shortest text of a terminal.
    pub(super) fn shortest(&mut self, terminal: LexemeIdx, spelling: &Spelling) -> Option<End> {
        if let Some(whole) = self.whole.get(&terminal) {
            return whole.clone();
        }
        let only = self.only(terminal);
        let start = self.automata.initial_state(&only);
        let whole = self.end_of(start, false, spelling);
        if !self.is_spent() {
            self.whole.insert(terminal, whole.clone());
        }
        whole
    }

    /// The same, where it was asked for before.
    pub(super) fn known(&self, terminal: LexemeIdx) -> Option<&[u8]> {
        let whole = self.whole.get(&terminal)?.as_ref();
        whole.map(|end| &*end.text)
    }

    /// What ends a terminal of which a state is inside.
    pub(super) fn end(
        &mut self,
        terminal: LexemeIdx,
        state: StateID,
        spelling: &Spelling,
    ) -> Option<End> {
        let only = self.only(terminal);
        let state = self.automata.limit_state_to(state, &only);
        self.end_of(state, true, spelling)
    }

    fn only(&self, terminal: LexemeIdx) -> LexemeSet {
        let mut only = self.spec.alloc_lexeme_set();
        only.add(terminal);
        only
    }

    fn end_of(&mut self, from: StateID, may_be_empty: bool, spelling: &Spelling) -> Option<End> {
        if let Some(end) = self.ends.get(&(from, may_be_empty)) {
            return end.clone();
        }
        let end = self.search(from, may_be_empty).and_then(|states| {
            let text = match states.len() > LONG {
                true => self.with_long_tokens(&states, spelling),
                false => states.iter().filter_map(|&(byte, _)| byte).collect(),
            };
            let cost = spelling.cost(&text)?;
            Some(End {
                text: text.into(),
                cost,
            })
        });
        self.ends.insert((from, may_be_empty), end.clone());
        end
    }

    fn is_end(&self, state: StateID) -> bool {
        state.has_lowest_match() || self.automata.state_desc(state).greedy_accepting.is_some()
    }

    /// The fewest bytes from a state of one terminal to its end, each with the state behind it; before them the state
    /// itself.
    fn search(&mut self, from: StateID, may_be_empty: bool) -> Option<Vec<(Option<u8>, StateID)>> {
        let mut ways = vec![(from, 0, None)];
        if from.is_dead() {
            return None;
        }
        let mut known = HashSet::from([from]);
        let mut at = 0;
        while let Some(&(state, _, last)) = ways.get(at) {
            if (at > 0 || may_be_empty) && self.is_end(state) {
                let mut path = Vec::new();
                let mut place = at;
                loop {
                    let (state, before, byte) = ways[place];
                    path.push((byte, state));
                    if place == 0 {
                        path.reverse();
                        return Some(path);
                    }
                    place = before;
                }
            }
            let forced = match self.automata.next_byte(state) {
                NextByte::ForcedByte(byte) => Some(byte),
                _ => None,
            };
            let count = forced.map_or(self.bytes.len(), |_| 1);
            for number in 0..count {
                let byte = forced.unwrap_or(self.bytes[number]);
                // A name that llguidance takes for another one because it is written otherwise.
                if self.is_json && (last, byte) == (Some(b'\\'), b'u') {
                    continue;
                }
                let next = self.automata.transition(state, byte);
                // A state that ends a terminal may be the one that it begins with.
                let is_new = next == from && at == 0 && !may_be_empty && self.is_end(next);
                if !next.is_dead() && (known.insert(next) || is_new) {
                    ways.push((next, at, Some(byte)));
                }
            }
            if ways.len() > MAX_PLACES || self.is_spent() {
                return None;
            }
            at += 1;
        }
        None
    }

    /// The same way by the longest tokens that come out at the same states: what fills a text is any text.
    fn with_long_tokens(&mut self, path: &[(Option<u8>, StateID)], spelling: &Spelling) -> Vec<u8> {
        let fillers = spelling.fillers();
        let mut text = Vec::new();
        let mut at = 0;
        while let Some(&(Some(byte), _)) = path.get(at + 1) {
            let (_, from) = path[at];
            let filler = fillers.iter().find(|filler| {
                let same = path.get(at + filler.len()).map(|&(_, state)| state);
                same.is_some() && self.walk(from, filler) == same
            });
            match filler {
                Some(filler) => {
                    text.extend_from_slice(filler);
                    at += filler.len();
                }
                None => {
                    text.push(byte);
                    at += 1;
                }
            }
        }
        text
    }

    /// The state behind these bytes, where no terminal ends before the last of them.
    fn walk(&mut self, mut state: StateID, bytes: &[u8]) -> Option<StateID> {
        for &byte in bytes {
            if state.has_lowest_match() || state.is_dead() {
                return None;
            }
            state = self.automata.transition(state, byte);
        }
        Some(state)
    }
}

fn automata(spec: &LexerSpec, limits: &ParserLimits) -> Option<RegexVec> {
    let mut automata = spec.to_regex_vec(&mut limits.clone()).ok()?;
    automata.set_max_states(MAX_STATES);
    automata.set_fuel(FUEL);
    Some(automata)
}

fn kinds(automata: &RegexVec) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
    bytes.sort_by_key(|byte| {
        let is_printed = (b' '..=b'~').contains(byte);
        (
            !byte.is_ascii_lowercase(),
            !byte.is_ascii_alphanumeric(),
            !is_printed,
        )
    });
    let mut known = HashSet::new();
    bytes.retain(|&byte| known.insert(automata.alpha().map(byte)));
    bytes
}
