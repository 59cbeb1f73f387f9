//! The events of a reply as the steps of an interaction: server-sent events, or one object.
//!
//! What clients need was read in them (`google-genai` 3.6.1, `@ai-sdk/google` 4.0 of `ai` 7, `google-adk`): `event_type` in the data,
//! an index for each step, `id` and `name` where a call begins, its arguments as pieces of a text, a signature on each thought.

use super::PREFIX;
use crate::dialect::client::{Terms, Writer, is_readable};
use crate::dialect::gemini::sealed;
use crate::dialect::server::Verbatim;
use crate::dialect::time::rfc3339;
use crate::ir::{
    Choice, Delta, Event, Fields, FinishReason, Reply, Sealed, Start, Usage, raw, raw_string,
};
use crate::sse;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;

/// Appends an event under its name, which stands in its data as well.
pub(super) fn event(name: &str, data: &Value, out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    sse::encode(data.to_string().as_bytes(), out);
}

/// Appends the end of a stream, whatever came before.
pub(super) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: done\n");
    sse::encode(b"[DONE]", out);
}

/// A whole reply: what a stream would have said of it.
pub(super) fn whole(terms: &Terms, reply: &Reply) -> Vec<u8> {
    let mut writer = EventWriter::new(terms.clone());
    let mut unread = Vec::new();
    writer.take(reply, &mut unread);
    writer.close(&mut unread);
    writer.interaction().to_json()
}

/// One step.
#[derive(Debug)]
struct Step {
    body: Body,
    is_open: bool,
}

#[derive(Debug)]
enum Body {
    /// What the model thinks, and what signs it where a server did.
    Thought {
        text: String,
        signature: Option<String>,
    },
    Text(String),
    /// What the client must not take for an answer.
    Refusal(String),
    Call {
        call: u32,
        id: String,
        name: String,
        input: String,
    },
}

/// Writes a stream.
#[derive(Debug)]
pub(super) struct EventWriter {
    terms: Terms,
    start: Start,
    usage: Option<Usage>,
    steps: Vec<Step>,
    finish: Option<FinishReason>,
    /// A call of which nothing is told before its arguments: clients take one without any for whole.
    begun: Option<Body>,
    /// Signatures of the text that is open.
    late: Vec<String>,
    has_begun: bool,
    /// Unix seconds, as far as that is known.
    now: Option<u64>,
}

impl EventWriter {
    pub(super) fn new(terms: Terms) -> Self {
        Self {
            terms,
            start: Start::default(),
            usage: None,
            steps: Vec::new(),
            finish: None,
            begun: None,
            late: Vec::new(),
            has_begun: false,
            now: None,
        }
    }

    /// The id under which it is kept; an empty one where it is not, as Google's servers have it, so that no client goes on from it.
    fn id(&self) -> String {
        if !self.is_kept() {
            return String::new();
        }
        let id = self.terms.ids.reply();
        format!("{PREFIX}{}", id.rsplit('-').next().unwrap_or_default())
    }

    fn is_kept(&self) -> bool {
        self.echoed("store").is_some_and(|raw| raw.get() == "true")
    }

