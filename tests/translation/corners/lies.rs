//! Replies that would pass for what was asked, were they read in another way than clients do. Each
//! hole has a row that must be refused, and beside it an honest reply that must come through.

use super::{chunk, chunks, events, planned, tool, translated};
use isogloss_core::exchange::{self, End, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};

/// Nothing is constrained by this server: whatever passes was verified.
const SERVER: &str = "openai";

fn schema() -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {
        "type": "object", "properties": {"age": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["age"], "additionalProperties": false}}}})
}

fn tools(choice: &str) -> Value {
    json!({"tools": [tool("f"), tool("g")], "tool_choice": choice})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn piece(index: u32, id: &str, name: &str, arguments: &str) -> Value {
    let mut call = call(id, name, arguments);
    call["index"] = json!(index);
    json!({"tool_calls": [call]})
}

/// A whole reply of choices.
fn whole_of(choices: &Value) -> Vec<u8> {
    json!({"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": choices})
        .to_string()
        .into_bytes()
}

fn whole(message: &Value, finish: &str) -> Vec<u8> {
    let mut message = message.clone();
    message["role"] = json!("assistant");
    whole_of(&json!([{"index": 0, "message": message, "finish_reason": finish}]))
}

fn is_refused(told: &str) -> bool {
    told.contains("VIOLATION ") || told.contains("ERROR ")
}

/// What a whole reply says: its content, or the arguments of its calls.
fn said(told: &str) -> Vec<Value> {
    assert!(!is_refused(told), "{told}");
    let reply: Value = serde_json::from_str(told).unwrap();
    let message = &reply["choices"][0]["message"];
    assert_eq!(message["role"], "assistant");
    match message["tool_calls"].as_array() {
        Some(calls) => (calls
            .iter()
            .map(|call| call["function"]["arguments"].clone()))
        .collect(),
        None => vec![message["content"].clone()],
    }
}

/// What the openai package puts together of a stream: content, and the last finish reason.
fn folded(told: &str) -> (String, String) {
    assert!(!is_refused(told), "{told}");
    let (mut content, mut finish) = (String::new(), String::new());
    for chunk in chunks(told) {
        for choice in chunk["choices"].as_array().unwrap() {
            assert_eq!(choice["index"], 0, "{told}");
            content += choice["delta"]["content"].as_str().unwrap_or_default();
            finish = (choice["finish_reason"].as_str()).map_or(finish, str::to_owned);
        }
    }
    (content, finish)
}

#[test]
fn content_beside_a_refusal_is_verified_and_a_refusal_alone_is_kept() {
    let wrong = json!({"content": "{\"age\":\"bad\"}", "refusal": "n"});
    let told = translated(SERVER, &schema(), false, &whole(&wrong, "stop"));
    assert!(told.starts_with("VIOLATION type"), "{told}");
    let calls =
        json!({"content": null, "refusal": "n", "tool_calls": [call("1", "f", "{\"a\":\"x\"}")]});
    let told = translated(SERVER, &tools("auto"), false, &whole(&calls, "tool_calls"));
    assert!(told.starts_with("VIOLATION type"), "{told}");

    let (content, refusal) = (
        json!({"content": "{\"age\":\"bad\"}"}),
        json!({"refusal": "n"}),
    );
    for order in [[&content, &refusal], [&refusal, &content]] {
        let stream = [
            chunk(order[0], None),
            chunk(order[1], None),
            chunk(&json!({}), Some("stop")),
        ];
        let told = translated(SERVER, &schema(), true, &events(&stream));
        assert!(is_refused(&told), "{told}");
    }

    let alone = json!({"content": null, "refusal": "I will not."});
    for demand in [schema(), tools("required")] {
        let told = translated(SERVER, &demand, false, &whole(&alone, "stop"));
        let reply: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(reply["choices"][0]["message"]["refusal"], "I will not.");
        let stream = [
            chunk(
                &json!({"role": "assistant", "refusal": "I will not."}),
                None,
            ),
            chunk(&json!({}), Some("stop")),
        ];
        let told = translated(SERVER, &demand, true, &events(&stream));
        assert_eq!(
            chunks(&told)[0]["choices"][0]["delta"]["refusal"],
            "I will not."
        );
    }
}

#[test]
fn what_follows_the_finish_never_reaches_the_client() {
    let good = json!({"role": "assistant", "content": "{\"age\":5}"});
    let late = [
        json!({"content": " {\"age\":6}"}),
        json!({"refusal": "n"}),
        piece(0, "1", "f", "{}"),
    ];
    for late in late {
        let stream = [chunk(&good, Some("stop")), chunk(&late, None)];
        let told = translated(SERVER, &schema(), true, &events(&stream));
        assert!(is_refused(&told), "{told}");
    }
    // In one chunk, too.
    let mut both = chunk(&good, Some("stop"));
    both["choices"]
        .as_array_mut()
        .unwrap()
        .push(json!({"index": 0, "delta": {"content": "x"}, "finish_reason": null}));
    assert!(is_refused(&translated(
        SERVER,
        &schema(),
        true,
        &events(&[both])
    )));
    // Blanks and empty pieces say nothing.
    let stream = [
        chunk(&good, Some("stop")),
        chunk(&json!({"content": ""}), None),
        chunk(&json!({"content": "\n"}), None),
    ];
    let told = translated(SERVER, &schema(), true, &events(&stream));
    assert_eq!(folded(&told), ("{\"age\":5}".to_owned(), "stop".to_owned()));
}

#[test]
fn the_first_finish_of_a_choice_decides() {
    let cut = json!({"role": "assistant", "content": "{\"age\":"});
    let stream = [chunk(&cut, Some("length")), chunk(&json!({}), Some("stop"))];
    let told = translated(SERVER, &schema(), true, &events(&stream));
    assert_eq!(folded(&told), ("{\"age\":".to_owned(), "length".to_owned()));
    // What counts tokens goes on all the same.
    let mut last = chunk(&json!({}), Some("stop"));
    last["usage"] = json!({"total_tokens": 3});
    let mut demand = schema();
    demand["stream"] = json!(true);
    demand["stream_options"] = json!({"include_usage": true});
    let told = translated(
        SERVER,
        &demand,
        true,
        &events(&[chunk(&cut, Some("length")), last]),
    );
    assert!(told.contains("\"total_tokens\":3"), "{told}");
    assert_eq!(folded(&told).1, "length");
}

#[test]
fn a_cut_excuses_only_what_is_unfinished() {
    let wrong = [
        "{\"age\":\"x\"}",
        "{\"age\":5,\"other\":1}",
        "{\"age\":\"x\",",
        "{\"age\":\"x",
        "{\"tags\":[1,",
        "{\"age\":5,\"tags\":{",
        "[",
    ];
    let right = [
        "",
        "{",
        "{\"ag",
        "{\"age\":",
        "{\"age\":5",
        "{\"age\":5}",
        "{\"tags\":[\"a\",\"b",
        "{\"tags\":[]",
    ];
    for finish in ["length", "content_filter"] {
        for (texts, is_wrong) in [(&wrong[..], true), (&right[..], false)] {
            for text in texts {
                let message = json!({"role": "assistant", "content": text});
                let told = translated(SERVER, &schema(), false, &whole(&message, finish));
                assert_eq!(is_refused(&told), is_wrong, "{finish} {text}: {told}");
                let stream = [chunk(&message, Some(finish))];
                let told = translated(SERVER, &schema(), true, &events(&stream));
                assert_eq!(is_refused(&told), is_wrong, "{finish} {text}: {told}");
            }
        }
    }
    // Of several calls all but the last are whole.
    let calls = |first: &str, last: &str| {
        let calls = json!([call("1", "f", first), call("2", "g", last)]);
        let body = whole(&json!({"content": null, "tool_calls": calls}), "length");
        is_refused(&translated(SERVER, &tools("auto"), false, &body))
    };
    assert!(!calls("{\"a\":1}", "{\"a\":"));
    assert!(calls("{\"a\":", "{\"a\":1}"));
    assert!(calls("{\"a\":1}", "{\"a\":\"x\"}"));
    assert!(calls("{\"a\":1}", "{\"a\":\"x\""));
}

#[test]
fn an_index_is_a_number_and_choices_are_as_many_as_were_asked_for() {
    let choice = |index: Value, text: &str| json!({"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    let good = "{\"age\":5}";
    for index in [
        json!("zero"),
        json!(-1),
        json!(4_294_967_296_u64),
        json!(0.5),
        json!([0]),
    ] {
        let body = whole_of(&json!([choice(index.clone(), good)]));
        assert!(
            is_refused(&translated(SERVER, &schema(), false, &body)),
            "{index}"
        );
        let mut stream = chunk(&json!({"role": "assistant", "content": good}), Some("stop"));
        stream["choices"][0]["index"] = index.clone();
        assert!(
            is_refused(&translated(SERVER, &schema(), true, &events(&[stream]))),
            "{index}"
        );
    }
    let mut two = schema();
    two["n"] = json!(2);
    let rows = [
        (&schema(), json!([choice(json!(0), good)]), false),
        (
            &schema(),
            json!([choice(json!(0), good), choice(json!(1), good)]),
            true,
        ),
        (&schema(), json!([choice(json!(1), good)]), true),
        (
            &two,
            json!([choice(json!(0), good), choice(json!(1), good)]),
            false,
        ),
        (&two, json!([choice(json!(0), good)]), true),
        (
            &two,
            json!([choice(json!(0), good), choice(json!(0), good)]),
            true,
        ),
    ];
    for (demand, choices, is_wrong) in rows {
        let told = translated(SERVER, demand, false, &whole_of(&choices));
        assert_eq!(is_refused(&told), is_wrong, "{choices}: {told}");
        let as_chunks: Vec<Value> = (choices.as_array().unwrap().iter())
            .map(|choice| {
                let mut one = chunk(&choice["message"], Some("stop"));
                one["choices"][0]["index"] = choice["index"].clone();
                one
            })
            .collect();
        let told = translated(SERVER, demand, true, &events(&as_chunks));
        assert_eq!(is_refused(&told), is_wrong, "{choices}: {told}");
    }
    // One that is left out is the place, and is written.
    let body = whole_of(
        &json!([{"message": {"role": "assistant", "content": good}, "finish_reason": "stop"}]),
    );
    let told = translated(SERVER, &schema(), false, &body);
    assert!(told.contains("\"index\":0"), "{told}");
}

#[test]
fn content_in_parts_becomes_the_text_that_clients_expect() {
    let parts = json!({"role": "assistant", "content": [{"type": "text", "text": "{\"age\""}, {"type": "text", "text": ":5}"}]});
    let told = translated(SERVER, &schema(), false, &whole(&parts, "stop"));
    assert_eq!(said(&told), [json!("{\"age\":5}")]);
    let told = translated(
        SERVER,
        &schema(),
        true,
        &events(&[chunk(&parts, Some("stop"))]),
    );
    assert_eq!(folded(&told).0, "{\"age\":5}");
    // An object is its JSON, in a whole reply (Cloudflare's JSON mode).
    let object = json!({"role": "assistant", "content": {"age": 5}});
    let told = translated(SERVER, &schema(), false, &whole(&object, "stop"));
    assert_eq!(said(&told), [json!("{\"age\":5}")]);
    let told = translated(
        SERVER,
        &schema(),
        true,
        &events(&[chunk(&object, Some("stop"))]),
    );
    assert!(is_refused(&told), "{told}");
    for content in [json!(5), json!(true)] {
        let told = translated(
            SERVER,
            &schema(),
            false,
            &whole(&json!({"content": content}), "stop"),
        );
        assert!(is_refused(&told), "{told}");
    }
}

#[test]
fn a_name_that_stands_twice_is_read_one_way_or_not_at_all() {
    // In what the model wrote readers differ.
    let twice = "{\"age\":\"bad\",\"age\":5}";
    let told = translated(
        SERVER,
        &schema(),
        false,
        &whole(&json!({"content": twice}), "stop"),
    );
    assert!(told.starts_with("VIOLATION json"), "{told}");
    let told = translated(
        SERVER,
        &json!({"response_format": {"type": "json_object"}}),
        false,
        &whole(&json!({"content": twice}), "stop"),
    );
    assert!(told.starts_with("VIOLATION json"), "{told}");
    let calls = json!({"tool_calls": [call("1", "f", "{\"a\":\"x\",\"a\":5}")]});
    let told = translated(
        SERVER,
        &tools("required"),
        false,
        &whole(&calls, "tool_calls"),
    );
    assert!(told.starts_with("VIOLATION json"), "{told}");

    // In the server's own JSON what was verified is written anew.
    let body = br#"{"id":"r","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"bad"},"message":{"role":"assistant","content":"bad","content":"{\"age\":5}"},"finish_reason":"stop"}]}"#;
    let told = translated(SERVER, &schema(), false, body);
    assert!(!told.contains("bad"), "{told}");
    assert_eq!(said(&told), [json!("{\"age\":5}")]);
}

#[test]
fn what_is_said_in_a_second_place_is_left_out() {
    let message = json!({"role": "assistant", "content": "{\"age\":5}", "parsed": {"age": "bad"}});
    let choice = json!({"index": 0, "message": message, "delta": {"content": "bad"}, "text": "bad", "finish_reason": "stop", "stop_reason": 7});
    let told = translated(SERVER, &schema(), false, &whole_of(&json!([choice])));
    assert!(!told.contains("bad"), "{told}");
    assert!(
        told.contains("\"stop_reason\":7"),
        "what nobody knows rides along: {told}"
    );
    let mut one = chunk(&message, Some("stop"));
    one["choices"][0]["message"] = json!({"content": "bad"});
    let told = translated(SERVER, &schema(), true, &events(&[one]));
    assert!(!told.contains("bad"), "{told}");
}

#[test]
fn what_readers_that_mind_no_case_would_take_is_left_out() {
    let message = json!({"role": "assistant", "content": "{\"age\":5}", "Content": "bad", "x_Content": "kept"});
    let choice = json!({"index": 0, "message": message, "Message": {"content": "bad"}, "finish_reason": "stop"});
    let mut reply: Value = serde_json::from_slice(&whole_of(&json!([choice]))).unwrap();
    reply["choice\u{17f}"] = json!([{"index": 0, "message": {"content": "bad"}}]);
    let told = translated(SERVER, &schema(), false, reply.to_string().as_bytes());
    assert!(!told.contains("bad"), "{told}");
    assert!(told.contains("\"x_Content\":\"kept\""), "{told}");
    assert_eq!(said(&told), [json!("{\"age\":5}")]);
}

#[test]
fn another_role_than_the_assistants_is_never_passed_on() {
    let told = translated(
        SERVER,
        &schema(),
        true,
        &events(&[chunk(
            &json!({"role": "user", "content": "{\"age\":5}"}),
            Some("stop"),
        )]),
    );
    assert_eq!(chunks(&told)[0]["choices"][0]["delta"]["role"], "assistant");
}

#[test]
fn a_call_is_one_thing_from_its_beginning_to_its_end() {
    let both = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}, "custom": {"name": "f", "input": "x"}});
    let told = translated(
        SERVER,
        &tools("auto"),
        false,
        &whole(&json!({"tool_calls": [both]}), "tool_calls"),
    );
    assert!(is_refused(&told), "{told}");
    let custom =
        json!({"id": "1", "type": "custom", "custom": {"name": "f", "input": "{\"a\":1}"}});
    let told = translated(
        SERVER,
        &tools("auto"),
        false,
        &whole(&json!({"tool_calls": [custom]}), "tool_calls"),
    );
    assert!(is_refused(&told), "{told}");

    let streamed = |pieces: &[Value]| {
        let mut stream: Vec<Value> = pieces.iter().map(|piece| chunk(piece, None)).collect();
        stream.push(chunk(&json!({}), Some("tool_calls")));
        translated(SERVER, &tools("auto"), true, &events(&stream))
    };
    let more = |index: u32, name: &str, text: &str| json!({"tool_calls": [{"index": index, "function": {"name": name, "arguments": text}}]});
    // A name that is repeated is framing; one that changes is another call.
    assert!(!is_refused(&streamed(&[
        piece(0, "1", "f", "{\"a\""),
        more(0, "f", ":1}")
    ])));
    assert!(is_refused(&streamed(&[
        piece(0, "1", "f", "{\"a\""),
        more(0, "g", ":1}")
    ])));
    // What was closed does not open again.
    let again = [
        piece(0, "1", "f", "{\"a\":1}"),
        piece(1, "2", "g", "{}"),
        more(0, "f", " "),
    ];
    assert!(is_refused(&streamed(&again)));
}

#[test]
fn every_call_has_an_id_of_its_own() {
    let calls = json!([
        call("1", "f", "{}"),
        call("1", "g", "{}"),
        call("", "g", "{}")
    ]);
    let told = translated(
        SERVER,
        &tools("auto"),
        false,
        &whole(&json!({"tool_calls": calls}), "tool_calls"),
    );
    let reply: Value = serde_json::from_str(&told).unwrap();
    let calls = reply["choices"][0]["message"]["tool_calls"]
        .as_array()
        .unwrap();
    let ids: std::collections::HashSet<_> = calls
        .iter()
        .map(|call| call["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 3, "{told}");
    let stream = [
        chunk(&piece(0, "1", "f", "{}"), None),
        chunk(&piece(1, "1", "g", "{}"), Some("tool_calls")),
    ];
    let told = translated(SERVER, &tools("auto"), true, &events(&stream));
    let ids: std::collections::HashSet<_> = (chunks(&told).iter())
        .filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array())
        .flatten()
        .filter_map(|call| call["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), 2, "{told}");
}

#[test]
fn other_wires_end_where_they_say_so() {
    let part = |text: &str, finish: Value| json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": finish}]});
    let body = |events: &[Value]| -> Vec<u8> {
        (events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect::<String>())
        .into_bytes()
    };
    let good = part("{\"age\":5}", json!("STOP"));
    let told = translated(
        "gemini",
        &schema(),
        true,
        &body(std::slice::from_ref(&good)),
    );
    assert_eq!(folded(&told).0, "{\"age\":5}");
    let told = translated(
        "gemini",
        &schema(),
        true,
        &body(&[good, part(" and more", json!("STOP"))]),
    );
    assert!(is_refused(&told), "{told}");
    let told = translated(
        "gemini",
        &schema(),
        true,
        &body(&[part("{\"age\":\"x\"}", json!("SAFETY"))]),
    );
    assert!(is_refused(&told), "{told}");
}

#[test]
fn a_stream_that_nobody_asked_for_is_read_by_the_same_rules() {
    let told = |demand: &Value, stream: &[Value]| {
        let exchange = super::planned(SERVER, demand);
        let checks = super::replay::checks(&exchange).unwrap();
        exchange::reply_of_events(&exchange, &checks, Ids::new(1), &events(stream))
    };
    let refusal = chunk(
        &json!({"role": "assistant", "refusal": "I will not."}),
        Some("stop"),
    );
    let reply: Value = serde_json::from_slice(&told(&schema(), &[refusal]).unwrap().body).unwrap();
    assert_eq!(reply["choices"][0]["message"]["refusal"], "I will not.");
    let good = chunk(
        &json!({"role": "assistant", "content": "{\"age\":5}"}),
        Some("stop"),
    );
    assert!(told(&schema(), std::slice::from_ref(&good)).is_ok());
    let wrong = [
        vec![chunk(
            &json!({"content": "{\"age\":\"bad\"}", "refusal": "n"}),
            Some("stop"),
        )],
        vec![good.clone(), chunk(&json!({"content": "x"}), None)],
        vec![
            chunk(&json!({"content": "{\"age\":\"x\""}), Some("length")),
            good,
        ],
    ];
    for stream in wrong {
        assert!(told(&schema(), &stream).is_err(), "{stream:?}");
    }
}

#[test]
fn a_finish_that_tells_of_calls_comes_with_calls() {
    let empty = json!({"role": "assistant", "content": "none"});
    let told = translated(SERVER, &tools("auto"), false, &whole(&empty, "tool_calls"));
    assert!(told.contains("\"finish_reason\":\"stop\""), "{told}");
    let told = translated(
        SERVER,
        &tools("auto"),
        true,
        &events(&[chunk(&empty, Some("tool_calls"))]),
    );
    assert_eq!(folded(&told), ("none".to_owned(), "stop".to_owned()));
    let called = [
        chunk(&piece(0, "1", "f", "{}"), None),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let told = translated(SERVER, &tools("auto"), true, &events(&called));
    assert_eq!(folded(&told).1, "tool_calls");
}

#[test]
fn no_text_is_a_call_of_a_tool_that_the_server_would_have_to_host() {
    let hosted = json!({"type": "web_search"});
    let demand = json!({"tools": [hosted, tool("f")], "tool_choice": "auto"});
    let says = |name: &str| {
        let text = json!({"name": name, "arguments": {"a": 1}}).to_string();
        whole(&json!({ "content": text }), "stop")
    };
    let told = translated("plain", &demand, false, &says("f"));
    assert_eq!(said(&told), ["{\"a\":1}"], "an honest call");
    for server in ["llama-cpp", "plain", "vllm@0.32.0"] {
        let told = translated(server, &demand, false, &says("web_search"));
        assert!(is_refused(&told) || !told.contains("tool_calls"), "{told}");
    }
}

#[test]
fn a_call_that_never_gets_a_name_is_none_and_a_late_name_is_one() {
    let nameless = json!({"index": 0, "id": "1", "type": "function",
        "function": {"name": "", "arguments": "{}"}});
    let mut named = call("2", "f", "{\"a\":1}");
    named["index"] = json!(1);
    for pieces in [
        vec![&nameless],
        vec![&nameless, &named],
        vec![&named, &nameless],
    ] {
        let mut stream: Vec<Value> = pieces
            .iter()
            .map(|piece| chunk(&json!({"tool_calls": [piece]}), None))
            .collect();
        stream.push(chunk(&json!({}), Some("tool_calls")));
        for calls in ["auto", "required"] {
            let told = translated(SERVER, &tools(calls), true, &events(&stream));
            assert!(is_refused(&told), "{told}");
        }
    }

    // What has neither name nor id nor input says nothing, and takes no place.
    let blank = json!({"index": 0, "function": {"arguments": ""}});
    let stream = [
        chunk(&json!({"tool_calls": [blank]}), None),
        chunk(&json!({"tool_calls": [named]}), None),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let told = translated(SERVER, &tools("required"), true, &events(&stream));
    assert!(!is_refused(&told), "{told}");
    let calls = chunks(&told).into_iter().flat_map(|chunk| {
        let calls = chunk["choices"][0]["delta"]["tool_calls"]
            .as_array()
            .cloned();
        calls.unwrap_or_default()
    });
    let calls: Vec<Value> = calls.collect();
    assert!(calls.iter().all(|call| call["index"] == 0), "{calls:?}");
    assert_eq!(calls[0]["function"]["name"], "f");
}

#[test]
fn a_stream_that_is_let_pass_says_before_its_end_what_it_breaks() {
    let wrong = json!({"content": "{\"age\":\"bad\"}"});
    let right = json!({"content": "{\"age\":5}"});
    for (content, is_wrong) in [(&wrong, true), (&right, false)] {
        let stream = [chunk(content, None), chunk(&json!({}), Some("stop"))];
        let mut exchange = planned(SERVER, &schema());
        exchange.passes_violations = true;
        let checks = exchange.compile(&SchemaLimits::default()).unwrap();
        let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
        let mut out = Vec::new();
        translator.push(&events(&stream), &mut out).unwrap();
        translator.finish(End::Eof, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let end = ": x-isogloss-violation: type\n\ndata: [DONE]\n\n";
        assert_eq!(text.ends_with(end), is_wrong, "{text}");
        assert_eq!(text.contains("x-isogloss-violation"), is_wrong, "{text}");
    }
}
