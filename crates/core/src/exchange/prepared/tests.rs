#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::*;
use crate::dialect::chat::client::Chat;
use crate::dialect::messages::client::Messages;
use crate::dialect::responses::client::Responses;
use crate::exchange::{Skimmer, plan, read};
use crate::rules::{RuleSet, Version};

const CHAT: &str = "/v1/chat/completions";
const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}],"tool_choice":"required""#;

fn rule(name: &str) -> Rule {
    let version = (name == "vllm").then(|| Version::parse("0.32.0")).flatten();
    RuleSet::builtin().resolve(name, version).unwrap()
}

fn body(messages: &str) -> Bytes {
    format!(r#"{{ "model":"m",  "messages" : {messages} ,{TOOLS}, "seed" : 1 }}"#).into()
}

#[test]
fn what_is_written_for_another_conversation_is_what_would_have_been_written_for_it() {
    let rule = rule("vllm");
    let first = body(r#"[{"role":"user","content":"a secret"}]"#);
    let opened = Opened::new(&Chat, CHAT, first.clone()).unwrap();
    let prepared = opened
        .prepare(&plan(opened.read().unwrap(), &rule).unwrap(), &rule)
        .expect("the conversation is not rewritten");
    assert!(!format!("{prepared:?}").contains("a secret"));
    let long = format!(
        r#"[{{"role":"user","content":"{}"}}]"#,
        "long ".repeat(20_000)
    );
    for messages in [
        long.as_str(),
        "[]",
        r#"[ {"role":"user","content":"\"messages\":"} ]"#,
    ] {
        let second = body(messages);
        let other = Opened::new(&Chat, CHAT, second.clone()).unwrap();
        assert_eq!(other.shape(), opened.shape());
        let exchange = plan(read(&Chat, CHAT, &second).unwrap(), &rule).unwrap();
        assert_eq!(
            other
                .written(&prepared, &rule)
                .map(|body| Bytes::from(body.concat())),
            exchange.sent().cloned()
        );
    }
}

#[test]
fn a_conversation_that_is_edited_before_its_own_server_is_planned_anew() {
    let gemini = "/v1beta/models/m:generateContent";
    let thought = r#"{"thought":true,"text":"Hm.","thoughtSignature":"aXNvZ2xvc3M6e30="}"#;
    let call = r#"{"functionCall":{"name":"f","args":{}}}"#;
    let contents = |part: &str| {
        format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"a"}}]}},{{"role":"model","parts":[{part},{{"text":"b"}}]}}],"tools":[{{"functionDeclarations":[{{"name":"f"}}]}}]}}"#
        )
    };
    let input = |item: &str| {
        format!(r#"{{"model":"m","input":[{item}{{"role":"user","content":"a"}}],"tools":[]}}"#)
    };
    let sealed =
        r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"isogloss:[]"},"#;
    let unsigned = rule("gemini").knowing("refuses_unsigned_calls").unwrap();
    let responses: &'static dyn Client = &Responses::Alone;
    let google: &'static dyn Client = crate::dialect::gemini::client::EVENTS;
    let text = r#"{"text":"c"}"#;
    for (client, path, rule, clean, edited) in [
        (
            google,
            gemini,
            rule("gemini"),
            contents(text),
            contents(thought),
        ),
        (google, gemini, unsigned, contents(text), contents(call)),
        (
            responses,
            "/v1/responses",
            rule("openai-responses"),
            input(""),
            input(sealed),
        ),
    ] {
        let opened = Opened::new(client, path, Bytes::from(clean)).unwrap();
        let exchange = plan(opened.read().unwrap(), &rule).unwrap();
        let prepared = opened.prepare(&exchange, &rule).expect("it is plain");
        let edited = Bytes::from(edited);
        let exchange = plan(read(client, path, &edited).unwrap(), &rule).unwrap();
        assert!(exchange.sent().is_some(), "{path}: it is edited");
        let other = Opened::new(client, path, edited.clone()).unwrap();
        let written = other.shape().and_then(|_| other.written(&prepared, &rule));
        assert_eq!(written, None, "{path}");
        let again = Opened::again(client, path, &edited, None, |_| Some(()));
        let written = again.and_then(|(again, ())| again.written(&prepared, &rule));
        assert_eq!(written, None, "{path}");
    }
}

