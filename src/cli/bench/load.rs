//! The load: the same request to the server and to the proxy in turn; times and counts out.

use super::super::Failure;
use super::program::Program;
use bytes::Bytes;
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Connections are open and everything is compiled before anything is counted.
const WARM_UP: usize = 20;
/// The rate is measured in slices, direct and proxied in turn, so that drift hits both alike.
const SLICES: u32 = 2;
/// A small request with one tool.
const BODY_BYTES: usize = 1024;
/// Any reply takes a millisecond or so.
const REPLY_WITHIN: Duration = Duration::from_secs(10);

/// Tokens, and so events, of a long stream.
const STREAM_TOKENS: usize = 2000;

/// One kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Case {
    /// Nothing is demanded.
    PassThrough,
    /// A forced call: rewritten, rewrapped and validated.
    Tools,
    /// A long stream of which nothing is demanded.
    Stream,
    /// A long stream of JSON that is verified.
    StreamFormat,
    /// A long stream of JSON that becomes a call, and is verified.
    StreamTools,
}

impl Case {
    pub(super) const ALL: [Self; 5] = [
        Self::PassThrough,
        Self::Tools,
        Self::Stream,
        Self::StreamFormat,
        Self::StreamTools,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::PassThrough => "pass-through",
            Self::Tools => "tools, required",
            Self::Stream => "stream",
            Self::StreamFormat => "stream, format",
            Self::StreamTools => "stream, tools",
        }
    }

    pub(super) const fn is_stream(self) -> bool {
        matches!(self, Self::Stream | Self::StreamFormat | Self::StreamTools)
    }

    fn body(self) -> Bytes {
        self.body_of("bench")
    }

    /// The request of a user. The same size for each.
    pub(super) fn body_of(self, user: &str) -> Bytes {
        let mut body = json!({
            "user": user,
            "model": "bench",
            "messages": [
                {"role": "system", "content": "You are careful, brief and exact."},
                {"role": "user", "content": "Read this text and tell me about it: the quick brown fox jumps over the lazy dog."},
            ],
            "temperature": 0,
        });
        let schema = json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "title": {"type": "string", "minLength": 1, "maxLength": 80},
                "kind": {"enum": ["story", "poem", "report"], "type": "string"},
                "score": {"type": "integer", "minimum": 0, "maximum": 10},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
                "summary": {"type": "string"},
            },
            "required": ["title", "kind", "score", "tags", "summary"],
        });
        match self {
            Self::PassThrough | Self::Stream => {}
            Self::Tools | Self::StreamTools => {
                let description = "The final response which ends this conversation";
                let function = json!({"name": "final_result", "description": description, "parameters": schema});
                body["tools"] = json!([{"type": "function", "function": function}]);
                body["tool_choice"] = json!("required");
            }
            Self::StreamFormat => {
                let format = json!({"name": "final_result", "schema": schema});
                body["response_format"] = json!({"type": "json_schema", "json_schema": format});
            }
        }
        if self.is_stream() {
            body["stream"] = json!(true);
            body["max_tokens"] = json!(STREAM_TOKENS);
        }
        let missing = BODY_BYTES.saturating_sub(body.to_string().len());
        let words = "and so it goes ".chars().cycle().take(missing);
        let question = body["messages"][1]["content"].as_str().unwrap_or_default();
        body["messages"][1]["content"] = json!(question.chars().chain(words).collect::<String>());
        Bytes::from(body.to_string())
    }

    /// Whether the reply is what the request asked for: speed of wrong answers is none.
    fn is_good(self, reply: &[u8]) -> bool {
        let has = |word: &str| memchr::memmem::find(reply, word.as_bytes()).is_some();
        match self {
            Self::PassThrough => has(super::upstream::TEXT),
            // A proxy that only forwards passes on what such a server says to a forced call.
            Self::Tools => has("final_result") && has("tool_calls"),
            Self::Stream | Self::StreamFormat => has("[DONE]"),
            Self::StreamTools => has("final_result") && has("[DONE]"),
        }
    }
}

/// What one side did: the server alone, or a proxy in front of it.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// `direct`, or the proxy's name.
    pub(super) name: String,
    /// What Isogloss said that it did; empty for others.
    pub(super) strategy: String,
    /// One request at a time; sorted once all are in.
    times: Vec<Duration>,
    /// Many at once.
    requests: u64,
    events: u64,
    busy: Duration,
    /// Processor time of the proxy in the meantime.
    cpu: Option<Duration>,
}

impl Side {
    pub(super) fn quantile(&self, quantile: f64) -> Duration {
        let last = self.times.len().saturating_sub(1);
        let at = (last as f64 * quantile).round() as usize;
        self.times.get(at).copied().unwrap_or_default()
    }

    pub(super) fn requests_per_second(&self) -> f64 {
        self.requests as f64 / self.busy.as_secs_f64().max(f64::EPSILON)
    }

    pub(super) fn events_per_second(&self) -> f64 {
        self.events as f64 / self.busy.as_secs_f64().max(f64::EPSILON)
    }

    /// Processor time of a request, microseconds.
    pub(super) fn cpu_per_request(&self) -> Option<f64> {
        Some(self.cpu?.as_secs_f64() * 1e6 / self.requests.max(1) as f64)
    }

    /// Processor time of an event, microseconds; its share of the request's included.
    pub(super) fn cpu_per_event(&self) -> Option<f64> {
        Some(self.cpu?.as_secs_f64() * 1e6 / self.events.max(1) as f64)
    }
}

