//! Model files: a path and settings come in; a model that is ready to run goes out, or an error
//! that says what to do.
//!
//! A file is checked before llama.cpp, which is native code, sees it: [`isogloss_gguf`] reads its header
//! under limits of its own.

use super::kernel::Setup;
use super::kernel::llama::logs::Lines;
use super::kernel::llama::projector::LlamaProjector;
use super::kernel::llama::{BATCH, LlamaSetup, Options, library};
use super::media::{Modalities, Projector};
use super::vocabulary::Vocabulary;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod check;
mod device;
pub mod error;
mod memory;
mod projector;
mod vocabulary;

/// Models for unit tests.
#[cfg(test)]
pub(crate) use isogloss_testing::gguf as maker;

pub use error::{LoadError, Looks};
use isogloss_gguf::Header;
pub use projector::projector_beside;

/// Bytes of a chat template that is read; the biggest known has 70,000.
const MAX_TEMPLATE_BYTES: usize = 1 << 20;

/// What a model is loaded with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// The model's file; of a split model, the first.
    pub path: PathBuf,
    /// Tokens that one conversation may have; 0 for what the model was trained on, at most 8,192.
    pub context: u32,
    /// Sequences at the same time.
    pub slots: u32,
    /// Threads of the forward pass; 0 for one a physical core.
    pub threads: u32,
    /// Layers that a GPU computes; `None` for all that fit where there is one.
    pub gpu_layers: Option<u32>,
    /// The device by its name; without it the first GPU, else the CPU.
    pub device: Option<String>,
    /// The file of its projector, with which it takes images or audio.
    pub mmproj: Option<PathBuf>,
    /// The chat template in the place of the file's own.
    pub template: Option<String>,
}

impl LoadOptions {
    /// The defaults for a file.
    #[must_use]
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            context: 0,
            slots: 8,
            threads: 0,
            gpu_layers: None,
            device: None,
            mmproj: None,
            template: None,
        }
    }
}

/// A model that is ready to run.
pub struct Loaded {
    /// Its vocabulary.
    pub vocabulary: Vocabulary,
    /// Its kernels.
    pub setup: Box<dyn Setup>,
    /// What makes images or audio ready for it.
    pub projector: Option<Arc<dyn Projector>>,
    /// What it is.
    pub about: About,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("vocabulary", &self.vocabulary)
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

/// What a model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name, as its file says, else the file's name.
    pub name: String,
    /// Its architecture (`llama`, `qwen3`, …).
    pub architecture: String,
    /// How many parameters it has.
    pub parameters: u64,
    /// Bytes of its weights.
    pub bytes: u64,
    /// How many layers it has.
    pub layers: u32,
    /// How many of them a GPU computes.
    pub offloaded_layers: u32,
    /// Tokens that it was trained on.
    pub context_train: u32,
    /// Tokens that one conversation may have.
    pub context: u32,
    /// Tokens that all conversations have together.
    pub cells: u32,
    /// Bytes of the cache for those, as estimated.
    pub cache_bytes: u64,
    /// Its chat template, where the file has one.
    pub chat_template: Option<String>,
    /// The name of the token at the beginning of a text; empty where there is none.
    pub bos_text: String,
    /// The name of the token that ends an answer.
    pub eos_text: String,
    /// What computes it, for people.
    pub device: String,
    /// What it takes beside text.
    pub takes: Modalities,
}

/// A model's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// The file's name without `.gguf`; of a split model, without the number of the part.
    pub name: String,
    /// The file; of a split model, the first.
    pub path: PathBuf,
    /// Bytes of the file; of a split model, of all parts that are there.
    pub bytes: u64,
}

