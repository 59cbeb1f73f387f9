//! A message of an Anthropic server's own, with no more of it told anew than was changed on its way: blocks stand in it of which
//! nobody else knows, and the client has to send them back.

use super::{Block, whole_input};
use crate::dialect::client::Terms;
use crate::ir::{Choice, Delta, Fields, raw};
use serde_json::value::RawValue;

/// What was verified, in its order.
struct Told {
    /// What is said on the way to the answer, which clients are told as thoughts.
    remark: String,
    /// The answer, or a refusal.
    text: String,
    /// Each with its id, its name, and what it is called with, unless that was cut.
    calls: Vec<(String, String, Option<Box<RawValue>>)>,
}

impl Told {
    fn of(choice: &Choice) -> Self {
        let (mut remark, mut text, mut calls) = (String::new(), String::new(), Vec::new());
        for delta in &choice.deltas {
            match delta {
                Delta::Text(more) | Delta::Refusal(more) => text.push_str(more),
                Delta::Reasoning(more) => remark.push_str(more),
                Delta::CallStart { call, id, name, .. } => {
                    calls.push((id.clone(), name.clone(), whole_input(choice, *call)));
                }
                Delta::CallInput { .. } | Delta::Finish(_) => {}
            }
        }
        Self {
            remark,
            text,
            calls,
        }
    }
}

fn string(block: &Fields, name: &str) -> Option<String> {
    serde_json::from_str(block.raw(name)?).ok()
}

/// The message that says what was verified; `None` where it cannot be told within the server's own.
pub(super) fn message(terms: &Terms, choice: &Choice, own: &Fields) -> Option<Vec<u8>> {
    let told = Told::of(choice);
    let mut content: Vec<Box<RawValue>> = serde_json::from_str(own.raw("content")?).ok()?;
    let mut texts = Vec::new();
    let mut calls = told.calls.iter();
    let mut is_changed = false;
    for (at, written) in content.iter_mut().enumerate() {
        let mut block: Fields = serde_json::from_str(written.get()).ok()?;
        match string(&block, "type")?.as_str() {
            "text" => texts.push((at, string(&block, "text").unwrap_or_default())),
            "tool_use" => {
                let (id, name, input) = calls.next()?;
                let is_it = |field, word: &str| string(&block, field).as_deref() == Some(word);
                if !is_it("id", id) || !is_it("name", name) {
                    return None;
                }
                if let Some(input) = input
                    && block.raw("input") != Some(input.get())
                {
                    block.set("input", input.clone());
                    *written = raw(&block);
                    is_changed = true;
                }
            }
            _ => {}
        }
    }
    if calls.next().is_some() {
        return None;
    }
    let said: String = texts.iter().map(|(_, text)| text.as_str()).collect();
    if said != told.text {
        is_changed = true;
        retell(&mut content, &texts, &told, terms)?;
    }
    if !is_changed {
        return Some(own.to_json());
    }
    let mut message = own.clone();
    message.set("content", raw(&content));
    Some(message.to_json())
}

/// The same texts, of which the first are remarks, and the last ones may have been mended.
fn retell(
    content: &mut Vec<Box<RawValue>>,
    texts: &[(usize, String)],
    told: &Told,
    terms: &Terms,
) -> Option<()> {
    let mut remark = told.remark.as_str();
    let mut answer = Vec::new();
    // A text that says nothing Anthropic does not take back, nor a thought.
    let mut left_out = Vec::new();
    for (at, text) in texts {
        if text.is_empty() {
            left_out.push(*at);
        } else if remark.is_empty() {
            answer.push((*at, text.as_str()));
        } else {
            remark = remark.strip_prefix(text.as_str())?;
            if text.trim().is_empty() {
                left_out.push(*at);
                continue;
            }
            content[*at] = raw(&Block::Thinking {
                thinking: text.clone(),
                signature: terms.seal.sign_remark(text),
            });
        }
    }
    let said: String = answer.iter().map(|(_, text)| *text).collect();
    if said != told.text {
        let mut answer = answer.into_iter();
        let (at, _) = answer.next()?;
        let mut block: Fields = serde_json::from_str(content[at].get()).ok()?;
        block.set("text", raw(&told.text));
        content[at] = raw(&block);
        left_out.extend(answer.map(|(at, _)| at));
    }
    let mut at = 0;
    content.retain(|_| {
        at += 1;
        !left_out.contains(&(at - 1))
    });
    remark.is_empty().then_some(())
}
