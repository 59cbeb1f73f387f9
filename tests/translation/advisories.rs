//! Published advisories on structured output in servers, each as the request that the advisory is
//! about: it is refused here, or reaches no server in the form that did the harm.

use crate::replay::rules;
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::rules::Version;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};

fn body(extra: &Value) -> Vec<u8> {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let extra = extra.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(extra);
    body.to_string().into_bytes()
}

/// What becomes of a request before anything is sent.
async fn planned(server: &str, extra: &Value) -> Result<(Exchange, Value), Error> {
    let (name, version) = server.split_once('@').unwrap_or((server, ""));
    let rule = rules().resolve(name, Version::parse(version));
    let client = body(extra);
    let mut exchange = exchange::plan(exchange::read_chat(&client)?, &rule.unwrap())?;
    exchange.compile(&SchemaLimits::default())?;
    let sent = exchange.body.clone().unwrap_or(client.into());
    Ok((exchange, serde_json::from_slice(&sent).unwrap()))
}

async fn refused(server: &str, extra: &Value) -> Kind {
    let error = planned(server, extra).await.unwrap_err();
    assert_eq!(error.status(), 400, "{error}");
    assert!(error.param.is_some(), "the field is named: {error}");
    error.kind
}

fn schema(schema: &Value) -> Value {
    json!({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}})
}

fn tool(parameters: &Value) -> Value {
    json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]})
}

fn regex(regex: &str) -> Value {
    json!({"structured_outputs": {"regex": regex}})
}

#[tokio::test]
async fn cve_2025_29770_the_backend_is_not_the_clients_to_choose() {
    let request = json!({"guided_regex": "[0-9]+", "guided_decoding_backend": "outlines"});
    let (exchange, sent) = planned("vllm@0.7.3", &request).await.unwrap();
    assert_eq!(sent.get("guided_decoding_backend"), None);
    assert_eq!(exchange.losses[0].pointer, "/guided_decoding_backend");
}

#[tokio::test]
async fn cve_2025_32381_many_schemas_do_not_fill_the_memory() {
    let compiler = Compiler::new(CompilerLimits {
        cache_entries: 20,
        ..CompilerLimits::default()
    });
    let rule = rules().resolve("vllm", None).unwrap();
    for n in 0..100 {
        let request = body(&schema(&json!({"const": n})));
        let options = exchange::Options {
            memo: compiler.memo(),
            is_compact: false,
            seal: isogloss_core::ir::Seal::default(),
        };
        let demand = exchange::read_chat(&request).unwrap();
        let mut exchange = exchange::plan_with(demand, &rule, &options).unwrap();
        compiler.checks(&mut exchange).await.unwrap();
    }
    assert!(compiler.stats().entries <= 20 && compiler.memo().stats().entries <= 20);
}

#[tokio::test]
async fn cve_2025_48942_an_invalid_schema_reaches_no_server() {
    for wrong in [
        json!({"type": "nonsense"}),
        json!({"properties": 3}),
        json!({"enum": 1}),
    ] {
        assert_eq!(
            refused("vllm@0.8.5", &schema(&wrong)).await,
            Kind::InvalidSchema
        );
        assert_eq!(
            refused("vllm@0.8.5", &json!({"guided_json": wrong})).await,
            Kind::InvalidSchema
        );
    }
}

#[tokio::test]
async fn cve_2025_48943_an_invalid_regex_reaches_no_server() {
    for wrong in ["(", "[a", "a{2,1}", "*"] {
        let request = json!({"guided_regex": wrong});
        assert_eq!(refused("vllm@0.8.5", &request).await, Kind::InvalidGrammar);
    }
}

#[tokio::test]
async fn cve_2025_48944_a_bad_pattern_or_type_of_a_tool_reaches_no_server() {
    for wrong in [
        json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
        json!({"type": "object", "properties": {"a": {"type": "something"}}}),
    ] {
        let kind = refused("vllm@0.8.5", &tool(&wrong)).await;
        assert_eq!(kind, Kind::InvalidSchema);
    }
}

#[tokio::test]
async fn cve_2025_9141_and_cve_2025_71379_forced_calls_go_past_the_tool_parser() {
    let mut request = tool(&json!({"type": "object"}));
    request["tool_choice"] = json!("required");
    for server in ["vllm@0.10.0", "vllm@0.8.5"] {
        let (_, sent) = planned(server, &request).await.unwrap();
        assert!(sent["guided_json"].is_object(), "{sent}");
        assert_ne!(sent["tool_choice"], "required");
        assert_ne!(sent["tool_choice"], "auto");
    }
}

