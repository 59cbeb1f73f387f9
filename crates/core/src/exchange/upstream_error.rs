//! An upstream's error in the client's terms: its status, its code and its words kept, what a
//! launch flag would mend explained by the rule.

use crate::dialect::server::ReplyFault;
use crate::error::{Error, Kind, shortened};
use crate::ir::{Place, Violation};
use crate::rules::{LaunchRule, Rule};
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
        429 => Kind::RateLimited,
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
        .find(|launch| said.message.contains(&launch.contains))
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
    status == 404 && Reported::read(body).speaks_of_a_model()
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
    serde_json::from_slice(request).is_ok_and(|value| holds(&value, words))
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
    let told = (rule.launch.iter()).filter(|launch| message.contains(&launch.contains));
    let fact = |launch: &LaunchRule| {
        Some(Told {
            fact: launch.fact.clone()?,
            is_sure: !launch.unsure,
            is_sure_of_probe: !launch.unsure || launch.sure_of_probe,
            words: launch.contains.clone(),
        })
    };
    told.filter_map(fact).collect()
}

/// An error that the upstream reports inside a reply, from its raw JSON; `too_long` has pieces of what is said of prompts that are.
pub(super) fn reported(raw: &str, too_long: &[String]) -> Error {
    let said = Reported::read(raw.as_bytes());
    // What a client does about it goes by its kind: another failure is asked for again.
    let kind = match said.status {
        Some(429) => Kind::RateLimited,
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
    /// The status that it names.
    status: Option<u16>,
    /// After how many seconds to ask again, where the body says so: Gemini has no header for it, and OpenAI none in a stream.
    retry_after: Option<u64>,
    /// Gemini does not know the key.
    refuses_key: bool,
}

/// Types, codes and states that stand for a status: OpenAI's, Anthropic's, vLLM's and Gemini's words.
const STATUSES: [(&str, u16); 12] = [
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
];

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

    /// Of the prompt, as any server says it.
    fn is_too_long(&self, pieces: &[String]) -> bool {
        let mut pieces = pieces.iter();
        self.code.as_deref() == Some(Kind::ContextLength.code())
            || pieces.any(|piece| self.message.contains(piece.as_str()))
    }

    /// Of the request itself.
    fn is_refusal(&self, rule: &Rule) -> bool {
        let mut pieces = rule.refused.iter();
        pieces.any(|piece| self.message.contains(piece.as_str()))
    }

    fn read(body: &[u8]) -> Self {
        let mut value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        // Gemini has some errors in a list of one.
        if let Some(only) = value.get_mut(0) {
            value = only.take();
        }
        let inner = match value.get("error") {
            Some(Value::Object(_)) => &value["error"],
            _ => &value,
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = text(&inner["message"])
            .or_else(|| text(&value["error"]))
            .or_else(|| text(&value["detail"]))
            .or_else(|| value["detail"].as_array().map(|faults| details(faults)))
            // Cloudflare's, and MiniMax's.
            .or_else(|| text(&value["errors"][0]["message"]))
            .or_else(|| text(&value["base_resp"]["status_msg"]))
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
        let words = ["type", "code", "status"].map(|name| inner[name].as_str());
        let is_said = |(word, _): &&(&str, u16)| words.contains(&Some(*word));
        let said = STATUSES.iter().find(is_said).map(|(_, status)| *status);
        let code = [&inner["code"], &value["base_resp"]["status_code"]];
        let code = code.into_iter().find_map(Value::as_u64);
        let coded = CODES.iter().find(|(known, _)| Some(*known) == code);
        let said = said.or(coded.map(|(_, status)| *status));
        Self {
            message: shortened(message.trim(), MAX_MESSAGE_CHARS).into_owned(),
            param: text(&inner["param"]),
            code: text(&inner["code"]),
            status: named.and_then(|status| u16::try_from(status).ok()).or(said),
            retry_after: retry_after(&inner["details"]).or_else(|| again_in(&message)),
            refuses_key: is_key_wrong(&inner["details"]),
        }
    }
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
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{Kind, Reported, upstream_error};
    use crate::rules::RuleSet;

    #[test]
    fn a_key_that_gemini_does_not_know_is_one_that_is_not_allowed() {
        let rule = RuleSet::builtin().resolve("gemini", None).unwrap();
        let body = |reason: &str| {
            format!(
                r#"{{"error":{{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[
                {{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"googleapis.com"}}]}}}}"#
            )
        };
        let told = |reason: &str| upstream_error(&rule, 400, body(reason).as_bytes());
        let wrong = told("API_KEY_INVALID");
        assert_eq!((wrong.kind, wrong.status()), (Kind::UpstreamAuth, 401));
        assert_eq!(told("FIELD_INVALID").status(), 400);
    }

    #[test]
    fn an_image_for_a_model_that_takes_none_is_the_requests_fault() {
        let rule = RuleSet::builtin().resolve("llama-cpp", None).unwrap();
        for what in ["image", "audio", "video"] {
            let body = format!(
                r#"{{"error":{{"code":500,"message":"{what} input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}}}"#
            );
            let told = upstream_error(&rule, 500, body.as_bytes());
            assert_eq!((told.kind, told.status()), (Kind::UpstreamRefused, 400));
            assert!(told.message.contains("mmproj"), "{}", told.message);
        }
        let other = upstream_error(&rule, 500, br#"{"error":{"code":500,"message":"boom"}}"#);
        assert_eq!(other.kind, Kind::UpstreamFailed);
    }

    #[test]
    fn gemini_says_in_the_body_when_to_ask_again() {
        let rule = RuleSet::builtin().resolve("gemini", None).unwrap();
        let asked = |delay: &str| {
            let body = format!(
                r#"{{"error":{{"code":429,"message":"slower","status":"RESOURCE_EXHAUSTED","details":[{{"@type":"type.googleapis.com/google.rpc.Help"}},
                {{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{delay}"}}]}}}}"#
            );
            upstream_error(&rule, 429, body.as_bytes()).retry_after
        };
        for (delay, seconds) in [("34.074824224s", 35), ("7s", 7), ("0s", 0), ("1.000s", 1)] {
            assert_eq!(asked(delay), Some(seconds), "{delay}");
        }
        for wrong in ["", "s", "-1s", "1m", "1"] {
            assert_eq!(asked(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn openai_says_in_the_message_when_to_ask_again() {
        for (said, seconds) in [
            ("1.898s. Visit x", Some(2)),
            ("28ms.", Some(1)),
            ("6m0s", Some(360)),
            ("1h2m3.5s.", Some(3724)),
            ("a moment", None),
            ("5", None),
            ("0s", None),
        ] {
            let raw = format!(
                r#"{{"code":"rate_limit_exceeded","message":"Rate limit reached for m. Please try again in {said}"}}"#
            );
            let error = super::reported(&raw, &[]);
            assert_eq!(
                (error.kind, error.retry_after),
                (Kind::RateLimited, seconds),
                "{said}"
            );
        }
        for (code, kind) in [
            ("insufficient_quota", Kind::RateLimited),
            ("invalid_prompt", Kind::UpstreamRefused),
        ] {
            let error = super::reported(&format!(r#"{{"code":"{code}","message":"no"}}"#), &[]);
            assert_eq!((error.kind, error.code.as_deref()), (kind, Some(code)));
        }
    }

    #[test]
    fn what_a_reply_reports_is_of_the_kind_that_its_words_name() {
        for (raw, code) in [
            (
                r#"{"type": "rate_limit_error", "message": "slower"}"#,
                "rate_limited",
            ),
            (
                r#"{"code": "rate_limit_exceeded", "message": "slower"}"#,
                "rate_limited",
            ),
            (
                r#"{"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slower"}"#,
                "rate_limited",
            ),
            (
                r#"{"code": "context_length_exceeded", "message": "long"}"#,
                "context_length_exceeded",
            ),
            (
                r#"{"code": "server_error", "message": "boom"}"#,
                "upstream_error",
            ),
            (
                r#"{"type": "invalid_request_error", "message": "no room"}"#,
                "upstream_refused",
            ),
            (r#"{"message": "boom"}"#, "upstream_error"),
        ] {
            let told = super::reported(raw, &[]);
            assert_eq!(told.kind.code(), code, "{raw}");
            assert!(told.message.starts_with("the server reported: "), "{raw}");
        }
    }

    #[test]
    fn a_server_that_reports_that_it_has_too_much_to_do_is_waited_for() {
        for (raw, status) in [
            (
                r#"{"type": "overloaded_error", "message": "Overloaded"}"#,
                503,
            ),
            (
                r#"{"code": "server_is_overloaded", "message": "later"}"#,
                503,
            ),
            (
                r#"{"code": 503, "status": "UNAVAILABLE", "message": "later"}"#,
                503,
            ),
            (
                r#"{"code": 500, "status": "INTERNAL", "message": "boom"}"#,
                502,
            ),
        ] {
            assert_eq!(super::reported(raw, &[]).status(), status, "{raw}");
        }
    }

    #[test]
    fn a_reply_that_has_an_error_in_the_servers_own_shape_is_that_error() {
        use crate::dialect::server::{self, About};
        use crate::ir::{Event, Ids};

        for (body, kind, words, status) in [
            (
                r#"{"id":"","choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
                Kind::RateLimited,
                "rate limit",
                429,
            ),
            (
                r#"{"code":50505,"message":"Model service overloaded.","data":null}"#,
                Kind::UpstreamFailed,
                "overloaded",
                503,
            ),
            (
                r#"{"success":false,"errors":[{"code":7000,"message":"no route"}],"result":null}"#,
                Kind::UpstreamFailed,
                "no route",
                502,
            ),
            (
                r#"{"detail":"Input is too long for requested model."}"#,
                Kind::ContextLength,
                "too long",
                400,
            ),
        ] {
            let rule = RuleSet::builtin().resolve("plain", None).unwrap();
            let (about, mut ids) = (About::default(), Ids::new(0));
            let fault = server::CHAT.whole(body.as_bytes(), &about, &mut ids);
            let whole = super::unreadable(fault.unwrap_err(), &rule.too_long);
            assert_eq!((whole.kind, whole.status()), (kind, status), "{body}");
            assert!(whole.message.contains(words), "{}", whole.message);
            let mut stream = server::CHAT.stream(about, 1 << 20);
            let events = stream.read(body.as_bytes(), &mut ids).events;
            assert!(matches!(&events[..], [Event::Error(_)]), "{body}");
        }
        let good = r#"{"choices":[],"usage":{},"base_resp":{"status_code":0,"status_msg":""}}"#;
        let (about, mut ids) = (About::default(), Ids::new(0));
        let mut stream = server::CHAT.stream(about, 1 << 20);
        let events = stream.read(good.as_bytes(), &mut ids).events;
        assert!(events.iter().all(|event| !matches!(event, Event::Error(_))));
    }

    #[test]
    fn a_prompt_that_is_too_long_is_told_in_any_servers_words() {
        let rule = RuleSet::builtin().resolve("plain", None).unwrap();
        for said in [
            "The number of tokens to keep from the initial prompt is greater than the context length",
            "Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with context length of only 8",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "Input is too long for requested model.",
            "invalid params, context window exceeds limit (2013)",
            "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
            "Input length 5 exceeds the maximum allowed input length of 4 tokens.",
            "Please reduce the length of the messages or completion.",
            "prompt token count of 9 exceeds the limit of 8",
            "prompt too long; exceeded max context length by 4 tokens",
            "Your input exceeds the context window of this model.",
            "AiError: exceeded this model context window limit (4096)",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
            "Prompt exceeds max length",
            "Prompt length 9 is greater than max_seq_len 8",
        ] {
            let body = serde_json::json!({"error": {"message": said}}).to_string();
            let told = upstream_error(&rule, 400, body.as_bytes());
            assert_eq!(told.kind, Kind::ContextLength, "{said}");
            let reported = super::reported(&body, &rule.too_long);
            assert_eq!(reported.kind, Kind::ContextLength, "{said}");
        }
    }

    #[test]
    fn a_404_is_the_models_only_where_it_says_so() {
        for (body, is_the_models) in [
            (
                r#"{"error":{"message":"The model `m` does not exist.","code":404}}"#,
                true,
            ),
            (
                r#"{"error":{"message":"not found","code":"model_not_found"}}"#,
                true,
            ),
            (
                r#"{"error":"model \"m\" not found, try pulling it first"}"#,
                true,
            ),
            (r#"{"detail":"Not Found"}"#, false),
            ("404 page not found", false),
            ("<html>Models</html>", false),
            ("", false),
        ] {
            let rule = RuleSet::builtin().resolve("vllm", None).unwrap();
            let error = upstream_error(&rule, 404, body.as_bytes());
            assert_eq!(error.status(), 404);
            assert_eq!(error.kind == Kind::ModelNotFound, is_the_models, "{body}");
        }
    }

    #[test]
    fn every_error_shape_is_read() {
        for (body, message, param, code) in [
            (
                r#"{"error":{"message":"bad","type":"BadRequestError","param":"tools","code":400}}"#,
                "bad",
                Some("tools"),
                None,
            ),
            (
                r#"{"error":{"message":"bad","code":"context_length_exceeded"}}"#,
                "bad",
                None,
                Some("context_length_exceeded"),
            ),
            (
                r#"{"object":"error","message":"bad","type":"BadRequest","param":null,"code":400}"#,
                "bad",
                None,
                None,
            ),
            (
                r#"[{"error":{"message":"bad","code":400}}]"#,
                "bad",
                None,
                None,
            ),
            (r#"{"error":"bad"}"#, "bad", None, None),
            (r#"{"detail":"bad"}"#, "bad", None, None),
            (
                r#"{"detail":[{"loc":["body",3],"msg":"bad"}]}"#,
                "body.3: bad",
                None,
                None,
            ),
            (
                r#"{"success":false,"errors":[{"code":5007,"message":"bad"}],"result":{}}"#,
                "bad",
                None,
                None,
            ),
            (
                r#"{"choices":null,"base_resp":{"status_code":1002,"status_msg":"bad"}}"#,
                "bad",
                None,
                None,
            ),
            ("bad", "bad", None, None),
            ("", "no reason given", None, None),
        ] {
            let said = Reported::read(body.as_bytes());
            assert_eq!(
                (
                    said.message.as_str(),
                    said.param.as_deref(),
                    said.code.as_deref()
                ),
                (message, param, code),
                "{body}"
            );
        }
    }
}
