//! Constraints that clients write by hand, at random: regexes, grammars, choices and structural tags come in; what a mindless
//! model answers under them goes out. What begins with a way to its end is whole, and what cannot be that short is refused.

use crate::support::mindless::{Mindless, Rig, demand, needed};
use isogloss_compile::{Compiler, CompilerLimits};
use isogloss_core::check::Check;
use isogloss_core::error::Side;
use isogloss_core::ir::{Constraint, Notation};
use isogloss_worker::job::Finish;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Constraints of each kind; `WRITTEN=N` takes N.
const FEW: u64 = 25;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn regex(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .of(&[
                    "a", "no", "Yes", "[a-z]", "[0-9]", "[^x\\n]", "\\.", "the end", " ",
                ])
                .to_owned();
        }
        let one = self.regex(depth - 1);
        match self.below(7) {
            0 => format!("({one}|{})", self.regex(depth - 1)),
            1 => format!("({one})*{}", self.regex(depth - 1)),
            2 => format!("({one})+"),
            3 => format!("({one})?{}", self.regex(depth - 1)),
            4 => {
                let least = self.below(9);
                format!("({one}){{{least},{}}}", least + self.below(30))
            }
            _ => format!("{one}{}", self.regex(depth - 1)),
        }
    }

    fn choice(&mut self) -> Vec<String> {
        let count = 1 + self.below(6);
        let choice = |number: usize, dice: &mut Self| {
            let words = 1 + dice.below(20);
            let words = (0..words).map(|_| dice.of(&["to", "be ", "or ", "NOT", "éa", "7"]));
            format!("{number}{}", words.collect::<String>())
        };
        (0..count).map(|number| choice(number, self)).collect()
    }

    /// Rules that refer to one another; each has an alternative that refers to none.
    fn gbnf(&mut self) -> String {
        let names = ["root", "one", "two", "three"];
        let mut text = String::new();
        for name in names {
            let _ = write!(text, "{name} ::= ");
            for _ in 0..1 + self.below(3) {
                for _ in 0..1 + self.below(3) {
                    // A rule is not repeated, which would be more ambiguous still.
                    let (part, often) = match self.below(3) {
                        0 => (
                            self.of(&["\"(\"", "\"end \"", "[a-z]", "[0-9]+ \";\"", "\"é\""]),
                            self.of(&["", "?", "*", "+", "{2,5}"]),
                        ),
                        _ => (self.of(&names[1..]), ""),
                    };
                    let _ = write!(text, "{part}{often} ");
                }
                text += "| ";
            }
            let _ = writeln!(text, "\"<{name}>\"");
        }
        text
    }

    /// What llguidance's own notation has beside rules and terminals.
    fn lark(&mut self) -> String {
        let word = self.of(&["/[a-z]+/", "/[a-z ]+/", "/[0-9]{3,}/", "/(?s:.*)/"]);
        let bound = 1 + self.below(40);
        let after = self.of(&["\"END\"", "\"\\n\" /[A-Z]{12}/", "(\"x\" | \"END OF IT\")"]);
        let own = match self.below(4) {
            0 => format!("word[max_tokens={bound}]: {word}"),
            1 => format!("word[stop=\"STOP\"]: {word}"),
            2 => format!("word[suffix=\".\"]: {word}"),
            _ => format!("word[stop=/[;.]/, max_tokens={bound}]: {word}"),
        };
        let body = self.of(&[
            "word AFTER",
            "(word AFTER)+",
            "\"<\" word \">\" AFTER",
            "AFTER word",
        ]);
        format!("start: {body}\n{own}\nAFTER: {after}\n")
    }

    fn format(&mut self, depth: usize) -> Value {
        let schema = json!({"type": "object", "properties": {"it": {"type": "array", "items": {"type": "string"}}}, "required": ["it"], "additionalProperties": false});
        let tag = |dice: &mut Self, name: &str| json!({"type": "tag", "begin": format!("<{name}>"), "content": dice.format(depth.saturating_sub(1)), "end": format!("</{name}>")});
        match self.below(if depth == 0 { 4 } else { 9 }) {
            0 | 1 => json!({"type": "json_schema", "json_schema": schema}),
            2 => {
                json!({"type": "const_string", "value": self.of(&["so", "a text that is rather long"])})
            }
            3 => json!({"type": "regex", "pattern": self.of(&["[a-z]+;", "[0-9]{4,}!", "(ab)*c"])}),
            4 => {
                let parts = [self.format(depth - 1), self.format(depth - 1)];
                json!({"type": "sequence", "elements": parts})
            }
            5 => {
                let parts = [self.format(depth - 1), tag(self, "other")];
                json!({"type": "or", "elements": parts})
            }
            6 => {
                let tags = [tag(self, "one"), tag(self, "two")];
                json!({"type": "tags_with_separator", "tags": tags, "separator": ", ", "at_least_one": true})
            }
            7 => {
                let tags = [tag(self, "one"), tag(self, "two")];
                json!({"type": "triggered_tags", "triggers": ["<one>", "<two>"], "tags": tags, "at_least_one": true, "stop_after_first": true})
            }
            _ => tag(self, "tag"),
        }
    }

    fn constraint(&mut self, kind: &str) -> Constraint {
        match kind {
            "regex" => Constraint::Regex(self.regex(3)),
            "choice" => Constraint::Choice(self.choice()),
            "gbnf" => Constraint::Grammar {
                notation: Notation::Gbnf,
                text: self.gbnf(),
            },
            "lark" => Constraint::Grammar {
                notation: Notation::Lark,
                text: self.lark(),
            },
            _ => {
                let depth = self.below(3);
                Constraint::StructuralTag(
                    json!({"type": "structural_tag", "format": self.format(depth)}),
                )
            }
        }
    }
}

