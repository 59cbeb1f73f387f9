//! Tools, flat and in namespaces, and the choice among them.

mod choice;

use super::field::{invalid, lose, lose_rest, member};
use super::item;
use super::names::Names;
use super::own::Own;
use crate::dialect::client::{objects, truth};
use crate::dialect::regexes;
use crate::error::{Error, Kind};
use crate::ir::{Constraint, Fields, Loss, Notation, Origin, Tool, ToolChoice, ToolInput, raw};
use serde_json::{Value, json};
use std::collections::HashSet;

/// More tools than this are refused.
const MAX_TOOLS: usize = 512;
/// A longer name is refused; OpenAI's own limit is 64, other clients go beyond it.
const MAX_NAME_CHARS: usize = 256;

/// The tools of a request, and what it says of calls.
pub(super) struct Tools {
    pub(super) tools: Vec<Tool>,
    pub(super) choice: ToolChoice,
    pub(super) states_choice: bool,
    pub(super) names: Names,
    /// The choice is one that only a server keeps which runs such tools itself.
    pub(super) hosted_choice: Option<Error>,
    /// One that the server runs itself is what the choice demands too.
    pub(super) takes_hosted: bool,
}

impl Tools {
    /// None may be called; what was called has its name still.
    pub(super) fn leave_out(&mut self) {
        self.tools.clear();
        self.choice = ToolChoice::None;
        self.states_choice = false;
        self.hosted_choice = None;
        self.takes_hosted = false;
    }
}

/// What is read of `tools`.
#[derive(Default)]
struct Reading {
    tools: Vec<Tool>,
    /// The tools that stand in namespaces: their places among the tools, and the namespaces.
    within: Vec<(usize, String)>,
    /// Types of tools that OpenAI's own servers run, and of those of theirs that the client does: its servers tell of both alike.
    hosted: Vec<String>,
    /// The places of OpenAI's tools that the client carries out.
    own: Vec<(usize, Own)>,
    /// What is read stands in the conversation: a tool that is there already is no other one.
    is_found: bool,
}

pub(super) fn read(fields: &Fields, losses: &mut Vec<Loss>) -> Result<Tools, Error> {
    let expected = "a list of tools, each an object with a `type`";
    let listed = objects(fields, "tools", expected)?;
    let mut reading = Reading::default();
    let list = Origin::new("tools");
    for (index, tool) in listed.unwrap_or_default().into_iter().enumerate() {
        reading.tool(tool, &list.item(index), None, losses)?;
    }
    reading.is_found = true;
    for (origin, mut tool) in item::tools(fields)? {
        loaded(&mut tool);
        reading.tool(tool, &origin, None, losses)?;
    }
    if reading.tools.len() > MAX_TOOLS {
        let message = format!("`tools` has more than {MAX_TOOLS} tools");
        return Err(Error::new(Kind::InvalidRequest, message).at("tools"));
    }
    let names = reading.name()?;
    let mut hosts = choice::OfHosts::default();
    let stated = choice::read(fields, &reading, &names, losses, &mut hosts)?;
    let states_choice = stated.is_some();
    let choice = stated.unwrap_or(match reading.tools.is_empty() {
        true => ToolChoice::None,
        false => ToolChoice::Auto,
    });
    Ok(Tools {
        tools: reading.tools,
        choice,
        states_choice,
        names,
        hosted_choice: hosts.refusal,
        takes_hosted: hosts.will_do,
    })
}

impl Reading {
    fn tool(
        &mut self,
        mut tool: Fields,
        origin: &Origin,
        namespace: Option<&Namespace>,
        losses: &mut Vec<Loss>,
    ) -> Result<(), Error> {
        let kind: Option<String> = member(&mut tool, "type", origin, "a string")?;
        let own = kind.as_deref().filter(|_| namespace.is_none());
        if let Some(own) = own.and_then(|kind| Own::of_clients(kind, &tool)) {
            return self.own(own, tool, origin, losses);
        }
        match (kind.as_deref(), namespace) {
            (None, _) => {
                return Err(invalid(
                    origin.member("type").0,
                    "is missing: such as \"function\"",
                ));
            }
            (Some("namespace"), None) => return self.namespace(tool, origin, losses),
            (Some(kind @ ("function" | "custom")), _) => {
                let input_origin = origin.member(match kind {
                    "function" => "parameters",
                    _ => "format",
                });
                let name = name(&mut tool, origin)?;
                if self.is_found && self.has(namespace, &name) {
                    return Ok(());
                }
                let description = member(&mut tool, "description", origin, "a string")?;
                let input = match kind {
                    "function" => function(&mut tool, origin, &input_origin)?,
                    _ => custom(&mut tool, &input_origin)?,
                };
                if let Some(namespace) = namespace {
                    self.within.push((self.tools.len(), namespace.name.clone()));
                }
                self.tools.push(Tool {
                    origin: origin.clone(),
                    input_origin,
                    name,
                    description: described(namespace, description),
                    input,
                });
                lose_rest(losses, &tool, origin);
            }
            (Some(hosted), _) => {
                let reason = "only OpenAI's own servers run it: the model is not told of it";
                lose(losses, origin, reason);
                self.hosted.push(hosted.to_owned());
            }
        }
        Ok(())
    }

