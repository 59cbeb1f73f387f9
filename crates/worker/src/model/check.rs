//! A path comes in; the header of a model that can be tried goes out, or what is wrong with the
//! file. Reads headers only.

use super::error::{LoadError, Looks};
use isogloss_gguf::{self as gguf, Header, HeaderError, Value};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The parts that a model may be split into: llama.cpp counts them in 16 bits.
const MAX_PARTS: u64 = 65_535;

/// The tokenisers (`tokenizer.ggml.model`) that have been tried here: byte-level BPE, SentencePiece,
/// and BPE over SentencePiece's pieces. llama.cpp has more (rwkv, plamo2), which a constraint's
/// exactness cannot be promised for.
const TOKENIZERS: &[&str] = &["gpt2", "llama", "gemma4"];

/// Checks everything that can be told from the headers.
pub(super) fn check(path: &Path) -> Result<Header, LoadError> {
    let (header, has) = open(path)?;
    is_language_model(path, &header)?;
    let mut first = header;
    truncated(path, &first, has)?;
    let parts = first.number("split.count").unwrap_or(1);
    if parts > 1 {
        split(path, &mut first, parts)?;
    }
    Ok(first)
}

pub(super) fn io_error(path: &Path, source: io::Error) -> LoadError {
    let path = path.to_path_buf();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => LoadError::Missing { path },
        io::ErrorKind::PermissionDenied => LoadError::Permission { path },
        io::ErrorKind::IsADirectory => LoadError::Folder { path },
        _ => LoadError::Io { path, source },
    }
}

/// Reads a file's header. Says how many bytes the file has, too.
pub(super) fn open(path: &Path) -> Result<(Header, u64), LoadError> {
    let about = fs::metadata(path).map_err(|source| io_error(path, source))?;
    if about.is_dir() {
        return Err(LoadError::Folder {
            path: path.to_path_buf(),
        });
    }
    let looks = |looks| LoadError::NotGguf {
        path: path.to_path_buf(),
        looks,
    };
    // A pipe or a device would block, or never end.
    if !about.is_file() {
        return Err(looks(Looks::Unknown));
    }
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let mut input = BufReader::with_capacity(1 << 16, file);
    match gguf::read(&mut input, about.len()) {
        Ok(header) => Ok((header, about.len())),
        Err(HeaderError::Io(source)) => Err(io_error(path, source)),
        Err(HeaderError::Cut { .. }) if about.len() < 4 => Err(looks(look(path))),
        Err(HeaderError::Magic) => Err(looks(look(path))),
        Err(source) => Err(LoadError::Header {
            path: path.to_path_buf(),
            source,
        }),
    }
}

/// What a file that is no GGUF file looks like.
fn look(path: &Path) -> Looks {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(512).read_to_end(&mut first));
    if read.is_err() {
        return Looks::Unknown;
    }
    let text = first.trim_ascii_start();
    match first.as_slice() {
        [] => Looks::Empty,
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Looks::Zip,
        [0x1f, 0x8b, ..] => Looks::Gzip,
        [b'l', b'm', b'g', b'g' | b'h', ..]
        | [b't' | b'f', b'm' | b'j', b'g', b'g', ..]
        | [b'a', b'l', b'g', b'g', ..] => Looks::Ggml,
        _ if text.starts_with(b"version https://git-lfs") => Looks::LfsPointer,
        // Eight bytes with the length of a JSON object, then the object.
        [_, _, _, _, _, 0, 0, 0, b'{', ..] => Looks::Safetensors,
        _ if text.starts_with(b"<") => Looks::Html,
        _ if text.starts_with(b"{") || text.starts_with(b"[") => Looks::Json,
        _ if first.iter().all(|byte| *byte == 0) => Looks::Zeros,
        _ => Looks::Unknown,
    }
}

pub(super) fn truncated(path: &Path, header: &Header, has: u64) -> Result<(), LoadError> {
    if header.end > has {
        return Err(LoadError::Truncated {
            path: path.to_path_buf(),
            needs: header.end,
            has,
        });
    }
    Ok(())
}

/// Whether a file is a multimodal projector, by what it says or, without an architecture, by name.
pub(super) fn is_projector(path: &Path, header: &Header) -> bool {
    header.architecture() == Some("clip")
        || header.text("general.type") == Some("mmproj")
        || (header.architecture().is_none() && is_projector_name(path))
}

