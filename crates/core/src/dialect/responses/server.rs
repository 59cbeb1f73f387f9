//! We are the client: `/v1/responses` of servers that have it beside Chat's route. What only this wire says (hosted tools,
//! encrypted thoughts, citations) is for its own clients.

mod ask;
mod editor;
mod read;

use crate::dialect::server::{
    About, Ask, Editor, Reader, Render, ReplyFault, Server, Sink, Told, Verbatim, Written, mended,
};
use crate::error::Error;
use crate::ir::{Wire, raw};

/// Responses, as servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct ResponsesServer;

impl Server for ResponsesServer {
    fn wire(&self) -> Wire {
        Wire::Responses
    }

    fn hosts_tools(&self) -> bool {
        true
    }

    fn seals_thoughts(&self) -> bool {
        true
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&editor::ResponsesEditor)
    }

    fn write(&self, ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        ask::ask(ask).map(Written::of)
    }

    fn conversation(&self, ask: &mut Ask<'_>) -> Result<Option<Told>, Error> {
        Ok(Some((ask::INPUT, raw(&ask::input(ask)?))))
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        _about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        read::whole(&mended(body), sink).ok_or(ReplyFault::NotAReply)?;
        // The writer has all of it as the wire's own, and puts in what was verified.
        Ok(None)
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(read::Stream::default())
    }
}
