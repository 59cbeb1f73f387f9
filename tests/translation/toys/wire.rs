//! The toy's own wire: a server that speaks what the toy's clients speak. What nobody has to change keeps
//! its bytes, both ways; whatever is changed, the rest of it does.

use super::{Toy, chat_reply, invalid, planned, read, schema, sent, toy_server, whole};
use isogloss_core::dialect::chat::client::Chat;
use isogloss_core::dialect::server::editor::{Editor, append, items, keep_tools};
use isogloss_core::dialect::server::{
    About, Ask, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written,
};
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::{
    Fields, FinishReason, Framing, Ids, Of, Request, Role, Tool, ToolChoice, Wire, raw,
};
use isogloss_core::rules::Rule;
use isogloss_core::schema::SchemaLimits;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The name of the wire.
pub(super) const TOY: Wire = Wire::Other("toy");

/// `{"ask": [{"by": "me", "text": "…"}], "shape": {…}, "live": true}`.
#[derive(Debug)]
struct ToyServer;

/// A line of the conversation.
fn line(role: Role, text: &str) -> Value {
    let by = match role {
        Role::System => "rule",
        Role::User | Role::Tool => "me",
        Role::Assistant => "you",
    };
    json!({"by": by, "text": text})
}

impl Server for ToyServer {
    fn wire(&self) -> Wire {
        TOY
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&ToyEditor)
    }

    fn write(&self, ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        let mut body = Fields::default();
        let lines = ask.turns().iter();
        let lines: Vec<Value> = lines.map(|turn| line(turn.role, &turn.text())).collect();
        body.set("ask", raw(&lines));
        body.set("live", raw(&ask.stream()?));
        ask.rest(&["shape"], &mut body);
        Ok(Written::of(("/toy".to_owned(), body)))
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        _about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        let reply: Value = serde_json::from_slice(body).map_err(|_| ReplyFault::NotAReply)?;
        let text = reply["say"].as_str().ok_or(ReplyFault::NotAReply)?;
        sink.choice(0, true);
        let mut own = Fields::default();
        own.set("toy", raw(&true));
        sink.own(Of::Message(0), own);
        sink.text(0, Some(text.to_owned()));
        sink.finish(0, FinishReason::Stop);
        Ok(Some(Verbatim::of(Cow::Borrowed(body))))
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(ToyReader)
    }
}

/// Lines `say "…"`, and `over`.
#[derive(Debug)]
struct ToyReader;

impl Reader for ToyReader {
    fn event<'d>(&mut self, data: &'d [u8], sink: &mut Sink<'_>) -> Option<Verbatim<'d>> {
        let line = std::str::from_utf8(data).unwrap().trim();
        sink.choice(0, false);
        if line == "over" {
            sink.finish(0, FinishReason::Stop);
            sink.done();
            return None;
        }
        let text = line.strip_prefix("say ").unwrap();
        sink.text(0, serde_json::from_str(text).unwrap());
        Some(Verbatim::of(Cow::Borrowed(data)))
    }
}

#[derive(Debug)]
struct ToyEditor;

impl Editor for ToyEditor {
    fn path(&self, _request: &Request) -> Cow<'static, str> {
        Cow::Borrowed("/toy")
    }

    fn tools(&self, fields: &mut Fields, request: &Request, tools: &[Tool]) {
        keep_tools(fields, "do", (request, tools), |_, tool, item| {
            panic!("no rule of the toy's changes `{}`: {item}", tool.name)
        });
    }

    // There are no fields for these.
    fn choice(&self, _fields: &mut Fields, _choice: Option<&ToolChoice>, _tools: &[Tool]) {}

    fn parallel(&self, _fields: &mut Fields, _parallel: Option<bool>) {}

    fn instruct(&self, fields: &mut Fields, text: &str) -> Result<(), Error> {
        let mut lines = items(fields, "ask").ok_or_else(|| invalid("ask", "no list"))?;
        lines.insert(0, raw(&line(Role::System, text)));
        fields.set("ask", raw(&lines));
        Ok(())
    }

    fn say(&self, fields: &mut Fields, role: Role, text: &str) {
        append(fields, "ask", &line(role, text));
    }
}

// --- what is true of it --------------------------------------------------------------------------

/// What no reader understands, and blanks where no writer puts them.
const LINES: [&str; 2] = [
    r#"{"by" : "me",   "text":"How old?", "mark": {"keep":1 } }"#,
    r#"{"text":"\u0041sk" ,"by":"you"}"#,
];
const ODD: &str = r#"{"a" :1.0}"#;

/// A rule of a server that speaks it.
fn rule() -> Rule {
    Rule {
        server: &ToyServer,
        ..toy_server()
    }
}

