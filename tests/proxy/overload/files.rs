//! No file descriptor left for a server: told as what it is, and the server is not blamed.

use super::binary::Binary;
use super::{CHAT, is_overload};
use crate::support::chat::{JSON, PLAIN, completion};
use crate::support::proxy::{Client, Reply, post};
use crate::support::worker;
use isogloss_testing::scripted::{Got, Scripted, Step, reply};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::net::TcpStream;

/// The numbers of descriptors that every process has already: no other may be opened.
const NONE: u64 = 3;

/// Lets the program open files with numbers below this alone.
fn limit(program: &Binary, soft: u64) {
    let pid = Pid::from_raw(i32::try_from(program.id()).unwrap());
    let hard = getrlimit(Resource::Nofile).maximum;
    let limits = Rlimit {
        current: Some(soft),
        maximum: hard,
    };
    prlimit(pid, Resource::Nofile, limits).unwrap();
}

/// What a client gets on a connection that is there already.
async fn asked(client: &mut Client) -> Reply {
    client.send(post(CHAT, PLAIN)).await;
    client.reply().await
}

/// A server that needs a connection for each request, and so an address for its name.
async fn server() -> Scripted {
    let head = format!("{JSON}connection: close\r\n");
    Scripted::start(move |_got: &Got| vec![reply(200, &head, &completion("hi")), Step::Close]).await
}

async fn is_told_as_what_it_is(url: &str) {
    let program = Binary::start("", url, &["--dialect", "vllm@0.12"]);
    let mut client = Client(TcpStream::connect(program.address).await.unwrap());
    let first = asked(&mut client).await;
    assert_eq!(first.status, 200, "{}", first.text());
    limit(&program, NONE);
    for _ in 0..3 {
        let told = asked(&mut client).await;
        assert!(is_overload(&told), "{}", told.text());
        assert!(
            told.text().contains("no file descriptor"),
            "{}",
            told.text()
        );
        assert!(!told.text().contains("refused"), "{}", told.text());
    }
    limit(&program, 256);
    let after = asked(&mut client).await;
    assert_eq!(after.status, 200, "{}", after.text());
    assert!(program.tells("/readyz").starts_with("HTTP/1.1 200"));
    let page = program.tells("/metrics");
    assert!(
        page.contains("isogloss_upstream_up{upstream=\"0\"} 1\n"),
        "{page}"
    );
    for code in ["upstream_unreachable", "upstream_truncated"] {
        let mut samples = page
            .lines()
            .filter(|line| !line.starts_with('#') && line.contains(code));
        assert!(samples.all(|line| line.ends_with(" 0")), "{page}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_without_a_file_descriptor_is_our_own_overload() {
    let upstream = server().await;
    is_told_as_what_it_is(&upstream.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_cannot_be_looked_up_without_one_is_so_too() {
    let upstream = server().await;
    is_told_as_what_it_is(&format!("http://localhost:{}", upstream.address.port())).await;
}

/// TLS is reached by the same client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unix_socket_that_cannot_be_connected_without_one_is_so_too() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("server.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || worker::serve(&listener));
    is_told_as_what_it_is(&format!("unix://{}", socket.display())).await;
}
