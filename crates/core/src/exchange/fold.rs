//! The events of a stream in; the reply that they are when they are put together out. Some gateways
//! stream whatever they were asked.

use super::{Exchange, Fault, MAX_CHOICES, cut, garbage, goes_on, upstream_error};
use crate::dialect::server::Frame;
use crate::error::{Error, Kind};
use crate::ir::{Event, Fields, Ids, Of, raw};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads a stream that came whole.
///
/// # Errors
/// It is no stream of the server's wire, it reports an error, it ends before the reply does, or
/// goes on after its end.
pub(super) fn fold(
    exchange: &Exchange,
    ids: &mut Ids,
    body: &[u8],
) -> Result<Frame<'static>, Fault> {
    let mut server = exchange.server.stream(exchange.about(), body.len());
    let mut data = Vec::new();
    let framed = server.push(body, &mut data);
    let is_clean = framed.is_ok() && server.finish(&mut data);
    let mut fold = Fold {
        too_long: Arc::clone(&exchange.too_long),
        ..Fold::default()
    };
    for data in &data {
        for event in server.read(data, ids).events {
            fold.take(event)?;
        }
    }
    for event in server.end(ids).events {
        fold.take(event)?;
    }
    // A server that marks the end need name no reason.
    let is_over = fold.is_done || is_clean && fold.is_whole();
    if !is_over {
        return Err(Fault::Error(cut()));
    }
    let open: Vec<u32> = fold.open().collect();
    for choice in open {
        for event in server.end_choice(choice, ids).events {
            fold.event(event)?;
        }
    }
    Ok(Frame {
        events: fold.into_events(),
        verbatim: None,
    })
}

#[derive(Default)]
struct Fold {
    /// The reply's own fields: those of the first chunk, but for the last counts.
    own: Option<Fields>,
    events: Vec<Event>,
    /// Of each choice, whether it has ended.
    choices: BTreeMap<u32, bool>,
    is_done: bool,
    /// Pieces of what is said of prompts that are too long.
    too_long: Arc<[String]>,
}

impl Fold {
    fn take(&mut self, event: Event) -> Result<(), Fault> {
        if self.is_done {
            return Ok(());
        }
        match event {
            Event::Done => self.is_done = true,
            Event::Error(raw) => {
                let error = upstream_error::reported(&raw, &self.too_long);
                return Err(Fault::Error(error));
            }
            Event::Garbage => return Err(Fault::Error(garbage())),
            event => self.event(event)?,
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<(), Fault> {
        if let Some(choice) = event.choice() {
            if self.choices.len() >= MAX_CHOICES && !self.choices.contains_key(&choice) {
                let message = format!("the server sent more than {MAX_CHOICES} choices");
                return Err(Fault::Error(Error::new(Kind::UpstreamBadReply, message)));
            }
            let has_ended = self.choices.entry(choice).or_default();
            if *has_ended {
                return match &event {
                    Event::Delta { delta, .. } if delta.has_substance() => {
                        Err(Fault::Violation(goes_on(choice)))
                    }
                    _ => Ok(()),
                };
            }
            *has_ended = event.is_finish();
        }
        match event {
            Event::NoCall { choice, fault } => {
                return Err(Fault::Violation(super::no_call(fault, choice)));
            }
            Event::Own {
                of: Of::Reply,
                fields,
            } => self.own(Arc::unwrap_or_clone(fields)),
            Event::Own {
                of: Of::Whole,
                fields,
            } => self.own = Some(Arc::unwrap_or_clone(fields)),
            event => self.events.push(event),
        }
        Ok(())
    }

    fn own(&mut self, mut fields: Fields) {
        let usage = fields.remove("usage").filter(|usage| usage.get() != "null");
        let own = self.own.get_or_insert_with(|| {
            fields.set("object", raw("chat.completion"));
            fields
        });
        if let Some(usage) = usage {
            // At the end, as in a whole reply.
            own.remove("usage");
            own.set("usage", usage);
        }
    }

    fn open(&self) -> impl Iterator<Item = u32> {
        let is_open = |(choice, has_ended): (&u32, &bool)| (!has_ended).then_some(*choice);
        self.choices.iter().filter_map(is_open)
    }

    fn is_whole(&self) -> bool {
        !self.choices.is_empty() && self.open().next().is_none()
    }

    /// In the order of the choices: those of a stream may come in any.
    fn into_events(mut self) -> Vec<Event> {
        self.events.sort_by_key(Event::choice);
        let own = self.own.map(|fields| Event::Own {
            of: Of::Reply,
            fields: Arc::new(fields),
        });
        own.into_iter().chain(self.events).collect()
    }
}
