//! A grammar's rules as numbers, and what the cheapest text of each symbol costs.

use ::llguidance::earley::lexerspec::LexemeIdx;
use ::llguidance::earley::{CGrammar, CSymIdx};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The symbols that a grammar's start leads to.
pub(super) struct Rules {
    symbols: Vec<Symbol>,
    rules: Vec<Rule>,
}

pub(super) struct Symbol {
    /// Where it is one.
    pub(super) terminal: Option<LexemeIdx>,
    pub(super) is_nullable: bool,
    pub(super) rules: Vec<usize>,
}

struct Rule {
    symbol: usize,
    parts: Vec<usize>,
}

/// What the symbols' cheapest texts cost, and which rules make them.
pub(super) struct Costs {
    of: Vec<Option<u32>>,
    by: Vec<Option<usize>>,
}

const START: usize = 0;

impl Rules {
    /// `None` where what may come next is not for the grammar and the bytes alone to say.
    pub(super) fn of(grammar: &CGrammar) -> Option<Self> {
        let spec = grammar.lexer_spec();
        let has_tokens = !spec.token_range_lexemes(&spec.all_lexemes()).is_empty();
        if grammar.parametric() || spec.has_stop || spec.has_max_tokens || has_tokens {
            return None;
        }
        let mut found = vec![grammar.start()];
        let mut places = HashMap::from([(grammar.start().as_index(), START)]);
        let mut place = |found: &mut Vec<CSymIdx>, symbol: CSymIdx| {
            *places.entry(symbol.as_index()).or_insert_with(|| {
                found.push(symbol);
                found.len() - 1
            })
        };
        let (mut symbols, mut rules) = (Vec::new(), Vec::new());
        while let Some(&symbol) = found.get(symbols.len()) {
            let number = symbols.len();
            let data = grammar.sym_data(symbol);
            if data.props.max_tokens < usize::MAX {
                return None;
            }
            let first = rules.len();
            for &rule in grammar.rules_of(symbol) {
                let (parts, ..) = grammar.rule_rhs(rule);
                let parts = parts.iter().map(|&part| place(&mut found, part));
                rules.push(Rule {
                    symbol: number,
                    parts: parts.collect(),
                });
            }
            symbols.push(Symbol {
                terminal: data.lexeme,
                is_nullable: data.is_nullable,
                rules: (first..rules.len()).collect(),
            });
        }
        Some(Self { symbols, rules })
    }

    pub(super) fn start(&self) -> usize {
        START
    }

    pub(super) fn symbol(&self, symbol: usize) -> &Symbol {
        &self.symbols[symbol]
    }

    /// The symbol that a rule makes.
    pub(super) fn made_by(&self, rule: usize) -> usize {
        self.rules[rule].symbol
    }

    pub(super) fn parts(&self, rule: usize) -> &[usize] {
        &self.rules[rule].parts
    }

    /// The cheapest text of each symbol, given those of terminals (Knuth, "A Generalization of Dijkstra's Algorithm",
    /// 1977).
    pub(super) fn costs(&self, mut terminal: impl FnMut(LexemeIdx) -> Option<u32>) -> Costs {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.symbols.len()];
        for (number, rule) in self.rules.iter().enumerate() {
            for &part in &rule.parts {
                users[part].push(number);
            }
        }
        let mut missing: Vec<usize> = self.rules.iter().map(|rule| rule.parts.len()).collect();
        let mut sums = vec![0_u32; self.rules.len()];
        let mut costs = Costs {
            of: vec![None; self.symbols.len()],
            by: vec![None; self.symbols.len()],
        };
        let mut next = BinaryHeap::new();
        for (number, symbol) in self.symbols.iter().enumerate() {
            let cost = match symbol.terminal {
                _ if symbol.is_nullable => Some(0),
                Some(lexeme) => terminal(lexeme),
                None => None,
            };
            if let Some(cost) = cost {
                next.push(Reverse((cost, number, None)));
            }
        }
        while let Some(Reverse((cost, symbol, rule))) = next.pop() {
            if costs.of[symbol].is_some() {
                continue;
            }
            costs.of[symbol] = Some(cost);
            costs.by[symbol] = rule;
            for &user in &users[symbol] {
                sums[user] = sums[user].saturating_add(cost);
                missing[user] -= 1;
                if missing[user] == 0 {
                    next.push(Reverse((sums[user], self.rules[user].symbol, Some(user))));
                }
            }
        }
        costs
    }
}

impl Costs {
    /// `None` where a symbol has no text.
    pub(super) fn of(&self, symbol: usize) -> Option<u32> {
        self.of[symbol]
    }

    /// The rule that makes a symbol's cheapest text; none of a terminal, and where that is empty.
    pub(super) fn rule(&self, symbol: usize) -> Option<usize> {
        self.by[symbol]
    }

    pub(super) fn all(&self, symbols: &[usize]) -> Option<u32> {
        let mut costs = symbols.iter().map(|&symbol| self.of[symbol]);
        costs.try_fold(0_u32, |sum, cost| Some(sum.saturating_add(cost?)))
    }

    /// The cost of the dearest symbol.
    pub(super) fn most(&self) -> u32 {
        self.of.iter().flatten().copied().max().unwrap_or(0)
    }
}
