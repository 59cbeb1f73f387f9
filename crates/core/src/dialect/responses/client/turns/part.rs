//! Parts of messages, and of what tools answered.

use super::super::field::invalid;
use super::super::item::Item;
use crate::error::Error;
use crate::ir::{Origin, Part};
use serde::Deserialize;

#[derive(Deserialize)]
struct Audio {
    data: String,
    format: String,
}

pub(super) const fn text(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// What is said: text, or a list of parts. Appends where the resolution of an image is asked for.
pub(super) fn parts(
    item: &Item<'_>,
    name: &str,
    resolutions: &mut Vec<Origin>,
) -> Result<Vec<Part>, Error> {
    match item.raw(name) {
        None if name == "output" => {
            let problem = "is missing: it must be text, or a list of parts";
            Err(invalid(item.origin.member(name).0, problem))
        }
        None => Ok(Vec::new()),
        Some(raw) if raw.get().starts_with('"') => Ok(vec![text(item.text(name)?)]),
        Some(_) => {
            let parts = item.list(name)?;
            // Told when the request was read.
            let parts = parts.iter().filter(|item| !is_encrypted(item));
            parts.map(|item| part(item, resolutions)).collect()
        }
    }
}

fn part(item: &Item<'_>, resolutions: &mut Vec<Origin>) -> Result<Part, Error> {
    let kind: Option<String> = item.get("type", "a string")?;
    match kind.as_deref() {
        Some("input_text" | "output_text" | "text") => item.text("text").map(text),
        Some("refusal") => item.text("refusal").map(text),
        Some("encrypted_content") => item.text("encrypted_content").map(text),
        Some("input_image") => {
            let detail: Option<String> = item.get("detail", "a string")?;
            if detail.is_some_and(|detail| detail != "auto") {
                resolutions.push(item.origin.member("detail"));
            }
            match item.get::<String>("image_url", "a URL")? {
                Some(url) if url.starts_with("data:") => {
                    data_url(&url, &item.origin.member("image_url"))
                }
                Some(url) => Ok(Part::Link { url, cache: None }),
                None => Err(missing(item, "image_url")),
            }
        }
        Some("input_file") => match item.get::<String>("file_data", "a data URL")? {
            Some(url) => {
                let file = data_url(&url, &item.origin.member("file_data"))?;
                Ok(file.named(item.get("filename", "a string")?))
            }
            None => match item.get::<String>("file_url", "a URL")? {
                Some(url) => Ok(Part::Document { url, cache: None }),
                None => Err(missing(item, "file_data")),
            },
        },
        Some("input_audio") => {
            let expected = "an object with `data` and `format`";
            match item.get::<Audio>("input_audio", expected)? {
                Some(audio) => Ok(Part::Data {
                    media_type: format!("audio/{}", audio.format).into(),
                    data: audio.data,
                    name: None,
                    cache: None,
                }),
                None => Err(missing(item, "input_audio")),
            }
        }
        Some(_) => Ok(Part::Opaque {
            origin: item.origin.clone(),
        }),
        None => Err(invalid(
            item.origin.member("type").0,
            "is missing: such as \"input_text\"",
        )),
    }
}

/// What an agent of the client's says to another, as words of the user's. What it encrypts for OpenAI's servers comes as plain text where none
/// of those made it (openai/codex#37237).
pub(super) fn of_agent(item: &Item<'_>) -> Result<Vec<Part>, Error> {
    let author: Option<String> = item.get("author", "a string")?;
    let head = match author {
        Some(author) => format!("A message from the agent {author}:"),
        None => "A message from another agent:".to_owned(),
    };
    let mut parts = vec![text(head)];
    parts.extend(self::parts(item, "content", &mut Vec::new())?);
    Ok(parts)
}

/// Whether a part is one of OpenAI's own ciphers (Fernet's tokens).
pub(in crate::dialect::responses::client) fn is_encrypted(part: &Item<'_>) -> bool {
    let kept: Option<String> = part
        .get("encrypted_content", "a string")
        .unwrap_or_default();
    kept.is_some_and(|kept| kept.starts_with("gAAAA"))
}

/// The bytes are not there: they are stored, or elsewhere.
fn missing(item: &Item<'_>, name: &str) -> Error {
    for elsewhere in ["file_id", "file_url"] {
        if item.raw(elsewhere).is_some() {
            let problem = format!(
                "names what is kept elsewhere, and nothing is fetched here: send its bytes in `{name}` as a data URL"
            );
            return invalid(item.origin.member(elsewhere).0, &problem);
        }
    }
    invalid(item.origin.member(name).0, "is missing: send a data URL")
}

/// `data:image/png;base64,…`
fn data_url(url: &str, origin: &Origin) -> Result<Part, Error> {
    Part::of_data_url(url).ok_or_else(|| {
        let problem = "must be a data URL in base64: data:image/png;base64,…";
        invalid(origin.0.clone(), problem)
    })
}
