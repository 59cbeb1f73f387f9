//! A model's chat template: a conversation and its tools come in; the prompt's text goes out.
//!
//! Templates are written for Python's Jinja as transformers' `apply_chat_template` sets it up, so
//! this does as that does: `trim_blocks` and `lstrip_blocks`, loop controls, Python's methods and
//! its ways of writing values, `raise_exception`, `strftime_now`. Beyond it, what a template does
//! not know is brought into a shape that it does: see `messages`.
//!
//! A template comes with a model file that anybody may have made: it is hostile. Its steps, its
//! nesting, its time, and the size of what it makes are bounded; see `guard`.

mod calls;
mod date;
mod guard;
mod messages;
mod probe;
mod python;
mod source;
#[cfg(test)]
mod tests;

use super::backend::Think;
use super::thoughts::ThinkTags;
use guard::{Guard, Stopped};
use isogloss_core::error::{Error, Kind};
use isogloss_core::markup::{CallText, Format};
use messages::Shape;
use minijinja::value::{Rest, ValueKind};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use serde_json::{Map, Value, json};
use source::Prepared;
use std::io;
use std::sync::Arc;

/// Instructions of the template engine for one rendering. A message takes about 100.
const FUEL: u64 = 5_000_000;
/// Characters of a template's own refusal that are told.
const MAX_RAISED: usize = 1_000;
/// What the request's own fields say: `chat_template_kwargs` cannot say it again.
const FIXED: [&str; 9] = [
    "messages",
    "tools",
    "bos_token",
    "eos_token",
    "add_generation_prompt",
    "continue_final_message",
    "chat_template",
    "tokenize",
    "return_dict",
];
/// For a model without a template.
const CHATML: &str = "{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}";

/// A conversation to be rendered.
#[derive(Debug, Clone, Copy)]
pub struct Prompt<'a> {
    /// The messages, as Chat Completions has them.
    pub messages: &'a [Value],
    /// The tools, as Chat Completions has them.
    pub tools: &'a [Value],
    /// Further variables for the template (`chat_template_kwargs`).
    pub kwargs: &'a Map<String, Value>,
    /// The texts with which tags begin that the answer is held to; `None` where it is held to nothing.
    pub tags: Option<&'a [String]>,
    /// Whether the answer is held to something that knows nothing of what the model writes before answers.
    pub is_plain: bool,
    /// The text of the last message, which is the model's, where the prompt ends with that for the model to go on with.
    pub goes_on: Option<&'a str>,
    /// Now, in seconds since 1970.
    pub now_unix: u64,
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its text. Names of control tokens in it stand for those tokens.
    pub text: String,
    /// Where the model's thinking goes after it.
    pub think: Think,
}

/// A chat template.
#[derive(Debug, Clone)]
pub struct ChatTemplate {
    prepared: Prepared,
    bos: String,
    eos: String,
    shape: Shape,
    /// For an answer that is held to something else than the template's own calls, where these are no JSON behind a token.
    other: Option<Shape>,
    think: ThinkTags,
    thinks: bool,
    /// The markup that it shows, where all that the model says is messages in it.
    messages: Option<Arc<Format>>,
}

impl ChatTemplate {
    /// Reads a template. `bos` and `eos` are the texts of the model's tokens of these names.
    ///
    /// # Errors
    /// It is no Jinja, or nothing that can be bounded: in which line, and why.
    pub fn new(source: &str, bos: &str, eos: &str) -> Result<Self, Error> {
        let unusable = |why: &str| {
            let message = format!("the model's chat template cannot be used: {why}");
            Error::new(Kind::Internal, message)
        };
        let prepared = source::prepare(source).map_err(|refused| unusable(&refused.to_string()))?;
        let environment = environment(&Arc::new(Guard::new(0, 0)), 0);
        if let Err(error) = environment.template_from_str(&prepared.source) {
            return Err(unusable(&described(&error)));
        }
        let shape = Shape {
            parts: prepared.reads_parts,
            tool_role: prepared.names_tool_role,
            developer_role: source.contains("developer"),
            ..Shape::default()
        };
        let think = ThinkTags::of_template(source);
        let mut template = Self {
            prepared,
            bos: bos.to_owned(),
            eos: eos.to_owned(),
            shape,
            other: None,
            thinks: think.stand_in(source),
            think,
            messages: None,
        };
        let found = probe::tried(&template);
        (template.shape, template.other) = (found.shape, found.other);
        template.messages = found.messages;
        Ok(template)
    }

