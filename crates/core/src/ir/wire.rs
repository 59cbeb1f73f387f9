//! The wire forms that there are.

/// Which wire a message is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wire {
    /// OpenAI's Chat Completions.
    #[default]
    Chat,
    /// OpenAI's legacy Completions: a prompt, and no conversation. Servers of Chat's wire have it beside.
    Completions,
    /// Ollama's `/api/chat`.
    OllamaChat,
    /// Ollama's `/api/generate`, which its servers have beside.
    OllamaGenerate,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// OpenAI's `/v1/responses`, which servers have beside Chat's route.
    Responses,
    /// Gemini's `generateContent`.
    Gemini,
    /// Cohere's `/v2/chat`.
    CohereChat,
    /// TGI's `/generate`.
    TgiGenerate,
    /// One that the house does not know, by its name.
    Other(&'static str),
}

/// How the events of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Events,
    /// A JSON text on each line.
    Lines,
}

impl Wire {
    /// Every wire that a server is known by.
    pub const ALL: [Self; 7] = [
        Self::Chat,
        Self::OllamaChat,
        Self::Messages,
        Self::Responses,
        Self::Gemini,
        Self::CohereChat,
        Self::TgiGenerate,
    ];
}
