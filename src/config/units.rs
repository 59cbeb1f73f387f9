//! Times and sizes as people write them, to numbers and back.

use std::time::Duration;

/// What is wrong with a value, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Wrong {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }
}

/// A timer that is set further ahead can overflow the clock.
const MAX_DURATION: Duration = Duration::from_secs(7 * 24 * 3600);

const DURATION_UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

const SIZE_UNITS: [(&str, u64); 8] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

/// The digits in front, and the unit behind them.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// `500ms`, `30s`, `2m`, `1h`, `1d`; `0` needs no unit.
pub(super) fn duration(text: &str) -> Result<Duration, Wrong> {
    let time = span(text)?;
    if time > MAX_DURATION {
        return Err(Wrong::new(
            format!("`{text}` is too long"),
            "write at most 7d",
        ));
    }
    Ok(time)
}

/// The same for what no timer waits for.
pub(super) fn span(text: &str) -> Result<Duration, Wrong> {
    const REMEDY: &str = "write a whole number and a unit, such as 500ms, 30s, 2m or 1h";
    let (number, unit) = split(text);
    if unit.is_empty() && number == "0" {
        return Ok(Duration::ZERO);
    }
    if unit.is_empty() && !number.is_empty() {
        let remedy = format!("write {number}s for seconds, or {number}ms, {number}m, {number}h");
        return Err(Wrong::new(format!("the time `{text}` has no unit"), remedy));
    }
    let no_time = || Wrong::new(format!("`{text}` is no time"), REMEDY);
    let (_, factor) = DURATION_UNITS
        .into_iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(no_time)?;
    let millis = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor));
    millis.map(Duration::from_millis).ok_or_else(no_time)
}

/// Integer bytes, or `64KiB`, `32MiB`, `1GiB`, `10MB`.
pub(super) fn size(text: &str) -> Result<usize, Wrong> {
    let no_size = || {
        Wrong::new(
            format!("`{text}` is no size"),
            "write whole bytes, or a unit such as 64KiB, 32MiB or 1GiB",
        )
    };
    let (number, unit) = split(text);
    let (_, factor) = SIZE_UNITS
        .into_iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .ok_or_else(no_size)?;
    let bytes = number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or_else(no_size)?;
    if bytes == 0 {
        return Err(Wrong::new(
            "a size of 0 lets nothing through",
            "write a size such as 32MiB",
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration(" 2 m "), Ok(Duration::from_secs(120)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        let wrong = duration("30").map_err(|wrong| wrong.remedy);
        assert!(wrong.is_err_and(|remedy| remedy.starts_with("write 30s")));
        for text in [
            "",
            "s",
            "-1s",
            "1.5s",
            "1 fortnight",
            "99999999999999999999s",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_that_could_overflow_a_timer_is_refused() {
        assert!(duration("7d").is_ok());
        assert!(duration("8d").is_err());
        assert!(duration("18446744073709551615h").is_err());
    }

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        assert_eq!(size("1"), Ok(1));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("32 mib"), Ok(32 << 20));
        assert_eq!(size("10MB"), Ok(10_000_000));
        for text in [
            "",
            "0",
            "0MiB",
            "-1",
            "1.5MiB",
            "32 apples",
            "99999999999GiB",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
