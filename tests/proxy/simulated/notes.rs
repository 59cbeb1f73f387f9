//! What each server does, in a few notes: where it reads a constraint, which compiler it has, what
//! its tool choices come to, what it refuses. Written from the servers' sources and documents and
//! from recordings of them, never from the proxy's rules: where the two differ, a round trip fails.

use super::reading::Compiler;

/// A constraint's kind, as the server takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Schema,
    Object,
    Regex,
    Choice,
    Gbnf,
    Lark,
    /// Lark where no line has `::=`, else GBNF.
    Grammar,
    Tag,
}

/// A place where the server reads a constraint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spelling {
    /// The object with a `type` and the type that it must have.
    pub(crate) typed: Option<(&'static str, &'static str)>,
    /// Where the constraint is.
    pub(crate) at: &'static str,
    pub(crate) kind: Kind,
}

const fn at(at: &'static str, kind: Kind) -> Spelling {
    Spelling {
        typed: None,
        at,
        kind,
    }
}

const fn format(name: &'static str, at: &'static str, kind: Kind) -> Spelling {
    Spelling {
        typed: Some(("/response_format", name)),
        at,
        kind,
    }
}

const fn grammar(name: &'static str, kind: Kind) -> Spelling {
    Spelling {
        typed: Some(("/grammar", name)),
        at: "/grammar/value",
        kind,
    }
}

const fn parameter(name: &'static str, kind: Kind) -> Spelling {
    Spelling {
        typed: Some(("/parameters/grammar", name)),
        at: "/parameters/grammar/value",
        kind,
    }
}

/// What a forced call comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forced {
    /// The value is read as `auto`, or not at all.
    Ignored,
    /// A call comes; its arguments are free unless the tool is strict.
    Shape,
    /// A call comes, and its arguments satisfy the parameters.
    Whole,
    Refused(&'static str),
}

/// A constraint on content, and tools under `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    ConstraintWins,
    Either,
    Refused(u16, &'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Ignored,
    /// Only these are known.
    Refused(u16, &'static [&'static str]),
    /// These are not.
    Foreign(u16, &'static [&'static str]),
}

/// The body of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// `{"error": {"message", …}}`
    Nested,
    /// `{"object": "error", "message", …}`
    Flat,
    /// `{"error": "<text>"}`
    Text,
    /// `{"message": "<text>"}`
    Message,
}

