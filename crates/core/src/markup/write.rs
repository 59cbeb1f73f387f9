//! Calls as the model writes them: for the history that it is shown, and for tests.

use super::elements::{self, Tokens};
use super::format::{Form, Format, Parameter, ParameterValue, Shape};
use super::input::INPUT;
use super::pattern::{Holes, Pattern};
use super::{Tools, typed};
use crate::ir::CallKind;
use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;

/// A call that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written<'a> {
    /// Its id, where it has one; a format that has no place for it leaves it out.
    pub id: Option<&'a str>,
    /// The tool's name.
    pub name: &'a str,
    /// JSON text of an object; a custom tool's text as it is.
    pub input: &'a str,
}

/// What is known of a text in which calls are to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallText {
    /// The server may read calls off it as well: their arguments are JSON, since other readers of typed parameters end them elsewhere.
    Shared,
    /// The server reads calls off it as well, and is to: parameters between tokens may be typed, and no text in them has what ends a
    /// call in it.
    Parsed,
    /// Nobody but us reads calls off it, so they may have typed parameters.
    Own,
    /// The same, and it is all that follows the prompt: a call may begin where the prompt ends, and is the only one then; what
    /// would end that turn is left to the model's end.
    Whole,
}

/// What stands around the arguments of calls, which are JSON or typed parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// Before the first call.
    pub open: String,
    /// Before the arguments of each call, or before its number.
    pub begin: String,
    /// Where calls are numbered: what stands between the number and the arguments.
    pub numbered: Option<String>,
    /// The number of the first call, where calls are numbered.
    pub counts_from: u8,
    /// After the arguments of each call.
    pub end: String,
    /// Between two calls; `None` where a turn has but one.
    pub between: Option<String>,
    /// After the last call.
    pub close: String,
}

impl Frame {
    /// The frame of the first call of its block alone.
    #[must_use]
    pub fn first(mut self) -> Self {
        if let Some(behind) = self.numbered.take() {
            self.begin += &self.counts_from.to_string();
            self.begin += &behind;
        }
        self
    }
}

/// In the place of arguments; no name has it.
const ARGUMENTS: &str = "\0";
/// In the place of a number; no name has it either.
const NUMBER: &str = "\u{1}";

/// In a head: the call's number, counted from one.
const NTH: &str = "{nth}";

/// What stands around calls: of all of them, or of each.
struct Block<'f> {
    open: &'f str,
    begin: &'f str,
    end: &'f str,
    between: &'f str,
    close: &'f str,
}

impl<'f> Block<'f> {
    fn of(form: &'f Form) -> Self {
        let begin = form.begins.first().map_or("", Pattern::text);
        let end = form.ends.first().map_or("", Pattern::text);
        match form.separators.first() {
            Some(separator) => Self {
                open: begin,
                begin: "",
                end: "",
                between: separator.text(),
                close: end,
            },
            // Tokens that end blocks of their own need nothing between them.
            None => Self {
                open: "",
                begin,
                end,
                between: match end.is_empty() && form.call_ends.is_empty() {
                    true => "",
                    false => "\n",
                },
                close: "",
            },
        }
    }
}

impl Format {
    /// The calls as the model writes them. What is no JSON object goes where the arguments go, as
    /// it is: a model that wrote it is shown what it wrote.
    #[must_use]
    pub fn write(&self, calls: &[Written<'_>], tools: &Tools) -> String {
        let Some(form) = self.forms.first() else {
            return String::new();
        };
        if calls.is_empty() {
            return String::new();
        }
        let block = Block::of(form);
        let mut text = block.open.to_owned();
        for (index, call) in calls.iter().enumerate() {
            if index > 0 {
                text.push_str(block.between);
            }
            text.push_str(block.begin);
            write_call(form, &index.to_string(), call, tools, &mut text);
            text.push_str(block.end);
        }
        text.push_str(block.close);
        text
    }

    /// What stands around the arguments of a tool's calls in such a text; `None` where nothing can hold what they are written as,
    /// or how they begin hangs on how the prompt ends.
    #[must_use]
    pub fn frame(&self, name: &str, text: CallText) -> Option<Frame> {
        let form = self.forms.first()?;
        let is_held = self.is_typed() && form.holds_in(text);
        if !matches!(form.shape, Shape::Envelope | Shape::Json) && !is_held {
            return None;
        }
        if form.begins_turn {
            let head = form.reply_head.as_ref()?;
            let holes = Holes {
                name: Some(name),
                ..Holes::default()
            };
            let begin = head.fill(&holes)?;
            return (text == CallText::Whole).then(|| Frame {
                begin,
                ..Frame::default()
            });
        }
        let call = Written {
            id: None,
            name,
            input: ARGUMENTS,
        };
        let block = Block::of(form);
        let mut text = block.begin.to_owned();
        write_call(form, NUMBER, &call, &Tools::default(), &mut text);
        let (begin, end) = text.split_once(ARGUMENTS)?;
        let (begin, numbered) = match begin.split_once(NUMBER) {
            Some((begin, numbered)) => (begin, Some(numbered.to_owned())),
            None => (begin, None),
        };
        // Nobody can say that two numbers are the same.
        if numbered.as_ref().is_some_and(|text| text.contains(NUMBER)) || end.contains(NUMBER) {
            return None;
        }
        Some(Frame {
            open: block.open.to_owned(),
            begin: begin.to_owned(),
            numbered,
            counts_from: u8::from(form.heads.first().is_some_and(|head| head.has(NTH))),
            end: end.to_owned() + block.end,
            between: Some(block.between.to_owned()),
            close: block.close.to_owned(),
        })
    }

    /// A single call of a tool, whose arguments are JSON or typed parameters, as it stands in all that a model wrote: what stands
    /// before and after the arguments, and the token with which every call begins. `None` where no token tells that a call begins.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<(String, String, &str)> {
        let frame = self.frame(name, CallText::Whole)?.first();
        let begin = frame.open + &frame.begin;
        let tokens = self.tokens().into_iter();
        let tokens = tokens.filter(|token| begin.starts_with(token));
        let token = tokens.max_by_key(|token| token.len())?;
        Some((begin, frame.end + &frame.close, token))
    }