    fn own(
        &mut self,
        own: Own,
        mut tool: Fields,
        origin: &Origin,
        losses: &mut Vec<Loss>,
    ) -> Result<(), Error> {
        if self.own.iter().any(|(_, known)| *known == own) {
            // Those of one conversation are one.
            return match self.is_found || own == Own::Search {
                true => Ok(()),
                false => Err(invalid(
                    origin.0.clone(),
                    "is of a type that is there already: list it once",
                )),
            };
        }
        tool.remove("execution");
        let (description, input, input_origin) = match own.take_published(&mut tool) {
            Some((description, schema)) => {
                let strict = false;
                let input = ToolInput::Schema { schema, strict };
                (Some(description), input, origin.clone())
            }
            None => {
                let input_origin = origin.member("parameters");
                let description = member(&mut tool, "description", origin, "a string")?;
                let input = function(&mut tool, origin, &input_origin)?;
                (description, input, input_origin)
            }
        };
        self.own.push((self.tools.len(), own));
        self.hosted.push(own.kind().to_owned());
        self.tools.push(Tool {
            origin: origin.clone(),
            name: String::new(),
            description,
            input,
            input_origin,
        });
        lose_rest(losses, &tool, origin);
        Ok(())
    }

    fn namespace(
        &mut self,
        mut tool: Fields,
        origin: &Origin,
        losses: &mut Vec<Loss>,
    ) -> Result<(), Error> {
        let namespace = Namespace {
            name: name(&mut tool, origin)?,
            description: member(&mut tool, "description", origin, "a string")?,
        };
        let expected = "a list of tools";
        let within: Option<Vec<Fields>> = member(&mut tool, "tools", origin, expected)?;
        let list = origin.member("tools");
        for (index, tool) in within.unwrap_or_default().into_iter().enumerate() {
            self.tool(tool, &list.item(index), Some(&namespace), losses)?;
        }
        lose_rest(losses, &tool, origin);
        Ok(())
    }

    /// The tool of OpenAI's own of this type that the client carries out.
    fn own_of(&self, kind: Option<&str>) -> Option<Own> {
        let mut all = self.own.iter().map(|(_, own)| *own);
        all.find(|own| Some(own.kind()) == kind)
    }

    /// Whether there is a tool of this name.
    fn has(&self, namespace: Option<&Namespace>, name: &str) -> bool {
        let wanted = namespace.map(|namespace| namespace.name.as_str());
        self.tools.iter().enumerate().any(|(place, tool)| {
            let mut within = self.within.iter();
            let known = within.find(|(within, _)| *within == place);
            tool.name == name && known.map(|(_, namespace)| namespace.as_str()) == wanted
        })
    }

    /// Gives the tools of namespaces names of their own, and refuses two of one name.
    fn name(&mut self) -> Result<Names, Error> {
        let mut names = Names::default();
        let is_within = |place: usize| self.within.iter().any(|(within, _)| *within == place);
        let mut plain = HashSet::new();
        for (place, tool) in self.tools.iter().enumerate() {
            let is_own = self.own.iter().any(|(own, _)| *own == place);
            if !is_within(place) && !is_own && !plain.insert(tool.name.clone()) {
                return Err(twice(tool));
            }
        }
        let mut known = HashSet::new();
        for (place, namespace) in &self.within {
            let Some(tool) = self.tools.get_mut(*place) else {
                continue;
            };
            if !known.insert((namespace.clone(), tool.name.clone())) {
                return Err(twice(tool));
            }
            tool.name = names.add(namespace, &tool.name, |name| plain.contains(name));
        }
        for (place, own) in &self.own {
            if let Some(tool) = self.tools.get_mut(*place) {
                tool.name = names.add_own(*own, |name| plain.contains(name));
            }
        }
        Ok(names)
    }
}

