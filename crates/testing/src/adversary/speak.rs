//! An answer in the shape in which this server is expected to give it: calls as calls, or as the
//! content that the proxy makes calls of.

use super::json::{J, obj, s};
use super::source::Source;
use super::values::{Answer, Call};
use isogloss_core::ir::{Plan, Rewrap, Wire};

/// What a choice says, in the server's terms.
#[derive(Debug, Clone, Default)]
pub struct Spoken {
    pub reasoning: Option<String>,
    pub content: Option<String>,
    pub calls: Vec<Call>,
    pub finish: &'static str,
}

/// Whether the shape holds one call at most.
pub const fn holds_one(rewrap: &Rewrap) -> bool {
    matches!(
        rewrap,
        Rewrap::Arguments { .. } | Rewrap::Call | Rewrap::CallOrAnswer { .. } | Rewrap::CallOrText
    )
}

fn envelope(call: &Call) -> J {
    let input = if call.custom {
        s(call.input.clone())
    } else {
        J::Raw(call.input.clone())
    };
    obj([("name", s(call.name.clone())), ("arguments", input)])
}

/// A call of the server's own, which was shown custom tools as functions where the plan says so.
fn own(plan: &Plan, call: &Call) -> Call {
    let mut call = call.clone();
    if plan.wraps_inputs && call.custom {
        call.input = obj([("input", s(call.input))]).text();
        call.custom = false;
    }
    call
}

/// The answer, said.
pub fn speak(wire: Wire, plan: &Plan, answer: &Answer, source: &mut impl Source) -> Spoken {
    let rewrap = &plan.rewrap;
    let mut spoken = Spoken {
        finish: "stop",
        ..Spoken::default()
    };
    spoken.content = Some(match (rewrap, answer.calls.as_slice()) {
        (Rewrap::CallOrAnswer { text }, []) => {
            let said = answer.text.clone().unwrap_or_default();
            let value = if *text { s(said) } else { J::Raw(said) };
            obj([("answer", value)]).text()
        }
        (Rewrap::Answer, []) => {
            obj([("answer", J::Raw(answer.text.clone().unwrap_or_default()))]).text()
        }
        (_, []) => answer.text.clone().unwrap_or_default(),
        (Rewrap::Keep | Rewrap::Json | Rewrap::Text | Rewrap::Answer, calls) => {
            spoken.calls = calls.iter().map(|call| own(plan, call)).collect();
            spoken.finish = "tool_calls";
            return Spoken {
                content: None,
                ..spoken
            };
        }
        (Rewrap::Arguments { .. }, [call, ..]) => call.input.clone(),
        (Rewrap::Calls, calls) => J::Arr(calls.iter().map(envelope).collect()).text(),
        (Rewrap::TaggedCalls | Rewrap::TaggedCallsOrAnswer, calls) => {
            let tagged = |call: &Call| {
                let call = envelope(call).text();
                format!("<tool_call>\n{call}\n</tool_call>")
            };
            calls.iter().map(tagged).collect::<Vec<_>>().join("\n")
        }
        (_, [call, ..]) => envelope(call).text(),
    });
    // A server that makes calls of its own although content was asked for is taken at its word.
    let can = match wire {
        Wire::Chat => true,
        Wire::TgiGenerate => false,
        // Custom tools are OpenAI's.
        _ => answer.calls.iter().all(|call| !call.custom),
    };
    if can && !answer.calls.is_empty() && source.chance(5) {
        spoken.content = None;
        spoken.calls.clone_from(&answer.calls);
        spoken.finish = "tool_calls";
    }
    spoken
}

/// Cuts a text at characters, into a few pieces or many.
pub fn pieces(text: &str, source: &mut impl Source) -> Vec<String> {
    let most = *source.pick(&[1, 3, 8, 40]);
    let letters: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < letters.len() {
        let to = if pieces.len() >= 24 {
            letters.len()
        } else {
            (from + 1 + source.below(most)).min(letters.len())
        };
        pieces.push(letters[from..to].iter().collect());
        from = to;
    }
    pieces
}
