use super::*;
use proptest::prelude::*;

/// What comes out of these pieces: the settled texts together, and whether a stop text came.
fn streamed(stop: &[&str], pieces: &[&[u8]]) -> (String, bool) {
    let stop: Vec<String> = stop.iter().map(ToString::to_string).collect();
    let mut stream = TextStream::new(&stop);
    let mut whole = String::new();
    for piece in pieces {
        let pushed = stream.push(piece);
        whole.push_str(&pushed.text);
        if pushed.stopped {
            return (whole, true);
        }
    }
    let held = stream.held.len() + stream.partial.len();
    let longest = stop.iter().map(String::len).max().unwrap_or(0);
    assert!(held <= longest + 3, "holds no more than it must");
    whole.push_str(&stream.finish());
    (whole, false)
}

/// The same by looking at every place of the whole text: the first place where a stop text ends,
/// and of those that end there the longest.
fn naive(stop: &[&str], bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let longest = stop
            .iter()
            .filter(|stop| !stop.is_empty() && text[..end].ends_with(**stop))
            .map(|stop| stop.len())
            .max();
        if let Some(length) = longest {
            return (text[..end - length].to_owned(), true);
        }
    }
    (text, false)
}

#[test]
fn text_without_stop_texts_goes_out_at_once() {
    let mut stream = TextStream::new(&[]);
    assert_eq!(stream.push(b"hello ").text, "hello ");
    assert_eq!(stream.push(b"world").text, "world");
    assert_eq!(stream.finish(), "");
}

#[test]
fn a_character_goes_out_when_its_bytes_are_all_there() {
    let mut stream = TextStream::new(&[]);
    assert_eq!(stream.push("a€".as_bytes()[..2].as_ref()).text, "a");
    assert_eq!(stream.push(&"€".as_bytes()[1..2]).text, "");
    assert_eq!(stream.push(&"€b".as_bytes()[2..]).text, "€b");
}

#[test]
fn a_character_that_stays_incomplete_is_replaced_at_the_end() {
    let mut stream = TextStream::new(&[]);
    assert_eq!(stream.push(b"a\xF0\x9F\x98").text, "a");
    assert_eq!(stream.finish(), "\u{FFFD}");
}

#[test]
fn bytes_that_cannot_be_text_are_replaced_as_soon_as_that_is_known() {
    let mut stream = TextStream::new(&[]);
    assert_eq!(stream.push(b"a\xE2\x82").text, "a");
    assert_eq!(stream.push(b"b\xFF").text, "\u{FFFD}b\u{FFFD}");
}

#[test]
fn the_answer_ends_before_a_stop_text_and_takes_nothing_after_it() {
    let mut stream = TextStream::new(&["END".to_owned()]);
    let pushed = stream.push(b"one END two");
    assert_eq!((pushed.text.as_str(), pushed.stopped), ("one ", true));
    let pushed = stream.push(b"three");
    assert_eq!((pushed.text.as_str(), pushed.stopped), ("", true));
    assert_eq!(stream.finish(), "");
}

#[test]
fn what_may_be_the_beginning_of_a_stop_text_is_held_back() {
    let mut stream = TextStream::new(&["</s>".to_owned()]);
    assert_eq!(stream.push(b"a<").text, "a");
    assert_eq!(stream.push(b"/s").text, "");
    assert_eq!(stream.push(b"b").text, "</sb");
    assert_eq!(stream.push(b"c<").text, "c");
    assert_eq!(stream.finish(), "<");
}

#[test]
fn no_stop_text_is_seen_in_what_is_passed_nor_across_its_ends() {
    let mut stream = TextStream::new(&["END".to_owned(), "é".to_owned()]);
    assert_eq!(stream.push(b"a E").text, "a ");
    assert_eq!(stream.pass(b"ND END E"), "END END E");
    let pushed = stream.push(b"ND. EN");
    assert_eq!((pushed.text.as_str(), pushed.stopped), ("ND. ", false));
    let pushed = stream.push(b"D");
    assert_eq!((pushed.text.as_str(), pushed.stopped), ("", true));
    assert_eq!(stream.pass(b"more"), "");
}

#[test]
fn it_is_known_whether_a_character_would_break_off() {
    let mut stream = TextStream::new(&[]);
    let texts: [(&[u8], bool); 5] = [
        (b"a\xC3", true),
        (b"a\xF0\x9F\x98", true),
        ("é".as_bytes(), false),
        (b"a\xFF", false),
        (b"", false),
    ];
    for (bytes, breaks_off) in texts {
        assert_eq!(stream.breaks_off(bytes), breaks_off, "{bytes:?}");
    }
    stream.push(b"\xF0\x9F");
    assert!(stream.breaks_off(b"\x98"));
    assert!(!stream.breaks_off(b"\x98\x80"));
}

#[test]
fn a_beginning_within_a_beginning_is_seen() {
    assert_eq!(streamed(&["aab"], &[b"aa", b"a", b"b"]), ("a".into(), true));
    assert_eq!(
        streamed(&["abab!"], &[b"abab", b"ab", b"!"]),
        ("ab".into(), true)
    );
}

#[test]
fn of_several_stop_texts_the_first_that_is_whole_counts() {
    let stop = ["abcd", "bc"];
    assert_eq!(streamed(&stop, &[b"xabcd"]), ("xa".into(), true));
    assert_eq!(streamed(&stop, &[b"xab", b"cd"]), ("xa".into(), true));
    // Of those that end at the same place, the longest.
    assert_eq!(streamed(&["cd", "abcd"], &[b"xabcd"]), ("x".into(), true));
}

#[test]
fn empty_stop_texts_stop_nothing() {
    assert_eq!(streamed(&["", ""], &[b"a", b"b"]), ("ab".into(), false));
}

#[test]
fn a_long_answer_that_never_settles_a_stop_text_takes_linear_time() {
    let stop = format!("{}b", "a".repeat(2_000));
    let mut stream = TextStream::new(&[stop]);
    let mut length = 0;
    for _ in 0..200_000 {
        length += stream.push(b"a").text.len();
        assert!(stream.held.len() <= 2_000);
    }
    length += stream.finish().len();
    assert_eq!(length, 200_000);
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[ab€]{0,4}".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn however_the_bytes_are_cut_the_result_is_that_of_the_whole_text(
        bytes in bytes(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        stop in proptest::collection::vec("[ab€\u{FFFD}]{0,4}", 0..4),
    ) {
        let stop: Vec<&str> = stop.iter().map(String::as_str).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
        let (text, stopped) = naive(&stop, &bytes);
        // A character that stays incomplete is one only when the answer has ended already.
        let may_come_at_the_end = stop.iter().any(|stop| stop.ends_with('\u{FFFD}'));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        for pieces in [&pieces, &single] {
            let (ours, is_stopped) = streamed(&stop, pieces);
            prop_assert_eq!(ours, text.as_str());
            prop_assert!(is_stopped == stopped || (stopped && may_come_at_the_end));
        }
    }
}
