//! Regexes: a pattern that the whole text must match comes in; a compiled language, or GBNF, goes
//! out.
//!
//! Classes such as `\d` and `\w` are Unicode's, as Python's `re` and Rust's `regex` read them:
//! those are what clients check with, and what outlines and llguidance constrain with. xgrammar
//! reads them as ASCII, which is narrower, so what it lets through is accepted here. Where a
//! pattern is printed for a server, such a class becomes its ASCII part: narrower, never wider.

use super::engine::Engine;
use super::gbnf::{Expr, Gbnf, GbnfRule, Printed};
use super::{Grammar, GrammarFault, MAX_REGEX_BYTES, MAX_REGEX_POSITIONS};
use crate::pattern::{self, ways};
use regex_syntax::hir::{Capture, Class, Hir, HirKind, Look, Repetition};

/// Compiles a pattern.
pub(super) fn compile(text: &str) -> Result<Grammar, GrammarFault> {
    of_hir(&read(text)?)
}

/// Compiles a language that is already read.
pub(super) fn of_hir(hir: &Hir) -> Result<Grammar, GrammarFault> {
    let accepts_empty = hir.properties().minimum_len() == Some(0);
    if matches!(hir.kind(), HirKind::Empty) {
        return Grammar::of_choices(&[String::new()]);
    }
    if hir.properties().minimum_len().is_none() {
        return Err(GrammarFault::invalid("no text matches the regex"));
    }
    let escaped = llguidance::regex_to_lark(&hir.to_string(), "");
    let engine = Engine::compile(format!("start: /{escaped}/"), Some(accepts_empty))?;
    Ok(Grammar::of_engine(engine))
}

/// The rule body of a pattern, with classes in full.
///
/// # Errors
/// Where the pattern cannot be read, is not regular, or matches nothing.
pub(super) fn to_expr(text: &str) -> Result<Expr, GrammarFault> {
    let hir = read(text)?;
    if hir.properties().minimum_len().is_none() {
        return Err(GrammarFault::invalid("no text matches the regex"));
    }
    expr(&hir)
}

/// GBNF of a pattern, for llama.cpp, and what is narrower in it: classes of Unicode's tables.
///
/// # Errors
/// Where the pattern cannot be read, is not regular, or repeats more than llama.cpp allows.
pub(super) fn to_gbnf(text: &str) -> Result<Printed, GrammarFault> {
    to_rules(text)?.print()
}

/// The rules of a pattern: its own parts, or the states of its automaton where a text has so many ways through the parts that
/// llama.cpp, which follows each by itself, never ends.
///
/// # Errors
/// Where the pattern cannot be read, is not regular, matches nothing, or has both too many ways and too many states.
pub(super) fn to_rules(text: &str) -> Result<Gbnf, GrammarFault> {
    let hir = read(text)?;
    if hir.properties().minimum_len().is_none() {
        return Err(GrammarFault::invalid("no text matches the regex"));
    }
    if !ways::overrun(&hir) {
        return expr(&hir).map(Gbnf::of);
    }
    let dfa = ways::Dfa::of(&hir).ok_or_else(|| {
        GrammarFault::too_complex(
            "a text can be read in very many ways, which overruns servers; write repetitions so that what one takes the \
             next does not",
        )
    })?;
    let name = |state: usize| match state {
        0 => Gbnf::ROOT.to_owned(),
        state => format!("state{state}"),
    };
    let rule = |(number, state): (usize, &ways::State)| {
        let next = state.next.iter().map(|(ranges, next)| {
            let letter = Expr::Class {
                negated: false,
                ranges: ranges.clone(),
            };
            let is_end = dfa.states[*next].accepts && dfa.states[*next].next.is_empty();
            match is_end {
                true => letter,
                false => Expr::Sequence(vec![letter, Expr::Rule(name(*next))]),
            }
        });
        let body = Expr::Choice(next.collect()).flat();
        GbnfRule {
            name: name(number),
            body: match state.accepts {
                true => body.optional(),
                false => body,
            },
            line: number + 1,
        }
    };
    let is_used = |(number, state): &(usize, &ways::State)| *number == 0 || !state.next.is_empty();
    let rules = dfa.states.iter().enumerate().filter(is_used).map(rule);
    Ok(Gbnf {
        rules: rules.collect(),
    })
}

/// Lark of a pattern: one terminal. An empty text is an empty rule, because the terminals of some
/// readers must not be empty.
///
/// # Errors
/// Where the pattern cannot be read or is not regular.
pub(super) fn to_lark(text: &str) -> Result<String, GrammarFault> {
    let hir = read(text)?;
    if hir.properties().minimum_len().is_none() {
        return Err(GrammarFault::invalid("no text matches the regex"));
    }
    Ok(lark_of_hir(&hir))
}

/// What stands between the slashes of a Lark terminal that takes the same texts; empty for the
/// empty text alone.
///
/// # Errors
/// Where the pattern cannot be read, is not regular, or matches nothing.
pub(super) fn to_terminal(text: &str) -> Result<String, GrammarFault> {
    let hir = read(text)?;
    match hir.properties().minimum_len() {
        None => Err(GrammarFault::invalid("no text matches the regex")),
        Some(_) if hir.properties().maximum_len() == Some(0) => Ok(String::new()),
        Some(_) => Ok(llguidance::regex_to_lark(&hir.to_string(), "")),
    }
}

/// Whether a text has more ways through a pattern that can be read than servers can follow.
pub(super) fn overruns(text: &str) -> bool {
    read(text).is_ok_and(|hir| ways::overrun(&hir))
}

