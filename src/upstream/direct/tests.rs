//! Requests and replies on real sockets, with a server that says exactly what a test wants it to say.
#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::upstream::client::Keepalive;
use bytes::Bytes;
use futures_util::stream;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use proptest::prelude::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// What a server does on one connection.
#[derive(Debug, Clone)]
enum Does {
    /// Reads on until there is this.
    Reads(&'static str),
    Says(Vec<u8>),
    Closes,
}

use Does::{Closes, Reads, Says};

/// A server of one connection after the other; what it read comes back when all are done.
async fn server(connections: Vec<Vec<Does>>) -> (Direct, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut all = Vec::new();
        for does in connections {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut got = Vec::new();
            for one in does {
                match one {
                    Reads(end) => {
                        let from = got.len();
                        while !got[from..].ends_with(end.as_bytes()) {
                            assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0, "{got:?}");
                        }
                    }
                    Says(bytes) => stream.write_all(&bytes).await.unwrap(),
                    Closes => stream.shutdown().await.unwrap(),
                }
            }
            all.push(String::from_utf8(got).unwrap());
        }
        all
    });
    (to(&url), serving)
}

fn to(url: &str) -> Direct {
    let upstream = UpstreamConfig::at(url.parse().unwrap());
    let keepalive = Keepalive {
        time: Duration::from_secs(15),
        probes: 3,
    };
    Direct::new(&Config::default(), &upstream, keepalive).unwrap()
}

fn says(text: &str) -> Does {
    Says(text.into())
}

fn request(direct: &Direct, method: Method, body: Option<reqwest::Body>) -> reqwest::Request {
    let url = format!("http://{}/a?b=c", direct.host.to_str().unwrap());
    let mut request = reqwest::Request::new(method, url.parse().unwrap());
    *request.body_mut() = body;
    request
}

async fn get(direct: &Direct) -> Result<Response<reqwest::Body>, Failure> {
    direct.execute(request(direct, Method::GET, None)).await
}

async fn text(reply: Response<reqwest::Body>) -> Result<String, reqwest::Error> {
    let bytes = reply.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

/// The end of a request without a body.
const BARE: &str = "\r\n\r\n";

#[tokio::test]
async fn a_body_ends_where_the_head_says() {
    for (head, body, expected) in [
        ("200 OK\r\ncontent-length: 3", "abc", Some("abc")),
        ("200 OK\r\ncontent-length: 0", "", Some("")),
        ("204 No Content", "", Some("")),
        (
            "302 Found\r\nlocation: /x\r\ncontent-length: 2",
            "ab",
            Some("ab"),
        ),
        (
            "200 OK\r\ntransfer-encoding: chunked",
            "2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n",
            Some("abc"),
        ),
        (
            "200 OK\r\ntransfer-encoding: chunked",
            "1\r\na\r\n0\r\nx-last: 1\r\n\r\n",
            Some("a"),
        ),
        (
            "200 OK\r\nconnection: close",
            "to the end",
            Some("to the end"),
        ),
        ("200 OK\r\ncontent-length: 4", "abc", None),
        ("200 OK\r\ntransfer-encoding: chunked", "2\r\nab\r\n", None),
        (
            "200 OK\r\ntransfer-encoding: chunked",
            "zz\r\nab\r\n0\r\n\r\n",
            None,
        ),
    ] {
        let reply = format!("HTTP/1.1 {head}\r\n\r\n{body}");
        let (direct, serving) = server(vec![vec![Reads(BARE), says(&reply), Closes]]).await;
        let got = text(get(&direct).await.unwrap()).await;
        assert_eq!(got.ok().as_deref(), expected, "{reply}");
        let got = serving.await.unwrap();
        assert!(got[0].starts_with("GET /a?b=c HTTP/1.1\r\n"), "{got:?}");
        assert!(!got[0].contains("content-length"), "{got:?}");
    }
}

#[tokio::test]
async fn a_reply_to_head_has_no_body_whatever_it_says() {
    let reply = says("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    let does = vec![Reads(BARE), reply.clone(), Reads(BARE), reply];
    let (direct, serving) = server(vec![does]).await;
    for _ in 0..2 {
        let asked = request(&direct, Method::HEAD, None);
        let reply = direct.execute(asked).await.unwrap();
        assert_eq!(reply.headers()["content-length"], "5");
        assert_eq!(text(reply).await.unwrap(), "");
    }
    serving.await.unwrap();
}

#[tokio::test]
async fn what_is_no_reply_is_told_as_what_it_is() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(80 << 10));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(300));
    for (reply, why) in [
        ("", Why::Reset),
        ("HTTP/1.1 200 OK\r\nconte", Why::Reset),
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", Why::NotHttp),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
            Why::NotHttp,
        ),
        (&long, Why::HeadTooLarge),
        (&many, Why::HeadTooLarge),
    ] {
        let (direct, serving) = server(vec![vec![Reads(BARE), says(reply), Closes]]).await;
        let failure = get(&direct).await.err().unwrap();
        assert_eq!(failure.why, why, "{reply:.40}");
        assert!(!failure.is_stale() && !failure.is_unread(), "{reply:.40}");
        serving.abort();
    }
}

