//! The cache: what is to be compiled comes in; what was compiled before goes out, or the one
//! compilation under way that all who ask for the same wait for.
//!
//! What is compiled is in a [`quick_cache`], bounded by entries and by bytes, where what is used
//! again outlives what came once; hits do not wait for each other. Flights stand beside it: they
//! outlive who asked first, and their failures are answered to all who wait. Failures are not
//! kept: a constraint that the guard refuses is refused again in microseconds, and kept failures would
//! let one client's rubbish push out what everybody else uses.

use super::fingerprint::Fingerprint;
use super::store::{Build, Outcome};
use super::{Stats, lock};
use indexmap::{Equivalent, IndexMap};
use quick_cache::{Lifecycle, Options, OptionsBuilder, Weighter, sync};
use std::hash::{Hash, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// What those who wait for a compilation hold.
pub(super) type Answer<B> = watch::Receiver<Option<Outcome<B>>>;

/// One compilation, and who waits for it.
pub(super) struct InFlight<B: Build> {
    key: Key<B>,
    bytes: usize,
    answer: watch::Sender<Option<Outcome<B>>>,
}

impl<B: Build> InFlight<B> {
    pub(super) fn source(&self) -> &B::Source {
        &self.key.source
    }

    pub(super) fn subscribe(&self) -> Answer<B> {
        self.answer.subscribe()
    }

    /// Answers those who wait; the first answer stays for those who come later.
    pub(super) fn answer(&self, outcome: Outcome<B>) {
        self.answer.send_if_modified(|answer| {
            let is_first = answer.is_none();
            if is_first {
                *answer = Some(outcome);
            }
            is_first
        });
    }
}

/// What is compiled, with its hash.
struct Key<B: Build> {
    hash: u64,
    source: Arc<B::Source>,
    build: PhantomData<fn() -> B>,
}

impl<B: Build> Clone for Key<B> {
    fn clone(&self) -> Self {
        Self {
            hash: self.hash,
            source: Arc::clone(&self.source),
            build: PhantomData,
        }
    }
}

impl<B: Build> Hash for Key<B> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<B: Build> PartialEq for Key<B> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && B::same(&self.source, &other.source)
    }
}

impl<B: Build> Eq for Key<B> {}

/// A key that borrows, to look up without a copy.
struct Probe<F> {
    hash: u64,
    is_it: F,
}

impl<F> Hash for Probe<F> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl<B: Build, F: Fn(&B::Source) -> bool> Equivalent<Key<B>> for Probe<F> {
    fn equivalent(&self, key: &Key<B>) -> bool {
        // The hash finds the entry; what is compiled decides. Numbers compare with their kind, so
        // `1`, `1.0` and `"1"` are three constraints.
        self.hash == key.hash && (self.is_it)(&key.source)
    }
}

/// What is kept.
struct Entry<B: Build> {
    built: B::Built,
    bytes: usize,
}

impl<B: Build> Clone for Entry<B> {
    fn clone(&self) -> Self {
        Self {
            built: self.built.clone(),
            bytes: self.bytes,
        }
    }
}

/// Both bounds as one: an entry weighs its bytes, and no less than its share of them. So as many
/// as are allowed weigh no more than the bytes that are allowed, whatever they are.
#[derive(Clone)]
struct Share(u64);

impl<B: Build> Weighter<Key<B>, Entry<B>> for Share {
    fn weight(&self, _: &Key<B>, entry: &Entry<B>) -> u64 {
        self.0.max(entry.bytes as u64)
    }
}

/// Gathers what makes room, for it to be dropped when the lock is gone.
#[derive(Clone)]
struct Gather;

impl<B: Build> Lifecycle<Key<B>, Entry<B>> for Gather {
    type RequestState = Evicted<B>;

    fn on_evict(&self, evicted: &mut Evicted<B>, key: Key<B>, entry: Entry<B>) {
        evicted.0.push((key, entry));
    }
}

/// What made room for something. Dropping it takes time, which is not the lock's.
pub(super) struct Evicted<B: Build>(Vec<(Key<B>, Entry<B>)>);

impl<B: Build> Default for Evicted<B> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<B: Build> Evicted<B> {
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }
}

/// What a look-up finds.
pub(super) enum Lookup<B: Build> {
    /// It was compiled before.
    Hit(B::Built),
    /// Somebody is at it.
    Wait(Answer<B>),
    /// Nobody is at it: the caller has to be, and must settle this flight.
    Miss(Arc<InFlight<B>>),
}

/// What is compiled, and flights under way.
pub(super) struct Cache<B: Build> {
    /// `None` where there is no room for anything.
    kept: Option<Kept<B>>,
    hits: AtomicU64,
    state: Mutex<State<B>>,
}

type Kept<B> = sync::Cache<Key<B>, Entry<B>, Share, RandomState, Gather>;

/// What changes with each compilation. Whoever locks it may look into what is kept, never the
/// other way round.
struct State<B: Build> {
    flights: IndexMap<Key<B>, Arc<InFlight<B>>>,
    /// But for the hits and the entries.
    stats: Stats,
}

