//! What turns say: whose instructions, whose names, which arguments, which media, and what says nothing.

use super::results::as_objects;
use super::{Fitting, Ledger};
use crate::ir::{Edits, Part, Refusal, Role, Sealing, Stated, Turn};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// What is true of each turn by itself.
pub(super) fn said(turns: &mut [Turn], to: &Fitting<'_>, ledger: &mut Ledger) {
    // Of a turn with calls every message of the model's is to have them (experientiallabs/experiential#890).
    let has_calls = turns.iter().any(|turn| !turn.calls.is_empty());
    for turn in turns {
        if turn.is_developer && to.refuses(Refusal::Developer) {
            turn.is_developer = false;
            turn.edits.add(Edits::ROLE);
        }
        as_objects(turn, to, ledger);
        if to.refuses(Refusal::StringArguments) && !turn.calls.is_empty() {
            turn.edits.add(Edits::CALLS);
        }
        if to.refuses(Refusal::TextParts) {
            in_one(turn);
        }
        if to.refuses(Refusal::Thoughts) {
            without_thoughts(turn, to, ledger);
        }
        if to.refuses(Refusal::ForeignThoughts) {
            own_thoughts(turn, to, ledger);
        }
        let is_other = |stated: &Stated| stated.origin.0.ends_with(".reasoning_content");
        if to.refuses(Refusal::ReasoningContent) && turn.reasoning.as_ref().is_some_and(is_other) {
            turn.edits.add(Edits::THOUGHTS);
        }
        if to.refuses(Refusal::MissingThoughts) && turn.role == Role::Assistant && has_calls {
            with_thoughts(turn);
        }
        if to.refuses(Refusal::InnerMembers) {
            without_inner(turn, to, ledger);
        }
        if to.refuses(Refusal::ExtraMembers) {
            without_extras(turn, to, ledger);
        }
        if to.refuses(Refusal::NullMembers) && turn.role == Role::Assistant {
            turn.edits.add(Edits::NULLS);
        }
        let named = turn.unknown.iter().position(|below| below == "/name");
        if let Some(at) = named.filter(|_| to.refuses(Refusal::Names)) {
            let reason = || format!("{} refuses names of those who speak", to.title);
            ledger.lose("names", &turn.origin.member("name"), reason);
            turn.unknown.remove(at);
            turn.edits.add(Edits::NAME);
        }
    }
}

/// What is said in texts alone, as one: a list of them is several messages to Ollama, of which none answers a call (ollama/ollama#17414).
fn in_one(turn: &mut Turn) {
    if !turn.parts.is_empty() && turn.parts.iter().all(is_text) {
        let text = turn.text();
        turn.parts = vec![Part::Text { text, cache: None }];
        turn.edits.add(Edits::CONTENT);
    }
}

/// Thoughts, and what another server signed of them.
fn without_thoughts(turn: &mut Turn, to: &Fitting<'_>, ledger: &mut Ledger) {
    let reason = || format!("the messages of {} have no place for it", to.title);
    let stated = turn.reasoning.take().map(|stated| stated.origin);
    let sealed = turn.sealed.drain(..).map(|held| held.origin);
    for origin in stated.into_iter().chain(sealed) {
        ledger.lose("thoughts", &origin, reason);
        turn.edits.add(Edits::THOUGHTS);
    }
}

/// A model that thinks is to be shown that it did, and the client kept nothing of it: a blank is all that can be told (no empty text is
/// taken: NousResearch/hermes-agent#17341).
fn with_thoughts(turn: &mut Turn) {
    let is_told = |stated: &Stated| !stated.text.is_empty();
    if !turn.reasoning.as_ref().is_some_and(is_told) {
        let (origin, text) = (turn.origin.clone(), " ".to_owned());
        turn.reasoning = Some(Stated { origin, text });
        turn.edits.add(Edits::THOUGHTS);
    }
}