#[derive(Debug)]
pub(crate) struct Notes {
    /// As the proxy is to call it.
    pub(crate) label: &'static str,
    /// Known by its host name alone.
    pub(crate) is_hosted: bool,
    /// What it answers to GET, and a header of its own.
    pub(crate) who: &'static [(&'static str, &'static str)],
    pub(crate) header: &'static str,
    pub(crate) spellings: &'static [Spelling],
    /// What a `response_format` of another type comes to; `None` where it is ignored.
    pub(crate) other_format: Option<u16>,
    /// What two constraints at once come to; `None` where the first one wins.
    pub(crate) clash: Option<(u16, &'static str)>,
    pub(crate) unknown: Unknown,
    pub(crate) compiler: Compiler,
    /// Schemas hold under `strict: true` alone; without, they are hints.
    pub(crate) needs_strict: bool,
    pub(crate) required: Forced,
    pub(crate) named: Forced,
    /// Whether `allowed_tools` is known; refused where not.
    pub(crate) knows_allowed: bool,
    /// Whether `none` keeps the model from calling.
    pub(crate) keeps_none: bool,
    /// Whether calls are read off the text at all.
    pub(crate) reads_calls: Option<&'static str>,
    pub(crate) takes_tools: bool,
    pub(crate) beside: Beside,
    pub(crate) keeps_one_call: bool,
    pub(crate) errors: Errors,
    /// Whole replies have arguments as an object.
    pub(crate) objects: bool,
    pub(crate) reasoning: Option<&'static str>,
    /// Whether structural tags may have a `format`.
    pub(crate) tag_formats: bool,
    /// Whether a constraint beside a forced call is refused.
    pub(crate) clashes_with_choice: bool,
    /// Whether calls are read off a text as well that a constraint holds, where they may be made.
    pub(crate) reads_constrained: bool,
    /// Whether tools of `type: "custom"` are known, and their grammars kept to.
    pub(crate) custom_tools: bool,
    /// Whether it makes as many answers as `n` says.
    pub(crate) counts: bool,
    /// Whether it takes a prompt, at `/generate`.
    pub(crate) is_generate: bool,
}

use Kind::{Choice, Gbnf, Grammar, Lark, Object, Regex, Schema, Tag};

const JSON_SCHEMA: Spelling = format("json_schema", "/response_format/json_schema/schema", Schema);
const JSON_OBJECT: Spelling = format("json_object", "/response_format", Object);

const STRUCTURED: [Spelling; 9] = [
    at("/structured_outputs/json", Schema),
    at("/structured_outputs/json_object", Object),
    at("/structured_outputs/regex", Regex),
    at("/structured_outputs/choice", Choice),
    at("/structured_outputs/grammar", Grammar),
    at("/structured_outputs/structural_tag", Tag),
    JSON_SCHEMA,
    JSON_OBJECT,
    format("structural_tag", "/response_format", Tag),
];
const GUIDED: [Spelling; 7] = [
    at("/guided_json", Schema),
    at("/guided_regex", Regex),
    at("/guided_choice", Choice),
    at("/guided_grammar", Grammar),
    JSON_SCHEMA,
    JSON_OBJECT,
    format("structural_tag", "/response_format", Tag),
];

const BOTH: [Spelling; 13] = [
    at("/structured_outputs/json", Schema),
    at("/structured_outputs/json_object", Object),
    at("/structured_outputs/regex", Regex),
    at("/structured_outputs/choice", Choice),
    at("/structured_outputs/grammar", Grammar),
    at("/structured_outputs/structural_tag", Tag),
    at("/guided_json", Schema),
    at("/guided_regex", Regex),
    at("/guided_choice", Choice),
    at("/guided_grammar", Grammar),
    JSON_SCHEMA,
    JSON_OBJECT,
    format("structural_tag", "/response_format", Tag),
];

const VLLM_MODELS: (&str, &str) = (
    "/v1/models",
    r#"{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}"#,
);

const SGLANG_MODELS: (&str, &str) = (
    "/v1/models",
    r#"{"object":"list","data":[{"id":"m","owned_by":"sglang"}]}"#,
);

const VLLM: Notes = Notes {
    label: "vllm@0.32.0",
    is_hosted: false,
    who: &[VLLM_MODELS, ("/version", r#"{"version":"0.32.0"}"#)],
    header: "",
    spellings: &STRUCTURED,
    other_format: Some(400),
    clash: Some((
        400,
        "You can only use one kind of constraints for structured outputs",
    )),
    unknown: Unknown::Ignored,
    compiler: Compiler::Vllm,
    needs_strict: false,
    required: Forced::Shape,
    named: Forced::Shape,
    knows_allowed: false,
    keeps_none: true,
    reads_calls: None,
    takes_tools: true,
    beside: Beside::ConstraintWins,
    keeps_one_call: true,
    errors: Errors::Nested,
    objects: false,
    reasoning: Some("reasoning"),
    tag_formats: true,
    clashes_with_choice: false,
    reads_constrained: false,
    custom_tools: false,
    counts: true,
    is_generate: false,
};

const NO_PARSER: &str =
    "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";

const HOSTED: Notes = Notes {
    label: "openai",
    is_hosted: true,
    who: &[(
        "/v1/models",
        r#"{"object":"list","data":[{"id":"m","owned_by":"system"}]}"#,
    )],
    spellings: &[JSON_SCHEMA, JSON_OBJECT],
    clash: None,
    unknown: Unknown::Foreign(400, &FOREIGN),
    compiler: Compiler::Strict,
    needs_strict: true,
    required: Forced::Shape,
    named: Forced::Shape,
    knows_allowed: true,
    beside: Beside::Either,
    reasoning: None,
    custom_tools: true,
    ..VLLM
};

/// Fields of other servers.
const FOREIGN: [&str; 16] = [
    "structured_outputs",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "regex",
    "ebnf",
    "json_schema",
    "grammar",
    "structural_tag",
    "chat_template_kwargs",
    "top_k",
    "min_p",
    "separate_reasoning",
    "repetition_penalty",
    "nvext",
];
/// What every server of OpenAI's wire knows.
const KNOWN: [&str; 27] = [
    "messages",
    "model",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "presence_penalty",
    "response_format",
    "seed",
    "skip_special_tokens",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "user",
    "top_k",
    "min_p",
    "repetition_penalty",
    "chat_template_kwargs",
    "min_tokens",
    "reasoning_effort",
];
const MISTRAL_KNOWS: [&str; 16] = [
    "messages",
    "model",
    "frequency_penalty",
    "max_tokens",
    "n",
    "presence_penalty",
    "response_format",
    "random_seed",
    "stop",
    "stream",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning_effort",
];

/// A server that keeps to nothing.
const NOTHING: Notes = Notes {
    label: "plain",
    who: &[(
        "/v1/models",
        r#"{"object":"list","data":[{"id":"m","owned_by":"me"}]}"#,
    )],
    spellings: &[],
    other_format: None,
    clash: None,
    compiler: Compiler::Whole,
    required: Forced::Ignored,
    named: Forced::Ignored,
    keeps_none: false,
    reasoning: None,
    keeps_one_call: false,
    counts: false,
    ..VLLM
};

/// Every simulated server.
pub(crate) const SERVERS: &[Notes] = &[
    VLLM,
    // The same without a tool parser.
    Notes {
        label: "vllm@0.30.1",
        reads_calls: Some(NO_PARSER),
        required: Forced::Refused(NO_PARSER),
        named: Forced::Refused(NO_PARSER),
        who: &[VLLM_MODELS, ("/version", r#"{"version":"0.30.1"}"#)],
        ..VLLM
    },
    Notes {
        label: "vllm@0.10.2",
        who: &[VLLM_MODELS, ("/version", r#"{"version":"0.10.2"}"#)],
        spellings: &GUIDED,
        required: Forced::Whole,
        named: Forced::Whole,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        tag_formats: false,
        ..VLLM
    },
    // Both spellings, the older ones on their way out.
    Notes {
        label: "vllm@0.11.2",
        who: &[VLLM_MODELS, ("/version", r#"{"version":"0.11.2"}"#)],
        spellings: &BOTH,
        required: Forced::Whole,
        named: Forced::Whole,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    Notes {
        label: "sglang@0.5.23",
        who: &[
            SGLANG_MODELS,
            (
                "/server_info",
                r#"{"model_path":"m","version":"0.5.23","tool_call_parser":"qwen","grammar_backend":"xgrammar"}"#,
            ),
        ],
        spellings: &[
            JSON_SCHEMA,
            JSON_OBJECT,
            at("/regex", Regex),
            at("/ebnf", Gbnf),
            format("structural_tag", "/response_format", Tag),
        ],
        clash: Some((
            400,
            "Only one of json_schema, regex, ebnf, or structural_tag can be set.",
        )),
        compiler: Compiler::Sglang,
        errors: Errors::Flat,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        clashes_with_choice: true,
        // `_tool_call_parsing_active` asks for tools and another choice than `none`, not for a constraint.
        reads_constrained: true,
        ..VLLM
    },
    // Before the check of keywords, the formats of tags, and the refusal of two constraints at once.
    Notes {
        label: "sglang@0.5.2",
        who: &[
            SGLANG_MODELS,
            (
                "/get_server_info",
                r#"{"model_path":"m","version":"0.5.2"}"#,
            ),
        ],
        spellings: &[
            JSON_SCHEMA,
            JSON_OBJECT,
            at("/regex", Regex),
            at("/ebnf", Gbnf),
            format("structural_tag", "/response_format", Tag),
        ],
        clash: Some((
            400,
            "Only one of json_schema, regex, ebnf, or structural_tag can be set.",
        )),
        compiler: Compiler::XGrammar,
        errors: Errors::Flat,
        required: Forced::Whole,
        named: Forced::Whole,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        tag_formats: false,
        ..VLLM
    },
    Notes {
        label: "llama-cpp",
        who: &[
            (
                "/v1/models",
                r#"{"object":"list","data":[{"id":"m","owned_by":"llamacpp"}]}"#,
            ),
            (
                "/props",
                r#"{"default_generation_settings":{},"build_info":"b1-0c1e57098"}"#,
            ),
        ],
        header: "server: llama.cpp\r\n",
        spellings: &[
            at("/json_schema", Schema),
            at("/grammar", Gbnf),
            JSON_SCHEMA,
            format("json_object", "/response_format/schema", Schema),
            JSON_OBJECT,
        ],
        clash: Some((500, "Cannot use both json_schema and grammar")),
        compiler: Compiler::LlamaCpp,
        required: Forced::Whole,
        named: Forced::Ignored,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    Notes {
        label: "tensorrt-llm@1.2.0",
        who: &[
            (
                "/v1/models",
                r#"{"object":"list","data":[{"id":"m","owned_by":"tensorrt_llm"}]}"#,
            ),
            ("/version", r#"{"version":"1.2.0"}"#),
        ],
        spellings: &[
            // The wrapper itself is taken for the schema: nothing holds.
            format("json", "/response_format/schema", Schema),
            JSON_OBJECT,
            format("regex", "/response_format/regex", Regex),
            format("ebnf", "/response_format/ebnf", Gbnf),
            format("structural_tag", "/response_format", Tag),
        ],
        unknown: Unknown::Refused(400, &KNOWN),
        compiler: Compiler::XGrammar,
        required: Forced::Ignored,
        named: Forced::Ignored,
        keeps_one_call: false,
        errors: Errors::Text,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    Notes {
        label: "ollama@0.33.0",
        who: &[
            (
                "/v1/models",
                r#"{"object":"list","data":[{"id":"m","owned_by":"library"}]}"#,
            ),
            ("/api/version", r#"{"version":"0.33.0"}"#),
            ("/api/tags", r#"{"models":[]}"#),
        ],
        spellings: &[JSON_SCHEMA, JSON_OBJECT],
        compiler: Compiler::LlamaCpp,
        knows_allowed: true,
        reasoning: Some("reasoning"),
        ..NOTHING
    },
    Notes {
        label: "tgi@3.3.7",
        who: &[
            (
                "/v1/models",
                r#"{"object":"list","data":[{"id":"m","owned_by":"m"}]}"#,
            ),
            (
                "/info",
                r#"{"model_id":"m","version":"3.3.7","docker_label":"x","router":"text-generation-router","max_total_tokens":9}"#,
            ),
        ],
        spellings: &[
            format("json", "/response_format/value", Schema),
            format("json_object", "/response_format/value", Schema),
            format("regex", "/response_format/value", Regex),
        ],
        other_format: Some(422),
        compiler: Compiler::Outlines,
        required: Forced::Whole,
        named: Forced::Whole,
        beside: Beside::Refused(422, "Grammar and tools are mutually exclusive"),
        errors: Errors::Text,
        objects: true,
        reasoning: None,
        ..VLLM
    },
    // Its own route, which is pinned: a prompt, and a grammar among the parameters.
    Notes {
        label: "tgi-generate",
        is_hosted: true,
        who: &[],
        spellings: &[
            parameter("json", Schema),
            parameter("json_object", Schema),
            parameter("regex", Regex),
        ],
        compiler: Compiler::Outlines,
        takes_tools: false,
        errors: Errors::Text,
        reasoning: None,
        counts: false,
        is_generate: true,
        ..VLLM
    },
    Notes {
        label: "lmdeploy",
        who: &[(
            "/v1/models",
            r#"{"object":"list","data":[{"id":"m","owned_by":"lmdeploy"}]}"#,
        )],
        spellings: &[
            JSON_SCHEMA,
            JSON_OBJECT,
            format("regex_schema", "/response_format/regex_schema", Regex),
        ],
        compiler: Compiler::XGrammar,
        required: Forced::Ignored,
        named: Forced::Ignored,
        knows_allowed: true,
        errors: Errors::Flat,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    Notes {
        label: "mistral-rs",
        who: &[
            (
                "/v1/models",
                r#"{"object":"list","data":[{"id":"default","owned_by":"local"},{"id":"m","owned_by":"local"}]}"#,
            ),
            ("/v1/system/info", "{}"),
        ],
        spellings: &[
            grammar("json_schema", Schema),
            grammar("regex", Regex),
            grammar("lark", Lark),
            JSON_SCHEMA,
            JSON_OBJECT,
        ],
        other_format: Some(422),
        clash: Some((422, "mutually exclusive")),
        compiler: Compiler::Llguidance,
        knows_allowed: true,
        keeps_one_call: false,
        errors: Errors::Message,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    Notes {
        label: "lm-studio",
        who: &[
            (
                "/v1/models",
                r#"{"object":"list","data":[{"id":"m","owned_by":"organization_owner"}]}"#,
            ),
            (
                "/api/v1/models",
                r#"{"models":[{"key":"m","publisher":"p"}]}"#,
            ),
        ],
        spellings: &[JSON_SCHEMA],
        compiler: Compiler::LlamaCpp,
        required: Forced::Ignored,
        named: Forced::Refused(
            "Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
        ),
        errors: Errors::Text,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    Notes {
        label: "transformers",
        is_hosted: true,
        takes_tools: true,
        unknown: Unknown::Refused(422, &KNOWN),
        ..NOTHING
    },
    NOTHING,
    Notes {
        label: "worker",
        who: &[(
            "/v1/models",
            r#"{"object":"list","data":[{"id":"m","owned_by":"isogloss"}]}"#,
        )],
        header: "server: isogloss-worker\r\n",
        spellings: &[
            at("/structured_outputs/json", Schema),
            at("/structured_outputs/json_object", Object),
            at("/structured_outputs/regex", Regex),
            at("/structured_outputs/choice", Choice),
            at("/structured_outputs/grammar", Grammar),
            at("/structured_outputs/structural_tag", Tag),
            JSON_SCHEMA,
            format("json_object", "/response_format/schema", Schema),
            JSON_OBJECT,
            format("json", "/response_format/schema", Schema),
            format("json", "/response_format/value", Schema),
            format("ebnf", "/response_format/ebnf", Gbnf),
            format("lark", "/response_format/lark", Lark),
            format("grammar", "/response_format/grammar", Grammar),
            format("regex", "/response_format/regex", Regex),
            format("structural_tag", "/response_format", Tag),
        ],
        compiler: Compiler::Llguidance,
        required: Forced::Ignored,
        named: Forced::Ignored,
        // It generates text, and shows the tools.
        reads_calls: Some(""),
        keeps_none: true,
        reasoning: Some("reasoning_content"),
        ..VLLM
    },
    HOSTED,
    Notes {
        label: "mistral",
        unknown: Unknown::Refused(422, &MISTRAL_KNOWS),
        compiler: Compiler::Whole,
        needs_strict: false,
        knows_allowed: false,
        ..HOSTED
    },
    Notes {
        label: "groq",
        compiler: Compiler::Whole,
        knows_allowed: false,
        beside: Beside::Refused(
            400,
            "json mode cannot be combined with tool/function calling",
        ),
        reasoning: Some("reasoning"),
        ..HOSTED
    },
    Notes {
        label: "together",
        compiler: Compiler::Whole,
        needs_strict: false,
        knows_allowed: false,
        unknown: Unknown::Ignored,
        keeps_one_call: false,
        ..HOSTED
    },
    Notes {
        label: "fireworks",
        spellings: &[
            JSON_SCHEMA,
            format("json_object", "/response_format/schema", Schema),
            JSON_OBJECT,
            format("grammar", "/response_format/grammar", Gbnf),
        ],
        compiler: Compiler::LlamaCpp,
        needs_strict: false,
        knows_allowed: false,
        unknown: Unknown::Ignored,
        keeps_one_call: false,
        ..HOSTED
    },
    Notes {
        label: "cerebras",
        compiler: Compiler::Whole,
        knows_allowed: false,
        unknown: Unknown::Ignored,
        keeps_one_call: false,
        ..HOSTED
    },
    Notes {
        label: "deepseek",
        spellings: &[JSON_OBJECT],
        required: Forced::Refused("Thinking mode does not support this tool_choice"),
        named: Forced::Refused("Thinking mode does not support this tool_choice"),
        knows_allowed: false,
        unknown: Unknown::Ignored,
        keeps_one_call: false,
        reasoning: Some("reasoning_content"),
        ..HOSTED
    },
    Notes {
        label: "openrouter",
        compiler: Compiler::Whole,
        needs_strict: false,
        knows_allowed: false,
        unknown: Unknown::Ignored,
        keeps_one_call: false,
        reasoning: Some("reasoning"),
        ..HOSTED
    },
    // Compatible routes, of which nothing but `auto` is counted on.
    Notes {
        label: "anthropic-compat",
        is_hosted: true,
        ..NOTHING
    },
    Notes {
        label: "cohere-compat",
        is_hosted: true,
        spellings: &[format("json_object", "/response_format/schema", Schema)],
        compiler: Compiler::Whole,
        ..NOTHING
    },
    Notes {
        label: "gemini-compat",
        is_hosted: true,
        counts: true,
        required: Forced::Shape,
        named: Forced::Shape,
        keeps_none: true,
        ..NOTHING
    },
];
