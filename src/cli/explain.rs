//! `isogloss explain`: one request in; the strategy, the upstream request, the plan, the losses
//! and the contract out; with a recorded reply also what the client would get.

mod text;

use super::operator::{AdminArgs, Operator};
use super::recorded::{self, Form};
use super::{Failure, print, print_json, probe, runtime, wire};
use crate::config::DialectPin;
use crate::journal::calls_word;
use bytes::Bytes;
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::dialect::client::Client;
use isogloss_core::error::Error;
use isogloss_core::exchange::{self, End, Exchange, Fault, MAX_OUTLINES, Opened, StreamTranslator};
use isogloss_core::ir::Framing;
use isogloss_core::ir::{Constraint, Ids, RepairStep, Repairs, Rewrap};
use isogloss_core::json::value_of;
use isogloss_core::passage;
use isogloss_core::rules::Rule;
use isogloss_core::verify::Checks;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where most clients ask.
pub(super) const CHAT: &str = "/v1/chat/completions";

/// What is told where nothing says which server would be asked.
const NO_SERVER: &str = "which server is to be asked? Give its dialect, --dialect vllm@0.12 (isogloss dialects lists them), one that runs, \
     --upstream URL, or, for a request that a proxy has recorded, --admin URL --request ID";

/// Flags of `explain`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The request's JSON body; standard input without it.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    operator: AdminArgs,
    /// Of the proxy at --admin the request with this id (`x-isogloss-request-id`), as that one records it with
    /// `--record bodies`: with the server's dialect and its last reply, unless others are given.
    #[arg(long, value_name = "ID", requires = "admin", conflicts_with = "file")]
    request: Option<String>,
    /// The server's dialect, `vllm` or `vllm@0.12`.
    #[arg(long, value_name = "NAME[@VERSION]")]
    dialect: Option<String>,
    /// A running server whose dialect is detected.
    #[arg(long, value_name = "URL", conflicts_with = "dialect")]
    upstream: Option<String>,
    /// The route that the client asks, /v1/messages: in whose words the request is [default: /v1/chat/completions].
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// In which markup the model writes calls, `hermes`, instead of going by its name; `off` reads none.
    #[arg(long, value_name = "NAME")]
    markup: Option<String>,
    /// A recorded reply (JSON, events, or a whole HTTP response) to be translated and verified.
    #[arg(long, value_name = "FILE")]
    reply: Option<PathBuf>,
    /// A folder of rule files that replace or add to the built-in ones.
    #[arg(long, value_name = "DIR", env = "ISOGLOSS_RULES")]
    rules: Option<PathBuf>,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// What a recorded reply came to.
pub(super) enum Replayed {
    /// What the client gets, and what was mended in it.
    Good(Vec<u8>, Repairs),
    /// What the client gets of a stream before the fault, and the fault.
    Broken(Vec<u8>, Fault),
    /// The upstream had refused, in the client's terms.
    Refused(Error),
}

/// What is explained.
struct Case {
    path: String,
    request: Vec<u8>,
    /// Of the server, where it is known.
    dialect: Option<String>,
    reply: Option<Vec<u8>>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    // Before standard input is waited for.
    if args.dialect.is_none() && args.upstream.is_none() && args.request.is_none() {
        return Err(Failure::Usage(NO_SERVER.to_owned()));
    }
    let rules = wire::rules(args.rules.as_deref())?;
    let case = case(args)?;
    let rule = match (&case.dialect, &args.upstream) {
        (_, Some(url)) => probe::identify(&rules, url)?.rule,
        (Some(dialect), _) => {
            let unreadable = || {
                Failure::Usage(format!(
                    "--dialect: `{dialect}` is no dialect: write a name, or a name and a version: vllm@0.12"
                ))
            };
            let pin = DialectPin::parse(dialect).ok_or_else(unreadable)?;
            wire::rule(&rules, &pin).map_err(Failure::Usage)?
        }
        (None, None) => return Err(Failure::Usage(NO_SERVER.to_owned())),
    };
    let rule = wire::marked(&rules, rule, args.markup.as_deref()).map_err(Failure::Usage)?;
    let asked = Asked::new(&case.path, &case.request).map_err(Failure::Usage)?;
    let compiler = Compiler::new(CompilerLimits::default());
    let prepared = runtime(0)?.block_on(asked.prepared(&rule, &compiler));
    let (explained, checks) = prepared.map_err(|error| refused("the client would get", &error))?;
    let replayed = match &case.reply {
        Some(reply) => Some(replay(&explained, &checks, &rule, reply)?),
        None => None,
    };
    if args.json {
        print_json(&to_json(&rule, &explained, replayed.as_ref()))?;
    } else {
        print(&text::render(&rule, &explained, replayed.as_ref()))?;
    }
    match replayed {
        None | Some(Replayed::Good(..)) => Ok(()),
        Some(_) => Err(Failure::Runtime(String::new())),
    }
}

