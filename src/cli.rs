//! Flags to a running process: arguments in, printed answers or a serving proxy out.

mod batch;
mod bench;
mod check;
mod console;
mod demands;
mod dialects;
mod explain;
mod files;
mod findings;
mod flags;
mod healthcheck;
mod key;
mod manual;
mod operator;
mod overview;
mod probe;
mod recorded;
mod reload;
mod serve;
mod top;
mod wire;
mod words;
#[cfg(feature = "worker")]
mod worker;

use crate::config::Faults;
use clap::{CommandFactory as _, Parser, Subcommand};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;

/// Why the program ends with an error. The binary gives each its exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It did not work; empty where the answer itself, already printed, says so.
    Runtime(String),
    /// The command line is wrong.
    Usage(String),
    /// The configuration or a rule file is wrong.
    Config(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime(text) | Self::Usage(text) | Self::Config(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        if faults.is_usage() {
            Self::Usage(faults.to_string())
        } else {
            Self::Config(faults.to_string())
        }
    }
}

/// A reverse proxy that translates structured-output dialects between LLM clients and inference
/// servers, and verifies every reply against what the client asked for.
#[derive(Debug, Parser)]
#[command(name = "isogloss", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy in front of one or more servers.
    Serve(serve::Args),
    /// Answer every request of a file: OpenAI's batch format in and out, to be gone on with after a stop.
    Batch(batch::Args),
    /// Show what would be done with a request, and with a recorded reply to it.
    Explain(explain::Args),
    /// Show what each server is sent for each demand.
    Dialects(dialects::Args),
    /// Ask a running server what it is and what it enforces, and show how each demand will be met.
    Probe(probe::Args),
    /// Check the configuration and the rule files.
    Check(check::Args),
    /// Measure what the proxy adds in front of a scripted server on this machine.
    Bench(bench::Args),
    /// Watch a running proxy in the terminal.
    Top(top::Args),
    /// Ask a running proxy whether it can serve; exits with 1 where it cannot.
    Healthcheck(healthcheck::Args),
    /// Make a key for a client.
    Key(key::Args),
    /// Print a shell's completion script.
    Completions(manual::CompletionsArgs),
    /// Print the manual page, of the program or of one command.
    Man(manual::ManArgs),
    /// Run the bundled decoding worker alone; `serve --model` starts it by itself.
    #[cfg(feature = "worker")]
    Worker(worker::Args),
}

/// Runs the program.
///
/// # Errors
/// Why it ends with an error; `--help` and `--version` are no errors.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Result<(), Failure> {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return Err(Failure::Usage(error.to_string())),
        Err(help) => return print(&help.to_string()),
    };
    match cli.command {
        Command::Serve(args) => serve::run(args),
        Command::Batch(args) => batch::run(args),
        Command::Explain(args) => explain::run(&args),
        Command::Dialects(args) => dialects::run(&args),
        Command::Probe(args) => probe::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Healthcheck(args) => healthcheck::run(&args),
        Command::Key(args) => key::run(&args),
        Command::Completions(args) => manual::completions(Cli::command(), &args),
        Command::Man(args) => manual::man(Cli::command(), &args),
        #[cfg(feature = "worker")]
        Command::Worker(args) => worker::run(args),
    }
}

/// What a terminal does, and does not show: control characters, and those that turn the direction of writing.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text for a terminal, in which nothing that others wrote is obeyed: escaped as in JSON.
pub fn drawn(text: &str) -> Cow<'_, str> {
    let is_done = |letter: char| is_obeyed(letter) && !matches!(letter, '\n' | '\t');
    if !text.contains(is_done) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match is_done(letter) {
            true => shown += &format!("\\u{:04x}", u32::from(letter)),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// Prints an answer. A reader that has gone away (`| head`) is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out
        .write_all(drawn(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Runtime(format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}

/// Pretty JSON with a line feed.
fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Where requests are worked on: threads beside this one, 0 for one for every two processors. Two that share two processors wake each
/// other for work that one does sooner (`benches/NOTES.md`); what takes long is handed to others (`block_in_place`, the compile pool).
fn runtime(threads: usize) -> Result<tokio::runtime::Runtime, Failure> {
    let threads = match threads {
        0 => crate::proxy::processors().div_ceil(2),
        threads => threads,
    };
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Failure::Runtime(format!("cannot start the threads: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_names_of_the_commands_are_a_contract() {
        let command = Cli::command();
        let names: Vec<&str> = command
            .get_subcommands()
            .map(|sub| sub.get_name())
            .collect();
        let mut contract = vec![
            "serve",
            "batch",
            "explain",
            "dialects",
            "probe",
            "check",
            "bench",
            "top",
            "healthcheck",
            "key",
            "completions",
            "man",
        ];
        if cfg!(feature = "worker") {
            contract.push("worker");
        }
        assert_eq!(names, contract);
    }

    #[test]
    fn an_unknown_flag_is_a_usage_error() {
        let run = |line: &str| run(line.split(' ').map(OsString::from));
        for line in [
            "isogloss serve --model tiny.gguf",
            "isogloss swerve",
            "isogloss",
        ] {
            assert!(matches!(run(line), Err(Failure::Usage(_))), "{line}");
        }
    }

    #[test]
    fn a_terminal_obeys_nothing_that_it_is_shown() {
        assert_eq!(drawn("a\tb\nü\u{301}"), "a\tb\nü\u{301}");
        assert_eq!(
            drawn("\u{1b}[2J\u{9b}\r\u{202e}"),
            "\\u001b[2J\\u009b\\u000d\\u202e"
        );
    }
}
