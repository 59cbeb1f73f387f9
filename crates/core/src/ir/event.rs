//! What a reply says, event by event, whichever wire it came over. A whole reply is the fold of its
//! events ([`super::Reply`]), a stream their unfolding.

use super::{Delta, Fields};
use serde_json::value::RawValue;
use std::sync::Arc;

/// A call of a tool of the server's own, which is no call of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostedCall {
    /// The server carries it out, and goes on.
    ByServer,
    /// The client does, or is asked whether it may be: the turn is over.
    ByClient,
    /// Of a tool of this type: the client does, where it lists that among those that it carries out.
    Listed(String),
}

/// One event of a reply. Those of a choice name it.
#[derive(Debug, Clone)]
pub enum Event {
    /// The reply begins, or more of it is known.
    Start(Start),
    /// The choice is spoken of.
    Choice {
        /// Which.
        choice: u32,
        /// It is said that the words are the assistant's.
        role: bool,
    },
    /// A step of the choice: what verification is about.
    Delta {
        /// Which choice.
        choice: u32,
        /// The step.
        delta: Delta,
    },
    /// Thinking that the server itself tells apart. Nothing is demanded of it.
    Reasoning {
        /// Which choice.
        choice: u32,
        /// More of it.
        text: String,
        /// It stands in [`Event::Own`] of the message as well, under the server's name for it.
        is_own: bool,
    },
    /// What the client is to send back with the conversation as it came.
    Sealed {
        /// Which choice.
        choice: u32,
        /// The thing itself.
        sealed: Sealed,
    },
    /// What the wire alone says of a call, as it says it: who makes it (`caller`, Anthropic), its signature (`extra_content`, Gemini's
    /// route for Chat's clients). For a client of the same wire, which has to send it back.
    OfCall {
        /// Which choice.
        choice: u32,
        /// Which call.
        call: u32,
        /// The members of the call that nothing else tells.
        own: Arc<Fields>,
    },
    /// A part of the message that no other event tells, as Gemini's wire has it: for a client of the same wire, which has to send
    /// it back.
    Part {
        /// Which choice.
        choice: u32,
        /// The part.
        part: Box<RawValue>,
    },
    /// Log probabilities of more of the choice's text: the entries of Chat's `content`.
    Logprobs {
        /// Which choice.
        choice: u32,
        /// An entry a token.
        tokens: Vec<Box<RawValue>>,
    },
    /// The server calls a tool of its own; what that says stands in [`Event::Own`].
    Hosted {
        /// Which choice.
        choice: u32,
        /// Who carries it out.
        call: HostedCall,
    },
    /// More of what the model says beside its answer, on the way to it; it stands in [`Event::Own`].
    Aside {
        /// Which choice.
        choice: u32,
        /// More of its text.
        text: String,
    },
    /// What no client could take for a call.
    NoCall {
        /// Which choice.
        choice: u32,
        /// What is wrong with it.
        fault: NoCall,
    },
    /// What the wire alone says, as it says it: for a client of the same wire.
    Own {
        /// What it is said of.
        of: Of,
        /// The fields, among them those that the other events are made of; the same ones where nothing
        /// else is said.
        fields: Arc<Fields>,
    },
    /// The tokens so far; later counts replace earlier ones.
    Usage(Usage),
    /// The reply is complete.
    Done,
    /// The server reports an error: its own JSON text.
    Error(String),
    /// Nothing that this wire says.
    Garbage,
}

/// What is known of a reply as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// The server's id of the reply.
    pub id: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Unix seconds.
    pub created: Option<u64>,
}

/// What [`Event::Own`] is said of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The reply.
    Reply,
    /// The reply, as its server put it together when a stream of it was over.
    Whole,
    /// A choice.
    Choice(u32),
    /// The message of a choice.
    Message(u32),
}

/// What only the server that made it can read: without it, it does not take its own words back.
#[derive(Debug, Clone)]
pub enum Sealed {
    /// A block of thinking with its signature, or redacted, on Anthropic's wire.
    Thinking(Box<RawValue>),
    /// Gemini's signature of a text.
    Signature(String),
}

/// Counts of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Of the prompt, with those that were cached.
    pub prompt: u64,
    /// Of the reply, with those of its thoughts.
    pub completion: u64,
    /// Of the prompt's, those that were cached.
    pub cached: Option<u64>,
    /// Of the reply's, those of its thoughts.
    pub reasoning: Option<u64>,
}

/// What is no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCall {
    /// It becomes another one in its middle: which of the two is meant, clients would not agree on.
    Changes {
        /// Which call of the choice.
        call: u32,
    },
    /// It ends without a name.
    Nameless {
        /// How many calls of the choice have one.
        calls: u32,
    },
    /// The server could make nothing of what the model wrote.
    Unreadable {
        /// How many calls of the choice have begun.
        calls: u32,
    },
    /// The server says that there is one, and gives none.
    Lost,
    /// It is one of more than anybody reads.
    TooMany {
        /// How many calls of the choice have begun.
        calls: u32,
    },
}

impl Event {
    /// Whether a choice ends with it.
    #[must_use]
    pub const fn is_finish(&self) -> bool {
        matches!(
            self,
            Self::Delta {
                delta: Delta::Finish(_),
                ..
            }
        )
    }

    /// The choice that it is of.
    #[must_use]
    pub const fn choice(&self) -> Option<u32> {
        match self {
            Self::Choice { choice, .. }
            | Self::Delta { choice, .. }
            | Self::Reasoning { choice, .. }
            | Self::Sealed { choice, .. }
            | Self::OfCall { choice, .. }
            | Self::Part { choice, .. }
            | Self::Logprobs { choice, .. }
            | Self::Hosted { choice, .. }
            | Self::Aside { choice, .. }
            | Self::NoCall { choice, .. }
            | Self::Own {
                of: Of::Choice(choice) | Of::Message(choice),
                ..
            } => Some(*choice),
            Self::Start(_)
            | Self::Own {
                of: Of::Reply | Of::Whole,
                ..
            }
            | Self::Usage(_)
            | Self::Done
            | Self::Error(_)
            | Self::Garbage => None,
        }
    }
}

impl Start {
    /// Completes it with what is said later.
    pub fn update(&mut self, later: Self) {
        self.id = later.id.or(self.id.take());
        self.model = later.model.or(self.model.take());
        self.created = later.created.or(self.created);
    }
}
