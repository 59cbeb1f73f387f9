//! A clock beside llguidance: what runs comes in; what runs for too long is told to stop.
//!
//! Its own limits count regexes and items, not time: a grammar that forces `a` for ever, as
//! `/a+/ "a"` does to a lexer that never goes back, is followed for ever, and written down.

use ::llguidance::CancellationHandle;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How long one step of one answer may take: twenty times the slowest mask of 1.8 million.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the clock looks.
const TICK: Duration = Duration::from_millis(250);

/// Steps that run now.
#[derive(Default)]
pub(super) struct Watch {
    steps: Mutex<Steps>,
    closed: Condvar,
}

#[derive(Default)]
struct Steps {
    running: HashMap<u64, (Instant, CancellationHandle)>,
    next: u64,
    is_closed: bool,
}

/// The end of the watch; the clock's thread ends with it.
pub(super) struct Closes(Arc<Watch>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.closed.notify_all();
    }
}

/// A step that runs.
pub(super) struct Running<'w> {
    watch: &'w Watch,
    number: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.watch.lock().running.remove(&self.number);
    }
}

impl Watch {
    /// A watch and its clock. `None` where no thread can be started.
    pub(super) fn start() -> Option<Closes> {
        let watch = Arc::new(Self::default());
        let clock = Arc::downgrade(&watch);
        let thread = thread::Builder::new().name("mask-clock".to_owned());
        thread.spawn(move || Self::tick(&clock)).ok()?;
        Some(Closes(watch))
    }

    fn lock(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(clock: &Weak<Self>) {
        while let Some(watch) = clock.upgrade() {
            let steps = watch.lock();
            let waited = watch.closed.wait_timeout(steps, TICK);
            let (steps, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if steps.is_closed {
                return;
            }
            let late = |(begin, _): &&(Instant, _)| begin.elapsed() > PATIENCE;
            for (_, handle) in steps.running.values().filter(late) {
                handle.cancel();
            }
        }
    }
}

impl Closes {
    /// Watches a step until what is given back is dropped.
    pub(super) fn step(&self, handle: &CancellationHandle) -> Running<'_> {
        let mut steps = self.0.lock();
        let number = steps.next;
        steps.next += 1;
        steps
            .running
            .insert(number, (Instant::now(), handle.clone()));
        Running {
            watch: &self.0,
            number,
        }
    }
}
