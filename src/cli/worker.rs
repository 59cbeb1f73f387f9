//! `isogloss worker`: settings in, the decoding worker until its parent is gone or a signal comes.
//!
//! Standard output is for events, one JSON object a line; log lines go to standard error. Where
//! standard input is a pipe or a socket, its end is the parent's: what runs is cut with an error.
//! Started by hand or by a service manager, it is a terminal or `/dev/null`, whose end says
//! nothing.

use super::{Failure, runtime};
use crate::config::{
    Config, Faults, JsonSpace, ModelSource, ProjectorSource, SETTINGS, Setting, Sources,
    Speculation, WorkerConfig, any_word, load,
};
use crate::telemetry;
use clap::{Arg, ArgMatches, Command};
use isogloss_compile::at_work::{self, Notes};
use isogloss_worker::backend::Whitespace;
use isogloss_worker::metrics::Metrics;
use isogloss_worker::model;
use isogloss_worker::models::{Models, Told};
use isogloss_worker::options::{self, Options};
use isogloss_worker::server::{App, Listener, serve};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long answers may go on after a signal. A parent closes standard input when it wants no
/// more of them.
const GRACE: Duration = Duration::from_secs(30);
/// From telling the parent of a computation that is stuck to ending without it: it may want to tell others first.
const TOLD_WITHIN: Duration = Duration::from_secs(1);
/// After the end of standard input: for the error events, and for the engine to stop.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Flags of `worker`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    settings: WorkerFlags,
    /// Log more: debug, and twice: trace (client text may show). RUST_LOG wins.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Where it listens.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// Listen on a Unix socket.
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Listen on a TCP address. Whoever reaches it can use the model: there are no credentials.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
}

/// The values of the worker's settings, by the flag's name. No file and no variable is read: the
/// proxy writes every setting out.
#[derive(Debug, Clone, Default)]
struct WorkerFlags(Vec<(&'static str, String)>);

fn named() -> impl Iterator<Item = (&'static str, &'static Setting)> {
    let of_worker = SETTINGS
        .iter()
        .filter(|setting| setting.key.starts_with("worker."));
    of_worker.filter_map(|setting| setting.flag.map(|flag| (flag, setting)))
}

impl WorkerFlags {
    fn load(self) -> Result<WorkerConfig, Faults> {
        let Config { worker, .. } = load(&Sources {
            flags: self.0,
            upstreams: Vec::new(),
            dialect: None,
            markup: None,
            file: None,
            env: &|_| None,
            needs_upstream: false,
            words: &any_word,
        })?;
        Ok(worker)
    }
}

impl clap::FromArgMatches for WorkerFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (flag, _) in named() {
            if let Some(value) = matches.get_one::<String>(flag) {
                self.0.push((flag, value.clone()));
            }
        }
        Ok(())
    }
}

