//! Any bytes on any wire, in any chunking, give the same events, each of which is JSON or the end
//! mark or plainly none; a whole reply is JSON or refused; a request in Chat's words never panics.

#![no_main]

use isogloss_core::ir::{Fields, Ids};
use isogloss_core::wire::{About, Render, Wire};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn about() -> About {
    About {
        stop: vec!["\n".to_owned(), "aa".to_owned()],
        ..About::new("m", true, Ids::new(7))
    }
}

fn render() -> Render {
    Render {
        path: "/render".to_owned(),
        at: "/text".to_owned(),
        tokens: Some("/tokens".to_owned()),
        tokenize: Some("/tokenize".to_owned()),
    }
}

fn decode<'a>(
    wire: Wire,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<Vec<u8>>, Option<bool>) {
    let mut decoder = wire.decoder(about(), limit);
    let mut events = Vec::new();
    for chunk in chunks {
        if decoder.push(chunk, &mut events).is_err() {
            return (events, None);
        }
    }
    let is_clean = decoder.finish(&mut events);
    (events, Some(is_clean))
}

fuzz_target!(|input: &[u8]| {
    let [limit, chunk, body @ ..] = input else {
        return;
    };
    let fields: Option<Fields> = serde_json::from_slice(body).ok();
    for wire in Wire::ALL {
        for limit in [usize::from(*limit), 1 << 20] {
            let whole = decode(wire, [body], limit);
            assert_eq!(decode(wire, body.chunks(1), limit), whole);
            let chunks = body.chunks(usize::from(*chunk) + 1);
            assert_eq!(decode(wire, chunks, limit), whole);
            for event in whole.0.iter().filter(|_| wire != Wire::Chat) {
                let is_json = serde_json::from_slice::<Value>(event).is_ok();
                assert!(is_json || event == b"[DONE]" || event.is_empty());
            }
        }
        if let Some(reply) = wire.whole(body, &about()).filter(|_| wire != Wire::Chat) {
            assert!(serde_json::from_slice::<Value>(&reply).is_ok());
        }
        let mut next = fields
            .as_ref()
            .and_then(|fields| wire.ask(fields, "x", Some(&render())).ok());
        while let Some(asked) = next {
            assert!(serde_json::from_slice::<Value>(&asked.body).is_ok());
            assert!(asked.path.starts_with('/') && asked.path.is_ascii());
            next = asked.pending.and_then(|pending| pending.next(body).ok());
        }
    }
});
