//! Round trips held against what they were before, so that no proxy passes by refusing everything:
//! `data/simulated-ratchet.txt` has for each server how many requests went how, and
//! `data/simulated-faults.txt` what is known to go wrong, each with its reason.

use super::figures::{Counts, Figures};
use super::promises::Reason;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

/// Both sets write the same file.
static WRITING: Mutex<()> = Mutex::new(());

type Table = BTreeMap<(String, String), Counts>;

fn path(name: &str) -> PathBuf {
    isogloss_testing::root().join("tests/data").join(name)
}

fn known_table() -> Table {
    let text = std::fs::read_to_string(path("simulated-ratchet.txt")).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split_whitespace();
            let mut name = || words.next().unwrap().to_owned();
            let key = (name(), name());
            let counts: Vec<usize> = words.map(|word| word.parse().unwrap()).collect();
            (key, Counts::of(counts.try_into().unwrap()))
        })
        .collect()
}

fn write(set: &str, all: &[Figures]) {
    let _guard = WRITING.lock().unwrap();
    let mut table = known_table();
    table.retain(|(its, _), _| its != set);
    let name = |figures: &Figures| (set.to_owned(), figures.notes.label.to_owned());
    table.extend(all.iter().map(|figures| (name(figures), figures.counts)));
    let line = |((set, label), counts): (&(String, String), &Counts)| {
        let counts = counts.all().map(|count| count.to_string()).join(" ");
        format!("{set} {label} {counts}\n")
    };
    let lines: String = table.iter().map(line).collect();
    let head: Vec<&str> = Figures::HEAD.split_whitespace().collect();
    let text = format!("# set {}\n{lines}", head.join(" "));
    std::fs::write(path("simulated-ratchet.txt"), text).unwrap();
}

/// What a count may be off by where the model's words come out otherwise: they are random, if always
/// the same for the same requests, and one more request to a server makes all that follow others.
fn slack(before: usize) -> usize {
    2 + 2 * before.isqrt()
}

/// In what way it is worse than before.
pub(crate) fn worse(before: &Counts, now: &Counts) -> Vec<String> {
    let translated = |counts: &Counts| counts.exact + counts.partly;
    let fewer = [
        ("requests", before.trips, now.trips, 0),
        ("carried exactly", before.exact, now.exact, 0),
        (
            "exactly or with the proxy's help",
            translated(before),
            translated(now),
            0,
        ),
        (
            "right",
            before.right,
            now.right,
            slack(before.trips - before.right),
        ),
    ];
    let more = [
        ("refused by the proxy", before.refused, now.refused, 0),
        ("refused by the server", before.by_server, now.by_server, 0),
        (
            "asked again",
            before.asked_again,
            now.asked_again,
            slack(before.asked_again),
        ),
        (
            "reported",
            before.reported,
            now.reported,
            slack(before.reported),
        ),
        ("cut", before.cut, now.cut, slack(before.cut)),
    ];
    let fewer = fewer
        .iter()
        .filter(|(_, before, now, slack)| now + slack < *before);
    let more = more
        .iter()
        .filter(|(_, before, now, slack)| *now > before + slack);
    let told = |(what, before, now, _): &(&str, usize, usize, usize)| {
        format!("{what}: {now}, before {before}")
    };
    fewer.chain(more).map(told).collect()
}

fn is_update() -> bool {
    std::env::var_os("UPDATE_RATCHET").is_some()
}

/// Fails where any server fares worse than before.
pub(crate) fn hold(set: &str, all: &[Figures]) {
    if is_update() {
        return write(set, all);
    }
    let known = known_table();
    let mut faults = Vec::new();
    for figures in all {
        let label = figures.notes.label;
        let worse = match known.get(&(set.to_owned(), label.to_owned())) {
            Some(before) => worse(before, &figures.counts),
            None => vec!["is not in the table".to_owned()],
        };
        faults.extend(worse.iter().map(|worse| format!("{label}: {worse}")));
    }
    assert!(
        faults.is_empty(),
        "{set}: fares worse, or is new (UPDATE_RATCHET=1 writes it down):\n{}",
        faults.join("\n")
    );
}

// --- what is known to go wrong -------------------------------------------------------------------

