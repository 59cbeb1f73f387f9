//! One reply to one micro-request in, the verdict out. Where a reply could be both, the verdict
//! is that nothing is clear: a rule is overruled only by what is certain.

use super::MAX_TOKENS;
use super::question::{Expected, KEY, OPEN, WORD};
use crate::dialect::server::{About, ReplyFault, Server};
use crate::ir::{Delta, Event, Fields, Ids, Of};
use crate::rules::{Rule, Verdict};
use serde_json::Value;

/// A micro-request's event is under a kilobyte.
const MAX_EVENT_BYTES: usize = 1 << 20;
/// So many characters of a lawful answer that was cut are no accident.
const TELLING: usize = 4;
/// The description of the tool that is shown has some 30 tokens; templates that take other words
/// when there are none to show differ by less than this.
const SHOWN_TOKENS: u64 = 12;

/// What the first choice of a reply says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    text: String,
    calls: Vec<Call>,
    is_cut: bool,
    has_reasoning: bool,
    thoughts: String,
    pub(super) prompt_tokens: Option<u64>,
    pub(super) system_fingerprint: Option<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Call {
    index: u32,
    name: String,
    arguments: String,
}

fn about(rule: &Rule) -> About {
    About {
        reasoning: rule.reasoning.clone(),
        ..About::default()
    }
}

/// Reads a whole reply; the error is the body that states one.
pub(super) fn read_whole(
    server: &'static dyn Server,
    rule: &Rule,
    body: &[u8],
) -> Result<Heard, Vec<u8>> {
    let frame = server.whole(body, &about(rule), &mut Ids::new(0));
    let frame = frame.map_err(|fault| match fault {
        ReplyFault::Error(raw) => raw.into_bytes(),
        ReplyFault::NotAReply => b"the reply is no reply to a chat request".to_vec(),
    })?;
    let first = frame.events.iter().find_map(Event::choice);
    let mut said = Heard::default();
    for event in frame.events {
        said.take(event, first)?;
    }
    Ok(said)
}

/// Reads a stream; the error is the event that states one.
pub(super) fn read_stream(
    server: &'static dyn Server,
    rule: &Rule,
    body: &[u8],
) -> Result<Heard, Vec<u8>> {
    let mut data = Vec::new();
    let mut server = server.stream(about(rule), MAX_EVENT_BYTES);
    server
        .push(body, &mut data)
        .map_err(|fault| fault.to_string().into_bytes())?;
    server.finish(&mut data);
    if data.is_empty() {
        return Err(b"the reply is no stream of events".to_vec());
    }
    let mut said = Heard::default();
    for data in &data {
        for event in server.read(data, &mut Ids::new(0)).events {
            said.take(event, Some(0))?;
        }
    }
    Ok(said)
}

/// The status that an error's own code stands for.
pub(super) fn stated_status(body: &[u8]) -> Option<u16> {
    let body: Value = crate::json::value_of(body).ok()?;
    let code = [body.pointer("/error/code"), body.get("code")];
    let code = code.into_iter().flatten().find_map(Value::as_u64)?;
    u16::try_from(code)
        .ok()
        .filter(|code| (400..=599).contains(code))
}

impl Heard {
    /// The tokens ran out before there was an answer.
    pub(super) fn was_thinking(&self) -> bool {
        let text = self.text.trim();
        let is_open = text.starts_with("<think") && !text.contains("</think");
        self.is_cut && self.calls.is_empty() && (is_open || text.is_empty() && self.has_reasoning)
    }

    /// The text begins with thoughts.
    pub(super) fn opens_thoughts(&self, rule: &Rule, model: &str) -> bool {
        !self.has_reasoning && rule.opens_thoughts(model, &self.text)
    }

    /// The model was done, and nothing stands outside its thoughts.
    pub(super) fn is_among_thoughts(&self) -> bool {
        !self.is_cut && self.is_only_thoughts()
    }

