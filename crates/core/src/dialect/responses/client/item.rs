//! The items of `input`, one level deep.

use super::field::{invalid, lose};
use super::kept::before;
use super::own::Own;
use super::turns::is_encrypted;
use super::write::sealed;
use crate::dialect::client::odd_item;
use crate::error::Error;
use crate::ir::{Fields, Loss, Origin};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// `input`.
pub(super) enum Input<'a> {
    Text(String),
    Items(Vec<Item<'a>>),
}

/// An item, or a part of one.
pub(super) struct Item<'a> {
    pub(super) origin: Origin,
    members: IndexMap<String, &'a RawValue>,
}

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Call,
    CustomCall,
    Output,
    /// A call of a tool of OpenAI's own, which the client carries out (openai-python 2.54, `ResponseToolSearchCall`).
    OwnCall(Own),
    /// What it brought.
    OwnOutput(Own),
    /// What it found: tools that may be called from then on.
    Found,
    /// Tools beside those of `tools` (openai-python 3, `AdditionalTools`).
    MoreTools,
    Reasoning,
    /// The name of one that is stored.
    Stored,
    /// A conversation in short, which only who made it can read.
    Compacted,
    /// Such a one is asked for.
    Trigger,
    /// What another agent of the client's says.
    Agents,
    /// Nothing that another server than OpenAI's own could be told.
    Theirs,
}

impl<'a> Item<'a> {
    pub(super) fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let raw = self.members.get(name).copied();
        raw.filter(|raw| raw.get() != "null")
    }

    /// A member of a known type.
    pub(super) fn get<T: DeserializeOwned>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Error> {
        match self.raw(name) {
            None => Ok(None),
            Some(raw) => super::field::value(raw, &self.origin.member(name), expected),
        }
    }

    /// A text that must be there.
    pub(super) fn text(&self, name: &str) -> Result<String, Error> {
        match self.get(name, "a string")? {
            Some(text) => Ok(text),
            None => Err(invalid(
                self.origin.member(name).0,
                "is missing: it must be a string",
            )),
        }
    }

    /// The id of the call that an item is, or tells the result of. Of a local shell's result it is the item's own
    /// (openai-python 2.54, `LocalShellCallOutput`).
    pub(super) fn call_id(&self) -> Option<String> {
        let text = |name| self.get::<String>(name, "a string").ok().flatten();
        let is_local = || text("type").as_deref() == Some("local_shell_call_output");
        text("call_id").or_else(|| text("id").filter(|_| is_local()))
    }

    /// The objects of a list.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Item<'a>>, Error> {
        match self.raw(name) {
            None => Ok(Vec::new()),
            Some(raw) => list(raw, &self.origin.member(name)),
        }
    }

    /// The id of a kept item that is named here instead of being sent.
    pub(super) fn reference(&self) -> Option<String> {
        let text = |name| self.get::<String>(name, "a string").ok().flatten();
        match text("type").as_deref() {
            Some("item_reference") => text("id"),
            None if self.raw("role").is_none() && self.raw("type").is_none() => text("id"),
            _ => None,
        }
    }

    pub(super) fn kind(&self) -> Result<Kind, Error> {
        let kind: Option<String> = self.get("type", "a string")?;
        Ok(match kind.as_deref() {
            None if self.raw("role").is_some() => Kind::Message,
            None if self.raw("id").is_none() => {
                let problem = "is missing: such as \"message\"";
                return Err(invalid(self.origin.member("type").0, problem));
            }
            None | Some("item_reference") => Kind::Stored,
            Some("compaction" | "compaction_summary" | "context_compaction") => Kind::Compacted,
            Some("compaction_trigger") => Kind::Trigger,
            Some("agent_message") => Kind::Agents,
            Some("message") => Kind::Message,
            Some("function_call") => Kind::Call,
            Some("custom_tool_call") => Kind::CustomCall,
            Some("function_call_output" | "custom_tool_call_output") => Kind::Output,
            Some("reasoning") => Kind::Reasoning,
            Some("tool_search_output") => Kind::Found,
            Some("additional_tools") => Kind::MoreTools,
            Some(kind) => match Own::of_item(kind).filter(|_| self.call_id().is_some()) {
                Some((own, false)) => Kind::OwnCall(own),
                Some((own, true)) => Kind::OwnOutput(own),
                None => Kind::Theirs,
            },
        })
    }

    /// Why an item that is not here cannot be told.
    pub(super) fn elsewhere(&self, kind: Kind) -> Error {
        let problem = match kind {
            Kind::Compacted => {
                "holds a conversation that only OpenAI's own servers can read: send its items"
            }
            _ => {
                "refers to a stored item, and nothing is stored here: send the item itself, as SDKs do with \
                 `store: false` (the AI SDK: `providerOptions: {openai: {store: false}}`), or start isogloss with \
                 --responses-store memory"
            }
        };
        invalid(self.origin.0.clone(), problem)
    }

    /// Members that no other server can be told.
    fn unknown(&self, kind: Kind) -> impl Iterator<Item = &str> {
        let known: &[&str] = match kind {
            Kind::Message => &["role", "content"],
            Kind::Call => &["call_id", "namespace", "name", "arguments"],
            Kind::CustomCall => &["call_id", "namespace", "name", "input"],
            Kind::Output => &["call_id", "namespace", "name", "output"],
            Kind::OwnCall(own) => own.members(),
            Kind::OwnOutput(own) => own.output_members(),
            Kind::Found => Own::Search.output_members(),
            Kind::MoreTools => &["role", "tools"],
            Kind::Reasoning => &["summary", "content"],
            Kind::Agents => &["author", "recipient", "content"],
            Kind::Stored | Kind::Compacted | Kind::Trigger | Kind::Theirs => &[],
        };
        let says = |raw: &RawValue| !matches!(raw.get(), "null" | "false" | "[]" | "{}" | "\"\"");
        let members = self.members.iter();
        members
            .filter(move |(name, raw)| {
                let name = name.as_str();
                !matches!(name, "id" | "type" | "status") && !known.contains(&name) && says(raw)
            })
            .map(|(name, _)| name.as_str())
    }
}

