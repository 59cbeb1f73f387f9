//! The real program, as a user starts it.

use isogloss_testing::adversary::case;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A running `isogloss serve`; it ends with the test.
pub struct Program {
    pub address: SocketAddr,
    child: Child,
}

impl Program {
    pub fn start(upstream: SocketAddr, dialect: &str, on_violation: &str) -> Self {
        let (dialect, markup) = case::parts(dialect);
        let markup = markup.map(|markup| ["--markup", markup]);
        let program = std::env::var("ISOGLOSS_BIN");
        let program = program.unwrap_or_else(|_| env!("CARGO_BIN_EXE_isogloss").to_owned());
        let mut child = Command::new(program)
            .args([
                "serve",
                "--upstream",
                &format!("http://{upstream}"),
                "--dialect",
                dialect,
            ])
            .args(markup.iter().flatten())
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--probe", "off", "--on-violation", on_violation])
            .env("ISOGLOSS_COMPILE_TIMEOUT", "60s")
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let hello = out.lines().next().unwrap().unwrap();
        let address = hello.split("http://").nth(1).unwrap();
        let address = address.split(',').next().unwrap().parse().unwrap();
        Self { address, child }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
