//! A server's key: sent where the server looks for it, and taken out of what it says.

use super::Upstream;
use super::identify::PUT_RIGHT;
use crate::config::UpstreamConfig;
use http::HeaderValue;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::redact;
use isogloss_core::rules::Http;
use std::sync::{MutexGuard, PoisonError};

/// A server refuses the key that it is configured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The status that it answered.
    pub status: u16,
    /// Whatever it was asked.
    pub always: bool,
}

/// What is known of the key that a server is configured with.
#[derive(Debug, Default)]
pub(super) struct KnownKey {
    refused: Option<Refused>,
    /// A request was answered with it: what it is refused beside that tells nothing of what clients ask.
    serves: bool,
}

impl Upstream {
    /// Whether it is asked with a key that is not the client's.
    #[must_use]
    pub const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// With a key of the upstream's own, none of the client's credentials goes along.
    pub(super) fn authorize(&self, headers: &mut http::HeaderMap, with_key: bool) {
        if let Some(authorization) = &self.authorization {
            for name in [
                "authorization",
                "x-api-key",
                "x-goog-api-key",
                "api-key",
                "cookie",
            ] {
                headers.remove(name);
            }
            if with_key {
                headers.insert(http::header::AUTHORIZATION, authorization.clone());
            }
        }
    }

    /// A text of the server's without its key; `None` where the key is not in it.
    #[must_use]
    pub fn redact(&self, text: &[u8]) -> Option<Vec<u8>> {
        redact(text, self.key.as_ref()?.expose().as_bytes())
    }

    /// Whether the key is refused, as far as the server's own answers to questions tell.
    #[must_use]
    pub fn refused(&self) -> Option<Refused> {
        self.known_key().refused
    }

    /// A request was answered with the key: it is good, whatever else is refused to it.
    pub fn key_serves(&self) {
        if !self.has_key() {
            return;
        }
        let mut known = self.known_key();
        known.serves = true;
        if known.refused.take().is_some() {
            tracing::info!(parent: None, upstream = self.name(), name = self.given_name(), "a request was answered with the key that was refused: it is good for that");
        }
    }

    /// A request was refused for the key: what it was good for may be over, and the next question tells.
    pub fn doubt_key(&self) {
        self.known_key().serves = false;
    }

    fn known_key(&self) -> MutexGuard<'_, KnownKey> {
        (self.known_key.lock()).unwrap_or_else(PoisonError::into_inner)
    }

    /// The server answered a question that was asked with the key; `is_all` where nothing else that it was asked went better.
    pub(super) fn note_key(&self, status: u16, is_all: bool) {
        if !self.has_key() {
            return;
        }
        let mut known = self.known_key();
        match status {
            401 | 403 if known.serves => {}
            // A key that may not list models is answered 403, and good for the rest.
            401 | 403 if is_all || status == 401 => {
                if known.refused.is_none() {
                    tracing::warn!(parent: None, upstream = self.name(), name = self.given_name(), status, "the key that is configured was refused ({status}): {PUT_RIGHT}");
                }
                let always = is_all || known.refused.is_some_and(|refused| refused.always);
                known.refused = Some(Refused { status, always });
            }
            200..300 => known.refused = None,
            _ => {}
        }
    }

    /// An error of the server's without its key, and without its code for one that is no client's: that could be taken for the
    /// client's own.
    #[must_use]
    pub fn redact_error(&self, mut error: Error) -> Error {
        if error.kind == Kind::UpstreamAuth && self.has_key() {
            error.code = None;
        }
        let clear = |text: &mut String| {
            if let Some(redacted) = self.redact(text.as_bytes()) {
                *text = String::from_utf8_lossy(&redacted).into_owned();
            }
        };
        clear(&mut error.message);
        error.param.iter_mut().for_each(clear);
        error.code.iter_mut().for_each(clear);
        error
    }
}

/// What an upstream's key is sent as.
pub(super) fn bearer(upstream: &UpstreamConfig) -> Result<Option<HeaderValue>, ()> {
    let Some(key) = &upstream.api_key else {
        return Ok(None);
    };
    let mut value =
        HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_invalid| ())?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Sets what this server wants in its headers: the key under another name, and some of its own.
/// The client's own of these names stay.
pub fn address_headers(http: &Http, headers: &mut http::HeaderMap) {
    use http::header::{AUTHORIZATION, HeaderName};
    let name = |name: &str| HeaderName::from_bytes(name.as_bytes()).ok();
    if let Some(key) = http.key_header.as_deref().and_then(name)
        && let Some(value) = headers.remove(AUTHORIZATION)
    {
        let token = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        match token.and_then(|token| HeaderValue::from_str(token).ok()) {
            Some(mut token) if !headers.contains_key(&key) => {
                token.set_sensitive(true);
                headers.insert(key, token);
            }
            Some(_) => {}
            // Another scheme is the server's to judge.
            None => {
                headers.insert(AUTHORIZATION, value);
            }
        }
    }
    for (known, value) in &http.headers {
        if let (Some(known), Ok(value)) = (name(known), HeaderValue::from_str(value))
            && !headers.contains_key(&known)
        {
            headers.insert(known, value);
        }
    }
}
