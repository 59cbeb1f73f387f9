use super::*;
use crate::backend::Think;
use crate::job::TokenLogprob;
use crate::think::Lead;
use crate::thoughts::ThinkTags;
use crate::vocabulary::{Encode, Piece, Token, TokenKind};
use isogloss_core::error::Kind;
use isogloss_core::sse::Decoder;
use serde_json::{Value, json};

struct NoText;
impl Encode for NoText {
    fn encode(&self, _text: &str, _controls: bool) -> Vec<Token> {
        Vec::new()
    }
}

/// `ab`, the first byte of `ä`, and the end.
fn vocabulary() -> Vocabulary {
    let piece = |bytes: &[u8], kind| Piece {
        bytes: bytes.to_vec(),
        kind,
    };
    let pieces = vec![
        piece(b"ab", TokenKind::Text),
        piece(b"\xc3", TokenKind::Text),
        piece(b"<end>", TokenKind::Control),
    ];
    Vocabulary::new(pieces, None, vec![2], Box::new(NoText))
}

fn head(shape: Shape, include_usage: bool) -> Head {
    Head {
        shape,
        id: "id-1".to_owned(),
        created: 9,
        model: "m".to_owned(),
        fingerprint: "fp".to_owned(),
        include_usage,
        counts_first: false,
    }
}

fn splitters(think: &[Think]) -> Vec<ThinkSplitter> {
    (think.iter())
        .map(|think| ThinkSplitter::new(*think, Lead::Lines, ThinkTags::default()))
        .collect()
}

fn text(text: &str) -> Event {
    Event::Text {
        text: text.to_owned(),
        chosen: Vec::new(),
        tokens: 1,
    }
}

fn finished(reason: Finish) -> Event {
    Event::Finished {
        reason,
        usage: Usage {
            prompt: 10,
            cached: 4,
            completion: 3,
            thoughts: 0,
            forced: 1,
            steered: 0,
            unplanned: 0,
            mask_micros: 50,
        },
    }
}

fn told(token: Token, logprob: f32) -> TokenLogprob {
    TokenLogprob { token, logprob }
}

fn chosen() -> Vec<Chosen> {
    vec![
        Chosen {
            token: told(0, -0.5),
            top: vec![told(0, -0.5), told(1, -1.0)],
        },
        Chosen {
            token: told(1, f32::NEG_INFINITY),
            top: vec![told(0, -0.25)],
        },
        Chosen {
            token: told(2, -2.0),
            top: Vec::new(),
        },
    ]
}

/// The events' data; the end mark as a string.
fn events(bytes: &[u8]) -> Vec<Value> {
    let mut decoder = Decoder::new(1 << 20);
    let mut events = Vec::new();
    decoder.push(bytes, &mut events).unwrap();
    let read = |event: &sse::SseEvent| match event.is_done() {
        true => json!("[DONE]"),
        false => serde_json::from_slice(&event.data).unwrap(),
    };
    events.iter().map(read).collect()
}

fn streamed(shape: Shape, usage: bool, think: &[Think], told: Vec<(usize, Event)>) -> Vec<Value> {
    streamed_as(head(shape, usage), usage, think, told)
}

fn streamed_as(head: Head, usage: bool, think: &[Think], told: Vec<(usize, Event)>) -> Vec<Value> {
    let mut reply = Streamed::new(head, usage.then(vocabulary), think.len(), splitters(think));
    let mut out = Vec::new();
    reply.begin(&mut out);
    for (index, event) in told {
        assert!(!reply.is_over());
        reply.event(index, event, &mut out);
    }
    assert!(reply.is_over());
    events(&out)
}