    /// What the API's word for the state is.
    fn status(&self) -> &'static str {
        let is_any = |of: fn(&Body) -> bool| self.steps.iter().any(|step| of(&step.body));
        match &self.finish {
            Some(FinishReason::ContentFilter) => "failed",
            _ if is_any(|body| matches!(body, Body::Refusal(_))) => "failed",
            Some(FinishReason::Length | FinishReason::Paused(_)) => "incomplete",
            _ if is_any(|body| matches!(body, Body::Call { .. })) => "requires_action",
            _ => "completed",
        }
    }

    /// What stands in every object that tells of the interaction.
    fn head(&self, status: &str) -> Fields {
        let mut fields = Fields::default();
        let created = self.start.created;
        let created = created.unwrap_or_else(|| self.terms.ids.created());
        fields.set("id", raw(&self.id()));
        fields.set("object", raw("interaction"));
        let model = self.start.model.as_deref().unwrap_or(&self.terms.model);
        fields.set("model", raw(model));
        fields.set("status", raw(status));
        fields.set("created", raw(&rfc3339(created)));
        let updated = self.now.unwrap_or_else(|| self.terms.ids.created());
        fields.set("updated", raw(&rfc3339(updated.max(created))));
        fields
    }

    /// The interaction as a whole.
    fn interaction(&self) -> Fields {
        let mut fields = self.head(self.status());
        let previous = self.echoed("previous_interaction_id");
        if let Some(previous) = previous {
            fields.set("previous_interaction_id", previous);
        }
        let is_cut = self.finish.as_ref().is_some_and(FinishReason::is_cut);
        let steps = self.steps.iter();
        let steps: Vec<Box<RawValue>> = steps
            .filter_map(|step| step.body.json(&self.terms, is_cut))
            .collect();
        fields.set("steps", raw(&steps));
        fields.set("usage", raw(&self.usage.map(counts)));
        fields
    }

    fn echoed(&self, name: &str) -> Option<Box<RawValue>> {
        self.terms.echo.as_deref()?.0.get(name).cloned()
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        let status = "in_progress";
        let name = "interaction.created";
        let told = json!({"interaction": self.head(status), "event_type": name});
        event(name, &told, out);
        self.tell_status(status, out);
    }

    fn tell_status(&self, status: &str, out: &mut Vec<u8>) {
        let name = "interaction.status_update";
        let told = json!({"interaction_id": self.id(), "status": status, "event_type": name});
        event(name, &told, out);
    }

    /// What more is known.
    fn take(&mut self, reply: &Reply, out: &mut Vec<u8>) {
        self.start.update(reply.start.clone());
        self.usage = reply.usage.or(self.usage);
        self.begin(out);
        // One was asked for.
        for choice in reply.choices.iter().filter(|choice| choice.index == 0) {
            self.choice(choice, out);
        }
    }

    fn choice(&mut self, choice: &Choice, out: &mut Vec<u8>) {
        self.think(&choice.reasoning, out);
        for (at, delta) in choice.deltas.iter().enumerate() {
            self.seal(&choice.sealed_behind(at), out);
            match delta {
                Delta::Text(text) => self.say(text, out),
                Delta::Refusal(text) => self.refuse(text, out),
                Delta::Reasoning(text) => self.think(text, out),
                Delta::CallStart { call, id, name, .. } => {
                    // Calls come one after the other.
                    self.close(out);
                    self.seal_late(out);
                    self.begun = Some(Body::Call {
                        call: *call,
                        id: id.clone(),
                        name: name.clone(),
                        input: String::new(),
                    });
                }
                Delta::CallInput { call, text, .. } => self.input(*call, text, out),
                Delta::Finish(reason) => {
                    self.finish = Some(reason.clone());
                    self.close(out);
                    self.seal_late(out);
                }
            }
        }
        self.seal(&choice.sealed_behind(choice.deltas.len()), out);
    }

    /// Begins a step. What was said before it is over; a call that is not goes on beside it.
    fn open(&mut self, body: Body, out: &mut Vec<u8>) {
        for place in 0..self.steps.len() {
            if !matches!(self.steps[place].body, Body::Call { .. }) {
                self.end_step(place, out);
            }
        }
        let (name, index) = ("step.start", self.steps.len());
        let told = json!({"index": index, "step": body.begun(), "event_type": name});
        event(name, &told, out);
        self.steps.push(Step {
            body,
            is_open: true,
        });
    }

    fn delta(index: usize, delta: &Value, out: &mut Vec<u8>) {
        let name = "step.delta";
        let told = json!({"index": index, "delta": delta, "event_type": name});
        event(name, &told, out);
    }

    /// The last step of such a kind that is open.
    fn last(&self, is_it: impl Fn(&Body) -> bool) -> Option<usize> {
        (self.steps.iter()).rposition(|step| step.is_open && is_it(&step.body))
    }

    fn say(&mut self, more: &str, out: &mut Vec<u8>) {
        if more.is_empty() {
            return;
        }
        let is_text = |body: &Body| matches!(body, Body::Text(_));
        if self.last(is_text).is_none() {
            self.open(Body::Text(String::new()), out);
        }
        let Some(place) = self.last(is_text) else {
            return;
        };
        if let Body::Text(text) = &mut self.steps[place].body {
            text.push_str(more);
        }
        Self::delta(place, &json!({"text": more, "type": "text"}), out);
    }

    /// It is told as a whole, as an error of its step.
    fn refuse(&mut self, more: &str, out: &mut Vec<u8>) {
        let is_refusal = |body: &Body| matches!(body, Body::Refusal(_));
        if self.last(is_refusal).is_none() && !more.is_empty() {
            self.open(Body::Refusal(String::new()), out);
        }
        if let Some(place) = self.last(is_refusal)
            && let Body::Refusal(text) = &mut self.steps[place].body
        {
            text.push_str(more);
        }
    }

    fn think(&mut self, more: &str, out: &mut Vec<u8>) {
        if more.is_empty() {
            return;
        }
        if self.last(Body::is_unsigned_thought).is_none() {
            let (text, signature) = (String::new(), None);
            self.open(Body::Thought { text, signature }, out);
        }
        let Some(place) = self.last(Body::is_unsigned_thought) else {
            return;
        };
        if let Body::Thought { text, .. } = &mut self.steps[place].body {
            text.push_str(more);
        }
        let content = json!({"text": more, "type": "text"});
        let delta = json!({"content": content, "type": "thought_summary"});
        Self::delta(place, &delta, out);
    }

    /// What another server signed stands on its thought, or on one that is told in no words.
    fn seal(&mut self, all: &[Sealed], out: &mut Vec<u8>) {
        let mut blocks = Vec::new();
        let mut signed = Vec::new();
        for sealed in all {
            match sealed {
                Sealed::Thinking(block) => blocks.push(block.clone()),
                Sealed::Signature(text) => signed.push(text.clone()),
            }
        }
        let is_text = |body: &Body| matches!(body, Body::Text(_));
        if self.last(is_text).is_some() {
            // Gemini signs pieces of a text, which goes on.
            self.late.append(&mut signed);
        }
        if !blocks.is_empty() {
            // A call without input stands before it, too.
            if self.begun.is_some() {
                self.close(out);
            }
            signed.push(sealed::write(&blocks));
        }
        for text in signed {
            if self.last(Body::is_unsigned_thought).is_none() {
                let (text, signature) = (String::new(), None);
                self.open(Body::Thought { text, signature }, out);
            }
            if let Some(place) = self.last(Body::is_unsigned_thought)
                && let Body::Thought { signature, .. } = &mut self.steps[place].body
            {
                *signature = Some(text);
            }
        }
    }

    /// Tells the signatures of a text that is over.
    fn seal_late(&mut self, out: &mut Vec<u8>) {
        for text in std::mem::take(&mut self.late) {
            self.seal(&[Sealed::Signature(text)], out);
        }
        self.close(out);
    }

    fn input(&mut self, of: u32, more: &str, out: &mut Vec<u8>) {
        let is_it = |body: &Body| matches!(body, Body::Call { call, .. } if *call == of);
        if !more.is_empty()
            && let Some(body) = self.begun.take_if(|body| is_it(body))
        {
            self.open(body, out);
        }
        let Some(place) = self.last(is_it).filter(|_| !more.is_empty()) else {
            return;
        };
        if let Body::Call { input, .. } = &mut self.steps[place].body {
            input.push_str(more);
        }
        let delta = json!({"arguments": more, "type": "arguments_delta"});
        Self::delta(place, &delta, out);
    }

    /// Ends all that is open. A call that was cut before its arguments is none.
    fn close(&mut self, out: &mut Vec<u8>) {
        let is_cut = self.finish.as_ref().is_some_and(FinishReason::is_cut);
        if let Some(body) = self.begun.take().filter(|_| !is_cut) {
            self.open(body, out);
        }
        for place in 0..self.steps.len() {
            self.end_step(place, out);
        }
    }

    fn end_step(&mut self, place: usize, out: &mut Vec<u8>) {
        let step = &mut self.steps[place];
        if !std::mem::replace(&mut step.is_open, false) {
            return;
        }
        if let Body::Thought { text, signature } = &step.body {
            let signature = signature.clone();
            let signature = signature.unwrap_or_else(|| signed(&self.terms, text));
            let delta = json!({"signature": signature, "type": "thought_signature"});
            Self::delta(place, &delta, out);
        }
        let name = "step.stop";
        event(name, &json!({"index": place, "event_type": name}), out);
    }
}

