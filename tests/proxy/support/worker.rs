//! A worker of the test's own: this very test program, started again through a small script, in
//! the part of `isogloss worker`. It answers over its Unix socket with fixed words, and dies when
//! a request says so.

use isogloss::upstream::Launch;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use super::chat::{GOOD, completion, content, last, role};
use isogloss_compile::at_work::{self, Mark, Notes};
use isogloss_testing::scripted::find;

/// The name of the test that plays the worker.
const PART: &str = "supervisor::plays_the_worker";

/// A worker that can be launched, and what is known of its processes.
pub struct Fake {
    folder: tempfile::TempDir,
    script: PathBuf,
}

impl Fake {
    /// `habits`: words of [`play`].
    pub fn new(habits: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("worker");
        let program = std::env::current_exe().unwrap();
        let text = format!(
            "#!/bin/sh\nFAKE_FOLDER='{}' FAKE_HABITS='{habits}' FAKE_ARGUMENTS=\"$*\" exec '{}' --exact {PART} --nocapture\n",
            folder.path().display(),
            program.display()
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        Self { folder, script }
    }

    pub fn launch(&self) -> Launch {
        Launch::program(self.script.clone())
    }

    pub fn script(&self) -> &std::path::Path {
        &self.script
    }

    /// From now on, processes have these habits.
    pub fn change(&self, from: &str, to: &str) {
        let text = std::fs::read_to_string(&self.script).unwrap();
        // Written aside and moved: a script that is being read must not change.
        let aside = self.folder.path().join("aside");
        std::fs::write(&aside, text.replace(from, to)).unwrap();
        std::fs::set_permissions(&aside, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::rename(aside, &self.script).unwrap();
    }

    /// The ids of the processes that were started, in order.
    pub fn started(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.folder.path().join("started"));
        let text = text.unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// The command line of the last process.
    pub fn arguments(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("arguments")).unwrap()
    }
}

/// Whether a process runs; one that only waits to be reaped does not.
pub fn runs(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != Some('Z'))
}

/// Plays the worker, where this process was started as one.
pub fn play() {
    let Some(folder) = std::env::var_os("FAKE_FOLDER").map(PathBuf::from) else {
        return;
    };
    let habits = std::env::var("FAKE_HABITS").unwrap();
    let has = |word: &str| habits.split(' ').any(|habit| habit == word);
    let number = |word: &str| {
        let habit = habits
            .split(' ')
            .find_map(|habit| habit.strip_prefix(word))?;
        Some(Duration::from_millis(habit.parse().unwrap()))
    };
    let arguments = std::env::var("FAKE_ARGUMENTS").unwrap();
    std::fs::write(folder.join("arguments"), &arguments).unwrap();
    let mut started = std::fs::OpenOptions::new();
    let started = started.create(true).append(true);
    let mut started = started.open(folder.join("started")).unwrap();
    writeln!(started, "{}", std::process::id()).unwrap();
    assert!(std::env::vars().all(|(name, _)| !name.starts_with("ISOGLOSS_")));
    let is_deaf = has("deaf");
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut bytes);
        if !is_deaf {
            std::process::exit(0);
        }
    });
    if has("fails") {
        say(r#"{"event":"failed","message":"model.gguf is no GGUF file"}"#);
        std::process::exit(1);
    }
    if has("dies") {
        std::process::exit(3);
    }
    if has("chatters") {
        for line in 0..20_000 {
            eprintln!("line {line}: {}", "x".repeat(2_000));
        }
    }
    if let Some(time) = number("loads-") {
        for percent in 0..10 {
            say(&format!(
                r#"{{"event":"loading","model":"tiny","progress":0.{percent}}}"#
            ));
            std::thread::sleep(time / 10);
        }
    }
    let listener = UnixListener::bind(socket().unwrap()).unwrap();
    say("what native code prints {");
    say(
        r#"{"event":"ready","models":["tiny"],"seconds":0.1,"device":"CPU","layers":2,"offloaded":0}"#,
    );
    if let Some(time) = number("dies-after-") {
        std::thread::sleep(time);
        std::process::abort();
    }
    serve(&listener);
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Answers until the process ends.
pub fn serve(listener: &UnixListener) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        std::thread::spawn(move || answer(stream));
    }
}

