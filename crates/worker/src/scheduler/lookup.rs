//! Prompt look-up: the tokens of a prompt and of the answer so far come in; those that followed
//! their end where it stood before go out, as a draft of what the model may say next.
//!
//! An answer that takes texts out of its prompt, or repeats itself, says what was said before. A
//! draft costs one more token of a forward pass each, where a token by itself costs a whole one.
//! How long drafts are follows from how many of the last ones were right; how much of one is worth its
//! time on this machine is another question.

use crate::vocabulary::Token;

/// How many tokens must be the same for what followed them to be looked at, the surest first.
const LENGTHS: [usize; 2] = [3, 2];
/// Tokens of the first draft.
const FIRST: usize = 4;
/// Entries of a table, at most: of longer sequences it keeps those that came last.
const MAX_ENTRIES: usize = 1 << 15;
const MIN_ENTRIES: usize = 1 << 6;
/// Drafts of which nothing was right, one after the other, that lengthen the pause before the next
/// one: to so many tokens, as a power of two.
const MAX_FAILURES: u32 = 6;

/// What one answer's drafts are taken from.
#[derive(Debug)]
pub(super) struct Lookup {
    tokens: Vec<Token>,
    /// One for each of [`LENGTHS`].
    tables: [Table; LENGTHS.len()],
    /// What stands before each of the first so many tokens is in the tables.
    indexed: usize,
    /// Tokens of a draft, at most.
    most: usize,
    /// Tokens of the next one.
    size: usize,
    failures: u32,
    /// Proposals that are left out.
    pause: u32,
}

/// Places by what stands before them. A place that another one has the entry of is forgotten.
#[derive(Debug)]
struct Table {
    /// The number of a token; 0, which nothing stands before, for none. Their count is a power of
    /// two; made when it is first written to.
    places: Vec<u32>,
    entries: usize,
}

impl Table {
    fn new(entries: usize) -> Self {
        Self {
            places: Vec::new(),
            entries,
        }
    }

    /// FNV-1a over whole tokens; the upper bits are the better ones.
    fn entry(&self, tokens: &[Token]) -> usize {
        let hash = tokens
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, token| {
                (hash ^ u64::from(*token)).wrapping_mul(0x0100_0000_01b3)
            });
        let hash = hash ^ (hash >> 32);
        usize::try_from(hash).unwrap_or(0) & (self.entries - 1)
    }

    fn put(&mut self, before: &[Token], place: usize) {
        self.places.resize(self.entries, 0);
        let entry = self.entry(before);
        self.places[entry] = u32::try_from(place).unwrap_or(0);
    }

    /// The place that was put last behind these tokens, or behind others of the same hash.
    fn get(&self, before: &[Token]) -> Option<usize> {
        let place = *self.places.get(self.entry(before))?;
        (place > 0).then_some(place as usize)
    }
}

impl Lookup {
    /// Of an answer to this prompt, which has at most `length` tokens with it. `most`: tokens of
    /// one draft.
    pub(super) fn new(prompt: &[Token], length: u32, most: u32) -> Self {
        let entries = (length as usize).saturating_mul(2);
        let entries = entries.clamp(MIN_ENTRIES, MAX_ENTRIES).next_power_of_two();
        let most = most as usize;
        Self {
            tokens: prompt.to_vec(),
            tables: LENGTHS.map(|_| Table::new(entries)),
            indexed: 0,
            most,
            size: FIRST.min(most),
            failures: 0,
            pause: 0,
        }
    }

    /// Takes the next token of the answer.
    pub(super) fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// At most `room` tokens that may come next; often none.
    pub(super) fn propose(&mut self, room: usize) -> Vec<Token> {
        self.index();
        if self.pause > 0 {
            self.pause -= 1;
            return Vec::new();
        }
        let Some((place, length)) = self.find() else {
            return Vec::new();
        };
        // What fewer tokens tell is less sure.
        let size = match length == LENGTHS[0] {
            true => self.size,
            false => self.size.div_ceil(2),
        };
        let mut draft: Vec<Token> = Vec::with_capacity(size);
        for at in place..place + size.min(room) {
            // What repeats itself goes on with its own repetition.
            let known = self.tokens.get(at);
            let Some(token) = known.or_else(|| draft.get(at - self.tokens.len())) else {
                break;
            };
            draft.push(*token);
        }
        draft
    }

    /// How many tokens of a draft were right.
    pub(super) fn learn(&mut self, drafted: usize, right: usize) {
        match right {
            0 => {
                self.failures = (self.failures + 1).min(MAX_FAILURES);
                self.pause = (1 << self.failures) - 2;
                self.size = (self.size / 2).max(1);
            }
            right => {
                self.failures = 0;
                self.size = match right < drafted {
                    true => right + 1,
                    false => self.size.max(drafted) * 2,
                };
            }
        }
        self.size = self.size.min(self.most);
    }

    /// Puts in the tables what is not there yet. What nothing follows yet is left out.
    fn index(&mut self) {
        for place in self.indexed..self.tokens.len() {
            for (length, table) in LENGTHS.iter().zip(&mut self.tables) {
                if let Some(from) = place.checked_sub(*length) {
                    table.put(&self.tokens[from..place], place);
                }
            }
        }
        self.indexed = self.tokens.len();
    }