/// Lists the models of a folder, its sub-folders left out, by name; of a file, that one. Files are
/// not opened.
///
/// # Errors
/// There is nothing at the path, or a folder without models.
pub fn list(path: &Path) -> Result<Vec<ModelFile>, LoadError> {
    let owned = || path.to_path_buf();
    let about = fs::metadata(path).map_err(|source| check::io_error(path, source))?;
    if !about.is_dir() {
        return Ok(vec![ModelFile {
            name: Name::of(path).map_or_else(|| file_name(path), |name| name.stem),
            path: owned(),
            bytes: about.len(),
        }]);
    }
    let mut models: Vec<ModelFile> = Vec::new();
    let mut parts = Vec::new();
    let entries = fs::read_dir(path).map_err(|source| check::io_error(path, source))?;
    for entry in entries {
        let path = entry
            .map_err(|source| check::io_error(path, source))?
            .path();
        let Some(name) = Name::of(&path).filter(|_| !check::is_projector_name(&path)) else {
            continue;
        };
        // Links count as what they point to; what is broken or a folder is no model.
        let Some(about) = fs::metadata(&path).ok().filter(fs::Metadata::is_file) else {
            continue;
        };
        if name.part > 1 {
            parts.push((name.stem, about.len()));
            continue;
        }
        models.push(ModelFile {
            name: name.stem,
            path,
            bytes: about.len(),
        });
    }
    if models.is_empty() {
        return Err(LoadError::NoModels { path: owned() });
    }
    models.sort_by(|a, b| a.name.cmp(&b.name));
    for (stem, bytes) in parts {
        if let Ok(found) = models.binary_search_by(|model| model.name.cmp(&stem)) {
            models[found].bytes = models[found].bytes.saturating_add(bytes);
        }
    }
    Ok(models)
}

/// A model's name as its file's name has it.
struct Name {
    stem: String,
    /// Which part of a split model it is, from 1; of others, 1.
    part: u64,
}

impl Name {
    /// Reads `stem.gguf` and `stem-00001-of-00003.gguf`; nothing for other names.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let dot = name.len().checked_sub(".gguf".len())?;
        let (stem, extension) = (name.get(..dot)?, name.get(dot..)?);
        if stem.is_empty() || stem.starts_with('.') || !extension.eq_ignore_ascii_case(".gguf") {
            return None;
        }
        let whole = Self {
            stem: stem.to_owned(),
            part: 1,
        };
        let number = |text: &str| (text.len() == 5).then(|| text.parse().ok()).flatten();
        let split = stem.rsplit_once("-of-").and_then(|(rest, of)| {
            let (stem, part) = rest.rsplit_once('-')?;
            number(of).filter(|of: &u64| *of > 1)?;
            Some(Self {
                stem: stem.to_owned(),
                part: number(part)?,
            })
        });
        Some(split.unwrap_or(whole))
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || "model".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// What loads model files.
#[derive(Debug, Clone, Copy)]
pub struct Loader {
    /// Looks at a file that is to be loaded in place of a model.
    pub look: fn(&LoadOptions, &About) -> Result<Place, LoadError>,
    /// Loads it.
    pub load: Load,
}

/// Loads a file, and tells how much is done.
pub type Load = fn(&LoadOptions, Progress) -> Result<Loaded, LoadError>;

/// Real models are loaded by these.
pub const LOADER: Loader = Loader { look, load };

/// Where a model goes while another is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// There is memory for both.
    Beside,
    /// The other has to make room first.
    Instead,
}

/// Looks at a file before the model that is loaded makes room for it: reads headers only.
///
/// # Errors
/// It cannot be loaded, whatever makes room for it, as far as that can be told now.
pub fn look(options: &LoadOptions, before: &About) -> Result<Place, LoadError> {
    let header = check::check(&options.path)?;
    let mmproj = options
        .mmproj
        .as_deref()
        .map(projector::check)
        .transpose()?;
    let beside = mmproj.map_or(0, |header| header.tensor_bytes);
    library().map_err(|message| failed(&options.path, message))?;
    let wanted = wanted(options, &header, beside);
    let all = memory::plan(&header, wanted)?;
    let choice = device::choose(
        options.device.as_deref(),
        options.gpu_layers,
        &header,
        all.cache_bytes,
    )?;
    let free = choice.free.or_else(memory::available);
    // Weights that are mapped count as free already: rather too much than too little.
    let comes_free = before.bytes.saturating_add(before.cache_bytes);
    let available = free.map(|free| free.saturating_add(comes_free));
    memory::plan(
        &header,
        memory::Wanted {
            available,
            ..wanted
        },
    )?;
    let needed = wanted.weights.saturating_add(all.cache_bytes);
    let fits = |free: u64| needed.saturating_add(device::RESERVE_BYTES) <= free;
    // Layers that find no room on a GPU beside the other's would find it later.
    let is_whole = choice.gpu.is_none() || choice.layers == options.gpu_layers;
    match is_whole && free.is_some_and(fits) {
        true => Ok(Place::Beside),
        false => Ok(Place::Instead),
    }
}

