//! A model's file comes in; the projector that belongs to it goes out: the file beside it that
//! makes images or audio into what the model reads.

use super::check;
use super::error::LoadError;
use super::{Name, list};
use isogloss_gguf::Header;
use std::fs;
use std::path::{Path, PathBuf};

/// Projectors that make an image according to its place in the prompt, or among its images. Here
/// each is made ready by itself, so they would see it wrong without a word.
const PLACING: &[&str] = &["deepseek4v", "hunyuanvl"];

/// The projector beside a model's file: the one `…mmproj….gguf` in its folder that is named after
/// the model, whatever the precisions of both, or the only one where the model is the only one
/// too. Of several that could be meant, none.
#[must_use]
pub fn projector_beside(model: &Path) -> Option<PathBuf> {
    let folder = match model.parent()? {
        parent if parent.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    let mut all: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| check::is_projector_name(path) && Name::of(path).is_some())
        .filter(|path| path.is_file())
        .collect();
    all.sort();
    let own = base(model);
    let is_named = |path: &&PathBuf| !own.is_empty() && base(path) == own;
    let named: Vec<&PathBuf> = all.iter().filter(is_named).collect();
    let is_only = || list(folder).is_ok_and(|models| models.len() == 1);
    match (named.as_slice(), all.as_slice()) {
        ([one], _) => Some((*one).clone()),
        ([], []) => None,
        ([], [one]) if is_only() => Some(one.clone()),
        ([], many) if many.len() == 1 || !is_only() => None,
        _ => {
            let names: Vec<String> = (all.iter())
                .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
                .collect();
            tracing::warn!(
                files = names.join(", "),
                "several projectors could be the model's, so it takes text alone: give --mmproj one"
            );
            None
        }
    }
}

/// What a file's name says of the model: in lower case, without its precision and the words for
/// what kind of file it is.
fn base(path: &Path) -> String {
    let Some(name) = Name::of(path) else {
        return String::new();
    };
    let stem = name.stem.to_lowercase();
    let mut words: Vec<&str> = stem.split(['-', '_', '.', ' ']).collect();
    words.retain(|word| !word.is_empty() && !matches!(*word, "mmproj" | "model" | "gguf"));
    if let Some(at) = words.iter().rposition(|word| is_precision(word))
        && words[at + 1..].iter().all(|word| is_variant(word))
    {
        words.truncate(at);
        while let Some("ud" | "i1" | "imat") = words.last().copied() {
            words.pop();
        }
    }
    words.join("-")
}

/// `q4`, `iq2`, `f16`, `bf16`, `mxfp4`, …
fn is_precision(word: &str) -> bool {
    let digits = word.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let letters = &word[..word.len() - digits.len()];
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    is_number && matches!(letters, "q" | "iq" | "tq" | "f" | "bf" | "fp" | "mxfp")
}

/// What follows a precision: `q4_k_m`, `q8_0`.
fn is_variant(word: &str) -> bool {
    matches!(
        word,
        "k" | "m" | "s" | "l" | "xl" | "xs" | "xxs" | "nl" | "0" | "1"
    )
}

/// Checks what can be told of a projector from its header.
pub(super) fn check(path: &Path) -> Result<Header, LoadError> {
    let (header, has) = check::open(path)?;
    if !check::is_projector(path, &header) {
        return Err(LoadError::NoProjector {
            path: path.to_path_buf(),
        });
    }
    check::truncated(path, &header, has)?;
    let kinds = ["clip.projector_type", "clip.vision.projector_type"];
    let placing = kinds
        .iter()
        .filter_map(|key| header.text(key))
        .find(|kind| PLACING.contains(kind));
    if let Some(kind) = placing {
        return Err(LoadError::ProjectorRefused {
            path: path.to_path_buf(),
            message: format!(
                "it makes images by their places in the prompt ({kind}), which this build cannot"
            ),
        });
    }
    Ok(header)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    /// What is found beside the first of these files.
    fn found(files: &[&str]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(folder.path().join(file), "x").unwrap();
        }
        let found = projector_beside(&folder.path().join(files[0]))?;
        Some(found.file_name().unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn a_projector_named_after_the_model_is_its_own_whatever_the_precisions() {
        for (model, projector) in [
            ("Qwen2.5-VL-3B-Q4_K_M.gguf", "mmproj-Qwen2.5-VL-3B-f16.gguf"),
            ("SmolVLM-500M-Q8_0.gguf", "mmproj-SmolVLM-500M-Q8_0.gguf"),
            ("x.i1-IQ2_XXS.gguf", "x.mmproj-bf16.gguf"),
            ("m.gguf", "mmproj-m.gguf"),
            ("a-00001-of-00002.gguf", "mmproj-a.gguf"),
        ] {
            let other = ["other-Q4_K_M.gguf", "mmproj-other-f16.gguf"];
            let files = [model, projector, other[0], other[1]];
            assert_eq!(found(&files).as_deref(), Some(projector), "{model}");
        }
    }

    #[test]
    fn the_only_projector_is_that_of_the_only_model() {
        for projector in [
            "mmproj-F16.gguf",
            "mmproj-model-f16.gguf",
            "mmproj-base.gguf",
        ] {
            assert_eq!(
                found(&["tuned.gguf", projector]).as_deref(),
                Some(projector)
            );
            assert_eq!(found(&["tuned.gguf", "other.gguf", projector]), None);
        }
    }

    #[test]
    fn of_several_that_could_be_meant_none_is() {
        let two = ["x-q8_0.gguf", "mmproj-x-f16.gguf", "mmproj-x-f32.gguf"];
        assert_eq!(found(&two), None);
        assert_eq!(found(&["x.gguf", "mmproj-a.gguf", "mmproj-b.gguf"]), None);
        assert_eq!(found(&["x.gguf"]), None);
        assert_eq!(found(&["x.gguf", "mmproj-x.bin"]), None);
    }
}