    /// The place behind the latest earlier occurrence of the last tokens, and how many of them.
    fn find(&self) -> Option<(usize, usize)> {
        let end = self.tokens.len();
        LENGTHS
            .iter()
            .zip(&self.tables)
            .find_map(|(length, table)| {
                let last = self.tokens.get(end.checked_sub(*length)?..)?;
                let place = table.get(last)?;
                let is_same = self.tokens.get(place - length..place) == Some(last);
                is_same.then_some((place, *length))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, Lookup, MAX_ENTRIES, MAX_FAILURES, Token};
    use proptest::collection::vec;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    fn lookup(tokens: &[Token]) -> Lookup {
        Lookup::new(tokens, 1_000, 8)
    }

    #[test]
    fn what_followed_the_last_tokens_before_is_proposed() {
        assert_eq!(
            lookup(&[1, 2, 3, 4, 5, 6, 7, 1, 2, 3]).propose(8),
            [4, 5, 6, 7]
        );
        assert_eq!(lookup(&[1, 2, 3, 4, 5, 6, 7, 1, 2, 3]).propose(2), [4, 5]);
        assert!(lookup(&[1, 2, 3, 4, 5, 6, 7, 8]).propose(8).is_empty());
        for few in [&[][..], &[1], &[1, 1]] {
            assert!(lookup(few).propose(8).is_empty(), "{few:?}");
        }
    }

    #[test]
    fn the_latest_occurrence_counts_and_three_tokens_before_two() {
        let tokens = [1, 2, 3, 4, 9, 1, 2, 3, 5, 9, 7, 1, 2, 3];
        assert_eq!(lookup(&tokens).propose(1), [5]);
        // `2 3` stood last before 8, `1 2 3` before 4.
        let tokens = [1, 2, 3, 4, 9, 2, 3, 8, 7, 1, 2, 3];
        assert_eq!(lookup(&tokens).propose(1), [4]);
        // Two alone make half of a draft.
        let tokens = [2, 3, 8, 7, 6, 5, 1, 2, 3];
        assert_eq!(lookup(&tokens).propose(8), [8, 7]);
    }

    #[test]
    fn the_answers_own_tokens_are_looked_at_too() {
        let mut lookup = lookup(&[]);
        for token in [1, 2, 3, 4, 5, 1, 2] {
            lookup.push(token);
            lookup.propose(0);
        }
        lookup.push(3);
        assert_eq!(lookup.propose(8), [4, 5, 1, 2]);
    }

    #[test]
    fn what_repeats_itself_is_proposed_beyond_its_end() {
        assert_eq!(lookup(&[7, 7, 7, 7]).propose(4), [7, 7, 7, 7]);
        assert_eq!(lookup(&[1, 2, 1, 2, 1]).propose(4), [2, 1, 2, 1]);
    }

    #[test]
    fn drafts_grow_while_they_are_right_and_shrink_where_they_are_not() {
        let length = |lookup: &mut Lookup| lookup.propose(100).len();
        let mut lookup = lookup(&[7; 20]);
        assert_eq!(length(&mut lookup), FIRST);
        lookup.learn(4, 4);
        assert_eq!(length(&mut lookup), 8);
        lookup.learn(8, 8);
        assert_eq!(length(&mut lookup), 8, "never more than may be drafted");
        lookup.learn(8, 2);
        assert_eq!(length(&mut lookup), 3);
        lookup.learn(3, 0);
        assert_eq!(length(&mut lookup), 1);
    }

    #[test]
    fn while_nothing_is_right_pauses_grow_and_one_right_token_ends_that() {
        let mut lookup = lookup(&[7; 20]);
        let pause = |lookup: &mut Lookup| {
            let is_none = |lookup: &mut Lookup| lookup.propose(100).is_empty();
            (0..).take_while(|_| is_none(lookup)).count()
        };
        let mut pauses = Vec::new();
        for _ in 0..MAX_FAILURES + 2 {
            lookup.learn(1, 0);
            pauses.push(pause(&mut lookup));
        }
        assert_eq!(pauses, [0, 2, 6, 14, 30, 62, 62, 62]);
        lookup.learn(1, 1);
        assert_eq!(pause(&mut lookup), 0);
        lookup.learn(2, 0);
        assert_eq!(pause(&mut lookup), 0);
    }

    #[test]
    fn the_tables_are_bounded_and_keep_what_came_last() {
        let mut tokens: Vec<Token> = (0..200_000).collect();
        tokens.extend([199_990, 199_991, 199_992]);
        let mut lookup = Lookup::new(&tokens, u32::MAX, 8);
        assert_eq!(lookup.propose(2), [199_993, 199_994]);
        for table in &lookup.tables {
            assert_eq!(table.places.len(), MAX_ENTRIES);
        }
    }

    proptest! {
        #[test]
        fn a_proposal_is_what_a_search_from_the_end_finds(tokens in vec(0..4_u32, 0..60)) {
            let draft = Lookup::new(&tokens, 1 << 14, 8).propose(8);
            let end = tokens.len();
            let found = [3, 2].iter().find_map(|length| {
                let last = tokens.get(end.checked_sub(*length)?..)?;
                let before = |place: &usize| &tokens[place - length..*place] == last;
                Some(((*length..end).rev().find(before)?, *length))
            });
            let Some((place, length)) = found else {
                prop_assert!(draft.is_empty());
                return Ok(());
            };
            prop_assert_eq!(draft.len(), if length == 3 { 4 } else { 2 });
            for (at, token) in draft.iter().enumerate() {
                let known = tokens.get(place + at);
                let repeated = known.or_else(|| draft.get((place + at).checked_sub(end)?));
                prop_assert_eq!(Some(token), repeated);
            }
        }
    }
}