#[tokio::test]
async fn interim_replies_are_passed_over() {
    let reply = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 418 Teapot\r\ncontent-length: 1\r\n\r\nx";
    let (direct, _serving) = server(vec![vec![Reads(BARE), says(reply), Closes]]).await;
    let reply = get(&direct).await.unwrap();
    assert_eq!(reply.status(), StatusCode::IM_A_TEAPOT);
    assert_eq!(text(reply).await.unwrap(), "x");
}

#[tokio::test]
async fn a_connection_serves_again_where_both_sides_are_done_with_the_request() {
    let whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
    for (first, is_kept) in [
        (format!("{whole}ab"), true),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n".to_owned(),
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nab".to_owned(),
            false,
        ),
        (
            "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab".to_owned(),
            false,
        ),
        // More than was announced: whose reply would it be?
        (format!("{whole}abHTTP/1.1 200 OK\r\n\r\n"), false),
    ] {
        let again = vec![Reads(BARE), says(whole), says("cd")];
        let once = vec![Reads(BARE), says(&first)];
        let connections = if is_kept {
            vec![[once, again].concat()]
        } else {
            vec![once, again]
        };
        let (direct, serving) = server(connections).await;
        for expected in ["ab", "cd"] {
            assert_eq!(
                text(get(&direct).await.unwrap()).await.unwrap(),
                expected,
                "{first}"
            );
        }
        serving.await.unwrap();
    }
}

#[tokio::test]
async fn a_kept_connection_that_breaks_is_stale_and_a_fresh_one_is_not() {
    let whole = says("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    let does = vec![Reads(BARE), whole, Reads(BARE), Closes];
    let (direct, serving) = server(vec![does]).await;
    get(&direct).await.unwrap();
    let failure = get(&direct).await.err().unwrap();
    assert!(failure.is_stale(), "{failure:?}");
    serving.await.unwrap();
    let (direct, _serving) = server(vec![vec![Reads(BARE), Closes]]).await;
    assert!(!get(&direct).await.err().unwrap().is_stale());
}

/// A server that was busy for longer than it keeps connections closes them all with the next requests (vLLM keeps them 5 s).
#[tokio::test]
async fn where_one_kept_connection_is_stale_the_next_request_has_a_fresh_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // Each connection answers its first request alone.
    let serving = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                for reply in [&b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"[..], b""] {
                    let mut got = Vec::new();
                    while !got.ends_with(BARE.as_bytes()) {
                        if stream.read_buf(&mut got).await.unwrap() == 0 {
                            return;
                        }
                    }
                    stream.write_all(reply).await.unwrap();
                }
            });
        }
    });
    let direct = to(&format!("http://{address}/"));
    let (one, other) = tokio::join!(get(&direct), get(&direct));
    for reply in [one, other] {
        assert_eq!(text(reply.unwrap()).await.unwrap(), "ab");
    }
    assert!(get(&direct).await.err().unwrap().is_stale());
    assert_eq!(text(get(&direct).await.unwrap()).await.unwrap(), "ab");
    serving.abort();
}

