//! Rows in, files of them out, which a later run goes on with: it takes up what stands there, cuts off a last line that
//! was not finished, and holds the file, so that no two runs write to it.

use super::super::Failure;
use super::ledger::Ledger;
use super::lines::Lines;
use super::row::{Of, Outcome, Row, is_torn, standing};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Rows of earlier runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stood {
    pub(super) ok: u64,
    pub(super) failed: u64,
}

/// Where the rows go.
pub(super) struct Output {
    rows: Sheet,
    /// Those that failed, where they go elsewhere.
    errors: Option<Sheet>,
    pub(super) stood: Stood,
}

/// One file of rows.
struct Sheet {
    path: PathBuf,
    file: File,
}

/// Where everything is.
pub(super) struct Places<'a> {
    /// The input, where it is a file.
    pub(super) input: Option<&'a File>,
    pub(super) output: &'a Path,
    pub(super) errors: Option<&'a Path>,
    /// Rows that failed are taken out, to be asked again.
    pub(super) retry_failed: bool,
}

impl Output {
    /// Opens the files, and tells the ledger what stands there.
    ///
    /// # Errors
    /// One cannot be opened or holds something else, or another run writes to it.
    pub(super) fn open(places: &Places<'_>, ledger: &mut Ledger) -> Result<Self, Failure> {
        let mut stood = Stood::default();
        let mut open = |path: &Path| Sheet::open(path, places, ledger, &mut stood);
        if places.errors.is_some_and(|errors| errors == places.output) {
            let message = "--errors names the output itself: leave it out, or name another file";
            return Err(Failure::Usage(message.to_owned()));
        }
        let rows = open(places.output)?;
        let errors = places.errors.map(open).transpose()?;
        Ok(Self {
            rows,
            errors,
            stood,
        })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// It cannot be written; all before it stand.
    pub(super) fn write(&mut self, row: &Row) -> Result<(), Failure> {
        let sheet = match &mut self.errors {
            Some(errors) if row.outcome != Outcome::Ok => errors,
            _ => &mut self.rows,
        };
        let written = sheet.file.write_all(&row.text);
        written.map_err(|error| sheet.fails("cannot be written", &error))?;
        let meta = sheet.file.metadata();
        let meta = meta.map_err(|error| sheet.fails("cannot be read", &error))?;
        if meta.nlink() == 0 {
            let gone = io::Error::from(io::ErrorKind::NotFound);
            return Err(sheet.fails("was removed while rows were written to it", &gone));
        }
        Ok(())
    }

    /// Waits until the disk has everything.
    ///
    /// # Errors
    /// It does not take it.
    pub(super) fn sync(&self) -> Result<(), Failure> {
        for sheet in std::iter::once(&self.rows).chain(&self.errors) {
            let synced = sheet.file.sync_data();
            synced.map_err(|error| sheet.fails("cannot be written", &error))?;
        }
        Ok(())
    }
}

impl Sheet {
    fn open(
        path: &Path,
        places: &Places<'_>,
        ledger: &mut Ledger,
        stood: &mut Stood,
    ) -> Result<Self, Failure> {
        let failed = |error: &io::Error| fails(path, "cannot be opened", error);
        let file = rows_file()
            .create(true)
            .open(path)
            .map_err(|error| failed(&error))?;
        let mut sheet = Self {
            path: path.to_owned(),
            file,
        };
        sheet.hold()?;
        let meta = sheet.file.metadata().map_err(|error| failed(&error))?;
        if !meta.is_file() {
            let message = format!("{}: is no file; name one for the rows", path.display());
            return Err(Failure::Usage(message));
        }
        let input = places.input.and_then(|input| input.metadata().ok());
        if input.is_some_and(|input| (input.dev(), input.ino()) == (meta.dev(), meta.ino())) {
            let message = format!("{}: is the input; name another file", path.display());
            return Err(Failure::Usage(message));
        }
        let has_failed = sheet.take_up(places.retry_failed, ledger, stood)?;
        if has_failed && places.retry_failed {
            let kept = sheet.without_failed();
            sheet.file = kept.map_err(|error| sheet.fails("cannot be rewritten", &error))?;
        }
        Ok(sheet)
    }

