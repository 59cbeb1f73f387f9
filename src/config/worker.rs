//! What the bundled decoding worker is started with.

use std::path::PathBuf;

/// How JSON is laid out where the request does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JsonSpace {
    /// As the model likes, within reason.
    #[default]
    Flexible,
    /// No space between tokens.
    Compact,
}

/// The bundled decoding worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// A GGUF file, or a folder of them; without it there is no worker.
    pub model: Option<PathBuf>,
    /// The model's name for clients; without it, the file's name without `.gguf`.
    pub name: Option<String>,
    /// A chat template instead of the model's own.
    pub chat_template: Option<PathBuf>,
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
    /// How JSON is laid out where the request does not say.
    pub whitespace: JsonSpace,
    /// Compiled grammars that are kept.
    pub grammar_cache_entries: usize,
    /// Bytes, as estimated, of those.
    pub grammar_cache_bytes: usize,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            model: None,
            name: None,
            chat_template: None,
            context: 0,
            slots: 8,
            queue: 2_048,
            threads: 0,
            gpu_layers: None,
            device: None,
            whitespace: JsonSpace::Flexible,
            grammar_cache_entries: 1_024,
            grammar_cache_bytes: 256 << 20,
        }
    }
}
