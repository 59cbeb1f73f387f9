//! The items of `input` to turns. What the model said at once stands in several items: thoughts, a message, calls.

mod part;

pub(super) use part::is_encrypted;

use super::item::{self, Input, Item, Kind};
use super::kept::before;
use super::names::Names;
use super::own::Own;
use super::settings;
use super::write::sealed;
use crate::dialect::client::call_input;
use crate::error::Error;
use crate::ir::{Call, CallInput, Origin, Part, Request, Role, Sealed, Stated, Turn, raw};
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Reads the conversation.
///
/// # Errors
/// The field at fault.
pub(super) fn read_turns(request: &Request) -> Result<Vec<Turn>, Error> {
    settings::refuse_stored(&request.fields)?;
    let names = request
        .echo
        .as_deref()
        .map(Names::noted)
        .unwrap_or_default();
    let mut reading = Reading {
        turns: Vec::new(),
        names,
        called: HashMap::new(),
    };
    let told = request.fields.0.get("instructions");
    let told = told.and_then(|raw| serde_json::from_str::<Option<String>>(raw.get()).ok());
    if let Some(text) = told.flatten().filter(|text| !text.is_empty()) {
        let parts = vec![part::text(text)];
        reading.turn(Origin::new("instructions"), Role::System, parts);
    }
    let origin = Origin::new("previous_response_id");
    if let Some(before) = before(&request.fields) {
        for item in &item::list(&before.items, &origin)? {
            reading.item(item)?;
        }
    }
    match item::read(&request.fields)? {
        Input::Text(text) => {
            let parts = vec![part::text(text)];
            reading.turn(Origin::new("input"), Role::User, parts);
        }
        Input::Items(items) => {
            for item in &items {
                reading.item(item)?;
            }
        }
    }
    Ok(reading.finished())
}

/// What a model is asked that is to put a conversation in short.
const SUMMARISE: &str = "The context is nearly full. Write a summary of this conversation from which the work can go on without \
    it: what is asked for, and each wish and constraint in its own words; what was done, decided and found out, with names of files, \
    commands and values that are still needed; what is left to do, and the next step. Write the summary and nothing else.";

struct Reading {
    turns: Vec<Turn>,
    names: Names,
    /// The tools that were called, by the ids of the calls.
    called: HashMap<String, String>,
}

impl Reading {
    fn turn(&mut self, origin: Origin, role: Role, parts: Vec<Part>) -> usize {
        let mut turn = Turn::of(role, parts);
        turn.origin = origin;
        self.turns.push(turn);
        self.turns.len() - 1
    }

    fn item(&mut self, item: &Item<'_>) -> Result<(), Error> {
        match item.kind()? {
            Kind::Trigger => {
                let parts = vec![part::text(SUMMARISE.to_owned())];
                self.turn(item.origin.clone(), Role::User, parts);
                Ok(())
            }
            kind @ (Kind::Stored | Kind::Compacted) => {
                let kept: Option<String> = item.get("encrypted_content", "a string")?;
                let Some(summary) = kept.as_deref().and_then(sealed::summary_of) else {
                    return Err(item.elsewhere(kind));
                };
                let parts = vec![Part::in_short(&summary)];
                self.turn(item.origin.clone(), Role::User, parts);
                Ok(())
            }
            Kind::Agents => {
                let parts = part::of_agent(item)?;
                self.turn(item.origin.clone(), Role::User, parts);
                Ok(())
            }
            Kind::Message => self.message(item),
            Kind::Call => {
                let origin = item.origin.member("arguments");
                let input = arguments(item.raw("arguments"), origin);
                self.call(item, input)
            }
            Kind::CustomCall => {
                let input = CallInput::Custom(item.text("input")?);
                self.call(item, input)
            }
            Kind::Output => {
                let mut resolutions = Vec::new();
                let parts = part::parts(item, "output", &mut resolutions)?;
                self.output(item, parts, resolutions)
            }
            Kind::OwnCall(own) => {
                let input = match own.written(item)? {
                    Some(written) => CallInput::Object(raw(&written)),
                    None => {
                        let origin = item.origin.member("arguments");
                        arguments(item.raw("arguments"), origin)
                    }
                };
                let name = self.names.own(own).to_owned();
                self.call_of(item, name, input)
            }
            Kind::OwnOutput(own) => {
                let parts = vec![part::text(own.output(item)?)];
                self.output(item, parts, Vec::new())
            }
            // What OpenAI's servers looked for themselves was never called here.
            Kind::Found if item.raw("call_id").is_none() => Ok(()),
            Kind::Found => {
                let parts = vec![part::text(self.found(item)?)];
                self.output(item, parts, Vec::new())
            }
            Kind::Reasoning => self.thought(item),
            // Told when the request was read.
            Kind::Theirs | Kind::MoreTools => Ok(()),
        }
    }

