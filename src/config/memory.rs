//! How much memory there is for the process: what the kernel tells of the machine and of the control groups in; the
//! defaults of `limits.memory_budget` and `limits.cache_bytes` out.

use std::fs;
use std::path::Path;

/// The proxy is not alone on its machine, and what it holds is not all that it takes.
const SHARE: usize = 4;
/// Enough for some large requests at once; less would refuse what is common.
const LEAST: usize = 256 << 20;
/// Where the kernel tells nothing.
const UNKNOWN: usize = 4 << 30;
/// What is kept of compiled schemas takes half as much again as is estimated: with the least budget, the store and the
/// process it stays within the 512 MiB that the manifests allow.
const CACHED_SHARE: usize = 8;
/// Some thousand large schemas. More memory is for requests.
const MOST_CACHED: usize = 256 << 20;

/// A quarter of the memory that there is, and no less than 256 MiB.
pub(super) fn budget() -> usize {
    budget_of(there_is(of_kernel).unwrap_or(UNKNOWN))
}

/// An eighth of the memory that there is, and no more than 256 MiB.
pub(super) fn caches() -> usize {
    caches_of(there_is(of_kernel).unwrap_or(UNKNOWN))
}

fn of_kernel(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn budget_of(memory: usize) -> usize {
    (memory / SHARE).max(LEAST)
}

fn caches_of(memory: usize) -> usize {
    (memory / CACHED_SHARE).min(MOST_CACHED)
}

/// The least of the machine's memory and the limits of the control groups that the process is in.
fn there_is(read: impl Fn(&Path) -> Option<String>) -> Option<usize> {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| total(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|group| limits(group, &read));
    limits.chain(machine).min()
}

/// `MemTotal:       16314580 kB`
fn total(meminfo: &str) -> Option<usize> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// `0::/user.slice` in the second version, `9:memory:/docker/1f` in the first. A group's limit is also that of those
/// in it. Within a container the path may be the host's, and then only the top is there.
fn limits(group: &str, read: impl Fn(&Path) -> Option<String>) -> Vec<usize> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
        return Vec::new();
    };
    let (top, file) = if controllers.is_empty() {
        ("/sys/fs/cgroup", "memory.max")
    } else if controllers.split(',').any(|name| name == "memory") {
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
    } else {
        return Vec::new();
    };
    let below = Path::new(path.trim_start_matches('/'));
    // The word `max` is no number, and a first version without a limit tells one beyond any machine.
    let limit = |folder: &Path| {
        read(&Path::new(top).join(folder).join(file))?
            .trim()
            .parse()
            .ok()
    };
    below.ancestors().filter_map(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Option<usize> {
        there_is(|path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        })
    }

    const MACHINE: (&str, &str) = (
        "/proc/meminfo",
        "MemTotal:       1048576 kB\nMemFree: 5 kB\n",
    );

    #[test]
    fn the_least_of_machine_and_groups_counts() {
        const SLICE: &str = "/sys/fs/cgroup/system.slice/memory.max";
        const SERVICE: &str = "/sys/fs/cgroup/system.slice/isogloss.service/memory.max";
        let group = ("/proc/self/cgroup", "0::/system.slice/isogloss.service\n");
        assert_eq!(found(&[MACHINE]), Some(1 << 30));
        assert_eq!(found(&[MACHINE, group, (SERVICE, "max\n")]), Some(1 << 30));
        assert_eq!(found(&[MACHINE, group, (SERVICE, "1000\n")]), Some(1000));
        let both = [MACHINE, group, (SERVICE, "1000\n"), (SLICE, "900\n")];
        assert_eq!(found(&both), Some(900));
    }

    #[test]
    fn in_a_container_the_top_is_the_groups_own() {
        let second = [
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/memory.max", "5000\n"),
        ];
        assert_eq!(found(&second), Some(5000));
        let first = [
            MACHINE,
            (
                "/proc/self/cgroup",
                "9:memory:/docker/1f\n3:cpu,cpuacct:/docker/1f\n",
            ),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n"),
        ];
        assert_eq!(found(&first), Some(7000));
    }

    #[test]
    fn what_is_held_by_default_fits_into_what_the_manifests_allow() {
        /// The store, the console's requests, and the process with its threads.
        const ELSE: usize = (32 + 16 + 64) << 20;
        let allowed = 512 << 20;
        let caches = caches_of(allowed);
        assert_eq!(caches, 64 << 20);
        // With what was written for servers and the plans, and more than is estimated.
        let caches = (caches + caches / 4) * 3 / 2;
        assert!(budget_of(allowed) + caches + ELSE <= allowed);
        assert_eq!(caches_of(2 << 30), 256 << 20);
        assert_eq!(caches_of(64 << 30), 256 << 20);
    }

    #[test]
    fn where_nothing_is_told_there_is_a_budget_all_the_same() {
        assert_eq!(found(&[]), None);
        assert!(budget() >= LEAST);
        assert!(caches() <= MOST_CACHED);
    }
}
