//! Files that are no model, and models that cannot run: each is an error that says what to do,
//! before native code sees the file wherever that can be told.

use gguf::{Gguf, Tokenizer, Value, random_model};
use isogloss_testing::gguf;
use isogloss_worker::model::{LoadError, LoadOptions, Looks, list, load};
use std::fs;
use std::path::Path;
use tempfile::{TempDir, tempdir};

fn refused(path: &Path) -> LoadError {
    let error = load(&LoadOptions::of(path), Box::new(|_| true)).unwrap_err();
    let message = error.to_string();
    let name = path.file_name().unwrap().to_string_lossy();
    assert!(message.contains(&*name), "the file is named: {message}");
    error
}

/// What is said of a file with these bytes.
fn refused_bytes(bytes: &[u8]) -> LoadError {
    let dir = tempdir().unwrap();
    let path = dir.path().join("m.gguf");
    fs::write(&path, bytes).unwrap();
    refused(&path)
}

fn refused_model(file: &Gguf) -> LoadError {
    refused_bytes(&file.bytes())
}

fn model() -> Gguf {
    Gguf::model(Tokenizer::Bpe, 1)
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn says(error: &LoadError, parts: &[&str]) {
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

#[test]
fn a_path_without_a_file_says_so() {
    let dir = tempdir().unwrap();
    assert!(matches!(
        refused(&dir.path().join("none.gguf")),
        LoadError::Missing { .. }
    ));
    fs::write(dir.path().join("file"), "x").unwrap();
    let below = dir.path().join("file/m.gguf");
    assert!(matches!(refused(&below), LoadError::Missing { .. }));
    assert!(matches!(refused(dir.path()), LoadError::Folder { .. }));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempdir().unwrap();
    let path = random_model(dir.path(), Tokenizer::Bpe, 1);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if fs::File::open(&path).is_ok() {
        println!("skipped: this user may read every file");
        return;
    }
    assert!(matches!(refused(&path), LoadError::Permission { .. }));
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_no_model_and_is_not_waited_for() {
    says(&refused(Path::new("/dev/zero")), &["not a GGUF file"]);
}

#[test]
fn what_is_no_gguf_file_is_told_by_what_it_looks_like() {
    let safetensors = b"\x40\x01\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"}}".as_slice();
    let cases: &[(&[u8], Looks)] = &[
        (b"", Looks::Empty),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a",
            Looks::LfsPointer,
        ),
        (b"<!DOCTYPE html><html>Sign in</html>", Looks::Html),
        (b"\n<html lang=\"en\">", Looks::Html),
        (safetensors, Looks::Safetensors),
        (b"PK\x03\x04\x14\0\0\0archive/data.pkl", Looks::Zip),
        (b"\x1f\x8b\x08\0\0\0\0\0", Looks::Gzip),
        (b"{\"error\": \"not found\"}", Looks::Json),
        (b"tjgg\x03\0\0\0\0\x7d\0\0", Looks::Ggml),
        (b"lmgg\x00\x7d\0\0", Looks::Ggml),
        (&[0; 4_096], Looks::Zeros),
        (b"GG", Looks::Unknown),
        (b"\x7fELF\x02\x01\x01\0", Looks::Unknown),
    ];
    for (bytes, looks) in cases {
        match refused_bytes(bytes) {
            LoadError::NotGguf { looks: found, .. } => assert_eq!(found, *looks),
            other => panic!("{looks:?}: {other}"),
        }
    }
}

#[test]
fn a_cut_download_names_the_bytes_that_are_missing() {
    let whole = model().bytes();
    let cut = refused_bytes(&whole[..whole.len() - 1]);
    says(
        &cut,
        &[
            "cut short",
            &whole.len().to_string(),
            &(whole.len() - 1).to_string(),
        ],
    );
    says(&refused_bytes(&whole[..1_000]), &["inside of its header"]);
}

#[test]
fn counts_beyond_reason_are_refused_at_once() {
    for at in [8, 16, 24] {
        let mut bytes = model().bytes();
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        says(&refused_bytes(&bytes), &["18446744073709551615", "damaged"]);
    }
    let mut version = model();
    version.version = 9;
    says(&refused_model(&version), &["version 9", "update"]);
}

