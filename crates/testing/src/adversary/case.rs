//! One case: a demand, put to one server, and what that server answers. All of it follows from one
//! source of choices.

use super::clients::Dialect;
use super::demands::{Calls, Demand, Takes, Want, pool};
use super::frame::{self, Body, Harm};
use super::json::J;
use super::mutate::{decorate, disorder, twist};
use super::source::Source;
use super::speak::{Spoken, holds_one, speak};
use super::values::{Answer, answer};
use super::wires;
use isogloss_core::exchange::{self, Exchange};
use isogloss_core::ir::{CallKind, Rewrap, Strategy, Wire};
use isogloss_core::markup::{Tools, Written};
use isogloss_core::rules::{Rule, RuleSet, Version};

/// The dialects, as `--dialect` takes them; some with the markup of calls that they leave in the text.
pub const DIALECTS: [&str; 17] = [
    "openai",
    "openai-responses",
    "vllm@0.32.0",
    "vllm@0.5.0",
    "sglang@0.5.23",
    "llama-cpp",
    "plain",
    "ollama@0.12.0",
    "ollama-native@0.12.0",
    "anthropic",
    "gemini",
    "cohere",
    "tgi@3.3.0",
    "tgi-generate@3.3.0",
    "sglang@0.5.23+hermes",
    "llama-cpp+hermes",
    "plain+hermes",
];

/// The dialect of such a label, and the markup.
pub fn parts(label: &str) -> (&str, Option<&str>) {
    label
        .split_once('+')
        .map_or((label, None), |(dialect, markup)| (dialect, Some(markup)))
}

/// The rule of a server as `--dialect` and `--markup` name it.
pub fn rule(label: &str) -> Option<Rule> {
    let (label, markup) = parts(label);
    let rule = dialect(label)?;
    match markup {
        Some(markup) => rule.with_markup(markup),
        None => Some(rule),
    }
}

fn dialect(label: &str) -> Option<Rule> {
    let (name, version) = match label.split_once('@') {
        Some((name, version)) => (name, Version::parse(version)),
        None => (label, None),
    };
    RuleSet::builtin().resolve(name, version).map(Rule::alone)
}

/// Every demand, in the words of each client dialect that has words for it.
fn demands() -> Vec<Demand> {
    let pool = pool();
    let said = |dialect: Dialect| pool.iter().filter_map(move |demand| dialect.asks(demand));
    Dialect::ALL.into_iter().flat_map(said).collect()
}

/// A demand on one server: what is sent, and what the server's words will mean.
#[derive(Debug)]
pub struct Cell {
    pub dialect: usize,
    pub demand: usize,
    pub stream: bool,
    pub choices: usize,
    pub request: String,
    pub exchange: Exchange,
}

/// All that is the same for every case.
#[derive(Debug)]
pub struct World {
    pub demands: Vec<Demand>,
    /// Of each dialect, what it can be asked.
    pub cells: Vec<Vec<Cell>>,
}

impl World {
    /// Plans every demand on every dialect; those that are refused before anything is sent are no cells.
    pub fn planned() -> Self {
        let demands = demands();
        let cells = (0..DIALECTS.len()).map(|dialect| {
            let rule = rule(DIALECTS[dialect]);
            let mut cells = Vec::new();
            for (place, demand) in demands.iter().enumerate() {
                // Of the others only Chat's clients ask for several answers.
                let many: &[(bool, usize)] = match demand.client {
                    Dialect::Chat => &[(false, 1), (true, 1), (false, 2), (true, 2), (true, 3)],
                    _ => &[(false, 1), (true, 1)],
                };
                for &(stream, choices) in many {
                    let request = demand.body(stream, choices).to_string();
                    let (path, client) = demand.client.route(stream);
                    let read = exchange::read(client, path, request.as_bytes()).ok();
                    let planned = read
                        .zip(rule.as_ref())
                        .map(|(read, rule)| exchange::plan(read, rule));
                    if let Some(Ok(exchange)) = planned {
                        cells.push(Cell {
                            dialect,
                            demand: place,
                            stream,
                            choices,
                            request,
                            exchange,
                        });
                    }
                }
            }
            cells
        });
        let cells = cells.collect();
        Self { demands, cells }
    }

    pub fn demand(&self, cell: &Cell) -> &Demand {
        &self.demands[cell.demand]
    }

    /// The cell that comes next, of any dialect.
    pub fn cell(&self, source: &mut impl Source) -> &Cell {
        let dialect = source.below(self.cells.len());
        source.pick(&self.cells[dialect])
    }
}