/// Members that only the client's own server has, some of which say nothing (`"refusal": null`): SDKs send back a whole message of the
/// model's.
fn without_extras(turn: &mut Turn, to: &Fitting<'_>, ledger: &mut Ledger) {
    let mut others = Vec::new();
    let prefill = to.history.prefill.as_ref();
    let prefill = prefill.filter(|_| turn.role == Role::Assistant);
    // By which the server goes on with these words.
    let mark = prefill.and_then(|prefill| prefill.mark.as_deref());
    let is_extra = |name: &&str| *name != "name" && !name.contains('/') && Some(*name) != mark;
    for below in turn.unknown.drain(..) {
        match below.strip_prefix('/').filter(is_extra) {
            Some(name) => {
                let reason = || {
                    format!(
                        "{} takes no messages with other members than its own",
                        to.title
                    )
                };
                ledger.lose("extras", &turn.origin.member(name), reason);
            }
            None => others.push(below),
        }
    }
    turn.unknown = others;
    if turn.reasoning.is_some() {
        // Under the server's own name.
        turn.edits.add(Edits::THOUGHTS);
    }
    turn.edits.add(Edits::EXTRAS);
}

/// Anthropic's marks of what to cache, on a message and on its parts, and what stands beside a call: gateways and SDKs of several
/// servers set both.
fn without_inner(turn: &mut Turn, to: &Fitting<'_>, ledger: &mut Ledger) {
    let mark = turn
        .unknown
        .iter()
        .position(|below| below == "/cache_control");
    let mut marked = Vec::new();
    if let Some(at) = mark {
        turn.unknown.remove(at);
        marked.push(turn.origin.member("cache_control"));
    }
    // Of a part that is not read the mark is told apart.
    let is_unread = |part: &Part| matches!(part, Part::Opaque { .. });
    let is_mark = |below: &String| below.ends_with("/cache_control");
    let mut is_within = turn.parts.iter().any(is_unread) && turn.unknown.iter().any(is_mark);
    for part in &mut turn.parts {
        is_within |= part.unmark();
    }
    if is_within {
        marked.push(turn.origin.member("content"));
    }
    for origin in &marked {
        let reason = || {
            format!(
                "{} takes no marks of what to cache: it finds that by itself",
                to.title
            )
        };
        ledger.lose("marks", origin, reason);
    }
    let signed = turn.calls.iter().find(|call| call.signature.is_some());
    if let Some(call) = signed.filter(|_| to.history.sealed == Sealing::Nothing) {
        let reason = || format!("{} cannot read what another server signed", to.title);
        ledger.lose("sealed", &call.origin, reason);
    }
    if !marked.is_empty() || !turn.calls.is_empty() {
        turn.edits.add(Edits::INNER);
    }
}

/// Thoughts under the server's own name, and nothing that another server signed of them.
fn own_thoughts(turn: &mut Turn, to: &Fitting<'_>, ledger: &mut Ledger) {
    let is_own = |stated: &Stated| {
        let own = to.history.reasoning();
        own.is_some_and(|own| stated.origin.0.ends_with(&format!(".{own}")))
    };
    if turn
        .reasoning
        .as_ref()
        .is_some_and(|stated| !is_own(stated))
    {
        turn.edits.add(Edits::THOUGHTS);
    }
    for held in std::mem::take(&mut turn.sealed) {
        let reason = || format!("{} cannot read what another server signed", to.title);
        ledger.lose("sealed", &held.origin, reason);
        turn.edits.add(Edits::THOUGHTS);
    }
}

