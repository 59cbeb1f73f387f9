//! Plain regexes: a pattern of ECMA's comes in; the same one without named classes, needless escapes
//! and lazy repetitions goes out, for compilers that read no others.

use std::iter::Peekable;
use std::str::Chars;

/// A pattern in plain syntax.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    pub(super) pattern: String,
    /// Whether it leaves out white space other than blanks, which cannot stand in a JSON text as it
    /// is.
    pub(super) is_narrower: bool,
}

/// The pattern, anchored at both ends, in plain syntax; `None` where there is no such form.
pub(super) fn plain(pattern: &str) -> Option<Plain> {
    let mut plain = Plain {
        pattern: String::from("^"),
        is_narrower: false,
    };
    let alternatives = alternatives(pattern)?;
    if let [only] = alternatives.as_slice() {
        plain.write(only)?;
    } else {
        plain.pattern.push_str("(?:");
        for (index, alternative) in alternatives.iter().enumerate() {
            if index > 0 {
                plain.pattern.push('|');
            }
            plain.write(alternative)?;
        }
        plain.pattern.push(')');
    }
    plain.pattern.push('$');
    Some(plain)
}

/// What stands between the anchors: several where each alternative has its own.
fn alternatives(pattern: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut in_class) = (0, 0_u32, false);
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class => depth = depth.checked_sub(1)?,
            '|' if !in_class && depth == 0 => {
                parts.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&pattern[start..]);
    let inner = |part: &'_ str| -> Option<(usize, usize)> {
        let inner = part.strip_prefix('^')?.strip_suffix('$')?;
        let escapes = inner
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        (escapes % 2 == 0).then_some((1, part.len() - 1))
    };
    let each: Option<Vec<&str>> = parts
        .iter()
        .map(|part| inner(part).map(|(from, to)| &part[from..to]))
        .collect();
    // One pair of anchors around several alternatives would bind to the first and the last.
    each
}

