//! `tool_choice`, in all of its forms.

use super::super::field::{field, invalid, lose, member};
use super::super::names::Names;
use super::Reading;
use crate::error::{Error, Kind, repeatable};
use crate::ir::{Fields, Loss, Origin, ToolChoice};
use serde_json::value::RawValue;

const EXPECTED: &str = "\"none\", \"auto\", \"required\", {\"type\": \"function\", \"name\": …}, \
                        {\"type\": \"custom\", \"name\": …} or {\"type\": \"allowed_tools\", …}";

/// What a choice says of tools that only a server runs.
#[derive(Default)]
pub(super) struct OfHosts {
    /// It demands one of them: the answer of all servers that run none.
    pub(super) refusal: Option<Error>,
    /// One of them is as good as any other.
    pub(super) will_do: bool,
}

/// The choice, where one is stated. What only a server keeps that runs the tool itself is left to the model here, and
/// what all others are to answer is noted.
pub(super) fn read(
    fields: &Fields,
    reading: &Reading,
    names: &Names,
    losses: &mut Vec<Loss>,
    of_hosts: &mut OfHosts,
) -> Result<Option<ToolChoice>, Error> {
    let raw = field::<Box<RawValue>>(fields, "tool_choice", EXPECTED)?;
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
        return Ok(None);
    };
    let at = Origin::new("tool_choice");
    let choice = if let Ok(word) = serde_json::from_str::<String>(raw.get()) {
        match word.as_str() {
            "none" => ToolChoice::None,
            "auto" => ToolChoice::Auto,
            "required" => {
                of_hosts.will_do = !reading.hosted.is_empty();
                ToolChoice::Required
            }
            _ => return Err(invalid(at.0, &format!("must be {EXPECTED}"))),
        }
    } else {
        let object: Result<Fields, _> = serde_json::from_str(raw.get());
        let object = object.map_err(|_| invalid(at.0.clone(), &format!("must be {EXPECTED}")))?;
        typed(object, reading, names, losses, of_hosts)?
    };
    if !choice.is_forced() || !reading.tools.is_empty() {
        return Ok(Some(choice));
    }
    if reading.hosted.is_empty() {
        let problem = "asks for a call, and no tools are given: add `tools`";
        return Err(invalid(at.0, problem));
    }
    let hosted = reading.hosted.join(", ");
    let problem = format!(
        "asks for a call, and only OpenAI's own servers run the tools that are given ({hosted}): add a function"
    );
    of_hosts.refusal = Some(invalid(at.0, &problem));
    Ok(Some(ToolChoice::Auto))
}

fn typed(
    mut choice: Fields,
    reading: &Reading,
    names: &Names,
    losses: &mut Vec<Loss>,
    of_hosts: &mut OfHosts,
) -> Result<ToolChoice, Error> {
    let at = Origin::new("tool_choice");
    let kind: Option<String> = member(&mut choice, "type", &at, "a string")?;
    if let Some(own) = reading.own_of(kind.as_deref()) {
        return Ok(ToolChoice::Named(names.own(own).to_owned()));
    }
    match kind.as_deref() {
        Some("function" | "custom") => {
            Ok(ToolChoice::Named(named(&mut choice, &at, reading, names)?))
        }
        Some("allowed_tools") => allowed(choice, reading, names, losses, of_hosts),
        Some(hosted) => {
            of_hosts.refusal = Some(is_hosted(&at, hosted));
            Ok(ToolChoice::Auto)
        }
        None => Err(invalid(
            at.member("type").0,
            &format!("is missing: must be {EXPECTED}"),
        )),
    }
}

fn is_hosted(at: &Origin, hosted: &str) -> Error {
    let hosted: String = hosted.chars().take(40).collect();
    let message = format!(
        "`{at}` demands `{hosted}`, which only OpenAI's own servers run: demand a function or a custom tool"
    );
    Error::new(Kind::UnsupportedConstraint, message).at(at.0.clone())
}

/// The tool that is named, as servers know it.
fn named(
    choice: &mut Fields,
    at: &Origin,
    reading: &Reading,
    names: &Names,
) -> Result<String, Error> {
    let name: Option<String> = member(choice, "name", at, "a string")?;
    let Some(name) = name else {
        return Err(invalid(at.member("name").0, "is missing: name the tool"));
    };
    let namespace: Option<String> = member(choice, "namespace", at, "a string")?;
    let flat = names.flat(namespace.as_deref(), &name);
    let is_known = |name: &str| reading.tools.iter().any(|tool| tool.name == name);
    if is_known(&flat) {
        return Ok(flat);
    }
    match names.only(&name).filter(|_| namespace.is_none()) {
        Some(flat) => Ok(flat.to_owned()),
        None => {
            let at = at.member("name").0;
            let name = repeatable(&name);
            let message = format!("`{at}` is `{name}`, which is not among the tools");
            Err(Error::new(Kind::UnknownTool, message).at(at))
        }
    }
}

fn allowed(
    mut choice: Fields,
    reading: &Reading,
    names: &Names,
    losses: &mut Vec<Loss>,
    of_hosts: &mut OfHosts,
) -> Result<ToolChoice, Error> {
    let at = Origin::new("tool_choice");
    let mode: Option<String> = member(&mut choice, "mode", &at, "\"auto\" or \"required\"")?;
    let required = match mode.as_deref() {
        Some("auto") => false,
        Some("required") => true,
        // A 400 of OpenAI's too where it is missing: nobody could say whether a call is demanded.
        _ => {
            return Err(invalid(
                at.member("mode").0,
                "must be \"auto\" or \"required\"",
            ));
        }
    };
    let list = at.member("tools");
    let listed: Option<Vec<Fields>> = member(&mut choice, "tools", &at, "a list of tools")?;
    let (mut allowed, mut hosted) = (Vec::new(), None);
    for (index, mut tool) in listed.unwrap_or_default().into_iter().enumerate() {
        let at = list.item(index);
        let kind: Option<String> = member(&mut tool, "type", &at, "a string")?;
        if let Some(own) = reading.own_of(kind.as_deref()) {
            allowed.push(names.own(own).to_owned());
            continue;
        }
        match kind.as_deref() {
            Some("function" | "custom") => allowed.push(named(&mut tool, &at, reading, names)?),
            Some("namespace") => {
                let name: Option<String> = member(&mut tool, "name", &at, "a string")?;
                allowed.extend(names.within(name.as_deref().unwrap_or_default()));
            }
            kind => {
                lose(losses, &at, "only OpenAI's own servers run it");
                hosted = Some((at, kind.unwrap_or("a tool without a type").to_owned()));
            }
        }
    }
    match (allowed.is_empty(), hosted) {
        (false, hosted) => {
            of_hosts.will_do = hosted.is_some();
            Ok(ToolChoice::Allowed {
                required,
                names: allowed,
            })
        }
        (true, Some((at, hosted))) if required => {
            of_hosts.refusal = Some(is_hosted(&at, &hosted));
            Ok(ToolChoice::Auto)
        }
        // None of those that the model could call is allowed.
        (true, Some(_)) => Ok(ToolChoice::None),
        (true, None) => Err(invalid(list.0, "allows no tool: name at least one")),
    }
}
