//! What is right is never refused, what is wrong always, however the bytes are cut. The proxy's `strict_io` holds the
//! same against hyper.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use isogloss_testing::requests::{self, Right, changed, pieces};
use proptest::prelude::*;

fn right() -> impl Strategy<Value = Right> {
    prop::collection::vec(any::<u16>(), requests::DRAWN).prop_map(|drawn| Right::drawn(&drawn))
}

/// Where in all of it the fault is.
fn judged(pieces: &[&[u8]]) -> Option<usize> {
    let mut framing = RequestFraming::new();
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
