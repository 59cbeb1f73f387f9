//! What became of the last requests, for the console: each request's way through the house, in
//! bounded memory. Pure: facts in, the newest entries out. Bodies are in it only where the operator
//! wants that, cut and without what looks like a key.

mod redact;

use isogloss_core::ir::{Calls, Loss};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use redact::redacted;

/// Entries that are remembered.
pub const MAX_ENTRIES: usize = 1000;
/// Bytes that all of them may take.
pub const MAX_BYTES: usize = 16 << 20;
/// Of each body that is recorded.
pub const MAX_BODY_BYTES: usize = 64 << 10;
/// Longer than what a key is known by.
const MAX_TORN_BYTES: usize = 40;
/// Of each field that a client or a server chose: a path, a model, a loss's place.
const MAX_WORD_BYTES: usize = 256;
/// Of the losses and the attempts of one request.
const MAX_LIST: usize = 32;

/// What is remembered of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recording {
    /// Nothing.
    Off,
    /// How it was met, sizes and times; no byte that a client or a model wrote but the names of its fields.
    #[default]
    Shapes,
    /// Its bodies too: what the client sent, the server got, the server said and the client got.
    Bodies,
}

/// A body, or as much of it as is recorded.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Text {
    /// How many bytes it had.
    pub bytes: u64,
    /// The first of them; `None` where bodies are not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// They are not all.
    pub cut: bool,
    #[serde(skip)]
    raw: Vec<u8>,
}

/// What one server was asked, and what it said.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Attempt {
    /// The server, as the configuration names it.
    pub upstream: String,
    /// The path at which it was asked.
    pub path: String,
    /// What it was sent.
    pub sent: Text,
    /// Its answer's status; `None` where none came.
    pub status: Option<u16>,
    /// What it said; empty where its bytes went through unread.
    pub came: Text,
    /// How that broke the contract, where it did.
    pub violation: Option<Broken>,
}

/// How a reply broke the contract.
#[derive(Debug, Clone, Serialize)]
pub struct Broken {
    /// Where in the reply, in the words of the client's dialect.
    pub place: String,
    /// JSON Pointer below that.
    pub pointer: String,
    /// The rule that is broken.
    pub rule: String,
}

/// What was not told to the server.
#[derive(Debug, Clone, Serialize)]
pub struct Lost {
    /// JSON Pointer into the client's request.
    pub pointer: String,
    /// Why.
    pub reason: String,
    /// Who makes sure of it instead.
    pub enforced_by: isogloss_core::ir::EnforcedBy,
}

/// What must be true of the reply, and what the server's content means, in words.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Planned {
    /// Whether calls are demanded: `required`, `optional`, …
    pub calls: &'static str,
    /// How many tools may be called.
    pub tools: usize,
    /// What the content must be: the kind of constraint.
    pub content: Option<&'static str>,
    /// What the server's content is read as.
    pub rewrap: &'static str,
}

/// A request's way, as it is gathered.
#[derive(Debug, Default)]
pub struct Way {
    has_bodies: bool,
    /// What the client sent.
    request: Text,
    /// What the client got.
    reply: Text,
    planned: Option<Planned>,
    losses: Vec<Lost>,
    lost: usize,
    attempts: Vec<Attempt>,
    retries: Vec<&'static str>,
}

/// What is told of a request in a list.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// The request's own id, as in `x-isogloss-request-id` and the log.
    pub id: String,
    /// Its place in the order in which requests ended; later is more.
    pub seq: u64,
    /// When it came, in Unix milliseconds.
    pub time: u64,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// The client's dialect, where its route is translated.
    pub client: Option<&'static str>,
    /// Whose key it had.
    pub caller: Option<String>,
    /// The server's dialect and version.
    pub server: Option<String>,
    /// The server, as the configuration names it.
    pub upstream: Option<String>,
    /// The model that the client named.
    pub model: Option<String>,
    /// How the demand was met.
    pub strategy: Option<&'static str>,
    /// How it ended.
    pub outcome: &'static str,
    /// The reply's status; `None` where there was none.
    pub status: Option<u16>,
    /// The error's code.
    pub code: Option<&'static str>,
    /// The reply was streamed.
    pub stream: bool,
    /// How many things the server was not told.
    pub losses: usize,
    /// How often it was sent again.
    pub retries: usize,
    /// What was mended.
    pub repairs: Option<String>,
    /// Bytes that the client sent.
    pub request_bytes: u64,
    /// Bytes that it got.
    pub reply_bytes: u64,
    /// Milliseconds until the first byte of the reply.
    pub first_byte_ms: Option<f64>,
    /// Of the proxy's own work.
    pub own_ms: f64,
    /// Of the server's.
    pub upstream_ms: Option<f64>,
    /// From the request's head to the last byte of its reply.
    pub duration_ms: f64,
}