    /// Nothing stands outside its thoughts, whether it was done or not.
    pub(super) fn is_only_thoughts(&self) -> bool {
        self.has_reasoning && self.text.is_empty() && self.calls.is_empty()
    }

    /// The same, where its thoughts are the answer.
    pub(super) fn as_answer(&self) -> Self {
        Self {
            text: self.thoughts.clone(),
            is_cut: self.is_cut,
            ..Self::default()
        }
    }

    /// Takes what is said of the reply, and of one choice.
    ///
    /// # Errors
    /// The server's error.
    fn take(&mut self, event: Event, choice: Option<u32>) -> Result<(), Vec<u8>> {
        if event.choice().is_some_and(|other| Some(other) != choice) {
            return Ok(());
        }
        match event {
            Event::Error(raw) => return Err(raw.into_bytes()),
            Event::Usage(usage) => self.prompt_tokens = Some(usage.prompt),
            Event::Own {
                of: Of::Reply,
                fields,
            } => self.note_fields(&fields),
            Event::Reasoning { text, .. } => {
                self.has_reasoning = true;
                self.thoughts.push_str(&text);
            }
            Event::Delta { delta, .. } => self.delta(delta),
            _ => {}
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text) | Delta::Refusal(text) => self.text.push_str(&text),
            Delta::CallStart { call, name, .. } => self.calls.push(Call {
                index: call,
                name,
                arguments: String::new(),
            }),
            Delta::CallInput { call, text, .. } => {
                let mut calls = self.calls.iter_mut();
                if let Some(open) = calls.find(|open| open.index == call) {
                    open.arguments.push_str(&text);
                }
            }
            Delta::Finish(reason) => self.is_cut = reason.is_cut(),
            Delta::Reasoning(_) => self.has_reasoning = true,
        }
    }

    fn note_fields(&mut self, fields: &Fields) {
        let read = |name: &str| crate::json::value(fields.raw(name)?).ok();
        if let Some(Value::String(fingerprint)) = read("system_fingerprint") {
            self.system_fingerprint = Some(fingerprint);
        }
    }
}

/// Whether tools are in the prompt.
pub(super) fn shown(without: Option<u64>, with: Option<u64>) -> Verdict {
    match (without, with) {
        (Some(without), Some(with)) if with >= without + SHOWN_TOKENS => Verdict::Enforced,
        (Some(without), Some(with)) if with >= without => Verdict::Ignored,
        (Some(_), Some(_)) => Verdict::Unclear("the prompt is shorter with tools".to_owned()),
        _ => Verdict::Unclear("the server does not count the prompt's tokens".to_owned()),
    }
}

/// Whether the reply is what was demanded.
pub(super) fn verdict(expected: &Expected, said: &Heard) -> Verdict {
    let text = said.text.trim();
    match expected {
        Expected::Call => return call(said, text),
        Expected::FreeCall => return free_call(said, text),
        Expected::CallOrAnswer if !said.calls.is_empty() => return call(said, text),
        _ => {}
    }
    if text.is_empty() {
        return silent(said);
    }
    // What is constrained is the answer after the thoughts.
    if text.starts_with("<think") {
        return Verdict::Unclear("the model thinks aloud first".to_owned());
    }
    let is_it = match expected {
        Expected::Text(lawful) => {
            let is_begun = |whole: &&str| {
                said.is_cut && text.chars().count() >= TELLING && whole.starts_with(text)
            };
            lawful.contains(&text) || lawful.iter().any(is_begun)
        }
        Expected::Json => return json(text, said.is_cut),
        Expected::CallOrAnswer => return call_or_answer(text, said.is_cut),
        Expected::Tagged { is_free } => return tagged(text, said.is_cut, *is_free),
        Expected::Object => match crate::json::value(text) {
            Ok(value) => value.is_object(),
            Err(_) => said.is_cut && text.starts_with('{'),
        },
        Expected::Anything
        | Expected::WithoutTools
        | Expected::MorePrompt
        | Expected::Call
        | Expected::FreeCall => true,
    };
    if is_it {
        Verdict::Enforced
    } else {
        Verdict::Ignored
    }
}