#[tokio::test]
async fn a_connection_to_a_socket_is_kept_unless_none_is_to_be() {
    let reply = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab";
    for (keeps, expected) in [(true, 1), (false, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.sock");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let (accepted, mut count) = tokio::sync::watch::channel(0);
        let serving = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                accepted.send_modify(|count| *count += 1);
                tokio::spawn(async move {
                    let mut got = Vec::new();
                    while stream.read_buf(&mut got).await.unwrap() > 0 {
                        if got.ends_with(BARE.as_bytes()) {
                            stream.write_all(reply).await.unwrap();
                        }
                    }
                });
            }
        });
        let way = Direct::to_socket(&path);
        let direct = if keeps { way } else { way.keeping_none() };
        for _ in 0..2 {
            assert_eq!(text(get(&direct).await.unwrap()).await.unwrap(), "ab");
        }
        assert_eq!(*count.borrow_and_update(), expected);
        serving.abort();
        let gone = folder.path().join("none.sock");
        let failure = get(&Direct::to_socket(&gone)).await.err().unwrap();
        assert_eq!(failure.why, Why::Refused);
    }
}

fn streamed(pieces: &[&'static str]) -> reqwest::Body {
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| {
            Ok::<_, io::Error>(http_body::Frame::data(Bytes::from_static(piece.as_bytes())))
        })
        .collect();
    reqwest::Body::wrap(StreamBody::new(stream::iter(pieces)))
}

#[tokio::test]
async fn a_requests_body_is_told_by_its_length_or_in_chunks() {
    let done = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    for (body, told, end) in [
        (
            Some(reqwest::Body::from("abc")),
            "content-length: 3\r\n\r\n",
            "abc",
        ),
        (None, "content-length: 0\r\n\r\n", ""),
        (
            Some(streamed(&["ab", "", "c"])),
            "transfer-encoding: chunked\r\n\r\n",
            "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
        ),
    ] {
        let (direct, serving) = server(vec![vec![
            Reads(if end.is_empty() { BARE } else { end }),
            says(done),
        ]])
        .await;
        let asked = request(&direct, Method::POST, body);
        direct.execute(asked).await.unwrap();
        let got = serving.await.unwrap().remove(0);
        assert!(got.ends_with(&format!("{told}{end}")), "{got}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_what_was_announced_is_the_clients_fault() {
    for pieces in [&["ab"][..], &["ab", "cd"]] {
        let (direct, serving) = server(vec![vec![Reads("never")]]).await;
        let mut asked = request(&direct, Method::POST, Some(streamed(pieces)));
        asked
            .headers_mut()
            .insert("content-length", HeaderValue::from_static("3"));
        assert_eq!(direct.execute(asked).await.err().unwrap().why, Why::BodyCut);
        serving.abort();
    }
}

#[tokio::test]
async fn a_server_may_answer_before_it_has_everything() {
    let reply = "HTTP/1.1 413 Too Large\r\ncontent-length: 8\r\n\r\ntoo long";
    let (direct, serving) = server(vec![
        vec![Reads(BARE), says(reply)],
        vec![Reads(BARE), says(reply)],
    ])
    .await;
    // The rest of the first body never comes.
    let first = stream::once(async {
        Ok::<_, io::Error>(http_body::Frame::data(Bytes::from_static(
            b"begins\r\n\r\n",
        )))
    });
    let endless = futures_util::StreamExt::chain(first, stream::pending());
    let asked = request(
        &direct,
        Method::POST,
        Some(reqwest::Body::wrap(StreamBody::new(endless))),
    );
    let reply = direct.execute(asked).await.unwrap();
    assert_eq!(text(reply).await.unwrap(), "too long");
    // Nothing of the next request goes onto that connection.
    assert_eq!(text(get(&direct).await.unwrap()).await.unwrap(), "too long");
    serving.await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn pieces_never_change_what_is_read(cuts in prop::collection::vec(1..60_usize, 0..12), size in 1..50_000_usize, step in 1..20_000_usize) {
        let body: String = (0..size).map(|at| char::from(b'a' + u8::try_from(at % 26).unwrap())).collect();
        let mut reply = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for chunk in body.as_bytes().chunks(step) {
            reply.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            reply.extend_from_slice(chunk);
            reply.extend_from_slice(b"\r\n");
        }
        reply.extend_from_slice(b"0\r\n\r\n");
        let mut does = vec![Reads(BARE)];
        for cut in cuts {
            let rest = reply.split_off(cut.min(reply.len()));
            does.push(Says(std::mem::replace(&mut reply, rest)));
        }
        does.push(Says(reply));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let got = runtime.block_on(async {
            let (direct, _serving) = server(vec![does]).await;
            text(get(&direct).await.unwrap()).await.unwrap()
        });
        prop_assert!(got == body);
    }
}
