//! A fault in a rule file: byte spans in, place, line and remedy out.

use std::fmt;
use std::ops::Range;

/// One fault in one rule file. Displays as the place, the line, an underline, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFault {
    /// The file's name, as it was given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The line's text.
    pub text: String,
    /// How many characters are at fault.
    pub width: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        // Tabs stay tabs, so that the underline stands below what it means.
        let indent: String = self
            .text
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.text)?;
        write!(
            f,
            "{gutter} | {indent}{} {}",
            "^".repeat(self.width),
            self.remedy
        )
    }
}

impl std::error::Error for RuleFault {}

/// A rule file's name and text: what a fault is placed in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// The file's name.
    pub(crate) name: &'a str,
    /// Its text.
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// A fault at a span of bytes; what runs over the line's end is cut there.
    pub(crate) fn fault(
        &self,
        span: &Range<usize>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> RuleFault {
        let start = floor(self.text, span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[line_start..];
        let text = rest.split('\n').next().unwrap_or_default();
        let text = text.trim_end_matches('\r');
        let line_end = line_start + text.len();
        let end = floor(self.text, span.end).clamp(start, line_end.max(start));
        RuleFault {
            file: self.name.to_owned(),
            line: self.text[..line_start].matches('\n').count() + 1,
            column: self.text[line_start..start].chars().count() + 1,
            text: text.to_owned(),
            width: self.text[start..end].chars().count().max(1),
            message: message.into(),
            remedy: remedy.into(),
        }
    }
}

/// The nearest character boundary at or before a byte.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