pub(super) fn client() -> Result<reqwest::Client, Failure> {
    // An error only says that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .tls_certs_only([])
        .timeout(REPLY_WITHIN)
        .build()
        .map_err(|error| Failure::Runtime(format!("the HTTP client cannot be set up: {error}")))
}

/// One reply.
struct Reply {
    time: Duration,
    events: u64,
    strategy: String,
}

async fn request(
    client: &reqwest::Client,
    base: &str,
    case: Case,
    body: Bytes,
) -> Result<Reply, Failure> {
    let failed = |what: String| Failure::Runtime(format!("{}: {base}: {what}", case.as_str()));
    let start = Instant::now();
    let response = client
        .post(format!("{base}/chat/completions"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body)
        .send()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    let strategy = response.headers().get("x-isogloss-strategy");
    let strategy = strategy
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    let reply = response
        .bytes()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let time = start.elapsed();
    if !status.is_success() || !case.is_good(&reply) {
        return Err(failed(format!(
            "{status}: {}",
            String::from_utf8_lossy(&reply)
        )));
    }
    let events = memchr::memmem::find_iter(&reply, b"data: ").count() as u64;
    Ok(Reply {
        time,
        events,
        strategy,
    })
}

/// Measures one case for about `time`: half of it one request at a time, half many at once. The first side is the
/// server alone.
pub(super) async fn measure(
    client: &reqwest::Client,
    direct: &str,
    proxies: &[Program],
    case: Case,
    time: Duration,
    concurrency: u16,
) -> Result<Vec<Side>, Failure> {
    let body = case.body();
    let named = proxies
        .iter()
        .map(|proxy| (proxy.name.as_str(), proxy.base_url.as_str(), Some(proxy)));
    let mut sides: Vec<(Side, &str, Option<&Program>)> = std::iter::once(("direct", direct, None))
        .chain(named)
        .map(|(name, base, program)| {
            let side = Side {
                name: name.to_owned(),
                ..Side::default()
            };
            (side, base, program)
        })
        .collect();
    for _ in 0..WARM_UP {
        for (side, base, _) in &mut sides {
            side.strategy = request(client, base, case, body.clone()).await?.strategy;
        }
    }
    let until = Instant::now() + time / 2;
    while Instant::now() < until {
        for (side, base, _) in &mut sides {
            side.times
                .push(request(client, base, case, body.clone()).await?.time);
        }
    }
    let count = u32::try_from(sides.len()).unwrap_or(u32::MAX);
    let slice = time / 2 / (SLICES * count);
    for _ in 0..SLICES {
        for (side, base, program) in &mut sides {
            let cpu = || program.and_then(Program::cpu);
            let before = cpu();
            flood(client, base, case, slice, concurrency, side).await?;
            let spent = cpu()
                .zip(before)
                .map(|(after, before)| after.saturating_sub(before));
            side.cpu = spent.map(|spent| spent + side.cpu.unwrap_or_default());
        }
    }
    let done = sides.into_iter().map(|(mut side, _, _)| {
        side.times.sort_unstable();
        side
    });
    Ok(done.collect())
}

async fn flood(
    client: &reqwest::Client,
    base: &str,
    case: Case,
    time: Duration,
    concurrency: u16,
    side: &mut Side,
) -> Result<(), Failure> {
    let body = case.body();
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let (client, base, body) = (client.clone(), base.to_owned(), body.clone());
        workers.spawn(async move {
            let (mut requests, mut events) = (0, 0);
            while start.elapsed() < time {
                events += request(&client, &base, case, body.clone()).await?.events;
                requests += 1;
            }
            Ok::<(u64, u64), Failure>((requests, events))
        });
    }
    while let Some(done) = workers.join_next().await {
        let failed = |error| Failure::Runtime(format!("a worker ended: {error}"));
        let (requests, events) = done.map_err(failed)??;
        side.requests += requests;
        side.events += events;
    }
    side.busy += start.elapsed();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::upstream;
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_requests_are_of_one_size() {
        for case in Case::ALL {
            assert_eq!(case.body().len(), BODY_BYTES, "{}", case.as_str());
        }
    }

    #[test]
    fn the_scripted_arguments_satisfy_the_schema_that_is_sent() {
        let body: Value = serde_json::from_slice(&Case::Tools.body()).unwrap_or_default();
        let schema = &body["tools"][0]["function"]["parameters"];
        let arguments: Value = serde_json::from_str(upstream::ARGUMENTS).unwrap_or_default();
        assert!(jsonschema::is_valid(schema, &arguments));
    }

    #[tokio::test]
    async fn the_scripted_server_answers_every_case() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        let base = format!("http://{}/v1", upstream.address);
        for case in Case::ALL {
            let reply = request(&client()?, &base, case, case.body()).await?;
            assert_eq!(
                reply.events as usize > STREAM_TOKENS,
                case.is_stream(),
                "{}",
                case.as_str()
            );
        }
        Ok(())
    }

    #[test]
    fn quantiles_are_of_the_sorted_times() {
        let side = Side {
            times: (0..=100).map(Duration::from_millis).collect(),
            ..Side::default()
        };
        assert_eq!(side.quantile(0.5), Duration::from_millis(50));
        assert_eq!(side.quantile(0.99), Duration::from_millis(99));
        assert_eq!(Side::default().quantile(0.5), Duration::ZERO);
    }
}
