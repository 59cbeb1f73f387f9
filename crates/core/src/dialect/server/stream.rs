//! One streamed reply: bytes of its wire in, in any chunking; what each event says out.

use super::frames::{Frames, TooLarge};
use super::sink::{OpenCallsOf, Sink};
use super::{Frame, Reader};
use crate::ir::{Event, FinishReason, Framing, Ids};

/// One streamed reply.
#[derive(Debug)]
pub struct ServerStream {
    frames: Frames,
    reader: Box<dyn Reader>,
    calls: OpenCallsOf,
    /// Empty; kept for their memory.
    events: Vec<Event>,
}

impl ServerStream {
    pub(super) fn new(framing: Framing, reader: Box<dyn Reader>, event_bytes: usize) -> Self {
        Self {
            frames: Frames::new(framing, event_bytes),
            reader,
            calls: OpenCallsOf::new(),
            events: Vec::new(),
        }
    }

    /// Takes the next bytes of the body; appends the data of each event that they complete.
    ///
    /// # Errors
    /// An unfinished event over the limit.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), TooLarge> {
        self.frames.push(chunk, out)
    }

    /// The body ended: says whether nothing was left of an event that is not whole.
    pub fn finish(&mut self, out: &mut Vec<Vec<u8>>) -> bool {
        self.frames.finish(out)
    }

    /// Takes what was read and is done with, for the memory: the data of an event, and what it said.
    pub fn reuse(&mut self, data: Vec<u8>, mut events: Vec<Event>) {
        self.frames.reuse(data);
        events.clear();
        self.events = events;
    }

    /// What the data of the next event says. `ids` are for calls that have none.
    pub fn read<'d>(&mut self, data: &'d [u8], ids: &mut Ids) -> Frame<'d> {
        let events = std::mem::take(&mut self.events);
        let mut sink = Sink::after(events, &mut self.calls, ids);
        let verbatim = match crate::json::names_private(data) {
            true => {
                sink.garbage();
                None
            }
            false => self.reader.event(data, &mut sink),
        };
        let verbatim = verbatim.filter(|_| !sink.is_rewritten());
        Frame {
            events: sink.into_events(),
            verbatim,
        }
    }

    /// What it says that the body ended, after its last event.
    pub fn end(&mut self, ids: &mut Ids) -> Frame<'static> {
        let mut sink = Sink::new(&mut self.calls, ids);
        self.reader.end(&mut sink);
        Frame {
            events: sink.into_events(),
            verbatim: None,
        }
    }

    /// The end of a choice whose server names none: it means that it is done.
    pub fn end_choice(&mut self, choice: u32, ids: &mut Ids) -> Frame<'static> {
        let mut sink = Sink::new(&mut self.calls, ids);
        sink.finish(choice, FinishReason::Stop);
        Frame {
            events: sink.into_events(),
            verbatim: None,
        }
    }
}
