//! What is right is never refused, what is wrong always, however the bytes are cut. `strict_io` holds the same against
//! hyper.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;

/// A request that is right, and what it says.
#[derive(Debug, Clone)]
pub(in crate::proxy) struct Right {
    pub(in crate::proxy) wire: Vec<u8>,
    pub(in crate::proxy) body: Vec<u8>,
}

/// What may come of each part of a request.
pub(in crate::proxy) fn right() -> impl Strategy<Value = Right> {
    let before = prop::sample::select(vec!["", "\r\n", "\r\n\r\n"]);
    let line = prop::sample::select(vec![
        "GET / HTTP/1.1",
        "POST /v1/chat/completions?a=b HTTP/1.1",
        "DELETE /content-length:%205 HTTP/1.1",
    ]);
    let header = prop::sample::select(vec![
        "host: h",
        "X-Empty:",
        "x-content-length: 7",
        "content-lengths: 7",
        "Content-Lengt: 7",
        "transfer-encodings: chunked",
        "transfer-encodin:chunked",
        "te: trailers",
        "expect: 100-continue",
        "accept:\t*/* \t",
        "upgrade: h2c",
        "x-latin: caf\u{e9}",
    ]);
    let headers = prop::collection::vec(header, 0..5);
    let byte = prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b'0')];
    let body = prop::collection::vec(byte, 0..60);
    let form = (0..7_usize, 1..20_usize);
    (before, line, headers, body, form).prop_map(|(before, line, headers, body, form)| {
        let mut head = format!("{before}{line}\r\n");
        for header in headers {
            head += header;
            head += "\r\n";
        }
        let (form, step) = form;
        let length = body.len();
        let mut wire = head.into_bytes();
        let mut say = |text: &str| wire.extend_from_slice(text.as_bytes());
        match form {
            0 => {
                say("\r\n");
                return Right { wire, body: vec![] };
            }
            1 => say(&format!("content-length: {length}\r\n\r\n")),
            2 => say(&format!("CONTENT-Length:\t00{length} \t\r\nx: y\r\n\r\n")),
            3 => say(&format!(
                "content-length:{length}\r\nhost: h\r\ncontent-length: {length}\r\n\r\n"
            )),
            _ => {
                say("Transfer-Encoding: Chunked\r\n\r\n");
                chunks(&mut wire, &body, form, step);
                return Right { wire, body };
            }
        }
        wire.extend_from_slice(&body);
        Right { wire, body }
    })
}

