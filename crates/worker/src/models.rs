//! Settings come in; models that are ready to answer go out, one loaded at a time.
//!
//! Of a folder, the model that a request names takes the place of the one before as soon as no
//! answer of that is under way. Requests wait in the order in which they came; when a model is
//! there, all that wait for it go on together, so that two models asked for in turn are not
//! loaded for each request anew.
//!
//! A model that cannot be loaded costs the one before as little as can be: its file is looked at first, and where
//! there is memory for both, the one before goes when the next is there.

mod load;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests;
mod turns;

use super::builtin::{self, Builtin};
use super::grammars::Grammars;
use super::metrics::Metrics;
use super::model::{About, Loader, ModelFile, Place, list};
use super::prompt::Prompter;
use super::scheduler::Engine;
use super::vocabulary::{Token, Vocabulary};
use super::watchdog::Watchdog;
use crate::options::{ModelSource, Options, ProjectorSource};
use isogloss_core::error::{Error, Kind};
use std::fmt;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};
use turns::{Next, Turns};

/// Bytes of a chat template of the operator's.
const MAX_TEMPLATE_BYTES: u64 = 1 << 20;

/// A model that is ready to answer.
#[derive(Debug)]
pub struct Model {
    /// Its name for clients.
    pub name: String,
    /// Its tokens.
    pub vocabulary: Vocabulary,
    /// Those of them that stand around calls, in whatever markup.
    pub call_tokens: Vec<Token>,
    /// Makes its prompts.
    pub prompter: Prompter,
    /// Compiles constraints for it.
    pub grammars: Grammars,
    /// Generates.
    pub engine: Engine,
    /// Knows which calls of native code are under way.
    pub watchdog: Arc<Watchdog>,
    /// What it is.
    pub about: About,
    /// Changes where answers of the same seed may.
    pub fingerprint: String,
}

/// What is told while models are loaded.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// A model is being loaded.
    Loading {
        /// Its name.
        model: String,
        /// From 0 to 1.
        progress: f32,
    },
    /// It cannot be.
    Failed {
        /// Why, for people.
        message: String,
    },
}

/// Hears it; called from any thread.
pub type Tell = Box<dyn Fn(Told) + Send + Sync>;

/// The models of this worker. Cloning shares them.
#[derive(Clone)]
pub struct Models {
    shared: Arc<Shared>,
}

struct Shared {
    options: Options,
    files: Vec<ModelFile>,
    /// Kept as long as it may be loaded.
    _builtin: Option<Builtin>,
    template: Option<String>,
    loader: Loader,
    tell: Tell,
    metrics: Arc<Metrics>,
    watchdog: Arc<Watchdog>,
    state: Mutex<State>,
    /// What is being loaded is to be given up.
    is_stopping: AtomicBool,
    /// The engine of a model failed for good.
    broken: Notify,
}

#[derive(Default)]
struct State {
    turns: Turns<oneshot::Sender<Result<Lease, Error>>>,
    loaded: Option<Arc<Model>>,
    /// Who loads one, or has.
    loading: Option<JoinHandle<()>>,
    /// From 0 to 1, while the first model is loaded.
    progress: f32,
    was_ready: bool,
}

/// A model that stays loaded as long as this lives.
pub struct Lease {
    /// None where it does not count as at work.
    models: Option<Models>,
    model: Arc<Model>,
}

impl Deref for Lease {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.model
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.model.name).finish()
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models")
            .field("files", &self.shared.files)
            .finish_non_exhaustive()
    }
}

/// Whether requests are taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Health {
    /// They are.
    Ready,
    /// The only model is being loaded.
    Loading {
        /// From 0 to 1.
        progress: f32,
    },
}

// === impl Models ===

impl Models {
    /// The models that the settings name. Nothing is loaded yet.
    ///
    /// # Errors
    /// What cannot be used, for people.
    pub fn open(
        options: &Options,
        loader: Loader,
        tell: Tell,
        metrics: Arc<Metrics>,
    ) -> Result<Self, String> {
        let source = &options.model;
        let (mut files, builtin) = match source {
            ModelSource::Path(path) => (list(path).map_err(|error| error.to_string())?, None),
            ModelSource::Builtin => {
                let opened = builtin::open()
                    .map_err(|error| format!("the built-in model cannot be opened: {error}"))?;
                (vec![opened.file()], Some(opened))
            }
        };
        match (&options.name, files.as_mut_slice()) {
            (Some(name), [only]) => only.name.clone_from(name),
            (Some(_), _) => {
                return Err(format!(
                    "--model-name names one model, but {source} has {}: leave it out, or give \
                     --model one file",
                    files.len()
                ));
            }
            (None, _) => {}
        }
        if let (ProjectorSource::Path(path), 2..) = (&options.mmproj, files.len()) {
            return Err(format!(
                "--mmproj {} is for one model, but {source} has {}: leave it out, so that each \
                 model gets the one that is named after it",
                path.display(),
                files.len()
            ));
        }
        let template = options.chat_template.as_deref().map(read_template);
        Ok(Self {
            shared: Arc::new(Shared {
                options: options.clone(),
                files,
                _builtin: builtin,
                template: template.transpose()?,
                loader,
                tell,
                metrics,
                watchdog: Arc::default(),
                state: Mutex::default(),
                is_stopping: AtomicBool::new(false),
                broken: Notify::new(),
            }),
        })
    }

