//! `isogloss bench`: a scripted server without think time, this program as a proxy in front of
//! it, and one load on both in turn; what the proxy adds, out.

mod child;
mod load;
mod translation;
mod upstream;

use super::{Failure, print, print_json, runtime};
use child::Child;
use load::{Case, Measured};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use translation::Timed;

/// Flags of `bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// About how long to measure, in all.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Requests at once where the rate is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=512))]
    concurrency: u16,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// What the whole run found.
struct Report {
    cases: Vec<(Case, Measured)>,
    /// Requests written for servers, without and with what was written before.
    translations: Vec<Timed>,
    /// Resident memory of the proxy's process, bytes: at rest before, and after all load.
    rss_idle: Option<u64>,
    rss_after: Option<u64>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let runtime = runtime()?;
    let report = runtime.block_on(measure(args))?;
    runtime.shutdown_background();
    if args.json {
        print_json(&to_json(&report))
    } else {
        print(&table(&report, args))
    }
}

async fn measure(args: &Args) -> Result<Report, Failure> {
    let upstream = upstream::start().await?;
    let direct = format!("http://{}/v1", upstream.address);
    let proxy = Child::start(&format!("http://{}", upstream.address))?;
    let client = load::client()?;
    proxy.wait_until_ready(&client).await?;
    let rss_idle = proxy.rss();
    // One share more, for what is measured without a server.
    let shares = u32::try_from(Case::ALL.len() + 1).unwrap_or(1);
    let each = Duration::from_secs(args.seconds) / shares;
    let mut cases = Vec::new();
    for case in Case::ALL {
        let urls = [direct.as_str(), proxy.base_url.as_str()];
        let measured = load::measure(&client, urls, case, each, args.concurrency).await?;
        cases.push((case, measured));
    }
    let rss_after = proxy.rss();
    drop(proxy);
    let translations = tokio::task::spawn_blocking(move || translation::measure(each))
        .await
        .map_err(|error| Failure::Runtime(error.to_string()))??;
    Ok(Report {
        cases,
        translations,
        rss_idle,
        rss_after,
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What the proxy adds at a quantile; negative where noise is larger than the proxy's work.
fn added(measured: &Measured, quantile: f64) -> f64 {
    millis(measured.proxied.quantile(quantile)) - millis(measured.direct.quantile(quantile))
}

fn to_json(report: &Report) -> Value {
    let case = |(case, measured): &(Case, Measured)| {
        json!({
            "case": case.as_str(),
            "strategy": measured.strategy,
            "added_p50_ms": added(measured, 0.5),
            "added_p99_ms": added(measured, 0.99),
            "direct_p50_ms": millis(measured.direct.quantile(0.5)),
            "proxied_p50_ms": millis(measured.proxied.quantile(0.5)),
            "direct_requests_per_second": measured.direct.requests_per_second(),
            "proxied_requests_per_second": measured.proxied.requests_per_second(),
            "direct_events_per_second": measured.direct.events_per_second(),
            "proxied_events_per_second": measured.proxied.events_per_second(),
        })
    };
    let translation = |timed: &Timed| {
        json!({
            "work": timed.work.as_str(),
            "server": timed.work.server().0,
            "without_memo_p50_ms": millis(timed.p50_without()),
            "with_memo_p50_ms": millis(timed.p50_with()),
            "ratio": timed.ratio(),
        })
    };
    json!({
        "translations": report.translations.iter().map(translation).collect::<Vec<_>>(),
        "cases": report.cases.iter().map(case).collect::<Vec<_>>(),
        "rss_idle_bytes": report.rss_idle,
        "rss_after_bytes": report.rss_after,
    })
}

fn table(report: &Report, args: &Args) -> String {
    let mut text = String::from(
        "case             strategy      added p50  added p99    requests/s direct  proxied      events/s direct  proxied\n",
    );
    for (case, measured) in &report.cases {
        let (direct, proxied) = (&measured.direct, &measured.proxied);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16} {:<12} {:>7.3} ms {:>7.3} ms {:>20.0} {:>8.0} {:>20.0} {:>8.0}",
            case.as_str(),
            measured.strategy,
            added(measured, 0.5),
            added(measured, 0.99),
            direct.requests_per_second(),
            proxied.requests_per_second(),
            direct.events_per_second(),
            proxied.events_per_second(),
        );
    }
    text.push_str(
        "\nwritten for a server     p50 the first time  p50 once remembered  times as fast\n",
    );
    for timed in &report.translations {
        let _ = writeln!(
            text,
            "{:<16} {:<10} {:>12.3} ms {:>17.3} ms {:>14.1}",
            timed.work.as_str(),
            timed.work.server().0,
            millis(timed.p50_without()),
            millis(timed.p50_with()),
            timed.ratio(),
        );
    }
    let mib = |bytes: Option<u64>| match bytes {
        Some(bytes) => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        None => "unknown".to_owned(),
    };
    let _ = writeln!(
        text,
        "\nproxy's memory (RSS): {} idle, {} after the load\n\
         added: quantile through the proxy less quantile direct, one request at a time, in turn.\n\
         rates: {} requests at once; client, server and proxy share this machine's {} cores.",
        mib(report.rss_idle),
        mib(report.rss_after),
        args.concurrency,
        std::thread::available_parallelism().map_or(1, usize::from),
    );
    text
}
