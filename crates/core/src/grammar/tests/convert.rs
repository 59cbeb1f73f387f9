//! What is promised of conversions: the same texts on both sides, or a difference that is told.

use super::{gbnf, lark_text, rx};
use crate::error::Kind;
use crate::grammar::{Converted, Grammar, GrammarFault, convert, in_plain_words};
use crate::ir::{Constraint, Notation};
use serde_json::json;

mod words;

fn lark(text: &str) -> Constraint {
    Constraint::Grammar {
        notation: Notation::Lark,
        text: text.to_owned(),
    }
}

fn to_gbnf(text: &str) -> Result<Converted, GrammarFault> {
    convert(&lark(text), "grammar:gbnf")
}

fn text_of(converted: &Converted) -> &str {
    match &converted.constraint {
        Constraint::Grammar { text, .. } | Constraint::Regex(text) => text,
        other => panic!("{other:?}"),
    }
}

/// Every text of up to `length` of these characters.
fn texts(alphabet: &str, length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut begin = 0;
    for _ in 0..length {
        let end = all.len();
        for at in begin..end {
            for c in alphabet.chars() {
                all.push(format!("{}{c}", all[at]));
            }
        }
        begin = end;
    }
    all
}

/// Checks both sides on texts; what is not told as a difference must not be one. How many of
/// those that are told were seen.
fn compare(source: &str, converted: &Converted, texts: &[String]) -> usize {
    let original = lark_text(source).unwrap();
    let target = Grammar::compile(&converted.constraint)
        .unwrap_or_else(|fault| panic!("{source}\n{}\n{fault}", text_of(converted)));
    let is_wider = converted.differences.iter().any(|one| one.is_wider);
    let is_narrower = converted.differences.iter().any(|one| !one.is_wider);
    let mut seen = [false, false];
    for text in texts {
        let (here, there) = (original.check(text).is_ok(), target.check(text).is_ok());
        seen[0] |= there && !here;
        seen[1] |= here && !there;
        assert!(
            here == there || there && is_wider || here && is_narrower,
            "{source}\n{}\n{text:?}: {here} {there}",
            text_of(converted)
        );
    }
    seen.into_iter().filter(|&seen| seen).count()
}

#[test]
fn lark_terminals_and_rules_become_rules_of_gbnf() {
    for (source, expected) in [
        (
            "start: \"red\" | \"green\"\n",
            "root ::= \"red\" | \"green\"\n",
        ),
        (
            "start: /(red|green)-[0-9]{2}/",
            "root ::= (\"red\" | \"green\") \"-\" [0-9]{2}\n",
        ),
        (
            "start: _pair\n!_pair: A [B] A~2..3 -> x\nA: \"a\" | \"b\"..\"c\"\nB: \"x\"i",
            "root ::= pair\npair ::= A B? A{2,3}\nA ::= \"a\" | [b-c]\nB ::= [Xx]\n",
        ),
        (
            "start: x_y x-y \"\" root\nx_y: \"1\"\nx-y: \"2\"\nroot: \"3\" // no more\n# none",
            "root ::= x-y x-y-2 root-2\nx-y ::= \"1\"\nx-y-2 ::= \"2\"\nroot-2 ::= \"3\"\n",
        ),
        (
            "%import common.INT\n%import common (LETTER, CR)\n%import common.LF -> END\nstart: INT LETTER CR END",
            "root ::= INT LETTER CR END\nINT ::= [0-9]+\nLETTER ::= [A-Za-z]\nCR ::= \"\\r\"\nEND ::= \"\\n\"\n",
        ),
        (
            "start: \"a\" \"b\"*\n%ignore / +/",
            "root ::= \"a\" (ignored \"b\")*\nignored ::= \" \"*\n",
        ),
        (
            "start: /[^\"]/ \"\\x41\\u0042\\\"\"",
            "root ::= [^\\u0022] \"AB\\\"\"\n",
        ),
    ] {
        assert_eq!(text_of(&to_gbnf(source).unwrap()), expected, "{source}");
    }
}

