#![expect(clippy::panic, reason = "tests")]
use super::*;
use crate::proxy::body::ReplyBody;
use crate::proxy::budget::Budget;
use http_body_util::BodyExt;
use isogloss_core::dialect::chat::client::Chat;

/// Says one thing, and panics at another.
struct Panics {
    at_the_end: bool,
}

impl Steps for Panics {
    fn push(&mut self, chunk: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        if !self.at_the_end && chunk.ends_with(b"2") {
            out.extend_from_slice(b"half of");
            panic!("an invariant that names a secret");
        }
        out.extend_from_slice(b"data: said\n\n");
        Ok(())
    }

    fn finish(&mut self, _end: End, _out: &mut Vec<u8>) -> Result<(), Fault> {
        panic!("another");
    }

    fn is_done(&self) -> bool {
        false
    }

    fn violation(&self) -> Option<&Violation> {
        None
    }

    fn repairs(&self) -> Repairs {
        Repairs::default()
    }

    fn fact(&self) -> Option<&'static str> {
        None
    }

    fn fail(&mut self, error: &Error, out: &mut Vec<u8>) {
        out.extend_from_slice(&Chat.error_event(error));
    }
}

fn streamed(translator: Panics, record: &Record) -> ReplyBody {
    let metrics = Arc::new(Metrics::new([]));
    let chunks = futures_util::stream::iter(["1", "2"].map(Ok::<_, std::io::Error>));
    ReplyBody::Translated(Box::new(Translated {
        client: &Chat,
        source: Some(reqwest::Body::wrap_stream(chunks)),
        translator: Box::new(translator),
        out: Vec::new(),
        fault: None,
        breaking: Breaking::default(),
        stage: Pull::Running,
        has_passed: false,
        taken: 0,
        is_alive: false,
        idle: Box::pin(tokio::time::sleep(LINGER)),
        idle_limit: LINGER,
        out_of_time: Box::pin(std::future::pending()),
        record: record.clone(),
        _open: metrics.stream_opened(),
        metrics,
        server: None,
        flight: None,
        keeping: None,
        held: Held::new(
            Budget::new(1 << 20, Arc::new(Metrics::new([]))).running(),
            1 << 20,
        ),
        room: None,
    }))
}

#[tokio::test]
async fn a_panic_in_the_middle_of_a_stream_ends_it_with_an_error_event() {
    for at_the_end in [false, true] {
        let record = Record::default();
        let body = streamed(Panics { at_the_end }, &record).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let text = String::from_utf8_lossy(&body);
        let events: Vec<_> = text.split_terminator("\n\n").collect();
        let said = if at_the_end { 2 } else { 1 };
        assert_eq!(events.len(), said + 1, "{text}");
        assert!(
            events[..said].iter().all(|event| *event == "data: said"),
            "{text}"
        );
        assert!(events[said].contains("\"code\":\"internal\""), "{text}");
        assert!(
            !text.contains("secret") && !text.contains("half of"),
            "{text}"
        );
        assert_eq!(
            record.outcome(),
            Some(crate::telemetry::Outcome::from(Kind::Internal))
        );
    }
}

#[test]
fn pings_are_comments_and_events_are_not() {
    for ping in [": ping\n\n", ":\r\n\r\n", "\n"] {
        assert!(is_comment(ping.as_bytes()), "{ping:?}");
    }
    for event in ["data: {}\n\n", ": ping\n\ndata: {}", "ta: {"] {
        assert!(!is_comment(event.as_bytes()), "{event:?}");
    }
}
