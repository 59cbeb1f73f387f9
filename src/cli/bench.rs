//! `isogloss bench`: a scripted server without think time, this program as a proxy in front of
//! it, and one load on both in turn; what the proxy adds, out.

mod case;
mod foreign;
mod load;
mod open;
mod peer;
mod program;
mod translation;
mod upstream;

use super::{Failure, print, print_json, runtime};
use case::Case;
use load::Side;
use open::Memory;
use peer::Peer;
use program::Program;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use translation::Timed;

/// Flags of `bench`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// About how long to measure, in all.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Requests at once where the rate is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=512))]
    concurrency: u16,
    /// Other proxies to measure in the same run, which only forward; they are found on the PATH.
    #[arg(long, value_name = "PROXIES", value_delimiter = ',')]
    beside: Vec<Peer>,
    /// And these, as benches/race/run writes them down: a JSON array of `name`, `command` with `{upstream}` and `{port}`,
    /// `base`, `model`, `ready`, `headers`. What one of them cannot do is told, and measured of the others.
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// Then hold so many streams open at once, and measure memory; takes a minute more.
    #[arg(long, value_name = "STREAMS", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    open: u16,
    /// Measure this alone.
    #[arg(long, value_name = "CASE")]
    only: Option<Case>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// What the whole run found.
