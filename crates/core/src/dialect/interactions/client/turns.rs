//! `system_instruction` and `input` to turns: a text, contents, or the steps of an interaction.

use crate::dialect::client::{field, invalid, member};
use crate::dialect::gemini::sealed;
use crate::error::Error;
use crate::ir::{
    Call, CallInput, Claimed, Failed, Fields, Origin, Part, Role, Seal, Sealed, Stated, Turn,
    media_type, raw_string,
};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Reads the conversation.
///
/// # Errors
/// The field at fault.
pub(super) fn read(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let mut reader = Reader::default();
    let at = Origin::new("system_instruction");
    let instruction = field::<String>(fields, &at.0, "a text")?;
    if let Some(text) = instruction.filter(|text| !text.is_empty()) {
        reader.turn(Role::System, &at).parts.push(text_part(text));
    }
    let at = Origin::new("input");
    let before = reader.turns.len();
    match fields.0.get("input").filter(|raw| raw.get() != "null") {
        None => {}
        Some(raw) if raw.get().starts_with('"') => {
            let text = field::<String>(fields, "input", "a text")?.unwrap_or_default();
            reader.turn(Role::User, &at).parts.push(text_part(text));
        }
        Some(raw) if raw.get().starts_with('[') => {
            for (index, item) in items(raw, &at)?.into_iter().enumerate() {
                reader.step(item, at.item(index), &at)?;
            }
        }
        Some(raw) => {
            let content = serde_json::from_str(raw.get());
            let expected = "`input` must be a text, a content, or a list of contents or steps";
            let content = content.map_err(|_| invalid(expected, "input"))?;
            reader.step(content, at.clone(), &at)?;
        }
    }
    if reader.turns.len() == before {
        return Err(invalid(
            "`input` is missing: send the conversation",
            "input",
        ));
    }
    for (index, turn) in reader.turns.iter_mut().enumerate() {
        turn.index = index;
    }
    Ok(reader.turns)
}

fn items(raw: &RawValue, at: &Origin) -> Result<Vec<Fields>, Error> {
    serde_json::from_str(raw.get())
        .map_err(|_| invalid(format!("`{at}` must be a list of objects"), at.0.clone()))
}

#[derive(Debug, Default)]
struct Reader {
    turns: Vec<Turn>,
    /// Where the step stands that the last turn is of.
    of: Option<Origin>,
    /// The ids of the calls that no result has answered.
    open: Vec<String>,
}

impl Reader {
    fn turn(&mut self, role: Role, origin: &Origin) -> &mut Turn {
        let index = self.turns.len();
        self.turns.push(Turn {
            origin: origin.clone(),
            ..Turn::of(role, Vec::new())
        });
        self.of = Some(origin.clone());
        &mut self.turns[index]
    }

    /// The turn that goes on where this role speaks in the same step; what the model does step by step is one turn.
    fn current(&mut self, role: Role, step: &Origin) -> &mut Turn {
        let goes_on = (self.turns.last()).is_some_and(|last| last.role == role)
            && (role == Role::Assistant || self.of.as_ref() == Some(step));
        match self.turns.len().checked_sub(1).filter(|_| goes_on) {
            Some(last) => &mut self.turns[last],
            None => self.turn(role, step),
        }
    }

