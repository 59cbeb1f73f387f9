//! Where a request ends is beyond doubt, or it is refused before anything of it goes on: the real binary, plain and in
//! TLS, and byte by byte what clients send it.

use super::tls::{Running, TLS, certificates, serve};
use crate::support::chat::{JSON, completion};
use isogloss_testing::scripted::{Got, PATIENCE, Scripted, reply};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// What a client says, and how often it is served before it is refused, if it is.
struct Case {
    name: &'static str,
    wire: String,
    served: usize,
    is_refused: bool,
}

fn right(name: &'static str, served: usize, wire: String) -> Case {
    Case {
        name,
        wire,
        served,
        is_refused: false,
    }
}

fn wrong(name: &'static str, wire: String) -> Case {
    Case {
        name,
        wire,
        served: 0,
        is_refused: true,
    }
}

/// A request with these lines in its head, and this behind it.
fn post(lines: &str, body: &str) -> String {
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: p\r\ncontent-type: application/json\r\n{lines}\r\n{body}"
    )
}

fn whole() -> String {
    post(&format!("content-length: {}\r\n", BODY.len()), BODY)
}

/// The body in two chunks, whose size lines end like this, and what comes after the last one.
fn chunked(ending: &str, last: &str) -> String {
    let (first, rest) = BODY.split_at(10);
    let size = rest.len();
    let body = format!("a{ending}\r\n{first}\r\n{size:X}{ending}\r\n{rest}\r\n{last}");
    post("transfer-encoding: chunked\r\n", &body)
}

fn faults() -> Vec<Case> {
    let length = BODY.len();
    let whole = whole();
    let chunks = chunked("", "0\r\n\r\n");
    let both = |first: &str, second: &str| {
        let body = format!("{length:x}\r\n{BODY}\r\n0\r\n\r\n");
        post(&format!("{first}\r\n{second}\r\n"), &body)
    };
    let (coding, size) = (
        "transfer-encoding: chunked",
        format!("content-length: {length}"),
    );
    vec![
        wrong("request line", whole.replacen("1.1\r\n", "1.1\n", 1)),
        wrong("header", whole.replacen("host: p\r\n", "host: p\n", 1)),
        wrong(
            "length",
            whole.replacen(&format!("{size}\r\n"), &format!("{size}\n"), 1),
        ),
        wrong("end of head", whole.replacen("\r\n\r\n", "\r\n\n", 1)),
        wrong("whole head", whole.replace("\r\n", "\n")),
        wrong("empty line before", format!("\n{whole}")),
        wrong("length, then chunks", both(&size, coding)),
        wrong("chunks, then length", both(coding, &size)),
        wrong("chunks, then no length", both(coding, "content-length: x")),
        wrong(
            "two lengths",
            whole.replacen(&size, &format!("{size}\r\ncontent-length: 3"), 1),
        ),
        wrong(
            "list of lengths",
            whole.replacen(&size, &format!("{size}, {length}"), 1),
        ),
        wrong("blank before an extension", chunked(" ;x", "0\r\n\r\n")),
        wrong("tab before an extension", chunked("\t;x", "0\r\n\r\n")),
        wrong("blank behind a size", chunked(" ", "0\r\n\r\n")),
        wrong("blank behind the last size", chunked("", "0 \r\n\r\n")),
        wrong("size line", chunks.replacen("\r\na\r\n", "\r\na\n", 1)),
        wrong(
            "extension line",
            chunks.replacen("\r\na\r\n", "\r\na;x\n", 1),
        ),
        wrong("end of a chunk", chunks.replacen("}]}\r\n", "}]}\n", 1)),
        wrong("last size line", chunked("", "0\n\r\n")),
        wrong("trailer", chunked("", "0\r\na: b\nc: d\r\n\r\n")),
        wrong("end of chunks", chunked("", "0\r\n\n")),
        Case {
            served: 1,
            ..wrong(
                "behind a right one",
                format!("{whole}GET / HTTP/1.1\nhost: h\n\n"),
            )
        },
    ]
}

