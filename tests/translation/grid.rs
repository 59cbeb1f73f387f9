//! The grid: what clients of every dialect ask of every server, and what they have of its right answer, whole and
//! streamed, in any pieces.
//!
//! `tests/golden/cells/<server>.txt` has a line for each client dialect and demand: the strategy, where the request goes
//! and its fields (a digest of what is long), what is lost; then what the client puts together of a reply that says
//! what it should. `UPDATE_GOLDEN=1 cargo test -p isogloss-core --test translation grid` writes them anew.

mod bad;
mod captures;
mod identity;
mod mended;
mod names;
mod same;

use crate::golden::{compare, in_a_line_of, labels};
use crate::replay::{self, rule};
use isogloss_core::exchange::{self, End, Exchange, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::demands::{Calls, Demand, Takes, Want, pool};
use isogloss_testing::adversary::fold::{Came, Choice, Folded};
use isogloss_testing::adversary::frame::{self, Harm};
use isogloss_testing::adversary::judge::is_same;
use isogloss_testing::adversary::source::Source;
use isogloss_testing::adversary::speak::speak;
use isogloss_testing::adversary::values::{Answer, Call};
use isogloss_testing::adversary::wires;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Of Chat's pool: a format, a forced tool, several, a free choice, a free choice beside a format, no tools.
const DEMANDS: [&str; 8] = [
    "schema person",
    "object",
    "choice",
    "named two",
    "required two",
    "auto two",
    "auto with age",
    "none two",
];

/// Chooses the same wherever there is a choice: pieces of three letters, and nothing odd.
struct Even;

impl Source for Even {
    fn next(&mut self) -> u32 {
        50
    }
}

/// The demands in a dialect's words.
fn demands(dialect: Dialect) -> Vec<Demand> {
    let pool = pool();
    let named = DEMANDS
        .iter()
        .map(|id| pool.iter().find(|demand| demand.id == *id).unwrap());
    named.filter_map(|demand| dialect.asks(demand)).collect()
}

fn planned(
    demand: &Demand,
    label: &str,
    stream: bool,
) -> Result<Exchange, isogloss_core::error::Error> {
    let (path, client) = demand.client.route(stream);
    let body = demand.body(stream, 1).to_string();
    exchange::plan(exchange::read(client, path, body.as_bytes())?, &rule(label))
}

/// What a model should say to a demand: a text where it may, and a call where it may.
fn answers(demand: &Demand) -> Vec<Answer> {
    let of_schema = |schema: &Value| match schema["properties"].get("name") {
        Some(_) => "{\"name\":\"Ada\",\"age\":36}",
        None => "{\"age\":36}",
    };
    let mut all = Vec::new();
    if demand.calls != Calls::Required {
        let text = match &demand.want {
            Some(Want::Schema(schema)) => of_schema(schema),
            Some(Want::Object) => "{\"a\":[]}",
            Some(Want::Choice(texts)) => texts[0],
            _ => "It is \"sunny\" 😀.",
        };
        all.push(Answer {
            text: Some(text.to_owned()),
            calls: Vec::new(),
        });
    }
    if demand.calls != Calls::Forbidden {
        let tool = demand.tools.last().unwrap();
        let Takes::Schema(schema) = &tool.takes else {
            panic!("a function")
        };
        all.push(Answer {
            text: None,
            calls: vec![Call {
                name: tool.name.to_owned(),
                input: of_schema(schema).to_owned(),
                custom: false,
            }],
        });
    }
    all
}

/// What the client gets of a server that says this.
fn got(
    exchange: &Exchange,
    answer: &Answer,
    source: &mut impl Source,
    step: Option<usize>,
) -> Result<Vec<u8>, String> {
    let wire = exchange.server.wire();
    let spoken = [speak(wire, &exchange.plan, answer, source)];
    let checks = replay::checks(exchange).map_err(|error| error.message)?;
    let ids = Ids::new(42).at(1_700_000_000);
    let Some(step) = step else {
        let body = wires::whole(wire, &spoken, source).text();
        let reply = exchange::reply(exchange, &checks, ids, body.as_bytes());
        return reply
            .map(|reply| reply.body)
            .map_err(|fault| format!("{fault:?}"));
    };
    let events = wires::streamed(wire, &spoken, source);
    let bytes = frame::stream(wire, &events, Harm::None, source).bytes;
    let mut translator = StreamTranslator::new(exchange, checks, ids, 1 << 20);
    let mut out = Vec::new();
    for piece in bytes.chunks(step) {
        translator
            .push(piece, &mut out)
            .map_err(|fault| format!("{fault:?}"))?;
    }
    translator
        .finish(End::Eof, &mut out)
        .map_err(|fault| format!("{fault:?}"))?;
    Ok(out)
}

/// All views that clients have of it, which must be one and without a fault.
fn heard(dialect: Dialect, bytes: &[u8], stream: bool) -> Folded {
    let shown = String::from_utf8_lossy(bytes);
    match dialect.fold(200, bytes, stream) {
        Came::Success(mut views) => {
            assert!(
                views.iter().all(|view| view.faults.is_empty()),
                "{views:?}: {shown}"
            );
            views.swap_remove(0)
        }
        other => panic!("{dialect:?}: {other:?}: {shown}"),
    }
}

/// What a choice says, but for the ids that some wires make up.
fn said(choice: &Choice) -> String {
    let mut line = String::new();
    for (_, call) in &choice.calls {
        write!(line, " {}({})", call.name, call.input).unwrap();
    }
    if !choice.content.is_empty() || choice.calls.is_empty() {
        write!(line, " {:?}", choice.content).unwrap();
    }
    let finish = choice.finish.as_deref().unwrap();
    format!("{line} [{finish}]")
}

/// One demand on one server: what is asked, and what the client hears, the same whole and streamed.
fn cell(demand: &Demand, label: &str) -> String {
    let mut line = format!("{}: ", demand.id);
    let exchange = match planned(demand, label, false) {
        Ok(exchange) => exchange,
        Err(error) => {
            let param = error.param.as_deref().unwrap_or("nothing");
            return line
                + &format!(
                    "refused {} at {param}: {}\n",
                    error.kind.code(),
                    error.message
                );
        }
    };
    let sent = exchange.sent().map(|sent| sent.to_vec());
    let sent = sent.unwrap_or_else(|| demand.body(false, 1).to_string().into_bytes());
    line += &in_a_line_of(&exchange, &serde_json::from_slice(&sent).unwrap());
    let streamed = planned(demand, label, true).unwrap();
    for answer in answers(demand) {
        let whole = got(&exchange, &answer, &mut Even, None);
        let whole = whole.unwrap_or_else(|fault| panic!("{label}, {}: {fault}", demand.id));
        let whole = heard(demand.client, &whole, false);
        assert!(
            is_same(std::slice::from_ref(&answer), &whole),
            "{label}, {}: {whole:?}",
            demand.id
        );
        let pieces =
            [1, 7, 1 << 20].map(|step| got(&streamed, &answer, &mut Even, Some(step)).unwrap());
        assert!(
            pieces.iter().all(|piece| *piece == pieces[0]),
            "{label}, {}",
            demand.id
        );
        let stream = heard(demand.client, &pieces[0], true);
        assert!(
            is_same(&[answer], &stream),
            "{label}, {}: {stream:?}",
            demand.id
        );
        assert_eq!(
            said(&whole.choices[&0]),
            said(&stream.choices[&0]),
            "{label}, {}",
            demand.id
        );
        write!(line, " |{}", said(&whole.choices[&0])).unwrap();
    }
    line + "\n"
}

#[test]
fn clients_of_every_dialect_ask_every_server_and_hear_its_answer() {
    let folder = isogloss_testing::root().join("tests/golden/cells");
    let all: Vec<Demand> = Dialect::ALL.into_iter().flat_map(demands).collect();
    assert!(all.len() > 30, "{}", all.len());
    let mut failures = Vec::new();
    let mut expected = BTreeSet::new();
    for label in labels() {
        let lines: String = all.iter().map(|demand| cell(demand, label)).collect();
        let file = format!("{label}.txt");
        compare(&folder.join(&file), &lines, &mut failures);
        expected.insert(file);
    }
    let files = std::fs::read_dir(&folder).unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, expected, "one file for each server");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
