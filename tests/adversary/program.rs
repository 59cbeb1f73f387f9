//! The real program, as a user starts it.

use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// However busy the machine is, a request's line is in the log by then.
const PATIENCE: Duration = Duration::from_secs(20);

/// The outcome of each request, as the program's log tells it when the reply has ended.
#[derive(Default)]
struct Log {
    outcomes: Mutex<HashMap<String, String>>,
    came: Condvar,
}

impl Log {
    fn follow(self: &Arc<Self>, lines: ChildStderr) {
        let log = Arc::clone(self);
        thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).unwrap_or_default();
                let (id, outcome) = (&line["span"]["request_id"], &line["outcome"]);
                if let (Some(id), Some(outcome)) = (id.as_str(), outcome.as_str()) {
                    let mut outcomes = log.outcomes.lock().unwrap();
                    outcomes.insert(id.to_owned(), outcome.to_owned());
                    log.came.notify_all();
                }
            }
        });
    }
}

/// A running `isogloss serve`; it ends with the test.
pub struct Program {
    pub address: SocketAddr,
    child: Child,
    log: Arc<Log>,
}

impl Program {
    pub fn start(upstream: SocketAddr, dialect: &str, on_violation: &str) -> Self {
        // Others refuse what is wrong: nobody has to read what they tell of it.
        let is_told = on_violation == "pass";
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
            .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
            .args(["--probe", "off", "--on-violation", on_violation])
            .args(["--log-format", "json"])
            .env_remove("RUST_LOG")
            .stdout(Stdio::piped())
            .stderr(if is_told {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .spawn()
            .unwrap();
        let log = Arc::<Log>::default();
        if let Some(lines) = child.stderr.take() {
            log.follow(lines);
        }
        let out = BufReader::new(child.stdout.take().unwrap());
        let hello = out.lines().next().unwrap().unwrap();
        let address = hello.split("http://").nth(1).unwrap();
        let address = address.split(',').next().unwrap().parse().unwrap();
        Self {
            address,
            child,
            log,
        }
    }

    /// How this request ended, as the log tells; empty where it does not.
    pub fn outcome(&self, request_id: &str) -> String {
        let outcomes = self.log.outcomes.lock().unwrap();
        let is_missing = |known: &mut HashMap<String, String>| !known.contains_key(request_id);
        let waited = self
            .log
            .came
            .wait_timeout_while(outcomes, PATIENCE, is_missing);
        waited.unwrap().0.remove(request_id).unwrap_or_default()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