/// One fault: what, of which server, and whatever tells it from others.
type Fault = [String; 4];

fn known_faults(set: &str) -> BTreeSet<Fault> {
    let text = std::fs::read_to_string(path("simulated-faults.txt")).unwrap();
    let mut all = BTreeSet::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<String> = line.split(" | ").map(str::to_owned).collect();
        let [its, what, label, subject, words, why]: [String; 6] = parts
            .try_into()
            .unwrap_or_else(|_| panic!("six parts, the last of them the reason: {line}"));
        assert!(why.len() > 20, "a reason that says nothing: {line}");
        if its == set {
            assert!(all.insert([what, label, subject, words]), "twice: {line}");
        }
    }
    all
}

fn faults(figures: &Figures) -> BTreeSet<Fault> {
    let fault = |what: &str, subject: &str, words: &str| {
        [what, figures.notes.label, subject, words].map(str::to_owned)
    };
    let refused = figures.by_server.keys();
    let refused = refused.map(|(subject, words)| fault("refused", subject, words));
    let unheld = figures.excused.keys().filter_map(|reason| match reason {
        Reason::Unheld(held) => Some(fault("unheld", "carried exactly", &format!("{held:?}"))),
        _ => None,
    });
    let broken = figures.broken.keys();
    let broken = broken.map(|(subject, rule)| fault("broken", subject, rule));
    refused.chain(unheld).chain(broken).collect()
}

/// Fails where a server refuses what the proxy wrote, or says what breaks the demand although the proxy
/// calls it carried exactly, and it is not listed; and where what is listed no longer happens.
pub(crate) fn hold_faults(set: &str, all: &[Figures], is_whole: bool) {
    let known = known_faults(set);
    let found: BTreeSet<Fault> = all.iter().flat_map(faults).collect();
    let lines = |faults: Vec<&Fault>| -> Vec<String> {
        faults
            .iter()
            .map(|fault| format!("{set} | {}", fault.join(" | ")))
            .collect()
    };
    let new = lines(found.difference(&known).collect());
    let stale = lines(known.difference(&found).filter(|_| is_whole).collect());
    assert!(
        new.is_empty(),
        "not in simulated-faults.txt (mend the translation, or list each with its reason):\n{}",
        new.join("\n")
    );
    assert!(
        stale.is_empty(),
        "no longer happens, so it does not belong into simulated-faults.txt:\n{}",
        stale.join("\n")
    );
}

// --- of itself -----------------------------------------------------------------------------------

const BEFORE: Counts = Counts::of([100, 60, 20, 10, 80, 9, 6, 8, 2, 4]);

#[test]
fn a_proxy_that_refuses_everything_is_worse() {
    let refusing = Counts::of([100, 0, 0, 0, 0, 0, 0, 100, 0, 0]);
    assert!(worse(&BEFORE, &refusing).len() >= 4);
    let one_more = Counts {
        refused: 9,
        ..BEFORE
    };
    assert_eq!(
        worse(&BEFORE, &one_more),
        ["refused by the proxy: 9, before 8"]
    );
}

#[test]
fn a_proxy_that_instructs_where_it_carried_is_worse() {
    let instructing = Counts {
        exact: 59,
        instructed: 11,
        ..BEFORE
    };
    assert_eq!(worse(&BEFORE, &instructing).len(), 2);
    let helping = Counts {
        exact: 59,
        partly: 21,
        ..BEFORE
    };
    assert_eq!(worse(&BEFORE, &helping), ["carried exactly: 59, before 60"]);
}

#[test]
fn other_words_of_the_model_are_no_worse_and_many_more_retries_are() {
    let others = Counts {
        right: 78,
        asked_again: 12,
        reported: 8,
        ..BEFORE
    };
    assert!(worse(&BEFORE, &others).is_empty());
    let worn = Counts {
        asked_again: 20,
        ..BEFORE
    };
    assert_eq!(worse(&BEFORE, &worn), ["asked again: 20, before 9"]);
}

#[test]
fn a_proxy_that_carries_more_is_no_worse() {
    let better = Counts::of([100, 80, 10, 5, 95, 2, 1, 5, 0, 0]);
    assert!(worse(&BEFORE, &better).is_empty());
}
