#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use super::*;
use isogloss_testing::gguf::{Gguf, Tensor, Tokenizer, Value as Made};

fn of(bytes: &[u8]) -> Result<Header, HeaderError> {
    read(bytes, bytes.len() as u64)
}

fn small() -> Gguf {
    Gguf {
        version: 3,
        values: vec![
            (ARCHITECTURE.to_owned(), Made::Text("llama".to_owned())),
            ("llama.block_count".to_owned(), Made::U32(2)),
            ("flag".to_owned(), Made::Bool(true)),
            ("few".to_owned(), Made::I32s(vec![3, 0, -1])),
            (
                TOKENS.to_owned(),
                Made::Texts(vec!["a".into(), "b".into(), String::new()]),
            ),
        ],
        tensors: vec![
            Tensor {
                name: "a".into(),
                shape: vec![3],
                data: vec![1.0; 3],
            },
            Tensor {
                name: "b".into(),
                shape: vec![4, 2],
                data: vec![1.0; 8],
            },
        ],
    }
}

#[test]
fn a_header_says_what_the_model_is_and_how_long_the_file() {
    let bytes = small().bytes();
    let header = of(&bytes).unwrap();
    assert_eq!(header.version, 3);
    assert_eq!(header.architecture(), Some("llama"));
    assert_eq!(header.number("llama.block_count"), Some(2));
    assert_eq!(header.of_model("block_count"), Some(&Value::Unsigned(2)));
    assert_eq!(header.flag("flag"), Some(true));
    assert_eq!(header.length(TOKENS), 3);
    assert_eq!(
        header.values["few"],
        Value::List {
            length: 3,
            numbers: vec![3, 0],
            is_text: false
        }
    );
    assert_eq!(
        (header.tensors, header.elements, header.tensor_bytes),
        (2, 11, 44)
    );
    assert_eq!(header.end, bytes.len() as u64);
}

#[test]
fn a_whole_model_is_read_without_its_tensors() {
    for tokenizer in [Tokenizer::Bpe, Tokenizer::SentencePiece] {
        let bytes = Gguf::model(tokenizer, 1).bytes();
        let header = of(&bytes).unwrap();
        assert_eq!(header.end, bytes.len() as u64);
        assert!(header.length(TOKENS) > 400);
        let data = usize::try_from(header.end - header.tensor_bytes).unwrap();
        assert_eq!(read(&bytes[..data], bytes.len() as u64).unwrap(), header);
    }
}

#[test]
fn a_header_cut_anywhere_is_an_error() {
    let bytes = small().bytes();
    let end = bytes.len() - 64;
    let data = 32 * 3;
    for cut in 0..end - data {
        let error = of(&bytes[..cut]).unwrap_err();
        assert!(matches!(error, HeaderError::Cut { .. }), "{cut}: {error}");
    }
}

#[test]
fn versions_and_byte_orders_that_cannot_be_read_say_so() {
    let with = |version: [u8; 4]| {
        let mut bytes = small().bytes();
        bytes[4..8].copy_from_slice(&version);
        of(&bytes).unwrap_err().to_string()
    };
    assert!(with([1, 0, 0, 0]).contains("too old"));
    assert!(with([4, 0, 0, 0]).contains("newer"));
    assert!(with([0, 0, 0, 3]).contains("big-endian"));
    assert!(with([0, 0, 0, 0]).contains("too old"));
    assert!(matches!(of(b"GGML\x03\0\0\0"), Err(HeaderError::Magic)));
}

#[test]
fn numbers_that_the_file_has_no_bytes_for_allocate_nothing() {
    let at_counts = small().bytes();
    for (at, what) in [
        (8, "tensors"),
        (16, "metadata entries"),
        (24, "bytes of a metadata key"),
    ] {
        for number in [u64::MAX, u64::MAX / 8, 1 << 40] {
            let mut bytes = at_counts.clone();
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
            match of(&bytes).unwrap_err() {
                HeaderError::TooMany {
                    what: found, count, ..
                } => {
                    assert_eq!((found, count), (what, number));
                }
                other => panic!("{other}"),
            }
        }
    }
    // Below the limits, the file's own length is one.
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 8]);
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(1_u64.to_le_bytes());
    bytes.push(b'k');
    bytes.extend(9_u32.to_le_bytes());
    for kind in [8_u32, 10] {
        let mut bytes = bytes.clone();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(MAX_ELEMENTS.to_le_bytes());
        assert!(matches!(of(&bytes), Err(HeaderError::Cut { .. })));
    }
}

#[test]
fn what_is_damaged_is_named() {
    let says = |file: Gguf, what: &str| {
        let error = of(&file.bytes()).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    };
    let mut twice = small();
    twice.values.push(twice.values[1].clone());
    says(twice, "stands twice");
    says(
        small().with_tokens(|tokens| tokens.push("a".to_owned())),
        "token of the vocabulary stands twice",
    );
    says(
        small().set("general.alignment", Made::U32(24)),
        "power of two",
    );
    says(
        small().set("general.alignment", Made::U32(0)),
        "power of two",
    );
    let mut named = small();
    named.tensors[0].name = "x".repeat(64);
    says(named, "tensor's name");
    let mut flat = small();
    flat.tensors[0].shape = vec![1; 5];
    says(flat, "dimensions");
    let mut big = small();
    big.tensors[0].shape = vec![1 << 40, 1 << 40];
    says(big, "overflows");
    let mut long = small();
    long.values[0].1 = Made::Text("x".repeat(1 << 21));
    says(long, "metadata text");
}

#[test]
fn a_tensor_type_that_is_unknown_is_named() {
    let bytes = small().bytes();
    let name = b"\x01\0\0\0\0\0\0\0a\x01\0\0\0\x03\0\0\0\0\0\0\0";
    let at = bytes
        .windows(name.len())
        .position(|some| some == name)
        .unwrap()
        + name.len();
    let with = |kind: u32| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        of(&bytes)
    };
    assert!(matches!(with(4), Err(HeaderError::TensorType(4))));
    assert!(matches!(with(999), Err(HeaderError::TensorType(999))));
    let rows = with(12).unwrap_err().to_string();
    assert!(rows.contains("whole blocks"), "{rows}");
    assert_eq!(with(1).unwrap().tensor_bytes, 6 + 32, "half as wide");
}

#[test]
fn random_damage_never_panics_and_never_takes_memory_beyond_the_file() {
    let whole = Gguf::model(Tokenizer::SentencePiece, 2).bytes();
    let header = of(&whole).unwrap();
    let before = usize::try_from(header.end - header.tensor_bytes).unwrap();
    let files = [small().bytes(), whole[..before].to_vec()];
    let mut state = 42_u64;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut readable = 0;
    for round in 0..20_000 {
        let mut bytes = files[usize::from(round % 16 == 0)].clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = next(256) as u8,
                1 => bytes[at] ^= 1 << next(8),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let end = (at + 8).min(bytes.len());
                    let number = [u64::MAX, 0, 1 << 31, 1 << 62][next(4)].to_le_bytes();
                    bytes[at..end].copy_from_slice(&number[..end - at]);
                }
            }
        }
        // A header that is read, or an error with a message.
        match of(&bytes) {
            Ok(_) => readable += 1,
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert!(
        readable > 100,
        "the damage is too great to show anything: {readable}"
    );
}
