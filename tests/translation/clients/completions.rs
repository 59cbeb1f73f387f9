//! Clients of legacy Completions.

use super::{
    Says, client, compare, events_on, framed, planned, streamed, text, told, whole, whole_on,
};
use isogloss_core::error::Kind;
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::ir::{Strategy, Wire};
use serde_json::{Value, json};

const PATH: &str = "/v1/completions";
const SERVERS: &[&str] = &[
    "vllm@0.32.0",
    "vllm@0.10.2",
    "sglang@0.5.23",
    "llama-cpp",
    "worker",
];

fn body(more: Value) -> Value {
    let mut body = json!({"model": "m", "prompt": "The answer is "});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn sent(exchange: &Exchange) -> Value {
    serde_json::from_slice(exchange.sent().unwrap()).unwrap()
}

#[test]
fn every_server_is_asked_in_its_words_on_its_own_route() {
    compare("completions", &[SERVERS, &["plain", "anthropic"]].concat());
}

#[test]
fn what_demands_nothing_is_untouched_whatever_it_has_on_every_server() {
    for more in [
        json!({}),
        json!({"prompt": ["a", "b"], "n": 2, "echo": true, "logprobs": 3}),
        json!({"prompt": [1, 2, 3], "suffix": "}", "best_of": 300}),
        json!({"prompt": [[1], [2]], "stream": true}),
        json!({"response_format": {"type": "text"}, "guided_json": null, "max_completion_tokens": 3}),
    ] {
        for label in crate::replay::rules().names() {
            let exchange = planned(PATH, &body(more.clone()), label).unwrap();
            assert!(
                exchange.sent().is_none() && exchange.is_passthrough(),
                "{label}: {more}"
            );
            assert_eq!(exchange.path(), PATH);
            assert!(exchange.losses.is_empty() || label == "llama-cpp");
        }
    }
}

#[test]
fn what_a_server_does_nothing_with_is_told() {
    let lost = |more: Value, label: &str| {
        let exchange = planned(PATH, &body(more), label).unwrap();
        let lost = exchange.losses.iter().map(|loss| loss.pointer.clone());
        lost.collect::<Vec<_>>()
    };
    let all = json!({"echo": true, "suffix": "}", "best_of": 3});
    assert_eq!(
        lost(all.clone(), "llama-cpp"),
        ["/echo", "/suffix", "/best_of"]
    );
    assert!(lost(all, "vllm@0.32.0").is_empty());
    let idle = json!({"echo": false, "suffix": null, "best_of": 1});
    assert!(lost(idle, "llama-cpp").is_empty());
    let bound = json!({"guided_regex": "[ab]+", "suffix": "."});
    assert_eq!(lost(bound, "llama-cpp"), ["/suffix"]);
}

#[test]
fn a_constraint_goes_out_in_the_servers_words_and_the_prompt_keeps_its_bytes() {
    for (label, field) in [
        ("vllm@0.32.0", "structured_outputs"),
        ("vllm@0.10.2", "guided_regex"),
        ("sglang@0.5.23", "regex"),
        ("llama-cpp", "grammar"),
    ] {
        let exchange = planned(
            PATH,
            &body(json!({"guided_regex": "[ab]+", "suffix": "."})),
            label,
        )
        .unwrap();
        let asked = sent(&exchange);
        assert!(asked.get(field).is_some(), "{label}: {asked}");
        assert!(
            field == "guided_regex" || asked.get("guided_regex").is_none(),
            "{label}"
        );
        assert_eq!(
            (&asked["prompt"], &asked["suffix"]),
            (&json!("The answer is "), &json!("."))
        );
        assert!(asked.get("messages").is_none());
    }
    // What is another route's word alone is put into one that this route has.
    let format = json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}});
    let asked = sent(&planned(PATH, &body(format), "llama-cpp").unwrap());
    assert_eq!(asked["json_schema"]["type"], "object");
    assert!(asked.get("response_format").is_none());
}