fn forms() -> Vec<Case> {
    let whole = whole();
    let length = BODY.len();
    let expect = post(
        &format!("expect: 100-continue\r\ncontent-length: {length}\r\n"),
        BODY,
    );
    let upgrade = post(
        &format!("connection: upgrade\r\nupgrade: h2c\r\ncontent-length: {length}\r\n"),
        BODY,
    );
    let get = "GET /v1/models HTTP/1.1\r\nhost: p\r\ncontent-length: 3\r\n\r\n\n\n\n";
    vec![
        right("whole", 1, whole.clone()),
        right("empty lines before", 1, format!("\r\n\r\n{whole}")),
        right(
            "other letters",
            1,
            whole.replace("content-length:", "CONTENT-LENGTH:\t"),
        ),
        right(
            "the same length twice",
            1,
            whole.replace("host: p", &format!("host: p\r\ncontent-length: {length}")),
        ),
        right(
            "pipelined",
            3,
            format!("{whole}{}{whole}", chunked("", "0\r\n\r\n")),
        ),
        right("expectation", 1, expect),
        right("refused upgrade", 2, format!("{upgrade}{whole}")),
        right("body of a GET", 2, format!("{get}{whole}")),
        right("chunks", 1, chunked("", "0\r\n\r\n")),
        right("extensions", 1, chunked(";a=b;c=\"d e\"", "0;x\r\n\r\n")),
        right(
            "trailers",
            2,
            format!(
                "{}{whole}",
                chunked("", "000\r\na: b\r\ncontent-length: 7\r\n\r\n")
            ),
        ),
    ]
}

/// Sends it and reads what comes: until the proxy closes where it refuses, else until all is answered.
async fn ask(mut stream: Box<dyn Stream>, case: &Case, is_slow: bool) -> String {
    let step = if is_slow { 7 } else { case.wire.len() };
    for piece in case.wire.as_bytes().chunks(step) {
        // Who refuses early may not read to the end.
        if stream.write_all(piece).await.is_err() || stream.flush().await.is_err() {
            break;
        }
        if is_slow {
            tokio::task::yield_now().await;
        }
    }
    let mut came = Vec::new();
    let is_answered = |came: &[u8]| {
        let text = String::from_utf8_lossy(came);
        !case.is_refused
            && text.matches("HTTP/1.1 200").count() == case.served
            && text.ends_with('}')
    };
    while !is_answered(&came) {
        let read = tokio::time::timeout(PATIENCE, stream.read_buf(&mut came)).await;
        match read {
            Ok(Ok(0) | Err(_)) => break,
            Ok(Ok(_)) => {}
            Err(_) => panic!("{}: {}", case.name, String::from_utf8_lossy(&came)),
        }
    }
    String::from_utf8_lossy(&came).into_owned()
}

async fn holds(
    running: &Running,
    upstream: &mut Scripted,
    tls: Option<&tokio_rustls::TlsConnector>,
) {
    let address = running.1.split("://").nth(1).unwrap();
    for (case, is_slow) in faults()
        .iter()
        .chain(&forms())
        .flat_map(|case| [(case, false), (case, true)])
    {
        let name = case.name;
        if is_slow && case.is_refused {
            // What is still on its way when the connection closes may cost the answer.
            continue;
        }
        let plain = TcpStream::connect(address).await.unwrap();
        plain.set_nodelay(true).unwrap();
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(plain),
            Some(tls) => {
                let host = ServerName::try_from("localhost").unwrap();
                Box::new(tls.connect(host, plain).await.unwrap())
            }
        };
        let came = ask(stream, case, is_slow).await;
        let count = |status: &str| came.matches(&format!("HTTP/1.1 {status} ")).count();
        assert_eq!(count("200"), case.served, "{name}: {came}");
        assert_eq!(count("400"), usize::from(case.is_refused), "{name}: {came}");
        let expects = usize::from(name == "expectation");
        assert_eq!(count("100"), expects, "{name}: {came}");
        // Nothing of what was refused went on, and the rest as it is.
        let gets = usize::from(name == "body of a GET");
        for _ in gets..case.served {
            let got = upstream.next().await;
            assert_eq!(got.body, BODY.as_bytes(), "{name}");
        }
        assert_eq!(upstream.left(), 0, "{name}");
    }
}

fn answer(_got: &Got) -> Vec<isogloss_testing::scripted::Step> {
    vec![reply(200, JSON, &completion("42"))]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_two_readers_could_end_elsewhere_is_refused_and_all_else_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut upstream = Scripted::start(answer).await;
    let running = serve(folder.path(), &upstream.url(), &["--probe", "off"]);
    holds(&running, &mut upstream, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_the_same_in_tls() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(()) = certificates(folder) else {
        return;
    };
    let mut upstream = Scripted::start(answer).await;
    let flags = [&TLS[..], &["--probe", "off"]].concat();
    let running = serve(folder, &upstream.url(), &flags);
    for protocols in [vec![], vec![b"http/1.1".to_vec()]] {
        let connector = connector(folder, protocols);
        holds(&running, &mut upstream, Some(&connector)).await;
    }
}

fn connector(folder: &Path, protocols: Vec<Vec<u8>>) -> tokio_rustls::TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(folder.join("ca.pem")).unwrap();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols;
    Arc::new(config).into()
}