    /// The assistant's turn that goes on, or a new one.
    fn assistant(&mut self, item: &Item<'_>, goes_on: fn(&Turn) -> bool) -> Option<&mut Turn> {
        let is_open = |turn: &Turn| turn.role == Role::Assistant && goes_on(turn);
        if !self.turns.last().is_some_and(is_open) {
            self.turn(item.origin.clone(), Role::Assistant, Vec::new());
        }
        self.turns.last_mut()
    }

    fn message(&mut self, item: &Item<'_>) -> Result<(), Error> {
        let role = match item.text("role")?.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" | "developer" => Role::System,
            _ => {
                let at = item.origin.member("role").0;
                let problem = "must be user, assistant, system or developer";
                return Err(super::field::invalid(at, problem));
            }
        };
        let mut resolutions = Vec::new();
        let parts = part::parts(item, "content", &mut resolutions)?;
        let turn = match role {
            // Two messages are two turns.
            Role::Assistant => self.assistant(item, |turn| turn.parts.is_empty()),
            role => {
                let place = self.turn(item.origin.clone(), role, Vec::new());
                self.turns.get_mut(place)
            }
        };
        if let Some(turn) = turn {
            turn.parts.extend(parts);
            turn.resolutions.extend(resolutions);
        }
        Ok(())
    }

    fn call(&mut self, item: &Item<'_>, input: CallInput) -> Result<(), Error> {
        let namespace: Option<String> = item.get("namespace", "a string")?;
        let name = self.names.flat(namespace.as_deref(), &item.text("name")?);
        self.call_of(item, name, input)
    }

    fn call_of(&mut self, item: &Item<'_>, name: String, input: CallInput) -> Result<(), Error> {
        let id = item.text("call_id")?;
        self.called.insert(id.clone(), name.clone());
        let call = Call {
            origin: item.origin.clone(),
            id: Some(id),
            name,
            input,
            signature: None,
        };
        if let Some(turn) = self.assistant(item, |_| true) {
            turn.calls.push(call);
        }
        Ok(())
    }

    /// What a search for tools tells the model: their names, since the tools themselves are among the request's.
    fn found(&self, item: &Item<'_>) -> Result<String, Error> {
        let mut found = Vec::new();
        for tool in item.list("tools")? {
            match tool.get::<String>("type", "a string")?.as_deref() {
                Some("namespace") => {
                    let namespace = tool.text("name")?;
                    for tool in tool.list("tools")? {
                        found.push(self.names.flat(Some(&namespace), &tool.text("name")?));
                    }
                }
                Some("function" | "custom") => found.push(tool.text("name")?),
                kind => {
                    let own = kind.and_then(Own::of);
                    found.extend(own.map(|own| self.names.own(own).to_owned()));
                }
            }
        }
        Ok(match found.is_empty() {
            true => "No tools were found.".to_owned(),
            false => format!("Found tools, which can be called now: {}", found.join(", ")),
        })
    }

    fn output(
        &mut self,
        item: &Item<'_>,
        parts: Vec<Part>,
        resolutions: Vec<Origin>,
    ) -> Result<(), Error> {
        let id = match item.call_id() {
            Some(id) => id,
            None => item.text("call_id")?,
        };
        let Some(tool) = self.called.get(&id).cloned() else {
            // As OpenAI's own servers say it; to some a result without its call is one of any call.
            let problem = "answers no call before it: send the call's own item too";
            let at = item.origin.member("call_id").0;
            return Err(super::field::invalid(at, problem));
        };
        let place = self.turn(item.origin.clone(), Role::Tool, parts);
        if let Some(turn) = self.turns.get_mut(place) {
            turn.call_id = Some(id);
            turn.tool = Some(tool);
            turn.resolutions = resolutions;
        }
        let is_thought = |turn: &Turn| {
            turn.role == Role::Assistant && turn.parts.is_empty() && turn.calls.is_empty()
        };
        // Results stand together; what was thought between two of them goes on behind.
        let is_behind_thought = matches!(
            self.turns.as_slice(),
            [.., before, thought, _] if before.role == Role::Tool && is_thought(thought)
        );
        if is_behind_thought {
            self.turns.swap(place - 1, place);
        }
        Ok(())
    }

    fn thought(&mut self, item: &Item<'_>) -> Result<(), Error> {
        // What was thought stands in `content`; `summary` is OpenAI's retelling of it.
        let mut told = None;
        for name in ["content", "summary"] {
            let is_text = item.raw(name).is_some_and(|raw| raw.get().starts_with('"'));
            let texts: Vec<String> = if is_text {
                // As `@ax-llm/ax` 24 sends it back.
                vec![item.text(name)?]
            } else {
                let parts = item.list(name)?;
                let texts = parts.iter().map(|part| part.text("text"));
                texts.collect::<Result<_, _>>()?
            };
            if !texts.is_empty() && told.is_none() {
                told = Some((item.origin.member(name), texts.join("\n\n")));
            }
        }
        let kept: Option<String> = item.get("encrypted_content", "a string")?;
        let origin = item.origin.member("encrypted_content");
        // What the model said on the way to an answer is its text.
        if kept.as_deref().and_then(sealed::message).is_some() {
            if let Some((_, text)) = told
                && let Some(turn) = self.assistant(item, |turn| turn.parts.is_empty())
            {
                turn.parts.push(part::text(text));
            }
            return Ok(());
        }
        let (sealed, thought) = kept.as_deref().map(sealed::read).unwrap_or_default();
        // Some clients send this alone.
        let told = told.or_else(|| Some((origin.clone(), thought?)));
        // A signature without a thought is that of the text before it, which was told first.
        let is_signature = |sealed: &Sealed| matches!(sealed, Sealed::Signature(_));
        let signs = told.is_none() && !sealed.is_empty() && sealed.iter().all(is_signature);
        let turn = match signs {
            true => self.assistant(item, |_turn| true),
            false => self.assistant(item, |turn| turn.parts.is_empty() || !turn.calls.is_empty()),
        };
        let Some(turn) = turn else {
            return Ok(());
        };
        if let Some((origin, text)) = told {
            match &mut turn.reasoning {
                Some(known) => {
                    known.text.push_str("\n\n");
                    known.text.push_str(&text);
                }
                None => turn.reasoning = Some(Stated { origin, text }),
            }
        }
        for sealed in sealed {
            turn.hold(origin.clone(), sealed);
        }
        Ok(())
    }

    fn finished(mut self) -> Vec<Turn> {
        for (index, turn) in self.turns.iter_mut().enumerate() {
            turn.index = index;
            // Thoughts alone are no message.
            if turn.role == Role::Assistant && turn.parts.is_empty() && turn.calls.is_empty() {
                turn.parts.push(part::text(String::new()));
            }
        }
        self.turns
    }
}

/// Arguments are the text of an object; some clients send the object itself.
fn arguments(arguments: Option<&RawValue>, origin: Origin) -> CallInput {
    let text = arguments.map(|raw| {
        serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
    });
    // PHP makes a list of an object without members.
    let is_said = |text: &String| !matches!(text.trim(), "" | "[]" | "null");
    let text = text.filter(is_said).unwrap_or_else(|| "{}".to_owned());
    call_input(text, origin)
}
