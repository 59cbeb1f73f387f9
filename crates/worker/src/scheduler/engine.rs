//! The engine: a handle that any thread may hold. Jobs go to the queue; the engine's own thread
//! sets the kernels up, steps while there is anything to do, and sleeps otherwise.

use super::EngineLimits;
use super::queue::{Phase, Queue};
use super::stats::EngineStats;
use super::step::{Scheduler, window};
use crate::job::{Event, Job};
use crate::kernel::{Kernel, KernelError, KernelLimits, Setup};
use crate::media::Sequence;
use crate::vocabulary::Vocabulary;
use isogloss_core::error::{Error, Kind};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The code that clients know for a prompt that is too long.
const TOO_LONG: &str = "context_length_exceeded";

/// Generates answers. Cloning shares it; when the last handle goes, so does the engine.
#[derive(Clone)]
pub struct Engine {
    owner: Arc<Owner>,
}

/// What the handles share.
struct Owner {
    shared: Arc<Shared>,
    vocabulary_size: usize,
    limits: KernelLimits,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread shares with them.
struct Shared {
    queue: Arc<Queue>,
    stats: Mutex<EngineStats>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("limits", &self.owner.limits)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

// === impl Engine ===

impl Engine {
    /// Starts a thread, and waits until the kernels are set up on it.
    ///
    /// # Errors
    /// The kernels cannot be set up, or no thread can be started.
    pub fn start(
        setup: Box<dyn Setup>,
        vocabulary: Vocabulary,
        limits: EngineLimits,
    ) -> Result<Self, KernelError> {
        let shared = Arc::new(Shared {
            queue: Arc::new(Queue::new(limits.queue)),
            stats: Mutex::default(),
        });
        let (ready, is_ready) = sync_channel(1);
        let vocabulary_size = vocabulary.len();
        let thread = thread::Builder::new().name("engine".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.live(setup, &vocabulary, limits, &ready)
        });
        let thread = thread.map_err(|error| KernelError::Failed(error.to_string()))?;
        let limits = is_ready.recv().unwrap_or_else(|_| {
            let message = "setting the kernels up ended before they were ready";
            Err(KernelError::Failed(message.to_owned()))
        });
        Ok(Self {
            owner: Arc::new(Owner {
                shared,
                vocabulary_size,
                limits: limits?,
                thread: Mutex::new(Some(thread)),
            }),
        })
    }

    /// Queues a job. Its first event comes when a slot is free.
    ///
    /// # Errors
    /// 400 where the prompt does not fit the model (naming numbers), 503 where the queue is full
    /// or the engine is stopping, 502 where it has failed.
    pub fn submit(&self, job: Job) -> Result<(), Error> {
        let window = window(&self.owner.limits);
        let tokens = job.prompt.len();
        if tokens == 0 {
            let message = "the prompt has no tokens: give at least one";
            return Err(Error::new(Kind::InvalidRequest, message).at("messages"));
        }
        if tokens >= window {
            return Err(too_long(window, &job.prompt));
        }
        if job.prompt.ends_with_media() {
            let message = "the prompt ends with an image or audio, behind which nothing can be \
                           answered: the chat template should end with the assistant's turn";
            return Err(Error::new(Kind::InvalidRequest, message).at("messages"));
        }
        let size = self.owner.vocabulary_size;
        if let Some(token) = job.prompt.text().find(|token| *token as usize >= size) {
            let message =
                format!("the prompt has token {token}, but this model's vocabulary has {size}");
            return Err(Error::new(Kind::InvalidRequest, message).at("prompt"));
        }
        self.owner.shared.queue.push(job)
    }

    /// What the kernels were set up for.
    #[must_use]
    pub fn limits(&self) -> KernelLimits {
        self.owner.limits
    }

    /// What it did so far, as of the last forward pass.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        let shared = &self.owner.shared;
        let mut stats = *shared.stats();
        stats.waiting += shared.queue.len();
        stats.refused = shared.queue.refused();
        stats
    }

    /// Whether it takes jobs: not so after [`Engine::stop`] or a failure that it cannot go on
    /// from.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.owner.shared.queue.phase() == Phase::Open
    }

    /// Ends it: jobs hear that the worker is shutting down, and the kernels are taken down.
    pub fn stop(self) {
        self.owner.shared.queue.close(Phase::Stopping);
        let mut thread = self
            .owner
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // A panic on the thread has been dealt with there.
            let _ = thread.join();
        }
    }
}

fn too_long(window: u32, prompt: &Sequence) -> Error {
    let tokens = prompt.len();
    let media: u32 = prompt
        .media()
        .iter()
        .map(|placed| placed.media.tokens)
        .sum();
    let media = match prompt.media().len() {
        0 => String::new(),
        count => format!(" ({media} of them for {count} images or pieces of audio)"),
    };
    let message = format!(
        "This model's maximum context length is {window} tokens. However, your request has {tokens} \
         input tokens{media}, and the answer needs at least one more. Please reduce the length of the \
         input messages."
    );
    let mut error = Error::new(Kind::InvalidRequest, message).at("messages");
    error.code = Some(TOO_LONG.to_owned());
    error
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.shared.queue.close(Phase::Stopping);
    }
}

// === impl Shared ===

impl Shared {
    fn stats(&self) -> MutexGuard<'_, EngineStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread's life.
    fn live(
        &self,
        setup: Box<dyn Setup>,
        vocabulary: &Vocabulary,
        limits: EngineLimits,
        ready: &SyncSender<Result<KernelLimits, KernelError>>,
    ) {
        let ran = std::panic::catch_unwind(AssertUnwindSafe(|| {
            setup.run(&mut |kernel| {
                // The receiver waits for just this.
                let _ = ready.send(Ok(kernel.limits()));
                self.serve(kernel, vocabulary, limits);
            })
        }));
        if let Ok(Err(error)) = ran {
            let _ = ready.send(Err(error));
        }
        self.close(Phase::Dead);
    }

    fn serve(&self, kernel: &mut dyn Kernel, vocabulary: &Vocabulary, limits: EngineLimits) {
        let queue = Arc::clone(&self.queue);
        let mut scheduler = Scheduler::new(queue, vocabulary.clone(), limits, kernel.limits());
        let ran = std::panic::catch_unwind(AssertUnwindSafe(|| {
            while !scheduler.is_broken() && self.is_wanted(&scheduler) {
                scheduler.step(kernel);
                *self.stats() = scheduler.stats();
            }
        }));
        if ran.is_err() || scheduler.is_broken() {
            tracing::error!("the engine failed: it takes no more jobs");
        }
        self.close(Phase::Dead);
        scheduler.fail_all(&self.queue.phase().error());
        *self.stats() = scheduler.stats();
    }

    /// Waits for something to do; says whether there is to be another step.
    fn is_wanted(&self, scheduler: &Scheduler) -> bool {
        if scheduler.is_idle() {
            self.queue.wait()
        } else {
            self.queue.phase() == Phase::Open
        }
    }

    /// Takes no more jobs, and tells those that wait.
    fn close(&self, phase: Phase) {
        self.queue.close(phase);
        let error = self.queue.phase().error();
        for job in self.queue.take_all() {
            let _ = job.events.try_send(Event::Failed(error.clone()));
        }
    }
}
