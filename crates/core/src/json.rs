//! JSON text as bytes: the strict check of a request body, the incremental scanner of a model's
//! output, and the reader of the envelopes that calls come in. No value tree is built.

mod braces;
pub mod envelope;
mod line;
mod mend;
pub(crate) mod place;
pub mod scan;
pub(crate) mod skeleton;
pub mod strict;
pub mod string;
mod value;

pub(crate) use braces::Braces;
pub use line::on_one_line;
pub use mend::mend;
pub(crate) use mend::mend_words;
pub(crate) use value::{first, names_private, object, refuse};
pub use value::{value, value_of};
