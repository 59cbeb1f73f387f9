//! Many streams at once, each waiting for the next event: what one takes of a proxy's memory, and what is given back.

use super::super::Failure;
use super::case::Case;
use super::load::Asked;
use super::program::Program;
use super::upstream::{HELD, Upstream};
use http_body_util::BodyExt as _;
use std::time::Duration;
use tokio::task::JoinSet;

/// So many connections are opened at once: a listener's queue is not endless.
const AT_ONCE: usize = 64;
/// What a proxy frees it has given back by then.
const AFTERWARDS: Duration = Duration::from_secs(60);

/// A proxy's resident memory, bytes.
pub(super) struct Memory {
    pub(super) name: String,
    pub(super) idle: Option<u64>,
    /// With all streams open.
    pub(super) open: Option<u64>,
    /// A minute after they ended.
    pub(super) after: Option<u64>,
}

/// Opens so many streams through each proxy, one proxy after the other.
pub(super) async fn measure(
    upstream: &Upstream,
    proxies: &[Program],
    count: usize,
) -> Result<Vec<Memory>, Failure> {
    let mut measured = Vec::new();
    for proxy in proxies {
        match through(upstream, proxy, count).await {
            Ok(memory) => measured.push((memory, proxy)),
            Err(failure) if proxy.may_fail => {
                eprintln!("{}: not with {count} streams: {failure}", proxy.name);
            }
            Err(failure) => return Err(failure),
        }
    }
    tokio::time::sleep(AFTERWARDS).await;
    let done = measured.into_iter().map(|(memory, proxy)| Memory {
        after: proxy.rss(),
        ..memory
    });
    Ok(done.collect())
}

async fn through(upstream: &Upstream, proxy: &Program, count: usize) -> Result<Memory, Failure> {
    let idle = proxy.rss();
    upstream.released.send_replace(false);
    let client = super::load::client()?;
    let mut open = Vec::new();
    while open.len() < count {
        let mut opening = JoinSet::new();
        for _ in 0..AT_ONCE.min(count - open.len()) {
            opening.spawn(one(client.clone(), Asked::of(proxy, Case::StreamTools)));
        }
        while let Some(opened) = opening.join_next().await {
            let failed = |error| Failure::Runtime(format!("a stream ended: {error}"));
            open.push(opened.map_err(failed)??);
        }
    }
    let with = proxy.rss();
    upstream.released.send_replace(true);
    let mut ending = JoinSet::new();
    for body in open {
        ending.spawn(body.collect());
    }
    while ending.join_next().await.is_some() {}
    Ok(Memory {
        name: proxy.name.clone(),
        idle,
        open: with,
        after: None,
    })
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
