//! Log lines to standard error, as text or as one JSON object a line.

use tracing_subscriber::EnvFilter;

/// Starts logging for this process. `RUST_LOG` wins over `verbosity` (0: info, 1: debug of this
/// program, 2 and more: trace of this program, where client text may show).
///
/// A second call does nothing: the first subscriber stays.
pub fn init(json: bool, verbosity: u8) {
    let level = match verbosity {
        0 => "info",
        1 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("warn,isogloss={level}")));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // The error says only that a subscriber is set already.
    let _ = if json {
        lines.json().flatten_event(true).try_init()
    } else {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        lines.with_ansi(terminal).with_target(false).try_init()
    };
}
