//! Every example, and what is left of it where it is cut or its tokens are in disorder: the pieces,
//! as they are written down in `tests/golden/markup`. `UPDATE_GOLDEN=1` writes them anew.

use super::*;
use std::fmt::Write;

/// An example's text, and malformed texts that are made of it.
fn texts(text: &str) -> Vec<String> {
    let boundary = |at: usize| {
        (0..=at)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap()
    };
    let half = boundary(text.len() / 2);
    let third = boundary(text.len() / 3);
    vec![
        text.to_owned(),
        text[..boundary(text.len() * 4 / 5)].to_owned(),
        text[third..].to_owned(),
        format!("{}{}", &text[..half], text),
        text.replace("weather", "wether"),
        text.replacen(['{', '(', '>'], "", 2),
        format!("{text}{text} And so on."),
    ]
}

#[test]
fn pieces_are_as_written_down() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/markup");
    let tools = tools(&["weather", "clock", "plan"]);
    for format in Formats::builtin().iter() {
        let mut told = String::new();
        for example in format.examples() {
            for text in texts(&example.text) {
                writeln!(told, "< {text:?}").unwrap();
                for word in words(format, &tools, &text) {
                    writeln!(told, "> {word:?}").unwrap();
                }
                told.push('\n');
            }
        }
        let path = format!("{folder}/{}.txt", format.name());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(&path, &told).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(told, expected, "{path}: UPDATE_GOLDEN=1 writes it anew");
    }
}