#[derive(Debug, Default)]
struct Count {
    whole: u32,
    steered: u32,
    refused: u32,
    unsupported: u32,
    unplanned: u32,
    /// Of those that began without a way to their end.
    cut: u32,
}

/// Each letter of a token opens something that takes many tokens to close.
#[tokio::test(flavor = "multi_thread")]
async fn what_opens_much_at_once_is_closed_in_time() {
    let rig = Rig::new(Mindless::default());
    let text = "root ::= [a-z] root root \"end of it;\" | \"<none>\"";
    let demand = demand(Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    });
    for seed in 0..4 {
        for limit in [90, 300, 900] {
            let answer = rig.ask(&demand, seed, limit, None).await.unwrap();
            assert_eq!(answer.reason, Finish::Stop, "{limit}: {answer:?}");
            assert!(rig.takes(&demand, &answer.text).await, "{answer:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_begins_with_a_way_to_its_end_is_whole_whatever_the_client_wrote() {
    let rig = Rig::new(Mindless {
        reluctance: 6.0,
        context: 1 << 11,
        ..Mindless::default()
    });
    let count = std::env::var("WRITTEN").ok();
    let count = count.map_or(FEW, |count| count.parse().unwrap());
    let compiler = Compiler::new(CompilerLimits::default());
    let mut counts = BTreeMap::<&str, Count>::new();
    let mut wrong = Vec::new();
    for kind in ["regex", "choice", "gbnf", "lark", "tags"] {
        for seed in 0..count {
            let mut dice = Dice(seed * 7 + kind.len() as u64);
            let constraint = dice.constraint(kind);
            let Ok(check) = compiler.compile(&constraint).await else {
                counts.entry(kind).or_default().unsupported += 1;
                continue;
            };
            let demand = demand(constraint.clone());
            let limit = [4, 16, 40, 90][dice.below(4)];
            let count = counts.entry(kind).or_default();
            let answer = match rig.ask(&demand, seed, limit, None).await {
                Err(error) => match needed(&error) {
                    Some(needs) => {
                        count.refused += 1;
                        let what = format!("{limit} < {needs} of {constraint:?}");
                        assert!(needs > limit, "{what}");
                        rig.ask(&demand, seed, needs, None).await.expect(&what)
                    }
                    None => {
                        assert_eq!(error.kind.side(), Side::Client, "{error:?}: {constraint:?}");
                        count.unsupported += 1;
                        continue;
                    }
                },
                Ok(answer) => {
                    assert!(answer.usage.completion <= limit);
                    answer
                }
            };
            count.unplanned += answer.usage.unplanned;
            count.steered += u32::from(answer.usage.steered > 0);
            let is_right = match &check {
                // Verification gives up some that are very ambiguous.
                Check::Text(grammar) => {
                    grammar.check(&answer.text).is_ok() || rig.takes(&demand, &answer.text).await
                }
                Check::Tag(tags) => tags.check(&answer.text).is_ok(),
                _ => unreachable!("{kind}"),
            };
            // What was whole and went on is cut as free text is.
            match answer.reason == Finish::Stop || is_right {
                true if is_right => count.whole += 1,
                false if answer.usage.unplanned > 0 => {
                    println!("cut: {constraint:?}");
                    count.cut += 1;
                }
                _ => wrong.push(format!("{limit}: {answer:?} of {constraint:?}")),
            }
        }
    }
    println!("{counts:#?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
    for (kind, count) in &counts {
        assert!(count.whole > 0, "{kind}: {count:?}");
        // Only where what may come next is not for the bytes alone to say.
        assert!(*kind == "lark" || count.unplanned == 0, "{kind}: {count:?}");
    }
    assert!(counts.values().any(|count| count.steered > 0));
    let sum = |of: fn(&Count) -> u32| u64::from(counts.values().map(of).sum::<u32>());
    let stats = rig.engine.stats();
    assert_eq!(stats.unplanned, sum(|count| count.unplanned));
    assert_eq!(stats.cut, sum(|count| count.cut));
    assert!(
        stats.unplanned > 0,
        "none of them asks for what is not followed"
    );
}
