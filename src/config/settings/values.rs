//! What the text of a setting stands for, and what is said of a text that stands for nothing.

use crate::config::units::{Wrong, duration, size, span};
use crate::config::{
    AdminTls, JsonSpace, MissingModel, ModelSource, OnViolation, ProjectorSource, Secret,
    Speculation, StorePlace, Unverified,
};
use crate::journal::Recording;
use isogloss_core::ir::Repair;
use isogloss_core::passage::Forward;
use isogloss_core::probe::Depth;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) fn budget(text: &str) -> Result<usize, Wrong> {
    const LEAST: usize = 1 << 20;
    if text == "auto" {
        return Ok(crate::config::memory::budget());
    }
    match size(text) {
        Ok(bytes) if bytes >= LEAST => Ok(bytes),
        Ok(_) => {
            let what = format!("a budget of `{text}` has no room for requests");
            Err(Wrong::new(what, "write at least 1MiB, or auto"))
        }
        Err(wrong) => Err(Wrong::new(wrong.what, format!("{}, or auto", wrong.remedy))),
    }
}

pub(super) fn caches(text: &str) -> Result<usize, Wrong> {
    if text == "auto" {
        return Ok(crate::config::memory::caches());
    }
    size(text).map_err(|wrong| Wrong::new(wrong.what, format!("{}, or auto", wrong.remedy)))
}

pub(super) fn address(text: &str) -> Result<SocketAddr, Wrong> {
    text.trim().parse().map_err(|_| {
        Wrong::new(
            format!("`{text}` is no address"),
            "write an IP address and a port, such as 127.0.0.1:8080 or 0.0.0.0:8080",
        )
    })
}

pub(super) fn collector(text: &str) -> Result<reqwest::Url, Wrong> {
    let url = reqwest::Url::parse(text.trim()).ok();
    url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            Wrong::new(
                format!("`{text}` is no URL of a collector"),
                "write scheme, host and port, such as http://localhost:4318",
            )
        })
}

pub(super) fn folder(text: &str, base: &Path) -> Result<PathBuf, Wrong> {
    let path = base.join(text);
    if path.is_dir() {
        return Ok(path);
    }
    let what = format!("`{}` is no folder", path.display());
    Err(Wrong::new(what, "name a folder that holds rule files"))
}

/// Whether there is a model is known now; whether it can be loaded, once the worker tries.
pub(super) fn projector(text: &str, base: &Path) -> Result<ProjectorSource, Wrong> {
    match text {
        ProjectorSource::BESIDE => Ok(ProjectorSource::Beside),
        ProjectorSource::NOWHERE => Ok(ProjectorSource::Nowhere),
        _ => {
            let path = base.join(text);
            if path.is_file() {
                return Ok(ProjectorSource::Path(path));
            }
            let what = format!("`{}` is no file", path.display());
            Err(Wrong::new(
                what,
                "name the model's mmproj .gguf file, or write auto or none",
            ))
        }
    }
}

pub(super) fn model(text: &str, base: &Path) -> Result<ModelSource, Wrong> {
    if !cfg!(feature = "worker") {
        return Err(Wrong::new(
            "this build has no worker",
            "build one that has it: cargo build --release --features worker (it needs cmake, a C++ compiler and libclang); or name a server with --upstream",
        ));
    }
    if text == ModelSource::BUILTIN {
        return Ok(ModelSource::Builtin);
    }
    let path = base.join(text);
    if path.exists() {
        return Ok(ModelSource::Path(path));
    }
    let what = format!("`{}` is not there", path.display());
    Err(Wrong::new(
        what,
        "name a GGUF file, or a folder of them, or write builtin",
    ))
}

pub(super) fn file(text: &str, base: &Path) -> Result<PathBuf, Wrong> {
    let path = base.join(text);
    if path.is_file() {
        return Ok(path);
    }
    let what = format!("`{}` is no file", path.display());
    Err(Wrong::new(what, "name a file that holds the template"))
}

