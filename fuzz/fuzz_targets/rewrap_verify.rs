//! Any deltas of a choice, rewrapped and verified: where nothing is refused, what was handed on is
//! what the demand asks for, by the judge of `tests/adversary`; and texts in other pieces come to
//! the same.

#![no_main]

use isogloss_core::ir::{CallKind, Delta, FinishReason, Ids};
use isogloss_core::rewrap::Rewrapper;
use isogloss_core::verify::Verifier;
use isogloss_fuzz::{Stage, assert_none};
use isogloss_testing::adversary::case::{Cell, script};
use isogloss_testing::adversary::fold::{Choice, FoldedCall};
use isogloss_testing::adversary::source::{Bytes, Source};
use isogloss_testing::adversary::speak::{Spoken, pieces};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

fuzz_target!(|input: &[u8]| {
    let stage = isogloss_fuzz::stage();
    let mut source = Bytes(input);
    let cell = stage.world.cell(&mut source);
    let spoken = script(&stage.world, cell, &mut source).spoken;
    let Some(first) = spoken.into_iter().next() else {
        return;
    };
    let mut deltas = said(first, &mut source);
    disturb(&mut deltas, &mut source);
    let finish = ["stop", "length", "tool_calls", "content_filter", "stop"];
    deltas.push(Delta::Finish(FinishReason::read(*source.pick(&finish))));
    let one = stepped(stage, cell, &deltas);
    let other = stepped(stage, cell, &letters(&deltas));
    assert_eq!(one.is_some(), other.is_some(), "pieces decide: {deltas:?}");
    for out in [one, other].into_iter().flatten() {
        let demand = stage.world.demand(cell);
        let mut choice = folded(&out);
        if demand.legacy {
            // So are they written.
            choice.function_call = choice.calls.pop().map(|call| call.1);
        }
        let faults = stage.judge.choice(demand, &choice, &mut Vec::new());
        assert_none(
            &demand.id,
            &faults,
            format!("{deltas:?}\n{out:?}").as_bytes(),
        );
    }
});

/// The deltas of what is said, texts in pieces.
fn said(spoken: Spoken, source: &mut Bytes<'_>) -> Vec<Delta> {
    let mut deltas = Vec::new();
    deltas.extend(spoken.reasoning.map(Delta::Reasoning));
    let content = spoken.content.unwrap_or_default();
    deltas.extend(pieces(&content, source).into_iter().map(Delta::Text));
    for (call, one) in (0..).zip(spoken.calls) {
        let kind = if one.custom {
            CallKind::Custom
        } else {
            CallKind::Function
        };
        deltas.push(Delta::CallStart {
            call,
            id: format!("id{call}"),
            name: one.name,
            kind,
        });
        let inputs = pieces(&one.input, source).into_iter();
        deltas.extend(inputs.map(|text| Delta::CallInput { call, kind, text }));
    }
    deltas
}

/// Some deltas come again, elsewhere, or are new. Calls still begin in order, before their input.
fn disturb(deltas: &mut Vec<Delta>, source: &mut Bytes<'_>) {
    for _ in 0..source.below(4) {
        let at = source.below(deltas.len() + 1);
        let texts = [
            "{\"age\":\"bad\"}",
            "}",
            "{",
            "<tool_call>",
            "</tool_call>",
            "```",
            " ",
            "ab",
            "a",
            "\"",
            "<think>",
            "</think>",
        ];
        let text = (*source.pick(&texts)).to_owned();
        match source.below(6) {
            0 | 1 => deltas.insert(at, Delta::Text(text)),
            2 => deltas.insert(at, Delta::Refusal(text)),
            3 if at < deltas.len() && !matches!(deltas[at], Delta::CallStart { .. }) => {
                deltas.remove(at);
            }
            _ => {
                let starts = deltas[..at].iter().filter_map(|delta| match delta {
                    Delta::CallStart { call, kind, .. } => Some((*call, *kind)),
                    _ => None,
                });
                let open: Vec<(u32, CallKind)> = starts.collect();
                if !open.is_empty() {
                    let (call, kind) = *source.pick(&open);
                    deltas.insert(at, Delta::CallInput { call, kind, text });
                }
            }
        }
    }
}

/// The same, each letter of a text for itself.
fn letters(deltas: &[Delta]) -> Vec<Delta> {
    let mut out = Vec::new();
    for delta in deltas {
        match delta {
            Delta::Text(text) => out.extend(text.chars().map(|c| Delta::Text(c.into()))),
            Delta::CallInput { call, kind, text } => {
                out.extend(text.chars().map(|c| Delta::CallInput {
                    call: *call,
                    kind: *kind,
                    text: c.into(),
                }))
            }
            delta => out.push(delta.clone()),
        }
    }
    out
}

/// What is handed on; `None` where something is refused.
fn stepped(stage: &Stage, cell: &Cell, deltas: &[Delta]) -> Option<Vec<Delta>> {
    let mut rewrapper = Rewrapper::new(Arc::clone(&cell.exchange.plan), 0);
    let mut verifier = Verifier::new(stage.checks(cell), 0);
    let mut ids = Ids::new(7);
    let mut out = Vec::new();
    for delta in deltas {
        let from = out.len();
        rewrapper.step(delta.clone(), &mut ids, &mut out).ok()?;
        for delta in &out[from..] {
            verifier.step(delta).ok()?;
        }
    }
    Some(out)
}

fn folded(deltas: &[Delta]) -> Choice {
    let mut choice = Choice::default();
    for delta in deltas {
        match delta {
            Delta::Text(text) => choice.content.push_str(text),
            Delta::Refusal(text) => choice.refusal.push_str(text),
            Delta::Reasoning(_) => {}
            Delta::CallStart {
                call,
                id,
                name,
                kind,
            } => {
                let kind = match kind {
                    CallKind::Function => "function",
                    CallKind::Custom => "custom",
                };
                let call = (
                    u64::from(*call),
                    FoldedCall {
                        id: id.clone(),
                        kind: kind.to_owned(),
                        name: name.clone(),
                        input: String::new(),
                    },
                );
                choice.calls.push(call);
            }
            Delta::CallInput { call, text, .. } => {
                let index = u64::from(*call);
                if let Some(call) = choice.calls.iter_mut().find(|known| known.0 == index) {
                    call.1.input.push_str(text);
                }
            }
            Delta::Finish(reason) => choice.finish = Some(reason.as_str().to_owned()),
        }
    }
    choice
}
