//! Compiled constraints: a bounded pool, and a bounded single-flight cache with statistics.

use crate::error::{Error, Kind};
use crate::ir::Constraint;

/// A compiled constraint.
#[derive(Debug, Clone)]
pub enum Check {}

/// Compiles constraints.
#[derive(Debug, Default)]
pub struct Compiler {}

impl Compiler {
    /// Compiles a constraint.
    ///
    /// # Errors
    /// A constraint that cannot be compiled.
    #[expect(clippy::unused_async, reason = "the signature that the cache has")]
    pub async fn compile(&self, _constraint: &Constraint) -> Result<Check, Error> {
        Err(Error::new(Kind::Internal, "not wired yet"))
    }
}
