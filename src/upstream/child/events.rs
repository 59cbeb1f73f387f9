//! What the worker says on its standard output: lines in, events out. A line that is no event is
//! nobody's business: native code prints where it likes.

use serde::Deserialize;
use std::io::{BufRead, ErrorKind};

/// Of one line of events.
pub(super) const MAX_EVENT_BYTES: usize = 16 << 10;
/// Of a message for people.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// What the worker says of itself.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(super) enum Event {
    /// It loads a model.
    Loading {
        /// From 0 to 1.
        #[serde(default)]
        progress: Option<f32>,
    },
    /// It takes requests.
    Ready(Facts),
    /// A computation of it does not end.
    Stuck {
        /// Which.
        what: String,
        /// After how long it is taken for stuck.
        seconds: f64,
    },
    /// It cannot go on.
    Failed {
        /// Why, for people.
        message: String,
    },
}

/// What the worker loaded.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The models' names.
    pub models: Vec<String>,
    /// How long loading took.
    pub seconds: f64,
    /// Where it computes.
    pub device: String,
    /// The model's layers.
    pub layers: u32,
    /// How many of them a GPU computes.
    pub offloaded: u32,
    /// What the model takes beside text: `image`, `audio`.
    pub takes: Vec<String>,
}

impl Event {
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let event = serde_json::from_slice(line).ok()?;
        Some(match event {
            Self::Failed { message } => Self::Failed {
                message: printable(&message, MAX_MESSAGE_CHARS),
            },
            Self::Stuck { what, seconds } => Self::Stuck {
                what: printable(&what, MAX_MESSAGE_CHARS),
                seconds,
            },
            Self::Loading { progress } => Self::Loading {
                progress: progress.map(|share| share.clamp(0.0, 1.0)),
            },
            Self::Ready(mut facts) => {
                facts.device = printable(&facts.device, MAX_MESSAGE_CHARS);
                for word in facts.models.iter_mut().chain(&mut facts.takes) {
                    *word = printable(word, MAX_MESSAGE_CHARS);
                }
                Self::Ready(facts)
            }
        })
    }
}

/// One line that a terminal or a log can be given: names come from model files.
pub(super) fn printable(text: &str, most: usize) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.trim().chars().take(most).map(plain).collect()
}

/// Calls with each line, of which only the first `most` bytes are kept, until the end.
pub(super) fn each_line(mut source: impl BufRead, most: usize, mut each: impl FnMut(&[u8])) {
    let mut line = Vec::new();
    loop {
        let piece = match source.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if piece.is_empty() {
            break;
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or(piece);
        let room = most.saturating_sub(line.len());
        line.extend_from_slice(part.get(..room).unwrap_or(part));
        let used = part.len() + usize::from(end.is_some());
        source.consume(used);
        if end.is_some() {
            each(&line);
            line.clear();
        }
    }
    if !line.is_empty() {
        each(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    #[test]
    fn events_are_read_and_everything_else_is_not() {
        let read = |line: &str| Event::read(line.as_bytes());
        assert_eq!(
            read(r#"{"event":"loading","model":"x","progress":0.42}"#),
            Some(Event::Loading {
                progress: Some(0.42)
            })
        );
        let ready = r#"{"event":"ready","models":["x"],"seconds":0.4,"device":"CPU","layers":28,"offloaded":0,"takes":["image"]}"#;
        let facts = Facts {
            models: vec!["x".to_owned()],
            seconds: 0.4,
            device: "CPU".to_owned(),
            layers: 28,
            offloaded: 0,
            takes: vec!["image".to_owned()],
        };
        assert_eq!(read(ready), Some(Event::Ready(facts)));
        assert_eq!(
            read(r#"{"event":"stuck","what":"a forward pass","seconds":0.5}"#),
            Some(Event::Stuck {
                what: "a forward pass".to_owned(),
                seconds: 0.5
            })
        );
        for line in [
            "",
            "llama_model_loader: loaded",
            "{}",
            r#"{"event":"party"}"#,
            r#"{"event":"failed"}"#,
            "[[[[",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn a_message_cannot_steer_a_terminal() {
        let line = br#"{"event":"failed","message":"no \u001b[2Jmodel\nhere"}"#;
        let message = "no  [2Jmodel here".to_owned();
        assert_eq!(Event::read(line), Some(Event::Failed { message }));
    }

    #[test]
    fn lines_are_cut_where_they_are_too_long_and_the_next_one_is_whole() {
        let text = format!("one\n{}\nthree\n\nlast", "x".repeat(50_000));
        for size in [1, 7, 8_192] {
            let mut lines = Vec::new();
            let source = BufReader::with_capacity(size, text.as_bytes());
            each_line(source, 10, |line| {
                lines.push(String::from_utf8_lossy(line).into_owned());
            });
            assert_eq!(lines, ["one", "xxxxxxxxxx", "three", "", "last"]);
        }
    }

    #[test]
    fn a_source_that_fails_is_at_its_end() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _into: &mut [u8]) -> std::io::Result<usize> {
                Err(ErrorKind::ConnectionReset.into())
            }
        }
        each_line(BufReader::new(Broken), 10, |_line| unreachable!());
    }
}
