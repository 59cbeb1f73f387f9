//! Replies that are kept for later requests, with what was asked: bounded, for a time, each for whoever asked.
//!
//! One thread owns the database and does one thing after the other, so that what was kept is found by whoever asks
//! next. Nobody waits for a write: a request takes its place in the queue before it is sent on, so there is room for
//! its reply.

mod database;

use crate::config::{ResponsesConfig, StorePlace};
use crate::telemetry::{Metrics, StoreWork};
use bytes::Bytes;
use database::{Database, Row};
use isogloss_core::dialect::keeper::{Keeper, Kept};
use std::fmt;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How often what has expired is looked for while nobody asks anything.
const SWEEP: Duration = Duration::from_secs(60);

/// Replies that are on their way at once, and as many questions.
const MAX_PLACES: usize = 1 << 16;

/// Who may read what is kept: a hash of the key that a request came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner([u8; 32]);

/// Why the store cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite says no.
    #[error("the database cannot be used")]
    Database(#[from] rusqlite::Error),
    /// The file is another program's, or of a later version of this one.
    #[error("the file is no store of this program's version")]
    NotOurs,
    /// The file cannot be made, or the thread cannot be started.
    #[error("the store cannot be set up")]
    Io(#[from] std::io::Error),
    /// The thread has ended: a defect.
    #[error("the store has ended")]
    Ended,
    /// One reply is larger than all that may be kept.
    #[error("a response is larger than responses.bytes")]
    TooLarge,
    /// The conversation is longer than a request may be.
    #[error("the conversation is too long")]
    TooLong,
}

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

enum Job {
    Keep(Box<Record>, OwnedSemaphorePermit),
    Find(Owner, String, Answer<Option<Kept>>),
    Chain(Owner, String, usize, Answer<Option<Vec<Kept>>>),
    Delete(Owner, String, Answer<bool>),
}

/// What is kept.
#[derive(Debug)]
pub struct Record {
    /// Whose it is.
    pub owner: Owner,
    /// Whose dialect it is of.
    pub keeper: &'static dyn Keeper,
    /// The reply that its request went on from.
    pub previous: Option<String>,
    /// The request as it came.
    pub body: Bytes,
    /// The reply as it was written.
    pub reply: Vec<u8>,
}

/// The store.
pub struct Store {
    jobs: Option<mpsc::SyncSender<Job>>,
    /// For replies, and for questions: the queue has room for all of both.
    places: Arc<Semaphore>,
    questions: Semaphore,
    /// Hashes keys, so that the file tells nobody which they were.
    salt: ring::hmac::Key,
    metrics: Arc<Metrics>,
    thread: Option<JoinHandle<()>>,
}

/// A store that is there once it is needed, where nobody asked for one: most are never, and each takes 1.5 MiB.
#[derive(Debug)]
pub struct Shelf {
    store: OnceLock<Option<Arc<Store>>>,
    limits: ResponsesConfig,
    writers: usize,
    metrics: Arc<Metrics>,
}

impl Shelf {
    /// Opens a store that somebody asked for; as many `writers` as [`Store::open`] has.
    ///
    /// # Errors
    /// Its file cannot be used.
    pub fn new(
        limits: &ResponsesConfig,
        writers: usize,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, StoreError> {
        let store = OnceLock::new();
        match &limits.store {
            StorePlace::Auto => {}
            StorePlace::Nowhere => drop(store.set(None)),
            StorePlace::Memory | StorePlace::File(_) => {
                let opened = Store::open(&limits.store, limits, writers, metrics)?;
                drop(store.set(Some(Arc::new(opened))));
            }
        }
        Ok(Self {
            store,
            limits: limits.clone(),
            writers,
            metrics: Arc::clone(metrics),
        })
    }

    /// The store; none where nothing is to be kept, or where it could not be opened, which was said then.
    pub fn store(&self) -> Option<&Arc<Store>> {
        let open = || {
            let place = &self.limits.store;
            let opened = Store::open(place, &self.limits, self.writers, &self.metrics);
            let failed = |error: &StoreError| tracing::error!(%error, "no response is stored");
            opened.inspect_err(failed).ok().map(Arc::new)
        };
        self.store.get_or_init(open).as_ref()
    }
}

/// A place in the queue.
#[derive(Debug)]
pub struct Ticket(OwnedSemaphorePermit);

impl Store {
    /// Opens it. At most `writers` replies are on their way into it at once.
    ///
    /// # Errors
    /// The file cannot be used.
    pub fn open(
        place: &StorePlace,
        limits: &ResponsesConfig,
        writers: usize,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, StoreError> {
        let mut database = Database::open(place, limits)?;
        let salt = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &database.salt()?);
        let most = writers.clamp(1, MAX_PLACES);
        let (jobs, queue) = mpsc::sync_channel(2 * most);
        let thread = std::thread::Builder::new().name("store".to_owned());
        metrics.store_opened();
        let counted = Arc::clone(metrics);
        let thread = thread.spawn(move || work(&mut database, &queue, &counted))?;
        Ok(Self {
            jobs: Some(jobs),
            places: Arc::new(Semaphore::new(most)),
            questions: Semaphore::new(most),
            salt,
            metrics: Arc::clone(metrics),
            thread: Some(thread),
        })
    }

    /// Who has this key; all who have none are one.
    #[must_use]
    pub fn owner(&self, key: &[u8]) -> Owner {
        let tag = ring::hmac::sign(&self.salt, key);
        let mut owner = [0; 32];
        for (place, byte) in owner.iter_mut().zip(tag.as_ref()) {
            *place = *byte;
        }
        Owner(owner)
    }

    /// A place for a reply that is still to come. Waits where as many are on their way as there is room for.
    ///
    /// # Errors
    /// The store has ended.
    pub async fn ticket(&self) -> Result<Ticket, StoreError> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.map(Ticket).map_err(|_closed| StoreError::Ended)
    }

    /// Keeps a reply. Does not wait for it.
    pub fn keep(&self, ticket: Ticket, record: Record) {
        let told = self.tell(Job::Keep(Box::new(record), ticket.0));
        noted(&self.metrics, StoreWork::Write, told);
    }

    /// A reply and what it was asked with.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn find(&self, owner: Owner, id: &str) -> Result<Option<Kept>, StoreError> {
        let found = self.ask(|answer| Job::Find(owner, id.to_owned(), answer));
        self.counted(StoreWork::Read, found.await)
    }

    /// The conversation up to a reply, from its beginning on; none where any of it is missing. `most` bounds its bytes.
    ///
    /// # Errors
    /// The database cannot be read, or there is more of it.
    pub async fn chain(
        &self,
        owner: Owner,
        id: &str,
        most: usize,
    ) -> Result<Option<Vec<Kept>>, StoreError> {
        let found = self.ask(|answer| Job::Chain(owner, id.to_owned(), most, answer));
        self.counted(StoreWork::Read, found.await)
    }

    /// Keeps a reply no more; says whether it was there.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn delete(&self, owner: Owner, id: &str) -> Result<bool, StoreError> {
        let gone = self.ask(|answer| Job::Delete(owner, id.to_owned(), answer));
        self.counted(StoreWork::Delete, gone.await)
    }

    /// Counts a failure that a request is told of; that a conversation is too long is none.
    fn counted<T>(&self, work: StoreWork, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if done
            .as_ref()
            .is_err_and(|error| !matches!(error, StoreError::TooLong))
        {
            self.metrics.store_failed(work);
        }
        done
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, StoreError> {
        let asked = self.questions.acquire().await;
        let _asked = asked.map_err(|_closed| StoreError::Ended)?;
        let (answer, answered) = oneshot::channel();
        self.tell(job(answer))?;
        answered.await.map_err(|_dropped| StoreError::Ended)?
    }

    fn tell(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.as_ref().ok_or(StoreError::Ended)?;
        jobs.try_send(job).map_err(|_gone| StoreError::Ended)
    }
}

