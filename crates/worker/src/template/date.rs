//! Dates as Python's `strftime` writes them: seconds since 1970 and a format come in; text goes
//! out. Universal time, the C locale.

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Characters of a format: what it writes is then bounded, too.
const MAX_FORMAT: usize = 256;

/// Writes a date. Directives that are not known are written as they are, and so is all that
/// follows the first 256 characters.
pub(super) fn strftime(unix: u64, format: &str) -> String {
    let date = Date::new(unix);
    let mut text = String::new();
    let short: String = format.chars().take(MAX_FORMAT).collect();
    date.write(&short, &mut text);
    text.push_str(&format[short.len()..]);
    text
}

struct Date {
    year: u64,
    month: u64,
    day: u64,
    weekday: u64,
    day_of_year: u64,
    seconds: u64,
    unix: u64,
}

impl Date {
    fn new(unix: u64) -> Self {
        // The last second of the year 9999, which is as far as Python's dates go.
        let unix = unix.min(253_402_300_799);
        let days = unix / 86_400;
        // Days to a date (Hinnant 2013): eras of 400 years, years that begin in March.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let from_march = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * from_march + 2) / 153;
        let month = match shifted_month < 10 {
            true => shifted_month + 3,
            false => shifted_month - 9,
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let day_of_year = match month <= 2 {
            true => from_march - 305,
            false => from_march + 60 + u64::from(is_leap),
        };
        Self {
            year,
            month,
            day: from_march - (153 * shifted_month + 2) / 5 + 1,
            weekday: (days + 4) % 7,
            day_of_year,
            seconds: unix % 86_400,
            unix,
        }
    }

    fn write(&self, format: &str, text: &mut String) {
        let mut rest = format.chars();
        while let Some(character) = rest.next() {
            if character != '%' {
                text.push(character);
                continue;
            }
            let mut ahead = rest.clone();
            let mut directive = ahead.next();
            // glibc's `%-d`: a number without zeros before it.
            let is_bare = directive == Some('-');
            if is_bare {
                directive = ahead.next();
            }
            let Some(written) = directive.and_then(|directive| self.directive(directive)) else {
                text.push('%');
                continue;
            };
            rest = ahead;
            match is_bare && written.len() > 1 {
                true => {
                    let bare = written.trim_start_matches(['0', ' ']);
                    text.push_str(if bare.is_empty() { "0" } else { bare });
                }
                false => text.push_str(&written),
            }
        }
    }

    fn directive(&self, directive: char) -> Option<String> {
        let (hour, minute) = (self.seconds / 3_600, self.seconds / 60 % 60);
        let twelve = (hour + 11) % 12 + 1;
        let day = DAYS.get(self.weekday as usize)?;
        let month = MONTHS.get(self.month as usize - 1)?;
        Some(match directive {
            'Y' => format!("{:04}", self.year),
            'y' => format!("{:02}", self.year % 100),
            'm' => format!("{:02}", self.month),
            'd' => format!("{:02}", self.day),
            'e' => format!("{:2}", self.day),
            'j' => format!("{:03}", self.day_of_year),
            'H' => format!("{hour:02}"),
            'I' => format!("{twelve:02}"),
            'M' => format!("{minute:02}"),
            'S' => format!("{:02}", self.seconds % 60),
            'f' => "000000".to_owned(),
            'p' => (if hour < 12 { "AM" } else { "PM" }).to_owned(),
            'A' => (*day).to_owned(),
            'a' => day[..3].to_owned(),
            'B' => (*month).to_owned(),
            'b' | 'h' => month[..3].to_owned(),
            'w' => self.weekday.to_string(),
            'u' => ((self.weekday + 6) % 7 + 1).to_string(),
            's' => self.unix.to_string(),
            'Z' | 'z' => String::new(),
            'F' => self.together("%Y-%m-%d"),
            'T' | 'X' => self.together("%H:%M:%S"),
            'R' => self.together("%H:%M"),
            'D' | 'x' => self.together("%m/%d/%y"),
            'c' => self.together("%a %b %e %H:%M:%S %Y"),
            'n' => "\n".to_owned(),
            't' => "\t".to_owned(),
            '%' => "%".to_owned(),
            _ => return None,
        })
    }

    fn together(&self, format: &str) -> String {
        let mut text = String::new();
        self.write(format, &mut text);
        text
    }
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
            strftime(1_794_916_800, "%B %e, %y %F %T %R %D %c"),
            "November 17, 26 2026-11-17 12:00:00 12:00 11/17/26 Tue Nov 17 12:00:00 2026"
        );
    }

    #[test]
    fn what_is_no_directive_is_written_as_it_is() {
        assert_eq!(strftime(0, "100% %q %-q %%"), "100% %q %-q %");
        assert_eq!(strftime(u64::MAX, "%Y"), "9999");
        assert_eq!(strftime(0, &"%c".repeat(200)).matches("%c").count(), 72);
    }
}
