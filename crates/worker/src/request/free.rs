//! A constraint comes in; whether an answer under it may begin with what the model likes goes out, and with what tags in it begin.

use isogloss_core::check::tag::{Format, Shape, Tag, read};
use isogloss_core::ir::Constraint;

/// Only structural tags may; of one that cannot be read the backend says why.
pub(super) fn begins_free(constraint: &Constraint) -> bool {
    match constraint {
        Constraint::StructuralTag(description) => {
            read(description, &mut Shape).is_ok_and(|format| is_free(&format))
        }
        _ => false,
    }
}

/// The texts with which the tags of a constraint begin, where it has any.
pub(super) fn begins_of_tags(constraint: &Constraint) -> Vec<String> {
    let mut begins = Vec::new();
    if let Constraint::StructuralTag(description) = constraint
        && let Ok(format) = read(description, &mut Shape)
    {
        collect(&format, &mut begins);
    }
    begins
}

fn collect(format: &Format<(), ()>, begins: &mut Vec<String>) {
    let mut tag = |tag: &Tag<(), ()>| {
        begins.push(tag.begin.clone());
        collect(&tag.content, begins);
    };
    match format {
        Format::Tag(one) => tag(one),
        Format::Triggered(triggered) => triggered.tags.iter().for_each(tag),
        Format::Separated(separated) => separated.tags.iter().for_each(tag),
        Format::Sequence(all) | Format::Or(all) => all.iter().for_each(|one| collect(one, begins)),
        Format::Repeat(repeat) => collect(&repeat.content, begins),
        _ => {}
    }
}

/// What clients begin the thoughts in their tags with, for whatever model.
const OPEN: &str = "<think>";

/// A think block that the client writes into its tag is its way to say that the model thinks.
fn is_free(format: &Format<(), ()>) -> bool {
    match format {
        Format::Any { .. } => true,
        Format::Triggered(triggered) if triggered.at_least_one => triggered.tags.iter().any(begins),
        Format::Triggered(_) => true,
        Format::Const(text) => text.starts_with(OPEN),
        Format::Json(()) | Format::Text(()) | Format::Parameters((), _) => false,
        Format::Repeat(repeat) => is_free(&repeat.content),
        Format::Separated(separated) => separated.tags.iter().any(begins),
        Format::Tag(tag) => begins(tag),
        Format::Sequence(all) => all.first().is_some_and(is_free),
        Format::Or(all) => all.iter().any(is_free),
    }
}

fn begins(tag: &Tag<(), ()>) -> bool {
    match tag.begin.is_empty() {
        true => is_free(&tag.content),
        false => tag.begin.starts_with(OPEN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn is_free_under(format: Value) -> bool {
        begins_free(&Constraint::StructuralTag(json!({"format": format})))
    }

    #[test]
    fn an_answer_begins_free_where_its_first_part_does() {
        let schema = || json!({"type": "json_schema", "json_schema": {"type": "object"}});
        let any = || json!({"type": "any_text"});
        let tag = |begin: &str, content: Value| json!({"type": "tag", "begin": begin, "content": content, "end": "</x>"});
        let triggered = json!({
            "type": "triggered_tags", "triggers": ["<x>"], "tags": [tag("<x>", schema())],
        });
        let sequence = |elements: Value| json!({"type": "sequence", "elements": elements});
        let either = |elements: Value| json!({"type": "or", "elements": elements});
        for free in [
            any(),
            triggered,
            tag("<think>", any()),
            sequence(json!([any(), tag("<x>", schema())])),
            sequence(json!([tag("<think>", any()), schema()])),
            either(json!([schema(), any()])),
        ] {
            assert!(is_free_under(free.clone()), "{free}");
        }
        for bound in [
            schema(),
            tag("<answer>", schema()),
            tag("<answer>", any()),
            json!({"type": "const_string", "value": "yes"}),
            json!({"type": "regex", "pattern": "a+"}),
            sequence(json!([tag("<x>", schema()), any()])),
            either(json!([schema(), tag("<x>", any())])),
        ] {
            assert!(!is_free_under(bound.clone()), "{bound}");
        }
        assert!(!begins_free(&Constraint::Regex("a".to_owned())));
        let tagged = json!({"structures": [{"begin": "<x>", "schema": {}, "end": "</x>"}], "triggers": ["<x"]});
        assert!(begins_free(&Constraint::StructuralTag(tagged)));
    }

    #[test]
    fn the_beginnings_of_all_tags_are_told_wherever_they_stand() {
        let schema = || json!({"type": "json_schema", "json_schema": {"const": {"begin": "<z>"}}});
        let tag = |begin: &str, content: Value| json!({"type": "tag", "begin": begin, "content": content, "end": "</x>"});
        let optional = json!({"type": "optional", "content": tag("<c>", schema())});
        let format = json!({"type": "sequence", "elements": [
            {"type": "or", "elements": [tag("<a>", tag("<b>", optional)), schema()]},
            {"type": "tags_with_separator", "separator": ";", "tags": [tag("<d>", schema())]},
            {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("<e>", schema())]},
        ]});
        let stated = json!({"type": "structural_tag", "format": format});
        let all = ["<a>", "<b>", "<c>", "<d>", "<e>"];
        assert_eq!(
            begins_of_tags(&Constraint::StructuralTag(stated.clone())),
            all
        );
        let text = Value::from(stated.to_string());
        assert_eq!(begins_of_tags(&Constraint::StructuralTag(text)), all);
        let none: [&str; 0] = [];
        assert_eq!(begins_of_tags(&Constraint::JsonObject), none);
    }
}
