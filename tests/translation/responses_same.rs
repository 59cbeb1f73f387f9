//! Clients of Responses before a server of the same wire: what nobody demands anything of goes through, what is
//! demanded is verified, and what only this wire says survives.

use crate::replay;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{Ids, Place, Quote, Violation};
use isogloss_core::passage;
use serde_json::{Value, json};

const PATH: &str = "/v1/responses";

fn planned(request: &Value) -> Result<Exchange, Error> {
    let client = passage::client(PATH).unwrap();
    let demand = exchange::read(client, PATH, request.to_string().as_bytes())?;
    exchange::plan(demand, &replay::rule("openai"))
}

fn of(mut request: Value) -> Exchange {
    request["model"] = json!("m");
    planned(&request).unwrap()
}

fn sent(exchange: &Exchange) -> Option<Value> {
    exchange
        .sent()
        .map(|body| serde_json::from_slice(body).unwrap())
}

fn whole(exchange: &mut Exchange, reply: &Value) -> Result<Value, Fault> {
    let checks = exchange.compile(&Default::default()).unwrap();
    let body = reply.to_string();
    let written = exchange::reply(exchange, &checks, Ids::new(42), body.as_bytes())?;
    Ok(serde_json::from_slice(&written.body).unwrap())
}

/// The events of a stream, as the client reads them.
fn streamed(exchange: &mut Exchange, events: &[Value]) -> Result<Vec<Value>, Fault> {
    let checks = exchange.compile(&Default::default()).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(42), 1 << 20);
    let mut out = Vec::new();
    for event in events {
        let text = format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap()
        );
        translator.push(text.as_bytes(), &mut out)?;
    }
    translator.finish(End::Eof, &mut out)?;
    let text = String::from_utf8(out).unwrap();
    let datas = text.lines().filter_map(|line| line.strip_prefix("data: "));
    Ok(datas
        .map(|data| serde_json::from_str(data).unwrap())
        .collect())
}

fn tool() -> Value {
    json!({"type": "function", "name": "f", "strict": false, "parameters": {"type": "object",
        "properties": {"a": {"type": "integer"}}, "required": ["a"]}})
}

fn response(status: &str, output: Value) -> Value {
    json!({"id": "resp_theirs", "object": "response", "created_at": 1.5, "status": status, "error": null,
        "incomplete_details": null, "model": "m-1", "output": output, "store": true,
        "service_tier": "flex", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 1}}})
}

fn thought() -> Value {
    json!({"type": "reasoning", "id": "rs_theirs", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "gAAAA"})
}

fn search() -> Value {
    json!({"type": "web_search_call", "id": "ws_theirs", "status": "completed", "action": {"type": "search"}})
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_theirs", "status": "completed", "role": "assistant", "content": [
        {"type": "output_text", "text": text, "logprobs": [], "annotations": [{"type": "url_citation", "url": "u"}]}]})
}

fn call(arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_theirs", "status": "completed", "call_id": "call_theirs", "name": "f",
        "arguments": arguments})
}

/// What a server's stream says of these items.
fn stream(output: &[Value]) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "response.created", "response": response("in_progress", json!([]))})];
    for (place, item) in output.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        let mut said = Vec::new();
        let of = |kind: &str, more: Value| {
            let mut event = json!({"type": kind, "output_index": place, "item_id": item["id"]});
            for (name, value) in more.as_object().unwrap() {
                event[name] = value.clone();
            }
            event
        };
        match item["type"].as_str().unwrap() {
            "message" => {
                begun["content"] = json!([]);
                for half in item["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .split_inclusive(' ')
                {
                    said.push(of(
                        "response.output_text.delta",
                        json!({"content_index": 0, "delta": half}),
                    ));
                }
                said.push(of(
                    "response.output_text.annotation.added",
                    json!({"annotation": {"url": "u"}}),
                ));
            }
            "function_call" => {
                begun["arguments"] = json!("");
                said.push(of(
                    "response.function_call_arguments.delta",
                    json!({"delta": item["arguments"]}),
                ));
            }
            "reasoning" => {
                begun["summary"] = json!([]);
                said.push(of(
                    "response.reasoning_summary_text.delta",
                    json!({"summary_index": 0, "delta": "hm"}),
                ));
            }
            _ => said.push(of("response.web_search_call.searching", json!({}))),
        }
        events.push(
            json!({"type": "response.output_item.added", "output_index": place, "item": begun}),
        );
        events.extend(said);
        events.push(
            json!({"type": "response.output_item.done", "output_index": place, "item": item}),
        );
    }
    events.push(
        json!({"type": "response.completed", "response": response("completed", json!(output))}),
    );
    events
}

