//! What clients send, and what is read of it.

#![expect(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests: tables, and they may panic"
)]

use super::Responses;
use crate::dialect::client::Client;
use crate::error::{Error, Kind};
use crate::ir::{
    CallInput, Constraint, Notation, Part, Request, Role, Sealed, ToolChoice, ToolInput, Turn,
};
use serde_json::{Value, json};

fn try_read(extra: Value) -> Result<Request, Error> {
    let mut body = json!({"model": "m", "input": "hi"});
    let Value::Object(extra) = extra else {
        return Responses::Alone.read("", extra.to_string().as_bytes());
    };
    for (name, value) in extra {
        body[name] = value;
    }
    let request = Responses::Alone.read("/v1/responses", body.to_string().as_bytes())?;
    Responses::Alone.turns(&request)?;
    Ok(request)
}

fn read(extra: Value) -> Request {
    try_read(extra).unwrap()
}

fn turns(input: Value) -> Vec<Turn> {
    Responses::Alone
        .turns(&read(json!({"input": input})))
        .unwrap()
}

fn function(name: &str) -> Value {
    json!({"type": "function", "name": name, "parameters": {"type": "object"}})
}

fn losses(request: &Request) -> Vec<&str> {
    request
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect()
}

#[test]
fn every_format_is_a_constraint() {
    let schema = json!({"type": "object"});
    let of = |format: Value| read(json!({"text": {"format": format}})).constraint;
    assert_eq!(of(json!({"type": "text"})), None);
    assert_eq!(of(Value::Null), None);
    let object = of(json!({"type": "json_object"})).unwrap();
    assert_eq!(object.constraint, Constraint::JsonObject);
    let stated = json!({"type": "json_schema", "name": "n", "strict": true, "schema": schema});
    let stated = of(stated).unwrap();
    assert_eq!(stated.constraint, Constraint::JsonSchema(schema));
    assert_eq!(stated.spelling.0, "text.format");
    assert_eq!(
        (stated.name.as_deref(), stated.strict),
        (Some("n"), Some(true))
    );
}

#[test]
fn every_choice_is_read() {
    let tools = json!([function("f"), {"type": "custom", "name": "c"}, {"type": "web_search"},
        {"type": "namespace", "name": "ns", "description": "d", "tools": [function("g")]}]);
    let allowed =
        |mode: &str, tools: Value| json!({"type": "allowed_tools", "mode": mode, "tools": tools});
    let names = |required, names: &[&str]| ToolChoice::Allowed {
        required,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    for (stated, expected) in [
        (json!(null), ToolChoice::Auto),
        (json!("auto"), ToolChoice::Auto),
        (json!("none"), ToolChoice::None),
        (json!("required"), ToolChoice::Required),
        (
            json!({"type": "function", "name": "f"}),
            ToolChoice::Named("f".into()),
        ),
        (
            json!({"type": "custom", "name": "c"}),
            ToolChoice::Named("c".into()),
        ),
        (
            json!({"type": "function", "name": "g"}),
            ToolChoice::Named("ns__g".into()),
        ),
        (
            json!({"type": "function", "name": "g", "namespace": "ns"}),
            ToolChoice::Named("ns__g".into()),
        ),
        (
            allowed("auto", json!([{"type": "function", "name": "f"}])),
            names(false, &["f"]),
        ),
        (
            allowed(
                "required",
                json!([{"type": "namespace", "name": "ns"}, {"type": "web_search"}]),
            ),
            names(true, &["ns__g"]),
        ),
        (
            allowed("auto", json!([{"type": "web_search"}])),
            ToolChoice::None,
        ),
    ] {
        let request = read(json!({"tools": tools, "tool_choice": stated}));
        assert_eq!(request.tool_choice, expected, "{stated}");
        assert_eq!(request.states_choice, !stated.is_null());
        assert!(losses(&request).contains(&"/tools/2"), "{stated}");
    }
}

#[test]
fn tools_are_read_with_their_places() {
    let grammar =
        |syntax: &str| json!({"type": "grammar", "syntax": syntax, "definition": "start: \"a\""});
    let request = read(json!({"tools": [
        {"type": "function", "name": "f", "description": "d", "strict": true, "parameters": {"type": "object"}},
        {"type": "function", "name": "bare"},
        {"type": "custom", "name": "text", "format": {"type": "text"}},
        {"type": "custom", "name": "lark", "format": grammar("lark")},
        {"type": "custom", "name": "regex", "format": grammar("regex")},
        {"type": "namespace", "name": "mcp__s__", "description": "All.", "tools": [function("f"), function("f2")]},
    ]}));
    let text = "start: \"a\"".to_owned();
    let notation = Notation::Lark;
    let schema = |schema: Value, strict| ToolInput::Schema { schema, strict };
    let expected = [
        ("f", schema(json!({"type": "object"}), true)),
        (
            "bare",
            schema(json!({"type": "object", "properties": {}}), false),
        ),
        ("text", ToolInput::Text(None)),
        (
            "lark",
            ToolInput::Text(Some(Constraint::Grammar {
                notation,
                text: text.clone(),
            })),
        ),
        ("regex", ToolInput::Text(Some(Constraint::Regex(text)))),
        ("mcp__s__f", schema(json!({"type": "object"}), false)),
        ("mcp__s__f2", schema(json!({"type": "object"}), false)),
    ];
    for (tool, (name, input)) in request.tools.iter().zip(&expected) {
        assert_eq!((tool.name.as_str(), &tool.input), (*name, input));
    }
    assert_eq!(request.tools.len(), expected.len());
    let last = request.tools.last().unwrap();
    assert_eq!(last.input_origin.pointer(), "/tools/5/tools/1/parameters");
    assert_eq!(last.description.as_deref(), Some("All."));
}

#[test]
fn a_tool_of_a_namespace_never_takes_the_name_of_another() {
    let within = |namespace: &str, name: &str| json!({"type": "namespace", "name": namespace, "description": "", "tools": [function(name)]});
    let long = "n".repeat(70);
    let request = read(
        json!({"tools": [within("a", "b__c"), within("a__b", "c"), function("a__b__c_2"),
        within(&long, "x"), within(&long, "y")]}),
    );
    let mut names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 5, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64));
    assert!(names.contains(&"a__b__c_2"));
}