/// Whether the empty text matches a pattern that can be read.
pub(super) fn takes_empty(text: &str) -> bool {
    read(text).is_ok_and(|hir| hir.properties().minimum_len() == Some(0))
}

/// Lark of a pattern that is already read, and matches some text.
pub(super) fn lark_of_hir(hir: &Hir) -> String {
    if hir.properties().maximum_len() == Some(0) {
        return "start: \n".to_owned();
    }
    let terminal = llguidance::regex_to_lark(&hir.to_string(), "");
    match hir.properties().minimum_len() {
        Some(0) => format!("start: TEXT?\nTEXT: /{terminal}/\n"),
        _ => format!("start: TEXT\nTEXT: /{terminal}/\n"),
    }
}

/// Reads a pattern that must match a text as a whole; anchors at its ends say nothing more.
fn read(text: &str) -> Result<Hir, GrammarFault> {
    if text.len() > MAX_REGEX_BYTES {
        let message = format!("the regex is longer than {MAX_REGEX_BYTES} bytes");
        return Err(GrammarFault::too_complex(message));
    }
    if let Some(construct) = pattern::irregular(text) {
        return Err(GrammarFault::unsupported(format!(
            "the regex has {construct}, which no constrained decoder can follow; write it without"
        )));
    }
    if let Some(fault) = pattern::misrepeats(text) {
        return Err(GrammarFault::invalid(format!(
            "the regex {fault}; put the inner one into a group, or leave one out"
        )));
    }
    let hir = pattern::parse(text)
        .map_err(|error| GrammarFault::invalid(format!("the regex cannot be read: {error}")))?;
    if pattern::positions(&hir) > MAX_REGEX_POSITIONS {
        return Err(GrammarFault::too_complex(
            "the regex repeats too much: its automaton would be too large; lower the bounds of \
             `{n,m}`",
        ));
    }
    whole(&hir, true, true)
}

/// The pattern without anchors that a match of the whole text makes true.
pub(super) fn whole(hir: &Hir, first: bool, last: bool) -> Result<Hir, GrammarFault> {
    Ok(match hir.kind() {
        HirKind::Look(Look::Start) if first => Hir::empty(),
        HirKind::Look(Look::End) if last => Hir::empty(),
        HirKind::Look(_) => {
            return Err(GrammarFault::unsupported(
                "the regex has an anchor or a word boundary in its middle; write it without",
            ));
        }
        HirKind::Repetition(repetition) => {
            // What repeats is at both ends only if it is there once.
            let once = repetition.max == Some(1);
            let sub = whole(&repetition.sub, first && once, last && once)?;
            repeat(sub, repetition.min, repetition.max)
        }
        HirKind::Capture(capture) => whole(&capture.sub, first, last)?,
        HirKind::Alternation(parts) => {
            let parts = parts.iter().map(|part| whole(part, first, last));
            Hir::alternation(parts.collect::<Result<_, _>>()?)
        }
        HirKind::Concat(parts) => {
            let is_look = |part: &&Hir| matches!(part.kind(), HirKind::Look(_));
            let ahead = parts.iter().take_while(is_look).count();
            let behind = parts.iter().rev().take_while(is_look).count();
            let at = |index: usize, part| {
                let first = first && index <= ahead;
                let last = last && index + behind + 1 >= parts.len();
                whole(part, first, last)
            };
            let parts = parts
                .iter()
                .enumerate()
                .map(|(index, part)| at(index, part));
            Hir::concat(parts.collect::<Result<_, _>>()?)
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => hir.clone(),
    })
}

/// A pattern as often. Greedy, because lazy is which match, not whether.
pub(super) fn repeat(sub: Hir, min: u32, max: Option<u32>) -> Hir {
    // regex-syntax prints `(a+)?` as `a+?`, which is another language; groups it prints as such.
    let sub = match sub.kind() {
        HirKind::Repetition(_) => Hir::capture(Capture {
            index: 1,
            name: None,
            sub: Box::new(sub),
        }),
        _ => sub,
    };
    Hir::repetition(Repetition {
        min,
        max,
        greedy: true,
        sub: Box::new(sub),
    })
}

/// The rule body of a pattern that is already read.
pub(super) fn expr(hir: &Hir) -> Result<Expr, GrammarFault> {
    let all = |parts: &[Hir]| parts.iter().map(expr).collect::<Result<Vec<_>, _>>();
    Ok(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Expr::Sequence(Vec::new()),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| {
                GrammarFault::unsupported("the regex matches bytes that are no text")
            })?;
            Expr::Literal(text.to_owned())
        }
        HirKind::Class(class) => Expr::Class {
            negated: false,
            ranges: ranges(class)?,
        },
        HirKind::Repetition(repetition) => Expr::Repeat {
            inner: Box::new(expr(&repetition.sub)?),
            min: repetition.min,
            max: repetition.max,
        },
        HirKind::Capture(capture) => expr(&capture.sub)?,
        HirKind::Concat(parts) => Expr::Sequence(all(parts)?),
        HirKind::Alternation(parts) => Expr::Choice(all(parts)?),
    })
}

fn ranges(class: &Class) -> Result<Vec<(char, char)>, GrammarFault> {
    let class = match class {
        Class::Unicode(class) => class.clone(),
        Class::Bytes(bytes) => bytes
            .to_unicode_class()
            .ok_or_else(|| GrammarFault::unsupported("the regex matches bytes that are no text"))?,
    };
    Ok(class
        .ranges()
        .iter()
        .map(|range| (range.start(), range.end()))
        .collect())
}
