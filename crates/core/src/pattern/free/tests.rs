use super::*;
use regex::Regex;

const TEXTS: &[&str] = &[
    r"j", r"a", r"b", r"]", r"[", r"&", r"-", r"~", r"^", r"&]", r"j]", r"b]", r"[]", r"aa", r"a[",
    r"[a", r"[[", r"aa&&", r"&&x", r"x&x", r"xxx", r"bb", r"cc", r"^]", r"]a", r"a]", r"ab", r"--",
    r"z", r"/", r".", r",", r"+", r"~~", r"a:", r"a]a]", r"h]", r"^a", r"9", r"-9", r"A", r"<a>",
    r"a<", r"{a}", r"{", r"x{", r"aaa", r"aaaa", r"a{,2}", r"a{,}", r"a{2", r"1]", r"]]", r"\]",
    r"<",
];
const READ: &[(&str, &[&str])] = &[
    (
        r"[a-z&&[^b]]",
        &[r"&]", r"j]", r"b]", r"[]", r"^]", r"a]", r"h]"],
    ),
    (r"[a[]{2}", &[r"aa", r"a[", r"[a", r"[["]),
    (
        r"[^[]{2}",
        &[
            r"&]", r"j]", r"b]", r"aa", r"bb", r"cc", r"^]", r"]a", r"a]", r"ab", r"--", r"~~",
            r"a:", r"h]", r"^a", r"-9", r"a<", r"x{", r"1]", r"]]", r"\]",
        ],
    ),
    (r"[&&x]{3}", &[r"&&x", r"x&x", r"xxx"]),
    (r"[]a]", &[r"a", r"]"]),
    (r"[]]", &[r"]"]),
    (
        r"[^]a]{2}",
        &[r"[[", r"bb", r"cc", r"--", r"~~", r"-9", r"x{"],
    ),
    (r"[]-a]", &[r"a", r"]", r"^"]),
    (r"[+--]", &[r"-", r",", r"+"]),
    (r"[--/]", &[r"-", r"/", r"."]),
    (
        r"[a-z--b]",
        &[
            r"j", r"a", r"b", r"]", r"[", r"-", r"^", r"z", r"/", r".", r"9", r"A", r"<",
        ],
    ),
    (r"[~~]{2}", &[r"~~"]),
    (r"[a-z-9]", &[r"j", r"a", r"b", r"-", r"z", r"9"]),
    (r"[-a]", &[r"a", r"-"]),
    (r"[a-]", &[r"a", r"-"]),
    (
        r"[^-a]",
        &[
            r"j", r"b", r"]", r"[", r"&", r"~", r"^", r"z", r"/", r".", r",", r"+", r"9", r"A",
            r"{", r"<",
        ],
    ),
    (r"[&]", &[r"&"]),
    (r"[]^a]{2}", &[r"aa", r"^]", r"]a", r"a]", r"^a", r"]]"]),
    (r"[[a]", &[r"a", r"["]),
    (r"[[]", &[r"["]),
    (
        r"[^]]",
        &[
            r"j", r"a", r"b", r"[", r"&", r"-", r"~", r"^", r"z", r"/", r".", r",", r"+", r"9",
            r"A", r"{", r"<",
        ],
    ),
    (
        r"[!-[]",
        &[r"[", r"&", r"-", r"/", r".", r",", r"+", r"9", r"A", r"<"],
    ),
    (r"[\]&&]", &[r"]", r"&"]),
    (r"[a&&&b]", &[r"a", r"b", r"&"]),
    (
        r"[%-&&-z]",
        &[
            r"j", r"a", r"b", r"]", r"[", r"&", r"-", r"^", r"z", r"/", r".", r",", r"+", r"9",
            r"A", r"<",
        ],
    ),
    (r"[]\]a]", &[r"a", r"]"]),
    (r"[[:a]", &[r"a", r"["]),
    (r"[a\[]", &[r"a", r"["]),
    (r"x]", &[]),
    (r"[&&]]", &[r"&]"]),
    (r"\<a\>", &[r"<a>"]),
    (r"[\<]", &[r"<"]),
    (r"{a}", &[r"{a}"]),
    (r"a{,2}", &[r"a", r"aa"]),
    (r"a{,}", &[r"a", r"aa", r"aaa", r"aaaa"]),
    (r"a{2", &[r"a{2"]),
    (r"a\Z", &[r"a"]),
    (r"{", &[r"{"]),
    (r"x{", &[r"x{"]),
    (r"a{}", &[]),
    (r"[[]]", &[r"[]"]),
    (r"[&-]", &[r"&", r"-"]),
    (r"[--]", &[r"-"]),
    (r"[-]", &[r"-"]),
    (r"[---]", &[r"-"]),
    (r"[a||b]", &[r"a", r"b"]),
];

