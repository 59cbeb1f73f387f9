//! Tools whose schema nobody can read: one of many costs the others nothing where none is demanded.

use crate::replay::rule;
use bytes::Bytes;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, Exchange, Fault, Opened};
use isogloss_core::ir::{EnforcedBy, Ids};
use isogloss_core::passage;
use isogloss_core::schema::SchemaLimits;
use isogloss_core::verify::Checks;
use serde_json::{Value, json};
use std::sync::Arc;

const PATH: &str = "/v1/chat/completions";

/// As clients send those of MCP servers: `$defs` left out and their references not (`@continuedev/cli` 1.5.47), types of other
/// languages.
fn odd() -> [Value; 7] {
    let of = |property: Value| json!({"type": "object", "properties": {"q": property}});
    [
        of(json!({"$ref": "#/$defs/Q"})),
        of(json!({"$ref": "https://example.com/s.json"})),
        of(json!({"type": "float"})),
        of(json!({"type": "string", "pattern": "["})),
        of(json!({"type": "string", "enum": "x"})),
        json!({"type": "object", "properties": [1]}),
        json!({"type": "object", "properties": {}, "required": true}),
    ]
}

fn opened(schema: &Value, more: &Value) -> Opened {
    let tool = |name: &str, schema: &Value| json!({"type": "function", "function": {"name": name, "parameters": schema}});
    let good =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}],
        "tools": [tool("good", &good), tool("odd", schema)]});
    for (name, value) in more.as_object().unwrap() {
        match name.as_str() {
            "strict" => body["tools"][1]["function"]["strict"] = value.clone(),
            _ => body[name] = value.clone(),
        }
    }
    let client = passage::client(PATH).unwrap();
    Opened::new(client, PATH, Bytes::from(body.to_string())).unwrap()
}

fn asked(server: &str, opened: &Opened) -> Result<(Exchange, Arc<Checks>), Error> {
    let mut exchange = exchange::plan(opened.read()?, &rule(server))?;
    let checks = exchange.compile(&SchemaLimits::default())?;
    Ok((exchange, checks))
}

