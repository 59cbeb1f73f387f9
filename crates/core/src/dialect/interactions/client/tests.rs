#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use super::*;
use crate::dialect::client::{Client, Terms};
use crate::ir::{
    Amount, CallInput, Choice, Constraint, Delta, Effort, FinishReason, Ids, Part, Role, Seal,
    ToolChoice, Usage,
};
use serde_json::Value;

fn read(body: &Value) -> Result<Request, Error> {
    Interactions::Kept.read("/v1beta/interactions", body.to_string().as_bytes())
}

fn turns(input: &Value) -> Vec<Turn> {
    let request = read(&json!({"model": "m", "input": input})).unwrap();
    Interactions::Kept.turns(&request).unwrap()
}

fn fails_at(body: &Value) -> String {
    let read = read(body).and_then(|request| Interactions::Kept.turns(&request));
    read.unwrap_err().param.unwrap()
}

fn schema_of(body: &Value) -> Option<(String, Value)> {
    let stated = read(body).unwrap().constraint?;
    match stated.constraint {
        Constraint::JsonSchema(schema) => Some((stated.spelling.0, schema)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_have_chats_names() {
    let config = json!({"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 99, "seed": 7, "stop_sequences": ["x"],
        "thinking_level": "low", "thinking_summaries": "auto", "image_config": {"aspect_ratio": "1:1"}});
    let request = read(
        &json!({"model": "models/m", "input": "hi", "stream": true, "generation_config": config}),
    )
    .unwrap();
    assert_eq!(request.model, "m");
    let settings = serde_json::to_value(request.settings()).unwrap();
    assert_eq!(settings["max_tokens"], 99);
    assert_eq!(settings["stop"], json!(["x"]));
    assert_eq!(settings["stream"], true);
    assert_eq!(
        request.thinking.unwrap().amount,
        Amount::Effort(Effort::Low)
    );
    assert!(!request.hides_thoughts);
    // Who wants to see thoughts wants some.
    let config = json!({"thinking_summaries": "auto"});
    let body = json!({"model": "m", "input": "hi", "generation_config": config});
    let thinking = read(&body).unwrap().thinking.unwrap();
    assert_eq!(thinking.amount, Amount::On);
    assert_eq!(thinking.origin.0, "generation_config.thinking_summaries");
    let lost: Vec<&str> = request.losses.iter().map(|loss| &*loss.pointer).collect();
    assert_eq!(lost, ["/generation_config/image_config"]);
}

#[test]
fn a_format_is_a_schema_in_whichever_form_it_is_stated() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let text = json!({"type": "text", "mime_type": "application/json", "schema": schema});
    for (format, at) in [
        (text.clone(), "response_format.schema"),
        (json!([text]), "response_format[0].schema"),
        (
            json!({"mime_type": "application/json", "schema": schema}),
            "response_format.schema",
        ),
        (schema.clone(), "response_format"),
    ] {
        let body = json!({"model": "m", "input": "hi", "response_format": format, "response_mime_type": "application/json"});
        assert_eq!(
            schema_of(&body),
            Some((at.to_owned(), schema.clone())),
            "{body}"
        );
    }
    for (more, expected) in [
        (
            json!({"response_mime_type": "application/json"}),
            Some(json!({})),
        ),
        (
            json!({"response_format": {"type": "text", "mime_type": "application/json"}}),
            Some(json!({})),
        ),
        (json!({"response_format": {"type": "text"}}), None),
        (json!({"response_mime_type": "text/plain"}), None),
        (json!({"response_format": []}), None),
    ] {
        let mut body = json!({"model": "m", "input": "hi"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        assert_eq!(
            schema_of(&body).map(|(_, schema)| schema),
            expected,
            "{body}"
        );
    }
    for (more, at) in [
        (
            json!({"response_format": {"type": "image"}}),
            "response_format",
        ),
        (
            json!({"response_format": {"type": "text", "mime_type": "text/csv"}}),
            "response_format.mime_type",
        ),
        (
            json!({"response_format": {"type": "text", "mime_type": "text/plain", "schema": schema}}),
            "response_format.schema",
        ),
        (
            json!({"response_format": [text, text]}),
            "response_format[1].schema",
        ),
        (
            json!({"response_mime_type": "text/csv"}),
            "response_mime_type",
        ),
        (
            json!({"response_mime_type": "text/plain", "response_format": schema}),
            "response_format",
        ),
        (
            json!({"response_format": {"type": "text", "json_schema": schema}}),
            "response_format.json_schema",
        ),
        (
            json!({"response_modalities": ["image"]}),
            "response_modalities",
        ),
        (
            json!({"response_format": {"type": "text", "schema": 7}}),
            "response_format.schema",
        ),
    ] {
        let mut body = json!({"model": "m", "input": "hi"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        assert_eq!(fails_at(&body), at, "{body}");
    }
}

#[test]
fn a_choice_is_a_word_or_names_functions() {
    let tools = json!([
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"type": "function", "name": "g"},
        {"type": "google_search"},
    ]);
    let of = |choice: Value| {
        let request = read(
            &json!({"model": "m", "input": "hi", "tools": tools, "generation_config": {"tool_choice": choice}}),
        );
        request.map(|request| {
            (
                request.tool_choice,
                request.tools.len(),
                request.losses.len(),
            )
        })
    };
    let allowed =
        |mode: &str, names: Value| json!({"allowed_tools": {"mode": mode, "tools": names}});
    for (choice, expected) in [
        (json!(null), ToolChoice::Auto),
        (json!("auto"), ToolChoice::Auto),
        (json!("any"), ToolChoice::Required),
        (json!("none"), ToolChoice::None),
        (json!("validated"), ToolChoice::Auto),
        (
            allowed("any", json!(["f"])),
            ToolChoice::Named("f".to_owned()),
        ),
        (
            allowed("validated", json!(["f"])),
            ToolChoice::Allowed {
                required: false,
                names: vec!["f".to_owned()],
            },
        ),
    ] {
        // The search is told as lost.
        assert_eq!(of(choice.clone()).unwrap(), (expected, 2, 1), "{choice}");
    }
    for (choice, at) in [
        (json!("must"), "generation_config.tool_choice"),
        (json!({"type": "f"}), "generation_config.tool_choice"),
        (
            allowed("any", json!(["h"])),
            "generation_config.tool_choice.allowed_tools.tools",
        ),
    ] {
        assert_eq!(of(choice).unwrap_err().param.unwrap(), at);
    }
    let none = json!({"model": "m", "input": "hi", "generation_config": {"tool_choice": "any"}});
    assert_eq!(fails_at(&none), "generation_config.tool_choice");
}

#[test]
fn what_only_google_has_is_refused_or_told() {
    for (name, value) in [
        ("agent", json!("deep-research")),
        ("background", json!(true)),
        ("cached_content", json!("cachedContents/1")),
    ] {
        assert_eq!(
            fails_at(&json!({"model": "m", "input": "hi", name: value})),
            name
        );
    }
    let alone = |body: &Value| Interactions::Alone.read("", body.to_string().as_bytes());
    let previous = json!({"model": "m", "input": "hi", "previous_interaction_id": "v1_1"});
    assert!(read(&previous).is_ok());
    assert_eq!(
        alone(&previous).unwrap_err().param.unwrap(),
        "previous_interaction_id"
    );
    let body = json!({"model": "m", "input": "hi", "store": true, "labels": {"a": "b"}, "service_tier": "flex"});
    let lost: Vec<String> = alone(&body)
        .unwrap()
        .losses
        .into_iter()
        .map(|loss| loss.pointer)
        .collect();
    assert_eq!(lost, ["/service_tier", "/store", "/labels"]);
}

#[test]
fn input_is_a_text_contents_or_steps() {
    let text = json!({"type": "text", "text": "hi"});
    for input in [
        json!("hi"),
        text.clone(),
        json!([text]),
        json!([{"type": "user_input", "content": [text]}]),
        json!([{"type": "user_input", "content": "hi"}]),
        json!([{"role": "user", "content": "hi"}]),
        json!([{"role": "user", "content": [text]}]),
    ] {
        let turns = turns(&input);
        assert_eq!(turns.len(), 1, "{input}");
        assert_eq!(
            (turns[0].role, turns[0].text()),
            (Role::User, "hi".to_owned()),
            "{input}"
        );
    }
    let two = turns(&json!([text, {"type": "image", "data": "_-8=", "mime_type": "image/PNG"}]));
    let [
        Part::Text { .. },
        Part::Data {
            media_type, data, ..
        },
    ] = &two[0].parts[..]
    else {
        panic!("{two:?}");
    };
    assert_eq!((&**media_type, &**data), ("image/png", "/+8="));
    for (input, at) in [
        (json!([]), "input"),
        (json!(7), "input"),
        (json!([{"text": "hi"}]), "input[0].type"),
        (
            json!([{"role": "system", "content": "hi"}]),
            "input[0].role",
        ),
        (
            json!([{"type": "function_result", "result": "1"}]),
            "input[0].call_id",
        ),
        (
            json!([{"type": "function_call", "id": "1", "name": "f", "arguments": "{}"}]),
            "input[0].arguments",
        ),
        (json!([{"type": "image"}]), "input[0]"),
    ] {
        assert_eq!(
            fails_at(&json!({"model": "m", "input": input})),
            at,
            "{input}"
        );
    }
}

#[test]
fn the_models_steps_in_a_row_are_one_turn() {
    let turns = turns(&json!([
        {"type": "user_input", "content": [{"type": "text", "text": "weather?"}]},
        {"type": "thought", "signature": "Z29vZ2xl", "summary": [{"type": "text", "text": "hm"}]},
        {"type": "model_output", "content": [{"type": "text", "text": "I "}, {"type": "text", "text": "look"}]},
        {"type": "google_search_call", "id": "s", "arguments": {}},
        {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}},
        {"type": "function_call", "id": "c2", "name": "f", "arguments": {}},
        {"type": "function_result", "call_id": "c1", "name": "f", "result": [{"type": "text", "text": "21"}]},
        // As the AI SDK has it.
        {"type": "user_input", "content": [{"type": "function_result", "call_id": "c2", "is_error": true, "result": {"a": [1]}}]},
        {"type": "model_output", "content": "fine"},
    ]));
    let roles: Vec<Role> = turns.iter().map(|turn| turn.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::Tool,
            Role::Assistant
        ]
    );
    let said = &turns[1];
    assert_eq!(said.text(), "I look");
    assert_eq!(said.calls.len(), 2);
    assert!(matches!(&said.calls[0].input, CallInput::Object(raw) if raw.get() == r#"{"a":1}"#));
    // It was signed by nobody here, and goes back to whom it came from.
    assert_eq!(
        (said.claimed.len(), said.sealed.len(), said.unknown.len()),
        (1, 1, 1)
    );
    assert_eq!((&*said.origin.0, &*said.unknown[0]), ("input", "/3"));
    assert_eq!(turns[2].call_id.as_deref(), Some("c1"));
    assert_eq!(turns[2].text(), "21");
    assert_eq!(turns[3].text(), r#"{"a":[1]}"#);
    assert!(turns[3].failed.is_some());
    assert_eq!(
        turns.iter().map(|turn| turn.index).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4]
    );
}

fn terms() -> Terms {
    Terms {
        ids: Ids::new(7).at(9),
        model: "m".to_owned(),
        legacy_functions: false,
        include_usage: true,
        keeps_counts: false,
        counts_first: false,
        keeps_bytes: false,
        seal: Seal::default(),
        echo: Some(std::sync::Arc::new(
            serde_json::from_str(r#"{"store": true}"#).unwrap(),
        )),
    }
}

fn reply(deltas: Vec<Delta>) -> Reply {
    Reply {
        usage: Some(Usage {
            prompt: 10,
            completion: 7,
            cached: None,
            reasoning: Some(3),
        }),
        choices: [Choice {
            deltas: deltas.into(),
            reasoning: "hm".to_owned(),
            ..Choice::default()
        }]
        .into_iter()
        .collect(),
        ..Reply::default()
    }
}

fn call(input: &str) -> [Delta; 2] {
    let kind = crate::ir::CallKind::Function;
    let start = Delta::CallStart {
        call: 0,
        id: "c1".to_owned(),
        name: "f".to_owned(),
        kind,
    };
    let input = Delta::CallInput {
        call: 0,
        kind,
        text: input.to_owned(),
    };
    [start, input]
}

fn whole(deltas: Vec<Delta>) -> Value {
    serde_json::from_slice(&Interactions::Kept.whole(&terms(), &reply(deltas))).unwrap()
}

#[test]
fn a_whole_reply_is_its_steps() {
    let [start, input] = call(r#"{"a":18446744073709551616}"#);
    let deltas = vec![
        Delta::Text("I look".to_owned()),
        start,
        input,
        Delta::Finish(FinishReason::ToolCalls),
    ];
    let body = Interactions::Kept.whole(&terms(), &reply(deltas));
    let text = String::from_utf8(body).unwrap();
    // Its digits are all there.
    assert!(
        text.contains(r#""arguments":{"a":18446744073709551616}"#),
        "{text}"
    );
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["status"], "requires_action");
    let kinds: Vec<&str> = told["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["thought", "model_output", "function_call"]);
    assert_eq!(told["usage"]["total_output_tokens"], 4);
    assert_eq!(told["usage"]["total_thought_tokens"], 3);
    assert_eq!(told["created"], "1970-01-01T00:00:09Z");
    // What comes back is known to be the model's own.
    let turns = turns(&told["steps"]);
    let claimed = &turns[0].claimed[0];
    assert!(Seal::default().proves(&claimed.stated.text, &claimed.signature));
}

#[test]
fn how_a_reply_ended_is_its_status() {
    let text = || Delta::Text("a".to_owned());
    for (deltas, status) in [
        (vec![text(), Delta::Finish(FinishReason::Stop)], "completed"),
        (
            vec![text(), Delta::Finish(FinishReason::Length)],
            "incomplete",
        ),
        (
            vec![text(), Delta::Finish(FinishReason::ContentFilter)],
            "failed",
        ),
        (
            vec![
                Delta::Refusal("no".to_owned()),
                Delta::Finish(FinishReason::Stop),
            ],
            "failed",
        ),
    ] {
        assert_eq!(whole(deltas)["status"], status);
    }
    let refused = whole(vec![Delta::Refusal("no".to_owned())]);
    assert_eq!(refused["steps"][1]["error"]["message"], "no");
    let [start, input] = call(r#"{"a":"#);
    let cut = whole(vec![start, input, Delta::Finish(FinishReason::Length)]);
    assert_eq!(cut["steps"].as_array().unwrap().len(), 1, "{cut}");
    // Before its arguments nothing is told of a call, which clients would take for one without any.
    let [start, _] = call("");
    let mut writer = Interactions::Unkept.writer(Terms {
        echo: None,
        ..terms()
    });
    let mut out = Vec::new();
    let event = |delta: Delta| crate::ir::Event::Delta { choice: 0, delta };
    for delta in [start, Delta::Finish(FinishReason::Length)] {
        writer.write(&mut vec![event(delta)], None, &mut out);
    }
    writer.end(None, &mut out);
    let told = String::from_utf8(out).unwrap();
    assert!(
        !told.contains("function_call") && told.contains("\"incomplete\""),
        "{told}"
    );
    // What is not kept has no id to go on from.
    assert!(told.contains("\"id\":\"\""), "{told}");
}

/// What stands in each event, folded by its index as the SDK's users do.
#[test]
fn a_stream_says_what_the_whole_reply_says() {
    use crate::ir::Event;
    let delta = |delta: Delta| Event::Delta { choice: 0, delta };
    let [start, _] = call("");
    let kind = crate::ir::CallKind::Function;
    let input = |text: &str| {
        delta(Delta::CallInput {
            call: 0,
            kind,
            text: text.to_owned(),
        })
    };
    let reasoning = |text: &str| Event::Reasoning {
        choice: 0,
        text: text.to_owned(),
        is_own: false,
    };
    let frames = vec![
        vec![reasoning("h")],
        vec![reasoning("m")],
        vec![delta(Delta::Text("I ".to_owned()))],
        vec![delta(Delta::Text("look".to_owned())), delta(start)],
        vec![input(r#"{"a""#)],
        vec![input(":1}")],
        vec![delta(Delta::Finish(FinishReason::ToolCalls))],
    ];
    let all = frames.iter().flatten().cloned();
    let mut whole: Value =
        serde_json::from_slice(&Interactions::Kept.whole(&terms(), &Reply::fold(all))).unwrap();
    let mut writer = Interactions::Kept.writer(terms());
    let mut out = Vec::new();
    for mut frame in frames {
        writer.write(&mut frame, None, &mut out);
    }
    writer.end(None, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with("event: done\ndata: [DONE]\n\n"), "{text}");
    let mut steps: Vec<Value> = Vec::new();
    let mut last = Value::Null;
    for event in text.split_terminator("\n\n") {
        let (name, data) = event.split_once("\ndata: ").unwrap();
        let Ok(data) = serde_json::from_str::<Value>(data) else {
            continue;
        };
        assert_eq!(name.strip_prefix("event: "), data["event_type"].as_str());
        let index = data["index"].as_u64().unwrap_or_default() as usize;
        match data["event_type"].as_str().unwrap() {
            "step.start" => {
                assert_eq!(index, steps.len());
                steps.push(data["step"].clone());
                if steps[index]["type"] == "function_call" {
                    steps[index]["arguments"] = json!("");
                }
            }
            "step.delta" => {
                let delta = &data["delta"];
                let (at, more) = match delta["type"].as_str().unwrap() {
                    "text" => ("/content/0/text", &delta["text"]),
                    "thought_summary" => ("/summary/0/text", &delta["content"]["text"]),
                    "thought_signature" => ("/signature", &delta["signature"]),
                    "arguments_delta" => ("/arguments", &delta["arguments"]),
                    other => panic!("{other}"),
                };
                let step = &mut steps[index];
                if step.pointer(at).is_none() {
                    match at {
                        "/content/0/text" => {
                            step["content"] = json!([{"type": "text", "text": ""}])
                        }
                        "/summary/0/text" => {
                            step["summary"] = json!([{"type": "text", "text": ""}])
                        }
                        _ => step["signature"] = json!(""),
                    }
                }
                let place = step.pointer_mut(at).unwrap();
                *place = json!(format!(
                    "{}{}",
                    place.as_str().unwrap(),
                    more.as_str().unwrap()
                ));
            }
            "interaction.completed" => last = data["interaction"].clone(),
            _ => {}
        }
    }
    let arguments = steps[2]["arguments"].as_str().unwrap().to_owned();
    steps[2]["arguments"] = serde_json::from_str(&arguments).unwrap();
    assert_eq!(json!(steps), whole["steps"].take());
    assert_eq!(last["status"], whole["status"]);
    assert_eq!(last["id"], whole["id"]);
}

#[test]
fn a_request_goes_on_from_the_steps_that_were_kept() {
    use crate::dialect::keeper::{Kept, Known};
    let keeper = Interactions::Kept.keeper().unwrap();
    let first = json!({"model": "m", "input": [{"type": "text", "text": "weather?"}, {"type": "text", "text": "now"}], "tools": []});
    let [start, input] = call("{}");
    let said = Interactions::Kept.whole(&terms(), &reply(vec![start, input]));
    let id = keeper.id(&said).unwrap();
    assert!(id.starts_with("v1_"), "{id}");
    let kept = Kept {
        input: keeper.input(first.to_string().as_bytes(), &id),
        reply: said,
    };
    let next = json!({"model": "m", "previous_interaction_id": id, "input": [{"type": "function_result", "call_id": "c1", "name": "f", "result": "21"}]});
    let asks = keeper.asks(next.to_string().as_bytes()).unwrap();
    assert_eq!((asks.previous.as_deref(), asks.keeps), (Some(&*id), true));
    let known = Known {
        before: vec![kept],
        homes: Vec::new(),
    };
    let whole = keeper
        .continued(next.to_string().as_bytes(), &known)
        .unwrap()
        .whole;
    let request = Interactions::Kept.read("", &whole).unwrap();
    let turns = Interactions::Kept.turns(&request).unwrap();
    let roles: Vec<Role> = turns.iter().map(|turn| turn.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(turns[0].parts.len(), 2);
    let body: Value = serde_json::from_slice(&Interactions::Kept.whole(
        &Terms {
            echo: request.echo,
            ..terms()
        },
        &reply(vec![Delta::Text("a".to_owned())]),
    ))
    .unwrap();
    assert_eq!(body["previous_interaction_id"], *id);
}
