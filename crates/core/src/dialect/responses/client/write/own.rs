//! A whole reply of a server of the same wire, with no more of it told anew than was changed on its way.

use super::super::names::joined;
use super::output::{Body, Item, Status, words};
use super::theirs::{is_aside, texts};
use super::told::Teller;
use super::{EventWriter, sound};
use crate::ir::{CallKind, Choice, Delta, Fields, Reply};
use serde_json::{Value, json};
use std::mem;

/// What is said in a reply, in its order.
#[derive(Default, PartialEq, Eq)]
struct Said {
    /// The answer.
    text: String,
    refusal: String,
    calls: Vec<Called>,
}

/// What is called.
#[derive(PartialEq, Eq)]
struct Called {
    id: String,
    name: String,
    kind: CallKind,
    input: String,
}

impl Said {
    /// What a server says.
    fn by_server(output: &[Value]) -> Self {
        let mut said = Self::default();
        for item in output {
            match item["type"].as_str() {
                Some("message") if !is_aside(item) => {
                    let (text, refusal) = texts(item);
                    said.text.push_str(&text);
                    said.refusal.push_str(&refusal);
                }
                _ => said.calls.extend(called(item)),
            }
        }
        said
    }

    /// What was verified, but for what is said on the way to it.
    fn verified(choice: &Choice) -> Self {
        let mut said = Self::default();
        for delta in &choice.deltas {
            match delta {
                Delta::Text(text) => said.text.push_str(text),
                Delta::Refusal(text) => said.refusal.push_str(text),
                Delta::CallStart { id, name, kind, .. } => said.calls.push(Called {
                    id: id.clone(),
                    name: name.clone(),
                    kind: *kind,
                    input: String::new(),
                }),
                Delta::CallInput { call, text, .. } => {
                    let call = usize::try_from(*call).ok();
                    if let Some(call) = call.and_then(|call| said.calls.get_mut(call)) {
                        call.input.push_str(text);
                    }
                }
                Delta::Reasoning(_) | Delta::Finish(_) => {}
            }
        }
        said
    }
}

/// The call that an item is.
fn called(item: &Value) -> Option<Called> {
    let (kind, input) = kind_of(item)?;
    let word = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let name = match word("namespace").as_str() {
        "" => word("name"),
        namespace => joined(namespace, &word("name")),
    };
    Some(Called {
        id: word("call_id"),
        name,
        kind,
        input: word(input),
    })
}

/// The kind of a call, and where it has its input.
fn kind_of(item: &Value) -> Option<(CallKind, &'static str)> {
    let kinds = [CallKind::Function, CallKind::Custom].into_iter();
    let mut known = kinds.map(|kind| (kind, words(kind)));
    let (kind, (_, input)) = known.find(|(_, (word, _))| item["type"] == *word)?;
    Some((kind, input))
}

fn output(own: &Fields) -> Option<Vec<Value>> {
    serde_json::from_str(own.raw("output")?).ok()
}