/// Thoughts behind which the model says and calls nothing before somebody else speaks: of a stream that broke, or was
/// stopped. Instructions stand apart from the turns where this is refused.
pub(super) fn ending_thoughts(turns: &mut [Turn], to: &Fitting<'_>, ledger: &mut Ledger) {
    if !to.refuses(Refusal::EndingThoughts) {
        return;
    }
    let says = |part: &Part| !matches!(part, Part::Text { text, .. } if text.trim().is_empty());
    let mut is_followed = false;
    for turn in turns.iter_mut().rev() {
        match turn.role {
            Role::System => continue,
            Role::User | Role::Tool => is_followed = false,
            Role::Assistant => is_followed |= !turn.calls.is_empty() || turn.parts.iter().any(says),
        }
        if is_followed || turn.sealed.is_empty() {
            continue;
        }
        // What is readable of them goes along: it is not taken without the signature.
        turn.reasoning = None;
        for held in std::mem::take(&mut turn.sealed) {
            let reason = || format!("{} takes no turn that ends with thoughts", to.title);
            ledger.lose("ending_thoughts", &held.origin, reason);
        }
        turn.edits.add(Edits::THOUGHTS);
    }
}

const fn is_text(part: &Part) -> bool {
    matches!(part, Part::Text { .. })
}

/// Images and files of results go into a turn of the user's behind the results.
pub(super) fn images(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    let has_media = |turn: &Turn| turn.role == Role::Tool && !turn.parts.iter().all(is_text);
    if !to.refuses(Refusal::ResultImages) || !turns.iter().any(has_media) {
        return;
    }
    let mut fitted = Vec::with_capacity(turns.len() + 1);
    let mut moved: Vec<Part> = Vec::new();
    for mut turn in std::mem::take(turns) {
        if turn.role != Role::Tool {
            fitted.extend(of_user(&mut moved));
        }
        if has_media(&turn) {
            let reason = || {
                let title = to.title;
                format!(
                    "{title} takes text alone in results: the rest is told among the user's words"
                )
            };
            ledger.lose("result_images", &turn.origin.member("content"), reason);
            let tool = turn.tool.as_deref().unwrap_or("a tool");
            let note = format!("What the tool {tool} returned beside text:");
            moved.push(Part::Text {
                text: note,
                cache: None,
            });
            let (texts, media) = turn.parts.drain(..).partition(is_text);
            turn.parts = texts;
            moved.extend::<Vec<Part>>(media);
            if turn.parts.is_empty() {
                turn.parts.push(Part::Text {
                    text: "(See the user's next message.)".to_owned(),
                    cache: None,
                });
            }
            turn.edits.add(Edits::CONTENT);
        }
        fitted.push(turn);
    }
    fitted.extend(of_user(&mut moved));
    *turns = fitted;
}

/// Files of text as their text, which every model reads.
pub(super) fn text_files(turns: &mut [Turn], to: &Fitting<'_>) {
    if !to.refuses(Refusal::TextFiles) {
        return;
    }
    for turn in turns {
        for part in &mut turn.parts {
            let Part::Data {
                media_type,
                data,
                name,
                ..
            } = part
            else {
                continue;
            };
            let Some(said) = text_of(media_type, data) else {
                continue;
            };
            let text = match name {
                Some(name) => format!("{name}:\n\n{said}"),
                None => said,
            };
            *part = Part::Text { text, cache: None };
            turn.edits.add(Edits::CONTENT);
        }
    }
}

/// What a file of text says.
fn text_of(media_type: &str, data: &str) -> Option<String> {
    const TEXTS: [&str; 6] = ["json", "xml", "yaml", "x-yaml", "toml", "javascript"];
    let is_text = match media_type.split_once('/')? {
        ("text", _) => true,
        ("application", kind) => TEXTS.contains(&kind) || kind.ends_with("+json"),
        _ => false,
    };
    let bytes = is_text.then(|| STANDARD_NO_PAD.decode(data.trim_end_matches('=')).ok())?;
    String::from_utf8(bytes?).ok()
}

