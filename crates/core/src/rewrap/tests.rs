//! What content means, by shape; and that it never depends on how the content was cut.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use super::{Mending, Rewrapper};
use crate::ir::Violation;
use crate::ir::{CallKind, Delta, FinishReason, Ids, Plan, Rewrap};
use indexmap::IndexMap;
use proptest::prelude::*;

mod tags;

fn plan(rewrap: Rewrap) -> Plan {
    let tools = IndexMap::from([
        ("f".to_owned(), CallKind::Function),
        ("g".to_owned(), CallKind::Function),
        ("c".to_owned(), CallKind::Custom),
    ]);
    Plan {
        tools,
        ..Plan::new(rewrap)
    }
}

/// What a client has at the end: `text:…`, `think:…`, `call f …`, `finish:…`.
fn run<'a>(
    rewrap: Rewrap,
    pieces: impl Iterator<Item = &'a str>,
    reason: FinishReason,
) -> Result<Vec<String>, Violation> {
    run_by(Rewrapper::new(plan(rewrap), 0), pieces, reason)
}

fn run_by<'a>(
    mut rewrapper: Rewrapper,
    pieces: impl Iterator<Item = &'a str>,
    reason: FinishReason,
) -> Result<Vec<String>, Violation> {
    let mut ids = Ids::new(1);
    let mut out = Vec::new();
    for piece in pieces {
        rewrapper.step(Delta::Text(piece.to_owned()), &mut ids, &mut out)?;
    }
    rewrapper.step(Delta::Finish(reason), &mut ids, &mut out)?;
    let mut said: Vec<String> = Vec::new();
    for delta in out {
        let (start, text) = match delta {
            Delta::Text(text) => ("text:".to_owned(), text),
            Delta::Reasoning(text) => ("think:".to_owned(), text),
            Delta::CallStart { call, name, .. } => {
                said.push(format!("call {call} {name} "));
                continue;
            }
            Delta::CallInput { call, text, .. } => {
                let open = said.last_mut().unwrap();
                assert!(
                    open.starts_with(&format!("call {call} ")),
                    "input goes to its call"
                );
                open.push_str(&text);
                continue;
            }
            Delta::Finish(reason) => (format!("finish:{}", reason.as_str()), String::new()),
            other @ Delta::Refusal(_) => panic!("{other:?}"),
        };
        match said.last_mut() {
            Some(last) if last.starts_with(&start) && !start.starts_with("finish") => {
                last.push_str(&text)
            }
            _ => said.push(start + &text),
        }
    }
    Ok(said)
}

fn whole(rewrap: Rewrap, content: &str) -> Result<Vec<String>, String> {
    let by_whole = run(rewrap.clone(), std::iter::once(content), FinishReason::Stop);
    let chars: Vec<&str> = content
        .char_indices()
        .map(|(at, c)| &content[at..at + c.len_utf8()])
        .collect();
    let by_char = run(rewrap, chars.into_iter(), FinishReason::Stop);
    assert_eq!(
        by_whole.is_ok(),
        by_char.is_ok(),
        "{content}: {by_whole:?} {by_char:?}"
    );
    if let (Ok(by_whole), Ok(by_char)) = (&by_whole, &by_char) {
        assert_eq!(by_whole, by_char, "{content}");
    }
    by_whole.map_err(|violation| violation.rule)
}

#[track_caller]
fn says(rewrap: Rewrap, content: &str, expected: &[&str]) {
    assert_eq!(whole(rewrap, content).unwrap(), expected, "{content}");
}

#[track_caller]
fn refused(rewrap: Rewrap, content: &str, rule: &str) {
    assert_eq!(whole(rewrap, content).unwrap_err(), rule, "{content}");
}

fn arguments() -> Rewrap {
    Rewrap::Arguments {
        tool: "f".to_owned(),
    }
}

