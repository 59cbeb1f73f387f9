//! A client dialect is one room, and a server's dialect one file: here are a client and a server that
//! the house has never heard of, and a wire that both speak. None needs a change in it.

mod wire;

use isogloss_core::dialect::client::{Client, Terms, Writer};
use isogloss_core::dialect::server::Verbatim;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{
    Choice, ClientConstraint, Constraint, Delta, Event, Fields, Ids, Origin, Part, Place, Reply,
    Request, Role, Tool, ToolChoice, ToolInput, Turn, raw,
};
use isogloss_core::rules::{Rule, RuleSet};
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};

// --- a client dialect ----------------------------------------------------------------------------

/// `{"ask": "…", or lines {"by": "me", "text": "…"}, "shape": {schema}, "do": [{"name", "with": {schema}}], "live": true}`; its replies are
/// `{"say": "…", "done": [["name", {…}]], "muse": "…"}`, streamed as lines `say …`, `do …`, `over`.
#[derive(Debug)]
struct Toy;

fn invalid(at: &str, message: &str) -> Error {
    Error::new(Kind::InvalidRequest, message).at(at)
}

impl Client for Toy {
    fn label(&self) -> &'static str {
        "toy"
    }

    fn read(&self, _path: &str, body: &[u8]) -> Result<Request, Error> {
        let fields = serde_json::from_slice(body).map_err(|_| invalid("", "no JSON"))?;
        let body: Value = serde_json::from_slice(body).unwrap();
        if !body["ask"].is_string() && !body["ask"].is_array() {
            return Err(invalid("ask", "`ask` must be a text, or lines"));
        }
        let mut settings = Fields::default();
        settings.set("model", raw("m"));
        settings.set("stream", raw(&body["live"].as_bool().unwrap_or_default()));
        let tools: Vec<Tool> = (body["do"].as_array().into_iter().flatten().enumerate())
            .map(|(index, tool)| {
                let origin = Origin::new("do").item(index);
                Tool {
                    input_origin: origin.member("with"),
                    origin,
                    name: tool["name"].as_str().unwrap_or_default().to_owned(),
                    description: None,
                    input: ToolInput::Schema {
                        schema: tool["with"].clone(),
                        strict: false,
                    },
                }
            })
            .collect();
        let shape = body.get("shape").map(|schema| ClientConstraint {
            constraint: Constraint::JsonSchema(schema.clone()),
            spelling: Origin::new("shape"),
            also: Vec::new(),
            is_reworded: false,
            description: None,
            name: None,
            strict: None,
        });
        Ok(Request {
            wire: Some(wire::TOY),
            model: "m".to_owned(),
            stream: body["live"].as_bool().unwrap_or_default(),
            include_usage: false,
            counts_first: false,
            n: 1,
            tool_choice: match tools.is_empty() {
                true => ToolChoice::None,
                false => ToolChoice::Required,
            },
            states_choice: !tools.is_empty(),
            tools,
            parallel_tool_calls: None,
            constraint: shape,
            thinking: None,
            idle: Vec::new(),
            losses: Vec::new(),
            hides_thoughts: false,
            hosted_choice: None,
            takes_hosted: false,
            own_calls: None,
            legacy_functions: false,
            echo: None,
            restated: false,
            fields,
            settings: Some(settings),
        })
    }

    fn turns(&self, request: &Request) -> Result<Vec<Turn>, Error> {
        let asked: Value = serde_json::from_str(request.fields.raw("ask").unwrap()).unwrap();
        let turn = |line: &Value| {
            let text = line.as_str().or(line["text"].as_str()).unwrap().to_owned();
            Turn::of(Role::User, vec![Part::Text { text, cache: None }])
        };
        Ok(match asked.as_array() {
            Some(lines) => lines.iter().map(turn).collect(),
            None => vec![turn(&asked)],
        })
    }

    fn writer(&self, _terms: Terms) -> Box<dyn Writer> {
        Box::new(Lines)
    }

    fn whole(&self, _terms: &Terms, reply: &Reply) -> Vec<u8> {
        let [choice] = reply.choices.as_slice() else {
            panic!("one choice was asked for")
        };
        let calls: Vec<Value> = calls(choice);
        let said = json!({"say": text(choice), "done": calls, "muse": choice.reasoning});
        said.to_string().into_bytes()
    }

    fn stream_type(&self) -> &'static str {
        "text/x-toy"
    }

    fn end_mark(&self) -> &'static [u8] {
        b"over"
    }

    fn error_body(&self, error: &Error) -> Vec<u8> {
        format!("oh no: {}", error.message).into_bytes()
    }

    fn error_event(&self, error: &Error) -> Vec<u8> {
        format!("oh no: {}\n", error.message).into_bytes()
    }

    fn place(&self, place: Place) -> String {
        match place {
            Place::Call(_, call) => format!("done[{call}]"),
            Place::Calls(_) => "done".to_owned(),
            Place::Choices | Place::Choice(_) | Place::Content(_) => "say".to_owned(),
        }
    }
}

