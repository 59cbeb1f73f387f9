//! Models that load and run: all kinds of tokenisers with random weights, and a small real model.
//! What does not load is in `worker_load.rs`.
//!
//! Public texts are read from the folder `ISOGLOSS_DATA` (default `../shared/data`), the real model
//! from `ISOGLOSS_MODELS` (default `../shared/models`).

use gguf::{Tokenizer, random_model};
use isogloss_testing::gguf;
use isogloss_worker::kernel::{Entry, Kernel, KernelError, Slot};
use isogloss_worker::model::{LoadOptions, Loaded, load};
use isogloss_worker::vocabulary::{Token, TokenKind, Vocabulary};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const ALL: [Tokenizer; 3] = [
    Tokenizer::Bpe,
    Tokenizer::BpeDefault,
    Tokenizer::SentencePiece,
];

fn random(tokenizer: Tokenizer, change: impl FnOnce(&mut LoadOptions)) -> Loaded {
    let dir = tempfile::tempdir().unwrap();
    let mut options = LoadOptions::of(random_model(dir.path(), tokenizer, 7));
    change(&mut options);
    // The file may go: it is mapped.
    load(&options, Box::new(|_| true)).unwrap()
}

/// A small real model, where it is there.
fn tiny_chat() -> Option<PathBuf> {
    let folder = isogloss_testing::shared("ISOGLOSS_MODELS", "models");
    let path = Path::new(&folder).join("tiny-chat/tiny-chat-f32.gguf");
    if !path.exists() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// Texts that are hard on tokenisers: ours, and public ones where they are there.
fn naughty() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "  ",
        "\n",
        " \n x",
        "hello world",
        " leading",
        "trailing ",
        "{\"name\": \"é\", \"items\": [1, 2.5e-3, null]}",
        "你好，世界。",
        "😀👩‍👩‍👧‍👦🏳️‍🌈",
        "\u{0}\u{1}\u{2}\u{3}\u{7f}",
        "a\u{300}\u{301}",
        "▁▁ ▁",
        "<0x0A>",
        "<|im_end|><s></s><unk>",
        "a<think> b </think>c<tool_call>",
        "<|im_<|im_end|>end|>",
        "\u{feff}\u{202e}\u{fffd}\u{10ffff}",
        "\r\n\r\n\t",
    ]
    .map(str::to_owned)
    .into();
    let folder = isogloss_testing::shared("ISOGLOSS_DATA", "data");
    let path = Path::new(&folder).join("naughty_strings.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return texts;
    };
    for line in lines.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        texts.push(row["s"].as_str().unwrap().to_owned());
    }
    assert!(texts.len() > 200);
    texts
}

fn bytes(vocabulary: &Vocabulary, tokens: &[Token]) -> Vec<u8> {
    tokens
        .iter()
        .flat_map(|token| vocabulary.pieces()[*token as usize].bytes.clone())
        .collect()
}

fn named(vocabulary: &Vocabulary, name: &str) -> Token {
    let found = vocabulary
        .pieces()
        .iter()
        .position(|piece| piece.bytes == name.as_bytes());
    Token::try_from(found.unwrap_or_else(|| panic!("no token {name}"))).unwrap()
}

// === vocabularies ===

fn texts_survive(vocabulary: &Vocabulary, texts: &[String]) {
    for text in texts {
        let tokens = vocabulary.encode(text, false);
        assert_eq!(bytes(vocabulary, &tokens), text.as_bytes(), "{text:?}");
        let kinds = tokens
            .iter()
            .map(|token| vocabulary.pieces()[*token as usize].kind);
        assert!(
            kinds.clone().all(|kind| kind == TokenKind::Text),
            "{text:?}: plain text names no control token: {:?}",
            kinds.collect::<Vec<_>>()
        );
    }
}

