//! Batches, limits, cancellation and kernels that fail.

use super::toy::{self, CONTROL, Fault, LIMITS, Pattern, Toy, UNUSED, tokens};
use super::{Ask, Bench, ENGINE, EngineLimits, alone};
use crate::job::{Finish, Sampling};
use crate::kernel::{KernelError, KernelLimits};
use isogloss_core::error::Kind;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let pattern = prop_oneof![
        Just("a?b??c$"),
        Just("hello world$"),
        Just("?????"),
        Just("the ? is ??? and the rest is ?????$"),
    ];
    let one = (
        "[a-c]{1,40}",
        option::of(pattern),
        any::<u64>(),
        prop_oneof![Just(0.0_f32), Just(0.7), Just(1.3)],
        option::of(1..60_u32),
        option::of("[a-z]{1,2}"),
        any::<bool>(),
    );
    let ask = one.prop_map(
        |(prompt, pattern, seed, temperature, most, stop, ignore_end)| {
            let mut ask = Ask::new(&prompt);
            ask.pattern = pattern.map(Pattern::new);
            ask.sampling = Sampling {
                seed: Some(seed),
                temperature,
                presence_penalty: 0.5,
                ..Sampling::default()
            };
            ask.limits.max_tokens = most;
            ask.limits.stop.extend(stop);
            ask.limits.ignore_end = ignore_end;
            ask
        },
    );
    vec(ask, 1..14)
}

