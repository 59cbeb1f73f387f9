//! Compiled constraints: a constraint comes in; a check that verification runs goes out, from a
//! bounded cache where it was compiled before. The worker keeps its grammars in the same kind of
//! store.
//!
//! Compiling a client's schema or grammar is where a small hostile text can do the most harm, so
//! it never runs on the thread that asks: a fixed number of threads with big stacks take jobs off
//! a bounded queue, each job has a time limit, and a panic inside a library ends the job alone.

pub mod at_work;
mod cache;
mod fingerprint;
mod memo;
mod plans;
mod pool;
mod store;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;

pub use fingerprint::{Fingerprint, Fingerprints, same_order};
use isogloss_core::check::{Check, STACK_BYTES};
use isogloss_core::error::Error;
use isogloss_core::exchange::Exchange;
use isogloss_core::ir::Constraint;
use isogloss_core::schema::SchemaLimits;
use isogloss_core::verify;
pub use memo::MemoCache;
pub use plans::{Known, Plans, Ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
pub use store::{Build, CacheOutcome, Outcome as Built, Store};

/// What compiling may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerLimits {
    /// Threads that compile. As many again stand in while these are stuck in jobs that are past
    /// their time.
    pub threads: usize,
    /// Stack of each, of which [`STACK_BYTES`] are enough for whatever is let through.
    pub stack_bytes: usize,
    /// Jobs that wait for a thread; one more is refused with 503.
    pub queue: usize,
    /// How long a job may run.
    pub timeout: Duration,
    /// How long a job may wait for a thread.
    pub queue_timeout: Duration,
    /// Compiled constraints that are kept.
    pub cache_entries: usize,
    /// Bytes, as estimated, of those.
    pub cache_bytes: usize,
    /// What a schema may be.
    pub schema: SchemaLimits,
}

impl Default for CompilerLimits {
    fn default() -> Self {
        Self {
            threads: 2,
            stack_bytes: STACK_BYTES,
            queue: 256,
            timeout: Duration::from_secs(3),
            queue_timeout: Duration::from_secs(3),
            cache_entries: 4_096,
            cache_bytes: 256 << 20,
            schema: SchemaLimits::default(),
        }
    }
}

/// Hears what the compiler does, for metrics. `kind` is [`Constraint::kind`].
pub trait Observer: Send + Sync {
    /// A compilation ended, well or not, after so many seconds.
    fn compiled(&self, kind: &'static str, seconds: f64) {
        let _ = (kind, seconds);
    }
    /// A constraint was in the cache.
    fn hit(&self, kind: &'static str) {
        let _ = kind;
    }
    /// A constraint was not in the cache and is compiled now.
    fn miss(&self, kind: &'static str) {
        let _ = kind;
    }
    /// A constraint was being compiled already; the request waits for that.
    fn wait(&self, kind: &'static str) {
        let _ = kind;
    }
    /// So many entries made room for others.
    fn evicted(&self, count: usize) {
        let _ = count;
    }
    /// What the cache holds now.
    fn size(&self, entries: usize, bytes: usize) {
        let _ = (entries, bytes);
    }
    /// What was to be written for a server was written before.
    fn recalled(&self) {}
    /// Something was written for a server for the first time, or again after it was forgotten; so
    /// many others made room for it.
    fn written(&self, forgotten: usize) {
        let _ = forgotten;
    }
    /// What is remembered of what was written.
    fn remembered(&self, entries: usize, bytes: usize) {
        let _ = (entries, bytes);
    }
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// Counts since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// Found in the cache.
    pub hits: u64,
    /// Compiled.
    pub misses: u64,
    /// Joined a compilation that was under way.
    pub waits: u64,
    /// Dropped from the cache to make room.
    pub evictions: u64,
    /// In the cache now.
    pub entries: usize,
    /// Bytes, as estimated, in the cache now.
    pub bytes: usize,
}

/// Compiles constraints, each once.
#[derive(Clone)]
pub struct Compiler {
    store: Store<ChecksBuild>,
    memo: MemoCache,
    plans: Plans,
}

/// The compiled constraints of one request.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// What its reply is verified with.
    pub checks: Arc<verify::Checks>,
    /// Bytes of memory that they take, as estimated.
    bytes: usize,
    /// Of each that was compiled.
    kinds: Vec<&'static str>,
}

