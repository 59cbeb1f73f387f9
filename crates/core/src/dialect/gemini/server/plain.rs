//! Whether all that clients read in a reply was understood, so that its bytes may go out as they came: no name
//! stands in it twice, none is one that somebody could take for another, and candidates are in their order.

use crate::dialect::gemini::client::object::camel;
use crate::ir::Fields;
use serde_json::value::RawValue;

/// What stands in a candidate's content and is read.
const READ: [&str; 13] = [
    "candidates",
    "content",
    "finishReason",
    "index",
    "parts",
    "role",
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "args",
    "usageMetadata",
    "error",
];

/// The fields of an object in which every name that is read stands once, as it is read.
fn fields(json: &[u8]) -> Option<Fields> {
    let (fields, repeats) = Fields::read(json).ok()?;
    let is_other = |name: &String| {
        let is_read = READ
            .iter()
            .any(|read| camel(name).eq_ignore_ascii_case(read));
        is_read && !READ.contains(&name.as_str())
    };
    (!repeats && !fields.0.keys().any(is_other)).then_some(fields)
}

/// Whether it is a word of Gemini's: SDKs make one of a list of it.
fn is_word(raw: &str) -> bool {
    let word = raw.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let is_of_word = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    word.is_some_and(|word| !word.is_empty() && word.bytes().all(is_of_word))
}

fn list(fields: &Fields, name: &str) -> Option<Vec<Box<RawValue>>> {
    match fields.raw(name) {
        None => Some(Vec::new()),
        Some(list) => serde_json::from_str(list).ok(),
    }
}

/// Whether a reply's bytes say what was read of them and nothing else.
pub(super) fn is_plain(json: &[u8]) -> bool {
    reply(json).is_some()
}

fn reply(json: &[u8]) -> Option<()> {
    let reply = fields(json)?;
    if reply.has("error") {
        return None;
    }
    for (place, candidate) in list(&reply, "candidates")?.iter().enumerate() {
        let candidate = fields(candidate.get().as_bytes())?;
        // Some clients go by the place.
        if candidate
            .raw("index")
            .is_some_and(|index| index != place.to_string())
        {
            return None;
        }
        if !candidate.raw("finishReason").is_none_or(is_word) {
            return None;
        }
        let Some(content) = candidate.raw("content") else {
            continue;
        };
        let content = fields(content.as_bytes())?;
        if content.raw("role").is_some_and(|role| role != "\"model\"") {
            return None;
        }
        for part in list(&content, "parts")? {
            let part = fields(part.get().as_bytes())?;
            if let Some(call) = part.raw("functionCall") {
                let call = fields(call.as_bytes())?;
                // What comes in pieces, on Vertex, is read no further than its name.
                let is_read = |name: &String| matches!(name.as_str(), "id" | "name" | "args");
                if !call.0.keys().all(is_read) {
                    return None;
                }
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn bytes_that_could_be_read_otherwise_do_not_go_out() {
        let reply = |candidate: &str| format!(r#"{{"candidates":[{candidate}]}}"#);
        for (candidate, expected) in [
            (
                r#"{"content":{"parts":[{"text":"a"}],"role":"model"},"index":0,"new":[1]}"#,
                true,
            ),
            (
                r#"{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}"#,
                true,
            ),
            (r#"{"content":{"parts":[{"text":"a","text":"b"}]}}"#, false),
            (r#"{"content":{"parts":[{"text":"a","Text":"b"}]}}"#, false),
            (
                r#"{"content":{"parts":[{"text":"a"}]},"finish_reason":"STOP"}"#,
                false,
            ),
            (
                r#"{"content":{"parts":[{"function_call":{"name":"f"}}]}}"#,
                false,
            ),
            (
                r#"{"content":{"parts":[{"text":"a"}],"role":"user"}}"#,
                false,
            ),
            (r#"{"content":{"parts":[]},"index":1}"#, false),
            (
                r#"{"content":{"parts":[{"text":"a"}]},"finishReason":null}"#,
                false,
            ),
        ] {
            assert_eq!(
                is_plain(reply(candidate).as_bytes()),
                expected,
                "{candidate}"
            );
        }
    }
}
