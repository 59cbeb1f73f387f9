//! Regexes before any engine sees them: a pattern comes in; what is not regular in it, and about
//! how many states an automaton of it has, go out.

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

/// Whether a pattern repeats an anchor (`^?`, `$*`): ECMA-262, the dialect of JSON Schema, has no
/// such thing, and llama.cpp crashed on it once (#13390). The regex crate would take it.
#[must_use]
pub fn repeats_anchor(pattern: &str) -> bool {
    let mut in_class = false;
    let mut after_anchor = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if after_anchor && matches!(c, '?' | '*' | '+') {
            return true;
        }
        after_anchor = !in_class && matches!(c, '^' | '$');
        match c {
            '\\' => {
                chars.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
    }
    false
}

/// The pattern with ECMA-262's classes spelled out: there `\d` and `\w` are ASCII's.
pub(crate) fn with_ascii_classes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c == '\\').then(|| chars.next()).flatten() {
            Some('d') => out.push_str("[0-9]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('w') => out.push_str("[0-9A-Za-z_]"),
            Some('W') => out.push_str("[^0-9A-Za-z_]"),
            Some(escaped) => out.extend(['\\', escaped]),
            None => out.push(c),
        }
    }
    out
}

/// [`states`] of a JSON Schema pattern, which may be in another dialect than the parser reads:
/// where it cannot be read, the bounds of all its repetitions are taken to multiply.
#[must_use]
pub fn states_of(pattern: &str) -> u64 {
    parse(&with_ascii_classes(pattern)).map_or_else(
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
    use super::{irregular, parse, repeats_anchor, states, states_of};

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
    fn a_repeated_anchor_is_told_from_a_literal_one() {
        for (pattern, expected) in [
            ("^?[0-9]$", true),
            ("a$*", true),
            ("^a?$", false),
            (r"\^?", false),
            ("[$^]?", false),
            ("^.*$", false),
        ] {
            assert_eq!(repeats_anchor(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn deep_groups_are_an_error_and_not_an_overflow() {
        let deep = format!("{}a{}", "(".repeat(30_000), ")".repeat(30_000));
        assert!(parse(&deep).is_err());
    }
}
