//! A request and what became of it in; its line of the output out, and such lines read again.

use super::line::Bad;
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use isogloss_core::error::{Error, Kind, Side};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use crate::proxy::Reply;

/// What every line of ours begins with.
const BEGIN: &[u8] = br#"{"id":"batch_req_"#;
/// What the proxy says of a reply: how the demand was met, what the server was not told.
const TOLD: &str = "x-isogloss-";

/// What became of a line of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Answered, and what the request asked for.
    Ok,
    /// The request cannot be served as it is.
    Refused,
    /// The reply was not what the request asked for.
    Violation,
    /// The server failed, limited the rate for too long, or did not answer.
    Upstream,
    /// The proxy itself was at a limit, or wrong.
    Proxy,
    /// The line is no request, or its `custom_id` is another's.
    BadLine,
}

impl Outcome {
    pub(super) const ALL: [Self; 6] = [
        Self::Ok,
        Self::Refused,
        Self::Violation,
        Self::Upstream,
        Self::Proxy,
        Self::BadLine,
    ];

    const fn of(kind: Kind) -> Self {
        match kind {
            Kind::ConstraintViolated => Self::Violation,
            // Which is asked again as the other is.
            Kind::RateLimited => Self::Upstream,
            kind => match kind.side() {
                Side::Client => Self::Refused,
                Side::Upstream => Self::Upstream,
                Side::Proxy => Self::Proxy,
            },
        }
    }
}

/// A line of the output.
#[derive(Debug)]
pub(super) struct Row {
    /// With its line feed.
    pub(super) text: Vec<u8>,
    pub(super) outcome: Outcome,
    /// Tokens in and out.
    pub(super) tokens: (u64, u64),
}

#[derive(Serialize)]
struct Fields<'a> {
    id: String,
    custom_id: Option<&'a str>,
    response: Option<Response<'a>>,
    error: Option<Fault<'a>>,
}

#[derive(Serialize)]
struct Response<'a> {
    status_code: u16,
    request_id: &'a str,
    headers: BTreeMap<&'a str, &'a str>,
    body: Box<RawValue>,
}

#[derive(Serialize)]
struct Fault<'a> {
    code: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<&'a str>,
    /// Of a line that could not be asked: it may have no other name.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
}

impl Row {
    /// What was answered.
    pub(super) fn answered(number: u64, custom_id: &str, reply: &Reply) -> Self {
        let status = reply.head.status;
        if let Some(fault) = reply.fault.as_ref().filter(|_| status.is_success()) {
            return Self::failed(number, custom_id, fault);
        }
        let outcome = match (status.is_success(), reply.kind) {
            (true, _) => Outcome::Ok,
            (false, Some(kind)) => Outcome::of(kind),
            (false, None) if status.is_client_error() && status.as_u16() != 429 => Outcome::Refused,
            (false, None) => Outcome::Upstream,
        };
        let headers = &reply.head.headers;
        if status.is_success() && is_stream(headers) {
            let message = "the reply is a stream, which no row can hold: write `\"stream\": false`";
            let error = Error::new(Kind::InvalidRequest, message).at("body.stream");
            return Self::failed(number, custom_id, &error);
        }
        let Some(body) = one_line(&reply.body) else {
            let error = Error::new(Kind::Internal, "the reply cannot be written as JSON");
            return Self::failed(number, custom_id, &error);
        };
        let told = headers.iter().filter_map(|(name, value)| {
            let name = name.as_str();
            Some((name, value.to_str().ok()?)).filter(|_| name.starts_with(TOLD))
        });
        let id = headers.get("x-request-id").and_then(|id| id.to_str().ok());
        let response = Response {
            status_code: status.as_u16(),
            request_id: id.unwrap_or_default(),
            headers: told.collect(),
            body,
        };
        let text = Fields {
            id: id_of(number),
            custom_id: Some(custom_id),
            response: Some(response),
            error: None,
        };
        Self::new(&text, outcome, reply.tokens)
    }