impl Plain {
    fn write(&mut self, pattern: &str) -> Option<()> {
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            let from = self.pattern.len();
            match c {
                '\\' => {
                    let escaped = chars.next()?;
                    self.escape(escaped, false)?;
                    self.digits(escaped, &mut chars)?;
                }
                '[' => self.class(&mut chars)?,
                '(' => {
                    self.pattern.push('(');
                    if chars.next_if_eq(&'?').is_some() {
                        match chars.next()? {
                            ':' => self.pattern.push_str("?:"),
                            // A name is not part of what matches.
                            '<' if chars.peek().is_some_and(|c| c.is_alphabetic()) => {
                                chars.by_ref().find(|c| *c == '>')?;
                            }
                            _ => return None,
                        }
                    }
                }
                '*' | '+' | '?' => {
                    self.pattern.push(c);
                    // Whether it takes as little as it can changes nothing of what matches whole.
                    chars.next_if_eq(&'?');
                }
                '{' => {
                    self.bounds(&mut chars)?;
                    chars.next_if_eq(&'?');
                }
                // A bare one is read without an end (7e4c0a9), or for any string (b11434).
                '}' | ']' => self.pattern.extend(['\\', c]),
                '^' | '$' => return None,
                c => self.pattern.push(c),
            }
            if matches!(chars.peek(), Some('*' | '+' | '?' | '{')) {
                self.single(from);
            }
        }
        Some(())
    }

    /// The numbers of a repetition, after its brace.
    fn bounds(&mut self, chars: &mut Peekable<Chars<'_>>) -> Option<()> {
        self.pattern.push('{');
        loop {
            let c = chars.next()?;
            self.pattern.push(c);
            match c {
                '}' => return Some(()),
                c if c.is_ascii_digit() || c == ',' => {}
                _ => return None,
            }
        }
    }

    /// What is to be repeated, as a class where it is one character in several bytes: of a letter
    /// beyond ASCII llama.cpp repeats the last byte, of a number the last digit, and with an escaped
    /// character all the letters before it.
    fn single(&mut self, from: usize) {
        let written = self.pattern.split_off(from);
        let is_escape = written.starts_with('\\');
        let is_letter = written.starts_with(|c: char| !c.is_ascii());
        let inner = match written.as_str() {
            r"\^" => r"\x5e",
            r"\." | r"\$" | r"\(" | r"\)" | r"\|" | r"\{" | r"\}" | r"\*" | r"\+" | r"\?" => {
                &written[1..]
            }
            other => other,
        };
        match is_escape || is_letter {
            true => self.pattern.extend(["[", inner, "]"]),
            false => self.pattern.push_str(&written),
        }
    }

    /// The digits of a character's number.
    fn digits(&mut self, escaped: char, chars: &mut Peekable<Chars<'_>>) -> Option<()> {
        let count = match escaped {
            'x' => 2,
            'u' => 4,
            _ => 0,
        };
        for _ in 0..count {
            let digit = chars.next_if(char::is_ascii_hexdigit)?;
            self.pattern.push(digit);
        }
        Some(())
    }

    fn class(&mut self, chars: &mut Peekable<Chars<'_>>) -> Option<()> {
        self.pattern.push('[');
        if let Some(not) = chars.next_if_eq(&'^') {
            self.pattern.push(not);
        }
        let mut has_hyphen = false;
        loop {
            match chars.next()? {
                ']' => break,
                '\\' => match chars.next()? {
                    '-' => has_hyphen = true,
                    escaped => {
                        self.escape(escaped, true)?;
                        self.digits(escaped, chars)?;
                    }
                },
                // Classes within classes are no part of ECMA's without a flag.
                '[' => self.pattern.push_str("\\["),
                c => self.pattern.push(c),
            }
        }
        if has_hyphen {
            self.pattern.push('-');
        }
        self.pattern.push(']');
        Some(())
    }

    fn escape(&mut self, escaped: char, in_class: bool) -> Option<()> {
        let class = match escaped {
            'd' => "0-9",
            'w' => "A-Za-z0-9_",
            's' => {
                self.is_narrower = true;
                " "
            }
            'D' if !in_class => "^0-9",
            'W' if !in_class => "^A-Za-z0-9_",
            'S' if !in_class => "^ \\t\\n\\r",
            'n' | 'r' | 't' | 'x' | 'u' | '\\' => {
                self.pattern.push('\\');
                self.pattern.push(escaped);
                return Some(());
            }
            c if c.is_ascii_alphanumeric() => return None,
            c if in_class => {
                let must = matches!(c, '[' | ']' | '^');
                if c == '^' && self.pattern.ends_with('[') {
                    return None;
                }
                if must && c != '^' {
                    self.pattern.push('\\');
                }
                self.pattern.push(c);
                return Some(());
            }
            c => {
                if "^$.[]()|{}*+?".contains(c) {
                    self.pattern.push('\\');
                }
                self.pattern.push(c);
                return Some(());
            }
        };
        if in_class {
            self.pattern.push_str(class);
        } else {
            self.pattern.push('[');
            self.pattern.push_str(class);
            self.pattern.push(']');
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn named_classes_and_needless_escapes_are_spelled_out() {
        for (pattern, expected) in [
            (r"^\d{2}$", "^[0-9]{2}$"),
            (r"^[\d\-_.]+$", "^[0-9_.-]+$"),
            (r"^\w+\.\w+$", r"^[A-Za-z0-9_]+\.[A-Za-z0-9_]+$"),
            (r"^a\-b\/c$", "^a-b/c$"),
            ("^a{1,3}?$", "^a{1,3}$"),
            ("^a+?b*?$", "^a+b*$"),
            ("^(?<year>[0-9]+)$", "^([0-9]+)$"),
            ("^a$|^b$", "^(?:a|b)$"),
            ("^(a|b)$", "^(a|b)$"),
            (r"^[a-z]\$$", r"^[a-z]\$$"),
        ] {
            let plain = plain(pattern).map(|plain| (plain.pattern, plain.is_narrower));
            assert_eq!(plain, Some((expected.to_owned(), false)), "{pattern}");
        }
    }

    #[test]
    fn a_brace_or_bracket_that_closes_nothing_is_escaped() {
        for (pattern, expected) in [
            ("^[a-c]+}$", r"^[a-c]+\}$"),
            ("^[a-c]+]x$", r"^[a-c]+\]x$"),
            ("^a}*]{2}$", r"^a[}]*[\]]{2}$"),
            ("^[a-c]{2}[$]*}*$", "^[a-c]{2}[$]*[}]*$"),
            (r"^a\}{1,}?\]$", r"^a[}]{1,}\]$"),
        ] {
            let plain = plain(pattern).map(|plain| plain.pattern);
            assert_eq!(plain.as_deref(), Some(expected), "{pattern}");
        }
    }

    #[test]
    fn what_is_more_than_one_byte_is_repeated_as_a_class() {
        for (pattern, expected) in [
            ("^é*$", "^[é]*$"),
            ("^aé{2,3}é$", "^a[é]{2,3}é$"),
            (r"^\u00e9+?\x41?\x41$", r"^[\u00e9]+[\x41]?\x41$"),
            (r"^ab\.+c\.$", r"^ab[.]+c\.$"),
            (r"^\]?\^{2}$", r"^[\]]?[\x5e]{2}$"),
            (r"^a\-*(é)*[é]*$", r"^a-*(é)*[é]*$"),
        ] {
            let plain = plain(pattern).map(|plain| plain.pattern);
            assert_eq!(plain.as_deref(), Some(expected), "{pattern}");
        }
        // Numbers in braces are repetitions to llama.cpp.
        assert_eq!(plain(r"^\u{e9}$"), None);
    }

    #[test]
    fn what_has_no_plain_form_is_told() {
        for pattern in [
            r"^\bab\b$",
            r"^\p{Lu}$",
            "^(?=a)b$",
            "^a|b$",
            r"^a\$",
            "a",
            r"^[\D]$",
            "^(^a)$",
        ] {
            assert_eq!(plain(pattern), None, "{pattern}");
        }
        assert!(plain(r"^a\s$").is_some_and(|plain| plain.is_narrower));
    }
}