/// Files that tools returned, or that were there before the model last spoke: an agent that reads a PDF sends it with each
/// request from then on, which would all fail. One that is asked about now is the server's to refuse.
pub(super) fn files(turns: &mut [Turn], to: &Fitting<'_>, ledger: &mut Ledger) {
    if !to.refuses(Refusal::Files) {
        return;
    }
    let spoke = turns.iter().rposition(|turn| turn.role == Role::Assistant);
    let now = spoke.map_or(0, |place| place + 1);
    let acts = (turns.iter().skip(now)).any(|turn| turn.role == Role::Tool);
    let asked = if acts { turns.len() } else { now };
    for turn in turns.iter_mut().take(asked) {
        for part in &mut turn.parts {
            let Part::Data {
                media_type, name, ..
            } = part
            else {
                continue;
            };
            if matches!(
                media_type.split_once('/'),
                Some(("image" | "audio" | "video", _))
            ) {
                continue;
            }
            let reason = || format!("{} takes no files: the model is told so", to.title);
            ledger.lose("files", &turn.origin.member("content"), reason);
            let name = name.as_deref().map_or("", String::as_str);
            let kind: &str = media_type;
            let text = match name {
                "" => format!("(A file of type {kind}, which cannot be read here.)"),
                name => format!("(The file {name} of type {kind}, which cannot be read here.)"),
            };
            *part = Part::Text { text, cache: None };
            turn.edits.add(Edits::CONTENT);
        }
    }
}

fn of_user(parts: &mut Vec<Part>) -> Option<Turn> {
    let parts = std::mem::take(parts);
    (!parts.is_empty()).then(|| Turn {
        parts,
        ..Turn::added(Role::User, "")
    })
}

/// What was left of a turn of the model's that only thought, or of an empty list of calls: "expected a string, got null"
/// (vercel/ai#13744).
pub(super) fn silent(turns: &mut [Turn]) {
    let is_silent = |turn: &&mut Turn| {
        turn.role == Role::Assistant
            && turn.edits.is_any()
            && turn.parts.is_empty()
            && turn.calls.is_empty()
            // A voice is told by its id.
            && turn.unknown.is_empty()
    };
    for turn in turns.iter_mut().filter(is_silent) {
        // Written as an empty text.
        turn.edits.add(Edits::CONTENT);
    }
}

/// Turns that say nothing, calls without a content, and text beside calls.
pub(super) fn empty(turns: &mut Vec<Turn>, to: &Fitting<'_>, ledger: &mut Ledger) {
    let is_empty = |turn: &Turn| {
        let says = |part: &Part| !matches!(part, Part::Text { text, .. } if text.is_empty());
        !turn.parts.iter().any(says)
    };
    if to.refuses(Refusal::EmptyTurns) {
        let is_said = |turn: &Turn| {
            !matches!(turn.role, Role::Assistant | Role::System)
                || !turn.calls.is_empty()
                || !is_empty(turn)
        };
        turns.retain(is_said);
    }
    if to.refuses(Refusal::TextBesideCalls) {
        let is_both = |turn: &Turn| !turn.calls.is_empty() && !is_empty(turn);
        let mut fitted = Vec::with_capacity(turns.len());
        for mut turn in std::mem::take(turns) {
            if is_both(&turn) {
                let parts = std::mem::take(&mut turn.parts);
                turn.edits.add(Edits::CONTENT);
                if to.refuses(Refusal::Repeats) {
                    let reason = || format!("{} takes no text beside calls", to.title);
                    ledger.lose("text_beside_calls", &turn.origin.member("content"), reason);
                } else {
                    fitted.push(Turn {
                        parts,
                        ..Turn::added(Role::Assistant, "")
                    });
                }
            }
            fitted.push(turn);
        }
        *turns = fitted;
    }
    if to.refuses(Refusal::NullContent) {
        let has_none = |turn: &&mut Turn| turn.parts.is_empty();
        for turn in turns.iter_mut().filter(has_none) {
            let text = String::new();
            turn.parts.push(Part::Text { text, cache: None });
            turn.edits.add(Edits::CONTENT);
        }
    }
}
