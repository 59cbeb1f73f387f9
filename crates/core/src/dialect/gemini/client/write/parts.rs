//! The parts of a candidate: thoughts, texts, and calls as soon as they are whole.

use super::End;
use crate::dialect::client::is_readable;
use crate::dialect::gemini::{sealed, split_id};
use crate::ir::{Choice, Delta, Sealed, raw, raw_string};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// One part.
#[derive(Debug, Default)]
pub(super) struct Part {
    text: Option<String>,
    thought: bool,
    function_call: Option<Call>,
    thought_signature: Option<String>,
    /// The server's own, as it came.
    own: Option<Box<RawValue>>,
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(own) = &self.own {
            return own.serialize(serializer);
        }
        let mut part = serializer.serialize_map(None)?;
        if let Some(text) = &self.text {
            part.serialize_entry("text", text)?;
        }
        if self.thought {
            part.serialize_entry("thought", &true)?;
        }
        if let Some(call) = &self.function_call {
            part.serialize_entry("functionCall", call)?;
        }
        if let Some(signature) = &self.thought_signature {
            part.serialize_entry("thoughtSignature", signature)?;
        }
        part.end()
    }
}

#[derive(Debug, Serialize)]
struct Call {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: String,
    args: Box<RawValue>,
}

impl Part {
    fn text(text: String, thought: bool) -> Self {
        Self {
            text: Some(text),
            thought,
            ..Self::default()
        }
    }

    /// Whether it is text that the model says.
    fn says_text(&self) -> bool {
        !self.thought && self.text.as_deref().is_some_and(|text| !text.is_empty())
    }

    /// Whether it is that and nothing else.
    fn is_plain_text(&self) -> bool {
        self.says_text() && self.thought_signature.is_none() && self.own.is_none()
    }

    /// Whether it is a call.
    pub(super) const fn is_call(&self) -> bool {
        self.function_call.is_some()
    }

    /// Whether it says nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.text.as_deref() == Some("") && self.thought_signature.is_none()
    }

    /// What Gemini says where there is nothing to say.
    pub(super) fn empty() -> Self {
        Self::text(String::new(), false)
    }
}

/// A call that goes on.
#[derive(Debug)]
struct Pending {
    call: u32,
    id: String,
    name: String,
    text: String,
}

impl Pending {
    fn is_whole(&self) -> bool {
        raw_string(self.text.clone()).get().starts_with('{')
    }

    /// The call as a part, maybe without an id; none where it was cut.
    fn part(self, is_cut: bool, has_id: bool) -> Option<Part> {
        let text = if self.text.trim().is_empty() {
            if is_cut {
                return None;
            }
            "{}".to_owned()
        } else {
            self.text
        };
        let args = raw_string(text.clone());
        let args = if args.get().starts_with('{') && is_readable(&text) {
            args
        } else if is_cut {
            return None;
        } else {
            // It is let pass, though it is no object.
            raw(&json!({"input": text}))
        };
        let (id, signature) = split_id(&self.id);
        Some(Part {
            thought_signature: signature.map(Cow::into_owned),
            function_call: Some(Call {
                id: has_id.then(|| id.to_owned()),
                name: self.name,
                args,
            }),
            ..Part::default()
        })
    }
}

/// How much of what stands beside the deltas is told.
#[derive(Debug, Default)]
struct Beside {
    parts: usize,
    sealed: usize,
}

/// A candidate that goes on.
#[derive(Debug, Default)]
pub(super) struct Open {
    call: Option<Pending>,
    /// Calls that a server of this wire gave no id.
    nameless: BTreeSet<u32>,
    /// What another server signed of thoughts that were told before: SDKs drop it on an empty one (`@ai-sdk/google` 3.0), and keep
    /// it on a call that comes behind, or at a text's end, where Gemini has its own. Not in the middle of a text, which
    /// strands 1.62 takes for two then.
    seal: Vec<Box<RawValue>>,
    /// How many parts of this piece stand before it.
    seal_from: usize,
    /// Whether an earlier part of the stream had text.
    has_said: bool,
    /// The last character of its text, which is told with what comes next, or with the end: Google's SDK for Go (1.71) takes a turn
    /// for broken in which a part says nothing, and forgets it.
    last: Option<char>,
}

