//! Compiled constraints: a constraint comes in; a check that verification runs goes out, from a
//! bounded cache where it was compiled before.
//!
//! Compiling a client's schema or grammar is where a small hostile text can do the most harm, so
//! it never runs on the thread that asks: a fixed number of threads with big stacks take jobs off
//! a bounded queue, each job has a time limit, and a panic inside a library ends the job alone.

mod cache;
mod fingerprint;
mod pool;

use crate::error::{Error, Kind};
use crate::grammar::Grammar;
use crate::ir::Constraint;
use crate::schema::{SchemaFault, SchemaLimits, Validator};
use cache::{Cache, Flight, Lookup, Outcome};
use fingerprint::Fingerprints;
use pool::{Job, Late, Pool, PoolLimits};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A compiled constraint. Cloning shares it.
#[derive(Debug, Clone)]
pub enum Check {
    /// JSON that satisfies a schema.
    Json(Arc<Validator>),
    /// Any JSON object.
    JsonObject,
    /// Text of a regex, a choice or a grammar.
    Text(Arc<Grammar>),
}

/// What compiling may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerLimits {
    /// Threads that compile. As many again stand in while these are stuck in jobs that are past
    /// their time.
    pub threads: usize,
    /// Stack of each. jsonschema and llguidance recurse over references: 64 MiB hold 8,000 levels,
    /// where the guard lets 64, or 1,000 recursive definitions, through.
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
            stack_bytes: 64 << 20,
            queue: 256,
            timeout: Duration::from_secs(1),
            queue_timeout: Duration::from_secs(2),
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
    shared: Arc<Shared>,
}

struct Shared {
    limits: CompilerLimits,
    observer: Arc<dyn Observer>,
    fingerprints: Fingerprints,
    cache: Mutex<Cache>,
    pool: Pool,
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new(CompilerLimits::default())
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
        let cache = Mutex::new(Cache::new(limits.cache_entries, limits.cache_bytes));
        let pool = Pool::new(PoolLimits {
            threads: limits.threads,
            stack_bytes: limits.stack_bytes,
            queue: limits.queue,
            start_within: limits.queue_timeout,
            end_within: limits.timeout,
        });
        let fingerprints = Fingerprints::new(limits.schema.text_bytes);
        Self {
            shared: Arc::new(Shared {
                limits,
                observer,
                fingerprints,
                cache,
                pool,
            }),
        }
    }

    /// The check of a constraint: from the cache, from a compilation that is under way, or
    /// compiled now.
    ///
    /// A caller that goes away ends nothing: the compilation goes on for the others.
    ///
    /// # Errors
    /// The constraint's own faults, each of a client kind, with the place inside of it;
    /// [`Kind::SchemaTooComplex`] where compiling takes too long; [`Kind::Overloaded`] where too
    /// many compilations wait.
    pub async fn compile(&self, constraint: &Constraint) -> Result<Check, Error> {
        if matches!(constraint, Constraint::JsonObject) {
            return Ok(Check::JsonObject);
        }
        let kind = constraint.kind();
        let shared = &self.shared;
        let Some(print) = shared.fingerprints.of(constraint) else {
            let limit = shared.limits.schema.text_bytes;
            let message = format!("the constraint is larger than {limit} bytes, or nests too deep");
            return Err(Error::new(Kind::SchemaTooComplex, message));
        };
        let found = lock(&shared.cache).look_up(print, constraint);
        let mut answer = match found {
            Lookup::Hit(check) => {
                shared.observer.hit(kind);
                return Ok(check);
            }
            Lookup::Wait(answer) => {
                shared.observer.wait(kind);
                answer
            }
            Lookup::Miss(flight) => {
                shared.observer.miss(kind);
                let answer = flight.subscribe();
                Shared::start(shared, flight);
                answer
            }
        };
        let outcome = answer.wait_for(Option::is_some).await;
        // The sender goes away without a word only if its thread dies outside of the job.
        outcome.map_or_else(
            |_| Err(broken()),
            |outcome| outcome.clone().unwrap_or_else(|| Err(broken())),
        )
    }

    /// Counts, and what the cache holds now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        lock(&self.shared.cache).stats()
    }
}

