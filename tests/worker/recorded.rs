//! The worker against recordings of real servers that ran the same model: what they made of a
//! request, it makes too.
//!
//! vLLM, SGLang and `transformers serve` are the reference for what a prompt is and for what a
//! greedy answer says; llama.cpp, whose kernels the worker has, for the prompt only: it tells the
//! template not to think. The weights of the recorded servers are bf16, the worker's are f32.
//! Recordings are read from the folder `ISOGLOSS_CAPTURES` (default `../shared/captures`), the
//! model from `ISOGLOSS_MODELS` (default `../shared/models`); without them there is nothing to test.

use crate::support::recorded;
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::check::Check;
use isogloss_core::ir::Constraint;
use recorded::{Choice, Question, Reply, questions};
use serde_json::Value;
use std::collections::BTreeMap;

/// Where a prompt is rightly another one: the server (or the beginning of its name), the case, and
/// why.
const OTHER_PROMPTS: &[(&str, &str, &str)] = &[
    (
        "",
        "err-special-tokens",
        "what a client writes never becomes a control token here",
    ),
    (
        "vllm-0.32.0",
        "chat-toolhistory-badargs",
        "vLLM shows the template `{}` for arguments that are no JSON; here the text stays",
    ),
    (
        "llamacpp",
        "chat-assistant-last",
        "llama.cpp goes on with a last message of the assistant's instead of answering it",
    ),
    (
        "llamacpp",
        "cmpl-multi",
        "llama.cpp counts the tokens of one of two prompts",
    ),
    (
        "llamacpp",
        "tool-strict-auto",
        "llama.cpp shows the template tools without `strict`",
    ),
    (
        "llamacpp",
        "tool-strict-auto-stream",
        "llama.cpp shows the template tools without `strict`",
    ),
    ("vllm-0.10.2", "chat-developer-role", DEVELOPER),
    ("sglang", "chat-developer-role", DEVELOPER),
    ("transformers", "chat-developer-role", DEVELOPER),
    (
        "transformers",
        "chat-toolhistory-emptycalls",
        "transformers leaves a message without content and calls out",
    ),
];

const DEVELOPER: &str = "the template knows no `developer`, who is the system here as in vLLM 0.32";

/// Where no recorded server said the same, and why.
const OTHER_TEXTS: &[(&str, &str)] = &[
    (
        "chat-toolhistory-badargs",
        "the prompt is another one (see above), recorded of vLLM 0.32 alone",
    ),
    (
        "tool-auto-bad-stream",
        "of a call that is no JSON each server streams a part of its own; here it is text",
    ),
    (
        "tool-auto-cutoff-stream",
        "of a call that is cut off each server streams a part of its own; here it is text",
    ),
    (
        "mix-baseline-wx-notools",
        "without tools there are no calls here; the others write one",
    ),
];

/// Constraints that the proxy refuses, so that a worker behind it never sees them, and why.
const REFUSED: &[(&str, &str)] = &[(
    "kw-items-array-draft4",
    "`items` as an array is not of JSON Schema 2020-12",
)];

/// Tokens of `<think>\n\n</think>\n\n`, by which Qwen's template tells a model not to think.
const NOT_THINKING: u64 = 4;

fn is_llama(server: &str) -> bool {
    server.starts_with("llamacpp")
}

#[test]
fn a_prompt_is_token_for_token_what_real_servers_make_of_it() {
    let Some(questions) = questions() else { return };
    let mut equal = 0;
    let mut faults = Vec::new();
    let mut expected: Vec<_> = OTHER_PROMPTS.iter().map(|known| (known, false)).collect();
    for question in questions {
        let Ok(ours) = &question.ours else { continue };
        for (server, theirs) in &question.recorded {
            let (Some(ours), Some(theirs)) = (ours.prompt_tokens, theirs.prompt_tokens) else {
                continue;
            };
            // SGLang writes tools anew, with fields that the client left out, and shows none under
            // `none`.
            if server.starts_with("sglang") && question.has("tools") {
                continue;
            }
            let is_told = question.is_chat && !question.says_thinking();
            let (mut ours, mut theirs) = (ours, theirs);
            if is_told && question.answers_at_once() {
                theirs += NOT_THINKING;
            }
            if is_told && is_llama(server) {
                ours += NOT_THINKING;
            }
            if is_told && is_llama(server) && question.answers_at_once() {
                (ours, theirs) = (ours - NOT_THINKING, theirs - NOT_THINKING);
            }
            let known = expected
                .iter_mut()
                .find(|((of, name, _), _)| server.starts_with(of) && question.name == *name);
            match (ours == theirs, known) {
                (true, _) => equal += 1,
                (false, Some((_, seen))) => *seen = true,
                (false, None) => faults.push(format!(
                    "{server} {}: {ours} instead of {theirs}",
                    question.name
                )),
            }
        }
    }
    for ((server, name, _), seen) in expected {
        if !seen {
            faults.push(format!("{server} {name} is like the others now"));
        }
    }
    println!("{equal} prompts are equal");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(equal >= 900, "only {equal}");
}

/// Calls as Qwen's models write them, and the text before.
fn calls(text: &str) -> (String, Vec<(String, Value)>) {
    let mut parts = text.split("<tool_call>");
    let before = parts.next().unwrap_or_default().trim().to_owned();
    let call = |part: &str| {
        let text = part.split("</tool_call>").next()?;
        let call: Value = serde_json::from_str(text.trim()).ok()?;
        Some((call["name"].as_str()?.to_owned(), call["arguments"].clone()))
    };
    (before, parts.filter_map(call).collect())
}

fn is_same_choice(ours: &Choice, theirs: &Choice) -> bool {
    if ours.reasoning != theirs.reasoning {
        return false;
    }
    if theirs.calls.is_empty() {
        return ours.text == theirs.text;
    }
    let (before, calls) = calls(&ours.text);
    before == theirs.text.trim() && calls == theirs.calls
}