#[test]
fn lark_and_its_gbnf_read_the_same_texts_or_the_difference_is_told() {
    // With how many differences are told, and how many of those these texts show.
    for (source, alphabet, differences) in [
        (
            "start: expr\nexpr: term (SP ADD SP term)* -> add\n | term\nterm: INT\nSP: \" \"\nADD: \"+\"\n%import common.INT",
            "1+ ",
            (0, 0),
        ),
        ("start: \"a\"\n%ignore / +/", "a b", (0, 0)),
        ("start: \"a\" \"b\"?\n%ignore / +/", "a b", (1, 1)),
        (
            "start: \"(\" start \")\" | \"x\"\n%ignore / +/",
            "(x )",
            (1, 0),
        ),
        (
            "start: WORD WORD\nWORD: /[ab]+/\n%ignore / +/",
            "ab ",
            (2, 1),
        ),
        (
            "start: (WORD \";\")+\nWORD: /[ab]+/\n%ignore / +/",
            "ab ;",
            (1, 1),
        ),
        (
            "start: (WORD \";\")~2\nWORD: /[ab]+/\n%ignore / +/",
            "ab ;",
            (1, 0),
        ),
        (
            "start: (\"a\" | ) [\"b\"] \"c\"?\n%ignore \" \"",
            "abc ",
            (1, 1),
        ),
        (
            "start: (\"a\" | ) [\"b\"] \"c\"\n%ignore \" \"",
            "abc ",
            (0, 0),
        ),
        ("start: /a*/ \"b\"", "ab", (0, 0)),
        ("start: /a*/ \"a\"", "ab", (1, 1)),
        ("start: \"a\" | \"ab\" \"c\" | \"a\" \"bd\"", "abcd", (1, 1)),
        ("start: \"a\" | \"ab\" \"c\" | \"a\" \"cd\"", "abcd", (0, 0)),
        ("start: \"a\" \"bd\" | \"abc\"", "abcd", (1, 1)),
        (
            "start: x y\nx: A | B\ny: A | \"b\"\nA: \"a\"\nB: /a/",
            "ab",
            (0, 0),
        ),
        (
            "start: x* \".\"\nx: NAME \"=\" NAME \";\"\nNAME: /[ab]+/\n%ignore / |#[^\\n]*\\n/",
            "ab=;. #",
            (0, 0),
        ),
        (
            "start: (KEY | NAME)~2\nKEY: \"b\"\nNAME: /b./",
            "ab.",
            (1, 1),
        ),
        ("start: \"é\" \"è\" | \"éè\" \"x\"", "éèx", (1, 1)),
        ("start: \"a\" \"é\" | /aè/", "aéè", (1, 1)),
    ] {
        let converted = to_gbnf(source).unwrap();
        let seen = compare(source, &converted, &texts(alphabet, 6));
        let told = converted.differences.len();
        assert_eq!((told, seen), differences, "{source}");
    }
}

/// OpenAI's published examples of custom tools, and what its guide says to be valid and not.
#[test]
fn published_grammars_of_custom_tools_are_converted() {
    let arithmetic = "start: expr\nexpr: term (SP ADD SP term)* -> add\n| term\nterm: factor (SP MUL SP factor)* -> mul\n| factor\nfactor: INT\nSP: \" \"\nADD: \"+\"\nMUL: \"*\"\n%import common.INT\n";
    let sql = "// ---------- Punctuation & operators ----------\nSP: \" \"\nCOMMA: \",\"\nGT: \">\"\nEQ: \"=\"\nSEMI: \";\"\n\n// ---------- Start ----------\nstart: \"SELECT\" SP \"TOP\" SP NUMBER SP select_list SP \"FROM\" SP table SP \"WHERE\" SP amount_filter SP \"AND\" SP date_filter SP \"ORDER\" SP \"BY\" SP sort_cols SEMI\n\n// ---------- Projections ----------\nselect_list: column (COMMA SP column)*\ncolumn: IDENTIFIER\n\n// ---------- Tables ----------\ntable: IDENTIFIER\n\n// ---------- Filters ----------\namount_filter: \"total_amount\" SP GT SP NUMBER\ndate_filter: \"order_date\" SP GT SP DATE\n\n// ---------- Sorting ----------\nsort_cols: \"order_date\" SP \"DESC\"\n\n// ---------- Terminals ----------\nIDENTIFIER: /[A-Za-z_][A-Za-z0-9_]*/\nNUMBER: /[0-9]+/\nDATE: /'[0-9]{4}-[0-9]{2}-[0-9]{2}'/\n";
    let timestamp = r"start: TIMESTAMP
TIMESTAMP: /(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01]) (?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)/";
    let sentence = "start: sentence\nsentence: /[A-Za-z, ]*/ \"the hero\" /[A-Za-z, ]*/ \"a dragon\" /[A-Za-z, ]*/ \"the treasure\" /[A-Za-z, ]*/\n";
    let query = "SELECT TOP 5 id, total FROM orders WHERE total_amount > 500 AND order_date > '2025-01-01' ORDER BY order_date DESC;";
    for (source, yes, no, differences) in [
        (
            arithmetic,
            vec!["4 + 4 * 2", "12"],
            vec!["4 +", "4+4", ""],
            0,
        ),
        (sql, vec![query], vec![&query[..60], "SELECT 1;"], 0),
        (
            timestamp,
            vec!["2025-08-07 10:30"],
            vec!["2025-13-07 10:30", "2025-08-07"],
            1,
        ),
        (sentence, vec![], vec!["the hero", "the hero a dragon"], 1),
    ] {
        let converted = to_gbnf(source).unwrap();
        let told = &converted.differences;
        assert_eq!(told.len(), differences, "{source} {told:?}");
        let (original, target) = (
            lark_text(source).unwrap(),
            gbnf(text_of(&converted)).unwrap(),
        );
        for text in yes {
            assert_eq!(
                (original.check(text), target.check(text)),
                (Ok(()), Ok(())),
                "{text}"
            );
        }
        for text in no {
            assert!(
                original.check(text).is_err() && target.check(text).is_err(),
                "{text}"
            );
        }
    }
    // What llguidance's own greedy terminals never take is said to be wider.
    let told = to_gbnf(sentence).unwrap().differences;
    assert!(
        told[0].is_wider && told[0].reason.contains("a regex"),
        "{told:?}"
    );
}

