//! The two spans of a request, by OpenTelemetry's conventions for HTTP and generative AI: what the
//! client saw, and within it what the upstream was asked. Never a byte of content.

use super::request_id;
use crate::telemetry::{Span, SpanKind, TraceContext};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use serde_json::Value;
use std::time::{Duration, SystemTime};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A request that is traced.
#[derive(Debug)]
pub(super) struct Trace {
    trace: u128,
    parent: Option<u64>,
    server: u64,
    client: u64,
    begun: SystemTime,
}

/// What there is to tell of a request that is over.
pub(super) struct Told<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) status: Option<u16>,
    pub(super) outcome: &'static str,
    /// The error's code, where it ended with one.
    pub(super) code: Option<&'static str>,
    pub(super) duration: Duration,
    /// From its begin to what was first sent upstream.
    pub(super) sent_after: Option<Duration>,
    pub(super) upstream: Option<&'a str>,
    /// `vllm`, where the request was planned for a dialect.
    pub(super) dialect: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) strategy: Option<&'static str>,
    pub(super) is_stream: bool,
}

/// Of the standard library's random seeds; an id of 0 is none.
fn new_span() -> u64 {
    (request_id::random() as u64).max(1)
}

impl Trace {
    /// Goes on with the client's trace, or begins one; the upstream is told of the span that asks
    /// it. `None` where the client says that it records nothing.
    pub(super) fn begin(headers: &mut HeaderMap) -> Option<Self> {
        let mut given = headers.get_all(&TRACEPARENT).iter();
        // Two parents are none.
        let parent = match (given.next(), given.next()) {
            (Some(one), None) => one.to_str().ok().and_then(TraceContext::read),
            _ => None,
        };
        if parent.is_some_and(|parent| !parent.sampled) {
            return None;
        }
        let trace = Self {
            trace: parent.map_or_else(|| request_id::random().max(1), |parent| parent.trace),
            parent: parent.map(|parent| parent.span),
            server: new_span(),
            client: new_span(),
            begun: SystemTime::now(),
        };
        let context = TraceContext {
            trace: trace.trace,
            span: trace.client,
            sampled: true,
        };
        if parent.is_none() {
            // It belongs to the parent that could not be read.
            headers.remove("tracestate");
        }
        if let Ok(value) = HeaderValue::from_str(&context.write()) {
            headers.insert(TRACEPARENT, value);
        }
        Some(trace)
    }

    /// The spans of the request, which is over.
    pub(super) fn spans(&self, told: &Told<'_>) -> Vec<Span> {
        let mut spans = vec![Span {
            trace: self.trace,
            id: self.server,
            parent: self.parent,
            // A forwarded path is the client's word: names stay few.
            name: match told.model {
                Some(_) => format!("{} {}", told.method, told.path),
                None => told.method.to_owned(),
            },
            kind: SpanKind::Server,
            begun: self.begun,
            duration: told.duration,
            attributes: server_attributes(told),
            error: told.code,
        }];
        if let Some(after) = told.sent_after {
            let name = match told.model {
                Some(model) => format!("chat {model}"),
                None => told.method.to_owned(),
            };
            spans.push(Span {
                trace: self.trace,
                id: self.client,
                parent: Some(self.server),
                name,
                kind: SpanKind::Client,
                begun: self.begun + after,
                duration: told.duration.saturating_sub(after),
                attributes: client_attributes(told),
                error: told.code,
            });
        }
        spans
    }
}

fn some<T: Into<Value>>(key: &'static str, value: Option<T>) -> Option<(&'static str, Value)> {
    value.map(|value| (key, value.into()))
}

fn server_attributes(told: &Told<'_>) -> Vec<(&'static str, Value)> {
    let known = [
        some("http.request.method", Some(told.method)),
        some("url.path", Some(told.path)),
        some("http.response.status_code", told.status),
        some("isogloss.outcome", Some(told.outcome)),
        some("isogloss.strategy", told.strategy),
        some("error.type", told.code),
    ];
    known.into_iter().flatten().collect()
}

fn client_attributes(told: &Told<'_>) -> Vec<(&'static str, Value)> {
    let uri: Option<Uri> = told.upstream.and_then(|name| name.parse().ok());
    let host = uri.as_ref().and_then(Uri::host);
    let port = uri.as_ref().and_then(Uri::port_u16);
    let known = [
        some("gen_ai.operation.name", told.model.map(|_| "chat")),
        some("gen_ai.provider.name", told.dialect),
        some("gen_ai.request.model", told.model),
        some("gen_ai.request.stream", told.is_stream.then_some(true)),
        some("server.address", host),
        some("server.port", port),
        some("error.type", told.code),
    ];
    known.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use serde_json::json;

    fn headers(values: &[&'static str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(TRACEPARENT, HeaderValue::from_static(value));
        }
        headers.insert("tracestate", HeaderValue::from_static("a=b"));
        headers
    }

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_clients_trace_goes_on_and_the_upstream_gets_the_span_that_asks_it() {
        let mut headers = headers(&[GIVEN]);
        let trace = Trace::begin(&mut headers).unwrap();
        assert_eq!(trace.parent, Some(0x00f0_67aa_0ba9_02b7));
        let sent = TraceContext::read(headers[TRACEPARENT].to_str().unwrap()).unwrap();
        assert_eq!(
            (sent.trace, sent.span, sent.sampled),
            (trace.trace, trace.client, true)
        );
        assert_eq!(headers["tracestate"], "a=b");
    }

    #[test]
    fn a_trace_that_nobody_records_goes_on_untouched() {
        let given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        let mut headers = headers(&[given]);
        assert!(Trace::begin(&mut headers).is_none());
        assert_eq!(headers[TRACEPARENT], given);
    }

    #[test]
    fn a_parent_that_cannot_be_read_begins_a_new_trace() {
        for values in [&["garbage"][..], &[GIVEN, GIVEN], &[]] {
            let mut headers = headers(values);
            let trace = Trace::begin(&mut headers).unwrap();
            assert_eq!(trace.parent, None);
            assert_eq!(headers.get_all(TRACEPARENT).iter().count(), 1);
            assert!(headers.get("tracestate").is_none());
        }
    }

    #[test]
    fn a_request_that_was_sent_nowhere_has_one_span() {
        let trace = Trace::begin(&mut HeaderMap::new()).unwrap();
        let told = Told {
            method: "POST",
            path: "/v1/chat/completions",
            status: Some(400),
            outcome: "client_error",
            code: Some("invalid_json"),
            duration: Duration::from_millis(1),
            sent_after: None,
            upstream: None,
            dialect: None,
            model: None,
            strategy: None,
            is_stream: false,
        };
        let spans = trace.spans(&told);
        assert_eq!(spans.len(), 1);
        assert_eq!(spans[0].error, Some("invalid_json"));
        let status = ("http.response.status_code", json!(400));
        assert!(spans[0].attributes.contains(&status));
        let asked = Told {
            sent_after: Some(Duration::ZERO),
            upstream: Some("http://vllm:8000"),
            model: Some("tiny"),
            ..told
        };
        let spans = trace.spans(&asked);
        assert_eq!(spans[1].name, "chat tiny");
        assert_eq!(spans[1].parent, Some(spans[0].id));
        assert!(spans[1].attributes.contains(&("server.port", json!(8000))));
    }
}
