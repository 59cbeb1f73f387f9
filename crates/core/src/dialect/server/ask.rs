//! A request on its way to a server's wire: its turns, its tools and the choice among them, typed; what
//! else it says, taken field by field; and a ledger of what the wire cannot say.

use crate::error::{Error, Kind};
use crate::ir::{
    CallInput, Constraint, Draft, EnforcedBy, Failed, Fields, Held, History, Loss, Notation, Part,
    Sealed, Stated, Tool, ToolChoice, ToolInput, Turn, raw,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The request, of which each thing is taken once.
#[derive(Debug)]
pub struct Ask<'t> {
    /// The server's name, for people.
    pub title: &'t str,
    draft: &'t Draft,
    /// What is left of its fields.
    fields: Fields,
    losses: Vec<Loss>,
}

/// A function that the model may call.
#[derive(Debug)]
pub(in crate::dialect) struct Function {
    /// Where its schema stands.
    pointer: String,
    pub(in crate::dialect) name: String,
    pub(in crate::dialect) description: Option<String>,
    /// The schema of its arguments.
    pub(in crate::dialect) parameters: Value,
    /// The server is to hold the arguments to it.
    pub(in crate::dialect) strict: bool,
    /// Anthropic's mark of what to cache.
    pub(in crate::dialect) cache: Option<Box<RawValue>>,
}

impl Function {
    /// Where it is said to be strict: beside its schema.
    fn strict_pointer(&self) -> String {
        let parent = self
            .pointer
            .rsplit_once('/')
            .map_or("", |(parent, _)| parent);
        format!("{parent}/strict")
    }

    /// As Chat writes it, without `strict`; other wires write it so too.
    pub(in crate::dialect) fn to_chat(&self) -> Value {
        let mut function = json!({"name": self.name});
        if let Some(description) = &self.description {
            function["description"] = json!(description);
        }
        function["parameters"] = self.parameters.clone();
        json!({"type": "function", "function": function})
    }
}

/// OpenAI's words for a choice, on either of its wires: `named` writes one tool, `allowed` the list of those that may be called.
pub(in crate::dialect) fn choice_of(
    choice: &ToolChoice,
    tools: &[Tool],
    named: impl Fn(&str, &str) -> Value,
    allowed: impl Fn(&str, Vec<Value>) -> Value,
) -> Value {
    let named = |name: &String| {
        let is_custom =
            |tool: &Tool| tool.name == *name && matches!(tool.input, ToolInput::Text(_));
        let kind = match tools.iter().any(is_custom) {
            true => "custom",
            false => "function",
        };
        named(kind, name)
    };
    match choice {
        ToolChoice::None => json!("none"),
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Named(name) => named(name),
        ToolChoice::Allowed { required, names } => {
            let mode = if *required { "required" } else { "auto" };
            allowed(mode, names.iter().map(named).collect())
        }
    }
}

