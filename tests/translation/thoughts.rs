//! Thoughts that a server leaves in the text: clients of other dialects than its own have them as thoughts,
//! whole and streamed, and a Chat client has the server's bytes unless the operator says otherwise.

use crate::replay::{self, chat_event, rule};
use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::grammar::Grammar;
use isogloss_core::ir::{Constraint, Ids, Notation};
use isogloss_core::passage;
use isogloss_core::rules::Rule;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};

/// Path and body of a request in each dialect, whole and streamed.
fn requests() -> [(&'static str, &'static str, Value); 5] {
    let said = json!([{"role": "user", "content": "hi"}]);
    [
        (
            "/v1/chat/completions",
            "/v1/chat/completions",
            json!({"model": "m", "messages": said}),
        ),
        (
            "/v1/messages",
            "/v1/messages",
            json!({"model": "m", "max_tokens": 99, "messages": said, "thinking": {"type": "adaptive"}}),
        ),
        (
            "/v1/responses",
            "/v1/responses",
            json!({"model": "m", "input": "hi"}),
        ),
        (
            "/api/chat",
            "/api/chat",
            json!({"model": "m", "messages": said}),
        ),
        (
            "/v1beta/models/m:generateContent",
            "/v1beta/models/m:streamGenerateContent",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}],
                "generationConfig": {"thinkingConfig": {"includeThoughts": true}}}),
        ),
    ]
}

fn planned(path: &str, mut body: Value, stream: bool, rule: &Rule) -> Exchange {
    if !path.starts_with("/v1beta") {
        body["stream"] = json!(stream);
    }
    let client = passage::client(path).unwrap();
    let demand = exchange::read(client, path, body.to_string().as_bytes()).unwrap();
    exchange::plan(demand, rule).unwrap()
}

fn whole(path: &str, body: Value, rule: &Rule, text: &str) -> Value {
    let mut exchange = planned(path, body, false, rule);
    let checks = exchange.compile(&SchemaLimits::default()).unwrap();
    let message = json!({"role": "assistant", "content": text});
    let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let reply = reply.to_string();
    let translated = exchange::reply(&exchange, &checks, Ids::new(1), reply.as_bytes()).unwrap();
    serde_json::from_slice(&translated.body).unwrap()
}

