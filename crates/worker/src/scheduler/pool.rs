//! The pool: decoders with work come in; they come back with what came of it. Its threads run
//! beside the forward pass and live as long as the engine; one whose work does not come back is
//! stood in for, so that nobody else waits for it.

use super::decoder::{Choice, Decoder, Halt, Outcome, Work};
use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Grammar engines recurse over what they were compiled from.
const STACK_BYTES: usize = 16 << 20;
/// Threads that may be lost to work that does not come back. With one more the engine is broken:
/// only with their process do they end.
const MAX_LOST: usize = 16;

/// Work on its way to a thread.
pub(super) struct Task {
    /// Whose.
    pub(super) id: u64,
    pub(super) decoder: Decoder,
    pub(super) work: Work,
}

/// Work on its way back.
pub(super) struct Done {
    pub(super) id: u64,
    /// `None`: it was lost in a panic.
    pub(super) decoder: Option<Decoder>,
    pub(super) outcome: Outcome,
    /// The buffer that came with the work.
    pub(super) logits: Option<Vec<f32>>,
}

pub(super) struct Pool {
    shared: Arc<Shared>,
    threads: usize,
    /// Here the threads get theirs from, and work that no thread is there for.
    results: Sender<Done>,
    done: Receiver<Done>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Tokens to be chosen, and answers to begin: the next forward pass waits for these.
    urgent: VecDeque<Task>,
    /// Masks.
    rest: VecDeque<Task>,
    /// What threads are at, each with whose it is and since when.
    running: Vec<(u64, Instant)>,
    /// Threads whose work was given up, and goes on.
    lost: usize,
    is_broken: bool,
    is_closed: bool,
}

impl Pool {
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::<Shared>::default();
        #[expect(
            clippy::disallowed_methods,
            reason = "as many results as tasks, of which each answer has one at a time; sending must not wait"
        )]
        let (results, done) = channel();
        let spawned = (0..threads).filter(|_| Shared::spawn(&shared, &results));
        Self {
            threads: spawned.count(),
            shared,
            results,
            done,
        }
    }

    /// Whether it has no threads: work is done where it is sent.
    pub(super) fn is_empty(&self) -> bool {
        self.threads == 0
    }

    pub(super) fn send(&self, task: Task) {
        if self.threads == 0 {
            // The receiver is this pool's own.
            let _ = self.results.send(task.run());
            return;
        }
        let mut state = self.shared.lock();
        match task.work {
            Work::Mask { .. } => state.rest.push_back(task),
            Work::Begin { .. } | Work::Choose { .. } => state.urgent.push_back(task),
        }
        drop(state);
        self.shared.work.notify_one();
    }

    /// Whose work a thread has been at for longer than this: it is given up, and another thread
    /// stands in. Work that only waits for a thread is not late.
    pub(super) fn give_up(&self, patience: Duration) -> Vec<u64> {
        let mut state = self.shared.lock();
        let is_late = |(_, since): &(u64, Instant)| since.elapsed() > patience;
        let late: Vec<_> = state.running.extract_if(.., |at| is_late(at)).collect();
        for _ in &late {
            state.lost += 1;
            state.is_broken |= state.lost > MAX_LOST || !Shared::spawn(&self.shared, &self.results);
        }
        late.into_iter().map(|(id, _)| id).collect()
    }

    /// Whether work may wait for ever: too many threads were lost.
    pub(super) fn is_broken(&self) -> bool {
        self.shared.lock().is_broken
    }

    /// What is done already.
    pub(super) fn try_receive(&self) -> Option<Done> {
        self.done.try_recv().ok()
    }

    /// What is done next. The calling thread chooses tokens itself rather than wait for that, but
    /// never begins an answer: that is when a grammar engine does most of what it put off.
    pub(super) fn receive(&self, within: Duration) -> Option<Done> {
        if let Some(done) = self.try_receive() {
            return Some(done);
        }
        match self.shared.take_choice() {
            Some(task) => Some(task.run()),
            None => self.done.recv_timeout(within).ok(),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        let left = (
            std::mem::take(&mut state.urgent),
            std::mem::take(&mut state.rest),
        );
        drop(state);
        drop(left);
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_choice(&self) -> Option<Task> {
        let mut state = self.lock();
        // Where there is a draft masks are computed between the tokens, which takes its time.
        let is_choice = |task: &Task| matches!(&task.work, Work::Choose { choice, .. } if choice.draft.is_empty());
        let at = state.urgent.iter().position(is_choice)?;
        state.urgent.remove(at)
    }

    /// Starts a thread, and says whether it did.
    fn spawn(shared: &Arc<Self>, results: &Sender<Done>) -> bool {
        let (shared, results) = (Arc::clone(shared), results.clone());
        thread::Builder::new()
            .name("masks".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || shared.work(&results))
            .is_ok()
    }

    /// A thread's life.
    fn work(&self, results: &Sender<Done>) {
        let mut state = self.lock();
        while !state.is_closed {
            let task = state.urgent.pop_front();
            let Some(task) = task.or_else(|| state.rest.pop_front()) else {
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let id = task.id;
            state.running.push((id, Instant::now()));
            drop(state);
            let done = task.run();
            state = self.lock();
            // An answer has one decoder, so its number is here once.
            match state.running.iter().position(|(other, _)| *other == id) {
                Some(at) => drop(state.running.swap_remove(at)),
                None => {
                    // Another thread stands in already, and nobody waits for this.
                    state.lost -= 1;
                    return;
                }
            }
            drop(state);
            if results.send(done).is_err() {
                return;
            }
            state = self.lock();
        }
    }
}

/// Chooses tokens on the calling thread, from logits that are not its own. `row`: those behind the
/// last token, and behind each of the draft.
pub(super) fn choose_here<'l>(
    id: u64,
    mut decoder: Decoder,
    row: impl Fn(usize) -> &'l [f32],
    choice: &Choice,
) -> Done {
    let ran = std::panic::catch_unwind(AssertUnwindSafe(|| decoder.follow(row, choice)));
    let outcome = ran.map(|chosen| chosen.map_or_else(Outcome::Halted, Outcome::Advanced));
    Done::new(id, decoder, outcome.ok())
}

impl Task {
    /// Does the work. A panic of the grammar engine costs this decoder alone.
    fn run(self) -> Done {
        let Self {
            id,
            mut decoder,
            work,
        } = self;
        let ran = std::panic::catch_unwind(AssertUnwindSafe(|| decoder.run(&work)));
        let mut done = Done::new(id, decoder, ran.ok());
        if let Work::Choose { logits, .. } = work {
            done.logits = Some(logits);
        }
        done
    }
}

impl Done {
    /// `outcome`: `None` where it panicked.
    fn new(id: u64, decoder: Decoder, outcome: Option<Outcome>) -> Self {
        let decoder = if outcome.is_some() {
            Some(decoder)
        } else {
            // What a panic left behind may panic again when it is dropped.
            let _ = std::panic::catch_unwind(AssertUnwindSafe(|| drop(decoder)));
            None
        };
        Self {
            id,
            decoder,
            outcome: outcome.unwrap_or(Outcome::Halted(Halt::Panicked)),
            logits: None,
        }
    }
}
