//! The table of what counts as a constraint in a request of any dialect. Data alone.

/// Which values of a field count. `null`, and what says nothing, never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Any value but an empty one.
    Set,
    /// The same, and an empty schema too: it still demands JSON (llama.cpp, Ollama).
    Schema,
    /// An object whose `type` is not `text`. A string is an image's or a sound's format.
    Typed,
    /// `json`, or a schema.
    Format,
    /// A media type that is not plain text.
    MediaType,
    /// A choice of tools that forces a call.
    Choice,
    /// Gemini's mode of calls, likewise; a number is that of the enumeration.
    Mode,
    /// A switch that is on.
    True,
    /// A route that generates: what is asked there lies in a file that nobody looks at.
    Endpoint,
}

/// A field, as a path from an object that holds a request's fields; lists are looked into.
pub(super) struct Word {
    pub(super) path: &'static str,
    pub(super) counts: Counts,
}

const fn word(path: &'static str, counts: Counts) -> Word {
    Word { path, counts }
}

/// In the order of the dialects; a field that several have is with the first.
pub(super) const WORDS: &[Word] = &[
    // OpenAI Chat, its legacy functions, and most servers.
    word("response_format", Counts::Typed),
    word("tool_choice", Counts::Choice),
    word("function_call", Counts::Choice),
    word("tools.strict", Counts::True),
    word("tools.function.strict", Counts::True),
    word("tools.custom.format", Counts::Typed),
    // OpenAI Responses.
    word("text.format", Counts::Typed),
    word("tools.format", Counts::Typed),
    // OpenAI batches.
    word("endpoint", Counts::Endpoint),
    // vLLM from 0.11, and before; NVIDIA NIM has the latter in `nvext`.
    word("structured_outputs", Counts::Set),
    word("guided_json", Counts::Schema),
    word("guided_json_object", Counts::True),
    word("guided_regex", Counts::Set),
    word("guided_choice", Counts::Set),
    word("guided_grammar", Counts::Set),
    word("guided_decoding", Counts::Set),
    // vLLM to 0.11, SGLang (in `sampling_params`).
    word("structural_tag", Counts::Set),
    // SGLang.
    word("regex", Counts::Set),
    word("ebnf", Counts::Set),
    // SGLang, llama.cpp, TabbyAPI.
    word("json_schema", Counts::Schema),
    // llama.cpp; TGI in `parameters`; mistral.rs.
    word("grammar", Counts::Set),
    // TabbyAPI, text-generation-webui.
    word("regex_pattern", Counts::Set),
    word("grammar_string", Counts::Set),
    // TensorRT-LLM, its Triton backend.
    word("guided_decoding_params", Counts::Set),
    word("guided_decoding_guide", Counts::Set),
    word("guided_decoding_guide_type", Counts::Set),
    // Ollama.
    word("format", Counts::Format),
    // Anthropic, and its beta before.
    word("output_config.format", Counts::Typed),
    word("output_format", Counts::Typed),
    // Gemini, in `generationConfig`.
    word("responseSchema", Counts::Schema),
    word("responseJsonSchema", Counts::Schema),
    word("responseMimeType", Counts::MediaType),
    word("toolConfig.functionCallingConfig.mode", Counts::Mode),
    word("batch.inputConfig.fileName", Counts::Set),
    // Bedrock's Converse.
    word("toolConfig.toolChoice", Counts::Choice),
    // Cohere.
    word("strict_tools", Counts::True),
];

/// Fields that hold a request's fields, or a list of requests: SGLang's and vLLM's sampling
/// parameters, TGI's and Vertex's parameters, NIM's extensions, Gemini's configuration, the
/// requests of a batch (Anthropic's, Gemini's), and what platforms wrap a request in.
pub(super) const WRAPPERS: &[&str] = &[
    "batch",
    "body",
    "config",
    "extra_body",
    "generate_content_config",
    "generation_config",
    "input",
    "input_config",
    "inputs",
    "instances",
    "nvext",
    "options",
    "parameters",
    "params",
    "payload",
    "request",
    "requests",
    "response",
    "sampling_params",
    "session",
];

/// How many wrappers may stand around a request; five is the most that is known (Gemini's batch).
pub(super) const MAX_WRAPPERS: usize = 8;
