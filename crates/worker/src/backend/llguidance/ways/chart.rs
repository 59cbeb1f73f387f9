//! What is open in an answer: its bytes come in; an Earley chart of them is kept, and the cheapest text that closes it
//! goes out.
//!
//! llguidance keeps such a chart too, and shows it to nobody. This one is read when a way is asked for, and not before.

use super::rules::{Costs, Rules};
use super::spelling::Spelling;
use super::terminals::{End, Step, Terminals};
use ::llguidance::derivre::StateID;
use ::llguidance::earley::lexerspec::LexemeIdx;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

/// Items that are looked at for one question: some thousand times what it takes.
const EFFORT: usize = 20_000_000;
/// Bytes of a way.
const MAX_BYTES: usize = 16_384;

/// A rule of which so many parts are there, since a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Item {
    rule: usize,
    dot: usize,
    from: usize,
}

/// What may be open between two terminals.
#[derive(Debug)]
struct Row {
    items: Vec<Item>,
    /// Where the next terminal begins.
    start: StateID,
}

/// The chart of one answer.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Chart {
    rows: Vec<Arc<Row>>,
    /// Where the open terminal is. `None`: nothing of it is written.
    inside: Option<StateID>,
    /// How many bytes are read.
    read: usize,
    /// Which automata the states are of.
    edition: u32,
    is_lost: bool,
}

impl Chart {
    /// It cannot be told what is open.
    pub(super) fn give_up(&mut self) {
        self.is_lost = true;
    }
}

/// Reads bytes into charts.
pub(super) struct Reader<'k> {
    rules: &'k Rules,
    costs: &'k Costs,
    terminals: &'k mut Terminals,
    spelling: &'k Spelling,
    /// Items of one row, and items that may still be looked at.
    most: usize,
    effort: usize,
}

/// An item whose next terminal is open or may begin.
struct Opening {
    item: Item,
    /// What ends the terminal.
    head: Arc<[u8]>,
    cost: u32,
}

/// A symbol that is being made since a row: what is behind it must still come.
type Node = (usize, usize);

/// How the cheapest way reached a node.
#[derive(Debug, Clone)]
struct Reached {
    /// From what is open itself, or from a symbol in it.
    before: Option<Node>,
    /// What ends the open terminal.
    head: Option<Arc<[u8]>>,
    /// What is written of the item's rule when the node is reached.
    rule: usize,
    dot: usize,
}

impl<'k> Reader<'k> {
    pub(super) fn new(
        rules: &'k Rules,
        costs: &'k Costs,
        terminals: &'k mut Terminals,
        spelling: &'k Spelling,
        most: usize,
    ) -> Self {
        Self {
            rules,
            costs,
            terminals,
            spelling,
            most,
            effort: EFFORT,
        }
    }

    /// The bytes that close what is open behind what is written and these bytes ahead.
    pub(super) fn end(
        &mut self,
        chart: &mut Chart,
        written: &[u8],
        ahead: &[u8],
    ) -> Option<Vec<u8>> {
        if chart.is_lost {
            return None;
        }
        if chart.rows.is_empty() || chart.edition != self.terminals.edition() {
            self.begin(chart)?;
        }
        for &byte in written.get(chart.read..)? {
            if self.push(chart, byte).is_none() {
                chart.is_lost = true;
                return None;
            }
        }
        chart.read = written.len();
        let (rows, inside) = (chart.rows.len(), chart.inside);
        let fits = ahead.iter().all(|&byte| self.push(chart, byte).is_some());
        let end = if fits { self.cheapest(chart) } else { None };
        chart.rows.truncate(rows);
        chart.inside = inside;
        chart.is_lost = self.effort == 0;
        end
    }

    /// Counts items that are looked at. `None`: they are too many.
    fn spend(&mut self, items: usize) -> Option<()> {
        self.effort = self.effort.saturating_sub(items);
        (self.effort > 0).then_some(())
    }

    fn begin(&mut self, chart: &mut Chart) -> Option<()> {
        *chart = Chart {
            edition: self.terminals.edition(),
            ..Chart::default()
        };
        let rules = self.rules.symbol(self.rules.start()).rules.iter();
        let items = rules.map(|&rule| Item {
            rule,
            dot: 0,
            from: 0,
        });
        self.push_row(chart, items.collect())
    }

