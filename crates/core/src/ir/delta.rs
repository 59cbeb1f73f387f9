//! One step of one choice's reply, whatever wire it came over. A reply that came whole is the
//! same steps at once.

/// What kind of tool is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A function with JSON arguments.
    Function,
    /// A custom tool with a text input.
    Custom,
}

/// Why a choice ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done (`stop`, `eos`, and whatever else means it).
    Stop,
    /// One of the request's stop texts came: which one.
    StopText(String),
    /// The token limit was reached: the text may end anywhere.
    Length,
    /// The server stopped amid its own work, to be asked to go on: its word (Anthropic's `pause_turn`).
    Paused(String),
    /// The model made its calls.
    ToolCalls,
    /// The server's filter cut the text.
    ContentFilter,
    /// Another reason, kept as the server said it.
    Other(String),
}

impl FinishReason {
    /// Reads the OpenAI wire's word.
    #[must_use]
    pub fn read(word: &str) -> Self {
        match word {
            // The next two are TGI's before 3, the others of gateways that pass on a model's or a vendor's own (openai/openai-dotnet#267).
            "stop" | "eos_token" | "stop_sequence" | "eos" | "end_turn" | "STOP" => Self::Stop,
            // Z.ai's (mozilla-ai/any-llm#1204), Anthropic's, Gemini's.
            "length" | "model_context_window_exceeded" | "max_tokens" | "MAX_TOKENS" => {
                Self::Length
            }
            // The last two are mlx-lm's and others' (ml-explore/mlx-lm#782).
            "tool_calls" | "function_call" | "tool_call" | "tool_use" => Self::ToolCalls,
            // Z.ai's, Gemini's and Bedrock's.
            "content_filter" | "sensitive" | "SAFETY" | "guardrail_intervened" => {
                Self::ContentFilter
            }
            other => Self::Other(other.to_owned()),
        }
    }

    /// The OpenAI wire's word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop | Self::StopText(_) => "stop",
            Self::Length | Self::Paused(_) => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }

    /// The reason of a choice of which the server made calls, or none: a client that is told of an answer calls nothing
    /// (googleapis/python-genai#2868, vllm-project/vllm#27572).
    #[must_use]
    pub fn beside(self, has_calls: bool) -> Self {
        match self {
            Self::Stop if has_calls => Self::ToolCalls,
            reason => reason,
        }
    }

    /// Whether the text may be cut in the middle, so that completeness cannot be demanded.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Length | Self::Paused(_) | Self::ContentFilter)
    }
}

/// One step of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Answer text.
    Text(String),
    /// Thinking, apart from the answer.
    Reasoning(String),
    /// The model's refusal, apart from the answer.
    Refusal(String),
    /// A call begins. `call` counts from 0 within the choice.
    CallStart {
        /// Which call.
        call: u32,
        /// Its id; unique in the reply.
        id: String,
        /// The tool's name, whole.
        name: String,
        /// The kind of tool.
        kind: CallKind,
    },
    /// More of a call's arguments or input.
    CallInput {
        /// Which call.
        call: u32,
        /// The kind of tool.
        kind: CallKind,
        /// The next piece of text.
        text: String,
    },
    /// The choice ended.
    Finish(FinishReason),
}

impl Delta {
    /// Whether it says anything that a client would take for a part of the answer.
    #[must_use]
    pub fn has_substance(&self) -> bool {
        match self {
            Self::Text(text) | Self::Refusal(text) => !text.trim().is_empty(),
            Self::CallStart { .. } | Self::CallInput { .. } => true,
            Self::Reasoning(_) | Self::Finish(_) => false,
        }
    }
}
