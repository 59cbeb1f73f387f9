//! Events and bodies as bytes, in the framings that the standards allow, and in some that they do not.

use super::json::J;
use super::source::Source;
use super::wires::Events;
use isogloss_core::dialect::server;
use isogloss_core::ir::{Framing, Wire};

/// The body of a reply, as a server sends it.
#[derive(Debug, Clone)]
pub struct Body {
    pub bytes: Vec<u8>,
    pub status: u16,
    pub media_type: &'static str,
    /// The connection breaks before the body's end.
    pub is_cut: bool,
}

/// What is done to the bytes beside the framing itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    None,
    /// The end mark comes early, late, twice or never.
    End,
    /// Some bytes are others.
    Bytes,
    /// The body ends early, or the connection does.
    Cut,
    /// The media type is another's.
    Type,
    /// The status is none of a whole answer.
    Status,
}

const HARMS: [Harm; 5] = [Harm::End, Harm::Bytes, Harm::Cut, Harm::Type, Harm::Status];

pub fn harm(source: &mut impl Source) -> Harm {
    *source.pick(&HARMS)
}

/// A stream's bytes.
pub fn stream(wire: Wire, events: &Events, harm: Harm, source: &mut impl Source) -> Body {
    let odd = if source.chance(15) { 10 } else { 0 };
    let mut bytes = Vec::new();
    let is_lines = server::of(wire).unwrap().framing() == Framing::Lines;
    let newline = *source.pick(&["\n", "\n", "\n", "\r\n", "\r"]);
    let newline = if is_lines { "\n" } else { newline };
    let colon = *source.pick(&["data: ", "data: ", "data:"]);
    if !is_lines && source.chance(5) {
        bytes.extend_from_slice("\u{feff}".as_bytes());
    }
    // Chat's end mark belongs to the framing; the other wires have an end of their own.
    let has_mark = matches!(wire, Wire::Chat | Wire::Completions);
    let early = if harm == Harm::End {
        source.below(events.len() + 1)
    } else {
        usize::MAX
    };
    let is_noisy = source.chance(15);
    for (place, (name, event)) in events.iter().enumerate() {
        if place == early && !is_lines {
            bytes.extend_from_slice(format!("data: [DONE]{newline}{newline}").as_bytes());
        }
        let text = event.odd_text(source, odd);
        if is_lines {
            bytes.extend_from_slice(text.replace('\n', " ").as_bytes());
            bytes.push(b'\n');
            continue;
        }
        if is_noisy && source.chance(40) {
            let noise = *source.pick(&[": ping", "id: 7", "retry: 10", "x: y", ":"]);
            bytes.extend_from_slice(format!("{noise}{newline}").as_bytes());
            if noise.starts_with(':') && source.chance(50) {
                bytes.extend_from_slice(newline.as_bytes());
            }
        }
        if !name.is_empty() {
            bytes.extend_from_slice(format!("event: {name}{newline}").as_bytes());
        }
        for line in text.split('\n') {
            bytes.extend_from_slice(format!("{colon}{line}{newline}").as_bytes());
        }
        bytes.extend_from_slice(newline.as_bytes());
    }
    if has_mark && !(harm == Harm::End && source.chance(50)) && !source.chance(3) {
        let end = *source.pick(&[2, 2, 2, 2, 1, 0]);
        bytes.extend_from_slice(format!("data: [DONE]{}", newline.repeat(end)).as_bytes());
    }
    let media_type = if is_lines {
        "application/x-ndjson"
    } else {
        "text/event-stream"
    };
    harmed(bytes, media_type, harm, source)
}

/// A body's bytes.
pub fn whole(body: &J, harm: Harm, source: &mut impl Source) -> Body {
    let odd = if source.chance(15) { 10 } else { 0 };
    let bytes = body.odd_text(source, odd).into_bytes();
    harmed(bytes, "application/json", harm, source)
}

fn harmed(
    mut bytes: Vec<u8>,
    media_type: &'static str,
    harm: Harm,
    source: &mut impl Source,
) -> Body {
    let mut is_cut = false;
    let mut status = 200;
    let mut media_type = media_type;
    let at = source.below(bytes.len() + 1);
    match harm {
        Harm::None | Harm::End => {}
        Harm::Bytes => {
            let lies: [&[u8]; 8] = [
                b"\xff",
                b"\\ud83d",
                b"\0",
                b"\"",
                b"}",
                b"{\"age\":\"bad\"}",
                b"\n\n",
                b"\xc3",
            ];
            let lie = *source.pick(&lies);
            let gone = source.below(3).min(bytes.len() - at);
            bytes.splice(at..at + gone, lie.iter().copied());
        }
        Harm::Status => status = *source.pick(&[201, 202, 203, 206, 226]),
        Harm::Cut => {
            bytes.truncate(at);
            is_cut = source.chance(50);
        }
        Harm::Type => {
            let types = [
                "application/json",
                "text/event-stream",
                "text/plain",
                "text/html",
                "application/x-ndjson",
            ];
            media_type = *source.pick(&types);
        }
    }
    Body {
        bytes,
        status,
        media_type,
        is_cut,
    }
}
