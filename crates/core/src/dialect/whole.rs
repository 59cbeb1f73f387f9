//! Whole numbers that a client writes with a point (`300.0`), since its language counts in floats (Lua, R, a slider of Gradio's). Servers
//! behind pydantic (Anthropic's API, vLLM, SGLang) take them for what they are; others, and readers here, know only digits.

use crate::ir::{Fields, raw};

/// Beyond this a float is no more every whole number.
const MOST: f64 = 9e15;

/// Fields that count something, in whichever dialect.
const NAMES: [&str; 15] = [
    "best_of",
    "budget_tokens",
    "logprobs",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "max_tool_calls",
    "min_tokens",
    "n",
    "num_ctx",
    "num_predict",
    "seed",
    "thinking_token_budget",
    "top_k",
    "top_logprobs",
];

/// Writes such fields without the point. A fraction stays, and is an error where it is read.
pub(super) fn mend(fields: &mut Fields) {
    for (name, value) in &mut fields.0 {
        let is_count = |_: &i64| NAMES.contains(&name.as_str());
        if let Some(number) = written(value.get()).filter(is_count) {
            *value = raw(&number);
        }
    }
}

/// The whole number that stands there as a float.
fn written(text: &str) -> Option<i64> {
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let is_float = is_number && text.contains(['.', 'e', 'E']);
    is_float.then(|| text.parse().ok().and_then(of)).flatten()
}

/// The whole number that a float is.
#[expect(
    clippy::cast_possible_truncation,
    reason = "it is whole, and small enough"
)]
pub(super) fn of(number: f64) -> Option<i64> {
    let is_whole = number.fract() == 0.0 && number.abs() < MOST;
    is_whole.then_some(number as i64)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::mend;
    use crate::ir::Fields;

    #[test]
    fn a_whole_number_loses_its_point_and_nothing_else_does() {
        for (stated, meant) in [
            ("300.0", "300"),
            ("5e2", "500"),
            ("-1.0", "-1"),
            ("-0.0", "0"),
            ("5.5", "5.5"),
            ("1e300", "1e300"),
            ("12345678901234567890", "12345678901234567890"),
            ("\"5.0\"", "\"5.0\""),
            ("[1.0]", "[1.0]"),
            ("true", "true"),
        ] {
            let body = format!("{{\"n\":{stated},\"temperature\":1.0}}");
            let (mut fields, _) = Fields::read(body.as_bytes()).unwrap();
            mend(&mut fields);
            let kept = String::from_utf8(fields.to_json()).unwrap();
            assert_eq!(kept, format!("{{\"n\":{meant},\"temperature\":1.0}}"));
        }
    }
}