    fn push(&mut self, chart: &mut Chart, byte: u8) -> Option<()> {
        if let Some(state) = chart.inside {
            match self.terminals.step(state, byte)? {
                Step::Inside(next) => {
                    chart.inside = Some(next);
                    return Some(());
                }
                Step::Last(terminals) => return self.scan(chart, &terminals),
                Step::Past(terminals) => self.scan(chart, &terminals)?,
            }
        }
        let start = chart.rows.last()?.start;
        match self.terminals.begin(start, byte)? {
            Step::Inside(next) => {
                chart.inside = Some(next);
                Some(())
            }
            Step::Last(terminals) => self.scan(chart, &terminals),
            Step::Past(_) => None,
        }
    }

    /// Any of these terminals is there.
    fn scan(&mut self, chart: &mut Chart, terminals: &[LexemeIdx]) -> Option<()> {
        chart.inside = None;
        let row = Arc::clone(chart.rows.last()?);
        if terminals.iter().any(|&it| self.terminals.is_space(it)) {
            chart.rows.push(row);
            return Some(());
        }
        let is_there = |item: &&Item| {
            let terminal = self.next(**item).and_then(|part| self.terminal(part));
            terminal.is_some_and(|terminal| terminals.contains(&terminal))
        };
        let items = row.items.iter().filter(is_there).map(|item| Item {
            dot: item.dot + 1,
            ..*item
        });
        let items = items.collect();
        self.push_row(chart, items)
    }

    fn next(&self, item: Item) -> Option<usize> {
        self.rules.parts(item.rule).get(item.dot).copied()
    }

    fn terminal(&self, symbol: usize) -> Option<LexemeIdx> {
        self.rules.symbol(symbol).terminal
    }

    /// A row that begins with these items: what they predict and complete is added, as in every Earley parser.
    fn push_row(&mut self, chart: &mut Chart, mut items: Vec<Item>) -> Option<()> {
        let here = chart.rows.len();
        let mut known: HashSet<Item> = items.iter().copied().collect();
        let mut terminals = HashSet::new();
        let mut at = 0;
        while let Some(&item) = items.get(at) {
            at += 1;
            let mut add = |item: Item| {
                if known.insert(item) {
                    items.push(item);
                }
            };
            let Some(symbol) = self.next(item) else {
                let made = self.rules.made_by(item.rule);
                // What is made of nothing here is told by its being nullable.
                let from = (item.from < here).then(|| &chart.rows[item.from]);
                self.spend(from.map_or(0, |row| row.items.len()))?;
                for waiting in from.into_iter().flat_map(|row| &row.items) {
                    if self.next(*waiting) == Some(made) {
                        add(Item {
                            dot: waiting.dot + 1,
                            ..*waiting
                        });
                    }
                }
                continue;
            };
            let data = self.rules.symbol(symbol);
            terminals.extend(data.terminal);
            for &rule in &data.rules {
                add(Item {
                    rule,
                    dot: 0,
                    from: here,
                });
            }
            if data.is_nullable {
                add(Item {
                    dot: item.dot + 1,
                    ..item
                });
            }
            if items.len() > self.most {
                return None;
            }
        }
        if items.is_empty() {
            return None;
        }
        let start = self.terminals.start(terminals.into_iter());
        chart.rows.push(Arc::new(Row { items, start }));
        Some(())
    }

