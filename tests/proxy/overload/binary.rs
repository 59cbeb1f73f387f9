//! The real program, where its memory and its file descriptors are measured.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running program; ends with the test.
pub struct Binary {
    child: Child,
    pub address: SocketAddr,
    pub admin: SocketAddr,
}

impl Binary {
    /// With what a shell does before it, and these flags; ready for requests.
    pub fn start(before: &str, upstream: &str, flags: &[&str]) -> Self {
        let script = format!("{before} exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            if name
                .to_str()
                .is_some_and(|name| name.starts_with("ISOGLOSS_"))
            {
                command.env_remove(&name);
            }
        }
        let mut child = command
            .args(["-c", &script, env!("CARGO_BIN_EXE_isogloss"), "serve"])
            .args(["--upstream", upstream, "--probe", "off"])
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(flags)
            .env("RUST_LOG", "error")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut hello = String::new();
        out.read_line(&mut hello).unwrap();
        let mut found = hello.split("http://").skip(1);
        let mut next = || {
            found
                .next()
                .unwrap()
                .split(',')
                .next()
                .unwrap()
                .trim()
                .parse()
                .unwrap()
        };
        let (address, admin) = (next(), next());
        let binary = Self {
            child,
            address,
            admin,
        };
        let begun = Instant::now();
        while !binary.tells("/readyz").starts_with("HTTP/1.1 200") {
            assert!(begun.elapsed() < Duration::from_secs(20), "never ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        binary
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What operators are told.
    pub fn tells(&self, path: &str) -> String {
        let mut stream = std::net::TcpStream::connect(self.admin).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream
            .read_to_string(&mut reply)
            .expect("operators get no answer");
        reply
    }

    /// The value of a metric without labels, or of one that is written like this.
    pub fn metric(&self, name: &str) -> f64 {
        let page = self.tells("/metrics");
        let line = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// A line of the process's status, in MiB.
    fn status(&self, name: &str) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap();
        let kib: f64 = line
            .trim_start_matches(':')
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        kib / 1024.0
    }

    /// The memory that it has.
    pub fn resident(&self) -> f64 {
        self.status("VmRSS")
    }

    /// The most that it ever had.
    pub fn peak(&self) -> f64 {
        self.status("VmHWM")
    }

    /// Waits until it holds no bytes of anybody.
    pub async fn until_it_holds_nothing(&self) {
        let begun = Instant::now();
        while self.metric("isogloss_buffered_bytes") != 0.0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "bytes leak");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