/// What a client is sent where the text comes in these pieces.
fn streamed(path: &str, body: Value, rule: &Rule, pieces: &[&str]) -> String {
    let mut exchange = planned(path, body, true, rule);
    let checks = exchange.compile(&SchemaLimits::default()).unwrap();
    let mut translator = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
    let mut sent: Vec<String> = pieces
        .iter()
        .map(|piece| chat_event(json!({"content": piece}), Value::Null))
        .collect();
    sent.insert(
        0,
        chat_event(json!({"role": "assistant", "content": ""}), Value::Null),
    );
    sent.push(chat_event(json!({}), json!("stop")) + "data: [DONE]\n\n");
    let mut out = Vec::new();
    for bytes in sent {
        translator.push(bytes.as_bytes(), &mut out).unwrap();
    }
    translator.finish(End::Eof, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Where a dialect's whole reply has the thought and the answer.
const PLACES: [[&str; 2]; 5] = [
    [
        "/choices/0/message/reasoning_content",
        "/choices/0/message/content",
    ],
    ["/content/0/thinking", "/content/1/text"],
    ["/output/0/content/0/text", "/output/1/content/0/text"],
    ["/message/thinking", "/message/content"],
    [
        "/candidates/0/content/parts/0/text",
        "/candidates/0/content/parts/1/text",
    ],
];

const TEXT: &str = "<think>\nhmm\n</think>\n\nyes";

/// Gemini and Anthropic tell thoughts to those that ask for them, Ollama to those that do not refuse them: older SDKs take each part
/// for the answer (`@google/generative-ai` 0.24 joins them all).
#[test]
fn who_asks_for_none_is_told_none() {
    let sglang = rule("sglang@0.5.20");
    let said = json!([{"role": "user", "content": "hi"}]);
    let contents = json!([{"role": "user", "parts": [{"text": "hi"}]}]);
    let (gemini, stream) = (
        "/v1beta/models/m:generateContent",
        "/v1beta/models/m:streamGenerateContent",
    );
    for (path, stream_path, body) in [
        (
            "/v1/messages",
            "/v1/messages",
            json!({"model": "m", "max_tokens": 99, "messages": said}),
        ),
        (
            "/api/chat",
            "/api/chat",
            json!({"model": "m", "messages": said, "think": false}),
        ),
        (gemini, stream, json!({"contents": contents})),
        (
            gemini,
            stream,
            json!({"contents": contents, "generationConfig": {"thinkingConfig": {"includeThoughts": false}}}),
        ),
    ] {
        let reply = whole(path, body.clone(), &sglang, TEXT).to_string();
        assert!(reply.contains("yes") && !reply.contains("hmm"), "{reply}");
        let reply = streamed(
            stream_path,
            body,
            &sglang,
            &["<think>\nhm", "m\n</think>\n\ny", "es"],
        );
        assert!(reply.contains("es\"") && !reply.contains("hm"), "{reply}");
    }
}

#[test]
fn clients_of_other_dialects_have_them_as_thoughts() {
    let sglang = rule("sglang@0.5.20");
    for ((path, stream_path, body), [thought, answer]) in requests().into_iter().zip(PLACES).skip(1)
    {
        let reply = whole(path, body.clone(), &sglang, TEXT);
        assert_eq!(
            reply.pointer(thought),
            Some(&json!("hmm")),
            "{path}: {reply}"
        );
        assert_eq!(
            reply.pointer(answer),
            Some(&json!("yes")),
            "{path}: {reply}"
        );
        for at in 0..=TEXT.len() {
            let pieces = [&TEXT[..at], &TEXT[at..]];
            let sent = streamed(stream_path, body.clone(), &sglang, &pieces);
            assert!(!sent.contains("think>"), "{path} {at}: {sent}");
            assert!(
                sent.contains('y') && sent.contains('h'),
                "{path} {at}: {sent}"
            );
        }
        // What is not opened is no thought.
        let later = whole(path, body, &sglang, "a </think> b");
        assert!(
            later.to_string().contains("a </think> b"),
            "{path}: {later}"
        );
    }
}

#[test]
fn a_chat_client_has_the_bytes_unless_the_operator_says_otherwise() {
    let sglang = rule("sglang@0.5.20");
    let [(path, _, body), ..] = requests();
    let reply = whole(path, body.clone(), &sglang, TEXT);
    assert_eq!(reply.pointer(PLACES[0][1]), Some(&json!(TEXT)));
    let inside = sglang.clone().with_thoughts("think-inside");
    let reply = whole(path, body.clone(), &inside, "hmm</think>yes");
    assert_eq!(reply.pointer(PLACES[0][0]), Some(&json!("hmm")), "{reply}");
    assert_eq!(reply.pointer(PLACES[0][1]), Some(&json!("yes")), "{reply}");
    let sent = streamed(path, body.clone(), &inside, &["hm", "m</thi", "nk>yes"]);
    assert!(!sent.contains("think>") && sent.contains("yes"), "{sent}");
    // Who asks for no thoughts is answered at once.
    let mut quiet = body;
    quiet["chat_template_kwargs"] = json!({"enable_thinking": false});
    let reply = whole(path, quiet, &inside, "yes");
    assert_eq!(reply.pointer(PLACES[0][1]), Some(&json!("yes")), "{reply}");
}

/// llama.cpp holds a grammar from the first token on, and takes what comes for thoughts that the template opened.
mod held_from_the_start {
    use super::*;

    fn call() -> Value {
        let schema = json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"], "additionalProperties": false});
        json!({"model": "MiniMax-M2", "messages": [{"role": "user", "content": "hi"}], "tool_choice": "required",
            "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}}]})
    }

    const CALL: &str = "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">y</parameter>\n</invoke>\n</minimax:tool_call>";

    /// What a Chat client has of a reply, whole and streamed: thoughts, content, the call's arguments.
    fn both(
        body: &Value,
        thoughts: &str,
        content: &str,
    ) -> [Result<(String, String, String), String>; 2] {
        both_of(body, &rule("llama-cpp"), thoughts, content)
    }

    fn both_of(
        body: &Value,
        rule: &Rule,
        thoughts: &str,
        content: &str,
    ) -> [Result<(String, String, String), String>; 2] {
        both_until("stop", body, rule, thoughts, content)
    }

    fn both_until(
        finish: &str,
        body: &Value,
        rule: &Rule,
        thoughts: &str,
        content: &str,
    ) -> [Result<(String, String, String), String>; 2] {
        let path = "/v1/chat/completions";
        let told = |fault| format!("{fault:?}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut exchange = planned(path, body.clone(), false, rule);
        let checks = exchange.compile(&SchemaLimits::default()).unwrap();
        let message =
            json!({"role": "assistant", "reasoning_content": thoughts, "content": content});
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]});
        let whole = exchange::reply(
            &exchange,
            &checks,
            Ids::new(1),
            reply.to_string().as_bytes(),
        );
        let whole = whole.map_err(told).map(|whole| {
            let reply: Value = serde_json::from_slice(&whole.body).unwrap();
            let message = &reply["choices"][0]["message"];
            let call = &message["tool_calls"][0]["function"]["arguments"];
            (
                text(&message["reasoning_content"]),
                text(&message["content"]),
                text(call),
            )
        });
        let exchange = planned(path, body.clone(), true, rule);
        let mut stream = StreamTranslator::new(&exchange, checks, Ids::new(1), 1 << 20);
        let thoughts = thoughts
            .char_indices()
            .map(|(_, c)| json!({"reasoning_content": c}));
        let content = content.char_indices().map(|(_, c)| json!({"content": c}));
        let mut out = Vec::new();
        let mut pushed = Ok(());
        for delta in thoughts.chain(content) {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
            let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]});
            pushed = pushed
                .and_then(|()| stream.push(format!("data: {chunk}\n\n").as_bytes(), &mut out));
        }
        let end = json!({"index": 0, "delta": {}, "finish_reason": finish});
        let end = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [end]});
        pushed = pushed.and_then(|()| {
            stream.push(
                format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes(),
                &mut out,
            )
        });
        let streamed = pushed.map_err(told).map(|()| {
            let mut all = (String::new(), String::new(), String::new());
            for event in String::from_utf8(out).unwrap().split("\n\n") {
                let Ok(chunk) = serde_json::from_str::<Value>(event.trim_start_matches("data: "))
                else {
                    continue;
                };
                let delta = &chunk["choices"][0]["delta"];
                all.0 += &text(&delta["reasoning_content"]);
                all.1 += &text(&delta["content"]);
                all.2 += &text(&delta["tool_calls"][0]["function"]["arguments"]);
            }
            all
        });
        [whole, streamed]
    }

    #[test]
    fn what_was_taken_for_thoughts_is_the_answer_where_no_other_comes() {
        let called = Ok((String::new(), String::new(), r#"{"a": "y"}"#.to_owned()));
        assert_eq!(both(&call(), CALL, ""), [called.clone(), called]);
        let choice = json!({"model": "MiniMax-M2", "messages": [{"role": "user", "content": "hi"}], "guided_choice": ["yes", "no"]});
        let answered = Ok((String::new(), "no".to_owned(), String::new()));
        assert_eq!(both(&choice, "no", ""), [answered.clone(), answered]);
        // It is held like any other.
        for reply in both(&choice, "perhaps", "") {
            assert!(reply.unwrap_err().contains("choice"));
        }
    }

    #[test]
    fn thoughts_before_an_answer_are_thoughts() {
        let thought = Ok(("hm".to_owned(), String::new(), r#"{"a": "y"}"#.to_owned()));
        assert_eq!(both(&call(), "hm", CALL), [thought.clone(), thought]);
    }

    /// The grammar that a server is sent.
    fn sent(body: &Value, rule: &Rule) -> String {
        let exchange = planned("/v1/chat/completions", body.clone(), false, rule);
        let sent: Value = serde_json::from_slice(exchange.sent().unwrap()).unwrap();
        sent["grammar"].as_str().unwrap().to_owned()
    }

    fn compiled(text: String) -> Grammar {
        let notation = Notation::Gbnf;
        Grammar::compile(&Constraint::Grammar { notation, text }).unwrap()
    }

    /// Who asks for thinking has it although the constraint holds from the start, and who says nothing where the prompt opens thoughts.
    #[test]
    fn thoughts_have_room_in_the_constraint() {
        let choice = |thinking: Value| json!({"model": "qwen3-8b", "messages": [{"role": "user", "content": "hi"}], "guided_choice": ["yes", "no"], "chat_template_kwargs": thinking});
        let unknown = rule("llama-cpp");
        let opens = unknown.knowing("opens_thoughts").unwrap();
        let (asked, silent) = (choice(json!({"enable_thinking": true})), choice(json!({})));
        let off = choice(json!({"enable_thinking": false}));
        let marked = "<think>\nyes or no?\n</think>\n\nno";
        for (rule, takes, refuses) in [
            (&unknown, ["yes", marked], ["hm</think>yes", "<think>yes"]),
            (
                &opens,
                ["hm\n</think>\n\nyes", marked],
                ["yes", "hm</think>perhaps"],
            ),
        ] {
            let grammar = compiled(sent(&asked, rule));
            for text in takes {
                assert!(grammar.check(text).is_ok(), "{text:?}");
            }
            for text in refuses {
                assert!(grammar.check(text).is_err(), "{text:?}");
            }
        }
        // Nor is there room where few tokens are.
        let mut short = silent.clone();
        short["max_tokens"] = json!(16);
        assert_eq!(sent(&short, &opens), sent(&off, &unknown));
        assert_eq!(sent(&silent, &unknown), sent(&off, &unknown));
        assert_eq!(sent(&silent, &opens), sent(&asked, &opens));
        // Of another model nobody knows whether it thinks.
        let mut other = asked.clone();
        other["model"] = json!("m");
        assert_eq!(sent(&other, &unknown), sent(&off, &unknown));
        let answered = |thought: &str| Ok((thought.to_owned(), "no".to_owned(), String::new()));
        for (rule, thoughts, content, told) in [
            (&unknown, "hm", "no", answered("hm")),
            (&unknown, "", "<think>hm</think>no", answered("hm")),
            (&unknown, "", "no", answered("")),
            // The prompt opened them, and the model was held to do without.
            (&unknown, "no", "", answered("")),
            (&opens, "hm", "no", answered("hm")),
            // They were over at once.
            (&opens, "", "no", answered("")),
            // It leaves the lines behind them.
            (&opens, "hm", "\n\nno", answered("hm")),
            (&unknown, "hm", "\n\nno", answered("hm")),
            // The server takes none off.
            (&opens, "", "hm</think>no", answered("hm")),
        ] {
            let got = both_of(&asked, rule, thoughts, content);
            assert_eq!(got, [told.clone(), told], "{thoughts:?} {content:?}");
        }
        // They were cut, and the server takes them for content.
        let cut = Ok(("hm".to_owned(), String::new(), String::new()));
        let got = both_until("length", &asked, &opens, "", "hm");
        assert_eq!(got, [cut.clone(), cut]);
        for reply in both_of(&asked, &opens, "hm", "perhaps") {
            assert!(reply.unwrap_err().contains("choice"));
        }
        // The marks are others than those that the server reads: it is to be asked for none.
        for reply in both_of(&asked, &opens, "hm</think>no", "") {
            assert!(reply.unwrap_err().contains("answers_as_thoughts"));
        }
    }

    #[test]
    fn a_call_is_thought_about_where_the_prompt_opens_thoughts() {
        let unknown = rule("llama-cpp");
        let asked = unknown.knowing("opens_asked_thoughts").unwrap();
        let opens = asked.knowing("opens_thoughts").unwrap();
        assert_eq!(opens.knowing("opens_asked_thoughts"), None);
        let takes = |body: &Value, rule: &Rule| {
            let grammar = compiled(sent(body, rule));
            [CALL.to_owned(), format!("hm</think>\n\n{CALL}")]
                .map(|text| grammar.check(&text).is_ok())
        };
        assert_eq!(takes(&call(), &opens), [false, true]);
        assert_eq!(takes(&call(), &asked), [true, false]);
        assert_eq!(takes(&call(), &unknown), [true, false]);
        let mut off = call();
        off["chat_template_kwargs"] = json!({"enable_thinking": false});
        assert_eq!(takes(&off, &opens), [true, false]);
        let thought = Ok(("hm".to_owned(), String::new(), r#"{"a": "y"}"#.to_owned()));
        assert_eq!(
            both_of(&call(), &opens, "hm", CALL),
            [thought.clone(), thought]
        );
    }

    /// Kimi K3's template: the end of its thoughts stands in the middle of a call, and the reader takes it out.
    #[test]
    fn an_answer_that_was_torn_tells_to_ask_for_json() {
        let (before, after) = CALL.split_at(30);
        for reply in both(&call(), before, after) {
            assert!(reply.unwrap_err().contains("no_tagged_calls"));
        }
    }
}

/// vLLM's readers of thoughts take all that a model says for some that never ends them.
#[test]
fn a_reply_of_thoughts_alone_is_an_answer_to_clients_that_are_told_no_thoughts() {
    let vllm = rule("vllm@0.32.0");
    let message = json!({"role": "assistant", "content": null, "reasoning": "Hello!"});
    let hidden = [
        (
            "/v1/messages",
            "/v1/messages",
            json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}]}),
            "/content/0/text",
        ),
        (
            "/v1beta/models/m:generateContent",
            "/v1beta/models/m:streamGenerateContent",
            json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}),
            "/candidates/0/content/parts/0/text",
        ),
    ];
    for (path, stream_path, body, place) in hidden {
        for (reason, is_answer) in [("stop", true), ("length", false)] {
            let mut exchange = planned(path, body.clone(), false, &vllm);
            let checks = exchange.compile(&SchemaLimits::default()).unwrap();
            let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}]});
            let reply = reply.to_string();
            let told = exchange::reply(&exchange, &checks, Ids::new(1), reply.as_bytes()).unwrap();
            let told: Value = serde_json::from_slice(&told.body).unwrap();
            let text = told.pointer(place).filter(|text| **text != "");
            assert_eq!(text, is_answer.then_some(&json!("Hello!")), "{told}");
            let exchange = planned(stream_path, body.clone(), true, &vllm);
            let stream = chat_event(
                json!({"role": "assistant", "reasoning": "Hel"}),
                Value::Null,
            ) + &chat_event(json!({"reasoning": "lo!"}), Value::Null)
                + &chat_event(json!({}), json!(reason))
                + "data: [DONE]\n\n";
            let told = replay::streamed(&exchange, stream.as_bytes(), 17).unwrap();
            assert_eq!(told.contains("Hello"), is_answer, "{told}");
        }
    }
}

