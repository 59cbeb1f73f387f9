//! A request's path in; whether a server could read it as the route that is translated out.
//!
//! Servers, and what stands before them, undo percent-encoding (some more than once), join
//! slashes, drop one at the end or `;parameters`, or read letters without their case. So the
//! path is undone in all those ways at once, and judged by what is left.

use crate::dialect::chat::client::Chat;
use crate::dialect::client::{Client, Counter};
use crate::dialect::completions::client::Completions;
use crate::dialect::gemini::client::{EVENTS, LIST};
use crate::dialect::interactions::client::Interactions;
use crate::dialect::keeper::{KeptPart, KeptRoute};
use crate::dialect::messages::client::Messages;
use crate::dialect::ollama::client::Ollama;
use crate::dialect::responses::client::Responses;
use crate::dialect::{gemini, messages, responses};

/// The routes that are translated, and whose clients send to them: the segments of their paths below
/// `/v1`, in small letters. A `*` stands for what a segment begins with (`*:generatecontent`).
const ROUTES: &[(&[&str], &dyn Client)] = &[
    (&["chat", "completions"], &Chat),
    (&["completions"], &Completions),
    (&["api", "chat"], &Ollama::Chat),
    (&["api", "generate"], &Ollama::Generate),
    (&["messages"], &Messages),
    (&["responses"], &Responses::Alone),
    (&["interactions"], &Interactions::Alone),
    (&["v1beta", "interactions"], &Interactions::Alone),
    (&["v1alpha", "interactions"], &Interactions::Alone),
    // A model's name may have a slash in it.
    (&["models", WHOLE], EVENTS),
    (&["models", "*", WHOLE], EVENTS),
    (&["tunedmodels", WHOLE], EVENTS),
    (&["models", STREAM], LIST),
    (&["models", "*", STREAM], LIST),
    (&["tunedmodels", STREAM], LIST),
    (&["v1beta", "models", WHOLE], EVENTS),
    (&["v1beta", "models", "*", WHOLE], EVENTS),
    (&["v1beta", "tunedmodels", WHOLE], EVENTS),
    (&["v1beta", "models", STREAM], LIST),
    (&["v1beta", "models", "*", STREAM], LIST),
    (&["v1beta", "tunedmodels", STREAM], LIST),
    (&["v1alpha", "models", WHOLE], EVENTS),
    (&["v1alpha", "models", "*", WHOLE], EVENTS),
    (&["v1alpha", "models", STREAM], LIST),
    (&["v1alpha", "models", "*", STREAM], LIST),
];

/// The routes on which clients ask how many tokens a request has, as above.
const COUNTS: &[(&[&str], &dyn Counter)] = &[
    (
        &["messages", "count_tokens"],
        &messages::client::CountTokens,
    ),
    (
        &["responses", "input_tokens"],
        &responses::client::InputTokens,
    ),
    (&["models", COUNT], &gemini::client::CountTokens),
    (&["models", "*", COUNT], &gemini::client::CountTokens),
    (&["tunedmodels", COUNT], &gemini::client::CountTokens),
    (&["v1beta", "models", COUNT], &gemini::client::CountTokens),
    (
        &["v1beta", "models", "*", COUNT],
        &gemini::client::CountTokens,
    ),
    (
        &["v1beta", "tunedmodels", COUNT],
        &gemini::client::CountTokens,
    ),
    (&["v1alpha", "models", COUNT], &gemini::client::CountTokens),
    (
        &["v1alpha", "models", "*", COUNT],
        &gemini::client::CountTokens,
    ),
];

/// Gemini's method for that.
const COUNT: &str = "*:counttokens";

/// Gemini's two methods, behind a model's name.
const WHOLE: &str = "*:generatecontent";
const STREAM: &str = "*:streamgeneratecontent";

/// How often percent-encoding is undone; nobody encodes more often by mistake.
const MAX_ROUNDS: usize = 8;

/// What a path is to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A route that is translated.
    Translated,
    /// Such a route under another prefix, or a path that only some would read as the route.
    Disguised,
    /// A route that does not generate: nothing in its body is a demand.
    Plain,
    /// Any other: its body is looked at.
    Unknown,
}

/// Resources that do not generate, whatever follows them.
const PLAIN_TREES: &[&str] = &["files", "fine_tuning", "uploads", "vector_stores"];

