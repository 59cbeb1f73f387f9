#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;

fn talk() -> Box<dyn Talk> {
    ResponsesSocket.talk(1 << 20)
}

fn taken(talk: &mut dyn Talk, message: &Value) -> Result<Asked, Error> {
    talk.take(message.to_string().as_bytes(), &Ids::new(7).at(9))
}

/// The body of the request that a message is.
fn request(talk: &mut dyn Talk, mut message: Value) -> Value {
    message["type"] = json!("response.create");
    match taken(talk, &message).unwrap() {
        Asked::Request(body) => serde_json::from_slice(&body).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn told(talk: &mut dyn Talk, event: &Value) -> Value {
    serde_json::from_slice(&talk.tell(event.to_string().into_bytes())).unwrap()
}

/// Ends a turn with this reply.
fn completed(talk: &mut dyn Talk, id: &str, store: bool, output: Value) -> Value {
    let response =
        json!({"id": id, "store": store, "previous_response_id": null, "output": output});
    told(
        talk,
        &json!({"type": "response.completed", "response": response}),
    )
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": text})
}

#[test]
fn a_message_is_the_body_of_a_streamed_request() {
    let mut talk = talk();
    let body = request(
        &mut *talk,
        json!({"model": "m", "input": "x", "text": {"format": {"type": "json_object"}}, "own": [1.50]}),
    );
    assert_eq!(
        body,
        json!({"model": "m", "input": "x", "text": {"format": {"type": "json_object"}}, "own": [1.50], "stream": true})
    );
}

#[test]
fn what_is_no_request_is_refused_by_name() {
    let create = |more: Value| {
        let mut message = json!({"type": "response.create", "model": "m", "input": "x"});
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        message
    };
    for (message, param) in [
        (json!({}), Some("type")),
        (json!({"type": "response.cancel"}), Some("type")),
        (json!({"type": 1}), Some("type")),
        (create(json!({"stream_id": "a"})), Some("stream_id")),
        (create(json!({"generate": "no"})), Some("generate")),
        (
            create(json!({"previous_response_id": 1})),
            Some("previous_response_id"),
        ),
        (create(json!({"input": 1})), Some("input")),
        (json!([]), None),
    ] {
        let error = taken(&mut *talk(), &message).unwrap_err();
        assert_eq!(
            (error.status(), error.param.as_deref()),
            (400, param),
            "{message}"
        );
    }
    // Two readers could read it in two ways.
    let twice = br#"{"type":"response.create","model":"m","model":"n"}"#;
    let error = talk().take(twice, &Ids::new(1)).unwrap_err();
    assert_eq!(error.kind, Kind::DuplicateKey);
    let processed = json!({"type": "response.processed", "response_id": "resp_1"});
    assert!(matches!(
        taken(&mut *talk(), &processed),
        Ok(Asked::Nothing)
    ));
}

#[test]
fn a_reply_that_nobody_stores_is_gone_on_from() {
    let mut talk = talk();
    request(&mut *talk, json!({"input": "one", "store": false}));
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{ }"});
    let sealed = json!({"type": "reasoning", "encrypted_content": "x", "summary": []});
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": null});
    completed(&mut *talk, "resp_1", false, json!([bare, sealed, call]));
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "1"});
    let body = request(
        &mut *talk,
        json!({"input": [output], "store": false, "previous_response_id": "resp_1"}),
    );
    assert_eq!(body["input"], json!([message("one"), sealed, call, output]));
    assert_eq!(body.get("previous_response_id"), None);
    // The client is told what it asked for.
    let event = completed(&mut *talk, "resp_2", false, json!([]));
    assert_eq!(event["response"]["previous_response_id"], "resp_1");
    // Only the last one is remembered: others are for whoever stores replies.
    let body = request(
        &mut *talk,
        json!({"input": "x", "previous_response_id": "resp_1"}),
    );
    assert_eq!(
        (&body["input"], &body["previous_response_id"]),
        (&json!("x"), &json!("resp_1"))
    );
    assert!(taken(&mut *talk, &json!({"type": "x"})).is_err());
    let body = request(
        &mut *talk,
        json!({"input": "three", "previous_response_id": "resp_2"}),
    );
    assert_eq!(
        body["input"],
        json!([message("one"), sealed, call, output, message("three")])
    );
}

#[test]
fn a_reply_that_somebody_stores_is_left_to_them() {
    let mut talk = talk();
    request(&mut *talk, json!({"input": "one"}));
    completed(&mut *talk, "resp_1", true, json!([]));
    let next = json!({"input": "two", "store": false, "previous_response_id": "resp_1"});
    let body = request(&mut *talk, next);
    assert_eq!(
        (&body["input"], &body["previous_response_id"]),
        (&json!("two"), &json!("resp_1"))
    );
    completed(&mut *talk, "resp_2", false, json!([message("said")]));
    // The stored one is still where the conversation begins.
    let next = json!({"input": "three", "previous_response_id": "resp_2"});
    let body = request(&mut *talk, next);
    assert_eq!(body["previous_response_id"], "resp_1");
    assert_eq!(
        body["input"],
        json!([message("two"), message("said"), message("three")])
    );
    let event = completed(&mut *talk, "resp_3", false, json!([]));
    assert_eq!(event["response"]["previous_response_id"], "resp_2");
}

