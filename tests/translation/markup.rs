//! Servers that leave calls in the text, as the model writes them: what clients of each dialect get of every
//! format that is known, whole and streamed; and where the same text stays text.

use crate::replay::{self, rule, rules};
use isogloss_core::check::tag::TagChecker;
use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::ir::{CallKind, Ids, RepairStep, Repairs, Rewrap};
use isogloss_core::markup::{Tools, Written};
use isogloss_core::rules::Rule;
use isogloss_core::verify::Checks;
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::demands::Demand;
use isogloss_testing::adversary::fold::{Came, Choice};
use isogloss_testing::adversary::frame::{self, Harm};
use isogloss_testing::adversary::source::Seeded;
use isogloss_testing::adversary::speak::Spoken;
use isogloss_testing::adversary::wires;
use serde_json::{Value, json};
use std::sync::Arc;

/// Servers that read no calls, that read them only with the right launch flags, and that read none of this model.
const SERVERS: [&str; 17] = [
    "plain",
    "transformers",
    "worker",
    "vllm@0.32.0",
    "vllm@0.32.0+no_auto_tools",
    "vllm@0.5.0",
    "sglang@0.5.23",
    "sglang@0.5.23+no_auto_tools",
    "llama-cpp",
    "llama-cpp+no_tools",
    "tensorrt-llm",
    "lmdeploy",
    "mistral-rs",
    "lm-studio",
    "tgi@3.3.0",
    "ollama@0.12.0",
    "ollama-native@0.12.0",
];

const CLIENTS: [Dialect; 6] = [
    Dialect::Chat,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::Gemini,
    Dialect::GeminiList,
    Dialect::OllamaChat,
];

fn parameters() -> Value {
    json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]})
}

fn clock() -> Value {
    json!({"type": "object", "properties": {"zone": {"type": "string"}}})
}

fn tool(name: &str, parameters: &Value) -> Value {
    json!({"type": "function", "function": {"name": name, "parameters": parameters}})
}

fn tools() -> Value {
    json!([tool("weather", &parameters()), tool("clock", &clock())])
}

fn shown() -> Tools {
    let shown = |name: &str, schema| (name.to_owned(), CallKind::Function, Some(schema));
    Tools::new([shown("weather", parameters()), shown("clock", clock())])
}

