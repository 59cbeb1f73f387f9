//! `[[client]]`: who may ask, and how much. Keys stand in the file as hashes alone.

use super::file::{Given, RawClient};
use super::fleet::WORKER;
use super::load::{Loader, url};
use super::queue::priority;
use super::units::Wrong;
use std::fmt;

/// One client.
#[derive(Debug, Clone)]
pub struct ClientConfig {
    /// Its name, in logs and metrics.
    pub name: String,
    /// The hashes of its keys: two while one takes the other's place.
    pub keys: Vec<KeyHash>,
    /// The models that it may name, `*` for anything; any where there is none.
    pub models: Vec<String>,
    /// The servers that it may reach, by their place; any where nothing is said.
    pub upstreams: Option<Vec<usize>>,
    /// Requests a minute.
    pub requests_per_minute: Option<u32>,
    /// Tokens a minute, prompts' and replies' together.
    pub tokens_per_minute: Option<u32>,
    /// Requests at once.
    pub concurrency: Option<usize>,
    /// How urgent its requests are at the most; the higher go first.
    pub priority: i32,
}

/// The SHA-256 of a key, which is random and long: nothing slower is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Of this key.
    #[must_use]
    pub fn of(key: &[u8]) -> Self {
        let mut hash = [0; 32];
        let digest = ring::digest::digest(&ring::digest::SHA256, key);
        hash.copy_from_slice(digest.as_ref());
        Self(hash)
    }

    /// Whether it is the same, in a time that tells nothing.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        use subtle::ConstantTimeEq as _;
        self.0.ct_eq(&other.0).into()
    }

    fn parse(text: &str) -> Option<Self> {
        let mut hash = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 2 * hash.len() {
            return None;
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| (*pair.get(at)? as char).to_digit(16);
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Some(Self(hash))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

/// As many clients as there may be: each has series of its own in the metrics.
const MAX_CLIENTS: usize = 1000;
const MAX_NAME_CHARS: usize = 64;

/// A client's name as it may be, or what is wrong with it and what to write.
pub(crate) fn client_name(text: &str) -> Result<String, String> {
    name(text).map_err(|wrong| format!("{}: {}", wrong.what, wrong.remedy))
}

fn name(text: &str) -> Result<String, Wrong> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !text.is_empty() && text.len() <= MAX_NAME_CHARS && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(Wrong::new(
        "this is no name of a client",
        format!("write up to {MAX_NAME_CHARS} letters, digits, `-`, `_` or `.`"),
    ))
}

fn keys(text: &str) -> Result<Vec<KeyHash>, Wrong> {
    let keys = words(text).map(KeyHash::parse).collect::<Option<Vec<_>>>();
    keys.filter(|keys| !keys.is_empty()).ok_or_else(|| {
        Wrong::new(
            "this is no SHA-256 of a key",
            "`isogloss key new NAME` makes a key and prints what belongs here: 64 hexadecimal digits",
        )
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(',').map(str::trim);
    words.filter(|word| !word.is_empty())
}

fn models(text: &str) -> Result<Vec<String>, Wrong> {
    let models: Vec<String> = words(text).map(str::to_owned).collect();
    if models.is_empty() {
        let remedy = "name models, `gpt-*` for all that begin so, or leave `models` out for any";
        return Err(Wrong::new("no model is named", remedy));
    }
    Ok(models)
}

fn count(text: &str) -> Result<u32, Wrong> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| {
        let remedy = "write a whole number from 1 to 4294967295, or leave it out for no limit";
        Wrong::new(format!("`{text}` is no count"), remedy)
    })
}

fn urgency(text: &str) -> Result<i32, Wrong> {
    let wrong = |remedy| Wrong::new(format!("`{text}` is no priority"), remedy);
    priority(text).map_err(wrong)
}

impl Loader {
    pub(super) fn clients(&mut self, raw: Vec<RawClient>) {
        if let Some(one) = raw.get(MAX_CLIENTS) {
            let what = format!("there are more than {MAX_CLIENTS} clients");
            self.fault(one.place.clone(), Wrong::new(what, "let some share a key"));
        }
        for one in raw {
            let place = one.place.clone();
            let Some(client) = self.client(one) else {
                continue;
            };
            let is_twice = |other: &ClientConfig| {
                let has = |key: &KeyHash| other.keys.contains(key);
                other.name == client.name || client.keys.iter().any(has)
            };
            if self.config.clients.iter().any(is_twice) {
                let what = format!(
                    "`{}` has the name or the key of another client",
                    client.name
                );
                let remedy = "give each client a name and a key of its own";
                self.fault(place, Wrong::new(what, remedy));
            }
            self.config.clients.push(client);
        }
    }

    pub(super) fn read<T>(
        &mut self,
        given: Option<Given>,
        read: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let given = given?;
        match read(&given.text) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.fault(given.place, wrong);
                None
            }
        }
    }

    fn client(&mut self, raw: RawClient) -> Option<ClientConfig> {
        for (given, key) in [(&raw.name, "name"), (&raw.key_sha256, "key_sha256")] {
            if given.is_none() {
                let what = format!("a client without a {key}");
                let remedy = "`isogloss key new NAME` prints the whole block";
                self.fault(raw.place.clone(), Wrong::new(what, remedy));
            }
        }
        let known: Vec<_> = self
            .config
            .upstreams
            .iter()
            .map(|one| (one.url.clone(), one.name.clone()))
            .collect();
        let worker = self.config.worker.model.is_some().then_some(known.len());
        let upstreams = self.read(raw.upstreams, |text| {
            let places = |word: &str| -> Vec<usize> {
                if word == WORKER {
                    return worker.into_iter().collect();
                }
                let url = url(word).ok();
                let is_it = |(its, name): &(reqwest::Url, Option<String>)| {
                    name.as_deref() == Some(word) || Some(its) == url.as_ref()
                };
                let all = known.iter().enumerate();
                all.filter(|(_, one)| is_it(one))
                    .map(|(at, _)| at)
                    .collect()
            };
            let mut all = Vec::new();
            for word in words(text) {
                let found = places(word);
                if found.is_empty() {
                    let remedy =
                        "write the name or the url of an upstream, as it stands there, or `worker`";
                    let what = "this client's upstream is not configured";
                    return Err(Wrong::new(what, remedy));
                }
                all.extend(found);
            }
            if all.is_empty() {
                let remedy = "name upstreams, or leave `upstreams` out for any";
                return Err(Wrong::new("no upstream is named", remedy));
            }
            Ok(all)
        });
        let models = self.read(raw.models, models).unwrap_or_default();
        let requests_per_minute = self.read(raw.requests_per_minute, count);
        let tokens_per_minute = self.read(raw.tokens_per_minute, count);
        let concurrency = self
            .read(raw.concurrency, count)
            .map(|count| count as usize);
        let priority = self.read(raw.priority, urgency).unwrap_or_default();
        Some(ClientConfig {
            name: self.read(raw.name, name)?,
            keys: self.read(raw.key_sha256, keys)?,
            models,
            upstreams,
            requests_per_minute,
            tokens_per_minute,
            concurrency,
            priority,
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written_and_is_that_of_one_key() {
        let hash = KeyHash::of(b"abc");
        let text = hash.to_string();
        assert!(text.starts_with("ba7816bf8f01cfea"), "{text}");
        assert!(KeyHash::parse(&text).unwrap().is(&hash));
        assert!(!KeyHash::of(b"abd").is(&hash));
        for wrong in ["", "ba78", &text[1..], &text.replace('b', "g")] {
            assert_eq!(KeyHash::parse(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{hash:?}"), "KeyHash(…)");
    }
}
