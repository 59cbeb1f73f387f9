//! The worker's life, pure: what befell its process and when in, what is to be done out.

use std::time::Duration;

/// Before the first restart; each one after that waits twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A worker that was ready for so long begins with the first pause again.
const HEALTHY: Duration = Duration::from_secs(60);
/// Native code may die of a want of memory that passes; of one that does not, people must be told.
const FIRST_TRIES: u32 = 3;
/// A worker that was asked to end has nothing to finish: its requests were waited for before.
const GRACE: Duration = Duration::from_secs(5);
/// A process that closed its standard output is about to be gone.
const QUIET_GRACE: Duration = Duration::from_secs(1);

/// What befell the process. Times are those since the supervisor began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// It takes requests.
    Ready,
    /// It said that it cannot go on, and why.
    Failed(String),
    /// It said that a computation of it does not end, and which.
    Stuck(String),
    /// It closed its standard output.
    Quiet,
    /// It is gone, and how it went.
    Exited(String),
    /// It could not even be started.
    NotStarted(String),
    /// Time passed.
    Tick,
    /// The proxy ends.
    Stop,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Start a process.
    Start,
    /// Send it requests.
    Serve,
    /// Send it no more; requests that it had are lost.
    Withdraw,
    /// Ask it to end.
    Ask,
    /// Kill it.
    Kill,
    /// It will be started again after this pause; why it ended.
    Rest(Duration, String),
    /// It never worked: why. The proxy ends.
    GiveUp(String),
    /// It ended because it was to.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is no process; one is started then.
    Resting { until: Duration },
    /// The process loads its model.
    Loading,
    /// The process takes requests.
    Ready,
    /// The process ends, and is killed then.
    Ending { until: Duration },
    /// The process was killed.
    Killed,
    /// There is no process, and there will be none.
    Over,
}

/// The supervisor's mind.
#[derive(Debug)]
pub(super) struct Machine {
    phase: Phase,
    stopping: bool,
    was_ever_ready: bool,
    ready_since: Option<Duration>,
    /// Ends in a row, without a healthy time between.
    failures: u32,
    /// What the process said that it died of.
    last_words: Option<String>,
}

