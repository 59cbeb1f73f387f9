//! The cache: what is to be compiled comes in; what was compiled before goes out, or the one
//! compilation under way that all who ask for the same wait for.
//!
//! Bounded by entries and by bytes; the least recently used makes room. Failures are not kept: a
//! constraint that the guard refuses is refused again in microseconds, and kept failures would
//! let one client's rubbish push out what everybody else uses.

use super::Stats;
use super::fingerprint::Fingerprint;
use super::store::{Build, Outcome};
use indexmap::{Equivalent, IndexMap};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;
use tokio::sync::watch;

/// What those who wait for a compilation hold.
pub(super) type Answer<B> = watch::Receiver<Option<Outcome<B>>>;

/// One compilation, and who waits for it.
pub(super) struct Flight<B: Build> {
    key: Key<B>,
    bytes: usize,
    answer: watch::Sender<Option<Outcome<B>>>,
}

impl<B: Build> Flight<B> {
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

struct Entry<B: Build> {
    built: B::Built,
    bytes: usize,
    used: u64,
}

/// What a look-up finds.
pub(super) enum Lookup<B: Build> {
    /// It was compiled before.
    Hit(B::Built),
    /// Somebody is at it.
    Wait(Answer<B>),
    /// Nobody is at it: the caller has to be, and must settle this flight.
    Miss(Arc<Flight<B>>),
}

/// What is compiled, and flights under way.
pub(super) struct Cache<B: Build> {
    entries: IndexMap<Key<B>, Entry<B>>,
    flights: IndexMap<Key<B>, Arc<Flight<B>>>,
    max_entries: usize,
    max_bytes: usize,
    clock: u64,
    stats: Stats,
}

impl<B: Build> Cache<B> {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self {
            entries: IndexMap::new(),
            flights: IndexMap::new(),
            max_entries,
            max_bytes,
            clock: 0,
            stats: Stats::default(),
        }
    }

    /// Whether there is no room for anything.
    pub(super) const fn keeps_nothing(&self) -> bool {
        self.max_entries == 0
    }

    pub(super) fn stats(&self) -> Stats {
        Stats {
            entries: self.entries.len(),
            ..self.stats
        }
    }

    /// What was compiled, or the flight under way.
    pub(super) fn find(&mut self, print: Fingerprint, source: &B::Source) -> Option<Lookup<B>> {
        self.find_by(print, |known| B::same(source, known))
    }

    /// [`Cache::find`] of a source that is not there as one.
    pub(super) fn find_by(
        &mut self,
        print: Fingerprint,
        is_it: impl Fn(&B::Source) -> bool,
    ) -> Option<Lookup<B>> {
        let probe = Probe {
            hash: print.hash,
            is_it,
        };
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(&probe) {
            entry.used = self.clock;
            self.stats.hits += 1;
            return Some(Lookup::Hit(entry.built.clone()));
        }
        let flight = self.flights.get(&probe)?;
        self.stats.waits += 1;
        Some(Lookup::Wait(flight.subscribe()))
    }

    /// [`Cache::find`], or a new flight.
    pub(super) fn find_or_take_off(
        &mut self,
        print: Fingerprint,
        source: Arc<B::Source>,
    ) -> Lookup<B> {
        if let Some(found) = self.find(print, &source) {
            return found;
        }
        self.stats.misses += 1;
        let key = Key {
            hash: print.hash,
            source,
            build: PhantomData,
        };
        let (answer, _) = watch::channel(None);
        let flight = Arc::new(Flight {
            key: key.clone(),
            bytes: print.bytes,
            answer,
        });
        self.flights.insert(key, Arc::clone(&flight));
        Lookup::Miss(flight)
    }

    /// Ends a flight, keeps what it built where there is something, and gives back what made room
    /// for it: dropping that takes time, which is not the lock's.
    pub(super) fn settle(&mut self, flight: &Flight<B>, built: Option<&B::Built>) -> Vec<B::Built> {
        self.flights.swap_remove(&flight.key);
        let mut evicted = Vec::new();
        let Some(built) = built else { return evicted };
        // A JSON value takes up to 16 bytes of memory for each byte of its text.
        let bytes = flight
            .bytes
            .saturating_mul(16)
            .saturating_add(B::estimated_bytes(built));
        if bytes > self.max_bytes || self.max_entries == 0 {
            return evicted;
        }
        while self.entries.len() >= self.max_entries || self.stats.bytes + bytes > self.max_bytes {
            let Some(old) = self.evict() else { break };
            evicted.push(old);
        }
        let entry = Entry {
            built: built.clone(),
            bytes,
            used: self.clock,
        };
        if let Some(old) = self.entries.insert(flight.key.clone(), entry) {
            self.stats.bytes -= old.bytes;
        }
        self.stats.bytes += bytes;
        self.stats.evictions += evicted.len() as u64;
        evicted
    }

    /// Drops the least recently used entry. Looking at all of them costs 5 ns each, once for a
    /// compilation that took a thousand times as long; a hit stays one look-up.
    fn evict(&mut self) -> Option<B::Built> {
        let oldest = (0..self.entries.len()).min_by_key(|&index| self.entries[index].used)?;
        let (_, entry) = self.entries.swap_remove_index(oldest)?;
        self.stats.bytes -= entry.bytes;
        Some(entry.built)
    }
}