#[test]
fn what_demands_nothing_goes_through_as_it_is() {
    let request = json!({"input": "hi", "tools": [{"type": "web_search"}], "previous_response_id": "resp_0",
        "include": ["web_search_call.action.sources"], "store": true, "truncation": "auto",
        "prompt": {"id": "pmpt_1"}, "client_metadata": {"a": "b"}});
    let exchange = of(request);
    assert_eq!(exchange.path(), PATH);
    assert!(exchange.sent().is_none() && exchange.is_passthrough());
    assert_eq!(exchange.losses, []);
}

#[test]
fn a_tool_that_the_server_runs_may_be_demanded_of_it() {
    let search = json!({"type": "web_search"});
    for (tools, choice) in [
        (json!([search]), json!({"type": "web_search"})),
        (json!([search]), json!("required")),
        (json!([search, tool()]), json!({"type": "web_search"})),
        (
            json!([search, tool()]),
            json!({"type": "allowed_tools", "mode": "required", "tools": [search]}),
        ),
    ] {
        let request = json!({"input": "hi", "tools": tools, "tool_choice": choice});
        let exchange = of(request.clone());
        let sent = sent(&exchange).unwrap_or(request);
        assert_eq!(sent["tool_choice"], choice);
        assert_eq!(sent["tools"][0], search);
        let client = passage::client(PATH).unwrap();
        let body = json!({"model": "m", "input": "hi", "tools": tools, "tool_choice": choice});
        let demand = exchange::read(client, PATH, body.to_string().as_bytes()).unwrap();
        let refused = exchange::plan(demand, &replay::rule("vllm@0.12")).unwrap_err();
        assert!(refused.param.unwrap().starts_with("tool_choice"), "{body}");
    }
}

#[test]
fn what_the_server_runs_is_a_call_where_any_will_do() {
    let search_tool = json!({"type": "web_search"});
    let of_both = json!({"type": "allowed_tools", "mode": "required", "tools": [search_tool, {"type": "function", "name": "f"}]});
    let of_one = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]});
    let named = json!({"type": "function", "name": "f"});
    let both = json!([search_tool, tool()]);
    let listed = json!({"type": "mcp_list_tools", "id": "mcpl", "server_label": "s", "tools": []});
    for (tools, choice, first, is_right) in [
        (&both, json!("required"), search(), true),
        (&both, of_both, search(), true),
        // It only looks which there are.
        (&both, json!("required"), listed, false),
        (&both, json!("required"), thought(), false),
        (&both, of_one, search(), false),
        (&both, named, search(), false),
        (&json!([tool()]), json!("required"), search(), false),
    ] {
        let output = [first, message("look here")];
        for stream in [false, true] {
            let asked =
                json!({"input": "x", "tools": tools, "tool_choice": choice, "stream": stream});
            let mut exchange = of(asked.clone());
            let came = if stream {
                let events = streamed(&mut exchange, &self::stream(&output));
                events.map(|events| events.last().unwrap()["response"].clone())
            } else {
                whole(&mut exchange, &response("completed", json!(output)))
            };
            match came {
                Ok(response) => assert!(is_right && response["output"] == json!(output), "{asked}"),
                Err(Fault::Violation(broken)) => assert!(!is_right, "{asked}: {broken:?}"),
                Err(fault) => panic!("{asked}: {fault:?}"),
            }
        }
    }
}

