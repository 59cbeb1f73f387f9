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
/// Fewer answers than these say nothing: a short run goes on until it has them.
const LEAST: usize = 5;
/// One that has not given so many by then is too slow for this run; what it gave is told with their number.
const LEAST_WITHIN: Duration = Duration::from_secs(10);

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
    /// What these took, in all.
    used: Duration,
    /// Of the same requests, until the reply says something: the first bytes of its body, of a stream the first delta.
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

    /// Of how many answers one at a time the quantiles are.
    pub(super) fn answers(&self) -> usize {
        self.times.len()
    }

    /// Whether it gave too few answers for its numbers to say anything.
    pub(super) fn is_too_short(&self) -> bool {
        self.failed.is_none() && self.times.len() < LEAST
    }

    /// Whether one more is asked, one at a time: until the time is over, but no longer than its share, so that a slow one
    /// does not take what the others have; and in any case until there are some.
    fn goes_on(&self, is_over: bool, share: Duration) -> bool {
        let has_some = self.times.len() >= LEAST || self.used > LEAST_WITHIN;
        self.failed.is_none() && (!has_some || (!is_over && self.used < share))
    }

    /// Until a reply says something.
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
pub(super) fn at(times: &[Duration], quantile: f64) -> Duration {
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
    /// The server itself, whose `/v1` is at `base`.
    pub(super) fn direct(base: &str, case: Case) -> Self {
        Self {
            base: base.to_owned(),
            model: MODEL.to_owned(),
            headers: http::HeaderMap::new(),
            case: case.direct(),
        }
    }

    pub(super) fn of(proxy: &Program, case: Case) -> Self {
        Self {
            base: proxy.base_url.clone(),
            model: proxy.model.clone(),
            headers: proxy.headers.clone(),
            case,
        }
    }

    /// Made anew for each request only where no two are alike.
    pub(super) fn body(&self) -> Bytes {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        self.case.body("bench", &self.model, serial)
    }
}

/// One reply.
pub(super) struct Reply {
    pub(super) time: Duration,
    first: Duration,
    events: u64,
    strategy: String,
}

pub(super) async fn request(
    client: &reqwest::Client,
    asked: &Asked,
    body: Bytes,
) -> Result<Reply, Failure> {
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
            reply.extend_from_slice(&data);
            if first.is_none() && case.says_something(&reply) {
                first = Some(start.elapsed());
            }
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
    let mut running = vec![Running::new(Asked::direct(direct, case), None)];
    let others = proxies.iter();
    running.extend(others.map(|proxy| Running::new(Asked::of(proxy, case), Some(proxy))));
    for it in &mut running {
        let outcome = warm_up(client, &it.asked).await;
        if let Some(strategy) = it.noted(outcome)? {
            it.side.strategy = strategy;
        }
    }
    let until = Instant::now() + time / 2;
    let count = u32::try_from(running.len()).unwrap_or(u32::MAX);
    let share = time / 2 / count;
    loop {
        let is_over = Instant::now() > until;
        let mut asked = 0;
        for it in &mut running {
            if !it.side.goes_on(is_over, share) {
                continue;
            }
            asked += 1;
            let outcome = request(client, &it.asked, it.asked.body()).await;
            if let Some(reply) = it.noted(outcome)? {
                it.side.times.push(reply.time);
                it.side.firsts.push(reply.first);
                it.side.used += reply.time;
            }
        }
        if asked == 0 {
            break;
        }
    }
    for _ in 0..SLICES {
        for it in running.iter_mut().filter(|it| it.side.failed.is_none()) {
            let cpu = |it: &Running<'_>| it.program.and_then(Program::cpu);
            let before = cpu(it);
            let outcome = flood(client, &it.asked, share / SLICES, concurrency).await;
            let Some(flooded) = it.noted(outcome)? else {
                continue;
            };
            it.side.requests += flooded.requests;
            it.side.events += flooded.events;
            it.side.busy += flooded.busy;
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

/// What many at once got.
pub(super) struct Flooded {
    requests: u64,
    events: u64,
    busy: Duration,
}

impl Flooded {
    pub(super) fn requests_per_second(&self) -> f64 {
        self.requests as f64 / self.busy.as_secs_f64().max(f64::EPSILON)
    }
}

/// Asks so many times at once for about `time`, and each at least once.
pub(super) async fn flood(
    client: &reqwest::Client,
    asked: &Asked,
    time: Duration,
    concurrency: u16,
) -> Result<Flooded, Failure> {
    // Made before the clock starts: a body of megabytes takes longer than a short run has.
    let body = asked.body();
    let start = Instant::now();
    let mut workers = JoinSet::new();
    for _ in 0..concurrency {
        let (client, asked, body) = (client.clone(), asked.clone(), body.clone());
        workers.spawn(async move {
            let (mut requests, mut events) = (0, 0);
            loop {
                let body = match asked.case {
                    Case::NewSchema => asked.body(),
                    _ => body.clone(),
                };
                events += request(&client, &asked, body).await?.events;
                requests += 1;
                if start.elapsed() >= time {
                    return Ok::<(u64, u64), Failure>((requests, events));
                }
            }
        });
    }
    let (mut requests, mut events) = (0, 0);
    while let Some(done) = workers.join_next().await {
        let (its_requests, its_events) = done.map_err(ended)??;
        requests += its_requests;
        events += its_events;
    }
    let busy = start.elapsed();
    Ok(Flooded {
        requests,
        events,
        busy,
    })
}

/// A task that is gone without a word.
pub(super) fn ended(error: tokio::task::JoinError) -> Failure {
    Failure::Runtime(format!("a worker ended: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::upstream;
    use super::*;

    #[tokio::test]
    async fn the_scripted_server_answers_every_case() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        for case in Case::ALL.map(Case::direct) {
            let asked = Asked::direct(&upstream.url(), case);
            let reply = request(&client()?, &asked, asked.body()).await?;
            assert_eq!(reply.events > 2000, case.is_stream(), "{}", case.as_str());
            assert!(reply.first <= reply.time, "{}", case.as_str());
        }
        Ok(())
    }

    #[tokio::test]
    async fn the_shortest_run_has_answers_to_each_case() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        let client = client()?;
        for case in [Case::PassThrough, Case::Images] {
            let sides = measure(&client, &upstream.url(), &[], case, Duration::ZERO, 2).await?;
            for side in sides {
                assert!(side.answers() >= LEAST, "{}", case.as_str());
                assert!(side.requests_per_second() > 0.0, "{}", case.as_str());
            }
        }
        Ok(())
    }

    #[test]
    fn a_slow_one_takes_its_share_and_not_that_of_others() {
        let side = |answers: usize, used: u64| Side {
            times: vec![Duration::ZERO; answers],
            used: Duration::from_secs(used),
            ..Side::default()
        };
        let share = Duration::from_secs(3);
        assert!(side(9, 2).goes_on(false, share));
        assert!(!side(9, 4).goes_on(false, share));
        assert!(!side(9, 2).goes_on(true, share));
        // Without answers it says nothing; but it is not waited for without end.
        assert!(side(1, 4).goes_on(true, share) && side(1, 4).is_too_short());
        assert!(!side(1, 11).goes_on(true, share));
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
