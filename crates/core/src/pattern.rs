//! Regexes before any engine sees them: a pattern comes in; what is not regular in it, and about
//! how many states an automaton of it has, go out.

pub mod ecma;
pub mod free;
mod plain;
pub mod spelling;
pub mod ways;
pub(crate) mod written;

pub use plain::plain;

use regex_syntax::hir::{Class, Hir, HirKind};

/// How deep groups may nest. regex-syntax recurses over them, as do the engines.
const MAX_NESTING: u32 = 100;

/// The construct of a pattern that no linear-time engine can match, by its name.
#[must_use]
pub fn irregular(pattern: &str) -> Option<&'static str> {
    const GROUPS: [(&str, &str); 8] = [
        ("(?=", "look-ahead"),
        ("(?!", "look-ahead"),
        ("(?<=", "look-behind"),
        ("(?<!", "look-behind"),
        ("(?>", "an atomic group"),
        ("(?(", "a conditional group"),
        ("(?R", "recursion"),
        ("(?P=", "a back-reference"),
    ];
    let mut in_class = false;
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let escaped = chars.next().map(|(_, escaped)| escaped);
                if !in_class && matches!(escaped, Some('1'..='9' | 'k')) {
                    return Some("a back-reference");
                }
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                let rest = &pattern[at..];
                let group = GROUPS.iter().find(|(opening, _)| rest.starts_with(opening));
                if let Some((_, name)) = group {
                    return Some(name);
                }
            }
            _ => {}
        }
    }
    None
}

/// The pattern without its look-around, which lets more pass; `None` where it has none, or what is left is nothing that can
/// be told: no regular pattern, or one that says nothing.
#[must_use]
pub fn without_looks(pattern: &str) -> Option<String> {
    const LOOKS: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];
    let mut left = String::with_capacity(pattern.len());
    let (mut chars, mut in_class) = (pattern.char_indices(), false);
    // How deep the look is that is left out, in parentheses.
    let mut depth = 0_u32;
    while let Some((at, c)) = chars.next() {
        let escaped = (c == '\\').then(|| chars.next()).flatten();
        match c {
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '(' if !in_class && depth > 0 => depth += 1,
            '(' if !in_class && LOOKS.iter().any(|look| pattern[at..].starts_with(look)) => {
                depth = 1;
            }
            ')' if !in_class && depth > 0 => {
                depth -= 1;
                continue;
            }
            _ => {}
        }
        if depth == 0 {
            left.push(c);
            left.extend(escaped.map(|(_, c)| c));
        }
    }
    let says = left.chars().any(|c| !matches!(c, '^' | '$'));
    let is_one = left.len() < pattern.len() && says && irregular(&left).is_none();
    (is_one && ecma::translate(&left).is_ok()).then_some(left)
}

/// Reads a pattern as the regex crate and Python's `re` do: classes such as `\d` and `\w` are
/// Unicode's.
///
/// # Errors
/// What the parser says, without the pattern.
pub fn parse(pattern: &str) -> Result<Hir, String> {
    use regex_syntax::Error;
    regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .build()
        .parse(pattern)
        .map_err(|error| match error {
            Error::Parse(error) => error.kind().to_string(),
            Error::Translate(error) => error.kind().to_string(),
            _ => "not a regular expression".to_owned(),
        })
}

/// About how many states an automaton of the pattern has: what its memory and its compile time
/// grow with. Repetition multiplies, so a dozen bytes can say a million states.
#[must_use]
pub fn states(hir: &Hir) -> u64 {
    count(hir, &|class| match class {
        // A range of characters beyond ASCII is up to four byte ranges.
        Class::Unicode(class) if !class.is_ascii() => 2 * class.ranges().len() as u64 + 1,
        _ => 1,
    })
}

/// How many characters a pattern spells out, a class being one: the measure for engines that
/// share equal parts, whose classes cost nothing twice.
#[must_use]
pub fn positions(hir: &Hir) -> u64 {
    count(hir, &|_| 1)
}

fn count(hir: &Hir, of_class: &dyn Fn(&Class) -> u64) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(class) => of_class(class),
        HirKind::Repetition(repetition) => {
            let times = repetition
                .max
                .unwrap_or(repetition.min.saturating_add(1))
                .max(1);
            count(&repetition.sub, of_class).saturating_mul(u64::from(times))
        }
        HirKind::Capture(capture) => count(&capture.sub, of_class),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let parts = parts.iter().map(|part| count(part, of_class));
            parts.fold(1, u64::saturating_add)
        }
    }
}

/// What a pattern repeats that nobody may repeat, in words; the regex crate would take it.
///
/// Repetitions: of `a**` Python's `re` and ECMA-262 make a syntax error, and servers have died of it
/// (CVE-2025-48944). `a++` is possessive to Python from 3.11, a syntax error before, and a
/// repetition of a repetition to Rust: refused, too, for no two servers agree on it. Anchors: `^*`
/// and `\b?` are errors to both, and llama.cpp crashed of them once (#13390).
#[must_use]
pub fn misrepeats(pattern: &str) -> Option<&'static str> {
    #[derive(PartialEq)]
    enum Before {
        Other,
        Anchor,
        Quantifier,
    }
    let mut in_class = false;
    let mut before = Before::Other;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let length = if in_class { 0 } else { quantifier(rest) };
        if length > 0 {
            match before {
                Before::Anchor => return Some("repeats an anchor"),
                Before::Quantifier => return Some("repeats a repetition"),
                Before::Other => {}
            }
            before = Before::Quantifier;
            rest = &rest[length..];
            rest = rest.strip_prefix('?').unwrap_or(rest);
            continue;
        }
        rest = &rest[c.len_utf8()..];
        before = Before::Other;
        match c {
            '\\' => {
                let escaped = rest.chars().next();
                if !in_class && matches!(escaped, Some('b' | 'B' | 'A' | 'Z' | 'z')) {
                    before = Before::Anchor;
                }
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
            }
            '^' | '$' if !in_class => before = Before::Anchor,
            // What follows a parenthesis' `?` is no repetition.
            '(' if !in_class => rest = rest.strip_prefix('?').unwrap_or(rest),
            '[' if !in_class => {
                in_class = true;
                // A bracket at the start of a class stands for itself.
                rest = rest.strip_prefix('^').unwrap_or(rest);
                rest = rest.strip_prefix(']').unwrap_or(rest);
            }
            ']' => in_class = false,
            _ => {}
        }
    }
    None
}

