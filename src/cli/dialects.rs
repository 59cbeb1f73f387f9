//! `isogloss dialects`: the rules in, the matrix of servers and demands out.

use super::{Failure, print, print_json, wire};
use isogloss_core::rules::matrix_markdown;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Flags of `dialects`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// As a Markdown table, the one in docs/servers.md.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// As JSON, one object a row.
    #[arg(long)]
    json: bool,
    /// A folder of rule files that replace or add to the built-in ones.
    #[arg(long, value_name = "DIR", env = "ISOGLOSS_RULES")]
    rules: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let rules = wire::rules(args.rules.as_deref())?;
    let markdown = matrix_markdown(&rules);
    if args.markdown {
        return print(&markdown);
    }
    let rows = rows(&markdown);
    if args.json {
        return print_json(&json(&rows));
    }
    print(&aligned(&rows))
}

/// The cells of a Markdown table, without the rule below its head.
fn rows(markdown: &str) -> Vec<Vec<&str>> {
    let is_ruler = |row: &[&str]| row.iter().all(|cell| cell.trim_matches('-').is_empty());
    markdown
        .lines()
        .map(|line| {
            line.trim()
                .trim_matches('|')
                .split('|')
                .map(str::trim)
                .collect()
        })
        .filter(|row: &Vec<&str>| !is_ruler(row))
        .collect()
}

fn json(rows: &[Vec<&str>]) -> Value {
    let Some((head, body)) = rows.split_first() else {
        return Value::Array(Vec::new());
    };
    let object = |row: &Vec<&str>| {
        let cells = head.iter().zip(row);
        let cells =
            cells.map(|(key, cell)| ((*key).to_owned(), Value::from(cell.replace('`', ""))));
        Value::Object(Map::from_iter(cells))
    };
    body.iter().map(object).collect()
}

/// One block a server: eleven demands side by side are wider than any terminal.
fn aligned(rows: &[Vec<&str>]) -> String {
    let Some((head, body)) = rows.split_first() else {
        return String::new();
    };
    let width = head.iter().skip(1).map(|title| title.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for row in body {
        text += row.first().unwrap_or(&"");
        text.push('\n');
        for (title, cell) in head.iter().zip(row).skip(1) {
            text += &format!("  {title:width$}  {}\n", cell.replace('`', ""));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str =
        "| server | regex | auto |\n|---|---|---|\n| vLLM | native `guided_regex` | native |\n";

    #[test]
    fn the_matrix_is_the_same_in_every_form() {
        let rows = rows(TABLE);
        assert_eq!(
            json(&rows),
            serde_json::json!([{"server": "vLLM", "regex": "native guided_regex", "auto": "native"}])
        );
        assert_eq!(
            aligned(&rows),
            "vLLM\n  regex  native guided_regex\n  auto   native\n\n"
        );
    }
}
