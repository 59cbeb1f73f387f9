//! Where in a reply something is.

/// A place in a reply, in nobody's words: the client's dialect spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// All choices together.
    Choices,
    /// A choice.
    Choice(u32),
    /// The text of a choice.
    Content(u32),
    /// The calls of a choice.
    Calls(u32),
    /// One of them.
    Call(u32, usize),
}
