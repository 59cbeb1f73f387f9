//! What rewriting the request tells rewrapping the reply.

use super::{CallKind, Thoughts};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::sync::Arc;

/// How the demand is met on this server, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strategy {
    /// The request states no demand: bytes go through.
    Passthrough,
    /// The server enforces the demand itself, in the words it is sent.
    Native,
    /// A forced call became a constraint on content, which is rewrapped as a call.
    Constrain,
    /// A forced call is constrained in the markup in which the model itself writes calls, and read off the content.
    Tags,
    /// Calls or an answer, or calls in free text, became one constraint on content.
    Compose,
    /// The constraint was converted into a kind that the server has.
    Convert,
    /// The server can constrain nothing: the demand is in the prompt, the proxy verifies.
    Instruct,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 7] = [
        Self::Passthrough,
        Self::Native,
        Self::Constrain,
        Self::Tags,
        Self::Compose,
        Self::Convert,
        Self::Instruct,
    ];

    /// The value of `x-isogloss-strategy` and of the metric label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passthrough => "passthrough",
            Self::Native => "native",
            Self::Constrain => "constrain",
            Self::Tags => "tags",
            Self::Compose => "compose",
            Self::Convert => "convert",
            Self::Instruct => "instruct",
        }
    }
}

/// What the server's content means to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrap {
    /// What it is: text is text, calls are calls.
    Keep,
    /// The whole content is the arguments (or the input) of this tool.
    Arguments {
        /// The tool.
        tool: String,
    },
    /// One envelope, `{"name": …, "arguments": …}`.
    Call,
    /// An array of envelopes.
    Calls,
    /// One envelope, or `{"answer": …}` whose value is the content.
    CallOrAnswer {
        /// The answer is a JSON string whose text is the content.
        text: bool,
    },
    /// `{"answer": …}`, whose value is the content: the server takes schemas of objects alone.
    Answer,
    /// One envelope, or text that is no envelope.
    CallOrText,
    /// Text in which each call is an envelope between `<tool_call>` and `</tool_call>`.
    TaggedCalls,
    /// Calls, each an envelope between `<tool_call>` and `</tool_call>`, or a text that is the
    /// answer.
    TaggedCallsOrAnswer,
    /// JSON, perhaps in a code fence or after a think block, which are taken off.
    Json,
    /// Text, perhaps after a think block or with space around it, which are taken off.
    Text,
}

impl Rewrap {
    /// Whether calls stand between tags.
    #[must_use]
    pub const fn is_tagged(&self) -> bool {
        matches!(self, Self::TaggedCalls | Self::TaggedCallsOrAnswer)
    }

    /// Whether a content that holds no call, nor an answer in its envelope, is none.
    #[must_use]
    pub const fn is_call(&self) -> bool {
        matches!(
            self,
            Self::Arguments { .. } | Self::Call | Self::Calls | Self::CallOrAnswer { .. }
        )
    }

    /// The word in output.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Arguments { .. } => "arguments",
            Self::Call => "call",
            Self::Calls => "calls",
            Self::CallOrAnswer { .. } => "call_or_answer",
            Self::Answer => "answer",
            Self::CallOrText => "call_or_text",
            Self::TaggedCalls => "tagged_calls",
            Self::TaggedCallsOrAnswer => "tagged_calls_or_answer",
            Self::Json => "json",
            Self::Text => "text",
        }
    }
}

/// The plan of one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What content means.
    pub rewrap: Rewrap,
    /// How the thoughts are marked that may stand before the content; `None` where nothing is taken off it but what
    /// [`Self::rewrap`] does.
    pub thoughts: Option<Arc<Thoughts>>,
    /// The constraint holds from the first token on, so that what the server takes for thoughts is content where no other comes.
    pub is_all_content: bool,
    /// How thoughts are marked: what a reader of theirs may leave before the content.
    pub marks: Option<Arc<Thoughts>>,
    /// There is room for thoughts in the constraint: what was cut before any content came is thoughts.
    pub has_room: bool,
    /// What it tells of the server where what it took for thoughts was the content: a fact, in the words of the rule files.
    pub tells_opening: Option<&'static str>,
    /// The server reads forced calls off the text that it was held to, and gives them.
    pub is_parsed: bool,
    /// The tools that may be called, by name.
    pub tools: IndexMap<String, CallKind>,
    /// The server was shown custom tools as functions, whose only argument is the text.
    pub wraps_inputs: bool,
    /// The client's names of tools, by those that the server knows them by, where these are others.
    pub renamed: HashMap<String, String>,
    /// The client's names of parameters, by tool and by those that the server knows them by, where these are others.
    pub renamed_keys: HashMap<String, HashMap<String, String>>,
    /// The client takes one call, and the server may make several: only the first is passed on.
    pub one_call: bool,
    /// The client speaks the legacy `functions`: calls go back as `function_call`.
    pub legacy_functions: bool,
    /// A stream's first chunks count the prompt's tokens.
    pub counts_first: bool,
}

impl Plan {
    /// Whether nothing but JSON is asked for.
    #[must_use]
    pub fn is_json_alone(&self) -> bool {
        use Rewrap::{Answer, Arguments, Call, Calls, Json};
        match self.rewrap {
            Json | Arguments { .. } | Call | Calls => true,
            Answer => !self.takes_text(),
            _ => false,
        }
    }

    /// Whether a text that is no JSON is told as it is: the answer, or a remark beside a call of the server's own.
    #[must_use]
    pub fn takes_text(&self) -> bool {
        match self.rewrap {
            Rewrap::CallOrText => true,
            Rewrap::Answer => !self.tools.is_empty(),
            _ => false,
        }
    }

    /// Nothing but what content means.
    #[must_use]
    pub fn new(rewrap: Rewrap) -> Self {
        Self {
            rewrap,
            thoughts: None,
            is_all_content: false,
            marks: None,
            has_room: false,
            tells_opening: None,
            is_parsed: false,
            tools: IndexMap::new(),
            wraps_inputs: false,
            renamed: HashMap::new(),
            renamed_keys: HashMap::new(),
            one_call: false,
            legacy_functions: false,
            counts_first: false,
        }
    }
}
