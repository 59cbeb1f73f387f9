//! What tools returned that is no text and no list of Chat's parts: there are clients that hand over whatever it was
//! (langchain-ai/langgraphjs#370), and the parts of MCP's tools as they came.

use super::SAID;
use crate::ir::{Fields, raw};
use serde_json::json;
use serde_json::value::RawValue;

/// The content in Chat's words; `None` where it is in those already. What is no part is told as its JSON.
pub(super) fn in_parts(content: &str) -> Option<Box<RawValue>> {
    if content.starts_with(['"', 'n']) {
        return None;
    }
    let items: Vec<Box<RawValue>> = serde_json::from_str(content).unwrap_or_default();
    let read: Vec<Option<Fields>> = items.iter().map(|item| part(item)).collect();
    if read.iter().all(Option::is_none) {
        return (content != "[]").then(|| raw(content));
    }
    let mut is_odd = false;
    let said = items.into_iter().zip(read).map(|(item, part)| {
        let other = match &part {
            None => Some(raw(&json!({"type": "text", "text": item.get()}))),
            Some(part) => of_mcp(part),
        };
        is_odd |= other.is_some();
        other.unwrap_or(item)
    });
    let said: Vec<Box<RawValue>> = said.collect();
    is_odd.then(|| raw(&said))
}

/// An object that is the part which it says, or has the members of one alone. Data may have a `type`, too (GeoJSON's).
fn part(item: &RawValue) -> Option<Fields> {
    let fields: Fields = serde_json::from_str(item.get()).ok()?;
    let mut names = fields.0.keys().map(String::as_str);
    let kind = text(&fields, "type");
    let is_one = match kind.as_deref() {
        // Anthropic's, as gateways take them here.
        Some("image" | "document") if fields.has("source") => true,
        Some(kind) => fields.has(kind) || of_mcp(&fields).is_some(),
        None => {
            !fields.0.is_empty()
                && names.all(|name| SAID.contains(&name) || name == "cache_control")
        }
    };
    is_one.then_some(fields)
}

/// `ImageContent`, `AudioContent` and `EmbeddedResource` of MCP's schema (2025-06-18).
fn of_mcp(part: &Fields) -> Option<Box<RawValue>> {
    let medium = || Some((text(part, "data")?, text(part, "mimeType")?));
    let said = match text(part, "type")?.as_str() {
        "image" => {
            let (data, media_type) = medium()?;
            let url = format!("data:{media_type};base64,{data}");
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        "audio" => {
            let (data, media_type) = medium()?;
            let (_, format) = media_type.split_once('/')?;
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        "resource" => {
            let stated = part.raw("resource")?;
            let resource: Fields = serde_json::from_str(stated).ok()?;
            let words = text(&resource, "text").unwrap_or_else(|| stated.to_owned());
            json!({"type": "text", "text": words})
        }
        _ => return None,
    };
    Some(raw(&said))
}

fn text(fields: &Fields, name: &str) -> Option<String> {
    serde_json::from_str(fields.raw(name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::in_parts;
    use serde_json::{Value, json};

    #[test]
    fn what_a_tool_returned_is_told_as_it_is() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let rows = [
            (
                json!([{"t": 8}, {"name": "x", "price": 1}]),
                json!(r#"[{"t":8},{"name":"x","price":1}]"#),
            ),
            (json!({"t": 8}), json!(r#"{"t":8}"#)),
            (json!(8), json!("8")),
            (json!(["a", 1]), json!(r#"["a",1]"#)),
            (
                json!([text("ok"), {"image": "x"}]),
                json!([text("ok"), text(r#"{"image":"x"}"#)]),
            ),
            (
                json!([{"text": "a", "score": 1}]),
                json!(r#"[{"text":"a","score":1}]"#),
            ),
            (
                json!([{"type": "Feature", "name": "Paris"}]),
                json!(r#"[{"type":"Feature","name":"Paris"}]"#),
            ),
            (
                json!([text("ok"), {"type": "resource", "resource": {"uri": "a:b", "text": "hello"}}]),
                json!([text("ok"), text("hello")]),
            ),
            (
                json!([{"type": "image", "data": "iVBO", "mimeType": "image/png"}]),
                json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}]),
            ),
        ];
        for (content, expected) in rows {
            let said = in_parts(&content.to_string());
            let said: Option<Value> = said.and_then(|said| serde_json::from_str(said.get()).ok());
            assert_eq!(said, Some(expected), "{content}");
        }
        for usual in [
            json!("[1]"),
            json!(null),
            json!([]),
            json!([text("a"), {"text": "b"}]),
            json!([{"type": "image_url", "image_url": {"url": "x"}}]),
        ] {
            let said = in_parts(&usual.to_string());
            assert!(said.is_none(), "{usual}");
        }
    }
}
