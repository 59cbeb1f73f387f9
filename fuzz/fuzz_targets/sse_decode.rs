//! Any bytes, in any chunking, give the same events, and none is over the limit.

#![no_main]

use isogloss_core::sse::{Decoder, EventTooLarge, SseEvent, Tail, encode};
use libfuzzer_sys::fuzz_target;

fn decode<'a>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    limit: usize,
) -> (Vec<SseEvent>, Result<Tail, EventTooLarge>) {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.push(chunk, &mut events) {
            return (events, Err(error));
        }
    }
    let tail = decoder.finish(&mut events);
    (events, Ok(tail))
}

fuzz_target!(|input: &[u8]| {
    let [limit, chunk, body @ ..] = input else {
        return;
    };
    for limit in [usize::from(*limit), 1 << 20] {
        let whole = decode([body], limit);
        assert_eq!(decode(body.chunks(1), limit), whole);
        assert_eq!(decode(body.chunks(usize::from(*chunk) + 1), limit), whole);
        for event in &whole.0 {
            // An error without data is given some.
            let is_error = event.event.as_deref() == Some("error");
            assert!(is_error || event.data.len() <= limit);
            // What is decoded can be encoded, and says the same.
            let mut wire = Vec::new();
            encode(&event.data, &mut wire);
            let (again, tail) = decode([wire.as_slice()], usize::MAX);
            assert_eq!((again.len(), tail), (1, Ok(Tail::Clean)));
            assert_eq!(again[0].data, event.data);
        }
    }
});