    /// Loads the model where there is only one; several are loaded when they are asked for.
    ///
    /// # Errors
    /// Why it cannot be loaded, for clients; people were told more.
    pub async fn start(&self) -> Result<Option<Lease>, Error> {
        if !self.is_single() {
            self.state().was_ready = true;
            return Ok(None);
        }
        self.turn(0).await.map(Some)
    }

    /// The model of this name, once it is loaded; the only one there is for an empty name.
    ///
    /// # Errors
    /// 404 for an unknown name, 503 where it is not ready, or too many wait.
    pub async fn lease(&self, name: &str) -> Result<Lease, Error> {
        let index = self.find(name)?;
        if let Health::Loading { .. } = self.health() {
            let message = "the model is being loaded: try again in a moment";
            return Err(Error::new(Kind::ModelLoading, message).retry_after(1));
        }
        let lease = self.turn(index).await?;
        if !lease.engine.is_alive() {
            self.shared.broken.notify_one();
        }
        Ok(lease)
    }

    /// Waits until an engine has failed for good.
    pub async fn broken(&self) {
        self.shared.broken.notified().await;
    }

    /// Who knows which calls of native code are under way.
    #[must_use]
    pub fn watchdog(&self) -> &Arc<Watchdog> {
        &self.shared.watchdog
    }

    /// Whether requests are taken.
    #[must_use]
    pub fn health(&self) -> Health {
        let state = self.state();
        match state.was_ready {
            true => Health::Ready,
            false => Health::Loading {
                progress: state.progress,
            },
        }
    }

