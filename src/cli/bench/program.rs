//! A proxy as a process of its own, so that its memory and its time are its own.

use super::super::Failure;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starting and identifying take milliseconds.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Programs that load half of Python before they listen.
const FOREIGN_READY_WITHIN: Duration = Duration::from_secs(120);

/// A running proxy; ended when dropped.
pub(super) struct Program {
    process: Child,
    pub(super) name: String,
    pub(super) base_url: String,
    /// Answers with 200 once the proxy serves.
    ready_url: String,
    /// What it calls the server's model.
    pub(super) model: String,
    /// Of every request.
    pub(super) headers: http::HeaderMap,
    /// Not of this program and not set up by it: what it cannot do is told, and ends nothing.
    pub(super) may_fail: bool,
}

impl Program {
    /// Starts this program in front of a server, with nothing but defaults.
    pub(super) fn start(upstream: &str) -> Result<Self, Failure> {
        let failed = |error| Failure::Runtime(format!("cannot start the proxy: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(program);
        let own = |name: &str| name.starts_with("ISOGLOSS_") || name == "RUST_LOG";
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(own) {
                command.env_remove(&name);
            }
        }
        command
            .env("RUST_LOG", "warn")
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--upstream", upstream, "--dialect", "vllm@0.12"])
            // What is measured is traffic, all of it.
            .args(["--probe", "off", "--concurrency", "16384"])
            .stdout(Stdio::piped());
        let mut program = Self::spawn("isogloss", &mut command, String::new())?;
        program.read_addresses()?;
        Ok(program)
    }

    /// Starts a proxy that serves at an address which was told to it.
    pub(super) fn spawn(
        name: &str,
        command: &mut Command,
        address: String,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::Runtime(format!("cannot start {name}: {error}"));
        let process = command.stdin(Stdio::null()).spawn().map_err(failed)?;
        // From here on, dropping ends the process.
        Ok(Self {
            process,
            name: name.to_owned(),
            base_url: format!("http://{address}/v1"),
            ready_url: format!("http://{address}/v1/models"),
            model: super::load::MODEL.to_owned(),
            headers: http::HeaderMap::new(),
            may_fail: false,
        })
    }

    /// What the file of others says of it.
    pub(super) fn serves(
        &mut self,
        base: &str,
        ready: &str,
        model: &str,
        headers: http::HeaderMap,
    ) {
        let origin = self.base_url.trim_end_matches("/v1").to_owned();
        self.base_url = format!("{origin}{base}");
        self.ready_url = format!("{origin}{ready}");
        model.clone_into(&mut self.model);
        self.headers = headers;
        self.may_fail = true;
    }

    /// Reads on until a line is an address, of which the origin counts.
    pub(super) fn read_own_address(&mut self) -> Result<(), Failure> {
        let silent = || Failure::Runtime(format!("{} told no address", self.name));
        let stdout = self.process.stdout.take().ok_or_else(silent)?;
        let (sender, told) = std::sync::mpsc::sync_channel(1);
        // Goes on reading: a pipe that nobody empties would stop the program.
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if line.starts_with("http://") {
                    // Nobody listens any more after the first.
                    let _ = sender.try_send(line);
                }
            }
        });
        let line = told
            .recv_timeout(FOREIGN_READY_WITHIN)
            .map_err(|_| silent())?;
        let rest = line.trim_start_matches("http://");
        let address = rest.split('/').next().unwrap_or_default();
        self.base_url = format!("http://{address}/v1");
        Ok(())
    }

    /// Reads the addresses off the first line that the proxy prints.
    fn read_addresses(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        if let Some(stdout) = self.process.stdout.take() {
            let mut lines = BufReader::new(stdout);
            // No line is as good as a line without addresses.
            let _ = lines.read_line(&mut line);
            // Kept open: a closed pipe would fail the lines that follow.
            self.process.stdout = Some(lines.into_inner());
        }
        let mut urls = line
            .split_whitespace()
            .filter(|word| word.starts_with("http://"))
            .map(|url| url.trim_end_matches(','));
        let (Some(listen), Some(admin)) = (urls.next(), urls.next()) else {
            return Err(Failure::Runtime(
                "the proxy did not start: its own message stands above".to_owned(),
            ));
        };
        self.base_url = format!("{listen}/v1");
        self.ready_url = format!("{admin}/readyz");
        Ok(())
    }

    pub(super) async fn wait_until_ready(&self, client: &reqwest::Client) -> Result<(), Failure> {
        let ready = async {
            loop {
                let asked = client.get(&self.ready_url).send().await;
                // Who has no such route serves others.
                let is_there = |status: http::StatusCode| status.is_success() || status == 404;
                if asked.is_ok_and(|answer| is_there(answer.status())) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let within = if self.may_fail {
            FOREIGN_READY_WITHIN
        } else {
            READY_WITHIN
        };
        let late = |_| {
            let seconds = within.as_secs();
            Failure::Runtime(format!("{} is not ready after {seconds} s", self.name))
        };
        tokio::time::timeout(within, ready).await.map_err(late)
    }

    /// The processes of which it consists.
    pub(super) fn family(&self) -> Vec<u32> {
        family(self.process.id())
    }

    /// Resident memory in bytes, of the process and its children; `None` where the system does not tell it as
    /// Linux does.
    pub(super) fn rss(&self) -> Option<u64> {
        let of = |pid: u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("VmRSS:"))?;
            let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
            Some(kib << 10)
        };
        self.family().into_iter().map(of).sum()
    }

    /// How long processors have worked for it, the kernel's part included; `None` as above.
    pub(super) fn cpu(&self) -> Option<Duration> {
        let of = |pid: u32| {
            let mut nanoseconds = 0;
            for task in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
                let path = task.ok()?.path().join("schedstat");
                // A thread may end while it is looked at.
                let told = fs::read_to_string(path).unwrap_or_default();
                let first = told.split_whitespace().next();
                nanoseconds += first.and_then(|time| time.parse::<u64>().ok()).unwrap_or(0);
            }
            Some(Duration::from_nanos(nanoseconds))
        };
        self.family().into_iter().map(of).sum()
    }
}

/// A process and what it has started.
fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        let told = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let told = told.unwrap_or_default();
        found.extend(
            told.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
        next += 1;
    }
    found
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; children of one that is killed would go on.
        for pid in family(self.process.id()).into_iter().skip(1) {
            let _ = Command::new("kill").arg(pid.to_string()).status();
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
