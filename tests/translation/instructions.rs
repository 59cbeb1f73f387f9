//! How many instructions the hot path takes, as callgrind counts them: counts, not times, so that a machine's mood does
//! not matter. None may grow by more than a twentieth over `tests/data/instructions.txt`: where keys are hashed at random,
//! one run differs a little from the next. `UPDATE_RATCHET=1` writes what is there now, and with which compiler.

use crate::hot_path::Ratchet;
use isogloss_testing::hot::hot_path;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Runs of what takes little, so that one of them does not count alone.
const RUNS: u64 = 20;

/// What is counted, by its name.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
}

/// Callgrind runs this program again, and this test of it.
#[test]
#[ignore = "callgrind runs it"]
fn under_callgrind() {
    for (_, times, mut work) in hot_path() {
        work();
        let runs = RUNS.div_ceil(times);
        counted(&mut || (0..runs).for_each(|_| work()));
    }
}

fn compiler() -> Option<String> {
    let told = Command::new("rustc").arg("--version").output().ok()?;
    let version = String::from_utf8(told.stdout).ok()?;
    Some(format!("{} on {}", version.trim(), std::env::consts::ARCH))
}

/// Instructions of each kind of work.
fn counts() -> BTreeMap<&'static str, u64> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let name = "*::instructions::counted";
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={name}"))
        .arg(format!("--dump-after={name}"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "instructions::under_callgrind",
            "--ignored",
            "--test-threads=1",
        ])
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    let works = hot_path();
    let counts = (1..).zip(works).map(|(number, (what, times, _))| {
        let dump = fs::read_to_string(format!("{}.{number}", out.display())).unwrap();
        let total = dump.lines().find_map(|line| line.strip_prefix("totals: "));
        let total: u64 = total.unwrap().trim().parse().unwrap();
        (what, total / (RUNS.div_ceil(times) * times))
    });
    counts.collect()
}

#[test]
fn the_hot_path_takes_no_more_instructions_than_it_did() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: valgrind is not installed");
        return;
    }
    let with = isogloss_testing::root().join("tests/data/instructions-compiler.txt");
    let compiler = compiler().unwrap_or_default();
    if std::env::var_os("UPDATE_RATCHET").is_some() {
        fs::write(&with, format!("{compiler}\n")).unwrap();
    } else if fs::read_to_string(&with).unwrap().trim() != compiler {
        println!("skipped: the counts are of another compiler than {compiler}");
        return;
    }
    let kept = Ratchet::at("tests/data/instructions.txt");
    kept.hold(&counts(), "instructions", |known| known + known / 20);
}
