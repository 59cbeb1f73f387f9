//! What computes: the devices that the build and the machine have, and which of them a model goes
//! to.

use super::error::LoadError;
use isogloss_gguf::Header;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::{LlamaBackendDevice, LlamaBackendDeviceType, list_llama_ggml_backend_devices};
use std::collections::BTreeSet;
use std::fs;
use std::thread;

/// Memory, of a GPU above all, that stays free of weights and cache: for what llama.cpp computes with.
pub(super) const RESERVE_BYTES: u64 = 1 << 30;

/// Where a model goes.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The GPU by its index and name; `None` for the CPU alone.
    pub gpu: Option<(usize, String)>,
    /// Layers that go there; `None` for all.
    pub layers: Option<u32>,
    /// What it is, for people.
    pub name: String,
    /// Memory that is free there; `None` for the machine's own.
    pub free: Option<u64>,
}

fn is_gpu(device: &LlamaBackendDevice) -> bool {
    matches!(
        device.device_type,
        LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu
    )
}

/// Chooses, by the settings `worker.device` and `worker.gpu_layers`.
pub(super) fn choose(
    device: Option<&str>,
    layers: Option<u32>,
    header: &Header,
    cache_bytes: u64,
) -> Result<Choice, LoadError> {
    pick(
        &list_llama_ggml_backend_devices(),
        device,
        layers,
        header,
        cache_bytes,
    )
}

fn pick(
    devices: &[LlamaBackendDevice],
    device: Option<&str>,
    layers: Option<u32>,
    header: &Header,
    cache_bytes: u64,
) -> Result<Choice, LoadError> {
    let cpu = Choice {
        gpu: None,
        layers: Some(0),
        name: "CPU".to_owned(),
        free: None,
    };
    let found = match device {
        Some(asked) if asked.eq_ignore_ascii_case("cpu") => None,
        Some(asked) => {
            let found = devices
                .iter()
                .find(|device| is_gpu(device) && device.name.eq_ignore_ascii_case(asked));
            Some(found.ok_or_else(|| LoadError::Device {
                asked: super::check::bounded(asked),
                devices: names(devices),
            })?)
        }
        None => devices
            .iter()
            .find(|device| device.device_type == LlamaBackendDeviceType::Gpu)
            .or_else(|| devices.iter().find(|device| is_gpu(device))),
    };
    match (found, layers) {
        (_, Some(0)) => Ok(cpu),
        (None, Some(asked)) => Err(LoadError::NoGpu {
            asked,
            devices: names(devices),
        }),
        (None, None) => Ok(cpu),
        (Some(gpu), _) => {
            let free = gpu.memory_free as u64;
            Ok(Choice {
                gpu: Some((gpu.index, gpu.name.clone())),
                layers: layers.or_else(|| layers_that_fit(header, free, cache_bytes)),
                name: format!("{} ({})", gpu.name, gpu.description),
                free: Some(free),
            })
        }
    }
}

/// How many layers fit beside the cache; `None` for all. Layers are taken to be equally big.
fn layers_that_fit(header: &Header, free: u64, cache_bytes: u64) -> Option<u32> {
    let room = free
        .saturating_sub(RESERVE_BYTES)
        .saturating_sub(cache_bytes);
    if header.tensor_bytes <= room {
        return None;
    }
    // One more than the blocks: llama.cpp counts the output layer too.
    let layers = header
        .of_model("block_count")
        .and_then(|value| match value {
            isogloss_gguf::Value::Unsigned(blocks) => blocks.checked_add(1),
            _ => None,
        })?;
    let each = header.tensor_bytes.div_ceil(layers).max(1);
    Some(u32::try_from((room / each).min(layers)).unwrap_or(u32::MAX))
}

/// The devices by name, for messages.
fn names(devices: &[LlamaBackendDevice]) -> String {
    let mut names = vec!["cpu".to_owned()];
    names.extend(
        devices
            .iter()
            .filter(|device| is_gpu(device))
            .map(|device| format!("{} ({})", device.name, device.description)),
    );
    names.join(", ")
}

impl Choice {
    /// Tells llama.cpp.
    pub(super) fn apply(&self, params: LlamaModelParams) -> Result<LlamaModelParams, String> {
        let devices: Vec<usize> = self.gpu.iter().map(|(index, _)| *index).collect();
        // No devices is not the default, which is all of them, but the CPU alone.
        let params = params
            .with_devices(&devices)
            .map_err(|error| error.to_string())?;
        Ok(match self.layers {
            Some(layers) => params.with_n_gpu_layers(layers),
            None => params,
        })
    }
}

/// Threads of a forward pass: as configured, else one a physical core that this process may use.
/// Two on one core slow each other down where both wait for memory.
pub(super) fn threads(configured: u32) -> u32 {
    if configured > 0 {
        return configured;
    }
    let usable = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cores = physical_cores().unwrap_or(usable);
    u32::try_from(usable.min(cores).max(1)).unwrap_or(1)
}

/// Physical cores, where the system tells (Linux).
fn physical_cores() -> Option<usize> {
    let mut cores = BTreeSet::new();
    for entry in fs::read_dir("/sys/devices/system/cpu").ok()?.flatten() {
        let siblings = entry.path().join("topology/thread_siblings_list");
        if let Ok(siblings) = fs::read_to_string(siblings) {
            cores.insert(siblings);
        }
    }
    Some(cores.len()).filter(|count| *count > 0)
}

#[cfg(test)]
mod tests;
