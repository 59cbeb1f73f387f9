//! Beside hyper: what it reads through this is what it would have read without, up to a request that is refused.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use isogloss_testing::requests::{self, Right, changed, pieces};
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// The requests that hyper read as a whole, and all that it answered.
type Read = (Vec<(String, Vec<u8>)>, String);

async fn read(pieces: &[&[u8]], is_strict: bool) -> Read {
    let (mut client, server) = tokio::io::duplex(1 << 20);
    let got = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&got);
    let service = service_fn(move |request: Request<Incoming>| {
        let got = Arc::clone(&got);
        async move {
            let target = request.uri().to_string();
            let status = match request.into_body().collect().await {
                Ok(body) => {
                    let body = body.to_bytes().to_vec();
                    got.lock().unwrap().push((target, body));
                    200
                }
                Err(_) => 400,
            };
            let mut reply = Response::new(Full::new(Bytes::new()));
            *reply.status_mut() = http::StatusCode::from_u16(status).unwrap();
            Ok::<_, Infallible>(reply)
        }
    });
    let mut http = http1::Builder::new();
    // Seconds pass between one connection and the other.
    http.auto_date_header(false);
    let switched = Switched::default();
    switched.0.store(!is_strict, Ordering::Relaxed);
    let io = TokioIo::new(StrictIo::new(server, switched));
    let serving = tokio::spawn(http.serve_connection(io, service));
    for piece in pieces {
        // Who refuses may be gone.
        let _refused = client.write_all(piece).await;
        tokio::task::yield_now().await;
    }
    // Closed only when all is answered: what is there is read to its end.
    let mut answered = Vec::new();
    let _more = tokio::time::timeout(
        std::time::Duration::from_secs(1),
        client.read_to_end(&mut answered),
    )
    .await;
    drop(client);
    let _ended = serving.await;
    let got = std::mem::take(&mut *seen.lock().unwrap());
    (got, String::from_utf8(answered).unwrap())
}

/// Time stands still while anything is to be done.
fn both(pieces: &[&[u8]]) -> (Read, Read) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async { (read(pieces, true).await, read(pieces, false).await) })
}

fn refusals(answered: &str) -> usize {
    answered.matches("HTTP/1.1 400 ").count()
}

fn right() -> impl Strategy<Value = Right> {
    prop::collection::vec(any::<u16>(), requests::DRAWN).prop_map(|drawn| Right::drawn(&drawn))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn right_requests_are_read_as_they_are(
        requests in prop::collection::vec(right(), 1..4),
        steps in prop::collection::vec(0..60_usize, 0..8),
    ) {
        let wire: Vec<u8> = requests.iter().flat_map(|one| one.wire.clone()).collect();
        let (strict, bare) = both(&pieces(&wire, &steps));
        let bodies: Vec<_> = strict.0.iter().map(|(_, body)| body.clone()).collect();
        let sent: Vec<_> = requests.into_iter().map(|one: Right| one.body).collect();
        prop_assert_eq!(bodies, sent);
        prop_assert_eq!(&strict.0, &bare.0);
        prop_assert_eq!(refusals(&strict.1), 0);
    }

    #[test]
    fn what_is_read_of_any_bytes_is_what_would_have_been_read_up_to_a_refusal(
        requests in prop::collection::vec(right(), 1..3),
        changes in prop::collection::vec((0..250_usize, prop::sample::select(b"\r\n :;05x".to_vec())), 1..4),
        steps in prop::collection::vec(0..60_usize, 0..8),
    ) {
        let wire = requests.iter().flat_map(|one| one.wire.clone()).collect();
        let wire = changed(wire, &changes);
        let pieces = pieces(&wire, &steps);
        let (strict, bare) = both(&pieces);
        let mut framing = RequestFraming::new();
        let is_refused = framing.judge(&wire).is_some();
        let count = strict.0.len();
        prop_assert!(count <= bare.0.len());
        prop_assert_eq!(&strict.0[..], &bare.0[..count]);
        // After a request of HTTP/1.0 nothing is read.
        let is_closed = wire.windows(8).any(|part| part == b"HTTP/1.0");
        if is_refused && !is_closed {
            prop_assert_eq!(refusals(&strict.1), 1, "{}", strict.1);
        } else if !is_refused {
            prop_assert_eq!(strict, bare);
        }
    }
}