    /// Reads a step, or a content among others. `list` is where the list stands, of whose contents together one turn is made.
    fn step(&mut self, mut step: Fields, at: Origin, list: &Origin) -> Result<(), Error> {
        let role: Option<String> = member(&mut step, "role", &at, "user or model")?;
        let kind: Option<String> = member(&mut step, "type", &at, "a word")?;
        let kind = match (kind.as_deref(), role.as_deref()) {
            (Some(kind), _) => kind.to_owned(),
            // A turn, as the API's first revision had it.
            (None, Some("model" | "assistant")) => "model_output".to_owned(),
            (None, Some("user")) => "user_input".to_owned(),
            (None, Some(_)) => {
                let at = at.member("role");
                let message = format!(
                    "`{at}` must be user or model: instructions are in `system_instruction`"
                );
                return Err(invalid(message, at.0));
            }
            (None, None) => {
                let at = at.member("type");
                let message =
                    format!("`{at}` is missing: such as text, user_input or function_result");
                return Err(invalid(message, at.0));
            }
        };
        let role = match kind.as_str() {
            "user_input" => Role::User,
            "model_output" => Role::Assistant,
            _ => return self.content(Role::User, &kind, step, at, list),
        };
        let content_at = at.member("content");
        let content = step.remove("content").filter(|raw| raw.get() != "null");
        if let Some(error) = step.0.get("error").filter(|_| role == Role::Assistant) {
            // What the model refused to say; it said nothing else.
            let said = crate::json::value(error.get()).ok();
            let said = said.and_then(|error| Some(error.get("message")?.as_str()?.to_owned()));
            if let Some(said) = said {
                self.current(role, &at).parts.push(text_part(said));
                step.remove("error");
            }
        }
        self.tell_rest(role, &step, &at);
        match content {
            None => drop(self.current(role, &at)),
            Some(raw) if raw.get().starts_with('"') => {
                let text = serde_json::from_str(raw.get()).unwrap_or_default();
                self.say(role, text, &at);
            }
            Some(raw) if raw.get().starts_with('{') => {
                let content = serde_json::from_str(raw.get()).unwrap_or_default();
                self.part(role, content, content_at, &at)?;
            }
            Some(raw) => {
                for (index, item) in items(&raw, &content_at)?.into_iter().enumerate() {
                    self.part(role, item, content_at.item(index), &at)?;
                }
            }
        }
        Ok(())
    }

    fn part(
        &mut self,
        role: Role,
        mut content: Fields,
        at: Origin,
        step: &Origin,
    ) -> Result<(), Error> {
        let kind: Option<String> = member(&mut content, "type", &at, "a word")?;
        let is_text = content.has("text");
        let Some(kind) = kind.or_else(|| is_text.then(|| "text".to_owned())) else {
            let at = at.member("type");
            return Err(invalid(
                format!("`{at}` is missing: such as text or image"),
                at.0,
            ));
        };
        self.content(role, &kind, content, at, step)
    }

    /// Reads a content, or a step that has none. `turn` is where the turn stands that it is of.
    fn content(
        &mut self,
        role: Role,
        kind: &str,
        mut content: Fields,
        at: Origin,
        turn: &Origin,
    ) -> Result<(), Error> {
        match kind {
            "text" => {
                let text = need(&mut content, "text", &at, "a text")?;
                // Where the words were found.
                content.remove("annotations");
                self.say(role, text, turn);
            }
            "image" | "audio" | "video" | "document" => {
                if let Some(_stated) = content.remove("resolution") {
                    let place = at.member("resolution");
                    self.current(role, turn).resolutions.push(place);
                }
                let part = medium(kind, &mut content, &at)?;
                self.current(role, turn).parts.push(part);
            }
            "thought" => self.thought(&mut content, &at)?,
            "function_call" => self.call(&mut content, &at)?,
            "function_result" => return self.result(content, at),
            // What Google ran, and came of it, is in what the model says.
            _ if kind.ends_with("_call") || kind.ends_with("_result") => {
                let turn = self.current(Role::Assistant, &at);
                unknown(turn, &at);
                return Ok(());
            }
            _ => {
                let part = Part::Opaque { origin: at };
                self.current(role, turn).parts.push(part);
                return Ok(());
            }
        }
        self.tell_rest(role, &content, &at);
        Ok(())
    }

    fn say(&mut self, role: Role, more: String, at: &Origin) {
        let turn = self.current(role, at);
        // Texts of the model's in a row are one.
        let goes_on = role == Role::Assistant && !turn.thinks_behind_parts();
        match turn.parts.last_mut() {
            Some(Part::Text { text, .. }) if goes_on => text.push_str(&more),
            _ => turn.parts.push(text_part(more)),
        }
    }