/// Routes that do not generate text but compute something of what they are sent, below `/v1` or not (OpenAI, vLLM, SGLang,
/// llama.cpp, TGI, Ollama, Cohere, Anthropic): asked twice, they do nothing that once had not done.
const COMPUTES: &[&str] = &[
    "apply-template",
    "audio/speech",
    "audio/transcriptions",
    "audio/translations",
    "api/embed",
    "api/embeddings",
    "api/show",
    "chat/completions/render",
    "chat_tokenize",
    "classify",
    "completions/render",
    "count_tokens",
    "detokenize",
    "embed",
    "embed_all",
    "embed_sparse",
    "embedding",
    "embeddings",
    "encode",
    "images/edits",
    "images/generations",
    "images/variations",
    "messages/count_tokens",
    "moderations",
    "pooling",
    "predict",
    "rerank",
    "reranking",
    "responses/input_tokens",
    "score",
    "similarity",
    "tokenize",
    "v1/rerank",
    "v2/embed",
    "v2/rerank",
];

/// Such routes that change something of the server.
const ACTS: &[&str] = &[
    "abort_request",
    "api/blobs",
    "api/copy",
    "api/create",
    "api/delete",
    "api/pull",
    "api/push",
    "flush_cache",
    "load_lora_adapter",
    "lora-adapters",
    "props",
    "unload_lora_adapter",
];

/// What the last word of a path says that asks no model.
const WITHOUT_MODEL: &[&str] = &[
    "apply-template",
    "chat_tokenize",
    "count_tokens",
    "detokenize",
    "input_tokens",
    "render",
    "show",
    "tokenize",
];

/// Of Gemini's methods, behind a model's name.
const PLAIN_METHODS: &[&str] = &[
    "batchembedcontents",
    "counttokens",
    "embedcontent",
    "asyncbatchembedcontent",
];

/// The labels of all client dialects.
#[must_use]
pub fn clients() -> Vec<&'static str> {
    let mut labels: Vec<_> = ROUTES.iter().map(|(_, client)| client.label()).collect();
    labels.dedup();
    labels
}

/// Judges a path.
#[must_use]
pub fn way(path: &str) -> Way {
    judged(path).0
}

/// The dialect of the clients that send to a path; `None` where it is not translated.
#[must_use]
pub fn client(path: &str) -> Option<&'static dyn Client> {
    judged(path).1
}

/// What is asked about a kept reply at a path: a client's own route, the reply's id, and perhaps one word more.
#[must_use]
pub fn kept(path: &str) -> Option<KeptRoute<'_>> {
    let below = path.strip_prefix("/v1");
    let below = below.filter(|below| below.starts_with('/'));
    let below = below.unwrap_or(path);
    ROUTES.iter().find_map(|(route, client)| {
        let keeper = client.keeper()?;
        let mut segments = below.strip_prefix('/')?.trim_end_matches('/').split('/');
        let is_its = (route.iter()).all(|name| segments.next() == Some(*name));
        let id = segments.next().filter(|id| is_its && !id.is_empty())?;
        let what = match (segments.next(), segments.next()) {
            (None, _) if id == "compact" => KeptPart::Compact,
            (None, _) => KeptPart::Reply,
            (Some("input_items"), None) => KeptPart::Input,
            (Some("cancel"), None) => KeptPart::Cancel,
            _ => return None,
        };
        Some(KeptRoute { keeper, id, what })
    })
}

/// What counts a request's tokens on this path; `None` where nothing does.
#[must_use]
pub fn counter(path: &str) -> Option<&'static dyn Counter> {
    let decoded = decoded(path)?;
    let cut = decoded.split(['?', '#']).next().unwrap_or_default();
    let whole = Reading::of(&decoded);
    // What some would cut short, or read as another path, is no known route.
    if whole.is_bent || whole != Reading::of(cut) {
        return None;
    }
    let routes = COUNTS.iter();
    let mut found = routes.filter(|(route, _)| is_route(route, whole.below()));
    found.next().map(|(_, counter)| *counter)
}

/// Whether a `POST` to this path computes something of its body and changes nothing: it may be sent to another server
/// where one failed with it.
#[must_use]
pub fn computes(path: &str) -> bool {
    let is_method = |last: &String| {
        let method = last.rsplit_once(':').map(|(_, method)| method);
        method.is_some_and(|method| {
            method != "asyncbatchembedcontent" && PLAIN_METHODS.contains(&method)
        })
    };
    let segments = unbent(path).unwrap_or_default();
    let below = match segments.as_slice() {
        [first, rest @ ..] if first == "v1" => rest,
        all => all,
    };
    way(path) == Way::Plain
        && (COMPUTES.contains(&below.join("/").as_str()) || segments.last().is_some_and(is_method))
}

