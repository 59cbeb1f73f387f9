//! The load: the same request to the server and to the proxy in turn; times and counts out.

use super::super::Failure;
use super::case::Case;
use super::program::Program;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Connections are open and everything is compiled before anything is counted.
const WARM_UP: usize = 20;
/// Fewer where a reply takes long: none is begun after this.
const WARM_UP_WITHIN: Duration = Duration::from_secs(2);
/// The rate is measured in slices, direct and proxied in turn, so that drift hits both alike.
const SLICES: u32 = 2;
/// Of a reply that is none, for the message.
const ERROR_CHARS: usize = 300;
/// What the scripted server serves.
pub(super) const MODEL: &str = "bench";
/// The slowest of what is measured takes seconds for a long stream, eight of them at once more.
const REPLY_WITHIN: Duration = Duration::from_secs(20);

/// What one side did: the server alone, or a proxy in front of it.
#[derive(Debug, Default)]
pub(super) struct Side {
    /// `direct`, or the proxy's name.
    pub(super) name: String,
    /// What Isogloss said that it did; empty for others.
    pub(super) strategy: String,
    /// Why there is nothing else of it: the first reply that was none.
    pub(super) failed: Option<String>,
    /// One request at a time; sorted once all are in.
    times: Vec<Duration>,
    /// Of the same requests, until the first bytes of the reply's body.
    firsts: Vec<Duration>,
    /// Many at once.
    requests: u64,
    events: u64,
    busy: Duration,
    /// Processor time of the proxy in the meantime.
    cpu: Option<Duration>,
}

impl Side {
    pub(super) fn quantile(&self, quantile: f64) -> Duration {
        at(&self.times, quantile)
    }

    /// Until the first bytes of a reply's body.
    pub(super) fn first_quantile(&self, quantile: f64) -> Duration {
        at(&self.firsts, quantile)
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

/// Of sorted times.
fn at(times: &[Duration], quantile: f64) -> Duration {
    let last = times.len().saturating_sub(1);
    let at = (last as f64 * quantile).round() as usize;
    times.get(at).copied().unwrap_or_default()
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

/// Who is asked, and what each request says besides.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) base: String,
    pub(super) model: String,
    pub(super) headers: http::HeaderMap,
    case: Case,
}

/// No two requests of a run have the same number.
static SERIAL: AtomicU64 = AtomicU64::new(0);

impl Asked {
    pub(super) fn of(proxy: &Program, case: Case) -> Self {
        Self {
            base: proxy.base_url.clone(),
            model: proxy.model.clone(),
            headers: proxy.headers.clone(),
            case,
        }
    }

    /// Made anew for each request only where no two are alike.
    fn body(&self) -> Bytes {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        self.case.body("bench", &self.model, serial)
    }
}

/// One reply.
struct Reply {
    time: Duration,
    first: Duration,
    events: u64,
    strategy: String,
}

async fn request(client: &reqwest::Client, asked: &Asked, body: Bytes) -> Result<Reply, Failure> {
    let (base, case) = (&asked.base, asked.case);
    let failed = |what: String| Failure::Runtime(format!("{}: {base}: {what}", case.as_str()));
    let start = Instant::now();
    let response = client
        .post(format!("{base}/{}", case.path()))
        .headers(asked.headers.clone())
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
    let mut body: reqwest::Body = http::Response::from(response).into_body();
    let (mut reply, mut first) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| failed(error.to_string()))?;
        if let Ok(data) = frame.into_data() {
            first.get_or_insert_with(|| start.elapsed());
            reply.extend_from_slice(&data);
        }
    }
    let time = start.elapsed();
    if !status.is_success() || !case.is_good(&reply) {
        let told: String = String::from_utf8_lossy(&reply)
            .chars()
            .take(ERROR_CHARS)
            .collect();
        return Err(failed(format!("{status}: {told}")));
    }
    let events = memchr::memmem::find_iter(&reply, b"data: ").count() as u64;
    Ok(Reply {
        time,
        first: first.unwrap_or(time),
        events,
        strategy,
    })
}

