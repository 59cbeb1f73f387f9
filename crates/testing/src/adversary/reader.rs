//! Reads a text along a shape, and says whether it is one. Knows the shape and JSON's brackets, and
//! nothing of how the program reads it.

use super::judge::{Claim, Judge, in_tags};
use super::tags::{Shape, Tag, Triggered};

/// What follows a stretch: told where it ended, says whether the rest is right.
type Rest<'r, 'j> = &'r mut dyn FnMut(&mut Reader<'j>, usize) -> bool;

/// One text.
pub struct Reader<'j> {
    judge: &'j Judge,
    demand: &'j str,
    text: &'j str,
    /// It may end anywhere, as long as it could have gone on to something right.
    is_cut: bool,
    /// What stood on the way that is being read.
    claims: Vec<Claim>,
    /// What was wrong last with a value that is JSON.
    wrong: Option<String>,
}

impl<'j> Reader<'j> {
    pub const fn new(judge: &'j Judge, demand: &'j str, text: &'j str, is_cut: bool) -> Self {
        Self {
            judge,
            demand,
            text,
            is_cut,
            claims: Vec::new(),
            wrong: None,
        }
    }

    /// What is wrong with it; its values go to `claims`.
    pub fn fault(mut self, shape: &Shape, claims: &mut Vec<Claim>) -> Option<String> {
        let whole = self.text.len();
        if self.read(shape, 0, None, &mut |_, end| end == whole) {
            claims.append(&mut self.claims);
            return None;
        }
        let what = self.wrong.map(|wrong| format!("a value in tags {wrong}"));
        Some(what.unwrap_or_else(|| "is not of the structural tag".to_owned()))
    }

    fn read(&mut self, shape: &Shape, at: usize, close: Option<&str>, rest: Rest<'_, 'j>) -> bool {
        match shape {
            Shape::Const(value) => self.literal(value, at, rest),
            Shape::Json(schema) => self.json(schema, at, rest),
            Shape::Pattern(pattern, _) => self.pattern(pattern, at, rest),
            Shape::Free(excludes) => self.free(excludes, at, close, rest),
            Shape::Seq(parts) => self.sequence(parts, at, close, rest),
            Shape::Or(parts) => parts.iter().any(|part| self.read(part, at, close, rest)),
            Shape::Tag(tag) => self.tag(tag, at, rest),
            Shape::Repeat(part, min, max) => self.repeat(part, *min, *max, at, close, rest),
            Shape::Triggered(triggered) => self.triggered(triggered, at, false, rest),
            Shape::Separated(tags, separator, bounds) => {
                let is_done = !bounds.at_least_one && rest(self, at);
                is_done || self.separated(tags, separator, bounds.stop_after_first, at, rest)
            }
        }
    }

    /// Goes on after a stretch; what was claimed in vain is forgotten.
    fn go_on(&mut self, at: usize, rest: Rest<'_, 'j>) -> bool {
        let known = self.claims.len();
        let is_right = rest(self, at);
        if !is_right {
            self.claims.truncate(known);
        }
        is_right
    }

    fn literal(&mut self, value: &str, at: usize, rest: Rest<'_, 'j>) -> bool {
        let text = &self.text[at..];
        if text.starts_with(value) {
            return self.go_on(at + value.len(), rest);
        }
        self.is_cut && value.starts_with(text)
    }

    fn json(&mut self, schema: &str, at: usize, rest: Rest<'_, 'j>) -> bool {
        let text = &self.text[at..];
        let name = in_tags(self.demand, schema);
        let known = self.claims.len();
        let Some(end) = json_end(text) else {
            // It does not end: it is JSON so far, or nothing.
            return self.is_cut && self.value(text, true, name).is_none();
        };
        // A value that is not closed by a mark of its own may go on.
        let is_open = self.is_cut && end == text.len();
        if let Some(wrong) = self.value(&text[..end], is_open, name) {
            self.wrong = Some(wrong);
            self.claims.truncate(known);
            return false;
        }
        let blank = text[end..].len() - text[end..].trim_ascii_start().len();
        let is_right = rest(self, at + end) || blank > 0 && rest(self, at + end + blank);
        if !is_right {
            self.claims.truncate(known);
        }
        is_right
    }

    fn value(&mut self, text: &str, is_cut: bool, name: String) -> Option<String> {
        let mut claims = Vec::new();
        let wrong = self.judge.json(text, is_cut, name, &mut claims);
        self.claims.append(&mut claims);
        wrong
    }

