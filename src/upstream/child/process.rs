//! One process of the worker: started with its standard input, output and error piped to us; what
//! it says comes out as messages, what it complains of goes to the log.

use super::events::{Event, MAX_EVENT_BYTES, each_line, printable};
use std::ffi::OsString;
use std::io::{self, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Of one line of the log; longer ones are cut.
const MAX_LOG_BYTES: usize = 1_000;
/// Lines of the log that may come at once, and how often one more may.
const LOG_BURST: u32 = 100;
const LOG_PAUSE: Duration = Duration::from_millis(50);

/// What was heard from a process.
#[derive(Debug)]
pub(super) struct Message {
    /// Which process.
    pub(super) generation: u64,
    pub(super) said: Word,
}

#[derive(Debug)]
pub(super) enum Word {
    Event(Event),
    /// It closed its standard output.
    Quiet,
}

/// A process that runs, or is not yet reaped. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Option<Child>,
    /// The process ends when this closes, however the proxy itself ends.
    stdin: Option<ChildStdin>,
}

/// The program that becomes the worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    program: Option<PathBuf>,
}

impl Launch {
    /// This very program.
    #[must_use]
    pub const fn this_program() -> Self {
        Self { program: None }
    }

    /// Another program that takes the same command line.
    #[must_use]
    pub const fn program(path: PathBuf) -> Self {
        Self {
            program: Some(path),
        }
    }

    fn path(&self) -> io::Result<PathBuf> {
        match &self.program {
            Some(path) => Ok(path.clone()),
            None => this_program(),
        }
    }
}

/// The file that this process runs, even where an upgrade has put another in its place: the two
/// halves of the program must be of one version.
fn this_program() -> io::Result<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let named = std::env::current_exe();
    let running = Path::new("/proc/self/exe");
    let file = |path: &Path| std::fs::metadata(path).map(|file| (file.dev(), file.ino()));
    match (&named, file(running)) {
        (Ok(path), Ok(own)) if file(path).is_ok_and(|named| named == own) => named,
        (_, Ok(_)) => Ok(running.to_owned()),
        (_, Err(_)) => named,
    }
}

impl Process {
    /// Starts a process of its own group, so that Ctrl-C in a terminal reaches the proxy alone,
    /// and the worker lives until the proxy's streams are drained. It gets none of the proxy's
    /// variables: settings come with the command line, and API keys are none of its business.
    pub(super) fn start(
        launch: &Launch,
        arguments: &[OsString],
        generation: u64,
        inbox: mpsc::Sender<Message>,
    ) -> io::Result<Self> {
        let mut command = Command::new(launch.path()?);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"ISOGLOSS_") {
                command.env_remove(&name);
            }
        }
        if std::env::var_os("OMP_WAIT_POLICY").is_none() {
            // Threads of the forward pass that spin between two steps take the processor from
            // whoever else wants it, and wait for one another all the longer: with one busy
            // neighbour on two cores 28 tokens a second became 2.
            command.env("OMP_WAIT_POLICY", "passive");
            if std::env::var_os("GOMP_SPINCOUNT").is_none() {
                // They meet hundreds of times a step, mostly within microseconds. To be woken costs
                // tens of them where an idle virtual processor is given back to its host: with
                // sleep alone a model of 17 M made 90 tokens a second, with this look first 390.
                command.env("GOMP_SPINCOUNT", "500");
            }
        }
        let child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let mut process = Self {
            child: Some(child),
            stdin: None,
        };
        // From here on, dropping ends it.
        if let Some(child) = &mut process.child {
            process.stdin = child.stdin.take();
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            named("worker events").spawn(move || listen(stdout, generation, &inbox))?;
            named("worker log").spawn(move || log(stderr))?;
        }
        Ok(process)
    }

    /// Asks it to end.
    pub(super) fn ask(&mut self) {
        self.stdin = None;
    }

    pub(super) fn kill(&mut self) {
        self.stdin = None;
        if let Some(child) = &mut self.child {
            let _gone_already = child.kill();
        }
    }

    /// How it ended, where it has.
    pub(super) fn ended(&mut self) -> Option<End> {
        let status = self.child.as_mut()?.try_wait();
        match status {
            Ok(None) => None,
            Ok(Some(status)) => {
                self.child = None;
                Some(End {
                    how: how(status),
                    is_own_doing: status.signal().is_some_and(is_own_doing),
                })
            }
            Err(error) => Some(End {
                how: format!("nothing is known of its end: {error}"),
                is_own_doing: false,
            }),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if let Some(mut child) = self.child.take() {
            // A process that was killed is gone in a moment; it must not stay a zombie.
            let _ = named("worker end").spawn(move || child.wait());
        }
    }
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// How a process ended.
#[derive(Debug)]
pub(super) struct End {
    /// For people.
    pub(super) how: String,
    /// It died of what it did: nobody killed it, and it did not end by itself.
    pub(super) is_own_doing: bool,
}

/// Whether a process gets this signal for what its own code does: SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSEGV, and under
/// the number that the system has for it SIGBUS.
const fn is_own_doing(signal: i32) -> bool {
    let bus = if cfg!(target_os = "linux") { 7 } else { 10 };
    matches!(signal, 4 | 5 | 6 | 8 | 11) || signal == bus
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(9)) => {
            "it was killed (signal 9), perhaps for want of memory: try a smaller model or --context"
                .to_owned()
        }
        (_, Some(signal)) => format!("it was ended by signal {signal}"),
        (Some(code), None) => format!("it exited with {code}"),
        (None, None) => "it ended".to_owned(),
    }
}