impl Machine {
    /// A machine that wants to start a process at once.
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Resting {
                until: Duration::ZERO,
            },
            stopping: false,
            was_ever_ready: false,
            ready_since: None,
            failures: 0,
            last_words: None,
        }
    }

    /// When [`Input::Tick`] is wanted.
    pub(super) const fn deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::Resting { until } | Phase::Ending { until } => Some(until),
            Phase::Loading | Phase::Ready | Phase::Killed | Phase::Over => None,
        }
    }

    /// Whether a process is there that loads its model.
    pub(super) const fn is_loading(&self) -> bool {
        matches!(self.phase, Phase::Loading)
    }

    /// Whether a process is on its way out: its end is to be looked for often.
    pub(super) const fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending { .. } | Phase::Killed)
    }

    /// Whether all is over.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// One step.
    pub(super) fn step(&mut self, now: Duration, input: Input) -> Vec<Action> {
        match (input, self.phase) {
            (Input::Tick, Phase::Resting { until }) if now >= until => {
                self.phase = Phase::Loading;
                self.ready_since = None;
                self.last_words = None;
                vec![Action::Start]
            }
            (Input::Tick, Phase::Ending { until }) if now >= until => {
                self.phase = Phase::Killed;
                vec![Action::Kill]
            }
            (Input::Ready, Phase::Loading) => {
                self.phase = Phase::Ready;
                self.was_ever_ready = true;
                self.ready_since = Some(now);
                vec![Action::Serve]
            }
            (Input::Failed(message), Phase::Loading | Phase::Ready) => {
                self.last_words = Some(message);
                self.end(now + GRACE)
            }
            (Input::Stuck(why), Phase::Loading | Phase::Ready) => {
                self.last_words = Some(why);
                self.phase = Phase::Killed;
                vec![Action::Withdraw, Action::Kill]
            }
            (Input::Quiet, Phase::Loading | Phase::Ready) => self.end(now + QUIET_GRACE),
            (Input::Stop, Phase::Loading | Phase::Ready) => {
                self.stopping = true;
                self.end(now + GRACE)
            }
            (Input::Stop, Phase::Ending { .. } | Phase::Killed) => {
                self.stopping = true;
                Vec::new()
            }
            (Input::Stop, Phase::Resting { .. }) => {
                self.phase = Phase::Over;
                vec![Action::Over]
            }
            (
                Input::Exited(how) | Input::NotStarted(how),
                Phase::Loading | Phase::Ready | Phase::Ending { .. } | Phase::Killed,
            ) => self.gone(now, how),
            _ => Vec::new(),
        }
    }

    fn end(&mut self, until: Duration) -> Vec<Action> {
        self.phase = Phase::Ending { until };
        vec![Action::Withdraw, Action::Ask]
    }

    fn gone(&mut self, now: Duration, how: String) -> Vec<Action> {
        // What exits before its output is seen to close has not been withdrawn yet.
        let mut actions = match self.phase {
            Phase::Ready => vec![Action::Withdraw],
            _ => Vec::new(),
        };
        if self.stopping {
            self.phase = Phase::Over;
            actions.push(Action::Over);
            return actions;
        }
        let was_healthy = self
            .ready_since
            .is_some_and(|since| now.saturating_sub(since) >= HEALTHY);
        self.failures = if was_healthy { 1 } else { self.failures + 1 };
        let has_said = self.last_words.is_some();
        let why = self.last_words.take().unwrap_or(how);
        if !self.was_ever_ready && (has_said || self.failures >= FIRST_TRIES) {
            self.phase = Phase::Over;
            actions.push(Action::GiveUp(why));
            return actions;
        }
        let doublings = (self.failures - 1).min(16);
        let pause = (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE);
        self.phase = Phase::Resting { until: now + pause };
        actions.push(Action::Rest(pause, why));
        actions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const SECOND: Duration = Duration::from_secs(1);

    /// A machine and its clock.
    struct Case(Machine, Duration);

    impl Case {
        fn started() -> Self {
            let mut case = Self(Machine::new(), Duration::ZERO);
            assert_eq!(case.step(Input::Tick), [Action::Start]);
            case
        }

        fn ready() -> Self {
            let mut case = Self::started();
            assert_eq!(case.step(Input::Ready), [Action::Serve]);
            case
        }

        fn step(&mut self, input: Input) -> Vec<Action> {
            self.0.step(self.1, input)
        }

        fn after(&mut self, time: Duration) -> &mut Self {
            self.1 += time;
            self
        }

        fn exits(&mut self) -> Vec<Action> {
            self.step(Input::Exited("signal 6".to_owned()))
        }
    }

    fn rest(pause: Duration) -> Action {
        Action::Rest(pause, "signal 6".to_owned())
    }

    #[test]
    fn a_worker_that_dies_is_started_again_after_a_quarter_of_a_second() {
        let mut case = Case::ready();
        assert_eq!(
            case.step(Input::Quiet),
            [Action::Withdraw, Action::Ask],
            "requests are told at once, before the process is reaped"
        );
        assert_eq!(case.exits(), [rest(250 * MS)]);
        assert_eq!(case.after(249 * MS).step(Input::Tick), []);
        assert_eq!(case.after(MS).step(Input::Tick), [Action::Start]);
        assert_eq!(case.step(Input::Ready), [Action::Serve]);
    }

    #[test]
    fn a_worker_that_is_stuck_is_killed_at_once_and_started_again() {
        let mut case = Case::ready();
        let why = "a forward pass does not end".to_owned();
        assert_eq!(
            case.step(Input::Stuck(why.clone())),
            [Action::Withdraw, Action::Kill]
        );
        assert_eq!(case.exits(), [Action::Rest(250 * MS, why)]);
        assert_eq!(case.after(250 * MS).step(Input::Tick), [Action::Start]);
    }

    #[test]
    fn a_worker_that_keeps_dying_rests_twice_as_long_each_time_up_to_ten_seconds() {
        let mut case = Case::ready();
        for pause in [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000] {
            let pause = pause * MS;
            case.step(Input::Quiet);
            assert_eq!(case.exits(), [rest(pause)]);
            assert_eq!(case.after(pause).step(Input::Tick), [Action::Start]);
            case.step(Input::Ready);
        }
        for _ in 0..100 {
            case.exits();
            case.after(LONGEST_PAUSE).step(Input::Tick);
        }
    }

    #[test]
    fn a_minute_of_health_makes_the_next_pause_a_short_one() {
        let mut case = Case::ready();
        for _ in 0..5 {
            case.exits();
            case.after(LONGEST_PAUSE).step(Input::Tick);
            case.step(Input::Ready);
        }
        case.after(59 * SECOND);
        assert_eq!(case.exits(), [Action::Withdraw, rest(8 * SECOND)]);
        case.after(LONGEST_PAUSE).step(Input::Tick);
        case.step(Input::Ready);
        case.after(60 * SECOND);
        assert_eq!(case.exits(), [Action::Withdraw, rest(250 * MS)]);
    }

    #[test]
    fn what_the_first_start_fails_of_is_told_at_once() {
        let mut case = Case::started();
        let failed = Input::Failed("x.gguf is no GGUF file".to_owned());
        assert_eq!(case.step(failed), [Action::Withdraw, Action::Ask]);
        let told = Action::GiveUp("x.gguf is no GGUF file".to_owned());
        assert_eq!(case.exits(), [told]);
        assert!(case.0.is_over());
    }

    #[test]
    fn a_worker_that_dies_without_a_word_before_it_was_ever_ready_is_tried_three_times() {
        let mut case = Case::started();
        assert_eq!(case.exits(), [rest(250 * MS)]);
        case.after(SECOND).step(Input::Tick);
        assert_eq!(case.exits(), [rest(500 * MS)]);
        case.after(SECOND).step(Input::Tick);
        assert_eq!(case.exits(), [Action::GiveUp("signal 6".to_owned())]);
    }

    #[test]
    fn a_worker_that_was_ready_once_is_never_given_up() {
        let mut case = Case::ready();
        for _ in 0..50 {
            case.exits();
            case.after(LONGEST_PAUSE).step(Input::Tick);
            case.step(Input::Failed("not enough memory".to_owned()));
            let actions = case.exits();
            assert!(
                matches!(&actions[..], [Action::Rest(_, why)] if why == "not enough memory"),
                "{actions:?}"
            );
            case.after(LONGEST_PAUSE).step(Input::Tick);
        }
        assert_eq!(case.step(Input::Ready), [Action::Serve]);
    }

    #[test]
    fn a_worker_that_does_not_end_when_asked_is_killed() {
        let mut case = Case::ready();
        assert_eq!(case.step(Input::Stop), [Action::Withdraw, Action::Ask]);
        assert_eq!(case.after(GRACE - MS).step(Input::Tick), []);
        assert_eq!(case.after(MS).step(Input::Tick), [Action::Kill]);
        assert_eq!(case.step(Input::Tick), []);
        assert_eq!(case.exits(), [Action::Over]);
    }

    #[test]
    fn one_that_stopped_talking_and_lives_on_is_killed_and_started_again() {
        let mut case = Case::ready();
        case.step(Input::Quiet);
        assert_eq!(case.after(QUIET_GRACE).step(Input::Tick), [Action::Kill]);
        assert_eq!(case.exits(), [rest(250 * MS)]);
    }

    #[test]
    fn nothing_is_started_after_the_stop() {
        let mut resting = Case::ready();
        resting.exits();
        assert_eq!(resting.step(Input::Stop), [Action::Over]);
        assert_eq!(resting.after(10 * SECOND).step(Input::Tick), []);
        let mut dying = Case::ready();
        dying.step(Input::Quiet);
        assert_eq!(dying.step(Input::Stop), []);
        assert_eq!(dying.exits(), [Action::Over]);
        assert_eq!(dying.0.deadline(), None);
    }

    #[test]
    fn a_program_that_cannot_be_started_is_tried_like_one_that_dies() {
        let mut case = Case::started();
        let input = || Input::NotStarted("signal 6".to_owned());
        assert_eq!(case.step(input()), [rest(250 * MS)]);
        case.after(SECOND).step(Input::Tick);
        case.step(input());
        case.after(SECOND).step(Input::Tick);
        let told = Action::GiveUp("signal 6".to_owned());
        assert_eq!(case.step(input()), [told]);
    }
}
