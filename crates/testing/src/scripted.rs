//! A scripted upstream: raw TCP in, exactly the bytes, delays and cuts of a script out. Records
//! what it got, byte for byte, and when a peer hung up on it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// No test waits longer for anything.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Got {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The requests before this one on the same connection.
    pub nth: usize,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// One step of a script.
#[derive(Debug, Clone)]
pub enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    /// Waits until the test says [`Scripted::go`].
    WaitForGo,
    /// Sends what follows again and again, until the peer hangs up.
    Repeat(Vec<u8>),
    /// Waits until the peer hangs up.
    Hang,
    /// Closes the connection.
    Close,
    /// Resets the connection.
    Reset,
}

pub fn send(text: impl AsRef<[u8]>) -> Step {
    Step::Send(text.as_ref().to_vec())
}

/// A whole reply with its length.
pub fn reply(status: u16, headers: &str, body: &str) -> Step {
    let length = body.len();
    send(format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}"
    ))
}

/// The head of a chunked reply.
pub fn head(headers: &str) -> Step {
    send(format!(
        "HTTP/1.1 200 OK\r\n{headers}transfer-encoding: chunked\r\n\r\n"
    ))
}

/// One chunk.
pub fn chunk(text: &str) -> Step {
    send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// The last chunk.
pub fn end() -> Step {
    send("0\r\n\r\n")
}

type Script = Arc<dyn Fn(&Got) -> Vec<Step> + Send + Sync>;

/// What happens at the upstream.
#[derive(Debug)]
enum Event {
    Got(Got),
    /// A peer hung up in the middle of a script.
    HungUp,
}

#[derive(Clone)]
struct Shared {
    script: Script,
    events: mpsc::UnboundedSender<Event>,
    model: Arc<AtomicU16>,
    questions: Arc<AtomicUsize>,
    scripted_only: Arc<AtomicBool>,
    go: Arc<tokio::sync::Semaphore>,
}

/// A running upstream. The questions with which the proxy identifies a server are answered
/// aside: as vLLM of the version given, unless [`Scripted::set_status`] says otherwise.
pub struct Scripted {
    pub address: SocketAddr,
    shared: Shared,
    events: mpsc::UnboundedReceiver<Event>,
    hung_up: usize,
    got: Vec<Got>,
    running: JoinHandle<()>,
}

impl Scripted {
    pub async fn start(script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self::start_at(any, script).await
    }

    pub async fn start_at(
        address: SocketAddr,
        script: impl Fn(&Got) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, events) = mpsc::unbounded_channel();
        let shared = Shared {
            script: Arc::new(script),
            events: sender,
            model: Arc::new(AtomicU16::new(200)),
            questions: Arc::default(),
            scripted_only: Arc::default(),
            go: Arc::new(tokio::sync::Semaphore::new(0)),
        };
        let running = tokio::spawn(run(listener, shared.clone()));
        Self {
            address,
            shared,
            events,
            hung_up: 0,
            got: Vec::new(),
            running,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The status with which `/v1/models` is answered from now on.
    pub fn set_status(&self, status: u16) {
        self.shared.model.store(status, Ordering::SeqCst);
    }

    /// How often the proxy asked who this is.
    pub fn questions(&self) -> usize {
        self.shared.questions.load(Ordering::SeqCst)
    }

    /// From now on the script answers every request, questions too.
    pub fn answer_by_script(&self) {
        self.shared.scripted_only.store(true, Ordering::SeqCst);
    }

    /// Lets one `WaitForGo` go on.
    pub fn go(&self) {
        self.shared.go.add_permits(1);
    }

    /// The next request.
    pub async fn next(&mut self) -> Got {
        tokio::time::timeout(PATIENCE, async {
            while self.got.is_empty() {
                self.take().await;
            }
            self.got.remove(0)
        })
        .await
        .expect("no request came")
    }

    /// Waits until a peer hangs up in the middle of a script.
    pub async fn hung_up(&mut self) {
        tokio::time::timeout(PATIENCE, async {
            while self.hung_up == 0 {
                self.take().await;
            }
            self.hung_up -= 1;
        })
        .await
        .expect("nobody hung up")
    }

    /// How many requests came that were not taken with [`Scripted::next`].
    pub fn left(&mut self) -> usize {
        while let Ok(event) = self.events.try_recv() {
            self.sort(event);
        }
        self.got.len()
    }

    /// Ends the listener and every connection.
    pub async fn stop(self) -> SocketAddr {
        self.running.abort();
        let _aborted = self.running.await;
        self.address
    }

    async fn take(&mut self) {
        let event = self.events.recv().await.expect("the upstream runs");
        self.sort(event);
    }

    fn sort(&mut self, event: Event) {
        match event {
            Event::Got(got) => self.got.push(got),
            Event::HungUp => self.hung_up += 1,
        }
    }
}

async fn run(listener: TcpListener, shared: Shared) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        connections.spawn(connection(stream, shared.clone()));
    }
}

