//! Images whose stated media type is wrong, or none, on the wires that state it beside the bytes: Anthropic and Gemini refuse
//! them (home-assistant/core#167208, anthropics/claude-code#11975).

use crate::ir::{Fields, media_type, raw};

/// So many letters of base64 tell what they are, if some are escaped, too.
const BEGINNING: usize = 32;

/// How a wire writes bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    /// The names of the media type.
    kind: &'static [&'static str],
    /// What stands wherever there are bytes.
    sign: &'static [&'static str],
}

/// Anthropic's.
pub(super) const MESSAGES: Words = Words {
    kind: &["\"media_type\""],
    sign: &["\"base64\""],
};

/// Gemini's, in both spellings.
pub(super) const GEMINI: Words = Words {
    kind: &["\"mimeType\"", "\"mime_type\""],
    sign: &["\"inlineData\"", "\"inline_data\""],
};

impl Words {
    /// Whether bytes in a conversation may have another type than is stated. What stands in another order is read.
    pub(super) fn may_be_wrong(self, conversation: &[u8]) -> bool {
        let find = |name: &'static str| memchr::memmem::find_iter(conversation, name);
        let mut stated = 0;
        for &name in self.kind {
            for at in find(name) {
                stated += 1;
                let (before, rest) = conversation.split_at_checked(at).unwrap_or_default();
                let value = rest.get(name.len()..).unwrap_or_default();
                if is_wrong(before, value) {
                    return true;
                }
            }
        }
        let held = self.sign.iter().map(|&name| find(name).count());
        held.sum::<usize>() > stated
    }
}

/// Whether the media type that is stated here may be wrong of the bytes before or behind it.
fn is_wrong(before: &[u8], behind: &[u8]) -> bool {
    let value = after(behind, b":").unwrap_or_default();
    let Some(value) = value.strip_prefix(b"\"") else {
        // A null; else it is none.
        return value.starts_with(b"n");
    };
    let end = memchr::memchr(b'"', value).unwrap_or(value.len());
    let (stated, rest) = value.split_at_checked(end).unwrap_or_default();
    let Ok(stated) = std::str::from_utf8(stated) else {
        return true;
    };
    let stated = unescaped(stated);
    if !may_be_image(&stated) {
        return false;
    }
    let rest = rest.strip_prefix(b"\"").unwrap_or_default();
    match data_behind(rest).or_else(|| data_before(before)) {
        Some(data) => other_type(&stated, &data).is_some(),
        // A file is named by where it is kept.
        None => !after(rest, b",").is_some_and(|next| next.starts_with(b"\"file")),
    }
}

/// Whether what is stated leaves open that the bytes are an image of another type.
fn may_be_image(stated: &str) -> bool {
    let essence = stated.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    essence.starts_with("image/")
        || !essence.contains('/')
        || essence == "*/*"
        || essence.ends_with("/octet-stream")
}

/// What stands behind this byte, which white space may stand around.
fn after<'t>(text: &'t [u8], byte: &[u8]) -> Option<&'t [u8]> {
    let rest = text.trim_ascii_start().strip_prefix(byte)?;
    Some(rest.trim_ascii_start())
}

/// The beginning of the text that is the next member, `data`.
fn data_behind(text: &[u8]) -> Option<String> {
    let value = after(text, b",")?.strip_prefix(b"\"data\"")?;
    let value = after(value, b":")?.strip_prefix(b"\"")?;
    beginning(value)
}

/// The same of the member before.
fn data_before(text: &[u8]) -> Option<String> {
    let text = text.trim_ascii_end().strip_suffix(b",")?;
    let text = text.trim_ascii_end().strip_suffix(b"\"")?;
    let start = memchr::memrchr(b'"', text)?;
    let name = text.get(..start)?.trim_ascii_end().strip_suffix(b":")?;
    let is_data = name.trim_ascii_end().ends_with(b"\"data\"");
    text.get(start + 1..)
        .filter(|_| is_data)
        .and_then(beginning)
}