#[test]
fn a_schema_that_cannot_be_read_costs_the_other_tools_nothing() {
    for server in ["vllm@0.32.0", "sglang", "ollama", "plain"] {
        for schema in odd() {
            let opened = opened(&schema, &json!({}));
            let error = asked(server, &opened).unwrap_err();
            let (opened, loss) = opened.outlined(&error).unwrap();
            let (exchange, checks) = asked(server, &opened).unwrap();
            // No server is sent what it may end on.
            let sent = exchange.sent().map(|body| body.to_vec());
            let sent = String::from_utf8(sent.unwrap_or_else(|| opened.body().to_vec())).unwrap();
            assert!(sent.contains("good") && sent.contains("odd"), "{sent}");
            for harm in [
                "$ref",
                "float",
                "pattern",
                "enum\":null",
                "[]",
                "required\":true",
            ] {
                assert!(!sent.contains(harm), "{sent}");
            }
            assert_eq!(
                (loss.pointer.as_str(), loss.enforced_by),
                ("/tools/1/function/parameters", EnforcedBy::Nobody)
            );
            assert!(loss.reason.contains("held to those"), "{loss:?}");
            if server != "vllm@0.32.0" {
                continue;
            }
            let replied = |name: &str, arguments: &str| {
                let call = json!({"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}});
                let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
                let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                    "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
                exchange::reply(
                    &exchange,
                    &checks,
                    Ids::new(1),
                    reply.to_string().as_bytes(),
                )
                .map(drop)
            };
            replied("odd", "{\"q\":\"x\"}").unwrap();
            replied("good", "{\"a\":1}").unwrap();
            for (name, arguments) in [("odd", "[1]"), ("good", "{\"a\":\"x\"}")] {
                let broken = replied(name, arguments);
                assert!(
                    matches!(broken, Err(Fault::Violation(_))),
                    "{name} {arguments}"
                );
            }
        }
    }
}

#[test]
fn one_that_is_demanded_is_refused() {
    for schema in odd() {
        for more in [
            json!({"tool_choice": {"type": "function", "function": {"name": "odd"}}}),
            json!({"strict": true}),
        ] {
            let opened = opened(&schema, &more);
            let error = asked("vllm@0.32.0", &opened).unwrap_err();
            assert!(opened.outlined(&error).is_none());
            assert!(
                matches!(error.kind, Kind::InvalidSchema | Kind::UnsupportedSchema),
                "{error:?}"
            );
            assert!(
                error
                    .param
                    .unwrap()
                    .starts_with("tools[1].function.parameters"),
                "{schema} {more}"
            );
        }
    }
}

/// As zod and pydantic write named schemas.
#[test]
fn a_reference_at_the_root_is_told_as_its_object_where_one_is_wanted() {
    let named =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let schema = json!({"$ref": "#/$defs/Named", "$defs": {"Named": named}});
    for server in ["groq", "mistral", "gemini", "gemini-compat"] {
        let opened = opened(&schema, &json!({}));
        let (exchange, _) = asked(server, &opened).unwrap();
        let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        let told = match server {
            "gemini" => &sent["tools"][0]["functionDeclarations"][1]["parametersJsonSchema"],
            _ => &sent["tools"][1]["function"]["parameters"],
        };
        assert_eq!(told["type"], "object", "{server}: {sent}");
        assert_eq!(told["properties"], named["properties"], "{server}");
        assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
    }
    let opened = opened(&schema, &json!({}));
    let (exchange, _) = asked("vllm@0.31.0", &opened).unwrap();
    assert!(exchange.sent().is_none(), "others take it as it is");
}

#[test]
fn what_is_required_and_not_named_is_left_out_where_that_is_refused() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]});
    for (server, is_lost) in [
        ("gemini", true),
        ("gemini-compat", true),
        ("vllm@0.32.0", false),
    ] {
        let opened = opened(&schema, &json!({}));
        let (exchange, _) = asked(server, &opened).unwrap();
        let lost = exchange.losses.iter().any(|loss| {
            loss.pointer == "/tools/1/function/parameters" && loss.enforced_by == EnforcedBy::Proxy
        });
        assert_eq!(lost, is_lost, "{server}: {:?}", exchange.losses);
        let sent = exchange
            .sent()
            .map(|sent| String::from_utf8(sent.to_vec()).unwrap());
        let says = sent.is_none_or(|sent| sent.contains(r#"["a","b"]"#));
        assert_eq!(says, !is_lost, "{server}");
    }
}

#[test]
fn a_custom_tool_that_may_not_be_called_is_a_function_to_a_server_that_knows_no_other() {
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}});
    for more in [json!({}), json!({"response_format": format})] {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "tool_choice": "none",
            "tools": [{"type": "custom", "custom": {"name": "c"}}]});
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let demand = exchange::read_chat(body.to_string().as_bytes()).unwrap();
        let exchange = exchange::plan(demand, &rule("vllm@0.32.0")).unwrap();
        let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        assert_eq!(sent["tools"][0]["type"], "function", "{more}");
        assert_eq!(sent["tools"][0]["function"]["name"], "c", "{more}");
        assert_eq!(sent["tool_choice"], "none", "{more}");
    }
}

#[test]
fn where_any_call_will_do_one_of_another_tool_can_be_it() {
    let wanted = json!({"tool_choice": "required"});
    for schema in odd() {
        let several = opened(&schema, &wanted);
        let error = asked("vllm@0.32.0", &several).unwrap_err();
        let (several, loss) = several.outlined(&error).unwrap();
        assert_eq!(loss.pointer, "/tools/1/function/parameters");
        assert!(asked("vllm@0.32.0", &several).is_ok(), "{schema}");
        // Alone it is the one that is demanded.
        let alone = json!({"tool_choice": "required", "tools": [
            {"type": "function", "function": {"name": "odd", "parameters": schema}}]});
        let alone = opened(&schema, &alone);
        let error = asked("vllm@0.32.0", &alone).unwrap_err();
        assert!(alone.outlined(&error).is_none(), "{schema}");
    }
}
