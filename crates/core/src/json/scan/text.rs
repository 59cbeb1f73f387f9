//! The inside of a JSON string, one byte at a time: escapes, surrogate pairs, UTF-8.

use super::ScanFaultKind;

/// Where in a string the next byte stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text {
    /// Between characters.
    Plain,
    /// After a backslash.
    Escape,
    /// In the four digits of `\u`.
    Hex {
        digits: u8,
        value: u16,
        /// The half before this one was a high surrogate, so this must be a low one.
        is_low_half: bool,
    },
    /// After a high surrogate: the backslash of its other half must come.
    Backslash,
    /// After that backslash: the `u` must come.
    U,
    /// In a character of several bytes: how many are left, and the range of the next one.
    Utf8 { left: u8, low: u8, high: u8 },
}

/// What a byte led to.
pub(super) enum TextStep {
    More(Text),
    End,
}

impl Text {
    pub(super) fn push(self, byte: u8) -> Result<TextStep, ScanFaultKind> {
        let next = match self {
            Self::Plain if byte == b'"' => return Ok(TextStep::End),
            Self::Plain => Self::plain(byte)?,
            Self::Escape => match byte {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Self::Plain,
                b'u' => Self::hex(false),
                _ => return Err(ScanFaultKind::BadEscape),
            },
            Self::Hex {
                digits,
                value,
                is_low_half,
            } => Self::digit(digits, value, is_low_half, byte)?,
            Self::Backslash if byte == b'\\' => Self::U,
            Self::U if byte == b'u' => Self::hex(true),
            Self::Backslash | Self::U => return Err(ScanFaultKind::LoneSurrogate),
            Self::Utf8 { left, low, high } => {
                if byte < low || byte > high {
                    return Err(ScanFaultKind::InvalidUtf8);
                }
                if left == 1 {
                    Self::Plain
                } else {
                    Self::utf8(left - 1, 0x80, 0xBF)
                }
            }
        };
        Ok(TextStep::More(next))
    }

    /// The first byte of a character, with the ranges of the Unicode standard's table 3-7: no
    /// overlong forms, no surrogates, nothing over U+10FFFF.
    const fn plain(byte: u8) -> Result<Self, ScanFaultKind> {
        Ok(match byte {
            b'\\' => Self::Escape,
            0x20..=0x7F => Self::Plain,
            0x00..=0x1F => return Err(ScanFaultKind::ControlCharacter),
            0xC2..=0xDF => Self::utf8(1, 0x80, 0xBF),
            0xE0 => Self::utf8(2, 0xA0, 0xBF),
            0xED => Self::utf8(2, 0x80, 0x9F),
            0xE1..=0xEF => Self::utf8(2, 0x80, 0xBF),
            0xF0 => Self::utf8(3, 0x90, 0xBF),
            0xF1..=0xF3 => Self::utf8(3, 0x80, 0xBF),
            0xF4 => Self::utf8(3, 0x80, 0x8F),
            0x80..=0xC1 | 0xF5..=0xFF => return Err(ScanFaultKind::InvalidUtf8),
        })
    }

    const fn utf8(left: u8, low: u8, high: u8) -> Self {
        Self::Utf8 { left, low, high }
    }

    const fn hex(is_low_half: bool) -> Self {
        Self::Hex {
            digits: 0,
            value: 0,
            is_low_half,
        }
    }

    fn digit(digits: u8, value: u16, is_low_half: bool, byte: u8) -> Result<Self, ScanFaultKind> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return Err(ScanFaultKind::BadEscape),
        };
        let digits = digits + 1;
        let value = value << 4 | u16::from(digit);
        // Two digits tell a surrogate: D8 to DB is a high half, DC to DF a low one.
        let is_wrong_half = match (digits, is_low_half) {
            (1, true) => value != 0xD,
            (2, true) => !matches!(value, 0xDC..=0xDF),
            (2, false) => matches!(value, 0xDC..=0xDF),
            _ => false,
        };
        if is_wrong_half {
            return Err(ScanFaultKind::LoneSurrogate);
        }
        Ok(match (digits, value) {
            (4, 0xD800..=0xDBFF) => Self::Backslash,
            (4, _) => Self::Plain,
            _ => Self::Hex {
                digits,
                value,
                is_low_half,
            },
        })
    }
}
