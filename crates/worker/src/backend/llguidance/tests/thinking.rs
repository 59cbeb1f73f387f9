//! Think blocks before an answer.

use super::driver::{Dice, Run, backend, compile, schema};
use super::vocabularies::{bytes, merged, spell, with_think_controls};
use crate::backend::{Compiled, Demand, Stuck, Think, Whitespace};
use crate::thoughts::ThinkTags;
use crate::vocabulary::{Token, TokenKind, Vocabulary};
use isogloss_core::ir::Constraint;
use serde_json::json;
use std::sync::Arc;

fn thinking(vocabulary: &Vocabulary, constraint: Constraint, think: Think) -> Arc<dyn Compiled> {
    let demand = Demand {
        constraint,
        think,
        whitespace: Whitespace::Flexible,
    };
    compile(&backend(vocabulary), &demand).unwrap()
}

#[test]
fn a_model_may_have_other_texts_around_its_thoughts() {
    let tags =
        ThinkTags::of_template("{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}[THINK][/THINK]");
    for vocabulary in [bytes(), merged()] {
        let vocabulary = vocabulary.with_think_tags(tags.clone());
        let grammar = thinking(&vocabulary, colour(), Think::Optional);
        for text in [
            r#"{"c": "red"}"#,
            r#"[THINK][/THINK]{"c": "red"}"#,
            "[THINK]Well, [/[/THIN </think> {\"c\": \"blue\"}? [/THINK]\n{\"c\": \"red\"}",
        ] {
            assert!(takes(grammar.as_ref(), &vocabulary, text), "{text}");
        }
        for text in [
            r#"<think></think>{"c": "red"}"#,
            r#"[THINK]{"c": "red"}"#,
            r#"[THINK]a</think>{"c": "red"}"#,
            r#"[THINK]a[/THINK]{"c": "blue"}"#,
        ] {
            assert!(!takes(grammar.as_ref(), &vocabulary, text), "{text}");
        }
        let open = thinking(&vocabulary, colour(), Think::Open);
        let closed = r#"hm[/THINK]{"c": "red"}"#;
        assert!(takes(open.as_ref(), &vocabulary, closed));
        assert!(!takes(open.as_ref(), &vocabulary, r#"{"c": "red"}"#));
    }
}

fn takes(grammar: &dyn Compiled, vocabulary: &Vocabulary, text: &str) -> bool {
    super::driver::takes(grammar, vocabulary, text)
}

fn colour() -> Constraint {
    schema(
        json!({"type": "object", "properties": {"c": {"enum": ["red"]}}, "required": ["c"], "additionalProperties": false}),
    )
}

#[test]
fn an_answer_may_begin_with_a_think_block() {
    for vocabulary in [bytes(), merged()] {
        let grammar = thinking(&vocabulary, colour(), Think::Optional);
        let good = [
            r#"{"c": "red"}"#,
            r#"<think></think>{"c": "red"}"#,
            "<think>\nWell, {\"c\": \"blue\"}? </thinking> <</think>\n\n{\"c\": \"red\"}",
            r#"<think><think></think>{"c":"red"}"#,
        ];
        for text in good {
            assert!(takes(grammar.as_ref(), &vocabulary, text), "{text}");
        }
        let bad = [
            "",
            "<think>",
            "<think>well</think>",
            r#"<thin></think>{"c": "red"}"#,
            r#"<think>{"c": "red"}"#,
            r#"</think>{"c": "red"}"#,
            r#"<think>a</think>{"c": "blue"}"#,
            r#"<think>a</think>x{"c": "red"}"#,
            "<think></think>\n\n\n\n\n{\"c\": \"red\"}",
            r#"<think></think><think></think>{"c": "red"}"#,
            r#"{"c": "red"}<think></think>"#,
        ];
        for text in bad {
            assert!(!takes(grammar.as_ref(), &vocabulary, text), "{text}");
        }
    }
}

#[test]
fn a_prompt_that_opened_the_block_wants_its_end_first() {
    for vocabulary in [bytes(), merged()] {
        let grammar = thinking(&vocabulary, colour(), Think::Open);
        for text in [
            r#"</think>{"c": "red"}"#,
            "so</</think>\n\n{\"c\": \"red\"}",
        ] {
            assert!(takes(grammar.as_ref(), &vocabulary, text), "{text}");
        }
        for text in [r#"{"c": "red"}"#, "so", "so</think>", "so</think>no"] {
            assert!(!takes(grammar.as_ref(), &vocabulary, text), "{text}");
        }
    }
}

#[test]
fn texts_that_begin_like_a_think_block_are_texts_until_they_are_one() {
    let vocabulary = merged();
    let choices = ["<thing>", "<", "<think>ing", ""]
        .map(str::to_owned)
        .to_vec();
    let grammar = thinking(&vocabulary, Constraint::Choice(choices), Think::Optional);
    for text in [
        "<thing>",
        "<",
        "",
        "<think>a</think><thing>",
        "<think></think>",
        "<think></think><think>ing",
    ] {
        assert!(takes(grammar.as_ref(), &vocabulary, text), "{text}");
    }
    for text in [
        "<think>ing",
        "<thin",
        "<think></think>\n<thing>",
        "<think></think> ",
    ] {
        assert!(!takes(grammar.as_ref(), &vocabulary, text), "{text}");
    }
    // The block may still come, so an answer that is whole is not over.
    let matcher = grammar.matcher();
    assert!(!matcher.is_finished());
}

#[test]
fn thoughts_that_have_a_bound_end_in_time() {
    for vocabulary in [bytes(), merged(), with_think_controls()] {
        let grammar = thinking(&vocabulary, colour(), Think::Open);
        let one = |text: char| spell(&vocabulary, &text.to_string())[0];
        for (bound, thought) in [(0, ""), (3, "so,"), (5, "so, <"), (6, "so, </")] {
            let mut matcher = grammar.matcher();
            matcher.bound_thoughts(bound);
            for text in thought.chars() {
                assert!(matcher.mask().unwrap().is_allowed(one(text)), "{thought}");
                matcher.consume(one(text)).unwrap();
            }
            // What would go on with the thought is not allowed; what is allowed ends it.
            let mut steps = 0;
            while matcher.consume(one('{')).is_err() {
                let mask = matcher.mask().unwrap();
                assert!(!mask.is_allowed(one('x')), "{bound} {thought}");
                assert_eq!(matcher.consume(one('x')), Err(Stuck::Refused));
                let token = mask.iter().next().unwrap();
                matcher.consume(token).unwrap();
                steps += 1;
                assert!(steps <= "</think>".len(), "{bound} {thought}");
            }
            for token in spell(&vocabulary, r#""c":"red"}"#) {
                matcher.consume(token).unwrap();
            }
            assert!(matcher.is_finished(), "{bound} {thought}");
        }
        // Without one it may go on.
        let mut matcher = grammar.matcher();
        for _ in 0..100 {
            matcher.consume(one('x')).unwrap();
        }
        assert!(matcher.mask().unwrap().is_allowed(one('x')));
    }
}

#[test]
fn a_token_that_ends_the_block_in_its_middle_is_not_offered() {
    let vocabulary = merged();
    let grammar = thinking(&vocabulary, colour(), Think::Open);
    let token = |text: &str| -> Token {
        let is_it = |piece: &crate::vocabulary::Piece| piece.bytes == text.as_bytes();
        vocabulary.pieces().iter().position(is_it).unwrap() as Token
    };
    let mut matcher = grammar.matcher();
    let mask = matcher.mask().unwrap();
    assert!(mask.is_allowed(token("</think>")) && mask.is_allowed(token("</")));
    assert!(
        mask.is_allowed(token("</think>\n\n")),
        "space may follow, so it may come along"
    );
    assert!(!vocabulary.ends().iter().any(|&end| mask.is_allowed(end)));
    let strict = thinking(&vocabulary, Constraint::Regex("a".to_owned()), Think::Open);
    let mut strict = strict.matcher();
    assert!(strict.mask().unwrap().is_allowed(token("</think>")));
    assert!(!strict.mask().unwrap().is_allowed(token("</think>\n\n")));
    assert_eq!(strict.consume(token("</think>\n\n")), Err(Stuck::Refused));
    assert_eq!(matcher.consume(vocabulary.ends()[0]), Err(Stuck::Refused));
    matcher.consume(token("</")).unwrap();
    assert!(matcher.mask().unwrap().is_allowed(token("think>")));
    matcher.consume(token("think>")).unwrap();
    assert!(matcher.mask().unwrap().is_allowed(token("\n\n")));
    assert!(matcher.mask().unwrap().is_allowed(token("{\"")));
    assert!(!matcher.mask().unwrap().is_allowed(token("the")));
}

#[test]
fn think_tags_may_be_control_tokens() {
    let vocabulary = with_think_controls();
    let control = |name: &[u8]| -> Token {
        let pieces = vocabulary.pieces().iter();
        let mut named = pieces
            .zip(0..)
            .filter(|(piece, _)| piece.kind == TokenKind::Control && piece.bytes == name);
        named.next().unwrap().1
    };
    let (open, close) = (control(b"<think>"), control(b"</think>"));
    let grammar = thinking(&vocabulary, colour(), Think::Optional);
    let mut matcher = grammar.matcher();
    assert!(matcher.mask().unwrap().is_allowed(open));
    assert!(!matcher.mask().unwrap().is_allowed(close));
    matcher.consume(open).unwrap();
    for token in spell(&vocabulary, "well </thin") {
        assert!(matcher.mask().unwrap().is_allowed(token));
        matcher.consume(token).unwrap();
    }
    assert!(!matcher.mask().unwrap().is_allowed(open));
    assert!(matcher.mask().unwrap().is_allowed(close));
    matcher.consume(close).unwrap();
    assert!(!matcher.mask().unwrap().is_allowed(close));
    for token in spell(&vocabulary, r#"{"c":"red"}"#) {
        matcher.consume(token).unwrap();
    }
    assert!(matcher.is_finished());
    // Without a block no control token is offered.
    let grammar = thinking(&vocabulary, colour(), Think::None);
    let mut matcher = grammar.matcher();
    assert!(!matcher.mask().unwrap().is_allowed(open));
    assert_eq!(matcher.consume(open), Err(Stuck::Refused));
}

#[test]
fn whatever_is_written_behind_a_think_block_is_what_was_demanded() {
    for vocabulary in [merged(), with_think_controls()] {
        for think in [Think::Optional, Think::Open] {
            let grammar = thinking(&vocabulary, colour(), think);
            let mut blocks = 0;
            for seed in 0..30 {
                let run = Run {
                    vocabulary: &vocabulary,
                    patience: 20,
                    most: 3_000,
                    likes: &[],
                };
                let text = run.write(grammar.matcher().as_mut(), &mut Dice(seed));
                let Some(text) = text else { continue };
                let text = String::from_utf8_lossy(&text).into_owned();
                let answer = match text.split_once("</think>") {
                    Some((block, answer)) => {
                        blocks += 1;
                        assert_eq!(block.starts_with("<think>"), think == Think::Optional);
                        answer.to_owned()
                    }
                    // Control tokens are no text.
                    None => text[text.rfind('{').unwrap()..].to_owned(),
                };
                let value: serde_json::Value = serde_json::from_str(&answer).unwrap();
                assert_eq!(value, json!({"c": "red"}));
            }
            let has_names = vocabulary
                .pieces()
                .iter()
                .any(|piece| piece.kind == TokenKind::Text && piece.bytes == b"</think>");
            assert!(blocks > 5 || !has_names, "{blocks}");
        }
    }
}
