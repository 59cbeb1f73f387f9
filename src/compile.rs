//! Compiled constraints: a bounded pool, and a bounded single-flight cache with statistics.

/// A compiled constraint.
#[derive(Debug, Clone)]
pub enum Check {}
