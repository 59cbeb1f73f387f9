//! The program as a worker, model files of the test's own, and recorded answers.

pub mod process;
pub mod projector;
pub mod recorded;
