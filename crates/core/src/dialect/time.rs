//! A time as most dialects write it.

/// Unix seconds as RFC 3339, in UTC.
pub(crate) fn rfc3339(seconds: u64) -> String {
    const DAY: u64 = 86_400;
    let (days, of_day) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same with a fraction of a second, without which some clients read no time (any-llm-sdk 1.26).
pub(crate) fn rfc3339_micros(seconds: u64) -> String {
    let whole = rfc3339(seconds);
    format!("{}.000000Z", whole.trim_end_matches('Z'))
}

/// The date of a day since 1970 (Howard Hinnant's `civil_from_days`): years begin in March, so that the leap
/// day is the last one.
const fn date(days: u64) -> (u64, u64, u64) {
    const ERA_DAYS: u64 = 146_097;
    let shifted = days.saturating_add(719_468);
    let (era, of_era) = (shifted / ERA_DAYS, shifted % ERA_DAYS);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + (month <= 2) as u64;
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_750_000_000, "2025-06-15T15:06:40Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }
}
