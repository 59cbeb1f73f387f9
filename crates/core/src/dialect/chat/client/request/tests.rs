//! What clients send, and what is read of it.

#![expect(
    clippy::unwrap_used,
    clippy::too_many_lines,
    reason = "tests: tables, and they may panic"
)]

use super::read_request;
use crate::error::Kind;
use crate::ir::{Constraint, Notation, ToolChoice, ToolInput};
use serde_json::{Value, json};

fn read(body: &Value) -> crate::ir::Request {
    read_request(body.to_string().as_bytes()).unwrap()
}

fn refused(body: &Value) -> (Kind, String) {
    let error = read_request(body.to_string().as_bytes()).unwrap_err();
    (error.kind, error.param.unwrap_or_default())
}

fn with(field: &str, value: Value) -> Value {
    let mut body = json!({"model": "m", "messages": []});
    body[field] = value;
    body
}

fn function(name: &str) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}})
}

#[test]
fn every_spelling_of_a_constraint_is_read() {
    let schema = json!({"type": "object"});
    let as_schema = Constraint::JsonSchema(schema.clone());
    let regex = Constraint::Regex("a+".into());
    let gbnf = Constraint::Grammar {
        notation: Notation::Gbnf,
        text: "root ::= \"a\"".into(),
    };
    let lark = Constraint::Grammar {
        notation: Notation::Lark,
        text: "start: \"a\"".into(),
    };
    let choice = Constraint::Choice(vec!["a".into(), "b".into()]);
    let tag = json!({"type": "structural_tag", "format": {"type": "any_text"}});
    let cases = [
        (
            with("response_format", json!({"type": "json_object"})),
            "response_format.json_object",
            Constraint::JsonObject,
        ),
        (
            with(
                "response_format",
                json!({"type": "json_object", "schema": schema}),
            ),
            "response_format.json_object_schema",
            as_schema.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "json_object", "json_schema": schema}),
            ),
            "response_format.json_object_schema",
            as_schema.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "json_object", "json_schema": {"name": "n", "schema": schema}}),
            ),
            "response_format.json_schema",
            as_schema.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "json_object", "response_schema": schema}),
            ),
            "response_format.json_object_schema",
            as_schema.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}),
            ),
            "response_format.json_schema",
            as_schema.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "json_schema", "schema": schema}),
            ),
            "response_format.schema",
            as_schema.clone(),
        ),
        (
            with("response_format", json!({"type": "json", "value": schema})),
            "response_format.json",
            as_schema.clone(),
        ),
        (
            with("response_format", json!({"type": "regex", "pattern": "a+"})),
            "response_format.regex",
            regex.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "ebnf", "ebnf": "root ::= \"a\""}),
            ),
            "response_format.ebnf",
            gbnf.clone(),
        ),
        (
            with(
                "response_format",
                json!({"type": "grammar", "grammar": "root ::= \"a\""}),
            ),
            "response_format.grammar",
            gbnf.clone(),
        ),
        (
            with("response_format", tag.clone()),
            "response_format.structural_tag",
            Constraint::StructuralTag(tag.clone()),
        ),
        (
            with("structured_outputs", json!({"json": schema, "regex": null})),
            "structured_outputs.json",
            as_schema.clone(),
        ),
        (
            with("structured_outputs", json!({"json": schema.to_string()})),
            "structured_outputs.json",
            as_schema.clone(),
        ),
        (
            with("structured_outputs", json!({"json_object": true})),
            "structured_outputs.json_object",
            Constraint::JsonObject,
        ),
        (
            with("structured_outputs", json!({"regex": "a+"})),
            "structured_outputs.regex",
            regex.clone(),
        ),
        (
            with("structured_outputs", json!({"choice": ["a", "b"]})),
            "structured_outputs.choice",
            choice.clone(),
        ),
        (
            with("structured_outputs", json!({"grammar": "start: \"a\""})),
            "structured_outputs.grammar",
            lark.clone(),
        ),
        (
            with(
                "structured_outputs",
                json!({"structural_tag": tag.to_string()}),
            ),
            "structured_outputs.structural_tag",
            Constraint::StructuralTag(tag.clone()),
        ),
        (
            with("guided_json", schema.clone()),
            "guided_json",
            as_schema.clone(),
        ),
        (
            with("guided_json", json!(schema.to_string())),
            "guided_json",
            as_schema.clone(),
        ),
        (
            with("guided_regex", json!("a+")),
            "guided_regex",
            regex.clone(),
        ),
        (
            with("guided_choice", json!(["a", "b"])),
            "guided_choice",
            choice,
        ),
        (
            with("guided_grammar", json!("root ::= \"a\"")),
            "guided_grammar",
            gbnf.clone(),
        ),
        (
            with("json_schema", json!(schema.to_string())),
            "json_schema.text",
            as_schema.clone(),
        ),
        (
            with("json_schema", schema.clone()),
            "json_schema",
            as_schema.clone(),
        ),
        (with("regex", json!("a+")), "regex", regex),
        (with("ebnf", json!("root ::= \"a\"")), "ebnf", gbnf.clone()),
        (with("grammar", json!("root ::= \"a\"")), "grammar", gbnf),
        (
            with("grammar", json!({"type": "json_schema", "value": schema})),
            "grammar.value",
            as_schema.clone(),
        ),
        (
            with(
                "grammar",
                json!({"type": "json_schema", "value": schema.to_string()}),
            ),
            "grammar.value",
            as_schema.clone(),
        ),
        (
            with("grammar", json!({"type": "regex", "value": "a+"})),
            "grammar.value",
            Constraint::Regex("a+".to_owned()),
        ),
        (
            with("grammar", json!({"type": "lark", "value": "start: \"a\""})),
            "grammar.value",
            Constraint::Grammar {
                notation: Notation::Lark,
                text: "start: \"a\"".to_owned(),
            },
        ),
        (
            with("nvext", json!({"guided_json": schema})),
            "nvext.guided_json",
            as_schema,
        ),
    ];
    for (body, spelling, constraint) in cases {
        let stated = read(&body).constraint.unwrap();
        assert_eq!(
            (stated.spelling.0.as_str(), &stated.constraint),
            (spelling, &constraint),
            "{body}"
        );
    }
}