#[test]
fn a_streamed_chat_begins_with_the_role_and_ends_with_the_reason() {
    let told = vec![
        (
            0,
            Event::Started {
                prompt: 10,
                cached: 4,
            },
        ),
        (0, text("he")),
        (0, text("")),
        (0, text("y")),
        (0, finished(Finish::Stop)),
    ];
    let events = streamed(Shape::Chat, false, &[Think::None], told);
    let choice = |delta: Value, reason: Value| json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason}]);
    assert_eq!(
        events[0],
        json!({
            "id": "id-1", "object": "chat.completion.chunk", "created": 9, "model": "m",
            "system_fingerprint": "fp",
            "choices": choice(json!({"role": "assistant", "content": ""}), Value::Null),
        })
    );
    assert_eq!(
        events[1]["choices"],
        choice(json!({"content": "he"}), Value::Null)
    );
    assert_eq!(
        events[2]["choices"],
        choice(json!({"content": "y"}), Value::Null)
    );
    assert_eq!(events[3]["choices"], choice(json!({}), json!("stop")));
    assert_eq!(events[4..], [json!("[DONE]")]);
}

#[test]
fn thinking_is_told_apart_from_the_answer() {
    let told = || {
        vec![
            (0, text("<think>\nhm")),
            (0, text("\n</think>\n\nyes")),
            (0, finished(Finish::Length)),
        ]
    };
    let events = streamed(Shape::Chat, false, &[Think::Optional], told());
    let delta = |index: usize| &events[index]["choices"][0]["delta"];
    assert_eq!(delta(1), &json!({"reasoning_content": "hm"}));
    assert_eq!(delta(2), &json!({"content": "yes"}));
    assert_eq!(events[3]["choices"][0]["finish_reason"], "length");
    let mut whole = Whole::new(
        head(Shape::Chat, false),
        None,
        1,
        splitters(&[Think::Optional]),
    );
    for (index, event) in told() {
        whole.event(index, event).unwrap();
    }
    let body: Value = serde_json::from_slice(&whole.body()).unwrap();
    assert_eq!(
        body["choices"][0]["message"],
        json!({"role": "assistant", "content": "yes", "refusal": null, "reasoning_content": "hm"})
    );
}

#[test]
fn a_stream_begins_with_the_prompts_tokens_where_that_is_asked_for() {
    let started = Event::Started {
        prompt: 10,
        cached: 4,
    };
    for counts_first in [true, false] {
        let head = Head {
            counts_first,
            ..head(Shape::Chat, true)
        };
        let told = vec![
            (0, started.clone()),
            (0, text("he")),
            (0, text("y")),
            (0, finished(Finish::Stop)),
        ];
        let events = streamed_as(head, true, &[Think::None], told);
        let first = json!({
            "prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 4},
        });
        let expected = [Value::Null, first, Value::Null, Value::Null];
        for (event, told) in events.iter().zip(expected) {
            let told = if counts_first { told } else { Value::Null };
            assert_eq!(event["usage"], told, "{event}");
        }
        assert_eq!(events[4]["usage"]["completion_tokens"], 3);
    }
}

