//! `isogloss serve`: configuration in, two listeners until a signal, and then the drain.

use super::flags::ConfigArgs;
use super::reload::{Print, Reloader, Rules};
use super::{Failure, files, print, runtime, wire};
use crate::admin::{self, ConfigurationState};
use crate::config::{Config, ModelSource};
use crate::proxy;
use crate::telemetry;
use crate::upstream::{Facts, Phase, Worker, WorkerStatus};
use std::io::{IsTerminal, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How often the metrics' observations are folded into their buckets where nobody scrapes.
const UPKEEP: Duration = Duration::from_secs(5);
/// The worker's own grace, and a little more: it ends without us as well, when its input closes.
const LAST_RESORT: Duration = Duration::from_secs(7);
/// The same for somebody who does not want to wait.
const AT_ONCE: Duration = Duration::from_millis(500);

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
    let (mut config, odd) = args.config.loaded(true)?;
    let rules = Rules::load(config.rules.as_deref())?;
    let read = Print::of(&config);
    wire::check_worker(&config, &rules.set)?;
    telemetry::init(config.log_json, args.verbose);
    for warning in odd {
        tracing::warn!("{warning}");
    }
    let open_files = files::raise();
    if let Some(files) = open_files {
        files::fit(&mut config.limits, files);
    }
    trust(&config)?;
    let runtime = runtime(config.limits.threads)?;
    let served = runtime.block_on(serve(args.config, config, (rules, read), open_files));
    // What still compiles need not be waited for.
    runtime.shutdown_background();
    served
}

async fn serve(
    args: ConfigArgs,
    config: Config,
    (rules, read): (Rules, Print),
    open_files: Option<usize>,
) -> Result<(), Failure> {
    let listener = bind(config.listen, "--listen").await?;
    let operators = bind(config.admin, "--admin").await?;
    let is_json = config.log_json;
    let hello = said(&hello(&config, &listener, &operators)?, is_json);
    let door = admin::Door::new(&config).map_err(|error| Failure::Config(error.to_string()))?;
    let (signals, hangups) = signals()?;
    let (house, metrics) = wire::house(config, &rules.set)?;
    let mut beside = JoinSet::new();
    let (tells, reloads) = watch::channel(ConfigurationState::default());
    let state = wire::operators(&house, &metrics, reloads);
    beside.spawn(admin::serve(operators, state, door, std::future::pending()));
    let counted = Arc::clone(&metrics);
    beside.spawn(async move {
        let mut tick = tokio::time::interval(UPKEEP);
        loop {
            tick.tick().await;
            counted.upkeep();
        }
    });
    let reloader = Reloader {
        args,
        house: Arc::clone(&house),
        metrics: Arc::clone(&metrics),
        rules,
        read,
        open_files,
        told: tells,
        refusal: None,
    };
    beside.spawn(reloader.run(hangups));
    // A disk that is full is no reason to serve nobody, and the log says it too.
    let _said_or_not = print(&hello);
    let worker = house.app().upstreams().worker().cloned();
    if let Some(worker) = &worker {
        let is_terminal = std::io::stdout().is_terminal() && !is_json;
        beside.spawn(show(worker.watch(), is_terminal, is_json));
    }
    let serving = proxy::serve(listener, Arc::clone(&house), told(signals.clone(), 1));
    let (served, patience) = tokio::select! {
        served = serving => (served.map_err(|error| {
            Failure::Runtime(format!("the listener failed: {error}"))
        }), LAST_RESORT),
        why = given_up(worker.as_ref()) => {
            let why = format!("the worker cannot be started: {why}");
            (Err(Failure::Runtime(why)), LAST_RESORT)
        }
        () = told(signals, 2) => (Err(Failure::Runtime(
            "stopped by a second signal, before the last streams ended".to_owned(),
        )), AT_ONCE),
    };
    // A collector that hangs must not keep the process.
    let _delivered_or_not = timeout(patience, metrics.flush_traces()).await;
    // After the last stream: what was being generated has been waited for.
    if let Some(worker) = &worker {
        let _it_ends_without_us = timeout(patience, worker.stop()).await;
    }
    served
}