#[test]
fn settings_have_chats_names() {
    let request = read(
        json!({"max_output_tokens": 9, "reasoning": {"effort": "low"}, "stream": true,
        "text": {"verbosity": "high"}, "top_logprobs": 2, "temperature": 0.5, "top_k": 4, "metadata": {"a": "b"},
        "store": false, "truncation": "disabled", "previous_response_id": null, "n": 1}),
    );
    let settings: Value = serde_json::from_slice(&request.settings().to_json()).unwrap();
    assert_eq!(
        settings,
        json!({"model": "m", "max_completion_tokens": 9, "reasoning_effort": "low", "stream": true,
            "stream_options": {"include_usage": true}, "verbosity": "high", "logprobs": true, "top_logprobs": 2,
            "temperature": 0.5, "top_k": 4})
    );
    assert_eq!(losses(&request), Vec::<&str>::new());
}

#[test]
fn what_nobody_does_is_told() {
    let request = read(
        json!({"store": true, "truncation": "auto", "max_tool_calls": 3, "client_metadata": {"a": "b"},
        "reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content", "file_search_call.results"],
        "tools": [{"type": "web_search"}, {"type": "mcp", "server_label": "x"}],
        "text": {"format": {"type": "json_schema", "name": "n", "description": "d", "schema": {}}},
        "input": [{"role": "user", "content": "hi"}, {"type": "web_search_call", "id": "ws_1"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}]}),
    );
    let mut told = losses(&request);
    told.sort_unstable();
    assert_eq!(
        told,
        [
            "/client_metadata",
            "/include/1",
            "/input/1",
            "/input/2/encrypted_content",
            "/max_tool_calls",
            "/reasoning/summary",
            "/store",
            "/text/format/description",
            "/tools/0",
            "/tools/1",
            "/truncation"
        ]
    );
}

