//! Constraints that the worker died of: what is asked of it comes in, and what a process was at when it died; what is
//! not to be tried again goes out.
//!
//! The worker notes which constraint it compiles, or works out the next tokens of, so what a process died in is known
//! (`isogloss_compile::at_work`). A constraint in which one died twice, and under which no answer was completed in
//! between, is refused for a while: a crash loop that one client keeps alive would take everybody's answers with it. Of
//! several that were worked on at once each is blamed; the second time tells them apart.
//!
//! Whatever else a process dies of blames nobody: the model's computations, a signal from without, want of memory. Of one
//! that was ended because it was stuck its requests are told just that.

use super::Why;
use http::{HeaderMap, HeaderName, HeaderValue};
use indexmap::IndexMap;
use isogloss_compile::at_work;
use isogloss_core::error::{Error, Kind};
use isogloss_core::ir::Constraint;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Constraints that are remembered; the oldest makes room.
const MAX_BLAMED: usize = 256;
/// Crashes after which a constraint is refused.
const MAX_CRASHES: u32 = 2;
/// How long after the last of them; then it is tried again.
const QUARANTINE: Duration = Duration::from_secs(10 * 60);
/// How the worker is told a constraint's number.
const HEADER: HeaderName = HeaderName::from_static(at_work::HEADER);

/// What the worker's requests have in common.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    keys: RandomState,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The process that runs now.
    generation: u64,
    /// A process that broke a connection: it may be about to be gone.
    suspect: Option<u64>,
    /// The last process that computed without an end.
    stuck: Option<u64>,
    blamed: IndexMap<u64, Blame>,
}

#[derive(Debug, Clone, Copy)]
struct Blame {
    crashes: u32,
    /// When the last one was.
    at: Instant,
}

/// One request at the worker, from before it is sent until its reply has ended.
#[derive(Debug)]
pub struct Flight {
    quarantine: Arc<Quarantine>,
    /// `None` where nothing is constrained.
    print: Option<u64>,
    generation: u64,
}

// === impl Quarantine ===

impl Quarantine {
    /// Another process has been started.
    pub(super) fn started(&self) {
        self.known().generation += 1;
    }

    /// The process died of what it did, and these constraints are what it was at.
    pub(super) fn died_at(&self, constraints: &[u64]) {
        let mut known = self.known();
        let each: HashSet<_> = constraints.iter().collect();
        for print in each {
            known.blame(*print);
        }
    }

    /// This process is about to be ended, since it computes without an end.
    pub(super) fn stuck(&self, generation: u64) {
        self.known().stuck = Some(generation);
    }

    /// Why requests to this process were lost.
    pub(super) fn lost(&self, generation: u64) -> Why {
        match self.known().stuck == Some(generation) {
            true => Why::Stuck,
            false => Why::Crashed,
        }
    }

    /// A connection to this process broke.
    pub(super) fn suspect(&self, generation: u64) {
        self.known().suspect = Some(generation);
    }

    /// Whether a connection to this process broke, and nobody has looked into it.
    pub(super) fn is_suspect(&self, generation: u64) -> bool {
        self.known().suspect == Some(generation)
    }

    /// The process lives on, though a connection to it broke.
    pub(super) fn trust(&self) {
        self.known().suspect = None;
    }

