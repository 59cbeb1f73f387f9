//! The model that this program carries: nothing comes in, a file that can be loaded goes out.
//!
//! llama.cpp loads files, by their path. On Linux this one is in memory, so that a machine whose
//! every folder is read-only can load it; elsewhere it is a temporary file.

use super::model::ModelFile;
use std::io;
use std::path::PathBuf;

/// Its name for clients.
pub const NAME: &str = "isogloss-builtin";

/// Its licence, its data and its limits: `models/builtin/MODEL_CARD.md`.
static GGUF: &[u8] = include_bytes!("../../../models/builtin/isogloss-builtin.gguf");

/// The file, which is there as long as this lives.
#[derive(Debug)]
pub struct Builtin {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    _file: std::fs::File,
    #[cfg(not(target_os = "linux"))]
    _file: tempfile::NamedTempFile,
}

impl Builtin {
    /// The file as one of a worker's models.
    #[must_use]
    pub fn file(&self) -> ModelFile {
        ModelFile {
            name: NAME.to_owned(),
            path: self.path.clone(),
            bytes: GGUF.len() as u64,
        }
    }
}

/// Makes the file.
///
/// # Errors
/// There is no memory for it, or no folder for temporary files.
#[cfg(target_os = "linux")]
pub fn open() -> io::Result<Builtin> {
    use rustix::fs::{MemfdFlags, memfd_create};
    use std::io::Write as _;
    use std::os::fd::AsRawFd as _;

    let mut file = std::fs::File::from(memfd_create(NAME, MemfdFlags::CLOEXEC)?);
    file.write_all(GGUF)?;
    Ok(Builtin {
        path: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        _file: file,
    })
}

/// Makes the file.
///
/// # Errors
/// There is no folder for temporary files, or no room in it.
#[cfg(not(target_os = "linux"))]
pub fn open() -> io::Result<Builtin> {
    use std::io::Write as _;

    let mut file = tempfile::Builder::new().suffix(".gguf").tempfile()?;
    file.write_all(GGUF)?;
    Ok(Builtin {
        path: file.path().to_owned(),
        _file: file,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::model::{LoadOptions, load};

    #[test]
    fn the_program_carries_a_model_that_can_be_loaded_and_has_a_chat_template() {
        let builtin = open().unwrap();
        let file = builtin.file();
        let loaded = load(&LoadOptions::of(&file.path), Box::new(|_| true)).unwrap();
        assert_eq!(file.name, NAME);
        assert!(loaded.about.chat_template.is_some());
        assert!(loaded.about.context_train >= 512, "{:?}", loaded.about);
    }

    #[test]
    fn it_is_small_enough_to_come_along() {
        assert!(GGUF.len() <= 24 << 20, "{} bytes", GGUF.len());
    }
}