/// What `re.fullmatch` of Python 3.11 lets through of [`TEXTS`] stands in [`READ`].
#[test]
fn a_free_regex_is_read_as_python_reads_it() {
    for (regex, matches) in READ {
        let settled = settled(regex).unwrap();
        let whole = Regex::new(&format!("^(?:{settled})$"));
        let whole = whole.unwrap();
        let read: Vec<&str> = TEXTS
            .iter()
            .copied()
            .filter(|text| whole.is_match(text))
            .collect();
        assert_eq!(read, *matches, "{regex} as {settled}");
        // In the words of ECMA-262, too.
        let read = super::super::parse_ecma(&settled).unwrap();
        assert_eq!(parse(&settled).unwrap(), read, "{regex} as {settled}");
        // What is settled stays so.
        assert!(
            matches!(super::settled(&settled), Ok(Cow::Borrowed(_))),
            "{settled}"
        );
    }
}

#[test]
fn what_all_read_alike_keeps_its_bytes() {
    for regex in [
        "[a-z]+",
        "[-a]",
        "[a-]",
        "[^-a]",
        "[a-z-9]",
        "[&-]",
        "[a^]",
        r"[\[\]&]",
        r"\[a]",
        "a]",
        "a}",
        r"\{a\}",
        "a{2,3}",
        "a{2,}",
        r"\p{L}{2}",
        r"[\p{L}_]",
        r"\x{41}",
        "[a||b]",
        "é[ü]",
        "[",
        "[]",
        r"a\",
        r"[\",
        "[a-",
        r"\\[a]",
    ] {
        assert!(matches!(settled(regex), Ok(Cow::Borrowed(_))), "{regex}");
        assert!(
            matches!(settled_of_rust(regex), Ok(Cow::Borrowed(_))),
            "{regex}"
        );
    }
}

#[test]
fn what_is_read_otherwise_is_written_in_other_words() {
    for (regex, expected) in [
        ("[]a]", r"[\x5da]"),
        ("[^]a]{2}", r"[^\x5da]{2}"),
        ("[a[]{2}", r"[a\x5b]{2}"),
        ("[a-z&&[^b]]", r"[a-z\x26\x26\x5b^b]\]"),
        ("[a-z--b]", r"[a-z\x2d-b]"),
        ("x[+--]", r"x[+-\x2d]"),
        (r"\<a[^>]\>", "<a[^>]>"),
        (r#"{"a": [0-9]{,3}}"#, r#"\{"a": [0-9]{0,3}\}"#),
        (r"a\Z", "a$"),
    ] {
        assert_eq!(settled(regex).unwrap(), expected, "{regex}");
    }
    for regex in ["[[:alpha:]]", "[^x[:^digit:]]+", "[a[:word:]"] {
        assert_eq!(settled(regex), Err(FreeFault::Named), "{regex}");
    }
}

#[test]
fn a_regex_of_rusts_keeps_its_meaning_in_other_words() {
    for (regex, expected) in [
        ("[a-z&&[^b]]", "[ac-z]"),
        ("[[:alpha:]]{2}", "[A-Za-z]{2}"),
        ("x[a-z--b]+", "x[ac-z]+"),
        ("[]a]", r"[\x5da]"),
        // None of Rust's.
        ("[a[]{2}", r"[a\x5b]{2}"),
        (r"{a}", r"\{a\}"),
    ] {
        assert_eq!(settled_of_rust(regex).unwrap(), expected, "{regex}");
    }
    let long = format!("[a&&a]{}", "x".repeat(8 << 10));
    assert_eq!(settled_of_rust(&long), Err(FreeFault::Sets));
    assert!(matches!(settled_of_rust("[a&&a]**"), Ok(Cow::Borrowed(_))));
}

#[test]
fn a_flag_that_lets_blanks_say_nothing_is_seen_where_it_is_one() {
    for regex in ["(?x)[a-z&&[^b]]", "(?ix:[ a]b)", "a(?x: {2})"] {
        assert_eq!(settled(regex), Err(FreeFault::Verbose), "{regex}");
    }
    for regex in [
        "(?x)a b",
        "(?-x:[a])",
        "(?i)[a-z]x",
        r"\(?x[a]",
        "[(?x:][a]",
        "(?:x[a])",
    ] {
        assert_eq!(settled(regex).as_deref(), Ok(regex));
    }
    assert_eq!(settled(r"\(?max[[(]").as_deref(), Ok(r"\(?max[\x5b(]"));
    // Rust's own are read as Rust reads them.
    assert_eq!(settled_of_rust("(?x)[ a]b").as_deref(), Ok("ab"));
}
