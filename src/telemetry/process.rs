//! The process itself: what Linux tells of it in `/proc/self` in, the usual `process_*` families out.
//! The recorder's counters are whole numbers, so these lines are written here.

use super::families as family;
use super::families::Family;
use std::fmt::Write as _;
use std::fs;

/// `USER_HZ`: what the kernel tells programs, whatever its own clock is.
const TICKS_PER_SECOND: f64 = 100.0;

/// What one look found.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Process {
    cpu_seconds: f64,
    resident_bytes: f64,
    open_files: f64,
    max_files: f64,
}

/// The families of the process; nothing where there is no `/proc`.
pub(super) fn render() -> String {
    look().map(|found| text(&found)).unwrap_or_default()
}

fn look() -> Option<Process> {
    let read = |name| fs::read_to_string(format!("/proc/self/{name}")).ok();
    Some(Process {
        cpu_seconds: cpu_seconds(&read("stat")?)?,
        resident_bytes: resident_bytes(&read("status")?)?,
        // The listing itself holds one.
        open_files: (fs::read_dir("/proc/self/fd").ok()?.count().max(1) - 1) as f64,
        max_files: max_files(&read("limits")?)?,
    })
}

/// Of `stat`: user and system time are the 14th and 15th field; the 2nd, in brackets, may hold
/// anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

fn resident_bytes(status: &str) -> Option<f64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes = line.trim().strip_suffix("kB")?.trim();
    Some(kibibytes.parse::<f64>().ok()? * 1024.0)
}

fn max_files(limits: &str) -> Option<f64> {
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"))?;
    match line.split_whitespace().next()? {
        "unlimited" => Some(f64::INFINITY),
        soft => soft.parse().ok(),
    }
}

fn text(found: &Process) -> String {
    let mut text = String::new();
    let mut family = |family: &Family, value: f64| {
        let (name, help, kind) = (family.name, family.help, family.kind.as_str());
        let value = if value.is_finite() {
            value.to_string()
        } else {
            "+Inf".to_owned()
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n\n"
        );
    };
    family(&family::CPU_TIME, found.cpu_seconds);
    family(&family::RESIDENT, found.resident_bytes);
    family(&family::OPEN_FILES, found.open_files);
    family(&family::MAX_FILES, found.max_files);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_as_they_are_written() {
        let stat = "7 (a) b (c) S 1 2 3 0 -1 4194560 92 0 0 0 150 51 0 0 20 0 3 0 9 1 2";
        assert_eq!(cpu_seconds(stat), Some(2.01));
        assert_eq!(
            resident_bytes("VmPeak:\t9 kB\nVmRSS:\t   12 kB\n"),
            Some(12_288.0)
        );
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files   1024   4096   files\n";
        assert_eq!(max_files(limits), Some(1024.0));
        assert_eq!(
            max_files("Max open files unlimited unlimited files"),
            Some(f64::INFINITY)
        );
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        assert_eq!(cpu_seconds("7 a"), None);
        assert_eq!(resident_bytes("VmRSS: much"), None);
        assert_eq!(max_files(""), None);
    }

    #[test]
    fn a_family_has_help_type_and_one_value() {
        let found = Process {
            cpu_seconds: 0.25,
            resident_bytes: 4096.0,
            open_files: 9.0,
            max_files: f64::INFINITY,
        };
        let text = text(&found);
        assert!(text.contains(
            "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 0.25\n"
        ));
        assert!(
            text.contains("\nprocess_resident_memory_bytes 4096\n"),
            "{text}"
        );
        assert!(text.ends_with("\nprocess_max_fds +Inf\n\n"), "{text}");
    }
}
