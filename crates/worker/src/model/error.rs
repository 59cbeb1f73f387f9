//! Why a model cannot be loaded, each with what to do about it.

use isogloss_gguf::HeaderError;
use std::io;
use std::path::PathBuf;

/// What a file that is no GGUF file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Nothing at all.
    Empty,
    /// A Git LFS pointer instead of the file that it points to.
    LfsPointer,
    /// A web page.
    Html,
    /// Safetensors weights.
    Safetensors,
    /// A zip archive, or a PyTorch checkpoint, which is one.
    Zip,
    /// A gzip archive.
    Gzip,
    /// JSON.
    Json,
    /// A model file of the formats before GGUF.
    Ggml,
    /// Zeros: a download that was only reserved.
    Zeros,
    /// Something else.
    Unknown,
}

impl Looks {
    /// What it is, and what to do.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::Empty => "it is empty: download it again",
            Self::LfsPointer => {
                "it is a Git LFS pointer, not the model: run `git lfs pull`, or download the file itself"
            }
            Self::Html => {
                "it is a web page: download from the file's own address (on a model hub, its \"resolve\" link), signed in where the model is gated"
            }
            Self::Safetensors => {
                "it looks like safetensors weights: take a GGUF of this model, or convert it with llama.cpp's convert_hf_to_gguf.py"
            }
            Self::Zip => {
                "it looks like a zip archive or a PyTorch checkpoint: unpack it, or take a GGUF of this model"
            }
            Self::Gzip => "it looks like a gzip archive: unpack it",
            Self::Json => "it looks like JSON: give the model file itself",
            Self::Ggml => "it is of a format before GGUF: take a GGUF of this model",
            Self::Zeros => {
                "it begins with zeros, as an unfinished download does: download it again"
            }
            Self::Unknown => "its first bytes are not `GGUF`: check the download",
        }
    }
}

/// Why a model cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such file.
    #[error("model {}: there is no such file or folder", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The file may not be read.
    #[error("model {}: permission denied: the user that runs isogloss must be able to read it", path.display())]
    Permission {
        /// The path.
        path: PathBuf,
    },
    /// It is a folder.
    #[error("model {}: it is a folder: give one of the .gguf files in it", path.display())]
    Folder {
        /// The path.
        path: PathBuf,
    },
    /// A folder without models.
    #[error("model {}: there is no .gguf file in this folder (its sub-folders are not searched)", path.display())]
    NoModels {
        /// The path.
        path: PathBuf,
    },
    /// The path cannot be given to the library.
    #[error("model {}: the path is not UTF-8: rename it", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("model {}: it cannot be read", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no GGUF file.
    #[error("model {}: not a GGUF file: {}", path.display(), looks.advice())]
    NotGguf {
        /// The path.
        path: PathBuf,
        /// What it looks like.
        looks: Looks,
    },
    /// The header is damaged, or too new.
    #[error("model {}: {source}", path.display())]
    Header {
        /// The path.
        path: PathBuf,
        /// What is wrong.
        source: HeaderError,
    },
    /// The file is shorter than its header says.
    #[error(
        "model {}: the file is cut short: it has {} bytes and needs {}: download it again",
        path.display(), has, needs
    )]
    Truncated {
        /// The path.
        path: PathBuf,
        /// Bytes that the header asks for.
        needs: u64,
        /// Bytes that there are.
        has: u64,
    },
    /// A part of a split model that is not the first.
    #[error(
        "model {}: this is part {part} of a model split into {parts} files: give the first, with all the others beside it", path.display()
    )]
    SplitPart {
        /// The path.
        path: PathBuf,
        /// Which part, from 1.
        part: u64,
        /// How many there are.
        parts: u64,
    },
    /// A part of a split model is not there.
    #[error(
        "model {}: it is split into {parts} files, all of which are needed: {missing} is not there", path.display()
    )]
    SplitMissing {
        /// The path.
        path: PathBuf,
        /// How many there are.
        parts: u64,
        /// The name of the first that is not there.
        missing: String,
    },
    /// The architecture is unknown to llama.cpp.
    #[error(
        "model {}: its architecture \"{architecture}\" is unknown to this build: update isogloss, or take another model", path.display()
    )]
    Architecture {
        /// The path.
        path: PathBuf,
        /// The architecture.
        architecture: String,
    },
    /// A multimodal projector.
    #[error(
        "model {}: this is a multimodal projector (mmproj), which goes beside a language model: give the language model", path.display()
    )]
    Projector {
        /// The path.
        path: PathBuf,
    },
    /// A projector that is none.
    #[error(
        "projector {}: this is no multimodal projector: give --mmproj the mmproj .gguf file that was made of the same model, or none", path.display()
    )]
    NoProjector {
        /// The path.
        path: PathBuf,
    },
    /// A projector that cannot be used with the model.
    #[error(
        "projector {}: it cannot be used with this model: {message}: give --mmproj the file that was made of the same model, or none", path.display()
    )]
    ProjectorRefused {
        /// The path.
        path: PathBuf,
        /// What llama.cpp says.
        message: String,
    },
    /// It cannot write text.
    #[error("model {}: {what}, and does not write text: take a language model", path.display())]
    NotGenerative {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// There is no vocabulary, or none that can be used.
    #[error("model {}: {what}: take another GGUF of this model", path.display())]
    Tokenizer {
        /// The path.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The memory does not suffice.
    #[error(
        "model {}: not enough memory: the cache of one conversation of {context} tokens takes {cache_mib} MiB, and {available_mib} MiB are available (weights: {weights_mib} MiB): set a smaller context, or take a smaller model or quantisation", path.display()
    )]
    Memory {
        /// The path.
        path: PathBuf,
        /// Tokens of a conversation.
        context: u32,
        /// What its cache takes.
        cache_mib: u64,
        /// What there is.
        available_mib: u64,
        /// What the weights take.
        weights_mib: u64,
    },
    /// The context that was asked for is more than the model has.
    #[error(
        "worker.context is {asked}, and the model was trained on conversations of {trained} tokens: set at most that"
    )]
    Context {
        /// What was asked for.
        asked: u32,
        /// What the model has.
        trained: u32,
    },
    /// The number of slots is none that llama.cpp has.
    #[error("worker.slots is {asked}: set 1 to {limit}")]
    Slots {
        /// What was asked for.
        asked: u32,
        /// The most that there can be.
        limit: u32,
    },
    /// A GPU was asked for, and there is none.
    #[error(
        "worker.gpu_layers is {asked}, and this build finds no GPU (devices: {devices}): build with --features cuda, vulkan or metal, or leave it out"
    )]
    NoGpu {
        /// Layers asked for.
        asked: u32,
        /// The devices that there are.
        devices: String,
    },
    /// There is no such device.
    #[error("worker.device is \"{asked}\", and the devices are: {devices}")]
    Device {
        /// What was asked for.
        asked: String,
        /// The devices that there are.
        devices: String,
    },
    /// llama.cpp does not take it.
    #[error("model {}: llama.cpp cannot load it: {message}", path.display())]
    Library {
        /// The path.
        path: PathBuf,
        /// What it says.
        message: String,
    },
}
