//! A server of Gemini's own wire: what nobody has to change keeps its bytes, both ways.

use super::{planned, streamed, whole};
use isogloss_core::exchange::{self, Exchange, Fault};
use isogloss_core::ir::{Fields, Ids};
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};

const WHOLE: &str = "/v1/models/m:generateContent";
const STREAM: &str = "/v1beta/models/m:streamGenerateContent?alt=sse";

/// What no reader understands, and blanks where no writer puts them.
const ODD: &str =
    r#""contents":[ {"parts" : [{"text":"\u0048i" , "mark":1.0}] } ], "odd" : {"a" :1}"#;

fn body(more: &str) -> String {
    format!("{{ {ODD}{more} }}")
}

fn at(target: &str, more: &str) -> Exchange {
    planned(target, body(more).as_bytes(), "gemini").unwrap()
}

fn reply(exchange: &Exchange, body: &str) -> Result<String, Fault> {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body.as_bytes())?;
    Ok(String::from_utf8(reply.body).unwrap())
}

fn sent(exchange: &Exchange) -> String {
    String::from_utf8(exchange.sent().unwrap().to_vec()).unwrap()
}

#[test]
fn what_demands_nothing_goes_through_untouched() {
    let exchange = at(WHOLE, r#", "cachedContent": "c", "safetySettings": [1]"#);
    assert!(exchange.sent().is_none() && exchange.is_passthrough());
    assert_eq!(exchange.path(), "/v1beta/models/m:generateContent");
    assert!(exchange.losses.is_empty(), "{:?}", exchange.losses);
    assert_eq!(
        at(STREAM, "").path(),
        "/v1beta/models/m:streamGenerateContent?alt=sse"
    );
}

#[test]
fn what_the_server_holds_a_reply_to_is_left_in_the_clients_words() {
    for config in [
        r#"{"responseMimeType" : "application/json","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}}"#,
        r#"{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}"#,
    ] {
        let exchange = at(WHOLE, &format!(r#","generationConfig":{config}"#));
        assert!(exchange.sent().is_none(), "{config}");
        // And it is verified all the same; bytes that are right are kept.
        let right = r#"{"candidates": [ {"content":{"parts":[{"text":"{\"n\":\u00201}"}],"role":"model"},"finishReason":"STOP","groundingMetadata":{}}]}"#;
        assert_eq!(reply(&exchange, right).unwrap(), right);
        let wrong = right.replace("1}\"", "true}\"");
        assert!(matches!(reply(&exchange, &wrong), Err(Fault::Violation(_))));
    }
}

#[test]
fn a_stream_keeps_its_bytes() {
    let exchange = at(
        STREAM,
        r#","generationConfig":{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["big","small"]}}"#,
    );
    let stream = concat!(
        "data: {\"candidates\": [ {\"content\":{\"parts\":[{\"text\":\"b\"}]},\"index\":0}], \"odd\":1}\n\n",
        "data: {\"candidates\": [ {\"content\":{\"parts\":[{\"text\":\"ig\"}]},\"finishReason\":\"STOP\",\"index\":0}]}\n\n",
    );
    assert_eq!(streamed(&exchange, stream.as_bytes(), 9).unwrap(), stream);
    let wrong = stream.replace("ig", "ad");
    assert!(streamed(&exchange, wrong.as_bytes(), 9).is_err());
}

#[test]
fn a_call_among_frames_that_keep_their_bytes_is_not_lost() {
    let exchange = at(
        STREAM,
        r#","tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}]"#,
    );
    let stream = concat!(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{}},\"thoughtSignature\":\"c2ln\"}]},\"index\":0}]}\n\n",
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\",\"index\":0}]}\n\n",
    );
    let got = streamed(&exchange, stream.as_bytes(), 64).unwrap();
    assert_eq!(got.matches("\"functionCall\"").count(), 1, "{got}");
    assert_eq!(got.matches("c2ln").count(), 1, "{got}");
    assert_eq!(got.matches("STOP").count(), 1, "{got}");
}

const FUNCTIONS: &str = r#","tools":[{"googleSearch":{},"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"a":{"type":"INTEGER"}},"required":["a"]}}]}]"#;
const ANSWER: &str = r#","generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}},"required":["n"]}}"#;

/// What Gemini's own tools did, as it stands in a turn beside a function's call.
const USED: &str = r#"{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","id":"t1","args":{"queries":[ "a"]}},"thoughtSignature":"c2lnMQ=="},{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","id":"t1","response":{}},"thoughtSignature":"c2lnMg=="}"#;

#[test]
fn what_stands_beside_a_call_comes_as_it_came() {
    let call =
        r#"{"functionCall":{"name":"f","args":{"a" : 1},"id":"c1"},"thoughtSignature":"c2lnMw=="}"#;
    let frame = |call: &str| {
        format!(
            r#"{{"candidates": [ {{"content":{{"parts":[{USED},{call}],"role":"model"}},"finishReason":"STOP","index":0,"groundingMetadata":{{"webSearchQueries":["a"]}}}}],"usageMetadata":{{"promptTokenCount":1,"toolUsePromptTokenCount":7}}}}"#
        )
    };
    let exchange = at(WHOLE, FUNCTIONS);
    assert_eq!(reply(&exchange, &frame(call)).unwrap(), frame(call));
    let nameless = call.replace(r#","id":"c1""#, "");
    assert_eq!(
        reply(&exchange, &frame(&nameless)).unwrap(),
        frame(&nameless)
    );
    let stream = at(STREAM, FUNCTIONS);
    let events = format!("data: {}\n\n", frame(call));
    assert_eq!(streamed(&stream, events.as_bytes(), 9).unwrap(), events);
    let wrong = frame(&call.replace(": 1", r#": "x""#));
    assert!(matches!(reply(&exchange, &wrong), Err(Fault::Violation(_))));
    let wrong = format!("data: {wrong}\n\n");
    assert!(streamed(&stream, wrong.as_bytes(), 9).is_err());
    // Two calls of one id are told apart, in a reply that is written anew.
    let twice = frame(&format!("{call},{call}"));
    let told: Value = serde_json::from_str(&reply(&exchange, &twice).unwrap()).unwrap();
    let candidate = &told["candidates"][0];
    let parts = candidate["content"]["parts"].as_array().unwrap();
    let ids: Vec<&Value> = parts[2..]
        .iter()
        .map(|it| &it["functionCall"]["id"])
        .collect();
    assert_eq!((parts.len(), ids[0]), (4, &json!("c1")), "{told}");
    assert_ne!(ids[0], ids[1]);
    assert_eq!(
        json!(parts[..2]),
        serde_json::from_str::<Value>(&format!("[{USED}]")).unwrap()
    );
    assert_eq!(
        candidate["groundingMetadata"],
        json!({"webSearchQueries": ["a"]})
    );
    assert_eq!(told["usageMetadata"]["toolUsePromptTokenCount"], 7);
    let events = format!("data: {twice}\n\n");
    let told = streamed(&stream, events.as_bytes(), 9).unwrap();
    for once in [
        "toolCall",
        "toolResponse",
        "c2lnMQ==",
        "c2lnMg==",
        "webSearchQueries",
        "\"STOP\"",
    ] {
        assert_eq!(told.matches(once).count(), 1, "{once}: {told}");
    }
    assert_eq!(told.matches("functionCall").count(), 2, "{told}");
}

/// Vertex AI refuses the ids of calls ("Unknown name \"id\"", pydantic/pydantic-ai#5081): the client would send back what was made up.
#[test]
fn a_call_without_an_id_gets_none_where_the_reply_is_written_anew() {
    let tools =
        r#","tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT"}}]}]"#;
    let call = r#"{"functionCall":{"name":"f"},"thoughtSignature":"c2ln"}"#;
    let said = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{call}],"role":"model"}},"finishReason":"STOP","index":0}}]}}"#
    );
    // It is told with its arguments, of which it has none.
    let told = reply(&at(WHOLE, tools), &said).unwrap();
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(
        told["candidates"][0]["content"]["parts"],
        json!([{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}])
    );
    let events = format!("data: {said}\n\n");
    let told = streamed(&at(STREAM, tools), events.as_bytes(), 9).unwrap();
    assert_eq!(told.matches("functionCall").count(), 1, "{told}");
    assert!(!told.contains("\"id\""), "{told}");
}