/// What a server answers.
#[derive(Debug, Clone)]
pub struct Reply {
    pub body: Body,
    /// What a client must get: nothing was done that any reader may mind.
    pub right: Option<Vec<Answer>>,
    /// Nothing is wrong but what it says.
    pub is_readable: bool,
}

/// What the choices say, and how many more lies there are to be.
#[derive(Debug, Clone)]
pub struct Script {
    pub answers: Vec<Answer>,
    pub spoken: Vec<Spoken>,
    pub is_right: bool,
    /// Nothing is wrong but values in it.
    pub is_readable: bool,
    pub lies: usize,
}

/// What the server says to a cell's request: right, or with the first lies in it.
pub fn script(world: &World, cell: &Cell, source: &mut impl Source) -> Script {
    let demand = world.demand(cell);
    let wire = cell.exchange.server.wire();
    let rewrap = &cell.exchange.plan.rewrap;
    let lies = if source.chance(35) {
        0
    } else {
        1 + source.below(4)
    };
    let mut kinds: Vec<usize> = (0..lies).map(|_| source.below(10)).collect();
    kinds.sort_unstable();
    let mut answers = Vec::new();
    let mut spoken = Vec::new();
    let wrong = source.below(cell.choices);
    for nth in 0..cell.choices {
        let is_wrong = kinds.first() == Some(&0) && nth == wrong;
        let said = answer(demand, holds_one(rewrap), is_wrong, source);
        let mut one = speak(wire, &cell.exchange.plan, &said, source);
        leave_calls(&cell.exchange, demand, &said, &mut one, source);
        if source.chance(15) && wire != Wire::TgiGenerate {
            one.reasoning = Some("hm, {\"age\": \"what\"".to_owned());
        }
        if cell.exchange.strategy == Strategy::Instruct && *rewrap == Rewrap::Json {
            wrap(&mut one, source);
        }
        answers.push(said);
        spoken.push(one);
    }
    if kinds.contains(&1) {
        bend(&mut spoken, source);
    }
    Script {
        answers,
        spoken,
        is_right: kinds.is_empty(),
        is_readable: kinds.iter().all(|kind| *kind == 0),
        lies: kinds.iter().filter(|kind| **kind > 1).count(),
    }
}

/// A server that reads no calls off the text, or not this model's.
fn leave_calls(
    exchange: &Exchange,
    demand: &Demand,
    said: &Answer,
    one: &mut Spoken,
    source: &mut impl Source,
) {
    let is_ours = matches!(
        exchange.plan.rewrap,
        Rewrap::TaggedCalls | Rewrap::TaggedCallsOrAnswer
    );
    let Some(markup) = exchange.markup.as_ref().filter(|_| !is_ours) else {
        return;
    };
    // Any text is a custom tool's input, where nothing else is asked for.
    let is_input = matches!(&exchange.plan.rewrap, Rewrap::Arguments { tool }
        if exchange.plan.tools.get(tool) == Some(&CallKind::Custom));
    if is_input {
        return;
    }
    // Of several calls a list is asked for, where one is asked for that one is said.
    if said.calls.is_empty() || !source.chance(70) {
        return;
    }
    let tools = demand.tools.iter().map(|tool| match &tool.takes {
        Takes::Schema(schema) => (
            tool.name.to_owned(),
            CallKind::Function,
            Some(schema.clone()),
        ),
        _ => (tool.name.to_owned(), CallKind::Custom, None),
    });
    let tools = Tools::new(tools);
    let calls: Vec<Written<'_>> = said
        .calls
        .iter()
        .map(|call| Written {
            id: None,
            name: &call.name,
            input: &call.input,
        })
        .collect();
    let text = markup.format.write(&calls, &tools);
    one.calls.clear();
    one.finish = "stop";
    one.content = Some(match source.below(4) {
        0 => format!("\n{text}\n"),
        _ => text,
    });
}

/// As models write JSON that nothing but a prompt asks for.
fn wrap(spoken: &mut Spoken, source: &mut impl Source) {
    let Some(text) = &mut spoken.content else {
        return;
    };
    *text = match source.below(12) {
        0 => format!("```json\n{text}\n```"),
        1 => format!("```\n{text}\n```\n"),
        2 => format!("<think>\nhm, {{\n</think>\n\n{text}"),
        3 => format!("\n{text}\n\n"),
        _ => return,
    };
}

/// The reply to a cell's request.
pub fn reply(world: &World, cell: &Cell, source: &mut impl Source) -> Reply {
    let script = script(world, cell, source);
    let body = written(world, cell, &script.spoken, script.lies, source);
    let right = script.is_right.then_some(script.answers);
    Reply {
        body,
        right,
        is_readable: script.is_readable,
    }
}

