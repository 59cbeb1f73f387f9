//! Thoughts that stand in a model's text.

use std::sync::Arc;

/// How a model marks its thoughts before its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thoughts {
    /// What they begin with; not empty.
    pub open: String,
    /// What they end with; not empty.
    pub close: String,
    /// What may stand between them and the answer, beside empty lines, in this order.
    pub after: Vec<String>,
    /// Whether more of them may follow, each between the marks.
    pub is_several: bool,
    /// Where the text begins.
    pub begin: Begin,
}

/// Where a text begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Before them: they are there where they are opened.
    Before,
    /// Within them: the prompt ends with what opens them.
    Inside,
    /// Within them if they end: it was seen, and another text may begin otherwise. All is held until that is known.
    Perhaps,
}

impl Thoughts {
    /// The same where the prompt does not open them, because the model was told not to think.
    #[must_use]
    pub fn outside(self: &Arc<Self>) -> Arc<Self> {
        self.beginning(Begin::Before)
    }

    /// The same in texts that begin here.
    #[must_use]
    pub fn beginning(self: &Arc<Self>, begin: Begin) -> Arc<Self> {
        match self.begin == begin {
            true => Arc::clone(self),
            false => Arc::new(Self {
                begin,
                ..Self::clone(self)
            }),
        }
    }
}
