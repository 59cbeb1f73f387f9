//! A file in, its lines out, one at a time: what is longer than a line may be is read over, never kept.

use bytes::Bytes;
use std::io::{self, BufRead};

/// Before the first line of files that Windows programs write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line that has anything in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The first is 1.
    pub(super) number: u64,
    /// Bytes of the file up to its end.
    pub(super) end: u64,
    /// Its bytes, without the line feed; `None` where they are too many.
    pub(super) bytes: Option<Bytes>,
    /// It ends with a line feed.
    pub(super) is_whole: bool,
}

/// The lines of a file.
pub(super) struct Lines<R> {
    from: R,
    /// Bytes that a line may have.
    most: usize,
    number: u64,
    end: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(from: R, most: usize) -> Self {
        Self {
            from,
            most,
            number: 0,
            end: 0,
        }
    }

    fn line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Some(Vec::new());
        let mut is_whole = false;
        let begin = self.end;
        while !is_whole {
            let found = match self.from.fill_buf() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if found.is_empty() {
                break;
            }
            let feed = memchr::memchr(b'\n', found);
            let piece = found.get(..feed.unwrap_or(found.len())).unwrap_or(found);
            match &mut bytes {
                Some(so_far) if so_far.len() + piece.len() <= self.most => {
                    so_far.extend_from_slice(piece);
                }
                too_many => *too_many = None,
            }
            is_whole = feed.is_some();
            let taken = piece.len() + usize::from(is_whole);
            self.from.consume(taken);
            self.end += taken as u64;
        }
        if self.end == begin {
            return Ok(None);
        }
        self.number += 1;
        let bytes = bytes.map(|bytes| match bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) if self.number == 1 => Bytes::copy_from_slice(rest),
            _ => Bytes::from(bytes),
        });
        Ok(Some(Line {
            number: self.number,
            end: self.end,
            bytes,
            is_whole,
        }))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.line().transpose()?;
            let is_blank = |bytes: &Bytes| bytes.trim_ascii().is_empty();
            match &line {
                Ok(line) if line.bytes.as_ref().is_some_and(is_blank) => {}
                _ => return Some(line),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::io::BufReader;

    fn lines(text: &str, room: usize) -> Vec<(u64, u64, Option<String>, bool)> {
        let from = BufReader::with_capacity(room, text.as_bytes());
        let lines = Lines::new(from, 5).map(Result::unwrap);
        let text = |bytes: Bytes| String::from_utf8(bytes.to_vec()).unwrap();
        lines
            .map(|line| (line.number, line.end, line.bytes.map(text), line.is_whole))
            .collect()
    }

    #[test]
    fn lines_are_counted_blank_ones_too_however_the_file_is_read() {
        let some = |text: &str| Some(text.to_owned());
        for room in 1..30 {
            assert_eq!(
                lines("ab\n\n \r\n12345\n123456\n\nend", room),
                [
                    (1, 3, some("ab"), true),
                    (4, 13, some("12345"), true),
                    (5, 20, None, true),
                    (7, 24, some("end"), false),
                ],
                "{room}"
            );
            assert_eq!(lines("", room), []);
            assert_eq!(lines("\u{feff}a\n", room), [(1, 5, some("a"), true)]);
        }
    }
}