/// Measures one case for about `time`: half of it one request at a time, half many at once. The first side is the
/// server alone. What a program from outside cannot do is told of that side, and measured of the others.
pub(super) async fn measure(
    client: &reqwest::Client,
    direct: &str,
    proxies: &[Program],
    case: Case,
    time: Duration,
    concurrency: u16,
) -> Result<Vec<Side>, Failure> {
    let server = Asked {
        base: direct.to_owned(),
        model: MODEL.to_owned(),
        headers: http::HeaderMap::new(),
        case: case.direct(),
    };
    let mut running = vec![Running::new(server, None)];
    let others = proxies.iter();
    running.extend(others.map(|proxy| Running::new(Asked::of(proxy, case), Some(proxy))));
    for it in &mut running {
        let outcome = warm_up(client, &it.asked).await;
        if let Some(strategy) = it.noted(outcome)? {
            it.side.strategy = strategy;
        }
    }
    let until = Instant::now() + time / 2;
    while Instant::now() < until {
        for it in running.iter_mut().filter(|it| it.side.failed.is_none()) {
            let outcome = request(client, &it.asked, it.asked.body()).await;
            if let Some(reply) = it.noted(outcome)? {
                it.side.times.push(reply.time);
                it.side.firsts.push(reply.first);
            }
        }
    }
    let count = u32::try_from(running.len()).unwrap_or(u32::MAX);
    let slice = time / 2 / (SLICES * count);
    for _ in 0..SLICES {
        for it in running.iter_mut().filter(|it| it.side.failed.is_none()) {
            let cpu = |it: &Running<'_>| it.program.and_then(Program::cpu);
            let before = cpu(it);
            let outcome = flood(client, &it.asked, slice, concurrency).await;
            let Some((requests, events, busy)) = it.noted(outcome)? else {
                continue;
            };
            it.side.requests += requests;
            it.side.events += events;
            it.side.busy += busy;
            let spent = cpu(it)
                .zip(before)
                .map(|(after, before)| after.saturating_sub(before));
            it.side.cpu = spent.map(|spent| spent + it.side.cpu.unwrap_or_default());
        }
    }
    let done = running.into_iter().map(|it| {
        let mut side = it.side;
        side.times.sort_unstable();
        side.firsts.sort_unstable();
        side
    });
    Ok(done.collect())
}

/// A side while it is measured.
struct Running<'a> {
    side: Side,
    asked: Asked,
    program: Option<&'a Program>,
}

impl<'a> Running<'a> {
    fn new(asked: Asked, program: Option<&'a Program>) -> Self {
        let side = Side {
            name: program.map_or_else(|| "direct".to_owned(), |program| program.name.clone()),
            ..Side::default()
        };
        Self {
            side,
            asked,
            program,
        }
    }

    /// A failure of somebody else's program is noted and ends its part in the case; one of ours ends the run.
    fn noted<T>(&mut self, outcome: Result<T, Failure>) -> Result<Option<T>, Failure> {
        match outcome {
            Ok(it) => Ok(Some(it)),
            Err(failure) if self.program.is_some_and(|program| program.may_fail) => {
                self.side = Side {
                    name: std::mem::take(&mut self.side.name),
                    failed: Some(failure.to_string()),
                    ..Side::default()
                };
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// What the last of the replies says of its strategy.
async fn warm_up(client: &reqwest::Client, asked: &Asked) -> Result<String, Failure> {
    let until = Instant::now() + WARM_UP_WITHIN;
    let mut strategy = request(client, asked, asked.body()).await?.strategy;
    for _ in 1..WARM_UP {
        if Instant::now() > until {
            break;
        }
        strategy = request(client, asked, asked.body()).await?.strategy;
    }
    Ok(strategy)
}

/// Requests, events, and the time that they took.
async fn flood(
    client: &reqwest::Client,
    asked: &Asked,
    time: Duration,
    concurrency: u16,
) -> Result<(u64, u64, Duration), Failure> {
    let start = Instant::now();
    let body = asked.body();
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let (client, asked, body) = (client.clone(), asked.clone(), body.clone());
        workers.spawn(async move {
            let (mut requests, mut events) = (0, 0);
            while start.elapsed() < time {
                let body = match asked.case {
                    Case::NewSchema => asked.body(),
                    _ => body.clone(),
                };
                events += request(&client, &asked, body).await?.events;
                requests += 1;
            }
            Ok::<(u64, u64), Failure>((requests, events))
        });
    }
    let (mut requests, mut events) = (0, 0);
    while let Some(done) = workers.join_next().await {
        let failed = |error| Failure::Runtime(format!("a worker ended: {error}"));
        let (its_requests, its_events) = done.map_err(failed)??;
        requests += its_requests;
        events += its_events;
    }
    Ok((requests, events, start.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::super::upstream;
    use super::*;

    #[tokio::test]
    async fn the_scripted_server_answers_every_case() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        for case in Case::ALL.map(Case::direct) {
            let asked = Asked {
                base: format!("http://{}/v1", upstream.address),
                model: MODEL.to_owned(),
                headers: http::HeaderMap::new(),
                case,
            };
            let reply = request(&client()?, &asked, asked.body()).await?;
            assert_eq!(reply.events > 2000, case.is_stream(), "{}", case.as_str());
            assert!(reply.first <= reply.time, "{}", case.as_str());
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
