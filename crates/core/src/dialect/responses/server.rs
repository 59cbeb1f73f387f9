//! We are the client: `/v1/responses` of servers that have it beside Chat's route. Nobody is sent to it but its own
//! clients: what only this wire says (hosted tools, encrypted thoughts, citations) is for them.

mod editor;
mod read;

use crate::dialect::server::{
    About, Ask, Editor, Reader, Render, ReplyFault, Server, Sink, Verbatim, Written, mended,
};
use crate::error::{Error, Kind};
use crate::ir::Wire;

/// Responses, as servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct ResponsesServer;

impl Server for ResponsesServer {
    fn wire(&self) -> Wire {
        Wire::Responses
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&editor::ResponsesEditor)
    }

    fn write(&self, _ask: &mut Ask<'_>, _render: Option<&Render>) -> Result<Written, Error> {
        let message = "/v1/responses is asked by its own clients alone";
        Err(Error::new(Kind::Internal, message))
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