/// Whether a file is named as multimodal projectors are.
pub(super) fn is_projector_name(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().to_lowercase().contains("mmproj"))
}

fn is_language_model(path: &Path, header: &Header) -> Result<(), LoadError> {
    let owned = || path.to_path_buf();
    let tokenizer = |what: String| {
        Err(LoadError::Tokenizer {
            path: path.to_path_buf(),
            what,
        })
    };
    if is_projector(path, header) {
        return Err(LoadError::Projector { path: owned() });
    }
    // A later part of a split model has neither architecture nor vocabulary.
    if let Some(part @ 1..) = header.number("split.no") {
        return Err(LoadError::SplitPart {
            path: owned(),
            part: part.saturating_add(1),
            parts: header.number("split.count").unwrap_or(0),
        });
    }
    let not = |what| LoadError::NotGenerative {
        path: path.to_path_buf(),
        what,
    };
    match header.architecture() {
        None => {
            return Err(LoadError::Header {
                path: owned(),
                source: HeaderError::Invalid {
                    what: "the metadata name no architecture (general.architecture)",
                    at: 0,
                },
            });
        }
        Some(architecture) if architecture.contains("bert") => {
            return Err(not("this model embeds or ranks texts"));
        }
        Some("t5" | "t5encoder") => return Err(not("this is a T5 model")),
        Some(_) if header.text("general.type") == Some("adapter") => {
            return Err(not("this is an adapter (LoRA)"));
        }
        Some(_) if matches!(header.of_model("pooling_type"), Some(Value::Unsigned(1..))) => {
            return Err(not("this model embeds or ranks texts"));
        }
        Some(_) => {}
    }
    match header.text("tokenizer.ggml.model") {
        None | Some("none" | "no_vocab") => return tokenizer("it has no tokenizer".to_owned()),
        Some(model) if !TOKENIZERS.contains(&model) => {
            return tokenizer(format!(
                "its tokenizer is of kind \"{}\", and this build reads {}",
                bounded(model),
                TOKENIZERS.join(", ")
            ));
        }
        Some(_) => {}
    }
    match header.values.get(gguf::TOKENS) {
        Some(Value::List {
            length: 1..,
            is_text: true,
            ..
        }) => Ok(()),
        _ => tokenizer("its tokenizer has no tokens".to_owned()),
    }
}

/// A text of the file, short enough for a message.
pub(super) fn bounded(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(128)
        .collect()
}

/// The name of one part of a split model, by that of the first: `x-00001-of-00003.gguf`.
fn part_path(first: &Path, part: u64, parts: u64) -> Option<PathBuf> {
    let stem = first.file_name()?.to_str()?;
    let stem = stem.strip_suffix(&format!("-00001-of-{parts:05}.gguf"))?;
    Some(first.with_file_name(format!("{stem}-{part:05}-of-{parts:05}.gguf")))
}

/// Checks that all parts of a split model are there and whole, and adds them up.
fn split(path: &Path, first: &mut Header, parts: u64) -> Result<(), LoadError> {
    if parts > MAX_PARTS {
        return Err(LoadError::Header {
            path: path.to_path_buf(),
            source: HeaderError::TooMany {
                what: "parts of a split model",
                count: parts,
                limit: MAX_PARTS,
            },
        });
    }
    for part in 2..=parts {
        let missing = |missing| LoadError::SplitMissing {
            path: path.to_path_buf(),
            parts,
            missing,
        };
        let Some(part_path) = part_path(path, part, parts) else {
            return Err(missing(format!(
                "by its name, which should end in -00001-of-{parts:05}.gguf, the second"
            )));
        };
        let (header, has) = match open(&part_path) {
            Err(LoadError::Missing { .. }) => {
                let name = part_path.file_name().unwrap_or_default();
                return Err(missing(name.to_string_lossy().into_owned()));
            }
            other => other?,
        };
        truncated(&part_path, &header, has)?;
        first.tensors = first.tensors.saturating_add(header.tensors);
        first.tensor_bytes = first.tensor_bytes.saturating_add(header.tensor_bytes);
        first.elements = first.elements.saturating_add(header.elements);
    }
    Ok(())
}
