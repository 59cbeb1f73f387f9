//! Patterns in the words that most engines have.

use super::{irregular, without_looks};
use std::borrow::Cow;

/// What Python's `re` and RE2 both read of a pattern; `None` where there is nothing of it, and itself where it is that.
#[must_use]
pub fn plain(pattern: &str) -> Option<Cow<'_, str>> {
    let read = match irregular(pattern) {
        Some(_) => Cow::Owned(without_looks(pattern)?),
        None => Cow::Borrowed(pattern),
    };
    let mut written = String::with_capacity(read.len());
    let (mut letters, mut in_class) = (read.char_indices(), false);
    while let Some((at, letter)) = letters.next() {
        written.push(letter);
        match letter {
            '\\' => {
                let (next, escaped) = letters.next()?;
                let is_braced = read[next + escaped.len_utf8()..].starts_with('{');
                // Classes of Unicode's, `\u{…}`, `\cA`, and escapes that only one of them knows. RE2 reads no `\u0041` either.
                if matches!(escaped, 'p' | 'P' | 'c' | 'k' | 'u') || (escaped == 'x' && is_braced) {
                    return None;
                }
                written.push(escaped);
            }
            '[' => in_class = true,
            ']' => in_class = false,
            // A name of a group says nothing of what it matches.
            '(' if !in_class && read[at..].starts_with("(?<") && read[at..].contains('>') => {
                letters.find(|(_, letter)| *letter == '>');
            }
            _ => {}
        }
    }
    Some(match written == read {
        true => read,
        false => Cow::Owned(written),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_engines_read_stays_and_the_rest_is_told() {
        for same in [r"^\d{4}-[a-z(?<]+$", r"(?:a|b)\.c", "", r"\x41[\]\\]"] {
            assert!(matches!(plain(same), Some(Cow::Borrowed(_))), "{same}");
        }
        for (pattern, left) in [
            (r"^(?<y>\d{4})-(?<m>\d\d)$", Some(r"^(\d{4})-(\d\d)$")),
            (r"(?<año>\d+)-x", Some(r"(\d+)-x")),
            (r"^(?!\.)[a-z]+$", Some("^[a-z]+$")),
            (r"^\p{L}+$", None),
            (r"^\u{1F600}$", None),
            (r"(a)\1", None),
            (r"^(?!__.*__$)[^\p{Cc}]{1,200}$", None),
        ] {
            assert_eq!(plain(pattern).as_deref(), left, "{pattern}");
        }
    }
}
