//! The formats `date`, `time` and `date-time`, as RFC 3339 writes them: a text comes in, whether it
//! is one goes out. The library reads the years `+202` and `1.98`, too.

/// `2024-02-29`.
pub(crate) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (
        number(&[*y1, *y2, *y3, *y4]),
        number(&[*m1, *m2]),
        number(&[*d1, *d2]),
    ) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

/// `23:59:60.5+01:00`; a leap second only where it is midnight in UTC.
pub(crate) fn is_time(text: &str) -> bool {
    let [h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = text.as_bytes() else {
        return false;
    };
    let (Some(hour), Some(minute), Some(second)) = (
        number(&[*h1, *h2]),
        number(&[*m1, *m2]),
        number(&[*s1, *s2]),
    ) else {
        return false;
    };
    let zone = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if digits == 0 {
                return false;
            }
            &fraction[digits..]
        }
        zone => zone,
    };
    let offset = match zone {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let hours = number(&[*h1, *h2]).filter(|hours| *hours < 24);
            let minutes = number(&[*m1, *m2]).filter(|minutes| *minutes < 60);
            let sign = if *sign == b'+' { 1 } else { -1 };
            hours
                .zip(minutes)
                .map(|(hours, minutes)| sign * (hours * 60 + minutes))
        }
        _ => None,
    };
    let Some(offset) = offset else { return false };
    let is_midnight = (hour * 60 + minute - offset).rem_euclid(24 * 60) == 24 * 60 - 1;
    hour < 24 && minute < 60 && (second < 60 || (second == 60 && is_midnight))
}

/// A date and a time with a `T` between them.
pub(crate) fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't'])
        .is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn number(digits: &[u8]) -> Option<i32> {
    digits.iter().try_fold(0, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| i32::from(byte - b'0'))?;
        Some(number * 10 + digit)
    })
}

#[cfg(test)]
mod tests {
    use super::{is_date, is_date_time, is_time};

    #[test]
    fn dates_and_times_are_those_of_rfc_3339() {
        for text in ["2024-02-29", "2000-02-29", "0001-12-31"] {
            assert!(is_date(text), "{text}");
        }
        for text in [
            "+202-01-01",
            "2023-02-29",
            "1900-02-29",
            "2024-04-31",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "2024-1-01",
            "2024-01-01\n",
            "২০২4-01-01",
            "",
        ] {
            assert!(!is_date(text), "{text}");
        }
        for text in [
            "12:00:00Z",
            "12:00:00z",
            "00:00:00.123456789012+23:59",
            "23:59:60Z",
            "22:59:60-01:00",
            "00:29:60+00:30",
        ] {
            assert!(is_time(text), "{text}");
        }
        for text in [
            "12:00:0.Z",
            "12:00:00",
            "24:00:00Z",
            "12:60:00Z",
            "12:00:61Z",
            "12:59:60Z",
            "12:00:00.Z",
            "12:00:00+24:00",
            "12:00:00+01:60",
            "12:00:00+0100",
            "12:00:00Z\n",
            "12:00Z",
        ] {
            assert!(!is_time(text), "{text}");
        }
        assert!(is_date_time("2024-01-01T12:00:00Z") && is_date_time("2024-01-01t12:00:00z"));
        for text in [
            "1.98-12-31T23:59:60Z",
            "2024-01-01 12:00:00Z",
            "2024-01-01",
            "2024-01-01T",
            "T12:00:00Z",
        ] {
            assert!(!is_date_time(text), "{text}");
        }
    }
}
