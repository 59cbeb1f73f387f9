//! Answers under constraints: forced tokens, and matchers that fail, dawdle or end.

use super::toy::{LIMITS, Pattern, Toy, Trouble};
use super::{Ask, Bench, ENGINE, EngineLimits, alone};
use crate::job::Finish;
use isogloss_core::error::Kind;
use std::time::{Duration, Instant};

/// No matcher is ever late: for tests that count forward passes.
const AT_ONCE: EngineLimits = EngineLimits {
    mask_threads: 0,
    ..ENGINE
};

#[test]
fn forced_tokens_give_the_text_that_the_model_would_have_had_to_choose() {
    for text in [
        "a fixed text$",
        "? first then ?? more$",
        "begins ??? ends",
        "???",
    ] {
        let forced = alone(&Ask::new("prompt").greedy().pattern(Pattern::new(text)));
        let chosen = Ask::new("prompt").greedy();
        let chosen = alone(&chosen.pattern(Pattern::new(text).unforced()));
        assert_eq!(forced.answer(), chosen.answer());
        let fixed = text.bytes().filter(|byte| !b"?$".contains(byte)).count();
        assert_eq!(forced.usage().forced as usize, fixed);
        assert_eq!(chosen.usage().forced, 0);
    }
}

#[test]
fn forced_tokens_take_fewer_forward_passes() {
    let passes = |pattern: Pattern| {
        let mut bench = Bench::new(Toy::new(LIMITS), AT_ONCE);
        bench.answer(&[Ask::new("prompt").greedy().pattern(pattern)]);
        bench.toy.seen().passes.len()
    };
    let text = "some?quite long text?and more$";
    assert_eq!(passes(Pattern::new(text)), 2);
    assert_eq!(passes(Pattern::new(text).unforced()), text.len() - 1);
}

#[test]
fn an_answer_that_is_forced_as_a_whole_needs_no_forward_pass() {
    let mut bench = Bench::new(Toy::new(LIMITS), AT_ONCE);
    let told = bench.answer(&[Ask::new("prompt").pattern(Pattern::new("constant$"))]);
    assert_eq!(told[0].answer(), ("constant", Some(Finish::Stop), 8));
    assert_eq!(bench.toy.seen().passes.len(), 0);
}

#[test]
fn a_beginning_that_is_forced_goes_through_the_model_with_the_prompt() {
    let mut bench = Bench::new(Toy::new(LIMITS), AT_ONCE);
    bench.answer(&[Ask::new("prompt").pattern(Pattern::new("begin?$"))]);
    let passes = bench.toy.seen().passes;
    assert_eq!(passes.len(), 1);
    assert_eq!(passes[0].len(), "promptbegin".len());
    assert_eq!(passes[0].iter().filter(|entry| entry.logits).count(), 1);
}

#[test]
fn a_forced_run_ends_where_the_answer_may_have_no_more_tokens() {
    let ask = Ask::new("prompt").pattern(Pattern::new("?abcdefgh$"));
    let told = alone(&ask.clone().most(4));
    assert_eq!(told.finish(), Finish::Length);
    assert_eq!((told.usage().completion, told.usage().forced), (4, 3));
    assert!(told.text.ends_with("abc"));
    let whole = alone(&ask.most(9));
    assert_eq!(whole.finish(), Finish::Stop, "it is whole, and just fits");
    let told = alone(
        &Ask::new("prompt")
            .pattern(Pattern::new("abcdefgh$"))
            .most(3),
    );
    assert_eq!(told.answer(), ("abc", Some(Finish::Length), 3));
}

#[test]
fn a_stop_text_inside_of_a_forced_run_ends_the_answer_there() {
    let mut ask = Ask::new("prompt").pattern(Pattern::new("abcdefgh???$"));
    ask.limits.stop = vec!["de".to_owned()];
    let told = alone(&ask);
    assert_eq!(told.answer(), ("abc", Some(Finish::Stop), 5));
}

#[test]
fn forced_tokens_are_told_as_certain() {
    let mut ask = Ask::new("prompt").pattern(Pattern::new("ab?$"));
    ask.sampling.logprobs = Some(2);
    let told = alone(&ask);
    let logprobs: Vec<f32> = told.chosen.iter().map(|it| it.token.logprob).collect();
    assert_eq!(logprobs.len(), 3);
    assert_eq!(logprobs[..2], [0.0, 0.0]);
    assert_eq!(told.chosen[0].top, [told.chosen[0].token.clone()]);
}