#[test]
fn what_else_stands_in_a_part_hides_neither_its_text_nor_its_call() {
    for (more, parts) in [
        (
            ANSWER,
            r#"{"text":"{\"n\": 1}"},{"text":"garbage","executableCode":{"code":"x"}}"#,
        ),
        (
            FUNCTIONS,
            r#"{"functionCall":{"name":"f","args":{"a":"x"}},"inlineData":{"data":""}}"#,
        ),
    ] {
        let body = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}},"finishReason":"STOP","index":0}}]}}"#
        );
        assert!(reply(&at(WHOLE, more), &body).is_err(), "{parts}");
        let events = format!("data: {body}\n\n");
        assert!(
            streamed(&at(STREAM, more), events.as_bytes(), 9).is_err(),
            "{parts}"
        );
    }
}

#[test]
fn what_is_said_before_a_tool_of_its_own_runs_is_no_answer() {
    let exchange = at(WHOLE, ANSWER);
    let stream = at(STREAM, ANSWER);
    let before = r#"{"text":"Let me compute that."}"#;
    let run = r#"{"executableCode":{"language":"PYTHON","code":"print(1)"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}"#;
    let frame = |parts: &str, more: &str| {
        format!(
            r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{more},"index":0}}]}}"#
        )
    };
    let end = r#","finishReason":"STOP""#;
    let body = |answer: &str| frame(&format!(r#"{before},{run},{{"text":"{answer}"}}"#), end);
    let told: Value =
        serde_json::from_str(&reply(&exchange, &body(r#"{\"n\": 1}"#)).unwrap()).unwrap();
    let parts = told["candidates"][0]["content"]["parts"]
        .as_array()
        .unwrap();
    let answers = |parts: &[Value]| {
        let answers = parts.iter().filter(|part| part["thought"] != true);
        answers
            .filter_map(|part| part["text"].as_str())
            .collect::<String>()
    };
    assert_eq!(answers(parts), r#"{"n": 1}"#, "{told}");
    assert!(told.to_string().contains("executableCode") && told.to_string().contains("OUTCOME_OK"));
    for wrong in [
        body("Done."),
        frame(before, end),
        frame(&format!("{run},{before}"), end),
    ] {
        assert!(
            matches!(reply(&exchange, &wrong), Err(Fault::Violation(_))),
            "{wrong}"
        );
        let events = format!("data: {wrong}\n\n");
        assert!(streamed(&stream, events.as_bytes(), 9).is_err(), "{wrong}");
    }
    let events = [
        frame(before, ""),
        frame(run, ""),
        frame(r#"{"text":"{\"n\": 1}"}"#, end),
    ];
    let events: String = events
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    let told = streamed(&stream, events.as_bytes(), 9).unwrap();
    let data = told
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str::<Value>(event.strip_prefix("data: ").unwrap()).unwrap());
    let parts: Vec<Value> = data
        .flat_map(|reply| {
            reply["candidates"][0]["content"]["parts"]
                .as_array()
                .cloned()
                .unwrap()
        })
        .collect();
    assert_eq!(answers(&parts), r#"{"n": 1}"#, "{told}");
    assert_eq!(told.matches("executableCode").count(), 1, "{told}");
    assert!(told.contains("Let me compute that."), "{told}");
    // Nothing is told behind the end: clients take a chunk without candidates for a turn that failed.
    assert_eq!(told.matches("\"candidates\":[{").count(), 3, "{told}");
    // What stands between texts stays there, and each signature at its part.
    let signed = r#"{"text":"Let me see.","thoughtSignature":"c2ln"}"#;
    let all = frame(&format!(r#"{signed},{run},{{"text":"{{\"n\": 1}}"}}"#), end);
    let told: Value = serde_json::from_str(&reply(&exchange, &all).unwrap()).unwrap();
    let parts = told["candidates"][0]["content"]["parts"]
        .as_array()
        .unwrap();
    assert_eq!(
        (&parts[0]["thought"], &parts[0]["thoughtSignature"]),
        (&json!(true), &json!("c2ln"))
    );
    assert!(
        parts[1].get("executableCode").is_some() && parts[2].get("codeExecutionResult").is_some()
    );
    assert_eq!(parts[3], json!({"text": "{\"n\": 1}"}));
    let told = streamed(&stream, format!("data: {all}\n\n").as_bytes(), 9).unwrap();
    let at = |word: &str| told.find(word).unwrap();
    assert!(
        at("Let me see.") < at("executableCode") && at("OUTCOME_OK") < at("{\\\"n"),
        "{told}"
    );
}

#[test]
fn what_has_to_be_changed_is_spliced_into_bytes_that_stay() {
    // A schema without a field of its own, in the other spelling: the rule's words take its place.
    let more = r#","generation_config":{"temperature" : 0.50,"response_mime_type":"application/json","response_schema":{"type":"STRING"}},
        "tools":[{"google_search":{ }},{"function_declarations":[{"name":"f"},{"name" : "g"}]}],
        "tool_config":{"function_calling_config":{"mode":"ANY","allowed_function_names":["g"]}}"#;
    let exchange = at(WHOLE, more);
    let sent = sent(&exchange);
    assert!(
        sent.contains(r#"[ {"parts" : [{"text":"\u0048i" , "mark":1.0}] } ]"#),
        "{sent}"
    );
    assert!(sent.contains(r#""odd":{"a" :1}"#), "{sent}");
    let read: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(read["generation_config"], Value::Null, "{sent}");
    assert_eq!(read["generationConfig"], json!({"temperature": 0.5}));
    assert!(sent.contains("0.50"), "{sent}");
    assert_eq!(read["tools"][0], json!({"google_search": {}}));
}

#[test]
fn what_operates_a_computer_is_called_by_names_that_nothing_declares() {
    let tools = |computer: &str, config: &str| {
        format!(
            r#","tools":[{{"{computer}}},{{"functionDeclarations":[{{"name":"f"}}]}}],"toolConfig":{{"functionCallingConfig":{config}}}"#
        )
    };
    let plain = r#"computerUse":{"environment":"ENVIRONMENT_BROWSER"}"#;
    let excluded = r#"computer_use":{"excluded_predefined_functions":["click_at"]}"#;
    let right = r#"{"candidates": [{"content":{"parts":[{"functionCall":{"name":"click_at","args":{"x":1}}}],"role":"model"},"finishReason":"STOP","index":0}]}"#;
    let frame = format!("data: {right}\n\n");
    let passes = |server: &str, more: &str| {
        let asked = body(more);
        let exchange = planned(WHOLE, asked.as_bytes(), server).unwrap();
        if server == "gemini" {
            let stream = planned(STREAM, asked.as_bytes(), server).unwrap();
            let streamed = streamed(&stream, frame.as_bytes(), 9);
            assert_eq!(streamed.is_ok(), reply(&exchange, right).is_ok(), "{more}");
        }
        exchange
    };
    for config in ["{}", r#"{"mode":"AUTO"}"#, r#"{"mode":"ANY"}"#] {
        let exchange = passes("gemini", &tools(plain, config));
        let told = reply(&exchange, right).unwrap();
        assert!(told.contains("click_at"), "{config}: {told}");
        let exchange = passes("gemini", &tools(excluded, config));
        assert!(reply(&exchange, right).is_err(), "{config}");
    }
    for config in [
        r#"{"mode":"NONE"}"#,
        r#"{"mode":"ANY","allowedFunctionNames":["f"]}"#,
        r#"{"mode":"VALIDATED","allowedFunctionNames":["f"]}"#,
    ] {
        let exchange = passes("gemini", &tools(plain, config));
        assert!(reply(&exchange, right).is_err(), "{config}");
    }
    // A server of another wire has no such functions.
    let exchange = passes("openai", &tools(plain, "{}"));
    let call = r#"{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"click_at","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    assert!(matches!(reply(&exchange, call), Err(Fault::Violation(_))));
    assert!(
        exchange
            .losses
            .iter()
            .any(|loss| loss.pointer == "/tools/0/computerUse")
    );
}

#[test]
fn it_is_asked_again_with_two_turns_more() {
    let exchange = at(
        WHOLE,
        r#","generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"INTEGER"}}"#,
    );
    let wrong =
        r#"{"candidates":[{"content":{"parts":[{"text":"\"x\""}]},"finishReason":"STOP"}]}"#;
    let Err(Fault::Violation(violation)) = reply(&exchange, wrong) else {
        panic!("it passed")
    };
    let again = exchange.re_ask(&violation);
    assert_eq!(again.path, "/v1beta/models/m:generateContent");
    let fields: Fields = serde_json::from_slice(&again.body).unwrap();
    let turns = fields.raw("contents").unwrap();
    assert!(
        turns.starts_with(r#"[ {"parts" : [{"text":"\u0048i" , "mark":1.0}] },{"role":"model""#),
        "{turns}"
    );
    let read: Vec<Value> = serde_json::from_str(turns).unwrap();
    assert_eq!(read.len(), 3);
    assert_eq!(read[2]["role"], "user");
}

#[test]
fn a_client_of_another_wire_gets_none_of_its_bytes() {
    let exchange = at("/v1/models/m:streamGenerateContent", "");
    assert!(!exchange.is_passthrough());
    let came =
        br#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}], "odd": 1}"#;
    assert_eq!(whole(&exchange, came).unwrap()["odd"], Value::Null);
}

/// The model may do better when it is told: Gemini's users are told to ask again.
#[test]
fn a_call_that_gemini_could_not_read_is_asked_for_again() {
    let said = r#"{"candidates":[{"content":{"parts":[{"text":"I call."}],"role":"model"},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]}"#;
    let refused = said.replace("MALFORMED_FUNCTION_CALL", "MISSING_THOUGHT_SIGNATURE");
    for (body, is_asked) in [(said, true), (&refused, false)] {
        let whole = reply(&at(WHOLE, FUNCTIONS), body).map(drop);
        let stream = format!("data: {body}\n\n");
        let streamed = streamed(&at(STREAM, FUNCTIONS), stream.as_bytes(), 64).map(drop);
        for told in [whole, streamed] {
            let is_violation = matches!(told, Err(Fault::Violation(_)));
            assert!(
                told.is_err() && is_violation == is_asked,
                "{body}: {told:?}"
            );
        }
    }
}