#[test]
fn a_demand_stays_in_the_clients_words() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false});
    for format in [
        json!({"type": "json_schema", "name": "n", "strict": true, "schema": schema}),
        json!({"type": "json_object"}),
    ] {
        let request = json!({"input": "say JSON", "text": {"format": format, "verbosity": "low"},
            "tools": [tool(), {"type": "mcp", "server_label": "s", "server_url": "u"}]});
        let exchange = of(request);
        assert!(exchange.sent().is_none(), "{:?}", sent(&exchange));
        assert!(!exchange.is_passthrough());
        assert_eq!(exchange.losses, []);
    }
    // What strict mode does not take is taken out, in the words of this wire.
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}, "required": ["a"], "additionalProperties": false});
    let format = json!({"type": "json_schema", "name": "n", "strict": true, "schema": schema});
    let exchange = of(json!({"input": "x", "text": {"format": format, "verbosity": "low"}}));
    if let Some(body) = sent(&exchange) {
        assert_eq!(body["text"]["verbosity"], "low");
        assert_eq!(
            (
                &body["text"]["format"]["type"],
                &body["text"]["format"]["name"]
            ),
            (&json!("json_schema"), &json!("n"))
        );
        assert!(body.get("response_format").is_none(), "{body}");
    }
}

#[test]
fn a_whole_reply_is_verified_and_keeps_what_is_the_servers() {
    let good = response(
        "completed",
        json!([thought(), search(), message("look"), call("{\"a\":1}")]),
    );
    let mut exchange = of(json!({"input": "x", "tools": [tool()]}));
    assert_eq!(whole(&mut exchange, &good).unwrap(), good);
    let bad = response("completed", json!([call("{\"a\":\"x\"}")]));
    assert!(matches!(
        whole(&mut exchange, &bad),
        Err(Fault::Violation(_))
    ));
    let other = response(
        "completed",
        json!([{"type": "function_call", "id": "fc", "call_id": "c", "name": "g", "arguments": "{}"}]),
    );
    assert!(matches!(
        whole(&mut exchange, &other),
        Err(Fault::Violation(_))
    ));
}

