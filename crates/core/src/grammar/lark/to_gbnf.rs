//! Lark as GBNF: a grammar of terminals comes in; rules over characters, and what they cannot
//! say, go out.
//!
//! A terminal becomes a rule. What `%ignore` lets stand between two terminals is written before
//! every terminal but the first of the text: so each rule is there twice, as what the text begins
//! with and as what comes later.

use super::lexing::{Lexing, examine};
use super::read::Lark;
use crate::grammar::GrammarFault;
use crate::grammar::gbnf::{Expr, Gbnf, GbnfRule, Names, nullable};
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

/// Elements of the rules that are written.
const MAX_ELEMENTS: usize = 100_000;

/// A grammar in GBNF.
#[derive(Debug)]
pub(in crate::grammar) struct Lowered {
    pub(in crate::grammar) gbnf: Gbnf,
    /// Which texts it takes that the Lark does not, as a sentence.
    pub(in crate::grammar) wider: Option<String>,
    /// Which texts it lacks, as a sentence.
    pub(in crate::grammar) narrower: Option<String>,
}

/// The same language in GBNF, as far as it can be said.
///
/// # Errors
/// What cannot be read, or cannot be said in GBNF at all, by its name; a grammar that is too large.
pub(in crate::grammar) fn to_gbnf(text: &str) -> Result<Lowered, GrammarFault> {
    let lark = Lark::read(super::without_header(text))?;
    let nullable = nullable(lark.rules.iter().chain(&lark.terminals));
    let (lexing, is_at_ends) = examine(&lark, &nullable);
    let wider = match lexing {
        Lexing::Same => None,
        Lexing::Wider(terminal) => Some(format!(
            "terminals take as much text as they can, which GBNF cannot say: `{terminal}` may end earlier there"
        )),
        Lexing::Unknown => Some(
            "terminals take as much text as they can, which GBNF cannot say: some may end earlier there".to_owned(),
        ),
    };
    let narrower = is_at_ends
        .then(|| "what `%ignore` skips is not written at the text's start and end".to_owned());
    let gbnf = Lowering::new(&lark, nullable).run()?;
    Ok(Lowered {
        gbnf,
        wider,
        narrower,
    })
}

/// Where in the text a rule is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    /// Nothing is ignored, or inside of a terminal.
    Plain,
    /// At the start of the text, and not empty.
    First,
    /// After the first terminal.
    Later,
}

