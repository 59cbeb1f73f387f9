//! What a process was at when it died: the constraint that a thread compiles, or works through, in; out, for whoever
//! finds the process dead, a file that outlives it.
//!
//! Native code that aborts says nothing any more. So each thread notes what it is about to do before it does it: a
//! number that the request came with, written to a place of its own in a file, and zero when it is done. Two small
//! writes to a file that is in memory anyway cost about a microsecond.

use std::fs::{File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The header in which a request says its constraint's number, in hexadecimal digits.
pub const HEADER: &str = "x-isogloss-constraint";

const NAME: &str = "at-work";
/// More than there are threads. Whoever finds none free notes nothing.
const PLACES: u16 = 256;
const PLACE_BYTES: usize = size_of::<u64>();

/// Where a process notes what it is at.
#[derive(Debug)]
pub struct Notes {
    file: File,
    free: Mutex<Vec<u16>>,
}

/// A constraint that can be noted.
#[derive(Debug, Clone)]
pub struct Mark {
    notes: Arc<Notes>,
    constraint: NonZeroU64,
}

/// A thread is at work on a constraint, until this is dropped.
#[derive(Debug)]
pub struct AtWork<'n> {
    notes: &'n Notes,
    place: u16,
}

/// The file of the process that listens on this socket.
#[must_use]
pub fn beside(socket: &Path) -> PathBuf {
    socket.with_file_name(NAME)
}

/// Makes the file for a process that is about to be started: nothing is noted in it.
///
/// # Errors
/// It cannot be written.
pub fn create(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    // Written out: a place that exists can be written to however full the disk is.
    let nothing = [0; PLACES as usize * PLACE_BYTES];
    options.open(path)?.write_all_at(&nothing, 0)
}

/// What the process was at that noted it here, and is gone. Nothing, where nothing can be read.
#[must_use]
pub fn left(path: &Path) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let (places, _) = bytes.as_chunks::<PLACE_BYTES>();
    let numbers = places.iter().map(|place| u64::from_le_bytes(*place));
    numbers.filter(|number| *number != 0).collect()
}

impl Notes {
    /// The file that whoever started this process made for it.
    ///
    /// # Errors
    /// There is none: nobody wants to know.
    pub fn open(path: &Path) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            file: OpenOptions::new().write(true).open(path)?,
            free: Mutex::new((0..PLACES).collect()),
        }))
    }

    /// The constraint of a request whose [`HEADER`] says this.
    #[must_use]
    pub fn mark(self: &Arc<Self>, header: &str) -> Option<Mark> {
        let constraint = u64::from_str_radix(header, 16).ok()?;
        Some(Mark {
            notes: Arc::clone(self),
            constraint: NonZeroU64::new(constraint)?,
        })
    }

    fn free(&self) -> MutexGuard<'_, Vec<u16>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A note that cannot be written is one less to be found.
    fn write(&self, place: u16, number: u64) {
        let offset = u64::from(place) * PLACE_BYTES as u64;
        let _unwritten = self.file.write_all_at(&number.to_le_bytes(), offset);
    }
}

impl Mark {
    /// Notes that this thread is at work on the constraint.
    #[must_use]
    pub fn at_work(&self) -> Option<AtWork<'_>> {
        let notes = &*self.notes;
        let place = notes.free().pop()?;
        notes.write(place, self.constraint.get());
        Some(AtWork { notes, place })
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.notes.write(self.place, 0);
        self.notes.free().push(self.place);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn what_is_at_work_is_found_while_it_is_and_not_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = beside(&folder.path().join("worker.sock"));
        create(&path).unwrap();
        let notes = Notes::open(&path).unwrap();
        let (one, other) = (
            notes.mark("1").unwrap(),
            notes.mark("fedcba9876543210").unwrap(),
        );
        assert!(left(&path).is_empty());
        let first = one.at_work();
        let second = other.at_work();
        let again = one.at_work();
        let mut found = left(&path);
        found.sort_unstable();
        assert_eq!(found, [1, 1, 0xfedc_ba98_7654_3210]);
        drop((first, again));
        assert_eq!(left(&path), [0xfedc_ba98_7654_3210]);
        drop(second);
        assert!(left(&path).is_empty());
        // The next process finds nothing of the last one.
        let _left = one.at_work();
        create(&path).unwrap();
        assert!(left(&path).is_empty());
    }

    #[test]
    fn a_panic_that_is_caught_is_no_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        create(&path).unwrap();
        let mark = Notes::open(&path).unwrap().mark("a").unwrap();
        let caught = std::panic::catch_unwind(|| {
            let _at = mark.at_work();
            unreachable!("an assertion");
        });
        assert!(caught.is_err() && left(&path).is_empty());
    }

    #[test]
    fn places_come_free_again_and_whoever_finds_none_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        create(&path).unwrap();
        let mark = Notes::open(&path).unwrap().mark("a").unwrap();
        for _ in 0..2 {
            let all: Vec<_> = (0..PLACES).filter_map(|_| mark.at_work()).collect();
            assert_eq!((all.len(), left(&path).len()), (256, 256));
            assert!(mark.at_work().is_none());
        }
        assert!(left(&path).is_empty());
    }

    #[test]
    fn what_is_no_number_or_no_file_notes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        assert!(Notes::open(&path).is_err() && left(&path).is_empty());
        create(&path).unwrap();
        let notes = Notes::open(&path).unwrap();
        for header in ["", "0", "x", "-1", "10000000000000000"] {
            assert!(notes.mark(header).is_none(), "{header}");
        }
    }
}
