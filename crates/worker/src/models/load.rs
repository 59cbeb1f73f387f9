//! A model's file to a model that answers: loaded, its constraints' backend and its engine set up.

use super::{Model, Models, Shared};
use crate::backend::llguidance::Llguidance;
use crate::grammars::Grammars;
use crate::model::{About, LoadOptions, projector_beside};
use crate::options::{Drafts, ModelSource, ProjectorSource};
use crate::prompt::Prompter;
use crate::scheduler::{Engine, EngineLimits};
use crate::template::ChatTemplate;
use crate::vocabulary::{Token, Vocabulary};
use crate::watchdog::{watched, watched_projector};
use isogloss_compile::{CompilerLimits, Observer};
use isogloss_core::error::Error;
use isogloss_core::markup::Formats;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

/// How long compiling a constraint may take. The proxy's own checks have a second; here forward
/// passes run beside it on the same cores.
const COMPILE_WITHIN: Duration = Duration::from_secs(5);

/// What a model is to be loaded with.
pub(super) fn options(shared: &Shared, index: usize) -> LoadOptions {
    let (settings, file) = (&shared.options, &shared.files[index]);
    LoadOptions {
        path: file.path.clone(),
        context: settings.context,
        slots: settings.slots,
        threads: settings.threads,
        gpu_layers: settings.gpu_layers,
        device: settings.device.clone(),
        mmproj: match (&settings.mmproj, &settings.model) {
            (ProjectorSource::Path(path), _) => Some(path.clone()),
            (ProjectorSource::Beside, ModelSource::Path(_)) => projector_beside(&file.path),
            _ => None,
        },
        template: shared.template.clone(),
    }
}

/// Blocks, for as long as it takes. Errors are for people.
pub(super) fn load(models: &Models, index: usize, options: &LoadOptions) -> Result<Model, String> {
    let shared = &models.shared;
    let (settings, file) = (&shared.options, &shared.files[index]);
    if !models.progress(index, 0.0) {
        return Err("the worker is stopping".to_owned());
    }
    let told = models.clone();
    let progress = Box::new(move |done| told.progress(index, done));
    let loaded = (shared.loader.load)(options, progress).map_err(|error| error.to_string())?;
    let vocabulary = loaded.vocabulary;
    let backend = Llguidance::new(&vocabulary).map_err(|error| {
        format!("the model's vocabulary cannot be used for constraints: {error}")
    })?;
    let limits = CompilerLimits {
        timeout: COMPILE_WITHIN,
        cache_entries: settings.grammar_cache_entries,
        cache_bytes: settings.grammar_cache_bytes,
        ..CompilerLimits::default()
    };
    let observer: Arc<dyn Observer> = Arc::clone(&shared.metrics) as _;
    let grammars = Grammars::new(Arc::new(backend), limits, observer);
    let mut limits = EngineLimits::default();
    if loaded.about.offloaded_layers > loaded.about.layers {
        limits = limits.beside_a_gpu();
    }
    let limits = EngineLimits {
        queue: settings.queue,
        draft: match settings.drafts {
            Drafts::Off => 0,
            Drafts::Weighed | Drafts::Always => limits.draft,
        },
        weighs_drafts: settings.drafts == Drafts::Weighed,
        ..limits
    };
    let template = template(shared, &loaded.about)?;
    let watchdog = Arc::clone(&shared.watchdog);
    let projector = loaded.projector;
    let projector = projector.map(|projector| watched_projector(projector, &watchdog));
    let setup = watched(loaded.setup, &watchdog);
    let engine = Engine::start(setup, vocabulary.clone(), limits)
        .map_err(|error| format!("the model cannot be set up: {error}"))?;
    Ok(Model {
        name: file.name.clone(),
        prompter: Prompter::new(vocabulary.clone(), template).with_projector(projector),
        fingerprint: fingerprint(&file.name, &loaded.about),
        about: loaded.about,
        call_tokens: call_tokens(&vocabulary),
        vocabulary,
        grammars,
        engine,
        watchdog,
    })
}

/// The tokens that stand around calls and nothing else.
fn call_tokens(vocabulary: &Vocabulary) -> Vec<Token> {
    let formats = Formats::builtin();
    let known: HashSet<&[u8]> = formats.call_tokens().map(str::as_bytes).collect();
    let pieces = (0..).zip(vocabulary.pieces());
    let calls = pieces.filter(|(_, piece)| known.contains(piece.bytes.trim_ascii()));
    calls.map(|(token, _)| token).collect()
}

/// The operator's template must be right; the model's own may be wrong, and is then told to those
/// who send conversations.
fn template(shared: &Shared, about: &About) -> Result<Option<Result<ChatTemplate, Error>>, String> {
    let read = |source: &str| ChatTemplate::new(source, &about.bos_text, &about.eos_text);
    match (&shared.template, &about.chat_template) {
        (Some(own), _) => {
            let read = read(own).map_err(|error| format!("--chat-template: {error}"))?;
            Ok(Some(Ok(read)))
        }
        (None, Some(source)) => {
            let read = read(source);
            if let Err(error) = &read {
                tracing::warn!(%error, "conversations are refused: give --chat-template another");
            }
            Ok(Some(read))
        }
        (None, None) => Ok(None),
    }
}

fn fingerprint(name: &str, about: &About) -> String {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    name.hash(&mut hasher);
    (about.bytes, about.parameters, about.offloaded_layers).hash(&mut hasher);
    about.device.hash(&mut hasher);
    (about.takes.image, about.takes.audio).hash(&mut hasher);
    format!("fp_{:016x}", hasher.finish())
}