#[test]
fn what_states_nothing_is_no_constraint() {
    for (field, value) in [
        ("response_format", json!({"type": "text"})),
        ("response_format", Value::Null),
        ("structured_outputs", Value::Null),
        ("structured_outputs", json!({})),
        ("structured_outputs", json!({"json": null})),
        (
            "structured_outputs",
            json!({"json_object": false, "json": null}),
        ),
        ("guided_json", Value::Null),
        ("nvext", json!({"annotations": []})),
    ] {
        let body = with(field, value);
        let outcome = read_request(body.to_string().as_bytes());
        if field == "structured_outputs" && body[field].get("json_object").is_some() {
            assert!(
                outcome.is_err(),
                "vLLM refuses json_object: false, and so do we"
            );
        } else {
            assert_eq!(outcome.unwrap().constraint, None, "{body}");
        }
    }
}

#[test]
fn two_constraints_are_refused_and_both_are_named() {
    let mut body = with("response_format", json!({"type": "json_object"}));
    body["guided_regex"] = json!("a+");
    let error = read_request(body.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.kind, Kind::ConflictingConstraints);
    assert!(
        error.message.contains("`response_format.json_object`")
            && error.message.contains("`guided_regex`"),
        "{error}"
    );
    let both = with("structured_outputs", json!({"json": {}, "regex": "a"}));
    assert_eq!(refused(&both).0, Kind::ConflictingConstraints);
}

