//! The decoder against the vectors of the shared folder, and the laws it must keep.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{DONE, Decoder, EventTooLarge, SseEvent, Tail, encode};
use base64::Engine as _;
use proptest::prelude::*;

const NO_LIMIT: usize = 1 << 30;

/// Events, how the stream ended, and the error if it was cut.
type Decoded = (Vec<SseEvent>, Result<Tail, EventTooLarge>);

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Decoded {
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

fn whole(body: &[u8]) -> Decoded {
    decode([body], NO_LIMIT)
}

fn event(data: &str) -> SseEvent {
    SseEvent {
        event: None,
        data: data.as_bytes().to_vec(),
    }
}

fn assert_every_chunking_agrees(body: &[u8], id: &str) {
    let expected = whole(body);
    assert_eq!(decode(body.chunks(1), NO_LIMIT), expected, "{id} by bytes");
    // Every split of the large vectors would take minutes and shows nothing that the edges do not.
    let splits = (0..=body.len()).filter(|at| body.len() < 5000 || at % 997 == 0);
    for at in splits {
        let (left, right) = body.split_at(at);
        assert_eq!(decode([left, right], NO_LIMIT), expected, "{id} at {at}");
    }
}

/// The rows of a file of the shared data folder, or `None` where there is no such folder.
fn rows(file: &str) -> Option<Vec<serde_json::Value>> {
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let Ok(text) = std::fs::read_to_string(format!("{folder}/{file}")) else {
        eprintln!("skipped: {folder}/{file} is not there (set ISOGLOSS_DATA)");
        return None;
    };
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

#[test]
fn every_vector_gives_its_events_in_any_chunking() {
    let Some(rows) = rows("sse_vectors.jsonl") else {
        return;
    };
    let mut seen = 0;
    for row in rows.iter().filter(|row| row["b64"].is_string()) {
        let id = row["id"].as_str().unwrap();
        let body = base64::prelude::BASE64_STANDARD
            .decode(row["b64"].as_str().unwrap())
            .unwrap();
        let (events, end) = whole(&body);
        let expected: Vec<_> = row["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| {
                let name = event["event"].as_str().filter(|name| *name != "message");
                (
                    name.map(str::to_owned),
                    event["data"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        // A last [DONE] without its blank line is ours to deliver: the standard would drop it.
        let pending = row["pending_at_eof"].as_str();
        let is_late_done = pending.is_some_and(|data| data.trim() == "[DONE]");
        let dispatched = events.len() - usize::from(is_late_done);
        let got: Vec<_> = events[..dispatched]
            .iter()
            .map(|event| {
                let data = String::from_utf8_lossy(&event.data).into_owned();
                (event.event.clone(), data)
            })
            .collect();
        assert_eq!(got, expected, "{id}");
        if is_late_done {
            assert!(events[dispatched].is_done(), "{id}");
            assert_eq!(end, Ok(Tail::Clean), "{id}");
        } else if pending.is_some() {
            assert_eq!(end, Ok(Tail::Partial), "{id}");
        } else if body.ends_with(b"\n") || body.ends_with(b"\r") {
            assert_eq!(end, Ok(Tail::Clean), "{id}");
        }
        assert_every_chunking_agrees(&body, id);
        seen += 1;
    }
    assert!(seen >= 40, "only {seen} vectors were read");
}

#[test]
fn all_line_ends_and_their_mixtures_end_lines_and_events() {
    let body = b"data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\ndata: e\r\ndata: f\r\n\n";
    let expected = ["a", "b", "c", "d", "e\nf"].map(event).to_vec();
    assert_eq!(whole(body), (expected, Ok(Tail::Clean)));
    assert_every_chunking_agrees(body, "mixed line ends");
}

#[test]
fn comments_unknown_fields_id_and_retry_give_nothing() {
    let body = b": ping\n\nid: 7\nretry: 10\n\nDATA: no\n data: no\ndata : no\n:data: no\n\n";
    assert_eq!(whole(body), (vec![], Ok(Tail::Clean)));
}

#[test]
fn an_event_without_data_is_not_dispatched_and_its_name_is_forgotten() {
    let (events, _) = whole(b"event: ping\n\ndata: x\n\nevent: error\ndata: y\n\n");
    assert_eq!(events[0], event("x"));
    assert_eq!(events[1].event.as_deref(), Some("error"));
}

#[test]
fn an_error_without_data_has_the_words_of_its_comment() {
    for (body, message) in [
        (
            "event: error\n: \"worker \\\"0\\\" died\"\n\n",
            "worker \"0\" died",
        ),
        ("event: error\r\n:worker\r\n: died\r\n\r\n", "worker\ndied"),
        ("event: error\n\n", "no reason given"),
        ("event: error\n: cut", "cut"),
    ] {
        let (events, end) = whole(body.as_bytes());
        assert_eq!((events.len(), end), (1, Ok(Tail::Clean)), "{body:?}");
        let data: serde_json::Value = serde_json::from_slice(&events[0].data).unwrap();
        assert_eq!(data["error"]["message"], message, "{body:?}");
        assert_every_chunking_agrees(body.as_bytes(), body);
    }
    let (events, _) = whole(b"event: error\n: a hint\ndata: x\n\n: more\n\n");
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].data, b"x");
    assert_eq!(
        whole(b"event: error\n"),
        (vec![], Ok(Tail::Partial)),
        "its data is missing"
    );
}

#[test]
fn only_the_first_byte_order_mark_is_taken_off() {
    let body = b"\xEF\xBB\xBFdata: x\n\n\xEF\xBB\xBFdata: y\n\n";
    assert_eq!(whole(body), (vec![event("x")], Ok(Tail::Clean)));
    assert_every_chunking_agrees(body, "byte order mark");
}

#[test]
fn a_last_done_counts_without_blank_line_line_end_or_space() {
    for body in [
        "data: [DONE]",
        "data:[DONE]",
        "data: [DONE]\n",
        "data: [DONE]  ",
        "data: [DONE]\r",
        "data: [DONE]\n\n",
    ] {
        let (events, end) = whole(body.as_bytes());
        assert_eq!(events.len(), 1, "{body:?}");
        assert!(events[0].is_done(), "{body:?}");
        assert_eq!(end, Ok(Tail::Clean), "{body:?}");
    }
}

#[test]
fn an_event_cut_by_the_end_is_dropped_and_reported() {
    for body in [
        "data: {\"a\"",
        "data: x\n",
        "dat",
        "event: x\n",
        "data: [DON",
        "\u{feff}d",
    ] {
        assert_eq!(
            whole(body.as_bytes()),
            (vec![], Ok(Tail::Partial)),
            "{body:?}"
        );
    }
    for body in ["", "\n", ": comment", ": comment\n", "data: x\n\n: bye"] {
        assert_eq!(whole(body.as_bytes()).1, Ok(Tail::Clean), "{body:?}");
    }
}

#[test]
fn an_event_at_the_limit_passes_and_one_byte_more_is_refused_in_any_chunking() {
    let body = b"data: 12345678\n\ndata: 12345678\n\n";
    let line = b"data: 12345678".len();
    for chunk in [1, 3, body.len()] {
        let (events, end) = decode(body.chunks(chunk), line);
        assert_eq!((events.len(), end), (2, Ok(Tail::Clean)));
        let (events, end) = decode(body.chunks(chunk), line - 1);
        assert_eq!(
            (events.len(), end),
            (0, Err(EventTooLarge { limit: line - 1 }))
        );
    }
}

#[test]
fn events_before_one_that_is_too_large_are_delivered() {
    let body = [b"data: ok\n\ndata: ".as_slice(), &[b'x'; 100]].concat();
    for chunk in [1, 7, body.len()] {
        let (events, end) = decode(body.chunks(chunk), 50);
        assert_eq!(events, [event("ok")]);
        assert_eq!(end, Err(EventTooLarge { limit: 50 }));
    }
}

#[test]
fn data_lines_that_never_end_an_event_are_cut_at_the_limit() {
    let mut decoder = Decoder::new(1000);
    let mut events = Vec::new();
    let pushed = (0..1000).take_while(|_| decoder.push(b"data: x\n", &mut events).is_ok());
    assert_eq!(pushed.count(), 497);
    assert!(decoder.push(b"\n\n", &mut events).is_err(), "stays failed");
    assert!(events.is_empty());
}

#[test]
fn endless_fields_without_data_and_comments_keep_no_memory() {
    let mut decoder = Decoder::new(64);
    let mut events = Vec::new();
    for _ in 0..10_000 {
        decoder
            .push(b"id: 1\nretry: 1\n: ping\nevent: x\n", &mut events)
            .unwrap();
    }
    decoder.push(DONE, &mut events).unwrap();
    assert_eq!(events.len(), 1);
}

#[test]
fn done_is_one_encoded_event() {
    let mut out = Vec::new();
    encode(b"[DONE]", &mut out);
    assert_eq!(out, DONE);
}

/// Bodies made of the pieces that matter, so that random ones are not all noise.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data:".to_vec()),
        Just(b"data: [DONE]".to_vec()),
        Just(b"event: e".to_vec()),
        Just(b"event: error".to_vec()),
        Just(b": c".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just("é漢".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(data in "(?s).{0,60}") {
        let mut wire = Vec::new();
        encode(data.as_bytes(), &mut wire);
        let joined = data.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(whole(&wire), (vec![event(&joined)], Ok(Tail::Clean)));
    }

    #[test]
    fn chunking_never_matters(body in body(), cuts in proptest::collection::vec(0usize..200, 0..6), limit in 1usize..40) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        for limit in [limit, NO_LIMIT] {
            let chunks = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]);
            prop_assert_eq!(decode(chunks, limit), decode([body.as_slice()], limit));
        }
    }
}
