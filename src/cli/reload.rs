//! The configuration and the rules, read anew while the proxy runs: by SIGHUP, or because a file has changed. What has
//! no fault is put in force; what has one changes nothing, and is told of in the log, a metric and `/readyz`.
//!
//! Files are read and compared rather than watched: a ConfigMap changes by another target of a link two folders above
//! them, an editor by another file of the same name, a file server tells of nothing. What is found changed must be the
//! same twice, since it may still be written: half a file can be a whole configuration.

use super::flags::ConfigArgs;
use super::{Failure, files, serve, wire};
use crate::admin::ConfigurationState;
use crate::config::Config;
use crate::proxy::{House, Renewed};
use crate::telemetry::Metrics;
use isogloss_core::rules::RuleSet;
use ring::digest::{Context, SHA256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// Rules, and the files that they came from: the same files are the same rules.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) set: Arc<RuleSet>,
    files: Vec<(String, String)>,
}

/// What files hold, so that it can be told whether that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Print([u8; 32]);

impl Print {
    /// Of what this configuration was read from, right after it was: what changes before the proxy serves is a change.
    pub(super) fn of(config: &Config) -> Self {
        Sources::of(config).print()
    }
}

/// All that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sources {
    files: Vec<PathBuf>,
    rules: Option<PathBuf>,
}

/// What reads the configuration anew.
#[derive(Debug)]
pub(super) struct Reloader {
    pub(super) args: ConfigArgs,
    pub(super) house: Arc<House>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) rules: Rules,
    /// What was read.
    pub(super) read: Print,
    /// How many files the process may have open, where that is limited.
    pub(super) open_files: Option<usize>,
    pub(super) told: watch::Sender<ConfigurationState>,
    /// Why what was read last is not in force, where it is not.
    pub(super) refusal: Option<String>,
}

// === impl Rules ===

impl Rules {
    /// The built-in ones, overlaid by the files of a folder.
    pub(super) fn load(folder: Option<&Path>) -> Result<Self, Failure> {
        let files = wire::rule_files(folder)?;
        let set = Arc::new(wire::rule_set(&files)?);
        Ok(Self { set, files })
    }

    /// The same, where the files are.
    fn reload(self, folder: Option<&Path>) -> Result<Self, Failure> {
        let files = wire::rule_files(folder)?;
        if files == self.files {
            return Ok(self);
        }
        let set = Arc::new(wire::rule_set(&files)?);
        Ok(Self { set, files })
    }
}

// === impl Sources ===

impl Sources {
    fn of(config: &Config) -> Self {
        Self {
            files: config.files.clone(),
            rules: config.rules.clone(),
        }
    }

    fn print(&self) -> Print {
        let mut digest = Context::new(&SHA256);
        let mut add = |name: &[u8], held: Option<&[u8]>| {
            let held = held.map_or([0; 32], sha256);
            for part in [&sha256(name), &held] {
                digest.update(part);
            }
        };
        for path in &self.files {
            let name = path.as_os_str().as_encoded_bytes();
            add(name, std::fs::read(path).ok().as_deref());
        }
        // A folder that cannot be read is one that holds nothing.
        for (name, text) in wire::rule_files(self.rules.as_deref()).unwrap_or_default() {
            add(name.as_bytes(), Some(text.as_bytes()));
        }
        Print(finished(digest))
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut digest = Context::new(&SHA256);
    digest.update(bytes);
    finished(digest)
}

fn finished(digest: Context) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.finish().as_ref());
    hash
}

// === impl Reloader ===

impl Reloader {
    /// Reads anew whenever `hangups` counts on, and when a file has changed.
    pub(super) async fn run(mut self, mut hangups: watch::Receiver<u64>) {
        let mut sources = Sources::of(self.house.app().config());
        let mut read = self.read;
        let mut found_before = read;
        loop {
            let every = self.house.app().config().reload_every;
            let is_told = tokio::select! {
                told = hangups.changed() => match told {
                    Ok(()) => true,
                    Err(_nobody_tells) => return,
                },
                () = tokio::time::sleep(every), if !every.is_zero() => false,
            };
            // Before it is read: what changes meanwhile is found the next time.
            let found = look(&sources).await;
            let is_settled = found == found_before;
            found_before = found;
            // What was refused may be right by now, through a file that was not there.
            let is_wanted = is_settled && (found != read || self.refusal.is_some());
            if !is_told && !is_wanted {
                continue;
            }
            let in_force = self.reload(is_told).await;
            read = found;
            if let Some(in_force) = in_force.filter(|in_force| *in_force != sources) {
                sources = in_force;
                read = look(&sources).await;
                found_before = read;
            }
        }
    }