impl clap::Args for WorkerFlags {
    fn augment_args(command: Command) -> Command {
        command.args(named().map(|(flag, setting)| {
            let default = match setting.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            Arg::new(flag)
                .long(flag)
                .value_name(setting.value)
                .required(setting.key == "worker.model")
                .help(format!("{}{default}", setting.what))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let config = args.settings.load()?;
    // Behind a socket it is the proxy that reads the lines, and writes them in its own form.
    telemetry::init(args.place.socket.is_some(), args.verbose);
    let runtime = runtime(0)?;
    let ran = runtime.block_on(work(&config, &args.place));
    if let Some(socket) = &args.place.socket {
        // Nobody is behind it any more.
        let _ = std::fs::remove_file(socket);
    }
    // What still loads or compiles need not be waited for.
    runtime.shutdown_background();
    ran.map_err(|message| {
        tell(&json!({"event": "failed", "message": message}));
        Failure::Runtime(message)
    })
}

/// One event. A parent that reads no more is about to close standard input.
fn tell(event: &Value) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}

/// The settings, in the worker's own words.
fn options(config: &WorkerConfig) -> Result<Options, String> {
    let model = match &config.model {
        Some(ModelSource::Builtin) => options::ModelSource::Builtin,
        Some(ModelSource::Path(path)) => options::ModelSource::Path(path.clone()),
        None => {
            return Err(
                "no model is named: give --model a GGUF file, or a folder of them".to_owned(),
            );
        }
    };
    Ok(Options {
        model,
        name: config.name.clone(),
        chat_template: config.chat_template.clone(),
        mmproj: match &config.mmproj {
            ProjectorSource::Beside => options::ProjectorSource::Beside,
            ProjectorSource::Nowhere => options::ProjectorSource::Nowhere,
            ProjectorSource::Path(path) => options::ProjectorSource::Path(path.clone()),
        },
        context: config.context,
        slots: config.slots,
        queue: config.queue,
        threads: config.threads,
        gpu_layers: config.gpu_layers,
        device: config.device.clone(),
        drafts: match config.speculate {
            Speculation::Auto => options::Drafts::Weighed,
            Speculation::Always => options::Drafts::Always,
            Speculation::Off => options::Drafts::Off,
        },
        grammar_cache_entries: config.grammar_cache_entries,
        grammar_cache_bytes: config.grammar_cache_bytes,
    })
}

async fn work(config: &WorkerConfig, place: &Place) -> Result<(), String> {
    let begin = Instant::now();
    let mut stops = stops()?;
    let listener = bind(place).await?;
    let metrics = Arc::<Metrics>::default();
    let failure = Arc::new(Mutex::new(None));
    let last_failure = Arc::clone(&failure);
    let hear = Box::new(move |told| match told {
        Told::Loading { model, progress } => {
            let progress = (f64::from(progress) * 100.0).round() / 100.0;
            tell(&json!({"event": "loading", "model": model, "progress": progress}));
        }
        // Of a folder's model it is no end: the others can be asked for.
        Told::Failed { message } => {
            let mut last = last_failure.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(message);
        }
    });
    let models = Models::open(&options(config)?, model::LOADER, hear, Arc::clone(&metrics))?;
    watch(&models, config.stuck_after)?;
    let app = Arc::new(App {
        models: models.clone(),
        metrics,
        notes: place.socket.as_deref().and_then(notes),
        whitespace: match config.whitespace {
            JsonSpace::Flexible => Whitespace::Flexible,
            JsonSpace::Compact => Whitespace::Compact,
        },
    });
    let serving = serve(listener, app, first_stop(stops.clone()));
    tokio::pin!(serving);
    tokio::select! {
        // Only a stop ends it.
        () = &mut serving => return Ok(()),
        started = models.start() => {
            if *stops.borrow() != Stops::default() {
                // What was being loaded was given up.
                serving.await;
                return Ok(());
            }
            let lease = started.map_err(|error| {
                let last = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
                last.unwrap_or(error.message)
            })?;
            let about = lease.as_ref().map(|lease| &lease.about);
            tell(&json!({
                "event": "ready",
                "models": models.names().collect::<Vec<_>>(),
                "seconds": (begin.elapsed().as_secs_f64() * 1_000.0).round() / 1_000.0,
                "device": about.map_or("", |about| about.device.as_str()),
                "layers": about.map_or(0, |about| about.layers),
                "offloaded": about.map_or(0, |about| about.offloaded_layers),
                "takes": about.map_or(Vec::new(), |about| about.takes.names()),
            }));
        }
    }
    tokio::select! {
        () = &mut serving => Ok(()),
        () = cut(&mut stops) => Ok(()),
        () = models.broken() => Err("the engine failed: the log says why".to_owned()),
    }
}

/// Ends this process when a computation never does. Whoever hangs in native code holds up the ends of threads and of the
/// process too, so nothing short of a signal is sure to end it.
fn watch(models: &Models, limit: Duration) -> Result<(), String> {
    if limit.is_zero() {
        return Ok(());
    }
    let watchdog = Arc::clone(models.watchdog());
    let watch = move || {
        let what = watchdog.wait(limit);
        let seconds = limit.as_secs_f64();
        tracing::error!(
            what,
            seconds,
            "a computation does not end: the worker is stuck"
        );
        tell(&json!({"event": "stuck", "what": what, "seconds": seconds}));
        std::thread::sleep(TOLD_WITHIN);
        let own = rustix::process::getpid();
        let _sent = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    };
    let thread = std::thread::Builder::new().name("watchdog".to_owned());
    let started = thread.spawn(watch);
    started
        .map(drop)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

/// Where the proxy wants to read what killed this process, where it was a proxy that started it.
fn notes(socket: &Path) -> Option<Arc<Notes>> {
    Notes::open(&at_work::beside(socket)).ok()
}

/// What was told to stop it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Stops {
    signals: u32,
    /// Standard input has ended.
    is_orphan: bool,
}

fn stops() -> Result<watch::Receiver<Stops>, String> {
    let failed = |error| format!("cannot wait for signals: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let (sender, stops) = watch::channel(Stops::default());
    let sender = Arc::new(sender);
    if has_parent() {
        let sender = Arc::clone(&sender);
        // Reading standard input cannot be given up, so it has a thread of its own.
        let thread = std::thread::Builder::new().name("parent".to_owned());
        let watched = thread.spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            sender.send_modify(|stops| stops.is_orphan = true);
        });
        watched.map_err(|error| format!("cannot start a thread: {error}"))?;
    }
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            sender.send_modify(|stops| stops.signals += 1);
            tracing::info!("asked to stop; a second signal stops at once");
        }
    });
    Ok(stops)
}

