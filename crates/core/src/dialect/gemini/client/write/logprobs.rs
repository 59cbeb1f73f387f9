//! Log probabilities: the entries of Chat's `content` to Gemini's two lists.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Entry {
    token: String,
    logprob: f64,
    #[serde(default)]
    top_logprobs: Vec<Top>,
}

#[derive(Deserialize)]
struct Top {
    token: String,
    logprob: f64,
}

fn one(token: &str, logprob: f64) -> Value {
    json!({"token": token, "logProbability": logprob})
}

/// The result of these tokens; none where there are none.
pub(super) fn result(tokens: &[Box<RawValue>]) -> Option<Value> {
    let entries: Vec<Entry> = (tokens.iter())
        .filter_map(|token| serde_json::from_str(token.get()).ok())
        .collect();
    if entries.is_empty() {
        return None;
    }
    let chosen: Vec<Value> = (entries.iter())
        .map(|entry| one(&entry.token, entry.logprob))
        .collect();
    let top: Vec<Value> = (entries.iter())
        .map(|entry| {
            let tops = entry.top_logprobs.iter();
            let tops: Vec<Value> = tops.map(|top| one(&top.token, top.logprob)).collect();
            json!({"candidates": tops})
        })
        .collect();
    Some(json!({"chosenCandidates": chosen, "topCandidates": top}))
}
