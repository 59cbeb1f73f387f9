//! The real stack on loopback, in this process, and a raw client for it.

use isogloss::config::{ClientConfig, Config, KeyHash, OnViolation, Timeouts, UpstreamConfig};
use isogloss::proxy::{self, App, House, Renewed, SetupError};
use isogloss::telemetry::Metrics;
use isogloss::upstream::{Launch, Upstream};
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::passage::Forward;
use isogloss_core::rules::RuleSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use isogloss_testing::scripted::{PATIENCE, find};

/// A running proxy.
pub struct Proxy {
    pub address: SocketAddr,
    pub house: Arc<House>,
    /// What was in force at the start.
    pub app: Arc<App>,
    pub metrics: Arc<Metrics>,
    rules: Arc<RuleSet>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<()>,
}

fn config(upstreams: &[&str]) -> Config {
    let at = |url: &&str| UpstreamConfig::at(url.parse().unwrap());
    let upstreams = upstreams.iter().map(at);
    Config {
        listen: ([127, 0, 0, 1], 0).into(),
        admin: ([127, 0, 0, 1], 0).into(),
        upstreams: upstreams.collect(),
        on_violation: OnViolation::Reject,
        // Most tests are of what becomes of a request, not of which go on.
        forward: Forward::parse("*").unwrap(),
        missing_model: isogloss::config::MissingModel::Forward,
        // A test that counts requests counts its own; those about probes switch them on.
        probe: isogloss_core::probe::Depth::Off,
        timeouts: Timeouts {
            connect: Duration::from_secs(1),
            loading: Duration::from_millis(300),
            ..Timeouts::default()
        },
        ..Config::default()
    }
}

impl Proxy {
    pub async fn start(upstream: &str) -> Self {
        Self::with(&[upstream], |_config| {}).await
    }

    pub async fn with(upstreams: &[&str], change: impl FnOnce(&mut Config)) -> Self {
        Self::launching(&Launch::this_program(), upstreams, change).await
    }

    /// With a program of the test's own as the worker.
    pub async fn launching(
        launch: &Launch,
        upstreams: &[&str],
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let mut config = config(upstreams);
        change(&mut config);
        let rules = Arc::new(RuleSet::builtin());
        let metrics = Arc::new(Metrics::new(rules.names().into_iter().map(str::to_owned)));
        let metrics_of = Arc::clone(&metrics);
        let house = House::launching(config, &rules, compiler(), metrics_of, launch).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = proxy::serve(listener, Arc::clone(&house), async {
            let _ = stopped.await;
        });
        Self {
            address,
            app: house.app(),
            house,
            metrics,
            rules,
            stop: Some(stop),
            serving: tokio::spawn(async { serving.await.unwrap() }),
        }
    }

    /// Puts another configuration in force.
    pub async fn renew(&self, change: impl FnOnce(&mut Config)) -> Result<Renewed, SetupError> {
        let mut config = self.house.app().config().clone();
        change(&mut config);
        self.house.renew(config, &self.rules).await
    }