    /// Keeps others from writing to it, as long as it is open.
    fn hold(&self) -> Result<(), Failure> {
        let path = self.path.display();
        let other = || Failure::Runtime(format!("{path}: another run is writing to it"));
        flock(&self.file, FlockOperation::NonBlockingLockExclusive).map_err(|error| {
            match error == rustix::io::Errno::WOULDBLOCK {
                true => other(),
                false => self.fails("cannot be locked", &error.into()),
            }
        })?;
        // Another run may have put a file in this one's place since it was opened.
        let failed = |error: io::Error| self.fails("cannot be opened", &error);
        let is_there = fs::metadata(&self.path).map_err(failed)?;
        let is_ours = self.file.metadata().map_err(failed)?;
        match (is_there.dev(), is_there.ino()) == (is_ours.dev(), is_ours.ino()) {
            true => Ok(()),
            false => Err(other()),
        }
    }

    /// Reads what stands there, and cuts off a row that was not finished. Whether a row failed.
    fn take_up(
        &self,
        retry_failed: bool,
        ledger: &mut Ledger,
        stood: &mut Stood,
    ) -> Result<bool, Failure> {
        let failed = |error: io::Error| self.fails("cannot be read", &error);
        let foreign = |number: u64| {
            let path = self.path.display();
            Failure::Runtime(format!(
                "{path}:{number}: is no row of a batch's output: name another file, nothing was changed"
            ))
        };
        let mut whole = 0;
        let mut has_failed = false;
        for line in Lines::new(BufReader::new(&self.file), usize::MAX) {
            let line = line.map_err(failed)?;
            let bytes = line.bytes.unwrap_or_default();
            if !line.is_whole && is_torn(&bytes) {
                break;
            }
            let row = standing(&bytes).filter(|_| line.is_whole);
            let row = row.ok_or_else(|| foreign(line.number))?;
            whole = line.end;
            has_failed |= !row.is_ok;
            if !row.is_ok && retry_failed {
                continue;
            }
            match row.of {
                Of::Request(custom_id) => ledger.stands(&custom_id),
                Of::Line(number) => ledger.line_stands(number),
            }
            match row.is_ok {
                true => stood.ok += 1,
                false => stood.failed += 1,
            }
        }
        self.file.set_len(whole).map_err(failed)?;
        Ok(has_failed)
    }

    /// The rows that did not fail, in a file that takes this one's place when it is complete.
    fn without_failed(&mut self) -> io::Result<File> {
        // The file itself, not a link to it.
        let path = fs::canonicalize(&self.path)?;
        let mut beside = path.clone().into_os_string();
        beside.push(".kept");
        let kept = rows_file().create(true).open(&beside)?;
        flock(&kept, FlockOperation::NonBlockingLockExclusive)?;
        // What a run left that was killed here.
        kept.set_len(0)?;
        kept.set_permissions(self.file.metadata()?.permissions())?;
        self.file.rewind()?;
        let mut writer = BufWriter::new(&kept);
        for line in Lines::new(BufReader::new(&self.file), usize::MAX) {
            let bytes = line?.bytes.unwrap_or_default();
            if standing(&bytes).is_some_and(|row| row.is_ok) {
                writer.write_all(&bytes)?;
                writer.write_all(b"\n")?;
            }
        }
        writer.flush()?;
        drop(writer);
        kept.sync_all()?;
        fs::rename(&beside, &path)?;
        Ok(kept)
    }

    fn fails(&self, what: &str, error: &io::Error) -> Failure {
        fails(&self.path, what, error)
    }
}

fn fails(path: &Path, what: &str, error: &io::Error) -> Failure {
    Failure::Runtime(format!("{}: {what}: {error}", path.display()))
}

fn rows_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    options
}

#[cfg(test)]
mod tests;