/// Hears how much is done, from 0 to 1, and says whether to go on.
pub type Progress = Box<dyn FnMut(f32) -> bool + Send>;

/// Loads a model.
///
/// # Errors
/// The file is no model that this build can run, or the machine is too small for it.
pub fn load(options: &LoadOptions, progress: Progress) -> Result<Loaded, LoadError> {
    let path = &options.path;
    let header = check::check(path)?;
    let mmproj = options.mmproj.as_deref();
    let mmproj_header = mmproj.map(projector::check).transpose()?;
    let mmproj_bytes = mmproj_header.map_or(0, |header| header.tensor_bytes);
    let library = library().map_err(|message| failed(path, message))?;
    let (plan, choice) = lay_out(options, &header, mmproj_bytes)?;
    tracing::debug!(
        context = plan.context,
        cells = plan.cells,
        cache_mib = plan.cache_bytes >> 20,
        weights_mib = header.tensor_bytes >> 20,
        device = choice.name,
        "loading the model"
    );
    let params = choice
        .apply(LlamaModelParams::default())
        .map_err(|message| failed(path, message))?
        .with_progress_callback(reporting(progress));
    let text = path
        .to_str()
        .ok_or_else(|| LoadError::Path { path: path.clone() })?;
    let (model, lines) = {
        let _loading = loading();
        Lines::of(|| LlamaModel::load_from_file(library, text, &params))
    };
    let model = Arc::new(model.map_err(|_| refused(path, &header, &lines))?);
    let template = options.template.as_deref();
    let template = template.or_else(|| header.text("tokenizer.chat_template"));
    let vocabulary =
        vocabulary::vocabulary(&model, &header, template).map_err(|what| LoadError::Tokenizer {
            path: path.clone(),
            what,
        })?;
    let mut about = about(path, &header, &vocabulary, &model);
    about.context = plan.context;
    about.cells = plan.cells;
    about.cache_bytes = plan.cache_bytes;
    about.device = choice.name;
    if choice.gpu.is_some() {
        about.offloaded_layers = offloaded(&lines)
            .or(choice.layers)
            .unwrap_or(about.layers.saturating_add(1));
    }
    let threads = device::threads(options.threads);
    let projector = match mmproj {
        Some(path) => Some(load_projector(path, &model, threads, choice.gpu.is_some())?),
        None => None,
    };
    about.takes = (projector.as_deref()).map_or(Modalities::default(), Projector::modalities);
    let setup = LlamaSetup::new(
        model,
        projector.clone(),
        Options {
            context: plan.context,
            cells: plan.cells,
            cache_bytes: plan.cache_bytes,
            slots: options.slots,
            threads,
        },
    );
    Ok(Loaded {
        vocabulary,
        setup: Box::new(setup),
        projector: projector.map(|projector| projector as _),
        about,
    })
}

/// One at a time: what llama.cpp says is kept a thread, but its state is global.
fn loading() -> MutexGuard<'static, ()> {
    static LOADING: Mutex<()> = Mutex::new(());
    LOADING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn load_projector(
    path: &Path,
    model: &Arc<LlamaModel>,
    threads: u32,
    use_gpu: bool,
) -> Result<Arc<LlamaProjector>, LoadError> {
    let owned = || path.to_path_buf();
    let text = path
        .to_str()
        .ok_or_else(|| LoadError::Path { path: owned() })?;
    let _loading = loading();
    let loaded = LlamaProjector::load(text, model, threads, use_gpu, BATCH);
    loaded
        .map(Arc::new)
        .map_err(|message| LoadError::ProjectorRefused {
            path: owned(),
            message,
        })
}