/// The first letters of a text in base64, those of URLs in their usual form.
fn beginning(text: &[u8]) -> Option<String> {
    let end = memchr::memchr(b'"', text).unwrap_or(text.len());
    let text = std::str::from_utf8(text.get(..end.min(BEGINNING))?).ok()?;
    Some(unescaped(text).replace('-', "+").replace('_', "/"))
}

/// PHP escapes each slash.
fn unescaped(text: &str) -> String {
    text.replace("\\/", "/")
}

/// The type of an image by its first letters, where another one is stated, or none.
fn other_type(stated: &str, data: &str) -> Option<Box<str>> {
    let seen = media_type(stated, data);
    (may_be_image(stated) && seen.starts_with("image/") && *seen != *stated).then_some(seen)
}

/// Gives bytes the media type that they have, by the names of both; whether they had another one, or none.
pub(super) fn mend(object: &mut Fields, kind: &str, data: &str) -> bool {
    let stated = object.raw(kind).unwrap_or("null");
    let stated: Option<Option<String>> = serde_json::from_str(stated).ok();
    let data = object.raw(data).and_then(|data| data.strip_prefix('"'));
    let data = data.and_then(|data| beginning(data.as_bytes()));
    let (Some(stated), Some(data)) = (stated, data) else {
        return false;
    };
    let seen = other_type(&stated.unwrap_or_default(), &data);
    if let Some(seen) = &seen {
        object.set(kind, raw(&**seen));
    }
    seen.is_some()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::{GEMINI, MESSAGES, mend};
    use crate::ir::Fields;

    const PNG: &str = "iVBORw0KGgoAAAANSUhEUg";

    #[test]
    fn a_type_that_is_wrong_or_none_is_seen_before_and_behind_the_bytes() {
        for (source, is_wrong) in [
            (
                r#"{"type":"base64","media_type":"image/jpeg","data":"PNG"}"#,
                true,
            ),
            (
                r#"{"type":"base64","media_type":"image/png","data":"PNG"}"#,
                false,
            ),
            (
                r#"{"data" : "PNG", "media_type" : "image/jpeg", "type" : "base64"}"#,
                true,
            ),
            (
                r#"{"data":"PNG","media_type":"image/png","type":"base64"}"#,
                false,
            ),
            (
                r#"{"media_type":"image\/jpeg","data":"PNG","type":"base64"}"#,
                true,
            ),
            (
                r#"{"media_type":"image\/jpeg","data":"\/9j\/4AAQ","type":"base64"}"#,
                false,
            ),
            (r#"{"type":"base64","media_type":null,"data":"PNG"}"#, true),
            (r#"{"type":"base64","data":"PNG"}"#, true),
            (
                r#"{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"}"#,
                false,
            ),
            (
                r#"{"type":"base64","media_type":"image/heic","data":"AAAA"}"#,
                false,
            ),
            (
                r#"{"type":"text","text":"\"media_type\":\"image/jpeg\""}"#,
                false,
            ),
        ] {
            let source = source.replace("PNG", PNG);
            let found = MESSAGES.may_be_wrong(source.as_bytes());
            assert_eq!(found, is_wrong, "{source}");
            let mut fields: Fields = serde_json::from_str(&source).unwrap();
            assert_eq!(
                mend(&mut fields, "media_type", "data"),
                is_wrong,
                "{source}"
            );
            if is_wrong {
                assert_eq!(fields.raw("media_type"), Some("\"image/png\""));
            }
        }
        for (part, is_wrong) in [
            (
                r#"{"inlineData":{"mimeType":"image/png","data":"_9j_4AAQ"}}"#,
                true,
            ),
            (
                r#"{"inline_data":{"mime_type":"image/jpeg","data":"_9j_4AAQ"}}"#,
                false,
            ),
            (r#"{"inlineData":{"data":"_9j_4AAQ"}}"#, true),
            (
                r#"{"fileData":{"mimeType":"video/mp4","fileUri":"u"}}"#,
                false,
            ),
        ] {
            assert_eq!(GEMINI.may_be_wrong(part.as_bytes()), is_wrong, "{part}");
        }
    }
}