    /// Notes that a request goes to the worker. `constraints` are the request's, each with its
    /// field.
    ///
    /// # Errors
    /// The worker died twice while it worked under these constraints.
    pub(super) fn enter(
        self: &Arc<Self>,
        constraints: &[(String, Constraint)],
    ) -> Result<Flight, Error> {
        let print = (!constraints.is_empty()).then(|| self.print(constraints));
        let mut known = self.known();
        if let Some(print) = print
            && let Some(left) = known.quarantined(print)
        {
            let minutes = left.as_secs().div_ceil(60);
            let error = Error::new(
                Kind::SchemaTooComplex,
                format!(
                    "the worker crashed {MAX_CRASHES} times at work on this constraint, \
                     so it is not tried again for {minutes} minutes: simplify it"
                ),
            );
            let field = constraints.first().map(|(field, _)| field.as_str());
            let error = error.retry_after(left.as_secs().max(1));
            return Err(error.at(field.unwrap_or_default()));
        }
        Ok(Flight {
            quarantine: Arc::clone(self),
            print,
            generation: known.generation,
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the same constraints have in common with each other and, keyed at random, by chance
    /// alone with others. They were compiled before: none is too deep to be walked.
    fn print(&self, constraints: &[(String, Constraint)]) -> u64 {
        struct Sink<H>(H);
        impl<H: Hasher> io::Write for Sink<H> {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.write(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut sink = Sink(self.keys.build_hasher());
        for (_, constraint) in constraints {
            constraint.kind().hash(&mut sink.0);
            match constraint {
                Constraint::JsonObject => {}
                Constraint::JsonSchema(value) | Constraint::StructuralTag(value) => {
                    // Neither a value nor the sink can fail.
                    let _ = serde_json::to_writer(&mut sink, value);
                }
                Constraint::Regex(text) | Constraint::Grammar { text, .. } => {
                    text.hash(&mut sink.0);
                }
                Constraint::Choice(choices) => choices.hash(&mut sink.0),
            }
        }
        // Zero is nobody's.
        sink.0.finish().max(1)
    }
}

// === impl Known ===

impl Known {
    /// How long a constraint is refused still. Once that is over, it is as if nothing had been.
    fn quarantined(&mut self, print: u64) -> Option<Duration> {
        let blame = self.blamed.get(&print)?;
        let left = QUARANTINE.saturating_sub(blame.at.elapsed());
        if left.is_zero() {
            self.blamed.shift_remove(&print);
            return None;
        }
        (blame.crashes >= MAX_CRASHES).then_some(left)
    }

    fn blame(&mut self, print: u64) {
        if self.blamed.len() >= MAX_BLAMED && !self.blamed.contains_key(&print) {
            self.blamed.shift_remove_index(0);
        }
        let now = Instant::now();
        let blame = self.blamed.entry(print).or_insert(Blame {
            crashes: 0,
            at: now,
        });
        blame.crashes += 1;
        blame.at = now;
        if blame.crashes == MAX_CRASHES {
            // Never the constraint itself: it is a client's.
            tracing::warn!(
                crashes = MAX_CRASHES,
                seconds = QUARANTINE.as_secs(),
                "a constraint that the worker keeps dying of is refused for a while"
            );
        }
    }
}

// === impl Flight ===

impl Flight {
    /// Writes into a request under which number the worker is to note its work on the constraint.
    pub fn sign(&self, headers: &mut HeaderMap) {
        if let Some(print) = self.print {
            let number = HeaderValue::try_from(format!("{print:x}"));
            headers.extend(number.map(|number| (HEADER, number)));
        }
    }

    /// The reply is complete: what was blamed before was only there.
    pub fn completed(&self) {
        if let Some(print) = self.print {
            let mut known = self.quarantine.known();
            let blame = known.blamed.get(&print);
            if blame.is_some_and(|blame| blame.crashes < MAX_CRASHES) {
                known.blamed.shift_remove(&print);
            }
        }
    }

    /// The error of a reply that did not come, or broke off, in the worker's own terms.
    #[must_use]
    pub fn explain(&self, error: Error) -> Error {
        let is_lost = matches!(
            error.kind,
            Kind::UpstreamTruncated | Kind::WorkerCrashed | Kind::WorkerStuck
        );
        if !is_lost {
            return error;
        }
        self.quarantine.suspect(self.generation);
        self.quarantine.lost(self.generation).to_error()
    }
}

/// What a request is told whose worker died.
pub(super) fn crashed() -> Error {
    Error::new(
        Kind::WorkerCrashed,
        "the worker crashed while it worked on this request; it is being restarted: send the request again",
    )
    .retry_after(1)
}

/// What a request is told whose worker computed without an end.
pub(super) fn stuck() -> Error {
    Error::new(
        Kind::WorkerStuck,
        "a computation of the worker did not end while it had this request; it was ended and is being restarted: send the request again",
    )
    .retry_after(1)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]
    use super::*;
    use serde_json::json;

    fn quarantine() -> Arc<Quarantine> {
        let quarantine = Arc::new(Quarantine::default());
        quarantine.started();
        quarantine
    }

    fn schema(minimum: i32) -> Vec<(String, Constraint)> {
        let schema = Constraint::JsonSchema(json!({"minimum": minimum}));
        vec![("response_format".to_owned(), schema)]
    }

    fn print(flight: &Flight) -> u64 {
        let mut headers = HeaderMap::new();
        flight.sign(&mut headers);
        let number = headers.get(HEADER).map(|number| number.to_str().unwrap());
        number.map_or(0, |number| u64::from_str_radix(number, 16).unwrap())
    }

    /// A process dies at work on these.
    fn crash(quarantine: &Quarantine, flights: &[&Flight]) {
        let prints: Vec<_> = flights.iter().map(|flight| print(flight)).collect();
        quarantine.died_at(&prints);
        quarantine.started();
    }

    #[test]
    fn a_constraint_in_which_two_processes_died_is_refused_and_others_are_not() {
        let quarantine = quarantine();
        for _ in 0..2 {
            let culprit = quarantine.enter(&schema(1)).unwrap();
            let _bystander = quarantine.enter(&schema(2)).unwrap();
            let plain = quarantine.enter(&[]).unwrap();
            assert_eq!(print(&plain), 0, "nothing is constrained");
            crash(&quarantine, &[&culprit]);
        }
        let error = quarantine.enter(&schema(1)).unwrap_err();
        assert_eq!(error.kind, Kind::SchemaTooComplex);
        assert_eq!(error.param.as_deref(), Some("response_format"));
        assert!(error.message.contains("crashed 2 times"), "{error}");
        assert!(quarantine.enter(&schema(2)).is_ok());
        assert!(quarantine.enter(&[]).is_ok());
    }

    #[test]
    fn one_crash_counts_once_however_many_threads_were_at_it() {
        let quarantine = quarantine();
        let flight = quarantine.enter(&schema(1)).unwrap();
        crash(&quarantine, &[&flight, &flight, &flight]);
        assert!(quarantine.enter(&schema(1)).is_ok());
    }

    #[test]
    fn requests_that_were_lost_with_a_process_are_told_so_and_blamed_for_nothing() {
        let quarantine = quarantine();
        for _ in 0..5 {
            let flight = quarantine.enter(&schema(1)).unwrap();
            let cut = Error::new(Kind::UpstreamTruncated, "cut");
            assert_eq!(flight.explain(cut).kind, Kind::WorkerCrashed);
            crash(&quarantine, &[]);
        }
        assert!(quarantine.known().blamed.is_empty());
    }

    #[test]
    fn requests_of_a_process_that_was_stuck_are_told_that_and_those_of_the_next_are_not() {
        let quarantine = quarantine();
        let lost = |flight: &Flight| {
            let cut = Error::new(Kind::UpstreamTruncated, "cut");
            flight.explain(cut).kind
        };
        let flight = quarantine.enter(&schema(1)).unwrap();
        quarantine.stuck(flight.generation);
        quarantine.started();
        let next = quarantine.enter(&schema(1)).unwrap();
        assert_eq!(lost(&flight), Kind::WorkerStuck);
        assert_eq!(lost(&next), Kind::WorkerCrashed);
        assert!(quarantine.known().blamed.is_empty());
    }

    #[test]
    fn a_complete_answer_in_between_clears_a_constraint_that_was_only_there() {
        let quarantine = quarantine();
        for _ in 0..5 {
            let bystander = quarantine.enter(&schema(1)).unwrap();
            crash(&quarantine, &[&bystander]);
            quarantine.enter(&schema(1)).unwrap().completed();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_constraint_is_tried_again_after_a_while_and_has_two_crashes_again() {
        let quarantine = quarantine();
        let dies = || crash(&quarantine, &[&quarantine.enter(&schema(1)).unwrap()]);
        dies();
        dies();
        let error = quarantine.enter(&schema(1)).unwrap_err();
        assert_eq!(error.retry_after, Some(QUARANTINE.as_secs()));
        assert!(error.message.contains("10 minutes"), "{error}");
        tokio::time::advance(QUARANTINE).await;
        dies();
        dies();
        assert!(quarantine.enter(&schema(1)).is_err());
    }

    #[test]
    fn other_errors_are_the_workers_own() {
        let quarantine = quarantine();
        let flight = quarantine.enter(&schema(1)).unwrap();
        let error = Error::new(Kind::UpstreamRateLimited, "slow down");
        assert_eq!(flight.explain(error.clone()), error);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let quarantine = quarantine();
        for minimum in 0..2_000 {
            let flight = quarantine.enter(&schema(minimum)).unwrap();
            crash(&quarantine, &[&flight]);
        }
        assert_eq!(quarantine.known().blamed.len(), MAX_BLAMED);
    }
}
