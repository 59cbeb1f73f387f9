//! A long body without the inside of its long texts: five megabytes of images are some hundred bytes of JSON around
//! data that nobody reads here. One look finds that out; whatever else has to be known of the body is known of these.

use std::ops::Range;

/// What is shorter is read as it is.
const LONG_BYTES: usize = 64 << 10;
/// Of a text that many plain bytes are left, so that a word at its beginning is found.
const KEPT_BYTES: usize = 64;
/// No shorter run of plain bytes is cut.
const CUT_BYTES: usize = 256;
/// So many bytes of the body there are to be for each that is left, or the body is read as it is.
const WORTH: usize = 4;

/// A body's bytes, the inside of long texts left out. As JSON it is right where the body is, and holds the same values
/// in the same places, texts aside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Skeleton {
    text: Vec<u8>,
    /// Where something is left out of `text`, and how many bytes are up to there.
    cuts: Vec<(usize, usize)>,
}

/// Finds what is left of a body without the inside of its long texts while it comes, piece by piece: each is looked at while it is in
/// the processor's cache still.
#[derive(Debug, Default)]
pub struct Skimmer {
    skeleton: Skeleton,
    /// How many bytes came.
    seen: usize,
    left_out: usize,
    place: Place,
    /// It would hardly be shorter.
    is_worthless: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum Place {
    #[default]
    Outside,
    /// Within a text, behind so many plain bytes; of more than are cut some are left out already.
    Text(usize),
    /// Within a text, behind a backslash.
    Escape,
}

impl Skimmer {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() && !self.is_worthless {
            let taken = match self.place {
                Place::Outside => self.outside(rest),
                Place::Text(run) => self.text(rest, run),
                Place::Escape => {
                    self.place = Place::Text(0);
                    self.keep(&rest[..1])
                }
            };
            self.seen += taken;
            rest = &rest[taken..];
            let is_long = self.seen >= LONG_BYTES;
            self.is_worthless = is_long && self.skeleton.text.len() > self.seen / WORTH;
        }
        self.seen += rest.len();
    }

    /// `None` of a body that is short, or would hardly be shorter.
    pub(crate) fn finish(mut self, body: &[u8]) -> Option<Skeleton> {
        self.end_run();
        let is_worth = !self.is_worthless && self.skeleton.text.len() <= body.len() / WORTH;
        (self.seen == body.len() && body.len() >= LONG_BYTES && is_worth).then_some(self.skeleton)
    }

    fn outside(&mut self, rest: &[u8]) -> usize {
        let quote = memchr::memchr(b'"', rest);
        if quote.is_some() {
            self.place = Place::Text(0);
        }
        self.keep(&rest[..quote.map_or(rest.len(), |at| at + 1)])
    }

    fn text(&mut self, rest: &[u8], before: usize) -> usize {
        let more = plain(rest);
        let run = before + more;
        // What stands at a run's beginning is kept until it turns out to be long.
        let kept = CUT_BYTES.saturating_sub(before).min(more);
        self.keep(&rest[..kept]);
        if run >= CUT_BYTES && before < CUT_BYTES {
            let text = self.skeleton.text.len();
            self.skeleton.text.truncate(text - (CUT_BYTES - KEPT_BYTES));
            self.left_out += CUT_BYTES - KEPT_BYTES;
        }
        self.left_out += more - kept;
        self.place = Place::Text(run);
        // What is no plain byte: the end of the text, an escape, or what is looked at elsewhere.
        let Some(other) = rest.get(more) else {
            return more;
        };
        self.end_run();
        self.place = match other {
            b'"' => Place::Outside,
            b'\\' => Place::Escape,
            _ => Place::Text(0),
        };
        more + self.keep(&rest[more..=more])
    }