#[test]
fn a_request_that_fails_takes_what_it_went_on_from_along() {
    let after = json!({"input": "two", "previous_response_id": "resp_1"});
    for is_refused in [true, false] {
        let mut talk = talk();
        request(&mut *talk, json!({"input": "one"}));
        completed(&mut *talk, "resp_1", false, json!([]));
        request(&mut *talk, after.clone());
        if is_refused {
            talk.refuse(500, b"{}");
        } else {
            told(
                &mut *talk,
                &json!({"type": "response.failed", "response": {"id": "resp_2"}}),
            );
        }
        let body = request(&mut *talk, after.clone());
        assert_eq!(body["previous_response_id"], "resp_1");
    }
}

#[test]
fn what_is_longer_than_a_request_may_be_is_not_remembered() {
    let mut talk = ResponsesSocket.talk(60);
    for (text, is_known) in [("short", true), ("much too long for that", false)] {
        request(&mut *talk, json!({"input": text}));
        completed(&mut *talk, "resp_1", false, json!([]));
        let body = request(
            &mut *talk,
            json!({"input": "x", "previous_response_id": "resp_1"}),
        );
        assert_eq!(
            body.get("previous_response_id").is_none(),
            is_known,
            "{text}"
        );
    }
}

#[test]
fn a_request_that_only_prepares_is_answered_with_nothing_and_gone_on_from() {
    let mut talk = talk();
    let tool = json!({"type": "function", "name": "f", "parameters": {"type": "object"}});
    let prepare = json!({"type": "response.create", "model": "m", "generate": false,
        "input": "one", "tools": [tool]});
    let Asked::Answer(events) = taken(&mut *talk, &prepare).unwrap() else {
        panic!("a server would be asked")
    };
    let events: Vec<Value> = (events.iter())
        .map(|event| serde_json::from_slice(event).unwrap())
        .collect();
    let kinds: Vec<_> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.completed"
        ]
    );
    let response = &events[2]["response"];
    assert_eq!(
        (&response["output"], &response["store"]),
        (&json!([]), &json!(false))
    );
    assert_eq!(response["tools"][0]["name"], "f");
    let body = request(
        &mut *talk,
        json!({"model": "m", "input": "two", "previous_response_id": response["id"]}),
    );
    assert_eq!(body["input"], json!([message("one"), message("two")]));
    // What would be refused later is refused now.
    let wrong = json!({"type": "response.create", "model": "m", "generate": false, "input": "x", "tools": 1});
    assert!(taken(&mut *talk, &wrong).is_err());
}

#[test]
fn the_first_event_says_what_the_head_said_and_a_text_that_speaks_of_replies_stays_one() {
    let mut talk = talk();
    request(&mut *talk, json!({"input": "one"}));
    talk.head(vec![(
        "x-isogloss-strategy".to_owned(),
        "instruct".to_owned(),
    )]);
    let first = json!({"type": "response.created", "response": {"id": "resp_1"}});
    let first = told(&mut *talk, &first);
    assert_eq!(first["headers"], json!({"x-isogloss-strategy": "instruct"}));
    assert_eq!(first["response"]["id"], "resp_1");
    let event = br#"{ "type": "response.output_text.delta", "delta": "\"response\":1" }"#.to_vec();
    assert_eq!(talk.tell(event.clone()), event);
}

#[test]
fn an_error_has_its_status_and_a_code_that_makes_clients_send_everything() {
    let mut talk = talk();
    talk.head(vec![("retry-after".to_owned(), "1".to_owned())]);
    let body = br#"{"error":{"message":"busy","type":"t","param":null,"code":"overloaded"}}"#;
    let event: Value = serde_json::from_slice(&talk.refuse(503, body)).unwrap();
    assert_eq!(
        event,
        json!({"type": "error", "status": 503, "headers": {"retry-after": "1"},
            "error": {"message": "busy", "type": "t", "param": null, "code": "overloaded"}})
    );
    let body =
        br#"{"error":{"message":"m","param":"previous_response_id","code":"invalid_request"}}"#;
    let event: Value = serde_json::from_slice(&talk.refuse(400, body)).unwrap();
    assert_eq!(event["error"]["code"], "previous_response_not_found");
    let event: Value = serde_json::from_slice(&talk.expired()).unwrap();
    assert_eq!(event["error"]["code"], "websocket_connection_limit_reached");
}

#[test]
fn an_error_in_nobodys_shape_is_told_in_its_own_words() {
    let mut talk = ResponsesSocket.talk(1 << 20);
    for (body, message) in [
        (
            &b"{\"detail\":\"no such model\"}"[..],
            "{\"detail\":\"no such model\"}",
        ),
        (b"{\"error\":\"busy\"}", "{\"error\":\"busy\"}"),
        (b"<html>bad gateway</html>\n", "<html>bad gateway</html>"),
        (b"", "the server answered 502, and nothing else"),
    ] {
        let event: Value = serde_json::from_slice(&talk.refuse(502, body)).unwrap();
        assert_eq!(event["status"], 502);
        assert_eq!(event["error"]["message"], message);
        assert_eq!(event["error"]["type"], "upstream_error");
    }
}
