//! The proxy as a process of its own, so that its memory is its own.

use super::super::Failure;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starting and identifying take milliseconds.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// The running proxy; ended when dropped.
pub(super) struct Child {
    process: std::process::Child,
    pub(super) base_url: String,
    admin: String,
}

impl Child {
    /// Starts the proxy in front of a server, with nothing but defaults.
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
        let process = command
            .env("RUST_LOG", "warn")
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--upstream", upstream, "--dialect", "vllm@0.12"])
            // What is measured is traffic.
            .args(["--probe", "off"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        // From here on, dropping ends the process.
        let mut child = Self {
            process,
            base_url: String::new(),
            admin: String::new(),
        };
        child.read_addresses()?;
        Ok(child)
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
        self.admin = admin.to_owned();
        Ok(())
    }

    pub(super) async fn wait_until_ready(&self, client: &reqwest::Client) -> Result<(), Failure> {
        let ready = async {
            loop {
                let asked = client.get(format!("{}/readyz", self.admin)).send().await;
                if asked.is_ok_and(|answer| answer.status().is_success()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(READY_WITHIN, ready)
            .await
            .map_err(|_| Failure::Runtime("the proxy is not ready after 10 s".to_owned()))
    }

    /// Resident memory in bytes; `None` where the system does not tell it as Linux does.
    pub(super) fn rss(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kib << 10)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