#[test]
fn a_json_schema_that_is_missing_is_missed_by_its_name() {
    for format in [
        json!({"type": "json_schema"}),
        json!({"type": "json_schema", "json_schema": null}),
    ] {
        let error =
            read_request(with("response_format", format).to_string().as_bytes()).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("response_format.json_schema"));
        assert!(
            error
                .message
                .contains("`response_format.json_schema` is missing"),
            "{error}"
        );
    }
    let nameless = json!({"type": "json_schema", "schema": null});
    let error = read_request(with("response_format", nameless).to_string().as_bytes()).unwrap_err();
    assert_eq!(error.param.as_deref(), Some("response_format.schema"));
}

#[test]
fn a_call_that_is_asked_for_without_tools_is_no_demand_and_told() {
    for body in [
        with("tool_choice", json!("required")),
        json!({"model": "m", "messages": [], "tools": [], "tool_choice": "any"}),
        json!({"model": "m", "messages": [], "tools": null, "tool_choice": {"type": "required"}}),
    ] {
        let request = read(&body);
        assert_eq!(request.tool_choice, ToolChoice::None, "{body}");
        assert!(
            request.idle.iter().any(|name| name == "tool_choice"),
            "{body}"
        );
        let told: Vec<_> = request
            .losses
            .iter()
            .map(|loss| loss.pointer.as_str())
            .collect();
        assert_eq!(told, ["/tool_choice"], "{body}");
    }
    // Of what is there to be called, a call is demanded as ever.
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let request =
        read(&json!({"model": "m", "messages": [], "tools": tools, "tool_choice": "required"}));
    assert_eq!(request.tool_choice, ToolChoice::Required);
    assert!(request.losses.is_empty() && request.idle.is_empty());
    // A tool that is named is one that somebody forgot.
    for choice in [
        json!({"type": "function", "function": {"name": "f"}}),
        json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}}),
    ] {
        assert_eq!(
            refused(&with("tool_choice", choice)).0,
            Kind::InvalidRequest
        );
    }
}

#[test]
fn every_spelling_of_a_tool_choice_is_read() {
    let named = ToolChoice::Named("f".into());
    let allowed = |required| ToolChoice::Allowed {
        required,
        names: vec!["f".into()],
    };
    for (value, choice) in [
        (json!("auto"), ToolChoice::Auto),
        (json!("none"), ToolChoice::None),
        (json!("required"), ToolChoice::Required),
        (json!("any"), ToolChoice::Required),
        (json!("f"), named.clone()),
        (
            json!({"type": "function", "function": {"name": "f"}}),
            named.clone(),
        ),
        (json!({"type": "function", "name": "f"}), named.clone()),
        (
            json!({"type": "custom", "custom": {"name": "f"}}),
            named.clone(),
        ),
        (
            json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}}),
            allowed(true),
        ),
        (
            json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}),
            allowed(false),
        ),
    ] {
        let mut body = with("tools", json!([function("f"), function("g")]));
        body["tool_choice"] = value;
        assert_eq!(read(&body).tool_choice, choice, "{body}");
    }
    let mut unknown = with("tools", json!([function("f")]));
    for (value, at) in [
        (json!("h"), "tool_choice"),
        (json!({"type": "auto", "name": "f"}), "tool_choice"),
        (
            json!({"type": "allowed_tools", "tools": [{"type": "function", "name": "f"}]}),
            "tool_choice.mode",
        ),
        (
            json!({"type": "allowed_tools", "allowed_tools": {"tools": [{"type": "function", "function": {"name": "f"}}]}}),
            "tool_choice.mode",
        ),
    ] {
        unknown["tool_choice"] = value;
        assert_eq!(refused(&unknown).1, at, "{unknown}");
    }
    assert_eq!(
        read(&with("tools", json!([function("f")]))).tool_choice,
        ToolChoice::Auto
    );
    assert_eq!(
        read(&with("stream", json!(true))).tool_choice,
        ToolChoice::None
    );
}

