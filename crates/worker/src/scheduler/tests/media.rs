//! Media among a prompt's tokens: computed once, in their places, and by nobody twice.

use super::toy::{LIMITS, Toy};
use super::{Ask, Bench, ENGINE, Told, alone};
use crate::kernel::{KernelError, KernelLimits};
use crate::media::Media;
use std::sync::Arc;

/// A medium of nine tokens and four positions.
fn media(key: u128) -> Arc<Media> {
    Media::empty(key, 9, 4)
}

fn ask(prompt: &str, places: &[(usize, u128)]) -> Ask {
    let mut ask = Ask::new(prompt).exactly(12);
    ask.media = places.iter().map(|(at, key)| (*at, media(*key))).collect();
    ask
}

/// Prompts with none, one and several media: at the beginning, side by side, and before the end.
fn asks() -> Vec<Ask> {
    vec![
        ask("only words", &[]),
        ask("look at this", &[(0, 1)]),
        ask("look at this", &[(4, 1)]),
        ask("look at this", &[(4, 2)]),
        ask("these are two", &[(5, 1), (5, 2)]),
        ask("and these are", &[(0, 1), (3, 1), (12, 3)]),
    ]
}

fn keys(bench: &Bench) -> Vec<u128> {
    bench.toy.seen().media.iter().map(|(key, _)| *key).collect()
}

#[test]
fn answers_to_media_are_what_they_are_alone_whatever_runs_beside() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let told = bench.answer(&asks());
    let mut different: Vec<String> = Vec::new();
    for (ask, told) in asks().iter().zip(&told) {
        assert_eq!(told.answer(), alone(ask).answer());
        assert_eq!(told.usage().prompt, ask.sequence().len());
        different.push(told.text.clone());
    }
    different.sort();
    different.dedup();
    assert_eq!(different.len(), asks().len(), "each prompt is another");
}

#[test]
fn a_medium_is_computed_again_only_where_another_was_in_its_place() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    bench.answer(&[ask("look at this", &[(4, 1)])]);
    let again = bench
        .answer(&[ask("look at that too", &[(4, 1)])])
        .remove(0);
    assert_eq!(keys(&bench), [1]);
    // `look`, the medium, and ` at th`.
    assert_eq!(again.usage().cached, 4 + 9 + 6);
    let other = bench.answer(&[ask("look at this", &[(4, 2)])]).remove(0);
    assert_eq!(keys(&bench), [1, 2]);
    assert_eq!(other.usage().cached, 4);
    for (asked, told) in [
        (ask("look at that too", &[(4, 1)]), again),
        (ask("look at this", &[(4, 2)]), other),
    ] {
        assert_eq!(told.answer(), alone(&asked).answer());
    }
}

#[test]
fn prompts_with_the_same_long_medium_that_come_together_compute_it_once() {
    let with = |prompt: &str| {
        let mut ask = Ask::new(prompt).exactly(5);
        ask.media = vec![(2, Media::empty(7, 60, 8))];
        ask
    };
    let asks = [with("a one"), with("a two"), with("a three")];
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let told = bench.answer(&asks);
    assert_eq!(keys(&bench), [7]);
    for (ask, told) in asks.iter().zip(&told) {
        assert_eq!(told.answer(), alone(ask).answer());
    }
}

#[test]
fn others_go_on_between_one_medium_and_the_next() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let asks = [
        Ask::new("words").exactly(40),
        ask("look", &[(0, 1), (0, 2), (0, 3)]),
    ];
    bench.answer(&asks);
    let mut passes: Vec<usize> = bench.toy.seen().media.iter().map(|(_, at)| *at).collect();
    let count = passes.len();
    passes.dedup();
    assert_eq!((count, passes.len()), (3, 3));
}

#[test]
fn where_there_is_no_room_the_youngest_wait_and_all_are_answered() {
    for truncates in [true, false] {
        let limits = KernelLimits {
            cells: 110,
            slots: 4,
            truncates,
            ..LIMITS
        };
        let mut bench = Bench::new(Toy::new(limits), ENGINE);
        bench.scheduler.headroom = 1;
        // The kernels themselves have less room than it was thought, now and then.
        for look in [1, 3] {
            bench.toy.blind.insert(look, KernelError::Full);
        }
        let told: Vec<Told> = bench.answer(&asks());
        for (ask, told) in asks().iter().zip(&told) {
            assert_eq!(told.answer(), alone(ask).answer(), "{truncates}");
        }
    }
}

#[test]
fn a_medium_that_cannot_be_computed_ends_its_own_answer_alone() {
    let mut bench = Bench::new(Toy::new(LIMITS), ENGINE);
    let failure = KernelError::Failed("the projector fails".to_owned());
    bench.toy.blind.insert(0, failure);
    let asks = [ask("look at this", &[(4, 1)]), ask("only words", &[])];
    let told = bench.answer(&asks);
    assert_eq!(told[0].error().status(), 502);
    assert!(!told[0].error().message.contains("projector fails"));
    assert_eq!(told[1].answer(), alone(&asks[1]).answer());
    let again = bench.answer(&asks[..1]).remove(0);
    assert_eq!(again.answer(), alone(&asks[0]).answer());
}