fn text(choice: &Choice) -> String {
    let texts = choice.deltas.iter().filter_map(|delta| match delta {
        Delta::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn calls(choice: &Choice) -> Vec<Value> {
    let mut calls: Vec<(String, String)> = Vec::new();
    for delta in &choice.deltas {
        match delta {
            Delta::CallStart { name, .. } => calls.push((name.clone(), String::new())),
            Delta::CallInput { text, .. } => calls.last_mut().unwrap().1.push_str(text),
            _ => {}
        }
    }
    let read = |input: &str| serde_json::from_str::<Value>(input).unwrap();
    let calls = calls.into_iter();
    calls
        .map(|(name, input)| json!([name, read(&input)]))
        .collect()
}

#[derive(Debug)]
struct Lines;

impl Writer for Lines {
    fn write(
        &mut self,
        events: &mut Vec<Event>,
        verbatim: Option<&Verbatim<'_>>,
        out: &mut Vec<u8>,
    ) {
        assert!(verbatim.is_none_or(|_| !events.is_empty()));
        if let Some(verbatim) = verbatim {
            events.clear();
            out.extend_from_slice(verbatim.as_bytes());
            out.push(b'\n');
        }
        for choice in Reply::fold(events.drain(..)).choices {
            for delta in choice.deltas {
                let line = match delta {
                    Delta::Text(text) => format!("say {}\n", json!(text)),
                    Delta::CallStart { name, .. } => format!("do {name}\n"),
                    Delta::CallInput { text, .. } => format!("with {}\n", json!(text)),
                    _ => continue,
                };
                out.extend_from_slice(line.as_bytes());
            }
        }
    }

    fn end(&mut self, _note: Option<&str>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"over\n");
    }
}

// --- a server's dialect --------------------------------------------------------------------------

fn toy_server() -> Rule {
    let file = include_str!("toys/toy.toml").to_owned();
    let rules = RuleSet::with_overlay(&[("toy.toml".to_owned(), file)]);
    let rules = rules.unwrap_or_else(|faults| panic!("{faults:?}"));
    rules.resolve("toy", None).unwrap()
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]})
}

fn planned(client: &'static dyn Client, request: &Value, rule: &Rule) -> Exchange {
    read(client, &request.to_string(), rule)
}

fn read(client: &'static dyn Client, request: &str, rule: &Rule) -> Exchange {
    let demand = exchange::read(client, "/toy", request.as_bytes()).unwrap();
    exchange::plan(demand, rule).unwrap()
}

fn sent(exchange: &Exchange) -> Value {
    serde_json::from_slice(exchange.sent().unwrap()).unwrap()
}

/// A whole reply of a server on Chat's wire.
fn chat_reply(message: &Value) -> Vec<u8> {
    let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
    json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]})
        .to_string()
        .into_bytes()
}

