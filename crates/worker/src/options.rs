//! What the worker is started with.

use std::fmt;
use std::path::PathBuf;

/// Where the models are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// In this program.
    Builtin,
    /// A GGUF file, or a folder of them.
    Path(PathBuf),
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("the built-in model"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Where the model's multimodal projector is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectorSource {
    /// Beside the model's file, named after it; there may be none.
    Beside,
    /// There is none, whatever is beside the model's file.
    Nowhere,
    /// This GGUF file.
    Path(PathBuf),
}

/// What the worker is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Its models.
    pub model: ModelSource,
    /// The model's name for clients; without it, the file's name without `.gguf`.
    pub name: Option<String>,
    /// A chat template instead of the model's own.
    pub chat_template: Option<PathBuf>,
    /// The model's multimodal projector.
    pub mmproj: ProjectorSource,
    /// Tokens that one conversation may have; 0 for what the model was trained on, at most 8,192.
    pub context: u32,
    /// Answers that are generated at the same time.
    pub slots: u32,
    /// Jobs that wait for a slot; one more is refused with 503.
    pub queue: usize,
    /// Threads of the forward pass; 0 for one a physical core.
    pub threads: u32,
    /// Layers that a GPU computes; `None` for all that fit where the build has one.
    pub gpu_layers: Option<u32>,
    /// The device by its name (`cpu`, `CUDA0`, …); without it the first GPU of the build, else the CPU.
    pub device: Option<String>,
    /// Whether answers are drafted, where few run and the model's memory can be taken back.
    pub drafts: Drafts,
    /// Compiled grammars that are kept.
    pub grammar_cache_entries: usize,
    /// Bytes, as estimated, of those.
    pub grammar_cache_bytes: usize,
}

/// How long the drafts of answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drafts {
    /// There are none.
    Off,
    /// As long as is worth the time of their forward passes.
    Weighed,
    /// As long as there is something to draft.
    Always,
}

// The defaults are the configuration's; these are for tests.
#[cfg(test)]
impl Options {
    pub(crate) const fn new(model: ModelSource) -> Self {
        Self {
            model,
            name: None,
            chat_template: None,
            mmproj: ProjectorSource::Beside,
            context: 0,
            slots: 8,
            queue: 2_048,
            threads: 0,
            gpu_layers: None,
            device: None,
            drafts: Drafts::Weighed,
            grammar_cache_entries: 1_024,
            grammar_cache_bytes: 256 << 20,
        }
    }
}