/// A model that calls without having closed its thoughts (Kimi K2 Thinking, Qwen 3.5 behind vLLM's readers): an agent that was told
/// the thoughts alone would stop there.
#[test]
fn calls_that_end_the_thoughts_are_calls() {
    let vllm = rule("vllm@0.32.0");
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let chat = json!([{"type": "function", "function": {"name": "weather", "parameters": schema}}]);
    let turn = json!([{"role": "user", "content": "hi"}]);
    let clients = [
        (
            "/v1/chat/completions",
            json!({"model": "Qwen/Qwen3-8B", "messages": turn, "tools": chat}),
            "/choices/0/message/tool_calls/0/function/arguments",
        ),
        (
            "/v1/messages",
            json!({"model": "Qwen/Qwen3-8B", "max_tokens": 99, "messages": turn,
                "tools": [{"name": "weather", "input_schema": schema}]}),
            "/content/0/input",
        ),
        (
            "/v1/responses",
            json!({"model": "Qwen/Qwen3-8B", "input": "hi",
                "tools": [{"type": "function", "name": "weather", "parameters": schema}]}),
            "/output/1/arguments",
        ),
    ];
    let call = r#"<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call>"#;
    for (thoughts, is_call) in [
        (format!("Let me look.\n{call}\n"), true),
        (format!("{call} is what I do not say."), false),
    ] {
        // Who is told no thoughts is told these as the answer, in which a call may stand.
        let told_them = clients
            .iter()
            .filter(|it| is_call || it.0 != "/v1/messages");
        for (path, body, place) in told_them {
            let mut exchange = planned(path, body.clone(), false, &vllm);
            let checks = exchange.compile(&SchemaLimits::default()).unwrap();
            let message = json!({"role": "assistant", "content": null, "reasoning": thoughts});
            let reply = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
            let reply = reply.to_string();
            let told = exchange::reply(&exchange, &checks, Ids::new(1), reply.as_bytes()).unwrap();
            let told: Value = serde_json::from_slice(&told.body).unwrap();
            let input = told.pointer(place).map(|input| match input {
                Value::String(text) => serde_json::from_str(text).unwrap(),
                input => input.clone(),
            });
            let input = input.filter(Value::is_object);
            assert_eq!(input, is_call.then(|| json!({"city": "Ulm"})), "{told}");
            let exchange = planned(path, body.clone(), true, &vllm);
            let (first, second) = thoughts.split_at(20);
            let stream = chat_event(
                json!({"role": "assistant", "reasoning": first}),
                Value::Null,
            ) + &chat_event(json!({"reasoning": second}), Value::Null)
                + &chat_event(json!({}), json!("stop"))
                + "data: [DONE]\n\n";
            let told = replay::streamed(&exchange, stream.as_bytes(), 17).unwrap();
            let is_ended_by_call = ["\"tool_calls\"", "\"tool_use\"", "\"function_call\""]
                .iter()
                .any(|word| told.contains(word));
            assert_eq!(is_ended_by_call, is_call, "{told}");
        }
    }
}