#[test]
fn an_unknown_architecture_is_named() {
    let error = refused_model(&model().set("general.architecture", text("quux")));
    assert!(
        matches!(&error, LoadError::Architecture { architecture, .. } if architecture == "quux")
    );
    let hostile = format!("quux\u{1b}[31m{}", "x".repeat(1_000));
    let error = refused_model(&model().set("general.architecture", text(&hostile)));
    assert!(error.to_string().len() < 500, "{error}");
    assert!(!error.to_string().contains('\u{1b}'));
    let none = refused_model(&model().without("general.architecture"));
    says(&none, &["general.architecture"]);
}

#[test]
fn projectors_adapters_and_models_that_write_no_text_are_told_apart() {
    let projector = refused_model(&model().set("general.architecture", text("clip")));
    assert!(matches!(projector, LoadError::Projector { .. }));
    let typed = refused_model(&model().set("general.type", text("mmproj")));
    assert!(matches!(typed, LoadError::Projector { .. }));
    for file in [
        model().set("general.architecture", text("nomic-bert")),
        model().set("general.architecture", text("t5")),
        model().set("general.type", text("adapter")),
        model().set("llama.pooling_type", Value::U32(3)),
    ] {
        let error = refused_model(&file);
        assert!(matches!(error, LoadError::NotGenerative { .. }), "{error}");
    }
}

#[test]
fn a_tokenizer_that_cannot_be_used_says_why() {
    let cases = [
        (model().without("tokenizer.ggml.model"), "no tokenizer"),
        (
            model().set("tokenizer.ggml.model", text("none")),
            "no tokenizer",
        ),
        (
            model().set("tokenizer.ggml.model", text("quux")),
            "\"quux\"",
        ),
        (model().without("tokenizer.ggml.tokens"), "no tokens"),
        (
            model().set("tokenizer.ggml.tokens", Value::Texts(Vec::new())),
            "no tokens",
        ),
        (
            model().set("tokenizer.ggml.tokens", Value::I32s(vec![1, 2])),
            "no tokens",
        ),
        (
            model().with_tokens(|tokens| tokens[3] = tokens[4].clone()),
            "stands twice",
        ),
        (model().without("tokenizer.ggml.merges"), "merges"),
        (
            model().set("tokenizer.ggml.pre", text("quux")),
            "pre-tokenizer",
        ),
        (
            model().set("tokenizer.ggml.token_type", Value::I32s(vec![1])),
            "toktypes",
        ),
    ];
    for (file, what) in cases {
        says(&refused_model(&file), &[what]);
    }
    // llama.cpp would throw through its C interface at the first character without a piece.
    let bytes = Gguf::model(Tokenizer::SentencePiece, 1)
        .with_tokens(|tokens| tokens[3] = "<0xZZ>".to_owned());
    says(&refused_model(&bytes), &["byte fallback"]);
}

#[test]
fn a_model_without_an_end_is_refused_and_a_guessed_one_does_not_count() {
    // llama.cpp takes token 11 where none is named, and knows some names.
    let nameless = model()
        .without("tokenizer.ggml.eos_token_id")
        .without("tokenizer.ggml.bos_token_id")
        .with_tokens(|tokens| {
            for token in tokens {
                if token.starts_with("<|") {
                    *token = token.replace("<|", "[[");
                }
            }
        });
    says(&refused_model(&nameless), &["eos_token_id"]);
}

#[test]
fn tensors_that_are_missing_or_misshapen_are_llama_cpp_s_error() {
    let mut less = model();
    less.tensors.remove(1);
    says(&refused_model(&less), &["llama.cpp", "output_norm.weight"]);
    let mut other = model();
    other.tensors[1].shape = vec![32];
    other.tensors[1].data.truncate(32);
    says(&refused_model(&other), &["llama.cpp", "output_norm.weight"]);
    says(
        &refused_model(&model().without("llama.block_count")),
        &["llama.cpp", "block_count"],
    );
}