    /// A thought that was signed here, or that another server signed.
    fn thought(&mut self, step: &mut Fields, at: &Origin) -> Result<(), Error> {
        let expected = "a list of contents";
        let summary = member::<Vec<Fields>>(step, "summary", at, expected)?.unwrap_or_default();
        let signature: Option<String> = member(step, "signature", at, "a text")?;
        let signature = signature.unwrap_or_default();
        let summary_at = at.member("summary");
        let mut text = String::new();
        let turn = self.current(Role::Assistant, at);
        for (index, mut content) in summary.into_iter().enumerate() {
            let at = summary_at.item(index);
            match member::<String>(&mut content, "text", &at, "a text")? {
                Some(more) => text.push_str(&more),
                None => unknown(turn, &at),
            }
        }
        let blocks = sealed::read(&signature);
        let ours = Seal::own(&signature).map(Cow::into_owned);
        let signature_at = at.member("signature");
        if !blocks.is_empty() {
            // The thoughts are in them.
            for block in blocks {
                turn.hold(signature_at.clone(), Sealed::Thinking(block));
            }
            return Ok(());
        }
        if ours.is_none() && !signature.is_empty() {
            turn.hold(signature_at, Sealed::Signature(signature));
        }
        if !text.is_empty() {
            turn.claimed.push(Claimed {
                stated: Stated {
                    origin: at.clone(),
                    text,
                },
                signature: ours.unwrap_or_default(),
            });
        }
        Ok(())
    }

    fn call(&mut self, step: &mut Fields, at: &Origin) -> Result<(), Error> {
        let name = need(step, "name", at, "the function's name")?;
        let id: Option<String> = member(step, "id", at, "a text")?;
        let signature: Option<String> = member(step, "signature", at, "a text")?;
        let arguments_at = at.member("arguments");
        let arguments = step.remove("arguments");
        let arguments = arguments.filter(|raw| !matches!(raw.get(), "null" | "[]"));
        let input = match arguments {
            None => CallInput::Object(raw_string("{}".to_owned())),
            Some(raw) if raw.get().starts_with('{') => CallInput::Object(raw),
            Some(_) => {
                let message = format!("`{arguments_at}` must be an object");
                return Err(invalid(message, arguments_at.0));
            }
        };
        let index = self.turns.len();
        let turn = self.current(Role::Assistant, at);
        let place = turn.calls.len();
        let id = id.unwrap_or_else(|| format!("call_{index}_{place}"));
        turn.calls.push(Call {
            origin: at.clone(),
            id: Some(id.clone()),
            name,
            input,
            signature: signature.filter(|text| !text.is_empty()),
        });
        self.open.push(id);
        Ok(())
    }

    /// A result is a text, contents, or an object.
    fn result(&mut self, mut step: Fields, at: Origin) -> Result<(), Error> {
        let id: String = need(&mut step, "call_id", &at, "the call's id")?;
        let Some(place) = self.open.iter().position(|open| *open == id) else {
            let at = at.member("call_id");
            let message = format!("`{at}` answers no call before it");
            return Err(invalid(message, at.0));
        };
        self.open.remove(place);
        let tool: Option<String> = member(&mut step, "name", &at, "the function's name")?;
        let failed = member::<bool>(&mut step, "is_error", &at, "true or false")?;
        step.remove("signature");
        let result_at = at.member("result");
        let result = step.remove("result").filter(|raw| raw.get() != "null");
        let turn = self.turn(Role::Tool, &at);
        turn.call_id = Some(id);
        turn.tool = tool;
        if failed == Some(true) {
            turn.failed = Some(Failed::Apart(at.member("is_error")));
        }
        match result {
            None => turn.parts.push(text_part(String::new())),
            Some(raw) => match crate::json::value(raw.get()) {
                Ok(Value::String(text)) => turn.parts.push(text_part(text)),
                Ok(Value::Array(_)) => {
                    let contents = items(&raw, &result_at)?.into_iter().enumerate();
                    for (index, mut content) in contents {
                        let at = result_at.item(index);
                        let kind: Option<String> = member(&mut content, "type", &at, "a word")?;
                        turn.parts.push(match kind.as_deref() {
                            Some("text") => text_part(need(&mut content, "text", &at, "a text")?),
                            Some(kind @ ("image" | "audio" | "video" | "document")) => {
                                medium(kind, &mut content, &at)?
                            }
                            _ => Part::Opaque { origin: at },
                        });
                    }
                }
                // Whatever it is, it is told as it stands there.
                _ => turn.parts.push(text_part(raw.get().to_owned())),
            },
        }
        self.tell_rest(Role::Tool, &step, &at);
        Ok(())
    }

