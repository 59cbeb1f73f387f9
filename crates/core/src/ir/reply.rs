//! The fold of events: what a reply, or a piece of one, says of each of its choices.

use super::{Delta, Event, Fields, HostedCall, Of, Sealed, Start, Usage, raw};
use serde_json::value::RawValue;
use smallvec::SmallVec;
use std::sync::{Arc, LazyLock};

/// What some events say, put together.
#[derive(Debug, Clone)]
pub struct Reply {
    /// What is known of the reply.
    pub start: Start,
    /// What the wire alone says of it.
    pub own: Arc<Fields>,
    /// The last counts.
    pub usage: Option<Usage>,
    /// The choices, in the order in which they are first spoken of.
    pub choices: SmallVec<[Choice; 1]>,
}

/// One choice of a [`Reply`].
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which.
    pub index: u32,
    /// Whose words they are is said.
    pub has_role: bool,
    /// What the wire alone says of it.
    pub own: Arc<Fields>,
    /// What the wire alone says of its message.
    pub message: Arc<Fields>,
    /// What it says.
    pub deltas: SmallVec<[Delta; 1]>,
    /// What it thinks, where that is not in `message`.
    pub reasoning: String,
    /// It has thoughts, here or there.
    pub has_reasoning: bool,
    /// Calls of the server's own tools.
    pub hosted: Vec<HostedCall>,
    /// How many of `deltas` were said before the last of those.
    pub before_hosted: usize,
    /// What is to be sent back as it came.
    pub sealed: Vec<Sealed>,
    /// How many of `deltas` were said before each of those, and how many of `parts`.
    pub sealed_at: Vec<(usize, usize)>,
    /// Parts of its message that nothing else tells, and how many of `deltas` were said before each.
    pub parts: Vec<(usize, Box<RawValue>)>,
    /// What the wire alone says of its calls, each by its number.
    pub of_calls: Vec<(u32, Arc<Fields>)>,
    /// Log probabilities of its text.
    pub logprobs: Vec<Box<RawValue>>,
}

/// What nothing is said in: one for all, since most pieces of a stream have three of it.
static NOTHING: LazyLock<Arc<Fields>> = LazyLock::new(Arc::default);

impl Default for Reply {
    fn default() -> Self {
        Self {
            start: Start::default(),
            own: Arc::clone(&NOTHING),
            usage: None,
            choices: SmallVec::new(),
        }
    }
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            index: 0,
            has_role: false,
            own: Arc::clone(&NOTHING),
            message: Arc::clone(&NOTHING),
            deltas: SmallVec::new(),
            reasoning: String::new(),
            has_reasoning: false,
            hosted: Vec::new(),
            before_hosted: 0,
            sealed: Vec::new(),
            sealed_at: Vec::new(),
            parts: Vec::new(),
            of_calls: Vec::new(),
            logprobs: Vec::new(),
        }
    }
}

impl Reply {
    /// Puts events together. A choice that is spoken of after its finish is another one.
    #[must_use]
    pub fn fold(events: impl IntoIterator<Item = Event>) -> Self {
        let mut reply = Self::default();
        events.into_iter().for_each(|event| reply.take(event));
        reply
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Start(start) => self.start.update(start),
            Event::Own {
                of: Of::Reply,
                fields,
            } => {
                if self.own.0.is_empty() {
                    self.own = fields;
                }
            }
            Event::Own {
                of: Of::Whole,
                fields,
            } => self.own = fields,
            Event::Usage(usage) => self.usage = Some(usage),
            Event::NoCall { .. } | Event::Done | Event::Error(_) | Event::Garbage => {}
            event => {
                if let Some(choice) = event.choice() {
                    self.choice(choice).take(event);
                }
            }
        }
    }

    fn choice(&mut self, index: u32) -> &mut Choice {
        let is_it = |choice: &Choice| choice.index == index && !choice.has_ended();
        let known = self.choices.iter().rposition(is_it);
        let place = known.unwrap_or_else(|| {
            self.choices.push(Choice {
                index,
                ..Choice::default()
            });
            self.choices.len() - 1
        });
        &mut self.choices[place]
    }
}

