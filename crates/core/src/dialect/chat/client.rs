//! We are the server: a client's request in, typed; the events of its reply out, in Chat's words.

mod error;
mod request;
mod write;

pub use error::{error_body, error_event};
pub use request::read_request;
pub use write::{Terms, Writer, write_whole};
