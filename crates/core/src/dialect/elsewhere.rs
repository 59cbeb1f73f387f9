//! What an answer is to be, in the words of another dialect than the one that a request is in: no server of this one reads
//! it, so it is no demand, and nobody may take it for one.

use crate::ir::{EnforcedBy, Fields, Loss};
use serde_json::value::RawValue;

/// Names of fields, in small letters without the underscores (`guidedJson` is `guided_json`), and what of their values
/// counts.
const WORDS: &[(&str, Says)] = &[
    ("responseformat", Says::Typed),
    ("toolchoice", Says::Choice),
    ("functioncall", Says::Choice),
    ("paralleltoolcalls", Says::Off),
    // vLLM, before and from 0.11; NIM.
    ("structuredoutputs", Says::Anything),
    ("structuredoutput", Says::Anything),
    ("guidedjson", Says::Anything),
    ("guidedjsonobject", Says::Anything),
    ("guidedregex", Says::Anything),
    ("guidedchoice", Says::Anything),
    ("guidedgrammar", Says::Anything),
    ("guideddecoding", Says::Anything),
    ("guideddecodingparams", Says::Anything),
    // SGLang, llama.cpp, TGI.
    ("jsonschema", Says::Anything),
    ("regex", Says::Anything),
    ("ebnf", Says::Anything),
    ("grammar", Says::Anything),
    ("structuraltag", Says::Anything),
    // Ollama; Anthropic's beta.
    ("format", Says::Schema),
    ("outputformat", Says::Schema),
    // Responses, Anthropic, Gemini.
    ("text", Says::Within(&["format"])),
    ("outputconfig", Says::Within(&["format"])),
    ("responseschema", Says::Anything),
    ("responsejsonschema", Says::Anything),
    (
        "generationconfig",
        Says::Within(&["responseschema", "responsejsonschema"]),
    ),
    // What SDKs take apart, and a client that has none sends as it is.
    ("extrabody", Says::Fields),
    ("nvext", Says::Fields),
];

#[derive(Clone, Copy)]
enum Says {
    Anything,
    /// An object, or `"json"`.
    Schema,
    /// An object of another type than `text`.
    Typed,
    /// Anything but that calls are free, or none.
    Choice,
    /// That there is none of it.
    Off,
    /// One of these members does.
    Within(&'static [&'static str]),
    /// Some member is one of [`WORDS`].
    Fields,
}

/// The fields that say so, each with the pointer to what says it. `is_own` names the dialect's fields.
pub(in crate::dialect) fn said(
    fields: &Fields,
    is_own: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let others = fields.0.iter().filter(|(name, _)| !is_own(name));
    let said = others.filter_map(|(name, value)| Some((name.clone(), place(name, value, 0)?)));
    said.collect()
}

/// The same as losses, and the fields that no server is to be sent: one would hear what another does not.
pub(in crate::dialect) fn losses(
    fields: &Fields,
    is_own: impl Fn(&str) -> bool,
    here: &str,
) -> (Vec<Loss>, Vec<String>) {
    let loss = |(name, pointer)| {
        let reason = format!("left out: no server is known to read it here, {here}");
        let enforced_by = EnforcedBy::Nobody;
        (
            Loss {
                pointer,
                reason,
                enforced_by,
            },
            name,
        )
    };
    said(fields, is_own).into_iter().map(loss).unzip()
}

fn place(name: &str, value: &RawValue, depth: usize) -> Option<String> {
    let (_, says) = WORDS.iter().find(|(word, _)| is_word(name, word))?;
    let raw = value.get();
    let is_off = raw == "false";
    if matches!(raw, "null" | "\"\"" | "[]") || is_off != matches!(says, Says::Off) {
        return None;
    }
    let members = || serde_json::from_str::<Fields>(raw).ok();
    let escaped = name.replace('~', "~0").replace('/', "~1");
    let within = |inner: String| format!("/{escaped}{inner}");
    match says {
        Says::Off => Some(within(String::new())),
        Says::Anything => (raw != "{}").then(|| within(String::new())),
        Says::Schema => (raw.starts_with('{') || raw == "\"json\"").then(|| within(String::new())),
        Says::Typed => {
            let kind = members()?.raw("type").map(str::to_owned);
            (kind.as_deref() != Some("\"text\"")).then(|| within(String::new()))
        }
        Says::Choice => {
            let is_free = matches!(raw, "\"auto\"" | "\"none\"");
            let is_free = is_free || members().is_some_and(|it| it.raw("type") == Some("\"auto\""));
            (!is_free).then(|| within(String::new()))
        }
        Says::Within(names) => {
            let members = members()?;
            let is_it = |name: &str| names.iter().any(|word| is_word(name, word));
            let (name, _) = (members.0.iter())
                .find(|(name, value)| is_it(name) && !matches!(value.get(), "null" | "{}"))?;
            Some(within(format!("/{name}")))
        }
        Says::Fields if depth == 0 => {
            let members = members()?;
            let inner = members
                .0
                .iter()
                .find_map(|(name, value)| place(name, value, 1))?;
            Some(within(inner))
        }
        Says::Fields => None,
    }
}

fn is_word(name: &str, word: &str) -> bool {
    let letters = name.bytes().filter(|byte| *byte != b'_');
    letters
        .map(|byte| byte.to_ascii_lowercase())
        .eq(word.bytes())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::said;
    use crate::ir::Fields;

    #[test]
    fn what_asks_for_a_form_is_found_in_any_spelling_and_what_asks_for_none_is_not() {
        let found = |body: &str| -> Vec<String> {
            let fields: Fields = serde_json::from_str(body).unwrap();
            let found = said(&fields, |name| name == "response_format");
            found.into_iter().map(|(_, pointer)| pointer).collect()
        };
        for (body, pointer) in [
            (r#"{"format": {}}"#, "/format"),
            (r#"{"format": "json"}"#, "/format"),
            (r#"{"guidedJson": {"type": "object"}}"#, "/guidedJson"),
            (r#"{"guided_decoding": {"json": {}}}"#, "/guided_decoding"),
            (
                r#"{"responseFormat": {"type": "json_object"}}"#,
                "/responseFormat",
            ),
            (
                r#"{"text": {"format": {"type": "json_schema"}}}"#,
                "/text/format",
            ),
            (
                r#"{"generation_config": {"response_schema": {"type": "STRING"}}}"#,
                "/generation_config/response_schema",
            ),
            (
                r#"{"extra_body": {"top_k": 1, "guided_regex": "a"}}"#,
                "/extra_body/guided_regex",
            ),
            (r#"{"tool_choice": "required"}"#, "/tool_choice"),
            (r#"{"tool_choice": {"type": "any"}}"#, "/tool_choice"),
        ] {
            assert_eq!(found(body), [pointer], "{body}");
        }
        for body in [
            r#"{"response_format": {"type": "json_object"}}"#,
            r#"{"responseFormat": {"type": "text"}}"#,
            r#"{"format": "png", "text": "said", "regex": null, "grammar": "", "guided_json": {}}"#,
            r#"{"text": {"verbosity": "low"}, "extra_body": {"extra_body": {"regex": "a"}}}"#,
            r#"{"tool_choice": "auto", "function_call": "none"}"#,
        ] {
            assert_eq!(found(body), [""; 0], "{body}");
        }
    }
}
