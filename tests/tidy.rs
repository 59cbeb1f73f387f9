//! The tree is the architecture: reads the source and fails where it says otherwise.
//!
//! The rows are those of the comments in `src/lib.rs`. Test modules may import what they like.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Production lines of one file.
const MAX_LINES: usize = 600;

/// The last row that knows no IO, no clock and no randomness.
const LAST_PURE_ROW: usize = 4;

/// What the pure rows never name.
const IMPURE: &[&str] = &[
    "tokio",
    "hyper",
    "hyper_util",
    "tower",
    "tower_http",
    "reqwest",
    "rand",
    "fs",
    "net",
    "process",
    "thread",
    "Instant",
    "SystemTime",
];

/// Exceptions from that: module, name, reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "compile",
        "tokio",
        "requests wait for a compilation (tokio::sync), never for IO",
    ),
    (
        "compile",
        "thread",
        "compiling runs on threads of its own, with big stacks",
    ),
    (
        "compile",
        "Instant",
        "compiling is bounded in time, and timed",
    ),
    (
        "schema",
        "thread",
        "a deep value is validated on a bigger stack, joined before the function returns",
    ),
];

/// Exceptions from the rows: who names whom, and why.
const NEIGHBOURS: &[(&str, &str, &str)] = &[
    (
        "json",
        "error",
        "what is wrong with a body is the client's error; `error` itself names nobody",
    ),
    (
        "probe",
        "exchange",
        "a server is asked in the very words that traffic will use; `exchange` knows nothing of probes",
    ),
    (
        "rewrap",
        "verify",
        "content that is no envelope is a violation; `verify` knows nothing of rewrapping",
    ),
];

struct SourceFile {
    /// Below `src`.
    name: String,
    /// The top module; empty for `lib.rs`, `main` for `main.rs`.
    module: String,
    text: String,
    /// Words and signs of production code: no comments, no literals, no test modules.
    tokens: Vec<Token>,
}

