//! Drafts: whatever is drafted, an answer is the one that it would be without.

use super::toy::{CONTROL, ENDS, Fault, LIMITS, Pattern, SIZE, Toy, Trouble};
use super::{Ask, Bench, ENGINE, EngineLimits, Told};
use crate::job::{Finish, Sampling};
use crate::kernel::{Entry, KernelError, KernelLimits};
use crate::media::Media;
use crate::scheduler::EngineStats;
use isogloss_core::error::Kind;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop_assert_eq, prop_oneof, proptest,
};

/// A toy that mostly says what was said before.
fn echoing(limits: KernelLimits) -> Toy {
    let mut toy = Toy::new(limits);
    toy.echo = 8.0;
    toy
}

fn bench(draft: u32) -> Bench {
    let limits = EngineLimits { draft, ..ENGINE };
    Bench::new(echoing(LIMITS), limits)
}

/// What a job is told that has the engine to itself, and what the engine counted.
fn told(ask: &Ask, draft: u32) -> (Told, EngineStats) {
    let mut bench = bench(draft);
    let told = bench.answer(std::slice::from_ref(ask)).remove(0);
    (told, bench.scheduler.stats())
}

/// What must be the same with drafts and without.
fn essence(told: &Told) -> impl PartialEq + std::fmt::Debug + use<> {
    let usage = told.end.clone().unwrap().map(|(finish, usage)| {
        let counts = (usage.completion, usage.forced, usage.steered);
        (finish, counts)
    });
    (told.text.clone(), usage)
}

/// Tokens that were drafted for the answer, and those of them that it had. Its text is what it is
/// without drafts.
fn drafted(ask: &Ask) -> (u64, u64) {
    let (with, stats) = told(ask, 8);
    let (without, none) = told(ask, 0);
    assert_eq!(essence(&with), essence(&without));
    assert_eq!((none.drafted_tokens, none.accepted_tokens), (0, 0));
    (stats.drafted_tokens, stats.accepted_tokens)
}

#[test]
fn what_was_said_before_is_drafted_and_takes_fewer_forward_passes() {
    for (temperature, least) in [(0.0, 50), (1.0, 5)] {
        let mut ask = Ask::new("the cat sat on the mat and the cat sat on").exactly(200);
        ask.sampling.temperature = temperature;
        let (drafted, accepted) = drafted(&ask);
        assert!(accepted > least && accepted <= drafted);
        let (with, without) = (told(&ask, 8).1, told(&ask, 0).1);
        assert_eq!(without.steps, 200);
        assert_eq!(with.steps + accepted, without.steps);
    }
}

#[test]
fn drafts_grow_while_they_are_right() {
    let mut bench = bench(8);
    bench.answer(&[Ask::new("abcabcabcabc").greedy().exactly(60)]);
    let passes = bench.toy.seen().passes;
    let lengths: Vec<usize> = passes.iter().map(Vec::len).take(4).collect();
    assert_eq!(lengths, [12, 1 + 4, 1 + 8, 1 + 8]);
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let pattern = prop_oneof![
        Just("a?b??c$"),
        Just("abcabcabcabc$"),
        Just("???????????????????"),
        Just("the ? is ??? and the ? is ??? and the ? is ???$"),
    ];
    let one = (
        "[a-c]{1,40}",
        option::of((pattern, any::<bool>(), any::<bool>())),
        any::<u64>(),
        prop_oneof![Just(0.0_f32), Just(0.7), Just(1.3)],
        option::of(1..60_u32),
        option::of("[a-c]{1,3}"),
        any::<bool>(),
        option::of(0..3_u32),
    );
    let ask = one.prop_map(
        |(prompt, pattern, seed, temperature, most, stop, ignore_end, logprobs)| {
            let mut ask = Ask::new(&prompt);
            ask.pattern = pattern.map(|(text, forces, forks)| {
                let pattern = Pattern::new(text);
                let pattern = if forces { pattern } else { pattern.unforced() };
                if forks { pattern.forking() } else { pattern }
            });
            ask.sampling = Sampling {
                seed: Some(seed),
                temperature,
                presence_penalty: 0.5,
                repetition_penalty: 1.1,
                logprobs,
                ..Sampling::default()
            };
            ask.limits.max_tokens = most;
            ask.limits.stop.extend(stop);
            ask.limits.ignore_end = ignore_end;
            ask
        },
    );
    vec(ask, 1..5)
}