#[test]
fn forced_tokens_count_for_penalties() {
    let repeats = |penalty: f32| {
        let is_repeated = |prompt: &&&str| {
            let mut ask = Ask::new(prompt).greedy();
            ask = ask.pattern(Pattern::new("abcdefgh?$"));
            ask.sampling.presence_penalty = penalty;
            let told = alone(&ask);
            told.text[..8].contains(&told.text[8..])
        };
        ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
            .iter()
            .filter(is_repeated)
            .count()
    };
    assert!(repeats(0.0) > 0);
    assert_eq!(repeats(100.0), 0);
}

#[test]
fn a_constraint_whose_answer_is_whole_lets_the_end_token_end_it() {
    let told = alone(&Ask::new("prompt").pattern(Pattern::new("ab?")));
    assert_eq!(told.finish(), Finish::Stop);
    assert_eq!(told.text.len(), 3);
    assert_eq!(told.usage().completion, 4, "the end token counts");
}

#[test]
fn ignoring_the_models_end_does_not_lift_a_constraint() {
    let mut ask = Ask::new("prompt").pattern(Pattern::new("ab?"));
    ask.limits.ignore_end = true;
    assert_eq!(alone(&ask).finish(), Finish::Stop);
}

#[test]
fn a_matcher_in_trouble_fails_its_own_job_alone() {
    let troubles = [
        (Trouble::PanicsInMask, Kind::Internal),
        (Trouble::PanicsInConsume, Kind::Internal),
        (Trouble::Refuses, Kind::Internal),
        (Trouble::SpendsItsBudget, Kind::SchemaTooComplex),
        (Trouble::HasDeadEnd, Kind::UnsupportedConstraint),
    ];
    for mask_threads in [0, 1, 3] {
        for (trouble, kind) in troubles {
            let limits = EngineLimits {
                mask_threads,
                ..ENGINE
            };
            let mut bench = Bench::new(Toy::new(LIMITS), limits);
            let text = "ab????cd????$";
            let good = Ask::new("prompt").pattern(Pattern::new(text));
            let bad = Ask::new("prompt").pattern(Pattern::new(text).with(4, trouble));
            let told = bench.answer(&[good.clone(), bad.clone(), good.clone()]);
            assert_eq!(told[0].answer(), alone(&good).answer());
            assert_eq!(told[2].answer(), alone(&good).answer());
            assert_eq!(told[1].error().kind, kind);
            assert!(
                told[0].text.starts_with(&told[1].text),
                "what was said stands"
            );
            let again = bench.answer(&[bad, good.clone()]);
            assert_eq!(again[1].answer(), alone(&good).answer());
        }
    }
}

#[test]
fn a_matcher_that_dawdles_holds_nobody_else_up() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let nap = Duration::from_millis(800);
    let pattern = Pattern::new("????????$").with(4, Trouble::SleepsInMask(nap));
    let slow = Ask::new("slow").pattern(pattern);
    let quick = Ask::new("quick")
        .pattern(Pattern::new(&"?".repeat(30)))
        .greedy();
    let mut slow_heard = bench.push(&slow);
    let mut quick_heard = bench.push(&quick);
    let start = Instant::now();
    let mut told = quick_heard.told();
    while told.end.is_none() {
        bench.step();
        let more = quick_heard.told();
        told.text.push_str(&more.text);
        told.end = more.end;
    }
    assert!(start.elapsed() < nap, "{:?}", start.elapsed());
    assert_eq!(told.answer(), alone(&quick).answer());
    bench.run();
    let pattern = Pattern::new("????????$");
    let same = alone(&Ask::new("slow").pattern(pattern));
    assert_eq!(slow_heard.told().answer(), same.answer());
}

#[test]
fn a_matcher_that_does_not_come_back_is_given_up() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    bench.scheduler.patience = Duration::from_millis(50);
    let nap = Duration::from_millis(1_000);
    let good = Ask::new("prompt").pattern(Pattern::new("????????$"));
    let lost = Pattern::new("????????$").with(3, Trouble::SleepsInMask(nap));
    let lost = Ask::new("prompt").pattern(lost);
    let start = Instant::now();
    let told = bench.answer(&[lost, good.clone()]);
    assert!(start.elapsed() < nap, "{:?}", start.elapsed());
    assert_eq!(told[0].error().kind, Kind::SchemaTooComplex);
    assert_eq!(told[1].answer(), alone(&good).answer());
    // What comes back late belongs to nobody, and is not taken for another's.
    std::thread::sleep(nap);
    let told = bench.answer(std::slice::from_ref(&good)).remove(0);
    assert_eq!(told.answer(), alone(&good).answer());
}