/// What the flags name, and what the proxy remembers of the rest.
fn case(args: &Args) -> Result<Case, Failure> {
    let reply = args.reply.as_deref().map(|path| read(Some(path)));
    let mut case = Case {
        path: args.path.clone().unwrap_or_else(|| CHAT.to_owned()),
        request: Vec::new(),
        dialect: args.dialect.clone(),
        reply: reply.transpose()?,
    };
    let (Some(id), Some(base)) = (&args.request, &args.operator.admin) else {
        case.request = read(args.file.as_deref())?;
        return Ok(case);
    };
    let operator = Operator::new(&args.operator, base)?;
    let entry = runtime(0)?.block_on(operator.get(&format!("/requests/{id}")))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let request = &entry["request"];
    let Some(body) = text(&request["text"]) else {
        let what = "the proxy does not have that request's body: it records those of chats, where it is started with --record bodies";
        return Err(Failure::Runtime(what.to_owned()));
    };
    if request["cut"] == true {
        let what = "the proxy has only the beginning of that request's body: give it as --file";
        return Err(Failure::Runtime(what.to_owned()));
    }
    case.request = body.into_bytes();
    case.path = args
        .path
        .clone()
        .or_else(|| text(&entry["path"]))
        .unwrap_or(case.path);
    case.dialect = case.dialect.or_else(|| text(&entry["server"]));
    let last = entry["attempts"]
        .as_array()
        .and_then(|attempts| attempts.last());
    if let Some(last) = last.filter(|last| last["came"]["cut"] != true)
        && case.reply.is_none()
        && let Some(came) = text(&last["came"]["text"])
    {
        case.reply = Some(whole_reply(last["status"].as_u64().unwrap_or(200), &came));
    }
    Ok(case)
}

/// As `curl -i` would have printed it: without its status an error's body would be read as a reply.
fn whole_reply(status: u64, body: &str) -> Vec<u8> {
    match status {
        ..400 => body.as_bytes().to_vec(),
        _ => format!("HTTP/1.1 {status} recorded\r\n\r\n{body}").into_bytes(),
    }
}

fn read(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let Some(path) = path else {
        let mut bytes = Vec::new();
        return match std::io::stdin().lock().read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(Failure::Runtime(format!(
                "cannot read standard input: {error}"
            ))),
        };
    };
    std::fs::read(path)
        .map_err(|error| Failure::Runtime(format!("cannot read {}: {error}", path.display())))
}

fn refused(who: &str, error: &Error) -> Failure {
    let at = error.param.as_ref().map(|param| format!(" at {param}"));
    Failure::Runtime(format!(
        "{who} {} {}{}: {error}",
        error.status(),
        error.kind.code(),
        at.unwrap_or_default()
    ))
}

/// What a recorded reply comes to.
///
/// # Errors
/// It is no reply.
pub(super) fn replay(
    explained: &Exchange,
    checks: &Arc<Checks>,
    rule: &Rule,
    recording: &[u8],
) -> Result<Replayed, Failure> {
    let recorded = recorded::split(recording).map_err(Failure::Runtime)?;
    if recorded.status >= 400 {
        let error = exchange::upstream_error(rule, recorded.status, recorded.body);
        return Ok(Replayed::Refused(error));
    }
    // The same recording gives the same ids every time.
    let ids = Ids::new(0);
    let is_line = explained.server.framing() == Framing::Lines && explained.demand.request.stream;
    if recorded.form == Form::Json && !is_line {
        return Ok(
            match exchange::reply(explained, checks, ids, recorded.body) {
                Ok(reply) => Replayed::Good(reply.body, reply.repairs),
                Err(fault) => Replayed::Broken(Vec::new(), fault),
            },
        );
    }
    if !explained.demand.request.stream {
        let translated = exchange::reply_of_events(explained, checks, ids, recorded.body);
        return Ok(match translated {
            Ok(reply) => Replayed::Good(reply.body, reply.repairs),
            Err(fault) => Replayed::Broken(Vec::new(), fault),
        });
    }
    let mut out = Vec::new();
    let limit = recorded.body.len().max(1);
    let mut stream = StreamTranslator::new(explained, Arc::clone(checks), ids, limit);
    let fed = stream.push(recorded.body, &mut out);
    Ok(match fed.and_then(|()| stream.finish(End::Eof, &mut out)) {
        Ok(()) => Replayed::Good(out, stream.repairs()),
        Err(fault) => Replayed::Broken(out, fault),
    })
}

/// A request as a client sends it.
pub(super) struct Asked<'a> {
    /// In whose words it is.
    pub(super) client: &'static dyn Client,
    path: &'a str,
    body: &'a [u8],
}

impl<'a> Asked<'a> {
    /// What is sent to this path, which may have a query.
    ///
    /// # Errors
    /// No client whose requests are translated sends there.
    pub(super) fn new(path: &'a str, body: &'a [u8]) -> Result<Self, String> {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        let Some(client) = passage::client(path) else {
            return Err(format!(
                "no request to `{path}` is translated: write the client's route, {CHAT} or /v1/messages (docs/contract.md lists them)"
            ));
        };
        let client = query
            .and_then(|query| client.for_query(query))
            .unwrap_or(client);
        Ok(Self { client, path, body })
    }

