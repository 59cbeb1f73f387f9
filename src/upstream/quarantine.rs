//! Constraints that the worker died of: what is being generated under comes in, and when a
//! process died; what is not to be tried again goes out.
//!
//! Who is to blame for a crash is not known, only who was there. A constraint that was there
//! twice, and under which no answer was completed in between, is refused for a while: a crash
//! loop that one client keeps alive would take everybody's answers with it.
//!
//! A process that was killed from without (by a person, or by the kernel for want of memory) or that ended by itself
//! blames nobody. So requests are only noted while a process dies; they are blamed once it is known what of.

use indexmap::IndexMap;
use isogloss_core::error::{Error, Kind};
use isogloss_core::ir::Constraint;
use std::collections::{HashMap, HashSet};
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
    flying: HashMap<u64, usize>,
    /// What was at work when the process that runs now began to die.
    accused: HashSet<u64>,
    /// The last process that is gone, and whether it died of what it did.
    last: Option<(u64, bool)>,
    blamed: IndexMap<u64, Blame>,
}

#[derive(Debug, Clone, Copy)]
struct Blame {
    crashes: u32,
    /// The last process that died with the constraint at work: it counts once.
    generation: u64,
    /// When that was.
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
        let mut known = self.known();
        known.generation += 1;
        known.accused.clear();
    }

    /// The process takes no more requests: what is at work may be what it dies of.
    pub(super) fn withdrawn(&self) {
        let mut known = self.known();
        let Known {
            flying, accused, ..
        } = &mut *known;
        accused.extend(flying.keys());
    }

    /// The process is gone. Where it died of what it did, every constraint that was at work is blamed.
    pub(super) fn ended(&self, is_own_doing: bool) {
        let mut known = self.known();
        let generation = known.generation;
        let accused = std::mem::take(&mut known.accused);
        known.last = Some((generation, is_own_doing));
        for print in accused.into_iter().filter(|_| is_own_doing) {
            known.blame(print, generation);
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
        if let Some(print) = print {
            if let Some(left) = known.quarantined(print) {
                let minutes = left.as_secs().div_ceil(60);
                let error = Error::new(
                    Kind::SchemaTooComplex,
                    format!(
                        "the worker crashed {MAX_CRASHES} times while it generated under this constraint, \
                         so it is not tried again for {minutes} minutes: simplify it"
                    ),
                );
                let field = constraints.first().map(|(field, _)| field.as_str());
                let error = error.retry_after(left.as_secs().max(1));
                return Err(error.at(field.unwrap_or_default()));
            }
            *known.flying.entry(print).or_default() += 1;
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
        sink.0.finish()
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

    fn blame(&mut self, print: u64, generation: u64) {
        if let Some(blame) = self.blamed.get_mut(&print) {
            if blame.generation != generation {
                blame.crashes += 1;
                blame.generation = generation;
                blame.at = Instant::now();
                if blame.crashes == MAX_CRASHES {
                    // Never the constraint itself: it is a client's.
                    tracing::warn!(
                        crashes = MAX_CRASHES,
                        seconds = QUARANTINE.as_secs(),
                        "a constraint that the worker keeps dying of is refused for a while"
                    );
                }
            }
            return;
        }
        if self.blamed.len() >= MAX_BLAMED {
            self.blamed.shift_remove_index(0);
        }
        let crashes = 1;
        self.blamed.insert(
            print,
            Blame {
                crashes,
                generation,
                at: Instant::now(),
            },
        );
    }
}

// === impl Flight ===

impl Flight {
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
        if !matches!(error.kind, Kind::UpstreamTruncated | Kind::WorkerCrashed) {
            return error;
        }
        let mut known = self.quarantine.known();
        known.suspect = Some(self.generation);
        if let Some(print) = self.print {
            let is_its = |(generation, _): &(u64, bool)| *generation == self.generation;
            match known.last.filter(is_its) {
                Some((generation, true)) => known.blame(print, generation),
                None if known.generation == self.generation => {
                    known.accused.insert(print);
                }
                _ => {}
            }
        }
        crashed()
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(print) = self.print {
            let mut known = self.quarantine.known();
            if let Some(count) = known.flying.get_mut(&print) {
                *count -= 1;
                if *count == 0 {
                    known.flying.remove(&print);
                }
            }
        }
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

    fn crash(quarantine: &Quarantine) {
        quarantine.withdrawn();
        quarantine.ended(true);
        quarantine.started();
    }

    #[test]
    fn a_constraint_that_was_at_work_at_two_crashes_is_refused_and_others_are_not() {
        let quarantine = quarantine();
        for _ in 0..2 {
            let _culprit = quarantine.enter(&schema(1)).unwrap();
            let _plain = quarantine.enter(&[]).unwrap();
            crash(&quarantine);
        }
        let error = quarantine.enter(&schema(1)).unwrap_err();
        assert_eq!(error.kind, Kind::SchemaTooComplex);
        assert_eq!(error.param.as_deref(), Some("response_format"));
        assert!(error.message.contains("crashed 2 times"), "{error}");
        assert!(quarantine.enter(&schema(2)).is_ok());
        assert!(quarantine.enter(&[]).is_ok());
    }

    #[test]
    fn one_crash_counts_once_however_many_requests_and_reports_it_had() {
        let quarantine = quarantine();
        let flights: Vec<_> = (0..3)
            .map(|_| quarantine.enter(&schema(1)).unwrap())
            .collect();
        let cut = || Error::new(Kind::UpstreamTruncated, "cut");
        assert_eq!(flights[0].explain(cut()).kind, Kind::WorkerCrashed);
        quarantine.withdrawn();
        quarantine.ended(true);
        assert_eq!(flights[1].explain(cut()).kind, Kind::WorkerCrashed);
        quarantine.started();
        assert_eq!(flights[2].explain(cut()).kind, Kind::WorkerCrashed);
        assert!(quarantine.enter(&schema(1)).is_ok());
    }

    #[test]
    fn a_request_that_broke_before_its_crash_was_seen_is_blamed_all_the_same() {
        let quarantine = quarantine();
        for _ in 0..2 {
            let flight = quarantine.enter(&schema(1)).unwrap();
            let _error = flight.explain(Error::new(Kind::WorkerCrashed, "gone"));
            drop(flight);
            crash(&quarantine);
        }
        assert!(quarantine.enter(&schema(1)).is_err());
    }

    #[test]
    fn a_complete_answer_in_between_clears_a_constraint_that_was_only_there() {
        let quarantine = quarantine();
        for _ in 0..5 {
            let bystander = quarantine.enter(&schema(1)).unwrap();
            crash(&quarantine);
            drop(bystander);
            quarantine.enter(&schema(1)).unwrap().completed();
        }
    }

    #[test]
    fn a_process_that_was_killed_from_without_blames_nobody() {
        let quarantine = quarantine();
        let cut = || Error::new(Kind::UpstreamTruncated, "cut");
        for _ in 0..5 {
            let early = quarantine.enter(&schema(1)).unwrap();
            let late = quarantine.enter(&schema(1)).unwrap();
            let _error = early.explain(cut());
            quarantine.withdrawn();
            quarantine.ended(false);
            let _error = late.explain(cut());
            quarantine.started();
        }
        assert!(quarantine.known().blamed.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_constraint_is_tried_again_after_a_while_and_has_two_crashes_again() {
        let quarantine = quarantine();
        let dies = || {
            let culprit = quarantine.enter(&schema(1)).unwrap();
            crash(&quarantine);
            drop(culprit);
        };
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
        let error = Error::new(Kind::RateLimited, "slow down");
        assert_eq!(flight.explain(error.clone()), error);
        assert!(quarantine.known().blamed.is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let quarantine = quarantine();
        for minimum in 0..2_000 {
            let _flight = quarantine.enter(&schema(minimum)).unwrap();
            quarantine.withdrawn();
            quarantine.ended(true);
        }
        let known = quarantine.known();
        assert_eq!(known.blamed.len(), MAX_BLAMED);
        assert!(known.flying.is_empty());
    }
}