#[test]
fn a_request_that_is_wrong_is_refused_at_the_field() {
    let tool = |tool: Value| json!({"tools": [tool]});
    let item = |item: Value| json!({"input": [item]});
    let part = |part: Value| json!({"input": [{"role": "user", "content": [part]}]});
    let cases = [
        (json!({"model": 3}), "model"),
        (json!({"model": null}), "model"),
        (json!({"model": "a\u{0}b"}), "model"),
        (json!({"input": null}), "input"),
        (json!({"input": 3}), "input"),
        (json!({"input": ["hi"]}), "input[0]"),
        (json!({"stream": "yes"}), "stream"),
        (json!({"instructions": ["a"]}), "instructions"),
        (json!({"background": true}), "background"),
        (
            json!({"previous_response_id": "resp_1"}),
            "previous_response_id",
        ),
        (json!({"conversation": {"id": "conv_1"}}), "conversation"),
        (json!({"prompt": {"id": "pmpt_1"}}), "prompt"),
        (json!({"store": "no"}), "store"),
        (json!({"truncation": "some"}), "truncation"),
        (json!({"max_output_tokens": 0}), "max_output_tokens"),
        (json!({"max_output_tokens": "9"}), "max_output_tokens"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"reasoning": "low"}), "reasoning"),
        (json!({"reasoning": {"effort": 3}}), "reasoning.effort"),
        (json!({"include": "all"}), "include"),
        (json!({"metadata": []}), "metadata"),
        (json!({"parallel_tool_calls": 1}), "parallel_tool_calls"),
        // A second constraint, in fields that are not of this dialect.
        (
            json!({"response_format": {"type": "json_object"}}),
            "response_format",
        ),
        (json!({"guided_json": {}}), "guided_json"),
        (
            json!({"structured_outputs": {"regex": "a"}}),
            "structured_outputs",
        ),
        (
            json!({"text": {"format": {"type": "json_object"}}, "guided_regex": "a"}),
            "guided_regex",
        ),
        (json!({"n": 2}), "n"),
        (json!({"messages": []}), "messages"),
        (json!({"text": "json"}), "text"),
        (json!({"text": {"format": "json"}}), "text.format"),
        (json!({"text": {"format": {}}}), "text.format.type"),
        (
            json!({"text": {"format": {"type": "xml"}}}),
            "text.format.type",
        ),
        (
            json!({"text": {"format": {"type": "json_schema", "name": "n"}}}),
            "text.format.schema",
        ),
        (
            json!({"text": {"format": {"type": "json_schema", "schema": 3}}}),
            "text.format.schema",
        ),
        (
            json!({"text": {"format": {"type": "json_schema", "json_schema": {}}}}),
            "text.format.json_schema",
        ),
        (json!({"text": {"verbosity": 3}}), "text.verbosity"),
        (json!({"tools": {}}), "tools"),
        (tool(json!({"name": "f"})), "tools[0].type"),
        (tool(json!({"type": "function"})), "tools[0].name"),
        (
            tool(json!({"type": "function", "function": {"name": "f"}})),
            "tools[0].name",
        ),
        (
            tool(json!({"type": "function", "name": "f", "parameters": "{}"})),
            "tools[0].parameters",
        ),
        (
            tool(json!({"type": "function", "name": "f", "strict": "yes"})),
            "tools[0].strict",
        ),
        (
            tool(json!({"type": "custom", "name": "c", "format": {"type": "bnf"}})),
            "tools[0].format.type",
        ),
        (
            tool(
                json!({"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "lark"}}),
            ),
            "tools[0].format.definition",
        ),
        (
            tool(json!({"type": "custom", "name": "c",
                "format": {"type": "grammar", "syntax": "abnf", "definition": "x"}})),
            "tools[0].format.syntax",
        ),
        (
            tool(
                json!({"type": "namespace", "name": "n", "tools": [function("a"), function("a")]}),
            ),
            "tools[0].tools[1].name",
        ),
        (
            json!({"tools": [function("f"), function("f")]}),
            "tools[1].name",
        ),
        (json!({"tool_choice": "required"}), "tool_choice"),
        (
            json!({"tools": [{"type": "web_search"}], "tool_choice": "required"}),
            "tool_choice",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": "always"}),
            "tool_choice",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": 3}),
            "tool_choice",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": {"type": "web_search"}}),
            "tool_choice",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": {"type": "mcp", "server_label": "x"}}),
            "tool_choice",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": {"type": "function"}}),
            "tool_choice.name",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": {"type": "function", "name": "g"}}),
            "tool_choice.name",
        ),
        (
            json!({"tools": [function("f")], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}),
            "tool_choice.tools",
        ),
        (
            json!({"tools": [function("f")],
                "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "g"}]}}),
            "tool_choice.tools[0].name",
        ),
        (
            json!({"tools": [function("f")],
                "tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": "f"}]}}),
            "tool_choice.mode",
        ),
        (
            json!({"tools": [function("f")],
                "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]}}),
            "tool_choice.tools[0]",
        ),
        (item(json!({})), "input[0].type"),
        (item(json!({"id": "msg_1"})), "input[0]"),
        (
            item(json!({"type": "item_reference", "id": "msg_1"})),
            "input[0]",
        ),
        (
            item(json!({"type": "compaction", "encrypted_content": "x"})),
            "input[0]",
        ),
        (
            item(json!({"role": "robot", "content": "x"})),
            "input[0].role",
        ),
        (
            item(json!({"role": "user", "content": 3})),
            "input[0].content",
        ),
        (
            item(json!({"type": "function_call", "name": "f", "arguments": "{}"})),
            "input[0].call_id",
        ),
        (
            item(json!({"type": "function_call", "call_id": "c", "arguments": "{}"})),
            "input[0].name",
        ),
        (
            item(json!({"type": "custom_tool_call", "call_id": "c", "name": "f"})),
            "input[0].input",
        ),
        (
            item(json!({"type": "function_call_output", "output": "x"})),
            "input[0].call_id",
        ),
        (
            item(json!({"type": "function_call_output", "call_id": "c"})),
            "input[0].output",
        ),
        (
            item(json!({"type": "function_call_output", "call_id": "c", "output": 3})),
            "input[0].output",
        ),
        (
            item(json!({"type": "function_call_output", "call_id": "c", "output": "3"})),
            "input[0].call_id",
        ),
        (
            item(json!({"type": "reasoning", "summary": [{"type": "summary_text"}]})),
            "input[0].summary[0].text",
        ),
        (part(json!({"text": "x"})), "input[0].content[0].type"),
        (
            part(json!({"type": "input_text"})),
            "input[0].content[0].text",
        ),
        (
            part(json!({"type": "input_image"})),
            "input[0].content[0].image_url",
        ),
        (
            part(json!({"type": "input_image", "file_id": "file-1"})),
            "input[0].content[0].file_id",
        ),
        (
            part(json!({"type": "input_image", "image_url": "data:x"})),
            "input[0].content[0].image_url",
        ),
        (
            part(json!({"type": "input_file", "file_id": "file_1"})),
            "input[0].content[0].file_id",
        ),
    ];
    for (extra, at) in cases {
        let outcome = try_read(extra.clone()).and_then(|mut request| {
            // What only a server of OpenAI's own could do is refused before every other.
            match request.hosted_choice.take() {
                Some(error) => Err(error),
                None => Responses::Alone.turns(&request),
            }
        });
        let error = outcome
            .err()
            .map(|error| (error.status(), error.param.clone(), error));
        let (status, param, error) = error.unwrap_or_else(|| unreachable_case(&extra));
        assert_eq!(
            (status, param.as_deref()),
            (400, Some(at)),
            "{extra}: {error}"
        );
        let body: Value = serde_json::from_slice(&Responses::Alone.error_body(&error)).unwrap();
        assert_eq!(body["error"]["param"], at);
        assert_eq!(body["error"]["type"], "invalid_request_error");
        assert!(body["error"]["code"].is_string() && body["error"]["message"].is_string());
    }
    assert_eq!(try_read(json!([1])).unwrap_err().kind, Kind::InvalidJson);
}

fn unreachable_case(extra: &Value) -> (u16, Option<String>, Error) {
    (
        200,
        None,
        Error::new(Kind::Internal, format!("it was read: {extra}")),
    )
}

#[test]
fn a_thought_may_be_a_text() {
    let turns = turns(json!([
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "content": "Hm."},
        {"role": "assistant", "content": "Yes."},
    ]));
    assert_eq!(turns[1].reasoning.as_ref().unwrap().text, "Hm.");
}

