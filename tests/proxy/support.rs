//! A proxy of the test's own, and clients that speak to it byte by byte.

pub mod chat;
pub mod dns;
pub mod proxy;
pub mod rows;
pub mod worker;
