//! A list without items where the wire has objects alone: PHP writes one so that has no members (WordPress/ai-provider-for-anthropic#23,
//! nextcloud/integration_openai#243).

use crate::ir::{Fields, raw_string};

/// Whether a member of this name may be one.
pub(super) fn may_stand_in(text: &[u8], name: &str) -> bool {
    let name = format!("\"{name}\"");
    memchr::memmem::find_iter(text, name.as_bytes()).any(|at| {
        let rest = text.get(at + name.len()..).unwrap_or_default();
        let mut said = rest.iter().filter(|byte| !byte.is_ascii_whitespace());
        [said.next(), said.next(), said.next()] == [Some(&b':'), Some(&b'['), Some(&b']')]
    })
}

/// Writes the object that it means; whether it was one.
pub(super) fn mend(fields: &mut Fields, name: &str) -> bool {
    let is_one = fields.is_empty_list(name);
    if is_one {
        fields.set(name, raw_string("{}".to_owned()));
    }
    is_one
}

#[cfg(test)]
mod tests {
    use super::may_stand_in;

    #[test]
    fn a_list_without_items_is_seen_and_no_other() {
        for (text, is_one) in [
            (r#"{"input":[]}"#, true),
            (r#"{"input" : [ ] }"#, true),
            (r#"{"input":[1]}"#, false),
            (r#"{"input":{}}"#, false),
            (r#"{"inputs":[]}"#, false),
            (r#""{\"input\":[]}""#, false),
            (r#"{"input":["#, false),
        ] {
            assert_eq!(may_stand_in(text.as_bytes(), "input"), is_one, "{text}");
        }
    }
}
