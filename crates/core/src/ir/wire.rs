//! The wire forms that there are.

/// Which wire a message is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wire {
    /// OpenAI's Chat Completions.
    #[default]
    Chat,
    /// Ollama's `/api/chat`.
    OllamaChat,
    /// Anthropic's `/v1/messages`.
    Messages,
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
    /// Every wire that is known here.
    pub const ALL: [Self; 6] = [
        Self::Chat,
        Self::OllamaChat,
        Self::Messages,
        Self::Gemini,
        Self::CohereChat,
        Self::TgiGenerate,
    ];
}
