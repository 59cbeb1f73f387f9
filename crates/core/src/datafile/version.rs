//! Server versions and ranges of them.

use std::fmt;

/// A server's version: the leading numbers of what it says of itself.
///
/// `0.10.2.post2` is 0.10.2, `b7786` (a llama.cpp build) is 7786.0.0, `0.12` is 0.12.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The three numbers, missing ones 0.
    pub parts: [u32; 3],
}

impl Version {
    /// Reads a version leniently; `None` where no number leads.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['v', 'b']);
        let mut parts = [0; 3];
        let mut found = 0;
        for (slot, piece) in parts.iter_mut().zip(text.split('.')) {
            let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
            let Ok(number) = digits.parse() else { break };
            *slot = number;
            found += 1;
            if digits.len() < piece.len() {
                break;
            }
        }
        (found > 0).then_some(Self { parts })
    }

    /// The version before every other.
    pub(crate) const FIRST: Self = Self { parts: [0; 3] };

    /// The next version there could be.
    fn next(self) -> Self {
        let [major, minor, patch] = self.parts;
        Self {
            parts: [major, minor, patch.saturating_add(1)],
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.parts[0], self.parts[1], self.parts[2])
    }
}

/// A range of versions: comparisons joined by commas (`>=0.11.0, <0.12.0`), or `*`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Range {
    comparisons: Vec<(Comparison, Version)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    Above,
    Below,
    AtMost,
    Exactly,
}

impl Range {
    /// Reads a range.
    ///
    /// # Errors
    /// The comparison that cannot be read.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut comparisons = Vec::new();
        for piece in text.split(',').map(str::trim).filter(|piece| *piece != "*") {
            let (comparison, rest) = [
                (">=", Comparison::AtLeast),
                ("<=", Comparison::AtMost),
                (">", Comparison::Above),
                ("<", Comparison::Below),
                ("=", Comparison::Exactly),
            ]
            .into_iter()
            .find_map(|(sign, comparison)| piece.strip_prefix(sign).map(|rest| (comparison, rest)))
            .ok_or_else(|| {
                format!("`{piece}` is no version comparison: write >=, >, <, <= or = and a version")
            })?;
            let version = Version::parse(rest).ok_or_else(|| format!("`{rest}` is no version"))?;
            comparisons.push((comparison, version));
        }
        Ok(Self { comparisons })
    }

    /// Where the range begins or ceases to hold. Between two neighbouring edges of a set of
    /// ranges, none of them changes: one version stands for all.
    pub(crate) fn edges(&self) -> impl Iterator<Item = Version> + '_ {
        self.comparisons
            .iter()
            .flat_map(|(comparison, bound)| match comparison {
                Comparison::AtLeast | Comparison::Below => [*bound; 2],
                Comparison::Above | Comparison::AtMost => [bound.next(); 2],
                Comparison::Exactly => [*bound, bound.next()],
            })
    }

    /// Whether a version lies in the range. An unknown version is taken for the newest.
    #[must_use]
    pub fn contains(&self, version: Option<Version>) -> bool {
        let version = version.unwrap_or(Version {
            parts: [u32::MAX; 3],
        });
        self.comparisons
            .iter()
            .all(|(comparison, bound)| match comparison {
                Comparison::AtLeast => version >= *bound,
                Comparison::Above => version > *bound,
                Comparison::Below => version < *bound,
                Comparison::AtMost => version <= *bound,
                Comparison::Exactly => version == *bound,
            })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.comparisons.is_empty() {
            return f.write_str("*");
        }
        for (at, (comparison, bound)) in self.comparisons.iter().enumerate() {
            let sign = match comparison {
                Comparison::AtLeast => ">=",
                Comparison::Above => ">",
                Comparison::Below => "<",
                Comparison::AtMost => "<=",
                Comparison::Exactly => "=",
            };
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{sign}{bound}")?;
        }
        Ok(())
    }
}
