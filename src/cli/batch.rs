//! `isogloss batch IN.jsonl OUT.jsonl`: a file of requests in, their replies out, in OpenAI's batch format. Each goes
//! through the stack that a client's request goes through, in this process: translated, verified, counted. A run that was stopped
//! or killed is gone on with by the same command; nothing is lost then, and no row stands twice.

mod args;
mod input;
mod ledger;
mod line;
mod lines;
mod output;
mod row;
mod tally;
mod work;

pub(super) use args::Args;

use super::{Failure, files, print, runtime, serve, wire};
use crate::config::{Config, TlsFiles};
use crate::proxy::App;
use crate::telemetry::{self, Metrics};
use crate::upstream::{Proof, Wanted};
use args::AT_ONCE;
use input::{Item, Next};
use isogloss_core::rules::RuleSet;
use ledger::Ledger;
use output::{Output, Places};
use row::Row;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tally::Tally;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use work::{Pause, Work, told};

/// Beside the body a line has a name and a path.
const BESIDE_THE_BODY: usize = 64 << 10;
/// A server that is being asked what it enforces has the time of some dozen answers.
const PROOF_WITHIN: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often progress is shown on a terminal, and how often elsewhere.
const DRAW_EVERY: Duration = Duration::from_millis(200);
const SAY_EVERY: Duration = Duration::from_secs(10);
/// For the worker to end, and the last traces to arrive.
const LAST_WORDS: Duration = Duration::from_secs(7);

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let mut config = args.config.0.load(true)?;
    let rules = wire::rules(config.rules.as_deref())?;
    wire::check_worker(&config, &rules)?;
    telemetry::init_quiet(config.log_json, args.verbose);
    if let Some(files) = files::raise() {
        files::fit(&mut config.limits, files);
    }
    alone(&mut config);
    let at_once = match args.config.0.has("concurrency") {
        true => config.limits.concurrency,
        false => AT_ONCE.min(config.limits.concurrency),
    };
    let (input, from) = input(&args.input)?;
    let mut ledger = Ledger::default();
    let places = Places {
        input: input.as_ref(),
        output: &args.output,
        errors: args.errors.as_deref(),
        retry_failed: args.retry_failed,
    };
    let output = Output::open(&places, &mut ledger)?;
    let most = config.limits.body_bytes.saturating_add(BESIDE_THE_BODY);
    let runtime = runtime(0)?;
    let (to, items) = mpsc::channel(at_once);
    let ran = runtime.block_on(async {
        tokio::task::spawn_blocking(move || input::read(from, most, ledger, &to));
        let size = input.and_then(|input| input.metadata().ok());
        let size = size.filter(|meta| meta.is_file()).map(|meta| meta.len());
        let run = Run {
            at_once,
            size,
            items,
            tally: Tally::after(output.stood),
            output,
            stopped: signals()?,
        };
        batch(config, rules, args.retries, run).await
    });
    // What still reads or compiles need not be waited for.
    runtime.shutdown_background();
    ran
}

/// What is for clients is for nobody here: whoever starts the program may use what is behind it.
fn alone(config: &mut Config) {
    config.clients.clear();
    config.tls = TlsFiles::default();
}

/// The input, as a file to be looked at and as one to be read.
fn input(path: &Path) -> Result<(Option<File>, Box<dyn BufRead + Send>), Failure> {
    if path == Path::new("-") {
        return Ok((None, Box::new(BufReader::new(io::stdin()))));
    }
    let open = || File::open(path).and_then(|file| Ok((file.try_clone()?, file)));
    let (file, from) = open().map_err(|error| {
        Failure::Runtime(format!("{}: cannot be read: {error}", path.display()))
    })?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        let message = format!("{}: is a folder; name a file of requests", path.display());
        return Err(Failure::Usage(message));
    }
    Ok((Some(file), Box::new(BufReader::new(from))))
}

async fn batch(config: Config, rules: RuleSet, retries: u32, run: Run) -> Result<(), Failure> {
    let (house, metrics) = wire::house(config, &Arc::new(rules))?;
    let worker = house.app().upstreams().worker().cloned();
    let work = Arc::new(Work {
        house: Arc::clone(&house),
        pause: Pause::default(),
        retries,
        stopped: run.stopped.clone(),
    });
    let ran = tokio::select! {
        ran = async {
            house.named().await;
            ready(&house.app(), run.stopped.clone()).await?;
            run.finish(&work, &metrics).await
        } => ran,
        why = serve::given_up(worker.as_ref()) => {
            Err(Failure::Runtime(format!("the worker cannot be started: {why}")))
        }
    };
    // A collector that hangs must not keep the process.
    let _delivered_or_not = timeout(LAST_WORDS, metrics.flush_traces()).await;
    if let Some(worker) = &worker {
        let _it_ends_without_us = timeout(LAST_WORDS, worker.stop()).await;
    }
    ran
}