    /// Notes what only Google knows of a step or a content.
    fn tell_rest(&mut self, role: Role, rest: &Fields, at: &Origin) {
        let is_said =
            |raw: &RawValue| !matches!(raw.get(), "null" | "[]" | "{}" | "\"\"" | "false");
        let mut rest = rest.0.iter().filter(|(_, raw)| is_said(raw)).peekable();
        if rest.peek().is_none() {
            return;
        }
        let turn = match self.turns.len().checked_sub(1) {
            Some(last) => &mut self.turns[last],
            None => self.turn(role, at),
        };
        for (name, _) in rest {
            unknown(turn, &at.member(name));
        }
    }
}

fn text_part(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// Notes what only Google knows, by its place below the turn. A turn of several steps stands where their list does.
fn unknown(turn: &mut Turn, at: &Origin) {
    let (mut origin, at) = (turn.origin.pointer(), at.pointer());
    if !at.starts_with(&format!("{origin}/")) && at != origin {
        let list = Origin::new("input");
        let step = origin.strip_prefix(&list.pointer()).unwrap_or_default();
        for known in &mut turn.unknown {
            known.insert_str(0, step);
        }
        origin = list.pointer();
        turn.origin = list;
    }
    let below = at.strip_prefix(&origin).unwrap_or(&at);
    turn.unknown.push(below.to_owned());
}

fn need<T: serde::de::DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    at: &Origin,
    expected: &str,
) -> Result<T, Error> {
    member(fields, name, at, expected)?.ok_or_else(|| {
        let at = at.member(name);
        invalid(format!("`{at}` is missing: it must be {expected}"), at.0)
    })
}

/// Bytes in base64, whose letters may be those of URLs; or an image that anybody can fetch, and not what Google keeps.
fn medium(kind: &str, content: &mut Fields, at: &Origin) -> Result<Part, Error> {
    let stated: Option<String> = member(content, "mime_type", at, "a media type")?;
    let data: Option<String> = member(content, "data", at, "a text in base64")?;
    let uri: Option<String> = member(content, "uri", at, "a URI")?;
    if let Some(data) = data {
        let stated = stated.filter(|kind| kind.contains('/'));
        let data = data.replace('-', "+").replace('_', "/");
        let seen = media_type(&stated.unwrap_or_default(), &data);
        if seen.is_empty() {
            let at = at.member("mime_type");
            let message = format!("`{at}` must be a media type such as image/png");
            return Err(invalid(message, at.0));
        }
        return Ok(Part::Data {
            media_type: seen,
            data,
            name: None,
            cache: None,
        });
    }
    let Some(url) = uri.filter(|uri| !uri.is_empty()) else {
        let message =
            format!("`{at}` has no data: send `data` in base64, or the `uri` of an image");
        return Err(invalid(message, at.0.clone()));
    };
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let is_google = url.contains("://generativelanguage.googleapis.com/");
    if kind == "image" && is_web && !is_google {
        return Ok(Part::Link { url, cache: None });
    }
    Ok(Part::Opaque { origin: at.clone() })
}