fn kernels() -> impl Strategy<Value = KernelLimits> {
    (1..4_u32, 1..48_u32, 256..700_u32).prop_map(|(slots, batch, cells)| KernelLimits {
        cells,
        batch,
        slots,
        ..LIMITS
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn an_answer_is_the_same_with_drafts_and_without_in_any_company_under_any_limits(
        asks in asks(),
        limits in kernels(),
        draft in 1..12_u32,
        mask_threads in 0..3_usize,
    ) {
        let mut bench = Bench::new(
            echoing(limits),
            EngineLimits { draft, mask_threads, ..ENGINE },
        );
        let all = bench.answer(&asks);
        for (ask, with) in asks.iter().zip(&all) {
            let (without, _) = told(ask, 0);
            prop_assert_eq!(essence(with), essence(&without));
            prop_assert_eq!(&with.chosen, &without.chosen);
        }
    }
}

#[test]
fn no_draft_is_taken_where_it_is_not_to_be() {
    let ask = Ask::new("abcabcabcabc").exactly(60);
    assert!(drafted(&ask).0 > 0);

    let mut likely = ask.clone();
    likely.sampling.logprobs = Some(0);
    assert_eq!(
        drafted(&likely).0,
        0,
        "each token is told with its likelihood"
    );

    let recurrent = KernelLimits {
        truncates: false,
        ..LIMITS
    };
    let mut bench = Bench::new(echoing(recurrent), ENGINE);
    bench.answer(std::slice::from_ref(&ask));
    assert_eq!(
        bench.scheduler.stats().drafted_tokens,
        0,
        "its state cannot be taken back"
    );
}

#[test]
fn with_two_answers_there_are_drafts_and_with_three_none() {
    for (count, is_drafted) in [(2, true), (3, false)] {
        let mut bench = bench(8);
        let asks = vec![Ask::new("abcabcabcabc").exactly(60); count];
        bench.answer(&asks);
        let stats = bench.scheduler.stats();
        assert_eq!(stats.drafted_tokens > 0, is_drafted, "{count}");
    }
}

#[test]
fn a_prompt_that_is_being_computed_is_not_kept_waiting_by_drafts() {
    let mut bench = bench(8);
    let mut first = bench.push(&Ask::new("abcabcabcabc").exactly(200));
    for _ in 0..10 {
        bench.step();
    }
    assert!(bench.scheduler.stats().drafted_tokens > 0);
    let seen = bench.toy.seen();
    let (slot, before) = (seen.passes[0][0].slot, seen.passes.len());
    let _second = bench.push(&Ask::new(&"z".repeat(100)).exactly(1));
    bench.run();
    let passes = bench.toy.seen().passes;
    let is_shared = |pass: &&Vec<Entry>| pass.iter().any(|entry| entry.slot != slot);
    let shared: Vec<_> = passes[before..].iter().filter(is_shared).collect();
    assert!(shared.len() > 5, "{}", shared.len());
    for pass in shared {
        let ours = pass.iter().filter(|entry| entry.slot == slot).count();
        assert!(ours <= 1, "{ours} beside {}", pass.len() - ours);
    }
    assert_eq!(first.told().usage().completion, 200);
}

#[test]
fn a_draft_is_cut_at_the_first_token_that_the_constraint_does_not_allow() {
    // `d` comes behind `abc` in the prompt, and `x` under the constraint.
    let text = "abcxabcxabcx$";
    let of = |pattern: Pattern| drafted(&Ask::new("abcd").greedy().pattern(pattern));
    let (known, accepted) = of(Pattern::new(text).unforced().forking());
    assert!(accepted > 0 && known == accepted, "{accepted} of {known}");
    let (unknown, accepted) = of(Pattern::new(text).unforced());
    assert!(
        unknown > accepted,
        "{accepted} of {unknown}: it cannot be asked ahead"
    );
}

#[test]
fn forced_tokens_among_a_draft_are_forced() {
    let text = "a?b?cd??efa?b?cd??efa?b?cd??ef$";
    let ask = Ask::new("axbycdzzefaxbycdzzef").pattern(Pattern::new(text).forking());
    let (_, accepted) = drafted(&ask);
    assert!(accepted > 4, "{accepted}");
}

#[test]
fn stop_texts_ends_and_limits_within_a_draft_are_where_they_would_be() {
    let prompt = "abcdefghijklmnopabcdefghijklmnopabc";
    let whole = told(&Ask::new(prompt).greedy().exactly(60), 0).0.text;
    assert!(whole.contains("defghijk"), "{whole}");
    for most in 1..=20 {
        let ask = Ask::new(prompt).greedy().exactly(most);
        let (told, _) = told(&ask, 8);
        assert_eq!(
            told.answer(),
            (&whole[..most as usize], Some(Finish::Length), most)
        );
    }
    for stop in ["g", "fg", "hij", "zzz"] {
        let mut ask = Ask::new(prompt).greedy().exactly(40);
        ask.limits.stop = vec![stop.to_owned()];
        assert!(drafted(&ask).1 > 0, "{stop}");
    }
    // The end is never drafted, and ends the answer where it comes.
    let mut ask = Ask::new(prompt).greedy();
    ask.limits.max_tokens = Some(100);
    drafted(&ask);
}

#[test]
fn what_is_no_token_of_the_vocabulary_is_not_drafted() {
    let mut ask = Ask::new("abcabcabc").exactly(40);
    ask.media = vec![(3, Media::empty(7, 6, 4)), (6, Media::empty(8, 5, 5))];
    drafted(&ask);
    ask.prompt
        .extend([CONTROL, SIZE - 1, 0, 1, 2, CONTROL, SIZE - 1, 0, 1, 2]);
    let mut bench = bench(8);
    bench.answer(std::slice::from_ref(&ask));
    let seen = bench.toy.seen();
    let entries = seen.passes.iter().flatten();
    let mut behind = entries.filter(|entry| entry.logits);
    assert!(behind.all(|entry| entry.token < ENDS[0]));
}

#[test]
fn a_matcher_that_fails_within_a_draft_leaves_what_was_said_before() {
    for (trouble, kind) in [
        (Trouble::SpendsItsBudget, Kind::SchemaTooComplex),
        (Trouble::HasDeadEnd, Kind::UnsupportedConstraint),
        (Trouble::Refuses, Kind::Internal),
    ] {
        for at in 9..16 {
            let pattern = Pattern::new(&"abc".repeat(8)).unforced().with(at, trouble);
            let ask = Ask::new("abcabcabc").greedy().pattern(pattern);
            let (with, stats) = told(&ask, 8);
            let (without, _) = told(&ask, 0);
            assert!(stats.accepted_tokens > 0);
            assert_eq!(with.text, without.text, "{trouble:?} {at}");
            assert_eq!((with.error().kind, without.error().kind), (kind, kind));
        }
    }
}

#[test]
fn a_full_cache_costs_the_draft_first() {
    let ask = Ask::new("abcabcabcabc").greedy().exactly(200);
    let mut toy = echoing(LIMITS);
    for pass in 3..6 {
        toy.faults.insert(pass * 2, Fault::Error(KernelError::Full));
    }
    let mut bench = Bench::new(toy, ENGINE);
    let with = bench.answer(std::slice::from_ref(&ask)).remove(0);
    assert_eq!(essence(&with), essence(&told(&ask, 0).0));
    let stats = bench.scheduler.stats();
    assert_eq!((stats.failed, stats.preempted), (0, 0));
}

#[test]
fn what_a_conversation_goes_on_with_is_not_computed_again() {
    let mut bench = bench(8);
    let ask = Ask::new("abcdefabcdefabc").greedy().exactly(40);
    let first = bench.answer(std::slice::from_ref(&ask)).remove(0);
    assert!(bench.scheduler.stats().accepted_tokens > 0);
    let next = Ask::new(&format!("abcdefabcdefabc{} and then", first.text)).exactly(20);
    let second = bench.answer(std::slice::from_ref(&next)).remove(0);
    let (alone, _) = told(&next, 0);
    assert_eq!(essence(&second), essence(&alone));
    assert!(
        second.usage().cached >= 15 + 39,
        "{}",
        second.usage().cached
    );
}

#[test]
fn kernels_that_take_nothing_back_in_the_end_cost_time_and_no_answer() {
    let ask = Ask::new("abcabcabcabc").exactly(60);
    let mut toy = echoing(LIMITS);
    toy.limits.truncates = false;
    let queue = std::sync::Arc::new(super::Queue::new(ENGINE.queue));
    // The scheduler is told that they do.
    let scheduler = super::Scheduler::new(
        std::sync::Arc::clone(&queue),
        super::toy::vocabulary(),
        ENGINE,
        LIMITS,
    );
    let mut bench = Bench {
        queue,
        scheduler,
        toy,
    };
    let with = bench.answer(std::slice::from_ref(&ask)).remove(0);
    assert_eq!(essence(&with), essence(&told(&ask, 0).0));
    let passes = bench.toy.seen().passes;
    let from_the_beginning = passes.iter().flatten().filter(|entry| entry.position == 0);
    assert_eq!(from_the_beginning.count(), 2, "once again, and never more");
}
