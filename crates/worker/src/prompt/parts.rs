//! A conversation comes in; its images and audio go out, and what stands for them comes back into
//! it: a text that nobody else can write, and that the template need not know.
//!
//! The texts take the parts' places before the template sees them, as in llama.cpp's server.
//! Templates that know such parts write the model's own tokens for them, each its own way, and one
//! token where an image takes hundreds. What stands around a medium is the projector's to say, and
//! it says it for each model, so a template's loop over texts is all that is needed.

use super::Chat;
use crate::media::{Media, Modalities, Modality, Projector, Refusal, Room, audio, image};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use isogloss_core::error::{Error, Kind};
use serde_json::{Value, json};
use std::sync::Arc;

/// Images and pieces of audio of one conversation: each is computed by itself, and the others'
/// answers wait for it.
const MAX_PARTS: usize = 32;

/// Padding or none: clients send both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A part that is no text, taken out of its conversation.
#[derive(Debug)]
pub(super) struct Part {
    message: usize,
    index: usize,
    modality: Modality,
    /// Where its bytes stood.
    place: String,
    data: String,
}

/// Takes the images and audio out. What is no part of a known kind stays, for the template's
/// reader to refuse.
pub(super) fn take(chat: &mut Chat, takes: Option<Modalities>) -> Result<Vec<Part>, Error> {
    let mut taken = Vec::new();
    for (message, value) in chat.messages.iter_mut().enumerate() {
        let parts = value.get_mut("content").and_then(Value::as_array_mut);
        for (index, part) in parts.into_iter().flatten().enumerate() {
            let Some((modality, field, inner)) = kind(part) else {
                continue;
            };
            let place = format!("messages[{message}].content[{index}]");
            check(modality, takes, &place)?;
            let (place, data) = data(part, &place, field, inner)?;
            taken.push(Part {
                message,
                index,
                modality,
                place,
                data,
            });
        }
    }
    if taken.len() > MAX_PARTS {
        let message = format!(
            "`messages` have {} images and pieces of audio: send at most {MAX_PARTS}",
            taken.len()
        );
        let place = taken.swap_remove(MAX_PARTS).place;
        return Err(Error::new(Kind::InvalidRequest, message).at(place));
    }
    Ok(taken)
}

/// What a part is, the field that it is in, and the field in that.
fn kind(part: &Value) -> Option<(Modality, &'static str, &'static str)> {
    Some(match part.get("type")?.as_str()? {
        "image_url" => (Modality::Image, "image_url", "url"),
        "input_audio" => (Modality::Audio, "input_audio", "data"),
        "audio_url" => (Modality::Audio, "audio_url", "url"),
        _ => return None,
    })
}

fn check(modality: Modality, takes: Option<Modalities>, place: &str) -> Result<(), Error> {
    let (name, other) = match modality {
        Modality::Image => ("images", "audio"),
        Modality::Audio => ("audio", "images"),
    };
    let why = match takes {
        Some(takes) if takes.has(modality) => return Ok(()),
        Some(_) => format!("its projector is for {other} alone: send text or {other}"),
        None => "it has no projector (an mmproj .gguf file beside the model's, or --mmproj FILE): \
                 send text"
            .to_owned(),
    };
    let message = format!("{place}: this model takes no {name}: {why}");
    Err(Error::new(Kind::InvalidRequest, message).at(place))
}

/// The base64 text of a part, and where it is.
fn data(
    part: &mut Value,
    place: &str,
    field: &str,
    inner: &str,
) -> Result<(String, String), Error> {
    let value = &mut part[field];
    // Some clients write the URL itself in the object's place.
    let (place, value) = match value {
        Value::String(_) => (format!("{place}.{field}"), value),
        _ => (format!("{place}.{field}.{inner}"), &mut value[inner]),
    };
    let refuse = |message: &str| {
        let message = format!("`{place}`: {message}");
        Err(Error::new(Kind::InvalidRequest, message).at(place.clone()))
    };
    let Value::String(text) = value.take() else {
        return refuse("it must be a text");
    };
    let is = |prefix: &str| {
        let head = text.get(..prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix))
    };
    if is("data:") {
        let Some((head, data)) = text.split_once(',') else {
            return refuse("the data: URL has no comma, behind which the data are");
        };
        if !head.to_ascii_lowercase().ends_with(";base64") {
            return refuse("the data: URL must be of base64: data:image/png;base64,…");
        }
        return Ok((place, data.to_owned()));
    }
    if inner == "data" {
        return Ok((place, text));
    }
    if is("http://") || is("https://") {
        return refuse(
            "the worker fetches nothing from the network: send the file itself, as a data: URL \
             (data:image/png;base64,…)",
        );
    }
    refuse("it must be a data: URL (data:image/png;base64,…)")
}

/// Makes the parts ready for the model.
pub(super) fn ready(
    parts: &[Part],
    projector: &dyn Projector,
    room: &Room,
) -> Result<Vec<Arc<Media>>, Error> {
    let one = |part: &Part| {
        let media = decode(&part.data).and_then(|file| match part.modality {
            Modality::Image => projector.image(image::read(&file, room)?, room),
            Modality::Audio => projector.audio(audio::read(&file, room)?, room),
        });
        media
            .map(Arc::new)
            .map_err(|refusal| refusal.at(&part.place))
    };
    parts.iter().map(one).collect()
}

fn decode(data: &str) -> Result<Vec<u8>, Refusal> {
    let decoded = if data.bytes().any(|byte| byte.is_ascii_whitespace()) {
        let bare: Vec<u8> = data
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        BASE64.decode(bare)
    } else {
        BASE64.decode(data)
    };
    decoded.or_else(|_| Refusal::invalid("this is not base64"))
}

/// Puts texts in the places of the parts: the mark, which part it is, and the mark.
pub(super) fn put_marks(chat: &mut Chat, parts: &[Part], mark: char) {
    for (number, part) in parts.iter().enumerate() {
        let text = format!("{mark}{number}{mark}");
        let content = chat.messages.get_mut(part.message);
        let content = content.and_then(|message| message.get_mut("content"));
        if let Some(place) = content.and_then(|content| content.get_mut(part.index)) {
            *place = json!({"type": "text", "text": text});
        }
    }
}

/// The pieces of a rendered text: between texts, the numbers of the parts. `None` where the
/// template has changed the marks, or left one out.
pub(super) fn pieces(text: &str, mark: char, parts: usize) -> Option<(Vec<&str>, Vec<usize>)> {
    let (mut texts, mut numbers) = (Vec::new(), Vec::new());
    for (at, piece) in text.split(mark).enumerate() {
        if at % 2 == 0 {
            texts.push(piece);
        } else {
            numbers.push(piece.parse().ok().filter(|number| *number < parts)?);
        }
    }
    let is_whole = texts.len() == numbers.len() + 1;
    let has_all = (0..parts).all(|part| numbers.contains(&part));
    (is_whole && has_all).then_some((texts, numbers))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
