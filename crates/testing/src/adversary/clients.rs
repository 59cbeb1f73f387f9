//! The client dialects: what a demand is in each one's words, and what its clients put together of the
//! bytes that come back, read by the SDKs' own rules and by nothing of the house's.

pub mod ask;
mod completions;
mod gemini;
mod interactions;
mod messages;
mod ollama;
mod responses;

use super::demands::Demand;
use super::fold::{self, Came, Choice, Fault, Folded, FoldedCall, fault};
use super::json::{J, Twice, read};
use isogloss_core::dialect::client::Client;
use isogloss_core::passage;

/// A client dialect, in one of the forms in which its replies come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Dialect {
    #[default]
    Chat,
    Completions,
    Responses,
    Messages,
    Gemini,
    /// Gemini's, streamed as one JSON list.
    GeminiList,
    /// Google's newer one.
    Interactions,
    OllamaChat,
    OllamaGenerate,
}

impl Dialect {
    pub const ALL: [Self; 9] = [
        Self::Chat,
        Self::Completions,
        Self::Responses,
        Self::Messages,
        Self::Gemini,
        Self::GeminiList,
        Self::Interactions,
        Self::OllamaChat,
        Self::OllamaGenerate,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            Self::GeminiList => "gemini list",
            Self::Interactions => "interactions",
            Self::OllamaChat => "ollama chat",
            Self::OllamaGenerate => "ollama generate",
        }
    }

    /// Where such a request goes: a path, perhaps with a query.
    pub const fn target(self, stream: bool) -> &'static str {
        match (self, stream) {
            (Self::Chat, _) => "/v1/chat/completions",
            (Self::Completions, _) => "/v1/completions",
            (Self::Responses, _) => "/v1/responses",
            (Self::Messages, _) => "/v1/messages",
            (Self::Gemini | Self::GeminiList, false) => "/v1beta/models/m:generateContent",
            (Self::Gemini, true) => "/v1beta/models/m:streamGenerateContent?alt=sse",
            (Self::GeminiList, true) => "/v1beta/models/m:streamGenerateContent",
            (Self::Interactions, _) => "/v1beta/interactions",
            (Self::OllamaChat, _) => "/api/chat",
            (Self::OllamaGenerate, _) => "/api/generate",
        }
    }

    /// The path of the target, and who is asked there.
    pub fn route(self, stream: bool) -> (&'static str, &'static dyn Client) {
        let target = self.target(stream);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let client = passage::client(path).expect("a route of the house's");
        (path, client.for_query(query).unwrap_or(client))
    }

    /// What a reply's type begins with.
    pub const fn media_type(self, stream: bool) -> &'static str {
        match (self, stream) {
            (_, false) | (Self::GeminiList, true) => "application/json",
            (Self::OllamaChat | Self::OllamaGenerate, true) => "application/x-ndjson",
            (_, true) => "text/event-stream",
        }
    }

    /// What stands before the rule that a stream breaks, where it says so: in a comment, or where the dialect
    /// has none in a field that no client reads as an answer.
    pub const fn tells(self) -> &'static str {
        match self {
            Self::Gemini | Self::GeminiList => "\"finishMessage\":\"x-isogloss-violation: ",
            Self::OllamaChat | Self::OllamaGenerate => "\"isogloss\":\"x-isogloss-violation: ",
            _ => "\n: x-isogloss-violation: ",
        }
    }

    /// The demand of Chat's pool in this dialect's words; `None` where it has none for it.
    pub fn asks(self, demand: &Demand) -> Option<Demand> {
        if self == Self::Chat {
            return Some(demand.clone());
        }
        ask::asks(self, demand)
    }

    /// Takes a reply apart.
    pub fn fold(self, status: u16, body: &[u8], stream: bool) -> Came {
        if self == Self::Chat {
            return fold::fold(status, body, stream);
        }
        if !(200..300).contains(&status) {
            return Came::Refused;
        }
        let Ok(text) = std::str::from_utf8(body) else {
            return Came::Broken(fault("encoding", "the body is no UTF-8"));
        };
        let events = if stream {
            self.events(text)
        } else {
            object(text).map(|body| vec![(String::new(), body)])
        };
        let events = match events {
            Ok(events) => events,
            Err(fault) => return Came::Broken(fault),
        };
        if events.iter().any(|(_, event)| self.is_error(event)) {
            return Came::Refused;
        }
        let mut readers = vec![Twice::Last];
        if events.iter().any(|(_, event)| event.is_twofold()) {
            readers.push(Twice::First);
        }
        let mut views = Vec::new();
        for twice in readers {
            let once: Vec<Event> = events
                .iter()
                .map(|(name, event)| (name.clone(), event.only(twice)))
                .collect();
            for view in self.views(&once, stream) {
                if !views.contains(&view) {
                    views.push(view);
                }
            }
        }
        Came::Success(views)
    }

    /// A stream's events, in its framing.
    fn events(self, text: &str) -> Result<Vec<Event>, Fault> {
        match self {
            Self::OllamaChat | Self::OllamaGenerate => text.lines().map(unnamed).collect(),
            Self::GeminiList => match read(text) {
                Some(J::Arr(all)) => Ok(all.into_iter().map(|one| (String::new(), one)).collect()),
                _ => Err(fault("framing", "the stream is no JSON list")),
            },
            Self::Completions => completions::events(text),
            Self::Interactions => {
                let rest = text.strip_suffix("event: done\ndata: [DONE]\n\n");
                server_sent(rest.ok_or_else(|| fault("framing", "the stream has no end"))?)
            }
            _ => server_sent(text),
        }
    }

    fn is_error(self, event: &J) -> bool {
        let is_told = event.get("error").is_some_and(|error| *error != J::Null);
        is_told
            || matches!(
                event.get("type").and_then(J::str),
                Some("error" | "response.failed")
            )
            || event.get("event_type").and_then(J::str) == Some("error")
    }

    fn views(self, events: &[Event], stream: bool) -> Vec<Folded> {
        match self {
            Self::Chat => Vec::new(),
            Self::Completions => vec![completions::fold(events)],
            Self::Responses if stream => responses::streamed(events),
            Self::Responses => vec![responses::whole(&events[0].1)],
            Self::Messages if stream => vec![messages::streamed(events)],
            Self::Messages => vec![messages::whole(&events[0].1)],
            Self::Gemini | Self::GeminiList => vec![gemini::fold(events)],
            Self::Interactions if stream => vec![interactions::streamed(events)],
            Self::Interactions => vec![interactions::whole(&events[0].1)],
            Self::OllamaChat | Self::OllamaGenerate => vec![ollama::fold(self, events)],
        }
    }
}