/// A request of the toy's, with more fields.
fn body(more: &str) -> String {
    let [one, two] = LINES;
    format!(r#"{{ "ask":[ {one} ,{two} ], "odd" : {ODD}{more} }}"#)
}

fn shaped() -> Exchange {
    read(
        &Toy,
        &body(&format!(r#", "shape" : {}"#, schema())),
        &rule(),
    )
}

fn bytes(exchange: &Exchange) -> String {
    String::from_utf8(exchange.sent().unwrap().to_vec()).unwrap()
}

fn reply(exchange: &Exchange, body: &str) -> Result<String, Fault> {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let reply = exchange::reply(exchange, &checks, Ids::new(1), body.as_bytes())?;
    Ok(String::from_utf8(reply.body).unwrap())
}

fn streamed(exchange: &Exchange, body: &str) -> String {
    let checks = exchange.clone().compile(&SchemaLimits::default()).unwrap();
    let mut translator = StreamTranslator::new(exchange, checks, Ids::new(1), 1 << 20);
    let mut out = Vec::new();
    translator.push(body.as_bytes(), &mut out).unwrap();
    translator.finish(End::Eof, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn what_demands_nothing_goes_through_untouched() {
    let exchange = read(&Toy, &body(""), &rule());
    assert!(exchange.sent().is_none() && exchange.is_passthrough());
    assert_eq!(exchange.path(), "/toy");
    // On another wire nothing of it would be understood.
    let other = read(&Toy, &body(""), &toy_server());
    assert!(other.sent().is_some() && !other.is_passthrough());
}

#[test]
fn a_constraint_is_put_into_the_servers_words_and_all_else_keeps_its_bytes() {
    let ([one, two], schema) = (LINES, schema());
    let wanted = format!(r#"{{"ask":[ {one} ,{two} ],"odd":{ODD},"shape":{{"of":{schema}}}}}"#);
    assert_eq!(bytes(&shaped()), wanted);
    assert_eq!(shaped().path(), "/toy");
}

#[test]
fn what_the_model_is_told_stands_beside_lines_that_keep_their_bytes() {
    let tool = json!({"name": "f", "with": schema()});
    let exchange = read(&Toy, &body(&format!(r#","do":[{tool}]"#)), &rule());
    let sent: Fields = serde_json::from_str(&bytes(&exchange)).unwrap();
    let lines = items(&sent, "ask").unwrap();
    let [told, one, two] = lines.as_slice() else {
        panic!("{lines:?}")
    };
    assert!(
        told.get()
            .starts_with(r#"{"by":"rule","text":"You can call"#)
    );
    assert_eq!([one.get(), two.get()], LINES);
    assert_eq!(sent.raw("odd"), Some(ODD));
    assert!(!sent.has("do"));
    // What is made of content is written anew.
    let reply = reply(&exchange, r#"{ "say" : "{\"age\": 7}" }"#).unwrap();
    let reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["done"], json!([["f", {"age": 7}]]));
}

#[test]
fn it_is_asked_again_with_the_same_bytes_and_two_lines_more() {
    let Err(Fault::Violation(violation)) = reply(&shaped(), r#"{"say":"{\"age\": \"x\"}"}"#) else {
        panic!("it passed")
    };
    let again = shaped().re_ask(&violation);
    assert_eq!(again.path, "/toy");
    let again = String::from_utf8(again.body.to_vec()).unwrap();
    let ([one, two], schema) = (LINES, schema());
    let said = json!({"by": "you", "text": "{\"age\": \"x\"}"});
    let begin =
        format!(r#"{{"ask":[ {one} ,{two},{said},{{"by":"me","text":"This answer cannot be used"#);
    let end = format!(r#""}}],"odd":{ODD},"shape":{{"of":{schema}}}}}"#);
    assert!(again.starts_with(&begin), "{again}");
    assert!(again.ends_with(&end), "{again}");
}

#[test]
fn a_reply_in_which_nothing_was_changed_keeps_its_bytes_whole_and_streamed() {
    let came = r#"{ "say" : "{\"age\":  7}" , "extra": [ 1 ] }"#;
    assert_eq!(reply(&shaped(), came).unwrap(), came);
    let lines = "say   \"{\\\"age\\\"\" \nsay \":\\u00207}\"\nover\n";
    assert_eq!(streamed(&shaped(), lines), lines);
    // What was mended is written anew.
    let mended = reply(&shaped(), r#"{ "say" : "{\"age\": 7,}" }"#).unwrap();
    assert_eq!(
        mended,
        json!({"say": "{\"age\": 7}", "done": [], "muse": ""}).to_string()
    );
}

#[test]
fn a_client_of_another_wire_gets_none_of_its_bytes() {
    let request = json!({"model": "m", "messages": [{"role": "user", "content": "How old?"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema()}}});
    let exchange = planned(&Chat, &request, &rule());
    assert_eq!(
        sent(&exchange),
        json!({"ask": [line(Role::User, "How old?")], "live": false, "shape": {"of": schema()}})
    );
    let reply = whole(&exchange, br#"{"say":"{\"age\": 7}"}"#).unwrap();
    let message = &reply["choices"][0]["message"];
    assert_eq!(message["content"], "{\"age\": 7}");
    assert_eq!(message["toy"], Value::Null);
    // And the toy's clients get none of Chat's.
    let said = chat_reply(&json!({"role": "assistant", "content": "{\"age\": 7}"}));
    let request = json!({"ask": "How old?", "shape": schema()});
    let reply = whole(&planned(&Toy, &request, &toy_server()), &said).unwrap();
    assert_eq!(reply["say"], "{\"age\": 7}");
}
