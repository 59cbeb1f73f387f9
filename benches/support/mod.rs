//! Servers as child processes, and loads on them.
#![expect(unreachable_pub, reason = "a benchmark has no outside")]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The middle value.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A server on a port of its own, ended with this value.
pub struct Server {
    /// For people.
    pub name: &'static str,
    url: String,
    child: Child,
    client: reqwest::Client,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Server {
    /// This build's worker.
    pub async fn worker(model: &str, slots: u32) -> Self {
        Self::worker_with(model, slots, &[]).await
    }

    /// The same with more flags.
    pub async fn worker_with(model: &str, slots: u32, flags: &[&str]) -> Self {
        let port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_isogloss"));
        command
            .args(["worker", "--model", model, "--listen"])
            .arg(format!("127.0.0.1:{port}"))
            .args([
                "--slots",
                &slots.to_string(),
                "--context",
                "1024",
                "--threads",
                "2",
            ])
            .args(flags)
            // The worker ends when its standard input does.
            .stdin(Stdio::piped());
        Self::start("isogloss worker", command, port).await
    }

    /// llama.cpp's server.
    pub async fn llama(path: &str, model: &str, slots: u32) -> Self {
        let port = free_port();
        let mut command = Command::new(path);
        command
            .args(["--model", model, "--port", &port.to_string(), "-t", "2"])
            .args(["-np", &slots.to_string(), "-c", &(1024 * slots).to_string()]);
        Self::start("llama-server", command, port).await
    }

    async fn start(name: &'static str, mut command: Command, port: u16) -> Self {
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .build()
            .unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let server = Self {
            name,
            url,
            child,
            client,
        };
        for _ in 0..600 {
            let health = server.client.get(format!("{}/health", server.url)).send();
            if health.await.is_ok_and(|answer| answer.status() == 200) {
                return server;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{name} is not ready within a minute");
    }

    async fn post(&self, body: &Value) -> reqwest::Response {
        let url = format!("{}/v1/chat/completions", self.url);
        let request = self
            .client
            .post(url)
            .header("content-type", "application/json");
        request.body(body.to_string()).send().await.unwrap()
    }

    /// How long the first token of this schema takes; `None` where it is refused.
    pub async fn first_token(&self, schema: &Value) -> Option<Duration> {
        let mut body = Case::of_schema(schema.clone());
        body["stream"] = json!(true);
        body["max_tokens"] = json!(1);
        let begin = Instant::now();
        let mut answer = self.post(&body).await;
        if answer.status() != 200 {
            return None;
        }
        // The head and the role come before any token does.
        while let Some(chunk) = answer.chunk().await.unwrap() {
            let text = String::from_utf8_lossy(&chunk).into_owned();
            if text.contains("\"content\":\"") || text.contains("finish_reason\":\"") {
                break;
            }
        }
        Some(begin.elapsed())
    }

    async fn metrics(&self) -> String {
        let answer = self.client.get(format!("{}/metrics", self.url)).send();
        answer.await.unwrap().text().await.unwrap()
    }

    /// Tokens that the worker drafted so far, and those of them that were right.
    pub async fn drafts(&self) -> (u64, u64) {
        let text = self.metrics().await;
        let count = |name: &str| -> u64 {
            let name = format!("isogloss_worker_{name}_tokens_total ");
            let value = text.lines().find_map(|line| line.strip_prefix(&name));
            value.unwrap().parse().unwrap()
        };
        (count("drafted"), count("accepted"))
    }

    /// The worker's own account of its masks.
    pub async fn masks(&self) -> String {
        let text = self.metrics().await;
        let lines = text.lines().filter(|line| {
            line.contains("mask_seconds")
                || line.contains("compile_seconds_")
                || line.contains("clone_seconds")
        });
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Resident bytes.
    pub fn rss(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.child.id());
        let pages = std::fs::read_to_string(path).unwrap_or_default();
        let pages = pages
            .split(' ')
            .nth(1)
            .and_then(|field| field.parse::<u64>().ok());
        pages.unwrap_or(0) * 4096
    }
}

/// What is asked.
pub struct Case {
    bodies: Vec<Value>,
    schemas: Vec<Option<jsonschema::Validator>>,
}

/// Schemas of JSONSchemaBench, of a data set or of all.
pub fn schemas(dataset: &str, most: usize) -> Vec<Value> {
    let folder = std::env::var("ISOGLOSS_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let text = std::fs::read_to_string(format!("{folder}/schemas.jsonl"))
        .unwrap_or_else(|error| panic!("{folder}/schemas.jsonl: {error}: set ISOGLOSS_DATA"));
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| dataset.is_empty() || line["dataset"] == dataset)
        .map(|line| line["schema"].clone())
        .take(most)
        .collect()
}

impl Case {
    /// The request under a schema, which both servers read.
    pub fn of_schema(schema: Value) -> Value {
        let mut body = Self::asking();
        body["response_format"] =
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}});
        body
    }