    /// The cheapest text that closes what is open (Dijkstra, from the open terminal outwards).
    fn cheapest(&mut self, chart: &Chart) -> Option<Vec<u8>> {
        let row = chart.rows.last()?;
        let goal: Node = (self.rules.start(), 0);
        let is_whole = |item: &Item| {
            let made = self.rules.made_by(item.rule);
            self.next(*item).is_none() && (made, item.from) == goal
        };
        let is_whole = row.items.iter().any(is_whole);
        if is_whole && chart.inside.is_none() {
            return Some(Vec::new());
        }
        if is_whole && let Some(space) = self.space(chart) {
            return Some(space.text.to_vec());
        }
        let mut next: BinaryHeap<Reverse<(u32, Node, usize)>> = BinaryHeap::new();
        let mut reached: Vec<Reached> = Vec::new();
        for Opening { item, head, cost } in self.openings(chart)? {
            let rest = &self.rules.parts(item.rule)[item.dot + 1..];
            let Some(rest) = self.costs.all(rest) else {
                continue;
            };
            let node = (self.rules.made_by(item.rule), item.from);
            next.push(Reverse((cost.saturating_add(rest), node, reached.len())));
            reached.push(Reached {
                before: None,
                head: Some(head),
                rule: item.rule,
                dot: item.dot + 1,
            });
        }
        let mut best: HashMap<Node, usize> = HashMap::new();
        while let Some(Reverse((cost, node, way))) = next.pop() {
            if best.contains_key(&node) {
                continue;
            }
            best.insert(node, way);
            if node == goal {
                return self.text(&best, &reached, goal);
            }
            let (symbol, from) = node;
            self.spend(chart.rows[from].items.len())?;
            for item in &chart.rows[from].items {
                if self.next(*item) != Some(symbol) {
                    continue;
                }
                let rest = &self.rules.parts(item.rule)[item.dot + 1..];
                let outer = (self.rules.made_by(item.rule), item.from);
                let Some(rest) = self.costs.all(rest).filter(|_| !best.contains_key(&outer)) else {
                    continue;
                };
                next.push(Reverse((cost.saturating_add(rest), outer, reached.len())));
                reached.push(Reached {
                    before: Some(node),
                    head: None,
                    rule: item.rule,
                    dot: item.dot + 1,
                });
            }
        }
        None
    }

    /// What ends the space that is open.
    fn space(&mut self, chart: &Chart) -> Option<End> {
        let state = chart.inside?;
        let possible = self.terminals.possible(state);
        let space = possible
            .into_iter()
            .find(|&it| self.terminals.is_space(it))?;
        self.terminals.end(space, state, self.spelling)
    }

    fn openings(&mut self, chart: &Chart) -> Option<Vec<Opening>> {
        let row = chart.rows.last()?;
        let mut openings = Vec::new();
        let possible: HashSet<LexemeIdx> = match chart.inside {
            Some(state) => self.terminals.possible(state).into_iter().collect(),
            None => HashSet::new(),
        };
        // Space that is open ends first.
        let space = self.space(chart);
        for &item in &row.items {
            let Some(terminal) = self.next(item).and_then(|part| self.terminal(part)) else {
                continue;
            };
            if let Some(state) = chart.inside
                && possible.contains(&terminal)
                && let Some(end) = self.terminals.end(terminal, state, self.spelling)
            {
                openings.push(Opening {
                    item,
                    head: end.text,
                    cost: end.cost,
                });
            }
            if chart.inside.is_some() && space.is_none() {
                continue;
            }
            let Some(whole) = self.terminals.shortest(terminal, self.spelling) else {
                continue;
            };
            let (head, cost) = match &space {
                Some(space) if !space.text.is_empty() => {
                    let head = [&*space.text, &*whole.text].concat();
                    (head.into(), space.cost.saturating_add(whole.cost))
                }
                _ => (whole.text, whole.cost),
            };
            openings.push(Opening { item, head, cost });
        }
        Some(openings)
    }

    /// The text of a way that is found.
    fn text(
        &self,
        best: &HashMap<Node, usize>,
        reached: &[Reached],
        goal: Node,
    ) -> Option<Vec<u8>> {
        let mut steps = Vec::new();
        let mut node = Some(goal);
        while let Some(at) = node {
            let way = &reached[*best.get(&at)?];
            steps.push(way);
            node = way.before;
        }
        let mut text = Vec::new();
        for step in steps.into_iter().rev() {
            text.extend_from_slice(step.head.as_deref().unwrap_or_default());
            self.write(&self.rules.parts(step.rule)[step.dot..], &mut text)?;
        }
        Some(text)
    }

    /// The cheapest texts of these symbols.
    fn write(&self, symbols: &[usize], text: &mut Vec<u8>) -> Option<()> {
        let mut open: Vec<usize> = symbols.iter().rev().copied().collect();
        while let Some(symbol) = open.pop() {
            if let Some(rule) = self.costs.rule(symbol) {
                open.extend(self.rules.parts(rule).iter().rev());
            } else if let Some(terminal) = self.terminal(symbol) {
                text.extend_from_slice(self.terminals.known(terminal)?);
            }
            if text.len() > MAX_BYTES {
                return None;
            }
        }
        Some(())
    }
}