    /// ChatML, for a model without a template.
    #[must_use]
    pub fn plain() -> Self {
        let prepared = source::prepare(CHATML).unwrap_or_default();
        Self {
            prepared,
            bos: String::new(),
            eos: "<|im_end|>".to_owned(),
            shape: Shape::default(),
            other: None,
            think: ThinkTags::default(),
            thinks: false,
            messages: None,
        }
    }

    /// The markup in which all stands that the model says, messages on channels (Harmony's): text that nobody is to see.
    #[must_use]
    pub const fn messages(&self) -> Option<&Arc<Format>> {
        self.messages.as_ref()
    }

    /// Whether the template knows thoughts, `<think>…</think>` or in [its own tags](ThinkTags).
    #[must_use]
    pub fn thinks(&self) -> bool {
        self.thinks
    }

    /// Renders a conversation, up to where the model's answer begins.
    ///
    /// # Errors
    /// A message that the template cannot show (the place is named), a conversation that the
    /// template refuses (in its own words), or one that takes it over its bounds.
    pub fn render(&self, prompt: &Prompt<'_>) -> Result<Rendered, Error> {
        for name in FIXED {
            let is_default = matches!(prompt.kwargs.get(name), None | Some(Value::Null))
                || (name == "add_generation_prompt" && prompt.kwargs[name] == json!(true));
            if !is_default {
                let message = format!("`{name}` is set by the request itself: remove it");
                let param = format!("chat_template_kwargs.{name}");
                return Err(Error::new(Kind::InvalidRequest, message).at(param));
            }
        }
        let shape = self.shape_for(prompt);
        let text = match (self.text_in(shape, prompt)?, &self.other) {
            // Llama 3's template has one call in a turn.
            (Err(_), Some(other)) if shape.native_calls => self.text_in(other, prompt)?,
            (text, _) => text,
        };
        let text = text.map_err(|error| refusal(&error))?;
        if let Some(last) = prompt.goes_on {
            let text = open_ended(text, last)?;
            let think = Think::None;
            return Ok(Rendered { text, think });
        }
        let think = self.think_after(&text);
        let head = self.answer_head(&text, prompt);
        Ok(Rendered {
            text: text + head,
            think,
        })
    }

    fn text_in(
        &self,
        shape: &Shape,
        prompt: &Prompt<'_>,
    ) -> Result<Result<String, minijinja::Error>, Error> {
        let messages = messages::shaped(prompt.messages, prompt.tools, shape)?;
        let tools = match shape.native_tools {
            true => prompt.tools,
            false => &[],
        };
        Ok(self.text(&messages, tools, prompt))
    }

    /// A model that is shown calls as typed parameters, or as JSON without a token, is held to such, or it is shown none.
    fn shape_for(&self, prompt: &Prompt<'_>) -> &Shape {
        let (Some(other), Some(style), Some(tags)) = (&self.other, &self.shape.style, prompt.tags)
        else {
            return &self.shape;
        };
        let names = prompt.tools.iter();
        let names = names.filter_map(|tool| tool["function"]["name"].as_str());
        let begins = names.filter_map(|name| style.frame(name, CallText::Whole));
        let mut begins = begins.map(|frame| {
            let first = frame.first();
            first.open + &first.begin
        });
        // What stands before a block of calls may stand before the tag.
        let is_own = |begin: &str, tag: &String| !tag.is_empty() && begin.ends_with(tag.as_str());
        match begins.any(|begin| tags.iter().any(|tag| is_own(&begin, tag))) {
            true => &self.shape,
            false => other,
        }
    }

    /// What the model would write first, and a constraint that knows nothing of it does not let it.
    fn answer_head(&self, text: &str, prompt: &Prompt<'_>) -> &str {
        let messages = self.messages.as_deref().filter(|_| prompt.is_plain);
        messages.map_or("", |format| format.answer_head(text))
    }

