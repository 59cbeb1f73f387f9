//! The bounds of one rendering: values and bytes come in; an error, where there are too many.
//!
//! The calls that `source` writes into a template end here, and so does everything it prints.

use minijinja::value::ObjectRepr;
use minijinja::{Error, ErrorKind, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bytes that a value may have, beside a multiple of what came in.
const FREE_BYTES: usize = 1 << 20;
/// How often what came in may occur in one value, as estimated: JSON with indent takes three.
const SHARE: usize = 8;
/// Bytes of a rendering's text outside of tags, as an upper bound.
const MAX_RAW: usize = 1 << 30;
/// Time that a rendering may take. The known templates take less than 1 ms for 100 messages.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How deep values may nest.
pub(super) const MAX_DEPTH: usize = 200;
/// The engine's types that refer to other values and can change, or hold what can: a namespace
/// that holds one of them may hold itself, and then is never freed, nor printed in the end.
const HOLDERS: [&str; 5] = ["::Namespace", "::Macro", "::Loop", "::Closure", "::Module"];
/// Bytes that a value takes, its text aside.
const VALUE_BYTES: usize = 16;

/// Why a rendering was stopped, of what the template engine itself does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stopped {
    /// The template's own refusal.
    #[error("{0}")]
    Raised(String),
    /// A bound.
    #[error("{0}")]
    Bound(&'static str),
}

impl From<Stopped> for Error {
    fn from(stopped: Stopped) -> Self {
        Error::new(ErrorKind::InvalidOperation, "stopped").with_source(stopped)
    }
}

pub(super) const TOO_BIG: Stopped = Stopped::Bound("it makes a value that is too big");

/// The bounds of one rendering.
#[derive(Debug)]
pub(super) struct Guard {
    until: Instant,
    /// Bytes that one value may have.
    most: usize,
    /// Bytes that may still be printed.
    print: AtomicUsize,
    /// Bytes of the template outside of tags: no more are printed from one check to the next.
    raw: usize,
    /// Bytes of those that may still be printed.
    print_raw: AtomicUsize,
}

impl Guard {
    /// The bounds for so many bytes of input.
    pub(super) fn new(input: usize, raw: usize) -> Self {
        let most = FREE_BYTES.saturating_add(input.saturating_mul(SHARE));
        Self {
            until: Instant::now() + MAX_TIME,
            most,
            print: AtomicUsize::new(most.saturating_mul(4)),
            raw,
            print_raw: AtomicUsize::new(MAX_RAW),
        }
    }

    /// Bytes that one value may have; the rendered text, too.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Counts printed bytes: captured ones, too.
    pub(super) fn print(&self, bytes: usize) -> Result<(), Stopped> {
        spend(&self.print, bytes, "it prints too much")
    }

    /// Values that were bound to names.
    pub(super) fn bound(&self, values: &[Value]) -> Result<(), Stopped> {
        self.tick()?;
        let mut left = self.most;
        values
            .iter()
            .try_for_each(|value| weigh(value, 0, false, &mut left))
    }

    /// A value that was put into a namespace.
    pub(super) fn stored(&self, values: &[Value]) -> Result<(), Stopped> {
        self.tick()?;
        let mut left = self.most;
        values
            .iter()
            .try_for_each(|value| weigh(value, 0, true, &mut left))
    }

    /// An operand of a product: a number or a text.
    pub(super) fn factor(value: Value) -> Result<Value, Stopped> {
        match value.is_number() || value.as_str().is_some() || value.as_object().is_none() {
            true => Ok(value),
            false => Err(Stopped::Bound("it multiplies a list")),
        }
    }

    fn tick(&self) -> Result<(), Stopped> {
        if Instant::now() > self.until {
            return Err(Stopped::Bound("it takes too long"));
        }
        spend(&self.print_raw, self.raw, "it prints too much")
    }
}

fn spend(left: &AtomicUsize, bytes: usize, why: &'static str) -> Result<(), Stopped> {
    // One rendering runs on one thread; the atomic is for the engine's `Send + Sync` alone.
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(bytes)
    })
    .map(|_| ())
    .map_err(|_| Stopped::Bound(why))
}

/// Takes a value's bytes off what is left. A part that occurs twice counts twice: what prints or
/// compares the value goes through both.
fn weigh(value: &Value, depth: usize, is_stored: bool, left: &mut usize) -> Result<(), Stopped> {
    let bytes = VALUE_BYTES + value.as_str().map_or(0, str::len);
    *left = left.checked_sub(bytes).ok_or(TOO_BIG)?;
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    if depth > MAX_DEPTH {
        return Err(Stopped::Bound("it makes a value that nests too deep"));
    }
    match object.repr() {
        ObjectRepr::Map => {
            let name = object.type_name();
            if is_stored && HOLDERS.iter().any(|holder| name.ends_with(holder)) {
                return Err(Stopped::Bound(
                    "it puts a namespace or macro into a namespace",
                ));
            }
            for (key, value) in object.try_iter_pairs().into_iter().flatten() {
                weigh(&key, depth + 1, is_stored, left)?;
                weigh(&value, depth + 1, is_stored, left)?;
            }
            Ok(())
        }
        ObjectRepr::Seq | ObjectRepr::Iterable => object
            .try_iter()
            .into_iter()
            .flatten()
            .try_for_each(|value| weigh(&value, depth + 1, is_stored, left)),
        _ if is_stored => Err(Stopped::Bound("it puts a function into a namespace")),
        _ => Ok(()),
    }
}
