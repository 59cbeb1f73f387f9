//! JSON text as bytes: the strict check of a request body, the incremental scanner of a model's
//! output. No value tree is built.

pub mod scan;
pub mod strict;
