//! A sequence: tokens, and media in their places among them.
//!
//! Places are counted in tokens, of which media have as many as they take in the KV cache. The
//! kernels count positions, which are the same but behind media of models with M-RoPE.

use super::Media;
use crate::vocabulary::Token;
use std::sync::Arc;

/// What stands for each of a medium's tokens. No vocabulary has it.
pub const FILLER: Token = Token::MAX;

/// A medium in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// How many tokens come before it.
    pub at: u32,
    /// What it is.
    pub media: Arc<Media>,
}

impl Placed {
    fn end(&self) -> u32 {
        self.at.saturating_add(self.media.tokens)
    }
}

/// Tokens, and media among them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sequence {
    tokens: Vec<Token>,
    /// In order.
    media: Vec<Placed>,
}

impl From<Vec<Token>> for Sequence {
    fn from(tokens: Vec<Token>) -> Self {
        Self {
            tokens,
            media: Vec::new(),
        }
    }
}

impl Sequence {
    /// How many tokens it has, those of media among them.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.tokens.len()).unwrap_or(u32::MAX)
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The tokens; in the places of media, [`FILLER`].
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// The tokens that are tokens.
    pub fn text(&self) -> impl Iterator<Item = Token> + '_ {
        let fillers = &self.media;
        let mut next = 0;
        (0..).zip(&self.tokens).filter_map(move |(at, token)| {
            while fillers.get(next).is_some_and(|placed| placed.end() <= at) {
                next += 1;
            }
            let is_media = fillers.get(next).is_some_and(|placed| placed.at <= at);
            (!is_media).then_some(*token)
        })
    }

    /// The media, in order.
    #[must_use]
    pub fn media(&self) -> &[Placed] {
        &self.media
    }

    /// Puts a token at the end.
    pub fn push(&mut self, token: Token) {
        self.tokens.push(token);
    }

    /// Puts tokens at the end.
    pub fn extend(&mut self, tokens: &[Token]) {
        self.tokens.extend_from_slice(tokens);
    }

    /// Puts a token at the beginning.
    pub fn begin(&mut self, token: Token) {
        self.tokens.insert(0, token);
        for placed in &mut self.media {
            placed.at += 1;
        }
    }

    /// Puts a medium at the end.
    pub fn push_media(&mut self, media: Arc<Media>) {
        let at = self.len();
        let tokens = self.tokens.len().saturating_add(media.tokens as usize);
        self.tokens.resize(tokens, FILLER);
        self.media.push(Placed { at, media });
    }

    /// Keeps the first tokens alone. A medium is kept whole or not at all.
    pub fn truncate(&mut self, length: u32) {
        let length = self.floor(length);
        self.tokens.truncate(length as usize);
        self.media.retain(|placed| placed.at < length);
    }

    /// Whether no token comes after the last medium.
    #[must_use]
    pub fn ends_with_media(&self) -> bool {
        let last = self.media.last();
        last.is_some_and(|last| last.end() == self.len())
    }

    /// The medium that begins here.
    #[must_use]
    pub fn media_at(&self, at: u32) -> Option<&Arc<Media>> {
        let found = self.media.binary_search_by_key(&at, |placed| placed.at);
        Some(&self.media[found.ok()?].media)
    }

    /// How many tokens come from here on before a medium begins, or the end.
    #[must_use]
    pub fn run(&self, from: u32) -> u32 {
        let next = self.media.partition_point(|placed| placed.at < from);
        let end = self.media.get(next).map_or(self.len(), |placed| placed.at);
        end.saturating_sub(from)
    }

    /// This place, or the beginning of the medium that it is inside of.
    #[must_use]
    pub fn floor(&self, place: u32) -> u32 {
        let next = self.media.partition_point(|placed| placed.at < place);
        match next.checked_sub(1).map(|last| &self.media[last]) {
            Some(placed) if placed.end() > place => placed.at,
            _ => place.min(self.len()),
        }
    }

    /// The kernels' position at this place, which is inside of no medium.
    #[must_use]
    pub fn position(&self, place: u32) -> u32 {
        let before = self.media.iter().take_while(|placed| placed.at < place);
        let saved = |placed: &Placed| placed.media.tokens.saturating_sub(placed.media.positions);
        place.saturating_sub(before.map(saved).sum())
    }

    /// How many tokens both begin with. Media are the same if their content is.
    #[must_use]
    pub fn common(&self, other: &Self) -> u32 {
        let alike = self.tokens.iter().zip(&other.tokens);
        let alike = alike.take_while(|(one, other)| one == other).count();
        let mut alike = u32::try_from(alike).unwrap_or(u32::MAX);
        for (index, placed) in self.media.iter().enumerate() {
            if placed.at < alike && other.media.get(index) != Some(placed) {
                alike = placed.at;
            }
        }
        self.floor(alike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ab`, a medium of five tokens and two positions, `cd`.
    fn sequence(key: u128) -> Sequence {
        let mut sequence = Sequence::from(vec![1, 2]);
        sequence.push_media(Media::empty(key, 5, 2));
        sequence.extend(&[3, 4]);
        sequence
    }

    #[test]
    fn a_medium_takes_its_tokens_and_moves_positions_by_fewer() {
        let sequence = sequence(7);
        assert_eq!(sequence.len(), 9);
        assert_eq!(sequence.text().collect::<Vec<_>>(), [1, 2, 3, 4]);
        let positions: Vec<u32> = [0, 1, 2, 7, 8].map(|at| sequence.position(at)).into();
        assert_eq!(positions, [0, 1, 2, 4, 5]);
        let runs: Vec<u32> = [0, 1, 2, 7, 9].map(|at| sequence.run(at)).into();
        assert_eq!(runs, [2, 1, 0, 2, 0]);
        assert!(sequence.media_at(2).is_some());
        assert!(sequence.media_at(3).is_none());
    }

    #[test]
    fn sequences_are_cut_before_a_medium_or_behind_it() {
        let floors: Vec<u32> = (0..=10).map(|at| sequence(7).floor(at)).collect();
        assert_eq!(floors, [0, 1, 2, 2, 2, 2, 2, 7, 8, 9, 9]);
        let mut cut = sequence(7);
        assert!(!cut.ends_with_media());
        cut.truncate(7);
        assert!(cut.ends_with_media());
        cut.truncate(6);
        assert_eq!(cut, Sequence::from(vec![1, 2]));
    }

    #[test]
    fn a_beginning_is_common_up_to_the_first_medium_of_another_content() {
        assert_eq!(sequence(7).common(&sequence(7)), 9);
        assert_eq!(sequence(7).common(&sequence(8)), 2);
        // The same number of fillers, of one medium and of two.
        let mut two = Sequence::from(vec![1, 2]);
        two.push_media(Media::empty(7, 3, 3));
        two.push_media(Media::empty(7, 2, 2));
        two.extend(&[3, 4]);
        let one = sequence(7);
        assert_eq!(one.common(&two), 2);
        assert_eq!(one.common(&Sequence::from(vec![1, 2, 3])), 2);
        let mut shorter = sequence(7);
        shorter.truncate(7);
        assert_eq!(shorter.common(&sequence(7)), 7);
        assert_eq!(sequence(7).common(&shorter), 7);
    }

    #[test]
    fn a_token_at_the_beginning_moves_the_media() {
        let mut moved = sequence(7);
        moved.begin(9);
        assert_eq!(moved.media()[0].at, 3);
        assert_eq!(moved.text().collect::<Vec<_>>(), [9, 1, 2, 3, 4]);
    }
}
