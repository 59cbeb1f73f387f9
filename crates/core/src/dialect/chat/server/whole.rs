//! A whole reply body to what it says.

use super::super::details::Details;
use super::super::wire::{ChoiceReading, Form, Head, NotOfTheWire};
use super::{error, finish, has_own_end, is_error, piece, speak, start, usage_of};
use crate::dialect::server::{About, ReplyFault, Sink, Verbatim};
use crate::ir::{FinishReason, Of};

/// Reads a reply body.
///
/// # Errors
/// The body is none.
pub(super) fn whole<'d>(
    body: &'d [u8],
    about: &About,
    sink: &mut Sink<'_>,
) -> Result<Option<Verbatim<'d>>, ReplyFault> {
    let head = Head::read(body).ok_or(ReplyFault::NotAReply)?;
    if let Some(error) = head.fields.raw("error").filter(|error| *error != "null") {
        return Err(ReplyFault::Error(error.to_owned()));
    }
    if is_error(&head.fields) {
        let said = String::from_utf8_lossy(body).into_owned();
        return Err(ReplyFault::Error(said));
    }
    let choices = head.choices(Form::Whole).ok_or(ReplyFault::NotAReply)?;
    let choices = choices.map_err(|NotOfTheWire| ReplyFault::NotAReply)?;
    let (fields, verbatim) = head.close(&choices);
    let is_retold = choices.iter().any(|choice| has_own_end(choice, about));
    let verbatim = verbatim.filter(|_| !is_retold);
    sink.start(start(&fields));
    sink.usage(usage_of(&fields, &choices));
    sink.own(Of::Reply, fields);
    for choice in choices {
        self::choice(choice, about, sink)?;
    }
    Ok(verbatim)
}

fn choice(mut choice: ChoiceReading, about: &About, sink: &mut Sink<'_>) -> Result<(), ReplyFault> {
    if let Some(error) = error(&choice) {
        return Err(ReplyFault::Error(error.to_owned()));
    }
    let reason = choice.finish.take().unwrap_or(FinishReason::Stop);
    let reason = finish(reason, &mut choice, about);
    let reason = reason.map_err(|message| {
        ReplyFault::Error(serde_json::json!({"message": message}).to_string())
    })?;
    let mut details = Details::default();
    speak(&mut choice, about, &mut details, sink);
    sink.text(choice.index, choice.content);
    sink.refusal(choice.index, choice.refusal);
    for (place, mut call) in (0..).zip(choice.calls) {
        if call.kind.is_none() || call.name.is_none() {
            return Err(ReplyFault::NotAReply);
        }
        // Of calls that are all there, the place is what tells them apart.
        call.index = None;
        let own = std::mem::take(&mut call.own);
        sink.piece_of(choice.index, piece((place, call)), own);
    }
    if let Some(sealed) = details.sealed() {
        sink.sealed(choice.index, sealed);
    }
    sink.finish(choice.index, reason);
    Ok(())
}