#[tokio::test]
async fn cve_2025_57809_what_refers_to_itself_without_end_is_refused() {
    let grammar = |text: &str| json!({"structured_outputs": {"grammar": text}});
    for wrong in [
        "root ::= root",
        "root ::= a\na ::= b\nb ::= a",
        "root ::= \"x\" root",
    ] {
        refused("vllm@0.20.0", &grammar(wrong)).await;
    }
    for wrong in [
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"allOf": [{"$ref": "#"}]}),
    ] {
        refused("vllm@0.20.0", &schema(&wrong)).await;
    }
}

#[tokio::test]
async fn cve_2025_58446_a_grammar_or_an_enum_beyond_bounds_is_refused() {
    let rules: Vec<String> = (0..20_000).map(|n| format!("r{n} ::= \"{n}\"")).collect();
    let text = format!("root ::= r0\n{}", rules.join("\n"));
    let request = json!({"structured_outputs": {"grammar": text}});
    assert_eq!(
        refused("vllm@0.11.0", &request).await,
        Kind::SchemaTooComplex
    );
    let values: Vec<String> = (0..150_000).map(|n| format!("value {n}")).collect();
    let kind = refused("vllm@0.11.0", &schema(&json!({"enum": values}))).await;
    assert_eq!(kind, Kind::SchemaTooComplex);
    let choices = json!({"structured_outputs": {"choice": values}});
    assert_eq!(
        refused("vllm@0.11.0", &choices).await,
        Kind::SchemaTooComplex
    );
}

#[tokio::test]
async fn cve_2025_62426_the_servers_own_arguments_cannot_be_overridden() {
    for name in ["tokenize", "chat_template"] {
        let request = json!({"chat_template_kwargs": {name: true}});
        assert_eq!(refused("vllm@0.11.0", &request).await, Kind::InvalidRequest);
    }
}

#[tokio::test]
async fn cve_2026_25048_nested_parentheses_are_refused() {
    for depth in [1_000, 20_000] {
        let nested = format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        refused("vllm@0.15.0", &regex(&nested)).await;
        let pattern = schema(&json!({"type": "string", "pattern": nested}));
        refused("vllm@0.15.0", &pattern).await;
        let root = format!("root ::= {nested}").replace('a', "\"a\"");
        refused(
            "vllm@0.15.0",
            &json!({"structured_outputs": {"grammar": root}}),
        )
        .await;
    }
}

#[tokio::test]
async fn cve_2026_34756_nobody_asks_for_a_million_choices() {
    let request = json!({"n": 1_000_000});
    assert_eq!(refused("vllm@0.18.0", &request).await, Kind::InvalidRequest);
}

#[tokio::test]
async fn cve_2026_55574_and_pysec_2026_3933_a_regex_that_compiles_for_ever_is_refused() {
    for large in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(?:[a-z]{1,500}x){1,500}",
    ] {
        assert_eq!(
            refused("vllm@0.20.0", &regex(large)).await,
            Kind::SchemaTooComplex
        );
        let pattern = schema(&json!({"type": "string", "pattern": large}));
        assert_eq!(
            refused("vllm@0.20.0", &pattern).await,
            Kind::SchemaTooComplex
        );
    }
}

#[tokio::test]
async fn cve_2026_105757_no_schema_makes_an_engine_change_its_backend() {
    for keyword in [
        json!({"multipleOf": 3}),
        json!({"type": "array", "uniqueItems": true}),
    ] {
        let (exchange, sent) = planned("vllm@0.20.0", &schema(&keyword)).await.unwrap();
        let sent = sent.to_string();
        assert!(
            !sent.contains("multipleOf") && !sent.contains("uniqueItems"),
            "{sent}"
        );
        assert_eq!(exchange.losses.len(), 1);
    }
}

#[tokio::test]
async fn llama_cpp_22606_and_25308_recursion_and_bounds_are_limited() {
    let deep = (0..70).fold(json!({}), |inner, _| json!({ "items": inner }));
    assert_eq!(
        refused("llama-cpp", &schema(&deep)).await,
        Kind::SchemaTooComplex
    );
    let bound = "root ::= \"a\"{4000000000}";
    refused("llama-cpp", &json!({"grammar": bound})).await;
}