const UPGRADE: &str =
    "GET /socket HTTP/1.1\r\nhost: h\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";

/// What a client hears that wants another protocol and then says this, where that is accepted or not.
async fn upgraded(is_accepted: bool, says: &[u8]) -> String {
    let (mut client, server) = tokio::io::duplex(1 << 10);
    let service = service_fn(move |request: Request<Incoming>| async move {
        let mut reply = Response::new(Full::new(Bytes::new()));
        if is_accepted {
            *reply.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            tokio::spawn(async move {
                let mut io = TokioIo::new(hyper::upgrade::on(request).await.unwrap());
                let mut heard = [0; 64];
                while let Ok(count @ 1..) = io.read(&mut heard).await {
                    io.write_all(&heard[..count]).await.unwrap();
                }
            });
        }
        Ok::<_, Infallible>(reply)
    });
    let switched = Switched::default();
    let io = TokioIo::new(StrictIo::new(server, switched.clone()));
    let connection = http1::Builder::new()
        .serve_connection(io, switched.noting(service))
        .with_upgrades();
    let serving = tokio::spawn(connection);
    client.write_all(UPGRADE.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n") {
        client.read_buf(&mut heard).await.unwrap();
    }
    client.write_all(says).await.unwrap();
    let _more = tokio::time::timeout(
        std::time::Duration::from_secs(1),
        client.read_to_end(&mut heard),
    )
    .await;
    drop(client);
    let _ended = serving.await;
    String::from_utf8(heard).unwrap()
}

#[tokio::test(start_paused = true)]
async fn another_protocol_is_nobodys_to_judge_and_one_that_is_refused_changes_nothing() {
    let says = "\n\nGET / HTTP/1.1\ncontent-length: \0\r\r\n";
    let heard = upgraded(true, says.as_bytes()).await;
    assert!(heard.starts_with("HTTP/1.1 101 "), "{heard}");
    assert!(heard.ends_with(says), "{heard}");
    let heard = upgraded(false, UPGRADE.replace("\r\n", "\n").as_bytes()).await;
    assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
    assert_eq!(refusals(&heard), 1, "{heard}");
}

/// What a client hears that sends a head and so much of a body before it reads, and how long that takes, where nobody reads the body.
async fn refused_unread(head: &str, body: &str, end: &str) -> (String, std::time::Duration) {
    let (mut client, server) = tokio::io::duplex(1 << 10);
    let service = service_fn(|_unread: Request<Incoming>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("no"))))
    });
    let io = TokioIo::new(StrictIo::new(server, Switched::default()));
    let serving = tokio::spawn(http1::Builder::new().serve_connection(io, service));
    let begun = tokio::time::Instant::now();
    for part in [head, body, end] {
        client.write_all(part.as_bytes()).await.unwrap();
    }
    let mut heard = String::new();
    client.read_to_string(&mut heard).await.unwrap();
    let _ended = serving.await;
    (heard, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn who_sends_a_body_that_nobody_reads_hears_why() {
    let body = "x".repeat(1 << 20);
    let announced = format!("POST / HTTP/1.1\r\ncontent-length: {}\r\n\r\n", body.len());
    let chunked = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n100000\r\n";
    for (head, end) in [(&*announced, ""), (chunked, "\r\n0\r\n\r\n")] {
        let (heard, took) = refused_unread(head, &body, end).await;
        assert!(heard.starts_with("HTTP/1.1 200 "), "{heard}");
        assert!(took < LINGER_PAUSE, "{took:?}");
    }
    // What never comes is not waited for.
    let (heard, took) = refused_unread(&announced, &body[1..], "").await;
    assert!(heard.ends_with("no"), "{heard}");
    assert!(took <= 2 * LINGER_PAUSE, "{took:?}");
}