    /// No reply came that could be kept.
    pub(super) fn failed(number: u64, custom_id: &str, error: &Error) -> Self {
        Self::fault(number, Some(custom_id), error, Outcome::of(error.kind))
    }

    /// The line could not be asked.
    pub(super) fn bad_line(number: u64, bad: &Bad) -> Self {
        let custom_id = bad.custom_id.as_deref();
        Self::fault(number, custom_id, &bad.error, Outcome::BadLine)
    }

    fn fault(number: u64, custom_id: Option<&str>, error: &Error, outcome: Outcome) -> Self {
        let fault = Fault {
            code: error.code.as_deref().unwrap_or(error.kind.code()),
            message: &error.message,
            param: error.param.as_deref(),
            line: (outcome == Outcome::BadLine).then_some(number),
        };
        let text = Fields {
            id: id_of(number),
            custom_id,
            response: None,
            error: Some(fault),
        };
        Self::new(&text, outcome, (0, 0))
    }

    fn new(fields: &Fields<'_>, outcome: Outcome, tokens: (u64, u64)) -> Self {
        // Texts, numbers and JSON that was read: nothing in it could fail to be written.
        let mut text = serde_json::to_vec(fields).unwrap_or_default();
        text.push(b'\n');
        Self {
            text,
            outcome,
            tokens,
        }
    }
}

/// Sorted by it, rows stand in the input's order.
fn id_of(number: u64) -> String {
    format!("batch_req_{number:010}")
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    let streams: [&[u8]; 2] = [b"text/event-stream", b"application/x-ndjson"];
    kind.is_some_and(|kind| streams.iter().any(|stream| kind.starts_with(stream)))
}

/// A reply's bytes as JSON without line feeds, which in JSON stand only where they mean nothing; a text where they are
/// no JSON.
fn one_line(body: &Bytes) -> Option<Box<RawValue>> {
    let text = String::from_utf8_lossy(body);
    if let Ok(json) = serde_json::from_str::<Box<RawValue>>(&text) {
        if !json.get().contains(['\n', '\r']) {
            return Some(json);
        }
        return RawValue::from_string(json.get().replace(['\n', '\r'], " ")).ok();
    }
    serde_json::value::to_raw_value(&text).ok()
}

/// A row that stands in the output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) of: Of,
    pub(super) is_ok: bool,
}

/// Whose row it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Of {
    Request(String),
    /// The line of this number, which was none.
    Line(u64),
}

#[derive(Deserialize)]
struct Read {
    custom_id: Option<String>,
    response: Option<ReadResponse>,
    error: Option<ReadFault>,
}

#[derive(Deserialize)]
struct ReadResponse {
    status_code: u16,
}

#[derive(Deserialize)]
struct ReadFault {
    line: Option<u64>,
}

/// Reads a row; `None` where it is none.
pub(super) fn standing(line: &[u8]) -> Option<Standing> {
    let read: Read = serde_json::from_slice(line).ok()?;
    let status = read.response.map(|response| response.status_code);
    let line = read.error.as_ref().and_then(|error| error.line);
    let of = match (read.custom_id, line) {
        (_, Some(line)) => Of::Line(line),
        (id, None) => Of::Request(id?),
    };
    let is_ok = read.error.is_none() && status.is_some_and(|status| (200..300).contains(&status));
    Some(Standing { of, is_ok })
}

