//! `generateContent` from a client of Gemini's, edited.

use super::super::sealed;
use super::{calling, method_path};
use crate::dialect::gemini::client::object::camel;
use crate::dialect::server::editor::{Editor, append};
use crate::dialect::{empty_list, images};
use crate::error::{Error, Kind};
use crate::ir::{
    Fields, History, Origin, Refusal, Request, Role, Tool, ToolChoice, ToolInput, raw, raw_string,
};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Of a call.
const ARGUMENTS: &str = "args";

/// Edits Gemini's bodies, in either spelling of their names.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct GeminiEditor;

/// The name that a field has in this object.
fn own<'n>(fields: &'n Fields, name: &'n str) -> &'n str {
    let mut names = fields.0.keys().map(String::as_str);
    names.find(|own| camel(own) == name).unwrap_or(name)
}

/// Takes a member, whichever way it is spelled.
fn remove(fields: &mut Fields, name: &str) -> Option<Box<RawValue>> {
    let own = own(fields, name).to_owned();
    fields.remove(&own)
}

fn set(fields: &mut Fields, name: &str, value: Box<RawValue>) {
    let own = own(fields, name).to_owned();
    fields.set(&own, value);
}

/// A member that is an object.
fn object(fields: &Fields, name: &str) -> Option<Fields> {
    serde_json::from_str(fields.raw(own(fields, name))?).ok()
}

/// The items of a list; an object that stands alone is a list of one.
fn items(fields: &Fields, name: &str) -> Option<Vec<Box<RawValue>>> {
    let list = fields.raw(own(fields, name))?;
    if list.starts_with('{') {
        return Some(vec![raw_string(list.to_owned())]);
    }
    serde_json::from_str(list).ok()
}

fn is_ours(part: &RawValue) -> bool {
    let part: Fields = serde_json::from_str(part.get()).unwrap_or_default();
    let signature = part.raw(own(&part, "thoughtSignature"));
    let signature = signature.and_then(|raw| raw.strip_prefix('"'));
    signature.is_some_and(|signature| signature.starts_with(sealed::MARK))
}

/// The content with this signature on its first call, where that has none.
fn signed(content: &RawValue, stand_in: &str) -> Option<Box<RawValue>> {
    let mut content: Fields = serde_json::from_str(content.get()).ok()?;
    let mut parts = items(&content, "parts")?;
    let (at, mut part) = parts.iter().enumerate().find_map(|(at, part)| {
        let part: Fields = serde_json::from_str(part.get()).ok()?;
        part.has(own(&part, "functionCall")).then_some((at, part))
    })?;
    let stated = part.raw(own(&part, "thoughtSignature"));
    if !matches!(stated, None | Some("null" | "\"\"")) {
        return None;
    }
    set(&mut part, "thoughtSignature", raw(stand_in));
    *parts.get_mut(at)? = raw(&part);
    set(&mut content, "parts", raw(&parts));
    Some(raw(&content))
}

/// The content without the thoughts that we signed: what is said behind one keeps all but its signature.
fn without_thoughts(content: &RawValue) -> Option<Box<RawValue>> {
    if !content.get().contains(sealed::MARK) {
        return None;
    }
    let mut content: Fields = serde_json::from_str(content.get()).ok()?;
    let without = |part: Box<RawValue>| {
        if !is_ours(&part) {
            return Some(part);
        }
        let mut part: Fields = serde_json::from_str(part.get()).ok()?;
        let says_nothing = part.raw("text") == Some("\"\"");
        let is_thought = part.raw("thought") == Some("true");
        remove(&mut part, "thoughtSignature");
        (!is_thought && !says_nothing).then(|| raw(&part))
    };
    let parts: Vec<Box<RawValue>> = (items(&content, "parts")?.into_iter())
        .filter_map(without)
        .collect();
    set(&mut content, "parts", raw(&parts));
    Some(raw(&content))
}

/// The content with objects as the arguments of its calls; `None` where it has others nowhere.
fn with_objects(content: &RawValue) -> Option<Box<RawValue>> {
    let mut content: Fields = serde_json::from_str(content.get()).ok()?;
    let mut parts = items(&content, "parts")?;
    let mut changed = false;
    for part in &mut parts {
        let Ok(mut fields) = serde_json::from_str::<Fields>(part.get()) else {
            continue;
        };
        if let Some(mut call) = object(&fields, "functionCall")
            && empty_list::mend(&mut call, ARGUMENTS)
        {
            set(&mut fields, "functionCall", raw(&call));
            *part = raw(&fields);
            changed = true;
        }
    }
    set(&mut content, "parts", raw(&parts));
    changed.then(|| raw(&content))
}