fn whole(exchange: &Exchange, body: &[u8]) -> Result<Value, Fault> {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body)?;
    Ok(serde_json::from_slice(&reply.body).unwrap())
}

fn streamed(exchange: &Exchange, chunks: &[Value]) -> String {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    for delta in chunks {
        let is_last = delta == &json!({});
        let finish = is_last.then_some("stop");
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let event = format!("data: {}\n\n", json!({"choices": [choice]}));
        translator.push(event.as_bytes(), &mut out).unwrap();
    }
    translator.finish(End::Eof, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

// --- what is true of them ------------------------------------------------------------------------

#[test]
fn a_client_that_nobody_knows_asks_a_server_that_nobody_knows() {
    let request = json!({"ask": "How old?", "shape": schema()});
    let exchange = planned(&Toy, &request, &toy_server());
    assert_eq!(
        sent(&exchange),
        json!({
            "model": "m", "messages": [{"role": "user", "content": "How old?"}], "stream": false,
            "shape": {"of": schema()},
        })
    );
    let said = json!({"role": "assistant", "content": "{\"age\": 7}", "musing": "hm"});
    let reply = whole(&exchange, &chat_reply(&said)).unwrap();
    assert_eq!(
        reply,
        json!({"say": "{\"age\": 7}", "done": [], "muse": "hm"})
    );
}

#[test]
fn its_calls_are_made_of_content_whole_and_streamed() {
    let tool = json!({"name": "f", "with": schema()});
    let request = json!({"ask": "Call!", "do": [tool]});
    let exchange = planned(&Toy, &request, &toy_server());
    assert_eq!(sent(&exchange)["shape"]["of"], schema());
    let told = &sent(&exchange)["messages"][0];
    assert_eq!(told["role"], "system");
    assert!(
        told["content"].as_str().unwrap().contains("\"f\""),
        "{told}"
    );
    let said = json!({"role": "assistant", "content": "{\"age\": 7}"});
    let reply = whole(&exchange, &chat_reply(&said)).unwrap();
    assert_eq!(reply["done"], json!([["f", {"age": 7}]]));
    let chunks = [
        json!({"role": "assistant", "content": "{\"age\""}),
        json!({"content": ": 7}"}),
        json!({}),
    ];
    let lines = streamed(&exchange, &chunks);
    assert_eq!(lines, "do f\nwith \"{\\\"age\\\"\"\nwith \": 7}\"\nover\n");
}

#[test]
fn what_breaks_its_demand_never_reaches_it_and_is_told_in_its_words() {
    let request = json!({"ask": "How old?", "shape": schema()});
    let exchange = planned(&Toy, &request, &toy_server());
    let said = json!({"role": "assistant", "content": "{\"age\": \"seven\"}"});
    let Err(Fault::Violation(violation)) = whole(&exchange, &chat_reply(&said)) else {
        panic!("it passed")
    };
    let error = exchange::violation_error(&Toy, &violation);
    assert_eq!(error.param.as_deref(), Some("say"));
    let told = String::from_utf8(Toy.error_body(&error)).unwrap();
    assert!(
        told.starts_with("oh no: ") && told.contains("say at /age"),
        "{told}"
    );
}

#[test]
fn every_server_that_there_is_can_be_asked_by_it() {
    let rules = RuleSet::builtin();
    let tool = json!({"name": "f", "with": schema()});
    for request in [
        json!({"ask": "How old?", "shape": schema()}),
        json!({"ask": "Call!", "do": [tool]}),
    ] {
        for name in rules.names() {
            let rule = rules.resolve(name, None).unwrap();
            let exchange = planned(&Toy, &request, &rule);
            let body = sent(&exchange).to_string();
            let text = request["ask"].as_str().unwrap();
            assert!(body.contains(text), "{name}: {body}");
            let at = |loss: &&isogloss_core::ir::Loss| loss.pointer.starts_with("/tools");
            let stray = exchange.losses.iter().find(at);
            assert!(stray.is_none(), "{name}: {stray:?}");
        }
    }
}