    /// A tool's result as the model is shown it, where the format says how.
    #[must_use]
    pub fn write_result(&self, id: Option<&str>, name: &str, content: &str) -> Option<String> {
        let result = self.result.as_deref()?;
        let (before, after) = result.split_once("{content}").unwrap_or((result, ""));
        let fill = |text: &str| {
            text.replace("{name}", name)
                .replace("{id}", id.unwrap_or_default())
        };
        Some(format!("{}{content}{}", fill(before), fill(after)))
    }
}

fn write_call(form: &Form, number: &str, call: &Written<'_>, tools: &Tools, text: &mut String) {
    let kind = tools.kind(call.name);
    let wrapped;
    let json = match kind {
        CallKind::Function => call.input,
        CallKind::Custom => {
            wrapped = format!("{{\"{INPUT}\": {}}}", Value::from(call.input));
            &wrapped
        }
    };
    if form.shape == Shape::Envelope {
        write_envelope(form, call, json, text);
    } else {
        let nth = number
            .parse::<usize>()
            .map(|number| (number + 1).to_string());
        let nth = nth.unwrap_or_else(|_| number.to_owned());
        let own = form.id.as_ref();
        let holes = Holes {
            name: Some(call.name),
            id: call.id,
            number: own.and_then(|_| number_of(call.id)).or(Some(number)),
            nth: Some(&nth),
            ..Holes::default()
        };
        let heads = form.heads.iter();
        let head = heads.filter_map(|head| head.fill(&holes)).next();
        text.push_str(&head.unwrap_or_default());
        let members: Option<IndexMap<String, Box<RawValue>>> = serde_json::from_str(json).ok();
        match (form.shape, members) {
            (Shape::Parameters, Some(members)) => {
                for (key, value) in &members {
                    write_parameter(form, call.name, key, value.get(), tools, text);
                }
            }
            (Shape::Python, Some(members)) => {
                for (at, (key, value)) in members.iter().enumerate() {
                    text.push_str(if at > 0 { ", " } else { "" });
                    text.push_str(key);
                    text.push('=');
                    python(value.get(), text);
                }
            }
            (Shape::BareKeys, Some(members)) => bare_object(&members, &form.quote, text),
            _ => text.push_str(json),
        }
        if form.shape == Shape::Python {
            text.push(')');
        }
    }
    text.push_str(form.call_ends.first().map_or("", Pattern::text));
}

/// The number at the end of an id that is made of one.
fn number_of(id: Option<&str>) -> Option<&str> {
    let (_, number) = id?.rsplit_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(number)
}

fn write_envelope(form: &Form, call: &Written<'_>, json: &str, text: &mut String) {
    let keys = &form.keys;
    let key = |keys: &[String]| Value::from(keys.first().map_or("", String::as_str)).to_string();
    if keys.name.is_empty() {
        let name = Value::from(call.name);
        text.push_str(&format!("{{{name}: {json}}}"));
        return;
    }
    let id = call.id.filter(|_| !keys.id.is_empty());
    let id = id.map(|id| format!("{}: {}", key(&keys.id), Value::from(id)));
    let name = format!("{}: {}", key(&keys.name), Value::from(call.name));
    let arguments = format!("{}: {json}", key(&keys.arguments));
    let (before, after) = match keys.is_id_last {
        true => (None, id),
        false => (id, None),
    };
    let members = before.into_iter().chain([name, arguments]).chain(after);
    let members: Vec<String> = members.collect();
    text.push('{');
    text.push_str(&members.join(", "));
    text.push('}');
}

