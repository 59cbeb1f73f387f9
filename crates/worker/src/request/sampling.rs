//! The fields that say how tokens are chosen and when an answer ends, each in its range.

use super::{field, invalid, must_be};
use crate::job::{Limits, Sampling};
use crate::vocabulary::Token;
use isogloss_core::error::Error;
use isogloss_core::ir::Fields;
use serde_json::Value;

/// OpenAI's limit is 2, vLLM has none; beyond this every distribution is flat.
const MAX_TEMPERATURE: f32 = 100.0;
/// vLLM has no limit; the penalty divides logits, of which few are beyond 100.
const MAX_REPETITION_PENALTY: f32 = 100.0;
/// Entries of `logit_bias`, each applied at every token.
const MAX_BIASES: usize = 1_024;
/// OpenAI takes 4, vLLM any number.
const MAX_STOPS: usize = 16;
/// Bytes of one stop text, of which that many may be held back.
const MAX_STOP_BYTES: usize = 1_024;
/// OpenAI's and vLLM's limit for chats; Completions of OpenAI's own take 5.
const MAX_LOGPROBS: u32 = 20;

pub(super) fn read(fields: &Fields) -> Result<Sampling, Error> {
    let default = Sampling::default();
    let number = |name, default, low: f32, high: f32| number(fields, name, default, low, high);
    let sampling = Sampling {
        temperature: number("temperature", default.temperature, 0.0, MAX_TEMPERATURE)?,
        top_p: number("top_p", default.top_p, 0.0, 1.0)?,
        top_k: top_k(fields)?,
        min_p: number("min_p", default.min_p, 0.0, 1.0)?,
        presence_penalty: number("presence_penalty", default.presence_penalty, -2.0, 2.0)?,
        frequency_penalty: number("frequency_penalty", default.frequency_penalty, -2.0, 2.0)?,
        repetition_penalty: number(
            "repetition_penalty",
            default.repetition_penalty,
            0.0,
            MAX_REPETITION_PENALTY,
        )?,
        logit_bias: logit_bias(fields)?,
        seed: seed(fields)?,
        logprobs: None,
    };
    for (name, value) in [
        ("top_p", sampling.top_p),
        ("repetition_penalty", sampling.repetition_penalty),
    ] {
        if value <= 0.0 {
            return Err(invalid(
                name,
                format!("`{name}` must be more than 0: leave it out for no effect"),
            ));
        }
    }
    Ok(sampling)
}

fn number(fields: &Fields, name: &str, default: f32, low: f32, high: f32) -> Result<f32, Error> {
    let expected = format!("a number from {low} to {high}");
    match field::<f64>(fields, name, &expected)? {
        None => Ok(default),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "sampling computes with f32"
        )]
        Some(value) if (f64::from(low)..=f64::from(high)).contains(&value) => Ok(value as f32),
        Some(_) => Err(must_be(name, &expected)),
    }
}

/// vLLM says -1 for all tokens, and 0 means the same.
fn top_k(fields: &Fields) -> Result<u32, Error> {
    const EXPECTED: &str = "a whole number from 1, or -1 for all tokens";
    match field::<i64>(fields, "top_k", EXPECTED)? {
        None | Some(-1) => Ok(0),
        Some(count) if count >= 0 => Ok(u32::try_from(count).unwrap_or(u32::MAX)),
        Some(_) => Err(must_be("top_k", EXPECTED)),
    }
}

/// Any 64-bit number; a negative one is its bits.
fn seed(fields: &Fields) -> Result<Option<u64>, Error> {
    const EXPECTED: &str = "a whole number of 64 bits";
    Ok(match field::<Value>(fields, "seed", EXPECTED)? {
        None => None,
        Some(value) => Some(
            value
                .as_u64()
                .or_else(|| value.as_i64().map(i64::cast_unsigned))
                .ok_or_else(|| must_be("seed", EXPECTED))?,
        ),
    })
}