impl Drop for Store {
    /// What is in the queue is still written.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // It has told of its panic already.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}

fn work(database: &mut Database, queue: &mpsc::Receiver<Job>, metrics: &Metrics) {
    loop {
        match queue.recv_timeout(SWEEP) {
            Ok(job) => run(database, job, metrics),
            Err(RecvTimeoutError::Timeout) => {
                noted(metrics, StoreWork::Sweep, database.sweep(now()));
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn run(database: &mut Database, job: Job, metrics: &Metrics) {
    match job {
        Job::Keep(record, place) => {
            // What takes time is done here, where no stream waits for it.
            if let Some(id) = record.keeper.id(&record.reply) {
                let input = record.keeper.input(&record.body, &id);
                let Record {
                    owner,
                    previous,
                    reply,
                    ..
                } = *record;
                let kept = Kept { input, reply };
                let row = Row {
                    owner,
                    id,
                    previous,
                    kept,
                };
                noted(metrics, StoreWork::Write, database.keep(&row, now()));
            }
            drop(place);
        }
        // Whoever asked may be gone.
        Job::Find(owner, id, answer) => drop(answer.send(database.find(owner, &id, now()))),
        Job::Chain(owner, id, most, answer) => {
            drop(answer.send(database.chain(owner, &id, most, now())));
        }
        Job::Delete(owner, id, answer) => drop(answer.send(database.delete(owner, &id))),
    }
}

/// Counts a failure that no request is told of, and says it.
fn noted(metrics: &Metrics, work: StoreWork, done: Result<(), StoreError>) {
    if let Err(error) = done {
        metrics.store_failed(work);
        let why = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(%error, why, work = work.as_str(), "a response is not stored, or not given up");
    }
}
