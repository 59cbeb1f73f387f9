//! What the bundled decoding worker is started with.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the worker's model is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    /// In this program.
    Builtin,
    /// A GGUF file, or a folder of them.
    Path(PathBuf),
}

impl ModelSource {
    /// The word for the model in this program; a file of that name is `./builtin`.
    pub const BUILTIN: &str = "builtin";

    fn as_os_str(&self) -> &OsStr {
        match self {
            Self::Builtin => Self::BUILTIN.as_ref(),
            Self::Path(path) => path.as_os_str(),
        }
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin => f.write_str("the built-in model"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Where the multimodal projector of the worker's model is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProjectorSource {
    /// Beside the model's file, named after it; there may be none.
    #[default]
    Beside,
    /// There is none, whatever is beside the model's file.
    Nowhere,
    /// This GGUF file.
    Path(PathBuf),
}

impl ProjectorSource {
    /// The word for the one beside the model's file.
    pub const BESIDE: &str = "auto";
    /// The word for none.
    pub const NOWHERE: &str = "none";

    fn as_os_str(&self) -> &OsStr {
        match self {
            Self::Beside => Self::BESIDE.as_ref(),
            Self::Nowhere => Self::NOWHERE.as_ref(),
            Self::Path(path) => path.as_os_str(),
        }
    }
}

/// How JSON is laid out where the request does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JsonSpace {
    /// As the model likes, within reason.
    #[default]
    Flexible,
    /// No space between tokens.
    Compact,
}

impl JsonSpace {
    /// Every way.
    pub const ALL: [Self; 2] = [Self::Flexible, Self::Compact];

    /// As it is written in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Flexible => "flexible",
            Self::Compact => "compact",
        }
    }
}

/// Whether the worker drafts what its answers may say next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Speculation {
    /// Where few answers run and what they say was said before, as long as is worth its time.
    #[default]
    Auto,
    /// As long as there is something to draft, whatever it takes.
    Always,
    /// Never.
    Off,
}

impl Speculation {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Always, Self::Off];

    /// As it is written in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Off => "off",
        }
    }
}

/// The bundled decoding worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerConfig {
    /// Its models; without them there is no worker.
    pub model: Option<ModelSource>,
    /// The model's name for clients; without it, the file's name without `.gguf`.
    pub name: Option<String>,
    /// A chat template instead of the model's own.
    pub chat_template: Option<PathBuf>,
    /// The model's multimodal projector.
    pub mmproj: ProjectorSource,
    /// Tokens that one conversation may have; 0 for what the model was trained on, at most 8,192.
    pub context: u32,
    /// Answers that are generated at the same time.
    pub slots: u32,
    /// Jobs that wait for a slot; one more is refused with 503.
    pub queue: usize,
    /// Threads of the forward pass; 0 for one a physical core.
    pub threads: u32,
    /// Layers that a GPU computes; `None` for all that fit where the build has one.
    pub gpu_layers: Option<u32>,
    /// The device by its name (`cpu`, `CUDA0`, …); without it the first GPU of the build, else the CPU.
    pub device: Option<String>,
    /// After so long a computation is taken for stuck; zero for never.
    pub stuck_after: Duration,
    /// How JSON is laid out where the request does not say.
    pub whitespace: JsonSpace,
    /// Whether answers are drafted.
    pub speculate: Speculation,
    /// Compiled grammars that are kept.
    pub grammar_cache_entries: usize,
    /// Bytes, as estimated, of those.
    pub grammar_cache_bytes: usize,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            model: None,
            name: None,
            chat_template: None,
            mmproj: ProjectorSource::Beside,
            context: 0,
            slots: 8,
            queue: 2_048,
            threads: 0,
            gpu_layers: None,
            device: None,
            stuck_after: Duration::from_secs(5 * 60),
            whitespace: JsonSpace::Flexible,
            speculate: Speculation::Auto,
            grammar_cache_entries: 1_024,
            grammar_cache_bytes: 256 << 20,
        }
    }
}