/// Gives the images in a list of parts the media types that they have; whether any had another one.
fn in_parts(of: &mut Fields) -> bool {
    let Some(mut parts) = items(of, "parts") else {
        return false;
    };
    let mut changed = false;
    for part in &mut parts {
        if !images::GEMINI.may_be_wrong(part.get().as_bytes()) {
            continue;
        }
        let Ok(mut fields) = serde_json::from_str::<Fields>(part.get()) else {
            continue;
        };
        let mut is_mended = false;
        if let Some(mut data) = object(&fields, "inlineData") {
            let kind = own(&data, "mimeType").to_owned();
            if images::mend(&mut data, &kind, "data") {
                set(&mut fields, "inlineData", raw(&data));
                is_mended = true;
            }
        }
        if let Some(mut result) = object(&fields, "functionResponse")
            && in_parts(&mut result)
        {
            set(&mut fields, "functionResponse", raw(&result));
            is_mended = true;
        }
        if is_mended {
            *part = raw(&fields);
            changed = true;
        }
    }
    if changed {
        set(of, "parts", raw(&parts));
    }
    changed
}

/// The content with the media types that its images have; `None` where it has those.
fn with_types(content: &RawValue) -> Option<Box<RawValue>> {
    let mut content: Fields = serde_json::from_str(content.get()).ok()?;
    in_parts(&mut content).then(|| raw(&content))
}

/// An item of a list as it is to be; `None` where it stays.
type Mend = fn(&RawValue) -> Option<Box<RawValue>>;

