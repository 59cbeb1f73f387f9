//! Judging what a client got, by the demand alone: right, told that it is wrong, refused with a
//! reason; or wrong, which no client may ever get.

use super::demands::{Content, Demand};
use super::promises::Breach;
use super::proxy::unchunked;
use jsonschema::{Draft, Validator};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) enum Outcome {
    /// It satisfies the demand.
    Right,
    /// Cut by the length limit, and said so.
    Cut,
    /// The proxy says that the reply broke the contract, and how.
    Reported(Breach),
    /// The proxy refuses the request: the code.
    Refused(String),
    /// The server refused what the proxy sent: its words.
    ServerRefused(String),
    /// Delivered as good, or told badly.
    Wrong(String),
}

/// How it went: the outcome, and what the proxy said of the way.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) strategy: String,
    pub(crate) losses: bool,
    pub(crate) asked: usize,
}

/// What a reply says, however it came.
#[derive(Debug, Default)]
struct Answer {
    content: String,
    calls: Vec<Call>,
    finish: String,
}

#[derive(Debug, Default, Clone)]
struct Call {
    name: String,
    /// The arguments, or a custom tool's input.
    input: String,
    is_custom: bool,
}

pub(crate) fn judge(demand: &Demand, got: &[u8], asked: usize, refused: bool) -> (Outcome, Way) {
    let text = String::from_utf8_lossy(got);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        let way = Way {
            strategy: String::new(),
            losses: false,
            asked,
        };
        return (Outcome::Wrong("no reply".to_owned()), way);
    };
    let head = head.to_ascii_lowercase();
    let header = |name: &str| {
        head.lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")).map(str::trim))
    };
    let strategy = header("x-isogloss-strategy").unwrap_or_default().to_owned();
    let way = Way {
        strategy,
        losses: header("x-isogloss-losses").is_some(),
        asked,
    };
    let status: u16 = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let body = &got[head.len() + 4..];
    let body = match header("transfer-encoding") {
        Some(_) => unchunked(body),
        None => body.to_vec(),
    };
    let outcome = if status == 200 {
        let read = match head.contains("text/event-stream") {
            true => streamed(&body),
            false => whole(&body),
        };
        match read {
            Ok(answers) => {
                let losses = header("x-isogloss-losses").unwrap_or_default();
                delivered(&told_as_outlines(demand, losses), &answers)
            }
            Err(outcome) => outcome,
        }
    } else {
        told(status, &body, refused)
    };
    (outcome, way)
}

/// An error that says what is wrong and what to do, or a wrong one.
fn told(status: u16, body: &[u8], server_refused: bool) -> Outcome {
    let Ok(body) = serde_json::from_slice::<Value>(body) else {
        return Outcome::Wrong(format!("{status} without JSON"));
    };
    let error = &body["error"];
    let (code, message) = (
        error["code"].as_str().unwrap_or_default(),
        error["message"].as_str().unwrap_or_default(),
    );
    match status {
        502 if code == "constraint_violated" => reported(message),
        _ if server_refused => Outcome::ServerRefused(message.to_owned()),
        400..=499 if code.is_empty() || message.len() < 20 => {
            Outcome::Wrong(format!("{status} says too little: {body}"))
        }
        400..=499 if !error["param"].is_string() => {
            Outcome::Wrong(format!("{status} names no field: {body}"))
        }
        400..=499 => Outcome::Refused(code.to_owned()),
        _ => Outcome::Wrong(format!("{status}: {body}")),
    }
}

/// A report that names no rule helps nobody.
fn reported(message: &str) -> Outcome {
    match Breach::read(message) {
        Some(breach) => Outcome::Reported(breach),
        None => Outcome::Wrong(format!("a violation that names no rule: {message}")),
    }
}

fn whole(body: &[u8]) -> Result<Vec<Answer>, Outcome> {
    let wrong = |why: &str| Outcome::Wrong(why.to_owned());
    let body: Value = serde_json::from_slice(body).map_err(|_| wrong("200 without JSON"))?;
    let choices = body["choices"].as_array().into_iter().flatten();
    choices.map(answer).collect()
}

