//! An upstream's error in the client's terms: its status, its code and its words kept, what a
//! launch flag would mend explained by the rule.

use crate::dialect::server::{ReplyFault, error_text};
use crate::error::{Error, Kind, shortened};
use crate::ir::{Place, Violation};
use crate::rules::{LaunchRule, Rule, limit_of};
use crate::sse::Decoder;
use serde_json::Value;

/// Longer messages are cut: a server may echo a whole request.
const MAX_MESSAGE_CHARS: usize = 1000;

/// An upstream's error reply: any of the shapes that servers use, or plain text.
#[must_use]
pub fn upstream_error(rule: &Rule, status: u16, body: &[u8]) -> Error {
    explained(rule, status, Reported::read(body))
}

/// An error that a server reports where an answer was to be, under a head that says that all is well. Where it names a status,
/// or says that the request is at fault, it is what an error reply would have been.
pub(super) fn in_place(rule: &Rule, raw: &str) -> Error {
    let said = Reported::read(raw.as_bytes());
    explained(rule, said.status.unwrap_or(500), said)
}

fn explained(rule: &Rule, status: u16, said: Reported) -> Error {
    let answered = status;
    // Clients know a key that is not one by its status, which Gemini gives to any faulty request.
    let status = match status {
        _ if said.refuses_key => 401,
        400 if said.lacks_model(400) => 404,
        // Anthropic's own, which no other clients ask again after.
        529 => 503,
        // What is asked again after such a status is the same request.
        500.. if said.is_refusal(rule) => 400,
        status => status,
    };
    let kind = match status {
        401 | 403 => Kind::UpstreamAuth,
        // Any other is that of a path: the upstream's URL is not that of its API.
        404 if said.speaks_of_a_model() => Kind::ModelNotFound,
        429 => Kind::UpstreamRateLimited,
        503 if said.message.to_lowercase().contains("loading") => Kind::ModelLoading,
        // Some answer 500 to it (llama.cpp before September 2025), some 413 (Anthropic).
        400.. if said.is_too_long(&rule.too_long) => Kind::ContextLength,
        400..=499 => Kind::UpstreamRefused,
        _ => Kind::UpstreamFailed,
    };
    let mut message = format!("the server answered {answered}: {}", said.message);
    if let Some(launch) = rule
        .launch
        .iter()
        .find(|launch| said.message.contains(&launch.contains) && has_room(launch, &said.message))
    {
        message.truncate(message.trim_end_matches('.').len());
        message.push_str(". Remedy: ");
        message.push_str(&launch.remedy);
    }
    if kind == Kind::ContextLength {
        return Error::new(kind, message);
    }
    Error {
        param: said.param,
        code: said.code,
        retry_after: said.retry_after,
        ..Error::new(kind, message).with_status(status)
    }
}

/// The violation that an error stands for which says that the server made nothing of what the model wrote: that is no fault of
/// the request's.
#[must_use]
pub fn garbled(rule: &Rule, error: &Error) -> Option<Violation> {
    let mut pieces = rule.garbled.iter();
    let is_garbled = pieces.any(|piece| error.message.contains(piece.as_str()));
    let message = || format!("nothing could be made of it ({})", error.message);
    is_garbled.then(|| Violation::new(Place::Content(0), "json", message()))
}

/// Whether an error reply says that the server does not have the model.
#[must_use]
pub fn lacks_model(status: u16, body: &[u8]) -> bool {
    matches!(status, 400 | 404) && Reported::read(body).lacks_model(status)
}

/// What an error told of the server's launch, or its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The fact, a word of the rule files.
    pub fact: String,
    /// Whether the error can have no other reason. If it can, the fact is to be believed only of a server that answers what
    /// is planned with it.
    pub is_sure: bool,
    /// The same of an answer to a question of the probe's own.
    pub is_sure_of_probe: bool,
    /// The words by which it is known.
    pub words: String,
}

