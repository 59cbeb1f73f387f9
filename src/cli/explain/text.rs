//! What is explained, as text for people.

use super::{Replayed, constraint_json, then, upstream_body};
use crate::journal::calls_word;
use isogloss_core::dialect::client::Client;
use isogloss_core::error::Error;
use isogloss_core::exchange::{Exchange, Fault};
use isogloss_core::ir::{EnforcedBy, Rewrap, Strategy, ToolInput};
use isogloss_core::rules::Rule;

/// The whole explanation.
pub(super) fn render(rule: &Rule, explained: &Exchange, replayed: Option<&Replayed>) -> String {
    let mut text = String::new();
    let mut line = |title: &str, what: &str| text.push_str(&format!("{title:<11} {what}\n"));
    line("dialect", &format!("{} ({})", rule.label(), rule.title));
    let strategy = explained.strategy;
    line(
        "strategy",
        &format!("{}: {}", strategy.as_str(), meaning(strategy)),
    );
    line("contract", &contract(explained));
    line("plan", &plan(explained));
    if let Some(markup) = &explained.markup {
        let (format, from) = (markup.format.name(), markup.from.as_str());
        line("markup", &format!("{format}, by {from}"));
    }
    for (at, constraint) in explained.constraints() {
        let json = constraint_json(&at, &constraint);
        let what = match &json["value"] {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        line(
            "verified",
            format!("{}  {what}", constraint.kind()).trim_end(),
        );
    }
    if explained.losses.is_empty() {
        line("losses", "none");
    }
    for loss in &explained.losses {
        let by = match loss.enforced_by {
            EnforcedBy::Proxy => "the proxy verifies it",
            EnforcedBy::Server => "the server enforces it, unverified",
            EnforcedBy::Nobody => "it has no effect",
        };
        line("loss", &format!("{}: {} ({by})", loss.pointer, loss.reason));
    }
    let untouched = if explained.sent().is_none() {
        ", the client's own bytes"
    } else {
        ""
    };
    text += &format!(
        "\nupstream request to {}{untouched}:\n{:#}\n",
        explained.path(),
        upstream_body(explained)
    );
    if let Some((path, request)) = then(explained) {
        text += &format!("\nthen, with the prompt that it answers, to {path}:\n{request:#}\n");
    }
    if let Some(replayed) = replayed {
        text.push('\n');
        reply(explained.demand.client, replayed, &mut text);
    }
    text
}

const fn meaning(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Passthrough => "nothing is demanded, bytes go through",
        Strategy::Native => "the server enforces the demand itself",
        Strategy::Constrain => "a forced call becomes a constraint on content, rewrapped as a call",
        Strategy::Tags => {
            "a forced call is constrained in the markup in which the model itself writes calls"
        }
        Strategy::Compose => "calls or an answer become one constraint on content",
        Strategy::Convert => "the constraint is converted into a kind that the server has",
        Strategy::Instruct => "the server can constrain nothing: the demand is in the prompt",
    }
}

fn contract(explained: &Exchange) -> String {
    let contract = &explained.demand.contract;
    if contract.is_empty() {
        return "none: any reply is good".to_owned();
    }
    let most = match contract.max_calls {
        Some(most) => format!(", at most {most}"),
        None => String::new(),
    };
    let mut parts = vec![format!("calls {}{most}", calls_word(contract.calls))];
    for tool in &contract.tools {
        let input = match &tool.input {
            ToolInput::Schema { .. } => "arguments satisfy its schema",
            ToolInput::Text(Some(_)) => "input satisfies its grammar",
            ToolInput::Text(None) => "free input",
            ToolInput::Hosted(_) => "run by the server",
        };
        parts.push(format!("{} ({input})", tool.name));
    }
    if let Some(content) = &contract.content {
        parts.push(format!("else content is {}", content.kind()));
    }
    parts.join("; ")
}

fn plan(explained: &Exchange) -> String {
    let plan = match &explained.plan.rewrap {
        Rewrap::Keep => "text is text, calls are calls".to_owned(),
        Rewrap::Arguments { tool } => format!("the content is the arguments of {tool}"),
        Rewrap::Call => "the content is one call, name and arguments".to_owned(),
        Rewrap::Calls => "the content is a list of calls".to_owned(),
        Rewrap::CallOrAnswer { .. } => "the content is one call, or the answer".to_owned(),
        Rewrap::Answer => "the content is the value of `answer` in an object".to_owned(),
        Rewrap::CallOrText => "the content is one call, or text".to_owned(),
        Rewrap::TaggedCalls => "the content is text, with calls between tags".to_owned(),
        Rewrap::TaggedCallsOrAnswer => {
            "the content is calls between tags, or the answer".to_owned()
        }
        Rewrap::Json => "the JSON is taken out of fences and think blocks".to_owned(),
        Rewrap::Text => "the text is taken out of think blocks and the space around it".to_owned(),
    };
    if explained.plan.legacy_functions {
        return format!("{plan}; calls go back as function_call");
    }
    plan
}

fn reply(client: &dyn Client, replayed: &Replayed, text: &mut String) {
    let (verdict, body) = match replayed {
        Replayed::Good(body, repairs) => {
            let verdict = "reply satisfies the contract".to_owned();
            let verdict = match repairs.is_empty() {
                true => verdict,
                false => format!("{verdict}, mended: {repairs}"),
            };
            (verdict, body.as_slice())
        }
        Replayed::Broken(body, Fault::Violation(violation)) => {
            let pointer = match violation.pointer.as_str() {
                "" => String::new(),
                pointer => format!(" at {pointer}"),
            };
            let verdict = format!(
                "reply breaks the contract: {}{pointer}, rule {}: {}",
                client.place(violation.place),
                violation.rule,
                violation.message
            );
            (verdict, body.as_slice())
        }
        Replayed::Broken(body, Fault::Error(error)) => {
            (failed("reply cannot be used", error), body.as_slice())
        }
        Replayed::Refused(error) => (failed("upstream refused", error), &[][..]),
    };
    *text += &verdict;
    text.push('\n');
    if !body.is_empty() {
        *text += "\nwhat the client gets:\n";
        *text += &match isogloss_core::json::value_of(body) {
            Ok(json) => format!("{json:#}\n"),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
    }
}

fn failed(what: &str, error: &Error) -> String {
    format!(
        "{what}: the client gets {} {}: {error}",
        error.status(),
        error.kind.code()
    )
}
