//! One processor for the proxy that is measured, the others for the load and the server.

use super::super::Failure;
use super::program::Program;
use std::fs;
use std::process::{Command, Stdio};

/// Processors by number, as `taskset` takes them: `1,2,3`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cores {
    /// For the proxy.
    one: String,
    /// For who asks, and who answers.
    others: String,
    all: String,
}

impl Cores {
    /// Those that this program may use.
    ///
    /// # Errors
    /// The system does not tell them as Linux does, or there is only one.
    pub(super) fn of_this_machine() -> Result<Self, Failure> {
        let failed = |why: &str| Failure::Runtime(format!("--saturation: {why}"));
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let list =
            list.ok_or_else(|| failed("the system does not tell which processors there are"))?;
        Self::split(list)
            .ok_or_else(|| failed("it takes two processors: one for the proxy, one for who asks"))
    }

    /// `0-3,8` as Linux writes it.
    fn split(list: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        for part in list.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            numbers.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
        }
        let joined = |numbers: &[u32]| {
            let words: Vec<_> = numbers.iter().map(u32::to_string).collect();
            words.join(",")
        };
        let (one, others) = numbers.split_first()?;
        (!others.is_empty()).then(|| Self {
            one: one.to_string(),
            others: joined(others),
            all: joined(&numbers),
        })
    }

    /// The proxy to its one, and this process to the others, until the guard is dropped.
    pub(super) fn bind<'a>(&'a self, proxy: &'a Program) -> Result<Bound<'a>, Failure> {
        let bound = Bound { cores: self, proxy };
        for pid in proxy.family() {
            bind(pid, &self.one)?;
        }
        bind(std::process::id(), &self.others)?;
        Ok(bound)
    }
}

/// A proxy on one processor; it may use all again once this is dropped.
pub(super) struct Bound<'a> {
    cores: &'a Cores,
    proxy: &'a Program,
}

impl Drop for Bound<'_> {
    fn drop(&mut self) {
        let own = std::process::id();
        for pid in self.proxy.family().into_iter().chain([own]) {
            // What has ended meanwhile needs none.
            let _ = bind(pid, &self.cores.all);
        }
    }
}

/// All threads of a process; what they start is bound as they are.
fn bind(pid: u32, cores: &str) -> Result<(), Failure> {
    let done = Command::new("taskset")
        .args(["-a", "-c", "-p", cores, &pid.to_string()])
        .stdout(Stdio::null())
        .status();
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Runtime(format!("--saturation: taskset: {status}"))),
        Err(error) => Err(Failure::Runtime(format!(
            "--saturation needs taskset (util-linux): {error}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::Cores;

    #[test]
    fn the_first_is_the_proxys_and_one_alone_is_not_enough() {
        let cores = Cores::split("\t0-2,8\n");
        let cores = cores.map(|cores| (cores.one, cores.others, cores.all));
        let wanted = ["0", "1,2,8", "0,1,2,8"].map(str::to_owned);
        assert_eq!(cores, Some(wanted.into()));
        assert_eq!(Cores::split("4"), None);
        assert_eq!(Cores::split("0-x"), None);
    }
}
