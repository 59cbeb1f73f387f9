//! The cache of compiled grammars: a demand comes in; the grammar it was compiled to goes out,
//! each compiled once however many ask.
//!
//! It is the store that verification keeps its checks in: a pool of threads with big stacks, a
//! time limit, single flight, what came once out before what is used again. The guards of schemas
//! run here, before any backend sees one.

mod marked;

use super::backend::{Backend, Compiled, Demand};
use isogloss_compile::at_work::Mark;
use isogloss_compile::{Build, Built, Store};
use isogloss_compile::{CacheOutcome, CompilerLimits, Observer, Stats};
use isogloss_compile::{Fingerprint, Fingerprints, same_order};
use isogloss_core::check::schema_error;
use isogloss_core::check::tag::{Leaves, read};
use isogloss_core::error::Error;
use isogloss_core::ir::Constraint;
use isogloss_core::schema::{SchemaLimits, guard};
pub use marked::marked;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Compiled grammars. Cloning shares them.
#[derive(Clone)]
pub struct Grammars {
    store: Store<Decoding>,
}

impl fmt::Debug for Grammars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grammars")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl Grammars {
    /// A cache over one backend, and so over one vocabulary.
    #[must_use]
    pub fn new(
        backend: Arc<dyn Backend>,
        limits: CompilerLimits,
        observer: Arc<dyn Observer>,
    ) -> Self {
        Self {
            store: Store::new(Decoding { backend }, limits, observer),
        }
    }

    /// The grammar of a demand: from the cache, from a compilation that is under way, or compiled
    /// now. A caller that goes away ends nothing.
    ///
    /// # Errors
    /// The constraint's own faults, each of a client kind; `schema_too_complex` where compiling
    /// takes too long; `overloaded` where too many compilations wait.
    pub async fn compiled(
        &self,
        demand: &Demand,
    ) -> Result<(Arc<dyn Compiled>, CacheOutcome), Error> {
        self.compiled_for(demand.clone(), None).await
    }

    /// The same, where it is noted which constraint is being compiled.
    ///
    /// # Errors
    /// As above.
    pub async fn compiled_for(
        &self,
        demand: Demand,
        mark: Option<Mark>,
    ) -> Result<(Arc<dyn Compiled>, CacheOutcome), Error> {
        self.store.get(&Order { demand, mark }).await
    }

    /// Counts, and what the cache holds now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.store.stats()
    }
}

/// A demand, and under which number compiling it is noted: that of the request which asked first.
#[derive(Clone)]
struct Order {
    demand: Demand,
    mark: Option<Mark>,
}

/// Demands to grammars.
struct Decoding {
    backend: Arc<dyn Backend>,
}

impl Build for Decoding {
    type Source = Order;
    type Built = Arc<dyn Compiled>;

    fn kind(source: &Order) -> &'static str {
        source.demand.constraint.kind()
    }

    /// Properties come in the order of their schema, so another order is another grammar.
    fn same(one: &Order, other: &Order) -> bool {
        let (one, other) = (&one.demand, &other.demand);
        if (one.think, one.whitespace) != (other.think, other.whitespace) {
            return false;
        }
        match (&one.constraint, &other.constraint) {
            (Constraint::JsonSchema(one), Constraint::JsonSchema(other))
            | (Constraint::StructuralTag(one), Constraint::StructuralTag(other)) => {
                same_order(one, other)
            }
            (one, other) => one == other,
        }
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn fingerprint(&self, prints: &Fingerprints, source: &Order) -> Option<Fingerprint> {
        let source = &source.demand;
        prints.within(&source.constraint, &(source.think, source.whitespace))
    }

    fn build(&self, source: &Order, limits: &SchemaLimits) -> Built<Self> {
        let _at_work = source.mark.as_ref().and_then(Mark::at_work);
        let source = &source.demand;
        match &source.constraint {
            Constraint::JsonSchema(schema) => guard(schema, limits).map_err(schema_error)?,
            Constraint::StructuralTag(description) => {
                read(description, &mut Guarded(limits)).map(drop)?;
            }
            _ => {}
        }
        self.backend.compile(source)
    }

    fn estimated_bytes(built: &Arc<dyn Compiled>) -> usize {
        built.estimated_bytes()
    }
}

/// Guards the schemas inside of a structural tag.
struct Guarded<'l>(&'l SchemaLimits);

impl Leaves for Guarded<'_> {
    type Json = ();
    type Text = ();

    fn json(&mut self, schema: &Value) -> Result<(), Error> {
        guard(schema, self.0).map_err(schema_error)
    }

    fn text(&mut self, _: &Constraint) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
