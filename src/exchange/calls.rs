//! Pieces of calls as a wire streams them, to call deltas. Repairs what servers get wrong in the
//! framing alone: a name that is repeated, an id or a name that is null or late, one index for
//! two calls (vLLM to 0.19 put the choice's index there).

use crate::dialect::chat::{self, CallPiece};
use crate::ir::{CallKind, Delta, Ids};

/// The calls of one choice, as they open.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    open: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    wire_index: u32,
    id: Option<String>,
    started: bool,
    kind: CallKind,
    held: String,
    /// Some of its input came.
    has_input: bool,
}

impl OpenCalls {
    /// Takes one piece, appends its deltas.
    pub(super) fn step(&mut self, piece: CallPiece, ids: &mut Ids, out: &mut Vec<Delta>) {
        let place = self.place(&piece);
        let call = u32::try_from(place).unwrap_or(u32::MAX);
        let open = &mut self.open[place];
        if open.id.is_none() {
            open.id = piece.id;
        }
        if let (false, Some(name)) = (open.started, piece.name) {
            open.started = true;
            let id = open.id.get_or_insert_with(|| ids.call()).clone();
            out.push(Delta::CallStart {
                call,
                id,
                name,
                kind: open.kind,
            });
        }
        open.held
            .push_str(piece.text.as_deref().unwrap_or_default());
        if open.started && !open.held.is_empty() {
            open.has_input = true;
            out.push(Delta::CallInput {
                call,
                kind: open.kind,
                text: std::mem::take(&mut open.held),
            });
        }
    }

    /// Nothing was cut, and no more comes: a function's call without arguments has none.
    pub(super) fn end(&mut self, out: &mut Vec<Delta>) {
        for (place, open) in self.open.iter_mut().enumerate() {
            if open.started && !open.has_input && open.kind == CallKind::Function {
                open.has_input = true;
                out.push(Delta::CallInput {
                    call: u32::try_from(place).unwrap_or(u32::MAX),
                    kind: open.kind,
                    text: chat::NO_ARGUMENTS.to_owned(),
                });
            }
        }
    }

    fn place(&mut self, piece: &CallPiece) -> usize {
        let known = self
            .open
            .iter()
            .rposition(|open| open.wire_index == piece.index);
        let fresh = |open: &OpenCall| {
            open.started && piece.name.is_some() && piece.id.is_some() && open.id != piece.id
        };
        match known {
            Some(place) if !fresh(&self.open[place]) => place,
            _ => {
                let kind = if piece.custom {
                    CallKind::Custom
                } else {
                    CallKind::Function
                };
                self.open.push(OpenCall {
                    wire_index: piece.index,
                    id: None,
                    started: false,
                    kind,
                    held: String::new(),
                    has_input: false,
                });
                self.open.len() - 1
            }
        }
    }
}
