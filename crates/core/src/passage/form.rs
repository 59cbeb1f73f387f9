//! Forms (`multipart/form-data`, RFC 7578), as audio and pictures are sent: a body in; the model that it names, and where, out.
//!
//! A key may be for some models alone, so what two readers could take for different fields is not read: delimiters anywhere but at
//! a line of their own, folded headers, escaped names, two fields of one name.

use crate::error::{Error, Kind};
use memchr::memmem;
use std::ops::Range;

/// The media type.
const MEDIA_TYPE: &str = "multipart/form-data";
/// The longest boundary (RFC 2046, section 5.1.1).
const MAX_BOUNDARY: usize = 70;
const LINE: &[u8] = b"\r\n";

/// How a form's fields are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    delimiter: Vec<u8>,
}

/// The model that a form names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForm {
    /// Its name.
    pub name: String,
    /// Where that stands in the body.
    pub at: Range<usize>,
}

impl Form {
    /// The form of a content type; `None` where that is another.
    #[must_use]
    pub fn of(media_type: &str) -> Option<Self> {
        let (essence, rest) = media_type.split_once(';')?;
        let is_form = essence.trim().eq_ignore_ascii_case(MEDIA_TYPE);
        let parameters = parameters(rest).filter(|_| is_form)?;
        let mut named = parameters
            .into_iter()
            .filter(|(name, _)| name == "boundary");
        let (_, boundary) = named.next()?;
        let is_sound = (1..=MAX_BOUNDARY).contains(&boundary.len()) && named.next().is_none();
        is_sound.then(|| Self {
            delimiter: [b"--", boundary.as_bytes()].concat(),
        })
    }

    /// The model that a body names.
    ///
    /// # Errors
    /// It names none, or not so that every reader would take the same.
    pub fn model(&self, body: &[u8]) -> Result<InForm, Error> {
        let mut found: Option<InForm> = None;
        for part in self.parts(body).ok_or_else(unreadable)? {
            let text = body.get(part.clone()).ok_or_else(unreadable)?;
            let head = memmem::find(text, b"\r\n\r\n").ok_or_else(unreadable)?;
            let name = field(text.get(..head).unwrap_or_default()).ok_or_else(unreadable)?;
            if name != "model" {
                continue;
            }
            let at = part.start + head + 4..part.end;
            let value = body.get(at.clone()).unwrap_or_default();
            let value = std::str::from_utf8(value).map_err(|_| unreadable())?;
            let model = InForm {
                name: value.to_owned(),
                at,
            };
            if found.replace(model).is_some() {
                return Err(unreadable());
            }
        }
        found.ok_or_else(|| {
            let message = "the form names no `model`: send the one that is meant";
            Error::new(Kind::NotAllowed, message).at("model")
        })
    }

    /// What stands between the delimiters.
    fn parts(&self, body: &[u8]) -> Option<Vec<Range<usize>>> {
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut begun = None;
        let mut has_ended = false;
        for at in memmem::find_iter(body, &self.delimiter) {
            let (before, rest) = (body.get(..at)?, body.get(at + self.delimiter.len()..)?);
            if has_ended || !(before.is_empty() || before.ends_with(LINE)) {
                return None;
            }
            if let Some(start) = begun {
                parts.push(start..at.checked_sub(LINE.len()).filter(|end| *end >= start)?);
            }
            has_ended = rest.starts_with(b"--");
            // Blanks may follow (RFC 2046, section 5.1.1).
            let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
            let blanks = blanks.count();
            if !has_ended && !rest.get(blanks..)?.starts_with(LINE) {
                return None;
            }
            begun = Some(at + self.delimiter.len() + blanks + LINE.len());
        }
        has_ended.then_some(parts)
    }
}

/// A form's body with another model.
#[must_use]
pub fn form_with(body: &[u8], at: &Range<usize>, model: &str) -> Vec<u8> {
    let before = body.get(..at.start).unwrap_or_default();
    let after = body.get(at.end..).unwrap_or_default();
    [before, model.as_bytes(), after].concat()
}

fn unreadable() -> Error {
    let message = "the form cannot be read: each field stands once, behind a line with the boundary and headers of its own";
    Error::new(Kind::InvalidRequest, message)
}