fn listen(stdout: Option<ChildStdout>, generation: u64, inbox: &mpsc::Sender<Message>) {
    let tell = |said| {
        // The supervisor is gone only when the process is to be killed.
        let _ = inbox.blocking_send(Message { generation, said });
    };
    if let Some(stdout) = stdout {
        each_line(BufReader::new(stdout), MAX_EVENT_BYTES, |line| {
            if let Some(event) = Event::read(line) {
                tell(Word::Event(event));
            }
        });
    }
    tell(Word::Quiet);
}

/// Reads as fast as the process writes, whatever becomes of the lines: it must never wait for us.
fn log(stderr: Option<ChildStderr>) {
    let Some(stderr) = stderr else { return };
    let mut rate = Rate::new(Instant::now());
    each_line(BufReader::new(stderr), MAX_LOG_BYTES, |line| {
        if line.is_empty() {
            return;
        }
        let Some(left_out) = rate.admit(Instant::now()) else {
            return;
        };
        if left_out > 0 {
            tracing::warn!(target: "isogloss::worker", left_out, "the worker wrote too many lines");
        }
        relay(line);
    });
}

/// Writes a line of the worker as one of our own. What is no line of its log is a native
/// library's last word.
fn relay(line: &[u8]) {
    let (level, text) = logged(line).unwrap_or_else(|| {
        let text = String::from_utf8_lossy(line).into_owned();
        ("WARN".to_owned(), text)
    });
    let text = printable(&text, MAX_LOG_BYTES);
    match level.as_str() {
        "ERROR" => tracing::error!(target: "isogloss::worker", "{text}"),
        "WARN" => tracing::warn!(target: "isogloss::worker", "{text}"),
        "INFO" => tracing::info!(target: "isogloss::worker", "{text}"),
        _ => tracing::debug!(target: "isogloss::worker", "{text}"),
    }
}

/// Level and text of a line of the worker's log.
fn logged(line: &[u8]) -> Option<(String, String)> {
    let serde_json::Value::Object(line) = isogloss_core::json::value_of(line).ok()? else {
        return None;
    };
    // llama.cpp warns of what is meant: one cache for all slots is larger than one conversation.
    let is_native = line.get("target").and_then(|target| target.as_str()) == Some("llama");
    let level = match line.get("level")?.as_str()? {
        "WARN" if is_native => "DEBUG".to_owned(),
        level => level.to_owned(),
    };
    let mut text = line.get("message")?.as_str()?.to_owned();
    for (name, value) in &line {
        if !matches!(name.as_str(), "timestamp" | "level" | "message" | "target") {
            text += &format!(" {name}={value}");
        }
    }
    Some((level, text))
}

/// How many lines may still be logged.
#[derive(Debug)]
struct Rate {
    room: u32,
    at: Instant,
    left_out: u64,
}

impl Rate {
    const fn new(at: Instant) -> Self {
        Self {
            room: LOG_BURST,
            at,
            left_out: 0,
        }
    }

    /// How many lines were left out before this one; `None` where it is left out too.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        let pauses = now.saturating_duration_since(self.at).as_nanos() / LOG_PAUSE.as_nanos();
        if pauses > 0 {
            let more = u32::try_from(pauses).unwrap_or(LOG_BURST);
            self.room = self.room.saturating_add(more).min(LOG_BURST);
            self.at = now;
        }
        let Some(room) = self.room.checked_sub(1) else {
            self.left_out += 1;
            return None;
        };
        self.room = room;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_chatters_is_cut_short_and_the_log_says_by_how_much() {
        let begin = Instant::now();
        let mut rate = Rate::new(begin);
        for _ in 0..LOG_BURST {
            assert_eq!(rate.admit(begin), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(rate.admit(begin), None);
        }
        assert_eq!(rate.admit(begin + LOG_PAUSE), Some(7));
        assert_eq!(rate.admit(begin + LOG_PAUSE), None);
        let later = begin + 1_000_000 * LOG_PAUSE;
        assert_eq!(rate.admit(later), Some(1));
        assert_eq!(rate.room, LOG_BURST - 1);
    }

    #[test]
    fn the_end_of_a_process_is_told_in_words() {
        assert_eq!(how(ExitStatus::from_raw(6)), "it was ended by signal 6");
        assert_eq!(how(ExitStatus::from_raw(3 << 8)), "it exited with 3");
        assert!(how(ExitStatus::from_raw(9)).contains("memory"));
    }

    #[test]
    fn this_program_is_the_file_that_runs() {
        let path = this_program().map(|path| path.is_absolute());
        assert!(matches!(path, Ok(true)));
    }
}
