//! The engine on its thread.

use super::toy::{self, Fault, LIMITS, Pattern, Seen, Toy};
use super::{Ask, ENGINE, EngineLimits, Heard, Told, alone};
use crate::job::Event;
use crate::kernel::{Kernel, KernelError, KernelLimits, Setup};
use crate::scheduler::Engine;
use isogloss_core::error::Kind;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[derive(Clone)]
struct ToySetup {
    limits: KernelLimits,
    faults: BTreeMap<usize, Fault>,
    takes: Duration,
    error: Option<KernelError>,
    panics: bool,
    seen: Arc<Mutex<Seen>>,
    /// Says when the kernels were taken down.
    ended: Arc<()>,
}

impl ToySetup {
    fn new() -> Self {
        Self {
            limits: LIMITS,
            faults: BTreeMap::new(),
            takes: Duration::ZERO,
            error: None,
            panics: false,
            seen: Arc::default(),
            ended: Arc::default(),
        }
    }

    fn slow() -> Self {
        Self {
            takes: Duration::from_millis(2),
            ..Self::new()
        }
    }

    fn start(&self, limits: EngineLimits) -> Result<Engine, KernelError> {
        Engine::start(Box::new(self.clone()), toy::vocabulary(), limits)
    }

    fn is_down(&self) -> bool {
        Arc::strong_count(&self.ended) == 1
    }
}

impl Setup for ToySetup {
    fn run(self: Box<Self>, run: &mut dyn FnMut(&mut dyn Kernel)) -> Result<(), KernelError> {
        assert!(!self.panics, "the setup fails");
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut toy = Toy::new(self.limits);
        toy.faults = self.faults;
        toy.takes = self.takes;
        toy.seen = self.seen;
        run(&mut toy);
        Ok(())
    }
}

fn submit(engine: &Engine, ask: &Ask) -> Heard {
    let (job, heard) = ask.job();
    engine.submit(job).unwrap();
    heard
}

fn eventually(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "never so");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn seated(heard: &mut Heard) {
    let event = heard.receiver.blocking_recv().unwrap();
    assert!(matches!(event, Event::Started { .. }));
}

#[test]
fn two_thousand_jobs_under_fifty_constraints_are_all_answered() {
    let limits = EngineLimits {
        queue: 2_000,
        ..ENGINE
    };
    let setup = ToySetup::new();
    let engine = setup.start(limits).unwrap();
    let asks: Vec<Ask> = (0..50_usize)
        .map(|at| {
            let name = String::from_utf8(vec![b'a' + u8::try_from(at % 26).unwrap(); at / 26 + 1]);
            let name = name.unwrap();
            let text = format!("{name} is ?? and {name} was ???$");
            let mut ask = Ask::new(&format!("describe {name}")).pattern(Pattern::new(&text));
            ask.sampling.seed = Some(at as u64);
            ask
        })
        .collect();
    let heard: Vec<Heard> = (0..2_000)
        .map(|at| submit(&engine, &asks[at % 50]))
        .collect();
    let told: Vec<Told> = heard.into_iter().map(Heard::wait).collect();
    let alone: Vec<Told> = asks.iter().map(alone).collect();
    for (at, told) in told.iter().enumerate() {
        assert_eq!(told.answer(), alone[at % 50].answer());
    }
    eventually(|| engine.stats().finished == 2_000);
    let stats = engine.stats();
    assert_eq!(
        (stats.finished, stats.failed, stats.cancelled),
        (2_000, 0, 0)
    );
    assert_eq!((stats.running, stats.waiting), (0, 0));
    assert!(stats.kept_tokens <= u64::from(LIMITS.cells));
    assert!(stats.cached_tokens > stats.prompt_tokens / 3);
    engine.stop();
    assert!(setup.is_down());
}

#[test]
fn more_jobs_than_the_queue_takes_are_refused_with_a_time_to_come_back() {
    let setup = ToySetup {
        limits: KernelLimits { slots: 1, ..LIMITS },
        ..ToySetup::slow()
    };
    let engine = setup.start(EngineLimits { queue: 3, ..ENGINE }).unwrap();
    let mut running = submit(&engine, &Ask::new("first").exactly(200));
    seated(&mut running);
    let waiting: Vec<Heard> = (0..3)
        .map(|_| submit(&engine, &Ask::new("next").exactly(2)))
        .collect();
    let (job, _heard) = Ask::new("one too many").job();
    let error = engine.submit(job).unwrap_err();
    assert_eq!(error.kind, Kind::Overloaded);
    assert!(error.retry_after.is_some());
    assert_eq!(engine.stats().refused, 1);
    drop(running);
    for heard in waiting {
        assert_eq!(heard.wait().usage().completion, 2);
    }
}

#[test]
fn a_prompt_that_does_not_fit_is_refused_with_numbers() {
    let engine = ToySetup::new().start(ENGINE).unwrap();
    let (job, _heard) = Ask::new(&"x".repeat(256)).job();
    let error = engine.submit(job).unwrap_err();
    assert_eq!(error.kind, Kind::InvalidRequest);
    assert_eq!(error.code.as_deref(), Some("context_length_exceeded"));
    assert_eq!(error.param.as_deref(), Some("messages"));
    let numbers =
        "maximum context length is 256 tokens. However, your request has 256 input tokens";
    assert!(error.message.contains(numbers), "{error}");
    let fits = Ask::new(&"x".repeat(255)).exactly(9);
    assert_eq!(submit(&engine, &fits).wait().usage().completion, 1);
}

