#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use super::*;
use crate::model::maker;
use llama_cpp_2::model::params::LlamaModelParams;

fn model(dir: &std::path::Path) -> Arc<LlamaModel> {
    let path = maker::random_model(dir, maker::Tokenizer::Bpe, 5);
    let params = LlamaModelParams::default().with_n_gpu_layers(0);
    Arc::new(LlamaModel::load_from_file(library().unwrap(), path, &params).unwrap())
}

fn sequence(slot: Slot, from: u32, to: u32) -> Vec<Entry> {
    (from..to)
        .map(|position| Entry {
            token: position,
            position,
            slot,
            logits: position + 1 == to,
        })
        .collect()
}

#[test]
fn a_full_cache_is_told_and_leaves_the_sequences_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let setup = LlamaSetup::new(
        model(dir.path()),
        None,
        Options {
            context: 4_096,
            cells: 256,
            cache_bytes: 0,
            slots: 2,
            threads: 1,
        },
    );
    let mut ran = false;
    Box::new(setup)
        .run(&mut |kernel| {
            ran = true;
            assert_eq!(kernel.limits().context, 256, "no more than there are cells");
            kernel.forward(&sequence(0, 0, 200)).unwrap();
            let before = kernel.logits(199).to_vec();
            let full = kernel.forward(&sequence(1, 0, 100)).unwrap_err();
            assert_eq!(full, KernelError::Full);
            assert!(kernel.truncate(0, 199));
            kernel.forward(&sequence(0, 199, 200)).unwrap();
            let far = before
                .iter()
                .zip(kernel.logits(0))
                .map(|(a, b)| (a - b).abs());
            assert!(far.fold(0.0, f32::max) < 0.05);
            // Room is made, and the second one fits.
            assert!(kernel.truncate(0, 100));
            assert!(kernel.truncate(1, 0));
            kernel.forward(&sequence(1, 0, 100)).unwrap();
        })
        .unwrap();
    assert!(ran);
}

#[test]
fn a_context_that_cannot_be_set_up_is_an_error_with_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let setup = LlamaSetup::new(
        model(dir.path()),
        None,
        Options {
            context: 256,
            cells: 256,
            cache_bytes: 3 << 20,
            slots: 257,
            threads: 1,
        },
    );
    let error = Box::new(setup).run(&mut |_| panic!("it was not set up"));
    let message = error.unwrap_err().to_string();
    for part in [
        "256 tokens in 257 slots",
        "3 MiB",
        "n_seq_max must be <= 256",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn what_llama_cpp_says_is_kept_and_others_events_are_not() {
    let (result, lines) = Lines::of(|| {
        tracing::info!("an event of somebody else");
        LlamaModel::load_from_file(
            library().unwrap(),
            std::env::current_exe().unwrap(),
            &LlamaModelParams::default(),
        )
    });
    assert!(result.is_err());
    assert!(lines.error().contains("magic"), "{}", lines.error());
    assert_eq!(lines.after("an event"), None);
}
