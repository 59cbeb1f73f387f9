//! Free text with calls between tags.

use super::super::Mending;
use super::*;

fn tagged(content: &str, expected: &[&str]) {
    says(Rewrap::TaggedCalls, content, expected);
    mended(content, expected);
}

/// The same where what is no JSON is mended: what is right, or no call, is as it was.
fn mended(content: &str, expected: &[&str]) {
    for size in [1, 2, 5, 999] {
        let mending = Mending {
            is_content: true,
            ..Mending::default()
        };
        let rewrapper = Rewrapper::new(plan(Rewrap::TaggedCalls), 0).mending(mending);
        let letters: Vec<char> = content.chars().collect();
        let pieces: Vec<String> = letters
            .chunks(size)
            .map(|piece| piece.iter().collect())
            .collect();
        let said = run_by(
            rewrapper,
            pieces.iter().map(String::as_str),
            FinishReason::Stop,
        );
        assert_eq!(said.unwrap(), expected, "{content} by {size}");
    }
}

#[test]
fn a_call_is_mended_with_tags_and_without() {
    let bare = "{\"name\": \"f\", \"arguments\": {\"a\": 1,}}";
    let called = ["call 0 f {\"a\": 1}", "finish:tool_calls"];
    mended(bare, &called);
    mended(&format!("<tool_call>\n{bare}\n</tool_call>"), &called);
    mended(&bare[..bare.len() - 1], &called);
    let text = "{\"name\": \"Ada\", 'born': 1815,} and more";
    mended(text, &[&format!("text:{text}"), "finish:stop"]);
}

fn call(name: &str, input: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {input}}}\n</tool_call>")
}

/// The deltas of pieces, as they come.
fn steps(plan: &Plan, pieces: &[&str]) -> Vec<Vec<Delta>> {
    let mut ids = Ids::new(1);
    let mut rewrapper = Rewrapper::new(plan.clone(), 0);
    let step = |piece: &&str| {
        let mut out = Vec::new();
        let delta = Delta::Text((*piece).to_owned());
        rewrapper.step(delta, &mut ids, &mut out).unwrap();
        out
    };
    pieces.iter().map(step).collect()
}

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

#[test]
fn text_without_a_call_is_the_text() {
    for content in [
        "Hello.",
        "  Hello \n\n there.  \n",
        "1 < 2, <tool, <tool_call, </tool_call> and <<tool_cal",
        "{\"colour\": \"green\"}",
        "{\"name\": \"Ada\"}",
        "{\"name\": \"Ada\", \"born\": 1815",
        "{",
        "{ \"na",
        "[{\"name\": \"f\", \"arguments\": {}}]",
        "Grüße 😀<",
    ] {
        tagged(content, &[&format!("text:{content}"), "finish:stop"]);
    }
    tagged("", &["finish:stop"]);
}

#[test]
fn a_tagged_call_is_a_call_and_the_blanks_around_it_are_layout() {
    tagged(
        &call("f", "{\"a\": 1}"),
        &["call 0 f {\"a\": 1}", "finish:tool_calls"],
    );
    let content = format!("\n I look. \n{}\n ", call("f", "{}"));
    tagged(
        &content,
        &["text:\n I look.", "call 0 f {}", "finish:tool_calls"],
    );
    let content = format!(" \n{}\n\n{}\n", call("f", "{}"), call("g", "[1]"));
    tagged(
        &content,
        &["call 0 f {}", "call 1 g [1]", "finish:tool_calls"],
    );
}

#[test]
fn text_after_a_call_is_text() {
    let content = format!("One.\n{}\n\nTwo.", call("f", "{}"));
    tagged(
        &content,
        &[
            "text:One.",
            "call 0 f {}",
            "text:\nTwo.",
            "finish:tool_calls",
        ],
    );
    let content = format!("One.{}{} Two. ", call("f", "{}"), call("g", "{}"));
    tagged(
        &content,
        &[
            "text:One.",
            "call 0 f {}",
            "call 1 g {}",
            "text: Two. ",
            "finish:tool_calls",
        ],
    );
    let content = format!("{}\nTwo.", call("f", "{}"));
    tagged(&content, &["call 0 f {}", "text:Two.", "finish:tool_calls"]);
}

#[test]
fn tags_inside_of_json_are_data() {
    for input in [
        "{\"a\": \"</tool_call>\"}",
        "{\"</tool_call>\": \"<tool_call>\"}",
        "{\"a\": \"}\\n</tool_call>\\n<tool_call>\\n{\\\"name\\\": \\\"g\\\", \\\"arguments\\\": {}}\"}",
        "{\"a\": \"<think>```</think>\", \"b\": [\"}\"]}",
    ] {
        tagged(
            &call("f", input),
            &[&format!("call 0 f {input}"), "finish:tool_calls"],
        );
    }
}

#[test]
fn names_and_keys_may_come_in_any_order_and_spelling() {
    tagged(
        "<tool_call>{\"arguments\": {\"a\": 1}, \"name\": \"\\u0066\"}</tool_call>",
        &["call 0 f {\"a\": 1}", "finish:tool_calls"],
    );
    tagged(
        "<tool_call>{\"name\": \"f\", \"parameters\": {}, \"id\": 7}</tool_call>",
        &["call 0 f {}", "finish:tool_calls"],
    );
}