/// gpt-5.4 and later look for tools that were put off: the client answers, with tools that may be called from then on.
#[test]
fn a_search_for_tools_goes_through_and_what_it_found_may_be_called() {
    let searches = json!({"type": "tool_search", "execution": "client", "description": "d",
        "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}});
    let searched = json!({"type": "tool_search_call", "id": "tsc_theirs", "status": "completed", "execution": "client",
        "call_id": "call_1", "arguments": {"query": "db"}});
    for execution in ["client", "server"] {
        let mut item = searched.clone();
        item["execution"] = json!(execution);
        let reply = response("completed", json!([item, message("look")]));
        let request = json!({"input": "x", "tools": [tool(), searches]});
        assert_eq!(whole(&mut of(request.clone()), &reply).unwrap(), reply);
        let output = [item.clone(), message("look")];
        let events = streamed(&mut of(request), &stream(&output)).unwrap();
        assert_eq!(events.last().unwrap()["response"]["output"][0], item);
    }
    let query = json!({"type": "function", "name": "query", "strict": false, "defer_loading": true,
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}});
    let namespace =
        json!({"type": "namespace", "name": "mcp__db", "description": "d", "tools": [query]});
    let found = json!({"type": "tool_search_output", "call_id": "call_1", "status": "completed", "execution": "client",
        "tools": [namespace]});
    let more = json!({"type": "additional_tools", "role": "developer", "tools": [namespace]});
    for brings in [found, more] {
        let input = json!([{"role": "user", "content": "x"}, searched, brings]);
        let request = json!({"input": input, "tools": [tool(), searches]});
        let called = |arguments: &str| {
            let mut call = call(arguments);
            call["namespace"] = json!("mcp__db");
            call["name"] = json!("query");
            call
        };
        let mut exchange = of(request);
        assert!(exchange.sent().is_none(), "{:?}", sent(&exchange));
        let good = response("completed", json!([called("{\"q\":\"x\"}")]));
        assert_eq!(whole(&mut exchange, &good).unwrap(), good);
        let bad = response("completed", json!([called("{}")]));
        let broken = whole(&mut exchange, &bad);
        assert!(matches!(broken, Err(Fault::Violation(_))), "{broken:?}");
    }
}

#[test]
fn what_a_servers_own_tool_says_in_an_object_goes_through() {
    let shell = json!({"type": "shell_call", "id": "sh_theirs", "status": "completed", "call_id": "c",
        "action": {"commands": ["ls"]}});
    let mut events = stream(&[shell, message("look")]);
    let said = json!({"type": "response.shell_call_output_content.delta", "output_index": 0, "item_id": "sh_theirs",
        "command_index": 0, "delta": {"stdout": "a", "stderr": ""}});
    events.insert(2, said.clone());
    let request = json!({"input": "x", "tools": [tool(), {"type": "shell"}]});
    let told = streamed(&mut of(request), &events).unwrap();
    let found = told.iter().find(|event| event["type"] == said["type"]);
    assert_eq!(found.unwrap()["delta"], said["delta"]);
}

#[test]
fn a_streamed_reply_is_verified_and_keeps_what_is_the_servers() {
    let output = [thought(), search(), message("look here"), call("{\"a\":1}")];
    let mut exchange = of(json!({"input": "x", "tools": [tool()], "stream": true}));
    let events = streamed(&mut exchange, &stream(&output)).unwrap();
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["sequence_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["response"]["output"]),
        (&json!("response.completed"), &json!(output))
    );
    assert_eq!(last["response"]["id"], "resp_theirs");
    assert_eq!(last["response"]["service_tier"], "flex");
    assert_eq!(last["response"]["usage"]["total_tokens"], 3);
    let kinds = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    for (kind, count) in [
        ("response.created", 1),
        ("response.output_item.added", 4),
        ("response.output_item.done", 4),
        ("response.web_search_call.searching", 1),
        ("response.output_text.annotation.added", 1),
        ("response.output_text.delta", 2),
        ("response.function_call_arguments.done", 1),
        ("response.completed", 1),
    ] {
        assert_eq!(kinds(kind), count, "{kind}");
    }
    for event in &events {
        if let Some(place) = event["output_index"].as_u64() {
            let id = &output[usize::try_from(place).unwrap()]["id"];
            let told = event.get("item_id").unwrap_or(&event["item"]["id"]);
            assert_eq!(told, id, "{event}");
        }
    }
    let bad = [call("{\"a\":\"x\"}")];
    assert!(matches!(
        streamed(&mut exchange, &stream(&bad)),
        Err(Fault::Violation(_))
    ));
}

#[test]
fn what_is_said_on_the_way_to_an_answer_is_no_part_of_it() {
    let aside = |text: &str| {
        let mut aside = message(text);
        (aside["id"], aside["phase"]) = (json!("msg_aside"), json!("commentary"));
        aside
    };
    let format = json!({"type": "json_schema", "name": "s", "strict": true, "schema": {"type": "object",
        "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}});
    let request = |streams: bool| json!({"input": "x", "text": {"format": format}, "tools": [tool()], "stream": streams});
    for (output, is_right) in [
        (vec![aside("I look it up."), message("{\"a\": 1}")], true),
        (vec![aside("{\"a\": 0}"), message("{\"a\": 1}")], true),
        (vec![aside("I look it up."), call("{\"a\":1}")], true),
        (vec![aside("{\"a\": 1}"), message("no")], false),
        (vec![aside("{\"a\": 1}")], false),
    ] {
        let reply = response("completed", json!(output));
        let told = whole(&mut of(request(false)), &reply);
        assert_eq!(told.is_ok(), is_right, "{output:?}");
        let events = streamed(&mut of(request(true)), &stream(&output));
        assert_eq!(events.is_ok(), is_right, "{output:?}");
        if let (Ok(told), Ok(events)) = (told, events) {
            assert_eq!(told, reply);
            let last = events.last().unwrap();
            assert_eq!(last["response"]["output"], json!(output));
            let said = |event: &&Value| event["item_id"] == "msg_aside";
            assert!(events.iter().filter(said).count() > 1, "as it came");
        }
    }
}

#[test]
fn no_call_is_told_as_whole_before_it_is_verified() {
    for (arguments, is_good) in [("{\"a\":1}", true), ("{\"a\":\"x\"}", false)] {
        let mut exchange = of(json!({"input": "x", "stream": true, "tools": [tool()]}));
        let checks = exchange.compile(&Default::default()).unwrap();
        let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(42), 1 << 20);
        let mut out = Vec::new();
        let mut outcome = Ok(());
        for event in stream(&[call(arguments), message("said")]) {
            let text = format!("data: {event}\n\n");
            outcome = outcome.and_then(|()| translator.push(text.as_bytes(), &mut out));
        }
        assert_eq!(outcome.is_ok(), is_good);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("response.function_call_arguments.delta"));
        for whole in [
            "response.function_call_arguments.done",
            "response.output_item.done",
        ] {
            assert_eq!(text.contains(whole), is_good, "{whole}");
        }
    }
}

#[test]
fn a_call_is_over_before_the_next_begins() {
    let calls = [call("{\"a\":1}"), call("{\"a\":2}")];
    let mut exchange = of(json!({"input": "x", "stream": true, "tools": [tool()]}));
    let events = streamed(&mut exchange, &stream(&calls)).unwrap();
    let told: Vec<(&str, u64)> = events
        .iter()
        .filter(|event| event["item"].is_object())
        .map(|event| {
            let kind = event["type"].as_str().unwrap();
            (kind, event["output_index"].as_u64().unwrap())
        })
        .collect();
    let (added, done) = ("response.output_item.added", "response.output_item.done");
    assert_eq!(told, [(added, 0), (done, 0), (added, 1), (done, 1)]);
    // A call that is wrong is never told as whole, whatever follows.
    let calls = [call("{\"a\":\"x\"}"), call("{\"a\":2}")];
    assert!(streamed(&mut exchange, &stream(&calls)).is_err());
}

#[test]
fn what_a_server_reports_is_an_error() {
    let mut exchange = of(json!({"input": "x", "tools": [tool()], "stream": true}));
    let mut failed = response("failed", json!([]));
    failed["error"] = json!({"code": "server_error", "message": "broken"});
    assert!(matches!(
        whole(&mut exchange, &failed),
        Err(Fault::Error(_))
    ));
    let events = [json!({"type": "response.failed", "response": failed})];
    assert!(matches!(
        streamed(&mut exchange, &events),
        Err(Fault::Error(_))
    ));
    let events = [json!({"type": "error", "code": "c", "message": "broken"})];
    assert!(matches!(
        streamed(&mut exchange, &events),
        Err(Fault::Error(_))
    ));
    // It breaks off.
    let events = stream(&[message("look")]);
    assert!(matches!(
        streamed(&mut exchange, &events[..3]),
        Err(Fault::Error(_))
    ));
}

#[test]
fn thoughts_that_were_sealed_for_another_server_stay_here() {
    let ours = json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "isogloss:[]"});
    let input = json!([{"role": "user", "content": "x"}, ours, thought(), {"role": "user", "content": "y"}]);
    let exchange = of(json!({"input": input}));
    let items = sent(&exchange).unwrap()["input"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(
        items,
        [input[0].clone(), input[2].clone(), input[3].clone()]
    );
}

#[test]
fn what_is_asked_for_later_is_refused() {
    let error = planned(&json!({"model": "m", "input": "x", "background": true})).unwrap_err();
    assert_eq!(error.param.as_deref(), Some("background"));
}

#[test]
fn a_turn_that_is_a_call_for_the_client_has_no_answer_yet() {
    let format = json!({"type": "json_schema", "name": "x", "schema": {"type": "object", "required": ["a"]}});
    let shell = json!({"type": "shell_call", "id": "sh_theirs", "call_id": "c", "status": "completed",
        "action": {"commands": ["ls"], "timeout_ms": null, "max_output_length": null}});
    let mut exchange =
        of(json!({"input": "x", "text": {"format": format}, "tools": [{"type": "shell"}]}));
    let reply = response("completed", json!([shell]));
    assert_eq!(whole(&mut exchange, &reply).unwrap(), reply);
    let told = streamed(&mut exchange, &stream(std::slice::from_ref(&shell))).unwrap();
    assert_eq!(told.last().unwrap()["response"]["output"], json!([shell]));
    // An answer is one with calls or without.
    for output in [
        json!([message("No.")]),
        json!([shell, message("No.")]),
        json!([]),
    ] {
        let reply = response("completed", output.clone());
        let broken = whole(&mut exchange, &reply);
        assert!(matches!(broken, Err(Fault::Violation(_))), "{output}");
    }
    // What the server runs itself is followed by one.
    let reply = response("completed", json!([search()]));
    assert!(whole(&mut exchange, &reply).is_err());
    // It can be demanded by its type, and is sent so.
    let tools = json!([{"type": "shell"}, {"type": "local_shell"}, tool()]);
    for choice in [
        json!({"type": "shell"}),
        json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "shell"}]}),
        json!("required"),
    ] {
        let mut exchange = of(json!({"input": "x", "tools": tools, "tool_choice": choice}));
        if let Some(sent) = sent(&exchange) {
            assert_eq!(sent["tools"][0], json!({"type": "shell"}), "{choice}");
        }
        let reply = response("completed", json!([shell]));
        assert_eq!(whole(&mut exchange, &reply).unwrap(), reply, "{choice}");
        for other in [message("No."), search()] {
            let is_wrong = choice != "required" || other["type"] == "message";
            let reply = response("completed", json!([other]));
            let came = whole(&mut exchange, &reply);
            assert_eq!(came.is_err(), is_wrong, "{choice} {other}");
        }
    }
}