/// A request that is over.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// What stands in the list.
    #[serde(flatten)]
    pub summary: Summary,
    /// What its reply had to be.
    pub plan: Option<Planned>,
    /// What the server was not told; the first of them where they are many.
    pub lost: Vec<Lost>,
    /// Each time that a server was asked, in order; the last where they are many.
    pub attempts: Vec<Attempt>,
    /// Why it was sent again, each time.
    pub retried: Vec<&'static str>,
    /// What the client sent.
    pub request: Text,
    /// What it got.
    pub reply: Text,
}

/// Which entries are wanted; each that is `None` does not matter.
#[derive(Debug, Default)]
pub struct Filter {
    /// The outcome's word.
    pub outcome: Option<String>,
    /// The strategy's word.
    pub strategy: Option<String>,
    /// A part of the model's name.
    pub model: Option<String>,
    /// A client's dialect, or the beginning of a server's.
    pub dialect: Option<String>,
    /// Only what ended later than this.
    pub since: u64,
    /// At most so many, the newest.
    pub limit: usize,
}

/// The last requests.
#[derive(Debug)]
pub struct Journal {
    recording: Recording,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<(usize, Arc<Entry>)>,
    bytes: usize,
    seq: u64,
}

/// Whether calls are demanded, in a word.
#[must_use]
pub const fn calls_word(calls: Calls) -> &'static str {
    match calls {
        Calls::Unstated => "unstated",
        Calls::Forbidden => "forbidden",
        Calls::Optional => "optional",
        Calls::Required => "required",
    }
}

fn word(text: &str) -> String {
    let end = (0..=text.len().min(MAX_WORD_BYTES)).rev();
    let end = end.into_iter().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default().to_owned()
}

// === impl Text ===

impl Text {
    fn push(&mut self, bytes: &[u8], is_recorded: bool) {
        self.bytes += bytes.len() as u64;
        if !is_recorded {
            return;
        }
        let room = MAX_BODY_BYTES.saturating_sub(self.raw.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.raw.extend_from_slice(taken);
        self.cut |= taken.len() < bytes.len();
    }

    fn close(&mut self) {
        if !self.raw.is_empty() {
            let raw = std::mem::take(&mut self.raw);
            let mut text = redacted(&String::from_utf8_lossy(&raw));
            if self.cut {
                // Of a key that is cut off too little may be left to know it by.
                let is_torn = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
                let torn = text.bytes().rev().take(MAX_TORN_BYTES);
                let torn = torn.take_while(is_torn).count();
                text.truncate(text.len() - torn);
            }
            self.text = Some(text);
        }
    }

    fn weight(&self) -> usize {
        self.text.as_ref().map_or(0, String::len)
    }
}

// === impl Way ===

impl Way {
    /// The client's body.
    pub fn asked(&mut self, body: &[u8]) {
        self.request.push(body, self.has_bodies);
    }

    /// How it is to be met; the last plan counts.
    pub fn planned(&mut self, planned: Planned, losses: &[Loss]) {
        self.planned = Some(planned);
        self.lost = losses.len();
        let told = losses.iter().take(MAX_LIST).map(|loss| Lost {
            pointer: word(&loss.pointer),
            reason: loss.reason.clone(),
            enforced_by: loss.enforced_by,
        });
        self.losses = told.collect();
    }

    /// A server is sent this.
    pub fn sending<'a>(
        &mut self,
        upstream: &str,
        path: &str,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) {
        if self.attempts.len() >= MAX_LIST {
            self.attempts.remove(0);
        }
        let mut sent = Text::default();
        pieces.for_each(|piece| sent.push(piece, self.has_bodies));
        if self.attempts.is_empty() {
            // Nearly always the only one, and kept as long as a stream is open.
            self.attempts.reserve_exact(1);
        }
        self.attempts.push(Attempt {
            upstream: word(upstream),
            path: word(path),
            sent,
            ..Attempt::default()
        });
    }

    /// It answers with this status.
    pub fn answered(&mut self, status: u16) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.status = Some(status);
        }
    }

    /// It says this.
    pub fn came(&mut self, bytes: &[u8]) {
        let has_bodies = self.has_bodies;
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.came.push(bytes, has_bodies);
        }
    }

    /// What it said breaks the contract.
    pub fn broke(&mut self, broken: Broken) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.violation = Some(broken);
        }
    }

    /// It is sent again.
    pub fn retried(&mut self, why: &'static str) {
        if self.retries.len() < MAX_LIST {
            self.retries.push(why);
        }
    }

    /// The client gets this.
    pub fn replied(&mut self, bytes: &[u8]) {
        self.reply.push(bytes, self.has_bodies);
    }

    /// The client got so many bytes, none of which is remembered.
    pub const fn counted(&mut self, bytes: u64) {
        self.reply.bytes = bytes;
    }

    /// The request is over.
    fn close(mut self, mut summary: Summary) -> Entry {
        self.request.close();
        self.reply.close();
        for attempt in &mut self.attempts {
            attempt.sent.close();
            attempt.came.close();
        }
        summary.path = word(&summary.path);
        summary.model = summary.model.as_deref().map(word);
        summary.losses = self.lost;
        summary.retries = self.retries.len();
        summary.request_bytes = self.request.bytes;
        summary.reply_bytes = self.reply.bytes;
        Entry {
            summary,
            plan: self.planned,
            lost: self.losses,
            attempts: self.attempts,
            retried: self.retries,
            request: self.request,
            reply: self.reply,
        }
    }
}