    /// The names of all models, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shared.files.iter().map(|file| file.name.as_str())
    }

    /// The model that is loaded now.
    #[must_use]
    pub fn loaded(&self) -> Option<Arc<Model>> {
        self.state().loaded.clone()
    }

    /// The template that a model's conversations are rendered by, where there is one.
    #[must_use]
    pub fn template<'a>(&'a self, model: &'a Model) -> Option<&'a str> {
        let own = self.shared.template.as_deref();
        own.or(model.about.chat_template.as_deref())
    }

    /// Ends the engine: what runs hears that the worker is shutting down. A model that is being loaded is given up.
    /// Blocks for a forward pass, or for the rest of a step of loading: native code that still ran while the process ends
    /// would find its own library taken down (with CUDA, an abort).
    pub fn stop(&self) {
        self.shared.is_stopping.store(true, Ordering::Release);
        let loading = self.state().loading.take();
        if let Some(loading) = loading {
            // A panic on the thread has been dealt with there.
            let _ = loading.join();
        }
        if let Some(model) = self.loaded() {
            model.engine.clone().stop();
        }
    }

    fn is_single(&self) -> bool {
        self.shared.files.len() == 1
    }

    fn find(&self, name: &str) -> Result<usize, Error> {
        let is_only = name.is_empty() && self.is_single();
        let found = self.names().position(|known| known == name || is_only);
        found.ok_or_else(|| {
            let shown: String = name.chars().take(200).collect();
            let known: Vec<String> = self.names().map(|name| format!("`{name}`")).collect();
            let message = format!(
                "there is no model `{shown}`: set `model` to one of {}",
                known.join(", ")
            );
            Error::new(Kind::ModelNotFound, message).at("model")
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What it guards is whole after each statement.
        let state = &self.shared.state;
        state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn(&self, index: usize) -> Result<Lease, Error> {
        let (answer, lease) = oneshot::channel();
        {
            let mut state = self.state();
            // Those who went away need no place.
            state.turns.retain(|waiting| !waiting.is_closed());
            if state.turns.waiting() >= self.shared.options.queue.max(1) {
                let message = "too many requests wait for another model: try again";
                return Err(Error::new(Kind::Overloaded, message).retry_after(1));
            }
            state.turns.ask(index, answer);
        }
        self.advance();
        let gone = || Error::new(Kind::ShuttingDown, "the worker is shutting down");
        lease.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Lets go on who can. Leases are handed over without the lock: one that nobody takes is
    /// dropped, which takes it.
    fn advance(&self) {
        // No model is loaded for somebody who went away meanwhile.
        let mut state = self.state();
        state.turns.retain(|waiting| !waiting.is_closed());
        drop(state);
        loop {
            let mut state = self.state();
            match state.turns.next() {
                Next::Wait => return,
                Next::Admit(answer) => {
                    let model = state.loaded.clone();
                    drop(state);
                    // There is a model wherever somebody is admitted.
                    if let Some(model) = model {
                        let models = Some(self.clone());
                        if let Err(Ok(mut lease)) = answer.send(Ok(Lease { models, model })) {
                            // Its own end would come back here, as deep as many went away.
                            lease.models = None;
                            self.state().turns.leave();
                        }
                    }
                }
                Next::Load(index) => {
                    drop(state);
                    self.begin(index);
                }
            }
        }
    }

    /// Loads a model in place of the one before, on a thread of its own: a lease may end on any
    /// thread, the engine's too.
    fn begin(&self, index: usize) {
        let models = self.clone();
        let thread = std::thread::Builder::new().name("load".to_owned());
        match thread.spawn(move || models.swap(index)) {
            Ok(loading) => self.state().loading = Some(loading),
            Err(error) => self.settle(index, Err(format!("no thread can be started: {error}"))),
        }
    }

    fn swap(&self, index: usize) {
        let begin = Instant::now();
        let loading = || self.load(index);
        // A defect met while loading must not leave those who wait without an answer.
        let loaded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(loading))
            .unwrap_or_else(|_| Err("loading the model failed".to_owned()));
        self.settle(index, loaded.map(|model| (model, begin.elapsed())));
        self.advance();
    }

    /// Loads a model. The one before makes room for it where there is not enough for both.
    fn load(&self, index: usize) -> Result<Model, String> {
        let options = load::options(&self.shared, index);
        if let Some(before) = self.loaded() {
            let place = (self.shared.loader.look)(&options, &before.about);
            let place = place.map_err(|error| error.to_string())?;
            drop(before);
            if place == Place::Instead {
                self.unload();
            }
        }
        load::load(self, index, &options)
    }

    /// Takes the model that is loaded out of memory. Nobody is at work with it.
    fn unload(&self) {
        let Some(before) = self.loaded() else { return };
        let engine = before.engine.clone();
        engine.clone().stop();
        let mut state = self.state();
        state.loaded = None;
        state.turns.gone();
        drop(state);
        self.shared.metrics.unloaded(&engine.stats());
        tracing::info!(model = before.name, "unloaded");
    }

    /// Notes how loading ended.
    fn settle(&self, index: usize, loaded: Result<(Model, Duration), String>) {
        let refused = match loaded {
            Ok((model, took)) => {
                let seconds = took.as_secs_f64();
                self.unload();
                self.shared.metrics.loaded(seconds);
                tracing::info!(model = model.name, seconds, "loaded");
                let mut state = self.state();
                state.was_ready = true;
                state.loaded = Some(Arc::new(model));
                state.turns.loaded(index);
                Vec::new()
            }
            Err(_) if self.is_stopping() => {
                let model = &self.shared.files[index].name;
                tracing::info!(model, "loading was given up");
                // Who waits hears of the end when nobody is left to answer.
                drop(self.state().turns.failed(index));
                Vec::new()
            }
            Err(message) => {
                tracing::error!(message, "a model cannot be loaded");
                (self.shared.tell)(Told::Failed { message });
                self.state().turns.failed(index)
            }
        };
        for answer in refused {
            let name = &self.shared.files[index].name;
            let message = format!("the model `{name}` cannot be loaded: the worker's log says why");
            let _ = answer.send(Err(Error::new(Kind::Internal, message).at("model")));
        }
    }

    /// Tells how much is loaded, and whether to go on.
    fn progress(&self, index: usize, progress: f32) -> bool {
        let model = self.shared.files[index].name.clone();
        self.state().progress = progress;
        (self.shared.tell)(Told::Loading { model, progress });
        !self.is_stopping()
    }

    fn is_stopping(&self) -> bool {
        self.shared.is_stopping.load(Ordering::Acquire)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(models) = self.models.take() {
            models.state().turns.leave();
            models.advance();
        }
    }
}

fn read_template(path: &Path) -> Result<String, String> {
    let refused =
        |why: &dyn fmt::Display| Err(format!("--chat-template {}: {why}", path.display()));
    match std::fs::metadata(path) {
        Ok(about) if about.len() > MAX_TEMPLATE_BYTES => {
            refused(&format!("it has more than {MAX_TEMPLATE_BYTES} bytes"))
        }
        Ok(_) => std::fs::read_to_string(path).or_else(|error| refused(&error)),
        Err(error) => refused(&error),
    }
}