fn silent(said: &Heard) -> Verdict {
    Verdict::Unclear(
        if said.has_reasoning {
            "the model was still thinking when its tokens ran out"
        } else {
            "the reply is empty"
        }
        .to_owned(),
    )
}

/// `{KEY: WORD}`, or its beginning. A server that ignores `additionalProperties` may add more.
fn json(text: &str, is_cut: bool) -> Verdict {
    if let Ok(value) = crate::json::value(text) {
        return if value[KEY] == WORD {
            Verdict::Enforced
        } else {
            Verdict::Ignored
        };
    }
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let lawful = format!("{{\"{KEY}\":\"{WORD}\"}}");
    match is_cut && lawful.starts_with(&bare) {
        true if bare.len() >= TELLING => Verdict::Enforced,
        true => cut_short(),
        false => Verdict::Ignored,
    }
}

/// What a union of calls and an answer allows. Servers that read the text for calls may have taken
/// one out of it; those are judged as calls.
fn call_or_answer(text: &str, is_cut: bool) -> Verdict {
    let lawful = |value: &Value| value[KEY] == WORD;
    if let Ok(value) = crate::json::value(text) {
        let is_call = value["name"] == KEY && lawful(&value["arguments"]);
        return match is_call || lawful(&value["answer"]) || lawful(&value) {
            true => Verdict::Enforced,
            false => Verdict::Ignored,
        };
    }
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let begins = [
        format!("{{\"name\":\"{KEY}\",\"arguments\":{{\"{KEY}\":\"{WORD}\"}}}}"),
        format!("{{\"answer\":{{\"{KEY}\":\"{WORD}\"}}}}"),
        format!("{{\"{KEY}\":\"{WORD}\"}}"),
    ];
    match is_cut && begins.iter().any(|whole| whole.starts_with(&bare)) {
        true if bare.len() >= TELLING => Verdict::Enforced,
        true => cut_short(),
        false => Verdict::Ignored,
    }
}

/// What stands in the tag; whether it was opened says something only where it had to be.
fn tagged(text: &str, is_cut: bool, is_free: bool) -> Verdict {
    let Some((_, inside)) = text.split_once(OPEN) else {
        return match is_free {
            true => Verdict::Unclear("the model did not open the tag".to_owned()),
            false if is_cut && OPEN.starts_with(text) => cut_short(),
            false => Verdict::Ignored,
        };
    };
    let (inside, is_cut) = match inside.split_once('<') {
        Some((inside, _)) => (inside, false),
        None => (inside, is_cut),
    };
    json(inside.trim(), is_cut)
}

/// A call that the model was asked for. One that is left in the text was not read; a model that
/// wrote none says nothing.
fn free_call(said: &Heard, text: &str) -> Verdict {
    if let Some(call) = said.calls.first() {
        return match call.name == KEY {
            true => Verdict::Enforced,
            false => Verdict::Unclear("the model called another tool".to_owned()),
        };
    }
    let is_written = text.contains(KEY) && text.contains(WORD) && text.contains(['{', '<', '[']);
    match is_written && !said.is_cut {
        true => Verdict::Ignored,
        false => Verdict::Unclear("the model wrote no call".to_owned()),
    }
}

fn cut_short() -> Verdict {
    Verdict::Unclear(format!(
        "the reply was cut after {MAX_TOKENS} tokens before it said anything"
    ))
}

fn call(said: &Heard, text: &str) -> Verdict {
    let Some(call) = said.calls.first() else {
        return match text.chars().next() {
            None if said.is_cut || said.has_reasoning => silent(said),
            // A call that was cut before it could be read as one.
            Some('<' | '{' | '[') if said.is_cut => Verdict::Unclear(format!(
                "the reply was cut after {MAX_TOKENS} tokens, perhaps within a call"
            )),
            _ => Verdict::Ignored,
        };
    };
    if call.name != KEY {
        return Verdict::Ignored;
    }
    json(call.arguments.trim(), said.is_cut)
}