fn is_same(ours: &Reply, theirs: &Reply) -> bool {
    let mut pairs = ours.choices.iter().zip(&theirs.choices);
    ours.choices.len() == theirs.choices.len()
        && pairs.all(|(ours, theirs)| is_same_choice(ours, theirs))
}

/// Those of which the answer is determined, and nothing constrains it.
fn greedy(questions: &[Question]) -> impl Iterator<Item = (&Question, &Reply)> {
    questions
        .iter()
        .filter(|question| question.body["temperature"] == 0 && question.constraint.is_none())
        .filter_map(|question| Some((question, question.ours.as_ref().ok()?)))
}

#[test]
fn a_free_greedy_answer_is_what_a_real_server_said() {
    let Some(questions) = questions() else { return };
    let mut faults = Vec::new();
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    let (mut equal, mut ends) = (0, 0);
    for (question, ours) in greedy(questions) {
        let mut is_found = false;
        for (server, theirs) in &question.recorded {
            let (same, all) = counts.entry(server).or_default();
            *all += 1;
            if !is_same(ours, theirs) {
                continue;
            }
            *same += 1;
            is_found = true;
            let finish = |reply: &Reply| -> Vec<_> {
                let choices = reply.choices.iter();
                choices.map(|choice| choice.finish.clone()).collect()
            };
            let has_calls = theirs.choices.iter().any(|choice| !choice.calls.is_empty());
            // Transformers counts where nobody asked for it, and llama.cpp the end as well.
            let pair = ours.completion_tokens.zip(theirs.completion_tokens);
            let counted = is_llama(server) || pair.is_none_or(|(ours, theirs)| ours == theirs);
            if (finish(ours) != finish(theirs) && !has_calls) || !counted {
                faults.push(format!(
                    "{server} {}: {:?} after {:?} tokens instead of {:?} after {:?}",
                    question.name,
                    finish(ours),
                    ours.completion_tokens,
                    finish(theirs),
                    theirs.completion_tokens
                ));
            }
            ends += 1;
        }
        let known = OTHER_TEXTS.iter().any(|(name, _)| *name == question.name);
        match is_found {
            true if known => faults.push(format!("{} is like the others now", question.name)),
            true => equal += 1,
            false if known => {}
            false => faults.push(format!(
                "{}: {:?} where others said {:?}",
                question.name, ours.choices, question.recorded
            )),
        }
    }
    println!("{equal} answers, {ends} times the same; of each server: {counts:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(equal >= 95 && ends >= 450, "only {equal} and {ends}");
}

/// Differences of log probabilities between bf16 and f32.
const TOLERANCE: f64 = 0.1;

#[test]
fn log_probabilities_are_those_of_real_servers() {
    let Some(questions) = questions() else { return };
    let (mut compared, mut most) = (0, 0.0_f64);
    for (question, ours) in greedy(questions) {
        for (server, theirs) in &question.recorded {
            if is_llama(server) || !is_same(ours, theirs) {
                continue;
            }
            for (ours, theirs) in ours.choices.iter().zip(&theirs.choices) {
                for (ours, theirs) in ours.logprobs.iter().zip(&theirs.logprobs) {
                    assert_eq!(ours["token"], theirs["token"], "{server} {}", question.name);
                    let value = |entry: &Value| entry["logprob"].as_f64().unwrap();
                    let difference = (value(ours) - value(theirs)).abs();
                    if difference > TOLERANCE {
                        println!("{server} {} {ours} {theirs}", question.name);
                    }
                    most = most.max(difference);
                    compared += 1;
                }
            }
        }
    }
    println!("{compared} log probabilities differ by {most} at most");
    assert!(compared >= 50, "only {compared}");
    assert!(most < TOLERANCE, "{most}");
}

/// The proxy's own verification of the text; `None` where it refuses the constraint.
async fn holds(compiler: &Compiler, constraint: &Constraint, text: &str) -> Option<bool> {
    Some(match compiler.compile(constraint).await.ok()? {
        Check::Json(validator) => {
            serde_json::from_str(text).is_ok_and(|value: Value| validator.validate(&value).is_ok())
        }
        Check::JsonObject => serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok(),
        Check::Text(grammar) => grammar.check(text).is_ok(),
        Check::Tag(tags) => tags.check(text).is_ok(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constrained_answer_is_what_the_constraint_says_whatever_real_servers_said() {
    let Some(questions) = questions() else { return };
    let compiler = Compiler::new(CompilerLimits::default());
    let (mut whole, mut cut, mut equal) = (0, 0, 0);
    let mut faults = Vec::new();
    for question in questions {
        let (Some(constraint), Ok(ours)) = (&question.constraint, &question.ours) else {
            continue;
        };
        let mut recorded = question.recorded.iter();
        equal += usize::from(recorded.any(|(_, theirs)| is_same(ours, theirs)));
        let is_known = REFUSED.iter().any(|(name, _)| *name == question.name);
        for choice in &ours.choices {
            match (
                &*choice.finish,
                holds(&compiler, constraint, &choice.text).await,
            ) {
                ("stop" | "length", None) if is_known => {}
                ("stop", Some(true)) => whole += 1,
                // What is not whole has had all that it might have.
                ("length", Some(_)) if question.is_at_its_limit() => cut += 1,
                (_, held) => faults.push(format!("{}: {choice:?} {held:?}", question.name)),
            }
        }
    }
    println!("{whole} are whole, {cut} cut off, {equal} said by a server too");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(whole >= 170, "only {whole}");
    // Servers cut what is closed in time here.
    assert!(equal >= 50, "only {equal}");
}
