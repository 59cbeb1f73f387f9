//! What holds for every format: what was written is read, in any chunking, and no byte is lost.

use super::*;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Text without what a format's tokens are made of: parameters have no escapes.
fn text() -> impl Strategy<Value = String> {
    let chars = prop::char::ranges(vec!['a'..='z', '0'..='9', ' '..='!', 'à'..='ÿ'].into());
    prop_oneof![
        prop::collection::vec(chars, 0..12).prop_map(String::from_iter),
        select(vec![
            "",
            "true",
            "5",
            "null",
            "a\nb",
            "{x",
            "it's \"so\", (1) [2]: 3 = \\n"
        ])
        .prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1000_i32..1000).prop_map(|number| Value::from(f64::from(number) / 8.0)),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,5}", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Calls of different tools: each one's arguments.
fn calls() -> impl Strategy<Value = Vec<serde_json::Map<String, Value>>> {
    let arguments = prop::collection::vec(("[a-z_]{1,6}", value()), 0..4);
    let arguments = arguments.prop_map(|members| members.into_iter().collect());
    prop::collection::vec(arguments, 1..4)
}

/// Tools that begin with each other, with schemas that say what their arguments are.
fn tools_of(calls: &[serde_json::Map<String, Value>]) -> Arc<Tools> {
    let tools = calls.iter().enumerate().map(|(at, arguments)| {
        let properties = arguments.iter();
        let properties = properties.map(|(key, value)| (key.clone(), json!({"type": kind(value)})));
        let properties: serde_json::Map<String, Value> = properties.collect();
        let schema = json!({"type": "object", "properties": properties});
        ("run_".repeat(at + 1), CallKind::Function, Some(schema))
    });
    Arc::new(Tools::new(tools))
}

/// The text in these chunks.
fn chunks<'t>(text: &'t str, cuts: &[Index]) -> Vec<&'t str> {
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if ends.is_empty() {
        return vec![text];
    }
    ends = cuts.iter().map(|cut| *cut.get(&ends)).collect();
    ends.sort_unstable();
    let mut chunks = Vec::new();
    let mut from = 0;
    for end in ends {
        chunks.push(&text[from..end]);
        from = end;
    }
    chunks.push(&text[from..]);
    chunks
}

/// What comes of the pieces: the text, and each call's name and input.
fn told(pieces: &[Piece]) -> (String, Vec<(String, String)>) {
    let mut content = String::new();
    let mut calls: Vec<(String, String)> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => content.push_str(text),
            Piece::Call { name, .. } => calls.push((name.clone(), String::new())),
            Piece::Input(text) => calls.last_mut().unwrap().1.push_str(text),
            Piece::Thought(_) | Piece::End => {}
            Piece::Broken { why, unread } => panic!("{why}: {unread}"),
        }
    }
    (content, calls)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_written_is_read(
        calls in calls(),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
        says in select(vec!["", "So.", "So:\n\n"]),
    ) {
        let tools = tools_of(&calls);
        for format in Formats::builtin().iter() {
            let inputs: Vec<String> = calls
                .iter()
                .map(|arguments| Value::Object(arguments.clone()).to_string())
                .collect();
            let names: Vec<String> = (0..calls.len()).map(|at| "run_".repeat(at + 1)).collect();
            let written = names.iter().zip(&inputs);
            let written: Vec<Written<'_>> = written
                .map(|(name, input)| Written { id: None, name, input })
                .collect();
            // A form that stands alone stands at the start, or on a line of its own.
            let line = if format.forms[0].at == format::At::Anywhere { says } else { "" };
            let text = line.to_owned() + &format.write(&written, &tools);
            let pieces = read(format, &tools, chunks(&text, &cuts), false);
            let (content, found) = told(&pieces);
            prop_assert_eq!(&content, line.trim_end(), "{}: {}", format.name(), &text);
            prop_assert_eq!(found.len(), calls.len(), "{}: {}", format.name(), &text);
            for ((name, input), (own, arguments)) in found.iter().zip(names.iter().zip(&calls)) {
                prop_assert_eq!(name, own);
                let input: Value = serde_json::from_str(input).unwrap();
                prop_assert_eq!(&input, &Value::Object(arguments.clone()), "{}: {}", format.name(), &text);
            }
        }
    }

    /// Tokens in any order, cut anywhere: the same pieces, and never a panic.
    #[test]
    fn chunks_make_no_difference(
        words in prop::collection::vec((any::<Index>(), any::<Index>(), any::<Index>()), 0..6),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
        cut in any::<bool>(),
    ) {
        let tools = tools(&["weather", "clock", "w"]);
        for format in Formats::builtin().iter() {
            let texts: Vec<&str> = format.examples().iter().map(|example| &*example.text).collect();
            let part = |(text, from, to): &(Index, Index, Index)| {
                let text = *text.get(&texts);
                let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
                ends.push(text.len());
                let (a, b) = (*from.get(&ends), *to.get(&ends));
                text[a.min(b)..a.max(b)].to_owned()
            };
            let text: String = words.iter().map(part).collect();
            let whole = read(format, &tools, [&*text], cut);
            prop_assert_eq!(read(format, &tools, chunks(&text, &cuts), cut), whole.clone(), "{}", &text);
            let has_call = whole.iter().any(|piece| matches!(piece, Piece::Call { .. }));
            if !has_call && format.drop.is_empty() && format.thinking.is_none() {
                prop_assert_eq!(whole, if text.is_empty() { vec![] } else { vec![Piece::Text(text)] });
            }
        }
    }
}
