//! Members of Chat's messages that are no text and no list of parts, though what they mean is plain: found in a conversation that is not read.

/// Whether a member begins here, at its name's quote, whose value is such: as `content` an object, a number, or a list of anything but
/// parts; as `arguments` a list without items, which PHP makes of an object without members; as `tool_calls` one, which SDKs make of no calls.
pub(super) fn is_odd(text: &[u8]) -> bool {
    let value = |name: &[u8]| behind(text.strip_prefix(name)?)?.strip_prefix(b":");
    if let Some(value) = value(b"\"content\"") {
        return is_odd_content(value).unwrap_or(false);
    }
    // A part of MCP's has a `mimeType`.
    let lists: [&[u8]; 2] = [b"\"arguments\"", b"\"tool_calls\""];
    lists
        .iter()
        .any(|name| value(name).is_some_and(is_empty_list))
        || value(b"\"mimeType\"").is_some()
}

/// Whether a name ends here, at its quote, whose value is null or a list without items. What only calls has a `content` of null.
pub(super) fn is_spare(text: &[u8], at: usize) -> bool {
    let Some((before, rest)) = text.split_at_checked(at) else {
        return false;
    };
    let value = rest.strip_prefix(b"\"").and_then(behind);
    let value = value.and_then(|rest| rest.strip_prefix(b":"));
    let Some(value) = value.and_then(behind) else {
        return false;
    };
    let items = value.strip_prefix(b"[").and_then(behind);
    let is_empty = items.is_some_and(|items| items.starts_with(b"]"));
    // One that is escaped stands within a text.
    (is_empty || value.starts_with(b"null"))
        && !before.ends_with(b"\\")
        && !before.ends_with(b"\"content")
}

/// None where the bytes end.
fn is_odd_content(value: &[u8]) -> Option<bool> {
    /// What parts begin with.
    const NAMES: [&[u8]; 2] = [b"\"type\"", b"\"text\""];
    let value = behind(value)?;
    let Some(items) = value.strip_prefix(b"[") else {
        return Some(!matches!(value.first()?, b'"' | b'n'));
    };
    let Some(part) = behind(items)?.strip_prefix(b"{") else {
        return Some(true);
    };
    let member = behind(part)?;
    Some(!NAMES.iter().any(|name| member.starts_with(name)))
}

/// A list without items, be it in a text.
fn is_empty_list(value: &[u8]) -> bool {
    let text = behind(value).unwrap_or_default();
    let list = text.strip_prefix(b"\"").unwrap_or(text);
    let items = behind(list).and_then(|list| list.strip_prefix(b"["));
    items
        .and_then(behind)
        .is_some_and(|left| left.starts_with(b"]"))
}

/// What stands behind white space; `None` where nothing does.
fn behind(text: &[u8]) -> Option<&[u8]> {
    let at = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    text.get(at..)
}

#[cfg(test)]
mod tests {
    use super::{is_odd, is_spare};

    #[test]
    fn what_is_no_text_and_no_list_of_parts_is_odd() {
        for odd in [
            r#""content":[]"#,
            r#""content" : [ ]"#,
            r#""content":{"t":8}"#,
            r#""content":8"#,
            r#""content":["a"]"#,
            r#""content": [{"t":8}]"#,
            r#""arguments":"[]""#,
            r#""arguments": []"#,
            r#""tool_calls": []"#,
            r#""mimeType": "image/png""#,
        ] {
            assert!(is_odd(odd.as_bytes()), "{odd}");
        }
        for usual in [
            r#""content":"[]""#,
            r#""content":null"#,
            r#""content":[{"type":"text"}]"#,
            r#""content": [ { "text": "a"}]"#,
            r#""contents":[]"#,
            r#""content","#,
            r#""arguments":"{}""#,
            r#""arguments":"[1]""#,
            r#""arguments":"#,
            r#""tool_calls":[{"id":"a"}]"#,
            r#""tool_calls":null"#,
        ] {
            assert!(!is_odd(usual.as_bytes()), "{usual}");
        }
    }

    #[test]
    fn members_that_say_nothing_are_seen_at_the_end_of_their_names() {
        let has = |text: &str| (0..text.len()).any(|at| is_spare(text.as_bytes(), at));
        for spare in [
            r#"{"tool_calls":null}"#,
            r#"{"audio" : null}"#,
            r#"{"annotations": [ ]}"#,
            r#"{"content":null,"own_content":null}"#,
        ] {
            assert!(has(spare), "{spare}");
        }
        for usual in [
            r#"{"content":null}"#,
            r#"{"content": []}"#,
            r#"{"audio":{"id":"a"},"tool_calls":[{"id":"a"}]}"#,
            r#"{"content":"{\"a\":null,\"b\": []}"}"#,
            r#"["a", null]"#,
            r#"{"a":"null"}"#,
            r#"{"a":"#,
        ] {
            assert!(!has(usual), "{usual}");
        }
    }
}
