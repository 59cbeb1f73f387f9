//! What the console shows: a running proxy and its journal in, JSON out; and what somebody pastes
//! there, explained by the same functions as `isogloss explain`, or sent like any client's request.

use super::explain::{self, Asked};
use super::overview::families;
use super::wire;
use crate::admin::{Fault, Query};
use crate::config::DialectPin;
use crate::journal::{Filter, Journal, MAX_BODY_BYTES, MAX_BYTES, MAX_ENTRIES};
use crate::proxy::{self, App};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request};
use isogloss_core::json::value_of;
use isogloss_core::rules::Rule;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How many requests a list has where nobody says.
const LISTED: usize = 200;
/// More of a reply than a person reads.
const MAX_REPLY_BYTES: usize = 4 << 20;

/// What is asked of `/explain`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The client's route.
    path: Option<String>,
    /// The server's dialect, `vllm@0.12`.
    dialect: Option<String>,
    /// Or a server of this proxy's, by its place in the configuration.
    upstream: Option<usize>,
    /// As `--markup`.
    markup: Option<String>,
    /// The client's body: JSON, or a string that holds it.
    request: Box<RawValue>,
    /// A reply to it, as a server sends it: JSON, or a string that holds JSON, events or a whole HTTP response.
    reply: Option<Box<RawValue>>,
}

/// What is asked of `/send`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sending {
    path: Option<String>,
    request: Box<RawValue>,
    /// The client's key, where clients have keys.
    authorization: Option<String>,
}

/// The first view.
pub(super) fn overview(readiness: &Value, capabilities: &Value, metrics: &str, app: &App) -> Value {
    let (ended, bytes) = app.journal().size();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "address": app.address(),
        "readiness": readiness,
        "capabilities": capabilities,
        "dialects": app.rules().names(),
        "families": families(metrics),
        "journal": {
            "recording": app.journal().recording(),
            "ended": ended,
            "bytes": bytes,
            "most_entries": MAX_ENTRIES,
            "most_bytes": MAX_BYTES,
            "most_body_bytes": MAX_BODY_BYTES,
        },
    })
}

/// The last requests.
pub(super) fn requests(journal: &Journal, query: &Query) -> Value {
    let text = |name| query.text(name).map(str::to_owned);
    let limit = query.number("limit").map(|limit| limit as usize);
    let filter = Filter {
        outcome: text("outcome"),
        strategy: text("strategy"),
        model: text("model"),
        dialect: text("dialect"),
        since: query.number("since").unwrap_or_default(),
        limit: limit.unwrap_or(LISTED).min(MAX_ENTRIES),
    };
    let listed = journal.list(&filter);
    let listed: Vec<_> = listed.iter().map(|entry| &entry.summary).collect();
    json!({"recording": journal.recording(), "requests": listed})
}

/// One of them.
pub(super) fn request(journal: &Journal, id: &str) -> Option<Value> {
    let entry = journal.find(id)?;
    let mut told = json!(*entry);
    told["recording"] = json!(journal.recording());
    Some(told)
}

fn read<T: for<'de> Deserialize<'de>>(question: &[u8], takes: &str) -> Result<T, Fault> {
    serde_json::from_slice(question)
        .map_err(|error| Fault::Wrong(format!("{error}: this takes JSON with {takes}")))
}

/// What is pasted: the text that a string holds, else the JSON itself.
fn pasted(value: &RawValue) -> Vec<u8> {
    match serde_json::from_str::<String>(value.get()) {
        Ok(text) => text.into_bytes(),
        Err(_) => value.get().as_bytes().to_vec(),
    }
}

