//! The program as a worker, model files of the test's own, and recorded answers.
#![allow(dead_code, reason = "each theme uses its part")]

pub mod process;
pub mod projector;
pub mod recorded;
