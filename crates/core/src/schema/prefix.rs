//! The beginning of a JSON text: a prefix comes in; the shortest whole text that keeps all it says,
//! and which of its values are still open, go out.

use super::position::push_segment;
use super::reply::broken;
use super::validator::SchemaBreach;
use crate::json::string::StringReader;

/// What is certain of the last value, where it is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// A string that begins like this one.
    String,
    /// A number, of which nothing else is certain.
    Number,
    /// A value of which only the key has come.
    Unknown,
}

/// What a value is, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Openness {
    /// Whole.
    Closed,
    /// An object or an array that goes on.
    Container,
    /// The last value.
    Leaf(Leaf),
}

/// A prefix, made whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Completed {
    /// JSON, if the prefix was one of JSON.
    pub(crate) text: String,
    /// JSON Pointers of the open containers, from the root inwards.
    containers: Vec<String>,
    leaf: Option<(String, Leaf)>,
}

impl Completed {
    /// What the value at a JSON Pointer is.
    pub(crate) fn openness(&self, pointer: &str) -> Openness {
        match &self.leaf {
            Some((place, leaf)) if place == pointer => Openness::Leaf(*leaf),
            _ if self.containers.iter().any(|place| place == pointer) => Openness::Container,
            _ => Openness::Closed,
        }
    }

    /// Whether the last child of the innermost open container has not ended.
    pub(crate) fn last_child_is_open(&self, pointer: &str) -> bool {
        self.leaf.is_some() || self.containers.last().is_some_and(|place| place != pointer)
    }
}

/// Where a text ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// Nothing has come.
    Empty,
    /// After the root value, which is certainly whole.
    Whole,
    /// Within it.
    Open(Completed),
}

/// An open object or array.
struct Frame<'t> {
    is_object: bool,
    /// The raw key, with its quotes, of the member that was last begun.
    key: Option<&'t str>,
    /// Whether the key's value is still to come.
    awaits_value: bool,
    index: usize,
}

/// Makes a prefix whole.
///
/// # Errors
/// A string in it cannot be read. Other faults show when the completed text is read.
pub(crate) fn complete(text: &str) -> Result<Prefix, SchemaBreach> {
    let bytes = text.as_bytes();
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            open @ (b'{' | b'[') => {
                begin_value(&mut frames);
                frames.push(Frame {
                    is_object: open == b'{',
                    key: None,
                    awaits_value: false,
                    index: 0,
                });
                continue;
            }
            b'}' | b']' => {
                frames.pop();
            }
            b',' => {
                if let Some(frame) = frames.last_mut() {
                    frame.index += 1;
                    frame.key = None;
                }
                continue;
            }
            b':' => continue,
            b'"' => {
                let end = super::reply::after_string(bytes, at);
                let Some(raw) = end.map(|end| &text[start..end]) else {
                    return open_string(text, start, &frames);
                };
                at = start + raw.len();
                match frames
                    .last_mut()
                    .filter(|frame| frame.is_object && frame.key.is_none())
                {
                    Some(frame) => {
                        frame.key = Some(raw);
                        frame.awaits_value = true;
                        continue;
                    }
                    None => begin_value(&mut frames),
                }
            }
            _ => {
                let is_inside = |byte: &&u8| !b" \t\n\r,:]}[{\"".contains(byte);
                let length = bytes[start..].iter().take_while(is_inside).count();
                at = start + length;
                begin_value(&mut frames);
                if at == bytes.len() {
                    return open_scalar(text, start, &frames);
                }
            }
        }
        if frames.is_empty() {
            return Ok(Prefix::Whole);
        }
    }
    if frames.is_empty() {
        return Ok(Prefix::Empty);
    }
    let awaits_value = frames.last().is_some_and(|frame| frame.awaits_value);
    let mut whole = text.trim_end().to_owned();
    if !awaits_value {
        return finish(without_comma(whole), &frames, None);
    }
    whole.push_str(if whole.ends_with(':') {
        "null"
    } else {
        ":null"
    });
    finish(whole, &frames, Some(Leaf::Unknown))
}

