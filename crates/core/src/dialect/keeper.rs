//! Dialects whose replies are kept, so that a later request goes on from one by its id alone. What is kept, and
//! what a request asks of the store, is theirs to say; keeping it is the shell's.

use super::client::Client;
use crate::error::Error;
use crate::rules::Rule;
use bytes::Bytes;
use std::fmt;

/// What a store has to know of a dialect.
pub trait Keeper: fmt::Debug + Send + Sync {
    /// The field in which a request names the reply that it goes on from.
    fn previous(&self) -> &'static str;

    /// Whether a server keeps replies of this dialect itself, and is sent its requests as they are.
    fn is_kept_by(&self, rule: &Rule) -> bool;

    /// Whether it may be the id of a reply of this dialect: another one's is not what its clients go on from.
    fn may_be(&self, id: &str) -> bool;

    /// What a request asks of the store, as far as it can be read: what is wrong with its other fields is found later.
    ///
    /// # Errors
    /// What names a kept reply names none.
    fn asks(&self, body: &[u8]) -> Result<Asks, Error>;

    /// The face for clients of a proxy that has a store; whether this reply is kept.
    fn client(&self, is_kept: bool) -> &'static dyn Client;

    /// The reply that an item is of, or was asked with; none where it was not made here.
    fn home(&self, item: &str) -> Option<String>;

    /// The request as if it held what it goes on from.
    ///
    /// # Errors
    /// The body is no strict JSON, or names an item that is not among the known.
    fn continued(&self, body: &[u8], known: &Known) -> Result<Continued, Error>;

    /// The id of a reply as it was written for its client.
    fn id(&self, reply: &[u8]) -> Option<String>;

    /// What is kept of the request beside its reply: its own input, a JSON list of items with ids.
    fn input(&self, body: &[u8], id: &str) -> Vec<u8>;

    /// A page of a kept input. `query` are the names and values of the request's query.
    ///
    /// # Errors
    /// What is wrong with the query.
    fn page(&self, input: &[u8], query: &[(String, String)]) -> Result<Vec<u8>, Error>;

    /// What the client is told of a reply that is kept no more.
    fn deleted(&self, id: &str) -> Vec<u8>;

    /// No such reply is kept. `param` is the field that names it, if it was a field.
    fn unknown(&self, id: &str, param: Option<&str>) -> Error;

    /// There is no store.
    fn no_store(&self) -> Error;

    /// Who asks for a conversation in short on a route of its own, where there is one; a server of the dialect is sent it as it is.
    fn compactor(&self) -> Option<&'static dyn Client> {
        None
    }
}

/// What a request asks of the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asks {
    /// Its reply is to be kept.
    pub keeps: bool,
    /// The reply that it goes on from.
    pub previous: Option<String>,
    /// Items that it names instead of sending them, each once.
    pub items: Vec<String>,
}

/// A request that goes on from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continued {
    /// As if it held what it goes on from.
    pub whole: Bytes,
    /// As it is kept: with the items that it names in place of their names; `None` where it names none, and is kept as it came.
    pub kept: Option<Bytes>,
}

/// One request and its reply, as they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// [`Keeper::input`].
    pub input: Vec<u8>,
    /// The reply as it was written.
    pub reply: Vec<u8>,
}

/// What a request goes on from.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The conversation before it, from its beginning on.
    pub before: Vec<Kept>,
    /// Where the items that it names are.
    pub homes: Vec<Kept>,
}

impl Known {
    /// How many bytes of it there are.
    #[must_use]
    pub fn size(&self) -> usize {
        let kept = self.before.iter().chain(&self.homes);
        kept.map(|kept| kept.input.len() + kept.reply.len()).sum()
    }
}

/// What a path below a client's own route is.
#[derive(Debug, Clone, Copy)]
pub struct KeptRoute<'p> {
    /// Whose replies these are.
    pub keeper: &'static dyn Keeper,
    /// The reply's id, as it stands in the path.
    pub id: &'p str,
    /// What is asked about it.
    pub what: KeptPart,
}

impl KeptRoute<'_> {
    /// Who asks for a conversation in short, where that is asked.
    #[must_use]
    pub fn compactor(&self) -> Option<&'static dyn Client> {
        (self.what == KeptPart::Compact).then(|| self.keeper.compactor())?
    }
}

/// What is asked about a kept reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptPart {
    /// The reply itself.
    Reply,
    /// What it was asked with.
    Input,
    /// That its making ends, which is for replies that nobody waits for.
    Cancel,
    /// No reply, but a conversation in fewer words than it has.
    Compact,
}
