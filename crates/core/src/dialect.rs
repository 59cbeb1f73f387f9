//! Wire forms: one folder a client or server dialect.

pub mod chat;