impl Shared {
    /// Queues the compilation that a flight stands for.
    fn start(shared: &Arc<Self>, flight: Arc<Flight>) {
        // Weak, because the queue is owned by what is shared. While anybody waits, it lives.
        let (runner, run_flight) = (Arc::downgrade(shared), Arc::clone(&flight));
        let (waiter, late_flight) = (Arc::downgrade(shared), Arc::clone(&flight));
        let job = Job {
            run: Box::new(move || {
                if let Some(shared) = runner.upgrade() {
                    shared.run(&run_flight);
                }
            }),
            late: Box::new(move |late| match late {
                Late::ToStart => {
                    if let Some(shared) = waiter.upgrade() {
                        shared.settle(&late_flight, Err(overloaded()));
                    }
                }
                // The flight stays in the cache until its job ends: until then, whoever asks for
                // the same gets this answer and no second thread is lost to it.
                Late::ToEnd => late_flight.answer(Err(Error::new(
                    Kind::SchemaTooComplex,
                    "the constraint takes too long to compile; simplify it",
                ))),
            }),
        };
        if shared.pool.submit(job).is_err() {
            shared.settle(&flight, Err(overloaded()));
        }
    }

    /// Compiles, on a thread of the pool.
    fn run(&self, flight: &Flight) {
        let begin = Instant::now();
        let compile = || build(flight.constraint(), &self.limits.schema);
        // A library's own assertion: the constraint is beyond it, and the proxy is well.
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|_| {
            let message = "the constraint is beyond what can be compiled; simplify it";
            Err(Error::new(Kind::SchemaTooComplex, message))
        });
        let kind = flight.constraint().kind();
        self.observer.compiled(kind, begin.elapsed().as_secs_f64());
        self.settle(flight, outcome);
    }

    fn settle(&self, flight: &Flight, outcome: Outcome) {
        let (evicted, stats) = {
            let mut cache = lock(&self.cache);
            let evicted = cache.settle(flight, outcome.as_ref().ok());
            (evicted, cache.stats())
        };
        if evicted > 0 {
            self.observer.evicted(evicted);
        }
        self.observer.size(stats.entries, stats.bytes);
        flight.answer(outcome);
    }
}

impl Check {
    /// Bytes of memory that this takes, as estimated.
    fn estimated_bytes(&self) -> usize {
        match self {
            Self::Json(validator) => validator.estimated_bytes(),
            Self::JsonObject => 0,
            Self::Text(grammar) => grammar.estimated_bytes(),
        }
    }
}

fn build(constraint: &Constraint, limits: &SchemaLimits) -> Outcome {
    match constraint {
        Constraint::JsonObject => Ok(Check::JsonObject),
        Constraint::JsonSchema(schema) => Validator::compile_within(schema, limits)
            .map(|validator| Check::Json(Arc::new(validator)))
            .map_err(Error::from),
        text => Grammar::compile(text)
            .map(|grammar| Check::Text(Arc::new(grammar)))
            .map_err(|fault| Error::new(fault.kind, fault.message)),
    }
}

impl From<SchemaFault> for Error {
    fn from(fault: SchemaFault) -> Self {
        let place = match fault.pointer.as_str() {
            "" => "the schema".to_owned(),
            pointer => format!("the schema at `{pointer}`"),
        };
        Self::new(fault.kind, format!("{place}: {}", fault.message))
    }
}

fn overloaded() -> Error {
    let message = "too many new constraints are being compiled; try again";
    Error::new(Kind::Overloaded, message).retry_after(1)
}

fn broken() -> Error {
    Error::new(Kind::Internal, "compiling the constraint failed")
}

/// Locks, whether or not a thread panicked with the lock: what these locks guard is consistent
/// after each statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