#[test]
fn a_custom_tools_input_is_the_string() {
    tagged(
        "<tool_call>\n{\"name\": \"c\", \"input\": \"a\\n</tool_call>\"}\n</tool_call>",
        &["call 0 c a\n</tool_call>", "finish:tool_calls"],
    );
    tagged(
        "<tool_call>\n{\"name\": \"c\", \"arguments\": {\"input\": \"ab\"}}\n</tool_call>",
        &["call 0 c ab", "finish:tool_calls"],
    );
}

#[test]
fn a_think_block_comes_before_everything_and_what_it_says_is_no_call() {
    let content = format!("<think>so {}</think>\n{}", call("f", "{}"), call("g", "{}"));
    let think = format!("think:so {}", call("f", "{}"));
    tagged(&content, &[&think, "call 0 g {}", "finish:tool_calls"]);
}

#[test]
fn a_content_that_is_one_bare_call_is_a_call() {
    let bare = "{\"name\": \"f\", \"parameters\": {\"a\": 1}}";
    tagged(
        &format!("{bare}\n"),
        &["call 0 f {\"a\": 1}", "finish:tool_calls"],
    );
    // It is not held further than to the first key.
    let steps = steps(&plan(Rewrap::TaggedCalls), &["{ ", "\"n", "umber\": 1"]);
    assert_eq!(steps, [vec![], vec![], vec![text("{ \"number\": 1")]]);
}

#[test]
fn text_waits_only_for_what_may_be_a_tag() {
    let pieces = [
        "I",
        " ",
        "look <",
        "to",
        "ols>",
        "\n",
        "<tool_call>",
        "\n{\"name\": \"f\"",
        ", \"arguments\": {\"a\"",
        ": 1",
        "}}",
    ];
    let steps = steps(&plan(Rewrap::TaggedCalls), &pieces);
    let input = |text: &str| Delta::CallInput {
        call: 0,
        kind: CallKind::Function,
        text: text.to_owned(),
    };
    let start = Delta::CallStart {
        call: 0,
        id: Ids::new(1).call(),
        name: "f".to_owned(),
        kind: CallKind::Function,
    };
    let expected = [
        vec![text("I")],
        vec![],
        vec![text(" look")],
        vec![],
        vec![text(" <tools>")],
        vec![],
        vec![],
        vec![start],
        vec![input("{\"a\"")],
        vec![input(": 1")],
        vec![input("}")],
    ];
    assert_eq!(steps, expected);
}

#[test]
fn only_the_first_call_is_passed_on_where_one_is_asked_for() {
    let mut one = plan(Rewrap::TaggedCalls);
    one.one_call = true;
    let content = format!("{}\n{}\nDone.", call("f", "{}"), call("g", "{}"));
    let out: Vec<Delta> = steps(&one, &[&content]).concat();
    let starts = out
        .iter()
        .filter(|delta| matches!(delta, Delta::CallStart { .. }));
    assert_eq!(starts.count(), 1);
    assert_eq!(out.last(), Some(&text("Done.")));
    let bare = format!("{{\"name\":\"f\",\"arguments\":{{}}}}{}", call("g", "{}"));
    let out: Vec<Delta> = steps(&one, &[&bare]).concat();
    let starts = out
        .iter()
        .filter(|delta| matches!(delta, Delta::CallStart { .. }));
    assert_eq!(starts.count(), 1);
}

#[test]
fn what_is_no_call_between_tags_is_refused() {
    for content in [
        "<tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>f(1)</tool_call>",
        "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\": \"f\"}</tool_call>",
        "<tool_call>{\"name\": 1, \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {a: 1}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {}",
        "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {}} and more",
        "<tool_call>{\"name\": \"f\", \"arguments\": {}}{\"name\": \"g\", \"arguments\": {}}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": {}}<tool_call>",
        "<tool_call>[{\"name\": \"f\", \"arguments\": {}}]</tool_call>",
        "Use <tool_call> to call.",
    ] {
        refused(Rewrap::TaggedCalls, content, "json");
    }
}

#[test]
fn a_call_that_lacks_only_its_end_tag_is_whole() {
    // To some models the end tag is the end of the text.
    for end in ["", "\n", "</tool"] {
        let content = format!("<tool_call>{{\"name\": \"f\", \"arguments\": {{}}}}{end}");
        tagged(&content, &["call 0 f {}", "finish:tool_calls"]);
    }
}