/// Bytes of the quantifier that a text begins with; 0 for none.
fn quantifier(text: &str) -> usize {
    match text.as_bytes().first() {
        Some(b'*' | b'+' | b'?') => 1,
        Some(b'{') => {
            let end = text.find('}').unwrap_or(0);
            let bounds = text.get(1..end).unwrap_or_default();
            let is_bounds = bounds.starts_with(|c: char| c.is_ascii_digit())
                && bounds.chars().all(|c| c.is_ascii_digit() || c == ',');
            if is_bounds { end + 1 } else { 0 }
        }
        _ => 0,
    }
}

/// Reads a pattern of JSON Schema, which is ECMA-262's.
///
/// # Errors
/// What is wrong with it, without the pattern.
pub fn parse_ecma(pattern: &str) -> Result<Hir, String> {
    parse(&ecma::translate(pattern).map_err(|fault| fault.to_string())?)
}

/// [`states`] of a JSON Schema pattern, which may be in another dialect than the parser reads:
/// where it cannot be read, the bounds of all its repetitions are taken to multiply.
#[must_use]
pub fn states_of(pattern: &str) -> u64 {
    parse_ecma(pattern).map_or_else(
        |_| {
            pattern
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
                .filter_map(|bounds| bounds.rsplit(',').next()?.parse::<u64>().ok())
                .fold(pattern.len() as u64, |product, bound| {
                    product.saturating_mul(bound.max(1))
                })
        },
        |hir| states(&hir),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{irregular, misrepeats, parse, states, states_of};

    #[test]
    fn what_is_not_regular_is_named() {
        let cases = [
            ("(?=a)b", Some("look-ahead")),
            ("a(?!b)", Some("look-ahead")),
            ("(?<=a)b", Some("look-behind")),
            ("(?<!a)b", Some("look-behind")),
            (r"(a|b)\1", Some("a back-reference")),
            (r"(?<n>a)\k<n>", Some("a back-reference")),
            ("(?<name>a)", None),
            ("(?:a)", None),
            (r"\(?=a", None),
            ("[(?=]a", None),
            (r"[\1]", None),
            (r"\\1", None),
        ];
        for (pattern, expected) in cases {
            assert_eq!(irregular(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn nested_repetition_is_a_million_states() {
        let hir = parse("((a{1,100}){1,100}){1,100}").unwrap();
        assert!(states(&hir) >= 1_000_000);
        assert!(states_of("[a&&b{2}]{1000000}{1000000}(") >= 1_000_000);
        assert!(states_of(r"^[\w-]{1,255}\D$") < 1000);
        assert!(states_of(r"^\p{L}{1,255}$") > 100_000);
    }

    #[test]
    fn what_nobody_may_repeat_is_told_from_what_looks_like_it() {
        let (anchor, twice) = (Some("repeats an anchor"), Some("repeats a repetition"));
        for (pattern, expected) in [
            ("^?[0-9]$", anchor),
            ("a$*", anchor),
            (r"\b+a", anchor),
            ("foo**", twice),
            ("a+*", twice),
            ("a++", twice),
            ("(?:)*+", twice),
            ("a{2}{3}", twice),
            ("a+??", twice),
            ("[a]*{1,2}", twice),
            ("^a?$", None),
            (r"\^?", None),
            ("[$^]?", None),
            ("[*+]+", None),
            ("[]*+]+", None),
            ("^.*$", None),
            ("a*?b+?c??d{2}?", None),
            ("(?:a*)*", None),
            (r"a*\+", None),
            ("a*{b}", None),
            ("(?P<n>a)+", None),
        ] {
            assert_eq!(misrepeats(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn deep_groups_are_an_error_and_not_an_overflow() {
        let deep = format!("{}a{}", "(".repeat(30_000), ")".repeat(30_000));
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn without_its_look_around_a_pattern_lets_more_pass() {
        for (pattern, left) in [
            (
                r"^(?=.*[0-9])(?!.*\s)[a-z0-9]{3,8}$",
                Some("^[a-z0-9]{3,8}$"),
            ),
            ("^(?!(?:admin|root)$)[a-z]+$", Some("^[a-z]+$")),
            (r"(?<=\$)[0-9]+", Some("[0-9]+")),
            (r"a(?=[)\)]x)b", Some("ab")),
            ("^(?=.*a)", None),
            // What is repeated is something else then.
            ("(?=a)*b", None),
            (r"(?=a)(b)\1", None),
            ("^[a-z]+$", None),
        ] {
            assert_eq!(super::without_looks(pattern).as_deref(), left, "{pattern}");
        }
    }
}