#[test]
fn what_the_model_said_at_once_is_one_turn() {
    let turns = turns(json!([
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\": 1}"},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{\"a\": "},
        {"type": "custom_tool_call", "call_id": "c3", "name": "p", "input": "x"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "custom_tool_call_output", "call_id": "c3", "output": [{"type": "input_text", "text": "two"}]},
        {"role": "assistant", "content": "A."},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "B."}]},
    ]));
    let roles: Vec<Role> = turns.iter().map(|turn| turn.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(
        roles,
        [System, User, Assistant, Tool, Tool, Assistant, Assistant]
    );
    let said = &turns[2];
    assert_eq!(said.reasoning.as_ref().unwrap().text, "Hm.");
    assert_eq!((said.text().as_str(), said.calls.len()), ("Yes.", 3));
    assert!(matches!(said.calls[0].input, CallInput::Object(_)));
    assert!(
        matches!(&said.calls[1].input, CallInput::Text(stated) if stated.origin.0 == "input[5].arguments")
    );
    assert!(matches!(&said.calls[2].input, CallInput::Custom(text) if text == "x"));
    assert_eq!(turns[3].tool.as_deref(), Some("f"));
    assert_eq!(
        (turns[4].call_id.as_deref(), turns[4].text().as_str()),
        (Some("c3"), "two")
    );
    assert_eq!(turns[6].text(), "B.");
}