#[test]
fn another_model_is_meant_and_all_else_keeps_its_bytes() {
    let body = Bytes::from_static(br#"{"messages":[{"model":"x"}] , "model" : "gpt-4o" }"#);
    let (path, changed) = renamed(CHAT, &body, "Qwen/\"3\"");
    assert_eq!(path, CHAT);
    let expected = r#"{"messages":[{"model":"x"}] , "model" : "Qwen/\"3\"" }"#;
    assert_eq!(changed, expected.as_bytes());
    let (path, same) = renamed("/v1beta/models/a:generateContent", &body, "b");
    assert_eq!(path, "/v1beta/models/b:generateContent");
    assert_eq!(same, body);
    let opened = Opened::new(&Chat, CHAT, body).unwrap();
    assert_eq!(
        opened.renamed("m").unwrap().read().unwrap().request.model,
        "m"
    );
    assert_eq!(opened.field("model"), Some(&b"\"gpt-4o\""[..]));
    assert_eq!(opened.beginning(4), Some(&b"[{\"m"[..]));
}

#[test]
fn what_differs_elsewhere_is_of_another_shape() {
    let one = body("[]");
    let other = Bytes::from(String::from_utf8_lossy(&one).replace("\"seed\" : 1", "\"seed\" : 2"));
    let shape = |body: &Bytes| {
        let opened = Opened::new(&Chat, CHAT, body.clone()).unwrap();
        let shape = opened.shape().unwrap();
        (shape.before.to_vec(), shape.after.to_vec())
    };
    assert_ne!(shape(&one), shape(&other));
    assert!(
        Opened::new(&Chat, CHAT, Bytes::from_static(b"{}"))
            .unwrap()
            .shape()
            .is_none()
    );
}

#[test]
fn a_conversation_that_is_none_or_would_be_edited_is_of_no_shape() {
    let is_of_a_shape = |messages: &str| {
        let body = format!(r#"{{"model":"m","max_tokens":9,"messages":{messages}}}"#);
        let opened = Opened::new(&Messages, "/v1/messages", body).unwrap();
        opened.shape().is_some()
    };
    assert!(is_of_a_shape(r#"[{"role":"user","content":"hi"}]"#));
    let thought = r#"{"type":"thinking","thinking":"so","signature":"isogloss-unsigned"}"#;
    let signed = format!(r#"[{{"role":"assistant","content":[{thought}]}}]"#);
    for other in ["null", "{}", "\"[\"", signed.as_str()] {
        assert!(!is_of_a_shape(other), "{other}");
    }
}

#[test]
fn nothing_is_prepared_where_the_conversation_is_rewritten() {
    let body = body(r#"[{"role":"user","content":"hi"}]"#);
    let opened = Opened::new(&Chat, CHAT, body).unwrap();
    for name in ["plain", "anthropic"] {
        let exchange = plan(opened.read().unwrap(), &rule(name)).unwrap();
        assert!(opened.prepare(&exchange, &rule(name)).is_none(), "{name}");
    }
}

/// A client, its path, and a body around a conversation.
const FOREIGN: [(&str, &str, &str); 3] = [
    (
        "/v1/messages",
        r#"{"model":"m","max_tokens":9,"system":"be brief","messages":"#,
        r#","tools":[{"name":"f","input_schema":{"type":"object","properties":{"a":{"type":"integer"}}}}],"tool_choice":{"type":"any"}}"#,
    ),
    (
        "/v1/responses",
        r#"{"model":"m","instructions":"be brief","input":"#,
        r#","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}},"strict":false}],"tool_choice":"required"}"#,
    ),
    (
        "/v1/responses",
        r#"{"model":"m","input":"#,
        r#","text":{"format":{"type":"json_schema","name":"x","schema":{"type":"object"}}}}"#,
    ),
];

fn foreign((path, before, after): (&str, &str, &str), conversation: &str) -> Opened {
    let body = format!("{before}{conversation}{after}");
    let client = crate::passage::client(path).unwrap();
    Opened::new(client, path, body).unwrap()
}

#[test]
fn a_conversation_is_told_to_another_wire_as_if_it_had_been_planned_with_its_request() {
    const SAID: &str = r#"[{"role":"user","content":"a secret"}]"#;
    let long = format!(
        r#"[{{"role":"user","content":"{}"}}]"#,
        "long ".repeat(20_000)
    );
    let called = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"2"},{"type":"text","text":"and?"}]}]"#;
    let items = r#"[{"role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":"2"}]"#;
    for shape in FOREIGN {
        // One is told by its words, one by instructions.
        for name in ["vllm", "plain", "openai-responses"] {
            let rule = rule(name);
            let first = foreign(shape, SAID);
            let exchange = plan(first.read().unwrap(), &rule).unwrap();
            let prepared = first.prepare(&exchange, &rule).expect("it is kept");
            assert!(!format!("{prepared:?}").contains("a secret"));
            let with_calls = if shape.0 == "/v1/messages" {
                called
            } else {
                items
            };
            // Whose conversation may be a text, too.
            let text = match shape.0 {
                "/v1/responses" => r#""a \"text\"\n""#,
                _ => SAID,
            };
            for conversation in [SAID, long.as_str(), text, with_calls] {
                let other = foreign(shape, conversation);
                assert_eq!(other.shape(), first.shape());
                let exchange = plan(other.read().unwrap(), &rule).unwrap();
                let written = other.written(&prepared, &rule);
                let Some(written) = written.map(|body| Bytes::from(body.concat())) else {
                    // Calls are told as text to who was never asked for any, and that is a loss.
                    assert_eq!((name, conversation), ("plain", with_calls));
                    assert!(exchange.losses.len() > prepared.exchange.losses.len());
                    continue;
                };
                // To who speaks its own words the server is asked in those.
                let sent = exchange.sent().unwrap_or_else(|| other.body());
                assert_eq!(&written, sent, "{} {name}", shape.0);
                assert_eq!(prepared.exchange.losses, exchange.losses);
                assert_eq!(prepared.exchange.path(), exchange.path());
            }
        }
    }
}

#[test]
fn what_is_lost_of_a_conversation_is_told_of_it_alone() {
    let rule = rule("vllm");
    let first = foreign(FOREIGN[0], r#"[{"role":"user","content":"hi"}]"#);
    let exchange = plan(first.read().unwrap(), &rule).unwrap();
    let prepared = first.prepare(&exchange, &rule).unwrap();
    // Other servers answer behind it, which is a loss.
    let begun = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"so"}]"#;
    let begun = foreign(FOREIGN[0], begun);
    let lost = plan(begun.read().unwrap(), &rule).unwrap();
    assert!(lost.losses.len() > exchange.losses.len());
    assert!(begun.written(&prepared, &rule).is_none());
    assert!(begun.prepare(&lost, &rule).is_none());
    // What cannot be read is refused when it is planned.
    let wrong = foreign(FOREIGN[0], r#"[{"role":"nobody","content":"hi"}]"#);
    assert!(wrong.written(&prepared, &rule).is_none());
}

#[test]
fn who_goes_on_from_another_reply_is_of_no_shape() {
    let (path, before, after) = FOREIGN[1];
    let shape = |before: &str, conversation: &str| {
        foreign((path, before, after), conversation)
            .shape()
            .is_some()
    };
    let said = r#"[{"role":"user","content":"hi"}]"#;
    assert!(shape(before, said));
    let goes_on = before.replace("{", r#"{"previous_response_id":"resp_1","#);
    assert!(!shape(&goes_on, said));
    // It is left out, which is told when the request is read.
    assert!(!shape(before, r#"[{"type":"web_search_call","id":"w"}]"#));
    let faces = [Responses::Alone, Responses::Unkept, Responses::Kept].map(|face| face.face());
    assert!(faces[0] != faces[1] && faces[1] != faces[2] && faces[0] != faces[2]);
}

/// As it is where the body came in pieces, and was looked at piece by piece if it is long.
fn again<K>(body: &Bytes, find: impl Fn(&Shape<'_>) -> Option<K>) -> Option<(Opened, K)> {
    let mut skimmer = Skimmer::default();
    body.chunks(50_000).for_each(|piece| skimmer.push(piece));
    let skimmed = Body::skimmed(body, skimmer);
    let found = Opened::again(&Chat, CHAT, body, skimmed.as_ref(), &find);
    let whole = Opened::again(&Chat, CHAT, body, None, &find);
    assert_eq!(found.is_some(), whole.is_some());
    found
}

#[test]
fn of_a_request_in_a_known_shape_the_conversation_alone_is_looked_at_and_all_is_found_as_ever() {
    let image = "iVBORw0KGgo/+8A=".repeat(20_000);
    let texts = format!(
        r#"[{{"role":"user","content":"{}"}}]"#,
        "ä\\n".repeat(30_000)
    );
    let images = format!(
        r#"[{{"role":"user","content":"{image}"}},{{"role":"user","content":"\"{image}"}}]"#
    );
    let first = Opened::new(&Chat, CHAT, body("[]")).unwrap();
    for messages in ["[]", r#"[ {"role":"user"} ]"#, &texts, &images] {
        let next = body(messages);
        let find = |shape: &Shape<'_>| (Some(*shape) == first.shape()).then_some("known");
        let (again, known) = again(&next, find).unwrap();
        assert_eq!(known, "known");
        let anew = Opened::new(&Chat, CHAT, next).unwrap();
        assert_eq!(again.body(), anew.body());
        assert_eq!(again.shape(), anew.shape());
        assert_eq!(again.beginning(100), anew.beginning(100));
        for name in ["model", "messages", "tools", "seed", "none"] {
            assert_eq!(again.field(name), anew.field(name), "{name}");
        }
        assert!(again.cost() <= anew.cost() + anew.body().len());
    }
}

#[test]
fn what_is_refused_or_told_elsewhere_is_never_taken_for_a_known_shape() {
    let first = Opened::new(&Chat, CHAT, body("[]")).unwrap();
    let find = |shape: &Shape<'_>| (Some(*shape) == first.shape()).then_some(());
    let deep = format!("{}{}", "[".repeat(96), "]".repeat(96));
    let many = format!("[{}1]", "1,".repeat(200_000));
    let long = |rest: &str| format!("[\"{}\"{rest}", "x".repeat(300_000));
    for messages in [
        "",
        "[",
        "[1,]",
        "[1]]",
        "[] []",
        r#"[{"a":1,"a":2}]"#,
        "[1e999]",
        "[\"\u{1}\"]",
        &deep,
        &many,
        "{}",
        "null",
        r#""text""#,
        &long(""),
        &long("]]"),
        &long(r#",{"a":1,"a":2}]"#),
    ] {
        let next = body(messages);
        assert!(again(&next, find).is_none(), "{messages:.40}");
        let anew = Opened::new(&Chat, CHAT, next);
        assert!(
            anew.is_err() || anew.unwrap().shape().is_none(),
            "{messages:.40}"
        );
    }
    // Half a surrogate pair is another text.
    for messages in [r#"["cut \ud800 here"]"#, &long(r#","cut \ud83d here"]"#)] {
        let next = body(messages);
        assert!(again(&next, find).is_none(), "{messages:.40}");
        let anew = Opened::new(&Chat, CHAT, next).unwrap();
        let text = String::from_utf8(anew.body().to_vec()).unwrap();
        assert!(text.contains(r"cut \ufffd here"));
    }
    // Bytes that are no UTF-8.
    let mut broken = body(r#"["xx"]"#).to_vec();
    let at = broken.iter().position(|byte| *byte == b'x').unwrap();
    broken[at] = 0xff;
    assert!(again(&broken.into(), find).is_none());
    let other = Bytes::from_static(br#"{"messages":[]}"#);
    assert!(again(&other, find).is_none());
}

#[test]
fn a_body_that_names_no_model_gets_the_one_of_its_path() {
    for (body, expected) in [
        (r#"{"a":1}"#, r#"{"model":"m\"","a":1}"#),
        (" { \"a\":1}", "{\"model\":\"m\\\"\", \"a\":1}"),
        ("{}", r#"{"model":"m\""}"#),
        (r#"{"a":1,"model":""}"#, r#"{"a":1,"model":"m\""}"#),
        (r#"{"model":null,"a":1}"#, r#"{"model":"m\"","a":1}"#),
        (r#"{"model":"b"}"#, r#"{"model":"b"}"#),
        (r#"{"model":7}"#, r#"{"model":7}"#),
        ("[1]", "[1]"),
        ("", ""),
    ] {
        let named = named(&Bytes::from_static(body.as_bytes()), "m\"");
        assert_eq!(std::str::from_utf8(&named).unwrap(), expected, "{body}");
    }
}