#[test]
fn what_only_lark_can_say_is_refused_by_name() {
    for (source, expected) in [
        ("start: x{\"a\"}\nx{y}: y", "template"),
        ("start: \"a\"\nx{y}: y", "template"),
        ("start.2: \"a\"", "priority"),
        ("start: A\nA.2: \"a\"", "priority"),
        ("start: A & B\nA: \"a\"\nB: \"b\"", "`&`"),
        ("start: A\nA: ~\"a\"", "`~`"),
        ("start: x\nx[lazy]: /a*/", "`lazy`"),
        ("start: x\nx[stop=\"b\"]: /a*/", "`stop`"),
        ("start: <|end|>", "`<…>`"),
        ("start: @other", "`@`"),
        ("start: %json {}", "`%json`"),
        (
            "%llguidance {\"no_forcing\": true}\nstart: \"a\"",
            "`%llguidance`",
        ),
        ("%declare A\nstart: A", "`%declare`"),
        ("%import python.NAME\nstart: NAME", "`python.NAME`"),
        ("%import common.NONE\nstart: NONE", "`common.NONE`"),
        ("start: x::0\nx::_: \"a\"", "parameter"),
        ("start: /a(?=b)/", "look-ahead"),
        ("start: /(a)\\1/", "back-reference"),
        ("start: /a\\bb/", "boundary"),
        ("start: /a/l", "flag `l`"),
    ] {
        let fault = to_gbnf(source).unwrap_err();
        assert_eq!(fault.kind, Kind::UnsupportedConstraint, "{source} {fault}");
        assert!(fault.message.contains(expected), "{source}: {fault}");
    }
    for (source, expected) in [
        ("start: (", "line 1"),
        ("start: \"a\"\nx: foo", "line 2"),
        ("start: \"a\nx: foo", "line 1"),
        ("x: \"a\"", "no rule `start`"),
        ("start: A\nA: B\nB: A", "made of itself"),
        ("start: A\nA: start", "made of itself"),
        ("start: \"a\" | x\nx: \"b\" x", "`x` has no finite text"),
        ("start: \"a\"\nstart: \"b\"", "defined twice"),
        ("start: \"b\"..\"a\"", "range"),
        ("start: \"a\"~3..2", "upper bound"),
        ("start: \"a\" )", "line"),
    ] {
        let fault = to_gbnf(source).unwrap_err();
        assert_eq!(fault.kind, Kind::InvalidGrammar, "{source}");
        assert!(fault.message.contains(expected), "{source}: {fault}");
    }
    let optional = "\"a\"? ".repeat(3_000);
    let large = format!("start: {optional}\n%ignore \" \"");
    assert_eq!(to_gbnf(&large).unwrap_err().kind, Kind::SchemaTooComplex);
    let deep = format!("start: {}\"a\"{}", "(".repeat(40), ")".repeat(40));
    assert_eq!(to_gbnf(&deep).unwrap_err().kind, Kind::SchemaTooComplex);
}

#[test]
fn classes_of_all_scripts_are_told_to_be_narrower() {
    let told = to_gbnf("start: /\\w+/").unwrap().differences;
    assert!(told.len() == 1 && !told[0].is_wider && told[0].reason.contains("ASCII"));
    let regex = Constraint::Regex("\\d{3}".to_owned());
    assert_eq!(convert(&regex, "grammar:gbnf").unwrap().differences, told);
    // Lark has them.
    let lark = convert(&regex, "grammar:lark").unwrap();
    assert_eq!(lark.differences, []);
    assert_eq!(lark_text(text_of(&lark)).unwrap().check("1٣2"), Ok(()));
}