// === impl Entry ===

impl Entry {
    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        let lost = self.lost.iter();
        let lost = lost.map(|lost| size_of::<Lost>() + lost.pointer.len() + lost.reason.len());
        let attempts = self.attempts.iter().map(|attempt| {
            let words = attempt.upstream.len() + attempt.path.len();
            size_of::<Attempt>() + words + attempt.sent.weight() + attempt.came.weight()
        });
        let summary = &self.summary;
        let words = [
            &summary.model,
            &summary.server,
            &summary.upstream,
            &summary.caller,
        ];
        let words = words.into_iter().flatten().map(String::len).sum::<usize>();
        let bodies = self.request.weight() + self.reply.weight();
        size_of::<Self>()
            + words
            + summary.path.len()
            + summary.id.len()
            + bodies
            + lost.sum::<usize>()
            + attempts.sum::<usize>()
    }

    fn is_wanted(&self, filter: &Filter) -> bool {
        let told = &self.summary;
        let is = |want: &Option<String>, have: Option<&str>| {
            want.as_deref().is_none_or(|want| have == Some(want))
        };
        let model = filter.model.as_deref();
        let model = model.is_none_or(|want| {
            let have = told.model.as_deref().unwrap_or_default();
            have.contains(want)
        });
        let dialect = filter.dialect.as_deref().is_none_or(|want| {
            let server = told.server.as_deref().unwrap_or_default();
            told.client == Some(want) || server == want || server.split('@').next() == Some(want)
        });
        is(&filter.outcome, Some(told.outcome))
            && is(&filter.strategy, told.strategy)
            && model
            && dialect
    }
}

// === impl Journal ===

impl Default for Journal {
    fn default() -> Self {
        Self::new(Recording::default())
    }
}

impl Journal {
    /// An empty one.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self {
            recording,
            kept: Mutex::default(),
        }
    }

    /// What is remembered.
    #[must_use]
    pub const fn recording(&self) -> Recording {
        self.recording
    }

    /// Where a request that begins notes its way; `None` where nothing is remembered.
    #[must_use]
    pub fn begin(&self) -> Option<Box<Way>> {
        (self.recording != Recording::Off).then(|| {
            Box::new(Way {
                has_bodies: self.recording == Recording::Bodies,
                ..Way::default()
            })
        })
    }

    /// A request is over: it is remembered, and the oldest are forgotten that have no room any more.
    pub fn keep(&self, way: Way, summary: Summary) {
        let mut entry = way.close(summary);
        let weight = entry.weight();
        let mut forgotten = Vec::new();
        let mut kept = self.kept();
        kept.seq += 1;
        entry.summary.seq = kept.seq;
        kept.bytes += weight;
        kept.entries.push_back((weight, Arc::new(entry)));
        while kept.entries.len() > MAX_ENTRIES || kept.bytes > MAX_BYTES {
            let Some((weight, oldest)) = kept.entries.pop_front() else {
                break;
            };
            kept.bytes -= weight;
            forgotten.push(oldest);
        }
        drop(kept);
        // What is freed is freed while nobody waits.
        drop(forgotten);
    }

    /// Those that are wanted, the newest first.
    #[must_use]
    pub fn list(&self, filter: &Filter) -> Vec<Arc<Entry>> {
        let kept = self.kept();
        let later = kept.entries.iter().rev().map(|(_, entry)| entry);
        let later = later.take_while(|entry| entry.summary.seq > filter.since);
        let wanted = later.filter(|entry| entry.is_wanted(filter));
        wanted.take(filter.limit).cloned().collect()
    }

    /// The request of this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<Arc<Entry>> {
        let kept = self.kept();
        let mut newest = kept.entries.iter().rev();
        let found = newest.find(|(_, entry)| entry.summary.id == id)?;
        Some(Arc::clone(&found.1))
    }

    /// How many have ended so far, and how many bytes those take that are remembered.
    #[must_use]
    pub fn size(&self) -> (u64, usize) {
        let kept = self.kept();
        (kept.seq, kept.bytes)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
