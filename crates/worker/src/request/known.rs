//! The fields that a body may have: those that are read, those that change nothing here, and
//! those that would change the answer and are refused by their name.

use super::invalid;
use super::tokens::is_empty;
use isogloss_core::error::Error;
use isogloss_core::ir::Fields;
use serde_json::{Map, Value, json};

/// Whose body it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Endpoint {
    Chat,
    Completions,
}

/// Read by this module or by `dialect::chat::client::read_request`, for both endpoints.
const READ: &[&str] = &[
    "model",
    "stream",
    "stream_options",
    "n",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "seed",
    "logprobs",
    "stop",
    "max_tokens",
    "ignore_eos",
    "whitespace",
    "response_format",
    "structured_outputs",
    "guided_json",
    "guided_json_object",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "json_schema",
    "regex",
    "ebnf",
    "grammar",
    "structural_tag",
    "nvext",
];

const READ_CHAT: &[&str] = &[
    "messages",
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "parallel_tool_calls",
    "top_logprobs",
    "max_completion_tokens",
    "chat_template_kwargs",
    "reasoning_effort",
    "thinking_token_budget",
    "documents",
    "continue_final_message",
    "add_generation_prompt",
];

const READ_COMPLETIONS: &[&str] = &["prompt", "add_special_tokens"];

/// Taken, and without effect: bookkeeping of hosted APIs, and hints to other servers' schedulers.
/// None of them changes what the answer may be.
const HARMLESS: &[&str] = &[
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "cache_prompt",
    "priority",
    "request_id",
    "guided_decoding_backend",
    "spaces_between_special_tokens",
];

/// Not served; taken where the value is the one that means nothing, which some clients send with
/// every request. `null`, an empty text, array or object always means nothing.
fn neutral(name: &str) -> Option<Value> {
    Some(match name {
        "best_of" => json!(1),
        "echo"
        | "use_beam_search"
        | "early_stopping"
        | "include_stop_str_in_output"
        | "add_special_tokens"
        | "return_token_ids"
        | "return_tokens_as_token_ids" => json!(false),
        "skip_special_tokens" | "include_reasoning" => json!(true),
        "length_penalty" => json!(1.0),
        "min_tokens" | "prompt_logprobs" => json!(0),
        "modalities" => json!(["text"]),
        "verbosity" => json!("medium"),
        _ => return None,
    })
}

/// Checks that every field is one of the known ones, with a value that can be met.
pub(super) fn check(fields: &Fields, endpoint: Endpoint) -> Result<(), Error> {
    let own = match endpoint {
        Endpoint::Chat => READ_CHAT,
        Endpoint::Completions => READ_COMPLETIONS,
    };
    for (name, raw) in &fields.0 {
        let name = name.as_str();
        let is_read = READ.contains(&name) || own.contains(&name);
        if is_read || HARMLESS.contains(&name) {
            continue;
        }
        let value: Value = isogloss_core::json::value(raw.get()).unwrap_or_default();
        if is_empty(&value) {
            continue;
        }
        match neutral(name) {
            Some(neutral) if is_same(&neutral, &value) => {}
            Some(neutral) => {
                let message = format!(
                    "`{name}` is not served by the worker: leave it out (or send {neutral})"
                );
                return Err(invalid(name, message));
            }
            None => return Err(unknown(name)),
        }
    }
    members(fields, "stream_options", STREAM_OPTIONS)?;
    members(fields, "structured_outputs", STRUCTURED_OUTPUTS)
}

/// `1` and `1.0` are the same.
fn is_same(neutral: &Value, value: &Value) -> bool {
    neutral == value || matches!((neutral.as_f64(), value.as_f64()), (Some(a), Some(b)) if a == b)
}

/// What no list has.
pub(super) fn unknown(name: &str) -> Error {
    let shown: String = name.chars().take(64).collect();
    let message =
        format!("`{shown}` is not served by the worker, and may change the answer: leave it out");
    invalid(&shown, message)
}

type Members = &'static [(&'static str, Option<bool>)];

/// Asks for the prompt's tokens in the first chunk with a text. The worker's own word: others tell them in every chunk.
pub(super) const COUNTS_FIRST: &str = "counts_first";

/// Members that are read, or `Some` value that means nothing.
const STREAM_OPTIONS: Members = &[
    ("include_usage", None),
    ("include_obfuscation", Some(false)),
    ("continuous_usage_stats", Some(false)),
    (COUNTS_FIRST, None),
];

const STRUCTURED_OUTPUTS: Members = &[
    ("json", None),
    ("json_object", None),
    ("regex", None),
    ("choice", None),
    ("grammar", None),
    ("structural_tag", None),
    ("whitespace", None),
    ("disable_any_whitespace", None),
    ("disable_fallback", Some(true)),
    ("disable_additional_properties", Some(false)),
];

fn members(fields: &Fields, name: &str, known: Members) -> Result<(), Error> {
    let given = super::field::<Map<String, Value>>(fields, name, "an object")?;
    for (member, value) in given.unwrap_or_default() {
        let path = format!("{name}.{member}");
        match known.iter().find(|(known, _)| *known == member) {
            Some((_, None)) => {}
            _ if is_empty(&value) => {}
            // Falling back to another engine is vLLM's; here there is one.
            Some((word, _)) if *word == "disable_fallback" && value.is_boolean() => {}
            // Padding against the guessing of a stream's text by its sizes.
            Some((word, _)) if *word == "include_obfuscation" && value.is_boolean() => {}
            Some((_, Some(neutral))) if value == Value::Bool(*neutral) => {}
            _ => return Err(unknown(&path)),
        }
    }
    Ok(())
}
