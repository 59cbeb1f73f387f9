//! The beginning of a reply that goes through as it is: whether its server reports an error where an answer was to be, under a
//! head that says that all is well.

use super::upstream_error::{in_place, unreadable};
use super::{Exchange, cut, garbage};
use crate::dialect::server::ReplyFault;
use crate::error::Error;
use crate::ir::{Event, Ids};
use crate::rules::Rule;
use serde::de::IgnoredAny;

/// How a stream begins.
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// There is no event yet.
    NotYet,
    /// With something of an answer.
    Well,
    /// With an error, or not at all.
    Badly(Error),
}

/// What stands in errors: most replies have nothing of it. A text that speaks of errors has no quotes around the word, or escaped ones.
const WORDS: [&str; 6] = [
    "\"error\"",
    "\"errors\"",
    "\"base_resp\"",
    "\"detail\"",
    "\"message\":\"",
    "\"message\": \"",
];

/// Whether this can be no error, as no word of errors is in it: most replies are looked at no further.
fn is_plain(bytes: &[u8]) -> bool {
    let has = |word: &&str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
    memchr::memchr(b'{', bytes).is_some() && !WORDS.iter().any(has)
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

impl Exchange {
    /// How a stream begins whose first whole events these are, or which is `over` with them. `event_bytes` bounds an event.
    #[must_use]
    pub fn begins(&self, rule: &Rule, bytes: &[u8], over: bool, event_bytes: usize) -> Begun {
        let mut server = self.server.stream(self.about(), event_bytes);
        let (mut data, mut ids) = (Vec::new(), Ids::new(0));
        // What is too large for us is for the client to read, or not.
        if server.push(bytes, &mut data).is_err() {
            return Begun::Well;
        }
        if over {
            server.finish(&mut data);
        }
        let Some(first) = data.first() else {
            return match over {
                true => Begun::Badly(cut()),
                false => Begun::NotYet,
            };
        };
        if is_plain(first) && is_json(first) {
            return Begun::Well;
        }
        match server.read(first, &mut ids).events.first() {
            Some(Event::Error(raw)) => Begun::Badly(in_place(rule, raw)),
            Some(Event::Done) => Begun::Badly(cut()),
            // What another wire says is for its clients to read, as long as it can be read.
            Some(Event::Garbage) if !is_json(first) => Begun::Badly(garbage()),
            _ => Begun::Well,
        }
    }

    /// What a whole reply reports in place of an answer, or that it is none.
    #[must_use]
    pub fn reports(&self, rule: &Rule, body: &[u8]) -> Option<Error> {
        let is_object = body.trim_ascii().starts_with(b"{") && body.trim_ascii().ends_with(b"}");
        if is_object && is_plain(body) {
            return None;
        }
        match self.server.whole(body, &self.about(), &mut Ids::new(0)) {
            Err(ReplyFault::Error(raw)) => Some(in_place(rule, &raw)),
            Err(fault) if !is_json(body) => Some(unreadable(fault, &rule.too_long)),
            _ => None,
        }
    }
}
