//! A request in Chat's words, as the other wires need it: fields taken one by one, messages, tools
//! and the choice among them typed, and a ledger of what a wire cannot say.

mod message;
mod turns;

use crate::error::{Error, Kind};
use crate::ir::{EnforcedBy, Fields, Loss};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(in crate::dialect) use message::{Call, Message, Part, Role};
pub(in crate::dialect) use turns::Turns;

/// The request on its way to another wire.
#[derive(Debug)]
pub(in crate::dialect) struct Ask<'t> {
    /// The server's name, for people.
    pub(in crate::dialect) title: &'t str,
    fields: Fields,
    losses: Vec<Loss>,
}

/// A function that the model may call.
#[derive(Debug)]
pub(in crate::dialect) struct Tool {
    pub(in crate::dialect) name: String,
    pub(in crate::dialect) description: Option<String>,
    /// The schema of its arguments; that of any object where none is given.
    pub(in crate::dialect) parameters: Box<RawValue>,
    pub(in crate::dialect) strict: Option<bool>,
}

impl Tool {
    /// As Chat writes it, without `strict`.
    pub(in crate::dialect) fn to_chat(&self) -> Value {
        let mut function = json!({"name": self.name});
        if let Some(description) = &self.description {
            function["description"] = json!(description);
        }
        function["parameters"] = json!(self.parameters);
        json!({"type": "function", "function": function})
    }
}

/// Which calls are asked for.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::dialect) enum Choice {
    Unstated,
    None,
    Auto,
    Required,
    Named(String),
    Allowed { required: bool, names: Vec<String> },
}

#[derive(Deserialize)]
struct ToolWire {
    r#type: String,
    function: Option<FunctionWire>,
}

#[derive(Deserialize)]
struct FunctionWire {
    name: String,
    description: Option<String>,
    parameters: Option<Box<RawValue>>,
    strict: Option<bool>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stops {
    One(String),
    Many(Vec<String>),
}

impl<'t> Ask<'t> {
    pub(in crate::dialect) fn new(fields: &Fields, title: &'t str) -> Self {
        Self {
            title,
            fields: fields.clone(),
            losses: Vec::new(),
        }
    }

    /// What the wire could not say.
    pub(in crate::dialect) fn finish(self) -> Vec<Loss> {
        self.losses
    }

    /// A field's raw text; `null` says nothing.
    pub(in crate::dialect) fn raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.fields
            .remove(name)
            .filter(|value| value.get() != "null")
    }

    /// A field of a known type.
    pub(in crate::dialect) fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Error> {
        let Some(value) = self.raw(name) else {
            return Ok(None);
        };
        serde_json::from_str(value.get())
            .map(Some)
            .map_err(|_| invalid(format!("`{name}` must be {expected}"), name))
    }

    /// Notes what the wire cannot say.
    pub(in crate::dialect) fn lose(
        &mut self,
        pointer: &str,
        reason: &str,
        enforced_by: EnforcedBy,
    ) {
        // One loss for each place: a long conversation repeats itself.
        if self.losses.iter().all(|known| known.pointer != pointer) {
            self.losses.push(Loss {
                pointer: pointer.to_owned(),
                reason: reason.to_owned(),
                enforced_by,
            });
        }
    }

    /// Takes a field that has no counterpart.
    pub(in crate::dialect) fn lose_field(&mut self, name: &str, reason: &str) {
        if self.raw(name).is_some() {
            self.lose(&format!("/{}", escaped(name)), reason, EnforcedBy::Nobody);
        }
    }

    /// The model's name, where it is part of the path.
    pub(in crate::dialect) fn model(&mut self) -> Result<String, Error> {
        let model: Option<String> = self.take("model", "a string")?;
        model
            .filter(|model| !model.is_empty())
            .ok_or_else(|| invalid("`model` is missing: name one", "model"))
    }

    /// How many choices.
    pub(in crate::dialect) fn choices(&mut self) -> Result<u32, Error> {
        // vLLM's own, which is bounded like it.
        self.lose_field("best_of", "this server makes no candidates to choose from");
        Ok(self.take("n", "a whole number from 1")?.unwrap_or(1))
    }

    /// Refuses several choices: fewer than were asked for are not what was asked for.
    pub(in crate::dialect) fn one_choice(&mut self) -> Result<(), Error> {
        match self.choices()? {
            1 => Ok(()),
            _ => Err(one_choice(self.title)),
        }
    }

    pub(in crate::dialect) fn stream(&mut self) -> Result<bool, Error> {
        // Whether tokens are counted at the end is the proxy's to do.
        self.raw("stream_options");
        Ok(self.take("stream", "true or false")?.unwrap_or(false))
    }

    /// `max_completion_tokens`, or its older name.
    pub(in crate::dialect) fn max_tokens(&mut self) -> Option<Box<RawValue>> {
        let old = self.raw("max_tokens");
        self.raw("max_completion_tokens").or(old)
    }

    /// Texts at which the model stops.
    pub(in crate::dialect) fn stop(&mut self) -> Result<Vec<String>, Error> {
        let stops = self.take("stop", "a string or a list of strings")?;
        Ok(match stops {
            None => Vec::new(),
            Some(Stops::One(stop)) => vec![stop],
            Some(Stops::Many(stops)) => stops,
        })
    }

