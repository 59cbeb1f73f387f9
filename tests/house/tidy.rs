//! The tree is the architecture. What a package may use is said by its manifest, and checked by the
//! compiler; here stands the rest.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Production lines of one file.
const MAX_LINES: usize = 600;

/// What the pure core is not built from, at any depth: runtimes, threads, sockets, clocks and dice.
const IMPURE: &[&str] = &[
    "async-std",
    "chrono",
    "crossbeam-channel",
    "fastrand",
    "futures-executor",
    "hyper",
    "mio",
    "rand",
    "rayon",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "time",
    "tokio",
    "tower",
    "ureq",
];

struct SourceFile {
    /// Below the top of the tree.
    name: String,
    text: String,
    is_test: bool,
}

/// Every Rust file of the packages.
fn sources() -> Vec<SourceFile> {
    let root = isogloss_testing::root();
    let mut folders = vec![root.join("src")];
    for package in fs::read_dir(root.join("crates")).unwrap() {
        folders.push(package.unwrap().path().join("src"));
    }
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(source(&root, &path));
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

fn source(root: &Path, path: &PathBuf) -> SourceFile {
    let name = path.strip_prefix(root).unwrap().display().to_string();
    let is_test = name.starts_with("crates/testing/")
        || name
            .split(['/', '.'])
            .any(|part| part == "tests" || part.ends_with("_tests"));
    let text = fs::read_to_string(path).unwrap();
    SourceFile {
        name,
        text,
        is_test,
    }
}

#[track_caller]
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// The names of all packages that one is built from, itself included.
fn built_from(package: &str) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let tree = Command::new(cargo)
        .current_dir(isogloss_testing::root())
        .args(["tree", "--locked", "--offline", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}", "--package", package])
        .output()
        .unwrap();
    assert!(
        tree.status.success(),
        "{}",
        String::from_utf8_lossy(&tree.stderr)
    );
    let text = String::from_utf8(tree.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_core_is_built_from_nothing_that_does_io_waits_or_throws_dice() {
    let names = built_from("isogloss-core");
    assert!(names.contains("isogloss-core") && names.contains("serde_json"));
    let faults: Vec<String> = IMPURE
        .iter()
        .filter(|name| names.contains(**name))
        .map(|name| {
            format!("isogloss-core is built from {name}: `cargo tree -p isogloss-core -i {name}`")
        })
        .collect();
    none(&faults);
}

#[test]
fn nothing_of_the_proxy_is_built_from_the_kernels_unless_the_worker_is_asked_for() {
    for package in ["isogloss-core", "isogloss-compile"] {
        assert!(!built_from(package).contains("llama-cpp-2"), "{package}");
    }
    assert!(built_from("isogloss-worker").contains("llama-cpp-2"));
    assert!(!built_from("isogloss-worker").contains("isogloss"));
}

#[test]
fn every_file_says_first_what_it_is() {
    let faults: Vec<String> = sources()
        .iter()
        .filter(|file| !file.is_test && !file.text.starts_with("//! "))
        .map(|file| format!("{}: does not begin with `//!`", file.name))
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
        if !file.is_test && lines > MAX_LINES {
            let name = &file.name;
            faults.push(format!("{name}: {lines} lines, more than {MAX_LINES}"));
        }
    }
    none(&faults);
}

#[test]
fn modules_are_files_beside_their_folders() {
    let faults: Vec<String> = sources()
        .iter()
        .filter(|file| file.name.ends_with("/mod.rs"))
        .map(|file| format!("{}: name it for its module", file.name))
        .collect();
    none(&faults);
}
