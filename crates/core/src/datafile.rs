//! The files in `rules/`, before it is known what they speak of: TOML text in, typed values out, every fault with its
//! place and its remedy.

mod fault;
mod keys;
mod version;
mod word;

#[cfg(test)]
mod tests;

pub use fault::RuleFault;
pub(crate) use fault::Source;
pub(crate) use keys::{File, Keys, RawTemplate, Span, unknown};
pub use version::{Range, Version};
pub(crate) use word::Word;
