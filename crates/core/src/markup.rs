//! The markup in which models write calls: text in, calls and text out, and calls back to text.
//!
//! Models do not speak dialects. A chat template showed them tools in some markup, and they write
//! their calls in it; only some servers read it. What each format looks like is data
//! (`rules/markup/*.toml`; `rules/markup/README.md` is the vocabulary); one [`Reader`] and one
//! writer ([`Format::write`]) serve all of them.
//!
//! A call is text until it is certain: what may be one is held, within bounds, and becomes one
//! when the name of a tool that was shown was read and its arguments have begun. What turns out to
//! be none is text, byte for byte. From there on the arguments are passed on: JSON as it comes,
//! parameters when each is closed. What breaks afterwards is [`Piece::Broken`] with what was not
//! given, and all that follows it is text. The pieces never depend on how the text was cut, but
//! for where they are cut themselves.

mod arguments;
mod compile;
mod elements;
mod envelope;
mod format;
mod held;
mod input;
mod layout;
mod pattern;
mod reader;
mod set;
mod tools;
mod typed;
mod write;

#[cfg(test)]
mod tests;

pub use format::{Example, Format, Formats};
pub use reader::Reader;
pub use tools::Tools;
pub use write::{CallText, Frame, Written};

/// What is certain of a model's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The next piece of the text.
    Text(String),
    /// The next piece of the model's thoughts.
    Thought(String),
    /// A call begins, of a tool that was shown.
    Call {
        /// The call's id, where the format writes it before the arguments.
        id: Option<String>,
        /// The tool's name.
        name: String,
    },
    /// The next piece of the last call's input: JSON text, or a custom tool's text.
    Input(String),
    /// The last call is whole.
    End,
    /// What followed the beginning of a call was not what the format has there: the arguments of
    /// the last call, if it has not ended, or the block around it.
    Broken {
        /// What is wrong.
        why: String,
        /// The text from there on that no piece has given.
        unread: String,
    },
}
