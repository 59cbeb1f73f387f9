//! A proxy of the test's own, and clients that speak to it byte by byte.
#![allow(dead_code, reason = "each theme uses its part")]

pub mod chat;
pub mod proxy;
pub mod rows;
pub mod worker;