/// What is told of thoughts.
fn thought_of(item: &Value) -> String {
    let parts = ["summary", "content"].map(|name| item[name].as_array());
    let parts = parts.into_iter().flatten().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// An item as the server has it.
fn theirs(item: Value) -> Item {
    let id = item["id"].as_str().unwrap_or_default().to_owned();
    Item {
        status: Status::Completed,
        ..Item::new(id, Body::Theirs(item))
    }
}

/// Whether a whole reply of the server's says what was verified: the same text, and the same calls.
pub(super) fn says_the_same(reply: &Reply) -> bool {
    let (Some(output), [choice]) = (output(&reply.own), reply.choices.as_slice()) else {
        return false;
    };
    Said::by_server(&output) == Said::verified(choice)
}

impl EventWriter {
    /// Takes a whole reply of the server's: its own, as far as that says what was verified.
    pub(super) fn retell(&mut self, reply: &Reply, teller: &mut Teller<'_>) {
        self.base = Some((*reply.own).clone());
        let Some(items) = items(reply, self.sums_up) else {
            let mut reply = reply.clone();
            self.keep_theirs(&mut reply);
            self.take(&reply, teller);
            self.close(teller);
            return;
        };
        self.items.extend(items.into_iter().map(theirs));
        let mut rest = reply.clone();
        for choice in &mut rest.choices {
            choice.reasoning.clear();
            choice.sealed.clear();
            choice
                .deltas
                .retain(|delta| matches!(delta, Delta::Finish(_)));
        }
        self.take(&rest, teller);
    }

    /// Keeps the items that are neither answers nor calls, before those.
    fn keep_theirs(&mut self, reply: &mut Reply) {
        let Some(choice) = reply.choices.first_mut() else {
            return;
        };
        let thinks = !choice.reasoning.is_empty();
        let mut keeps_thoughts = false;
        for item in self.base.iter().filter_map(output).flatten() {
            let is_kept = match item["type"].as_str() {
                Some("message") => is_aside(&item),
                // Its text may have been the answer.
                Some("reasoning") => thinks || thought_of(&item).is_empty(),
                _ => kind_of(&item).is_none(),
            };
            if is_kept && sound::is_item(&item) {
                keeps_thoughts |= item["type"] == "reasoning";
                self.items.push(theirs(item));
            }
        }
        if keeps_thoughts {
            choice.reasoning.clear();
        }
    }
}

/// The server's items, with what was verified in them; `None` where it cannot be told within them.
fn items(reply: &Reply, sums_up: bool) -> Option<Vec<Value>> {
    let (mut output, [choice]) = (output(&reply.own)?, reply.choices.as_slice()) else {
        return None;
    };
    if !output.iter().all(sound::is_item) {
        return None;
    }
    let told = Said::verified(choice);
    let came = Said::by_server(&output);
    if came.refusal != told.refusal || came.calls.len() != told.calls.len() {
        return None;
    }
    let mut calls = told.calls.iter();
    for item in &mut output {
        let (Some(call), Some((_, place))) = (called(item), kind_of(item)) else {
            continue;
        };
        let told = calls.next()?;
        if (&call.id, &call.name, call.kind) != (&told.id, &told.name, told.kind) {
            return None;
        }
        item[place] = json!(told.input);
    }
    if came.text == told.text {
        return Some(output);
    }
    let remarks = choice.deltas.iter().filter_map(|delta| match delta {
        Delta::Reasoning(text) => Some(text.as_str()),
        _ => None,
    });
    retell(
        &mut output,
        &remarks.collect::<String>(),
        &told.text,
        sums_up,
    )?;
    Some(output)
}

/// The same texts, of which the first are remarks, and the last ones may have been mended.
fn retell(output: &mut Vec<Value>, remark: &str, answer: &str, sums_up: bool) -> Option<()> {
    let mut remark = remark;
    let (mut answers, mut said) = (Vec::new(), String::new());
    let mut left_out = Vec::new();
    for (at, item) in output.iter_mut().enumerate() {
        if item["type"] != "message" || is_aside(item) {
            continue;
        }
        let (text, _) = texts(item);
        if text.is_empty() {
            continue;
        }
        if remark.is_empty() {
            answers.push(at);
            said.push_str(&text);
            continue;
        }
        remark = remark.strip_prefix(text.as_str())?;
        match text.trim().is_empty() {
            true => left_out.push(at),
            false => *item = remarked(mem::take(item), &text, sums_up),
        }
    }
    if said != answer {
        let mut answers = answers.into_iter();
        let part =
            json!({"type": "output_text", "annotations": [], "logprobs": [], "text": answer});
        output[answers.next()?]["content"] = json!([part]);
        left_out.extend(answers);
    }
    let mut at = 0;
    output.retain(|_| {
        at += 1;
        !left_out.contains(&(at - 1))
    });
    remark.is_empty().then_some(())
}

/// A message that is no answer, as the thought that clients are told.
fn remarked(message: Value, text: &str, sums_up: bool) -> Value {
    let id = message["id"].as_str().unwrap_or_default().to_owned();
    let body = Body::theirs(text.to_owned(), sums_up, Some(message));
    let item = Item {
        status: Status::Completed,
        ..Item::new(id, body)
    };
    item.json()
}
