//! Log lines to standard error, as text or as one JSON object a line.

mod lines;

use lines::Lines;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};

/// Starts logging for this process. `RUST_LOG` wins over `verbosity` (0: info, 1: debug of this
/// program, 2 and more: trace of this program, where client text may show).
///
/// A second call does nothing: the first subscriber stays.
pub fn init(json: bool, verbosity: u8) {
    init_at(
        json,
        match verbosity {
            0 => "info",
            1 => "debug",
            _ => "trace",
        },
    );
}

/// The same with warnings alone, for a command that shows by itself how far it is (0: warnings, 1: info, and so on).
pub fn init_quiet(json: bool, verbosity: u8) {
    match verbosity {
        0 => init_at(json, "warn"),
        more => init(json, more - 1),
    }
}

/// A line of the log, for what is said elsewhere: as it is written where lines are JSON.
#[must_use]
pub fn json_line(message: &str) -> String {
    let mut time = String::new();
    // A text takes whatever is written.
    let _always = SystemTime.format_time(&mut Writer::new(&mut time));
    let line = serde_json::json!({"timestamp": time, "level": "INFO", "message": message});
    format!("{line}\n")
}

fn init_at(json: bool, level: &str) {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("warn,isogloss={level}")));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(Lines::new(std::io::stderr(), json));
    // The error says only that a subscriber is set already.
    let _ = if json {
        lines.json().flatten_event(true).try_init()
    } else {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        lines.with_ansi(terminal).with_target(false).try_init()
    };
}