struct Report {
    /// Of each case the server alone, then the proxies.
    cases: Vec<(Case, Vec<Side>)>,
    /// Requests written for servers, without and with what was written before.
    translations: Vec<Timed>,
    /// Resident memory of each proxy, bytes: at rest before, and after all load.
    memory: Vec<(String, Option<u64>, Option<u64>)>,
    /// With many streams open.
    open: Vec<Memory>,
    /// What could not be started, and why.
    missing: Vec<(String, String)>,
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
    let foreign = args
        .peers
        .as_deref()
        .map(foreign::read)
        .transpose()?
        .unwrap_or_default();
    let upstream = upstream::start().await?;
    let direct = format!("http://{}/v1", upstream.address);
    let mut proxies = vec![Program::start(&format!("http://{}", upstream.address))?];
    let mut folders = Vec::new();
    for peer in &args.beside {
        let (program, folder) = peer::start(*peer, upstream.address)?;
        proxies.push(program);
        folders.push(folder);
    }
    let client = load::client()?;
    for proxy in &proxies {
        proxy.wait_until_ready(&client).await?;
    }
    // All at once: some load half of Python before they listen.
    let mut missing = Vec::new();
    let started: Vec<_> = foreign
        .iter()
        .map(|foreign| (foreign.name.clone(), foreign.start(upstream.address)))
        .collect();
    for (name, started) in started {
        let ready = match started {
            Ok(program) => program.wait_until_ready(&client).await.map(|()| program),
            Err(failure) => Err(failure),
        };
        match ready {
            Ok(program) => proxies.push(program),
            Err(failure) => missing.push((name, failure.to_string())),
        }
    }
    let idle: Vec<_> = proxies.iter().map(Program::rss).collect();
    // One share more, for what is measured without a server.
    let wanted = Case::ALL
        .into_iter()
        .filter(|case| args.only.is_none_or(|only| only == *case));
    let shares = u32::try_from(wanted.clone().count() + 1).unwrap_or(1);
    let each = Duration::from_secs(args.seconds) / shares;
    let mut cases = Vec::new();
    for case in wanted {
        let sides = load::measure(&client, &direct, &proxies, case, each, args.concurrency).await?;
        cases.push((case, sides));
    }
    let memory = proxies
        .iter()
        .zip(idle)
        .map(|(proxy, idle)| (proxy.name.clone(), idle, proxy.rss()))
        .collect();
    let open = match usize::from(args.open) {
        0 => Vec::new(),
        count => open::measure(&upstream, &proxies, count).await?,
    };
    drop((proxies, folders));
    let translations = tokio::task::spawn_blocking(move || translation::measure(each))
        .await
        .map_err(|error| Failure::Runtime(error.to_string()))??;
    Ok(Report {
        cases,
        translations,
        memory,
        open,
        missing,
    })
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What a proxy adds at a quantile; negative where noise is larger than the proxy's work.
fn added(side: &Side, direct: &Side, quantile: f64) -> f64 {
    millis(side.quantile(quantile)) - millis(direct.quantile(quantile))
}

fn to_json(report: &Report) -> Value {
    let case = |(case, sides): &(Case, Vec<Side>)| {
        let direct = sides.first()?;
        let side = |side: &Side| {
            if let Some(failed) = &side.failed {
                return json!({"name": side.name, "failed": failed});
            }
            json!({
                "name": side.name,
                "strategy": side.strategy,
                "p50_ms": millis(side.quantile(0.5)),
                "p90_ms": millis(side.quantile(0.9)),
                "p99_ms": millis(side.quantile(0.99)),
                "added_p50_ms": added(side, direct, 0.5),
                "added_p90_ms": added(side, direct, 0.9),
                "added_p99_ms": added(side, direct, 0.99),
                "first_p50_ms": millis(side.first_quantile(0.5)),
                "added_first_p50_ms": millis(side.first_quantile(0.5)) - millis(direct.first_quantile(0.5)),
                "requests_per_second": side.requests_per_second(),
                "events_per_second": side.events_per_second(),
                "cpu_us_per_request": side.cpu_per_request(),
                "cpu_us_per_event": side.cpu_per_event().filter(|_| case.is_stream()),
            })
        };
        Some(json!({"case": case.as_str(), "sides": sides.iter().map(side).collect::<Vec<_>>()}))
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
    let memory = |(name, idle, after): &(String, Option<u64>, Option<u64>)| json!({"name": name, "rss_idle_bytes": idle, "rss_after_bytes": after});
    let open = |memory: &Memory| {
        json!({
            "name": memory.name,
            "rss_before_bytes": memory.idle,
            "rss_open_bytes": memory.open,
            "rss_a_minute_later_bytes": memory.after,
        })
    };
    json!({
        "missing": report.missing.iter().map(|(name, why)| json!({"name": name, "why": why})).collect::<Vec<_>>(),
        "open_streams": report.open.iter().map(open).collect::<Vec<_>>(),
        "translations": report.translations.iter().map(translation).collect::<Vec<_>>(),
        "cases": report.cases.iter().filter_map(case).collect::<Vec<_>>(),
        "memory": report.memory.iter().map(memory).collect::<Vec<_>>(),
    })
}

/// A number in its column, or a dash where it is not known.
fn column(number: Option<f64>, width: usize, digits: usize) -> String {
    number.map_or_else(
        || format!("{:>width$}", "-"),
        |number| format!("{number:>width$.digits$}"),
    )
}

fn table(report: &Report, args: &Args) -> String {
    let mut text = String::from(
        "case             proxy      strategy     added p50  added p99      CPU/request  CPU/event   requests/s   events/s\n",
    );
    for (case, sides) in &report.cases {
        for side in sides {
            if let Some(failed) = &side.failed {
                let _ = writeln!(
                    text,
                    "{:<16} {:<10} failed: {failed}",
                    case.as_str(),
                    side.name
                );
                continue;
            }
            let direct = side.name == "direct";
            let added = |quantile| Some(added(side, sides.first()?, quantile)).filter(|_| !direct);
            let streams = case.is_stream();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{:<16} {:<10} {:<11} {} ms {} ms {} µs {} µs {:>12.0} {}",
                case.as_str(),
                side.name,
                side.strategy,
                column(added(0.5), 8, 3),
                column(added(0.99), 7, 3),
                column(side.cpu_per_request(), 13, 0),
                column(side.cpu_per_event().filter(|_| streams), 8, 2),
                side.requests_per_second(),
                column(Some(side.events_per_second()).filter(|_| streams), 10, 0),
            );
        }
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
    for (name, why) in &report.missing {
        let _ = writeln!(text, "{name} is not measured: {why}");
    }
    let mib = |bytes: Option<u64>| match bytes {
        Some(bytes) => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        None => "unknown".to_owned(),
    };
    text.push('\n');
    for (name, idle, after) in &report.memory {
        let (idle, after) = (mib(*idle), mib(*after));
        let _ = writeln!(
            text,
            "memory (RSS) of {name}: {idle} idle, {after} after the load"
        );
    }
    for memory in &report.open {
        let each = memory.open.zip(memory.idle).map(|(open, idle)| {
            open.saturating_sub(idle) as f64 / 1024.0 / f64::from(args.open.max(1))
        });
        let _ = writeln!(
            text,
            "{} open streams in {}: {} before, {} with them ({} KiB each), {} a minute later",
            args.open,
            memory.name,
            mib(memory.idle),
            mib(memory.open),
            column(each, 0, 1),
            mib(memory.after),
        );
    }
    let _ = writeln!(
        text,
        "added: quantile through the proxy less quantile direct, one request at a time, in turn.\n\
         CPU and rates: {} requests at once; client, server and proxy share this machine's {} cores.",
        args.concurrency,
        std::thread::available_parallelism().map_or(1, usize::from),
    );
    text
}
