//! The tables in the documentation are what the program says (`UPDATE_DOCS=1` writes them anew), its links lead
//! somewhere, and nothing is named that does not exist. Commands are run by `tests/deploy/test_pages.py`.

use isogloss::config::{SETTINGS, settings_markdown};
use isogloss::telemetry::families_markdown;
use isogloss_core::error::{Kind, Side};
use isogloss_core::rules::{RuleSet, matrix_markdown};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a person reads in three minutes.
const README_LINES: usize = 150;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The pages of one folder, by name.
fn pages_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut pages: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .collect();
    pages.sort();
    pages
}

/// The README and everything in `docs/`: what users read.
fn manual() -> Vec<PathBuf> {
    let mut pages = pages_in(&root().join("docs"));
    pages.push(root().join("README.md"));
    pages
}

/// Compares what stands between `<!-- name:begin -->` and `<!-- name:end -->` with the table.
#[track_caller]
fn stands_in(file: &str, name: &str, table: &str) {
    let path = root().join(file);
    let text = read(&path);
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
fn the_page_on_servers_shows_the_matrix_of_the_rules() {
    let matrix = matrix_markdown(&RuleSet::builtin());
    stands_in("docs/servers.md", "matrix", &matrix);
}

#[test]
fn the_page_on_metrics_shows_every_family() {
    stands_in("docs/metrics.md", "metrics", &families_markdown());
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

/// What stands between fences of this language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let parts = text.split(fence.as_str()).skip(1);
    parts
        .map(|rest| rest.split_once("```").unwrap().0)
        .collect()
}

#[test]
fn every_example_of_a_configuration_file_is_a_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("isogloss.toml");
    let mut upstreams = Vec::new();
    // Clients have files of their own.
    let is_ours = |page: &PathBuf| !page.ends_with("docs/clients.md");
    for page in manual().into_iter().filter(is_ours) {
        for example in blocks(&read(&page), "toml") {
            std::fs::write(&file, example).unwrap();
            let config = isogloss::config::load(&isogloss::config::Sources {
                markup: None,
                flags: Vec::new(),
                upstreams: Vec::new(),
                dialect: None,
                file: Some(file.clone()),
                env: &|name| (name == "OPENAI_API_KEY").then(|| "sk-example".to_owned()),
                needs_upstream: true,
                words: &isogloss::config::any_word,
            });
            let config = config.unwrap_or_else(|faults| panic!("{}: {faults}", page.display()));
            upstreams.push(config.upstreams.len());
        }
    }
    upstreams.sort_unstable();
    assert_eq!(upstreams, [1, 1, 2, 2, 3]);
}

/// Flags of other programs, of `cargo`'s and `docker`'s builds, and of commands that have no settings.
const OTHER_FLAGS: [&str; 60] = [
    "once",
    "request",
    // Of those that ask a running proxy.
    "admin-ca-file",
    "admin-client-cert-file",
    "admin-client-key-file",
    "output",
    "beside",
    "open",
    "upstream",
    "dialect",
    "config",
    "profile",
    "release",
    "file",
    "reply",
    "json",
    // Of `batch`.
    "errors",
    "retry-failed",
    "retries",
    // Of `benches/race/run`.
    "awake",
    "gateways",
    "rounds",
    "slow-readers",
    "saturation",
    "settle",
    "seconds",
    "only",
    "server",
    // Of `tests/ray/run`.
    "requests",
    "rows",
    "markdown",
    "markup",
    "light",
    "full",
    "features",
    "no-default-features",
    // Of vLLM.
    "host",
    "locked",
    "target",
    "path",
    "port",
    "set",
    "web",
    "socket",
    "nocapture",
    "test",
    "rm",
    "add-host",
    "proxy",
    "tokens",
    "reasoning-parser",
    "enable-auto-tool-choice",
    "tool-call-parser",
    "served-model-name",
    // Of agent programs.
    "allowedTools",
    "output-schema",
    "skip-trust",
    "yolo",
    "prompt",
    "auth-type",
];

