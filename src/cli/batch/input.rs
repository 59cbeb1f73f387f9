//! The input in, a line after the other; for each what is to be done about it out, as far ahead as there is room.

use super::ledger::{Ledger, Turn};
use super::line::{self, Asked};
use super::lines::{Line, Lines};
use super::row::Row;
use isogloss_core::error::{Error, Kind};
use std::io::{self, BufRead};
use tokio::sync::mpsc;

/// What is to be done about a line.
#[derive(Debug)]
pub(super) enum Next {
    /// It is to be asked.
    Ask { number: u64, asked: Asked },
    /// It cannot be: its row.
    Bad(Row),
    /// Its row stands in the output.
    Stands,
}

/// A line's place in the input, and what is to be done about it.
pub(super) struct Item {
    /// Bytes of the input up to its end.
    pub(super) end: u64,
    pub(super) next: io::Result<Next>,
}

/// Reads to the end, or until nobody takes any more. Blocks.
pub(super) fn read(from: impl BufRead, most: usize, mut ledger: Ledger, to: &mpsc::Sender<Item>) {
    for line in Lines::new(from, most) {
        let item = match line {
            Ok(line) => Item {
                end: line.end,
                next: Ok(next(&line, most, &mut ledger)),
            },
            Err(error) => Item {
                end: 0,
                next: Err(error),
            },
        };
        let is_broken = item.next.is_err();
        if to.blocking_send(item).is_err() || is_broken {
            return;
        }
    }
}

fn next(line: &Line, most: usize, ledger: &mut Ledger) -> Next {
    let number = line.number;
    let asked = match &line.bytes {
        Some(bytes) => line::read(bytes),
        None => {
            let message = format!(
                "the line has more than {most} bytes: see --body-limit (limits.body_bytes)"
            );
            Err(Error::new(Kind::BodyTooLarge, message).into())
        }
    };
    let bad = match asked {
        Ok(asked) => match ledger.turn(&asked.custom_id, number) {
            Turn::Ask => return Next::Ask { number, asked },
            Turn::Stands => return Next::Stands,
            Turn::Twice(first) => twice(first).into(),
        },
        Err(bad) => bad,
    };
    match ledger.has_line(number) {
        true => Next::Stands,
        false => Next::Bad(Row::bad_line(number, &bad)),
    }
}

fn twice(first: u64) -> Error {
    let message = format!("line {first} has the same custom_id: give each line its own");
    let mut error = Error::new(Kind::InvalidRequest, message).at("custom_id");
    error.code = Some("duplicate_custom_id".to_owned());
    error
}

#[cfg(test)]
mod tests {
    use super::super::row::Outcome;
    use super::*;

    fn taken(text: &str, ledger: Ledger) -> Vec<String> {
        let (to, mut from) = mpsc::channel(100);
        read(text.as_bytes(), 100, ledger, &to);
        drop(to);
        let mut taken = Vec::new();
        while let Some(item) = from.blocking_recv() {
            taken.push(match item.next {
                Ok(Next::Ask { number, asked }) => format!("{number} ask {}", asked.custom_id),
                Ok(Next::Bad(row)) => {
                    assert_eq!(row.outcome, Outcome::BadLine);
                    String::from_utf8_lossy(&row.text).into_owned()
                }
                Ok(Next::Stands) => "stands".to_owned(),
                Err(error) => error.to_string(),
            });
        }
        taken
    }

    #[test]
    fn each_line_is_asked_stands_or_has_a_row_that_says_why_not() {
        let line = |id: &str| {
            format!(r#"{{"custom_id":"{id}","method":"POST","url":"/v1/x","body":{{}}}}"#)
        };
        let long = "x".repeat(101);
        let (a, b) = (line("a"), line("b"));
        let text = format!("{a}\nno\n{a}\n{long}\n{b}\n");
        let first = taken(&text, Ledger::default());
        assert_eq!(first.len(), 5);
        assert_eq!(
            (first[0].as_str(), first[4].as_str()),
            ("1 ask a", "5 ask b")
        );
        for (at, code) in [
            (1, "invalid_json"),
            (2, "duplicate_custom_id"),
            (3, "body_too_large"),
        ] {
            assert!(first[at].contains(code), "{}", first[at]);
            assert!(first[at].contains(&format!("\"line\":{}", at + 1)));
        }
        assert!(first[2].contains("line 1 has"), "{}", first[2]);
        let mut ledger = Ledger::default();
        ledger.stands("a");
        for number in 2..=4 {
            ledger.line_stands(number);
        }
        let again = taken(&text, ledger);
        assert_eq!(again, ["stands", "stands", "stands", "stands", "5 ask b"]);
    }
}
