//! Grammars in Lark, each with a pattern that says the same, which the judge goes by.

use super::demands::{Calls, Demand, Takes, Tool, Want, choice_name, function, stated};
use serde_json::json;

/// A language told twice: in Lark, and as a pattern; with some texts of it.
#[derive(Debug)]
pub struct Lark {
    pub grammar: &'static str,
    pub pattern: &'static str,
    pub texts: &'static [&'static str],
}

const ANSWER: Lark = Lark {
    grammar: "start: (\"yes\" | \"no\") \" \" COUNT\nCOUNT: /[0-9]+/\n",
    pattern: "(yes|no) [0-9]+",
    texts: &["yes 1", "no 42", "yes 007"],
};
const LIST: Lark = Lark {
    grammar: "start: word (\",\" word)*\nword: WORD\nWORD: /[a-z]{2,4}/\n",
    pattern: "[a-z]{2,4}(,[a-z]{2,4})*",
    texts: &["ab", "abcd,xy", "no,no,no"],
};
const SWITCH: Lark = Lark {
    grammar: "start: KEY \"=\" value\nKEY: /[A-Zäß日]+/\nvalue: \"on\" | \"off\" |\n",
    pattern: "[A-Zäß日]+=(on|off)?",
    texts: &["A=on", "日ß=off", "äX="],
};
const SUM: Lark = Lark {
    grammar: "start: NUM (OP NUM)*\nNUM: /[0-9]+/\nOP: \"+\" | \"-\" | \"*\"\n",
    pattern: "[0-9]+([+*-][0-9]+)*",
    texts: &["1", "2+2", "10*3-007"],
};
const TAGGED: Lark = Lark {
    grammar: "start: \"<\" NAME \">\" /[^<>]*/ \"</\" NAME \">\"\nNAME: \"b\" | \"em\"\n",
    pattern: "<(b|em)>[^<>]*</(b|em)>",
    texts: &["<b></b>", "<em>x y</em>", "<b>\"日\"</em>"],
};

/// Grammars in Lark, in every place that takes them.
pub fn demands() -> Vec<Demand> {
    let of = |lark: &'static Lark| Want::Pattern(lark.pattern, lark.texts);
    let all = [
        (
            "answer",
            &ANSWER,
            json!({"structured_outputs": {"grammar": ANSWER.grammar}}),
        ),
        ("list", &LIST, json!({"guided_grammar": LIST.grammar})),
        (
            "switch",
            &SWITCH,
            json!({"response_format": {"type": "lark", "lark": SWITCH.grammar}}),
        ),
        (
            "tagged",
            &TAGGED,
            json!({"grammar": {"type": "lark", "value": TAGGED.grammar}}),
        ),
        (
            "sum",
            &SUM,
            json!({"response_format": {"type": "grammar", "grammar": SUM.grammar}}),
        ),
    ];
    let mut all: Vec<Demand> = all
        .into_iter()
        .map(|(name, lark, fields)| Demand::new(format!("lark {name}"), fields).wanting(of(lark)))
        .collect();
    let tool = |name: &'static str, lark: &'static Lark| Tool {
        name,
        takes: Takes::Lark(lark),
    };
    let (sum, list, g) = (tool("sum", &SUM), tool("list", &LIST), function("g", "age"));
    for (name, calls, set) in [
        ("one", Calls::Required, vec![&sum]),
        ("two", Calls::Required, vec![&sum, &list]),
        ("mixed", Calls::Required, vec![&list, &g]),
        ("mixed", Calls::Optional, vec![&g, &sum]),
    ] {
        let word = choice_name(calls);
        let fields = json!({"tools": stated(&set), "tool_choice": word});
        all.push(Demand::new(format!("{word} lark tools {name}"), fields).calling(calls, &set));
    }
    let fields = json!({"tools": stated(&[&g]), "tool_choice": "auto",
        "structured_outputs": {"grammar": ANSWER.grammar}});
    all.push(
        Demand::new("auto with lark answer", fields)
            .calling(Calls::Optional, &[&g])
            .wanting(of(&ANSWER)),
    );
    all
}
