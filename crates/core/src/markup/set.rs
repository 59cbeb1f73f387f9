//! All formats together: the embedded ones, overlaid by the user's own.

use super::compile::compile;
use super::format::Formats;
use crate::datafile::{RuleFault, Source};
use std::sync::Arc;

/// A file under `rules/markup` and its text.
macro_rules! builtin {
    ($name:literal) => {
        (
            concat!("rules/markup/", $name, ".toml"),
            include_str!(concat!("../../../../rules/markup/", $name, ".toml")),
        )
    };
}

/// The files under `rules/markup`, embedded.
const BUILTIN: &[(&str, &str)] = &[
    builtin!("apertus"),
    builtin!("apriel"),
    builtin!("command-r"),
    builtin!("command-r7b"),
    builtin!("deepseek-v3"),
    builtin!("deepseek-v3.1"),
    builtin!("deepseek-v3.2"),
    builtin!("deepseek-v4"),
    builtin!("ernie-4.5"),
    builtin!("functionary-v3.1"),
    builtin!("functiongemma"),
    builtin!("gemma3"),
    builtin!("gemma4"),
    builtin!("gigachat3"),
    builtin!("glm-4.5"),
    builtin!("glm-4.7"),
    builtin!("granite"),
    builtin!("granite-20b"),
    builtin!("harmony"),
    builtin!("hermes"),
    builtin!("hunyuan"),
    builtin!("hunyuan-3"),
    builtin!("inkling"),
    builtin!("internlm2"),
    builtin!("jamba"),
    builtin!("kimi-k2"),
    builtin!("kimi-k3"),
    builtin!("lfm2"),
    builtin!("llama3-json"),
    builtin!("longcat"),
    builtin!("minicpm5"),
    builtin!("minimax-m1"),
    builtin!("minimax-m2"),
    builtin!("minimax-m3"),
    builtin!("mistral"),
    builtin!("mistral-v3"),
    builtin!("muse-glimmer"),
    builtin!("nemotron"),
    builtin!("olmo3"),
    builtin!("phi-4-mini"),
    builtin!("pythonic"),
    builtin!("qwen3-coder"),
    builtin!("seed-oss"),
    builtin!("step3"),
    builtin!("xlam"),
];

impl Formats {
    /// The formats that the program brings along.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a test loads the embedded files")]
    pub fn builtin() -> Self {
        Self::with_overlay(&[]).expect("the embedded data files are checked by a test")
    }

    /// The embedded formats, of which a given file replaces the one of the same name; others are
    /// added. Each is a file's name (a path will do) and its text.
    ///
    /// # Errors
    /// Every fault of every file, in the order of the files.
    pub fn with_overlay(files: &[(String, String)]) -> Result<Self, Vec<RuleFault>> {
        let base = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
        let is_own = |name: &str| files.iter().any(|(own, _)| base(own) == base(name));
        let builtin = BUILTIN.iter().copied().filter(|(name, _)| !is_own(name));
        let own = files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let mut formats = Vec::new();
        let mut faults = Vec::new();
        for (name, text) in builtin.chain(own) {
            match compile(Source { name, text }) {
                Ok(format) => formats.push(Arc::new(format)),
                Err(found) => faults.extend(found),
            }
        }
        match faults.is_empty() {
            true => Ok(Self { formats }),
            false => Err(faults),
        }
    }
}
