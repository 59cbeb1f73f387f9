//! Whatever bytes a server streams, in whatever pieces: what is passed on as a success is what the
//! demand asks for, by the judge of `tests/adversary`, and does not depend on the pieces. A right
//! stream passes.
//!
//! The first byte says how the body is made: of the input itself, or by the lying server of
//! `tests/adversary` with the input for its choices.

#![no_main]

use isogloss_testing::adversary::case;
use isogloss_testing::adversary::judge::is_same;
use isogloss_testing::adversary::source::{Bytes, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [mode, cut, rest @ ..] = input else {
        return;
    };
    let stage = isogloss_fuzz::stage();
    let mut source = Bytes(rest);
    let mut cell = stage.world.cell(&mut source);
    for _ in 0..8 {
        if cell.stream {
            break;
        }
        let dialect = &stage.world.cells[cell.dialect];
        cell = &dialect[(source.next() as usize + 1) % dialect.len()];
    }
    if !cell.stream {
        return;
    }
    let (body, right) = if mode % 4 == 0 {
        (source.0.to_vec(), None)
    } else {
        let reply = case::reply(&stage.world, cell, &mut source);
        // One body in the place of a stream is told apart by its type, not here.
        let is_stream = reply.body.media_type != "application/json";
        (reply.body.bytes, reply.right.filter(|_| is_stream))
    };
    let whole = stage.stream(cell, [body.as_slice()]);
    // Half of the time goes into this: it is done for a part of the inputs.
    if mode & 0x30 == 0 {
        let pieces = body.chunks(usize::from(*cut) + 1);
        assert_eq!(stage.stream(cell, pieces), whole);
    }
    if whole.1 {
        let views = stage.judged(cell, &whole.0, true);
        let is_right = |right| views.iter().all(|view| is_same(right, view));
        assert!(right.as_deref().is_none_or(is_right), "another answer");
    } else {
        assert!(
            right.is_none(),
            "a right stream is refused: {}",
            String::from_utf8_lossy(&body)
        );
    }
});
