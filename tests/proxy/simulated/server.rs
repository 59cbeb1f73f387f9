//! A simulated server: one request's body in, what the server with these notes would answer out.
//! It keeps to what it really enforces, token by token, and says anything else at random.

mod tags;
mod wire;

pub(crate) use wire::rendered;

use super::gbnf;
use super::model::{Language, Random, Written, any_object, noise, of_regex, write};
use super::notes::{Beside, Errors, Forced, Kind, Notes, Spelling, Unknown};
use super::reading::Compiler;
use isogloss_testing::scripted::{Step, reply};
use serde_json::{Value, json};

/// What a model would understand of the request, were it one: what to say where nothing forces it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gist {
    pub(crate) content: Option<Language>,
    pub(crate) tools: Vec<(String, Value)>,
    /// Of a hundred answers that nobody constrains, so many are as asked for.
    pub(crate) obeys: usize,
}

/// An error of the server's.
#[derive(Debug)]
struct Refusal(u16, String);

fn refusal<T>(status: u16, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(status, message.into()))
}

/// One answer, before it is put on the wire.
#[derive(Debug, Default)]
struct Said {
    reasoning: Option<String>,
    content: Option<String>,
    calls: Vec<Call>,
    is_cut: bool,
}

#[derive(Debug)]
struct Call {
    name: String,
    /// The arguments, or a custom tool's input.
    input: String,
    is_custom: bool,
}

impl Said {
    fn text(written: Written) -> Self {
        Self {
            content: Some(written.text),
            is_cut: written.is_cut,
            ..Self::default()
        }
    }

    /// What a parser of Hermes's markup makes of a text: calls, with their arguments written anew, where it is nothing else.
    fn with_calls_read(mut self) -> Self {
        const END: &str = "\n</tool_call>";
        let mut rest = self.content.as_deref().unwrap_or_default();
        let mut calls = Vec::new();
        while let Some(call) = rest.trim_start().strip_prefix("<tool_call>\n") {
            let Some((json, behind)) = call.split_once(END) else {
                return self;
            };
            let Ok(call) = serde_json::from_str::<Value>(json) else {
                return self;
            };
            calls.push(Call {
                name: call["name"].as_str().unwrap_or_default().to_owned(),
                input: call["arguments"].to_string(),
                is_custom: false,
            });
            rest = behind;
        }
        if !calls.is_empty() && rest.trim().is_empty() {
            self.content = None;
            self.calls = calls;
        }
        self
    }

    fn texts(self) -> impl Iterator<Item = String> {
        let inputs = self.calls.into_iter().map(|call| call.input);
        self.content.into_iter().chain(inputs)
    }
}

struct Server<'a> {
    notes: &'a Notes,
    body: &'a Value,
    gist: &'a Gist,
    random: &'a mut Random,
    held: Held,
}

/// How much of what was said the server held the model to; the worse the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Held {
    /// To every token.
    #[default]
    Whole,
    /// To the shape of a call: the tool is not strict, so its arguments are free.
    Shape,
    /// To nothing: the schema came without the `strict` that makes it more than a hint.
    Hint,
    /// To nothing, for any other reason.
    Nothing,
}

/// What the server did with a request.
pub(crate) struct Answered {
    pub(crate) steps: Vec<Step>,
    pub(crate) is_error: bool,
    pub(crate) held: Held,
    /// Contents and arguments.
    pub(crate) said: Vec<String>,
}

/// The answer to a chat completion.
pub(crate) fn answer(notes: &Notes, body: &Value, gist: &Gist, random: &mut Random) -> Answered {
    let held = Held::Whole;
    let mut server = Server {
        notes,
        body,
        gist,
        random,
        held,
    };
    match server.say_all() {
        Ok(all) => Answered {
            steps: server.on_the_wire(&all),
            is_error: false,
            held: server.held,
            said: all.into_iter().flat_map(Said::texts).collect(),
        },
        Err(Refusal(status, message)) => {
            let body = match notes.errors {
                Errors::Nested => {
                    json!({"error": {"message": message, "type": "BadRequestError", "code": status}})
                }
                Errors::Flat => {
                    json!({"object": "error", "message": message, "type": "BadRequestError", "code": status})
                }
                Errors::Text => json!({"error": message}),
                Errors::Message => json!({"message": message}),
            };
            Answered {
                steps: vec![reply(status, JSON, &body.to_string())],
                is_error: true,
                held: server.held,
                said: Vec::new(),
            }
        }
    }
}

