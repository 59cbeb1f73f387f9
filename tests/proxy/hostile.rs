//! Every hostile row against the real stack on loopback: `tests/data/request_hostile.jsonl` as
//! bodies of chat completions, `tests/data/http1_hostile.jsonl` as raw bytes.
//!
//! The rows' expectations are proposals. Where this product decides otherwise, [`DECIDED`] says
//! so with the reason; an entry there that no longer differs from its row fails.

use crate::support::proxy;
use crate::support::rows;
use isogloss::config::{DialectPin, Secret};
use isogloss_core::rules::Version;
use isogloss_testing::scripted;
use proxy::{Proxy, post};
use rows::{Row, Seen, split_reply, unmet};
use scripted::{Got, Scripted, Step, chunk, end, find, head, reply};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tracing_subscriber::util::SubscriberInitExt;

/// Only against a test that would hang: nothing here is about speed.
const HANG: Duration = Duration::from_secs(120);

const JSON: &str = "content-type: application/json\r\n";
const EVENTS: &str = "content-type: text/event-stream\r\n";

const GOOD: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
const PROBE: &str = "GET /probe HTTP/1.1\r\nhost: p\r\n\r\n";

/// What a row comes to where that is not what it proposes: the statuses of its replies, how many
/// requests the upstream sees, and why.
type Decision = (&'static str, &'static [u16], usize, &'static str);

const DECIDED: &[Decision] = &[
    (
        "syntax-7",
        &[400],
        0,
        "it is JSON, but no object: the code is invalid_request",
    ),
    (
        "syntax-8",
        &[400],
        0,
        "it is JSON, but no object: the code is invalid_request",
    ),
    (
        "server-field-1",
        &[400],
        0,
        "a client's constraint is translated, so its schema is checked: invalid_schema",
    ),
    (
        "server-field-5",
        &[400],
        0,
        "the code is invalid_request, `param` names the field",
    ),
    (
        "server-field-6",
        &[400],
        0,
        "the code is invalid_request, `param` names the field",
    ),
    ("server-field-11", &[200], 1, OTHERS_FIELD),
    ("server-field-15", &[200], 1, SAMPLING_FIELD),
    ("server-field-19", &[200], 1, OTHERS_FIELD),
    ("server-field-22", &[200], 1, SAMPLING_FIELD),
    ("server-field-23", &[200], 1, OTHERS_FIELD),
    ("server-field-24", &[200], 1, OTHERS_FIELD),
    ("server-field-17", &[200], 1, OTHERS_FIELD),
    (
        "range-6",
        &[200],
        1,
        "llama.cpp means no limit by -1; a server that does not refuses it",
    ),
    (
        "range-7",
        &[200],
        1,
        "forwarded digit by digit, the server refuses it",
    ),
    ("msg-0", &[200], 1, MESSAGES),
    ("msg-1", &[200], 1, MESSAGES),
    ("msg-3", &[200], 1, MESSAGES),
    (
        "tools-10k",
        &[400],
        0,
        "the code is invalid_request, the message has the limit",
    ),
    (
        "nest-object-10000000",
        &[413],
        0,
        "60 MB: refused by its length, unread",
    ),
    (
        "chunk-size-12",
        &[400, 200],
        1,
        "chunk extensions are legal and are skipped, up to hyper's limit; what follows the body is a request of its own",
    ),
    (
        "cl-variant-14",
        &[400, 200],
        1,
        "leading zeros are digits (RFC 9110, section 8.6); what follows the body is a request of its own",
    ),
    (
        "upgrade-early",
        &[200, 200],
        2,
        "Upgrade is not forwarded, so no tunnel opens; what follows is a request of its own",
    ),
    (
        "401-with-body",
        &[400],
        0,
        "there are no keys for clients: the body is read as a body, and is no JSON",
    ),
    ("path-1", &[200], 1, PASSES),
    ("path-5", &[200], 1, PASSES),
    ("path-9", &[200], 1, PASSES),
    ("path-10", &[200], 1, PASSES),
    ("path-12", &[200], 1, PASSES),
    ("path-14", &[200], 1, PASSES),
    ("path-15", &[200], 1, PASSES),
    ("path-16", &[200], 1, PASSES),
    ("auth-odd-3", &[200], 1, CREDENTIALS),
    ("auth-odd-4", &[200], 1, CREDENTIALS),
    ("auth-odd-5", &[200], 1, CREDENTIALS),
    ("auth-odd-6", &[200], 1, CREDENTIALS),
    ("auth-odd-7", &[200], 1, CREDENTIALS),
];

const OTHERS_FIELD: &str = "vLLM's chat knows no such field and ignores it; where a server has it and \
    it steers the server, that server's rule file has it (chat_parser in llama.cpp's, \
    custom_logit_processor in SGLang's)";
const SAMPLING_FIELD: &str = "a documented field of one request, which the operator switches on";
const MESSAGES: &str = "messages are the server's to judge; its refusal is given in OpenAI's shape";
const PASSES: &str = "every path but chat completions passes as it came, and the server answers; the \
    proxy's own pages are on the admin port alone";
const CREDENTIALS: &str = "there are no keys for clients: who may ask is the server's to judge";

/// Rows that are proved elsewhere, and where.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "never-reads",
        "tests/proxy/contract.rs, a_client_that_reads_nothing_stops_the_upstream, and \
         src/proxy/timed_io.rs, a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not",
    ),
    (
        "half-close",
        "decided otherwise: a client that closed looks the same, and its generation must end at \
         once: tests/proxy/contract.rs, a_client_that_goes_away_before_the_reply_ends_the_upstreams_request",
    ),
];