fn kernels() -> impl Strategy<Value = (KernelLimits, bool)> {
    let one = (
        1..6_u32,
        1..48_u32,
        256..700_u32,
        any::<bool>(),
        any::<bool>(),
    );
    one.prop_map(|(slots, batch, cells, truncates, can_share)| {
        let limits = KernelLimits {
            cells,
            batch,
            slots,
            truncates,
            ..LIMITS
        };
        (limits, can_share && truncates)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn an_answer_is_the_same_alone_and_in_any_company_under_any_limits(
        asks in asks(),
        (limits, can_share) in kernels(),
        prefill_chunk in 1..40_u32,
        mask_threads in 0..3_usize,
        headroom in 1..100_u32,
    ) {
        let mut toy = Toy::new(limits);
        toy.can_share = can_share;
        let mut bench = Bench::new(toy, EngineLimits { prefill_chunk, mask_threads, ..ENGINE });
        bench.scheduler.headroom = headroom;
        let together = bench.answer(&asks);
        for (ask, told) in asks.iter().zip(&together) {
            let alone = alone(ask);
            prop_assert_eq!(told.answer(), alone.answer());
            prop_assert_eq!(told.started, 1);
        }
        let stats = bench.scheduler.stats();
        prop_assert_eq!(stats.finished as usize, asks.len());
        prop_assert!(stats.kept_tokens <= u64::from(limits.cells));
    }
}

#[test]
fn an_answer_that_loses_its_room_to_an_older_one_goes_on_as_if_nothing_had_been() {
    // Two answers of 200 tokens do not fit in 300 cells, which nobody knows at the beginning.
    let limits = KernelLimits {
        cells: 300,
        ..LIMITS
    };
    let asks = ["one", "two", "three"].map(|prompt| {
        let mut ask = Ask::new(prompt).exactly(200);
        ask.limits.max_tokens = None;
        ask
    });
    let mut bench = Bench::new(Toy::new(limits), ENGINE);
    bench.scheduler.headroom = 16;
    let told = bench.answer(&asks);
    assert!(bench.scheduler.stats().preempted >= 2);
    for (ask, told) in asks.iter().zip(&told) {
        assert_eq!(told.answer(), alone(ask).answer());
        assert_eq!(told.finish(), Finish::Length);
    }
}

#[test]
fn a_long_prompt_holds_running_answers_up_for_a_chunk_a_step_at_most() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let short = Ask::new("short").exactly(60);
    let mut heard: Vec<_> = (0..3).map(|_| bench.push(&short)).collect();
    for _ in 0..4 {
        bench.step();
    }
    let _long = bench.push(&Ask::new(&"long ".repeat(40)).most(1));
    for _ in 0..3 {
        let passes = bench.toy.seen().passes.len();
        bench.step();
        let seen = bench.toy.seen();
        let pass = seen.passes.get(passes).unwrap();
        let logits = pass.iter().filter(|entry| entry.logits).count();
        assert_eq!(logits, 3, "each running answer gets its token");
        assert!(pass.len() <= 3 + 1 + 16);
    }
    bench.run();
    assert_eq!(heard.remove(0).told().usage().completion, 60);
}

#[test]
fn jobs_are_seated_first_come_first_served() {
    let limits = KernelLimits { slots: 1, ..LIMITS };
    let mut bench = Bench::new(Toy::new(limits), ENGINE);
    let ask = Ask::new("prompt").exactly(5);
    let mut heard: Vec<_> = (0..4).map(|_| bench.push(&ask)).collect();
    let mut order = Vec::new();
    while order.len() < heard.len() {
        bench.step();
        for (at, heard) in heard.iter_mut().enumerate() {
            if heard.told().started > 0 {
                order.push(at);
            }
        }
    }
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn a_job_whose_client_is_gone_frees_its_place_within_a_step() {
    let limits = KernelLimits { slots: 2, ..LIMITS };
    let mut bench = Bench::new(Toy::new(limits), ENGINE);
    let running = bench.push(&Ask::new("running").exactly(200));
    bench.step();
    let computing = bench.push(&Ask::new(&"x".repeat(100)).exactly(50));
    let queued = bench.push(&Ask::new("queued").exactly(200));
    bench.step();
    assert_eq!(bench.scheduler.stats().running, 2);
    assert_eq!(bench.queue.len(), 1);

    drop(queued);
    bench.step();
    assert_eq!(bench.queue.len(), 0);
    drop(computing);
    bench.step();
    assert_eq!(bench.scheduler.stats().running, 1);
    drop(running);
    bench.step();
    assert!(bench.scheduler.is_idle());
    assert_eq!(bench.scheduler.stats().cancelled, 3);
    assert_eq!(bench.scheduler.stats().finished, 0);
}

#[test]
fn an_answer_ends_where_the_context_window_does() {
    let told = alone(&Ask::new(&"a".repeat(250)).exactly(100));
    assert_eq!(told.finish(), Finish::Length);
    assert_eq!(told.usage().completion, 6);
}

#[test]
fn no_tokens_at_all_may_be_asked_for() {
    let told = alone(&Ask::new("prompt").most(0));
    assert_eq!(told.finish(), Finish::Length);
    assert_eq!(told.usage().completion, 0);
}

#[test]
fn the_models_end_ends_an_answer_unless_it_is_ignored() {
    let ask = Ask::new("prompt");
    let told = alone(&ask);
    assert_eq!(told.finish(), Finish::Stop);
    let more = told.usage().completion + 20;
    let told = alone(&ask.exactly(more));
    assert_eq!(told.finish(), Finish::Length);
    assert_eq!(told.usage().completion, more);
}

#[test]
fn a_stop_text_ends_an_answer_and_is_not_told() {
    let mut ask = Ask::new("prompt").exactly(60);
    let whole = alone(&ask).text;
    let stop: String = whole.chars().skip(20).take(2).collect();
    ask.limits.stop = vec![stop.clone()];
    let told = alone(&ask);
    assert_eq!(told.finish(), Finish::Stop);
    assert_eq!(told.text, whole.split(&stop).next().unwrap());
}

#[test]
fn unused_tokens_are_never_chosen_and_control_tokens_are_never_text() {
    let mut ask = Ask::new("prompt").exactly(200);
    ask.sampling.temperature = 50.0;
    ask.sampling.logprobs = Some(0);
    let told = alone(&ask);
    let chosen: Vec<_> = told.chosen.iter().map(|it| it.token.token).collect();
    assert_eq!(chosen.len(), 200);
    assert!(chosen.contains(&CONTROL) && !chosen.contains(&UNUSED));
    assert!(!told.text.contains('<'));
}

#[test]
fn a_bias_towards_an_unused_token_does_not_choose_it() {
    let mut ask = Ask::new("prompt").exactly(20);
    ask.sampling.logit_bias = vec![(UNUSED, 100.0)];
    ask.sampling.logprobs = Some(0);
    let told = alone(&ask);
    assert!(told.chosen.iter().all(|it| it.token.token != UNUSED));
}

#[test]
fn a_full_cache_costs_what_was_kept_then_the_youngest_its_place() {
    let mut toy = Toy::new(LIMITS);
    for pass in [6, 7, 8] {
        toy.faults.insert(pass, Fault::Error(KernelError::Full));
    }
    let mut bench = Bench::new(toy, ENGINE);
    // Kept for later: the first thing to go.
    bench.answer(&[Ask::new("before").exactly(2)]);
    let asks = ["one", "two", "three"].map(|prompt| Ask::new(prompt).exactly(30));
    let told = bench.answer(&asks);
    for (ask, told) in asks.iter().zip(&told) {
        assert_eq!(told.answer(), alone(ask).answer());
    }
    assert_eq!(bench.scheduler.stats().preempted, 2);
    assert_eq!(bench.scheduler.stats().failed, 0);
}

#[test]
fn a_cache_without_room_for_one_job_alone_fails_that_job() {
    let mut toy = Toy::new(LIMITS);
    toy.faults.insert(3, Fault::Error(KernelError::Full));
    let mut bench = Bench::new(toy, ENGINE);
    let ask = Ask::new("prompt").exactly(9);
    assert_eq!(
        bench.answer(std::slice::from_ref(&ask))[0].error().kind,
        Kind::UpstreamFailed
    );
    assert_eq!(
        bench.answer(std::slice::from_ref(&ask))[0].answer(),
        alone(&ask).answer()
    );
}

#[test]
fn a_failed_forward_pass_fails_its_batch_and_nobody_else() {
    let mut toy = Toy::new(LIMITS);
    let error = KernelError::Failed("device lost at /dev/x".to_owned());
    toy.faults.insert(5, Fault::Error(error));
    let mut bench = Bench::new(toy, ENGINE);
    let ask = Ask::new("prompt").exactly(20);
    let told = bench.answer(&[ask.clone(), Ask::new("other").exactly(20)]);
    for told in told {
        let error = told.error();
        assert_eq!(error.kind, Kind::UpstreamFailed);
        assert!(!error.message.contains("/dev/x"));
    }
    let told = bench.answer(std::slice::from_ref(&ask)).remove(0);
    assert_eq!(told.answer(), alone(&ask).answer());
    assert_eq!(
        told.usage().cached,
        0,
        "what the pass left behind is not used"
    );
}

#[test]
fn a_model_that_computes_nothing_usable_fails_the_job() {
    let mut toy = Toy::new(LIMITS);
    toy.faults.insert(2, Fault::NoLogits);
    let mut bench = Bench::new(toy, ENGINE);
    let told = bench.answer(&[Ask::new("prompt").exactly(20)]);
    assert_eq!(told[0].error().kind, Kind::UpstreamFailed);
}

#[test]
fn characters_come_whole_whatever_tokens_they_come_in() {
    let mut ask = Ask::new("prompt").exactly(30);
    ask.sampling.logit_bias = toy::BROKEN.map(|token| (token, 4.0)).to_vec();
    let told = alone(&ask);
    assert!(told.text.contains('é') || told.text.contains('\u{fffd}'));
    assert_eq!(ask.prompt, tokens("prompt"));
}