/// Whether the conversation ends with asking for itself in short.
pub(super) fn asks_compaction(fields: &Fields) -> bool {
    // Nearly none does: the items are not read again to find out.
    let names_it = |input: &str| input.contains("\"compaction_trigger\"");
    if !fields.raw("input").is_some_and(names_it) {
        return false;
    }
    let last = match read(fields) {
        Ok(Input::Items(items)) => items.into_iter().next_back(),
        _ => None,
    };
    last.is_some_and(|item| item.kind().ok() == Some(Kind::Trigger))
}

/// Reads `input`.
pub(super) fn read(fields: &Fields) -> Result<Input<'_>, Error> {
    let at = Origin::new("input");
    let input = fields.0.get("input").filter(|raw| raw.get() != "null");
    let Some(input) = input else {
        if fields.raw("prompt").is_some_and(|raw| raw != "null") {
            // A template of the server's may be all.
            return Ok(Input::Items(Vec::new()));
        }
        return Err(invalid(
            at.0,
            "is missing: send the conversation, as text or as items",
        ));
    };
    if input.get().starts_with('"') {
        let text = super::field::value(input, &at, "text or a list of items")?;
        return Ok(Input::Text(text.unwrap_or_default()));
    }
    let items = list(input, &at).map_err(|_| {
        let whole = || invalid(at.0.clone(), "must be text, or a list of objects");
        odd_item(input.get(), &at).unwrap_or_else(whole)
    });
    items.map(Input::Items)
}

pub(super) fn list<'a>(raw: &'a RawValue, at: &Origin) -> Result<Vec<Item<'a>>, Error> {
    let wrong = |_| {
        let whole = || invalid(at.0.clone(), "must be a list of objects");
        odd_item(raw.get(), at).unwrap_or_else(whole)
    };
    let members: Vec<IndexMap<String, &RawValue>> =
        serde_json::from_str(raw.get()).map_err(wrong)?;
    let items = members
        .into_iter()
        .enumerate()
        .map(|(index, members)| Item {
            origin: at.item(index),
            members,
        });
    Ok(items.collect())
}

/// The tools that items of the conversation bring, each with its place.
pub(super) fn tools(fields: &Fields) -> Result<Vec<(Origin, Fields)>, Error> {
    let before = before(fields);
    let names_any = |raw: &RawValue| raw.get().contains("\"tools\"");
    let input = fields
        .0
        .get("input")
        .filter(|raw| raw.get().starts_with('['));
    let (previous, input_at) = (Origin::new("previous_response_id"), Origin::new("input"));
    let lists = [
        (before.as_ref().map(|before| &*before.items), previous),
        (input.map(|raw| &**raw), input_at),
    ];
    let mut tools = Vec::new();
    for (items, at) in &lists {
        let Some(items) = items.filter(|items| names_any(items)) else {
            continue;
        };
        for item in &list(items, at)? {
            if !matches!(item.kind()?, Kind::Found | Kind::MoreTools) {
                continue;
            }
            let listed: Option<Vec<Fields>> = item.get("tools", "a list of tools")?;
            let at = item.origin.member("tools");
            let listed = listed.unwrap_or_default().into_iter().enumerate();
            tools.extend(listed.map(|(place, tool)| (at.item(place), tool)));
        }
    }
    Ok(tools)
}

/// Whether nothing of these items is told when the request is read.
pub(super) fn is_plain(items: &[u8]) -> bool {
    let Ok(items) = serde_json::from_slice::<&RawValue>(items) else {
        return false;
    };
    let mut fields = Fields::default();
    fields.set("input", items.to_owned());
    let mut losses = Vec::new();
    let brings_none = tools(&fields).is_ok_and(|tools| tools.is_empty());
    brings_none && check(&fields, &mut losses).is_ok() && losses.is_empty()
}

/// Notes what is left out of a conversation, and refuses what cannot be.
pub(super) fn check(fields: &Fields, losses: &mut Vec<Loss>) -> Result<(), Error> {
    let Input::Items(items) = read(fields)? else {
        return Ok(());
    };
    for item in &items {
        let kind = item.kind()?;
        match kind {
            // Refused where nobody else can follow it.
            Kind::Stored | Kind::Compacted => continue,
            Kind::Theirs => {
                let reason = "only OpenAI's own servers know such items: it is left out";
                lose(losses, &item.origin, reason);
                continue;
            }
            _ => {}
        }
        for name in ["content", "output"] {
            let is_list = item.raw(name).is_some_and(|raw| raw.get().starts_with('['));
            if !is_list || !matches!(kind, Kind::Agents | Kind::Output) {
                continue;
            }
            for part in item.list(name)?.iter().filter(|part| is_encrypted(part)) {
                let reason = "only the server that made it can read it";
                lose(losses, &part.origin, reason);
            }
        }
        for name in item.unknown(kind) {
            let is_ours = || {
                let text = item.get::<String>("encrypted_content", "a string").ok();
                text.flatten().is_some_and(|text| sealed::is_ours(&text))
            };
            if name == "encrypted_content" && is_ours() {
                continue;
            }
            let reason = match name {
                "encrypted_content" => "only the server that made it can read it",
                _ => "only OpenAI's own servers know it",
            };
            lose(losses, &item.origin.member(name), reason);
        }
    }
    Ok(())
}