#[test]
fn plain_text_is_the_same_after_encoding_and_decoding() {
    let texts = naughty();
    for tokenizer in ALL {
        texts_survive(&random(tokenizer, |_| ()).vocabulary, &texts);
    }
}

#[test]
fn plain_text_is_the_same_after_encoding_and_decoding_by_a_real_model() {
    if let Some(path) = tiny_chat() {
        let loaded = load(&LoadOptions::of(path), Box::new(|_| true)).unwrap();
        assert_eq!(loaded.vocabulary.len(), 4_096);
        texts_survive(&loaded.vocabulary, &naughty());
    }
}

#[test]
fn a_template_s_text_gets_sentencepiece_s_own_space_and_plain_text_does_not() {
    let vocabulary = random(Tokenizer::SentencePiece, |_| ()).vocabulary;
    let of = |text: &str, controls| {
        let tokens = vocabulary.encode(text, controls);
        String::from_utf8(bytes(&vocabulary, &tokens)).unwrap()
    };
    assert_eq!(of("hello", false), "hello");
    assert_eq!(of("hello", true), " hello");
    assert_eq!(of("<|im_start|>user", true), "<|im_start|> user");
    assert_eq!(of("a<think>b", false), "a<think>b");
}

#[test]
fn names_of_control_tokens_are_those_tokens_in_a_template_only() {
    for tokenizer in ALL {
        let vocabulary = random(tokenizer, |_| ()).vocabulary;
        let start = named(&vocabulary, "<|im_start|>");
        assert_eq!(vocabulary.encode("<|im_start|>", true), [start]);
        let plain = vocabulary.encode("<|im_start|>", false);
        assert!(plain.len() > 1 && !plain.contains(&start), "{plain:?}");
        assert_eq!(vocabulary.text(start), b"", "{tokenizer:?}");
        // User-defined tokens are text, and one token in both.
        let think = named(&vocabulary, "<think>");
        assert_eq!(vocabulary.encode("<think>", true), [think]);
        assert_eq!(vocabulary.encode("<think>", false), [think]);
        assert_eq!(vocabulary.text(think), b"<think>");
    }
}

#[test]
fn bytes_and_spaces_are_what_the_tokens_stand_for() {
    let vocabulary = random(Tokenizer::SentencePiece, |_| ()).vocabulary;
    let line_end = vocabulary.encode("\n", false);
    assert_eq!(line_end.len(), 1);
    assert_eq!(vocabulary.text(line_end[0]), b"\n");
    let the = vocabulary.encode(" the", false);
    assert_eq!(the.len(), 1);
    assert_eq!(vocabulary.text(the[0]), b" the");
    assert_eq!(vocabulary.pieces()[0].kind, TokenKind::Unused, "<unk>");
    assert_eq!(vocabulary.bos(), Some(1), "the model wants <s> first");
    assert_eq!(vocabulary.ends().first(), Some(&2), "</s>");
    assert!(vocabulary.is_end(named(&vocabulary, "<|im_end|>")));

    let vocabulary = random(Tokenizer::Bpe, |_| ()).vocabulary;
    assert_eq!(vocabulary.text(named(&vocabulary, "{\"")), b"{\"");
    // Characters are spread over tokens, and their bytes alone are no text.
    assert_eq!(vocabulary.encode("😀", false).len(), 2);
    assert_eq!(vocabulary.bos(), None, "the model wants nothing first");
    let end = named(&vocabulary, "<|im_end|>");
    assert_eq!(vocabulary.ends().first(), Some(&end));
    let unused = vocabulary
        .pieces()
        .iter()
        .filter(|piece| piece.kind == TokenKind::Unused);
    assert_eq!(unused.count(), 1);
}

