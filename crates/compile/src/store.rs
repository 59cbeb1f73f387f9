//! The store: something to compile comes in; what it was compiled to goes out, each compiled once
//! however many ask, on the pool's threads and within its limits.

use super::cache::{Cache, InFlight, Lookup};
use super::fingerprint::{Fingerprint, Fingerprints};
use super::pool::{Job, Late, Pool, PoolLimits};
use super::{CompilerLimits, Observer, Stats};
use isogloss_core::error::{Error, Kind};
use isogloss_core::schema::SchemaLimits;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

/// What is compiled to what, and how.
pub trait Build: Send + Sync + 'static {
    /// What is compiled.
    type Source: Clone + Send + Sync + 'static;
    /// What it is compiled to. Cloning shares it.
    type Built: Clone + Send + Sync + 'static;

    /// [`isogloss_core::ir::Constraint::kind`] of the source.
    fn kind(source: &Self::Source) -> &'static str;

    /// Whether one may stand for the other.
    fn same(one: &Self::Source, other: &Self::Source) -> bool;

    /// Whether the order of an object's keys makes another source.
    fn is_ordered(&self) -> bool {
        false
    }

    /// The source's hash and size; `None` for what is too large.
    fn fingerprint(&self, prints: &Fingerprints, source: &Self::Source) -> Option<Fingerprint>;

    /// Compiles, on a thread with a big stack.
    fn build(&self, source: &Self::Source, limits: &SchemaLimits) -> Outcome<Self>;

    /// Bytes of memory that the built takes, as estimated.
    fn estimated_bytes(built: &Self::Built) -> usize;
}

/// What a compilation comes to.
pub type Outcome<B> = Result<<B as Build>::Built, Error>;

/// Where an answer of the cache came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheOutcome {
    /// It was compiled before.
    Hit,
    /// It was compiled for this request.
    Miss,
    /// It was being compiled already, for another request.
    Joined,
}

/// Compiles, each source once. Cloning shares it.
pub struct Store<B: Build> {
    shared: Arc<Shared<B>>,
}

struct Shared<B: Build> {
    build: B,
    limits: CompilerLimits,
    observer: Arc<dyn Observer>,
    fingerprints: Fingerprints,
    cache: Cache<B>,
    pool: Pool,
}

impl<B: Build> std::fmt::Debug for Store<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

impl<B: Build> Clone for Store<B> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<B: Build> Store<B> {
    /// A store within limits, that tells an observer what it does.
    #[must_use]
    pub fn new(build: B, limits: CompilerLimits, observer: Arc<dyn Observer>) -> Self {
        let cache = Cache::new(limits.cache_entries, limits.cache_bytes);
        let pool = Pool::new(PoolLimits {
            threads: limits.threads,
            stack_bytes: limits.stack_bytes,
            queue: limits.queue,
            start_within: limits.queue_timeout,
            end_within: limits.timeout,
        });
        let mut fingerprints = Fingerprints::new(limits.schema.text_bytes);
        if build.is_ordered() {
            fingerprints = fingerprints.ordered();
        }
        Self {
            shared: Arc::new(Shared {
                build,
                limits,
                observer,
                fingerprints,
                cache,
                pool,
            }),
        }
    }

    /// What was found here before is used again by somebody who kept it.
    pub(super) fn used_again(&self, kinds: &[&'static str]) {
        self.shared.cache.hit_elsewhere(kinds.len() as u64);
        for kind in kinds {
            self.shared.observer.hit(kind);
            // It was written for the server before, too.
            self.shared.observer.recalled();
        }
    }

    /// What a source is compiled to: from the cache, from a compilation that is under way, or
    /// compiled now.
    ///
    /// A caller that goes away ends nothing: the compilation goes on for the others.
    pub async fn get(&self, source: &B::Source) -> Result<(B::Built, CacheOutcome), Error> {
        let kind = B::kind(source);
        let shared = &self.shared;
        let Some(print) = shared.build.fingerprint(&shared.fingerprints, source) else {
            let limit = shared.limits.schema.text_bytes;
            let message = format!("the constraint is larger than {limit} bytes, or nests too deep");
            return Err(Error::new(Kind::SchemaTooComplex, message));
        };
        // Copying a large source takes longer than anything else under the lock would.
        let found = shared.cache.find(print, source).unwrap_or_else(|| {
            let copy = Arc::new(source.clone());
            shared.cache.find_or_take_off(print, copy)
        });
        let (mut answer, outcome) = match found {
            Lookup::Hit(built) => {
                shared.observer.hit(kind);
                return Ok((built, CacheOutcome::Hit));
            }
            Lookup::Wait(answer) => {
                shared.observer.wait(kind);
                (answer, CacheOutcome::Joined)
            }
            Lookup::Miss(flight) => {
                shared.observer.miss(kind);
                let answer = flight.subscribe();
                Shared::start(shared, flight);
                (answer, CacheOutcome::Miss)
            }
        };
        let settled = answer.wait_for(Option::is_some).await;
        // The sender goes away without a word only if its thread dies outside of the job.
        let built = settled.map_or_else(
            |_| Err(broken()),
            |settled| settled.clone().unwrap_or_else(|| Err(broken())),
        );
        built.map(|built| (built, outcome))
    }

    /// Counts, and what the cache holds now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.cache.stats()
    }
}

impl<B: Build> Shared<B> {
    /// Queues the compilation that a flight stands for.
    fn start(shared: &Arc<Self>, flight: Arc<InFlight<B>>) {
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
    fn run(&self, flight: &InFlight<B>) {
        let begin = Instant::now();
        let compile = || self.build.build(flight.source(), &self.limits.schema);
        // A library's own assertion: the constraint is beyond it, and the process is well.
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(compile)).unwrap_or_else(|_| {
            let message = "the constraint is beyond what can be compiled; simplify it";
            Err(Error::new(Kind::SchemaTooComplex, message))
        });
        let kind = B::kind(flight.source());
        self.observer.compiled(kind, begin.elapsed().as_secs_f64());
        self.settle(flight, outcome);
    }

    fn settle(&self, flight: &InFlight<B>, outcome: Outcome<B>) {
        let (evicted, stats) = self.cache.settle(flight, outcome.as_ref().ok());
        if evicted.len() > 0 {
            self.observer.evicted(evicted.len());
        }
        self.observer.size(stats.entries, stats.bytes);
        flight.answer(outcome);
    }
}

fn overloaded() -> Error {
    let message = "too many new constraints are being compiled; try again";
    Error::new(Kind::Overloaded, message).retry_after(1)
}

fn broken() -> Error {
    Error::new(Kind::Internal, "compiling the constraint failed")
}
