//! What a client has of a reply: folded as the OpenAI clients fold Chat's, by the wire's own words alone.
//! Whatever a typed reader would stumble over is a fault. The other dialects' readers are in [`super::clients`].

use super::json::{J, Twice, read};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is wrong: a kind to count by, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    pub kind: &'static str,
    pub what: String,
}

pub fn fault(kind: &'static str, what: impl Into<String>) -> Fault {
    Fault {
        kind,
        what: what.into(),
    }
}

/// How a client puts together what is said of one name more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Texts are appended, as in Python.
    Append,
    /// The last one stands, as in JavaScript.
    Replace,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoldedCall {
    pub id: String,
    pub kind: String,
    pub name: String,
    pub input: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Choice {
    pub content: String,
    pub refusal: String,
    /// By the index on the wire, in the order of their coming.
    pub calls: Vec<(u64, FoldedCall)>,
    pub function_call: Option<FoldedCall>,
    pub finish: Option<String>,
    finishes: usize,
}

/// One reader's view of a reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folded {
    /// By the index on the wire.
    pub choices: BTreeMap<u64, Choice>,
    pub faults: Vec<Fault>,
    /// What only a reader sees that minds no case.
    pub minds_no_case: bool,
}

impl Folded {
    /// The same where the server closes the call that a limit cut, as Anthropic does: in whole replies
    /// wherever it was cut, in streams only where nothing of its input came.
    #[must_use]
    pub fn with_open_calls(mut self, stream: bool) -> Self {
        for choice in self.choices.values_mut().filter(|choice| choice.is_cut()) {
            let Some((_, call)) = choice.calls.last_mut() else {
                continue;
            };
            if call.input == "{}" {
                call.input.clear();
            } else if !stream {
                let open = call.input.trim_end_matches(['}', ']']).len();
                call.input.truncate(open);
            }
        }
        self
    }
}

