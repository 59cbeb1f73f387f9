//! What JSON stands behind in a structural tag: a format comes in; the texts that are written right before JSON go out.

use crate::backend::llguidance::json::Begins;
use isogloss_core::check::tag::{Format, Tag};

/// What may be the last that is written at a place.
#[derive(Debug, Clone, Default)]
struct Before {
    texts: Vec<String>,
    /// It may be anything.
    is_any: bool,
}

impl Before {
    fn text(text: &str) -> Self {
        Self {
            texts: vec![text.to_owned()],
            is_any: false,
        }
    }

    fn any() -> Self {
        Self {
            texts: Vec::new(),
            is_any: true,
        }
    }

    fn or(mut self, other: Self) -> Self {
        for text in other.texts {
            if !self.texts.contains(&text) {
                self.texts.push(text);
            }
        }
        self.is_any |= other.is_any;
        self
    }
}

/// The texts of a whole format.
pub(super) fn begins<J, T>(format: &Format<J, T>) -> Begins {
    let mut begins = Begins::default();
    // The answer's very beginning is no text.
    walk(format, Before::text(""), &mut begins);
    begins
}

/// What may be written last behind a format that stands behind this.
fn walk<J, T>(format: &Format<J, T>, before: Before, begins: &mut Begins) -> Before {
    match format {
        Format::Const(text) if text.is_empty() => before,
        Format::Const(text) => Before::text(text),
        Format::Json(_) => {
            begins.is_anywhere |= before.is_any;
            for text in before.texts {
                begins.add(text.as_bytes());
            }
            Before::any()
        }
        // What they take is not known here, and may be nothing.
        Format::Text(_) | Format::Parameters(..) | Format::Any { .. } => Before::any().or(before),
        Format::Sequence(parts) => {
            let next = |before, part| walk(part, before, begins);
            parts.iter().fold(before, next)
        }
        Format::Or(parts) => {
            let each = parts.iter().map(|part| walk(part, before.clone(), begins));
            each.reduce(Before::or).unwrap_or_default()
        }
        Format::Tag(it) => tag(it, before, begins),
        Format::Repeat(repeat) => {
            let once = walk(&repeat.content, before.clone(), begins);
            let again = walk(&repeat.content, once.clone(), begins);
            let all = once.or(again);
            if repeat.min == 0 { all.or(before) } else { all }
        }
        Format::Separated(separated) => {
            let all = tags(&separated.tags, &before, begins);
            let between = match separated.separator.as_str() {
                "" => all.clone(),
                separator => Before::text(separator),
            };
            let more = tags(&separated.tags, &between, begins);
            before.or(all).or(more)
        }
        Format::Triggered(triggered) => {
            let any = Before::any().or(before);
            any.clone().or(tags(&triggered.tags, &any, begins))
        }
    }
}

fn tags<J, T>(tags: &[Tag<J, T>], before: &Before, begins: &mut Begins) -> Before {
    let each = tags.iter().map(|it| tag(it, before.clone(), begins));
    each.reduce(Before::or).unwrap_or_default()
}

fn tag<J, T>(tag: &Tag<J, T>, before: Before, begins: &mut Begins) -> Before {
    let before = match tag.begin.as_str() {
        "" => before,
        begin => Before::text(begin),
    };
    let inside = walk(&tag.content, before, begins);
    let (ends, none): (Vec<&String>, Vec<&String>) =
        tag.ends.iter().partition(|end| !end.is_empty());
    let ends = ends.into_iter().map(|end| Before::text(end));
    let ends = ends.reduce(Before::or).unwrap_or_default();
    match tag.ends.is_empty() || !none.is_empty() {
        true => ends.or(inside),
        false => ends,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use isogloss_core::check::tag::{Shape, read};
    use serde_json::{Value, json};

    fn of(format: Value) -> (Vec<String>, bool) {
        let format = read(&json!({"format": format}), &mut Shape).unwrap();
        let begins = begins(&format);
        let texts = begins.texts.iter();
        let texts = texts.map(|text| String::from_utf8(text.to_vec()).unwrap());
        (texts.collect(), begins.is_anywhere)
    }

    #[test]
    fn each_part_that_is_json_is_told_by_what_may_stand_before_it() {
        let schema = || json!({"type": "json_schema", "json_schema": true});
        let text = |value: &str| json!({"type": "const_string", "value": value});
        let regex = || json!({"type": "regex", "pattern": "a*"});
        let tag = |begin: &str, content: Value, end: &str| json!({"type": "tag", "begin": begin, "content": content, "end": end});
        let all = |kind: &str, elements: Value| json!({"type": kind, "elements": elements});
        let sequence = |elements: Value| all("sequence", elements);
        let either = |elements: Value| all("or", elements);
        for (format, texts, is_anywhere) in [
            (schema(), vec![""], false),
            (text("no JSON"), vec![], false),
            (sequence(json!([text("a"), schema()])), vec!["a"], false),
            (sequence(json!([text(""), schema()])), vec![""], false),
            (
                sequence(json!([text("a"), schema(), text("b"), schema()])),
                vec!["a", "b"],
                false,
            ),
            (
                sequence(json!([either(json!([text("a"), text("b")])), schema()])),
                vec!["a", "b"],
                false,
            ),
            (
                sequence(json!([tag("<a>", schema(), "</a>"), schema()])),
                vec!["<a>", "</a>"],
                false,
            ),
            (
                tag("<a>", sequence(json!([text("b"), schema()])), "</a>"),
                vec!["b"],
                false,
            ),
            (
                tag("<a>", either(json!([regex(), schema()])), "</a>"),
                vec!["<a>"],
                false,
            ),
            (sequence(json!([regex(), schema()])), vec![""], true),
            (sequence(json!([schema(), schema()])), vec![""], true),
            (
                json!({"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<a>", schema(), "</a>")]}),
                vec!["<a>"],
                false,
            ),
            (
                json!({"type": "tags_with_separator", "separator": ",", "tags": [tag("", schema(), "")]}),
                vec!["", ","],
                false,
            ),
        ] {
            let texts = texts.into_iter().map(str::to_owned).collect();
            assert_eq!(of(format.clone()), (texts, is_anywhere), "{format}");
        }
    }
}
