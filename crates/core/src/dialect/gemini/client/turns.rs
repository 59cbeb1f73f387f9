//! `contents` and `systemInstruction` to turns.

use super::super::sealed;
use super::object::{Object, invalid, listed};
use crate::error::{Error, Kind};
use crate::ir::{
    Behind, Call, CallInput, Failed, Fields, Held, Origin, Part, Role, Sealed, Stated, Turn,
    media_type,
};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Reads the conversation.
///
/// # Errors
/// The field at fault.
pub(super) fn read(fields: &Fields) -> Result<Vec<Turn>, Error> {
    let mut body = Object::of(fields, None)?;
    if let Some((at, _)) = body.raw("cachedContent") {
        let problem = "names what only Gemini has kept: send those contents with the request";
        return Err(invalid(&at, problem));
    }
    let mut reader = Reader::default();
    if let Some((at, value)) = body.raw("systemInstruction") {
        reader.instruction(&value, &at)?;
    }
    let at = body.origin("contents");
    let contents = body.objects("contents")?;
    if contents.is_empty() {
        return Err(invalid(&at, "is missing: send the conversation"));
    }
    for content in contents {
        reader.content(content)?;
    }
    Ok(reader.turns)
}

#[derive(Debug, Default)]
struct Reader {
    turns: Vec<Turn>,
    /// The calls that no result has answered: their ids and names.
    open: Vec<(String, String)>,
}

