//! Media: images and audio that stand among a prompt's tokens.
//!
//! - [`image`] and [`audio`]: a client's bytes to pixels, or to a file that is what it says it is
//! - [`Media`]: one of them, ready for one model
//! - [`Sequence`]: tokens, and media in their places
//! - [`Room`]: how much memory all of them may take

use isogloss_core::error::{Error, Kind};
use std::any::Any;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub mod audio;
pub mod image;
mod sequence;

pub use sequence::{FILLER, Placed, Sequence};

/// What a part is, if it is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Modality {
    /// An image.
    Image,
    /// Audio.
    Audio,
}

/// What a model takes beside text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modalities {
    /// Images.
    pub image: bool,
    /// Audio.
    pub audio: bool,
}

impl Modalities {
    /// Whether this is among them.
    #[must_use]
    pub fn has(self, modality: Modality) -> bool {
        match modality {
            Modality::Image => self.image,
            Modality::Audio => self.audio,
        }
    }

    /// Their names.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        [(self.image, "image"), (self.audio, "audio")]
            .into_iter()
            .filter_map(|(is_taken, name)| is_taken.then_some(name))
            .collect()
    }
}

/// An image or a piece of audio as one model's prompt holds it. It is computed when the prompt is.
pub struct Media {
    /// What it is.
    pub modality: Modality,
    /// Tokens that it takes in the context window, and in the KV cache.
    pub tokens: u32,
    /// Positions by which it moves what comes after it: as many as tokens, but fewer where the
    /// model counts positions in rows and columns (M-RoPE).
    pub positions: u32,
    /// The same for the same content, and for no other.
    pub key: u128,
    /// What the kernels made of it.
    pub content: Box<dyn Any + Send + Sync>,
    /// The memory that it takes.
    pub held: Held,
}

#[cfg(test)]
impl Media {
    /// One without content.
    #[expect(clippy::unwrap_used, reason = "a test may panic")]
    pub(super) fn empty(key: u128, tokens: u32, positions: u32) -> Arc<Self> {
        Arc::new(Self {
            modality: Modality::Image,
            tokens,
            positions,
            key,
            content: Box::new(()),
            held: Room::default().hold(0).unwrap(),
        })
    }
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Media")
            .field("modality", &self.modality)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Media {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.tokens == other.tokens
    }
}

impl Eq for Media {}

/// Makes media ready for one model. Any thread may ask it.
pub trait Projector: fmt::Debug + Send + Sync {
    /// What the model takes.
    fn modalities(&self) -> Modalities;

    /// An image, ready for the model.
    ///
    /// # Errors
    /// What is wrong with it, for its sender.
    fn image(&self, picture: image::Picture, room: &Room) -> Result<Media, Refusal>;

    /// Audio, ready for the model.
    ///
    /// # Errors
    /// What is wrong with it, for its sender.
    fn audio(&self, clip: audio::Clip, room: &Room) -> Result<Media, Refusal>;
}

/// Why a part is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// What is wrong with it, and the remedy.
    Invalid(String),
    /// There is nothing wrong with it, but no memory either.
    Busy,
}

impl Refusal {
    pub(super) fn invalid<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Invalid(message.into()))
    }

    /// As the error of a request whose part is at this place.
    #[must_use]
    pub fn at(self, place: &str) -> Error {
        match self {
            Self::Invalid(message) => {
                Error::new(Kind::InvalidRequest, format!("`{place}`: {message}")).at(place)
            }
            Self::Busy => {
                let message = "the images and audio of this request and others take all the memory that \
                               the worker gives them: send fewer, or try again later";
                Error::new(Kind::Overloaded, message).retry_after(1)
            }
        }
    }
}

/// A key of some bytes. Hashes have keys of their own in each process, which nobody outside knows,
/// so that nobody can make content whose key is that of another's.
#[must_use]
pub fn key(parts: &[&[u8]]) -> u128 {
    static HASHERS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let hashers = HASHERS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let [high, low] = [0, 1].map(|at: usize| u128::from(hashers[at].hash_one(parts)));
    high << 64 | low
}

/// Bytes that media may take together. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Room {
    used: Arc<AtomicU64>,
    most: u64,
}

/// Some of them, until this is dropped.
#[derive(Debug)]
pub struct Held {
    used: Arc<AtomicU64>,
    bytes: u64,
}

impl Room {
    /// So many bytes.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self {
            used: Arc::default(),
            most,
        }
    }

    /// Holds some.
    ///
    /// # Errors
    /// [`Refusal::Busy`] where others hold too many.
    pub fn hold(&self, bytes: u64) -> Result<Held, Refusal> {
        let add = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add)
            .map_err(|_| Refusal::Busy)?;
        Ok(Held {
            used: Arc::clone(&self.used),
            bytes,
        })
    }
}

impl Default for Room {
    /// Some dozens of images: those of running answers, and of requests that wait.
    fn default() -> Self {
        Self::new(1 << 30)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn memory_is_held_up_to_the_limit_and_given_back() {
        let room = Room::new(10);
        let six = room.hold(6).unwrap();
        assert_eq!(room.hold(5).unwrap_err(), Refusal::Busy);
        let four = room.hold(4).unwrap();
        drop(six);
        assert!(room.hold(6).is_ok());
        assert!(room.hold(u64::MAX).is_err());
        drop(four);
        assert!(room.hold(10).is_ok());
    }

    #[test]
    fn a_key_is_that_of_the_parts_and_of_where_one_ends() {
        assert_eq!(key(&[b"ab", b"c"]), key(&[b"ab", b"c"]));
        assert_ne!(key(&[b"ab", b"c"]), key(&[b"a", b"bc"]));
        assert_ne!(key(&[b"ab"]), key(&[b"ac"]));
    }
}
