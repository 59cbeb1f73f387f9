//! Dates as Python's `strftime` writes them: seconds since 1970 and a format come in; text goes
//! out. Universal time, the C locale.

use jiff::Timestamp;
use jiff::fmt::strtime::{BrokenDownTime, Config, PosixCustom};
use jiff::tz::Offset;

/// Characters of a format: what it writes is then bounded, too.
const MAX_FORMAT: usize = 256;

/// Writes a date. Directives that are not known are written as they are, and so is all that
/// follows the first 256 characters.
pub(super) fn strftime(unix: u64, format: &str) -> String {
    let end = format.char_indices().nth(MAX_FORMAT);
    let (short, rest) = format.split_at(end.map_or(format.len(), |(end, _)| end));
    // Beyond the year 9999 Python has no dates.
    let seconds = i64::try_from(unix).unwrap_or(i64::MAX);
    let time = Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX);
    let config = Config::new().custom(PosixCustom::new()).lenient(true);
    let mut text = BrokenDownTime::from(Offset::UTC.to_datetime(time))
        .to_string_with_config(&config, naive(short, time))
        .unwrap_or_else(|_| short.to_owned());
    text.push_str(rest);
    text
}

/// The format with what Python writes otherwise for a time without a zone, as that of transformers
/// is: no zone, microseconds in six digits. What is the library's own alone is no directive.
fn naive(format: &str, time: Timestamp) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, directive)) = rest.split_once('%') {
        text.push_str(before);
        let is_flag = |c: char| "-_^#".contains(c) || c.is_ascii_digit();
        let word = directive.trim_start_matches(is_flag);
        let flags = &directive[..directive.len() - word.len()];
        let mut after = word.chars();
        match after.next() {
            Some('z' | 'Z') => {}
            Some('f') => text.push_str("000000"),
            Some('s') => text.push_str(&time.as_second().to_string()),
            Some(own @ ('N' | 'Q' | 'q' | '.' | ':')) => {
                text.extend(["%%", flags, own.encode_utf8(&mut [0; 4])])
            }
            Some(known) => {
                text.push('%');
                text.push_str(flags);
                text.push(known);
            }
            None => text.extend(["%%", flags]),
        }
        rest = after.as_str();
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Written by Python's `datetime.fromtimestamp(…, timezone.utc).replace(tzinfo=None).strftime`.
    #[test]
    fn dates_are_written_as_python_writes_them() {
        for (unix, expected) in [
            (0, "01 Jan 1970 Thursday Thu 12:00:00 AM 001 1 4"),
            (951_782_400, "29 Feb 2000 Tuesday Tue 12:00:00 AM 060 29 2"),
            (
                1_735_689_599,
                "31 Dec 2024 Tuesday Tue 11:59:59 PM 366 31 2",
            ),
            (
                1_794_916_800,
                "17 Nov 2026 Tuesday Tue 12:00:00 PM 321 17 2",
            ),
            (4_107_542_399, "28 Feb 2100 Sunday Sun 11:59:59 PM 059 28 7"),
            (4_107_542_400, "01 Mar 2100 Monday Mon 12:00:00 AM 060 1 1"),
        ] {
            let text = strftime(unix, "%d %b %Y %A %a %I:%M:%S %p %j %-d %u");
            assert_eq!(text, expected);
        }
        assert_eq!(
            strftime(
                1_735_689_599,
                "%G-W%V %U %W %C %k %l %P %r %-m|%s|%f|%z|%Z|"
            ),
            "2025-W01 52 53 20 23 11 pm 11:59:59 PM 12|1735689599|000000|||"
        );
        assert_eq!(
            strftime(1_794_916_800, "%B %e, %y %F %T %R %D %c"),
            "November 17, 26 2026-11-17 12:00:00 12:00 11/17/26 Tue Nov 17 12:00:00 2026"
        );
    }

    #[test]
    fn what_is_no_directive_is_written_as_it_is() {
        assert_eq!(strftime(0, "100% %q %-q %%"), "100% %q %-q %");
        assert_eq!(strftime(0, "a%.%%. %:z %N%"), "a%.%. %:z %N%");
        assert_eq!(strftime(u64::MAX, "%Y"), "9999");
        assert_eq!(strftime(0, &"%c".repeat(200)).matches("%c").count(), 72);
    }
}