/// Whether what is posted there is answered without the model: how many tokens a text has, or what a template makes of it.
#[must_use]
pub fn takes_no_tokens(path: &str) -> bool {
    let segments = unbent(path).unwrap_or_default();
    let last = segments.last().map_or("", String::as_str);
    last.ends_with(":counttokens") || WITHOUT_MODEL.contains(&last)
}

/// Whether a path is where a server says that it is well, to whoever asks.
#[must_use]
pub fn is_health(path: &str) -> bool {
    matches!(path, "/health" | "/ping")
}

/// Whether a `HEAD` of this path asks for no more than whether somebody is there: the root, which agent
/// programs ask for before they begin, and the routes that are translated.
#[must_use]
pub fn is_liveness(path: &str) -> bool {
    path == "/" || path.is_empty() || client(path).is_some()
}

/// A route under a prefix of a vendor's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vendors {
    /// The plain path of the route.
    pub path: String,
    /// The model, where the prefix names one.
    pub deployment: Option<String>,
}

/// The route that clients have under a prefix of their vendor's, which their SDKs put behind any base URL: Groq's, and
/// Azure's newer API (`/openai/v1`), Azure's older one (`/openai/deployments/NAME`, `/openai`), Google's for clients of OpenAI (`/v1beta/openai`).
#[must_use]
pub fn without_vendor(path: &str) -> Option<Vendors> {
    let of_deployment = || {
        let named = path.strip_prefix("/openai/deployments/")?;
        let (name, _) = named.split_once('/')?;
        Some((Some(decoded(name)?), named.get(name.len()..)?))
    };
    let below = ["/openai/v1", "/v1beta/openai"]
        .iter()
        .find_map(|prefix| path.strip_prefix(prefix));
    let below = below.map(|below| (None, below)).or_else(of_deployment);
    // What is of no deployment: Azure's older API has responses and models so.
    let (deployment, below) = below.or_else(|| Some((None, path.strip_prefix("/openai")?)))?;
    let path = format!("/v1{below}");
    let is_route = plain_client(&path).is_some()
        || kept(&path).is_some()
        || path == "/v1/models"
        || path.starts_with("/v1/models/")
        || path == "/v1/embeddings";
    is_route.then_some(Vendors { path, deployment })
}

/// Whose route a path is where it is written as nearly all are, which takes no memory to see.
pub(super) fn plain_client(path: &str) -> Option<&'static dyn Client> {
    let below = path.strip_prefix("/v1").unwrap_or(path);
    let is_plain = |(route, _): &&(&[&str], _)| {
        let segments = below.strip_prefix('/').map(|below| below.split('/'));
        segments.is_some_and(|segments| segments.eq(route.iter().copied()))
    };
    let found = ROUTES.iter().find(is_plain);
    found.map(|(_, client)| *client)
}

fn judged(path: &str) -> (Way, Option<&'static dyn Client>) {
    if let Some(client) = plain_client(path) {
        return (Way::Translated, Some(client));
    }
    let Some(decoded) = decoded(path) else {
        return (Way::Disguised, None);
    };
    let cut = decoded.split(['?', '#']).next().unwrap_or_default();
    let whole = Reading::of(&decoded);
    let readings = [Reading::of(cut), whole];
    let is_bent = readings.iter().any(|reading| reading.is_bent);
    let client = readings.iter().find_map(Reading::client);
    if client.is_some() && !is_bent {
        return (Way::Translated, client);
    }
    if client.is_some() || readings.iter().any(Reading::ends_like_a_route) {
        return (Way::Disguised, None);
    }
    // What some would cut short is no known route.
    let is_plain = readings[0] == readings[1] && !is_bent && readings[0].is_plain();
    (if is_plain { Way::Plain } else { Way::Unknown }, None)
}

/// Whether a path's segments are those of a route.
fn is_route(route: &[&str], segments: &[String]) -> bool {
    let is_one = |(name, segment): (&&str, &String)| match name.strip_prefix('*') {
        Some(end) => segment.ends_with(end),
        None => name == segment,
    };
    route.len() == segments.len() && route.iter().zip(segments).all(is_one)
}

