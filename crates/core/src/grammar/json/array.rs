//! Arrays as rules: the items of a tuple, then those of a list, within their bounds.

use super::{Compiler, Lowering, literal};
use crate::grammar::gbnf::Expr;
use serde_json::{Map, Value};

/// Items of a tuple that are written.
const MAX_TUPLE: usize = 40;

impl Compiler<'_> {
    pub(super) fn array(&mut self, map: &Map<String, Value>, pointer: &str) -> Lowering {
        let (prefix, items, keyword) = match (map.get("prefixItems"), map.get("items")) {
            (Some(Value::Array(prefix)), items) => (prefix.as_slice(), items, "prefixItems"),
            (_, Some(Value::Array(prefix))) => {
                (prefix.as_slice(), map.get("additionalItems"), "items")
            }
            (_, items) => (&[][..], items, "items"),
        };
        if prefix.len() > MAX_TUPLE {
            self.lose(pointer, keyword);
            return Ok(Some(self.any_array()));
        }
        let at_most = |count: u64| u32::try_from(count).ok().filter(|&count| count <= 1_999);
        let bound = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
        let mut bounds = [0, u32::MAX];
        for (index, keyword) in ["minItems", "maxItems"].into_iter().enumerate() {
            match bound(keyword).map(|bound| at_most(bound as u64)) {
                Some(Some(bound)) => bounds[index] = bound,
                Some(None) => self.lose(pointer, keyword),
                None => {}
            }
        }
        let [min, max] = bounds;
        let mut heads = Vec::new();
        for (index, item) in prefix.iter().enumerate() {
            match self.schema(item, &format!("{pointer}/{keyword}/{index}"))? {
                Some(item) => heads.push(item),
                None => break,
            }
        }
        let is_cut = heads.len() < prefix.len();
        let rest = match items {
            _ if is_cut => None,
            Some(items) => self.schema(items, &format!("{pointer}/items"))?,
            None => Some(self.any()),
        };
        Ok(self.list(heads, rest, min, max))
    }

    /// `None` where so many items are not possible.
    fn list(&mut self, heads: Vec<Expr>, rest: Option<Expr>, min: u32, max: u32) -> Option<Expr> {
        let count = u32::try_from(heads.len()).unwrap_or(u32::MAX);
        if min > max || rest.is_none() && min > count {
            return None;
        }
        let comma = self.comma();
        let left = max.saturating_sub(count);
        let mut tail = match rest {
            Some(rest) if left > 0 => {
                let rest = self.rule("item", rest.flat());
                let most = |most: u32| (max != u32::MAX).then_some(most);
                let again = Expr::Sequence(vec![comma.clone(), rest.clone()]);
                let needed = min.saturating_sub(count);
                if count > 0 {
                    again.repeat(needed, most(left))
                } else {
                    let again = again.repeat(needed.saturating_sub(1), most(left - 1));
                    let some = Expr::Sequence(vec![rest, again]);
                    if needed == 0 { some.optional() } else { some }
                }
            }
            _ => Expr::empty(),
        };
        for (index, head) in heads.into_iter().enumerate().rev() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            if index >= max {
                continue;
            }
            let comma = if index == 0 {
                Expr::empty()
            } else {
                comma.clone()
            };
            tail = Expr::Sequence(vec![comma, head, tail]);
            if index >= min {
                tail = tail.optional();
            }
        }
        let space = self.space();
        let (open, close) = (literal("["), literal("]"));
        Some(Expr::Sequence(vec![
            open,
            space.clone(),
            tail,
            space,
            close,
        ]))
    }

    pub(super) fn any_array(&mut self) -> Expr {
        let value = self.any();
        let array = self.list(Vec::new(), Some(value), 0, u32::MAX);
        array.unwrap_or_else(Expr::empty)
    }
}