/// Whether whoever reaches the proxy may use what is behind it.
///
/// # Errors
/// Strangers would use an upstream's key, and nobody said that they may.
pub(super) fn trust(config: &Config) -> Result<(), Failure> {
    const REMEDY: &str = "give each client a key (`isogloss key new NAME` prints the [[client]] for isogloss.toml), \
                          listen on 127.0.0.1, or say --open (ISOGLOSS_OPEN=yes) where something in front decides";
    let is_private = config.listen.ip().to_canonical().is_loopback();
    let is_known = !config.clients.is_empty() || config.tls.client_ca.is_some();
    if is_private || is_known || config.is_open {
        return Ok(());
    }
    let listen = config.listen;
    if config.upstreams.iter().any(|one| one.api_key.is_some()) {
        let message =
            format!("whoever reaches {listen} could use the upstream's API key: {REMEDY}");
        return Err(Failure::Config(message));
    }
    tracing::warn!("whoever reaches {listen} may use what is behind it: {REMEDY}");
    Ok(())
}

/// Ends when the worker never will be ready, and says why.
pub(super) async fn given_up(worker: Option<&Worker>) -> String {
    let Some(worker) = worker else {
        return std::future::pending().await;
    };
    let mut status = worker.watch();
    loop {
        if let Phase::GivenUp { why } = &status.borrow_and_update().phase {
            return why.clone();
        }
        if status.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Shows how far the worker is: on a terminal all the time, elsewhere when it is ready.
async fn show(mut status: watch::Receiver<WorkerStatus>, is_terminal: bool, is_json: bool) {
    let mut shown = String::new();
    loop {
        let (text, is_last) = progress(&status.borrow_and_update().phase);
        if text != shown && (is_terminal || is_last) && !text.is_empty() {
            let mut out = std::io::stdout().lock();
            // Over the line before; a reader that is gone is no failure.
            let begin = if is_terminal { "\r\x1b[K" } else { "" };
            let line = match is_last {
                true => said(&format!("{text}\n"), is_json),
                false => text.clone(),
            };
            let _ = write!(out, "{begin}{line}").and_then(|()| out.flush());
        }
        shown = text;
        if status.changed().await.is_err() {
            return;
        }
    }
}

/// One line on what the worker does, and whether it stays on the screen.
fn progress(phase: &Phase) -> (String, bool) {
    match phase {
        Phase::Loading { progress: None } => ("starting the worker".to_owned(), false),
        Phase::Loading {
            progress: Some(share),
        } => (format!("loading the model: {:.0} %", share * 100.0), false),
        Phase::Ready(facts) => (ready(facts), true),
        // The log has it.
        Phase::Resting { .. } | Phase::GivenUp { .. } | Phase::Over => (String::new(), false),
    }
}

/// `model x ready in 0.4 s (CUDA0, 20 of 28 layers)`
fn ready(facts: &Facts) -> String {
    let name = match facts.models.as_slice() {
        [name] => format!("model {name}"),
        many => format!("{} models ({})", many.len(), many.join(", ")),
    };
    let layers = match (facts.layers, facts.offloaded) {
        (0, _) => String::new(),
        (layers, 0) => format!(", {layers} layers"),
        (layers, offloaded) => format!(", {offloaded} of {layers} layers on it"),
    };
    let takes = match facts.takes.as_slice() {
        [] => String::new(),
        takes => format!(", takes {}", takes.join(" and ")),
    };
    let (seconds, device) = (facts.seconds, facts.device.as_str());
    format!("{name} ready in {seconds:.1} s ({device}{layers}{takes})")
}

async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::Runtime(format!(
            "cannot listen on {address}: {error}: give {flag} another address"
        ))
    })
}