/// Whether a last line without its end may be the beginning of a row of ours.
pub(super) fn is_torn(line: &[u8]) -> bool {
    line.starts_with(BEGIN) || BEGIN.starts_with(line)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::{Value, json};

    fn reply(status: u16, kind: Option<Kind>, media: &str, body: &str) -> Reply {
        let reply = http::Response::builder()
            .status(status)
            .header("content-type", media)
            .header("x-request-id", "r1")
            .header("x-isogloss-strategy", "native");
        Reply {
            head: reply.body(()).unwrap().into_parts().0,
            body: Bytes::copy_from_slice(body.as_bytes()),
            kind,
            fault: None,
            tokens: (3, 4),
        }
    }

    fn json_of(row: &Row) -> Value {
        let text = std::str::from_utf8(&row.text).unwrap();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        assert!(is_torn(&row.text));
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_reply_is_one_line_with_its_own_numbers_and_is_read_as_what_it_is() {
        let body = "{\r\n \"n\": 1.50,\n \"t\": \"a\\nb\"\n}\n";
        let row = Row::answered(7, "x", &reply(200, None, "application/json", body));
        assert_eq!((row.outcome, row.tokens), (Outcome::Ok, (3, 4)));
        assert!(std::str::from_utf8(&row.text).unwrap().contains("1.50"));
        let read = json_of(&row);
        assert_eq!(read["id"], "batch_req_0000000007");
        assert_eq!(read["response"]["body"]["t"], "a\nb");
        assert_eq!(read["response"]["request_id"], "r1");
        let told = json!({"x-isogloss-strategy": "native"});
        assert_eq!(read["response"]["headers"], told);
        assert!(read["error"].is_null());
        let standing = standing(&row.text).unwrap();
        let of = Of::Request("x".to_owned());
        assert_eq!(standing, Standing { of, is_ok: true });
    }

    #[test]
    fn what_failed_is_sorted_by_whose_doing_it_is() {
        for (status, kind, outcome) in [
            (400, Some(Kind::InvalidSchema), Outcome::Refused),
            (404, None, Outcome::Refused),
            (502, Some(Kind::ConstraintViolated), Outcome::Violation),
            (502, Some(Kind::UpstreamFailed), Outcome::Upstream),
            (429, Some(Kind::RateLimited), Outcome::Upstream),
            (429, Some(Kind::UpstreamRateLimited), Outcome::Upstream),
            (429, None, Outcome::Upstream),
            (500, None, Outcome::Upstream),
            (503, Some(Kind::Overloaded), Outcome::Proxy),
        ] {
            let row = Row::answered(1, "x", &reply(status, kind, "application/json", "{}"));
            assert_eq!(row.outcome, outcome, "{status} {kind:?}");
            assert!(!standing(&row.text).unwrap().is_ok);
        }
    }

    #[test]
    fn what_is_no_json_is_a_text_and_a_stream_is_an_error() {
        let row = Row::answered(1, "x", &reply(502, None, "text/html", "<p>\n"));
        assert_eq!(json_of(&row)["response"]["body"], "<p>\n");
        for media in ["text/event-stream", "application/x-ndjson"] {
            let row = Row::answered(1, "x", &reply(200, None, media, "{}"));
            assert_eq!(json_of(&row)["error"]["param"], "body.stream");
            assert_eq!(row.outcome, Outcome::Refused);
        }
    }

    #[test]
    fn a_bad_line_is_known_by_its_number() {
        for custom_id in [None, Some("mine".to_owned())] {
            let error = Error::new(Kind::InvalidJson, "no").at("f");
            let named = json!(custom_id);
            let error = Box::new(error);
            let row = Row::bad_line(9, &Bad { error, custom_id });
            let fault = json!({"code": "invalid_json", "message": "no", "param": "f", "line": 9});
            assert_eq!(json_of(&row)["error"], fault);
            assert_eq!(json_of(&row)["custom_id"], named);
            let standing = standing(&row.text).unwrap();
            let of = Of::Line(9);
            assert_eq!(standing, Standing { of, is_ok: false });
        }
    }

    #[test]
    fn what_others_wrote_is_no_row_of_ours() {
        let theirs =
            br#"{"id":"b","custom_id":"x","response":{"status_code":200,"body":{}},"error":null}"#;
        assert!(standing(theirs).unwrap().is_ok);
        for text in ["", "7", "{}", r#"{"custom_id":null,"error":{}}"#, "id,name"] {
            assert_eq!(standing(text.as_bytes()), None, "{text}");
        }
        for (text, torn) in [
            ("{", true),
            (r#"{"id":"batch_req_1","#, true),
            ("id,", false),
        ] {
            assert_eq!(is_torn(text.as_bytes()), torn, "{text}");
        }
    }
}
