//! `isogloss serve`: configuration in, two listeners until a signal, and then the drain.

use super::flags::ConfigArgs;
use super::{Failure, print, runtime, wire};
use crate::admin;
use crate::config::Config;
use crate::proxy;
use crate::rules::RuleSet;
use crate::telemetry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// How often the metrics' observations are folded into their buckets where nobody scrapes.
const UPKEEP: Duration = Duration::from_secs(5);

/// Flags of `serve`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Log more: debug, and twice: trace (client text may show). RUST_LOG wins.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let config = args.config.load(true)?;
    let rules = wire::rules(config.rules.as_deref())?;
    wire::check_pins(&config, &rules)?;
    telemetry::init(config.log_json, args.verbose);
    let runtime = runtime()?;
    let served = runtime.block_on(serve(config, rules));
    // What still compiles need not be waited for.
    runtime.shutdown_background();
    served
}

async fn serve(config: Config, rules: RuleSet) -> Result<(), Failure> {
    let listener = bind(config.listen, "--listen").await?;
    let operators = bind(config.admin, "--admin").await?;
    let hello = hello(&config, &listener, &operators)?;
    let signals = signals()?;
    let (app, metrics) = wire::app(config, rules)?;
    let mut beside = JoinSet::new();
    let state = wire::operators(&app, &metrics);
    beside.spawn(admin::serve(operators, state, std::future::pending()));
    beside.spawn(async move {
        let mut tick = tokio::time::interval(UPKEEP);
        loop {
            tick.tick().await;
            metrics.upkeep();
        }
    });
    print(&hello)?;
    let serving = proxy::serve(listener, Arc::clone(&app), told(signals.clone(), 1));
    tokio::select! {
        served = serving => served.map_err(|error| {
            Failure::Runtime(format!("the listener failed: {error}"))
        }),
        () = told(signals, 2) => Err(Failure::Runtime(
            "stopped by a second signal, before the last streams ended".to_owned(),
        )),
    }
}

async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::Runtime(format!(
            "cannot listen on {address}: {error}: give {flag} another address"
        ))
    })
}

/// How many signals to stop have come.
fn signals() -> Result<watch::Receiver<u32>, Failure> {
    let failed = |error| Failure::Runtime(format!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (count, signals) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            count.send_modify(|count| *count += 1);
            tracing::info!("asked to stop; a second signal stops at once");
        }
    });
    Ok(signals)
}

async fn told(mut signals: watch::Receiver<u32>, times: u32) {
    // The sender lives as long as the runtime.
    let _ = signals.wait_for(|count| *count >= times).await;
}

/// What a person needs to know: where it listens, what is behind it, what to change in a client.
fn hello(
    config: &Config,
    listener: &TcpListener,
    operators: &TcpListener,
) -> Result<String, Failure> {
    let address = |listener: &TcpListener| {
        let failed = |error| Failure::Runtime(format!("cannot tell the own address: {error}"));
        listener.local_addr().map_err(failed)
    };
    let (listen, admin) = (address(listener)?, address(operators)?);
    let mut text = format!(
        "isogloss {} listening on http://{listen}, admin on http://{admin}\n",
        env!("CARGO_PKG_VERSION")
    );
    for upstream in &config.upstreams {
        let dialect = match &upstream.dialect {
            None => "dialect to be detected".to_owned(),
            Some(pin) => match pin.version {
                None => format!("dialect {}", pin.name),
                Some(version) => format!("dialect {}@{version}", pin.name),
            },
        };
        let url = upstream.url.as_str().trim_end_matches('/');
        text += &format!("upstream {url} ({dialect})\n");
    }
    let host = if listen.ip().is_unspecified() {
        format!("localhost:{}", listen.port())
    } else {
        listen.to_string()
    };
    text += &format!("in your client: base_url = \"http://{host}/v1\"\n");
    Ok(text)
}
