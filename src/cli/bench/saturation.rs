//! How many requests a second one processor is good for: the proxy on one, who asks and who answers on the others.
//!
//! Requests are due at fixed times, whether or not those before were answered, and are timed from when they were due: a
//! proxy that falls behind cannot slow down what is asked of it.

use super::super::Failure;
use super::case::Case;
use super::cores::Cores;
use super::load::{self, Asked};
use super::program::Program;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What is asked: the cheapest of all, and the work that the proxy is for.
const CASES: [Case; 2] = [Case::PassThrough, Case::Tools];
/// Requests under way at once, at the most.
const AT_ONCE: u16 = 64;
/// Of each attempt.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Parts of what it answers when pressed, tried in this order.
const RATES: [f64; 8] = [1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4];
/// It keeps up if 99 of 100 are answered so soon after they were due.
const IN_TIME: Duration = Duration::from_millis(100);
/// With less of its processor used somebody else was the slowest: it could have done more.
const BUSY: f64 = 0.9;

/// What a proxy is good for on one processor.
pub(super) struct Saturated {
    pub(super) case: Case,
    pub(super) name: String,
    pub(super) outcome: Result<KeptUp, String>,
}

/// The highest rate of those tried at which it kept up.
pub(super) struct KeptUp {
    pub(super) requests_per_second: f64,
    /// From when they were due.
    pub(super) p99: Duration,
    /// Part of its processor that it used; `None` where the system does not tell.
    pub(super) used: Option<f64>,
}

impl KeptUp {
    /// Whether who asks was the slowest, so that this is no more than a lower bound.
    pub(super) fn is_at_least(&self) -> bool {
        self.used.is_some_and(|used| used < BUSY)
    }
}

/// Measures all in turn.
pub(super) async fn measure(
    client: &reqwest::Client,
    proxies: &[Program],
) -> Result<Vec<Saturated>, Failure> {
    let cores = Cores::of_this_machine()?;
    let mut measured = Vec::new();
    for proxy in proxies {
        let bound = cores.bind(proxy);
        for case in CASES {
            let outcome = match &bound {
                Ok(_) => of(client, proxy, case)
                    .await
                    .map_err(|failure| failure.to_string()),
                Err(failure) => Err(failure.to_string()),
            };
            if let Err(why) = &outcome
                && !proxy.may_fail
            {
                return Err(Failure::Runtime(why.clone()));
            }
            measured.push(Saturated {
                case,
                name: proxy.name.clone(),
                outcome,
            });
        }
    }
    Ok(measured)
}

async fn of(client: &reqwest::Client, proxy: &Program, case: Case) -> Result<KeptUp, Failure> {
    let asked = Asked::of(proxy, case);
    let pressed = load::flood(client, &asked, ATTEMPT, AT_ONCE).await?;
    for part in RATES {
        let rate = pressed.requests_per_second() * part;
        let before = (proxy.cpu(), Instant::now());
        let p99 = paced(client, &asked, rate).await?;
        let took = before.1.elapsed().as_secs_f64();
        let used = proxy.cpu().zip(before.0);
        let used = used.map(|(after, before)| after.saturating_sub(before).as_secs_f64() / took);
        if p99 <= IN_TIME {
            return Ok(KeptUp {
                requests_per_second: rate,
                p99,
                used,
            });
        }
    }
    let least = RATES.last().copied().unwrap_or_default() * pressed.requests_per_second();
    Err(Failure::Runtime(format!(
        "{}: it does not keep up with {least:.0} requests/s",
        case.as_str()
    )))
}

/// How soon 99 of 100 are answered at a rate, from when they are due.
async fn paced(client: &reqwest::Client, asked: &Asked, rate: f64) -> Result<Duration, Failure> {
    let count = (rate * ATTEMPT.as_secs_f64()).ceil().max(1.0) as u64;
    let (start, next) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let body = asked.body();
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, asked, body) = (client.clone(), asked.clone(), body.clone());
        let next = Arc::clone(&next);
        workers.spawn(async move {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<_, Failure>(times);
                }
                let due = start + Duration::from_secs_f64(number as f64 / rate);
                tokio::time::sleep_until(due).await;
                load::request(&client, &asked, body.clone()).await?;
                times.push(due.elapsed());
            }
        });
    }
    let mut times = Vec::new();
    while let Some(done) = workers.join_next().await {
        times.extend(done.map_err(load::ended)??);
    }
    times.sort_unstable();
    Ok(load::at(&times, 0.99))
}

#[cfg(test)]
mod tests {
    use super::super::upstream;
    use super::*;

    #[tokio::test]
    async fn requests_are_timed_from_when_they_are_due() -> Result<(), Failure> {
        let upstream = upstream::start().await?;
        let asked = Asked::direct(&upstream.url(), Case::PassThrough);
        let client = load::client()?;
        let start = Instant::now();
        let easy = paced(&client, &asked, 20.0).await?;
        // The last is due after 19 of 20 parts of a second.
        assert!(start.elapsed() > Duration::from_millis(900));
        // Far more than anybody answers are all due at once, and the last ones wait for those before.
        let hard = paced(&client, &asked, 20_000.0).await?;
        assert!(hard > easy, "{hard:?} {easy:?}");
        Ok(())
    }

    #[test]
    fn who_had_time_left_could_have_done_more() {
        let kept = |used| KeptUp {
            requests_per_second: 1.0,
            p99: Duration::ZERO,
            used,
        };
        assert!(kept(Some(0.5)).is_at_least());
        assert!(!kept(Some(0.97)).is_at_least());
        assert!(!kept(None).is_at_least());
    }
}