fn logit_bias(fields: &Fields) -> Result<Vec<(Token, f32)>, Error> {
    const NAME: &str = "logit_bias";
    const EXPECTED: &str = "an object of token ids, each with a number from -100 to 100";
    let entries = field::<serde_json::Map<String, Value>>(fields, NAME, EXPECTED)?;
    let entries = entries.unwrap_or_default();
    if entries.len() > MAX_BIASES {
        let message = format!(
            "`{NAME}` has {} entries: send at most {MAX_BIASES}",
            entries.len()
        );
        return Err(invalid(NAME, message));
    }
    let read = |(id, bias): (&String, &Value)| {
        // Only one way to write an id, so that no token is there twice.
        let token = id
            .parse::<Token>()
            .ok()
            .filter(|token| token.to_string() == *id)?;
        let bias = bias
            .as_f64()
            .filter(|bias| (-100.0..=100.0).contains(bias))?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "sampling computes with f32"
        )]
        Some((token, bias as f32))
    };
    entries
        .iter()
        .map(read)
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| must_be(NAME, EXPECTED))
}

/// `logprobs: true` with `top_logprobs`.
pub(super) fn chat_logprobs(fields: &Fields) -> Result<Option<u32>, Error> {
    let wanted = field::<bool>(fields, "logprobs", "true or false")?.unwrap_or(false);
    let top = top_logprobs(fields, "top_logprobs")?;
    match (wanted, top) {
        (true, top) => Ok(Some(top.unwrap_or(0))),
        (false, None | Some(0)) => Ok(None),
        (false, Some(_)) => Err(invalid(
            "top_logprobs",
            "`top_logprobs` needs `logprobs`: set that to true",
        )),
    }
}

/// `logprobs` as a number.
pub(super) fn completion_logprobs(fields: &Fields) -> Result<Option<u32>, Error> {
    top_logprobs(fields, "logprobs")
}

fn top_logprobs(fields: &Fields, name: &str) -> Result<Option<u32>, Error> {
    let expected = format!("a whole number from 0 to {MAX_LOGPROBS}");
    match field::<u32>(fields, name, &expected)? {
        Some(count) if count > MAX_LOGPROBS => Err(must_be(name, &expected)),
        count => Ok(count),
    }
}

/// `default_tokens`: what there is where the request does not say.
pub(super) fn limits(fields: &Fields, default_tokens: Option<u32>) -> Result<Limits, Error> {
    let old = count(fields, "max_tokens")?;
    let new = count(fields, "max_completion_tokens")?;
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        return Err(invalid(
            "max_tokens",
            "`max_tokens` and `max_completion_tokens` differ: send only the second",
        ));
    }
    Ok(Limits {
        max_tokens: new.or(old).or(default_tokens),
        leaves_a_quarter: false,
        stop: stop(fields)?,
        ignore_end: field(fields, "ignore_eos", "true or false")?.unwrap_or(false),
        is_said: false,
        spares_tags: false,
    })
}

fn count(fields: &Fields, name: &str) -> Result<Option<u32>, Error> {
    const EXPECTED: &str = "a whole number from 1";
    match field::<u64>(fields, name, EXPECTED)? {
        Some(0) => Err(must_be(name, EXPECTED)),
        // More than any context window: the window is the limit.
        count => Ok(count.map(|count| u32::try_from(count).unwrap_or(u32::MAX))),
    }
}

fn stop(fields: &Fields) -> Result<Vec<String>, Error> {
    const NAME: &str = "stop";
    let expected = format!("a string, or at most {MAX_STOPS} of them in an array");
    let stops = match field::<Value>(fields, NAME, &expected)? {
        None => Vec::new(),
        Some(Value::String(stop)) => vec![stop],
        Some(Value::Array(stops)) if stops.len() <= MAX_STOPS => stops
            .into_iter()
            .map(|stop| match stop {
                Value::String(stop) => Some(stop),
                _ => None,
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| must_be(NAME, &expected))?,
        Some(_) => return Err(must_be(NAME, &expected)),
    };
    if stops.iter().any(String::is_empty) {
        return Err(invalid(NAME, "`stop` has an empty text: leave it out"));
    }
    if stops.iter().any(|stop| stop.len() > MAX_STOP_BYTES) {
        let message = format!("`stop` has a text of more than {MAX_STOP_BYTES} bytes: shorten it");
        return Err(invalid(NAME, message));
    }
    Ok(stops)
}
