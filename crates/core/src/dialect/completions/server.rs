//! We are the client: the same routes of the servers behind us, for those who ask there. Nobody else is sent
//! to them.

mod editor;
mod read;

use crate::dialect::server::{About, Editor, Reader, ReplyFault, Server, Sink, Verbatim};
use crate::ir::Wire;

/// Legacy Completions, as servers speak it.
#[derive(Debug, Clone, Copy)]
pub(in crate::dialect) struct CompletionsServer;

impl Server for CompletionsServer {
    fn wire(&self) -> Wire {
        Wire::Completions
    }

    fn editor(&self) -> Option<&'static dyn Editor> {
        Some(&editor::CompletionsEditor)
    }

    fn read<'b>(
        &self,
        body: &'b [u8],
        _about: &About,
        sink: &mut Sink<'_>,
    ) -> Result<Option<Verbatim<'b>>, ReplyFault> {
        read::whole(body, sink)
    }

    fn reader(&self, _about: About) -> Box<dyn Reader> {
        Box::new(read::Stream::default())
    }
}