    fn think_after(&self, text: &str) -> Think {
        if !self.thinks {
            return Think::None;
        }
        let text = text.trim_end();
        if text.ends_with(self.think.open()) {
            return Think::Open;
        }
        // Switched off: by an empty block, or as DeepSeek's templates do, by its end alone.
        match text.ends_with(self.think.close()) {
            true => Think::None,
            false => Think::Optional,
        }
    }

    fn text(
        &self,
        messages: &[Value],
        tools: &[Value],
        prompt: &Prompt<'_>,
    ) -> Result<String, minijinja::Error> {
        let variables = self.variables(messages, tools, prompt);
        let input =
            bytes(messages) + bytes(tools) + prompt.kwargs.values().map(size).sum::<usize>();
        let guard = Arc::new(Guard::new(input, self.prepared.raw));
        // Compiled each time: 90 µs for a template of 3 kB, measured without optimisation. The
        // engine keeps a template only as long as the source that it borrows.
        let environment = environment(&guard, prompt.now_unix);
        let template = environment.template_from_str(&self.prepared.source)?;
        let mut output = Output {
            bytes: Vec::new(),
            most: guard.most(),
        };
        template.render_captured_to(variables, &mut output)?;
        String::from_utf8(output.bytes)
            .map_err(|_| Stopped::Bound("it prints what is no text").into())
    }

    fn variables(
        &self,
        messages: &[Value],
        tools: &[Value],
        prompt: &Prompt<'_>,
    ) -> minijinja::Value {
        let mut variables = Map::from_iter([
            ("documents".to_owned(), Value::Null),
            (
                "date_string".to_owned(),
                date::strftime(prompt.now_unix, "%d %b %Y").into(),
            ),
        ]);
        for (name, value) in prompt.kwargs {
            variables.insert(name.clone(), value.clone());
        }
        for name in FIXED {
            variables.remove(name);
        }
        let mut all: Vec<(String, minijinja::Value)> = variables
            .into_iter()
            .map(|(name, value)| (name, minijinja::Value::from_serialize(value)))
            .collect();
        let mut set = |name: &str, value| all.push((name.to_owned(), value));
        set("messages", minijinja::Value::from_serialize(messages));
        set(
            "tools",
            match tools.is_empty() {
                true => minijinja::Value::from(()),
                false => minijinja::Value::from_serialize(tools),
            },
        );
        set("add_generation_prompt", prompt.goes_on.is_none().into());
        set("bos_token", self.bos.as_str().into());
        set("eos_token", self.eos.as_str().into());
        all.into_iter().collect()
    }
}

/// The prompt up to the end of the last message's text, as transformers cuts it (`continue_final_message` of its
/// `apply_chat_template`).
fn open_ended(mut text: String, last: &str) -> Result<String, Error> {
    let Some(at) = text.rfind(last.trim()) else {
        let message = "the final message does not appear in the chat after the chat template was applied: the template changes \
                       it, so that the model cannot go on with it";
        return Err(Error::new(Kind::InvalidRequest, message).at("continue_final_message"));
    };
    // Templates may trim it.
    let said = [last.trim_start(), last.trim()];
    let said = said.into_iter().find(|said| text[at..].starts_with(said));
    text.truncate(at + said.map_or(0, str::len));
    Ok(text)
}

