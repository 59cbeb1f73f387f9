//! A server's name is asked for again: one that moves is followed, and one that is gone is told of. The names are those
//! of a hosts file that the program alone sees.

use crate::overload::{CHAT, ask, binary::Binary};
use crate::support::chat::PLAIN;
use crate::support::proxy::post;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What the program sees of files, in a name space of its own.
const OWN_FILES: &str = "exec unshare --mount sh -c \
    'mount --bind hosts /etc/hosts && mount --bind nsswitch /etc/nsswitch.conf && shift && exec \"$@\"' sh";

/// A server that says its name, on a connection that it then closes.
fn server(address: &str, name: &'static str) -> u16 {
    let listener = TcpListener::bind(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut length, mut line) = (0, String::new());
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                let given = line.to_ascii_lowercase();
                if let Some(given) = given.strip_prefix("content-length:") {
                    length = given.trim().parse().unwrap();
                }
                line.clear();
            }
            let _ = stream.read_exact(&mut vec![0; length]);
            let message = format!(r#"{{"role":"assistant","content":"{name}"}}"#);
            let body = format!(
                r#"{{"id":"c","object":"chat.completion","created":1,"model":"m","data":[],"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}]}}"#
            );
            let length = body.len();
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
            let _ = write!(
                stream.get_mut(),
                "{head}\r\ncontent-length: {length}\r\n\r\n{body}"
            );
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_moves_is_followed_and_one_that_is_gone_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let hosts = |address: &str| {
        let line = match address {
            "" => String::new(),
            address => format!("{address} model.test\n"),
        };
        // In its place: what is mounted is the file, not its name.
        std::fs::write(folder.join("hosts"), line).unwrap();
    };
    hosts("127.0.0.2");
    std::fs::write(folder.join("nsswitch"), "hosts: files\n").unwrap();
    if !may_mount(folder) {
        println!("skipped: only root can give the program a hosts file of its own");
        return;
    }
    let port = server("127.0.0.2:0", "first");
    server(&format!("127.0.0.3:{port}"), "second");
    let enter = format!("cd {};", folder.display());
    let upstream = format!("http://model.test:{port}");
    let program = Binary::start(
        &format!("{enter} {OWN_FILES}"),
        &upstream,
        &["--dialect", "vllm@0.12"],
    );
    let asked = || ask(program.address, post(CHAT, PLAIN));
    assert!(asked().await.text().contains("first"));
    hosts("127.0.0.3");
    assert!(asked().await.text().contains("second"));
    hosts("");
    let gone = asked().await;
    assert_eq!(gone.status, 502, "{}", gone.text());
    assert!(gone.text().contains("host name"), "{}", gone.text());
    hosts("127.0.0.2");
    let begun = Instant::now();
    while !asked().await.text().contains("first") {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it does not come back"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn may_mount(folder: &Path) -> bool {
    let script = format!("{OWN_FILES} exec true");
    let tried = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder)
        .output();
    tried.is_ok_and(|output| output.status.success())
}