#[test]
fn custom_tools_carry_their_grammar() {
    let tool =
        |format: Value| json!([{"type": "custom", "custom": {"name": "f", "format": format}}]);
    let grammar = json!({"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}});
    let request = read(&with("tools", tool(grammar)));
    assert_eq!(
        request.tools[0].input,
        ToolInput::Text(Some(Constraint::Regex("a+".into())))
    );
    let flat = json!({"type": "grammar", "syntax": "lark", "definition": "start: \"a\""});
    let request = read(&with("tools", tool(flat)));
    assert!(matches!(
        &request.tools[0].input,
        ToolInput::Text(Some(Constraint::Grammar {
            notation: Notation::Lark,
            ..
        }))
    ));
    assert_eq!(
        read(&with("tools", tool(json!({"type": "text"})))).tools[0].input,
        ToolInput::Text(None)
    );
}

#[test]
fn legacy_functions_are_tools() {
    let mut body = with(
        "functions",
        json!([{"name": "f", "parameters": {"type": "object"}}]),
    );
    body["function_call"] = json!({"name": "f"});
    let request = read(&body);
    assert!(request.legacy_functions);
    assert_eq!(request.tool_choice, ToolChoice::Named("f".into()));
    body["tools"] = json!([function("g")]);
    assert_eq!(refused(&body), (Kind::InvalidRequest, "functions".into()));
}

#[test]
fn mistakes_name_their_field() {
    let tools = |tools: Value| with("tools", tools);
    let mut unknown = tools(json!([function("f")]));
    unknown["tool_choice"] = json!({"type": "function", "function": {"name": "g"}});
    for (body, kind, param) in [
        (with("stream", json!("yes")), Kind::InvalidRequest, "stream"),
        (with("n", json!(0)), Kind::InvalidRequest, "n"),
        (with("n", json!(1_000_000_000)), Kind::InvalidRequest, "n"),
        (
            with("best_of", json!(1_000_000)),
            Kind::InvalidRequest,
            "best_of",
        ),
        (with("model", json!("m\0x")), Kind::InvalidRequest, "model"),
        (
            with("response_format", json!({})),
            Kind::InvalidRequest,
            "response_format.type",
        ),
        (
            with("response_format", json!({"type": "yaml"})),
            Kind::InvalidRequest,
            "response_format.type",
        ),
        (
            with(
                "response_format",
                json!({"type": "json_schema", "json_schema": {"name": "x"}}),
            ),
            Kind::InvalidRequest,
            "response_format.json_schema.schema",
        ),
        (
            with("guided_json", json!("{oops")),
            Kind::InvalidSchema,
            "guided_json",
        ),
        (
            with("guided_choice", json!([])),
            Kind::InvalidRequest,
            "guided_choice",
        ),
        (
            with("guided_choice", json!([1])),
            Kind::InvalidRequest,
            "guided_choice",
        ),
        (
            with("guided_regex", json!("")),
            Kind::InvalidRequest,
            "guided_regex",
        ),
        (
            with("structured_outputs", json!({"jsn": {}})),
            Kind::InvalidRequest,
            "structured_outputs.jsn",
        ),
        (with("tools", json!({})), Kind::InvalidRequest, "tools"),
        (
            tools(json!([{"type": "function", "function": {}}])),
            Kind::InvalidToolName,
            "tools[0].function.name",
        ),
        (
            tools(json!([{"type": "function", "function": {"name": "a\n"}}])),
            Kind::InvalidToolName,
            "tools[0].function.name",
        ),
        (
            tools(json!([{"type": "function", "function": {"name": "a", "parameters": 3}}])),
            Kind::InvalidSchema,
            "tools[0].function.parameters",
        ),
        (
            tools(json!([function("f"), function("f")])),
            Kind::DuplicateToolName,
            "tools[1]",
        ),
        (unknown, Kind::UnknownTool, "tool_choice"),
        (
            with(
                "tool_choice",
                json!({"type": "function", "function": {"name": "f"}}),
            ),
            Kind::InvalidRequest,
            "tool_choice",
        ),
        (
            with("tool_choice", json!("sometimes")),
            Kind::InvalidRequest,
            "tool_choice",
        ),
    ] {
        assert_eq!(refused(&body), (kind, param.to_owned()), "{body}");
    }
}

#[test]
fn fields_that_nobody_knows_stay_the_bytes_they_were() {
    let body = br#"{"model":"m","zzz": {"b":1,  "a":1.50e1},"messages":[ {"role":"user"} ]}"#;
    let request = read_request(body).unwrap();
    assert_eq!(request.fields.raw("zzz"), Some(r#"{"b":1,  "a":1.50e1}"#));
    assert_eq!(
        request.fields.raw("messages"),
        Some(r#"[ {"role":"user"} ]"#)
    );
}

#[test]
fn what_other_dialects_say_of_tools_is_refused_by_its_name() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let tool = |tool: Value| with("tools", json!([tool]));
    let beside = |mut tool: Value, name: &str| {
        tool[name] = schema.clone();
        tool
    };
    let bare = json!({"type": "function", "function": {"name": "f"}});
    let choosing = |tools: &str, choice: &str, value: Value| {
        let name = json!({"name": "f", "type": "function", "parameters": {"type": "object"}});
        let mut body = with(tools, json!([name]));
        body[choice] = value;
        body
    };
    let named = json!({"name": "f"});
    for (body, param) in [
        (
            tool(beside(json!({"name": "f"}), "input_schema")),
            "tools[0].function.input_schema",
        ),
        (
            tool(
                json!({"type": "function", "function": beside(json!({"name": "f"}), "inputSchema")}),
            ),
            "tools[0].function.inputSchema",
        ),
        (
            tool(json!({"type": "function", "function": beside(json!({"name": "f"}), "schema")})),
            "tools[0].function.schema",
        ),
        (
            tool(json!({"type": "function", "function": beside(json!({"name": "f"}), "params")})),
            "tools[0].function",
        ),
        (
            tool(json!({"type": "Function", "function": {"name": "f"}})),
            "tools[0].type",
        ),
        (
            tool(
                json!({"type": "custom", "custom": {"name": "f"}, "format": {"type": "grammar", "syntax": "regex", "definition": "a"}}),
            ),
            "tools[0].custom.format",
        ),
        (
            tool(
                json!({"type": "custom", "custom": {"name": "f", "syntax": "regex", "definition": "a"}}),
            ),
            "tools[0].custom.format",
        ),
        (
            with(
                "structured_outputs",
                json!({"json": {"type": "object"}, "regx": "a+"}),
            ),
            "structured_outputs.regx",
        ),
        (
            with("nvext", json!({"guided_jsn": {"type": "object"}})),
            "nvext.guided_jsn",
        ),
        (
            with(
                "response_format",
                json!({"type": "text", "json_schema": {"name": "n", "schema": {}}}),
            ),
            "response_format.type",
        ),
        (
            tool(beside(bare.clone(), "parameters")),
            "tools[0].parameters",
        ),
        (
            tool(beside(
                json!({"type": "custom", "name": "f"}),
                "input_schema",
            )),
            "tools[0].input_schema",
        ),
        (
            choosing("functions", "tool_choice", json!("required")),
            "tool_choice",
        ),
        (
            choosing("functions", "tool_choice", json!("none")),
            "tool_choice",
        ),
        (choosing("tools", "function_call", named), "function_call"),
        (
            choosing(
                "tools",
                "tool_choice",
                json!({"type": "any", "disable_parallel_tool_use": true}),
            ),
            "tool_choice.disable_parallel_tool_use",
        ),
    ] {
        let refusal = (Kind::InvalidRequest, param.to_owned());
        assert_eq!(refused(&body), refusal, "{body}");
    }
    // A legacy choice is heard where there are no functions, as the other one is.
    let alone = |choice: &Value, functions: Value| json!({"model": "m", "messages": [], "function_call": choice, "functions": functions});
    let named = json!({"name": "f"});
    for functions in [Value::Null, json!([])] {
        let refusal = (Kind::InvalidRequest, "function_call".to_owned());
        assert_eq!(refused(&alone(&named, functions.clone())), refusal);
        let vain = read(&alone(&json!("required"), functions));
        assert_eq!(vain.losses[0].pointer, "/function_call");
        assert!(vain.idle.iter().any(|name| name == "function_call"));
    }
    // Said in vain, or beside what counts.
    let function = beside(beside(json!({"name": "f"}), "parameters"), "schema");
    for body in [
        tool(json!({"type": "function", "function": function})),
        tool(bare),
        choosing("tools", "function_call", json!("auto")),
        choosing("functions", "tool_choice", Value::Null),
    ] {
        assert_eq!(read(&body).tools.len(), 1, "{body}");
    }
}

#[test]
fn an_answers_form_in_words_of_other_dialects_is_told_to_be_unheard() {
    let schema = json!({"type": "object"});
    for (field, value, told) in [
        ("format", schema.clone(), &["/format"][..]),
        ("format", json!("json"), &["/format"]),
        ("format", json!("png"), &[]),
        (
            "output_format",
            json!({"type": "json_schema", "schema": schema}),
            &["/output_format"],
        ),
        ("response_schema", schema.clone(), &["/response_schema"]),
        (
            "text",
            json!({"format": {"type": "json_schema", "schema": schema}}),
            &["/text/format"],
        ),
        ("text", json!({"verbosity": "low"}), &[]),
        ("text", json!("x"), &[]),
        (
            "output_config",
            json!({"format": schema}),
            &["/output_config/format"],
        ),
        (
            "output_config",
            json!({"effort": "low", "format": null}),
            &[],
        ),
        (
            "generationConfig",
            json!({"responseSchema": schema, "temperature": 0}),
            &["/generationConfig/responseSchema"],
        ),
        ("response_format", json!({"type": "json_object"}), &[]),
    ] {
        let losses = read(&with(field, value.clone())).losses;
        let pointers: Vec<&str> = losses.iter().map(|loss| loss.pointer.as_str()).collect();
        assert_eq!(pointers, told, "{field}: {value}");
    }
}

#[test]
fn members_that_say_nothing_and_names_that_are_known_twice_are_no_fault_of_a_tool() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let function =
        |function: &Value| with("tools", json!([{"type": "function", "function": function}]));
    let called = |parameters: &Value| match &read(&function(parameters)).tools[0].input {
        ToolInput::Schema { schema, .. } => schema.clone(),
        _ => Value::Null,
    };
    for beside in [
        json!({"arguments": {}, "args": {}}),
        json!({"args_schema": {"a": 1}, "args": {"b": 1}}),
    ] {
        let mut stated = beside.clone();
        stated["name"] = json!("f");
        stated["parameters"] = schema.clone();
        assert_eq!(called(&stated), schema, "{beside}");
    }
    let none = json!({"type": "object", "properties": {}});
    for empty in [
        json!({"args_schema": null, "args": null}),
        json!({"properties": {}}),
        json!({"args": []}),
        json!({"arguments": ""}),
        json!({"input_schema": {}, "schema": null}),
    ] {
        let mut stated = empty.clone();
        stated["name"] = json!("f");
        assert_eq!(called(&stated), none, "{empty}");
    }
    let custom = json!({"name": "f", "grammar": null, "syntax": ""});
    let custom = with("tools", json!([{"type": "custom", "custom": custom}]));
    assert!(matches!(
        read(&custom).tools[0].input,
        ToolInput::Text(None)
    ));
    // Each of them says something.
    for said in [
        json!({"args": {}, "params": {"a": 1}}),
        json!({"properties": {"a": {}}}),
    ] {
        let mut stated = said.clone();
        stated["name"] = json!("f");
        let refusal = (Kind::InvalidRequest, "tools[0].function".to_owned());
        assert_eq!(refused(&function(&stated)), refusal, "{said}");
    }
}

#[test]
fn a_schema_that_stands_beside_an_empty_one_is_refused() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for tool in [
        json!({"type": "function", "input_schema": schema, "function": {"name": "f"}}),
        json!({"type": "function", "parameters": schema, "function": {"name": "f", "parameters": {}}}),
        json!({"type": "function", "function": {"name": "f", "parameters": {}, "input_schema": schema}}),
        json!({"type": "function", "name": "f", "arguments": schema}),
        json!({"name": "f", "properties": schema["properties"], "required": ["a"]}),
        json!({"type": "function", "args_schema": schema, "function": {"name": "f"}}),
        json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}, "input_schema": schema}}),
    ] {
        let (kind, param) = refused(&with("tools", json!([tool])));
        assert_eq!(kind, Kind::InvalidRequest, "{tool}");
        assert!(param.starts_with("tools[0]"), "{tool}: {param}");
    }
    // What other dialects have beside a type.
    for tool in [
        json!({"type": "function", "name": "f", "arguments": {"a": 1}}),
        json!({"type": "function", "name": "f", "parameters": schema, "properties": {"a": {}}}),
        // No arguments, said twice.
        json!({"type": "function", "function": {"name": "f", "parameters": {}, "input_schema": {"type": "object", "properties": {}}}}),
        json!({"type": "function", "function": {"name": "f", "parameters": {}, "arguments": "{}"}}),
        json!({"type": "function", "function": {"name": "f", "schema": "http://x"}}),
    ] {
        assert_eq!(read(&with("tools", json!([tool]))).tools.len(), 1);
    }
    let hosted = json!([{"type": "builtin_function", "function": {"name": "$web_search"}}]);
    assert_eq!(read(&with("tools", hosted)).tools[0].name, "$web_search");
}

