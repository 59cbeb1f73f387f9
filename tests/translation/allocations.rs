//! How often the hot path asks for memory: counts, not times, so that a machine's mood does not matter.
//! None may grow over `tests/data/allocations.txt`; `UPDATE_RATCHET=1` writes what is there now.

use crate::hot_path::Ratchet;
use allocation_counter::measure;
use isogloss_testing::hot::hot_path;
use std::collections::BTreeMap;

#[test]
fn the_hot_path_asks_for_memory_no_more_often_than_it_did() {
    let mut counts = BTreeMap::new();
    for (what, times, mut work) in hot_path() {
        // The first look at anything fills what is filled once.
        work();
        let counted = measure(work);
        counts.insert(what, counted.count_total.div_ceil(times));
    }
    let kept = Ratchet::at("tests/data/allocations.txt");
    kept.hold(&counts, "allocations", |known| known);
}
