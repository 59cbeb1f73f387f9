//! `isogloss check`: configuration and rule files in, `OK` or every fault out.

use super::flags::ConfigArgs;
use super::{Failure, print, wire};

/// Flags of `check`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let is_given = args.config.is_given();
    let config = args.config.load(is_given)?;
    let rules = wire::rules(config.rules.as_deref())?;
    wire::check_pins(&config, &rules)?;
    let upstreams = match config.upstreams.len() {
        0 if config.worker.model.is_some() => "the worker alone".to_owned(),
        0 => "no upstream given: only the rules were checked".to_owned(),
        1 => "1 upstream".to_owned(),
        many => format!("{many} upstreams"),
    };
    let worker = match &config.worker.model {
        Some(model) => {
            format!("; the worker's model is {model} (whether it can be loaded, serving tells)")
        }
        None => String::new(),
    };
    print(&format!(
        "OK: {} dialects ({}); {upstreams}{worker}\n",
        rules.names().len(),
        rules.names().join(", ")
    ))
}