/// The name of an event, where its framing has names, and its data.
type Event = (String, J);

fn object(text: &str) -> Result<J, Fault> {
    match read(text) {
        Some(J::Obj(members)) => Ok(J::Obj(members)),
        _ => Err(fault("json", "an event or the body is no JSON object")),
    }
}

fn unnamed(text: &str) -> Result<Event, Fault> {
    object(text).map(|event| (String::new(), event))
}

/// Server-sent events; comments are skipped, as clients do.
fn server_sent(text: &str) -> Result<Vec<Event>, Fault> {
    let is_whole = text.is_empty() || text.ends_with("\n\n");
    if !is_whole {
        return Err(fault("framing", "the last event has no end"));
    }
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    let mut all = Vec::new();
    for event in events {
        let (mut name, mut data) = (String::new(), Vec::new());
        for line in event.split('\n').filter(|line| !line.starts_with(':')) {
            match line.split_once(": ") {
                Some(("event", word)) => word.clone_into(&mut name),
                Some(("data", text)) => data.push(text),
                _ => return Err(fault("framing", "a line is neither `event: ` nor `data: `")),
            }
        }
        if !data.is_empty() {
            all.push((name, object(&data.join("\n"))?));
        }
    }
    Ok(all)
}

/// One choice, of the only place where these dialects have one.
fn only(choice: Choice, faults: Vec<Fault>) -> Folded {
    Folded {
        choices: [(0, choice)].into(),
        faults,
        minds_no_case: false,
    }
}

/// A text that must be there.
fn text(of: &J, name: &str, faults: &mut Vec<Fault>) -> String {
    match of.get(name) {
        Some(J::Str(text)) => text.clone(),
        _ => {
            note(faults, "shape", &format!("`{name}` is no string"));
            String::new()
        }
    }
}

fn note(faults: &mut Vec<Fault>, kind: &'static str, what: &str) {
    let fault = fault(kind, what);
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

/// A function's call, of wires that know no others.
fn function(id: String, name: String, input: String) -> FoldedCall {
    FoldedCall {
        id,
        kind: "function".to_owned(),
        name,
        input,
    }
}
