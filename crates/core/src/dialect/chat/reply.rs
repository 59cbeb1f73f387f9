//! A whole reply body to deltas, and the pieces that writing it again needs.

use super::reading::{CallReading, ChoiceReading, Form, Head, NotOfTheWire, Verbatim};
use crate::ir::{CallKind, Delta, Fields, FinishReason, Ids};
use std::collections::HashSet;

/// A reply that came whole.
#[derive(Debug, Clone)]
pub struct Reply<'d> {
    /// Every top-level field, raw, `choices` among them.
    pub fields: Fields,
    /// The choices.
    pub choices: Vec<Choice>,
    /// The body, where a client may have it as it came.
    pub verbatim: Option<Verbatim<'d>>,
}

/// One choice of a whole reply.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Its place on the wire.
    pub index: u32,
    /// Every field of the choice, raw.
    pub fields: Fields,
    /// Every field of its message, raw.
    pub message: Fields,
    /// What it says, the finish included.
    pub deltas: Vec<Delta>,
}

/// A body that is no Chat Completions reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyFault {
    /// Not one JSON object with `choices`.
    NotAReply,
    /// The server reported an error under a success status; its raw `error`.
    Error(String),
}

/// Reads a reply body.
///
/// # Errors
/// The body is none.
pub fn read_reply<'d>(body: &'d [u8], ids: &mut Ids) -> Result<Reply<'d>, ReplyFault> {
    let head = Head::read(body).ok_or(ReplyFault::NotAReply)?;
    if let Some(error) = head.fields.raw("error").filter(|error| *error != "null") {
        return Err(ReplyFault::Error(error.to_owned()));
    }
    let choices = head.choices(Form::Whole).ok_or(ReplyFault::NotAReply)?;
    let choices = choices.map_err(|NotOfTheWire| ReplyFault::NotAReply)?;
    let (fields, verbatim) = head.close(&choices);
    let choices = choices
        .into_iter()
        .map(|choice| choice_of(choice, ids))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Reply {
        fields,
        choices,
        verbatim,
    })
}

fn choice_of(choice: ChoiceReading, ids: &mut Ids) -> Result<Choice, ReplyFault> {
    let mut deltas = Vec::new();
    let is_said = |text: &String| !text.is_empty();
    deltas.extend(choice.content.filter(is_said).map(Delta::Text));
    deltas.extend(choice.refusal.filter(is_said).map(Delta::Refusal));
    let finish = choice.finish.unwrap_or(FinishReason::Stop);
    let finish = finish.without_calls(choice.calls.is_empty());
    let mut known = HashSet::new();
    for (call, mut wire) in (0..).zip(choice.calls) {
        // Results are sent back by id: two calls with one cannot be told apart.
        wire.id = wire.id.filter(|id| known.insert(id.clone()));
        deltas.extend(call_deltas(call, wire, &finish, ids)?);
    }
    deltas.push(Delta::Finish(finish));
    Ok(Choice {
        index: choice.index,
        fields: choice.fields,
        message: choice.message,
        deltas,
    })
}

/// What a call says that says nothing: some servers write the empty text, which is no JSON.
pub(crate) const NO_ARGUMENTS: &str = "{}";

fn call_deltas(
    call: u32,
    wire: CallReading,
    finish: &FinishReason,
    ids: &mut Ids,
) -> Result<[Delta; 2], ReplyFault> {
    let (Some(kind), Some(name)) = (wire.kind, wire.name) else {
        return Err(ReplyFault::NotAReply);
    };
    let mut text = wire.text.unwrap_or_default();
    if text.is_empty() && kind == CallKind::Function && !finish.is_cut() {
        text.push_str(NO_ARGUMENTS);
    }
    Ok([
        Delta::CallStart {
            call,
            id: wire.id.unwrap_or_else(|| ids.call()),
            name,
            kind,
        },
        Delta::CallInput { call, kind, text },
    ])
}
