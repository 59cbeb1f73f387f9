//! `isogloss bench`: a scripted server without think time, this program as a proxy in front of
//! it, and one load on both in turn; what the proxy adds, out.

mod case;
mod cores;
mod foreign;
mod load;
mod open;
mod peer;
mod program;
mod report;
mod saturation;
mod slow;
mod translation;
mod upstream;

use super::{Failure, print, print_json, runtime};
use case::Case;
use load::Side;
use open::Open;
use peer::Peer;
use program::Program;
use saturation::Saturated;
use slow::Slow;
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
    /// Then hold so many streams open at once, with an event a second each: memory, and how late events come. Several
    /// numbers are measured in turn.
    #[arg(long, value_name = "STREAMS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=10_000))]
    open: Vec<u16>,
    /// Then have so many clients read long streams at a trickle: memory, and whether others wait.
    #[arg(long, value_name = "CLIENTS", value_parser = clap::value_parser!(u16).range(1..=1000))]
    slow_readers: Option<u16>,
    /// Then bind each proxy to one processor, and find how many requests a second it keeps up with there. Needs Linux,
    /// `taskset`, and two processors.
    #[arg(long)]
    saturation: bool,
    /// At the end wait a minute, and measure memory again.
    #[arg(long)]
    settle: bool,
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
    /// Of each proxy.
    memory: Vec<Memory>,
    /// On one processor.
    saturation: Vec<Saturated>,
    /// With clients that read at a trickle.
    slow: Vec<Slow>,
    /// With many streams open.
    open: Vec<Open>,
    /// What could not be started, and why.
    missing: Vec<(String, String)>,
}

/// Resident memory of a proxy, bytes.
struct Memory {
    name: String,
    idle: Option<u64>,
    /// When the load has just ended.
    after: Option<u64>,
    /// A minute after all that was measured, where it was waited for.
    later: Option<u64>,
}

/// What a proxy frees it has given back by then.
const AFTERWARDS: Duration = Duration::from_secs(60);

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    // Who asks and who answers have all processors, whatever the proxy takes.
    let runtime = runtime(crate::proxy::processors())?;
    let report = runtime.block_on(measure(args))?;
    runtime.shutdown_background();
    if args.json {
        print_json(&report::to_json(&report))
    } else {
        print(&report::table(&report, args))
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
    let direct = upstream.url();
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
    let memory = proxies.iter().zip(idle).map(|(proxy, idle)| Memory {
        name: proxy.name.clone(),
        idle,
        after: proxy.rss(),
        later: None,
    });
    let mut memory: Vec<_> = memory.collect();
    let saturation = match args.saturation {
        true => saturation::measure(&client, &proxies).await?,
        false => Vec::new(),
    };
    let mut open = Vec::new();
    for streams in &args.open {
        open.extend(open::measure(&upstream, &proxies, *streams).await?);
    }
    // The last, since some go on with what was sent to them.
    let slow = match args.slow_readers {
        Some(count) => slow::measure(&client, &upstream, &proxies, count).await?,
        None => Vec::new(),
    };
    if args.settle {
        tokio::time::sleep(AFTERWARDS).await;
        for (memory, proxy) in memory.iter_mut().zip(&proxies) {
            memory.later = proxy.rss();
        }
    }
    drop((proxies, folders));
    let translations = tokio::task::spawn_blocking(move || translation::measure(each))
        .await
        .map_err(|error| Failure::Runtime(error.to_string()))??;
    Ok(Report {
        cases,
        translations,
        memory,
        saturation,
        slow,
        open,
        missing,
    })
}
