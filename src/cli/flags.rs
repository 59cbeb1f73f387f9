//! The flags of settings, made from the one table of settings.

use super::words;
use crate::config::{Config, Faults, SETTINGS, Sources, load, misspelt};
use clap::{Arg, ArgMatches, Command};
use std::cell::RefCell;
use std::path::PathBuf;

/// Where the configuration comes from.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ConfigArgs {
    /// A server: scheme, host and port, perhaps a base path, or unix:///run/server.sock; may be repeated, for several servers (--balance says which is asked).
    #[arg(long, value_name = "URL")]
    upstream: Vec<String>,
    /// The servers' dialect, `vllm` or `vllm@0.10.2`, instead of detecting it.
    #[arg(long, value_name = "NAME[@VERSION]")]
    dialect: Option<String>,
    /// In which markup models write calls that their server leaves in the text, `hermes`; `off` reads none.
    #[arg(long, value_name = "NAME")]
    markup: Option<String>,
    /// A configuration file (TOML); flags and ISOGLOSS_* variables win over it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingFlags,
}

impl ConfigArgs {
    /// Whether a configuration was named, as a file, by its upstreams or by the worker's model.
    pub(super) fn is_given(&self) -> bool {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        self.config.is_some()
            || !self.upstream.is_empty()
            || self.has("model")
            || is_set("ISOGLOSS_CONFIG")
            || is_set("ISOGLOSS_UPSTREAM")
            || is_set("ISOGLOSS_MODEL")
    }

    /// Whether the command line has this setting's flag.
    pub(super) fn has(&self, name: &str) -> bool {
        self.settings.0.iter().any(|(flag, _)| *flag == name)
    }

    /// The configuration, or every mistake in it.
    pub(super) fn load(&self, needs_upstream: bool) -> Result<Config, Faults> {
        self.loaded(needs_upstream).map(|(config, _)| config)
    }

    /// The same, with what is to be said of variables that were probably meant for it and are not read, and of servers that are not used.
    pub(super) fn loaded(&self, needs_upstream: bool) -> Result<(Config, Vec<String>), Faults> {
        let read = RefCell::new(Vec::new());
        let env = |name: &str| {
            read.borrow_mut().push(name.to_owned());
            std::env::var(name).ok()
        };
        let config = load(&Sources {
            flags: self.settings.0.clone(),
            upstreams: self.upstream.clone(),
            dialect: self.dialect.clone(),
            markup: self.markup.clone(),
            file: self.config.clone(),
            env: &env,
            needs_upstream,
            words: &words::wrong,
        })?;
        // An empty variable is an unset one.
        let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
        let set: Vec<String> = set
            .filter_map(|(name, _)| name.into_string().ok())
            .collect();
        let mut odd = misspelt(set.iter().map(String::as_str), &read.into_inner());
        odd.extend(config.unused.clone());
        Ok((config, odd))
    }
}

/// The values of the settings that have a flag, by the flag's name.
#[derive(Debug, Clone, Default)]
struct SettingFlags(Vec<(&'static str, String)>);

fn named() -> impl Iterator<Item = (&'static str, &'static crate::config::Setting)> {
    SETTINGS
        .iter()
        .filter_map(|setting| setting.flag.map(|flag| (flag, setting)))
}

impl clap::FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (flag, _) in named() {
            if let Some(value) = matches.get_one::<String>(flag) {
                self.0.push((flag, value.clone()));
            }
        }
        Ok(())
    }
}

impl clap::Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(named().map(|(flag, setting)| {
            let default = match setting.default {
                "" => String::new(),
                default => format!(" [default: {default}]"),
            };
            let arg = Arg::new(flag)
                .long(flag)
                .value_name(setting.value)
                .help(format!("{}{default}", setting.what));
            match setting.value {
                // Said without a value it is a yes.
                "WHETHER" => arg
                    .num_args(0..=1)
                    .require_equals(true)
                    .default_missing_value("yes"),
                _ => arg,
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
