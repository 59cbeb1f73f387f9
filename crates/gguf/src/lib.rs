//! A GGUF file's header comes in; what it says of the model and of its own size goes out. Never
//! reads tensor data, and never allocates by a number that the file does not have the bytes for.
//!
//! llama.cpp reads the same header afterwards. This guard stands before it because it is native
//! code, because model files come from strangers, and because its errors say what to do.
//!
//! Depends on the standard library alone, so that it can be fuzzed without a C++ compiler.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead};

mod tensor;

/// `GGUF`, the file's first four bytes.
pub const MAGIC: [u8; 4] = *b"GGUF";

/// Metadata entries of a file. Real ones have fewer than 100.
pub const MAX_VALUES: u64 = 65_536;
/// Tensors of a file. Real ones have a few thousand.
pub const MAX_TENSORS: u64 = 1 << 20;
/// Bytes of a key: what the format allows.
pub const MAX_KEY_BYTES: u64 = 65_535;
/// Bytes of a text: a chat template has about 20,000.
pub const MAX_TEXT_BYTES: u64 = 1 << 20;
/// Bytes of the texts that are kept.
pub const MAX_KEPT_BYTES: u64 = 8 << 20;
/// Elements of an array. Vocabularies have up to 300,000 tokens, and as many merges.
pub const MAX_ELEMENTS: u64 = 1 << 23;
/// Tokens of a vocabulary.
pub const MAX_TOKENS: u64 = 1 << 22;
/// Numbers of an array that are kept: one a layer, as hybrid models have them.
const MAX_KEPT_NUMBERS: u64 = 1_024;

/// The key of the model's architecture.
pub const ARCHITECTURE: &str = "general.architecture";
/// The key of the vocabulary.
pub const TOKENS: &str = "tokenizer.ggml.tokens";
const ALIGNMENT: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u64 = 32;

/// A metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any unsigned integer.
    Unsigned(u64),
    /// Any signed integer.
    Signed(i64),
    /// A number with a point.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A text. Bytes that are not UTF-8 are replaced.
    Text(String),
    /// A list: its length, and its numbers where it has only a few.
    List {
        /// Elements.
        length: u64,
        /// The elements, where they are integers and not many.
        numbers: Vec<u64>,
        /// Whether the elements are texts.
        is_text: bool,
    },
}

/// What a header says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Header {
    /// The format's version.
    pub version: u32,
    /// The metadata, by key.
    pub values: BTreeMap<String, Value>,
    /// How many tensors there are.
    pub tensors: u64,
    /// Bytes of all tensors.
    pub tensor_bytes: u64,
    /// Elements of all tensors: the model's parameters.
    pub elements: u64,
    /// The file's length in bytes, by the header: where the last tensor ends.
    pub end: u64,
}

impl Header {
    /// A whole number that is not negative.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.values.get(key)? {
            Value::Unsigned(number) => Some(*number),
            Value::Signed(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// A text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.values.get(key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// True or false.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.values.get(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The model's architecture (`llama`, `qwen3`, …).
    #[must_use]
    pub fn architecture(&self) -> Option<&str> {
        self.text(ARCHITECTURE)
    }

    /// A value of the model's architecture (`llama.block_count`): a number, or a list of them with
    /// one a layer.
    #[must_use]
    pub fn of_model(&self, key: &str) -> Option<&Value> {
        self.values.get(&format!("{}.{key}", self.architecture()?))
    }

    /// How many elements a list has; none where there is no such list.
    #[must_use]
    pub fn length(&self, key: &str) -> u64 {
        match self.values.get(key) {
            Some(Value::List { length, .. }) => *length,
            _ => 0,
        }
    }
}

/// What is wrong with a header.
#[derive(Debug)]
pub enum HeaderError {
    /// The file cannot be read.
    Io(io::Error),
    /// It does not begin with the magic bytes.
    Magic,
    /// A version that this build cannot read.
    Version(u32),
    /// The numbers are big-endian.
    BigEndian,
    /// The file ends inside of its header.
    Cut {
        /// Where it ends.
        at: u64,
    },
    /// A number is beyond what any model needs.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        limit: u64,
    },
    /// Something else is wrong.
    Invalid {
        /// What.
        what: &'static str,
        /// Where in the file.
        at: u64,
    },
    /// A tensor type that this build does not know.
    TensorType(u32),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => f.write_str("the file cannot be read"),
            Self::Magic => f.write_str("the file does not begin with `GGUF`"),
            Self::Version(version @ 0..=1) => write!(
                f,
                "GGUF version {version} is too old: convert the model again with a current converter"
            ),
            Self::Version(version) => write!(
                f,
                "GGUF version {version} is newer than this build reads (2 and 3): update isogloss"
            ),
            Self::BigEndian => {
                f.write_str("the file is for big-endian machines: get the little-endian one")
            }
            Self::Cut { at } => write!(
                f,
                "the file ends at byte {at}, inside of its header: download it again"
            ),
            Self::TooMany { what, count, limit } => {
                write!(
                    f,
                    "{count} {what} are more than any model has ({limit}): the file is damaged"
                )
            }
            Self::Invalid { what, at } => write!(f, "{what} (at byte {at}): the file is damaged"),
            Self::TensorType(kind) => write!(
                f,
                "tensor type {kind} is unknown to this build: update isogloss, or take another quantisation"
            ),
        }
    }
}