impl Choice {
    /// Whether a limit or a filter ended it.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        matches!(self.finish.as_deref(), Some("length" | "content_filter"))
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Came {
    /// An error, in whatever form.
    Refused,
    /// A success: the readers' views, those that are the same once.
    Success(Vec<Folded>),
    /// Neither: no reader can tell what it is.
    Broken(Fault),
}

/// Takes a reply apart.
pub fn fold(status: u16, body: &[u8], stream: bool) -> Came {
    if !(200..300).contains(&status) {
        return Came::Refused;
    }
    let Ok(text) = std::str::from_utf8(body) else {
        return Came::Broken(fault("encoding", "the body is no UTF-8"));
    };
    let texts: Vec<String> = if stream {
        match events(text) {
            Ok(Some(texts)) => texts,
            Ok(None) => return Came::Refused,
            Err(fault) => return Came::Broken(fault),
        }
    } else {
        vec![text.to_owned()]
    };
    let mut all = Vec::new();
    for text in texts {
        match read(&text) {
            Some(J::Obj(members)) => all.push(J::Obj(members)),
            _ => return Came::Broken(fault("json", "an event or the body is no JSON object")),
        }
    }
    if stream
        && all
            .iter()
            .any(|one| one.get("error").is_some_and(|it| *it != J::Null))
    {
        return Came::Refused;
    }
    let mut views = Vec::new();
    let mut readers = vec![Twice::Last];
    if all.iter().any(J::is_twofold) {
        readers.push(Twice::First);
    }
    if all.iter().any(J::has_other_case) {
        readers.push(Twice::AnyCase);
    }
    for twice in readers {
        for join in [Join::Append, Join::Replace] {
            let mut folded = Folded::default();
            for one in &all {
                folded.take(&one.value(twice), stream, join);
            }
            folded.end();
            if !views.contains(&folded) {
                folded.minds_no_case = twice == Twice::AnyCase;
                views.push(folded);
            }
        }
    }
    Came::Success(views)
}

/// The data of each event; `None` where the stream tells of an error at its end.
fn events(text: &str) -> Result<Option<Vec<String>>, Fault> {
    let mut all = Vec::new();
    let mut is_done = false;
    // The one comment that the program writes of its own; clients skip it.
    let is_told = |event: &&str| event.starts_with(": x-isogloss-violation: ");
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    for event in events.filter(|event| !is_told(event)) {
        let lines: Option<Vec<&str>> = event
            .split('\n')
            .map(|it| it.strip_prefix("data: "))
            .collect();
        let Some(lines) = lines else {
            return Err(fault("framing", "a line is not `data: `"));
        };
        let data = lines.join("\n");
        if is_done {
            return Err(fault("framing", "something follows [DONE]"));
        }
        if data == "[DONE]" {
            is_done = true;
        } else {
            all.push(data);
        }
    }
    if is_done {
        return Ok(Some(all));
    }
    let is_error = |data: &str| read(data).is_some_and(|it| it.get("error").is_some());
    match all.last() {
        Some(last) if is_error(last) => Ok(None),
        _ => Err(fault(
            "framing",
            "the stream ends without [DONE] and without an error",
        )),
    }
}

impl Folded {
    fn fault(&mut self, kind: &'static str, what: impl Into<String>) {
        let fault = fault(kind, what);
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn take(&mut self, body: &Value, stream: bool, join: Join) {
        for name in ["id", "object", "model"] {
            if body.get(name).is_some_and(|it| !it.is_string()) {
                self.fault("envelope", format!("`{name}` is no string"));
            }
        }
        if body.get("created").is_some_and(|it| !it.is_number()) {
            self.fault("envelope", "`created` is no number");
        }
        if !(body["usage"].is_null() || body["usage"].is_object()) {
            self.fault("envelope", "`usage` is no object");
        }
        let Some(choices) = body["choices"].as_array() else {
            self.fault("shape", "`choices` is no list");
            return;
        };
        for choice in choices {
            let Some(index) = choice["index"].as_u64() else {
                self.fault("index", "a choice's `index` is no whole number");
                continue;
            };
            let name = if stream { "delta" } else { "message" };
            let message = &choice[name];
            if !(choice["logprobs"].is_null() || choice["logprobs"].is_object()) {
                self.fault("shape", "`logprobs` is no object");
            }
            for stray in [
                "delta",
                "message",
                "text",
                "content",
                "tool_calls",
                "function_call",
            ] {
                if stray != name && choice.get(stray).is_some_and(|it| !it.is_null()) {
                    self.fault("stray", format!("`{stray}` stands beside `{name}`"));
                }
            }
            if !(message.is_object() || stream && message.is_null()) {
                self.fault("shape", format!("`{name}` is no object"));
            }
            if !stream && self.choices.contains_key(&index) {
                self.fault("choices", "two choices have one index");
            }
            let mut known = self.choices.remove(&index).unwrap_or_default();
            self.message(message, &mut known, stream, join);
            match &choice["finish_reason"] {
                Value::Null => {}
                Value::String(word) => {
                    known.finish = Some(word.clone());
                    known.finishes += 1;
                }
                _ => self.fault("shape", "`finish_reason` is no string"),
            }
            self.choices.insert(index, known);
        }
    }

    fn text(&mut self, from: &Value, name: &str, to: &mut String, join: Join) {
        match &from[name] {
            Value::Null => {}
            Value::String(text) => {
                if join == Join::Replace && !text.is_empty() {
                    to.clear();
                }
                to.push_str(text);
            }
            _ => self.fault("shape", format!("`{name}` is no string")),
        }
    }

    fn message(&mut self, from: &Value, to: &mut Choice, stream: bool, join: Join) {
        if from
            .get("role")
            .is_some_and(|role| !role.is_null() && role != "assistant")
        {
            self.fault("role", "`role` is another's than the assistant's");
        }
        self.text(from, "content", &mut to.content, Join::Append);
        self.text(from, "refusal", &mut to.refusal, Join::Append);
        let call = &from["function_call"];
        if !call.is_null() {
            let mut known = to.function_call.take().unwrap_or_default();
            self.text(call, "name", &mut known.name, join);
            self.text(call, "arguments", &mut known.input, Join::Append);
            to.function_call = Some(known);
        }
        let calls = match &from["tool_calls"] {
            Value::Null => return,
            Value::Array(calls) => calls,
            _ => return self.fault("shape", "`tool_calls` is no list"),
        };
        for (place, call) in (0..).zip(calls) {
            let index = if stream {
                call["index"].as_u64()
            } else {
                Some(place)
            };
            let Some(index) = index else {
                self.fault("index", "a call's `index` is no whole number");
                continue;
            };
            self.call(call, index, to, join);
        }
    }

    fn call(&mut self, from: &Value, index: u64, to: &mut Choice, join: Join) {
        let place = to.calls.iter().position(|(known, _)| *known == index);
        let place = place.unwrap_or_else(|| {
            to.calls.push((index, FoldedCall::default()));
            to.calls.len() - 1
        });
        let mut call = std::mem::take(&mut to.calls[place].1);
        self.text(from, "id", &mut call.id, join);
        let kind = from["type"].as_str().unwrap_or_default();
        if !kind.is_empty() {
            if !call.kind.is_empty() && call.kind != kind {
                self.fault("shape", "a call has two types");
            }
            kind.clone_into(&mut call.kind);
        }
        for (name, input) in [("function", "arguments"), ("custom", "input")] {
            let body = &from[name];
            if body.is_null() {
                continue;
            }
            if call.kind != name {
                self.fault("shape", "a call's type and its body differ");
            }
            self.text(body, "name", &mut call.name, join);
            self.text(body, input, &mut call.input, Join::Append);
        }
        to.calls[place].1 = call;
    }

    fn end(&mut self) {
        let finishes: Vec<usize> = self.choices.values().map(|it| it.finishes).collect();
        for count in finishes {
            match count {
                1 => {}
                0 => self.fault("finish", "a choice has no finish"),
                _ => self.fault("finish", "a choice has more than one finish"),
            }
        }
    }
}
