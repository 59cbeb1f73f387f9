//! A client of Messages before Anthropic's own server: what nobody has to change keeps its bytes, both ways.

use super::{PATH, planned};
use crate::replay::{self, rule};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{Ids, Seal};
use serde_json::{Value, json};

/// What no reader understands, and blanks where no writer puts them.
const ODD: &str = r#"{"role" : "user","content":[ {"type":"hologram", "x":1.0} ]}"#;

fn body(more: &str) -> String {
    format!(r#"{{ "model":"m", "max_tokens" : 9, "messages":[ {ODD} ], "beta" : [ 1 ]{more} }}"#)
}

fn asked(more: &str) -> Exchange {
    planned(body(more).as_bytes(), &rule("anthropic")).unwrap()
}

fn sent(exchange: &Exchange) -> String {
    String::from_utf8(exchange.sent().unwrap().to_vec()).unwrap()
}

fn reply(exchange: &Exchange, body: &str) -> Result<String, Fault> {
    let checks = replay::checks(exchange).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body.as_bytes())?;
    Ok(String::from_utf8(reply.body).unwrap())
}

fn try_streamed(exchange: &Exchange, body: &str) -> Result<String, Fault> {
    let checks = replay::checks(exchange).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    translator.push(body.as_bytes(), &mut out)?;
    translator.finish(End::Eof, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn streamed(exchange: &Exchange, body: &str) -> String {
    try_streamed(exchange, body).unwrap()
}

const CLOSED: &str = r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#;

fn format(schema: &str) -> String {
    format!(
        r#","output_config":{{"format":{{"type":"json_schema" , "schema":{schema}}},"effort" : "low"}}"#
    )
}

#[test]
fn what_the_server_takes_goes_through_untouched() {
    let search = r#","tools":[ {"type":"web_search_20250305","name":"web_search"} ],"thinking":{"type":"adaptive"}"#;
    let named = format!(
        r#","tools":[ {{"name":"f" , "input_schema":{CLOSED}}} ],"tool_choice":{{"type":"tool","name":"f"}}"#
    );
    for more in ["", search, &named, &format(CLOSED)] {
        let exchange = asked(more);
        assert!(exchange.sent().is_none(), "{more}: {}", sent(&exchange));
        assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
        assert_eq!(exchange.path(), PATH);
    }
    assert!(asked("").is_passthrough());
}

#[test]
fn what_the_server_does_not_take_is_changed_alone() {
    let open = CLOSED.replace(r#""type":"integer""#, r#""type":"integer","minimum":3"#);
    let exchange = asked(&format(&open));
    let sent = sent(&exchange);
    assert!(
        sent.contains(ODD) && sent.contains(r#""beta":[ 1 ]"#),
        "{sent}"
    );
    let config: Value = serde_json::from_str::<Value>(&sent).unwrap()["output_config"].clone();
    assert_eq!(config["effort"], "low");
    assert!(
        !config["format"]["schema"]
            .to_string()
            .contains("minimum\":"),
        "{config}"
    );
    // The demand is the client's all the same.
    let said = |a: u32| json!({"type": "message", "content": [{"type": "text", "text": json!({"a": a}).to_string()}], "stop_reason": "end_turn"});
    assert!(reply(&exchange, &said(3).to_string()).is_ok());
    assert!(matches!(
        reply(&exchange, &said(2).to_string()),
        Err(Fault::Violation(_))
    ));
}

#[test]
fn a_demand_that_the_server_has_no_field_for_is_told_in_its_system_prompt() {
    let anything = format(r#"{"type":"object"}"#);
    for (system, wanted) in [
        ("", "\"system\":\""),
        (r#","system":"Be brief.""#, r#""system":"Be brief.\n\n"#),
        (
            r#","system":[ {"type":"text","text":"Be brief."} ]"#,
            r#""system":[ {"type":"text","text":"Be brief."},{"text":"#,
        ),
    ] {
        let sent = sent(&asked(&format!("{anything}{system}")));
        assert!(
            sent.contains(wanted)
                || sent.contains(&wanted.replace("{\"text\":", "{\"type\":\"text\"")),
            "{sent}"
        );
        assert!(
            sent.contains(r#""output_config":{"effort":"low"}"#),
            "{sent}"
        );
        assert!(sent.contains(ODD), "{sent}");
    }
}

#[test]
fn one_call_is_asked_for_beside_the_choice_and_thoughts_of_ours_stay_here() {
    let tool = format!(r#"{{"name":"f","input_schema":{CLOSED}}}"#);
    let signature = Seal::default().sign("x");
    let thought = format!(r#"{{"type":"thinking","thinking":"x","signature":"{signature}"}}"#);
    let kept = r#"{"type":"thinking","thinking":"y","signature":"c2ln"}"#;
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"tools":[{tool}],"tool_choice":{{"type":"auto","disable_parallel_tool_use":true}},
        "messages":[{{"role":"assistant","content":[{thought},{kept}]}},{{"role":"assistant","content":[{thought}]}}]}}"#
    );
    let exchange = planned(body.as_bytes(), &rule("anthropic")).unwrap();
    let sent: Value = serde_json::from_str(&sent(&exchange)).unwrap();
    let kept: Value = serde_json::from_str(kept).unwrap();
    assert_eq!(
        sent["messages"],
        json!([{"role": "assistant", "content": [kept]}])
    );
    assert_eq!(
        sent["tool_choice"],
        json!({"type": "auto", "disable_parallel_tool_use": true})
    );
}

#[test]
fn what_the_server_runs_is_a_call_where_any_will_do() {
    let search = r#"{"type":"web_search_20250305","name":"web_search"}"#;
    let tools = format!(r#","tools":[{search},{{"name":"f","input_schema":{CLOSED}}}]"#);
    let used = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
    let text = r#"{"type":"text","text":"Found."}"#;
    let found = format!("{used},{text}");
    for (choice, content, is_right) in [
        (r#"{"type":"any"}"#, found.as_str(), true),
        (r#"{"type":"tool","name":"web_search"}"#, &found, true),
        (r#"{"type":"any"}"#, text, false),
        (r#"{"type":"tool","name":"f"}"#, &found, false),
    ] {
        let exchange = asked(&format!(r#"{tools},"tool_choice":{choice}"#));
        let body =
            format!(r#"{{"type":"message","content":[{content}],"stop_reason":"end_turn"}}"#);
        match reply(&exchange, &body) {
            Ok(came) => assert!(is_right && came == body, "{choice} {content}: {came}"),
            Err(Fault::Violation(broken)) => assert!(!is_right, "{choice} {content}: {broken:?}"),
            Err(fault) => panic!("{choice} {content}: {fault:?}"),
        }
    }
}

#[test]
fn what_a_set_of_tools_holds_may_be_called_by_its_own_name() {
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"left_click","toolset_name":"computer","input":{"target":{"x":1,"y":2}}}"#;
    let body = format!(r#"{{"type":"message","content":[{call}],"stop_reason":"tool_use"}}"#);
    for (tools, is_right) in [
        (r#"{"type":"computer_toolset_20260801"}"#.to_owned(), true),
        (
            format!(
                r#"{{"type":"browser_toolset_20260801"}},{{"name":"f","input_schema":{CLOSED}}}"#
            ),
            true,
        ),
        (format!(r#"{{"name":"f","input_schema":{CLOSED}}}"#), false),
    ] {
        let exchange = asked(&format!(r#","tools":[{tools}]"#));
        match reply(&exchange, &body) {
            Ok(came) => assert!(is_right && came == body, "{tools}: {came}"),
            Err(fault) => assert!(!is_right, "{tools}: {fault:?}"),
        }
        let exchange = asked(&format!(
            r#","tools":[{tools}],"tool_choice":{{"type":"none"}}"#
        ));
        assert!(reply(&exchange, &body).is_err(), "{tools}");
    }
}

#[test]
fn a_reply_keeps_its_bytes_whole_with_calls_and_all_that_stands_beside_them() {
    let call = r#"{"type":"tool_use","id":"toolu_1","name":"f", "input":{"a" : 1}, "caller":{"type":"direct"}}"#;
    let other = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
    let named = format!(r#","tools":[{{"name":"f","input_schema":{CLOSED}}}]"#);
    let body = |call: &str| {
        format!(
            r#"{{"type":"message","id":"m","content":[{other},{call}],"stop_reason":"tool_use","usage":{{"input_tokens":1}},"extra":[ 1 ]}}"#
        )
    };
    assert_eq!(reply(&asked(&named), &body(call)).unwrap(), body(call));
    let text = r#"{ "type":"message","content":[ {"type":"text","text":"{\"a\":  7}"} ],"stop_reason":"stop_sequence" , "stop_sequence":"x" }"#;
    assert_eq!(reply(&asked(&format(CLOSED)), text).unwrap(), text);
    let broken = call.replace(": 1", r#": "x""#);
    assert!(matches!(
        reply(&asked(&named), &body(&broken)),
        Err(Fault::Violation(_))
    ));
}

#[test]
fn a_stream_keeps_its_events_and_calls_are_told_anew_in_their_place() {
    let events = |call: &str| {
        let data = [
            r#"{"type":"message_start", "message":{"id":"m","content":[],"usage":{"input_tokens":1}}}"#,
            r#"{"type": "ping"}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"" }}"#,
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"h\u0069"}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            call,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}, "x":[ 1 ]}"#,
            r#"{"type":"message_stop"}"#,
        ];
        let data = data.iter().flat_map(|data| data.lines());
        let named = data.map(|data| {
            let event: Value = serde_json::from_str(data).unwrap();
            format!(
                "event: {}\ndata: {data}\n\n",
                event["type"].as_str().unwrap()
            )
        });
        named.collect::<String>()
    };
    let plain = events("");
    assert_eq!(streamed(&asked(""), &plain), plain);
    let named = format!(r#","tools":[{{"name":"f","input_schema":{CLOSED}}}]"#);
    let call = r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}
{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}
{"type":"content_block_stop","index":2}"#;
    assert_eq!(streamed(&asked(&named), &events(call)), events(call));
    // Who calls stays with the call: a program's is answered to that program.
    let by = r#""input":{},"caller":{"type":"code_execution_20260120","tool_id":"s"}}"#;
    let call = call.replacen(r#""input":{}}"#, by, 1);
    assert_eq!(streamed(&asked(&named), &events(&call)), events(&call));
}

#[test]
fn a_text_that_is_told_as_something_else_leaves_no_empty_block_behind() {
    let more = format!(
        r#","tools":[{{"name":"f","input_schema":{CLOSED}}}]{}"#,
        format(CLOSED)
    );
    let event = |data: &str| {
        let read: Value = serde_json::from_str(data).unwrap();
        format!(
            "event: {}\ndata: {data}\n\n",
            read["type"].as_str().unwrap()
        )
    };
    let events = |text: &str, call: &[&str]| {
        let text = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
        let text = text.to_string();
        let before = [
            r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1}}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"" }}"#,
            r#"{"type": "ping"}"#,
            &text,
            r#"{"type":"content_block_stop","index":0}"#,
        ];
        let after = [
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        let all = before.iter().chain(call).chain(&after);
        all.map(|data| event(data)).collect::<String>()
    };
    let answer = events(r#"{"a": 1}"#, &[]);
    assert_eq!(streamed(&asked(&more), &answer), answer);
    let call = [
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
    ];
    let told = streamed(&asked(&more), &events("I'll look.", &call));
    assert!(
        told.contains("I'll look.") && told.contains(r#""type":"tool_use""#),
        "{told}"
    );
    assert!(!told.contains(r#""type":"text""#), "{told}");
    let starts = told.matches("event: content_block_start").count();
    assert_eq!(
        starts,
        told.matches("event: content_block_stop").count(),
        "{told}"
    );
    assert_eq!(starts, 2, "{told}");
}

#[test]
fn blanks_that_stand_alone_leave_no_empty_text_in_a_stream() {
    let more = format!(
        r#","tools":[{{"type":"web_search_20250305","name":"web_search"}},{{"name":"f","input_schema":{CLOSED}}}]{}"#,
        format(CLOSED)
    );
    let blank = json!({"type": "text", "text": "\n\n"});
    let used =
        json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "a"}});
    let right = json!({"type": "text", "text": r#"{"a": 1}"#});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}});
    for (content, kinds) in [
        (
            vec![blank.clone(), used, right],
            vec!["server_tool_use", "text"],
        ),
        (vec![blank.clone(), call.clone()], vec!["tool_use"]),
        (vec![call, blank], vec!["tool_use"]),
    ] {
        let stop = if kinds.contains(&"text") {
            "end_turn"
        } else {
            "tool_use"
        };
        let (message, events) = both_ways(&content, stop);
        let told = put_together(&streamed(&asked(&more), &events));
        let whole = reply(&asked(&more), &message.to_string()).unwrap();
        assert!(!whole.contains("thinking"), "{whole}");
        let blocks = told["content"].as_array().unwrap();
        let came: Vec<&str> = blocks
            .iter()
            .map(|it| it["type"].as_str().unwrap())
            .collect();
        assert_eq!(came, kinds, "{told}");
    }
}

/// A message of Anthropic's, whole, and as the events that it streams.
fn both_ways(content: &[Value], stop: &str) -> (Value, String) {
    let usage = json!({"input_tokens": 1, "output_tokens": 2, "server_tool_use": {"web_search_requests": 1}});
    let container = json!({"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"});
    let message = json!({"type": "message", "id": "m", "role": "assistant", "model": "c", "content": content,
        "stop_reason": stop, "stop_sequence": null, "container": container, "usage": usage});
    let mut begun = message.clone();
    (begun["content"], begun["stop_reason"]) = (json!([]), Value::Null);
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in content.iter().enumerate() {
        let mut start = block.clone();
        let delta = match block["type"].as_str().unwrap() {
            "text" => {
                start["text"] = json!("");
                if block["citations"].is_array() {
                    start["citations"] = json!([]);
                }
                None
            }
            "tool_use" | "server_tool_use" => {
                start["input"] = json!({});
                Some(
                    json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
                )
            }
            _ => None,
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        let text = block["text"].as_str().unwrap_or_default();
        let (first, rest) = text.split_at(text.len().min(2));
        let texts = [first, rest].into_iter().filter(|piece| !piece.is_empty());
        let texts = texts.map(|piece| json!({"type": "text_delta", "text": piece}));
        let sources = block["citations"].as_array().into_iter().flatten();
        let sources = sources.map(|source| json!({"type": "citations_delta", "citation": source}));
        let deltas = delta.into_iter().chain(sources).chain(texts);
        events.extend(
            deltas.map(
                |delta| json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ),
        );
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let end = json!({"stop_reason": stop, "stop_sequence": null, "container": container});
    events.push(json!({"type": "message_delta", "delta": end, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    let named = events.iter().map(|data| {
        format!(
            "event: {}\ndata: {data}\n\n",
            data["type"].as_str().unwrap()
        )
    });
    (message, named.collect())
}

/// What a client puts together of a stream: its blocks, and its end.
fn put_together(told: &str) -> Value {
    let mut message = Value::Null;
    for event in told.split_terminator("\n\n") {
        let data = event.split_once("data: ").unwrap().1;
        let data: Value = serde_json::from_str(data).unwrap();
        let at = data["index"].as_u64().unwrap_or_default() as usize;
        match data["type"].as_str().unwrap() {
            "message_start" => message = data["message"].clone(),
            "content_block_start" => {
                assert_eq!(at, message["content"].as_array().unwrap().len(), "{told}");
                let blocks = message["content"].as_array_mut().unwrap();
                blocks.push(data["content_block"].clone());
            }
            "content_block_delta" => {
                let block = &mut message["content"][at];
                let delta = &data["delta"];
                for (of, name) in [
                    ("text", "text"),
                    ("thinking", "thinking"),
                    ("signature", "signature"),
                ] {
                    if let Some(more) = delta[of].as_str() {
                        let known = block[name].as_str().unwrap_or_default().to_owned();
                        block[name] = json!(known + more);
                    }
                }
                if let Some(input) = delta["partial_json"].as_str() {
                    block["input"] = serde_json::from_str(input).unwrap();
                }
            }
            "message_delta" => {
                for name in ["stop_reason", "container"] {
                    message[name] = data["delta"][name].clone();
                }
                message["usage"] = data["usage"].clone();
            }
            _ => {}
        }
    }
    message
}

#[test]
fn what_is_said_on_the_way_to_an_answer_takes_nothing_from_what_stands_beside_it() {
    let search = r#"{"type":"web_search_20250305","name":"web_search"}"#;
    let tools = format!(
        r#","tools":[{search},{{"name":"f","input_schema":{CLOSED}}}]{}"#,
        format(CLOSED)
    );
    let text = |text: &str| json!({"type": "text", "text": text});
    let used = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1},
        "caller": {"type": "code_execution_20260120", "tool_id": "s"}});
    let second = json!({"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"a": 2}});
    let sourced =
        json!({"type": "text", "text": "So it says.", "citations": [{"type": "char_location"}]});
    let (search, wrong, right) = (text("\n\nI'll look."), text("So: 1"), text(r#"{"a": 1}"#));
    let of = |blocks: &[&Value]| {
        blocks
            .iter()
            .map(|it| (*it).clone())
            .collect::<Vec<Value>>()
    };
    for (content, stop, is_right) in [
        (of(&[&search, &used, &found, &right]), "end_turn", true),
        (
            of(&[&search, &used, &found, &search, &used, &found, &right]),
            "end_turn",
            true,
        ),
        (
            of(&[&search, &used, &found, &wrong, &call]),
            "tool_use",
            true,
        ),
        (of(&[&search, &call]), "tool_use", true),
        (
            of(&[&search, &wrong, &used, &found, &right]),
            "end_turn",
            true,
        ),
        (of(&[&call, &wrong]), "tool_use", true),
        (of(&[&search, &call, &wrong, &second]), "tool_use", true),
        (of(&[&sourced, &used, &found, &right]), "end_turn", true),
        (of(&[&search, &used]), "pause_turn", true),
        (of(&[&search, &used, &found, &wrong]), "pause_turn", true),
        (of(&[&right]), "end_turn", true),
        (of(&[&search]), "end_turn", false),
        (of(&[&search, &used, &found, &wrong]), "end_turn", false),
        (of(&[&used, &found, &search]), "end_turn", false),
    ] {
        let (message, events) = both_ways(&content, stop);
        let whole = reply(&asked(&tools), &message.to_string());
        let streamed = try_streamed(&asked(&tools), &events);
        assert_eq!(
            (whole.is_ok(), streamed.is_ok()),
            (is_right, is_right),
            "{content:?} {stop} {streamed:?}"
        );
        if !is_right {
            continue;
        }
        let whole: Value = serde_json::from_str(&whole.unwrap()).unwrap();
        let streamed = put_together(&streamed.unwrap());
        if content.len() > 1 && content[..2] == of(&[&search, &wrong]) {
            // A stream does not tell where one text ends and the next begins: it is one thought.
            let told = streamed["content"].as_array().unwrap();
            let kinds: Vec<&Value> = told.iter().map(|block| &block["type"]).collect();
            assert_eq!(
                kinds[..2],
                [&json!("thinking"), &used["type"]],
                "{streamed}"
            );
            continue;
        }
        assert_eq!(whole, streamed, "{content:?}");
        // What is said on the way comes as a thought, at its place; all else as it came.
        let mut expected = message.clone();
        let is_answer = |at: usize| content[at..].len() == 1 && content[at] == right;
        for (at, block) in content.iter().enumerate() {
            if block["type"] == "text" && !is_answer(at) {
                let signature = &whole["content"][at]["signature"];
                assert!(
                    signature.as_str().is_some_and(|it| !it.is_empty()),
                    "{whole}"
                );
                expected["content"][at] =
                    json!({"type": "thinking", "thinking": block["text"], "signature": signature});
            }
        }
        assert_eq!(whole, expected, "{content:?}");
        // The server gets it back as it said it.
        let turn = json!({"role": "assistant", "content": whole["content"]});
        let next = format!(
            r#"{{"model":"m","max_tokens":9,"messages":[{turn},{{"role":"user","content":"And?"}}]{tools}}}"#
        );
        let exchange = planned(next.as_bytes(), &rule("anthropic")).unwrap();
        let sent = exchange.sent().map_or(next.as_bytes(), |sent| sent);
        let sent: Value = serde_json::from_slice(sent).unwrap();
        let mut said = content.clone();
        said.iter_mut()
            .filter(|it| **it == sourced)
            .for_each(|it| *it = text("So it says."));
        assert_eq!(sent["messages"][0]["content"], json!(said));
        assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
    }
}

#[test]
fn an_empty_answer_teaches_nothing_of_a_server_that_seals_its_thoughts() {
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    for content in [
        vec![thought.clone()],
        vec![thought, json!({"type": "text", "text": ""})],
    ] {
        let (message, _) = both_ways(&content, "end_turn");
        let Err(Fault::Violation(broken)) = reply(&asked(&format(CLOSED)), &message.to_string())
        else {
            panic!("it passed")
        };
        assert_eq!(broken.fact, None);
    }
}

#[test]
fn what_was_broken_is_asked_for_again_with_the_same_bytes_and_two_messages_more() {
    let exchange = asked(&format(CLOSED));
    let text = r#"{"type":"message","content":[{"type":"text","text":"{\"a\":\"x\"}"}],"stop_reason":"end_turn"}"#;
    let Err(Fault::Violation(violation)) = reply(&exchange, text) else {
        panic!("it passed")
    };
    let again = exchange.re_ask(&violation);
    assert_eq!(again.path, PATH);
    let again = String::from_utf8(again.body.to_vec()).unwrap();
    assert!(
        again.contains(&format!(r#""messages":[ {ODD},{{"#)),
        "{again}"
    );
    let messages: Value = serde_json::from_str::<Value>(&again).unwrap()["messages"].clone();
    let roles: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
}

/// langchain4j (1.9) makes one thought of all that a reply has, with line feeds between texts and between signatures.
#[test]
fn a_remark_that_a_client_joined_to_a_thought_is_taken_apart() {
    let signed = |remark: &str| Seal::default().sign_remark(remark);
    for remarks in [vec!["Let me\nlook."], vec!["Hm.", "So it is."]] {
        let signatures = remarks.iter().map(|remark| signed(remark));
        let signature: Vec<String> = ["c2ln".to_owned()].into_iter().chain(signatures).collect();
        let thinking = [vec!["First\nI think."], remarks.clone()]
            .concat()
            .join("\n");
        let thought =
            json!({"type": "thinking", "thinking": thinking, "signature": signature.join("\n")});
        let turn = json!({"role": "assistant", "content": [thought, {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]});
        let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}, turn]});
        let exchange = planned(body.to_string().as_bytes(), &rule("anthropic")).unwrap();
        let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        let texts = remarks
            .iter()
            .map(|remark| json!({"type": "text", "text": remark}));
        let thought =
            json!({"type": "thinking", "thinking": "First\nI think.", "signature": "c2ln"});
        let expected: Vec<Value> = [thought].into_iter().chain(texts).collect();
        let said = sent["messages"][1]["content"].as_array().unwrap();
        assert_eq!(said[..said.len() - 1], expected);
    }
}

/// Where a limit cut a call, Anthropic closes the object where it was: `max_tokens` behind a `tool_use` tells clients to ask for more.
#[test]
fn a_call_that_the_limit_cut_is_told_as_it_came() {
    let asked = |stream: bool| {
        let body = json!({"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "x"}],
            "tools": [{"name": "f", "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}]});
        planned(body.to_string().as_bytes(), &rule("anthropic")).unwrap()
    };
    for input in [json!({}), json!({"b": 1})] {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": input});
        for (reason, is_right) in [("max_tokens", true), ("tool_use", false)] {
            let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [call],
                "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2}});
            let told = reply(&asked(false), &message.to_string());
            assert_eq!(told.is_ok(), is_right, "{input} {reason}");
            if let Ok(told) = told {
                assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), message);
            }
        }
    }
    // In a stream it may be cut before anything came of its input.
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
    for (reason, is_right) in [("max_tokens", true), ("tool_use", false)] {
        let stream = replay::messages_stream(&[(call.clone(), vec![])], Some(reason));
        let told = replay::streamed(&asked(true), stream.as_bytes(), 17);
        assert_eq!(told.is_ok(), is_right, "{reason}");
        assert!(told.is_err() || told.unwrap().contains(r#""stop_reason":"max_tokens""#));
    }
}

/// Whether a text is an answer is one thing, whether a call can be mended another.
#[test]
fn a_right_answer_beside_a_call_that_is_mended_stays_one() {
    let tool = r#","tools":[{"name":"f","input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]"#;
    let mut exchange = asked(&(format(CLOSED) + tool));
    exchange.repair = isogloss_core::ir::Repair::Types;
    let right = json!({"type": "text", "text": "{\"a\": 1}"});
    let call =
        |input: Value| json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": input});
    let message = |content: Value, reason: &str| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
        "content": content, "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2}})
    };
    let came = message(json!([right, call(json!({"n": "1"}))]), "tool_use");
    let told: Value = serde_json::from_str(&reply(&exchange, &came.to_string()).unwrap()).unwrap();
    assert_eq!(told["content"], json!([right, call(json!({"n": 1}))]));
    // A call that is whole stays whole, though a limit may have cut it.
    let remark = json!({"type": "text", "text": "I look."});
    let came = message(json!([remark, call(json!({"n": 1}))]), "max_tokens");
    let told: Value = serde_json::from_str(&reply(&exchange, &came.to_string()).unwrap()).unwrap();
    assert_eq!(told["content"][0]["type"], "thinking");
    assert_eq!(told["content"][1], call(json!({"n": 1})));
}

/// Anthropic's own streams have an empty piece of input of such a call, or none.
#[test]
fn a_call_without_arguments_takes_nothing_from_the_block_behind_it() {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
    let text = (
        json!({"type": "text", "text": ""}),
        json!({"type": "text_delta", "text": "So."}),
    );
    let used = (
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        json!({"type": "input_json_delta", "partial_json": "{\"q\":1}"}),
    );
    let thought = (
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        json!({"type": "thinking_delta", "thinking": "Hm."}),
    );
    let body = r#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}"#;
    let exchange = planned(body.as_bytes(), &rule("anthropic")).unwrap();
    for pieces in [
        vec![],
        vec![json!({"type": "input_json_delta", "partial_json": ""})],
    ] {
        for (block, piece) in [&text, &used, &thought] {
            let blocks = [
                (call.clone(), pieces.clone()),
                (block.clone(), vec![piece.clone()]),
            ];
            let stream = replay::messages_stream(&blocks, Some("tool_use"));
            let told = replay::streamed(&exchange, stream.as_bytes(), 17).unwrap();
            let events: Vec<Value> = told
                .lines()
                .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
                .collect();
            let of = |kind: &str| -> Vec<&Value> {
                let found = events.iter().filter(|event| event["type"] == kind);
                found.collect()
            };
            let starts = of("content_block_start");
            assert_eq!(starts.len(), 2, "{told}");
            assert_eq!(&starts[1]["content_block"], block, "{told}");
            assert_eq!(of("content_block_stop").len(), 2, "{told}");
            let said = of("content_block_delta");
            let behind: Vec<&Value> = (said.iter().filter(|event| event["index"] == 1))
                .map(|event| &event["delta"])
                .collect();
            assert_eq!(behind, [piece], "{told}");
        }
    }
}