impl std::error::Error for HeaderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Reads the header of a file of so many bytes.
///
/// # Errors
/// It is no GGUF header, or one beyond the limits of this module.
pub fn read(input: impl BufRead, file_bytes: u64) -> Result<Header, HeaderError> {
    let mut reader = Reader {
        input,
        at: 0,
        file_bytes,
        kept: 0,
        hasher: RandomState::new(),
    };
    if reader.array::<4>()? != MAGIC {
        return Err(HeaderError::Magic);
    }
    let version = reader.u32()?;
    match version {
        2 | 3 => {}
        _ if matches!(version.swap_bytes(), 1..=3) => return Err(HeaderError::BigEndian),
        _ => return Err(HeaderError::Version(version)),
    }
    let tensors = reader.count("tensors", MAX_TENSORS)?;
    let count = reader.count("metadata entries", MAX_VALUES)?;
    let mut values = BTreeMap::new();
    for _ in 0..count {
        let at = reader.at;
        let key = reader.text("bytes of a metadata key", MAX_KEY_BYTES)?;
        let value = reader.value(&key)?;
        if values.insert(key, value).is_some() {
            return Err(HeaderError::Invalid {
                what: "a metadata key stands twice",
                at,
            });
        }
    }
    let mut header = Header {
        version,
        values,
        tensors,
        ..Header::default()
    };
    reader.tensors(&mut header)?;
    Ok(header)
}

struct Reader<R> {
    input: R,
    at: u64,
    file_bytes: u64,
    /// Bytes of texts that were kept.
    kept: u64,
    hasher: RandomState,
}

// === impl Reader: numbers and bytes ===

