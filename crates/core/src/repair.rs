//! What weak models get wrong in otherwise good JSON, mended: a text and what is wanted in, the
//! text that was meant out, and the steps that were taken. Only what has one reading is mended;
//! whoever asks verifies the result as if the model had written it.

pub mod closers;
pub mod names;
pub mod syntax;
pub mod types;

mod view;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

pub use syntax::{Mender, Surroundings};

use crate::ir::{Repair, RepairStep, Repairs};
use crate::json::scan::Scanner;
use serde_json::Value;

/// Mends a whole text that is to be JSON of this schema; without one any object is. `None` where
/// there is nothing to mend, or no certain way. The result is JSON, not yet known to be valid.
#[must_use]
pub fn repair(text: &str, schema: Option<&Value>, level: Repair) -> Option<(String, Repairs)> {
    if level == Repair::Off {
        return None;
    }
    let mut steps = Repairs::default();
    let mut mended = text.to_owned();
    if !is_json(text) {
        (mended, steps) = syntax::mend(text)?;
        if steps.has(RepairStep::Closers) && !closers::are_certain(&mended, schema) {
            return None;
        }
    }
    if level == Repair::Types
        && let Some(schema) = schema
        && let Some((typed, more)) = types::repair(&mended, schema)
    {
        mended = typed;
        steps.join(more);
    }
    (!steps.is_empty()).then_some((mended, steps))
}

/// Whether a text is one JSON value.
fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new();
    text.bytes().all(|byte| scanner.push(byte).is_ok()) && scanner.finish().is_ok()
}