/// What would be done with a request.
pub(super) async fn explained(app: &App, question: &[u8]) -> Result<Value, Fault> {
    let question: Question = read(
        question,
        "`request` and `dialect` (or `upstream`), perhaps `path`, `markup` and `reply`",
    )?;
    let rule = rule(app, &question)?;
    let rule = wire::marked(app.rules(), rule, question.markup.as_deref()).map_err(Fault::Wrong)?;
    let path = question.path.as_deref().unwrap_or(explain::CHAT);
    let request = pasted(&question.request);
    let asked = Asked::new(path, &request).map_err(Fault::Wrong)?;
    let client = asked.client;
    let (exchange, checks) = match asked.prepared(&rule, app.compiler()).await {
        Ok(prepared) => prepared,
        Err(error) => {
            let body = client.error_body(&error);
            return Ok(json!({
                "client": client.label(),
                "dialect": rule.label(),
                "refused": {
                    "status": error.status(),
                    "code": error.kind.code(),
                    "param": error.param,
                    "message": error.message,
                    "body": value_of(&body).unwrap_or_default(),
                },
            }));
        }
    };
    let replayed = match &question.reply {
        Some(reply) => {
            let replayed = explain::replay(&exchange, &checks, &rule, &pasted(reply));
            Some(replayed.map_err(|failure| Fault::Wrong(failure.to_string()))?)
        }
        None => None,
    };
    let mut told = explain::to_json(&rule, &exchange, replayed.as_ref());
    told["client"] = json!(client.label());
    Ok(told)
}

fn rule(app: &App, question: &Question) -> Result<Rule, Fault> {
    if let Some(dialect) = &question.dialect {
        let pin = DialectPin::parse(dialect).ok_or_else(|| {
            Fault::Wrong(format!(
                "`{dialect}` is no dialect: write a name, or a name and a version: vllm@0.12"
            ))
        })?;
        return wire::rule(app.rules(), &pin).map_err(Fault::Wrong);
    }
    let Some(index) = question.upstream else {
        let what = "say for which server: `dialect`, or `upstream`, its place in the configuration";
        return Err(Fault::Wrong(what.to_owned()));
    };
    let upstream = app.upstreams().iter().nth(index);
    let upstream = upstream.ok_or_else(|| Fault::Wrong(format!("there is no upstream {index}")))?;
    let rule = upstream.rule();
    let rule =
        rule.ok_or_else(|| Fault::Refused("that upstream is not identified yet".to_owned()))?;
    Ok(Rule::clone(&rule))
}

/// Sends a request like any client's, and tells what came back.
pub(super) async fn sent(app: &Arc<App>, question: &[u8]) -> Result<Value, Fault> {
    let sending: Sending = read(question, "`request`, perhaps `path` and `authorization`")?;
    let path = sending.path.as_deref().unwrap_or(explain::CHAT);
    let body = pasted(&sending.request);
    let wrong = |what: &str| Fault::Wrong(what.to_owned());
    if isogloss_core::passage::client(path.split('?').next().unwrap_or_default()).is_none() {
        return Err(wrong("`path` is no route that is translated"));
    }
    let request = Request::post(path).header(CONTENT_TYPE, "application/json");
    let mut request = request
        .body(Bytes::from(body))
        .map_err(|_| wrong("`path` is no path"))?;
    if let Some(key) = sending.authorization.filter(|key| !key.is_empty()) {
        let value = HeaderValue::from_str(&key);
        let value = value.map_err(|_| wrong("`authorization` cannot stand in a header"))?;
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    if app.config().tls.client_ca.is_some() {
        let why = "clients need a certificate here (tls.client_ca), which the console has none of: send it with curl";
        return Err(Fault::Refused(why.to_owned()));
    }
    let reply = proxy::ask(app, request, MAX_REPLY_BYTES).await;
    let reply = reply.map_err(|error| Fault::Refused(error.message))?;
    let is_told = |name: &str| {
        name.starts_with("x-isogloss-") || name == "content-type" || name == "retry-after"
    };
    let headers: Map<String, Value> = (reply.head.headers.iter())
        .filter(|(name, _)| is_told(name.as_str()))
        .map(|(name, value)| {
            (
                name.to_string(),
                json!(String::from_utf8_lossy(value.as_bytes())),
            )
        })
        .collect();
    Ok(json!({
        "status": reply.head.status.as_u16(),
        "headers": headers,
        "body": String::from_utf8_lossy(&reply.body),
    }))
}