    /// Whether several calls at once may come, where stated.
    pub(in crate::dialect) fn parallel(&mut self) -> Result<Option<bool>, Error> {
        self.take("parallel_tool_calls", "true or false")
    }

    /// The functions that may be called.
    pub(in crate::dialect) fn tools(&mut self) -> Result<Vec<Tool>, Error> {
        // What may not be called in any case need not be shown.
        let is_idle = self.fields.raw("tool_choice") == Some("\"none\"");
        let tools: Vec<ToolWire> = self.take("tools", "a list of tools")?.unwrap_or_default();
        let mut read = Vec::with_capacity(tools.len());
        for (at, tool) in tools.into_iter().enumerate() {
            let function = tool.function.filter(|_| tool.r#type == "function");
            if function.is_none() && is_idle {
                let reason = format!("{} can be asked for functions only", self.title);
                self.lose(&format!("/tools/{at}"), &reason, EnforcedBy::Nobody);
                continue;
            }
            let Some(function) = function else {
                let message = format!(
                    "`tools[{at}]` is no function: {} can be asked for functions only",
                    self.title
                );
                let error = Error::new(Kind::UnsupportedConstraint, message);
                return Err(error.at(format!("tools[{at}]")));
            };
            let parameters = function.parameters.filter(|schema| schema.get() != "null");
            read.push(Tool {
                name: function.name,
                description: function.description,
                parameters: parameters.unwrap_or_else(|| {
                    crate::ir::raw(&json!({"type": "object", "properties": {}}))
                }),
                strict: function.strict,
            });
        }
        Ok(read)
    }

    /// Notes tools whose arguments were to be held to their schemas by the server.
    pub(in crate::dialect) fn lose_strict(&mut self, tools: &[Tool], why: &str) {
        for (at, tool) in tools.iter().enumerate() {
            if tool.strict == Some(true) {
                let pointer = format!("/tools/{at}/function/strict");
                let reason = format!("{} {why}", self.title);
                self.lose(&pointer, &reason, EnforcedBy::Proxy);
            }
        }
    }

    pub(in crate::dialect) fn choice(&mut self) -> Result<Choice, Error> {
        let Some(choice) = self.take::<Value>("tool_choice", "a choice")? else {
            return Ok(Choice::Unstated);
        };
        let name = |value: &Value| value.as_str().map(str::to_owned);
        let read = match choice.as_str() {
            Some("none") => Some(Choice::None),
            Some("auto") => Some(Choice::Auto),
            Some("required") => Some(Choice::Required),
            Some(_) => None,
            None if choice["type"] == "allowed_tools" => {
                // The Responses API has no object of that name, and flat tools.
                let nested = choice.get("allowed_tools");
                let allowed = nested.unwrap_or(&choice);
                let tools = allowed["tools"].as_array().into_iter().flatten();
                Some(Choice::Allowed {
                    required: allowed["mode"] == "required",
                    names: tools
                        .filter_map(|tool| {
                            let nested = name(&tool["function"]["name"]);
                            nested.or_else(|| name(&tool["name"]))
                        })
                        .collect(),
                })
            }
            None => name(&choice["function"]["name"]).map(Choice::Named),
        };
        let message = "`tool_choice` is none that is known";
        read.ok_or_else(|| invalid(message, "tool_choice"))
    }

    /// A choice that this wire has no words for. The rule should not have left it in.
    pub(in crate::dialect) fn refuse_choice(&self) -> Error {
        let message = format!("{} cannot be asked for this `tool_choice`", self.title);
        Error::new(Kind::UnsupportedConstraint, message).at("tool_choice")
    }

    /// Ends the request: the wire's own fields go along as they are, and what else is left has no
    /// counterpart.
    pub(in crate::dialect) fn rest(&mut self, own: &[&str], body: &mut Fields) {
        for (name, value) in std::mem::take(&mut self.fields).0 {
            if value.get() == "null" {
                continue;
            }
            if own.contains(&name.as_str()) && !body.has(&name) {
                body.set(&name, value);
                continue;
            }
            let reason = if body.has(&name) {
                format!(
                    "the request says what {} calls so in another field",
                    self.title
                )
            } else {
                format!("the API of {} has no field for it", self.title)
            };
            let pointer = format!("/{}", escaped(&name));
            self.lose(&pointer, &reason, EnforcedBy::Nobody);
        }
    }

    /// An object of the wire's own that the rule or the client began, for more members.
    pub(in crate::dialect) fn object(&mut self, name: &str) -> Result<Fields, Error> {
        Ok(self.take(name, "an object")?.unwrap_or_default())
    }

    /// Puts a Chat field into such an object. What stands there in the wire's own words stays.
    pub(in crate::dialect) fn member(&mut self, field: &str, object: &mut Fields, name: &str) {
        let Some(value) = self.raw(field) else {
            return;
        };
        if object.has(name) {
            let reason = format!("`{name}` says it already");
            self.lose(&format!("/{field}"), &reason, EnforcedBy::Nobody);
        } else {
            object.set(name, value);
        }
    }
}

/// A field's name in a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

pub(in crate::dialect) fn invalid(message: impl Into<String>, at: impl Into<String>) -> Error {
    Error::new(Kind::InvalidRequest, message).at(at)
}

/// A server that makes one choice is asked for several.
pub(crate) fn one_choice(title: &str) -> Error {
    let message =
        format!("`n` must be 1: {title} makes one choice a request; send several requests");
    invalid(message, "n")
}