/// Says that a computation never ends, which it does not.
fn stuck() {
    say(r#"{"event":"stuck","what":"a forward pass","seconds":300.0}"#);
    std::thread::sleep(Duration::from_secs(3_600));
}

/// Under which number work on a request's constraint is noted, where it has one.
fn mark(head: &str) -> Option<Mark> {
    let name = format!("{}: ", at_work::HEADER);
    let number = head.split(&name).nth(1)?.split("\r\n").next()?;
    let notes = Notes::open(&at_work::beside(&socket()?)).ok()?;
    notes.mark(number)
}

/// Where this process listens, where it was started as the worker.
fn socket() -> Option<PathBuf> {
    let arguments = std::env::var("FAKE_ARGUMENTS").ok()?;
    let mut arguments = arguments.split(' ');
    arguments.find_map(|argument| Some(argument.strip_prefix("--socket=")?.into()))
}

/// One request and its answer, as its text demands.
fn answer(mut stream: UnixStream) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let (head, length) = loop {
        let count = stream.read(&mut buffer).unwrap_or(0);
        if count == 0 {
            return;
        }
        bytes.extend_from_slice(&buffer[..count]);
        let Some(end) = find(&bytes, b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1);
        let length = length.map_or(0, |rest| {
            rest.split("\r\n").next().unwrap().parse::<usize>().unwrap()
        });
        if bytes.len() >= end + 4 + length {
            break (head, length);
        }
    };
    let body = String::from_utf8_lossy(&bytes[bytes.len() - length..]).into_owned();
    let mut write = |text: &str| {
        let _ = stream.write_all(text.as_bytes());
    };
    let mut whole = |kind: &str, text: &str| {
        let length = text.len();
        write(&format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
        ));
    };
    if head.starts_with("get /metrics ") {
        return whole("text/plain", "isogloss_worker_steps_total 9\n");
    }
    let habits = std::env::var("FAKE_HABITS").unwrap_or_default();
    if head.starts_with("get /props ") && habits.contains("tells-template") {
        return whole(
            "application/json",
            r#"{"chat_template":"{{ bos }}[ARGS][CALL_ID]"}"#,
        );
    }
    if head.starts_with("get ") {
        return whole(
            "application/json",
            r#"{"object":"list","data":[{"id":"tiny","owned_by":"isogloss"}]}"#,
        );
    }
    let mark = mark(&head);
    let at_work = ["CRASH AT WORK", "WORK FOR EVER"].map(|words| body.contains(words));
    let _at_work = mark
        .iter()
        .find_map(|mark| at_work.contains(&true).then(|| mark.at_work()));
    if at_work[1] {
        std::thread::sleep(Duration::from_secs(3600));
    }
    if at_work[0] || body.contains("CRASH AT ONCE") {
        std::process::abort();
    }
    if body.contains("GET STUCK AT ONCE") {
        stuck();
    }
    if body.contains("BE SLOW") {
        std::thread::sleep(Duration::from_millis(500));
    }
    let is_cut = body.contains("CUT SHORT");
    if !body.contains(r#""stream":true"#) {
        if body.contains("CRASH") {
            write(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{",
            );
            std::thread::sleep(Duration::from_millis(50));
            std::process::abort();
        }
        let text = if is_cut { r#"{\"a\""# } else { GOOD };
        let steered = match body.contains("NEAR ITS END") {
            true => "application/json\r\nx-isogloss-steered: 5\r\nx-isogloss-unplanned: 1",
            false => "application/json",
        };
        return whole(steered, &completion(text));
    }
    write(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    );
    let mut chunk = |text: &str| write(&format!("{:x}\r\n{text}\r\n", text.len()));
    chunk(&role());
    chunk(&content(r#"{\"a\""#));
    if body.contains("GET STUCK") {
        stuck();
    }
    if body.contains("CRASH") {
        std::thread::sleep(Duration::from_millis(50));
        std::process::abort();
    }
    if !is_cut {
        chunk(&content(": 1}"));
    }
    chunk(&last());
    write("0\r\n\r\n");
}
