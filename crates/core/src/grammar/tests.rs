//! What is promised of languages: captured requests, equality by samples, no panic on anything.

mod convert;
mod json;
mod union;

use super::gbnf::Gbnf;
use super::{Grammar, GrammarFault, choice, lark, regex};
use crate::error::Kind;
use crate::ir::{Constraint, Notation};
use serde_json::Value;

fn rx(pattern: &str) -> Result<Grammar, GrammarFault> {
    Grammar::compile(&Constraint::Regex(pattern.to_owned()))
}

fn gbnf(text: &str) -> Result<Grammar, GrammarFault> {
    Grammar::compile(&Constraint::Grammar {
        notation: Notation::Gbnf,
        text: text.to_owned(),
    })
}

fn lark_text(text: &str) -> Result<Grammar, GrammarFault> {
    Grammar::compile(&Constraint::Grammar {
        notation: Notation::Lark,
        text: text.to_owned(),
    })
}

fn choices(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// Checks texts whole, in every split of two, and byte by byte.
fn expect(grammar: &Grammar, yes: &[&str], no: &[(&str, usize)]) {
    for text in yes {
        assert_eq!(grammar.check(text), Ok(()), "{text:?}");
        for cut in 0..=text.len() {
            let mut matcher = grammar.matcher();
            let (head, tail) = text.as_bytes().split_at(cut);
            assert_eq!(
                (matcher.push(head), matcher.push(tail)),
                (Ok(()), Ok(())),
                "{text:?}"
            );
            assert!(matcher.is_accepting(), "{text:?} cut at {cut}");
        }
    }
    for (text, offset) in no {
        assert_eq!(grammar.check(text), Err(*offset), "{text:?}");
    }
}

#[test]
fn a_choice_is_matched_exactly() {
    let grammar = Grammar::compile(&Constraint::Choice(choices(&[
        "red", "reddish", "grün", "\"q\"",
    ])))
    .unwrap();
    expect(
        &grammar,
        &["red", "reddish", "grün", "\"q\""],
        &[
            ("", 0),
            ("re", 2),
            ("redd", 4),
            ("rex", 2),
            ("blue", 0),
            ("red ", 3),
            ("gr\u{fb}n", 3),
        ],
    );
    let empty = Grammar::compile(&Constraint::Choice(choices(&["", "a"]))).unwrap();
    expect(&empty, &["", "a"], &[("b", 0), ("aa", 1)]);
    assert_eq!(
        Grammar::compile(&Constraint::Choice(vec![]))
            .unwrap_err()
            .kind,
        Kind::InvalidGrammar
    );
}

#[test]
fn a_regex_matches_the_whole_text() {
    expect(
        &rx("^(red|green)$").unwrap(),
        &["red", "green"],
        &[("", 0), ("redx", 3), ("gree", 4)],
    );
    expect(
        &rx("a{1,3}?b").unwrap(),
        &["ab", "aaab"],
        &[("b", 0), ("aaaab", 3)],
    );
    expect(&rx("(?i)red").unwrap(), &["red", "ReD"], &[("reb", 2)]);
    expect(
        &rx("a.{2}").unwrap(),
        &["abc", "aé/"],
        &[("a\n", 1), ("ab", 2)],
    );
    expect(&rx("a\nb").unwrap(), &["a\nb"], &[("a b", 1)]);
    expect(&rx(r"\p{Lu}{2}").unwrap(), &["AB", "ÄÖ"], &[("Ab", 1)]);
    expect(&rx(r"[\w-]{2}").unwrap(), &["a-", "é1"], &[("a ", 1)]);
    expect(&rx(r"\d+").unwrap(), &["12", "٣"], &[("x", 0)]);
    expect(
        &rx("(a+)+b").unwrap(),
        &["ab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"],
        &[("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", 33)],
    );
    expect(&rx("(a+)?b").unwrap(), &["b", "aab"], &[("a", 1)]);
    expect(&rx("(a{2})?b").unwrap(), &["b", "aab"], &[("ab", 1)]);
    expect(&rx("").unwrap(), &[""], &[("a", 0)]);
    expect(&rx("a*").unwrap(), &["", "aa"], &[("ab", 1)]);
    expect(&rx("^a|b$").unwrap(), &["a", "b"], &[("ab", 1)]);
    expect(&rx(r#"["/\\#]//"#).unwrap(), &["\"//", "#//", "\\//"], &[]);
}

#[test]
fn what_is_no_regular_language_is_refused_by_name() {
    let kind = |pattern: &str| rx(pattern).unwrap_err();
    assert!(kind("(?=a)[a-c]").message.contains("look-ahead"));
    assert!(kind(r"(a|b)\1").message.contains("back-reference"));
    assert_eq!(kind("(?=a)b").kind, Kind::UnsupportedConstraint);
    assert_eq!(kind("a$b").kind, Kind::UnsupportedConstraint);
    assert_eq!(kind(r"a\bb").kind, Kind::UnsupportedConstraint);
    assert_eq!(kind("(").kind, Kind::InvalidGrammar);
    assert_eq!(kind("foo**(").kind, Kind::InvalidGrammar);
    assert_eq!(kind(r"[^\s\S]").kind, Kind::InvalidGrammar);
    assert_eq!(
        kind("((a{1,100}){1,100}){1,100}").kind,
        Kind::SchemaTooComplex
    );
    assert_eq!(kind(&"a".repeat(70_000)).kind, Kind::SchemaTooComplex);
    assert_eq!(
        kind(&format!("{}a{}", "(".repeat(9000), ")".repeat(9000))).kind,
        Kind::InvalidGrammar
    );
}

#[test]
fn gbnf_is_read_as_llama_cpp_reads_it() {
    expect(
        &gbnf("root ::= [a-c] [^a-z0-9 ] \"x\"").unwrap(),
        &["a-x", "c\u{e9}x"],
        &[("aax", 1), ("a x", 1)],
    );
    expect(
        &gbnf("# hi\nroot ::= \"red\" # end\n").unwrap(),
        &["red"],
        &[("green", 0)],
    );
    expect(
        &gbnf("root ::= [a-c]{3,5} \"-\" \"x\"?").unwrap(),
        &["abc-", "abcab-x"],
        &[("ab-", 2), ("abcabc", 5)],
    );
    expect(
        &gbnf("root ::=\n  item (\n \",\" item )*\n  | \"none\"\nitem ::= [\\x30-9]+ .{2} # two\n")
            .unwrap(),
        &["1ab", "12\n\n,3\u{1F600}x", "none"],
        &[("", 0), ("no", 2)],
    );
    expect(
        &gbnf(r#"root ::= "\"\\\n\t\x41\u00e9\U0001F600\[" [\]\-a^]"#).unwrap(),
        &["\"\\\n\tAé😀[]", "\"\\\n\tAé😀[-"],
        &[],
    );
    expect(
        &gbnf("root ::= [a-z]+ \"x\"").unwrap(),
        &["abx", "xx"],
        &[("x", 1), ("ab", 2)],
    );
    expect(
        &gbnf("root ::= (\"red\" | \"re\") \"d\"").unwrap(),
        &["red", "redd"],
        &[("re", 2)],
    );
}

#[test]
fn recursive_gbnf_is_matched_by_character_and_not_by_greedy_words() {
    let nested = gbnf("root ::= \"(\" root \")\" | [a-z]* \"x\"?").unwrap();
    expect(
        &nested,
        &["", "()", "((abx))", "(x)", "x"],
        &[("(", 1), ("())", 2), ("(1", 1)],
    );
    let left = gbnf("root ::= root \"a\" | \"a\"").unwrap();
    expect(&left, &["a", "aaa"], &[("", 0), ("ab", 1)]);
    let or_empty = gbnf("root ::= \"\" | \"a\" root").unwrap();
    expect(&or_empty, &["", "aaa"], &[("b", 0)]);
    let words =
        gbnf("root ::= \"if\" \" \" root | word\nword ::= [a-z]+ | [a-z] word{2,3}").unwrap();
    expect(
        &words,
        &["if x", "if if if", "ifx"],
        &[("if ", 3), ("if 1", 3)],
    );
}

#[test]
fn a_long_list_in_right_recursion_is_matched_in_bounded_time() {
    for items in [
        "item | item \",\" items",
        "item (\",\" items)?",
        "(item | item \",\" items)",
    ] {
        let text = format!("root ::= \"[\" items \"]\"\nitems ::= {items}\nitem ::= [0-9]+ | root");
        let list = gbnf(&text).unwrap();
        let text = format!("[{}]", vec!["12"; 20_000].join(","));
        let begin = std::time::Instant::now();
        assert_eq!(list.check(&text), Ok(()));
        assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
        expect(
            &list,
            &["[1]", "[1,[2,3],4]"],
            &[("[]", 1), ("[1,]", 3), ("[1", 2), ("[1]]", 3)],
        );
    }
}

#[test]
fn a_rule_that_ends_in_itself_keeps_its_language_as_a_repetition() {
    // Each beside the same language written without.
    for (recursive, plain) in [
        ("root ::= \"a\" root | \"b\"", "a*b"),
        ("root ::= \"a\" root | \"b\" root | \"\"", "[ab]*"),
        ("root ::= \"a\" (\"b\" root)?", "a(ba)*"),
        (
            "root ::= \"a\" (\"b\" root | \"c\" | \"d\" root)",
            "(ab|ad)*ac",
        ),
        ("root ::= root | \"a\"", "a"),
        (
            "root ::= root | \"a\" | \"b\" root \"c\" | \"bac\"",
            "a|bac|bbacc",
        ),
        (
            "root ::= x\nx ::= \"a\" x | y\ny ::= \"b\" y | \"\"",
            "a*b*",
        ),
    ] {
        let (recursive, plain) = (gbnf(recursive).unwrap(), rx(plain).unwrap());
        for number in 0..4_usize.pow(5) {
            let digit = |place: u32| "abcd".as_bytes()[number / 4_usize.pow(place) % 4];
            let bytes: Vec<u8> = (0..5).map(digit).collect();
            let text = std::str::from_utf8(&bytes).unwrap();
            for length in 0..=5 {
                let text = &text[..length];
                assert_eq!(
                    recursive.check(text).is_ok(),
                    plain.check(text).is_ok(),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn a_grammar_that_cannot_be_read_names_its_line() {
    for (text, expected) in [
        ("root ::= (", "line 1"),
        ("root ::= foo", "`foo` is not defined"),
        ("a ::= \"x\"", "no rule `root`"),
        ("", "no rule `root`"),
        ("root ::= \"a\" root", "no finite text"),
        (
            "root ::= \"x\" | y\ny ::= \"a\" y",
            "`y` has no finite text",
        ),
        ("root ::= \"a\"\nroot ::= \"b\"", "line 2"),
        ("root ::= \"a\"\n\nb ::= \"x", "line 3"),
        ("root ::= \"a\" )", "no `(`"),
        ("root ::= [z-a]", "ends before it begins"),
        ("root ::= \"\\q\"", "escape"),
        ("root ::= \"a\"{3,2}", "upper bound"),
        ("root : \"a\"", "`::=`"),
    ] {
        let fault = gbnf(text).unwrap_err();
        assert!(
            fault.message.contains(expected),
            "{text:?}: {}",
            fault.message
        );
        assert_eq!(fault.kind, Kind::InvalidGrammar, "{text:?}");
    }
    for text in ["start: (", "start: foo", "", "x: \"a\""] {
        assert_eq!(
            lark_text(text).unwrap_err().kind,
            Kind::InvalidGrammar,
            "{text:?}"
        );
    }
}

#[test]
fn grammars_that_would_explode_are_refused_in_time() {
    let mut doubling = String::from("root ::= a0\n");
    for link in 0..60 {
        doubling += &format!("a{link} ::= a{0} a{0}\n", link + 1);
    }
    doubling += "a60 ::= \"x\"";
    let deep = format!("root ::= {}\"a\"{}", "(".repeat(30_000), ")".repeat(30_000));
    let lark_deep = format!("start: {}\"a\"{}", "(".repeat(30_000), ")".repeat(30_000));
    let begin = std::time::Instant::now();
    // Not a regex any more, but a small grammar: it may be taken.
    let _ = gbnf(&doubling);
    assert_eq!(gbnf(&deep).unwrap_err().kind, Kind::SchemaTooComplex);
    assert_eq!(
        lark_text(&lark_deep).unwrap_err().kind,
        Kind::SchemaTooComplex
    );
    assert_eq!(
        gbnf("root ::= ((\"a\"{1000}){1000}){1000}")
            .unwrap_err()
            .kind,
        Kind::SchemaTooComplex
    );
    assert_eq!(
        lark_text("start: %json {}").unwrap_err().kind,
        Kind::UnsupportedConstraint
    );
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn a_directive_is_one_only_where_the_engine_reads_one() {
    for text in [
        "start: \"maybe%json not\"",
        "start: /a%lark/",
        "start: \"a\" // %llguidance {}",
        "%llguidance {}\n\nstart: \"a\"",
        " %llguidance { }\nstart: \"a\"",
        "start: \"a\" # %regex {}\n",
    ] {
        assert!(lark_text(text).is_ok(), "{text}");
    }
    let brackets = "(".repeat(100);
    expect(
        &lark_text(&format!("start: \"{brackets}\"")).unwrap(),
        &[&brackets],
        &[("x", 0)],
    );
    // What stands in `<…>` hides nothing behind it: to the engine it is a token's name.
    for text in [
        "start: <#> %json {}",
        "start: <\"> %json {} <\">",
        "start: <//> %lark { }",
        "start: <[/]> %regex {} <[/]>",
        // Not split at all, so not trusted.
        "start: \"%json {}",
    ] {
        let fault = lark_text(text).unwrap_err();
        assert_eq!(fault.kind, Kind::UnsupportedConstraint, "{text}: {fault:?}");
    }
}

#[test]
fn lark_that_counts_tokens_is_refused_by_name_for_a_text_shows_none() {
    let fault = lark_text("start: word \".\"\nword[max_tokens=3]: /[a-z]+/\n").unwrap_err();
    assert_eq!(fault.kind, Kind::UnsupportedConstraint);
    assert!(fault.message.contains("`max_tokens`"), "{}", fault.message);
    let bound = lark_text("start: word \".\"\nword[suffix=\";\"]: /[a-z]{1,200}/\n").unwrap();
    assert_eq!(bound.check("abc;."), Ok(()));
}

#[test]
fn lark_is_read_as_the_servers_read_it() {
    expect(
        &lark_text("start: \"red\" | \"green\"\n").unwrap(),
        &["red", "green"],
        &[("blue", 0)],
    );
    expect(
        &lark_text("start: /(red|green)-[0-9]{2}/").unwrap(),
        &["red-12"],
        &[("red-1", 5)],
    );
    expect(
        &lark_text(
            "start: expr\nexpr: NUM (OP NUM)*\nNUM: /[0-9]+/\nOP: \"+\" | \"-\"\n%ignore / +/",
        )
        .unwrap(),
        &["1", "1 + 22-3"],
        &[("1 +", 3), ("a", 0)],
    );
}

/// A regex, its equivalents, and texts that tell them apart.
fn equals(pattern: &str, texts: &[&str]) {
    let direct = rx(pattern).unwrap();
    let printed = regex::to_gbnf(pattern).unwrap().text;
    let through_gbnf =
        gbnf(&printed).unwrap_or_else(|fault| panic!("{pattern}: {printed}: {fault}"));
    let parsed = Gbnf::read(&printed).unwrap();
    let through_lark = lark_text(&lark::of_gbnf(&parsed).unwrap()).unwrap();
    assert_eq!(
        Gbnf::read(&parsed.to_string()).unwrap(),
        parsed,
        "{printed}"
    );
    for text in texts {
        let expected = direct.check(text).is_ok();
        assert_eq!(
            through_gbnf.check(text).is_ok(),
            expected,
            "{pattern} {printed} {text:?}"
        );
        if !text.is_empty() {
            assert_eq!(
                through_lark.check(text).is_ok(),
                expected,
                "{pattern} {printed} {text:?}"
            );
        }
    }
}

#[test]
fn printed_gbnf_has_the_language_of_its_regex() {
    let texts = [
        "",
        "a",
        "b",
        "ab",
        "aab",
        "abab",
        "ba",
        "-",
        "^",
        "]",
        "[",
        "\\",
        "\"",
        "\n",
        "a\nb",
        "12",
        "1.5",
        "é",
        "😀",
        "a-b",
        "2024-01-02",
        "aaaa",
        "aaaaa",
        "red",
        "RED",
        " ",
        "x y",
        "{",
        "|",
    ];
    for pattern in [
        "a",
        "(a|b)*",
        "a?b+",
        "[a-b]{2,3}",
        "[^ab]",
        r"[\]\[\-\^\\]",
        r#""|\n|\\"#,
        r"\d{4}-\d{2}-\d{2}",
        "a{2,}",
        "(ab){2}",
        ".",
        "(?s).",
        "(?i)red",
        r"\S+",
        "(a|)(b|)",
        "((a{2}){2})?",
        r"\{|\|",
        "[^\n]*",
        "é|😀",
        r"[0-9]+(\.[0-9]+)?",
        "(a*)*",
    ] {
        equals(pattern, &texts);
    }
}

#[test]
fn printed_gbnf_is_never_wider_than_its_regex() {
    for pattern in [
        r"\W", r"\D", r"\w", r"\d", r"\s", r"[^\w]", r"\p{L}", r"\P{L}", "[а-я]",
    ] {
        let direct = rx(pattern).unwrap();
        let printed = gbnf(&regex::to_gbnf(pattern).unwrap().text).unwrap();
        for code in (0..0x3000_u32).chain([0x1_F600, 0xFF10]) {
            let Some(c) = char::from_u32(code) else {
                continue;
            };
            let text = c.to_string();
            if printed.check(&text).is_ok() {
                assert!(direct.check(&text).is_ok(), "{pattern} {code:x}");
            }
        }
    }
    assert_eq!(
        regex::to_gbnf(r"\d{2}").unwrap().text,
        "root ::= [0-9]{2}\n"
    );
    assert_eq!(
        regex::to_gbnf("a{3000}").unwrap_err().kind,
        Kind::SchemaTooComplex
    );
}

/// llama.cpp 7e4c0a9 multiplies what repeats by the rules that are named in its parentheses.
#[test]
fn what_is_printed_repeats_no_more_than_llama_cpp_lets_it() {
    let grammar = |text: &str| Gbnf::read(text).unwrap();
    for (written, printed) in [
        ("root ::= \"a\" (\",\" c){0,999}\nc ::= \"x\"\n", None),
        ("root ::= ([a-z] [0-9]){1,1999}\n", None),
        (
            "root ::= (d c){0,1998}\nc ::= \"x\"\nd ::= \",\"\n",
            Some("root ::= root-more{0,1998}\nc ::= \"x\"\nd ::= \",\"\nroot-more ::= d c\n"),
        ),
        (
            "root ::= ([a-z]{0,100} \"-\"){100}\n",
            Some("root ::= root-more{100}\nroot-more ::= [a-z]{0,100} \"-\"\n"),
        ),
    ] {
        let text = grammar(written).print().unwrap().text;
        assert_eq!(text, printed.unwrap_or(written));
    }
    assert!(grammar("root ::= [a-z]{0,2000}").print().is_err());
}

#[test]
fn a_choice_printed_as_regex_or_gbnf_is_the_same_choice() {
    let texts = choices(&[
        "red", "a.b", "x|y", "(", "", "\\d", "[a-z]", "\"q\"", "né\n", "^$", "{1}", "a-b",
    ]);
    let through_regex = rx(&choice::to_regex(&texts)).unwrap();
    let through_gbnf = gbnf(&choice::to_gbnf(&texts).to_string()).unwrap();
    for text in &texts {
        assert_eq!(through_regex.check(text), Ok(()), "{text}");
        assert_eq!(through_gbnf.check(text), Ok(()), "{text}");
    }
    for text in ["re", "axb", "x", "y", "d", "5", "q", "1", "redx", "a"] {
        assert!(through_regex.check(text).is_err(), "{text}");
        assert!(through_gbnf.check(text).is_err(), "{text}");
    }
}

#[test]
fn one_text_does_not_touch_another() {
    let grammar = gbnf("root ::= \"(\" root \")\" | \"x\"").unwrap();
    let (mut a, mut b) = (grammar.matcher(), grammar.matcher());
    assert_eq!((a.push(b"(("), b.push(b"x")), (Ok(()), Ok(())));
    assert!(b.is_accepting() && !a.is_accepting());
    assert_eq!(b.push(b")"), Err(0));
    assert_eq!(b.push(b"x"), Err(0));
    assert!(!b.is_accepting());
    assert_eq!(a.push(b"x))"), Ok(()));
    assert!(a.is_accepting());
    assert_eq!(a.push(&[0xFF]), Err(0));
}

#[test]
fn an_ambiguous_grammar_is_given_up_before_its_cube_hurts() {
    let grammar = gbnf("root ::= root root | \"a\" | \"\"").unwrap();
    let begin = std::time::Instant::now();
    let mut matcher = grammar.matcher();
    assert!(matcher.push("a".repeat(5000).as_bytes()).is_err());
    assert!(matcher.gave_up());
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    let mut matcher = grammar.matcher();
    assert!(matcher.push(b"b").is_err());
    assert!(!matcher.gave_up(), "a byte that cannot be is no limit");
}

#[test]
fn captured_grammars_and_regexes_compile_or_say_why_not() {
    let folder = isogloss_testing::shared("ISOGLOSS_CAPTURES", "captures");
    let Ok(servers) = std::fs::read_dir(format!("{folder}/servers")) else {
        println!("skipped: no {folder}/servers (set ISOGLOSS_CAPTURES)");
        return;
    };
    let (mut compiled, mut refused) = (0, 0);
    let mut seen = std::collections::HashSet::new();
    for server in servers.flatten() {
        for file in std::fs::read_dir(server.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            let Ok(text) = std::fs::read_to_string(file.path()) else {
                continue;
            };
            let Ok(request) = serde_json::from_str::<Value>(&text) else {
                continue;
            };
            let body = request.get("body").unwrap_or(&request);
            let outputs = body.get("structured_outputs");
            let regexes = [
                outputs.and_then(|o| o.get("regex")),
                body.get("guided_regex"),
                body.get("regex"),
            ];
            let grammars = [
                outputs.and_then(|o| o.get("grammar")),
                body.get("guided_grammar"),
                body.get("ebnf"),
                body.get("grammar"),
            ];
            let regexes = regexes.into_iter().flatten().filter_map(Value::as_str);
            let grammars = grammars.into_iter().flatten().filter_map(Value::as_str);
            let regexes = regexes.map(|text| Constraint::Regex(text.to_owned()));
            let grammars = grammars.map(|text| Constraint::Grammar {
                notation: Notation::guess(text),
                text: text.to_owned(),
            });
            for constraint in regexes.chain(grammars) {
                if !seen.insert(format!("{constraint:?}")) {
                    continue;
                }
                let begin = std::time::Instant::now();
                match Grammar::compile(&constraint) {
                    Ok(grammar) => {
                        compiled += 1;
                        let _ = grammar.check("red");
                    }
                    Err(fault) => {
                        refused += 1;
                        assert!(!fault.message.is_empty());
                        println!("{:?}: {fault}", file.file_name());
                    }
                }
                assert!(begin.elapsed().as_secs() < 60, "{constraint:?}");
            }
        }
    }
    assert!(compiled > 15 && refused > 5, "{compiled} {refused}");
}

#[test]
fn a_regex_that_repeats_a_repetition_or_an_anchor_is_refused_with_the_reason() {
    for (pattern, reason) in [
        ("foo**", "repeats a repetition"),
        ("a++", "repeats a repetition"),
        ("^*a", "repeats an anchor"),
    ] {
        let fault = rx(pattern).unwrap_err();
        assert!(
            fault.message.contains(reason),
            "{pattern}: {}",
            fault.message
        );
    }
    expect(&rx("(?:a+)*b??").unwrap(), &["", "aab"], &[]);
}