#[derive(Clone)]
struct Token {
    text: String,
    line: usize,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<SourceFile> {
    let src = root().join("src");
    let mut files = Vec::new();
    let mut folders = vec![src.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(source(&src, &path));
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

fn source(src: &Path, path: &Path) -> SourceFile {
    let name = path.strip_prefix(src).unwrap().display().to_string();
    let module = name.split('/').next().unwrap().trim_end_matches(".rs");
    let module = if module == "lib" { "" } else { module };
    let text = fs::read_to_string(path).unwrap();
    let is_test = name
        .split(['/', '.'])
        .any(|part| part == "tests" || part.ends_with("_tests"));
    let tokens = if is_test {
        Vec::new()
    } else {
        without_tests(tokens(&text))
    };
    SourceFile {
        module: module.to_owned(),
        name,
        tokens,
        text,
    }
}

/// Words and single signs, without comments and without the insides of literals.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied().unwrap_or('\0');
    let (mut tokens, mut index, mut line) = (Vec::new(), 0, 1);
    while index < chars.len() {
        let start = index;
        let c = at(index);
        let mut token = None;
        if c == '/' && at(index + 1) == '/' {
            while index < chars.len() && at(index) != '\n' {
                index += 1;
            }
        } else if c == '/' && at(index + 1) == '*' {
            index += 2;
            while index < chars.len() && !(at(index) == '*' && at(index + 1) == '/') {
                index += 1;
            }
            index += 2;
        } else if let Some(hashes) = raw_string(&chars, index) {
            let close: String = std::iter::once('"')
                .chain("#".repeat(hashes).chars())
                .collect();
            while at(index) != '"' {
                index += 1;
            }
            index += 1;
            while index < chars.len()
                && !chars[index..]
                    .iter()
                    .take(hashes + 1)
                    .collect::<String>()
                    .eq(&close)
            {
                index += 1;
            }
            index += hashes + 1;
        } else if c == '"' {
            index += 1;
            while index < chars.len() && at(index) != '"' {
                index += if at(index) == '\\' { 2 } else { 1 };
            }
            index += 1;
        } else if c == '\'' && (at(index + 1) == '\\' || at(index + 2) == '\'') {
            index += if at(index + 1) == '\\' { 3 } else { 2 };
            while index < chars.len() && at(index) != '\'' {
                index += 1;
            }
            index += 1;
        } else if c.is_alphanumeric() || c == '_' {
            while at(index).is_alphanumeric() || at(index) == '_' {
                index += 1;
            }
            token = Some(chars[start..index].iter().collect());
        } else {
            index += 1;
            token = (!c.is_whitespace()).then(|| c.to_string());
        }
        tokens.extend(token.map(|text| Token { text, line }));
        line += chars[start..index.min(chars.len())]
            .iter()
            .filter(|c| **c == '\n')
            .count();
    }
    tokens
}

/// How many hashes a raw string has that begins here.
fn raw_string(chars: &[char], index: usize) -> Option<usize> {
    let before = index.checked_sub(1).map_or(' ', |before| chars[before]);
    let rest = &chars[index..];
    let rest = match rest {
        ['b', 'r', rest @ ..] | ['r', rest @ ..] => rest,
        _ => return None,
    };
    let hashes = rest.iter().take_while(|c| **c == '#').count();
    let is_raw = rest.get(hashes) == Some(&'"') && !(before.is_alphanumeric() || before == '_');
    is_raw.then_some(hashes)
}

/// Takes out every item behind `#[cfg(test)]`.
fn without_tests(tokens: Vec<Token>) -> Vec<Token> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut index) = (Vec::new(), 0);
    while index < tokens.len() {
        let is_mark = tokens[index..]
            .iter()
            .map(|token| token.text.as_str())
            .take(MARK.len())
            .eq(MARK);
        if !is_mark {
            kept.push(tokens[index].clone());
            index += 1;
            continue;
        }
        // The item ends with its block, or with a semicolon outside of any.
        let mut depth = 0;
        index += MARK.len();
        while let Some(token) = tokens.get(index) {
            index += 1;
            match token.text.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" if depth == 1 => break,
                "}" | ")" | "]" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

/// Each module's row, from the comments of `lib.rs`.
fn rows() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut rows = BTreeMap::new();
    let mut row = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("// row ") {
            row = Some(rest.split(':').next().unwrap().parse().unwrap());
        } else if let Some(name) = line.strip_prefix("pub mod ") {
            let row = row.expect("lib.rs: a module stands before the first `// row N:`");
            rows.insert(name.trim_end_matches(';').to_owned(), row);
        }
    }
    rows
}

/// The top modules that `crate::…` paths name, groups included, each with its line.
fn imports(tokens: &[Token]) -> Vec<(String, usize)> {
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    for index in 0..tokens.len() {
        let is_path = text(index) == "crate" && text(index + 1) == ":" && text(index + 2) == ":";
        if !is_path {
            continue;
        }
        if text(index + 3) != "{" {
            found.push((text(index + 3).to_owned(), tokens[index].line));
            continue;
        }
        // `use crate::{error::Kind, ir::{Loss, Plan}};`: words at depth 1 behind `{` or `,`.
        let (mut depth, mut inner) = (1, index + 4);
        while depth > 0 && inner < tokens.len() {
            match text(inner) {
                "{" => depth += 1,
                "}" => depth -= 1,
                word if depth == 1 && matches!(text(inner - 1), "{" | ",") => {
                    found.push((word.to_owned(), tokens[inner].line));
                }
                _ => {}
            }
            inner += 1;
        }
    }
    found
}

#[track_caller]
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn a_module_imports_only_from_rows_above_its_own() {
    let rows = rows();
    let mut faults = Vec::new();
    for file in sources() {
        let Some(own) = rows.get(&file.module) else {
            continue;
        };
        for (module, line) in imports(&file.tokens) {
            let is_above = rows.get(&module).is_some_and(|row| row < own);
            let is_neighbour = NEIGHBOURS
                .iter()
                .any(|(from, to, _)| *from == file.module && *to == module);
            if module != file.module && !is_above && !is_neighbour {
                let (name, from) = (&file.name, &file.module);
                let row = rows
                    .get(&module)
                    .map_or("no row".to_owned(), |row| format!("row {row}"));
                faults.push(format!(
                    "src/{name}:{line}: `{from}` (row {own}) names `{module}` ({row})"
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn every_module_has_a_row_and_every_row_is_a_module() {
    let rows = rows();
    let mut modules: Vec<String> = sources().into_iter().map(|file| file.module).collect();
    modules.retain(|module| !module.is_empty() && module != "main");
    modules.sort();
    modules.dedup();
    let listed: Vec<String> = rows.into_keys().collect();
    assert_eq!(modules, listed);
}

/// Impure names as parts of paths: fields and methods may be called what they like.
fn impure(tokens: &[Token]) -> Vec<&Token> {
    let mut is_use = false;
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "use" => is_use = true,
            ";" => is_use = false,
            word if IMPURE.contains(&word) => {
                let is_type = word.starts_with(char::is_uppercase);
                let is_path = tokens.get(index + 1).is_some_and(|next| next.text == ":")
                    && tokens.get(index + 2).is_some_and(|next| next.text == ":");
                if is_use || is_type || is_path {
                    found.push(token);
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn the_pure_rows_know_no_io_no_clock_and_no_randomness() {
    let rows = rows();
    let mut faults = Vec::new();
    for file in sources() {
        if rows
            .get(&file.module)
            .is_none_or(|row| *row > LAST_PURE_ROW)
        {
            continue;
        }
        for token in impure(&file.tokens) {
            let word = token.text.as_str();
            let is_allowed = ALLOWED
                .iter()
                .any(|(module, name, _)| *module == file.module && *name == word);
            if !is_allowed {
                let (name, line) = (&file.name, token.line);
                faults.push(format!("src/{name}:{line}: a pure row names `{word}`"));
            }
        }
    }
    none(&faults);
}

#[test]
fn of_tokio_the_compiler_names_what_waits_and_nothing_that_does_io() {
    let mut faults = Vec::new();
    for file in sources().iter().filter(|file| file.module == "compile") {
        for tokens in file.tokens.windows(4) {
            let text: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
            let names = text[0] == "tokio" && text[1] == ":" && text[2] == ":";
            if names && !matches!(text[3], "sync" | "time") {
                faults.push(format!(
                    "src/{}:{}: names tokio::{}",
                    file.name, tokens[0].line, text[3]
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn every_file_says_first_what_it_is() {
    let faults: Vec<String> = sources()
        .iter()
        .filter(|file| !file.tokens.is_empty() && !file.text.starts_with("//! "))
        .map(|file| format!("src/{}: does not begin with `//!`", file.name))
        .collect();
    none(&faults);
}

#[test]
fn no_file_grows_beyond_what_a_person_reads_at_once() {
    let mut faults = Vec::new();
    for file in sources() {
        // Comments and blank lines count: they are read as well. Tests stand at the end.
        let tests = file.text.find("#[cfg(test)]\nmod ");
        let production = &file.text[..tests.unwrap_or(file.text.len())];
        let lines = production.lines().count();
        if !file.tokens.is_empty() && lines > MAX_LINES {
            let name = &file.name;
            faults.push(format!("src/{name}: {lines} lines, more than {MAX_LINES}"));
        }
    }
    none(&faults);
}

#[test]
fn modules_are_files_beside_their_folders() {
    let faults: Vec<String> = sources()
        .iter()
        .filter(|file| file.name.ends_with("mod.rs"))
        .map(|file| format!("src/{}: name it for its module", file.name))
        .collect();
    none(&faults);
}

#[test]
fn the_reader_of_this_test_sees_imports_and_nothing_else() {
    let text = r##"
        //! crate::comment
        use crate::{error::Kind, ir::{Loss, Plan}};
        /* crate::block */
        const A: &str = "crate::literal \" crate::more";
        const B: &str = r#"crate::raw " crate::raw"#;
        fn f<'a>(x: &'a str, c: char) -> bool { c == '"' || crate::rules::f(x) }
        #[cfg(test)]
        mod tests { use crate::cli; fn g() {} }
        use crate::schema::Schema;
    "##;
    let found: Vec<String> = imports(&without_tests(tokens(text)))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(found, ["error", "ir", "rules", "schema"]);
}