    fn asking() -> Value {
        json!({"model": "", "messages": [{"role": "user", "content": "Describe a person, a place and a thing."}], "temperature": 1.0, "seed": 7})
    }

    /// No constraint.
    pub fn free() -> Self {
        let mut body = Self::asking();
        body["ignore_eos"] = json!(true);
        Self {
            bodies: vec![body],
            schemas: vec![None],
        }
    }

    /// A data set's schemas.
    pub fn schemas(dataset: &str) -> Self {
        Self::of(schemas(dataset, 40))
    }

    fn of(schemas: Vec<Value>) -> Self {
        let validators = schemas
            .iter()
            .map(|schema| jsonschema::validator_for(schema).ok());
        Self {
            schemas: validators.collect(),
            bodies: schemas.into_iter().map(Self::of_schema).collect(),
        }
    }

    /// A regex of words, that hardly ends before the tokens do and may end in time for them.
    pub fn regex() -> Self {
        let mut body = Self::asking();
        body["structured_outputs"] = json!({"regex": "([a-z]{2,9} ){8,400}"});
        Self {
            bodies: vec![body],
            schemas: vec![None],
        }
    }

    /// Things that stand in a text, under a schema: most of an answer was said before.
    pub fn extraction() -> Self {
        let text = json!({"type": "string"});
        let list = |names: &[&str]| {
            let properties: serde_json::Map<_, _> = (names.iter())
                .map(|name| ((*name).to_owned(), text.clone()))
                .collect();
            let item = json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
            json!({"type": "object", "properties": {"items": {"type": "array", "items": item}}, "required": ["items"], "additionalProperties": false})
        };
        let asked = [
            (
                "Anneliese Kirchhoff works at Lindenthal Maschinenbau, her email is anneliese.kirchhoff@lindenthal-maschinenbau.de. \
                 Bartholomew Featherstone works at Northumbrian Lighthouse Trust, his email is b.featherstone@northumbrian-lighthouse.org. \
                 Concepcion Villanueva works at Hacienda San Cristobal, her email is concepcion@hacienda-sancristobal.mx.",
                list(&["name", "company", "email"]),
            ),
            (
                "Order 7731-KX-20931: Hydraulic return filter with bypass valve, ships to 48 Wellington Harbour Road, Lower Hutt. \
                 Order 7731-KX-20947: Stainless steel flange gasket set, ships to 1207 Old Shipwright Lane, Mystic Seaport. \
                 Order 7731-KX-20955: Replacement impeller for bilge pump, ships to 9 Chandlery Quay, Port Townsend.",
                list(&["order", "product", "address"]),
            ),
            (
                "The meeting Quarterly Review of the Warehouse Migration is on 2026-03-17 in Conference Room Marie Curie. \
                 The meeting Budget Planning for the Northern Depots is on 2026-04-02 in Lecture Hall Emmy Noether. \
                 The meeting Onboarding of the Night Shift Supervisors is on 2026-04-21 in Training Centre Ada Lovelace.",
                list(&["title", "date", "place"]),
            ),
        ];
        let mut case = Self::of(asked.iter().map(|(_, schema)| schema.clone()).collect());
        for (body, (text, _)) in case.bodies.iter_mut().zip(asked) {
            let text = format!("List all that is said here. {text}");
            body["messages"] = json!([{"role": "user", "content": text}]);
            body["temperature"] = json!(0.0);
        }
        case
    }

