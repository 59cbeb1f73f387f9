//! Dialects whose clients may ask for many replies over one WebSocket. What a message asks, and how a reply is told in
//! messages, is theirs to say; the connection, and who answers, is the shell's.

use crate::error::Error;
use crate::ir::Ids;
use bytes::Bytes;
use std::fmt;

/// A dialect that has a WebSocket beside its route.
pub trait Socket: fmt::Debug + Send + Sync {
    /// What is said on one connection. What it remembers of a conversation is at most `limit` bytes.
    fn talk(&self, limit: usize) -> Box<dyn Talk>;
}

/// What a client's message asks for.
#[derive(Debug)]
pub enum Asked {
    /// A reply: the body of the request that asks for it as a stream on the dialect's own route.
    Request(Bytes),
    /// Nothing that a server has to be asked: what is answered.
    Answer(Vec<Vec<u8>>),
    /// Nothing at all.
    Nothing,
}

/// Both sides of one connection. One reply is told at a time: between a request that was taken and the next stand its
/// events, or what refuses it.
pub trait Talk: fmt::Debug + Send {
    /// Takes a message of the client's. `ids` are for what is answered without a server.
    ///
    /// # Errors
    /// It is none of the dialect's, or what is wrong with it.
    fn take(&mut self, message: &[u8], ids: &Ids) -> Result<Asked, Error>;

    /// What the head of the reply says that its first event is to repeat, since a message has no headers.
    fn head(&mut self, headers: Vec<(String, String)>);

    /// An event of the reply, as the stream has it, to the message that tells it.
    fn tell(&mut self, event: Vec<u8>) -> Vec<u8>;

    /// A reply that is an error, to the message that tells it. `body` is as the dialect writes it on its route.
    fn refuse(&mut self, status: u16, body: &[u8]) -> Vec<u8>;

    /// The last message on a connection that is as old as one may be.
    fn expired(&self) -> Vec<u8>;
}