fn begin_value(frames: &mut [Frame<'_>]) {
    if let Some(frame) = frames.last_mut() {
        frame.awaits_value = false;
    }
}

fn without_comma(mut text: String) -> String {
    let end = text.trim_end().len();
    text.truncate(end);
    if text.ends_with(',') {
        text.pop();
    }
    text
}

/// A string that has not ended: a key is dropped, a value keeps what is certain.
fn open_string(text: &str, start: usize, frames: &[Frame<'_>]) -> Result<Prefix, SchemaBreach> {
    let is_key = frames
        .last()
        .is_some_and(|frame| frame.is_object && frame.key.is_none());
    if is_key {
        return finish(without_comma(text[..start].to_owned()), frames, None);
    }
    let certain = StringReader::default()
        .push(&text[start..])
        .map_err(|_| broken(String::new(), "a string of the JSON cannot be read"))?;
    let certain = serde_json::Value::String(certain);
    finish(
        format!("{}{certain}", &text[..start]),
        frames,
        Some(Leaf::String),
    )
}

/// A number that may go on, or a literal, of which the first letter says which it is.
fn open_scalar(text: &str, start: usize, frames: &[Frame<'_>]) -> Result<Prefix, SchemaBreach> {
    let (before, scalar) = text.split_at(start);
    let literal = ["null", "true", "false"]
        .into_iter()
        .find(|literal| literal.starts_with(scalar));
    match literal {
        Some(literal) => finish(format!("{before}{literal}"), frames, None),
        None if is_number_begun(scalar) => finish(format!("{before}0"), frames, Some(Leaf::Number)),
        None => Err(broken(String::new(), "a value of the JSON cannot be read")),
    }
}

fn is_number_begun(scalar: &str) -> bool {
    // With one of these after it, what has begun as a number is one.
    ["", "0", ".0", "e0"].iter().any(|rest| {
        let whole = format!("{scalar}{rest}");
        serde_json::from_str::<&serde_json::value::RawValue>(&whole).is_ok_and(|_| {
            scalar.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
        })
    })
}

fn finish(
    mut text: String,
    frames: &[Frame<'_>],
    leaf: Option<Leaf>,
) -> Result<Prefix, SchemaBreach> {
    let mut containers = Vec::with_capacity(frames.len());
    let mut place = String::new();
    for frame in frames {
        containers.push(place.clone());
        match frame.key {
            Some(raw) if frame.is_object => {
                let key: String = serde_json::from_str(raw)
                    .map_err(|_| broken(String::new(), "a key of the JSON cannot be read"))?;
                push_segment(&mut place, &key);
            }
            _ => push_segment(&mut place, &frame.index.to_string()),
        }
    }
    let closers = frames.iter().rev();
    text.extend(closers.map(|frame| if frame.is_object { '}' } else { ']' }));
    Ok(Prefix::Open(Completed {
        text,
        containers,
        leaf: leaf.map(|leaf| (place, leaf)),
    }))
}

#[cfg(test)]
#[expect(clippy::panic, reason = "a test may panic")]
mod tests {
    use super::{Leaf, Openness, Prefix, complete};

    fn completed(text: &str) -> (String, Option<(String, Leaf)>) {
        match complete(text) {
            Ok(Prefix::Open(completed)) => (completed.text, completed.leaf),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_prefix_becomes_the_shortest_whole_text_that_keeps_what_it_says() {
        let leaf = |place: &str, leaf| Some((place.to_owned(), leaf));
        for (prefix, whole, open) in [
            ("{", "{}", None),
            ("[", "[]", None),
            (r#"{"a"#, "{}", None),
            (r#"{"a""#, r#"{"a":null}"#, leaf("/a", Leaf::Unknown)),
            (r#"{"a" : "#, r#"{"a" :null}"#, leaf("/a", Leaf::Unknown)),
            (r#"{"a":""#, r#"{"a":""}"#, leaf("/a", Leaf::String)),
            (r#"{"a":"x\u00"#, r#"{"a":"x"}"#, leaf("/a", Leaf::String)),
            (r#"{"a":"x\ud83d"#, r#"{"a":"x"}"#, leaf("/a", Leaf::String)),
            (r#"{"a":"x\\"#, r#"{"a":"x\\"}"#, leaf("/a", Leaf::String)),
            (r#"{"a":"x""#, r#"{"a":"x"}"#, None),
            (r#"{"a":"x", "#, r#"{"a":"x"}"#, None),
            (r#"{"a":"x", "b,"#, r#"{"a":"x"}"#, None),
            (
                r#"{"a":["b,"#,
                r#"{"a":["b,"]}"#,
                leaf("/a/0", Leaf::String),
            ),
            (
                r#"{"a/b":[1,{"c":-"#,
                r#"{"a/b":[1,{"c":0}]}"#,
                leaf("/a~1b/1/c", Leaf::Number),
            ),
            ("[12", "[0]", leaf("/0", Leaf::Number)),
            ("[1.", "[0]", leaf("/0", Leaf::Number)),
            ("[1e+", "[0]", leaf("/0", Leaf::Number)),
            ("[12 ", "[12]", None),
            ("[1,t", "[1,true]", None),
            ("nu", "null", None),
            ("12", "0", leaf("", Leaf::Number)),
            ("\"a", "\"a\"", leaf("", Leaf::String)),
        ] {
            assert_eq!(completed(prefix), (whole.to_owned(), open), "{prefix}");
        }
        assert_eq!(complete(" \n"), Ok(Prefix::Empty));
        assert_eq!(complete("{} "), Ok(Prefix::Whole));
        assert_eq!(complete("12 "), Ok(Prefix::Whole));
        assert!(complete("[nux").is_err());
        assert!(complete("[-a").is_err());
    }

    #[test]
    fn only_what_is_on_the_way_to_the_end_is_open() {
        let Ok(Prefix::Open(completed)) = complete(r#"{"a":[1,{}],"b":[[2,"x"#) else {
            panic!("it is open");
        };
        for (pointer, expected) in [
            ("", Openness::Container),
            ("/a", Openness::Closed),
            ("/a/1", Openness::Closed),
            ("/b", Openness::Container),
            ("/b/0", Openness::Container),
            ("/b/0/0", Openness::Closed),
            ("/b/0/1", Openness::Leaf(Leaf::String)),
        ] {
            assert_eq!(completed.openness(pointer), expected, "{pointer}");
        }
    }
}