impl Choice {
    /// Whether its finish is among what it says.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.deltas.last(), Some(Delta::Finish(_)))
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Choice { role, .. } => self.has_role |= role,
            Event::Delta { delta, .. } => self.delta(delta),
            Event::Reasoning { text, is_own, .. } => {
                self.has_reasoning |= !text.is_empty();
                if !is_own {
                    self.reasoning.push_str(&text);
                }
            }
            Event::Hosted { call, .. } => {
                self.hosted.push(call);
                self.before_hosted = self.deltas.len();
            }
            Event::Aside { .. } => {}
            Event::Sealed { sealed, .. } => {
                self.sealed.push(sealed);
                self.sealed_at.push((self.deltas.len(), self.parts.len()));
            }
            Event::OfCall { call, own, .. } => self.of_calls.push((call, own)),
            Event::Part { part, .. } => self.parts.push((self.deltas.len(), part)),
            Event::Logprobs { tokens, .. } => self.logprobs.extend(tokens),
            Event::Own {
                of: Of::Message(_),
                fields,
            } => join(&mut self.message, fields),
            Event::Own { fields, .. } => set(&mut self.own, fields),
            _ => {}
        }
    }

    /// What is to be sent back that came behind so many of the deltas: a block of thinking where it came, and first of all the
    /// signatures of texts, which are those of the whole.
    #[must_use]
    pub fn sealed_behind(&self, deltas: usize) -> Vec<Sealed> {
        // Nothing comes behind the finish.
        let last = self.deltas.len() - usize::from(self.has_ended());
        let all = self.sealed.iter().zip(&self.sealed_at);
        let is_there = |(sealed, (at, _)): &(&Sealed, &(usize, usize))| match sealed {
            Sealed::Thinking(_) => last.min(*at) == deltas,
            Sealed::Signature(_) => deltas == 0,
        };
        all.filter(is_there)
            .map(|(sealed, _)| sealed.clone())
            .collect()
    }

    /// Gives it other deltas: `ends` says for each how many of the new ones are there behind it.
    pub fn replace(&mut self, deltas: Vec<Delta>, ends: &[usize]) {
        let moved = |at: usize| match at.checked_sub(1) {
            None => 0,
            Some(last) => ends.get(last).copied().unwrap_or(0),
        };
        for (at, _) in &mut self.sealed_at {
            *at = moved(*at);
        }
        for (at, _) in &mut self.parts {
            *at = moved(*at);
        }
        self.deltas = deltas.into();
    }

    /// Texts that follow each other are one.
    fn delta(&mut self, delta: Delta) {
        let from = self.parts.last().map_or(0, |(before, _)| *before);
        // Text on both sides of a block of thinking is two: they go back in that order.
        let mut sealed = self.sealed.iter().zip(&self.sealed_at).rev();
        let block = sealed.find(|(sealed, _)| matches!(sealed, Sealed::Thinking(_)));
        let from = from.max(block.map_or(0, |(_, (before, _))| *before));
        let said = &mut self.deltas[self.before_hosted.max(from)..];
        match (said.last_mut(), delta) {
            (Some(Delta::Text(text)), Delta::Text(more))
            | (Some(Delta::Refusal(text)), Delta::Refusal(more))
            | (Some(Delta::Reasoning(text)), Delta::Reasoning(more)) => text.push_str(&more),
            (_, delta) => self.deltas.push(delta),
        }
    }
}

/// What is said later counts.
fn set(fields: &mut Arc<Fields>, more: Arc<Fields>) {
    if fields.0.is_empty() {
        *fields = more;
        return;
    }
    let fields = Arc::make_mut(fields);
    for (name, value) in &more.0 {
        fields.set(name, value.clone());
    }
}

/// Texts of the same name come in pieces; of anything else the last one counts.
fn join(fields: &mut Arc<Fields>, more: Arc<Fields>) {
    if fields.0.is_empty() {
        *fields = more;
        return;
    }
    let fields = Arc::make_mut(fields);
    let text = |raw: &str| serde_json::from_str::<String>(raw).ok();
    for (name, value) in &more.0 {
        match (fields.raw(name).and_then(text), text(value.get())) {
            (Some(known), Some(more)) => fields.set(name, raw(&(known + &more))),
            // What is null says nothing.
            (Some(_), None) if value.get() == "null" => {}
            _ => fields.set(name, value.clone()),
        }
    }
}