#[test]
fn a_prompt_of_no_tokens_or_of_unknown_ones_is_refused() {
    let engine = ToySetup::new().start(ENGINE).unwrap();
    for prompt in [vec![], vec![1, toy::SIZE]] {
        let mut ask = Ask::new("");
        ask.prompt = prompt;
        let error = engine.submit(ask.job().0).unwrap_err();
        assert_eq!(error.kind, Kind::InvalidRequest);
    }
}

#[test]
fn a_client_that_goes_away_frees_its_place() {
    let engine = ToySetup::slow().start(ENGINE).unwrap();
    let mut heard = submit(&engine, &Ask::new("prompt").exactly(240));
    seated(&mut heard);
    drop(heard);
    eventually(|| engine.stats().cancelled == 1 && engine.stats().running == 0);
    assert!(engine.stats().steps < 240);
}

#[test]
fn an_idle_engine_computes_nothing_and_wakes_for_a_job() {
    let setup = ToySetup::new();
    let engine = setup.start(ENGINE).unwrap();
    let ask = Ask::new("prompt").exactly(3);
    submit(&engine, &ask).wait();
    eventually(|| engine.stats().finished == 1);
    let steps = engine.stats().steps;
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!(engine.stats().steps, steps);
    assert_eq!(submit(&engine, &ask).wait().answer(), alone(&ask).answer());
}

#[test]
fn stopping_tells_running_and_waiting_jobs_and_takes_the_kernels_down() {
    let setup = ToySetup {
        limits: KernelLimits { slots: 1, ..LIMITS },
        ..ToySetup::slow()
    };
    let engine = setup.start(ENGINE).unwrap();
    let other = engine.clone();
    let mut running = submit(&engine, &Ask::new("running").exactly(240));
    seated(&mut running);
    let waiting = submit(&engine, &Ask::new("waiting").exactly(240));
    engine.stop();
    assert!(setup.is_down());
    assert_eq!(running.wait().error().kind, Kind::ShuttingDown);
    assert_eq!(waiting.wait().error().kind, Kind::ShuttingDown);
    assert!(!other.is_alive());
    let error = other.submit(Ask::new("late").job().0).unwrap_err();
    assert_eq!(error.kind, Kind::ShuttingDown);
}

#[test]
fn the_last_handle_takes_the_engine_with_it() {
    let setup = ToySetup::new();
    let engine = setup.start(ENGINE).unwrap();
    drop(engine.clone());
    assert_eq!(
        submit(&engine, &Ask::new("x").exactly(2))
            .wait()
            .usage()
            .completion,
        2
    );
    drop(engine);
    eventually(|| setup.is_down());
}

#[test]
fn kernels_that_panic_fail_all_jobs_and_nobody_hangs() {
    let setup = ToySetup {
        limits: KernelLimits { slots: 1, ..LIMITS },
        faults: BTreeMap::from([(5, Fault::Panic)]),
        ..ToySetup::slow()
    };
    let engine = setup.start(ENGINE).unwrap();
    let heard: Vec<Heard> = (0..3)
        .filter_map(|_| {
            let (job, heard) = Ask::new("prompt").exactly(100).job();
            engine.submit(job).ok().map(|()| heard)
        })
        .collect();
    for heard in heard {
        assert_eq!(heard.wait().error().kind, Kind::UpstreamFailed);
    }
    eventually(|| !engine.is_alive());
    let error = engine.submit(Ask::new("late").job().0).unwrap_err();
    assert_eq!(error.kind, Kind::UpstreamFailed);
    engine.stop();
}

#[test]
fn an_engine_whose_kernels_fail_again_and_again_takes_no_more_jobs() {
    let failed = || Fault::Error(KernelError::Failed("the device is lost".to_owned()));
    let full = || Fault::Error(KernelError::Full);
    // Heard to its end: a job that nobody listens to is dropped before it has a pass.
    let once = |engine: &Engine| {
        let (job, heard) = Ask::new("prompt").exactly(2).job();
        engine.submit(job).map(|()| heard.wait())
    };
    // What was only full, or works again, is no reason to end.
    let setup = ToySetup {
        faults: (0..60)
            .filter(|pass| pass % 8 != 7)
            .map(|pass| (pass, if pass % 2 == 0 { failed() } else { full() }))
            .collect(),
        ..ToySetup::new()
    };
    let engine = setup.start(ENGINE).unwrap();
    for _ in 0..60 {
        submit(&engine, &Ask::new("prompt").exactly(1)).wait();
    }
    assert!(engine.is_alive());
    let setup = ToySetup {
        faults: (0..1_000).map(|pass| (pass, failed())).collect(),
        ..ToySetup::new()
    };
    let engine = setup.start(ENGINE).unwrap();
    eventually(|| {
        let _ = once(&engine);
        !engine.is_alive()
    });
    assert_eq!(once(&engine).unwrap_err().kind, Kind::UpstreamFailed);
    eventually(|| setup.is_down());
}

#[test]
fn kernels_that_cannot_be_set_up_are_an_error_at_the_start() {
    let error = KernelError::Failed("needs 9 GB, 4 GB are free".to_owned());
    let setup = ToySetup {
        error: Some(error.clone()),
        ..ToySetup::new()
    };
    assert_eq!(setup.start(ENGINE).unwrap_err(), error);
    let setup = ToySetup {
        panics: true,
        ..ToySetup::new()
    };
    assert!(matches!(setup.start(ENGINE), Err(KernelError::Failed(_))));
}

#[test]
fn limits_are_those_of_the_kernels() {
    assert_eq!(ToySetup::new().start(ENGINE).unwrap().limits(), LIMITS);
}
