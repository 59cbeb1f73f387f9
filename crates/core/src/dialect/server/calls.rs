//! Pieces of calls as a wire streams them, to call deltas. Repairs what servers get wrong in the
//! framing alone: a name that is repeated, an id or a name that is null or late, one index for
//! two calls (vLLM to 0.19 put the choice's index there).

use crate::ir::{CallKind, Delta, Ids, NoCall};

/// What a call without arguments says; some servers write the empty text, which is no JSON.
const NO_ARGUMENTS: &str = "{}";

/// A piece of a call, as the wire has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::dialect) struct CallPiece {
    /// Which call; wires that leave it out mean the only one.
    pub(in crate::dialect) index: u32,
    /// Set on the first piece; never empty.
    pub(in crate::dialect) id: Option<String>,
    /// Set on the first piece; never empty.
    pub(in crate::dialect) name: Option<String>,
    /// More arguments or input.
    pub(in crate::dialect) text: Option<String>,
    /// Whose call it is; `None` where the piece has no body.
    pub(in crate::dialect) kind: Option<CallKind>,
}

/// The calls of one choice, as they open.
#[derive(Debug, Default)]
pub(in crate::dialect) struct OpenCalls {
    open: Vec<OpenCall>,
    /// How many have started, which have a name.
    started: u32,
}

#[derive(Debug)]
struct OpenCall {
    wire_index: u32,
    /// As the server said it.
    wire_id: Option<String>,
    /// As the client gets it: unique among the choice's calls.
    id: Option<String>,
    /// Known once the call has started.
    name: Option<String>,
    /// Its place among those that have started.
    call: u32,
    kind: Option<CallKind>,
    held: String,
    /// Some of its input came.
    has_input: bool,
}

impl OpenCalls {
    /// Takes one piece, appends its deltas.
    ///
    /// # Errors
    /// The call becomes another one in its middle.
    pub(in crate::dialect) fn step(
        &mut self,
        piece: CallPiece,
        ids: &mut Ids,
        out: &mut Vec<Delta>,
    ) -> Result<(), NoCall> {
        let place = self.place(&piece);
        let is_taken = |id: &String| self.open.iter().any(|open| open.id.as_ref() == Some(id));
        let id = piece.id.clone().filter(|id| !is_taken(id));
        let open = &mut self.open[place];
        if open.wire_id.is_none() {
            open.wire_id = piece.id;
            open.id = open.id.take().or(id);
        }
        let is_other = |known: &CallKind| piece.kind.is_some_and(|kind| kind != *known);
        if open.kind.as_ref().is_some_and(is_other) {
            return Err(NoCall::Changes { call: open.call });
        }
        open.kind = open.kind.or(piece.kind);
        let kind = open.kind.unwrap_or(CallKind::Function);
        match (&open.name, piece.name) {
            (Some(known), Some(name)) if *known != name => {
                return Err(NoCall::Changes { call: open.call });
            }
            (None, Some(name)) => {
                let id = open.id.get_or_insert_with(|| ids.call()).clone();
                open.name = Some(name.clone());
                open.call = self.started;
                self.started += 1;
                out.push(Delta::CallStart {
                    call: open.call,
                    id,
                    name,
                    kind,
                });
            }
            _ => {}
        }
        open.held
            .push_str(piece.text.as_deref().unwrap_or_default());
        if open.name.is_some() && !open.held.is_empty() {
            open.has_input = true;
            out.push(Delta::CallInput {
                call: open.call,
                kind,
                text: std::mem::take(&mut open.held),
            });
        }
        Ok(())
    }

    /// Whether none has begun.
    pub(in crate::dialect) fn is_empty(&self) -> bool {
        self.started == 0
    }

    /// Nothing was cut, and no more comes: a function's call without arguments has none.
    ///
    /// # Errors
    /// A call without a name has an id or an input.
    pub(in crate::dialect) fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), NoCall> {
        for open in &mut self.open {
            if open.name.is_none() && (open.wire_id.is_some() || !open.held.is_empty()) {
                let calls = self.started;
                return Err(NoCall::Nameless { calls });
            }
            let is_function = open.kind != Some(CallKind::Custom);
            if open.name.is_some() && !open.has_input && is_function {
                open.has_input = true;
                out.push(Delta::CallInput {
                    call: open.call,
                    kind: CallKind::Function,
                    text: NO_ARGUMENTS.to_owned(),
                });
            }
        }
        Ok(())
    }

    fn place(&mut self, piece: &CallPiece) -> usize {
        let known = self
            .open
            .iter()
            .rposition(|open| open.wire_index == piece.index);
        let fresh = |open: &OpenCall| {
            open.name.is_some()
                && piece.name.is_some()
                && piece.id.is_some()
                && open.wire_id != piece.id
        };
        match known {
            Some(place) if !fresh(&self.open[place]) => place,
            _ => {
                self.open.push(OpenCall {
                    wire_index: piece.index,
                    wire_id: None,
                    id: None,
                    name: None,
                    call: self.started,
                    kind: piece.kind,
                    held: String::new(),
                    has_input: false,
                });
                self.open.len() - 1
            }
        }
    }
}
