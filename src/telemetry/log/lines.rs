//! Lines that are written where they can be: one that a full disk, a reader that is gone or one that stands still does not take is
//! lost, and counted. Nobody waits for a log.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

/// As much as a pipe takes at once where it takes anything (`PIPE_BUF`).
const AT_ONCE_BYTES: usize = 4096;
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Where lines go.
#[derive(Debug)]
pub(super) struct Lines<W>(Mutex<Sink<W>>);

#[derive(Debug)]
struct Sink<W> {
    to: W,
    json: bool,
    /// Whether a write may wait for a reader.
    may_wait: bool,
    /// Since the last that was written.
    lost: u64,
    /// Some of a line was written.
    is_torn: bool,
}

/// One line.
#[derive(Debug)]
pub(super) struct Line<'l, W>(&'l Lines<W>);

impl<W: Write + AsFd> Lines<W> {
    pub(super) fn new(to: W, json: bool) -> Self {
        let kind = fstat(&to).map(|stat| FileType::from_raw_mode(stat.st_mode));
        Self(Mutex::new(Sink {
            to,
            json,
            may_wait: kind != Ok(FileType::RegularFile),
            lost: 0,
            is_torn: false,
        }))
    }
}

impl<'l, W: Write + AsFd + 'l> MakeWriter<'l> for Lines<W> {
    type Writer = Line<'l, W>;

    fn make_writer(&'l self) -> Line<'l, W> {
        Line(self)
    }
}

impl<W: Write + AsFd> Write for Line<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut sink = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        sink.line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write + AsFd> Sink<W> {
    fn line(&mut self, line: &[u8]) {
        if self.lost > 0 && self.write(&self.note()).is_some() {
            self.lost = 0;
        }
        if self.lost > 0 || self.write(line).is_none() {
            self.lost += 1;
        }
    }

    /// What is told of lines that were lost.
    fn note(&self) -> Vec<u8> {
        let torn = if self.is_torn { "\n" } else { "" };
        let told = format!("log lines lost: {}", self.lost);
        let note = match self.json {
            true => format!("{torn}{{\"level\":\"WARN\",\"message\":\"{told}\"}}\n"),
            false => format!("{torn}WARN {told}\n"),
        };
        note.into_bytes()
    }

    /// `None` where not all of it could be written.
    fn write(&mut self, line: &[u8]) -> Option<()> {
        for (at, piece) in line.chunks(AT_ONCE_BYTES).enumerate() {
            if !self.has_room() {
                self.is_torn |= at > 0;
                return None;
            }
            if self.to.write_all(piece).is_err() {
                self.is_torn = true;
                return None;
            }
        }
        self.is_torn = false;
        Some(())
    }

    fn has_room(&self) -> bool {
        if !self.may_wait {
            return true;
        }
        let mut asked = [PollFd::new(&self.to, PollFlags::OUT)];
        poll(&mut asked, Some(&NO_WAIT)).is_ok() && asked[0].revents().contains(PollFlags::OUT)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use std::io::Read;

    const LINE: &[u8] = b"a line of a log\n";

    fn write<W: Write + AsFd>(lines: &Lines<W>, line: &[u8]) {
        assert_eq!(lines.make_writer().write(line).unwrap(), line.len());
    }

    #[test]
    fn a_reader_that_stands_still_keeps_nobody_waiting_and_is_told_how_many_lines_were_lost() {
        let (mut reader, writer) = io::pipe().unwrap();
        let lines = Lines::new(writer, false);
        for _ in 0..20_000 {
            write(&lines, LINE);
        }
        let lost = lines.0.lock().unwrap().lost;
        assert!(lost > 0);
        let mut read = vec![0; 60 << 10];
        reader.read_exact(&mut read).unwrap();
        write(&lines, b"the last\n");
        drop(lines);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        let told = format!("WARN log lines lost: {lost}\nthe last\n");
        assert!(rest.ends_with(&told), "{rest}");
    }

    #[test]
    fn a_reader_that_is_gone_and_a_full_disk_end_nothing() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let lines = Lines::new(writer, true);
        write(&lines, LINE);
        write(&lines, LINE);
        assert_eq!(lines.0.lock().unwrap().lost, 2);
        // Linux alone has a disk that is always full.
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
            println!("skipped: there is no /dev/full");
            return;
        };
        let lines = Lines::new(full, false);
        write(&lines, LINE);
        assert_eq!(lines.0.lock().unwrap().lost, 1);
    }

    #[test]
    fn a_long_line_is_written_whole() {
        let (mut reader, writer) = io::pipe().unwrap();
        let long = [b"x".repeat(10_000), b"\n".to_vec()].concat();
        let lines = Lines::new(writer, false);
        write(&lines, &long);
        drop(lines);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, long);
    }
}