/// The syntax and the text of a custom tool's format, where OpenAI has words for it.
pub(in crate::dialect) fn text_format(stated: &Constraint) -> Option<(&'static str, &str)> {
    match stated {
        Constraint::Regex(regex) => Some(("regex", regex)),
        Constraint::Grammar {
            notation: Notation::Lark,
            text,
        } => Some(("lark", text)),
        _ => None,
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stops {
    One(String),
    Many(Vec<String>),
}

impl<'t> Ask<'t> {
    pub(in crate::dialect) fn new(draft: &'t Draft, title: &'t str) -> Self {
        Self {
            title,
            draft,
            fields: draft.fields.clone(),
            losses: Vec::new(),
        }
    }

    /// What the wire could not say.
    pub(in crate::dialect) fn finish(self) -> Vec<Loss> {
        self.losses
    }

    /// A field's raw text; `null` says nothing.
    pub fn raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.fields
            .remove(name)
            .filter(|value| value.get() != "null")
    }

    /// A field of a known type.
    ///
    /// # Errors
    /// It is not `expected`.
    pub fn take<T: DeserializeOwned>(
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
    pub fn lose(&mut self, pointer: &str, reason: &str, enforced_by: EnforcedBy) {
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
    pub fn lose_field(&mut self, name: &str, reason: &str) {
        if self.raw(name).is_some() {
            self.lose(&format!("/{}", escaped(name)), reason, EnforcedBy::Nobody);
        }
    }

    /// The model's name, where it is part of the path.
    ///
    /// # Errors
    /// There is none.
    pub fn model(&mut self) -> Result<String, Error> {
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
    ///
    /// # Errors
    /// Several are asked for.
    pub fn one_choice(&mut self) -> Result<(), Error> {
        match self.choices()? {
            1 => Ok(()),
            _ => Err(one_choice(self.title)),
        }
    }

    /// Whether the reply is to be streamed.
    ///
    /// # Errors
    /// It is neither true nor false.
    pub fn stream(&mut self) -> Result<bool, Error> {
        // Whether tokens are counted at the end is the proxy's to do.
        self.raw("stream_options");
        Ok(self.take("stream", "true or false")?.unwrap_or(false))
    }

    /// `max_completion_tokens`, or its older name.
    pub fn max_tokens(&mut self) -> Option<Box<RawValue>> {
        let old = self.raw("max_tokens");
        self.raw("max_completion_tokens").or(old)
    }

    /// Texts at which the model stops.
    ///
    /// # Errors
    /// They are no texts.
    pub fn stop(&mut self) -> Result<Vec<String>, Error> {
        let stops = self.take("stop", "a string or a list of strings")?;
        Ok(match stops {
            None => Vec::new(),
            Some(Stops::One(stop)) => vec![stop],
            Some(Stops::Many(stops)) => stops,
        })
    }

    /// Whether several calls at once may come, where stated.
    pub const fn parallel(&self) -> Option<bool> {
        self.draft.parallel
    }

    /// How the server takes thoughts of earlier turns.
    pub(in crate::dialect) const fn history(&self) -> &'t History {
        &self.draft.history
    }

    /// The conversation, for a wire on which no tool is said to have failed.
    pub fn turns(&mut self) -> &'t [Turn] {
        for turn in &self.draft.turns {
            if let Some(Failed::Apart(origin)) = &turn.failed {
                let reason = format!("the messages of {} have no place for it", self.title);
                self.lose(&origin.pointer(), &reason, EnforcedBy::Nobody);
            }
        }
        self.turns_and_failures()
    }

    /// The same, for one on which tools are ([`Turn::failed`]).
    pub(in crate::dialect) fn turns_and_failures(&mut self) -> &'t [Turn] {
        let turns = &self.draft.turns;
        for turn in turns {
            for origin in &turn.resolutions {
                let reason = format!("{} chooses the resolution itself", self.title);
                self.lose(&origin.pointer(), &reason, EnforcedBy::Nobody);
            }
            for below in &turn.unknown {
                self.lose_below(turn, below);
            }
        }
        turns
    }

    /// Notes what a turn has that this wire has no place for: a JSON Pointer below it.
    pub(in crate::dialect) fn lose_below(&mut self, turn: &Turn, below: &str) {
        let reason = format!("the messages of {} have no place for it", self.title);
        let pointer = turn.origin.pointer() + below;
        self.lose(&pointer, &reason, EnforcedBy::Nobody);
    }

    /// Notes a turn's thoughts, which this wire has no place for.
    pub(in crate::dialect) fn lose_stated(&mut self, stated: &Stated) {
        let reason = format!("the messages of {} have no place for it", self.title);
        self.lose(&stated.origin.pointer(), &reason, EnforcedBy::Nobody);
    }

    /// Notes blocks of thinking, which are of another server.
    pub(in crate::dialect) fn lose_blocks(&mut self, turn: &Turn) {
        for Held { origin, sealed, .. } in &turn.sealed {
            if matches!(sealed, Sealed::Thinking(_)) {
                let reason = format!("the messages of {} have no place for it", self.title);
                self.lose(&origin.pointer(), &reason, EnforcedBy::Nobody);
            }
        }
    }

    /// The same of all that servers signed.
    pub(in crate::dialect) fn lose_sealed(&mut self, turn: &Turn) {
        self.lose_sealed_but(turn, |_| false);
    }

    /// The same of all but what this wire has a place for.
    pub(in crate::dialect) fn lose_sealed_but(
        &mut self,
        turn: &Turn,
        is_told: impl Fn(&Held) -> bool,
    ) {
        let calls = turn.calls.iter().filter(|call| call.signature.is_some());
        let calls = calls.map(|call| &call.origin);
        let sealed = turn.sealed.iter().filter(|held| !is_told(held));
        for origin in sealed.map(|held| &held.origin).chain(calls) {
            let reason = format!("{} cannot read what another server signed", self.title);
            self.lose(&origin.pointer(), &reason, EnforcedBy::Nobody);
        }
    }

    /// What a tool was called with, as an object.
    pub(in crate::dialect) fn input(&mut self, input: &CallInput) -> Box<RawValue> {
        match input {
            CallInput::Object(object) => object.clone(),
            CallInput::Empty => raw(&json!({})),
            CallInput::Custom(text) => raw(&json!({"input": text})),
            CallInput::Text(stated) => {
                let reason = "the arguments are no JSON object: sent as the text of one, `input`";
                self.lose(&stated.origin.pointer(), reason, EnforcedBy::Nobody);
                raw(&json!({"input": stated.text}))
            }
        }
    }

    /// Refuses a part that this wire has no place for; `title` is what has none.
    pub(in crate::dialect) fn refuse_part(turn: &Turn, part: &Part, title: &str) -> Error {
        let at = turn.origin.member("content");
        let message = match part {
            Part::Opaque { origin } => {
                let message = format!("`{origin}` is of a type that {title} cannot be sent");
                return invalid(message, origin.0.clone());
            }
            Part::Link { .. } => format!(
                "`{at}` names an image by its URL, and {title} takes none: send its bytes as a data URL"
            ),
            Part::Document { .. } => format!(
                "`{at}` names a document by its URL, and {title} takes none: send its bytes as a data URL"
            ),
            Part::Data { media_type, .. } => {
                let kind: String = media_type.chars().take(64).collect();
                format!("`{at}` has a file of the type `{kind}`, which {title} does not take")
            }
            Part::Text { .. } => format!("`{at}` has text where {title} takes none"),
        };
        invalid(message, at.0)
    }

    /// The functions that may be called, and the choice among them where one is stated. Of the first the marks of what to cache
    /// are lost.
    pub(in crate::dialect) fn tools(
        &mut self,
    ) -> Result<(Vec<Function>, Option<ToolChoice>), Error> {
        self.lose_marks();
        self.marked_tools()
    }

    /// Notes the marks of what to cache on tools, which this wire has no place for.
    pub(in crate::dialect) fn lose_marks(&mut self) {
        let draft = self.draft;
        let is_marked = |tool: &&Tool| draft.marks.contains_key(&tool.origin);
        for tool in draft.tools.iter().filter(is_marked) {
            let pointer = tool.origin.member("cache_control").pointer();
            let title = self.title;
            let reason =
                format!("{title} takes no marks of what to cache: it finds that by itself");
            self.lose(&pointer, &reason, EnforcedBy::Nobody);
        }
    }

    /// The same where the wire has a place for those marks.
    pub(in crate::dialect) fn marked_tools(
        &mut self,
    ) -> Result<(Vec<Function>, Option<ToolChoice>), Error> {
        let draft = self.draft;
        let mut functions = Vec::with_capacity(draft.tools.len());
        for tool in &draft.tools {
            match &tool.input {
                ToolInput::Schema { schema, strict } => functions.push(Function {
                    pointer: tool.input_origin.pointer(),
                    name: tool.name.clone(),
                    description: tool.description.clone(),
                    parameters: schema.clone(),
                    strict: *strict,
                    cache: draft.marks.get(&tool.origin).cloned(),
                }),
                ToolInput::Text(_) | ToolInput::Hosted(_) => self.leave_out(tool)?,
            }
        }
        Ok((functions, draft.choice.clone()))
    }

    /// Leaves out a tool that the server could not be asked for: what may not be called in any case need not be shown.
    ///
    /// # Errors
    /// It may be called.
    pub(in crate::dialect) fn leave_out(&mut self, tool: &Tool) -> Result<(), Error> {
        if self.draft.choice == Some(ToolChoice::None) {
            let reason = format!("{} can be asked for functions only", self.title);
            self.lose(&tool.origin.pointer(), &reason, EnforcedBy::Nobody);
            return Ok(());
        }
        let message = format!(
            "`{}` is no function: {} can be asked for functions only",
            tool.origin, self.title
        );
        Err(Error::new(Kind::UnsupportedConstraint, message).at(tool.origin.0.clone()))
    }

    /// The tools as they are, and the choice among them where one is stated.
    pub const fn typed_tools(&self) -> (&'t [Tool], Option<&'t ToolChoice>) {
        (self.draft.tools.as_slice(), self.draft.choice.as_ref())
    }

    /// Ends the request: every field that is left goes along as it is.
    pub(in crate::dialect) fn all(&mut self, body: &mut Fields) {
        for (name, value) in std::mem::take(&mut self.fields).0 {
            if !body.has(&name) {
                body.set(&name, value);
            }
        }
    }

    /// Notes tools whose arguments were to be held to their schemas by the server.
    pub(in crate::dialect) fn lose_strict(&mut self, tools: &[Function], why: &str) {
        for tool in tools.iter().filter(|tool| tool.strict) {
            let pointer = tool.strict_pointer();
            let reason = format!("{} {why}", self.title);
            self.lose(&pointer, &reason, EnforcedBy::Proxy);
        }
    }

    /// A choice that this wire has no words for. The rule should not have left it in.
    pub(in crate::dialect) fn refuse_choice(&self) -> Error {
        let message = format!("{} cannot be asked for this `tool_choice`", self.title);
        Error::new(Kind::UnsupportedConstraint, message).at("tool_choice")
    }

    /// Ends the request: the wire's own fields go along as they are, and what else is left has no
    /// counterpart.
    pub fn rest(&mut self, own: &[&str], body: &mut Fields) {
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
