//! What is read of a request, and what is refused, by the client's own field.

use super::{PATH, asked, planned, rule, sent};
use isogloss_core::dialect::client::Client;
use isogloss_core::dialect::messages::client::Messages;
use isogloss_core::exchange::{Exchange, read};
use isogloss_core::ir::{
    Amount, Constraint, Effort, Failed, Part, Role, Tool, ToolChoice, ToolInput,
};
use isogloss_core::passage::{self, Way};
use isogloss_core::rules::RuleSet;
use serde_json::{Value, json};

fn body(more: Value) -> Value {
    let mut body =
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

fn said(content: Value) -> Value {
    body(json!({"messages": [{"role": "user", "content": content}]}))
}

fn tool() -> Value {
    tool_named("f")
}

fn tool_named(name: &str) -> Value {
    json!({"name": name, "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}}})
}

#[test]
fn its_route_is_translated_however_it_is_spelled_and_what_lies_below_it_is_not() {
    for path in [
        "/v1/messages",
        "/messages",
        "/v1//messages/",
        "/v1/%6Dessages",
    ] {
        assert_eq!(passage::way(path), Way::Translated, "{path}");
        assert_eq!(passage::client(path).unwrap().label(), "messages", "{path}");
    }
    assert_eq!(passage::way("/v1/messages/count_tokens"), Way::Plain);
    assert_eq!(passage::way("/v1/messages/batches"), Way::Unknown);
    assert_eq!(passage::way("/v1/threads/x/messages"), Way::Disguised);
    assert!(passage::clients().contains(&"messages"));
}

#[test]
fn tools_choice_and_constraint_are_what_the_client_means() {
    let schema = json!({"type": "object"});
    let format = json!({"type": "json_schema", "schema": schema});
    let all = body(json!({
        "tools": [tool(), {"type": "custom", "name": "g", "description": "d", "strict": true, "input_schema": {}},
            {"type": "web_search_20250305", "name": "web_search"}],
        "tool_choice": {"type": "tool", "name": "g", "disable_parallel_tool_use": true},
        "output_config": {"format": format, "effort": "max"},
        "stream": true, "stop_sequences": ["x"], "top_k": 3, "system": "s",
    }));
    let request = read(&Messages, PATH, all.to_string().as_bytes())
        .unwrap()
        .request;
    let names: Vec<_> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["f", "g", "web_search"]);
    assert_eq!(request.tools[1].input_origin.0, "tools[1].input_schema");
    assert_eq!(
        request.tools[1].input,
        ToolInput::Schema {
            schema: json!({"type": "object"}),
            strict: true
        }
    );
    assert!(
        matches!(&request.tools[2].input, ToolInput::Hosted(hosted) if hosted.kind.starts_with("web_search"))
    );
    assert_eq!(request.tool_choice, ToolChoice::Named("g".to_owned()));
    assert_eq!(request.parallel_tool_calls, Some(false));
    let stated = request.constraint.as_ref().unwrap();
    assert_eq!(stated.constraint, Constraint::JsonSchema(schema));
    assert_eq!(stated.spelling.0, "output_config.format");
    let settings: Value = serde_json::from_slice(&request.settings().to_json()).unwrap();
    assert_eq!(
        settings,
        json!({"model": "m", "max_tokens": 9, "top_k": 3, "stop": ["x"], "stream": true,
        "stream_options": {"include_usage": true}})
    );
    let thinking = request.thinking.as_ref().unwrap();
    assert_eq!(thinking.amount, Amount::Effort(Effort::Max));
    assert_eq!(thinking.origin.0, "output_config.effort");
    for (stated, choice) in [
        (json!({"type": "auto"}), ToolChoice::Auto),
        (json!({"type": "any"}), ToolChoice::Required),
        (json!({"type": "none"}), ToolChoice::None),
        (Value::Null, ToolChoice::Auto),
    ] {
        let one = body(json!({"tools": [tool()], "tool_choice": stated}));
        let request = read(&Messages, PATH, one.to_string().as_bytes())
            .unwrap()
            .request;
        assert_eq!(request.tool_choice, choice);
        assert_eq!(request.states_choice, !stated.is_null());
        assert_eq!(request.parallel_tool_calls, None);
    }
}

#[test]
fn a_conversation_is_read_in_turns_of_who_speaks() {
    let messages = json!([
        {"role": "system", "content": "one"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image", "source": {"type": "url", "url": "https://a.example/i.png"}}]},
        {"role": "system", "content": "two"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "thinking", "thinking": "v"},
            {"type": "tool_use", "id": "u", "name": "f", "input": {"a":  1}}]},
        {"role": "user", "content": [{"type": "text", "text": "so"}, {"type": "tool_result", "tool_use_id": "u", "is_error": true}]},
    ]);
    let request = body(json!({"messages": messages, "system": [{"type": "text", "text": "zero"}]}));
    let request = read(&Messages, PATH, request.to_string().as_bytes())
        .unwrap()
        .request;
    let turns = Messages.turns(&request).unwrap();
    let roles: Vec<Role> = turns.iter().map(|turn| turn.role).collect();
    assert_eq!(
        roles,
        [
            Role::System,
            Role::User,
            Role::System,
            Role::Assistant,
            Role::Tool,
            Role::User
        ]
    );
    assert_eq!(turns[0].text(), "zero\none");
    assert_eq!(turns[2].text(), "two");
    assert!(matches!(&turns[1].parts[1], Part::Link { url, .. } if url.ends_with("i.png")));
    let claims: Vec<&str> = turns[3]
        .claimed
        .iter()
        .map(|it| it.signature.as_str())
        .collect();
    assert_eq!((turns[3].sealed.len(), claims), (1, vec![""]));
    assert_eq!(turns[4].call_id.as_deref(), Some("u"));
    assert_eq!(turns[4].tool.as_deref(), Some("f"));
    assert_eq!(turns[4].origin.0, "messages[4].content[1]");
    assert!(
        matches!(&turns[4].failed, Some(Failed::Apart(at)) if at.0 == "messages[4].content[1].is_error")
    );
    assert_eq!(turns[5].text(), "so");
}

#[test]
fn instructions_in_the_middle_stand_where_the_server_takes_them() {
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "two"},
        {"role": "assistant", "content": "so"},
        {"role": "system", "content": [{"type": "text", "text": "three"}, {"type": "text", "text": "four"}]},
        {"role": "user", "content": "on"},
    ]);
    let request = body(json!({"messages": messages, "system": "one"}));
    let asides = |exchange: &Exchange| {
        let lost = exchange.losses.iter().map(|loss| loss.pointer.clone());
        lost.collect::<Vec<_>>()
    };
    for server in ["vllm@0.32.0", "llama-cpp", "plain", "ollama-native"] {
        let exchange = asked(&request, server);
        assert_eq!(
            asides(&exchange),
            ["/messages/1", "/messages/3"],
            "{server}"
        );
        let sent = sent(&exchange);
        let spoken: Vec<(&str, &str)> = (sent["messages"].as_array().unwrap().iter())
            .map(|it| {
                (
                    it["role"].as_str().unwrap(),
                    it["content"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            spoken,
            [
                ("system", "one"),
                ("user", "hi\n<system>\ntwo\n</system>"),
                ("assistant", "so"),
                (
                    "user",
                    "<system>\nthree\n</system>\n<system>\nfour\n</system>\non"
                ),
            ],
            "{server}"
        );
    }
    let exchange = asked(&request, "openai");
    assert_eq!(asides(&exchange), Vec::<String>::new());
    let sent = sent(&exchange);
    assert_eq!(
        sent["messages"][2],
        json!({"role": "system", "content": "two"})
    );
    let exchange = asked(&request, "gemini");
    assert_eq!(asides(&exchange), ["/messages/1", "/messages/3"]);
}

/// The model's own words at the end of a conversation, in their last message and in the fields beside it.
#[test]
fn where_the_conversation_ends_with_the_models_own_words_it_goes_on_with_them() {
    let beginning = json!([{"role": "user", "content": "Count."}, {"role": "assistant", "content": "One, two,"}]);
    let words = |server: &str, more: Value| {
        let exchange = super::asked(&body(more), server);
        let sent = super::sent(&exchange);
        let fields = ["continue_final_message", "add_generation_prompt"];
        let fields = fields.map(|name| sent[name].clone());
        let losses: Vec<String> = exchange
            .losses
            .iter()
            .map(|loss| loss.pointer.clone())
            .collect();
        (fields, losses)
    };
    let none = [Value::Null, Value::Null];
    let ends = || json!({"messages": beginning});
    let lost = || vec!["/messages/1".to_owned()];
    for (server, fields, losses) in [
        ("vllm@0.32.0", [json!(true), json!(false)], vec![]),
        ("sglang@0.5.23", [json!(true), Value::Null], vec![]),
        ("llama-cpp", none.clone(), vec![]),
        ("vllm@0.6.0", none.clone(), lost()),
        ("openai", none.clone(), lost()),
    ] {
        assert_eq!(words(server, ends()), (fields, losses), "{server}");
    }
    // Nothing is said of it where the user speaks last, and an answer of which something is demanded begins anew.
    assert_eq!(words("vllm@0.32.0", json!({})), (none.clone(), vec![]));
    let demanded =
        json!({"messages": beginning, "tools": [tool()], "tool_choice": {"type": "any"}});
    assert_eq!(words("vllm@0.32.0", demanded), (none, lost()));
}

#[test]
fn tool_results_answer_the_calls_before_them_each_once() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let text = || json!({"type": "text", "text": "t"});
    let says = |role: &str, blocks: &[Value]| json!({"role": role, "content": blocks});
    let rows: [(Vec<Value>, Option<&str>); 8] = [
        (
            vec![
                says("assistant", &[call("a"), call("b")]),
                says("user", &[result("b"), result("a"), text()]),
            ],
            None,
        ),
        (
            vec![
                says("assistant", &[call("a")]),
                says("system", &[text()]),
                says("assistant", &[call("b")]),
                says("user", &[result("a")]),
                says("user", &[result("b")]),
                says("assistant", &[text()]),
            ],
            None,
        ),
        (
            vec![says("user", &[result("a")])],
            Some("messages[0].content[0].tool_use_id"),
        ),
        (
            vec![
                says("assistant", &[call("a")]),
                says("user", &[result("a"), result("a")]),
            ],
            Some("messages[1].content[1].tool_use_id"),
        ),
        (
            vec![says("user", &[text()]), says("assistant", &[call("a")])],
            Some("messages[1].content[0]"),
        ),
        (
            vec![
                says("assistant", &[call("a")]),
                says("user", &[text()]),
                says("assistant", &[text()]),
            ],
            Some("messages[0].content[0]"),
        ),
        (
            vec![
                says("assistant", &[call("a"), call("b")]),
                says("user", &[result("a")]),
            ],
            Some("messages[0].content[1]"),
        ),
        (
            vec![
                says("assistant", &[call("a")]),
                says("user", &[result("a")]),
                says("assistant", &[text()]),
                says("user", &[result("a")]),
            ],
            Some("messages[3].content[0].tool_use_id"),
        ),
    ];
    for (messages, wanted) in rows {
        let body = body(json!({"messages": messages}));
        let planned = planned(body.to_string().as_bytes(), &rule("plain"));
        let param = planned.err().and_then(|error| error.param);
        assert_eq!(param.as_deref(), wanted, "{body}");
    }
}

#[test]
fn whatever_other_servers_have_no_word_for_is_told_by_its_own_place() {
    let request = body(json!({
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "f", "input_schema": {}, "defer_loading": true}],
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "mcp_servers": [{"name": "m"}], "container": "c",
        "context_management": {"edits": [1]}, "a/b": 1, "inference_geo": null, "metadata": {"user_id": "x".repeat(65), "k": 1},
        "output_config": {"effort": "max", "task_budget": 1}, "stop_sequences": ["x"],
    }));
    let exchange = asked(&request, "plain");
    let mut lost: Vec<&str> = exchange
        .losses
        .iter()
        .map(|loss| loss.pointer.as_str())
        .collect();
    lost.sort_unstable();
    assert_eq!(
        lost,
        [
            "/a~1b",
            "/container",
            "/context_management",
            "/mcp_servers",
            "/metadata/k",
            "/metadata/user_id",
            "/output_config/task_budget",
            "/system/0/cache_control",
            "/thinking/budget_tokens",
            "/tools/0/defer_loading",
        ]
    );
    assert_eq!(sent(&exchange)["stop"], json!(["x"]));
    assert!(sent(&exchange).get("thinking").is_none());
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_wrong_is_refused_by_its_field() {
    let call = |choice: Value| body(json!({"tools": [tool()], "tool_choice": choice}));
    let format = |format: Value| body(json!({"output_config": {"format": format}}));
    let rows = [
        (json!([]), None),
        (json!({"max_tokens": 9, "messages": []}), Some("model")),
        (body(json!({"model": "a\u{0}b"})), Some("model")),
        (json!({"model": "m", "messages": []}), Some("max_tokens")),
        (body(json!({"max_tokens": 0})), Some("max_tokens")),
        (body(json!({"max_tokens": "9"})), Some("max_tokens")),
        (json!({"model": "m", "max_tokens": 9}), Some("messages")),
        (body(json!({"messages": "hi"})), Some("messages")),
        (body(json!({"messages": []})), Some("messages")),
        (
            body(json!({"messages": [{"role": "user"}]})),
            Some("messages[0].content"),
        ),
        (
            body(json!({"messages": [{"role": "tool", "content": "x"}]})),
            Some("messages[0].role"),
        ),
        (
            body(json!({"messages": [{"content": "x"}]})),
            Some("messages[0].role"),
        ),
        (said(json!(7)), Some("messages[0].content")),
        (said(json!(["x"])), Some("messages[0].content[0]")),
        (
            said(json!([{"text": "x"}])),
            Some("messages[0].content[0].type"),
        ),
        (
            said(json!([{"type": "text"}])),
            Some("messages[0].content[0].text"),
        ),
        (
            said(json!([{"type": "text", "text": 7}])),
            Some("messages[0].content[0].text"),
        ),
        (
            said(json!([{"type": "hologram"}])),
            Some("messages[0].content[0]"),
        ),
        (
            said(json!([{"type": "container_upload", "file_id": "f"}])),
            Some("messages[0].content[0]"),
        ),
        (
            said(json!([{"type": "image"}])),
            Some("messages[0].content[0].source"),
        ),
        (
            said(json!([{"type": "image", "source": {"type": "base64", "data": "x"}}])),
            Some("messages[0].content[0].source.media_type"),
        ),
        (
            said(json!([{"type": "tool_result"}])),
            Some("messages[0].content[0].tool_use_id"),
        ),
        (
            said(json!([{"type": "tool_use", "id": "u", "name": "f", "input": {}}])),
            Some("messages[0].content[0]"),
        ),
        (
            body(
                json!({"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "u", "name": "f", "input": "x"}]}]}),
            ),
            Some("messages[0].content[0].input"),
        ),
        (
            body(
                json!({"messages": [{"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "u"}]}]}),
            ),
            Some("messages[0].content[0]"),
        ),
        (body(json!({"system": 7})), Some("system")),
        (
            body(json!({"system": [{"type": "image", "source": {"type": "url", "url": "u"}}]})),
            Some("system"),
        ),
        (body(json!({"stream": "yes"})), Some("stream")),
        (body(json!({"temperature": "hot"})), Some("temperature")),
        (body(json!({"top_k": 1.5})), Some("top_k")),
        (body(json!({"stop_sequences": "x"})), Some("stop_sequences")),
        (body(json!({"metadata": 1})), Some("metadata")),
        (
            body(json!({"metadata": {"user_id": 1}})),
            Some("metadata.user_id"),
        ),
        (body(json!({"tools": {}})), Some("tools")),
        (
            body(json!({"tools": [{"input_schema": {}}]})),
            Some("tools[0].name"),
        ),
        (
            body(json!({"tools": [{"name": "f"}]})),
            Some("tools[0].input_schema"),
        ),
        (
            body(json!({"tools": [{"name": "f", "input_schema": "x"}]})),
            Some("tools[0].input_schema"),
        ),
        (
            body(json!({"tools": [{"name": "f", "input_schema": {}, "strict": 1}]})),
            Some("tools[0].strict"),
        ),
        (body(json!({"tools": [tool(), tool()]})), Some("tools[1]")),
        (call(json!("any")), Some("tool_choice")),
        (call(json!({})), Some("tool_choice.type")),
        (call(json!({"type": "required"})), Some("tool_choice.type")),
        (call(json!({"type": "tool"})), Some("tool_choice.name")),
        (
            call(json!({"type": "auto", "name": "f"})),
            Some("tool_choice.name"),
        ),
        (
            call(json!({"type": "tool", "name": "g"})),
            Some("tool_choice.name"),
        ),
        (
            call(json!({"type": "any", "disable_parallel_tool_use": 1})),
            Some("tool_choice.disable_parallel_tool_use"),
        ),
        (
            body(json!({"tool_choice": {"type": "any"}})),
            Some("tool_choice"),
        ),
        (format(json!("json")), Some("output_config.format")),
        (
            format(json!({"schema": {}})),
            Some("output_config.format.type"),
        ),
        (
            format(json!({"type": "json_object"})),
            Some("output_config.format.type"),
        ),
        (
            format(json!({"type": "json_schema"})),
            Some("output_config.format.schema"),
        ),
        (
            format(json!({"type": "json_schema", "schema": 7})),
            Some("output_config.format.schema"),
        ),
        (
            body(
                json!({"output_format": {"type": "json_schema", "schema": {"type": "object"}},
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "array"}}}}),
            ),
            Some("output_format"),
        ),
        (
            body(json!({"response_format": {"type": "json_object"}})),
            Some("response_format"),
        ),
        (body(json!({"guided_regex": "x"})), Some("guided_regex")),
    ];
    for (body, at) in rows {
        let rule = super::rule("vllm@0.32.0");
        let Err(error) = super::planned(body.to_string().as_bytes(), &rule) else {
            panic!("{body} is taken")
        };
        assert_eq!(error.param.as_deref(), at, "{body}");
        assert_eq!(error.status(), 400, "{body}");
        let told: Value = serde_json::from_slice(&Messages.error_body(&error)).unwrap();
        assert_eq!(told["type"], "error");
        assert_eq!(told["error"]["type"], "invalid_request_error");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains(at.unwrap_or("the body")), "{message}");
    }
}

#[test]
fn a_result_that_refers_to_a_tool_tells_its_definition_once() {
    let reference = |name: &str| json!({"type": "tool_reference", "tool_name": name});
    let search = |id: &str, content: Value| {
        [
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "ToolSearch", "input": {"query": "task"}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}),
        ]
    };
    let task = json!({"name": "TaskCreate", "description": "Makes a task.", "defer_loading": true,
        "input_schema": {"type": "object", "properties": {"subject": {"type": "string"}}}});
    let messages = [
        vec![json!({"role": "user", "content": "x"})],
        search(
            "toolu_1",
            json!([reference("TaskCreate"), reference("Gone")]),
        )
        .to_vec(),
        search(
            "toolu_2",
            json!([{"type": "text", "text": "again"}, reference("TaskCreate")]),
        )
        .to_vec(),
    ]
    .concat();
    let body = body(json!({"tools": [tool(), task], "messages": messages}));
    let definition = r#"<function>{"name":"TaskCreate","description":"Makes a task.","parameters":{"properties":{"subject":{"type":"string"}},"type":"object"}}</function>"#;
    let first = format!("{definition}\n<function>{{\"name\":\"Gone\"}}</function>");
    let second = "again\n<function>{\"name\":\"TaskCreate\"}</function>";
    for server in ["vllm@0.32.0", "openai", "gemini"] {
        let exchange = asked(&body, server);
        let there = sent(&exchange);
        let told: Vec<&Value> = match server {
            "gemini" => (there["contents"].as_array().unwrap().iter())
                .filter_map(|content| {
                    content["parts"][0].pointer("/functionResponse/response/output")
                })
                .collect(),
            _ => (there["messages"].as_array().unwrap().iter())
                .filter(|message| message["role"] == "tool")
                .map(|message| &message["content"])
                .collect(),
        };
        let read = |text: &Value| text.as_str().unwrap().to_owned();
        let told: Vec<String> = told.into_iter().map(read).collect();
        assert_eq!(told.len(), 2, "{there}");
        assert!(is_same(&told[0], &first), "{server}: {}", told[0]);
        assert_eq!(told[1], second, "{server}");
        let lost = exchange.losses.iter().map(|loss| loss.pointer.as_str());
        let of_results: Vec<&str> = lost.filter(|at| at.starts_with("/messages")).collect();
        assert_eq!(of_results, Vec::<&str>::new(), "{server}");
    }
    // Anthropic's own server is told the reference.
    let exchange = asked(&body, "anthropic");
    let there = exchange.sent().map(|_| sent(&exchange));
    let there = there.as_ref().unwrap_or(&body);
    assert_eq!(there["messages"], body["messages"]);
    // Where no tool answered nothing is referred to.
    let exchange = asked(
        &said(json!([reference("f"), {"type": "text", "text": "y"}])),
        "vllm@0.32.0",
    );
    let lost = exchange.losses.iter().map(|loss| loss.pointer.as_str());
    assert_eq!(lost.collect::<Vec<_>>(), ["/messages/0/content/0"]);
}

