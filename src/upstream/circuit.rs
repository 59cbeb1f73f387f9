//! Which models a server is not asked for at the moment: outcomes in, whether it is put aside out. What is put aside is
//! asked all the same where nobody else is left. Time is an argument.

use std::time::Duration;
use tokio::time::Instant;

/// So many failures without a good reply between them put a server aside.
const FAILURES: u32 = 3;
/// The first time for so long, then twice as long each time, up to the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Clients name models, so that there is an end to them.
const MAX_MODELS: usize = 64;
/// Retries may be a fifth of all requests, over a while of some hundred, and ten a second besides.
const SHARE: f64 = 0.2;
const MOST: f64 = 100.0;
const A_SECOND: f64 = 10.0;

/// The models of one server that failed.
#[derive(Debug, Default)]
pub(super) struct Circuits(Vec<Circuit>);

#[derive(Debug)]
struct Circuit {
    model: String,
    failures: u32,
    until: Option<Instant>,
}

/// What operators are told of a model that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitStatus {
    /// The model.
    pub model: String,
    /// `open` while the server is not asked for it, `half_open` where that is over and no reply was good yet, `closed`
    /// after fewer failures than put it aside.
    pub state: &'static str,
    /// The failures since its last good reply.
    pub failures: u32,
}

impl Circuits {
    /// Whether the server is put aside for this model.
    pub(super) fn is_open(&self, model: &str, now: Instant) -> bool {
        let mut all = self.0.iter();
        all.any(|one| one.model == model && one.is_open(now))
    }

    /// It failed, and may have said for how long it is not to be asked. For how long it is put aside, where it is by that.
    pub(super) fn failed(
        &mut self,
        model: &str,
        told: Option<Duration>,
        now: Instant,
    ) -> Option<Duration> {
        let at = self.0.iter().position(|one| one.model == model);
        let mut circuit = match at {
            Some(at) => self.0.remove(at),
            None => Circuit {
                model: model.to_owned(),
                failures: 0,
                until: None,
            },
        };
        if self.0.len() >= MAX_MODELS {
            self.0.remove(0);
        }
        circuit.failures = circuit.failures.saturating_add(1);
        let was_open = circuit.is_open(now);
        let doubled = circuit.failures.saturating_sub(FAILURES).min(5);
        let own = (circuit.failures >= FAILURES).then(|| (FIRST * (1 << doubled)).min(LONGEST));
        if let Some(time) = told.max(own) {
            circuit.until = circuit.until.max(Some(now + time));
        }
        let until = circuit.until;
        self.0.push(circuit);
        let left = until?.saturating_duration_since(now);
        (!left.is_zero() && !was_open).then_some(left)
    }

    /// It answered as it should.
    pub(super) fn succeeded(&mut self, model: &str) {
        self.0.retain(|one| one.model != model);
    }

    /// It is another process, or another server.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }

    /// Every model that failed since its last good reply.
    pub(super) fn told(&self, now: Instant) -> Vec<CircuitStatus> {
        let told = |one: &Circuit| CircuitStatus {
            model: one.model.clone(),
            state: match one.until {
                Some(until) if until > now => "open",
                Some(_) => "half_open",
                None => "closed",
            },
            failures: one.failures,
        };
        self.0.iter().map(told).collect()
    }
}

impl Circuit {
    fn is_open(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until > now)
    }
}

/// How many requests may be sent to another server after they failed at one: where all fail, each request is not to
/// become as many as there are servers.
#[derive(Debug)]
pub(super) struct RetryBudget {
    left: f64,
    since: Instant,
}

impl RetryBudget {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            left: A_SECOND,
            since: now,
        }
    }

    /// A request came.
    pub(super) fn deposit(&mut self) {
        self.left = (self.left + SHARE).min(MOST);
    }

    /// Whether one may be sent again.
    pub(super) fn withdraw(&mut self, now: Instant) -> bool {
        let time = now.saturating_duration_since(self.since).as_secs_f64();
        self.since = now;
        self.left = (self.left + time * A_SECOND).min(MOST);
        let may = self.left >= 1.0;
        if may {
            self.left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_third_failure_puts_one_model_aside_each_time_for_longer() {
        let mut circuits = Circuits::default();
        let mut now = Instant::now();
        assert_eq!(circuits.failed("m", None, now), None);
        assert_eq!(circuits.failed("m", None, now), None);
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            let aside = circuits.failed("m", None, now);
            assert_eq!(aside, Some(Duration::from_secs(seconds)));
            let last = now + Duration::from_millis(seconds * 1000 - 1);
            assert!(circuits.is_open("m", last), "{seconds}");
            assert!(!circuits.is_open("other", last));
            now += Duration::from_secs(seconds);
            assert!(!circuits.is_open("m", now), "{seconds}");
            assert_eq!(circuits.told(now)[0].state, "half_open");
        }
        circuits.succeeded("m");
        assert_eq!(circuits.told(now), []);
        assert_eq!(circuits.failed("m", None, now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_for_how_long_is_taken_at_its_word() {
        let mut circuits = Circuits::default();
        let now = Instant::now();
        let aside = circuits.failed("m", Some(20 * SECOND), now);
        assert_eq!(aside, Some(20 * SECOND));
        let aside = circuits.failed("m", None, now);
        assert_eq!(aside, None, "it is aside already");
        assert!(circuits.is_open("m", now + 19 * SECOND));
        assert!(!circuits.is_open("m", now + 20 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_has_an_end() {
        let mut circuits = Circuits::default();
        for nth in 0..1_000 {
            circuits.failed(&nth.to_string(), None, Instant::now());
        }
        assert_eq!(circuits.0.len(), MAX_MODELS);
    }

    #[tokio::test(start_paused = true)]
    async fn retries_are_a_fifth_of_all_requests_and_ten_a_second() {
        let now = Instant::now();
        let mut budget = RetryBudget::new(now);
        let may =
            |budget: &mut RetryBudget, now| (0..1_000).filter(|_| budget.withdraw(now)).count();
        assert_eq!(may(&mut budget, now), 10);
        (0..100).for_each(|_| budget.deposit());
        assert!((19..=20).contains(&may(&mut budget, now)));
        assert_eq!(may(&mut budget, now + SECOND), 10);
    }
}