const JSON: &str = "content-type: application/json\r\n";

impl Server<'_> {
    /// As many answers as are asked for, where the server counts.
    fn say_all(&mut self) -> Result<Vec<Said>, Refusal> {
        let count = self.body["n"].as_u64().filter(|_| self.notes.counts);
        (0..count.unwrap_or(1)).map(|_| self.say()).collect()
    }

    fn say(&mut self) -> Result<Said, Refusal> {
        self.check_fields()?;
        let constraint = self.constraint()?;
        let tools = self.tools()?;
        let choice = self.choice(&tools)?;
        let mut said = match (choice, constraint) {
            (Choice::Forced(how, name), None) => self.forced(how, name, &tools)?,
            (Choice::Forced(..), Some(_)) if self.notes.clashes_with_choice => {
                return refusal(
                    400,
                    "tool_choice 'required' or a named tool cannot be combined with response_format, regex, or ebnf",
                );
            }
            (Choice::Forced(how, name), Some(_)) => self.forced(how, name, &tools)?,
            (Choice::Auto, Some(read)) => match self.notes.beside {
                Beside::ConstraintWins => {
                    let said = self.constrained(&read)?;
                    match self.notes.reads_constrained && !tools.is_empty() {
                        true => said.with_calls_read(),
                        false => said,
                    }
                }
                Beside::Either if self.random.in_a_hundred(50) => self.constrained(&read)?,
                Beside::Either => self.forced(Forced::Shape, None, &tools)?,
                Beside::Refused(status, message) => return refusal(status, message),
            },
            (Choice::Auto, None) => match self.random.below(3) {
                0 => Said::text(self.unheld()),
                _ => self.forced(Forced::Shape, None, &tools)?,
            },
            (Choice::None, Some(read)) => self.constrained(&read)?,
            (Choice::None, None) => Said::text(self.unheld()),
        };
        if self.notes.reasoning.is_some() && self.random.in_a_hundred(20) {
            said.reasoning = Some("Let me see: {\"a\": ".to_owned());
        }
        Ok(said)
    }

    fn check_fields(&self) -> Result<(), Refusal> {
        let names = || {
            self.body
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
        };
        let (status, unknown) = match self.notes.unknown {
            Unknown::Ignored => return Ok(()),
            Unknown::Refused(status, known) => (status, names().find(|name| !known.contains(name))),
            Unknown::Foreign(status, foreign) => {
                (status, names().find(|name| foreign.contains(name)))
            }
        };
        match unknown {
            Some(name) => refusal(
                status,
                format!("Unrecognized request argument supplied: {name}"),
            ),
            None => Ok(()),
        }
    }

    // --- constraints -----------------------------------------------------------------------------

    /// The language of the content; `None` within for one that the compiler let go of.
    fn constraint(&mut self) -> Result<Option<Option<Language>>, Refusal> {
        let format = self
            .body
            .pointer("/response_format/type")
            .and_then(Value::as_str);
        let known = |name: &str| {
            let is_it = |spelling: &&Spelling| spelling.typed == Some(("/response_format", name));
            self.notes.spellings.iter().any(|spelling| is_it(&spelling))
        };
        if let (Some(name), Some(status)) = (format, self.notes.other_format)
            && name != "text"
            && !known(name)
        {
            return refusal(
                status,
                format!("response_format.type '{name}' is not supported"),
            );
        }
        let mut found: Vec<(Kind, &Value)> = Vec::new();
        for spelling in self.notes.spellings {
            let is_typed = spelling.typed.is_none_or(|(at, name)| {
                self.body.pointer(at).is_some_and(|it| it["type"] == name)
            });
            if let (true, Some(value)) = (is_typed, self.body.pointer(spelling.at))
                && !value.is_null()
            {
                let is_bare =
                    spelling.kind == Kind::Object && found.len() == 1 && spelling.typed.is_some();
                if !is_bare {
                    found.push((spelling.kind, value));
                }
            }
        }
        let (kind, value) = match (found.as_slice(), self.notes.clash) {
            ([], _) => return Ok(None),
            ([_, _, ..], Some((status, message))) => return refusal(status, message),
            ([first, ..], _) => *first,
        };
        self.language(kind, value).map(Some)
    }

    fn language(&mut self, kind: Kind, value: &Value) -> Result<Option<Language>, Refusal> {
        let text = || {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| Refusal(400, "the constraint must be a string".to_owned()))
        };
        match kind {
            Kind::Schema => {
                let parsed = value
                    .as_str()
                    .and_then(|text| serde_json::from_str(text).ok());
                let schema: &Value = parsed.as_ref().unwrap_or(value);
                let strict = self.body.pointer("/response_format/json_schema/strict");
                if self.notes.needs_strict && strict != Some(&json!(true)) {
                    return Ok(None);
                }
                let read = self.notes.compiler.read(schema);
                read.map(|read| read.map(Language::Json))
                    .or_else(|error| refusal(400, error))
            }
            Kind::Object => Ok(Some(any_object())),
            Kind::Regex => Ok(Some(of_regex(&text()?))),
            Kind::Choice => {
                let all = value.as_array().into_iter().flatten();
                let all: Vec<String> = all
                    .filter_map(|it| it.as_str().map(str::to_owned))
                    .collect();
                match all.is_empty() {
                    true => refusal(400, "choice must not be empty"),
                    false => Ok(Some(Language::Choice(all))),
                }
            }
            Kind::Lark => Ok(Some(Language::Lark(text()?))),
            Kind::Gbnf => self.gbnf(&text()?),
            Kind::Grammar => match text()? {
                text if text.contains("::=") => self.gbnf(&text),
                text => Ok(Some(Language::Lark(text))),
            },
            Kind::Tag => self.tag(value),
        }
    }

    fn gbnf(&self, text: &str) -> Result<Option<Language>, Refusal> {
        let lark = gbnf::to_lark(text);
        lark.map(|lark| Some(Language::Lark(lark)))
            .or_else(|error| refusal(400, error))
    }

    fn constrained(&mut self, read: &Option<Language>) -> Result<Said, Refusal> {
        match read {
            Some(language) => {
                let written = write(language, self.random);
                written.map(Said::text).or_else(|error| refusal(400, error))
            }
            None => {
                let is_hint = self.notes.needs_strict;
                self.held = self
                    .held
                    .max(if is_hint { Held::Hint } else { Held::Nothing });
                Ok(Said::text(self.free()))
            }
        }
    }

    /// What nobody constrains: as asked for, or anything.
    fn free(&mut self) -> Written {
        if self.random.in_a_hundred(self.gist.obeys)
            && let Some(text) = self.obedient()
        {
            return text;
        }
        Written {
            text: noise(self.random),
            is_cut: false,
        }
    }

    fn unheld(&mut self) -> Written {
        self.held = Held::Nothing;
        self.free()
    }

    fn obedient(&mut self) -> Option<Written> {
        let is_call = !self.gist.tools.is_empty()
            && (self.gist.content.is_none() || self.random.in_a_hundred(50));
        if !is_call {
            let content = self.gist.content.clone()?;
            return write(&content, self.random).ok();
        }
        let (name, parameters) = self.random.of(&self.gist.tools).clone();
        let arguments = write(&Language::Json(parameters), self.random).ok()?;
        let text = format!(
            "{{\"name\": {}, \"arguments\": {}",
            json!(name),
            arguments.text
        );
        let close = if arguments.is_cut { "" } else { "}" };
        Some(Written {
            text: text + close,
            is_cut: arguments.is_cut,
        })
    }

    // --- tools -----------------------------------------------------------------------------------

    fn tools(&self) -> Result<Vec<Tool>, Refusal> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        let tools: Vec<Tool> = tools
            .map(|tool| Tool {
                name: tool["function"]["name"]
                    .as_str()
                    .or(tool["custom"]["name"].as_str())
                    .unwrap_or_default()
                    .to_owned(),
                parameters: tool["function"]["parameters"].clone(),
                is_strict: tool["function"]["strict"] == true,
                custom: (tool["type"] == "custom").then(|| tool["custom"]["format"].clone()),
            })
            .collect();
        if !self.notes.custom_tools && tools.iter().any(|tool| tool.custom.is_some()) {
            return refusal(400, "tools: Input should be 'function'");
        }
        if !self.notes.takes_tools && !tools.is_empty() {
            return refusal(400, "m does not support tools");
        }
        Ok(tools)
    }

    fn choice(&self, tools: &[Tool]) -> Result<Choice, Refusal> {
        let choice = &self.body["tool_choice"];
        let forced = |how: Forced, name: Option<String>| match how {
            Forced::Ignored => Ok(Choice::Auto),
            Forced::Refused(message) => refusal(400, message),
            how => Ok(Choice::Forced(how, name)),
        };
        if tools.is_empty() {
            return match choice {
                Value::Null => Ok(Choice::None),
                _ if choice == "none" => Ok(Choice::None),
                _ => refusal(400, "When using `tool_choice`, `tools` must be set."),
            };
        }
        match (choice, choice["type"].as_str()) {
            (Value::Null, _) => self.auto(),
            (Value::String(word), _) => match word.as_str() {
                "auto" => self.auto(),
                "none" if self.notes.keeps_none => Ok(Choice::None),
                "none" => Ok(Choice::Auto),
                "required" => forced(self.notes.required, None),
                _ => refusal(400, "Invalid tool_choice"),
            },
            (_, Some("function")) => {
                let name = choice["function"]["name"].as_str().map(str::to_owned);
                forced(self.notes.named, name)
            }
            (_, Some("custom")) if self.notes.custom_tools => {
                let name = choice["custom"]["name"].as_str().map(str::to_owned);
                forced(self.notes.named, name)
            }
            (_, Some("allowed_tools")) if self.notes.knows_allowed => {
                match choice["allowed_tools"]["mode"] == "required" {
                    true => forced(self.notes.required, None),
                    false => self.auto(),
                }
            }
            _ => refusal(400, "Invalid tool_choice"),
        }
    }

    fn auto(&self) -> Result<Choice, Refusal> {
        match self.notes.reads_calls {
            None => Ok(Choice::Auto),
            Some("") => Ok(Choice::None),
            Some(message) => refusal(400, message),
        }
    }

    fn forced(
        &mut self,
        how: Forced,
        name: Option<String>,
        tools: &[Tool],
    ) -> Result<Said, Refusal> {
        let choice = &self.body["tool_choice"];
        let allowed: Vec<&Value> = choice["allowed_tools"]["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| &tool["function"]["name"])
            .collect();
        let may = |tool: &&Tool| {
            name.as_ref().is_none_or(|name| *name == tool.name)
                && (allowed.is_empty() || allowed.iter().any(|it| **it == tool.name))
        };
        let tools: Vec<Tool> = tools.iter().filter(may).cloned().collect();
        if tools.is_empty() {
            return refusal(400, "The tool_choice names no tool");
        }
        let is_one = self.notes.keeps_one_call && self.body["parallel_tool_calls"] == false
            || name.is_some();
        let count = if is_one {
            1
        } else {
            1 + usize::from(self.random.in_a_hundred(15))
        };
        let mut said = Said::default();
        for _ in 0..count {
            let tool = self.random.of(&tools).clone();
            let arguments = self.arguments(how, &tool)?;
            said.is_cut = arguments.is_cut;
            said.calls.push(Call {
                name: tool.name,
                input: arguments.text,
                is_custom: tool.custom.is_some(),
            });
            if said.is_cut {
                break;
            }
        }
        Ok(said)
    }

    fn arguments(&mut self, how: Forced, tool: &Tool) -> Result<Written, Refusal> {
        if let Some(format) = &tool.custom {
            // The API keeps to a custom tool's grammar.
            let text = format["grammar"]["definition"]
                .as_str()
                .unwrap_or("(?s:.*)");
            let language = match format["grammar"]["syntax"] == "lark" {
                true => Language::Lark(text.to_owned()),
                false => of_regex(text),
            };
            return write(&language, self.random).or_else(|error| refusal(400, error));
        }
        let is_held =
            how == Forced::Whole || tool.is_strict && self.notes.compiler != Compiler::LlamaCpp;
        if is_held && self.notes.label != "plain" {
            let read = self.notes.compiler.read_parameters(&tool.parameters);
            let read = read.or_else(|error| refusal(400, error))?;
            if let Some(read) = read {
                let written = write(&Language::Json(read), self.random);
                return written.or_else(|error| refusal(400, error));
            }
        }
        self.held = self.held.max(Held::Shape);
        if self.random.in_a_hundred(self.gist.obeys)
            && let Ok(written) = write(&Language::Json(tool.parameters.clone()), self.random)
        {
            return Ok(written);
        }
        let text = self
            .random
            .of(&["{}", "{\"a\": 1}", "{\"a\": ", "[1]", "", "null"]);
        Ok(Written {
            text: (*text).to_owned(),
            is_cut: false,
        })
    }
}

#[derive(Debug, Clone)]
struct Tool {
    name: String,
    parameters: Value,
    is_strict: bool,
    /// The format of a custom tool.
    custom: Option<Value>,
}

#[derive(Debug, Clone)]
enum Choice {
    None,
    Auto,
    Forced(Forced, Option<String>),
}
