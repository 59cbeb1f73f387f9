//! TGI's `/generate`: the prompt that is asked for first, and replies token by token.

use super::{Message, decode, draft, ids, pieces, server};
use isogloss_core::dialect::server::{About, Asked, Render, ReplyFault};
use isogloss_core::ir::{Event, Wire};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

fn render() -> Render {
    Render {
        path: "/chat_tokenize".to_owned(),
        at: "/templated_text".to_owned(),
        tokens: Some("/tokenize_response".to_owned()),
        tokenize: Some("/tokenize".to_owned()),
    }
}

fn ask(body: &Value) -> Asked {
    server(Wire::TgiGenerate)
        .ask(&draft(body).unwrap(), "the server", Some(&render()))
        .unwrap()
}

fn request(more: Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn next(asked: Asked, answer: &Value) -> Asked {
    let pending = asked.pending.unwrap();
    pending.next(answer.to_string().as_bytes()).unwrap()
}

fn parameters(more: Value) -> Value {
    let rendered = json!({"templated_text": "hi"});
    of(&next(ask(&request(more)), &rendered).body)["parameters"].take()
}

fn token(id: u32, text: &str) -> Value {
    json!({"id": id, "text": text, "start": 0, "stop": text.len()})
}

#[test]
fn the_conversation_goes_to_the_route_that_renders_it_and_its_text_becomes_the_prompt() {
    let asked = ask(&request(json!({"stream": true})));
    assert_eq!(asked.path, "/chat_tokenize");
    let conversation = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    assert_eq!(of(&asked.body), conversation);
    let rendered = json!({"templated_text": "User: hi\nBot:", "tokenize_response": []});
    let asked = next(asked, &rendered);
    assert_eq!(asked.path, "/generate_stream");
    assert_eq!(of(&asked.body)["inputs"], "User: hi\nBot:");
    assert_eq!((asked.pending, asked.prompt_tokens), (None, Some(0)));
}

/// What the server begins every text with, its template writes too; it must not be read twice.
#[test]
fn a_first_token_that_the_server_adds_is_taken_off_the_prompt() {
    let rendered = json!({
        "templated_text": "<s>User: hi", "tokenize_response": [token(1, "<s>"), token(5, "User"), token(6, ": hi")],
    });
    for (tokens, prompt) in [
        (json!([token(1, "<s>"), token(1, "<s>")]), "User: hi"),
        // One that only ends texts with it, and one that adds nothing.
        (json!([token(1, "<s>"), token(2, "</s>")]), "<s>User: hi"),
        (json!([token(1, "<s>")]), "<s>User: hi"),
        (json!([]), "<s>User: hi"),
    ] {
        let asked = next(ask(&request(json!({}))), &rendered);
        assert_eq!(asked.path, "/tokenize");
        assert_eq!(of(&asked.body), json!({"inputs": "<s>"}));
        let asked = next(asked, &tokens);
        assert_eq!(asked.path, "/generate");
        assert_eq!(of(&asked.body)["inputs"], prompt, "{tokens}");
        assert_eq!(asked.prompt_tokens, Some(3));
    }
}

#[test]
fn tokens_without_a_text_are_not_asked_about() {
    for tokens in [
        json!([token(1, "")]),
        json!([token(1, "other")]),
        json!([{"id": "x"}]),
        json!(7),
    ] {
        let rendered = json!({"templated_text": "<s>hi", "tokenize_response": tokens});
        let asked = next(ask(&request(json!({}))), &rendered);
        assert_eq!(asked.path, "/generate");
        assert_eq!(of(&asked.body)["inputs"], "<s>hi");
    }
}

#[test]
fn an_answer_without_a_prompt_is_an_error_of_the_servers() {
    for answer in ["", "[]", "{}", r#"{"templated_text":7}"#, "<html>"] {
        let pending = ask(&request(json!({}))).pending.unwrap();
        let error = pending.next(answer.as_bytes()).unwrap_err();
        assert_eq!(error.status(), 502, "{answer}");
        assert!(error.message.contains("/chat_tokenize"), "{error}");
    }
    let rendered = json!({"templated_text": "<s>", "tokenize_response": [token(1, "<s>")]});
    let asked = next(ask(&request(json!({}))), &rendered);
    let error = asked.pending.unwrap().next(b"{}").unwrap_err();
    assert!(error.message.contains("/tokenize"), "{error}");
}

#[test]
fn what_is_sampled_how_is_said_as_the_chat_route_says_it() {
    let sent = |more: Value| parameters(more);
    let plain = sent(json!({}));
    let expected =
        json!({"do_sample": true, "adapter_id": "m", "details": true, "return_full_text": false});
    assert_eq!(plain, expected);
    let greedy = sent(json!({"temperature": 0}));
    assert_eq!(
        (&greedy["do_sample"], greedy.get("temperature")),
        (&json!(false), None)
    );
    let warm = sent(json!({"temperature": 0.5, "top_p": 0.9, "top_k": 4, "seed": 3}));
    assert_eq!(
        [
            &warm["temperature"],
            &warm["top_p"],
            &warm["top_k"],
            &warm["seed"]
        ],
        [&json!(0.5), &json!(0.9), &json!(4), &json!(3)]
    );
    // These say that nothing is cut off, and are refused here.
    let open = sent(json!({"top_p": 1, "top_k": -1}));
    assert_eq!((open.get("top_p"), open.get("top_k")), (None, None));
    let ended = sent(json!({"max_completion_tokens": 9, "max_tokens": 8, "stop": "x"}));
    assert_eq!(
        (&ended["max_new_tokens"], &ended["stop"]),
        (&json!(9), &json!(["x"]))
    );
    assert_eq!(sent(json!({"model": "tgi"})).get("adapter_id"), None);
    assert_eq!(sent(json!({"adapter_id": "a"}))["adapter_id"], "a");
    let grammar = json!({"type": "regex", "value": "a+"});
    assert_eq!(sent(json!({"grammar": grammar}))["grammar"], grammar);
}

#[test]
fn what_the_route_has_no_words_for_is_reported_or_refused() {
    let body = request(json!({
        "logprobs": true, "logit_bias": {"1": 2}, "best_of": 3, "presence_penalty": 1,
        "response_format": {"type": "text"},
    }));
    let lost: Vec<String> = ask(&body)
        .losses
        .into_iter()
        .map(|loss| loss.pointer)
        .collect();
    assert_eq!(
        lost,
        ["/best_of", "/logprobs", "/logit_bias", "/presence_penalty"]
    );
    let several = draft(&request(json!({"n": 2}))).unwrap();
    let error = server(Wire::TgiGenerate)
        .ask(&several, "TGI", Some(&render()))
        .unwrap_err();
    assert_eq!(error.param.as_deref(), Some("n"));
    let one = draft(&request(json!({}))).unwrap();
    let error = server(Wire::TgiGenerate)
        .ask(&one, "TGI", None)
        .unwrap_err();
    assert!(
        error.message.contains("the dialect of its chat route"),
        "{error}"
    );
}

fn about(stop: &[String]) -> About {
    About {
        stop: stop.to_vec(),
        prompt_tokens: Some(3),
        ..About::default()
    }
}

fn whole(body: &str, stop: &[String]) -> Result<Vec<Event>, ReplyFault> {
    let frame = server(Wire::TgiGenerate).whole(body.as_bytes(), &about(stop), &mut ids());
    Ok(frame?.events)
}

fn details(reason: &str, tokens: usize) -> Value {
    json!({"finish_reason": reason, "generated_tokens": tokens, "seed": null, "prefill": [], "tokens": []})
}

fn stream(tokens: &[&str], reason: &str) -> Vec<u8> {
    let all = tokens.concat();
    let mut body = String::from(": ping\n\n");
    for (at, text) in tokens.iter().enumerate() {
        let is_last = at + 1 == tokens.len();
        let mut event = json!({"index": at + 1, "token": {"id": 4, "text": text, "logprob": -0.5, "special": false}, "generated_text": null, "details": null});
        if is_last {
            event["generated_text"] = json!(all);
            event["details"] = details(reason, tokens.len());
            event["details"]["input_length"] = json!(3);
        }
        body.push_str(&format!("data:{event}\n\n"));
    }
    body.into_bytes()
}

#[test]
fn the_stop_text_that_ended_a_reply_is_no_part_of_it() {
    let stops = ["END".to_owned(), "\n\n".to_owned()];
    for (text, reason, said) in [
        ("one END", "stop_sequence", "one "),
        ("one END\n", "stop_sequence", "one "),
        ("one\n\n", "stop_sequence", "one"),
        ("END one END", "stop_sequence", "END one "),
        // Nothing ended with these.
        ("one END", "length", "one END"),
        ("one EN", "eos_token", "one EN"),
    ] {
        let body = json!({"generated_text": text, "details": details(reason, 2)}).to_string();
        let whole = Message::of(whole(&body, &stops).unwrap());
        assert_eq!(whole.text, said, "{text:?} {reason}");
        let parts: Vec<&str> = text.split_inclusive(' ').collect();
        let stream = stream(&parts, reason);
        let (events, _) = decode(
            Wire::TgiGenerate,
            about(&stops),
            [stream.as_slice()],
            1 << 20,
        );
        assert_eq!(Message::of(events).text, said, "{text:?} {reason}");
    }
}

#[test]
fn special_tokens_are_no_text() {
    let mut body = String::from_utf8(stream(&["a"], "eos_token")).unwrap();
    let event = json!({"index": 1, "token": {"id": 2, "text": "</s>", "logprob": -0.5, "special": true}, "generated_text": null, "details": null});
    body.insert_str(0, &format!("data:{event}\n\n"));
    let (events, _) = decode(Wire::TgiGenerate, about(&[]), [body.as_bytes()], 1 << 20);
    assert_eq!(Message::of(events).text, "a");
}

#[test]
fn an_error_in_a_stream_and_in_a_body_is_told() {
    let error = r#"{"error":"Request failed during generation: x","error_type":"generation"}"#;
    let told = r#"{"message":"Request failed during generation: x"}"#;
    let stream = format!("data:{error}\n\n");
    let (events, _) = decode(Wire::TgiGenerate, about(&[]), [stream.as_bytes()], 1 << 20);
    assert!(matches!(&events[..], [Event::Error(raw)] if raw == told));
    let fault = whole(error, &[]).unwrap_err();
    assert_eq!(fault, ReplyFault::Error(told.to_owned()));
}

proptest! {
    #[test]
    fn a_reply_means_the_same_whole_and_token_by_token(
        tokens in prop::collection::vec(select(vec!["a", " b", "é", "x\n", "\n", "xy", "{\"", "\"}"]), 1..12),
        stops in prop::collection::vec(select(vec!["x\n", "ab", "\n\n", "xyx", "é"]), 0..3),
        reason in select(vec!["length", "eos_token", "stop_sequence"]),
        cuts in prop::collection::vec(any::<Index>(), 0..6),
    ) {
        let stops: Vec<String> = stops.into_iter().map(str::to_owned).collect();
        let body = json!({"generated_text": tokens.concat(), "details": details(reason, tokens.len())});
        let list = json!([body]).to_string();
        let list = Message::of(whole(&list, &stops).unwrap());
        let whole = Message::of(whole(&body.to_string(), &stops).unwrap());
        prop_assert_eq!(&list, &whole);
        let stream = stream(&tokens, reason);
        let (events, is_clean) = decode(Wire::TgiGenerate, about(&stops), pieces(&stream, &cuts), 1 << 20);
        prop_assert_eq!(is_clean, Some(true));
        let streamed = Message::of(events);
        prop_assert_eq!(&streamed.text, &whole.text);
        prop_assert_eq!(&streamed.finish, &whole.finish);
        prop_assert_eq!(streamed.tokens, Some(3 + tokens.len() as u64));
        prop_assert_eq!(whole.tokens, streamed.tokens);
    }
}
