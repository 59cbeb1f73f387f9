//! How much the model is to think: each server that speaks Chat's wire has its own field for it, and clients
//! send what the server that they know takes.

use crate::ir::{Amount, Fields, Origin, Thinking};
use serde_json::Value;

/// How a field says it.
#[derive(Debug, Clone, Copy)]
enum Says {
    /// An effort, or `none`.
    Word,
    /// `true` or `false`.
    Switch,
    /// A budget of tokens.
    Tokens,
    /// Any of these (Ollama's `think`).
    Any,
    /// `enabled`, `disabled` or `adaptive`.
    Kind,
}

/// The members of a field that say it; `""` for the field itself. OpenAI's; OpenRouter's; Anthropic's, which
/// DeepSeek and GLM took over; vLLM's; llama.cpp's; Qwen's; Ollama's; and the words of chat templates.
fn spellings(field: &str) -> &'static [(&'static str, Says)] {
    match field {
        "reasoning_effort" => &[("", Says::Word)],
        "reasoning" => &[
            ("effort", Says::Word),
            ("max_tokens", Says::Tokens),
            ("enabled", Says::Switch),
        ],
        "thinking" => &[("type", Says::Kind), ("budget_tokens", Says::Tokens)],
        "thinking_token_budget" | "thinking_budget_tokens" | "thinking_budget" => {
            &[("", Says::Tokens)]
        }
        "enable_thinking" => &[("", Says::Switch)],
        "think" => &[("", Says::Any)],
        "chat_template_kwargs" => &[
            ("enable_thinking", Says::Switch),
            ("thinking", Says::Switch),
            ("reasoning_effort", Says::Word),
            ("thinking_budget", Says::Tokens),
        ],
        _ => &[],
    }
}

/// What is said of it. What is of another type than is known goes along as it came, as fields do that nobody
/// knows: the server judges it.
pub(super) fn read(fields: &Fields) -> Option<Thinking> {
    let mut said = Vec::new();
    for (field, raw) in &fields.0 {
        let spellings = spellings(field);
        if spellings.is_empty() {
            continue;
        }
        let Ok(value) = crate::json::value(raw.get()) else {
            continue;
        };
        for &(member, says) in spellings {
            let origin = Origin::new(field);
            let (origin, stated) = match member {
                "" => (origin, Some(&value)),
                member => (origin.member(member), value.get(member)),
            };
            if let Some(amount) = stated.and_then(|stated| amount(stated, says)) {
                said.push((origin, amount));
            }
        }
    }
    Thinking::of(said)
}

fn amount(stated: &Value, says: Says) -> Option<Amount> {
    let switch = |on: bool| if on { Amount::On } else { Amount::Off };
    match says {
        Says::Word => Amount::of_word(stated.as_str()?),
        Says::Switch => stated.as_bool().map(switch),
        Says::Tokens => stated.as_u64().map(Amount::of_tokens),
        Says::Kind => match stated.as_str()? {
            "enabled" | "adaptive" | "auto" => Some(Amount::On),
            "disabled" => Some(Amount::Off),
            _ => None,
        },
        Says::Any => amount(stated, Says::Switch)
            .or_else(|| amount(stated, Says::Word))
            .or_else(|| amount(stated, Says::Tokens)),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::ir::Effort;
    use serde_json::json;

    #[test]
    fn each_server_s_own_words_are_one_amount() {
        use Amount::{Off, On, Tokens};
        let high = Amount::Effort(Effort::High);
        for (body, amount) in [
            (json!({"reasoning_effort": "high"}), high),
            (json!({"reasoning_effort": "none"}), Off),
            (json!({"reasoning": {"effort": "high"}}), high),
            (json!({"reasoning": {"max_tokens": 2000}}), Tokens(2000)),
            (json!({"reasoning": {"enabled": true}}), On),
            (json!({"thinking": {"type": "disabled"}}), Off),
            (
                json!({"thinking": {"type": "enabled", "budget_tokens": 9}}),
                Tokens(9),
            ),
            (json!({"thinking_token_budget": 0}), Off),
            (json!({"thinking_budget_tokens": 7}), Tokens(7)),
            (
                json!({"enable_thinking": true, "thinking_budget": 8}),
                Tokens(8),
            ),
            (json!({"think": "high"}), high),
            (json!({"think": false}), Off),
            (
                json!({"chat_template_kwargs": {"enable_thinking": false}}),
                Off,
            ),
            (
                json!({"chat_template_kwargs": {"thinking": true, "x": 1}}),
                On,
            ),
        ] {
            let fields: Fields = serde_json::from_value(body.clone()).unwrap();
            let read = read(&fields).unwrap();
            assert_eq!(read.amount, amount, "{body}");
            assert!(!read.stated.is_empty());
        }
    }

    #[test]
    fn what_is_not_understood_is_left_alone() {
        for body in [
            json!({}),
            json!({"reasoning_effort": "ultra"}),
            json!({"reasoning_effort": null, "thinking": "yes", "think": []}),
            json!({"thinking_token_budget": -1, "reasoning": {"exclude": true}}),
            json!({"chat_template_kwargs": {"tone": "dry"}}),
        ] {
            let fields: Fields = serde_json::from_value(body.clone()).unwrap();
            assert_eq!(read(&fields), None, "{body}");
        }
    }
}