pub(super) fn pem(text: &str, base: &Path) -> Result<PathBuf, Wrong> {
    let path = base.join(text);
    if path.is_file() {
        return Ok(path);
    }
    let what = format!("`{}` is no file", path.display());
    Err(Wrong::new(what, "name a PEM file"))
}

/// What a file holds and nobody may see.
pub(super) fn secret_of(text: &str, base: &Path) -> Result<Secret, Wrong> {
    const LEAST_CHARS: usize = 16;
    let path = base.join(text);
    let remedy = format!("name a file that holds a secret of at least {LEAST_CHARS} characters");
    let read = std::fs::read_to_string(&path);
    let read = read.map_err(|error| {
        Wrong::new(
            format!("`{}` cannot be read: {error}", path.display()),
            remedy.clone(),
        )
    })?;
    let secret = read.trim();
    if secret.chars().count() < LEAST_CHARS {
        let what = format!("`{}` holds no secret", path.display());
        return Err(Wrong::new(what, remedy));
    }
    Ok(Secret::new(secret.to_owned()))
}

pub(super) fn word(text: &str, what: &str) -> Result<String, Wrong> {
    const MAX_CHARS: usize = 200;
    let text = text.trim();
    let is_plain = !text.is_empty() && !text.contains(char::is_control);
    if is_plain && text.chars().count() <= MAX_CHARS {
        return Ok(text.to_owned());
    }
    let what = format!("this is no {what}");
    let remedy = format!("write 1 to {MAX_CHARS} characters without line feeds");
    Err(Wrong::new(what, remedy))
}

pub(super) fn layers(text: &str) -> Result<Option<u32>, Wrong> {
    if text == "all" {
        return Ok(None);
    }
    number(text, 0, 10_000)
        .map(Some)
        .map_err(|wrong| Wrong::new(wrong.what, format!("{}, or all", wrong.remedy)))
}

pub(super) fn whitespace(text: &str) -> Result<JsonSpace, Wrong> {
    let known = JsonSpace::ALL.into_iter().find(|it| it.as_str() == text);
    known.ok_or_else(|| no_way(text, "lay out JSON", "flexible or compact"))
}

pub(super) fn speculation(text: &str) -> Result<Speculation, Wrong> {
    let known = Speculation::ALL.into_iter().find(|it| it.as_str() == text);
    known.ok_or_else(|| no_way(text, "draft answers", "auto, always or off"))
}

fn no_way(text: &str, to: &str, ways: &str) -> Wrong {
    Wrong::new(
        format!("`{text}` is no way to {to}"),
        format!("write {ways}"),
    )
}

pub(super) fn on_violation(text: &str) -> Result<OnViolation, Wrong> {
    match text {
        "retry" => Ok(OnViolation::Retry),
        "reject" => Ok(OnViolation::Reject),
        "pass" => Ok(OnViolation::Pass),
        _ => Err(Wrong::new(
            format!("`{text}` is no way to handle a violation"),
            "write retry, reject or pass",
        )),
    }
}

pub(super) fn repair(text: &str) -> Result<Repair, Wrong> {
    match text {
        "off" => Ok(Repair::Off),
        "syntax" => Ok(Repair::Syntax),
        "types" => Ok(Repair::Types),
        _ => Err(Wrong::new(
            format!("`{text}` is no level of repair"),
            "write off, syntax or types",
        )),
    }
}

pub(super) fn unverified(text: &str) -> Result<Unverified, Wrong> {
    match text {
        "refuse" => Ok(Unverified::Refuse),
        "forward" => Ok(Unverified::Forward),
        _ => Err(Wrong::new(
            format!("`{text}` is no way to handle what is not verified"),
            "write refuse or forward",
        )),
    }
}

