#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use isogloss_gguf::Value;
use std::collections::BTreeMap;

fn device(index: usize, name: &str, kind: LlamaBackendDeviceType) -> LlamaBackendDevice {
    LlamaBackendDevice {
        index,
        name: name.to_owned(),
        description: format!("the {name}"),
        backend: String::new(),
        memory_total: 0,
        memory_free: 8 << 30,
        device_type: kind,
    }
}

fn devices() -> Vec<LlamaBackendDevice> {
    vec![
        device(0, "Vulkan0", LlamaBackendDeviceType::IntegratedGpu),
        device(1, "CUDA0", LlamaBackendDeviceType::Gpu),
        device(2, "CUDA1", LlamaBackendDeviceType::Gpu),
        device(3, "CPU", LlamaBackendDeviceType::Cpu),
    ]
}

/// Weights of so many bytes in 31 layers and the output.
fn header(bytes: u64) -> Header {
    let values = [
        ("general.architecture", Value::Text("llama".to_owned())),
        ("llama.block_count", Value::Unsigned(31)),
    ];
    Header {
        values: BTreeMap::from(values.map(|(key, value)| (key.to_owned(), value))),
        tensor_bytes: bytes,
        ..Header::default()
    }
}

fn choice(device: Option<&str>, layers: Option<u32>) -> Result<Choice, LoadError> {
    pick(&devices(), device, layers, &header(1 << 30), 0)
}

#[test]
fn the_first_gpu_computes_where_nothing_is_said_and_an_integrated_one_last() {
    let found = choice(None, None).unwrap();
    assert_eq!(found.gpu, Some((1, "CUDA0".to_owned())));
    assert_eq!(found.layers, None, "all fit");
    assert_eq!(found.name, "CUDA0 (the CUDA0)");
    let integrated = pick(&devices()[..1], None, None, &header(1), 0).unwrap();
    assert_eq!(integrated.gpu, Some((0, "Vulkan0".to_owned())));
}

#[test]
fn the_cpu_computes_where_it_is_named_or_no_layer_may_go_elsewhere() {
    for found in [
        choice(Some("CPU"), None),
        choice(None, Some(0)),
        choice(Some("CUDA1"), Some(0)),
        pick(&devices()[3..], None, None, &header(1), 0),
    ] {
        let found = found.unwrap();
        assert_eq!((found.gpu, found.layers), (None, Some(0)));
    }
}

#[test]
fn a_device_is_found_by_its_name_and_a_wrong_name_lists_them() {
    let found = choice(Some("cuda1"), Some(7)).unwrap();
    assert_eq!(found.gpu, Some((2, "CUDA1".to_owned())));
    assert_eq!(found.layers, Some(7));
    let error = choice(Some("tpu"), None).unwrap_err().to_string();
    assert!(
        error.contains("\"tpu\"") && error.contains("CUDA1"),
        "{error}"
    );
}

#[test]
fn layers_without_a_gpu_are_an_error_that_says_how_to_get_one() {
    let none = pick(&devices()[3..], None, Some(9), &header(1), 0);
    let error = none.unwrap_err().to_string();
    assert!(error.contains("--features cuda"), "{error}");
    let cpu = choice(Some("cpu"), Some(9)).unwrap_err();
    assert!(matches!(cpu, LoadError::NoGpu { asked: 9, .. }));
}

#[test]
fn as_many_layers_go_to_the_gpu_as_fit_beside_the_cache() {
    let gib = 1 << 30;
    let layers = |weights, cache| {
        pick(&devices(), None, None, &header(weights), cache)
            .unwrap()
            .layers
    };
    assert_eq!(layers(7 * gib, 0), None);
    assert_eq!(layers(7 * gib + 1, 0), Some(31), "of 32");
    assert_eq!(layers(32 * gib, 2 * gib), Some(5));
    assert_eq!(layers(32 * gib, 20 * gib), Some(0));
}

#[test]
fn threads_are_those_configured_else_at_most_the_cores() {
    assert_eq!(threads(3), 3);
    let usable = thread::available_parallelism().unwrap().get();
    assert!((1..=u32::try_from(usable).unwrap()).contains(&threads(0)));
}