impl Open {
    /// Whether nothing waits for its end.
    pub(super) const fn is_closed(&self) -> bool {
        self.call.is_none()
    }

    /// The parts that are whole with this; what comes with the end goes there.
    pub(super) fn parts(&mut self, choice: &Choice, end: &mut End) -> Vec<Part> {
        let mut out = Vec::new();
        self.seal_from = 0;
        let nameless = (choice.of_calls.iter()).filter(|(_, own)| own.raw("id") == Some("null"));
        self.nameless.extend(nameless.map(|(call, _)| *call));
        if !choice.reasoning.is_empty() {
            out.push(Part::text(choice.reasoning.clone(), true));
        }
        let from = out.len();
        let mut told = Beside::default();
        for (at, delta) in choice.deltas.iter().enumerate() {
            self.beside(choice, at, from, &mut told, &mut out);
            let is_over = match delta {
                Delta::CallInput { .. } | Delta::Finish(_) => false,
                Delta::CallStart { .. } => true,
                // A text may come in the middle of a call.
                _ => self.call.as_ref().is_some_and(Pending::is_whole),
            };
            if is_over {
                self.close(false, &mut out);
            }
            match delta {
                Delta::Text(text) => out.push(Part::text(text.clone(), false)),
                Delta::Reasoning(text) => out.push(Part::text(text.clone(), true)),
                Delta::Refusal(text) => end.refusal.push_str(text),
                Delta::CallStart { call, id, name, .. } => {
                    self.call = Some(Pending {
                        call: *call,
                        id: id.clone(),
                        name: name.clone(),
                        text: String::new(),
                    });
                }
                Delta::CallInput { text, .. } => {
                    if let Some(call) = &mut self.call {
                        call.text.push_str(text);
                    }
                }
                Delta::Finish(reason) => {
                    self.close(reason.is_cut(), &mut end.parts);
                    end.reason = Some(reason.clone());
                }
            }
        }
        self.beside(choice, usize::MAX, from, &mut told, &mut out);
        let is_over = end.reason.is_some();
        self.place_seal_in(&mut out, &mut end.parts, is_over);
        if is_over && !self.seal.is_empty() {
            end.parts.push(signed(self.seal()));
        }
        self.has_said |= out.iter().any(Part::says_text);
        out
    }

    /// Keeps the last character of a text that may be the last one, and tells the one that was kept.
    pub(super) fn keep_last(&mut self, parts: &mut Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        if let Some(last) = self.take_last() {
            parts.insert(0, last);
        }
        let text = parts.last_mut().filter(|part| part.is_plain_text());
        self.last = text.and_then(|part| part.text.as_mut()?.pop());
    }

    /// What was kept.
    pub(super) fn take_last(&mut self) -> Option<Part> {
        let last = self.last.take()?;
        Some(Part::text(last.to_string(), false))
    }

    /// What stands beside the deltas before this one: parts of the server's own, and what is to be sent back as it came, with its
    /// thought or the text before it, or behind it.
    fn beside(
        &mut self,
        choice: &Choice,
        at: usize,
        from: usize,
        told: &mut Beside,
        out: &mut Vec<Part>,
    ) {
        loop {
            let sealed = choice.sealed.get(told.sealed);
            let (before, parts) = choice
                .sealed_at
                .get(told.sealed)
                .copied()
                .unwrap_or_default();
            if let Some(sealed) = sealed.filter(|_| before <= at && parts <= told.parts) {
                told.sealed += 1;
                let is_call = |delta: &Delta| matches!(delta, Delta::CallStart { .. });
                let calls_behind = choice.deltas.iter().skip(at).any(is_call);
                self.sign(sealed, from, calls_behind, out);
            } else if let Some((_, part)) = choice.parts.get(told.parts).filter(|part| part.0 <= at)
            {
                told.parts += 1;
                self.close(false, out);
                out.push(Part {
                    own: Some(part.clone()),
                    ..Part::default()
                });
            } else {
                return;
            }
        }
    }