async fn connection(mut stream: TcpStream, shared: Shared) {
    let mut buffer = Vec::new();
    let mut nth = 0;
    while let Some(got) = read(&mut stream, &mut buffer, nth).await {
        nth += 1;
        let steps = match question(&got, &shared) {
            // Whatever a test sends has a fresh connection, unless the test itself kept one.
            Some(answer) => vec![answer, Step::Close],
            None => {
                let steps = (shared.script)(&got);
                let _ = shared.events.send(Event::Got(got));
                steps
            }
        };
        for step in steps {
            if !play(&mut stream, step, &shared).await {
                return;
            }
        }
    }
}

/// What identifies a vLLM server.
fn question(got: &Got, shared: &Shared) -> Option<Step> {
    let scripted_only = shared.scripted_only.load(Ordering::SeqCst);
    if scripted_only || got.method != "GET" || got.header("x-test").is_some() {
        return None;
    }
    let json = "content-type: application/json\r\nconnection: close\r\n";
    let answer = match got.target.as_str() {
        "/v1/models" => {
            shared.questions.fetch_add(1, Ordering::SeqCst);
            let status = shared.model.load(Ordering::SeqCst);
            let body = r#"{"object":"list","data":[{"id":"m","owned_by":"vllm"}]}"#;
            reply(status, json, if status == 200 { body } else { "{}" })
        }
        "/version" => reply(200, json, r#"{"version":"0.12.0"}"#),
        _ => return None,
    };
    Some(answer)
}

/// Plays one step; false where the connection is over.
async fn play(stream: &mut TcpStream, step: Step, shared: &Shared) -> bool {
    let gone = || {
        let _ = shared.events.send(Event::HungUp);
        false
    };
    match step {
        Step::Send(bytes) => stream.write_all(&bytes).await.is_ok() || gone(),
        Step::Repeat(bytes) => loop {
            if stream.write_all(&bytes).await.is_err() {
                return gone();
            }
        },
        Step::Wait(time) => tokio::select! {
            () = tokio::time::sleep(time) => true,
            () = hangs_up(stream) => gone(),
        },
        Step::WaitForGo => tokio::select! {
            permit = shared.go.acquire() => { permit.unwrap().forget(); true }
            () = hangs_up(stream) => gone(),
        },
        Step::Hang => {
            hangs_up(stream).await;
            gone()
        }
        Step::Close => false,
        Step::Reset => {
            socket_reset(stream);
            false
        }
    }
}

#[expect(deprecated, reason = "blocking is what a zero linger never does")]
pub fn socket_reset(stream: &TcpStream) {
    stream.set_linger(Some(Duration::ZERO)).unwrap();
}

async fn hangs_up(stream: &TcpStream) {
    let mut byte = [0];
    loop {
        match stream.peek(&mut byte).await {
            Ok(0) | Err(_) => return,
            // Something more came; whoever hangs up after it is not noticed by peeking.
            Ok(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// The next request of a connection; `None` at its end.
async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>, nth: usize) -> Option<Got> {
    let end = loop {
        if let Some(at) = find(buffer, b"\r\n\r\n") {
            break at + 4;
        }
        fill(stream, buffer).await?;
        if buffer.first() == Some(&0x16) {
            // A TLS handshake: answered as a server does that speaks plain HTTP.
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut got = Got {
        method,
        target,
        headers,
        body: Vec::new(),
        nth,
    };
    if let Some(length) = got.header("content-length") {
        let length: usize = length.parse().unwrap();
        while buffer.len() < length {
            fill(stream, buffer).await?;
        }
        got.body = buffer.drain(..length).collect();
    } else if got.header("transfer-encoding").is_some() {
        got.body = read_chunks(stream, buffer).await?;
    }
    Some(got)
}

async fn read_chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = find(buffer, b"\r\n") {
                break at;
            }
            fill(stream, buffer).await?;
        };
        let size = std::str::from_utf8(&buffer[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        while buffer.len() < end + 2 + size + 2 {
            fill(stream, buffer).await?;
        }
        body.extend_from_slice(&buffer[end + 2..end + 2 + size]);
        buffer.drain(..end + 2 + size + 2);
        if size == 0 {
            return Some(body);
        }
    }
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let count = stream.read_buf(buffer).await.ok()?;
    (count > 0).then_some(())
}

pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