/// The template engine as transformers sets Jinja up, with the bounds of one rendering.
fn environment(guard: &Arc<Guard>, now_unix: u64) -> Environment<'static> {
    use minijinja::{State, Value};
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_fuel(Some(FUEL));

    let own = Arc::clone(guard);
    environment.set_formatter(move |out, _, value| {
        let text = python::string(value, &own)?;
        own.print(text.len())?;
        Ok(out.write_str(&text)?)
    });
    let own = Arc::clone(guard);
    environment.set_unknown_method_callback(move |state, value, name, arguments| {
        python::method(state, value, name, arguments, &own)
    });

    // What is left out prints the template's state, or makes lists of any length.
    for filter in ["pprint", "batch", "slice"] {
        environment.remove_filter(filter);
    }
    environment.remove_global("debug");

    environment.add_function("raise_exception", |message: Option<Value>| {
        let message = message.map(|message| message.to_string());
        Err::<Value, _>(Stopped::Raised(message.unwrap_or_default()).into())
    });
    environment.add_function("strftime_now", move |format: &str| {
        date::strftime(now_unix, format)
    });
    let own = Arc::clone(guard);
    environment.add_function("isogloss_bound", move |values: Rest<Value>| {
        Ok::<(), minijinja::Error>(own.bound(&values)?)
    });
    let own = Arc::clone(guard);
    environment.add_function("isogloss_stored", move |values: Rest<Value>| {
        Ok::<(), minijinja::Error>(own.stored(&values)?)
    });
    environment.add_function("isogloss_factor", |value: Value| {
        Ok::<Value, minijinja::Error>(Guard::factor(value)?)
    });

    let most = guard.most();
    environment.add_filter("tojson", move |value: &Value, rest: Rest<Value>| {
        python::tojson(value, rest, most)
    });
    environment.add_filter("indent", move |text: &str, rest: Rest<Value>| {
        python::indent(text, rest, most)
    });
    environment.add_filter("replace", move |text: &str, rest: Rest<Value>| {
        python::replace(text, rest, most)
    });
    let own = Arc::clone(guard);
    environment.add_filter("join", move |value: &Value, rest: Rest<Value>| {
        python::join(value, rest, &own)
    });
    let own = Arc::clone(guard);
    environment.add_filter("string", move |value: &Value| {
        Ok::<String, minijinja::Error>(python::string(value, &own)?)
    });
    environment.add_filter(
        "format",
        |state: &State, text: &Value, rest: Rest<Value>| python::format(state, text, &rest),
    );
    // As Python has them: texts and dicts are sequences, too, and nothing iterates over `None`.
    environment.add_test("iterable", |value: &Value| {
        !value.is_none() && value.try_iter().is_ok()
    });
    environment.add_test("sequence", |value: &Value| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::String | ValueKind::Map
        )
    });
    environment
}

/// Where the rendered text goes.
struct Output {
    bytes: Vec<u8>,
    most: usize,
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.most.saturating_sub(self.bytes.len()) {
            return Err(io::Error::other("the bound of a rendered text"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    const EACH: usize = 16;
    EACH + match value {
        Value::String(text) => text.len(),
        Value::Array(values) => bytes(values),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| EACH + key.len() + size(value))
            .sum(),
        _ => 0,
    }
}

fn bytes(values: &[Value]) -> usize {
    values.iter().map(size).sum()
}

/// What a rendering that failed tells the client.
fn refusal(error: &minijinja::Error) -> Error {
    let message = match stopped(error) {
        Some(Stopped::Raised(message)) => {
            let message: String = message.chars().take(MAX_RAISED).collect();
            format!("the model's chat template refuses the messages: {message}")
        }
        _ => format!(
            "the model's chat template cannot show these messages: {}",
            described(error)
        ),
    };
    Error::new(Kind::InvalidRequest, message).at("messages")
}

/// An error of the template engine, without any of the conversation's text.
fn described(error: &minijinja::Error) -> String {
    let line = match error.line() {
        Some(line) => format!(" (line {line} of the template)"),
        None => String::new(),
    };
    let what = match (stopped(error), error.kind()) {
        (Some(stopped), _) => stopped.to_string(),
        (None, ErrorKind::OutOfFuel) => format!("it takes more than {FUEL} steps"),
        (None, ErrorKind::WriteFailure) => "it prints too much".to_owned(),
        (None, ErrorKind::InvalidOperation)
            if error
                .detail()
                .is_some_and(|detail| detail.starts_with("recursion limit")) =>
        {
            "it nests too deep".to_owned()
        }
        // These details are of the template alone; others may quote values.
        (
            None,
            kind @ (ErrorKind::SyntaxError
            | ErrorKind::UnknownFilter
            | ErrorKind::UnknownTest
            | ErrorKind::UnknownFunction
            | ErrorKind::UnknownMethod
            | ErrorKind::TemplateNotFound),
        ) => match error.detail() {
            Some(detail) => format!("{kind}: {detail}"),
            None => kind.to_string(),
        },
        (None, kind) => kind.to_string(),
    };
    format!("{what}{line}")
}

/// The reason that is ours, of those behind an error.
fn stopped(error: &minijinja::Error) -> Option<&Stopped> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(stopped) = error.downcast_ref::<Stopped>() {
            return Some(stopped);
        }
        next = error.source();
    }
    None
}