#[test]
fn instructions_stand_before_the_conversation() {
    let request = read(json!({"instructions": "Be brief."}));
    let turns = Responses::Alone.turns(&request).unwrap();
    assert_eq!(
        (turns[0].role, turns[0].text().as_str()),
        (Role::System, "Be brief.")
    );
    assert_eq!(
        (turns[1].role, turns[1].text().as_str()),
        (Role::User, "hi")
    );
}

#[test]
fn images_and_files_are_data() {
    let turns = turns(json!([{"role": "user", "content": [
        {"type": "input_image", "image_url": "data:image/PNG;base64,AAAA", "detail": "high"},
        {"type": "input_image", "image_url": "https://x/y.png"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "a.pdf"},
        {"type": "computer_screenshot", "image_url": "x"},
    ]}]));
    let parts = &turns[0].parts;
    assert!(matches!(&parts[0], Part::Data { media_type, .. } if &**media_type == "image/png"));
    assert!(matches!(&parts[1], Part::Link { .. }));
    assert!(matches!(&parts[2], Part::Data { data, .. } if data == "BBBB"));
    assert!(matches!(&parts[3], Part::Opaque { origin } if origin.0 == "input[0].content[3]"));
    assert_eq!(turns[0].resolutions[0].0, "input[0].content[0].detail");
}

#[test]
fn what_only_the_server_can_read_comes_back_as_it_went() {
    let block = r#"{"type":"thinking","thinking":"Hm.","signature":"s"}"#;
    let block = serde_json::value::RawValue::from_string(block.to_owned()).unwrap();
    let sealed = [
        Sealed::Thinking(block.clone()),
        Sealed::Signature("g".into()),
    ];
    // The block has the thought.
    let kept = super::write::sealed::write(&sealed, Some("Hm."));
    let item = json!({"type": "reasoning", "summary": [], "encrypted_content": kept});
    let request = read(json!({"input": [item, {"role": "assistant", "content": "x"}]}));
    assert_eq!(losses(&request), Vec::<&str>::new());
    let turns = Responses::Alone.turns(&request).unwrap();
    assert_eq!(turns.len(), 1);
    let held: Vec<&Sealed> = turns[0].sealed.iter().map(|held| &held.sealed).collect();
    let [Sealed::Thinking(thought), Sealed::Signature(signature)] = held.as_slice() else {
        unreachable!("two things are sealed")
    };
    assert_eq!((thought.get(), signature.as_str()), (block.get(), "g"));
}

#[test]
fn nothing_of_the_conversation_is_kept_for_the_way_back() {
    let request =
        read(json!({"input": "a secret", "tools": [function("f")], "instructions": "Be\nbrief."}));
    let echo = String::from_utf8(request.echo.unwrap().to_json()).unwrap();
    assert!(!echo.contains("a secret"), "{echo}");
    assert!(echo.contains("\"f\"") && echo.contains("Be\\nbrief."));
    let long = read(json!({"instructions": "x".repeat(300 << 10)}));
    assert!(long.echo.as_ref().unwrap().to_json().len() < 10_000);
    assert_eq!(losses(&long), ["/instructions"]);
}