/// Waits until a server can be asked, and until it is known what it enforces: else the first rows would be
/// answered otherwise than the last.
async fn ready(app: &App, stopped: watch::Receiver<u32>) -> Result<(), Failure> {
    let is_ready = async {
        let first = app
            .upstreams()
            .ready(&Wanted::default(), |_any| true, |_any| 0)
            .await;
        first.map_err(|error| Failure::Runtime(format!("nothing was asked: {error}")))?;
        let is_asking = || {
            let mut proofs = app.upstreams().iter().map(|upstream| upstream.proof());
            proofs.any(|proof| proof == Proof::Asking) && !app.upstreams().is_proven()
        };
        let asked = async {
            while is_asking() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        // Whoever takes that long is asked by its rule, as before a listener.
        let _or_not = timeout(PROOF_WITHIN, asked).await;
        Ok(())
    };
    tokio::select! {
        is_ready = is_ready => is_ready,
        () = told(stopped, 1) => {
            Err(Failure::Runtime("stopped before anything was asked".to_owned()))
        }
    }
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
        }
    });
    Ok(signals)
}

/// One run over the input.
struct Run {
    at_once: usize,
    /// Bytes of the input, where it is a file.
    size: Option<u64>,
    items: mpsc::Receiver<Item>,
    output: Output,
    tally: Tally,
    /// How many signals to stop have come.
    stopped: watch::Receiver<u32>,
}

impl Run {
    async fn finish(mut self, work: &Arc<Work>, metrics: &Metrics) -> Result<(), Failure> {
        let screen = Screen::new(self.size);
        let begun = Instant::now();
        let mut tick = interval(screen.every());
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        tick.reset();
        let mut asking: JoinSet<Option<Row>> = JoinSet::new();
        let (mut is_over, mut is_stopped, mut is_cut, mut end) = (false, false, false, 0);
        let mut broken = None;
        while !(is_over && asking.is_empty()) {
            let stops = if is_stopped { 2 } else { 1 };
            tokio::select! {
                biased;
                () = told(self.stopped.clone(), stops) => {
                    // Where everything was asked already, nothing is missing in the end.
                    is_cut |= is_stopped || !is_over;
                    if is_stopped {
                        break;
                    }
                    (is_over, is_stopped) = (true, true);
                    screen.say("stopping: what is being answered is waited for, nothing is asked again; a second signal does not wait");
                }
                Some(row) = asking.join_next() => {
                    let row = row.map_err(|error| Failure::Runtime(format!("a request ended: {error}")))?;
                    match row {
                        Some(row) => self.keep(&row)?,
                        None => is_cut = true,
                    }
                }
                item = self.items.recv(), if !is_over && asking.len() < self.at_once => match item {
                    None => is_over = true,
                    Some(Item { end: at, next: Ok(next) }) => {
                        end = at;
                        self.take(next, work, &mut asking)?;
                    }
                    Some(Item { next: Err(error), .. }) => {
                        (is_over, broken) = (true, Some(error));
                    }
                },
                _ = tick.tick() => {
                    metrics.upkeep();
                    screen.draw(&self.tally, end, begun.elapsed());
                }
            }
        }
        asking.shutdown().await;
        self.output.sync()?;
        screen.clear();
        print(&self.tally.table(begun.elapsed()))?;
        match broken {
            Some(error) => Err(Failure::Runtime(format!(
                "the input cannot be read: {error}"
            ))),
            None if is_cut => Err(Failure::Runtime(
                "stopped before the end: the same command goes on".to_owned(),
            )),
            // The table has said it.
            None if self.tally.has_failed() => Err(Failure::Runtime(String::new())),
            None => Ok(()),
        }
    }

    fn take(
        &mut self,
        next: Next,
        work: &Arc<Work>,
        asking: &mut JoinSet<Option<Row>>,
    ) -> Result<(), Failure> {
        match next {
            Next::Ask { number, asked } => {
                let work = Arc::clone(work);
                asking.spawn(async move { work.ask(number, asked).await });
                Ok(())
            }
            Next::Bad(row) => self.keep(&row),
            Next::Stands => {
                self.tally.skipped += 1;
                Ok(())
            }
        }
    }

    fn keep(&mut self, row: &Row) -> Result<(), Failure> {
        self.output.write(row)?;
        self.tally.count(row);
        Ok(())
    }
}

/// Where progress is shown: one line that is drawn over on a terminal, lines elsewhere.
struct Screen {
    is_terminal: bool,
    size: Option<u64>,
}

impl Screen {
    fn new(size: Option<u64>) -> Self {
        Self {
            is_terminal: io::stderr().is_terminal(),
            size,
        }
    }

    const fn every(&self) -> Duration {
        if self.is_terminal {
            DRAW_EVERY
        } else {
            SAY_EVERY
        }
    }

    fn draw(&self, tally: &Tally, end: u64, time: Duration) {
        let size = self.size.filter(|size| *size > 0);
        let share = size.map(|size| (end as f64 / size as f64).min(1.0));
        self.put(&tally.progress(share, time), !self.is_terminal);
    }

    fn say(&self, text: &str) {
        self.put(text, true);
    }

    fn clear(&self) {
        if self.is_terminal {
            self.put("", false);
        }
    }

    /// Over the line before; a reader that is gone is no failure.
    fn put(&self, text: &str, stays: bool) {
        let begin = if self.is_terminal { "\r\x1b[K" } else { "" };
        let end = if stays { "\n" } else { "" };
        let mut err = io::stderr().lock();
        let _ = write!(err, "{begin}{text}{end}").and_then(|()| err.flush());
    }
}
