//! A request's body, and what one look at it found.

use super::cost;
use crate::error::Error;
use crate::json::skeleton::{Skeleton, Skimmer};
use crate::json::{mend_words, place, strict};
use bytes::Bytes;
use std::ops::Range;

/// Bytes that may be anything, and what is left of them without the inside of long texts.
#[derive(Debug, Clone)]
pub struct Body {
    bytes: Bytes,
    skeleton: Option<Skeleton>,
}

impl From<Bytes> for Body {
    /// Looks at all of it, once.
    fn from(bytes: Bytes) -> Self {
        let skeleton = Skeleton::of(&bytes);
        Self { bytes, skeleton }
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl Body {
    /// A body that was looked at as it came; `None` where all of it is to be read.
    #[must_use]
    pub fn skimmed(bytes: &Bytes, skimmer: Skimmer) -> Option<Self> {
        let skeleton = Some(skimmer.finish(bytes)?);
        let bytes = bytes.clone();
        Some(Self { bytes, skeleton })
    }

    /// How many bytes of it are read for what it says, texts aside.
    #[must_use]
    pub fn read_bytes(&self) -> usize {
        self.read().len()
    }

    /// The same of a body that is known to be strict JSON if what stands there is: it alone is looked at, and checked. `None` where it
    /// is not, or where only the whole body tells.
    pub(crate) fn around(bytes: &Bytes, at: &Range<usize>) -> Option<Self> {
        let (before, after) = (bytes.get(..at.start)?, bytes.get(at.end..)?);
        let skeleton = Skeleton::of(bytes.get(at.clone())?);
        let body = Self {
            bytes: bytes.clone(),
            skeleton: skeleton.map(|skeleton| skeleton.between(before, after)),
        };
        body.checked(at)
    }

    /// The body, if what stands there is strict JSON, as all around it is known to be.
    pub(crate) fn checked(self, at: &Range<usize>) -> Option<Self> {
        let inner = self.inside(at)?;
        let around = self.bytes.len().checked_sub(at.len())?;
        let all = strict::Limits::default();
        // A value takes two bytes at least, and what is around it opens no more than one level.
        let limits = strict::Limits {
            depth: all.depth - 1,
            values: all.values.checked_sub(around / 2)?,
        };
        strict::check_value(inner, &limits).ok()?;
        Some(self)
    }

    /// What stands there, outside of texts, without the inside of its long texts.
    pub(crate) fn inside(&self, at: &Range<usize>) -> Option<&[u8]> {
        let in_skeleton = |skeleton: &Skeleton| skeleton.of_body(at);
        let at = self
            .skeleton
            .as_ref()
            .map_or_else(|| at.clone(), in_skeleton);
        self.read().get(at)
    }

    /// As it came.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// What working on it takes: see [`cost`](super::cost()).
    #[must_use]
    pub fn cost(&self) -> usize {
        cost::with_values_of(self.bytes.len(), self.read())
    }

    /// Checks that it is strict JSON.
    ///
    /// # Errors
    /// The first fault from its start.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let limits = strict::Limits::default();
        // Where a fault is, or whether keys that begin alike are alike, only the body itself tells.
        if self.skeleton.is_some() && strict::check(self.read(), &limits).is_ok() {
            return Ok(());
        }
        Ok(strict::check(&self.bytes, &limits)?)
    }

    /// The body with U+FFFD in the place of each half of a surrogate pair in its words; `None` where there is none.
    pub(crate) fn mended(&self) -> Option<Self> {
        mend_words(&self.bytes).map(|bytes| Bytes::from(bytes).into())
    }

    /// Where the value of a top-level field stands: the first of that name.
    pub(crate) fn field(&self, name: &str) -> Option<Range<usize>> {
        self.place(name).map(|(at, _)| at)
    }

    /// The same, and the value without the inside of its long texts.
    pub(crate) fn place(&self, name: &str) -> Option<(Range<usize>, &[u8])> {
        let read = self.read();
        let at = place::field(read, name)?;
        let value = read.get(at.clone())?;
        let in_body = |skeleton: &Skeleton| skeleton.in_body(&at);
        let at = self.skeleton.as_ref().map_or_else(|| at.clone(), in_body);
        Some((at, value))
    }

    fn read(&self) -> &[u8] {
        self.skeleton.as_ref().map_or(&self.bytes, Skeleton::text)
    }
}