/// Our signature of a thought that no server signed, in the letters of base64, which clients take it for.
fn signed(terms: &Terms, thought: &str) -> String {
    BASE64_STANDARD.encode(terms.seal.sign(thought))
}

impl Body {
    /// Whether it is a thought that no server has signed.
    const fn is_unsigned_thought(&self) -> bool {
        matches!(
            self,
            Self::Thought {
                signature: None,
                ..
            }
        )
    }

    /// What is told of it when it begins.
    fn begun(&self) -> Value {
        match self {
            Self::Thought { .. } => json!({"type": "thought"}),
            Self::Text(_) | Self::Refusal(_) => json!({"type": "model_output"}),
            Self::Call { id, name, .. } => {
                json!({"type": "function_call", "id": id, "name": name, "arguments": {}})
            }
        }
    }

    /// The step as a whole; none of a call that was cut in its middle.
    fn json(&self, terms: &Terms, is_cut: bool) -> Option<Box<RawValue>> {
        Some(match self {
            Self::Thought { text, signature } => {
                let mut step = json!({"type": "thought"});
                if !text.is_empty() {
                    step["summary"] = json!([{"type": "text", "text": text}]);
                }
                let signature = signature.clone();
                let signature = signature.unwrap_or_else(|| signed(terms, text));
                step["signature"] = json!(signature);
                raw(&step)
            }
            Self::Text(text) => {
                raw(&json!({"type": "model_output", "content": [{"type": "text", "text": text}]}))
            }
            Self::Refusal(text) => {
                // 7 is PERMISSION_DENIED of google.rpc.
                let error = json!({"code": 7, "message": text});
                raw(&json!({"type": "model_output", "content": [], "error": error}))
            }
            Self::Call {
                id, name, input, ..
            } => raw(&CallStep {
                r#type: "function_call",
                id,
                name,
                arguments: arguments(input, is_cut)?,
            }),
        })
    }
}

