//! We are the server: a client's request in, typed; the events of its reply out, in Chat's words.

mod error;
pub(in crate::dialect) mod request;
mod turns;
mod write;

pub use error::{error_body, error_event};
pub use request::read_request;
pub use turns::read_turns;
pub use write::{Terms, Writer, write_whole};
