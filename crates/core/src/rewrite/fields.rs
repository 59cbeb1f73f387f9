//! The fields that a rule speaks of: left out, renamed or refused before anything else is written.

use super::body::Body;
use super::{Writer, completion};
use crate::error::Error;
use crate::ir::{EnforcedBy, Fields, Loss, Request, Strategy, Wire, raw};
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
    if let Some(most) = rule.most_tokens {
        losses.extend(bound(most, body));
    }
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
    losses.extend(completion::unread(request, rule));
    Ok(losses)
}

/// Whether a field rule is about anything that is there.
fn touches(rule: &Rule, fields: &Fields) -> bool {
    let is_named = |name: &str| fields.has(name.split('.').next().unwrap_or(name));
    rule.refuses_nulls || rule.fields.iter().any(|field| is_named(&field.name))
}

/// Gives the reply no more tokens than there is room for.
fn bound(most: u64, body: &mut Body<'_>) -> Vec<Loss> {
    let is_over = |name: &&str| {
        let said = body.fields.raw(name);
        said.is_some_and(|said| said.parse::<u64>().is_ok_and(|said| said > most))
    };
    let limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let over: Vec<&str> = limits.into_iter().filter(is_over).collect();
    let bounded = over.into_iter().map(|name| {
        body.fields.to_mut().set(name, raw(&most));
        Loss {
            pointer: format!("/{name}"),
            reason: format!("there is room for {most} tokens behind the prompt"),
            enforced_by: EnforcedBy::Nobody,
        }
    });
    bounded.collect()
}

impl Writer<'_> {
    /// Asks for the whole reply where the client wants a stream, and the model gives none of what it is asked for; whether it does.
    pub(super) fn ask_whole(&mut self, strategy: Strategy) -> bool {
        let unstreamed = self.rule.unstreamed;
        let is_held = !matches!(strategy, Strategy::Passthrough | Strategy::Instruct);
        let has_schema = self.contract.content.is_some() || strategy != Strategy::Native;
        let is_whole = unstreamed.all
            || unstreamed.tools && !self.body.tools.is_empty()
            || unstreamed.schemas && is_held && has_schema;
        // On another wire of its own a client reads in events what no whole reply is unfolded to.
        let is_unread = self.body.keeps_wire() && self.request.wire != Some(Wire::Chat);
        if !is_whole || !self.request.stream || is_unread {
            return false;
        }
        let fields = self.body.fields.to_mut();
        fields.remove("stream");
        // What it says of the stream is the proxy's to keep to.
        fields.remove("stream_options");
        self.body.changed = true;
        self.losses.push(Loss {
            pointer: "/stream".to_owned(),
            reason: "this model gives no stream of it: the whole reply comes at once".to_owned(),
            enforced_by: EnforcedBy::Nobody,
        });
        true
    }
}
