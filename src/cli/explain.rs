//! `isogloss explain`: one request in; the strategy, the upstream request, the plan, the losses
//! and the contract out; with a recorded reply also what the client would get.

mod text;

use super::recorded::{self, Form};
use super::{Failure, print, print_json, probe, runtime, wire};
use crate::config::DialectPin;
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::dialect::client::Client;
use isogloss_core::error::{Error, Kind};
use isogloss_core::exchange::{self, End, Exchange, Fault, StreamTranslator};
use isogloss_core::ir::Framing;
use isogloss_core::ir::{Constraint, Ids, RepairStep, Repairs, Rewrap};
use isogloss_core::rules::Rule;
use isogloss_core::verify::Checks;
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags of `explain`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The request's JSON body; standard input without it.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The server's dialect, `vllm` or `vllm@0.12`.
    #[arg(
        long,
        value_name = "NAME[@VERSION]",
        required_unless_present = "upstream"
    )]
    dialect: Option<String>,
    /// A running server whose dialect is detected.
    #[arg(long, value_name = "URL", conflicts_with = "dialect")]
    upstream: Option<String>,
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
enum Replayed {
    /// What the client gets, and what was mended in it.
    Good(Vec<u8>, Repairs),
    /// What the client gets of a stream before the fault, and the fault.
    Broken(Vec<u8>, Fault),
    /// The upstream had refused, in the client's terms.
    Refused(Error),
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let rules = wire::rules(args.rules.as_deref())?;
    let rule = match (&args.dialect, &args.upstream) {
        (Some(dialect), _) => {
            let unreadable = || {
                Failure::Usage(format!(
                    "--dialect: `{dialect}` is no dialect: write a name, or a name and a version: vllm@0.12"
                ))
            };
            let pin = DialectPin::parse(dialect).ok_or_else(unreadable)?;
            wire::rule(&rules, &pin).map_err(Failure::Usage)?
        }
        (None, Some(url)) => probe::identify(&rules, url)?.rule,
        (None, None) => return Err(Failure::Usage("give --dialect or --upstream".to_owned())),
    };
    let rule = wire::marked(&rules, rule, args.markup.as_deref()).map_err(Failure::Usage)?;
    let request = read(args.file.as_deref())?;
    let (explained, checks) =
        prepare(&request, &rule).map_err(|error| refused("the client would get", &error))?;
    let replayed = match &args.reply {
        Some(path) => Some(replay(&explained, &checks, &rule, &read(Some(path))?)?),
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

fn replay(
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

/// Reads, plans and compiles: whatever the proxy would refuse is refused here.
fn prepare(request: &[u8], rule: &Rule) -> Result<(Exchange, Arc<Checks>), Error> {
    let demand = exchange::read_chat(request)?;
    let mut exchange = exchange::plan(demand, rule)?;
    let runtime =
        runtime().map_err(|_| Error::new(Kind::Internal, "no runtime could be started"))?;
    let compiler = Compiler::new(CompilerLimits::default());
    let compiled = runtime.block_on(compiler.checks(&mut exchange))?;
    Ok((exchange, compiled.checks))
}

fn to_json(rule: &Rule, explained: &Exchange, replayed: Option<&Replayed>) -> Value {
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
            "calls": text::calls_word(contract.calls),
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
        Some(body) => serde_json::from_slice(body).unwrap_or_default(),
        None => json!(explained.demand.request.fields),
    }
}

/// The request itself, where what is sent first is a question before it.
fn then(explained: &Exchange) -> Option<(String, Value)> {
    let pending = explained.asked.as_ref()?.pending.as_ref()?;
    let asked = pending.preview("<the prompt>");
    let body = serde_json::from_slice(&asked.body).unwrap_or_default();
    Some((asked.path, body))
}

fn replayed_json(client: &dyn Client, replayed: &Replayed) -> Value {
    let body = |bytes: &[u8]| match serde_json::from_slice::<Value>(bytes) {
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
