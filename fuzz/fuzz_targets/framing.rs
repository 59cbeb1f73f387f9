//! Any bytes, in any pieces, have their first fault at the same place, and a right request before them changes nothing.

#![no_main]

use isogloss_framing::RequestFraming;
use libfuzzer_sys::fuzz_target;

fn judge<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Option<usize> {
    let mut framing = RequestFraming::new();
    let (mut before, mut found) = (0, None);
    for piece in pieces {
        let fault = framing.judge(piece);
        assert!(found.is_none() || fault.is_none(), "a fault is told once");
        found = found.or(fault.map(|fault| before + fault.at()));
        before += piece.len();
    }
    found
}

fuzz_target!(|input: &[u8]| {
    let [size, bytes @ ..] = input else {
        return;
    };
    let whole = judge([bytes]);
    assert!(whole.is_none_or(|at| at < bytes.len()));
    assert_eq!(judge(bytes.chunks(1)), whole);
    assert_eq!(judge(bytes.chunks(usize::from(*size) + 1)), whole);
    for before in [
        "GET / HTTP/1.1\r\nhost: h\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n\n\n",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;a\r\n\n\r\n0\r\na: b\r\n\r\n",
    ] {
        let after = judge([before.as_bytes(), bytes]);
        assert_eq!(after, whole.map(|at| before.len() + at));
    }
});