#[test]
fn the_pages_name_only_flags_that_exist() {
    let flags = SETTINGS.iter().filter_map(|setting| setting.flag);
    let known: BTreeSet<&str> = flags.chain(OTHER_FLAGS).collect();
    let mut named = 0;
    for page in manual() {
        let text = read(&page);
        // Rulers of tables begin with dashes too.
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        for word in words {
            if let Some(flag) = word
                .strip_prefix("--")
                .filter(|flag| flag.starts_with(char::is_alphabetic))
            {
                // `--upstream`s is the plural of a flag.
                assert!(known.contains(flag), "{} names --{flag}", page.display());
                named += 1;
            }
        }
    }
    assert!(named > 50, "{named} flags were found");
}

#[test]
fn the_readme_is_read_in_three_minutes() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(
        lines <= README_LINES,
        "README.md has {lines} lines, {README_LINES} may be: move what few need to a page in docs/"
    );
}

#[test]
fn the_index_has_one_line_for_each_page() {
    let index = root().join("docs/README.md");
    let text = read(&index);
    for page in pages_in(&root().join("docs")) {
        let name = page.file_name().unwrap().to_str().unwrap();
        let entry = format!("- [{name}]({name}): ");
        let lines = text.lines().filter(|line| line.starts_with(&entry)).count();
        let wanted = usize::from(page != index);
        assert_eq!(
            lines, wanted,
            "docs/README.md: lines that begin with `{entry}`"
        );
    }
}

/// Text without what is code: neither fenced blocks nor spans between backticks.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let outside = line.split('`').step_by(2).collect::<Vec<_>>();
            prose += &outside.join("`");
            prose.push('\n');
        }
    }
    prose
}

/// The names that a page's headings have in links, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let title = line.trim_start_matches('#');
        if fenced || title == line || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c => c.is_alphanumeric().then_some(c),
        });
        let name: String = kept.flat_map(char::to_lowercase).collect();
        let again = (1..).map(|count| format!("{name}-{count}"));
        let mut candidates = std::iter::once(name.clone()).chain(again);
        let free = candidates.find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// The links of a page that lead nowhere. Other sites are not asked.
fn dead_links(page: &Path, text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| {
        let (target, _) = rest.split_once(')')?;
        (!target.contains("://")).then_some(target)
    });
    let is_dead = |target: &&str| {
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let found = page.parent().unwrap().join(path);
        let names = match path {
            "" => anchors(text),
            _ if path.ends_with(".md") && found.is_file() => anchors(&read(&found)),
            _ => BTreeSet::new(),
        };
        !found.exists() || !(anchor.is_empty() || names.contains(anchor))
    };
    targets.filter(is_dead).map(str::to_owned).collect()
}

#[test]
fn every_link_between_pages_leads_to_a_file_and_a_heading() {
    let mut pages = manual();
    for folder in ["", "benches", "rules", "models/builtin", "models/train"] {
        pages.extend(pages_in(&root().join(folder)));
    }
    let mut dead = Vec::new();
    for page in pages {
        let links = dead_links(&page, &read(&page));
        dead.extend(
            links
                .iter()
                .map(|link| format!("{}: {link}", page.display())),
        );
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn a_link_to_a_missing_file_or_heading_is_dead_and_code_is_no_link() {
    let page = root().join("docs/reference.md");
    let text = "# A page: with `code_too`, (twice)\n## Same\n## Same\n```sh\n# No heading\n[x](no.md)\n```\n\
        [a](design.md) [b](design.md#packages-and-rows) [c](#same-1) [d](#a-page-with-code_too-twice) [e](https://example.com/x)\n\
        [f](none.md) [g](design.md#none) [h](#no-heading) `[i](none.md)` [j](../src/lib.rs) [k](../src/lib.rs#none)\n";
    assert_eq!(
        dead_links(&page, text),
        [
            "none.md",
            "design.md#none",
            "#no-heading",
            "../src/lib.rs#none"
        ]
    );
    let names = anchors(text);
    let expected = ["a-page-with-code_too-twice", "same", "same-1"];
    assert_eq!(names, expected.map(str::to_owned).into());
}
