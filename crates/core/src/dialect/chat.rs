//! Chat Completions, OpenAI's wire form, with the extras of the servers that copy it.

mod reading;
mod reply;
mod request;
mod stream;
mod write;

pub use reading::Verbatim;
pub(crate) use reply::NO_ARGUMENTS;
pub use reply::{Choice, Reply, ReplyFault, read_reply};
pub use request::read_request;
pub use stream::{CallPiece, Chunk, ChunkChoice, StreamEvent, read_event};
pub(crate) use write::SAID;
pub use write::{ChoicePart, Envelope, error_body, error_event, write_chunk, write_reply};