    /// Begins the shutdown.
    pub fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until it is over.
    pub async fn stopped(self) {
        tokio::time::timeout(PATIENCE, self.serving)
            .await
            .expect("the proxy does not stop")
            .unwrap();
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A connection on which a request was sent.
    pub async fn send(&self, request: impl AsRef<[u8]>) -> Client {
        let mut client = Client(TcpStream::connect(self.address).await.unwrap());
        client.send(request).await;
        client
    }

    /// A chat completion with this body.
    pub async fn chat(&self, body: &str) -> Client {
        self.send(post("/v1/chat/completions", body)).await
    }

    /// Waits until the metrics have this text.
    pub async fn until_metrics_say(&self, text: &str) {
        let said = async {
            while !self.metrics.render().contains(text) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, said).await.is_err() {
            panic!("no {text} in\n{}", self.metrics.render());
        }
    }

    /// What a counter says; 0 where it never counted.
    pub fn counted(&self, series: &str) -> usize {
        let told = self.metrics.render();
        let mut values = told.lines().filter_map(|line| line.strip_prefix(series));
        let value = values.next().map(|value| value.trim().parse().unwrap());
        value.unwrap_or_default()
    }

    /// Whether anything was counted of a family.
    pub fn has_counted(&self, family: &str) -> bool {
        let told = self.metrics.render();
        let mut samples = told.lines().filter(|line| line.starts_with(family));
        samples.any(|line| !line.ends_with(" 0"))
    }

    /// One of the servers.
    pub fn upstream(&self, index: usize) -> Arc<Upstream> {
        let app = self.house.app();
        let one = app.upstreams().iter().nth(index).map(Arc::clone);
        one.expect("there are so many servers")
    }

    /// Waits until a server's list is known.
    pub async fn until_listed(&self, index: usize) {
        let listed = async {
            while !self.upstream(index).has_listed() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let listed = tokio::time::timeout(PATIENCE, listed).await;
        assert!(listed.is_ok(), "server {index} lists nothing");
    }

    /// Waits until this request is not answered well any more.
    pub async fn until_upstream_fails(&self, body: &str) {
        let failed = async { while self.chat(body).await.reply().await.status == 200 {} };
        let failed = tokio::time::timeout(PATIENCE, failed).await;
        assert!(failed.is_ok(), "it goes on being answered");
    }

    /// Waits until an upstream is in this state.
    pub async fn until_upstream(&self, index: usize, state: &str) {
        let reached = async {
            while self.app.upstreams().status()[index].state != state {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, reached).await.is_err() {
            panic!("not {state}: {:?}", self.app.upstreams().status());
        }
    }
}

fn compiler() -> Compiler {
    // However slow the machine is.
    let patience = Duration::from_secs(60);
    Compiler::new(CompilerLimits {
        timeout: patience,
        queue_timeout: patience,
        ..CompilerLimits::default()
    })
}

/// A client whose key is `key-NAME`.
pub fn client(name: &str) -> ClientConfig {
    ClientConfig {
        name: name.to_owned(),
        keys: vec![KeyHash::of(format!("key-{name}").as_bytes())],
        models: Vec::new(),
        upstreams: None,
        requests_per_minute: None,
        tokens_per_minute: None,
        concurrency: None,
        priority: 0,
    }
}

pub fn post(path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: proxy\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// A raw connection to the proxy.
pub struct Client(pub TcpStream);

/// A reply, taken apart.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.split("\r\n").find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error}: {}", String::from_utf8_lossy(&self.body));
        })
    }
}

impl Client {
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Everything until the connection ends.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        let read = self.0.read_to_end(&mut all);
        let read = tokio::time::timeout(PATIENCE, read).await;
        let _reset = read.expect("the proxy does not close the connection");
        all
    }

    /// Everything until this text was read.
    pub async fn until(&mut self, text: &str) -> Vec<u8> {
        let mut all = Vec::new();
        while find(&all, text.as_bytes()).is_none() {
            let read = self.0.read_buf(&mut all);
            let read = tokio::time::timeout(PATIENCE, read).await;
            let count = read.expect("nothing comes").unwrap();
            let so_far = || String::from_utf8_lossy(&all).into_owned();
            assert!(count > 0, "ended without {text:?}: {}", so_far());
        }
        all
    }

    /// One whole reply; the connection stays open.
    pub async fn reply(&mut self) -> Reply {
        let mut all = self.until("\r\n\r\n").await;
        let end = find(&all, b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(all.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply {
            status,
            head,
            body: Vec::new(),
        };
        if let Some(length) = reply.header("content-length") {
            let length: usize = length.parse().unwrap();
            while all.len() < length {
                let read = self.0.read_buf(&mut all);
                let read = tokio::time::timeout(PATIENCE, read).await;
                assert!(read.expect("nothing comes").unwrap() > 0, "cut");
            }
            assert_eq!(all.len(), length);
            reply.body = all;
        } else {
            if find(&all, b"0\r\n\r\n").is_none() {
                all.extend(self.until("0\r\n\r\n").await);
            }
            reply.body = unchunked(&all);
        }
        reply
    }
}

/// The bytes of a chunked body that ended well.
pub fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = find(bytes, b"\r\n").expect("a chunk has a size");
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            assert_eq!(&bytes[end..], b"\r\n\r\n");
            return body;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
}