    /// Reads anew; what is read from now on, where that is in force.
    async fn reload(&mut self, is_told: bool) -> Option<Sources> {
        let (args, rules) = (self.args.clone(), self.rules.clone());
        let (running, open_files) = (self.house.app(), self.open_files);
        let read = spawn_blocking(move || read(&args, rules, running.config(), open_files)).await;
        let read = read.unwrap_or_else(|panic| Err(Failure::Runtime(panic.to_string())));
        let (config, rules) = match read {
            Ok(read) => read,
            Err(failure) => return self.refused(failure.to_string(), is_told),
        };
        let sources = Sources::of(&config);
        match self.house.renew(config, &rules.set).await {
            Ok(renewed) => self.applied(&renewed, rules),
            Err(error) => return self.refused(wire::chain(&error), is_told),
        }
        Some(sources)
    }

    fn applied(&mut self, renewed: &Renewed, rules: Rules) {
        let names = rules.set.names();
        self.metrics
            .dialects_are(names.into_iter().map(str::to_owned));
        self.rules = rules;
        self.refusal = None;
        self.metrics.reloaded(true);
        self.told.send_replace(ConfigurationState::default());
        let (upstreams, kept) = (renewed.upstreams, renewed.kept);
        tracing::info!(
            upstreams,
            kept,
            "the configuration was read anew and is in force"
        );
        if !renewed.needs_restart.is_empty() {
            let keys = renewed.needs_restart.join(", ");
            tracing::warn!(
                keys,
                "what was changed of these needs a restart, and stays as it was until then"
            );
        }
    }

    /// Tells of it, unless nobody asked and it was told before.
    fn refused(&mut self, faults: String, is_told: bool) -> Option<Sources> {
        if !is_told && self.refusal.as_ref() == Some(&faults) {
            return None;
        }
        self.metrics.reloaded(false);
        self.told.send_replace(ConfigurationState {
            stale: true,
            reason: Some(
                "what was read last has faults, which the log tells; what was before is in force"
                    .to_owned(),
            ),
        });
        tracing::error!(
            %faults,
            "the configuration was read anew and is not taken; what was before stays in force"
        );
        self.refusal = Some(faults);
        None
    }
}

async fn look(sources: &Sources) -> Print {
    let sources = sources.clone();
    let looked = spawn_blocking(move || sources.print()).await;
    // It does not panic; if it did, nothing would ever have changed.
    looked.unwrap_or(Print([0; 32]))
}

/// All that is checked before anything changes.
fn read(
    args: &ConfigArgs,
    rules: Rules,
    running: &Config,
    open_files: Option<usize>,
) -> Result<(Config, Rules), Failure> {
    let mut config = args.load(true)?;
    let rules = rules.reload(config.rules.as_deref())?;
    wire::check_worker(&config, &rules.set)?;
    if let Some(open_files) = open_files {
        files::fit(&mut config.limits, open_files);
    }
    let mut in_force = config.clone();
    in_force.keep_fixed(running);
    serve::trust(&in_force)?;
    Ok((config, rules))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::fs;

    #[test]
    fn a_print_changes_with_what_files_hold_and_with_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let rules = at("rules");
        fs::create_dir(&rules).unwrap();
        let sources = Sources {
            files: vec![at("one"), at("two")],
            rules: Some(rules.clone()),
        };
        let mut prints = vec![sources.print()];
        let mut is_new = |what: &str| {
            let print = sources.print();
            assert!(!prints.contains(&print), "{what}");
            assert_eq!(print, sources.print(), "{what}");
            prints.push(print);
        };
        fs::write(at("one"), "a").unwrap();
        is_new("a file that is there");
        fs::write(at("two"), "").unwrap();
        is_new("an empty file");
        fs::write(at("one"), "").unwrap();
        fs::write(at("two"), "a").unwrap();
        is_new("the other one's text");
        fs::write(rules.join("toy.toml"), "a").unwrap();
        is_new("a rule");
        fs::rename(rules.join("toy.toml"), rules.join("toys.toml")).unwrap();
        is_new("its name");
        let print = sources.print();
        fs::write(at("three"), "a").unwrap();
        fs::write(rules.join("notes.txt"), "a").unwrap();
        assert_eq!(print, sources.print(), "what is not read");
    }

    #[test]
    fn the_same_files_are_the_same_rules() {
        let rules = Rules::load(None).unwrap();
        let same = rules.clone().reload(None).unwrap();
        assert!(Arc::ptr_eq(&rules.set, &same.set));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("toy.toml");
        fs::write(&file, "what = 1").unwrap();
        assert!(rules.clone().reload(Some(folder.path())).is_err());
        fs::remove_file(&file).unwrap();
        assert!(rules.reload(Some(folder.path())).is_ok());
    }
}
