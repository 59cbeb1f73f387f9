//! The queue: jobs come in from any thread, first in first out and bounded; the engine's thread
//! takes them out, and sleeps while there are none.

use crate::job::Job;
use isogloss_core::error::{Error, Kind};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Seconds after which a refused client may try again.
const RETRY_AFTER_SECONDS: u64 = 1;

/// Whether jobs are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    #[default]
    Open,
    /// The engine was told to stop.
    Stopping,
    /// The engine's thread ended by itself.
    Dead,
}

#[derive(Debug)]
pub(super) struct Queue {
    most: usize,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    phase: Phase,
    refused: u64,
}

impl Phase {
    /// What a job hears that cannot be taken, or not be brought to its end.
    pub(super) fn error(self) -> Error {
        match self {
            Self::Open | Self::Stopping => {
                Error::new(Kind::ShuttingDown, "the worker is shutting down")
            }
            Self::Dead => Error::new(
                Kind::UpstreamFailed,
                "the worker's engine ended after a failure; try again when it has restarted",
            ),
        }
    }
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
            wake: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, job: Job) -> Result<(), Error> {
        let mut state = self.lock();
        if state.phase != Phase::Open {
            return Err(state.phase.error());
        }
        if state.jobs.len() >= self.most {
            state.refused += 1;
            let message = format!(
                "{} requests are waiting already, as many as the worker takes; try again later",
                self.most
            );
            return Err(Error::new(Kind::Overloaded, message).retry_after(RETRY_AFTER_SECONDS));
        }
        state.jobs.push_back(job);
        drop(state);
        self.wake.notify_one();
        Ok(())
    }

    /// The oldest job, if it passes.
    pub(super) fn pop_if(&self, passes: impl FnOnce(&Job) -> bool) -> Option<Job> {
        let mut state = self.lock();
        if !passes(state.jobs.front()?) {
            return None;
        }
        state.jobs.pop_front()
    }

    /// Takes out the jobs that nobody wants any more.
    pub(super) fn take_unwanted(&self) -> VecDeque<Job> {
        let mut state = self.lock();
        if !state.jobs.iter().any(|job| job.events.is_closed()) {
            return VecDeque::new();
        }
        let (unwanted, wanted) = std::mem::take(&mut state.jobs)
            .into_iter()
            .partition(|job| job.events.is_closed());
        state.jobs = wanted;
        // The lock is let go first: a job's matcher may take long to drop.
        unwanted
    }

    /// Sleeps until there is a job; says whether the queue is still open.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.lock();
        while state.phase == Phase::Open && state.jobs.is_empty() {
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.phase == Phase::Open
    }

    /// Takes no more jobs. The first reason stays.
    pub(super) fn close(&self, phase: Phase) {
        let mut state = self.lock();
        if state.phase == Phase::Open {
            state.phase = phase;
        }
        drop(state);
        self.wake.notify_all();
    }

    pub(super) fn phase(&self) -> Phase {
        self.lock().phase
    }

    pub(super) fn take_all(&self) -> VecDeque<Job> {
        std::mem::take(&mut self.lock().jobs)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    pub(super) fn refused(&self) -> u64 {
        self.lock().refused
    }
}
