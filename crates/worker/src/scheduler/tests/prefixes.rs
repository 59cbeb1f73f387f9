//! What slots keep, and who uses it.

use super::toy::{LIMITS, Pattern, Toy};
use super::{Ask, Bench, ENGINE, alone};
use crate::kernel::KernelLimits;

/// Twenty letters and a space that many prompts begin with.
const SYSTEM: &str = "you are an assistant ";

fn ask(rest: &str) -> Ask {
    Ask::new(&format!("{SYSTEM}{rest}")).exactly(8)
}

#[test]
fn a_prompt_that_goes_on_from_an_answer_computes_what_is_new() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let first = ask("hello").pattern(Pattern::new("????????$"));
    let answer = bench.answer(std::slice::from_ref(&first))[0].text.clone();
    let before = bench.toy.seen().computed();
    let stats = bench.scheduler.stats();
    let wrong = stats.drafted_tokens - stats.accepted_tokens;
    let second = ask(&format!("hello{answer} and now"));
    let told = bench.answer(std::slice::from_ref(&second)).remove(0);
    assert_eq!(told.answer(), alone(&second).answer());
    // The answer's last letter never went through the model.
    let known = SYSTEM.len() + "hello".len() + 7;
    assert_eq!(told.usage().cached as usize, known);
    let new = second.prompt.len() - known + 7;
    let stats = bench.scheduler.stats();
    let wrong = stats.drafted_tokens - stats.accepted_tokens - wrong;
    assert_eq!(
        (bench.toy.seen().computed() - before) as u64,
        new as u64 + wrong
    );
    assert_eq!(stats.cached_tokens, known as u64);
}

#[test]
fn the_same_prompt_again_computes_its_last_token_alone() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let first = bench.answer(&[ask("hello")]).remove(0);
    let again = bench.answer(&[ask("hello")]).remove(0);
    assert_eq!(first.answer(), again.answer());
    assert_eq!(again.usage().cached + 1, again.usage().prompt);
}

#[test]
fn prompts_that_begin_alike_and_come_together_compute_that_once() {
    let system = SYSTEM.repeat(5);
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let asks: Vec<Ask> = ["one", "two", "three", "four"]
        .map(|rest| Ask::new(&format!("{system}{rest}")).exactly(4))
        .to_vec();
    let told = bench.answer(&asks);
    for (ask, told) in asks.iter().zip(&told) {
        assert_eq!(told.answer(), alone(ask).answer());
    }
    let cached: Vec<u32> = told.iter().map(|told| told.usage().cached).collect();
    assert_eq!(cached[0], 0);
    assert!(
        cached[1..]
            .iter()
            .all(|cached| *cached as usize >= system.len())
    );
    assert_eq!(bench.toy.seen().shared.len(), 3);
}

#[test]
fn a_short_prompt_does_not_take_a_long_conversation_away() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let long = ask(&"a long conversation ".repeat(8));
    bench.answer(std::slice::from_ref(&long));
    let short = bench.answer(&[ask("x")]).remove(0);
    assert_eq!(short.usage().cached as usize, SYSTEM.len());
    let again = bench.answer(std::slice::from_ref(&long)).remove(0);
    assert_eq!(again.usage().cached + 1, again.usage().prompt);
}

#[test]
fn kernels_that_do_not_share_reuse_what_is_free_alone() {
    let mut toy = Toy::new(LIMITS);
    toy.can_share = false;
    let mut bench = Bench::new(toy, ENGINE);
    let told = bench.answer(&[ask("one"), ask("two")]);
    assert_eq!(told[1].usage().cached, 0);
    let told = bench.answer(&[ask("four")]);
    assert_eq!(told[0].usage().cached as usize, SYSTEM.len());
    assert_eq!(told[0].answer(), alone(&ask("four")).answer());
}

#[test]
fn kernels_that_keep_one_state_reuse_whole_sequences_alone() {
    let limits = KernelLimits {
        truncates: false,
        ..LIMITS
    };
    let mut bench = Bench::new(Toy::new(limits), ENGINE);
    let first = ask("hello").pattern(Pattern::new("????????$"));
    let answer = bench.answer(std::slice::from_ref(&first))[0].text.clone();
    let told = bench.answer(&[ask("hello")]);
    assert_eq!(told[0].usage().cached, 0, "it went on from there");
    let longer = ask(&format!("hello{answer} and now"));
    let told = bench.answer(std::slice::from_ref(&longer)).remove(0);
    assert_eq!(
        told.usage().cached as usize,
        SYSTEM.len() + "hello".len() + 7
    );
    assert_eq!(told.answer(), alone(&longer).answer());
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let limits = KernelLimits { slots: 2, ..LIMITS };
    let mut bench = Bench::new(Toy::new(limits), ENGINE);
    let [one, two, three] = ["aaaa", "bbbb", "cccc"].map(|prompt| Ask::new(prompt).exactly(4));
    let mut cached = |ask: &Ask| bench.answer(std::slice::from_ref(ask))[0].usage().cached;
    assert_eq!(cached(&one), 0);
    assert_eq!(cached(&two), 0);
    assert_eq!(cached(&one), 3);
    assert_eq!(cached(&three), 0);
    assert_eq!(cached(&one), 3, "the second had to go");
    assert_eq!(cached(&two), 0);
}

#[test]
fn what_is_kept_never_takes_room_from_answers() {
    let limits = KernelLimits {
        cells: 256,
        ..LIMITS
    };
    let mut bench = Bench::new(Toy::new(limits), ENGINE);
    for prompt in ["a", "b", "c", "d"] {
        let ask = Ask::new(&prompt.repeat(100)).exactly(100);
        let told = bench.answer(std::slice::from_ref(&ask)).remove(0);
        assert_eq!(told.answer(), alone(&ask).answer());
    }
    assert_eq!(bench.scheduler.stats().preempted, 0);
}
