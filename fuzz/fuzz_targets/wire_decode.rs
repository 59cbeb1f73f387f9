//! Any bytes on any wire, in any chunking, say the same; a whole reply is one or refused; no
//! request of a client of Chat's makes a server's face panic.

#![no_main]

use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::server::{self, About, CHAT_PATH, Render, Server};
use isogloss_core::ir::{Draft, Event, Ids, Wire};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fn about() -> About {
    About {
        stop: vec!["\n".to_owned(), "aa".to_owned()],
        reasoning: vec!["reasoning_content".to_owned()],
        stopped: vec!["stop_reason".to_owned()],
        ..About::default()
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

/// The events as they are printed, and whether the body ended between two of them.
fn decode<'a>(
    wire: &'static dyn Server,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (String, Option<bool>) {
    let mut server = wire.stream(about(), limit);
    let mut ids = Ids::new(7);
    let (mut data, mut is_clean) = (Vec::new(), None);
    let mut chunks = chunks.into_iter();
    if chunks
        .try_for_each(|chunk| server.push(chunk, &mut data))
        .is_ok()
    {
        is_clean = Some(server.finish(&mut data));
    }
    let read = |data: &Vec<u8>| server.read(data, &mut ids).events;
    let mut events: Vec<Event> = data.iter().flat_map(read).collect();
    events.extend(server.end(&mut ids).events);
    (format!("{events:?}"), is_clean)
}

fuzz_target!(|input: &[u8]| {
    let [limit, chunk, body @ ..] = input else {
        return;
    };
    let draft = Chat.read(CHAT_PATH, body).ok().and_then(|request| {
        Some(Draft {
            turns: Chat.turns(&request).ok()?,
            ..Draft::of(&request)
        })
    });
    for wire in Wire::ALL.into_iter().filter_map(server::of) {
        for limit in [usize::from(*limit), 1 << 20] {
            let whole = decode(wire, [body], limit);
            assert_eq!(decode(wire, body.chunks(1), limit), whole);
            let chunks = body.chunks(usize::from(*chunk) + 1);
            assert_eq!(decode(wire, chunks, limit), whole);
        }
        let _ = wire.whole(body, &about(), &mut Ids::new(7));
        let mut next = draft
            .as_ref()
            .and_then(|draft| wire.ask(draft, "x", Some(&render())).ok());
        while let Some(asked) = next {
            assert!(serde_json::from_slice::<Value>(&asked.body).is_ok());
            assert!(asked.path.starts_with('/') && asked.path.is_ascii());
            next = asked.pending.and_then(|pending| pending.next(body).ok());
        }
    }
});
