#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;
use crate::kernel::llama::library;
use crate::model::maker;
use crate::model::maker::{Gguf, Tokenizer};
use isogloss_gguf::read;
use llama_cpp_2::model::params::LlamaModelParams;

fn encoder(tokenizer: Tokenizer) -> Encoder {
    let dir = tempfile::tempdir().unwrap();
    let path = maker::random_model(dir.path(), tokenizer, 11);
    let bytes = Gguf::model(tokenizer, 11).bytes();
    let header = read(bytes.as_slice(), bytes.len() as u64).unwrap();
    let params = LlamaModelParams::default().with_n_gpu_layers(0);
    let model = LlamaModel::load_from_file(library().unwrap(), path, &params).unwrap();
    let tokens: Vec<LlamaToken> = model.vocab().tokens().collect();
    let kind = Kind::of(&header);
    let word_bytes = word_bytes(kind, header.text("tokenizer.ggml.pre"));
    let bytes = super::super::byte_tokens(&model, &tokens, kind);
    Encoder::new(Arc::new(model), &tokens, kind, word_bytes, bytes)
}

/// Texts of up to ten pieces each, special tokens among them: all that a small generator makes.
fn texts() -> Vec<String> {
    let pieces = [
        "<|im_start|>",
        "<|im_end|>",
        "<think>",
        "</think>",
        "<tool_call>",
        "<|im_",
        "end|>",
        "<s>",
        "</s>",
        "<unk>",
        " ",
        "  ",
        "\n",
        "user",
        "hello world",
        "{\"name\": ",
        "12345",
        "é",
        "你好，世界。",
        "😀",
        "!?",
        "\t",
        "'s",
        "▁",
    ];
    let mut state = 1_u64;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    (0..2_000)
        .map(|_| (0..next(10)).map(|_| pieces[next(pieces.len())]).collect())
        .collect()
}

#[test]
fn templates_are_encoded_as_llama_cpp_encodes_them() {
    for tokenizer in [
        Tokenizer::Bpe,
        Tokenizer::BpeDefault,
        Tokenizer::SentencePiece,
    ] {
        let encoder = encoder(tokenizer);
        let vocab = encoder.model.vocab();
        for text in texts() {
            let theirs: Vec<Token> = vocab
                .tokenize(text.as_bytes(), false, true)
                .into_iter()
                .map(|token| Token::try_from(token.0).unwrap())
                .collect();
            assert_eq!(
                encoder.encode(&text, true),
                theirs,
                "{tokenizer:?}: {text:?}"
            );
        }
    }
}

#[test]
fn plain_text_is_encoded_as_llama_cpp_encodes_it_where_that_keeps_the_text() {
    let encoder = encoder(Tokenizer::Bpe);
    let vocab = encoder.model.vocab();
    for text in texts() {
        let theirs: Vec<Token> = vocab
            .tokenize(text.as_bytes(), false, false)
            .into_iter()
            .map(|token| Token::try_from(token.0).unwrap())
            .collect();
        assert_eq!(encoder.encode(&text, false), theirs, "{text:?}");
    }
}

#[test]
fn without_a_usable_sentinel_text_is_spelt_in_bytes() {
    let mut encoder = encoder(Tokenizer::SentencePiece);
    for (_, before) in &mut encoder.sentinels {
        before.insert(0, LlamaToken(0));
    }
    let tokens = encoder.encode("hé", false);
    // After <unk>, <s> and </s> come the 256 bytes.
    let bytes: Vec<u8> = tokens.iter().map(|token| (*token - 3) as u8).collect();
    assert_eq!(bytes, "hé".as_bytes());
}

#[test]
fn blocks_are_the_text_and_cut_where_words_begin() {
    let lines = "a line of words\n".repeat(5_000);
    let cut: Vec<&str> = blocks(&lines, REGEX_WORD_BYTES).collect();
    assert_eq!(cut.concat(), lines);
    assert!(cut.len() > 4);
    for block in &cut[1..] {
        assert!(block.starts_with([' ', 'a']), "{:?}", &block[..5]);
        assert!(block.len() <= BLOCK_BYTES);
    }
    let word = "é".repeat(10_000);
    let cut: Vec<&str> = blocks(&word, REGEX_WORD_BYTES).collect();
    assert_eq!(cut.concat(), word);
    assert!(cut.iter().all(|block| block.len() <= REGEX_WORD_BYTES + 1));
    let chinese = "你好，世界。".repeat(1_000);
    let cut: Vec<&str> = blocks(&chinese, REGEX_WORD_BYTES).collect();
    assert_eq!(cut.concat(), chinese);
    assert!(cut[1..].iter().all(|block| block.starts_with(['，', '。'])));
    for short in ["", "x", " ", "a b", "\n\n"] {
        assert_eq!(blocks(short, 1).collect::<String>(), short);
    }
}
