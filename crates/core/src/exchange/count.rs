//! How many tokens a request's prompt has: asked of the server that would answer it, in the words of
//! its rule, or estimated where it has no route for that.

use super::{Demand, Exchange, Options, plan_with};
use crate::dialect::client::Counter;
use crate::dialect::server::{Heard, Question};
use crate::error::Error;
use crate::ir::{CallInput, Contract, Part, Role, Tool, ToolInput, Turn};
use crate::json::strict;
use crate::rules::Rule;
use bytes::Bytes;
use std::borrow::Cow;

/// ASCII letters of a token: English and code have three to five with the tokenizers of today.
const ASCII_OF_TOKEN: u64 = 4;
/// What a chat template writes around a message or a tool.
const AROUND: u64 = 4;
/// An image or a file: Anthropic's images have at most some 1,600, Gemini's 258.
const MEDIUM: u64 = 1000;

/// A count that is asked for, planned for one server.
#[derive(Debug)]
pub struct Counted {
    counter: &'static dyn Counter,
    /// What would be sent for a reply.
    pub exchange: Exchange,
    /// What the server is asked first; `None` where it counts nothing.
    pub question: Option<Question>,
}

/// What follows from a server's answer.
#[derive(Debug)]
pub enum Answer {
    /// Another question to it.
    Ask(Question),
    /// The client's reply.
    Reply(Bytes),
}

/// Checks a body, as [`strict::checked`] does.
///
/// # Errors
/// What is wrong with it.
pub fn checked(body: Bytes) -> Result<Bytes, Error> {
    let mended = match strict::checked(&body, &strict::Limits::default())? {
        Cow::Borrowed(_) => None,
        Cow::Owned(mended) => Some(mended),
    };
    Ok(mended.map_or(body, Bytes::from))
}

/// Reads what is to be counted; the body is one that was [`checked`].
///
/// # Errors
/// What is wrong with it, naming the field and the remedy.
pub fn read(counter: &'static dyn Counter, path: &str, body: &[u8]) -> Result<Demand, Error> {
    let request = counter.read(path, body)?;
    let contract = Contract::of(&request);
    Ok(Demand {
        client: counter.client(),
        request,
        contract,
    })
}

/// Writes the question for one server. `body` is the client's, for servers of its own wire.
///
/// # Errors
/// What would be refused of the request itself.
pub fn plan(
    counter: &'static dyn Counter,
    demand: Demand,
    body: &Bytes,
    rule: &Rule,
    options: &Options<'_>,
) -> Result<Counted, Error> {
    let rule = rule.facing(&demand.request);
    let exchange = plan_with(demand, rule, options)?;
    let (path, server) = (exchange.path(), exchange.server);
    let counting = rule.counting(server.wire());
    let question = counting.map(|counting| {
        if exchange.keeps_wire() {
            let request = &exchange.demand.request;
            let mut fields = Cow::Borrowed(&request.fields);
            return match exchange.editor().respell(&mut fields, request) {
                true => counting.ask(server, &path, &fields),
                false => counting.question(&path, body.clone()),
            };
        }
        let sent = exchange.sent();
        let sent = sent.and_then(|sent| serde_json::from_slice(sent).ok());
        counting.ask(server, &path, &sent.unwrap_or_default())
    });
    Ok(Counted {
        counter,
        exchange,
        question,
    })
}

impl Counted {
    /// What follows from the server's answer to a question.
    ///
    /// # Errors
    /// It counts nothing.
    pub fn heard(&self, question: &Question, answer: &Bytes) -> Result<Answer, Error> {
        Ok(match question.heard(answer)? {
            Heard::Ask(question) => Answer::Ask(question),
            // On one wire it may say more than we know.
            Heard::Tokens(_) if self.exchange.keeps_wire() => Answer::Reply(answer.clone()),
            Heard::Tokens(tokens) => Answer::Reply(self.counter.told(tokens).into()),
        })
    }

    /// The client's reply where the server does not count.
    ///
    /// # Errors
    /// The field of the conversation at fault.
    pub fn estimated(&self) -> Result<Bytes, Error> {
        let request = &self.exchange.demand.request;
        let tokens = match &self.exchange.draft {
            Some(draft) if !draft.turns.is_empty() => estimate(&draft.turns, &draft.tools),
            _ => estimate(&self.counter.client().turns(request)?, &request.tools),
        };
        Ok(self.counter.told(tokens).into())
    }
}

/// About how many tokens a conversation and its tools have: one for each four ASCII letters and for each
/// other letter, four around each message and tool, and 1,000 for each image or file.
#[must_use]
pub fn estimate(turns: &[Turn], tools: &[Tool]) -> u64 {
    let turns = turns.iter().map(|turn| {
        let parts: u64 = turn.parts.iter().map(part).sum();
        let thought = turn.reasoning.as_ref();
        let thought = thought.map_or(0, |thought| letters(&thought.text));
        let calls: u64 = (turn.calls.iter())
            .map(|call| letters(&call.name) + input(&call.input) + AROUND)
            .sum();
        // Instructions that follow each other are one message to templates.
        let around = if turn.role == Role::System { 2 } else { AROUND };
        parts + thought + calls + around
    });
    turns.sum::<u64>() + tools.iter().map(tool).sum::<u64>()
}

fn part(part: &Part) -> u64 {
    match part {
        Part::Text { text, .. } => letters(text),
        Part::Data { .. } | Part::Link { .. } | Part::Document { .. } | Part::Opaque { .. } => {
            MEDIUM
        }
    }
}

fn input(input: &CallInput) -> u64 {
    match input {
        CallInput::Object(object) => letters(object.get()),
        CallInput::Text(stated) => letters(&stated.text),
        CallInput::Empty => 0,
        CallInput::Custom(text) => letters(text),
    }
}

fn tool(tool: &Tool) -> u64 {
    let description = tool.description.as_deref().unwrap_or_default();
    let schema = match &tool.input {
        ToolInput::Schema { schema, .. } => letters(&schema.to_string()),
        ToolInput::Text(_) | ToolInput::Hosted(_) => 0,
    };
    letters(&tool.name) + letters(description) + schema + AROUND
}

fn letters(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
    let others = text.chars().filter(|letter| !letter.is_ascii()).count() as u64;
    ascii.div_ceil(ASCII_OF_TOKEN) + others
}