#[test]
fn a_cut_reply_gives_what_there_is() {
    let cut = |content: &str| {
        let pieces = std::iter::once(content);
        run(Rewrap::TaggedCalls, pieces, FinishReason::Length).unwrap()
    };
    assert_eq!(cut("Let me <tool"), ["text:Let me <tool", "finish:length"]);
    assert_eq!(
        cut("So.\n<tool_call>\n{\"na"),
        ["text:So.", "finish:length"]
    );
    assert_eq!(
        cut("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": "),
        ["call 0 f {\"a\": ", "finish:length"]
    );
    assert_eq!(
        cut("{\"name\": \"Ad"),
        ["text:{\"name\": \"Ad", "finish:length"]
    );
}

#[test]
fn calls_of_the_servers_own_are_taken_where_the_content_made_none() {
    let start = |call: u32| Delta::CallStart {
        call,
        id: format!("id{call}"),
        name: "f".to_owned(),
        kind: CallKind::Function,
    };
    let run = |pieces: Vec<Delta>| {
        let mut ids = Ids::new(1);
        let mut rewrapper = Rewrapper::new(plan(Rewrap::TaggedCalls), 0);
        let mut out = Vec::new();
        let mut steps = pieces.into_iter();
        steps.try_for_each(|delta| rewrapper.step(delta, &mut ids, &mut out))?;
        Ok::<_, Violation>(out)
    };
    for held in ["So <", "{", "{\"name\": \"f", "<thi"] {
        assert_eq!(
            run(vec![text(held), start(0), start(1)]).unwrap(),
            {
                let mut expected: Vec<Delta> = match held {
                    "So <" => vec![text("So"), text(" <")],
                    _ => vec![text(held)],
                };
                expected.extend([start(0), start(1)]);
                expected
            },
            "{held}"
        );
    }
    assert!(run(vec![text(&call("f", "{}")), start(0)]).is_err());
    assert!(run(vec![text("<tool_call>{\"name\""), start(0)]).is_err());
}

#[test]
fn blanks_are_not_held_without_bound() {
    let blanks = " \n".repeat(100_000);
    let plan = plan(Rewrap::TaggedCalls);
    let out = steps(&plan, &["So", &blanks, "."]);
    let length = |deltas: &[Delta]| -> usize {
        let texts = deltas.iter().map(|delta| match delta {
            Delta::Text(text) => text.len(),
            other => panic!("{other:?}"),
        });
        texts.sum()
    };
    assert!(length(&out[1]) > blanks.len() - (64 << 10));
    assert_eq!(length(&out.concat()), "So.".len() + blanks.len());
}

proptest! {
    #[test]
    fn pieces_of_text_and_calls_mean_the_same_however_they_are_cut(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "I look.", " ", "\n\n", "<", "<tool_call>", "</tool_call>", "<think>", "</think>",
                "{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\"}}", "{\"name\":", "\"", "}", "é😀",
                "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
                "<tool_call>{\"arguments\": [], \"name\": \"g\"}</tool_call>",
                "<tool_call>{\"name\": \"c\", \"input\": \"x\"}</tool_call>",
            ]),
            0..8,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let content = parts.concat();
        let by_whole = whole(Rewrap::TaggedCalls, &content);
        let ends: Vec<usize> = content.char_indices().map(|(at, _)| at).chain([content.len()]).collect();
        let mut at: Vec<usize> = cuts.iter().map(|cut| ends[cut.index(ends.len())]).collect();
        at.extend([0, content.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|cut| &content[cut[0]..cut[1]]);
        let by_pieces = run(Rewrap::TaggedCalls, pieces, FinishReason::Stop);
        prop_assert_eq!(by_pieces.map_err(|violation| violation.rule), by_whole);
    }
}

#[test]
fn calls_or_an_answer_are_told_apart_by_the_first_tag_alone() {
    let either = |content: &str, expected: &[&str]| {
        says(Rewrap::TaggedCallsOrAnswer, content, expected);
    };
    for answer in [
        "2026-11-21",
        " ",
        "\n\n12",
        "<tool",
        "<tool_call",
        "<tool_call>",
        "<tool_call>\n{\"colour\": \"red\"}",
        "<tool_cal>l>",
        "{\"name\": \"f\", \"arguments\": {}}",
        "say <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>",
        "```json\n{}\n```",
    ] {
        either(answer, &[&format!("text:{answer}"), "finish:stop"]);
    }
    either("", &["finish:stop"]);
    let two = format!("{}\n{}", call("f", "{\"a\": 1}"), call("g", "[]"));
    either(
        &two,
        &["call 0 f {\"a\": 1}", "call 1 g []", "finish:tool_calls"],
    );
    either(
        &format!("<think>Hm.</think>\n{}", call("f", "{}")),
        &["think:Hm.", "call 0 f {}", "finish:tool_calls"],
    );
    either(
        "<tool_call>{\"name\": \"c\", \"input\": \"x\\ny\"}</tool_call>",
        &["call 0 c x\ny", "finish:tool_calls"],
    );
}

#[test]
fn a_call_or_an_answer_that_is_cut_gives_what_there_is() {
    let cut = |content: &str| {
        run(
            Rewrap::TaggedCallsOrAnswer,
            std::iter::once(content),
            FinishReason::Length,
        )
        .unwrap()
    };
    assert_eq!(cut("2026-"), ["text:2026-", "finish:length"]);
    assert_eq!(cut("<tool_c"), ["text:<tool_c", "finish:length"]);
    assert_eq!(
        cut("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\""),
        ["call 0 f {\"a\"", "finish:length"]
    );
}
