//! The pool: jobs come in; each runs on one of a few threads with a big stack, or hears that it
//! is late. Threads start when the first job comes.

use super::lock;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What the pool may use.
#[derive(Debug, Clone)]
pub(super) struct PoolLimits {
    pub(super) threads: usize,
    pub(super) stack_bytes: usize,
    pub(super) queue: usize,
    pub(super) start_within: Duration,
    pub(super) end_within: Duration,
}

/// Which limit a job is past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// It was dropped: no thread was free in time.
    ToStart,
    /// It runs on: a thread cannot be stopped from outside.
    ToEnd,
}

/// Work, and whom to tell when it is late. Neither may own the pool: they are dropped under its
/// lock.
pub(super) struct Job {
    pub(super) run: Box<dyn FnOnce() + Send>,
    pub(super) late: Box<dyn FnOnce(Late) + Send>,
}

/// Threads and their queue.
#[derive(Debug)]
pub(super) struct Pool {
    inner: Arc<Inner>,
}

struct Inner {
    limits: PoolLimits,
    state: Mutex<State>,
    /// A job waits, or the pool is closed.
    work: Condvar,
    /// The earliest deadline may have changed.
    clock: Condvar,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

type LateHook = Box<dyn FnOnce(Late) + Send>;

#[derive(Default)]
struct State {
    queue: VecDeque<(Instant, Job)>,
    /// Jobs that run and are in time: number, deadline, whom to tell.
    running: Vec<(u64, Instant, LateHook)>,
    next: u64,
    threads: usize,
    idle: usize,
    /// Jobs that run and are past their time.
    stuck: usize,
    has_clock: bool,
    closed: bool,
}

impl Pool {
    pub(super) fn new(limits: PoolLimits) -> Self {
        let inner = Inner {
            limits,
            state: Mutex::default(),
            work: Condvar::new(),
            clock: Condvar::new(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Queues a job, or gives it back where the queue is full or no thread can be started.
    pub(super) fn submit(&self, job: Job) -> Result<(), Job> {
        let mut state = lock(&self.inner.state);
        if state.queue.len() >= self.inner.limits.queue {
            return Err(job);
        }
        if state.idle <= state.queue.len() && state.threads < self.inner.limits.threads {
            Inner::add_thread(&self.inner, &mut state);
        }
        if !state.has_clock {
            state.has_clock = Inner::start_clock(&self.inner);
        }
        if state.threads == 0 || !state.has_clock {
            return Err(job);
        }
        let start_by = Instant::now() + self.inner.limits.start_within;
        state.queue.push_back((start_by, job));
        drop(state);
        self.inner.work.notify_one();
        self.inner.clock.notify_one();
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.inner.state).closed = true;
        self.inner.work.notify_all();
        self.inner.clock.notify_all();
    }
}

impl Inner {
    fn add_thread(inner: &Arc<Self>, state: &mut State) {
        let own = Arc::clone(inner);
        let thread = thread::Builder::new()
            .name("compile".to_owned())
            .stack_size(inner.limits.stack_bytes)
            .spawn(move || own.work());
        state.threads += usize::from(thread.is_ok());
    }

    fn start_clock(inner: &Arc<Self>) -> bool {
        let own = Arc::clone(inner);
        thread::Builder::new()
            .name("compile-clock".to_owned())
            .spawn(move || Self::watch(&own))
            .is_ok()
    }

    /// A thread's life.
    fn work(&self) {
        let mut state = lock(&self.state);
        loop {
            // A thread that stood in for a stuck one goes when that is back.
            if state.closed && state.queue.is_empty() || state.threads > self.most(&state) {
                state.threads -= 1;
                return;
            }
            let Some((_, job)) = state.queue.pop_front() else {
                state.idle += 1;
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            let number = state.next;
            state.next += 1;
            let end_by = Instant::now() + self.limits.end_within;
            state.running.push((number, end_by, job.late));
            drop(state);
            self.clock.notify_one();
            // The job catches what it can; this keeps the count of threads right if it does not.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job.run));
            state = lock(&self.state);
            match state
                .running
                .iter()
                .position(|(other, ..)| *other == number)
            {
                Some(at) => drop(state.running.swap_remove(at)),
                None => state.stuck -= 1,
            }
        }
    }

    /// Threads allowed now: the configured number, and a stand-in for each that is past its time,
    /// up to as many again.
    fn most(&self, state: &State) -> usize {
        self.limits.threads + state.stuck.min(self.limits.threads)
    }

    /// The clock's life: it tells jobs that they are late.
    fn watch(inner: &Arc<Self>) {
        let mut state = lock(&inner.state);
        loop {
            let now = Instant::now();
            let mut late: Vec<(LateHook, Late)> = Vec::new();
            while state
                .queue
                .front()
                .is_some_and(|(start_by, _)| *start_by <= now)
            {
                if let Some((_, job)) = state.queue.pop_front() {
                    late.push((job.late, Late::ToStart));
                }
            }
            while let Some(at) = state
                .running
                .iter()
                .position(|(_, end_by, _)| *end_by <= now)
            {
                late.push((state.running.swap_remove(at).2, Late::ToEnd));
                state.stuck += 1;
                if state.threads < inner.most(&state) {
                    Self::add_thread(inner, &mut state);
                }
            }
            if !late.is_empty() {
                drop(state);
                late.into_iter().for_each(|(hook, late)| hook(late));
                state = lock(&inner.state);
                continue;
            }
            if state.closed {
                return;
            }
            let starts = state.queue.front().map(|(start_by, _)| *start_by);
            let ends = state.running.iter().map(|(_, end_by, _)| *end_by);
            state = match starts.into_iter().chain(ends).min() {
                None => inner
                    .clock
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(next) => {
                    let wait = next.saturating_duration_since(now);
                    let woken = inner.clock.wait_timeout(state, wait);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}
