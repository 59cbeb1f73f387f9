//! The tables in the documentation are what the program says. `UPDATE_DOCS=1` writes them anew.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use isogloss::config::{SETTINGS, settings_markdown};
use isogloss::telemetry::families_markdown;
use isogloss_core::error::{Kind, Side};
use isogloss_core::rules::{RuleSet, matrix_markdown};

/// Compares what stands between `<!-- name:begin -->` and `<!-- name:end -->` with the table.
#[track_caller]
fn stands_in(file: &str, name: &str, table: &str) {
    let path = isogloss_testing::root().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (
        format!("<!-- {name}:begin -->\n"),
        format!("<!-- {name}:end -->"),
    );
    let (Some((before, rest)), true) = (text.split_once(&begin), text.contains(&end)) else {
        panic!("{file}: the markers of `{name}` are missing");
    };
    let (found, after) = rest.split_once(&end).unwrap();
    if found == table {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    panic!("{file}: the table `{name}` is stale: run UPDATE_DOCS=1 cargo test --test house docs");
}

#[test]
fn the_readme_shows_the_matrix_of_the_rules_and_the_metrics() {
    stands_in("README.md", "matrix", &matrix_markdown(&RuleSet::builtin()));
    stands_in("README.md", "metrics", &families_markdown());
}

// One test for one file: two that write it at once would lose a table.
#[test]
fn the_reference_shows_settings_and_errors() {
    let file = "docs/reference.md";
    stands_in(file, "config", &settings_markdown());
    stands_in(file, "errors", &errors_markdown());
}

/// The worker's families, from what it says of them itself.
#[cfg(feature = "worker")]
#[test]
fn the_reference_shows_the_workers_metrics() {
    use isogloss_worker::metrics::{Metrics, Now};
    let page = Metrics::default().render(&Now::default());
    let mut table = String::from("| family | kind | what it says |\n|---|---|---|\n");
    let mut help = "";
    for line in page.lines() {
        if let Some(found) = line.strip_prefix("# HELP ") {
            help = found.split_once(' ').unwrap().1;
        } else if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|found| found.split_once(' '))
        {
            table += &format!("| `{name}` | {kind} | {help} |\n");
        }
    }
    stands_in("docs/worker-metrics.md", "metrics", &table);
}

fn errors_markdown() -> String {
    let mut table =
        String::from("| code | status | whose doing | `error.type` |\n|---|---|---|---|\n");
    for kind in Kind::ALL {
        let side = match kind.side() {
            Side::Client => "client",
            Side::Upstream => "upstream",
            Side::Proxy => "proxy",
        };
        let (code, status, kind) = (kind.code(), kind.status(), kind.openai_type());
        table += &format!("| `{code}` | {status} | {side} | `{kind}` |\n");
    }
    table
}

#[test]
fn the_example_file_in_the_readme_is_a_good_configuration() {
    let readme = include_str!("../../README.md");
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    std::fs::write(&file, example).unwrap();
    let config = isogloss::config::load(&isogloss::config::Sources {
        flags: Vec::new(),
        upstreams: Vec::new(),
        dialect: None,
        file: Some(file),
        env: &|name| (name == "OPENAI_API_KEY").then(|| "sk-example".to_owned()),
        needs_upstream: true,
    });
    let config = config.unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.upstreams.len(), 2);
}

#[test]
fn the_readme_names_only_flags_that_exist() {
    let readme = include_str!("../../README.md");
    let flags = SETTINGS.iter().filter_map(|setting| setting.flag);
    let others = [
        "upstream",
        "dialect",
        "config",
        "release",
        "file",
        "reply",
        "json",
        "markdown",
        "light",
        "full",
        "model",
        "features",
        "no-default-features",
        "bench",
        "locked",
        "target",
        "path",
        "port",
        "set",
        "web",
    ];
    let known: Vec<&str> = flags.chain(others).collect();
    let words = readme.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    for word in words {
        if let Some(flag) = word
            .strip_prefix("--")
            .filter(|flag| flag.starts_with(char::is_alphabetic))
        {
            // `--upstream`s is the plural of a flag.
            assert!(known.contains(&flag), "the README names --{flag}");
        }
    }
}
