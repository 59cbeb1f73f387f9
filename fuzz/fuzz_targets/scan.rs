//! The scanner and serde_json agree on what is JSON; every envelope reader gives the same events
//! in any chunking, and takes nothing that is no JSON.

#![no_main]

use isogloss_core::json::envelope::{Caps, EnvelopeEvent, EnvelopeFault, EnvelopeReader, Shape};
use isogloss_core::json::scan::{ScanFault, Scanner};
use libfuzzer_sys::fuzz_target;

fn scan(text: &[u8]) -> Result<(), ScanFault> {
    let mut scanner = Scanner::new();
    for &byte in text {
        scanner.push(byte)?;
    }
    scanner.finish()
}

fn assert_scanner_agrees(text: &[u8]) {
    let ours = scan(text);
    match serde_json::from_slice::<serde_json::Value>(text) {
        Ok(_) => assert_eq!(ours, Ok(())),
        // It stopped there, so it never saw the rest.
        Err(error) if error.to_string().starts_with("number out of range") => {}
        Err(error) => assert!(ours.is_err(), "{error}"),
    }
}

fn read<'a>(
    mut reader: EnvelopeReader,
    chunks: impl IntoIterator<Item = &'a str>,
) -> (Vec<EnvelopeEvent>, Result<(), EnvelopeFault>) {
    use EnvelopeEvent::{Answer, Input};
    let mut out = Vec::new();
    let pushed = chunks
        .into_iter()
        .try_for_each(|chunk| reader.push(chunk, &mut out));
    let end = pushed.and_then(|()| reader.finish(&mut out));
    let mut joined: Vec<EnvelopeEvent> = Vec::new();
    for event in out {
        match (joined.last_mut(), event) {
            (Some(Input(text)), Input(more)) | (Some(Answer(text)), Answer(more)) => {
                text.push_str(&more);
            }
            (_, event) => joined.push(event),
        }
    }
    (joined, end)
}

fuzz_target!(|input: &[u8]| {
    let [how, text @ ..] = input else {
        return;
    };
    assert_scanner_agrees(text);
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    for shape in [Shape::Bare, Shape::One, Shape::Many, Shape::CallOrAnswer] {
        let reader = || {
            let caps = Caps {
                held_bytes: usize::from(*how & 0x3F),
                ..Caps::default()
            };
            let reader = EnvelopeReader::new(shape, caps);
            if how & 0x40 == 0 {
                reader
            } else {
                reader.cautious()
            }
        };
        let whole = read(reader(), [text]);
        let pieces = text.split("").filter(|piece| !piece.is_empty());
        assert_eq!(read(reader(), pieces), whole);
        if whole.1.is_ok() {
            assert_eq!(scan(text.as_bytes()), Ok(()));
        }
    }
});
