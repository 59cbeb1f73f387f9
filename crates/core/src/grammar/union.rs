//! Calls between tags, alone or beside a text: the calls' schemas and the language of the text come in; one
//! grammar goes out, for servers that take a grammar and nothing else at once.

use super::content::Contents;
use super::convert::{Converted, Difference};
use super::gbnf::{Expr, Gbnf, GbnfRule};
use super::{GrammarFault, choice, json as schema, lark, regex};
use crate::ir::{Begin, Constraint, Notation, Thoughts};
use serde_json::json;

/// A call's number, as a regex that every dialect of them reads alike.
pub const CALL_NUMBER: &str = "(0|[1-9][0-9]?)";

/// One tool's calls: a text, perhaps a number and a text, JSON of a schema or what stands in its place, a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TaggedCall<'a> {
    /// What stands before the JSON, or the number.
    pub begin: &'a str,
    /// What stands between [a number](CALL_NUMBER) and the JSON, where calls have one.
    pub numbered: Option<&'a str>,
    /// The JSON.
    pub schema: &'a serde_json::Value,
    /// What stands in the place of the JSON: the format of a structural tag, whose schemas are the whole one's parts.
    pub content: Option<&'a serde_json::Value>,
    /// What stands after it.
    pub end: &'a str,
}

/// A union's grammar.
#[derive(Debug, Clone, PartialEq)]
pub struct Union {
    /// The grammar.
    pub constraint: Constraint,
    /// How it differs, each with the call that it is about; `None` for the text.
    pub differences: Vec<(Option<usize>, Difference)>,
}

/// A grammar of thoughts and what follows them.
#[derive(Debug, Clone, PartialEq)]
pub struct AfterThoughts {
    /// The grammar.
    pub constraint: Constraint,
    /// How it differs.
    pub differences: Vec<Difference>,
}

