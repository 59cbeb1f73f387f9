//! Answers that go on and on: how many tokens of an answer its constraint has covered comes in; how strongly the answer is
//! to be pushed towards its end goes out.
//!
//! A constraint keeps a weak model from the end that it would write, and a list that counts on never repeats itself. Only
//! where nobody said how long the answer may be: who says so gets as much.

/// So many tokens are sensible, or half of those that there is room for.
const SENSIBLE: u32 = 2_048;
/// After so many more the push is the strongest, or with a quarter of the room behind the sensible ones left.
const GROWING: u32 = 2_048;

/// How long one answer is, and may sensibly be.
#[derive(Debug)]
pub(super) struct Length {
    taken: u32,
    sensible: u32,
    step: f32,
}

impl Length {
    /// Of an answer that has room for so many tokens. `strongest`: the strongest push, in logits.
    pub(super) fn new(room: u32, strongest: f32) -> Self {
        let sensible = SENSIBLE.min(room / 2);
        let behind = room - sensible;
        let growing = GROWING.min(behind - behind / 4).max(1);
        Self {
            taken: 0,
            sensible,
            step: strongest / growing as f32,
        }
    }

    /// Counts a token.
    pub(super) fn push(&mut self) {
        self.taken = self.taken.saturating_add(1);
    }

    /// What the logits of tokens that lead to the end are raised by. It grows on behind the strongest: whoever asks bounds
    /// it.
    pub(super) fn pressure(&self) -> Option<f32> {
        let more = self.taken.checked_sub(self.sensible)?;
        (more > 0).then_some(more as f32 * self.step)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn after(tokens: u32, room: u32) -> Option<f32> {
        let mut length = Length::new(room, 40.0);
        (0..tokens).for_each(|_| length.push());
        length.pressure()
    }

    #[test]
    fn what_is_as_long_as_is_sensible_is_left_alone() {
        for (room, sensible) in [(100_000, SENSIBLE), (4_096, 2_048), (1_000, 500), (2, 1)] {
            assert_eq!(after(sensible, room), None, "{room}");
            assert!(after(sensible + 1, room).unwrap() > 0.0, "{room}");
        }
    }

    #[test]
    fn the_push_grows_evenly_to_the_strongest_before_the_room_is_spent() {
        let some = after(SENSIBLE + GROWING / 4, 100_000).unwrap();
        assert!((some - 10.0).abs() < 0.1, "{some}");
        for room in [100_000, 6_000, 3_000, 400, 40] {
            let spent = SENSIBLE.min(room / 2) + GROWING.min(room - room / 2);
            assert!(after(spent.min(room - 1), room).unwrap() >= 40.0, "{room}");
        }
    }
}
