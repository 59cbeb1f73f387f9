//! The closed sets that label values come from. Whatever is in none of them counts as `other`, so
//! that no client, model or server can add a series.

use isogloss_core::ir::Strategy;

/// A word that is in none of a label's sets.
pub(super) const OTHER: &str = "other";

/// What was forwarded although it demands something that nothing verifies.
pub const UNVERIFIED: &str = "unverified";

pub(super) const STRATEGIES: [&str; 7] = {
    let mut words = [UNVERIFIED; 7];
    let mut index = 0;
    while index < Strategy::ALL.len() {
        words[index] = Strategy::ALL[index].as_str();
        index += 1;
    }
    words
};

/// [`isogloss_core::ir::Constraint::kind`].
pub(super) const CONSTRAINTS: &[&str] = &[
    "json_schema",
    "json_object",
    "regex",
    "choice",
    "grammar:gbnf",
    "grammar:lark",
    "structural_tag",
];

/// What [`isogloss_core::ir::Violation::rule`] can be: JSON Schema keywords (2020-12 and the older
/// drafts' own), and the proxy's words.
pub(super) const RULES: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "content",
    "contentEncoding",
    "contentMediaType",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "false",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "required",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "choice",
    "depth",
    "grammar",
    "json",
    "json_object",
    "json_schema",
    "max_calls",
    "parallel_tool_calls",
    "regex",
    "schema",
    "size",
    "structural_tag",
    "tool",
    "tool_choice",
    "tool_name",
];

/// Why a request is sent again.
pub(super) const WHYS: &[&str] = &[
    "connect",
    "failover",
    "launch",
    "stale_connection",
    "unread_request",
    "violation",
];

/// Why a client's handshake failed.
pub(super) const HANDSHAKES: &[&str] = &[
    "no_certificate",
    "other",
    "refused_by_client",
    "timeout",
    "wrong_certificate",
];

/// How far a reply had come whose client went away.
pub(super) const PHASES: &[&str] = &["first_byte", "streaming", "waiting"];

/// What is limited.
pub(super) const LIMITS: &[&str] = &[
    "body_bytes",
    "body_timeout",
    "client_concurrency",
    "client_connections",
    "client_requests",
    "client_tokens",
    "concurrency",
    "connections",
    "files",
    "memory_budget",
    "reply_bytes",
    "retry_budget",
];

/// Fields of requests that a server may not be told of: the client's, and the spellings of constraints.
const FIELDS: &[&str] = &[
    "allowed_tools",
    "custom",
    "ebnf",
    "format",
    "frequency_penalty",
    "grammar",
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "guided_whitespace_pattern",
    "json_schema",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "metadata",
    "modalities",
    "n",
    "parallel_tool_calls",
    "parameters",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "regex",
    "response_format",
    "safety_identifier",
    "schema",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "strict",
    "structural_tag",
    "structured_outputs",
    "tool_choice",
    "tools",
    "top_logprobs",
    "user",
    "verbosity",
    "web_search_options",
];

/// The word where it is in the set, else [`OTHER`].
pub(super) fn closed(word: &str, set: &[&'static str]) -> String {
    set.iter()
        .find(|known| **known == word)
        .map_or(OTHER, |known| *known)
        .to_owned()
}

/// What a JSON Pointer into a request leads to: its last part that is a keyword of JSON Schema or
/// a request's field. Names that a client chose (properties, tools) are passed over.
pub(super) fn lost(pointer: &str) -> String {
    let known = |part: &str| [RULES, FIELDS].iter().any(|set| set.contains(&part));
    let found = pointer.rsplit('/').find(|part| known(part));
    found.unwrap_or(OTHER).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_named_by_the_keyword_or_the_field_that_was_lost() {
        for (pointer, name) in [
            ("/logprobs", "logprobs"),
            (
                "/tools/0/function/parameters/properties/x/pattern",
                "pattern",
            ),
            (
                "/response_format/json_schema/schema/properties/kilo",
                "schema",
            ),
            ("/structured_outputs/regex", "regex"),
            ("/what the client wrote", "other"),
            ("", "other"),
        ] {
            assert_eq!(lost(pointer), name, "{pointer}");
        }
    }
}