#[test]
fn choices_regexes_and_gbnf_become_lark_of_the_same_language() {
    let choices = ["red", "re", "", "a\"b\\", "\u{7f}\n", "é/", "(?=a)"].map(ToOwned::to_owned);
    let choice = convert(&Constraint::Choice(choices.to_vec()), "grammar:lark").unwrap();
    let grammar = lark_text(text_of(&choice)).unwrap();
    for text in &choices {
        assert_eq!(grammar.check(text), Ok(()), "{text}");
    }
    for text in ["r", "redre", "a", "n", "\u{7f}"] {
        assert!(grammar.check(text).is_err(), "{text}");
    }
    for pattern in [
        "",
        "a*",
        "(ab|b)*a?",
        "/a/",
        "[^a]{0,2}b",
        "^a$",
        "\\n?a",
        "(a|b/)+",
    ] {
        let lark = convert(&Constraint::Regex(pattern.to_owned()), "grammar:lark").unwrap();
        let (one, other) = (rx(pattern).unwrap(), lark_text(text_of(&lark)).unwrap());
        for text in texts("ab/\n", 5) {
            assert_eq!(one.check(&text), other.check(&text), "{pattern} {text:?}");
        }
    }
    for source in [
        "root ::= \"\"",
        "root ::= [a-b]* \"a\"",
        "root ::= \"(\" root \")\" | \"a\"*",
        "root ::= root \"a\" | \"b\"",
        "root ::= (\"a\" | \"\") (\"b\" root)?",
    ] {
        let constraint = Constraint::Grammar {
            notation: Notation::Gbnf,
            text: source.to_owned(),
        };
        let lark = convert(&constraint, "grammar:lark").unwrap();
        assert_eq!(lark.differences, []);
        let (one, other) = (gbnf(source).unwrap(), lark_text(text_of(&lark)).unwrap());
        for text in texts("ab()", 5) {
            let (here, there) = (one.check(&text).is_ok(), other.check(&text).is_ok());
            assert_eq!(here, there, "{source}\n{}\n{text:?}", text_of(&lark));
        }
    }
}

#[test]
fn grammars_without_recursion_become_regexes() {
    for source in [
        "root ::= [a-b]* \"a\"",
        "root ::= x (\"b\" x){1,2}\nx ::= \"a\"? | \"(\" \")\"",
    ] {
        let constraint = Constraint::Grammar {
            notation: Notation::Gbnf,
            text: source.to_owned(),
        };
        let regex = convert(&constraint, "regex").unwrap();
        let (one, other) = (gbnf(source).unwrap(), rx(text_of(&regex)).unwrap());
        for text in texts("ab()", 5) {
            assert_eq!(
                one.check(&text).is_ok(),
                other.check(&text).is_ok(),
                "{text:?}"
            );
        }
    }
    let expr = lark("start: \"(\" start \")\" | \"a\"");
    let fault = convert(&expr, "regex").unwrap_err();
    assert!(fault.message.contains("recursive"), "{fault}");
    let told = convert(&lark("start: /[ab]+/ \"a\""), "regex").unwrap();
    assert!(told.differences[0].is_wider);
}

#[test]
fn hostile_lark_is_converted_or_refused_in_time() {
    let many: String = (0..900).map(|n| format!("T{n}: /[a-z]*{n}/\n")).collect();
    let uses: Vec<_> = (0..900).map(|n| format!("T{n}")).collect();
    let doubling: String = (0..40)
        .map(|n| format!("a{n}: a{0}? a{0}?\n", n + 1))
        .collect();
    for source in [
        format!("start: ({})*\n{many}", uses.join("|")),
        format!("start: ({})*", vec!["/(a|b)*a(a|b){14}/"; 40].join("|")),
        format!("start: /(a?){{20000}}/ {}", "/(a?){3000}b/ ".repeat(400)),
        format!("start: {}", "/\\w+\\W/ ".repeat(700)),
        format!("start: a0\n{doubling}a40: \"x\""),
    ] {
        for ignored in ["", "\n%ignore \" \""] {
            let begin = std::time::Instant::now();
            let _ = to_gbnf(&format!("{source}{ignored}"));
            // Without optimisation, on a busy machine.
            let taken = begin.elapsed();
            println!("{taken:?} {}", &source[..20]);
            assert!(taken.as_secs() < 5, "{taken:?} {}", &source[..40]);
        }
    }
}