fn format() -> Value {
    json!({"format": {"type": "json_schema", "name": "s", "strict": true, "schema": {"type": "object",
        "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false}}})
}

/// What SDKs put together of a stream: each item stands where it is told first, and is what its end says.
fn folded(events: &[Value]) -> Vec<Value> {
    let mut items: Vec<Value> = Vec::new();
    for event in events {
        let place = event["output_index"].as_u64();
        let place = place.map(|place| usize::try_from(place).unwrap());
        match event["type"].as_str().unwrap() {
            "response.output_item.added" => {
                assert_eq!(place, Some(items.len()), "{event}");
                items.push(event["item"].clone());
            }
            "response.output_item.done" => {
                let item = &mut items[place.unwrap()];
                assert_eq!(item["id"], event["item"]["id"]);
                *item = event["item"].clone();
            }
            _ => {
                if let Some(place) = place {
                    assert_eq!(event["item_id"], items[place]["id"], "{event}");
                }
            }
        }
    }
    items
}

/// A remark that nobody marks as one, where a form is asked for, is a thought; the rest stays the server's, and the server gets it
/// back as it was.
#[test]
fn a_remark_is_a_thought_that_goes_back_as_the_message_that_it_was() {
    let mut remark = message("I look it up.");
    remark["id"] = json!("msg_remark");
    let shell = json!({"type": "shell_call", "id": "sh_theirs", "status": "completed", "call_id": "c",
        "action": {"commands": ["ls"]}});
    let tools = json!([tool(), {"type": "web_search"}, {"type": "shell"}]);
    let (mut later, mut aside) = (thought(), message("Still at it."));
    later["id"] = json!("rs_later");
    (aside["id"], aside["phase"]) = (json!("msg_aside"), json!("commentary"));
    for behind in [
        vec![call("{\"a\":1}")],
        vec![later.clone(), aside, call("{\"a\":1}")],
        vec![later, search(), message("{\"a\": 1}")],
        vec![search(), message("{\"a\": 1}")],
        vec![shell.clone()],
        vec![search(), thought(), call("{\"a\":1}"), search()],
        vec![call("{\"a\":1}"), message("{\"a\": 1}")],
    ] {
        let output = [vec![thought(), remark.clone()], behind].concat();
        let reply = response("completed", json!(output));
        for streams in [false, true] {
            let mut request = json!({"input": [{"role": "user", "content": "x"}], "text": format(), "tools": tools, "stream": streams});
            let told = match streams {
                false => whole(&mut of(request.clone()), &reply).unwrap(),
                true => {
                    let events = streamed(&mut of(request.clone()), &stream(&output)).unwrap();
                    let last = events.last().unwrap()["response"].clone();
                    assert_eq!(json!(folded(&events)), last["output"]);
                    last
                }
            };
            let mut expected = reply.clone();
            let thought = &told["output"][1];
            assert_eq!(thought["content"][0]["text"], "I look it up.", "{told}");
            assert_eq!(
                (&thought["type"], &thought["id"]),
                (&json!("reasoning"), &json!("msg_remark"))
            );
            expected["output"][1] = thought.clone();
            assert_eq!(told, expected);
            let items = request["input"].as_array_mut().unwrap();
            items.extend(told["output"].as_array().unwrap().clone());
            let sent = sent(&of(request)).unwrap();
            assert_eq!(sent["input"].as_array().unwrap()[1..], output);
        }
    }
}

#[test]
fn blanks_beside_a_call_are_no_message() {
    let mut blank = message("\n\n");
    blank["id"] = json!("msg_blank");
    let output = [blank, call("{\"a\":1}")];
    for streams in [false, true] {
        let request = json!({"input": "x", "text": format(), "tools": [tool()], "stream": streams});
        let told = match streams {
            false => whole(&mut of(request), &response("completed", json!(output))).unwrap(),
            true => {
                let events = streamed(&mut of(request), &stream(&output)).unwrap();
                let last = events.last().unwrap()["response"].clone();
                assert_eq!(json!(folded(&events)), last["output"]);
                last
            }
        };
        assert_eq!(told["output"], json!(output[1..]));
    }
}

#[test]
fn thoughts_in_several_parts_are_told_as_they_came() {
    let part = |text: &str| json!({"type": "summary_text", "text": text});
    let mut thought = thought();
    thought["summary"] = json!([part("hm"), part("so")]);
    let output = [thought, message("look")];
    let mut events = stream(&output);
    let at = events
        .iter()
        .position(|event| event["type"] == "response.reasoning_summary_text.delta")
        .unwrap();
    let of = |kind: &str, index: u64, name: &str, value: Value| {
        json!({"type": kind, "output_index": 0,
        "item_id": "rs_theirs", "summary_index": index, name: value})
    };
    let said = [
        of("response.reasoning_summary_part.added", 0, "part", part("")),
        of(
            "response.reasoning_summary_text.delta",
            0,
            "delta",
            json!("hm"),
        ),
        of(
            "response.reasoning_summary_part.done",
            0,
            "part",
            part("hm"),
        ),
        of("response.reasoning_summary_part.added", 1, "part", part("")),
        of(
            "response.reasoning_summary_text.delta",
            1,
            "delta",
            json!("so"),
        ),
        of(
            "response.reasoning_summary_part.done",
            1,
            "part",
            part("so"),
        ),
    ];
    events.splice(at..=at, said.clone());
    let told = streamed(
        &mut self::of(json!({"input": "x", "tools": [tool()], "stream": true})),
        &events,
    )
    .unwrap();
    let told: Vec<Value> = (told.into_iter())
        .filter(|event| event["item_id"] == "rs_theirs")
        .map(|mut event| {
            event.as_object_mut().unwrap().remove("sequence_number");
            event
        })
        .collect();
    assert_eq!(told, said);
}

#[test]
fn what_is_mended_stands_among_what_is_the_servers() {
    let mended = |output: &[Value], streams: bool| {
        let request = json!({"input": "x", "text": format(), "tools": [{"type": "web_search"}, tool()], "stream": streams});
        let mut exchange = of(request);
        exchange.repair = isogloss_core::ir::Repair::Syntax;
        if !streams {
            return whole(&mut exchange, &response("completed", json!(output))).unwrap();
        }
        let events = streamed(&mut exchange, &stream(output)).unwrap();
        let last = events.last().unwrap()["response"].clone();
        assert_eq!(json!(folded(&events)), last["output"]);
        last
    };
    let output = [thought(), search(), message("{\"a\": 1,}")];
    let told = mended(&output, false);
    assert_eq!(told["output"][2]["content"][0]["text"], "{\"a\": 1}");
    let mut expected = response("completed", json!(output));
    expected["output"][2]["content"] = told["output"][2]["content"].clone();
    assert_eq!(told, expected);
    for streams in [false, true] {
        let output = [thought(), search(), call("{\"a\": 1,}")];
        let mut expected = response("completed", json!(output));
        expected["output"][2]["arguments"] = json!("{\"a\": 1}");
        assert_eq!(mended(&output, streams), expected);
    }
}

#[test]
fn a_stream_that_nobody_asked_for_is_the_reply_at_its_end() {
    let output = [thought(), search(), message("look"), call("{\"a\":1}")];
    let mut exchange = of(json!({"input": "x", "tools": [tool()]}));
    let checks = exchange.compile(&Default::default()).unwrap();
    let body: String = stream(&output)
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    let told =
        exchange::reply_of_events(&exchange, &checks, Ids::new(42), body.as_bytes()).unwrap();
    let told: Value = serde_json::from_slice(&told.body).unwrap();
    assert_eq!(told, response("completed", json!(output)));
}

#[test]
fn what_a_conversation_keeps_is_not_put_into_it_twice_where_the_model_is_asked_again() {
    let format = json!({"format": {"type": "json_schema", "name": "n", "strict": true, "schema": tool()["parameters"]}});
    for (conversation, stream, input) in [
        (json!("conv_1"), false, 1),
        (json!({"id": "conv_1"}), false, 1),
        // Of a stream that was left nobody knows what was kept.
        (json!("conv_1"), true, 3),
        (Value::Null, false, 3),
    ] {
        let exchange = of(json!({"input": "hi", "text": format, "stream": stream,
            "conversation": conversation}));
        let mut violation = Violation::new(Place::Content(0), "required", "no a");
        violation.said = Quote("{}".into());
        let again: Value = serde_json::from_slice(&exchange.re_ask(&violation).body).unwrap();
        let asked = again["input"].as_array().unwrap();
        assert_eq!(asked.len(), input, "{conversation}: {again}");
        assert_eq!(asked[input - 1]["role"], "user");
        assert_eq!(again["conversation"], conversation);
    }
}

#[test]
fn a_template_of_the_servers_may_name_the_model() {
    let asked = |more: Value| planned(&json!({"prompt": more, "input": "hi"}));
    let exchange = asked(json!({"id": "pmpt_1"})).unwrap();
    assert!(!exchange.demand.request.is_nameless());
    assert!(planned(&json!({"prompt": {"id": "pmpt_1"}})).is_ok());
    assert!(asked(Value::Null).is_err());
}