/// What a constraint's check comes to.
type Outcome = Result<Check, Error>;

/// Constraints to checks.
struct ChecksBuild {
    build: fn(&Constraint, &SchemaLimits) -> Outcome,
}

impl Build for ChecksBuild {
    type Source = Constraint;
    type Built = Check;

    fn kind(source: &Constraint) -> &'static str {
        source.kind()
    }

    fn same(one: &Constraint, other: &Constraint) -> bool {
        one == other
    }

    fn fingerprint(&self, prints: &Fingerprints, source: &Constraint) -> Option<Fingerprint> {
        prints.of(source)
    }

    fn build(&self, source: &Constraint, limits: &SchemaLimits) -> Outcome {
        (self.build)(source, limits)
    }

    fn estimated_bytes(built: &Check) -> usize {
        built.estimated_bytes()
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

// === impl Compiler ===

impl Compiler {
    /// A compiler that nobody observes.
    #[must_use]
    pub fn new(limits: CompilerLimits) -> Self {
        Self::observed(limits, Arc::new(Unobserved))
    }

    /// A compiler that tells an observer what it does.
    #[must_use]
    pub fn observed(limits: CompilerLimits, observer: Arc<dyn Observer>) -> Self {
        Self::building(Check::compile, limits, observer)
    }

    fn building(
        build: fn(&Constraint, &SchemaLimits) -> Outcome,
        limits: CompilerLimits,
        observer: Arc<dyn Observer>,
    ) -> Self {
        // What is written for servers is small beside what checks are compiled to.
        let memo = MemoCache::observed(
            limits.cache_entries / 4,
            limits.cache_bytes / 8,
            Arc::clone(&observer),
        );
        Self {
            plans: Plans::new(limits.cache_entries / 4, limits.cache_bytes / 8),
            store: Store::new(ChecksBuild { build }, limits, observer),
            memo,
        }
    }

    /// The check of a constraint: from the cache, from a compilation that is under way, or
    /// compiled now.
    ///
    /// A caller that goes away ends nothing: the compilation goes on for the others.
    ///
    /// # Errors
    /// The constraint's own faults, each of a client kind, with the place inside of it;
    /// `schema_too_complex` where compiling takes too long; `overloaded` where too many
    /// compilations wait.
    pub async fn compile(&self, constraint: &Constraint) -> Result<Check, Error> {
        if matches!(constraint, Constraint::JsonObject) {
            return Ok(Check::JsonObject);
        }
        self.store.get(constraint).await.map(|(check, _)| check)
    }

    /// Compiles the contract of an exchange, before anything is sent upstream: [`Exchange::compile`] with what was compiled before.
    ///
    /// # Errors
    /// The constraint that is refused, with the request field that states it.
    pub async fn checks(&self, exchange: &mut Exchange) -> Result<Compiled, Error> {
        let (mut checks, mut bytes, mut kinds) = (Vec::new(), 0, Vec::new());
        for (at, constraint) in exchange.constraints() {
            let compiled = self.compile(&constraint).await;
            let check = exchange.accept(at, &constraint, compiled)?;
            bytes += check.as_ref().map_or(0, Check::estimated_bytes);
            if !matches!(constraint, Constraint::JsonObject) {
                kinds.push(constraint.kind());
            }
            checks.push(check);
        }
        Ok(Compiled {
            checks: exchange.checks(checks),
            bytes,
            kinds,
        })
    }

    /// Requests that differ from one before in their conversation alone.
    #[must_use]
    pub const fn plans(&self) -> &Plans {
        &self.plans
    }

    /// The same compiler, and no request that was planned: as another configuration needs it.
    #[must_use]
    pub fn with_no_plans(&self) -> Self {
        Self {
            plans: self.plans.emptied(),
            ..self.clone()
        }
    }

    /// What was compiled for a request is used for another: as good as found in the cache.
    pub fn used_again(&self, compiled: &Compiled) {
        self.store.used_again(&compiled.kinds);
    }

    /// What was written for servers before.
    #[must_use]
    pub const fn memo(&self) -> &MemoCache {
        &self.memo
    }

    /// Counts, and what the cache holds now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.store.stats()
    }
}

/// Locks, whether or not a thread panicked with the lock: what these locks guard is consistent
/// after each statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