#[test]
fn what_is_followed_stands_before_what_is_asked_and_without_its_instructions() {
    use crate::dialect::keeper::{Kept, Known};
    let keeper = Responses::Alone.keeper().unwrap();
    let seed = "0123456789abcdef0123456789abcdef";
    let body = json!({"model": "m", "input": "one", "instructions": "i"}).to_string();
    let input = keeper.input(body.as_bytes(), &format!("resp_{seed}"));
    let items: Value = serde_json::from_slice(&input).unwrap();
    assert_eq!(
        items,
        json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}],
            "id": format!("msg_{seed}i0000"), "status": "completed"}])
    );
    let output = json!([{"type": "message", "id": format!("msg_{seed}0000"), "role": "assistant",
        "content": [{"type": "output_text", "text": "two"}]}]);
    let reply = json!({"id": format!("resp_{seed}"), "output": output})
        .to_string()
        .into_bytes();
    assert_eq!(keeper.id(&reply), Some(format!("resp_{seed}")));
    let kept = Kept { input, reply };
    let home = keeper.home(&format!("msg_{seed}0000"));
    assert_eq!(home, Some(format!("resp_{seed}")));
    assert_eq!(keeper.home("msg_of_somebody"), None);

    let next = json!({"model": "m", "instructions": "j", "previous_response_id": "resp_1", "input": [
        {"type": "item_reference", "id": format!("msg_{seed}0000")}, {"role": "user", "content": "three"}]});
    let next = next.to_string();
    let asks = keeper.asks(next.as_bytes()).unwrap();
    assert_eq!(asks.previous.as_deref(), Some("resp_1"));
    assert_eq!(asks.items, [format!("msg_{seed}0000")]);
    assert!(asks.keeps);
    let known = Known {
        before: vec![kept.clone()],
        homes: vec![kept],
    };
    let whole = keeper.continued(next.as_bytes(), &known).unwrap().whole;
    let request = keeper.client(true).read("", &whole).unwrap();
    assert_eq!(request.wire, None);
    let echo = request.echo.as_ref().unwrap();
    assert_eq!(echo.raw("previous_response_id"), Some("\"resp_1\""));
    assert_eq!(echo.raw("store"), Some("true"));
    let turns = keeper.client(true).turns(&request).unwrap();
    let texts: Vec<String> = turns.iter().map(Turn::text).collect();
    assert_eq!(texts, ["j", "one", "two", "two", "three"]);
    let unknown = keeper.continued(next.as_bytes(), &Known::default());
    assert_eq!(unknown.unwrap_err().param.as_deref(), Some("input[0]"));
    for planted in [json!({"id": "a", "items": []}), json!(3)] {
        let body = json!({"input": "x", "previous_response_id": planted}).to_string();
        let error = keeper.asks(body.as_bytes()).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("previous_response_id"));
    }
}

#[test]
fn a_reply_repeats_functions_with_all_members_of_their_types() {
    let stated = json!([{"type": "function", "name": "f"},
        {"type": "function", "name": "g", "description": "d", "parameters": {"type": "object"}, "strict": true},
        {"type": "function", "name": "h", "parameters": null, "strict": null}]);
    let request = read(json!({"tools": stated}));
    let tools: Value = serde_json::from_str(request.echo.unwrap().raw("tools").unwrap()).unwrap();
    for place in [0, 2] {
        assert_eq!(tools[place]["strict"], false);
        assert_eq!(tools[place]["parameters"]["type"], "object");
        assert_eq!(tools[place]["description"], Value::Null);
    }
    assert_eq!(tools[1], stated[1]);
}

#[test]
fn results_stand_together_whatever_was_thought_between_them() {
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": id});
    let thought = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]});
    let said = json!({"role": "assistant", "content": "Done."});
    let told = turns(json!([
        {"role": "user", "content": "hi"}, call("a"), call("b"), call("c"),
        output("a"), thought, output("b"), output("c"), said
    ]));
    let roles: Vec<Role> = told.iter().map(|turn| turn.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::Tool,
            Role::Tool,
            Role::Assistant
        ]
    );
    let ids: Vec<&str> = told
        .iter()
        .filter_map(|turn| turn.call_id.as_deref())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(told[5].text(), "Done.");
    assert_eq!(told[5].reasoning.as_ref().unwrap().text, "hm");
}