    fn pattern(&mut self, pattern: &str, at: usize, rest: Rest<'_, 'j>) -> bool {
        let text = &self.text[at..];
        if self.is_cut && self.judge.pattern(pattern, text, true).is_none() {
            return true;
        }
        let places = text.char_indices().map(|(place, _)| place);
        let mut ends = places.chain([text.len()]);
        ends.any(|end| {
            let is_whole = self.judge.pattern(pattern, &text[..end], false).is_none();
            is_whole && self.go_on(at + end, rest)
        })
    }

    /// Up to the first place where what it stands in ends.
    fn free(
        &mut self,
        excludes: &[&str],
        at: usize,
        close: Option<&str>,
        rest: Rest<'_, 'j>,
    ) -> bool {
        let text = &self.text[at..];
        let end = match close {
            None => Some(text.len()),
            Some(close) => text.find(close),
        };
        let stretch = &text[..end.unwrap_or(text.len())];
        if excludes.iter().any(|it| stretch.contains(it)) {
            return false;
        }
        match end {
            Some(end) => self.go_on(at + end, rest),
            None => self.is_cut,
        }
    }

    fn sequence(
        &mut self,
        parts: &[Shape],
        at: usize,
        close: Option<&str>,
        rest: Rest<'_, 'j>,
    ) -> bool {
        match parts {
            [] => rest(self, at),
            [part, later @ ..] => self.read(part, at, close, &mut |reader, end| {
                reader.sequence(later, end, close, rest)
            }),
        }
    }

    fn tag(&mut self, tag: &Tag, at: usize, rest: Rest<'_, 'j>) -> bool {
        let Tag {
            begin,
            content,
            end,
        } = tag;
        self.literal(begin, at, &mut |reader, at| {
            reader.read(content, at, Some(end), &mut |reader, at| {
                reader.literal(end, at, rest)
            })
        })
    }

    fn any_tag(&mut self, tags: &[Tag], at: usize, rest: Rest<'_, 'j>) -> bool {
        tags.iter().any(|tag| self.tag(tag, at, rest))
    }

    fn repeat(
        &mut self,
        part: &Shape,
        min: usize,
        max: Option<usize>,
        at: usize,
        close: Option<&str>,
        rest: Rest<'_, 'j>,
    ) -> bool {
        if min == 0 && rest(self, at) {
            return true;
        }
        max != Some(0)
            && self.read(part, at, close, &mut |reader, end| {
                let max = max.map(|max| max - 1);
                end > at && reader.repeat(part, min.saturating_sub(1), max, end, close, rest)
            })
    }

    fn triggered(
        &mut self,
        triggered: &Triggered,
        at: usize,
        is_tagged: bool,
        rest: Rest<'_, 'j>,
    ) -> bool {
        let Triggered {
            triggers,
            tags,
            excludes,
            bounds,
        } = triggered;
        if is_tagged && bounds.stop_after_first {
            return rest(self, at);
        }
        let text = &self.text[at..];
        // Where there must be a tag, nothing comes before it.
        let place = if bounds.at_least_one && !is_tagged {
            Some(0)
        } else {
            triggers.iter().filter_map(|it| text.find(it)).min()
        };
        let stretch = &text[..place.unwrap_or(text.len())];
        if excludes.iter().any(|it| stretch.contains(it)) {
            return false;
        }
        match place {
            None => rest(self, self.text.len()),
            Some(place) => self.any_tag(tags, at + place, &mut |reader, end| {
                reader.triggered(triggered, end, true, rest)
            }),
        }
    }

    fn separated(
        &mut self,
        tags: &[Tag],
        separator: &str,
        is_one: bool,
        at: usize,
        rest: Rest<'_, 'j>,
    ) -> bool {
        self.any_tag(tags, at, &mut |reader, end| {
            reader.go_on(end, rest)
                || !is_one
                    && reader.literal(separator, end, &mut |reader, at| {
                        reader.separated(tags, separator, is_one, at, rest)
                    })
        })
    }
}

/// Where the value ends that a text begins with, by its brackets and quotes alone.
fn json_end(text: &str) -> Option<usize> {
    let blank = text.len() - text.trim_ascii_start().len();
    let bytes = text.as_bytes();
    let is_scalar = !matches!(bytes.get(blank)?, b'{' | b'[' | b'"');
    if is_scalar {
        let is_of = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let end = text[blank..].find(|c| !is_of(c));
        return Some(blank + end.unwrap_or(text.len() - blank)).filter(|end| *end > blank);
    }
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (place, byte) in bytes.iter().enumerate().skip(blank) {
        match (quoted, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (_, _, b'"') => quoted = !quoted,
            (false, _, b'{' | b'[') => depth += 1,
            (false, _, b'}' | b']') => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && !quoted {
            return Some(place + 1);
        }
    }
    None
}
