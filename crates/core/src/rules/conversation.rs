//! Reads how a server takes conversations, and what its replies call things: `[history]`, `[[conversation]]`, `[[prefill]]`, `[[context]]`, `[reply]`.

use super::check;
use super::compile::plain;
use super::{ContextRule, ContextSize, Template};
use crate::datafile::{File, Keys};
use crate::dialect::server::Ends;
use crate::ir::{Asides, History, Prefill, Refusal, Sealing};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// How conversations go back to the server.
pub(super) fn history(file: &mut File<'_>, keys: &mut Keys<'_, '_>) -> History {
    let mut history = History::default();
    // Requests have `tools` by now, whatever the client calls them.
    history.refuse(Refusal::LegacyCalls);
    // Nobody takes it, and it has one meaning.
    history.refuse(Refusal::OddContent);
    let Some(mut stated) = keys.table(file, "history") else {
        history.refuse(Refusal::Developer);
        history.refuse(Refusal::TextFiles);
        return history;
    };
    if let Some(name) = stated.string(file, "reasoning") {
        // An empty name: there is no place for them.
        let name = Some(name.into_inner()).filter(|name| !name.is_empty());
        history.reasoning = name.map(Cow::Owned);
    }
    if history.reasoning.is_none() {
        history.refuse(Refusal::Thoughts);
    }
    history.asides = stated
        .word::<Asides>(file, "asides")
        .unwrap_or(history.asides);
    let (blocks, details) = (
        stated.boolean(file, "sealed"),
        stated.boolean(file, "details"),
    );
    history.sealed = match (blocks, details) {
        (true, _) => Sealing::Blocks,
        (false, true) => Sealing::Details,
        (false, false) => Sealing::Nothing,
    };
    let unsigned = stated.string(file, "unsigned");
    history.unsigned = unsigned.map(|text| text.into_inner().into());
    if !stated.boolean(file, "developer") {
        history.refuse(Refusal::Developer);
    }
    history.marks = stated.boolean(file, "marks");
    if !stated.boolean(file, "text_files") {
        history.refuse(Refusal::TextFiles);
    }
    stated.finish(file);
    history
}

/// What of a conversation the server refuses. The reason is for people.
pub(super) fn conversation(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> Option<(String, Vec<Refusal>)> {
    let refuses = keys.words::<Refusal>(file, "refuses");
    let reason = keys.required(file, "reason", "what the server does with it, for people");
    if refuses.is_empty() {
        file.fault(
            &keys.span,
            "`refuses` is missing",
            "what the server refuses of a conversation: see rules/README.md",
        );
    }
    // Entries do not replace each other.
    let key = reason?.into_inner();
    Some((key, refuses))
}

/// How the server is told to go on with the model's own words.
pub(super) fn prefill(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> Option<(String, Arc<Prefill>)> {
    let remedy = "the fields that say it; an empty table where the server does it by itself";
    let prefill = Prefill {
        send: sent(file, keys, remedy)?,
        repeats: keys.boolean(file, "repeats"),
        mark: keys.string(file, "mark").map(|mark| mark.into_inner()),
    };
    Some((String::new(), Arc::new(prefill)))
}

/// How a stream is asked to begin with the prompt's tokens.
pub(super) fn counts_first(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> Option<(String, Template)> {
    let send = sent(file, keys, "the fields that ask for it")?;
    Some((String::new(), Template(send)))
}

/// What an entry must say that is sent, whatever the request.
fn sent(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
    remedy: &'static str,
) -> Option<Map<String, Value>> {
    let Some(send) = keys.template(file, "send") else {
        file.fault(&keys.span, "`send` is missing", remedy);
        return None;
    };
    check::no_placeholders(file, &send);
    Some(send.json)
}

/// How long prompts are kept from being cut.
pub(super) fn context(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> Option<(String, ContextRule)> {
    let send = keys.template(file, "send");
    if let Some(send) = &send {
        check::no_placeholders(file, send);
    }
    let field = keys.string(file, "size");
    let (least, most) = (keys.count(file, "least"), keys.count(file, "most"));
    let size = field.and_then(|field| match (least, most) {
        (Some(least), Some(most)) if 0 < least && least <= most => Some(ContextSize {
            path: field.get_ref().split('.').map(str::to_owned).collect(),
            least,
            most,
        }),
        _ => {
            let remedy = "the server's own size, and the largest that is asked for";
            file.fault(&field.span(), "`size` needs `least` and `most`", remedy);
            None
        }
    });
    let cuts = keys.boolean(file, "cuts");
    let send = send.map(|send| Template(send.json));
    Some((String::new(), ContextRule { send, size, cuts }))
}

/// The names of a reply's thoughts and of the stop text that ended it, and words for other ends.
pub(super) fn reply(
    file: &mut File<'_>,
    keys: &mut Keys<'_, '_>,
) -> (Vec<String>, Vec<String>, Ends) {
    let Some(mut reply) = keys.table(file, "reply") else {
        return Default::default();
    };
    let names = plain(reply.strings(file, "reasoning"));
    let stopped = plain(reply.strings(file, "stopped"));
    let ends = Ends {
        cut: plain(reply.strings(file, "cut")),
        failed: plain(reply.strings(file, "failed")),
        faults: plain(reply.strings(file, "faults")),
        own_errors: reply.boolean(file, "own_errors"),
        counts_unasked: reply.boolean(file, "counts_unasked"),
    };
    reply.finish(file);
    (names, stopped, ends)
}
