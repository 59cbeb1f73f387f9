//! What OpenAI's own types have in every whole reply, and many servers leave out: `refusal` in each message, and
//! `logprobs` in each choice. Put into a reply that goes out as its server wrote it.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct ReplyWire<'b> {
    #[serde(borrow)]
    choices: Vec<&'b RawValue>,
}

#[derive(Deserialize)]
struct ChoiceWire<'b> {
    #[serde(borrow)]
    message: &'b RawValue,
    #[serde(default, deserialize_with = "there")]
    logprobs: bool,
}

#[derive(Deserialize)]
struct MessageWire {
    #[serde(default, deserialize_with = "there")]
    refusal: bool,
}

/// Whatever stands there.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// A copy of a body that grows at the ends of some objects.
struct Copy<'b> {
    body: &'b [u8],
    copied: usize,
    out: Vec<u8>,
}

impl Copy<'_> {
    /// Adds a member at the end of an object that stands in the body.
    fn add(&mut self, object: &RawValue, member: &[u8]) -> Option<()> {
        let inner = object.get().strip_suffix('}')?;
        let start = (object.get().as_ptr() as usize).checked_sub(self.body.as_ptr() as usize)?;
        let end = start + inner.len();
        self.out.extend_from_slice(self.body.get(self.copied..end)?);
        if inner.trim_end().len() > 1 {
            self.out.push(b',');
        }
        self.out.extend_from_slice(member);
        self.copied = end;
        Some(())
    }
}

/// The body with `null` for what is missing; `None` where nothing is, or the body is no reply that could be read in
/// one way.
pub(super) fn completed(body: &[u8]) -> Option<Vec<u8>> {
    let reply: ReplyWire<'_> = serde_json::from_slice(body).ok()?;
    let mut copy = Copy {
        body,
        copied: 0,
        out: Vec::new(),
    };
    for raw in reply.choices {
        let choice: ChoiceWire<'_> = serde_json::from_str(raw.get()).ok()?;
        let message: MessageWire = serde_json::from_str(choice.message.get()).ok()?;
        if !message.refusal {
            copy.add(choice.message, b"\"refusal\":null")?;
        }
        if !choice.logprobs {
            copy.add(raw, b"\"logprobs\":null")?;
        }
    }
    if copy.copied == 0 {
        return None;
    }
    copy.out.extend_from_slice(body.get(copy.copied..)?);
    Some(copy.out)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::completed;

    #[test]
    fn what_is_missing_is_put_in_and_nothing_else_changes() {
        for (body, whole) in [
            (
                r#"{ "choices" : [{"index":0,"message": {"content":"a \"refusal\": }"} }, {"message":{},"logprobs":{}}],"x":1}"#,
                r#"{ "choices" : [{"index":0,"message": {"content":"a \"refusal\": }","refusal":null} ,"logprobs":null}, {"message":{"refusal":null},"logprobs":{}}],"x":1}"#,
            ),
            (
                r#"{"choices":[{"logprobs":null,"message":{"refusal":"no"}},{"message":{"a":1 }}]}"#,
                r#"{"choices":[{"logprobs":null,"message":{"refusal":"no"}},{"message":{"a":1 ,"refusal":null},"logprobs":null}]}"#,
            ),
        ] {
            let found = completed(body.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), whole);
        }
    }

    #[test]
    fn what_has_all_of_it_or_is_no_reply_stays_as_it_is() {
        for body in [
            r#"{"choices":[{"message":{"content":"a","refusal":null},"logprobs":null}]}"#,
            r#"{"choices":[]}"#,
            r#"{"error":{"message":"m"}}"#,
            r#"{"choices":[{"message":"a"}]}"#,
            r#"{"choices":[{"message":{"content":"a"},"message":{}}]}"#,
            "no json",
        ] {
            assert_eq!(completed(body.as_bytes()), None, "{body}");
        }
    }
}