impl Editor for GeminiEditor {
    fn path(&self, request: &Request) -> Cow<'static, str> {
        Cow::Owned(method_path(&request.model, request.stream))
    }

    /// Thoughts of Anthropic's that were signed as Gemini's are: this server knows no such signature. Arguments that are empty lists
    /// are objects, and images have the media type of their first bytes.
    fn respell(&self, fields: &mut Cow<'_, Fields>, _request: &Request) -> bool {
        let is_odd = |raw: &str| {
            raw.contains(sealed::MARK)
                || empty_list::may_stand_in(raw.as_bytes(), ARGUMENTS)
                || images::GEMINI.may_be_wrong(raw.as_bytes())
        };
        let contents = fields.raw("contents").filter(|raw| is_odd(raw));
        let Some(mut contents) = contents.and_then(|_| items(fields, "contents")) else {
            return false;
        };
        let mends: [Mend; 3] = [without_thoughts, with_objects, with_types];
        let mut changed = false;
        for content in &mut contents {
            for mend in mends {
                if let Some(mended) = mend(content) {
                    *content = mended;
                    changed = true;
                }
            }
        }
        if changed {
            fields.to_mut().set("contents", raw(&contents));
        }
        changed
    }

    fn sign(&self, fields: &mut Cow<'_, Fields>, history: &History) -> bool {
        let stand_in = history.unsigned.as_deref();
        let Some(stand_in) = stand_in.filter(|_| history.refuses(Refusal::UnsignedCalls)) else {
            return false;
        };
        let Some(mut contents) = items(fields, "contents") else {
            return false;
        };
        let mut changed = false;
        for content in &mut contents {
            if let Some(signed) = signed(content, stand_in) {
                *content = signed;
                changed = true;
            }
        }
        if changed {
            fields.to_mut().set("contents", raw(&contents));
        }
        changed
    }

    fn may_sign(&self, conversation: &[u8], history: &History) -> bool {
        let has = |name: &str| memchr::memmem::find(conversation, name.as_bytes()).is_some();
        history.refuses(Refusal::UnsignedCalls)
            && (has("\"functionCall\"") || has("\"function_call\""))
    }

    fn foreign_thought(&self, fields: &Fields) -> Option<String> {
        fields
            .raw("contents")
            .filter(|raw| raw.contains(sealed::MARK))?;
        let mut contents = items(fields, "contents")?.into_iter().enumerate();
        contents.find_map(|(at, content)| {
            let content: Fields = serde_json::from_str(content.get()).ok()?;
            let part = items(&content, "parts")?
                .iter()
                .position(|part| is_ours(part))?;
            Some(format!("/contents/{at}/parts/{part}"))
        })
    }

    /// What says how an answer is framed goes with it, and the object is spelled as rules spell it.
    fn unstate(&self, fields: &mut Fields, stated: &Origin) -> Option<Box<RawValue>> {
        let (field, member) = stated.0.split_once('.')?;
        let mut config: Fields = serde_json::from_str(fields.raw(field)?).ok()?;
        let removed = config.remove(member)?;
        remove(&mut config, "responseMimeType");
        fields.remove(field);
        if !config.0.is_empty() {
            fields.set("generationConfig", raw(&config));
        }
        Some(removed)
    }

    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]) {
        let Some(stated) = items(fields, "tools") else {
            return;
        };
        let mut known = request.tools.iter();
        let mut kept: Vec<Box<RawValue>> = Vec::with_capacity(stated.len());
        for item in stated {
            let Ok(mut tool) = serde_json::from_str::<Fields>(item.get()) else {
                continue;
            };
            let Some(declared) = items(&tool, "functionDeclarations") else {
                kept.push(item);
                continue;
            };
            let left: Vec<Box<RawValue>> = (declared.into_iter())
                .filter_map(|declared| declaration(known.next()?, tools, declared))
                .collect();
            if left.is_empty() {
                remove(&mut tool, "functionDeclarations");
            } else {
                set(&mut tool, "functionDeclarations", raw(&left));
            }
            if !tool.0.is_empty() {
                kept.push(raw(&tool));
            }
        }
        if kept.is_empty() {
            fields.remove("tools");
        } else {
            fields.set("tools", raw(&kept));
        }
    }

    fn choice(&self, fields: &mut Fields, choice: Option<&ToolChoice>, _tools: &[Tool]) {
        let mut config = object(fields, "toolConfig").unwrap_or_default();
        match choice {
            None => drop(remove(&mut config, "functionCallingConfig")),
            Some(choice) => set(&mut config, "functionCallingConfig", raw(&calling(choice))),
        }
        if config.0.is_empty() {
            remove(fields, "toolConfig");
        } else {
            set(fields, "toolConfig", raw(&config));
        }
    }

    // There is no field for it.
    fn parallel(&self, _fields: &mut Fields, _parallel: Option<bool>) {}

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let name = own(fields, "systemInstruction").to_owned();
        let stated = fields.raw(&name).filter(|raw| *raw != "null");
        let Some(stated) = stated else {
            fields.set(&name, raw(&json!({"parts": [{"text": text}]})));
            return Ok(());
        };
        let mut content = match serde_json::from_str::<String>(stated) {
            Ok(stated) => {
                let mut content = Fields::default();
                content.set("parts", raw(&json!([{"text": stated}])));
                content
            }
            Err(_) => serde_json::from_str::<Fields>(stated).map_err(|_| {
                let message = format!("`{name}` must be an object");
                Error::new(Kind::InvalidRequest, message).at(name.clone())
            })?,
        };
        let mut parts = items(&content, "parts").unwrap_or_default();
        parts.push(raw(&json!({"text": text})));
        content.set("parts", raw(&parts));
        fields.set(&name, raw(&content));
        Ok(())
    }

    fn stop_at(&self, fields: &mut Fields, kept: &[String]) {
        let Some(mut config) = object(fields, "generationConfig") else {
            return;
        };
        remove(&mut config, "stopSequences");
        if !kept.is_empty() {
            set(&mut config, "stopSequences", raw(kept));
        }
        set(fields, "generationConfig", raw(&config));
    }

    fn say(&self, fields: &mut Fields, role: Role, text: &str) {
        let role = match role {
            Role::Assistant => "model",
            Role::User | Role::Tool | Role::System => "user",
        };
        if let Some(alone) = fields.raw("contents").filter(|raw| raw.starts_with('{')) {
            fields.set("contents", raw_string(format!("[{alone}]")));
        }
        let turn = json!({"role": role, "parts": [{"text": text}]});
        append(fields, "contents", &turn);
    }
}

/// A function that the client declared, as the server is shown it, if it is.
fn declaration(known: &Tool, tools: &[Tool], declared: Box<RawValue>) -> Option<Box<RawValue>> {
    let tool = tools.iter().find(|tool| tool.origin == known.origin)?;
    if tool == known {
        return Some(declared);
    }
    let ToolInput::Schema { schema, .. } = &tool.input else {
        return None;
    };
    let mut written: Fields = serde_json::from_str(declared.get()).ok()?;
    remove(&mut written, "parameters");
    set(&mut written, "parametersJsonSchema", raw(schema));
    Some(raw(&written))
}