/// A grammar of the kind that [`Constraint::kind`] calls `kind`: any text in which calls stand, none
/// of which begins but with `trigger`, which every call begins with. After the first call the text
/// ends where there may be but one.
///
/// # Errors
/// What cannot be said in a grammar.
pub fn text_with_calls(
    calls: &[TaggedCall<'_>],
    trigger: &str,
    is_one: bool,
    kind: &str,
) -> Result<Union, GrammarFault> {
    let mut builder = Builder::new();
    let rest = |call: &TaggedCall<'_>| call.begin.strip_prefix(trigger).map(str::to_owned);
    let Some(begins) = calls.iter().map(rest).collect::<Option<Vec<_>>>() else {
        return Err(GrammarFault::invalid("a call does not begin with its tag"));
    };
    builder.calls(calls, &begins)?;
    let call = Expr::Rule(CALL.to_owned());
    let after = match is_one {
        true => call,
        false => Expr::Sequence(vec![call, Expr::Rule(Gbnf::ROOT.to_owned())]),
    };
    builder.text_up_to(Gbnf::ROOT, trigger, after, false);
    print(builder, kind)
}

/// A grammar of the kind that [`Constraint::kind`] calls `kind`: calls, of which the second and
/// every later one begin a line where there may be several, or a text that satisfies the
/// constraint.
///
/// # Errors
/// What cannot be said in a grammar.
pub fn calls_or_text(
    calls: &[TaggedCall<'_>],
    is_one: bool,
    text: &Constraint,
    kind: &str,
) -> Result<Union, GrammarFault> {
    let mut builder = Builder::new();
    let begins: Vec<String> = calls.iter().map(|call| call.begin.to_owned()).collect();
    builder.calls(calls, &begins)?;
    let (own, found) = language(text)?;
    builder.differ(None, found);
    let text = builder.adopt(own, "text");
    let call = || Expr::Rule(CALL.to_owned());
    let next = Expr::Sequence(vec![Expr::Literal("\n".to_owned()), call()]);
    let calls = match is_one {
        true => call(),
        false => Expr::Sequence(vec![call(), next.repeat(0, None)]),
    };
    builder.root(Expr::Choice(vec![calls, text]));
    print(builder, kind)
}

/// A grammar of the kind that [`Constraint::kind`] calls `kind`: calls and nothing else but the texts of `block`, which stand
/// before the first call, between two, and after the last.
///
/// # Errors
/// What cannot be said in a grammar.
pub fn calls_alone(
    calls: &[TaggedCall<'_>],
    is_one: bool,
    [open, between, close]: [&str; 3],
    kind: &str,
) -> Result<Union, GrammarFault> {
    let mut builder = Builder::new();
    let begins: Vec<String> = calls.iter().map(|call| call.begin.to_owned()).collect();
    builder.calls(calls, &begins)?;
    let call = || Expr::Rule(CALL.to_owned());
    let text = |text: &str| Expr::Literal(text.to_owned());
    let mut parts = vec![text(open), call()];
    if !is_one {
        parts.push(Expr::Sequence(vec![text(between), call()]).repeat(0, None));
    }
    parts.push(text(close));
    parts.retain(|part| !matches!(part, Expr::Literal(text) if text.is_empty()));
    builder.root(Expr::Sequence(parts));
    print(builder, kind)
}

/// A grammar of the kind that [`Constraint::kind`] calls `kind`: thoughts and then a text that satisfies the constraint,
/// with at most one empty line between them. Where the prompt does not open the thoughts, there may be none.
///
/// # Errors
/// What cannot be said in a grammar.
pub fn after_thoughts(
    thoughts: &Thoughts,
    text: &Constraint,
    kind: &str,
) -> Result<AfterThoughts, GrammarFault> {
    let mut builder = Builder::new();
    let (own, found) = language(text)?;
    builder.differ(None, found);
    let text = builder.adopt(own, "text");
    let lines = Expr::Literal("\n".to_owned()).repeat(0, Some(2));
    builder.text_up_to(THOUGHT, &thoughts.close, lines, true);
    let thought = Expr::Rule(THOUGHT.to_owned());
    let block = match thoughts.begin {
        Begin::Inside => thought,
        Begin::Before | Begin::Perhaps => {
            Expr::Sequence(vec![Expr::Literal(thoughts.open.clone()), thought]).optional()
        }
    };
    builder.root(Expr::Sequence(vec![block, text]));
    let Union {
        constraint,
        differences,
    } = print(builder, kind)?;
    let differences = differences.into_iter().map(|(_, found)| found).collect();
    Ok(AfterThoughts {
        constraint,
        differences,
    })
}

/// The rule of a thought, up to its end.
const THOUGHT: &str = "thought";

/// The rule of any one call.
const CALL: &str = "call";

/// A grammar while it is put together.
pub(super) struct Builder {
    rules: Vec<GbnfRule>,
    differences: Vec<(Option<usize>, Difference)>,
    /// The rules of texts without some others in them, by those.
    pub(super) texts: Vec<(Vec<String>, String)>,
}

impl Builder {
    fn new() -> Self {
        let mut builder = Self {
            rules: Vec::new(),
            differences: Vec::new(),
            texts: Vec::new(),
        };
        // People read from the root.
        builder.define(Gbnf::ROOT, Expr::empty());
        builder
    }

    pub(super) fn define(&mut self, name: &str, body: Expr) {
        self.rules.push(GbnfRule {
            name: name.to_owned(),
            body,
            line: 1,
        });
    }

    pub(super) fn root(&mut self, body: Expr) {
        if let Some(root) = self.rules.first_mut() {
            root.body = body;
        }
    }

    fn differ(&mut self, call: Option<usize>, found: Vec<Difference>) {
        self.differences
            .extend(found.into_iter().map(|difference| (call, difference)));
    }

    /// Any of the calls, each with what stands before its JSON.
    fn calls(&mut self, calls: &[TaggedCall<'_>], begins: &[String]) -> Result<(), GrammarFault> {
        let mut any = Vec::new();
        for (index, (call, begin)) in calls.iter().zip(begins).enumerate() {
            let owner = format!("{CALL}{index}");
            let lowered = schema::to_gbnf(call.schema)?;
            self.differ(Some(index), lowered.differences);
            let input = match call.content {
                Some(content) => Contents::new(self, &owner).of(content)?,
                None => self.adopt(lowered.gbnf, &owner),
            };
            let mut parts = vec![Expr::Literal(begin.clone())];
            if let Some(behind) = call.numbered {
                parts.push(regex::to_expr(CALL_NUMBER)?);
                parts.push(Expr::Literal(behind.to_owned()));
            }
            parts.extend([input, Expr::Literal(call.end.to_owned())]);
            any.push(Expr::Sequence(parts));
        }
        self.define(CALL, Expr::Choice(any).flat());
        Ok(())
    }

    /// Takes a grammar's rules over under names of their own; what stands for its texts comes back.
    pub(super) fn adopt(&mut self, gbnf: Gbnf, owner: &str) -> Expr {
        let renamed = |name: &str| format!("{owner}-{name}");
        for mut rule in gbnf.rules {
            rule.body.visit_mut(&mut |expr| {
                if let Expr::Rule(name) = expr {
                    *name = renamed(name);
                }
            });
            self.define(&renamed(&rule.name), rule.body);
        }
        Expr::Rule(renamed(Gbnf::ROOT))
    }
}

fn print(builder: Builder, kind: &str) -> Result<Union, GrammarFault> {
    let Builder {
        rules,
        mut differences,
        ..
    } = builder;
    let gbnf = Gbnf { rules };
    let converted = match kind {
        "grammar:gbnf" => Converted::gbnf(gbnf.print()?),
        "grammar:lark" => Converted::lark(lark::of_gbnf(&gbnf)?),
        other => {
            return Err(GrammarFault::unsupported(format!(
                "calls between tags cannot be written as {other}"
            )));
        }
    };
    differences.extend(converted.differences.into_iter().map(|found| (None, found)));
    Ok(Union {
        constraint: converted.constraint,
        differences,
    })
}

/// The texts of a constraint as rules.
fn language(constraint: &Constraint) -> Result<(Gbnf, Vec<Difference>), GrammarFault> {
    Ok(match constraint {
        Constraint::Regex(text) => (regex::to_rules(text)?, Vec::new()),
        Constraint::Choice(choices) => (choice::to_gbnf(choices), Vec::new()),
        Constraint::Grammar {
            notation: Notation::Gbnf,
            text,
        } => (Gbnf::read(text)?, Vec::new()),
        Constraint::Grammar {
            notation: Notation::Lark,
            text,
        } => {
            let lowered = lark::to_gbnf(text)?;
            let differs = |is_wider, reason: Option<String>| {
                reason.map(|reason| Difference {
                    pointer: String::new(),
                    reason,
                    is_wider,
                })
            };
            let found = [
                differs(true, lowered.wider),
                differs(false, lowered.narrower),
            ];
            (lowered.gbnf, found.into_iter().flatten().collect())
        }
        Constraint::JsonSchema(value) => {
            let lowered = schema::to_gbnf(value)?;
            (lowered.gbnf, lowered.differences)
        }
        Constraint::JsonObject => {
            let lowered = schema::to_gbnf(&json!({"type": "object"}))?;
            (lowered.gbnf, lowered.differences)
        }
        Constraint::StructuralTag(_) => {
            return Err(GrammarFault::unsupported(
                "a structural tag cannot be written as a grammar",
            ));
        }
    })
}
