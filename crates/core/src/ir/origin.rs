//! Where a client stated what it stated.

use std::fmt;

/// A place in the client's body, as the client spells it: a dotted path such as
/// `response_format.json_schema`, `structured_outputs.regex` or `messages[3].content[0]`.
/// The first segment is the top-level field. Every error, loss and violation that is about something
/// that the client wrote names one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin(pub String);

impl Origin {
    /// A place.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// A member of what stands here.
    #[must_use]
    pub fn member(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    /// An item of the list that stands here.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The top-level body field that it is in.
    #[must_use]
    pub fn field(&self) -> &str {
        let end = self.0.find(['.', '[']).unwrap_or(self.0.len());
        &self.0[..end]
    }

    /// A JSON Pointer to it.
    #[must_use]
    pub fn pointer(&self) -> String {
        match self.field() {
            // The second segment is a word of ours for what stands in the field.
            field @ ("response_format" | "json_schema") => format!("/{field}"),
            _ => format!("/{}", self.0.replace(['.', '['], "/").replace(']', "")),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