/// The segments of a path in small letters; none of one that readers disagree about.
pub(super) fn segments(path: &str) -> Vec<String> {
    let reading = decoded(path).map(|decoded| Reading::of(&decoded));
    let reading = reading.filter(|reading| !reading.is_bent);
    reading.map_or_else(Vec::new, |reading| reading.segments)
}

/// The segments of a path.
pub(super) type Segments = [String];

/// The segments of a path in small letters; `None` of one that readers disagree about.
pub(super) fn unbent(path: &str) -> Option<Vec<String>> {
    let decoded = decoded(path)?;
    let cut = decoded.split(['?', '#']).next().unwrap_or_default();
    let whole = Reading::of(&decoded);
    (!whole.is_bent && whole == Reading::of(cut)).then_some(whole.segments)
}

/// A path without any percent-encoding; `None` where it is encoded over and over.
pub(super) fn decoded(path: &str) -> Option<String> {
    let mut bytes = path.as_bytes().to_vec();
    for _round in 0..MAX_ROUNDS {
        match decoded_once(&bytes) {
            Some(next) => bytes = next,
            None => return Some(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
    decoded_once(&bytes)
        .is_none()
        .then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// `None` where nothing is encoded.
fn decoded_once(bytes: &[u8]) -> Option<Vec<u8>> {
    let digit = |at: usize| (*bytes.get(at)? as char).to_digit(16);
    let mut out = Vec::with_capacity(bytes.len());
    let (mut at, mut is_changed) = (0, false);
    while let Some(&byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
                is_changed = true;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    is_changed.then_some(out)
}

/// The segments that are left of a path.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    segments: Vec<String>,
    /// It has dot segments or backslashes, which the proxy forwards to nobody.
    is_bent: bool,
}

impl Reading {
    fn of(decoded: &str) -> Self {
        let plain: String = decoded
            .chars()
            // URL readers drop line feeds and tabs; some servers stop at a zero, or trim.
            .filter(|letter| !letter.is_control() && !letter.is_whitespace())
            .flat_map(char::to_lowercase)
            .collect();
        let mut is_bent = plain.contains('\\');
        let mut segments: Vec<String> = Vec::new();
        for segment in plain.split(['/', '\\']) {
            let name = segment.split(';').next().unwrap_or_default();
            match name {
                "" => {}
                "." => is_bent = true,
                ".." => {
                    is_bent = true;
                    segments.pop();
                }
                name => segments.push(name.to_owned()),
            }
        }
        Self { segments, is_bent }
    }

    /// Without the version in front.
    fn below(&self) -> &[String] {
        match self.segments.as_slice() {
            [first, rest @ ..] if first == "v1" => rest,
            all => all,
        }
    }

    /// Whose route it is.
    fn client(&self) -> Option<&'static dyn Client> {
        let routes = ROUTES.iter();
        let mut found = routes.filter(|(route, _)| is_route(route, self.below()));
        found.next().map(|(_, client)| *client)
    }

    /// Whether it is a route under another prefix.
    fn ends_like_a_route(&self) -> bool {
        let tail = |route: &[&str]| {
            let at = self.segments.len().checked_sub(route.len())?;
            self.segments.get(at..)
        };
        // One name alone says little, and a completion that demands something is refused anywhere else.
        let mut routes = (ROUTES.iter()).filter(|(route, _)| *route != ["completions"]);
        routes.any(|(route, _)| tail(route).is_some_and(|tail| is_route(route, tail)))
    }

    fn is_plain(&self) -> bool {
        let below = self.below();
        let is_tree = |first: &String| PLAIN_TREES.contains(&first.as_str());
        // A model's name may stand in a route that generates: `/models/NAME:generateContent`.
        let is_method = self.segments.iter().any(|one| one.contains(':'));
        if is_method {
            let last = self.segments.last().and_then(|last| last.rsplit_once(':'));
            return last.is_some_and(|(_, method)| PLAIN_METHODS.contains(&method));
        }
        match below {
            // `POST /models/NAME/generate`, as inference platforms have it, is another matter.
            [first, rest @ ..] if first == "models" => rest.len() <= 1,
            [first, ..] if is_tree(first) => true,
            _ => [COMPUTES, ACTS]
                .iter()
                .any(|all| all.contains(&below.join("/").as_str())),
        }
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