/// What must hold however the row is decided.
const ALWAYS: &[&str] = &["log_absent", "log_valid_json", "upstream_header_absent"];

/// A vLLM that answers whatever is asked of it as it should.
fn server(got: &Got) -> Vec<Step> {
    if got.target == "/probe" {
        return vec![reply(200, "x-probe: 1\r\n", "")];
    }
    let has = |text: &[u8]| find(&got.body, text).is_some();
    let text = if has(b"\"regex\"") {
        "aa"
    } else if has(b"\"a57\"") {
        r#"{\"name\": \"a0\", \"arguments\": {}}"#
    } else {
        "{}"
    };
    if find(&got.body, b"\"stream\":true").is_some() {
        let event = |delta: &str, finish: &str| {
            format!(
                "data: {{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
            )
        };
        let events = event(&format!("{{\"content\":\"{text}\"}}"), "null")
            + &event("{}", "\"stop\"")
            + "data: [DONE]\n\n";
        return vec![head(EVENTS), chunk(&events), end()];
    }
    let body = format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]}}"#
    );
    vec![reply(200, JSON, &body)]
}

/// The lines that are logged while it is the subscriber.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Until the guard is dropped, what this thread logs comes here.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        tracing_subscriber::fmt()
            .with_env_filter("warn,isogloss=debug")
            .json()
            .flatten_event(true)
            .with_writer(move || log.clone())
            .set_default()
    }

    fn lines(&self) -> Vec<String> {
        let bytes = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::to_owned).collect()
    }
}