    /// Long names, short values: most of it follows from the schema.
    pub fn heavy() -> Self {
        let names = [
            "customer_identification_number",
            "preferred_contact_language",
            "is_subscribed_to_newsletter",
            "shipping_address_verified",
            "loyalty_programme_level",
        ];
        let properties: serde_json::Map<_, _> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "boolean"})))
            .collect();
        Self::of(vec![
            json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false}),
        ])
    }

    /// So many schemas that differ.
    pub fn distinct(count: usize) -> Self {
        let schema = |index: usize| json!({"type": "object", "properties": {format!("field_{index}"): {"enum": ["red", "green", "blue"]}, "n": {"type": "integer", "minimum": 0, "maximum": 99}}, "required": [format!("field_{index}"), "n"], "additionalProperties": false});
        Self::of((0..count).map(schema).collect())
    }
}

/// How much is asked.
pub struct Load {
    /// Requests in all.
    pub requests: usize,
    /// Tokens of an answer, at most.
    pub tokens: u32,
    /// Requests at once.
    pub batch: usize,
}

/// What came of it.
#[derive(Default)]
pub struct Done {
    /// Answers with status 200.
    pub answers: usize,
    /// Answers with another status.
    pub refused: usize,
    /// Tokens of the answers.
    pub tokens: u64,
    /// Answers that ended by themselves and are no JSON of their schema.
    pub violations: usize,
    /// By the number of the request.
    texts: BTreeMap<usize, String>,
    seconds: f64,
}

impl Done {
    /// Tokens a second, of a load of which something was answered.
    pub fn rate(&self) -> f64 {
        assert!(
            self.answers > 0,
            "each of {} requests was refused",
            self.refused
        );
        self.tokens as f64 / self.seconds
    }

    /// How many answers have another text than those of the same load on another server.
    pub fn others(&self, other: &Self) -> usize {
        let same = |(index, text): &(&usize, &String)| other.texts.get(index) == Some(text);
        self.texts.iter().filter(|pair| !same(pair)).count()
    }
}

impl Load {
    /// Enough requests that each of the batch asks several times.
    pub const fn new(batch: usize, tokens: u32) -> Self {
        Self {
            requests: batch * 6,
            tokens,
            batch,
        }
    }

    /// Asks, `batch` requests at a time.
    pub async fn run(&self, server: &Server, case: &Case) -> Done {
        let next = Arc::new(AtomicUsize::new(0));
        let begin = Instant::now();
        let one = |next: Arc<AtomicUsize>| async move {
            let mut done = Done::default();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= self.requests {
                    return done;
                }
                let at = index % case.bodies.len();
                let mut body = case.bodies[at].clone();
                body["max_tokens"] = json!(self.tokens);
                let answer = server.post(&body).await;
                if answer.status() != 200 {
                    done.refused += 1;
                    continue;
                }
                let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
                done.answers += 1;
                done.tokens += answer["usage"]["completion_tokens"].as_u64().unwrap();
                let choice = &answer["choices"][0];
                let text = choice["message"]["content"].as_str().unwrap_or_default();
                done.texts.insert(index, text.to_owned());
                if let Some(schema) = &case.schemas[at]
                    && choice["finish_reason"] == "stop"
                {
                    let value = serde_json::from_str::<Value>(text);
                    done.violations +=
                        usize::from(!value.is_ok_and(|value| schema.is_valid(&value)));
                }
            }
        };
        let all = (0..self.batch).map(|_| one(Arc::clone(&next)));
        let parts = futures_util::future::join_all(all).await;
        let mut sum = Done {
            seconds: begin.elapsed().as_secs_f64(),
            ..Done::default()
        };
        for part in parts {
            sum.answers += part.answers;
            sum.refused += part.refused;
            sum.tokens += part.tokens;
            sum.violations += part.violations;
            sum.texts.extend(part.texts);
        }
        sum
    }
}
