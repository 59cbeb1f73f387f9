//! The cache: constraints come in; checks go out that were compiled before, or the one
//! compilation under way that all who ask for the same wait for.
//!
//! Bounded by entries and by bytes; the least recently used makes room. Failures are not kept: a
//! constraint that the guard refuses is refused again in microseconds, and kept failures would
//! let one client's rubbish push out everybody's checks.

use super::fingerprint::Fingerprint;
use super::{Check, Stats};
use crate::error::Error;
use crate::ir::Constraint;
use indexmap::{Equivalent, IndexMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tokio::sync::watch;

/// What a compilation comes to.
pub(super) type Outcome = Result<Check, Error>;

/// What those who wait for a compilation hold.
pub(super) type Answer = watch::Receiver<Option<Outcome>>;

/// One compilation, and who waits for it.
#[derive(Debug)]
pub(super) struct Flight {
    key: Key,
    bytes: usize,
    answer: watch::Sender<Option<Outcome>>,
}

impl Flight {
    pub(super) fn constraint(&self) -> &Constraint {
        &self.key.constraint
    }

    pub(super) fn subscribe(&self) -> Answer {
        self.answer.subscribe()
    }

    /// Answers those who wait; the first answer stays for those who come later.
    pub(super) fn answer(&self, outcome: Outcome) {
        self.answer.send_if_modified(|answer| {
            let is_first = answer.is_none();
            if is_first {
                *answer = Some(outcome);
            }
            is_first
        });
    }
}

/// A constraint with its hash.
#[derive(Debug, Clone)]
struct Key {
    hash: u64,
    constraint: Arc<Constraint>,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.constraint == other.constraint
    }
}

impl Eq for Key {}

/// A key that borrows, to look up without a copy.
struct Probe<'a> {
    hash: u64,
    constraint: &'a Constraint,
}

impl Hash for Probe<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl Equivalent<Key> for Probe<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        // The hash finds the entry; the constraint itself decides. Numbers compare with their
        // kind, so `1`, `1.0` and `"1"` are three constraints.
        self.hash == key.hash && *self.constraint == *key.constraint
    }
}

#[derive(Debug)]
struct Entry {
    check: Check,
    bytes: usize,
    used: u64,
}

/// What a look-up finds.
#[derive(Debug)]
pub(super) enum Lookup {
    /// The check.
    Hit(Check),
    /// Somebody is at it.
    Wait(Answer),
    /// Nobody is at it: the caller has to be, and must settle this flight.
    Miss(Arc<Flight>),
}

/// Checks, and flights under way.
#[derive(Debug)]
pub(super) struct Cache {
    entries: IndexMap<Key, Entry>,
    flights: IndexMap<Key, Arc<Flight>>,
    max_entries: usize,
    max_bytes: usize,
    clock: u64,
    stats: Stats,
}

impl Cache {
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

    pub(super) fn stats(&self) -> Stats {
        Stats {
            entries: self.entries.len(),
            ..self.stats
        }
    }

    /// The check, or the flight under way.
    pub(super) fn find(&mut self, print: Fingerprint, constraint: &Constraint) -> Option<Lookup> {
        let probe = Probe {
            hash: print.hash,
            constraint,
        };
        self.clock += 1;
        if let Some(entry) = self.entries.get_mut(&probe) {
            entry.used = self.clock;
            self.stats.hits += 1;
            return Some(Lookup::Hit(entry.check.clone()));
        }
        let flight = self.flights.get(&probe)?;
        self.stats.waits += 1;
        Some(Lookup::Wait(flight.subscribe()))
    }

    /// [`Cache::find`], or a new flight.
    pub(super) fn find_or_take_off(
        &mut self,
        print: Fingerprint,
        constraint: Arc<Constraint>,
    ) -> Lookup {
        if let Some(found) = self.find(print, &constraint) {
            return found;
        }
        self.stats.misses += 1;
        let key = Key {
            hash: print.hash,
            constraint,
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

    /// Ends a flight, keeps its check where there is one, and gives back what made room for it:
    /// dropping that takes time, which is not the lock's.
    pub(super) fn settle(&mut self, flight: &Flight, check: Option<&Check>) -> Vec<Check> {
        self.flights.swap_remove(&flight.key);
        let mut evicted = Vec::new();
        let Some(check) = check else { return evicted };
        // A JSON value takes up to 16 bytes of memory for each byte of its text.
        let bytes = flight
            .bytes
            .saturating_mul(16)
            .saturating_add(check.estimated_bytes());
        if bytes > self.max_bytes || self.max_entries == 0 {
            return evicted;
        }
        while self.entries.len() >= self.max_entries || self.stats.bytes + bytes > self.max_bytes {
            let Some(check) = self.evict() else { break };
            evicted.push(check);
        }
        let entry = Entry {
            check: check.clone(),
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
    fn evict(&mut self) -> Option<Check> {
        let oldest = (0..self.entries.len()).min_by_key(|&index| self.entries[index].used)?;
        let (_, entry) = self.entries.swap_remove_index(oldest)?;
        self.stats.bytes -= entry.bytes;
        Some(entry.check)
    }
}
