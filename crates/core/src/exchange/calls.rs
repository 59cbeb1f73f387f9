//! Pieces of calls as a wire streams them, to call deltas. Repairs what servers get wrong in the
//! framing alone: a name that is repeated, an id or a name that is null or late, one index for
//! two calls (vLLM to 0.19 put the choice's index there).

use crate::dialect::chat::{self, CallPiece};
use crate::ir::{CallKind, Delta, Ids, Violation};

/// What is no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoCall {
    /// It becomes another one in its middle: which of the two is meant, clients would not agree on.
    Changes {
        /// Which call of the choice.
        call: u32,
    },
    /// It ends without a name.
    Nameless {
        /// How many calls of the choice have one.
        calls: u32,
    },
}

impl NoCall {
    /// What the client is told.
    pub(super) fn violation(self, choice: u32) -> Violation {
        let (call, message) = match self {
            Self::Changes { call } => (call, "a call changes its name or its kind in its middle"),
            Self::Nameless { calls } => (calls, "a call has no name"),
        };
        let place = format!("choices[{choice}].message.tool_calls[{call}]");
        Violation::new(place, "tool_choice", message)
    }
}

/// The calls of one choice, as they open.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
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
    pub(super) fn step(
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
    pub(super) fn is_empty(&self) -> bool {
        self.started == 0
    }

    /// Nothing was cut, and no more comes: a function's call without arguments has none.
    ///
    /// # Errors
    /// A call without a name has an id or an input.
    pub(super) fn end(&mut self, out: &mut Vec<Delta>) -> Result<(), NoCall> {
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
                    text: chat::NO_ARGUMENTS.to_owned(),
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