#[test]
fn the_choices_of_a_stream_end_each_on_its_own_and_are_counted_together() {
    let told = vec![
        (1, text("b")),
        (0, text("a")),
        (1, finished(Finish::Stop)),
        (0, finished(Finish::Length)),
    ];
    let events = streamed(Shape::Chat, true, &[Think::None, Think::None], told);
    assert_eq!(events.len(), 8);
    assert!(
        events[..6]
            .iter()
            .all(|event| event["usage"] == Value::Null)
    );
    assert!(events[..6].iter().all(|event| event.get("usage").is_some()));
    assert_eq!(events[2]["choices"][0]["index"], 1);
    assert_eq!(
        events[6]["usage"],
        json!({
            "prompt_tokens": 10, "completion_tokens": 6, "total_tokens": 16,
            "prompt_tokens_details": {"cached_tokens": 4},
        })
    );
    assert_eq!(events[6]["choices"], json!([]));
    assert_eq!(events[7], json!("[DONE]"));
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_its_last_event() {
    let told = vec![
        (0, text("a")),
        (0, Event::Failed(Error::new(Kind::Internal, "broken"))),
    ];
    let events = streamed(Shape::Chat, true, &[Think::None], told);
    assert_eq!(events.len(), 3);
    assert_eq!(events[2]["error"]["message"], "broken");
    let mut reply = Streamed::new(head(Shape::Chat, true), None, 1, splitters(&[Think::None]));
    let mut out = Vec::new();
    reply.fail(&Error::new(Kind::ShuttingDown, "bye"), &mut out);
    let length = out.len();
    reply.event(0, finished(Finish::Stop), &mut out);
    assert_eq!((reply.is_over(), out.len()), (true, length));
}

#[test]
fn an_error_takes_the_place_of_a_whole_reply() {
    let mut whole = Whole::new(head(Shape::Chat, false), None, 1, splitters(&[Think::None]));
    whole.event(0, text("a")).unwrap();
    let error = Error::new(Kind::Internal, "broken");
    assert_eq!(whole.event(0, Event::Failed(error.clone())), Err(error));
}

#[test]
fn log_probabilities_of_a_chat_have_text_and_bytes() {
    let told = vec![
        (
            0,
            Event::Text {
                text: String::new(),
                chosen: chosen(),
                tokens: 3,
            },
        ),
        (0, finished(Finish::Stop)),
    ];
    let events = streamed(Shape::Chat, true, &[Think::None], told);
    let logprobs = &events[1]["choices"][0]["logprobs"];
    let token = |text: &str, logprob: f64, bytes: &[u8]| json!({"token": text, "logprob": logprob, "bytes": bytes});
    assert_eq!(
        logprobs["content"][0],
        json!({"token": "ab", "logprob": -0.5, "bytes": [97, 98],
            "top_logprobs": [token("ab", -0.5, b"ab"), token("\u{fffd}", -1.0, b"\xc3")]})
    );
    assert_eq!(logprobs["content"][1]["logprob"], -9999.0);
    assert_eq!(logprobs["content"][2]["token"], "<end>");
    assert_eq!(logprobs["refusal"], Value::Null);
}

#[test]
fn log_probabilities_of_a_completion_are_the_old_arrays() {
    let event = |chosen| Event::Text {
        text: "ab".to_owned(),
        chosen,
        tokens: 1,
    };
    let told = vec![
        (0, event(chosen()[..1].to_vec())),
        (0, event(chosen()[..2].to_vec())),
        (0, finished(Finish::Stop)),
    ];
    let events = streamed(Shape::Completion, true, &[Think::None], told);
    let choice = &events[1]["choices"][0];
    assert_eq!(events[0]["object"], "text_completion");
    assert_eq!(choice["text"], "ab");
    assert_eq!(
        choice["logprobs"],
        json!({
            "tokens": ["ab", "\u{fffd}"],
            "token_logprobs": [-0.5, -9999.0],
            "top_logprobs": [{"ab": -0.5, "\u{fffd}": -1.0}, {"ab": -0.25, "\u{fffd}": -9999.0}],
            "text_offset": [2, 4],
        })
    );
}

#[test]
fn a_whole_completion_counts_each_prompt_once() {
    let think = [Think::None; 4];
    let mut whole = Whole::new(head(Shape::Completion, false), None, 2, splitters(&think));
    for index in 0..4 {
        whole.event(index, text("x")).unwrap();
        whole.event(index, finished(Finish::Length)).unwrap();
    }
    assert_eq!((whole.total().forced, whole.total().mask_micros), (4, 200));
    let body: Value = serde_json::from_slice(&whole.body()).unwrap();
    assert_eq!(
        body["choices"][3],
        json!({"index": 3, "text": "x", "logprobs": null, "finish_reason": "length"})
    );
    assert_eq!(body["usage"]["prompt_tokens"], 20);
    assert_eq!(body["usage"]["completion_tokens"], 12);
}