fn answer(choice: &Value) -> Result<Answer, Outcome> {
    let wrong = |why: &str| Outcome::Wrong(why.to_owned());
    let message = &choice["message"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut answer = Answer {
        content: text(&message["content"]),
        finish: text(&choice["finish_reason"]),
        ..Answer::default()
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let is_custom = call["type"] == "custom";
        let (name, input) = match is_custom {
            true => (&call["custom"]["name"], &call["custom"]["input"]),
            false => (&call["function"]["name"], &call["function"]["arguments"]),
        };
        let (Some(name), Some(input)) = (name.as_str(), input.as_str()) else {
            return Err(wrong(
                "a call without a name, or whose arguments are no text",
            ));
        };
        if call["id"].as_str().is_none_or(str::is_empty) {
            return Err(wrong("a call without an id"));
        }
        answer.calls.push(Call {
            name: name.to_owned(),
            input: input.to_owned(),
            is_custom,
        });
    }
    Ok(answer)
}

fn streamed(body: &[u8]) -> Result<Vec<Answer>, Outcome> {
    let text = String::from_utf8_lossy(body);
    let mut answers: BTreeMap<u64, Answer> = BTreeMap::new();
    let mut is_done = false;
    for line in text.lines() {
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        if data == "[DONE]" {
            is_done = true;
            continue;
        }
        let event: Value =
            serde_json::from_str(data).map_err(|_| Outcome::Wrong(format!("no JSON: {data}")))?;
        if event["error"].is_object() {
            return Err(match event["error"]["code"].as_str() {
                Some("constraint_violated") => {
                    reported(event["error"]["message"].as_str().unwrap_or_default())
                }
                _ => Outcome::Wrong(format!("an error in the stream: {event}")),
            });
        }
        for choice in event["choices"].as_array().into_iter().flatten() {
            let index = choice["index"].as_u64().unwrap_or_default();
            answers.entry(index).or_default().take(choice);
        }
    }
    let is_whole = |answer: &Answer| !answer.finish.is_empty();
    match is_done && answers.values().all(is_whole) {
        true => Ok(answers.into_values().collect()),
        false => Err(Outcome::Wrong(
            "a stream without its end, and without an error".to_owned(),
        )),
    }
}

impl Answer {
    fn take(&mut self, choice: &Value) {
        let delta = &choice["delta"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.content += &text(&delta["content"]);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or_default() as usize;
            if self.calls.len() <= index {
                self.calls.resize(index + 1, Call::default());
            }
            let known = &mut self.calls[index];
            known.is_custom |= call["type"] == "custom";
            known.name += &text(&call["function"]["name"]);
            known.name += &text(&call["custom"]["name"]);
            known.input += &text(&call["function"]["arguments"]);
            known.input += &text(&call["custom"]["input"]);
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            finish.clone_into(&mut self.finish);
        }
    }
}

/// The demand, in which a tool is one of any object where the proxy says that it cannot be read: only one that the validator
/// does not take either, and where no call has to be, or another tool may be called.
fn told_as_outlines(demand: &Demand, losses: &str) -> Demand {
    let mut demand = demand.clone();
    let mut tools = demand.tools.iter();
    let has_other = demand.only.is_none() && tools.any(|(_, schema)| validator(schema).is_some());
    let may_be = (!demand.must_call || has_other) && losses.contains("/function/parameters");
    for (_, schema) in demand.tools.iter_mut().filter(|_| may_be) {
        if validator(schema).is_none() {
            *schema = json!({"type": "object"});
        }
    }
    demand
}

fn delivered(demand: &Demand, answers: &[Answer]) -> Outcome {
    if answers.is_empty() {
        return Outcome::Wrong("delivered, and nothing is said".to_owned());
    }
    let whole = answers.iter().filter(|answer| answer.finish != "length");
    if let Some(why) = whole.clone().find_map(|answer| breach(demand, answer)) {
        return Outcome::Wrong(format!("delivered, although {why}"));
    }
    match whole.count() == answers.len() {
        true => Outcome::Right,
        false => Outcome::Cut,
    }
}

fn breach(demand: &Demand, answer: &Answer) -> Option<String> {
    if !answer.calls.is_empty() {
        if demand.tools.is_empty() && demand.customs.is_empty() {
            return Some("there is a call, and there are no tools".to_owned());
        }
        if demand.one_call && answer.calls.len() > 1 {
            return Some("there are two calls where one was asked for".to_owned());
        }
        return answer.calls.iter().find_map(|call| {
            let (name, arguments) = (&call.name, &call.input);
            let is_other = demand.only.as_ref().is_some_and(|only| only != name);
            let custom = demand.customs.iter().find(|(known, _)| known == name);
            if let Some((_, regex)) = custom.filter(|_| !is_other) {
                return match call.is_custom {
                    true => not_of_regex(regex, arguments),
                    false => Some(format!(
                        "`{name}` is a custom tool, and was called as a function"
                    )),
                };
            }
            let Some((_, schema)) = demand.tools.iter().find(|(known, _)| known == name) else {
                return Some(format!("`{name}` is no tool"));
            };
            match is_other {
                true => Some(format!("`{name}` is not the tool that was chosen")),
                false => unsatisfied(schema, arguments),
            }
        });
    }
    if demand.must_call {
        return Some("there is no call".to_owned());
    }
    let text = &answer.content;
    match &demand.content {
        Content::Any => None,
        Content::Schema(schema) => unsatisfied(schema, text),
        Content::Object => unsatisfied(&json!({"type": "object"}), text),
        Content::Choice(all) => {
            (!all.contains(text)).then(|| format!("{text:?} is none of the choices"))
        }
        Content::Regex(regex) => not_of_regex(regex, text),
        Content::Tags {
            begin,
            end,
            schema,
            rest,
        } => tags(begin, end, schema, rest, text),
    }
}

fn not_of_regex(regex: &str, text: &str) -> Option<String> {
    let schema = json!({"type": "string", "pattern": format!("^(?:{regex})$")});
    unsatisfied(&schema, &json!(text).to_string())
}

/// Each tag by itself, and what stands around them.
fn tags(begin: &str, end: &str, schema: &Value, rest: &str, text: &str) -> Option<String> {
    let mut around = String::new();
    let mut left = text;
    while let Some((before, inside)) = left.split_once(begin) {
        around += before;
        let mut values = serde_json::Deserializer::from_str(inside).into_iter::<Value>();
        let Some(Ok(value)) = values.next() else {
            return Some(format!("there is no JSON in a tag: {text:?}"));
        };
        let (_, after) = inside.split_at(values.byte_offset());
        let Some(after) = after.trim_start().strip_prefix(end) else {
            return Some(format!("a tag does not end: {text:?}"));
        };
        if let Some(why) = unsatisfied(schema, &value.to_string()) {
            return Some(why);
        }
        around.push('\u{1}');
        left = after;
    }
    around += left;
    not_of_regex(rest, &around)
}

/// One that names no draft is of the newest; if it is none there, of the last that had lists under `items`, or truths for exclusive bounds.
fn validator(schema: &Value) -> Option<Validator> {
    let of = |draft: Draft| {
        let options = jsonschema::options().with_draft(draft);
        options.should_validate_formats(true).build(schema).ok()
    };
    let older = || {
        let is_unnamed = schema.get("$schema").is_none();
        is_unnamed.then(|| of(Draft::Draft7).or_else(|| of(Draft::Draft4)))
    };
    of(Draft::default().detect(schema)).or_else(|| older()?)
}

/// Why a text is not JSON that satisfies a schema.
fn unsatisfied(schema: &Value, text: &str) -> Option<String> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Some(format!("{text:?} is no JSON: {error}")),
    };
    let Some(validator) = validator(schema) else {
        return Some("the schema itself is not valid, and the request was taken".to_owned());
    };
    let error = validator.iter_errors(&value).next()?;
    Some(format!(
        "{text} is wrong at {}: {error}",
        error.instance_path()
    ))
}
