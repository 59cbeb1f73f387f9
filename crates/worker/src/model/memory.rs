//! A model's header and the machine's memory come in; how many tokens the KV cache holds goes out.
//!
//! One conversation may have `context` tokens: as configured, else what the model was trained on
//! but at most 8,192, because a cache for the 128k and more that models claim would take gigabytes
//! for conversations that hardly ever come. All slots share one cache. It has room for `context`
//! tokens in every slot where that takes at most half of the memory that the weights leave, else
//! for as many as that half holds, but never fewer than one conversation needs. When it is full the
//! scheduler lets answers wait; it does not fail them.

use super::error::LoadError;
use isogloss_gguf::{Header, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// Tokens of a conversation where nothing is configured.
const DEFAULT_CONTEXT: u32 = 8_192;
/// llama.cpp rounds the cache up to whole blocks of so many tokens.
const CELL_BLOCK: u64 = 256;
/// Sequences that llama.cpp tells apart (`LLAMA_MAX_SEQ`).
pub(super) const MAX_SLOTS: u32 = 256;
/// Tokens in the cache: positions are 32-bit numbers, and nobody has the memory.
const MAX_CELLS: u64 = 1 << 24;
/// Bytes of a number in the cache (f16).
const CACHE_NUMBER_BYTES: u64 = 2;

const MIB: u64 = 1 << 20;

/// How the cache is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Tokens that one conversation may have.
    pub context: u32,
    /// Tokens that the cache holds.
    pub cells: u32,
    /// Bytes of the cache, as estimated.
    pub cache_bytes: u64,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The model's file, for messages.
    pub path: &'a Path,
    /// Tokens of a conversation; 0 for the default.
    pub context: u32,
    /// Conversations at the same time.
    pub slots: u32,
    /// Memory where the cache goes; `None` where that is unknown.
    pub available: Option<u64>,
    /// Bytes of it that the weights take.
    pub weights: u64,
}

/// Decides how big the cache is.
pub(super) fn plan(header: &Header, wanted: Wanted<'_>) -> Result<Plan, LoadError> {
    let Wanted { path, slots, .. } = wanted;
    if !(1..=MAX_SLOTS).contains(&slots) {
        return Err(LoadError::Slots {
            asked: slots,
            limit: MAX_SLOTS,
        });
    }
    let trained = match header.of_model("context_length") {
        Some(Value::Unsigned(number)) => u32::try_from(*number).unwrap_or(u32::MAX),
        _ => 0,
    };
    let context = match wanted.context {
        0 if trained == 0 => DEFAULT_CONTEXT,
        0 => trained.min(DEFAULT_CONTEXT),
        asked if trained != 0 && asked > trained => {
            return Err(LoadError::Context { asked, trained });
        }
        asked => asked,
    };
    let cell = cell_bytes(header);
    let one = u64::from(context);
    let mut cells = one.saturating_mul(slots.into()).min(MAX_CELLS).max(one);
    if let Some(available) = wanted.available {
        if one.saturating_mul(cell) > available {
            return Err(LoadError::Memory {
                path: path.to_path_buf(),
                context,
                cache_mib: one.saturating_mul(cell) / MIB,
                available_mib: available / MIB,
                weights_mib: wanted.weights / MIB,
            });
        }
        if let Some(fits) = (available.saturating_sub(wanted.weights) / 2).checked_div(cell) {
            cells = cells.min(fits).max(one);
        }
    }
    let cells = cells.next_multiple_of(CELL_BLOCK);
    Ok(Plan {
        context,
        cells: u32::try_from(cells).unwrap_or(u32::MAX),
        cache_bytes: cells.saturating_mul(cell),
    })
}

/// Bytes that a token takes in the cache, over all layers. Layers that keep a fixed state instead
/// (recurrent ones) list 0 heads.
fn cell_bytes(header: &Header) -> u64 {
    let number = |key: &str| match header.of_model(key) {
        Some(Value::Unsigned(number)) => Some(*number),
        Some(Value::List { numbers, .. }) => numbers.iter().copied().max(),
        _ => None,
    };
    let layers = number("block_count").unwrap_or(0);
    // Multi-head latent attention keeps one compressed row for all heads.
    if let Some(rank) = number("attention.kv_lora_rank") {
        let rope = number("rope.dimension_count").unwrap_or(0);
        return CACHE_NUMBER_BYTES
            .saturating_mul(layers)
            .saturating_mul(rank.saturating_add(rope));
    }
    let heads = number("attention.head_count").unwrap_or(1).max(1);
    let usual = number("embedding_length").unwrap_or(0) / heads;
    let key = number("attention.key_length").unwrap_or(usual);
    let value = number("attention.value_length").unwrap_or(usual);
    let all_heads = match header.of_model("attention.head_count_kv") {
        Some(Value::Unsigned(heads)) => heads.saturating_mul(layers),
        Some(Value::List { numbers, .. }) => numbers
            .iter()
            .fold(0_u64, |sum, heads| sum.saturating_add(*heads)),
        _ => heads.saturating_mul(layers),
    };
    CACHE_NUMBER_BYTES
        .saturating_mul(all_heads)
        .saturating_mul(key.saturating_add(value))
}

/// Memory that this process may still take: what the system has free or can free, and what its
/// control group leaves it. `None` where the system does not tell (it is not Linux).
pub(super) fn available() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| field(&text, "MemAvailable:"))
        .map(|kib| kib.saturating_mul(1_024));
    let group = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| group(&text, Path::new("/sys/fs/cgroup")));
    match (system, group) {
        (Some(system), Some(group)) => Some(system.min(group)),
        (one, other) => one.or(other),
    }
}

/// The number after a name in lines of `name number`.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// What the tightest control group on the way to the root leaves. Page cache counts as free.
fn group(of_process: &str, root: &Path) -> Option<u64> {
    let mut tightest = None;
    for line in of_process.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (base, limit, used, cache) = if controllers.is_empty() {
            (
                root.to_path_buf(),
                "memory.max",
                "memory.current",
                "inactive_file",
            )
        } else if controllers.split(',').any(|name| name == "memory") {
            (
                root.join("memory"),
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            )
        } else {
            continue;
        };
        let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let mut folder = base.join(path.trim_start_matches('/'));
        loop {
            // Without a limit the file says `max`, or a number beyond any memory.
            if let (Some(limit), Some(used)) =
                (number(folder.join(limit)), number(folder.join(used)))
            {
                let cache = fs::read_to_string(folder.join("memory.stat"))
                    .ok()
                    .and_then(|text| field(&text, cache))
                    .unwrap_or(0);
                let left = limit.saturating_sub(used.saturating_sub(cache));
                tightest = Some(tightest.unwrap_or(u64::MAX).min(left));
            }
            if folder == base || !folder.pop() {
                break;
            }
        }
    }
    tightest
}

#[cfg(test)]
mod tests;
