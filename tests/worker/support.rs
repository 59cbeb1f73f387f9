//! The program as a worker, model files of the test's own, models without a mind, and recorded answers.

pub mod mindless;
pub mod process;
pub mod projector;
pub mod recorded;