impl WorkerConfig {
    /// The command line with which this program becomes the worker that listens on a Unix socket.
    ///
    /// Every setting is written out, whatever its default: the worker reads no file and no
    /// variable of the proxy's. `--flag=value`, so that no value is taken for a flag.
    #[must_use]
    pub fn arguments(&self, socket: &Path) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("worker")];
        let mut say = |flag: &str, value: OsString| {
            let mut argument = OsString::from(format!("--{flag}="));
            argument.push(value);
            arguments.push(argument);
        };
        say("socket", socket.into());
        if let Some(model) = &self.model {
            say("model", model.as_os_str().into());
        }
        if let Some(path) = &self.chat_template {
            say("chat-template", path.into());
        }
        say("mmproj", self.mmproj.as_os_str().into());
        for (flag, word) in [("model-name", &self.name), ("device", &self.device)] {
            if let Some(word) = word {
                say(flag, word.into());
            }
        }
        let layers = self.gpu_layers.map(|layers| layers.to_string());
        for (flag, value) in [
            ("context", self.context.to_string()),
            ("slots", self.slots.to_string()),
            ("queue", self.queue.to_string()),
            ("threads", self.threads.to_string()),
            ("gpu-layers", layers.unwrap_or_else(|| "all".to_owned())),
            ("stuck-after", format!("{}ms", self.stuck_after.as_millis())),
            ("whitespace", self.whitespace.as_str().to_owned()),
            ("speculate", self.speculate.as_str().to_owned()),
            (
                "grammar-cache-entries",
                self.grammar_cache_entries.to_string(),
            ),
            ("grammar-cache-bytes", self.grammar_cache_bytes.to_string()),
        ] {
            say(flag, value.into());
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    #![cfg_attr(
        feature = "worker",
        expect(clippy::unwrap_used, reason = "a test may panic")
    )]
    use super::*;
    #[cfg(feature = "worker")]
    use crate::config::Config;
    use crate::config::SETTINGS;

    /// The configuration that a command line says, by the settings' own readers.
    #[cfg(feature = "worker")]
    fn read(arguments: &[OsString]) -> WorkerConfig {
        let mut config = Config::default();
        for argument in arguments.iter().skip(2) {
            let argument = argument.to_str().unwrap();
            let (flag, value) = argument
                .strip_prefix("--")
                .unwrap()
                .split_once('=')
                .unwrap();
            let setting = SETTINGS.iter().find(|one| one.flag == Some(flag)).unwrap();
            (setting.set)(&mut config, value, Path::new("")).unwrap();
        }
        config.worker
    }

    #[test]
    fn the_command_line_of_the_worker_says_first_what_it_is_and_where_it_listens() {
        let arguments = WorkerConfig::default().arguments(Path::new("/tmp/x/worker.sock"));
        assert_eq!(arguments[0], "worker");
        assert_eq!(arguments[1], "--socket=/tmp/x/worker.sock");
    }

    #[cfg(feature = "worker")]
    #[test]
    fn the_command_line_of_the_worker_carries_every_setting() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "x").unwrap();
            Some(path)
        };
        let config = WorkerConfig {
            model: file("-x.gguf").map(ModelSource::Path),
            name: Some("--tiny model".to_owned()),
            chat_template: file("chat.jinja"),
            mmproj: ProjectorSource::Path(file("mmproj-x.gguf").unwrap()),
            context: 4096,
            slots: 3,
            queue: 17,
            threads: 2,
            gpu_layers: Some(5),
            device: Some("CUDA0".to_owned()),
            stuck_after: Duration::from_millis(1_500),
            whitespace: JsonSpace::Compact,
            speculate: Speculation::Off,
            grammar_cache_entries: 9,
            grammar_cache_bytes: 1 << 20,
        };
        assert_eq!(read(&config.arguments(Path::new("/s"))), config);
        let plain = WorkerConfig {
            model: file("plain.gguf").map(ModelSource::Path),
            mmproj: ProjectorSource::Nowhere,
            ..WorkerConfig::default()
        };
        assert_eq!(read(&plain.arguments(Path::new("/s"))), plain);
    }

    #[test]
    fn no_setting_of_the_worker_lacks_a_flag() {
        let of_the_worker = |key: &str| key.starts_with("worker.");
        let settings = SETTINGS.iter().filter(|one| of_the_worker(one.key));
        for setting in settings {
            assert!(setting.flag.is_some(), "{}", setting.key);
        }
    }
}