/// Other finishes, texts that stop early, fences, missing choices, calls beside text.
fn bend(all: &mut Vec<Spoken>, source: &mut impl Source) {
    let nth = source.below(all.len());
    let count = all.len();
    let one = &mut all[nth];
    match source.below(10) {
        0 | 1 => one.finish = *source.pick(&["length", "content_filter"]),
        2 => {
            one.finish = *source.pick(&["length", "content_filter", "stop"]);
            if let Some(text) = &mut one.content {
                let end = source.below(text.len() + 1);
                let end = (0..=end).rev().find(|at| text.is_char_boundary(*at));
                text.truncate(end.unwrap_or(0));
            }
            for call in &mut one.calls {
                let end = source.below(call.input.len() + 1);
                let end = (0..=end).rev().find(|at| call.input.is_char_boundary(*at));
                call.input.truncate(end.unwrap_or(0));
            }
        }
        3 => {
            let text = one.content.take().unwrap_or_default();
            one.content = Some(format!("```json\n{text}\n```"));
        }
        4 => {
            let text = one.content.take().unwrap_or_default();
            one.content = Some(format!("<think>{{\"age\":\"bad\"}}</think>{text}"));
        }
        8 | 9 => {
            // Space, but not JSON's; and what some readers take off.
            let blank = *source.pick(&[
                "\u{feff}", "\u{a0}", "\u{b}", "\u{c}", "\u{2003}", "\0", "\u{85}",
            ]);
            let texts = one.calls.iter_mut().map(|call| &mut call.input);
            let is_behind = source.chance(50);
            for text in texts.chain(&mut one.content) {
                let at = if is_behind { text.len() } else { 0 };
                text.insert_str(at, blank);
            }
        }
        5 => {
            let again = one.clone();
            all.push(again);
        }
        6 if count > 1 => {
            all.remove(nth);
        }
        _ => {
            let text = one.content.take().unwrap_or_default();
            one.content =
                Some(text + *source.pick(&[" and more", "{}", "\n\n", "{\"age\":\"bad\"}", "]"]));
        }
    }
}

fn written(
    world: &World,
    cell: &Cell,
    all: &[Spoken],
    lies: usize,
    source: &mut impl Source,
) -> Body {
    let demand = world.demand(cell);
    let wire = cell.exchange.server.wire();
    // Some answer a stream's request with one body, and the reverse.
    let is_other = source.chance(4);
    let is_stream = cell.stream != is_other;
    let mut harm = Harm::None;
    if is_stream {
        let mut events = wires::streamed(wire, all, source);
        for _ in 0..source.below(4) {
            if source.chance(40) {
                decorate(wire, &mut events, source);
            }
        }
        for _ in 0..lies {
            if source.chance(12) {
                harm = frame::harm(source);
            } else {
                disorder(wire, &mut events, demand, source);
            }
        }
        return frame::stream(wire, &events, harm, source);
    }
    let mut body = wires::whole(wire, all, source);
    if source.chance(20) {
        body.push("x_unknown", J::Null);
    }
    for _ in 0..lies {
        if source.chance(12) {
            harm = frame::harm(source);
        } else {
            twist(&mut body, demand, source);
        }
    }
    frame::whole(&body, harm, source)
}

/// What the table counts by.
pub const KINDS: [&str; 9] = [
    "content",
    "none",
    "auto + content",
    "auto",
    "required",
    STRUCTURAL_TAGS,
    LARK,
    HOSTED_TOOLS,
    TWO_CONSTRAINTS,
];
const STRUCTURAL_TAGS: &str = "structural tags";
const LARK: &str = "lark";
const HOSTED_TOOLS: &str = "hosted tools";
const TWO_CONSTRAINTS: &str = "two constraints";

/// Of which kind the demand is.
pub fn kind(demand: &Demand) -> &'static str {
    let takes = |is_it: fn(&Takes) -> bool| demand.tools.iter().any(|tool| is_it(&tool.takes));
    if matches!(demand.want, Some(Want::Tags(_))) {
        return STRUCTURAL_TAGS;
    }
    if demand.id.contains("lark ") || takes(|it| matches!(it, Takes::Lark(_))) {
        return LARK;
    }
    if demand.id.contains("hosted") {
        return HOSTED_TOOLS;
    }
    if demand.id.contains("twice ") {
        return TWO_CONSTRAINTS;
    }
    match (demand.calls, demand.want.is_some()) {
        (Calls::Forbidden, true) => "content",
        (Calls::Forbidden, false) => "none",
        (Calls::Optional, true) => "auto + content",
        (Calls::Optional, false) => "auto",
        (Calls::Required, _) => "required",
    }
}
