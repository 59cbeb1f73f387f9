//! Whatever a whole reply is: what is passed on as a success is what the demand asks for, by the
//! judge of `tests/adversary`; a right reply passes; and what one server says whole, another says
//! as a stream, means the same or is refused both times.

#![no_main]

use isogloss_core::ir::Wire;
use isogloss_fuzz::Stage;
use isogloss_testing::adversary::case::{self, Cell};
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::fold::{Came, Folded};
use isogloss_testing::adversary::frame::{self, Harm};
use isogloss_testing::adversary::json::read;
use isogloss_testing::adversary::judge::is_same;
use isogloss_testing::adversary::source::{Bytes, Source};
use isogloss_testing::adversary::wires;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let [mode, rest @ ..] = input else {
        return;
    };
    let stage = isogloss_fuzz::stage();
    let mut source = Bytes(rest);
    let mut cell = stage.world.cell(&mut source);
    for _ in 0..8 {
        if !cell.stream {
            break;
        }
        let dialect = &stage.world.cells[cell.dialect];
        cell = &dialect[(source.next() as usize + 1) % dialect.len()];
    }
    if cell.stream {
        return;
    }
    match mode % 4 {
        0 => {
            let is_stream = mode & 4 != 0;
            if let Some(out) = stage.whole(cell, source.0, is_stream) {
                stage.judged(cell, &out, false);
            }
        }
        1 => agree(stage, cell, &mut source),
        _ => {
            let reply = case::reply(&stage.world, cell, &mut source);
            let is_stream = reply.body.media_type == "text/event-stream"
                || reply.body.media_type == "application/x-ndjson";
            let out = stage.whole(cell, &reply.body.bytes, is_stream);
            let views = out.map(|out| stage.judged(cell, &out, false));
            if let Some(right) = &reply.right {
                let views = views.expect("a right reply passes");
                assert!(
                    views.iter().all(|view| is_same(right, view)),
                    "another answer"
                );
            }
        }
    }
});

/// What is said, without the ids that the wires give or lack, and JSON without its spaces.
fn said(client: Dialect, out: &[u8]) -> Vec<Folded> {
    let Came::Success(mut views) = client.fold(200, out, false) else {
        panic!("no success");
    };
    for choice in views.iter_mut().flat_map(|view| view.choices.values_mut()) {
        let calls = choice.calls.iter_mut().map(|(_, call)| call);
        for call in calls.chain(&mut choice.function_call) {
            call.id.clear();
            // Lines have no line ends in them: of raw JSON the spaces may differ.
            if let Some(json) = read(&call.input) {
                call.input = json.text();
            }
        }
    }
    views
}

/// The same choices, whole and as a stream that was sent although nobody asked for one.
fn agree(stage: &Stage, cell: &Cell, source: &mut Bytes<'_>) {
    let script = case::script(&stage.world, cell, source);
    let wire = cell.exchange.server.wire();
    if wire != Wire::Chat && script.spoken.len() > 1 {
        // Most of them know one choice only.
        return;
    }
    let calls = script.spoken.iter().flat_map(|choice| &choice.calls);
    let is_sayable = |input: &str| read(input).is_some_and(|json| json.text() != "null");
    if !calls.into_iter().all(|call| is_sayable(&call.input)) {
        // Where arguments are an object, only a stream can say a call that was cut, and `null` is
        // the same as none.
        return;
    }
    let body = wires::whole(wire, &script.spoken, source);
    let whole = frame::whole(&body, Harm::None, source);
    let events = wires::streamed(wire, &script.spoken, source);
    let stream = frame::stream(wire, &events, Harm::None, source);
    let one = stage.whole(cell, &whole.bytes, false);
    let other = stage.whole(cell, &stream.bytes, true);
    let client = stage.world.demand(cell).client;
    assert_eq!(
        one.map(|out| said(client, &out)),
        other.map(|out| said(client, &out)),
        "whole and streamed differ: {wire:?}\n{}\n{}",
        String::from_utf8_lossy(&whole.bytes),
        String::from_utf8_lossy(&stream.bytes)
    );
}
