//! Many streams at once, each with an event a second: what one takes of a proxy's memory, and how late events come.

use super::super::Failure;
use super::case::Case;
use super::load::{self, Asked};
use super::program::Program;
use super::upstream::{HELD, Upstream};
use http_body_util::BodyExt as _;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// So many connections are opened at once: a listener's queue is not endless.
const AT_ONCE: usize = 64;
/// Who has not opened all of them by then is too slow for so many.
const OPENED_WITHIN: Duration = Duration::from_secs(30);
/// How long events are waited for and timed.
const TIMED: Duration = Duration::from_secs(5);
/// The streams have come to their end by then, or are given up.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// What so many streams did to a proxy.
pub(super) struct Open {
    pub(super) name: String,
    pub(super) streams: u16,
    pub(super) outcome: Result<Held, String>,
}

/// While they were open.
pub(super) struct Held {
    /// Resident memory before, bytes.
    pub(super) idle: Option<u64>,
    /// With all streams open.
    pub(super) open: Option<u64>,
    /// Between two events of a stream, which the server says [`super::upstream::TICK`] apart; sorted.
    gaps: Vec<Duration>,
}

impl Held {
    pub(super) fn gap(&self, quantile: f64) -> Duration {
        load::at(&self.gaps, quantile)
    }
}

/// Opens so many streams at the server itself and through each proxy, one after the other.
pub(super) async fn measure(
    upstream: &Upstream,
    proxies: &[Program],
    streams: u16,
) -> Result<Vec<Open>, Failure> {
    let direct = Asked::direct(&upstream.url(), Case::StreamTools);
    let mut sides = vec![("direct", direct, None)];
    sides.extend(proxies.iter().map(|proxy| {
        let asked = Asked::of(proxy, Case::StreamTools);
        (proxy.name.as_str(), asked, Some(proxy))
    }));
    let mut measured = Vec::new();
    for (name, asked, proxy) in sides {
        let outcome = match through(upstream, asked, proxy, streams).await {
            Err(failure) if proxy.is_none_or(|proxy| !proxy.may_fail) => return Err(failure),
            outcome => outcome.map_err(|failure| failure.to_string()),
        };
        measured.push(Open {
            name: name.to_owned(),
            streams,
            outcome,
        });
    }
    Ok(measured)
}

async fn through(
    upstream: &Upstream,
    asked: Asked,
    proxy: Option<&Program>,
    streams: u16,
) -> Result<Held, Failure> {
    let rss = || proxy.and_then(Program::rss);
    let idle = rss();
    upstream.released.send_replace(false);
    let reading = opened(&asked, usize::from(streams)).await?;
    let from = Instant::now();
    let mut timing = JoinSet::new();
    for body in reading {
        timing.spawn(gaps(body, from));
    }
    tokio::time::sleep(TIMED).await;
    let open = rss();
    upstream.released.send_replace(true);
    let mut gaps = Vec::new();
    let ended = async {
        while let Some(one) = timing.join_next().await {
            gaps.extend(one.map_err(load::ended)?);
        }
        Ok::<_, Failure>(())
    };
    let base = &asked.base;
    tokio::time::timeout(ENDED_WITHIN, ended)
        .await
        .map_err(|_late| {
            let seconds = ENDED_WITHIN.as_secs();
            Failure::Runtime(format!(
                "{base}: of {streams} streams some have no end {seconds} s after the server's"
            ))
        })??;
    gaps.sort_unstable();
    if gaps.is_empty() {
        return Err(Failure::Runtime(format!(
            "{base}: no event came through while {streams} streams were open"
        )));
    }
    Ok(Held { idle, open, gaps })
}

async fn opened(asked: &Asked, count: usize) -> Result<Vec<reqwest::Body>, Failure> {
    let client = load::client()?;
    let mut open = Vec::new();
    let all = async {
        while open.len() < count {
            let mut opening = JoinSet::new();
            for _ in 0..AT_ONCE.min(count - open.len()) {
                opening.spawn(one(client.clone(), asked.clone()));
            }
            while let Some(opened) = opening.join_next().await {
                open.push(opened.map_err(load::ended)??);
            }
        }
        Ok::<_, Failure>(())
    };
    match tokio::time::timeout(OPENED_WITHIN, all).await {
        Ok(done) => done.map(|()| open),
        Err(_late) => Err(Failure::Runtime(format!(
            "{}: {} of {count} streams had an event within {} s",
            asked.base,
            open.len(),
            OPENED_WITHIN.as_secs()
        ))),
    }
}

/// One stream, read as far as its first event.
async fn one(client: reqwest::Client, asked: Asked) -> Result<reqwest::Body, Failure> {
    let base = &asked.base;
    let failed = |error: reqwest::Error| Failure::Runtime(format!("{base}: {error}"));
    let reply = client
        .post(format!("{base}/chat/completions"))
        .headers(asked.headers)
        .header(http::header::CONTENT_TYPE, "application/json")
        .timeout(Duration::from_secs(600))
        .body(Case::StreamTools.body(HELD, &asked.model, 0))
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(failed)?;
    let mut body: reqwest::Body = http::Response::from(reply).into_body();
    match body.frame().await {
        Some(Ok(_)) => Ok(body),
        _ => Err(Failure::Runtime(format!("{base}: a stream had no event"))),
    }
}

/// Reads a stream to its end; how long each event of the time that counts came after the one before it. What came before
/// `from`, and what the server says at once when it is released, is not of them.
async fn gaps(mut body: reqwest::Body, from: Instant) -> Vec<Duration> {
    let mut gaps = Vec::new();
    let mut last = None::<Instant>;
    while let Some(Ok(_)) = body.frame().await {
        let now = Instant::now();
        let gap = last.replace(now).map(|last| now - last);
        // The first one may have waited for who reads it.
        let counts = now > from + super::upstream::TICK && now < from + TIMED;
        gaps.extend(gap.filter(|_| counts));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::super::upstream::{self, TICK};
    use super::*;

    #[tokio::test]
    async fn a_servers_own_events_come_a_tick_apart() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        let asked = Asked::direct(&upstream.url(), Case::StreamTools);
        let held = through(&upstream, asked, None, 3).await?;
        // A busy machine makes them later.
        assert!(held.gap(1.0) > TICK / 2, "{:?}", held.gap(1.0));
        Ok(())
    }
}