#[test]
fn settings_that_the_model_or_the_build_cannot_meet_name_the_setting() {
    let dir = tempdir().unwrap();
    let path = random_model(dir.path(), Tokenizer::Bpe, 1);
    let with = |change: fn(&mut LoadOptions)| {
        let mut options = LoadOptions::of(&path);
        change(&mut options);
        load(&options, Box::new(|_| true)).unwrap_err()
    };
    says(
        &with(|options| options.context = 5_000),
        &["worker.context is 5000", "4096"],
    );
    says(&with(|options| options.slots = 0), &["worker.slots is 0"]);
    says(
        &with(|options| options.device = Some("warp9".to_owned())),
        &["worker.device is \"warp9\"", "cpu"],
    );
    let on_cpu = with(|options| {
        options.device = Some("cpu".to_owned());
        options.gpu_layers = Some(3);
    });
    says(&on_cpu, &["worker.gpu_layers is 3", "cpu"]);
}

#[test]
fn a_cache_that_no_memory_holds_is_refused_with_numbers() {
    let error = refused_model(
        &model()
            .set("llama.context_length", Value::U32(u32::MAX))
            .set("llama.attention.key_length", Value::U32(1 << 30)),
    );
    // Where the system does not tell its memory, llama.cpp has the last word.
    if cfg!(target_os = "linux") {
        assert!(
            matches!(error, LoadError::Memory { context: 8_192, .. }),
            "{error}"
        );
        says(&error, &["MiB", "smaller context"]);
    }
}

// === split models and folders ===

fn part(file: Gguf, number: u32, of: u32) -> Vec<u8> {
    file.set("split.no", Value::U32(number))
        .set("split.count", Value::U32(of))
        .bytes()
}

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn a_part_of_a_split_model_asks_for_the_first_and_all_others() {
    let bytes = part(model(), 0, 3);
    let dir = folder(&[
        ("m-00001-of-00003.gguf", &bytes),
        ("m-00002-of-00003.gguf", &part(model(), 1, 3)),
        ("x.gguf", &bytes),
    ]);
    let first = refused(&dir.path().join("m-00001-of-00003.gguf"));
    says(&first, &["3 files", "m-00003-of-00003.gguf is not there"]);
    let second = refused(&dir.path().join("m-00002-of-00003.gguf"));
    says(&second, &["part 2", "split into 3 files", "the first"]);
    let renamed = refused(&dir.path().join("x.gguf"));
    says(&renamed, &["-00001-of-00003.gguf"]);
    let last = part(model(), 2, 3);
    fs::write(
        dir.path().join("m-00003-of-00003.gguf"),
        &last[..last.len() - 9],
    )
    .unwrap();
    let error = load(
        &LoadOptions::of(dir.path().join("m-00001-of-00003.gguf")),
        Box::new(|_| true),
    )
    .unwrap_err();
    says(&error, &["m-00003-of-00003.gguf", "cut short"]);
}

#[test]
fn a_folder_s_models_are_listed_by_name_without_projectors_and_later_parts() {
    let dir = folder(&[
        ("b.gguf", b"bb"),
        ("A.GGUF", b"a"),
        ("mmproj-b-f16.gguf", b"x"),
        ("b-mmproj.gguf", b"x"),
        ("big-00001-of-00002.gguf", b"123"),
        ("big-00002-of-00002.gguf", b"4567"),
        ("notes.txt", b"x"),
        (".hidden.gguf", b"x"),
        (".gguf", b"x"),
        ("not-1-of-2.gguf", b"x"),
    ]);
    fs::create_dir(dir.path().join("folder.gguf")).unwrap();
    let found: Vec<(String, u64)> = list(dir.path())
        .unwrap()
        .into_iter()
        .map(|model| (model.name, model.bytes))
        .collect();
    let expected = [("A", 1), ("b", 2), ("big", 7), ("not-1-of-2", 1)];
    assert_eq!(
        found,
        expected.map(|(name, bytes)| (name.to_owned(), bytes))
    );
    let one = list(&dir.path().join("b.gguf")).unwrap();
    assert_eq!((one[0].name.as_str(), one.len()), ("b", 1));
    // A file that is named may be called anything.
    let any = list(&dir.path().join("notes.txt")).unwrap();
    assert_eq!(any[0].name, "notes.txt");
}

#[test]
fn a_folder_without_models_and_nothing_at_all_are_errors() {
    let dir = folder(&[("readme.md", b"x")]);
    assert!(matches!(list(dir.path()), Err(LoadError::NoModels { .. })));
    assert!(matches!(
        list(&dir.path().join("none")),
        Err(LoadError::Missing { .. })
    ));
}