/// The name of a field, by its headers.
fn field(head: &[u8]) -> Option<String> {
    let head = std::str::from_utf8(head).ok()?;
    let mut name = None;
    for line in head.split("\r\n") {
        let is_plain = !line.starts_with([' ', '\t']) && !line.contains(['\r', '\n']);
        let (header, value) = line.split_once(':').filter(|_| is_plain)?;
        if !header.trim().eq_ignore_ascii_case("content-disposition") {
            continue;
        }
        let (kind, rest) = value.split_once(';')?;
        let parameters = parameters(rest).filter(|_| kind.trim() == "form-data")?;
        let mut named = parameters
            .into_iter()
            .filter(|(key, _)| key.starts_with("name"));
        let (key, own) = named.next()?;
        let is_sound = key == "name" && named.next().is_none() && !own.contains(['\\', '%']);
        if !is_sound || name.replace(own).is_some() {
            return None;
        }
    }
    name
}

/// Parameters behind a header's value: names, in lower case, and values.
fn parameters(mut rest: &str) -> Option<Vec<(String, String)>> {
    let mut all = Vec::new();
    while !rest.trim().is_empty() {
        let (key, value) = rest.split_once('=')?;
        let (value, behind) = match value.trim_start().strip_prefix('"') {
            Some(quoted) => {
                let end = end_of_quoted(quoted)?;
                (quoted.get(..end)?, quoted.get(end + 1..)?)
            }
            None => {
                let end = value.find(';').unwrap_or(value.len());
                (value.get(..end)?.trim(), value.get(end..)?)
            }
        };
        all.push((key.trim().to_ascii_lowercase(), value.to_owned()));
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(';') {
            Some(next) => next,
            None if behind.is_empty() => "",
            None => return None,
        };
    }
    Some(all)
}

/// Where the quote is that ends a quoted text.
fn end_of_quoted(quoted: &str) -> Option<usize> {
    let mut is_escaped = false;
    quoted
        .char_indices()
        .find(|(_, letter)| {
            let is_end = *letter == '"' && !is_escaped;
            is_escaped = *letter == '\\' && !is_escaped;
            is_end
        })
        .map(|(at, _)| at)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    const FORM: &str = "multipart/form-data; boundary=\"b-1\"";

    fn file(name: &str) -> String {
        format!(
            "--b-1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n"
        )
    }

    fn named(disposition: &str, model: &str) -> String {
        format!("--b-1\r\ncontent-disposition: form-data; {disposition}\r\n\r\n{model}\r\n")
    }

    fn model(body: &str) -> Option<String> {
        let form = Form::of(FORM).unwrap();
        form.model(body.as_bytes()).ok().map(|model| model.name)
    }

    #[test]
    fn a_form_names_its_model_before_a_file_or_behind_it() {
        let named = named("name=\"model\"", "whisper-1");
        let file = file("a;name=model\\\".wav");
        for body in [
            format!("{named}{file}--b-1--\r\n"),
            format!("{file}{named}--b-1--"),
            format!("{}--b-1--", named.replace('"', "")),
            format!("{}--b-1-- ", named.replace("--b-1", "--b-1 \t")),
        ] {
            assert_eq!(model(&body).as_deref(), Some("whisper-1"), "{body}");
        }
    }

    #[test]
    fn what_readers_could_take_for_different_models_is_none() {
        let one = named("name=\"model\"", "a");
        for body in [
            format!("{one}{one}--b-1--"),
            one.clone(),
            format!("{one}--b-1--\r\n{one}--b-1--"),
            format!("{}--b-1--", named("name=\"model\"; name=\"b\"", "a")),
            format!("{}--b-1--", named("name*=utf-8''model", "a")),
            format!("{}--b-1--", named("name=\"mod\\el\"", "a")),
            format!("{one}--b-1--").replace(": form-data;", ": form-data;\r\n "),
            format!("{}--b-1--", named("name=\"x\"", "a\n--b-1\nb")),
            String::new(),
        ] {
            assert_eq!(model(&body), None, "{body}");
        }
    }

    #[test]
    fn another_model_stands_in_its_place() {
        let body = format!("{}{}--b-1--", named("name=\"model\"", "a"), file("f"));
        let form = Form::of(FORM).unwrap();
        let at = form.model(body.as_bytes()).unwrap().at;
        let other = form_with(body.as_bytes(), &at, "large");
        assert_eq!(form.model(&other).unwrap().name, "large");
    }

    #[test]
    fn only_forms_are_forms() {
        for other in [
            "application/json",
            "multipart/form-data",
            "multipart/mixed; boundary=b",
        ] {
            assert_eq!(Form::of(other), None, "{other}");
        }
        assert!(Form::of("Multipart/Form-Data;BOUNDARY=b").is_some());
    }
}