#[test]
fn what_cannot_be_held_to_its_constraint_is_refused_by_name() {
    let regex = |more: Value| {
        let mut body = body(more);
        body["guided_regex"] = json!("[ab]+");
        body
    };
    for (request, label, named) in [
        (
            regex(json!({"prompt": ["a", "b"]})),
            "vllm@0.32.0",
            "prompt",
        ),
        (regex(json!({"prompt": [1, 2]})), "vllm@0.32.0", "prompt"),
        (regex(json!({"prompt": [[1, 2]]})), "vllm@0.32.0", "prompt"),
        (regex(json!({"prompt": 7})), "vllm@0.32.0", "prompt"),
        (regex(json!({"prompt": []})), "vllm@0.32.0", "prompt"),
        (regex(json!({"echo": true})), "vllm@0.32.0", "echo"),
        (regex(json!({"n": 0})), "vllm@0.32.0", "n"),
        (regex(json!({"best_of": 1000})), "vllm@0.32.0", "best_of"),
        (regex(json!({"regex": "c"})), "vllm@0.32.0", "regex"),
        (regex(json!({})), "plain", "guided_regex"),
        (regex(json!({})), "openai", "guided_regex"),
        (regex(json!({})), "anthropic", "guided_regex"),
        // Nobody here reads these, but some server would.
        (
            body(json!({"extra_body": {"guided_json": {}}})),
            "vllm@0.32.0",
            "extra_body.guided_json",
        ),
        (
            body(json!({"sampling_params": {"regex": "a"}})),
            "sglang@0.5.23",
            "sampling_params.regex",
        ),
        (
            regex(json!({"tool_choice": "required"})),
            "vllm@0.32.0",
            "tool_choice",
        ),
        (body(json!({"format": "json"})), "vllm@0.32.0", "format"),
        (
            body(json!({"response_format": {"type": "xml"}})),
            "vllm@0.32.0",
            "response_format.type",
        ),
    ] {
        let error = planned(PATH, &request, label).map(|_| ()).unwrap_err();
        assert_eq!(
            (error.param.as_deref(), error.status()),
            (Some(named), 400),
            "{request}"
        );
        let told: Value = serde_json::from_slice(&client(PATH).error_body(&error)).unwrap();
        assert_eq!(told["error"]["param"], named);
    }
    let one = regex(json!({"prompt": ["a"]}));
    planned(PATH, &one, "vllm@0.32.0").unwrap();
}

#[test]
fn what_a_server_could_only_be_told_is_refused() {
    // llama.cpp has no structural tags.
    let tag = json!({"structural_tag": {"type": "structural_tag", "format": {"type": "any_text"}}});
    let error = planned(PATH, &body(tag), "llama-cpp")
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        (error.kind, error.param.as_deref()),
        (Kind::UnsupportedConstraint, Some("structural_tag"))
    );
}

#[test]
fn texts_are_verified_whole_and_streamed_and_keep_their_bytes() {
    let request = |stream: bool| body(json!({"guided_regex": "[ab]+", "stream": stream}));
    for label in SERVERS {
        let exchange = planned(PATH, &request(false), label).unwrap();
        assert!(matches!(
            exchange.strategy,
            Strategy::Native | Strategy::Convert
        ));
        let good = whole_on(Wire::Completions, &Says::text("abba"));
        assert_eq!(whole(&exchange, &good).unwrap(), good, "{label}");
        let fault =
            whole(&exchange, &whole_on(Wire::Completions, &Says::text("abbc"))).unwrap_err();
        let (status, error) = told(client(PATH), fault);
        assert_eq!(
            (status, &error["error"]["param"]),
            (502, &json!("choices[0].text"))
        );

        let exchange = planned(PATH, &request(true), label).unwrap();
        let good = framed(
            Wire::Completions,
            &events_on(Wire::Completions, &Says::text("abbaab")),
        );
        for step in [1, 13, good.len()] {
            assert_eq!(
                text(streamed(&exchange, &good, step).unwrap()),
                text(good.clone()),
                "{label}"
            );
        }
        let wrong = framed(
            Wire::Completions,
            &events_on(Wire::Completions, &Says::text("abbacd")),
        );
        let (out, fault) = streamed(&exchange, &wrong, 13).unwrap_err();
        assert!(!text(out).contains("[DONE]"));
        assert_eq!(told(client(PATH), fault).0, 502);
    }
}