/// Sends the pieces on a fresh connection and reads until it is closed, or until the reply to a
/// request that is sent after the row's first reply.
async fn play(proxy: &Proxy, row: &Row, pieces: Pieces) -> (Vec<u8>, bool) {
    let stream = TcpStream::connect(proxy.address).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let pause = row
        .manner("delay_ms_per_unit")
        .map(|_| Duration::from_millis(20));
    let shuts = row
        .manner("then")
        .is_some_and(|then| then == "shutdown(SHUT_WR)");
    let (say, mut said) = tokio::sync::mpsc::channel::<&str>(1);
    let lines = |piece: Vec<u8>| {
        let lines = piece.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let pieces: Pieces = match pause {
        Some(_) => Box::new(pieces.flat_map(lines)),
        None => pieces,
    };
    let writing = async move {
        for piece in pieces {
            // Refused in the middle: what counts is what the proxy answers.
            if to.write_all(&piece).await.is_err() {
                break;
            }
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
        }
        if shuts {
            let _ = to.shutdown().await;
        }
        while let Some(text) = said.recv().await {
            let _ = to.write_all(text.as_bytes()).await;
        }
        // Kept until the reader is done: closing would be taken for a client that went away.
        to
    };
    let reading = async move {
        let mut all = Vec::new();
        let mut next = [GOOD, PROBE].into_iter().peekable();
        let closed = loop {
            match split_reply(&all) {
                _ if find(&all, b"\r\nx-probe: 1\r\n").is_some() => break false,
                Some((reply, _)) if reply.status == 100 && next.peek() == Some(&GOOD) => {
                    say.send(next.next().unwrap()).await.unwrap();
                }
                Some((reply, rest)) if reply.status >= 200 || split_reply(rest).is_some() => {
                    if let Some(probe) = next.find(|text| *text == PROBE) {
                        say.send(probe).await.unwrap();
                    }
                }
                _ => {}
            }
            match from.read_buf(&mut all).await {
                Ok(0) | Err(_) => break true,
                Ok(_) => {}
            }
        };
        (all, closed)
    };
    let both = tokio::time::timeout(HANG, async { tokio::join!(reading, writing) });
    let ((all, closed), _to) = both.await.unwrap_or_else(|_| panic!("{} hangs", row.id));
    (all, closed)
}

type Pieces = Box<dyn Iterator<Item = Vec<u8>> + Send>;

/// One row against a proxy and an upstream of its own, which must be well afterwards.
async fn run(row: &Row, pieces: Pieces) -> Seen {
    let mut upstream = Scripted::start(server).await;
    let proxy = Proxy::with(&[&upstream.url()], |config| {
        config.timeouts.header = if row.manner("delay_ms_per_unit").is_some() {
            Duration::from_millis(300)
        } else {
            Duration::from_secs(2)
        };
        config.upstreams[0].api_key = Some(Secret::new("upstream-key".to_owned()));
        config.upstreams[0].dialect = Some(DialectPin {
            name: "vllm".to_owned(),
            version: Version::parse("0.12.0"),
        });
    })
    .await;
    proxy.until_upstream(0, "ready").await;
    upstream.answer_by_script();
    let log = Log::default();
    let listening = log.listen();
    let (raw, closed) = play(&proxy, row, pieces).await;
    drop(listening);
    let mut seen = Seen {
        closed,
        log: log.lines(),
        ..Seen::default()
    };
    let mut rest = raw.as_slice();
    while let Some((reply, after)) = split_reply(rest) {
        rest = after;
        if reply.status >= 200 && reply.header("x-probe").is_none() {
            seen.replies.push(reply);
        }
    }
    for _ in 0..upstream.left() {
        let got = upstream.next().await;
        if got.target != "/probe" {
            seen.upstream.push(got);
        }
    }
    seen.raw = raw;
    let after = proxy.chat(GOOD).await.reply().await;
    assert_eq!(after.status, 200, "after {}", row.id);
    seen
}

/// What is wrong with how the row went.
fn fault(row: &Row, seen: &Seen) -> Option<String> {
    let statuses: Vec<u16> = seen.replies.iter().map(|reply| reply.status).collect();
    let errors_are_told = seen.replies.iter().all(is_clear);
    let saw = || {
        format!(
            "{}: {statuses:?} closed {} upstream {:?} {}",
            row.id,
            seen.closed,
            seen.upstream
                .iter()
                .map(|got| &got.target)
                .collect::<Vec<_>>(),
            seen.replies
                .first()
                .map(
                    |reply| String::from_utf8_lossy(&reply.body[..reply.body.len().min(300)])
                        .into_owned()
                )
                .unwrap_or_default()
        )
    };
    let decided = DECIDED.iter().find(|(id, ..)| *id == row.id);
    let unmet = unmet(&row.expect, seen);
    match (decided, unmet) {
        (None, Some(unmet)) => Some(format!("{} -- not met: {unmet}", saw())),
        (Some(_), Some(unmet)) if ALWAYS.iter().any(|name| unmet.starts_with(name)) => {
            Some(format!("{} -- not met: {unmet}", saw()))
        }
        (Some(_), None) => Some(format!(
            "{} -- is as proposed, strike it from DECIDED",
            saw()
        )),
        (Some((_, expected, upstream, _)), _)
            if *expected != statuses || *upstream != seen.upstream.len() =>
        {
            Some(format!("{} -- decided {expected:?}, {upstream}", saw()))
        }
        _ if !errors_are_told => Some(format!("{} -- not a clear error", saw())),
        _ => None,
    }
}

/// A refusal of the proxy's own has OpenAI's shape, and says something. hyper's own (no HTTP,
/// framing) has no body.
fn is_clear(reply: &proxy::Reply) -> bool {
    if reply.status < 400 || reply.body.is_empty() {
        return true;
    }
    let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    let error = &body["error"];
    let text = |name: &str| error[name].as_str().is_some_and(|text| !text.is_empty());
    text("message") && text("type") && text("code") && error.get("param").is_some()
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn hostile_bodies_are_answered_with_care() {
    let mut faults = Vec::new();
    for row in Row::all(include_str!("../data/request_hostile.jsonl")) {
        let length: usize = row.pieces().map(|piece| piece.len()).sum();
        let head = post("/v1/chat/completions", "")
            .replace("content-length: 0", &format!("content-length: {length}"));
        let pieces = std::iter::once(head.into_bytes()).chain(row.pieces());
        let seen = run(&row, Box::new(pieces)).await;
        faults.extend(fault(&row, &seen));
    }
    assert_none(&faults);
}

#[tokio::test]
async fn hostile_bytes_are_answered_with_care() {
    let mut faults = Vec::new();
    for row in Row::all(include_str!("../data/http1_hostile.jsonl")) {
        if ELSEWHERE.iter().any(|(id, _)| *id == row.id) {
            continue;
        }
        let seen = run(&row, row.pieces()).await;
        faults.extend(fault(&row, &seen));
    }
    assert_none(&faults);
}
