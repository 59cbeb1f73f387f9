//! What has a row already, and what has been seen of the input: whether a line is to be asked. About 40 bytes a line.

use ring::digest::{SHA256, digest};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// In the output, and not yet seen in the input.
const UNSEEN: u64 = 0;

/// What becomes of a line that is a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is to be asked.
    Ask,
    /// Its row stands in the output.
    Stands,
    /// The line of this number has the same `custom_id`.
    Twice(u64),
}

/// Rows by their `custom_id`, and those of lines that have none by the line's number.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    ids: HashMap<u128, u64>,
    lines: HashSet<u64>,
}

impl Ledger {
    /// A row stands in the output.
    pub(super) fn stands(&mut self, custom_id: &str) {
        self.ids.insert(key(custom_id), UNSEEN);
    }

    /// So does one of a line that could not be asked.
    pub(super) fn line_stands(&mut self, number: u64) {
        self.lines.insert(number);
    }

    /// Whether there is such a row of this line.
    pub(super) fn has_line(&self, number: u64) -> bool {
        self.lines.contains(&number)
    }

    /// The next line of the input that is a request.
    pub(super) fn turn(&mut self, custom_id: &str, number: u64) -> Turn {
        match self.ids.entry(key(custom_id)) {
            Entry::Vacant(entry) => {
                entry.insert(number);
                Turn::Ask
            }
            Entry::Occupied(mut entry) if *entry.get() == UNSEEN => {
                entry.insert(number);
                Turn::Stands
            }
            Entry::Occupied(entry) => Turn::Twice(*entry.get()),
        }
    }
}

/// Short, and of two ids never the same: a row that is taken for another's would be lost.
fn key(custom_id: &str) -> u128 {
    let hash = digest(&SHA256, custom_id.as_bytes());
    let bytes = hash.as_ref().iter().take(16);
    bytes.fold(0, |key, byte| key << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_asked_once_and_what_stands_is_not_asked() {
        let mut ledger = Ledger::default();
        ledger.stands("old");
        ledger.line_stands(4);
        assert_eq!(ledger.turn("new", 1), Turn::Ask);
        assert_eq!(ledger.turn("old", 2), Turn::Stands);
        assert_eq!(ledger.turn("new", 3), Turn::Twice(1));
        assert_eq!(ledger.turn("old", 5), Turn::Twice(2));
        assert!(ledger.has_line(4) && !ledger.has_line(3));
    }
}