#[test]
fn hostile_texts_are_encoded_in_time_that_grows_with_their_length_only() {
    // llama.cpp alone takes minutes for the first two, and overflows its stack for the rest.
    let texts = [
        "<think>".repeat(100_000),
        "<|im_start|>".repeat(50_000),
        "1".repeat(300_000),
        "a".repeat(300_000),
        " ".repeat(300_000),
        "\n".repeat(300_000),
        "你".repeat(100_000),
        "\u{301}".repeat(100_000),
        "!".repeat(300_000),
    ];
    for tokenizer in ALL {
        let vocabulary = random(tokenizer, |_| ()).vocabulary;
        for text in &texts {
            let begin = std::time::Instant::now();
            let tokens = vocabulary.encode(text, true);
            let took = begin.elapsed();
            assert!(bytes(&vocabulary, &tokens).ends_with(text.as_bytes()));
            assert!(
                took.as_secs() < 10,
                "{tokenizer:?}: {took:?} for {} bytes of {:?}",
                text.len(),
                text.chars().next()
            );
        }
    }
}

#[test]
fn a_model_says_what_it_is_and_how_far_loading_is() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let dir = tempfile::tempdir().unwrap();
    let path = random_model(dir.path(), Tokenizer::Bpe, 3);
    let told = Arc::clone(&seen);
    let progress = Box::new(move |done| {
        told.lock().unwrap().push(done);
        true
    });
    let options = LoadOptions {
        // Wherever there is a GPU.
        gpu_layers: Some(0),
        ..LoadOptions::of(path)
    };
    let loaded = load(&options, progress).unwrap();
    let about = loaded.about;
    assert_eq!(about.name, "random 3");
    assert_eq!(about.architecture, "llama");
    assert_eq!((about.layers, about.offloaded_layers), (2, 0));
    assert_eq!(about.context_train, gguf::CONTEXT);
    assert_eq!(about.chat_template.as_deref(), Some(gguf::CHAT_TEMPLATE));
    assert_eq!(about.eos_text, "<|im_end|>");
    assert_eq!(about.bytes, about.parameters * 4);
    assert_eq!(about.device, "CPU");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.last(), Some(&1.0));
    assert!(seen.is_sorted() && seen.len() <= 101, "{seen:?}");
}

// === forward passes ===

/// Runs a model's kernels on this thread.
fn run(loaded: Loaded, mut test: impl FnMut(&mut dyn Kernel)) {
    let mut ran = false;
    loaded
        .setup
        .run(&mut |kernel| {
            test(kernel);
            ran = true;
        })
        .unwrap();
    assert!(ran);
}

fn entries(slot: Slot, from: u32, tokens: &[Token]) -> Vec<Entry> {
    let last = tokens.len() - 1;
    let places = tokens.iter().zip(from..).enumerate();
    places
        .map(|(index, (token, position))| Entry {
            token: *token,
            position,
            slot,
            logits: index == last,
        })
        .collect()
}

/// The logits after these tokens.
fn after(kernel: &mut dyn Kernel, slot: Slot, from: u32, tokens: &[Token]) -> Vec<f32> {
    let entries = entries(slot, from, tokens);
    kernel.forward(&entries).unwrap();
    kernel.logits(entries.len() - 1).to_vec()
}

/// Logits are sums of products in 16 and 32 bits, whose order depends on the batch.
fn same(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    assert!(!a.is_empty() && a.iter().all(|logit| logit.is_finite()));
    let far = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(far < 0.05, "logits differ by {far}");
}

fn different(a: &[f32], b: &[f32]) {
    let far = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    assert!(far > 0.2, "logits differ by {far} only");
}

/// Different sequences of different lengths.
fn prompts(tokens: usize) -> Vec<Vec<Token>> {
    (0..4_usize)
        .map(|prompt| {
            (0..5 + 7 * prompt)
                .map(|place| {
                    Token::try_from((prompt * 131 + place * 37 + 11) % (tokens - 8)).unwrap()
                })
                .collect()
        })
        .collect()
}

