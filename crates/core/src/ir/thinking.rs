//! How much a model is to think before it answers, in nobody's words.

use super::Origin;

/// How hard a model is to think, least first: the words that most dialects share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effort {
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// What models do that are told nothing.
    Medium,
    /// Much.
    High,
    /// Very much.
    XHigh,
    /// All that the model can.
    Max,
}

impl Effort {
    /// Every effort, least first.
    pub const ALL: [Self; 6] = [
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The effort of a word, in any case of letters (Gemini writes `LOW`).
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let is_it = |effort: &Self| effort.as_str().eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(is_it)
    }

    /// The budget of tokens that stands for it, where a server counts: `low` to `high` as Gemini's
    /// OpenAI-compatible route counts them (ai.google.dev, "OpenAI compatibility").
    #[must_use]
    pub const fn tokens(self) -> u64 {
        match self {
            Self::Minimal | Self::Low => 1024,
            Self::Medium => 8192,
            Self::High | Self::XHigh | Self::Max => 24576,
        }
    }

    /// The effort for which a budget of tokens is nearest, on a logarithmic scale.
    #[must_use]
    pub const fn of_tokens(tokens: u64) -> Self {
        match tokens {
            // The geometric means of the budgets above.
            0..2896 => Self::Low,
            2896..14189 => Self::Medium,
            _ => Self::High,
        }
    }

    /// The nearest of those that a server knows; of two as near the lesser. `None` where it knows none.
    #[must_use]
    pub fn nearest(self, known: &[Self]) -> Option<Self> {
        let distance = |other: &Self| (self as i8).abs_diff(*other as i8);
        let by = |other: &&Self| (distance(other), **other);
        known.iter().min_by_key(by).copied()
    }
}

/// How much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Not at all.
    Off,
    /// As much as the model finds right.
    On,
    /// This hard.
    Effort(Effort),
    /// At most so many tokens, more than none.
    Tokens(u64),
}

impl Amount {
    /// The amount of a budget: no tokens are no thinking.
    #[must_use]
    pub const fn of_tokens(tokens: u64) -> Self {
        match tokens {
            0 => Self::Off,
            tokens => Self::Tokens(tokens),
        }
    }

    /// The amount of a word: an effort, or `none`.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        match Effort::of(word) {
            Some(effort) => Some(Self::Effort(effort)),
            None => word.eq_ignore_ascii_case("none").then_some(Self::Off),
        }
    }

    /// How exactly it says it, for requests that say it more than once: `off` wins over a budget, which
    /// wins over an effort.
    const fn rank(self) -> u8 {
        match self {
            Self::On => 0,
            Self::Effort(_) => 1,
            Self::Tokens(_) => 2,
            Self::Off => 3,
        }
    }
}

/// What a request says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thinking {
    /// The most exact thing that it says.
    pub amount: Amount,
    /// An effort that it says beside a budget.
    pub effort: Option<Effort>,
    /// Where it says it.
    pub origin: Origin,
    /// Every place among [`super::Request::settings`] that says it; none where the client's dialect has a field
    /// of its own for it, which is not among the settings.
    pub stated: Vec<Origin>,
}

impl Thinking {
    /// What several places say together; `None` where there are none.
    #[must_use]
    pub fn of(said: Vec<(Origin, Amount)>) -> Option<Self> {
        let (origin, amount) = said
            .iter()
            .max_by_key(|(_, amount)| amount.rank())
            .cloned()?;
        let effort = said.iter().find_map(|(_, other)| match (amount, other) {
            (Amount::Tokens(_), Amount::Effort(effort)) => Some(*effort),
            _ => None,
        });
        Some(Self {
            amount,
            effort,
            origin,
            stated: said.into_iter().map(|(origin, _)| origin).collect(),
        })
    }

    /// The same where no setting says it.
    #[must_use]
    pub fn elsewhere(said: Vec<(Origin, Amount)>) -> Option<Self> {
        let mut thinking = Self::of(said)?;
        thinking.stated.clear();
        Some(thinking)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_its_budget_and_a_budget_its_effort() {
        for effort in [Effort::Low, Effort::Medium, Effort::High] {
            assert_eq!(Effort::of_tokens(effort.tokens()), effort);
            assert_eq!(Effort::of(effort.as_str()), Some(effort));
        }
        assert_eq!(Effort::of("HIGH"), Some(Effort::High));
        assert_eq!(Effort::of("none"), None);
        assert_eq!(Effort::of_tokens(1), Effort::Low);
        assert_eq!(Effort::of_tokens(u64::MAX), Effort::High);
    }

    #[test]
    fn the_nearest_effort_is_the_lesser_of_two() {
        let three = [Effort::Low, Effort::Medium, Effort::High];
        for (effort, nearest) in [
            (Effort::Minimal, Effort::Low),
            (Effort::Medium, Effort::Medium),
            (Effort::XHigh, Effort::High),
            (Effort::Max, Effort::High),
        ] {
            assert_eq!(effort.nearest(&three), Some(nearest));
        }
        let ends = [Effort::Low, Effort::High];
        assert_eq!(Effort::Medium.nearest(&ends), Some(Effort::Low));
        assert_eq!(Effort::Medium.nearest(&[]), None);
    }

    #[test]
    fn of_several_words_the_most_exact_counts() {
        let at = |name: &str| Origin::new(name);
        let said = vec![
            (at("a"), Amount::Effort(Effort::High)),
            (at("b"), Amount::Tokens(4)),
            (at("c"), Amount::On),
        ];
        let both = Thinking::of(said.clone()).unwrap();
        assert_eq!(both.amount, Amount::Tokens(4));
        assert_eq!(both.effort, Some(Effort::High));
        assert_eq!(both.origin, at("b"));
        assert_eq!(both.stated.len(), 3);
        assert!(Thinking::elsewhere(said).unwrap().stated.is_empty());
        let off = vec![(at("a"), Amount::Off), (at("b"), Amount::Tokens(4))];
        assert_eq!(Thinking::of(off).unwrap().amount, Amount::Off);
        assert_eq!(Thinking::of(Vec::new()), None);
    }
}