pub(in crate::config) fn forward(text: &str) -> Result<Forward, Wrong> {
    Forward::parse(text).map_err(|word| {
        Wrong::new(
            format!("`{}` is no path", word.0),
            "write paths that begin with /, such as /v1/files or /v1/files/*, or * for everything",
        )
    })
}

pub(super) fn admin_tls(text: &str) -> Result<AdminTls, Wrong> {
    match text {
        "no" => Ok(AdminTls::No),
        "yes" => Ok(AdminTls::Yes),
        "mutual" => Ok(AdminTls::Mutual),
        _ => Err(Wrong::new(
            format!("`{text}` does not say whether operators are served in TLS"),
            "write no, yes or mutual",
        )),
    }
}

pub(super) fn recording(text: &str) -> Result<Recording, Wrong> {
    match text {
        "off" => Ok(Recording::Off),
        "shapes" => Ok(Recording::Shapes),
        "bodies" => Ok(Recording::Bodies),
        _ => Err(Wrong::new(
            format!("`{text}` does not say what is remembered of requests"),
            "write off, shapes or bodies",
        )),
    }
}

pub(super) fn missing_model(text: &str) -> Result<MissingModel, Wrong> {
    match text {
        "refuse" => Ok(MissingModel::Refuse),
        "forward" => Ok(MissingModel::Forward),
        _ => Err(Wrong::new(
            format!("`{text}` is no way to handle a request without a model"),
            "write refuse or forward",
        )),
    }
}

pub(super) fn depth(text: &str) -> Result<Depth, Wrong> {
    match text {
        "off" => Ok(Depth::Off),
        "light" => Ok(Depth::Light),
        "full" => Ok(Depth::Full),
        _ => Err(Wrong::new(
            format!("`{text}` is no depth of probing"),
            "write off, light or full",
        )),
    }
}

pub(super) fn yes(text: &str) -> Result<bool, Wrong> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(Wrong::new(
            format!("`{text}` is neither yes nor no"),
            "write yes or no",
        )),
    }
}

pub(super) fn log_format(text: &str) -> Result<bool, Wrong> {
    match text {
        "text" => Ok(false),
        "json" => Ok(true),
        _ => Err(Wrong::new(
            format!("`{text}` is no log format"),
            "write text or json",
        )),
    }
}

pub(super) fn count(text: &str, least: usize, most: usize) -> Result<usize, Wrong> {
    let number = text.trim().parse::<usize>().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| {
            Wrong::new(
                format!("`{text}` is no count"),
                format!("write a whole number from {least} to {most}"),
            )
        })
}

pub(super) fn number(text: &str, least: u32, most: u32) -> Result<u32, Wrong> {
    count(text, least as usize, most as usize).map(|number| number as u32)
}

pub(super) fn store(text: &str, base: &Path) -> Result<StorePlace, Wrong> {
    match text {
        "auto" => return Ok(StorePlace::Auto),
        "none" => return Ok(StorePlace::Nowhere),
        "memory" => return Ok(StorePlace::Memory),
        _ => {}
    }
    let path = base.join(text);
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    if path.is_dir() || parent.is_some_and(|parent| !parent.is_dir()) {
        let what = format!("`{}` can be no file", path.display());
        let remedy = "write auto, memory or none, or name a file in a folder that is there";
        return Err(Wrong::new(what, remedy));
    }
    Ok(StorePlace::File(path))
}

pub(super) fn expiry(text: &str) -> Result<Duration, Wrong> {
    let time = span(text)?;
    if time.as_secs() == 0 {
        let what = "a reply that is kept for less than a second is not kept";
        return Err(Wrong::new(what, "write a time such as 30d"));
    }
    Ok(time)
}

pub(super) fn positive(text: &str) -> Result<Duration, Wrong> {
    let time = duration(text)?;
    if time.is_zero() {
        return Err(Wrong::new(
            "a time of 0 would end everything at once",
            "write a time such as 30s",
        ));
    }
    Ok(time)
}