struct Lowering<'a> {
    lark: &'a Lark,
    rules: HashMap<&'a str, &'a Expr>,
    terminals: HashMap<&'a str, &'a Expr>,
    nullable: HashSet<&'a str>,
    /// Rules with a text that is not empty.
    filled: HashSet<&'a str>,
    names: HashMap<(&'a str, Place), String>,
    taken: Names,
    pending: VecDeque<(&'a str, Place)>,
    left: Cell<usize>,
}

const IGNORED: &str = "%ignore";

impl<'a> Lowering<'a> {
    fn new(lark: &'a Lark, nullable: HashSet<&'a str>) -> Self {
        let by_name = |rules: &'a [GbnfRule]| {
            let rules = rules.iter().map(|rule| (rule.name.as_str(), &rule.body));
            rules.collect::<HashMap<_, _>>()
        };
        let mut lowering = Self {
            lark,
            rules: by_name(&lark.rules),
            terminals: by_name(&lark.terminals),
            nullable,
            filled: HashSet::new(),
            names: HashMap::new(),
            taken: Names::default(),
            pending: VecDeque::new(),
            left: Cell::new(MAX_ELEMENTS),
        };
        loop {
            let all = lark.rules.iter().chain(&lark.terminals);
            let found = all.filter(|rule| lowering.is_filled(&rule.body));
            let found: HashSet<&str> = found.map(|rule| rule.name.as_str()).collect();
            if found.len() == lowering.filled.len() {
                return lowering;
            }
            lowering.filled = found;
        }
    }

    fn is_filled(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Choice(parts) | Expr::Sequence(parts) => {
                parts.iter().any(|part| self.is_filled(part))
            }
            Expr::Literal(text) => !text.is_empty(),
            Expr::Class { .. } | Expr::Any => true,
            Expr::Rule(name) => self.filled.contains(name.as_str()),
            Expr::Repeat { inner, max, .. } => *max != Some(0) && self.is_filled(inner),
        }
    }

    fn run(mut self) -> Result<Gbnf, GrammarFault> {
        let start = self.rules[Lark::START];
        let root = self.taken.free(Gbnf::ROOT);
        let body = if self.lark.ignored.is_empty() {
            self.names.insert((Lark::START, Place::Plain), root);
            self.plain(start)
        } else if self.nullable.contains(Lark::START) {
            let filled = Expr::Rule(Lark::START.to_owned());
            self.first(&filled).map_or_else(Expr::empty, Expr::optional)
        } else {
            self.names.insert((Lark::START, Place::First), root);
            self.first(start).unwrap_or_else(Expr::empty)
        };
        let mut gbnf = Gbnf::of(body.flat());
        while let Some((name, place)) = self.pending.pop_front() {
            let body = match (name, place) {
                (IGNORED, _) => self.ignored(),
                (name, Place::First) => self.first(self.rules[name]).unwrap_or_else(Expr::empty),
                (name, Place::Later) => self.later(self.rules[name]),
                (name, Place::Plain) => match self.rules.get(name) {
                    Some(body) => self.plain(body),
                    None => self.plain(self.terminals[name]),
                },
            };
            let name = self.names[&(name, place)].clone();
            let (body, line) = (body.flat(), gbnf.rules.len() + 1);
            gbnf.rules.push(GbnfRule { name, body, line });
        }
        if self.left.get() == 0 {
            return Err(GrammarFault::too_complex(
                "the grammar is too large once it is written without `%ignore`",
            ));
        }
        Ok(gbnf)
    }

    /// Counts an element; past the limit nothing more is written.
    fn spend(&self) -> bool {
        let left = self.left.get().saturating_sub(1);
        self.left.set(left);
        left > 0
    }

    /// A reference to a rule, which will be written.
    fn refer(&mut self, name: &'a str, place: Place) -> Expr {
        if let Some(known) = self.names.get(&(name, place)) {
            return Expr::Rule(known.clone());
        }
        let base = match name {
            IGNORED => "ignored",
            name => name,
        };
        let free = match place {
            Place::First => self.taken.free(&format!("{base}-first")),
            Place::Plain | Place::Later => self.taken.free(base),
        };
        self.names.insert((name, place), free.clone());
        self.pending.push_back((name, place));
        Expr::Rule(free)
    }

    /// The name with the grammar's own lifetime, and the body where it is of a terminal.
    fn find(&self, name: &str) -> (&'a str, Option<&'a Expr>) {
        match self.terminals.get_key_value(name) {
            Some((&name, &body)) => (name, Some(body)),
            None => (
                self.rules.get_key_value(name).map_or("", |(&name, _)| name),
                None,
            ),
        }
    }

    fn plain(&mut self, expr: &Expr) -> Expr {
        self.map(expr, &mut |lowering, leaf| match leaf {
            Expr::Rule(name) => match lowering.find(name) {
                // One without a name stands where it is used.
                (name, Some(body)) if name.starts_with('/') => lowering.plain(body),
                (name, _) => lowering.refer(name, Place::Plain),
            },
            leaf => leaf.clone(),
        })
    }

    /// With what is ignored before every terminal.
    fn later(&mut self, expr: &Expr) -> Expr {
        self.map(expr, &mut |lowering, leaf| {
            match leaf {
                Expr::Rule(name) if lowering.find(name).1.is_none() => {
                    let (name, _) = lowering.find(name);
                    return lowering.refer(name, Place::Later);
                }
                _ => {}
            }
            let Some(terminal) = lowering.some(leaf, Place::Plain) else {
                return Expr::empty();
            };
            let ignored = lowering.refer(IGNORED, Place::Plain);
            let terminal = Expr::Sequence(vec![ignored, terminal]);
            match leaf.is_nullable(&|name| lowering.nullable.contains(name)) {
                true => terminal.optional(),
                false => terminal,
            }
        })
    }

    /// At the start of the text, and not empty; `None` where only the empty text is.
    fn first(&mut self, expr: &Expr) -> Option<Expr> {
        self.some(expr, Place::Later)
    }

    /// The texts that are not empty. `rest` is where what follows their first terminal stands.
    fn some(&mut self, expr: &Expr, rest: Place) -> Option<Expr> {
        if !self.is_filled(expr) || !self.spend() {
            return None;
        }
        let follow = |lowering: &mut Self, expr: &Expr| match rest {
            Place::Later => lowering.later(expr),
            Place::Plain | Place::First => lowering.plain(expr),
        };
        Some(match expr {
            Expr::Literal(_) | Expr::Class { .. } | Expr::Any => expr.clone(),
            Expr::Choice(parts) => {
                let parts = parts.iter().filter_map(|part| self.some(part, rest));
                Expr::Choice(parts.collect())
            }
            Expr::Sequence(parts) => {
                let mut ways = Vec::new();
                for (index, part) in parts.iter().enumerate() {
                    if let Some(first) = self.some(part, rest) {
                        let tail = parts[index + 1..].iter();
                        let tail = tail.map(|part| follow(self, part));
                        let way = std::iter::once(first).chain(tail.collect::<Vec<_>>());
                        ways.push(Expr::Sequence(way.collect()));
                    }
                    if !part.is_nullable(&|name| self.nullable.contains(name)) {
                        break;
                    }
                }
                Expr::Choice(ways)
            }
            Expr::Rule(name) => match self.find(name) {
                (name, None) => self.refer(name, Place::First),
                (name, Some(body)) if self.nullable.contains(name) => {
                    return self.some(body, Place::Plain);
                }
                _ => self.plain(expr),
            },
            Expr::Repeat { inner, min, max } => {
                let first = self.some(inner, rest)?;
                let min = match inner.is_nullable(&|name| self.nullable.contains(name)) {
                    true => 0,
                    false => min.saturating_sub(1),
                };
                let max = max.map(|max| max - 1);
                if max == Some(0) {
                    return Some(first);
                }
                Expr::Sequence(vec![first, follow(self, inner).repeat(min, max)])
            }
        })
    }

    fn map(&mut self, expr: &Expr, leaf: &mut dyn FnMut(&mut Self, &Expr) -> Expr) -> Expr {
        if !self.spend() {
            return Expr::empty();
        }
        let mut all = |parts: &[Expr]| -> Vec<Expr> {
            parts.iter().map(|part| self.map(part, leaf)).collect()
        };
        match expr {
            Expr::Choice(parts) => Expr::Choice(all(parts)),
            Expr::Sequence(parts) => Expr::Sequence(all(parts)),
            Expr::Repeat { inner, min, max } => self.map(inner, leaf).repeat(*min, *max),
            Expr::Literal(_) | Expr::Class { .. } | Expr::Any | Expr::Rule(_) => leaf(self, expr),
        }
    }

    /// Any number of what is ignored. One that repeats by itself is written once: `([ ]+)*` has
    /// as many readings as a text has splits.
    fn ignored(&mut self) -> Expr {
        let mut parts = Vec::new();
        for ignored in &self.lark.ignored {
            let mut ignored = ignored;
            while let Expr::Rule(name) = ignored {
                match self.terminals.get(name.as_str()) {
                    Some(body) => ignored = body,
                    None => break,
                }
            }
            let once = match ignored {
                Expr::Repeat {
                    inner,
                    min: 0 | 1,
                    max: None,
                } => inner,
                ignored => ignored,
            };
            parts.extend(self.some(once, Place::Plain));
        }
        Expr::Choice(parts).repeat(0, None)
    }
}