impl<R: BufRead> Reader<R> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let mut bytes = [0; N];
        self.input
            .read_exact(&mut bytes)
            .map_err(|error| self.cut(error))?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn cut(&self, error: io::Error) -> HeaderError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => HeaderError::Cut {
                at: self.file_bytes,
            },
            _ => HeaderError::Io(error),
        }
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn count(&mut self, what: &'static str, limit: u64) -> Result<u64, HeaderError> {
        match self.u64()? {
            count if count > limit => Err(HeaderError::TooMany { what, count, limit }),
            count => Ok(count),
        }
    }

    /// Hands `length` bytes on in pieces, as they come.
    fn bytes(&mut self, length: u64, mut take: impl FnMut(&[u8])) -> Result<(), HeaderError> {
        if length > self.file_bytes.saturating_sub(self.at) {
            return Err(HeaderError::Cut {
                at: self.file_bytes,
            });
        }
        let mut left = length;
        while left > 0 {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(HeaderError::Io(error)),
            };
            if buffer.is_empty() {
                return Err(HeaderError::Cut { at: self.at });
            }
            let some = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            take(&buffer[..some]);
            self.input.consume(some);
            self.at += some as u64;
            left -= some as u64;
        }
        Ok(())
    }

    fn text(&mut self, what: &'static str, limit: u64) -> Result<String, HeaderError> {
        let length = self.count(what, limit)?;
        self.kept += length;
        if self.kept > MAX_KEPT_BYTES {
            return Err(HeaderError::TooMany {
                what: "bytes of metadata texts",
                count: self.kept,
                limit: MAX_KEPT_BYTES,
            });
        }
        let mut bytes = Vec::new();
        self.bytes(length, |some| bytes.extend_from_slice(some))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

// === impl Reader: metadata ===

/// The format's value types.
mod kind {
    pub(super) const U8: u32 = 0;
    pub(super) const I8: u32 = 1;
    pub(super) const U16: u32 = 2;
    pub(super) const I16: u32 = 3;
    pub(super) const U32: u32 = 4;
    pub(super) const I32: u32 = 5;
    pub(super) const F32: u32 = 6;
    pub(super) const BOOL: u32 = 7;
    pub(super) const TEXT: u32 = 8;
    pub(super) const ARRAY: u32 = 9;
    pub(super) const U64: u32 = 10;
    pub(super) const I64: u32 = 11;
    pub(super) const F64: u32 = 12;
}

impl<R: BufRead> Reader<R> {
    fn value(&mut self, key: &str) -> Result<Value, HeaderError> {
        match self.u32()? {
            kind::TEXT => Ok(Value::Text(
                self.text("bytes of a metadata text", MAX_TEXT_BYTES)?,
            )),
            kind::ARRAY => self.list(key),
            kind => self.scalar(kind),
        }
    }

    fn scalar(&mut self, kind: u32) -> Result<Value, HeaderError> {
        Ok(match kind {
            kind::U8 => Value::Unsigned(u8::from_le_bytes(self.array()?).into()),
            kind::U16 => Value::Unsigned(u16::from_le_bytes(self.array()?).into()),
            kind::U32 => Value::Unsigned(u32::from_le_bytes(self.array()?).into()),
            kind::U64 => Value::Unsigned(u64::from_le_bytes(self.array()?)),
            kind::I8 => Value::Signed(i8::from_le_bytes(self.array()?).into()),
            kind::I16 => Value::Signed(i16::from_le_bytes(self.array()?).into()),
            kind::I32 => Value::Signed(i32::from_le_bytes(self.array()?).into()),
            kind::I64 => Value::Signed(i64::from_le_bytes(self.array()?)),
            kind::F32 => Value::Float(f32::from_le_bytes(self.array()?).into()),
            kind::F64 => Value::Float(f64::from_le_bytes(self.array()?)),
            kind::BOOL => Value::Bool(self.array::<1>()? != [0]),
            _ => {
                return Err(HeaderError::Invalid {
                    what: "a metadata value is of no known type",
                    at: self.at - 4,
                });
            }
        })
    }

    fn list(&mut self, key: &str) -> Result<Value, HeaderError> {
        let kind = self.u32()?;
        let length = self.count("elements of a metadata list", MAX_ELEMENTS)?;
        if kind == kind::TEXT {
            if key == TOKENS {
                self.tokens(length)?;
            } else {
                for _ in 0..length {
                    let bytes = self.count("bytes of a metadata text", MAX_TEXT_BYTES)?;
                    self.bytes(bytes, |_| ())?;
                }
            }
        } else if length <= MAX_KEPT_NUMBERS {
            let mut numbers = Vec::new();
            for _ in 0..length {
                match self.scalar(kind)? {
                    Value::Unsigned(number) => numbers.push(number),
                    Value::Signed(number) => numbers.extend(u64::try_from(number)),
                    _ => {}
                }
            }
            return Ok(Value::List {
                length,
                numbers,
                is_text: false,
            });
        } else {
            let size = match kind {
                kind::U8 | kind::I8 | kind::BOOL => 1,
                kind::U16 | kind::I16 => 2,
                kind::U32 | kind::I32 | kind::F32 => 4,
                kind::U64 | kind::I64 | kind::F64 => 8,
                _ => {
                    return Err(HeaderError::Invalid {
                        what: "a metadata list holds no known type",
                        at: self.at - 12,
                    });
                }
            };
            self.bytes(length * size, |_| ())?;
        }
        Ok(Value::List {
            length,
            numbers: Vec::new(),
            is_text: kind == kind::TEXT,
        })
    }

    /// Reads the vocabulary. The same token twice is an assertion in llama.cpp, which ends the
    /// process (0.1.160, `id_to_token.size() == token_to_id.size()`).
    fn tokens(&mut self, length: u64) -> Result<(), HeaderError> {
        if length > MAX_TOKENS {
            return Err(HeaderError::TooMany {
                what: "tokens",
                count: length,
                limit: MAX_TOKENS,
            });
        }
        let mut seen = HashSet::new();
        let mut token = Vec::new();
        for _ in 0..length {
            let at = self.at;
            let bytes = self.count("bytes of a token", MAX_KEY_BYTES)?;
            token.clear();
            self.bytes(bytes, |some| token.extend_from_slice(some))?;
            // Keyed hashes, so that two tokens meet by chance only: 64 bits, 300,000 tokens.
            if !token.is_empty() && !seen.insert(self.hasher.hash_one(&token)) {
                return Err(HeaderError::Invalid {
                    what: "a token of the vocabulary stands twice",
                    at,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
