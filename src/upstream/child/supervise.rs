//! The thin shell around the [`Machine`]: hears the process, the clock and the proxy, and does
//! what the machine says.

use super::events::Event;
use super::machine::{Action, Input, Machine};
use super::process::{End, Launch, Message, Process, Word};
use super::{Phase, Shared};
use crate::upstream::{State, Upstream};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A process whose end does not show on its output is found out within this time.
const LOOK_PAUSE: Duration = Duration::from_millis(500);
/// One that is on its way out is looked for so often: requests wait for the next one.
const ENDING_PAUSE: Duration = Duration::from_millis(5);
/// After its end, what it said last is waited for this long: someone else may hold its output.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Messages that the supervisor has not heard yet; then the process waits.
const INBOX: usize = 64;

/// One worker's supervisor.
pub(super) struct Supervisor {
    upstream: Arc<Upstream>,
    shared: Arc<Shared>,
    launch: Launch,
    arguments: Vec<OsString>,
    machine: Machine,
    process: Option<Process>,
    /// The process has closed its output.
    is_quiet: bool,
    /// How the process ended, and when that was seen.
    ended: Option<(End, Instant)>,
    generation: u64,
    /// What the upstream is once the process takes requests.
    state: State,
    begun: Instant,
    inbox: mpsc::Receiver<Message>,
    sender: mpsc::Sender<Message>,
}

impl Supervisor {
    pub(super) fn new(
        upstream: Arc<Upstream>,
        shared: Arc<Shared>,
        launch: Launch,
        arguments: Vec<OsString>,
    ) -> Self {
        let (sender, inbox) = mpsc::channel(INBOX);
        Self {
            upstream,
            shared,
            launch,
            arguments,
            machine: Machine::new(),
            process: None,
            is_quiet: false,
            ended: None,
            generation: 0,
            state: State::loading(),
            begun: Instant::now(),
            inbox,
            sender,
        }
    }

    /// Runs the worker until it is stopped or given up. Dropping this future kills the process.
    pub(super) async fn run(mut self) {
        let mut stop = self.shared.stop.subscribe();
        let mut was_stopped = false;
        self.step(Input::Tick);
        while !self.machine.is_over() {
            let wake = self.wake();
            let heard = tokio::select! {
                Some(message) = self.inbox.recv() => Some(message),
                _ = stop.wait_for(|stop| *stop), if !was_stopped => {
                    was_stopped = true;
                    self.step(Input::Stop);
                    None
                }
                () = tokio::time::sleep_until(wake) => None,
            };
            if let Some(message) = heard {
                self.hear(message).await;
            }
            self.look();
            self.step(Input::Tick);
        }
    }

    fn wake(&self) -> Instant {
        let pause = if self.machine.is_ending() || self.ended.is_some() {
            ENDING_PAUSE
        } else {
            LOOK_PAUSE
        };
        let look = Instant::now() + pause;
        let deadline = self.machine.deadline().map(|after| self.begun + after);
        deadline.map_or(look, |deadline| deadline.min(look))
    }

    async fn hear(&mut self, message: Message) {
        if message.generation != self.generation {
            return;
        }
        match message.said {
            Word::Quiet => {
                self.is_quiet = true;
                self.step(Input::Quiet);
            }
            Word::Event(Event::Failed { message }) => self.step(Input::Failed(message)),
            Word::Event(Event::Stuck { what, seconds }) => {
                // Before its connections break: those who have them are told what broke them.
                self.shared.quarantine.stuck(self.generation);
                self.upstream.metrics.worker_stuck();
                let why = format!("{what} did not end within {seconds} s (worker.stuck_after)");
                self.step(Input::Stuck(why));
            }
            Word::Event(Event::Loading { progress }) => {
                if let Some(share) = progress.filter(|_| self.machine.is_loading()) {
                    self.shared.tell(Phase::Loading {
                        progress: Some(share),
                    });
                    self.upstream.loads(share);
                }
            }
            Word::Event(Event::Ready(facts)) => {
                if self.machine.is_loading() {
                    let upstream = self.shared.in_force();
                    let upstream = upstream.unwrap_or_else(|| Arc::clone(&self.upstream));
                    self.state = upstream.own_state().await;
                    let models = facts.models.iter().map(String::as_str);
                    self.upstream.has_models(models);
                    self.shared.tell(Phase::Ready(facts));
                }
                self.step(Input::Ready);
            }
        }
    }

    /// Whether the process has ended.
    fn look(&mut self) {
        if self.ended.is_none() {
            let ended = self.process.as_mut().and_then(Process::ended);
            self.ended = ended.map(|end| (end, Instant::now()));
        }
        let is_heard = |since: Instant| self.is_quiet || since.elapsed() >= LAST_WORDS;
        if let Some((end, _)) = self.ended.take_if(|(_, since)| is_heard(*since)) {
            self.process = None;
            if end.is_own_doing {
                let at_work = self.shared.folder.at_work();
                self.shared.quarantine.died_at(&at_work);
            }
            self.step(Input::Exited(end.how));
        }
    }

    fn step(&mut self, input: Input) {
        for action in self.machine.step(self.begun.elapsed(), input) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Start => self.start(),
            Action::Serve => {
                self.shared.serves.send_replace(Some(self.generation));
                self.upstream.metrics.worker_up(true);
                self.upstream.set(self.state.clone());
            }
            Action::Withdraw => {
                let is_stopped = *self.shared.stop.borrow();
                self.shared.serves.send_replace(None);
                self.upstream.metrics.worker_up(false);
                if !is_stopped {
                    self.upstream.set(State::restarting());
                }
            }
            Action::Ask => {
                if let Some(process) = &mut self.process {
                    process.ask();
                }
            }
            Action::Kill => {
                if let Some(process) = &mut self.process {
                    process.kill();
                }
            }
            Action::Rest(pause, why) => {
                let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
                tracing::error!(why, pause_ms, "the worker ended and is started again");
                self.upstream.set(State::restarting());
                self.shared.tell(Phase::Resting { why });
            }
            Action::GiveUp(why) => self.shared.tell(Phase::GivenUp { why }),
            Action::Over => self.shared.tell(Phase::Over),
        }
    }

    fn start(&mut self) {
        self.shared.folder.clear();
        self.generation += 1;
        self.is_quiet = false;
        self.ended = None;
        self.shared.quarantine.started();
        if self.generation > 1 {
            self.shared.restarted();
            self.upstream.metrics.worker_restarted();
        }
        let inbox = self.sender.clone();
        match Process::start(&self.launch, &self.arguments, self.generation, inbox) {
            Ok(process) => {
                self.process = Some(process);
                self.shared.tell(Phase::Loading { progress: None });
            }
            Err(error) => self.step(Input::NotStarted(format!("it cannot be started: {error}"))),
        }
    }
}