#[derive(Serialize)]
struct CallStep<'s> {
    r#type: &'static str,
    id: &'s str,
    name: &'s str,
    arguments: Box<RawValue>,
}

/// What a function is called with, which is an object.
fn arguments(input: &str, is_cut: bool) -> Option<Box<RawValue>> {
    let text = match input.trim() {
        "" if is_cut => return None,
        "" => "{}",
        text => text,
    };
    let arguments = raw_string(text.to_owned());
    if arguments.get().starts_with('{') && is_readable(text) {
        return Some(arguments);
    }
    // It is let pass, though it is no object.
    (!is_cut).then(|| raw(&json!({"input": text})))
}

fn counts(usage: Usage) -> Value {
    let thoughts = usage.reasoning.unwrap_or_default();
    json!({
        "total_input_tokens": usage.prompt,
        "total_cached_tokens": usage.cached.unwrap_or_default(),
        "total_output_tokens": usage.completion.saturating_sub(thoughts),
        "total_thought_tokens": thoughts,
        "total_tool_use_tokens": 0,
        "total_tokens": usage.prompt.saturating_add(usage.completion),
    })
}

impl Writer for EventWriter {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        _verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        let reply = Reply::fold(events.drain(..));
        self.take(&reply, out);
    }

    fn end(&mut self, note: Option<&str>, out: &mut Vec<u8>) {
        if let Some(note) = note {
            sse::comment(note, out);
        }
        self.begin(out);
        self.close(out);
        let status = self.status();
        if status == "failed" {
            // google-adk reads it here alone.
            self.tell_status(status, out);
        }
        let mut interaction = self.head(status);
        if let Some(previous) = self.echoed("previous_interaction_id") {
            interaction.set("previous_interaction_id", previous);
        }
        // Its steps were told one by one; a refusal was not.
        let refuses = |step: &Step| matches!(step.body, Body::Refusal(_));
        if self.steps.iter().any(refuses) {
            let steps = self.interaction().0.shift_remove("steps");
            interaction
                .0
                .extend(steps.map(|steps| ("steps".to_owned(), steps)));
        }
        interaction.set("usage", raw(&self.usage.map(counts)));
        let name = "interaction.completed";
        let told = json!({"interaction": interaction, "event_type": name});
        event(name, &told, out);
        end(out);
    }

    fn now(&mut self, since_epoch: Duration) {
        self.now = Some(since_epoch.as_secs());
    }

    fn kept(&self) -> Option<Vec<u8>> {
        self.is_kept().then(|| self.interaction().to_json())
    }
}
