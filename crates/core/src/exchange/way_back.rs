//! What the way back needs of an exchange.

use super::beside::Beside;
use super::lone_thoughts::LoneThoughts;
use super::{Client, client};
use crate::ir::{Choice, Delta, Event, Fields, Ids, Of, Plan, Rewrap, Seal, Thoughts};
use crate::rewrap::{Mending, Reading};
use std::sync::Arc;

/// What the way back needs of an exchange. A stream may last for minutes: it does not keep the
/// conversation, which may hold megabytes of images.
#[derive(Debug)]
pub(super) struct WayBack {
    pub(super) client: &'static dyn Client,
    /// It may have the server's bytes, as far as the wire goes.
    pub(super) keeps: bool,
    pub(super) plan: Arc<Plan>,
    pub(super) model: String,
    pub(super) include_usage: bool,
    pub(super) keeps_counts: bool,
    pub(super) seal: Seal,
    pub(super) echo: Option<Arc<Fields>>,
    /// The client is told no thoughts.
    pub(super) hides_thoughts: bool,
    /// Nor is anything demanded: thoughts with nothing behind them are an answer.
    pub(super) tells_lone_thoughts: bool,
    pub(super) demands_call: bool,
    /// There are tools that the model may call.
    pub(super) may_call: bool,
    /// What the reply begins with although the client has it already.
    pub(super) repeated: Option<Arc<str>>,
    /// Something is demanded of the content.
    pub(super) demands_answer: bool,
    pub(super) demands_nothing: bool,
    /// How many choices were asked for.
    pub(super) choices: u32,
    /// [`Exchange::least_tokens`].
    pub(super) least_tokens: Option<u64>,
    pub(super) passes_violations: bool,
    /// What is mended where a reply goes out as it comes.
    pub(super) mending: Mending,
    /// How calls are read off the content.
    pub(super) reading: Option<Reading>,
    /// A text of the client's may end the reply.
    pub(super) is_stopped: bool,
    /// It is a completion that the server was held to itself.
    pub(super) is_held_completion: bool,
    /// What the server thinks is never an answer.
    pub(super) seals_thoughts: bool,
    /// A call that a limit cut may be closed.
    pub(super) closes_cut_calls: bool,
    /// Pieces of what the server says of prompts that are too long.
    pub(super) too_long: Arc<[String]>,
    /// How the model marks its thoughts, as far as its name tells, where anything is demanded.
    pub(super) form: Option<Arc<Thoughts>>,
    /// What a text may be that is no answer.
    pub(super) may_be: Beside,
}

impl WayBack {
    /// What an event of the server is to the client: what only one wire says is for its own clients, and
    /// thoughts that stand in it are told to others by themselves.
    pub(super) fn said(&self, event: Event) -> Option<Event> {
        let all = self.plan.is_all_content;
        match event {
            Event::Own { .. } | Event::OfCall { .. } if !self.keeps => None,
            // It may say again what is content after all.
            Event::Own { of, .. } if all && matches!(of, Of::Message(_)) => None,
            Event::Reasoning { choice, text, .. } if !self.keeps || all => Some(Event::Reasoning {
                choice,
                text,
                is_own: false,
            }),
            // Elsewhere nothing stands between thoughts and the answer.
            Event::Aside { choice, text } if !self.keeps => {
                (!text.is_empty()).then_some(Event::Reasoning {
                    choice,
                    text,
                    is_own: false,
                })
            }
            // Where there is no word for a refusal it would be read as the answer, and is verified as one.
            Event::Delta {
                choice,
                delta: Delta::Refusal(text),
            } if !self.client.has_refusals() => Some(Event::Delta {
                choice,
                delta: Delta::Text(text),
            }),
            Event::Delta {
                choice,
                delta:
                    Delta::CallStart {
                        call,
                        id,
                        name,
                        kind,
                    },
            } if !self.plan.renamed.is_empty() => Some(Event::Delta {
                choice,
                delta: Delta::CallStart {
                    call,
                    id,
                    name: self.plan.renamed.get(&name).cloned().unwrap_or(name),
                    kind,
                },
            }),
            event => Some(event),
        }
    }

    /// Where thoughts with nothing behind them may be calls, or the answer.
    pub(super) fn lone_thoughts(&self) -> Option<LoneThoughts> {
        let reading = self.reading.as_ref();
        let reading = reading.filter(|it| !it.tools.is_empty() && !self.seals_thoughts);
        (reading.is_some() || self.tells_lone_thoughts)
            .then(|| LoneThoughts::new(reading.cloned(), self.tells_lone_thoughts))
    }

    /// What the client is told of a part of a stream.
    pub(super) fn tell(&self, events: &mut Vec<Event>) {
        if self.hides_thoughts {
            let is_thought = |event: &Event| {
                let told = matches!(
                    event,
                    Event::Delta {
                        delta: Delta::Reasoning(_),
                        ..
                    }
                );
                told || matches!(event, Event::Reasoning { .. })
            };
            events.retain(|event| !is_thought(event));
        }
    }

    /// What the client is told of a whole reply.
    pub(super) fn tell_whole(&self, choices: &mut [Choice]) {
        for choice in choices.iter_mut().filter(|_| self.hides_thoughts) {
            choice.reasoning.clear();
            let is_thought = |delta: &Delta| matches!(delta, Delta::Reasoning(_));
            choice.deltas.retain(|delta| !is_thought(delta));
        }
    }

    /// Whether the client is given the upstream's own bytes once they are verified.
    pub(super) fn keeps_bytes(&self) -> bool {
        self.keeps
            && matches!(self.plan.rewrap, Rewrap::Keep)
            && self.plan.thoughts.is_none()
            && !self.plan.is_all_content
            && !self.plan.legacy_functions
            && !self.plan.one_call
            && !self.plan.wraps_inputs
            && self.plan.renamed.is_empty()
            && self.plan.renamed_keys.is_empty()
    }

    /// What the reply is written with.
    pub(super) fn written(&self, ids: &Ids) -> client::Terms {
        client::Terms {
            ids: ids.clone(),
            model: self.model.clone(),
            legacy_functions: self.plan.legacy_functions,
            include_usage: self.include_usage,
            keeps_counts: self.keeps_counts,
            counts_first: self.plan.counts_first,
            keeps_bytes: self.keeps_bytes(),
            seal: self.seal,
            echo: self.echo.clone(),
        }
    }
}