#[test]
fn bare_arguments_become_one_call() {
    says(
        arguments(),
        r#" {"a": [1, "}"]} "#,
        &[r#"call 0 f {"a": [1, "}"]}"#, "finish:tool_calls"],
    );
}

#[test]
fn a_fence_a_tag_and_a_think_block_around_the_json_are_taken_off() {
    says(
        arguments(),
        "```json\n{\"a\":1}\n```\n",
        &["call 0 f {\"a\":1}", "finish:tool_calls"],
    );
    says(
        arguments(),
        "```{\"a\":1}```",
        &["call 0 f {\"a\":1}", "finish:tool_calls"],
    );
    says(
        Rewrap::Json,
        "<think>so {\"x\"</thin </think>\n```json\n[1]\n```",
        &["think:so {\"x\"</thin ", "text:[1]", "finish:stop"],
    );
    says(
        Rewrap::Call,
        "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"```</tool_call>\"}}\n</tool_call>",
        &["call 0 f {\"a\": \"```</tool_call>\"}", "finish:tool_calls"],
    );
}

#[test]
fn a_fence_has_a_short_first_line_however_it_comes() {
    says(
        Rewrap::Json,
        "```jsonc-as-people-write-it-too\n{}\n```",
        &["text:{}", "finish:stop"],
    );
    let long = "```and then the model went on to talk\n{}\n```";
    refused(Rewrap::Json, long, "json");
}

#[test]
fn tagged_calls_may_follow_each_other() {
    says(
        Rewrap::Calls,
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>",
        &["call 0 f {}", "call 1 g {}", "finish:tool_calls"],
    );
}

#[test]
fn an_array_of_envelopes_becomes_several_calls() {
    says(
        Rewrap::Calls,
        r#"[{"name":"f","arguments":{"a":1}}, {"arguments": {"b":2}, "name":"g"}]"#,
        &[
            r#"call 0 f {"a":1}"#,
            r#"call 1 g {"b":2}"#,
            "finish:tool_calls",
        ],
    );
}