#[test]
fn what_readers_could_read_otherwise_is_written_anew() {
    let exchange = planned(PATH, &body(json!({"guided_regex": "[ab]+"})), "vllm@0.32.0").unwrap();
    let choice = json!({"index": 0, "text": "ab", "message": {"content": "no"}, "finish_reason": "stop", "stop_reason": 7});
    let reply = json!({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]});
    let got = whole(&exchange, reply.to_string().as_bytes()).unwrap();
    let got: Value = serde_json::from_slice(&got).unwrap();
    assert_eq!(
        got["choices"],
        json!([{"index": 0, "text": "ab", "logprobs": null, "finish_reason": "stop", "stop_reason": 7}])
    );
    // Fewer choices than `n`, or none, are no reply to it.
    let several = planned(
        PATH,
        &body(json!({"guided_regex": "[ab]+", "n": 2})),
        "vllm@0.32.0",
    )
    .unwrap();
    assert!(whole(&several, &whole_on(Wire::Completions, &Says::text("ab"))).is_err());
    assert!(whole(&exchange, &whole_on(Wire::Chat, &Says::text("ab"))).is_err());
    // A whole reply where a stream was asked for.
    let exchange = planned(
        PATH,
        &body(json!({"guided_regex": "[ab]+", "stream": true})),
        "vllm@0.32.0",
    )
    .unwrap();
    let checks = exchange
        .clone()
        .compile(&isogloss_core::schema::SchemaLimits::default())
        .unwrap();
    let mut translator =
        exchange::StreamTranslator::new(&exchange, checks, isogloss_core::ir::Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    translator
        .whole(
            &exchange,
            &whole_on(Wire::Completions, &Says::text("ab")),
            &mut out,
        )
        .unwrap();
    let out = text(out);
    assert!(
        out.contains(r#""text":"ab""#) && out.ends_with("data: [DONE]\n\n"),
        "{out}"
    );
    assert!(
        out.contains("text_completion") && !out.contains("chunk") && !out.contains("usage"),
        "{out}"
    );
}

#[test]
fn every_spelling_of_a_constraint_is_held_to_or_refused() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let tag = json!({"type": "structural_tag", "format": {"type": "const_string", "value": "yes"}});
    let spellings = [
        json!({"response_format": {"type": "json_object"}}),
        json!({"response_format": {"type": "json_object", "schema": schema}}),
        json!({"response_format": {"type": "json", "value": schema}}),
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
        json!({"response_format": {"type": "regex", "pattern": "yes"}}),
        json!({"response_format": {"type": "grammar", "grammar": "root ::= \"yes\""}}),
        json!({"response_format": tag}),
        json!({"structured_outputs": {"json": schema}}),
        json!({"structured_outputs": {"json_object": true}}),
        json!({"structured_outputs": {"regex": "yes"}}),
        json!({"structured_outputs": {"choice": ["yes"]}}),
        json!({"structured_outputs": {"grammar": "root ::= \"yes\""}}),
        json!({"guided_json": schema}),
        json!({"guided_json": schema.to_string()}),
        json!({"guided_regex": "yes"}),
        json!({"guided_choice": ["yes"]}),
        json!({"guided_grammar": "root ::= \"yes\""}),
        json!({"nvext": {"guided_json": schema}}),
        json!({"nvext": {"guided_choice": ["yes"]}}),
        json!({"json_schema": schema}),
        json!({"regex": "yes"}),
        json!({"ebnf": "root ::= \"yes\""}),
        json!({"grammar": "root ::= \"yes\""}),
        json!({"grammar": {"type": "regex", "value": "yes"}}),
        json!({"structural_tag": tag}),
        json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
        json!({"format": schema}),
        json!({"generationConfig": {"responseSchema": schema}}),
        json!({"sampling_params": {"regex": "yes"}}),
        json!({"guided_decoding_params": {"guide": "yes"}}),
    ];
    let (mut held, mut refused) = (0, 0);
    for spelling in spellings {
        for label in SERVERS {
            let Ok(exchange) = planned(PATH, &body(spelling.clone()), label) else {
                refused += 1;
                continue;
            };
            assert!(!exchange.demand.contract.is_empty(), "{label}: {spelling}");
            let wrong = whole_on(Wire::Completions, &Says::text("no"));
            let (status, _) = told(client(PATH), whole(&exchange, &wrong).unwrap_err());
            assert_eq!(status, 502, "{label}: {spelling}");
            let goods = ["yes", "{\"a\":1}"];
            let is_good = |text: &&str| {
                let good = whole_on(Wire::Completions, &Says::text(text));
                whole(&exchange, &good).is_ok()
            };
            assert!(goods.iter().any(is_good), "{label}: {spelling}");
            held += 1;
        }
    }
    // Neither lets everything pass nor refuses everything.
    assert!(held > 80 && refused > 10, "{held} {refused}");
}

#[test]
fn what_else_a_completion_asks_for_goes_along_and_each_of_its_choices_is_held_to_it() {
    let more = json!({"guided_regex": "[ab]+", "suffix": "end", "n": 2, "best_of": 3, "logprobs": 1, "stop": ["x"]});
    for label in ["vllm@0.32.0", "worker"] {
        let exchange = planned(PATH, &body(more.clone()), label).unwrap();
        let asked = sent(&exchange);
        for name in ["suffix", "n", "best_of", "logprobs", "stop", "prompt"] {
            assert_eq!(asked[name], body(more.clone())[name], "{label} {name}");
        }
        let reply = |second: &str| {
            let choice = |index: u32, text: &str| json!({"index": index, "text": text, "logprobs": {"tokens": ["a"]}, "finish_reason": "stop"});
            json!({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice(0, "a"), choice(1, second)]}).to_string()
        };
        let good = reply("bb").into_bytes();
        assert_eq!(whole(&exchange, &good).unwrap(), good, "{label}");
        let (_, error) = told(
            client(PATH),
            whole(&exchange, reply("c").as_bytes()).unwrap_err(),
        );
        assert_eq!(error["error"]["param"], "choices[1].text");
        let one = whole_on(Wire::Completions, &Says::text("a"));
        assert!(whole(&exchange, &one).is_err(), "one choice of two");
    }
}