/// How many signals to stop have come, and how many to read the configuration anew.
fn signals() -> Result<(watch::Receiver<u32>, watch::Receiver<u64>), Failure> {
    let failed = |error| Failure::Runtime(format!("cannot wait for signals: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    // Unheard, each of the two would end the process.
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let mut user = signal(SignalKind::user_defined1()).map_err(failed)?;
    let (count, signals) = watch::channel(0);
    let (hangups_heard, hangups) = watch::channel(0);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv() => {
                    hangups_heard.send_modify(|count| *count += 1);
                    continue;
                }
                _ = user.recv() => {
                    tracing::warn!("SIGUSR1 is ignored: it means nothing here");
                    continue;
                }
            }
            count.send_modify(|count| *count += 1);
            tracing::info!("asked to stop; a second signal stops at once");
        }
    });
    Ok((signals, hangups))
}

async fn told(mut signals: watch::Receiver<u32>, times: u32) {
    // The sender lives as long as the runtime.
    let _ = signals.wait_for(|count| *count >= times).await;
}

/// Lines of standard output; as those of the log where that is JSON, since who gathers one gathers the other.
fn said(text: &str, is_json: bool) -> String {
    if !is_json {
        return text.to_owned();
    }
    text.lines().map(telemetry::json_line).collect()
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
    let scheme = |is_tls: bool| if is_tls { "https" } else { "http" };
    let operators_scheme = scheme(config.admin_tls().is_some());
    let scheme = scheme(config.tls().is_some());
    let mut text = format!(
        "isogloss {} listening on {scheme}://{listen}, admin on {operators_scheme}://{admin}\n",
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
        let each = match &upstream.servers {
            Some(name) => format!("each server of {} at ", name.as_str()),
            None => String::new(),
        };
        text += &format!("upstream {each}{url} ({dialect})\n");
    }
    if let Some(model) = &config.worker.model {
        text += &format!("upstream worker ({model})\n");
        if config.upstreams.is_empty() && *model == ModelSource::Builtin {
            text += "the built-in model is for trying things out: --upstream URL names a server, \
                     --model FILE.gguf another model\n";
        }
    }
    let host = if listen.ip().is_unspecified() {
        format!("localhost:{}", listen.port())
    } else {
        listen.to_string()
    };
    text += &format!("in your client: base_url = \"{scheme}://{host}/v1\"\n");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_sees_how_far_the_worker_is_and_what_became_of_it() {
        let loading = |progress| progress_of(Phase::Loading { progress });
        assert_eq!(loading(None), ("starting the worker".to_owned(), false));
        assert_eq!(
            loading(Some(0.42)),
            ("loading the model: 42 %".to_owned(), false)
        );
        let mut facts = Facts {
            models: vec!["tiny".to_owned()],
            seconds: 0.38,
            device: "CPU".to_owned(),
            layers: 28,
            offloaded: 0,
            takes: Vec::new(),
        };
        assert_eq!(ready(&facts), "model tiny ready in 0.4 s (CPU, 28 layers)");
        facts.device = "CUDA0".to_owned();
        facts.offloaded = 20;
        assert_eq!(
            ready(&facts),
            "model tiny ready in 0.4 s (CUDA0, 20 of 28 layers on it)"
        );
        facts.takes = vec!["image".to_owned(), "audio".to_owned()];
        assert_eq!(
            ready(&facts),
            "model tiny ready in 0.4 s (CUDA0, 20 of 28 layers on it, takes image and audio)"
        );
        facts.takes.clear();
        facts.models.push("other".to_owned());
        facts.layers = 0;
        let text = "2 models (tiny, other) ready in 0.4 s (CUDA0)".to_owned();
        assert_eq!(progress_of(Phase::Ready(facts)), (text, true));
    }

    #[test]
    fn where_the_log_is_json_the_greeting_is_too() {
        let text = "one \"two\"\nthree\n";
        assert_eq!(said(text, false), text);
        let said = said(text, true);
        let lines: Vec<serde_json::Value> = said
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let messages: Vec<_> = lines.iter().map(|line| &line["message"]).collect();
        assert_eq!(messages, ["one \"two\"", "three"]);
        for line in &lines {
            let time = line["timestamp"].as_str().unwrap_or_default();
            assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
            assert_eq!(line["level"], "INFO");
        }
    }

    fn progress_of(phase: Phase) -> (String, bool) {
        progress(&phase)
    }
}
