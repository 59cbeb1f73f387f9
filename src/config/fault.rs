//! Faults of the configuration: where, what, and the remedy; printed with the line underlined.
//! Values that may be secrets are never printed.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use strsim::levenshtein;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A command line flag, without its dashes.
    Flag(&'static str),
    /// An environment variable.
    Env(&'static str),
    /// A span of bytes in the configuration file.
    File(Arc<Source>, Range<usize>),
    /// It is written nowhere, and that is the fault.
    Nowhere,
}

/// A file that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// As it was given.
    pub name: String,
    /// The text.
    pub text: String,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub what: String,
    /// What to write instead.
    pub remedy: String,
}

/// Every mistake that was found; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// In the order in which a person mends them: the file from top to bottom, then the rest.
    pub(super) fn sorted(mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| match &fault.place {
            Place::File(_, span) => span.start,
            _ => usize::MAX,
        });
        // One table with several URLs is read as often as it has some.
        faults.dedup();
        Self(faults)
    }

    /// Whether all of them are on the command line: a usage error rather than a bad file, which one that cannot be read is too.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        self.0.iter().all(|fault| match fault.place {
            Place::Flag(name) => name != "config",
            Place::Nowhere => true,
            Place::Env(_) | Place::File(..) => false,
        })
    }
}

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            what,
            remedy,
        } = self;
        match place {
            Place::Flag(name) => write!(f, "--{name}: {what}: {remedy}"),
            Place::Env(name) => write!(f, "{name}: {what}: {remedy}"),
            Place::Nowhere => write!(f, "{what}: {remedy}"),
            Place::File(source, span) => {
                let at = Spot::of(&source.text, span);
                let number = at.line.to_string();
                let gutter = " ".repeat(number.len());
                writeln!(f, "{}:{}:{}: {what}", source.name, at.line, at.column)?;
                writeln!(f, "{gutter} |")?;
                writeln!(f, "{number} | {}", at.shown)?;
                write!(f, "{gutter} | {}{} {remedy}", at.indent, at.underline)
            }
        }
    }
}

/// A span as a person sees it.
struct Spot {
    line: usize,
    column: usize,
    shown: String,
    indent: String,
    underline: String,
}

impl Spot {
    fn of(text: &str, span: &Range<usize>) -> Self {
        let start = floor(text, span.start);
        let before = text.get(..start).unwrap_or_default();
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let rest = text.get(begin..).unwrap_or_default();
        let whole = rest.lines().next().unwrap_or_default();
        let lead = text.get(begin..start).unwrap_or_default();
        let marked = text
            .get(start..floor(text, span.end.max(start)))
            .unwrap_or_default();
        let marked = marked.lines().next().unwrap_or_default();
        let (indent, width) = match masked(whole) {
            // The marked text may be the hidden one: point at the line.
            Some(_) => (String::new(), 1),
            None => (
                lead.chars()
                    .map(|c| if c == '\t' { '\t' } else { ' ' })
                    .collect(),
                marked.chars().count().max(1),
            ),
        };
        Self {
            line: before.matches('\n').count() + 1,
            column: lead.chars().count() + 1,
            shown: masked(whole).unwrap_or_else(|| whole.to_owned()),
            indent,
            underline: "^".repeat(width),
        }
    }
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The line without what may be a secret; `None` where nothing had to be hidden.
fn masked(line: &str) -> Option<String> {
    if let Some(end) = secret_key_end(line) {
        return Some(format!("{} …", line.get(..end).unwrap_or_default()));
    }
    let (before, rest) = line.split_once("://")?;
    let (_, host) = rest.split_once('@')?;
    Some(format!("{before}://…@{host}"))
}

/// Where the `=` ends behind a key that names a secret itself, not a place where one is found.
fn secret_key_end(line: &str) -> Option<usize> {
    line.match_indices('=').find_map(|(at, _)| {
        let key = line.get(..at)?.trim_end().trim_end_matches(['"', '\'']);
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let name = key
            .rsplit(|c: char| !is_word(c))
            .next()?
            .to_ascii_lowercase();
        let is_reference = name.ends_with("_env") || name.ends_with("_file");
        let is_secret = ["key", "token", "secret", "password", "authorization"]
            .iter()
            .any(|word| name.contains(word));
        (is_secret && !is_reference).then_some(at + 1)
    })
}

/// The candidate that the word was probably meant to be.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
    let near = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|name| {
            (
                levenshtein(word, name).min(levenshtein(word, last(name))),
                name,
            )
        })
        .filter(|(distance, _)| *distance <= near)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, marked: &str) -> String {
        let start = text.find(marked).unwrap_or_default();
        let source = Source {
            name: "isogloss.toml".to_owned(),
            text: text.to_owned(),
        };
        let place = Place::File(Arc::new(source), start..start + marked.len());
        let fault = Fault {
            place,
            what: "unknown key".to_owned(),
            remedy: "did you mean `listen`?".to_owned(),
        };
        fault.to_string()
    }

    #[test]
    fn a_fault_shows_file_line_column_and_an_underline() {
        assert_eq!(
            shown("# ü\n\n\tlisen = \"x\"\r\nadmin = 1", "lisen"),
            "isogloss.toml:3:2: unknown key\n  |\n3 | \tlisen = \"x\"\n  | \t^^^^^ did you mean `listen`?"
        );
    }

    #[test]
    fn a_fault_never_shows_what_may_be_a_secret() {
        for text in [
            "api_key = \"sk-abc\"",
            "API_TOKEN = sk-abc",
            "upstream = [{ url = 1, \"api-key\" = \"sk-abc\" }]",
            "url = \"http://me:sk-abc@host\"",
        ] {
            let shown = shown(text, "sk-abc");
            assert!(!shown.contains("abc"), "{shown}");
        }
        assert!(shown("api_key_env = \"MY_KEY\"", "MY_KEY").contains("MY_KEY"));
    }

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let names = ["listen", "admin", "limits.body_bytes", "upstream"];
        assert_eq!(did_you_mean("lisen", names), Some("listen"));
        assert_eq!(did_you_mean("upstreams", names), Some("upstream"));
        assert_eq!(did_you_mean("body_bytes", names), Some("limits.body_bytes"));
        assert_eq!(did_you_mean("colour", names), None);
        // A letter that takes two bytes is one letter.
        assert_eq!(did_you_mean("ädmin", names), Some("admin"));
        assert_eq!(did_you_mean("", names), None);
    }
}