/// vLLM's word for it on Chat's route.
#[test]
fn who_wants_no_reasoning_included_is_told_none_of_other_wires() {
    let path = "/v1/chat/completions";
    let body = |includes: bool| json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}], "include_reasoning": includes});
    let thought = json!({"type": "thinking", "thinking": "hmm", "signature": "S=="});
    let reply = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
        "content": [thought, {"type": "text", "text": "yes"}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 4, "output_tokens": 1}})
    .to_string();
    for (includes, told) in [(true, json!("hmm")), (false, Value::Null)] {
        let mut exchange = planned(path, body(includes), false, &rule("anthropic"));
        let lost = |exchange: &Exchange| {
            let mut losses = exchange.losses.iter();
            losses.any(|loss| loss.pointer == "/include_reasoning")
        };
        assert_eq!(lost(&exchange), includes);
        let checks = exchange.compile(&SchemaLimits::default()).unwrap();
        let said = exchange::reply(&exchange, &checks, Ids::new(1), reply.as_bytes()).unwrap();
        let said: Value = serde_json::from_slice(&said.body).unwrap();
        let message = &said["choices"][0]["message"];
        assert_eq!(message["reasoning_content"], told, "{said}");
        assert_eq!(message["content"], "yes");
        // Who knows it is told.
        let exchange = planned(path, body(includes), false, &rule("vllm@0.32.0"));
        assert!(exchange.sent().is_none() && !lost(&exchange));
    }
}