    /// To its thought, where no call comes behind it that takes it.
    fn sign(&mut self, sealed: &Sealed, from: usize, calls_behind: bool, out: &mut Vec<Part>) {
        let has_none = |part: &Part| part.text.is_some() && part.thought_signature.is_none();
        match sealed {
            Sealed::Thinking(block) => {
                let is_free = |part: &&mut Part| part.thought && has_none(part) && !calls_behind;
                match out.iter_mut().find(is_free) {
                    Some(part) => {
                        let blocks = std::slice::from_ref(block);
                        part.thought_signature = Some(sealed::write(blocks));
                    }
                    None => self.keep(block, out),
                }
            }
            // What was said on the way is told as a thought, and signed as what it is.
            Sealed::Signature(signature) => match out[from..].last_mut() {
                Some(part) if has_none(part) => part.thought_signature = Some(signature.clone()),
                _ => out.push(signed(signature.clone())),
            },
        }
    }

    /// Keeps a block for what comes behind it: those before it go to a call that was told since.
    fn keep(&mut self, block: &RawValue, out: &mut Vec<Part>) {
        // No block comes in the middle of a call: one without input is whole, too.
        self.close(false, out);
        self.place_seal_in(out, &mut [], false);
        if self.seal.is_empty() {
            self.seal_from = out.len();
        }
        self.seal.push(block.to_owned());
    }

    /// Puts the signature that waits to one of these parts of a piece that stands behind it.
    fn place_seal_in(&mut self, parts: &mut [Part], ending: &mut [Part], is_over: bool) {
        let behind = parts.get_mut(self.seal_from..).unwrap_or_default();
        self.place_seal(behind, ending, is_over);
    }

    /// The signature that waits.
    fn seal(&mut self) -> String {
        sealed::write(&std::mem::take(&mut self.seal))
    }

    /// Puts the signature that waits to the first call, where Gemini has its own, or to a text that is there as a whole and has no
    /// call behind it: haystack (google-genai-haystack in 2026) sends back nothing but the parts that are signed, where one is, so
    /// that a signed text cost the call beside it.
    fn place_seal(&mut self, parts: &mut [Part], ending: &mut [Part], is_over: bool) {
        if self.seal.is_empty() {
            return;
        }
        let is_free = |part: &Part| part.thought_signature.is_none();
        let mut all = parts.iter().chain(ending.iter());
        let has_call = all.any(|part| part.is_call() && is_free(part));
        let is_whole = is_over && !self.has_said;
        let is_fit = |part: &&mut Part| match has_call {
            true => part.is_call() && is_free(part),
            false => is_whole && part.says_text() && is_free(part),
        };
        if let Some(part) = parts.iter_mut().chain(ending.iter_mut()).find(is_fit) {
            part.thought_signature = Some(self.seal());
        }
    }

    fn close(&mut self, is_cut: bool, out: &mut Vec<Part>) {
        if let Some(call) = self.call.take() {
            let has_id = !self.nameless.contains(&call.call);
            out.extend(call.part(is_cut, has_id));
        }
    }
}

/// An empty text with a signature.
fn signed(signature: String) -> Part {
    Part {
        thought_signature: Some(signature),
        ..Part::empty()
    }
}

/// Texts that follow each other are one part, and empty ones none.
pub(super) fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        if part.is_empty() {
            continue;
        }
        match (out.last_mut(), part.text.as_deref()) {
            (Some(last), Some(text))
                if last.thought == part.thought
                    && (last.thought_signature.is_none()
                        || !part.thought && part.thought_signature.is_none()) =>
            {
                match &mut last.text {
                    Some(known) => {
                        known.push_str(text);
                        last.thought_signature =
                            part.thought_signature.or(last.thought_signature.take());
                    }
                    None => out.push(part),
                }
            }
            _ => out.push(part),
        }
    }
    out
}