#[test]
fn who_waits_behind_a_matcher_that_does_not_come_back_is_not_given_up_with_it() {
    let one_thread = EngineLimits {
        mask_threads: 1,
        ..ENGINE
    };
    let mut bench = Bench::new(Toy::new(LIMITS), one_thread);
    bench.scheduler.patience = Duration::from_millis(200);
    // Longer than the test takes, in which the only thread never comes back.
    let lost = Pattern::new("????????$").with(3, Trouble::SleepsInMask(Duration::from_secs(30)));
    let good = Ask::new("prompt").pattern(Pattern::new("?".repeat(20).as_str()));
    let told = bench.answer(&[Ask::new("lost").pattern(lost), good.clone(), good.clone()]);
    assert_eq!(told[0].error().kind, Kind::SchemaTooComplex);
    for told in &told[1..] {
        assert_eq!(told.answer(), alone(&good).answer());
    }
}

#[test]
fn a_forced_run_that_is_known_too_late_for_its_batch_joins_a_later_one() {
    let nap = Duration::from_millis(60);
    // The run is known after the forward pass, and in the middle of it.
    for takes in [2, 100] {
        for (text, at) in [("begins????$", 0), ("?ends here??$", 1)] {
            let good = Ask::new("prompt").pattern(Pattern::new(text));
            let slow = Pattern::new(text).with(at, Trouble::SleepsInForced(nap));
            let slow = Ask::new("prompt").pattern(slow);
            let asks = [slow, Ask::new("beside").exactly(6)];
            for asks in [&asks[..1], &asks[..]] {
                let mut toy = Toy::new(LIMITS);
                toy.takes = Duration::from_millis(takes);
                let told = Bench::new(toy, ENGINE).answer(asks);
                assert_eq!(told[0].answer(), alone(&good).answer());
            }
        }
    }
}

#[test]
fn masks_are_timed_for_each_job_and_for_all() {
    let nap = Duration::from_millis(30);
    let pattern = Pattern::new("????$").with(2, Trouble::SleepsInMask(nap));
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let told = bench.answer(&[Ask::new("prompt").pattern(pattern)]);
    assert!(told[0].usage().mask_micros >= 30_000);
    let masks = bench.scheduler.stats().mask_seconds;
    assert_eq!(masks.count, 4);
    assert_eq!(masks.buckets.iter().sum::<u64>(), 4);
    assert!(masks.sum >= masks.max && masks.max >= 0.03);
}

#[test]
fn masks_are_computed_while_the_forward_pass_runs() {
    let nap = Duration::from_millis(20);
    let mut toy = Toy::new(LIMITS);
    toy.takes = Duration::from_millis(60);
    let mut bench = Bench::new(toy, ENGINE);
    let pattern = Pattern::new("????$").with(2, Trouble::SleepsInMask(nap));
    bench.answer(&[Ask::new("prompt").pattern(pattern)]);
    let stats = bench.scheduler.stats();
    assert!(stats.mask_seconds.max >= 0.02);
    assert!(
        stats.mask_wait_seconds < 0.02,
        "{}",
        stats.mask_wait_seconds
    );
}

#[test]
fn an_answer_that_cannot_be_whole_is_refused_before_it_begins_and_one_that_just_can_is_whole() {
    let ask = Ask::new("prompt").pattern(Pattern::new("?abc??d$").forking());
    let told = alone(&ask.clone().most(3));
    let error = told.error();
    assert_eq!(
        (error.kind, error.param.as_deref()),
        (Kind::InvalidRequest, Some("max_tokens"))
    );
    assert!(
        error.message.contains("takes 7 tokens"),
        "{}",
        error.message
    );
    assert_eq!(told.text, "");
    let whole = alone(&ask.clone().most(7));
    assert_eq!((whole.finish(), whole.usage().steered), (Finish::Stop, 0));
    // Where the context is what is too short.
    let mut long = ask;
    long.prompt = super::tokens(&"a".repeat(LIMITS.context as usize - 2));
    assert!(alone(&long).error().message.contains("room for 2"));
}

#[test]
fn an_answer_is_the_same_whether_its_end_is_known_ahead_or_not() {
    for seed in 0..20 {
        let mut ask = Ask::new("prompt");
        ask.sampling.seed = Some(seed);
        let alike = |pattern: Pattern| alone(&ask.clone().pattern(pattern).most(40));
        let text = "?? and ????? or ??$";
        let known = alike(Pattern::new(text).forking());
        assert_eq!(known.answer(), alike(Pattern::new(text)).answer());
        assert_eq!(known.usage().steered, 0);
    }
}