    /// Reads, plans and compiles: whatever the proxy would refuse is refused here.
    pub(super) async fn prepared(
        &self,
        rule: &Rule,
        compiler: &Compiler,
    ) -> Result<(Exchange, Arc<Checks>), Error> {
        let (mut body, mut lost) = (self.body.to_vec(), Vec::new());
        loop {
            let demand = exchange::read(self.client, self.path, &body)?;
            let error = match exchange::plan(demand, rule) {
                Err(error) => error,
                Ok(mut exchange) => match compiler.checks(&mut exchange).await {
                    Ok(compiled) => {
                        exchange.losses.extend(lost);
                        return Ok((exchange, compiled.checks));
                    }
                    Err(error) => error,
                },
            };
            let opened = Opened::new(self.client, self.path, Bytes::from(body));
            let mended = opened.ok().and_then(|opened| opened.outlined(&error));
            let Some((mended, loss)) = mended.filter(|_| lost.len() < MAX_OUTLINES) else {
                return Err(error);
            };
            lost.push(loss);
            body = mended.body().to_vec();
        }
    }
}

pub(super) fn to_json(rule: &Rule, explained: &Exchange, replayed: Option<&Replayed>) -> Value {
    let contract = &explained.demand.contract;
    let constraints = explained.constraints();
    let mut answer = json!({
        "dialect": rule.label(),
        "strategy": explained.strategy.as_str(),
        "untouched": explained.sent().is_none(),
        "path": explained.path(),
        "request": upstream_body(explained),
        "then": then(explained).map(|(path, request)| json!({"path": path, "request": request})),
        "plan": {
            "rewrap": explained.plan.rewrap.as_str(),
            "tool": rewrap_tool(&explained.plan.rewrap),
            "tools": explained.plan.tools.keys().collect::<Vec<_>>(),
            "legacy_functions": explained.plan.legacy_functions,
        },
        "contract": {
            "calls": calls_word(contract.calls),
            "max_calls": contract.max_calls,
            "tools": contract.tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
            "content": contract.content.as_ref().map(Constraint::kind),
        },
        "constraints": constraints.iter().map(|(at, constraint)| constraint_json(at, constraint)).collect::<Vec<_>>(),
        "losses": explained.losses,
        "markup": explained.markup.as_ref().map(|markup| json!({
            "format": markup.format.name(),
            "from": markup.from.as_str(),
        })),
    });
    if let Some(replayed) = replayed {
        answer["reply"] = replayed_json(explained.demand.client, replayed);
    }
    answer
}

/// A constraint's kind and what it says.
fn constraint_json(at: &str, constraint: &Constraint) -> Value {
    let value = match constraint {
        Constraint::JsonSchema(value) | Constraint::StructuralTag(value) => value.clone(),
        Constraint::JsonObject => Value::Null,
        Constraint::Regex(text) | Constraint::Grammar { text, .. } => json!(text),
        Constraint::Choice(choices) => json!(choices),
    };
    json!({"at": at, "kind": constraint.kind(), "value": value})
}

/// The body that the server gets: the client's own where it goes through untouched.
fn upstream_body(explained: &Exchange) -> Value {
    match explained.sent() {
        Some(body) => value_of(body).unwrap_or_default(),
        None => json!(explained.demand.request.fields),
    }
}

/// The request itself, where what is sent first is a question before it.
fn then(explained: &Exchange) -> Option<(String, Value)> {
    let pending = explained.asked.as_ref()?.pending.as_ref()?;
    let asked = pending.preview("<the prompt>");
    let body = value_of(&asked.body).unwrap_or_default();
    Some((asked.path, body))
}

fn replayed_json(client: &dyn Client, replayed: &Replayed) -> Value {
    let body = |bytes: &[u8]| match value_of(bytes) {
        Ok(value) => value,
        Err(_) => json!(String::from_utf8_lossy(bytes)),
    };
    match replayed {
        Replayed::Good(bytes, repairs) => {
            let mut told = json!({"ok": true, "body": body(bytes)});
            if !repairs.is_empty() {
                let repairs = repairs.iter().map(RepairStep::as_str);
                told["repairs"] = repairs.collect();
            }
            told
        }
        Replayed::Broken(bytes, Fault::Violation(violation)) => json!({
            "ok": false,
            "body": body(bytes),
            "violation": {
                "place": client.place(violation.place),
                "pointer": violation.pointer,
                "rule": violation.rule,
                "message": violation.message,
            },
        }),
        Replayed::Broken(bytes, Fault::Error(error)) => {
            json!({"ok": false, "body": body(bytes), "error": body(&client.error_body(error))})
        }
        Replayed::Refused(error) => json!({
            "ok": false,
            "status": error.status(),
            "error": body(&client.error_body(error)),
        }),
    }
}

const fn rewrap_tool(rewrap: &Rewrap) -> Option<&String> {
    match rewrap {
        Rewrap::Arguments { tool } => Some(tool),
        _ => None,
    }
}