/// What a model is to have room for, with so many bytes of weights beside its own.
fn wanted<'o>(options: &'o LoadOptions, header: &Header, beside: u64) -> memory::Wanted<'o> {
    memory::Wanted {
        path: &options.path,
        context: options.context,
        slots: options.slots,
        available: None,
        weights: header.tensor_bytes.saturating_add(beside),
    }
}

/// Decides where the model goes and how big its cache is. `beside`: bytes of its projector.
fn lay_out(
    options: &LoadOptions,
    header: &Header,
    beside: u64,
) -> Result<(memory::Plan, device::Choice), LoadError> {
    let wanted = wanted(options, header, beside);
    // What one conversation needs comes before layers; what is left after them, to more.
    let one = memory::plan(header, memory::Wanted { slots: 1, ..wanted })?;
    let choice = device::choose(
        options.device.as_deref(),
        options.gpu_layers,
        header,
        one.cache_bytes,
    )?;
    let available = choice.free.or_else(memory::available);
    let plan = memory::plan(
        header,
        memory::Wanted {
            available,
            ..wanted
        },
    )?;
    if available.is_some_and(|available| plan.cache_bytes + wanted.weights > available) {
        tracing::warn!(
            weights_mib = wanted.weights >> 20,
            cache_mib = plan.cache_bytes >> 20,
            available_mib = available.unwrap_or_default() >> 20,
            "weights and cache are more than the memory that is available: answers may be slow"
        );
    }
    Ok((plan, choice))
}

/// Whole steps of a hundredth only: llama.cpp calls back for each tensor, and more often.
fn reporting(mut progress: Progress) -> impl FnMut(f32) -> bool + 'static {
    let mut told = -1.0_f32;
    move |done: f32| {
        let done = done.clamp(0.0, 1.0);
        if done - told >= 0.01 || (done >= 1.0 && told < 1.0) {
            told = done;
            return progress(done);
        }
        true
    }
}

fn failed(path: &Path, message: String) -> LoadError {
    LoadError::Library {
        path: path.to_path_buf(),
        message,
    }
}

/// What llama.cpp's refusal means.
fn refused(path: &Path, header: &Header, lines: &Lines) -> LoadError {
    let message = lines.error();
    if message.contains("unknown model architecture") {
        return LoadError::Architecture {
            path: path.to_path_buf(),
            architecture: check::bounded(header.architecture().unwrap_or_default()),
        };
    }
    failed(path, message)
}

/// The layers on a GPU, by the line `offloaded 29/29 layers to GPU`.
fn offloaded(lines: &Lines) -> Option<u32> {
    lines.after("offloaded ")?.split('/').next()?.parse().ok()
}

fn about(path: &Path, header: &Header, vocabulary: &Vocabulary, model: &LlamaModel) -> About {
    let name_of = |token: Option<&u32>| {
        token
            .and_then(|token| vocabulary.pieces().get(*token as usize))
            .map_or_else(String::new, |piece| {
                String::from_utf8_lossy(&piece.bytes).into_owned()
            })
    };
    let template = header
        .text("tokenizer.chat_template")
        .filter(|template| !template.trim().is_empty() && template.len() <= MAX_TEMPLATE_BYTES);
    let bos = u32::try_from(model.vocab().bos().0).ok();
    About {
        name: header
            .text("general.name")
            .map(check::bounded)
            .filter(|name| !name.trim().is_empty())
            .or_else(|| Name::of(path).map(|name| name.stem))
            .unwrap_or_else(|| file_name(path)),
        architecture: check::bounded(header.architecture().unwrap_or_default()),
        parameters: header.elements,
        bytes: header.tensor_bytes,
        layers: model.n_layer(),
        offloaded_layers: 0,
        context_train: model.n_ctx_train(),
        context: 0,
        cells: 0,
        cache_bytes: 0,
        chat_template: template.map(str::to_owned),
        bos_text: name_of(bos.as_ref()),
        eos_text: name_of(vocabulary.ends().first()),
        device: String::new(),
        takes: Modalities::default(),
    }
}