const CALLS: [(&str, &str); 2] = [
    ("weather", r#"{"city": "Oslo", "days": 3}"#),
    ("clock", r#"{"zone": "UTC"}"#),
];

/// What a model writes that makes so many of these calls.
fn written(rule: &Rule, format: &str, calls: usize) -> String {
    let markup = rule.clone().with_markup(format).unwrap();
    let format = markup.markup_of("").unwrap().format;
    let calls: Vec<Written<'_>> = CALLS[..calls]
        .iter()
        .enumerate()
        .map(|(at, (name, input))| Written {
            id: Some(["call000a1", "call000b2"][at]),
            name,
            input,
        })
        .collect();
    format.write(&calls, &shown())
}

fn planned(client: Dialect, fields: &Value, rule: &Rule, stream: bool) -> Option<Exchange> {
    let demand = client.asks(&Demand::new("markup", fields.clone()))?;
    let (path, face) = client.route(stream);
    let body = demand.body(stream, 1).to_string();
    let read = exchange::read(face, path, body.as_bytes()).unwrap();
    Some(exchange::plan(read, rule).unwrap())
}

/// What the client has of a server that says this, and what was mended.
fn folded(
    exchange: &Exchange,
    client: Dialect,
    text: &str,
    step: Option<usize>,
) -> (Choice, Repairs) {
    let checks = replay::checks(exchange).unwrap();
    folded_with(exchange, &checks, client, text, step)
}

/// The same, with what was compiled for the request.
fn folded_with(
    exchange: &Exchange,
    checks: &Arc<Checks>,
    client: Dialect,
    text: &str,
    step: Option<usize>,
) -> (Choice, Repairs) {
    let wire = exchange.server.wire();
    let spoken = [Spoken {
        content: Some(text.to_owned()),
        finish: "stop",
        ..Spoken::default()
    }];
    let ids = Ids::new(42).at(1_700_000_000);
    let source = &mut Seeded(step.map_or(7, |step| step as u64));
    let label = format!("{} {:?} {text:?}", client.name(), exchange.plan.rewrap);
    let (bytes, repairs) = match step {
        None => {
            let body = wires::whole(wire, &spoken, source).text();
            let reply = exchange::reply(exchange, checks, ids, body.as_bytes());
            let reply = reply.unwrap_or_else(|fault| panic!("{label}: {fault:?}"));
            (reply.body, reply.repairs)
        }
        Some(step) => {
            let events = wires::streamed(wire, &spoken, source);
            let bytes = frame::stream(wire, &events, Harm::None, source).bytes;
            let mut translator = StreamTranslator::new(exchange, Arc::clone(checks), ids, 1 << 20);
            let mut out = Vec::new();
            let mut pushed = bytes
                .chunks(step)
                .map(|piece| translator.push(piece, &mut out));
            let pushed = pushed.find_map(Result::err);
            assert!(pushed.is_none(), "{label}: {pushed:?}");
            let finished = translator.finish(End::Eof, &mut out);
            finished.unwrap_or_else(|fault| panic!("{label}: {fault:?}"));
            (out, translator.repairs())
        }
    };
    let Came::Success(views) = client.fold(200, &bytes, step.is_some()) else {
        panic!("{label}: {}", String::from_utf8_lossy(&bytes));
    };
    let mut choices = views.into_iter().flat_map(|view| {
        assert!(view.faults.is_empty(), "{label}: {:?}", view.faults);
        view.choices.into_values()
    });
    let choice = choices.next().unwrap();
    assert!(
        choices.all(|other| other.content == choice.content),
        "{label}"
    );
    (choice, repairs)
}

fn forms() -> [Option<usize>; 4] {
    [None, Some(1), Some(17), Some(1 << 20)]
}

fn calls_of(choice: &Choice) -> Vec<(String, Value)> {
    let calls = choice.calls.iter().map(|(_, call)| call);
    calls
        .map(|call| {
            (
                call.name.clone(),
                serde_json::from_str(&call.input).unwrap(),
            )
        })
        .collect()
}

/// How many calls come back, however many were written.
fn expected(count: usize) -> Vec<(String, Value)> {
    let calls = CALLS[..count].iter();
    calls
        .map(|(name, input)| ((*name).to_owned(), serde_json::from_str(input).unwrap()))
        .collect()
}

#[test]
fn calls_in_every_models_markup_are_calls_on_every_server_for_every_client() {
    for format in rules().formats().iter() {
        for label in SERVERS {
            let rule = rule(label).with_markup(format.name()).unwrap();
            let text = written(&rule, format.name(), 1);
            for client in CLIENTS {
                let fields = json!({"tools": tools()});
                let asked = [false, true].map(|stream| planned(client, &fields, &rule, stream));
                let compiled = asked.each_ref().map(|exchange| {
                    let exchange = exchange.as_ref();
                    exchange.map(|exchange| (exchange, replay::checks(exchange).unwrap()))
                });
                for form in forms() {
                    let Some((exchange, checks)) = &compiled[usize::from(form.is_some())] else {
                        continue;
                    };
                    let (choice, _) = folded_with(exchange, checks, client, &text, form);
                    let label = format!("{label} {} {} {form:?}", format.name(), client.name());
                    assert_eq!(calls_of(&choice), expected(1), "{label}: {text}");
                    assert_eq!(choice.content, "", "{label}");
                    let ids = choice.calls.iter().map(|(_, call)| &call.id);
                    assert!(ids.clone().all(|id| id != "call000a1"), "{label}: {ids:?}");
                }
            }
        }
    }
}

#[test]
fn what_was_read_is_told_but_where_the_server_was_made_to_write_it() {
    let fields = json!({"tools": tools()});
    for (label, is_told) in [("vllm@0.32.0", true), ("worker", false), ("plain", true)] {
        let rule = rule(label).with_markup("hermes").unwrap();
        let text = format!("Let me see.\n{}", written(&rule, "hermes", 1));
        for form in forms() {
            let exchange = planned(Dialect::Chat, &fields, &rule, form.is_some()).unwrap();
            let (choice, repairs) = folded(&exchange, Dialect::Chat, &text, form);
            assert_eq!(choice.content, "Let me see.", "{label}");
            assert_eq!(choice.finish.as_deref(), Some("tool_calls"), "{label}");
            assert_eq!(repairs.has(RepairStep::Markup), is_told, "{label} {form:?}");
        }
    }
}

/// A server that reads calls itself, of whose model the name alone tells the markup.
fn named(label: &str) -> (Rule, Value) {
    (
        rule(label),
        json!({"model": "Qwen2.5-7B-Instruct", "tools": tools()}),
    )
}

#[test]
fn a_whole_call_in_the_text_of_a_server_that_reads_calls_is_read_too() {
    let (rule, fields) = named("vllm@0.32.0");
    let calls = written(&rule, "hermes", 2);
    for form in forms() {
        let exchange = planned(Dialect::Chat, &fields, &rule, form.is_some()).unwrap();
        assert_eq!(exchange.plan.rewrap, Rewrap::Keep);
        let (choice, repairs) = folded(&exchange, Dialect::Chat, &format!("So.\n{calls}"), form);
        assert_eq!(calls_of(&choice), expected(2), "{form:?}");
        assert_eq!(choice.content, "So.");
        assert!(repairs.has(RepairStep::Markup));
        // What is no whole call, or none of a tool that was shown, stays what it was.
        for text in [
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Os",
            "<tool_call>\n{\"name\": \"weather\", \"arguments\": {city}}\n</tool_call> or so",
            "I write <tool_call> and </tool_call>\n\n",
            "<tool_call>\n{\"name\": \"delete\", \"arguments\": {}}\n</tool_call>",
            "<think>\nI may write <tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>\n</think>\n\nIt is noon.",
        ] {
            let (choice, repairs) = folded(&exchange, Dialect::Chat, text, form);
            assert_eq!(choice.content, text, "{form:?}");
            assert!(choice.calls.is_empty() && repairs.is_empty(), "{form:?}");
        }
    }
}

#[test]
fn where_no_call_may_be_made_markup_is_text() {
    for label in SERVERS {
        let rule = rule(label).with_markup("hermes").unwrap();
        let text = written(&rule, "hermes", 1);
        for fields in [
            json!({}),
            json!({"tools": tools(), "tool_choice": "none"}),
            json!({"tools": []}),
        ] {
            for form in forms() {
                let exchange = planned(Dialect::Chat, &fields, &rule, form.is_some()).unwrap();
                let (choice, repairs) = folded(&exchange, Dialect::Chat, &text, form);
                assert_eq!(choice.content, text, "{label} {fields}");
                assert!(choice.calls.is_empty() && repairs.is_empty(), "{label}");
            }
        }
        let off = rule.with_markup(Rule::NO_MARKUP).unwrap();
        assert!(off.markup_of("Qwen2.5-7B-Instruct").is_none(), "{label}");
    }
}

#[test]
fn a_forced_call_may_come_in_the_models_markup() {
    for format in rules().formats().iter() {
        for label in [
            "vllm@0.32.0",
            "sglang@0.5.23",
            "plain",
            "worker",
            "llama-cpp",
        ] {
            let rule = rule(label).with_markup(format.name()).unwrap();
            let text = written(&rule, format.name(), 1);
            for fields in [
                json!({"tools": tools(), "tool_choice": "required"}),
                json!({"tools": tools(), "tool_choice": {"type": "function", "function": {"name": "weather"}}}),
            ] {
                for form in forms() {
                    let exchange = planned(Dialect::Chat, &fields, &rule, form.is_some()).unwrap();
                    let (choice, _) = folded(&exchange, Dialect::Chat, &text, form);
                    let label = format!("{label} {} {form:?} {text}", format.name());
                    assert_eq!(calls_of(&choice), expected(1), "{label}");
                }
            }
        }
    }
}

/// The structural tag that the worker is sent, if one is.
fn tag_of(exchange: &Exchange) -> Option<TagChecker> {
    let sent: Value = serde_json::from_slice(exchange.body.as_deref()?).unwrap();
    let tag = sent.pointer("/structured_outputs/structural_tag")?;
    let tag: Value = serde_json::from_str(tag.as_str().unwrap()).unwrap();
    Some(TagChecker::compile(&tag).unwrap())
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "every format, and what is expected of it"
)]
fn a_forced_call_is_constrained_in_the_models_markup_where_that_has_json_or_typed_parameters_in_it()
{
    let (mut framed, mut bare) = (Vec::new(), Vec::new());
    for format in rules().formats().iter() {
        let rule = rule("worker").with_markup(format.name()).unwrap();
        let text = |calls: usize| {
            let calls = CALLS[..calls].iter();
            let written = calls.map(|(name, input)| Written {
                id: None,
                name,
                input,
            });
            let text = format.write(&written.collect::<Vec<_>>(), &shown());
            // Harmony's prompts end with the first, and its models with the last.
            let text = text.strip_prefix("<|start|>assistant").unwrap_or(&text);
            text.strip_suffix("<|call|>").unwrap_or(text).to_owned()
        };
        for (fields, most) in [
            (json!({"tool_choice": "required"}), 1),
            (
                json!({"tool_choice": {"type": "function", "function": {"name": "weather"}}}),
                1,
            ),
            (
                json!({"tool_choice": "required", "parallel_tool_calls": true}),
                2,
            ),
        ] {
            let mut asked = json!({"tools": tools()});
            asked
                .as_object_mut()
                .unwrap()
                .extend(fields.as_object().unwrap().clone());
            let label = format!("{} {fields}", format.name());
            let planned = |stream| planned(Dialect::Chat, &asked, &rule, stream).unwrap();
            let Some(tag) = tag_of(&planned(false)) else {
                assert_ne!(planned(false).plan.rewrap, Rewrap::TaggedCalls, "{label}");
                bare.push((format.name(), most));
                continue;
            };
            // A turn of Harmony's is one call, however many there may be.
            let is_one = most > 1 && format.name() == "harmony";
            let most = if is_one { 1 } else { most };
            let told = serde_json::to_string(&planned(false).losses).unwrap();
            assert_eq!(told.contains("one call in a turn"), is_one, "{label}");
            framed.push((format.name(), most));
            for calls in 1..=2 {
                let is_right = tag.check(&text(calls)).is_ok();
                assert_eq!(is_right, calls <= most, "{label}: {}", text(calls));
            }
            for wrong in [
                "Oslo".to_owned(),
                format!("So. {}", text(1)),
                text(1).replace("weather", "whether"),
                text(1).replace("city", "town"),
                text(1).replace('3', "three"),
            ] {
                assert!(tag.check(&wrong).is_err(), "{label}: {wrong}");
            }
            for form in forms() {
                let exchange = planned(form.is_some());
                let (choice, repairs) = folded(&exchange, Dialect::Chat, &text(most), form);
                assert_eq!(calls_of(&choice), expected(most), "{label}");
                assert!(choice.content.is_empty() && repairs.is_empty(), "{label}");
            }
        }
    }
    for name in [
        "hermes",
        "llama3-json",
        "mistral",
        "mistral-v3",
        "deepseek-v3.1",
        "kimi-k2",
        "granite",
        "glm-4.5",
        "glm-4.7",
        "minimax-m2",
        "qwen3-coder",
        "seed-oss",
        "gemma4",
        "functiongemma",
        "deepseek-v3.2",
        "deepseek-v4",
        "gemma3",
        "hunyuan-3",
        "kimi-k3",
        "lfm2",
        "minicpm5",
        "minimax-m3",
        "olmo3",
        "pythonic",
    ] {
        assert!(
            framed.contains(&(name, 1)) && framed.contains(&(name, 2)),
            "{name}: {framed:?}"
        );
    }
    assert!(framed.contains(&("harmony", 1)) && !bare.contains(&("harmony", 2)));
    assert!(bare.contains(&("muse-glimmer", 1)), "{bare:?}");
    // Who takes anything off the text is not sent what begins within the prompt.
    for label in ["tensorrt-llm", "vllm@0.32.0", "sglang@0.5.23"] {
        let rule = rule(label).with_markup("harmony").unwrap();
        let asked = json!({"tools": tools(), "tool_choice": "required"});
        let planned = planned(Dialect::Chat, &asked, &rule, false).unwrap();
        assert_ne!(planned.plan.rewrap, Rewrap::TaggedCalls, "{label}");
    }
}

#[test]
fn a_free_call_in_the_models_markup_may_follow_text_and_be_followed_by_more() {
    let mut tagged = Vec::new();
    for format in rules().formats().iter() {
        let rule = rule("worker").with_markup(format.name()).unwrap();
        let asked = json!({"tools": tools(), "parallel_tool_calls": true});
        let exchange = planned(Dialect::Chat, &asked, &rule, false).unwrap();
        let tag = tag_of(&exchange).unwrap();
        let (name, input) = CALLS[0];
        let id = None;
        let call = format.write(&[Written { id, name, input }], &shown());
        if tag.check(&call).is_err() || tag.check(&call.replace('3', "three")).is_ok() {
            continue;
        }
        tagged.push(format.name());
        for (before, behind, content) in [
            ("", "", ""),
            ("So.\n", "", "So."),
            ("\n", "", ""),
            ("", "\nDone.", "Done."),
            ("It is {so}: ", " Done.", "It is {so}: Done."),
        ] {
            let text = format!("{before}{call}{behind}");
            let label = format!("{} {text:?}", format.name());
            assert_eq!(tag.check(&text), Ok(()), "{label}");
            for form in forms() {
                let exchange = planned(Dialect::Chat, &asked, &rule, form.is_some()).unwrap();
                let (choice, repairs) = folded(&exchange, Dialect::Chat, &text, form);
                assert_eq!(calls_of(&choice), expected(1), "{label}");
                assert_eq!(choice.content.trim(), content, "{label}");
                assert!(repairs.is_empty(), "{label} {repairs:?}");
            }
        }
    }
    for name in [
        "hermes",
        "mistral",
        "kimi-k2",
        "glm-4.5",
        "glm-4.7",
        "minimax-m2",
        "qwen3-coder",
        "seed-oss",
        "gemma4",
        "functiongemma",
    ] {
        assert!(tagged.contains(&name), "{name}: {tagged:?}");
    }
}

/// What a tag cannot say of typed parameters is held in Hermes's.
#[test]
fn tools_that_typed_parameters_cannot_say_are_called_in_json() {
    let dated =
        json!({"type": "object", "properties": {"day": {"type": "string", "format": "date"}}});
    let tools = json!([tool("weather", &parameters()), tool("plan", &dated)]);
    for name in ["glm-4.5", "qwen3-coder"] {
        let rule = rule("worker").with_markup(name).unwrap();
        let asked = json!({"tools": tools, "tool_choice": "required"});
        let forced = planned(Dialect::Chat, &asked, &rule, false).unwrap();
        assert_eq!(forced.plan.rewrap, Rewrap::Call, "{name}");
        let free = planned(Dialect::Chat, &json!({"tools": tools}), &rule, false).unwrap();
        let call = "<tool_call>\n{\"name\": \"plan\", \"arguments\": {\"day\": \"2026-11-25\"}}\n</tool_call>";
        assert_eq!(tag_of(&free).unwrap().check(call), Ok(()), "{name}");
        for text in [call.to_owned(), format!("So.\n{call}")] {
            let (choice, _) = folded(&free, Dialect::Chat, &text, None);
            let plan = ("plan".to_owned(), json!({"day": "2026-11-25"}));
            assert_eq!(calls_of(&choice), [plan], "{name}");
        }
        // A tool that may not be called is in nobody's way.
        let asked = json!({"tools": tools, "tool_choice": {"type": "function", "function": {"name": "weather"}}});
        let named = planned(Dialect::Chat, &asked, &rule, false).unwrap();
        assert_eq!(named.plan.rewrap, Rewrap::TaggedCalls, "{name}");
    }
}

#[test]
fn text_that_might_have_been_a_call_is_all_there_at_the_end() {
    for format in rules().formats().iter() {
        for label in ["plain", "worker", "vllm@0.32.0", "llama-cpp+no_tools"] {
            let rule = rule(label).with_markup(format.name()).unwrap();
            let call = written(&rule, format.name(), 1);
            let fields = json!({"tools": tools()});
            // Within a tag of its own, what is no call is another matter on servers that enforce tags.
            let ends = call.char_indices().map(|(at, _)| at).take(5);
            for end in ends.chain([1]).filter(|end| call.is_char_boundary(*end)) {
                for text in [
                    format!("So it is: {}", &call[..end]),
                    call[..end].to_owned(),
                ] {
                    let text = text.trim_end();
                    for form in forms() {
                        let exchange =
                            planned(Dialect::Chat, &fields, &rule, form.is_some()).unwrap();
                        let (choice, repairs) = folded(&exchange, Dialect::Chat, text, form);
                        let label = format!("{label} {} {form:?}", format.name());
                        assert_eq!(choice.content, text, "{label}");
                        assert!(choice.calls.is_empty() && repairs.is_empty(), "{label}");
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_without_markup_go_through_as_they_came() {
    let (rule, fields) = named("vllm@0.32.0");
    let exchange = planned(Dialect::Chat, &fields, &rule, false).unwrap();
    let body = r#"{"id":"c",  "object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"1 < 2 <think","refusal":null},"logprobs":null,"finish_reason":"stop"}],"x":1}"#;
    let checks = replay::checks(&exchange).unwrap();
    let reply = exchange::reply(&exchange, &checks, Ids::new(1), body.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(reply.body).unwrap(), body);
}

#[test]
fn the_markup_is_the_operators_else_the_servers_else_the_templates_else_the_names() {
    let rule = rule("vllm@0.32.0");
    assert!(rule.markup_of("my-own-model").is_none());
    let from = |rule: &Rule, model: &str| rule.markup_of(model).unwrap().from.as_str();
    assert_eq!(from(&rule, "Qwen2.5-7B-Instruct"), "the model's name");
    let told = rule.clone().with_markup("hermes").unwrap();
    assert_eq!(from(&told, "my-own-model"), "the configuration");
    assert!(rule.with_markup("no such format").is_none());
}

/// With tools the worker gives all that the model wrote: what stands around messages is taken off here.
#[test]
fn nothing_of_what_stands_around_messages_is_told() {
    let rule = rule("worker").with_markup("harmony").unwrap();
    let thought = "<|channel|>analysis<|message|>Late?<|end|><|start|>assistant";
    let last = "<|channel|>final<|message|>";
    for (fields, said) in [
        (json!({"tools": tools()}), "It is late."),
        (
            json!({"tools": tools()}),
            "The channel is final, said <|b|>.",
        ),
        (
            json!({"tools": tools(), "parallel_tool_calls": false}),
            "So.",
        ),
    ] {
        for before in ["", thought] {
            for end in ["", "<|return|>"] {
                for form in forms() {
                    let exchange = planned(Dialect::Chat, &fields, &rule, form.is_some()).unwrap();
                    let text = format!("{before}{last}{said}{end}");
                    let (choice, _) = folded(&exchange, Dialect::Chat, &text, form);
                    let label = format!("{fields} {form:?} {text}");
                    assert_eq!(choice.content, said, "{label}");
                }
            }
        }
    }
}