impl<B: Build> Cache<B> {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        let share = (max_bytes / max_entries.max(1)).max(1);
        let options = options(
            max_entries,
            max_bytes.min(share.saturating_mul(max_entries)),
        );
        let kept = options.map(|options| {
            Kept::with_options(options, Share(share as u64), RandomState::new(), Gather)
        });
        let state = State {
            flights: IndexMap::new(),
            stats: Stats::default(),
        };
        Self {
            kept,
            hits: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    /// Whether there is no room for anything.
    pub(super) const fn keeps_nothing(&self) -> bool {
        self.kept.is_none()
    }

    /// So many hits were had by somebody who kept what was found.
    pub(super) fn hit_elsewhere(&self, count: u64) {
        self.hits.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> Stats {
        self.stats_with(&lock(&self.state))
    }

    fn stats_with(&self, state: &State<B>) -> Stats {
        Stats {
            hits: self.hits.load(Ordering::Relaxed),
            entries: self.kept.as_ref().map_or(0, sync::Cache::len),
            ..state.stats
        }
    }

    /// What was compiled, or the flight under way.
    pub(super) fn find(&self, print: Fingerprint, source: &B::Source) -> Option<Lookup<B>> {
        self.find_by(print, |known| B::same(source, known))
    }

    /// [`Cache::find`] of a source that is not there as one.
    pub(super) fn find_by(
        &self,
        print: Fingerprint,
        is_it: impl Fn(&B::Source) -> bool,
    ) -> Option<Lookup<B>> {
        let probe = Probe {
            hash: print.hash,
            is_it,
        };
        self.hit(&probe).or_else(|| lock(&self.state).join(&probe))
    }

    fn hit<Q: Hash + Equivalent<Key<B>>>(&self, probe: &Q) -> Option<Lookup<B>> {
        let entry = self.kept.as_ref()?.get(probe)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(Lookup::Hit(entry.built))
    }

    /// [`Cache::find`], or a new flight.
    pub(super) fn find_or_take_off(&self, print: Fingerprint, source: Arc<B::Source>) -> Lookup<B> {
        let key = Key {
            hash: print.hash,
            source,
            build: PhantomData,
        };
        let mut state = lock(&self.state);
        // With the lock: a flight that lands between the two is found by the one or the other.
        if let Some(found) = self.hit(&key).or_else(|| state.join(&key)) {
            return found;
        }
        state.stats.misses += 1;
        let (answer, _) = watch::channel(None);
        let flight = Arc::new(InFlight {
            key: key.clone(),
            bytes: print.bytes,
            answer,
        });
        state.flights.insert(key, Arc::clone(&flight));
        Lookup::Miss(flight)
    }

    /// Ends a flight, keeps what it built where there is something, and gives back what made room
    /// for it, with what the cache holds then.
    pub(super) fn settle(
        &self,
        flight: &InFlight<B>,
        built: Option<&B::Built>,
    ) -> (Evicted<B>, Stats) {
        let mut evicted = Evicted::default();
        let mut state = lock(&self.state);
        if let (Some(built), Some(kept)) = (built, &self.kept) {
            // A JSON value takes up to 16 bytes of memory for each byte of its text.
            let bytes = flight
                .bytes
                .saturating_mul(16)
                .saturating_add(B::estimated_bytes(built));
            let entry = Entry {
                built: built.clone(),
                bytes,
            };
            kept.insert_with_lifecycle(flight.key.clone(), entry, &mut evicted);
            // What is larger than the whole cache comes back at once: nothing made room for it.
            let own = |(key, _): &(Key<B>, _)| Arc::ptr_eq(&key.source, &flight.key.source);
            let refused = evicted.0.iter().position(own);
            match refused {
                Some(at) => drop(evicted.0.swap_remove(at)),
                None => state.stats.bytes += bytes,
            }
            for (_, old) in &evicted.0 {
                state.stats.bytes -= old.bytes;
            }
            state.stats.evictions += evicted.len() as u64;
        }
        state.flights.swap_remove(&flight.key);
        let stats = self.stats_with(&state);
        drop(state);
        (evicted, stats)
    }
}

impl<B: Build> State<B> {
    fn join<Q: Hash + Equivalent<Key<B>>>(&mut self, probe: &Q) -> Option<Lookup<B>> {
        let flight = self.flights.get(probe)?;
        self.stats.waits += 1;
        Some(Lookup::Wait(flight.subscribe()))
    }
}

/// One shard, since each would have its part of the bounds for itself: of many, none would hold
/// what is large.
fn options(max_entries: usize, capacity: usize) -> Option<Options> {
    if capacity == 0 {
        return None;
    }
    let mut options = OptionsBuilder::new();
    options
        .shards(1)
        .estimated_items_capacity(max_entries)
        // As many hashes of what went are remembered as entries fit: what comes back soon enough
        // to have been kept is kept from then on, however much of what is kept is used no more.
        .ghost_allocation(1.0)
        .weight_capacity(capacity as u64);
    if max_entries == 1 {
        // Else a part is set apart for what came once, and the rest is too small for one.
        options.hot_allocation(1.0);
    }
    options.build().ok()
}

#[cfg(test)]
mod tests;
