#![expect(clippy::too_many_lines, reason = "tests")]
use super::super::json::folded;
use super::*;
use proptest::prelude::*;

fn field(body: &str) -> Option<String> {
    match find(body.as_bytes()) {
        BodyDemand::None => None,
        BodyDemand::Constraint(field) => Some(field),
        BodyDemand::Unreadable => Some("unreadable".to_owned()),
    }
}

#[test]
fn every_dialects_constraint_is_found_by_name() {
    for (body, expected) in [
        (
            r#"{"structured_outputs":{"json":{}}}"#,
            "structured_outputs",
        ),
        (
            r#"{"structured_outputs":{"regex":"a"}}"#,
            "structured_outputs",
        ),
        (r#"{"guided_json":{}}"#, "guided_json"),
        (r#"{"guided_json":"{}"}"#, "guided_json"),
        (r#"{"guided_choice":["a"]}"#, "guided_choice"),
        (r#"{"guided_regex":"a"}"#, "guided_regex"),
        (r#"{"guided_grammar":"root ::= \"a\""}"#, "guided_grammar"),
        (
            r#"{"nvext":{"guided_json":{"type":"object"}}}"#,
            "nvext.guided_json",
        ),
        (
            r#"{"response_format":{"type":"json_object"}}"#,
            "response_format",
        ),
        (
            r#"{"response_format":{"type":"regex","value":"a"}}"#,
            "response_format",
        ),
        (r#"{"response_format":{"schema":{}}}"#, "response_format"),
        (
            r#"{"sampling_params":{"regex":"a"}}"#,
            "sampling_params.regex",
        ),
        (
            r#"{"sampling_params":[{},{"ebnf":"a"}]}"#,
            "sampling_params.ebnf",
        ),
        (
            r#"{"sampling_params":{"structural_tag":"{}"}}"#,
            "sampling_params.structural_tag",
        ),
        (
            r#"{"sampling_params":{"structured_outputs":{"choice":["a"]}}}"#,
            "sampling_params.structured_outputs",
        ),
        (r#"{"json_schema":{}}"#, "json_schema"),
        (r#"{"grammar":"root ::= \"a\""}"#, "grammar"),
        (
            r#"{"grammar":{"type":"lark","value":"start: \"a\""}}"#,
            "grammar",
        ),
        (
            r#"{"parameters":{"grammar":{"type":"json","value":{}}}}"#,
            "parameters.grammar",
        ),
        (
            r#"{"guided_decoding_guide_type":"json"}"#,
            "guided_decoding_guide_type",
        ),
        (r#"{"format":"json"}"#, "format"),
        (r#"{"format":{}}"#, "format"),
        (
            r#"{"text":{"format":{"type":"json_schema"}}}"#,
            "text.format",
        ),
        (
            r#"{"output_config":{"format":{"type":"json_schema"}}}"#,
            "output_config.format",
        ),
        (
            r#"{"output_format":{"type":"json_schema"}}"#,
            "output_format",
        ),
        (
            r#"{"generationConfig":{"responseSchema":{}}}"#,
            "generation_config.responseSchema",
        ),
        (
            r#"{"generation_config":{"response_json_schema":{}}}"#,
            "generation_config.responseJsonSchema",
        ),
        (
            r#"{"generationConfig":{"responseMimeType":"application/json"}}"#,
            "generation_config.responseMimeType",
        ),
        (
            r#"{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}"#,
            "toolConfig.functionCallingConfig.mode",
        ),
        (
            r#"{"tool_config":{"function_calling_config":{"mode":2}}}"#,
            "toolConfig.functionCallingConfig.mode",
        ),
        (r#"{"tool_choice":"required"}"#, "tool_choice"),
        (r#"{"tool_choice":"REQUIRED"}"#, "tool_choice"),
        (r#"{"tool_choice":"any"}"#, "tool_choice"),
        (r#"{"tool_choice":"a_name"}"#, "tool_choice"),
        (r#"{"tool_choice":{"type":"any"}}"#, "tool_choice"),
        (
            r#"{"tool_choice":{"type":"tool","name":"f"}}"#,
            "tool_choice",
        ),
        (
            r#"{"tool_choice":{"type":"function","function":{"name":"f"}}}"#,
            "tool_choice",
        ),
        (
            r#"{"tool_choice":{"function":{"name":"f"}}}"#,
            "tool_choice",
        ),
        (
            r#"{"tool_choice":{"type":"allowed_tools","mode":"required"}}"#,
            "tool_choice",
        ),
        (
            r#"{"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required"}}}"#,
            "tool_choice",
        ),
        (
            r#"{"toolConfig":{"toolChoice":{"any":{}}}}"#,
            "toolConfig.toolChoice",
        ),
        (r#"{"function_call":{"name":"f"}}"#, "function_call"),
        (
            r#"{"tools":[{},{"function":{"strict":true}}]}"#,
            "tools.function.strict",
        ),
        (r#"{"tools":[{"name":"f","strict":true}]}"#, "tools.strict"),
        (
            r#"{"tools":[{"type":"custom","format":{"type":"grammar"}}]}"#,
            "tools.format",
        ),
        (r#"{"strict_tools":true}"#, "strict_tools"),
        (
            r#"{"input_file_id":"f","endpoint":"/v1/chat/completions"}"#,
            "endpoint",
        ),
        (
            r#"{"requests":[{"custom_id":"1","params":{"tool_choice":{"type":"any"}}}]}"#,
            "requests.params.tool_choice",
        ),
        (
            r#"{"batch":{"input_config":{"requests":{"requests":[{"request":{"generationConfig":{"responseSchema":{}}}}]}}}}"#,
            "batch.input_config.requests.requests.request.generation_config.responseSchema",
        ),
    ] {
        assert_eq!(field(body).as_deref(), Some(expected), "{body}");
    }
}

#[test]
fn what_promises_nothing_may_go() {
    for body in [
        "{}",
        "[]",
        r#"{"prompt":"guided_json","messages":[{"content":"tool_choice: required"}]}"#,
        r#"{"guided_json":null,"guided_choice":[],"guided_regex":"","structured_outputs":{}}"#,
        r#"{"structured_outputs":{"json":null,"regex":""}}"#,
        r#"{"response_format":{"type":"text"}}"#,
        r#"{"response_format":null}"#,
        r#"{"response_format":"b64_json"}"#,
        r#"{"grammar":"","json_schema":null,"format":""}"#,
        r#"{"format":"mp3"}"#,
        r#"{"text":{"format":{"type":"text"},"verbosity":"low"}}"#,
        r#"{"text":"a prompt","sampling_params":{"temperature":0}}"#,
        r#"{"tools":[{"type":"function","function":{"name":"f","strict":false}}],"tool_choice":"auto"}"#,
        r#"{"tools":[{"input_schema":{"properties":{"regex":{},"strict":{"const":true}}}}]}"#,
        r#"{"tool_choice":"none"}"#,
        r#"{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}"#,
        r#"{"tool_choice":{"type":"allowed_tools","mode":"auto"}}"#,
        r#"{"tool_config":{"function_calling_config":{"mode":"AUTO"}}}"#,
        r#"{"toolConfig":{"toolChoice":{"auto":{}}}}"#,
        r#"{"generationConfig":{"responseMimeType":"text/plain","temperature":1}}"#,
        r#"{"input_file_id":"f","endpoint":"/v1/embeddings"}"#,
        r#"{"input":[{"type":"message","content":[{"type":"input_audio","input_audio":{"format":"wav"}}]}]}"#,
        "{ \"a\" : 1e999,\r\n\t\"a\":\"\\ud83d\" }",
        "{\"a\":1}\n{\"a\":2}\n",
    ] {
        assert_eq!(field(body), None, "{body}");
    }
}

#[test]
fn lenient_readers_read_no_more_than_is_found() {
    for body in [
        // The first or the last of two counts, depending on the server.
        r#"{"guided_json":null,"guided_json":{}}"#,
        r#"{"guided_json":{},"guided_json":null}"#,
        r#"{"sampling_params":{"regex":"a"},"sampling_params":{}}"#,
        r#"{"response_format":{"type":"text","type":"json_object"}}"#,
        r#"{"tool_choice":{"type":"auto","type":"any"}}"#,
        // Keys without case, in another case, and escaped.
        r#"{"Format":"json"}"#,
        r#"{"RESPONSE_FORMAT":{"type":"json_object"}}"#,
        r#"{"re\u0073ponse_format":{"type":"json_object"}}"#,
        // A decoder that stops after the first value, and one that takes a list.
        r#"{"format":"json"} {}"#,
        r#"[{"prompt":"a"},{"prompt":"b","regex":"a"}]"#,
    ] {
        assert!(
            field(body).is_some_and(|found| found != "unreadable"),
            "{body}"
        );
    }
    for body in [
        "{\"format\":\"json\"",
        "{\"prompt\":\"a\"} trailing",
        "{\"temperature\":NaN}",
        "{/* */}",
        "\u{feff}{}",
        "{\"\\ud800\":1}",
    ] {
        assert_eq!(field(body).as_deref(), Some("unreadable"), "{body}");
    }
}

#[test]
fn utf16_is_not_read_and_so_never_passes() {
    let body: Vec<u8> = r#"{"format":"json"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(super::super::demand(&body), BodyDemand::Unreadable);
}

#[test]
fn each_word_of_the_table_stands_once() {
    let mut paths: Vec<String> = WORDS.iter().map(|word| folded(word.path)).collect();
    paths.sort();
    let all = paths.len();
    paths.dedup();
    assert_eq!(paths.len(), all);
}

proptest! {
    #[test]
    fn a_constraint_is_found_in_any_wrappers_and_whatever_stands_beside_it(
        wrappers in prop::collection::vec(prop::sample::select(WRAPPERS.to_vec()), 0..5),
        other in "[a-z]{1,8}",
        is_list in any::<bool>(),
    ) {
        let mut body = format!(r#"{{"x{other}":[1,{{}}],"guided_json":{{"type":"object"}}}}"#);
        for wrapper in &wrappers {
            body = format!(r#"{{"y{other}":null,"{wrapper}":{body}}}"#);
        }
        let body = if is_list { format!("[{body}]") } else { body };
        prop_assert!(field(&body).is_some_and(|found| found.ends_with("guided_json")), "{}", body);
    }

    #[test]
    fn bytes_of_any_kind_are_judged(body in prop::collection::vec(any::<u8>(), 0..64)) {
        let _verdict = super::super::demand(&body);
    }
}
