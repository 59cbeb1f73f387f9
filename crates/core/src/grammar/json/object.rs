//! Objects as rules: properties in their order, then those that the schema does not name.

use super::{Compiler, Lowering, literal, text};
use crate::grammar::GrammarFault;
use crate::grammar::gbnf::Expr;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Characters of names that a key is told from one by one.
const MAX_NAMES: usize = 4_000;
/// Characters of a name that stand in one rule.
const MAX_CHAIN: usize = 16;

/// A property that is written.
struct Property {
    pair: Expr,
    is_required: bool,
}

impl Compiler<'_> {
    pub(super) fn object(&mut self, map: &Map<String, Value>, pointer: &str) -> Lowering {
        let empty = Map::new();
        let declared = map
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let additional = map.get("additionalProperties");
        let has_patterns = map.contains_key("patternProperties");
        let others = match additional {
            // Keys of a pattern may have another schema: they are any.
            _ if has_patterns => Some(self.any()),
            Some(schema) => self.schema(schema, &format!("{pointer}/additionalProperties"))?,
            None => Some(self.any()),
        };
        let mut properties = Vec::new();
        for (name, schema) in declared {
            let at = format!(
                "{pointer}/properties/{}",
                name.replace('~', "~0").replace('/', "~1")
            );
            let is_required = required.contains(&name.as_str());
            match self.schema(schema, &at)? {
                Some(value) => {
                    let pair =
                        self.pair(Expr::Literal(format!("\"{}\"", text::escaped(name))), value);
                    properties.push(Property { pair, is_required });
                }
                None if is_required => return Ok(None),
                None => {}
            }
        }
        for name in required
            .iter()
            .filter(|&&name| !declared.contains_key(name))
        {
            let Some(value) = others.clone() else {
                return Ok(None);
            };
            let pair = self.pair(Expr::Literal(format!("\"{}\"", text::escaped(name))), value);
            properties.push(Property {
                pair,
                is_required: true,
            });
        }
        let names = declared.keys().map(String::as_str).chain(required);
        let others = match others {
            Some(value) => Some(self.others(names.collect(), value, pointer)?),
            None => None,
        };
        Ok(Some(self.members(properties, others)))
    }

    pub(super) fn any_object(&mut self) -> Expr {
        let value = self.any();
        let key = self.share("string", |_| text::string());
        let pair = self.pair(key, value);
        let pair = self.rule("pair", pair);
        self.members(Vec::new(), Some(pair))
    }

    fn pair(&mut self, key: Expr, value: Expr) -> Expr {
        Expr::Sequence(vec![key, self.colon(), value])
    }

    /// A pair whose key is none of the names.
    fn others(
        &mut self,
        names: Vec<&str>,
        value: Expr,
        pointer: &str,
    ) -> Result<Expr, GrammarFault> {
        let size: usize = names.iter().map(|name| name.len()).sum();
        let key = if names.is_empty() {
            self.share("string", |_| text::string())
        } else if size > MAX_NAMES {
            // A named property may come once more, with any value of the others.
            self.lose(pointer, "additionalProperties");
            self.share("string", |_| text::string())
        } else {
            let mut trie = Trie::default();
            names.iter().for_each(|name| trie.insert(name.chars()));
            let rest = self.share("key-rest", |_| text::anything());
            let quote = literal("\"");
            Expr::Sequence(vec![quote.clone(), self.key(&trie, &rest, 0), quote])
        };
        let pair = self.pair(key, value);
        Ok(self.rule("other", pair))
    }

    /// Texts that are not in the trie.
    fn key(&mut self, trie: &Trie, rest: &Expr, depth: usize) -> Expr {
        let mut other = ClassUnicode::new(trie.next.keys().map(|&c| ClassUnicodeRange::new(c, c)));
        other.negate();
        let escape = self.share("escape", |_| text::escapes());
        let other = text::spelled_with(&other, || escape);
        let mut ways = vec![Expr::Sequence(vec![other, rest.clone()])];
        for (c, next) in &trie.next {
            let mut tail = self.key(next, rest, depth + 1);
            if depth % MAX_CHAIN == MAX_CHAIN - 1 {
                tail = self.rule("key", tail);
            }
            ways.push(Expr::Sequence(vec![
                Expr::Literal(text::escaped(&c.to_string())),
                tail,
            ]));
        }
        let some = Expr::Choice(ways);
        if trie.is_end { some } else { some.optional() }
    }

    fn members(&mut self, properties: Vec<Property>, others: Option<Expr>) -> Expr {
        let comma = self.comma();
        // What may follow a member, and what may come first.
        let (mut rest, mut first) = match others {
            Some(pair) => {
                let more = Expr::Sequence(vec![comma.clone(), pair.clone()]).repeat(0, None);
                let some = Expr::Sequence(vec![pair, more.clone()]);
                (more, some.optional())
            }
            None => (Expr::empty(), Expr::empty()),
        };
        let mut properties = properties;
        while let Some(Property { pair, is_required }) = properties.pop() {
            // Whether this may be the first although it is not needed: then what follows it, and
            // the pair itself, stand in two places.
            let is_leading = properties.iter().all(|before| !before.is_required);
            let is_twice = is_leading && !properties.is_empty();
            let pair = if is_twice {
                self.rule("pair", pair)
            } else {
                pair
            };
            if is_twice && rest != Expr::empty() {
                rest = self.rule("rest", rest);
            }
            let begin = Expr::Sequence(vec![pair.clone(), rest.clone()]);
            first = match (is_leading, is_required) {
                (true, true) => begin,
                (true, false) => Expr::Choice(vec![begin, first]),
                (false, _) => first,
            };
            let again = Expr::Sequence(vec![comma.clone(), pair]);
            let again = if is_required { again } else { again.optional() };
            rest = Expr::Sequence(vec![again, rest]);
        }
        let space = self.space();
        let (open, close) = (literal("{"), literal("}"));
        Expr::Sequence(vec![open, space.clone(), first, space, close])
    }
}

/// Names by their characters.
#[derive(Default)]
struct Trie {
    next: BTreeMap<char, Self>,
    is_end: bool,
}

impl Trie {
    fn insert(&mut self, mut name: std::str::Chars<'_>) {
        match name.next() {
            Some(c) => self.next.entry(c).or_default().insert(name),
            None => self.is_end = true,
        }
    }
}