/// That its loading was put off says nothing of a tool that was found.
fn loaded(tool: &mut Fields) {
    tool.remove("defer_loading");
    let within = tool
        .raw("tools")
        .and_then(|raw| serde_json::from_str::<Vec<Fields>>(raw).ok());
    if let Some(mut within) = within {
        within.iter_mut().for_each(loaded);
        tool.set("tools", raw(&within));
    }
}

struct Namespace {
    name: String,
    description: Option<String>,
}

/// The model is told of the namespace with each of its tools.
fn described(namespace: Option<&Namespace>, description: Option<String>) -> Option<String> {
    let of = namespace.and_then(|namespace| namespace.description.as_deref());
    match (of.filter(|text| !text.is_empty()), description) {
        (None, description) => description,
        (Some(of), None) => Some(of.to_owned()),
        (Some(of), Some(description)) => Some(format!("{of}\n\n{description}")),
    }
}

fn twice(tool: &Tool) -> Error {
    let at = tool.origin.member("name").0;
    let message = format!("`{at}` names a tool that is there already: names must differ");
    Error::new(Kind::DuplicateToolName, message).at(at)
}

fn name(tool: &mut Fields, origin: &Origin) -> Result<String, Error> {
    let at = origin.member("name").0;
    let wrong = |problem: &str| {
        Err(Error::new(Kind::InvalidToolName, format!("`{at}` {problem}")).at(at.clone()))
    };
    let name: Option<String> = member(tool, "name", origin, "a string")?;
    match name.filter(|name| !name.is_empty()) {
        None if tool.has("function") || tool.has("custom") => {
            wrong("is missing: in Responses a tool's `name` stands beside its `type`")
        }
        None => wrong("is missing: a tool needs a name"),
        Some(name)
            if name.chars().count() > MAX_NAME_CHARS || name.chars().any(char::is_control) =>
        {
            wrong("must be at most 256 characters, none of them a control character")
        }
        Some(name) => Ok(name),
    }
}

/// Whether it is said to be strict, be it in a text.
pub(super) fn strict(of: &mut Fields, origin: &Origin) -> Result<Option<bool>, Error> {
    let stated: Option<Value> = member(of, "strict", origin, "true or false")?;
    let strict = stated.map(|stated| truth(&stated, || origin.member("strict").0));
    strict.transpose()
}

fn function(tool: &mut Fields, origin: &Origin, at: &Origin) -> Result<ToolInput, Error> {
    let strict = strict(tool, origin)?.unwrap_or(false);
    let schema = match member::<Value>(tool, "parameters", origin, "a JSON Schema object")? {
        None => json!({"type": "object", "properties": {}}),
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => schema,
        Some(_) => {
            let message = format!("`{at}` must be a JSON Schema object");
            return Err(Error::new(Kind::InvalidSchema, message).at(at.0.clone()));
        }
    };
    Ok(ToolInput::Schema { schema, strict })
}

fn custom(tool: &mut Fields, at: &Origin) -> Result<ToolInput, Error> {
    let origin = Origin::new(at.0.trim_end_matches(".format"));
    let expected = "an object with a `type`";
    let Some(mut format) = member::<Fields>(tool, "format", &origin, expected)? else {
        return Ok(ToolInput::Text(None));
    };
    let expected = "\"text\" or \"grammar\"";
    let kind: Option<String> = member(&mut format, "type", at, expected)?;
    match kind.as_deref() {
        Some("text") => return Ok(ToolInput::Text(None)),
        Some("grammar") => {}
        _ => return Err(invalid(at.member("type").0, &format!("must be {expected}"))),
    }
    let syntax: Option<String> = member(&mut format, "syntax", at, "\"lark\" or \"regex\"")?;
    let text: Option<String> = member(&mut format, "definition", at, "a string")?;
    let Some(text) = text else {
        let problem = "is missing: put the grammar's text there, beside `syntax`";
        return Err(invalid(at.member("definition").0, problem));
    };
    Ok(ToolInput::Text(Some(match syntax.as_deref() {
        Some("regex") => regexes::of_custom_tool(&text, &at.member("definition").0)?,
        Some("lark") => Constraint::Grammar {
            notation: Notation::Lark,
            text,
        },
        _ => {
            return Err(invalid(
                at.member("syntax").0,
                "must be \"lark\" or \"regex\"",
            ));
        }
    })))
}