    fn end_run(&mut self) {
        if matches!(self.place, Place::Text(run) if run >= CUT_BYTES) {
            let cut = (self.skeleton.text.len(), self.left_out);
            self.skeleton.cuts.push(cut);
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> usize {
        self.skeleton.text.extend_from_slice(bytes);
        bytes.len()
    }
}

impl Skeleton {
    /// `None` of a body that is short, or would hardly be shorter.
    pub(crate) fn of(body: &[u8]) -> Option<Self> {
        if body.len() < LONG_BYTES {
            return None;
        }
        let mut skimmer = Skimmer::default();
        skimmer.push(body);
        skimmer.finish(body)
    }

    /// The same of what stands between these, of which nothing is left out.
    pub(crate) fn between(mut self, before: &[u8], after: &[u8]) -> Self {
        for (cut, _) in &mut self.cuts {
            *cut += before.len();
        }
        self.text = [before, &self.text, after].concat();
        self
    }

    /// What is left.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Where in the body this stands, whose ends are outside of texts.
    pub(crate) fn in_body(&self, at: &Range<usize>) -> Range<usize> {
        let place = |at: usize| at + self.left_out(|cut, _| cut <= at);
        place(at.start)..place(at.end)
    }

    /// Where this of the body stands in what is left, whose ends are outside of texts.
    pub(crate) fn of_body(&self, at: &Range<usize>) -> Range<usize> {
        let place = |at: usize| at - self.left_out(|cut, left_out| cut + left_out <= at);
        place(at.start)..place(at.end)
    }

    /// How many bytes are left out up to the last cut that is before a place.
    fn left_out(&self, is_before: impl Fn(usize, usize) -> bool) -> usize {
        let before = |(cut, left_out): &(usize, usize)| is_before(*cut, *left_out);
        let before = self.cuts.partition_point(before);
        let last = before.checked_sub(1).and_then(|last| self.cuts.get(last));
        last.map_or(0, |(_, left_out)| *left_out)
    }
}

/// How many bytes from here on are plain within a text of JSON: no quote, no backslash, nothing that controls, ASCII.
fn plain(bytes: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let is_other = |byte: u8| !(0x20..0x80).contains(&byte) || byte == b'"' || byte == b'\\';
    // Bytes are compared many at once in a loop of a length that is known, without a way out, and written as one: what
    // iterators are made of stays a call for each byte where a crate is compiled in parts (`--release`).
    let is_plain = |stride: &&[u8; STRIDE]| {
        let mut has_other = false;
        for byte in *stride {
            has_other |= is_other(*byte);
        }
        !has_other
    };
    let (strides, _) = bytes.as_chunks();
    let plain = strides.iter().take_while(is_plain).count() * STRIDE;
    let rest = bytes.get(plain..).unwrap_or_default();
    plain + rest.iter().take_while(|byte| !is_other(**byte)).count()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::json::{place, strict};
    use proptest::prelude::*;
    use serde_json::json;

    fn image(bytes: usize) -> String {
        "iVBORw0KGgo/+8A=".repeat(bytes / 16)
    }

    #[test]
    fn an_image_is_left_out_and_all_else_stands_where_it_stood() {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": [
            {"type": "text", "text": "what \"is\" this,\n ä?"},
            {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", image(1 << 20))}},
        ]}], "seed": 1, "x": image(100_000), "tools": [1, 2]})
        .to_string();
        let skeleton = Skeleton::of(body.as_bytes()).unwrap();
        assert!(skeleton.text().len() < 1000, "{}", skeleton.text().len());
        for name in ["model", "messages", "seed", "x", "tools"] {
            let expected = place::field(body.as_bytes(), name).unwrap();
            let found = place::field(skeleton.text(), name).unwrap();
            assert_eq!(skeleton.in_body(&found), expected, "{name}");
            assert_eq!(skeleton.of_body(&expected), found, "{name}");
        }
    }

    #[test]
    fn what_is_short_or_has_no_long_texts_is_read_as_it_is() {
        assert!(Skeleton::of(json!({"a": image(LONG_BYTES / 2)}).to_string().as_bytes()).is_none());
        for other in [
            json!(vec!["a, \"b\""; 50_000]),
            json!("ä".repeat(100_000)),
            json!(vec![1; 100_000]),
        ] {
            assert!(Skeleton::of(other.to_string().as_bytes()).is_none());
        }
        assert!(Skeleton::of(&[b'a'; 100_000]).is_none());
    }

    #[test]
    fn a_run_ends_at_whatever_is_not_plain() {
        for length in [0, 1, 63, 64, 65, 200] {
            assert_eq!(plain(&vec![b'a'; length]), length);
            for other in [b'"', b'\\', b'\n', 0, 0x1f, 0x80, 0xff] {
                let mut bytes = vec![b'~'; length];
                bytes.push(other);
                bytes.extend([b' '; 100]);
                assert_eq!(plain(&bytes), length, "{other:#x}");
            }
        }
    }

    proptest! {
        /// A body in pieces has the skeleton that it has as a whole.
        #[test]
        fn pieces_change_nothing(
            sizes in prop::collection::vec(1_usize..700, 1..40),
            texts in prop::collection::vec((0_usize..2_000, 0_usize..4), 40..80),
        ) {
            let text = |(length, end): &(usize, usize)| image(*length) + ["", "\"", "\\", "ä\n"][*end];
            let texts: Vec<String> = texts.iter().map(text).collect();
            let body = json!({"a": texts, "b": image(70_000)}).to_string().into_bytes();
            let mut skimmer = Skimmer::default();
            let (mut rest, mut sizes) = (&body[..], sizes.into_iter().cycle());
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                skimmer.push(piece);
                rest = behind;
            }
            let (pieces, whole) = (skimmer.finish(&body), Skeleton::of(&body));
            let seen = |skeleton: Option<Skeleton>| skeleton.map(|it| (it.text, it.cuts));
            prop_assert_eq!(seen(pieces), seen(whole));
        }

        /// However a body is broken: the skeleton is right exactly where it is, long keys that begin alike aside.
        #[test]
        fn the_verdict_on_the_skeleton_is_the_bodys(
            at in 0_usize..80_000,
            byte: u8,
            cut in prop::option::of(0_usize..80_000),
            key in 0_usize..3,
        ) {
            let key = ["k".repeat(10), "k".repeat(300), "ä\\n".repeat(9)][key].clone();
            let mut body = format!(r#"{{"{key}":[{{"{key}":"{}"}},{{}}],"b":"{}\u00e4","c":["x",1.5]}}"#, image(33_000), image(40_000)).into_bytes();
            if let Some(old) = body.get_mut(at) {
                *old = byte;
            }
            body.truncate(cut.unwrap_or(body.len()));
            if let Some(skeleton) = Skeleton::of(&body) {
                let limits = strict::Limits::default();
                prop_assert_eq!(strict::check(skeleton.text(), &limits).is_ok(), strict::check(&body, &limits).is_ok());
            }
        }
    }
}
