//! The tables that the cost of the hot path is held against.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// A table of costs, none of which may grow. `UPDATE_RATCHET=1` writes what is there now.
pub(crate) struct Ratchet {
    path: PathBuf,
}

impl Ratchet {
    pub(crate) fn at(path: &str) -> Self {
        let path = isogloss_testing::root().join(path);
        Self { path }
    }

    /// Holds counts against the table. `most` is what a known count may have become.
    pub(crate) fn hold(
        &self,
        counts: &BTreeMap<&'static str, u64>,
        unit: &str,
        most: impl Fn(u64) -> u64,
    ) {
        if std::env::var_os("UPDATE_RATCHET").is_some() {
            let mut text = String::new();
            for (what, count) in counts {
                writeln!(text, "{count:6} {what}").unwrap();
            }
            std::fs::write(&self.path, text).unwrap();
            return;
        }
        let known = std::fs::read_to_string(&self.path).unwrap();
        let known: BTreeMap<&str, u64> = (known.lines())
            .map(|line| line.trim_start().split_once(' ').unwrap())
            .map(|(count, what)| (what, count.parse().unwrap()))
            .collect();
        for (what, count) in counts {
            let known =
                *(known.get(what)).unwrap_or_else(|| panic!("{what}: {count}, not in the table"));
            assert!(
                *count <= most(known),
                "{what}: {count} {unit}, {known} before"
            );
        }
    }
}