fn passes_agree(load: impl Fn() -> Loaded) {
    let loaded = load();
    let prompts = prompts(loaded.vocabulary.len());
    let vocabulary = loaded.vocabulary.len();
    run(loaded, |kernel| {
        let alone: Vec<Vec<f32>> = prompts
            .iter()
            .map(|prompt| {
                assert!(kernel.truncate(0, 0));
                after(kernel, 0, 0, prompt)
            })
            .collect();
        assert_eq!(alone[0].len(), vocabulary);
        different(&alone[0], &alone[1]);
        assert!(kernel.truncate(0, 0));

        // Several sequences in one batch.
        let mut batch = Vec::new();
        let mut lasts = Vec::new();
        for (slot, prompt) in (0..).zip(&prompts) {
            batch.extend(entries(slot, 0, prompt));
            lasts.push(batch.len() - 1);
        }
        kernel.forward(&batch).unwrap();
        for (last, alone) in lasts.iter().zip(&alone) {
            same(kernel.logits(*last), alone);
        }
        assert!(kernel.logits(0).is_empty(), "these were not asked for");
        assert!(kernel.logits(batch.len()).is_empty());

        // A prompt in chunks, beside single tokens of another sequence.
        let long = &prompts[3];
        assert!(kernel.truncate(3, 0));
        kernel.forward(&entries(3, 0, &long[..9])).unwrap();
        let mut mixed = entries(3, 9, &long[9..]);
        mixed.extend(entries(0, u32::try_from(prompts[0].len()).unwrap(), &[5]));
        kernel.forward(&mixed).unwrap();
        same(kernel.logits(mixed.len() - 2), &alone[3]);

        // The end taken back, and computed again.
        assert!(kernel.truncate(3, 20));
        same(&after(kernel, 3, 20, &long[20..]), &alone[3]);
        assert!(kernel.truncate(3, 20));
        different(&after(kernel, 3, 20, &[1, 2, 3]), &alone[3]);

        // The beginning of one sequence shared with another, which goes its own way.
        assert!(kernel.truncate(1, 0));
        assert!(kernel.share(3, 1, 20));
        same(&after(kernel, 1, 20, &long[20..]), &alone[3]);
        assert!(kernel.truncate(3, 0));
        assert!(
            kernel.truncate(1, 20),
            "what was shared outlives its source"
        );
        same(&after(kernel, 1, 20, &long[20..]), &alone[3]);
    });
}

#[test]
fn batches_chunks_taken_back_ends_and_shared_beginnings_give_the_same_logits_as_one_prompt_alone() {
    for tokenizer in ALL {
        passes_agree(|| random(tokenizer, |_| ()));
    }
}

/// Tokens of two sequences in one pass, each with its logits, are as if they came one by one; what is
/// taken back of them leaves no trace.
fn drafts_agree(load: impl Fn() -> Loaded) {
    let loaded = load();
    let prompts = prompts(loaded.vocabulary.len());
    run(loaded, |kernel| {
        let (one, two) = (&prompts[2], &prompts[3]);
        let mut alone = Vec::new();
        for (slot, prompt) in [(0, one), (1, two)] {
            let each = (0..).zip(prompt.iter());
            let each = each.map(|(at, token)| after(kernel, slot, at, &[*token]));
            alone.push(each.collect::<Vec<_>>());
        }
        assert!(kernel.truncate(0, 4) && kernel.truncate(1, 9));
        let mut batch = entries(0, 4, &one[4..12]);
        batch.extend(entries(1, 9, &[two[9], two[10], 3, 4, 5]));
        batch.iter_mut().for_each(|entry| entry.logits = true);
        kernel.forward(&batch).unwrap();
        for at in 0..8 {
            same(kernel.logits(at), &alone[0][4 + at]);
        }
        same(kernel.logits(8), &alone[1][9]);
        same(kernel.logits(9), &alone[1][10]);
        different(kernel.logits(10), &alone[1][11]);

        // Of the first all was right, of the second two.
        assert!(kernel.truncate(1, 11));
        let mut batch = entries(0, 12, &one[12..15]);
        batch.extend(entries(1, 11, &two[11..20]));
        kernel.forward(&batch).unwrap();
        same(kernel.logits(2), &alone[0][14]);
        same(kernel.logits(11), &alone[1][19]);
    });
}