/// Whether standard input is of a kind that ends with a parent.
fn has_parent() -> bool {
    let own = io::stdin().as_fd().try_clone_to_owned();
    let about = own.and_then(|own| std::fs::File::from(own).metadata());
    about.is_ok_and(|about| about.file_type().is_fifo() || about.file_type().is_socket())
}

/// Waits until it is to stop, and says for how long answers may go on.
async fn first_stop(mut stops: watch::Receiver<Stops>) -> Duration {
    // The sender lives as long as the runtime.
    match stops.wait_for(|stops| *stops != Stops::default()).await {
        Ok(stops) if !stops.is_orphan => GRACE,
        _ => Duration::ZERO,
    }
}

/// Waits until it is to end whatever runs.
async fn cut(stops: &mut watch::Receiver<Stops>) {
    let is_cut = |stops: &Stops| stops.is_orphan || stops.signals > 1;
    let is_orphan = stops.wait_for(is_cut).await.map(|stops| stops.is_orphan);
    if is_orphan.unwrap_or(true) {
        tokio::time::sleep(LAST_WORDS).await;
    }
}

async fn bind(place: &Place) -> Result<Listener, String> {
    match (&place.socket, place.listen) {
        (Some(path), _) => bind_socket(path)
            .await
            .map(Listener::Unix)
            .map_err(|error| {
                format!(
                    "cannot listen on the socket {}: {error}: give --socket another path",
                    path.display()
                )
            }),
        (None, Some(address)) => {
            let bound = TcpListener::bind(address).await;
            bound.map(Listener::Tcp).map_err(|error| {
                format!("cannot listen on {address}: {error}: give --listen another address")
            })
        }
        (None, None) => Err("give --socket a path, or --listen an address".to_owned()),
    }
}

/// A socket that a process left behind when it was killed is in the way of the next one.
async fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|at| at.file_type().is_socket());
    if is_socket
        && let Err(error) = tokio::net::UnixStream::connect(path).await
        && error.kind() == io::ErrorKind::ConnectionRefused
    {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    // There are no credentials: whoever may write to it may use the model.
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Line::try_parse_from(line.split(' ')).map(|line| line.args)
    }

    #[test]
    fn the_command_line_that_the_proxy_writes_is_understood() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m.gguf");
        std::fs::write(&model, "x").unwrap();
        let config = WorkerConfig {
            model: Some(ModelSource::Path(model)),
            name: Some("mine".to_owned()),
            context: 512,
            slots: 3,
            queue: 7,
            gpu_layers: Some(0),
            device: Some("cpu".to_owned()),
            stuck_after: Duration::ZERO,
            whitespace: JsonSpace::Compact,
            speculate: Speculation::Off,
            ..WorkerConfig::default()
        };
        let arguments = config.arguments(Path::new("/tmp/w.sock"));
        let args = Line::try_parse_from(arguments).unwrap().args;
        assert_eq!(args.place.socket.as_deref(), Some(Path::new("/tmp/w.sock")));
        assert_eq!(args.settings.load().unwrap(), config);
    }

    #[test]
    fn it_needs_a_model_and_one_place_to_listen_on() {
        for line in [
            "worker",
            "worker --socket=/tmp/a",
            "worker --model=/m",
            "worker --model=/m --socket=/tmp/a --listen=127.0.0.1:1",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("worker --model=/m --listen=127.0.0.1:0").is_ok());
    }

    #[tokio::test]
    async fn a_socket_that_was_left_behind_is_taken_over_and_a_used_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        let listener = bind_socket(&path).await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(bind_socket(&path).await.is_err());
        drop(listener);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file of somebody's").unwrap();
        assert!(bind_socket(&path).await.is_err());
        assert!(path.exists());
    }
}
