//! Spans in; the JSON of an OTLP export request out. Pure.

use serde::Serialize;
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Which side of an exchange a span is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that was served.
    Server,
    /// A request that was sent.
    Client,
}

impl SpanKind {
    /// The number in the protocol.
    const fn number(self) -> u8 {
        match self {
            Self::Server => 2,
            Self::Client => 3,
        }
    }
}

/// One span that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Of the whole trace.
    pub trace: u128,
    /// Its own.
    pub id: u64,
    /// Of the span that it is a part of.
    pub parent: Option<u64>,
    /// What was done.
    pub name: String,
    /// Which side.
    pub kind: SpanKind,
    /// When it began.
    pub begun: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// Texts, whole numbers, or `true` and `false`.
    pub attributes: Vec<(&'static str, Value)>,
    /// The error's code, where it ended with one.
    pub error: Option<&'static str>,
}

/// The body of a request to `/v1/traces`, by a process of which this is told.
#[must_use]
pub fn export(spans: &[Span], resource: &[(String, String)]) -> Value {
    let about = resource.iter();
    let about: Vec<_> = about.map(|(name, value)| (name, json!(value))).collect();
    let scope = json!({"name": "isogloss", "version": env!("CARGO_PKG_VERSION")});
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": attributes(&about)},
        "scopeSpans": [{"scope": scope, "spans": spans}],
    }]})
}

fn span(span: &Span) -> Value {
    let mut written = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": span.kind.number(),
        "startTimeUnixNano": nanoseconds(span.begun),
        "endTimeUnixNano": nanoseconds(span.begun + span.duration),
        "attributes": attributes(&span.attributes),
        // Unset where all is well, as the conventions want it.
        "status": span.error.map_or_else(|| json!({}), |code| json!({"code": 2, "message": code})),
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    written
}

/// 64-bit numbers are strings in this JSON.
fn nanoseconds(time: SystemTime) -> String {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since_epoch.as_nanos().to_string()
}

fn attributes(list: &[(impl Serialize, Value)]) -> Vec<Value> {
    let value = |value: &Value| match value {
        Value::Bool(flag) => json!({"boolValue": flag}),
        Value::Number(number) => json!({"intValue": number.to_string()}),
        Value::String(text) => json!({"stringValue": text}),
        other => json!({"stringValue": other.to_string()}),
    };
    list.iter()
        .map(|(key, found)| json!({"key": key, "value": value(found)}))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_written_as_the_protocol_has_it() {
        let span = Span {
            trace: 0xa,
            id: 0xb,
            parent: Some(0xc),
            name: "chat x".to_owned(),
            kind: SpanKind::Client,
            begun: UNIX_EPOCH + Duration::from_secs(1),
            duration: Duration::from_nanos(5),
            attributes: vec![("a", json!("b")), ("n", json!(7)), ("s", json!(true))],
            error: Some("upstream_error"),
        };
        let service = ("service.name".to_owned(), "llm-proxy".to_owned());
        let body = export(&[span], &[service]);
        let written = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        let expected = json!({
            "traceId": "0000000000000000000000000000000a",
            "spanId": "000000000000000b",
            "name": "chat x",
            "kind": 3,
            "startTimeUnixNano": "1000000000",
            "endTimeUnixNano": "1000000005",
            "attributes": [
                {"key": "a", "value": {"stringValue": "b"}},
                {"key": "n", "value": {"intValue": "7"}},
                {"key": "s", "value": {"boolValue": true}},
            ],
            "status": {"code": 2, "message": "upstream_error"},
            "parentSpanId": "000000000000000c",
        });
        assert_eq!(*written, expected);
        let service = &body["resourceSpans"][0]["resource"]["attributes"][0];
        assert_eq!(
            *service,
            json!({"key": "service.name", "value": {"stringValue": "llm-proxy"}})
        );
    }
}
