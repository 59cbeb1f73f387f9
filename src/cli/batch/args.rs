//! The flags of `batch`: its own, and the configuration's without what only a listener has.

use super::super::flags::ConfigArgs;
use clap::{ArgMatches, Command, FromArgMatches};
use std::path::PathBuf;

/// Rows at once, unless the command line says otherwise.
pub(super) const AT_ONCE: usize = 16;
/// Flags of settings that mean nothing where nobody connects; a file may have them.
const OF_LISTENERS: [&str; 9] = [
    "listen",
    "admin",
    "tls-cert",
    "tls-key",
    "tls-client-ca",
    "tls-admin",
    "open",
    "max-connections",
    "drain-timeout",
];

/// Flags of `batch`.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Args {
    /// The requests, a JSON object a line: `custom_id`, `method`, `url` and `body`; `-` reads standard input.
    #[arg(value_name = "IN.jsonl")]
    pub(super) input: PathBuf,
    /// Where the replies go, a line each. What stands there already is not asked again.
    #[arg(value_name = "OUT.jsonl")]
    pub(super) output: PathBuf,
    /// Where the rows go that failed, as OpenAI has them; among the others where this is not given.
    #[arg(long, value_name = "FILE")]
    pub(super) errors: Option<PathBuf>,
    /// Ask again what failed in an earlier run: its rows are taken out first.
    #[arg(long)]
    pub(super) retry_failed: bool,
    /// How often a request is sent again that the server, or the proxy, had no room for.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    pub(super) retries: u32,
    #[command(flatten)]
    pub(super) config: Settings,
    /// Log info beside warnings, twice: debug, and three times: trace (client text may show). RUST_LOG wins.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(super) verbose: u8,
}

/// The configuration, where nobody connects.
#[derive(Debug)]
pub(super) struct Settings(pub(super) ConfigArgs);

impl FromArgMatches for Settings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        ConfigArgs::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl clap::Args for Settings {
    fn augment_args(command: Command) -> Command {
        let command = OF_LISTENERS
            .into_iter()
            .fold(ConfigArgs::augment_args(command), |command, flag| {
                command.mut_arg(flag, |arg| arg.hide(true))
            });
        let what = format!("Requests that are asked at once [default: {AT_ONCE}]");
        command.mut_arg("concurrency", |arg| arg.help(what))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