#[test]
fn an_item_that_is_wrong_is_blamed_by_its_place() {
    let tool = json!({"type": "function", "function": {"name": "f"}});
    for (wrong, param) in [
        (json!(null), "tools[1]"),
        (json!("f"), "tools[1]"),
        (json!({"type": 3}), "tools[1].type"),
        (
            json!({"type": "function", "function": "f"}),
            "tools[1].function",
        ),
        (
            json!({"type": "function", "function": {"name": 3}}),
            "tools[1].function.name",
        ),
        (
            json!({"type": "function", "function": {"name": "g", "description": []}}),
            "tools[1].function.description",
        ),
        (
            json!({"type": "custom", "custom": {"name": "g", "format": "lark"}}),
            "tools[1].custom.format",
        ),
    ] {
        let body = with("tools", json!([tool, wrong]));
        let refusal = (Kind::InvalidRequest, param.to_owned());
        assert_eq!(refused(&body), refusal, "{wrong}");
    }
    let whole = (Kind::InvalidRequest, "tools".to_owned());
    assert_eq!(refused(&with("tools", json!("f"))), whole);
}

#[test]
fn a_name_that_an_error_repeats_is_cut() {
    let name = "f".repeat(200);
    let tools = with(
        "tools",
        json!([{"type": "function", "function": {"name": name}}, {"type": "function", "function": {"name": name}}]),
    );
    let mut choosing = with(
        "tools",
        json!([{"type": "function", "function": {"name": "f"}}]),
    );
    choosing["tool_choice"] = json!({"type": "function", "function": {"name": name}});
    for body in [tools, choosing] {
        let error = read_request(body.to_string().as_bytes()).unwrap_err();
        assert!(error.message.contains(&"f".repeat(64)), "{}", error.message);
        assert!(
            !error.message.contains(&"f".repeat(65)),
            "{}",
            error.message
        );
    }
}
