//! What is promised of the cache: two bounds, no confusion, and locks that nothing waits for.

use super::{Cache, Lookup};
use crate::fingerprint::{Fingerprint, Fingerprints};
use crate::store::{Build, Outcome};
use isogloss_core::schema::SchemaLimits;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// Numbers, of as many bytes each.
struct Numbers;

impl Build for Numbers {
    type Source = usize;
    type Built = usize;

    fn kind(_: &usize) -> &'static str {
        "number"
    }

    fn same(one: &usize, other: &usize) -> bool {
        one == other
    }

    fn fingerprint(&self, _: &Fingerprints, _: &usize) -> Option<Fingerprint> {
        None
    }

    fn build(&self, source: &usize, _: &SchemaLimits) -> Outcome<Self> {
        Ok(*source)
    }

    fn estimated_bytes(built: &usize) -> usize {
        *built
    }
}

fn print(hash: u64) -> Fingerprint {
    Fingerprint { hash, bytes: 0 }
}

/// Asks for a number, under its own hash; whether it was there.
fn ask(cache: &Cache<Numbers>, number: usize) -> bool {
    match cache.find_or_take_off(print(number as u64), Arc::new(number)) {
        Lookup::Hit(built) => {
            assert_eq!(built, number);
            true
        }
        Lookup::Wait(_) => unreachable!("nothing is under way"),
        Lookup::Miss(flight) => {
            cache.settle(&flight, Some(&number));
            false
        }
    }
}

#[test]
fn what_has_the_same_hash_is_never_taken_for_the_other() {
    let cache: Cache<Numbers> = Cache::new(10, 1_000);
    let take_off = |number| cache.find_or_take_off(print(7), Arc::new(number));
    let (Lookup::Miss(one), Lookup::Miss(other)) = (take_off(1), take_off(2)) else {
        unreachable!("both are new")
    };
    assert!(matches!(take_off(1), Lookup::Wait(_)));
    cache.settle(&one, Some(&1));
    assert!(matches!(take_off(1), Lookup::Hit(1)));
    assert!(
        matches!(take_off(2), Lookup::Wait(_)),
        "the other is under way"
    );
    cache.settle(&other, Some(&2));
    assert!(matches!(cache.find(print(7), &1), Some(Lookup::Hit(1))));
    assert!(matches!(cache.find(print(7), &2), Some(Lookup::Hit(2))));
    assert!(cache.find(print(7), &3).is_none());
}

#[test]
fn what_is_small_is_bounded_by_entries_and_what_is_large_by_bytes() {
    for most in [1, 2, 3, 7, 100, 4_096] {
        let cache: Cache<Numbers> = Cache::new(most, 1 << 30);
        (0..2 * most + 9).for_each(|number| assert!(!ask(&cache, number)));
        let stats = cache.stats();
        assert_eq!(stats.entries, most);
        assert_eq!(stats.evictions as usize, most + 9);
    }
    let cache: Cache<Numbers> = Cache::new(1_000, 10_000);
    (900..1_000).for_each(|number| assert!(!ask(&cache, number)));
    let stats = cache.stats();
    assert!((9..=11).contains(&stats.entries), "{stats:?}");
    assert!((8_000..=10_000).contains(&stats.bytes), "{stats:?}");
    assert_eq!(stats.evictions as usize, 100 - stats.entries);
}

#[test]
fn what_no_bound_has_room_for_pushes_nothing_out() {
    let cache: Cache<Numbers> = Cache::new(10, 1_000);
    assert!(!ask(&cache, 30));
    let before = cache.stats();
    assert!(!ask(&cache, 1_001));
    assert_eq!((cache.stats().entries, cache.stats().evictions), (1, 0));
    assert_eq!(cache.stats().bytes, before.bytes);
    assert!(!ask(&cache, 1_001) && ask(&cache, 30));
    for (entries, bytes) in [(0, 1_000), (10, 0), (0, 0)] {
        let none: Cache<Numbers> = Cache::new(entries, bytes);
        assert!(none.keeps_nothing() && !ask(&none, 1) && !ask(&none, 1));
    }
}

#[test]
fn what_is_asked_for_again_outlives_any_number_that_come_once() {
    let cache: Cache<Numbers> = Cache::new(100, 1 << 30);
    let used = 0..20;
    for _ in 0..3 {
        for number in used.clone() {
            ask(&cache, number);
        }
    }
    for once in 1_000..2_000 {
        assert!(!ask(&cache, once));
    }
    assert!(used.clone().all(|number| ask(&cache, number)));
    // What is asked for from now on takes the place of what is not any more.
    for _ in 0..20 {
        for number in 3_000..3_100 {
            ask(&cache, number);
        }
    }
    let there = (3_000..3_100).filter(|number| ask(&cache, *number)).count();
    assert!(there > 80, "{there}");
}

/// Tells, when it is dropped, whether the cache's locks were free.
struct Dropped(Arc<OnceLock<Cache<Drops>>>, Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let Some(cache) = self.0.get() else { return };
        let is_free = |kept: &super::Kept<Drops>| kept.try_contains_key(&NoKey).is_ok();
        assert!(cache.state.try_lock().is_ok() && cache.kept.as_ref().is_none_or(is_free));
        self.1.fetch_add(1, Relaxed);
    }
}

#[derive(Hash)]
struct NoKey;

impl super::Equivalent<super::Key<Drops>> for NoKey {
    fn equivalent(&self, _: &super::Key<Drops>) -> bool {
        false
    }
}

struct Drops;

impl Build for Drops {
    type Source = usize;
    type Built = Arc<Dropped>;

    fn kind(_: &usize) -> &'static str {
        "drop"
    }

    fn same(one: &usize, other: &usize) -> bool {
        one == other
    }

    fn fingerprint(&self, _: &Fingerprints, _: &usize) -> Option<Fingerprint> {
        None
    }

    fn build(&self, _: &usize, _: &SchemaLimits) -> Outcome<Self> {
        unreachable!("nothing builds here")
    }

    fn estimated_bytes(_: &Arc<Dropped>) -> usize {
        1
    }
}

#[test]
fn nothing_is_dropped_under_a_lock() {
    let (shared, drops) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let cache = shared.get_or_init(|| Cache::new(10, 1_000));
    for number in 0..50 {
        let Lookup::Miss(flight) = cache.find_or_take_off(print(number), Arc::new(number as usize))
        else {
            unreachable!("each is new")
        };
        let built = Arc::new(Dropped(Arc::clone(&shared), Arc::clone(&drops)));
        let (evicted, stats) = cache.settle(&flight, Some(&built));
        assert_eq!(stats.entries, 10.min(number as usize + 1));
        assert_eq!(evicted.len(), usize::from(number >= 10));
    }
    assert_eq!(drops.load(Relaxed), 40);
}
