//! The fields that a rule speaks of: left out, renamed or refused before anything else is written.

use super::body::Body;
use crate::error::Error;
use crate::ir::{Fields, Loss, Request};
use crate::rules::{Rule, apply_fields};

/// Edits them, and tells what is lost by that, and what no server could be told.
pub(super) fn told(
    request: &Request,
    rule: &Rule,
    body: &mut Body<'_>,
) -> Result<Vec<Loss>, Error> {
    let mut losses = match touches(rule, &body.fields) {
        true => apply_fields(rule, body.fields.to_mut())?,
        false => Vec::new(),
    };
    // A renamed field changes the names alone, a dropped part of one the losses alone.
    body.changed |= body.fields.0.keys().ne(request.fields.0.keys()) || !losses.is_empty();
    // What stays in the body of a server of the client's own wire is not lost.
    let is_same = body.keeps_wire();
    let stays = |loss: &&Loss| {
        let field = loss.pointer.split('/').nth(1).unwrap_or_default();
        is_same && body.fields.has(field) && !request.idle.iter().any(|idle| idle == field)
    };
    let told = request.losses.iter().filter(|loss| !stays(loss));
    losses.extend(told.cloned());
    Ok(losses)
}

/// Whether a field rule is about anything that is there.
fn touches(rule: &Rule, fields: &Fields) -> bool {
    let is_named = |name: &str| fields.has(name.split('.').next().unwrap_or(name));
    rule.refuses_nulls || rule.fields.iter().any(|field| is_named(&field.name))
}
