#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use std::collections::BTreeMap;

/// 28 layers with 8 heads of 128: 112 KiB a token.
fn header() -> Header {
    let values = [
        ("general.architecture", Value::Text("qwen3".to_owned())),
        ("qwen3.context_length", Value::Unsigned(40_960)),
        ("qwen3.block_count", Value::Unsigned(28)),
        ("qwen3.embedding_length", Value::Unsigned(1_024)),
        ("qwen3.attention.head_count", Value::Unsigned(16)),
        ("qwen3.attention.head_count_kv", Value::Unsigned(8)),
        ("qwen3.attention.key_length", Value::Unsigned(128)),
        ("qwen3.attention.value_length", Value::Unsigned(128)),
    ];
    Header {
        values: BTreeMap::from(values.map(|(key, value)| (key.to_owned(), value))),
        ..Header::default()
    }
}

fn with(key: &str, value: Value) -> Header {
    let mut header = header();
    header.values.insert(format!("qwen3.{key}"), value);
    header
}

fn wanted() -> Wanted<'static> {
    Wanted {
        path: Path::new("m.gguf"),
        context: 0,
        slots: 8,
        available: None,
        weights: 0,
    }
}

#[test]
fn without_a_setting_a_conversation_has_what_the_model_was_trained_on_but_at_most_8192() {
    assert_eq!(plan(&header(), wanted()).unwrap().context, 8_192);
    let small = with("context_length", Value::Unsigned(2_048));
    assert_eq!(plan(&small, wanted()).unwrap().context, 2_048);
    let asked = Wanted {
        context: 40_960,
        ..wanted()
    };
    assert_eq!(plan(&header(), asked).unwrap().context, 40_960);
    let beyond = Wanted {
        context: 40_961,
        ..wanted()
    };
    let error = plan(&header(), beyond).unwrap_err().to_string();
    assert!(
        error.contains("40961") && error.contains("40960"),
        "{error}"
    );
}

#[test]
fn all_slots_have_room_where_the_memory_suffices() {
    let plan = plan(&header(), wanted()).unwrap();
    assert_eq!(plan.cells, 8 * 8_192);
    assert_eq!(plan.cache_bytes, 8 * 8_192 * 112 * 1_024);
}

#[test]
fn the_cache_takes_half_of_what_the_weights_leave_but_one_conversation_fits() {
    let gib = 1 << 30;
    let scarce = Wanted {
        available: Some(5 * gib),
        weights: gib,
        ..wanted()
    };
    let cells = plan(&header(), scarce).unwrap().cells;
    assert_eq!(
        u64::from(cells),
        (2 * gib / (112 * 1_024)).next_multiple_of(256)
    );
    let less = Wanted {
        available: Some(gib),
        weights: gib,
        ..wanted()
    };
    assert_eq!(plan(&header(), less).unwrap().cells, 8_192);
    let none = Wanted {
        available: Some(gib / 2),
        weights: gib,
        ..wanted()
    };
    let error = plan(&header(), none).unwrap_err().to_string();
    assert!(
        error.contains("896 MiB") && error.contains("512 MiB"),
        "{error}"
    );
}

#[test]
fn slots_are_as_many_as_llama_cpp_tells_apart() {
    for slots in [0, 257] {
        let error = plan(&header(), Wanted { slots, ..wanted() }).unwrap_err();
        assert!(error.to_string().contains("1 to 256"), "{error}");
    }
    assert!(
        plan(
            &header(),
            Wanted {
                slots: 256,
                ..wanted()
            }
        )
        .is_ok()
    );
}

#[test]
fn a_token_s_cache_is_counted_over_all_layers_that_have_one() {
    assert_eq!(cell_bytes(&header()), 112 * 1_024);
    let numbers = (0..28)
        .map(|layer| if layer % 4 == 3 { 8 } else { 0 })
        .collect();
    let hybrid = with(
        "attention.head_count_kv",
        Value::List {
            length: 28,
            numbers,
            is_text: false,
        },
    );
    assert_eq!(cell_bytes(&hybrid), 28 * 1_024);
    let mut latent = with("attention.kv_lora_rank", Value::Unsigned(512));
    latent
        .values
        .insert("qwen3.rope.dimension_count".to_owned(), Value::Unsigned(64));
    assert_eq!(cell_bytes(&latent), 2 * 28 * 576);
    assert_eq!(cell_bytes(&Header::default()), 0);
}

#[test]
fn numbers_beyond_reason_overflow_nothing() {
    for key in [
        "context_length",
        "block_count",
        "embedding_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.kv_lora_rank",
    ] {
        for number in [0, 1, u64::MAX] {
            for available in [None, Some(0), Some(u64::MAX)] {
                let header = with(key, Value::Unsigned(number));
                let _ = plan(
                    &header,
                    Wanted {
                        available,
                        slots: 256,
                        ..wanted()
                    },
                );
            }
        }
    }
}

#[test]
fn a_control_group_leaves_what_it_has_not_used_its_page_cache_aside() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("a/b");
    fs::create_dir_all(&inner).unwrap();
    let write = |path: PathBuf, text: &str| fs::write(path, text).unwrap();
    write(inner.join("memory.max"), "max\n");
    write(inner.join("memory.current"), "400\n");
    assert_eq!(group("0::/a/b\n", root.path()), None);
    let outer = root.path().join("a");
    write(outer.join("memory.max"), "1000\n");
    write(outer.join("memory.current"), "700\n");
    write(outer.join("memory.stat"), "anon 5\ninactive_file 200\n");
    assert_eq!(group("0::/a/b\n", root.path()), Some(500));
    assert_eq!(group("3:cpu:/x\n0::/a/b", root.path()), Some(500));
    assert_eq!(group("nonsense", root.path()), None);
}

#[test]
fn this_machine_s_memory_is_known_on_linux() {
    if cfg!(target_os = "linux") {
        assert!(available().unwrap() > 1 << 20);
    }
}