#[test]
fn several_tokens_have_the_logits_that_each_has_alone_and_are_taken_back() {
    for tokenizer in ALL {
        drafts_agree(|| random(tokenizer, |_| ()));
    }
    if let Some(path) = tiny_chat() {
        drafts_agree(|| load(&LoadOptions::of(&path), Box::new(|_| true)).unwrap());
    }
}

#[test]
fn so_they_do_with_a_real_model() {
    if let Some(path) = tiny_chat() {
        passes_agree(|| load(&LoadOptions::of(&path), Box::new(|_| true)).unwrap());
    }
}

#[test]
fn a_sequence_is_shared_only_with_an_empty_slot_and_only_as_far_as_it_goes() {
    run(random(Tokenizer::Bpe, |_| ()), |kernel| {
        kernel.forward(&entries(0, 0, &[1, 2, 3])).unwrap();
        kernel.forward(&entries(1, 0, &[1])).unwrap();
        assert!(!kernel.share(0, 1, 2), "the slot is not empty");
        assert!(!kernel.share(0, 2, 4), "it has three tokens");
        assert!(!kernel.share(0, 0, 1), "it is the same one");
        assert!(!kernel.share(0, 99, 1), "there is no such slot");
        assert!(kernel.share(0, 2, 0));
        assert!(kernel.share(0, 2, 3));
        assert!(kernel.truncate(2, 7), "nothing is there to forget");
        assert!(!kernel.truncate(99, 0));
    });
}

#[test]
fn slots_share_the_cells_and_context_limits_each() {
    let loaded = random(Tokenizer::Bpe, |options| {
        options.context = 300;
        options.slots = 2;
    });
    assert_eq!(loaded.about.context, 300);
    assert_eq!(loaded.about.cells, 768, "2 × 300, in whole blocks");
    run(loaded, |kernel| {
        let limits = kernel.limits();
        assert_eq!((limits.cells, limits.context, limits.slots), (768, 300, 2));
        assert!(limits.truncates);
        let prompt: Vec<Token> = (0..300).collect();
        let whole = after(kernel, 0, 0, &prompt);
        same(&after(kernel, 1, 0, &prompt), &whole);
        let beyond = kernel.forward(&entries(0, 300, &[1])).unwrap_err();
        assert!(beyond.to_string().contains("300"), "{beyond}");
        assert!(kernel.logits(0).is_empty(), "a failed pass has no logits");
        assert!(kernel.truncate(0, 299));
        same(&after(kernel, 0, 299, &prompt[299..]), &whole);
    });
}

#[test]
fn what_llama_cpp_would_trip_over_is_refused_before_it() {
    run(random(Tokenizer::Bpe, |_| ()), |kernel| {
        let entry = Entry {
            token: 1,
            position: 0,
            slot: 0,
            logits: true,
        };
        let too_many = vec![entry; kernel.limits().batch as usize + 1];
        let gap = [
            entry,
            Entry {
                position: 5,
                ..entry
            },
        ];
        let wrong: [&[Entry]; 6] = [
            &[Entry {
                token: 100_000,
                ..entry
            }],
            &[Entry {
                token: u32::MAX,
                ..entry
            }],
            &[Entry { slot: 8, ..entry }],
            &[Entry {
                position: u32::MAX,
                ..entry
            }],
            &gap,
            &too_many,
        ];
        for entries in wrong {
            let error = kernel.forward(entries).unwrap_err();
            assert!(matches!(error, KernelError::Failed(_)), "{error}");
        }
        assert!(kernel.forward(&[]).is_ok());
        assert!(kernel.forward(&[entry]).is_ok(), "nothing is broken");
    });
}