/// What was run elsewhere, and came of it: `toolCall` and `toolResponse` are of tools of Gemini's own (`Part` of the API's reference).
const RAN_ELSEWHERE: [&str; 4] = [
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

/// What a part is, beside its data.
#[derive(Debug)]
struct PartHead {
    origin: Origin,
    is_thought: bool,
    signature: Option<(Origin, String)>,
}

impl PartHead {
    /// The thoughts of another server that are signed here, wherever their signature found a place.
    fn thoughts(&self, behind: Behind) -> Vec<Held> {
        let Some((at, signature)) = &self.signature else {
            return Vec::new();
        };
        let held = |block| Held {
            origin: at.clone(),
            sealed: Sealed::Thinking(block),
            behind,
        };
        sealed::read(signature).into_iter().map(held).collect()
    }
}

/// Where thoughts belong that stand on a text or a call since they had no words of their own: at the turn's beginning or right behind
/// the thoughts before, since a text may have been told before there was a call to put them on; but behind the calls that are there.
fn thought_before(turn: &Turn) -> Behind {
    let mut blocks = turn.sealed.iter().rev();
    match blocks.find(|held| matches!(held.sealed, Sealed::Thinking(_))) {
        None => Behind::default(),
        Some(last) if last.behind.calls == turn.calls.len() => last.behind,
        Some(_) => turn.behind(),
    }
}

impl Reader {
    /// Google's documentation has an object there; a text means one.
    fn instruction(&mut self, value: &RawValue, at: &Origin) -> Result<(), Error> {
        if let Ok(text) = serde_json::from_str::<String>(value.get()) {
            if text.is_empty() {
                return Ok(());
            }
            self.turn(Role::System, at).parts.push(text_part(text));
            return Ok(());
        }
        let mut content = Object::read(value, at.clone())?;
        // Whatever it is, the instruction is the system's.
        content.raw("role");
        self.turn(Role::System, at);
        let parts = content.objects("parts")?;
        for part in parts {
            self.part(Role::System, at, part)?;
        }
        self.tell_rest(&content);
        Ok(())
    }

    fn content(&mut self, mut content: Object) -> Result<(), Error> {
        let at = content.origin("role");
        let role: Option<String> = content.take("role", "user or model")?;
        let role = match role.as_deref().map(str::to_ascii_lowercase).as_deref() {
            None | Some("" | "user" | "function" | "tool") => Role::User,
            // Some write OpenAI's word (multi-llm-ts 5).
            Some("model" | "assistant") => Role::Assistant,
            Some(_) => return Err(invalid(&at, "must be user or model")),
        };
        let origin = content.at();
        let parts_at = content.origin("parts");
        let parts = match content.raw("parts") {
            Some((at, value)) => listed(&value, &at)?,
            None => Vec::new(),
        };
        if parts.is_empty() && role == Role::User {
            return Err(invalid(&parts_at, "is missing: a content needs a part"));
        }
        let before = self.turns.len();
        for part in parts {
            self.part(role, &origin, part)?;
        }
        if self.turns.len() == before {
            // A model that said nothing still had its turn.
            self.turn(role, &origin);
        }
        self.results_first(before);
        self.tell_rest(&content);
        if self.turns.len() == before + 1 {
            self.go_on();
        }
        Ok(())
    }

    /// What stands among the results of one content is told behind them: gemini-cli puts images behind the result that they
    /// came with, and chat templates pair results with calls.
    fn results_first(&mut self, from: usize) {
        let said = self.turns.split_off(from);
        let is_result = |turn: &Turn| turn.role == Role::Tool;
        let (results, rest): (Vec<Turn>, Vec<Turn>) = said.into_iter().partition(is_result);
        let is_beside = !results.is_empty();
        self.turns.extend(results);
        let mut rest = rest.into_iter();
        self.turns.extend(rest.next());
        for more in rest {
            match self.turns.last_mut().filter(|_| is_beside) {
                Some(turn) => {
                    turn.hold_on(more.sealed);
                    turn.parts.extend(more.parts);
                    turn.resolutions.extend(more.resolutions);
                    turn.unknown.extend(more.unknown);
                }
                None => self.turns.push(more),
            }
        }
        for (index, turn) in self.turns.iter_mut().enumerate().skip(from) {
            turn.index = index;
        }
    }

    /// What the model said in a row is one turn: SDKs keep each chunk of a stream as a content of its own.
    fn go_on(&mut self) {
        let Some([first, more]) = self.turns.last_chunk() else {
            return;
        };
        let is_model = (first.role, more.role) == (Role::Assistant, Role::Assistant);
        // What is not read is told by the place of its turn.
        if !is_model || !more.unknown.is_empty() {
            return;
        }
        if let (Some(mut more), Some(turn)) = (self.turns.pop(), self.turns.last_mut()) {
            let (has_words, behind) = (more.reasoning.is_some(), thought_before(turn));
            let begins = |held: &Held| held.behind == Behind::default();
            let (mut first, mut held): (Vec<Held>, Vec<Held>) = std::mem::take(&mut more.sealed)
                .into_iter()
                .partition(begins);
            match has_words {
                true => turn.hold_on(first),
                false => {
                    first.iter_mut().for_each(|held| held.behind = behind);
                    turn.sealed.extend(first);
                }
            }
            let mut parts = more.parts.into_iter().peekable();
            if let Some(Part::Text { .. }) = turn.parts.last()
                && let Some(Part::Text { text, .. }) =
                    parts.next_if(|part| matches!(part, Part::Text { .. }))
            {
                say(turn, text);
                for held in &mut held {
                    held.behind.parts = held.behind.parts.saturating_sub(1);
                }
            }
            turn.hold_on(held);
            turn.parts.extend(parts);
            turn.calls.extend(more.calls);
            turn.resolutions.extend(more.resolutions);
            if let Some(thought) = more.reasoning {
                think(turn, thought);
            }
        }
    }

    fn tell_rest(&mut self, content: &Object) {
        let rest = content.rest();
        if let Some(turn) = self.turns.last_mut() {
            turn.unknown
                .extend(rest.iter().map(|at| below(&turn.origin, at)));
        }
    }

    fn turn(&mut self, role: Role, origin: &Origin) -> &mut Turn {
        let index = self.turns.len();
        self.turns.push(Turn {
            origin: origin.clone(),
            index,
            ..Turn::of(role, Vec::new())
        });
        &mut self.turns[index]
    }

    /// The turn of a content, begun anew behind the results of functions.
    fn current(&mut self, role: Role, origin: &Origin) -> &mut Turn {
        let is_it = |turn: &Turn| turn.role == role && turn.origin == *origin;
        if self.turns.last().is_some_and(is_it) {
            let last = self.turns.len() - 1;
            return &mut self.turns[last];
        }
        self.turn(role, origin)
    }

    fn part(&mut self, role: Role, content: &Origin, mut part: Object) -> Result<(), Error> {
        let said = PartHead {
            is_thought: part.take("thought", "true or false")? == Some(true),
            signature: signature(&mut part)?,
            origin: part.at(),
        };
        let text: Option<String> = part.take("text", "a text")?;
        let mut has_data = text.is_some();
        if let Some(text) = text {
            self.text(role, content, text, &said);
        }
        if let Some(call) = part.object("functionCall")? {
            has_data = true;
            self.call(role, content, call, &said)?;
        }
        if let Some(result) = part.object("functionResponse")? {
            has_data = true;
            self.result(content, result)?;
        }
        if let Some(data) = part.object("inlineData")? {
            has_data = true;
            let read = inline(data)?;
            self.current(role, content).parts.push(read);
        }
        if let Some(file) = part.object("fileData")? {
            has_data = true;
            let read = file_part(file)?;
            self.current(role, content).parts.push(read);
        }
        // How the medium is to be looked at.
        for name in ["mediaResolution", "videoMetadata"] {
            if let Some((at, _)) = part.raw(name) {
                self.current(role, content).resolutions.push(at);
            }
        }
        // What was run elsewhere, and came of it, is in what the model says.
        for name in RAN_ELSEWHERE {
            if let Some((at, _)) = part.raw(name) {
                has_data = true;
                let turn = self.current(role, content);
                turn.unknown.push(below(&turn.origin, &at));
            }
        }
        let rest = part.rest();
        if !has_data && rest.is_empty() && said.signature.is_none() {
            let problem =
                "has no data: text, functionCall, functionResponse, inlineData or fileData";
            return Err(invalid(&said.origin, problem));
        }
        match rest.first() {
            None => {}
            // The part is something that is known to Gemini alone.
            Some(_) if !has_data => self.current(role, content).parts.push(Part::Opaque {
                origin: said.origin,
            }),
            // It stands beside the data, whosever turn that became.
            Some(_) => {
                if let Some(turn) = self.turns.last_mut() {
                    let unknown = rest.iter().map(|at| below(content, at));
                    turn.unknown.extend(unknown);
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, role: Role, content: &Origin, text: String, said: &PartHead) {
        let turn = self.current(role, content);
        if said.is_thought {
            let origin = said.origin.clone();
            let thoughts = said.thoughts(turn.behind());
            turn.sealed.extend(thoughts);
            if !text.is_empty() {
                think(turn, Stated { origin, text });
            }
            return;
        }
        let thoughts = said.thoughts(thought_before(turn));
        let is_theirs = thoughts.is_empty();
        turn.sealed.extend(thoughts);
        match role {
            Role::Assistant => say(turn, text),
            _ => turn.parts.push(text_part(text)),
        }
        if let Some((at, signature)) = said.signature.as_ref().filter(|_| is_theirs) {
            turn.hold(at.clone(), Sealed::Signature(signature.clone()));
        }
    }

    fn call(
        &mut self,
        role: Role,
        content: &Origin,
        mut object: Object,
        said: &PartHead,
    ) -> Result<(), Error> {
        let origin = object.at();
        if role != Role::Assistant {
            return Err(invalid(&origin, "is the model's: set `role` to model"));
        }
        let name = name(&mut object)?;
        let id: Option<String> = object.take("id", "a string")?;
        let args = object.raw("args");
        let input = match args {
            None => CallInput::Object(crate::ir::raw_string("{}".to_owned())),
            Some((_, args)) if args.get().starts_with('{') => CallInput::Object(args),
            // PHP's object without members (nextcloud/integration_openai#243).
            Some((_, args)) if args.get() == "[]" => CallInput::Empty,
            Some((at, _)) => return Err(invalid(&at, "must be an object")),
        };
        let turn = self.current(role, content);
        let id = id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| format!("call_{}_{}", turn.index, turn.calls.len()));
        let thoughts = said.thoughts(thought_before(turn));
        let signature = said.signature.as_ref().filter(|_| thoughts.is_empty());
        turn.sealed.extend(thoughts);
        turn.calls.push(Call {
            origin,
            id: Some(id.clone()),
            name: name.clone(),
            input,
            signature: signature.map(|(_, text)| text.clone()),
        });
        let rest = object.rest();
        let unknown: Vec<String> = rest.iter().map(|at| below(content, at)).collect();
        turn.unknown.extend(unknown);
        self.open.push((id, name));
        Ok(())
    }

    /// A result answers the call of its id, or the first open one of its name.
    fn result(&mut self, content: &Origin, mut object: Object) -> Result<(), Error> {
        let at = object.origin("name");
        let name = name(&mut object)?;
        let id: Option<String> = object.take("id", "a string")?;
        let id = id.filter(|id| !id.is_empty());
        let is_it = |(known, called): &(String, String)| match &id {
            Some(id) => id == known,
            None => *called == name,
        };
        let Some(place) = self.open.iter().position(is_it) else {
            let at = id.map_or(at, |_| object.origin("id"));
            return Err(invalid(&at, "answers no call before it"));
        };
        let (id, _) = self.open.remove(place);
        let response = object.raw("response");
        let text = match response {
            None => "{}".to_owned(),
            Some((_, value)) if value.get().starts_with('{') => value.get().to_owned(),
            Some((at, _)) => return Err(invalid(&at, "must be an object")),
        };
        let media = object.objects("parts")?;
        let media = media.into_iter().map(medium);
        let media = media.collect::<Result<Vec<Part>, Error>>()?;
        let rest = object.rest();
        let turn = self.turn(Role::Tool, content);
        turn.failed = says_error(&text).then_some(Failed::Within);
        turn.parts.push(text_part(text));
        turn.parts.extend(media);
        turn.call_id = Some(id);
        turn.tool = Some(name);
        turn.unknown
            .extend(rest.iter().map(|at| below(content, at)));
        Ok(())
    }
}

/// What stands beside a result's object (`FunctionResponsePart` of the API's reference, from Gemini 3 on).
fn medium(mut part: Object) -> Result<Part, Error> {
    if let Some(data) = part.object("inlineData")? {
        return inline(data);
    }
    match part.object("fileData")? {
        Some(file) => file_part(file),
        None => Ok(Part::Opaque { origin: part.at() }),
    }
}

/// Whether a result says what went wrong, and no more: "use `output` to specify function output and `error` to
/// specify error details (if any)" (`FunctionResponse.response` of the API's reference).
fn says_error(result: &str) -> bool {
    let fields: Option<BTreeMap<&str, IgnoredAny>> = serde_json::from_str(result).ok();
    fields.is_some_and(|fields| fields.keys().eq(&["error"]))
}

/// More of what the model says: its texts in a row are one, cut where its chunks ended.
fn say(turn: &mut Turn, more: String) {
    let goes_on = !turn.thinks_behind_parts();
    match turn.parts.last_mut() {
        Some(Part::Text { text, .. }) if goes_on => text.push_str(&more),
        _ => turn.parts.push(text_part(more)),
    }
}

fn think(turn: &mut Turn, more: Stated) {
    match &mut turn.reasoning {
        Some(known) => known.text.push_str(&more.text),
        None => turn.reasoning = Some(more),
    }
}

fn text_part(text: String) -> Part {
    Part::Text { text, cache: None }
}

/// A JSON Pointer to `at` below a turn.
fn below(turn: &Origin, at: &Origin) -> String {
    let (turn, at) = (turn.pointer(), at.pointer());
    at.strip_prefix(&turn).unwrap_or(&at).to_owned()
}

fn signature(part: &mut Object) -> Result<Option<(Origin, String)>, Error> {
    let at = part.origin("thoughtSignature");
    let text: Option<String> = part.take("thoughtSignature", "a text")?;
    Ok(text.filter(|text| !text.is_empty()).map(|text| (at, text)))
}

fn name(object: &mut Object) -> Result<String, Error> {
    let at = object.origin("name");
    let name: Option<String> = object.take("name", "a string")?;
    name.filter(|name| !name.is_empty())
        .ok_or_else(|| invalid(&at, "is missing: name the function"))
}

/// Base64 in its usual letters; Google's clients write those of URLs.
fn inline(mut data: Object) -> Result<Part, Error> {
    let at = data.origin("mimeType");
    let stated: Option<String> = data.take("mimeType", "a string")?;
    let bytes_at = data.origin("data");
    let bytes: Option<String> = data.take("data", "a text in base64")?;
    let stated = stated.filter(|kind| kind.contains('/'));
    let Some(bytes) = bytes else {
        return Err(invalid(&bytes_at, "is missing: send the bytes in base64"));
    };
    let bytes = bytes.replace('-', "+").replace('_', "/");
    let kind = media_type(&stated.unwrap_or_default(), &bytes);
    if kind.is_empty() {
        return Err(invalid(&at, "must be a media type such as image/png"));
    }
    Ok(Part::Data {
        media_type: kind,
        data: bytes,
        name: data.take("displayName", "a text")?.map(Box::new),
        cache: None,
    })
}

/// What others can fetch too, if it is an image; not what Google keeps.
fn file_part(mut file: Object) -> Result<Part, Error> {
    let at = file.origin("fileUri");
    let kind: Option<String> = file.take("mimeType", "a string")?;
    let uri: Option<String> = file.take("fileUri", "a string")?;
    let Some(url) = uri.filter(|uri| !uri.is_empty()) else {
        return Err(Error::new(
            Kind::InvalidRequest,
            format!("`{at}` is missing: name the file"),
        )
        .at(at.0));
    };
    let is_pdf = kind.as_deref() == Some("application/pdf");
    let is_image = kind.is_none_or(|kind| kind.starts_with("image/"));
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let is_google = url.contains("://generativelanguage.googleapis.com/");
    if is_image && is_web && !is_google {
        return Ok(Part::Link { url, cache: None });
    }
    if is_pdf && is_web && !is_google {
        return Ok(Part::Document { url, cache: None });
    }
    Ok(Part::Opaque { origin: file.at() })
}