#[test]
fn a_custom_tool_gets_the_decoded_text() {
    says(
        Rewrap::Call,
        r#"{"name":"c","input":"a\n\"b\""}"#,
        &["call 0 c a\n\"b\"", "finish:tool_calls"],
    );
    says(
        Rewrap::Call,
        r#"{"name":"c","arguments":{"input":"x"}}"#,
        &["call 0 c x", "finish:tool_calls"],
    );
    says(
        Rewrap::Arguments {
            tool: "c".to_owned(),
        },
        " 1+1 ",
        &["call 0 c  1+1 ", "finish:tool_calls"],
    );
    refused(Rewrap::Call, r#"{"name":"c","input":3}"#, "json");
}

#[test]
fn the_first_key_tells_a_call_from_an_answer() {
    let answer = |text| Rewrap::CallOrAnswer { text };
    says(
        answer(false),
        r#"{"answer": {"name": "f", "arguments": {}}}"#,
        &[r#"text:{"name": "f", "arguments": {}}"#, "finish:stop"],
    );
    says(
        answer(false),
        r#"{"name": "f", "arguments": {"answer": 1}}"#,
        &[r#"call 0 f {"answer": 1}"#, "finish:tool_calls"],
    );
    says(
        answer(true),
        r#"{"answer": "ye\u0073"}"#,
        &["text:yes", "finish:stop"],
    );
    refused(answer(true), r#"{"answer": 1}"#, "json");
}

#[test]
fn text_stays_text_where_no_call_is_demanded() {
    says(
        Rewrap::CallOrText,
        "Hello {there}",
        &["text:Hello {there}", "finish:stop"],
    );
    says(
        Rewrap::CallOrText,
        " {\"a\": 1} ",
        &["text: {\"a\": 1} ", "finish:stop"],
    );
    says(
        Rewrap::CallOrText,
        "```rust\nfn main() {}\n```",
        &["text:```rust\nfn main() {}\n```", "finish:stop"],
    );
    says(Rewrap::CallOrText, "```", &["text:```", "finish:stop"]);
    says(
        Rewrap::CallOrText,
        "{\"name\": 3}",
        &["text:{\"name\": 3}", "finish:stop"],
    );
    says(
        Rewrap::CallOrText,
        "{\"name\": \"f\", \"arguments\": {}}",
        &["call 0 f {}", "finish:tool_calls"],
    );
}

#[test]
fn text_answers_are_trimmed() {
    says(
        Rewrap::Text,
        "\n <think>hm</think> yes, no \n",
        &["think:hm", "text:yes, no", "finish:stop"],
    );
    says(Rewrap::Text, "<b>", &["text:<b>", "finish:stop"]);
}

#[test]
fn prose_where_a_call_is_demanded_is_a_violation() {
    refused(arguments(), "Hello!", "tool_choice");
    refused(Rewrap::Call, "Hello!", "tool_choice");
    refused(Rewrap::Json, "Hello!", "json");
    refused(Rewrap::Call, "[1]", "json");
}

#[test]
fn what_follows_the_json_is_a_violation() {
    refused(arguments(), "{} and so on", "json");
    refused(arguments(), "{}{}", "json");
    refused(arguments(), "{}```", "json");
}

#[test]
fn where_a_stop_text_ended_the_json_that_is_told() {
    let stopped = FinishReason::StopText("\n\n".to_owned());
    for rewrap in [arguments(), Rewrap::Call, Rewrap::Json] {
        let broken = run(rewrap, std::iter::once(r#"{"name": "f","#), stopped.clone());
        let message = broken.unwrap_err().message;
        assert!(
            message.contains(r#"own stop text "\n\n" ended it"#),
            "{message}"
        );
    }
}

#[test]
fn json_that_ends_too_early_is_a_violation_unless_the_length_cut_it() {
    refused(arguments(), r#"{"a": "#, "json");
    refused(Rewrap::Call, r#"{"name": "f", "arguments": {"#, "json");
    let cut = run(
        arguments(),
        std::iter::once(r#"{"a": "#),
        FinishReason::Length,
    )
    .unwrap();
    assert_eq!(cut, [r#"call 0 f {"a": "#, "finish:length"]);
}

#[test]
fn what_the_token_limit_left_of_a_string_is_passed_on() {
    let cut = |rewrap, content| run(rewrap, std::iter::once(content), FinishReason::Length);
    let answer = cut(
        Rewrap::CallOrAnswer { text: true },
        r#"{"answer": "so f\u00"#,
    );
    assert_eq!(answer.unwrap(), ["text:so f", "finish:length"]);
    let input = cut(Rewrap::Call, r#"{"name": "c", "input": "1 {+"#);
    assert_eq!(input.unwrap(), ["call 0 c 1 {+", "finish:length"]);
}

#[test]
fn a_model_that_runs_on_in_space_costs_no_more_than_its_length() {
    // Read anew at each piece, this would be 10^10 bytes.
    let space = || std::iter::repeat_n("\n", 150_000);
    for rewrap in [Rewrap::Call, Rewrap::Text, Rewrap::Json] {
        let pieces = space().chain(["{}"]).chain(space());
        let _ = run(rewrap, pieces, FinishReason::Length);
    }
}

#[test]
fn a_text_answer_goes_out_as_it_comes() {
    let mut rewrapper = Rewrapper::new(plan(Rewrap::CallOrAnswer { text: true }), 0);
    let (mut ids, mut out) = (Ids::new(1), Vec::new());
    for piece in [r#"{"answer": "one "#, "{two"] {
        let delta = Delta::Text(piece.to_owned());
        rewrapper.step(delta, &mut ids, &mut out).unwrap();
    }
    assert_eq!(
        out,
        [Delta::Text("one ".into()), Delta::Text("{two".into())]
    );
}

#[test]
fn only_the_first_call_is_passed_on_where_the_client_takes_one() {
    let mut rewrapper = Rewrapper::new(
        Plan {
            one_call: true,
            ..plan(Rewrap::Keep)
        },
        0,
    );
    let (mut ids, mut out) = (Ids::new(1), Vec::new());
    let start = |call| Delta::CallStart {
        call,
        id: format!("{call}"),
        name: "f".into(),
        kind: CallKind::Function,
    };
    let input = |call| Delta::CallInput {
        call,
        kind: CallKind::Function,
        text: "{}".into(),
    };
    for delta in [
        start(0),
        input(0),
        start(1),
        input(1),
        Delta::Finish(FinishReason::ToolCalls),
    ] {
        rewrapper.step(delta, &mut ids, &mut out).unwrap();
    }
    assert_eq!(
        out,
        [start(0), input(0), Delta::Finish(FinishReason::ToolCalls)]
    );
}

#[test]
fn bare_json_is_read_where_an_envelope_was_asked_for_and_one_meaning_is_left() {
    says(
        Rewrap::CallOrAnswer { text: false },
        r#"{"city": "Oslo"}"#,
        &[r#"text:{"city": "Oslo"}"#, "finish:stop"],
    );
    let mut one = plan(Rewrap::Call);
    one.tools.retain(|name, _| name == "f");
    let mut rewrapper = Rewrapper::new(one, 0);
    let (mut ids, mut out) = (Ids::new(1), Vec::new());
    for piece in ["```json\n{\"ci", "ty\": \"Oslo\"}", "\n```"] {
        rewrapper
            .step(Delta::Text(piece.into()), &mut ids, &mut out)
            .unwrap();
    }
    rewrapper
        .step(Delta::Finish(FinishReason::Stop), &mut ids, &mut out)
        .unwrap();
    assert!(
        matches!(&out[0], Delta::CallStart { name, .. } if name == "f"),
        "{out:?}"
    );
    assert_eq!(
        out[1],
        Delta::CallInput {
            call: 0,
            kind: CallKind::Function,
            text: r#"{"city": "Oslo"}"#.into()
        }
    );
}

#[test]
fn calls_of_the_servers_own_are_taken_at_their_word() {
    let mut rewrapper = Rewrapper::new(plan(arguments()), 0);
    let (mut ids, mut out) = (Ids::new(1), Vec::new());
    let start = Delta::CallStart {
        call: 0,
        id: "x".into(),
        name: "f".into(),
        kind: CallKind::Function,
    };
    let input = Delta::CallInput {
        call: 0,
        kind: CallKind::Function,
        text: "{}".into(),
    };
    for delta in [
        Delta::Text("\n".into()),
        start.clone(),
        input.clone(),
        Delta::Finish(FinishReason::Stop),
    ] {
        rewrapper.step(delta, &mut ids, &mut out).unwrap();
    }
    assert_eq!(out, [start, input, Delta::Finish(FinishReason::ToolCalls)]);
}

proptest! {
    #[test]
    fn chunking_never_changes_the_result(
        content in r#"(Hi:\n\n?)?[ \n]?(<think>[a-z<]{0,4}</think>|```json\n)?(\{"name": ?"[fgc]", ?"(arguments|input)": ?(\{"k": ?[0-9]\}|"x\\n")\}|\{"answer": ?"é"\}|[a-z{\["]{0,6})(\n```)?[ \n]?(Bye)?"#,
        is_content in any::<bool>(),
        cuts in proptest::collection::vec(0usize..80, 0..6),
        shape in 0usize..7,
    ) {
        let rewrap = [
            arguments(), Rewrap::Call, Rewrap::Calls, Rewrap::CallOrAnswer { text: false },
            Rewrap::CallOrText, Rewrap::Json, Rewrap::Text,
        ][shape].clone();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < content.len() && content.is_char_boundary(*cut)).collect();
        cuts.sort_unstable();
        cuts.push(content.len());
        let mut from = 0;
        let pieces: Vec<&str> = cuts.iter().map(|cut| { let piece = &content[from..*cut]; from = *cut; piece }).collect();
        let rewrapper = || {
            let mending = Mending { is_content, ..Mending::default() };
            Rewrapper::new(plan(rewrap.clone()), 0).mending(mending)
        };
        let whole = run_by(rewrapper(), std::iter::once(content.as_str()), FinishReason::Stop);
        let cut = run_by(rewrapper(), pieces.into_iter(), FinishReason::Stop);
        match (whole, cut) {
            (Ok(whole), Ok(cut)) => prop_assert_eq!(whole, cut),
            (whole, cut) => prop_assert_eq!(whole.map_err(|v| v.rule), cut.map_err(|v| v.rule)),
        }
    }
}