fn write_parameter(
    form: &Form,
    tool: &str,
    key: &str,
    json: &str,
    tools: &Tools,
    text: &mut String,
) {
    let string: Option<String> = serde_json::from_str(json).ok();
    let fits = |parameter: &&Parameter| match parameter.value {
        ParameterValue::Schema | ParameterValue::Elements => true,
        ParameterValue::Text => string.is_some(),
        ParameterValue::Json => string.is_none(),
    };
    let parameters = &form.parameters;
    let found = parameters.iter().find(fits).or(parameters.first());
    let Some(parameter) = found else {
        return;
    };
    let holes = Holes {
        key: Some(key),
        kind: Some(typed::type_of(json)),
        ..Holes::default()
    };
    text.push_str(&parameter.begin.fill(&holes).unwrap_or_default());
    if let (Some(string), Some((open, close))) = (&string, &parameter.inside)
        && string.contains(['<', '&', '\n'])
        && !string.contains(close)
    {
        text.push_str(open);
        text.push_str(string);
        text.push_str(close);
        text.push_str(&parameter.end);
        text.push_str(&parameter.after);
        return;
    }
    let end = match parameter.value {
        ParameterValue::Elements => parameter.end.replace("{key}", key),
        _ => parameter.end.clone(),
    };
    text.push_str(&parameter.around);
    match (&string, parameter.value) {
        (Some(string), ParameterValue::Text) => text.push_str(string),
        (None, ParameterValue::Elements) => {
            let tokens = Tokens::new(parameter);
            let elements =
                tokens.and_then(|tokens| elements::write(json, tokens, tools.schema(tool), key));
            text.push_str(elements.as_deref().unwrap_or(json));
        }
        (Some(string), ParameterValue::Schema | ParameterValue::Elements) => {
            // A text that would be read as something else is written as JSON, if that helps.
            let again = typed::by_schema(string, tools.schema(tool), key);
            let is_same = crate::json::value(&again).is_ok_and(|again: Value| again == **string);
            text.push_str(if is_same { string } else { json });
        }
        _ => text.push_str(json),
    }
    text.push_str(&parameter.around);
    text.push_str(&end);
    text.push_str(&parameter.after);
}

/// A JSON value as a literal of Python's.
fn python(json: &str, text: &mut String) {
    let items: Option<Vec<Box<RawValue>>> = serde_json::from_str(json).ok();
    let members: Option<IndexMap<String, Box<RawValue>>> = serde_json::from_str(json).ok();
    match (json.trim(), items, members) {
        ("true", ..) => text.push_str("True"),
        ("false", ..) => text.push_str("False"),
        ("null", ..) => text.push_str("None"),
        (_, Some(items), _) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                python(item.get(), text);
            }
            text.push(']');
        }
        (_, _, Some(members)) => {
            text.push('{');
            for (at, (key, value)) in members.iter().enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push_str(": ");
                python(value.get(), text);
            }
            text.push('}');
        }
        // Numbers, and strings: JSON's escapes are Python's, but for the solidus.
        (json, ..) if json.starts_with('"') => {
            let string: String = serde_json::from_str(json).unwrap_or_default();
            text.push_str(&Value::from(string).to_string());
        }
        (json, ..) => text.push_str(json),
    }
}

fn bare_object(members: &IndexMap<String, Box<RawValue>>, quote: &str, text: &mut String) {
    text.push('{');
    for (at, (key, value)) in members.iter().enumerate() {
        text.push_str(if at > 0 { "," } else { "" });
        text.push_str(key);
        text.push(':');
        bare_value(value.get(), quote, text);
    }
    text.push('}');
}

fn bare_value(json: &str, quote: &str, text: &mut String) {
    let items: Option<Vec<Box<RawValue>>> = serde_json::from_str(json).ok();
    let members: Option<IndexMap<String, Box<RawValue>>> = serde_json::from_str(json).ok();
    let string: Option<String> = serde_json::from_str(json).ok();
    if let Some(string) = string {
        text.push_str(quote);
        text.push_str(&string);
        text.push_str(quote);
    } else if let Some(members) = members {
        bare_object(&members, quote, text);
    } else if let Some(items) = items {
        text.push('[');
        for (at, item) in items.iter().enumerate() {
            text.push_str(if at > 0 { "," } else { "" });
            bare_value(item.get(), quote, text);
        }
        text.push(']');
    } else {
        text.push_str(json.trim());
    }
}