fn chunks(wire: &mut Vec<u8>, body: &[u8], form: usize, step: usize) {
    let (extension, trailers) = match form {
        4 => ("", ""),
        5 => (";a=b;c=\"d e\"", "x: y\r\ncontent-length: 5\r\n"),
        _ => ("; a", "x:\r\n"),
    };
    for chunk in body.chunks(step) {
        let size = match form {
            4 => format!("{:x}", chunk.len()),
            _ => format!("00{:X}", chunk.len()),
        };
        wire.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
        wire.extend_from_slice(chunk);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(format!("0{extension}\r\n{trailers}\r\n").as_bytes());
}

/// The pieces of some bytes, cut wherever it is said.
pub(in crate::proxy) fn pieces<'a>(bytes: &'a [u8], steps: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut pieces = Vec::new();
    for step in steps {
        let (piece, after) = rest.split_at((*step).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// Where in all of it the fault is.
fn judged(pieces: &[&[u8]]) -> Option<usize> {
    let mut framing = Framing::new();
    let mut before = 0;
    let mut found = None;
    for piece in pieces {
        let fault = framing.judge(piece);
        assert!(found.is_none() || fault.is_none(), "once is enough");
        found = found.or(fault.map(|fault| before + fault.at()));
        before += piece.len();
    }
    found
}

/// At which text the fault shows.
#[track_caller]
fn is_at(wire: &str, rest: &str) {
    let at = judged(&[wire.as_bytes()]);
    let found = at.map(|at| wire.get(at..).unwrap());
    assert_eq!(found, Some(rest), "{wire:?}");
}

const CHUNKED: &str = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn a_bare_line_feed_is_found_wherever_a_line_ends() {
    is_at("\nGET / HTTP/1.1\r\n\r\n", "\nGET / HTTP/1.1\r\n\r\n");
    is_at("GET / HTTP/1.1\nhost: h\r\n\r\n", "\nhost: h\r\n\r\n");
    is_at("GET / HTTP/1.1\r\nhost: h\nx: y\r\n\r\n", "\nx: y\r\n\r\n");
    is_at("GET / HTTP/1.1\r\nx:\n\r\n", "\n\r\n");
    is_at("GET / HTTP/1.1\r\nhost: h\r\n\n", "\n");
    is_at("GET / HTTP/1.1\r\ncontent-length: 0\n\r\n", "\n\r\n");
    is_at(
        "GET / HTTP/1.1\r\ntransfer-encoding: chunked\n\r\n",
        "\n\r\n",
    );
    is_at(&format!("{CHUNKED}1\nx\r\n0\r\n\r\n"), "\nx\r\n0\r\n\r\n");
    is_at(&format!("{CHUNKED}1\r\nx\n0\r\n\r\n"), "\n0\r\n\r\n");
    is_at(&format!("{CHUNKED}0\r\n\n"), "\n");
    is_at(
        &format!("{CHUNKED}0\r\na: b\nc: d\r\n\r\n"),
        "\nc: d\r\n\r\n",
    );
    is_at(&format!("{CHUNKED}0\r\na: b\r\n\n"), "\n");
}

#[test]
fn blanks_around_a_chunks_size_are_found() {
    for line in [
        "1 ;x", "1\t;x", "1 ", " 1", "\t1", ";x", "+1", "0x1", "-1", "1,", "",
    ] {
        let wire = format!("{CHUNKED}{line}\r\nx\r\n0\r\n\r\n");
        assert!(judged(&[wire.as_bytes()]).is_some(), "{line:?}");
    }
    is_at(&format!("{CHUNKED}0 \r\n\r\n"), " \r\n\r\n");
    // Of the size, not of what it would be cut to.
    is_at(&format!("{CHUNKED}10000000000000000\r\n"), "0\r\n");
}

#[test]
fn a_length_beside_chunks_is_found_in_either_order_and_whatever_it_says() {
    for (first, second) in [
        ("content-length: 5", "transfer-encoding: chunked"),
        ("Content-Length: 5", "TRANSFER-ENCODING: gzip"),
        ("transfer-encoding: chunked", "content-length: 5"),
        ("transfer-encoding:", "content-length: what"),
        ("content-length: 0", "transfer-encoding: chunked"),
    ] {
        let wire = format!("POST / HTTP/1.1\r\n{first}\r\nhost: h\r\n{second}\r\n\r\n");
        let colon = second.find(':').unwrap();
        is_at(&wire, &format!("{}\r\n\r\n", second.get(colon..).unwrap()));
    }
}

#[test]
fn lengths_that_are_none_or_contradict_each_other_are_found() {
    for lengths in [
        "",
        " ",
        "x",
        "-1",
        "+1",
        "1 1",
        "1,1",
        "0x1",
        "18446744073709551616",
    ] {
        let wire = format!("POST / HTTP/1.1\r\ncontent-length:{lengths}\r\n\r\n");
        assert!(judged(&[wire.as_bytes()]).is_some(), "{lengths:?}");
    }
    let two = "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n";
    is_at(two, "\n\r\n");
}

#[test]
fn what_looks_like_a_fault_within_a_body_is_none() {
    let hidden = "GET / HTTP/1.1\nhost: h\n\n";
    let size = hidden.len();
    for wire in [
        format!("POST / HTTP/1.1\r\ncontent-length: {size}\r\n\r\n{hidden}GET / HTTP/1.1\r\n\r\n"),
        format!("{CHUNKED}{size:x}\r\n{hidden}\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
    ] {
        assert_eq!(judged(&[wire.as_bytes()]), None, "{wire:?}");
        // It is one where the next request begins.
        assert!(judged(&[wire.as_bytes(), hidden.as_bytes()]).is_some());
    }
}

proptest! {
    #[test]
    fn right_requests_are_never_refused_and_the_next_one_is_judged_from_its_beginning(
        requests in prop::collection::vec(right(), 1..4),
        steps in prop::collection::vec(0..30_usize, 0..20),
    ) {
        let wire: Vec<u8> = requests.iter().flat_map(|one| one.wire.clone()).collect();
        prop_assert_eq!(judged(&pieces(&wire, &steps)), None);
        let faulty = [&wire[..], b"GET / HTTP/1.1\n\r\n"].concat();
        prop_assert_eq!(judged(&pieces(&faulty, &steps)), Some(wire.len() + 14));
    }

    #[test]
    fn pieces_never_change_the_verdict(
        right in right(),
        changes in prop::collection::vec((0..200_usize, prop::sample::select(b"\r\n :;05x".to_vec())), 0..4),
        steps in prop::collection::vec(0..30_usize, 0..20),
    ) {
        let wire = changed(right.wire, &changes);
        let whole = judged(&[&wire]);
        prop_assert_eq!(judged(&pieces(&wire, &steps)), whole);
        let single: Vec<&[u8]> = wire.chunks(1).collect();
        prop_assert_eq!(judged(&single), whole);
    }
}

/// The bytes with others in some places.
pub(in crate::proxy) fn changed(mut wire: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        if let Some(place) = wire.get_mut(*at) {
            *place = *byte;
        }
    }
    wire
}
