//! What is promised of what is remembered: the same as if it were not, and no more than fits.

use super::MemoCache;
use isogloss_core::grammar::{self, TaggedCall};
use isogloss_core::ir::Constraint;
use isogloss_core::rewrite::{Around, ForServer, Memo};
use isogloss_core::rules::RuleSet;
use serde_json::json;

#[test]
fn what_is_asked_again_is_worked_out_once_and_is_the_same() {
    let memo = MemoCache::new(100, 1 << 20);
    let set = RuleSet::builtin();
    let (one, other) = (
        set.profile("xgrammar").unwrap(),
        set.profile("llguidance").unwrap(),
    );
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}, "not": {}});
    for _ in 0..3 {
        for profile in [one, other] {
            assert_eq!(
                *memo.lower(&schema, profile),
                ForServer::of(&schema, profile)
            );
        }
    }
    assert_eq!((memo.stats().misses, memo.stats().hits), (2, 4));
    // The order of keys is the order of generation.
    let first = json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["c"]});
    let last = json!({"type": "object", "properties": {"b": {}, "a": {}}, "required": ["c"]});
    let text = |schema| memo.lower(schema, one).schema.as_ref().unwrap().to_string();
    assert_ne!(text(&first), text(&last));
    let regex = Constraint::Regex("[0-9]+".to_owned());
    let asked = || memo.convert(&regex, "grammar:gbnf").unwrap();
    assert_eq!(*asked(), grammar::convert(&regex, "grammar:gbnf").unwrap());
    assert_eq!(asked(), asked());
    assert_ne!(asked(), memo.convert(&regex, "grammar:lark").unwrap());
    let broken = Constraint::Regex("(".to_owned());
    assert_eq!(
        memo.convert(&broken, "grammar:gbnf").unwrap_err(),
        memo.convert(&broken, "grammar:gbnf").unwrap_err()
    );
}

#[test]
fn unions_that_differ_in_anything_are_others() {
    let memo = MemoCache::new(100, 1 << 20);
    let (schema, answer) = (json!({}), Constraint::Regex("a".to_owned()));
    let call = |begin| TaggedCall {
        begin,
        numbered: None,
        schema: &schema,
        content: None,
        end: "}",
    };
    let nth = TaggedCall {
        numbered: Some("="),
        ..call("<call>{\"f\": ")
    };
    let (f, g) = (call("<call>{\"f\": "), call("<call>{\"g\": "));
    type Case<'a> = (
        &'a [TaggedCall<'a>],
        bool,
        Around<&'a str, &'a Constraint>,
        &'a str,
    );
    let block = |between| Around::Block {
        open: "[",
        between,
        close: "]",
    };
    let cases: [Case<'_>; 8] = [
        (&[f], false, Around::Text("<call>"), "grammar:gbnf"),
        (&[g], false, Around::Text("<call>"), "grammar:gbnf"),
        (&[f], true, Around::Text("<call>"), "grammar:gbnf"),
        (&[f], true, Around::Answer(&answer), "grammar:gbnf"),
        (&[f], true, Around::Answer(&answer), "grammar:lark"),
        (&[f], false, block(", "), "grammar:gbnf"),
        (&[f], false, block("; "), "grammar:gbnf"),
        (&[nth], false, block("; "), "grammar:gbnf"),
    ];
    for round in 0..2 {
        for (calls, is_one, around, kind) in &cases {
            let asked = memo.union(calls, *is_one, around, kind).unwrap();
            assert_eq!(*asked, super::unite(calls, *is_one, around, kind).unwrap());
        }
        let stats = memo.stats();
        assert_eq!((stats.misses, stats.hits), (8, 8 * round));
    }
}

#[test]
fn it_keeps_no_more_than_its_bounds_and_nothing_where_it_is_none() {
    let set = RuleSet::builtin();
    let profile = set.profile("xgrammar").unwrap();
    let memo = MemoCache::new(3, 1 << 20);
    for n in 0..10 {
        let _ = memo.lower(&json!({"const": n}), profile);
    }
    assert_eq!((memo.stats().entries, memo.stats().evictions), (3, 7));
    let small = MemoCache::new(100, 200);
    for n in 0..10 {
        let _ = small.lower(&json!({"const": n}), profile);
    }
    assert!(small.stats().bytes <= 200);
    let none = MemoCache::new(0, 0);
    let _ = none.lower(&json!({"const": 1}), profile);
    let deep = (0..500).fold(json!(0), |inner, _| json!([inner]));
    let _ = memo.lower(&json!({ "const": deep }), profile);
    assert_eq!((none.stats().misses, memo.stats().entries), (0, 3));
}
