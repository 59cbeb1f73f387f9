//! Loading models and running them: both kinds of tokenisers with random weights, and a small real
//! model.
#![cfg(feature = "worker")]
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

#[path = "support/gguf.rs"]
mod gguf;

use gguf::{Gguf, Tokenizer, random_model};
use isogloss::worker::model::{LoadOptions, load};

#[test]
fn random_models_load() {
    let dir = tempfile::tempdir().unwrap();
    for tokenizer in [
        Tokenizer::Bpe,
        Tokenizer::BpeDefault,
        Tokenizer::SentencePiece,
    ] {
        let path = random_model(dir.path(), tokenizer, 1);
        println!("{} bytes", std::fs::metadata(&path).unwrap().len());
        let begin = std::time::Instant::now();
        let loaded = load(&LoadOptions::of(path), Box::new(|_| ())).unwrap();
        println!("{:?} {loaded:?}", begin.elapsed());
        for n in [2000usize, 4000, 8000, 16000, 32000, 64000, 128000, 256000] {
            for s in ["a", "1", " ", "!", "\n"] {
                let begin = std::time::Instant::now();
                let t = loaded.vocabulary.encode(&s.repeat(n), false);
                println!("{n} {s:?} {} {:?}", t.len(), begin.elapsed());
            }
        }
    }
}