/// The same texts, of which the definition's members may be in another order.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| -> Vec<Value> {
        let lines = text.lines();
        let json = lines.map(|line| {
            let inner = line.strip_prefix("<function>").unwrap();
            serde_json::from_str(inner.strip_suffix("</function>").unwrap()).unwrap()
        });
        json.collect()
    };
    read(one) == read(other)
}

#[test]
fn a_server_of_the_wire_that_knows_no_types_of_tools_is_told_functions() {
    let file = isogloss_testing::root().join("rules/anthropic.toml");
    let file = std::fs::read_to_string(file).unwrap();
    let file = file.replace("hosted_tools = true", "hosted_tools = false");
    let rules = RuleSet::with_overlay(&[("anthropic.toml".to_owned(), file)]).unwrap();
    let all = body(json!({"tools": [
        {"type": "bash_20250124", "name": "bash", "cache_control": {"type": "ephemeral"}},
        {"type": "web_search_20250305", "name": "web_search"},
        tool(),
    ]}));
    let demand = read(&Messages, PATH, all.to_string().as_bytes()).unwrap();
    let rule = rules.resolve("anthropic", None).unwrap();
    let exchange = isogloss_core::exchange::plan(demand, &rule).unwrap();
    let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
    let tools = sent["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0]["type"], Value::Null);
    assert_eq!(tools[0]["name"], "bash");
    assert_eq!(tools[0]["cache_control"], json!({"type": "ephemeral"}));
    // A rule of the wire takes no alternatives at the root.
    let schema = &tools[0]["input_schema"];
    assert!(schema["properties"]["command"].is_object(), "{schema}");
    assert!(tools[0]["description"].is_string());
    assert_eq!(tools[1], tool());
    let lost: Vec<_> = exchange.losses.iter().map(|loss| &*loss.pointer).collect();
    assert_eq!(lost, ["/tools/0/anyOf", "/tools/1"]);
}

#[test]
fn a_tool_that_the_client_runs_is_a_function_by_its_name_and_all_else_of_it_is_told() {
    let of = |tool: Value| {
        let body = body(json!({"tools": [tool, tool_named("g")]})).to_string();
        planned(body.as_bytes(), &rule("vllm@0.32.0"))
    };
    let exchange = of(
        json!({"type": "bash_20250124", "name": "sh", "strict": true, "defer_loading": true,
        "cache_control": {"type": "ephemeral"}}),
    )
    .unwrap();
    let request = &exchange.demand.request;
    assert_eq!(request.tools[0].name, "sh");
    let is_function = |tool: &Tool| matches!(tool.input, ToolInput::Schema { .. });
    assert!(is_function(&request.tools[0]));
    let mut lost: Vec<_> = exchange.losses.iter().map(|loss| &*loss.pointer).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["/tools/0/cache_control", "/tools/0/defer_loading"]);
    let error = of(json!({"type": "memory_20250818"})).unwrap_err();
    assert_eq!(error.param.as_deref(), Some("tools[0].name"));
    // What only Anthropic's models know is left out, and that is told.
    let exchange = of(json!({"type": "computer_toolset_20260801"})).unwrap();
    assert_eq!(exchange.demand.request.tools.len(), 1);
    assert_eq!(exchange.losses[0].pointer, "/tools/0");
}

#[test]
fn a_hosted_tool_may_say_that_it_has_no_schema() {
    let of = |schema: Value| {
        let hosted =
            json!({"type": "web_search_20250305", "name": "web_search", "input_schema": schema});
        let body = body(json!({"tools": [hosted, tool()]})).to_string();
        planned(body.as_bytes(), &rule("vllm@0.32.0"))
    };
    let exchange = of(Value::Null).unwrap();
    assert_eq!(exchange.losses[0].pointer, "/tools/0");
    let error = of(json!({"type": "object"})).unwrap_err();
    assert_eq!(error.param.as_deref(), Some("tools[0].type"));
}