#[test]
fn a_grammar_is_written_in_words_that_llama_cpp_reads() {
    for (source, expected) in [
        (
            "root ::= my_rule my-rule\nmy_rule ::= \"+\"\nmy-rule ::= \"1\"",
            Some("root ::= my-rule-2 my-rule\nmy-rule-2 ::= \"+\"\nmy-rule ::= \"1\"\n"),
        ),
        (
            "root ::= \"+\"\n  | \"1\" # or\n  | [\\-\\)]",
            Some("root ::= \"+\" | \"1\" | [)\\u002D]\n"),
        ),
        (
            "root ::= root \"+\" [0-9] | [0-9]",
            Some("root ::= [0-9] (\"+\" [0-9])*\n"),
        ),
        (
            "root ::= e\ne ::= e \"+\" t | e | t\nt ::= t \"1\" | \"1\" | \"(\" e \")\"",
            Some("root ::= e\ne ::= t (\"+\" t)*\nt ::= (\"1\" | \"(\" e \")\") \"1\"*\n"),
        ),
        ("root ::= (\"+\" |\n \"1\") |\n \"1+\"", None),
        ("root ::= \"(\" root \")\" | (\"1\"?)*", None),
        ("root ::= a \"+\" root | a\na ::= \"1\"? \"(\"", None),
    ] {
        let written = in_plain_words(source).unwrap();
        assert_eq!(written.as_ref().map(text_of), expected, "{source}");
        let Some(written) = written else { continue };
        assert_eq!(written.differences, []);
        let (one, other) = (gbnf(source).unwrap(), gbnf(text_of(&written)).unwrap());
        for text in texts("1+()", 6) {
            assert_eq!(
                one.check(&text).is_ok(),
                other.check(&text).is_ok(),
                "{source} {text:?}"
            );
        }
    }
    for (source, expected) in [
        ("root ::= a \"x\" | \"y\"\na ::= root | \"z\"", "`root`"),
        (
            "root ::= \"y\" | a\na ::= b root \"x\"\nb ::= \"b\" | ",
            "left recursion",
        ),
        ("root ::= \"x\" (\"y\" | \"\")*", "empty text"),
    ] {
        let fault = in_plain_words(source).unwrap_err();
        assert_eq!(fault.kind, Kind::UnsupportedConstraint, "{source}");
        assert!(fault.message.contains(expected), "{source}: {fault}");
    }
    let lark = to_gbnf("start: start \"+\" A | A\nA: \"1\"").unwrap();
    assert_eq!(text_of(&lark), "root ::= A (\"+\" A)*\nA ::= \"1\"\n");
}

#[test]
fn what_a_text_can_be_read_as_in_very_many_ways_is_written_with_one() {
    let ambiguous = "([ab]+)*c|(([a-c]+ ?)*[0-9]{2})+\\.";
    let converted = convert(&Constraint::Regex(ambiguous.to_owned()), "grammar:gbnf").unwrap();
    assert_eq!(converted.differences, []);
    let (here, there) = (
        Grammar::compile(&Constraint::Regex(ambiguous.to_owned())).unwrap(),
        Grammar::compile(&converted.constraint).unwrap(),
    );
    for text in texts("abc1. ", 6) {
        assert_eq!(
            here.check(&text).is_ok(),
            there.check(&text).is_ok(),
            "{text}"
        );
    }
    let plain = |regex: &str| {
        let converted = convert(&Constraint::Regex(regex.to_owned()), "grammar:gbnf");
        text_of(&converted.unwrap()).to_owned()
    };
    assert_eq!(
        plain("(([a-z]+)*[0-9])+"),
        "root ::= [0-9] state1 | [a-z] root\nstate1 ::= ([0-9] state1 | [a-z] root)?\n"
    );
    assert_eq!(plain("([a-z]+ )+"), "root ::= ([a-z]+ \" \")+\n");
    let too_large = Constraint::Regex("(([ab]+)*a[ab]{20})+c".to_owned());
    let fault = convert(&too_large, "grammar:gbnf").unwrap_err();
    assert_eq!(fault.kind, Kind::SchemaTooComplex);
    // A schema's pattern likewise, and where that is too large it is told.
    let of = |pattern: &str| {
        let schema = json!({"type": "string", "pattern": pattern});
        convert(&Constraint::JsonSchema(schema), "grammar:gbnf").unwrap()
    };
    let told = of("^([a-z]+ ?)+$");
    assert_eq!(told.differences, []);
    assert!(!text_of(&told).contains("+ \" \"?)+"), "{}", text_of(&told));
    assert_eq!(
        of("^(([ab]+)*a[ab]{20})+c$").differences[0].pointer,
        "/pattern"
    );
}