/// Whether a request says these words somewhere. A server may echo it in its error, which then tells nothing of the server:
/// what one client writes must not change how the others' requests are asked.
#[must_use]
pub fn says(request: &[u8], words: &str) -> bool {
    fn holds(value: &Value, words: &str) -> bool {
        match value {
            Value::String(text) => text.contains(words),
            Value::Array(items) => items.iter().any(|item| holds(item, words)),
            Value::Object(members) => members
                .iter()
                .any(|(name, value)| name.contains(words) || holds(value, words)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    crate::json::value_of(request).is_ok_and(|value| holds(&value, words))
}

/// The facts about the server's launch, or its model, that its error may tell of, in the order in which they are to be
/// tried: of those about conversations, see [`super::concerns`].
#[must_use]
pub fn launch_facts(rule: &Rule, body: &[u8]) -> Vec<Told> {
    launch_facts_in(rule, &Reported::read(body).message)
}

/// The same, of an error that came inside a reply: servers begin some replies before they have looked at the request.
#[must_use]
pub fn launch_facts_in(rule: &Rule, message: &str) -> Vec<Told> {
    let told = (rule.launch.iter()).filter(|launch| is_told(launch, message));
    let fact = |launch: &LaunchRule| {
        let fact = match &launch.room {
            Some(room) => limit_of(left_in(room, message)?),
            None => launch.fact.clone()?,
        };
        Some(Told {
            fact,
            is_sure: !launch.unsure,
            is_sure_of_probe: !launch.unsure || launch.sure_of_probe,
            words: launch.contains.clone(),
        })
    };
    told.filter_map(fact).collect()
}

/// The tokens that are left for a reply: of the most that it and its prompt may have, what the prompt has taken off.
fn left_in(room: &[String; 2], message: &str) -> Option<u64> {
    let behind = |piece: &String| -> Option<u64> {
        let (_, rest) = message.split_once(piece.as_str())?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    let [most, prompt] = room;
    let left = behind(most)?.checked_sub(behind(prompt)?);
    left.filter(|left| *left > 0)
}

/// Whether a shorter reply would have room, where an error is about that.
fn has_room(launch: &LaunchRule, message: &str) -> bool {
    (launch.room.as_ref()).is_none_or(|room| left_in(room, message).is_some())
}

fn is_told(launch: &LaunchRule, message: &str) -> bool {
    if !launch.is_field {
        return message.contains(&launch.contains);
    }
    let in_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut places = message.match_indices(launch.contains.as_str());
    places.any(|(at, found)| {
        let (before, behind) = (&message[..at], &message[at + found.len()..]);
        let before = before.strip_suffix("body.").unwrap_or(before);
        let begins =
            !found.starts_with(in_name) || !before.ends_with(|it| in_name(it) || it == '.');
        let ends = !found.ends_with(in_name) || !behind.starts_with(in_name);
        begins && ends
    })
}

/// An error that the upstream reports inside a reply, from its raw JSON; `too_long` has pieces of what is said of prompts that are.
pub(super) fn reported(raw: &str, too_long: &[String]) -> Error {
    let said = Reported::read(raw.as_bytes());
    // What a client does about it goes by its kind: another failure is asked for again.
    let kind = match said.status {
        Some(429) => Kind::UpstreamRateLimited,
        _ if said.is_too_long(too_long) => Kind::ContextLength,
        Some(401 | 403) => Kind::UpstreamAuth,
        // Some servers begin a stream before they look at the request.
        Some(400 | 413 | 422) => Kind::UpstreamRefused,
        _ => Kind::UpstreamFailed,
    };
    Error {
        param: said.param,
        code: said.code,
        retry_after: said.retry_after,
        // Which clients wait for, and ask again.
        status: said
            .status
            .filter(|status| matches!(status, 503 | 529))
            .map(|_| 503),
        ..Error::new(kind, format!("the server reported: {}", said.message))
    }
}

/// An error that stands in an event of a stream, with what frames it.
#[must_use]
pub fn error_in(event: &[u8]) -> Error {
    let mut events = Vec::new();
    // Without a limit nothing is too large.
    let _read = Decoder::new(usize::MAX).push(event, &mut events);
    // It may have no data.
    let named = events.first();
    let named = named.filter(|first| first.event.as_deref() == Some("error"));
    let mut lines = event.split(|byte| matches!(byte, b'\n' | b'\r'));
    let json = match named {
        Some(first) => Some(first.data.as_slice()),
        None => lines.find_map(|line| line.get(memchr::memchr(b'{', line)?..)),
    };
    reported(&String::from_utf8_lossy(json.unwrap_or(event)), &[])
}

/// A body that cannot be read as a reply.
pub(super) fn unreadable(fault: ReplyFault, too_long: &[String]) -> Error {
    match fault {
        ReplyFault::NotAReply => Error::new(
            Kind::UpstreamBadReply,
            "the server's reply is no reply to a chat request",
        ),
        ReplyFault::Error(raw) => reported(&raw, too_long),
    }
}

struct Reported {
    message: String,
    param: Option<String>,
    code: Option<String>,
    /// Its `type`.
    kind: Option<String>,
    /// The status that it names.
    status: Option<u16>,
    /// After how many seconds to ask again, where the body says so: Gemini has no header for it, and OpenAI none in a stream.
    retry_after: Option<u64>,
    /// Gemini does not know the key.
    refuses_key: bool,
}

/// Types, codes and states that stand for a status: OpenAI's, Anthropic's, vLLM's, Gemini's and DashScope's words.
const STATUSES: [(&str, u16); 14] = [
    ("invalid_request_error", 400),
    ("BadRequestError", 400),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("insufficient_quota", 429),
    ("invalid_prompt", 400),
    ("cyber_policy", 400),
    ("RateLimitError", 429),
    ("RESOURCE_EXHAUSTED", 429),
    ("overloaded_error", 529),
    ("server_is_overloaded", 503),
    ("UNAVAILABLE", 503),
    ("Throttling", 429),
    ("InvalidParameter", 400),
];

/// What stands around a model's name where a server answers 400 to one that it does not have: llama.cpp's router
/// (`router_validate_model` of tools/server/server-models.cpp, read at 0c1e57098).
const LACKS_MODEL: (&str, &str) = ("model '", "' not found");

/// Codes that stand for one, where no status of HTTP's is among the body: MiniMax's (`base_resp`, its documentation) and SiliconFlow's.
const CODES: [(u64, u16); 5] = [
    (1002, 429),
    (1004, 401),
    (1008, 429),
    (2013, 400),
    (50505, 503),
];

impl Reported {
    /// Every server that refuses a model by its name says the word, or has the code for it.
    fn speaks_of_a_model(&self) -> bool {
        self.message.to_lowercase().contains("model")
            || self
                .code
                .as_deref()
                .is_some_and(|code| code.contains("model"))
    }

    /// Of a model that the server does not have, under this status.
    fn lacks_model(&self, status: u16) -> bool {
        let (before, behind) = LACKS_MODEL;
        match status {
            404 => self.speaks_of_a_model(),
            400 => self.message.starts_with(before) && self.message.ends_with(behind),
            _ => false,
        }
    }

    /// Of the prompt, as any server says it.
    fn is_too_long(&self, pieces: &[String]) -> bool {
        let mut pieces = pieces.iter();
        let words = [Kind::ContextLength.code(), "exceed_context_size_error"];
        let mut said = [&self.code, &self.kind].into_iter().flatten();
        said.any(|said| words.contains(&said.as_str()))
            || pieces.any(|piece| self.message.contains(piece.as_str()))
    }

    /// Of the request itself.
    fn is_refusal(&self, rule: &Rule) -> bool {
        let mut pieces = rule.refused.iter();
        pieces.any(|piece| self.message.contains(piece.as_str()))
    }

    fn read(body: &[u8]) -> Self {
        let body = of_event(body);
        let mut value: Value = crate::json::value_of(body).unwrap_or(Value::Null);
        // Gemini has some errors in a list of one.
        if let Some(only) = value.get_mut(0) {
            value = only.take();
        }
        // Cloudflare's `errors` and KoboldCpp's `detail` may be one object as well.
        let inner = ["error", "errors", "detail"].map(|name| &value[name]);
        let inner = inner.into_iter().find(|inner| inner.is_object());
        let inner = inner.unwrap_or(&value);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = said(&inner["message"])
            .or_else(|| text(&inner["msg"]))
            .or_else(|| text(&value["error"]))
            .or_else(|| text(&value["detail"]))
            .or_else(|| value["detail"].as_array().map(|faults| details(faults)))
            // Cloudflare's, and MiniMax's.
            .or_else(|| text(&value["errors"][0]["message"]))
            .or_else(|| text(&value["base_resp"]["status_msg"]))
            // Venice's, and Zhipu's gateway's.
            .or_else(|| text(&value["error_message"]))
            .or_else(|| text(&value["msg"]))
            .or_else(|| text(&value))
            .unwrap_or_else(|| plain(body));
        // What the provider behind a gateway said ("Provider returned error", OpenRouter): an error reply of its own, or words.
        let behind = inner["metadata"]["raw"].as_str();
        let behind = behind.filter(|raw| !raw.trim().is_empty());
        let message = match behind.map(|raw| Self::read(raw.as_bytes()).message) {
            Some(reason) if !message.contains(&reason) => format!("{message}: {reason}"),
            _ => message,
        };
        let named = ["code", "status"].map(|name| inner[name].as_u64());
        let named = named
            .into_iter()
            .flatten()
            .find(|status| (400..600).contains(status));
        let words = ["type", "code", "status", "error_type"].map(|name| inner[name].as_str());
        let is_said = |(word, _): &&(&str, u16)| {
            // DashScope's have more behind a point (`Throttling.AllocationQuota`).
            let begins = |said: &str| said.split('.').next() == Some(*word);
            words.into_iter().flatten().any(begins)
        };
        let said = STATUSES.iter().find(is_said).map(|(_, status)| *status);
        let code = [&inner["code"], &value["base_resp"]["status_code"]];
        let code = code.into_iter().find_map(Value::as_u64);
        let coded = CODES.iter().find(|(known, _)| Some(*known) == code);
        let said = said.or(coded.map(|(_, status)| *status));
        Self {
            message: shortened(message.trim(), MAX_MESSAGE_CHARS).into_owned(),
            param: text(&inner["param"]),
            code: text(&inner["code"]).or_else(|| text(&inner["error_type"])),
            kind: text(&inner["type"]),
            status: named.and_then(|status| u16::try_from(status).ok()).or(said),
            retry_after: retry_after(&inner["details"]).or_else(|| again_in(&message)),
            refuses_key: is_key_wrong(&inner["details"]),
        }
    }
}

/// The data of an event: DashScope answers a stream's request with one, whatever the status.
fn of_event(body: &[u8]) -> &[u8] {
    if !body.starts_with(b"id:") && !body.starts_with(b"event:") && !body.starts_with(b"data:") {
        return body;
    }
    let mut lines = body.split(|byte| *byte == b'\n');
    let data = lines.find_map(|line| line.strip_prefix(b"data:"));
    data.map_or(body, <[u8]>::trim_ascii)
}

/// google.rpc's `ErrorInfo` of a key that is not one.
fn is_key_wrong(details: &Value) -> bool {
    let mut infos = details.as_array().into_iter().flatten();
    infos.any(|info| info["reason"] == "API_KEY_INVALID")
}

/// The seconds of google.rpc's `RetryInfo`: `"34.07s"` are 35.
fn retry_after(details: &Value) -> Option<u64> {
    let mut infos = details.as_array()?.iter();
    let delay = infos.find_map(|info| info["retryDelay"].as_str())?;
    let (whole, rest) = delay
        .strip_suffix('s')
        .map(|delay| delay.split_once('.').unwrap_or((delay, "")))?;
    let whole: u64 = whole.parse().ok()?;
    Some(whole.saturating_add(u64::from(rest.bytes().any(|digit| digit != b'0'))))
}

/// The seconds of `Please try again in 1.898s`, `28ms` or `6m0s` (OpenAI's rate limits), of which a part is one.
fn again_in(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("try again in ")?;
    let mut millis = 0_f64;
    let mut rest = rest.split([' ', ',']).next()?.trim_end_matches('.');
    while let Some(end) = rest.find(|letter: char| letter.is_ascii_alphabetic()) {
        let (number, unit) = rest.split_at(end);
        let number: f64 = number.parse().ok()?;
        let unit_end = unit.find(|letter: char| !letter.is_ascii_alphabetic());
        let (unit, after) = unit.split_at(unit_end.unwrap_or(unit.len()));
        millis += number
            * match unit {
                "ms" => 1.0,
                "s" => 1e3,
                "m" => 6e4,
                "h" => 3.6e6,
                _ => return None,
            };
        rest = after;
    }
    (rest.is_empty() && millis > 0.0).then(|| (millis / 1e3).ceil() as u64)
}

/// What a message says: a text, or what FastAPI found, which Azure's Foundry has there as an object, or as the JSON of one
/// (BerriAI/litellm#11696).
fn said(message: &Value) -> Option<String> {
    let found = |message: &Value| {
        let faults = message["detail"].as_array();
        let text = message["detail"].as_str().map(str::to_owned);
        faults.map(|faults| details(faults)).or(text)
    };
    let Value::String(text) = message else {
        return found(message);
    };
    let within = text.trim_start().starts_with('{');
    let within = within.then(|| crate::json::value_of(text.as_bytes()));
    let within = within.and_then(|value| found(&value.ok()?));
    Some(within.unwrap_or_else(|| text.clone()))
}

/// FastAPI's list of validation faults.
fn details(faults: &[Value]) -> String {
    let one = |fault: &Value| {
        let place: Vec<String> = fault["loc"]
            .as_array()
            .map(|loc| {
                loc.iter()
                    .map(|part| {
                        part.as_str()
                            .map_or_else(|| part.to_string(), str::to_owned)
                    })
                    .collect()
            })
            .unwrap_or_default();
        format!(
            "{}: {}",
            place.join("."),
            fault["msg"].as_str().unwrap_or("invalid")
        )
    };
    faults.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn plain(body: &[u8]) -> String {
    // Its quotes are not escaped.
    let body = error_text(body).map_or(body, |text| {
        let text = text.trim_ascii_end();
        text.strip_suffix(b"\"}").unwrap_or(text)
    });
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() {
        "no reason given".to_owned()
    } else if text.starts_with('<') {
        "an HTML page, so something between the proxy and the server answered".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests;
